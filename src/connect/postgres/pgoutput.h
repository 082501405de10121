/* connect/postgres/pgoutput.h: the messages of logical replication (pgoutput, protocol version 1), read from bytes. Private to connect/postgres.
 *
 * Idea       a message is read into a struct that borrows from the bytes; tuples and columns are read one after the other by their readers. Version 1 has
 *            committed transactions only, one after the other and whole: streamed pieces of transactions that may still fail (version 2) would
 *            have to be kept here until they commit, and the server keeps them just as well.
 * Invariant  any bytes may come: what is cut short or of an unknown kind is false, never a read outside.
 * Thread     any; nothing is allocated.                                                                                              */
#pragma once
#include "base/str.h"

typedef enum pgo_kind {
    PGO_BEGIN = 'B', PGO_COMMIT = 'C', PGO_ORIGIN = 'O', PGO_RELATION = 'R', PGO_TYPE = 'Y', PGO_INSERT = 'I', PGO_UPDATE = 'U', PGO_DELETE = 'D', PGO_TRUNCATE = 'T', PGO_MESSAGE = 'M'
} pgo_kind;
typedef struct pgo_tuple { uint32_t n; const uint8_t *at, *end; bool bad; } pgo_tuple;
typedef struct pgo_value { char kind; wr_str text; } pgo_value; /* kind: n NULL, u unchanged and not sent, t text, b binary */
typedef struct pgo_columns { uint32_t n; const uint8_t *at, *end; bool bad; } pgo_columns;
typedef struct pgo_column { bool key; wr_str name; uint32_t type; int32_t typmod; } pgo_column;
typedef struct pgo_relids { uint32_t n; const uint8_t *at; } pgo_relids;

typedef struct pgo_message {
    pgo_kind kind;
    uint64_t lsn;              /* BEGIN: where its commit record begins; COMMIT: the same */
    uint64_t end_lsn;          /* COMMIT: behind the transaction */
    int64_t  time_us;          /* BEGIN, COMMIT: of the commit, since 1970 */
    uint32_t relation;         /* RELATION, INSERT, UPDATE, DELETE */
    wr_str   schema, table;    /* RELATION */
    char     identity;         /* RELATION: d default, n nothing, f all columns, i an index */
    pgo_columns columns;       /* RELATION */
    char     old;              /* UPDATE, DELETE: what `before` is: K the key's columns, O all columns, 0 there is none */
    pgo_tuple before, after;
    pgo_relids truncated;      /* TRUNCATE */
} pgo_message;

bool pgo_read(wr_str bytes, pgo_message *out);
bool pgo_next_value(pgo_tuple *tuple, pgo_value *out);      /* false: no more, or tuple->bad */
bool pgo_next_column(pgo_columns *columns, pgo_column *out);
bool pgo_next_relation(pgo_relids *list, uint32_t *out);

/* One row of COPY's text format: fields with tabs between them. The field's text is put into `to` (room for line->len bytes). False: no more. */
bool copy_next_field(wr_str *line, bool *first, char *to, wr_str *out, bool *is_null);

enum { PG_EPOCH_S = 946684800 }; /* 2000-01-01: what PostgreSQL counts its microseconds from */
uint64_t pg_get_u64(const uint8_t *p); /* big-endian */
void     pg_put_u64(uint8_t *p, uint64_t v);
bool     pg_lsn_parse(const char *text, uint64_t *out);     /* 16/B374D848 */
#define PG_LSN_FMT "%X/%X"
#define PG_LSN(lsn) (unsigned)((lsn) >> 32), (unsigned)(lsn)
