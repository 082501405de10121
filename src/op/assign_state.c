/* op/assign_state.c: orders and couriers of a partition of ASSIGN: what a row changes, who runs out, images, bytes. See assign.h.
 *
 * Idea       a row is applied by the round that takes it. An order that was given away knows to whom and by which round, and a courier by which round it got its
 *            orders: so a refusal releases the courier only from what it is about, though it has long got another order.
 * Thread     one worker. Memory: all is counted in heap_bytes.                                                            */
#include "op/assign.h"
#include <math.h>

static int64_t piece_bytes(size_t bytes) { return (int64_t)bytes + WR_ASSIGN_MALLOC_EXTRA; }

int wr_assign_compare(const wr_assign *a, uint32_t input, wr_str x, wr_str y) { return wr_rowcodec_compare(a->codec[input], x, y, 0); }

/* ---- rows that wait ---- */

wr_arow *wr_arow_new(wr_assign *a, wr_str id) {
    wr_arow *row = wr_calloc(1, sizeof *row + id.len);
    row->len = (uint32_t)id.len;
    memcpy(row->id, id.ptr, id.len);
    a->heap_bytes += piece_bytes(sizeof *row + id.len);
    return row;
}
void wr_arow_free(wr_assign *a, wr_arow *row) {
    a->heap_bytes -= piece_bytes(sizeof *row + row->len);
    wr_free(row);
}
static bool before(const wr_arow *a, const wr_arow *b) {
    if (a->time_us != b->time_us) return a->time_us < b->time_us;
    return a->input != b->input ? a->input < b->input : a->no < b->no; /* the inputs do not come in any order to each other */
}
void wr_apart_wait(wr_assign *a, wr_apart *p, wr_arow *row) {
    if (p->n == p->cap && p->first > p->cap / 2) {
        memmove(p->waiting, p->waiting + p->first, (p->n - p->first) * sizeof *p->waiting);
        p->n -= p->first, p->first = 0;
    }
    if (p->n == p->cap) {
        uint32_t cap = p->cap ? p->cap * 2 : 4;
        p->waiting = wr_realloc(p->waiting, cap * sizeof(wr_arow *));
        a->heap_bytes += (int64_t)((cap - p->cap) * sizeof *p->waiting) + (p->cap ? 0 : WR_ASSIGN_MALLOC_EXTRA);
        p->cap = cap;
    }
    uint32_t from = p->first, to = p->n;
    if (from == to || before(p->waiting[to - 1], row)) from = to; /* mostly in order */
    while (from < to) {
        uint32_t mid = (from + to) / 2;
        if (before(p->waiting[mid], row)) from = mid + 1;
        else to = mid;
    }
    memmove(p->waiting + from + 1, p->waiting + from, (p->n - from) * sizeof *p->waiting);
    p->waiting[from] = row;
    p->n++;
}
static void free_waiting(wr_assign *a, wr_apart *p) {
    for (uint32_t i = p->first; i < p->n; i++) wr_arow_free(a, p->waiting[i]);
    if (p->cap) a->heap_bytes -= piece_bytes(p->cap * sizeof *p->waiting);
    wr_free(p->waiting);
    p->waiting = NULL, p->first = p->n = p->cap = 0;
}

/* ---- lists ---- */

