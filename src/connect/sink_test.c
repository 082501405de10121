/* connect/sink_test.c: filesystem and sqlite sinks: what is visible when, crashes at every step, locks; print, result; options; generators. */
#include "connect/testing.h"
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

static const wr_field fields[] = {{{"k", 1}, {.id = WR_T_INT}}, {{"v", 1}, {.id = WR_T_VARCHAR, .nullable = 1, .prec = WR_LENGTH_MAX}}};
static const uint32_t key0[] = {0};

/* Rows of a kind: k, v (NULL for null). */
static void begin_rows(wr_sink *s, const wr_schema *schema, wr_kind kind, int32_t k, const char *v, uint32_t n) { /* of keys k, k + 1, .. */
    wr_builder *b = wr_builder_new(schema, WR_MAX(n, 4u));
    wr_err      err = {0};
    for (uint32_t i = 0; i < n; i++, k++) {
        uint32_t row = wr_builder_add(b, kind);
        wr_vec  *ints = wr_builder_col(b, 0), *texts = wr_builder_col(b, 1);
        ((int32_t *)ints->data)[row] = k;
        wr_valid_set(ints->valid, row, true);
        if (v) {
            ((wr_sview *)texts->data)[row] = wr_sview_copy(wr_builder_mem(b), v, strlen(v));
            wr_valid_set(texts->valid, row, true);
        }
    }
    wr_batch *batch = wr_builder_take(b);
    assert_int_equal(s->vt->write(s, batch, &err), WR_OK);
    wr_batch_unref(batch);
    wr_builder_free(b);
}

static void write_row(wr_sink *s, const wr_schema *schema, wr_kind kind, int32_t k, const char *v) {
    wr_err err = {0};
    begin_rows(s, schema, kind, k, v, 1);
    for (bool busy = s->vt->drain != NULL; busy;) assert_int_equal(s->vt->drain(s, 1000000, &busy, &err), WR_OK);
}

static void one_file_is_cut_back(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_table_info t = table_of(&r, fields, 2, "connector", "filesystem", "format", "json", "path", in_dir(&r, "sub/out.jsonl"), (char *)NULL);
    wr_sink *s = sink_of(&r, &t);
    wr_sbuf  staged = {0};
    assert_non_null(s);
    write_row(s, t.schema, WR_KIND_INSERT, 1, "a");
    assert_int_equal(s->vt->prepare(s, 1, &staged, &r.err), WR_OK);
    assert_int_equal(s->vt->commit(s, 1, wr_sbuf_str(&staged), &r.err), WR_OK);
    write_row(s, t.schema, WR_KIND_INSERT, 2, "lost");
    assert_int_equal(s->vt->flush(s, &r.err), WR_OK);
    assert_string_equal(get_file(&r, "sub/out.jsonl"), "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"lost\"}\n");
    s->vt->close(s, false, &r.err); /* the crash */
    s = sink_of(&r, &t);
    assert_int_equal(s->vt->recover(s, 1, wr_sbuf_str(&staged), &r.err), WR_OK);
    write_row(s, t.schema, WR_KIND_INSERT, 2, NULL);
    assert_int_equal(s->vt->close(s, true, &r.err), WR_OK);
    assert_string_equal(get_file(&r, "sub/out.jsonl"), "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":null}\n");
    s = sink_of(&r, &t); /* a fresh job overwrites, even with no rows */
    assert_int_equal(s->vt->close(s, true, &r.err), WR_OK);
    assert_string_equal(get_file(&r, "sub/out.jsonl"), "");
    t = table_of(&r, fields, 2, "connector", "filesystem", "format", "json", "path", in_dir(&r, "sub/out.jsonl"), "sink.if-exists", "fail", (char *)NULL);
    assert_null(sink_of(&r, &t));
    assert_int_equal(r.diags.n_errors, 1);
    wr_sbuf_free(&staged);
    rig_close(&r);
}

static uint32_t count_files(rig *r, const char *dir, const char *prefix, wr_sbuf *all) {
    wr_file_info *list;
    size_t        n;
    uint32_t      found = 0;
    assert_int_equal(r->ctx.world->vt->list(r->ctx.world, in_dir(r, dir), &list, &n, &r->err), WR_OK);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(list[i].name, prefix, strlen(prefix))) continue;
        found++;
        if (all) wr_sbuf_addz(all, get_file(r, wr_arena_printf(r->arena, "%s/%s", dir, list[i].name)));
    }
    wr_free(list);
    return found;
}

