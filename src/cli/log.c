/* cli/log.c: `weir log create|append|cat|tail|stat|compact|drop`: the embedded log from the command line (connect/log/log.h).
 *
 * append     each line of the standard input is a record. What one read gives is appended together and synced once, so a slow writer's lines are durable at once and a
 *            fast one's by the thousands; with --json each sync is said.
 * cat, tail  records as lines: the value, or with --json an object with everything; in the order of each partition.
 * Memory     one read of the input and the lines it completes; one batch when reading.                                                  */
#include "cli.h"
#include "connect/log/log.h"
#include "type/datetime.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct log_args {
    const char   *path;
    wr_log_config config;
    uint32_t      partition;   /* UINT32_MAX: all, or by key */
    const char   *from, *separator, *idem;
    uint64_t      n;           /* records; 0: all */
    bool          json, keys, follow;
} log_args;

static int log_fail(const wr_err *err, bool json) {
    print_err(err, json);
    return exit_code_of(err->status);
}

static void put_size(wr_sbuf *out, uint64_t bytes) { wr_text_size((int64_t)bytes, out); }

static void put_time(wr_sbuf *out, int64_t us) {
    if (!us) {
        wr_sbuf_addz(out, "-");
        return;
    }
    char    text[40];
    wr_type type = wr_type_of(WR_T_TIMESTAMP);
    type.prec = 3;
    wr_sbuf_add(out, text, wr_text_timestamp(us, type, ' ', text));
    wr_sbuf_addc(out, 'Z');
}

/* ---- create, compact, drop ---- */

static int log_create(const log_args *a) {
    wr_err err = {0};
    if (wr_log_create(wr_world_posix(), a->path, &a->config, &err) != WR_OK) return log_fail(&err, a->json);
    if (a->json) printf("{\"path\":\"%s\",\"partitions\":%u}\n", a->path, a->config.partitions);
    else printf("log '%s' with %u partition%s\n", a->path, a->config.partitions, a->config.partitions == 1 ? "" : "s");
    return finish_stdout(CLI_OK);
}

static int log_compact(const log_args *a) {
    wr_err         err = {0};
    wr_log        *log;
    wr_log_cleaned sums = {0};
    wr_log_opts    opts = {.world = wr_world_posix(), .path = a->path};
    if (wr_log_open(&opts, &log, &err) != WR_OK) return log_fail(&err, a->json);
    wr_status status = wr_log_clean(log, true, &sums, &err);
    wr_log_close(log);
    if (status != WR_OK) return log_fail(&err, a->json);
    if (a->json) printf("{\"segments\":%" PRIu64 ",\"records\":%" PRIu64 ",\"tombstones\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n", sums.segments, sums.records, sums.tombstones, sums.bytes);
    else printf("%" PRIu64 " segments written anew or removed: %" PRIu64 " records and %" PRIu64 " tombstones less, %" PRIu64 " bytes\n", sums.segments, sums.records, sums.tombstones, sums.bytes);
    return finish_stdout(CLI_OK);
}

static int log_drop(const log_args *a) {
    wr_err   err = {0};
    uint64_t n;
    if (wr_log_drop(wr_world_posix(), a->path, &n, &err) != WR_OK) return log_fail(&err, a->json);
    if (a->json) printf("{\"dropped\":%" PRIu64 "}\n", n);
    else printf("%" PRIu64 " records that were in doubt are dropped\n", n);
    return finish_stdout(CLI_OK);
}

/* ---- append ---- */

typedef struct appending {
    const log_args *args;
    wr_log         *log;
    wr_sbuf         input;   /* read, not yet appended */
    uint64_t        n_lines, n_known; /* known: by their idempotency keys */
    wr_log_appended last;
    wr_err          err;
} appending;

