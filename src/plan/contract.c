/* plan/contract.c: contracts as text, and their comparison. See contract.h; how they are made from a plan: contract_plan.c.          */
#include "plan/contract.h"
#include "type/datetime.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const CHANGES[] = {"append", "upsert", "retract"};
static const char *const DELIVERY[] = {"at least once", "once by key", "exactly once"};
static const char *const ORDERS[] = {"none", "per partition", "per key", "all rows"};

/* ---- options: of a contract's text, and of tables in scripts ---- */

static const char *prefix_of(bool needs) { return needs ? "needs." : "contract."; }

static const wr_table_option *find(const wr_table *t, bool needs, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "%s%s", prefix_of(needs), name);
    for (uint32_t i = 0; i < t->n_options; i++)
        if (wr_str_eq(t->options[i].key, wr_str_of(key))) return &t->options[i];
    return NULL;
}

static bool wrong(wr_diags *diags, const wr_table *t, const wr_table_option *o, const char *expected) {
    wr_diags_add(diags, WR_SEV_ERROR, "WR348", o->at, "table '%.*s': '%.*s' is '%.*s', expected %s", WR_FMT(t->name), WR_FMT(o->key), WR_FMT(o->value), expected);
    return false;
}

static bool read_duration(const wr_table *t, bool needs, const char *name, wr_diags *diags, int64_t *out) {
    const wr_table_option *o = find(t, needs, name);
    return !o || (wr_parse_duration(wr_str_trim(o->value), out) && *out >= 0) || wrong(diags, t, o, "a duration such as '30 s' or '7 d'");
}

static bool read_percent(const wr_table *t, bool needs, wr_diags *diags, double *out) {
    const wr_table_option *o = find(t, needs, "completeness");
    char                   text[40], *end;
    if (!o) return true;
    wr_str v = wr_str_trim(o->value);
    snprintf(text, sizeof text, "%.*s", (int)WR_MIN(v.len, sizeof text - 1), v.ptr);
    *out = strtod(text, &end);
    while (*end == ' ') end++;
    if (*end == '%') end++;
    return (end != text && !*end && *out >= 0 && *out <= 100) || wrong(diags, t, o, "per cent of the rows, such as '99.9 %'");
}

static int choice(wr_str text, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (wr_str_ieq(text, wr_str_of(names[i]))) return i;
    return -1;
}

/* "per key (a, b)" */
static bool read_order(const wr_table *t, bool needs, wr_arena *arena, wr_diags *diags, wr_contract *c) {
    const wr_table_option *o = find(t, needs, "order");
    if (!o) return true;
    wr_str      text = wr_str_trim(o->value), cols = WR_STR("");
    const char *open = memchr(text.ptr, '(', text.len);
    if (open && text.ptr[text.len - 1] == ')') {
        cols = (wr_str){open + 1, text.len - (size_t)(open + 1 - text.ptr) - 1};
        text = wr_str_trim((wr_str){text.ptr, (size_t)(open - text.ptr)});
    }
    int which = choice(text, ORDERS, 4);
    if (which < 0 || (open && which != WR_ORDER_KEY)) return wrong(diags, t, o, "'none', 'per partition', 'per key (columns)' or 'all rows'");
    c->order = (wr_order)which;
    c->n_order = 0;
    c->order_key = wr_new_n(arena, wr_str, cols.len + 1);
    for (wr_str name; wr_str_next(&cols, ',', &name);) c->order_key[c->n_order++] = name;
    if (!needs && which == WR_ORDER_KEY && !c->n_order) return wrong(diags, t, o, "the key's columns behind it: 'per key (id)'");
    return true;
}

static bool read_choice(const wr_table *t, bool needs, const char *name, const char *const *names, int n, const char *expected, wr_diags *diags, int *out) {
    const wr_table_option *o = find(t, needs, name);
    if (!o) return true;
    *out = choice(wr_str_trim(o->value), names, n);
    return *out >= 0 || wrong(diags, t, o, expected);
}