static int order_place(const void *self, const void *elem, const void *key) {
    return wr_assign_compare(self, WR_ASSIGN_ORDERS, wr_aorder_id(*(wr_aorder *const *)elem), *(const wr_str *)key);
}
static int courier_place(const void *self, const void *elem, const void *key) {
    return wr_assign_compare(self, WR_ASSIGN_COURIERS, wr_acourier_id(*(wr_acourier *const *)elem), *(const wr_str *)key);
}
static void list_insert(wr_assign *a, wr_sorted **list, wr_pos at, void *elem) {
    int64_t had = *list ? (*list)->bytes : 0;
    if (!*list) *list = wr_sorted_new(sizeof elem), at = wr_sorted_first();
    wr_sorted_insert(*list, at, &elem);
    a->heap_bytes += (*list)->bytes - had;
}
static wr_pos list_remove(wr_assign *a, wr_sorted **list, wr_pos at) { /* an empty one goes */
    int64_t had = (*list)->bytes;
    wr_pos  next = wr_sorted_remove(*list, at);
    a->heap_bytes += (*list)->bytes - had;
    if (!(*list)->count) {
        a->heap_bytes -= (*list)->bytes;
        wr_sorted_free(*list);
        *list = NULL;
    }
    return next;
}
static void *list_find(const wr_assign *a, const wr_sorted *list, wr_str id, wr_sorted_cmp place, wr_pos *at) {
    bool equal = false;
    *at = list ? wr_sorted_seek(list, &id, place, a, &equal) : wr_sorted_first();
    return equal ? *(void **)wr_sorted_at(list, *at) : NULL;
}

/* ---- orders ---- */

static wr_aorder *order_new(wr_assign *a, wr_str id) {
    wr_aorder *o = wr_calloc(1, sizeof *o + id.len);
    o->len = (uint32_t)id.len;
    memcpy(o->id, id.ptr, id.len);
    a->heap_bytes += piece_bytes(sizeof *o + id.len);
    return o;
}
void wr_aorder_free(wr_assign *a, wr_aorder *o) {
    a->heap_bytes -= piece_bytes(sizeof *o + o->len) + (o->given ? piece_bytes(o->given_len) : 0);
    wr_free(o->given);
    wr_free(o);
}
void wr_aorder_remove(wr_assign *a, wr_apart *p, wr_aorder *o) {
    wr_pos at;
    void  *found = list_find(a, p->orders, wr_aorder_id(o), order_place, &at);
    wr_assert(found == o);
    list_remove(a, &p->orders, at);
}
static void set_given(wr_assign *a, wr_aorder *o, uint32_t len) {
    a->heap_bytes += piece_bytes(len) - (o->given ? piece_bytes(o->given_len) : 0);
    o->given = wr_realloc(o->given, len);
    o->given_len = len;
}
void wr_aorder_give(wr_assign *a, wr_aorder *o, wr_str courier) {
    uint32_t at = o->given_len, n = (uint32_t)courier.len;
    set_given(a, o, at + (uint32_t)sizeof n + n);
    memcpy(o->given + at, &n, sizeof n);
    memcpy(o->given + at + sizeof n, courier.ptr, n);
    o->n_given++;
}
wr_str wr_aorder_given_next(const wr_aorder *o, uint32_t *at) {
    uint32_t n;
    memcpy(&n, o->given + *at, sizeof n);
    wr_str id = {o->given + *at + sizeof n, n};
    *at += (uint32_t)sizeof n + n;
    return id;
}
static void drop_order(wr_assign *a, wr_apart *p, wr_aorder *o) {
    if (o->open) p->n_open--;
    a->n_rows--;
    wr_aorder_remove(a, p, o);
    wr_aorder_free(a, o);
}

/* ---- couriers ---- */

