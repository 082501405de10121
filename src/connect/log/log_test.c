/* connect/log/log_test.c: the log by itself: what is written is read, tails torn at every byte, every damaged byte, epochs, keys, retention, compaction. */
#include "connect/log/writer.h"
#include "connect/testing.h"

/* The real world, but syncs cost nothing: there are thousands of them. */
static uint64_t  n_syncs;
static wr_status no_sync(wr_world *w, wr_file *f, wr_err *err) { return (void)w, (void)f, (void)err, n_syncs++, WR_OK; }
static wr_status no_sync_dir(wr_world *w, const char *path, wr_err *err) { return (void)w, (void)path, (void)err, WR_OK; }
static int64_t   ahead_us; /* of the wall clock */
static int64_t   wall_us(wr_world *w) { return (void)w, wr_wall_us(wr_world_posix()) + ahead_us; }
static void log_rig(rig *r) {
    static wr_world_vt vt;
    static wr_world    world = {.vt = &vt};
    rig_open(r);
    vt = *wr_world_posix()->vt;
    vt.file_sync = no_sync, vt.sync_dir = no_sync_dir, vt.wall_us = wall_us;
    ahead_us = 0;
    r->ctx.world = &world;
}

static wr_log *open_log(rig *r, const char *producer, const wr_log_config *config) {
    wr_log_config plain;
    wr_log_config_default(&plain);
    wr_log_opts opts = {.world = r->ctx.world, .acct = &r->acct, .path = in_dir(r, "log"), .create = config ? config : &plain, .idem_us = INT64_C(86400000000)};
    if (producer) opts.producer = wr_str_of(producer);
    wr_log *log;
    if (wr_log_open(&opts, &log, &r->err) != WR_OK) return NULL;
    return log;
}

static wr_log_record text_record(const char *key, const char *value) {
    return (wr_log_record){.time_ms = WR_LOG_NO_TIME, .key = wr_str_of(key), .value = wr_str_of(value)};
}

static void append(wr_log *log, uint32_t partition, const char *key, const char *value) {
    wr_log_appended done;
    wr_log_record   record = text_record(key, value);
    wr_err          err = {0};
    if (wr_log_append(log, partition, &record, 1, (wr_str){NULL, 0}, &done, &err) != WR_OK) fail_msg("%s", err.message);
}

static void submit(wr_log *log, const char *value) {
    wr_log_appended done;
    wr_log_record   record = text_record(NULL, value);
    wr_err          err = {0};
    if (wr_log_submit(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &err) != WR_OK) fail_msg("%s", err.message);
}

/* "offset:key=value " of all visible records of a partition from an offset on; on failure the error's code. */
static char *read_from(rig *r, uint32_t partition, int64_t offset) {
    wr_log_view *view;
    wr_sbuf      out = {0};
    if (wr_log_view_open(r->ctx.world, in_dir(r, "log"), &view, &r->err) != WR_OK) return wr_arena_printf(r->arena, "%s", r->err.code);
    wr_log_cursor *cursor = wr_log_cursor_new(view, partition, offset);
    wr_log_piece   piece;
    wr_log_batch   batch = {0};
    wr_status      status;
    while ((status = wr_log_cursor_peek(cursor, &piece, &r->err)) == WR_OK && piece.len) {
        wr_log_record rec;
        if (wr_log_batch_open(&batch, piece.bytes, piece.len) != WR_OK) {
            status = wr_log_damaged(in_dir(r, "log"), partition, piece.segment, piece.at, piece.base, &r->err);
            break;
        }
        while (wr_log_batch_next(&batch, &rec))
            if (rec.offset >= offset) wr_sbuf_printf(&out, "%d:%.*s=%.*s ", (int)rec.offset, rec.key.ptr ? (int)rec.key.len : 1, rec.key.ptr ? rec.key.ptr : "-", rec.value.ptr ? (int)rec.value.len : 1, rec.value.ptr ? rec.value.ptr : "-");
        assert_false(batch.bad);
        wr_log_cursor_take(cursor, &piece);
    }
    if (status != WR_OK) wr_sbuf_addz(&out, r->err.code);
    wr_log_batch_free(&batch);
    wr_log_cursor_free(cursor);
    wr_log_view_close(view);
    char *text = wr_arena_strndup(r->arena, out.at ? out.at : "", out.len);
    wr_sbuf_free(&out);
    return text;
}