static wr_str text_option(const wr_table *t, bool needs, const char *name, wr_str otherwise) {
    const wr_table_option *o = find(t, needs, name);
    return o ? wr_str_trim(o->value) : otherwise;
}

bool wr_contract_options(const wr_table *t, wr_arena *arena, wr_diags *diags, wr_contract *c) {
    bool ok = read_duration(t, c->needs, "freshness", diags, &c->freshness_us);
    ok &= read_duration(t, c->needs, "retention", diags, &c->retention_us);
    ok &= read_duration(t, c->needs, "lateness", diags, &c->lateness_us);
    ok &= read_percent(t, c->needs, diags, &c->completeness);
    ok &= read_order(t, c->needs, arena, diags, c);
    ok &= read_choice(t, c->needs, "delivery", DELIVERY, 3, "'at least once', 'once by key' or 'exactly once'", diags, &c->delivery);
    c->party = text_option(t, c->needs, c->needs ? "consumer" : "owner", c->party);
    c->table = text_option(t, false, "name", c->table);
    return ok;
}

bool wr_contract_read(const wr_table *t, wr_str file, wr_arena *arena, wr_diags *diags, wr_contract *out) {
    bool needs = wr_str_eq(t->connector, WR_STR("needs"));
    *out = (wr_contract){.needs = needs, .table = t->name, .file = file, .n = t->n_columns, .n_key = t->n_key, .lateness_us = -1, .changes = -1, .delivery = -1, .freshness_us = -1,
                         .completeness = -1, .retention_us = -1};
    out->columns = wr_new_n(arena, wr_contract_column, t->n_columns + 1);
    out->key = wr_new_n(arena, wr_str, t->n_key + 1);
    for (uint32_t i = 0; i < t->n_columns; i++) {
        wr_sbuf name = {0};
        wr_sbuf_printf(&name, "from.%.*s", WR_FMT(t->columns[i].name));
        out->columns[i] = (wr_contract_column){t->columns[i].name, t->columns[i].type, text_option(t, needs, name.at, WR_STR(""))};
        wr_sbuf_free(&name);
    }
    for (uint32_t i = 0; i < t->n_key; i++) out->key[i] = t->columns[t->key[i]].name;
    out->event_time = text_option(t, needs, "event-time", WR_STR(""));
    out->place = text_option(t, needs, "place", WR_STR(""));
    out->publisher = text_option(t, needs, "publisher", WR_STR(""));
    bool ok = wr_contract_options(t, arena, diags, out);
    return read_choice(t, needs, "changes", CHANGES, 3, "'append', 'upsert' or 'retract'", diags, &out->changes) && ok;
}

/* ---- writing ---- */

static void put_ident(wr_sbuf *out, wr_str name) { wr_sql_ident_text((wr_ast_ident){.text = name, .quoted = true}, out); }

