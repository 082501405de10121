/* connect/sqlite_probe.c: what `weir doctor` looks at of a table in an SQLite database: the file, the table, its columns, a unique key for upserts.
 *
 * Idea       the database is opened for reading only, and as one that nobody changes unless it has a log: else SQLite would make one to read it. */
#include "connect/probe.h"
#include "connect/sqlite_parts.h"

typedef struct looked { WR_ARR(wr_probe_column) columns; bool key_is_unique; } looked;

static wr_str kept_text(sqlite3_stmt *st, int at, wr_arena *arena) {
    const char *text = (const char *)sqlite3_column_text(st, at);
    return wr_str_dup(arena, wr_str_of(text ? text : ""));
}

/* The rows of a statement with one parameter; `row` is called for each. */
static bool each_row(sqlite3 *db, const char *sql, wr_str parameter, void (*row)(void *arg, sqlite3_stmt *st), void *arg) {
    sqlite3_stmt *st;
    int           code = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (code != SQLITE_OK) return false;
    sqlite3_bind_text(st, 1, parameter.ptr, (int)parameter.len, SQLITE_STATIC);
    while ((code = sqlite3_step(st)) == SQLITE_ROW) row(arg, st);
    sqlite3_finalize(st);
    return code == SQLITE_DONE;
}

typedef struct column_ask { looked *out; wr_arena *arena; WR_ARR(wr_str) primary, indexes, parts; } column_ask;

static void on_column(void *arg, sqlite3_stmt *st) {
    column_ask     *a = arg;
    wr_probe_column c = {.name = kept_text(st, 0, a->arena), .type = kept_text(st, 1, a->arena), .not_null = sqlite3_column_int(st, 2) != 0, .has_default = sqlite3_column_type(st, 3) != SQLITE_NULL};
    wr_arr_apush(a->arena, &a->out->columns, c);
    if (sqlite3_column_int(st, 4)) wr_arr_apush(a->arena, &a->primary, c.name);
}
static void on_index(void *arg, sqlite3_stmt *st) {
    column_ask *a = arg;
    wr_arr_apush(a->arena, &a->indexes, kept_text(st, 0, a->arena));
}
static void on_part(void *arg, sqlite3_stmt *st) {
    column_ask *a = arg;
    wr_arr_apush(a->arena, &a->parts, kept_text(st, 0, a->arena));
}

static bool is_key(const wr_table_info *t, const wr_str *names, uint32_t n) {
    uint32_t hits = 0;
    for (uint32_t k = 0; k < t->n_key; k++)
        for (uint32_t i = 0; i < n; i++) hits += wr_str_ieq(names[i], t->schema->fields[t->key[k]].name);
    return n == t->n_key && hits == n;
}

