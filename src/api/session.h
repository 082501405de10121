/* api/session.h: one session from SQL text to finished jobs; what the command line, the golden-test runner and libweir stand on.
 *
 * Idea       load script texts -> substitute ${NAME} -> parse -> plan with the connector registry -> run the steps in order. Everything that
 *            is wrong with the texts is in one wr_diags; what the world or the data does wrong comes back as a wr_err.
 *            A session can go on: load and plan again, the catalog and the settings stay.
 * Rows       without on_rows a bare SELECT prints to stdout (connector 'result'); with it the rows go to the callback.
 *            Tables with 'connector' = 'push' take rows from wr_session_push, 'callback' gives them to wr_session_subscribe.
 * Memory     one arena for catalog and plans, alive until wr_session_free.
 * Thread     one thread; wr_session_stop from any thread or a signal handler; callbacks: on_rows from the worker that owns the sink (one at a
 *            time for one job), the others from the caller's thread.                                                       */
#pragma once
#include "run/doctor.h"
#include "run/upgrade.h"

typedef struct wr_session wr_session;
enum { WR_MEMORY_DEFAULT_BYTES = 256 << 20 }; /* or a quarter of the machine's memory, if that is less */

/* Rows of a bare SELECT or of a 'callback' table: `table` is "result" for the former. schema is that of the rows. */
typedef wr_status (*wr_session_rows)(void *arg, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch /* (borrows) */, wr_err *err);

typedef struct wr_session_opts {
    wr_world   *world;                  /* NULL: the real one */
    uint32_t    n_workers;              /* 0: setting 'parallelism.default', else one a core */
    uint32_t    n_key_groups;           /* 0: setting 'pipeline.max-parallelism', else the default */
    uint32_t    batch_rows;             /* 0: the default */
    int64_t     memory_bytes;           /* 0: wr_session_memory_default() */
    bool        memory_of_process;      /* the budget is for the whole process, which runs nothing else */
    const char *state_dir;              /* NULL: no checkpoints; scripts with several jobs get state_dir/job-1, job-2 ... */
    int64_t     checkpoint_interval_us; /* 0: the default */
    bool        fresh, accept_older;
    const char *restore_from;           /* a savepoint, or s3://..., to begin from when state_dir holds no checkpoint yet; NULL: none */
    const char *checkpoint_to;          /* s3://...; NULL: setting 'execution.checkpointing.remote' */
    const char *from;                   /* where sources start: "earliest" or a timestamp; NULL: the start, or the saved positions */
    const char *catch_up_rate;          /* "50MiB/s", "200k rows/s"; NULL: setting 'scan.catch-up.max-rate', else unlimited */
    bool        force_bounded, force_tail;
    bool        accept_unbounded;       /* as --set state.unbounded=accepted */
    bool        batch_selects;          /* wr_plan_ctx.batch: for on_rows that adds up and sorts */
    int64_t     end_when_idle_us;       /* 0: never */
    bool        final_rows;             /* result sinks: the table at the end instead of changes */
    const char *print_style;            /* "table", "jsonl", "changelog-jsonl", "changelog-csv"; NULL: "table" */
    bool        pushes;                 /* 'push' tables are fed: wr_session_push */
    bool        simulate;               /* the next four: see wr_run_opts */
    uint64_t    seed, crash_after_steps, checkpoint_every_steps;
    /* Callbacks, all may be NULL. */
    void       *arg;                                        /* first parameter of all of them */
    void      (*on_text)(void *arg, wr_str text);           /* SHOW, EXPLAIN, DESCRIBE ...; NULL: stdout */
    wr_session_rows on_rows;                                /* bare SELECT; NULL: stdout */
    void      (*on_start)(void *arg, const wr_job_plan *plan, wr_job *job);  /* built, not yet running */
    void      (*on_tick)(void *arg, wr_job *job);           /* a few times a second */
    /* Ran to its end, was stopped, or failed (then err says why); the job is freed afterwards. */
    void      (*on_end)(void *arg, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err);
} wr_session_opts;

wr_session *wr_session_new(const wr_session_opts *opts); /* copies the struct, borrows the strings in it */
void        wr_session_free(wr_session *session);        /* NULL is legal */
/* The options may be changed between runs (workers, batch rows, seed ...). */
wr_session_opts *wr_session_opts_of(wr_session *session);

