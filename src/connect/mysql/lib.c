/* connect/mysql/lib.c: see lib.h.                                                                                              */
#include "connect/mysql/lib.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ANSWER_S = 60, KEY_CHARS = 255 /* of a text or BYTES column that can be part of a key */ };

my_table              my;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char    *missing;

static void load(void) {
#define F(name) {"mysql_" #name, &my.name##_},
    static const wr_import imports[] = {MY_FUNCTIONS(F)};
#undef F
    missing = wr_library_import("libmariadb.so.3", imports, WR_COUNT_OF(imports));
    if (!missing && my.server_init_(0, NULL, NULL) != 0) missing = "what it needs to begin";
}

static wr_status my_load(wr_err *err) {
    pthread_once(&once, load);
    if (!missing) return WR_OK;
    wr_fail(err, WR_IO, "WR359", "a table of MySQL needs libmariadb, and %s was not found", missing);
    wr_err_hint(err, "apt-get install libmariadb3");
    return WR_IO;
}

/* ---- options ---- */

static bool url_begins(wr_str *url) {
    static const char *const begins[] = {"mysql://", "mariadb://"};
    if (wr_str_starts(*url, WR_STR("jdbc:"))) *url = (wr_str){url->ptr + 5, url->len - 5};
    for (size_t i = 0; i < WR_COUNT_OF(begins); i++)
        if (wr_str_starts(*url, wr_str_of(begins[i]))) {
            *url = (wr_str){url->ptr + strlen(begins[i]), url->len - strlen(begins[i])};
            return true;
        }
    return false;
}

bool my_is_url(const wr_table_info *t) {
    wr_str url = option_text(t, jdbc_specs, "url");
    return url_begins(&url);
}

static bool one_of(wr_str word, const char *const *words) {
    for (; *words; words++)
        if (wr_str_ieq(word, wr_str_of(*words))) return true;
    return false;
}

/* Names of Connector/J and of MariaDB's driver. What weir does anyway is taken and left alone. */
static bool take_parameter(my_conn *conn, wr_arena *arena, wr_str name, wr_str value) {
    static const char *const off[] = {"DISABLED", "disable", "false", NULL}, *const on[] = {"REQUIRED", "trust", "true", NULL}, *const verify[] = {"VERIFY_CA", "VERIFY_IDENTITY", "verify-ca", "verify-full", NULL};
    static const char *const anyway[] = {"characterEncoding", "useUnicode", "serverTimezone", "connectionTimeZone", "rewriteBatchedStatements", "allowPublicKeyRetrieval", NULL};
    if (one_of(name, anyway)) return true;
    if (wr_str_eq(name, WR_STR("serverSslCert"))) return conn->ca = wr_arena_strndup(arena, value.ptr, value.len), true;
    if (!wr_str_eq(name, WR_STR("sslMode")) && !wr_str_eq(name, WR_STR("useSSL"))) return false;
    if (one_of(value, off)) return conn->tls = MY_TLS_OFF, true;
    if (one_of(value, on)) return conn->tls = MY_TLS_ON, true;
    return one_of(value, verify) && (conn->tls = MY_TLS_VERIFY, true);
}

/* host[:port]/database[?name=value&...] */
static bool take_url(my_conn *conn, wr_arena *arena, wr_str url, wr_str *bad) {
    char *host = wr_arena_strndup(arena, url.ptr, url.len), *query = strchr(host, '?'), *end;
    *bad = (wr_str){0};
    if (query) *query++ = 0;
    char *slash = strchr(host, '/');
    if (!slash || !slash[1]) return false;
    *slash = 0;
    conn->database = slash + 1;
    char *bracket = *host == '[' ? strchr(host, ']') : NULL, *colon = strrchr(bracket ? bracket : host, ':');
    conn->port = 3306;
    if (colon) {
        long port = strtol(colon + 1, &end, 10);
        if (end == colon + 1 || *end || port < 1 || port > 65535) return false;
        conn->port = (unsigned)port;
        *colon = 0;
    }
    if (bracket) *bracket = 0, host++;
    conn->host = *host ? host : "localhost";
    wr_str all = query ? wr_str_of(query) : (wr_str){0};
    for (wr_str one; wr_str_next(&all, '&', &one);) {
        const char *equals = memchr(one.ptr, '=', one.len);
        wr_str      name = {one.ptr, equals ? (size_t)(equals - one.ptr) : one.len}, value = equals ? (wr_str){equals + 1, one.len - name.len - 1} : (wr_str){0};
        if (!take_parameter(conn, arena, name, value)) return *bad = one, false;
    }
    return strchr(conn->host, ',') == NULL;
}

