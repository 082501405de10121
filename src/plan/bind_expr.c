/* plan/bind_expr.c: an expression as written -> a bound wr_expr: names, literals, the special syntaxes.
 *
 * Idea       every construct becomes a call of a catalogue function (expr.h lists the names); typing, casts and overloads are expr/'s job.
 *            Aggregates and OVER calls become placeholder columns behind the input's columns (agg_env), which bind_select.c resolves.
 * Invariant  NULL is returned only after a diagnostic (or after a broken object that already had one).
 * Recursion  bounded by WR_AST_DEPTH_MAX.                                                                           */
#include "plan/logical.h"
#include <stdlib.h>

/* ---- literals ---- */

static wr_expr *constant(bind *b, wr_value v, wr_span at) { return wr_expr_const(b->p->arena, v, at); }

static wr_expr *integer(bind *b, wr_str text, wr_span at) {
    wr_i128 v = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (v > ((wr_i128)1 << 120)) return pl_error(b->p, "22003", at, "integer literal %.*s is out of range", WR_FMT(text));
        v = v * 10 + (text.ptr[i] - '0');
    }
    if (v <= INT32_MAX) return constant(b, wr_value_int(wr_type_not_null(wr_type_of(WR_T_INT)), (int64_t)v), at);
    if (v <= INT64_MAX) return constant(b, wr_value_int(wr_type_not_null(wr_type_of(WR_T_BIGINT)), (int64_t)v), at);
    wr_value d = {.type = wr_type_not_null(wr_type_decimal((int)WR_MIN(text.len, 38u), 0)), .d = v};
    return constant(b, d, at);
}

static wr_expr *decimal(bind *b, wr_str text, wr_span at) {
    wr_i128 v = 0;
    int     digits = 0, scale = 0;
    bool    point = false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '.') {
            point = true;
            continue;
        }
        digits++; /* as written: 0.05 is DECIMAL(3, 2) */
        if (digits > 38) return pl_error(b->p, "22003", at, "decimal literal %.*s has more than 38 digits", WR_FMT(text));
        v = v * 10 + (text.ptr[i] - '0');
        scale += point;
    }
    if (scale > 38) return pl_error(b->p, "22003", at, "decimal literal %.*s has more than 38 digits", WR_FMT(text));
    int prec = WR_MAX(WR_MAX(digits, scale), 1);
    return constant(b, (wr_value){.type = wr_type_not_null(wr_type_decimal(prec, scale)), .d = v}, at);
}

static wr_expr *text_value(bind *b, wr_str text, wr_tid id, wr_span at) {
    size_t len = id == WR_T_CHAR ? wr_utf8_chars(text) : text.len;
    return constant(b, (wr_value){.type = wr_type_not_null(wr_type_prec(id, (int32_t)len)), .s = wr_str_dup(b->p->arena, text)}, at);
}

static wr_expr *moment(bind *b, const wr_ast_expr *e) {
    wr_str  t = wr_str_trim(e->lit.text);
    int32_t i32, nanos = 0;
    int64_t us;
    bool    zoned = false;
    if (e->lit.kind == WR_LIT_DATE) {
        if (!wr_parse_date(t, &i32)) return pl_error(b->p, "22007", e->at, "'%.*s' is not a date: expected 'yyyy-MM-dd'", WR_FMT(t));
        return constant(b, wr_value_int(wr_type_not_null(wr_type_of(WR_T_DATE)), i32), e->at);
    }
    if (e->lit.kind == WR_LIT_TIME) {
        if (!wr_parse_time(t, &i32)) return pl_error(b->p, "22007", e->at, "'%.*s' is not a time: expected 'HH:mm:ss[.fff]'", WR_FMT(t));
        return constant(b, wr_value_int(wr_type_not_null(wr_type_prec(WR_T_TIME, 0)), i32), e->at);
    }
    if (!wr_parse_timestamp(t, &us, &nanos, &zoned) || zoned)
        return pl_error(b->p, "22007", e->at, "'%.*s' is not a timestamp: expected 'yyyy-MM-dd HH:mm:ss[.fffffffff]'", WR_FMT(t));
    int prec = 0;
    for (size_t i = 0; i < t.len; i++)
        if (t.ptr[i] == '.') prec = (int)WR_MIN(t.len - i - 1, 9u);
    wr_type type = wr_type_not_null(wr_type_prec(WR_T_TIMESTAMP, prec));
    return constant(b, wr_value_int(type, prec > 6 ? us * 1000 + nanos : us), e->at);
}

static int64_t unit_us(wr_ast_unit u) {
    switch (u) {
    case WR_UNIT_WEEK: return 7 * WR_US_PER_DAY;
    case WR_UNIT_DAY: return WR_US_PER_DAY;
    case WR_UNIT_HOUR: return 3600 * WR_US_PER_SECOND;
    case WR_UNIT_MINUTE: return 60 * WR_US_PER_SECOND;
    case WR_UNIT_SECOND: return WR_US_PER_SECOND;
    default: return 0;
    }
}

/* Reads up to 9 digits; false if there is none or too many. */
static bool digits(const char **at, const char *end, int64_t *out) {
    const char *from = *at;
    int64_t     v = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - from < 10) v = v * 10 + (*(*at)++ - '0');
    *out = v;
    return *at > from && *at - from < 10;
}

/* Day-time text: one number for one unit, or d hh:mm:ss.f cut to the units named. Microseconds. */
static bool parse_day_time(wr_str t, wr_ast_unit from, wr_ast_unit to, int64_t *out) {
    const char *at = t.ptr, *end = t.ptr + t.len;
    int64_t     total = 0, v;
    for (wr_ast_unit u = from;; u = (wr_ast_unit)(u + 1)) {
        if (!digits(&at, end, &v)) return false;
        if (u != from && v > (u == WR_UNIT_HOUR ? 23 : 59)) return false;
        total += v * unit_us(u);
        if (u == WR_UNIT_SECOND && at < end && *at == '.') {
            at++;
            int64_t scale = WR_US_PER_SECOND / 10;
            while (at < end && *at >= '0' && *at <= '9') total += (*at++ - '0') * scale, scale /= 10;
        }
        if (u == to) break;
        if (at >= end || *at != (u == WR_UNIT_DAY ? ' ' : ':')) return false;
        at++;
    }
    *out = total;
    return at == end;
}

static bool parse_year_month(wr_str t, wr_ast_unit from, wr_ast_unit to, int64_t *out) {
    const char *at = t.ptr, *end = t.ptr + t.len;
    int64_t     v, m = 0;
    if (!digits(&at, end, &v)) return false;
    if (from == WR_UNIT_YEAR && to == WR_UNIT_MONTH) {
        if (at >= end || *at++ != '-' || !digits(&at, end, &m) || m > 11) return false;
        v = v * 12 + m;
    } else {
        v *= from == WR_UNIT_YEAR ? 12 : from == WR_UNIT_QUARTER ? 3 : 1;
    }
    *out = v;
    return at == end;
}

