/* connect/postgres/cdc.h: 'postgres-cdc': a table of PostgreSQL with all its changes, by logical replication. Private to connect/postgres.
 *
 * Idea       a slot on the server keeps what was not confirmed yet; a thread reads it. First the rows that are there (the snapshot), under the snapshot
 *            that the server exports when a slot is made: what committed before that slot's position is in the rows, everything else comes by the slot.
 * Snapshot   in the order of the PRIMARY KEY, so that it can go on after a crash: the keys up to K were read at position S0, the rest is read anew at
 *            S1 (a temporary slot gives snapshot and position), and of the changes since S0 those of keys behind K count only if they committed
 *            at S1 or later. These ranges are part of the positions until the changes are past them all. Without a key there is no going on.
 * Changes    transactions come one after the other, in the order of their commits, whole. A position is the end of the last whole one, and of the
 *            next one how many changes were given: the server sends it again from its first change, and so many are passed over.
 * Confirmed  what the last but one lasting checkpoint has, since a job may have to go back to that (--accept-older). Without checkpoints nothing can be
 *            gone back to: the slot is a temporary one of a name of its own, so nothing is left on the server, and a lost connection is the end.
 * Unchanged  a large value (TOAST) that an update did not touch is not sent. It is taken from the old row, if that is sent whole; else the bit of its column
 *            is set in the hidden column, and the normalization behind the source puts in what it knows of the row.
 * Bounds     the queue between thread and job: QUEUE_BYTES, charged; one chunk more on either side; a row that is longer.
 * Thread     cdc_source: source_new and next own all but what is marked; the thread has its part; decode reads what never changes.          */
#pragma once
#include "connect/postgres/pg.h"
#include "connect/postgres/pgoutput.h"

enum { CDC_CHUNK_BYTES = 256 * 1024, CDC_CHUNK_ROWS = 2048, CDC_QUEUE_BYTES = 8 << 20, CDC_QUEUE_MAX = 256 };
typedef enum cdc_start { CDC_INITIAL, CDC_LATEST, CDC_COMMITTED, CDC_SNAPSHOT_ONLY } cdc_start;
typedef enum cdc_phase { CDC_NEW, CDC_SNAPSHOT, CDC_CHANGES } cdc_phase;

/* Keys are the texts of the key's columns, one wr_put_bytes after the other. Of a key <= `upper` (and of no range before) changes count from `lsn` on. */
typedef struct cdc_range { wr_str upper; uint64_t lsn; } cdc_range; /* upper.ptr NULL: all the rest */
typedef struct cdc_ranges { uint32_t n; cdc_range at[]; } cdc_ranges;
typedef struct cdc_pos {
    cdc_phase phase;
    uint64_t  lsn;             /* all transactions that end here or before were given */
    uint64_t  txn, done;       /* of the one whose commit record begins at `txn`: so many changes of the table were; txn 0: none */
    const cdc_ranges *ranges;  /* NULL: everything counts */
    bool      begun;           /* SNAPSHOT: rows were given */
    wr_str    key;             /* the last one; ptr NULL: there is no key */
} cdc_pos;

typedef struct cdc_map {       /* a relation as the server describes it -> columns of the SQL table */
    uint32_t       n;          /* columns of the relation */
    const int32_t *column;     /* SQL column, or -1: not in the SQL table, or not needed */
    uint32_t       n_absent;
    const uint32_t *absent;    /* needed SQL columns that it does not have yet */
} cdc_map;

typedef struct cdc_record { uint32_t at, len; char kind; uint64_t lsn; int64_t time_us; } cdc_record; /* kind: r row of the snapshot, L longer than allowed, else pgo_kind */
typedef struct cdc_note {      /* a chunk */
    wr_mem           *mem;
    cdc_record       *records;
    uint32_t          n;
    char             *bytes;
    size_t            len, cap;
    const cdc_map    *map;
    const cdc_ranges *ranges;
    cdc_pos           after;   /* its key is in mem */
} cdc_note;

typedef struct cdc_column { uint32_t type, base, element; bool identity; wr_str type_name; bool generated; } cdc_column; /* of the server's table, for each physical column */

