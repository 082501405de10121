/* tests/udf/functions.c: functions for tests/sql/udf.test: every type, every property, and every fault that weir must find. */
#include "weir_udf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(NAME, KIND, ...) WEIR_UDF_EXPORT const weir_function NAME = {WEIR_UDF_HEAD(KIND), WEIR_UDF_SIGNATURES(NAME##_s), __VA_ARGS__}

/* ---- scalar functions ---- */

static void copy_row(weir_call *call, const weir_column *from, weir_column *out, uint32_t row) {
    static const size_t WIDTH[] = {[WEIR_TINYINT] = 1, [WEIR_SMALLINT] = 2, [WEIR_INT] = 4, [WEIR_FLOAT] = 4, [WEIR_DATE] = 4, [WEIR_TIME] = 4, [WEIR_BIGINT] = 8,
                                   [WEIR_DOUBLE] = 8, [WEIR_TIMESTAMP] = 8, [WEIR_TIMESTAMP_LTZ] = 8, [WEIR_DECIMAL] = 16};
    if (from->type == WEIR_BOOLEAN) {
        weir_set_bool(out, row, weir_bool(from, row));
    } else if (from->type == WEIR_STRING || from->type == WEIR_BYTES) {
        size_t      n;
        const char *text = weir_text(from, row, &n);
        call->put(call, out, row, text, n);
    } else {
        size_t w = WIDTH[from->type];
        memcpy((char *)out->data + row * w, (const char *)from->data + row * w, w);
    }
}
static int same(weir_call *call, const weir_column *args, weir_column *out) {
    for (uint32_t i = 0; i < call->n_rows; i++) copy_row(call, &args[0], out, i);
    return 0;
}
static const weir_signature t_same_s[] = {
    {.args = "BOOLEAN", .result = "BOOLEAN", .eval = same}, {.args = "TINYINT", .result = "TINYINT", .eval = same}, {.args = "SMALLINT", .result = "SMALLINT", .eval = same},
    {.args = "INT", .result = "INT", .eval = same}, {.args = "BIGINT", .result = "BIGINT", .eval = same}, {.args = "FLOAT", .result = "FLOAT", .eval = same},
    {.args = "DOUBLE", .result = "DOUBLE", .eval = same}, {.args = "DECIMAL(20, 3)", .result = "DECIMAL(20, 3)", .eval = same},
    {.args = "STRING", .result = "STRING", .eval = same}, {.args = "BYTES", .result = "BYTES", .eval = same}, {.args = "DATE", .result = "DATE", .eval = same},
    {.args = "TIME", .result = "TIME", .eval = same}, {.args = "TIMESTAMP(3)", .result = "TIMESTAMP(3)", .eval = same},
    {.args = "TIMESTAMP_LTZ(9)", .result = "TIMESTAMP_LTZ(9)", .eval = same}};
FUNCTION(t_same, WEIR_SCALAR, .summary = "its argument");

static int first_of(weir_call *call, const weir_column *args, weir_column *out) { /* COALESCE of two */
    for (uint32_t i = 0; i < call->n_rows; i++) {
        if (!weir_is_null(&args[0], i)) copy_row(call, &args[0], out, i);
        else if (!weir_is_null(&args[1], i)) copy_row(call, &args[1], out, i);
        else weir_set_null(out, i);
    }
    return 0;
}
static const weir_signature t_first_of_s[] = {{.args = "STRING, STRING", .result = "STRING", .eval = first_of}, {.args = "BIGINT, BIGINT", .result = "BIGINT", .eval = first_of}};
FUNCTION(t_first_of, WEIR_SCALAR, .flags = WEIR_SEES_NULL);

typedef struct opened { uint64_t rows; } opened;
static void *number_open(weir_call *call) {
    (void)call;
    return calloc(1, sizeof(opened));
}
static int number_eval(weir_call *call, const weir_column *args, weir_column *out) { /* 1, 2, 3 ... */
    opened *o = call->self;
    (void)args;
    for (uint32_t i = 0; i < call->n_rows; i++) ((int64_t *)out->data)[i] = (int64_t)++o->rows;
    return 0;
}
static const weir_signature t_number_s[] = {{.args = "", .result = "BIGINT", .eval = number_eval}};
FUNCTION(t_number, WEIR_SCALAR, .determinism = WEIR_NONDETERMINISTIC, .open = number_open, .close = free);

