/* op/join_common.h: what the joins and normalize share: stored rows, time-ordered buffers, due times, key look-up, output batches.
 *
 * Idea       a stored row is its encoding (type/rowcodec.h) behind a 24-byte header, cut from size classes of one heap per operator;
 *            buffers, sets and timers hold pointers to rows. Output is first collected as references (a row of the batch being
 *            probed, or a stored row, or "NULL"), then built column by column when a batch is full.
 * Invariant  a stored row does not move. What is referenced by a wr_join_out lives until it is emitted: rows that die earlier are
 *            handed to it (wr_join_out_drop).
 * Memory     heap, buffers and wheels charge the operator's account.
 * Thread     one worker.                                                                                                   */
#pragma once
#include "base/hash.h"
#include "op/op.h"

/* ---- stored rows ---- */
enum { WR_ROW_MATCHED = 1, WR_ROW_DELETED = 2, WR_ROW_LATE_PARTNER = 4, WR_ROW_REFUSED = 8 /* by the residual */ }; /* from bit 16 on: wr_near_mark */
typedef struct wr_join_row {
    int64_t time_us;                          /* event time; regular join: processing time of the last touch */
    union {
        int64_t wm_us;                        /* row_wm_us of a late row, else WR_TIME_MIN */
        struct { uint32_t count, partners; }; /* regular join: copies; matching copies on the other side */
    };
    uint32_t len;
    uint32_t mark;                            /* WR_ROW_* bits; regular join: copies already counted as matched */
    char     bytes[];
} wr_join_row;
WR_INLINE wr_str wr_join_row_bytes(const wr_join_row *row) { return (wr_str){row->bytes, row->len}; }

typedef struct wr_join_heap wr_join_heap;
wr_join_heap *wr_join_heap_new(wr_account *acct);
void          wr_join_heap_free(wr_join_heap *heap);           /* with everything in it */
void         *wr_join_heap_take(wr_join_heap *heap, size_t bytes);
void          wr_join_heap_give(wr_join_heap *heap, void *ptr, size_t bytes);
int64_t       wr_join_heap_bytes(const wr_join_heap *heap);     /* charged */
int64_t       wr_join_heap_used(const wr_join_heap *heap);      /* of it, what is taken */
wr_join_row  *wr_join_row_new(wr_join_heap *heap, wr_str bytes); /* header zeroed but for len; wm_us WR_TIME_MIN is the caller's to set */
void          wr_join_row_free(wr_join_heap *heap, wr_join_row *row);

/* For the bill: a piece of the heap with its rounding; entries that an array has room for, given the mean rows of a key. */
double wr_join_piece_bytes(double bytes);
double wr_join_array_cap(double per_key, uint32_t first, bool in_place);

/* ---- rows of one key and side, ordered by time, equal times by arrival ---- */
typedef struct wr_join_ent {
    int64_t      time_us;
    wr_join_row *row;
} wr_join_ent;
typedef struct wr_join_buf {
    union {
        wr_join_ent  one; /* cap == 0: at most one entry, in place */
        wr_join_ent *at;
    };
    uint32_t n, cap, head, n_armed; /* n_armed: entries of a wheel that name this buffer */
    int64_t  armed_us;              /* the earliest of them, when n_armed */
} wr_join_buf;
WR_INLINE wr_join_ent *wr_join_buf_ents(wr_join_buf *buf) { return buf->cap ? buf->at + buf->head : &buf->one; }
void     wr_join_buf_add(wr_join_heap *heap, wr_join_buf *buf, int64_t time_us, wr_join_row *row);
void     wr_join_buf_pop(wr_join_heap *heap, wr_join_buf *buf, uint32_t n); /* forgets the first n entries; rows are the caller's */
void     wr_join_buf_clear(wr_join_heap *heap, wr_join_buf *buf);           /* frees rows and array */
uint32_t wr_join_buf_lower(wr_join_buf *buf, int64_t time_us);              /* first entry with time >= time_us */
void     wr_join_buf_save(wr_join_buf *buf, wr_sbuf *out);

/* ---- due times: a radix heap. An entry moves to a lower bucket each time the clock reaches its bucket: about log2(distance / step) sequential
 * moves in its life, no matter how many keys wait. (Ahuja, Mehlhorn, Orlin, Tarjan 1990) ---- */
typedef struct wr_join_due { int64_t at_us; uint64_t what; } wr_join_due;
typedef WR_ARR(wr_join_due) wr_join_dues;
typedef struct wr_join_wheel {
    wr_account  *acct;
    uint64_t     base; /* the clock, biased */
    uint64_t     n;
    wr_join_dues bucket[65];
} wr_join_wheel;
void    wr_join_wheel_init(wr_join_wheel *wheel, wr_account *acct);
void    wr_join_wheel_free(wr_join_wheel *wheel);
void    wr_join_wheel_add(wr_join_wheel *wheel, int64_t at_us, uint64_t what);
void    wr_join_wheel_advance(wr_join_wheel *wheel, int64_t now_us, wr_join_dues *out); /* moves out all with at_us <= now_us, unordered */
int64_t wr_join_wheel_first(const wr_join_wheel *wheel);                               /* WR_TIME_MAX when empty */
int64_t wr_join_wheel_bytes(const wr_join_wheel *wheel);

