/* plan/split.c: hot keys of joins: the SPLIT hint, and what a split join looks like in the physical graph.
 *
 * Hint       SPLIT('o' = '8 for 17, 23') after SELECT: rows of 'o' with these keys (of a key with several columns: 17|Oslo) are spread over 8 parts, the
 *            other side's are kept in each of them. Without "for": all keys. Like STATE_TTL it is for each join of the SELECT that has 'o' on a side.
 * Graph      both sides pass a spread (op/spread.c), which adds the part as a column; it becomes the last column of the join's key, and a calc
 *            behind the join leaves it out again. Every kind of join, its state, checkpoint and rescale work as they are.
 * Invariant  the side that is kept in every part is never the preserved one of an outer join, nor the left one of SEMI and ANTI: whether its row has a
 *            partner would have to be known across the parts. Such a hint is refused with this reason.                   */
#include "plan/physical.h"
#include <stdio.h>

enum { KEYS_MAX = 64 }; /* named in a hint */

/* Why the other side of this join cannot be kept in every part; NULL: it can. */
static const char *refusal(wr_join_kind kind, uint32_t big) {
    static const char *const ALONE = "it gives the rows of the other side that have no partner, and of a row that is kept in every part only all parts together know that";
    switch (kind) {
    case WR_JOIN_INNER: return NULL;
    case WR_JOIN_LEFT: return big == 0 ? NULL : ALONE;
    case WR_JOIN_RIGHT: return big == 1 ? NULL : ALONE;
    case WR_JOIN_FULL: return ALONE;
    case WR_JOIN_SEMI:
    case WR_JOIN_ANTI: return big == 0 ? NULL : "it gives rows of the left side, which would be kept in every part and come out of each";
    }
    return NULL;
}
static const char *NOT_IN = "a NULL of the subquery concerns every key, so all its rows meet on one worker";

/* ---- the hint ---- */

