/* type/arrow.c: see arrow.h.
 *
 * Idea       export: every ArrowArray node holds a reference to one wr_mem that keeps the batch; what must be repacked (booleans, strings,
 *            lists) lies in that wr_mem, all else is the batch's own buffers. A node can be moved away by the consumer, so
 *            each frees itself. Import: formats are compared with our types first, then every column is copied and checked.
 * Formats    n b c s i l f g d:p,s u z tdD ttm tsu: tsn: tsu:UTC tsn:UTC tiM tDu +l +m +s (import also U Z and other timestamp units).
 * Damage     lengths, offsets and kinds that cannot be right are refused; buffer sizes are not part of the interface and are trusted. */
#include "type/arrow.h"
#include "type/decimal.h"
#include <stdio.h>

enum { ARROW_NULLABLE = 2, NESTING_MAX = 64 };
static const char KIND_NAME[] = "$kind";

static void format_of(wr_type t, char out[32]) {
    static const char *const plain[WR_T_COUNT] = {
        [WR_T_NULL] = "n",      [WR_T_BOOLEAN] = "b", [WR_T_TINYINT] = "c",   [WR_T_SMALLINT] = "s",    [WR_T_INT] = "i",
        [WR_T_BIGINT] = "l",    [WR_T_FLOAT] = "f",   [WR_T_DOUBLE] = "g",    [WR_T_CHAR] = "u",        [WR_T_VARCHAR] = "u",
        [WR_T_BINARY] = "z",    [WR_T_VARBINARY] = "z", [WR_T_DATE] = "tdD",  [WR_T_TIME] = "ttm",      [WR_T_INTERVAL_YM] = "tiM",
        [WR_T_INTERVAL_DS] = "tDu", [WR_T_ARRAY] = "+l", [WR_T_MULTISET] = "+l", [WR_T_MAP] = "+m",     [WR_T_ROW] = "+s",
        [WR_T_BITMAP] = "z",    [WR_T_VARIANT] = "u"};
    if (t.id == WR_T_DECIMAL) snprintf(out, 32, "d:%d,%d", t.prec, t.scale);
    else if (t.id == WR_T_TIMESTAMP || t.id == WR_T_TIMESTAMP_LTZ)
        snprintf(out, 32, "ts%c:%s", t.prec > 6 ? 'n' : 'u', t.id == WR_T_TIMESTAMP_LTZ ? "UTC" : "");
    else snprintf(out, 32, "%s", plain[t.id]);
}

/* ---- export of a schema ---- */

static void release_schema(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
        wr_free(s->children[i]);
    }
    wr_free(s->children);
    wr_free((void *)(uintptr_t)s->format);
    wr_free((void *)(uintptr_t)s->name);
    s->release = NULL;
}

static void schema_node(struct ArrowSchema *out, const char *format, wr_str name, bool nullable, uint32_t n_children) {
    char *copy = wr_malloc(name.len + 1);
    if (name.len) memcpy(copy, name.ptr, name.len);
    copy[name.len] = 0;
    *out = (struct ArrowSchema){.format = wr_strdup(format), .name = copy, .flags = nullable ? ARROW_NULLABLE : 0, .n_children = n_children,
                                .release = release_schema};
    out->children = wr_calloc(n_children, sizeof *out->children);
    for (uint32_t i = 0; i < n_children; i++) out->children[i] = wr_calloc(1, sizeof **out->children);
}

static void schema_of(wr_type t, wr_str name, struct ArrowSchema *out) {
    char format[32];
    format_of(t, format);
    if (t.id == WR_T_MAP) {
        schema_node(out, format, name, t.nullable, 1);
        struct ArrowSchema *entries = out->children[0];
        schema_node(entries, "+s", WR_STR("entries"), false, 2);
        schema_of(wr_type_not_null(t.kids[0]), WR_STR("key"), entries->children[0]);
        schema_of(t.kids[1], WR_STR("value"), entries->children[1]);
        return;
    }
    schema_node(out, format, name, t.nullable, t.n_kids);
    for (uint32_t i = 0; i < t.n_kids; i++) schema_of(t.kids[i], t.names ? t.names[i] : WR_STR("item"), out->children[i]);
}

void wr_arrow_export_schema(const wr_schema *schema, bool with_kinds, struct ArrowSchema *out) {
    schema_node(out, "+s", WR_STR(""), false, schema->n + with_kinds);
    for (uint32_t i = 0; i < schema->n; i++) schema_of(schema->fields[i].type, schema->fields[i].name, out->children[i]);
    if (with_kinds) schema_of(wr_type_not_null(wr_type_of(WR_T_TINYINT)), WR_STR(KIND_NAME), out->children[schema->n]);
}