/* "NAME=VALUE" defines ${NAME}; a key with a dot in it ("table.local-time-zone=UTC") is a setting. WR_USER: not of that form, or an unknown
 * setting (err has the nearest). Before the texts are planned. */
wr_status wr_session_set(wr_session *session, const char *assignment, wr_err *err);

/* Adds a script. File names are shown in diagnostics; "-" reads nothing special. WR_IO: cannot be read. */
wr_status wr_session_load_file(wr_session *session, const char *path, wr_err *err);
void      wr_session_load_text(wr_session *session, const char *name, wr_str text);
void      wr_session_load_part(wr_session *session, const char *name, uint32_t lines_before, wr_str text); /* of a longer text: diagnostics count its lines */

/* Substitutes, parses and plans what was loaded since the last call. WR_USER: see the diagnostics (steps planned so far are there all the
 * same). Diagnostics of earlier calls are forgotten. */
wr_status         wr_session_plan(wr_session *session);
wr_diags         *wr_session_diags(wr_session *session);
const wr_catalog *wr_session_catalog(const wr_session *session);
uint32_t          wr_session_n_steps(const wr_session *session);
const wr_step    *wr_session_step(const wr_session *session, uint32_t index);

/* Runs the steps that have not run yet, in order, to the first failure. WR_CANCELLED: stopped by wr_session_stop (or the simulated crash:
 * err code "WR900"); the steps left over are dropped. On WR_USER err may be empty and the diagnostics say why (connector options). */
wr_status wr_session_run(wr_session *session, wr_err *err);
wr_status wr_session_run_step(wr_session *session, uint32_t index, wr_err *err); /* one of them, again if wanted */
/* Facts for the bill of a job step, in the session's arena, and the bill made out anew with them. sample: reads the sources for so long (wr_job_sample);
 * last_run: from the state directory of the options; NULL if there is none. */
wr_status wr_session_sample(wr_session *session, uint32_t index, int64_t for_us, wr_bill_facts **out, wr_err *err);
wr_bill_facts *wr_session_last_run(wr_session *session, uint32_t index);
/* What the job of a step would find outside, with the options as they are now (run/doctor.h). */
wr_status wr_session_doctor(wr_session *session, uint32_t index, int64_t timeout_us, wr_findings *out, wr_err *err);
void      wr_session_stop(wr_session *session);  /* async-signal-safe */
bool      wr_session_stopped(const wr_session *session);
void      wr_session_rearm(wr_session *session); /* forgets a stop: what comes next runs */

/* What happens to the state in the state directory when step `index` (a job) goes on from it; and doing it. See run/upgrade.h. */
wr_status wr_session_upgrade_look(wr_session *session, uint32_t index, wr_upgrade *out, wr_upgrade_cost *cost, wr_err *err);
wr_status wr_session_upgrade_apply(wr_session *session, uint32_t index, const wr_upgrade *upgrade, wr_err *err);

/* Everything of one script in one call: load, plan, run. For tests. */
wr_status wr_session_exec(wr_session *session, const char *name, wr_str text, wr_err *err);

/* Rows of the table `name` ('connector' = 'callback') go to this; before the run. */
void wr_session_subscribe(wr_session *session, const char *table, wr_session_rows call, void *arg);

/* Rows for the table `name` ('connector' = 'push') of the job that runs: from its callbacks (simulation) or from another thread, where it waits for room.
 * (takes) batch. false: there is no such table, it was ended, or the job is being stopped. wr_session_push_end: no more will come. Needs opts.pushes. */
bool wr_session_push(wr_session *session, const char *table, wr_batch *batch);
void wr_session_push_end(wr_session *session, const char *table);
const wr_schema *wr_session_push_schema(wr_session *session, const char *table); /* of its rows; NULL: there is no such table */

/* What a run will use. */
uint32_t wr_session_workers(const wr_session *session);
int64_t  wr_session_memory(const wr_session *session);
int64_t  wr_session_memory_default(void);              /* min(25 % of RAM, 256 MiB) */
/* Diagnostics, then err if it holds anything, as text or as {"diagnostics": [...], "error": {...}}. */
void wr_session_report(const wr_session *session, const wr_err *err, bool json, wr_sbuf *out);