static wr_status append_line(appending *a, wr_str line, wr_err *err) {
    wr_log_record r = {.time_ms = WR_LOG_NO_TIME, .value = line};
    wr_str        idem = {NULL, 0};
    const char   *sep = a->args->separator;
    if (sep) {
        const char *at = line.len ? memmem(line.ptr, line.len, sep, strlen(sep)) : NULL;
        if (!at) return wr_fail(err, WR_DATA, "22023", "line %" PRIu64 " has no '%s' between key and value", a->n_lines + 1, sep);
        r.key = (wr_str){line.ptr, (size_t)(at - line.ptr)};
        r.value = (wr_str){at + strlen(sep), line.len - r.key.len - strlen(sep)};
        if (!r.value.len) r.value.ptr = NULL; /* a tombstone */
    }
    char key[400];
    if (a->args->idem) {
        snprintf(key, sizeof key, "%s:%" PRIu64, a->args->idem, a->n_lines);
        idem = wr_str_of(key);
    }
    wr_status status = wr_log_submit(a->log, a->args->partition, &r, 1, idem, &a->last, err);
    if (status == WR_LIMIT) {
        WR_TRY(wr_log_sync(a->log, UINT64_MAX, err));
        status = wr_log_submit(a->log, a->args->partition, &r, 1, idem, &a->last, err);
    }
    a->n_lines += status == WR_OK;
    a->n_known += status == WR_OK && a->last.duplicate;
    return status;
}

/* All whole lines that were read; at the end of the input the rest too. */
static wr_status append_lines(appending *a, bool end, wr_err *err) {
    size_t      at = 0;
    const char *stop;
    while (at < a->input.len && ((stop = memchr(a->input.at + at, '\n', a->input.len - at)) || end)) {
        size_t to = stop ? (size_t)(stop - a->input.at) : a->input.len;
        WR_TRY(append_line(a, (wr_str){a->input.at + at, to - at}, err));
        at = WR_MIN(to + 1, a->input.len);
    }
    a->input.len -= at;
    memmove(a->input.at, a->input.at + at, a->input.len);
    if (!at) return WR_OK;
    WR_TRY(wr_log_sync(a->log, UINT64_MAX, err));
    if (a->args->json) {
        printf("{\"lines\":%" PRIu64 ",\"appended\":%" PRIu64 ",\"known\":%" PRIu64 ",\"partition\":%u,\"offset\":%" PRId64 "}\n", a->n_lines, a->n_lines - a->n_known, a->n_known, a->last.partition, a->last.offset);
        fflush(stdout);
    }
    return wr_log_clean(a->log, false, NULL, err);
}

static int log_append(const log_args *args) {
    enum { STEP = 256 * 1024, LINE_MAX = 16 << 20 };
    appending   a = {.args = args};
    wr_err      err = {0};
    wr_log_opts opts = {.world = wr_world_posix(), .path = args->path, .idem_us = args->idem ? INT64_C(86400000000) : 0};
    if (wr_log_open(&opts, &a.log, &err) != WR_OK) return log_fail(&err, args->json);
    wr_status status = WR_OK;
    for (ssize_t got = 1; status == WR_OK && got > 0;) {
        wr_sbuf_reserve(&a.input, STEP);
        got = read(STDIN_FILENO, a.input.at + a.input.len, STEP);
        if (got > 0) a.input.len += (size_t)got;
        if (a.input.len > LINE_MAX) status = wr_fail(&err, WR_DATA, "54000", "line %" PRIu64 " is longer than %d MiB", a.n_lines + 1, LINE_MAX >> 20);
        else status = append_lines(&a, got <= 0, &err);
    }
    wr_log_close(a.log);
    wr_sbuf_free(&a.input);
    if (status != WR_OK) return log_fail(&err, args->json);
    if (!args->json) printf("%" PRIu64 " records appended", a.n_lines - a.n_known);
    if (!args->json && a.n_known) printf(", %" PRIu64 " were there", a.n_known);
    if (!args->json) printf("\n");
    return finish_stdout(CLI_OK);
}

/* ---- cat, tail ---- */

typedef struct reading {
    const log_args *args;
    wr_log_view    *view;
    wr_log_cursor **cursors;
    uint64_t        n_out;
    wr_log_batch    batch;
    wr_sbuf         out;
} reading;

