/* catalog/catalog.h: tables, views and settings of one script. (contract)
 *
 * Idea       a table is what CREATE TABLE said, with types resolved; expressions (computed columns, watermark) stay AST here and are bound
 *            by plan/. A view is its AST. Lookup is by exact name; misses get the nearest name.
 * Memory     everything in the arena given to wr_catalog_new.                                                                    */
#pragma once
#include "base/diag.h"
#include "sql/sql.h"
#include "type/value.h"

typedef struct wr_table_option { wr_str key, value; wr_span at; } wr_table_option; /* same layout as format/'s wr_option */

typedef enum wr_column_kind { WR_COLUMN_PHYSICAL, WR_COLUMN_METADATA, WR_COLUMN_COMPUTED } wr_column_kind;
typedef struct wr_column {
    wr_str          name;
    wr_column_kind  kind;
    wr_type         type;         /* COMPUTED: unset until bound */
    wr_str          metadata_key; /* METADATA */
    bool            is_virtual;   /* METADATA ... VIRTUAL: not written by INSERT */
    const wr_ast_expr *expr;      /* COMPUTED */
    wr_span         at;
} wr_column;

typedef struct wr_table {
    wr_str           name;
    wr_span          at;
    uint32_t         n_columns;
    const wr_column *columns;     /* in declared order */
    uint32_t         n_key;       /* PRIMARY KEY NOT ENFORCED */
    const uint32_t  *key;         /* indexes into columns */
    int32_t          watermark_column;          /* -1 none */
    const wr_ast_expr *watermark;
    wr_span          watermark_at;
    uint32_t         n_options;
    const wr_table_option *options;
    wr_str           connector, format;         /* '' if absent */
    bool             is_view, is_materialized;
    const wr_ast_query *query;                  /* views */
    uint32_t         n_view_columns;
    const wr_str    *view_columns;
    wr_str           home_catalog, home_database; /* views: where the names in the query are looked up */
} wr_table;
wr_str wr_table_option_get(const wr_table *table, const char *key); /* ptr NULL if absent */

/* What plan/ knows of a connector; cli/ fills it from connect/'s registry. */
typedef struct wr_connector_ref {
    const char *name;
    bool        is_source, is_sink, parallel_sink, needs_format;
    bool        partial_updates;                  /* upserts that may leave columns as they are: see WR_UNCHANGED_KEY in type/batch.h */
    const char *const *metadata;
    int (*source_changes)(const wr_table *table); /* 0 append, 1 upsert, 2 retract */
    int (*sink_takes)(const wr_table *table);     /* 0 append, 1 upsert by primary key, 2 all kinds */
    int (*guarantee)(const wr_table *table);      /* 0 at least once, 1 idempotent, 2 exactly once */
    bool (*bounded)(const wr_table *table);
    int (*lookup)(const wr_table *table);         /* asked by key in lookup joins: 0 no, 1 it is read as a whole, 2 yes */
} wr_connector_ref;

/* A catalog (database '') or a database of one. */
typedef struct wr_space {
    wr_str   catalog, database;
    wr_str   entry;               /* of a catalog: the database that USE CATALOG enters */
    wr_str   comment;
    uint32_t n_options;
    const wr_table_option *options;
} wr_space;

typedef struct wr_catalog wr_catalog;
wr_catalog *wr_catalog_new(wr_arena *arena);
const wr_table *wr_catalog_find(const wr_catalog *catalog, wr_str name);
bool  wr_catalog_add(wr_catalog *catalog, wr_table *table); /* false if the name is taken */
bool  wr_catalog_drop(wr_catalog *catalog, wr_str name);
uint32_t wr_catalog_count(const wr_catalog *catalog);
const wr_table *wr_catalog_at(const wr_catalog *catalog, uint32_t i); /* in order of creation */
wr_str wr_catalog_nearest(const wr_catalog *catalog, wr_str name);   /* '' if none is near */
/* Spaces: names without a path belong to the current one. A table's name is bare in default_catalog.default_database, else catalog.database.table. */
bool      wr_space_is_default(const wr_space *s);
wr_space *wr_catalog_find_space(const wr_catalog *catalog, wr_str catalog_name, wr_str database); /* NULL if there is none */
bool      wr_catalog_add_space(wr_catalog *catalog, wr_space space);          /* false if the name is taken */
bool      wr_catalog_drop_space(wr_catalog *catalog, const wr_space *space);  /* with all in it; false: in use, or the default one */
uint32_t  wr_catalog_count_spaces(const wr_catalog *catalog);
wr_space *wr_catalog_space_at(const wr_catalog *catalog, uint32_t i);
const wr_space *wr_catalog_current(const wr_catalog *catalog);                /* a database */
void      wr_catalog_use(wr_catalog *catalog, const wr_space *database);
wr_str    wr_catalog_name_in(const wr_catalog *catalog, const wr_space *database, wr_str object); /* what a table of it is known by */
const wr_space *wr_catalog_space_of(const wr_catalog *catalog, wr_str name, wr_str *object);      /* the other way round */
/* The module core: the built-in functions. UNLOAD MODULE takes them out of sight. */
bool      wr_catalog_has_core(const wr_catalog *catalog);
void      wr_catalog_load_core(wr_catalog *catalog, bool load);
/* Functions of the user. Names without regard to case; the same name may be taken once for each of the kinds of Flink. */
struct wr_udf;                                                       /* expr/udf.h */
typedef struct wr_function { wr_str name, symbol; wr_ast_text library /* as written */; bool temporary, system; const struct wr_udf *udf; } wr_function;
const wr_function *wr_catalog_function(const wr_catalog *catalog, wr_str name, bool temporary, bool system); /* NULL: there is none */
void     wr_catalog_set_function(wr_catalog *catalog, wr_function function); /* takes the place of one of the same name and kind */
bool     wr_catalog_drop_function(wr_catalog *catalog, wr_str name, bool temporary, bool system);
uint32_t wr_catalog_n_functions(const wr_catalog *catalog);
const wr_function *wr_catalog_function_at(const wr_catalog *catalog, uint32_t i); /* in order of creation */
/* Settings: SET 'k' = 'v' and --set. Known keys are listed with defaults for messages and docs. */
bool   wr_catalog_set(wr_catalog *catalog, wr_str key, wr_str value); /* false: unknown key (kept all the same) */
wr_str wr_catalog_get(const wr_catalog *catalog, const char *key);   /* value, the default, or '' */
typedef struct wr_setting_info { const char *key, *fallback, *doc; } wr_setting_info;
const wr_setting_info *wr_settings(size_t *n);                        /* the known keys, for messages and docs */
wr_str wr_setting_nearest(wr_str key);                                /* '' if none is near */
/* A type as written, resolved; false after a diagnostic (unknown type, bad precision, type that weir does not have). */
bool   wr_catalog_type(wr_arena *arena, const wr_ast_type *ast, wr_diags *diags, wr_type *out);
