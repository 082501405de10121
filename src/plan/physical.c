/* plan/physical.c: logical trees of all sinks of a job -> one graph of physical nodes, equal parts shared.
 *
 * Idea       nodes are hash-consed by a structural text (kind, options, inputs): a view used twice, or two INSERTs over the same aggregation,
 *            become one node with two consumers. Each table is read by one SOURCE whose output is the union of what all consumers need.
 * Exchange   HASH only where the input is not distributed by exactly these columns in this order; GATHER for what runs once. A FORWARD
 *            input of a keyed operator still names its keys (the operator wants the hash column).
 * Invariant  job.nodes is topological, inputs first; ids are unique within the job.                                    */
#include "plan/physical.h"
#include "base/hash.h"
#include <stdio.h>

pinfo *ph_info(phys *h, const wr_pnode *n) { return &h->info.at[n->index]; }

wr_pnode *ph_new(phys *h, wr_pnode_kind kind, wr_schema schema, wr_span at) {
    wr_pnode *n = wr_new(h->p->arena, wr_pnode);
    n->kind = kind;
    n->schema = schema;
    n->at = at;
    n->rowtime = -1;
    for (uint32_t i = 0; i < schema.n && n->rowtime < 0; i++)
        if (schema.fields[i].type.attr == WR_TIME_ROWTIME) n->rowtime = (int32_t)i;
    return n;
}

/* ---- structural text ---- */

static void put_cols(wr_sbuf *b, const char *what, const uint32_t *cols, uint32_t n) {
    wr_sbuf_printf(b, " %s[", what);
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(b, "%s%u", i ? "," : "", cols[i]);
    wr_sbuf_addc(b, ']');
}

static void put_expr(wr_sbuf *b, const wr_expr *e) {
    wr_sbuf_addc(b, ' ');
    if (!e) {
        wr_sbuf_addc(b, '-');
        return;
    }
    wr_expr_text(e, NULL, b);
    wr_sbuf_addc(b, ':');
    wr_type_text(e->type, b);
}

static void put_window(wr_sbuf *b, const wr_window *w) {
    wr_sbuf_printf(b, " w%d %lld/%lld+%lld t%u%s", (int)w->kind, (long long)w->size_us, (long long)w->slide_us, (long long)w->offset_us, w->time_col, w->ltz ? " ltz" : "");
}

static void put_aggs(wr_sbuf *b, const wr_agg *a, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        wr_sbuf_printf(b, " %s%s(%d,%d|%d)", a[i].distinct ? "distinct " : "", wr_agg_title(&a[i]), a[i].arg, a[i].arg2, a[i].filter);
}

static void put_join(wr_sbuf *b, wr_join_kind kind, const wr_join_keys *k, const wr_expr *residual) {
    wr_sbuf_printf(b, " %s", wr_join_kind_name(kind));
    put_cols(b, "l", k->left, k->n);
    put_cols(b, "r", k->right, k->n);
    for (uint32_t i = 0; k->null_safe && i < k->n; i++) wr_sbuf_printf(b, "%d", k->null_safe[i]);
    put_expr(b, residual);
}

static void put_order(wr_sbuf *b, const wr_sort_key *o, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) wr_sbuf_printf(b, " %u%s%s", o[i].col, o[i].desc ? "d" : "a", o[i].nulls_last ? "l" : "f");
}

static void put_kinds(wr_sbuf *b, const wr_calc_kinds *k) {
    wr_sbuf_printf(b, " %d c%u", k->to, k->col);
    for (int i = 0; i < 4 && k->to; i++) wr_sbuf_printf(b, " '%.*s'%d", (int)k->text[i].len, k->text[i].ptr ? k->text[i].ptr : "", k->text[i].ptr != NULL);
    for (uint32_t i = 0; i < k->n_codes && !k->to; i++) wr_sbuf_printf(b, " '%.*s' %d", WR_FMT(k->codes[i].text), k->codes[i].kind);
}

static void put_over_fns(wr_sbuf *b, const wr_over_fn *fns, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const wr_over_fn *fn = &fns[i];
        wr_sbuf_printf(b, " f%d r%d u%d %lld o%llu,%d", (int)fn->kind, fn->frame.rows, fn->frame.unbounded, (long long)fn->frame.preceding, (unsigned long long)fn->offset, fn->fallback);
        put_aggs(b, &fn->agg, 1);
    }
}

static void put_over(wr_sbuf *b, const wr_over_opts *o) {
    put_cols(b, "k", o->keys, o->n_keys);
    wr_sbuf_printf(b, " t%d ttl %lld", o->time_col, (long long)o->ttl_us);
    put_over_fns(b, o->fns, o->n_fns);
}

static void put_match(wr_sbuf *b, const wr_match_opts *o) {
    put_cols(b, "k", o->keys, o->n_keys);
    put_order(b, o->order, o->n_order);
    wr_sbuf_printf(b, " t%u s%d,%u in %lld ", o->time_col, (int)o->skip, o->skip_var, (long long)o->within_us);
    pl_match_text(o, b);
    for (uint32_t i = 0; i < o->n_refs; i++) wr_sbuf_printf(b, " %.*s#%u,%d", WR_FMT(o->refs[i].name), o->refs[i].col, o->refs[i].agg.arg);
    for (uint32_t i = 0; i < o->n_vars; i++) wr_sbuf_printf(b, " %d", o->vars[i].given), put_expr(b, o->vars[i].cond);
    for (uint32_t i = 0; i < o->n_measures; i++) put_expr(b, o->measures[i]);
}

static void put_assign(wr_sbuf *b, const wr_assign_opts *o) {
    const wr_assign_how *h = &o->how;
    for (int i = 0; i < 2; i++) {
        const wr_assign_side *s = &o->side[i];
        put_cols(b, i ? "r" : "l", s->keys, o->n_keys);
        wr_sbuf_printf(b, " %u %u,%u %u %d,%d %d", s->id, s->x, s->y, s->time, s->to_x, s->to_y, s->status);
    }
    wr_sbuf_printf(b, " %lld %lld %lld %lld %u %d%d %.17g %.17g %.17g", (long long)o->every_us, (long long)o->max_wait_us, (long long)o->timeout_us, (long long)o->hold_us, o->reassign,
                   h->greedy, h->earth, h->max_distance, h->wait_weight, h->batch_share);
}