static wr_expr *interval(bind *b, const wr_ast_expr *e) {
    wr_ast_unit from = e->lit.unit_from, to = e->lit.unit_to == WR_UNIT_NONE ? from : e->lit.unit_to;
    bool        months = from == WR_UNIT_YEAR || from == WR_UNIT_MONTH || from == WR_UNIT_QUARTER, minus = e->lit.negative;
    wr_str      t = wr_str_trim(e->lit.text);
    if (t.len && (t.ptr[0] == '-' || t.ptr[0] == '+')) minus ^= t.ptr[0] == '-', t.ptr++, t.len--;
    int64_t v;
    bool    ok = months ? parse_year_month(t, from, to, &v) : to >= from && parse_day_time(t, from, to, &v);
    if (!ok) {
        if (from == to) return pl_error(b->p, "22007", e->at, "'%.*s' is not an interval of %s", WR_FMT(e->lit.text), wr_ast_unit_name(from));
        return pl_error(b->p, "22007", e->at, "'%.*s' is not an interval %s TO %s", WR_FMT(e->lit.text), wr_ast_unit_name(from), wr_ast_unit_name(to));
    }
    return constant(b, wr_value_int(wr_type_not_null(wr_type_of(months ? WR_T_INTERVAL_YM : WR_T_INTERVAL_DS)), minus ? -v : v), e->at);
}

static wr_expr *literal(bind *b, const wr_ast_expr *e) {
    switch (e->lit.kind) {
    case WR_LIT_NULL: return constant(b, wr_value_null(wr_type_of(WR_T_NULL)), e->at);
    case WR_LIT_TRUE:
    case WR_LIT_FALSE:
        return constant(b, (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_BOOLEAN)), .b = e->lit.kind == WR_LIT_TRUE}, e->at);
    case WR_LIT_UNKNOWN: return constant(b, wr_value_null(wr_type_of(WR_T_BOOLEAN)), e->at);
    case WR_LIT_INTEGER: return integer(b, e->lit.text, e->at);
    case WR_LIT_DECIMAL: return decimal(b, e->lit.text, e->at);
    case WR_LIT_APPROX: return constant(b, (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_DOUBLE)), .f = strtod(e->lit.text.ptr, NULL)}, e->at);
    case WR_LIT_STRING: return text_value(b, e->lit.text, WR_T_CHAR, e->at);
    case WR_LIT_BINARY: return text_value(b, e->lit.text, WR_T_BINARY, e->at);
    case WR_LIT_DATE:
    case WR_LIT_TIME:
    case WR_LIT_TIMESTAMP: return moment(b, e);
    case WR_LIT_INTERVAL: return interval(b, e);
    }
    return NULL;
}

/* ---- names ---- */

static void scope_list(const scope *sc, wr_sbuf *out) {
    for (uint32_t i = 0; i < sc->rels.n; i++) {
        const srel *r = &sc->rels.at[i];
        wr_sbuf_printf(out, "%s%.*s(", i ? ", " : "", (int)r->alias.len, r->alias.ptr ? r->alias.ptr : "");
        for (uint32_t k = 0; k < r->n && k < 12; k++) wr_sbuf_printf(out, "%s%.*s", k ? ", " : "", WR_FMT(r->fields[k].name));
        wr_sbuf_addz(out, r->n > 12 ? ", ...)" : ")");
    }
}

static void column_not_found(bind *b, const wr_ast_name *name) {
    wr_sbuf written = {0}, in_scope = {0};
    wr_sql_name_text(*name, &written);
    wr_str want = name->part[name->n - 1].text;
    if (name->n > 1) { /* qualifier known? then the column is at fault, else the table */
        bool known = false;
        for (const scope *s = b->sc; s && !known; s = s->outer)
            for (uint32_t i = 0; i < s->rels.n; i++) known |= wr_str_eq(s->rels.at[i].alias, name->part[0].text);
        if (!known) want = name->part[0].text;
    }
    WR_ARR(wr_str) names = {0};
    for (const scope *s = b->sc; s; s = s->outer)
        for (uint32_t i = 0; i < s->rels.n; i++) {
            wr_arr_push(&names, s->rels.at[i].alias);
            for (uint32_t k = 0; k < s->rels.at[i].n; k++) wr_arr_push(&names, s->rels.at[i].fields[k].name);
        }
    int at = wr_nearest(want, names.at, names.n);
    if (at >= 0 && names.at[at].len) {
        pl_error(b->p, "42703", name->at, "column '%.*s' not found; did you mean '%.*s'?", WR_FMT(wr_sbuf_str(&written)), WR_FMT(names.at[at]));
    } else {
        pl_error(b->p, "42703", name->at, "column '%.*s' not found", WR_FMT(wr_sbuf_str(&written)));
    }
    scope_list(b->sc, &in_scope);
    if (in_scope.len) wr_diags_detail(b->p->diags, "in scope: %.*s", WR_FMT(wr_sbuf_str(&in_scope)));
    wr_arr_free(&names);
    wr_sbuf_free(&written);
    wr_sbuf_free(&in_scope);
}

/* Looks in one scope: number of matches, the first in *col; parts used in *used (alias and column: 2, column: 1). */
static uint32_t find_in(const scope *sc, const wr_ast_name *name, uint32_t skip, uint32_t *col, wr_type *type, uint32_t *used, wr_str *both) {
    uint32_t hits = 0;
    for (uint32_t pass = 0; pass < 2 && !hits; pass++) { /* first alias.column, then column alone */
        if (pass == 0 ? name->n - skip < 2 : skip) continue;
        for (uint32_t i = 0; i < sc->rels.n; i++) {
            const srel *r = &sc->rels.at[i];
            if (pass == 0 && !wr_str_eq(r->alias, name->part[skip].text)) continue;
            for (uint32_t k = 0; k < r->n; k++) {
                if (!wr_str_eq(r->fields[k].name, name->part[pass == 0 ? skip + 1 : 0].text)) continue;
                if (pass == 1 && r->hidden && r->hidden[k]) continue;
                if (hits < 2) both[hits] = r->alias;
                if (!hits++) *col = r->first + k, *type = r->fields[k].type, *used = pass == 0 ? skip + 2 : 1;
            }
        }
    }
    return hits;
}

/* Parts of database.table.column or catalog.database.table.column that stand before the table; 0 if none. */
static uint32_t path_parts(const pl *p, const wr_ast_name *name) {
    const wr_catalog *c = p->ctx->catalog;
    if (name->n > 3 && wr_catalog_find_space(c, name->part[0].text, name->part[1].text)) return 2;
    return wr_catalog_find_space(c, wr_catalog_current(c)->catalog, name->part[0].text) ? 1 : 0;
}

