/* sql/stmt_test.c: statements and queries: accepted texts, laid-out print, round trip, shape of the tree, splitting of scripts. */
#include "sql/sql.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>

/* Every one must parse, and its print must parse and print the same. */
static const char *const ACCEPTED[] = {
    /* queries */
    "SELECT 1", "SELECT 1, 2 AS b, 3 c", "SELECT *", "SELECT t.*, u.a FROM t, u", "SELECT DISTINCT a FROM t", "SELECT ALL a FROM t", "select a from t where b group by c having d",
    "SELECT a value, b AS offset, c AS end, d `from` FROM t", "SELECT a AS start, b AS `end` FROM db.t AS x (p, q)",
    "SELECT a FROM c.d.t", "SELECT a FROM t x", "SELECT a FROM t AS x", "SELECT a FROM t ORDER BY a DESC, b ASC NULLS FIRST LIMIT 10 OFFSET 5",
    "SELECT a FROM t LIMIT ALL", "SELECT a FROM t OFFSET 3 ROWS FETCH NEXT 5 ROWS ONLY", "SELECT a FROM t FETCH FIRST 1 ROW ONLY", "SELECT a FROM t OFFSET 2 LIMIT 1",
    "SELECT a FROM t GROUP BY ()", "SELECT a FROM t GROUP BY a, (b, c), ROLLUP(a, b), CUBE(c, (d, e)), GROUPING SETS ((a), (b, c), (), ROLLUP(a))",
    "SELECT k, TUMBLE_START(ts, INTERVAL '10' SECOND) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)",
    "SELECT a, SUM(b) OVER w FROM t WINDOW w AS (PARTITION BY c ORDER BY ts), v AS (w ROWS 5 PRECEDING)",
    "SELECT a, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM t QUALIFY rn = 1", "SELECT a FROM t WINDOW w AS (ORDER BY b) QUALIFY c > 1 ORDER BY a",
    "VALUES 1, 2", "VALUES (1, 'a'), (2, 'b')", "VALUES ROW(1, 2)", "VALUES (1) ORDER BY 1 LIMIT 1", "TABLE t", "(SELECT 1)", "((SELECT 1))",
    "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS t(a, b)", "SELECT * FROM (SELECT a FROM t) WHERE a > 1", "SELECT * FROM (SELECT a FROM t) x", "SELECT * FROM ((SELECT a FROM t) x JOIN u ON x.a = u.a)",
    "SELECT 1 UNION SELECT 2", "SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3 INTERSECT ALL SELECT 4", "(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3", "SELECT 1 UNION (SELECT 2 UNION SELECT 3)",
    "SELECT 1 UNION DISTINCT SELECT 2", "SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1 LIMIT 2", "(SELECT a FROM t LIMIT 1) UNION ALL (SELECT b FROM u ORDER BY b LIMIT 1)",
    "(SELECT a FROM t LIMIT 3) LIMIT 1", "(SELECT a FROM t) ORDER BY a", "((SELECT 1) UNION SELECT 2)", "VALUES 1 UNION VALUES 2", "TABLE t UNION ALL TABLE u",
    "WITH x AS (SELECT 1) SELECT * FROM x", "WITH x (a, b) AS (SELECT 1, 2), y AS (SELECT * FROM x) SELECT * FROM y ORDER BY a", "WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x",
    "WITH x AS (SELECT 1) (SELECT * FROM x LIMIT 1) LIMIT 2", "SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x)", "WITH time AS (SELECT 1) SELECT * FROM time",
    /* FROM */
    "SELECT * FROM a, b, c", "SELECT * FROM a JOIN b ON a.x = b.x", "SELECT * FROM a INNER JOIN b USING (x, y)", "SELECT * FROM a LEFT JOIN b ON TRUE RIGHT OUTER JOIN c ON FALSE FULL OUTER JOIN d ON 1 = 1",
    "SELECT * FROM a CROSS JOIN b", "SELECT * FROM a NATURAL JOIN b", "SELECT * FROM a NATURAL LEFT JOIN b", "SELECT * FROM a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x", "SELECT * FROM (a, b) CROSS JOIN c",
    "SELECT * FROM a, b JOIN c ON b.x = c.x", "SELECT * FROM (a JOIN b ON a.x = b.x)", "SELECT * FROM a FULL JOIN b ON a.x = b.x", "SELECT * FROM a JOIN b AS value ON TRUE",
    "SELECT id, o.cur, amt * rate AS x FROM o LEFT JOIN vr FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur", "SELECT * FROM o JOIN d FOR SYSTEM_TIME AS OF o.proc ON o.k = d.k",
    "SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01 00:00:00' + INTERVAL '1' DAY",
    "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTE))", "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '8' HOUR)) GROUP BY window_start, window_end",
    "SELECT * FROM TABLE(HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL '5' MINUTE, SIZE => INTERVAL '10' MINUTE)) AS w",
    "SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND))", "SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY (k, j), DESCRIPTOR(ts), INTERVAL '5' SECOND))",
    "SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTE)", "SELECT * FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)) WHERE id <= 3",
    "SELECT * FROM TABLE(TUMBLE((SELECT k, window_time AS wt FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY))), DESCRIPTOR(wt), INTERVAL '2' DAY))",
    "SELECT * FROM t, LATERAL TABLE(f(t.a)) AS x(b, c)", "SELECT * FROM t LEFT JOIN LATERAL TABLE(f(a)) AS x(b) ON TRUE", "SELECT * FROM t CROSS JOIN LATERAL (SELECT a FROM u WHERE u.k = t.k LIMIT 3)",
    "SELECT * FROM t CROSS JOIN UNNEST(t.arr) AS u(x)", "SELECT * FROM t CROSS JOIN UNNEST(t.arr) WITH ORDINALITY AS u(x, i)", "SELECT * FROM UNNEST(ARRAY[1, 2])", "SELECT * FROM t, LATERAL f(t.a) x",
    "SELECT * FROM t /*+ OPTIONS('a' = 'b', 'c.d' = '1') */ AS x", "SELECT /*+ BROADCAST(a), STATE_TTL('a' = '1d', 'b'='2h') */ * FROM a JOIN b ON TRUE", "SELECT /*+ SHUFFLE_HASH(t1, `t 2`) NEST_LOOP('x') , EARLY_FIRE */ a FROM t",
    "SELECT /*+ LOOKUP('table'='d', 'retry-predicate'='lookup_miss') */ * FROM t", "SELECT * FROM TABLE(f(TABLE t)) /*+ OPTIONS('a'='b') */", "SELECT /*+ FOO(3, 4) */ 1",
    ("SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS aid, LAST(B.price) AS p, FINAL SUM(B.x) AS s ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
    "PATTERN (A B+? C{2,3} (D | E)* F?) WITHIN INTERVAL '1' HOUR SUBSET S = (A, B) DEFINE A AS A.price > 10, B AS B.price < LAST(A.price, 1)) AS m"),
    "SELECT * FROM (SELECT * FROM t) MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x ALL ROWS PER MATCH AFTER MATCH SKIP TO FIRST A PATTERN (^ A{,3} {- B -} PERMUTE(A, B) () $) DEFINE B AS TRUE)",
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN ((A | B C) D{5} E{2,}) DEFINE A AS TRUE) x", "SELECT * FROM t MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS TRUE)",
    "SELECT * FROM t MATCH_RECOGNIZE (AFTER MATCH SKIP TO B PATTERN (A B) DEFINE A AS TRUE)", "SELECT * FROM t MATCH_RECOGNIZE (PATTERN ((A B){2} | (C?)+) DEFINE A AS TRUE)",
    /* INSERT */
    "INSERT INTO t SELECT a FROM u", "INSERT INTO c.d.t VALUES (1, 2), (3, 4)", "INSERT OVERWRITE t SELECT 1", "INSERT INTO t (a, b.c) SELECT 1, 2", "INSERT INTO t PARTITION (d = '2026', e) (a) SELECT 1", "INSERT INTO t (SELECT 1)",
    "INSERT INTO t /*+ OPTIONS('sink.parallelism'='1') */ SELECT 1", "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x", "INSERT INTO t TABLE u", "INSERT INTO t (a) (SELECT 1) UNION ALL SELECT 2", "INSERT INTO t ((SELECT 1) UNION SELECT 2)",
    /* CREATE TABLE */
    "CREATE TABLE t (a INT)", "CREATE TABLE t", "CREATE TABLE IF NOT EXISTS c.d.t (a INT, b STRING) WITH ('connector' = 'datagen')", "CREATE TEMPORARY TABLE t (a INT NOT NULL COMMENT 'the a')",
    "CREATE TABLE t (a INT, b AS a + 1, c AS UPPER(d) COMMENT 'up', ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ()",
    "CREATE TABLE t (a INT METADATA, b STRING METADATA FROM 'k', c TIMESTAMP_LTZ(3) METADATA VIRTUAL, d BIGINT NOT NULL METADATA FROM 'offset' VIRTUAL COMMENT 'x')",
    "CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, u INT UNIQUE, v INT NOT NULL UNIQUE ENFORCED)", "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b) NOT ENFORCED)",
    "CREATE TABLE t (a INT, CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED, UNIQUE (a))", "CREATE TABLE t (r ROW<x INT, y ROW<z STRING>>, m MAP<STRING, ARRAY<INT>>, WATERMARK FOR r.x AS r.x)",
    "CREATE TABLE t (a INT) COMMENT 'c' PARTITIONED BY (a) WITH ('k' = 'v', 'k2' = 'it''s')", "CREATE TABLE t (a INT) DISTRIBUTED BY HASH(a) INTO 4 BUCKETS", "CREATE TABLE t (a INT) DISTRIBUTED BY (a)",
    "CREATE TABLE t (a INT) DISTRIBUTED INTO 3 BUCKETS WITH ('a' = 'b')", "CREATE TABLE t (a INT) DISTRIBUTED BY RANGE(a)", "CREATE TABLE t LIKE u", "CREATE TABLE t (a INT) WITH ('a' = 'b') LIKE u (INCLUDING ALL EXCLUDING PARTITIONS OVERWRITING OPTIONS)",
    "CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE t (b, a) WITH ('x' = 'y') AS SELECT 1 AS a, 2 AS b", "CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED) AS SELECT 1 AS a", "CREATE OR REPLACE TABLE t WITH ('a' = 'b') AS SELECT 1",
    "CREATE TABLE t (key STRING, value STRING, `timestamp` TIMESTAMP(3), type INT, data BYTES, comment STRING, date DATE, time TIME, year INT, metadata STRING, position INT, rows INT)",
    "CREATE TABLE `my table` (`select` INT, `a``b` INT)", "CREATE TABLE ümlaut (größe INT)",
    "CREATE MATERIALIZED TABLE m PARTITIONED BY (ds) WITH ('a' = 'b') FRESHNESS = INTERVAL '30' SECOND REFRESH_MODE = FULL AS SELECT 1 AS ds", "CREATE OR ALTER MATERIALIZED TABLE m (CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED) COMMENT 'c' FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS SELECT a FROM t",
    "CREATE MATERIALIZED TABLE m AS SELECT 1",
    /* views, functions, catalogs, databases */
    "CREATE VIEW v AS SELECT 1", "CREATE TEMPORARY VIEW IF NOT EXISTS c.d.v (a, b COMMENT 'x') COMMENT 'the view' AS SELECT 1, 2", "CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE OR ALTER VIEW v AS TABLE t",
    "CREATE MATERIALIZED VIEW v AS SELECT 1", "CREATE OR REPLACE MATERIALIZED VIEW IF NOT EXISTS v (a) WITH ('a' = 'b') AS SELECT 1", "CREATE VIEW v AS (SELECT 1)", "CREATE VIEW v AS WITH x AS (SELECT 1) SELECT * FROM x",
    "CREATE FUNCTION f AS 'a.b.C'", "CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS f AS 'a.b.C' LANGUAGE JAVA USING JAR '/a.jar', JAR '/b.jar'", "CREATE TEMPORARY FUNCTION c.d.f AS 'x' LANGUAGE PYTHON",
    "ALTER FUNCTION f AS 'x'", "CREATE FUNCTION f AS 'x' LANGUAGE C USING LIBRARY './libf.so'", "ALTER FUNCTION f AS 'x' LANGUAGE C USING JAR 'a', LIBRARY 'b'",
    "ALTER TEMPORARY SYSTEM FUNCTION IF EXISTS f AS 'x' LANGUAGE SCALA",
    "CREATE CATALOG c WITH ('type' = 'generic_in_memory')", "CREATE CATALOG IF NOT EXISTS c COMMENT 'x'", "CREATE DATABASE IF NOT EXISTS c.d COMMENT 'x' WITH ('a' = 'b')", "CREATE DATABASE d",
    /* DROP, USE, ALTER */
    "DROP TABLE t", "DROP TEMPORARY TABLE IF EXISTS c.d.t", "DROP VIEW v", "DROP TEMPORARY VIEW IF EXISTS v", "DROP MATERIALIZED TABLE m", "DROP MATERIALIZED VIEW IF EXISTS m", "DROP FUNCTION f", "DROP TEMPORARY SYSTEM FUNCTION IF EXISTS f",
    "DROP DATABASE d CASCADE", "DROP DATABASE IF EXISTS d RESTRICT", "DROP CATALOG c", "USE d", "USE c.d", "USE CATALOG c", "USE MODULES core, hive", "LOAD MODULE core", "UNLOAD MODULE core",
    "ALTER TABLE t RENAME TO u", "ALTER TABLE IF EXISTS c.d.t RENAME a TO b", "ALTER TABLE t SET ('a' = 'b', 'c' = 'd')", "ALTER TABLE t RESET ('a', 'b')", "ALTER TABLE t ADD a INT", "ALTER TABLE t ADD COLUMN a INT NOT NULL COMMENT 'x' AFTER b",
    "ALTER TABLE t ADD (a INT FIRST, b AS a + 1 AFTER a, PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR ts AS ts)", "ALTER TABLE t ADD CONSTRAINT c UNIQUE (a)", "ALTER TABLE t ADD WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    "ALTER TABLE t MODIFY a STRING FIRST", "ALTER TABLE t MODIFY (a INT, b STRING METADATA FROM 'x' VIRTUAL)", "ALTER TABLE t MODIFY WATERMARK FOR ts AS ts", "ALTER TABLE t MODIFY PRIMARY KEY (b) NOT ENFORCED",
    "ALTER TABLE t DROP a", "ALTER TABLE t DROP COLUMN a", "ALTER TABLE t DROP (a, b)", "ALTER TABLE t DROP PRIMARY KEY", "ALTER TABLE t DROP CONSTRAINT pk", "ALTER TABLE t DROP WATERMARK",
    "ALTER VIEW v RENAME TO w", "ALTER VIEW IF EXISTS v AS SELECT 1", "ALTER DATABASE d SET ('a' = 'b')", "ALTER CATALOG c SET ('a' = 'b')", "ALTER CATALOG c RESET ('a')",
    /* SET, EXPLAIN, SHOW, DESCRIBE */
    "SET", "SET 'a.b' = 'c'", "RESET", "RESET 'a.b'", "EXPLAIN SELECT 1", "EXPLAIN PLAN FOR SELECT 1", "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE SELECT 1", "EXPLAIN CHANGELOG_MODE INSERT INTO t SELECT 1",
    "EXPLAIN CREATE TABLE t AS SELECT 1", "EXPLAIN WITH x AS (SELECT 1) SELECT * FROM x", "EXPLAIN (SELECT 1)",
    "SHOW CATALOGS", "SHOW CATALOGS LIKE 'c%'", "SHOW CURRENT CATALOG", "SHOW DATABASES FROM c NOT LIKE 'x'", "SHOW CURRENT DATABASE", "SHOW TABLES", "SHOW TABLES FROM c.d LIKE 'a%'", "SHOW TABLES IN d NOT ILIKE 'a'", "SHOW VIEWS", "SHOW FUNCTIONS",
    "SHOW USER FUNCTIONS FROM d", "SHOW MODULES", "SHOW FULL MODULES", "SHOW COLUMNS FROM t LIKE 'x'", "SHOW COLUMNS IN t", "SHOW CREATE TABLE t", "SHOW CREATE VIEW c.d.v", "SHOW CREATE MATERIALIZED TABLE m", "SHOW CREATE CATALOG c", "SHOW PARTITIONS t",
    "SHOW JOBS", "SHOW JARS", "SHOW PROCEDURES", "SHOW MATERIALIZED TABLES", "SHOW MATERIALIZED VIEWS LIKE 'a'", "DESCRIBE t", "DESC c.d.t", "DESCRIBE EXTENDED t", "DESCRIBE CATALOG EXTENDED c", "DESCRIBE DATABASE d", "DESC FUNCTION f", "DESC TABLE t",
    /* statement sets */
    "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END", "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;", "STATEMENT SET BEGIN INSERT INTO a SELECT 1; END",
    "EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", "EXPLAIN PLAN FOR STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", "EXPLAIN CHANGELOG_MODE, ESTIMATED_COST STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;",
};

