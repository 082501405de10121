/* expr/udf_test.c: declarations of user functions: what is taken, what is refused and why, which signature a call gets. */
#include "expr/udf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int nothing(weir_call *call, const weir_column *args, weir_column *out) {
    (void)call, (void)args, (void)out;
    return 0;
}

typedef struct kit { wr_arena *arena; wr_diags diags; wr_expr_ctx ctx; } kit;
static kit kit_open(void) {
    kit k = {.arena = wr_arena_new(NULL)};
    wr_diags_init(&k.diags);
    k.ctx = (wr_expr_ctx){.arena = k.arena};
    return k;
}
static void kit_close(kit *k) {
    wr_diags_free(&k->diags);
    wr_arena_free(k->arena);
}

/* The signatures of a declaration with one signature, or why it is refused. */
static wr_str said(kit *k, weir_function_kind kind, const char *args, const char *result) {
    weir_signature *s = wr_new(k->arena, weir_signature);
    weir_function  *d = wr_new(k->arena, weir_function);
    *s = (weir_signature){.args = args, .result = result, .eval = nothing};
    *d = (weir_function){WEIR_UDF_HEAD(kind), .n_signatures = 1, .signatures = s};
    const wr_udf *u;
    wr_err        err;
    wr_sbuf       out = {0};
    if (wr_udf_make(k->arena, WR_STR("f"), d, &u, &err) == WR_OK) wr_udf_signatures(u, &out);
    else wr_sbuf_addz(&out, err.message);
    wr_str text = wr_str_dup(k->arena, wr_sbuf_str(&out));
    wr_sbuf_free(&out);
    return text;
}
#define SAYS(k, kind, args, result, text) assert_string_equal(said(k, kind, args, result).ptr, text)

static void test_declarations(void **state) {
    (void)state;
    kit k = kit_open();
    SAYS(&k, WEIR_SCALAR, "", "INT", "f() -> INT");
    SAYS(&k, WEIR_SCALAR, " string,  DECIMAL( 10 , 2 ),integer ", "timestamp_ltz(3)", "f(STRING, DECIMAL(10, 2), INT) -> TIMESTAMP_LTZ(3)");
    SAYS(&k, WEIR_SCALAR, "BYTES, TIME, TIMESTAMP, DECIMAL", "DECIMAL(38, 38)", "f(BYTES, TIME(0), TIMESTAMP(6), DECIMAL(10, 0)) -> DECIMAL(38, 38)");
    SAYS(&k, WEIR_TABLE, "DATE", "a INT, b_2 STRING", "f(DATE) -> (a INT, b_2 STRING)");
    SAYS(&k, WEIR_SCALAR, "MAP<INT, INT>", "INT", "function 'f' declares the arguments 'MAP<INT, INT>': it is not among the types of a user function");
    SAYS(&k, WEIR_SCALAR, "INT INT", "INT", "function 'f' declares the arguments 'INT INT': something stands behind a type that does not belong there");
    SAYS(&k, WEIR_SCALAR, "INT,", "INT", "function 'f' declares the arguments 'INT,': a type is missing");
    SAYS(&k, WEIR_SCALAR, "DECIMAL(39)", "INT", "function 'f' declares the arguments 'DECIMAL(39)': its precision is not possible");
    SAYS(&k, WEIR_SCALAR, "DECIMAL(5, 6)", "INT", "function 'f' declares the arguments 'DECIMAL(5, 6)': its scale is not possible");
    SAYS(&k, WEIR_SCALAR, "DECIMAL(5", "INT", "function 'f' declares the arguments 'DECIMAL(5': ')' is missing");
    SAYS(&k, WEIR_SCALAR, "INT(4)", "INT", "function 'f' declares the arguments 'INT(4)': its precision is not possible");
    SAYS(&k, WEIR_SCALAR, "TIMESTAMP(99999999999999999999)", "INT", "function 'f' declares the arguments 'TIMESTAMP(99999999999999999999)': its precision is not possible");
    SAYS(&k, WEIR_SCALAR, "INT", "INT, INT", "function 'f' declares the results 'INT, INT': it must be one type");
    SAYS(&k, WEIR_SCALAR, "INT", "", "function 'f' declares the results '': it must be one type");
    SAYS(&k, WEIR_TABLE, "INT", "a INT, a INT", "function 'f' declares the results 'a INT, a INT': two columns have one name");
    SAYS(&k, WEIR_AGGREGATE, "", "INT", "function 'f' is an aggregate without arguments, which is not possible");
    SAYS(&k, WEIR_AGGREGATE, "INT", "INT", "function 'f' has no aggregate");
    kit_close(&k);
}

