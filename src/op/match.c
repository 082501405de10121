/* op/match.c: MATCH_RECOGNIZE: rows of a key that stand in a pattern, in event-time order.
 *
 * Idea       rows wait until the watermark has passed them and are then fed to the key's runs (match.h) by time, further sort columns, arrival. A
 *            timer a key says when there is something to feed or a run's time is over. Conditions that read only the row at hand come as BOOLEAN
 *            columns, made by a calc below for whole batches; the others are evaluated row by row over the values they name (refs). Measures are
 *            evaluated for a batch of matches at a time.
 * Late rows  behind their own watermark: dropped and counted. A run that WITHIN ends counts the row that began it as expired.
 * Output     key columns, then measures; append-only, in time order a key; MATCH_ROWTIME is the time of the row (or the end of WITHIN) that decided.
 * State      map of keys, values may be in the tier; timers hold slots.  Memory: rows, nodes and arrays are charged.  Thread: one worker. */
#include "op/match.h"
#include "op/row_order.h"

enum { VERSION = 1, MALLOC_EXTRA = 16, EVAL_USES = 64 };
static const char tag[] = "match";

static void charge(wr_match *m) {
    if (m->heap_bytes != m->heap_told) wr_kmap_charge(m->map, m->heap_bytes - m->heap_told);
    m->heap_told = m->heap_bytes;
}
static int64_t heap_bytes(void *self) { /* all is charged to the map */
    charge(self);
    return 0;
}

/* ---- values of a match ---- */

/* Memory for decoded text is renewed now and then. */
static void fresh_one(wr_match *m) {
    if (m->one && ++m->one_uses < EVAL_USES) return;
    wr_batch_unref(m->one);
    m->one_uses = 0;
    m->one = wr_batch_new(m->n_cols, 1024);
    for (uint32_t c = 0; c < m->n_cols; c++) wr_vec_init(&m->one->cols[c], m->types[c], 1, true, m->one->mem);
    m->one->n_rows = 1;
}
void wr_match_fresh_eval(wr_match *m) {
    if (m->eval && ++m->eval_uses < EVAL_USES) return;
    wr_batch_unref(m->eval);
    m->eval_uses = 0;
    m->eval = wr_batch_new(m->opts.n_refs, 1024);
    for (uint32_t r = 0; r < m->opts.n_refs; r++) {
        wr_vec_init(&m->eval->cols[r], m->opts.refs[r].type, 1, true, m->eval->mem);
        wr_vec_set_null(&m->eval->cols[r], 0, m->eval->mem);
    }
    m->eval->n_rows = 1;
}
void wr_match_decode(wr_match *m, const wr_mrow *row) {
    if (m->decoded == row) return;
    m->decoded = row;
    fresh_one(m);
    bool ok = wr_rowcodec_get(m->codec, (wr_str){row->mem + row->key_len, row->len - row->key_len}, m->one->cols, 0, m->one->mem);
    wr_assert(ok);
}
static const wr_mrow *row_of(const wr_match_ref *r, const wr_mnode *node) {
    uint64_t want = r->offset;
    if (r->kind == WR_MATCH_REF_FIRST) {
        uint64_t n = 0;
        for (const wr_mnode *x = node; x; x = x->prev) n += r->var < 0 || x->var == (uint32_t)r->var;
        if (r->offset >= n) return NULL;
        want = n - 1 - r->offset;
    }
    for (const wr_mnode *x = node; x; x = x->prev)
        if ((r->var < 0 || x->var == (uint32_t)r->var) && want-- == 0) return x->row;
    return NULL;
}
static wr_status aggregate(wr_match *m, uint32_t ref, const wr_mnode *node, wr_vec *dst, uint32_t row, wr_mem *mem, wr_err *err) {
    const wr_match_ref *r = &m->opts.refs[ref];
    wr_aggs            *a = m->aggs[ref];
    wr_status           s = WR_OK;
    void               *block = wr_calloc(1, WR_MAX(a->bytes, 16u));
    m->rows.n = 0;
    for (const wr_mnode *x = node; x; x = x->prev)
        if (r->var < 0 || x->var == (uint32_t)r->var) wr_arr_push(&m->rows, x->row);
    for (uint32_t left = m->rows.n; left && s == WR_OK;) { /* they were collected from the last to the first */
        uint32_t  n = WR_MIN(left, (uint32_t)WR_BATCH_MAX);
        wr_batch *b = wr_batch_new(m->n_cols, 1024);
        uint32_t *at = wr_mem_alloc(b->mem, n * sizeof *at);
        void    **blocks = wr_mem_alloc(b->mem, n * sizeof *blocks);
        for (uint32_t c = 0; c < m->n_cols; c++) wr_vec_init(&b->cols[c], m->types[c], n, true, b->mem);
        for (uint32_t i = 0; i < n; i++) {
            const wr_mrow *x = m->rows.at[--left];
            bool           ok = wr_rowcodec_get(m->codec, (wr_str){x->mem + x->key_len, x->len - x->key_len}, b->cols, i, b->mem);
            wr_assert(ok);
            at[i] = i, blocks[i] = block;
        }
        b->n_rows = n;
        s = wr_aggs_update(a, b, at, blocks, n, err);
        a->seq += n;
        wr_batch_unref(b);
    }
    void *one[1] = {block};
    if (dst->valid) wr_valid_set(dst->valid, row, true); /* of the evaluation before */
    if (s == WR_OK) wr_aggs_result(a, 0, one, 1, dst, row, 1, mem);
    wr_aggs_drop(a, block);
    wr_free(block);
    return s;
}
wr_status wr_match_ref_put(wr_match *m, uint32_t ref, wr_mnode *node, wr_vec *dst, uint32_t row, wr_mem *mem, wr_err *err) {
    const wr_match_ref *r = &m->opts.refs[ref];
    if (r->kind == WR_MATCH_REF_TIME) return WR_OK; /* of measures only: wr_match_found knows it */
    if (r->kind == WR_MATCH_REF_AGG) return aggregate(m, ref, node, dst, row, mem, err);
    const wr_mrow *x = row_of(r, node);
    if (!x) {
        wr_vec_set_null(dst, row, mem);
        return WR_OK;
    }
    wr_match_decode(m, x);
    wr_vec_set(dst, row, &m->one->cols[r->col], 0, mem);
    return WR_OK;
}

