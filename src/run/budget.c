/* run/budget.c: see budget.h: watching what is held, limits for the maps, throttling, the stop, and the forecast.
 *
 * Limits     water filling: what is left for state is shared so that operators below the common level keep what they have and may grow up to it,
 *            and the others come down to it. Workers apply their limits between two calls of an operator (budget_step).
 * Reserve    rises at once with what is seen and comes down slowly, so that a peak between two looks is not forgotten. Dirty pages of the
 *            allocator are not counted: they are given back before they matter.
 * Results    nothing here changes what a job gives, only when it goes on: turns keep their numbers, operators their order.
 * Thread     budget_watch: the coordinator. budget_step, budget_may_read: workers; what they share is atomic. The limits are worked out by whoever
 *            sees the need first (`busy`).                                                                                    */
#include "run/internal.h"
#include <inttypes.h>
#include <stdio.h>

/* Of the job's part, in per cent: where limits begin and end, and what state may take. With checkpoints a copy of what changed is held for a while. */
enum { SPILL_FROM = 60, SPILL_UNTIL = 45, STATE_MOST = 90, SAVED_SPILL_FROM = 40, SAVED_SPILL_UNTIL = 30, SAVED_STATE_MOST = 65 };
enum { LOOK_US = 40000, WORK_US = 5000, POINT_US = 5000000, SAMPLE_US = 250000, TIER_LOOK_US = 100000, STUCK_LOOKS = 16 };
enum { TURN_BYTES = 1 << 20, QUEUE_BYTES_MIN = 1 << 15, QUEUE_BYTES_MAX = 8 << 20, MAP_BYTES_MIN = 1 << 18, BASE_SLACK = 2 << 20, POOL_BYTES_MIN = 1 << 20 };
enum { TIER_BYTES_MIN = 4 << 20, TIER_BYTES_MAX = 256 << 20, PROCESS_BYTES = 24 << 20, ROCKS_BYTES = 8 << 20 }; /* ROCKS: code, threads and buffers of RocksDB beside the tier's memory, measured */

static int64_t held(const wr_job *job) { return wr_account_bytes(job->opts.acct); }
static bool    can_spill(const node *n) { return n->spills; }
static int64_t share_of(int64_t bytes, int percent) { return bytes / 100 * percent; }

static int     spill_percent(const wr_job *job, bool already) {
    return job->opts.state_dir ? (already ? SAVED_SPILL_UNTIL : SAVED_SPILL_FROM) : already ? SPILL_UNTIL : SPILL_FROM;
}

/* ---- figures at the start ---- */
static uint32_t count_queues(const wr_job *job) {
    uint32_t n = 0;
    for (uint32_t e = 0; e < job->n_edges; e++)
        for (uint32_t i = 0; i < job->n_workers * job->n_workers; i++) n += job->edges[e].queues[i] != NULL;
    return n;
}

/* What comes between two looks (pages that are on their way back, a table that doubles) is kept free. */
static int64_t margin(const budget *b) { return b->of_process ? WR_MIN(b->limit / 12, INT64_C(6) << 20) : 0; }

static size_t queue_limit(const wr_job *job) {
    if (job->opts.queue_bytes) return job->opts.queue_bytes;
    uint32_t n = WR_MAX(count_queues(job), 1u);
    int64_t  all = job->budget.limit ? atomic_load(&job->budget.data) / 8 : 256 << 20;
    return (size_t)WR_MIN(WR_MAX(all / n, (int64_t)QUEUE_BYTES_MIN), (int64_t)QUEUE_BYTES_MAX);
}

/* Smaller batches where memory is small: 16 KiB of budget a row in flight. */
uint32_t budget_batch_rows(int64_t limit_bytes, uint32_t n_workers) {
    if (!limit_bytes) return WR_BATCH_MAX;
    return (uint32_t)WR_MIN(WR_MAX(limit_bytes / n_workers / (16 << 10), (int64_t)256), (int64_t)WR_BATCH_MAX);
}

/* The memory of the tier, once it is open: a quarter of what is left beside the process. */
int64_t budget_tier_bytes(int64_t limit_bytes) {
    return limit_bytes ? WR_MIN(WR_MAX((limit_bytes - PROCESS_BYTES) / 4, (int64_t)TIER_BYTES_MIN), (int64_t)TIER_BYTES_MAX) : 0;
}

