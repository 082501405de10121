/* tests/why/functions.c: functions that burn time, for jobs that are to be slow at a known place. The cost of a row is an argument. */
#include "weir_udf.h"

static uint64_t work(uint64_t x, int64_t turns) {
    for (int64_t k = 0; k < turns; k++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x >> 1;
}

static int burn(weir_call *call, const weir_column *args, weir_column *out) {
    const int64_t *v = args[0].data, *turns = args[1].data;
    int64_t       *to = out->data;
    for (uint32_t i = 0; i < call->n_rows; i++) to[i] = v[i] + (int64_t)(work((uint64_t)v[i], turns[i]) & 1);
    return 0;
}
static const weir_signature burn_signatures[] = {{.args = "BIGINT, BIGINT", .result = "BIGINT", .eval = burn}};
WEIR_UDF_EXPORT const weir_function why_burn = {WEIR_UDF_HEAD(WEIR_SCALAR), WEIR_UDF_SIGNATURES(burn_signatures)};

/* A sum that cannot be combined before the exchange: no merge. */
static int heavy_accumulate(weir_call *call, void *const *states, const weir_column *args) {
    const int64_t *v = args[0].data, *turns = args[1].data;
    for (uint32_t i = 0; i < call->n_rows; i++) *(uint64_t *)states[i] += (uint64_t)v[i] + (work((uint64_t)v[i], turns[i]) & 1);
    return 0;
}
static void heavy_result(weir_call *call, void *const *states, weir_column *out) {
    for (uint32_t i = 0; i < call->n_rows; i++) ((uint64_t *)out->data)[i] = *(const uint64_t *)states[i];
}
static const weir_aggregate heavy_aggregate = {.size = sizeof(weir_aggregate), .state_bytes = 8, .accumulate = heavy_accumulate, .result = heavy_result};
static const weir_signature heavy_signatures[] = {{.args = "BIGINT, BIGINT", .result = "BIGINT", .aggregate = &heavy_aggregate}};
WEIR_UDF_EXPORT const weir_function why_heavy = {WEIR_UDF_HEAD(WEIR_AGGREGATE), WEIR_UDF_SIGNATURES(heavy_signatures)};