/* "8 for 17, 23" */
static bool parse(wr_str text, uint32_t *ways, wr_str *keys) {
    size_t at = 0;
    text = wr_str_trim(text);
    *ways = 0;
    while (at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9' && *ways <= WR_SPREAD_WAYS_MAX) *ways = *ways * 10 + (uint32_t)(text.ptr[at++] - '0');
    *keys = wr_str_trim((wr_str){text.ptr + at, text.len - at});
    if (*ways < 2 || *ways > WR_SPREAD_WAYS_MAX) return false;
    if (!keys->len) return true;
    if (keys->ptr == text.ptr + at || keys->len < 5 || !wr_str_ieq((wr_str){keys->ptr, 3}, WR_STR("for")) || keys->ptr[3] != ' ') return false;
    *keys = wr_str_trim((wr_str){keys->ptr + 4, keys->len - 4});
    return keys->len > 0;
}

void pl_split_hint(pl *p, lnode *j, uint32_t side, const wr_ast_hint_arg *arg) {
    lsplit s = {.side = side, .at = arg->key.at};
    wr_arr_apush(p->arena, &p->splits, arg);
    if (!arg->value.text.ptr || !parse(arg->value.text, &s.ways, &s.keys)) {
        pl_error(p, "22023", arg->key.at, "SPLIT('table or alias' = 'number of parts'): '%.*s' is not a number from 2 to %d, nor one with keys behind it",
                 (int)arg->value.text.len, arg->value.text.ptr ? arg->value.text.ptr : "", WR_SPREAD_WAYS_MAX);
        wr_diags_hint(p->diags, "SPLIT('o' = '8') splits all keys, SPLIT('o' = '8 for 17, 23') two of them");
        return;
    }
    if (j->join.split.ways && j->join.split.side != side) {
        pl_error(p, "0A000", arg->key.at, "SPLIT names both sides of a join: one of them is spread, the other one is kept in every part");
        return;
    }
    bool        not_in = j->join.null_aware && j->join.kind == WR_JOIN_ANTI;
    const char *why = not_in ? NOT_IN : refusal(j->join.kind, side);
    if (why) {
        pl_error(p, "0A000", arg->key.at, "the %s join at %u:%u cannot be split by its %s side: %s", wr_join_kind_name(j->join.kind), j->join.op_at.line, j->join.op_at.col,
                 side ? "right" : "left", why);
        if (!not_in && !refusal(j->join.kind, !side)) wr_diags_hint(p->diags, "only the %s side of this join can be spread", side ? "left" : "right");
        return;
    }
    j->join.split = s;
}

void pl_split_unused(pl *p, const wr_ast_hint_arg *arg) {
    for (uint32_t i = 0; i < p->splits.n; i++)
        if (p->splits.at[i] == arg) return;
    pl_error(p, "42P01", arg->key.at, "SPLIT: '%.*s' is no table or alias that this SELECT joins", WR_FMT(arg->key.text));
}

/* ---- the keys that are split ---- */

static wr_str next_of(wr_str *list, char at) {
    const char *end = memchr(list->ptr, at, list->len);
    wr_str      one = {list->ptr, end ? (size_t)(end - list->ptr) : list->len};
    *list = end ? (wr_str){end + 1, list->len - one.len - 1} : (wr_str){list->ptr + list->len, 0};
    return wr_str_trim(one);
}

static wr_expr *equals(pl *p, const wr_field *f, uint32_t col, wr_str text, wr_span at) {
    wr_expr *key = wr_expr_col(p->arena, col, f->type, at);
    wr_expr *is_null = wr_str_eq(text, WR_STR("NULL")) ? pl_call(p, "IS_NULL", at, 1, key) : NULL;
    wr_type  string = wr_type_not_null(wr_type_prec(WR_T_VARCHAR, WR_LENGTH_MAX));
    wr_expr *value = wr_expr_cast(&p->ec, wr_expr_const(p->arena, (wr_value){.type = string, .s = text}, at), f->type, true, at);
    wr_value v;
    wr_err   err = {0};
    if (!value) return NULL;
    if (wr_expr_eval_const(&p->ec, value, &v, &err) != WR_OK || v.null) {
        if (is_null) return is_null;
        wr_sbuf b = {0};
        wr_type_text(f->type, &b);
        pl_error(p, "22023", at, "SPLIT: '%.*s' is no value of the key column '%.*s', which is %.*s", WR_FMT(text), WR_FMT(f->name), WR_FMT(wr_sbuf_str(&b)));
        wr_sbuf_free(&b);
        return NULL;
    }
    wr_expr *same = pl_call(p, "=", at, 2, key, wr_expr_const(p->arena, v, at));
    return is_null ? pl_call(p, "OR", at, 2, is_null, same) : same;
}

/* Over one side: is the row's key one of those? NULL: all are, or after a diagnostic. */
static wr_expr *hot_keys(pl *p, const lsplit *s, const wr_schema *side, const uint32_t *keys, uint32_t n_keys) {
    wr_expr *any = NULL;
    wr_str   list = s->keys;
    for (uint32_t n = 0; list.len; n++) {
        wr_str   one = next_of(&list, ','), rest = one;
        wr_expr *all = NULL;
        if (n == KEYS_MAX) return pl_error(p, "22023", s->at, "SPLIT names at most %d keys; without 'for' all keys are split", KEYS_MAX);
        for (uint32_t i = 0; i < n_keys; i++) {
            bool     last = i + 1 == n_keys;
            wr_str   text = last ? wr_str_trim(rest) : next_of(&rest, '|');
            if (n_keys > 1 && last && memchr(text.ptr, '|', text.len)) text.len = 0;
            if (!text.len) return pl_error(p, "22023", s->at, "SPLIT: '%.*s' is no key of this join, which has %u columns: write %u values with '|' between", WR_FMT(one), n_keys, n_keys);
            wr_expr *eq = equals(p, &side->fields[keys[i]], keys[i], text, s->at);
            if (!eq) return NULL;
            all = pl_and(p, all, eq);
        }
        any = any ? pl_call(p, "OR", s->at, 2, any, all) : all;
    }
    return any;
}

/* ---- the graph ---- */

bool ph_is_split(const wr_pnode *join) { return join->n_inputs == 2 && join->inputs[0].node->kind == WR_P_SPREAD && join->inputs[1].node->kind == WR_P_SPREAD; }

static wr_pnode *spread_node(phys *h, lnode *n, wr_pnode *in, uint32_t side) {
    pl       *p = h->p;
    const lsplit *s = &n->join.split;
    uint32_t  width = in->schema.n;
    wr_field *f = wr_new_n(p->arena, wr_field, width + 1);
    for (uint32_t i = 0; i < width; i++) f[i] = in->schema.fields[i];
    f[width] = (wr_field){.name = WR_STR("$part"), .type = wr_spread_type()};
    wr_pnode *x = ph_new(h, WR_P_SPREAD, (wr_schema){width + 1, f}, s->at);
    x->n_inputs = 1;
    x->inputs[0] = (wr_pinput){.node = in, .exchange = WR_X_FORWARD};
    const uint32_t *keys = side ? n->join.right_keys : n->join.left_keys;
    pinfo           i = *ph_info(h, in);
    wr_spread_opts *o = &x->spread;
    *o = (wr_spread_opts){.ways = s->ways, .replicate = side != s->side, .n_keys = n->join.n_keys, .keys = keys};
    if (s->keys.len && n->join.n_keys && !(o->hot = hot_keys(p, s, &in->schema, keys, n->join.n_keys))) n->join.split.keys.len = 0; /* said once, not for each side */
    if (!o->replicate) {
        o->retract_input = i.updating;
        bool by_key = ph_by_key(h, in) && in->n_upsert_key;
        o->n_by = by_key ? in->n_upsert_key : width;
        uint32_t *by = wr_new_n(p->arena, uint32_t, o->n_by + 1);
        for (uint32_t k = 0; k < o->n_by; k++) by[k] = by_key ? in->upsert_key[k] : k;
        o->by = by;
    }
    x->n_upsert_key = in->n_upsert_key, x->upsert_key = in->upsert_key;
    if (o->replicate && in->n_upsert_key) { /* its rows are there more than once */
        uint32_t *key = wr_new_n(p->arena, uint32_t, in->n_upsert_key + 1);
        memcpy(key, in->upsert_key, sizeof *key * in->n_upsert_key);
        key[x->n_upsert_key++] = width;
        x->upsert_key = key;
    }
    if (o->replicate && !o->hot) i.rate *= s->ways;
    i.dist = DIST_ANY;
    i.needs_before = false;
    i.from = NULL;
    return ph_put(h, x, i);
}

static uint32_t *with_col(pl *p, const uint32_t *cols, uint32_t n, uint32_t col) {
    uint32_t *all = wr_new_n(p->arena, uint32_t, n + 1);
    if (n) memcpy(all, cols, sizeof *all * n);
    all[n] = col;
    return all;
}
static bool left_only(wr_join_kind k) { return k == WR_JOIN_SEMI || k == WR_JOIN_ANTI; }

lnode *ph_split_join(phys *h, lnode *n, wr_pnode **left, wr_pnode **right) {
    if (!n->join.split.ways) return n;
    pl      *p = h->p;
    uint32_t nl = (*left)->schema.n, nr = (*right)->schema.n, width = left_only(n->join.kind) ? nl + 1 : nl + nr + 2;
    *left = spread_node(h, n, *left, 0);
    *right = spread_node(h, n, *right, 1);
    lnode *s = wr_new(p->arena, lnode);
    *s = *n;
    s->join.left_keys = with_col(p, n->join.left_keys, n->join.n_keys, nl);
    s->join.right_keys = with_col(p, n->join.right_keys, n->join.n_keys, nr);
    s->join.n_keys++;
    if (n->join.null_safe) {
        s->join.null_safe = wr_new_n(p->arena, bool, s->join.n_keys);
        memcpy(s->join.null_safe, n->join.null_safe, sizeof(bool) * n->join.n_keys);
    }
    uint32_t *map = wr_new_n(p->arena, uint32_t, nl + nr + 1);
    for (uint32_t i = 0; i < nl + nr; i++) map[i] = i < nl ? i : i + 1;
    if (n->join.residual) s->join.residual = wr_expr_remap(p->arena, n->join.residual, map);
    wr_field *f = wr_new_n(p->arena, wr_field, width);
    for (uint32_t i = 0; i < n->schema.n; i++) f[map[i]] = n->schema.fields[i];
    f[nl] = (*left)->schema.fields[nl], f[nl].type.nullable = n->join.kind == WR_JOIN_RIGHT;
    if (width > nl + 1) f[width - 1] = (*right)->schema.fields[nr], f[width - 1].type.nullable = n->join.kind == WR_JOIN_LEFT;
    s->schema = (wr_schema){width, f};
    if (n->props.has_key) {
        s->props.key = wr_new_n(p->arena, uint32_t, n->props.n_key + 1);
        for (uint32_t i = 0; i < n->props.n_key; i++) s->props.key[i] = map[n->props.key[i]];
    }
    return s;
}

wr_pnode *ph_unsplit_join(phys *h, const lnode *n, wr_pnode *join) {
    wr_expr **exprs = wr_new_n(h->p->arena, wr_expr *, n->schema.n + 1);
    uint32_t  nl = join->inputs[0].node->schema.n - 1;
    for (uint32_t i = 0; i < n->schema.n; i++) exprs[i] = wr_expr_col(h->p->arena, i < nl ? i : i + 1, n->schema.fields[i].type, n->at);
    return ph_calc(h, n, join, NULL, exprs);
}

/* ---- in the bill ---- */

static void size_or_unknown(double bytes, wr_sbuf *out) {
    if (bytes < 0) wr_sbuf_addz(out, "not known");
    else wr_text_size((int64_t)(bytes + 0.5), out);
}
static uint32_t kept_side(const wr_pnode *join) { return join->inputs[0].node->spread.replicate ? 0 : 1; }

void pl_bill_split(const wr_pnode *n, const wr_bill_env *env, wr_sbuf *out) {
    if (!ph_is_split(n)) return;
    uint32_t              side = kept_side(n);
    const wr_spread_opts *o = &n->inputs[side].node->spread;
    double                now = pl_bill_copies(n, env->facts ? 0 : 3600e6), day = pl_bill_copies(n, 86400e6);
    wr_sbuf_printf(out, "  %s: split in %u: %srows of %.*s are kept %u times; the copies: ", n->id, o->ways, o->hot ? "of the split keys " : "", WR_FMT(n->bill.in[side].label), o->ways);
    if (now < 0 && day < 0) {
        wr_sbuf_addz(out, "not known without a sample\n");
        return;
    }
    size_or_unknown(now, out);
    wr_sbuf_addz(out, env->facts ? " of what is there now, " : " of the first hour's, ");
    size_or_unknown(day, out);
    wr_sbuf_addz(out, " of a day's\n");
}

void pl_bill_split_json(const wr_pnode *n, const wr_bill_env *env, wr_sbuf *out) {
    if (!ph_is_split(n)) return;
    uint32_t side = kept_side(n);
    double   now = env->facts ? pl_bill_copies(n, 0) : -1, day = pl_bill_copies(n, 86400e6);
    wr_sbuf_printf(out, ",\"split\":{\"parts\":%u,\"all_keys\":%s,\"kept_in_each\":\"%s\",\"copies_bytes_now\":", n->inputs[side].node->spread.ways,
                   n->inputs[side].node->spread.hot ? "false" : "true", side ? "right" : "left");
    wr_sbuf_printf(out, now < 0 ? "null" : "%.0f", now);
    wr_sbuf_addz(out, ",\"copies_bytes_day\":");
    wr_sbuf_printf(out, day < 0 ? "null" : "%.0f", day);
    wr_sbuf_addc(out, '}');
}

/* Of the keys that a sample saw, those with more than what a worker would get of an even distribution. */
static bool is_hot(const wr_bill_hot *x, const wr_bill_env *env) { return env->workers > 1 && x->share > 1.1 / env->workers + 0.02; }

void pl_bill_hot(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out) {
    for (uint32_t i = 0; env->facts && i < env->facts->n_hot; i++) {
        const wr_bill_hot *x = &env->facts->hot[i];
        const wr_pnode    *n = job->nodes.at[x->node];
        if (!is_hot(x, env)) continue;
        wr_sbuf_printf(out, "  hot: key %s has %.0f %% of the rows at %s%s; the fair share of %.0f workers is %.1f %% each", x->key, x->share * 100, n->id,
                       n->n_inputs < 2 ? "" : x->input ? ", right side" : ", left side", env->workers, 100 / env->workers);
        if (x->combined) wr_sbuf_addz(out, "; its rows are combined before the exchange");
        if (n->n_inputs == 2) wr_sbuf_addz(out, "; ");
        wr_plan_split_advice(n, x->input, (uint32_t)env->workers, x->values, out);
        wr_sbuf_addc(out, '\n');
    }
}

void pl_bill_hot_json(const wr_job_plan *job, const wr_bill_env *env, wr_sbuf *out) {
    wr_sbuf_addz(out, ",\"hot_keys\":[");
    for (uint32_t i = 0, n = 0; i < env->facts->n_hot; i++) {
        const wr_bill_hot *x = &env->facts->hot[i];
        if (!is_hot(x, env)) continue;
        wr_sbuf advice = {0};
        wr_plan_split_advice(job->nodes.at[x->node], x->input, (uint32_t)env->workers, x->values, &advice);
        wr_sbuf_addz(out, n++ ? ",{\"key\":" : "{\"key\":");
        wr_sbuf_add_json(out, wr_str_of(x->key));
        wr_sbuf_printf(out, ",\"operator\":\"%s\",\"port\":%u,\"share\":%.4f,\"combined\":%s,\"split\":", job->nodes.at[x->node]->id, x->input, x->share, x->combined ? "true" : "false");
        if (advice.len) wr_sbuf_add_json(out, wr_sbuf_str(&advice));
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addc(out, '}');
        wr_sbuf_free(&advice);
    }
    wr_sbuf_addc(out, ']');
}

/* ---- advice ---- */

static bool join_of(const wr_pnode *n, wr_join_kind *kind, bool *not_in) {
    *not_in = false;
    switch (n->kind) {
    case WR_P_JOIN: *kind = n->join.kind, *not_in = n->join.null_aware_anti; return true;
    case WR_P_INTERVAL_JOIN: *kind = n->interval_join.kind; return true;
    case WR_P_TEMPORAL_JOIN: *kind = n->temporal_join.kind; return true;
    case WR_P_WINDOW_JOIN: *kind = n->window_join.kind; return true;
    default: return false;
    }
}

void wr_plan_split_advice(const wr_pnode *n, uint32_t input, uint32_t ways, const char *key, wr_sbuf *out) {
    wr_join_kind kind;
    bool         not_in;
    if (!join_of(n, &kind, &not_in)) return;
    const char *why = not_in ? NOT_IN : refusal(kind, input);
    if (why) {
        wr_sbuf_printf(out, "it cannot be split by this side: %s", why);
        return;
    }
    if (ph_is_split(n)) ways = 2 * n->inputs[input].node->spread.ways;
    ways = WR_MIN(WR_MAX(ways, 2u), (uint32_t)WR_SPREAD_WAYS_MAX);
    wr_sbuf_printf(out, "SELECT /*+ SPLIT('%.*s' = '%u%s%s') */ spreads it", WR_FMT(pl_alias(n->bill.in[input].label)), ways, key[0] ? " for " : "", key);
}
