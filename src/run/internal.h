/* run/internal.h: the running graph: queues, edges, nodes, tasks, workers, sources, the job. Private to run/.
 *
 * Walk       source_task.c (turns) -> node.c (emit through chains and edges) -> queue.c -> task.c (receive in order, watermarks, barriers)
 *            -> op/ -> node.c ... -> task.c (sink); worker.c steps them; job.c coordinates, snapshot.c saves and restores.
 * Ownership  job owns all; a worker's nodes, tasks and the consumer side of its queues are touched by that worker only. Shared: edges' queues
 *            (single producer, single consumer), turns (mutex), accounts and flags (atomics), published reports (mutex).              */
#pragma once
#include "base/histogram.h"
#include "checkpoint/checkpoint.h"
#include "run/budget.h"
#include "run/letters.h"
#include "run/run.h"
#include "state/tier.h"
#include <stdatomic.h>

typedef enum msg_kind { MSG_BATCH, MSG_TURN_END, MSG_WATERMARK, MSG_BARRIER, MSG_CUT } msg_kind;
enum { NO_SOURCE = UINT32_MAX };
typedef struct msg {
    msg_kind  kind;
    uint32_t  source;      /* BATCH, TURN_END on source edges: which; else NO_SOURCE */
    bool      idle;        /* TURN_END, WATERMARK: leaves the minimum */
    uint64_t  seq;         /* turn number within the source; BARRIER: epoch; CUT: version; derived, put back by a restore: which channel */
    int64_t   wm_us;       /* TURN_END, WATERMARK */
    int64_t   read_us;     /* monotonic: when the input was read that it comes from; 0: not known */
    wr_batch *batch;
    size_t    bytes;
} msg;

/* ---- queue.c: unbounded in structure, bounded in bytes by its users (queue_full): single producer, single consumer ---- */
typedef struct queue queue;
queue     *queue_new(wr_account *acct);
void       queue_free(queue *q);
void       queue_push(queue *q, msg m);
const msg *queue_peek(queue *q);           /* NULL when empty */
void       queue_pop(queue *q);
size_t     queue_bytes(const queue *q);
bool       queue_full(queue *q, size_t limit);                            /* producer: over its own bound or the limit */
void       queue_adapt(queue *q, size_t limit, int64_t since_us);         /* coordinator: the bound follows the consumer's rate since the last call */
uint64_t   queue_taken(const queue *q);                                   /* bytes, since the start */
double     queue_fill(const queue *q, size_t limit);                      /* 1: full */
uint64_t   queue_barrier(const queue *q);                                 /* consumer: epoch of the last barrier that was pushed */
/* Consumer: all that is there, from the head up to the barrier of that epoch, which has been pushed; nothing is taken out. */
void       queue_each(queue *q, uint64_t epoch, void (*visit)(void *arg, const msg *m), void *arg);

/* ---- edges between tasks ---- */
typedef struct skew skew;
typedef struct skew_report skew_report;
typedef struct skew_point skew_point;
typedef struct edge {
    const wr_pnode *from, *to;
    uint32_t        port;                  /* of `to` */
    wr_exchange     kind;
    uint32_t        n_keys;
    const uint32_t *keys;
    uint32_t        n_sources;             /* sources whose turns pass here in order */
    uint32_t       *sources;
    bool            derived;               /* rows of stateful operators pass here (too) */
    uint32_t        target_worker;         /* GATHER */
    queue         **queues;                /* [from * n_workers + to]; NULL where nothing passes */
    skew          **skews;                 /* by sending worker; HASH with several workers, unless rows are combined before */
    uint64_t       *sent;                  /* [from * n_workers + to]: rows; HASH with several workers */
} edge;

typedef struct node node;
typedef struct latency latency;
typedef struct letters letters;
typedef struct task task;
typedef struct worker worker;
typedef _Atomic uint64_t counter;
typedef struct meter { counter since_ns, idle_ns, other_ns, asking_ns; _Atomic(counter *) slot; } meter; /* meter.c; asking: sources, until it is known which */
typedef struct target { node *chained; uint32_t port; edge *edge; } target;
typedef struct node_out { wr_out base; node *node; bool rush; /* a firing is brought to its end: nothing is full */ } node_out;