static void structure(const wr_pnode *n, wr_sbuf *b) {
    wr_sbuf_printf(b, "%s", wr_pnode_kind_name(n->kind));
    for (uint32_t i = 0; i < n->n_inputs; i++) wr_sbuf_printf(b, " <%u/%d", n->inputs[i].node->index, (int)n->inputs[i].exchange), put_cols(b, "k", n->inputs[i].keys, n->inputs[i].n_keys);
    for (uint32_t i = 0; i < n->n_union; i++) wr_sbuf_printf(b, " <%u", n->union_inputs[i].node->index);
    switch (n->kind) {
    case WR_P_SOURCE: /* with OPTIONS behind its name, a table is another source */
        wr_sbuf_printf(b, " %.*s", WR_FMT(n->source.table->name));
        for (uint32_t i = 0; i < n->source.table->n_options; i++) wr_sbuf_printf(b, " %.*s=%.*s", WR_FMT(n->source.table->options[i].key), WR_FMT(n->source.table->options[i].value));
        break;
    case WR_P_VALUES: /* its place is not enough: a WITH query that is used twice may have lost different columns */
        wr_sbuf_printf(b, " at %u:%u of %u", n->at.line, n->at.col, n->schema.n);
        for (uint32_t i = 0; i < n->values.n_rows * n->schema.n; i++) put_expr(b, &(wr_expr){.kind = WR_E_CONST, .type = n->values.rows[i].type, .value = n->values.rows[i]});
        break;
    case WR_P_CALC:
        put_expr(b, n->calc.filter);
        for (uint32_t i = 0; i < n->calc.n_exprs; i++) put_expr(b, n->calc.exprs[i]);
        if (n->calc.kinds) put_kinds(b, n->calc.kinds);
        break;
    case WR_P_WINDOW_TVF: put_window(b, &n->window_tvf); break;
    case WR_P_WINDOW_AGG:
        put_window(b, &n->window_agg.window);
        put_cols(b, "k", n->window_agg.keys, n->window_agg.n_keys);
        put_aggs(b, n->window_agg.aggs, n->window_agg.n_aggs);
        wr_sbuf_printf(b, " %d%d%d %d %d,%d", n->window_agg.out_start, n->window_agg.out_end, n->window_agg.out_time, n->window_agg.input_is_windowed, n->window_agg.in_start, n->window_agg.in_end);
        break;
    case WR_P_GROUP_AGG:
        put_cols(b, "k", n->group_agg.keys, n->group_agg.n_keys);
        put_aggs(b, n->group_agg.aggs, n->group_agg.n_aggs);
        wr_sbuf_printf(b, " ttl %lld", (long long)n->group_agg.ttl_us);
        break;
    case WR_P_LOCAL_AGG:
        if (n->local_agg.windowed) put_window(b, &n->local_agg.window);
        put_cols(b, "k", n->local_agg.keys, n->local_agg.n_keys);
        put_aggs(b, n->local_agg.aggs, n->local_agg.n_aggs);
        wr_sbuf_printf(b, " %d%d%d %d,%d", n->local_agg.always, n->local_agg.windowed, n->local_agg.input_is_windowed, n->local_agg.in_start, n->local_agg.in_end);
        break;
    case WR_P_INTERVAL_JOIN:
        put_join(b, n->interval_join.kind, &n->interval_join.keys, n->interval_join.residual);
        wr_sbuf_printf(b, " %u %u [%lld,%lld]", n->interval_join.left_time, n->interval_join.right_time, (long long)n->interval_join.lower_us, (long long)n->interval_join.upper_us);
        break;
    case WR_P_TEMPORAL_JOIN: put_join(b, n->temporal_join.kind, &n->temporal_join.keys, n->temporal_join.residual); break;
    case WR_P_JOIN:
        put_join(b, n->join.kind, &n->join.keys, n->join.residual);
        wr_sbuf_printf(b, " ttl %lld %lld %d", (long long)n->join.ttl_us[0], (long long)n->join.ttl_us[1], n->join.null_aware_anti);
        break;
    case WR_P_WINDOW_JOIN: put_join(b, n->window_join.kind, &n->window_join.keys, n->window_join.residual); break;
    case WR_P_TOP_N:
        put_cols(b, "k", n->top_n.keys, n->top_n.n_keys);
        put_order(b, n->top_n.order, n->top_n.n_order);
        wr_sbuf_printf(b, " r%d %llu-%llu out %d we %d ttl %lld", (int)n->top_n.rank, (unsigned long long)n->top_n.first, (unsigned long long)n->top_n.last, n->top_n.out_rank, n->top_n.window_end, (long long)n->top_n.ttl_us);
        put_over_fns(b, n->top_n.fns, n->top_n.n_fns);
        break;
    case WR_P_DEDUP:
        put_cols(b, "k", n->dedup.keys, n->dedup.n_keys);
        wr_sbuf_printf(b, " %d %d ttl %lld", n->dedup.time_col, n->dedup.keep_last, (long long)n->dedup.ttl_us);
        break;
    case WR_P_NORMALIZE:
        put_cols(b, "k", n->normalize.keys, n->normalize.n_keys);
        wr_sbuf_printf(b, " %d", n->normalize.materialize);
        break;
    case WR_P_LIMIT: wr_sbuf_printf(b, " %llu %llu", (unsigned long long)n->limit.offset, (unsigned long long)n->limit.n); break;
    case WR_P_TIME_SORT: put_order(b, n->time_sort.order, n->time_sort.n_order); break;
    case WR_P_OVER: put_over(b, &n->over); break;
    case WR_P_MATCH: put_match(b, &n->match); break;
    case WR_P_ASSIGN: put_assign(b, &n->assign); break;
    case WR_P_UNION: break;
    case WR_P_KEEP:
        put_expr(b, n->keep.calc.filter);
        for (uint32_t i = 0; i < n->keep.calc.n_exprs; i++) put_expr(b, n->keep.calc.exprs[i]);
        break;
    case WR_P_LOOKUP_JOIN:
        put_join(b, n->lookup.opts.kind, &n->lookup.opts.keys, n->lookup.opts.residual);
        wr_sbuf_printf(b, " %.*s %u %d %u %d", WR_FMT(n->lookup.from.table->name), n->lookup.opts.capacity, n->lookup.opts.ordered, n->lookup.opts.attempts, (int)n->lookup.opts.cache);
        for (uint32_t i = 0; i < n->lookup.from.n_exprs; i++) put_expr(b, n->lookup.from.exprs[i]);
        for (uint32_t i = 0; i < n->lookup.from.table->n_options; i++) wr_sbuf_printf(b, " %.*s=%.*s", WR_FMT(n->lookup.from.table->options[i].key), WR_FMT(n->lookup.from.table->options[i].value));
        break;
    case WR_P_UNNEST:
        put_cols(b, "p", n->unnest.pass, n->unnest.n_pass);
        wr_sbuf_printf(b, " %u %d%d", n->unnest.col, n->unnest.outer, n->unnest.ordinality);
        break;
    case WR_P_SPREAD:
        put_cols(b, "k", n->spread.keys, n->spread.n_keys);
        put_cols(b, "by", n->spread.by, n->spread.n_by);
        wr_sbuf_printf(b, " %u %d%d", n->spread.ways, n->spread.replicate, n->spread.retract_input);
        put_expr(b, n->spread.hot);
        break;
    case WR_P_VIEW: wr_sbuf_printf(b, " %.*s", WR_FMT(n->view.table->name)); break;
    case WR_P_SINK: wr_sbuf_printf(b, " %.*s at %u:%u", n->sink.is_result ? 6 : (int)n->sink.table->name.len, n->sink.is_result ? "result" : n->sink.table->name.ptr, n->at.line, n->at.col); break;
    }
}

