/* connect/view/read.c: point reads, scans and changes of a pinned version. See view.h.
 *
 * Scan       every shard gives its next rows of the range, some at a time, copied under its lock; they are merged by key outside. Between two pieces a scan holds
 *            nothing but keys: it finds its place again by the last one.
 * Changes    the touches of each shard between two versions, in the order in which they were made. A key counts at its last touch of them, with what it was at
 *            the older version and is at the newer one.                                                                                  */
#include "connect/view/internal.h"
#include "type/keycodec.h"

enum { PIECE_FIRST = 16, PIECE_MOST = 128, TOUCH_PIECE = 128, COPIES_AT = 4 };

typedef struct item { size_t key, row; uint32_t key_len, row_len, count; uint8_t kind; } item; /* places in the piece's bytes */
typedef struct piece {
    WR_ARR(item) items;
    wr_sbuf  bytes;
    uint32_t next, given;        /* given: copies of items.at[next] */
} piece;

static void piece_clear(piece *p) { p->items.n = p->next = p->given = 0, wr_sbuf_clear(&p->bytes); }
static void piece_free(piece *p) {
    wr_arr_free(&p->items);
    wr_sbuf_free(&p->bytes);
}
static void piece_add(piece *p, wr_str key, const char *row, uint32_t len, uint32_t count, wr_kind kind) {
    item i = {.key = p->bytes.len, .key_len = (uint32_t)key.len, .row_len = len, .count = count, .kind = (uint8_t)kind};
    wr_sbuf_add_str(&p->bytes, key);
    i.row = p->bytes.len;
    wr_sbuf_add(&p->bytes, row, len);
    wr_arr_push(&p->items, i);
}
static wr_str item_key(const piece *p, const item *i) { return (wr_str){p->bytes.at + i->key, i->key_len}; }
static wr_str item_row(const piece *p, const item *i) { return (wr_str){p->bytes.at + i->row, i->row_len}; }

/* ---- rows out of bytes ---- */
typedef struct rows { const wr_view *view; wr_batch *batch; uint8_t *kinds; uint32_t n, cap; } rows;

static void rows_begin(rows *r, const wr_view *view, uint32_t cap, bool kinds) {
    *r = (rows){.view = view, .cap = cap, .batch = wr_batch_new(view->schema.n, 4096)};
    for (uint32_t c = 0; c < view->schema.n; c++) wr_vec_init(&r->batch->cols[c], view->schema.fields[c].type, cap, true, r->batch->mem);
    if (kinds) r->kinds = wr_mem_alloc(r->batch->mem, cap);
}

static wr_status rows_add(rows *r, wr_str bytes, uint8_t kind, wr_err *err) {
    wr_assert(r->n < r->cap);
    if (!wr_rowcodec_get(r->view->codec, bytes, r->batch->cols, r->n, r->batch->mem)) return wr_fail(err, WR_CORRUPT, "WR402", "a row of view '%.*s' is damaged", WR_FMT(r->view->name));
    if (r->kinds) r->kinds[r->n] = kind;
    r->n++;
    return WR_OK;
}

/* NULL if there are none. */
static wr_batch *rows_end(rows *r) {
    wr_batch *b = r->batch;
    if (!r->n) {
        wr_batch_unref(b);
        return NULL;
    }
    b->n_rows = r->n;
    b->kinds = r->kinds;
    for (uint32_t c = 0; c < b->n_cols; c++) b->cols[c].n = r->n;
    return b;
}

/* ---- keys ---- */
wr_status wr_view_key_put(const wr_view *v, const wr_value *values, uint32_t n, wr_sbuf *out, wr_err *err) {
    if (n > v->n_order) return wr_fail(err, WR_USER, "WR402", "the key of view '%.*s' has %u columns, not %u", WR_FMT(v->name), v->n_order, n);
    for (uint32_t i = 0; i < n; i++) {
        wr_type to = v->schema.fields[v->order[i]].type;
        if (wr_type_storage(values[i].type) != wr_type_storage(to) || values[i].type.scale != to.scale)
            return wr_fail(err, WR_USER, "WR402", "column '%.*s' of view '%.*s' is of another type", WR_FMT(v->schema.fields[v->order[i]].name), WR_FMT(v->name));
        wr_mem *mem = wr_mem_new(256);
        wr_vec  one;
        wr_value_fill(&values[i], &one, 1, mem);
        wr_keycodec_put(&one, 0, out);
        wr_mem_unref(mem);
    }
    return WR_OK;
}