static bool look(sqlite3 *db, const wr_table_info *t, wr_str table, looked *out, wr_arena *arena) {
    column_ask a = {.out = out, .arena = arena};
    if (!each_row(db, "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1)", table, on_column, &a)) return false;
    if (!each_row(db, "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" AND NOT partial", table, on_index, &a)) return false;
    out->key_is_unique = is_key(t, a.primary.at, a.primary.n);
    for (uint32_t i = 0; i < a.indexes.n; i++) {
        a.parts.n = 0;
        if (!each_row(db, "SELECT name FROM pragma_index_info(?1)", a.indexes.at[i], on_part, &a)) return false;
        out->key_is_unique |= is_key(t, a.parts.at, a.parts.n);
    }
    return true;
}

/* A reader of a database in WAL mode makes the log and its index if they are not there; with `immutable` it does not. */
static int open_to_read(wr_world *w, const char *path, sqlite3 **db) {
    wr_sbuf      name = {0}, log = {0};
    wr_file_info info;
    bool         busy = false;
    wr_sbuf_printf(&log, "%s-wal", path);
    (void)!w->vt->stat(w, log.at, &info, &busy, NULL);
    wr_sbuf_addz(&name, "file:");
    for (const char *c = path; *c; c++)
        if (strchr("%?#", *c)) wr_sbuf_printf(&name, "%%%02X", (unsigned char)*c);
        else wr_sbuf_addc(&name, *c);
    wr_sbuf_addz(&name, busy ? "?mode=ro" : "?mode=ro&immutable=1");
    int code = sqlite3_open_v2(name.at, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    wr_sbuf_free(&name);
    wr_sbuf_free(&log);
    return code;
}

static void judge(const wr_table_info *t, const looked *l, wr_str table, bool create, wr_probe_ctx *ctx) {
    wr_sbuf keys = {0}, quoted = {0};
    db_columns columns = db_columns_of(t, ctx->connect->arena);
    db_put_name(&quoted, table);
    if (!l->columns.n && create && ctx->role == WR_ROLE_SINK) {
        wr_find(ctx->out, WR_FOUND_FINE, "table", "%s is not there yet and will be made", quoted.at);
    } else if (!l->columns.n) {
        wr_find(ctx->out, WR_FOUND_FAULT, "table", "the database has no table %s", quoted.at);
        wr_find_todo(ctx->out, ctx->role == WR_ROLE_SINK ? "'create-table' = 'true' makes it" : "make it first, or name another one with 'table'");
    } else {
        wr_find(ctx->out, WR_FOUND_FINE, "table", "%s is there", quoted.at);
        wr_probe_columns there = {.table = quoted.at, .n = l->columns.n, .at = l->columns.at, .any_case = true, .put_type = sqlite_put_type, .alter_type = "TYPE"};
        wr_probe_db_columns(t, &there, ctx);
        db_put_keys(&columns, &keys);
        if (ctx->role == WR_ROLE_SINK && t->n_key && !l->key_is_unique) {
            wr_find(ctx->out, WR_FOUND_FAULT, "unique key", "rows are upserted by (%s), and %s has no PRIMARY KEY or UNIQUE index on it", keys.at, quoted.at);
            wr_find_todo(ctx->out, "CREATE UNIQUE INDEX weir_key ON %s (%s)", quoted.at, keys.at);
        } else if (ctx->role == WR_ROLE_SINK && t->n_key) wr_find(ctx->out, WR_FOUND_FINE, "unique key", "(%s)", keys.at);
    }
    wr_sbuf_free(&keys);
    wr_sbuf_free(&quoted);
}

void sqlite_probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    const wr_option_spec *specs = wr_connector_sqlite.specs;
    wr_world             *w = ctx->connect->world;
    wr_str                path = option_text(t, specs, "path"), table = option_text(t, specs, "table"), dir = path_dir(path);
    const char           *z = wr_arena_strndup(ctx->connect->arena, path.ptr, path.len), *refused;
    wr_file_info          info;
    bool                  there = false, create, sink = ctx->role == WR_ROLE_SINK;
    wr_err                err = {0};
    sqlite3              *db = NULL;
    looked                l = {0};
    if (!wr_option_bool(&t->options, specs, "create-table", &create, ctx->connect->diags)) return;
    if (w->vt->stat(w, z, &info, &there, &err) != WR_OK) {
        wr_find_err(ctx->out, "database", &err);
        return;
    }
    if (sink) wr_probe_writable_dir(w, wr_arena_strndup(ctx->connect->arena, dir.ptr, dir.len), "directory", ctx->out);
    if (!there && sink) {
        if (create) wr_find(ctx->out, WR_FOUND_FINE, "database", "'%s' is not there yet and will be made", z);
        else wr_find(ctx->out, WR_FOUND_FAULT, "database", "there is no file '%s', and 'create-table' is 'false'", z);
        if (!create) wr_find_todo(ctx->out, "'create-table' = 'true', or check 'path'");
        return;
    }
    refused = there ? wr_path_refused(z, sink) : "there is no such file";
    if (refused) {
        wr_find(ctx->out, WR_FOUND_FAULT, "database", "cannot %s '%s': %s", sink ? "write" : "read", z, refused);
        wr_find_todo(ctx->out, there ? "chown or chmod '%s'" : "check 'path': '%s'", z);
        return;
    }
    int code = open_to_read(w, z, &db);
    sqlite3_busy_timeout(db, (int)(ctx->timeout_us / 1000));
    if (code == SQLITE_OK && look(db, t, table.len ? table : t->name, &l, ctx->connect->arena)) {
        wr_find(ctx->out, WR_FOUND_FINE, "database", "'%s' can be read%s", z, sink ? " and written" : "");
        judge(t, &l, table.len ? table : t->name, create, ctx);
    } else {
        wr_find(ctx->out, WR_FOUND_FAULT, "database", "'%s': %s", z, sqlite3_errmsg(db));
        wr_find_todo(ctx->out, "is it an SQLite database, and nobody holds it locked? fuser -v '%s'", z);
    }
    sqlite3_close(db);
}