static void put_option(wr_sbuf *out, bool needs, const char *name, wr_str column, const char *fmt, ...) WR_PRINTF(5, 6);
static void put_option(wr_sbuf *out, bool needs, const char *name, wr_str column, const char *fmt, ...) {
    char    text[4000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wr_sbuf_printf(out, ",\n  '%s%s%.*s' = '", prefix_of(needs), name, WR_FMT(column));
    for (const char *c = text; *c; c++) wr_sbuf_printf(out, *c == '\'' ? "''" : "%c", *c);
    wr_sbuf_addc(out, '\'');
}

static void put_duration(wr_sbuf *out, bool needs, const char *name, int64_t us) {
    if (us < 0) return;
    if (us % 1000000) put_option(out, needs, name, WR_STR(""), "%lld ms", (long long)(us / 1000));
    else if (us % 60000000 || !us) put_option(out, needs, name, WR_STR(""), "%lld s", (long long)(us / 1000000));
    else if (us % INT64_C(3600000000)) put_option(out, needs, name, WR_STR(""), "%lld min", (long long)(us / 60000000));
    else if (us % INT64_C(86400000000)) put_option(out, needs, name, WR_STR(""), "%lld h", (long long)(us / INT64_C(3600000000)));
    else put_option(out, needs, name, WR_STR(""), "%lld d", (long long)(us / INT64_C(86400000000)));
}

static void order_text(const wr_contract *c, wr_sbuf *out) {
    wr_sbuf_addz(out, ORDERS[c->order]);
    for (uint32_t i = 0; c->order == WR_ORDER_KEY && i < c->n_order; i++) wr_sbuf_printf(out, "%s%.*s%s", i ? ", " : " (", WR_FMT(c->order_key[i]), i + 1 == c->n_order ? ")" : "");
}

static void put_columns(const wr_contract *c, wr_sbuf *out) {
    for (uint32_t i = 0; i < c->n; i++) {
        wr_type t = c->columns[i].type;
        t.attr = WR_TIME_NONE;
        wr_sbuf_addz(out, i ? ",\n  " : "  ");
        put_ident(out, c->columns[i].name);
        wr_sbuf_addc(out, ' ');
        wr_type_text(t, out);
    }
    if (c->n_key) wr_sbuf_addz(out, ",\n  PRIMARY KEY (");
    for (uint32_t i = 0; i < c->n_key; i++) {
        if (i) wr_sbuf_addz(out, ", ");
        put_ident(out, c->key[i]);
    }
    if (c->n_key) wr_sbuf_addz(out, ") NOT ENFORCED");
}

void wr_contract_text(const wr_contract *c, wr_sbuf *out) {
    const wr_str none = WR_STR("");
    wr_sbuf      order = {0};
    wr_sbuf_addz(out, "CREATE TABLE ");
    put_ident(out, c->table);
    wr_sbuf_addz(out, " (\n");
    put_columns(c, out);
    wr_sbuf_printf(out, "\n) WITH (\n  'connector' = '%s'", c->needs ? "needs" : "contract");
    if (c->party.len) put_option(out, c->needs, c->needs ? "consumer" : "owner", none, "%.*s", WR_FMT(c->party));
    if (c->publisher.len) put_option(out, c->needs, "publisher", none, "%.*s", WR_FMT(c->publisher));
    if (c->place.len) put_option(out, c->needs, "place", none, "%.*s", WR_FMT(c->place));
    if (c->changes >= 0) put_option(out, c->needs, "changes", none, "%s", CHANGES[c->changes]);
    if (c->event_time.len) put_option(out, c->needs, "event-time", none, "%.*s", WR_FMT(c->event_time));
    put_duration(out, c->needs, "lateness", c->lateness_us);
    order_text(c, &order);
    if (!c->needs || c->order != WR_ORDER_NONE) put_option(out, c->needs, "order", none, "%s", order.at);
    if (c->delivery >= 0) put_option(out, c->needs, "delivery", none, "%s", DELIVERY[c->delivery]);
    put_duration(out, c->needs, "freshness", c->freshness_us);
    if (c->completeness >= 0) put_option(out, c->needs, "completeness", none, "%.10g %%", c->completeness);
    put_duration(out, c->needs, "retention", c->retention_us);
    for (uint32_t i = 0; i < c->n; i++)
        if (c->columns[i].from.len) put_option(out, c->needs, "from.", c->columns[i].name, "%.*s", WR_FMT(c->columns[i].from));
    wr_sbuf_addz(out, "\n);\n");
    wr_sbuf_free(&order);
}

static void json_text(wr_sbuf *out, const char *key, wr_str value) {
    wr_sbuf_printf(out, ",\"%s\":", key);
    if (value.len) wr_sbuf_add_json(out, value);
    else wr_sbuf_addz(out, "null");
}
static void json_number(wr_sbuf *out, const char *key, double value) {
    if (value < 0) wr_sbuf_printf(out, ",\"%s\":null", key);
    else wr_sbuf_printf(out, ",\"%s\":%.10g", key, value);
}
static void json_names(wr_sbuf *out, const char *key, const wr_str *names, uint32_t n) {
    wr_sbuf_printf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_sbuf_add_json(out, names[i]);
    }
    wr_sbuf_addc(out, ']');
}