static void make_id(phys *h, wr_pnode *n) { /* from meaning: what it does, by names, and what it does it to */
    wr_sbuf b = {0};
    ph_title(n, n->title);
    wr_sbuf_printf(&b, "%s|%s", wr_pnode_kind_name(n->kind), n->title);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const wr_pnode *in = n->inputs[i].node;
        if (in->kind == WR_P_LOCAL_AGG) in = in->inputs[0].node; /* in one phase or two: the same aggregation */
        wr_sbuf_printf(&b, "|%s", in->id);
    }
    for (uint32_t i = 0; i < n->n_union; i++) wr_sbuf_printf(&b, "|%s", n->union_inputs[i].node->id);
    if (n->kind == WR_P_SOURCE) snprintf(n->id, sizeof n->id, "source-%.*s", (int)WR_MIN(n->source.table->name.len, 36u), n->source.table->name.ptr);
    else if (n->kind == WR_P_VIEW) snprintf(n->id, sizeof n->id, "view-%.*s", (int)WR_MIN(n->view.table->name.len, 36u), n->view.table->name.ptr);
    else if (n->kind == WR_P_SINK && !n->sink.is_result) snprintf(n->id, sizeof n->id, "sink-%.*s", (int)WR_MIN(n->sink.table->name.len, 36u), n->sink.table->name.ptr);
    else snprintf(n->id, sizeof n->id, "%s-%08x", wr_pnode_kind_name(n->kind), (unsigned)(wr_hash_bytes(b.at, b.len) >> 32));
    wr_sbuf_free(&b);
    for (uint32_t copy = 2, i = 0; i < h->job->nodes.n; i++) { /* same meaning twice: -2, -3 */
        if (strcmp(h->job->nodes.at[i]->id, n->id) != 0) continue;
        char *dash = copy > 2 ? strrchr(n->id, '-') : NULL;
        if (dash) *dash = 0;
        size_t len = strlen(n->id);
        len = WR_MIN(len, sizeof n->id - 8);
        snprintf(n->id + len, sizeof n->id - len, "-%u", copy++);
        i = UINT32_MAX; /* look again from the start */
    }
}

wr_pnode *ph_put(phys *h, wr_pnode *n, pinfo info) {
    wr_sbuf b = {0};
    structure(n, &b);
    for (uint32_t i = 0; i < h->info.n; i++)
        if (wr_str_eq(h->info.at[i].cons, wr_sbuf_str(&b))) {
            wr_sbuf_free(&b);
            return h->job->nodes.at[i];
        }
    info.cons = wr_str_dup(h->p->arena, wr_sbuf_str(&b));
    wr_sbuf_free(&b);
    n->index = h->job->nodes.n;
    make_id(h, n);
    info.watermarked = n->kind != WR_P_SOURCE || n->source.watermark != NULL;
    if (n->kind == WR_P_SOURCE) info.delay_us = pl_table_info(h->p, n->source.table)->delay_us;
    for (uint32_t i = 0; i < n->n_inputs + n->n_union; i++) {
        const pinfo *f = ph_info(h, (i < n->n_inputs ? n->inputs[i] : n->union_inputs[i - n->n_inputs]).node);
        info.watermarked &= f->watermarked;
        info.delay_us = WR_MAX(info.delay_us, f->delay_us);
    }
    for (uint32_t i = 0; i < n->n_inputs; i++) n->inputs[i].node->n_consumers++;
    for (uint32_t i = 0; i < n->n_union; i++) n->union_inputs[i].node->n_consumers++;
    wr_arr_apush(h->p->arena, &h->job->nodes, n);
    wr_arr_apush(h->p->arena, &h->info, info);
    return n;
}

/* ---- exchanges ---- */

void ph_input(phys *h, wr_pinput *in, wr_pnode *from, const uint32_t *keys, uint32_t n_keys) {
    pinfo *f = ph_info(h, from);
    *in = (wr_pinput){.node = from, .exchange = WR_X_HASH, .n_keys = n_keys, .keys = keys};
    if (!n_keys) {
        in->exchange = f->dist == DIST_SINGLE ? WR_X_FORWARD : WR_X_GATHER;
        return;
    }
    if (f->dist != DIST_HASH || f->n_dist != n_keys) return;
    for (uint32_t i = 0; i < n_keys; i++)
        if (f->dist_cols[i] != keys[i]) return;
    in->exchange = WR_X_FORWARD;
}

static void forward(phys *h, wr_pinput *in, wr_pnode *from) {
    (void)h;
    *in = (wr_pinput){.node = from, .exchange = WR_X_FORWARD};
}

static void gather(phys *h, wr_pinput *in, wr_pnode *from) { ph_input(h, in, from, NULL, 0); }

static pinfo info_of(const lnode *n) {
    pinfo i = {.updating = n->props.updating, .has_key = n->props.has_key, .bounded = n->props.bounded, .rate_declared = n->props.rate_declared, .rate = n->props.rate,
               .row_bytes = n->props.row_bytes, .from = n, .label = pl_label(n)};
    return i;
}

static void set_hash(phys *h, pinfo *i, const uint32_t *cols, uint32_t n) {
    if (!n) {
        i->dist = DIST_SINGLE;
        return;
    }
    i->dist = DIST_HASH;
    i->n_dist = n;
    i->dist_cols = wr_new_n(h->p->arena, uint32_t, n);
    for (uint32_t k = 0; k < n; k++) i->dist_cols[k] = cols[k];
}

static uint32_t *first_cols(phys *h, uint32_t n) {
    uint32_t *cols = wr_new_n(h->p->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) cols[i] = i;
    return cols;
}

static void upsert_key(wr_pnode *n, const lprops *props) {
    if (!props->has_key) return;
    n->n_upsert_key = props->n_key;
    n->upsert_key = props->key;
}

/* ---- sources ---- */

static void collect(phys *h, const lnode *n) { /* what each scan reads */
    for (uint32_t i = 0; i < (n->kind == L_LOOKUP_JOIN ? 1 : n->n_in); i++) collect(h, n->in[i]);
    if (n->kind != L_SCAN) return;
    psource *s = NULL;
    for (uint32_t i = 0; i < h->sources.n; i++)
        if (h->sources.at[i].ti->table == n->scan.table) s = &h->sources.at[i];
    if (!s) {
        psource fresh = {.ti = pl_table_info(h->p, n->scan.table), .needed = wr_new_n(h->p->arena, bool, n->scan.table->n_columns),
                         .pos = wr_new_n(h->p->arena, uint32_t, n->scan.table->n_columns)};
        wr_arr_apush(h->p->arena, &h->sources, fresh);
        s = &h->sources.at[h->sources.n - 1];
        for (uint32_t i = 0; fresh.ti->changes && i < n->scan.table->n_key; i++) s->needed[n->scan.table->key[i]] = true;
    }
    for (uint32_t i = 0; i < n->schema.n; i++) s->needed[n->scan.cols[i]] = true;
}

static int64_t duration_option(pl *p, const wr_table *t, const char *key, const char *setting) {
    wr_str  v = pl_table_option(t, key);
    int64_t us = 0;
    if (!v.ptr && setting) v = wr_catalog_get(p->ctx->catalog, setting);
    if (v.ptr && v.len && !wr_parse_duration(v, &us)) {
        wr_diags_add(p->diags, WR_SEV_ERROR, "22023", t->at, "'%s' = '%.*s' is not a duration such as '30 s'", key, WR_FMT(v));
        us = 0;
    }
    return us;
}

/* 'watermark.late': needs a watermark and a place for dead letters. */
static bool late_letters(pl *p, const wr_table *t) {
    wr_str v = wr_str_trim(pl_table_option(t, "watermark.late"));
    if (!wr_str_ieq(v, WR_STR("dead-letter"))) return false;
    bool letters = wr_str_ieq(wr_str_trim(pl_table_option(t, "on-error")), WR_STR("dead-letter"));
    if (letters && t->watermark_column >= 0) return true;
    wr_diags_add(p->diags, WR_SEV_ERROR, "WR433", t->at, "'watermark.late' = 'dead-letter' of table '%.*s' needs %s", WR_FMT(t->name), letters ? "a WATERMARK" : "'on-error' = 'dead-letter'");
    return false;
}

