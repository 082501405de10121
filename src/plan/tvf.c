/* plan/tvf.c: TUMBLE, HOP, CUMULATE, SESSION: as table functions and, in their old form, in GROUP BY.
 *
 * Idea       both forms give a wr_window; the table function becomes a TVF node that adds window_start, window_end, window_time.
 * Invariant  the offset is the last argument and the size comes after the slide or step, as in Flink.                  */
#include "plan/logical.h"

typedef struct spec { const char *name; wr_window_kind kind; uint32_t n; const char *args[3]; } spec; /* interval arguments, without OFFSET */
static const spec SPECS[] = {
    {"TUMBLE", WR_WINDOW_TUMBLE, 1, {"SIZE"}},
    {"HOP", WR_WINDOW_HOP, 2, {"SLIDE", "SIZE"}},
    {"CUMULATE", WR_WINDOW_CUMULATE, 2, {"STEP", "SIZE"}},
    {"SESSION", WR_WINDOW_SESSION, 1, {"GAP"}},
};

static const spec *find_spec(wr_str name) {
    for (size_t i = 0; i < WR_COUNT_OF(SPECS); i++)
        if (wr_str_ieq(name, wr_str_of(SPECS[i].name))) return &SPECS[i];
    return NULL;
}

static bool finish_window(pl *p, const spec *s, wr_span at, const int64_t *v, int64_t offset, wr_window *out) {
    *out = (wr_window){.kind = s->kind, .offset_us = offset};
    out->size_us = s->n == 2 ? v[1] : v[0];
    out->slide_us = v[0];
    for (uint32_t i = 0; i < s->n; i++)
        if (v[i] <= 0) return pl_error(p, "22023", at, "%s: the %s must be more than zero", s->name, s->args[i]), false;
    for (uint32_t i = 0; i < s->n; i++)
        if (v[i] % 1000) return pl_error(p, "22023", at, "%s: the %s must be whole milliseconds", s->name, s->args[i]), false;
    if (s->n == 2 && v[1] % v[0]) {
        wr_sbuf size = {0}, slide = {0};
        wr_text_duration(v[1], &size);
        wr_text_duration(v[0], &slide);
        pl_error(p, "22023", at, "%s: the size (%.*s) must be a multiple of the %s (%.*s)", s->name, WR_FMT(wr_sbuf_str(&size)),
                 s->kind == WR_WINDOW_HOP ? "slide" : "step", WR_FMT(wr_sbuf_str(&slide)));
        wr_diags_hint(p->diags, "the %s comes first: %s(TABLE t, DESCRIPTOR(ts), %s, SIZE)", s->kind == WR_WINDOW_HOP ? "slide" : "step", s->name, s->args[0]);
        wr_sbuf_free(&size);
        wr_sbuf_free(&slide);
        return false;
    }
    return true;
}

static bool check_time(pl *p, const char *fn, const wr_field *f, wr_span at) {
    if (f->type.attr != WR_TIME_NONE) return true;
    wr_sbuf t = {0};
    wr_type_text(f->type, &t);
    pl_error(p, "42804", at, "%s needs an event-time column, but '%.*s' is a plain %.*s", fn, WR_FMT(f->name), WR_FMT(wr_sbuf_str(&t)));
    wr_diags_hint(p->diags, "declare WATERMARK FOR %.*s AS ... on the table; an expression, a GROUP BY or a regular join makes a time column plain", WR_FMT(f->name));
    wr_sbuf_free(&t);
    return false;
}

typedef struct tvf_args { const wr_ast_expr *table, *time, *v[3], *offset; } tvf_args;

