/* serve/query.h: SQL asked of a running job: rows of its materialized views, and of the catalogue. Private to serve/.
 *
 * Ways       READ: SELECT of columns of one view by its key or a range of it, from the store, as the rows are taken. CATALOG: pg_catalog, information_schema,
 *            weir_views, and expressions without a table: SQLite in memory (catalog.h). SESSION: any other SELECT: a job of its own in this process that reads the
 *            pinned version of each view that it names and ends.
 * Text       PostgreSQL's lexical form ("names", E'', $1, ::casts) in weir's SQL, in all ways.
 * Cut        a statement sees one version of all views that it names; several statements do if they are given the same snapshot.
 * Bounds     rows, bytes and time of an answer, memory of a session (query_limits). A statement is ended from outside by its query_stop.
 * Errors     wr_err with an SQLSTATE; err->at.col: the place, as a byte of the text + 1.
 * Thread     query_db: any. A query, its rows: one at a time.                                                                        */
#pragma once
#include "connect/view/view.h"
#include "serve/pg_lex.h"
#include "sys/world.h"
#include "type/datetime.h"
#include "type/row_set.h"

typedef struct query_db query_db;
typedef struct query_limits { uint64_t rows, bytes; int64_t memory_bytes, time_us; } query_limits; /* 0: none */
uint32_t  query_views(wr_view **out, uint32_t max);            /* wr_views_list, but the number of those that it gave */
query_db *query_db_new(wr_world *world, const char *database); /* borrows the name */
void      query_db_free(query_db *db);

typedef struct query_snapshot query_snapshot;
query_snapshot *query_snapshot_new(void);                      /* of all views that there are now; counted references */
query_snapshot *query_snapshot_ref(query_snapshot *snapshot);
void            query_snapshot_free(query_snapshot *snapshot); /* NULL is legal */

struct wr_session;
typedef struct query_stop { _Atomic bool asked, timed_out; wr_mutex *lock; struct wr_session *session; int64_t until_us; } query_stop;
void query_stop_init(query_stop *stop);
void query_stop_free(query_stop *stop);
void query_stop_ask(query_stop *stop);                         /* any thread */

typedef struct query_col { wr_str name; wr_type type; uint32_t oid; int32_t typmod; } query_col;
typedef struct query_rows query_rows;
struct query_rows {                    /* of one run */
    const wr_tz *tz;
    wr_status (*next)(query_rows *rows, uint32_t max, wr_batch **out, wr_err *err); /* *out NULL: the end */
    void      (*free)(query_rows *rows);
};
typedef struct query_args { const wr_value *params; uint32_t n; query_snapshot *snapshot; query_limits limits; query_stop *stop; const char *user; const struct wr_tz *tz; } query_args; /* tz: in which zone times without one are; NULL: the views' */

typedef struct query query;
/* One statement. Says whether it is right as far as that can be said at once; n_oids types of parameters are given (0: not said). */
wr_status   query_new(query_db *db, wr_str sql, const uint32_t *oids, uint32_t n_oids, query **out, wr_err *err);
void        query_free(query *q);                              /* NULL is legal */
bool        query_is_quick(const query *q);                    /* describe and run take microseconds */
uint32_t    query_params(const query *q, const uint32_t **oids);
/* The type that a parameter's text is read as. */
wr_type     query_param_type(const query *q, uint32_t i);
wr_status   query_describe(query *q, wr_err *err);             /* fills the columns; once */
const query_col *query_cols(const query *q, uint32_t *n);
wr_status   query_run(query *q, const query_args *args, query_rows **out, wr_err *err);
/* The answer of HTTP: {"columns": [...], "rows": [[...]], ...}. */
wr_status   query_json(query_db *db, wr_str sql, const query_args *args, wr_sbuf *out, wr_err *err);
