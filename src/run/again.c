/* run/again.c: see again.h. The job's part: requests are found, handed to sources and sinks, and answered behind a checkpoint.
 *
 * Way        coordinator: again_look -> letters' indexes in source.again / node.again, under the turn lock -> source_task.c makes a turn of each, again_judge decides
 *            when it is published; again_sinks writes rows -> none is left: a checkpoint is wanted -> it is complete: the result is written, the request removed.
 * Crash      before that the request is still there and is gone through once more: what the restored state has is answered as done before.       */
#include "run/again.h"
#include "run/internal.h"
#include <inttypes.h>
#include <stdio.h>

enum { FILE_VERSION = 1, REQUEST_BYTES_MAX = 256 << 20, PATH = 700, LOOK_US = 100000 };

const char *wr_again_outcome_name(wr_again_outcome outcome) {
    static const char *const names[] = {"waiting", "passed", "refused", "late", "done-before", "not-possible"};
    return names[outcome];
}

void wr_again_free(wr_again_request *r) {
    wr_arr_free(&r->letters);
    wr_sbuf_free(&r->file);
}

/* ---- files ---- */
static void put_text(wr_sbuf *out, wr_str text) {
    wr_put_u8(out, text.ptr != NULL);
    wr_put_bytes(out, text.ptr ? text.ptr : "", text.len);
}
static wr_str get_text(wr_reader *in) {
    bool   there = wr_get_u8(in);
    wr_str text = wr_get_bytes(in);
    return there ? text : (wr_str){NULL, 0};
}

static void encode(const wr_again_request *r, wr_sbuf *out) {
    wr_put_u8(out, FILE_VERSION);
    wr_put_u8(out, (uint8_t)(r->late_enters | r->overwrite << 1));
    wr_put_u32(out, r->letters.n);
    for (uint32_t i = 0; i < r->letters.n; i++) {
        const wr_again_letter *l = &r->letters.at[i];
        put_text(out, l->id), put_text(out, l->table);
        wr_put_u8(out, l->of_sink);
        put_text(out, l->record.partition), put_text(out, l->record.raw), put_text(out, l->record.key), put_text(out, l->record.context);
        wr_put_i64(out, l->record.offset);
    }
}

static bool decode(wr_again_request *r) {
    wr_reader in = {(const uint8_t *)r->file.at, (const uint8_t *)r->file.at + r->file.len, false};
    if (wr_get_u8(&in) != FILE_VERSION) return false;
    uint8_t flags = wr_get_u8(&in);
    r->late_enters = flags & 1, r->overwrite = flags >> 1 & 1;
    for (uint32_t n = wr_get_u32(&in); n > 0 && !in.bad; n--) {
        wr_again_letter l = {.id = get_text(&in)};
        l.table = get_text(&in);
        l.of_sink = wr_get_u8(&in);
        l.record.partition = get_text(&in), l.record.raw = get_text(&in), l.record.key = get_text(&in), l.record.context = get_text(&in);
        l.record.offset = wr_get_i64(&in);
        if (!in.bad) wr_arr_push(&r->letters, l);
    }
    return !in.bad;
}

wr_status wr_again_put_request(wr_world *world, const char *state_dir, const char *name, const wr_again_request *r, wr_err *err) {
    char    path[PATH];
    wr_sbuf text = {0};
    snprintf(path, sizeof path, "%s/replay", state_dir);
    WR_TRY(world->vt->make_dirs(world, path, err));
    snprintf(path, sizeof path, "%s/replay/%s.request", state_dir, name);
    encode(r, &text);
    wr_status status = wr_file_replace(world, path, wr_sbuf_str(&text), err);
    wr_sbuf_free(&text);
    return status;
}

static wr_status remove_file(wr_world *world, const char *path, wr_err *err) {
    wr_file_info info;
    bool         there;
    WR_TRY(world->vt->stat(world, path, &info, &there, err));
    return there ? world->vt->remove(world, path, err) : WR_OK;
}

wr_status wr_again_withdraw(wr_world *world, const char *state_dir, const char *name, wr_err *err) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/replay/%s.request", state_dir, name);
    return remove_file(world, path, err);
}

