/* connect/postgres/pg.c: see pg.h.                                                                                       */
#include "connect/postgres/pg.h"
#include <pthread.h>
#include <stdio.h>

pg_table              pg;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

static void load(void) {
#define F(name) {"PQ" #name, &pg.name},
    static const wr_import imports[] = {PG_FUNCTIONS(F)};
#undef F
    missing = wr_library_import("libpq.so.5", imports, WR_COUNT_OF(imports));
}

wr_status pg_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR366", "a PostgreSQL table needs libpq, and %s was not found", missing);
    wr_err_hint(err, "apt-get install libpq5");
    return WR_IO;
}

/* ---- options ---- */

static const char *quoted_table(wr_arena *arena, wr_str name) {
    wr_sbuf     text = {0};
    const char *dot = memchr(name.ptr, '.', name.len);
    if (dot) {
        db_put_name(&text, (wr_str){name.ptr, (size_t)(dot - name.ptr)});
        wr_sbuf_addc(&text, '.');
        name = (wr_str){dot + 1, name.len - (size_t)(dot + 1 - name.ptr)};
    }
    db_put_name(&text, name);
    const char *z = wr_arena_strndup(arena, text.at, text.len);
    wr_sbuf_free(&text);
    return z;
}

wr_status pg_open(pg_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err) {
    wr_str url = option_text(t, jdbc_specs, "url"), user = option_text(t, jdbc_specs, "username"), password = option_text(t, jdbc_specs, "password"), table = option_text(t, jdbc_specs, "table-name");
    *conn = (pg_conn){.world = ctx->world, .name = t->name, .at = t->at, .connect_s = 10};
    if (wr_str_starts(url, WR_STR("jdbc:"))) url = (wr_str){url.ptr + 5, url.len - 5};
    if (!wr_str_starts(url, WR_STR("postgresql:")) && !wr_str_starts(url, WR_STR("postgres:"))) {
        wr_status status = option_error(ctx, t, "url", "WR121", "'%.*s' is of no database that weir can talk to", (int)WR_MIN(url.len, 100u), url.ptr);
        wr_diags_hint(ctx->diags, "write for example 'jdbc:postgresql://localhost:5432/shop' or 'jdbc:mysql://localhost:3306/shop'");
        return status;
    }
    if (!table.len) return option_error(ctx, t, "table-name", "WR121", "'table-name' is empty");
    if (!wr_option_duration(&t->options, jdbc_specs, "connection.max-retry-timeout", &conn->retry_us, ctx->diags)) return WR_USER;
    conn->url = wr_arena_strndup(arena, url.ptr, url.len);
    conn->user = wr_arena_strndup(arena, user.ptr, user.len);
    conn->password = wr_arena_strndup(arena, password.ptr, password.len);
    conn->table = quoted_table(arena, table);
    return pg_load(err);
}

/* ---- connections ---- */

bool pg_lost(const pg_conn *conn) { return !conn->c || pg.status(conn->c) != CONNECTION_OK; }

void pg_close(pg_conn *conn) {
    if (conn->c) pg.finish(conn->c);
    conn->c = NULL;
}

static const char *advice(const char *state) {
    if (!strcmp(state, "42P01")) return "make the table first, or let 'create-table' = 'true' do it";
    if (!strcmp(state, "42703")) return "the columns of the SQL table must be there under the same names";
    if (!strcmp(state, "42501")) return "GRANT the user the right to it";
    if (!strcmp(state, "42P10")) return "the table needs a PRIMARY KEY or UNIQUE constraint on the columns of the SQL table's PRIMARY KEY";
    if (!strncmp(state, "23", 2)) return "the table has a constraint that a row breaks; the whole transaction was undone";
    if (!strncmp(state, "53", 2)) return "the server is out of disk, memory or connections";
    return NULL;
}

static void trim_end(char *text) {
    for (size_t n = strlen(text); n && (text[n - 1] == '\n' || text[n - 1] == ' '); n--) text[n - 1] = 0;
}

