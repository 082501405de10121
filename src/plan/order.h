/* plan/order.h: does each output get what happens to one key in the order in which it happened? (contract)
 *
 * Idea       the need is the output's key (PRIMARY KEY, else 'key.fields'); what the plan proves of the order of rows is lineage's (lineage.h). One walk from sources to outputs;
 *            where the order is lost the operator is named, with its reason. What depends on facts that no plan knows (which partition a key's messages are in) is said as that.
 * Memory     the arena given.                                                                                                       */
#pragma once
#include "plan/lineage.h"

typedef enum wr_order_verdict {
    WR_ORDER_PROVED,
    WR_ORDER_IF,          /* it holds if a fact about the input does */
    WR_ORDER_LOST,
    WR_ORDER_NOT_NEEDED,  /* the output has no key; `why` says what order its rows have */
} wr_order_verdict;
typedef struct wr_order_proof {
    const wr_pnode  *sink;
    wr_order_verdict verdict;
    wr_str           key;   /* "user_id, city"; "" none */
    const wr_pnode  *at;    /* proved: what makes it so; lost: where; NULL: the way from source to sink, or the sink itself */
    wr_str           why, change; /* change: what would keep it; "" */
} wr_order_proof;
typedef struct wr_order_proofs { wr_order_proof *at; uint32_t n, cap; } wr_order_proofs;

/* One for each named output of the job, in the order of the script. jobs: all of the script: who else writes there? */
void wr_order_prove(const wr_job_plan *job, const wr_job_plan *const *jobs, uint32_t n_jobs, wr_arena *arena, wr_order_proofs *out);
/* A line each: "order of rows in totals, per (user_id): proved: ..."; the same as a JSON array. diags: for line numbers. */
void wr_order_text(const wr_order_proofs *proofs, const wr_diags *diags, wr_sbuf *out);
void wr_order_json(const wr_order_proofs *proofs, const wr_diags *diags, wr_sbuf *out);
const char *wr_order_verdict_name(wr_order_verdict v); /* "proved", "if", "lost", "not-needed" */