typedef struct fixture { wr_arena *arena; wr_diags diags; wr_script *script; } fixture;

static fixture parse(const char *text, wr_status want) {
    fixture f = {.arena = wr_arena_new(NULL)};
    wr_diags_init(&f.diags);
    uint32_t  file = wr_diags_add_source(&f.diags, WR_STR("test.sql"), wr_str_of(text));
    wr_status got = wr_sql_parse(f.arena, file, wr_str_of(text), &f.diags, &f.script);
    if (got != want) {
        wr_sbuf shown = {0};
        wr_diags_print(&f.diags, &shown);
        fail_msg("%s\nstatus %s\n%s", text, wr_status_name(got), shown.at ? shown.at : "");
    }
    return f;
}

static void done(fixture *f) {
    wr_diags_free(&f->diags);
    wr_arena_free(f->arena);
}

static void test_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < WR_COUNT_OF(ACCEPTED); i++) {
        wr_sbuf once = {0}, twice = {0};
        fixture f = parse(ACCEPTED[i], WR_OK);
        if (f.script->stmts.n != 1) fail_msg("%s: %u statements", ACCEPTED[i], f.script->stmts.n);
        wr_sql_format(f.script->stmts.at[0], &once);
        done(&f);
        f = parse(once.at, WR_OK);
        if (f.script->stmts.n != 1) fail_msg("%s: %u statements in its print", ACCEPTED[i], f.script->stmts.n);
        wr_sql_format(f.script->stmts.at[0], &twice);
        if (strcmp(once.at, twice.at) != 0) fail_msg("%s\nprints as\n%s\nand that as\n%s", ACCEPTED[i], once.at, twice.at);
        done(&f);
        wr_sbuf_free(&once);
        wr_sbuf_free(&twice);
    }
}

