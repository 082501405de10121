/* run/lookup.c: answers the questions of lookup joins: threads, retries, and tables that are held as a whole.
 *
 * Idea       each lookup join of a worker has one thread with a connection of its own. Questions stand in a list under a lock; the thread answers one after
 *            the other, each with all keys of a batch, marks it done and wakes the worker. A table held as a whole is read by that same thread, in front
 *            of the first question and of the first one after it is due again: the rows that ask wait for it, and it needs no lock.
 * Invariant  a question's fields belong to the thread between ask() and done.
 * Bound      the operator bounds questions under way. A whole table is charged to the operator's account; each worker keeps the rows of its key groups only.
 * Simulation no thread: step() answers one question.
 * Thread     ask, step, bytes, close: the worker; the rest: the asker's own.                                           */
#include "run/internal.h"
#include <stdio.h>

enum { RETRY_US = 100000, DAY_S = 86400 };

typedef struct held {                    /* a whole table */
    WR_ARR(wr_batch *) batches;          /* dense, full but the last: row i is in batch i / WR_BATCH_MAX */
    WR_ARR(uint64_t) hash;               /* by row, of its key */
    uint32_t *next, *bucket, mask;       /* chains of rows + 1, in order */
    int64_t   bytes;
} held;
typedef struct asker {
    wr_asker       base;
    wr_job        *job;
    worker        *w;
    const wr_pnode *p;
    wr_arena      *arena;                /* of options that connectors keep */
    wr_diags       diags;
    wr_table_info  info;
    wr_connect_ctx ctx;
    wr_account    *acct;
    uint32_t       group_from, group_to;
    wr_lookup     *table;                /* opened for the first question */
    wr_prog       *prog;                 /* decoded columns -> right columns */
    held           held;
    bool           is_held;
    uint64_t       version;
    int64_t        begun_us, ended_us, checked_us;
    wr_mutex      *lock;                 /* of the list */
    wr_ask        *first, **end;
    wr_bell       *bell;
    void          *thread;
    _Atomic bool   stop;
    _Atomic int64_t held_bytes;
} asker;

/* ---- one question to the connector, with retries ---- */

static wr_status open_table(asker *a, bool whole, wr_err *err) {
    if (a->table) return WR_OK;
    wr_status s = wr_lookup_open(&a->info, a->p->lookup.table_keys, a->p->lookup.opts.keys.n, whole, &a->ctx, &a->table, err);
    if (s != WR_USER || err->message[0]) return s;
    const wr_diag *d = a->diags.list.n ? &a->diags.list.at[0] : NULL; /* what the connector says of its options */
    if (!d) return wr_fail(err, WR_USER, "WR121", "the options of table '%.*s' do not fit together", WR_FMT(a->info.name));
    wr_fail(err, WR_USER, d->code, "%s", d->message);
    if (d->hint) wr_err_hint(err, "%s", d->hint);
    err->at = d->at;
    return s;
}

static void free_rows(wr_lookup_rows *rows) {
    for (uint32_t i = 0; i < rows->batches.n; i++) wr_batch_unref(rows->batches.at[i]);
    wr_arr_free(&rows->batches);
}

static wr_status get(asker *a, const wr_batch *keys, wr_lookup_rows *rows, uint32_t *retries, wr_err *err) {
    for (uint32_t attempt = 0;; attempt++) {
        *err = (wr_err){0};
        wr_status s = open_table(a, !keys, err);
        if (s == WR_OK) s = a->table->vt->get(a->table, keys, rows, err);
        if (s == WR_OK) return WR_OK;
        free_rows(rows);
        if (!err->retriable || attempt >= a->p->lookup.opts.max_retries || atomic_load(&a->stop)) {
            if (attempt) wr_err_detail(err, "it was tried %u times ('lookup.max-retries')", attempt + 1);
            return s;
        }
        ++*retries;
        a->job->opts.world->vt->sleep_us(a->job->opts.world, RETRY_US);
    }
}