int pl_resolve_column(bind *b, const wr_ast_name *name, uint32_t *used, wr_type *type, bool complain) {
    uint32_t base = 0;
    for (scope *s = b->sc; s; s = s->outer) {
        uint32_t col = 0;
        wr_str   both[2];
        uint32_t hits = find_in(s, name, 0, &col, type, used, both);
        if (!hits && name->n > 2 && path_parts(b->p, name)) hits = find_in(s, name, path_parts(b->p, name), &col, type, used, both);
        if (hits > 1) {
            if (complain) {
                wr_str last = name->part[name->n - 1].text;
                pl_error(b->p, "42702", name->at, "column '%.*s' is ambiguous: it is in '%.*s' and in '%.*s'", WR_FMT(last), WR_FMT(both[0]), WR_FMT(both[1]));
                if (wr_str_eq(both[0], both[1])) wr_diags_hint(b->p->diags, "give them names of their own: FROM ... AS a JOIN ... AS b");
                else wr_diags_hint(b->p->diags, "write %.*s.%.*s or %.*s.%.*s", WR_FMT(both[0]), WR_FMT(last), WR_FMT(both[1]), WR_FMT(last));
            }
            return -1;
        }
        if (hits == 1) {
            if (base) b->sc->used_outer = true;
            return (int)(base + col);
        }
        if (s->outer && base) { /* two levels up */
            if (complain) column_not_found(b, name);
            return -1;
        }
        base = s->outer ? s->outer_base : base;
    }
    if (complain) column_not_found(b, name);
    return -1;
}

static wr_expr *field_access(bind *b, wr_expr *e, wr_ast_ident name, wr_span at) {
    if (!e) return NULL;
    if (e->type.id != WR_T_ROW) {
        wr_sbuf t = {0};
        wr_type_text(e->type, &t);
        pl_error(b->p, "42809", name.at, "'%.*s' is not a field: the value before it is %.*s, not a ROW", WR_FMT(name.text), WR_FMT(wr_sbuf_str(&t)));
        wr_sbuf_free(&t);
        return NULL;
    }
    int found = -1;
    for (uint32_t i = 0; i < e->type.n_kids; i++)
        if (wr_str_eq(e->type.names[i], name.text)) found = (int)i;
    if (found < 0) {
        int near = wr_nearest(name.text, e->type.names, e->type.n_kids);
        if (near >= 0)
            return pl_error(b->p, "42703", name.at, "field '%.*s' not found; did you mean '%.*s'?", WR_FMT(name.text), WR_FMT(e->type.names[near]));
        return pl_error(b->p, "42703", name.at, "field '%.*s' not found", WR_FMT(name.text));
    }
    return pl_call(b->p, "FIELD", at, 2, e, text_value(b, name.text, WR_T_CHAR, name.at));
}

static wr_expr *column(bind *b, const wr_ast_expr *e) {
    uint32_t used = 0;
    wr_type  type;
    wr_expr *x = NULL;
    if (b->match) {
        x = pl_match_column(b, e, &used);
    } else {
        int col = pl_resolve_column(b, &e->name, &used, &type, true);
        if (col >= 0) x = wr_expr_col(b->p->arena, (uint32_t)col, type, e->at);
    }
    if (!x) return NULL;
    for (uint32_t i = used; i < e->name.n; i++) x = field_access(b, x, e->name.part[i], e->at);
    return x;
}

/* ---- calls ---- */

static wr_expr *symbol(bind *b, const wr_ast_expr *e) { return text_value(b, e->symbol, WR_T_CHAR, e->at); }

static bool name_is(const wr_ast_call *c, const char *name) { return c->name.n == 1 && wr_str_ieq(c->name.part[0].text, wr_str_of(name)); }

static bool is_agg_name(const pl *p, const wr_ast_name *name) {
    const wr_udf *u = pl_user_function(p, name);
    return u ? u->decl->kind == WEIR_AGGREGATE : name->n == 1 && wr_agg_exists(name->part[0].text);
}
bool pl_is_agg_call(const pl *p, const wr_ast_expr *e) { return e->kind == WR_AST_CALL && !e->call.over && is_agg_name(p, &e->call.name); }

static wr_expr *placeholder(bind *b, ph_kind kind, uint32_t i, wr_type type, wr_span at) {
    agg_env *a = b->agg;
    for (uint32_t k = 0; k < a->phs.n; k++)
        if (a->phs.at[k].kind == kind && a->phs.at[k].i == i) return wr_expr_col(b->p->arena, a->base + k, a->phs.at[k].type, at);
    wr_arr_apush(b->p->arena, &a->phs, (ph){kind, i, type});
    return wr_expr_col(b->p->arena, a->base + a->phs.n - 1, type, at);
}

static bool same_opt(const wr_expr *a, const wr_expr *b) { return a && b ? wr_expr_equal(a, b) : a == b; }

/* An aggregate of the user; several arguments become one ROW. */
static bool user_agg_of(bind *b, const wr_ast_expr *e, const wr_udf *u, agg_call *call) {
    const wr_ast_call *c = &e->call;
    wr_expr          **args = wr_new_n(b->p->arena, wr_expr *, c->args.n + 1);
    bool               ok = true;
    for (uint32_t i = 0; i < c->args.n; i++) ok &= (args[i] = pl_bind_expr(b, c->args.at[i])) != NULL;
    if (c->filter) ok &= (call->filter = pl_bind_condition(b, c->filter)) != NULL;
    const wr_udf_sig *s = ok ? wr_udf_resolve(&b->p->ec, u, args, c->args.n, e->at) : NULL;
    if (!s) return false;
    call->arg = s->n_args == 1 ? args[0] : wr_expr_call(&b->p->ec, WR_STR("ROW"), args, s->n_args, e->at);
    if (!call->arg) return false;
    call->agg = (wr_agg){.kind = WR_AGG_USER, .distinct = c->distinct, .arg = -1, .arg2 = -1, .filter = -1, .arg_type = call->arg->type, .type = s->result, .user = s};
    call->agg.arg_type.attr = WR_TIME_NONE;
    return true;
}

/* Arguments and filter of an aggregate, its kind and type. */
static bool agg_call_of(bind *b, const wr_ast_expr *e, agg_call *call) {
    const wr_ast_call *c = &e->call;
    const wr_udf      *u = pl_user_function(b->p, &c->name);
    if (u) return user_agg_of(b, e, u, call);
    wr_str             name = c->name.part[0].text;
    wr_type  types[4];
    wr_expr *args[4] = {0};
    uint32_t n = c->args.n == 1 && c->args.at[0]->kind == WR_AST_STAR ? 0 : c->args.n;
    if (n > 4) n = 4;
    bool ok = true;
    for (uint32_t i = 0; i < n; i++) ok &= (args[i] = pl_bind_expr(b, c->args.at[i])) != NULL;
    if (c->filter) ok &= (call->filter = pl_bind_condition(b, c->filter)) != NULL;
    if (!ok) return false;
    for (uint32_t i = 0; i < n; i++) types[i] = args[i]->type;
    if (!wr_agg_resolve(&b->p->ec, name, types, n, c->distinct, e->at, &call->agg)) return false;
    if (n > 0) call->arg = args[0];
    if (n > 1) call->arg2 = args[1];
    if (call->arg && call->agg.kind != WR_AGG_COUNT_STAR && call->agg.arg_type.id != WR_T_NULL && !wr_type_same(call->arg->type, call->agg.arg_type))
        call->arg = wr_expr_cast(&b->p->ec, call->arg, call->agg.arg_type, false, e->at);
    if (call->agg.kind == WR_AGG_COUNT_STAR) call->arg = NULL;
    return true;
}

