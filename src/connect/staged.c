/* connect/staged.c: see staged.h. */
#include "connect/staged.h"

enum { LOG_BYTES = 8 << 20, KEEP_BYTES = 1 << 20 };

/* ---- the log ---- */

void change_log_charge(change_log *log) {
    if (log->acct && (int64_t)log->bytes.cap != log->charged) wr_account_add(log->acct, (int64_t)log->bytes.cap - log->charged);
    log->charged = (int64_t)log->bytes.cap;
}

void change_log_stage(change_log *log, wr_sbuf *staged) {
    wr_sbuf_add(staged, log->bytes.at, log->bytes.len);
    if (log->bytes.cap > KEEP_BYTES) wr_sbuf_free(&log->bytes);
    wr_sbuf_clear(&log->bytes);
    change_log_charge(log);
}

void change_log_free(change_log *log) {
    wr_sbuf_free(&log->bytes);
    change_log_charge(log);
}

void change_log_put_rows(change_log *log, const wr_rowcodec *codec, const wr_batch *batch, wr_sbuf *scratch) {
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_put_u8(&log->bytes, wr_batch_kind(batch, row));
        wr_sbuf_clear(scratch);
        wr_rowcodec_put(codec, batch, NULL, row, scratch);
        wr_put_bytes(&log->bytes, scratch->at, scratch->len);
    }
}

wr_batch *change_log_take_rows(wr_reader *log, const wr_rowcodec *codec, const wr_schema *schema, uint32_t max_rows, size_t max_bytes) {
    wr_batch      *b = wr_batch_new(schema->n, 64 * 1024);
    uint8_t       *kinds = wr_mem_alloc(b->mem, max_rows);
    const uint8_t *begin = log->at;
    for (uint32_t c = 0; c < schema->n; c++) wr_vec_init(&b->cols[c], schema->fields[c].type, max_rows, true, b->mem);
    b->kinds = kinds;
    for (; b->n_rows < max_rows && log->at < log->end && (size_t)(log->at - begin) < max_bytes; b->n_rows++) {
        kinds[b->n_rows] = wr_get_u8(log);
        wr_str bytes = wr_get_bytes(log);
        if (!log->bad && wr_rowcodec_get(codec, bytes, b->cols, b->n_rows, b->mem)) continue;
        wr_batch_unref(b);
        return NULL;
    }
    return b;
}

/* ---- the sink ---- */

static wr_status flush_log(staged_sink *s, wr_err *err) {
    if (!s->log.bytes.len) return WR_OK;
    WR_TRY(s->vt->flush(s, wr_sbuf_str(&s->log.bytes), err));
    wr_sbuf_clear(&s->log.bytes);
    return WR_OK;
}

static wr_status sink_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    staged_sink *s = (staged_sink *)base;
    wr_status    status = s->vt->put(s, batch, err);
    change_log_charge(&s->log);
    return status == WR_OK && s->log.bytes.len >= LOG_BYTES && !s->staging ? flush_log(s, err) : status;
}

static wr_status sink_flush(wr_sink *base, wr_err *err) {
    staged_sink *s = (staged_sink *)base;
    return s->staging ? WR_OK : flush_log(s, err);
}

static wr_status sink_prepare(wr_sink *base, uint64_t epoch, wr_sbuf *staged, wr_err *err) {
    staged_sink *s = (staged_sink *)base;
    (void)epoch, (void)err;
    s->staging = true;
    wr_put_u8(staged, s->form);
    if (s->vt->head) s->vt->head(s, staged);
    change_log_stage(&s->log, staged);
    return WR_OK;
}

static wr_status sink_commit(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    staged_sink *s = (staged_sink *)base;
    s->committing = staged.len ? (uint8_t)*staged.ptr : 0;
    if (!s->committing || s->committing > s->n_forms) return wr_fail(err, WR_CORRUPT, "XX001", "the staged rows of the table '%.*s' are of another version", WR_FMT(s->table));
    return s->vt->commit(s, epoch, (wr_str){staged.ptr + 1, staged.len - 1}, err);
}

static wr_status sink_recover(wr_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    staged_sink *s = (staged_sink *)base;
    s->staging = true;
    if (!epoch || !staged.len) return s->vt->fresh ? s->vt->fresh(s, err) : WR_OK; /* nothing staged: the sink was not there at the checkpoint */
    if (s->vt->look) WR_TRY(s->vt->look(s, epoch, err));
    s->recovering = true;
    wr_status status = sink_commit(base, epoch, staged, err);
    s->recovering = false;
    return status;
}

static wr_status sink_close(wr_sink *base, bool ok, wr_err *err) {
    staged_sink *s = (staged_sink *)base;
    wr_status    status = ok ? sink_flush(base, err) : WR_OK;
    s->vt->free(s);
    change_log_free(&s->log);
    wr_arena_free(s->arena);
    wr_free(s);
    return status;
}

void staged_sink_init(staged_sink *s, const staged_vt *vt, const wr_table_info *t, wr_connect_ctx *ctx) {
    static const wr_sink_vt calls = {"staged", sink_write, sink_flush, sink_prepare, sink_commit, sink_recover, sink_close, NULL};
    *s = (staged_sink){.base = {&calls}, .vt = vt, .arena = wr_arena_new(NULL), .table = t->name, .log = {.acct = ctx->acct}, .form = 1, .n_forms = 1};
}

wr_status staged_sink_made(staged_sink *s, wr_status status, wr_sink **out) {
    *out = status == WR_OK ? &s->base : NULL;
    if (status != WR_OK) (void)sink_close(&s->base, false, NULL);
    return status;
}

wr_status staged_damaged(const staged_sink *s, wr_err *err) { return wr_fail(err, WR_CORRUPT, "XX001", "the staged rows of the table '%.*s' are damaged", WR_FMT(s->table)); }