static wr_acourier *courier_new(wr_assign *a, wr_str id) {
    wr_acourier *c = wr_calloc(1, sizeof *c + id.len);
    c->len = (uint32_t)id.len;
    c->taken_us = WR_TIME_MIN;
    memcpy(c->id, id.ptr, id.len);
    a->heap_bytes += piece_bytes(sizeof *c + id.len);
    return c;
}
static void courier_free(wr_assign *a, wr_acourier *c) {
    a->heap_bytes -= piece_bytes(sizeof *c + c->len);
    wr_free(c);
}
wr_acourier *wr_acourier_find(const wr_assign *a, const wr_apart *p, wr_str id) {
    wr_pos at;
    return list_find(a, p->couriers, id, courier_place, &at);
}
static void drop_if_useless(wr_assign *a, wr_apart *p, wr_acourier *c) {
    wr_pos at;
    if (c->says_free || c->taken_us != WR_TIME_MIN) return;
    void *found = list_find(a, p->couriers, wr_acourier_id(c), courier_place, &at);
    wr_assert(found == c);
    list_remove(a, &p->couriers, at);
    courier_free(a, c);
    a->n_rows--;
}
/* The courier that has the order need not do it: what it last said holds. */
static void release(wr_assign *a, wr_apart *p, const wr_aorder *o, bool *news) {
    wr_str id = {0};
    for (uint32_t at = 0; at < o->given_len;) id = wr_aorder_given_next(o, &at);
    wr_acourier *c = wr_acourier_find(a, p, id);
    if (!c || c->taken_us != o->given_us || --c->n_orders) return; /* it has been forgotten, or has another one by now */
    c->taken_us = WR_TIME_MIN;
    *news |= c->says_free;
    drop_if_useless(a, p, c);
}

/* ---- what a row changes ---- */

static void open_order(wr_assign *a, wr_apart *p, const wr_arow *row, bool *news) {
    wr_pos     at;
    wr_str     id = {row->id, row->len};
    wr_aorder *o = list_find(a, p->orders, id, order_place, &at);
    if (!o) {
        o = order_new(a, id);
        o->time_us = row->time_us;
        o->open = true;
        list_insert(a, &p->orders, at, o);
        p->order_due_us = WR_MIN(p->order_due_us, wr_assign_plus(row->time_us, a->opts.max_wait_us));
        p->n_open++;
        a->n_rows++;
    }
    o->x = row->x, o->y = row->y, o->to_x = row->to_x, o->to_y = row->to_y;
    *news |= o->open;
}
/* false: there is nothing that could be refused. */
static bool refuse_order(wr_assign *a, wr_apart *p, const wr_arow *row, bool *news) {
    wr_pos     at;
    wr_aorder *o = list_find(a, p->orders, (wr_str){row->id, row->len}, order_place, &at);
    if (!o || o->open) return false;
    release(a, p, o, news);
    if (o->n_given > a->opts.reassign) {
        list_remove(a, &p->orders, at);
        wr_arr_push(&a->lines, (wr_aline){.order = o, .no = a->lines.n, .leaves = true});
        a->n_rows--;
        return true;
    }
    o->open = true;
    p->n_open++;
    *news = true;
    return true;
}
static void close_order(wr_assign *a, wr_apart *p, const wr_arow *row, bool *news) {
    wr_pos     at;
    wr_aorder *o = list_find(a, p->orders, (wr_str){row->id, row->len}, order_place, &at);
    if (!o) return; /* it was given away and forgotten, or ran out */
    if (row->word == WR_AWORD_CANCELLED && !o->open) release(a, p, o, news);
    drop_order(a, p, o);
}
static void apply_courier(wr_assign *a, wr_apart *p, const wr_arow *row, bool *news) {
    wr_pos       at;
    wr_str       id = {row->id, row->len};
    wr_acourier *c = list_find(a, p->couriers, id, courier_place, &at);
    bool         says_free = row->word == WR_AWORD_FREE;
    if (!c && !says_free) return;
    if (!c) {
        c = courier_new(a, id);
        list_insert(a, &p->couriers, at, c);
        a->n_rows++;
    }
    bool was_free = wr_acourier_free(c), moves = row->placed && (row->x != c->x || row->y != c->y);
    c->seen_us = row->time_us;
    p->courier_due_us = WR_MIN(p->courier_due_us, wr_assign_plus(row->time_us, a->opts.timeout_us));
    if (row->placed) c->x = row->x, c->y = row->y;
    c->says_free = says_free;
    if (c->taken_us != WR_TIME_MIN) {
        c->was_away |= !says_free;
        if (says_free && (c->was_away || row->time_us >= wr_assign_plus(c->taken_us, a->opts.hold_us))) c->taken_us = WR_TIME_MIN;
    }
    *news |= wr_acourier_free(c) && (!was_free || moves);
    drop_if_useless(a, p, c);
}
void wr_apart_apply(wr_assign *a, wr_apart *p, const wr_arow *row, bool *news) {
    wr_ledger *l = a->op.ctx->ledger;
    bool       known = true;
    switch ((wr_aword)row->word) {
    case WR_AWORD_OPEN: open_order(a, p, row, news); break;
    case WR_AWORD_REFUSED: known = refuse_order(a, p, row, news); break;
    case WR_AWORD_CANCELLED: case WR_AWORD_CLOSED: close_order(a, p, row, news); break;
    case WR_AWORD_FREE: case WR_AWORD_AWAY: apply_courier(a, p, row, news); break;
    case WR_AWORD_COUNT: break;
    }
    l->kept[row->input]--;
    if (known) l->used++;
    else l->dropped[WR_REASON_RETRACT_UNKNOWN]++;
}

