/* plan/physical.h: what physical.c, infer.c, bill.c and titles.c share. Private to plan/. */
#pragma once
#include "plan/logical.h"

typedef enum pdist_kind { DIST_ANY, DIST_HASH, DIST_SINGLE } pdist_kind;
typedef struct pinfo { /* beside each pnode, by index */
    pdist_kind dist;
    uint32_t   n_dist;
    uint32_t  *dist_cols;
    bool       updating, has_key, bounded, rate_declared, needs_before, watermarked; /* watermarked: every source below has a watermark */
    bool       by_keys;   /* its rows at any time are at most one (or N) a key */
    double     rate, row_bytes, delay_us; /* delay_us: how far watermarks stay behind, by their expressions */
    const lnode *from;    /* NULL for sources, sinks, normalize */
    wr_str     cons;      /* structural text: equal text, equal node */
    wr_str     label;
} pinfo;

typedef struct psource { tinfo *ti; bool *needed; uint32_t *pos; wr_pnode *node; } psource; /* pos: table column -> output column */

typedef struct phys {
    pl          *p;
    wr_job_plan *job;
    WR_ARR(pinfo) info;
    WR_ARR(psource) sources;
} phys;

wr_pnode *ph_new(phys *h, wr_pnode_kind kind, wr_schema schema, wr_span at);
wr_pnode *ph_put(phys *h, wr_pnode *n, pinfo info);       /* into the job, or the equal node that is there already */
pinfo    *ph_info(phys *h, const wr_pnode *n);
void      ph_input(phys *h, wr_pinput *in, wr_pnode *from, const uint32_t *keys, uint32_t n_keys); /* keyed input */
wr_pnode *ph_calc(phys *h, const lnode *n, wr_pnode *in, wr_expr *filter, wr_expr **exprs); /* n: what it stands for */
bool      ph_by_key(phys *h, const wr_pnode *in); /* rows of in can be replaced by its upsert key */
wr_pnode *ph_normalize(phys *h, wr_pnode *in, const uint32_t *keys, uint32_t n_keys, bool materialize, wr_span at);
void      ph_title(const wr_pnode *n, char out[160]);
void      ph_infer(phys *h);
void      ph_bill(phys *h);
wr_pnode *ph_build(phys *h, lnode *n);
/* view.c */
void      ph_view(phys *h, const lsink *s, wr_pnode *in);
void      ph_view_bounds(phys *h, const wr_pnode *view);  /* an error, if nothing bounds its rows */
/* user_functions.c: diagnostics for what a function of the user cannot do here */
void      ph_check_user_aggs(phys *h, const wr_pnode *n);
void      ph_check_unnest(phys *h, const wr_pnode *n);
/* two_phase.c */
void      ph_two_phases(phys *h, wr_pnode *a);
bool      ph_may_take_back_unknown(phys *h, const wr_pnode *n);
lnode    *ph_split_distinct(phys *h, lnode *n);
/* split.c */
bool      ph_is_split(const wr_pnode *join);
lnode    *ph_split_join(phys *h, lnode *n, wr_pnode **left, wr_pnode **right); /* n, or what it is over the spread sides */
wr_pnode *ph_unsplit_join(phys *h, const lnode *n, wr_pnode *join);             /* without the columns of the parts */
