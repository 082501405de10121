/* run/source_task.c: turns: hand out input, decode it in parallel, publish it in order: late rows, watermarks, refused records.
 *
 * Turn       one chunk of one source. `assign` (under the turn lock) picks the source that is furthest behind in event time, has it say which bytes are
 *            next and numbers the turn; `decode` (no lock) reads them, makes columns and evaluates output, rowtime and watermark expressions; `publish`
 *            (under the lock, in order per source) walks the rows once: marks late rows with the watermark before them, refuses future rows,
 *            advances the partition's watermark; then the batches go down the chain and TURN_END carries the source's watermark.
 * Watermark  per partition: greatest value of the WATERMARK expression over rows seen; of the source: least over partitions that are neither
 *            done nor idle, never going back. A partition found later starts at the source's watermark, so its older rows are late.
 * Cut        a checkpoint takes positions when it is triggered and partition states when the last turn before it has been published.
 * Thread     any worker; shared state under turn_lock.                                                                        */
#include "run/internal.h"
#include "run/view.h"
#include <inttypes.h>
#include <stdio.h>

enum { AHEAD_ROWS_ACCEPTED = 100 }; /* so many rows in a row beyond the future guard mean that the stream itself jumped */
enum { SAVED_PART_BYTES = 5 * 8 + 1 }; /* of source_state_save */

/* ---- opening ---- */
/* The positions of the checkpoint that the job is to stop at. */
static wr_status read_until(wr_job *job, source *s, wr_err *err) {
    const wr_section *at = wr_checkpoint_find(job->opts.until, WR_SECTION_SOURCE, wr_str_of(s->p->id));
    s->held = at == NULL;
    if (!at) return WR_OK;
    if (!s->src->vt->until) {
        wr_fail(err, WR_UNSUPPORTED, "0A000", "the table '%.*s' cannot be read again up to a position: its rows are gone once they were given", WR_FMT(s->p->source.table->name));
        err->at = s->p->at;
        return WR_UNSUPPORTED;
    }
    wr_reader in = {.at = (const uint8_t *)at->content.ptr, .end = (const uint8_t *)at->content.ptr + at->content.len};
    wr_str    positions = wr_get_bytes(&in);
    wr_str    state = wr_get_bytes(&in);
    in = (wr_reader){.at = (const uint8_t *)state.ptr, .end = (const uint8_t *)state.ptr + state.len};
    (void)wr_get_i64(&in), (void)wr_get_u64(&in), (void)wr_get_u8(&in);
    size_t parts = (size_t)wr_get_u32(&in) * SAVED_PART_BYTES;
    if (!in.bad && (size_t)(in.end - in.at) >= parts + 8 && !job->opts.from) {
        in.at += parts;
        s->start_us = wr_get_i64(&in);
    }
    in = (wr_reader){.at = (const uint8_t *)positions.ptr, .end = (const uint8_t *)positions.ptr + positions.len};
    return s->src->vt->until(s->src, &in, err);
}

/* When the job's own positions are restored. */
wr_status sources_limit(wr_job *job, wr_err *err) {
    for (uint32_t i = 0; job->opts.until && i < job->n_sources; i++)
        if (job->sources[i].src) WR_TRY(read_until(job, &job->sources[i], err));
    return WR_OK;
}

bool sources_at_limit(wr_job *job) {
    bool all = true;
    wr_mutex_lock(job->turn_lock);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *s = &job->sources[i];
        all = all && (s->held || s->ended || (s->src && s->src->vt->at_limit(s->src)));
    }
    wr_mutex_unlock(job->turn_lock);
    return all;
}

/* From a thread of the connector. A worker that is about to sleep looks at `woken` after it has said so, and one that does not sleep comes by soon. */
static void wake(void *arg) {
    source *s = arg;
    atomic_store(&s->woken, true);
    for (uint32_t k = 0; k < s->job->n_workers; k++) {
        if (!atomic_load(&s->job->workers[k].asleep)) continue;
        wr_bell_ring(s->job->workers[k].bell);
        return;
    }
}

static wr_status open_one(wr_job *job, source *s, wr_err *err) {
    s->wm = s->first_us = WR_TIME_MIN;
    WR_TRY(pace_start(job, s, err));
    if (s->p->kind == WR_P_VALUES) return WR_OK;
    if (job->opts.watch && s->p->changes == WR_CHANGES_APPEND) {
        s->range = &job->opts.watch->ranges[s->p->index];
        s->start_us = s->range->from_us;
    }
    wr_table_info info;
    table_info_of(job, s->p, &info);
    const wr_connector *c = wr_connector_find(s->p->source.table->connector);
    wr_assert(c && c->source_new);
    wr_connect_ctx *ctx = wr_new(job->arena, wr_connect_ctx);
    *ctx = (wr_connect_ctx){.world = job->opts.world, .arena = job->arena, .acct = &job->buffer_acct, .diags = job->opts.diags, .tz = job->plan->tz,
                            .n_workers = job->n_workers, .batch_rows = job->batch_rows, .chunk_bytes = job->opts.chunk_bytes, .bounded_override = job->opts.force_bounded,
                            .tail_override = job->opts.force_tail, .keeps = job->opts.state_dir != NULL, .wake = job->opts.simulate ? NULL : wake, .wake_arg = s};
    s->job = job;
    WR_TRY(c->source_new(&info, ctx, &s->src, err));
    s->refused.table = info.name;
    (void)wr_refusal_policy_read(&info.options, &s->refused.policy, job->opts.diags);
    shed_open(job, s, &info.options, c);
    if (s->p->source.late_letters && !s->src->vt->again) {
        wr_fail(err, WR_USER, "WR433", "'watermark.late' = 'dead-letter' of table '%.*s': a row of connector '%s' has no record that could be kept", WR_FMT(info.name), c->name);
        wr_err_hint(err, "write late rows to a table with SQL, or leave the option out: they are counted");
        return WR_USER;
    }
    return WR_OK;
}

wr_status sources_open(wr_job *job, wr_err *err) {
    for (uint32_t i = 0; i < job->n_sources; i++) WR_TRY(open_one(job, &job->sources[i], err));
    return WR_OK;
}

void sources_close(wr_job *job) {
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *s = &job->sources[i];
        if (s->src) s->src->vt->close(s->src);
        refuser_free(&s->refused);
        wr_arr_free(&s->parts);
        wr_sbuf_free(&s->cut_positions);
        wr_sbuf_free(&s->cut_state);
    }
}

