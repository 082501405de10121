/* op/check.c: the stream checker: wraps an operator in debug builds and watches both sides of it.
 *
 * Idea       what every operator may rely on is checked in one place: schema of each batch in and out, ascending selection, kinds, watermark strictly
 *            rising, no row behind a watermark already sent unless it is marked late, -U and +U next to each other, nothing after the end.
 * Invariant  a breach is an error of weir that names the operator, never an abort: the job stops with a sentence and tests can see it.
 * Thread     that of the operator it wraps.                                                                             */
#include "op/op_util.h"

typedef struct check {
    wr_op            op;
    wr_op_vt         vt;     /* a copy with the wrapped operator's name */
    wr_op           *inner;
    wr_out           out, *real;
    const wr_schema *inputs[2], *output;
    uint32_t         n_inputs;
    bool             append_only, ended, paused;
    bool             pairs;  /* not a filter, which may take one row of a pair */
    int64_t          wm_us;      /* last watermark given to the operator */
    int64_t          sent_us;    /* last watermark downstream knows */
    int32_t          time_col;   /* rowtime column of the output, -1 */
} check;

#define BREACH(...) wr_fail(err, WR_CORRUPT, "WR900", __VA_ARGS__)

static wr_status check_schema(const check *c, const wr_batch *b, const wr_schema *schema, const char *side, wr_err *err) {
    if (b->n_cols != schema->n) return BREACH("%s: a batch %s has %u columns, its schema %u", c->vt.name, side, b->n_cols, schema->n);
    if (b->n_rows > WR_BATCH_MAX) return BREACH("%s: a batch %s has %u rows", c->vt.name, side, b->n_rows);
    for (uint32_t i = 0; i < b->n_cols; i++) {
        if (wr_type_same(b->cols[i].type, schema->fields[i].type)) continue;
        wr_sbuf is = {0}, want = {0};
        wr_type_text(b->cols[i].type, &is), wr_type_text(schema->fields[i].type, &want);
        BREACH("%s: column %u (%.*s) of a batch %s is %.*s, its schema says %.*s", c->vt.name, i, WR_FMT(schema->fields[i].name), side, WR_FMT(wr_sbuf_str(&is)),
               WR_FMT(wr_sbuf_str(&want)));
        wr_sbuf_free(&is), wr_sbuf_free(&want);
        return WR_CORRUPT;
    }
    for (uint32_t i = 0; b->sel && i < b->n_sel; i++)
        if (b->sel[i] >= b->n_rows || (i && b->sel[i] <= b->sel[i - 1])) return BREACH("%s: the selection of a batch %s is not ascending at %u", c->vt.name, side, i);
    return WR_OK;
}
static wr_status check_kinds(const check *c, const wr_batch *b, wr_err *err) {
    for (uint32_t i = 0; b->kinds && i < wr_batch_live(b); i++) {
        uint8_t kind = b->kinds[wr_batch_row(b, i)];
        if (kind > WR_KIND_DELETE) return BREACH("%s: row %u has kind %u", c->vt.name, i, kind);
        if (c->append_only && kind != WR_KIND_INSERT) return BREACH("%s: row %u of an append-only output is %s", c->vt.name, i, wr_kind_text(kind));
        /* a pair that another row parts: the -U stands alone, then a row of another kind, then a +U that has no -U before it */
        if (i < 2 || kind != WR_KIND_UPDATE_AFTER) continue;
        uint8_t one = b->kinds[wr_batch_row(b, i - 1)], two = b->kinds[wr_batch_row(b, i - 2)];
        if (c->pairs && two == WR_KIND_UPDATE_BEFORE && one != WR_KIND_UPDATE_AFTER && one != WR_KIND_UPDATE_BEFORE)
            return BREACH("%s: row %u is a +U that another row parts from its -U", c->vt.name, i);
    }
    return WR_OK;
}
static wr_status check_times(const check *c, const wr_batch *b, wr_err *err) {
    if (c->time_col < 0 || !c->append_only || c->sent_us == WR_TIME_MIN) return WR_OK;
    for (uint32_t i = 0; i < wr_batch_live(b); i++) {
        uint32_t row = wr_batch_row(b, i);
        int64_t  us;
        if (wr_vec_is_null(&b->cols[c->time_col], row) || (b->row_wm_us && b->row_wm_us[row] != WR_TIME_MIN)) continue;
        WR_TRY(wr_op_row_time(&b->cols[c->time_col], row, &us, err));
        if (us <= c->sent_us) return BREACH("%s: row %u at %lld us is behind the watermark %lld us and not marked late", c->vt.name, i, (long long)us, (long long)c->sent_us);
    }
    return WR_OK;
}