int64_t wr_tier_share_bytes(int64_t budget_bytes) { return budget_bytes ? budget_tier_bytes(budget_bytes) + ROCKS_BYTES : 0; }

/* Every entry that is not in memory costs a look into the tier's files unless a filter says that it is in none: when there are many entries, filters are worth
 * more than the entries that they drive out of memory. */
int64_t budget_filter_bytes(int64_t limit_bytes) { return limit_bytes ? WR_MAX((limit_bytes - PROCESS_BYTES) / 4, (int64_t)1 << 20) : 0; }

/* What spilling will take that is not taken yet: state must leave so much room, or opening the tier would break the budget. */
static int64_t spill_reserve(const wr_job *job) {
    const budget *b = &job->budget;
    if (!b->spills_any || job->opts.map_bytes || (b->no_spare && !wr_tier_is_open(job->tier))) return 0;
    int64_t most = budget_tier_bytes(b->limit), tier = most - wr_account_bytes(&job->tier_acct);
    int64_t rocks = b->base + ROCKS_BYTES - atomic_load_explicit(&((budget *)(uintptr_t)b)->reserve, memory_order_relaxed);
    int64_t tier_spare = b->no_spare ? 0 : WR_MAX(tier, (int64_t)0) + most / 4; /* a compaction now and then */
    return tier_spare + (b->of_process ? WR_MAX(rocks, (int64_t)0) : 0);
}

/* What state, queues and buffers may take while the tier is not all there yet. */
static int64_t usable(const wr_job *job) { return atomic_load_explicit(&job->budget.data, memory_order_relaxed) - spill_reserve(job); }

/* What the job cannot do without: the process, what is charged already, two turns a worker, one full batch in each queue, the least of each map. */
int64_t budget_least(const wr_job *job) {
    int64_t need = job->budget.base + held(job) + (int64_t)job->n_workers * 2 * TURN_BYTES + (int64_t)count_queues(job) * QUEUE_BYTES_MIN;
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) need += can_spill(&job->workers[k].nodes[i]) ? MAP_BYTES_MIN : 0;
    return need;
}

/* The same with a tier: below it nothing is spilled, because opening the tier would cost more than there is. */
static int64_t least_to_spill(const wr_job *job) {
    int64_t tier = budget_tier_bytes(1);
    return budget_least(job) + ROCKS_BYTES + tier + tier / 4;
}

static wr_status refuse_to_start(wr_job *job, wr_err *err) {
    wr_sbuf limit = {0}, least = {0}, base = {0};
    wr_text_size(job->budget.limit, &limit);
    int64_t mib = (budget_least(job) + job->budget.base / 16 + (1 << 20) - 1) >> 20; /* how much of the process is resident differs a little from start to start */
    wr_text_size(mib << 20, &least);
    wr_text_size(job->budget.base, &base);
    wr_fail(err, WR_USER, "WR202", "a memory budget of %s is too small for this job: it needs at least %s", limit.at, least.at);
    wr_err_detail(err, "%s of that is the process itself, the rest input buffers and queues of %u worker%s and the least room of each operator", base.at,
                  job->n_workers, job->n_workers == 1 ? "" : "s");
    wr_err_hint(err, "give --memory %" PRIi64 "MiB or more%s", mib, job->n_workers > 1 ? ", or fewer workers (-p)" : "");
    wr_sbuf_free(&limit), wr_sbuf_free(&least), wr_sbuf_free(&base);
    return WR_USER;
}

static int64_t life_of(const wr_pnode *p) { return p->bill.bound == WR_BOUND_TIME && p->bill.retention_us > 0 ? (int64_t)p->bill.retention_us : 0; }

static void note_spills(wr_job *job) {
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->workers[k].n_tasks; i++) {
            node       *n = job->workers[k].tasks[i].head;
            wr_op_usage u = {0};
            if (n->op) n->op->vt->usage(n->op, &u);
            n->spills = u.spills;
            job->budget.spills_any = job->budget.spills_any || u.spills;
        }
}