static wr_expr *aggregate(bind *b, const wr_ast_expr *e) {
    const wr_ast_call *c = &e->call;
    wr_str             name = c->name.part[c->name.n - 1].text;
    if (!b->agg || !b->agg->allow_agg || b->agg->in_agg) {
        pl_error(b->p, "42803", e->at, "aggregate %.*s is not allowed %s %s", WR_FMT(name), b->agg && b->agg->in_agg ? "inside" : "in",
                 b->agg && b->agg->in_agg ? "another aggregate" : b->clause);
        if (strcmp(b->clause, "WHERE") == 0) wr_diags_hint(b->p->diags, "conditions on aggregates go into HAVING");
        return NULL;
    }
    if (c->within_group.n) return pl_unsupported(b->p, e->at, NULL, "WITHIN GROUP of %.*s", WR_FMT(name));
    agg_call call = {0};
    b->agg->in_agg = true;
    bool ok = agg_call_of(b, e, &call);
    b->agg->in_agg = false;
    if (!ok) return NULL;
    for (uint32_t i = 0; i < b->agg->aggs.n; i++) {
        const agg_call *o = &b->agg->aggs.at[i];
        if (o->agg.kind == call.agg.kind && o->agg.user == call.agg.user && o->agg.distinct == call.agg.distinct && same_opt(o->arg, call.arg) && same_opt(o->arg2, call.arg2) &&
            same_opt(o->filter, call.filter))
            return placeholder(b, PH_AGG, i, o->agg.type, e->at);
    }
    wr_arr_apush(b->p->arena, &b->agg->aggs, call);
    return placeholder(b, PH_AGG, b->agg->aggs.n - 1, call.agg.type, e->at);
}

/* ---- OVER ---- */

/* A window with what it takes from the named one; NULL with a diagnostic. */
static const wr_ast_window *over_window(bind *b, const wr_ast_window *w) {
    const wr_ast_window *of = NULL;
    if (!w->base.text.ptr || !b->agg || !b->agg->select) return w;
    for (uint32_t i = 0; i < b->agg->select->windows.n; i++) {
        if (b->agg->select->windows.at[i].window == w) break; /* a window may name those before it */
        if (wr_str_eq(b->agg->select->windows.at[i].name.text, w->base.text)) of = b->agg->select->windows.at[i].window;
    }
    if (!of) return pl_error(b->p, "42704", w->at, "window '%.*s' not found", WR_FMT(w->base.text));
    if (!(of = over_window(b, of)) || w->bare) return of;
    if (w->partition_by.n || (w->order_by.n && of->order_by.n) || of->has_frame)
        return pl_error(b->p, "42P20", w->at, "a window made from '%.*s' cannot change its %s", WR_FMT(w->base.text),
                        w->partition_by.n ? "PARTITION BY" : of->has_frame ? "frame" : "ORDER BY");
    wr_ast_window *copy = wr_new(b->p->arena, wr_ast_window);
    *copy = *w;
    copy->partition_by = of->partition_by;
    if (!copy->order_by.n) copy->order_by = of->order_by;
    return copy;
}

static bool over_frame(bind *b, const wr_ast_window *w, wr_over_frame *f) {
    *f = (wr_over_frame){.rows = w->has_frame && w->rows, .unbounded = true};
    if (!w->has_frame) return true;
    const wr_ast_bound *s = &w->start;
    if (w->end.kind != WR_BOUND_CURRENT) {
        pl_unsupported(b->p, w->end.at, "a stream has not seen what follows a row", "a frame of OVER that does not end with CURRENT ROW");
        return false;
    }
    switch (s->kind) {
    case WR_BOUND_UNBOUNDED_PRECEDING: return true;
    case WR_BOUND_CURRENT: f->unbounded = false, f->preceding = 0; return true;
    case WR_BOUND_PRECEDING: break;
    default: return pl_error(b->p, "42P20", s->at, "a frame cannot start behind its end"), false;
    }
    f->unbounded = false;
    if (!f->rows) return pl_const_interval(b, s->offset, "the frame of RANGE", &f->preceding) && (f->preceding >= 0 || pl_error(b->p, "22013", s->at, "a frame cannot start behind its end"));
    wr_expr *e = pl_bind_expr(b, s->offset);
    if (e) e = wr_expr_fold(&b->p->ec, e);
    if (!e) return false;
    if (e->kind != WR_E_CONST || e->value.null || !wr_type_is_integer(e->type) || e->value.i < 0)
        return pl_error(b->p, "22013", s->at, "ROWS n PRECEDING needs a whole number that is not negative"), false;
    f->preceding = e->value.i;
    return true;
}

/* LAG(value [, rows back [, value instead]]) */
static bool over_lag(bind *b, const wr_ast_expr *e, over_call *o) {
    const wr_ast_call *c = &e->call;
    if (c->args.n < 1 || c->args.n > 3) return pl_error(b->p, "42883", e->at, "LAG(value [, rows [, default]]) takes one to three arguments, not %u", c->args.n), false;
    if (c->nulls == 0) return pl_unsupported(b->p, e->at, NULL, "LAG ... IGNORE NULLS"), false;
    if (c->distinct || c->filter) return pl_error(b->p, "42809", e->at, "LAG is not an aggregate: it takes neither DISTINCT nor FILTER"), false;
    if (!(o->arg = pl_bind_expr(b, c->args.at[0]))) return false;
    o->fn = (wr_over_fn){.kind = WR_OVER_LAG, .offset = 1, .fallback = -1, .agg = {.arg = -1, .arg2 = -1, .filter = -1}};
    if (c->args.n > 1) {
        wr_expr *by = pl_bind_expr(b, c->args.at[1]);
        if (by) by = wr_expr_fold(&b->p->ec, by);
        if (!by) return false;
        if (by->kind != WR_E_CONST || by->value.null || !wr_type_is_integer(by->type) || by->value.i < 0 || by->value.i > INT32_MAX)
            return pl_error(b->p, "22013", c->args.at[1]->at, "LAG goes back a constant whole number of rows that is not negative"), false;
        o->fn.offset = (uint64_t)by->value.i;
    }
    wr_type type = o->arg->type;
    if (c->args.n > 2) {
        if (!(o->fallback = pl_bind_expr(b, c->args.at[2]))) return false;
        if (!wr_type_same(wr_type_with_null(o->fallback->type, true), wr_type_with_null(type, true)) &&
            !(o->fallback = wr_expr_cast(&b->p->ec, o->fallback, wr_type_with_null(type, true), false, e->at)))
            return false;
    }
    o->fn.agg.type = wr_type_with_null(type, true);
    o->fn.agg.type.attr = WR_TIME_NONE;
    o->fn.agg.arg_type = o->fn.agg.type;
    return true;
}