/* ---- output ---- */

static wr_status flush(wr_match *m, wr_out *out, wr_err *err) {
    uint32_t n = m->n_out;
    if (!n) return WR_OK;
    wr_batch *refs = m->out;
    m->out = NULL, m->n_out = 0;
    refs->n_rows = n;
    wr_batch *b = wr_batch_new(m->opts.n_keys + m->opts.n_measures, 1024);
    wr_mem_keep(b->mem, refs->mem);
    b->n_rows = n;
    for (uint32_t k = 0; k < m->opts.n_keys; k++) b->cols[k] = refs->cols[m->opts.n_refs + k];
    wr_status s = WR_OK;
    if (m->measures) {
        wr_batch view = *refs;
        view.n_cols = m->opts.n_refs;
        s = wr_prog_eval(m->measures, &view, m->op.ctx->now_us, b->cols + m->opts.n_keys, b->mem, err);
    }
    for (uint32_t c = 0; c < b->n_cols; c++) b->cols[c].n = n;
    wr_batch_unref(refs);
    if (s == WR_OK) return wr_emit(out, b, err);
    wr_batch_unref(b);
    return s;
}
wr_status wr_match_found(wr_match *m, wr_mnode *last, int64_t time_us, wr_err *err) {
    uint32_t cap = m->op.ctx->batch_rows;
    if (!m->out) {
        m->out = wr_batch_new(m->opts.n_refs + m->opts.n_keys, 4096);
        for (uint32_t r = 0; r < m->opts.n_refs; r++) wr_vec_init(&m->out->cols[r], m->opts.refs[r].type, cap, true, m->out->mem);
        for (uint32_t k = 0; k < m->opts.n_keys; k++) wr_vec_init(&m->out->cols[m->opts.n_refs + k], m->types[m->opts.keys[k]], cap, true, m->out->mem);
        m->out->n_rows = cap;
    }
    uint32_t row = m->n_out++;
    for (uint32_t r = 0; r < m->opts.n_refs; r++) {
        wr_vec *v = &m->out->cols[r];
        if (m->opts.refs[r].kind == WR_MATCH_REF_TIME) ((int64_t *)v->data)[row] = m->opts.refs[r].type.prec > 6 ? time_us * 1000 : time_us;
        else WR_TRY(wr_match_ref_put(m, r, last, v, row, m->out->mem, err));
    }
    wr_match_decode(m, last->row);
    for (uint32_t k = 0; k < m->opts.n_keys; k++) wr_vec_set(&m->out->cols[m->opts.n_refs + k], row, &m->one->cols[m->opts.keys[k]], 0, m->out->mem);
    return m->n_out == cap ? flush(m, m->sink, err) : WR_OK;
}