/* The table's batch as the join wants it. */
static wr_status project(asker *a, wr_batch *in, wr_batch **out, wr_err *err) {
    uint32_t  n = a->p->lookup.right.n;
    wr_batch *b = wr_batch_derive(in, n);
    wr_status s = wr_prog_eval(a->prog, in, wr_wall_us(a->job->opts.world), b->cols, b->mem, err);
    for (uint32_t c = 0; c < n && s == WR_OK; c++) b->cols[c].type = a->p->lookup.right.fields[c].type;
    if (s == WR_OK) *out = b;
    else wr_batch_unref(b);
    return s;
}

/* ---- whole tables ---- */

static void free_held(asker *a) {
    for (uint32_t i = 0; i < a->held.batches.n; i++) wr_batch_unref(a->held.batches.at[i]);
    wr_arr_free(&a->held.batches);
    wr_arr_free(&a->held.hash);
    wr_free(a->held.next);
    wr_free(a->held.bucket);
    wr_account_add(a->acct, -a->held.bytes);
    atomic_store(&a->held_bytes, 0);
    a->held = (held){0};
}

static bool mine(const asker *a, const wr_batch *b, uint32_t row, uint64_t hash) {
    const wr_join_keys *k = &a->p->lookup.opts.keys;
    for (uint32_t i = 0; i < k->n; i++)
        if (wr_vec_is_null(&b->cols[k->right[i]], row)) return false;
    uint32_t group = wr_key_group(hash, a->job->n_groups);
    return group >= a->group_from && group < a->group_to;
}

static void hold_row(asker *a, const wr_batch *b, uint32_t row, uint64_t hash) {
    held     *h = &a->held;
    wr_batch *to = h->batches.n ? h->batches.at[h->batches.n - 1] : NULL;
    if (!to || to->n_rows == WR_BATCH_MAX) {
        to = wr_batch_new(b->n_cols, 64 * 1024);
        for (uint32_t c = 0; c < b->n_cols; c++) wr_vec_init(&to->cols[c], b->cols[c].type, WR_BATCH_MAX, true, to->mem);
        wr_arr_push(&h->batches, to);
    }
    for (uint32_t c = 0; c < b->n_cols; c++) wr_vec_set(&to->cols[c], to->n_rows, &b->cols[c], row, to->mem);
    to->n_rows++;
    wr_arr_push(&h->hash, hash);
}

static void index_held(asker *a) {
    held    *h = &a->held;
    uint32_t cap = 16, n = h->hash.n;
    while (cap < n) cap *= 2;
    h->mask = cap - 1;
    h->bucket = wr_calloc(cap, sizeof *h->bucket);
    h->next = wr_calloc(n + 1, sizeof *h->next);
    for (uint32_t i = n; i-- > 0;) { /* from behind, so that a chain is in order */
        uint32_t *b = &h->bucket[h->hash.at[i] & h->mask];
        h->next[i] = *b;
        *b = i + 1;
    }
    h->bytes = (int64_t)((cap + n) * sizeof(uint32_t) + h->hash.cap * sizeof(uint64_t));
    for (uint32_t i = 0; i < h->batches.n; i++) h->bytes += (int64_t)wr_batch_bytes(h->batches.at[i]);
    wr_account_add(a->acct, h->bytes);
    atomic_store(&a->held_bytes, h->bytes);
}

static wr_status hold(asker *a, uint32_t *retries, wr_err *err) {
    wr_lookup_rows rows = {0};
    wr_world      *world = a->job->opts.world;
    uint64_t      *hash = wr_malloc(sizeof *hash * WR_BATCH_MAX);
    const wr_connector *c = wr_connector_find(a->p->lookup.from.table->connector);
    a->begun_us = a->checked_us = wr_wall_us(world);
    wr_status s = WR_OK;
    if (c->version) s = c->version(&a->info, &a->ctx, &a->version, err);
    if (s == WR_OK) s = get(a, NULL, &rows, retries, err);
    free_held(a);
    for (uint32_t i = 0; i < rows.batches.n && s == WR_OK; i++) {
        wr_batch *b;
        s = project(a, rows.batches.at[i], &b, err);
        if (s != WR_OK) break;
        wr_batch_hash(b, a->p->lookup.opts.keys.right, a->p->lookup.opts.keys.n, hash);
        for (uint32_t k = 0; k < wr_batch_live(b); k++) {
            uint32_t row = wr_batch_row(b, k);
            if (mine(a, b, row, hash[row])) hold_row(a, b, row, hash[row]);
        }
        wr_batch_unref(b);
    }
    free_rows(&rows);
    wr_free(hash);
    index_held(a);
    a->ended_us = wr_wall_us(world);
    a->is_held = s == WR_OK;
    return s;
}

