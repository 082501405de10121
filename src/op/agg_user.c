/* op/agg_user.c: accumulators that functions of the user keep (include/weir_udf.h). See agg.h.
 *
 * Idea       a slot is a mark and, behind it, the user's state of a declared size: blocks stay one piece that memcpy moves. Rows go in by runs of one sign.
 *            Several arguments come as one ROW column, whose fields the function sees.
 * Invariant  a block without the mark is an empty group: its state is made when the first row comes, or for the length of a result.
 * Thread     owned by one worker. Memory: what states own is counted in heap_bytes.                                              */
#include "op/agg.h"

enum { MEASURED_ROWS = 64, MEASURED_EVERY = 16 }; /* calls for so many rows are measured, of shorter ones one in so many */
typedef struct wr_user_frame {
    wr_udf_frame f;
    wr_arena    *scratch;
    uint32_t     calls;
    wr_prog_cost cost;
} wr_user_frame;

static void *state_of(wr_acc_user *acc) { return acc + 1; }

wr_user_frame *wr_user_new(wr_arena *arena) {
    wr_user_frame *u = wr_new(arena, wr_user_frame);
    u->scratch = wr_arena_new(NULL);
    wr_udf_frame_init(&u->f, u->scratch);
    return u;
}
void wr_user_free(wr_user_frame *u) {
    if (u) wr_arena_free(u->scratch);
}
static wr_udf_frame *frame(wr_aggs *a, uint32_t n_rows) {
    wr_udf_frame_begin(&a->user->f, n_rows);
    return &a->user->f;
}
static void settle_bytes(wr_aggs *a) {
    a->heap_bytes += a->user->f.heap_bytes;
    a->user->f.heap_bytes = 0;
}

static void make(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc) {
    if (acc->live) return;
    acc->live = 1;
    if (s->user->create) s->user->create(&frame(a, 1)->call, state_of(acc));
}
void wr_user_drop(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc) {
    if (acc->live && s->user->destroy) s->user->destroy(&frame(a, 1)->call, state_of(acc));
    settle_bytes(a);
}

/* ---- rows in and out ---- */

static uint32_t columns_of(const wr_agg_slot *s, const wr_vec *arg, const wr_vec **cols) {
    *cols = s->user_row ? arg->kids : arg;
    return s->user_row ? arg->type.n_kids : 1;
}
bool wr_user_skips(const wr_agg_slot *s, const wr_vec *arg, uint32_t row) {
    const wr_vec *cols;
    uint32_t      n = columns_of(s, arg, &cols);
    if (s->user_nulls) return false;
    for (uint32_t i = 0; i < n; i++)
        if (wr_vec_is_null(&cols[i], row)) return true;
    return false;
}

WR_COLD static wr_status report(const wr_udf_frame *f, const wr_agg_slot *s, const wr_vec *cols, uint32_t n_cols, const uint32_t *rows, bool out, wr_err *err) {
    wr_sbuf  values = {.max = 900};
    uint32_t row = rows[f->failed && f->fail_row < f->call.n_rows ? f->fail_row : 0];
    wr_fail(err, WR_DATA, "22000", "%s: %s", s->agg.user->udf->name, f->failed && f->message[0] ? f->message : "failed and did not say why");
    if (!err) return WR_DATA;
    for (uint32_t i = 0; i < n_cols; i++) {
        if (i) wr_sbuf_addz(&values, ", ");
        wr_vec_text(&cols[i], row, NULL, &values);
    }
    wr_err_detail(err, "in %s(%.*s)%s", s->agg.user->udf->name, WR_FMT(wr_sbuf_str(&values)), out ? ", which is taken back" : "");
    wr_sbuf_free(&values);
    return WR_DATA;
}

static void measured(wr_user_frame *u, const char *name, uint32_t n, uint64_t ns) {
    ns *= n < MEASURED_ROWS ? MEASURED_EVERY : 1;
    u->cost.all_ns += ns;
    u->cost.most_ns += ns; /* of several functions the last one has the name */
    u->cost.most = name, u->cost.user = true;
}
void wr_user_cost(const wr_aggs *a, wr_prog_cost *out) {
    if (a->user) *out = a->user->cost;
}