struct node {                              /* one plan node on one worker */
    const wr_pnode *p;
    worker         *w;
    wr_op          *op;                    /* NULL for source, values, union, sink */
    wr_op          *view;                  /* of a materialized view: `op` without what checks it */
    wr_sink        *sink;
    refuser        *refused;               /* sinks of tables: what 'on-error' says of rows; NULL: they fail the job */
    wr_refuse       refuse;                /* what the connector is given of it */
    refuser        *lost;                  /* joins: where rows without a partner go; NULL: nowhere */
    uint64_t        letters_epoch;         /* that its dead letters belong to */
    uint64_t        sink_rows;             /* that it was given in this run */
    latency        *latency;               /* sinks and views: how long rows took (latency.c) */
    WR_ARR(uint32_t) again;                /* sinks: letters that are to be put back, by index in the request; under turn_lock */
    uint32_t        again_next;
    bool            flush_always;          /* sinks: flushed even when checkpoints are on (they promise no more than at least once) */
    uint32_t        n_not_null;            /* sinks: columns that must not be NULL (declared so, or of the primary key) */
    uint32_t       *not_null;
    wr_op_ctx       ctx;
    wr_ledger       ledger;
    wr_detail      *detail;                /* sources, joins, windows; else NULL */
    node_out        out;
    uint32_t        n_targets;
    target         *targets;
    uint32_t        n_in;                  /* inputs whose watermark is derived (unions, chains below operators) */
    int64_t        *in_wm;
    bool           *in_idle;
    int64_t         out_wm;
    bool            out_idle;
    counter         spent_ns[WR_SPENT_COUNT];
    _Atomic uint32_t waits;                /* heads of tasks and sources: what for, since when (meter.c) */
    counter         waits_since_ns;
    wr_spent        waited;
    skew           *skew;                  /* LOCAL_AGG: of the rows before they are combined */
    uint64_t        steps, blocked_steps;
    bool            spills;                /* a limit of its memory has an effect */
    int64_t         limit_bytes;           /* told to the operator last (budget.c) */
    uint64_t        barrier_seen;          /* chained: the epoch that was passed on last (a union has several producers) */
    uint64_t        cut_seen;              /* likewise, of cuts */
    uint64_t        ended_seq;             /* chained: 1 + the last turn of ended_source whose end went through (a union sees it once per path) */
    uint32_t        ended_source;
    uint64_t        turn_seq;              /* while a source turn is being emitted */
    uint32_t        turn_source;
};

typedef struct channel {
    queue   *q;
    uint32_t from;                         /* the worker at its other end */
    int64_t  wm;                           /* derived rows */
    bool     idle;
    uint64_t barrier;                      /* epoch it is blocked at, 0 = not */
    uint64_t cut;                          /* version at whose marker it waits, unless that is given up; 0 = not */
    bool     open;                         /* its task was saved before its barrier came: what is in front of that is still to be recorded */
} channel;
typedef struct replay {                    /* what a restore puts back in front of a port (inflight.c) */
    WR_ARR(msg) messages;
    uint32_t next;
} replay;
typedef struct port {
    edge     *edge;
    replay   *replay;                      /* NULL: there is none, or it is through; else nothing is taken from the channels */
    uint32_t  n_channels;
    channel  *channels;
    uint64_t *next_seq;                    /* per edge->sources */
    int64_t  *src_wm;
    bool     *src_idle;
    uint32_t  rotate;
} port;
struct task {                              /* an operator or sink with its input ports, on one worker */
    node    *head;
    uint32_t n_ports;
    port    *ports;
    int64_t  wm;                           /* last watermark given to the operator */
    bool     wm_pending;                   /* on_watermark said *more */
    int64_t  wm_target;
    int64_t  firing_bytes;                 /* while wm_pending: its part of job->firing_bytes */
    bool     finished;                     /* watermark END handled */
    bool     resumed;                      /* restored with what its ports know: the operator is to be told the watermark */
    uint64_t saved;                        /* the last epoch that its state was saved for */
    uint32_t n_open;                       /* channels that are to be recorded for it */
    uint64_t record_rows;
    wr_sbuf  record;                       /* its channel section so far */
    bool     given;                        /* a sink is in the middle of a batch (wr_sink_vt.drain), which stays where it was until that is through: */
    uint32_t given_port;
    channel *given_from;                   /* NULL: the replay */
    bool     stuck;                        /* and its other end takes no more */
};

