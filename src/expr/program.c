/* expr/program.c: several expression trees -> one flat list of steps, run over whole batches.
 *
 * Idea       a step is a leaf or a call and owns one register (a column, or one row when it is constant). Equal pure sub-trees are
 *            computed once. A lazy step (AND, OR, CASE, COALESCE) is followed by the steps of those arguments that can fail or cost
 *            something; it runs them itself, each only for the rows that need it. Arguments made of dense kernels only are computed
 *            for all rows before it.
 * Invariant  a register is valid for the rows that its step was run with; steps read it only for a subset of them, but for dense
 *            kernels, to which any bits are welcome. Rows of string and nested registers that were not computed are zero.
 * Memory     registers that no output needs live in buffers of the program, made once; text in an arena reset per batch; what an
 *            output refers to is allocated in the caller's wr_mem.
 * Thread     one worker. Not here: kernels (fn_*.c), tree building (resolve.c).                                     */
#include <stdarg.h>
#include "base/hash.h"
#include "fn.h"

typedef struct wr_reg {
    wr_vec    vec;
    bool      is_const;
    void     *data; /* buffers for WR_BATCH_MAX rows, reused; NULL until needed */
    uint64_t *valid;
} wr_reg;

typedef struct wr_range { uint32_t begin, end; } wr_range;

typedef struct wr_step {
    const wr_expr *expr;
    const wr_impl *impl;   /* NULL for leaves */
    uint32_t       n_args, next; /* next: the step after this one and its ranges */
    uint32_t      *args;   /* registers = indexes of steps */
    wr_arg        *argv;
    wr_range      *ranges; /* lazy steps: per argument; empty = computed before */
    uint16_t      *rest, *taken; /* lazy steps: row lists */
    bool           escapes, in_mem;
    void          *state;
    void         (*state_free)(void *);
    uint64_t       cost_ns; /* of its calls in evaluations that were measured */
} wr_step;

enum { COST_EVERY = 16, COST_ALL_NS = 200000 }; /* one evaluation in so many is measured; each one of a program that took that long: then a clock read is nothing */
enum { SEEN_HEADS = 64 }; /* at first; they double with the steps */
typedef struct seen_step { uint64_t hash; uint32_t step, before; } seen_step; /* before: next of the chain, as in seen_heads */

struct wr_prog {
    wr_arena    *arena;   /* steps */
    wr_arena    *scratch; /* text of the current batch */
    wr_mem      *consts;  /* constant registers */
    WR_ARR(wr_step) steps;
    wr_reg      *regs;    /* one a step, made when the list is complete */
    WR_ARR(seen_step) seen; /* steps that an equal sub-tree may share, the newest last */
    uint32_t    *seen_heads, n_heads; /* 1 + index of the newest of a chain; n_heads is a power of two */
    uint32_t    *out;
    uint32_t     n_out;
    const wr_schema *names; /* or NULL */
    bool         keeps_consts, keeps_input, has_nested;
    const wr_tz *tz;
    wr_world    *world;
    wr_rng       rng;
    bool         rng_ready;
    uint16_t     rows[WR_BATCH_MAX];
    /* of the running call */
    const wr_batch *in;
    wr_mem         *mem;
    int64_t         now_us;
    wr_err         *err;
    uint32_t        evals, every; /* every: of which one is measured */
    uint64_t        took_ns;      /* all calls of the last one that was */
    bool            measured;     /* this one is */
};

typedef struct wr_rows { const uint16_t *rows; uint32_t n; } wr_rows; /* rows NULL = 0..n-1 */

static bool is_nested(wr_type t) { return wr_type_storage(t) == WR_S_LIST || wr_type_storage(t) == WR_S_ROW; }
static bool has_pointers(wr_type t) { return wr_type_storage(t) == WR_S_STR || is_nested(t); }

/* ---- building ---- */
static bool is_dense(const wr_expr *e) {
    if (e->kind != WR_E_CALL) return true;
    const wr_impl *impl = e->impl;
    if (!(impl->flags & (FN_DENSE | FN_SAME | FN_LAZY)) || is_nested(e->type)) return false;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!is_dense(e->args[i])) return false;
    return true;
}

static uint32_t push_step(wr_prog *p, const wr_expr *e) {
    wr_step s = {.expr = e, .impl = e->kind == WR_E_CALL ? e->impl : NULL, .n_args = e->n_args};
    if (e->n_args) {
        s.args = wr_new_n(p->arena, uint32_t, e->n_args);
        s.argv = wr_new_n(p->arena, wr_arg, e->n_args);
    }
    wr_arr_push(&p->steps, s);
    p->steps.at[p->steps.n - 1].next = p->steps.n;
    return p->steps.n - 1;
}