static void part_files_appear_at_commit(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_table_info t = table_of(&r, fields, 2, "connector", "filesystem", "format", "csv", "path", in_dir(&r, "parts"), (char *)NULL);
    for (int crash = 0; crash < 2; crash++) { /* before commit, and half way in it makes no difference */
        wr_sink *s = sink_of(&r, &t);
        wr_sbuf  staged = {0}, all = {0};
        write_row(s, t.schema, WR_KIND_INSERT, 1, "a");
        assert_int_equal(s->vt->prepare(s, 1, &staged, &r.err), WR_OK);
        assert_int_equal(count_files(&r, "parts", "part-", NULL), (uint32_t)crash);
        write_row(s, t.schema, WR_KIND_INSERT, 2, "newer");
        wr_sbuf next = {0};
        assert_int_equal(s->vt->prepare(s, 2, &next, &r.err), WR_OK);
        if (crash) assert_int_equal(s->vt->commit(s, 1, wr_sbuf_str(&staged), &r.err), WR_OK);
        s->vt->close(s, false, &r.err);
        s = sink_of(&r, &t);
        assert_int_equal(s->vt->recover(s, 1, wr_sbuf_str(&staged), &r.err), WR_OK);
        assert_int_equal(s->vt->commit(s, 1, wr_sbuf_str(&staged), &r.err), WR_OK);
        assert_int_equal(count_files(&r, "parts", ".part-", NULL), 0);
        assert_int_equal(count_files(&r, "parts", "part-", &all), (uint32_t)crash + 1);
        assert_string_equal(all.at, crash ? "1,a\n1,a\n" : "1,a\n");
        assert_int_equal(s->vt->close(s, true, &r.err), WR_OK);
        wr_sbuf_free(&staged);
        wr_sbuf_free(&next);
        wr_sbuf_free(&all);
    }
    rig_close(&r);
}

/* ---- sqlite ---- */