db_columns my_columns_of(const wr_table_info *t, wr_arena *arena) {
    db_columns c = db_columns_of(t, arena);
    c.quote = '`';
    return c;
}

static void take_table(my_conn *conn, wr_arena *arena, wr_str name) {
    wr_sbuf     text = {0};
    const char *dot = memchr(name.ptr, '.', name.len);
    conn->schema = conn->database;
    if (dot) {
        wr_str schema = {name.ptr, (size_t)(dot - name.ptr)};
        conn->schema = wr_arena_strndup(arena, schema.ptr, schema.len);
        db_put_quoted(&text, schema, '`');
        wr_sbuf_addc(&text, '.');
        name = (wr_str){dot + 1, name.len - schema.len - 1};
    }
    db_put_quoted(&text, name, '`');
    conn->plain = wr_arena_strndup(arena, name.ptr, name.len);
    conn->table = wr_arena_strndup(arena, text.at, text.len);
    wr_sbuf_free(&text);
}

wr_status my_open(my_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err) {
    wr_str url = option_text(t, jdbc_specs, "url"), user = option_text(t, jdbc_specs, "username"), password = option_text(t, jdbc_specs, "password"), table = option_text(t, jdbc_specs, "table-name"), bad;
    *conn = (my_conn){.world = ctx->world, .name = t->name, .at = t->at, .timeout_s = 10, .answer_s = ANSWER_S};
    (void)url_begins(&url);
    if (!take_url(conn, arena, url, &bad)) {
        if (bad.len) return option_error(ctx, t, "url", "WR121", "the parameter '%.*s' is not known: there are sslMode, useSSL and serverSslCert", WR_FMT(bad));
        return option_error(ctx, t, "url", "WR121", "expected jdbc:mysql://host:port/database");
    }
    if (!table.len) return option_error(ctx, t, "table-name", "WR121", "'table-name' is empty");
    if (!wr_option_duration(&t->options, jdbc_specs, "connection.max-retry-timeout", &conn->retry_us, ctx->diags)) return WR_USER;
    conn->user = wr_arena_strndup(arena, user.ptr, user.len);
    conn->password = wr_arena_strndup(arena, password.ptr, password.len);
    take_table(conn, arena, table);
    return my_load(err);
}

/* ---- connections ---- */

void my_close(my_conn *conn) {
    if (conn->c) my.close_(conn->c);
    conn->c = NULL;
}

static const char *advice(unsigned number) {
    switch (number) {
    case 1146: return "make the table first, or let 'create-table' = 'true' do it";
    case 1054: return "the columns of the SQL table must be there under the same names";
    case 1044:
    case 1142:
    case 1143: return "GRANT the user the right to it";
    case 1045: return "are the user and the password right?";
    case 1049: return "is the database at the end of 'url' right?";
    case 1062:
    case 1048:
    case 1451:
    case 1452:
    case 3819:
    case 4025: return "the table has a constraint that a row breaks; the whole transaction was undone";
    case 1205: return "another session holds rows of the table for long";
    default: return NULL;
    }
}

static bool is_lost(unsigned number) { /* the client's own errors, and those after which a server hangs up */
    return (number >= 2000 && number < 3000) || (number >= 5000 && number < 6000) || number == 1053 || number == 1927 || (number >= 1152 && number <= 1161);
}
static bool passes(unsigned number) { /* by itself: too many connections, out of room or memory, lock waits, deadlocks, a node that is not ready */
    static const unsigned numbers[] = {1021, 1037, 1038, 1040, 1041, 1047, 1114, 1203, 1205, 1213};
    for (size_t i = 0; i < WR_COUNT_OF(numbers); i++)
        if (numbers[i] == number) return true;
    return false;
}

wr_status my_fail(my_conn *conn, const char *doing, wr_err *err) {
    const char *said = conn->c ? my.error_(conn->c) : "no connection";
    conn->number = conn->c ? my.errno_(conn->c) : 2006;
    bool      lost = is_lost(conn->number);
    wr_status status = wr_fail(err, WR_IO, lost ? "08006" : my.sqlstate_(conn->c), "table '%.*s': cannot %s in MySQL: %.300s", WR_FMT(conn->name), doing, said);
    if (err) {
        err->at = conn->at;
        bool tls = conn->number == 2026 && (strstr(said, "required") || strstr(said, "certificate")); /* it will not be otherwise in a while */
        err->retriable = (lost && !tls) || passes(conn->number);
        const char *hint = advice(conn->number);
        if (hint) wr_err_hint(err, "%s", hint);
        else if (tls) wr_err_hint(err, "the server's certificate, and sslMode and serverSslCert in 'url'");
        else if (lost) wr_err_hint(err, "is the server up, and are its address, the user and the password right?");
    }
    if (lost) my_close(conn);
    return status;
}