/* ---- state for checkpoints: partition watermarks and counters, in published order ---- */
void source_state_save(source *s, wr_sbuf *out) {
    wr_put_i64(out, s->wm);
    wr_put_u64(out, 0); /* once the length of a file of dead letters */
    wr_put_u8(out, s->values_done);
    wr_put_u32(out, s->parts.n);
    for (uint32_t i = 0; i < s->parts.n; i++) {
        const part_state *p = &s->parts.at[i];
        wr_put_i64(out, p->wm), wr_put_i64(out, p->max_ts);
        wr_put_u64(out, p->lines), wr_put_u64(out, p->rows), wr_put_u64(out, p->ahead_run);
        wr_put_u8(out, (uint8_t)(p->seen | p->done << 1));
    }
    wr_put_i64(out, s->start_us);
    wr_put_u64(out, s->records);
    refuser_save(&s->refused, out);
}

wr_status source_state_load(wr_job *job, source *s, wr_reader *in, wr_err *err) {
    s->wm = wr_get_i64(in);
    (void)wr_get_u64(in);
    s->values_done = wr_get_u8(in);
    uint32_t n = wr_get_u32(in);
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        part_state p = {.wm = wr_get_i64(in), .max_ts = wr_get_i64(in)};
        p.lines = wr_get_u64(in), p.rows = wr_get_u64(in), p.ahead_run = wr_get_u64(in);
        uint8_t flags = wr_get_u8(in);
        p.seen = flags & 1, p.done = flags >> 1 & 1;
        p.active_us = wr_wall_us(job->opts.world);
        wr_arr_push(&s->parts, p);
    }
    int64_t start_us = in->at < in->end ? wr_get_i64(in) : WR_TIME_MIN; /* checkpoints of earlier versions have none */
    if (in->at < in->end) {
        s->records = wr_get_u64(in);
        refuser_load(&s->refused, in);
    }
    if (in->bad) return wr_fail(err, WR_CORRUPT, "WR303", "the saved state of source %s is damaged", s->p->id);
    return pace_restore(job, s, start_us, err);
}

/* ---- watermarks ---- */
static part_state *part_of(source *s, uint32_t index) {
    while (s->parts.n <= index)
        wr_arr_push(&s->parts, (part_state){.wm = s->wm, .max_ts = WR_TIME_MIN, .seen = s->wm != WR_TIME_MIN});
    return &s->parts.at[index];
}

static void refresh_watermark(source *s) {
    if (!s->p->source.watermark) return;
    int64_t  least = WR_TIME_MAX, greatest = WR_TIME_MIN;
    bool     any = false, active = false;
    uint32_t known = s->src ? s->src->vt->partitions(s->src) : 0;
    if (known) part_of(s, known - 1);
    for (uint32_t i = 0; i < s->parts.n; i++) {
        const part_state *p = &s->parts.at[i];
        if (p->done) continue;
        any = true;
        greatest = WR_MAX(greatest, p->wm);
        if (p->idle) continue;
        active = true;
        least = WR_MIN(least, p->wm);
    }
    s->wm_idle = any && !active;
    if (s->wm_idle) least = greatest; /* nobody holds it back any more (as Flink: the greatest, once all are idle) */
    if (any && least > s->wm) s->wm = least;
}

/* Partitions that may not be read now because they are ahead of the slowest one by more than the alignment. */
static const uint64_t *held_partitions(source *s, uint64_t *bits, uint32_t words) {
    if (!s->p->source.watermark || s->parts.n < 2) return NULL;
    int64_t least = WR_TIME_MAX;
    for (uint32_t i = 0; i < s->parts.n; i++)
        if (!s->parts.at[i].done && !s->parts.at[i].idle) least = WR_MIN(least, s->parts.at[i].wm);
    memset(bits, 0, words * sizeof *bits);
    bool any = false;
    for (uint32_t i = 0; i < s->parts.n && i < words * 64; i++) {
        const part_state *p = &s->parts.at[i];
        if (p->done || p->wm == WR_TIME_MIN || !p->seen) continue;
        if (least == WR_TIME_MIN || p->wm - s->p->source.alignment_us > least) bits[i >> 6] |= UINT64_C(1) << (i & 63), any = true;
    }
    return any ? bits : NULL;
}

/* ---- assign ---- */
static bool readable(wr_job *job, source *s, int64_t now_us) {
    if (s->ended || s->held || job->opts.again_only || job->opts.again || pace_holds(job, s, now_us)) return false;
    return !s->src || now_us >= s->retry_at_us || atomic_load(&s->woken) || job->opts.simulate;
}

/* The source furthest behind in event time; sources without watermarks take their turn in rotation. */
static source *pick_source(wr_job *job, int64_t now_us) {
    source *best = NULL;
    for (uint32_t k = 0; k < job->n_sources; k++) {
        source *s = &job->sources[(job->source_rotate + k) % job->n_sources];
        if (!readable(job, s, now_us)) continue;
        if (!best || (s->p->kind == WR_P_SOURCE && s->p->source.watermark && s->wm < best->wm)) best = s;
    }
    return best;
}

static wr_status read_next(wr_job *job, source *s, turn *t, bool *got, wr_err *err) {
    if (!s->src) {
        if (s->values_done) t->chunk.partition = UINT32_MAX; /* before the checkpoint: what is left is to say that it ended */
        s->values_done = true;
        t->final = s->ended = true;
        *got = true;
        return WR_OK;
    }
    enum { WORDS = 64 };
    uint64_t        bits[WORDS];
    const uint64_t *held = held_partitions(s, bits, WORDS);
    wr_next         state;
    int64_t         retry_us = 10000;
    atomic_store(&s->woken, false); /* what comes from now on wakes again */
    WR_TRY(s->src->vt->next(s->src, held, &t->chunk, &state, &retry_us, err));
    if (state == WR_NEXT_WAIT && held) WR_TRY(s->src->vt->next(s->src, NULL, &t->chunk, &state, &retry_us, err));
    int64_t now = wr_mono_us(job->opts.world);
    if (state == WR_NEXT_CHUNK || !s->last_chunk_us) s->last_chunk_us = now;
    if (state == WR_NEXT_WAIT && job->opts.end_when_idle_us &&
        (job->opts.simulate || now - s->last_chunk_us > job->opts.end_when_idle_us)) {
        state = WR_NEXT_END;
        t->chunk = (wr_chunk){.partition = UINT32_MAX};
    }
    if (state == WR_NEXT_CHUNK) pace_read(job, s, t), t->shed = shed_judge(job, s, t);
    if (state == WR_NEXT_END) t->final = s->ended = true;
    s->retry_at_us = state == WR_NEXT_WAIT ? wr_mono_us(job->opts.world) + WR_MAX(retry_us, (int64_t)500) : 0; /* woken before an earlier wait was over: there may be more */
    s->waiting = state == WR_NEXT_WAIT;
    *got = state != WR_NEXT_WAIT;
    return WR_OK;
}