void wr_view_key_put_row(const wr_view *v, const wr_batch *batch, uint32_t row, wr_sbuf *out) {
    for (uint32_t i = 0; i < v->n_order; i++) wr_keycodec_put(&batch->cols[v->order[i]], row, out);
}

wr_status wr_view_get(wr_view_cut *cut, wr_str key, wr_batch **out, wr_err *err) {
    wr_view *v = cut->view;
    wr_sbuf  bytes = {0};
    uint32_t count = 0;
    *out = NULL;
    for (uint32_t i = 0; i < v->n_shards && !count; i++) {
        wr_view_shard *s = &v->shards[i];
        if (!s->rows) continue;
        wr_mutex_lock(s->lock);
        bool              gone = atomic_load_explicit(&cut->gone, memory_order_acquire);
        const wr_vrow    *r = gone ? NULL : wr_versions_find(s->rows, key);
        const wr_version *at = r ? wr_vrow_at(r, cut->as_of.version) : NULL;
        if (at && at->count) count = at->count, wr_sbuf_add(&bytes, at->bytes, at->len);
        wr_mutex_unlock(s->lock);
        if (gone) return view_gone(v, err);
    }
    rows r;
    if (!count) return WR_OK;
    rows_begin(&r, v, WR_MIN(count, (uint32_t)WR_BATCH_MAX), false);
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < r.cap && status == WR_OK; i++) status = rows_add(&r, wr_sbuf_str(&bytes), WR_KIND_INSERT, err);
    wr_sbuf_free(&bytes);
    if (status != WR_OK) r.n = 0;
    *out = rows_end(&r);
    return status;
}

/* ---- scans ---- */
typedef struct lane { piece p; wr_sbuf last; bool begun, end; uint32_t want; } lane; /* of a shard; last: key of the row it gave last */
struct wr_view_scan {
    wr_view_cut *cut;
    wr_sbuf      from, to, at;       /* at: key of the last row given out */
    bool         bounded, nothing;
    uint32_t     copies, skip;       /* of it: given; of the first row: not given again */
    bool         moved;
    lane        *lanes;
};

static void add_range(wr_view_scan *s, const wr_view_range *r) {
    wr_sbuf_add_str(&s->from, r->from);
    if (r->from.ptr && r->from_exclusive) s->nothing = !wr_keycodec_behind(&s->from);
    if (r->to.ptr) {
        wr_sbuf_add_str(&s->to, r->to);
        s->bounded = !r->to_inclusive || wr_keycodec_behind(&s->to);
    }
    if (r->after.len < COPIES_AT) return;
    wr_str key = {r->after.ptr + COPIES_AT, r->after.len - COPIES_AT};
    if (wr_str_cmp(key, wr_sbuf_str(&s->from)) < 0) return;
    wr_sbuf_clear(&s->from);
    wr_sbuf_add_str(&s->from, key);
    memcpy(&s->skip, r->after.ptr, COPIES_AT);
    wr_sbuf_add_str(&s->at, key);
    s->copies = s->skip;
    s->moved = true;
}

wr_view_scan *wr_view_scan_new(wr_view_cut *cut, const wr_view_range *range) {
    wr_view_scan *s = wr_calloc(1, sizeof *s);
    s->cut = cut;
    add_range(s, range);
    s->lanes = wr_calloc(cut->view->n_shards, sizeof *s->lanes);
    for (uint32_t i = 0; i < cut->view->n_shards; i++) s->lanes[i].want = PIECE_FIRST, s->lanes[i].end = s->nothing || !cut->view->shards[i].rows;
    return s;
}

void wr_view_scan_free(wr_view_scan *s) {
    if (!s) return;
    for (uint32_t i = 0; i < s->cut->view->n_shards; i++) piece_free(&s->lanes[i].p), wr_sbuf_free(&s->lanes[i].last);
    wr_free(s->lanes);
    wr_sbuf_free(&s->from), wr_sbuf_free(&s->to), wr_sbuf_free(&s->at);
    wr_free(s);
}

static bool behind_end(const wr_view_scan *s, wr_str key) { return s->bounded && wr_str_cmp(key, wr_sbuf_str(&s->to)) >= 0; }