/* ---- waiting rows ---- */

static bool before(const wr_mrow *a, const wr_mrow *b) {
    if (a->time_us != b->time_us) return a->time_us < b->time_us;
    int order = wr_row_order_compare(a->mem, a->key_len, b->mem, b->key_len);
    return order ? order < 0 : a->no < b->no;
}
static void wait_for_time(wr_match *m, wr_mpart *part, wr_mrow *row) {
    if (part->n == part->cap && part->first > part->cap / 2) {
        memmove(part->waiting, part->waiting + part->first, (part->n - part->first) * sizeof *part->waiting);
        part->n -= part->first, part->first = 0;
    }
    if (part->n == part->cap) {
        uint32_t cap = part->cap ? part->cap * 2 : 4;
        part->waiting = wr_realloc(part->waiting, cap * sizeof *part->waiting);
        m->heap_bytes += (int64_t)((cap - part->cap) * sizeof *part->waiting) + (part->cap ? 0 : MALLOC_EXTRA);
        part->cap = cap;
    }
    uint32_t from = part->first, to = part->n;
    if (from == to || before(part->waiting[to - 1], row)) from = to; /* mostly in order */
    while (from < to) {
        uint32_t mid = (from + to) / 2;
        if (before(part->waiting[mid], row)) from = mid + 1;
        else to = mid;
    }
    memmove(part->waiting + from + 1, part->waiting + from, (part->n - from) * sizeof *part->waiting);
    part->waiting[from] = row;
    part->n++;
}
static void arm(wr_match *m, wr_mpart *part, uint32_t slot) {
    int64_t due = part->first < part->n ? part->waiting[part->first]->time_us : INT64_MAX;
    if (m->opts.within_us && part->runs.n && part->runs.at[0].start != UINT64_MAX) {
        int64_t start = part->runs.at[0].start_us, end = start > INT64_MAX - m->opts.within_us ? INT64_MAX : start + m->opts.within_us;
        due = WR_MIN(due, end);
    }
    if (due == INT64_MAX || (part->n_timers && part->timer_us <= due)) return;
    wr_timers_add(m->timers, due, slot);
    part->timer_us = due;
    part->n_timers++;
}
static bool idle(const wr_mpart *part) { return part->first == part->n && !part->n_timers && !part->done.n && (!part->runs.n || part->runs.at[0].start == UINT64_MAX); }

static wr_status match_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    wr_match *m = (wr_match *)op;
    uint32_t  n = wr_batch_live(batch);
    (void)input, (void)out;
    if (!n) return WR_OK;
    const uint64_t *hash = wr_op_hash(batch, m->opts.keys, m->opts.n_keys, m->hash);
    WR_TRY(wr_kmap_find(m->map, batch, m->opts.keys, hash, true, m->slots, m->created, err));
    wr_kmap_values(m->map, m->slots, n, m->values);
    wr_status s = WR_OK;
    for (uint32_t i = 0; i < n && s == WR_OK; i++) {
        uint32_t  row = wr_batch_row(batch, i);
        wr_mpart *part = m->values[i];
        int64_t   time_us = 0;
        s = wr_op_row_time(&batch->cols[m->opts.time_col], row, &time_us, err);
        if (s != WR_OK) break;
        if (batch->row_wm_us && batch->row_wm_us[row] != WR_TIME_MIN && time_us <= batch->row_wm_us[row]) {
            op->ctx->ledger->dropped[WR_REASON_LATE]++;
            continue;
        }
        wr_sbuf_clear(&m->scratch);
        wr_row_order_put(m->opts.order, m->opts.n_order, batch, row, &m->scratch);
        uint32_t key_len = (uint32_t)m->scratch.len;
        wr_rowcodec_put(m->codec, batch, NULL, row, &m->scratch);
        wait_for_time(m, part, wr_match_row_new(m, time_us, part->arrived++, key_len, wr_sbuf_str(&m->scratch)));
        op->ctx->ledger->kept[0]++;
        arm(m, part, m->slots[i]);
    }
    for (uint32_t i = 0; i < n; i++) /* late rows leave no key behind */
        if (m->created[i] && idle(m->values[i])) wr_kmap_remove(m->map, m->slots[i]);
    charge(m);
    return s;
}