static bool over_function(bind *b, const wr_ast_expr *e, const wr_ast_window *w, over_call *o) {
    const wr_ast_call *c = &e->call;
    wr_str             name = c->name.part[c->name.n - 1].text;
    static const char *const NEEDS_END[] = {"LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST", "NTH_VALUE"};
    for (size_t i = 0; i < WR_COUNT_OF(NEEDS_END); i++)
        if (name_is(c, NEEDS_END[i])) {
            pl_unsupported(b->p, e->at, i ? "it needs all rows of the partition, and a stream has no end" : "it needs the row that follows, and a stream has not seen it: LAG looks back",
                           "%s OVER", NEEDS_END[i]);
            return false;
        }
    if (name_is(c, "LAG")) return over_lag(b, e, o);
    if (!is_agg_name(b->p, &c->name)) {
        pl_error(b->p, "42809", e->at, "%.*s cannot be used with OVER: it is neither an aggregate nor a window function", WR_FMT(name));
        return false;
    }
    if (c->within_group.n) return pl_unsupported(b->p, e->at, NULL, "WITHIN GROUP of %.*s", WR_FMT(name)), false;
    agg_call call = {0};
    if (!agg_call_of(b, e, &call)) return false;
    o->fn = (wr_over_fn){.kind = WR_OVER_AGG, .agg = call.agg, .fallback = -1};
    o->arg = call.arg, o->arg2 = call.arg2, o->filter = call.filter;
    return over_frame(b, w, &o->fn.frame);
}

bool pl_can_order(pl *p, wr_type type, wr_span at) {
    bool ok = !wr_type_is_nested(type) && type.id != WR_T_BITMAP && type.id != WR_T_VARIANT;
    if (ok) return true;
    pl_error(p, "42804", at, "ORDER BY: values of the type %s have no order", wr_tid_name(type.id));
    wr_diags_hint(p->diags, "order by a part of it, or by its text: CAST(... AS STRING)");
    return false;
}

static bool over_sort(bind *b, const wr_ast_window *w, over_call *o) {
    o->n_keys = w->partition_by.n;
    o->n_order = w->order_by.n;
    o->keys = wr_new_n(b->p->arena, wr_expr *, o->n_keys);
    o->order = wr_new_n(b->p->arena, wr_expr *, o->n_order);
    o->sort = wr_new_n(b->p->arena, wr_sort_key, o->n_order);
    bool ok = true;
    for (uint32_t i = 0; i < o->n_keys; i++) ok &= (o->keys[i] = pl_bind_expr(b, w->partition_by.at[i])) != NULL;
    for (uint32_t i = 0; i < o->n_order; i++) {
        const wr_ast_order *k = &w->order_by.at[i];
        ok &= (o->order[i] = pl_bind_expr(b, k->expr)) != NULL && pl_can_order(b->p, o->order[i]->type, k->expr->at);
        o->sort[i] = (wr_sort_key){.desc = k->desc, .nulls_last = k->nulls < 0 ? k->desc : k->nulls == 1}; /* NULL is the least */
    }
    return ok;
}

static bool same_over(const over_call *a, const over_call *b) {
    if (a->is_rank || b->is_rank || a->fn.kind != b->fn.kind || a->n_keys != b->n_keys || a->fn.offset != b->fn.offset) return false;
    if (a->fn.agg.kind != b->fn.agg.kind || a->fn.agg.user != b->fn.agg.user || a->fn.agg.distinct != b->fn.agg.distinct || a->fn.frame.rows != b->fn.frame.rows ||
        a->fn.frame.unbounded != b->fn.frame.unbounded || a->fn.frame.preceding != b->fn.frame.preceding)
        return false;
    for (uint32_t i = 0; i < a->n_keys; i++)
        if (!wr_expr_equal(a->keys[i], b->keys[i])) return false;
    return a->n_order == 1 && b->n_order == 1 && wr_expr_equal(a->order[0], b->order[0]) && a->sort[0].desc == b->sort[0].desc && same_opt(a->arg, b->arg) &&
           same_opt(a->arg2, b->arg2) && same_opt(a->filter, b->filter) && same_opt(a->fallback, b->fallback);
}

static wr_expr *over(bind *b, const wr_ast_expr *e) {
    const wr_ast_call *c = &e->call;
    wr_str             name = c->name.part[c->name.n - 1].text;
    over_call          o = {.at = e->at, .is_rank = true};
    if (name_is(c, "ROW_NUMBER")) o.rank = WR_RANK_ROW_NUMBER;
    else if (name_is(c, "RANK")) o.rank = WR_RANK_RANK;
    else if (name_is(c, "DENSE_RANK")) o.rank = WR_RANK_DENSE_RANK;
    else o.is_rank = false;
    if (!b->agg || !b->agg->allow_over) {
        pl_error(b->p, "42P20", e->at, "%.*s() OVER is not allowed in %s", WR_FMT(name), b->clause);
        wr_diags_hint(b->p->diags, "put it into the SELECT list of a subquery and filter outside, or use QUALIFY");
        return NULL;
    }
    const wr_ast_window *w = over_window(b, c->over);
    if (!w) return NULL;
    b->agg->allow_over = false;
    bool ok = over_sort(b, w, &o) && (o.is_rank || over_function(b, e, w, &o));
    b->agg->allow_over = true;
    if (!ok) return NULL;
    if (!w->order_by.n) {
        pl_error(b->p, "42P20", w->at, "%.*s() needs an ORDER BY in its OVER clause", WR_FMT(name));
        if (!o.is_rank) wr_diags_hint(b->p->diags, "ORDER BY the event-time column: a stream gives a row its result when the watermark has passed it");
        return NULL;
    }
    for (uint32_t i = 0; i < b->agg->overs.n; i++)
        if (same_over(&b->agg->overs.at[i], &o)) return placeholder(b, PH_OVER, i, o.fn.agg.type, e->at);
    wr_arr_apush(b->p->arena, &b->agg->overs, o);
    return placeholder(b, PH_OVER, b->agg->overs.n - 1, o.is_rank ? wr_type_not_null(wr_type_of(WR_T_BIGINT)) : o.fn.agg.type, e->at);
}

/* TUMBLE_START(ts, ..) and its kin in a query with a legacy group window. */
static bool group_window_property(bind *b, const wr_ast_expr *e, wr_expr **out) {
    static const char *const KINDS[] = {"TUMBLE", "HOP", "SESSION"}, *const PROPS[] = {"_START", "_END", "_ROWTIME", "_PROCTIME"};
    const wr_ast_call *c = &e->call;
    if (c->name.n != 1) return false;
    wr_str n = c->name.part[0].text;
    for (uint32_t k = 0; k < 3; k++) {
        size_t len = strlen(KINDS[k]);
        if (n.len <= len || !wr_str_ieq((wr_str){n.ptr, len}, wr_str_of(KINDS[k]))) continue;
        for (uint32_t i = 0; i < 4; i++) {
            if (!wr_str_ieq((wr_str){n.ptr + len, n.len - len}, wr_str_of(PROPS[i]))) continue;
            *out = NULL;
            if (!b->agg || !b->agg->group_window)
                return pl_error(b->p, "42803", e->at, "%.*s needs GROUP BY %s(...) in the same query", WR_FMT(n), KINDS[k]), true;
            const wr_ast_call *g = &b->agg->group_window->call;
            wr_sbuf            a = {0}, d = {0};
            for (uint32_t j = 0; j < c->args.n; j++) wr_sql_expr_text(c->args.at[j], &a), wr_sbuf_addc(&a, ',');
            for (uint32_t j = 0; j < g->args.n; j++) wr_sql_expr_text(g->args.at[j], &d), wr_sbuf_addc(&d, ',');
            bool same = name_is(g, KINDS[k]) && wr_str_eq(wr_sbuf_str(&a), wr_sbuf_str(&d));
            wr_sbuf_free(&a);
            wr_sbuf_free(&d);
            if (!same) return pl_error(b->p, "42803", e->at, "%.*s must have the arguments of the %s in GROUP BY", WR_FMT(n), KINDS[k]), true;
            wr_type t = i < 2 ? wr_type_not_null(wr_type_prec(WR_T_TIMESTAMP, 3)) : b->agg->window_time_type;
            if (i > 1 && (i == 3) != (t.attr == WR_TIME_PROCTIME))
                return pl_error(b->p, "42803", e->at, "%.*s: the window is one of %s time", WR_FMT(n), i == 3 ? "event" : "processing"), true;
            *out = placeholder(b, PH_WINDOW, WR_MIN(i, 2u), t, e->at);
            return true;
        }
    }
    return false;
}