typedef struct text_case { const char *in, *out; } text_case;

static const text_case PRINTED[] = {
    {"select a,b c from t x where a>1 group by a,b having count(*)>1 order by a desc limit 3",
     "SELECT a, b AS c\nFROM t AS x\nWHERE a > 1\nGROUP BY a, b\nHAVING count(*) > 1\nORDER BY a DESC\nLIMIT 3"},
    {"select * from a left outer join b on a.x=b.x, c", "SELECT *\nFROM a\n  LEFT JOIN b ON a.x = b.x,\n  c"},
    {"select k from (select k from t where v>1) where k is not null", "SELECT k\nFROM (\n  SELECT k\n  FROM t\n  WHERE v > 1\n)\nWHERE k IS NOT NULL"},
    {"with x as (select 1) select * from x", "WITH x AS (\n  SELECT 1\n)\nSELECT *\nFROM x"},
    {"select 1 union all select 2 order by 1", "SELECT 1\nUNION ALL\nSELECT 2\nORDER BY 1"},
    {"(select 1 limit 1) union select 2", "(\n  SELECT 1\n  LIMIT 1\n)\nUNION\nSELECT 2"},
    {"create table if not exists t(a int,b as a+1,ts timestamp(3),watermark for ts as ts-interval '5' second,primary key(a) not enforced)with('connector'='kafka','topic'='x')",
     "CREATE TABLE IF NOT EXISTS t (\n  a INT,\n  b AS a + 1,\n  ts TIMESTAMP(3),\n  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,\n  PRIMARY KEY (a) NOT ENFORCED\n)\n"
     "WITH (\n  'connector' = 'kafka',\n  'topic' = 'x'\n)"},
    {"create view v(a) as select 1", "CREATE VIEW v (a) AS\nSELECT 1"},
    {"insert into t(a) select 1", "INSERT INTO t (a)\nSELECT 1"},
    {"begin statement set; insert into a select 1; insert into b select 2; end", "EXECUTE STATEMENT SET\nBEGIN\nINSERT INTO a\nSELECT 1;\nINSERT INTO b\nSELECT 2;\nEND"},
    {"set 'a'='b'", "SET 'a' = 'b'"},
    {"explain changelog_mode select 1", "EXPLAIN CHANGELOG_MODE\nSELECT 1"},
    {"alter table t add (a int first, b int)", "ALTER TABLE t ADD (\n  a INT FIRST,\n  b INT\n)"},
    {"select cast(a as timestamp(3) with local time zone) aaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, ccccccccccccccccccccccccccc",
     "SELECT\n  CAST(a AS TIMESTAMP_LTZ(3)) AS aaaaaaaaaaaaaaaaaaaaaaaaaaaa,\n  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,\n  ccccccccccccccccccccccccccc"},
    {"select x from t match_recognize (order by ts measures a.x as x pattern (a b+) define b as b.v>a.v) m",
     "SELECT x\nFROM t MATCH_RECOGNIZE (\n  ORDER BY ts\n  MEASURES a.x AS x\n  PATTERN (a b+)\n  DEFINE b AS b.v > a.v\n) AS m"},
};

