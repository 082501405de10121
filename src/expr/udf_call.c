/* expr/udf_call.c: calls of user functions: columns as the user sees them, results back, rows of table functions. See udf.h.
 *
 * Idea       a user function sees rows that all count: what is dead, and NULL unless it wants to see it, is left out before and put back after. A column
 *            that needs nothing of that is handed out as it is, texts excepted, which are views here and offsets there.
 * Invariant  what comes back is checked: a text for every row that is not NULL, UTF-8, DECIMAL and TIME in their ranges, nothing written past the end.
 * Memory     the frame's scratch.                                                                                       */
#include "expr/udf.h"
#include "fn.h"

enum { GUARD = 16, GUARD_BYTE = 0xA5, TABLE_FIRST = 256 };
#define TABLE_ROWS_MAX (UINT32_C(1) << 24) /* of one batch: as a bound of memory */

typedef struct udf_text { const char *ptr; uint32_t len; } udf_text; /* data of a text result; ptr NULL: not given yet */

struct wr_udf_table {
    const wr_udf_sig *sig;
    weir_column      *cols;
    uint32_t          n_in, n, cap, last; /* last: input row of the rows emitted last */
    uint32_t         *count;              /* rows of each input row */
};

static wr_udf_frame *frame_of(weir_call *call) { return (wr_udf_frame *)(void *)call; }

/* ---- what the user calls ---- */

static void fail(weir_call *call, uint32_t row, const char *message) {
    wr_udf_frame *f = frame_of(call);
    if (f->failed) return;
    f->failed = true;
    f->fail_row = row;
    snprintf(f->message, sizeof f->message, "%s", message ? message : "");
}
static void *scratch(weir_call *call, size_t bytes) { return wr_arena_alloc(frame_of(call)->scratch, bytes ? bytes : 1); }

static void put(weir_call *call, weir_column *out, uint32_t row, const void *bytes, size_t n) {
    wr_udf_frame *f = frame_of(call);
    if (row >= out->n || (out->type != WEIR_STRING && out->type != WEIR_BYTES) || n > WR_LENGTH_MAX) {
        fail(call, row < call->n_rows ? row : 0, row >= out->n ? "put a text behind the last row of its result" : "put a text that is too long, or into a column that has none");
        return;
    }
    if (out->type == WEIR_STRING && !wr_utf8_valid((wr_str){bytes, n})) {
        fail(call, row < call->n_rows ? row : 0, "gave text that is not UTF-8");
        return;
    }
    udf_text *t = &((udf_text *)out->data)[row];
    t->ptr = n ? wr_arena_strndup(f->scratch, bytes, n) : "";
    t->len = (uint32_t)n;
}

/* Memory of states has its size in front. */
typedef struct block { size_t bytes, pad; } block;
static void *allocate(weir_call *call, size_t bytes) {
    block *b = wr_malloc(sizeof *b + bytes);
    b->bytes = bytes;
    frame_of(call)->heap_bytes += (int64_t)(2 * sizeof *b + bytes); /* and malloc's own */
    return b + 1;
}
static void release(weir_call *call, void *memory) {
    if (!memory) return;
    block *b = (block *)memory - 1;
    frame_of(call)->heap_bytes -= (int64_t)(2 * sizeof *b + b->bytes);
    wr_free(b);
}
static void *resize(weir_call *call, void *memory, size_t bytes) {
    if (!memory) return allocate(call, bytes);
    block *b = (block *)memory - 1;
    frame_of(call)->heap_bytes += (int64_t)bytes - (int64_t)b->bytes;
    b = wr_realloc(b, sizeof *b + bytes);
    b->bytes = bytes;
    return b + 1;
}
static void write_image(weir_call *call, const void *bytes, size_t n) {
    if (frame_of(call)->image) wr_sbuf_add(frame_of(call)->image, bytes, n);
}

static uint32_t no_emit(weir_call *call, uint32_t in_row, uint32_t n) {
    (void)n;
    fail(call, in_row < call->n_rows ? in_row : 0, "emits rows, but is not a table function");
    return 0;
}