static void put_text(wr_sbuf *out, const char *name, wr_str text) {
    bool bytes = text.ptr && !wr_utf8_valid(text);
    wr_sbuf_printf(out, bytes ? ",\"%s_hex\":\"" : ",\"%s\":", name);
    for (size_t i = 0; bytes && i < text.len; i++) wr_sbuf_printf(out, "%02x", (uint8_t)text.ptr[i]);
    if (bytes) wr_sbuf_addc(out, '"');
    else if (text.ptr) wr_sbuf_add_json(out, text);
    else wr_sbuf_addz(out, "null");
}

static void put_record(reading *r, uint32_t partition, const wr_log_record *rec) {
    if (!r->args->json) {
        if (r->args->keys) wr_sbuf_add_str(&r->out, rec->key.ptr ? rec->key : WR_STR("")), wr_sbuf_addc(&r->out, '\t');
        wr_sbuf_add_str(&r->out, rec->value.ptr ? rec->value : WR_STR(""));
        wr_sbuf_addc(&r->out, '\n');
        return;
    }
    wr_sbuf_printf(&r->out, "{\"partition\":%u,\"offset\":%" PRId64 ",\"timestamp\":%" PRId64, partition, rec->offset, rec->time_ms);
    put_text(&r->out, "key", rec->key);
    put_text(&r->out, "value", rec->value);
    wr_sbuf_addz(&r->out, ",\"headers\":[");
    wr_str list = rec->headers, name, value;
    for (uint32_t i = 0; wr_log_header_next(&list, &name, &value); i++) {
        wr_sbuf_addz(&r->out, i ? ",{\"name\":" : "{\"name\":");
        wr_sbuf_add_json(&r->out, name);
        put_text(&r->out, "value", value);
        wr_sbuf_addc(&r->out, '}');
    }
    wr_sbuf_addz(&r->out, "]}\n");
}

static bool enough(const reading *r) { return r->args->n && !r->args->follow && r->n_out >= r->args->n; }

/* One batch of a partition; *any: there was one. */
static wr_status read_batch(reading *r, uint32_t p, bool *any, wr_err *err) {
    wr_log_piece  piece;
    wr_log_record rec;
    int64_t       from = wr_log_cursor_offset(r->cursors[p]);
    WR_TRY(wr_log_cursor_peek(r->cursors[p], &piece, err));
    if (!piece.len) return WR_OK;
    *any = true;
    if (wr_log_batch_open(&r->batch, piece.bytes, piece.len) != WR_OK) return wr_log_damaged(r->args->path, p, piece.segment, piece.at, piece.base, err);
    while (!enough(r) && wr_log_batch_next(&r->batch, &rec)) {
        if (rec.offset < from) continue;
        put_record(r, p, &rec);
        r->n_out++;
    }
    if (r->batch.bad) return wr_log_damaged(r->args->path, p, piece.segment, piece.at, piece.base, err);
    wr_log_cursor_take(r->cursors[p], &piece);
    fwrite(r->out.at, 1, r->out.len, stdout);
    wr_sbuf_clear(&r->out);
    return WR_OK;
}

/* earliest, latest, an offset, or a time; tail -n: so many before the end. */
static wr_status start_offset(reading *r, uint32_t p, int64_t *out, wr_err *err) {
    const log_args *a = r->args;
    wr_log_stat     stat;
    char           *stop = NULL;
    int64_t         us;
    WR_TRY(wr_log_view_stat(r->view, p, &stat, err));
    *out = stat.start;
    if (a->follow && !a->from) *out = WR_MAX(stat.start, stat.end - (int64_t)WR_MIN(a->n, (uint64_t)INT64_MAX / 2));
    if (!a->from || !strcmp(a->from, "earliest")) return WR_OK;
    if (!strcmp(a->from, "latest")) return *out = stat.end, WR_OK;
    *out = strtoll(a->from, &stop, 10);
    if (*a->from && !*stop) return WR_OK;
    int32_t nanos;
    bool    zoned;
    if (!wr_parse_timestamp(wr_str_of(a->from), &us, &nanos, &zoned)) return wr_fail(err, WR_USER, "22023", "--from: expected earliest, latest, an offset or a time such as 2026-01-31T12:00:00Z, got '%s'", a->from);
    return wr_log_view_time(r->view, p, wr_floor_div(us, 1000), out, err);
}