wr_status wr_again_take_result(wr_world *world, const char *state_dir, const char *name, wr_again_request *r, bool *there, wr_err *err) {
    char         path[PATH];
    wr_file_info info;
    wr_sbuf      text = {0};
    snprintf(path, sizeof path, "%s/replay/%s.result", state_dir, name);
    WR_TRY(world->vt->stat(world, path, &info, there, err));
    if (!*there) return WR_OK;
    WR_TRY(wr_file_read_all(world, path, REQUEST_BYTES_MAX, &text, err));
    wr_reader in = {(const uint8_t *)text.at, (const uint8_t *)text.at + text.len, false};
    for (uint32_t i = 0; i < r->letters.n && !in.bad; i++) {
        r->letters.at[i].outcome = (wr_again_outcome)wr_get_u8(&in);
        wr_str reason = wr_get_bytes(&in);
        snprintf(r->letters.at[i].reason, sizeof r->letters.at[i].reason, "%.*s", WR_FMT(reason));
    }
    wr_sbuf_free(&text);
    if (in.bad) return wr_fail(err, WR_CORRUPT, "WR399", "the answer %s is damaged", path);
    return world->vt->remove(world, path, err);
}

wr_status wr_again_state_id(wr_world *world, const char *state_dir, char out[20], wr_err *err) {
    wr_checkpoint ck = {0};
    bool          found;
    out[0] = 0;
    wr_status status = wr_checkpoint_open(world, state_dir, false, &ck, &found, err);
    const wr_section *s = status == WR_OK && found ? wr_checkpoint_find(&ck, WR_SECTION_REFUSED, WR_STR("job")) : NULL;
    wr_reader         in = {s ? (const uint8_t *)s->content.ptr : NULL, s ? (const uint8_t *)s->content.ptr + s->content.len : NULL, false};
    if (s) snprintf(out, 20, "%016" PRIx64, wr_get_u64(&in));
    wr_checkpoint_close(&ck);
    return status;
}

/* ---- what became of a letter ---- */
static wr_again_letter *letter_at(wr_job *job, uint32_t index) { return &job->again.request->letters.at[index]; }

static void settle(wr_job *job, wr_again_letter *l, wr_again_outcome outcome, const char *reason) {
    l->outcome = outcome;
    snprintf(l->reason, sizeof l->reason, "%s", reason);
    if (atomic_fetch_sub(&job->again.left, 1) == 1) wr_bell_ring(job->bell);
}

/* ---- sources ---- */
static bool all_parts_done(const source *s) {
    bool done = s->parts.n > 0;
    for (uint32_t i = 0; i < s->parts.n; i++) done = done && s->parts.at[i].done;
    return done;
}

bool again_waits(const source *s) { return s->again_next < s->again.n; }

wr_status again_next(wr_job *job, source *s, turn *t, bool *got, wr_err *err) {
    *got = false;
    while (again_waits(s)) {
        uint32_t         index = s->again.at[s->again_next++];
        wr_again_letter *l = letter_at(job, index);
        if (id_set_has(&s->refused.replayed, l->id)) {
            settle(job, l, WR_AGAIN_BEFORE, "");
        } else if (!s->src || !s->src->vt->again) {
            settle(job, l, WR_AGAIN_CANNOT, "its connector cannot take a record back");
        } else if (s->ended || (s->p->source.watermark && all_parts_done(s))) {
            settle(job, l, WR_AGAIN_CANNOT, "the input of the table has ended, and its windows with it");
        } else {
            t->again = index + 1;
            WR_TRY(s->src->vt->again(s->src, &l->record, &t->chunk, err));
            *got = true;
            return WR_OK;
        }
    }
    return WR_OK;
}