static uint64_t const_hash(const wr_value *v) {
    if (v->null) return 0;
    switch (wr_type_storage(v->type)) {
    case WR_S_I8: case WR_S_I16: case WR_S_I32: case WR_S_I64: return wr_hash_u64((uint64_t)v->i);
    case WR_S_STR: return wr_hash_bytes(v->s.ptr, v->s.len);
    default: return 1;
    }
}

/* Equal expressions have equal hashes; looking a few levels down is enough to tell most others apart. */
static uint64_t shallow_hash(const wr_expr *e, uint32_t levels) {
    uint64_t h = wr_hash_u64(e->kind);
    if (e->kind == WR_E_COL) return wr_hash_mix(h, wr_hash_u64(e->col));
    if (e->kind == WR_E_CONST) return wr_hash_mix(h, const_hash(&e->value));
    h = wr_hash_mix(h, wr_hash_u64((uint64_t)(uintptr_t)e->impl));
    for (uint32_t i = 0; levels && i < WR_MIN(e->n_args, 8u); i++) h = wr_hash_mix(h, shallow_hash(e->args[i], levels - 1));
    return h;
}

static bool find_seen(const wr_prog *p, const wr_expr *e, uint64_t hash, uint32_t *step) {
    for (uint32_t i = p->seen_heads[hash & (p->n_heads - 1)]; i; i = p->seen.at[i - 1].before) {
        const seen_step *s = &p->seen.at[i - 1];
        if (s->hash == hash && wr_expr_equal(p->steps.at[s->step].expr, e)) return *step = s->step, true;
    }
    return false;
}

static void grow_heads(wr_prog *p) {
    p->n_heads = p->n_heads ? p->n_heads * 4 : SEEN_HEADS;
    wr_free(p->seen_heads);
    p->seen_heads = wr_calloc(p->n_heads, sizeof *p->seen_heads);
    for (uint32_t i = 0; i < p->seen.n; i++) { /* in order of age, so that the newest is the head of its chain again */
        uint32_t *head = &p->seen_heads[p->seen.at[i].hash & (p->n_heads - 1)];
        p->seen.at[i].before = *head;
        *head = i + 1;
    }
}

static void add_seen(wr_prog *p, uint64_t hash, uint32_t step) {
    if (p->seen.n >= p->n_heads) grow_heads(p);
    uint32_t *head = &p->seen_heads[hash & (p->n_heads - 1)];
    wr_arr_push(&p->seen, ((seen_step){hash, step, *head}));
    *head = p->seen.n;
}

static void forget_seen(wr_prog *p, uint32_t down_to) {
    for (; p->seen.n > down_to; p->seen.n--) {
        const seen_step *s = &p->seen.at[p->seen.n - 1];
        p->seen_heads[s->hash & (p->n_heads - 1)] = s->before;
    }
}

static uint32_t add_expr(wr_prog *p, const wr_expr *e);

static uint32_t add_lazy(wr_prog *p, const wr_expr *e) {
    uint32_t *args = wr_new_n(p->arena, uint32_t, e->n_args);
    for (uint32_t i = 0; i < e->n_args; i++)
        if (i == 0 || is_dense(e->args[i])) args[i] = add_expr(p, e->args[i]);
    uint32_t  at = push_step(p, e);
    wr_range *ranges = wr_new_n(p->arena, wr_range, e->n_args);
    for (uint32_t i = 1; i < e->n_args; i++) {
        if (is_dense(e->args[i])) continue;
        uint32_t mark = p->seen.n;
        ranges[i].begin = p->steps.n;
        args[i] = add_expr(p, e->args[i]);
        ranges[i].end = p->steps.n;
        forget_seen(p, mark);
    }
    wr_step *s = &p->steps.at[at];
    memcpy(s->args, args, e->n_args * sizeof *args);
    s->ranges = ranges;
    s->next = p->steps.n;
    s->rest = wr_arena_alloc(p->arena, sizeof(uint16_t) * WR_BATCH_MAX);
    s->taken = wr_arena_alloc(p->arena, sizeof(uint16_t) * WR_BATCH_MAX);
    return at;
}