static wr_status read_all(reading *r, wr_err *err) {
    enum { WAIT_US = 20000 };
    wr_world *world = wr_world_posix();
    uint32_t  n = wr_log_view_config(r->view)->partitions;
    for (bool more = true; more && !enough(r) && !ferror(stdout);) {
        bool any = false;
        for (uint32_t p = 0; p < n; p++)
            if (r->args->partition == UINT32_MAX || r->args->partition == p) WR_TRY(read_batch(r, p, &any, err));
        if (any) continue;
        fflush(stdout);
        if (r->args->follow) world->vt->sleep_us(world, WAIT_US);
        if (r->args->follow) WR_TRY(wr_log_view_refresh(r->view, err));
        more = r->args->follow;
    }
    return WR_OK;
}

static int log_cat(const log_args *args) {
    reading r = {.args = args};
    wr_err  err = {0};
    if (wr_log_view_open(wr_world_posix(), args->path, &r.view, &err) != WR_OK) return log_fail(&err, args->json);
    uint32_t  n = wr_log_view_config(r.view)->partitions;
    wr_status status = WR_OK;
    if (args->partition != UINT32_MAX && args->partition >= n) status = wr_fail(&err, WR_USER, "WR370", "the log '%s' has %u partitions, there is no partition %u", args->path, n, args->partition);
    r.cursors = wr_calloc(n, sizeof *r.cursors);
    for (uint32_t p = 0; p < n && status == WR_OK; p++) {
        int64_t from;
        status = start_offset(&r, p, &from, &err);
        if (status == WR_OK) r.cursors[p] = wr_log_cursor_new(r.view, p, from);
    }
    if (status == WR_OK) status = read_all(&r, &err);
    for (uint32_t p = 0; p < n; p++) wr_log_cursor_free(r.cursors[p]);
    wr_free(r.cursors);
    wr_log_batch_free(&r.batch);
    wr_sbuf_free(&r.out);
    wr_log_view_close(r.view);
    return status == WR_OK ? finish_stdout(CLI_OK) : log_fail(&err, args->json);
}

static int log_tail(const log_args *args) {
    log_args a = *args;
    a.follow = true;
    if (!a.n && !a.from) a.n = 10;
    return log_cat(&a);
}

/* ---- stat ---- */

static const char *cleanup_name(uint32_t cleanup) { return cleanup == WR_LOG_COMPACT ? "compact" : cleanup == WR_LOG_DELETE ? "delete" : "compact,delete"; }

static void stat_json(wr_log_view *v, const wr_log_stat *stats, const log_args *a, wr_sbuf *out) {
    const wr_log_config *c = wr_log_view_config(v);
    wr_log_pending       pending;
    wr_sbuf_addz(out, "{\"path\":");
    wr_sbuf_add_json(out, wr_str_of(a->path));
    wr_sbuf_printf(out, ",\"id\":\"%016" PRIx64 "\",\"segment_bytes\":%" PRIu64 ",\"retention_ms\":%" PRId64 ",\"retention_bytes\":%" PRIu64 ",\"cleanup\":\"%s\",\"tombstone_retention_ms\":%" PRId64 ",\"compression\":\"%s\",\"pending\":",
                   c->id, c->segment_bytes, c->retention_us / 1000, c->retention_bytes, cleanup_name(c->cleanup), c->tombstone_us / 1000, c->zstd ? "zstd" : "none");
    if (wr_log_view_pending(v, &pending)) {
        wr_sbuf_addz(out, "{\"writer\":");
        wr_sbuf_add_json(out, pending.producer);
        wr_sbuf_printf(out, ",\"epoch\":%" PRIu64 "}", pending.epoch);
    } else {
        wr_sbuf_addz(out, "null");
    }
    wr_sbuf_addz(out, ",\"partitions\":[");
    for (uint32_t p = 0; p < c->partitions; p++)
        wr_sbuf_printf(out, "%s{\"partition\":%u,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"segments\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"first_append_ms\":%" PRId64 ",\"last_append_ms\":%" PRId64 "}", p ? "," : "", p,
                       stats[p].start, stats[p].end, stats[p].segments, stats[p].bytes, stats[p].first_append_us / 1000, stats[p].last_append_us / 1000);
    wr_sbuf_addz(out, "]}\n");
}

