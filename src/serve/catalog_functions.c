/* serve/catalog_functions.c: the functions that queries of the catalogue call, for SQLite. See catalog.h.
 *
 * Patterns   regexp(pattern, text) gets patterns with a letter in front: R, S regular expressions (S without regard to case), L, M LIKE. Regular expressions are
 *            PCRE2's, with a bound on matching.
 * Constants  functions whose answer says nothing here (no comments, no privileges to be had) give one value whatever they are asked.             */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "serve/catalog.h"
#include "serve/pg_value.h"
#include <pcre2.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { MATCH_LIMIT = 100000, SERIES_MAX = 10000 };
typedef void (*function)(sqlite3_context *ctx, int n, sqlite3_value **v);

static wr_str text_of(sqlite3_value *v) {
    const char *t = (const char *)sqlite3_value_text(v);
    return (wr_str){t ? t : "", t ? (size_t)sqlite3_value_bytes(v) : 0};
}
static bool is_null(sqlite3_value *v) { return sqlite3_value_type(v) == SQLITE_NULL; }
static void give(sqlite3_context *ctx, wr_str s) { sqlite3_result_text64(ctx, s.ptr ? s.ptr : "", s.len, SQLITE_TRANSIENT, SQLITE_UTF8); }
static void give_buf(sqlite3_context *ctx, wr_sbuf *b) {
    give(ctx, wr_sbuf_str(b));
    wr_sbuf_free(b);
}

/* ---- matching ---- */
static bool like(wr_str text, wr_str pattern, bool blind) { /* the star algorithm: back to the last % only */
    size_t t = 0, p = 0, star = SIZE_MAX, mark = 0;
    while (t < text.len) {
        char pc = p < pattern.len ? pattern.ptr[p] : 0, a = text.ptr[t];
        bool escaped = pc == '\\' && p + 1 < pattern.len, any = p < pattern.len && pc == '_' && !escaped;
        char b = escaped ? pattern.ptr[p + 1] : pc;
        if (p < pattern.len && pc == '%') {
            star = p++, mark = t;
            continue;
        }
        bool same = a == b || (blind && ((a | 32) == (b | 32)) && (a | 32) >= 'a' && (a | 32) <= 'z');
        if (p < pattern.len && (any || same)) {
            p += escaped ? 2 : 1, t++;
            while (any && t < text.len && ((unsigned char)text.ptr[t] & 0xC0) == 0x80) t++; /* _ is a character */
        } else if (star != SIZE_MAX) {
            p = star + 1, t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '%') p++;
    return p == pattern.len;
}

static void code_free(void *code) { pcre2_code_free(code); }

static void f_regexp(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (is_null(v[0]) || is_null(v[1])) return;
    wr_str pattern = text_of(v[0]), text = text_of(v[1]);
    char   kind = pattern.len ? pattern.ptr[0] : 'R';
    if (pattern.len) pattern.ptr++, pattern.len--;
    if (kind == 'L' || kind == 'M') {
        sqlite3_result_int(ctx, like(text, pattern, kind == 'M'));
        return;
    }
    pcre2_code *code = sqlite3_get_auxdata(ctx, 0);
    bool        fresh = !code;
    if (fresh) {
        int        error;
        PCRE2_SIZE at;
        code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, PCRE2_UTF | (kind == 'S' ? PCRE2_CASELESS : 0), &error, &at, NULL);
        if (!code) {
            sqlite3_result_error(ctx, "invalid regular expression", -1);
            return;
        }
    }
    pcre2_match_data    *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(limits, MATCH_LIMIT);
    pcre2_set_heap_limit(limits, 1024);
    sqlite3_result_int(ctx, pcre2_match(code, (PCRE2_SPTR)text.ptr, text.len, 0, 0, data, limits) >= 0);
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    if (fresh) sqlite3_set_auxdata(ctx, 0, code, code_free); /* may free it at once */
}

/* ---- arrays: JSON texts ---- */
static void quote_item(wr_str s, wr_sbuf *out) { wr_sbuf_add_json(out, s); }

