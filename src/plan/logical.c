/* plan/logical.c: making and asking logical nodes and bound expressions.
 *
 * Idea       small helpers that every pass needs; nothing here knows a rule of SQL.
 * Memory     the arena of the plan.                                                                                  */
#include "plan/logical.h"
#include <stdarg.h>
#include <stdio.h>

lnode *pl_node(pl *p, lkind kind, wr_span at, uint32_t n_in, lnode *a, lnode *b) {
    lnode *n = wr_new(p->arena, lnode);
    n->kind = kind;
    n->at = at;
    n->n_in = n_in;
    n->in = wr_new_n(p->arena, lnode *, WR_MAX(n_in, 1u));
    if (n_in > 0) n->in[0] = a;
    if (n_in > 1) n->in[1] = b;
    return n;
}

wr_expr *pl_col(pl *p, const lnode *in, uint32_t col, wr_span at) {
    wr_assert(col < in->schema.n);
    return wr_expr_col(p->arena, col, in->schema.fields[col].type, at);
}

wr_expr **pl_identity(pl *p, const lnode *in) {
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, in->schema.n);
    for (uint32_t i = 0; i < in->schema.n; i++) exprs[i] = pl_col(p, in, i, in->at);
    return exprs;
}

wr_str *pl_names(pl *p, const lnode *in) {
    wr_str *names = wr_new_n(p->arena, wr_str, in->schema.n);
    for (uint32_t i = 0; i < in->schema.n; i++) names[i] = in->schema.fields[i].name;
    return names;
}

lnode *pl_calc(pl *p, lnode *in, wr_expr *filter, wr_expr **exprs, const wr_str *names, uint32_t n, wr_span at) {
    lnode *c = pl_node(p, L_CALC, at, 1, in, NULL);
    c->calc.filter = filter;
    c->calc.exprs = exprs;
    c->label = in->label;
    wr_field *fields = wr_new_n(p->arena, wr_field, n);
    for (uint32_t i = 0; i < n; i++) {
        fields[i] = (wr_field){names[i], exprs[i]->type};
        /* a rowtime lives on only as the bare column; PROCTIME() makes its attribute itself */
        if (exprs[i]->kind != WR_E_COL && !wr_expr_is_call(exprs[i], "PROCTIME")) fields[i].type.attr = WR_TIME_NONE;
    }
    c->schema = (wr_schema){n, fields};
    return c;
}

lnode *pl_filter(pl *p, lnode *in, wr_expr *filter, wr_span at) {
    if (!filter) return in;
    wr_expr **exprs = pl_identity(p, in), **parts;
    uint32_t  n;
    wr_expr_conjuncts(p->arena, filter, &parts, &n);
    for (uint32_t i = 0; i < n; i++) /* what passes x IS NOT NULL is not NULL */
        if (wr_expr_is_call(parts[i], "IS_NOT_NULL") && parts[i]->args[0]->kind == WR_E_COL) exprs[parts[i]->args[0]->col]->type.nullable = 0;
    return pl_calc(p, in, filter, exprs, pl_names(p, in), in->schema.n, at);
}

static wr_schema concat(pl *p, const lnode *l, const lnode *r) {
    wr_field *fields = wr_new_n(p->arena, wr_field, l->schema.n + r->schema.n);
    if (l->schema.n) memcpy(fields, l->schema.fields, sizeof *fields * l->schema.n);
    if (r->schema.n) memcpy(fields + l->schema.n, r->schema.fields, sizeof *fields * r->schema.n);
    return (wr_schema){l->schema.n + r->schema.n, fields};
}

lnode *pl_join(pl *p, lnode *left, lnode *right, wr_join_kind kind, wr_expr *cond, wr_span at) {
    lnode *j = pl_node(p, L_JOIN, at, 2, left, right);
    j->join.kind = kind;
    j->join.cond = cond;
    j->join.ttl_us[0] = j->join.ttl_us[1] = -1;
    j->join.op_at = at;
    if (kind == WR_JOIN_SEMI || kind == WR_JOIN_ANTI) {
        j->schema = left->schema;
        return j;
    }
    j->schema = concat(p, left, right);
    wr_field *fields = (wr_field *)(uintptr_t)j->schema.fields; /* just made above */
    for (uint32_t i = 0; i < j->schema.n; i++) {
        bool is_left = i < left->schema.n;
        if (is_left ? kind == WR_JOIN_RIGHT || kind == WR_JOIN_FULL : kind == WR_JOIN_LEFT || kind == WR_JOIN_FULL) fields[i].type.nullable = 1;
    }
    return j;
}