void wr_contract_json(const wr_contract *c, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"kind\":\"%s\"", c->needs ? "needs" : "contract");
    json_text(out, "table", c->table);
    json_text(out, c->needs ? "consumer" : "owner", c->party);
    if (!c->needs) json_text(out, "publisher", c->publisher);
    json_text(out, "file", c->file);
    json_text(out, "place", c->place);
    wr_sbuf_addz(out, ",\"columns\":[");
    for (uint32_t i = 0; i < c->n; i++) {
        wr_sbuf type = {0};
        wr_type_text(wr_type_with_null(c->columns[i].type, true), &type);
        wr_sbuf_addz(out, i ? ",{\"name\":" : "{\"name\":");
        wr_sbuf_add_json(out, c->columns[i].name);
        json_text(out, "type", wr_sbuf_str(&type));
        wr_sbuf_printf(out, ",\"nullable\":%s", c->columns[i].type.nullable ? "true" : "false");
        json_text(out, "from", c->columns[i].from);
        wr_sbuf_addc(out, '}');
        wr_sbuf_free(&type);
    }
    wr_sbuf_addc(out, ']');
    json_names(out, "key", c->key, c->n_key);
    json_text(out, "event_time", c->event_time);
    json_number(out, "lateness_us", (double)c->lateness_us);
    json_text(out, "changes", c->changes < 0 ? WR_STR("") : wr_str_of(CHANGES[c->changes]));
    json_text(out, "order", c->needs && c->order == WR_ORDER_NONE ? WR_STR("") : wr_str_of(ORDERS[c->order]));
    json_names(out, "order_key", c->order_key, c->n_order);
    json_text(out, "delivery", c->delivery < 0 ? WR_STR("") : wr_str_of(DELIVERY[c->delivery]));
    json_number(out, "freshness_us", (double)c->freshness_us);
    json_number(out, "completeness", c->completeness);
    json_number(out, "retention_us", (double)c->retention_us);
    wr_sbuf_addc(out, '}');
}

/* ---- comparing: types ---- */

static int integer_digits(wr_type t) {
    static const int digits[] = {3, 5, 10, 19};
    return t.id >= WR_T_TINYINT && t.id <= WR_T_BIGINT ? digits[t.id - WR_T_TINYINT] : -1;
}

static bool nested_fits(wr_type from, wr_type into) {
    if (from.id != into.id) return false;
    if (from.id != WR_T_ROW) {
        for (uint32_t i = 0; i < into.n_kids; i++)
            if ((from.kids[i].nullable && !into.kids[i].nullable) || !wr_contract_type_fits(from.kids[i], into.kids[i])) return false;
        return true;
    }
    for (uint32_t i = 0; i < into.n_kids; i++) { /* fields by name; more of them are fine */
        uint32_t at = 0;
        while (at < from.n_kids && !wr_str_eq(from.names[at], into.names[i])) at++;
        if (at == from.n_kids || (from.kids[at].nullable && !into.kids[i].nullable) || !wr_contract_type_fits(from.kids[at], into.kids[i])) return false;
    }
    return true;
}