static void written_is_read(void **state) {
    (void)state;
    rig           r;
    wr_log_config config;
    log_rig(&r);
    wr_log_config_default(&config);
    config.partitions = 2, config.zstd = true;
    wr_log *log = open_log(&r, NULL, &config);
    assert_non_null(log);
    wr_sbuf headers = {0};
    wr_log_header_put(&headers, WR_STR("trace"), WR_STR("abc"));
    wr_log_header_put(&headers, WR_STR("none"), (wr_str){NULL, 0});
    char big[5000];
    memset(big, 'x', sizeof big);
    wr_log_record records[] = {{.time_ms = 1000, .key = WR_STR("k"), .value = {big, sizeof big}, .n_headers = 2, .headers = wr_sbuf_str(&headers)}, {.time_ms = -5, .value = WR_STR("")}, {.time_ms = 3000, .key = WR_STR("gone")}};
    wr_log_appended done;
    assert_int_equal(wr_log_append(log, 1, records, 3, (wr_str){NULL, 0}, &done, &r.err), WR_OK);
    assert_int_equal(done.offset, 0);
    assert_null(open_log(&r, NULL, NULL)); /* one writer */
    assert_string_equal(r.err.code, "WR372");
    wr_log_view *view;
    assert_int_equal(wr_log_view_open(r.ctx.world, in_dir(&r, "log"), &view, &r.err), WR_OK);
    assert_int_equal(wr_log_view_end(view, 0), 0);
    assert_int_equal(wr_log_view_end(view, 1), 3);
    wr_log_cursor *cursor = wr_log_cursor_new(view, 1, 0);
    wr_log_piece   piece;
    wr_log_batch   batch = {0};
    wr_log_record  rec;
    assert_int_equal(wr_log_cursor_peek(cursor, &piece, &r.err), WR_OK);
    assert_true(piece.len < sizeof big); /* compressed */
    assert_int_equal(wr_log_batch_open(&batch, piece.bytes, piece.len), WR_OK);
    assert_true(wr_log_batch_next(&batch, &rec));
    assert_int_equal(rec.time_ms, 1000);
    assert_int_equal(rec.n_headers, 2);
    assert_int_equal(rec.value.len, sizeof big);
    wr_str name, value, list = rec.headers;
    assert_true(wr_log_header_next(&list, &name, &value) && wr_str_eq(name, WR_STR("trace")) && wr_str_eq(value, WR_STR("abc")));
    assert_true(wr_log_header_next(&list, &name, &value) && wr_str_eq(name, WR_STR("none")) && !value.ptr);
    assert_false(wr_log_header_next(&list, &name, &value));
    assert_true(wr_log_batch_next(&batch, &rec) && !rec.key.ptr && rec.value.ptr && !rec.value.len && rec.time_ms == -5);
    assert_true(wr_log_batch_next(&batch, &rec) && rec.key.len == 4 && !rec.value.ptr && rec.offset == 2);
    assert_false(wr_log_batch_next(&batch, &rec));
    wr_log_cursor_take(cursor, &piece);
    assert_int_equal(wr_log_cursor_peek(cursor, &piece, &r.err), WR_OK);
    assert_int_equal(piece.len, 0);
    append(log, 1, "k", "later"); /* readers see it while it is open */
    assert_int_equal(wr_log_view_refresh(view, &r.err), WR_OK);
    assert_int_equal(wr_log_cursor_peek(cursor, &piece, &r.err), WR_OK);
    assert_int_equal(piece.base, 3);
    int64_t offset;
    assert_int_equal(wr_log_view_time(view, 1, 2000, &offset, &r.err), WR_OK);
    assert_int_equal(offset, 2);
    wr_log_batch_free(&batch);
    wr_log_cursor_free(cursor);
    wr_log_view_close(view);
    wr_log_close(log);
    log = open_log(&r, NULL, NULL);
    append(log, 1, NULL, "more");
    assert_string_equal(read_from(&r, 1, 3), "3:k=later 4:-=more ");
    wr_log_close(log);
    wr_sbuf_free(&headers);
    rig_close(&r);
}

#define SEGMENT "log/0/00000000000000000000.log"
static size_t file_size(rig *r, const char *name) {
    wr_file_info info;
    bool         exists;
    assert_int_equal(r->ctx.world->vt->stat(r->ctx.world, in_dir(r, name), &info, &exists, &r->err), WR_OK);
    return exists ? (size_t)info.size_bytes : 0;
}
static wr_sbuf slurp(rig *r, const char *name) {
    wr_sbuf out = {0};
    assert_int_equal(wr_file_read_all(r->ctx.world, in_dir(r, name), 1 << 26, &out, &r->err), WR_OK);
    return out;
}

