/* run/run.h: a job plan comes to life: workers, exchanges, turns, watermarks, checkpoints, the end.
 *
 * Idea       every worker runs every operator for its share of the key groups (timely dataflow). A worker is a step function, so that N
 *            threads can call N workers, or one thread can call all of them in an order drawn from a seed: the same code.
 *            Input is handed out in numbered turns (one chunk each) under one lock; turns are decoded in parallel and published in order per
 *            source, which is where lateness and watermarks are decided. Receivers take turns in order per source, so neither results nor
 *            late rows depend on the number of workers, batch size or timing.
 * Thread     wr_job_run blocks its caller; wr_job_stop and wr_job_status may be called from any thread (stop also from a signal handler). */
#pragma once
#include "base/histogram.h"
#include "connect/connect.h"
#include "plan/plan.h"
#include "run/again.h"

typedef struct wr_job wr_job;

typedef struct wr_probe {              /* looks on as rows and watermarks reach operators; called by the worker */
    void *arg;
    void (*rows)(void *arg, const wr_pnode *node, uint32_t input, const wr_batch *batch);
    void (*watermark)(void *arg, const wr_pnode *node, const wr_op *op, int64_t wm_us);
} wr_probe;

/* Looks on as sources publish, and reads only a part of them: for recounting a closed period (api/audit.h). Called under the turn lock. */
typedef struct wr_source_row {         /* a row that came behind the watermark, or a record that was refused */
    const wr_pnode *node;
    wr_str          partition;
    int64_t         offset, line;      /* byte in the file, or offset of the message; line from 1; -1: not known */
    const wr_batch *batch;             /* late: the source's output columns */
    uint32_t        row;
    int64_t         ts_us, wm_us;      /* late: its event time, and its partition's watermark before it. Refused: the latest event time before it */
    wr_str          code, reason, raw; /* refused */
} wr_source_row;
typedef struct wr_source_range { int64_t from_us, to_us, slack_us; } wr_source_range; /* event time, [from, to); watermarks stay so much further behind */
typedef struct wr_source_watch {
    void *arg;
    const wr_source_range *ranges;     /* by plan index; changelogs are read whole */
    void (*late)(void *arg, const wr_source_row *row);
    void (*refused)(void *arg, const wr_source_row *row);
    /* The first record of a partition that is read: its offset (messages; else -1) and event time (WR_TIME_MIN: none). */
    void (*begins)(void *arg, const wr_pnode *node, wr_str partition, int64_t offset, int64_t ts_us);
} wr_source_watch;