static void test_printed(void **state) {
    (void)state;
    for (size_t i = 0; i < WR_COUNT_OF(PRINTED); i++) {
        wr_sbuf out = {0};
        fixture f = parse(PRINTED[i].in, WR_OK);
        assert_int_equal(f.script->stmts.n, 1);
        wr_sql_format(f.script->stmts.at[0], &out);
        if (strcmp(out.at, PRINTED[i].out) != 0) fail_msg("%s\nprinted as\n%s\nwanted\n%s", PRINTED[i].in, out.at, PRINTED[i].out);
        wr_sbuf_free(&out);
        done(&f);
    }
}

static void test_query_shapes(void **state) {
    (void)state;
    fixture             f = parse("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3; (SELECT a FROM t LIMIT 3) LIMIT 1; SELECT * FROM a, b JOIN c ON TRUE;"
                                  "SELECT a FROM t GROUP BY (a, b), c, (); (SELECT a FROM t) ORDER BY a", WR_OK);
    const wr_ast_query *q = f.script->stmts.at[0]->query;
    assert_int_equal(q->kind, WR_AST_QUERY_SET);
    assert_int_equal(q->set.op, WR_AST_UNION);
    assert_true(q->set.all);
    assert_int_equal(q->left->kind, WR_AST_QUERY_SELECT);
    assert_int_equal(q->set.right->set.op, WR_AST_INTERSECT); /* binds more */
    q = f.script->stmts.at[1]->query;
    assert_int_equal(q->kind, WR_AST_QUERY_NESTED);
    assert_string_equal(q->limit->lit.text.ptr, "1");
    assert_string_equal(q->left->limit->lit.text.ptr, "3");
    const wr_ast_ref *r = f.script->stmts.at[2]->query->select.from;
    assert_int_equal(r->join.kind, WR_AST_JOIN_COMMA);
    assert_int_equal(r->join.left->kind, WR_AST_REF_NAME);
    assert_int_equal(r->join.right->join.kind, WR_AST_JOIN_INNER);
    q = f.script->stmts.at[3]->query;
    assert_true(q->select.has_group_by);
    assert_int_equal(q->select.group_by.n, 3);
    assert_int_equal(q->select.group_by.at[0]->kind, WR_GROUP_SET);
    assert_int_equal(q->select.group_by.at[0]->exprs.n, 2);
    assert_int_equal(q->select.group_by.at[1]->kind, WR_GROUP_EXPR);
    assert_int_equal(q->select.group_by.at[2]->kind, WR_GROUP_SET);
    assert_int_equal(q->select.group_by.at[2]->exprs.n, 0);
    q = f.script->stmts.at[4]->query; /* no node for parentheses in vain */
    assert_int_equal(q->kind, WR_AST_QUERY_SELECT);
    assert_int_equal(q->order_by.n, 1);
    done(&f);
}

