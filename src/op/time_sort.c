/* op/time_sort.c: ORDER BY an ascending time attribute: rows come out in time order once the watermark has passed them. A single instance.
 *
 * Idea       an ordered list of [time][further sort columns] bytes and encoded rows; the watermark lets go of its front.
 * Late rows  as Flink: dropped if a row of the same or a later time has come out before it. "Has come out" is judged by the row's own watermark
 *            W, not by how far this operator is: a row is dropped iff some earlier arrival has a time in [its time, W]. A row behind W that
 *            no one has overtaken is kept and stays marked with W.
 * State      the list, in key group 0.  Memory: charged once a batch.  Thread: one worker.                                */
#include "op/op_util.h"
#include "op/row_order.h"
#include "op/sorted.h"

enum { VERSION = 1, MALLOC_EXTRA = 16 };
static const char tag[] = "time_sort";

typedef struct waiting {
    char    *mem; /* [order bytes][encoded row] */
    uint32_t key_len, row_len;
    int64_t  time_us, row_wm_us;
    uint64_t seq;
} waiting;
typedef struct time_sort {
    wr_op             op;
    wr_time_sort_opts opts;
    wr_arena         *arena;
    wr_type          *types;
    uint32_t          n_cols;
    wr_rowcodec      *codec;
    wr_sorted        *rows;
    uint64_t          seq;
    int64_t           last_us; /* time of the last row emitted */
    int64_t           bytes, told;
    wr_sbuf           scratch;
} time_sort;

static int by_time(const void *self, const void *a, const void *b) {
    const waiting *x = a, *y = b;
    (void)self;
    if (x->time_us != y->time_us) return x->time_us < y->time_us ? -1 : 1;
    int order = wr_row_order_compare(x->mem, x->key_len, y->mem, y->key_len);
    return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}
static void keep(time_sort *s, waiting w) {
    bool equal;
    w.mem = memcpy(wr_malloc(w.key_len + w.row_len), w.mem, w.key_len + w.row_len);
    s->bytes += w.key_len + w.row_len + MALLOC_EXTRA;
    wr_sorted_insert(s->rows, wr_sorted_seek(s->rows, &w, by_time, NULL, &equal), &w);
}
static void charge(time_sort *s) {
    int64_t now = s->bytes + s->rows->bytes;
    if (now != s->told) wr_account_add(s->op.ctx->acct, now - s->told);
    s->told = now;
}

static wr_status time_sort_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    time_sort *s = (time_sort *)op;
    (void)input, (void)out;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        waiting  w = {.seq = s->seq + row, .row_wm_us = batch->row_wm_us ? batch->row_wm_us[row] : WR_TIME_MIN};
        WR_TRY(wr_op_row_time(&batch->cols[s->opts.time_col], row, &w.time_us, err));
        if (w.row_wm_us != WR_TIME_MIN && w.time_us <= w.row_wm_us) {
            waiting        first = {.time_us = w.time_us};
            bool           equal;
            const waiting *next = wr_sorted_at(s->rows, wr_sorted_seek(s->rows, &first, by_time, NULL, &equal));
            if (s->last_us >= w.time_us || (next && next->time_us <= w.row_wm_us)) {
                op->ctx->ledger->dropped[WR_REASON_LATE]++;
                continue;
            }
        }
        wr_sbuf_clear(&s->scratch);
        wr_row_order_put(s->opts.order, s->opts.n_order, batch, row, &s->scratch);
        w.key_len = (uint32_t)s->scratch.len;
        wr_rowcodec_put(s->codec, batch, NULL, row, &s->scratch);
        w.row_len = (uint32_t)s->scratch.len - w.key_len;
        w.mem = s->scratch.at;
        keep(s, w);
        op->ctx->ledger->kept[0]++;
    }
    s->seq += batch->n_rows;
    charge(s);
    return WR_OK;
}

static wr_status emit_some(time_sort *s, int64_t wm_us, wr_out *out, wr_err *err) {
    uint32_t  max = (uint32_t)WR_MIN((uint64_t)s->op.ctx->batch_rows, s->rows->count), n = 0;
    wr_batch *b = wr_batch_new(s->n_cols, 1024 + (size_t)max * 16);
    bool      any_late = false;
    for (uint32_t c = 0; c < s->n_cols; c++) wr_vec_init(&b->cols[c], s->types[c], max, true, b->mem);
    int64_t *late = wr_mem_alloc(b->mem, max * sizeof *late);
    for (; n < max; n++) {
        waiting *w = wr_sorted_at(s->rows, wr_sorted_first());
        if (w->time_us > wm_us) break;
        bool ok = wr_rowcodec_get(s->codec, (wr_str){w->mem + w->key_len, w->row_len}, b->cols, n, b->mem);
        wr_assert(ok);
        late[n] = w->row_wm_us;
        any_late |= w->row_wm_us != WR_TIME_MIN;
        s->last_us = w->time_us;
        s->bytes -= w->key_len + w->row_len + MALLOC_EXTRA;
        wr_free(w->mem);
        wr_sorted_remove(s->rows, wr_sorted_first());
    }
    b->n_rows = n;
    s->op.ctx->ledger->kept[0] -= n;
    for (uint32_t c = 0; c < s->n_cols; c++) b->cols[c].n = n;
    if (any_late) b->row_wm_us = late;
    return wr_emit(out, b, err);
}
static wr_status time_sort_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    time_sort *s = (time_sort *)op;
    *more = false;
    while (s->rows->count && ((waiting *)wr_sorted_at(s->rows, wr_sorted_first()))->time_us <= wm_us) {
        if (out->full(out)) {
            *more = true;
            break;
        }
        WR_TRY(emit_some(s, wm_us, out, err));
    }
    charge(s);
    return WR_OK;
}

