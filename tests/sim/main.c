/* tests/sim/main.c: whole jobs with crashes and faults, compared with an undisturbed run.
 *
 * Run        one seed: a job from the list, then attempts. Each attempt has settings (workers, batch rows, queue bytes, bytes a chunk, checkpoint
 *            interval) and perhaps a fault: the power fails at a call or between two steps, the process is killed, a call fails, a sync fails,
 *            the disk is full or slow, the clock jumps, an older checkpoint rots. The job starts again from what the disk has, until it ends;
 *            the last attempts are left in peace. The outputs must be those of one worker without faults, and be there after a power loss.
 *            In every fourth seed the state of all operators goes through the tier (RocksDB, whose files are the world's, too).
 * Use        sim [--seeds N] [--from N] [--job NAME] [--processes N]   many seeds
 *            sim --seed N [--verbose]                                   one of them, exactly as before
 *            sim --faults                                               every k-th call fails, for every job; then the power fails there
 *            sim --seeds N --faults                                     both
 *            --appends: plain appends to the embedded log instead of jobs (appends.c)
 *            --golden FILE.test (again for more): its cases instead of the list of jobs
 *            --root DIR: where examples/ lies. Last line: N passed, N failed.                                                        */
#include "sim.h"
#include "../golden/golden.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DISTURBED_MAX = 6, TRACE_EVERY = 8, SECONDS_A_SEED = 30 };

typedef struct options { const char *root, *job; uint64_t seeds, from, seed; bool one, verbose, faults, appends; uint32_t processes; } options;
static options opt = {.root = ".", .from = 1};

/* ---- a job, planned once, with its right answer ---- */
typedef struct prepared { wr_session *session; const wr_job_plan *plan; wr_sbuf answer; bool skip; /* a golden case with no or several jobs, or one that fails */ } prepared;
static WR_ARR(prepared) ready;

typedef struct run {
    const sim_job *job;
    prepared      *p;
    sim_world     *world;
    sim_store      store;
    wr_rng         rng;
    wr_sbuf        history; /* one line an attempt */
    wr_err         err;
    char           failure[256];
    bool           tier;    /* all state goes through RocksDB */
} run;

static bool fail(run *r, const char *why) {
    if (!r->failure[0]) snprintf(r->failure, sizeof r->failure, "%s", why);
    return false;
}

static void open_run(run *r, prepared *p, const sim_job *job, uint64_t seed) {
    memset(r, 0, sizeof *r);
    r->job = job;
    r->p = p;
    r->world = sim_world_new(wr_hash_mix(seed, 1));
    r->store.world = r->world;
    wr_rng_seed(&r->rng, wr_hash_mix(seed, 2));
    sim_inputs(r->world, job);
    r->tier = seed && wr_hash_mix(seed, 3) % 4 == 0;
    r->world->verbose = opt.verbose;
}
static void close_run(run *r) {
    sim_store_free(&r->store);
    sim_world_free(r->world);
    wr_sbuf_free(&r->history);
}

static uint64_t below(run *r, uint64_t n) { return wr_rng_below(&r->rng, n); }

/* One start of the job up to its end, a fault or a crash. */
static wr_status attempt(run *r, wr_run_opts *ro) {
    wr_account root;
    wr_account_init(&root, NULL, "sim", 0);
    ro->world = &r->world->base;
    ro->acct = &root;
    ro->diags = wr_session_diags(r->p->session);
    ro->simulate = true;
    if (r->job->sql && strstr(r->job->sql, "'tail'")) ro->end_when_idle_us = 1;
    if (r->tier) ro->tier_attach_bytes = -1;
    if (r->tier && below(r, 2)) ro->map_bytes = 4096; /* and most of it leaves memory */
    ro->result = &sim_capture;
    ro->result_arg = &r->store;
    wr_job   *job = NULL;
    memset(&r->err, 0, sizeof r->err);
    wr_status status = wr_job_new(r->p->plan, ro, &job, &r->err);
    if (status == WR_OK) {
        status = wr_job_run(job, &r->err);
        wr_job_status now;
        wr_sbuf       ledger = {0};
        wr_job_status_get(job, &now);
        if (status == WR_OK && !wr_job_ledger_text(&now, &ledger)) fail(r, "the ledger does not close");
        wr_arena_free(now.arena);
        wr_sbuf_free(&ledger);
        wr_job_free(job);
    }
    if (wr_account_bytes(&root) != 0) fail(r, "bytes are still charged after the end");
    if (status != WR_OK && !r->err.message[0]) fail(r, "an error without a message");
    return status;
}