typedef struct wr_run_opts {
    wr_world   *world;
    wr_account *acct;                  /* root of the budget: limit_bytes is --memory */
    bool        memory_of_process;     /* the budget holds for the whole process (its resident size is watched), not only for what is charged */
    wr_diags   *diags;                 /* option errors of connectors */
    uint32_t    n_workers;             /* >= 1 */
    uint32_t    n_key_groups;          /* 0 = WR_KEY_GROUPS_DEFAULT */
    uint32_t    batch_rows;            /* 0 = WR_BATCH_MAX */
    const char *state_dir;             /* NULL: no checkpoints */
    int64_t     checkpoint_interval_us;/* 0 = 10 s */
    bool        fresh;                 /* ignore and remove an existing state */
    bool        accept_older;          /* a damaged newest checkpoint: take the one before */
    const char *restore_from;          /* a savepoint, or s3://..., to begin from when state_dir and checkpoint_to hold no checkpoint; NULL: none */
    const char *checkpoint_to;         /* s3://bucket/prefix: checkpoints are copied there before they count; NULL or "": nowhere. Ignored in simulation */
    bool        unaligned;             /* barriers may overtake what is queued ... */
    int64_t     aligned_timeout_us;    /* ... when they have waited for so long; -1: as the checkpoint before took (inflight.c) */
    uint32_t    checkpoints_kept;      /* 0 = WR_CHECKPOINTS_KEPT */
    uint32_t    failed_checkpoints;    /* so many attempts to write one may fail in a row */
    int64_t     tier_attach_bytes;     /* state of an operator's instance from this size on goes through the tier; 0 = the default (1 MiB), -1 = always */
    const struct wr_checkpoint *until; /* read the sources up to the positions of this checkpoint (those it does not know: not at all), make a checkpoint
                                        * there and end, without the end of input; no dead letters are written. For rebuilding state */
    bool        again_only;            /* put back the dead letters that are asked for in state_dir, read nothing, and end with a checkpoint (again.h) */
    wr_again_request *again;           /* these instead, without a state directory: which would pass? */
    const struct wr_checkpoint *again_from; /* with it: the state that they would go into */
    const char *job_name, *job_version, *weir_version; /* for dead letters; NULL: as the plan has it, and "" */
    const bool *muted;                 /* by plan index: sinks that write nothing; NULL: none */
    bool        next_version;          /* sinks write new versions of their outputs beside these (connect.h: wr_output) */
    const char *from;                  /* where sources start: "earliest" or a timestamp (pace.c); NULL: the start, or the saved positions */
    const char *catch_up_rate;         /* sources that are behind read at most that: "50MiB/s", "200k rows/s"; NULL or "": as fast as they can */
    int64_t     catch_up_lag_us;       /* behind: event time that far from the clock, and more to read; 0 = WR_CATCH_UP_LAG_US */
    bool        force_bounded, force_tail;
    bool        final_rows;            /* result sinks: --final */
    const char *print_style;           /* result sinks: see connect.h */
    const struct wr_connector *result; /* where bare SELECTs go; NULL = the connector named 'result' */
    void       *result_arg;            /* handed to it in wr_connect_ctx */
    bool        redirect;              /* every sink is made by `result`, and dead letters are counted only: nothing outside is written */
    /* simulation: all workers in the calling thread, order drawn from seed */
    bool        simulate;
    uint64_t    seed;
    uint64_t    crash_after_steps;     /* simulate only: return WR_CANCELLED without any clean-up of sinks; 0 = never */
    uint64_t    checkpoint_every_steps;/* simulate only; 0 = by time */
    uint64_t    aligned_timeout_steps; /* simulate only, with checkpoint_every_steps, in place of aligned_timeout_us */
    int64_t     map_bytes;             /* tests: what the keyed state of each operator may keep in memory, from the start; 0: as the budget says */
    size_t      chunk_bytes;           /* a file source reads so much at a time; 0 = about 256 KiB (tests: many turns from few rows) */
    size_t      queue_bytes;           /* bound of one exchange queue; 0 = an eighth of the budget over all of them */
    int64_t     end_when_idle_us;      /* tail inputs end after that long without new bytes; 0 = never */
    const void *views_owner;           /* the rows of materialized views outlive the job until wr_views_forget(owner); NULL: they do not */
    const struct wr_probe *probe;      /* NULL: none */
    const wr_source_watch *watch;      /* NULL: none */
    void      (*tick)(void *arg, wr_job *job); /* called by the coordinating thread a few times a second; may be NULL */
    void       *tick_arg;
} wr_run_opts;

#define WR_CATCH_UP_LAG_US (INT64_C(60) * 1000000)
bool      wr_pace_parse(wr_str text, int64_t *bytes_per_s, int64_t *rows_per_s); /* one of them is set */

wr_status wr_job_new(const wr_job_plan *plan, const wr_run_opts *opts, wr_job **out, wr_err *err);
wr_status wr_job_run(wr_job *job, wr_err *err);  /* to the end of input, wr_job_stop, or an error */
void      wr_job_stop(wr_job *job);              /* async-signal-safe: checkpoint if there is a state directory, then end cleanly */
void      wr_job_free(wr_job *job);

/* Reads the sources for so long, or to their end, and counts what reaches the stateful operators: rows, distinct keys, sizes, rates by event time.
 * Nothing is written. Of opts: world, acct, diags, force_*. An input that cannot be read to the end is an error; bad data is a note. */
wr_status wr_job_sample(const wr_job_plan *plan, const wr_run_opts *opts, int64_t for_us, wr_arena *arena, wr_bill_facts **out, wr_err *err);

/* ---- reports ---- */
/* What the time of an operator's instance went to (meter.c). Of operators that are chained to another only the work is known: they wait when that does.
 * In ns since the start; of one instance that heads a task, or of a source, they add up to the time that passed. */
