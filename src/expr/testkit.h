/* expr/testkit.h: SQL-like text -> bound expression, for the tests of expr/ only (the real binder is plan/).
 *
 * Idea       a small precedence parser over wr_expr_call, so that a test is a line: {"7 / 2", "INT", "3"}. Columns are the names of the
 *            schema set in kit.schema. Not all of SQL: what the tests need.                                        */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "expr/expr.h"
#include "type/decimal.h"
#include "type/number.h"

typedef struct kit {
    wr_expr_ctx ctx;
    wr_diags    diags;
    wr_schema   schema;
    const char *at;
    bool        bad;
} kit;

static inline void kit_open(kit *k, const char *zone) {
    *k = (kit){0};
    wr_diags_init(&k->diags);
    k->ctx = (wr_expr_ctx){.arena = wr_arena_new(NULL), .diags = &k->diags, .world = wr_world_posix()};
    if (zone) {
        wr_err err;
        assert_int_equal(wr_tz_load(k->ctx.world, wr_str_of(zone), &k->ctx.tz, &err), WR_OK);
    }
}
static inline void kit_close(kit *k) {
    wr_arena_free(k->ctx.arena);
    wr_diags_free(&k->diags);
}

static inline void kit_space(kit *k) { while (*k->at == ' ' || *k->at == '\n') k->at++; }
static inline bool kit_word_char(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_'; }
static inline bool kit_peek(kit *k, const char *word) { /* a keyword or a sign, case-blind */
    kit_space(k);
    size_t n = strlen(word);
    if (strncasecmp(k->at, word, n) != 0) return false;
    return !kit_word_char(word[n - 1]) || !kit_word_char(k->at[n]);
}
static inline bool kit_take(kit *k, const char *word) {
    if (!kit_peek(k, word)) return false;
    k->at += strlen(word);
    return true;
}
static inline void kit_need(kit *k, const char *word) {
    if (kit_take(k, word)) return;
    if (!k->bad) print_error("testkit: expected %s at: %s\n", word, k->at);
    k->bad = true;
}
static inline wr_str kit_word(kit *k) {
    kit_space(k);
    const char *from = k->at;
    while (kit_word_char(*k->at)) k->at++;
    return (wr_str){from, (size_t)(k->at - from)};
}
static inline wr_str kit_text(kit *k) { /* 'it''s' */
    kit_space(k);
    wr_sbuf buf = {0};
    kit_need(k, "'");
    while (*k->at && !(*k->at == '\'' && k->at[1] != '\'')) {
        if (*k->at == '\'') k->at++;
        wr_sbuf_addc(&buf, *k->at++);
    }
    kit_need(k, "'");
    wr_str s = wr_str_dup(k->ctx.arena, wr_sbuf_str(&buf));
    wr_sbuf_free(&buf);
    return s;
}

static inline wr_type kit_type(kit *k) {
    static const struct { const char *name; wr_tid id; int prec; } types[] = {
        {"BOOLEAN", WR_T_BOOLEAN, 0}, {"TINYINT", WR_T_TINYINT, 0}, {"SMALLINT", WR_T_SMALLINT, 0}, {"INT", WR_T_INT, 0}, {"BIGINT", WR_T_BIGINT, 0},
        {"FLOAT", WR_T_FLOAT, 0}, {"DOUBLE", WR_T_DOUBLE, 0}, {"DECIMAL", WR_T_DECIMAL, 10}, {"CHAR", WR_T_CHAR, 1}, {"VARCHAR", WR_T_VARCHAR, 1},
        {"STRING", WR_T_VARCHAR, WR_LENGTH_MAX}, {"BYTES", WR_T_VARBINARY, WR_LENGTH_MAX}, {"BINARY", WR_T_BINARY, 1}, {"VARBINARY", WR_T_VARBINARY, 1},
        {"DATE", WR_T_DATE, 0}, {"TIMESTAMP_LTZ", WR_T_TIMESTAMP_LTZ, 6}, {"TIMESTAMP", WR_T_TIMESTAMP, 6}, {"TIME", WR_T_TIME, 0}};
    if (kit_take(k, "ARRAY")) {
        wr_type *kid = wr_new(k->ctx.arena, wr_type);
        kit_need(k, "<"), *kid = kit_type(k), kit_need(k, ">");
        return (wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = kid};
    }
    if (kit_take(k, "MAP")) {
        wr_type *kids = wr_new_n(k->ctx.arena, wr_type, 2);
        kit_need(k, "<"), kids[0] = kit_type(k), kit_need(k, ","), kids[1] = kit_type(k), kit_need(k, ">");
        return (wr_type){.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = kids};
    }
    if (kit_take(k, "ROW")) {
        wr_type *kids = wr_new_n(k->ctx.arena, wr_type, 8);
        wr_str  *names = wr_new_n(k->ctx.arena, wr_str, 8);
        uint32_t n = 0;
        kit_need(k, "<");
        do {
            names[n] = wr_str_dup(k->ctx.arena, kit_word(k));
            kids[n++] = kit_type(k);
        } while (kit_take(k, ",") && n < 8);
        kit_need(k, ">");
        return (wr_type){.id = WR_T_ROW, .nullable = 1, .n_kids = n, .kids = kids, .names = names};
    }
    for (size_t i = 0; i < WR_COUNT_OF(types); i++) {
        if (!kit_take(k, types[i].name)) continue;
        wr_type t = wr_type_prec(types[i].id, types[i].prec);
        if (kit_take(k, "(")) {
            t.prec = (int32_t)strtol(k->at, (char **)&k->at, 10);
            if (kit_take(k, ",")) t.scale = (uint8_t)strtol(k->at, (char **)&k->at, 10);
            kit_need(k, ")");
        }
        return t;
    }
    k->bad = true;
    return wr_type_of(WR_T_INT);
}

static inline wr_expr *kit_expr(kit *k, int level);
static inline wr_expr *kit_const(kit *k, wr_value v) { return wr_expr_const(k->ctx.arena, v, (wr_span){0}); }
static inline wr_expr *kit_string(kit *k, wr_str s) {
    return kit_const(k, (wr_value){.type = wr_type_not_null(wr_type_prec(WR_T_CHAR, (int32_t)wr_utf8_chars(s))), .s = s});
}
static inline wr_expr *kit_call(kit *k, const char *name, wr_expr **args, uint32_t n) {
    if (k->bad) return NULL;
    return wr_expr_call(&k->ctx, wr_str_of(name), args, n, (wr_span){0});
}
static inline wr_expr *kit_call2(kit *k, const char *name, wr_expr *a, wr_expr *b) {
    wr_expr *args[] = {a, b};
    return kit_call(k, name, args, b ? 2 : 1);
}

static inline wr_expr *kit_number(kit *k) {
    const char *from = k->at;
    while (kit_word_char(*k->at) || *k->at == '.' || ((*k->at == '-' || *k->at == '+') && (k->at[-1] == 'e' || k->at[-1] == 'E'))) k->at++;
    wr_str s = {from, (size_t)(k->at - from)};
    if (memchr(s.ptr, 'e', s.len) || memchr(s.ptr, 'E', s.len)) {
        wr_value v = {.type = wr_type_not_null(wr_type_of(WR_T_DOUBLE))};
        wr_parse_double(s, &v.f);
        return kit_const(k, v);
    }
    const char *dot = memchr(s.ptr, '.', s.len);
    if (!dot) {
        int64_t i = 0;
        wr_parse_i64(s, &i);
        return kit_const(k, wr_value_int(wr_type_not_null(wr_type_of(i > INT32_MAX ? WR_T_BIGINT : WR_T_INT)), i));
    }
    int scale = (int)(s.ptr + s.len - dot - 1), digits = (int)s.len - 1;
    wr_value v = {.type = wr_type_not_null(wr_type_decimal(digits, scale))};
    wr_decimal_parse(s, digits, scale, &v.d);
    return kit_const(k, v);
}

static inline wr_expr *kit_interval(kit *k) {
    static const struct { const char *name; int64_t months, us; } units[] = {{"YEAR", 12, 0}, {"MONTH", 1, 0}, {"DAY", 0, WR_US_PER_DAY}, {"HOUR", 0, 3600000000},
                                                                            {"MINUTE", 0, 60000000}, {"SECOND", 0, 1000000}};
    wr_str s = kit_text(k);
    double x = atof(wr_arena_strndup(k->ctx.arena, s.ptr, s.len));
    for (size_t i = 0; i < WR_COUNT_OF(units); i++)
        if (kit_take(k, units[i].name)) {
            wr_type t = wr_type_not_null(wr_type_of(units[i].months ? WR_T_INTERVAL_YM : WR_T_INTERVAL_DS));
            return kit_const(k, wr_value_int(t, (int64_t)(x * (double)(units[i].months ? units[i].months : units[i].us))));
        }
    k->bad = true;
    return NULL;
}

static inline wr_expr *kit_time_literal(kit *k, wr_tid id) {
    wr_str   s = kit_text(k);
    wr_value v = {.type = wr_type_not_null(wr_type_of(id))};
    int32_t  x = 0, nanos = 0;
    bool     zoned;
    if (id == WR_T_DATE) {
        k->bad |= !wr_parse_date(s, &x);
        v.i = x;
    } else if (id == WR_T_TIME) {
        k->bad |= !wr_parse_time(s, &x);
        v.i = x;
    } else {
        const char *dot = memchr(s.ptr, '.', s.len);
        k->bad |= !wr_parse_timestamp(s, &v.i, &nanos, &zoned);
        v.type.prec = dot ? (int32_t)(s.ptr + s.len - dot - 1) : 0;
        if (v.type.prec > 6) v.i = v.i * 1000 + nanos;
    }
    return kit_const(k, v);
}

/* The arguments after '(': with the words of special syntaxes (FROM, TO, IN, FOR, PLACING, BOTH ...) put in their places. */
static inline wr_expr *kit_function(kit *k, wr_str name) {
    static const char *const words[] = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "DOW", "ISODOW", "DOY",
                                        "EPOCH", "CENTURY", "DECADE", "MILLENNIUM", "ISOYEAR", "BOTH", "LEADING", "TRAILING"};
    wr_expr *args[24];
    uint32_t n = 0;
    char     upper[40];
    snprintf(upper, sizeof upper, "%.*s", WR_FMT(name));
    for (char *p = upper; *p; p++) *p = *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
    bool cast = !strcmp(upper, "CAST") || !strcmp(upper, "TRY_CAST");
    if (kit_take(k, ")")) return kit_call(k, upper, args, 0);
    do {
        bool word = false;
        for (size_t i = 0; i < WR_COUNT_OF(words) && !word; i++) {
            const char *save = k->at;
            if (!kit_take(k, words[i])) continue;
            if (kit_peek(k, ",") || kit_peek(k, "FROM") || kit_peek(k, "'") || kit_peek(k, ")")) {
                args[n++] = kit_string(k, wr_str_of(words[i]));
                word = true;
                if (kit_peek(k, "'")) args[n++] = kit_expr(k, 3); /* TRIM(BOTH 'x' FROM y) */
                if (!kit_take(k, "FROM") && !kit_take(k, ",")) k->bad = true;
                args[n++] = kit_expr(k, 0);
            } else {
                k->at = save;
            }
        }
        if (!word) args[n++] = kit_expr(k, !strcmp(upper, "POSITION") ? 4 : 0);
        if (cast && kit_take(k, "AS")) {
            wr_type t = kit_type(k);
            kit_need(k, ")");
            return k->bad || !args[0] ? NULL : wr_expr_cast(&k->ctx, args[0], t, upper[0] == 'T', (wr_span){0});
        }
        if (kit_take(k, "TO")) args[n++] = kit_string(k, wr_str_dup(k->ctx.arena, kit_word(k)));
    } while (n < 20 && !k->bad && (kit_take(k, ",") || kit_take(k, "IN") || kit_take(k, "FROM") || kit_take(k, "FOR") || kit_take(k, "PLACING")));
    kit_need(k, ")");
    for (uint32_t i = 0; i < n; i++)
        if (!args[i]) return NULL;
    return kit_call(k, upper, args, n);
}