static void test_table_shape(void **state) {
    (void)state;
    fixture f = parse("CREATE TABLE d.t (a INT NOT NULL COMMENT 'x', b AS a + 1, o BIGINT METADATA FROM 'offset' VIRTUAL, ts TIMESTAMP(3),\n"
                      "  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED) PARTITIONED BY (a) WITH ('k' = 'it''s')", WR_OK);
    const wr_ast_create_table *t = &f.script->stmts.at[0]->create_table;
    assert_int_equal(f.script->stmts.at[0]->kind, WR_STMT_CREATE_TABLE);
    assert_int_equal(t->name.n, 2);
    assert_int_equal(t->columns.n, 4);
    assert_int_equal(t->columns.at[0].type->nullable, 0);
    assert_string_equal(t->columns.at[0].comment.text.ptr, "x");
    assert_int_equal(t->columns.at[1].kind, WR_AST_COL_COMPUTED);
    assert_int_equal(t->columns.at[2].kind, WR_AST_COL_METADATA);
    assert_string_equal(t->columns.at[2].metadata_key.text.ptr, "offset");
    assert_true(t->columns.at[2].is_virtual);
    assert_null(t->columns.at[3].metadata_key.text.ptr);
    assert_int_equal(t->columns.at[3].type->p, 3);
    assert_int_equal(t->watermarks.n, 1);
    assert_int_equal(t->watermarks.at[0].at.line, 2);
    assert_int_equal(t->watermarks.at[0].at.col, 3);
    assert_int_equal(t->constraints.n, 1);
    assert_string_equal(t->constraints.at[0].name.text.ptr, "pk");
    assert_true(t->constraints.at[0].not_enforced);
    assert_int_equal(t->partitioned_by.n, 1);
    assert_string_equal(t->options.at[0].value.text.ptr, "it's");
    assert_int_equal(t->options.at[0].key.at.line, 2);
    assert_int_equal(t->dist_buckets, -1);
    done(&f);
}

