/* serve/catalog.h: pg_catalog and information_schema, for clients that look around. Private to serve/.
 *
 * Idea       the system tables of PostgreSQL are tables of an SQLite database in memory, filled from the views that there are; a client's query is rewritten from
 *            PostgreSQL's SQL to SQLite's word by word (catalog_rewrite.c), and what functions it calls are there (catalog_functions.c). So any query that stays
 *            within what both have is answered, not a list of known ones.
 * Safe       an authorizer lets through reads only; a statement has a number of steps and a time; memory is bounded.
 * Arrays     are JSON texts inside; what goes out has PostgreSQL's form.
 * Thread     any; one statement at a time.                                                                                              */
#pragma once
#include "serve/query.h"

typedef struct catalog catalog;
catalog  *catalog_new(wr_world *world, const char *database);
void      catalog_free(catalog *c);                         /* NULL is legal */
/* Could this be a statement of it: does it compile? cols: in the arena. */
wr_status catalog_describe(catalog *c, wr_arena *arena, const pg_toks *toks, uint32_t *n_cols, query_col **cols, wr_err *err);
wr_status catalog_run(catalog *c, const pg_toks *toks, const query_col *cols, uint32_t n_cols, const query_args *args, query_rows **out, wr_err *err);
/* Is it the name of one of its tables? schema ptr NULL: not said. */
uint32_t  catalog_declared(const char *type);           /* the OID of a type as tables declare it; 0: none, or not known */
uint32_t  catalog_column(wr_str name);                  /* that of the columns of that name, which PostgreSQL has prefixes in for this */
bool      catalog_has(wr_str schema, wr_str table);

/* catalog_rewrite.c: one statement in SQLite's SQL. WR_UNSUPPORTED: what there is no way to say in it. */
typedef struct catalog_rewritten { uint32_t n_items; wr_str *names; uint32_t *oids, *from, *to; } catalog_rewritten; /* from, to: tokens, without the name */ /* of the first SELECT: names of its columns (ptr NULL: as SQLite says), types (0: not known) */
catalog_rewritten catalog_items(wr_arena *arena, const pg_toks *toks);
wr_status catalog_rewrite(wr_arena *arena, const pg_toks *toks, wr_sbuf *out, catalog_rewritten *info, wr_err *err);

/* catalog_functions.c */
struct sqlite3;
typedef struct catalog_caller { wr_world *world; const char *database, *user; } catalog_caller;
int catalog_functions(struct sqlite3 *db, catalog_caller *caller);
/* A JSON array as PostgreSQL writes it: {a,b}. */
void catalog_array(wr_str json, wr_sbuf *out);
/* catalog_tables.c: creates and fills what does not depend on views; then what does. */
int catalog_tables(struct sqlite3 *db);
int catalog_fill(struct sqlite3 *db, wr_world *world, const char *database, wr_view *const *views, uint32_t n);
