/* connect/file_source_test.c: files as sources: bounded and tail, rotation, truncation, compressed files, trouble.                    */
#include "connect/testing.h"
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

static wr_field id_field[] = {{{"id", 2}, {.id = WR_T_INT, .nullable = 1}}};

#define TABLE(r, ...) table_of((r), id_field, 1, "connector", "filesystem", "format", "json", __VA_ARGS__, (char *)NULL)

static void expect_all(rig *r, const wr_table_info *t, const char *expected) {
    wr_source *s = source_of(r, t);
    wr_sbuf    out = {0};
    assert_non_null(s);
    assert_int_equal(drain(r, s, &out), WR_NEXT_END);
    assert_string_equal(out.at ? out.at : "", expected);
    uint64_t done, total;
    s->vt->progress(s, &done, &total);
    assert_int_equal(done, total);
    for (uint32_t i = 0; i < s->vt->partitions(s); i++) assert_true(s->vt->partition_done(s, i));
    s->vt->close(s);
    wr_sbuf_free(&out);
}

static void files_globs_directories(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    assert_int_equal(mkdir(in_dir(&r, "d"), 0755), 0);
    PUT(&r, "d/a.jsonl", "{\"id\":1}\n{\"id\":2}\n");
    PUT(&r, "d/b.jsonl", "{\"id\":3}"); /* no line break at the end */
    PUT(&r, "d/_hidden", "{\"id\":9}\n");
    PUT(&r, "d/.part", "{\"id\":9}\n");
    PUT(&r, "d/empty.jsonl", "");
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "d/a.jsonl"));
    expect_all(&r, &t, "a.jsonl:1\na.jsonl:2\n");
    t = TABLE(&r, "path", in_dir(&r, "d"));
    expect_all(&r, &t, "a.jsonl:1\na.jsonl:2\nb.jsonl:3\n");
    t = TABLE(&r, "path", in_dir(&r, "d/[b-z]*.jsonl"));
    expect_all(&r, &t, "b.jsonl:3\n");
    t = TABLE(&r, "path", wr_arena_printf(r.arena, "%s, %s", in_dir(&r, "?/b.json*"), in_dir(&r, "d/a.jsonl")));
    expect_all(&r, &t, "b.jsonl:3\na.jsonl:1\na.jsonl:2\n");
    t = TABLE(&r, "path", wr_arena_printf(r.arena, "%s,%s", in_dir(&r, "d/b.jsonl"), in_dir(&r, "d/b.jsonl"))); /* named twice, read once */
    expect_all(&r, &t, "b.jsonl:3\n");
    rig_close(&r);
}

static void missing_and_unreadable(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    PUT(&r, "orders.jsonl", "{\"id\":1}\n");
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "order.jsonl"));
    assert_null(source_of(&r, &t));
    assert_non_null(strstr(r.err.message, "there is no file or directory"));
    assert_non_null(strstr(r.err.hint, "did you mean 'orders.jsonl'"));
    t = TABLE(&r, "path", in_dir(&r, "*.csv"));
    assert_null(source_of(&r, &t));
    assert_non_null(strstr(r.err.message, "no file matches"));
    t = TABLE(&r, "path", in_dir(&r, "nowhere/x.jsonl"));
    assert_null(source_of(&r, &t));
    assert_non_null(strstr(r.err.hint, "does not exist either"));
    assert_int_equal(mkdir(in_dir(&r, "empty"), 0755), 0);
    t = TABLE(&r, "path", in_dir(&r, "empty"));
    assert_null(source_of(&r, &t));
    assert_non_null(strstr(r.err.message, "has no files to read"));
    if (geteuid() != 0) {
        chmod(in_dir(&r, "orders.jsonl"), 0);
        t = TABLE(&r, "path", in_dir(&r, "orders.jsonl"));
        wr_source *s = source_of(&r, &t);
        wr_chunk   chunk;
        wr_next    next;
        int64_t    retry;
        assert_int_equal(s->vt->next(s, NULL, &chunk, &next, &retry, &r.err), WR_IO);
        assert_non_null(strstr(r.err.hint, "permissions"));
        s->vt->close(s);
    }
    rig_close(&r);
}