static uint32_t add_expr(wr_prog *p, const wr_expr *e) {
    bool shared = e->kind == WR_E_COL || (e->kind == WR_E_CALL && wr_expr_volatility(e) != WR_VOL_RANDOM);
    uint64_t hash = shared ? shallow_hash(e, 4) : 0;
    uint32_t at;
    if (shared && find_seen(p, e, hash, &at)) return at;
    if (e->kind == WR_E_CALL && ((const wr_impl *)e->impl)->flags & FN_LAZY) {
        at = add_lazy(p, e);
    } else {
        uint32_t *args = wr_new_n(p->arena, uint32_t, e->n_args ? e->n_args : 1);
        for (uint32_t i = 0; i < e->n_args; i++) args[i] = add_expr(p, e->args[i]);
        at = push_step(p, e);
        if (e->n_args) memcpy(p->steps.at[at].args, args, e->n_args * sizeof *args);
    }
    if (shared) add_seen(p, hash, at);
    return at;
}

/* What an output's memory refers to must outlive the program's scratch. */
static void mark(wr_prog *p, uint32_t at, bool in_mem) {
    wr_step *s = &p->steps.at[at];
    if (s->escapes && (s->in_mem || !in_mem)) return;
    s->escapes = true;
    s->in_mem |= in_mem;
    if (s->expr->kind == WR_E_COL) p->keeps_input = true;
    if (s->impl && s->impl->flags & FN_SAME) mark(p, s->args[0], in_mem); /* the same register under another type */
    if (!has_pointers(s->expr->type)) return;
    if (s->expr->kind == WR_E_CONST) p->keeps_consts = true;
    for (uint32_t i = 0; i < s->n_args; i++) {
        bool nested = is_nested(s->expr->type) || is_nested(s->expr->args[i]->type);
        if (nested || has_pointers(s->expr->args[i]->type)) mark(p, s->args[i], nested);
    }
}

wr_prog *wr_prog_new(wr_expr *const *exprs, uint32_t n, const wr_tz *tz, wr_world *world) {
    wr_prog *p = wr_calloc(1, sizeof *p);
    p->arena = wr_arena_new(NULL);
    p->scratch = wr_arena_new(NULL);
    p->consts = wr_mem_new(1024);
    p->tz = tz, p->world = world;
    p->n_out = n;
    p->out = wr_new_n(p->arena, uint32_t, n ? n : 1);
    grow_heads(p);
    for (uint32_t i = 0; i < n; i++) p->out[i] = add_expr(p, exprs[i]);
    wr_free(p->seen_heads);
    p->seen_heads = NULL;
    for (uint32_t i = 0; i < n; i++) mark(p, p->out[i], true);
    p->regs = wr_calloc(p->steps.n ? p->steps.n : 1, sizeof *p->regs);
    for (uint32_t i = 0; i < p->steps.n; i++) {
        wr_step *s = &p->steps.at[i];
        if (is_nested(s->expr->type)) {
            p->has_nested = true;
            mark(p, i, true);
        }
        if (s->expr->kind == WR_E_CONST) {
            wr_value_fill(&s->expr->value, &p->regs[i].vec, 1, p->consts);
            p->regs[i].is_const = true;
        }
    }
    return p;
}

void wr_prog_free(wr_prog *p) {
    if (!p) return;
    for (uint32_t i = 0; i < p->steps.n; i++) {
        if (p->steps.at[i].state && p->steps.at[i].state_free) p->steps.at[i].state_free(p->steps.at[i].state);
        wr_free(p->regs[i].data);
        wr_free(p->regs[i].valid);
    }
    wr_arr_free(&p->steps);
    wr_arr_free(&p->seen);
    wr_free(p->regs);
    wr_mem_unref(p->consts);
    wr_arena_free(p->arena);
    wr_arena_free(p->scratch);
    wr_free(p);
}

void wr_prog_names(wr_prog *p, const wr_schema *input) { p->names = input; }

/* ---- what kernels call ---- */
static void need_valid(wr_call *c) {
    if (c->out->valid) return;
    c->out->valid = c->valid_buf;
    memset(c->valid_buf, 0xFF, wr_valid_bytes(c->n));
}

void call_null(wr_call *c, uint32_t row) {
    need_valid(c);
    wr_valid_set(c->out->valid, row, false);
}

char *call_text(wr_call *c, size_t len) {
    if (len == 0) len = 1;
    return c->escapes && c->mem ? wr_mem_alloc(c->mem, len) : wr_arena_alloc(c->scratch, len);
}