/* A turn without input that lets an idle partition leave the minimum. */
static bool idle_turn_due(wr_job *job, source *s) {
    if (s->p->kind != WR_P_SOURCE || !s->p->source.watermark || !s->p->source.idle_timeout_us || s->ended) return false;
    int64_t now = wr_wall_us(job->opts.world);
    bool    changed = false, paced = pace_slows(job, s); /* then it is not the partition that is silent */
    for (uint32_t i = 0; i < s->parts.n; i++) {
        part_state *p = &s->parts.at[i];
        if (!p->active_us || paced) p->active_us = now;
        if (!p->done && !p->idle && now - p->active_us > s->p->source.idle_timeout_us) p->idle = changed = true;
    }
    return changed;
}

/* What each source waits for on this worker: nothing there (or it is held to a rate), or its next turn. */
static void note_waits(worker *w, int64_t now) {
    for (uint32_t i = 0; i < w->job->n_sources; i++) {
        const source *s = &w->job->sources[i];
        meter_end(&w->nodes[s->p->index], s->ended || s->waiting || s->held || (s->catching_up && w->job->pace.ready_us > now) ? WR_WAIT_INPUT : WR_WAIT_TURN);
    }
}

static void all_wait(worker *w, wr_spent what) {
    for (uint32_t i = 0; i < w->job->n_sources; i++) meter_end(&w->nodes[w->job->sources[i].p->index], what);
}

/* The time of asking goes to the one that was asked. */
static void asked(worker *w, const source *s, counter *was) {
    meter_to(w, was);
    counter *to = s ? &w->nodes[s->p->index].spent_ns[WR_SPENT_READ] : &w->meter.other_ns;
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + atomic_load_explicit(&w->meter.asking_ns, memory_order_relaxed), memory_order_relaxed);
    atomic_store_explicit(&w->meter.asking_ns, 0, memory_order_relaxed);
}

/* The longest that a worker sleeps without being woken. Input, barriers and limits wake it; it looks by itself for partitions that fall idle and operators that do something
 * without input, and for whoever wants its figures, until it is calm. */
static int64_t longest_rest_us(const worker *w) {
    enum { SOON_US = 20000, CALM_US = 1000000 };
    if (!atomic_load_explicit(&w->calm, memory_order_relaxed) || w->job->opts.end_when_idle_us) return SOON_US;
    for (uint32_t i = 0; i < w->n_tasks; i++)
        if (w->tasks[i].head->op && w->tasks[i].head->op->on_step) return SOON_US;
    for (uint32_t i = 0; i < w->job->n_sources; i++) {
        const source *s = &w->job->sources[i];
        if (!s->ended && !s->wm_idle && s->p->kind == WR_P_SOURCE && s->p->source.idle_timeout_us) return SOON_US;
    }
    return CALM_US;
}

static wr_status assign(worker *w, bool *got, wr_err *err) {
    wr_job *job = w->job;
    counter  *was = meter_to(w, &w->meter.asking_ns);
    turn   *t = &w->pending[w->n_pending];
    *t = (turn){.decoded = t->decoded, .batches = t->batches}; /* keeps the arrays' memory */
    wr_mutex_lock(job->turn_lock);
    int64_t   now = wr_mono_us(job->opts.world);
    source   *s = NULL;
    wr_status status = WR_OK;
    *got = false;
    for (uint32_t i = 0; status == WR_OK && !*got && i < job->n_sources; i++)
        if (again_waits(&job->sources[i])) status = again_next(job, s = &job->sources[i], t, got, err);
    if (status == WR_OK && !*got && (s = pick_source(job, now))) status = read_next(job, s, t, got, err);
    job->source_rotate++;
    for (uint32_t i = 0; status == WR_OK && !*got && i < job->n_sources; i++)
        if (job->sources[i].src && job->sources[i].published == job->sources[i].assigned && idle_turn_due(job, &job->sources[i])) {
            s = &job->sources[i];
            t->chunk = (wr_chunk){.partition = UINT32_MAX};
            *got = true;
        }
    if (status == WR_OK && *got) {
        t->source = s->index;
        t->seq = s->assigned++;
        t->read_us = t->again ? 0 : now;
        s->read_us = WR_MAX(s->read_us, t->read_us);
        t->number = job->turns_assigned++;
    }
    if (!*got) {
        int64_t wait = longest_rest_us(w);
        for (uint32_t i = 0; i < job->n_sources; i++)
            if (!job->sources[i].ended) wait = WR_MIN(wait, WR_MAX(job->sources[i].retry_at_us - now, (int64_t)200));
        if (job->pace.ready_us > now) wait = WR_MIN(wait, WR_MAX(job->pace.ready_us - now, (int64_t)200));
        w->wait_us = wait;
    }
    note_waits(w, now);
    wr_mutex_unlock(job->turn_lock);
    asked(w, s, was);
    return status;
}

/* ---- decode ---- */
/* What publishing would otherwise ask of every row, under the lock. */
static void look_over(turn_batch *tb) {
    const int64_t *ts = tb->ts.data, *wm = tb->wm.data;
    uint32_t       n = tb->batch->n_rows;
    int64_t        most = WR_TIME_MIN;
    bool           fall = false, late = false;
    if (!ts || !n || tb->ts.valid || tb->ts.type.id == WR_T_NULL || tb->wm.valid || (wm && tb->wm.type.id == WR_T_NULL)) return;
    for (uint32_t i = 1; i < n; i++) fall |= ts[i] < ts[i - 1];
    for (uint32_t i = 0; wm && i < n; i++) late |= wm[i] >= ts[i], most = WR_MAX(most, wm[i]);
    tb->in_order = !fall && !late;
    tb->first_us = ts[0], tb->last_us = ts[n - 1], tb->wm_us = most;
}

static wr_status evaluate(worker *w, source *s, turn *t, wr_batch *in, wr_err *err) {
    const wr_p_source *ps = &s->p->source;
    uint32_t  n = ps->n_exprs, extra = (ps->rowtime != NULL) + (ps->watermark != NULL);
    wr_batch *out = wr_batch_derive(in, n);
    wr_vec   *all = wr_mem_calloc(out->mem, sizeof *all * (n + extra));
    wr_status status = wr_prog_eval(w->source_progs[s->index], in, w->nodes[s->p->index].ctx.now_us, all, out->mem, err);
    if (status == WR_OK) {
        memcpy(out->cols, all, sizeof *all * n);
        turn_batch tb = {.batch = out};
        if (ps->rowtime) tb.ts = all[n];
        if (ps->watermark) tb.wm = all[n + extra - 1];
        look_over(&tb);
        wr_arr_push(&t->batches, tb);
    } else {
        wr_batch_unref(out);
    }
    wr_batch_unref(in);
    return status;
}

