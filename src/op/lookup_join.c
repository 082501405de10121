/* op/lookup_join.c: joins each row with the rows that a table outside has for its key when the row comes (FOR SYSTEM_TIME AS OF processing time).
 *
 * Idea       a batch becomes one question with its distinct keys that the cache does not know; the asker answers it later, in whatever thread. Batches
 *            wait in the order of their arrival. Ordered: one leaves when it and all before it are answered; else when it is.
 * Watermark  a batch under way holds the watermark that was there before it: what downstream sees never passes a row. The end of input waits.
 * Failures   an answer that is an error ends the job, with the key; a row is never left out.
 * Retraction with opts.kept what was found first for a row stays with it (op/kept.h): equal rows get the same, and a retraction takes back just that,
 *            whatever the table says by then. Then rows leave in order, always.
 * Residual   each pair is judged; behind the pairs of a row comes its padded row, which stays if no pair did.
 * State      rows under way (they are in the checkpoint: asked again after it), what is kept. The cache is no state.
 * Bound      opts.capacity questions and UNDER_WAY_BYTES: then the operator asks for no more rows.
 * Thread     the worker that owns the key group; the asker's threads see questions only.                                  */
#include "base/hash.h"
#include "op/join_common.h"
#include "op/kept.h"
#include "op/lookup_cache.h"

enum { UNDER_WAY_BYTES = 16 << 20, NO_KEY = UINT16_MAX, STEP_MOST_US = 1000000 };
#define NO_REC UINT32_MAX

typedef struct rec { uint32_t next, at, len; } rec; /* an encoded right row in entry.store */
typedef struct key { uint64_t hash; uint32_t head, tail; uint16_t row; bool open; } key; /* row: that has it; open: not answered yet */
typedef struct entry {                 /* a batch under way */
    struct entry   *next;
    wr_batch       *batch;
    const uint64_t *hash;
    uint64_t       *own_hash;
    wr_ask         *ask;
    int64_t         read_us;           /* wr_op_ctx */
    int64_t         wm_us, asked_us, retry_us; /* wm_us: the watermark before it; asked_us: of waited_us; retry_us: ask again then, 0 = no */
    uint32_t        attempt, n_keys, n_open, n_live, at; /* at: the first live row that has not come out */
    uint16_t       *key_of;            /* by live row */
    uint8_t        *passed;            /* by live row: a pair of it came out */
    uint16_t       *table;             /* open addressing: key + 1 */
    uint32_t        mask;
    key            *keys;
    WR_ARR(rec) recs;
    wr_sbuf         store;
    int64_t         charged;
} entry;
typedef struct pair { uint32_t at, len; uint16_t row, live; bool pad; } pair; /* at, len: the right row in entry.store */

typedef struct lookup_join {
    wr_op               op;
    wr_lookup_join_opts opts;
    wr_arena           *arena;
    wr_asker           *asker;
    int64_t             step_us, waited_us; /* the clock at the last step; time that passed between steps: of a clock that was set only STEP_MOST_US counts */
    wr_lookup_store    *cache;
    wr_prog            *residual;
    wr_kept             kept;
    uint32_t            n_left, n_right;
    wr_type            *left_types, *right_types;
    wr_rowcodec        *left_codec, *right_codec, *key_codec;
    entry              *first, **end;
    uint32_t            n_asks;
    int64_t             wm_us, bytes;
    uint64_t            n_rows;          /* under way */
    pair               *pairs;
    uint32_t            n_pairs;
    wr_sbuf             buf, key;
    uint64_t            hits, asked, retries, reloads, questions, answer_us;
} lookup_join;

static void count(lookup_join *j, wr_reason reason) { j->op.ctx->ledger->dropped[reason]++; }
static void note_flags(lookup_join *j) {
    j->op.ctx->waiting = j->first != NULL;
    j->op.ctx->stalled = j->n_asks >= j->opts.capacity || j->bytes >= UNDER_WAY_BYTES;
}

/* ---- a batch and its keys ---- */