bool wr_contract_type_fits(wr_type from, wr_type into) {
    int digits = integer_digits(from);
    if (wr_type_is_nested(from)) return nested_fits(from, into);
    if (digits > 0) {
        if (integer_digits(into) >= digits) return true;
        if (into.id == WR_T_DECIMAL) return into.prec - into.scale >= digits;
        return (into.id == WR_T_FLOAT && digits <= 5) || (into.id == WR_T_DOUBLE && digits <= 10); /* every value exactly */
    }
    switch (from.id) {
    case WR_T_FLOAT: return into.id == WR_T_FLOAT || into.id == WR_T_DOUBLE;
    case WR_T_DECIMAL: return into.id == WR_T_DECIMAL && into.scale >= from.scale && into.prec - into.scale >= from.prec - from.scale;
    case WR_T_CHAR:
    case WR_T_VARCHAR: return (into.id == WR_T_VARCHAR && into.prec >= from.prec) || (from.id == WR_T_CHAR && into.id == WR_T_CHAR && into.prec == from.prec);
    case WR_T_BINARY:
    case WR_T_VARBINARY: return (into.id == WR_T_VARBINARY && into.prec >= from.prec) || (from.id == WR_T_BINARY && into.id == WR_T_BINARY && into.prec == from.prec);
    case WR_T_TIME:
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: return into.id == from.id && into.prec >= from.prec;
    default: return into.id == from.id;
    }
}

/* ---- comparing: the rest ---- */

typedef struct comparing { wr_arena *arena; wr_contract_points *out; } comparing;

WR_PRINTF(5, 6) static void point(comparing *x, const char *what, wr_str column, bool weaker, const char *fmt, ...) {
    char    text[900];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wr_contract_point p = {what, column, weaker, wr_str_dup(x->arena, wr_str_of(text))};
    wr_arr_apush(x->arena, x->out, p);
}

static const wr_contract_column *column_of(const wr_contract *c, wr_str name) {
    for (uint32_t i = 0; i < c->n; i++)
        if (wr_str_eq(c->columns[i].name, name)) return &c->columns[i];
    return NULL;
}

static const char *type_text(comparing *x, wr_type t) {
    wr_sbuf b = {0};
    t.attr = WR_TIME_NONE;
    wr_type_text(wr_type_with_null(t, true), &b);
    const char *z = wr_arena_strndup(x->arena, b.at, b.len);
    wr_sbuf_free(&b);
    return z;
}
static const char *duration_text(comparing *x, int64_t us) {
    wr_sbuf b = {0};
    if (us < 0) wr_sbuf_addz(&b, "nothing");
    else wr_text_duration(us, &b);
    const char *z = wr_arena_strndup(x->arena, b.at, b.len);
    wr_sbuf_free(&b);
    return z;
}
static const char *names_text(comparing *x, const wr_str *names, uint32_t n) {
    wr_sbuf b = {0};
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(&b, "%s%.*s", i ? ", " : "", WR_FMT(names[i]));
    const char *z = wr_arena_strndup(x->arena, b.at ? b.at : "", b.len);
    wr_sbuf_free(&b);
    return z;
}
static const char *order_said(comparing *x, const wr_contract *c) {
    wr_sbuf b = {0};
    order_text(c, &b);
    const char *z = wr_arena_strndup(x->arena, b.at, b.len);
    wr_sbuf_free(&b);
    return z;
}

static bool in_names(wr_str name, const wr_str *names, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (wr_str_eq(names[i], name)) return true;
    return false;
}
static bool subset(const wr_str *a, uint32_t n_a, const wr_str *b, uint32_t n_b) {
    for (uint32_t i = 0; i < n_a; i++)
        if (!in_names(a[i], b, n_b)) return false;
    return true;
}
static bool same_key(const wr_contract *a, const wr_contract *b) { return a->n_key == b->n_key && subset(a->key, a->n_key, b->key, b->n_key); }

/* Order by fewer columns is more: rows that agree in all columns agree in some. */
static bool order_covers(const wr_contract *have, const wr_contract *want) {
    if (want->order == WR_ORDER_NONE || have->order == WR_ORDER_ALL) return true;
    if (have->order != want->order) return false;
    if (want->order != WR_ORDER_KEY) return true;
    return want->n_order ? subset(have->order_key, have->n_order, want->order_key, want->n_order) : !want->n_key || subset(have->order_key, have->n_order, want->key, want->n_key);
}

/* A bound from above (freshness, lateness) or below (retention), -1 = none. */
static bool at_most(int64_t have, int64_t want) { return want < 0 || (have >= 0 && have <= want); }
static bool at_least(int64_t have, int64_t want) { return want < 0 || have >= want; }