/* ---- export of a batch ---- */

typedef struct node {
    wr_mem     *mem;
    const void *buffers[3];
} node;

static void release_array(struct ArrowArray *a) {
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
        wr_free(a->children[i]);
    }
    wr_free(a->children);
    node *n = a->private_data;
    wr_mem_unref(n->mem);
    wr_free(n);
    a->release = NULL;
}

static node *array_node(struct ArrowArray *out, wr_mem *mem, uint32_t length, int n_buffers, uint32_t n_children) {
    node *n = wr_calloc(1, sizeof *n);
    n->mem = wr_mem_ref(mem);
    *out = (struct ArrowArray){.length = length, .null_count = -1, .n_buffers = n_buffers, .n_children = n_children, .buffers = n->buffers,
                               .release = release_array, .private_data = n};
    out->children = wr_calloc(n_children, sizeof *out->children);
    for (uint32_t i = 0; i < n_children; i++) out->children[i] = wr_calloc(1, sizeof **out->children);
    return n;
}

static void pack_bools(const wr_vec *vec, node *n, wr_mem *mem) {
    uint64_t *bits = wr_mem_calloc(mem, WR_MAX(wr_valid_bytes(vec->n), (size_t)8));
    for (uint32_t i = 0; i < vec->n; i++)
        if (((const uint8_t *)vec->data)[i]) wr_valid_set(bits, i, true);
    n->buffers[1] = bits;
}

static void pack_strings(const wr_vec *vec, node *n, wr_mem *mem) {
    const wr_sview *views = vec->data;
    int32_t        *offsets = wr_mem_alloc(mem, ((size_t)vec->n + 1) * sizeof *offsets);
    uint64_t        sum = 0;
    for (uint32_t i = 0; i < vec->n; i++) {
        offsets[i] = (int32_t)sum;
        if (!wr_vec_is_null(vec, i)) sum += views[i].len;
        wr_assert(sum <= INT32_MAX);
    }
    offsets[vec->n] = (int32_t)sum;
    char *bytes = wr_mem_alloc(mem, sum + 1);
    for (uint32_t i = 0; i < vec->n; i++) {
        size_t len = (size_t)(offsets[i + 1] - offsets[i]);
        if (len) memcpy(bytes + offsets[i], wr_sview_ptr(&views[i]), len);
    }
    n->buffers[1] = offsets;
    n->buffers[2] = bytes;
}

static void export_vec(const wr_vec *vec, wr_mem *mem, struct ArrowArray *out);

static void export_list(const wr_vec *vec, wr_mem *mem, struct ArrowArray *out) {
    wr_vec   dense;
    node    *n = array_node(out, mem, vec->n, 2, 1);
    int32_t *offsets = wr_mem_alloc(mem, ((size_t)vec->n + 1) * sizeof *offsets), sum = 0;
    wr_vec_gather(&dense, vec, NULL, vec->n, mem); /* children in row order, none for NULL rows */
    for (uint32_t i = 0; i < vec->n; i++) {
        offsets[i] = sum;
        sum += (int32_t)((const wr_list *)dense.data)[i].len;
    }
    offsets[vec->n] = sum;
    n->buffers[0] = dense.valid;
    n->buffers[1] = offsets;
    if (vec->type.id != WR_T_MAP) {
        export_vec(&dense.kids[0], mem, out->children[0]);
        return;
    }
    array_node(out->children[0], mem, (uint32_t)sum, 1, 2);
    out->children[0]->null_count = 0;
    for (int k = 0; k < 2; k++) export_vec(&dense.kids[k], mem, out->children[0]->children[k]);
}

static void export_vec(const wr_vec *vec, wr_mem *mem, struct ArrowArray *out) {
    wr_storage s = wr_type_storage(vec->type);
    if (s == WR_S_LIST) {
        export_list(vec, mem, out);
        return;
    }
    int   n_buffers = s == WR_S_NONE ? 0 : s == WR_S_STR ? 3 : s == WR_S_ROW ? 1 : 2;
    node *n = array_node(out, mem, vec->n, n_buffers, s == WR_S_ROW ? vec->type.n_kids : 0);
    if (s == WR_S_NONE) {
        out->null_count = vec->n;
        return;
    }
    n->buffers[0] = vec->valid;
    if (!vec->valid) out->null_count = 0;
    if (s == WR_S_BOOL) pack_bools(vec, n, mem);
    else if (s == WR_S_STR) pack_strings(vec, n, mem);
    else if (s == WR_S_ROW)
        for (uint32_t k = 0; k < vec->type.n_kids; k++) export_vec(&vec->kids[k], mem, out->children[k]);
    else n->buffers[1] = vec->data;
}