/* ---- sources and turns (source_task.c) ---- */
typedef struct part_state {                /* of one partition, in published order */
    int64_t  wm, max_ts;
    uint64_t lines, rows, ahead_run;       /* ahead_run: rows in a row beyond the future guard */
    int64_t  active_us;                    /* wall time of its last row */
    int64_t  first_active_us;              /* and of its first one in this run */
    uint64_t n_turns;                      /* that had rows */
    uint64_t source_rows;                  /* of the source when it had its last row */
    bool     seen, done, idle;
    bool     records_seen;                 /* wr_source_watch.begins was told */
} part_state;
void lateness_add(wr_lateness *into, int64_t us); /* us >= 0 */
/* ---- what is left out under overload (shed.c) ---- */
enum { SHED_MARKS_MAX = 64 };
typedef enum shed_what { SHED_NOT, SHED_ALL, SHED_SAMPLE } shed_what;
typedef struct shed_mark { uint64_t from, to; } shed_mark;
typedef struct shedding {
    wr_overload policy;
    bool        on, begun, elsewhere;      /* on: the last chunk was too far behind; elsewhere: it is done where rows come in */
    uint64_t    done, looked;              /* by progress(): what has been read, how much there was when it was looked at */
    uint32_t    n_marks;
    shed_mark   marks[SHED_MARKS_MAX];
} shedding;
typedef struct source {
    const wr_pnode *p;
    uint32_t        index;
    wr_source      *src;                   /* NULL for VALUES */
    uint64_t        assigned, published;   /* turn numbers */
    WR_ARR(part_state) parts;
    int64_t         wm, first_us;
    wr_lateness     disorder;
    bool            wm_idle, ended, waiting, held; /* held: not read at all (wr_run_opts.until) */
    int64_t         retry_at_us;
    wr_job         *job;
    _Atomic bool    woken;                 /* the connector said that there may be input: retry_at_us is not waited for */
    refuser         refused;               /* under turn_lock */
    uint64_t        records;               /* published */
    uint64_t        n_rows;                /* published in this run */
    struct { int64_t from_us, to_us, wall_us; uint32_t partition; uint64_t row; } jump; /* as in wr_source_status */
    WR_ARR(uint32_t) again;                /* letters that are to be put back, by index in the request; under turn_lock */
    uint32_t        again_next;
    bool            cut_pending;           /* a checkpoint waits for turns below cut_seq */
    uint64_t        cut_seq;
    wr_sbuf         cut_positions, cut_state;
    bool            values_done;
    int64_t         last_chunk_us;         /* monotonic */
    int64_t         read_us;               /* that of the newest turn */
    uint64_t        behind;                /* the next five: pace.c */
    int64_t         lag_us;
    bool            catching_up;
    struct { bool looked; int64_t look_us; uint64_t bytes, rows; uint32_t uncounted; } paced; /* bytes, rows: of published turns, for rows of a byte; uncounted: turns out of which nobody knows how many rows they hold */
    int64_t         start_us;              /* rows earlier than that are left out (pace.c) */
    shedding        shed;
    const wr_source_range *range;          /* of wr_run_opts.watch; NULL: everything is read */
} source;
typedef struct pace { int64_t bytes_per_s, rows_per_s, lag_us, ready_us; } pace; /* ready_us: when sources that are behind may read again */
typedef struct turn_batch {
    wr_batch *batch;                       /* output columns */
    wr_vec    ts, wm;                      /* evaluated rowtime and watermark; data NULL = none */
    bool      in_order;                    /* event times never fall and stay ahead of the batch's own watermarks: the next three say all that publishing asks */
    int64_t   first_us, last_us, wm_us;    /* wm_us: the greatest; WR_TIME_MIN without watermarks */
} turn_batch;
typedef struct turn {
    uint32_t source;
    uint64_t seq, number;                  /* number: over all sources */
    int64_t  read_us;
    wr_chunk chunk;
    bool     final;                        /* source ends with it */
    shed_what shed;                        /* its rows go no further, or some do not */
    uint64_t n_shed;
    bool     uncounted;                    /* the next three: pace.c */
    uint64_t paced_bytes;
    double   paced_rows;                   /* paid for when it was handed out */
    uint32_t again;                        /* it is the letter of that index + 1 in the request, and no input */
    wr_decoded decoded;
    WR_ARR(turn_batch) batches;
    int64_t  charged;                      /* to turn_acct */
} turn;
enum { TURNS_PENDING_MAX = 2, STILL_RESTS = 25 };

