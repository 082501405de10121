/* serve/query_parts.h: the parts of query.h among themselves. Private to serve/query*.c.
 *
 *   query.c          statements: which way they go; parameters
 *   query_read.c     reads of one view by its key
 *   query_text.c     PostgreSQL's text to weir's
 *   query_session.c  the others: a job of its own
 *   catalog.c        pg_catalog and information_schema (catalog.h)                                                                  */
#pragma once
#include "serve/pg_value.h"
#include "serve/query.h"

enum { QUERY_VIEWS_MAX = 1024, QUERY_PARAMS_MAX = 4096, QUERY_TEXT_MAX = 1 << 20 };
typedef enum query_way { QUERY_READ, QUERY_CATALOG, QUERY_SESSION } query_way;

typedef struct query_param { uint32_t oid; wr_type type; } query_param;
struct catalog;
struct read_plan;
struct query_db { wr_world *world; const char *database; struct catalog *catalog; };
struct query {
    query_db    *db;
    wr_arena    *arena;
    wr_str       sql;
    pg_toks      toks;
    query_way    way;
    uint32_t     n_views;
    wr_view    **views;                /* that it names, held */
    uint32_t     n_params;
    query_param *params;
    uint32_t    *oids;
    bool         described;
    uint32_t     n_cols;
    query_col   *cols;
    struct read_plan *read;
};

struct query_snapshot { _Atomic uint32_t refs; uint32_t n; wr_view *views[QUERY_VIEWS_MAX]; wr_view_cut *cuts[QUERY_VIEWS_MAX]; };
/* The cut of a view: of the snapshot (borrowed), or NULL. */
wr_view_cut *query_snapshot_cut(const query_snapshot *snapshot, const wr_view *view);
/* What the token is compared with is a column of a view: its type; false: it is not. */
bool query_context(const query *q, uint32_t tok, wr_type *out);
bool query_column(const query *q, const pg_tok *t, wr_type *out); /* a name of a column of one of the views, of one type in all of them */
/* A type as PostgreSQL writes it, from the token `at` on; *next: behind it. */
bool query_pg_type(const pg_tok *t, uint32_t *next, wr_type *out);
wr_status query_fail_at(const pg_tok *t, wr_err *err, const char *code, const char *fmt, ...) WR_PRINTF(4, 5);

/* query_read.c: false: it is not such a read. */
bool      read_recognise(query *q);
wr_status read_run(query *q, const query_args *args, query_rows **out, wr_err *err);
bool      read_is_quick(const query *q);
void      read_describe(query *q);

/* query_text.c: places of the answer in the question, ascending. */
typedef struct text_place { uint32_t out, in; } text_place;
typedef struct text_places { WR_ARR(text_place) list; } text_places;
wr_status text_translate(const query *q, const wr_value *params, uint32_t n_params, wr_arena *arena, wr_sbuf *out, text_places *places, wr_err *err);
uint32_t  text_place_of(const text_places *places, uint32_t out);

/* query_session.c */
wr_status session_describe(query *q, wr_err *err);
wr_status session_run(query *q, const query_args *args, query_rows **out, wr_err *err);

/* Rows that are kept: a set, given from its beginning. Takes set and schema's arena. */
query_rows *query_rows_of_set(wr_row_set *set, const wr_tz *tz, uint32_t n_cols, void (*done)(void *arg), void *arg);