/* ---- who runs out ---- */

static void forget_orders(wr_assign *a, wr_apart *p, int64_t now_us) {
    int64_t due = INT64_MAX;
    for (wr_pos at = wr_sorted_first(); p->orders && at.chunk < p->orders->n_chunks;) {
        wr_aorder *o = *(wr_aorder **)wr_sorted_at(p->orders, at);
        int64_t    until = wr_assign_plus(o->time_us, a->opts.max_wait_us);
        if (until >= now_us) {
            due = WR_MIN(due, until);
            at = wr_sorted_next(p->orders, at);
            continue;
        }
        at = list_remove(a, &p->orders, at);
        a->n_rows--;
        if (o->open) {
            p->n_open--;
            wr_arr_push(&a->lines, (wr_aline){.order = o, .no = a->lines.n, .leaves = true});
        } else {
            wr_aorder_free(a, o);
        }
    }
    p->order_due_us = due;
}
static void forget_couriers(wr_assign *a, wr_apart *p, int64_t now_us) {
    int64_t due = INT64_MAX;
    for (wr_pos at = wr_sorted_first(); p->couriers && at.chunk < p->couriers->n_chunks;) {
        wr_acourier *c = *(wr_acourier **)wr_sorted_at(p->couriers, at);
        int64_t      until = wr_assign_plus(c->seen_us, a->opts.timeout_us);
        if (until >= now_us) {
            due = WR_MIN(due, until);
            at = wr_sorted_next(p->couriers, at);
            continue;
        }
        at = list_remove(a, &p->couriers, at);
        courier_free(a, c);
        a->n_rows--;
    }
    p->courier_due_us = due;
}
void wr_apart_forget(wr_assign *a, wr_apart *p, int64_t now_us) {
    if (p->order_due_us < now_us) forget_orders(a, p, now_us);
    if (p->courier_due_us < now_us) forget_couriers(a, p, now_us);
}

/* ---- the partition ---- */

void wr_apart_init(wr_apart *p) {
    p->round_us = WR_TIME_MIN;
    p->order_due_us = p->courier_due_us = INT64_MAX;
    for (uint32_t t = 0; t < WR_ASSIGN_TIMERS; t++) p->timer_us[t] = INT64_MAX;
}
void wr_apart_free(wr_assign *a, wr_apart *p) {
    free_waiting(a, p);
    for (wr_pos at = wr_sorted_first(); p->orders && at.chunk < p->orders->n_chunks; at = wr_sorted_next(p->orders, at)) wr_aorder_free(a, *(wr_aorder **)wr_sorted_at(p->orders, at));
    for (wr_pos at = wr_sorted_first(); p->couriers && at.chunk < p->couriers->n_chunks; at = wr_sorted_next(p->couriers, at)) courier_free(a, *(wr_acourier **)wr_sorted_at(p->couriers, at));
    a->heap_bytes -= (p->orders ? p->orders->bytes : 0) + (p->couriers ? p->couriers->bytes : 0);
    wr_sorted_free(p->orders), wr_sorted_free(p->couriers);
    p->orders = p->couriers = NULL;
    p->n_open = 0;
    p->order_due_us = p->courier_due_us = INT64_MAX;
}