struct worker {
    wr_job     *job;
    uint32_t    index;
    void       *thread;
    wr_bell    *bell;
    _Atomic bool asleep;
    uint32_t    still;                     /* rests since there was something to do, up to STILL_RESTS */
    _Atomic bool calm;                     /* so many, and its figures are out: it sleeps long, and rings the coordinator when something moves */
    meter       meter;
    uint32_t    n_tasks;
    task       *tasks;                     /* inputs first; stepped from the last to the first */
    node       *nodes;                     /* by plan index; p == NULL where the node does not run on this worker */
    wr_prog   **source_progs;              /* by source index */
    int64_t     flushed_us;                /* when sinks were last flushed */
    turn        pending[TURNS_PENDING_MAX];
    uint32_t    n_pending;
    uint64_t    cut_sent;
    uint64_t    barrier_sent;              /* last epoch this worker's source chains have passed on */
    uint64_t    report_have;
    uint64_t    committed;                 /* last epoch whose sinks on this worker committed */
    uint64_t    overtook;                  /* last epoch whose barrier overtook what is queued here */
    int64_t     wait_us;                   /* how long to sleep when nothing moves */
    uint64_t    touched;                   /* bitmap of workers (mod 64) that got messages in this step */
    int64_t     budget_us;                 /* when this worker last looked at the budget */
    _Atomic uint32_t budget_version;       /* of the limits that its operators have */
    _Atomic bool idle;                     /* its last step moved nothing */
    node       *stuck;                     /* a sink whose other end took no more in this step */
    bool        done;
};

typedef struct node_report {
    wr_hist *latency;
    int64_t taken_us;
    wr_ledger ledger;
    wr_detail *detail;
    wr_op_usage usage;
    int64_t wm;
    uint64_t steps, blocked_steps;
    uint32_t n_refused;
    wr_refused_code refused[WR_REFUSED_CODES_MAX];
} node_report;

/* ---- checkpoints ---- */
typedef struct epoch_times {               /* of the open epoch; longest and names: workers, under snap_lock; the rest: coordinator */
    bool     writing;                      /* all acknowledged: the I/O thread has it */
    int64_t  begun_us, begun_wall_us, acked_us, written_us, longest_us;
    char     last_task[160], longest_task[160];
    uint32_t failed_attempts;
    bool     aligned_only;                 /* of a stop or a request: it shall hold no rows in flight */
    uint64_t begun_step;                   /* in simulation */
    uint32_t overtaken;                    /* tasks; with the next two: workers, under snap_lock */
    uint64_t in_flight_rows, in_flight_bytes;
} epoch_times;
typedef struct image {                     /* the I/O thread's work: what the tier holds, files, manifest */
    char        *dir;                      /* the tier's links are made here */
    void        *thread;
    bool         running;                  /* coordinator: started and not joined */
    _Atomic bool done;
    int64_t      look_us, looked_us;       /* when requests, the tier's memory and queues are looked at next, and were last */
    int64_t      retry_at_us;              /* a failed attempt is tried again then; 0 = no */
    bool         made;                     /* the tier's part is done: the rest can be tried again */
    wr_tier_file *files;
    uint32_t     n_files, next;            /* files before `next` are in the checkpoint already */
    bool         local;                    /* it is whole in the state directory */
    int64_t      local_us;                 /* since then; only with job->away */
    wr_checkpoint_written written;
    wr_checkpoint_uploaded up;
    uint64_t     changed_bytes, merged_bytes, merged_before; /* merged_before: by the tier since its start, at the image before */
    wr_status    status;
    wr_err       err;
} image;

