/* op/agg.h: accumulators of aggregate functions, private to op/: the arithmetic of group_agg, window_agg and session windows.
 *
 * Idea       all accumulators of one key are one block of `bytes` bytes in the operator's map. An update goes column by column: first the
 *            positions that pass FILTER and are not NULL, then one tight loop for the accumulator's form. What must be exact under
 *            retraction or needs every value lives in ordered lists outside the block (op/sorted.h).
 * Forms      COUNT; SUM64 (wraps), SUM128, SUMDEC (overflow restarts), SUMF (Neumaier; NaN and infinities counted apart, so that they can
 *            leave again); CELL8/CELL (one value: MIN, MAX, FIRST, LAST); SET (value -> copies); SEQ (values by arrival); VAR (Welford);
 *            HLL; USER (agg_user.c); BITMAP (agg_bitmap.c). DISTINCT puts a set of values (value_set.h) in front: only the first and the last copy of a value reach the form behind it.
 *            Where rows only come, aggregates with the same argument share one set, and a value has a mark for each of them that has seen it.
 * Invariant  a zeroed block is an empty accumulator; a block may be moved by memcpy; merge is commutative and associative (up to
 *            rounding), because FIRST, LAST and lists carry arrival numbers.
 * Thread     owned by one worker. Memory: lists are counted in heap_bytes; the operator charges the change once a batch.    */
#pragma once
#include "op/op.h"
#include "op/sorted.h"
#include "type/bitmap.h"

typedef struct wr_cell { uint64_t w[2]; } wr_cell; /* int64, double, i128 or wr_sview, by class */
typedef enum wr_cell_class { WR_CELL_INT, WR_CELL_F64, WR_CELL_I128, WR_CELL_STR, WR_CELL_ROW /* encoded bytes in a view */ } wr_cell_class;
typedef enum wr_agg_form {
    WR_FORM_COUNT, WR_FORM_SUM64, WR_FORM_SUM128, WR_FORM_SUMDEC, WR_FORM_SUMF, WR_FORM_CELL8, WR_FORM_CELL, WR_FORM_SET, WR_FORM_SEQ,
    WR_FORM_VAR, WR_FORM_HLL, WR_FORM_USER, WR_FORM_BITMAP,
} wr_agg_form;

typedef struct wr_acc_count { int64_t n; } wr_acc_count;
typedef struct wr_acc_sum64 { uint64_t sum; int64_t n; } wr_acc_sum64;
typedef struct wr_acc_sum128 { wr_i128 sum; int64_t n, has; } wr_acc_sum128; /* has: SUMDEC only, 0 = the sum is NULL */
typedef struct wr_acc_sumf { double sum, comp; int64_t n; uint32_t nan, pinf, ninf, pad; } wr_acc_sumf;
typedef struct wr_acc_cell8 { uint64_t v; uint64_t has; } wr_acc_cell8;
typedef struct wr_acc_cell { wr_cell v; uint64_t seq; uint32_t n, pad; } wr_acc_cell; /* n: values seen (SINGLE_VALUE), 0 = empty */
typedef struct wr_acc_list { struct wr_list_acc *list; } wr_acc_list;       /* SET, SEQ, HLL and DISTINCT's set */
typedef struct wr_acc_var { int64_t n; double mean, m2; } wr_acc_var;

typedef struct wr_acc_user { uint64_t live, pad; } wr_acc_user;               /* then the state of the user's function; live 0: none was made */

typedef struct wr_set_item { wr_cell v; int64_t n; } wr_set_item; /* n copies; below 0: owed, not there */
typedef struct wr_seq_item { wr_cell v; uint64_t seq; uint64_t null; } wr_seq_item;
typedef struct wr_list_acc {
    struct wr_value_set *distinct; /* in front of another form */
    wr_sorted *by_value; /* SET: wr_set_item; SEQ with retraction or DISTINCT: wr_seq_item ordered by (value, seq) */
    wr_sorted *by_seq;   /* SEQ: wr_seq_item; owns the strings */
    wr_hll    *hll;
    wr_bitmap  bitmap;
    wr_cell    sep;      /* LISTAGG */
} wr_list_acc;