static void *no_open(weir_call *call) {
    call->fail(call, 0, "nothing to open here");
    return NULL;
}
#define t_no_open_s t_number_s
FUNCTION(t_no_open, WEIR_SCALAR, .open = no_open, .close = free);

static int per_job(weir_call *call, const weir_column *args, weir_column *out) {
    (void)args;
    for (uint32_t i = 0; i < call->n_rows; i++) ((int32_t *)out->data)[i] = 42;
    return 0;
}
static const weir_signature t_per_job_s[] = {{.args = "", .result = "INT", .eval = per_job}};
FUNCTION(t_per_job, WEIR_SCALAR, .determinism = WEIR_PER_JOB);

/* ---- scalar functions with faults ---- */

static int not_13(weir_call *call, const weir_column *args, weir_column *out) {
    const int64_t *v = args[0].data;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        ((int64_t *)out->data)[i] = v[i];
        if (v[i] != 13) continue;
        call->fail(call, i, "13 is not allowed");
        return 1;
    }
    return 0;
}
static const weir_signature t_not_13_s[] = {{.args = "BIGINT", .result = "BIGINT", .eval = not_13}};
FUNCTION(t_not_13, WEIR_SCALAR, .summary = 0);

static int silent(weir_call *call, const weir_column *args, weir_column *out) {
    (void)call, (void)args, (void)out;
    return 1;
}
static int overrun(weir_call *call, const weir_column *args, weir_column *out) {
    (void)args;
    for (uint32_t i = 0; i <= call->n_rows; i++) ((int64_t *)out->data)[i] = 7;
    return 0;
}
static int forgets(weir_call *call, const weir_column *args, weir_column *out) {
    (void)args;
    for (uint32_t i = 1; i < call->n_rows; i++) call->put(call, out, i, "x", 1);
    return 0;
}
static int one_more(weir_call *call, const weir_column *args, weir_column *out) {
    (void)args;
    for (uint32_t i = 0; i <= call->n_rows; i++) call->put(call, out, i, "x", 1);
    return 0;
}
static int bad_text(weir_call *call, const weir_column *args, weir_column *out) {
    (void)args;
    for (uint32_t i = 0; i < call->n_rows; i++) call->put(call, out, i, "\xff\xfe", 2);
    return 0;
}
static int too_wide(weir_call *call, const weir_column *args, weir_column *out) {
    (void)args;
    for (uint32_t i = 0; i < call->n_rows; i++) ((__int128 *)out->data)[i] = 12345;
    return 0;
}
static const weir_signature t_silent_s[] = {{.args = "BIGINT", .result = "BIGINT", .eval = silent}};
static const weir_signature t_overrun_s[] = {{.args = "BIGINT", .result = "BIGINT", .eval = overrun}};
static const weir_signature t_forgets_s[] = {{.args = "BIGINT", .result = "STRING", .eval = forgets}};
static const weir_signature t_one_more_s[] = {{.args = "BIGINT", .result = "STRING", .eval = one_more}};
static const weir_signature t_bad_text_s[] = {{.args = "BIGINT", .result = "STRING", .eval = bad_text}};
static const weir_signature t_too_wide_s[] = {{.args = "BIGINT", .result = "DECIMAL(4, 1)", .eval = too_wide}};
FUNCTION(t_silent, WEIR_SCALAR, .summary = 0);
FUNCTION(t_overrun, WEIR_SCALAR, .summary = 0);
FUNCTION(t_forgets, WEIR_SCALAR, .summary = 0);
FUNCTION(t_one_more, WEIR_SCALAR, .summary = 0);
FUNCTION(t_bad_text, WEIR_SCALAR, .summary = 0);
FUNCTION(t_too_wide, WEIR_SCALAR, .summary = 0);