void call_put(wr_call *c, uint32_t row, const char *ptr, size_t len) {
    if (len > 12) {
        char *copy = call_text(c, len);
        memcpy(copy, ptr, len);
        ptr = copy;
    }
    call_view(c, row, ptr, len);
}

wr_status call_fail(wr_call *c, uint32_t row, const char *code, const char *fmt, ...) {
    if (c->is_try) {
        call_null(c, row);
        return WR_OK;
    }
    char    text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wr_fail(c->err, WR_DATA, code, "%s", text);
    if (!c->err) return WR_DATA;
    c->err->at = c->expr->at;
    wr_sbuf detail = {.max = 900};
    wr_sbuf_addz(&detail, "in ");
    wr_expr_text(c->expr, c->names, &detail);
    uint64_t *bits = wr_arena_calloc(c->scratch, c->in ? (c->in->n_cols + 64) / 64 * 8 + 8 : 8);
    const char *sep = " where ";
    if (c->in && row < c->in->n_rows && c->n > 0) {
        wr_expr_columns(c->expr, bits);
        for (uint32_t k = 0; k < c->in->n_cols; k++) {
            if (!(bits[k >> 6] >> (k & 63) & 1)) continue;
            wr_expr column = {.kind = WR_E_COL, .col = k};
            wr_sbuf_addz(&detail, sep);
            wr_expr_text(&column, c->names, &detail);
            wr_sbuf_addz(&detail, " = ");
            wr_vec_text(&c->in->cols[k], row, c->tz, &detail);
            sep = ", ";
        }
    }
    wr_str d = wr_sbuf_str(&detail);
    wr_err_detail(c->err, "%.*s", WR_FMT(d));
    wr_sbuf_free(&detail);
    return WR_DATA;
}

static uint64_t prog_random(wr_call *c) {
    wr_prog *p = c->rng;
    if (!p->rng_ready) {
        wr_rng_seed(&p->rng, p->world ? p->world->vt->random(p->world) : (uint64_t)p->now_us);
        p->rng_ready = true;
    }
    return wr_rng_next(&p->rng);
}

/* ---- registers ---- */
static uint64_t *valid_buffer(wr_prog *p, uint32_t at, uint32_t n) {
    if (p->steps.at[at].in_mem && p->mem) return wr_mem_alloc(p->mem, wr_valid_bytes(n));
    if (!p->regs[at].valid) p->regs[at].valid = wr_aligned_alloc(64, wr_valid_bytes(WR_BATCH_MAX));
    return p->regs[at].valid;
}

static void prepare(wr_prog *p, uint32_t at, uint32_t n, bool zero) {
    wr_step *s = &p->steps.at[at];
    wr_reg  *reg = &p->regs[at];
    if ((s->in_mem && p->mem) || is_nested(s->expr->type)) {
        wr_vec_init(&reg->vec, s->expr->type, n, false, p->mem);
    } else {
        size_t width = wr_storage_size(wr_type_storage(s->expr->type));
        if (!reg->data) reg->data = wr_aligned_alloc(64, width ? width * WR_BATCH_MAX : 64);
        reg->vec = (wr_vec){.type = s->expr->type, .data = reg->data, .n = n};
    }
    wr_storage st = wr_type_storage(s->expr->type);
    if (zero && (st == WR_S_STR || st == WR_S_LIST)) memset(reg->vec.data, 0, wr_storage_size(st) * n);
}

static void all_null(wr_prog *p, uint32_t at, uint32_t n) {
    wr_reg *reg = &p->regs[at];
    reg->vec.valid = valid_buffer(p, at, n);
    memset(reg->vec.valid, 0, wr_valid_bytes(n));
    size_t width = wr_storage_size(wr_type_storage(reg->vec.type));
    if (width && reg->vec.data) memset(reg->vec.data, 0, width * n);
}

/* valid = AND of the arguments' bitmaps; false: an argument is a constant NULL. */
static bool join_valid(wr_prog *p, uint32_t at, uint32_t n) {
    wr_step  *s = &p->steps.at[at];
    uint64_t *valid = NULL;
    uint32_t  words = (n + 63) / 64;
    for (uint32_t k = 0; k < s->n_args; k++) {
        const wr_vec *v = s->argv[k].vec;
        if (v->type.id == WR_T_NULL) return false;
        if (!v->valid) continue;
        if (s->argv[k].mask == 0) {
            if (!wr_valid_get(v->valid, 0)) return false;
            continue;
        }
        if (!valid) {
            valid = valid_buffer(p, at, n);
            memcpy(valid, v->valid, words * 8);
        } else {
            for (uint32_t w = 0; w < words; w++) valid[w] &= v->valid[w];
        }
    }
    p->regs[at].vec.valid = valid;
    return true;
}