/* ---- at the watermark ---- */

static wr_status feed_part(wr_match *m, wr_mpart *part, int64_t wm_us, wr_out *out, bool *paused, wr_err *err) {
    while (part->first < part->n && part->waiting[part->first]->time_us <= wm_us) {
        if (out->full(out)) {
            *paused = true;
            return WR_OK;
        }
        m->op.ctx->ledger->kept[0]--, m->op.ctx->ledger->used++;
        WR_TRY(wr_match_feed(m, part, part->waiting[part->first++], err));
    }
    if (part->first == part->n) part->first = part->n = 0;
    return wr_match_expire(m, part, wm_us, err);
}
static wr_status match_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    wr_match *m = (wr_match *)op;
    wr_status s = WR_OK;
    int64_t   deadline;
    uint64_t  slot;
    *more = false;
    m->sink = out;
    while (s == WR_OK && !*more && wr_timers_pop(m->timers, wm_us, &deadline, &slot)) {
        s = wr_kmap_relax(m->map, err);
        if (s == WR_OK) s = wr_kmap_warm(m->map, (uint32_t)slot, err);
        if (s != WR_OK) break;
        wr_mpart *part = wr_kmap_value(m->map, (uint32_t)slot);
        part->n_timers--;
        if (part->timer_us == deadline) part->timer_us = INT64_MAX;
        s = feed_part(m, part, wm_us, out, more, err);
        if (s != WR_OK) break;
        arm(m, part, (uint32_t)slot);
        if (idle(part)) wr_kmap_remove(m->map, (uint32_t)slot);
        if (!*more && out->full(out)) *more = wr_timers_first(m->timers) <= wm_us && wr_timers_count(m->timers);
        charge(m);
    }
    if (s == WR_OK) s = flush(m, out, err);
    charge(m);
    return s;
}

/* ---- checkpoint ---- */

