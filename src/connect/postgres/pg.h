/* connect/postgres/pg.h: a connection to PostgreSQL, and what the sink and the look-ups of 'jdbc' and the source 'postgres-cdc' share. Private to connect/postgres.
 *
 * Idea       libpq brings Kerberos and LDAP libraries with it, memory that a job without a database would pay for: its functions stand in one table that
 *            pg_load fills (dlopen); pg.NAME is PQNAME. Flink's connector name and options, so that a job moves there unchanged.
 * Retries    a connection that is lost is made again for up to 'connection.max-retry-timeout'; what was in flight is done again by the caller, whose
 *            transactions are idempotent.
 * Thread     a connection belongs to one thread.                                                                                     */
#pragma once
#include "connect/parts.h"
#include <libpq-fe.h>

#define PG_FUNCTIONS(F)                                                                                                                              \
    F(connectdbParams) F(status) F(errorMessage) F(finish) F(exec) F(execParams) F(resultStatus) F(resultErrorField) F(clear) F(ntuples) F(getvalue) \
    F(getisnull) F(getlength) F(putCopyData) F(putCopyEnd) F(getResult) F(getCopyData) F(freemem) F(sendQuery) F(consumeInput) F(isBusy) F(socket) F(flush)
typedef struct pg_table {
#define F(name) __typeof__(PQ##name) *name;
    PG_FUNCTIONS(F)
#undef F
} pg_table;
extern pg_table pg;

typedef struct pg_conn {
    wr_world   *world;
    wr_str      name;                 /* of the SQL table */
    wr_span     at;
    const char *url, *user, *password, *table; /* table: quoted, with its schema */
    bool        replication;          /* it speaks to the sender of the write-ahead log */
    PGconn     *c;
    int64_t     retry_us;
    int         connect_s;            /* how long one attempt to connect may take */
} pg_conn;

wr_status pg_load(wr_err *err);
/* Reads the options; strings in `arena`. WR_USER: diagnostics. */
wr_status pg_open(pg_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err);
wr_status pg_connect(pg_conn *conn, wr_err *err); /* if it is not; settings of the session are made */
void      pg_close(pg_conn *conn);
bool      pg_lost(const pg_conn *conn);           /* the connection is gone: pg_connect makes another */
/* One command without rows. */
wr_status pg_run(pg_conn *conn, const char *sql, const char *doing, wr_err *err);
/* Rows: *out is cleared by the caller (pg.clear) if WR_OK. */
wr_status pg_query(pg_conn *conn, const char *sql, int n, const char *const *values, const char *doing, PGresult **out, wr_err *err);
WR_COLD wr_status pg_fail(pg_conn *conn, PGresult *result /* (takes) may be NULL */, const char *doing, wr_err *err);
bool      pg_refused(const pg_conn *conn);        /* after pg_connect failed: the server answered, and says no for good */
void pg_put_type(wr_sbuf *out, wr_type type);     /* the type of a column that holds it */
/* The value as COPY's text format has it. False: a text with a NUL byte, which PostgreSQL cannot hold. */
bool pg_put_value(wr_sbuf *out, const wr_vec *vec, uint32_t row, wr_sbuf *scratch);

/* The text of a value, as a session of ours has it, into the column; strings are borrowed. */
wr_put pg_read_value(wr_str text, wr_vec *vec, uint32_t row, wr_mem *mem);

wr_status pg_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
wr_status pg_lookup_new(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err);
struct wr_probe_ctx;
void pg_probe(const wr_table_info *t, struct wr_probe_ctx *ctx);
void cdc_probe(const wr_table_info *t, struct wr_probe_ctx *ctx);
wr_status cdc_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