void wr_arrow_export(wr_batch *batch, const wr_schema *schema, bool with_kinds, struct ArrowArray *out) {
    wr_assert(batch->n_cols >= schema->n);
    wr_batch *dense = wr_batch_compact(batch); /* applies the selection, if there is one */
    wr_mem   *mem = wr_mem_new(0);
    wr_mem_keep(mem, dense->mem);
    array_node(out, mem, dense->n_rows, 1, schema->n + with_kinds);
    out->null_count = 0;
    for (uint32_t i = 0; i < schema->n; i++) {
        wr_vec vec = dense->cols[i];
        vec.n = dense->n_rows; /* a column may be longer than the batch */
        export_vec(&vec, mem, out->children[i]);
    }
    if (with_kinds) {
        node *n = array_node(out->children[schema->n], mem, dense->n_rows, 2, 0);
        n->buffers[1] = dense->kinds ? dense->kinds : wr_mem_calloc(mem, WR_MAX(dense->n_rows, 1u)); /* 0 = +I */
        out->children[schema->n]->null_count = 0;
    }
    wr_mem_unref(mem);
    wr_batch_unref(dense);
}

/* ---- import ---- */

typedef struct import {
    wr_mem     *mem;
    wr_err     *err;
    const char *column;
} import;

WR_COLD static wr_status bad_format(const import *im, const struct ArrowSchema *s, wr_type want) {
    wr_sbuf text = {0};
    wr_type_text(want, &text);
    wr_status status = wr_fail(im->err, WR_USER, "42804", "column '%s' is %s, but the Arrow format given is '%s'", im->column, text.at, s->format);
    wr_sbuf_free(&text);
    return status;
}

WR_COLD static wr_status bad_data(const import *im, const char *what) {
    return wr_fail(im->err, WR_DATA, "22000", "column '%s' of the Arrow array has %s", im->column, what);
}

/* Checks the schema of one column, all the way down. */
static wr_status check_format(const import *im, const struct ArrowSchema *s, wr_type t, int depth) {
    char want[32];
    format_of(t, want);
    if (s->dictionary)
        return wr_fail(im->err, WR_UNSUPPORTED, "0A000", "column '%s' is dictionary-encoded, which weir does not take; decode it first", im->column);
    if (depth > NESTING_MAX) return wr_fail(im->err, WR_LIMIT, "54000", "column '%s' is nested deeper than %d", im->column, NESTING_MAX);
    bool same = !strcmp(s->format, want);
    if (t.id == WR_T_DECIMAL && !same) { /* "d:10,2,128" says the same */
        size_t len = strlen(want);
        same = !strncmp(s->format, want, len) && !strcmp(s->format + len, ",128");
    }
    if (*want == 'u' || *want == 'z') same |= (s->format[0] == *want - 32) && !s->format[1];
    if (*want == 't' && want[1] == 's') { /* any unit; a zone if and only if LTZ */
        const char *f = s->format;
        bool        ts = f[0] == 't' && f[1] == 's' && f[2] && strchr("smun", f[2]) && f[3] == ':';
        same = ts && (f[4] != 0) == (t.id == WR_T_TIMESTAMP_LTZ);
    }
    if (!same) return bad_format(im, s, t);
    if (t.id == WR_T_MAP) {
        if (s->n_children != 1 || strcmp(s->children[0]->format, "+s") || s->children[0]->n_children != 2) return bad_format(im, s, t);
        s = s->children[0];
    }
    if (s->n_children != t.n_kids) return bad_format(im, s, t);
    for (uint32_t k = 0; k < t.n_kids; k++) WR_TRY(check_format(im, s->children[k], t.kids[k], depth + 1));
    return WR_OK;
}