static bool sort_args(pl *p, const wr_ast_call *c, const spec *s, wr_span at, tvf_args *out) {
    uint32_t pos = 0;
    for (uint32_t i = 0; i < c->args.n; i++) {
        const wr_ast_expr *a = c->args.at[i], **slot = NULL;
        if (a->kind == WR_AST_NAMED_ARG) {
            wr_str n = a->named.name.text;
            if (wr_str_ieq(n, WR_STR("DATA"))) slot = &out->table;
            else if (wr_str_ieq(n, WR_STR("TIMECOL"))) slot = &out->time;
            else if (wr_str_ieq(n, WR_STR("OFFSET"))) slot = &out->offset;
            for (uint32_t k = 0; k < s->n && !slot; k++)
                if (wr_str_ieq(n, wr_str_of(s->args[k]))) slot = &out->v[k];
            if (!slot) return pl_error(p, "42883", a->at, "%s has no argument '%.*s'", s->name, WR_FMT(n)), false;
            a = a->named.value;
        } else {
            slot = pos == 0 ? &out->table : pos == 1 ? &out->time : pos - 2 < s->n ? &out->v[pos - 2] : pos - 2 == s->n ? &out->offset : NULL;
            pos++;
        }
        if (!slot || *slot || (slot == &out->offset && s->kind == WR_WINDOW_SESSION)) goto wrong;
        *slot = a;
    }
    bool all = out->table && out->time;
    for (uint32_t k = 0; k < s->n; k++) all &= out->v[k] != NULL;
    if (all) return true;
wrong:
    pl_error(p, "42883", at, "wrong arguments for %s", s->name);
    wr_diags_hint(p->diags, "%s(TABLE t%s, DESCRIPTOR(ts), %s%s%s%s)", s->name, s->kind == WR_WINDOW_SESSION ? " [PARTITION BY k]" : "", s->args[0],
                  s->n == 2 ? ", " : "", s->n == 2 ? s->args[1] : "", s->kind == WR_WINDOW_SESSION ? "" : "[, OFFSET]");
    return false;
}

static bool intervals(bind *b, const spec *s, wr_span at, const tvf_args *a, wr_window *out) {
    int64_t v[3] = {0}, offset = 0;
    bool    ok = true;
    for (uint32_t i = 0; i < s->n; i++) ok &= pl_const_interval(b, a->v[i], s->args[i], &v[i]);
    if (a->offset) ok &= pl_const_interval(b, a->offset, "the offset", &offset);
    return ok && finish_window(b->p, s, at, v, offset, out);
}

static wr_str free_name(pl *p, const lnode *in, const char *name) {
    wr_str n = wr_str_of(name);
    while (wr_schema_find(&in->schema, n) >= 0) n = pl_printf(p, "%.*s0", WR_FMT(n)); /* as Flink: window_start0 */
    return n;
}

static lnode *tvf_node(pl *p, lnode *in, const spec *s, wr_window window, wr_span at) {
    lnode   *t = pl_node(p, L_TVF, at, 1, in, NULL);
    uint32_t n = in->schema.n;
    wr_field *f = wr_new_n(p->arena, wr_field, n + 3);
    for (uint32_t i = 0; i < n; i++) {
        f[i] = in->schema.fields[i];
        if (f[i].type.attr == WR_TIME_ROWTIME) f[i].type.attr = WR_TIME_NONE;
    }
    wr_type bound = wr_type_not_null(wr_type_prec(WR_T_TIMESTAMP, 3)), time = wr_type_not_null(in->schema.fields[window.time_col].type);
    time.prec = 3;
    f[n] = (wr_field){free_name(p, in, "window_start"), bound};
    f[n + 1] = (wr_field){free_name(p, in, "window_end"), bound};
    f[n + 2] = (wr_field){free_name(p, in, "window_time"), time};
    f[n + 2].type.attr = window.proctime ? WR_TIME_PROCTIME : WR_TIME_ROWTIME;
    t->schema = (wr_schema){n + 3, f};
    t->tvf.window = window;
    t->tvf.name = s->name;
    t->label = in->label;
    return t;
}