static bool is_int(wr_str s) {
    size_t i = s.len > 1 && s.ptr[0] == '-';
    if (!s.len || s.len > 18 || i == s.len) return false;
    for (; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
    return s.ptr[0] != '0' || s.len == 1;
}

/* {a,"b c",NULL} -> ["a","b c",null]; JSON stays; "1 2" (a vector) -> [1,2]. */
static void f_array(sqlite3_context *ctx, int n, sqlite3_value **v) {
    wr_str  s = wr_str_trim(text_of(v[0])), item;
    wr_sbuf out = {0}, word = {0};
    (void)n;
    if (is_null(v[0])) return;
    if (s.len && s.ptr[0] == '[') {
        give(ctx, s);
        return;
    }
    wr_sbuf_addc(&out, '[');
    bool   braces = s.len > 1 && s.ptr[0] == '{', first = true;
    size_t i = braces ? 1 : 0, end = braces ? s.len - 1 : s.len;
    while (i < end) {
        bool quoted = s.ptr[i] == '"';
        wr_sbuf_clear(&word);
        for (i += quoted; i < end && (quoted ? s.ptr[i] != '"' : s.ptr[i] != ',' && (braces || s.ptr[i] != ' ')); i++) {
            if (quoted && s.ptr[i] == '\\' && i + 1 < end) i++;
            wr_sbuf_addc(&word, s.ptr[i]);
        }
        i += quoted;
        item = wr_sbuf_str(&word);
        if (!first) wr_sbuf_addc(&out, ',');
        first = false;
        if (!quoted && wr_str_ieq(item, WR_STR("null"))) wr_sbuf_addz(&out, "null");
        else if (!quoted && is_int(item)) wr_sbuf_add_str(&out, item);
        else quote_item(item, &out);
        while (i < end && (s.ptr[i] == ',' || s.ptr[i] == ' ')) i++;
    }
    wr_sbuf_addc(&out, ']');
    wr_sbuf_free(&word);
    give_buf(ctx, &out);
}

/* The items of a JSON array of scalars, one after the other; false: no more. */
static bool next_item(wr_str *json, wr_sbuf *item, bool *null) {
    const char *at = json->ptr, *end = json->ptr + json->len;
    while (at < end && (*at == '[' || *at == ',' || *at == ' ')) at++;
    if (at >= end || *at == ']') return false;
    wr_sbuf_clear(item);
    *null = false;
    if (*at == '"') {
        for (at++; at < end && *at != '"'; at++) {
            char c = *at;
            if (c == '\\' && at + 1 < end) {
                c = *++at;
                if (c == 'n') c = '\n';
                else if (c == 't') c = '\t';
                else if (c == 'u' && end - at > 4) c = (char)strtoul((char[]){at[3], at[4], 0}, NULL, 16), at += 4;
            }
            wr_sbuf_addc(item, c);
        }
        at++;
    } else {
        const char *from = at;
        int         depth = 0;
        while (at < end && (depth || (*at != ',' && *at != ']'))) depth += *at == '{' || *at == '[' ? 1 : *at == '}' || *at == ']' ? -1 : 0, at++;
        wr_sbuf_add(item, from, (size_t)(at - from));
        *null = wr_str_eq(wr_sbuf_str(item), WR_STR("null"));
    }
    *json = (wr_str){at, (size_t)(end > at ? end - at : 0)};
    return true;
}

void catalog_array(wr_str json, wr_sbuf *out) {
    wr_sbuf item = {0};
    bool    null, first = true;
    wr_sbuf_addc(out, '{');
    while (next_item(&json, &item, &null)) {
        wr_str s = wr_sbuf_str(&item);
        bool   quote = !null && (!s.len || wr_str_ieq(s, WR_STR("null")));
        for (size_t i = 0; i < s.len; i++) quote |= strchr("{},\"\\ \t\n", s.ptr[i]) != NULL;
        if (!first) wr_sbuf_addc(out, ',');
        first = false;
        if (!quote) {
            wr_sbuf_addz(out, null ? "NULL" : "");
            if (!null) wr_sbuf_add_str(out, s);
            continue;
        }
        wr_sbuf_addc(out, '"');
        for (size_t i = 0; i < s.len; i++) {
            if (s.ptr[i] == '"' || s.ptr[i] == '\\') wr_sbuf_addc(out, '\\');
            wr_sbuf_addc(out, s.ptr[i]);
        }
        wr_sbuf_addc(out, '"');
    }
    wr_sbuf_addc(out, '}');
    wr_sbuf_free(&item);
}

static void f_array_to_string(sqlite3_context *ctx, int n, sqlite3_value **v) {
    if (n < 2 || is_null(v[0])) return;
    wr_str  json = text_of(v[0]), sep = text_of(v[1]);
    wr_sbuf item = {0}, out = {0};
    bool    null, first = true;
    while (next_item(&json, &item, &null)) {
        if (null && n < 3) continue;
        if (!first) wr_sbuf_add_str(&out, sep);
        first = false;
        wr_sbuf_add_str(&out, null ? text_of(v[2]) : wr_sbuf_str(&item));
    }
    wr_sbuf_free(&item);
    give_buf(ctx, &out);
}

static uint32_t array_len(wr_str json) {
    wr_sbuf  item = {0};
    bool     null;
    uint32_t k = 0;
    while (next_item(&json, &item, &null)) k++;
    wr_sbuf_free(&item);
    return k;
}

static void f_array_length(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    uint32_t len = is_null(v[0]) ? 0 : array_len(text_of(v[0]));
    if (len) sqlite3_result_int(ctx, (int)len);
}
static void f_cardinality(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (!is_null(v[0])) sqlite3_result_int(ctx, (int)array_len(text_of(v[0])));
}
static void f_array_lower(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, is_null(v[0]) ? (void)0 : sqlite3_result_int(ctx, 1); }

/* pg_item(array, index, base) */
static void f_item(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (is_null(v[0]) || is_null(v[1])) return;
    wr_str  json = text_of(v[0]);
    int64_t at = sqlite3_value_int64(v[1]) - sqlite3_value_int64(v[2]);
    wr_sbuf item = {0};
    bool    null;
    for (int64_t k = 0; next_item(&json, &item, &null); k++) {
        if (k != at) continue;
        if (null) break;
        if (is_int(wr_sbuf_str(&item))) sqlite3_result_int64(ctx, strtoll(item.at, NULL, 10));
        else give(ctx, wr_sbuf_str(&item));
        break;
    }
    wr_sbuf_free(&item);
}

static void f_array_position(sqlite3_context *ctx, int n, sqlite3_value **v) {
    wr_str  json = text_of(v[0]), wanted = text_of(v[1]);
    wr_sbuf item = {0};
    bool    null;
    (void)n;
    for (int k = 1; next_item(&json, &item, &null); k++)
        if (!null && wr_str_eq(wr_sbuf_str(&item), wanted)) {
            sqlite3_result_int(ctx, k);
            break;
        }
    wr_sbuf_free(&item);
}

static void f_series(sqlite3_context *ctx, int n, sqlite3_value **v) {
    int64_t from = sqlite3_value_int64(v[0]), to = n > 1 ? sqlite3_value_int64(v[1]) : 0, step = n > 2 ? sqlite3_value_int64(v[2]) : 1;
    wr_sbuf out = {0};
    wr_sbuf_addc(&out, '[');
    for (int64_t k = 0; n > 1 && step != 0 && !is_null(v[0]) && !is_null(v[1]) && k < SERIES_MAX; k++) {
        int64_t x;
        if (__builtin_mul_overflow(k, step, &x) || __builtin_add_overflow(from, x, &x) || (step > 0 ? x > to : x < to)) break;
        wr_sbuf_printf(&out, k ? ",%lld" : "%lld", (long long)x);
    }
    wr_sbuf_addc(&out, ']');
    give_buf(ctx, &out);
}

/* ---- names ---- */
static bool look_up(sqlite3_context *ctx, const char *sql, sqlite3_value *arg, wr_str text, bool by_text) {
    sqlite3_stmt *s = NULL;
    bool          found = false;
    if (sqlite3_prepare_v2(sqlite3_context_db_handle(ctx), sql, -1, &s, NULL) == SQLITE_OK) {
        if (by_text) sqlite3_bind_text64(s, 1, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
        else sqlite3_bind_value(s, 1, arg);
        if ((found = sqlite3_step(s) == SQLITE_ROW)) sqlite3_result_value(ctx, sqlite3_column_value(s, 0));
    }
    sqlite3_finalize(s);
    return found;
}

/* The last part of a.b."c", without quotes. */
static wr_str bare(wr_str s, char buf[256]) {
    size_t n = 0, from = 0;
    bool   quoted = false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"') quoted = !quoted;
        else if (s.ptr[i] == '.' && !quoted) from = i + 1;
    }
    quoted = from < s.len && s.ptr[from] == '"';
    for (size_t i = from; i < s.len && n < 255; i++) {
        char c = s.ptr[i];
        if (c == '"') continue;
        buf[n++] = !quoted && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    return (wr_str){buf, n};
}

static void f_to_regclass(sqlite3_context *ctx, int n, sqlite3_value **v) {
    char buf[256];
    (void)n;
    if (is_null(v[0])) return;
    wr_str s = text_of(v[0]);
    if (is_int(s)) sqlite3_result_value(ctx, v[0]);
    else if (!look_up(ctx, "SELECT oid FROM pg_catalog.pg_class WHERE relname = ?1 COLLATE NOCASE", v[0], bare(s, buf), true)) {
        char text[300];
        snprintf(text, sizeof text, "relation \"%.*s\" does not exist", (int)WR_MIN(s.len, (size_t)200), s.ptr);
        sqlite3_result_error(ctx, text, -1);
    }
}
static void f_find_regclass(sqlite3_context *ctx, int n, sqlite3_value **v) { /* to_regclass(): NULL if there is none */
    char buf[256];
    (void)n;
    if (!is_null(v[0])) (void)look_up(ctx, "SELECT oid FROM pg_catalog.pg_class WHERE relname = ?1 COLLATE NOCASE", v[0], bare(text_of(v[0]), buf), true);
}
static void f_regclass(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (is_null(v[0])) return;
    if (!is_int(text_of(v[0]))) sqlite3_result_value(ctx, v[0]);
    else if (!look_up(ctx, "SELECT relname FROM pg_catalog.pg_class WHERE oid = ?1", v[0], (wr_str){0}, false)) sqlite3_result_value(ctx, v[0]);
}
static void f_regnamespace(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (!is_null(v[0]) && !look_up(ctx, "SELECT nspname FROM pg_catalog.pg_namespace WHERE oid = ?1", v[0], (wr_str){0}, false)) sqlite3_result_value(ctx, v[0]);
}
static void f_to_regnamespace(sqlite3_context *ctx, int n, sqlite3_value **v) {
    char buf[256];
    (void)n;
    if (!is_null(v[0])) (void)look_up(ctx, "SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = ?1", v[0], bare(text_of(v[0]), buf), true);
}
static void f_to_regtype(sqlite3_context *ctx, int n, sqlite3_value **v) {
    char buf[256];
    (void)n;
    if (!is_null(v[0])) (void)look_up(ctx, "SELECT oid FROM pg_catalog.pg_type WHERE typname = ?1", v[0], bare(text_of(v[0]), buf), true);
}

static void f_format_type(sqlite3_context *ctx, int n, sqlite3_value **v) {
    static const struct { uint32_t oid; const char *name; } names[] = {
        {PG_BOOL, "boolean"}, {PG_INT2, "smallint"}, {PG_INT4, "integer"}, {PG_INT8, "bigint"}, {PG_FLOAT4, "real"}, {PG_FLOAT8, "double precision"}, {PG_NUMERIC, "numeric"}, {PG_VARCHAR, "character varying"}, {PG_BPCHAR, "character"},
        {PG_TIMESTAMP, "timestamp without time zone"}, {PG_TIMESTAMPTZ, "timestamp with time zone"}, {PG_TIME, "time without time zone"}, {PG_CHAR1, "\"char\""},
    };
    if (is_null(v[0])) return;
    uint32_t oid = (uint32_t)sqlite3_value_int64(v[0]);
    int64_t  mod = n > 1 && !is_null(v[1]) ? sqlite3_value_int64(v[1]) : -1;
    bool     array = false;
    wr_sbuf  out = {0};
    for (size_t i = 0; i < WR_COUNT_OF(names) && !array; i++)
        if (pg_array_of(names[i].oid) == oid) oid = names[i].oid, array = true;
    for (size_t i = 0; i < WR_COUNT_OF(names); i++)
        if (names[i].oid == oid) wr_sbuf_addz(&out, names[i].name);
    if (!out.len) {
        if (!look_up(ctx, "SELECT CASE WHEN typelem <> 0 AND typname LIKE '\\_%' ESCAPE '\\' THEN substr(typname, 2) || '[]' ELSE typname END FROM pg_catalog.pg_type WHERE oid = ?1", v[0], (wr_str){0}, false)) give(ctx, WR_STR("???"));
        return;
    }
    if (mod >= 0 && oid == PG_NUMERIC) wr_sbuf_printf(&out, "(%d,%d)", (int)((mod - 4) >> 16 & 0xFFFF), (int)((mod - 4) & 0xFFFF));
    else if (mod >= 4 && (oid == PG_VARCHAR || oid == PG_BPCHAR)) wr_sbuf_printf(&out, "(%d)", (int)mod - 4);
    else if (mod >= 0 && (oid == PG_TIMESTAMP || oid == PG_TIMESTAMPTZ)) {
        wr_sbuf_clear(&out);
        wr_sbuf_printf(&out, "timestamp(%d) with%s time zone", (int)mod, oid == PG_TIMESTAMP ? "out" : "");
    }
    if (array) wr_sbuf_addz(&out, "[]");
    give_buf(ctx, &out);
}

static void f_indexdef(sqlite3_context *ctx, int n, sqlite3_value **v) {
    static const char whole[] = "SELECT 'CREATE UNIQUE INDEX ' || i.relname || ' ON public.' || t.relname || ' USING btree (' || (SELECT group_concat(a.attname, ', ') FROM json_each(x.indkey) k JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.value) || ')'"
                                " FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_class t ON t.oid = x.indrelid WHERE x.indexrelid = ?1";
    static const char column[] = "SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = ?1 AND a.attnum = ";
    char sql[200];
    if (is_null(v[0])) return;
    if (n > 1 && sqlite3_value_int64(v[1]) > 0) {
        snprintf(sql, sizeof sql, "%s%d", column, sqlite3_value_int(v[1]));
        (void)look_up(ctx, sql, v[0], (wr_str){0}, false);
    } else {
        (void)look_up(ctx, whole, v[0], (wr_str){0}, false);
    }
}
static void f_constraintdef(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    (void)look_up(ctx, "SELECT 'PRIMARY KEY (' || (SELECT group_concat(a.attname, ', ') FROM json_each(c.conkey) k JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.value) || ')' FROM pg_catalog.pg_constraint c WHERE c.oid = ?1", v[0], (wr_str){0}, false);
}
static void f_viewdef(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    (void)look_up(ctx, "SELECT definition FROM pg_catalog.pg_matviews m JOIN pg_catalog.pg_class c ON c.relname = m.matviewname WHERE c.oid = ?1", v[0], (wr_str){0}, false);
}
static void f_description(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (!is_null(v[0])) (void)look_up(ctx, "SELECT description FROM pg_catalog.pg_description WHERE objoid = ?1 AND objsubid = 0", v[0], (wr_str){0}, false);
}
static void f_visible(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (!is_null(v[0]) && !look_up(ctx, "SELECT relnamespace IN (11, 2200) FROM pg_catalog.pg_class WHERE oid = ?1", v[0], (wr_str){0}, false)) sqlite3_result_int(ctx, 0);
}
static void f_quote_ident(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (is_null(v[0])) return;
    wr_str  s = text_of(v[0]);
    wr_sbuf out = {0};
    bool    plain = s.len && (s.ptr[0] == '_' || (s.ptr[0] >= 'a' && s.ptr[0] <= 'z'));
    for (size_t i = 0; i < s.len; i++) plain &= s.ptr[i] == '_' || (s.ptr[i] >= 'a' && s.ptr[i] <= 'z') || (s.ptr[i] >= '0' && s.ptr[i] <= '9');
    if (!plain) wr_sbuf_addc(&out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"') wr_sbuf_addc(&out, '"');
        wr_sbuf_addc(&out, s.ptr[i]);
    }
    if (!plain) wr_sbuf_addc(&out, '"');
    give_buf(ctx, &out);
}

/* ---- about the server ---- */
static catalog_caller *caller(sqlite3_context *ctx) { return sqlite3_user_data(ctx); }
static void f_database(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, give(ctx, wr_str_of(caller(ctx)->database)); }
static void f_user(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, give(ctx, wr_str_of(caller(ctx)->user ? caller(ctx)->user : "weir")); }
static void f_schema(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, give(ctx, WR_STR("public")); }
static void f_schemas(sqlite3_context *ctx, int n, sqlite3_value **v) { give(ctx, n && sqlite3_value_int(v[0]) ? WR_STR("[\"pg_catalog\",\"public\"]") : WR_STR("[\"public\"]")); }
static void f_version(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, give(ctx, WR_STR("PostgreSQL 15.0 (weir: views of a streaming job, read only)")); }
static void f_now(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, sqlite3_result_int64(ctx, wr_wall_us(caller(ctx)->world)); }
static void f_setting(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (!look_up(ctx, "SELECT setting FROM pg_catalog.pg_settings WHERE name = ?1 COLLATE NOCASE", v[0], (wr_str){0}, false)) sqlite3_result_null(ctx);
}
static void f_second(sqlite3_context *ctx, int n, sqlite3_value **v) { n > 1 ? sqlite3_result_value(ctx, v[1]) : sqlite3_result_null(ctx); }
static void f_userbyid(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, give(ctx, WR_STR("weir")); }
static void f_encoding(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, give(ctx, WR_STR("UTF8")); }
static void f_true(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, sqlite3_result_int(ctx, 1); }
static void f_zero(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, sqlite3_result_int(ctx, 0); }
static void f_null(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, (void)v, sqlite3_result_null(ctx); }
static void f_first(sqlite3_context *ctx, int n, sqlite3_value **v) { n ? sqlite3_result_value(ctx, v[0]) : sqlite3_result_null(ctx); }
static void f_bool(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (is_null(v[0])) return;
    wr_str s = text_of(v[0]);
    sqlite3_result_int(ctx, s.len && (s.ptr[0] == 't' || s.ptr[0] == 'T' || s.ptr[0] == 'y' || s.ptr[0] == '1' || wr_str_ieq(s, WR_STR("on"))));
}
static void f_concat(sqlite3_context *ctx, int n, sqlite3_value **v) {
    wr_sbuf out = {0};
    for (int i = 0; i < n; i++) wr_sbuf_add_str(&out, text_of(v[i]));
    give_buf(ctx, &out);
}
static void f_position(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    if (is_null(v[0]) || is_null(v[1])) return;
    wr_str      what = text_of(v[0]), in = text_of(v[1]);
    const char *at = memmem(in.ptr, in.len, what.ptr, what.len);
    sqlite3_result_int(ctx, at ? (int)(at - in.ptr) + 1 : 0);
}
static void f_split_part(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    wr_str s = text_of(v[0]), sep = text_of(v[1]);
    int    wanted = sqlite3_value_int(v[2]);
    for (int k = 1; sep.len; k++) {
        const char *at = memmem(s.ptr, s.len, sep.ptr, sep.len);
        if (k == wanted) {
            give(ctx, (wr_str){s.ptr, at ? (size_t)(at - s.ptr) : s.len});
            return;
        }
        if (!at) break;
        s.len -= (size_t)(at - s.ptr) + sep.len, s.ptr = at + sep.len;
    }
    give(ctx, WR_STR(""));
}
/* Characters first, then the text. */
static void trim(sqlite3_context *ctx, sqlite3_value **v, bool left, bool right) {
    wr_str chars = text_of(v[0]), s = text_of(v[1]);
    if (is_null(v[0]) || is_null(v[1])) return;
    while (left && s.len && memchr(chars.ptr, s.ptr[0], chars.len)) s.ptr++, s.len--;
    while (right && s.len && memchr(chars.ptr, s.ptr[s.len - 1], chars.len)) s.len--;
    give(ctx, s);
}
static void f_btrim(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, trim(ctx, v, true, true); }
static void f_ltrim(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, trim(ctx, v, true, false); }
static void f_rtrim(sqlite3_context *ctx, int n, sqlite3_value **v) { (void)n, trim(ctx, v, false, true); }
static void f_left(sqlite3_context *ctx, int n, sqlite3_value **v) {
    (void)n;
    wr_str s = text_of(v[0]);
    int    k = sqlite3_value_int(v[1]);
    if (is_null(v[0])) return;
    give(ctx, (wr_str){s.ptr, k <= 0 ? 0 : wr_utf8_offset(s, (size_t)k)});
}

int catalog_functions(sqlite3 *db, catalog_caller *c) {
    static const struct { const char *name; int n; function f; } all[] = {
        {"regexp", 2, f_regexp}, {"pg_array", 1, f_array}, {"array_to_string", -1, f_array_to_string}, {"array_length", 2, f_array_length}, {"array_upper", 2, f_array_length}, {"array_lower", 2, f_array_lower}, {"cardinality", 1, f_cardinality},
        {"pg_item", 3, f_item}, {"array_position", 2, f_array_position}, {"pg_series", -1, f_series}, {"pg_to_regclass", 1, f_to_regclass}, {"to_regclass", 1, f_find_regclass}, {"pg_regclass", 1, f_regclass}, {"pg_regnamespace", 1, f_regnamespace},
        {"pg_to_regnamespace", 1, f_to_regnamespace}, {"pg_to_regtype", 1, f_to_regtype}, {"to_regtype", 1, f_to_regtype}, {"pg_regtype", 1, f_format_type}, {"format_type", -1, f_format_type}, {"pg_get_indexdef", -1, f_indexdef}, {"pg_get_constraintdef", -1, f_constraintdef},
        {"pg_get_viewdef", -1, f_viewdef}, {"obj_description", -1, f_description}, {"quote_ident", 1, f_quote_ident}, {"current_database", 0, f_database}, {"pg_user", 0, f_user}, {"current_schema", 0, f_schema}, {"current_schemas", 1, f_schemas}, {"version", 0, f_version}, {"now", 0, f_now},
        {"current_setting", -1, f_setting}, {"set_config", 3, f_second}, {"pg_get_userbyid", 1, f_userbyid}, {"pg_encoding_to_char", 1, f_encoding}, {"pg_client_encoding", 0, f_encoding}, {"pg_bool", 1, f_bool}, {"concat", -1, f_concat}, {"pg_position", 2, f_position},
        {"split_part", 3, f_split_part}, {"pg_btrim", 2, f_btrim}, {"pg_ltrim", 2, f_ltrim}, {"pg_rtrim", 2, f_rtrim}, {"left", 2, f_left}, {"quote_literal", 1, f_first}, {"to_char", -1, f_first}, {"pg_size_pretty", 1, f_first}, {"pg_postmaster_start_time", 0, f_now}, {"transaction_timestamp", 0, f_now}, {"statement_timestamp", 0, f_now}, {"clock_timestamp", 0, f_now},
        {"pg_table_is_visible", 1, f_visible}, {"pg_type_is_visible", 1, f_true}, {"pg_function_is_visible", 1, f_true}, {"pg_operator_is_visible", 1, f_true}, {"pg_collation_is_visible", 1, f_true}, {"pg_opclass_is_visible", 1, f_true}, {"pg_statistics_obj_is_visible", 1, f_true},
        {"pg_conversion_is_visible", 1, f_true}, {"pg_ts_config_is_visible", 1, f_true}, {"pg_ts_dict_is_visible", 1, f_true}, {"pg_ts_parser_is_visible", 1, f_true}, {"pg_ts_template_is_visible", 1, f_true}, {"has_table_privilege", -1, f_true}, {"has_schema_privilege", -1, f_true},
        {"has_database_privilege", -1, f_true}, {"has_column_privilege", -1, f_true}, {"has_any_column_privilege", -1, f_true}, {"has_function_privilege", -1, f_true}, {"has_sequence_privilege", -1, f_true}, {"has_type_privilege", -1, f_true}, {"has_tablespace_privilege", -1, f_true}, {"pg_has_role", -1, f_true},
        {"pg_is_in_recovery", 0, f_zero}, {"pg_is_other_temp_schema", 1, f_zero}, {"pg_my_temp_schema", 0, f_zero}, {"pg_relation_is_updatable", 2, f_zero}, {"pg_column_is_updatable", 3, f_zero}, {"pg_relation_size", -1, f_zero}, {"pg_total_relation_size", 1, f_zero}, {"pg_table_size", 1, f_zero},
        {"pg_indexes_size", 1, f_zero}, {"pg_database_size", 1, f_zero}, {"pg_tablespace_size", 1, f_zero}, {"pg_backend_pid", 0, f_zero}, {"txid_current", 0, f_zero}, {"pg_relation_is_publishable", 1, f_zero}, {"age", -1, f_zero}, {"pg_stat_get_numscans", 1, f_zero}, {"pg_char_to_encoding", 1, f_zero},
        {"pg_get_expr", -1, f_null}, {"col_description", 2, f_null}, {"shobj_description", 2, f_null}, {"pg_get_function_result", -1, f_null}, {"pg_get_function_arguments", -1, f_null}, {"pg_get_function_identity_arguments", -1, f_null}, {"pg_get_functiondef", -1, f_null}, {"pg_get_function_sqlbody", -1, f_null},
        {"pg_get_ruledef", -1, f_null}, {"pg_get_triggerdef", -1, f_null}, {"pg_get_partkeydef", -1, f_null}, {"pg_get_serial_sequence", 2, f_null}, {"pg_get_statisticsobjdef_columns", -1, f_null}, {"pg_tablespace_location", 1, f_null}, {"inet_server_addr", 0, f_null}, {"inet_server_port", 0, f_null},
        {"inet_client_addr", 0, f_null}, {"pg_options_to_table", 1, f_null}, {"array_remove", 2, f_first}, {"_pg_char_max_length", -1, f_null}, {"_pg_numeric_precision", -1, f_null}, {"_pg_numeric_scale", -1, f_null}, {"_pg_truetypid", -1, f_null}, {"_pg_truetypmod", -1, f_null}, {"acldefault", -1, f_null},
        {"pg_get_keywords", 0, f_null}, {"pg_index_column_has_property", 3, f_null}, {"pg_partition_ancestors", 1, f_null}, {"pg_jit_available", 0, f_zero}, {"pg_cancel_backend", 1, f_zero}, {"pg_terminate_backend", 1, f_zero}, {"has_parameter_privilege", -1, f_true}, {"row_security_active", 1, f_zero},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < WR_COUNT_OF(all) && rc == SQLITE_OK; i++) rc = sqlite3_create_function_v2(db, all[i].name, all[i].n, SQLITE_UTF8, c, all[i].f, NULL, NULL, NULL);
    return rc;
}