typedef struct again {                     /* coordinator, but for left and sinks */
    enum { AGAIN_NONE, AGAIN_UNDER_WAY, AGAIN_TO_SAVE } phase;
    wr_again_request *request, *own;       /* own: it was read from a file */
    const char      *path;                 /* of that, without extension */
    bool             given;                /* wr_run_opts.again was begun */
    uint64_t         epoch;                /* that has it all */
    int64_t          look_us;
    _Atomic uint32_t left;                 /* letters not yet decided */
    _Atomic bool     sinks;                /* sinks may have some */
} again;

typedef struct views {                     /* materialized ones; set NULL: there are none (cut.c) */
    struct wr_view_set *set;
    struct wr_view    **of;                /* by plan index */
    bool               *leads;             /* by plan index: a view is below, or it is one */
    uint64_t            version;           /* of the last cut */
    int64_t             begun_us;
    uint64_t            step;              /* in simulation */
    uint64_t            turn;              /* turns below belong to it; under turn_lock */
    _Atomic uint64_t    cut, dead;         /* the last one that goes out; those up to it are given up */
} views;

struct wr_job {
    const wr_job_plan *plan;
    wr_run_opts        opts;
    wr_arena          *arena;
    uint32_t           n_workers, n_nodes, n_sources, n_edges, n_groups, batch_rows;
    uint8_t           *owner;              /* by key group: its worker; NULL with one */
    worker            *workers;
    source            *sources;
    edge              *edges;
    wr_account        *accts;              /* by plan index */
    wr_account        *op_accts;           /* by worker * n_nodes + node; children of accts */
    wr_account         queue_acct, buffer_acct, turn_acct;
    _Atomic size_t     queue_limit;
    budget             budget;
    wr_mutex          *turn_lock;
    uint64_t           turns_assigned;
    uint32_t           source_rotate;
    pace               pace;
    /* end and errors */
    _Atomic int        stop;               /* 1 = clean stop asked, 2 = workers leave now */
    bool               stop_saved;         /* the checkpoint of a clean stop is triggered */
    _Atomic uint32_t   tasks_left;         /* unfinished tasks over all workers */
    _Atomic uint32_t   sources_left;
    wr_mutex          *err_lock;
    _Atomic bool       failed;
    wr_err             err;
    wr_bell           *bell;               /* the coordinator's */
    /* checkpoints (snapshot.c) */
    _Atomic uint64_t   barrier_epoch;      /* epoch in progress or done */
    uint64_t           barrier_turn;       /* turns below belong to it */
    _Atomic uint64_t   commit_epoch;
    _Atomic uint64_t   overtake;           /* the epoch whose barriers overtake now (inflight.c) */
    _Atomic int64_t    firing_bytes;       /* state of the operators that are in the middle of a watermark */
    _Atomic uint32_t   stuck;              /* tasks */
    uint64_t           steps;              /* in simulation */
    bool               settling;           /* it only works off what was in flight (job.c) */
    _Atomic uint32_t   acks_left, commits_left;
    bool               epoch_open;
    views              views;
    int64_t            last_checkpoint_mono_us;
    again              again;              /* letters on their way back */
    letters           *letters;            /* dead letters (letters.h) */
    wr_mutex          *snap_lock;          /* workers put sections and note times */
    wr_checkpoint_writer snap;
    wr_account         snap_acct;          /* sections on their way to the disk */
    wr_checkpoint_store *store;            /* NULL: no state directory */
    wr_checkpoint_away  *away;             /* NULL: no copy in an object store */
    wr_checkpoint      restored;           /* until snapshot_restore is through */
    bool               restored_found;
    const char        *restored_dir;
    epoch_times        times;
    image              image;
    wr_tier           *tier;
    wr_account         tier_acct;
    wr_file           *lock;               /* of the state directory */
    enum { ASKED_NOT, ASKED, ASKED_UNDER_WAY } asked; /* another process wants a checkpoint */
    wr_sbuf           *staged;             /* by plan index: sinks' staged bytes of the epoch */
    int               *where;              /* by plan index: the one worker of a single node, else -1 */
    uint64_t          *lives;              /* by plan index: bitmap of the workers that it runs on */
    uint64_t           restored_epoch, epochs_done, attempts_failed;
    char               attempt_error[256];
    wr_checkpoint_report history[WR_CHECKPOINT_HISTORY]; /* ring: epochs_done counts; under report_lock */
    bool               finished_before;    /* restored state says the job had ended */
    uint32_t           generation;         /* upgrades so far: names of new tables of the tier carry it, so that they are never those of an old meaning */
    /* reports */
    wr_mutex          *report_lock;
    _Atomic uint64_t   report_want;
    node_report       *reports;            /* [worker * n_nodes + node] */
    uint32_t           n_skews;
    skew_point        *skews;
    int64_t            started_us, started_wall_us;
    bool               finished;
};

