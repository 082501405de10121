/* expr/program_test.c: whole batches against single rows, guards, filters, sharing, trees, diagnostics.
 *
 * The property test runs each expression over random columns x {no, some, all NULLs} x sizes around the word boundaries x {all rows, some
 * rows live}, and compares every live row with (a) a plain C function of the test where one is given, (b) the same expression
 * with the columns replaced by constants.                                                                         */
#include "base/hash.h"
#include "expr/testkit.h"

enum { N_COLS = 17 };
static wr_type  array_kid = {.id = WR_T_INT, .nullable = 1};
static wr_field fields[N_COLS];
static wr_schema schema = {N_COLS, fields};

static void make_schema(void) {
    static const char *const names[N_COLS] = {"ti", "si", "a", "b", "l", "m", "fl", "d", "e", "g", "h", "s", "t", "p", "q", "ts", "dt"};
    wr_type types[N_COLS] = {wr_type_of(WR_T_TINYINT), wr_type_of(WR_T_SMALLINT), wr_type_of(WR_T_INT), wr_type_of(WR_T_INT), wr_type_of(WR_T_BIGINT), wr_type_of(WR_T_BIGINT),
                             wr_type_of(WR_T_FLOAT), wr_type_of(WR_T_DOUBLE), wr_type_decimal(10, 2), wr_type_decimal(20, 4), wr_type_decimal(38, 6), wr_type_string(), wr_type_string(),
                             wr_type_of(WR_T_BOOLEAN), wr_type_of(WR_T_BOOLEAN), wr_type_prec(WR_T_TIMESTAMP, 3), wr_type_of(WR_T_DATE)};
    for (int i = 0; i < N_COLS; i++) fields[i] = (wr_field){wr_str_of(names[i]), types[i]};
    (void)array_kid;
}

/* Seeds of a run: WR_TEST_SEED=n shifts all of them. */
static uint64_t seed_of(uint64_t seed) {
    const char *more = getenv("WR_TEST_SEED");
    return seed + (more ? strtoull(more, NULL, 10) * 1000003 : 0);
}

static int64_t random_int(wr_rng *rng, int bits) { /* small values, extremes and anything */
    uint64_t kind = wr_rng_below(rng, 4), x = wr_rng_next(rng);
    if (kind < 2) return (int64_t)wr_rng_below(rng, 7) - 3;
    if (kind == 2) return x & 1 ? (int64_t)(UINT64_MAX << (bits - 1)) : (int64_t)(UINT64_MAX >> (65 - bits));
    return (int64_t)(x << (64 - bits)) >> (64 - bits);
}

static void random_cell(wr_rng *rng, wr_vec *v, uint32_t r, wr_mem *mem) {
    static const char *const words[] = {"", "a", "abc", "Hello World", "exactly12byt", "a text that is longer than twelve bytes", "äöü", "a_c", "42", "-7.5", "2026-01-02 03:04:05", "x,y,z"};
    switch (wr_type_storage(v->type)) {
    case WR_S_BOOL: ((uint8_t *)v->data)[r] = wr_rng_next(rng) & 1; break;
    case WR_S_I8: ((int8_t *)v->data)[r] = (int8_t)random_int(rng, 8); break;
    case WR_S_I16: ((int16_t *)v->data)[r] = (int16_t)random_int(rng, 16); break;
    case WR_S_I32: ((int32_t *)v->data)[r] = v->type.id == WR_T_DATE ? (int32_t)wr_rng_below(rng, 40000) - 10000 : (int32_t)random_int(rng, 32); break;
    case WR_S_I64:
        ((int64_t *)v->data)[r] = v->type.id == WR_T_TIMESTAMP ? ((int64_t)wr_rng_below(rng, 4000000000000) - 1000000000000) * 1000 : random_int(rng, 64);
        break;
    case WR_S_I128: {
        wr_i128 x = (wr_i128)random_int(rng, 64) * (v->type.prec == 38 ? (wr_i128)random_int(rng, 62) : 1);
        ((wr_i128 *)v->data)[r] = x % wr_pow10(v->type.prec);
        break;
    }
    case WR_S_F32: ((float *)v->data)[r] = (float)random_int(rng, 20) / 4; break;
    case WR_S_F64: ((double *)v->data)[r] = (double)random_int(rng, 40) / 8; break;
    default: {
        const char *w = words[wr_rng_below(rng, WR_COUNT_OF(words))];
        ((wr_sview *)v->data)[r] = wr_sview_copy(mem, w, strlen(w));
    }
    }
}

static wr_batch *random_batch(wr_rng *rng, uint32_t n, int nulls, bool some_live) {
    wr_batch *b = wr_batch_new(N_COLS, 1 << 16);
    b->n_rows = n;
    for (uint32_t k = 0; k < N_COLS; k++) {
        wr_vec *v = &b->cols[k];
        wr_vec_init(v, fields[k].type, n, nulls > 0, b->mem);
        for (uint32_t r = 0; r < n; r++) {
            random_cell(rng, v, r, b->mem);
            if (nulls == 2 || (nulls == 1 && wr_rng_below(rng, 3) == 0)) wr_valid_set(v->valid, r, false);
        }
    }
    if (some_live) {
        uint16_t *sel = wr_mem_alloc(b->mem, n * 2 + 2);
        for (uint32_t r = 0; r < n; r++)
            if (wr_rng_below(rng, 3)) sel[b->n_sel++] = (uint16_t)r;
        b->sel = sel;
    }
    return b;
}

/* ---- references in plain C: false = NULL ---- */
typedef struct cell { bool null; int64_t i; double f; wr_i128 x; } cell;
typedef bool (*reference)(const cell *c, wr_sbuf *out);
enum { TI, SI, A, B, L, M, FL, D, E, G, H, S, T, P, Q, TS, DT };