typedef struct wr_agg_slot {
    wr_agg        agg;
    wr_agg_form   form;
    wr_storage    storage;   /* of the argument */
    wr_cell_class class;
    uint32_t      at;        /* offset of the accumulator in the block */
    uint32_t      set_at;    /* offset of DISTINCT's wr_acc_list, valid when distinct */
    uint32_t      next;      /* aggs->marks: the next aggregate that shares this set of values, 0: none */
    uint32_t      mark;      /* aggs->marks: its bit in an item's n; 1 belongs to the owner of the set */
    bool          distinct;
    bool          least;     /* CELL, SET: keep the least (MIN), FIRST for sequences */
    bool          by_seq;    /* CELL: FIRST_VALUE, LAST_VALUE, SINGLE_VALUE */
    wr_rowcodec  *codec;     /* class ROW */
    const weir_aggregate *user;
    bool          user_nulls, user_row; /* sees NULLs; its arguments are the fields of a ROW */
} wr_agg_slot;

typedef struct wr_aggs {
    uint32_t     n, bytes;       /* bytes: of a block, a multiple of 16 */
    wr_agg_slot *slots;
    bool         retract, count_rows, has_heap, invertible;
    bool         settle;         /* blocks are whole groups, not parts to be merged: 0 values means empty */
    bool         marks;          /* values of DISTINCT never leave: an item's n says which aggregates have seen it, not how often */
    uint32_t     rows_at;        /* offset of the row count (when count_rows) */
    uint64_t     seq;            /* arrival number of row 0 of the batch; the operator adds n_rows after each batch; part of the state */
    int64_t      heap_bytes, heap_told;
    wr_arena    *arena;
    wr_sbuf      scratch;
    struct wr_user_frame *user;  /* NULL: no function of the user */
    uint16_t    *iota, *pass;    /* 0..2047; positions that pass */
    int8_t      *sign;           /* +1/-1 by position, when the batch has retractions */
    uint32_t    *mark_of;        /* marks: of the aggregates that share a set, those that count the position */
} wr_aggs;

/* count_rows: keep the number of rows of the group, for emptiness (retraction, running windows). */
wr_aggs  *wr_aggs_new(const wr_agg *aggs, uint32_t n, bool retract, bool count_rows);
/* Of whole groups. Without retraction DISTINCT aggregates of one argument share a set, whatever their FILTERs: a row looks its value up once. */
wr_aggs  *wr_aggs_new_of_groups(const wr_agg *aggs, uint32_t n, bool retract);
void      wr_aggs_free(wr_aggs *a);
/* Row rows[i] of the batch goes into blocks[i]; -U and -D rows are taken out (retract only). At most WR_BATCH_MAX. */
wr_status wr_aggs_update(wr_aggs *a, const wr_batch *batch, const uint32_t *rows, void *const *blocks, uint32_t n, wr_err *err);
WR_INLINE int64_t wr_aggs_rows(const wr_aggs *a, const void *block) { return *(const int64_t *)((const char *)block + a->rows_at); }
void      wr_aggs_merge(wr_aggs *a, void *into, const void *from);
void      wr_aggs_copy(wr_aggs *a, void *into, const void *from);    /* into is empty or raw memory without lists */
/* Each of n blocks is merged into its partner (sign +1), or taken out of it (-1, only if a->invertible), aggregate by aggregate. */
void      wr_aggs_merge_all(wr_aggs *a, void *const *into, void *const *from, uint32_t n, int sign);
void      wr_aggs_drop(wr_aggs *a, void *block);                     /* frees lists and zeroes the block */
/* Result of aggregate `i` of blocks[0..n-1] into rows first, first + step, ... of dst. */
void      wr_aggs_result(wr_aggs *a, uint32_t i, void *const *blocks, uint32_t n, wr_vec *dst, uint32_t first, uint32_t step, wr_mem *mem);
void      wr_aggs_save(wr_aggs *a, const void *block, wr_sbuf *out);
bool      wr_aggs_load(wr_aggs *a, void *block, wr_reader *in);
int64_t   wr_aggs_heap_change(wr_aggs *a); /* bytes gained since the last call */
bool      wr_agg_sum_may_overflow(const wr_agg *agg); /* a DECIMAL of so many digits that a sum may leave 38 of them */
/* local_agg.c: as update, for rows of which some carry accumulators of rows combined before the exchange; rows and blocks are used up. */
wr_status wr_aggs_take(wr_aggs *a, const wr_batch *batch, uint32_t partial_col, uint32_t *rows, void **blocks, uint32_t n, wr_err *err);
bool      wr_aggs_partial_rows(const wr_aggs *a, const wr_vec *partials, uint32_t row, int64_t *n); /* false: the row stands for itself */