typedef enum wr_spent {
    WR_SPENT_WORK,                 /* rows, watermarks, steps */
    WR_SPENT_READ, WR_SPENT_DECODE,/* sources: bytes got; made rows of */
    WR_SPENT_WRITE, WR_SPENT_FLUSH,/* sinks: write; flush, prepare and commit */
    WR_SPENT_SPILL,                /* state brought below its limit */
    WR_WAIT_OUTSIDE,               /* a sink: for room at its other end */
    WR_WAIT_ANSWERS,               /* a look-up: as many questions are under way as may be */
    WR_WAIT_INPUT, WR_WAIT_ROOM,   /* nothing there; a queue behind it is full */
    WR_WAIT_MEMORY,                /* a source: the budget lets nothing in */
    WR_WAIT_TURN,                  /* there is work, and its worker does something else */
    WR_SPENT_COUNT
} wr_spent;
enum { WR_SPENT_BUSY = WR_WAIT_OUTSIDE }; /* those below are work */
const char *wr_spent_name(wr_spent what);
typedef struct wr_instance_status {  /* an operator on one worker */
    uint64_t spent_ns[WR_SPENT_COUNT], rows_in;
} wr_instance_status;
typedef struct wr_worker_status { uint64_t idle_ns, other_ns; } wr_worker_status; /* asleep; between operators: queues, barriers, checkpoints */
enum { WR_REFUSED_CODES_MAX = 16 };
typedef struct wr_refused_code { char code[8]; uint64_t n; } wr_refused_code; /* why records were refused, and how many */
typedef struct wr_node_status {
    const wr_pnode *node;
    wr_ledger       ledger;        /* summed over workers */
    wr_detail      *detail;        /* summed as well; NULL: it has none */
    wr_op_usage     usage;
    int64_t         account_bytes, account_peak_bytes; /* of its state, over all workers */
    int64_t         watermark_us;  /* least over workers; WR_TIME_MIN none yet */
    uint64_t        blocked_steps, steps;
    const wr_hist  *latency;       /* sinks: microseconds from the reading of the input that a row comes from until the row could be seen there, by rows; else NULL */
    int64_t         taken_us;      /* sinks that no operator with state is in front of: when the newest input was read that they have taken; monotonic, 0: none */
    wr_instance_status *on;        /* by worker */
    uint64_t        lives;         /* bitmap of the workers that it runs on */
    bool            chained;       /* to the operator before it: no queue between them */
    uint64_t        queued_bytes, taken_bytes; /* in its input queues now; taken out since the start */
    double          queue_fill;    /* of the fullest of them, 1: its producer waits */
    uint32_t        n_refused;     /* sources and sinks whose 'on-error' is not 'fail'; the first WR_REFUSED_CODES_MAX */
    wr_refused_code refused[WR_REFUSED_CODES_MAX];
} wr_node_status;
/* Rows by a time, in buckets: up to 0, 10 ms, 100 ms, 1 s ... 1 h, and more (lateness.c). */
enum { WR_LATENESS_BUCKETS = 13 };
typedef struct wr_lateness { uint64_t rows[WR_LATENESS_BUCKETS]; } wr_lateness;
int64_t wr_lateness_up_to_us(uint32_t bucket); /* WR_TIME_MAX: the last one */
typedef struct wr_source_status {
    const wr_pnode *node;
    char            what[256];     /* connector's describe() */
    uint64_t        done, total;   /* bytes or rows; total 0 = unknown */
    int64_t         read_us;       /* monotonic: of the newest input; 0: none */
    uint64_t        behind;        /* of them: known to be there and not read; also of an input that has no end */
    int64_t         lag_us;        /* event time behind the clock; 0 = not known */
    bool            catching_up;   /* both are large (scan.catch-up.lag) */
    bool            log;           /* a database's log of changes: they count bytes of it */
    bool            messages;      /* a queue: done, total and behind (its consumer lag) count messages */
    uint32_t        n_partitions, n_partitions_done;
    int64_t         watermark_us, first_us, last_us; /* event time of the first row of this run, the latest of all; WR_TIME_MIN: none */
    char            left[400];     /* what it leaves behind on a server when the job ends, and how that is removed; "" nothing */
    char            held_by[128];  /* the partition that holds the watermark back, "" if none */
    int64_t         held_wm_us, ahead_wm_us; /* its watermark; the greatest of a partition. WR_TIME_MIN: none yet */
    int64_t         held_silent_us;/* how long it has given no row */
    double          held_gap_us;   /* how long that usually is; 0: not known */
    uint64_t        others_rows;   /* that other partitions gave since it was last heard of */
    struct { int64_t from_us, to_us, wall_us; char partition[128]; uint64_t row; } jump; /* the last time that one row brought event time forward by more than
                                      WR_JUMP_US; wall_us: when that was seen, 0: it never was. row: its number in the partition */
    bool            ended, waiting;
    wr_lateness     disorder;      /* with a watermark: how much older rows of this run were than the newest before them in their partition */
    wr_overload     overload;      /* what it does when it is too far behind, */
    bool            shedding;      /* and does now */
    uint64_t        shed;          /* rows left out, since the job's first start */
    uint64_t        turned_away;   /* requests that were not taken, in this run */
} wr_source_status;
#define WR_JUMP_US (INT64_C(3600) * 1000000)
typedef struct wr_budget_status {
    int64_t limit_bytes, reserve_bytes, rss_bytes; /* reserve: of the process beside what is charged; rss 0: not watched */
    int64_t throttled_us;          /* time in which sources were held back for lack of memory */
    int     level;                 /* 0: nothing is short; wr_budget_level_name */
    const wr_pnode *grows;         /* the operator that grows most, NULL: none does */
    double  bytes_per_hour;        /* of it */
    int64_t reach_us;              /* from now until the budget is reached at the present rate of all operators; -1: never */
} wr_budget_status;
const char *wr_budget_level_name(int level);
/* One checkpoint: waiting + snapshotting + writing + uploading + committing = total. */
typedef struct wr_checkpoint_report {
    uint64_t epoch;
    int64_t  at_us;                /* wall clock of its start */
    int64_t  waiting_us;           /* from its start to the last task's acknowledgement, without the longest snapshot: barriers behind rows in queues */
    int64_t  snapshotting_us;      /* the longest synchronous part of any task: the longest pause that a row can have seen */
    int64_t  writing_us;           /* image, files, manifest, by a thread of its own */
    int64_t  uploading_us;         /* to checkpoint_to, by the same thread; attempts that failed and the time between them included */
    int64_t  committing_us;        /* sinks */
    int64_t  total_us;
    char     last_task[160], longest_task[160]; /* who acknowledged last; whose snapshot took longest */
    uint64_t new_bytes, total_bytes;
    uint64_t changed_bytes;        /* entries that changed since the checkpoint before, as they were handed to the tier */
    uint64_t merged_bytes;         /* written by merges of the tier's files since then; what of it is left is part of new_bytes */
    uint32_t new_files, total_files, failed_attempts;
    uint32_t overtaken_tasks;      /* that the barrier reached ahead of rows queued before it; 0: aligned */
    uint64_t in_flight_rows, in_flight_bytes; /* those rows; bytes in the checkpoint */
    uint64_t uploaded_bytes;       /* with the manifest; 0: checkpoint_to is not given */
    uint32_t uploaded_files;
} wr_checkpoint_report;
void wr_checkpoint_report_json(const wr_checkpoint_report *r, wr_sbuf *out);
enum { WR_CHECKPOINT_HISTORY = 16 };

