/* connect/sqlite_lookup.c: a table of an SQLite database, asked by key (lookup joins).
 *
 * Idea       one prepared SELECT with a parameter for each key column, run for every key of a question inside one read transaction: all keys of a question
 *            see the same state of the table. The whole table is the same SELECT without a condition.
 * Types      as connect/sqlite.c writes them; a number or a text that is there instead is converted, what cannot be is an error with its value.
 * Thread     one asks; the database handle is its own.                                                                 */
#include "base/hash.h"
#include "connect/sqlite_parts.h"

typedef struct sqlite_lookup {
    wr_lookup        base;
    wr_arena        *arena;
    const wr_schema *schema;
    const uint8_t   *needed;
    const char      *path, *table, *quoted; /* quoted: the table, for messages */
    uint32_t         n_keys;
    uint32_t        *keys;
    int64_t          busy_ms;
    sqlite3         *db;
    sqlite3_stmt    *by_key, *whole;
    wr_sbuf          text;
} sqlite_lookup;

WR_COLD static wr_status fail_sqlite(sqlite_lookup *s, int code, const char *what, wr_err *err) {
    int         kind = code & 0xFF;
    const char *state = kind == SQLITE_BUSY || kind == SQLITE_LOCKED ? "55P03" : "58030";
    wr_status   status = wr_fail(err, WR_IO, state, "cannot %s in the SQLite database '%s': %s", what, s->path, s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
    if (!err) return status;
    err->retriable = kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_IOERR || kind == SQLITE_SCHEMA;
    if (kind == SQLITE_CANTOPEN) wr_err_hint(err, "the file must be there before the job starts, and readable");
    else if (kind == SQLITE_BUSY) wr_err_hint(err, "another process holds a lock; waited %.1f s ('sink.busy-timeout')", (double)s->busy_ms / 1000);
    else if (kind == SQLITE_ERROR) wr_err_hint(err, "does the table '%s' have these columns? 'table' names another one", s->table);
    return status;
}

/* ---- values ---- */

static wr_status bad_value(const sqlite_lookup *s, uint32_t col, wr_str text, wr_err *err) { return lookup_bad_value(&s->schema->fields[col], s->quoted, s->path, text, err); }

static wr_status read_value(const sqlite_lookup *s, sqlite3_stmt *st, int at, uint32_t col, wr_vec *vec, uint32_t row, wr_mem *mem, wr_err *err) {
    int kind = sqlite3_column_type(st, at);
    if (kind == SQLITE_NULL) {
        if (!vec->type.nullable) return bad_value(s, col, WR_STR("NULL"), err);
        wr_vec_set_null(vec, row, mem);
        return WR_OK;
    }
    if (vec->type.id == WR_T_BOOLEAN && kind == SQLITE_INTEGER) {
        ((uint8_t *)vec->data)[row] = sqlite3_column_int64(st, at) != 0;
        return WR_OK;
    }
    if (vec->type.id == WR_T_DOUBLE && kind != SQLITE_TEXT) {
        ((double *)vec->data)[row] = sqlite3_column_double(st, at);
        return WR_OK;
    }
    if (kind == SQLITE_BLOB && (vec->type.id == WR_T_BINARY || vec->type.id == WR_T_VARBINARY)) {
        ((wr_sview *)vec->data)[row] = wr_sview_copy(mem, sqlite3_column_blob(st, at), (size_t)sqlite3_column_bytes(st, at));
        return WR_OK;
    }
    const char *ptr = (const char *)sqlite3_column_text(st, at);
    wr_str      text = {ptr ? ptr : "", (size_t)sqlite3_column_bytes(st, at)};
    if (text.len > 12) { /* a text of the column borrows it */
        char *copy = wr_mem_alloc(mem, text.len);
        memcpy(copy, text.ptr, text.len);
        text.ptr = copy;
    }
    return wr_scalar_put(text, ' ', vec, row, mem) == WR_PUT_OK ? WR_OK : bad_value(s, col, text, err);
}

static wr_status read_rows(sqlite_lookup *s, sqlite3_stmt *st, wr_lookup_rows *out, wr_err *err) {
    int code;
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        wr_batch *b = lookup_row(s->schema, out);
        int       at = 0;
        for (uint32_t c = 0; c < s->schema->n; c++) {
            if (s->needed && !s->needed[c]) wr_vec_set_null(&b->cols[c], b->n_rows, b->mem);
            else WR_TRY(read_value(s, st, at++, c, &b->cols[c], b->n_rows, b->mem, err));
        }
        if (++b->n_rows == LOOKUP_PIECE_ROWS) WR_TRY(wr_lookup_rows_pass(out, err));
    }
    if (code == SQLITE_DONE) WR_TRY(wr_lookup_rows_pass(out, err));
    return code == SQLITE_DONE ? WR_OK : fail_sqlite(s, code, "read a table", err);
}

/* ---- questions ---- */

static wr_status get(wr_lookup *lookup, const wr_batch *keys, wr_lookup_rows *out, wr_err *err) {
    sqlite_lookup *s = (sqlite_lookup *)lookup;
    wr_status      status = WR_OK;
    int            code = sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
    if (code != SQLITE_OK) return fail_sqlite(s, code, "begin to read", err);
    sqlite3_stmt *st = keys ? s->by_key : s->whole;
    uint32_t      n = keys ? wr_batch_live(keys) : 1;
    for (uint32_t i = 0; i < n && status == WR_OK; i++) {
        for (uint32_t k = 0; keys && k < s->n_keys && code == SQLITE_OK; k++) code = sqlite_bind(st, (int)k + 1, &keys->cols[k], wr_batch_row(keys, i), &s->text);
        status = code == SQLITE_OK ? read_rows(s, st, out, err) : fail_sqlite(s, code, "ask for a key", err);
        sqlite3_reset(st);
    }
    sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    return status;
}