/* A crash before the commit record got to the disk, with the segment torn at every byte: readers see the committed record, a writer finds the whole ones. */
static void torn_tails(void **state) {
    (void)state;
    rig r;
    log_rig(&r);
    wr_log *log = open_log(&r, NULL, NULL);
    append(log, 0, "a", "one");
    wr_sbuf commits = slurp(&r, "log/commits");
    size_t  first = file_size(&r, SEGMENT);
    append(log, 0, "b", "two");
    size_t second = file_size(&r, SEGMENT);
    append(log, 0, "c", "three");
    wr_log_close(log);
    wr_sbuf whole = slurp(&r, SEGMENT);
    for (size_t n = first; n <= whole.len; n++) {
        for (int garbage = 0; garbage < 2; garbage++) { /* the rest is missing, or zeros */
            put_file(&r, "log/commits", "w", commits.at, commits.len);
            put_file(&r, SEGMENT, "w", whole.at, n);
            if (garbage && n < whole.len) {
                char zeros[200] = {0};
                put_file(&r, SEGMENT, "a", zeros, WR_MIN(whole.len - n, sizeof zeros));
            }
            assert_string_equal(read_from(&r, 0, 0), "0:a=one ");
            assert_string_equal(read_from(&r, 0, 2), n >= second ? "" : "WR373"); /* a reader that had seen it waits for the writer */
            log = open_log(&r, NULL, NULL);
            if (!log) fail_msg("at %zu: %s", n, r.err.message);
            const char *want = n >= whole.len ? "0:a=one 1:b=two 2:c=three " : n >= second ? "0:a=one 1:b=two " : "0:a=one ";
            assert_string_equal(read_from(&r, 0, 0), want);
            append(log, 0, "d", "next");
            wr_log_close(log);
            assert_string_equal(read_from(&r, 0, 0), wr_arena_printf(r.arena, "%s%d:d=next ", want, n >= whole.len ? 3 : n >= second ? 2 : 1));
        }
    }
    wr_sbuf_free(&whole);
    wr_sbuf_free(&commits);
    rig_close(&r);
}

/* Any byte of what is committed: the error names the file; nothing wrong is read, nothing is cut. */
static void damaged_bytes(void **state) {
    (void)state;
    rig r;
    log_rig(&r);
    wr_log *log = open_log(&r, NULL, NULL);
    append(log, 0, "a", "one");
    append(log, 0, "b", "two");
    append(log, 0, "c", "three");
    wr_log_close(log);
    wr_sbuf whole = slurp(&r, SEGMENT);
    for (size_t i = 0; i < whole.len; i++) {
        whole.at[i] ^= 0x41;
        put_file(&r, SEGMENT, "w", whole.at, whole.len);
        const char *got = read_from(&r, 0, 0);
        assert_non_null(strstr(got, "WR371"));
        assert_non_null(strstr(r.err.message, SEGMENT));
        assert_null(open_log(&r, NULL, NULL));
        assert_string_equal(r.err.code, "WR371");
        assert_non_null(strstr(r.err.message, SEGMENT));
        assert_int_equal(file_size(&r, SEGMENT), whole.len);
        whole.at[i] ^= 0x41;
    }
    put_file(&r, SEGMENT, "w", whole.at, whole.len - 1); /* shorter than what is committed */
    assert_null(open_log(&r, NULL, NULL));
    assert_string_equal(r.err.code, "WR371");
    put_file(&r, SEGMENT, "w", whole.at, whole.len);
    assert_string_equal(read_from(&r, 0, 0), "0:a=one 1:b=two 2:c=three ");
    wr_sbuf_free(&whole);
    rig_close(&r);
}