static bool bit_at(const uint8_t *bits, int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

static wr_status import_vec(const import *im, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t start, uint32_t n, wr_type t,
                            wr_vec *out);

static wr_status import_strings(const import *im, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t at, uint32_t n, wr_vec *out) {
    bool        wide = *s->format == 'U' || *s->format == 'Z', text = *s->format == 'U' || *s->format == 'u';
    const char *bytes = a->buffers[2];
    if (n && !a->buffers[1]) return bad_data(im, "no offsets");
    for (uint32_t i = 0; i < n; i++) {
        if (wr_vec_is_null(out, i)) continue;
        int64_t from, to;
        if (wide) from = ((const int64_t *)a->buffers[1])[at + i], to = ((const int64_t *)a->buffers[1])[at + i + 1];
        else from = ((const int32_t *)a->buffers[1])[at + i], to = ((const int32_t *)a->buffers[1])[at + i + 1];
        if (from < 0 || to < from || to - from > INT32_MAX) return bad_data(im, "offsets that go backwards");
        wr_str value = {bytes ? bytes + from : "", (size_t)(to - from)};
        if (text && !wr_utf8_valid(value)) return bad_data(im, "text that is not UTF-8");
        ((wr_sview *)out->data)[i] = wr_sview_copy(im->mem, value.ptr, value.len);
    }
    return WR_OK;
}

static wr_status import_list(const import *im, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t at, uint32_t n, wr_vec *out) {
    const int32_t *offsets = a->buffers[1];
    if (!n) return WR_OK;
    if (!offsets) return bad_data(im, "no offsets");
    int32_t first = offsets[at], last = offsets[at + n];
    for (uint32_t i = 0; i < n; i++) {
        int32_t from = offsets[at + i], to = offsets[at + i + 1];
        if (from < first || to < from || to > last) return bad_data(im, "offsets that go backwards");
        ((wr_list *)out->data)[i] = (wr_list){(uint32_t)(from - first), (uint32_t)(to - from)};
    }
    uint32_t count = (uint32_t)(last - first);
    if (first < 0 || a->n_children != 1 || last > a->children[0]->length) return bad_data(im, "offsets beyond its elements");
    if (out->type.id != WR_T_MAP) return import_vec(im, s->children[0], a->children[0], first, count, out->type.kids[0], &out->kids[0]);
    const struct ArrowArray *entries = a->children[0];
    if (entries->n_children != 2) return bad_data(im, "map entries that are not pairs");
    for (int k = 0; k < 2; k++)
        WR_TRY(import_vec(im, s->children[0]->children[k], entries->children[k], entries->offset + first, count, out->type.kids[k], &out->kids[k]));
    return WR_OK;
}

static wr_status import_timestamps(const import *im, char unit, const int64_t *from, uint32_t n, wr_vec *out) {
    int64_t have = unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000, want = wr_type_ticks_per_second(out->type);
    int64_t *to = out->data;
    for (uint32_t i = 0; i < n; i++) {
        if (have > want) {
            int64_t divisor = have / want;
            to[i] = from[i] / divisor - (from[i] % divisor < 0);
        } else if (wr_vec_is_null(out, i)) {
            to[i] = 0;
        } else if (__builtin_mul_overflow(from[i], want / have, &to[i])) {
            return bad_data(im, "a timestamp out of range");
        }
    }
    return WR_OK;
}

static wr_status import_fixed(const import *im, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t at, uint32_t n, wr_vec *out) {
    size_t      size = wr_storage_size(wr_type_storage(out->type));
    const char *from = a->buffers[1];
    if (!n) return WR_OK;
    if (!from) return bad_data(im, "no values");
    if (out->type.id == WR_T_TIMESTAMP || out->type.id == WR_T_TIMESTAMP_LTZ)
        return import_timestamps(im, s->format[2], (const int64_t *)a->buffers[1] + at, n, out);
    memcpy(out->data, from + (size_t)at * size, size * n);
    if (out->type.id == WR_T_DECIMAL)
        for (uint32_t i = 0; i < n; i++)
            if (!wr_vec_is_null(out, i) && !wr_decimal_fits(((const wr_i128 *)out->data)[i], out->type.prec)) return bad_data(im, "a decimal with too many digits");
    return WR_OK;
}

/* Rows start..start+n-1 of an array, counted before its own offset. */
static wr_status import_vec(const import *im, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t start, uint32_t n, wr_type t,
                            wr_vec *out) {
    wr_storage storage = wr_type_storage(t);
    int64_t    at = a->offset + start;
    int        need = storage == WR_S_NONE ? 0 : storage == WR_S_STR ? 3 : storage == WR_S_ROW ? 1 : 2;
    if (a->length < start + n || a->offset < 0 || a->n_buffers < need || a->dictionary) return bad_data(im, "fewer rows or buffers than it should");
    const uint8_t *valid = need && a->null_count != 0 ? a->buffers[0] : NULL;
    wr_vec_init(out, t, n, valid != NULL, im->mem);
    if (valid)
        for (uint32_t i = 0; i < n; i++)
            if (!bit_at(valid, at + i)) wr_vec_set_null(out, i, im->mem);
    switch (storage) {
    case WR_S_NONE: return WR_OK;
    case WR_S_BOOL:
        if (n && !a->buffers[1]) return bad_data(im, "no values");
        for (uint32_t i = 0; i < n; i++) ((uint8_t *)out->data)[i] = bit_at(a->buffers[1], at + i);
        return WR_OK;
    case WR_S_STR: return import_strings(im, s, a, at, n, out);
    case WR_S_LIST: return import_list(im, s, a, at, n, out);
    case WR_S_ROW:
        if (a->n_children != t.n_kids) return bad_data(im, "another number of fields than its schema");
        for (uint32_t k = 0; k < t.n_kids; k++) WR_TRY(import_vec(im, s->children[k], a->children[k], at, n, t.kids[k], &out->kids[k]));
        return WR_OK;
    default: return import_fixed(im, s, a, at, n, out);
    }
}

static wr_status import_kinds(const import *im, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t start, uint32_t n, wr_batch *batch) {
    if (strcmp(s->format, "c")) return bad_format(im, s, wr_type_of(WR_T_TINYINT));
    wr_vec vec;
    WR_TRY(import_vec(im, s, a, start, n, wr_type_of(WR_T_TINYINT), &vec));
    for (uint32_t i = 0; i < n; i++)
        if (wr_vec_is_null(&vec, i) || ((const uint8_t *)vec.data)[i] > WR_KIND_DELETE) return bad_data(im, "a row kind that is not 0 to 3");
    if (!wr_kinds_uniform_insert(vec.data, n)) batch->kinds = vec.data;
    return WR_OK;
}

static wr_status import_columns(const struct ArrowSchema *in_schema, const struct ArrowArray *in, const wr_schema *schema, wr_batch *batch,
                                wr_err *err) {
    char   name[128];
    import im = {.mem = batch->mem, .err = err, .column = name};
    for (uint32_t i = 0; i < schema->n; i++) {
        wr_type t = schema->fields[i].type;
        snprintf(name, sizeof name, "%.*s", WR_FMT(schema->fields[i].name));
        WR_TRY(check_format(&im, in_schema->children[i], t, 0));
        WR_TRY(import_vec(&im, in_schema->children[i], in->children[i], in->offset, batch->n_rows, t, &batch->cols[i]));
        for (uint32_t r = 0; !t.nullable && r < batch->n_rows; r++)
            if (wr_vec_is_null(&batch->cols[i], r)) return bad_data(&im, "a NULL, but it is NOT NULL");
    }
    snprintf(name, sizeof name, "%s", KIND_NAME);
    if (in_schema->n_children > schema->n)
        return import_kinds(&im, in_schema->children[schema->n], in->children[schema->n], in->offset, batch->n_rows, batch);
    return WR_OK;
}

wr_status wr_arrow_import(const struct ArrowSchema *in_schema, const struct ArrowArray *in, const wr_schema *schema, wr_batch **out, wr_err *err) {
    *out = NULL;
    if (strcmp(in_schema->format, "+s")) return wr_fail(err, WR_USER, "42804", "a struct array is expected, not Arrow format '%s'", in_schema->format);
    bool kinds = in_schema->n_children == (int64_t)schema->n + 1 && !strcmp(in_schema->children[schema->n]->name, KIND_NAME);
    if ((!kinds && in_schema->n_children != schema->n) || in->n_children != in_schema->n_children)
        return wr_fail(err, WR_USER, "42804", "the Arrow array has %lld columns, the table has %u", (long long)in->n_children, schema->n);
    if (in->length < 0 || in->length > WR_BATCH_MAX) {
        wr_status status = wr_fail(err, WR_LIMIT, "54000", "an Arrow array of %lld rows is too long", (long long)in->length);
        wr_err_hint(err, "push slices of at most %d rows", WR_BATCH_MAX);
        return status;
    }
    wr_batch *batch = wr_batch_new(schema->n, (size_t)in->length * 16 * schema->n);
    batch->n_rows = (uint32_t)in->length;
    wr_status status = import_columns(in_schema, in, schema, batch, err);
    if (status == WR_OK) *out = batch;
    else wr_batch_unref(batch);
    return status;
}