/* Rows that may not go in; marks late ones. */
static wr_again_outcome judge_rows(wr_job *job, const source *s, turn_batch *tb, char *reason, size_t cap) {
    const int64_t *ts = tb->ts.data;
    wr_batch      *b = tb->batch;
    if (!ts || tb->ts.type.id == WR_T_NULL) return WR_AGAIN_PASSED;
    for (uint32_t i = 0; i < b->n_rows; i++) {
        if (!wr_valid_get(tb->ts.valid, i)) return snprintf(reason, cap, "the event time is NULL"), WR_AGAIN_REFUSED;
        if (ts[i] < s->start_us) return snprintf(reason, cap, "its event time is before the start of the job (--from)"), WR_AGAIN_REFUSED;
        if (!s->p->source.watermark || s->wm == WR_TIME_MIN || ts[i] > s->wm) continue;
        if (!job->again.request->late_enters) {
            char is[40], wm[40];
            wr_text_timestamp(ts[i], wr_type_prec(WR_T_TIMESTAMP, 3), ' ', is);
            wr_text_timestamp(s->wm, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', wm);
            return snprintf(reason, cap, "its event time %s is behind the watermark %s", is, wm), WR_AGAIN_LATE;
        }
        int64_t *late = wr_mem_alloc(b->mem, sizeof *late * b->n_rows);
        for (uint32_t k = 0; k < b->n_rows; k++) late[k] = ts[k] <= s->wm ? s->wm : WR_TIME_MIN;
        b->row_wm_us = late;
        return WR_AGAIN_PASSED;
    }
    return WR_AGAIN_PASSED;
}

void again_publish(wr_job *job, source *s, turn *t, wr_ledger *ledger) {
    const wr_decoded *d = &t->decoded;
    wr_again_letter  *l = letter_at(job, t->again - 1);
    char              reason[240] = "";
    wr_again_outcome  outcome = WR_AGAIN_PASSED;
    if (id_set_has(&s->refused.replayed, l->id)) outcome = WR_AGAIN_BEFORE; /* twice in one request */
    else if (d->bad.n) outcome = WR_AGAIN_REFUSED, snprintf(reason, sizeof reason, "%s: %s", wr_bad_kind_name(d->bad.at[0].kind), d->bad.at[0].message);
    for (uint32_t i = 0; i < t->batches.n && outcome == WR_AGAIN_PASSED; i++) outcome = judge_rows(job, s, &t->batches.at[i], reason, sizeof reason);
    if (outcome == WR_AGAIN_PASSED) {
        id_set_add(&s->refused.replayed, l->id);
        count_records(d, 0, ledger);
        ledger->dropped[WR_REASON_BLANK] += d->n_blank;
        ledger->dropped[WR_REASON_TOMBSTONE] += d->n_tombstones;
        ledger->dropped[WR_REASON_REDELIVERED] += d->n_redelivered;
    } else {
        for (uint32_t i = 0; i < t->batches.n; i++) wr_batch_unref(t->batches.at[i].batch);
        t->batches.n = 0;
    }
    settle(job, l, outcome, reason);
}

/* ---- sinks ---- */
static uint8_t kind_of(wr_str context) {
    static const char *const kinds[] = {"\"+I\"", "\"-U\"", "\"+U\"", "\"-D\""};
    for (uint8_t k = 0; k < 4; k++)
        if (context.ptr && memmem(context.ptr, context.len, kinds[k], 4)) return k;
    return WR_KIND_INSERT;
}

/* The row that a letter holds as JSON; NULL: it does not fit the table. */
static wr_batch *row_of(const node *n, const wr_again_letter *l, char *reason, size_t cap) {
    const wr_format *json = wr_format_find(WR_STR("json"));
    wr_decoder_opts  opts = {.schema = &n->p->sink.write_schema, .tz = n->w->job->plan->tz, .batch_rows = 16, .max_record_bytes = REQUEST_BYTES_MAX};
    uint8_t         *needed = wr_malloc(opts.schema->n + 1);
    wr_decoder      *decoder = NULL;
    wr_decoded       d = {0};
    wr_batch        *b = NULL;
    wr_mem          *mem = wr_mem_new(l->record.raw.len + 256);
    uint8_t         *bytes = wr_mem_calloc(mem, l->record.raw.len + 65);
    memset(needed, 1, opts.schema->n + 1);
    memcpy(bytes, l->record.raw.ptr, l->record.raw.len);
    bytes[l->record.raw.len] = '\n';
    opts.needed = needed;
    if (json->decoder_new(&opts, &decoder, n->w->job->opts.diags) == WR_OK) decoder->decode(decoder, mem, bytes, l->record.raw.len + 1, false, &d);
    if (d.bad.n) snprintf(reason, cap, "%s: %s", wr_bad_kind_name(d.bad.at[0].kind), d.bad.at[0].message);
    else if (d.n_rows != 1) snprintf(reason, cap, "it holds %" PRIu64 " rows, not one", d.n_rows);
    else b = wr_batch_ref(d.batches.at[0]);
    if (decoder) decoder->free(decoder);
    wr_decoded_free(&d);
    wr_mem_unref(mem);
    wr_free(needed);
    return b;
}

static const char WRITTEN_BY_KEY[] = "the table is written by key: a newer row of the key may be there (--overwrite writes over it)";

/* Would it go in? What the sink's other end says of it is not known before. */
static void try_row(node *n, wr_again_letter *l) {
    wr_job           *job = n->w->job;
    refuser           was = {0};
    char              reason[240] = "";
    const wr_section *s = job->opts.again_from ? wr_checkpoint_find(job->opts.again_from, WR_SECTION_REFUSED, wr_str_of(n->p->id)) : NULL;
    wr_reader         in = {s ? (const uint8_t *)s->content.ptr : NULL, s ? (const uint8_t *)s->content.ptr + s->content.len : NULL, false};
    if (s) refuser_load(&was, &in);
    bool      before = id_set_has(&was.replayed, l->id);
    wr_batch *b = row_of(n, l, reason, sizeof reason);
    if (before) settle(job, l, WR_AGAIN_BEFORE, "");
    else if (n->p->sink.table->n_key && !job->again.request->overwrite) settle(job, l, WR_AGAIN_CANNOT, WRITTEN_BY_KEY);
    else settle(job, l, b ? WR_AGAIN_PASSED : WR_AGAIN_REFUSED, reason);
    wr_batch_unref(b);
    refuser_free(&was);
}

static wr_status put_row(node *n, wr_again_letter *l, wr_err *err) {
    wr_job *job = n->w->job;
    char    reason[240] = "";
    if (job->opts.again) return try_row(n, l), WR_OK;
    if (!n->refused) return settle(job, l, WR_AGAIN_CANNOT, "'on-error' of the table is 'fail', so it is not known what was put back"), WR_OK;
    if (id_set_has(&n->refused->replayed, l->id)) return settle(job, l, WR_AGAIN_BEFORE, ""), WR_OK;
    if (n->p->sink.table->n_key && !job->again.request->overwrite)
        return settle(job, l, WR_AGAIN_CANNOT, WRITTEN_BY_KEY), WR_OK;
    wr_batch *b = row_of(n, l, reason, sizeof reason);
    if (!b) return settle(job, l, WR_AGAIN_REFUSED, reason), WR_OK;
    uint8_t *kinds = wr_mem_alloc(b->mem, 1);
    kinds[0] = kind_of(l->record.context);
    b->kinds = kinds;
    id_set_add(&n->refused->replayed, l->id);
    n->ctx.read_us = 0;
    WR_TRY(node_push(n, 0, b, err));
    settle(job, l, WR_AGAIN_PASSED, "");
    return WR_OK;
}

/* Rows for the sinks of this worker. They belong to the epoch that their sink has not been saved for. */
wr_status again_sinks(worker *w, bool *progress, wr_err *err) {
    wr_job *job = w->job;
    if (!atomic_load_explicit(&job->again.sinks, memory_order_acquire)) return WR_OK;
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        node *n = &w->nodes[i];
        if (!n->p || !n->sink || job->where[i] != (int)w->index) continue;
        for (;;) {
            uint32_t index = UINT32_MAX;
            wr_mutex_lock(job->turn_lock);
            if (n->again_next < n->again.n) index = n->again.at[n->again_next++];
            wr_mutex_unlock(job->turn_lock);
            if (index == UINT32_MAX) break;
            *progress = true;
            WR_TRY(put_row(n, letter_at(job, index), err));
        }
    }
    return WR_OK;
}