/* `commits` torn at every byte, and damaged at every byte that had been synced. */
static void damaged_commits(void **state) {
    (void)state;
    rig r;
    log_rig(&r);
    wr_log *log = open_log(&r, "job", NULL);
    wr_sbuf staged = {0};
    for (uint64_t e = 1; e <= 2; e++) {
        submit(log, "row");
        wr_sbuf_clear(&staged);
        assert_int_equal(wr_log_prepare(log, e, &staged, &r.err), WR_OK);
        assert_int_equal(wr_log_commit(log, e, wr_sbuf_str(&staged), &r.err), WR_OK);
    }
    wr_sbuf whole = slurp(&r, "log/commits");
    submit(log, "last");
    assert_int_equal(wr_log_publish(log, &r.err), WR_OK);
    wr_log_close(log);
    wr_sbuf more = slurp(&r, "log/commits");
    for (size_t i = 0; i < whole.len; i++) {
        more.at[i] ^= 0x21;
        put_file(&r, "log/commits", "w", more.at, more.len);
        assert_null(open_log(&r, NULL, NULL));
        assert_string_equal(r.err.code, "WR371");
        assert_non_null(strstr(r.err.message, "log/commits"));
        more.at[i] ^= 0x21;
    }
    wr_sbuf segment = slurp(&r, SEGMENT);
    for (size_t n = whole.len; n <= more.len; n++) { /* the last record is torn: a row of no epoch that was committed goes */
        put_file(&r, "log/commits", "w", more.at, n);
        put_file(&r, SEGMENT, "w", segment.at, segment.len);
        log = open_log(&r, NULL, NULL);
        assert_non_null(log);
        wr_log_close(log);
        assert_string_equal(read_from(&r, 0, 0), n < more.len ? "0:-=row 1:-=row " : "0:-=row 1:-=row 2:-=last ");
    }
    wr_sbuf_free(&staged);
    wr_sbuf_free(&whole);
    wr_sbuf_free(&segment);
    wr_sbuf_free(&more);
    rig_close(&r);
}

static void epochs(void **state) {
    (void)state;
    rig r;
    log_rig(&r);
    wr_sbuf staged[4] = {{0}};
    wr_log *log = open_log(&r, "job", NULL);
    submit(log, "a");
    assert_int_equal(wr_log_flush(log, &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 0), "");
    assert_int_equal(wr_log_prepare(log, 1, &staged[1], &r.err), WR_OK);
    submit(log, "b"); /* of the next epoch */
    assert_int_equal(wr_log_flush(log, &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 0), "");
    assert_int_equal(wr_log_commit(log, 1, wr_sbuf_str(&staged[1]), &r.err), WR_OK);
    assert_int_equal(wr_log_commit(log, 1, wr_sbuf_str(&staged[1]), &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 0), "0:-=a ");
    wr_log_close(log); /* crash: b is lost and will be written again */
    log = open_log(&r, "job", NULL);
    assert_int_equal(wr_log_recover(log, 1, wr_sbuf_str(&staged[1]), &r.err), WR_OK);
    submit(log, "b");
    assert_int_equal(wr_log_prepare(log, 2, &staged[2], &r.err), WR_OK);
    submit(log, "x");
    assert_int_equal(wr_log_flush(log, &r.err), WR_OK);
    wr_log_close(log); /* crash between the halves */
    assert_null(open_log(&r, NULL, NULL));
    assert_string_equal(r.err.code, "WR374");
    assert_null(open_log(&r, "other", NULL));
    assert_string_equal(r.err.code, "WR374");
    log = open_log(&r, "job", NULL);
    assert_int_equal(wr_log_recover(log, 2, wr_sbuf_str(&staged[2]), &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 0), "0:-=a 1:-=b ");
    submit(log, "c");
    assert_int_equal(wr_log_prepare(log, 3, &staged[3], &r.err), WR_OK);
    wr_log_close(log); /* the checkpoint was not finished: back to 2 */
    log = open_log(&r, "job", NULL);
    assert_int_equal(wr_log_recover(log, 2, wr_sbuf_str(&staged[2]), &r.err), WR_OK);
    submit(log, "C");
    assert_int_equal(wr_log_prepare(log, 3, &staged[0], &r.err), WR_OK);
    wr_log_close(log);
    uint64_t n;
    assert_int_equal(wr_log_drop(r.ctx.world, in_dir(&r, "log"), &n, &r.err), WR_OK);
    assert_int_equal(n, 1);
    log = open_log(&r, NULL, NULL); /* others may write now */
    append(log, 0, NULL, "plain");
    wr_log_close(log);
    log = open_log(&r, "job", NULL); /* and the job is told */
    assert_int_equal(wr_log_recover(log, 3, wr_sbuf_str(&staged[0]), &r.err), WR_DATA);
    assert_string_equal(r.err.code, "WR374");
    wr_log_close(log);
    assert_string_equal(read_from(&r, 0, 0), "0:-=a 1:-=b 2:-=plain ");
    for (int i = 0; i < 4; i++) wr_sbuf_free(&staged[i]);
    rig_close(&r);
}

