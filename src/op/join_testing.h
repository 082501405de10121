/* op/join_testing.h: for the tests of the joins: a residual, random numbers, operators behind a key-group split, growing text.
 *
 * Idea       an operator under test may be replaced in the middle by three that loaded its image, each a third of the key groups; rows are then
 *            routed by the hash of their key, watermarks go to all three. The output of all goes to one tk.                          */
#pragma once
#include "base/hash.h"
#include "op/op_testkit.h"

enum { PARTS_MAX = 3 };
typedef struct parts {
    tk      *t;
    uint32_t n;
    wr_op   *op[PARTS_MAX];
    uint32_t to[PARTS_MAX]; /* first group beyond */
} parts;
typedef wr_op *(*make_fn)(void *self);

/* left ++ right columns a < b, or NULL when a < 0. */
WR_UNUSED static wr_expr *less_than(tk *t, const wr_schema *left, const wr_schema *right, int a, int b) {
    static wr_diags diags;
    if (a < 0) return NULL;
    if (!diags.arena) wr_diags_init(&diags);
    wr_expr_ctx ctx = {.arena = t->arena, .diags = &diags};
    wr_expr *args[2];
    for (int i = 0; i < 2; i++) {
        uint32_t c = (uint32_t)(i ? b : a);
        wr_type  type = c < left->n ? left->fields[c].type : right->fields[c - left->n].type;
        args[i] = wr_expr_col(t->arena, c, type, (wr_span){0});
    }
    wr_expr *e = wr_expr_call(&ctx, WR_STR("<"), args, 2, (wr_span){0});
    assert_non_null(e);
    return e;
}

WR_UNUSED static void parts_init(parts *p, tk *t, wr_op *op) { *p = (parts){.t = t, .n = 1, .op = {op}, .to = {UINT32_MAX}}; }
WR_UNUSED static void parts_close(parts *p) {
    for (uint32_t i = 0; i < p->n; i++) p->op[i]->vt->close(p->op[i]);
    p->n = 0;
}
/* An image that is cut off is refused; one with wrong bytes is refused or read, but does no harm. */
WR_UNUSED static void damaged_images(tk *t, wr_sbuf *image, make_fn make, void *self) {
    for (size_t i = 0; i < 12; i++) {
        wr_op    *op = make(self);
        size_t    len = i < 6 ? image->len * i / 6 : image->len, at = image->len * (i - 5) / 8;
        wr_reader in = {(const uint8_t *)image->at, (const uint8_t *)image->at + len, false};
        if (i >= 6) image->at[at] ^= 0x55;
        wr_status s = op->vt->load(op, &in, 0, WR_KEY_GROUPS_DEFAULT, &t->err);
        if (i >= 6) image->at[at] ^= 0x55;
        assert_true(s == WR_CORRUPT || (i >= 6 && s == WR_OK));
        op->vt->close(op);
    }
}
/* Saves the one operator and goes on with three. */
WR_UNUSED static void parts_split(parts *p, make_fn make, void *self) {
    wr_sbuf image = {0};
    assert_int_equal(p->n, 1);
    tk_save(p->op[0], &image);
    parts_close(p);
    static const uint32_t ends[PARTS_MAX] = {40, 90, WR_KEY_GROUPS_DEFAULT};
    p->n = PARTS_MAX;
    for (uint32_t i = 0; i < PARTS_MAX; i++) {
        p->op[i] = make(self);
        p->to[i] = ends[i];
        tk_load(p->t, p->op[i], &image, i ? ends[i - 1] : 0, ends[i]);
    }
    damaged_images(p->t, &image, make, self);
    wr_sbuf_free(&image);
}
/* Sends rows given as text; row by row once there are several parts. */
WR_UNUSED static void parts_send(parts *p, uint32_t input, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys, const char *rows) {
    if (p->n == 1) {
        tk_send(p->t, p->op[0], input, schema, rows);
        return;
    }
    wr_batch *batch;
    while ((batch = tk_batch_some(schema, &rows, 1))) {
        uint64_t hash;
        wr_batch_hash(batch, keys, n_keys, &hash);
        batch->hash = &hash;
        uint32_t group = wr_key_group(hash, WR_KEY_GROUPS_DEFAULT), i = 0;
        while (group >= p->to[i]) i++;
        p->t->ledger.in[input]++;
        tk_ok(p->t, p->op[i]->vt->on_batch(p->op[i], input, batch, &p->t->out, &p->t->err));
        wr_batch_unref(batch);
    }
}
WR_UNUSED static void parts_watermark(parts *p, int64_t wm_us) {
    for (uint32_t i = 0; i < p->n; i++) tk_watermark_us(p->t, p->op[i], wm_us);
}
WR_UNUSED static uint64_t dropped(const tk *t, wr_reason reason) { return t->ledger.dropped[reason]; }
/* Every row of the inputs has one fate. */
WR_UNUSED static void assert_accounted(const tk *t) {
    uint64_t sum = t->ledger.matched[0] + t->ledger.matched[1];
    static const wr_reason reasons[] = {WR_REASON_UNMATCHED_LEFT, WR_REASON_UNMATCHED_RIGHT, WR_REASON_NULL_KEY, WR_REASON_LATE,
                                        WR_REASON_EXPIRED, WR_REASON_RETRACT_UNKNOWN, WR_REASON_NO_CHANGE};
    for (size_t i = 0; i < WR_COUNT_OF(reasons); i++) sum += dropped(t, reasons[i]);
    assert_int_equal(sum, t->ledger.in[0] + t->ledger.in[1]);
}
