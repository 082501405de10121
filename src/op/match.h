/* op/match.h: partial matches of MATCH_RECOGNIZE: the automaton of a pattern and its runs over the rows of one key. Private to op/.
 *
 * Idea       a pattern becomes a list of states with TAKE and PROCEED edges, as Flink's NFACompiler makes them (a greedy variable forbids
 *            the edges behind it while it could take the row itself). A run is a state and a chain of taken rows; chains of runs that began alike share
 *            their nodes, which are counted (Agrawal et al. 2008, without version numbers: a node has one predecessor). Runs stand in
 *            a binary heap by their first row, laid out as java.util.PriorityQueue does it, because which of two matches with the same first row
 *            comes out is decided by the order of visiting.
 * Invariant  rows are fed in order; a run that cannot take a row is gone (rows of a match are neighbours).
 * Thread     one worker. Memory: all rows, nodes and arrays are counted in heap_bytes.                                      */
#pragma once
#include "op/agg.h"
#include "op/op_util.h"

typedef struct wr_mrow {
    int64_t  time_us;
    uint64_t no;            /* arrival while it waits; then its number among the rows of the key */
    uint32_t refs, id;      /* id: while saving */
    uint32_t key_len, len;
    char     mem[];         /* [order bytes][encoded row] */
} wr_mrow;
typedef struct wr_mnode {
    struct wr_mnode *prev;  /* the row taken before it */
    wr_mrow         *row;
    uint32_t         refs, var, id;
} wr_mnode;
typedef struct wr_mrun { wr_mnode *node; uint64_t start; int64_t start_us; uint32_t state; } wr_mrun; /* node NULL: not begun; start is UINT64_MAX then */
typedef struct wr_mheap { wr_mrun *at; uint32_t n, cap; } wr_mheap;
typedef struct wr_mpart {   /* one key */
    wr_mrow **waiting;      /* by time, order, arrival; from `first` on */
    uint32_t  first, n, cap, n_timers;
    uint64_t  arrived, fed;
    wr_mheap  runs, done;   /* done: complete, but a run that began earlier may still take its rows */
    int64_t   timer_us;     /* earliest timer that is set for sure */
} wr_mpart;

typedef struct wr_mstate { /* one TAKE edge at most, one PROCEED edge at most; 0 is the end */
    int32_t  var, take, proceed;  /* -1: none */
    uint64_t take_not, proceed_not; /* variables that must not be able to take the row */
} wr_mstate;

typedef struct wr_match {
    wr_op         op;
    wr_match_opts opts;
    wr_arena     *arena;
    wr_type      *types;
    uint32_t      n_cols, n_states, start;
    wr_mstate    *states;
    wr_rowcodec  *codec;
    wr_prog     **conds;     /* per variable, or NULL */
    uint32_t    **cond_refs; /* refs it reads; the number is in n_cond_refs */
    uint32_t     *n_cond_refs;
    wr_prog      *measures;
    wr_aggs     **aggs;      /* per ref, or NULL */
    uint64_t      greedy;
    wr_kmap      *map;
    wr_timers    *timers;
    int64_t       heap_bytes, heap_told, n_rows;
    wr_mheap      next, hits;
    wr_batch     *one, *eval; /* a decoded row; the refs of a condition */
    uint32_t      eval_uses, one_uses;
    const wr_mrow *decoded;  /* what is in `one` */
    wr_batch     *out;       /* refs of matches, then key columns: n_out rows */
    uint32_t      n_out;
    wr_out       *sink;      /* of the watermark at hand */
    WR_ARR(wr_mrow *)  rows;
    WR_ARR(wr_mnode *) nodes;
    wr_sbuf       scratch;
    uint64_t      hash[WR_BATCH_MAX];
    uint32_t      slots[WR_BATCH_MAX];
    uint8_t       created[WR_BATCH_MAX];
    void         *values[WR_BATCH_MAX];
} wr_match;

/* match_nfa.c */
void      wr_match_compile(wr_match *m);
wr_status wr_match_feed(wr_match *m, wr_mpart *part, wr_mrow *row /* (takes) */, wr_err *err);
wr_status wr_match_expire(wr_match *m, wr_mpart *part, int64_t now_us, wr_err *err); /* WITHIN, up to now_us */
void      wr_match_part_free(wr_match *m, wr_mpart *part);
wr_mrow  *wr_match_row_new(wr_match *m, int64_t time_us, uint64_t no, uint32_t key_len, wr_str bytes);
void      wr_match_row_drop(wr_match *m, wr_mrow *row);
wr_mnode *wr_match_node_new(wr_match *m, wr_mnode *prev, wr_mrow *row, uint32_t var); /* references both */
void      wr_match_node_drop(wr_match *m, wr_mnode *node);
void      wr_match_push(wr_match *m, wr_mheap *h, wr_mrun run); /* takes the reference */
/* match.c */
wr_status wr_match_ref_put(wr_match *m, uint32_t ref, wr_mnode *node, wr_vec *dst, uint32_t row, wr_mem *mem, wr_err *err);
void      wr_match_fresh_eval(wr_match *m);                        /* before the refs of a condition are put into m->eval */
void      wr_match_decode(wr_match *m, const wr_mrow *row);     /* into m->one */
wr_status wr_match_found(wr_match *m, wr_mnode *last, int64_t time_us, wr_err *err);