/* Which signature, by its result, a call with arguments of these types gets; NULL: none. */
static const wr_udf_sig *chosen(kit *k, const wr_udf *u, uint32_t n, const wr_type *types) {
    wr_expr *args[4];
    for (uint32_t i = 0; i < n; i++) args[i] = types[i].id == WR_T_NULL ? wr_expr_const(k->arena, wr_value_null(types[i]), (wr_span){0}) : wr_expr_col(k->arena, i, types[i], (wr_span){0});
    k->ctx.diags = &k->diags;
    const wr_udf_sig *s = wr_udf_resolve(&k->ctx, u, args, n, (wr_span){0});
    for (uint32_t i = 0; s && i < n; i++) assert_true(wr_type_same(args[i]->type, s->args[i]));
    return s;
}
static void test_choice(void **state) {
    (void)state;
    kit k = kit_open();
    const weir_signature sigs[] = {{.args = "DOUBLE", .result = "DOUBLE", .eval = nothing}, {.args = "BIGINT", .result = "BIGINT", .eval = nothing},
                                   {.args = "DECIMAL(20, 4)", .result = "STRING", .eval = nothing}, {.args = "INT", .result = "INT", .eval = nothing},
                                   {.args = "STRING, STRING", .result = "DATE", .eval = nothing}};
    const weir_function d = {WEIR_UDF_HEAD(WEIR_SCALAR), WEIR_UDF_SIGNATURES(sigs)};
    const wr_udf *u;
    assert_int_equal(wr_udf_make(k.arena, WR_STR("f"), &d, &u, NULL), WR_OK);
    const struct { wr_type type; int result; } calls[] = {
        {wr_type_of(WR_T_SMALLINT), WR_T_INT}, {wr_type_of(WR_T_INT), WR_T_INT}, {wr_type_of(WR_T_BIGINT), WR_T_BIGINT}, {wr_type_of(WR_T_FLOAT), WR_T_DOUBLE},
        {wr_type_of(WR_T_DOUBLE), WR_T_DOUBLE}, {wr_type_decimal(5, 1), WR_T_VARCHAR}, {wr_type_of(WR_T_NULL), WR_T_DOUBLE} /* the first */};
    for (size_t i = 0; i < WR_COUNT_OF(calls); i++) assert_int_equal(chosen(&k, u, 1, &calls[i].type)->result.id, calls[i].result);
    const wr_type text[2] = {wr_type_prec(WR_T_CHAR, 3), wr_type_prec(WR_T_VARCHAR, 5)};
    assert_int_equal(chosen(&k, u, 2, text)->result.id, WR_T_DATE);
    assert_int_equal(k.diags.n_errors, 0);
    assert_null(chosen(&k, u, 1, text));
    assert_null(chosen(&k, u, 0, NULL));
    assert_int_equal(k.diags.n_errors, 2);
    assert_non_null(strstr(k.diags.list.at[0].message, "cannot apply 'f' to arguments of type (CHAR(3))"));
    kit_close(&k);
}

/* Rows that are picked, bits, texts; and back. */
static void test_columns(void **state) {
    (void)state;
    wr_arena      *arena = wr_arena_new(NULL);
    wr_mem        *mem = wr_mem_new(1024);
    wr_vec         text, flag, back;
    const uint32_t rows[] = {3, 1, 2};
    const char    *words[] = {"zero", "a text that is longer than twelve", "", "three"};
    weir_column    c, r;
    size_t         n;
    wr_vec_init(&text, wr_type_string(), 4, true, mem);
    wr_vec_init(&flag, wr_type_of(WR_T_BOOLEAN), 4, false, mem);
    for (uint32_t i = 0; i < 4; i++) {
        ((wr_sview *)text.data)[i] = wr_sview_copy(mem, words[i], strlen(words[i]));
        ((uint8_t *)flag.data)[i] = i % 2;
    }
    wr_vec_set_null(&text, 2, mem);
    assert_true(wr_udf_column(&text, false, rows, 3, true, arena, &c));
    assert_int_equal(c.offsets[3], 5 + 33);
    assert_memory_equal(weir_text(&c, 1, &n), words[1], 33);
    assert_true(weir_is_null(&c, 2) && !weir_is_null(&c, 0) && !weir_is_null(&c, 1));
    assert_true(wr_udf_column(&flag, false, rows, 3, true, arena, &c));
    assert_null(c.validity);
    assert_int_equal(weir_bool(&c, 0) * 4 + weir_bool(&c, 1) * 2 + weir_bool(&c, 2), 6);
    assert_true(wr_udf_column(&text, true, NULL, 3, false, arena, &c)); /* a constant */
    assert_int_equal(c.offsets[3], 12);

    uint32_t     bad;
    wr_udf_frame f;
    wr_udf_frame_init(&f, arena);
    wr_udf_frame_begin(&f, 2);
    wr_vec_init(&back, wr_type_decimal(3, 0), 6, false, mem);
    wr_udf_result_init(back.type, 2, arena, &r);
    ((wr_i128 *)r.data)[0] = 999, ((wr_i128 *)r.data)[1] = -7;
    assert_null(wr_udf_result_put(&r, 2, &back, (wr_udf_place){.first = 1, .step = 3}, &bad));
    assert_true(((wr_i128 *)back.data)[1] == 999 && ((wr_i128 *)back.data)[4] == -7);
    ((wr_i128 *)r.data)[1] = 1000;
    assert_non_null(wr_udf_result_put(&r, 2, &back, (wr_udf_place){.first = 0, .step = 1}, &bad));
    assert_int_equal(bad, 1);
    weir_set_null(&r, 1); /* then it does not count */
    assert_null(wr_udf_result_put(&r, 2, &back, (wr_udf_place){.first = 0, .step = 1}, &bad));
    char *own = f.call.alloc(&f.call, 10);
    own = f.call.resize(&f.call, own, 100);
    assert_true(f.heap_bytes > 100);
    f.call.free(&f.call, own);
    assert_int_equal(f.heap_bytes, 0);
    (f.call.fail)(&f.call, 1, "first"); /* cmocka has a macro of that name */
    (f.call.fail)(&f.call, 0, "second");
    assert_string_equal(f.message, "first");
    wr_mem_unref(mem);
    wr_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_declarations), cmocka_unit_test(test_choice), cmocka_unit_test(test_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