static wr_batch *values_batch(const wr_pnode *p, uint32_t from, uint32_t n) {
    wr_batch *b = wr_batch_new(p->schema.n, 4096);
    b->n_rows = n;
    for (uint32_t c = 0; c < p->schema.n; c++) {
        wr_vec_init(&b->cols[c], p->schema.fields[c].type, b->n_rows, true, b->mem);
        for (uint32_t r = 0; r < b->n_rows; r++) {
            wr_vec one = {0};
            wr_value_fill(&p->values.rows[(size_t)(from + r) * p->schema.n + c], &one, 1, b->mem);
            if (wr_vec_is_null(&one, 0)) wr_vec_set_null(&b->cols[c], r, b->mem);
            else wr_vec_set(&b->cols[c], r, &one, 0, b->mem);
        }
    }
    return b;
}

static wr_status read_bytes(worker *w, source *s, turn *t, wr_err *err) {
    if (t->chunk.data || !s->src->vt->read) return WR_OK;
    counter  *was = meter_to(w, &w->nodes[s->p->index].spent_ns[WR_SPENT_READ]);
    wr_status status = wr_chunk_read(s->src, &t->chunk, err);
    meter_to(w, was);
    return status;
}

static wr_status decode(worker *w, turn *t, wr_err *err) {
    source *s = &w->job->sources[t->source];
    t->batches.n = 0;
    wr_decoded_clear(&t->decoded);
    if (!s->src && t->chunk.partition == UINT32_MAX) return WR_OK;
    if (!s->src) {
        uint32_t all = s->p->values.n_rows, step = w->job->batch_rows;
        for (uint32_t from = 0; from < all; from += step) wr_arr_push(&t->batches, (turn_batch){.batch = values_batch(s->p, from, WR_MIN(step, all - from))});
        t->decoded.n_rows = all;
        return WR_OK;
    }
    if (t->chunk.partition == UINT32_MAX || (!t->chunk.len && t->chunk.rows_from == t->chunk.rows_to)) return WR_OK;
    WR_TRY(read_bytes(w, s, t, err));
    /* which line a row without an event time was, for its letter; of messages only their place is known, see beside */
    bool places = (s->refused.policy.on_error == WR_ON_ERROR_DEAD_LETTER && s->p->source.rowtime) || w->job->opts.watch;
    t->decoded.want_lines = places && s->p->source.rowtime && !s->src->vt->messages;
    t->decoded.want_places = places && s->src->vt->messages;
    t->decoded.row_lines.n = t->decoded.row_places.n = 0;
    if (shed_glance(s, t)) return WR_OK;
    WR_TRY(s->src->vt->decode(s->src, w->index, &t->chunk, &t->decoded, err));
    if (t->decoded.failed != WR_OK) return *err = t->decoded.err, t->decoded.failed;
    shed_rows(s, t);
    w->nodes[s->p->index].ctx.now_us = wr_wall_us(w->job->opts.world);
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < t->decoded.batches.n; i++) {
        if (status == WR_OK) status = evaluate(w, s, t, t->decoded.batches.at[i], err);
        else wr_batch_unref(t->decoded.batches.at[i]);
    }
    t->decoded.batches.n = 0;
    return status;
}

/* ---- publish ---- */
static void show_bytes(wr_str raw, char *out, size_t cap) {
    size_t n = 0;
    for (size_t i = 0; i < raw.len && i < 100 && n + 8 < cap; i++) {
        unsigned char c = (unsigned char)raw.ptr[i];
        n += (size_t)snprintf(out + n, cap - n, c >= 32 && c < 127 ? "%c" : "\\x%02x", c);
    }
    if (raw.len > 100) snprintf(out + n, cap - n, "...");
}

static const char *bad_code(wr_bad_kind kind) {
    static const char *const codes[] = {[WR_BAD_MALFORMED] = "22000", [WR_BAD_TYPE] = "22018", [WR_BAD_MISSING] = "22002", [WR_BAD_RANGE] = "22003",
                                        [WR_BAD_TOO_LONG] = "54000", [WR_BAD_UTF8] = "22021", [WR_BAD_NULL] = "23502", [WR_BAD_LATE] = "WR432"};
    return codes[kind];
}

/* Which epoch what is published now belongs to. */
static uint64_t epoch_of_turn(const wr_job *job, const source *s) {
    uint64_t epoch = atomic_load(&((wr_job *)(uintptr_t)job)->barrier_epoch);
    return s->cut_pending ? epoch : epoch + 1;
}

static void dead_letter(wr_job *job, source *s, const turn *t, const wr_bad_record *bad, uint64_t line, const char *reason) {
    wr_sbuf name = {0}, context = {0};
    wr_str  key = {NULL, 0}, raw = bad->raw;
    s->src->vt->partition_name(s->src, t->chunk.partition, &name);
    if (s->src->vt->beside) s->src->vt->beside(s->src, &t->chunk, bad, &raw, &key, &context);
    letter l = {.partition = wr_sbuf_str(&name), .offset = (int64_t)(t->chunk.offset + bad->offset), .line = s->src->vt->messages ? -1 : (int64_t)line, .raw = raw, .key = key,
                .code = bad_code(bad->kind), .reason = wr_str_of(reason)};
    wr_sbuf object = {0};
    wr_sbuf_printf(&object, "{%.*s}", WR_FMT(wr_sbuf_str(&context)));
    if (context.len) {
        static const char NAME[] = "\"message_id\":\"";
        const char *at = memmem(object.at, object.len, NAME, sizeof NAME - 1), *quote = at ? strchr(at + sizeof NAME - 1, '"') : NULL;
        l.context = wr_sbuf_str(&object);
        if (quote) l.name = (wr_str){at + sizeof NAME - 1, (size_t)(quote - at) - (sizeof NAME - 1)};
    }
    letters_add(job, &s->refused, epoch_of_turn(job, s), &l);
    wr_sbuf_free(&object);
    wr_sbuf_free(&context);
    wr_sbuf_free(&name);
}