static void test_match_shape(void **state) {
    (void)state;
    fixture f = parse("SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x ONE ROW PER MATCH AFTER MATCH SKIP TO LAST B "
                      "PATTERN (A B+? (C | D){2,}) DEFINE A AS TRUE, B AS FALSE) AS m", WR_OK);
    const wr_ast_ref *r = f.script->stmts.at[0]->query->select.from;
    assert_int_equal(r->kind, WR_AST_REF_MATCH);
    assert_string_equal(r->alias.text.ptr, "m");
    const wr_ast_match *m = r->match;
    assert_string_equal(m->input->table.name.part[0].text.ptr, "t");
    assert_int_equal(m->all_rows, 0);
    assert_int_equal(m->after, WR_AFTER_LAST);
    assert_string_equal(m->after_symbol.text.ptr, "B");
    assert_int_equal(m->pattern->kind, WR_PAT_CONCAT);
    assert_int_equal(m->pattern->parts.n, 3);
    assert_true(m->pattern->parts.at[1]->reluctant);
    assert_int_equal(m->pattern->parts.at[1]->min, 1);
    assert_int_equal(m->pattern->parts.at[2]->max, -1);
    assert_int_equal(m->pattern->parts.at[2]->parts.at[0]->kind, WR_PAT_ALT);
    assert_int_equal(m->defines.n, 2);
    done(&f);
}