/* ---- times ---- */
WR_INLINE int64_t wr_sat_add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? (b > 0 ? INT64_MAX : INT64_MIN) : r;
}
WR_INLINE int64_t wr_sat_sub(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? (b > 0 ? INT64_MIN : INT64_MAX) : r;
}

/* ---- one input of a join ---- */
typedef struct wr_join_side {
    uint32_t      n_cols;
    wr_type      *types;
    uint32_t      n_keys;
    uint32_t     *keys;
    wr_rowcodec  *codec;
    uint32_t      time_col;
    bool          nano;     /* the time column counts nanoseconds */
} wr_join_side;
typedef struct wr_join_base { /* what every join has; first member of its struct */
    wr_op         op;
    wr_arena     *arena;
    wr_join_heap *heap;
    wr_join_kind  kind;
    wr_join_side  side[2];
    uint32_t      n_keys;
    bool         *null_safe;
    wr_prog      *residual;
    wr_sbuf       scratch;
    int64_t       n_rows;   /* stored */
} wr_join_base;
void wr_join_base_init(wr_join_base *base, wr_join_kind kind, const wr_join_keys *keys, wr_expr *residual, const wr_schema *left,
                       const wr_schema *right, wr_op_ctx *ctx);
void wr_join_base_free(wr_join_base *base); /* after the state that points into the heap */
/* heap_bytes of a map whose values live in the heap of this operator. */
int64_t wr_join_map_heap(void *base);
/* vt->limit: when most of the heap is free after that, everything leaves, because only an empty heap gives its blocks back. */
wr_status wr_join_limit(wr_join_base *base, wr_kmap *map, int64_t bytes, wr_err *err);
/* At the start of each stretch of due entries (slot = what >> shift): lets values go that are over the limit and brings those of the stretch in one
 * read. Nothing but the map may point into values then. */
wr_status wr_join_warm_due(wr_kmap *map, const wr_join_dues *due, uint32_t at, uint32_t shift, wr_err *err);
void wr_join_side_time(wr_join_side *side, uint32_t col);
WR_INLINE int64_t wr_join_time(const wr_join_side *side, const wr_batch *batch, uint32_t row) {
    int64_t t = ((const int64_t *)batch->cols[side->time_col].data)[row];
    return side->nano ? wr_floor_div(t, 1000) : t;
}
WR_INLINE bool wr_join_pads(wr_join_kind kind, uint32_t side) {
    return kind == WR_JOIN_FULL || kind == (side ? WR_JOIN_RIGHT : WR_JOIN_LEFT);
}
WR_INLINE bool wr_join_left_only(wr_join_kind kind) { return kind == WR_JOIN_SEMI || kind == WR_JOIN_ANTI; }
wr_join_row *wr_join_store(wr_join_base *base, uint32_t side, const wr_batch *batch, uint32_t row);
void         wr_join_row_save(const wr_join_row *row, wr_sbuf *out);
wr_join_row *wr_join_row_load(wr_join_base *base, uint32_t side, wr_reader *in); /* checks that the bytes decode; NULL: damaged */
bool         wr_join_buf_load(wr_join_base *base, uint32_t side, wr_join_buf *buf, wr_reader *in);

/* Live rows of a batch split into those that can match and those with a NULL where that excludes a match. */
typedef struct wr_join_probe {
    wr_batch        view;          /* the batch with sel = sel: what wr_kmap_find takes */
    uint32_t        n, n_null;
    uint16_t        sel[WR_BATCH_MAX], null[WR_BATCH_MAX];
    uint32_t        slot[WR_BATCH_MAX];    /* slot[i] belongs to row sel[i] */
    uint8_t         created[WR_BATCH_MAX]; /* as wr_kmap_find */
    const uint64_t *hash;
    uint64_t        hash_buf[WR_BATCH_MAX];
} wr_join_probe;
/* time_too: a NULL in the time column excludes as well. all_null_safe: NULL keys are keys like any other. */
void wr_join_probe_split(wr_join_probe *probe, const wr_join_base *base, uint32_t side, const wr_batch *batch, bool time_too, bool all_null_safe);