void wr_contract_breaks(const wr_contract *p, const wr_contract *n, wr_arena *arena, wr_contract_points *out) {
    comparing x = {arena, out};
    const wr_str none = WR_STR("");
    for (uint32_t i = 0; i < n->n; i++) {
        const wr_contract_column *want = &n->columns[i], *have = column_of(p, want->name);
        if (!have) point(&x, "column", want->name, true, "it reads the column '%.*s', which is not there", WR_FMT(want->name));
        else if (!wr_contract_type_fits(have->type, want->type)) point(&x, "type", want->name, true, "it reads '%.*s' as %s, and the column is %s", WR_FMT(want->name), type_text(&x, want->type), type_text(&x, have->type));
        else if (have->type.nullable && !want->type.nullable) point(&x, "null", want->name, true, "it relies on '%.*s' being NOT NULL, and it may be NULL", WR_FMT(want->name));
    }
    if (n->n_key && !same_key(p, n)) point(&x, "key", none, true, "it relies on the key (%s), and the key is %s%s%s", names_text(&x, n->key, n->n_key), p->n_key ? "(" : "none", names_text(&x, p->key, p->n_key), p->n_key ? ")" : "");
    if (n->event_time.len && !wr_str_eq(n->event_time, p->event_time)) point(&x, "event-time", n->event_time, true, "its event time is '%.*s', and that of the table is %s%.*s%s", WR_FMT(n->event_time), p->event_time.len ? "'" : "", WR_FMT(p->event_time.len ? p->event_time : WR_STR("none")), p->event_time.len ? "'" : "");
    if (n->lateness_us >= 0 && p->lateness_us > n->lateness_us) point(&x, "lateness", none, true, "it waits %s for late rows, and they may come %s late", duration_text(&x, n->lateness_us), duration_text(&x, p->lateness_us));
    if (n->changes == WR_CHANGES_APPEND && p->changes > WR_CHANGES_APPEND) point(&x, "changes", none, true, "it takes every row as a new one, and rows are changed and taken back (%s)", CHANGES[p->changes]);
    if (!order_covers(p, n)) point(&x, "order", none, true, "it needs the order '%s', and what is certain is '%s'", order_said(&x, n), order_said(&x, p));
    if (n->delivery > p->delivery) point(&x, "delivery", none, true, "it needs rows %s, and they come %s", DELIVERY[n->delivery], p->delivery < 0 ? "as nobody says" : DELIVERY[p->delivery]);
    if (!at_most(p->freshness_us, n->freshness_us)) point(&x, "freshness", none, true, "it needs rows within %s, and the promise is %s", duration_text(&x, n->freshness_us), duration_text(&x, p->freshness_us));
    if (n->completeness > p->completeness) point(&x, "completeness", none, true, p->completeness < 0 ? "it needs %.10g %% of the rows, and nothing is promised" : "it needs %.10g %% of the rows, and %.10g %% are promised", n->completeness, p->completeness);
    if (!at_least(p->retention_us, n->retention_us)) point(&x, "retention", none, true, "it needs rows to stay for %s, and the promise is %s", duration_text(&x, n->retention_us), duration_text(&x, p->retention_us));
}

static void column_changes(comparing *x, const wr_contract *was, const wr_contract *now) {
    for (uint32_t i = 0; i < was->n; i++) {
        const wr_contract_column *old = &was->columns[i], *new = column_of(now, old->name);
        if (!new) {
            point(x, "column", old->name, true, "column '%.*s' is gone", WR_FMT(old->name));
            continue;
        }
        if (!wr_contract_type_fits(old->type, new->type)) point(x, "type", old->name, true, "column '%.*s' was %s and is %s", WR_FMT(old->name), type_text(x, old->type), type_text(x, new->type));
        else if (!wr_type_same(old->type, new->type)) point(x, "type", old->name, false, "column '%.*s' was %s and is wider, %s", WR_FMT(old->name), type_text(x, old->type), type_text(x, new->type));
        if (old->type.nullable != new->type.nullable) point(x, "null", old->name, new->type.nullable, "column '%.*s' %s NULL", WR_FMT(old->name), new->type.nullable ? "may now be" : "is never again");
    }
    for (uint32_t i = 0; i < now->n; i++)
        if (!column_of(was, now->columns[i].name)) point(x, "column", now->columns[i].name, false, "column '%.*s' is new", WR_FMT(now->columns[i].name));
}