typedef struct wr_hot_key {         /* a key with more of an operator's rows than a worker's fair share (skew.c) */
    const wr_pnode *node;
    uint32_t        port;
    char            key[96];       /* "restaurant_id=17" */
    char            values[96];    /* "17|Oslo", as a SPLIT hint names it; empty: it cannot */
    double          share, fair_share;
    double          busiest_share; /* of the rows sent by this exchange: what the worker that gets most has got */
    bool            combined;      /* its rows are combined before the exchange */
    uint32_t        parts;         /* of a join's key that is split already: of how many this is one; else 0 */
    uint32_t        n_workers;
} wr_hot_key;
typedef struct wr_exchange_status { /* by hash, between several workers */
    const wr_pnode *node;          /* that receives */
    uint32_t        port;
    uint64_t        rows, busiest; /* sent; of them to the worker that gets most */
} wr_exchange_status;
void wr_hot_key_text(const wr_hot_key *key, wr_sbuf *out);
void wr_hot_key_json(const wr_hot_key *key, wr_sbuf *out);
typedef struct wr_job_status {
    wr_arena *arena;               /* owns the arrays */
    uint32_t  n_nodes, n_sources;
    wr_node_status   *nodes;
    wr_source_status *sources;
    uint32_t  n_hot, n_exchanges;
    wr_hot_key *hot;
    wr_exchange_status *exchanges;
    uint32_t  n_workers;
    wr_worker_status *workers;
    struct { uint64_t get_ns, reads, read_ns; } tier; /* state/tier.h: wr_tier_cost; also of a batch that is not through */
    uint64_t  cost_ns;             /* the clock of what was spent (wr_cost_ns) */
    uint64_t  rows_in, rows_out;   /* sources' good rows, sinks' rows */
    int64_t   mono_us, wall_us;      /* when this was */
    int64_t   running_us, memory_bytes, memory_peak_bytes, memory_limit_bytes, queue_bytes;
    wr_budget_status budget;
    uint64_t  checkpoints, checkpoint_epoch, restored_epoch;
    int64_t   last_checkpoint_us, last_checkpoint_bytes; /* duration and bytes written */
    uint32_t  n_history;
    wr_checkpoint_report *history; /* the last WR_CHECKPOINT_HISTORY of this run, oldest first */
    const char *checkpoint_phase;  /* of the open one: "waiting", "writing", "committing"; NULL: none is open */
    uint64_t  checkpoints_failed;  /* attempts to write one */
    char      checkpoint_error[256]; /* of the last such attempt */
    bool      paced;               /* scan.catch-up.max-rate is given */
    bool      at_rest;             /* read from a checkpoint: all counts are of one moment */
    bool      upgraded;            /* counts go back to an earlier script: what one operator gave on and the next one got are not compared */
    bool      finished, finished_before; /* before: the state directory says that the job had ended; nothing was read */
} wr_job_status;
void wr_exchanges_json(const wr_job_status *status, wr_sbuf *out); /* an array: rows, the busiest worker's, the mean */
/* A consistent-enough copy (each worker's counters are of one moment). Free with wr_arena_free(status->arena). */
void wr_job_status_get(wr_job *job, wr_job_status *out);
/* For every node: rows in = rows out + taken in + each reason + held; between nodes: given = got + in flight (ledger.c). A line per node; false if a sum does
 * not close, and its line says which. */
