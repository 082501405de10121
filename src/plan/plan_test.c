/* plan/plan_test.c: golden tests of the planner: tests/plan/NAME.test hold scripts with their plan or their diagnostics.
 *
 * Form       blocks of: "## title", a script, "---- explain" (or json, errors, check, text), the expected text; a block ends at the next "## ".
 *            SNAP_UPDATE=1 rewrites the expected texts; WR_PLAN_SQL=file prints plan and diagnostics of one script instead.
 * Connectors a small registry that stands for connect/: what matters here is only what they take and give.              */
#include "plan/plan.h"
#include "sys/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* after the four above */
#include <cmocka.h>

static int changes_of(const wr_table *t) {
    wr_str f = t->format;
    return wr_str_eq(f, WR_STR("debezium-json")) ? 2 : wr_str_eq(f, WR_STR("upsert-json")) ? 1 : 0;
}
static bool ends(const wr_table *t) { /* as the filesystem connector: bounded unless told to tail */
    return !wr_str_eq(wr_table_option_get(t, "mode"), WR_STR("tail"));
}
static bool endless(const wr_table *t) { return t == NULL; }
static int  takes_append(const wr_table *t) { return t == NULL; }
static int  takes_upsert(const wr_table *t) { return t->n_key ? 1 : 0; }
static int  takes_all(const wr_table *t) { return t ? 2 : 0; }
static int  exactly_once(const wr_table *t) { return t ? 2 : 0; }

static int  whole(const wr_table *t) { return ends(t) ? 1 : 0; }
static int  by_key(const wr_table *t) { return t ? 2 : 0; }

static const wr_connector_ref CONNECTORS[] = {
    {"filesystem", true, true, false, true, false, NULL, changes_of, takes_append, NULL, ends, whole},
    {"stream", true, false, false, false, false, NULL, changes_of, NULL, NULL, endless, NULL}, /* never ends */
    {"datagen", true, false, false, false, false, NULL, NULL, NULL, NULL, endless, NULL},
    {"nexmark", true, false, false, false, false, NULL, NULL, NULL, NULL, ends, NULL},
    {"ridelo", true, false, false, false, false, NULL, NULL, NULL, NULL, ends, NULL},
    {"sqlite", false, true, false, false, false, NULL, NULL, takes_upsert, exactly_once, NULL, by_key},
    {"print", false, true, false, false, false, NULL, NULL, takes_all, NULL, NULL, NULL},
    {"blackhole", false, true, true, false, false, NULL, NULL, takes_all, NULL, NULL, NULL},
};
static const wr_connector_ref *connector(wr_str name) {
    for (size_t i = 0; i < WR_COUNT_OF(CONNECTORS); i++)
        if (wr_str_eq(name, wr_str_of(CONNECTORS[i].name))) return &CONNECTORS[i];
    return NULL;
}

static void show_steps(const wr_steps *steps, const char *what, wr_diags *diags, wr_sbuf *out) {
    for (uint32_t i = 0; i < steps->n; i++) {
        const wr_step *s = &steps->at[i];
        if (s->kind == WR_STEP_TEXT) {
            if (strcmp(what, "text") == 0) wr_sbuf_add_str(out, s->text);
        } else if (strcmp(what, "json") == 0) {
            wr_plan_explain_json(s->job, NULL, out);
        } else if (strcmp(what, "check") == 0) {
            wr_plan_check(s->job, diags);
        } else if (strcmp(what, "explain") == 0 || strcmp(what, "tree") == 0) {
            wr_sbuf all = {0};
            wr_plan_explain(s->job, NULL, &all);
            const char *bill = strcmp(what, "tree") == 0 ? strstr(all.at, "\nState bill") : NULL;
            wr_sbuf_add(out, all.at, bill ? (size_t)(bill - all.at) : all.len);
            wr_sbuf_free(&all);
        }
    }
}

static void plan_text(const char *file, wr_str sql, const char *what, wr_sbuf *out) {
    wr_arena *arena = wr_arena_new(NULL);
    wr_diags  diags;
    wr_diags_init(&diags);
    uint32_t   at = wr_diags_add_source(&diags, wr_str_of(file), sql);
    wr_script *script = NULL;
    wr_status  parsed = wr_sql_parse(arena, at, sql, &diags, &script);
    wr_plan_ctx ctx = {.arena = arena, .diags = &diags, .world = wr_world_posix(), .catalog = wr_catalog_new(arena), .connector = connector,
                       .accept_unbounded = strcmp(what, "tree") == 0}; /* plans of joins are shown; what they cost is tested by the other kinds */
    wr_steps    steps = {0};
    wr_status   planned = script ? wr_plan_script(&ctx, script, &steps) : WR_USER;
    assert_true((parsed == WR_OK && planned == WR_OK) == (diags.n_errors == 0));
    show_steps(&steps, what, &diags, out);
    if (strcmp(what, "json") != 0) wr_diags_print(&diags, out);
    wr_diags_free(&diags);
    wr_arena_free(arena);
}

