/* plan/lineage.h: from which columns of which tables a column comes, and in which order rows reach a place of the plan. */
#pragma once
#include "plan/plan.h"

typedef struct wr_lineage wr_lineage;
wr_lineage *wr_lineage_new(const wr_job_plan *job); /* of all nodes; the plan must outlive it */
void        wr_lineage_free(wr_lineage *lineage);   /* NULL is legal */
/* "orders.price, rates.rate": columns whose values go into it, not those that only decide which rows there are; "" for a constant. */
void        wr_lineage_text(const wr_lineage *lineage, const wr_pnode *node, uint32_t col, wr_sbuf *out);

/* What is certain of the order in which a node's rows come out, at any number of workers. */
typedef enum wr_order {
    WR_ORDER_NONE,
    WR_ORDER_PARTITION, /* rows of one partition of the input in that partition's order */
    WR_ORDER_KEY,       /* what happens to one key in the order in which it happened */
    WR_ORDER_ALL,       /* one sequence */
} wr_order;
typedef struct wr_arrival {
    wr_order        order;
    uint32_t        n_key;
    const uint32_t *key;  /* columns of the output */
    bool            if_partitioned; /* KEY: only if all that comes of a key is in one partition of the input */
    const wr_pnode *at;   /* KEY, ALL: the operator that makes it so. NONE: where it was lost, */
    const char     *lost; /* and why; static */
} wr_arrival;
wr_arrival  wr_lineage_order(const wr_lineage *lineage, const wr_pnode *node);
/* The source's column that the node's column is, unchanged: *source, and the decoded column; false: it is none. */
bool        wr_lineage_same(const wr_lineage *lineage, const wr_pnode *node, uint32_t col, const wr_pnode **source, uint32_t *decoded);
