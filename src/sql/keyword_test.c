/* sql/keyword_test.c: every word of the grammar as a name in every place where a name can stand. */
#include "parse.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>

static void test_sorted(void **state) {
    (void)state;
    for (size_t i = 1; wr_sql_keyword_at(i); i++) assert_true(strcmp(wr_sql_keyword_at(i - 1)->text, wr_sql_keyword_at(i)->text) < 0);
    for (size_t i = 1; wr_sql_flink_word_at(i); i++) assert_true(strcmp(wr_sql_flink_word_at(i - 1), wr_sql_flink_word_at(i)) < 0);
    for (size_t i = 0; wr_sql_keyword_at(i); i++) assert_ptr_equal(wr_sql_keyword(wr_str_of(wr_sql_keyword_at(i)->text)), wr_sql_keyword_at(i));
    assert_null(wr_sql_keyword(WR_STR("SELECTS")));
    assert_null(wr_sql_keyword(WR_STR("A_WORD_LONGER_THAN_ANY_KEYWORD_IS")));
    assert_true(wr_sql_needs_quotes(WR_STR("Start")));
    assert_true(wr_sql_needs_quotes(WR_STR("9a")));
    assert_true(wr_sql_needs_quotes(WR_STR("a b")));
    assert_false(wr_sql_needs_quotes(WR_STR("a_9")));
}

/* Parses the text with %s replaced; true if there was no error. */
static bool parses(const char *form, const char *word) {
    char text[512];
    snprintf(text, sizeof text, form, word, word, word);
    wr_diags   diags;
    wr_arena  *arena = wr_arena_new(NULL);
    wr_script *script;
    wr_diags_init(&diags);
    bool ok = wr_sql_parse(arena, 0, wr_str_of(text), &diags, &script) == WR_OK;
    wr_diags_free(&diags);
    wr_arena_free(arena);
    return ok;
}

static const char *const PLACES[] = {
    "SELECT %s, 1 FROM t", "SELECT a AS %s, b FROM t", "SELECT t.%s + 1 FROM t", "SELECT a FROM t WHERE %s = 1 AND %s > 2", "SELECT SUM(%s) FROM t GROUP BY %s", "SELECT a FROM %s",
    "SELECT a FROM db.%s", "SELECT a FROM t AS %s", "CREATE TABLE t (a INT, %s STRING, b INT)", "CREATE TABLE %s (a INT)", "CREATE VIEW v (%s) AS SELECT 1", "INSERT INTO t (%s) SELECT %s FROM u",
    "SELECT a FROM t ORDER BY %s DESC", "CREATE TABLE t (a ROW<%s INT>)", "WITH %s AS (SELECT 1) SELECT * FROM %s", "DROP TABLE %s", "SELECT f(%s, 1)", "SELECT CAST(%s AS INT)", "SELECT 1 + %s",
};

static void test_free_words(void **state) {
    (void)state;
    /* Where the grammar can take the word itself it does; such a name needs backticks in that place, as in Flink. */
    static const struct { const char *word, *form; } TAKEN[] = {
        {"UNKNOWN", NULL}, {"CURRENT_DATE", NULL}, {"CURRENT_TIME", NULL}, {"CURRENT_TIMESTAMP", NULL}, {"LOCALTIME", NULL}, {"LOCALTIMESTAMP", NULL}, {"EXISTS", NULL}, {"END", NULL},
        {"DEFAULT", NULL}, {"CONSTRAINT", NULL}, {"UNIQUE", NULL}, {"RECURSIVE", NULL},
    };
    for (size_t i = 0; wr_sql_keyword_at(i); i++) {
        const wr_keyword *k = wr_sql_keyword_at(i);
        bool              reserved = wr_sql_is_reserved(wr_str_of(k->text)), taken = false;
        for (size_t t = 0; t < WR_COUNT_OF(TAKEN); t++) taken = taken || strcmp(TAKEN[t].word, k->text) == 0;
        char quoted[64];
        snprintf(quoted, sizeof quoted, "`%s`", k->text);
        for (size_t p = 0; p < WR_COUNT_OF(PLACES); p++) {
            if (!parses(PLACES[p], quoted)) fail_msg("%s with %s", PLACES[p], quoted);
            if (!reserved && !taken && !parses(PLACES[p], k->text)) fail_msg("%s with %s", PLACES[p], k->text);
        }
        if (!parses("SELECT t.%s FROM t", k->text)) fail_msg("t.%s", k->text); /* behind a dot any word is a name */
    }
}

static void test_flink_words(void **state) {
    (void)state;
    for (size_t i = 0; wr_sql_flink_word_at(i); i++) {
        for (size_t p = 0; p < WR_COUNT_OF(PLACES); p++) {
            if (!wr_sql_keyword(wr_str_of(wr_sql_flink_word_at(i))) && !parses(PLACES[p], wr_sql_flink_word_at(i))) {
                fail_msg("%s with %s", PLACES[p], wr_sql_flink_word_at(i));
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorted), cmocka_unit_test(test_free_words), cmocka_unit_test(test_flink_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