/* ---- why a row had no partner (join_miss.c) ---- */
typedef struct wr_near { uint8_t why /* wr_miss */, end; int64_t us; } wr_near; /* OUTSIDE: so far beyond the upper (0) or lower (1) bound */
typedef struct wr_join_gone wr_join_gone;
typedef struct wr_join_misses {
    wr_op_ctx    *ctx;
    int64_t       lower_us, upper_us; /* right.time - left.time of a pair; window joins: 0 */
    wr_join_gone *gone;
} wr_join_misses;
wr_near  wr_near_of(wr_near a, wr_near b);  /* the one that says more */
wr_near  wr_near_between(uint32_t side, int64_t t, int64_t u, int64_t lower_us, int64_t upper_us);
uint32_t wr_near_mark(wr_near near);
wr_near  wr_near_marked(uint32_t mark);
/* The nearest of the rows that have gone without a partner; it is told as well that this one came. */
wr_near  wr_join_gone_near(wr_join_misses *m, uint32_t side, uint64_t hash, int64_t t);
wr_near  wr_join_missed(wr_join_misses *m, uint32_t side, uint64_t hash, int64_t t, wr_near near); /* counts, and gives what it counted; hash: of the key */
/* Gives ctx->lost, if there is one, a row of a batch of that side, or a stored row of it. */
void     wr_join_lost(const wr_op_ctx *ctx, uint32_t side, wr_reason reason, wr_near near, const wr_batch *batch, uint32_t row);
void     wr_join_lost_stored(const wr_join_base *base, uint32_t side, wr_reason reason, wr_near near, uint64_t copies, const wr_join_row *row);
void     wr_join_misses_free(wr_join_misses *m);

/* ---- output ---- */
#define WR_PROBE_NONE UINT32_MAX
typedef struct wr_join_out {
    wr_join_base *base;
    uint32_t      n, cap;              /* references collected; ctx->batch_rows */
    int           probing;             /* side whose references are rows of `batch`, -1 = both stored */
    wr_batch     *batch;               /* (borrows) */
    const wr_join_row **row[2];        /* NULL = padded */
    uint32_t     *probe;               /* WR_PROBE_NONE = padded */
    uint8_t      *kind;
    int64_t      *late_us;             /* row_wm_us of the output row */
    bool          any_kind, any_late;
    WR_ARR(wr_join_row *) garbage;     /* freed with the next emit */
} wr_join_out;
void wr_join_out_init(wr_join_out *o, wr_join_base *base);
void wr_join_out_free(wr_join_out *o);
WR_INLINE void wr_join_out_begin(wr_join_out *o, int probing, wr_batch *batch) { o->probing = probing, o->batch = batch; }
WR_INLINE bool wr_join_out_full(const wr_join_out *o) { return o->n == o->cap; }
WR_INLINE void wr_join_out_mark(wr_join_out *o, uint32_t at, wr_kind kind, int64_t late_us) {
    o->kind[at] = (uint8_t)kind, o->late_us[at] = late_us;
    o->any_kind |= kind != WR_KIND_INSERT, o->any_late |= late_us != WR_TIME_MIN;
}
/* Two stored rows. */
WR_INLINE void wr_join_out_stored(wr_join_out *o, const wr_join_row *left, const wr_join_row *right, wr_kind kind, int64_t late_us) {
    wr_dassert(o->n < o->cap && o->probing < 0);
    o->row[0][o->n] = left, o->row[1][o->n] = right;
    wr_join_out_mark(o, o->n++, kind, late_us);
}
/* A row of the probing batch (or WR_PROBE_NONE) and a stored row of the other side (or NULL). */
WR_INLINE void wr_join_out_pair(wr_join_out *o, uint32_t probe, const wr_join_row *stored, wr_kind kind, int64_t late_us) {
    wr_dassert(o->n < o->cap && o->probing >= 0);
    o->probe[o->n] = probe, o->row[!o->probing][o->n] = stored;
    wr_join_out_mark(o, o->n++, kind, late_us);
}
void      wr_join_out_drop(wr_join_out *o, wr_join_row *row);
wr_batch *wr_join_out_build(wr_join_out *o, bool left_only); /* (returns owned) of the n references; keeps them */
void      wr_join_out_reset(wr_join_out *o);                 /* forgets the references, frees the garbage */
/* Builds, emits and resets; left_only by the join kind. Nothing when there are no references. */
wr_status wr_join_out_emit(wr_join_out *o, wr_out *out, wr_err *err);
/* Evaluates the residual over the n references (both sides): pass[i] = 1 where it is TRUE; without residual all. *built receives the batch
 * (both sides) or NULL when there is no residual. */
wr_status wr_join_out_filter(wr_join_out *o, uint16_t *sel, uint32_t *n_sel, wr_batch **built, wr_err *err);
/* Fills columns dst[0..n_cols-1] of one side from stored rows (NULL = NULL row). */
void wr_join_decode(const wr_join_side *side, const wr_join_row *const *rows, uint32_t n, wr_vec *dst, wr_mem *mem);