static wr_status time_sort_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    time_sort *s = (time_sort *)op;
    wr_op_save_head(out, tag, VERSION);
    wr_put_u64(out, s->seq);
    wr_put_i64(out, s->last_us);
    wr_put_u64(out, s->rows->count);
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(s->rows, p); p = wr_sorted_next(s->rows, p)) {
        const waiting *w = wr_sorted_at(s->rows, p);
        wr_put_i64(out, w->time_us);
        wr_put_i64(out, w->row_wm_us);
        wr_put_u64(out, w->seq);
        wr_put_u32(out, w->key_len);
        wr_put_bytes(out, w->mem, w->key_len + w->row_len);
    }
    (void)err;
    return WR_OK;
}
static wr_status time_sort_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    time_sort *s = (time_sort *)op;
    WR_TRY(wr_op_load_head(in, tag, VERSION, err));
    uint64_t seq = wr_get_u64(in);
    int64_t  last_us = wr_get_i64(in);
    bool     mine = from == 0 && to > 0;
    if (mine) s->seq = WR_MAX(s->seq, seq), s->last_us = WR_MAX(s->last_us, last_us);
    for (uint64_t n = wr_get_u64(in); n && !in->bad; n--) {
        waiting w = {.time_us = wr_get_i64(in)};
        w.row_wm_us = wr_get_i64(in);
        w.seq = wr_get_u64(in);
        w.key_len = wr_get_u32(in);
        wr_str bytes = wr_get_bytes(in);
        if (in->bad || w.key_len > bytes.len) return wr_op_damaged(tag, err);
        w.row_len = (uint32_t)bytes.len - w.key_len;
        w.mem = (char *)(uintptr_t)bytes.ptr;
        if (mine) keep(s, w);
    }
    charge(s);
    return in->bad ? wr_op_damaged(tag, err) : WR_OK;
}
static void time_sort_usage(const wr_op *op, wr_op_usage *out) {
    const time_sort *s = (const time_sort *)op;
    *out = (wr_op_usage){.state_bytes = s->told, .rows = s->rows->count, .oldest_us = WR_TIME_MAX};
    if (s->rows->count) out->oldest_us = ((waiting *)wr_sorted_at(s->rows, wr_sorted_first()))->time_us;
}
static void time_sort_close(wr_op *op) {
    time_sort *s = (time_sort *)op;
    for (wr_pos p = wr_sorted_first(); wr_sorted_at(s->rows, p); p = wr_sorted_next(s->rows, p)) wr_free(((waiting *)wr_sorted_at(s->rows, p))->mem);
    wr_account_add(op->ctx->acct, -s->told);
    wr_sorted_free(s->rows);
    wr_sbuf_free(&s->scratch);
    wr_arena_free(s->arena);
    wr_free(s);
}
static const wr_op_vt time_sort_vt = {
    .name = "time_sort", .on_batch = time_sort_on_batch, .on_watermark = time_sort_on_watermark, .output_watermark = wr_op_same_watermark,
    .save = time_sort_save, .load = time_sort_load, .usage = time_sort_usage, .limit = wr_op_no_limit, .close = time_sort_close,
};
wr_op *wr_time_sort_new(const wr_time_sort_opts *opts, const wr_schema *input, wr_op_ctx *ctx) {
    time_sort *s = wr_calloc(1, sizeof *s);
    s->op = (wr_op){.vt = &time_sort_vt, .ctx = ctx};
    s->opts = *opts;
    s->arena = wr_arena_new(ctx->acct);
    wr_sort_key *order = wr_new_n(s->arena, wr_sort_key, opts->n_order ? opts->n_order : 1);
    if (opts->n_order) memcpy(order, opts->order, opts->n_order * sizeof *order);
    s->opts.order = order;
    s->types = wr_op_types(s->arena, input);
    s->n_cols = input->n;
    s->codec = wr_rowcodec_new(s->arena, s->types, input->n);
    s->rows = wr_sorted_new(sizeof(waiting));
    s->last_us = WR_TIME_MIN;
    charge(s);
    return &s->op;
}

/* Rows come nearly in order, so chunks stay half full. */
double wr_time_sort_row_bytes(double row_bytes, double order_bytes) { return sizeof(waiting) / 0.55 + row_bytes + order_bytes + MALLOC_EXTRA; }