static bool has_null_key(const lookup_join *j, const wr_batch *b, uint32_t row) {
    for (uint32_t k = 0; k < j->opts.keys.n; k++)
        if (wr_vec_is_null(&b->cols[j->opts.keys.left[k]], row)) return true;
    return false;
}
static bool same_key(const lookup_join *j, const wr_batch *a, uint32_t row_a, const wr_batch *b, const uint32_t *b_cols, uint32_t row_b) {
    for (uint32_t k = 0; k < j->opts.keys.n; k++)
        if (!wr_vec_equal(&a->cols[j->opts.keys.left[k]], row_a, &b->cols[b_cols[k]], row_b)) return false;
    return true;
}
/* The key of the entry that is equal to that of a row of b, or its place in the table. */
static uint16_t *find_key(const lookup_join *j, const entry *e, const wr_batch *b, const uint32_t *b_cols, uint32_t row, uint64_t hash) {
    for (uint32_t at = (uint32_t)hash & e->mask;; at = (at + 1) & e->mask) {
        uint16_t *t = &e->table[at];
        if (!*t) return t;
        const key *k = &e->keys[*t - 1];
        if (k->hash == hash && same_key(j, e->batch, k->row, b, b_cols, row)) return t;
    }
}

static void find_keys(lookup_join *j, entry *e) {
    uint32_t cap = 16;
    while (cap < e->n_live * 2) cap *= 2;
    e->mask = cap - 1;
    e->table = wr_calloc(cap, sizeof *e->table);
    e->keys = wr_malloc(sizeof *e->keys * WR_MAX(e->n_live, 1u));
    for (uint32_t i = 0; i < e->n_live; i++) {
        uint32_t row = wr_batch_row(e->batch, i);
        e->key_of[i] = NO_KEY;
        if (has_null_key(j, e->batch, row)) continue;
        uint16_t *t = find_key(j, e, e->batch, j->opts.keys.left, row, e->hash[row]);
        if (!*t) {
            e->keys[e->n_keys] = (key){.hash = e->hash[row], .row = (uint16_t)row, .head = NO_REC, .tail = NO_REC};
            *t = (uint16_t)++e->n_keys;
        }
        e->key_of[i] = (uint16_t)(*t - 1);
        key *k = &e->keys[*t - 1]; /* nothing is asked for a row that is taken back */
        if (!k->open && (!j->opts.kept || wr_kind_adds(wr_batch_kind(e->batch, row)))) k->open = true, e->n_open++;
    }
}

static void add_rec(entry *e, key *k, uint32_t at, uint32_t len) {
    uint32_t r = e->recs.n;
    wr_arr_push(&e->recs, (rec){NO_REC, at, len});
    if (k->tail == NO_REC) k->head = r;
    else e->recs.at[k->tail].next = r;
    k->tail = r;
}
static void key_text(lookup_join *j, const entry *e, const key *k) {
    wr_sbuf_clear(&j->key);
    wr_rowcodec_put(j->key_codec, e->batch, j->opts.keys.left, k->row, &j->key);
}

static void read_cache(lookup_join *j, entry *e) {
    for (uint32_t i = 0; i < e->n_keys && j->cache; i++) {
        key   *k = &e->keys[i];
        wr_str rows;
        if (!k->open) continue;
        key_text(j, e, k);
        if (!wr_lookup_store_get(j->cache, wr_sbuf_str(&j->key), k->hash, j->op.ctx->now_us, &rows)) continue;
        j->hits++;
        k->open = false;
        e->n_open--;
        wr_reader in = {.at = (const uint8_t *)rows.ptr, .end = (const uint8_t *)rows.ptr + rows.len};
        while (in.at < in.end) {
            wr_str   row = wr_get_bytes(&in);
            uint32_t at = (uint32_t)e->store.len;
            wr_sbuf_add_str(&e->store, row);
            add_rec(e, k, at, (uint32_t)row.len);
        }
    }
}

static void write_cache(lookup_join *j, const entry *e, const key *k) {
    wr_sbuf_clear(&j->buf);
    for (uint32_t r = k->head; r != NO_REC; r = e->recs.at[r].next) wr_put_bytes(&j->buf, e->store.at + e->recs.at[r].at, e->recs.at[r].len);
    key_text(j, e, k);
    wr_lookup_store_put(j->cache, wr_sbuf_str(&j->key), k->hash, j->op.ctx->now_us, wr_sbuf_str(&j->buf));
}

/* ---- asking ---- */