wr_status budget_start(wr_job *job, wr_err *err) {
    budget *b = &job->budget;
    b->limit = job->opts.acct->limit;
    wr_heap heap;
    b->of_process = b->limit && job->opts.memory_of_process && !job->opts.simulate && wr_heap_stats(&heap);
    b->limits = wr_new_n(job->arena, _Atomic int64_t, job->n_nodes * job->n_workers + 1);
    b->forecasts = wr_new_n(job->arena, forecast, job->n_nodes + 1);
    note_spills(job);
    for (uint32_t i = 0; i < job->n_nodes; i++) forecast_init(&b->forecasts[i], life_of(job->plan->nodes.at[i]), POINT_US);
    if (job->opts.map_bytes) {
        for (uint32_t i = 0; i < job->n_nodes * job->n_workers; i++) atomic_store(&b->limits[i], job->opts.map_bytes);
        atomic_store(&b->version, 1);
    }
    if (b->of_process) {
        wr_mem_pool_trim((size_t)WR_MAX((b->limit - 2 * (int64_t)PROCESS_BYTES) / 12, (int64_t)POOL_BYTES_MIN));
        b->base = WR_MAX(wr_rss_bytes() - heap.dirty - held(job), (int64_t)0) + BASE_SLACK;
        atomic_store(&b->rss, wr_rss_bytes());
    }
    atomic_store(&b->reserve, b->base);
    atomic_store(&b->data, b->limit - b->base - margin(b));
    job->queue_limit = queue_limit(job);
    if (b->limit && budget_least(job) > b->limit && !job->opts.simulate) return refuse_to_start(job, err);
    if (b->of_process && least_to_spill(job) > b->limit) b->spills_any = false;
    return WR_OK;
}

/* ---- limits of the maps ---- */
/* The level L at which the sum of min(bytes, L) is `all`; values above it come down to it. */
int64_t budget_water_level(const int64_t *bytes, uint32_t n, int64_t all) {
    int64_t sum = 0, most = 0;
    for (uint32_t i = 0; i < n; i++) sum += bytes[i], most = WR_MAX(most, bytes[i]);
    if (sum <= all) return most + (all - sum) / WR_MAX(n, 1u); /* everybody may grow by an equal part of what is left */
    int64_t level = WR_MAX(all, (int64_t)0) / WR_MAX(n, 1u);
    for (uint32_t round = 0; round < n; round++) { /* those below the level leave room for the others */
        int64_t left = all, over = 0;
        for (uint32_t i = 0; i < n; i++)
            if (bytes[i] <= level) left -= bytes[i];
            else over++;
        int64_t next = over ? left / over : level;
        if (next <= level) break;
        level = next;
    }
    return level;
}

static void set_limits(wr_job *job, bool any) {
    budget  *b = &job->budget;
    uint32_t cells = job->n_nodes * job->n_workers, n = 0;
    int64_t *bytes = wr_malloc(sizeof *bytes * (cells + 1)), state = 0, level = 0;
    for (uint32_t i = 0; i < cells; i++) {
        if (!can_spill(&job->workers[i / job->n_nodes].nodes[i % job->n_nodes])) continue;
        bytes[n] = wr_account_bytes(&job->op_accts[i]);
        state += bytes[n++];
    }
    if (any && n && b->spills_any) {
        int64_t others = held(job) - state, in_flight = wr_account_bytes(&job->queue_acct) + wr_account_bytes(&job->buffer_acct);
        int64_t data = usable(job), room = WR_MAX(share_of(data, 10), in_flight);
        level = WR_MAX(budget_water_level(bytes, n, share_of(data, job->opts.state_dir ? SAVED_STATE_MOST : STATE_MOST) - (others - in_flight) - room), (int64_t)MAP_BYTES_MIN);
    }
    bool changed = false;
    if (job->opts.map_bytes) n = 0; /* they stay as they are */
    for (uint32_t i = 0; n && i < cells; i++) {
        if (!can_spill(&job->workers[i / job->n_nodes].nodes[i % job->n_nodes])) continue;
        int64_t old = atomic_load_explicit(&b->limits[i], memory_order_relaxed);
        bool    near = old && level && level > old - old / 32 && level < old + old / 16; /* not worth telling */
        if (old == level || near) continue;
        atomic_store_explicit(&b->limits[i], level, memory_order_relaxed);
        changed = true;
    }
    if (changed) atomic_fetch_add(&b->version, 1), b->spills++;
    wr_free(bytes);
}