/* A job that went back to an older checkpoint has numbers of epochs once more that the log has seen: what it prepares under them is not taken for that. */
static void epochs_once_more(void **state) {
    (void)state;
    rig r;
    log_rig(&r);
    wr_sbuf staged[4] = {{0}}, again = {0};
    wr_log *log = open_log(&r, "job", NULL);
    for (uint64_t e = 1; e <= 3; e++) {
        submit(log, "row");
        assert_int_equal(wr_log_prepare(log, e, &staged[e], &r.err), WR_OK);
        assert_int_equal(wr_log_commit(log, e, wr_sbuf_str(&staged[e]), &r.err), WR_OK);
    }
    wr_log_close(log);
    log = open_log(&r, "job", NULL);
    assert_int_equal(wr_log_recover(log, 1, wr_sbuf_str(&staged[1]), &r.err), WR_OK);
    submit(log, "again");
    assert_int_equal(wr_log_prepare(log, 2, &again, &r.err), WR_OK);
    wr_log_close(log); /* crash between the halves */
    for (int i = 0; i < 2; i++) {
        log = open_log(&r, "job", NULL);
        assert_int_equal(wr_log_recover(log, 2, wr_sbuf_str(&again), &r.err), WR_OK);
        wr_log_close(log);
        assert_string_equal(read_from(&r, 0, 0), "0:-=row 1:-=row 2:-=row 3:-=again ");
    }
    for (int i = 0; i < 4; i++) wr_sbuf_free(&staged[i]);
    wr_sbuf_free(&again);
    rig_close(&r);
}

static void keys_once(void **state) {
    (void)state;
    rig             r;
    wr_log_appended done;
    log_rig(&r);
    wr_log       *log = open_log(&r, NULL, NULL);
    wr_log_record records[] = {text_record("k", "1"), text_record("k", "2")};
    assert_int_equal(wr_log_submit(log, 0, records, 2, WR_STR("req-1"), &done, &r.err), WR_OK);
    assert_false(done.duplicate);
    assert_int_equal(wr_log_submit(log, 0, records, 2, WR_STR("req-1"), &done, &r.err), WR_OK); /* not on disk yet */
    assert_true(done.duplicate && done.offset == 0 && done.n == 2 && done.ticket == 1);
    assert_int_equal(wr_log_sync(log, done.ticket, &r.err), WR_OK);
    uint64_t before = n_syncs;
    assert_int_equal(wr_log_sync(log, done.ticket, &r.err), WR_OK);
    assert_int_equal(n_syncs, before);
    for (int i = 0; i < 3; i++) assert_int_equal(wr_log_submit(log, 0, records, 1, (wr_str){NULL, 0}, &done, &r.err), WR_OK);
    assert_int_equal(wr_log_sync(log, done.ticket, &r.err), WR_OK);
    assert_int_equal(n_syncs, before + 1); /* one for all of them */
    assert_int_equal(wr_log_append(log, 0, records, 1, WR_STR("req-2"), &done, &r.err), WR_OK);
    assert_int_equal(done.offset, 5);
    wr_log_close(log);
    log = open_log(&r, NULL, NULL);
    assert_int_equal(wr_log_append(log, 0, records, 1, WR_STR("req-2"), &done, &r.err), WR_OK);
    assert_true(done.duplicate && done.offset == 5 && done.n == 1);
    assert_int_equal(wr_log_append(log, 0, records, 1, WR_STR("req-3"), &done, &r.err), WR_OK);
    assert_true(!done.duplicate && done.offset == 6);
    wr_log_usage usage;
    wr_log_usage_of(log, &usage);
    assert_int_equal(usage.n_idem, 3);
    wr_log_close(log);
    assert_string_equal(read_from(&r, 0, 0), "0:k=1 1:k=2 2:k=1 3:k=1 4:k=1 5:k=1 6:k=1 ");
    wr_log_opts opts = {.world = r.ctx.world, .acct = &r.acct, .path = in_dir(&r, "log"), .idem_us = INT64_C(86400000000), .idem_bytes = 1000}; /* bounded: the oldest go */
    assert_int_equal(wr_log_open(&opts, &log, &r.err), WR_OK);
    for (int i = 0; i < 5000; i++) {
        char key[40];
        snprintf(key, sizeof key, "many-%d", i);
        assert_int_equal(wr_log_submit(log, 0, records, 1, wr_str_of(key), &done, &r.err), WR_OK);
        wr_log_usage_of(log, &usage);
        assert_true(usage.n_idem < 20);
    }
    assert_int_equal(wr_log_sync(log, UINT64_MAX, &r.err), WR_OK);
    wr_log_close(log);
    rig_close(&r);
}