/* ---- the golden files ---- */

static const char *line_end(const char *at) {
    const char *nl = strchr(at, '\n');
    return nl ? nl + 1 : at + strlen(at);
}

static const char *find_line(const char *from, const char *prefix) {
    for (const char *at = from; *at; at = line_end(at))
        if (strncmp(at, prefix, strlen(prefix)) == 0) return at;
    return from + strlen(from);
}

static int run_file(const char *path) {
    wr_sbuf text = {0}, fresh = {0};
    wr_err  err;
    assert_int_equal(wr_file_read_all(wr_world_posix(), path, 1 << 24, &text, &err), WR_OK);
    int         failed = 0, blocks = 0;
    const char *at = find_line(text.at, "## ");
    wr_sbuf_add(&fresh, text.at, (size_t)(at - text.at));
    while (*at) {
        const char *end = find_line(line_end(at), "## "), *sql = line_end(at), *mark = find_line(sql, "---- "), *want = line_end(mark);
        char        what[16] = {0};
        assert_true(mark < end);
        for (size_t i = 0; i < sizeof what - 1 && mark[5 + i] > ' '; i++) what[i] = mark[5 + i];
        wr_sbuf got = {0};
        plan_text("test.sql", (wr_str){sql, (size_t)(mark - sql)}, what, &got);
        if (got.len && got.at[got.len - 1] != '\n') wr_sbuf_addc(&got, '\n');
        wr_sbuf_addc(&got, '\n'); /* an empty line between blocks */
        wr_sbuf_add(&fresh, at, (size_t)(want - at));
        wr_sbuf_add_str(&fresh, wr_sbuf_str(&got));
        blocks++;
        if (!wr_str_eq(wr_sbuf_str(&got), (wr_str){want, (size_t)(end - want)})) {
            failed++;
            fprintf(stderr, "%s: %.*s--- expected\n%.*s--- got\n%s", path, (int)(line_end(at) - at), at, (int)(end - want), want, got.at);
        }
        wr_sbuf_free(&got);
        at = end;
    }
    if (failed && getenv("SNAP_UPDATE")) {
        assert_int_equal(wr_file_replace(wr_world_posix(), path, wr_sbuf_str(&fresh), &err), WR_OK);
        failed = 0;
    }
    assert_true(blocks > 0);
    wr_sbuf_free(&text);
    wr_sbuf_free(&fresh);
    return failed;
}

static void test_golden(void **state) {
    (void)state;
    wr_file_info *files = NULL;
    size_t        n = 0;
    wr_err        err;
    int           failed = 0, seen = 0;
    assert_int_equal(wr_world_posix()->vt->list(wr_world_posix(), "tests/plan", &files, &n, &err), WR_OK);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(files[i].name);
        char   path[300];
        if (len < 5 || strcmp(files[i].name + len - 5, ".test") != 0) continue;
        snprintf(path, sizeof path, "tests/plan/%s", files[i].name);
        failed += run_file(path);
        seen++;
    }
    wr_free(files);
    assert_true(seen > 0);
    assert_int_equal(failed, 0);
}

/* The same script twice gives the same plan, and ids do not depend on what stands beside a query. */
static void test_stable_ids(void **state) {
    (void)state;
    const char *table = "CREATE TABLE t (id INT, k STRING, v INT) WITH ('connector' = 'filesystem');\n";
    wr_sbuf     one = {0}, two = {0}, a = {0}, b = {0};
    wr_sbuf_printf(&one, "%sSELECT k, SUM(v) AS s FROM t GROUP BY k;", table);
    wr_sbuf_printf(&two, "%s\n\nSELECT id FROM t;\nSELECT k, SUM(v) AS s FROM t GROUP BY k;", table);
    plan_text("a.sql", wr_sbuf_str(&one), "tree", &a);
    plan_text("b.sql", wr_sbuf_str(&two), "tree", &b);
    const char *id_a = strstr(a.at, "#group_agg-"), *id_b = strstr(b.at, "#group_agg-");
    assert_non_null(id_a);
    assert_non_null(id_b);
    assert_memory_equal(id_a, id_b, strlen("#group_agg-01234567"));
    wr_sbuf_free(&one), wr_sbuf_free(&two), wr_sbuf_free(&a), wr_sbuf_free(&b);
}

int main(void) {
    const char *one = getenv("WR_PLAN_SQL");
    if (one) {
        wr_sbuf text = {0}, out = {0};
        wr_err  err;
        if (wr_file_read_all(wr_world_posix(), one, 1 << 24, &text, &err) != WR_OK) return 1;
        plan_text(one, wr_sbuf_str(&text), getenv("WR_PLAN_WHAT") ? getenv("WR_PLAN_WHAT") : "explain", &out);
        fputs(out.at ? out.at : "", stdout);
        wr_sbuf_free(&text);
        wr_sbuf_free(&out);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_stable_ids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