static void ask(lookup_join *j, entry *e) {
    uint16_t rows[WR_BATCH_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n_keys; i++)
        if (e->keys[i].open) rows[n++] = e->keys[i].row;
    wr_ask *a = wr_calloc(1, sizeof *a);
    a->keys = wr_batch_new(j->opts.keys.n, 4096);
    wr_mem_keep(a->keys->mem, e->batch->mem);
    for (uint32_t k = 0; k < j->opts.keys.n; k++) wr_vec_gather(&a->keys->cols[k], &e->batch->cols[j->opts.keys.left[k]], rows, n, a->keys->mem);
    a->keys->n_rows = n;
    if (!e->attempt++) e->asked_us = WR_MAX(j->waited_us, (int64_t)1);
    e->ask = a;
    e->retry_us = 0;
    j->asked += n;
    j->n_asks++;
    j->asker->ask(j->asker, a);
}
static void free_ask(wr_ask *a) {
    for (uint32_t i = 0; i < a->rows.n; i++) wr_batch_unref(a->rows.at[i]);
    wr_arr_free(&a->rows);
    wr_batch_unref(a->keys);
    wr_free(a);
}

static void charge(lookup_join *j, entry *e) {
    int64_t now = (int64_t)(wr_batch_bytes(e->batch) + e->store.cap + e->recs.cap * sizeof *e->recs.at + e->n_live * (sizeof(key) + 8));
    wr_account_add(j->op.ctx->acct, now - e->charged);
    j->bytes += now - e->charged;
    e->charged = now;
}

static void enter(lookup_join *j, wr_batch *batch, int64_t wm_us) {
    entry *e = wr_calloc(1, sizeof *e);
    e->batch = wr_batch_ref(batch);
    e->wm_us = wm_us;
    e->read_us = j->op.ctx->read_us;
    e->n_live = wr_batch_live(batch);
    uint64_t room[WR_BATCH_MAX];
    e->hash = wr_op_hash(batch, j->opts.keys.left, j->opts.keys.n, room);
    if (e->hash == room) {
        e->own_hash = wr_malloc(sizeof room[0] * WR_MAX(batch->n_rows, 1u));
        memcpy(e->own_hash, room, sizeof room[0] * batch->n_rows);
        e->hash = e->own_hash;
    }
    e->key_of = wr_malloc(sizeof *e->key_of * WR_MAX(e->n_live, 1u));
    e->passed = wr_calloc(WR_MAX(e->n_live, 1u), 1);
    find_keys(j, e);
    read_cache(j, e);
    if (e->n_open) ask(j, e);
    *j->end = e;
    j->end = &e->next;
    j->n_rows += e->n_live;
    charge(j, e);
}
static void free_entry(lookup_join *j, entry *e) {
    wr_account_add(j->op.ctx->acct, -e->charged);
    j->bytes -= e->charged;
    if (e->ask) free_ask(e->ask);
    wr_batch_unref(e->batch);
    wr_free(e->own_hash);
    wr_free(e->key_of);
    wr_free(e->passed);
    wr_free(e->table);
    wr_free(e->keys);
    wr_arr_free(&e->recs);
    wr_sbuf_free(&e->store);
    wr_free(e);
}

static wr_status fail_at_key(lookup_join *j, const entry *e, wr_err *err) {
    wr_sbuf text = {0};
    for (uint32_t i = 0; i < e->n_keys; i++) {
        if (!e->keys[i].open) continue;
        for (uint32_t k = 0; k < j->opts.keys.n; k++) {
            if (k) wr_sbuf_addz(&text, ", ");
            wr_vec_text(&e->batch->cols[j->opts.keys.left[k]], e->keys[i].row, j->op.ctx->tz, &text);
        }
        break;
    }
    if (err && !err->place[0]) wr_err_place(err, "a question for %u keys, the first is (%.*s)", e->n_open, (int)WR_MIN(text.len, 120u), text.at ? text.at : "");
    wr_sbuf_free(&text);
    return err ? err->status : WR_IO;
}