static char *many_rows(rig *r, uint32_t from, uint32_t n, size_t *len) {
    wr_sbuf text = {0};
    for (uint32_t i = from; i < from + n; i++) wr_sbuf_printf(&text, "{\"id\":%u,\"pad\":\"0123456789012345678901234567890123456789\"}\n", i);
    char *copy = wr_arena_strndup(r->arena, text.at, text.len);
    *len = text.len;
    wr_sbuf_free(&text);
    return copy;
}

static void expect_sequence(wr_sbuf *out, uint32_t n) {
    char *p = out->at;
    for (uint32_t i = 0; i < n; i++) {
        p = strchr(p, ':');
        assert_non_null(p);
        assert_int_equal(strtoul(p + 1, &p, 10), i);
    }
    assert_string_equal(p, "\n");
}

/* Chunks of 1 MiB; a position saved after any chunk goes on exactly there; plain, gzip (two members) and zstd alike. */
static void chunks_and_positions(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    size_t   len;
    uint32_t n = 60000;
    char    *text = many_rows(&r, 0, n, &len);
    put_file(&r, "plain.jsonl", "w", text, len);
    gzFile gz = gzopen(in_dir(&r, "packed.gz"), "wb");
    assert_int_equal(gzwrite(gz, text, (unsigned)len / 2), len / 2);
    gzclose(gz);
    gz = gzopen(in_dir(&r, "packed.gz"), "ab");
    assert_int_equal(gzwrite(gz, text + len / 2, (unsigned)(len - len / 2)), len - len / 2);
    gzclose(gz);
    char  *zs = wr_malloc(ZSTD_compressBound(len));
    size_t zn = ZSTD_compress(zs, ZSTD_compressBound(len), text, len, 3);
    put_file(&r, "packed.zst", "w", zs, zn);
    wr_free(zs);
    const char *names[] = {"plain.jsonl", "packed.gz", "packed.zst"};
    for (int k = 0; k < 3; k++) {
        wr_table_info t = TABLE(&r, "path", in_dir(&r, names[k]));
        for (int stop = 1; stop <= 3; stop++) {
            wr_source *s = source_of(&r, &t);
            wr_sbuf    out = {0}, saved = {0};
            for (int i = 0; i < stop; i++) {
                wr_chunk chunk;
                wr_next  next;
                int64_t  retry;
                assert_int_equal(s->vt->next(s, NULL, &chunk, &next, &retry, &r.err), WR_OK);
                assert_int_equal(next, WR_NEXT_CHUNK);
                assert_int_equal(chunk.first, i == 0);
                assert_int_equal(wr_chunk_read(s, &chunk, &r.err), WR_OK);
                dump_chunk(s, &chunk, &out);
                wr_mem_unref(chunk.mem);
            }
            s->vt->save(s, &saved);
            s->vt->close(s);
            s = source_of(&r, &t);
            wr_reader in = {(const uint8_t *)saved.at, (const uint8_t *)saved.at + saved.len, false};
            assert_int_equal(s->vt->load(s, &in, &r.err), WR_OK);
            assert_int_equal(drain(&r, s, &out), WR_NEXT_END);
            expect_sequence(&out, n);
            s->vt->close(s);
            wr_sbuf_free(&out);
            wr_sbuf_free(&saved);
        }
    }
    truncate(in_dir(&r, "packed.gz"), 5000) == 0 ? (void)0 : fail();
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "packed.gz"));
    wr_source *s = source_of(&r, &t);
    wr_chunk   chunk;
    wr_next    next;
    int64_t    retry;
    wr_status  status;
    while ((status = s->vt->next(s, NULL, &chunk, &next, &retry, &r.err)) == WR_OK && next == WR_NEXT_CHUNK) wr_mem_unref(chunk.mem);
    assert_int_equal(status, WR_DATA);
    assert_non_null(strstr(r.err.message, "it ends too early"));
    s->vt->close(s);
    rig_close(&r);
}