static void value_free(void *self, void *value) { /* n_timers and timer_us stay: timers are in memory whether the value is or not */
    wr_match_part_free(self, value);
}
static void put_row(wr_sbuf *out, const wr_mrow *r) {
    wr_put_i64(out, r->time_us);
    wr_put_u64(out, r->no);
    wr_put_u32(out, r->key_len);
    wr_put_bytes(out, r->mem, r->len);
}
static wr_mrow *get_row(wr_match *m, wr_reader *in) {
    int64_t  time_us = wr_get_i64(in);
    uint64_t no = wr_get_u64(in);
    uint32_t key_len = wr_get_u32(in);
    wr_str   bytes = wr_get_bytes(in);
    return in->bad || key_len > bytes.len ? NULL : wr_match_row_new(m, time_us, no, key_len, bytes);
}
/* Numbers the nodes and rows of runs: predecessors first. */
static void number(wr_match *m, const wr_mheap *h) {
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t from = m->nodes.n;
        for (wr_mnode *n = h->at[i].node; n && !n->id; n = n->prev) {
            n->id = 1;
            wr_arr_push(&m->nodes, n);
        }
        for (uint32_t a = from, b = m->nodes.n; a + 1 < b; a++, b--) { /* turn them round */
            wr_mnode *x = m->nodes.at[a];
            m->nodes.at[a] = m->nodes.at[b - 1], m->nodes.at[b - 1] = x;
        }
        for (uint32_t k = from; k < m->nodes.n; k++) {
            m->nodes.at[k]->id = k + 1;
            wr_mrow *row = m->nodes.at[k]->row;
            if (row->id) continue;
            wr_arr_push(&m->rows, row);
            row->id = m->rows.n;
        }
    }
}
static void put_heap(wr_sbuf *out, const wr_mheap *h) {
    wr_put_u32(out, h->n);
    for (uint32_t i = 0; i < h->n; i++) {
        wr_put_u32(out, h->at[i].state);
        wr_put_u64(out, h->at[i].start);
        wr_put_i64(out, h->at[i].start_us);
        wr_put_u32(out, h->at[i].node ? h->at[i].node->id : 0);
    }
}
static void value_save(void *self, const void *value, wr_sbuf *out) {
    wr_match       *m = self;
    const wr_mpart *part = value;
    wr_put_u64(out, part->arrived);
    wr_put_u64(out, part->fed);
    wr_put_u32(out, part->n - part->first);
    for (uint32_t i = part->first; i < part->n; i++) put_row(out, part->waiting[i]);
    m->rows.n = m->nodes.n = 0;
    number(m, &part->runs), number(m, &part->done);
    wr_put_u32(out, m->rows.n);
    for (uint32_t i = 0; i < m->rows.n; i++) put_row(out, m->rows.at[i]);
    wr_put_u32(out, m->nodes.n);
    for (uint32_t i = 0; i < m->nodes.n; i++) {
        const wr_mnode *n = m->nodes.at[i];
        wr_put_u32(out, n->prev ? n->prev->id : 0);
        wr_put_u32(out, n->row->id);
        wr_put_u32(out, n->var);
    }
    put_heap(out, &part->runs), put_heap(out, &part->done);
    for (uint32_t i = 0; i < m->rows.n; i++) m->rows.at[i]->id = 0;
    for (uint32_t i = 0; i < m->nodes.n; i++) m->nodes.at[i]->id = 0;
}
static bool get_heap(wr_match *m, wr_mheap *h, bool done, wr_reader *in) {
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--) {
        wr_mrun r = {.state = wr_get_u32(in)};
        r.start = wr_get_u64(in);
        r.start_us = wr_get_i64(in);
        uint32_t id = wr_get_u32(in);
        bool     begun = r.start != UINT64_MAX;
        if (in->bad || r.state >= m->n_states || id > m->nodes.n || (id != 0) != begun || (done && !begun) || (!begun && r.state != m->start)) return false;
        r.node = id ? m->nodes.at[id - 1] : NULL;
        if (r.node) r.node->refs++;
        wr_match_push(m, h, r);
    }
    return !in->bad;
}
static bool get_nodes(wr_match *m, wr_reader *in) {
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--) {
        wr_mrow *r = get_row(m, in);
        if (!r) return false;
        wr_arr_push(&m->rows, r);
    }
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--) {
        uint32_t prev = wr_get_u32(in), row = wr_get_u32(in), var = wr_get_u32(in);
        if (in->bad || prev > m->nodes.n || !row || row > m->rows.n || var >= m->opts.n_vars) return false;
        wr_arr_push(&m->nodes, wr_match_node_new(m, prev ? m->nodes.at[prev - 1] : NULL, m->rows.at[row - 1], var));
    }
    return !in->bad;
}
static bool value_load(void *self, void *value, wr_reader *in) {
    wr_match *m = self;
    wr_mpart *part = value;
    part->arrived = wr_get_u64(in);
    part->fed = wr_get_u64(in);
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--) {
        wr_mrow *r = get_row(m, in);
        if (!r) return false;
        wait_for_time(m, part, r);
    }
    m->rows.n = m->nodes.n = 0;
    bool ok = get_nodes(m, in) && get_heap(m, &part->runs, false, in) && get_heap(m, &part->done, true, in);
    for (uint32_t i = 0; i < m->nodes.n; i++) wr_match_node_drop(m, m->nodes.at[i]); /* runs hold them */
    for (uint32_t i = 0; i < m->rows.n; i++) wr_match_row_drop(m, m->rows.at[i]);
    return ok && !in->bad;
}
static void value_new(void *self, uint32_t slot, void *value) {
    wr_mpart *part = value;
    part->n_timers = 0, part->timer_us = INT64_MAX;
    arm(self, part, slot);
}
static wr_status match_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    wr_assert(!((wr_match *)op)->n_out);
    wr_op_save_head(out, tag, VERSION);
    return wr_kmap_save(((wr_match *)op)->map, out, err);
}
static wr_status match_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    wr_match *m = (wr_match *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    wr_status s = wr_kmap_load(m->map, in, op->ctx->n_key_groups, from, to, err);
    charge(m);
    return s;
}
static void match_usage(const wr_op *op, wr_op_usage *out) {
    const wr_match *m = (const wr_match *)op;
    *out = (wr_op_usage){.state_bytes = wr_kmap_bytes(m->map), .keys = wr_kmap_count(m->map), .rows = (uint64_t)m->n_rows, .oldest_us = wr_timers_first(m->timers)};
    wr_op_map_usage(m->map, out);
}
static wr_status match_limit(wr_op *op, int64_t bytes, wr_err *err) { return wr_op_limit_map(((wr_match *)op)->map, bytes, err); }
static void match_close(wr_op *op) {
    wr_match *m = (wr_match *)op;
    wr_kmap_free(m->map);
    wr_timers_free(m->timers);
    for (uint32_t v = 0; v < m->opts.n_vars; v++)
        if (m->conds[v]) wr_prog_free(m->conds[v]);
    if (m->measures) wr_prog_free(m->measures);
    for (uint32_t r = 0; r < m->opts.n_refs; r++)
        if (m->aggs[r]) wr_aggs_free(m->aggs[r]);
    wr_free(m->next.at), wr_free(m->hits.at);
    wr_batch_unref(m->one), wr_batch_unref(m->eval), wr_batch_unref(m->out);
    wr_arr_free(&m->rows), wr_arr_free(&m->nodes);
    wr_sbuf_free(&m->scratch);
    wr_arena_free(m->arena);
    wr_free(m);
}
static const wr_op_vt match_vt = {
    .name = "match", .on_batch = match_on_batch, .on_watermark = match_on_watermark, .output_watermark = wr_op_same_watermark, .save = match_save,
    .load = match_load, .usage = match_usage, .limit = match_limit, .close = match_close,
};