/* ---- the coordinator ---- */
static bool hand_out(wr_job *job, uint32_t index) {
    const wr_again_letter *l = letter_at(job, index);
    for (uint32_t i = 0; !l->of_sink && i < job->n_sources; i++) {
        source *s = &job->sources[i];
        if (s->p->kind != WR_P_SOURCE || !wr_str_eq(s->p->source.table->name, l->table)) continue;
        wr_arr_push(&s->again, index);
        return true;
    }
    for (uint32_t i = 0; l->of_sink && i < job->n_nodes; i++) {
        const wr_pnode *p = job->plan->nodes.at[i];
        if (p->kind != WR_P_SINK || p->sink.is_result || job->where[i] < 0 || !wr_str_eq(p->sink.table->name, l->table)) continue;
        node *n = &job->workers[job->where[i]].nodes[i];
        wr_arr_push(&n->again, index);
        return true;
    }
    return false;
}

static void begin(wr_job *job, wr_again_request *request) {
    again *a = &job->again;
    a->request = request;
    a->phase = AGAIN_UNDER_WAY;
    atomic_store(&a->left, request->letters.n + 1); /* the last one is this function's */
    wr_mutex_lock(job->turn_lock);
    for (uint32_t i = 0; i < job->n_sources; i++) job->sources[i].again.n = job->sources[i].again_next = 0;
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) job->workers[k].nodes[i].again.n = job->workers[k].nodes[i].again_next = 0;
    for (uint32_t i = 0; i < request->letters.n; i++) {
        wr_again_letter *l = letter_at(job, i);
        l->outcome = WR_AGAIN_WAITS;
        if (!hand_out(job, i)) settle(job, l, WR_AGAIN_CANNOT, "the job has no such table, or more than one writer for it");
    }
    wr_mutex_unlock(job->turn_lock);
    atomic_fetch_sub(&a->left, 1);
    atomic_store(&a->sinks, true);
    job_wake_all(job);
}