static wr_status take_answer(lookup_join *j, entry *e, wr_err *err) {
    wr_ask *a = e->ask;
    e->ask = NULL;
    j->n_asks--;
    j->retries += a->retries, j->reloads += a->reloads, j->questions++, j->answer_us += a->took_us;
    if (a->status != WR_OK) {
        if (err) *err = a->err;
        free_ask(a);
        return fail_at_key(j, e, err);
    }
    uint64_t hash[WR_BATCH_MAX];
    for (uint32_t b = 0; b < a->rows.n; b++) {
        const wr_batch *rows = a->rows.at[b];
        wr_batch_hash(rows, j->opts.keys.right, j->opts.keys.n, hash);
        for (uint32_t i = 0; i < wr_batch_live(rows); i++) {
            uint32_t  row = wr_batch_row(rows, i), at = (uint32_t)e->store.len;
            uint16_t *t = find_key(j, e, rows, j->opts.keys.right, row, hash[row]);
            if (!*t || !e->keys[*t - 1].open) continue; /* more than was asked for */
            wr_rowcodec_put(j->right_codec, rows, NULL, row, &e->store);
            add_rec(e, &e->keys[*t - 1], at, (uint32_t)e->store.len - at);
        }
    }
    free_ask(a);
    bool again = j->opts.retry_miss && e->attempt < j->opts.attempts;
    for (uint32_t i = 0; i < e->n_keys; i++) {
        key *k = &e->keys[i];
        if (!k->open || (again && k->head == NO_REC)) continue;
        k->open = false;
        e->n_open--;
        if (j->cache) write_cache(j, e, k);
    }
    if (e->n_open) e->retry_us = WR_MAX(j->op.ctx->now_us + j->opts.retry_delay_us, (int64_t)1), j->retries += e->n_open;
    charge(j, e);
    return WR_OK;
}

/* ---- out ---- */

/* Which pairs come out; the padded row of a left row stands behind its pairs. */
static uint32_t judge(lookup_join *j, entry *e, const uint8_t *pass, uint16_t *keep) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n_pairs; i++) {
        const pair *p = &j->pairs[i];
        if (p->pad) {
            if (e->passed[p->live]) continue;
            bool null_key = e->key_of[p->live] == NO_KEY;
            wr_reason reason = null_key && j->opts.kind == WR_JOIN_INNER ? WR_REASON_NULL_KEY : WR_REASON_UNMATCHED_LEFT;
            count(j, reason);
            wr_join_lost(j->op.ctx, 0, reason, (wr_near){.why = null_key ? WR_MISS_NULL_KEY : WR_MISS_NO_PARTNER}, e->batch, p->row);
            if (j->opts.kind != WR_JOIN_LEFT) continue;
        } else {
            if (!pass[i]) continue;
            if (!e->passed[p->live]) e->passed[p->live] = 1, j->op.ctx->ledger->matched[0]++;
        }
        keep[n++] = (uint16_t)i;
    }
    return n;
}

static wr_status build(lookup_join *j, const entry *e, wr_batch **built, wr_err *err) {
    uint32_t  n = j->n_pairs;
    wr_batch *b = *built = wr_batch_new(j->n_left + j->n_right, 16 * 1024), *in = e->batch;
    uint16_t  rows[WR_BATCH_MAX];
    for (uint32_t i = 0; i < n; i++) rows[i] = j->pairs[i].row;
    wr_mem_keep(b->mem, in->mem);
    for (uint32_t c = 0; c < j->n_left; c++) wr_vec_gather(&b->cols[c], &in->cols[c], rows, n, b->mem);
    for (uint32_t c = 0; c < j->n_right; c++) wr_vec_init(&b->cols[j->n_left + c], j->right_types[c], n, true, b->mem);
    for (uint32_t i = 0; i < n; i++) {
        if (j->pairs[i].pad) {
            for (uint32_t c = 0; c < j->n_right; c++) wr_vec_set_null(&b->cols[j->n_left + c], i, b->mem);
        } else if (!wr_rowcodec_get(j->right_codec, (wr_str){e->store.at + j->pairs[i].at, j->pairs[i].len}, b->cols + j->n_left, i, b->mem)) {
            wr_batch_unref(b);
            return wr_op_damaged("lookup_join", err);
        }
    }
    if (in->kinds) {
        uint8_t *kinds = wr_mem_alloc(b->mem, n);
        for (uint32_t i = 0; i < n; i++) kinds[i] = in->kinds[rows[i]];
        b->kinds = kinds;
    }
    if (in->row_wm_us) {
        int64_t *wm = wr_mem_alloc(b->mem, n * sizeof *wm);
        for (uint32_t i = 0; i < n; i++) wm[i] = in->row_wm_us[rows[i]];
        b->row_wm_us = wm;
    }
    b->n_rows = n;
    return WR_OK;
}