void wr_udf_frame_init(wr_udf_frame *f, wr_arena *arena) {
    *f = (wr_udf_frame){.call = {.size = sizeof(weir_call), .fail = fail, .scratch = scratch, .put = put, .emit = no_emit, .alloc = allocate, .resize = resize,
                                 .free = release, .write = write_image}, .scratch = arena};
}
void wr_udf_frame_begin(wr_udf_frame *f, uint32_t n_rows) {
    f->call.n_rows = n_rows;
    f->failed = false;
}

/* ---- arguments ---- */

static int32_t type_id(wr_type t) {
    switch (t.id) {
    case WR_T_BOOLEAN: return WEIR_BOOLEAN;
    case WR_T_TINYINT: return WEIR_TINYINT;
    case WR_T_SMALLINT: return WEIR_SMALLINT;
    case WR_T_INT: return WEIR_INT;
    case WR_T_BIGINT: return WEIR_BIGINT;
    case WR_T_FLOAT: return WEIR_FLOAT;
    case WR_T_DOUBLE: return WEIR_DOUBLE;
    case WR_T_DECIMAL: return WEIR_DECIMAL;
    case WR_T_BINARY: case WR_T_VARBINARY: return WEIR_BYTES;
    case WR_T_DATE: return WEIR_DATE;
    case WR_T_TIME: return WEIR_TIME;
    case WR_T_TIMESTAMP: return WEIR_TIMESTAMP;
    case WR_T_TIMESTAMP_LTZ: return WEIR_TIMESTAMP_LTZ;
    default: return WEIR_STRING;
    }
}

#define PICK(T)                                                                          \
    {                                                                                    \
        const T *from = vec->data;                                                       \
        T       *to = wr_arena_alloc(arena, n * sizeof(T));                              \
        for (uint32_t i = 0; i < n; i++) to[i] = from[constant ? 0 : rows ? rows[i] : i]; \
        out->data = to;                                                                  \
    }
static bool pick_text(const wr_vec *vec, bool constant, const uint32_t *rows, uint32_t n, wr_arena *arena, weir_column *out) {
    const wr_sview *from = vec->data;
    int32_t        *offsets = wr_arena_alloc(arena, ((size_t)n + 1) * sizeof *offsets);
    uint64_t        sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t r = constant ? 0 : rows ? rows[i] : i;
        offsets[i] = (int32_t)sum;
        if (!wr_vec_is_null(vec, r)) sum += from[r].len;
        if (sum > INT32_MAX) return false;
    }
    offsets[n] = (int32_t)sum;
    char *bytes = wr_arena_alloc(arena, sum + 1);
    for (uint32_t i = 0; i < n; i++) {
        size_t len = (size_t)(offsets[i + 1] - offsets[i]);
        if (len) memcpy(bytes + offsets[i], wr_sview_ptr(&from[constant ? 0 : rows ? rows[i] : i]), len);
    }
    out->offsets = offsets;
    out->data = bytes;
    return true;
}

bool wr_udf_column(const wr_vec *vec, bool constant, const uint32_t *rows, uint32_t n, bool nulls, wr_arena *arena, weir_column *out) {
    *out = (weir_column){.type = type_id(vec->type), .precision = vec->type.prec, .scale = vec->type.scale, .n = n};
    bool as_is = !rows && !constant;
    if (nulls && (vec->valid || vec->type.id == WR_T_NULL)) {
        uint64_t *bits = as_is && vec->valid ? vec->valid : wr_arena_calloc(arena, wr_valid_bytes(n));
        for (uint32_t i = 0; bits != vec->valid && i < n; i++) wr_valid_set(bits, i, !wr_vec_is_null(vec, constant ? 0 : rows ? rows[i] : i));
        out->validity = (uint8_t *)bits;
    }
    wr_storage s = wr_type_storage(vec->type);
    if (s == WR_S_STR) return pick_text(vec, constant, rows, n, arena, out);
    if (s == WR_S_BOOL) {
        uint8_t *bits = out->data = wr_arena_calloc(arena, wr_valid_bytes(n));
        for (uint32_t i = 0; i < n; i++)
            if (((const uint8_t *)vec->data)[constant ? 0 : rows ? rows[i] : i]) bits[i >> 3] |= (uint8_t)(1 << (i & 7));
        return true;
    }
    if (as_is) {
        out->data = vec->data;
        return true;
    }
    switch (s) {
    case WR_S_I8: PICK(int8_t) break;
    case WR_S_I16: PICK(int16_t) break;
    case WR_S_I32: case WR_S_F32: PICK(uint32_t) break;
    case WR_S_I64: case WR_S_F64: PICK(uint64_t) break;
    case WR_S_I128: PICK(wr_i128) break;
    default: wr_assert(!"a type that no signature can have");
    }
    return true;
}

