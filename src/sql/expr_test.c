/* sql/expr_test.c: expressions and types: accepted texts, what they print as, and the shape of the tree. */
#include "sql/sql.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>

typedef struct text_case { const char *in, *out; } text_case; /* out NULL: the same as in */

static const text_case EXPRS[] = {
    /* literals */
    {"1", NULL}, {"0", NULL}, {"007", NULL}, {"1.5", NULL}, {".5", NULL}, {"5.", NULL}, {"1e0", NULL}, {"1.5E-10", NULL}, {"2.e+3", NULL},
    {"'a'", NULL}, {"''", NULL}, {"'it''s'", NULL}, {"'two\nlines'", NULL}, {"'straße 😀'", NULL}, {"n'abc'", "'abc'"},
    {"U&'\\0041\\+01F600'", "'A😀'"}, {"u&'a\\\\b'", "'a\\b'"}, {"'back\\slash'", NULL}, {"X'0102ff'", "X'0102FF'"}, {"x''", "X''"},
    {"null", "NULL"}, {"True", "TRUE"}, {"false", "FALSE"}, {"unknown", "UNKNOWN"},
    {"DATE '2026-01-02'", NULL}, {"time '12:00:00'", "TIME '12:00:00'"}, {"TIMESTAMP '2026-01-02 03:04:05.678'", NULL},
    {"INTERVAL '1' DAY", NULL}, {"interval '10' second", "INTERVAL '10' SECOND"}, {"INTERVAL '1-2' YEAR TO MONTH", NULL},
    {"INTERVAL -'1' HOUR", NULL}, {"INTERVAL +'1' HOUR", "INTERVAL '1' HOUR"}, {"INTERVAL '1 02:03:04.5' DAY TO SECOND", NULL},
    {"INTERVAL '400' DAY(3)", NULL}, {"INTERVAL '1.123456' SECOND(2, 6)", NULL}, {"INTERVAL '1 0:0:0.12' DAY(2) TO SECOND(3)", NULL},
    {"INTERVAL '1' QUARTER", NULL}, {"INTERVAL '2' WEEK", NULL}, {"INTERVAL '10' MINUTES", "INTERVAL '10' MINUTE"},
    {"INTERVAL '1 2' DAYS TO HOURS", "INTERVAL '1 2' DAY TO HOUR"}, {"EXTRACT(YEARS FROM d)", "EXTRACT(YEAR FROM d)"},
    /* columns */
    {"a", NULL}, {"t.a", NULL}, {"c.d.t.a", NULL}, {"`a b`", NULL}, {"`a``b`", NULL}, {"`a`", "a"}, {"`select`", NULL}, {"A_1", NULL},
    {"EXPR$0", "`EXPR$0`"}, {"größe", "`größe`"}, {"表.列", "`表`.`列`"}, {"t.select", "t.`select`"}, {"t.order.group", "t.`order`.`group`"},
    /* words of the grammar as names */
    {"value + 1", "`value` + 1"}, {"key", "`key`"}, {"rows", "`rows`"}, {"type", NULL}, {"start", "`start`"}, {"offset", "`offset`"}, {"data", NULL},
    {"mode", NULL}, {"status", NULL}, {"level", NULL}, {"name", NULL}, {"hour > 5", "`hour` > 5"}, {"year", "`year`"}, {"date", "`date`"},
    {"time", "`time`"}, {"timestamp", "`timestamp`"}, {"interval", "`interval`"}, {"first", "`first`"}, {"last", "`last`"}, {"comment", "`comment`"},
    {"view", "`view`"}, {"map", "`map`"}, {"json", "`json`"}, {"position", "`position`"}, {"filter", "`filter`"}, {"window", "`window`"},
    {"partition", "`partition`"}, {"watermark", "`watermark`"}, {"primary", "`primary`"}, {"metadata", "`metadata`"}, {"system", "`system`"},
    {"language", "`language`"}, {"catalog", "`catalog`"}, {"database", "`database`"}, {"columns", "`columns`"}, {"tables", "`tables`"},
    {"range", "`range`"}, {"minute", "`minute`"}, {"second", "`second`"}, {"zone", "`zone`"}, {"local", "`local`"}, {"pattern", "`pattern`"},
    {"final", "`final`"}, {"running", "`running`"}, {"match", "`match`"}, {"error", "`error`"}, {"empty", "`empty`"}, {"object", "`object`"},
    {"if", "`if`"}, {"replace", "`replace`"}, {"set", "`set`"}, {"show", "`show`"}, {"use", "`use`"}, {"over", "`over`"}, {"both", "`both`"},
    {"to", "`to`"}, {"of", "`of`"}, {"any", "`any`"}, {"some", "`some`"}, {"cast", "`cast`"}, {"extract", "`extract`"}, {"floor", "`floor`"},
    {"count", "`count`"}, {"sum", "`sum`"}, {"user", "`user`"}, {"plan", "`plan`"}, {"skip", "`skip`"}, {"only", "`only`"},
    /* operators and how they bind */
    {"a + b * c", NULL}, {"(a + b) * c", NULL}, {"a - b - c", NULL}, {"a - (b - c)", NULL}, {"a * b / c % d", NULL}, {"a / (b * c)", NULL},
    {"(a * b) + c", "a * b + c"}, {"((a))", "a"}, {"-a", NULL}, {"- -a", NULL}, {"-(-1)", "- -1"}, {"+a", NULL}, {"-+a", "- +a"},
    {"-(a + b)", NULL}, {"-a * b", NULL}, {"a || b || c", NULL}, {"'x' || 1 + 2", NULL}, {"'x' || (1 + 2)", NULL},
    {"a = b", NULL}, {"a != b", "a <> b"}, {"a<>b", "a <> b"}, {"a<=b", "a <= b"}, {"a>=b", "a >= b"}, {"a<b", "a < b"}, {"a>b", "a > b"},
    {"a = b = c", NULL}, {"a = (b = c)", NULL}, {"a + 1 > b - 1", NULL}, {"a > b + 1 AND c", NULL},
    {"a AND b OR c AND d", NULL}, {"(a OR b) AND (c OR d)", NULL}, {"a OR (b OR c)", NULL}, {"(a OR b) OR c", "a OR b OR c"},
    {"a AND b AND c AND d", NULL}, {"NOT a AND b", NULL}, {"NOT (a AND b)", NULL}, {"NOT NOT a", NULL}, {"NOT a = b", NULL}, {"(NOT a) = b", NULL},
    {"a IS NULL", NULL}, {"a is not null", "a IS NOT NULL"}, {"a IS TRUE", NULL}, {"a IS NOT FALSE", NULL}, {"a IS UNKNOWN", NULL},
    {"a + 1 IS NULL", NULL}, {"a = b IS TRUE", NULL}, {"a IS NULL = b", NULL}, {"NOT a IS NULL", NULL}, {"(a AND b) IS NULL", NULL},
    {"a IS DISTINCT FROM b", NULL}, {"a IS NOT DISTINCT FROM b + 1", NULL}, {"a IS JSON", "a IS JSON VALUE"}, {"a IS NOT JSON OBJECT", NULL},
    {"a IS JSON ARRAY", NULL}, {"a IS JSON SCALAR", NULL},
    {"a BETWEEN 1 AND 2", NULL}, {"a NOT BETWEEN 1 AND 2 AND b", NULL}, {"a BETWEEN SYMMETRIC 2 AND 1", NULL}, {"a BETWEEN ASYMMETRIC 1 AND 2", "a BETWEEN 1 AND 2"},
    {"a BETWEEN b - 1 AND b + 1", NULL}, {"a BETWEEN (b = 1) AND c", NULL}, {"a = b BETWEEN c AND d", NULL}, {"(a = b) BETWEEN c AND d", NULL},
    {"r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' MINUTE", NULL},
    {"a IN (1, 2)", NULL}, {"a NOT IN (1)", NULL}, {"a IN ((1, 2), (3, 4))", NULL}, {"(a, b) IN ((1, 2))", NULL}, {"a IN (SELECT b FROM t)", NULL},
    {"a NOT IN ((SELECT b FROM t))", "a NOT IN (SELECT b FROM t)"}, {"a IN ((SELECT 1), 2)", NULL}, {"a IN (1) = b", NULL},
    {"EXISTS (SELECT 1)", NULL}, {"NOT EXISTS (SELECT 1 FROM t WHERE t.a = u.a)", NULL},
    {"a LIKE 'x%'", NULL}, {"a NOT LIKE 'x!%' ESCAPE '!'", NULL}, {"a SIMILAR TO '(a|b)%'", NULL}, {"a NOT SIMILAR TO b", NULL}, {"a ILIKE b", NULL},
    {"a LIKE b || '%'", NULL}, {"a LIKE (b = c)", NULL}, {"(a LIKE b) LIKE c", "a LIKE b LIKE c"},
    {"a = ANY (SELECT b FROM t)", NULL}, {"a > ALL (SELECT b FROM t)", NULL}, {"a <> SOME (SELECT 1)", "a <> ANY (SELECT 1)"}, {"a = ANY (1, 2)", NULL},
    {"(s1, e1) OVERLAPS (s2, e2)", NULL},
    /* CASE, CAST */
    {"CASE WHEN a THEN 1 ELSE 2 END", NULL}, {"case a when 1 then 'x' when 2 then 'y' end", "CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END"},
    {"CASE WHEN a AND b THEN c OR d END", NULL}, {"CASE WHEN a THEN CASE WHEN b THEN 1 END END + 1", NULL},
    {"CAST(a AS INT)", NULL}, {"cast(a as varchar(10))", "CAST(a AS VARCHAR(10))"}, {"TRY_CAST(a AS DOUBLE)", NULL}, {"CAST(NULL AS STRING)", NULL},
    {"CAST(a AS ROW<x INT, y STRING>)", NULL}, {"CAST(a AS INTERVAL DAY TO SECOND(3))", NULL}, {"CAST(a AS TIMESTAMP(3) WITH LOCAL TIME ZONE)", "CAST(a AS TIMESTAMP_LTZ(3))"},
    {"CAST(a AS DECIMAL(10, 2) NOT NULL)", NULL},
    /* constructors and access */
    {"ROW(1, 'x')", NULL}, {"ROW()", NULL}, {"(1, 2)", NULL}, {"row(1)", "ROW(1)"}, {"((1, 2), 3)", NULL},
    {"ARRAY[1, 2, 3]", NULL}, {"array[]", "ARRAY[]"}, {"ARRAY[1, 2][1]", NULL}, {"ARRAY[ARRAY[1], ARRAY[2]]", NULL}, {"MAP['a', 1]", NULL}, {"map['a', 1]['a']", "MAP['a', 1]['a']"},
    {"MULTISET[1, 2]", NULL}, {"ARRAY(SELECT a FROM t)", NULL},
    {"a[1]", NULL}, {"t.a['k']", NULL}, {"a[1][2].b", NULL}, {"f(x).y", NULL}, {"f(x).y.z[1]", NULL}, {"(a).b", NULL}, {"(t.a).b.c", NULL}, {"(1).b", NULL},
    {"a[i + 1]", NULL}, {"(a + b)[1]", NULL}, {"-a[1]", NULL}, {"(SELECT a FROM t)", NULL}, {"((SELECT a FROM t))", "(SELECT a FROM t)"},
    {"(SELECT a FROM t) + 1", NULL}, {"((SELECT 1) + 1)", "(SELECT 1) + 1"}, {"(SELECT r FROM t).f", NULL},
    /* calls */
    {"f()", NULL}, {"f(a)", NULL}, {"f(a, 'b', 1 + 2)", NULL}, {"c.d.f(a)", NULL}, {"COUNT(*)", NULL}, {"count(*)", NULL}, {"COUNT(DISTINCT a)", NULL},
    {"COUNT(DISTINCT a, b)", NULL}, {"SUM(ALL a)", "SUM(a)"}, {"COUNT(*) FILTER (WHERE a > 1)", NULL}, {"SUM(DISTINCT a) FILTER (WHERE b)", NULL},
    {"LISTAGG(a, ',') WITHIN GROUP (ORDER BY b DESC)", NULL}, {"`count`(a)", NULL}, {"`my f`(a)", NULL}, {"`f`(a)", "f(a)"},
    {"LEFT('abc', 2)", NULL}, {"right(a, 1)", NULL}, {"REPLACE(a, 'b', 'c')", NULL}, {"IF(a, b, c)", NULL}, {"YEAR(d)", NULL}, {"HOUR(ts)", NULL}, {"MOD(7, 2)", NULL},
    {"TUMBLE(ts, INTERVAL '10' SECOND)", NULL}, {"TUMBLE_START(ts, INTERVAL '1' MINUTE)", NULL}, {"GROUPING(k)", NULL}, {"DATE(a)", NULL},
    {"TIMESTAMP(a)", NULL}, {"MAP(a, b)", NULL}, {"FIRST(a)", NULL}, {"LAST(a.b, 1)", NULL}, {"SET(a)", NULL}, {"TRUNCATE(2.789, 2)", NULL},
    {"CURRENT_DATE", NULL}, {"current_timestamp", "CURRENT_TIMESTAMP"}, {"LOCALTIMESTAMP", NULL}, {"LOCALTIME", NULL}, {"CURRENT_TIMESTAMP(3)", NULL},
    {"CURRENT_TIMESTAMP IS NOT NULL", NULL}, {"CURRENT_WATERMARK(ts)", NULL}, {"PROCTIME()", NULL},
    {"EXTRACT(DOW FROM d)", NULL}, {"extract(day from ts)", "EXTRACT(DAY FROM ts)"}, {"EXTRACT(EPOCH FROM a + b)", NULL},
    {"TRIM(a)", NULL}, {"TRIM(BOTH 'x' FROM a)", NULL}, {"TRIM('x' FROM a)", "TRIM(BOTH 'x' FROM a)"}, {"TRIM(LEADING FROM a)", "TRIM(LEADING ' ' FROM a)"},
    {"trim(trailing '0' from a)", "TRIM(TRAILING '0' FROM a)"},
    {"SUBSTRING(a FROM 2 FOR 3)", "SUBSTRING(a, 2, 3)"}, {"SUBSTRING(a FROM 2)", "SUBSTRING(a, 2)"}, {"substring(a, 2, 3)", "SUBSTRING(a, 2, 3)"}, {"SUBSTR(a, 2)", NULL},
    {"POSITION('l' IN 'hello')", NULL}, {"POSITION(a || b IN c)", NULL}, {"OVERLAY(a PLACING b FROM 2)", NULL}, {"OVERLAY(a PLACING b FROM 2 FOR 3)", NULL},
    {"FLOOR(a)", NULL}, {"FLOOR(ts TO DAY)", NULL}, {"CEIL(ts TO HOUR)", NULL}, {"ceiling(a)", "CEILING(a)"},
    {"TIMESTAMPADD(DAY, 1, ts)", NULL}, {"TIMESTAMPDIFF(second, a, b)", "TIMESTAMPDIFF(SECOND, a, b)"},
    {"JSON_VALUE(a, '$.b')", NULL}, {"JSON_VALUE(a, '$.b' RETURNING INT NULL ON EMPTY ERROR ON ERROR)", NULL},
    {"JSON_VALUE(a, '$.b' DEFAULT 0 ON EMPTY DEFAULT -1 ON ERROR)", NULL}, {"JSON_EXISTS(a, '$.b' TRUE ON ERROR)", NULL},
    {"JSON_QUERY(a, '$' WITH CONDITIONAL ARRAY WRAPPER NULL ON EMPTY EMPTY OBJECT ON ERROR)", NULL}, {"JSON_QUERY(a, '$' WITHOUT WRAPPER)", "JSON_QUERY(a, '$' WITHOUT ARRAY WRAPPER)"},
    {"JSON_QUERY(a, '$' WITH WRAPPER EMPTY ON ERROR)", "JSON_QUERY(a, '$' WITH UNCONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON ERROR)"},
    {"JSON_QUERY(a, '$' RETURNING ARRAY<STRING>)", NULL}, {"JSON_OBJECT()", NULL}, {"JSON_OBJECT(KEY 'a' VALUE 1)", NULL},
    {"json_object('a' value 1, key 'b' value x absent on null)", "JSON_OBJECT(KEY 'a' VALUE 1, KEY 'b' VALUE x ABSENT ON NULL)"},
    {"JSON_ARRAY(1, 'a' NULL ON NULL)", NULL}, {"JSON_ARRAYAGG(a ABSENT ON NULL)", NULL}, {"JSON_OBJECTAGG(KEY k VALUE v NULL ON NULL)", NULL}, {"JSON_STRING(a)", NULL},
    {"SUM(v) OVER w", NULL}, {"SUM(v) OVER (w ORDER BY ts)", NULL}, {"ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC)", NULL}, {"COUNT(*) OVER ()", NULL},
    {"SUM(v) OVER (PARTITION BY k, j ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", NULL},
    {"SUM(v) OVER (ORDER BY ts RANGE INTERVAL '10' SECOND PRECEDING)", "SUM(v) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW)"},
    {"SUM(v) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING)", "SUM(v) OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"},
    {"SUM(v) OVER (ORDER BY a NULLS LAST, b DESC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)", NULL},
    {"LAG(v, 1) IGNORE NULLS OVER (ORDER BY ts)", NULL}, {"LAST_VALUE(v) RESPECT NULLS OVER w", NULL}, {"ARRAY_AGG(DISTINCT v IGNORE NULLS)", "ARRAY_AGG(DISTINCT v) IGNORE NULLS"}, {"a.f(b)", NULL},
    {"FINAL LAST(a.price)", NULL}, {"RUNNING SUM(a.price) + 1", NULL},
    {"f(x => 1, y => 'a')", NULL}, {"f(TABLE t)", NULL}, {"f(DATA => TABLE t PARTITION BY k, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR)", NULL},
    {"f(TABLE t PARTITION BY (a, b) ORDER BY ts DESC, DESCRIPTOR(a, b))", NULL}, {"f(TABLE (SELECT a FROM t))", NULL}, {"f(DEFAULT, 1)", NULL}, {"f(x => DEFAULT)", NULL},
    {"TUMBLE((SELECT a FROM t), DESCRIPTOR(ts), INTERVAL '1' DAY)", NULL},
    /* blanks and comments */
    {"a--x\n+b", "a + b"}, {"a/* x */+/**/b", "a + b"}, {"a // x\n - b", "a - b"}, {"\t a \r\n+ b\f", "a + b"}, {"a/*--*/", "a"},
};