static void close_lookup(wr_lookup *lookup) {
    sqlite_lookup *s = (sqlite_lookup *)lookup;
    sqlite3_finalize(s->by_key);
    sqlite3_finalize(s->whole);
    sqlite3_close(s->db);
    wr_sbuf_free(&s->text);
    wr_arena_free(s->arena);
    wr_free(s);
}
static const wr_lookup_vt lookup_vt = {"sqlite", get, close_lookup};

/* With its table: a quoted name alone that is no column would be taken for a text. */
static void put_column(const sqlite_lookup *s, uint32_t col, wr_sbuf *sql) {
    db_put_name(sql, wr_str_of(s->table));
    wr_sbuf_addc(sql, '.');
    db_put_name(sql, s->schema->fields[col].name);
}

static wr_status prepare(sqlite_lookup *s, bool by_key, sqlite3_stmt **out, wr_err *err) {
    wr_sbuf     sql = {0};
    const char *sep = "SELECT ";
    for (uint32_t c = 0; c < s->schema->n; c++) {
        if (s->needed && !s->needed[c]) continue;
        wr_sbuf_addz(&sql, sep);
        put_column(s, c, &sql);
        sep = ", ";
    }
    if (*sep == 'S') wr_sbuf_addz(&sql, "SELECT 1");
    wr_sbuf_addz(&sql, " FROM ");
    db_put_name(&sql, wr_str_of(s->table));
    for (uint32_t k = 0; by_key && k < s->n_keys; k++) {
        wr_sbuf_addz(&sql, k ? " AND " : " WHERE ");
        put_column(s, s->keys[k], &sql);
        wr_sbuf_printf(&sql, " = ?%u", k + 1);
    }
    int code = sqlite3_prepare_v3(s->db, sql.at, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    wr_sbuf_free(&sql);
    return code == SQLITE_OK ? WR_OK : fail_sqlite(s, code, "prepare reading", err);
}

static wr_status open_db(sqlite_lookup *s, wr_err *err) {
    int code = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) return fail_sqlite(s, code, "open a table", err);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, (int)s->busy_ms);
    for (uint32_t c = 0; c < s->schema->n; c++) {
        uint8_t id = (uint8_t)s->schema->fields[c].type.id;
        if ((!s->needed || s->needed[c]) && (id == WR_T_ARRAY || id == WR_T_MAP || id == WR_T_MULTISET || id == WR_T_ROW))
            return wr_fail(err, WR_UNSUPPORTED, "0A000", "column '%.*s': ARRAY, MAP and ROW cannot be read from SQLite", WR_FMT(s->schema->fields[c].name));
    }
    WR_TRY(prepare(s, true, &s->by_key, err));
    return prepare(s, false, &s->whole, err);
}

wr_status sqlite_lookup_new(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err) {
    int64_t busy_us;
    wr_str  table = option_text(t, wr_connector_sqlite.specs, "table"), path = option_text(t, wr_connector_sqlite.specs, "path");
    *out = NULL;
    if (!wr_option_duration(&t->options, wr_connector_sqlite.specs, "sink.busy-timeout", &busy_us, ctx->diags)) return WR_USER;
    if (!table.len) table = t->name;
    sqlite_lookup *s = wr_calloc(1, sizeof *s);
    *s = (sqlite_lookup){.base = {&lookup_vt}, .schema = t->schema, .needed = t->needed, .n_keys = n_keys, .busy_ms = busy_us / 1000};
    s->arena = wr_arena_new(NULL);
    s->path = wr_arena_strndup(s->arena, path.ptr, path.len);
    s->table = wr_arena_strndup(s->arena, table.ptr, table.len);
    s->quoted = wr_arena_printf(s->arena, "'%s'", s->table);
    s->keys = wr_new_n(s->arena, uint32_t, n_keys + 1);
    for (uint32_t k = 0; k < n_keys; k++) s->keys[k] = keys[k];
    wr_status status = open_db(s, err);
    if (status == WR_OK) {
        *out = &s->base;
        return WR_OK;
    }
    point_at_path(t, err);
    close_lookup(&s->base);
    return status;
}

/* Of the database and of its log. */
wr_status sqlite_version(const wr_table_info *t, wr_connect_ctx *ctx, uint64_t *out, wr_err *err) {
    wr_str  path = option_text(t, wr_connector_sqlite.specs, "path");
    wr_sbuf name = {0}, text = {0};
    wr_status status = WR_OK;
    for (int log = 0; log < 2 && status == WR_OK; log++) {
        wr_file_info f;
        bool         exists;
        wr_sbuf_clear(&name);
        wr_sbuf_add_str(&name, path);
        if (log) wr_sbuf_addz(&name, "-wal");
        status = ctx->world->vt->stat(ctx->world, name.at, &f, &exists, err);
        if (status == WR_OK && exists) wr_sbuf_printf(&text, "%d %llu %llu %lld\n", log, (unsigned long long)f.inode, (unsigned long long)f.size_bytes, (long long)f.mtime_us);
    }
    *out = wr_hash_bytes(text.at ? text.at : "", text.len);
    wr_sbuf_free(&name);
    wr_sbuf_free(&text);
    return status;
}