/* A piece of one shard. What is not there at this version is passed over, a bounded number at a time too. */
static wr_status refill(wr_view_scan *s, uint32_t i, wr_err *err) {
    lane          *l = &s->lanes[i];
    wr_view_shard *sh = &s->cut->view->shards[i];
    piece_clear(&l->p);
    while (!l->end && !l->p.items.n) {
        wr_mutex_lock(sh->lock);
        if (atomic_load_explicit(&s->cut->gone, memory_order_acquire)) {
            wr_mutex_unlock(sh->lock);
            return view_gone(s->cut->view, err);
        }
        const wr_vrow *r = wr_versions_seek(sh->rows, wr_sbuf_str(l->begun ? &l->last : &s->from), l->begun), *last = NULL;
        for (uint32_t n = 0; r && n < PIECE_MOST && l->p.items.n < l->want; n++, r = wr_vrow_next(r)) {
            if (behind_end(s, wr_vrow_key(r))) break;
            const wr_version *at = wr_vrow_at(r, s->cut->as_of.version);
            if (at && at->count) piece_add(&l->p, wr_vrow_key(r), at->bytes, at->len, at->count, WR_KIND_INSERT);
            last = r;
        }
        l->end = !r || behind_end(s, wr_vrow_key(r));
        if (last) wr_sbuf_clear(&l->last), wr_sbuf_add_str(&l->last, wr_vrow_key(last)), l->begun = true;
        wr_mutex_unlock(sh->lock);
    }
    l->want = WR_MIN(l->want * 2, (uint32_t)PIECE_MOST);
    return WR_OK;
}

/* The lane whose next row is the least; NULL: the end. */
static wr_status least(wr_view_scan *s, lane **out, wr_err *err) {
    *out = NULL;
    for (uint32_t i = 0; i < s->cut->view->n_shards; i++) {
        lane *l = &s->lanes[i];
        if (l->p.next == l->p.items.n) {
            if (l->end) continue;
            WR_TRY(refill(s, i, err));
            if (!l->p.items.n) continue;
        }
        if (!*out || wr_str_cmp(item_key(&l->p, &l->p.items.at[l->p.next]), item_key(&(*out)->p, &(*out)->p.items.at[(*out)->p.next])) < 0) *out = l;
    }
    return WR_OK;
}

wr_status wr_view_scan_next(wr_view_scan *s, uint32_t max, wr_batch **out, wr_err *err) {
    rows      r;
    wr_status status = WR_OK;
    *out = NULL;
    if (!max) return WR_OK;
    rows_begin(&r, s->cut->view, WR_MIN(max, (uint32_t)WR_BATCH_MAX), false);
    while (r.n < r.cap && status == WR_OK) {
        lane *l;
        status = least(s, &l, err);
        if (status != WR_OK || !l) break;
        const item *it = &l->p.items.at[l->p.next];
        wr_str      key = item_key(&l->p, it);
        if (s->skip) {
            if (wr_str_eq(key, wr_sbuf_str(&s->at))) l->p.given = WR_MIN(s->skip, it->count);
            s->skip = 0;
        }
        bool first = !s->moved || !wr_str_eq(key, wr_sbuf_str(&s->at));
        if (first) wr_sbuf_clear(&s->at), wr_sbuf_add_str(&s->at, key), s->moved = true;
        for (; l->p.given < it->count && r.n < r.cap && status == WR_OK; l->p.given++) status = rows_add(&r, item_row(&l->p, it), WR_KIND_INSERT, err);
        s->copies = l->p.given;
        if (l->p.given == it->count) l->p.next++, l->p.given = 0;
    }
    if (status != WR_OK) r.n = 0;
    *out = rows_end(&r);
    return status;
}

void wr_view_scan_at(const wr_view_scan *s, wr_sbuf *out) {
    if (!s->moved) return;
    wr_sbuf_add(out, &s->copies, COPIES_AT);
    wr_sbuf_add_str(out, wr_sbuf_str(&s->at));
}

/* ---- changes ---- */
struct wr_view_sub {
    wr_view_cut *from, *to;          /* to: of the round that is under way, else NULL */
    uint32_t     shard;
    wr_touch_at  at;                 /* the next touch of it */
    piece        p;
};

wr_view_sub *wr_view_sub_new(wr_view_cut *from) {
    wr_view_sub *s = wr_calloc(1, sizeof *s);
    wr_err       err;
    s->from = wr_view_pin_at(from->view, from->as_of.run, from->as_of.version, &err);
    if (!s->from) s->from = wr_view_pin(from->view), atomic_store(&s->from->gone, true); /* said by the first next */
    return s;
}