/* GROUPING(a, b): a bit an argument, 1 where the grouping at hand does not have it. */
static wr_expr *grouping(bind *b, const wr_ast_expr *e) {
    int64_t bits = 0;
    for (uint32_t i = 0; i < e->call.args.n; i++) {
        wr_expr *x = pl_bind_expr(b, e->call.args.at[i]);
        bool     key = false, absent = false;
        if (!x) return NULL;
        for (uint32_t k = 0; b->agg && k < b->agg->n_keys; k++) key |= wr_expr_equal(x, b->agg->keys[k]);
        for (uint32_t k = 0; b->agg && !key && k < b->agg->n_absent; k++) absent |= wr_expr_equal(x, b->agg->absent[k]);
        if (!key && !absent) return pl_error(b->p, "42803", e->call.args.at[i]->at, "GROUPING takes expressions of GROUP BY");
        bits = bits << 1 | absent;
    }
    return constant(b, wr_value_int(wr_type_not_null(wr_type_of(WR_T_BIGINT)), bits), e->at);
}

/* Clauses of the JSON functions become text arguments, in the order that expr/ takes them. */
static bool json_clauses(bind *b, const wr_ast_expr *e, wr_expr **args, uint32_t *n) {
    static const char *const ON[] = {"NULL", "NULL", "ERROR", "DEFAULT", "EMPTY ARRAY", "EMPTY OBJECT", "TRUE", "FALSE", "UNKNOWN", "ABSENT"};
    static const char *const WRAP[] = {"WITHOUT", "WITHOUT", "CONDITIONAL", "UNCONDITIONAL"};
    const wr_ast_json *j = e->call.json;
    const wr_ast_call *c = &e->call;
    if (name_is(c, "JSON_VALUE") && (j->on_empty || j->on_error)) {
        wr_expr *empty = j->empty_default ? pl_bind_expr(b, j->empty_default) : constant(b, wr_value_null(wr_type_string()), e->at);
        wr_expr *error = j->error_default ? pl_bind_expr(b, j->error_default) : constant(b, wr_value_null(wr_type_string()), e->at);
        if (!empty || !error) return false;
        args[(*n)++] = text_value(b, wr_str_of(ON[j->on_empty]), WR_T_CHAR, e->at);
        args[(*n)++] = empty;
        args[(*n)++] = text_value(b, wr_str_of(ON[j->on_error]), WR_T_CHAR, e->at);
        args[(*n)++] = error;
    } else if (name_is(c, "JSON_QUERY") && (j->on_empty || j->on_error || j->wrapper)) {
        args[(*n)++] = text_value(b, wr_str_of(WRAP[j->wrapper]), WR_T_CHAR, e->at);
        args[(*n)++] = text_value(b, wr_str_of(ON[j->on_empty]), WR_T_CHAR, e->at);
        args[(*n)++] = text_value(b, wr_str_of(ON[j->on_error]), WR_T_CHAR, e->at);
    } else if (name_is(c, "JSON_EXISTS") && j->on_error) {
        args[(*n)++] = text_value(b, wr_str_of(ON[j->on_error]), WR_T_CHAR, e->at);
    }
    return true;
}

static wr_expr *not_an_aggregate(bind *b, const wr_ast_expr *e, wr_str name) {
    return pl_error(b->p, "42809", e->at, "%.*s is not an aggregate: %s is for aggregates", WR_FMT(name), e->call.filter ? "FILTER" : "DISTINCT");
}

/* A scalar function of the user. */
static wr_expr *user_call(bind *b, const wr_ast_expr *e, const wr_udf *u) {
    const wr_ast_call *c = &e->call;
    wr_expr          **args = wr_new_n(b->p->arena, wr_expr *, c->args.n + 1);
    bool               ok = true;
    if (u->decl->kind == WEIR_TABLE) {
        pl_error(b->p, "42809", e->at, "%s is a table function: it gives rows, not a value", u->name);
        wr_diags_hint(b->p->diags, "FROM t, LATERAL TABLE(%s(...)) AS r(...)", u->name);
        return NULL;
    }
    if (c->filter || c->distinct) return not_an_aggregate(b, e, wr_str_of(u->name));
    for (uint32_t i = 0; i < c->args.n; i++) ok &= (args[i] = pl_bind_expr(b, c->args.at[i])) != NULL;
    return ok ? wr_udf_call(&b->p->ec, u, args, c->args.n, e->at) : NULL;
}