static wr_status check_emit(wr_out *out, wr_batch *batch, wr_err *err) {
    check    *c = (check *)((char *)out - offsetof(check, out));
    wr_status s = WR_OK;
    if (c->ended) s = BREACH("%s: a batch after the end of input", c->vt.name);
    if (s == WR_OK) s = check_schema(c, batch, c->output, "out", err);
    if (s == WR_OK && wr_batch_live(batch) > c->op.ctx->batch_rows) s = BREACH("%s: a batch of %u rows, at most %u are asked for", c->vt.name, wr_batch_live(batch), c->op.ctx->batch_rows);
    if (s == WR_OK) s = check_kinds(c, batch, err);
    if (s == WR_OK) s = check_times(c, batch, err);
    if (s == WR_OK) return c->real->emit(c->real, batch, err);
    wr_batch_unref(batch);
    return s;
}
static bool check_full(wr_out *out) {
    check *c = (check *)((char *)out - offsetof(check, out));
    return c->real->full(c->real);
}

static wr_status check_on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    check *c = (check *)op;
    if (input >= c->n_inputs) return BREACH("%s: a batch for input %u", c->vt.name, input);
    if (c->wm_us == WR_TIME_MAX) return BREACH("%s: a batch was given after the end of input", c->vt.name);
    if (c->paused) return BREACH("%s: a batch was given while the operator had more to emit", c->vt.name);
    WR_TRY(check_schema(c, batch, c->inputs[input], "in", err));
    c->real = out;
    return c->inner->vt->on_batch(c->inner, input, batch, &c->out, err);
}
static wr_status check_on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    check *c = (check *)op;
    if (c->paused ? wm_us != c->wm_us : wm_us <= c->wm_us)
        return BREACH("%s: watermark %lld us after %lld us", c->vt.name, (long long)wm_us, (long long)c->wm_us);
    c->wm_us = wm_us;
    c->real = out;
    WR_TRY(c->inner->vt->on_watermark(c->inner, wm_us, &c->out, more, err));
    c->paused = *more;
    if (*more) return WR_OK;
    int64_t sent_us = c->inner->vt->output_watermark(c->inner, wm_us);
    if (sent_us < c->sent_us) return BREACH("%s: the output watermark goes back from %lld us to %lld us", c->vt.name, (long long)c->sent_us, (long long)sent_us);
    c->sent_us = sent_us;
    c->ended = wm_us == WR_TIME_MAX;
    return WR_OK;
}
static wr_status check_on_step(wr_op *op, wr_out *out, bool *moved, wr_err *err) {
    check *c = (check *)op;
    c->real = out;
    return c->inner->on_step(c->inner, &c->out, moved, err);
}
static int64_t check_output_watermark(const wr_op *op, int64_t wm_us) {
    const check *c = (const check *)op;
    return c->inner->vt->output_watermark(c->inner, wm_us);
}
static wr_status check_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    check *c = (check *)op;
    wr_assert(!c->paused || c->op.ctx->waiting); /* the end of input may wait for rows that are under way inside, which are state */
    return c->inner->vt->save(c->inner, out, err);
}
static wr_status check_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    return ((check *)op)->inner->vt->load(((check *)op)->inner, in, from, to, err);
}
static void check_usage(const wr_op *op, wr_op_usage *out) { ((const check *)op)->inner->vt->usage(((const check *)op)->inner, out); }
static wr_status check_limit(wr_op *op, int64_t bytes, wr_err *err) { return ((check *)op)->inner->vt->limit(((check *)op)->inner, bytes, err); }
static void check_close(wr_op *op) {
    ((check *)op)->inner->vt->close(((check *)op)->inner);
    wr_free(op);
}

wr_op *wr_op_check(wr_op *inner, const wr_schema *const *inputs, uint32_t n_inputs, const wr_schema *output, bool output_append_only) {
    check *c = wr_calloc(1, sizeof *c);
    c->vt = (wr_op_vt){
        .name = inner->vt->name, .on_batch = check_on_batch, .on_watermark = check_on_watermark, .output_watermark = check_output_watermark,
        .save = check_save, .load = check_load, .usage = check_usage, .limit = check_limit, .close = check_close,
    };
    c->op = (wr_op){.vt = &c->vt, .ctx = inner->ctx, .on_step = inner->on_step ? check_on_step : NULL};
    c->inner = inner;
    c->out = (wr_out){check_emit, check_full};
    c->n_inputs = WR_MIN(n_inputs, 2u);
    for (uint32_t i = 0; i < c->n_inputs; i++) c->inputs[i] = inputs[i];
    c->output = output;
    c->append_only = output_append_only;
    c->pairs = strcmp(inner->vt->name, "calc") != 0 && strcmp(inner->vt->name, "unnest") != 0 && strcmp(inner->vt->name, "lookup_join") != 0 && strcmp(inner->vt->name, "keep") != 0; /* they may leave out one of a pair */
    c->wm_us = c->sent_us = WR_TIME_MIN;
    c->time_col = -1;
    uint32_t n_times = 0;
    for (uint32_t i = 0; i < output->n; i++)
        if (output->fields[i].type.attr == WR_TIME_ROWTIME) c->time_col = (int32_t)i, n_times++;
    if (n_times != 1) c->time_col = -1; /* which of them the watermark speaks of is not known here */
    return &c->op;
}