/* ---- for those who look on ---- */
static void watch_refused(wr_job *job, source *s, const turn *t, const wr_bad_record *bad, uint64_t line, const char *reason) {
    wr_sbuf name = {0};
    const part_state *part = part_of(s, t->chunk.partition);
    s->src->vt->partition_name(s->src, t->chunk.partition, &name);
    wr_source_row r = {.node = s->p, .partition = wr_sbuf_str(&name), .offset = (int64_t)(t->chunk.offset + bad->offset), .line = s->src->vt->messages ? -1 : (int64_t)line,
                       .ts_us = part->max_ts, .wm_us = part->wm, .code = wr_str_of(bad_code(bad->kind)), .reason = wr_str_of(reason), .raw = bad->raw};
    job->opts.watch->refused(job->opts.watch->arg, &r);
    wr_sbuf_free(&name);
}

static wr_status refuse(wr_job *job, source *s, wr_ledger *ledger, const turn *t, const wr_bad_record *bad, uint64_t base_line, uint64_t number, wr_err *err) {
    uint64_t line = base_line + bad->line + 1;
    char     reason[260];
    snprintf(reason, sizeof reason, "%s: %s", wr_bad_kind_name(bad->kind), bad->message);
    if (job->opts.watch) watch_refused(job, s, t, bad, line, reason);
    if (s->refused.policy.on_error != WR_ON_ERROR_FAIL) {
        bool skip = s->refused.policy.on_error == WR_ON_ERROR_SKIP;
        ledger->dropped[skip ? WR_REASON_MALFORMED : WR_REASON_DEAD_LETTER]++;
        if (s->refused.box) dead_letter(job, s, t, bad, line, reason);
        wr_status status = refuser_judge(&s->refused, bad_code(bad->kind), number, reason, err);
        if (status != WR_OK) err->at = s->p->at;
        return status;
    }
    wr_sbuf name = {0};
    s->src->vt->partition_name(s->src, t->chunk.partition, &name);
    char shown[512];
    show_bytes(bad->raw, shown, sizeof shown);
    wr_fail(err, WR_DATA, "22000", "source %.*s: record refused, %s", WR_FMT(s->p->source.table->name), reason);
    if (s->src->vt->messages) wr_err_place(err, "%.*s offset %" PRIu64, WR_FMT(wr_sbuf_str(&name)), t->chunk.offset + bad->offset);
    else wr_err_place(err, "%.*s:%" PRIu64 " (byte %" PRIu64 ")", WR_FMT(wr_sbuf_str(&name)), line, t->chunk.offset + bad->offset);
    wr_err_detail(err, "the record: %s", shown);
    wr_err_hint(err, "put it right, or set 'on-error' = 'skip' or 'dead-letter' on table %.*s", WR_FMT(s->p->source.table->name));
    err->at = s->p->at;
    wr_sbuf_free(&name);
    return WR_DATA;
}

/* The record that a row came from: of a queue its message's place (`beside` has the bytes), else as the text of a chunk has it. */
static bool record_of_row(const source *s, const turn *t, uint64_t row, wr_bad_kind kind, wr_bad_record *out) {
    const wr_decoded *d = &t->decoded;
    const char       *at = (const char *)t->chunk.data, *end = at + t->chunk.len;
    bool              messages = s->src->vt->messages;
    if (t->n_shed || row >= (messages ? d->row_places.n : d->row_lines.n)) return false; /* rows do not stand where they were */
    *out = (wr_bad_record){.kind = kind, .line = row < d->row_lines.n ? d->row_lines.at[row] : 0, .before_row = row};
    if (kind == WR_BAD_NULL) snprintf(out->message, sizeof out->message, "the event time is NULL");
    if (messages) return out->offset = d->row_places.at[row], s->src->vt->beside != NULL;
    for (uint64_t line = 0; line < out->line && at < end; line++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        at = nl ? nl + 1 : end;
    }
    const char *nl = memchr(at, '\n', (size_t)(end - at));
    out->offset = (uint64_t)(at - (const char *)t->chunk.data);
    out->raw = (wr_str){at, (size_t)((nl ? nl : end) - at)};
    return at < end;
}

/* A row that is late, or one that is left out (code given). row: of the batch; before: rows of the turn in front of it. */
static void watch_row(wr_job *job, source *s, const turn *t, uint64_t before, const wr_batch *batch, uint32_t row, int64_t ts_us, int64_t wm_us, const char *code, const char *reason) {
    const wr_source_watch *watch = job->opts.watch;
    wr_sbuf       name = {0};
    wr_bad_record at;
    wr_source_row r = {.node = s->p, .offset = -1, .line = -1, .batch = batch, .row = row, .ts_us = ts_us, .wm_us = wm_us};
    if (code) r.code = wr_str_of(code), r.reason = wr_str_of(reason);
    if (before + row < t->decoded.row_places.n) r.offset = (int64_t)t->decoded.row_places.at[before + row];
    else if (!s->src->vt->messages && record_of_row(s, t, before + row, WR_BAD_NULL, &at)) {
        r.offset = (int64_t)(t->chunk.offset + at.offset);
        r.line = (int64_t)(part_of(s, t->chunk.partition)->lines - t->decoded.n_lines + at.line + 1);
        r.raw = at.raw;
    }
    s->src->vt->partition_name(s->src, t->chunk.partition, &name);
    r.partition = wr_sbuf_str(&name);
    (code ? watch->refused : watch->late)(watch->arg, &r);
    wr_sbuf_free(&name);
}

/* row: among those of the turn. */
static wr_status null_rowtime(wr_job *job, source *s, const turn *t, uint64_t row, wr_ledger *ledger, wr_err *err) {
    wr_bad_record bad;
    if (s->refused.policy.on_error == WR_ON_ERROR_DEAD_LETTER && record_of_row(s, t, row, WR_BAD_NULL, &bad)) {
        part_state *part = part_of(s, t->chunk.partition);
        return refuse(job, s, ledger, t, &bad, part->lines - t->decoded.n_lines, s->records - WR_MIN(t->decoded.n_records, s->records) + row, err);
    }
    if (s->refused.policy.on_error != WR_ON_ERROR_FAIL) {
        ledger->dropped[WR_REASON_MALFORMED]++;
        if (job->opts.watch) watch_row(job, s, t, row, NULL, 0, part_of(s, t->chunk.partition)->max_ts, WR_TIME_MIN, bad_code(WR_BAD_NULL), "the event time is NULL");
        return WR_OK;
    }
    wr_fail(err, WR_DATA, "22004", "source %.*s: the event-time column is NULL in a row", WR_FMT(s->p->source.table->name));
    wr_err_hint(err, "filter such rows out upstream, or set 'on-error' = 'skip' on table %.*s", WR_FMT(s->p->source.table->name));
    err->at = s->p->at;
    return WR_DATA;
}

