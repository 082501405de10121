/* examples/udf/example.c: one function of each kind for weir: a scalar one, an aggregate, a table function.
 *
 *     gcc -shared -fPIC -O2 -I ../../include -o libexample.so example.c */
#include "weir_udf.h"
#include <math.h>

/* ---- scalar: distance in km between two points, by the haversine formula ---- */

static int distance(weir_call *call, const weir_column *args, weir_column *out) {
    const double *lat1 = args[0].data, *lon1 = args[1].data, *lat2 = args[2].data, *lon2 = args[3].data;
    double       *km = out->data;
    const double  rad = 3.14159265358979323846 / 180, earth_km = 6371;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        if (fabs(lat1[i]) > 90 || fabs(lat2[i]) > 90) {
            call->fail(call, i, "a latitude lies between -90 and 90");
            return 1;
        }
        double x = sin((lat2[i] - lat1[i]) * rad / 2), y = sin((lon2[i] - lon1[i]) * rad / 2);
        km[i] = 2 * earth_km * asin(sqrt(x * x + cos(lat1[i] * rad) * cos(lat2[i] * rad) * y * y));
    }
    return 0;
}
static const weir_signature distance_signatures[] = {{.args = "DOUBLE, DOUBLE, DOUBLE, DOUBLE", .result = "DOUBLE", .eval = distance}};
WEIR_UDF_EXPORT const weir_function geo_distance = {WEIR_UDF_HEAD(WEIR_SCALAR), .summary = "distance in km between (lat, lon) and (lat, lon)",
                                                    WEIR_UDF_SIGNATURES(distance_signatures)};

/* ---- scalar on text: a title as part of a URL, 'Hello, World' -> 'hello-world' ---- */
static int slug(weir_call *call, const weir_column *args, weir_column *out) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        size_t      n, len = 0;
        const char *text = weir_text(&args[0], i, &n);
        char       *to = call->scratch(call, n);
        for (size_t k = 0; k < n; k++) {
            char c = text[k];
            if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
            int word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
            if (word) to[len++] = c;
            else if (len && to[len - 1] != '-') to[len++] = '-';
        }
        if (len && to[len - 1] == '-') len--;
        if (!len) weir_set_null(out, i);
        else call->put(call, out, i, to, len);
    }
    return 0;
}
static const weir_signature slug_signatures[] = {{.args = "STRING", .result = "STRING", .eval = slug}};
WEIR_UDF_EXPORT const weir_function text_slug = {WEIR_UDF_HEAD(WEIR_SCALAR), .summary = "a text as part of a URL; NULL if nothing is left",
                                                 WEIR_UDF_SIGNATURES(slug_signatures)};

/* ---- aggregate: the weighted mean of whole numbers. Its sums are exact, so it can be retracted, merged, and calculated in two phases. ---- */
typedef struct mean { __int128 sum; int64_t weight; } mean;

static int mean_accumulate(weir_call *call, void *const *states, const weir_column *args) {
    const int64_t *value = args[0].data, *weight = args[1].data;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        mean *m = states[i];
        m->sum += (__int128)value[i] * weight[i];
        m->weight += weight[i];
    }
    return 0;
}
static int mean_retract(weir_call *call, void *const *states, const weir_column *args) {
    const int64_t *value = args[0].data, *weight = args[1].data;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        mean *m = states[i];
        m->sum -= (__int128)value[i] * weight[i];
        m->weight -= weight[i];
    }
    return 0;
}
static void mean_merge(weir_call *call, void *const *into, void *const *from) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        mean       *m = into[i];
        const mean *other = from[i];
        m->sum += other->sum;
        m->weight += other->weight;
    }
}
static void mean_result(weir_call *call, void *const *states, weir_column *out) {
    double *result = out->data;
    for (uint32_t i = 0; i < call->n_rows; i++) {
        const mean *m = states[i];
        if (m->weight) result[i] = (double)m->sum / (double)m->weight;
        else weir_set_null(out, i);
    }
}
static const weir_aggregate mean_aggregate = {.size = sizeof(weir_aggregate), .state_bytes = sizeof(mean), .accumulate = mean_accumulate, .retract = mean_retract,
                                              .merge = mean_merge, .result = mean_result};
static const weir_signature mean_signatures[] = {{.args = "BIGINT, BIGINT", .result = "DOUBLE", .aggregate = &mean_aggregate}};
WEIR_UDF_EXPORT const weir_function weighted_mean = {WEIR_UDF_HEAD(WEIR_AGGREGATE), .flags = WEIR_ANY_ORDER, .summary = "mean of the first, weighted by the second",
                                                     WEIR_UDF_SIGNATURES(mean_signatures)};

/* ---- table function: the words of a text, with their length in bytes ---- */
static int words(weir_call *call, const weir_column *args, weir_column *out) {
    for (uint32_t i = 0; i < call->n_rows; i++) {
        size_t      n, from = 0;
        const char *text = weir_text(&args[0], i, &n);
        for (size_t k = 0; k <= n; k++) {
            if (k < n && text[k] != ' ') continue;
            if (k > from) {
                uint32_t row = call->emit(call, i, 1);
                if (row == UINT32_MAX) return 1;
                call->put(call, &out[0], row, text + from, k - from);
                ((int32_t *)out[1].data)[row] = (int32_t)(k - from);
            }
            from = k + 1;
        }
    }
    return 0;
}
static const weir_signature words_signatures[] = {{.args = "STRING", .result = "word STRING, length INT", .eval = words}};
WEIR_UDF_EXPORT const weir_function split_words = {WEIR_UDF_HEAD(WEIR_TABLE), .summary = "the words of a text, one a row", WEIR_UDF_SIGNATURES(words_signatures)};