/* ---- an aggregate of fixed size: SUM(BIGINT); with the algebra, and without ---- */

typedef struct sum { int64_t sum, n; } sum;
static int sum_add(weir_call *call, void *const *states, const weir_column *args) {
    const int64_t *v = args[0].data;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        sum *s = states[i];
        if (v[i] == 1313) {
            call->fail(call, i, "1313 cannot be added");
            return 1;
        }
        s->sum += v[i], s->n++;
    }
    return 0;
}
static int sum_sub(weir_call *call, void *const *states, const weir_column *args) {
    const int64_t *v = args[0].data;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        sum *s = states[i];
        s->sum -= v[i], s->n--;
    }
    return 0;
}
static void sum_merge(weir_call *call, void *const *into, void *const *from) {
    for (uint32_t i = 0; i < call->n_rows; i++) ((sum *)into[i])->sum += ((sum *)from[i])->sum, ((sum *)into[i])->n += ((sum *)from[i])->n;
}
static void sum_result(weir_call *call, void *const *states, weir_column *out) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        if (((sum *)states[i])->n) ((int64_t *)out->data)[i] = ((sum *)states[i])->sum;
        else weir_set_null(out, i);
    }
}
static const weir_aggregate sum_full = {.size = sizeof(weir_aggregate), .state_bytes = sizeof(sum), .accumulate = sum_add, .retract = sum_sub, .merge = sum_merge, .result = sum_result};
static const weir_aggregate sum_bare = {.size = sizeof(weir_aggregate), .state_bytes = sizeof(sum), .accumulate = sum_add, .result = sum_result};
static const weir_signature t_sum_s[] = {{.args = "BIGINT", .result = "BIGINT", .aggregate = &sum_full}};
static const weir_signature t_bare_sum_s[] = {{.args = "BIGINT", .result = "BIGINT", .aggregate = &sum_bare}};
FUNCTION(t_sum, WEIR_AGGREGATE, .flags = WEIR_ANY_ORDER, .summary = "sum");
#define t_merged_sum_s t_sum_s
FUNCTION(t_merged_sum, WEIR_AGGREGATE, .summary = "sum that does not say that order does not count");
FUNCTION(t_bare_sum, WEIR_AGGREGATE, .summary = "sum that can only add");

/* ---- an aggregate that owns memory: the middle value of sorted numbers (the lower one of two), and how many; sees NULL, which it counts apart ---- */