wr_status pg_fail(pg_conn *conn, PGresult *result, const char *doing, wr_err *err) {
    const char *state = result ? pg.resultErrorField(result, PG_DIAG_SQLSTATE) : NULL, *detail = result ? pg.resultErrorField(result, PG_DIAG_MESSAGE_DETAIL) : NULL;
    const char *said = result ? pg.resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    char        text[400], code[8];
    snprintf(text, sizeof text, "%s", said ? said : conn->c ? pg.errorMessage(conn->c) : "no connection");
    trim_end(text);
    snprintf(code, sizeof code, "%s", state && strlen(state) == 5 ? state : "08006");
    wr_status status = wr_fail(err, WR_IO, code, "table '%.*s': cannot %s in PostgreSQL: %s", WR_FMT(conn->name), doing, text);
    if (err) {
        err->at = conn->at;
        err->retriable = pg_lost(conn) || !strncmp(code, "08", 2) || !strncmp(code, "57", 2) || !strncmp(code, "40", 2) || !strncmp(code, "53", 2);
        if (detail) wr_err_detail(err, "%s", detail);
        const char *hint = advice(code);
        if (hint) wr_err_hint(err, "%s", hint);
        else if (!strncmp(code, "08", 2)) wr_err_hint(err, "is the server up, and are its address, the user and the password right?");
    }
    if (result) pg.clear(result);
    return status;
}

/* A server that answers and says no for good: wrong database, user, password. libpq gives no SQLSTATE for it. */
bool pg_refused(const pg_conn *conn) {
    static const char *const passing[] = {"starting up", "shutting down", "recovery", "too many", "not yet accepting"};
    const char              *text = pg.errorMessage(conn->c);
    if (!strstr(text, "FATAL:")) return false;
    for (size_t i = 0; i < WR_COUNT_OF(passing); i++)
        if (strstr(text, passing[i])) return false;
    return true;
}

static wr_status connect_once(pg_conn *conn, wr_err *err) {
    const char *keys[] = {"dbname", conn->user[0] ? "user" : "application_name", conn->password[0] ? "password" : "application_name", "application_name", "connect_timeout",
                          conn->replication ? "replication" : NULL, "tcp_user_timeout", NULL};
    char        seconds[16];
    const char *values[] = {conn->url, conn->user[0] ? conn->user : "weir", conn->password[0] ? conn->password : "weir", "weir", seconds, "database", "30000", NULL};
    snprintf(seconds, sizeof seconds, "%d", conn->connect_s);
    pg_close(conn);
    conn->c = pg.connectdbParams(keys, values, 1);
    if (pg_lost(conn)) {
        wr_status status = pg_fail(conn, NULL, "connect", err);
        if (err && pg_refused(conn)) err->retriable = false;
        return status;
    }
    return pg_run(conn, "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex'; SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET client_min_messages = warning;"
                        " SET synchronous_commit = on", "begin a session", err);
}

wr_status pg_connect(pg_conn *conn, wr_err *err) {
    int64_t until = wr_mono_us(conn->world) + conn->retry_us, wait = 100000;
    while (pg_lost(conn)) {
        wr_status status = connect_once(conn, err);
        if (status == WR_OK) break;
        if (!err || !err->retriable || wr_mono_us(conn->world) + wait > until) return status;
        conn->world->vt->sleep_us(conn->world, wait);
        wait = WR_MIN(wait * 2, INT64_C(2000000));
    }
    return WR_OK;
}

wr_status pg_run(pg_conn *conn, const char *sql, const char *doing, wr_err *err) {
    PGresult      *r = pg.exec(conn->c, sql);
    ExecStatusType status = pg.resultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return pg_fail(conn, r, doing, err);
    pg.clear(r);
    return WR_OK;
}

wr_status pg_query(pg_conn *conn, const char *sql, int n, const char *const *values, const char *doing, PGresult **out, wr_err *err) {
    *out = pg.execParams(conn->c, sql, n, NULL, values, NULL, NULL, 0);
    ExecStatusType status = pg.resultStatus(*out);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? WR_OK : pg_fail(conn, *out, doing, err);
}

/* ---- types and values ---- */

