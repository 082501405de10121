/* serve/catalog.c: see catalog.h.
 *
 * Life       the database is made at the first query. Rows about views are made anew for each statement: there are few, and figures are of now.           */
#include "serve/catalog.h"
#include "serve/pg_value.h"
#include "serve/query_parts.h"
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

enum { STEPS = 2000, TIME_MAX_S = 10, MEMORY_MAX = 128 << 20, TEXT_MAX = 1 << 20 };

struct catalog {
    wr_world      *world;
    const char    *database;
    wr_mutex      *lock;
    sqlite3       *db;
    catalog_caller caller;
    query_stop    *stop;               /* of the statement that runs */
    int64_t        until_us, memory;
};

catalog *catalog_new(wr_world *world, const char *database) {
    catalog *c = wr_calloc(1, sizeof *c);
    *c = (catalog){.world = world, .database = database, .lock = wr_mutex_new(), .caller = {world, database, NULL}};
    return c;
}

void catalog_free(catalog *c) {
    if (!c) return;
    sqlite3_close(c->db);
    wr_mutex_free(c->lock);
    wr_free(c);
}

/* ---- what a statement may do ---- */
static int authorize(void *arg, int action, const char *a, const char *b, const char *db, const char *trigger) {
    (void)arg, (void)a, (void)db, (void)trigger;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE) return SQLITE_OK;
    if (action != SQLITE_FUNCTION) return SQLITE_DENY;
    static const char *const never[] = {"load_extension", "randomblob", "zeroblob", "printf", "format", "fts3_tokenizer"};
    for (size_t i = 0; b && i < WR_COUNT_OF(never); i++)
        if (!sqlite3_stricmp(b, never[i])) return SQLITE_DENY;
    return SQLITE_OK;
}

static int progress(void *arg) {
    catalog *c = arg;
    if (c->stop && atomic_load(&c->stop->asked)) return 1;
    return wr_mono_us(c->world) > c->until_us || sqlite3_memory_used() - c->memory > MEMORY_MAX;
}

static wr_status open_db(catalog *c, wr_err *err) {
    if (c->db) return WR_OK;
    int rc = sqlite3_open_v2(":memory:", &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) rc = catalog_functions(c->db, &c->caller);
    if (rc == SQLITE_OK) rc = catalog_tables(c->db);
    if (rc == SQLITE_OK) rc = sqlite3_exec(c->db, "SELECT value FROM json_each('[]')", NULL, NULL, NULL); /* it declares itself once, which the authorizer would not let it */
    if (rc != SQLITE_OK) {
        wr_fail(err, WR_IO, "XX000", "the catalogue cannot be made: %s", c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
        sqlite3_close(c->db);
        c->db = NULL;
        return WR_IO;
    }
    sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, TEXT_MAX * 4);
    sqlite3_limit(c->db, SQLITE_LIMIT_SQL_LENGTH, TEXT_MAX * 2);
    sqlite3_limit(c->db, SQLITE_LIMIT_EXPR_DEPTH, 400);
    sqlite3_limit(c->db, SQLITE_LIMIT_COMPOUND_SELECT, 100);
    sqlite3_limit(c->db, SQLITE_LIMIT_ATTACHED, 2);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    return WR_OK;
}

static wr_status refill(catalog *c, wr_err *err) {
    wr_view *views[QUERY_VIEWS_MAX];
    uint32_t n = query_views(views, QUERY_VIEWS_MAX);
    sqlite3_set_authorizer(c->db, NULL, NULL);
    int rc = catalog_fill(c->db, c->world, c->database, views, n);
    for (uint32_t i = 0; i < n; i++) wr_view_unref(views[i]);
    return rc == SQLITE_OK ? WR_OK : wr_fail(err, WR_IO, "XX000", "the catalogue cannot be filled: %s", sqlite3_errmsg(c->db));
}