typedef struct middle { int64_t *v; uint32_t n, cap; int64_t nulls; } middle;
static uint32_t middle_find(const middle *m, int64_t v) {
    uint32_t lo = 0, hi = m->n;
    while (lo < hi) {
        uint32_t at = (lo + hi) / 2;
        if (m->v[at] < v) lo = at + 1;
        else hi = at;
    }
    return lo;
}
static void middle_put(weir_call *call, middle *m, int64_t v) {
    uint32_t at = middle_find(m, v);
    if (m->n == m->cap) m->cap = m->cap ? m->cap * 2 : 4, m->v = call->resize(call, m->v, m->cap * sizeof *m->v);
    memmove(m->v + at + 1, m->v + at, (m->n++ - at) * sizeof *m->v);
    m->v[at] = v;
}
static int middle_add(weir_call *call, void *const *states, const weir_column *args) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        middle *m = states[i];
        if (weir_is_null(&args[0], i)) m->nulls++;
        else middle_put(call, m, ((const int64_t *)args[0].data)[i]);
    }
    return 0;
}
static int middle_sub(weir_call *call, void *const *states, const weir_column *args) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        middle *m = states[i];
        if (weir_is_null(&args[0], i)) {
            m->nulls--;
            continue;
        }
        int64_t  v = ((const int64_t *)args[0].data)[i];
        uint32_t at = middle_find(m, v);
        if (at == m->n || m->v[at] != v) {
            call->fail(call, i, "a value leaves that never came");
            return 1;
        }
        memmove(m->v + at, m->v + at + 1, (--m->n - at) * sizeof *m->v);
    }
    return 0;
}
static void middle_merge(weir_call *call, void *const *into, void *const *from) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        const middle *f = from[i];
        ((middle *)into[i])->nulls += f->nulls;
        for (uint32_t k = 0; k < f->n; k++) middle_put(call, into[i], f->v[k]);
    }
}
static void middle_destroy(weir_call *call, void *state) { call->free(call, ((middle *)state)->v); }
static void middle_result(weir_call *call, void *const *states, weir_column *out) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        const middle *m = states[i];
        char          text[80];
        int           n = m->n ? snprintf(text, sizeof text, "%lld of %u", (long long)m->v[(m->n - 1) / 2], m->n) : snprintf(text, sizeof text, "none");
        if (m->nulls) n += snprintf(text + n, sizeof text - (size_t)n, " and %lld NULL", (long long)m->nulls);
        call->put(call, out, i, text, (size_t)n);
    }
}
static void middle_save(weir_call *call, const void *state) {
    const middle *m = state;
    call->write(call, &m->nulls, 8);
    call->write(call, m->v, m->n * sizeof *m->v);
}
static int middle_load(weir_call *call, void *state, const void *bytes, size_t n) {
    middle *m = state;
    if (n % 8 || n < 8) return 1;
    memcpy(&m->nulls, bytes, 8);
    m->n = m->cap = (uint32_t)(n / 8 - 1);
    if (m->n) m->v = memcpy(call->alloc(call, n - 8), (const char *)bytes + 8, n - 8);
    return 0;
}
static const weir_aggregate middle_aggregate = {.size = sizeof(weir_aggregate), .state_bytes = sizeof(middle), .owned_bytes = 64, .destroy = middle_destroy, .accumulate = middle_add,
    .retract = middle_sub, .merge = middle_merge, .result = middle_result, .save = middle_save, .load = middle_load};
static const weir_signature t_middle_s[] = {{.args = "BIGINT", .result = "STRING", .aggregate = &middle_aggregate}};
FUNCTION(t_middle, WEIR_AGGREGATE, .flags = WEIR_SEES_NULL | WEIR_ANY_ORDER);

/* ---- an aggregate of two arguments with a create: the text of the greatest number ---- */

typedef struct best { int64_t v; uint32_t len; char text[20]; } best;
static void best_create(weir_call *call, void *state) {
    (void)call;
    ((best *)state)->v = INT64_MIN;
}
static int best_add(weir_call *call, void *const *states, const weir_column *args) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        best       *b = states[i];
        int64_t     v = ((const int64_t *)args[0].data)[i];
        size_t      n;
        const char *text = weir_text(&args[1], i, &n);
        if (v <= b->v) continue;
        b->v = v, b->len = n < sizeof b->text ? (uint32_t)n : (uint32_t)sizeof b->text;
        memcpy(b->text, text, b->len);
    }
    return 0;
}
static void best_merge(weir_call *call, void *const *into, void *const *from) {
    for (uint32_t i = 0; i < call->n_rows; i++)
        if (((best *)from[i])->v > ((best *)into[i])->v) memcpy(into[i], from[i], sizeof(best));
}
static void best_result(weir_call *call, void *const *states, weir_column *out) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        const best *b = states[i];
        if (b->v == INT64_MIN) weir_set_null(out, i);
        else call->put(call, out, i, b->text, b->len);
    }
}
static const weir_aggregate best_aggregate = {.size = sizeof(weir_aggregate), .state_bytes = sizeof(best), .create = best_create, .accumulate = best_add, .merge = best_merge, .result = best_result};
static const weir_signature t_best_s[] = {{.args = "BIGINT, STRING", .result = "STRING", .aggregate = &best_aggregate}};
FUNCTION(t_best, WEIR_AGGREGATE, .flags = 0);

/* ---- table functions ---- */