void pg_put_type(wr_sbuf *out, wr_type t) {
    switch (t.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(out, "boolean"); break;
    case WR_T_TINYINT:
    case WR_T_SMALLINT: wr_sbuf_addz(out, "smallint"); break;
    case WR_T_INT:
    case WR_T_INTERVAL_YM: wr_sbuf_addz(out, "integer"); break;
    case WR_T_BIGINT:
    case WR_T_INTERVAL_DS: wr_sbuf_addz(out, "bigint"); break;
    case WR_T_FLOAT: wr_sbuf_addz(out, "real"); break;
    case WR_T_DOUBLE: wr_sbuf_addz(out, "double precision"); break;
    case WR_T_DECIMAL: wr_sbuf_printf(out, "numeric(%d, %d)", (int)t.prec, (int)t.scale); break;
    case WR_T_BINARY:
    case WR_T_VARBINARY: wr_sbuf_addz(out, "bytea"); break;
    case WR_T_DATE: wr_sbuf_addz(out, "date"); break;
    case WR_T_TIME: wr_sbuf_printf(out, "time(%d)", (int)WR_MIN(t.prec, 6)); break;
    case WR_T_TIMESTAMP: wr_sbuf_printf(out, "timestamp(%d)", (int)WR_MIN(t.prec, 6)); break;
    case WR_T_TIMESTAMP_LTZ: wr_sbuf_printf(out, "timestamptz(%d)", (int)WR_MIN(t.prec, 6)); break;
    case WR_T_ARRAY:
    case WR_T_MAP:
    case WR_T_MULTISET:
    case WR_T_ROW: wr_sbuf_addz(out, "jsonb"); break;
    default: wr_sbuf_addz(out, "text");
    }
}

static bool put_escaped(wr_sbuf *out, wr_str text) {
    wr_sbuf_reserve(out, text.len + 8);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        switch (c) {
        case 0: return false;
        case '\\': wr_sbuf_addz(out, "\\\\"); break;
        case '\n': wr_sbuf_addz(out, "\\n"); break;
        case '\r': wr_sbuf_addz(out, "\\r"); break;
        case '\t': wr_sbuf_addz(out, "\\t"); break;
        default: wr_sbuf_addc(out, c);
        }
    }
    return true;
}

static void put_hex(wr_sbuf *out, wr_str bytes) {
    static const char digits[] = "0123456789abcdef";
    wr_sbuf_addz(out, "\\\\x");
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        char          two[2] = {digits[c >> 4], digits[c & 15]};
        wr_sbuf_add(out, two, 2);
    }
}

static bool put_nested(wr_sbuf *out, const wr_vec *vec, uint32_t row, wr_sbuf *scratch) {
    static const wr_json_style style = {.sep = ' '};
    wr_sbuf_clear(scratch);
    wr_json_value(vec, row, &style, scratch);
    return put_escaped(out, wr_sbuf_str(scratch));
}

bool pg_put_value(wr_sbuf *out, const wr_vec *vec, uint32_t row, wr_sbuf *scratch) {
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_addz(out, "\\N");
        return true;
    }
    switch (vec->type.id) {
    case WR_T_CHAR:
    case WR_T_VARCHAR: return put_escaped(out, wr_sview_str((const wr_sview *)vec->data + row));
    case WR_T_BINARY:
    case WR_T_VARBINARY: put_hex(out, wr_sview_str((const wr_sview *)vec->data + row)); return true;
    case WR_T_INTERVAL_YM: wr_sbuf_printf(out, "%d", ((const int32_t *)vec->data)[row]); return true;
    case WR_T_INTERVAL_DS: wr_sbuf_printf(out, "%lld", (long long)((const int64_t *)vec->data)[row]); return true;
    case WR_T_TIMESTAMP_LTZ: {
        char   text[48];
        size_t n = wr_text_timestamp(((const int64_t *)vec->data)[row], vec->type, ' ', text);
        if (text[n - 1] != 'Z') text[n++] = 'Z';
        wr_sbuf_add(out, text, n);
        return true;
    }
    case WR_T_ARRAY:
    case WR_T_MAP:
    case WR_T_MULTISET:
    case WR_T_ROW: return put_nested(out, vec, row, scratch);
    default: wr_vec_text(vec, row, NULL, out); return true;
    }
}

/* ---- and back ---- */

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* \x0a1b */
static wr_put put_bytes(wr_str text, wr_vec *vec, uint32_t row, wr_mem *mem) {
    if (text.len < 2 || text.ptr[0] != '\\' || text.ptr[1] != 'x' || text.len % 2) return WR_PUT_TYPE;
    size_t n = text.len / 2 - 1;
    char  *out = wr_mem_alloc(mem, n + 1);
    for (size_t i = 0; i < n; i++) {
        int a = hex(text.ptr[2 + i * 2]), b = hex(text.ptr[3 + i * 2]);
        if (a < 0 || b < 0) return WR_PUT_TYPE;
        out[i] = (char)(a << 4 | b);
    }
    ((wr_sview *)vec->data)[row] = wr_sview_borrow(out, n);
    return WR_PUT_OK;
}