static void test_scripts(void **state) {
    (void)state;
    fixture f = parse(" ;; SELECT ';' -- ; no end here\n , 1 ; /* ; */ SET 'a' = ';' ;\n\nSELECT `;`", WR_OK);
    assert_int_equal(f.script->stmts.n, 3);
    assert_int_equal(f.script->stmts.at[0]->at.col, 5);
    assert_int_equal(f.script->stmts.at[1]->at.line, 2);
    assert_int_equal(f.script->stmts.at[2]->at.line, 4);
    assert_string_equal(f.script->stmts.at[1]->set.value.text.ptr, ";");
    wr_str text = f.script->stmts.at[1]->text;
    assert_true(wr_str_eq(text, WR_STR("SET 'a' = ';'")));
    done(&f);
    f = parse("", WR_OK);
    assert_int_equal(f.script->stmts.n, 0);
    done(&f);
    f = parse("-- only a comment", WR_OK);
    assert_int_equal(f.script->stmts.n, 0);
    done(&f);
    f = parse("\xEF\xBB\xBFSELECT 1", WR_OK); /* byte order mark */
    assert_int_equal(f.script->stmts.at[0]->at.col, 1);
    done(&f);
    f = parse("SELECT 1;\r\nSELECT 2;\r\n", WR_OK);
    assert_int_equal(f.script->stmts.at[1]->at.line, 2);
    assert_int_equal(f.script->stmts.at[1]->at.col, 1);
    done(&f);
    f = parse("BEGIN STATEMENT SET;\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND; SELECT 3", WR_OK);
    assert_int_equal(f.script->stmts.n, 2);
    assert_int_equal(f.script->stmts.at[0]->kind, WR_STMT_SET_OF_INSERTS);
    assert_int_equal(f.script->stmts.at[0]->inserts.n, 2);
    assert_int_equal(f.script->stmts.at[0]->inserts.at[1]->at.line, 3);
    assert_true(wr_str_starts(f.script->stmts.at[0]->text, WR_STR("BEGIN STATEMENT SET;")));
    done(&f);
    f = parse("EXPLAIN CHANGELOG_MODE, PLAN_ADVICE CREATE TABLE t AS SELECT 1;", WR_OK);
    assert_true(wr_str_eq(f.script->stmts.at[0]->explain.stmt->text, WR_STR("CREATE TABLE t AS SELECT 1")));
    assert_int_equal(f.script->stmts.at[0]->explain.stmt->at.col, 37);
    done(&f);
    f = parse("EXPLAIN CHANGELOG_MODE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", WR_OK);
    assert_int_equal(f.script->stmts.at[0]->kind, WR_STMT_EXPLAIN);
    assert_int_equal(f.script->stmts.at[0]->explain.details, WR_EXPLAIN_CHANGELOG);
    assert_int_equal(f.script->stmts.at[0]->explain.stmt->kind, WR_STMT_SET_OF_INSERTS);
    done(&f);
}

