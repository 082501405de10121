/* tests/sim/sim.h: whole jobs under the seeded scheduler in a simulated world: what the parts of the program `sim` share.
 *
 * World      clocks, randomness and files in memory. What was written but not synced is lost, kept, torn or reordered when the power fails;
 *            so are names (create, rename, link, remove) whose directory was not synced. Calls fail on request, disks fill up.
 * Seed       decides everything: job, settings, faults, what a crash leaves. The same seed takes the same steps: `trace` says so.       */
#pragma once
#include "api/session.h"
#include "base/hash.h"

/* ---- world.c ---- */
typedef struct sim_faults {       /* of one attempt; 0 = not */
    uint64_t crash_at_call;       /* the machine is off from this call on (it may be half done) */
    uint64_t fail_at_call;        /* this call fails */
    uint64_t fail_at_sync;        /* this file_sync or sync_dir fails; what it should have saved may never get to the disk */
    uint64_t space_bytes;         /* the disk takes so many bytes more */
    bool     slow;                /* every write and sync costs seconds */
    bool     clock_jumps;         /* the wall clock jumps up to 12 hours, both ways */
} sim_faults;
typedef struct sim_world {
    wr_world   base;
    wr_rng     rng;
    sim_faults faults;
    uint64_t   calls, syncs;      /* of this attempt */
    uint64_t   trace;             /* hash of every call and its outcome since the beginning */
    uint32_t   fired;             /* faults that struck in this attempt */
    bool       tiered;            /* RocksDB wrote a table: its name depends on its content, which is never the same twice */
    bool       off;               /* the machine is off: nothing works */
    bool       verbose;
    uint32_t   sector_bytes;
    int64_t    step_us;           /* a call takes up to so long */
    struct sim_disk *disk;
    wr_mutex  *lock;
} sim_world;
sim_world *sim_world_new(uint64_t seed);
void       sim_world_free(sim_world *w);
void       sim_world_boot(sim_world *w, sim_faults faults);   /* the next attempt begins */
void       sim_world_power_loss(sim_world *w);                /* forgets what a disk may forget */
void       sim_world_put(sim_world *w, const char *path, wr_str content); /* as if it had been there for ever */
/* Visits the files below `dir` (a prefix with its slash), sorted by path. */
void       sim_world_each(sim_world *w, const char *dir, void (*visit)(void *arg, const char *path, wr_str content), void *arg);
void       sim_world_flip_bit(sim_world *w, const char *path, uint64_t where); /* once more: as before */

/* ---- sink.c: the connector 'capture': a transactional store outside of the world ---- */
typedef struct sim_table { char *name; wr_sbuf changes; uint64_t epoch; } sim_table;
typedef struct sim_store { sim_world *world; WR_ARR(sim_table *) tables; } sim_store;
extern const wr_connector sim_capture;
void sim_store_free(sim_store *store);
/* Everything the job put out, in one canonical text: tables of the store folded to their rows, files under /out as sorted lines. */
void sim_outputs(sim_world *w, sim_store *store, wr_sbuf *out);

/* ---- jobs.c ---- */
struct golden_case;
typedef struct sim_job { const char *name, *sql; const struct golden_case *golden; } sim_job;
uint32_t       sim_n_jobs(void);
const sim_job *sim_job_at(uint32_t index);
bool           sim_jobs_from(const char *path); /* the cases of a golden file instead of the list; may be called more than once */
void           sim_jobs_free(void);
char    *sim_job_sql(const sim_job *job, const char *root); /* with the tables it reads; root: where examples/ lies. wr_free */
void     sim_inputs(sim_world *w, const sim_job *job);

/* ---- appends.c ---- */
bool sim_appends(uint64_t seed, char *why, size_t cap); /* false: `why` says what is wrong */