/* Rows rows[0..n-1] into (sign +1) or out of the states. */
static wr_status run(wr_aggs *a, const wr_agg_slot *s, const wr_vec *arg, const uint32_t *rows, void **states, uint32_t n, int sign, wr_err *err) {
    const wr_vec *cols;
    uint32_t      n_cols = columns_of(s, arg, &cols);
    weir_column  *args = wr_new_n(a->user->scratch, weir_column, n_cols);
    for (uint32_t i = 0; i < n_cols; i++)
        if (!wr_udf_column(&cols[i], false, rows, n, s->user_nulls, a->user->scratch, &args[i]))
            return wr_fail(err, WR_LIMIT, "54000", "%s would get more than 2 GiB of text in one batch", s->agg.user->udf->name);
    wr_udf_frame *f = frame(a, n);
    wr_assert(sign > 0 || s->user->retract);
    bool     measure = n >= MEASURED_ROWS || a->user->calls++ % MEASURED_EVERY == 0;
    uint64_t from = measure ? wr_cost_ns() : 0;
    int      rc = sign > 0 ? s->user->accumulate(&f->call, states, args) : s->user->retract(&f->call, states, args);
    if (measure) measured(a->user, s->agg.user->udf->name, n, wr_cost_ns() - from);
    settle_bytes(a);
    return rc || f->failed ? report(f, s, cols, n_cols, rows, sign < 0, err) : WR_OK;
}

wr_status wr_user_feed(wr_aggs *a, const wr_agg_slot *s, const wr_vec *arg, const uint32_t *rows, void *const *blocks, const int8_t *sign, const uint16_t *pass,
                       uint32_t n, wr_err *err) {
    wr_arena_reset(a->user->scratch);
    uint32_t *mine = wr_arena_alloc(a->user->scratch, (n + 1) * sizeof *mine);
    void    **states = wr_arena_alloc(a->user->scratch, (n + 1) * sizeof *states);
    for (uint32_t k = 0, m = 0; k <= n; k++) {
        if (m && (k == n || (sign && sign[pass[k]] != sign[pass[k - 1]]))) {
            WR_TRY(run(a, s, arg, mine, states, m, sign ? sign[pass[k - 1]] : 1, err));
            m = 0;
        }
        if (k == n) break;
        wr_acc_user *acc = (wr_acc_user *)(void *)((char *)blocks[pass[k]] + s->at);
        if (wr_user_skips(s, arg, rows[pass[k]])) continue;
        make(a, s, acc);
        mine[m] = rows[pass[k]];
        states[m++] = state_of(acc);
    }
    return WR_OK;
}

/* One value behind DISTINCT. */
wr_status wr_user_one(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc, wr_cell v, int sign, wr_err *err) {
    const uint32_t row = 0;
    wr_mem        *mem = wr_mem_new(1024);
    wr_vec         vec;
    wr_status      st = WR_OK;
    wr_arena_reset(a->user->scratch);
    wr_vec_init(&vec, s->agg.arg_type, 1, false, mem);
    wr_cell_put(s, v, &vec, 0, mem);
    if (!wr_user_skips(s, &vec, 0)) {
        make(a, s, acc);
        void *state = state_of(acc);
        st = run(a, s, &vec, &row, &state, 1, sign, err);
    }
    wr_mem_unref(mem);
    return st;
}

/* ---- whole states ---- */