static const text_case TYPES[] = {
    {"INT", NULL}, {"integer", "INT"}, {"TINYINT", NULL}, {"SMALLINT", NULL}, {"BIGINT", NULL}, {"FLOAT", NULL}, {"double", "DOUBLE"}, {"DOUBLE PRECISION", "DOUBLE"},
    {"BOOLEAN", NULL}, {"DECIMAL", NULL}, {"DECIMAL(10)", NULL}, {"DECIMAL(38, 18)", NULL}, {"numeric(5,2)", "DECIMAL(5, 2)"}, {"DEC", "DECIMAL"},
    {"CHAR", NULL}, {"CHAR(3)", NULL}, {"CHARACTER(3)", "CHAR(3)"}, {"CHARACTER VARYING(3)", "VARCHAR(3)"}, {"VARCHAR", NULL}, {"VARCHAR(2147483647)", NULL}, {"STRING", NULL},
    {"BINARY(4)", NULL}, {"VARBINARY(4)", NULL}, {"BINARY VARYING(4)", "VARBINARY(4)"}, {"BYTES", NULL}, {"DATE", NULL}, {"TIME", NULL}, {"TIME(3)", NULL}, {"TIME(0) WITHOUT TIME ZONE", "TIME(0)"},
    {"TIMESTAMP", NULL}, {"TIMESTAMP(3)", NULL}, {"TIMESTAMP(9) WITHOUT TIME ZONE", "TIMESTAMP(9)"}, {"TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ"},
    {"TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(6)"}, {"TIMESTAMP_LTZ(3)", NULL}, {"TIMESTAMP(3) WITH TIME ZONE", NULL}, {"timestamp with time zone", "TIMESTAMP WITH TIME ZONE"},
    {"INTERVAL YEAR", NULL}, {"INTERVAL YEAR(4) TO MONTH", NULL}, {"INTERVAL DAY TO SECOND(3)", NULL}, {"INTERVAL DAY(2) TO SECOND(6)", NULL}, {"INTERVAL SECOND(3)", NULL},
    {"ARRAY<INT>", NULL}, {"INT ARRAY", "ARRAY<INT>"}, {"INT NOT NULL ARRAY NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"}, {"ARRAY<ARRAY<STRING>>", NULL}, {"INT ARRAY ARRAY", "ARRAY<ARRAY<INT>>"},
    {"MAP<STRING, INT>", NULL}, {"MULTISET<INT>", NULL}, {"INT MULTISET", "MULTISET<INT>"}, {"ROW<a INT, b STRING>", NULL}, {"ROW(a INT, b STRING)", "ROW<a INT, b STRING>"},
    {"ROW<INT, STRING>", "ROW<f0 INT, f1 STRING>"}, {"ROW<>", NULL}, {"ROW()", "ROW<>"}, {"ROW<a INT 'the a', b ARRAY<INT>>", NULL}, {"ROW<a ROW<b ROW<c INT>>>", NULL},
    {"ROW<a INT ARRAY>", "ROW<a ARRAY<INT>>"}, {"INT NOT NULL", NULL}, {"INT NULL", NULL}, {"MAP<STRING NOT NULL, ROW<x INT> NOT NULL> NOT NULL", NULL}, {"VARIANT", NULL},
    {"my_type", NULL}, {"`INT`", "`INT`"}, {"c.d.t", NULL}, {"ROW<`a b` INT, `timestamp` TIMESTAMP(3)>", NULL}, {"ROW<value INT, time TIME>", "ROW<`value` INT, `time` TIME>"},
};