static wr_status fail_sqlite(catalog *c, wr_err *err) {
    const char *what = sqlite3_errmsg(c->db), *table = strstr(what, "no such table: "), *column = strstr(what, "no such column: "), *function = strstr(what, "no such function: ");
    int         rc = sqlite3_errcode(c->db);
    if (rc == SQLITE_INTERRUPT) {
        bool asked = c->stop && atomic_load(&c->stop->asked);
        return wr_fail(err, asked ? WR_CANCELLED : WR_LIMIT, "57014", asked ? "canceling statement due to user request" : "a query of the catalogue takes too long, or too much memory");
    }
    if (table) return wr_fail(err, WR_USER, "42P01", "relation \"%s\" does not exist", table + 15);
    if (column) return wr_fail(err, WR_USER, "42703", "column \"%s\" does not exist", column + 16);
    if (function) return wr_fail(err, WR_USER, "42883", "function %s does not exist in the catalogue", function + 18);
    if (strstr(what, "does not exist")) return wr_fail(err, WR_USER, "42P01", "%s", what);
    return wr_fail(err, WR_USER, rc == SQLITE_TOOBIG ? "54000" : "42601", "%s", what);
}

static wr_status compile(catalog *c, wr_arena *arena, const pg_toks *toks, sqlite3_stmt **out, catalog_rewritten *info, wr_err *err) {
    wr_sbuf     sql = {0};
    const char *tail = NULL;
    *out = NULL;
    WR_TRY(open_db(c, err));
    WR_TRY(refill(c, err));
    sqlite3_set_authorizer(c->db, authorize, c);
    c->until_us = wr_mono_us(c->world) + TIME_MAX_S * INT64_C(1000000);
    c->memory = sqlite3_memory_used();
    sqlite3_progress_handler(c->db, STEPS, progress, c);
    wr_status status = catalog_rewrite(arena, toks, &sql, info, err);
    if (status == WR_OK && sqlite3_prepare_v2(c->db, sql.at ? sql.at : "", (int)sql.len, out, &tail) != SQLITE_OK) status = fail_sqlite(c, err);
    if (status == WR_OK && (!*out || !sqlite3_stmt_readonly(*out))) status = wr_fail(err, WR_USER, "25006", "the catalogue is read only");
    if (status != WR_OK && err && !err->detail[0] && sql.len) wr_err_detail(err, "as %.*s", (int)WR_MIN(sql.len, (size_t)900), sql.at);
    wr_sbuf_free(&sql);
    return status;
}

/* ---- types of columns ---- */
uint32_t catalog_declared(const char *type) {
    static const struct { const char *name; uint32_t oid; } types[] = {
        {"oid", PG_OID}, {"name", PG_NAME}, {"char", PG_CHAR1}, {"text", PG_TEXT}, {"int2", PG_INT2}, {"int4", PG_INT4}, {"int8", PG_INT8}, {"bool", PG_BOOL}, {"float4", PG_FLOAT4}, {"float8", PG_FLOAT8}, {"varchar", PG_VARCHAR}, {"timestamptz", PG_TIMESTAMPTZ}, {"xid", PG_INT4},
        {"regproc", PG_TEXT}, {"int2vector", PG_INT2VECTOR}, {"oidvector", PG_OIDVECTOR}, {"_text", 1009}, {"_name", 1003}, {"_oid", 1028}, {"_int2", 1005}, {"_char", 1002}, {"_aclitem", 1009}, {"_float4", 1021}, {"pg_node_tree", PG_TEXT}, {"anyarray", 1009}, {"numeric", PG_FLOAT8},
    };
    for (size_t i = 0; type && i < WR_COUNT_OF(types); i++) {
        size_t n = strlen(types[i].name);
        if (!strncmp(type, types[i].name, n) && (!type[n] || type[n] == ' ')) return types[i].oid;
    }
    return 0;
}

static bool is_array(uint32_t oid) { return oid == 1009 || oid == 1003 || oid == 1028 || oid == 1005 || oid == 1002 || oid == 1021; }

static wr_type type_of(uint32_t oid) {
    wr_type t;
    return pg_type_of(oid, &t) ? t : wr_type_string();
}