static budget_level level_for(const wr_job *job, int64_t bytes) {
    int64_t all = usable(job);
    int     before = atomic_load_explicit(&job->budget.level, memory_order_relaxed);
    if (bytes > all) return BUDGET_SHUT;
    if (bytes > share_of(all, 96)) return BUDGET_TRICKLE;
    if (bytes > share_of(all, 88)) return BUDGET_SLOW;
    if (bytes > share_of(all, spill_percent(job, before >= BUDGET_SPILL))) return BUDGET_SPILL;
    return BUDGET_CALM;
}

static void work_out(wr_job *job) {
    budget *b = &job->budget;
    if (atomic_exchange_explicit(&b->busy, true, memory_order_acquire)) return;
    int now = (int)level_for(job, held(job)), before = atomic_load(&b->level);
    set_limits(job, now >= BUDGET_SPILL);
    atomic_store(&b->level, now);
    if ((now >= BUDGET_SLOW) != (before >= BUDGET_SLOW)) {
        size_t full = queue_limit(job);
        atomic_store_explicit(&job->queue_limit, now >= BUDGET_SLOW && !job->opts.queue_bytes ? full / 4 : full, memory_order_relaxed);
    }
    atomic_store_explicit(&b->busy, false, memory_order_release);
    if (now < before) job_wake_all(job);
}

/* ---- workers ---- */
/* An operator that stopped in the middle of a watermark may hold on to entries: its turn comes later. */
static wr_status apply_limits(worker *w, uint32_t version, wr_err *err) {
    bool all = true, less = false;
    for (uint32_t i = 0; i < w->n_tasks; i++) {
        node   *n = w->tasks[i].head;
        int64_t bytes = atomic_load_explicit(&w->job->budget.limits[w->index * w->job->n_nodes + n->p->index], memory_order_relaxed);
        if (!n->spills || bytes == n->limit_bytes) continue;
        if (w->tasks[i].wm_pending) {
            all = false;
            continue;
        }
        less = less || (bytes && wr_account_bytes(&w->job->op_accts[w->index * w->job->n_nodes + n->p->index]) > bytes);
        n->limit_bytes = bytes;
        counter  *was = meter_aside(n, WR_SPENT_SPILL);
        wr_status status = n->op->vt->limit(n->op, bytes, err);
        meter_back(n, was);
        if (status != WR_OK) return status;
    }
    if (all) w->budget_version = version;
    if (less && w->job->budget.of_process) wr_heap_purge();
    return WR_OK;
}

wr_status budget_step(worker *w, int64_t now_us, wr_err *err) {
    wr_job *job = w->job;
    budget *b = &job->budget;
    int level = atomic_load_explicit(&b->level, memory_order_relaxed);
    if (b->limit && (level != BUDGET_CALM || held(job) > share_of(usable(job), spill_percent(job, false))) &&
        (now_us - w->budget_us >= WORK_US || job->opts.simulate)) {
        w->budget_us = now_us;
        work_out(job);
    }
    uint32_t version = atomic_load_explicit(&b->version, memory_order_acquire);
    return version == w->budget_version ? WR_OK : apply_limits(w, version, err);
}

bool budget_may_read(worker *w) {
    wr_job *job = w->job;
    budget *b = &job->budget;
    if (!b->limit) return true;
    int     level = atomic_load_explicit(&b->level, memory_order_relaxed);
    int64_t flight = wr_account_bytes(&job->queue_acct) + wr_account_bytes(&job->turn_acct);
    bool    may = level <= BUDGET_SPILL ? flight <= share_of(atomic_load_explicit(&b->data, memory_order_relaxed), 30)
                  : level == BUDGET_SLOW ? w->n_pending == 0
                  : level == BUDGET_TRICKLE ? flight == 0
                                            : false;
    if (!may) atomic_store_explicit(&b->refused, true, memory_order_relaxed);
    return may;
}

/* ---- the coordinator ---- */
static void look_at_process(wr_job *job) {
    budget *b = &job->budget;
    wr_heap heap;
    if (!b->of_process || !wr_heap_stats(&heap)) return;
    int64_t rss = wr_rss_bytes();
    if (rss > b->limit - b->limit / 10 && heap.dirty > b->limit / 50) {
        if (rss > b->limit + b->limit / 20) wr_mem_pool_trim(POOL_BYTES_MIN);
        wr_heap_purge();
        rss = wr_rss_bytes();
        (void)wr_heap_stats(&heap);
    }
    atomic_store(&b->rss, rss);
    int64_t seen = WR_MAX(rss - heap.dirty - held(job), b->base), before = atomic_load(&b->reserve);
    bool    short_now = rss > b->limit - b->limit / 32; /* else a table that was copied while it grew is gone at the next look */
    int64_t reserve = seen >= before ? (short_now ? seen : before + (seen - before) / 4) : before - (before - seen) / 64;
    reserve = WR_MIN(reserve, b->limit / 4 * 3); /* something must be left to work with */
    atomic_store(&b->reserve, reserve);
    atomic_store(&b->data, b->limit - reserve - margin(b));
}