static uint32_t list_rows(const uint64_t *valid, wr_rows sel, uint16_t *out) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < sel.n; i++) {
        uint32_t r = sel.rows ? sel.rows[i] : i;
        out[k] = (uint16_t)r;
        k += valid[r >> 6] >> (r & 63) & 1;
    }
    return k;
}

/* ---- running one call ---- */
static wr_status run_call(wr_prog *p, uint32_t at, wr_rows sel) {
    wr_step *s = &p->steps.at[at];
    wr_reg  *reg = &p->regs[at];
    bool     is_const = !(s->impl->flags & FN_PER_ROW);
    for (uint32_t k = 0; k < s->n_args; k++) {
        const wr_reg *a = &p->regs[s->args[k]];
        s->argv[k] = (wr_arg){&a->vec, a->is_const ? 0 : UINT32_MAX};
        is_const &= a->is_const;
    }
    reg->is_const = is_const;
    if (s->impl->flags & FN_SAME) {
        reg->vec = p->regs[s->args[0]].vec;
        reg->vec.type = s->expr->type;
        return WR_OK;
    }
    uint32_t n = is_const ? 1 : p->in->n_rows;
    if (is_const) sel = (wr_rows){NULL, 1};
    bool custom = s->impl->flags & FN_CUSTOM;
    prepare(p, at, n, sel.rows != NULL || s->n_args > 0);
    if (!custom && !join_valid(p, at, n)) {
        all_null(p, at, n);
        return WR_OK;
    }
    wr_call c = {.expr = s->expr, .impl = s->impl, .n = n, .n_rows = sel.n, .rows = sel.rows, .n_args = s->n_args, .arg = s->argv, .out = &reg->vec,
                 .escapes = s->escapes, .mem = p->mem, .scratch = p->scratch, .state = &s->state, .state_free = &s->state_free, .in = p->in, .names = p->names, .tz = p->tz,
                 .world = p->world, .now_us = p->now_us, .random = prog_random, .rng = p, .err = p->err};
    c.is_try = s->expr->fn->name[0] == 'T' && strcmp(s->expr->fn->name, "TRY_CAST") == 0;
    c.valid_buf = reg->vec.valid ? reg->vec.valid : (s->impl->flags & FN_DENSE) && !custom && !(s->impl->flags & FN_NULLABLE) ? NULL : valid_buffer(p, at, n);
    if (!(s->impl->flags & FN_DENSE) && !custom && reg->vec.valid) {
        c.n_rows = list_rows(reg->vec.valid, sel, p->rows);
        c.rows = p->rows;
    }
    return s->impl->kernel(&c);
}

static wr_status run_measured(wr_prog *p, uint32_t at, wr_rows sel) {
    uint64_t  from = wr_cost_ns();
    wr_status status = run_call(p, at, sel);
    uint64_t  ns = wr_cost_ns() - from;
    p->steps.at[at].cost_ns += ns * p->every;
    p->took_ns += ns;
    return status;
}

/* ---- lazy steps ---- */
static wr_status run(wr_prog *p, uint32_t begin, uint32_t end, wr_rows sel);

static wr_status run_range(wr_prog *p, const wr_step *s, uint32_t arg, wr_rows sel) {
    wr_range r = s->ranges[arg];
    return r.begin == r.end ? WR_OK : run(p, r.begin, r.end, sel);
}

/* States of three-valued logic, as bytes: 0 FALSE, 1 TRUE, 2 NULL. */
WR_INLINE uint8_t state_of(const wr_reg *reg, uint32_t row) {
    uint32_t r = reg->is_const ? 0 : row;
    return wr_vec_is_null(&reg->vec, r) ? 2 : ((const uint8_t *)reg->vec.data)[r];
}

static void combine(uint8_t *acc, const wr_reg *reg, wr_rows sel, bool is_and, bool *nulls) {
    for (uint32_t i = 0; i < sel.n; i++) {
        uint32_t r = sel.rows ? sel.rows[i] : i;
        uint8_t  a = acc[r], b = state_of(reg, r), stop = !is_and;
        uint8_t  v = a == stop || b == stop ? stop : (a == 2 || b == 2) ? 2 : is_and;
        acc[r] = v;
        *nulls |= v == 2;
    }
}

