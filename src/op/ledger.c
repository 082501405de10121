/* op/ledger.c: names of the reasons, sums of ledgers, and the default slots of an operator's vtable (op.h). */
#include "op/op.h"

const char *wr_reason_name(wr_reason reason) {
    static const char *const names[WR_REASON_COUNT] = {
        [WR_REASON_FILTERED] = "filtered", [WR_REASON_LATE] = "late", [WR_REASON_UNMATCHED_LEFT] = "unmatched-left",
        [WR_REASON_UNMATCHED_RIGHT] = "unmatched-right", [WR_REASON_NULL_KEY] = "null-key", [WR_REASON_DUPLICATE] = "duplicate",
        [WR_REASON_RANKED_OUT] = "ranked-out", [WR_REASON_EXPIRED] = "expired", [WR_REASON_RETRACT_UNKNOWN] = "retract-unknown",
        [WR_REASON_NO_CHANGE] = "no-change", [WR_REASON_BLANK] = "blank", [WR_REASON_MALFORMED] = "malformed", [WR_REASON_FUTURE] = "future",
        [WR_REASON_DEAD_LETTER] = "dead-letter", [WR_REASON_TOMBSTONE] = "tombstone", [WR_REASON_REDELIVERED] = "redelivered", [WR_REASON_BEFORE_START] = "before-start", [WR_REASON_REFUSED] = "refused",
        [WR_REASON_SHED] = "shed",
    };
    return (unsigned)reason < WR_REASON_COUNT ? names[reason] : "unknown";
}

void wr_ledger_add(wr_ledger *into, const wr_ledger *from) {
    for (int i = 0; i < 2; i++) {
        into->in[i] += from->in[i], into->matched[i] += from->matched[i];
        into->lost[i] += from->lost[i], into->kept[i] += from->kept[i];
    }
    into->used += from->used, into->made += from->made;
    into->partial = into->partial || from->partial, into->apart = into->apart || from->apart, into->stays = into->stays || from->stays;
    into->out += from->out;
    for (int i = 0; i < 4; i++) into->out_kind[i] += from->out_kind[i];
    for (int i = 0; i < WR_REASON_COUNT; i++) into->dropped[i] += from->dropped[i];
}

wr_status wr_op_no_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    (void)op, (void)wm_us, (void)out, (void)err;
    *more = false;
    return WR_OK;
}
int64_t   wr_op_same_watermark(const wr_op *op, int64_t wm_us) { (void)op; return wm_us; }
wr_status wr_op_no_save(wr_op *op, wr_sbuf *out, wr_err *err) {
    (void)op, (void)out, (void)err;
    return WR_OK;
}
wr_status wr_op_no_load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    (void)op, (void)in, (void)from, (void)to, (void)err;
    return WR_OK;
}
void wr_op_no_usage(const wr_op *op, wr_op_usage *out) {
    (void)op;
    *out = (wr_op_usage){.oldest_us = WR_TIME_MAX};
}
wr_status wr_op_no_limit(wr_op *op, int64_t bytes, wr_err *err) {
    (void)op, (void)bytes, (void)err;
    return WR_OK;
}