/* The last moment before now at which the clock of the session's zone showed the time of the day. */
static int64_t last_time_of_day(const asker *a, int64_t now_us, int64_t time_us) {
    int64_t local = wr_tz_to_local(a->job->plan->tz, now_us), day = wr_floor_div(local, (int64_t)DAY_S * 1000000) * DAY_S * 1000000;
    if (day + time_us > local) day -= (int64_t)DAY_S * 1000000;
    return wr_tz_to_utc(a->job->plan->tz, day + time_us);
}

static wr_status is_due(asker *a, bool *due, wr_err *err) {
    const wr_lookup_join_opts *o = &a->p->lookup.opts;
    int64_t now = wr_wall_us(a->job->opts.world);
    *due = !a->is_held;
    if (*due) return WR_OK;
    if (o->reload_at_us >= 0) {
        int64_t last = last_time_of_day(a, now, o->reload_at_us);
        *due = a->begun_us < last && last - a->begun_us > (o->reload_days - 1) * DAY_S * 1000000;
        return WR_OK;
    }
    if (o->reload_us) {
        *due = now - (o->reload_fixed_rate ? a->begun_us : a->ended_us) >= o->reload_us;
        return WR_OK;
    }
    const wr_connector *c = wr_connector_find(a->p->lookup.from.table->connector);
    if (!c->version || now - a->checked_us < o->check_us) return WR_OK;
    uint64_t version;
    a->checked_us = now;
    WR_TRY(c->version(&a->info, &a->ctx, &version, err));
    *due = version != a->version;
    return WR_OK;
}

static void find_held(const asker *a, wr_ask *ask) {
    const held         *h = &a->held;
    const wr_join_keys *k = &a->p->lookup.opts.keys;
    uint64_t            hash[WR_BATCH_MAX];
    uint32_t            cols[64];
    wr_batch           *to = NULL;
    for (uint32_t i = 0; i < k->n; i++) cols[i] = i;
    wr_batch_hash(ask->keys, cols, k->n, hash);
    for (uint32_t i = 0; i < ask->keys->n_rows; i++) {
        for (uint32_t r = h->bucket[hash[i] & h->mask]; r; r = h->next[r - 1]) {
            const wr_batch *b = h->batches.at[(r - 1) / WR_BATCH_MAX];
            uint32_t        row = (r - 1) % WR_BATCH_MAX;
            bool            same = h->hash.at[r - 1] == hash[i];
            for (uint32_t c = 0; c < k->n && same; c++) same = wr_vec_equal(&ask->keys->cols[c], i, &b->cols[k->right[c]], row);
            if (!same) continue;
            if (!to || to->n_rows == WR_BATCH_MAX) {
                to = wr_batch_new(b->n_cols, 16 * 1024);
                for (uint32_t c = 0; c < b->n_cols; c++) wr_vec_init(&to->cols[c], b->cols[c].type, WR_BATCH_MAX, true, to->mem);
                wr_arr_push(&ask->rows, to);
            }
            for (uint32_t c = 0; c < b->n_cols; c++) wr_vec_set(&to->cols[c], to->n_rows, &b->cols[c], row, to->mem);
            to->n_rows++;
        }
    }
}

/* ---- answering ---- */