/* ---- results ---- */

static size_t data_bytes(int32_t type, uint32_t n) {
    switch (type) {
    case WEIR_BOOLEAN: return wr_valid_bytes(n);
    case WEIR_TINYINT: return n;
    case WEIR_SMALLINT: return (size_t)n * 2;
    case WEIR_INT: case WEIR_FLOAT: case WEIR_DATE: case WEIR_TIME: return (size_t)n * 4;
    case WEIR_STRING: case WEIR_BYTES: return n * sizeof(udf_text);
    case WEIR_DECIMAL: return (size_t)n * 16;
    default: return (size_t)n * 8;
    }
}
static void *guarded(wr_arena *arena, size_t bytes) {
    char *p = wr_arena_calloc(arena, bytes + GUARD);
    memset(p + bytes, GUARD_BYTE, GUARD);
    return p;
}
static bool guard_holds(const void *data, size_t bytes) {
    const uint8_t *at = (const uint8_t *)data + bytes;
    for (int i = 0; i < GUARD; i++)
        if (at[i] != GUARD_BYTE) return false;
    return true;
}

void wr_udf_result_init(wr_type type, uint32_t n, wr_arena *arena, weir_column *out) {
    *out = (weir_column){.type = type_id(type), .precision = type.prec, .scale = type.scale, .n = n};
    out->validity = guarded(arena, wr_valid_bytes(n));
    memset(out->validity, 0xFF, wr_valid_bytes(n));
    out->data = guarded(arena, data_bytes(out->type, n));
}

WR_INLINE uint32_t place_of(const wr_udf_place *p, uint32_t i) { return p->rows ? p->rows[i] : p->first + i * p->step; }
#define PUT(T)                                                                                    \
    for (uint32_t i = 0; i < n; i++) ((T *)dst->data)[place_of(&place, i)] = ((const T *)r->data)[i]; \
    break
/* NULL rows too: their values do not count. */
const char *wr_udf_result_put(const weir_column *r, uint32_t n, wr_vec *dst, wr_udf_place place, uint32_t *bad) {
    *bad = 0;
    if (!guard_holds(r->validity, wr_valid_bytes(r->n)) || !guard_holds(r->data, data_bytes(r->type, r->n))) return "wrote behind the last row of its result";
    for (uint32_t i = 0; i < n; i++) {
        if (!weir_bit(r->validity, i)) continue;
        *bad = i;
        if (r->type == WEIR_DECIMAL && !wr_decimal_fits(((const wr_i128 *)r->data)[i], dst->type.prec)) return "gave a DECIMAL with more digits than it declares";
        if (r->type == WEIR_TIME && (uint32_t)((const int32_t *)r->data)[i] >= 86400000u) return "gave a TIME that is not within a day";
        if ((r->type == WEIR_STRING || r->type == WEIR_BYTES) && !((const udf_text *)r->data)[i].ptr) return "gave neither a text nor NULL for a row";
    }
    *bad = 0;
    switch (wr_type_storage(dst->type)) {
    case WR_S_BOOL:
        for (uint32_t i = 0; i < n; i++) ((uint8_t *)dst->data)[place_of(&place, i)] = (uint8_t)weir_bit(r->data, i);
        break;
    case WR_S_STR:
        for (uint32_t i = 0; i < n; i++) {
            const udf_text *t = &((const udf_text *)r->data)[i];
            wr_sview       *view = &((wr_sview *)dst->data)[place_of(&place, i)];
            uint32_t        len = weir_bit(r->validity, i) && t->ptr ? t->len : 0;
            if (len <= 12) {
                *view = wr_sview_borrow(t->ptr ? t->ptr : "", len);
            } else {
                char *copy = place.room(place.arg, len);
                memcpy(copy, t->ptr, len);
                *view = wr_sview_borrow(copy, len);
            }
        }
        break;
    case WR_S_I8: PUT(int8_t);
    case WR_S_I16: PUT(int16_t);
    case WR_S_I32: case WR_S_F32: PUT(uint32_t);
    case WR_S_I64: case WR_S_F64: PUT(uint64_t);
    default: PUT(wr_i128);
    }
    return NULL;
}

