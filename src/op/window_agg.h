/* op/window_agg.h: what window_agg.c (rows in), window_fire.c (windows that close) and window_emit.c (rows out) share. Private to op/. See window_agg.c. */
#pragma once
#include "op/agg.h"
#include "op/op_util.h"
#include "op/window.h"

typedef enum wr_pane_place { WR_PANE_FRESH, WR_PANE_BACK /* or in the running window */, WR_PANE_FRONT } wr_pane_place;
typedef struct wr_pane {
    int64_t       start, end;
    int64_t       from_end;  /* late pane: counts from the window with this end on; else WR_TIME_MIN */
    wr_kmap      *map;       /* key -> block; with two stacks -> block, suffix block (of run: the back stack), link */
    int64_t       prefix[3]; /* of its keys in the tier: start, end, from_end, big-endian */
    wr_pane_place place;
    uint32_t      mark, index;
} wr_pane;
typedef struct wr_pane_link { /* the next pane that has the same key; of run: the first one of the front */
    wr_pane *pane;
    uint32_t slot;
    union {
        uint32_t in_back; /* of run: 1 = the back stack holds something; else it is zeroed */
        uint32_t in_run;  /* of a pane: 1 + the key's slot in run; 0 = look it up */
    };
} wr_pane_link;

typedef struct wr_stretch { wr_pane *pane; uint32_t from, n; } wr_stretch; /* rows of one pane that follow each other: positions in row_of */

typedef struct wr_window_agg {
    wr_op              op;
    wr_window_agg_opts opts;
    wr_win             win;
    wr_arena          *arena;
    wr_type           *key_types;
    wr_type            start_type, end_type;
    const wr_rowcodec *codec;
    wr_aggs           *aggs;
    bool               direct;      /* TUMBLE or windowed input: a pane is a window */
    bool               two_stacks;  /* HOP with an accumulator that cannot be subtracted */
    WR_ARR(wr_pane *)  panes;       /* by (end, start) */
    WR_ARR(wr_pane *)  late;        /* by (from_end, start) */
    wr_pane           *last;        /* the pane of the row before */
    WR_ARR(wr_pane *)  dead;        /* over, but the tier could not be told yet */
    wr_kmap           *charging;    /* whose values change: what the accumulators own more is charged to it */
    int64_t            limit_bytes; /* of all panes and the running window */
    uint32_t           n_limited;   /* panes that share it */
    uint64_t           last_count;  /* keys of the pane that was freed last */
    wr_kmap           *run;         /* HOP, CUMULATE: the running window; its key set changes by wr_window_key_changed and wr_window_run_clear */
    int64_t            run_base;    /* CUMULATE: start of the running window, WR_TIME_MIN if empty */
    int64_t            fired_end;   /* of the last window that fired */
    int64_t            wm_us;
    /* a window that is being emitted */
    bool               emitting;
    int64_t            emit_start, emit_end;
    wr_kmap           *emit_map;
    uint32_t           emit_slot;   /* up to it all slots have come out */
    bool               emit_scans;  /* some of emit_map is in the tier: emit_cursor tells the place */
    wr_kmap_cursor     emit_cursor;
    WR_ARR(wr_batch *) parts;       /* of run; see window_emit.c */
    int64_t            parts_bytes;
    /* scratch of one batch */
    uint32_t   batch_no, n_touched, n_stretches, n_placed;
    wr_stretch stretches[WR_BATCH_MAX];
    wr_pane   *touched[WR_BATCH_MAX];
    uint32_t   count[WR_BATCH_MAX + 1];
    uint16_t   row_of[WR_BATCH_MAX], sorted[WR_BATCH_MAX];
    uint64_t  hash[WR_BATCH_MAX];
    uint32_t  slots[WR_BATCH_MAX], rows[WR_BATCH_MAX];
    void     *blocks[WR_BATCH_MAX], *from_blocks[WR_BATCH_MAX];
} wr_window_agg;

wr_pane  *wr_window_pane_get(wr_window_agg *a, int64_t start, int64_t end, int64_t from_end);
void      wr_window_pane_free(wr_window_agg *a, wr_pane *p);
/* The next entries of a pane, warm until the next call. */
wr_status wr_window_scan(wr_window_agg *a, wr_kmap *map, wr_kmap_cursor *cursor, uint32_t *slots, uint32_t max, uint32_t *n, wr_err *err);
wr_status wr_window_fire(wr_window_agg *a, int64_t wm_us, wr_out *out, bool *more, wr_err *err);
WR_INLINE wr_pane_link *wr_pane_link_at(const wr_window_agg *a, void *value) { return (wr_pane_link *)(void *)((char *)value + 2 * a->aggs->bytes); }
WR_INLINE void *wr_pane_suffix_at(const wr_window_agg *a, void *value) { return (char *)value + a->aggs->bytes; }
/* op/window_emit.c */
void      wr_window_emit_begin(wr_window_agg *a, int64_t start, int64_t end, wr_kmap *map);
wr_status wr_window_emit_some(wr_window_agg *a, wr_out *out, wr_err *err); /* one batch; a->emitting becomes false when there is no more */
void      wr_window_key_changed(wr_window_agg *a, uint32_t slot);          /* a key has come to, or goes from, this slot of run */
void      wr_window_run_clear(wr_window_agg *a);
void      wr_window_parts_drop(wr_window_agg *a);                               /* key columns kept for the next emission: they are built again */
/* Output rows for n blocks of the map's slots, each with a window of its own: sessions. */
wr_status wr_window_emit(const wr_window_agg_opts *opts, wr_aggs *aggs, const wr_win *win, const wr_type *key_types, const wr_kmap *map, const uint32_t *slots,
                         void *const *blocks, const int64_t *starts, const int64_t *ends, uint32_t n, wr_out *out, wr_err *err);
/* op/window_session.c */
wr_op *wr_session_agg_new(const wr_window_agg_opts *opts, const wr_schema *input, wr_op_ctx *ctx);