static void stat_text(wr_log_view *v, const wr_log_stat *stats, const log_args *a, wr_sbuf *out) {
    const wr_log_config *c = wr_log_view_config(v);
    wr_log_pending       pending;
    wr_sbuf_printf(out, "log '%s': %u partition%s, segments of ", a->path, c->partitions, c->partitions == 1 ? "" : "s");
    put_size(out, c->segment_bytes);
    wr_sbuf_printf(out, ", cleanup %s, compression %s\n", cleanup_name(c->cleanup), c->zstd ? "zstd" : "none");
    if (c->retention_us) wr_sbuf_printf(out, "kept for %" PRId64 " s after they were appended\n", c->retention_us / 1000000);
    if (c->retention_bytes) wr_sbuf_addz(out, "kept while a partition has no more than "), put_size(out, c->retention_bytes), wr_sbuf_addc(out, '\n');
    if (wr_log_view_pending(v, &pending)) wr_sbuf_printf(out, "in doubt: epoch %" PRIu64 " of '%.*s' (start that job again, or: weir log drop %s)\n", pending.epoch, WR_FMT(pending.producer), a->path);
    wr_sbuf_addz(out, "partition         start           end  segments        size  first append             last append\n");
    for (uint32_t p = 0; p < c->partitions; p++) {
        wr_sbuf size = {0}, first = {0}, last = {0};
        put_size(&size, stats[p].bytes), put_time(&first, stats[p].first_append_us), put_time(&last, stats[p].last_append_us);
        wr_sbuf_printf(out, "%9u  %12" PRId64 "  %12" PRId64 "  %8" PRIu64 "  %10s  %-24s %s\n", p, stats[p].start, stats[p].end, stats[p].segments, size.at, first.at, last.at);
        wr_sbuf_free(&size), wr_sbuf_free(&first), wr_sbuf_free(&last);
    }
}

static int log_stat(const log_args *a) {
    wr_err       err = {0};
    wr_log_view *v;
    wr_sbuf      out = {0};
    if (wr_log_view_open(wr_world_posix(), a->path, &v, &err) != WR_OK) return log_fail(&err, a->json);
    uint32_t     n = wr_log_view_config(v)->partitions;
    wr_log_stat *stats = wr_calloc(n, sizeof *stats);
    wr_status    status = WR_OK;
    for (uint32_t p = 0; p < n && status == WR_OK; p++) status = wr_log_view_stat(v, p, &stats[p], &err);
    if (status == WR_OK) a->json ? stat_json(v, stats, a, &out) : stat_text(v, stats, a, &out);
    wr_free(stats);
    wr_log_view_close(v);
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    return status == WR_OK ? finish_stdout(CLI_OK) : log_fail(&err, a->json);
}

/* ---- arguments ---- */

enum { PARTITIONS = 1000, SEGMENT, RETENTION, RETENTION_SIZE, CLEANUP, TOMBSTONES, ZSTD, PARTITION, FROM, KEY_SEP, IDEM, KEYS, FOLLOW };

static bool config_option(int opt, log_args *a, int *code) {
    int64_t  size = 0;
    uint64_t n = 0;
    switch (opt) {
    case PARTITIONS:
        if (!parse_count(optarg, &n) || !n || n > WR_LOG_PARTITIONS_MAX) *code = usage_error("log", "--partitions: expected 1 to %d, got '%s'", WR_LOG_PARTITIONS_MAX, optarg);
        a->config.partitions = (uint32_t)n;
        return true;
    case SEGMENT: case RETENTION_SIZE:
        if (!wr_parse_size(wr_str_of(optarg), &size) || size < 4096) *code = usage_error("log", "expected a size such as 64MiB, at least 4KiB, got '%s'", optarg);
        if (opt == SEGMENT) a->config.segment_bytes = (uint64_t)size;
        else a->config.retention_bytes = (uint64_t)size;
        return true;
    case RETENTION: return take_duration("log", "--retention", optarg, &a->config.retention_us, code);
    case TOMBSTONES: return take_duration("log", "--tombstone-retention", optarg, &a->config.tombstone_us, code);
    case ZSTD: return a->config.zstd = true;
    case CLEANUP:
        a->config.cleanup = !strcmp(optarg, "delete") ? WR_LOG_DELETE : !strcmp(optarg, "compact") ? WR_LOG_COMPACT : !strcmp(optarg, "compact,delete") ? WR_LOG_COMPACT | WR_LOG_DELETE : 0;
        if (!a->config.cleanup) *code = usage_error("log", "--cleanup: expected delete, compact or 'compact,delete', got '%s'", optarg);
        return true;
    default: return false;
    }
}