static wr_expr *call(bind *b, const wr_ast_expr *e) {
    const wr_ast_call *c = &e->call;
    wr_expr           *out;
    if (b->match && !c->over && pl_match_call(b, e, &out)) return out;
    const wr_udf *u = pl_user_function(b->p, &c->name);
    if (!u && !wr_catalog_has_core(b->p->ctx->catalog)) {
        pl_error(b->p, "42883", e->at, "function '%.*s' not found: module core is not loaded", WR_FMT(c->name.part[c->name.n - 1].text));
        wr_diags_hint(b->p->diags, "LOAD MODULE core");
        return NULL;
    }
    if (c->over) return over(b, e);
    if (pl_is_composed_agg(e)) return pl_bind_composed_agg(b, e);
    if (pl_is_agg_call(b->p, e)) return aggregate(b, e);
    if (u) return user_call(b, e, u);
    if (group_window_property(b, e, &out)) return out;
    wr_str name = c->name.part[c->name.n - 1].text;
    if (pl_is_broken(b->p, name)) return NULL;
    if (c->name.n > 1) return pl_unsupported(b->p, c->name.at, NULL, "function of another catalog or database ('%.*s')", WR_FMT(name));
    if (name_is(c, "TUMBLE") || name_is(c, "HOP") || name_is(c, "SESSION") || name_is(c, "CUMULATE")) {
        pl_error(b->p, "42803", e->at, "%.*s(...) is not a value: it stands in GROUP BY, or as TABLE(%.*s(TABLE t, DESCRIPTOR(ts), ...)) in FROM", WR_FMT(name), WR_FMT(name));
        return NULL;
    }
    if (name_is(c, "CURRENT_WATERMARK")) return pl_unsupported(b->p, e->at, "late rows are counted at every operator without it: see the ledger", "CURRENT_WATERMARK");
    if (name_is(c, "CURRENT_DATABASE") && !c->args.n) return text_value(b, wr_catalog_current(b->p->ctx->catalog)->database, WR_T_VARCHAR, e->at);
    if (name_is(c, "GROUP_ID") && b->agg && !c->args.n) return constant(b, wr_value_int(wr_type_not_null(wr_type_of(WR_T_BIGINT)), 0), e->at);
    if (name_is(c, "GROUPING") || name_is(c, "GROUPING_ID")) return grouping(b, e);
    if (name_is(c, "ROW_NUMBER") || name_is(c, "RANK") || name_is(c, "DENSE_RANK"))
        return pl_error(b->p, "42P20", e->at, "%.*s() needs OVER (PARTITION BY ... ORDER BY ...)", WR_FMT(name));
    if (c->filter || c->distinct) return not_an_aggregate(b, e, name);
    wr_expr **args = wr_new_n(b->p->arena, wr_expr *, c->args.n + 4);
    uint32_t  n = c->args.n;
    bool      ok = true;
    for (uint32_t i = 0; i < c->args.n; i++) ok &= (args[i] = pl_bind_expr(b, c->args.at[i])) != NULL;
    if (ok && c->json) ok = json_clauses(b, e, args, &n);
    if (!ok) {
        if (!wr_fn_exists(name)) wr_expr_call(&b->p->ec, name, args, 0, e->at); /* names the unknown function as well */
        return NULL;
    }
    if (c->json && name_is(c, "JSON_OBJECT") && c->json->on_null == WR_JSON_ON_ABSENT) name = WR_STR("JSON_OBJECT_ABSENT");
    if (c->json && name_is(c, "JSON_ARRAY") && c->json->on_null == WR_JSON_ON_NULL) name = WR_STR("JSON_ARRAY_NULLS");
    out = wr_expr_call(&b->p->ec, name, args, n, e->at);
    if (out && c->json && c->json->returning) {
        wr_type t;
        if (!wr_catalog_type(b->p->arena, c->json->returning, b->p->diags, &t)) return NULL;
        if (name_is(c, "JSON_QUERY") && t.id == WR_T_ARRAY) out = pl_call(b->p, "JSON_STRINGS", e->at, 1, out);
        out = wr_expr_cast(&b->p->ec, out, t, true, e->at);
    }
    return out;
}

/* ---- operators ---- */

static wr_expr *negate_if(bind *b, wr_expr *e, bool negated) { return e && negated ? pl_call(b->p, "NOT", e->at, 1, e) : e; }

static wr_expr *unary(bind *b, const wr_ast_expr *e) {
    wr_expr *x = pl_bind_expr(b, e->unary.arg);
    if (!x || e->unary.op == WR_AST_PLUS) return x;
    if (e->unary.op == WR_AST_NOT) return pl_call(b->p, "NOT", e->at, 1, x);
    if (x->kind == WR_E_CONST && !x->value.null && wr_type_is_integer(x->type)) {
        if (x->type.id == WR_T_BIGINT && x->value.i == INT64_C(2147483648)) x->type.id = WR_T_INT, x->value.type = x->type;
        x->value.i = -x->value.i;
        return x;
    }
    if (x->kind == WR_E_CONST && !x->value.null && x->type.id == WR_T_DECIMAL) return x->value.d = -x->value.d, x;
    if (x->kind == WR_E_CONST && !x->value.null && x->type.id == WR_T_DOUBLE) return x->value.f = -x->value.f, x;
    return pl_call(b->p, "NEGATE", e->at, 1, x);
}

static wr_expr *logic(bind *b, const wr_ast_expr *e) {
    wr_expr **args = wr_new_n(b->p->arena, wr_expr *, e->logic.args.n);
    bool      ok = true;
    for (uint32_t i = 0; i < e->logic.args.n; i++) ok &= (args[i] = pl_bind_expr(b, e->logic.args.at[i])) != NULL;
    return ok ? wr_expr_call(&b->p->ec, wr_str_of(wr_ast_op_text(e->logic.op)), args, e->logic.args.n, e->at) : NULL;
}

static wr_expr *in_list(bind *b, const wr_ast_expr *e) {
    if (e->in.query)
        return pl_unsupported(b->p, e->at, "write it as a condition of its own, joined by AND, in WHERE", "IN (SELECT ...) in this place");
    wr_expr **args = wr_new_n(b->p->arena, wr_expr *, e->in.list.n + 1);
    bool      ok = (args[0] = pl_bind_expr(b, e->in.arg)) != NULL;
    for (uint32_t i = 0; i < e->in.list.n; i++) ok &= (args[i + 1] = pl_bind_expr(b, e->in.list.at[i])) != NULL;
    return ok ? negate_if(b, wr_expr_call(&b->p->ec, WR_STR("IN"), args, e->in.list.n + 1, e->at), e->in.negated) : NULL;
}

static wr_expr *between(bind *b, const wr_ast_expr *e) {
    wr_expr *x = pl_bind_expr(b, e->between.arg), *low = pl_bind_expr(b, e->between.low), *high = pl_bind_expr(b, e->between.high);
    return negate_if(b, pl_call(b->p, e->between.symmetric ? "BETWEEN_SYMMETRIC" : "BETWEEN", e->at, 3, x, low, high), e->between.negated);
}

static wr_expr *like(bind *b, const wr_ast_expr *e) {
    static const char *const NAMES[] = {"LIKE", "SIMILAR", "ILIKE"};
    wr_expr *x = pl_bind_expr(b, e->like.arg), *pattern = pl_bind_expr(b, e->like.pattern), *r;
    if (e->like.escape) r = pl_call(b->p, NAMES[e->like.kind], e->at, 3, x, pattern, pl_bind_expr(b, e->like.escape));
    else r = pl_call(b->p, NAMES[e->like.kind], e->at, 2, x, pattern);
    return negate_if(b, r, e->like.negated);
}

static wr_expr *is(bind *b, const wr_ast_expr *e) {
    static const char *const YES[] = {"IS_NULL", "IS_TRUE", "IS_FALSE", "IS_UNKNOWN", "IS_DISTINCT"};
    static const char *const NO[] = {"IS_NOT_NULL", "IS_NOT_TRUE", "IS_NOT_FALSE", "IS_NOT_UNKNOWN", "IS_NOT_DISTINCT"};
    static const char *const JSON[] = {"VALUE", "OBJECT", "ARRAY", "SCALAR"};
    if (e->is.what == WR_IS_JSON)
        return negate_if(b, pl_call(b->p, "IS_JSON", e->at, 2, pl_bind_expr(b, e->is.arg), text_value(b, wr_str_of(JSON[e->is.json]), WR_T_CHAR, e->at)), e->is.negated);
    const char *name = (e->is.negated ? NO : YES)[e->is.what];
    wr_expr    *x = pl_bind_expr(b, e->is.arg);
    return e->is.what == WR_IS_DISTINCT ? pl_call(b->p, name, e->at, 2, x, pl_bind_expr(b, e->is.other)) : pl_call(b->p, name, e->at, 1, x);
}

