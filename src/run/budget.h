/* run/budget.h: the memory budget of a running job: what there is, who holds it, what is done when it runs short. Private to run/.
 *
 * Figures    limit = --memory. reserve = what the process holds beside the accounts (binary, libraries, the allocator's slack, what nobody charges):
 *            measured a few times a second where the budget is the process's, else 0. data = limit - reserve: what the accounts may hold.
 * Ladder     by share of data: CALM; SPILL: keyed maps get limits; SLOW: fewer turns, smaller queues; TRICKLE: one turn at a time in the whole
 *            job; SHUT: none. SHUT, nothing moving and nothing more to spill: the job stops with WR201.                          */
#pragma once
#include "run/forecast.h"
#include "sys/world.h"

typedef enum budget_level { BUDGET_CALM, BUDGET_SPILL, BUDGET_SLOW, BUDGET_TRICKLE, BUDGET_SHUT } budget_level;
struct worker;
typedef struct budget {
    int64_t          limit;             /* 0: none */
    bool             spills_any;        /* some operator can, and the budget is large enough to open the tier */
    bool             of_process;        /* the budget is for the whole process: its resident size is watched */
    int64_t          base;              /* resident when the job was built, without what was charged then */
    _Atomic int64_t  reserve, data;
    _Atomic int64_t  rss;               /* last look */
    _Atomic int      level;
    _Atomic uint32_t version;           /* of `limits`: raised whenever one changed */
    _Atomic int64_t *limits;            /* by worker * n_nodes + node; 0: none */
    _Atomic bool     busy;              /* somebody works the limits out */
    _Atomic bool     refused;           /* a worker was refused a turn since the last look */
    _Atomic int64_t  throttled_us;
    int64_t          looked_us, worked_us, sampled_us, tier_us;
    int64_t          stuck_bytes;       /* SHUT and nothing moving: what was held at the last look */
    uint32_t         stuck_looks;
    bool             no_spare;          /* nothing is kept free for the tier any more: everything that could be spilled was */
    forecast        *forecasts;         /* by node */
    uint64_t         spills;            /* times that limits were set anew */
} budget;
int64_t budget_tier_bytes(int64_t limit_bytes);   /* the memory of the tier under that budget, once it is open */
int64_t budget_filter_bytes(int64_t limit_bytes); /* what its filters may take beside that when it has many entries */
