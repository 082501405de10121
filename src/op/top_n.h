/* op/top_n.h: what top_n.c (rows in) and top_n_emit.c (changes out) share. Private to op/. See top_n.c. */
#pragma once
#include "op/agg.h"
#include "op/op_util.h"
#include "op/row_order.h"
#include "op/sorted.h"
#include "op/window.h"

typedef struct wr_ranked { /* one kept row; mem holds [order bytes][unique bytes][encoded row] */
    char    *mem;
    uint32_t order_len, key_len, row_len, refs_pad; /* key = order + unique */
    uint64_t seq;                                   /* arrival: identity of the row, and last tie-break */
} wr_ranked;
typedef struct wr_rank_group {
    wr_sorted *rows;      /* wr_ranked by (key, seq) */
    wr_sorted *by_unique; /* wr_ranked by unique bytes; retracting inputs with an upsert key */
    int64_t    end_us;    /* window Top-N: instant at which the window closes */
    int64_t    used_us;
    uint32_t   mark, index;
} wr_rank_group;
typedef struct wr_rank_item { wr_ranked row; uint64_t rank; wr_str result; /* OVER: of the functions, encoded */ } wr_rank_item;
typedef WR_ARR(wr_rank_item) wr_rank_items;

typedef struct wr_ranked_over { /* top_n_over.c; [0] RANGE, [1] ROWS */
    wr_aggs       *aggs[2];
    void          *block[2];
    uint32_t      *col[2];        /* output column behind the input's, an aggregate */
    const wr_type *types;
    wr_rowcodec   *codec;
    wr_arena      *results;       /* of the batch at work */
    wr_sbuf        scratch;
} wr_ranked_over;

typedef struct wr_top_n {
    wr_op          op;
    wr_top_n_opts  opts;
    wr_arena      *arena;
    wr_type       *types;
    uint32_t       n_cols;
    wr_rowcodec   *codec;
    wr_sort_key   *unique_order;
    wr_ranked_over *over;         /* NULL: a rank */
    wr_status      bad;           /* of the batch at work: a sum that overflowed */
    wr_err        *err;
    wr_kmap       *map;
    wr_win         win;
    wr_timers     *timers;        /* window Top-N: payload = slot */
    int64_t        heap_bytes, heap_told, n_kept;
    uint64_t       seq;
    uint32_t       batch_no;
    wr_sbuf        scratch;
    uint64_t       hash[WR_BATCH_MAX];
    uint32_t       slots[WR_BATCH_MAX];
    uint8_t        created[WR_BATCH_MAX];
    void          *values[WR_BATCH_MAX];
    /* groups touched by the batch and what they showed before it */
    uint32_t       n_touched, touched_slot[WR_BATCH_MAX];
    wr_rank_group *touched[WR_BATCH_MAX];
    uint32_t       before_end[WR_BATCH_MAX];
    wr_rank_items  before, after, gone, come;
    WR_ARR(char *) graves;        /* rows removed in this batch: what showed them still needs them */
    /* output being built */
    wr_batch      *batch;
    uint8_t       *kinds;
    uint32_t       n_rows, cap;
    /* window Top-N: a group that is being emitted */
    uint32_t       emit_slot, emit_at;
} wr_top_n;

void      wr_top_n_shown(wr_top_n *t, const wr_rank_group *g, wr_rank_items *out); /* appends what a group shows */
wr_status wr_top_n_put(wr_top_n *t, wr_kind kind, const wr_rank_item *item, wr_out *out, wr_err *err);
wr_status wr_top_n_flush(wr_top_n *t, wr_out *out, wr_err *err);
wr_status wr_top_n_changes(wr_top_n *t, const wr_rank_item *before, uint32_t n, const wr_rank_group *g, wr_out *out, wr_err *err);
/* top_n_over.c: sets `result` of all rows of a key, in order. */
void      wr_top_n_over_open(wr_top_n *t);
void      wr_top_n_over_close(wr_top_n *t);
wr_status wr_top_n_over_results(wr_top_n *t, wr_rank_item *items, uint32_t n, wr_err *err);
WR_INLINE wr_str wr_ranked_row(const wr_ranked *r) { return (wr_str){r->mem + r->key_len, r->row_len}; }
WR_INLINE wr_str wr_ranked_unique(const wr_ranked *r) { return (wr_str){r->mem + r->order_len, r->key_len - r->order_len}; }