static void say_i(wr_sbuf *o, int64_t v) { wr_sbuf_printf(o, "%lld", (long long)v); }
static bool say_b(wr_sbuf *o, bool v) { return wr_sbuf_addz(o, v ? "TRUE" : "FALSE"), true; }
#define REF_I(name, x, y, T, expr) static bool name(const cell *c, wr_sbuf *o) { if (c[x].null || c[y].null) return false; uint64_t u = (uint64_t)c[x].i, v = (uint64_t)c[y].i; (void)u, (void)v; say_i(o, (T)(expr)); return true; }
#define REF_B(name, x, y, member, op) static bool name(const cell *c, wr_sbuf *o) { return !c[x].null && !c[y].null && say_b(o, c[x].member op c[y].member); }
REF_I(add_a_b, A, B, int32_t, u + v)
REF_I(sub_a_b, A, B, int32_t, u - v)
REF_I(mul_a_b, A, B, int32_t, u * v)
REF_I(add_l_m, L, M, int64_t, u + v)
REF_I(sub_l_m, L, M, int64_t, u - v)
REF_I(mul_l_m, L, M, int64_t, u * v)
REF_I(add_ti, TI, TI, int8_t, u + v)
REF_I(mul_si, SI, SI, int16_t, u * v)
REF_I(add_a_l, A, L, int64_t, u + v)
REF_I(mod_l_123, L, L, int32_t, (int64_t)u % 123)
REF_I(mod_l_m7, L, L, int32_t, (int64_t)u % -7)
REF_I(div_l_1000, L, L, int64_t, (int64_t)u / 1000)
REF_I(div_l_m3, L, L, int64_t, (int64_t)u / -3)
REF_I(div_a_10, A, A, int32_t, (int64_t)u / 10)
REF_I(neg_l, L, L, int64_t, 0 - u)
REF_B(eq_l_m, L, M, i, ==)
REF_B(ne_a_b, A, B, i, !=)
REF_B(lt_a_b, A, B, i, <)
REF_B(le_l_m, L, M, i, <=)
REF_B(gt_ti_si, TI, SI, i, >)
REF_B(ge_d_d, D, D, f, >=)
REF_B(lt_fl_d, FL, D, f, <)
REF_B(gt_p_q, P, Q, i, >)
REF_B(lt_a_l, A, L, i, <)
static bool gt_l_5(const cell *c, wr_sbuf *o) { return !c[L].null && say_b(o, c[L].i > 5); }
static bool e_lt_g(const cell *c, wr_sbuf *o) { return !c[E].null && !c[G].null && say_b(o, c[E].x * 100 < c[G].x); }
static bool and_p_q(const cell *c, wr_sbuf *o) {
    if ((!c[P].null && !c[P].i) || (!c[Q].null && !c[Q].i)) return say_b(o, false);
    return !c[P].null && !c[Q].null && say_b(o, true);
}
static bool or_p_q(const cell *c, wr_sbuf *o) {
    if ((!c[P].null && c[P].i) || (!c[Q].null && c[Q].i)) return say_b(o, true);
    return !c[P].null && !c[Q].null && say_b(o, false);
}
static bool guarded(const cell *c, wr_sbuf *o) { /* CASE WHEN b <> 0 THEN a / b END */
    if (c[A].null || c[B].null || c[B].i == 0) return false;
    return say_i(o, (int32_t)(c[A].i / c[B].i)), true;
}
static void say_dec(wr_sbuf *o, wr_i128 v, int scale) {
    char   text[48];
    size_t n = wr_decimal_text(v, scale, text);
    wr_sbuf_add(o, text, n);
}
static bool add_e_g(const cell *c, wr_sbuf *o) { return !c[E].null && !c[G].null && (say_dec(o, c[E].x * 100 + c[G].x, 4), true); }
static bool sub_e_e(const cell *c, wr_sbuf *o) { return !c[E].null && (say_dec(o, 0, 2), true); }
static bool mul_e_e(const cell *c, wr_sbuf *o) { return !c[E].null && (say_dec(o, c[E].x * c[E].x, 4), true); }
static bool mul_908(const cell *c, wr_sbuf *o) { return !c[L].null && (say_dec(o, (wr_i128)c[L].i * 908, 3), true); }
static bool d_plus_1(const cell *c, wr_sbuf *o) {
    char text[32];
    if (c[D].null) return false;
    wr_sbuf_add(o, text, wr_text_double(c[D].f + 1, text));
    return true;
}
static bool case_a(const cell *c, wr_sbuf *o) { return say_i(o, !c[A].null && c[A].i > 0 ? 1 : !c[A].null && c[A].i < 0 ? -1 : 0), true; }
static bool coalesce_ab(const cell *c, wr_sbuf *o) { return say_i(o, !c[A].null ? c[A].i : !c[B].null ? c[B].i : 7), true; }
static bool a_is_null(const cell *c, wr_sbuf *o) { return say_b(o, c[A].null); }
static bool distinct_ab(const cell *c, wr_sbuf *o) { return say_b(o, c[A].null || c[B].null ? c[A].null != c[B].null : c[A].i != c[B].i); }
static bool in_list(const cell *c, wr_sbuf *o) { return !c[L].null && say_b(o, c[L].i == -2 || c[L].i == 0 || c[L].i == 3); }
static bool ts_plus(const cell *c, wr_sbuf *o) {
    char text[40];
    if (c[TS].null) return false;
    wr_sbuf_add(o, text, wr_text_timestamp(c[TS].i + 3600000000, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', text));
    return true;
}

static bool ref_format(const cell *c, wr_sbuf *o) {
    if (c[TS].null) return false;
    wr_civil v = wr_civil_from_us(c[TS].i);
    wr_sbuf_printf(o, "%04d%02d%02d%02d%02d", v.year, v.month, v.day, v.hour, v.minute);
    return true;
}

static const struct { const char *expr; reference ref; } props[] = {
    {"a + b", add_a_b}, {"a - b", sub_a_b}, {"a * b", mul_a_b}, {"l + m", add_l_m}, {"l - m", sub_l_m}, {"l * m", mul_l_m}, {"ti + ti", add_ti}, {"si * si", mul_si}, {"a + l", add_a_l},
    {"l % 123", mod_l_123}, {"l % -7", mod_l_m7}, {"l / 1000", div_l_1000}, {"l / -3", div_l_m3}, {"a / 10", div_a_10}, {"-l", neg_l}, {"l = m", eq_l_m}, {"a <> b", ne_a_b}, {"a < b", lt_a_b},
    {"l <= m", le_l_m}, {"ti > si", gt_ti_si}, {"d >= d", ge_d_d}, {"fl < d", lt_fl_d}, {"p > q", gt_p_q}, {"a < l", lt_a_l}, {"l > 5", gt_l_5}, {"5 < l", gt_l_5}, {"e < g", e_lt_g},
    {"p AND q", and_p_q}, {"p OR q", or_p_q}, {"CASE WHEN b <> 0 THEN a / b END", guarded}, {"IF(b = 0, NULL, a / b)", NULL}, {"b <> 0 AND a / b > 1", NULL}, {"b = 0 OR a % b = 1", NULL},
    {"e + g", add_e_g}, {"e - e", sub_e_e}, {"e * e", mul_e_e}, {"l * 0.908", mul_908}, {"0.908 * l", mul_908}, {"d + 1e0", d_plus_1}, {"h + h", NULL}, {"h * h", NULL}, {"h - g", NULL}, {"e / 3", NULL}, {"g % 7", NULL},
    {"CASE WHEN a > 0 THEN 1 WHEN a < 0 THEN -1 ELSE 0 END", case_a}, {"COALESCE(a, b, 7)", coalesce_ab}, {"a IS NULL", a_is_null}, {"a IS DISTINCT FROM b", distinct_ab}, {"l IN (-2, 0, 3)", in_list},
    {"ts + INTERVAL '1' HOUR", ts_plus}, {"ts + INTERVAL '1' MONTH", NULL}, {"dt - INTERVAL '2' DAY", NULL}, {"EXTRACT(HOUR FROM ts)", NULL}, {"WEEK(dt)", NULL}, {"FLOOR(ts TO DAY)", NULL}, {"CEIL(dt TO MONTH)", NULL},
    {"TIMESTAMPDIFF(MONTH, ts, dt)", NULL}, {"DATE_FORMAT(ts, 'yyyy-MM-dd')", NULL}, {"DATE_FORMAT(ts, 'dd.MM.yyyy HH:mm:ss.SSS')", NULL}, {"DATE_FORMAT(ts, 'yyyyMMddHHmm')", ref_format}, {"a IN (1, 2)", NULL}, {"b IN (-1, 0, 2147483647)", NULL}, {"e / 7", NULL}, {"e / e", NULL}, {"CAST(ts AS DATE)", NULL}, {"CAST(dt AS TIMESTAMP(3))", NULL},
    {"s = t", NULL}, {"s < t", NULL}, {"s <> 'abc'", NULL}, {"s = 'a text that is longer than twelve bytes'", NULL}, {"s >= 'a'", NULL}, {"s || t", NULL}, {"UPPER(s)", NULL}, {"CHAR_LENGTH(s)", NULL}, {"SUBSTRING(s, 2, 20)", NULL}, {"SUBSTRING(s, a, 4)", NULL},
    {"s LIKE '%a%'", NULL}, {"s LIKE t", NULL}, {"REPLACE(s, 'a', 'bb')", NULL}, {"SPLIT_INDEX(s, ',', 1)", NULL}, {"TRIM(s)", NULL}, {"LPAD(s, 15, 'xy')", NULL}, {"CONCAT_WS('-', s, t)", NULL}, {"MD5(s)", NULL}, {"REGEXP_EXTRACT(s, '[a-z]+', 0)", NULL},
    {"s IN ('abc', 'a_c', NULL)", NULL}, {"COALESCE(s, t, 'none of them')", NULL}, {"CASE WHEN p THEN s ELSE UPPER(t) END", NULL}, {"NULLIF(s, t)", NULL}, {"GREATEST(s, t)", NULL}, {"LEAST(a, b, 3)", NULL},
    {"CAST(l AS INT)", NULL}, {"CAST(a AS DOUBLE)", NULL}, {"CAST(d AS INT)", NULL}, {"CAST(d AS DECIMAL(20,2))", NULL}, {"CAST(l AS STRING)", NULL}, {"CAST(e AS STRING)", NULL}, {"CAST(d AS STRING)", NULL}, {"TRY_CAST(s AS INT)", NULL}, {"TRY_CAST(s AS TIMESTAMP(3))", NULL},
    {"TRY_CAST(s AS DOUBLE)", NULL}, {"CAST(s AS INT)", NULL}, {"CAST(g AS DECIMAL(10,1))", NULL}, {"CAST(e AS DECIMAL(20,6))", NULL}, {"CAST(a AS BOOLEAN)", NULL}, {"CAST(s AS CHAR(5))", NULL}, {"CAST(h AS BIGINT)", NULL}, {"a / b", NULL}, {"a % b", NULL}, {"l / m", NULL}, {"e / g", NULL},
    {"ROUND(d, 1)", NULL}, {"ROUND(e, 1)", NULL}, {"FLOOR(e)", NULL}, {"ABS(l)", NULL}, {"ABS(e)", NULL}, {"SIGN(d)", NULL}, {"SQRT(d)", NULL}, {"NOT p", NULL}, {"p IS NOT TRUE", NULL}, {"p AND CAST(s AS INT) = 42", NULL}, {"NOT (a > 1 AND b < 2 OR l IS NULL)", NULL},
    {"ARRAY[a, b][1]", NULL}, {"CARDINALITY(SPLIT(s, ','))", NULL}, {"SPLIT(s, ',')[2]", NULL}, {"MAP['a', s, 'b', t]['b']", NULL}, {"ROW(a, s)", NULL}, {"ROW(a, s)[2]", NULL}, {"ARRAY[s, t, 'x']", NULL}, {"CASE WHEN p THEN ARRAY[a] ELSE ARRAY[b, a] END", NULL}, {"CAST(ARRAY[a, b] AS ARRAY<STRING>)", NULL},
    {"JSON_OBJECT('a', a, 's', s)", NULL}, {"JSON_VALUE(s, '$.a')", NULL}, {"ARRAY_CONTAINS(ARRAY[a, 1], b)", NULL}, {"a BETWEEN b AND 3", NULL}, {"a + b * 2 - ti", NULL}, {"(a + b) * (a + b)", NULL}, {"COALESCE(ARRAY[a], ARRAY[1])", NULL}, {"ELT(a, s, t)", NULL}, {"CAST(NULL AS INT) + a", NULL},
};

static cell cell_of(const wr_vec *v, uint32_t r) {
    cell c = {.null = wr_vec_is_null(v, r)};
    switch (wr_type_storage(v->type)) {
    case WR_S_BOOL: c.i = ((uint8_t *)v->data)[r]; break;
    case WR_S_I8: c.i = ((int8_t *)v->data)[r]; break;
    case WR_S_I16: c.i = ((int16_t *)v->data)[r]; break;
    case WR_S_I32: c.i = ((int32_t *)v->data)[r]; break;
    case WR_S_I64: c.i = ((int64_t *)v->data)[r]; break;
    case WR_S_I128: c.x = ((wr_i128 *)v->data)[r]; break;
    case WR_S_F32: c.f = ((float *)v->data)[r]; break;
    case WR_S_F64: c.f = ((double *)v->data)[r]; break;
    default: break;
    }
    return c;
}

static wr_status one_row(kit *k, const wr_expr *e, const wr_batch *in, uint32_t row, wr_sbuf *out) {
    wr_expr *consts[N_COLS];
    for (uint32_t i = 0; i < N_COLS; i++) consts[i] = kit_const(k, wr_value_from_vec(k->ctx.arena, &in->cols[i], row));
    wr_value  v;
    wr_err    err;
    wr_status st = wr_expr_eval_const(&k->ctx, wr_expr_substitute(k->ctx.arena, e, consts), &v, &err);
    if (st == WR_OK) wr_value_text(&v, NULL, out);
    return st;
}

static void check_batch(kit *k, const char *text, const wr_expr *e, reference ref, const wr_batch *in) {
    wr_expr *list[1] = {(wr_expr *)(uintptr_t)e};
    wr_prog *p = wr_prog_new(list, 1, NULL, k->ctx.world);
    for (int round = 0; round < 2; round++) { /* the second time over used buffers */
        wr_mem   *mem = wr_mem_new(4096);
        wr_vec    out = {0};
        wr_err    err = {0};
        wr_status st = wr_prog_eval(p, in, 0, &out, mem, &err);
        bool      any_failed = false;
        uint32_t  step = in->n_rows > 100 ? 61 : 1;
        for (uint32_t i = 0; i < wr_batch_live(in); i += step) {
            uint32_t  r = wr_batch_row(in, i);
            wr_sbuf   want = {0}, got = {0};
            wr_status one = one_row(k, e, in, r, &want);
            any_failed |= one != WR_OK;
            if (st == WR_OK) {
                assert_int_equal(one, WR_OK);
                wr_vec_text(&out, r, NULL, &got);
                if (strcmp(want.at, got.at) != 0) fail_msg("%s, n = %u, row %u: one row gives %s, the batch %s", text, in->n_rows, r, want.at, got.at);
                if (ref) {
                    cell cells[N_COLS];
                    for (uint32_t c = 0; c < N_COLS; c++) cells[c] = cell_of(&in->cols[c], r);
                    wr_sbuf_clear(&want);
                    if (!ref(cells, &want)) wr_sbuf_clear(&want), wr_sbuf_addz(&want, "NULL");
                    if (strcmp(want.at, got.at) != 0) fail_msg("%s, n = %u, row %u: expected %s, got %s", text, in->n_rows, r, want.at, got.at);
                }
            }
            wr_sbuf_free(&want), wr_sbuf_free(&got);
        }
        if (step == 1 && st != WR_OK) assert_true(any_failed);
        if (any_failed) assert_int_not_equal(st, WR_OK);
        if (st != WR_OK) assert_true(strlen(err.detail) > 3);
        wr_mem_unref(mem);
    }
    wr_prog_free(p);
}

static void test_batches_against_rows(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 1, 63, 64, 65, 1024, 2048};
    wr_rng rng;
    wr_rng_seed(&rng, seed_of(20261130));
    for (size_t x = 0; x < WR_COUNT_OF(props); x++) {
        kit k;
        kit_open(&k, NULL);
        k.schema = schema;
        wr_expr *e = kit_parse(&k, props[x].expr);
        if (!e) {
            wr_sbuf buf = {0};
            wr_diags_print(&k.diags, &buf);
            fail_msg("%s: %s", props[x].expr, buf.at ? buf.at : "syntax");
        }
        e = wr_expr_fold(&k.ctx, e);
        for (size_t z = 0; z < WR_COUNT_OF(sizes); z++)
            for (int nulls = 0; nulls < 3; nulls++)
                for (int live = 0; live < 2; live++) {
                    if (sizes[z] > 100 && (nulls + live + (int)x) % 3) continue; /* a third of the large ones */
                    wr_batch *in = random_batch(&rng, sizes[z], nulls, live);
                    check_batch(&k, props[x].expr, e, props[x].ref, in);
                    wr_batch_unref(in);
                }
        kit_close(&k);
    }
}

/* ---- filters ---- */
static void test_filter(void **state) {
    (void)state;
    static const char *const conditions[] = {"l % 123 = 0", "l > 5", "p", "p AND q", "s LIKE '%a%'", "a > 0 AND b <> 0 AND a / b > 1", "TRUE", "CAST(NULL AS BOOLEAN)", "a IN (1, 2, 3) OR s = 'abc'", "CARDINALITY(ARRAY[a, b]) = 2 AND p", "s < t AND l = l"};
    wr_rng rng;
    wr_rng_seed(&rng, seed_of(7));
    for (size_t x = 0; x < WR_COUNT_OF(conditions); x++) {
        kit k;
        kit_open(&k, NULL);
        k.schema = schema;
        wr_expr *e = wr_expr_fold(&k.ctx, kit_parse(&k, conditions[x]));
        assert_non_null(e);
        wr_prog *p = wr_prog_new(&e, 1, NULL, NULL);
        for (int i = 0; i < 12; i++) {
            wr_batch *in = random_batch(&rng, 1 + (uint32_t)wr_rng_below(&rng, 300), i % 3, i % 2);
            uint16_t  sel[WR_BATCH_MAX];
            uint32_t  n_sel, at = 0;
            wr_err    err;
            assert_int_equal(wr_prog_filter(p, in, 0, sel, &n_sel, &err), WR_OK);
            for (uint32_t j = 0; j < wr_batch_live(in); j++) {
                wr_sbuf  want = {0};
                uint32_t r = wr_batch_row(in, j);
                assert_int_equal(one_row(&k, e, in, r, &want), WR_OK);
                bool in_sel = at < n_sel && sel[at] == r;
                assert_int_equal(in_sel, strcmp(want.at, "TRUE") == 0);
                at += in_sel;
                wr_sbuf_free(&want);
            }
            assert_int_equal(at, n_sel);
            wr_batch_unref(in);
        }
        wr_prog_free(p);
        kit_close(&k);
    }
}

/* ---- results outlive the program, the input and other batches ---- */
static void test_memory_of_results(void **state) {
    (void)state;
    static const char *const texts[] = {"s", "SUBSTRING(s, 2)", "CASE WHEN p THEN s ELSE 'a constant of more than twelve bytes' END", "COALESCE(UPPER(s), t)", "s || t", "ARRAY[s, t]", "SPLIT(s, ' ')", "SPLIT(s, ' ')[1]", "ROW(a, UPPER(s))", "'another constant, quite long'", "CAST(s AS VARCHAR(20))", "CAST(UPPER(s) AS VARCHAR(20))", "CAST(ts + INTERVAL '1' DAY AS TIMESTAMP(6))", "ROW(a, b + 1)"};
    enum { N = WR_COUNT_OF(texts) };
    wr_rng rng;
    wr_rng_seed(&rng, seed_of(99));
    kit k;
    kit_open(&k, NULL);
    k.schema = schema;
    wr_expr *list[N];
    for (int i = 0; i < N; i++) assert_non_null(list[i] = kit_parse(&k, texts[i]));
    wr_prog *p = wr_prog_new(list, N, NULL, NULL);
    wr_mem  *mems[2];
    wr_vec   out[2][N];
    wr_sbuf  before = {0}, after = {0};
    for (int b = 0; b < 2; b++) {
        wr_batch *in = random_batch(&rng, 100, 1, b);
        wr_err    err;
        mems[b] = wr_mem_new(1024);
        wr_mem_keep(mems[b], in->mem);
        assert_int_equal(wr_prog_eval(p, in, 0, out[b], mems[b], &err), WR_OK);
        for (int i = 0; i < N; i++)
            for (uint32_t j = 0; j < wr_batch_live(in) && b == 0; j++) wr_vec_text(&out[b][i], wr_batch_row(in, j), NULL, &before);
        wr_batch_unref(in);
    }
    wr_prog_free(p);
    for (int i = 0; i < N; i++)
        for (uint32_t r = 0; r < 100; r++) wr_vec_text(&out[0][i], r, NULL, &after);
    assert_string_equal(before.at, after.at);
    wr_sbuf_free(&before), wr_sbuf_free(&after);
    wr_mem_unref(mems[0]), wr_mem_unref(mems[1]);
    kit_close(&k);
}

/* ---- errors ---- */
static void test_error_detail(void **state) {
    (void)state;
    kit k;
    kit_open(&k, NULL);
    k.schema = schema;
    wr_expr  *e = kit_parse(&k, "a / b");
    wr_prog  *p = wr_prog_new(&e, 1, NULL, NULL);
    wr_rng    rng;
    wr_rng_seed(&rng, seed_of(1));
    wr_batch *in = random_batch(&rng, 10, 0, false);
    for (uint32_t r = 0; r < 10; r++) ((int32_t *)in->cols[A].data)[r] = 70 + (int32_t)r, ((int32_t *)in->cols[B].data)[r] = r == 7 ? 0 : 1;
    wr_vec out;
    wr_err err = {0};
    assert_int_equal(wr_prog_eval(p, in, 0, &out, in->mem, &err), WR_DATA);
    assert_string_equal(err.message, "division by zero");
    assert_string_equal(err.code, "22012");
    assert_string_equal(err.detail, "in $2 / $3 where $2 = 77, $3 = 0");
    wr_prog_names(p, &schema);
    assert_int_equal(wr_prog_eval(p, in, 0, &out, in->mem, &err), WR_DATA);
    assert_string_equal(err.detail, "in a / b where a = 77, b = 0");
    uint16_t sel[] = {0, 1, 2, 8}; /* the bad row is dead */
    in->sel = sel, in->n_sel = 4;
    assert_int_equal(wr_prog_eval(p, in, 0, &out, in->mem, &err), WR_OK);
    wr_prog_free(p);
    wr_batch_unref(in);
    kit_close(&k);
}

static const struct { const char *expr, *code, *message, *hint; } wrong[] = {
    {"UPER(s)", "42883", "no function 'UPER' (STRING)", "did you mean UPPER? UPPER(STRING) -> STRING"},
    {"SUBSTRING(s)", "42883", "cannot apply 'SUBSTRING' to arguments of type (STRING)", "SUBSTRING(STRING, INT[, INT]) -> STRING"},
    {"a = 'abc'", "42804", "implicit type conversion between INTEGER and CHAR is not supported now", "CAST"},
    {"p + 1", "42804", "cannot apply '+' to arguments of type (BOOLEAN, INT)", "numeric + numeric"},
    {"a AND p", "42804", "a condition must be BOOLEAN, not INT", NULL},
    {"CASE WHEN p THEN 1 ELSE dt END", "42804", "no common type", NULL},
    {"CAST(a AS TIMESTAMP(3))", "42846", "cannot cast INT to TIMESTAMP(3)", "TO_TIMESTAMP_LTZ"},
    {"CAST(ts AS BIGINT)", "42846", "cannot cast TIMESTAMP(3) to BIGINT", "EXTRACT"},
    {"JSON_VALUE(s, 'a.b')", "2203A", "not a JSON path", NULL},
    {"FLOOR(ts TO NONSENSE)", "42804", "'NONSENSE' is not a time unit", NULL},
    {"ROW(a, s).nope", "42703", "no field 'nope'", NULL},
    {"TO_TIMESTAMP_LTZ(l, 6)", "42804", "must be 0 (seconds) or 3", NULL},
    {"s || a", "42804", "cannot apply '||'", NULL},
    {"NULLIF(a, s)", "42804", "implicit type conversion", NULL},
    {"ARRAY[a, p]", "42804", "common type", NULL},
};
static void test_diagnostics(void **state) {
    (void)state;
    for (size_t i = 0; i < WR_COUNT_OF(wrong); i++) {
        kit k;
        kit_open(&k, NULL);
        k.schema = schema;
        assert_null(kit_parse(&k, wrong[i].expr));
        if (k.diags.n_errors != 1) fail_msg("%s: %u errors", wrong[i].expr, k.diags.n_errors);
        const wr_diag *d = &k.diags.list.at[0];
        assert_string_equal(d->code, wrong[i].code);
        if (!strstr(d->message, wrong[i].message)) fail_msg("%s: %s", wrong[i].expr, d->message);
        if (wrong[i].hint && (!d->hint || !strstr(d->hint, wrong[i].hint))) fail_msg("%s: hint: %s", wrong[i].expr, d->hint ? d->hint : "none");
        kit_close(&k);
    }
}

/* ---- trees ---- */
static void test_trees(void **state) {
    (void)state;
    kit k;
    kit_open(&k, NULL);
    k.schema = schema;
    static const struct { const char *in, *text; } texts[] = {
        {"a + b * 2", "a + (b * 2)"}, {"a = 1 AND s LIKE 'x%' AND p", "((a = 1) AND (s LIKE 'x%')) AND p"}, {"NOT p", "NOT p"}, {"a IS NOT NULL", "a IS NOT NULL"}, {"CASE WHEN p THEN 1 ELSE 2 END", "CASE WHEN p THEN 1 ELSE 2 END"},
        {"CAST(a AS STRING)", "CAST(a AS STRING)"}, {"UPPER(s)", "UPPER(s)"}, {"a IN (1, 2)", "a IN (1, 2)"}, {"EXTRACT(HOUR FROM ts)", "EXTRACT(HOUR FROM ts)"}, {"l > 5", "l > 5"}, {"ts > TIMESTAMP '2026-01-01 00:00:00.000'", "ts > TIMESTAMP '2026-01-01 00:00:00.000'"},
        {"s = 'it''s'", "s = 'it''s'"}, {"TIMESTAMPDIFF(DAY, ts, dt)", "TIMESTAMPDIFF(DAY, ts, dt)"}, {"a IS DISTINCT FROM b", "a IS DISTINCT FROM b"}, {"ARRAY[a, b][1]", "ARRAY[a, b][1]"}, {"s LIKE 'a!%' ESCAPE '!'", "s LIKE 'a!%' ESCAPE '!'"}, {"ROW(a, s)[2]", "ROW(a, s).EXPR$1"}, {"-a", "-a"},
        {"a || 'x'", NULL},
    };
    for (size_t i = 0; i < WR_COUNT_OF(texts) && texts[i].text; i++) {
        wr_sbuf buf = {0};
        wr_expr *e = kit_parse(&k, texts[i].in);
        assert_non_null(e);
        wr_expr_text(e, &schema, &buf);
        assert_string_equal(buf.at, texts[i].text);
        assert_true(wr_expr_equal(e, kit_parse(&k, texts[i].in)));
        wr_sbuf_free(&buf);
    }
    assert_false(wr_expr_equal(kit_parse(&k, "EXTRACT(HOUR FROM ts)"), kit_parse(&k, "EXTRACT(DAY FROM ts)")));
    assert_false(wr_expr_equal(kit_parse(&k, "a + 1"), kit_parse(&k, "a + 2")));
    wr_expr **list;
    uint32_t  n;
    wr_expr_conjuncts(k.ctx.arena, kit_parse(&k, "a = 1 AND (p AND q) AND s = 'x'"), &list, &n);
    assert_int_equal(n, 4);
    assert_true(wr_expr_is_call(wr_expr_and(&k.ctx, list, n), "AND"));
    assert_null(wr_expr_and(&k.ctx, list, 0));
    uint64_t bits[1] = {0};
    wr_expr_columns(kit_parse(&k, "a + b > l"), bits);
    assert_int_equal(bits[0], 1u << A | 1u << B | 1u << L);
    uint32_t map[N_COLS] = {[A] = 1, [B] = 0};
    wr_sbuf  buf = {0};
    wr_expr_text(wr_expr_remap(k.ctx.arena, kit_parse(&k, "a - b"), map), NULL, &buf);
    assert_string_equal(buf.at, "$1 - $0");
    wr_sbuf_free(&buf);
    assert_int_equal(wr_expr_volatility(kit_parse(&k, "RAND() > 0.5")), WR_VOL_RANDOM);
    assert_int_equal(wr_expr_volatility(kit_parse(&k, "ts < CAST(NOW() AS TIMESTAMP(3))")), WR_VOL_QUERY);
    assert_int_equal(wr_expr_volatility(kit_parse(&k, "UNIX_TIMESTAMP()")), WR_VOL_QUERY);
    assert_int_equal(wr_expr_volatility(kit_parse(&k, "a + 1")), WR_VOL_PURE);
    kit_close(&k);
}

static void test_fold(void **state) {
    (void)state;
    kit k;
    kit_open(&k, NULL);
    k.schema = schema;
    static const struct { const char *in, *text; } texts[] = {
        {"1 + 2 * 3", "7"}, {"a + (1 + 2)", "a + 3"}, {"1 / 0", "1 / 0"}, {"a = 1 OR 1 / 0 = 1", "(a = 1) OR ((1 / 0) = 1)"}, {"TRUE AND p", "p"}, {"p AND FALSE", "p AND FALSE"}, {"FALSE AND p", "FALSE"}, {"CASE WHEN 1 = 1 THEN a ELSE b END", "a"},
        {"CASE WHEN FALSE THEN 1 / 0 ELSE b END", "b"}, {"CAST('x' AS INT) + a", "CAST('x' AS INT) + a"}, {"UPPER('abc')", "'ABC'"}, {"RAND() < 2", "RAND() < 2.0"}, {"COALESCE(NULL, 3)", "3"}, {"ts > TIMESTAMP '2026-01-01 00:00:00'", "ts > TIMESTAMP '2026-01-01 00:00:00.000'"},
    };
    for (size_t i = 0; i < WR_COUNT_OF(texts); i++) {
        wr_sbuf  buf = {0};
        wr_expr *e = wr_expr_fold(&k.ctx, kit_parse(&k, texts[i].in));
        assert_non_null(e);
        wr_expr_text(e, &schema, &buf);
        assert_string_equal(buf.at, texts[i].text);
        wr_sbuf_free(&buf);
    }
    kit_close(&k);
}

static void test_sharing_and_clock(void **state) {
    (void)state;
    kit k;
    kit_open(&k, NULL);
    k.schema = schema;
    wr_expr *list[] = {kit_parse(&k, "RAND_INTEGER(1000000000)"), kit_parse(&k, "RAND_INTEGER(1000000000)"), kit_parse(&k, "CURRENT_TIMESTAMP"), kit_parse(&k, "UUID()"), kit_parse(&k, "CASE WHEN p THEN a / NULLIF(b, 0) ELSE a / NULLIF(b, 0) END")};
    wr_prog *p = wr_prog_new(list, 5, NULL, k.ctx.world);
    wr_rng   rng;
    wr_rng_seed(&rng, seed_of(3));
    wr_batch *in = random_batch(&rng, 64, 1, false);
    wr_vec    out[5];
    wr_err    err;
    assert_int_equal(wr_prog_eval(p, in, 1767225600123456, out, in->mem, &err), WR_OK);
    uint32_t same = 0, equal_rows = 0;
    for (uint32_t r = 0; r < 64; r++) same += ((int32_t *)out[0].data)[r] == ((int32_t *)out[1].data)[r];
    for (uint32_t r = 1; r < 64; r++) equal_rows += wr_vec_equal(&out[3], 0, &out[3], r);
    assert_true(same < 3); /* two calls of RAND are two calls */
    assert_int_equal(equal_rows, 0);
    for (uint32_t r = 0; r < 64; r++) assert_int_equal(((int64_t *)out[2].data)[r], 1767225600123000);
    wr_prog_free(p);
    wr_batch_unref(in);
    kit_close(&k);
}

static void test_coerce(void **state) {
    (void)state;
    assert_true(wr_expr_can_coerce(wr_type_of(WR_T_INT), wr_type_of(WR_T_BIGINT)));
    assert_false(wr_expr_can_coerce(wr_type_of(WR_T_BIGINT), wr_type_of(WR_T_INT)));
    assert_true(wr_expr_can_coerce(wr_type_of(WR_T_INT), wr_type_decimal(10, 2)));
    assert_false(wr_expr_can_coerce(wr_type_of(WR_T_DOUBLE), wr_type_of(WR_T_FLOAT)));
    assert_true(wr_expr_can_coerce(wr_type_prec(WR_T_CHAR, 3), wr_type_string()));
    assert_false(wr_expr_can_coerce(wr_type_of(WR_T_INT), wr_type_string()));
    assert_true(wr_expr_can_coerce(wr_type_of(WR_T_NULL), wr_type_of(WR_T_DATE)));
    kit k;
    kit_open(&k, NULL);
    k.schema = schema;
    assert_null(wr_expr_coerce(&k.ctx, kit_parse(&k, "s"), wr_type_of(WR_T_INT), "column 'x' of sink t"));
    assert_string_equal(k.diags.list.at[0].message, "column 'x' of sink t is of type INT, but the expression is of type STRING");
    kit_close(&k);
}

/* Every line of the catalogue can be described, and every unknown argument list is refused with a message, not a crash. */
static void test_catalogue(void **state) {
    (void)state;
    assert_true(wr_fn_count() > 200);
    for (size_t i = 0; i < wr_fn_count(); i++) {
        wr_str name, kind, signatures, summary;
        wr_fn_describe(i, &name, &kind, &signatures, &summary);
        assert_true(name.len > 0 && kind.len > 0 && signatures.len > 0 && summary.len > 0);
        for (size_t j = 0; j < i; j++) {
            wr_str other, x;
            wr_fn_describe(j, &other, &x, &x, &x);
            assert_false(wr_str_eq(name, other));
        }
        kit k;
        kit_open(&k, NULL);
        k.schema = schema;
        wr_err   err;
        wr_value v;
        static const char *const tries[] = {"", "NULL", "NULL, NULL", "NULL, NULL, NULL", "'a'", "'DAY', 1, 'x'", "1, 2", "1.5, 2, 3", "'x', 'y', 'z', 'u'", "TRUE, FALSE, TRUE", "ARRAY[1]", "MAP['a', 1], 'a'", "DATE '2026-01-01'", "X'00', X'01'", "ROW(1, 2), 1", "1, 2, 3, 4, 5, 6, 7", "'a', 1, 1, 1", "1e300, -1"};
        for (size_t t = 0; t < WR_COUNT_OF(tries); t++) {
            char text[128];
            wr_expr *args[10];
            uint32_t n = 0;
            snprintf(text, sizeof text, "%s", tries[t]);
            k.at = text, k.bad = false;
            if (*text) do args[n++] = kit_expr(&k, 0); while (kit_take(&k, ","));
            uint32_t before = k.diags.n_errors;
            wr_expr *e = wr_expr_call(&k.ctx, name, args, n, (wr_span){0});
            if (!e && k.diags.n_errors != before + 1 && !k.diags.n_dropped) fail_msg("%.*s(%s): %u errors", WR_FMT(name), tries[t], k.diags.n_errors - before);
            if (e && wr_expr_eval_const(&k.ctx, e, &v, &err) == WR_OK && v.null && !e->type.nullable) fail_msg("%.*s(%s): NULL of a NOT NULL type", WR_FMT(name), tries[t]);
        }
        kit_close(&k);
    }
    assert_true(wr_fn_exists(WR_STR("upper")));
    assert_false(wr_fn_exists(WR_STR("CASE")));
}

/* Every pure function with random columns and constants as arguments, where they fit: batches against rows. */
static void test_catalogue_random(void **state) {
    (void)state;
    static const char *const consts[] = {"1", "-2", "'a'", "'yyyy-MM-dd'", "'%b%'", "2.5", "NULL", "'DAY'", "'(a+)'", "X'61'", "ARRAY[1, 2]", "MAP['a', 'b']", "INTERVAL '1' DAY", "INTERVAL '2' MONTH", "'$.a'", "256", "'UTF-8'", "ARRAY['x', NULL]", "1e300", "'2026-01-02'"};
    wr_rng   rng;
    uint32_t bound = 0;
    wr_rng_seed(&rng, seed_of(4711));
    for (size_t i = 0; i < wr_fn_count(); i++) {
        wr_str name, x;
        wr_fn_describe(i, &name, &x, &x, &x);
        for (int t = 0; t < 60; t++) {
            kit k;
            kit_open(&k, NULL);
            k.schema = schema;
            wr_expr *args[4];
            uint32_t n = (uint32_t)wr_rng_below(&rng, 4) + 1;
            for (uint32_t a = 0; a < n; a++) {
                uint64_t pick = wr_rng_below(&rng, N_COLS + WR_COUNT_OF(consts));
                if (pick < N_COLS) args[a] = wr_expr_col(k.ctx.arena, (uint32_t)pick, fields[pick].type, (wr_span){0});
                else args[a] = wr_expr_fold(&k.ctx, kit_parse(&k, consts[pick - N_COLS]));
            }
            wr_expr *e = wr_expr_call(&k.ctx, name, args, n, (wr_span){0});
            if (e && wr_expr_volatility(e) == WR_VOL_PURE && e->type.id != WR_T_NULL) {
                wr_sbuf text = {0};
                wr_expr_text(e, &schema, &text);
                wr_batch *in = random_batch(&rng, 1 + (uint32_t)wr_rng_below(&rng, 24), (int)wr_rng_below(&rng, 3), t & 1);
                check_batch(&k, text.at, e, NULL, in);
                wr_batch_unref(in);
                wr_sbuf_free(&text);
                bound++;
            }
            kit_close(&k);
        }
    }
    assert_true(bound > 600);
}

int main(void) {
    make_schema();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_against_rows), cmocka_unit_test(test_filter), cmocka_unit_test(test_memory_of_results), cmocka_unit_test(test_error_detail), cmocka_unit_test(test_diagnostics),
        cmocka_unit_test(test_trees), cmocka_unit_test(test_fold), cmocka_unit_test(test_sharing_and_clock), cmocka_unit_test(test_coerce), cmocka_unit_test(test_catalogue), cmocka_unit_test(test_catalogue_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