static void look_at_tier(wr_job *job, int64_t now_us) {
    if (now_us - job->budget.tier_us < TIER_LOOK_US) return;
    job->budget.tier_us = now_us;
    wr_tier_stats stats;
    wr_tier_stats_get(job->tier, &stats); /* brings its account up to date */
}

static void sample(wr_job *job, int64_t now_us) {
    budget *b = &job->budget;
    if (now_us - b->sampled_us < SAMPLE_US) return;
    b->sampled_us = now_us;
    int64_t wall = wr_wall_us(job->opts.world);
    wr_mutex_lock(job->report_lock);
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        int64_t wm = WR_TIME_MAX;
        for (uint32_t k = 0; k < job->n_workers; k++)
            if (job->lives[i] >> k & 1) wm = WR_MIN(wm, job->reports[k * job->n_nodes + i].wm);
        forecast_add(&b->forecasts[i], wall, wm, (double)wr_account_bytes(&job->accts[i]));
    }
    wr_mutex_unlock(job->report_lock);
}

static bool nothing_moves(wr_job *job) {
    if (job->epoch_open || wr_account_bytes(&job->queue_acct) || wr_account_bytes(&job->turn_acct)) return false;
    for (uint32_t k = 0; k < job->n_workers; k++)
        if (!atomic_load(&job->workers[k].idle) || atomic_load(&job->workers[k].budget_version) != atomic_load(&job->budget.version)) return false;
    return true;
}

/* Share of the input that was read, 0..1; 0 where nobody knows. */
static double share_read(wr_job *job) {
    uint64_t done = 0, total = 0;
    wr_mutex_lock(job->turn_lock);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        uint64_t d = 0, t = 0;
        if (job->sources[i].src) job->sources[i].src->vt->progress(job->sources[i].src, &d, &t);
        if (job->sources[i].src && !job->sources[i].src->vt->bounded(job->sources[i].src)) t = 0;
        if (!t && job->sources[i].src) total = done = 0, i = job->n_sources;
        done += d, total += t;
    }
    wr_mutex_unlock(job->turn_lock);
    return total ? WR_MIN((double)done / (double)total, 1.0) : 0;
}

static void add_part(wr_sbuf *out, const char *what, int64_t bytes) {
    if (bytes < 4096) return;
    wr_sbuf_printf(out, "%s%s ", out->len ? ", " : "", what);
    wr_text_size(bytes, out);
}

static int64_t mib_up(double bytes) { return ((int64_t)bytes >> 20) + 1; }