static wr_status begin_session(my_conn *conn, wr_err *err) {
    MYSQL_RES *r;
    WR_TRY(my_run(conn, "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1, foreign_key_checks = 1, unique_checks = 1,"
                        " innodb_lock_wait_timeout = 30", "begin a session", err));
    WR_TRY(my_query(conn, "SELECT @@max_allowed_packet, VERSION()", "begin a session", &r, err));
    MYSQL_ROW row = my.fetch_row_(r);
    conn->packet_bytes = row && row[0] ? (size_t)strtoull(row[0], NULL, 10) : 1u << 20;
    conn->mariadb = row && row[1] && strstr(row[1], "MariaDB");
    my.free_result_(r);
    return WR_OK;
}

static wr_status connect_once(my_conn *conn, wr_err *err) {
    unsigned tcp = MYSQL_PROTOCOL_TCP, off = 0;
    my_bool  yes = 1;
    my_close(conn);
    conn->c = my.init_(NULL);
    if (!conn->c) return wr_fail(err, WR_IO, "08006", "table '%.*s': out of memory", WR_FMT(conn->name));
    my.options_(conn->c, MYSQL_OPT_PROTOCOL, &tcp); /* "localhost" is a host here, not a socket in the file system */
    my.options_(conn->c, MYSQL_OPT_CONNECT_TIMEOUT, &conn->timeout_s);
    my.options_(conn->c, MYSQL_OPT_READ_TIMEOUT, &conn->answer_s);
    my.options_(conn->c, MYSQL_OPT_WRITE_TIMEOUT, &conn->answer_s);
    my.options_(conn->c, MYSQL_OPT_LOCAL_INFILE, &off);
    my.options_(conn->c, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (conn->tls != MY_TLS_OFF) my.options_(conn->c, MYSQL_OPT_SSL_ENFORCE, &yes);
    if (conn->tls == MY_TLS_VERIFY) my.options_(conn->c, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    if (conn->ca) my.options_(conn->c, MYSQL_OPT_SSL_CA, conn->ca);
    bool      there = my.real_connect_(conn->c, conn->host, conn->user[0] ? conn->user : NULL, conn->password, conn->database, conn->port, NULL, 0) != NULL;
    wr_status status = WR_OK;
    if (!there) {
        status = my_fail(conn, "connect", err);
    } else if (conn->tls != MY_TLS_OFF && !my.get_ssl_cipher_(conn->c)) { /* the library goes on without it */
        status = wr_fail(err, WR_IO, "08001", "table '%.*s': cannot connect in MySQL: the server speaks no TLS, and 'url' asks for it", WR_FMT(conn->name));
        wr_err_hint(err, "set up ssl_cert and ssl_key on the server");
        if (err) err->at = conn->at;
    } else {
        status = begin_session(conn, err);
    }
    if (status != WR_OK) my_close(conn);
    return status;
}

wr_status my_connect(my_conn *conn, wr_err *err) {
    int64_t until = wr_mono_us(conn->world) + conn->retry_us, wait = 100000;
    while (!conn->c) {
        wr_status status = connect_once(conn, err);
        if (status == WR_OK) break;
        if (!err || !err->retriable || wr_mono_us(conn->world) + wait > until) return status;
        conn->world->vt->sleep_us(conn->world, wait);
        wait = WR_MIN(wait * 2, INT64_C(2000000));
    }
    return WR_OK;
}

wr_status my_query(my_conn *conn, const char *sql, const char *doing, MYSQL_RES **out, wr_err *err) {
    *out = NULL;
    if (!conn->c || my.real_query_(conn->c, sql, strlen(sql)) != 0 || !(*out = my.store_result_(conn->c))) return my_fail(conn, doing, err);
    return WR_OK;
}

wr_status my_run_bytes(my_conn *conn, wr_str sql, const char *doing, wr_err *err) {
    if (sql.len + 16 > conn->packet_bytes && conn->packet_bytes) { /* the server would hang up */
        conn->number = 0;
        wr_status status = wr_fail(err, WR_DATA, TOO_LARGE, "table '%.*s': cannot %s in MySQL: a row makes a statement of %zu bytes, and max_allowed_packet is %zu", WR_FMT(conn->name), doing, sql.len, conn->packet_bytes);
        wr_err_hint(err, "SET GLOBAL max_allowed_packet = ... on the server");
        if (err) err->at = conn->at;
        return status;
    }
    if (!conn->c || my.real_query_(conn->c, sql.ptr, sql.len) != 0) return my_fail(conn, doing, err);
    MYSQL_RES *r = my.store_result_(conn->c); /* of EXPLAIN */
    if (r) my.free_result_(r);
    else if (my.field_count_(conn->c)) return my_fail(conn, doing, err);
    return WR_OK;
}

wr_status my_run(my_conn *conn, const char *sql, const char *doing, wr_err *err) { return my_run_bytes(conn, wr_str_of(sql), doing, err); }

/* ---- types and values ---- */

void my_put_type(wr_sbuf *out, wr_type t) {
    int digits = WR_MIN(t.prec, 6);
    switch (t.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(out, "boolean"); break;
    case WR_T_TINYINT: wr_sbuf_addz(out, "tinyint"); break;
    case WR_T_SMALLINT: wr_sbuf_addz(out, "smallint"); break;
    case WR_T_INT:
    case WR_T_INTERVAL_YM: wr_sbuf_addz(out, "int"); break;
    case WR_T_BIGINT:
    case WR_T_INTERVAL_DS: wr_sbuf_addz(out, "bigint"); break;
    case WR_T_FLOAT: wr_sbuf_addz(out, "float"); break;
    case WR_T_DOUBLE: wr_sbuf_addz(out, "double"); break;
    case WR_T_DECIMAL: wr_sbuf_printf(out, "decimal(%d, %d)", (int)t.prec, (int)t.scale); break;
    case WR_T_CHAR:
    case WR_T_VARCHAR:
        if (t.prec <= KEY_CHARS) wr_sbuf_printf(out, "varchar(%d)", (int)t.prec);
        else wr_sbuf_addz(out, "longtext");
        break;
    case WR_T_BINARY:
    case WR_T_VARBINARY:
        if (t.prec <= KEY_CHARS) wr_sbuf_printf(out, "varbinary(%d)", (int)t.prec);
        else wr_sbuf_addz(out, "longblob");
        break;
    case WR_T_DATE: wr_sbuf_addz(out, "date"); break;
    case WR_T_TIME: wr_sbuf_printf(out, "time(%d)", digits); break;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: wr_sbuf_printf(out, "datetime(%d)", digits); break; /* a TIMESTAMP there ends in 2038 */
    case WR_T_ARRAY:
    case WR_T_MAP:
    case WR_T_MULTISET:
    case WR_T_ROW: wr_sbuf_addz(out, "json"); break;
    default: wr_sbuf_addz(out, "longtext");
    }
}

void my_put_string(wr_sbuf *out, wr_str text) {
    wr_sbuf_addc(out, '\'');
    for (size_t at = 0; at < text.len;) {
        const char *quote = memchr(text.ptr + at, '\'', text.len - at);
        size_t      n = quote ? (size_t)(quote - text.ptr) - at + 1 : text.len - at;
        wr_sbuf_add(out, text.ptr + at, n);
        if (quote) wr_sbuf_addc(out, '\'');
        at += n;
    }
    wr_sbuf_addc(out, '\'');
}

static void put_hex(wr_sbuf *out, wr_str bytes) {
    static const char digits[] = "0123456789abcdef";
    wr_sbuf_addz(out, "x'");
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        char          two[2] = {digits[c >> 4], digits[c & 15]};
        wr_sbuf_add(out, two, 2);
    }
    wr_sbuf_addc(out, '\'');
}

bool my_put_value(wr_sbuf *out, const wr_vec *vec, uint32_t row, wr_sbuf *scratch) {
    static const wr_json_style style = {.sep = ' '};
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_addz(out, "NULL");
        return true;
    }
    wr_sbuf_clear(scratch);
    switch (vec->type.id) {
    case WR_T_CHAR:
    case WR_T_VARCHAR: my_put_string(out, wr_sview_str((const wr_sview *)vec->data + row)); return true;
    case WR_T_BINARY:
    case WR_T_VARBINARY: put_hex(out, wr_sview_str((const wr_sview *)vec->data + row)); return true;
    case WR_T_INTERVAL_YM: wr_sbuf_printf(out, "%d", ((const int32_t *)vec->data)[row]); return true;
    case WR_T_INTERVAL_DS: wr_sbuf_printf(out, "%lld", (long long)((const int64_t *)vec->data)[row]); return true;
    case WR_T_FLOAT:
        if (!isfinite(((const float *)vec->data)[row])) return false;
        wr_vec_text(vec, row, NULL, out);
        return true;
    case WR_T_DOUBLE:
        if (!isfinite(((const double *)vec->data)[row])) return false;
        wr_vec_text(vec, row, NULL, out);
        return true;
    case WR_T_BOOLEAN:
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT:
    case WR_T_DECIMAL: wr_vec_text(vec, row, NULL, out); return true;
    case WR_T_TIMESTAMP_LTZ: { /* the session's zone is UTC */
        char   text[48];
        size_t n = wr_text_timestamp(((const int64_t *)vec->data)[row], vec->type, ' ', text);
        my_put_string(out, (wr_str){text, n - (text[n - 1] == 'Z')});
        return true;
    }
    case WR_T_ARRAY:
    case WR_T_MAP:
    case WR_T_MULTISET:
    case WR_T_ROW: wr_json_value(vec, row, &style, scratch); break;
    default: wr_vec_text(vec, row, NULL, scratch);
    }
    my_put_string(out, wr_sbuf_str(scratch));
    return true;
}