/* meter.c */
void      meter_start(worker *w);                                                /* the thread that steps it begins now */
counter  *meter_to(worker *w, counter *slot);                                    /* from now on time goes there; returns where it went before */
void      meter_begin(node *n);                                                  /* what it waited for is over for now */
void      meter_end(node *n, wr_spent waits);                                    /* it waits again */
void      meter_sleep(worker *w);                                                /* nothing to do: its sources have nothing for it, asked or not */
counter  *meter_aside(node *n, wr_spent what);                                   /* work outside of its steps; to be ended by */
void      meter_back(node *n, counter *was);
void      meter_status(wr_job *job, wr_job_status *out);                         /* any thread */
/* node.c */
wr_status node_push(node *n, uint32_t port, wr_batch *batch, wr_err *err);       /* chained input; (takes) batch */
wr_status node_give(node *n, uint32_t port, const wr_batch *batch, wr_err *err); /* a sink with drain() begins with it */
wr_status node_given(node *n, uint32_t port, const wr_batch *batch, wr_err *err); /* it is through */
wr_status node_emit_batch(node *n, wr_batch *batch, wr_err *err);                /* (takes) */
wr_status node_watermark(node *n, uint32_t in, int64_t wm_us, bool idle, wr_err *err); /* derived input of a chained node */
void      node_forward_watermark(node *n, int64_t wm_us, bool idle, wr_err *err, wr_status *status);
void      node_turn_end(node *n, uint32_t source_index, uint64_t seq, int64_t wm_us, bool idle);
void      node_barrier(node *n, uint64_t epoch);
void      node_send_cut(node *n, edge *e, uint64_t version);
bool      node_full(const node *n);                                              /* any queue that it reaches is over its bound */
bool      node_out_full(wr_out *out);
wr_status node_out_emit(wr_out *out, wr_batch *batch, wr_err *err);
wr_status node_located(const node *n, wr_status status, wr_err *err);            /* an error says where it happened */
wr_batch *edge_hash(const edge *e, wr_batch *batch);                             /* (takes) the same with the hash of the edge's keys */
/* latency.c: of sinks; the worker that owns the node, or the coordinator at rest */
void      latency_open(node *n, bool commits);                                   /* commits: its rows can be seen when their epoch has committed, not before */
void      latency_rows(node *n, uint64_t rows);                                  /* it has taken them */
void      latency_turn(node *n);                                                 /* ... and all that was read up to ctx.read_us */
void      latency_prepare(node *n);
void      latency_commit(node *n);
void      latency_report(const node *n, node_report *r);                         /* with the report lock */
/* task.c */
wr_status task_step(task *t, bool *progress, wr_err *err);
wr_status task_end_firing(task *t, wr_err *err);                                 /* whatever is full; rows that wait for answers stay, they are state */
/* source_task.c */
wr_status source_step(worker *w, bool *progress, wr_err *err);
void      count_records(const wr_decoded *d, uint64_t n_shed, wr_ledger *ledger);
wr_status sources_open(wr_job *job, wr_err *err);
void      sources_close(wr_job *job);
wr_status sources_limit(wr_job *job, wr_err *err);
bool      sources_at_limit(wr_job *job);                                           /* of wr_run_opts.until */
void      source_state_save(source *s, wr_sbuf *out);
wr_status source_state_load(wr_job *job, source *s, wr_reader *in, wr_err *err);
/* again.c */
bool      again_waits(const source *s);
wr_status again_next(wr_job *job, source *s, turn *t, bool *got, wr_err *err);   /* a turn of a letter */
void      again_publish(wr_job *job, source *s, turn *t, wr_ledger *ledger);
wr_status again_sinks(worker *w, bool *progress, wr_err *err);
wr_status again_look(wr_job *job, bool *over, wr_err *err);
bool      again_wants_checkpoint(const wr_job *job);
wr_status again_prepare_try(wr_job *job, wr_err *err);
bool      again_after_end(const wr_job *job);
void      again_free(wr_job *job);
/* pace.c */
wr_status pace_start(wr_job *job, source *s, wr_err *err);                       /* as the options say */
wr_status pace_restore(wr_job *job, source *s, int64_t saved_us, wr_err *err);   /* as the restored state says */
wr_status pace_open(wr_job *job, wr_err *err);
void      pace_look(wr_job *job, source *s);                                     /* is it behind? */
bool      pace_holds(wr_job *job, source *s, int64_t now_us);                    /* it may not read now */
bool      pace_slows(wr_job *job, source *s);                                    /* it reads more slowly than it could */
void      pace_read(wr_job *job, source *s, turn *t);                               /* a chunk was handed out */
void      pace_rows(wr_job *job, source *s, turn *t, uint64_t n_rows);               /* it had so many rows */
/* ---- shed.c ---- */
void      shed_open(wr_job *job, source *s, const wr_options *options, const wr_connector *c);
shed_what shed_judge(wr_job *job, source *s, const turn *t);
bool      shed_glance(source *s, turn *t);                                       /* it was counted and needs no decoding */
void      shed_rows(const source *s, turn *t);
/* worker.c */
wr_status worker_step(worker *w, bool *progress, wr_err *err);
void      worker_run(void *arg);
void      worker_report(worker *w);
bool      job_calm(const wr_job *job);                                           /* all workers */
void      job_fail(wr_job *job, const wr_err *err);
void      job_wake_all(wr_job *job);
/* budget.c */
wr_status budget_start(wr_job *job, wr_err *err);             /* the graph is built, sources are open, state is restored */
wr_status budget_step(worker *w, int64_t now_us, wr_err *err);/* between two calls of the worker's operators */
bool      budget_may_read(worker *w);                         /* another turn */
wr_status budget_watch(wr_job *job, wr_err *err);             /* WR_LIMIT: used up, and nothing helps */
int64_t   budget_water_level(const int64_t *bytes, uint32_t n, int64_t all);
uint32_t  budget_batch_rows(int64_t limit_bytes, uint32_t n_workers);
int64_t   budget_least(const wr_job *job);
void      budget_status(wr_job *job, wr_budget_status *out);
/* job.c */
wr_status job_bare(const wr_job_plan *plan, const wr_run_opts *opts, wr_job **out, wr_err *err); /* the graph only: no sources, no state, nothing runs */
/* build.c */
wr_status job_build(wr_job *job, wr_err *err);
void      job_unbuild(wr_job *job);
bool      job_chained(const wr_job *job, const wr_pnode *p);
void      table_info_of(wr_job *job, const wr_pnode *p, wr_table_info *out);
void      group_range(const wr_job *job, const node *n, uint32_t *from, uint32_t *to);
/* lookup.c */
wr_status lookup_asker_new(wr_job *job, node *n, wr_asker **out, wr_err *err);
/* inflight.c */
bool      inflight_wanted(const worker *w);                                      /* this worker is to let the barrier overtake */
void      inflight_consider(wr_job *job);                                        /* coordinator: has the open epoch waited for long enough? */
int64_t   inflight_wait_us(wr_job *job, int64_t most_us);                        /* until that is to be considered again */
wr_status inflight_overtake(worker *w, wr_err *err);
void      inflight_record(task *t, bool *progress);
wr_status inflight_restore(wr_job *job, const wr_checkpoint *ck, wr_err *err);   /* operators are loaded */
uint32_t  inflight_workers(const wr_checkpoint *ck);                             /* with which they can be restored; 0: there are none */
void      inflight_replayed(port *p);                                            /* the last message of p->replay was taken */
void      inflight_free(wr_job *job);
/* image.c */
wr_status image_open(wr_job *job, wr_err *err);                                  /* state directory and tier, before the operators are built */
void      image_close(wr_job *job);
wr_status image_restore(wr_job *job, wr_err *err);                               /* the tier's part of job->restored */
void      image_begin(wr_job *job, uint64_t epoch);
wr_status image_start(wr_job *job, wr_err *err);                                 /* coordinator: all tasks have acknowledged */
bool      image_poll(wr_job *job, wr_status *status, wr_err *err);               /* true: it came to an end */
void      image_join(wr_job *job);
void      image_cancel(wr_job *job);                                             /* the job ends with an error: an upload under way is given up */
wr_status image_commit(wr_job *job, wr_err *err);                                /* coordinator: an image without the tier's part, at once */
void      image_tick(wr_job *job);                                               /* accounts, requests of other processes */
void      image_answer(wr_job *job, uint64_t epoch);                             /* epoch is complete */
/* snapshot.c */
wr_status snapshot_check(wr_job *job, wr_err *err);                              /* is job->restored this job's? */
wr_status snapshot_restore(wr_job *job, wr_err *err);
void      snapshot_trigger(wr_job *job);
void      snapshot_source_chains(worker *w, uint64_t epoch);
wr_status snapshot_task(task *t, uint64_t epoch, wr_err *err);                   /* barrier reached on all inputs */
wr_status snapshot_save(task *t, uint64_t epoch, wr_err *err);                   /* the same without the acknowledgement */
void      snapshot_put(const node *n, wr_section_kind kind, wr_sbuf *content);   /* (takes) content */
void      snapshot_put_as(wr_job *job, wr_section_kind kind, wr_str owner, wr_sbuf *content); /* (takes) content */
void      snapshot_acknowledge(wr_job *job);
wr_status snapshot_poll(wr_job *job, wr_err *err);                               /* coordinator: complete the open epoch */
wr_status snapshot_commit_sinks(worker *w, wr_err *err);
wr_status snapshot_first(wr_job *job, wr_err *err);
wr_status snapshot_final(wr_job *job, wr_err *err);
void      snapshot_close(wr_job *job);
void      job_section_put(const wr_job_plan *plan, uint32_t n_groups, bool finished, uint32_t generation, wr_sbuf *out); /* what WR_SECTION_JOB holds */
void      ledger_save(const wr_ledger *l, wr_sbuf *out);
void      ledger_load(wr_ledger *l, wr_reader *in);
bool      snapshot_superseded(const wr_checkpoint *ck, uint32_t i);              /* a later ledger section of the same node and instance */
void      job_section_read(const wr_checkpoint *ck, uint32_t *groups, bool *finished, uint32_t *generation);
/* ledger.c */
void      ledger_put_nodes(const wr_job_plan *plan, wr_sbuf *out);               /* WR_SECTION_PLAN of 'nodes': what they are called, tables, inputs */
/* skew.c */
skew     *skew_new(wr_arena *arena, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys, uint32_t seed);
uint32_t  skew_best(const skew *k, wr_bill_hot *out, uint32_t max);              /* the most frequent keys, by share */
void      skew_build(wr_job *job);
void      skew_feed(skew *k, const wr_batch *batch, const uint64_t *hash, const wr_tz *tz);
void      skew_report_worker(worker *w);                                         /* with the report lock */
void      skew_status(wr_job *job, wr_job_status *out);                          /* with the report lock */