/* ---- images ---- */

static void put_row(const wr_arow *r, wr_sbuf *out) {
    wr_put_i64(out, r->time_us), wr_put_u64(out, r->no);
    wr_put_f64(out, r->x), wr_put_f64(out, r->y), wr_put_f64(out, r->to_x), wr_put_f64(out, r->to_y);
    wr_put_u8(out, r->input), wr_put_u8(out, r->word), wr_put_u8(out, r->placed);
    wr_put_bytes(out, r->id, r->len);
}
static void put_order(const wr_aorder *o, wr_sbuf *out) {
    wr_put_i64(out, o->time_us);
    wr_put_f64(out, o->x), wr_put_f64(out, o->y), wr_put_f64(out, o->to_x), wr_put_f64(out, o->to_y);
    wr_put_i64(out, o->given_us), wr_put_u8(out, o->open);
    wr_put_bytes(out, o->id, o->len);
    wr_put_u32(out, o->n_given);
    for (uint32_t at = 0; at < o->given_len;) {
        wr_str id = wr_aorder_given_next(o, &at);
        wr_put_bytes(out, id.ptr, id.len);
    }
}
static void put_courier(const wr_acourier *c, wr_sbuf *out) {
    wr_put_i64(out, c->seen_us), wr_put_i64(out, c->taken_us);
    wr_put_f64(out, c->x), wr_put_f64(out, c->y);
    wr_put_u32(out, c->n_orders), wr_put_u8(out, c->says_free), wr_put_u8(out, c->was_away);
    wr_put_bytes(out, c->id, c->len);
}
void wr_apart_save(const wr_apart *p, wr_sbuf *out) {
    wr_put_u64(out, p->arrived), wr_put_i64(out, p->round_us);
    wr_put_u32(out, p->n - p->first);
    for (uint32_t i = p->first; i < p->n; i++) put_row(p->waiting[i], out);
    wr_put_u32(out, wr_alist_count(p->orders));
    for (wr_pos at = wr_sorted_first(); p->orders && at.chunk < p->orders->n_chunks; at = wr_sorted_next(p->orders, at)) put_order(*(wr_aorder **)wr_sorted_at(p->orders, at), out);
    wr_put_u32(out, wr_alist_count(p->couriers));
    for (wr_pos at = wr_sorted_first(); p->couriers && at.chunk < p->couriers->n_chunks; at = wr_sorted_next(p->couriers, at))
        put_courier(*(wr_acourier **)wr_sorted_at(p->couriers, at), out);
}
static bool finite4(double a, double b, double c, double d) { return isfinite(a) && isfinite(b) && isfinite(c) && isfinite(d); }
static bool get_row(wr_assign *a, wr_apart *p, wr_reader *in) {
    wr_arow r = {.time_us = wr_get_i64(in), .no = wr_get_u64(in)};
    r.x = wr_get_f64(in), r.y = wr_get_f64(in), r.to_x = wr_get_f64(in), r.to_y = wr_get_f64(in);
    r.input = wr_get_u8(in), r.word = wr_get_u8(in), r.placed = wr_get_u8(in);
    wr_str id = wr_get_bytes(in);
    if (in->bad || r.input > WR_ASSIGN_COURIERS || r.word >= WR_AWORD_COUNT || !finite4(r.x, r.y, r.to_x, r.to_y)) return false;
    wr_arow *row = wr_arow_new(a, id);
    r.len = row->len;
    memcpy(row, &r, offsetof(wr_arow, id));
    wr_apart_wait(a, p, row);
    return true;
}
static bool get_order(wr_assign *a, wr_apart *p, wr_reader *in) {
    wr_aorder v = {.time_us = wr_get_i64(in)};
    v.x = wr_get_f64(in), v.y = wr_get_f64(in), v.to_x = wr_get_f64(in), v.to_y = wr_get_f64(in);
    v.given_us = wr_get_i64(in), v.open = wr_get_u8(in);
    wr_str   id = wr_get_bytes(in);
    uint32_t n = wr_get_u32(in);
    wr_pos   at;
    if (in->bad || list_find(a, p->orders, id, order_place, &at) || (!v.open && !n) || !finite4(v.x, v.y, v.to_x, v.to_y)) return false;
    wr_aorder *o = order_new(a, id);
    v.len = o->len;
    memcpy(o, &v, offsetof(wr_aorder, id));
    list_insert(a, &p->orders, at, o);
    p->order_due_us = WR_MIN(p->order_due_us, wr_assign_plus(o->time_us, a->opts.max_wait_us));
    p->n_open += o->open;
    while (n--) {
        wr_str courier = wr_get_bytes(in);
        if (in->bad) return false;
        wr_aorder_give(a, o, courier);
    }
    return true;
}
static bool get_courier(wr_assign *a, wr_apart *p, wr_reader *in) {
    wr_acourier v = {.seen_us = wr_get_i64(in), .taken_us = wr_get_i64(in)};
    v.x = wr_get_f64(in), v.y = wr_get_f64(in);
    v.n_orders = wr_get_u32(in), v.says_free = wr_get_u8(in), v.was_away = wr_get_u8(in);
    wr_str id = wr_get_bytes(in);
    wr_pos at;
    if (in->bad || list_find(a, p->couriers, id, courier_place, &at) || !finite4(v.x, v.y, 0, 0)) return false;
    wr_acourier *c = courier_new(a, id);
    v.len = c->len;
    memcpy(c, &v, offsetof(wr_acourier, id));
    list_insert(a, &p->couriers, at, c);
    p->courier_due_us = WR_MIN(p->courier_due_us, wr_assign_plus(c->seen_us, a->opts.timeout_us));
    return true;
}
bool wr_apart_load(wr_assign *a, wr_apart *p, wr_reader *in) {
    p->order_due_us = p->courier_due_us = INT64_MAX;
    p->arrived = wr_get_u64(in), p->round_us = wr_get_i64(in);
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--)
        if (!get_row(a, p, in)) return false;
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--)
        if (!get_order(a, p, in)) return false;
    for (uint32_t n = wr_get_u32(in); n && !in->bad; n--)
        if (!get_courier(a, p, in)) return false;
    return !in->bad;
}