static void mark(const wr_expr *e, uint8_t *bits) {
    if (e->kind == WR_E_COL) bits[e->col] = 1;
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++) mark(e->args[i], bits);
}

static uint64_t made_from(const wr_expr *e, uint32_t n_physical) {
    uint64_t bits = e->kind == WR_E_COL && e->col < WR_MIN(n_physical, 63u) ? UINT64_C(1) << e->col : 0;
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++) bits |= made_from(e->args[i], n_physical);
    return bits;
}

/* A source whose updates may leave columns out gives one column more, the last, which says which; the normalization takes it away again. */
static const uint64_t *add_unchanged(phys *h, wr_pnode *node) {
    pl           *p = h->p;
    wr_p_source  *o = &node->source;
    uint32_t      n = o->n_exprs, d = o->decoded.n, n_meta = d - o->n_physical;
    wr_type       type = wr_type_of(WR_T_BIGINT);
    wr_str        name = WR_STR(WR_UNCHANGED_KEY), *keys = wr_new_n(p->arena, wr_str, n_meta + 1);
    wr_field     *decoded = wr_new_n(p->arena, wr_field, d + 1), *fields = wr_new_n(p->arena, wr_field, n + 1);
    wr_expr     **exprs = wr_new_n(p->arena, wr_expr *, n + 1);
    uint8_t      *needed = wr_new_n(p->arena, uint8_t, d + 2);
    uint64_t     *from = wr_new_n(p->arena, uint64_t, n + 1);
    memcpy(decoded, o->decoded.fields, d * sizeof *decoded);
    memcpy(fields, node->schema.fields, n * sizeof *fields);
    memcpy(keys, o->metadata_keys, n_meta * sizeof *keys);
    memcpy(exprs, o->exprs, n * sizeof *exprs);
    memcpy(needed, o->needed, d);
    for (uint32_t i = 0; i < n; i++) from[i] = made_from(o->exprs[i], o->n_physical);
    decoded[d] = fields[n] = (wr_field){name, type};
    keys[n_meta] = name;
    exprs[n] = wr_expr_col(p->arena, d, type, node->at);
    needed[d] = 1;
    o->decoded = (wr_schema){d + 1, decoded};
    o->metadata_keys = keys, o->exprs = exprs, o->n_exprs = n + 1, o->needed = needed;
    node->schema = (wr_schema){n + 1, fields};
    return from;
}

static wr_pnode *source_node(phys *h, const wr_table *table) {
    pl      *p = h->p;
    psource *s = NULL;
    for (uint32_t i = 0; i < h->sources.n; i++)
        if (h->sources.at[i].ti->table == table) s = &h->sources.at[i];
    wr_assert(s);
    if (s->node) return s->node;
    tinfo    *ti = s->ti;
    wr_field *f = wr_new_n(p->arena, wr_field, table->n_columns);
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, table->n_columns);
    uint32_t  n = 0;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        s->pos[i] = UINT32_MAX;
        if (!s->needed[i]) continue;
        s->pos[i] = n;
        f[n] = ti->schema.fields[i];
        exprs[n++] = ti->exprs[i];
    }
    wr_pnode    *node = ph_new(h, WR_P_SOURCE, (wr_schema){n, f}, table->at);
    wr_p_source *o = &node->source;
    *o = (wr_p_source){.table = table, .connector = ti->connector, .letters = ti->letters, .letters_connector = ti->letters_connector, .decoded = ti->decoded, .n_physical = ti->n_physical, .metadata_keys = ti->metadata_keys,
                       .n_exprs = n, .exprs = exprs, .watermark = ti->watermark, .rowtime_out = -1, .bounded = ti->bounded};
    uint8_t *needed = wr_new_n(p->arena, uint8_t, ti->decoded.n + 1);
    if (table->watermark_column >= 0) {
        o->rowtime = ti->exprs[table->watermark_column];
        if (s->pos[table->watermark_column] != UINT32_MAX) o->rowtime_out = (int32_t)s->pos[table->watermark_column];
        mark(o->rowtime, needed);
        mark(o->watermark, needed);
    }
    for (uint32_t i = 0; i < n; i++) mark(exprs[i], needed);
    o->needed = needed;
    o->idle_timeout_us = duration_option(p, table, "scan.idle-timeout", "table.exec.source.idle-timeout");
    o->future_guard_us = duration_option(p, table, "watermark.future-guard", NULL);
    o->alignment_us = duration_option(p, table, "watermark.alignment", NULL);
    o->late_letters = late_letters(p, table);
    pinfo info = {.updating = ti->changes != 0, .bounded = ti->bounded, .rate = ti->rate, .rate_declared = ti->rate_declared, .row_bytes = ti->row_bytes, .label = table->name};
    uint32_t *key = wr_new_n(p->arena, uint32_t, table->n_key + 1);
    bool      all = table->n_key > 0;
    for (uint32_t i = 0; i < table->n_key; i++) all &= (key[i] = s->pos[table->key[i]]) != UINT32_MAX;
    if (all) node->n_upsert_key = table->n_key, node->upsert_key = key, info.has_key = true;
    const uint64_t *unchanged = ti->changes == 1 && ti->connector->partial_updates ? add_unchanged(h, node) : NULL;
    s->node = ph_put(h, node, info);
    if (ti->changes != 1) return s->node;
    s->node = ph_normalize(h, s->node, key, table->n_key, false, table->at);
    if (unchanged) s->node->schema.n--, s->node->normalize.unchanged = unchanged;
    return s->node;
}

wr_pnode *ph_normalize(phys *h, wr_pnode *in, const uint32_t *keys, uint32_t n_keys, bool materialize, wr_span at) {
    wr_pnode *n = ph_new(h, WR_P_NORMALIZE, in->schema, at);
    n->n_inputs = 1;
    ph_input(h, &n->inputs[0], in, keys, n_keys);
    n->normalize = (wr_normalize_opts){.n_keys = n_keys, .keys = keys, .emit_before = true, .materialize = materialize};
    n->single = n_keys == 0;
    n->n_upsert_key = n_keys;
    n->upsert_key = keys;
    pinfo i = *ph_info(h, in);
    i.updating = i.has_key = i.by_keys = true;
    i.from = NULL;
    set_hash(h, &i, keys, n_keys);
    return ph_put(h, n, i);
}

/* ---- nodes ---- */

static pinfo pass_dist(phys *h, const lnode *n, const wr_pnode *in, const int32_t *new_col) {
    pinfo i = info_of(n), *f = ph_info(h, in);
    i.dist = f->dist;
    i.by_keys = f->by_keys;
    if (f->dist != DIST_HASH) return i;
    i.n_dist = f->n_dist;
    i.dist_cols = wr_new_n(h->p->arena, uint32_t, f->n_dist);
    for (uint32_t k = 0; k < f->n_dist; k++) {
        int32_t c = new_col ? new_col[f->dist_cols[k]] : (int32_t)f->dist_cols[k];
        if (c < 0) return i.dist = DIST_ANY, i;
        i.dist_cols[k] = (uint32_t)c;
    }
    return i;
}

/* All changes of one key come from one worker, so that they arrive in order. */
static bool in_order_by_key(const pinfo *i, const uint32_t *key, uint32_t n_key) {
    if (i->dist == DIST_SINGLE) return true;
    if (i->dist != DIST_HASH) return false;
    for (uint32_t k = 0; k < i->n_dist; k++) {
        bool found = false;
        for (uint32_t m = 0; m < n_key; m++) found |= i->dist_cols[k] == key[m];
        if (!found) return false;
    }
    return true;
}