static void bounds(void **state) {
    (void)state;
    rig             r;
    wr_log         *log;
    wr_log_appended done;
    wr_log_config   config;
    log_rig(&r);
    wr_log_config_default(&config);
    config.segment_bytes = 4096;
    wr_log_opts opts = {.world = r.ctx.world, .acct = &r.acct, .path = in_dir(&r, "log"), .create = &config, .max_bytes = 20000, .buffer_bytes = 2000};
    assert_int_equal(wr_log_open(&opts, &log, &r.err), WR_OK);
    char          big[900];
    memset(big, 'y', sizeof big);
    wr_log_record record = {.time_ms = 0, .value = {big, sizeof big}};
    assert_int_equal(wr_log_submit(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err), WR_OK);
    assert_int_equal(wr_log_submit(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err), WR_OK);
    assert_int_equal(wr_log_submit(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err), WR_LIMIT);
    assert_true(r.err.retriable);
    int n = 2;
    while (wr_log_append(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err) == WR_OK) n++;
    assert_non_null(strstr(r.err.message, "is full"));
    assert_in_range(n, 18, 22);
    assert_int_equal(wr_log_trim(log, 0, n, &r.err), WR_OK); /* its reader has done with it */
    assert_int_equal(wr_log_append(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err), WR_OK);
    assert_int_equal(done.offset, n);
    assert_string_equal(read_from(&r, 0, 0), "WR373");
    wr_log_close(log);
    rig_close(&r);
}

static void retention(void **state) {
    (void)state;
    rig           r;
    wr_log_config config;
    char          value[64];
    log_rig(&r);
    wr_log_config_default(&config);
    config.segment_bytes = 4096, config.retention_bytes = 12000;
    wr_log *log = open_log(&r, NULL, &config);
    for (int i = 0; i < 300; i++) {
        snprintf(value, sizeof value, "value %d", i);
        append(log, 0, "k", value);
    }
    wr_log_cleaned cleaned;
    assert_int_equal(wr_log_clean(log, false, &cleaned, &r.err), WR_OK);
    assert_true(cleaned.segments > 3);
    wr_log_view *view;
    wr_log_stat  stat;
    assert_int_equal(wr_log_view_open(r.ctx.world, in_dir(&r, "log"), &view, &r.err), WR_OK);
    assert_int_equal(wr_log_view_stat(view, 0, &stat, &r.err), WR_OK);
    assert_true(stat.bytes <= 12000 && stat.bytes > 6000 && stat.end == 300 && stat.start > 100);
    assert_true(stat.first_append_us > 0 && stat.first_append_us <= stat.last_append_us);
    assert_string_equal(read_from(&r, 0, stat.start - 1), "WR373");
    assert_string_equal(read_from(&r, 0, 301), "WR373");
    assert_string_equal(read_from(&r, 0, 299), "299:k=value 299 ");
    /* An index that is lost or lies costs nothing but time. */
    for (int64_t at = stat.start; at < 300; at += 7) {
        snprintf(value, sizeof value, "%d:k=value %d ", (int)at, (int)at);
        assert_true(!strncmp(read_from(&r, 0, at), value, strlen(value)));
    }
    wr_log_view_close(view);
    wr_log_close(log);
    rig_close(&r);
}

/* Random keys and deletions against an array: the last value of each key, in offset order, whatever was compacted when. */
static void compaction(void **state) {
    (void)state;
    enum { KEYS = 40 };
    rig           r;
    wr_log_config config;
    wr_rng        rng;
    wr_log_record   record;
    wr_log_appended done;
    int           last[KEYS], at[KEYS];
    log_rig(&r);
    wr_rng_seed(&rng, 7);
    wr_log_config_default(&config);
    config.segment_bytes = 4096, config.cleanup = WR_LOG_COMPACT, config.tombstone_us = 0;
    wr_log *log = open_log(&r, NULL, &config);
    for (int i = 0; i < KEYS; i++) last[i] = -1, at[i] = -1;
    for (int i = 0; i < 3000; i++) {
        char key[20], value[20];
        int  k = (int)wr_rng_below(&rng, KEYS), gone = wr_rng_below(&rng, 8) == 0;
        snprintf(key, sizeof key, "key-%d", k), snprintf(value, sizeof value, "%d", i);
        record = text_record(key, gone ? NULL : value);
        assert_int_equal(wr_log_submit(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err), WR_OK);
        if (i % 20 == 0 || i == 1700 || i % 500 == 499) assert_int_equal(wr_log_sync(log, done.ticket, &r.err), WR_OK);
        last[k] = gone ? -1 : i, at[k] = i;
        if (i % 500 == 499) assert_int_equal(wr_log_clean(log, i % 1000 == 999, NULL, &r.err), WR_OK);
        if (i == 1700) {
            wr_log_close(log);
            log = open_log(&r, NULL, NULL);
        }
    }
    record = text_record(NULL, "v");
    assert_int_equal(wr_log_append(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err), WR_DATA);
    r.ctx.world->vt->sleep_us(r.ctx.world, 2000); /* so that tombstones are older than 0 */
    assert_int_equal(wr_log_clean(log, true, NULL, &r.err), WR_OK);
    const char *got = read_from(&r, 0, 0);
    wr_sbuf     want = {0};
    for (int i = 0; i < 3000; i++)
        for (int k = 0; k < KEYS; k++)
            if (at[k] == i && last[k] >= 0) wr_sbuf_printf(&want, "%d:key-%d=%d ", i, k, last[k]);
    assert_string_equal(got, want.at);
    assert_true(file_size(&r, SEGMENT) < 4096);
    wr_sbuf_free(&want);
    append(log, 0, "key-1", "new");
    assert_string_equal(read_from(&r, 0, 3000), "3000:key-1=new ");
    wr_log_close(log);
    rig_close(&r);
}