static bool outputs_right(run *r, const char *when) {
    wr_sbuf got = {0};
    sim_outputs(r->world, &r->store, &got);
    bool same = wr_str_eq(wr_sbuf_str(&got), wr_sbuf_str(&r->p->answer));
    if (!same) {
        fail(r, when);
        printf("---- expected\n%.*s---- got\n%.*s----\n", WR_FMT(wr_sbuf_str(&r->p->answer)), WR_FMT(wr_sbuf_str(&got)));
    }
    wr_sbuf_free(&got);
    return same;
}

static prepared *prepare(const sim_job *job) {
    uint32_t index = 0;
    while (sim_job_at(index) != job) index++;
    prepared *p = &ready.at[index];
    if (p->session) return p;
    wr_connector_register(&sim_capture);
    run r;
    open_run(&r, p, job, 0);
    wr_session_opts so = {.world = &r.world->base, .n_workers = 1, .accept_unbounded = true};
    char           *sql = sim_job_sql(job, opt.root);
    if (!sql) exit(2);
    p->session = wr_session_new(&so);
    wr_session_load_text(p->session, job->name, wr_str_of(sql));
    wr_free(sql);
    wr_status status = wr_session_plan(p->session);
    uint32_t n_jobs = 0;
    for (uint32_t i = 0; i < wr_session_n_steps(p->session); i++)
        if (wr_session_step(p->session, i)->kind == WR_STEP_JOB) n_jobs++, p->plan = wr_session_step(p->session, i)->job;
    wr_run_opts ro = {.n_workers = 1};
    if (status == WR_OK && p->plan && n_jobs == 1) status = attempt(&r, &ro);
    p->skip = job->golden && (status != WR_OK || !p->plan || n_jobs != 1);
    if (p->skip) {
        close_run(&r);
        return p;
    }
    if (status != WR_OK || !p->plan) {
        wr_sbuf text = {0};
        wr_session_report(p->session, &r.err, false, &text);
        printf("FAIL %s: cannot be run undisturbed\n%.*s\n", job->name, WR_FMT(wr_sbuf_str(&text)));
        exit(1);
    }
    sim_outputs(r.world, &r.store, &p->answer);
    if (opt.verbose && opt.one) printf("---- answer of '%s'\n%.*s", job->name, WR_FMT(wr_sbuf_str(&p->answer)));
    close_run(&r);
    return p;
}

/* ---- a seed ---- */
static uint64_t spread(run *r, uint32_t bits) { return 1 + below(r, UINT64_C(1) << (1 + below(r, bits))); } /* small numbers as often as large ones */

static wr_run_opts settings(run *r) {
    static const uint32_t batches[] = {1, 2, 3, 7, 64, 2048};
    static const size_t   queues[] = {1, 4096, 0}, chunks[] = {64, 300, 1000, 4096, 0};
    wr_run_opts ro = {.state_dir = "/state", .n_workers = 1 + (uint32_t)below(r, 5), .batch_rows = batches[below(r, WR_COUNT_OF(batches))],
                      .queue_bytes = queues[below(r, WR_COUNT_OF(queues))], .chunk_bytes = chunks[below(r, WR_COUNT_OF(chunks))], .seed = wr_rng_next(&r->rng)};
    ro.failed_checkpoints = (uint32_t)below(r, 3);
    if (below(r, 4)) ro.checkpoint_every_steps = 2 + spread(r, 8);
    else ro.checkpoint_interval_us = r->world->step_us * (int64_t)(10 + spread(r, 12));
    ro.unaligned = below(r, 3) != 0;
    if (ro.checkpoint_every_steps) ro.aligned_timeout_steps = spread(r, 6) - 1;
    else ro.aligned_timeout_us = r->world->step_us * (int64_t)(spread(r, 10) - 1);
    if (!r->job->sql && ro.chunk_bytes == 64) ro.chunk_bytes = 1000; /* larger logs */
    return ro;
}

typedef enum disturbance { PEACE, CRASH_CALL, CRASH_STEP, KILL_CALL, FAIL_CALL, FAIL_SYNC, DISK_FULL, DISTURBANCES } disturbance;
static const char *const names[] = {"peace", "power fails at a call", "power fails between steps", "killed at a call", "a call fails", "a sync fails", "disk full"};