static wr_status flush(lookup_join *j, entry *e, wr_out *out, wr_err *err) {
    if (!j->n_pairs) return WR_OK;
    wr_batch *built;
    uint8_t   pass[WR_BATCH_MAX];
    uint16_t  sel[WR_BATCH_MAX];
    uint32_t  n_sel = 0;
    wr_status s = build(j, e, &built, err);
    if (s != WR_OK) return s;
    memset(pass, j->residual ? 0 : 1, j->n_pairs);
    for (uint32_t i = 0; i < j->n_pairs && j->residual; i++)
        if (!j->pairs[i].pad) sel[n_sel++] = (uint16_t)i;
    if (n_sel) {
        wr_batch view = *built;
        view.sel = memcpy(wr_mem_alloc(built->mem, n_sel * sizeof *sel), sel, n_sel * sizeof *sel);
        view.n_sel = n_sel;
        s = wr_prog_filter(j->residual, &view, j->op.ctx->now_us, sel, &n_sel, err);
        for (uint32_t i = 0; i < n_sel && s == WR_OK; i++) pass[sel[i]] = 1;
    }
    uint32_t n = s == WR_OK ? judge(j, e, pass, sel) : 0;
    j->n_pairs = 0;
    if (!n) {
        wr_batch_unref(built);
        return s;
    }
    if (n < built->n_rows) built->sel = memcpy(wr_mem_alloc(built->mem, n * sizeof *sel), sel, n * sizeof *sel), built->n_sel = n;
    return wr_emit(out, built, err);
}

static wr_status add_pair(lookup_join *j, entry *e, pair p, wr_out *out, wr_err *err) {
    j->pairs[j->n_pairs++] = p;
    return j->n_pairs == j->op.ctx->batch_rows ? flush(j, e, out, err) : WR_OK;
}

static wr_status pairs_of_answer(lookup_join *j, entry *e, uint32_t live, uint16_t row, uint32_t *n, wr_out *out, wr_err *err) {
    uint32_t r = e->key_of[live] == NO_KEY ? NO_REC : e->keys[e->key_of[live]].head;
    for (; r != NO_REC; r = e->recs.at[r].next, ++*n)
        WR_TRY(add_pair(j, e, (pair){.at = e->recs.at[r].at, .len = e->recs.at[r].len, .row = row, .live = (uint16_t)live}, out, err));
    return WR_OK;
}

/* An addition notes what it got, or gets what an equal row did; the last retraction forgets it. */
static wr_status pairs_of_kept(lookup_join *j, entry *e, uint32_t live, uint16_t row, uint32_t *n, bool *known, wr_out *out, wr_err *err) {
    bool           adds = wr_kind_adds(wr_batch_kind(e->batch, row));
    uint32_t       slot;
    wr_kept_value *v;
    WR_TRY(wr_kept_find(&j->kept, e->batch, row, e->hash[row], adds, &slot, &v, err));
    *known = v != NULL;
    if (!v) return WR_OK;
    if (adds && !v->count++) {
        wr_sbuf_clear(&j->buf);
        for (uint32_t r = e->keys[e->key_of[live]].head; r != NO_REC; r = e->recs.at[r].next) wr_put_bytes(&j->buf, e->store.at + e->recs.at[r].at, e->recs.at[r].len);
        wr_kept_set(&j->kept, v, wr_sbuf_str(&j->buf));
        return pairs_of_answer(j, e, live, row, n, out, err);
    }
    uint32_t at = (uint32_t)e->store.len, end;
    if (v->len) wr_sbuf_add(&e->store, v->bytes, v->len);
    if (!adds && !--v->count) wr_kmap_remove(j->kept.map, slot);
    for (end = (uint32_t)e->store.len; at < end; ++*n) {
        wr_reader in = {.at = (const uint8_t *)e->store.at + at, .end = (const uint8_t *)e->store.at + end};
        wr_str    one = wr_get_bytes(&in);
        at += 4 + (uint32_t)one.len;
        WR_TRY(add_pair(j, e, (pair){.at = at - (uint32_t)one.len, .len = (uint32_t)one.len, .row = row, .live = (uint16_t)live}, out, err));
    }
    return WR_OK;
}