static inline wr_expr *kit_list(kit *k, const char *name, const char *end) {
    wr_expr *args[40];
    uint32_t n = 0;
    if (!kit_peek(k, end)) do args[n++] = kit_expr(k, 0); while (kit_take(k, ",") && n < 40);
    kit_need(k, end);
    for (uint32_t i = 0; i < n; i++)
        if (!args[i]) return NULL;
    return kit_call(k, name, args, n);
}

static inline wr_expr *kit_case(kit *k) {
    wr_expr *args[40];
    uint32_t n = 0;
    while (kit_take(k, "WHEN") && n < 36) {
        args[n++] = kit_expr(k, 0);
        kit_need(k, "THEN");
        args[n++] = kit_expr(k, 0);
    }
    args[n++] = kit_take(k, "ELSE") ? kit_expr(k, 0) : kit_const(k, wr_value_null(wr_type_of(WR_T_NULL)));
    kit_need(k, "END");
    for (uint32_t i = 0; i < n; i++)
        if (!args[i]) return NULL;
    return kit_call(k, "CASE", args, n);
}

static inline wr_expr *kit_primary(kit *k) {
    kit_space(k);
    if (*k->at >= '0' && *k->at <= '9') return kit_number(k);
    if (*k->at == '\'') return kit_string(k, kit_text(k));
    if (kit_take(k, "(")) {
        wr_expr *e = kit_expr(k, 0);
        kit_need(k, ")");
        return e;
    }
    if (kit_take(k, "-")) return kit_call2(k, "NEGATE", kit_expr(k, 7), NULL);
    if (kit_take(k, "NULL")) return kit_const(k, wr_value_null(wr_type_of(WR_T_NULL)));
    if (kit_take(k, "TRUE")) return kit_const(k, (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_BOOLEAN)), .b = true});
    if (kit_take(k, "FALSE")) return kit_const(k, (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_BOOLEAN)), .b = false});
    if (kit_take(k, "CASE")) return kit_case(k);
    if (kit_take(k, "INTERVAL")) return kit_interval(k);
    if (kit_take(k, "X'")) {
        wr_sbuf buf = {0};
        for (; *k->at && *k->at != '\''; k->at += 2) {
            char two[3] = {k->at[0], k->at[1], 0};
            wr_sbuf_addc(&buf, (char)strtol(two, NULL, 16));
        }
        kit_need(k, "'");
        wr_value v = {.type = wr_type_not_null(wr_type_prec(WR_T_BINARY, (int32_t)buf.len)), .s = wr_str_dup(k->ctx.arena, wr_sbuf_str(&buf))};
        wr_sbuf_free(&buf);
        return kit_const(k, v);
    }
    wr_str name = kit_word(k);
    if (name.len == 0) {
        k->bad = true;
        return NULL;
    }
    kit_space(k);
    if (*k->at == '\'' && wr_str_ieq(name, WR_STR("DATE"))) return kit_time_literal(k, WR_T_DATE);
    if (*k->at == '\'' && wr_str_ieq(name, WR_STR("TIME"))) return kit_time_literal(k, WR_T_TIME);
    if (*k->at == '\'' && wr_str_ieq(name, WR_STR("TIMESTAMP"))) return kit_time_literal(k, WR_T_TIMESTAMP);
    if (wr_str_ieq(name, WR_STR("ARRAY")) && kit_take(k, "[")) return kit_list(k, "ARRAY", "]");
    if (wr_str_ieq(name, WR_STR("MAP")) && kit_take(k, "[")) return kit_list(k, "MAP", "]");
    if (kit_take(k, "(")) return kit_function(k, name);
    int col = wr_schema_find(&k->schema, name);
    if (col >= 0) return wr_expr_col(k->ctx.arena, (uint32_t)col, k->schema.fields[col].type, (wr_span){0});
    return kit_call(k, wr_arena_strndup(k->ctx.arena, name.ptr, name.len), NULL, 0); /* CURRENT_DATE */
}