/* Good statements come out although others are broken. */
static void test_recovery(void **state) {
    (void)state;
    fixture f = parse("SELECT 1; SELCT 2; SELECT 3; SELECT 'a' FROM; INSERT INTO t VALUES (1); BEGIN STATEMENT SET; INSERT INTO a SELECT 1; INSERT INTO b SELEC 2; END; SELECT @; SELECT 5", WR_USER);
    assert_int_equal(f.script->stmts.n, 4);
    assert_int_equal(f.script->n_bad, 4); /* a set with one broken INSERT is left out as a whole */
    assert_int_equal(f.diags.n_errors, 4);
    assert_int_equal(f.script->stmts.at[2]->kind, WR_STMT_INSERT);
    done(&f);
}

static void test_parse_query(void **state) {
    (void)state;
    wr_arena *arena = wr_arena_new(NULL);
    wr_diags  diags;
    wr_diags_init(&diags);
    wr_ast_query *q;
    wr_sbuf       out = {0};
    assert_int_equal(wr_sql_parse_query(arena, 0, WR_STR("select a from t order by a"), &diags, &q), WR_OK);
    wr_sql_query_text(q, &out);
    assert_string_equal(out.at, "SELECT a FROM t ORDER BY a");
    assert_int_equal(wr_sql_parse_query(arena, 0, WR_STR("select a from t; select b"), &diags, &q), WR_USER);
    assert_null(q);
    assert_int_equal(wr_sql_parse_query(arena, 0, WR_STR("SET 'a' = 'b'"), &diags, &q), WR_USER);
    assert_int_equal(diags.n_errors, 2);
    wr_sbuf_free(&out);
    wr_diags_free(&diags);
    wr_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),    cmocka_unit_test(test_printed), cmocka_unit_test(test_query_shapes), cmocka_unit_test(test_table_shape),
        cmocka_unit_test(test_match_shape), cmocka_unit_test(test_scripts), cmocka_unit_test(test_recovery),     cmocka_unit_test(test_parse_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