/* A row may be replaced by its key: it has one, and what happens to a row of that key arrives in order. (An exchange by other columns sends the row before a change
 * and the row after it different ways. Flink: FlinkRelMdUpsertKeys, which keeps a key through an exchange only when the exchange's columns are of it.) */
bool ph_by_key(phys *h, const wr_pnode *in) {
    const pinfo *i = ph_info(h, in);
    return i->has_key && in_order_by_key(i, in->upsert_key, in->n_upsert_key);
}

static bool is_undetermined(const lnode *n, const wr_expr *filter, wr_expr **exprs) {
    bool any = filter && wr_expr_volatility(filter) != WR_VOL_PURE;
    for (uint32_t i = 0; i < n->schema.n; i++) any |= wr_expr_volatility(exprs[i]) != WR_VOL_PURE;
    return any;
}

/* As a calc, but what is not determined by the row is kept for its retraction. It stays where its rows are, if they are by some key. */
static wr_pnode *keep_node(phys *h, const lnode *n, wr_pnode *c, wr_pnode *in, wr_expr *filter, wr_expr **exprs, const int32_t *at) {
    const pinfo    *f = ph_info(h, in);
    bool            by_key = ph_by_key(h, in) && in->n_upsert_key;
    uint32_t        n_keys = f->dist == DIST_SINGLE ? 0 : f->dist == DIST_HASH ? f->n_dist : by_key ? in->n_upsert_key : in->schema.n;
    const uint32_t *keys = f->dist == DIST_HASH ? f->dist_cols : by_key ? in->upsert_key : first_cols(h, in->schema.n);
    c->kind = WR_P_KEEP;
    c->n_inputs = 1;
    c->keep = (wr_keep_opts){.calc = {.filter = filter, .n_exprs = n->schema.n, .exprs = exprs}, .n_keys = n_keys, .keys = keys};
    c->single = n_keys == 0;
    pinfo i = pass_dist(h, n, in, at);
    ph_input(h, &c->inputs[0], in, keys, n_keys);
    upsert_key(c, &n->props);
    if (f->has_key && !ph_by_key(h, in)) i.has_key = false, c->n_upsert_key = 0; /* found by the whole row, so the row before a change is needed */
    return ph_put(h, c, i);
}

wr_pnode *ph_calc(phys *h, const lnode *n, wr_pnode *in, wr_expr *filter, wr_expr **exprs) {
    int32_t *at = wr_new_n(h->p->arena, int32_t, in->schema.n + 1);
    bool     pass = n->schema.n == in->schema.n, same_names = true;
    memset(at, 0xff, sizeof *at * (in->schema.n + 1));
    for (uint32_t i = n->schema.n; i-- > 0;) {
        if (exprs[i]->kind == WR_E_COL) at[exprs[i]->col] = (int32_t)i;
        pass &= exprs[i]->kind == WR_E_COL && exprs[i]->col == i;
        same_names &= exprs[i]->kind == WR_E_COL && wr_str_eq(in->schema.fields[exprs[i]->col].name, n->schema.fields[i].name);
    }
    if (pass && !filter && same_names) return in;
    wr_pnode *c = ph_new(h, WR_P_CALC, n->schema, n->at);
    if (filter) c->at = filter->at;
    if (ph_info(h, in)->updating && is_undetermined(n, filter, exprs)) return keep_node(h, n, c, in, filter, exprs, at);
    c->n_inputs = 1;
    forward(h, &c->inputs[0], in);
    c->calc = (wr_calc_opts){.filter = filter, .n_exprs = n->schema.n, .exprs = exprs, .pass = pass};
    upsert_key(c, &n->props);
    return ph_put(h, c, pass_dist(h, n, in, at));
}

static wr_pnode *build_scan(phys *h, const lnode *n) { /* a scan that is not under a calc: project what it asked for */
    wr_pnode *s = source_node(h, n->scan.table);
    const uint32_t *pos = NULL;
    for (uint32_t i = 0; i < h->sources.n; i++)
        if (h->sources.at[i].ti->table == n->scan.table) pos = h->sources.at[i].pos;
    wr_expr **exprs = wr_new_n(h->p->arena, wr_expr *, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) exprs[i] = wr_expr_col(h->p->arena, pos[n->scan.cols[i]], n->schema.fields[i].type, n->at);
    return ph_calc(h, n, s, NULL, exprs);
}

static wr_pnode *build_calc(phys *h, lnode *n) {
    lnode *in = n->in[0];
    if (in->kind != L_SCAN) return ph_calc(h, n, ph_build(h, in), n->calc.filter, n->calc.exprs);
    wr_pnode *s = source_node(h, in->scan.table);
    uint32_t *map = wr_new_n(h->p->arena, uint32_t, in->schema.n + 1);
    for (uint32_t i = 0; i < h->sources.n; i++)
        if (h->sources.at[i].ti->table == in->scan.table)
            for (uint32_t k = 0; k < in->schema.n; k++) map[k] = h->sources.at[i].pos[in->scan.cols[k]];
    wr_expr **exprs = wr_new_n(h->p->arena, wr_expr *, n->schema.n);
    for (uint32_t i = 0; i < n->schema.n; i++) exprs[i] = wr_expr_remap(h->p->arena, n->calc.exprs[i], map);
    return ph_calc(h, n, s, n->calc.filter ? wr_expr_remap(h->p->arena, n->calc.filter, map) : NULL, exprs);
}

static int64_t ttl_of(phys *h, int64_t said) { return said >= 0 ? said : h->p->ttl_us; }
static int64_t over_ttl(phys *h, int64_t said) { return said ? WR_MAX(said, (int64_t)0) : h->p->ttl_us; }

static wr_pnode *build_agg(phys *h, lnode *n) {
    n = ph_split_distinct(h, n);
    wr_pnode *in = ph_build(h, n->in[0]), *a = ph_new(h, n->kind == L_AGG ? WR_P_GROUP_AGG : WR_P_WINDOW_AGG, n->schema, n->at);
    pinfo     i = info_of(n);
    a->n_inputs = 1;
    ph_input(h, &a->inputs[0], in, n->agg.keys, n->agg.n_keys);
    a->single = n->agg.n_keys == 0;
    set_hash(h, &i, first_cols(h, n->agg.n_keys), n->agg.n_keys);
    upsert_key(a, &n->props);
    bool retract = ph_info(h, in)->updating;
    i.by_keys = n->kind == L_AGG;
    if (n->kind == L_AGG) {
        int64_t ttl = ttl_of(h, n->agg.ttl_us);
        a->group_agg = (wr_group_agg_opts){.n_keys = n->agg.n_keys, .keys = n->agg.keys, .n_aggs = n->agg.n_aggs, .aggs = n->agg.aggs, .retract_input = retract,
                                           .emit_before = true, .ttl_us = ttl, .ttl_event_time = ttl > 0 && ph_info(h, in)->watermarked,
                                           .row_when_empty = !n->agg.n_keys && n->props.bounded && pl_is_batch(h->p)};
    } else {
        a->window_agg = (wr_window_agg_opts){.window = n->agg.window, .n_keys = n->agg.n_keys, .keys = n->agg.keys, .n_aggs = n->agg.n_aggs, .aggs = n->agg.aggs,
                                             .retract_input = retract, .out_start = n->agg.out_start, .out_end = n->agg.out_end, .out_time = n->agg.out_time,
                                             .input_is_windowed = n->agg.windowed_input, .in_start = n->agg.windowed_input ? n->agg.in_start : -1,
                                             .in_end = n->agg.windowed_input ? n->agg.in_end : -1};
    }
    ph_check_user_aggs(h, a);
    ph_two_phases(h, a);
    return ph_put(h, a, i);
}