static inline wr_expr *kit_postfix(kit *k) {
    wr_expr *e = kit_primary(k);
    while (e && !k->bad) {
        if (kit_take(k, "[")) {
            wr_expr *i = kit_expr(k, 0);
            kit_need(k, "]");
            e = i ? kit_call2(k, "ITEM", e, i) : NULL;
        } else if (*k->at == '.' && kit_word_char(k->at[1])) {
            k->at++;
            e = kit_call2(k, "FIELD", e, kit_string(k, wr_str_dup(k->ctx.arena, kit_word(k))));
        } else {
            break;
        }
    }
    return e;
}

static inline wr_expr *kit_negated(kit *k, wr_expr *e, bool no) { return no && e ? kit_call2(k, "NOT", e, NULL) : e; }

static inline wr_expr *kit_predicate(kit *k, wr_expr *left) { /* what may follow an operand at the level of comparisons */
    static const char *const ops[] = {"<>", "<=", ">=", "=", "<", ">"};
    for (size_t i = 0; i < WR_COUNT_OF(ops); i++)
        if (kit_take(k, ops[i])) {
            wr_expr *right = kit_expr(k, 4);
            return right ? kit_call2(k, ops[i], left, right) : NULL;
        }
    if (kit_take(k, "IS")) {
        bool no = kit_take(k, "NOT");
        char name[32];
        if (kit_take(k, "DISTINCT")) {
            kit_need(k, "FROM");
            wr_expr *right = kit_expr(k, 4);
            return right ? kit_call2(k, no ? "IS_NOT_DISTINCT" : "IS_DISTINCT", left, right) : NULL;
        }
        wr_str what = kit_word(k);
        snprintf(name, sizeof name, "IS_%s%.*s", no ? "NOT_" : "", WR_FMT(what));
        return kit_call2(k, name, left, NULL);
    }
    bool no = kit_take(k, "NOT");
    if (kit_take(k, "LIKE") || kit_take(k, "SIMILAR")) {
        bool     similar = kit_take(k, "TO");
        wr_expr *args[3] = {left, kit_expr(k, 4), NULL};
        uint32_t n = 2;
        if (kit_take(k, "ESCAPE")) args[n++] = kit_expr(k, 4);
        return args[1] ? kit_negated(k, kit_call(k, similar ? "SIMILAR" : "LIKE", args, n), no) : NULL;
    }
    if (kit_take(k, "BETWEEN")) {
        bool     symmetric = kit_take(k, "SYMMETRIC");
        wr_expr *args[3] = {left, kit_expr(k, 4), NULL};
        kit_need(k, "AND");
        args[2] = kit_expr(k, 4);
        return args[1] && args[2] ? kit_negated(k, kit_call(k, symmetric ? "BETWEEN_SYMMETRIC" : "BETWEEN", args, 3), no) : NULL;
    }
    if (kit_take(k, "IN")) {
        wr_expr *args[40] = {left};
        uint32_t n = 1;
        kit_need(k, "(");
        do args[n++] = kit_expr(k, 0); while (kit_take(k, ",") && n < 40);
        kit_need(k, ")");
        for (uint32_t i = 0; i < n; i++)
            if (!args[i]) return NULL;
        return kit_negated(k, kit_call(k, "IN", args, n), no);
    }
    return left;
}