static void tail_follows(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    PUT(&r, "log", "{\"id\":1}\n{\"id\":2");
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "log*"), "source.mode", "tail", "source.monitor-interval", "0");
    wr_source *s = source_of(&r, &t);
    wr_sbuf    out = {0};
    assert_non_null(s);
    assert_false(s->vt->bounded(s));
    assert_int_equal(drain(&r, s, &out), WR_NEXT_WAIT);
    assert_string_equal(out.at, "log:1\n"); /* the torn line waits */
    APPEND(&r, "log", "2}\n{\"id\":3}\n");
    assert_int_equal(drain(&r, s, &out), WR_NEXT_WAIT);
    assert_string_equal(out.at, "log:1\nlog:22\nlog:3\n");
    wr_sbuf_clear(&out);
    APPEND(&r, "log", "{\"id\":4}\n"); /* then rotated: old bytes under the old inode, new file under the name */
    assert_int_equal(rename(in_dir(&r, "log"), in_dir(&r, "log.1")), 0);
    PUT(&r, "log", "{\"id\":5}\n");
    assert_int_equal(drain(&r, s, &out), WR_NEXT_WAIT);
    assert_string_equal(out.at, "log.1:4\nlog:5\n");
    assert_int_equal(s->vt->partitions(s), 2);
    wr_sbuf_clear(&out);
    PUT(&r, "log", "{\"id\":6}"); /* truncated and shorter than what was read: anew */
    APPEND(&r, "log", "\n");
    truncate(in_dir(&r, "log"), 0) == 0 ? (void)0 : fail();
    assert_int_equal(drain(&r, s, &out), WR_NEXT_WAIT);
    APPEND(&r, "log", "{\"id\":7}\n");
    assert_int_equal(drain(&r, s, &out), WR_NEXT_WAIT);
    assert_string_equal(out.at, "log:7\n");
    wr_sbuf_clear(&out);
    APPEND(&r, "log.1", "{\"id\":8}\n{\"id\":9}"); /* removed while we hold it: read to its end, the torn line too */
    assert_int_equal(unlink(in_dir(&r, "log.1")), 0);
    assert_int_equal(drain(&r, s, &out), WR_NEXT_WAIT);
    assert_string_equal(out.at, "log.1:8\nlog.1:9\n");
    assert_true(s->vt->partition_done(s, 0));
    assert_false(s->vt->partition_done(s, 1));
    s->vt->close(s);
    wr_sbuf_free(&out);
    rig_close(&r);
}

static void a_position_survives_rotation(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    PUT(&r, "log", "{\"id\":1}\n{\"id\":2}\n");
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "log"), "source.mode", "tail", "source.monitor-interval", "0");
    wr_source *s = source_of(&r, &t);
    wr_sbuf    out = {0}, saved = {0};
    drain(&r, s, &out);
    s->vt->save(s, &saved);
    s->vt->close(s);
    wr_sbuf_clear(&out);
    APPEND(&r, "log", "{\"id\":3}\n"); /* while nobody looks */
    assert_int_equal(rename(in_dir(&r, "log"), in_dir(&r, "old")), 0);
    PUT(&r, "log", "{\"id\":4}\n");
    s = source_of(&r, &t);
    wr_reader in = {(const uint8_t *)saved.at, (const uint8_t *)saved.at + saved.len, false};
    assert_int_equal(s->vt->load(s, &in, &r.err), WR_OK);
    assert_int_equal(drain(&r, s, &out), WR_NEXT_WAIT);
    assert_string_equal(out.at, "old:3\nlog:4\n");
    s->vt->close(s);
    wr_sbuf_free(&out);
    wr_sbuf_free(&saved);
    rig_close(&r);
}

static void over_long_lines_are_passed_over(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_sbuf text = {0};
    wr_sbuf_addz(&text, "{\"id\":1}\n");
    size_t at = text.len;
    for (int i = 0; i < 5 << 20; i++) wr_sbuf_addc(&text, 'x');
    wr_sbuf_addz(&text, "\n{\"id\":2}\n");
    put_file(&r, "a", "w", text.at, text.len);
    for (int end = 0; end < 2; end++) { /* in the middle, and as the last line without line break */
        wr_table_info t = TABLE(&r, "path", in_dir(&r, "a"), "max-record-bytes", "64 kb");
        expect_all(&r, &t, wr_arena_printf(r.arena, "a:1\na!over-long@%zu\n%s", at, end ? "" : "a:2\n"));
        truncate(in_dir(&r, "a"), (off_t)(at + (5 << 20))) == 0 ? (void)0 : fail();
    }
    wr_sbuf_free(&text);
    rig_close(&r);
}