/* ---- table functions ---- */

static void grow(wr_udf_frame *f, struct wr_udf_table *t, uint32_t need) {
    uint32_t cap = WR_MAX(t->cap, (uint32_t)TABLE_FIRST);
    while (cap < need) cap *= 2;
    for (uint32_t c = 0; c < t->sig->result.n_kids; c++) {
        weir_column *col = &t->cols[c], old = *col;
        wr_udf_result_init(t->sig->result.kids[c], cap, f->scratch, col);
        if (t->n) memcpy(col->validity, old.validity, wr_valid_bytes(t->n)), memcpy(col->data, old.data, data_bytes(old.type, t->n));
        for (uint32_t i = t->n; i % 64; i++) weir_set_bit(col->validity, i, 1); /* the rest of the last word */
    }
    t->cap = cap;
}

static uint32_t emit(weir_call *call, uint32_t in_row, uint32_t n) {
    wr_udf_frame        *f = frame_of(call);
    struct wr_udf_table *t = f->table;
    if (in_row >= t->n_in || in_row < t->last || n > TABLE_ROWS_MAX - t->n) {
        fail(call, in_row < t->n_in ? in_row : 0, in_row >= t->n_in ? "emits rows for a row that there is not" : in_row < t->last ? "emits rows for an earlier row" : "gives more than 16,777,216 rows for a batch");
        return UINT32_MAX;
    }
    if (t->n + n > t->cap) grow(f, t, t->n + n);
    uint32_t first = t->n;
    t->n += n, t->count[in_row] += n, t->last = in_row;
    for (uint32_t c = 0; c < t->sig->result.n_kids; c++) t->cols[c].n = t->n;
    return first;
}

/* ---- the kernel ---- */

typedef struct udf_state { void *self; void (*close)(void *self); } udf_state; /* of a step */

static void state_free(void *p) {
    udf_state *s = p;
    if (s->close && s->self) s->close(s->self);
    wr_free(s);
}
static wr_status report(wr_call *c, const wr_udf_frame *f, const uint32_t *rows, uint32_t row, const char *what) {
    uint32_t at = row < f->call.n_rows ? row : 0;
    at = rows ? rows[at] : at;
    const char *text = what ? what : f->failed && f->message[0] ? f->message : "failed and did not say why";
    return what ? call_fail(c, at, "22000", "function %s %s", c->expr->fn->name, text) : call_fail(c, at, "22000", "%s: %s", c->expr->fn->name, text);
}
static char *room(void *call, size_t len) { return call_text(call, len); }
static char *room_in_mem(void *mem, size_t len) { return wr_mem_alloc(mem, len); }

static wr_status open_state(wr_call *c, wr_udf_frame *f, const weir_function *d) {
    if (!d->open) return WR_OK;
    if (!*c->state) {
        udf_state *s = wr_calloc(1, sizeof *s);
        *s = (udf_state){.close = d->close};
        *c->state = s;
        *c->state_free = state_free;
    }
    udf_state *s = *c->state;
    if (!s->self) {
        wr_udf_frame_begin(f, 0);
        s->self = d->open(&f->call);
        if (f->failed) return report(c, f, NULL, 0, NULL);
    }
    f->call.self = s->self;
    return WR_OK;
}