/* From e->at on; stops early when the way out is full. */
static wr_status emit_entry(lookup_join *j, entry *e, wr_out *out, bool *moved, wr_err *err) {
    j->op.ctx->read_us = e->read_us;
    for (; e->at < e->n_live; e->at++, *moved = true) {
        if (e->at && !j->n_pairs && out->full(out)) return WR_OK;
        uint16_t row = (uint16_t)wr_batch_row(e->batch, e->at);
        uint32_t n = 0;
        bool     known = true;
        if (j->opts.kept && e->key_of[e->at] != NO_KEY) WR_TRY(pairs_of_kept(j, e, e->at, row, &n, &known, out, err));
        else WR_TRY(pairs_of_answer(j, e, e->at, row, &n, out, err));
        if (!known) count(j, WR_REASON_RETRACT_UNKNOWN);
        else if (!n || j->residual) WR_TRY(add_pair(j, e, (pair){.row = row, .live = (uint16_t)e->at, .pad = true}, out, err));
    }
    return flush(j, e, out, err);
}

static wr_status drain(lookup_join *j, wr_out *out, bool *moved, wr_err *err) {
    for (entry **at = &j->first; *at;) {
        entry *e = *at;
        if (e->n_open) {
            if (j->opts.ordered) break;
            at = &e->next;
            continue;
        }
        if (out->full(out)) break;
        uint32_t from = e->at;
        WR_TRY(emit_entry(j, e, out, moved, err));
        j->n_rows -= e->at - from;
        j->op.ctx->ledger->kept[0] -= e->at - from;
        if (e->at < e->n_live) break;
        *at = e->next;
        if (!e->next) j->end = at;
        free_entry(j, e);
    }
    note_flags(j);
    return WR_OK;
}

static wr_status look(lookup_join *j, wr_err *err) {
    int64_t now = j->op.ctx->now_us;
    j->waited_us += WR_MIN(WR_MAX(now - j->step_us, 0), (int64_t)STEP_MOST_US);
    j->step_us = now;
    for (entry *e = j->first; e; e = e->next) {
        if (e->ask && atomic_load_explicit(&e->ask->done, memory_order_acquire)) WR_TRY(take_answer(j, e, err));
        if (!e->n_open) continue;
        if (!e->asked_us) e->asked_us = WR_MAX(j->waited_us, (int64_t)1); /* asked for while state was restored: without a clock */
        if (j->opts.timeout_us && j->waited_us - e->asked_us > j->opts.timeout_us) {
            wr_fail(err, WR_IO, "57014", "the table has not answered within %lld ms", (long long)(j->opts.timeout_us / 1000));
            wr_err_hint(err, "the hint LOOKUP('timeout' = '...') gives it more time");
            return fail_at_key(j, e, err);
        }
        if (!e->ask && e->retry_us && now >= e->retry_us && j->n_asks < j->opts.capacity) ask(j, e);
    }
    return WR_OK;
}

static wr_status on_step(wr_op *op, wr_out *out, bool *moved, wr_err *err) {
    lookup_join *j = (lookup_join *)op;
    if (!j->first) {
        j->step_us = j->op.ctx->now_us;
        return WR_OK;
    }
    j->asker->step(j->asker);
    WR_TRY(look(j, err));
    return drain(j, out, moved, err);
}

static wr_status on_batch(wr_op *op, uint32_t input, wr_batch *batch, wr_out *out, wr_err *err) {
    (void)input;
    lookup_join *j = (lookup_join *)op;
    bool         moved = false;
    j->op.ctx->ledger->kept[0] += wr_batch_live(batch);
    if (wr_batch_live(batch)) enter(j, batch, j->wm_us);
    return drain(j, out, &moved, err);
}