/* ---- the catalogue ---- */

static void put_where(const my_conn *conn, wr_sbuf *sql, const char *alias) {
    wr_sbuf_printf(sql, " WHERE %s.TABLE_SCHEMA = ", alias);
    my_put_string(sql, wr_str_of(conn->schema));
    wr_sbuf_printf(sql, " AND %s.TABLE_NAME = ", alias);
    my_put_string(sql, wr_str_of(conn->plain));
}

static bool key_has(const db_columns *c, wr_str name) {
    for (uint32_t k = 0; k < c->n_key; k++)
        if (wr_str_ieq(c->schema->fields[c->key[k]].name, name)) return true;
    return false;
}

static wr_status look_at_keys(my_conn *conn, const db_columns *columns, my_shape *out, wr_err *err) {
    MYSQL_RES *r;
    wr_sbuf    sql = {0}, index = {0};
    wr_sbuf_addz(&sql, "SELECT s.INDEX_NAME, s.COLUMN_NAME, s.SUB_PART IS NULL AND s.COLUMN_NAME IS NOT NULL, s.NULLABLE FROM information_schema.STATISTICS s");
    put_where(conn, &sql, "s");
    wr_sbuf_addz(&sql, " AND s.NON_UNIQUE = 0 ORDER BY s.INDEX_NAME, s.SEQ_IN_INDEX");
    wr_status status = my_query(conn, sql.at, "look at the table's keys", &r, err);
    wr_sbuf_free(&sql);
    WR_TRY(status);
    uint32_t n = 0, hits = 0;
    bool     nullable = false;
    for (MYSQL_ROW row;;) {
        row = my.fetch_row_(r);
        if (n && (!row || strcmp(row[0], index.at) != 0)) { /* an index ends */
            bool ours = n == columns->n_key && hits == n;
            if (ours && (!out->has_key || !nullable)) out->nullable_key = nullable;
            out->has_key |= ours;
            out->other_keys |= !ours;
            n = hits = 0;
            nullable = false;
        }
        if (!row) break;
        wr_sbuf_clear(&index);
        wr_sbuf_addz(&index, row[0]);
        n++;
        hits += row[2] && row[2][0] == '1' && key_has(columns, wr_str_of(row[1]));
        nullable |= row[3] && !strcmp(row[3], "YES");
    }
    wr_sbuf_free(&index);
    my.free_result_(r);
    return WR_OK;
}

wr_status my_look(my_conn *conn, const db_columns *columns, my_shape *out, wr_err *err) {
    MYSQL_RES *r;
    wr_sbuf    sql = {0};
    *out = (my_shape){0};
    wr_sbuf_addz(&sql, "SELECT t.TABLE_TYPE, COALESCE(t.ENGINE, ''), COALESCE(e.TRANSACTIONS, 'NO') FROM information_schema.TABLES t LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE");
    put_where(conn, &sql, "t");
    wr_status status = my_query(conn, sql.at, "look at the table", &r, err);
    wr_sbuf_free(&sql);
    WR_TRY(status);
    MYSQL_ROW row = my.fetch_row_(r);
    if (row) {
        *out = (my_shape){.there = true, .view = strstr(row[0], "VIEW") != NULL, .transactional = !strcmp(row[2], "YES")};
        snprintf(out->engine, sizeof out->engine, "%s", row[1]);
    }
    my.free_result_(r);
    return out->there ? look_at_keys(conn, columns, out, err) : WR_OK;
}