wr_status catalog_describe(catalog *c, wr_arena *arena, const pg_toks *toks, uint32_t *n_cols, query_col **cols, wr_err *err) {
    sqlite3_stmt     *s;
    catalog_rewritten info;
    wr_mutex_lock(c->lock);
    wr_status status = compile(c, arena, toks, &s, &info, err);
    if (status == WR_OK) {
        uint32_t n = (uint32_t)sqlite3_column_count(s);
        bool     named = info.n_items == n;
        *n_cols = n;
        *cols = wr_new_n(arena, query_col, n + 1);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t oid = catalog_declared(sqlite3_column_decltype(s, (int)i));
            if (!oid) oid = named && info.oids[i] ? info.oids[i] : PG_TEXT;
            wr_str name = named && info.names[i].ptr ? info.names[i] : wr_str_dup(arena, wr_str_of(sqlite3_column_name(s, (int)i)));
            (*cols)[i] = (query_col){name, type_of(oid), oid, -1};
        }
    }
    sqlite3_finalize(s);
    wr_mutex_unlock(c->lock);
    return status;
}

/* ---- running ---- */
static void bind(sqlite3_stmt *s, const query_args *a) {
    for (uint32_t i = 0; i < a->n && (int)i < sqlite3_bind_parameter_count(s); i++) {
        const wr_value *v = &a->params[i];
        if (v->null) continue;
        if (v->type.id == WR_T_BOOLEAN) sqlite3_bind_int(s, (int)i + 1, v->b);
        else if (wr_type_is_integer(v->type)) sqlite3_bind_int64(s, (int)i + 1, v->i);
        else if (v->type.id == WR_T_DOUBLE || v->type.id == WR_T_FLOAT) sqlite3_bind_double(s, (int)i + 1, v->f);
        else if (wr_type_storage(v->type) == WR_S_STR) sqlite3_bind_text64(s, (int)i + 1, v->s.ptr, v->s.len, SQLITE_TRANSIENT, SQLITE_UTF8);
        else {
            wr_sbuf text = {0};
            wr_value_text(v, NULL, &text);
            sqlite3_bind_text64(s, (int)i + 1, wr_sbuf_str(&text).ptr, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
            wr_sbuf_free(&text);
        }
    }
}

static void put_text(wr_vec *col, uint32_t row, wr_mem *mem, wr_str s) { ((wr_sview *)col->data)[row] = wr_sview_copy(mem, s.ptr, s.len); }

static void put_value(sqlite3_stmt *s, uint32_t i, const query_col *c, wr_vec *col, uint32_t row, wr_mem *mem) {
    if (sqlite3_column_type(s, (int)i) == SQLITE_NULL) return;
    wr_valid_set(col->valid, row, true);
    switch ((wr_tid)c->type.id) {
    case WR_T_BOOLEAN: {
        const char *t = (const char *)sqlite3_column_text(s, (int)i);
        ((uint8_t *)col->data)[row] = t && (t[0] == '1' || t[0] == 't');
        return;
    }
    case WR_T_SMALLINT: ((int16_t *)col->data)[row] = (int16_t)sqlite3_column_int64(s, (int)i); return;
    case WR_T_INT: ((int32_t *)col->data)[row] = (int32_t)sqlite3_column_int64(s, (int)i); return;
    case WR_T_BIGINT:
    case WR_T_TIMESTAMP_LTZ: ((int64_t *)col->data)[row] = sqlite3_column_int64(s, (int)i); return;
    case WR_T_FLOAT: ((float *)col->data)[row] = (float)sqlite3_column_double(s, (int)i); return;
    case WR_T_DOUBLE: ((double *)col->data)[row] = sqlite3_column_double(s, (int)i); return;
    default: break;
    }
    const char *t = (const char *)sqlite3_column_text(s, (int)i);
    wr_str      text = {t ? t : "", t ? (size_t)sqlite3_column_bytes(s, (int)i) : 0};
    wr_sbuf     out = {0};
    if (is_array(c->oid) && text.len && text.ptr[0] == '[') catalog_array(text, &out);
    else if ((c->oid == PG_INT2VECTOR || c->oid == PG_OIDVECTOR) && text.len > 1 && text.ptr[0] == '[') {
        for (size_t k = 1; k + 1 < text.len; k++) wr_sbuf_addc(&out, text.ptr[k] == ',' ? ' ' : text.ptr[k]);
    } else {
        put_text(col, row, mem, text);
        return;
    }
    put_text(col, row, mem, wr_sbuf_str(&out));
    wr_sbuf_free(&out);
}

typedef struct kept { wr_arena *arena; wr_schema schema; } kept;
static void kept_free(void *arg) {
    kept *k = arg;
    wr_arena_free(k->arena);
    wr_free(k);
}

static wr_status step_all(catalog *c, sqlite3_stmt *s, const query_col *cols, uint32_t n, const query_args *args, const wr_schema *schema, wr_row_set *set, wr_err *err) {
    wr_builder *b = wr_builder_new(schema, 256);
    wr_status   status = WR_OK;
    int         rc;
    uint64_t    rows = 0, bytes = 0;
    while (status == WR_OK && (rc = sqlite3_step(s)) != SQLITE_DONE) {
        if (rc != SQLITE_ROW) {
            status = fail_sqlite(c, err);
            break;
        }
        uint32_t row = wr_builder_add(b, WR_KIND_INSERT);
        for (uint32_t i = 0; i < n; i++) {
            put_value(s, i, &cols[i], wr_builder_col(b, i), row, wr_builder_mem(b));
            bytes += (uint64_t)sqlite3_column_bytes(s, (int)i) + 8;
        }
        if ((args->limits.rows && ++rows > args->limits.rows) || (args->limits.memory_bytes && bytes > (uint64_t)args->limits.memory_bytes)) status = wr_fail(err, WR_LIMIT, "54000", "the answer is too large");
        if (wr_builder_rows(b) < 256) continue;
        wr_batch *batch = wr_builder_take(b);
        wr_row_set_append(set, batch);
        wr_batch_unref(batch);
    }
    wr_batch *rest = wr_builder_take(b);
    if (rest) wr_row_set_append(set, rest);
    wr_batch_unref(rest);
    wr_builder_free(b);
    return status;
}

wr_status catalog_run(catalog *c, const pg_toks *toks, const query_col *cols, uint32_t n_cols, const query_args *args, query_rows **out, wr_err *err) {
    kept             *k = wr_calloc(1, sizeof *k);
    sqlite3_stmt     *s = NULL;
    catalog_rewritten info;
    wr_row_set       *set = NULL;
    k->arena = wr_arena_new(NULL);
    wr_field *fields = wr_new_n(k->arena, wr_field, n_cols + 1);
    for (uint32_t i = 0; i < n_cols; i++) fields[i] = (wr_field){wr_str_dup(k->arena, cols[i].name), wr_type_with_null(cols[i].type, true)};
    k->schema = (wr_schema){n_cols, fields};
    wr_mutex_lock(c->lock);
    c->caller.user = args->user;
    c->stop = args->stop;
    wr_status status = compile(c, k->arena, toks, &s, &info, err);
    if (status == WR_OK && (uint32_t)sqlite3_column_count(s) != n_cols) status = wr_fail(err, WR_USER, "0A000", "cached plan must not change result type");
    if (status == WR_OK) {
        bind(s, args);
        set = wr_row_set_new(&k->schema, NULL);
        status = step_all(c, s, cols, n_cols, args, &k->schema, set, err);
    }
    sqlite3_finalize(s);
    c->stop = NULL, c->caller.user = NULL;
    wr_mutex_unlock(c->lock);
    if (status == WR_OK) {
        *out = query_rows_of_set(set, NULL, n_cols, kept_free, k);
        return WR_OK;
    }
    wr_row_set_free(set);
    kept_free(k);
    return status;
}