static char *query(rig *r, const char *db_name, const char *sql) {
    sqlite3      *db;
    sqlite3_stmt *st;
    wr_sbuf       out = {0};
    assert_int_equal(sqlite3_open(in_dir(r, db_name), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW) {
        for (int c = 0; c < sqlite3_column_count(st); c++) {
            const char *text = (const char *)sqlite3_column_text(st, c);
            wr_sbuf_printf(&out, "%s%s", c ? "|" : "", text ? text : "NULL");
        }
        wr_sbuf_addc(&out, ';');
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
    char *text = wr_arena_strndup(r->arena, out.at ? out.at : "", out.len);
    wr_sbuf_free(&out);
    return text;
}

static wr_table_info sqlite_table(rig *r, bool key) {
    wr_table_info t = table_of(r, fields, 2, "connector", "sqlite", "path", in_dir(r, "a.db"), "table", "out", "sink.busy-timeout", "50 ms", (char *)NULL);
    t.n_key = key;
    t.key = key0;
    return t;
}

static void sqlite_upserts_and_deletes(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_table_info t = sqlite_table(&r, true);
    wr_sink *s = sink_of(&r, &t);
    if (!s) print_error("%s\n", r.err.message);
    assert_non_null(s);
    write_row(s, t.schema, WR_KIND_INSERT, 1, "a");
    write_row(s, t.schema, WR_KIND_INSERT, 2, "b");
    write_row(s, t.schema, WR_KIND_UPDATE_AFTER, 1, "c is longer than twelve bytes");
    write_row(s, t.schema, WR_KIND_DELETE, 2, NULL);
    write_row(s, t.schema, WR_KIND_UPDATE_AFTER, 3, NULL);
    assert_string_equal(query(&r, "a.db", "SELECT * FROM out"), "");
    assert_int_equal(s->vt->flush(s, &r.err), WR_OK);
    assert_string_equal(query(&r, "a.db", "SELECT * FROM out ORDER BY k"), "1|c is longer than twelve bytes;3|NULL;");
    assert_string_equal(query(&r, "a.db", "PRAGMA journal_mode"), "wal;");
    assert_int_equal(s->vt->close(s, true, &r.err), WR_OK);
    rig_close(&r);
}

/* A crash between any two calls: each row is there once (the table has no key, so a second time would show). */
static void sqlite_is_exactly_once(void **state) {
    (void)state;
    for (int crash = 0; crash < 4; crash++) {
        rig r;
        rig_open(&r);
        wr_table_info t = sqlite_table(&r, false);
        wr_sink *s = sink_of(&r, &t);
        wr_sbuf  one = {0}, two = {0};
        assert_int_equal(s->vt->recover(s, 0, WR_STR(""), &r.err), WR_OK);
        write_row(s, t.schema, WR_KIND_INSERT, 1, "a");
        assert_int_equal(s->vt->prepare(s, 1, &one, &r.err), WR_OK);
        if (crash >= 1) assert_int_equal(s->vt->commit(s, 1, wr_sbuf_str(&one), &r.err), WR_OK);
        if (crash >= 2) assert_int_equal(s->vt->commit(s, 1, wr_sbuf_str(&one), &r.err), WR_OK);
        if (crash >= 3) write_row(s, t.schema, WR_KIND_INSERT, 2, "of an epoch that never completes");
        s->vt->close(s, false, &r.err);
        s = sink_of(&r, &t);
        assert_int_equal(s->vt->recover(s, 1, wr_sbuf_str(&one), &r.err), WR_OK);
        assert_int_equal(s->vt->recover(s, 1, wr_sbuf_str(&one), &r.err), WR_OK);
        assert_string_equal(query(&r, "a.db", "SELECT k, v FROM out"), "1|a;");
        write_row(s, t.schema, WR_KIND_INSERT, 2, "b");
        assert_int_equal(s->vt->prepare(s, 2, &two, &r.err), WR_OK);
        assert_int_equal(s->vt->commit(s, 2, wr_sbuf_str(&two), &r.err), WR_OK);
        assert_int_equal(s->vt->commit(s, 2, wr_sbuf_str(&two), &r.err), WR_OK);
        assert_string_equal(query(&r, "a.db", "SELECT k, v FROM out; "), "1|a;2|b;");
        assert_string_equal(query(&r, "a.db", "SELECT job, sink, epoch FROM weir_epoch"), "weir|t|2;");
        assert_int_equal(s->vt->close(s, true, &r.err), WR_OK);
        s = sink_of(&r, &t); /* an old checkpoint does not go back in silence; a fresh job begins at epoch 1 again */
        assert_int_equal(s->vt->recover(s, 1, wr_sbuf_str(&one), &r.err), WR_DATA);
        s->vt->close(s, false, &r.err);
        s = sink_of(&r, &t);
        assert_int_equal(s->vt->recover(s, 0, WR_STR(""), &r.err), WR_OK);
        if (crash % 2) { /* behind its first manifest: the number of the job before is not taken for its own */
            s->vt->close(s, false, &r.err);
            s = sink_of(&r, &t);
            assert_int_equal(s->vt->recover(s, 1, wr_sbuf_str(&one), &r.err), WR_OK);
        }
        assert_int_equal(s->vt->commit(s, 1, wr_sbuf_str(&one), &r.err), WR_OK);
        assert_string_equal(query(&r, "a.db", "SELECT k FROM out"), "1;2;1;");
        assert_int_equal(s->vt->close(s, true, &r.err), WR_OK);
        wr_sbuf_free(&one);
        wr_sbuf_free(&two);
        rig_close(&r);
    }
}

static void sqlite_trouble_is_named(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_table_info t = sqlite_table(&r, true);
    wr_sink *s = sink_of(&r, &t);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(in_dir(&r, "a.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    write_row(s, t.schema, WR_KIND_INSERT, 1, "a");
    assert_int_equal(s->vt->flush(s, &r.err), WR_IO);
    assert_non_null(strstr(r.err.message, "a.db"));
    assert_non_null(strstr(r.err.message, "locked"));
    assert_non_null(strstr(r.err.hint, "fuser"));
    assert_true(r.err.retriable);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(s->vt->flush(s, &r.err), WR_OK); /* nothing was lost */
    assert_string_equal(query(&r, "a.db", "SELECT k, v FROM out"), "1|a;");
    s->vt->close(s, true, &r.err);
    assert_int_equal(sqlite3_exec(other, "DROP TABLE out; CREATE TABLE out (k INTEGER, val TEXT)", NULL, NULL, NULL), SQLITE_OK);
    assert_null(sink_of(&r, &t));
    assert_non_null(strstr(r.err.message, "no column 'v'"));
    assert_int_equal(sqlite3_exec(other, "DROP TABLE out; CREATE TABLE out (k INTEGER, v TEXT)", NULL, NULL, NULL), SQLITE_OK);
    assert_null(sink_of(&r, &t));
    assert_non_null(strstr(r.err.hint, "PRIMARY KEY or UNIQUE"));
    sqlite3_close(other);
    PUT(&r, "a.db", "this is not a database, but long enough to look like one to nobody at all");
    assert_int_equal(system(wr_arena_printf(r.arena, "rm -f %s-wal %s-shm", in_dir(&r, "a.db"), in_dir(&r, "a.db"))), 0);
    assert_null(sink_of(&r, &t));
    assert_non_null(strstr(r.err.hint, "not an SQLite database"));
    rig_close(&r);
}

static void sqlite_types(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_type  int_ = wr_type_of(WR_T_INT), array = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &int_};
    wr_field f[] = {FIELD("d", wr_type_decimal(20, 2)), FIELD("t", wr_type_prec(WR_T_TIMESTAMP, 3)), FIELD("b", wr_type_of(WR_T_BOOLEAN)), FIELD("x", wr_type_of(WR_T_DOUBLE)), FIELD("a", array), FIELD("l", wr_type_prec(WR_T_TIMESTAMP_LTZ, 0))};
    PUT(&r, "in", "{\"d\":\"123456789012345678.90\",\"t\":\"2026-01-01 00:00:00.5\",\"b\":true,\"x\":1.5,\"a\":[1,null],\"l\":\"2026-01-01 01:00:00+01:00\"}\n{\"x\":\"NaN\"}\n");
    wr_table_info in = table_of(&r, f, 6, "connector", "filesystem", "format", "json", "path", in_dir(&r, "in"), (char *)NULL);
    wr_table_info t = table_of(&r, f, 6, "connector", "sqlite", "path", in_dir(&r, "a.db"), (char *)NULL);
    wr_source *source = source_of(&r, &in);
    wr_sink   *sink = sink_of(&r, &t);
    wr_chunk   chunk;
    wr_next    next;
    int64_t    retry;
    wr_decoded d = {0};
    assert_int_equal(source->vt->next(source, NULL, &chunk, &next, &retry, &r.err), WR_OK);
    assert_int_equal(source->vt->decode(source, 0, &chunk, &d, &r.err), WR_OK);
    assert_int_equal(d.n_rows, 2);
    assert_int_equal(sink->vt->write(sink, d.batches.at[0], &r.err), WR_OK);
    assert_int_equal(sink->vt->close(sink, true, &r.err), WR_OK);
    assert_string_equal(query(&r, "a.db", "SELECT d, t, b, x, a, l, typeof(d), typeof(t), typeof(b), typeof(x) FROM t"),
                        "123456789012345678.90|2026-01-01 00:00:00.500|1|1.5|[1,null]|2026-01-01 00:00:00Z|text|text|integer|real;NULL|NULL|NULL|NaN|NULL|NULL|null|null|null|text;");
    wr_batch_unref(d.batches.at[0]);
    wr_arr_free(&d.batches);
    wr_mem_unref(chunk.mem);
    source->vt->close(source);
    rig_close(&r);
}

/* ---- what goes to standard output ---- */

static int stdout_before;
static void catch_stdout(rig *r) {
    fflush(stdout);
    stdout_before = dup(1);
    int fd = open(in_dir(r, "stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(fd, 1);
    close(fd);
}
static char *caught(rig *r) {
    fflush(stdout);
    dup2(stdout_before, 1);
    close(stdout_before);
    return get_file(r, "stdout");
}

static void print_is_flinks(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_table_info t = table_of(&r, fields, 2, "connector", "print", "print-identifier", "out", (char *)NULL);
    wr_sink *s = sink_of(&r, &t);
    catch_stdout(&r);
    write_row(s, t.schema, WR_KIND_INSERT, 1, "a");
    write_row(s, t.schema, WR_KIND_DELETE, 2, NULL);
    s->vt->close(s, true, &r.err);
    assert_string_equal(caught(&r), "out> +I[1, a]\nout> -D[2, null]\n");
    rig_close(&r);
}

static char *result_text(rig *r, const char *style, bool final) {
    wr_table_info t = table_of(r, fields, 2, "connector", "result", (char *)NULL);
    r->ctx.print_style = style;
    r->ctx.final_rows = final;
    wr_sink *s = sink_of(r, &t);
    catch_stdout(r);
    write_row(s, t.schema, WR_KIND_INSERT, 1, "a");
    write_row(s, t.schema, WR_KIND_INSERT, 22, "a longer text");
    write_row(s, t.schema, WR_KIND_UPDATE_BEFORE, 1, "a");
    write_row(s, t.schema, WR_KIND_UPDATE_AFTER, 1, "b");
    write_row(s, t.schema, WR_KIND_INSERT, 1, "b");
    s->vt->close(s, true, &r->err);
    return caught(r);
}

static void results(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    assert_string_equal(result_text(&r, "changelog-jsonl", false), "{\"op\":\"+I\",\"k\":1,\"v\":\"a\"}\n{\"op\":\"+I\",\"k\":22,\"v\":\"a longer text\"}\n{\"op\":\"-U\",\"k\":1,\"v\":\"a\"}\n"
                                                                   "{\"op\":\"+U\",\"k\":1,\"v\":\"b\"}\n{\"op\":\"+I\",\"k\":1,\"v\":\"b\"}\n");
    assert_string_equal(result_text(&r, "jsonl", true), "{\"k\":22,\"v\":\"a longer text\"}\n{\"k\":1,\"v\":\"b\"}\n{\"k\":1,\"v\":\"b\"}\n");
    assert_string_equal(result_text(&r, "table", true), " k  v\n--  -------------\n22  a longer text\n 1  b\n 1  b\n");
    assert_non_null(strstr(result_text(&r, "table", false), "op  k  v"));
    rig_close(&r);
}

static void many_changes_keep_the_table_small(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_table_info t = table_of(&r, fields, 2, "connector", "result", (char *)NULL);
    r.ctx.print_style = "jsonl";
    r.ctx.final_rows = true;
    wr_sink *s = sink_of(&r, &t);
    for (int i = 0; i < 20000; i++) {
        write_row(s, t.schema, WR_KIND_INSERT, i, "x");
        if (i >= 3) write_row(s, t.schema, WR_KIND_DELETE, i - 3, "x");
    }
    assert_true(wr_account_bytes(&r.acct) < 400000);
    catch_stdout(&r);
    s->vt->close(s, true, &r.err);
    assert_string_equal(caught(&r), "{\"k\":19997,\"v\":\"x\"}\n{\"k\":19998,\"v\":\"x\"}\n{\"k\":19999,\"v\":\"x\"}\n");
    rig_close(&r);
}

/* A pipe that nobody reads takes what it has room for; then the sink says so, whole lines of another one wait for it, and all comes out in order. */
static void a_full_pipe(void **state) {
    (void)state;
    enum { ROWS = 2000 }; /* more than a pipe takes */
    rig r;
    rig_open(&r);
    wr_table_info t = table_of(&r, fields, 2, "connector", "print", (char *)NULL);
    wr_sink *s = sink_of(&r, &t), *other = sink_of(&r, &t);
    int      ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    stdout_before = dup(1);
    dup2(ends[1], 1);
    bool      busy = false;
    wr_status status = WR_OK;
    begin_rows(s, t.schema, WR_KIND_INSERT, 0, "a string of more than a few bytes", ROWS);
    for (int i = 0; i < 3 && status == WR_OK; i++) status = s->vt->drain(s, 1000, &busy, &r.err);
    bool stuck = busy;
    begin_rows(other, t.schema, WR_KIND_INSERT, -1, "x", 1);
    other->vt->drain(other, 0, &busy, &r.err);
    bool    waits = busy, all = false, all_of_other = false;
    wr_sbuf got = {0};
    while (status == WR_OK && !(all && all_of_other)) {
        wr_sbuf_reserve(&got, 3000);
        got.len += (size_t)read(ends[0], got.at + got.len, 3000);
        if (!all) status = s->vt->drain(s, 0, &busy, &r.err), all = !busy;
        else status = other->vt->drain(other, 1000000, &busy, &r.err), all_of_other = !busy;
    }
    close(1);
    close(ends[1]);
    for (ssize_t n = 1; n > 0; got.len += (size_t)n) wr_sbuf_reserve(&got, 4096), n = read(ends[0], got.at + got.len, 4096);
    dup2(stdout_before, 1);
    close(stdout_before), close(ends[0]);
    assert_int_equal(status, WR_OK);
    assert_true(stuck);
    assert_true(waits);
    wr_sbuf want = {0};
    for (int i = 0; i < ROWS; i++) wr_sbuf_printf(&want, "+I[%d, a string of more than a few bytes]\n", i);
    wr_sbuf_addz(&want, "+I[-1, x]\n");
    assert_int_equal(got.len, want.len);
    assert_memory_equal(got.at, want.at, want.len);
    wr_sbuf_free(&got), wr_sbuf_free(&want);
    s->vt->close(s, true, &r.err);
    other->vt->close(other, true, &r.err);
    rig_close(&r);
}

/* ---- options ---- */

static char *check(rig *r, const wr_table_info *t, bool as_source) {
    wr_sbuf out = {0};
    wr_diags_free(&r->diags);
    wr_diags_init(&r->diags);
    wr_table_options_check(t, as_source, &r->diags);
    for (uint32_t i = 0; i < r->diags.list.n; i++)
        wr_sbuf_printf(&out, "%s | %s\n", r->diags.list.at[i].message, r->diags.list.at[i].hint ? r->diags.list.at[i].hint : "");
    char *text = wr_arena_strndup(r->arena, out.at ? out.at : "", out.len);
    wr_sbuf_free(&out);
    return text;
}
#define CHECK(r, as_source, ...) (t = table_of((r), fields, 2, __VA_ARGS__, (char *)NULL), check((r), &t, (as_source)))

static void wrong_options_get_the_nearest_name(void **state) {
    (void)state;
    rig r;
    wr_table_info t;
    rig_open(&r);
    assert_string_equal(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "json", "on-error", "skip", "json.ignore-parse-errors", "true", "scan.idle-timeout", "5 s"), "");
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesytem", "path", "x"), "there is no connector 'filesytem' | did you mean 'filesystem'?"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "pulsar"), "there is no connector 'pulsar' | connectors that can be read: filesystem, datagen"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "format", "json"), "needs the option 'path'"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x"), "has no 'format' | there are: json, csv"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "jsn"), "did you mean 'json'?"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "json", "json.ignore-parse-error", "true"), "did you mean 'json.ignore-parse-errors'?"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "json", "csv.header", "true"), "belongs to the format 'csv'"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "json", "json.ignore-parse-errors", "yes"), "expected true or false"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "json", "source.mode", "tial"), "did you mean 'tail'?"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "upsert-json"), "needs a PRIMARY KEY"));
    assert_non_null(strstr(CHECK(&r, false, "connector", "filesystem", "path", "x", "format", "upsert-json"), "can only be read"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "print"), "cannot be read"));
    assert_non_null(strstr(CHECK(&r, false, "connector", "datagen"), "cannot be written to"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "datagen", "fields.kk.min", "1"), "has no column 'kk'"));
    assert_string_equal(CHECK(&r, true, "connector", "datagen", "fields.k.min", "1"), "");
    assert_non_null(strstr(CHECK(&r, true, "connector", "filesystem", "path", "x", "format", "json", "on-error", "dead-letter"), "needs 'dead-letter.path'"));
    assert_non_null(strstr(CHECK(&r, false, "connector", "sqlite"), "needs the option 'path'"));