static wr_status used_up(wr_job *job, wr_err *err) {
    budget  *b = &job->budget;
    uint32_t most = 0;
    int64_t  state = 0;
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        state += wr_account_bytes(&job->accts[i]);
        if (wr_account_bytes(&job->accts[i]) > wr_account_bytes(&job->accts[most])) most = i;
    }
    const wr_pnode *p = job->plan->nodes.at[most];
    bool    spills = false;
    for (uint32_t k = 0; k < job->n_workers; k++) spills = spills || can_spill(&job->workers[k].nodes[most]);
    int64_t to_spill = spills && !b->spills_any ? least_to_spill(job) : 0;
    int64_t all = held(job), in_flight = wr_account_bytes(&job->queue_acct) + wr_account_bytes(&job->buffer_acct), reserve = atomic_load(&b->reserve);
    wr_sbuf limit = {0}, mine = {0}, parts = {0};
    wr_text_size(b->limit, &limit);
    wr_text_size(wr_account_bytes(&job->accts[most]), &mine);
    wr_fail(err, WR_LIMIT, "WR201", "the memory budget of %s is used up: %s holds %s%s", limit.at, p->title, mine.at,
            to_spill ? "" : " that cannot be spilled");
    add_part(&parts, "all operators", state);
    add_part(&parts, "queues and input", in_flight);
    add_part(&parts, "tier and others", all - state - in_flight);
    add_part(&parts, "the process itself", reserve);
    double share = share_read(job), needs = (double)(all + reserve) * 1.1, to_end = share > 0.01 && share < 1 ? ((double)all / share + (double)reserve) * 1.1 : 0;
    if (to_spill) wr_err_detail(err, "%s; to spill state to disk takes a budget of at least %" PRIi64 " MiB in this job", parts.at, mib_up((double)to_spill));
    else wr_err_detail(err, "%s; %s", parts.at, spills ? "what it keeps beside its keyed entries (timers, lists, panes) stays in memory" : "this operator keeps its state in memory only");
    if (to_spill)
        wr_err_hint(err, "give --memory %" PRIi64 "MiB or more: state that is not used is then moved to disk", mib_up((double)to_spill));
    else if (to_end > 0)
        wr_err_hint(err, "--memory %" PRIi64 "MiB would have come this far (%.0f %% of the input), the end needs about %" PRIi64
                    "MiB; or let the state forget: a shorter window or interval, or 'table.exec.state.ttl'", mib_up(needs), share * 100, mib_up(to_end));
    else
        wr_err_hint(err, "--memory %" PRIi64 "MiB would have come this far; or let the state forget: a shorter window or interval, or 'table.exec.state.ttl'", mib_up(needs));
    err->at = p->at;
    wr_sbuf_free(&limit), wr_sbuf_free(&mine), wr_sbuf_free(&parts);
    return WR_LIMIT;
}

static wr_status stop_if_stuck(wr_job *job, wr_err *err) {
    budget *b = &job->budget;
    int64_t bytes = held(job);
    if (atomic_load(&b->level) != BUDGET_SHUT || !nothing_moves(job)) {
        b->stuck_looks = 0;
        return WR_OK;
    }
    if (b->stuck_looks && bytes < b->stuck_bytes) b->stuck_looks = 0; /* it comes down */
    b->stuck_bytes = bytes;
    if (++b->stuck_looks < STUCK_LOOKS) return WR_OK;
    if (b->no_spare || spill_reserve(job) == 0) return used_up(job, err);
    b->no_spare = true; /* nothing more will be spilled: what was kept free for it may be used */
    if (!wr_tier_is_open(job->tier)) b->spills_any = false; /* and the tier stays closed */
    b->stuck_looks = 0;
    return WR_OK;
}

wr_status budget_watch(wr_job *job, wr_err *err) {
    budget *b = &job->budget;
    int64_t now = wr_mono_us(job->opts.world);
    sample(job, now);
    if (!b->limit || (now - b->looked_us < LOOK_US && !job->opts.simulate)) return WR_OK;
    if (atomic_exchange(&b->refused, false) && b->looked_us) atomic_fetch_add(&b->throttled_us, now - b->looked_us);
    b->looked_us = now;
    look_at_tier(job, now);
    look_at_process(job);
    work_out(job);
    return stop_if_stuck(job, err);
}

/* ---- reports ---- */
void budget_status(wr_job *job, wr_budget_status *out) {
    budget *b = &job->budget;
    *out = (wr_budget_status){.limit_bytes = b->limit, .reserve_bytes = atomic_load(&b->reserve), .rss_bytes = atomic_load(&b->rss),
                              .throttled_us = atomic_load(&b->throttled_us), .level = atomic_load(&b->level), .reach_us = -1};
    double sum = 0, most = 0;
    for (uint32_t i = 0; b->limit && i < job->n_nodes; i++) {
        forecast_growth g = forecast_get(&b->forecasts[i]);
        if (!g.known) continue;
        sum += g.bytes_per_hour;
        if (g.bytes_per_hour > most) most = g.bytes_per_hour, out->grows = job->plan->nodes.at[i];
    }
    if (!out->grows || out->level != BUDGET_CALM) {
        out->grows = NULL;
        return;
    }
    out->bytes_per_hour = most;
    double left = (double)(atomic_load(&b->data) - held(job)), hours = WR_MAX(left, 0.0) / sum;
    out->reach_us = hours < 24 * 365 * 100 ? (int64_t)(hours * 3600e6) : -1;
}

const char *wr_budget_level_name(int level) {
    static const char *const names[] = {"calm", "spilling", "slowed", "one turn at a time", "held"};
    return level >= 0 && level < (int)WR_COUNT_OF(names) ? names[level] : "?";
}