static void image_of(wr_aggs *a, const wr_agg_slot *s, const wr_acc_user *acc, wr_sbuf *out) {
    const void *state = acc + 1;
    if (!s->user->save) {
        wr_sbuf_add(out, state, s->user->state_bytes);
        return;
    }
    wr_udf_frame *f = frame(a, 1);
    f->image = out;
    s->user->save(&f->call, state);
    f->image = NULL;
}
static bool from_image(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc, wr_str image) {
    make(a, s, acc);
    if (!s->user->load) {
        if (image.len != s->user->state_bytes) return false;
        memcpy(state_of(acc), image.ptr, image.len);
        return true;
    }
    wr_udf_frame *f = frame(a, 1);
    int           rc = s->user->load(&f->call, state_of(acc), image.ptr, image.len);
    settle_bytes(a);
    return !rc && !f->failed;
}
void wr_user_save(wr_aggs *a, const wr_agg_slot *s, const wr_acc_user *acc, wr_sbuf *out) {
    wr_sbuf image = {0};
    wr_put_u8(out, acc->live != 0);
    if (!acc->live) return;
    wr_arena_reset(a->user->scratch);
    image_of(a, s, acc, &image);
    wr_put_bytes(out, image.at, image.len);
    wr_sbuf_free(&image);
}
bool wr_user_load(wr_aggs *a, const wr_agg_slot *s, wr_acc_user *acc, wr_reader *in) {
    if (!wr_get_u8(in)) return !in->bad;
    wr_str image = wr_get_bytes(in);
    wr_arena_reset(a->user->scratch);
    return !in->bad && from_image(a, s, acc, image);
}

/* Pairs of blocks. An empty one takes over a copy where there is no merge: the planner lets no other pair come then. */
void wr_user_merge(wr_aggs *a, const wr_agg_slot *s, void *const *into, void *const *from, uint32_t n) {
    wr_arena_reset(a->user->scratch);
    void   **x = wr_arena_alloc(a->user->scratch, (n + 1) * sizeof *x), **y = wr_arena_alloc(a->user->scratch, (n + 1) * sizeof *y);
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        wr_acc_user *to = (wr_acc_user *)(void *)((char *)into[i] + s->at), *of = (wr_acc_user *)(void *)((char *)from[i] + s->at);
        if (!of->live) continue;
        if (!s->user->merge) {
            wr_sbuf image = {0};
            wr_assert(!to->live);
            image_of(a, s, of, &image);
            bool ok = from_image(a, s, to, wr_sbuf_str(&image));
            wr_assert(ok);
            wr_sbuf_free(&image);
            continue;
        }
        make(a, s, to);
        x[m] = state_of(to), y[m++] = state_of(of);
    }
    if (m) s->user->merge(&frame(a, m)->call, x, y);
    settle_bytes(a);
}

static char *room(void *mem, size_t bytes) { return wr_mem_alloc(mem, bytes); }
void wr_user_result(wr_aggs *a, const wr_agg_slot *s, void *const *blocks, uint32_t n, wr_vec *dst, uint32_t first, uint32_t step, wr_mem *mem) {
    wr_acc_user *empty = NULL;
    weir_column  out;
    uint32_t     bad;
    const char  *why;
    if (!n) return;
    wr_arena_reset(a->user->scratch);
    void **states = wr_arena_alloc(a->user->scratch, n * sizeof *states);
    for (uint32_t i = 0; i < n; i++) {
        wr_acc_user *acc = (wr_acc_user *)(void *)((char *)blocks[i] + s->at);
        if (!acc->live && !empty) make(a, s, empty = wr_arena_calloc(a->user->scratch, sizeof *empty + s->user->state_bytes));
        states[i] = state_of(acc->live ? acc : empty);
    }
    wr_udf_result_init(s->agg.user->result, n, a->user->scratch, &out);
    s->user->result(&frame(a, n)->call, states, &out);
    /* a result cannot fail: one that is none is NULL */
    while ((why = wr_udf_result_put(&out, n, dst, (wr_udf_place){NULL, first, step, room, mem}, &bad)) && weir_bit(out.validity, bad)) weir_set_null(&out, bad);
    for (uint32_t i = 0; i < n; i++)
        if (why || !weir_bit(out.validity, i)) wr_vec_set_null(dst, first + i * step, mem);
    if (empty) wr_user_drop(a, s, empty);
    settle_bytes(a);
}

const char *wr_agg_lacks(const wr_agg *agg, bool retract, bool merge) {
    if (agg->kind != WR_AGG_USER) return NULL;
    const weir_aggregate *u = agg->user->decl->aggregate;
    if (retract && !u->retract) return "retract";
    return merge && !u->merge ? "merge" : NULL;
}