#define KAFKA "connector", "kafka", "topic", "x", "properties.bootstrap.servers", "x:1"
    assert_string_equal(CHECK(&r, true, KAFKA, "format", "json", "properties.security.protocol", "SSL", "json.ignore-parse-errors", "true"), "");
    assert_string_equal(CHECK(&r, true, KAFKA, "value.format", "json", "key.format", "csv", "key.fields", "k", "key.csv.field-delimiter", ";", "value.json.ignore-parse-errors", "true"), "");
    assert_non_null(strstr(CHECK(&r, true, KAFKA, "value.format", "json", "key.format", "csv", "key.fields", "k", "key.json.ignore-parse-errors", "true"), "has no option 'key.json.ignore-parse-errors'"));
    assert_non_null(strstr(CHECK(&r, true, KAFKA, "format", "json", "key.format", "csv"), "needs 'key.fields'"));
    assert_non_null(strstr(CHECK(&r, true, KAFKA), "has no 'format'"));
    assert_non_null(strstr(CHECK(&r, true, "connector", "kafka", "topic", "x", "format", "json"), "needs the option 'properties.bootstrap.servers'"));
    rig_close(&r);
}

/* ---- generators ---- */

static void datagen_is_a_function_of_the_seed(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_field      f[] = {FIELD("n", wr_type_of(WR_T_BIGINT)), FIELD("r", wr_type_of(WR_T_INT)), FIELD("s", wr_type_string()), FIELD("d", wr_type_decimal(6, 2))};
    wr_table_info t = table_of(&r, f, 4, "connector", "datagen", "rows-per-second", "0", "fields.n.kind", "sequence", "fields.n.start", "5", "fields.n.end", "3004", "fields.r.min", "-2", "fields.r.max", "2",
                               "fields.s.length", "20", "fields.d.min", "1.50", "fields.d.max", "1.59", (char *)NULL);
    wr_sbuf one = {0}, two = {0}, saved = {0};
    wr_source *s = source_of(&r, &t);
    assert_non_null(s);
    assert_int_equal(drain(&r, s, &one), WR_NEXT_END);
    s->vt->close(s);
    uint32_t lines = 0, low = 0;
    for (char *p = one.at; (p = strchr(p, ':')); lines++) { /* datagen:5,-1,0123...,1.53 */
        assert_int_equal(strtoll(p + 1, &p, 10), 5 + lines);
        long v = strtol(p + 1, &p, 10);
        assert_true(v >= -2 && v <= 2);
        low += v == -2;
        p = strchr(p + 1, ',');
        assert_int_equal(strncmp(p, ",1.5", 4), 0);
    }
    assert_int_equal(lines, 3000);
    assert_true(low > 400 && low < 800); /* a fifth */
    r.ctx.batch_rows = 7; /* other batches, stopped and loaded half way: the same rows */
    s = source_of(&r, &t);
    for (int i = 0; i < 50; i++) {
        wr_chunk chunk;
        wr_next  next;
        int64_t  retry;
        assert_int_equal(s->vt->next(s, NULL, &chunk, &next, &retry, &r.err), WR_OK);
        dump_chunk(s, &chunk, &two);
    }
    s->vt->save(s, &saved);
    s->vt->close(s);
    s = source_of(&r, &t);
    wr_reader in = {(const uint8_t *)saved.at, (const uint8_t *)saved.at + saved.len, false};
    assert_int_equal(s->vt->load(s, &in, &r.err), WR_OK);
    drain(&r, s, &two);
    assert_string_equal(one.at, two.at);
    s->vt->close(s);
    wr_sbuf_free(&one);
    wr_sbuf_free(&two);
    wr_sbuf_free(&saved);
    rig_close(&r);
}