typedef struct fixture { wr_arena *arena; wr_diags diags; } fixture;

static fixture open_fixture(void) {
    fixture f = {.arena = wr_arena_new(NULL)};
    wr_diags_init(&f.diags);
    return f;
}

static void close_fixture(fixture *f) {
    wr_diags_free(&f->diags);
    wr_arena_free(f->arena);
}

static void fail_with(const fixture *f, const char *text) {
    wr_sbuf shown = {0};
    wr_diags_print(&f->diags, &shown);
    fail_msg("%s\n%s", text, wr_sbuf_str(&shown).ptr);
}

static wr_ast_expr *expr_of(fixture *f, const char *text) {
    wr_ast_expr *e;
    uint32_t     file = wr_diags_add_source(&f->diags, WR_STR("expr"), wr_str_of(text));
    if (wr_sql_parse_expr(f->arena, file, wr_str_of(text), &f->diags, &e) != WR_OK) fail_with(f, text);
    return e;
}

static void test_exprs_print(void **state) {
    (void)state;
    for (size_t i = 0; i < WR_COUNT_OF(EXPRS); i++) {
        fixture     f = open_fixture();
        wr_sbuf     out = {0}, again = {0};
        const char *want = EXPRS[i].out ? EXPRS[i].out : EXPRS[i].in;
        wr_sql_expr_text(expr_of(&f, EXPRS[i].in), &out);
        if (strcmp(out.at, want) != 0) fail_msg("%s\nprinted as %s\nwanted     %s", EXPRS[i].in, out.at, want);
        wr_sql_expr_text(expr_of(&f, out.at), &again);
        assert_string_equal(out.at, again.at);
        wr_sbuf_free(&out);
        wr_sbuf_free(&again);
        close_fixture(&f);
    }
}