static int split(weir_call *call, const weir_column *args, weir_column *out) { /* (text, separator) */
    for (uint32_t i = 0; i < call->n_rows; i++) {
        size_t      n, m, from = 0;
        const char *text = weir_text(&args[0], i, &n), *sep = weir_text(&args[1], i, &m);
        int32_t     place = 0;
        for (size_t k = 0; k <= n; k++) {
            if (k < n && (!m || text[k] != sep[0])) continue;
            uint32_t row = call->emit(call, i, 1);
            if (row == UINT32_MAX) return 1;
            if (k == from) weir_set_null(&out[0], row);
            else call->put(call, &out[0], row, text + from, k - from);
            ((int32_t *)out[1].data)[row] = ++place;
            weir_set_bool(&out[2], row, k == n);
            from = k + 1;
        }
    }
    return 0;
}
static int series(weir_call *call, const weir_column *args, weir_column *out) { /* 1 .. n */
    for (uint32_t i = 0; i < call->n_rows; i++) {
        int64_t n = ((const int64_t *)args[0].data)[i];
        if (n < 0) {
            call->fail(call, i, "a series has no negative length");
            return 1;
        }
        uint32_t row = call->emit(call, i, (uint32_t)n);
        if (row == UINT32_MAX) return 1;
        for (int64_t k = 0; k < n; k++) ((int64_t *)out[0].data)[row + k] = k + 1;
    }
    return 0;
}
static int backwards(weir_call *call, const weir_column *args, weir_column *out) {
    (void)args;
    for (uint32_t i = call->n_rows; i-- > 0;) {
        uint32_t row = call->emit(call, i, 1);
        if (row == UINT32_MAX) return 1;
        ((int64_t *)out[0].data)[row] = 1;
    }
    return call->emit(call, call->n_rows, 1) == UINT32_MAX;
}
static const weir_signature t_parts_s[] = {{.args = "STRING, STRING", .result = "part STRING, place INT, is_last BOOLEAN", .eval = split}};
static const weir_signature t_series_s[] = {{.args = "BIGINT", .result = "n BIGINT", .eval = series}};
static const weir_signature t_backwards_s[] = {{.args = "BIGINT", .result = "n BIGINT", .eval = backwards}};
FUNCTION(t_parts, WEIR_TABLE, .summary = "parts of a text");
FUNCTION(t_series, WEIR_TABLE, .summary = "1 to n");
#define t_random_series_s t_series_s
FUNCTION(t_random_series, WEIR_TABLE, .determinism = WEIR_NONDETERMINISTIC);
FUNCTION(t_backwards, WEIR_TABLE, .summary = 0);

/* ---- declarations that weir must refuse ---- */

static const weir_aggregate leaky = {.size = sizeof(weir_aggregate), .state_bytes = 8, .destroy = middle_destroy, .accumulate = sum_add, .result = sum_result};
static const weir_signature leaky_s[] = {{.args = "BIGINT", .result = "BIGINT", .aggregate = &leaky}};
static const weir_signature nested_s[] = {{.args = "ARRAY<INT>", .result = "INT", .eval = same}};
static const weir_signature no_eval_s[] = {{.args = "INT", .result = "INT"}};
static const weir_signature unnamed_s[] = {{.args = "INT", .result = "INT", .eval = series}};
WEIR_UDF_EXPORT const weir_function t_other_abi = {.abi = 99, .size = sizeof(weir_function)};
WEIR_UDF_EXPORT const weir_function t_leaky = {WEIR_UDF_HEAD(WEIR_AGGREGATE), WEIR_UDF_SIGNATURES(leaky_s)};
WEIR_UDF_EXPORT const weir_function t_nested = {WEIR_UDF_HEAD(WEIR_SCALAR), WEIR_UDF_SIGNATURES(nested_s)};
WEIR_UDF_EXPORT const weir_function t_no_eval = {WEIR_UDF_HEAD(WEIR_SCALAR), WEIR_UDF_SIGNATURES(no_eval_s)};
WEIR_UDF_EXPORT const weir_function t_unnamed = {WEIR_UDF_HEAD(WEIR_TABLE), WEIR_UDF_SIGNATURES(unnamed_s)};
WEIR_UDF_EXPORT const weir_function t_no_kind = {WEIR_UDF_HEAD((weir_function_kind)9), WEIR_UDF_SIGNATURES(t_same_s)};