typedef struct cdc_source {
    wr_source        base;
    wr_world        *world;
    wr_account      *acct;
    wr_arena        *arena;     /* the thread's, once it runs */
    wr_str           table;
    wr_span          at;
    const wr_schema *schema;
    uint32_t         n_physical;
    const wr_str    *metadata_keys;
    const uint8_t   *needed;
    uint32_t         n_key;
    const uint32_t  *key;
    uint32_t         batch_rows;
    int64_t          max_record_bytes, retry_us;
    wr_str           schema_name, table_name, database, slot, publication;
    const char      *quoted;    /* "schema"."table" */
    const char      *host;
    const char      *live_slot; /* the slot that is read: `slot`, or the temporary one */
    cdc_start        start;
    bool             upsert, make_publication, keeps, temporary, looks_only; /* keeps: checkpoints are on; looks_only: nothing is made */
    pg_conn          admin, repl, rows; /* the thread's, once it runs */
    /* of the server */
    unsigned long    version;
    uint32_t         oid;
    bool             partitioned;
    char             identity;
    cdc_column      *columns;
    uint32_t         n_names;   /* all columns of the server's table, when the job began */
    wr_str          *names;
    wr_str           row_filter; /* of the publication; "" none */
    uint64_t         system;     /* the server's identifier; 0: not known yet */
    cdc_map          snapshot_map;
    /* handed out */
    cdc_pos          pos;
    wr_sbuf          pos_key;
    bool             loaded;
    int64_t          wait_us;
    uint64_t         lasting_lsn; /* the coordinator's: of the newest checkpoint that lasts */
    /* thread */
    void            *thread;
    wr_bell         *bell;
    wr_mutex        *lock;      /* of what follows */
    cdc_note        *queue[CDC_QUEUE_MAX];
    uint32_t         head, n_queue;
    size_t           queue_bytes;
    cdc_pos          tail;      /* where it is when the queue is empty; phase NEW: where its last chunk ended */
    bool             stopping, finished, failed;
    wr_err           err;
    char             doing[120], added[160]; /* for reports: what it waits for; columns that the SQL table does not have */
    _Atomic uint64_t confirmed, server_lsn, first_lsn, kept_bytes, snapshot_rows;
    /* the thread's own */
    cdc_pos          now;       /* with all that is in `open` */
    wr_sbuf          now_key;
    cdc_note        *open;
    const cdc_map   *map;
    bool             in_txn, streaming;
    uint64_t         txn_lsn, txn_n, txn_skip;
    int64_t          txn_time_us, told_us, looked_us, failing_us, opened_us;
} cdc_source;

extern const wr_option_spec cdc_specs[];
/* ---- cdc_server.c: is everything there that this needs? Each thing that is not is one error, with the SQL to run ---- */
wr_status cdc_examine(cdc_source *s, wr_err *err);
typedef struct cdc_step { const char *what; wr_status (*look)(cdc_source *s, wr_err *err); } cdc_step;
extern const cdc_step cdc_steps[]; /* what cdc_examine looks at, one after the other; ends with NULL */
/* Is the type of the server (base of a domain; element of an array, else 0) what the SQL column can hold? */
bool      cdc_type_fits(uint32_t base, uint32_t element, wr_type type);
/* *map stays what it is if that is how the relation looks. */
wr_status cdc_map_relation(cdc_source *s, const pgo_message *relation, const cdc_map **map, wr_err *err);
typedef struct cdc_slot { bool there, active; uint64_t confirmed; } cdc_slot;
wr_status cdc_look_at_slot(cdc_source *s, cdc_slot *out, wr_err *err); /* an error: it is another kind of slot, or what it kept is lost */
WR_COLD WR_PRINTF(5, 6) wr_status cdc_fail(const cdc_source *s, wr_status status, const char *code, wr_err *err, const char *fmt, ...);
void      cdc_drop_hint(const cdc_source *s, wr_sbuf *out); /* how the slot is removed */
/* ---- cdc_reader.c: the thread ---- */
void cdc_reader(void *source);
wr_status cdc_connect_replication(cdc_source *s, wr_err *err);
void cdc_note_free(cdc_source *s, cdc_note *note);
/* ---- cdc.c ---- */
wr_status cdc_source_make(const wr_table_info *t, wr_connect_ctx *ctx, cdc_source **out, wr_err *err); /* options only; closed by its vt */
/* ---- cdc_decode.c ---- */
wr_status cdc_decode(const cdc_source *s, const cdc_note *note, wr_decoded *out);
void      cdc_put_key(wr_sbuf *out, const wr_str *texts, uint32_t n);
/* The texts of a key's columns out of a row of COPY; `to`: room for the line. */
void      cdc_row_key(const cdc_source *s, wr_str line, char *to, wr_str *texts);