static wr_status on_watermark(wr_op *op, int64_t wm_us, wr_out *out, bool *more, wr_err *err) {
    lookup_join *j = (lookup_join *)op;
    bool         moved = false;
    if (wm_us != WR_TIME_MAX) j->wm_us = wm_us;
    WR_TRY(drain(j, out, &moved, err));
    *more = wm_us == WR_TIME_MAX && j->first;
    return WR_OK;
}
static int64_t output_watermark(const wr_op *op, int64_t wm_us) {
    const lookup_join *j = (const lookup_join *)op;
    return j->first ? j->first->wm_us : wm_us;
}

/* ---- checkpoints ---- */

enum { IMAGE_VERSION = 1 };

static wr_status save(wr_op *op, wr_sbuf *out, wr_err *err) {
    lookup_join *j = (lookup_join *)op;
    wr_op_save_head(out, "lookup_join", IMAGE_VERSION);
    wr_put_u64(out, j->n_rows);
    for (const entry *e = j->first; e; e = e->next)
        for (uint32_t i = e->at; i < e->n_live; i++) {
            uint32_t row = wr_batch_row(e->batch, i);
            wr_put_u64(out, e->hash[row]);
            wr_put_u8(out, wr_batch_kind(e->batch, row));
            wr_put_i64(out, e->batch->row_wm_us ? e->batch->row_wm_us[row] : WR_TIME_MIN);
            wr_sbuf_clear(&j->buf);
            wr_rowcodec_put(j->left_codec, e->batch, NULL, row, &j->buf);
            wr_put_bytes(out, j->buf.at, j->buf.len);
        }
    wr_put_u8(out, j->opts.kept);
    return j->opts.kept ? wr_kmap_save(j->kept.map, out, err) : WR_OK;
}

typedef struct loading { wr_batch *batch; uint64_t *hash; int64_t *wm; uint8_t *kinds; bool changes, late; } loading;

static void load_begin(const lookup_join *j, loading *l) {
    l->batch = wr_batch_new(j->n_left, 64 * 1024);
    for (uint32_t c = 0; c < j->n_left; c++) wr_vec_init(&l->batch->cols[c], j->left_types[c], WR_BATCH_MAX, true, l->batch->mem);
    l->hash = wr_mem_alloc(l->batch->mem, sizeof *l->hash * WR_BATCH_MAX);
    l->wm = wr_mem_alloc(l->batch->mem, sizeof *l->wm * WR_BATCH_MAX);
    l->kinds = wr_mem_alloc(l->batch->mem, WR_BATCH_MAX);
}
static void load_end(lookup_join *j, loading *l) {
    if (!l->batch) return;
    l->batch->hash = l->hash;
    if (l->changes) l->batch->kinds = l->kinds;
    if (l->late) l->batch->row_wm_us = l->wm;
    if (l->batch->n_rows) enter(j, l->batch, WR_TIME_MIN);
    wr_batch_unref(l->batch);
    *l = (loading){0};
}

static wr_status load(wr_op *op, wr_reader *in, uint32_t from, uint32_t to, wr_err *err) {
    lookup_join *j = (lookup_join *)op;
    WR_TRY(wr_op_load_head(in, "lookup_join", IMAGE_VERSION, err));
    uint64_t n = wr_get_u64(in);
    loading  l = {0};
    bool     ok = true;
    for (uint64_t i = 0; i < n && ok && !in->bad; i++) {
        uint64_t hash = wr_get_u64(in);
        uint8_t  kind = wr_get_u8(in);
        int64_t  wm = wr_get_i64(in);
        wr_str   bytes = wr_get_bytes(in);
        uint32_t group = wr_key_group(hash, op->ctx->n_key_groups);
        if (in->bad || group < from || group >= to) continue;
        if (!l.batch) load_begin(j, &l);
        uint32_t row = l.batch->n_rows++;
        l.hash[row] = hash, l.wm[row] = wm, l.kinds[row] = kind;
        l.changes |= kind != WR_KIND_INSERT, l.late |= wm != WR_TIME_MIN;
        ok = kind <= WR_KIND_DELETE && wr_rowcodec_get(j->left_codec, bytes, l.batch->cols, row, l.batch->mem);
        if (ok && l.batch->n_rows == op->ctx->batch_rows) load_end(j, &l);
    }
    bool kept = wr_get_u8(in);
    if (!ok || in->bad || kept != j->opts.kept) {
        wr_batch_unref(l.batch);
        return wr_op_damaged("lookup_join", err);
    }
    load_end(j, &l);
    note_flags(j);
    return kept ? wr_kmap_load(j->kept.map, in, op->ctx->n_key_groups, from, to, err) : WR_OK;
}