/* ---- bytes, for the bill ---- */

enum { LIST_ROOM = 12 /* a pointer, with slack */, LIST_BYTES = sizeof(wr_sorted) + 2 * WR_ASSIGN_MALLOC_EXTRA + 64 /* with its first chunk */ };

double wr_assign_key_bytes(double key_bytes) {
    return wr_kmap_entry_bytes(sizeof(wr_apart), key_bytes) + WR_ASSIGN_TIMERS * wr_timer_bytes() + 2 * LIST_BYTES + 4 * sizeof(wr_arow *) + WR_ASSIGN_MALLOC_EXTRA;
}
double wr_assign_order_bytes(double id_bytes, double barred) {
    double given = barred > 0 ? WR_ASSIGN_MALLOC_EXTRA + barred * (sizeof(uint32_t) + id_bytes) : 0;
    return sizeof(wr_aorder) + WR_ASSIGN_MALLOC_EXTRA + id_bytes + LIST_ROOM + given;
}
double wr_assign_courier_bytes(double id_bytes) { return sizeof(wr_acourier) + WR_ASSIGN_MALLOC_EXTRA + id_bytes + LIST_ROOM; }
double wr_assign_row_bytes(double id_bytes) { return sizeof(wr_arow) + WR_ASSIGN_MALLOC_EXTRA + id_bytes + LIST_ROOM; }