static wr_pnode *build_join(phys *h, lnode *n) {
    static const wr_pnode_kind KIND[] = {[L_JOIN] = WR_P_JOIN, [L_INTERVAL_JOIN] = WR_P_INTERVAL_JOIN, [L_TEMPORAL_JOIN] = WR_P_TEMPORAL_JOIN, [L_WINDOW_JOIN] = WR_P_WINDOW_JOIN};
    lnode       *whole = n;
    wr_pnode    *l = ph_build(h, n->in[0]), *r = ph_build(h, n->in[1]);
    n = ph_split_join(h, n, &l, &r);
    wr_pnode    *j = ph_new(h, KIND[n->kind], n->schema, n->join.op_at);
    pinfo        i = info_of(n);
    wr_join_keys keys = {n->join.n_keys, n->join.left_keys, n->join.right_keys, n->join.null_safe};
    wr_join_kind k = n->join.kind;
    j->n_inputs = 2;
    bool one = keys.n == 0 || (n->join.null_aware && k == WR_JOIN_ANTI); /* NOT IN: a NULL on the right concerns every key */
    ph_input(h, &j->inputs[0], l, keys.left, one ? 0 : keys.n);
    ph_input(h, &j->inputs[1], r, keys.right, one ? 0 : keys.n);
    j->single = one;
    if (one) {
        i.dist = DIST_SINGLE;
    } else if (k == WR_JOIN_RIGHT) {
        uint32_t *cols = wr_new_n(h->p->arena, uint32_t, keys.n);
        for (uint32_t c = 0; c < keys.n; c++) cols[c] = l->schema.n + keys.right[c];
        set_hash(h, &i, cols, keys.n);
    } else if (k == WR_JOIN_FULL) {
        i.dist = DIST_ANY;
    } else {
        set_hash(h, &i, keys.left, keys.n);
    }
    upsert_key(j, &n->props);
    switch (n->kind) {
    case L_INTERVAL_JOIN:
        j->interval_join = (wr_interval_join_opts){k, keys, n->join.left_time, n->join.right_time, n->join.lower_us, n->join.upper_us, n->join.residual, n->join.proctime};
        break;
    case L_TEMPORAL_JOIN: j->temporal_join = (wr_temporal_join_opts){k, keys, n->join.left_time, n->join.right_time, n->join.residual}; break;
    case L_WINDOW_JOIN:
        j->window_join = (wr_window_join_opts){k, keys, n->join.left_end, n->join.right_end, n->join.left_start, n->join.right_start, n->in[0]->props.win.ltz, n->join.residual};
        break;
    default: j->join = (wr_join_opts){k, keys, n->join.residual, {ttl_of(h, n->join.ttl_us[0]), ttl_of(h, n->join.ttl_us[1])}, n->join.null_aware && k == WR_JOIN_ANTI}; break;
    }
    j = ph_put(h, j, i);
    return n == whole ? j : ph_unsplit_join(h, whole, j);
}

static wr_pnode *build_lookup(phys *h, lnode *n) {
    pl           *p = h->p;
    const lnode  *scan = n->in[1];
    tinfo        *ti = pl_table_info(p, scan->scan.table);
    wr_pnode     *in = ph_build(h, n->in[0]), *j = ph_new(h, WR_P_LOOKUP_JOIN, n->schema, n->join.op_at);
    pinfo         i = info_of(n);
    wr_expr     **exprs = wr_new_n(p->arena, wr_expr *, scan->schema.n);
    uint8_t      *needed = wr_new_n(p->arena, uint8_t, ti->decoded.n + 1);
    uint32_t     *table_keys = wr_new_n(p->arena, uint32_t, n->join.n_keys);
    for (uint32_t c = 0; c < scan->schema.n; c++) {
        exprs[c] = ti->exprs[scan->scan.cols[c]];
        mark(exprs[c], needed);
    }
    for (uint32_t k = 0; k < n->join.n_keys; k++) table_keys[k] = exprs[n->join.right_keys[k]]->col;
    j->lookup = (wr_p_lookup){.from = {.table = scan->scan.table, .connector = ti->connector, .decoded = ti->decoded, .n_physical = ti->n_physical, .metadata_keys = ti->metadata_keys,
                                       .needed = needed, .n_exprs = scan->schema.n, .exprs = exprs, .rowtime_out = -1, .bounded = ti->bounded},
                              .right = scan->schema, .table_keys = table_keys, .opts = *n->join.lookup};
    j->lookup.opts.kind = n->join.kind;
    j->lookup.opts.keys = (wr_join_keys){n->join.n_keys, n->join.left_keys, n->join.right_keys, NULL};
    j->lookup.opts.residual = n->join.residual;
    j->lookup.opts.kept = ph_info(h, in)->updating;
    j->n_inputs = 1;
    ph_input(h, &j->inputs[0], in, n->join.left_keys, n->join.n_keys);
    set_hash(h, &i, n->join.left_keys, n->join.n_keys);
    upsert_key(j, &n->props);
    return ph_put(h, j, i);
}

static wr_pnode *build_ranked(phys *h, lnode *n) {
    wr_pnode *in = ph_build(h, n->in[0]), *t;
    pinfo     i = info_of(n);
    bool      updating = ph_info(h, in)->updating;
    i.by_keys = n->kind == L_DEDUP || (n->kind == L_TOP_N && n->rank.window_end < 0);
    if (n->kind == L_TOP_N) {
        t = ph_new(h, WR_P_TOP_N, n->schema, n->at);
        t->top_n = (wr_top_n_opts){.rank = n->rank.rank, .n_keys = n->rank.n_keys, .keys = n->rank.keys, .n_order = n->rank.n_order, .order = n->rank.order, .first = n->rank.first,
                                   .last = n->rank.last, .out_rank = n->rank.out_rank, .retract_input = updating, .emit_before = true, .n_unique = n->rank.n_unique,
                                   .unique = n->rank.unique, .window_end = n->rank.window_end, .ttl_us = n->rank.window_end >= 0 ? 0 : over_ttl(h, n->rank.ttl_us)};
        t->top_n.by_row = updating && !ph_by_key(h, in);
        t->top_n.n_fns = n->rank.n_fns, t->top_n.fns = n->rank.fns;
        t->top_n.ltz = n->in[0]->props.win.on && n->in[0]->props.win.ltz;
    } else if (n->kind == L_DEDUP) {
        t = ph_new(h, WR_P_DEDUP, n->schema, n->at);
        t->dedup = (wr_dedup_opts){.n_keys = n->rank.n_keys, .keys = n->rank.keys, .time_col = n->rank.time_col, .keep_last = n->rank.keep_last, .emit_before = true,
                                   .ttl_us = over_ttl(h, n->rank.ttl_us)};
        t->dedup.ttl_event_time = t->dedup.ttl_us > 0 && ph_info(h, in)->watermarked;
    } else {
        t = ph_new(h, WR_P_TIME_SORT, n->schema, n->at);
        t->time_sort = (wr_time_sort_opts){(uint32_t)n->rank.time_col, n->rank.n_order, n->rank.order};
    }
    t->n_inputs = 1;
    ph_input(h, &t->inputs[0], in, n->rank.keys, n->kind == L_TIME_SORT ? 0 : n->rank.n_keys);
    t->single = n->kind == L_TIME_SORT || n->rank.n_keys == 0;
    set_hash(h, &i, n->rank.keys, t->single ? 0 : n->rank.n_keys);
    upsert_key(t, &n->props);
    return ph_put(h, t, i);
}