/* The first request that can be read; *found false: there is none. */
static wr_status find_request(wr_job *job, bool *found, wr_err *err) {
    wr_world     *world = job->opts.world;
    wr_file_info *names;
    size_t        n;
    char          dir[PATH];
    bool          there;
    wr_file_info  info;
    again        *a = &job->again;
    *found = false;
    snprintf(dir, sizeof dir, "%s/replay", job->opts.state_dir);
    WR_TRY(world->vt->stat(world, dir, &info, &there, err));
    if (!there) return WR_OK;
    WR_TRY(world->vt->list(world, dir, &names, &n, err));
    for (size_t i = 0; i < n && !*found; i++) {
        size_t len = strlen(names[i].name);
        if (len < 9 || len > 80 || strcmp(names[i].name + len - 8, ".request")) continue;
        wr_again_request *r = wr_calloc(1, sizeof *r);
        wr_sbuf path = {0};
        wr_sbuf_printf(&path, "%s/%s", dir, names[i].name);
        wr_err    why;
        wr_status status = wr_file_read_all(world, path.at, REQUEST_BYTES_MAX, &r->file, &why);
        *found = status == WR_OK && decode(r) && r->letters.n <= WR_AGAIN_LETTERS_MAX;
        if (*found) a->path = wr_arena_printf(job->arena, "%.*s", (int)(path.len - 8), path.at);
        wr_sbuf_free(&path);
        if (*found) {
            a->own = r;
            begin(job, r);
        } else {
            wr_again_free(r);
            wr_free(r);
        }
    }
    wr_free(names);
    return WR_OK;
}

static wr_status answer(wr_job *job, wr_err *err) {
    again    *a = &job->again;
    wr_world *world = job->opts.world;
    wr_sbuf   text = {0}, path = {0};
    for (uint32_t i = 0; i < a->request->letters.n; i++) {
        const wr_again_letter *l = letter_at(job, i);
        wr_put_u8(&text, (uint8_t)l->outcome);
        wr_put_bytes(&text, l->reason, strlen(l->reason));
    }
    wr_sbuf_printf(&path, "%s.result", a->path);
    wr_status status = wr_file_replace(world, path.at, wr_sbuf_str(&text), err);
    wr_sbuf_clear(&path);
    wr_sbuf_printf(&path, "%s.request", a->path);
    if (status == WR_OK) status = remove_file(world, path.at, err);
    wr_sbuf_free(&path);
    wr_sbuf_free(&text);
    return status;
}