static disturbance disturb(run *r, sim_faults *f, wr_run_opts *ro) {
    disturbance d = (disturbance)below(r, DISTURBANCES);
    *f = (sim_faults){.slow = below(r, 8) == 0, .clock_jumps = below(r, 4) == 0};
    switch (d) {
    case CRASH_CALL: case KILL_CALL: f->crash_at_call = spread(r, 10); break;
    case CRASH_STEP: ro->crash_after_steps = spread(r, 11); break;
    case FAIL_CALL: f->fail_at_call = spread(r, 10); break;
    case FAIL_SYNC: f->fail_at_sync = spread(r, 6); break;
    case DISK_FULL: f->space_bytes = 1 + spread(r, 16); break;
    case PEACE: case DISTURBANCES: break;
    }
    return d;
}

/* The checkpoints on the disk, by path. */
typedef struct checkpoints { char newest[512], older[512]; uint32_t n; } checkpoints;
static void see_checkpoint(void *arg, const char *path, wr_str content) {
    (void)content;
    checkpoints *c = arg;
    if (!strstr(path, ".weir") || strstr(path, ".tmp")) return;
    memcpy(c->older, c->newest, sizeof c->older);
    snprintf(c->newest, sizeof c->newest, "%s", path);
    c->n++;
}
static checkpoints find_checkpoints(run *r) {
    checkpoints c = {0};
    sim_world_each(r->world, "/state/checkpoint-", see_checkpoint, &c);
    return c;
}

/* A damaged newest checkpoint is refused by name and nothing is touched; a damaged older one does not matter, if the newest one lasts. */
static bool rot(run *r, bool lasting) {
    checkpoints c = find_checkpoints(r);
    uint64_t    where = wr_rng_next(&r->rng);
    if (c.n > 1 && lasting) sim_world_flip_bit(r->world, c.older, wr_rng_next(&r->rng));
    if (!c.n) return true;
    sim_world_flip_bit(r->world, c.newest, where);
    sim_world_boot(r->world, (sim_faults){0});
    wr_run_opts ro = settings(r);
    wr_status   status = attempt(r, &ro);
    sim_world_flip_bit(r->world, c.newest, where);
    wr_sbuf_printf(&r->history, "  rot: %s\n", r->err.message);
    if (status != WR_CORRUPT || !strstr(r->err.message, c.newest)) return fail(r, "a damaged checkpoint was not refused by name");
    return true;
}

/* Returns false when the run is over: it ended or it failed. */
static bool go_on(run *r, uint32_t nth) {
    sim_faults  faults = {0};
    wr_run_opts ro = settings(r);
    disturbance d = nth < DISTURBED_MAX ? disturb(r, &faults, &ro) : PEACE;
    sim_world_boot(r->world, faults);
    if (opt.verbose) printf("  attempt %u: %s\n", nth + 1, names[d]);
    wr_status status = attempt(r, &ro);
    bool      crashed = r->world->off || (d == CRASH_STEP && status == WR_CANCELLED);
    wr_sbuf_printf(&r->history, "  %u: %u workers, %u rows, queue %zu, chunk %zu, checkpoint every %llu steps or %lld us, %s %llu steps or %lld us; %s%s%s -> %s %s\n", nth + 1, ro.n_workers,
                   ro.batch_rows, ro.queue_bytes, ro.chunk_bytes, (unsigned long long)ro.checkpoint_every_steps, (long long)ro.checkpoint_interval_us,
                   ro.unaligned ? "unaligned after" : "aligned; not", (unsigned long long)ro.aligned_timeout_steps, (long long)ro.aligned_timeout_us, names[d],
                   faults.slow ? ", slow disk" : "", faults.clock_jumps ? ", clock jumps" : "", wr_status_name(status), r->err.message);
    if (r->failure[0]) return false;
    if (status == WR_OK && !crashed) return false;
    if (status != WR_OK && !crashed && !r->world->fired) return fail(r, "an error without a fault");
    bool power = crashed ? d != KILL_CALL : below(r, 4) == 0;
    if (power) {
        sim_world_power_loss(r->world);
        wr_sbuf_addz(&r->history, "  power lost\n");
    }
    return below(r, 6) != 0 || rot(r, power);
}

static bool run_seed(uint64_t seed, run *r) {
    wr_rng pick;
    wr_rng_seed(&pick, seed);
    const sim_job *job = sim_job_at((uint32_t)wr_rng_below(&pick, sim_n_jobs()));
    for (uint32_t i = 0; opt.job && i < sim_n_jobs(); i++)
        if (!strcmp(sim_job_at(i)->name, opt.job)) job = sim_job_at(i);
    open_run(r, prepare(job), job, seed);
    if (r->p->skip) return true;
    for (uint32_t nth = 0; go_on(r, nth);) nth++;
    if (r->failure[0] || !outputs_right(r, "the outputs differ")) return false;
    sim_world_power_loss(r->world);
    if (!outputs_right(r, "the outputs differ after a power loss behind the end")) return false;
    sim_world_boot(r->world, (sim_faults){0});
    wr_run_opts ro = settings(r);
    if (attempt(r, &ro) != WR_OK) return fail(r, "a finished job does not start again");
    return outputs_right(r, "the outputs differ after a finished job was started again");
}