static wr_pnode *build_over(phys *h, lnode *n) {
    wr_pnode *in = ph_build(h, n->in[0]), *o = ph_new(h, WR_P_OVER, n->schema, n->at);
    pinfo     i = info_of(n);
    o->over = (wr_over_opts){.n_keys = n->over.n_keys, .keys = n->over.keys, .time_col = n->over.by_arrival ? -1 : (int32_t)n->over.order.col, .n_fns = n->over.n_fns, .fns = n->over.fns,
                             .ttl_us = over_ttl(h, n->over.ttl_us)};
    o->n_inputs = 1;
    ph_input(h, &o->inputs[0], in, n->over.keys, n->over.n_keys);
    o->single = n->over.n_keys == 0;
    ph_check_user_aggs(h, o);
    set_hash(h, &i, n->over.keys, n->over.n_keys);
    upsert_key(o, &n->props);
    return ph_put(h, o, i);
}

static wr_pnode *build_match(phys *h, lnode *n) {
    wr_pnode *in = ph_build(h, n->in[0]), *m = ph_new(h, WR_P_MATCH, n->schema, n->at);
    pinfo     i = info_of(n);
    m->match = n->match;
    m->n_inputs = 1;
    ph_input(h, &m->inputs[0], in, n->match.keys, n->match.n_keys);
    m->single = n->match.n_keys == 0;
    set_hash(h, &i, first_cols(h, n->match.n_keys), n->match.n_keys);
    if (!m->match.within_us && pl_match_endless(&m->match) && h->p->ttl_us > 0) m->match.within_us = h->p->ttl_us, m->match.within_is_ttl = true;
    return ph_put(h, m, i);
}

static wr_pnode *build_assign(phys *h, lnode *n) {
    wr_pnode *orders = ph_build(h, n->in[0]), *couriers = ph_build(h, n->in[1]), *a = ph_new(h, WR_P_ASSIGN, n->schema, n->at);
    pinfo     i = info_of(n);
    a->assign = n->assign;
    a->n_inputs = 2;
    ph_input(h, &a->inputs[0], orders, n->assign.side[0].keys, n->assign.n_keys);
    ph_input(h, &a->inputs[1], couriers, n->assign.side[1].keys, n->assign.n_keys);
    a->single = n->assign.n_keys == 0;
    set_hash(h, &i, first_cols(h, n->assign.n_keys), n->assign.n_keys);
    return ph_put(h, a, i);
}

static wr_pnode *build_limit(phys *h, lnode *n) {
    wr_pnode *in = ph_build(h, n->in[0]), *l = ph_new(h, WR_P_LIMIT, n->schema, n->at);
    pinfo     i = info_of(n);
    l->n_inputs = 1;
    gather(h, &l->inputs[0], in);
    l->single = true;
    l->limit = (wr_limit_opts){n->limit.offset, n->limit.n, ph_info(h, in)->updating};
    i.dist = DIST_SINGLE;
    upsert_key(l, &n->props);
    return ph_put(h, l, i);
}

static void flatten(phys *h, lnode *n, lnode **list, uint32_t *count) { /* UNION of UNIONs is one UNION */
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i]->kind == L_UNION && n->in[i]->schema.n == n->schema.n) flatten(h, n->in[i], list, count);
        else list[(*count)++] = n->in[i];
    }
}

static uint32_t count_branches(const lnode *n) {
    uint32_t c = 0;
    for (uint32_t i = 0; i < n->n_in; i++) c += n->in[i]->kind == L_UNION ? count_branches(n->in[i]) : 1;
    return c;
}

static wr_pnode *build_union(phys *h, lnode *n) {
    uint32_t count = 0, singles = 0;
    lnode  **list = wr_new_n(h->p->arena, lnode *, count_branches(n));
    flatten(h, n, list, &count);
    wr_pnode **in = wr_new_n(h->p->arena, wr_pnode *, count);
    for (uint32_t i = 0; i < count; i++) {
        in[i] = ph_build(h, list[i]);
        singles += ph_info(h, in[i])->dist == DIST_SINGLE;
    }
    wr_pnode *u = ph_new(h, WR_P_UNION, n->schema, n->at);
    pinfo     i = info_of(n);
    u->n_union = count;
    u->union_inputs = wr_new_n(h->p->arena, wr_pinput, count);
    for (uint32_t k = 0; k < count; k++) {
        if (singles) gather(h, &u->union_inputs[k], in[k]); /* one branch runs once: all do, so that order and watermarks stay simple */
        else forward(h, &u->union_inputs[k], in[k]);
    }
    u->single = singles > 0;
    i.dist = singles ? DIST_SINGLE : DIST_ANY;
    return ph_put(h, u, i);
}

static wr_pnode *build_unnest(phys *h, lnode *n) {
    wr_pnode *in = ph_build(h, n->in[0]), *u = ph_new(h, WR_P_UNNEST, n->schema, n->at);
    int32_t  *at = wr_new_n(h->p->arena, int32_t, in->schema.n + 1);
    memset(at, 0xff, sizeof *at * (in->schema.n + 1));
    for (uint32_t i = n->unnest.n_pass; i-- > 0;) at[n->unnest.pass[i]] = (int32_t)i;
    u->n_inputs = 1;
    forward(h, &u->inputs[0], in);
    u->unnest = (wr_unnest_opts){n->unnest.col, n->unnest.n_pass, n->unnest.pass, n->unnest.outer, n->unnest.ordinality};
    ph_check_unnest(h, u);
    upsert_key(u, &n->props);
    return ph_put(h, u, pass_dist(h, n, in, at));
}

static wr_pnode *build_changelog(phys *h, lnode *n) {
    wr_pnode *in = ph_build(h, n->in[0]), *c = ph_new(h, WR_P_CALC, n->schema, n->at);
    int32_t  *at = wr_new_n(h->p->arena, int32_t, in->schema.n + 1);
    wr_value  op = {.type = wr_type_not_null(wr_type_string()), .s = WR_STR("kind of change")};
    c->calc.kinds = n->kinds;
    c->calc.exprs = wr_new_n(h->p->arena, wr_expr *, n->schema.n);
    if (n->kinds->to) c->calc.exprs[c->calc.n_exprs++] = wr_expr_const(h->p->arena, op, n->at);
    for (uint32_t i = 0; i < in->schema.n; i++) {
        at[i] = -1;
        if (!n->kinds->to && i == n->kinds->col) continue;
        at[i] = (int32_t)c->calc.n_exprs;
        c->calc.exprs[c->calc.n_exprs++] = wr_expr_col(h->p->arena, i, in->schema.fields[i].type, n->at);
    }
    c->n_inputs = 1;
    forward(h, &c->inputs[0], in);
    return ph_put(h, c, pass_dist(h, n, in, at));
}

