/* plan/bind_lateral.c: what stands right of a join and reads the left row: UNNEST -> logical nodes.
 *
 * Idea       UNNEST of a column is one node over the left side, not a join: its columns come behind the left ones. An expression is first
 *            computed as a column, which a calc above takes away again.
 * Invariant  NULL means that a diagnostic was given.                                                                  */
#include "plan/logical.h"

lnode *pl_one_row(pl *p, wr_span at) {
    lnode *n = pl_node(p, L_VALUES, at, 0, NULL, NULL);
    n->values.n_rows = 1;
    n->values.rows = wr_new(p->arena, wr_value);
    n->values.rows[0] = (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_BOOLEAN)), .b = true};
    wr_field *f = wr_new(p->arena, wr_field);
    *f = (wr_field){WR_STR("one"), n->values.rows[0].type};
    n->schema = (wr_schema){1, f};
    n->label = WR_STR("one row");
    return n;
}

/* The columns that an element gives, named as in Flink; the alias is the name of a single one. */
static uint32_t element_fields(pl *p, wr_type list, const wr_ast_ref *ref, bool outer, wr_field **out) {
    wr_type   e = list.kids[0];
    uint32_t  n = list.id == WR_T_MAP ? 2 : e.id == WR_T_ROW ? e.n_kids : 1;
    wr_field *f = *out = wr_new_n(p->arena, wr_field, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (list.id == WR_T_MAP) f[i] = (wr_field){i ? WR_STR("VALUE") : WR_STR("KEY"), list.kids[i]};
        else if (e.id == WR_T_ROW) f[i] = (wr_field){e.names[i], e.kids[i]}, f[i].type.nullable |= e.nullable;
        else f[i] = (wr_field){ref->alias.text.len && !ref->with_ordinality ? ref->alias.text : WR_STR("EXPR$0"), e};
        f[i].type.nullable |= outer;
    }
    if (ref->with_ordinality) f[n++] = (wr_field){WR_STR("ORDINALITY"), wr_type_with_null(wr_type_of(WR_T_INT), outer)};
    if (ref->columns.n == n)
        for (uint32_t i = 0; i < n; i++) f[i].name = ref->columns.at[i].text;
    return n;
}

static lnode *unnest_node(pl *p, lnode *in, uint32_t col, const wr_ast_ref *ref, bool outer) {
    wr_field *extra;
    uint32_t  n = in->schema.n, more = element_fields(p, in->schema.fields[col].type, ref, outer, &extra);
    if (ref->columns.n && ref->columns.n != more)
        return pl_error(p, "42601", ref->columns.at[0].at, "%u column names are given, but UNNEST gives %u column%s", ref->columns.n, more, more == 1 ? "" : "s");
    lnode    *u = pl_node(p, L_UNNEST, ref->at, 1, in, NULL);
    wr_field *f = wr_new_n(p->arena, wr_field, n + more);
    u->unnest.col = col;
    u->unnest.outer = outer;
    u->unnest.ordinality = ref->with_ordinality;
    u->unnest.n_pass = n;
    u->unnest.pass = wr_new_n(p->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) u->unnest.pass[i] = i, f[i] = in->schema.fields[i];
    for (uint32_t i = 0; i < more; i++) f[n + i] = extra[i];
    u->schema = (wr_schema){n + more, f};
    u->label = in->label;
    return u;
}

/* Everything of n but column `gone`. */
static lnode *without(pl *p, lnode *n, uint32_t gone, wr_span at) {
    wr_expr **all = pl_identity(p, n);
    wr_str   *names = pl_names(p, n);
    for (uint32_t i = gone; i + 1 < n->schema.n; i++) all[i] = all[i + 1], names[i] = names[i + 1];
    return pl_calc(p, n, NULL, all, names, n->schema.n - 1, at);
}

lnode *pl_bind_unnest(pl *p, lnode *left, scope *l, const wr_ast_ref *ref, pcte *ctes, bool outer, scope *sc) {
    bind     b = {.p = p, .sc = l, .clause = "UNNEST", .ctes = ctes};
    uint32_t n = left->schema.n;
    if (ref->unnest.n != 1) return pl_unsupported(p, ref->at, "UNNEST them one after the other", "UNNEST of several collections");
    wr_expr *e = pl_bind_expr(&b, ref->unnest.at[0]);
    if (!e) return NULL;
    if (e->type.id != WR_T_ARRAY && e->type.id != WR_T_MULTISET && e->type.id != WR_T_MAP) {
        wr_sbuf t = {0};
        wr_type_text(e->type, &t);
        pl_error(p, "42804", e->at, "UNNEST takes an ARRAY, MULTISET or MAP, not %.*s", WR_FMT(wr_sbuf_str(&t)));
        wr_sbuf_free(&t);
        return NULL;
    }
    bool   computed = e->kind != WR_E_COL;
    lnode *in = left;
    if (computed) {
        wr_expr **all = wr_new_n(p->arena, wr_expr *, n + 1);
        wr_str   *names = wr_new_n(p->arena, wr_str, n + 1);
        wr_sbuf   text = {0};
        for (uint32_t i = 0; i < n; i++) all[i] = pl_col(p, left, i, ref->at), names[i] = left->schema.fields[i].name;
        wr_expr_text(e, &left->schema, &text);
        all[n] = e;
        names[n] = pl_printf(p, "%.*s", (int)WR_MIN(text.len, 60u), text.at);
        wr_sbuf_free(&text);
        in = pl_calc(p, left, NULL, all, names, n + 1, ref->at);
    }
    lnode *u = unnest_node(p, in, computed ? n : e->col, ref, outer);
    if (!u) return NULL;
    if (computed) u = without(p, u, n, ref->at);
    lnode *mine = wr_new(p->arena, lnode); /* its own columns, for the scope */
    *mine = *u;
    mine->schema = (wr_schema){u->schema.n - n, u->schema.fields + n};
    scope r = {0};
    pl_add_rel(p, &r, ref->alias.text.ptr ? ref->alias.text : WR_STR(""), mine);
    scope first = *l;
    first.n = n; /* SELECT without a left side: its one column is nobody's */
    *sc = pl_merge_scopes(p, &first, &r);
    for (uint32_t i = 0; i < l->rels.n; i++) sc->rels.at[i].fields = u->schema.fields + sc->rels.at[i].first;
    return u;
}