static void test_types_print(void **state) {
    (void)state;
    for (size_t i = 0; i < WR_COUNT_OF(TYPES); i++) {
        fixture      f = open_fixture();
        wr_sbuf      out = {0};
        wr_ast_type *t;
        const char  *want = TYPES[i].out ? TYPES[i].out : TYPES[i].in;
        for (int pass = 0; pass < 2; pass++) { /* what was printed prints the same */
            const char *text = pass ? want : TYPES[i].in;
            if (wr_sql_parse_type(f.arena, 0, wr_str_of(text), &f.diags, &t) != WR_OK) fail_with(&f, text);
            wr_sbuf_clear(&out);
            wr_sql_format_type(t, &out);
            if (strcmp(out.at, want) != 0) fail_msg("%s\nprinted as %s\nwanted     %s", TYPES[i].in, out.at, want);
        }
        wr_sbuf_free(&out);
        close_fixture(&f);
    }
}

static void test_shapes(void **state) {
    (void)state;
    fixture      f = open_fixture();
    wr_ast_expr *e = expr_of(&f, "a AND b AND (c OR d OR e)");
    assert_int_equal(e->kind, WR_AST_LOGIC);
    assert_int_equal(e->logic.op, WR_AST_AND);
    assert_int_equal(e->logic.args.n, 3);
    assert_int_equal(e->logic.args.at[2]->logic.args.n, 3);
    assert_int_equal(e->depth, 3);

    e = expr_of(&f, "a + b * -c");
    assert_int_equal(e->binary.op, WR_AST_ADD);
    assert_int_equal(e->binary.right->binary.op, WR_AST_MUL);
    assert_int_equal(e->binary.right->binary.right->unary.op, WR_AST_NEG);
    assert_int_equal(e->depth, 4);

    e = expr_of(&f, "EXTRACT(DAY FROM ts)");
    assert_int_equal(e->kind, WR_AST_CALL);
    assert_string_equal(e->call.name.part[0].text.ptr, "EXTRACT");
    assert_int_equal(e->call.args.n, 2);
    assert_int_equal(e->call.args.at[0]->kind, WR_AST_SYMBOL);
    assert_string_equal(e->call.args.at[0]->symbol.ptr, "DAY");

    e = expr_of(&f, "timestampadd(day, 1, ts)");
    assert_int_equal(e->call.args.at[0]->kind, WR_AST_SYMBOL);
    assert_string_equal(e->call.args.at[0]->symbol.ptr, "DAY");

    e = expr_of(&f, "INTERVAL -'1 02' DAY(3) TO HOUR");
    assert_int_equal(e->lit.kind, WR_LIT_INTERVAL);
    assert_true(e->lit.negative);
    assert_int_equal(e->lit.unit_from, WR_UNIT_DAY);
    assert_int_equal(e->lit.unit_to, WR_UNIT_HOUR);
    assert_int_equal(e->lit.p, 3);
    assert_int_equal(e->lit.s, -1);
    assert_string_equal(e->lit.text.ptr, "1 02");

    e = expr_of(&f, "X'00ff41'");
    assert_int_equal(e->lit.text.len, 3);
    assert_memory_equal(e->lit.text.ptr, "\0\xff\x41", 3);

    e = expr_of(&f, "a.b.c[1].d");
    assert_int_equal(e->kind, WR_AST_FIELD);
    assert_int_equal(e->field.arg->kind, WR_AST_INDEX);
    assert_int_equal(e->field.arg->index.arg->name.n, 3);

    e = expr_of(&f, "LAG(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts DESC NULLS LAST ROWS 2 PRECEDING)");
    assert_int_equal(e->call.nulls, 0);
    assert_int_equal(e->call.over->partition_by.n, 1);
    assert_true(e->call.over->order_by.at[0].desc);
    assert_int_equal(e->call.over->order_by.at[0].nulls, 1);
    assert_true(e->call.over->has_frame && e->call.over->rows);
    assert_int_equal(e->call.over->start.kind, WR_BOUND_PRECEDING);
    assert_int_equal(e->call.over->end.kind, WR_BOUND_CURRENT);

    e = expr_of(&f, "f(DATA => TABLE s.t PARTITION BY (a, b), 1)");
    wr_ast_expr *named = e->call.args.at[0];
    assert_int_equal(named->kind, WR_AST_NAMED_ARG);
    assert_int_equal(named->named.value->kind, WR_AST_TABLE_ARG);
    assert_int_equal(named->named.value->table_arg.ref->table.name.n, 2);
    assert_int_equal(named->named.value->table_arg.partition_by.n, 2);
    close_fixture(&f);
}