/* Before the first records of a partition are published. */
static void watch_begins(wr_job *job, source *s, const turn *t) {
    wr_sbuf           name = {0};
    const wr_decoded *d = &t->decoded;
    int64_t           offset = -1, ts = WR_TIME_MIN;
    if (s->src->vt->messages && d->row_places.n) offset = (int64_t)d->row_places.at[0];
    if (s->src->vt->messages && d->bad.n && (offset < 0 || (int64_t)d->bad.at[0].offset < offset)) offset = (int64_t)d->bad.at[0].offset;
    if (t->batches.n && t->batches.at[0].ts.data && wr_valid_get(t->batches.at[0].ts.valid, 0)) ts = ((const int64_t *)t->batches.at[0].ts.data)[0];
    s->src->vt->partition_name(s->src, t->chunk.partition, &name);
    job->opts.watch->begins(job->opts.watch->arg, s->p, wr_sbuf_str(&name), offset, ts);
    wr_sbuf_free(&name);
}

/* A row behind the watermark, where such rows are dead letters: of any other kind than refused ones, so they do not count for 'on-error.max-count'. */
static void late_letter(wr_job *job, source *s, const turn *t, uint64_t row, int64_t ts, int64_t wm, wr_ledger *ledger) {
    wr_bad_record bad;
    wr_sbuf       reason = {0};
    ledger->dropped[WR_REASON_LATE]++;
    if (!s->refused.box || !record_of_row(s, t, row, WR_BAD_LATE, &bad)) return;
    wr_sbuf_addz(&reason, "late: ");
    wr_text_duration(wm - ts, &reason);
    wr_sbuf_add(&reason, " behind the watermark", 22); /* with its NUL */
    dead_letter(job, s, t, &bad, part_of(s, t->chunk.partition)->lines - t->decoded.n_lines + bad.line + 1, reason.at);
    wr_sbuf_free(&reason);
}

static bool beyond_guard(const wr_p_source *ps, part_state *part, int64_t ts) {
    if (!ps->future_guard_us) return false;
    if (part->max_ts == WR_TIME_MIN || ts <= part->max_ts + ps->future_guard_us) {
        part->ahead_run = 0;
        return false;
    }
    return ++part->ahead_run < AHEAD_ROWS_ACCEPTED;
}

enum { MINUTE_US = 60000000 };
/* Rows by minute of event time: once for a batch, unless it goes over a minute's end. */
static void count_minutes(wr_detail *d, const wr_batch *b, const int64_t *ts, int64_t least, int64_t most) {
    int64_t  end = WR_TIME_MIN;
    uint32_t live = wr_batch_live(b);
    d->window_us = MINUTE_US;
    if (!live || least < INT64_MIN / 2 || most > INT64_MAX / 2) return;
    wr_window_count *c = NULL;
    for (uint32_t i = 0; i < live; i++) {
        int64_t t = ts[wr_batch_row(b, i)];
        if (i && t < end && t >= end - MINUTE_US) {
            if (c) c->in++;
            continue;
        }
        end = (wr_floor_div(t, MINUTE_US) + 1) * MINUTE_US;
        c = wr_detail_window(d, end);
        if (c && least >= end - MINUTE_US && most < end) {
            c->in += live;
            return;
        }
        if (c) c->in++;
    }
}

static void count_late(wr_detail *d, int64_t ts, int64_t wm) {
    int64_t behind;
    wr_spans_add(&d->late, __builtin_sub_overflow(wm, ts, &behind) ? INT64_MAX : behind);
    wr_window_count *c = wr_detail_window(d, (wr_floor_div(ts, MINUTE_US) + 1) * MINUTE_US);
    if (c) c->late++;
}

static bool jumps(int64_t from, int64_t to) { return from != WR_TIME_MIN && from < WR_TIME_MAX - WR_JUMP_US && to > from + WR_JUMP_US; }

/* One row took event time far forward: which one, for whoever asks why everything is late. */
static void note_jump(const wr_job *job, source *s, const turn *t, uint64_t before, int64_t had, const int64_t *ts, const turn_batch *tb) {
    for (uint32_t i = 0; i < tb->batch->n_rows; i++) {
        if (!wr_valid_get(tb->ts.valid, i)) continue;
        if (jumps(had, ts[i])) {
            s->jump.from_us = had, s->jump.to_us = ts[i], s->jump.wall_us = wr_wall_us(job->opts.world);
            s->jump.partition = t->chunk.partition;
            s->jump.row = s->parts.at[t->chunk.partition].rows - t->decoded.n_rows + before + i;
            return;
        }
        had = WR_MAX(had, ts[i]);
    }
}

/* A batch in order, all of it ahead of what the partition had: there is nothing to find in its rows. False: they have to be walked. */
static bool pass_whole(const wr_job *job, source *s, const turn *t, uint64_t before, wr_detail *detail, part_state *part, turn_batch *tb) {
    const wr_p_source *ps = &s->p->source;
    int64_t            had = part->max_ts;
    if (!tb->in_order || s->range || tb->first_us < s->start_us || tb->first_us < had || (part->wm != WR_TIME_MIN && tb->first_us <= part->wm)) return false;
    if (ps->future_guard_us) {
        if (had == WR_TIME_MIN || tb->last_us > had + ps->future_guard_us) return false;
        part->ahead_run = 0;
    }
    part->max_ts = tb->last_us;
    part->wm = WR_MAX(part->wm, tb->wm_us);
    part->seen = true;
    tb->batch->row_wm_us = NULL;
    if (jumps(had, part->max_ts)) note_jump(job, s, t, before, had, tb->ts.data, tb);
    if (s->first_us == WR_TIME_MIN) s->first_us = tb->first_us;
    s->disorder.rows[0] += tb->batch->n_rows;
    count_minutes(detail, tb->batch, tb->ts.data, tb->first_us, tb->last_us);
    return true;
}