static void bound_change(comparing *x, const char *what, int64_t was, int64_t now, bool more_is_better) {
    if (was == now) return;
    bool weaker = more_is_better ? !at_least(now, was) : !at_most(now, was);
    point(x, what, WR_STR(""), weaker, "%s was %s and is %s", what, duration_text(x, was), duration_text(x, now));
}

void wr_contract_changes(const wr_contract *was, const wr_contract *now, wr_arena *arena, wr_contract_points *out) {
    comparing x = {arena, out};
    const wr_str none = WR_STR("");
    column_changes(&x, was, now);
    if (!same_key(was, now)) point(&x, "key", none, was->n_key != 0, "the key was (%s) and is (%s)", names_text(&x, was->key, was->n_key), names_text(&x, now->key, now->n_key));
    if (!wr_str_eq(was->event_time, now->event_time)) point(&x, "event-time", none, was->event_time.len != 0, "the event time was '%.*s' and is '%.*s'", WR_FMT(was->event_time), WR_FMT(now->event_time));
    bound_change(&x, "lateness", was->lateness_us, now->lateness_us, false);
    if (was->changes != now->changes) point(&x, "changes", none, now->changes != WR_CHANGES_APPEND, "rows were %s and are %s", was->changes < 0 ? "not said" : CHANGES[was->changes], now->changes < 0 ? "not said" : CHANGES[now->changes]);
    if (!order_covers(now, was)) point(&x, "order", none, true, "the order was '%s' and is '%s'", order_said(&x, was), order_said(&x, now));
    else if (!order_covers(was, now)) point(&x, "order", none, false, "the order was '%s' and is '%s'", order_said(&x, was), order_said(&x, now));
    if (was->delivery != now->delivery) point(&x, "delivery", none, now->delivery < was->delivery, "rows came %s and come %s", was->delivery < 0 ? "as nobody said" : DELIVERY[was->delivery], now->delivery < 0 ? "as nobody says" : DELIVERY[now->delivery]);
    bound_change(&x, "freshness", was->freshness_us, now->freshness_us, false);
    if (was->completeness > now->completeness || now->completeness > was->completeness) point(&x, "completeness", none, was->completeness > now->completeness, "completeness was %.10g %% and is %.10g %%", WR_MAX(was->completeness, 0.0), WR_MAX(now->completeness, 0.0));
    bound_change(&x, "retention", was->retention_us, now->retention_us, true);
    if (was->place.len && now->place.len && !wr_str_eq(was->place, now->place)) point(&x, "place", none, true, "it was at '%.*s' and is at '%.*s'", WR_FMT(was->place), WR_FMT(now->place));
    if (!wr_str_eq(was->party, now->party)) point(&x, "owner", none, false, "the owner was '%.*s' and is '%.*s'", WR_FMT(was->party), WR_FMT(now->party));
}

bool wr_contract_touches(const wr_contract_point *change, const wr_contract *was, const wr_contract *need) {
    if (!change->weaker) return false;
    if (!strcmp(change->what, "type")) return column_of(need, change->column) != NULL;
    return !strcmp(change->what, "place") && need->place.len && wr_str_eq(need->place, was->place);
}

bool wr_contract_is_of(const wr_contract *promise, const wr_contract *need) {
    return wr_str_eq(promise->table, need->table) || (promise->place.len && wr_str_eq(promise->place, need->place));
}