#define HOUR INT64_C(3600000000)
/* By the time of the append, not of the record; a segment that is being written goes too when all of it is old; tombstones and keys have their time. */
static void times_run_out(void **state) {
    (void)state;
    rig             r;
    wr_log_config   config;
    wr_log_appended done;
    wr_log_record   records[] = {{.time_ms = 0, .key = WR_STR("a"), .value = WR_STR("1")}, {.time_ms = INT64_C(99999999999999), .key = WR_STR("a")}};
    log_rig(&r);
    wr_log_config_default(&config);
    config.retention_us = 10 * HOUR, config.tombstone_us = HOUR, config.cleanup = WR_LOG_DELETE | WR_LOG_COMPACT, config.segment_bytes = 4096;
    wr_log *log = open_log(&r, NULL, &config);
    assert_int_equal(wr_log_append(log, 0, records, 2, WR_STR("once"), &done, &r.err), WR_OK);
    assert_int_equal(wr_log_clean(log, true, NULL, &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 0), "1:a=- "); /* the deletion is still told */
    ahead_us = 2 * HOUR;
    append(log, 0, "b", "2");
    assert_int_equal(wr_log_clean(log, true, NULL, &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 0), "2:b=2 ");
    wr_log_close(log);
    log = open_log(&r, NULL, NULL); /* the key outlived its records and the compaction */
    assert_int_equal(wr_log_submit(log, 0, records, 2, WR_STR("once"), &done, &r.err), WR_OK);
    assert_true(done.duplicate && done.offset == 0);
    ahead_us = 11 * HOUR;
    assert_int_equal(wr_log_clean(log, false, NULL, &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 2), "2:b=2 "); /* 9 hours old */
    ahead_us = 13 * HOUR;
    assert_int_equal(wr_log_clean(log, false, NULL, &r.err), WR_OK);
    assert_string_equal(read_from(&r, 0, 2), "WR373");
    assert_string_equal(read_from(&r, 0, 3), "");
    append(log, 0, "c", "3");
    assert_string_equal(read_from(&r, 0, 3), "3:c=3 ");
    ahead_us = 25 * HOUR;
    assert_int_equal(wr_log_submit(log, 0, records, 1, WR_STR("once"), &done, &r.err), WR_OK); /* remembered for a day */
    assert_false(done.duplicate);
    wr_log_close(log);
    rig_close(&r);
}

/* Times in no order over many segments: the first record that is not older, against a look at all of them; with indexes, and after they are lost or of another segment. */
static void times_are_found(void **state) {
    (void)state;
    enum { N = 900 };
    rig             r;
    wr_log_config   config;
    wr_rng          rng;
    wr_log_appended done;
    int64_t         times[N];
    log_rig(&r);
    wr_rng_seed(&rng, 3);
    wr_log_config_default(&config);
    config.segment_bytes = 200 * 1024;
    wr_log *log = open_log(&r, NULL, &config);
    char    big[1500];
    memset(big, 'z', sizeof big);
    for (int i = 0; i < N; i++) {
        times[i] = i * 100 - (int64_t)wr_rng_below(&rng, 20000);
        wr_log_record record = {.time_ms = times[i], .value = {big, 1 + wr_rng_below(&rng, sizeof big - 1)}};
        assert_int_equal(wr_log_submit(log, 0, &record, 1, (wr_str){NULL, 0}, &done, &r.err), WR_OK);
        if (wr_rng_below(&rng, 4) == 0) assert_int_equal(wr_log_sync(log, done.ticket, &r.err), WR_OK);
    }
    assert_int_equal(wr_log_sync(log, UINT64_MAX, &r.err), WR_OK);
    wr_log_close(log);
    wr_log_view *view;
    assert_int_equal(wr_log_view_open(r.ctx.world, in_dir(&r, "log"), &view, &r.err), WR_OK);
    wr_log_stat stat;
    assert_int_equal(wr_log_view_stat(view, 0, &stat, &r.err), WR_OK);
    assert_true(stat.segments >= 3);
    for (int indexes = 0; indexes < 3; indexes++) {
        for (int64_t ms = -21000; ms < N * 100 + 200; ms += 531) {
            int64_t want = 0, got;
            while (want < N && times[want] < ms) want++;
            assert_int_equal(wr_log_view_time(view, 0, ms, &got, &r.err), WR_OK);
            assert_int_equal(got, want);
        }
        char command[300];
        const char *what = indexes ? "rm -f %s/log/0/*.idx" : "cd %s/log/0; set -- *.idx; last=; for f; do last=$f; done; for f; do [ $f = $last ] || cp $last $f; done";
        snprintf(command, sizeof command, what, r.dir);
        assert_int_equal(system(command), 0);
    }
    wr_log_view_close(view);
    rig_close(&r);
}