static void metadata_and_csv(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    PUT(&r, "a.csv", "1,\"x\ny\"\n2,z\n");
    wr_field f[] = {FIELD("id", wr_type_of(WR_T_INT)), FIELD("s", wr_type_string()), FIELD("name", wr_type_string()), FIELD("size", wr_type_of(WR_T_BIGINT)), FIELD("at", wr_type_prec(WR_T_TIMESTAMP_LTZ, 3))};
    wr_str   keys[] = {WR_STR("file.name"), WR_STR("file.size"), WR_STR("file.modification-time")};
    wr_table_info t = table_of(&r, f, 5, "connector", "filesystem", "format", "csv", "path", in_dir(&r, "a.csv"), (char *)NULL);
    t.n_physical = 2;
    t.metadata_keys = keys;
    wr_source *s = source_of(&r, &t);
    wr_sbuf    out = {0};
    assert_non_null(s);
    assert_int_equal(drain(&r, s, &out), WR_NEXT_END);
    assert_non_null(strstr(out.at, "a.csv:1,x\ny,a.csv,12,20"));
    assert_non_null(strstr(out.at, "a.csv:2,z,a.csv,12,20"));
    s->vt->close(s);
    wr_sbuf_free(&out);
    keys[0] = WR_STR("file.nam");
    assert_null(source_of(&r, &t));
    assert_int_equal(r.diags.n_errors, 1);
    rig_close(&r);
}

static void kafka_lines_are_taken_once(void **state) { /* case redelivered-offsets, over a restart */
    (void)state;
    rig r;
    rig_open(&r);
    PUT(&r, "in.kafka.jsonl", "{\"partition\": 0, \"offset\": 0, \"key\": null, \"value\": \"{\\\"id\\\": 1}\"}\n{\"partition\": 0, \"offset\": 1, \"key\": null, \"value\": \"{\\\"id\\\": 2}\"}\n");
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "in.kafka.jsonl"), "source.mode", "tail", "source.monitor-interval", "0");
    wr_source *s = source_of(&r, &t);
    wr_sbuf    out = {0}, saved = {0};
    drain(&r, s, &out);
    s->vt->save(s, &saved);
    s->vt->close(s);
    APPEND(&r, "in.kafka.jsonl", "{\"partition\": 0, \"offset\": 1, \"key\": null, \"value\": \"{\\\"id\\\": 2}\"}\n{\"partition\": 0, \"offset\": 2, \"key\": null, \"value\": \"{\\\"id\\\": 3}\"}\n");
    s = source_of(&r, &t);
    wr_reader in = {(const uint8_t *)saved.at, (const uint8_t *)saved.at + saved.len, false};
    assert_int_equal(s->vt->load(s, &in, &r.err), WR_OK);
    drain(&r, s, &out);
    assert_string_equal(out.at, "in.kafka.jsonl:1\nin.kafka.jsonl:2\nin.kafka.jsonl:3\n");
    s->vt->close(s);
    wr_sbuf_free(&out);
    wr_sbuf_free(&saved);
    rig_close(&r);
}