void wr_view_sub_free(wr_view_sub *s) {
    if (!s) return;
    wr_view_unpin(s->from);
    wr_view_unpin(s->to);
    piece_free(&s->p);
    wr_free(s);
}

static void add_change(wr_view_sub *s, bool before, const wr_vrow *r, const wr_version *was, const wr_version *is) {
    const wr_str none = {NULL, 0};
    uint32_t     n_was = was ? was->count : 0, n_is = is->count;
    if (!s->from->view->n_key) {
        const wr_version *of = n_is ? is : was;
        if (n_is > n_was) piece_add(&s->p, none, of->bytes, of->len, n_is - n_was, WR_KIND_INSERT);
        if (n_is < n_was) piece_add(&s->p, none, was->bytes, was->len, n_was - n_is, WR_KIND_DELETE);
        return;
    }
    (void)r;
    if (n_was && n_is && was->len == is->len && !memcmp(was->bytes, is->bytes, is->len)) return;
    if (n_was && !n_is) piece_add(&s->p, none, was->bytes, was->len, 1, WR_KIND_DELETE);
    if (n_was && n_is && before) piece_add(&s->p, none, was->bytes, was->len, 1, WR_KIND_UPDATE_BEFORE);
    if (n_is) piece_add(&s->p, none, is->bytes, is->len, 1, n_was ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT);
}

/* Some changes into the piece; none: the round is at its end. */
static wr_status fill_changes(wr_view_sub *s, bool before, wr_err *err) {
    wr_view *v = s->from->view;
    uint64_t since = s->from->as_of.version, until = s->to->as_of.version;
    piece_clear(&s->p);
    while (s->shard < v->n_shards && !s->p.items.n) {
        wr_view_shard *sh = &v->shards[s->shard];
        bool           end = !sh->rows, gone = false;
        if (!end) {
            wr_mutex_lock(sh->lock);
            gone = atomic_load_explicit(&s->from->gone, memory_order_acquire);
            wr_touch t;
            for (uint32_t n = 0; n < TOUCH_PIECE && !gone && !end; n++) {
                end = !wr_versions_touch(sh->rows, since, &s->at, &t) || t.version > until;
                if (end) break;
                const wr_version *is = wr_vrow_at(t.row, until);
                if (is && is->from == t.version) add_change(s, before, t.row, wr_vrow_at(t.row, since), is);
            }
            wr_mutex_unlock(sh->lock);
        }
        if (gone) return view_gone(v, err);
        if (end) s->shard++, s->at = (wr_touch_at){0};
    }
    return WR_OK;
}

static void end_round(wr_view_sub *s, wr_view_as_of *as_of) {
    *as_of = s->to->as_of;
    wr_view_unpin(s->from);
    s->from = s->to;
    s->to = NULL;
}

wr_status wr_view_sub_next(wr_view_sub *s, bool before, uint32_t max, wr_batch **out, wr_view_as_of *as_of, wr_err *err) {
    *out = NULL;
    if (!s->to) {
        if (atomic_load(&s->from->gone)) return view_gone(s->from->view, err);
        s->to = wr_view_pin(s->from->view);
        s->shard = 0, s->at = (wr_touch_at){0};
        piece_clear(&s->p);
    }
    *as_of = s->to->as_of;
    if (s->p.next == s->p.items.n) WR_TRY(fill_changes(s, before, err));
    if (!s->p.items.n) return end_round(s, as_of), WR_OK;
    rows      r;
    wr_status status = WR_OK;
    rows_begin(&r, s->from->view, WR_MIN(WR_MAX(max, 2u), (uint32_t)WR_BATCH_MAX), true);
    while (s->p.next < s->p.items.n && r.n < r.cap && status == WR_OK) {
        const item *it = &s->p.items.at[s->p.next];
        if (it->kind == WR_KIND_UPDATE_BEFORE && r.n + 2 > r.cap) break;
        for (; s->p.given < it->count && r.n < r.cap && status == WR_OK; s->p.given++) status = rows_add(&r, item_row(&s->p, it), it->kind, err);
        if (s->p.given == it->count) s->p.next++, s->p.given = 0;
    }
    if (status != WR_OK) r.n = 0;
    *out = rows_end(&r);
    return status;
}