/* One pass over the rows in order: late marks, the guard, the partition's watermark. */
static wr_status walk_rows(wr_job *job, source *s, const turn *t, uint64_t before, wr_ledger *ledger, wr_detail *detail, part_state *part, turn_batch *tb, wr_err *err) {
    const wr_p_source *ps = &s->p->source;
    const int64_t *ts = tb->ts.data, *wmv = tb->wm.data;
    if (!ts || tb->ts.type.id == WR_T_NULL) return WR_OK;
    if (pass_whole(job, s, t, before, detail, part, tb)) return WR_OK;
    wr_batch *b = tb->batch;
    uint32_t  n = b->n_rows, kept = 0, older = 0;
    int64_t  *late = NULL, wm = part->wm, had = part->max_ts;
    int64_t   slack = s->range ? s->range->slack_us : 0, end = s->range ? s->range->to_us : WR_TIME_MAX;
    uint16_t *sel = NULL;
    for (uint32_t i = 0; i < n; i++) {
        bool refused = false;
        if (!wr_valid_get(tb->ts.valid, i)) {
            WR_TRY(null_rowtime(job, s, t, before + i, ledger, err));
            refused = true;
        } else if (WR_UNLIKELY(ts[i] < s->start_us)) {
            ledger->dropped[WR_REASON_BEFORE_START]++;
            refused = true;
        } else if (ps->future_guard_us && beyond_guard(ps, part, ts[i])) {
            ledger->dropped[WR_REASON_FUTURE]++;
            refused = true;
            if (job->opts.watch) watch_row(job, s, t, before, b, i, part->max_ts, wm, "future", "the event time is further ahead than 'watermark.future-guard' allows");
        }
        if (WR_UNLIKELY(ts[i] >= end && !refused)) { /* nobody wants it, but the watermark goes by it */
            ledger->dropped[WR_REASON_BEFORE_START]++;
            refused = true;
            part->max_ts = WR_MAX(part->max_ts, ts[i]);
            if (wmv && wr_valid_get(tb->wm.valid, i)) wm = WR_MAX(wm, wmv[i] - slack);
        }
        if (WR_UNLIKELY(ps->late_letters && !refused && ts[i] <= wm && wm != WR_TIME_MIN)) {
            late_letter(job, s, t, before + i, ts[i], wm, ledger);
            count_late(detail, ts[i], wm);
            refused = true;
            if (job->opts.watch) watch_row(job, s, t, before, b, i, ts[i], wm, "late", "it came behind the watermark, and 'watermark.late' makes it a dead letter");
        }
        if (WR_UNLIKELY(refused)) {
            if (!sel) {
                sel = wr_mem_alloc(b->mem, sizeof *sel * n);
                for (kept = 0; kept < i; kept++) sel[kept] = (uint16_t)kept;
            }
            continue;
        }
        if (sel) sel[kept++] = (uint16_t)i;
        if (WR_UNLIKELY(ts[i] <= wm && wm != WR_TIME_MIN)) {
            if (!late) {
                late = wr_mem_alloc(b->mem, sizeof *late * n);
                for (uint32_t k = 0; k < n; k++) late[k] = WR_TIME_MIN;
            }
            late[i] = wm;
            if (job->opts.watch) watch_row(job, s, t, before, b, i, ts[i], wm, NULL, NULL);
            count_late(detail, ts[i], wm);
        }
        if (ts[i] < part->max_ts) lateness_add(&s->disorder, part->max_ts - ts[i]), older++;
        part->max_ts = WR_MAX(part->max_ts, ts[i]);
        if (wmv && wmv[i] - slack > wm && wr_valid_get(tb->wm.valid, i)) wm = wmv[i] - slack;
    }
    if (jumps(had, part->max_ts)) note_jump(job, s, t, before, had, ts, tb);
    if (s->first_us == WR_TIME_MIN && n) s->first_us = wr_valid_get(tb->ts.valid, 0) ? ts[0] : part->max_ts;
    part->wm = wm;
    part->seen = true;
    b->row_wm_us = late;
    if (sel) b->sel = sel, b->n_sel = kept;
    s->disorder.rows[0] += (sel ? kept : n) - older;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < wr_batch_live(b); i++) {
        int64_t ti = ts[wr_batch_row(b, i)];
        least = WR_MIN(least, ti), most = WR_MAX(most, ti);
    }
    count_minutes(detail, b, ts, least, most);
    return WR_OK;
}

/* Records in. A change may be two rows; blank lines are records for some formats, for the others they are counted beside. */
void count_records(const wr_decoded *d, uint64_t n_shed, wr_ledger *ledger) {
    uint64_t all = d->n_rows + n_shed + d->bad.n + d->n_tombstones + d->n_redelivered + d->n_blank, more = all - WR_MIN(all, d->n_records);
    ledger->in[0] += d->n_records;
    ledger->in[1] += WR_MIN(more, d->n_blank);
    ledger->made += more - WR_MIN(more, d->n_blank);
}

static wr_status publish_rows(worker *w, source *s, turn *t, wr_ledger *ledger, wr_err *err) {
    wr_job *job = w->job;
    if (!s->src) {
        ledger->in[0] += t->decoded.n_rows;
        return WR_OK;
    }
    const wr_decoded *d = &t->decoded;
    count_records(d, t->n_shed, ledger);
    ledger->dropped[WR_REASON_BLANK] += d->n_blank;
    ledger->dropped[WR_REASON_TOMBSTONE] += d->n_tombstones;
    ledger->dropped[WR_REASON_REDELIVERED] += d->n_redelivered;
    ledger->dropped[WR_REASON_SHED] += t->n_shed;
    if (t->chunk.partition == UINT32_MAX) return WR_OK;
    uint64_t base_line = part_of(s, t->chunk.partition)->lines;
    if (job->opts.watch && d->n_records && !part_of(s, t->chunk.partition)->records_seen) {
        part_of(s, t->chunk.partition)->records_seen = true;
        watch_begins(job, s, t);
    }
    for (uint32_t i = 0; i < d->bad.n; i++) WR_TRY(refuse(job, s, ledger, t, &d->bad.at[i], base_line, s->records + d->bad.at[i].before_row + i, err));
    s->records += d->n_records;
    part_state *part = part_of(s, t->chunk.partition);
    part->lines += d->n_lines;
    part->rows += d->n_rows;
    s->n_rows += d->n_rows;
    if (d->n_rows || t->n_shed) {
        part->active_us = wr_wall_us(job->opts.world);
        part->idle = false;
        if (!part->n_turns++) part->first_active_us = part->active_us;
        part->source_rows = s->n_rows;
    }
    uint64_t before = 0;
    for (uint32_t i = 0; i < t->batches.n; before += t->batches.at[i++].batch->n_rows) WR_TRY(walk_rows(job, s, t, before, ledger, w->nodes[s->p->index].detail, part, &t->batches.at[i], err));
    pace_rows(job, s, t, d->n_rows);
    if (t->chunk.last) part->done = true;
    return WR_OK;
}