/* Rows that fail in the checks of a result of a table function are told at the input row that they belong to. */
static uint32_t input_of(const struct wr_udf_table *t, uint32_t out_row) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < t->n_in; i++)
        if ((sum += t->count[i]) > out_row) return i;
    return 0;
}

static wr_status table_rows(wr_call *c, wr_udf_frame *f, const struct wr_udf_table *t, const uint32_t *rows) {
    wr_vec  *kid = &c->out->kids[0];
    uint32_t first = wr_vec_grow(kid, t->n, c->mem), at = first, bad;
    for (uint32_t k = 0; k < t->sig->result.n_kids; k++) {
        const char *why = wr_udf_result_put(&t->cols[k], t->n, &kid->kids[k], (wr_udf_place){NULL, first, 1, room_in_mem, c->mem}, &bad);
        if (why) return report(c, f, rows, input_of(t, bad), why);
        for (uint32_t i = 0; i < t->n; i++)
            if (!weir_bit(t->cols[k].validity, i)) wr_vec_set_null(&kid->kids[k], first + i, c->mem);
    }
    for (uint32_t i = 0; i < t->n_in; at += t->count[i++]) OUT(c, wr_list)[rows ? rows[i] : i] = (wr_list){at, t->count[i]};
    return WR_OK;
}

wr_status wr_udf_kernel(wr_call *c) {
    const wr_udf_sig    *s = (const wr_udf_sig *)(intptr_t)c->impl->extra[0];
    const weir_function *d = s->udf->decl;
    bool                 is_table = d->kind == WEIR_TABLE;
    uint32_t            *rows = NULL, n = c->n_rows, bad;
    wr_udf_frame         f;
    if (!n) return WR_OK;
    wr_udf_frame_init(&f, c->scratch);
    WR_TRY(open_state(c, &f, d));
    if (c->rows && (n != c->n || c->rows[n - 1] != n - 1)) {
        rows = wr_arena_alloc(c->scratch, n * sizeof *rows);
        for (uint32_t i = 0; i < n; i++) rows[i] = c->rows[i];
    }
    weir_column *args = wr_new_n(c->scratch, weir_column, s->n_args + 1), one, *out = &one;
    for (uint32_t k = 0; k < s->n_args; k++)
        if (!wr_udf_column(c->arg[k].vec, !c->arg[k].mask && c->n > 1, rows, n, d->flags & WEIR_SEES_NULL, c->scratch, &args[k]))
            return report(c, &f, rows, 0, "would get more than 2 GiB of text in one batch");
    struct wr_udf_table t = {.sig = s, .n_in = n};
    if (is_table) {
        out = t.cols = wr_new_n(c->scratch, weir_column, s->result.n_kids);
        t.count = wr_new_n(c->scratch, uint32_t, n);
        f.table = &t;
        f.call.emit = emit;
        grow(&f, &t, 0);
        for (uint32_t k = 0; k < s->result.n_kids; k++) t.cols[k].n = 0;
    } else {
        wr_udf_result_init(s->result, n, c->scratch, out);
    }
    wr_udf_frame_begin(&f, n);
    int rc = s->decl->eval(&f.call, args, out);
    if (rc || f.failed) return report(c, &f, rows, f.failed ? f.fail_row : 0, NULL);
    if (is_table) {
        for (uint32_t k = 0; k < s->result.n_kids; k++) t.cols[k].n = t.cap; /* where the guards are */
        return table_rows(c, &f, &t, rows);
    }
    const char *why = wr_udf_result_put(out, n, c->out, (wr_udf_place){rows, 0, 1, room, c}, &bad);
    if (why) return report(c, &f, rows, bad, why);
    for (uint32_t i = 0; i < n; i++)
        if (!weir_bit(out->validity, i)) call_null(c, rows ? rows[i] : i);
    return WR_OK;
}