static void combine_dense(uint8_t *restrict acc, const wr_reg *reg, uint32_t n, bool is_and) {
    const uint8_t *restrict v = reg->vec.data;
    if (reg->is_const) {
        uint8_t x = v[0];
        for (uint32_t i = 0; i < n; i++) acc[i] = is_and ? acc[i] & x : acc[i] | x;
    } else if (is_and) {
        for (uint32_t i = 0; i < n; i++) acc[i] &= v[i];
    } else {
        for (uint32_t i = 0; i < n; i++) acc[i] |= v[i];
    }
}

static wr_status run_logic(wr_prog *p, uint32_t at, wr_rows sel) {
    wr_step *s = &p->steps.at[at];
    wr_reg  *reg = &p->regs[at];
    uint32_t n = p->in->n_rows;
    bool     is_and = s->expr->fn->name[0] == 'A', nulls = false;
    prepare(p, at, n, false);
    reg->is_const = false;
    uint8_t *acc = reg->vec.data;
    memset(acc, is_and, n);
    wr_rows live = sel;
    for (uint32_t k = 0; k < s->n_args; k++) {
        if (s->ranges[k].begin != s->ranges[k].end) {
            uint32_t m = 0;
            for (uint32_t i = 0; i < live.n; i++) {
                uint32_t r = live.rows ? live.rows[i] : i;
                s->rest[m] = (uint16_t)r; /* in place is fine: m <= i */
                m += acc[r] != !is_and;
            }
            live = (wr_rows){s->rest, m};
            if (m == 0) break;
            WR_TRY(run_range(p, s, k, live));
        }
        const wr_reg *a = &p->regs[s->args[k]];
        if (!nulls && !a->vec.valid && !live.rows && a->vec.type.id != WR_T_NULL) combine_dense(acc, a, n, is_and);
        else combine(acc, a, live, is_and, &nulls);
    }
    if (!nulls) return WR_OK;
    reg->vec.valid = valid_buffer(p, at, n);
    memset(reg->vec.valid, 0xFF, wr_valid_bytes(n));
    for (uint32_t i = 0; i < sel.n; i++) {
        uint32_t r = sel.rows ? sel.rows[i] : i;
        if (acc[r] != 2) continue;
        acc[r] = 0;
        wr_valid_set(reg->vec.valid, r, false);
    }
    return WR_OK;
}

#define COPY_ROWS(T)                                                                               \
    for (uint32_t i = 0; i < sel.n; i++) {                                                         \
        uint32_t r = sel.rows ? sel.rows[i] : i;                                                   \
        ((T *)dst->data)[r] = ((const T *)src->data)[r & mask];                                    \
    }
typedef struct wr_bytes16 { uint64_t a, b; } wr_bytes16;

/* dst[r] = src[r] for the rows; NULLs too. dst->valid is made when it is needed. */
static void copy_rows(wr_prog *p, uint32_t at, const wr_reg *from, wr_rows sel) {
    wr_vec       *dst = &p->regs[at].vec;
    const wr_vec *src = &from->vec;
    uint32_t      mask = from->is_const ? 0 : UINT32_MAX, n = p->in->n_rows;
    if ((src->valid || src->type.id == WR_T_NULL) && !dst->valid) {
        dst->valid = valid_buffer(p, at, n);
        memset(dst->valid, 0xFF, wr_valid_bytes(n));
    }
    if (dst->valid) /* a row may have been NULL from an earlier argument of COALESCE */
        for (uint32_t i = 0; i < sel.n; i++) {
            uint32_t r = sel.rows ? sel.rows[i] : i;
            wr_valid_set(dst->valid, r, !wr_vec_is_null(src, r & mask));
        }
    if (src->type.id == WR_T_NULL) return;
    if (is_nested(dst->type)) {
        for (uint32_t i = 0; i < sel.n; i++) {
            uint32_t r = sel.rows ? sel.rows[i] : i;
            if (!wr_vec_is_null(src, r & mask)) wr_vec_set(dst, r, src, r & mask, p->mem);
        }
        return;
    }
    switch (wr_storage_size(wr_type_storage(dst->type))) {
    case 1: COPY_ROWS(uint8_t) break;
    case 2: COPY_ROWS(uint16_t) break;
    case 4: COPY_ROWS(uint32_t) break;
    case 8: COPY_ROWS(uint64_t) break;
    case 16: COPY_ROWS(wr_bytes16) break;
    default: break;
    }
}