static void end(wr_job *job) {
    again *a = &job->again;
    if (a->own) wr_again_free(a->own), wr_free(a->own);
    a->own = NULL;
    a->request = NULL;
    a->phase = AGAIN_NONE;
    a->look_us = 0;
}

void again_free(wr_job *job) {
    end(job);
    for (uint32_t i = 0; job->sources && i < job->n_sources; i++) wr_arr_free(&job->sources[i].again);
    for (uint32_t k = 0; job->workers && k < job->n_workers; k++)
        for (uint32_t i = 0; job->workers[k].nodes && i < job->n_nodes; i++) wr_arr_free(&job->workers[k].nodes[i].again);
}

bool again_wants_checkpoint(const wr_job *job) { return job->again.phase == AGAIN_TO_SAVE && atomic_load(&((wr_job *)(uintptr_t)job)->barrier_epoch) < job->again.epoch; }

/* *over: a job that was started for requests alone has done them. */
wr_status again_look(wr_job *job, bool *over, wr_err *err) {
    again *a = &job->again;
    *over = false;
    if (a->phase == AGAIN_NONE) {
        bool    found = false;
        int64_t now = wr_mono_us(job->opts.world);
        if (job->opts.again) {
            if (a->given) return *over = true, WR_OK;
            a->given = true;
            begin(job, job->opts.again);
            return WR_OK;
        }
        if (!job->opts.state_dir || job->opts.until || job->settling || now < a->look_us || atomic_load(&job->stop)) return WR_OK;
        a->look_us = now + LOOK_US;
        WR_TRY(find_request(job, &found, err));
        *over = !found && job->opts.again_only;
        return WR_OK;
    }
    if (a->phase == AGAIN_UNDER_WAY && !atomic_load(&a->left)) {
        atomic_store(&a->sinks, false);
        if (job->opts.again) {
            end(job);
            return WR_OK;
        }
        a->phase = AGAIN_TO_SAVE;
        a->epoch = atomic_load(&job->barrier_epoch) + 1; /* one that is open may have been cut before */
    }
    if (a->phase == AGAIN_TO_SAVE && atomic_load(&job->commit_epoch) >= a->epoch && !job->epoch_open) {
        WR_TRY(answer(job, err));
        end(job);
    }
    return WR_OK;
}

/* What is decided when the sources' positions are not restored: for a try. */
wr_status again_prepare_try(wr_job *job, wr_err *err) {
    for (uint32_t i = 0; job->opts.again_from && i < job->n_sources; i++) {
        source           *s = &job->sources[i];
        const wr_section *at = wr_checkpoint_find(job->opts.again_from, WR_SECTION_SOURCE, wr_str_of(s->p->id));
        if (!at) continue;
        wr_reader in = {.at = (const uint8_t *)at->content.ptr, .end = (const uint8_t *)at->content.ptr + at->content.len};
        (void)wr_get_bytes(&in);
        wr_str    state = wr_get_bytes(&in);
        wr_reader sr = {.at = (const uint8_t *)state.ptr, .end = (const uint8_t *)state.ptr + state.len};
        WR_TRY(source_state_load(job, s, &sr, err));
    }
    return WR_OK;
}

/* May a job that has come to its end take rows? Not where operators kept something: that is gone. */
bool again_after_end(const wr_job *job) {
    for (uint32_t i = 0; i < job->n_nodes; i++)
        switch (job->plan->nodes.at[i]->kind) {
        case WR_P_SOURCE: case WR_P_VALUES: case WR_P_CALC: case WR_P_UNION: case WR_P_SINK: case WR_P_UNNEST: case WR_P_WINDOW_TVF: break;
        default: return false;
        }
    return true;
}