lnode *pl_bind_tvf(pl *p, const wr_ast_ref *ref, pcte *ctes) {
    const wr_ast_call *c = &ref->call->call;
    if (pl_is_changelog(c)) return pl_bind_changelog(p, ref, ctes);
    if (pl_is_assign(c)) return pl_bind_assign(p, ref, ctes);
    const spec        *s = c->name.n == 1 ? find_spec(c->name.part[0].text) : NULL;
    if (!s) {
        wr_sbuf name = {0};
        if (pl_is_broken(p, c->name.part[c->name.n - 1].text)) return NULL;
        wr_sql_name_text(c->name, &name);
        pl_unsupported(p, ref->call->at, "there are TUMBLE, HOP, CUMULATE and SESSION for windows, and ASSIGN; CREATE FUNCTION makes others", "table function %.*s", WR_FMT(wr_sbuf_str(&name)));
        wr_sbuf_free(&name);
        return NULL;
    }
    tvf_args a = {0};
    if (!sort_args(p, c, s, ref->call->at, &a)) return NULL;
    if (a.table->kind == WR_AST_SUBQUERY) { /* TUMBLE((SELECT ...), ...) */
        wr_ast_ref  *sub = wr_new(p->arena, wr_ast_ref);
        wr_ast_expr *arg = wr_new(p->arena, wr_ast_expr);
        *sub = (wr_ast_ref){.kind = WR_AST_REF_QUERY, .at = a.table->at};
        sub->derived.query = a.table->query;
        *arg = (wr_ast_expr){.kind = WR_AST_TABLE_ARG, .at = a.table->at};
        arg->table_arg.ref = sub;
        a.table = arg;
    }
    if (a.table->kind != WR_AST_TABLE_ARG || a.time->kind != WR_AST_DESCRIPTOR)
        return pl_error(p, "42883", ref->call->at, "%s: the first argument is TABLE t or a subquery, the second DESCRIPTOR(time column)", s->name);
    scope  sc = {0};
    lnode *in = pl_bind_ref(p, a.table->table_arg.ref, ctes, &sc);
    if (!in) return NULL;
    bind      b = {.p = p, .sc = &sc, .clause = "a window function", .ctes = ctes};
    wr_window w;
    if (!intervals(&b, s, ref->call->at, &a, &w)) return NULL;
    if (a.time->descriptor.columns.n != 1) return pl_error(p, "42883", a.time->at, "%s: DESCRIPTOR takes one column, the event time", s->name);
    uint32_t used;
    wr_type  type;
    int      col = pl_resolve_column(&b, &a.time->descriptor.columns.at[0], &used, &type, true);
    if (col < 0 || !check_time(p, s->name, &in->schema.fields[col], a.time->at)) return NULL;
    w.time_col = (uint32_t)col;
    w.ltz = type.id == WR_T_TIMESTAMP_LTZ;
    w.proctime = in->schema.fields[col].type.attr == WR_TIME_PROCTIME;
    lnode *t = tvf_node(p, in, s, w, ref->call->at);
    t->tvf.n_part = a.table->table_arg.partition_by.n;
    t->tvf.part = wr_new_n(p->arena, uint32_t, t->tvf.n_part);
    if (t->tvf.n_part && s->kind != WR_WINDOW_SESSION)
        return pl_error(p, "42883", a.table->at, "%s takes no PARTITION BY: group by the columns instead", s->name);
    for (uint32_t i = 0; i < t->tvf.n_part; i++) {
        wr_expr *e = pl_bind_expr(&b, a.table->table_arg.partition_by.at[i]);
        if (!e) return NULL;
        if (e->kind != WR_E_COL) return pl_error(p, "42883", e->at, "PARTITION BY of SESSION takes columns");
        t->tvf.part[i] = e->col;
    }
    return t;
}

bool pl_group_window(bind *b, const wr_ast_expr *e, wr_window *out, wr_type *time_type, wr_expr **time) {
    const spec *s = find_spec(e->call.name.part[0].text);
    if (e->call.args.n < 1 + s->n || e->call.args.n > 2 + s->n) {
        pl_error(b->p, "42883", e->at, "wrong number of arguments for %s", s->name);
        wr_diags_hint(b->p->diags, "%s(ts, %s%s%s)", s->name, s->args[0], s->n == 2 ? ", " : "", s->n == 2 ? s->args[1] : "");
        return false;
    }
    tvf_args a = {0};
    for (uint32_t i = 0; i < s->n; i++) a.v[i] = e->call.args.at[1 + i];
    if (e->call.args.n == 2 + s->n) a.offset = e->call.args.at[1 + s->n];
    *time = pl_bind_expr(b, e->call.args.at[0]);
    if (!*time || !intervals(b, s, e->at, &a, out)) return false;
    wr_field f = {WR_STR("the first argument"), (*time)->type};
    if ((*time)->kind != WR_E_COL) f.type.attr = WR_TIME_NONE;
    if (!check_time(b->p, s->name, &f, e->call.args.at[0]->at)) return false;
    out->ltz = (*time)->type.id == WR_T_TIMESTAMP_LTZ;
    out->proctime = f.type.attr == WR_TIME_PROCTIME;
    *time_type = wr_type_not_null((*time)->type);
    time_type->prec = 3;
    time_type->attr = out->proctime ? WR_TIME_PROCTIME : WR_TIME_ROWTIME;
    return true;
}