static void generators_are_sources(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_field      bid[] = {FIELD("auction", wr_type_of(WR_T_BIGINT)), FIELD("price", wr_type_of(WR_T_BIGINT))}, order[] = {FIELD("order_id", wr_type_of(WR_T_BIGINT))};
    wr_table_info t = table_of(&r, bid, 2, "connector", "nexmark", "stream", "bid", "number-of-events", "5000", (char *)NULL);
    wr_sbuf       out = {0};
    wr_source    *s = source_of(&r, &t);
    assert_non_null(s);
    assert_int_equal(drain(&r, s, &out), WR_NEXT_END);
    uint32_t lines = 0;
    for (size_t i = 0; i < out.len; i++) lines += out.at[i] == '\n';
    assert_int_equal(lines, 5000 / 50 * 46); /* 1 : 3 : 46 */
    s->vt->close(s);
    wr_sbuf_clear(&out);
    t = table_of(&r, order, 1, "connector", "ridelo", "stream", "orders", "duration", "10 min", (char *)NULL);
    s = source_of(&r, &t);
    assert_non_null(s);
    assert_int_equal(drain(&r, s, &out), WR_NEXT_END);
    assert_non_null(strstr(out.at, "orders:"));
    s->vt->close(s);
    t = table_of(&r, order, 1, "connector", "nexmark", "stream", "bids", (char *)NULL);
    assert_null(source_of(&r, &t));
    assert_int_equal(r.diags.n_errors, 1);
    wr_sbuf_free(&out);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_is_cut_back), cmocka_unit_test(part_files_appear_at_commit), cmocka_unit_test(sqlite_upserts_and_deletes), cmocka_unit_test(sqlite_is_exactly_once),
        cmocka_unit_test(sqlite_trouble_is_named), cmocka_unit_test(sqlite_types), cmocka_unit_test(print_is_flinks), cmocka_unit_test(results),
        cmocka_unit_test(many_changes_keep_the_table_small), cmocka_unit_test(a_full_pipe), cmocka_unit_test(wrong_options_get_the_nearest_name), cmocka_unit_test(datagen_is_a_function_of_the_seed),
        cmocka_unit_test(generators_are_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