static void prepare_choice(wr_prog *p, uint32_t at) {
    prepare(p, at, p->in->n_rows, true);
    p->regs[at].is_const = false;
    if (is_nested(p->regs[at].vec.type)) { /* wr_vec_set wants a bitmap where NULLs may come */
        p->regs[at].vec.valid = valid_buffer(p, at, p->in->n_rows);
        memset(p->regs[at].vec.valid, 0xFF, wr_valid_bytes(p->in->n_rows));
    }
}

static wr_status run_case(wr_prog *p, uint32_t at, wr_rows sel) {
    wr_step *s = &p->steps.at[at];
    prepare_choice(p, at);
    wr_rows rest = sel;
    for (uint32_t k = 0; k + 1 < s->n_args && rest.n; k += 2) {
        WR_TRY(run_range(p, s, k, rest));
        const wr_reg *cond = &p->regs[s->args[k]];
        uint32_t      n_rest = 0, n_taken = 0;
        for (uint32_t i = 0; i < rest.n; i++) {
            uint32_t r = rest.rows ? rest.rows[i] : i;
            bool     yes = state_of(cond, r) == 1;
            s->taken[n_taken] = (uint16_t)r, n_taken += yes;
            s->rest[n_rest] = (uint16_t)r, n_rest += !yes;
        }
        rest = (wr_rows){s->rest, n_rest};
        if (n_taken == 0) continue;
        wr_rows taken = {s->taken, n_taken};
        WR_TRY(run_range(p, s, k + 1, taken));
        copy_rows(p, at, &p->regs[s->args[k + 1]], taken);
    }
    if (rest.n == 0) return WR_OK;
    WR_TRY(run_range(p, s, s->n_args - 1, rest));
    copy_rows(p, at, &p->regs[s->args[s->n_args - 1]], rest);
    return WR_OK;
}

static wr_status run_coalesce(wr_prog *p, uint32_t at, wr_rows sel) {
    wr_step *s = &p->steps.at[at];
    prepare_choice(p, at);
    wr_rows rest = sel;
    for (uint32_t k = 0; k < s->n_args && rest.n; k++) {
        WR_TRY(run_range(p, s, k, rest));
        const wr_reg *a = &p->regs[s->args[k]];
        copy_rows(p, at, a, rest); /* a NULL is overwritten by the next one */
        if (!a->vec.valid && a->vec.type.id != WR_T_NULL) break;
        uint32_t m = 0;
        for (uint32_t i = 0; i < rest.n; i++) {
            uint32_t r = rest.rows ? rest.rows[i] : i;
            s->rest[m] = (uint16_t)r;
            m += wr_vec_is_null(&a->vec, a->is_const ? 0 : r);
        }
        rest = (wr_rows){s->rest, m};
    }
    return WR_OK;
}

static wr_status run(wr_prog *p, uint32_t begin, uint32_t end, wr_rows sel) {
    for (uint32_t i = begin; i < end; i = p->steps.at[i].next) {
        const wr_expr *e = p->steps.at[i].expr;
        if (e->kind == WR_E_CONST) continue;
        if (e->kind == WR_E_COL) {
            wr_assert(e->col < p->in->n_cols);
            p->regs[i].vec = p->in->cols[e->col];
            continue;
        }
        if (!(p->steps.at[i].impl->flags & FN_LAZY)) WR_TRY(WR_UNLIKELY(p->measured) ? run_measured(p, i, sel) : run_call(p, i, sel));
        else if (strcmp(e->fn->name, "CASE") == 0) WR_TRY(run_case(p, i, sel));
        else if (strcmp(e->fn->name, "COALESCE") == 0) WR_TRY(run_coalesce(p, i, sel));
        else WR_TRY(run_logic(p, i, sel));
    }
    return WR_OK;
}

/* ---- the public calls ---- */
static void broadcast(const wr_vec *one, uint32_t n, wr_vec *out, wr_mem *mem) {
    uint32_t zeros[WR_BATCH_MAX];
    memset(zeros, 0, n * sizeof *zeros);
    wr_vec_gather32(out, one, zeros, n, mem);
}

static void start(wr_prog *p, const wr_batch *in, int64_t now_us, wr_mem *mem, wr_err *err) {
    wr_assert(in->n_rows <= WR_BATCH_MAX);
    p->in = in, p->now_us = now_us, p->mem = mem, p->err = err;
    p->every = p->took_ns > COST_ALL_NS || !p->evals ? 1 : COST_EVERY;
    p->measured = p->evals++ % p->every == 0;
    if (p->measured) p->took_ns = 0;
    wr_arena_reset(p->scratch);
}