static char now[256]; /* what is being run, for the watchdog */
static void on_alarm(int sig) {
    (void)sig;
    static const char text[] = "FAIL hangs: ";
    ssize_t ignored = write(STDOUT_FILENO, text, sizeof text - 1);
    ignored = write(STDOUT_FILENO, now, strlen(now));
    (void)ignored;
    _exit(1);
}

static bool check_appends(uint64_t seed) {
    char why[600];
    snprintf(now, sizeof now, "sim --appends --seed %llu\n", (unsigned long long)seed);
    alarm(SECONDS_A_SEED);
    bool ok = sim_appends(seed, why, sizeof why);
    if (!ok) printf("FAIL seed %llu, appends: %s\n  again: %s", (unsigned long long)seed, why, now);
    alarm(0);
    fflush(stdout);
    return ok;
}

static bool check_seed(uint64_t seed) {
    if (opt.appends) return check_appends(seed);
    run r;
    snprintf(now, sizeof now, "sim --seed %llu%s%s%s\n", (unsigned long long)seed, opt.job ? " --job '" : "", opt.job ? opt.job : "", opt.job ? "'" : "");
    alarm(SECONDS_A_SEED);
    bool     ok = run_seed(seed, &r);
    uint64_t trace = r.world->trace;
    if (!ok) {
        printf("FAIL seed %llu, job '%s'%s: %s\n%.*s  again: sim --seed %llu%s%s%s%s%s --verbose\n", (unsigned long long)seed, r.job->name, r.tier ? ", tier" : "", r.failure, WR_FMT(wr_sbuf_str(&r.history)),
               (unsigned long long)seed, r.job->golden ? " --golden " : "", r.job->golden ? r.job->golden->path : "", r.job->golden ? " --job " : opt.job ? " --job '" : "", r.job->golden ? r.job->name : opt.job ? opt.job : "", opt.job && !r.job->golden ? "'" : "");
    } else if (opt.one) {
        printf("seed %llu, job '%s', trace %016llx\n%.*s", (unsigned long long)seed, r.job->name, (unsigned long long)trace, WR_FMT(wr_sbuf_str(&r.history)));
    }
    close_run(&r);
    if (ok && (opt.one || seed % TRACE_EVERY == 0)) {
        bool verbose = opt.verbose;
        opt.verbose = false;
        ok = run_seed(seed, &r) && (r.tier || r.world->tiered || r.world->trace == trace); /* RocksDB has threads of its own */
        if (!ok) printf("FAIL seed %llu, job '%s': a second run took other steps\n", (unsigned long long)seed, r.job->name);
        opt.verbose = verbose;
        close_run(&r);
    }
    alarm(0);
    fflush(stdout);
    return ok;
}

/* ---- every k-th call ---- */
static bool fault_at(const sim_job *job, uint64_t k, bool power, bool *reached) {
    run r;
    open_run(&r, prepare(job), job, k * 2 + power);
    if (r.p->skip) {
        *reached = false;
        close_run(&r);
        return true;
    }
    wr_run_opts ro = {.state_dir = "/state", .n_workers = 2, .batch_rows = 7, .chunk_bytes = 1000, .checkpoint_every_steps = 8, .seed = k};
    sim_world_boot(r.world, power ? (sim_faults){.crash_at_call = k} : (sim_faults){.fail_at_call = k});
    wr_status status = attempt(&r, &ro);
    *reached = r.world->fired > 0;
    if (power && *reached) sim_world_power_loss(r.world);
    if (status != WR_OK && !*reached) fail(&r, "an error without a fault");
    if (status != WR_OK || power) {
        sim_world_boot(r.world, (sim_faults){0});
        ro.n_workers = 3;
        if (attempt(&r, &ro) != WR_OK) fail(&r, "it cannot go on");
    }
    bool ok = !r.failure[0] && outputs_right(&r, "the outputs differ");
    if (!ok) printf("FAIL job '%s', %s at call %llu: %s (%s)\n  again: sim --faults --job '%s' --from %llu\n", job->name, power ? "power failure" : "failure", (unsigned long long)k,
                    r.failure, r.err.message, job->name, (unsigned long long)k);
    close_run(&r);
    return ok;
}