const lnode *pl_trace(const lnode *n, uint32_t *col) {
    while (n->kind == L_CALC && n->calc.exprs[*col]->kind == WR_E_COL) {
        *col = n->calc.exprs[*col]->col;
        n = n->in[0];
    }
    return n;
}

bool pl_uses(const wr_expr *e, uint32_t from, uint32_t to) {
    if (e->kind == WR_E_COL) return e->col >= from && e->col < to;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (pl_uses(e->args[i], from, to)) return true;
    return false;
}

uint32_t pl_max_col(const wr_expr *e) {
    if (e->kind == WR_E_COL) return e->col + 1;
    uint32_t max = 0;
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++) {
        uint32_t m = pl_max_col(e->args[i]);
        max = WR_MAX(max, m);
    }
    return max;
}

wr_expr *pl_shift(pl *p, const wr_expr *e, uint32_t n_old, int32_t by) {
    uint32_t *map = wr_new_n(p->arena, uint32_t, n_old + 1);
    for (uint32_t i = 0; i < n_old; i++) map[i] = (uint32_t)((int32_t)i + by);
    return wr_expr_remap(p->arena, e, map);
}

wr_str pl_label(const lnode *n) {
    while (!n->label.len && n->n_in) n = n->in[0];
    if (!n->label.len && n->kind == L_SCAN) return n->scan.table->name;
    return n->label.len ? n->label : WR_STR("subquery");
}

wr_str pl_alias(wr_str label) {
    for (size_t i = 0; i + 4 < label.len; i++)
        if (memcmp(label.ptr + i, " AS ", 4) == 0) return (wr_str){label.ptr + i + 4, label.len - i - 4};
    return label;
}

wr_expr *pl_and(pl *p, wr_expr *a, wr_expr *b) {
    if (!a || !b) return a ? a : b;
    wr_expr *both[2] = {a, b};
    return wr_expr_and(&p->ec, both, 2);
}

/* Conjuncts of e, BETWEEN taken apart, appended to a list in the arena. */
void pl_push_conjuncts(pl *p, wr_expr *e, wr_expr ***list, uint32_t *n) {
    if (!e) return;
    wr_expr **parts;
    uint32_t  n_parts;
    wr_expr_conjuncts(p->arena, e, &parts, &n_parts);
    wr_expr **all = wr_new_n(p->arena, wr_expr *, *n + n_parts * 2);
    if (*n) memcpy(all, *list, sizeof *all * *n);
    for (uint32_t i = 0; i < n_parts; i++) {
        wr_expr *x = parts[i];
        if (wr_expr_is_call(x, "BETWEEN") && x->n_args == 3 && wr_expr_volatility(x) == WR_VOL_PURE) {
            wr_expr *low = pl_call(p, ">=", x->at, 2, x->args[0], x->args[1]), *high = pl_call(p, "<=", x->at, 2, x->args[0], x->args[2]);
            if (low && high) {
                all[(*n)++] = low;
                all[(*n)++] = high;
                continue;
            }
        }
        all[(*n)++] = x;
    }
    *list = all;
}

/* Estimated bytes of a row in memory: fixed parts by type, text as a 16-byte view and 24 bytes on average behind it. */
double pl_row_bytes(const wr_schema *s) {
    double bytes = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        wr_storage st = wr_type_storage(s->fields[i].type);
        bytes += st == WR_S_STR ? 20 : st == WR_S_LIST || st == WR_S_ROW ? 64 : (double)wr_storage_size(st);
    }
    return bytes + (double)(s->n + 7) / 8;
}

void *pl_unsupported(pl *p, wr_span at, const char *instead, const char *fmt, ...) {
    char    what[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    wr_diags_add(p->diags, WR_SEV_ERROR, "0A000", at, "%s is not supported yet", what);
    if (instead) wr_diags_hint(p->diags, "%s", instead);
    return NULL;
}

void *pl_error(pl *p, const char *code, wr_span at, const char *fmt, ...) {
    char    what[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    wr_diags_add(p->diags, WR_SEV_ERROR, code, at, "%s", what);
    return NULL;
}

wr_str pl_printf(pl *p, const char *fmt, ...) {
    char    text[2048];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return wr_str_dup(p->arena, (wr_str){text, WR_MIN((size_t)WR_MAX(n, 0), sizeof text - 1)});
}