static wr_status answer(asker *a, wr_ask *ask) {
    if (a->p->lookup.opts.cache == WR_LOOKUP_CACHE_FULL) {
        bool due;
        WR_TRY(is_due(a, &due, &ask->err));
        if (due) {
            WR_TRY(hold(a, &ask->retries, &ask->err));
            ask->reloads++;
        }
        find_held(a, ask);
        return WR_OK;
    }
    wr_lookup_rows rows = {0};
    wr_status      s = get(a, ask->keys, &rows, &ask->retries, &ask->err);
    for (uint32_t i = 0; i < rows.batches.n && s == WR_OK; i++) {
        wr_batch *b;
        s = project(a, rows.batches.at[i], &b, &ask->err);
        if (s == WR_OK) wr_arr_push(&ask->rows, b);
    }
    free_rows(&rows);
    return s;
}

static wr_ask *pop(asker *a) {
    wr_mutex_lock(a->lock);
    wr_ask *ask = a->first;
    if (ask) {
        a->first = ask->next;
        if (!a->first) a->end = &a->first;
    }
    wr_mutex_unlock(a->lock);
    return ask;
}

static void complete(asker *a, wr_ask *ask) {
    uint64_t from = wr_cost_ns();
    ask->status = answer(a, ask);
    ask->took_us = (wr_cost_ns() - from) / 1000;
    if (ask->status != WR_OK) ask->err.status = ask->status;
    atomic_store_explicit(&ask->done, true, memory_order_release);
    wr_bell_ring(a->w->bell);
}

static void run_thread(void *arg) {
    asker *a = arg;
    while (!atomic_load(&a->stop)) {
        wr_ask *ask = pop(a);
        if (ask) complete(a, ask);
        else wr_bell_wait(a->bell, 200000);
    }
}

/* ---- the operator's side ---- */

static void ask_asker(wr_asker *base, wr_ask *ask) {
    asker *a = (asker *)base;
    wr_mutex_lock(a->lock);
    *a->end = ask;
    a->end = &ask->next;
    wr_mutex_unlock(a->lock);
    wr_bell_ring(a->bell);
}
static void step_asker(wr_asker *base) {
    asker  *a = (asker *)base;
    wr_ask *ask = a->thread ? NULL : pop(a);
    if (ask) complete(a, ask);
}
static int64_t bytes_asker(wr_asker *base) { return atomic_load(&((asker *)base)->held_bytes); }
static void close_asker(wr_asker *base) {
    asker *a = (asker *)base;
    atomic_store(&a->stop, true);
    wr_bell_ring(a->bell);
    if (a->thread) a->job->opts.world->vt->join(a->job->opts.world, a->thread);
    if (a->table) a->table->vt->close(a->table);
    free_held(a);
    wr_prog_free(a->prog);
    wr_mutex_free(a->lock);
    wr_bell_free(a->bell);
    wr_diags_free(&a->diags);
    wr_arena_free(a->arena);
    wr_free(a);
}

wr_status lookup_asker_new(wr_job *job, node *n, wr_asker **out, wr_err *err) {
    asker *a = wr_calloc(1, sizeof *a);
    *a = (asker){.base = {ask_asker, step_asker, bytes_asker, close_asker}, .job = job, .w = n->w, .p = n->p, .acct = n->ctx.acct, .group_from = n->ctx.group_from, .group_to = n->ctx.group_to};
    a->arena = wr_arena_new(NULL);
    wr_diags_init(&a->diags);
    table_info_of(job, n->p, &a->info);
    a->ctx = (wr_connect_ctx){.world = job->opts.world, .arena = a->arena, .acct = &job->buffer_acct, .diags = &a->diags, .tz = job->plan->tz, .n_workers = 1, .batch_rows = WR_BATCH_MAX};
    a->prog = wr_prog_new(n->p->lookup.from.exprs, n->p->lookup.from.n_exprs, job->plan->tz, job->opts.world);
    wr_prog_names(a->prog, &n->p->lookup.from.decoded);
    a->lock = wr_mutex_new();
    a->bell = wr_bell_new();
    a->end = &a->first;
    if (!job->opts.simulate) {
        char name[16];
        snprintf(name, sizeof name, "lookup-%u", n->w->index);
        wr_status s = job->opts.world->vt->spawn(job->opts.world, name, run_thread, a, &a->thread, err);
        if (s != WR_OK) {
            a->thread = NULL;
            close_asker(&a->base);
            return s;
        }
    }
    *out = &a->base;
    return WR_OK;
}