/* Cells, shared with agg_state.c. */
wr_cell wr_cell_get(const wr_agg_slot *s, const wr_vec *vec, uint32_t row, wr_sbuf *scratch); /* borrows text */
wr_cell wr_cell_own(wr_aggs *a, const wr_agg_slot *s, wr_cell v);
void    wr_cell_drop(wr_aggs *a, const wr_agg_slot *s, wr_cell v);
int     wr_cell_compare(wr_cell_class class, wr_cell a, wr_cell b);
void    wr_cell_put(const wr_agg_slot *s, wr_cell v, wr_vec *dst, uint32_t row, wr_mem *mem);
uint64_t wr_cell_hash(const wr_agg_slot *s, wr_cell v);
int     wr_set_order(const void *slot, const void *a, const void *b);
int     wr_seq_order(const void *slot, const void *a, const void *b);
wr_list_acc *wr_list_of(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, bool for_distinct); /* creates it */
/* n copies of v come (or, below 0, go). True: the first came or the last went. */
bool    wr_set_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, int64_t n);
bool    wr_distinct_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, int64_t n);
WR_INLINE int64_t wr_distinct_copies(const wr_aggs *a, const wr_agg_slot *s, const wr_set_item *item) { return a->marks ? (item->n & s->mark) != 0 : item->n; }
bool    wr_seq_first(const wr_agg_slot *s, const wr_list_acc *l, wr_cell v, bool null, uint64_t *seq); /* arrival of its first copy; needs by_value */
void    wr_seq_remove(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, uint64_t seq);
void    wr_seq_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v, bool null, uint64_t seq);
/* One value into (sign +1) or out of (-1) the accumulator behind DISTINCT. */
wr_status wr_acc_one(wr_aggs *a, const wr_agg_slot *s, void *acc, wr_cell v, bool null, int sign, uint64_t seq, wr_err *err);
/* agg_user.c */
struct wr_user_frame *wr_user_new(wr_arena *arena);
void      wr_user_cost(const wr_aggs *a, wr_prog_cost *out);           /* nothing, if there is no function of the user */
void      wr_user_free(struct wr_user_frame *u);                      /* NULL is legal */
bool      wr_user_skips(const wr_agg_slot *s, const wr_vec *arg, uint32_t row);
wr_status wr_user_feed(wr_aggs *a, const wr_agg_slot *s, const wr_vec *arg, const uint32_t *rows, void *const *blocks, const int8_t *sign, const uint16_t *pass,
                       uint32_t n, wr_err *err);                      /* positions pass[0..n-1] of rows, blocks and sign */
wr_status wr_user_one(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc, wr_cell v, int sign, wr_err *err);
void      wr_user_merge(wr_aggs *a, const wr_agg_slot *s, void *const *into, void *const *from, uint32_t n);
void      wr_user_result(wr_aggs *a, const wr_agg_slot *s, void *const *blocks, uint32_t n, wr_vec *dst, uint32_t first, uint32_t step, wr_mem *mem);
void      wr_user_save(wr_aggs *a, const wr_agg_slot *s, const wr_acc_user *acc, wr_sbuf *out);
bool      wr_user_load(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc, wr_reader *in);
void      wr_user_drop(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc);
void    wr_sumf_add(wr_acc_sumf *acc, double x, int sign);

/* agg_bitmap.c */
bool wr_agg_is_bitmap(wr_agg_kind kind);
bool wr_agg_is_bitmap_build(wr_agg_kind kind);
void wr_bitmap_acc_add(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_cell v);
void wr_bitmap_acc_merge(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *into, const wr_acc_list *from);
bool wr_bitmap_acc_put(wr_aggs *a, const wr_agg_slot *s, const wr_list_acc *l, wr_vec *dst, uint32_t row, wr_mem *mem); /* false: NULL */
bool wr_bitmap_acc_load(wr_aggs *a, const wr_agg_slot *s, wr_acc_list *acc, wr_str bytes);