/* Levels: 0 OR, 1 AND, 2 NOT, 3 comparison, 4 ||, 5 + -, 6 * / %, 7 operand. */
static inline wr_expr *kit_expr(kit *k, int level) {
    static const char *const ops[8][4] = {{"OR"}, {"AND"}, {0}, {0}, {"||"}, {"+", "-"}, {"*", "/", "%"}, {0}};
    if (k->bad) return NULL;
    if (level == 7) return kit_postfix(k);
    if (level == 2) return kit_take(k, "NOT") ? kit_negated(k, kit_expr(k, 2), true) : kit_expr(k, 3);
    wr_expr *left = kit_expr(k, level + 1);
    if (level == 3) {
        for (wr_expr *next; left && (next = kit_predicate(k, left)) != left; left = next)
            if (!next) return NULL;
        return left;
    }
    for (bool more = true; left && more;) {
        more = false;
        for (int i = 0; i < 4 && ops[level][i] && !more; i++) {
            if (!kit_take(k, ops[level][i])) continue;
            wr_expr *right = kit_expr(k, level + 1);
            left = right ? kit_call2(k, ops[level][i], left, right) : NULL;
            more = true;
        }
    }
    return left;
}

static inline wr_expr *kit_parse(kit *k, const char *text) {
    k->at = text;
    k->bad = false;
    wr_expr *e = kit_expr(k, 0);
    kit_space(k);
    if (e && *k->at) {
        print_error("testkit: left over in '%s': %s\n", text, k->at);
        k->bad = true;
    }
    return k->bad ? NULL : e;
}