/* ---- the rest ---- */

static void usage(const wr_op *op, wr_op_usage *out) {
    const lookup_join *j = (const lookup_join *)op;
    *out = (wr_op_usage){.state_bytes = j->bytes, .rows = j->n_rows, .oldest_us = WR_TIME_MAX, .lookup_hits = j->hits, .lookup_asked = j->asked, .lookup_retries = j->retries,
                         .lookup_reloads = j->reloads, .lookup_questions = j->questions, .lookup_answer_us = j->answer_us};
    if (j->opts.kept) wr_kept_usage(&j->kept, out);
    out->cache_bytes = (j->cache ? wr_lookup_store_bytes(j->cache) : 0) + j->asker->bytes(j->asker);
    out->state_bytes += out->cache_bytes;
    out->spills |= j->cache != NULL;
}

static wr_status limit(wr_op *op, int64_t bytes, wr_err *err) {
    lookup_join *j = (lookup_join *)op;
    if (bytes && j->cache) wr_lookup_store_shrink(j->cache, j->opts.kept ? bytes / 4 : bytes);
    return j->opts.kept ? wr_op_limit_map(j->kept.map, bytes, err) : WR_OK;
}

static void close_op(wr_op *op) {
    lookup_join *j = (lookup_join *)op;
    j->asker->close(j->asker);
    while (j->first) {
        entry *e = j->first;
        j->first = e->next;
        free_entry(j, e);
    }
    if (j->opts.kept) wr_kept_free(&j->kept);
    wr_lookup_store_free(j->cache);
    if (j->residual) wr_prog_free(j->residual);
    wr_sbuf_free(&j->buf);
    wr_sbuf_free(&j->key);
    wr_free(j->pairs);
    wr_arena_free(j->arena);
    wr_free(j);
}

static const wr_op_vt lookup_join_vt = {"lookup_join", on_batch, on_watermark, output_watermark, save, load, usage, limit, close_op};

wr_op *wr_lookup_join_new(const wr_lookup_join_opts *opts, const wr_schema *left, const wr_schema *right, wr_asker *asker, wr_op_ctx *ctx) {
    wr_assert((opts->kind == WR_JOIN_INNER || opts->kind == WR_JOIN_LEFT) && opts->keys.n);
    lookup_join *j = wr_calloc(1, sizeof *j);
    j->op = (wr_op){.vt = &lookup_join_vt, .ctx = ctx, .on_step = on_step};
    j->opts = *opts;
    j->opts.ordered |= opts->kept;
    j->opts.capacity = WR_MAX(opts->capacity, 1u);
    j->arena = wr_arena_new(ctx->acct);
    j->asker = asker;
    j->end = &j->first;
    j->wm_us = WR_TIME_MIN;
    j->n_left = left->n, j->n_right = right->n;
    j->left_types = wr_op_types(j->arena, left);
    j->right_types = wr_op_types(j->arena, right);
    for (uint32_t c = 0; c < right->n; c++) j->right_types[c].nullable = j->right_types[c].nullable || opts->kind == WR_JOIN_LEFT;
    j->left_codec = wr_rowcodec_new(j->arena, j->left_types, left->n);
    j->right_codec = wr_rowcodec_new(j->arena, wr_op_types(j->arena, right), right->n);
    wr_type *keys = wr_op_key_types(j->arena, left, opts->keys.left, opts->keys.n);
    j->key_codec = wr_rowcodec_new(j->arena, keys, opts->keys.n);
    if (opts->cache == WR_LOOKUP_CACHE_PARTIAL) j->cache = wr_lookup_store_new(opts, keys, ctx->acct);
    if (opts->residual) j->residual = wr_prog_new(&opts->residual, 1, ctx->tz, ctx->world);
    if (opts->kept) wr_kept_init(&j->kept, left, ctx, "lookup_join");
    j->pairs = wr_malloc(sizeof *j->pairs * WR_BATCH_MAX);
    return &j->op;
}