wr_pnode *ph_build(phys *h, lnode *n) {
    switch (n->kind) {
    case L_SCAN: return build_scan(h, n);
    case L_CALC: return build_calc(h, n);
    case L_VALUES: {
        wr_pnode *v = ph_new(h, WR_P_VALUES, n->schema, n->at);
        pinfo     i = info_of(n);
        v->values.n_rows = n->values.n_rows;
        v->values.rows = n->values.rows;
        v->single = true;
        return ph_put(h, v, i);
    }
    case L_TVF: {
        wr_pnode *in = ph_build(h, n->in[0]), *t = ph_new(h, WR_P_WINDOW_TVF, n->schema, n->at);
        t->n_inputs = 1;
        forward(h, &t->inputs[0], in);
        t->window_tvf = n->tvf.window;
        upsert_key(t, &n->props);
        return ph_put(h, t, pass_dist(h, n, in, NULL));
    }
    case L_UNNEST: return build_unnest(h, n);
    case L_CHANGELOG: return build_changelog(h, n);
    case L_AGG:
    case L_WINDOW_AGG: return build_agg(h, n);
    case L_JOIN:
    case L_INTERVAL_JOIN:
    case L_TEMPORAL_JOIN:
    case L_WINDOW_JOIN: return build_join(h, n);
    case L_LOOKUP_JOIN: return build_lookup(h, n);
    case L_TOP_N:
    case L_DEDUP:
    case L_TIME_SORT: return build_ranked(h, n);
    case L_OVER: return build_over(h, n);
    case L_LIMIT: return build_limit(h, n);
    case L_MATCH: return build_match(h, n);
    case L_ASSIGN: return build_assign(h, n);
    case L_UNION: return build_union(h, n);
    default: wr_panic(__FILE__, __LINE__, "logical node that convert should have replaced");
    }
}

/* ---- sinks ---- */

static const wr_pnode *first_changer(phys *h, const wr_pnode *n) { /* the node that makes the stream change rows */
    while ((n->kind == WR_P_CALC && !n->calc.kinds) || n->kind == WR_P_KEEP || n->kind == WR_P_WINDOW_TVF || n->kind == WR_P_LIMIT || n->kind == WR_P_UNION || n->kind == WR_P_UNNEST) {
        const wr_pnode *next = NULL;
        for (uint32_t i = 0; i < n->n_inputs && !next; i++)
            if (ph_info(h, n->inputs[i].node)->updating) next = n->inputs[i].node;
        for (uint32_t i = 0; i < n->n_union && !next; i++)
            if (ph_info(h, n->union_inputs[i].node)->updating) next = n->union_inputs[i].node;
        if (!next) return n;
        n = next;
    }
    return n;
}

static const char *changer_name(const wr_pnode *n) {
    switch (n->kind) {
    case WR_P_GROUP_AGG: return n->group_agg.n_keys ? "GROUP BY" : "an aggregate without GROUP BY";
    case WR_P_JOIN: return "a join";
    case WR_P_TOP_N: return "a Top-N";
    case WR_P_DEDUP: return "ROW_NUMBER() = 1 (keep last)";
    case WR_P_SOURCE:
    case WR_P_NORMALIZE: return "a changelog source";
    case WR_P_CALC: return "FROM_CHANGELOG";
    default: return "the query";
    }
}

static bool same_set(const wr_pnode *n, bool has_key, const uint32_t *key, uint32_t n_key) {
    if (!has_key || n->n_upsert_key != n_key) return false;
    for (uint32_t i = 0; i < n_key; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n_key; k++) found |= n->upsert_key[k] == key[i];
        if (!found) return false;
    }
    return true;
}

static void refuse_updates(phys *h, const lsink *s, const wr_pnode *in) {
    const wr_pnode *c = first_changer(h, in);
    pl_error(h->p, "0A000", s->at, "sink '%.*s' takes only inserts, but the query updates rows: %s at %u:%u", WR_FMT(s->table->name), changer_name(c), c->at.line, c->at.col);
    wr_diags_hint(h->p->diags, "%s", c->kind == WR_P_GROUP_AGG ? "give the table a PRIMARY KEY and a connector that can update, or group by a window: then each result is final"
                                                               : "give the table a PRIMARY KEY and a connector that can update rows");
}

static void build_sink(phys *h, lsink *s) {
    pl       *p = h->p;
    wr_pnode *in = ph_build(h, s->root);
    if (!s->is_result && s->table->is_view) {
        ph_view(h, s, in);
        return;
    }
    pinfo    *fi = ph_info(h, in);
    int       takes = 2;
    bool      parallel = false;
    uint32_t *key = NULL, n_key = 0;
    if (!s->is_result) {
        tinfo *ti = pl_table_info(p, s->table);
        if (ti->connector) {
            takes = ti->connector->sink_takes ? ti->connector->sink_takes(s->table) : 2;
            parallel = ti->connector->parallel_sink;
        }
        n_key = s->table->n_key;
        key = wr_new_n(p->arena, uint32_t, n_key);
        for (uint32_t i = 0; i < n_key; i++) key[i] = (uint32_t)wr_schema_find(&s->write_schema, s->table->columns[s->table->key[i]].name);
        if (fi->updating && (takes == 0 || (takes == 1 && !n_key))) {
            refuse_updates(h, s, in);
            return;
        }
        if (fi->updating && takes == 1 && !(same_set(in, fi->has_key, key, n_key) && in_order_by_key(fi, key, n_key))) in = ph_normalize(h, in, key, n_key, true, s->at);
    }
    wr_pnode *n = ph_new(h, WR_P_SINK, in->schema, s->at);
    n->n_inputs = 1;
    n->single = !parallel;
    if (n->single) gather(h, &n->inputs[0], in);
    else if (takes == 1 && n_key) ph_input(h, &n->inputs[0], in, key, n_key);
    else forward(h, &n->inputs[0], in);
    n->sink.table = s->table;
    n->sink.is_result = s->is_result;
    if (!s->is_result) n->sink.connector = pl_table_info(p, s->table)->connector, n->sink.letters = pl_table_info(p, s->table)->letters, n->sink.letters_connector = pl_table_info(p, s->table)->letters_connector;
    n->sink.write_schema = s->write_schema;
    n->sink.n_hidden = s->n_hidden, n->sink.n_order = s->n_order, n->sink.order = s->order;
    n->n_upsert_key = in->n_upsert_key;
    n->upsert_key = in->upsert_key;
    pinfo i = *ph_info(h, in);
    i.from = NULL;
    i.needs_before = takes == 2;
    ph_put(h, n, i);
}

wr_job_plan *pl_physical(pl *p, lsinks *sinks) {
    phys h = {.p = p, .job = wr_new(p->arena, wr_job_plan)};
    h.job->tz = p->tz;
    h.job->name = wr_catalog_get(p->ctx->catalog, "pipeline.name");
    pl_unmatched(p, h.job, sinks->n ? sinks->at[0].at : (wr_span){0});
    for (uint32_t i = 0; i < sinks->n; i++) collect(&h, sinks->at[i].root);
    for (uint32_t i = 0; i < sinks->n; i++) build_sink(&h, &sinks->at[i]);
    h.job->bounded = true;
    for (uint32_t i = 0; i < h.job->nodes.n; i++)
        if (h.job->nodes.at[i]->kind == WR_P_SOURCE) h.job->bounded &= h.job->nodes.at[i]->source.bounded;
    ph_infer(&h);
    ph_bill(&h);
    return h.job;
}