typedef struct appender { wr_log *log; wr_world *world; int from, n; void *thread; } appender;
static void append_many(void *arg) {
    appender *a = arg;
    for (int i = 0; i < a->n; i++) {
        char value[20];
        snprintf(value, sizeof value, "%d", a->from + i);
        append(a->log, 0, NULL, value);
    }
}

/* Many threads at once: each acknowledged append is there once; many share a sync. */
static void group_commit(void **state) {
    (void)state;
    enum { THREADS = 8, EACH = 20 };
    rig      r;
    appender a[THREADS];
    bool     seen[THREADS * EACH] = {false};
    rig_open(&r);
    wr_log *log = open_log(&r, NULL, NULL);
    for (int i = 0; i < THREADS; i++) {
        a[i] = (appender){log, r.ctx.world, i * EACH, EACH, NULL};
        assert_int_equal(r.ctx.world->vt->spawn(r.ctx.world, "append", append_many, &a[i], &a[i].thread, &r.err), WR_OK);
    }
    for (int i = 0; i < THREADS; i++) r.ctx.world->vt->join(r.ctx.world, a[i].thread);
    wr_log_close(log);
    int   n = 0;
    char *at = read_from(&r, 0, 0);
    for (char *item; (item = strsep(&at, " ")) && *item; n++) {
        int offset, value;
        assert_int_equal(sscanf(item, "%d:-=%d", &offset, &value), 2);
        assert_int_equal(offset, n);
        assert_false(seen[value]);
        seen[value] = true;
    }
    assert_int_equal(n, THREADS * EACH);
    rig_close(&r);
}

/* `commits` is replaced when it has grown; a reader that has the old one open follows. */
static void commits_roll(void **state) {
    (void)state;
    rig r;
    log_rig(&r);
    wr_log *log = open_log(&r, NULL, NULL);
    append(log, 0, NULL, "first");
    wr_log_view *view;
    assert_int_equal(wr_log_view_open(r.ctx.world, in_dir(&r, "log"), &view, &r.err), WR_OK);
    int64_t ends[1] = {1};
    for (int i = 0; i < 30000; i++) {
        log_producer by = {.epoch = (uint64_t)i};
        snprintf(by.name, sizeof by.name, "job-%d", i % 400);
        assert_int_equal(log_note(log, REC_COMMIT, &by, ends, false, &r.err), WR_OK);
    }
    assert_true(file_size(&r, "log/commits") < COMMITS_MAX_BYTES + 1000);
    assert_int_equal(log->state->n_producers, PRODUCERS_MAX);
    append(log, 0, NULL, "last");
    assert_int_equal(wr_log_view_refresh(view, &r.err), WR_OK);
    assert_int_equal(wr_log_view_refresh(view, &r.err), WR_OK);
    assert_int_equal(wr_log_view_end(view, 0), 2);
    wr_log_view_close(view);
    wr_log_close(log);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_is_read), cmocka_unit_test(torn_tails), cmocka_unit_test(damaged_bytes), cmocka_unit_test(damaged_commits), cmocka_unit_test(epochs), cmocka_unit_test(epochs_once_more),
        cmocka_unit_test(keys_once), cmocka_unit_test(bounds), cmocka_unit_test(retention), cmocka_unit_test(compaction), cmocka_unit_test(times_run_out), cmocka_unit_test(times_are_found), cmocka_unit_test(group_commit), cmocka_unit_test(commits_roll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