/* One element of an array's text from *p on, up to the ',' or '}' behind it. */
static bool element(const char **p, const char *end, wr_mem *mem, wr_str *out, bool *is_null) {
    bool quoted = *p < end && **p == '"';
    if (quoted) ++*p;
    const char *stop = *p;
    while (stop < end && (quoted ? *stop != '"' : *stop != ',' && *stop != '}')) stop += *stop == '\\' && stop + 1 < end ? 2 : 1;
    char *to = wr_mem_alloc(mem, (size_t)(stop - *p) + 1);
    *out = (wr_str){to, 0};
    *is_null = false;
    for (; *p < stop; ++*p) {
        if (**p == '\\' && ++*p == stop) return false;
        to[out->len++] = **p;
    }
    if (quoted && (*p == end || *(*p)++ != '"')) return false;
    *is_null = !quoted && wr_str_ieq(*out, WR_STR("NULL"));
    return *p < end && (**p == ',' || **p == '}');
}

/* Elements between the braces that p has just entered. */
static uint32_t count_elements(const char *p, const char *end) {
    uint32_t n = 1, depth = 0;
    bool     quoted = false;
    if (p < end && *p == '}') return 0;
    for (; p < end; p++) {
        if (*p == '\\') p++;
        else if (*p == '"') quoted = !quoted;
        else if (quoted) continue;
        else if (*p == '{') depth++;
        else if (*p == '}' && !depth--) break;
        else if (*p == ',' && !depth) n++;
    }
    return n;
}

/* {1,NULL,"a b"}, {{1,2},{3,4}}: as deep as the type is. */
static wr_put put_array(const char **p, const char *end, wr_vec *vec, uint32_t row, wr_mem *mem) {
    if (*p == end || *(*p)++ != '{') return WR_PUT_TYPE;
    uint32_t n = count_elements(*p, end), at = wr_vec_grow(&vec->kids[0], n, mem);
    for (uint32_t i = 0; i < n; i++) {
        wr_str text;
        bool   is_null;
        wr_put put = WR_PUT_OK;
        if (vec->kids[0].type.id == WR_T_ARRAY) {
            put = put_array(p, end, &vec->kids[0], at + i, mem);
        } else {
            if (!element(p, end, mem, &text, &is_null) || (is_null && !vec->kids[0].type.nullable)) return WR_PUT_TYPE;
            if (is_null) wr_vec_set_null(&vec->kids[0], at + i, mem);
            else put = pg_read_value(text, &vec->kids[0], at + i, mem);
        }
        if (put != WR_PUT_OK) return put;
        if (i + 1 < n && (*p == end || *(*p)++ != ',')) return WR_PUT_TYPE;
    }
    if (*p == end || *(*p)++ != '}') return WR_PUT_TYPE;
    ((wr_list *)vec->data)[row] = (wr_list){at, n};
    return WR_PUT_OK;
}

wr_put pg_read_value(wr_str text, wr_vec *vec, uint32_t row, wr_mem *mem) {
    char zoned[64];
    switch (vec->type.id) {
    case WR_T_BOOLEAN: ((uint8_t *)vec->data)[row] = text.len && *text.ptr == 't'; return WR_PUT_OK;
    case WR_T_BINARY:
    case WR_T_VARBINARY: return put_bytes(text, vec, row, mem);
    case WR_T_TIMESTAMP_LTZ: /* the session's zone is UTC: ...+00 */
        if (text.len > 3 && text.len < sizeof zoned && !memcmp(text.ptr + text.len - 3, "+00", 3)) {
            memcpy(zoned, text.ptr, text.len);
            zoned[text.len - 3] = 'Z';
            text = (wr_str){zoned, text.len - 2};
        }
        return wr_scalar_put(text, ' ', vec, row, mem);
    case WR_T_ARRAY: {
        const char *from = text.len && *text.ptr == '[' ? memchr(text.ptr, '=', text.len) : NULL, *end = text.ptr + text.len; /* [0:1]={...}: bounds that do not begin with 1 */
        from = from ? from + 1 : text.ptr;
        wr_put put = put_array(&from, end, vec, row, mem);
        return put == WR_PUT_OK && from != end ? WR_PUT_TYPE : put;
    }
    default: return wr_scalar_put(text, ' ', vec, row, mem);
    }
}