static void test_spans(void **state) {
    (void)state;
    fixture      f = open_fixture();
    wr_ast_expr *e = expr_of(&f, "größe +\n  `ä b`.c * foo(12, 'x')");
    assert_int_equal(e->at.file, 1);
    assert_int_equal(e->at.line, 1);
    assert_int_equal(e->at.col, 1);
    assert_int_equal(e->at.len, 5); /* characters, and only those of the first line */
    assert_int_equal(e->binary.op_at.col, 7);
    wr_ast_expr *m = e->binary.right;
    assert_int_equal(m->at.line, 2);
    assert_int_equal(m->at.col, 3);
    assert_int_equal(m->binary.left->at.len, 7);
    assert_int_equal(m->binary.right->at.col, 13);
    assert_int_equal(m->binary.right->call.args.at[1]->at.col, 21);
    assert_int_equal(m->binary.right->call.args.at[1]->at.len, 3);
    close_fixture(&f);
}

static void test_reserved(void **state) {
    (void)state;
    assert_true(wr_sql_is_reserved(WR_STR("select")));
    assert_true(wr_sql_is_reserved(WR_STR("ORDER")));
    assert_true(wr_sql_is_reserved(WR_STR("Left")));
    assert_false(wr_sql_is_reserved(WR_STR("value")));
    assert_false(wr_sql_is_reserved(WR_STR("selects")));
    assert_false(wr_sql_is_reserved(WR_STR("")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exprs_print), cmocka_unit_test(test_types_print), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_spans),       cmocka_unit_test(test_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
