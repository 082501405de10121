/* connect/postgres/lookup.c: a table of a PostgreSQL database, asked by key (lookup joins).
 *
 * Idea       one SELECT for all keys of a question: the keys go as one array for each key column, unnested on the server, so a question costs one round trip
 *            whatever the number of keys. The whole table is the same SELECT without a condition.
 * Types      read as text and converted as the formats do it; what cannot be converted is an error with its value.
 * Thread     one asks; the connection is its own. A lost connection is made again with the next question.                              */
#include "connect/postgres/pg.h"
#include <stdio.h>
#include <stdlib.h>

enum { KEYS_MAX = 32 };

typedef struct pg_lookup {
    wr_lookup        base;
    wr_arena        *arena;
    const wr_schema *schema;
    const uint8_t   *needed;
    pg_conn          conn;
    uint32_t         n_keys;
    uint32_t        *keys;
    const char      *by_key, *whole;
    wr_sbuf          arrays[KEYS_MAX], value, scratch;
} pg_lookup;

static wr_status bad_value(const pg_lookup *s, uint32_t col, wr_str text, wr_err *err) { return lookup_bad_value(&s->schema->fields[col], s->conn.table, "", text, err); }

static wr_status read_value(const pg_lookup *s, const PGresult *r, int row, int at, uint32_t col, wr_vec *vec, uint32_t to, wr_mem *mem, wr_err *err) {
    if (pg.getisnull(r, row, at)) {
        if (!vec->type.nullable) return bad_value(s, col, WR_STR("NULL"), err);
        wr_vec_set_null(vec, to, mem);
        return WR_OK;
    }
    size_t len = (size_t)pg.getlength(r, row, at);
    char  *copy = wr_mem_alloc(mem, len + 1); /* a text of the column borrows it */
    memcpy(copy, pg.getvalue(r, row, at), len);
    wr_str text = {copy, len};
    return pg_read_value(text, vec, to, mem) == WR_PUT_OK ? WR_OK : bad_value(s, col, text, err);
}

static wr_status read_rows(pg_lookup *s, const PGresult *r, wr_lookup_rows *out, wr_err *err) {
    for (int row = 0, n = pg.ntuples(r); row < n; row++) {
        wr_batch *b = lookup_row(s->schema, out);
        int       at = 0;
        for (uint32_t c = 0; c < s->schema->n; c++) {
            if (s->needed && !s->needed[c]) wr_vec_set_null(&b->cols[c], b->n_rows, b->mem);
            else WR_TRY(read_value(s, r, row, at++, c, &b->cols[c], b->n_rows, b->mem, err));
        }
        b->n_rows++;
    }
    return WR_OK;
}

/* {"a","b"}: every element quoted. COPY's text of a value differs from an array's only in the escapes. */
static bool put_array(pg_lookup *s, const wr_batch *keys, uint32_t k) {
    wr_sbuf *out = &s->arrays[k];
    wr_sbuf_clear(out);
    wr_sbuf_addc(out, '{');
    for (uint32_t i = 0; i < wr_batch_live(keys); i++) {
        const wr_vec *vec = &keys->cols[k];
        uint32_t      row = wr_batch_row(keys, i);
        wr_sbuf_clear(&s->value);
        wr_str text;
        if (wr_type_is_string(vec->type)) {
            text = wr_sview_str((const wr_sview *)vec->data + row);
            if (memchr(text.ptr, 0, text.len)) return false;
        } else {
            (void)pg_put_value(&s->value, vec, row, &s->scratch);
            text = wr_sbuf_str(&s->value);
            if (wr_type_is_binary(vec->type)) text.ptr++, text.len--; /* one backslash: the second one comes below */
        }
        wr_sbuf_addz(out, i ? ",\"" : "\"");
        for (size_t c = 0; c < text.len; c++) {
            if (text.ptr[c] == '"' || text.ptr[c] == '\\') wr_sbuf_addc(out, '\\');
            wr_sbuf_addc(out, text.ptr[c]);
        }
        wr_sbuf_addc(out, '"');
    }
    wr_sbuf_addc(out, '}');
    return true;
}

/* A piece at a time: the client library keeps a whole answer in memory. */
static wr_status read_by_cursor(pg_lookup *s, wr_lookup_rows *out, wr_err *err) {
    wr_sbuf   sql = {0};
    wr_status status = pg_run(&s->conn, "BEGIN READ ONLY", "begin to read", err);
    wr_sbuf_printf(&sql, "DECLARE weir_rows NO SCROLL CURSOR FOR %s", s->whole);
    if (status == WR_OK) status = pg_run(&s->conn, sql.at, "read the table", err);
    for (bool more = true; more && status == WR_OK;) {
        PGresult *r;
        status = pg_query(&s->conn, "FETCH 1024 FROM weir_rows", 0, NULL, "read the table", &r, err);
        if (status != WR_OK) break;
        more = pg.ntuples(r) > 0;
        status = read_rows(s, r, out, err);
        pg.clear(r);
        if (status == WR_OK) status = wr_lookup_rows_pass(out, err);
    }
    wr_err spare;
    (void)pg_run(&s->conn, status == WR_OK ? "COMMIT" : "ROLLBACK", "end reading", &spare);
    wr_sbuf_free(&sql);
    return status;
}