static void take_cut(source *s) {
    if (!s->cut_pending || s->published < s->cut_seq) return;
    wr_sbuf_clear(&s->cut_state);
    source_state_save(s, &s->cut_state);
    s->cut_pending = false;
}

static void charge_turn(wr_job *job, turn *t, bool decoded) {
    int64_t now = 0;
    if (decoded) {
        now = (int64_t)(t->chunk.len + sizeof *t);
        for (uint32_t i = 0; i < t->batches.n; i++) now += (int64_t)wr_batch_bytes(t->batches.at[i].batch);
    }
    wr_account_add(&job->turn_acct, now - t->charged);
    t->charged = now;
}

static wr_status publish(worker *w, turn *t, bool *published, wr_err *err) {
    wr_job *job = w->job;
    source *s = &job->sources[t->source];
    node   *n = &w->nodes[s->p->index];
    wr_mutex_lock(job->turn_lock);
    if (s->published != t->seq) {
        wr_mutex_unlock(job->turn_lock);
        *published = false;
        return WR_OK;
    }
    wr_status status = WR_OK;
    if (t->again) again_publish(job, s, t, &n->ledger);
    else status = publish_rows(w, s, t, &n->ledger, err);
    int64_t   wm = WR_TIME_MIN;
    bool      idle = false;
    if (status == WR_OK) {
        if (s->src) refresh_watermark(s);
        wm = t->final ? WR_TIME_MAX : s->wm;
        idle = !t->final && s->wm_idle;
        s->published++;
        take_cut(s);
    }
    wr_mutex_unlock(job->turn_lock);
    WR_TRY(status);
    charge_turn(job, t, false); /* from here on the queues and operators answer for its rows */
    n->ctx.now_us = wr_wall_us(job->opts.world);
    n->ctx.read_us = t->read_us;
    n->turn_source = s->index;
    n->turn_seq = t->seq;
    n->steps++;
    for (uint32_t i = 0; i < t->batches.n; i++) {
        if (status == WR_OK) status = node_emit_batch(n, t->batches.at[i].batch, err);
        else wr_batch_unref(t->batches.at[i].batch);
        worker_report(w); /* a turn may take long, and who asks wants to know of what */
    }
    t->batches.n = 0;
    n->turn_source = s->index;
    node_turn_end(n, s->index, t->seq, wm, idle);
    n->out_wm = WR_MAX(n->out_wm, wm);
    wr_mem_unref(t->chunk.mem);
    t->chunk.mem = NULL;
    *published = true;
    w->touched = UINT64_MAX; /* whoever holds the next turn of this source */
    if (t->final) {
        atomic_fetch_sub(&job->sources_left, 1);
        wr_bell_ring(job->bell);
    }
    return status;
}

/* Passes the barrier on once every turn of this worker that belongs to the epoch has gone out. */
static bool pass_barrier(worker *w) {
    wr_job  *job = w->job;
    uint64_t epoch = atomic_load(&job->barrier_epoch);
    if (epoch == w->barrier_sent) return false;
    wr_mutex_lock(job->turn_lock);
    uint64_t limit = job->barrier_turn;
    wr_mutex_unlock(job->turn_lock);
    if (w->n_pending && w->pending[0].number < limit) return false;
    for (uint32_t i = 0; i < job->n_sources; i++) node_barrier(&w->nodes[job->sources[i].p->index], epoch);
    w->barrier_sent = epoch;
    snapshot_source_chains(w, epoch);
    return true;
}

static bool sources_full(const worker *w) {
    if (letters_waiting(w->job) > LETTERS_MOST_BYTES) return true;
    for (uint32_t i = 0; i < w->job->n_sources; i++)
        if (node_full(&w->nodes[w->job->sources[i].p->index])) return true;
    return false;
}

/* Turns of the cut go out although there is no room, when the barrier is to overtake: they were in memory before, too. */
static bool barrier_presses(worker *w) {
    wr_job  *job = w->job;
    uint64_t epoch = atomic_load(&job->overtake);
    if (!epoch || w->barrier_sent == epoch || epoch != atomic_load(&job->barrier_epoch)) return false;
    wr_mutex_lock(job->turn_lock);
    uint64_t limit = job->barrier_turn;
    wr_mutex_unlock(job->turn_lock);
    return w->pending[0].number < limit;
}

static wr_status step(worker *w, bool *progress, wr_err *err) {
    if (pass_barrier(w)) *progress = true;
    if (w->job->views.set && cut_pass(w)) *progress = true;
    bool full = sources_full(w);
    if (w->n_pending && (!full || barrier_presses(w))) {
        bool      published;
        counter  *was = meter_to(w, &w->nodes[w->job->sources[w->pending[0].source].p->index].spent_ns[WR_SPENT_WORK]);
        wr_status status = publish(w, &w->pending[0], &published, err);
        meter_to(w, was);
        if (status != WR_OK) return status;
        if (published) {
            turn first = w->pending[0];
            for (uint32_t i = 1; i < w->n_pending; i++) w->pending[i - 1] = w->pending[i];
            w->pending[--w->n_pending] = first; /* its arrays are used again */
            *progress = true;
            pass_barrier(w);
            if (w->job->views.set) (void)cut_pass(w);
            return WR_OK;
        }
        full = sources_full(w);
    }
    if (full) return all_wait(w, WR_WAIT_ROOM), WR_OK;
    if (w->n_pending == TURNS_PENDING_MAX || atomic_load(&w->job->stop)) return all_wait(w, WR_WAIT_TURN), WR_OK;
    if (!budget_may_read(w)) return all_wait(w, WR_WAIT_MEMORY), WR_OK;
    bool got;
    WR_TRY(assign(w, &got, err));
    if (!got) return WR_OK;
    *progress = true;
    turn     *t = &w->pending[w->n_pending++];
    counter  *was = meter_to(w, &w->nodes[w->job->sources[t->source].p->index].spent_ns[WR_SPENT_DECODE]);
    wr_status status = decode(w, t, err);
    meter_to(w, was);
    charge_turn(w->job, t, true);
    return status;
}

wr_status source_step(worker *w, bool *progress, wr_err *err) {
    const wr_job *job = w->job;
    for (uint32_t i = 0; i < job->n_sources; i++) meter_begin(&w->nodes[job->sources[i].p->index]);
    wr_status status = step(w, progress, err);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        node    *n = &w->nodes[job->sources[i].p->index];
        wr_spent waits = (wr_spent)atomic_load_explicit(&n->waits, memory_order_relaxed);
        meter_end(n, waits < WR_SPENT_COUNT ? waits : n->waited);
    }
    return status;
}