double wr_match_key_bytes(double key_bytes) { return wr_kmap_entry_bytes(sizeof(wr_mpart), key_bytes) + 2 * (4 * sizeof(wr_mrun) + MALLOC_EXTRA) + wr_timer_bytes(); }
double wr_match_row_bytes(double row_bytes) { return sizeof(wr_mrow) + sizeof(wr_mnode) + 2 * MALLOC_EXTRA + 12 + row_bytes; }

static void used_refs(const wr_expr *e, bool *used) {
    if (e->kind == WR_E_COL) used[e->col] = true;
    for (uint32_t i = 0; e->kind == WR_E_CALL && i < e->n_args; i++) used_refs(e->args[i], used);
}
static void make_programs(wr_match *m, wr_op_ctx *ctx) {
    m->conds = wr_new_n(m->arena, wr_prog *, m->opts.n_vars + 1);
    m->cond_refs = wr_new_n(m->arena, uint32_t *, m->opts.n_vars + 1);
    m->n_cond_refs = wr_new_n(m->arena, uint32_t, m->opts.n_vars + 1);
    m->aggs = wr_new_n(m->arena, wr_aggs *, m->opts.n_refs + 1);
    for (uint32_t r = 0; r < m->opts.n_refs; r++)
        if (m->opts.refs[r].kind == WR_MATCH_REF_AGG) m->aggs[r] = wr_aggs_new(&m->opts.refs[r].agg, 1, false, false);
    for (uint32_t v = 0; v < m->opts.n_vars; v++) {
        const wr_match_var *var = &m->opts.vars[v];
        if (!var->cond) continue;
        bool *used = wr_new_n(m->arena, bool, m->opts.n_refs + 1);
        used_refs(var->cond, used);
        m->cond_refs[v] = wr_new_n(m->arena, uint32_t, m->opts.n_refs + 1);
        for (uint32_t r = 0; r < m->opts.n_refs; r++)
            if (used[r]) m->cond_refs[v][m->n_cond_refs[v]++] = r;
        m->conds[v] = wr_prog_new(&var->cond, 1, ctx->tz, ctx->world);
    }
    if (m->opts.n_measures) m->measures = wr_prog_new(m->opts.measures, m->opts.n_measures, ctx->tz, ctx->world);
}
wr_op *wr_match_new(const wr_match_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    wr_match *m = wr_calloc(1, sizeof *m);
    m->op = (wr_op){.vt = &match_vt, .ctx = ctx};
    m->opts = *opts; /* its lists outlive the operator, as expressions do */
    m->arena = wr_arena_new(ctx->acct);
    m->types = wr_op_types(m->arena, input);
    m->n_cols = input->n;
    m->codec = wr_rowcodec_new(m->arena, m->types, input->n);
    m->timers = wr_timers_new(ctx->acct);
    wr_match_compile(m);
    make_programs(m, ctx);
    const wr_kmap_opts map = {.name = "matches", .key_types = wr_op_key_types(m->arena, input, opts->keys, opts->n_keys), .n_key_types = opts->n_keys,
                              .value_bytes = sizeof(wr_mpart), .acct = ctx->acct, .self = m, .value_free = value_free, .value_save = value_save,
                              .value_load = value_load, .value_new = value_new, .heap_bytes = heap_bytes};
    m->map = wr_op_map_new(&map, ctx, tag, WR_SPILL_VALUE);
    return &m->op;
}