static wr_status get(wr_lookup *lookup, const wr_batch *keys, wr_lookup_rows *out, wr_err *err) {
    pg_lookup  *s = (pg_lookup *)lookup;
    const char *values[KEYS_MAX];
    PGresult   *r;
    if (pg_lost(&s->conn)) WR_TRY(pg_connect(&s->conn, err));
    for (uint32_t k = 0; keys && k < s->n_keys; k++) {
        if (!put_array(s, keys, k)) return wr_fail(err, WR_DATA, "22021", "table '%.*s': a key has a NUL byte in it, which PostgreSQL cannot hold", WR_FMT(s->conn.name));
        values[k] = s->arrays[k].at;
    }
    if (!keys && out->take) return read_by_cursor(s, out, err);
    WR_TRY(pg_query(&s->conn, keys ? s->by_key : s->whole, keys ? (int)s->n_keys : 0, values, "read the table", &r, err));
    wr_status status = read_rows(s, r, out, err);
    pg.clear(r);
    return status;
}

static void close_lookup(wr_lookup *lookup) {
    pg_lookup *s = (pg_lookup *)lookup;
    pg_close(&s->conn);
    for (uint32_t k = 0; k < KEYS_MAX; k++) wr_sbuf_free(&s->arrays[k]);
    wr_sbuf_free(&s->value);
    wr_sbuf_free(&s->scratch);
    wr_arena_free(s->arena);
    wr_free(s);
}
static const wr_lookup_vt lookup_vt = {"jdbc", get, close_lookup};

static void select_columns(const pg_lookup *s, wr_sbuf *sql) {
    const char *sep = "SELECT ";
    for (uint32_t c = 0; c < s->schema->n; c++) {
        if (s->needed && !s->needed[c]) continue;
        wr_sbuf_addz(sql, sep);
        wr_sbuf_addz(sql, "t.");
        db_put_name(sql, s->schema->fields[c].name);
        sep = ", ";
    }
    if (*sep == 'S') wr_sbuf_addz(sql, "SELECT 1");
    wr_sbuf_printf(sql, " FROM %s AS t", s->conn.table);
}

/* The types that the key columns have in the database: a key is compared as one of them, so that an index is used. */
static wr_status make_statements(pg_lookup *s, wr_err *err) {
    wr_sbuf     sql = {0};
    const char *values[1] = {s->conn.table};
    select_columns(s, &sql);
    s->whole = wr_arena_strndup(s->arena, sql.at, sql.len);
    wr_sbuf_addz(&sql, " WHERE (");
    for (uint32_t k = 0; k < s->n_keys; k++) {
        wr_sbuf_addz(&sql, k ? ", t." : "t.");
        db_put_name(&sql, s->schema->fields[s->keys[k]].name);
    }
    wr_sbuf_addz(&sql, ") IN (SELECT * FROM unnest(");
    for (uint32_t k = 0; k < s->n_keys; k++) {
        PGresult   *r;
        wr_sbuf     name = {0};
        wr_str      field = s->schema->fields[s->keys[k]].name;
        wr_sbuf_add_str(&name, field);
        const char *two[2] = {values[0], name.at};
        wr_status   status = pg_query(&s->conn, "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2 AND NOT attisdropped", 2, two, "look at the table", &r, err);
        wr_sbuf_free(&name);
        if (status == WR_OK && !pg.ntuples(r)) {
            pg.clear(r);
            status = wr_fail(err, WR_IO, "42703", "table '%.*s': %s has no column '%.*s'", WR_FMT(s->conn.name), s->conn.table, WR_FMT(field));
            if (err) err->at = s->conn.at;
        }
        if (status != WR_OK) {
            wr_sbuf_free(&sql);
            return status;
        }
        wr_sbuf_printf(&sql, "%s$%u::%s[]", k ? ", " : "", k + 1, pg.getvalue(r, 0, 0));
        pg.clear(r);
    }
    wr_sbuf_addz(&sql, "))");
    s->by_key = wr_arena_strndup(s->arena, sql.at, sql.len);
    wr_sbuf_free(&sql);
    return WR_OK;
}

/* Columns that are not there, and rights, are found before the first row. */
static wr_status try_table(pg_lookup *s, wr_err *err) {
    wr_sbuf sql = {0};
    WR_TRY(pg_connect(&s->conn, err));
    for (uint32_t c = 0; c < s->schema->n; c++)
        if ((!s->needed || s->needed[c]) && wr_type_is_nested(s->schema->fields[c].type))
            return wr_fail(err, WR_UNSUPPORTED, "0A000", "table '%.*s', column '%.*s': ARRAY, MAP and ROW cannot be read from PostgreSQL", WR_FMT(s->conn.name), WR_FMT(s->schema->fields[c].name));
    WR_TRY(make_statements(s, err));
    wr_sbuf_printf(&sql, "EXPLAIN %s", s->whole);
    wr_status status = pg_run(&s->conn, sql.at, "read the table", err);
    wr_sbuf_free(&sql);
    return status;
}

wr_status pg_lookup_new(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err) {
    *out = NULL;
    if (n_keys > KEYS_MAX) return wr_fail(err, WR_UNSUPPORTED, "0A000", "table '%.*s': a lookup by more than %d columns", WR_FMT(t->name), KEYS_MAX);
    pg_lookup *s = wr_calloc(1, sizeof *s);
    *s = (pg_lookup){.base = {&lookup_vt}, .arena = wr_arena_new(NULL), .schema = t->schema, .needed = t->needed, .n_keys = n_keys};
    s->keys = wr_new_n(s->arena, uint32_t, n_keys + 1);
    for (uint32_t k = 0; k < n_keys; k++) s->keys[k] = keys[k];
    wr_status status = pg_open(&s->conn, t, s->arena, ctx, err);
    if (status == WR_OK) status = try_table(s, err);
    if (status == WR_OK) {
        *out = &s->base;
        return WR_OK;
    }
    close_lookup(&s->base);
    return status;
}
