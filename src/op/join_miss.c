/* op/join_miss.c: why a row of a join had no partner, and how far the nearest one was (join_common.h).
 *
 * Idea       when a row goes without a partner, what the other side holds of its key says how far off the nearest one is. A partner may also have gone before, or
 *            come only afterwards: rows that went without one are remembered for a while in a small table by the hash of their key, one for each side,
 *            newer ones in the place of older ones. A row that comes or goes looks there; what was counted before is then counted anew.
 * Honest     the distance is that of the nearest partner known: rows that matched and were forgotten are not seen, nor what fell out of the table.
 *            It can be too large, never too small. The table is not part of a checkpoint.
 * Memory     64 KiB, from the first such row on.  Thread: one worker.                                                                */
#include "op/join_common.h"

enum { GONE = 1024 };
typedef struct gone { uint64_t hash; int64_t time_us, us; uint8_t why, end, used; } gone;
struct wr_join_gone { gone at[GONE][2]; };

static void count(wr_join_misses *m, uint32_t side, wr_near near, bool back) {
    wr_detail *d = m->ctx->detail;
    d->misses[side][near.why] += back ? (uint64_t)-1 : 1;
    if (near.why != WR_MISS_OUTSIDE) return;
    if (back) wr_spans_take(&d->outside[side][near.end], near.us);
    else wr_spans_add(&d->outside[side][near.end], near.us);
}

/* Partner late, then the condition, then the distance, then nothing. */
static bool says_more(wr_near a, wr_near b) {
    static const uint8_t rank[WR_MISS_COUNT] = {[WR_MISS_OUTSIDE] = 1, [WR_MISS_DELETED] = 2, [WR_MISS_CONDITION] = 3, [WR_MISS_LATE_PARTNER] = 4, [WR_MISS_NULL_KEY] = 5};
    if (rank[a.why] != rank[b.why]) return rank[a.why] > rank[b.why];
    return a.why == WR_MISS_OUTSIDE && a.us < b.us;
}
wr_near wr_near_of(wr_near a, wr_near b) { return says_more(b, a) ? b : a; }

/* From a row of `side` at t to one of the other side at u; lower and upper: of right.time - left.time. */
wr_near wr_near_between(uint32_t side, int64_t t, int64_t u, int64_t lower_us, int64_t upper_us) {
    int64_t apart = side ? wr_sat_sub(t, u) : wr_sat_sub(u, t);
    if (apart > upper_us) return (wr_near){WR_MISS_OUTSIDE, 0, wr_sat_sub(apart, upper_us)};
    if (apart < lower_us) return (wr_near){WR_MISS_OUTSIDE, 1, wr_sat_sub(lower_us, apart)};
    return (wr_near){WR_MISS_LATE_PARTNER, 0, 0};
}

/* Bits 16 and up of a stored row's mark. */
uint32_t wr_near_mark(wr_near near) { return near.why != WR_MISS_OUTSIDE ? 0 : (wr_span_bucket(near.us) + 1) << 17 | (uint32_t)near.end << 16; }
wr_near  wr_near_marked(uint32_t mark) {
    if (mark & WR_ROW_LATE_PARTNER) return (wr_near){.why = WR_MISS_LATE_PARTNER};
    if (mark & WR_ROW_REFUSED) return (wr_near){.why = WR_MISS_CONDITION};
    return mark >> 17 ? (wr_near){WR_MISS_OUTSIDE, mark >> 16 & 1, wr_span_of_bucket((mark >> 17) - 1)} : (wr_near){0};
}

static gone *place(const wr_join_misses *m, uint64_t hash, uint32_t side) { return &m->gone->at[(hash >> 32) % GONE][side]; }

wr_near wr_join_gone_near(wr_join_misses *m, uint32_t side, uint64_t hash, int64_t t) {
    if (!m->gone) return (wr_near){0};
    gone *g = place(m, hash, !side);
    if (!g->used || g->hash != hash) return (wr_near){0};
    wr_near was = {g->why, g->end, g->us}, now = wr_near_between(!side, g->time_us, t, m->lower_us, m->upper_us);
    if (says_more(now, was)) {
        count(m, !side, was, true);
        count(m, !side, now, false);
        g->why = now.why, g->end = now.end, g->us = now.us;
    }
    return wr_near_between(side, t, g->time_us, m->lower_us, m->upper_us);
}

wr_near wr_join_missed(wr_join_misses *m, uint32_t side, uint64_t hash, int64_t t, wr_near near) {
    if (!m->ctx->detail) return near;
    if (near.why != WR_MISS_NULL_KEY) {
        near = wr_near_of(near, wr_join_gone_near(m, side, hash, t));
        if (!m->gone) {
            m->gone = wr_calloc(1, sizeof *m->gone);
            wr_account_add(m->ctx->acct, (int64_t)sizeof *m->gone);
        }
        *place(m, hash, side) = (gone){hash, t, near.us, near.why, near.end, 1};
    }
    count(m, side, near, false);
    return near;
}

void wr_join_lost(const wr_op_ctx *ctx, uint32_t side, wr_reason reason, wr_near near, const wr_batch *batch, uint32_t row) {
    if (!ctx->lost) return;
    if (reason == WR_REASON_NULL_KEY) near.why = WR_MISS_NULL_KEY;
    ctx->lost(ctx->lost_arg, &(wr_lost){side, reason, (wr_miss)near.why, near.end != 0, near.us, 1, batch, row});
}

void wr_join_lost_stored(const wr_join_base *base, uint32_t side, wr_reason reason, wr_near near, uint64_t copies, const wr_join_row *row) {
    const wr_op_ctx    *ctx = base->op.ctx;
    const wr_join_side *s = &base->side[side];
    if (!ctx->lost || !copies) return;
    wr_batch *one = wr_batch_new(s->n_cols, 1024);
    one->n_rows = 1;
    wr_join_decode(s, &row, 1, one->cols, one->mem);
    ctx->lost(ctx->lost_arg, &(wr_lost){side, reason, (wr_miss)near.why, near.end != 0, near.us, copies, one, 0});
    wr_batch_unref(one);
}

void wr_join_misses_free(wr_join_misses *m) {
    if (m->gone) wr_account_add(m->ctx->acct, -(int64_t)sizeof *m->gone);
    wr_free(m->gone);
    m->gone = NULL;
}