static wr_expr *cases(bind *b, const wr_ast_expr *e) {
    uint32_t  n = e->cases.whens.n * 2 + 1;
    wr_expr **args = wr_new_n(b->p->arena, wr_expr *, n);
    bool      ok = true;
    for (uint32_t i = 0; i < e->cases.whens.n; i++) {
        wr_expr *when = pl_bind_expr(b, e->cases.whens.at[i].when);
        if (e->cases.arg && when) when = pl_call(b->p, "=", e->cases.whens.at[i].when->at, 2, pl_bind_expr(b, e->cases.arg), when);
        args[2 * i] = when;
        args[2 * i + 1] = pl_bind_expr(b, e->cases.whens.at[i].then);
        ok &= when != NULL && args[2 * i + 1] != NULL;
    }
    args[n - 1] = e->cases.otherwise ? pl_bind_expr(b, e->cases.otherwise) : constant(b, wr_value_null(wr_type_of(WR_T_NULL)), e->at);
    return ok && args[n - 1] ? wr_expr_call(&b->p->ec, WR_STR("CASE"), args, n, e->at) : NULL;
}

static wr_expr *cast(bind *b, const wr_ast_expr *e) {
    wr_expr *x = pl_bind_expr(b, e->cast.arg);
    wr_type  t;
    if (!wr_catalog_type(b->p->arena, e->cast.type, b->p->diags, &t) || !x) return NULL;
    t.nullable = x->type.nullable || e->cast.is_try;
    return wr_expr_cast(&b->p->ec, x, t, e->cast.is_try, e->at);
}

static wr_expr *construct(bind *b, const wr_ast_expr *e) {
    const char *name = e->kind == WR_AST_ROW ? "ROW" : e->kind == WR_AST_ARRAY ? "ARRAY" : "MAP";
    wr_expr   **args = wr_new_n(b->p->arena, wr_expr *, e->row.args.n);
    bool        ok = true;
    for (uint32_t i = 0; i < e->row.args.n; i++) ok &= (args[i] = pl_bind_expr(b, e->row.args.at[i])) != NULL;
    return ok ? wr_expr_call(&b->p->ec, wr_str_of(name), args, e->row.args.n, e->at) : NULL;
}

static wr_expr *overlaps(bind *b, const wr_ast_expr *e) {
    const wr_ast_expr *l = e->binary.left, *r = e->binary.right;
    if (l->kind != WR_AST_ROW || r->kind != WR_AST_ROW || l->row.args.n != 2 || r->row.args.n != 2)
        return pl_error(b->p, "42601", e->binary.op_at, "OVERLAPS takes (start, end) on both sides");
    return pl_call(b->p, "OVERLAPS", e->at, 4, pl_bind_expr(b, l->row.args.at[0]), pl_bind_expr(b, l->row.args.at[1]), pl_bind_expr(b, r->row.args.at[0]),
                   pl_bind_expr(b, r->row.args.at[1]));
}

wr_expr *pl_bind_expr(bind *b, const wr_ast_expr *e) {
    static const char *const NAMES[WR_AST_DEFAULT + 1] = {[WR_AST_QUANTIFIED] = "ANY / ALL with a subquery",
        [WR_AST_COLLECT] = "ARRAY, MAP or MULTISET of a query", [WR_AST_DEFAULT] = "DEFAULT as an argument", [WR_AST_NAMED_ARG] = "a named argument of a scalar function",
        [WR_AST_DESCRIPTOR] = "DESCRIPTOR outside a window function", [WR_AST_TABLE_ARG] = "a table argument outside a table function"};
    switch (e->kind) {
    case WR_AST_LITERAL: return literal(b, e);
    case WR_AST_COLUMN: return column(b, e);
    case WR_AST_STAR: return pl_error(b->p, "42601", e->at, "* is not allowed here");
    case WR_AST_CALL: return call(b, e);
    case WR_AST_UNARY: return unary(b, e);
    case WR_AST_BINARY:
        if (e->binary.op == WR_AST_OVERLAPS) return overlaps(b, e);
        return pl_call(b->p, wr_ast_op_text(e->binary.op), e->at, 2, pl_bind_expr(b, e->binary.left), pl_bind_expr(b, e->binary.right));
    case WR_AST_LOGIC: return logic(b, e);
    case WR_AST_BETWEEN: return between(b, e);
    case WR_AST_IN: return in_list(b, e);
    case WR_AST_EXISTS:
        return pl_unsupported(b->p, e->at, "write it as a condition of its own, joined by AND, in WHERE", "EXISTS in this place");
    case WR_AST_LIKE: return like(b, e);
    case WR_AST_IS: return is(b, e);
    case WR_AST_CASE: return cases(b, e);
    case WR_AST_CAST: return cast(b, e);
    case WR_AST_ROW:
    case WR_AST_ARRAY:
    case WR_AST_MAP: return construct(b, e);
    case WR_AST_INDEX: return pl_call(b->p, "ITEM", e->at, 2, pl_bind_expr(b, e->index.arg), pl_bind_expr(b, e->index.index));
    case WR_AST_FIELD: return field_access(b, pl_bind_expr(b, e->field.arg), e->field.name, e->at);
    case WR_AST_SYMBOL: return symbol(b, e);
    case WR_AST_SUBQUERY:
        for (uint32_t i = b->p->scalars.n; i-- > 0;) /* the newest: a view that is used twice is bound twice */
            if (b->p->scalars.at[i].ast == e) return b->p->scalars.at[i].expr;
        return pl_unsupported(b->p, e->at, "it may stand in SELECT, WHERE and HAVING; else join with the subquery", "a scalar subquery in %s", b->clause);
    default: return pl_unsupported(b->p, e->at, NULL, "%s", NAMES[e->kind] ? NAMES[e->kind] : "this expression");
    }
}

wr_expr *pl_bind_condition(bind *b, const wr_ast_expr *ast) {
    wr_expr *e = pl_bind_expr(b, ast);
    if (!e || e->type.id == WR_T_BOOLEAN) return e;
    if (e->type.id == WR_T_NULL) return wr_expr_cast(&b->p->ec, e, wr_type_of(WR_T_BOOLEAN), false, e->at);
    wr_sbuf t = {0};
    wr_type_text(e->type, &t);
    pl_error(b->p, "42804", ast->at, "%s must be a BOOLEAN, but this is %.*s", b->clause, WR_FMT(wr_sbuf_str(&t)));
    wr_sbuf_free(&t);
    return NULL;
}

bool pl_interval_const(pl *p, const wr_expr *e, int64_t *us) {
    (void)p;
    if (e->kind != WR_E_CONST || e->value.null || e->type.id != WR_T_INTERVAL_DS) return false;
    *us = e->value.i;
    return true;
}

bool pl_const_interval(bind *b, const wr_ast_expr *ast, const char *what, int64_t *us) {
    wr_expr *e = pl_bind_expr(b, ast);
    if (!e) return false;
    e = wr_expr_fold(&b->p->ec, e);
    if (pl_interval_const(b->p, e, us)) return true;
    if (e->type.id == WR_T_INTERVAL_YM) {
        pl_error(b->p, "0A000", ast->at, "%s must be an interval of days to seconds: a month or a year has no fixed length", what);
    } else {
        pl_error(b->p, "42804", ast->at, "%s must be an INTERVAL literal such as INTERVAL '10' SECOND", what);
    }
    return false;
}