static void held_partitions_wait_and_many_files_work(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    assert_int_equal(mkdir(in_dir(&r, "d"), 0755), 0);
    for (int i = 0; i < 200; i++) {
        char *name = wr_arena_printf(r.arena, "d/%03d.jsonl", i), *text = wr_arena_printf(r.arena, "{\"id\":%d}\n", i);
        PUT(&r, name, text);
    }
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "d"));
    wr_source *s = source_of(&r, &t);
    wr_chunk   chunk;
    wr_next    next;
    int64_t    retry;
    uint64_t   held[4] = {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)};
    assert_int_equal(s->vt->next(s, held, &chunk, &next, &retry, &r.err), WR_OK);
    assert_int_equal(next, WR_NEXT_WAIT);
    held[1] &= ~(UINT64_C(1) << 5);
    assert_int_equal(s->vt->next(s, held, &chunk, &next, &retry, &r.err), WR_OK);
    assert_int_equal(next, WR_NEXT_CHUNK);
    assert_int_equal(chunk.partition, 69);
    assert_true(chunk.first && chunk.last);
    wr_mem_unref(chunk.mem);
    wr_sbuf out = {0};
    assert_int_equal(drain(&r, s, &out), WR_NEXT_END);
    uint32_t lines = 0;
    for (size_t i = 0; i < out.len; i++) lines += out.at[i] == '\n';
    assert_int_equal(lines, 199);
    s->vt->close(s);
    wr_sbuf_free(&out);
    rig_close(&r);
}

static void random_bytes_are_bad_records(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_sbuf  text = {0};
    uint64_t x = 1;
    for (int i = 0; i < 1 << 18; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        wr_sbuf_add(&text, &x, 8);
    }
    put_file(&r, "noise", "w", text.at, text.len);
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "noise"));
    wr_source *s = source_of(&r, &t);
    wr_sbuf    out = {0};
    assert_int_equal(drain(&r, s, &out), WR_NEXT_END);
    assert_null(strstr(out.at, "noise:"));
    assert_non_null(strstr(out.at, "noise!"));
    s->vt->close(s);
    wr_sbuf_free(&out);
    wr_sbuf_free(&text);
    rig_close(&r);
}

/* Positions saved on the way: another source reads exactly the rows handed out until then, and says that it stands at the limit. */
static void up_to_saved_positions(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    PUT(&r, "a.jsonl", "{\"id\":1}\n{\"id\":2}\n");
    PUT(&r, "b.jsonl", "{\"id\":3}\n{\"id\":4}");
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "*.jsonl"), "source.mode", "tail");
    wr_source    *s = source_of(&r, &t);
    wr_sbuf       first = {0}, again = {0}, positions = {0};
    assert_int_equal(drain(&r, s, &first), WR_NEXT_WAIT);
    assert_string_equal(first.at, "a.jsonl:1\na.jsonl:2\nb.jsonl:3\n"); /* the torn last line waits */
    s->vt->save(s, &positions);
    assert_false(s->vt->at_limit(s));
    s->vt->close(s);
    APPEND(&r, "a.jsonl", "{\"id\":5}\n");
    APPEND(&r, "b.jsonl", "44}\n{\"id\":6}\n");
    PUT(&r, "c.jsonl", "{\"id\":7}\n");
    for (int tail = 0; tail < 2; tail++) {
        t = TABLE(&r, "path", in_dir(&r, "*.jsonl"), "source.mode", tail ? "tail" : "bounded");
        s = source_of(&r, &t);
        wr_reader in = {(const uint8_t *)positions.at, (const uint8_t *)positions.at + positions.len, false};
        assert_int_equal(s->vt->until(s, &in, &r.err), WR_OK);
        assert_false(s->vt->at_limit(s));
        wr_sbuf_clear(&again);
        assert_int_equal(drain(&r, s, &again), WR_NEXT_WAIT);
        assert_string_equal(again.at, first.at);
        assert_true(s->vt->at_limit(s));
        s->vt->close(s);
    }
    PUT(&r, "a.jsonl", "");
    t = TABLE(&r, "path", in_dir(&r, "*.jsonl"));
    s = source_of(&r, &t);
    wr_reader in = {(const uint8_t *)positions.at, (const uint8_t *)positions.at + positions.len, false};
    assert_int_equal(s->vt->until(s, &in, &r.err), WR_DATA);
    assert_non_null(strstr(r.err.message, "is shorter now"));
    s->vt->close(s);
    wr_sbuf_free(&first), wr_sbuf_free(&again), wr_sbuf_free(&positions);
    rig_close(&r);
}