wr_status wr_prog_eval(wr_prog *p, const wr_batch *in, int64_t now_us, wr_vec *out, wr_mem *mem, wr_err *err) {
    start(p, in, now_us, mem, err);
    uint32_t live = wr_batch_live(in);
    for (uint32_t i = 0; i < p->n_out && live == 0; i++) {
        const wr_expr *e = p->steps.at[p->out[i]].expr;
        wr_vec_init(&out[i], e->type, in->n_rows, true, mem);
        for (uint32_t r = 0; r < in->n_rows; r++) wr_vec_set_null(&out[i], r, mem);
        size_t width = wr_storage_size(wr_type_storage(e->type));
        if (width && in->n_rows) memset(out[i].data, 0, width * in->n_rows);
    }
    if (live == 0) return WR_OK;
    if (p->keeps_consts) wr_mem_keep(mem, p->consts);
    if (p->keeps_input && in->mem && in->mem != mem) wr_mem_keep(mem, in->mem);
    WR_TRY(run(p, 0, p->steps.n, (wr_rows){in->sel, live}));
    for (uint32_t i = 0; i < p->n_out; i++) {
        const wr_expr *e = p->steps.at[p->out[i]].expr;
        const wr_reg  *reg = &p->regs[p->out[i]];
        if (e->kind == WR_E_CONST) wr_value_fill(&e->value, &out[i], in->n_rows, mem);
        else if (reg->is_const) broadcast(&reg->vec, in->n_rows, &out[i], mem);
        else out[i] = reg->vec;
        out[i].type = e->type;
    }
    return WR_OK;
}

wr_status wr_prog_filter(wr_prog *p, const wr_batch *in, int64_t now_us, uint16_t *sel, uint32_t *n_sel, wr_err *err) {
    wr_assert(p->n_out == 1);
    *n_sel = 0;
    wr_rows live = {in->sel, wr_batch_live(in)};
    if (live.n == 0) return WR_OK;
    wr_mem *mem = p->has_nested ? wr_mem_new(4096) : NULL;
    start(p, in, now_us, mem, err);
    wr_status st = run(p, 0, p->steps.n, live);
    const wr_reg  *reg = &p->regs[p->out[0]];
    uint32_t       k = 0, mask = reg->is_const ? 0 : UINT32_MAX;
    const uint8_t *v = reg->vec.data;
    if (st == WR_OK && reg->vec.type.id != WR_T_NULL) {
        if (!reg->vec.valid && !live.rows) {
            for (uint32_t i = 0; i < live.n; i++) sel[k] = (uint16_t)i, k += v[i & mask] & 1;
        } else {
            for (uint32_t i = 0; i < live.n; i++) {
                uint32_t r = live.rows ? live.rows[i] : i;
                sel[k] = (uint16_t)r;
                k += (v[r & mask] & 1) && wr_valid_get(reg->vec.valid, r & mask);
            }
        }
        *n_sel = k;
    }
    wr_mem_unref(mem);
    return st;
}

void wr_prog_cost_add(const wr_prog *p, wr_prog_cost *into) {
    for (uint32_t i = 0; i < p->steps.n; i++) {
        const wr_step *s = &p->steps.at[i];
        uint64_t       ns = s->cost_ns;
        if (s->impl && s->impl->kernel == wr_udf_kernel && !into->first_user) into->first_user = s->expr->fn->name;
        into->all_ns += ns;
        if (ns <= into->most_ns) continue;
        into->most_ns = ns, into->most = s->expr->fn->name, into->user = s->impl->kernel == wr_udf_kernel;
    }
}

wr_status wr_expr_eval_const(wr_expr_ctx *ctx, const wr_expr *e, wr_value *out, wr_err *err) {
    wr_expr  *list[1] = {(wr_expr *)(uintptr_t)e};
    wr_prog  *p = wr_prog_new(list, 1, ctx->tz, ctx->world);
    wr_batch *in = wr_batch_new(0, 256);
    in->n_rows = 1;
    wr_vec    vec = {0};
    wr_status st = wr_prog_eval(p, in, ctx->world ? wr_wall_us(ctx->world) : 0, &vec, in->mem, err);
    if (st == WR_OK) {
        *out = wr_value_from_vec(ctx->arena, &vec, 0);
        out->type = e->type;
    }
    wr_batch_unref(in);
    wr_prog_free(p);
    return st;
}