bool wr_job_ledger_text(const wr_job_status *status, wr_sbuf *out);
void wr_job_ledger_report(const wr_job_status *status, bool windows, wr_sbuf *out); /* the same, the newest windows if asked for, and the verdict */
void wr_job_ledger_json(const wr_job_status *status, wr_sbuf *out);
void wr_job_ledger_report_json(const wr_job_status *status, bool windows, wr_sbuf *out);
void wr_job_ledger_node_json(const wr_job_status *status, const wr_node_status *node, wr_sbuf *out); /* one object of it */
/* The ledger of a job that does not run, from the newest checkpoint in its state directory: a status with nodes (id, kind, title, table, inputs) and counts.
 * WR_USER: there is none (WR430), or it is too old (WR431). Free with wr_arena_free(out->arena). */
wr_status wr_ledger_at_rest(wr_world *world, const char *dir, wr_job_status *out, wr_err *err);
bool wr_node_closes(const wr_job_status *status, const wr_node_status *node); /* false: rows are unaccounted for */
/* The phases of the last checkpoint in words; nothing if there was none. */
void wr_job_checkpoint_text(const wr_job_status *status, wr_sbuf *out);
void wr_job_checkpoints_json(const wr_job_status *status, wr_sbuf *out); /* the history: an array */
/* Memory that the tier on disk takes under a budget once state is spilled, RocksDB's own code and buffers included; 0: no budget. */
int64_t wr_tier_share_bytes(int64_t budget_bytes);
/* What a run leaves behind in its state directory for the bill: 'last-run.stats', text. Saving never fails a job. */
void wr_stats_save(const wr_job_status *status, wr_world *world, const char *dir);
/* In the arena; NULL: there is none that can be read. */
wr_bill_facts *wr_stats_load(const wr_job_plan *plan, wr_world *world, const char *dir, wr_arena *arena);