static int log_parse(int argc, char **argv, log_args *a, const char **what) {
    static const struct option options[] = {
        {"json", no_argument, NULL, OPT_JSON}, {"partitions", required_argument, NULL, PARTITIONS}, {"segment-size", required_argument, NULL, SEGMENT}, {"retention", required_argument, NULL, RETENTION},
        {"retention-size", required_argument, NULL, RETENTION_SIZE}, {"cleanup", required_argument, NULL, CLEANUP}, {"tombstone-retention", required_argument, NULL, TOMBSTONES}, {"zstd", no_argument, NULL, ZSTD},
        {"partition", required_argument, NULL, PARTITION}, {"from", required_argument, NULL, FROM}, {"key-separator", required_argument, NULL, KEY_SEP}, {"idempotency-key", required_argument, NULL, IDEM},
        {"keys", no_argument, NULL, KEYS}, {"follow", no_argument, NULL, FOLLOW}, {"lines", required_argument, NULL, 'n'}, {"help", no_argument, NULL, 'h'}, {0}};
    *a = (log_args){.partition = UINT32_MAX};
    wr_log_config_default(&a->config);
    opterr = 0;
    optind = 1;
    for (int opt, code = CLI_OK; (opt = getopt_long(argc, argv, ":hfn:", options, NULL)) != -1;) {
        uint64_t n = 0;
        if (opt == 'h') return help_command("log", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("log", argv, opt);
        if (config_option(opt, a, &code) && code != CLI_OK) return code;
        if (opt == OPT_JSON) a->json = true;
        if (opt == KEYS) a->keys = true;
        if (opt == FOLLOW || opt == 'f') a->follow = true;
        if (opt == FROM) a->from = optarg;
        if (opt == KEY_SEP) a->separator = strcmp(optarg, "\\t") ? optarg : "\t";
        if (opt == IDEM) a->idem = optarg;
        if (opt == 'n' || opt == PARTITION) {
            if (!parse_count(optarg, &n) || (opt == PARTITION && n >= WR_LOG_PARTITIONS_MAX)) return usage_error("log", "expected a number, got '%s'", optarg);
            if (opt == 'n') a->n = n;
            else a->partition = (uint32_t)n;
        }
    }
    if (a->separator && !*a->separator) return usage_error("log", "--key-separator is empty");
    if (optind >= argc) return usage_error("log", "what is to be done? create, append, cat, tail, stat, compact or drop");
    *what = argv[optind++];
    if (optind >= argc) return usage_error("log", "which log? weir log %s PATH", *what);
    a->path = argv[optind++];
    return optind < argc ? usage_error("log", "'%s' is one argument too many", argv[optind]) : -1;
}

int cmd_log(int argc, char **argv) {
    static const struct { const char *name; int (*run)(const log_args *); } commands[] = {
        {"create", log_create}, {"append", log_append}, {"cat", log_cat}, {"tail", log_tail}, {"stat", log_stat}, {"compact", log_compact}, {"drop", log_drop}};
    log_args    args;
    const char *what;
    int         code = log_parse(argc, argv, &args, &what);
    if (code >= 0) return code;
    for (size_t i = 0; i < WR_COUNT_OF(commands); i++)
        if (!strcmp(commands[i].name, what)) return commands[i].run(&args);
    return usage_error("log", "'%s' is not known; there are: create, append, cat, tail, stat, compact, drop", what);
}