static bool check_faults(const sim_job *job, uint64_t *runs) {
    bool ok = true, reached = true;
    for (uint64_t k = opt.from; reached && ok; k += 1 + k / 16) { /* each call at first, then ever fewer of the many alike */
        snprintf(now, sizeof now, "sim --faults --job '%s' --from %llu\n", job->name, (unsigned long long)k);
        alarm(SECONDS_A_SEED);
        bool again;
        ok = fault_at(job, k, false, &reached);
        ok = fault_at(job, k, true, &again) && ok;
        reached = reached || again;
        *runs += 2;
        alarm(0);
    }
    fflush(stdout);
    return ok;
}

/* ---- many, in several processes ---- */
typedef struct tally { uint64_t passed, failed, runs; } tally;

static tally work(uint32_t part) {
    tally t = {0};
    if (opt.faults) {
        for (uint32_t i = part; i < sim_n_jobs(); i += opt.processes) {
            if (opt.job && strcmp(opt.job, sim_job_at(i)->name) != 0) continue;
            if (check_faults(sim_job_at(i), &t.runs)) t.passed++;
            else t.failed++;
        }
    }
    for (uint64_t seed = opt.from + part; seed < opt.from + opt.seeds; seed += opt.processes) {
        if (check_seed(seed)) t.passed++;
        else t.failed++;
        t.runs++;
    }
    return t;
}

static void free_ready(void) {
    for (uint32_t k = 0; k < ready.n; k++) wr_session_free(ready.at[k].session), wr_sbuf_free(&ready.at[k].answer);
    wr_arr_free(&ready);
    sim_jobs_free();
}

static tally work_all(void) {
    int   pipes[64][2];
    pid_t children[64];
    tally sum = {0};
    fflush(stdout);
    for (uint32_t i = 0; i < opt.processes; i++) {
        wr_assert(pipe(pipes[i]) == 0);
        children[i] = fork();
        wr_assert(children[i] >= 0);
        if (children[i]) {
            close(pipes[i][1]);
            continue;
        }
        tally t = work(i);
        ssize_t n = write(pipes[i][1], &t, sizeof t);
        free_ready();
        fflush(stdout);
        exit(n == sizeof t ? 0 : 1);
    }
    for (uint32_t i = 0; i < opt.processes; i++) {
        tally t = {0};
        int   status;
        if (read(pipes[i][0], &t, sizeof t) != sizeof t) t = (tally){.failed = 1};
        waitpid(children[i], &status, 0);
        if (status && !t.failed) t.failed++;
        close(pipes[i][0]);
        sum.passed += t.passed, sum.failed += t.failed, sum.runs += t.runs;
    }
    return sum;
}

static bool number(const char *text, uint64_t *out) {
    char *end;
    *out = strtoull(text, &end, 10);
    return *text && !*end;
}

int main(int argc, char **argv) {
    uint64_t n = 0;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(a, "--verbose")) opt.verbose = true;
        else if (!strcmp(a, "--faults")) opt.faults = true;
        else if (!strcmp(a, "--appends")) opt.appends = true;
        else if (!strcmp(a, "--root")) opt.root = value, i++;
        else if (!strcmp(a, "--job")) opt.job = value, i++;
        else if (!strcmp(a, "--golden") && *value) {
            if (!sim_jobs_from(value)) return 2;
            i++;
        }
        else if (!strcmp(a, "--seed") && number(value, &opt.seed)) opt.one = true, i++;
        else if (!strcmp(a, "--seeds") && number(value, &opt.seeds)) i++;
        else if (!strcmp(a, "--from") && number(value, &opt.from)) i++;
        else if (!strcmp(a, "--processes") && number(value, &n)) opt.processes = (uint32_t)n, i++;
        else return fprintf(stderr, "sim: what is '%s'? See the head of tests/sim/main.c\n", a), 2;
    }
    signal(SIGALRM, on_alarm);
    if (!opt.seeds && !opt.faults) opt.seeds = 2000;
    if (!opt.processes) opt.processes = (uint32_t)wr_cpu_count();
    opt.processes = WR_MIN(opt.processes, 64u);
    if (opt.one) opt.from = opt.seed, opt.seeds = 1;
    if (opt.one) opt.processes = 1;
    for (uint32_t i = 0; i < sim_n_jobs(); i++) wr_arr_push(&ready, (prepared){0});
    int64_t began = wr_mono_us(wr_world_posix());
    tally   t = work_all();
    printf("%llu runs in %.1f s\n", (unsigned long long)t.runs, (double)(wr_mono_us(wr_world_posix()) - began) / 1e6);
    printf("%llu passed, %llu failed\n", (unsigned long long)t.passed, (unsigned long long)t.failed);
    free_ready();
    return t.failed ? 1 : 0;
}
