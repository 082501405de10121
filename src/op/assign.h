/* op/assign.h: what a partition of ASSIGN remembers: rows that wait for their round, orders, couriers. Private to op/.
 *
 * Idea       a partition is a small world that only rounds change. A row waits until its round runs; the round applies its rows by time, forgets what has run
 *            out, and then matches (assign_round.c). What can happen without a row is known ahead: somebody runs out. Two timers a partition stand for the
 *            next round with rows and for the next one where somebody does, and rounds between are not run: they could not change anything.
 * Invariant  a courier is in the list only while it is free or on its way: one that is away and has nothing to do needs no memory.
 *            An order is in the list until it is closed, or has been given away for the last time.
 * Thread     one worker. Memory: rows, orders, couriers and lists are counted in heap_bytes.                                    */
#pragma once
#include "op/op_util.h"
#include "op/sorted.h"

enum { WR_ASSIGN_ORDERS, WR_ASSIGN_COURIERS };             /* inputs */
enum { WR_ASSIGN_SOON, WR_ASSIGN_OVER, WR_ASSIGN_TIMERS }; /* for rows, for what runs out */
enum { WR_ASSIGN_MALLOC_EXTRA = 16 };

typedef enum wr_aword {     /* what a row says */
    WR_AWORD_OPEN, WR_AWORD_REFUSED, WR_AWORD_CANCELLED, WR_AWORD_CLOSED, /* orders */
    WR_AWORD_FREE, WR_AWORD_AWAY,                                         /* couriers */
    WR_AWORD_COUNT                                                        /* nothing that is known */
} wr_aword;
typedef struct wr_arow {
    int64_t  time_us;
    uint64_t no;            /* arrival */
    double   x, y, to_x, to_y;
    uint8_t  input, word;
    bool     placed;        /* x and y are there */
    uint32_t len;
    char     id[];          /* encoded, as everywhere here */
} wr_arow;
typedef struct wr_aorder {
    int64_t  time_us;       /* of the row that opened it */
    double   x, y, to_x, to_y;
    int64_t  given_us;      /* the round that gave it away last */
    bool     open;
    uint32_t n_given, given_len, len;
    char    *given;         /* couriers that it was given to, n_given times length and id; the last one has it while it is not open */
    char     id[];
} wr_aorder;
typedef struct wr_acourier {
    int64_t  seen_us;       /* its last row */
    int64_t  taken_us;      /* the round that gave it orders; WR_TIME_MIN: it has none */
    double   x, y;
    uint32_t n_orders, len; /* of that round, that it was not released from */
    bool     says_free, was_away; /* its last row; some row since taken_us */
    char     id[];
} wr_acourier;
typedef struct wr_apart {   /* one partition */
    wr_arow  **waiting;     /* by time, input, arrival; from `first` on */
    uint32_t   first, n, cap;
    uint32_t   n_open;
    wr_sorted *orders, *couriers; /* pointers, by id; NULL: none */
    uint64_t   arrived;
    int64_t    round_us;    /* the last one that ran */
    int64_t    order_due_us, courier_due_us; /* nobody runs out before; INT64_MAX */
    uint32_t   n_timers[WR_ASSIGN_TIMERS];
    int64_t    timer_us[WR_ASSIGN_TIMERS]; /* earliest one that is set for sure */
} wr_apart;

typedef struct wr_aline { wr_aorder *order; wr_acourier *courier; wr_assign_pick pick; uint32_t no; bool leaves; } wr_aline; /* of the output; courier NULL: nobody */
typedef struct wr_assign {
    wr_op          op;
    wr_assign_opts opts;
    wr_arena      *arena;
    wr_rowcodec   *codec[2]; /* of the ids */
    wr_kmap       *map;
    wr_timers     *timers;
    int64_t        heap_bytes, heap_told, n_rows;
    int64_t        wm_us;
    uint64_t       n_greedy; /* orders that the solver served greedily for their number */
    wr_batch      *out;      /* n_out rows */
    uint32_t       n_out;
    /* of the round at hand */
    WR_ARR(wr_aline)          lines;
    WR_ARR(wr_aorder *)       open;
    WR_ARR(wr_acourier *)     free;
    WR_ARR(wr_assign_order)   orders;
    WR_ARR(wr_assign_courier) couriers;
    WR_ARR(wr_assign_pick)    picks;
    WR_ARR(uint32_t)          barred;
    wr_sbuf        scratch;
    uint64_t       hash[WR_BATCH_MAX];
    uint32_t       slots[WR_BATCH_MAX];
    uint8_t        created[WR_BATCH_MAX];
    void          *values[WR_BATCH_MAX];
} wr_assign;

/* a + b for b >= 0, the greatest where there is no such time. */
WR_INLINE int64_t wr_assign_plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
/* The round that takes a row of this time: the first one after it. */
WR_INLINE int64_t wr_assign_round_of(const wr_assign *a, int64_t time_us) {
    int64_t every = a->opts.every_us, past = time_us % every;
    return wr_assign_plus(time_us - (past < 0 ? past + every : past), every);
}
WR_INLINE wr_str wr_aorder_id(const wr_aorder *o) { return (wr_str){o->id, o->len}; }
WR_INLINE wr_str wr_acourier_id(const wr_acourier *c) { return (wr_str){c->id, c->len}; }
WR_INLINE bool   wr_acourier_free(const wr_acourier *c) { return c->says_free && c->taken_us == WR_TIME_MIN; }
WR_INLINE uint32_t wr_alist_count(const wr_sorted *list) { return list ? (uint32_t)list->count : 0; }

/* assign_state.c */
int          wr_assign_compare(const wr_assign *a, uint32_t input, wr_str x, wr_str y); /* of ids, as values */
wr_arow     *wr_arow_new(wr_assign *a, wr_str id);
void         wr_arow_free(wr_assign *a, wr_arow *row);
void         wr_apart_wait(wr_assign *a, wr_apart *p, wr_arow *row /* (takes) */);
void         wr_apart_apply(wr_assign *a, wr_apart *p, const wr_arow *row, bool *news); /* counts it */
void         wr_apart_forget(wr_assign *a, wr_apart *p, int64_t now_us);  /* those whose last round is before now; orders that were open go to a->lines */
void         wr_aorder_remove(wr_assign *a, wr_apart *p, wr_aorder *order);  /* from its list; the order itself stays */
void         wr_aorder_free(wr_assign *a, wr_aorder *order);
void         wr_aorder_give(wr_assign *a, wr_aorder *order, wr_str courier);
wr_str       wr_aorder_given_next(const wr_aorder *order, uint32_t *at);     /* from *at = 0 on */
wr_acourier *wr_acourier_find(const wr_assign *a, const wr_apart *p, wr_str id);
void         wr_apart_init(wr_apart *p);
void         wr_apart_free(wr_assign *a, wr_apart *p);                       /* what it holds; timers stay */
void         wr_apart_save(const wr_apart *p, wr_sbuf *out);
bool         wr_apart_load(wr_assign *a, wr_apart *p, wr_reader *in);
/* assign_round.c */
wr_status    wr_assign_run_round(wr_assign *a, wr_apart *p, uint32_t slot, int64_t round_us, wr_out *out, wr_err *err);
wr_status    wr_assign_flush(wr_assign *a, wr_out *out, wr_err *err);