/* Chunks whose bytes are read later, in any order: records are whole, positions are behind what was handed out, a file may be cut or go away meanwhile. */
static void bytes_are_read_later(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    wr_sbuf text = {0}, out = {0}, saved = {0};
    for (int i = 0; i < 400; i++) wr_sbuf_printf(&text, "{\"id\":%d}\n", i);
    put_file(&r, "x.jsonl", "w", text.at, text.len);
    r.ctx.chunk_bytes = 500;
    wr_table_info t = TABLE(&r, "path", in_dir(&r, "x.jsonl"));
    wr_source *s = source_of(&r, &t);
    wr_chunk   at[4], chunk;
    wr_next    next;
    int64_t    retry;
    for (int i = 0; i < 4; i++) assert_int_equal(s->vt->next(s, NULL, &at[i], &next, &retry, &r.err), WR_OK);
    assert_non_null(at[0].data); /* the first one looks what kind of file it is */
    for (int i = 1; i < 4; i++) {
        assert_null(at[i].data);
        assert_int_equal(at[i].offset, at[i - 1].offset + at[i - 1].len);
        assert_true(at[i].len > 250 && at[i].len <= 500 && text.at[at[i].offset + at[i].len - 1] == '\n');
    }
    s->vt->save(s, &saved);
    assert_int_equal(unlink(in_dir(&r, "x.jsonl")), 0); /* its handle goes on */
    for (int i = 3; i > 0; i--) {
        assert_int_equal(wr_chunk_read(s, &at[i], &r.err), WR_OK);
        assert_memory_equal(at[i].data, text.at + at[i].offset, at[i].len);
        assert_int_equal(at[i].data[at[i].len], 0);
    }
    for (int i = 0; i < 4; i++) dump_chunk(s, &at[i], &out), wr_mem_unref(at[i].mem);
    s->vt->close(s);
    put_file(&r, "x.jsonl", "w", text.at, text.len);
    s = source_of(&r, &t);
    wr_reader in = {(const uint8_t *)saved.at, (const uint8_t *)saved.at + saved.len, false};
    assert_int_equal(s->vt->load(s, &in, &r.err), WR_OK);
    assert_int_equal(drain(&r, s, &out), WR_NEXT_END);
    expect_sequence(&out, 400);
    s->vt->close(s);
    s = source_of(&r, &t); /* closed by its source before it was read; and cut in between */
    for (int i = 0; i < 3; i++) {
        if (i) wr_mem_unref(chunk.mem);
        assert_int_equal(s->vt->next(s, NULL, &chunk, &next, &retry, &r.err), WR_OK);
        assert_int_equal(wr_chunk_read(s, &chunk, &r.err), WR_OK);
    }
    wr_mem_unref(chunk.mem);
    assert_int_equal(s->vt->next(s, NULL, &chunk, &next, &retry, &r.err), WR_OK);
    assert_int_equal(truncate(in_dir(&r, "x.jsonl"), (off_t)chunk.offset + 100), 0);
    assert_int_equal(wr_chunk_read(s, &chunk, &r.err), WR_OK);
    assert_true(chunk.len > 80 && chunk.len <= 100 && chunk.data[chunk.len - 1] == '\n');
    wr_mem_unref(chunk.mem);
    assert_int_equal(s->vt->next(s, NULL, &chunk, &next, &retry, &r.err), WR_OK);
    assert_true(chunk.last && !chunk.len);
    wr_mem_unref(chunk.mem);
    s->vt->close(s);
    wr_sbuf_free(&text);
    wr_sbuf_free(&out);
    wr_sbuf_free(&saved);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_globs_directories), cmocka_unit_test(missing_and_unreadable), cmocka_unit_test(chunks_and_positions), cmocka_unit_test(bytes_are_read_later), cmocka_unit_test(tail_follows),
        cmocka_unit_test(a_position_survives_rotation), cmocka_unit_test(over_long_lines_are_passed_over), cmocka_unit_test(metadata_and_csv),
        cmocka_unit_test(kafka_lines_are_taken_once), cmocka_unit_test(held_partitions_wait_and_many_files_work), cmocka_unit_test(random_bytes_are_bad_records), cmocka_unit_test(up_to_saved_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
