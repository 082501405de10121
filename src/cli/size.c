/* cli/size.c: `weir size`: the log behind a job. The arithmetic is plan/size.c's; here are options, words and JSON.
 *
 * Idea       one load for each log: from --rate and --row, or one for each queue that the script reads; the other options hold for all of them. */
#include "cli.h"
#include "plan/size.h"
#include <getopt.h>
#include <stdlib.h>

typedef struct size_args {
    job_args     job;
    wr_size_load load;
    bool         has_rate, has_row, has_retention;
    const char  *prices;
} size_args;

enum { S_RATE = OPT_GEN_FIRST, S_ROW, S_COMPRESSION, S_REPLICATION, S_RETENTION, S_TIERED, S_CONSUMERS, S_REPLAY, S_CONSUME, S_ZONES, S_FOLLOWER, S_PARTITIONS, S_BROKERS, S_DISK, S_NET };
static const struct option options[] = {
    {"rate", required_argument, NULL, S_RATE}, {"row", required_argument, NULL, S_ROW}, {"compression", required_argument, NULL, S_COMPRESSION}, {"replication", required_argument, NULL, S_REPLICATION},
    {"retention", required_argument, NULL, S_RETENTION}, {"tiered", required_argument, NULL, S_TIERED}, {"consumers", required_argument, NULL, S_CONSUMERS}, {"replay", required_argument, NULL, S_REPLAY},
    {"consume-rate", required_argument, NULL, S_CONSUME}, {"zones", required_argument, NULL, S_ZONES}, {"follower-fetch", no_argument, NULL, S_FOLLOWER}, {"partitions", required_argument, NULL, S_PARTITIONS},
    {"brokers", required_argument, NULL, S_BROKERS}, {"broker-disk", required_argument, NULL, S_DISK}, {"broker-net", required_argument, NULL, S_NET}, {"prices", required_argument, NULL, OPT_PRICES},
    {"set", required_argument, NULL, OPT_SET}, {"workers", required_argument, NULL, 'p'}, {"execute", required_argument, NULL, 'e'}, {"json", no_argument, NULL, OPT_JSON}, {"help", no_argument, NULL, 'h'}, {0},
};

static const char *name_of(int opt) {
    for (const struct option *o = options; o->name; o++)
        if (o->val == opt) return o->name;
    return "?";
}

/* "5000/s", "20k", "1.5": a number with k or M, with or without /s. */
static bool take_number(int opt, const char *text, double least, double *out, int *code) {
    char  *end;
    double n = strtod(text, &end);
    if (*end == 'k') n *= 1e3, end++;
    else if (*end == 'M') n *= 1e6, end++;
    if (!strcmp(end, "/s") && (opt == S_RATE || opt == S_CONSUME)) end += 2;
    if (end == text || *end || !(n >= least) || n > 1e15) {
        *code = usage_error("size", "--%s is '%s', expected a number such as %s", name_of(opt), text, opt == S_RATE || opt == S_CONSUME ? "5000/s" : opt == S_COMPRESSION ? "0.4" : "3");
        return false;
    }
    *out = n;
    return true;
}

static bool take_seconds(int opt, const char *text, double *out, int *code) {
    int64_t us;
    if (!take_duration("size", name_of(opt), text, &us, code) || *code) return false;
    *out = (double)us / 1e6;
    return true;
}

static bool take_size(int opt, const char *text, double *out, int *code) {
    int64_t bytes;
    wr_str  t = wr_str_of(text);
    if (t.len > 2 && !strcmp(text + t.len - 2, "/s")) t.len -= 2;
    if (!wr_parse_size(t, &bytes) || bytes <= 0) {
        *code = usage_error("size", "--%s is '%s', expected a size such as 300B or 2TB", name_of(opt), text);
        return false;
    }
    *out = (double)bytes;
    return true;
}

static void take(size_args *a, int opt, const char *value, int *code) {
    wr_size_load *l = &a->load;
    switch (opt) {
    case S_RATE: a->has_rate = take_number(opt, value, 1e-6, &l->rows_per_s, code); return;
    case S_ROW: a->has_row = take_size(opt, value, &l->row_bytes, code); return;
    case S_COMPRESSION: (void)take_number(opt, value, 0.001, &l->ratio, code); return;
    case S_REPLICATION: (void)take_number(opt, value, 1, &l->replication, code); return;
    case S_RETENTION: a->has_retention = take_seconds(opt, value, &l->retention_s, code); return;
    case S_TIERED: (void)take_seconds(opt, value, &l->local_s, code); return;
    case S_CONSUMERS: (void)take_number(opt, value, 0, &l->consumers, code); return;
    case S_REPLAY: (void)take_seconds(opt, value, &l->replay_s, code); return;
    case S_CONSUME: (void)take_number(opt, value, 1e-6, &l->consume_rows_per_s, code); return;
    case S_ZONES: (void)take_number(opt, value, 1, &l->zones, code); return;
    case S_FOLLOWER: l->follower_fetch = true; return;
    case S_PARTITIONS: (void)take_number(opt, value, 1, &l->partitions, code); return;
    case S_BROKERS: (void)take_number(opt, value, 1, &l->brokers, code); return;
    case S_DISK: (void)take_size(opt, value, &l->broker_disk_bytes, code); return;
    case S_NET: (void)take_size(opt, value, &l->broker_net_bytes_per_s, code); return;
    default: return;
    }
}

static int parse(int argc, char **argv, size_args *a) {
    int code = 0;
    opterr = 0;
    for (int opt; (opt = getopt_long(argc, argv, ":p:e:h", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("size", stdout), finish_stdout(CLI_OK);
        if (opt == OPT_PRICES) a->prices = optarg;
        else if (opt >= OPT_GEN_FIRST) take(a, opt, optarg, &code);
        else if (!job_option(&a->job, "size", opt, optarg, &code)) return wrong_option("size", argv, opt);
        if (code) return code;
    }
    job_files(&a->job, argc, argv, optind);
    if (a->job.opts.n_workers) a->load.parallel = a->job.opts.n_workers;
    bool script = a->job.files.n || a->job.texts.n;
    if (!script && !(a->has_rate && a->has_row)) return usage_error("size", "a script, or --rate 5000/s --row 300B");
    if (a->load.brokers > 0 && a->load.brokers < a->load.replication) return usage_error("size", "%.0f brokers cannot hold %.0f replicas", a->load.brokers, a->load.replication);
    if (a->load.local_s > a->load.retention_s) return usage_error("size", "--tiered keeps longer on the brokers than --retention keeps at all");
    return -1;
}

/* ---- words ---- */
static void put_size(wr_sbuf *out, double bytes) { wr_text_size((int64_t)bytes, out); }
static void put_line(wr_sbuf *out, const char *name) { wr_sbuf_printf(out, "  %-18s ", name); }

static void put_money(wr_sbuf *out, const wr_size *s, const wr_prices *p) {
    if (!p) return;
    put_line(out, "a month");
    wr_sbuf_printf(out, "%.0f %s: brokers' disks %.0f, object store %.0f, traffic between zones %.0f\n", s->disk_money + s->object_money + s->cross_zone_money, p->currency, s->disk_money, s->object_money, s->cross_zone_money);
}

static void put_replay(wr_sbuf *out, const wr_size_load *l, const wr_size *s) {
    put_line(out, "replay of");
    wr_text_duration((int64_t)(l->replay_s * 1e6), out);
    wr_sbuf_addz(out, ": ");
    put_size(out, s->replay_bytes);
    wr_sbuf_printf(out, ", %.0f rows/s %s", s->replay_rows_per_s, wr_size_why_text(s->replay_why));
    if (s->replay_us >= 0) wr_sbuf_addz(out, ": "), wr_text_duration((int64_t)s->replay_us, out);
    if (s->catch_up_us >= 0) wr_sbuf_addz(out, "; with what arrives meanwhile "), wr_text_duration((int64_t)s->catch_up_us, out);
    else wr_sbuf_addz(out, "; it NEVER CATCHES UP: rows come as fast as they are read");
    wr_sbuf_addc(out, '\n');
    if (s->replay_kept) return;
    wr_sbuf_addz(out, "                     the log keeps ");
    wr_text_duration((int64_t)(l->retention_s * 1e6), out);
    wr_sbuf_addz(out, " only: that much is not there any more\n");
}

static void put_text(const char *name, const wr_size_load *l, const wr_size *s, const wr_prices *p, const char *assumed, wr_sbuf *out) {
    wr_sbuf_printf(out, "%s: %.0f rows/s of %.0f bytes%s\n", name, l->rows_per_s, l->row_bytes, assumed);
    put_line(out, "written"), put_size(out, s->in_bytes_per_s), wr_sbuf_printf(out, "/s, times %.0f replicas\n", l->replication);
    put_line(out, "partitions"), wr_sbuf_printf(out, "%.0f, %s\n", s->partitions, wr_size_why_text(s->partitions_why));
    put_line(out, "brokers"), wr_sbuf_printf(out, "%.0f, %s\n", s->brokers, wr_size_why_text(s->brokers_why));
    put_line(out, "disk"), put_size(out, s->local_bytes), wr_sbuf_addz(out, " on the brokers, "), put_size(out, s->disk_per_broker), wr_sbuf_addz(out, " each");
    if (s->partitions > 1) wr_sbuf_addz(out, ", "), put_size(out, s->disk_per_replica), wr_sbuf_addz(out, " a replica of a partition");
    if (s->remote_bytes > 0) wr_sbuf_addz(out, "; in the object store "), put_size(out, s->remote_bytes);
    wr_sbuf_addc(out, '\n');
    put_line(out, "network of each"), put_size(out, s->net_in), wr_sbuf_addz(out, "/s in, "), put_size(out, s->net_out), wr_sbuf_printf(out, "/s out: %.2g and %.2g Gbit/s\n", s->net_in * 8 / 1e9, s->net_out * 8 / 1e9);
    put_line(out, "between zones"), put_size(out, s->cross_zone_bytes), wr_sbuf_addz(out, " a month\n");
    put_line(out, "page cache of each"), put_size(out, s->cache_bytes), wr_sbuf_addz(out, " holds ten minutes, so readers that keep up touch no disk\n");
    put_money(out, s, p);
    put_replay(out, l, s);
    put_line(out, "with KRaft");
    wr_sbuf_printf(out, "%.0f replicas of partitions are a small number: the controllers keep millions, and a new leader is there within seconds\n", s->partitions * l->replication);
    put_line(out, "tiered storage");
    if (s->remote_bytes > 0) wr_sbuf_addz(out, "a new or replaced broker copies the local part only; what is older is read from the store, and by catch-up readers only\n");
    else put_size(out, s->in_bytes_per_s * WR_MIN(l->retention_s, 86400.0) * l->replication), wr_sbuf_addz(out, " on the brokers would do with --tiered 1d; the rest would lie in the store once, not once a replica\n");
}

static void put_json(const char *name, const wr_size_load *l, const wr_size *s, const wr_prices *p, bool rate, bool row, const wr_log_need *need, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\"log\":"), wr_sbuf_add_json(out, wr_str_of(name));
    wr_sbuf_printf(out, ",\"rows_per_s\":%.17g,\"rate_assumed\":%s,\"row_bytes\":%.17g,\"row_estimated\":%s,\"in_bytes_per_s\":%.17g,\"partitions\":%.0f,\"partitions_why\":\"%s\",\"brokers\":%.0f,\"brokers_why\":\"%s\"", l->rows_per_s,
                   rate ? "false" : "true", l->row_bytes, row ? "false" : "true", s->in_bytes_per_s, s->partitions, wr_size_why_text(s->partitions_why), s->brokers, wr_size_why_text(s->brokers_why));
    wr_sbuf_printf(out, ",\"local_bytes\":%.0f,\"remote_bytes\":%.0f,\"disk_per_broker\":%.0f,\"disk_per_replica\":%.0f,\"net_in\":%.17g,\"net_out\":%.17g,\"cross_zone_bytes_a_month\":%.0f,\"cache_bytes\":%.0f", s->local_bytes, s->remote_bytes,
                   s->disk_per_broker, s->disk_per_replica, s->net_in, s->net_out, s->cross_zone_bytes, s->cache_bytes);
    wr_sbuf_printf(out, ",\"replay\":{\"bytes\":%.0f,\"rows_per_s\":%.17g,\"bound\":\"%s\",\"us\":%.0f,\"catch_up_us\":%.0f,\"kept\":%s}", s->replay_bytes, s->replay_rows_per_s, wr_size_why_text(s->replay_why), s->replay_us,
                   s->catch_up_us, s->replay_kept ? "true" : "false");
    if (p) wr_sbuf_printf(out, ",\"money\":{\"currency\":\"%s\",\"disk\":%.4f,\"object\":%.4f,\"cross_zone\":%.4f}", p->currency, s->disk_money, s->object_money, s->cross_zone_money);
    if (need) wr_sbuf_addz(out, ",\"need\":{"), wr_log_need_json(need, out), wr_sbuf_addc(out, '}');
    wr_sbuf_addc(out, '}');
}

/* What the job needs behind it, against what is kept. */
static void put_need(const wr_log_need *n, const wr_size_load *l, wr_sbuf *out) {
    put_line(out, "the job needs");
    wr_log_need_text(n, out);
    wr_sbuf_addz(out, n->needed_us / 1e6 > l->retention_s ? ": LONGER THAN IT IS KEPT\n" : "\n");
}

static void one(const size_args *a, const char *name, const wr_size_load *l, const wr_prices *p, bool rate, bool row, const wr_log_need *need, wr_sbuf *out) {
    wr_size s;
    wr_size_compute(l, p, &s);
    if (a->job.json) wr_sbuf_addz(out, out->len ? "," : ""), put_json(name, l, &s, p, rate, row, need, out);
    else put_text(name, l, &s, p, rate && row ? "" : rate ? " (bytes estimated from its columns: declare 'stats.row-bytes')" : row ? " (rate assumed: declare 'stats.rows-per-second')" : " (rate assumed, bytes estimated: declare 'stats.rows-per-second' and 'stats.row-bytes')", out);
}

/* Each queue that the jobs of the script read, once. */
static void of_script(const size_args *a, wr_session *session, const wr_prices *p, wr_sbuf *out, uint32_t *n_logs) {
    WR_ARR(const wr_table *) seen = {0};
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++) {
        const wr_step *step = wr_session_step(session, i);
        for (uint32_t k = 0; step->kind == WR_STEP_JOB && k < step->job->nodes.n; k++) {
            const wr_pnode *n = step->job->nodes.at[k];
            wr_size_load    l = a->load;
            bool            rate, row, known = false;
            if (!wr_size_of_source(n, &l, &rate, &row)) continue;
            for (uint32_t t = 0; t < seen.n; t++) known = known || seen.at[t] == n->source.table;
            if (known) continue;
            wr_arr_push(&seen, n->source.table);
            if (a->has_rate) l.rows_per_s = a->load.rows_per_s, rate = true;
            if (a->has_row) l.row_bytes = a->load.row_bytes, row = true;
            wr_sbuf name = {0};
            wr_sbuf_printf(&name, "%.*s (%.*s)", WR_FMT(n->source.table->name), WR_FMT(n->source.table->connector));
            wr_log_need need;
            (void)wr_log_need_of(step->job, n, 0, &need); /* it is a queue: see above */
            if (need.kept_us >= 0 && !a->has_retention) l.retention_s = need.kept_us / 1e6;
            one(a, name.at, &l, p, rate, row, &need, out);
            if (!a->job.json) put_need(&need, &l, out);
            wr_sbuf_free(&name);
            ++*n_logs;
        }
    }
    wr_arr_free(&seen);
}

static int with_script(size_args *a, const wr_prices *p, wr_sbuf *out) {
    int         code;
    uint32_t    n_logs = 0;
    wr_session *session = job_session(&a->job, "size", &code);
    if (!session) return code;
    wr_status status = wr_session_plan(session);
    if (status != WR_OK) print_report(session, NULL, a->job.json);
    else of_script(a, session, p, out, &n_logs);
    wr_session_free(session);
    if (status == WR_OK && !n_logs) {
        wr_err err = {0};
        wr_fail(&err, WR_USER, "WR460", "the script reads no queue, so there is no log to size");
        wr_err_hint(&err, "weir size --rate 5000/s --row 300B sizes a log without a script");
        print_err(&err, a->job.json);
        return CLI_REFUSED;
    }
    return exit_code_of(status);
}

int cmd_size(int argc, char **argv) {
    size_args a = {0};
    wr_prices prices;
    wr_err    err = {0};
    wr_sbuf   out = {0};
    wr_size_defaults(&a.load);
    int code = parse(argc, argv, &a);
    if (code >= 0) return job_args_free(&a.job), code;
    if (a.prices && load_prices(a.prices, &prices, &err) != WR_OK) return print_err(&err, a.job.json), job_args_free(&a.job), CLI_REFUSED;
    const wr_prices *p = a.prices ? &prices : NULL;
    if (a.job.files.n || a.job.texts.n) code = with_script(&a, p, &out);
    else code = CLI_OK, one(&a, "log", &a.load, p, true, true, NULL, &out);
    if (code == CLI_OK && a.job.json) printf("{\"logs\":[%.*s]}\n", WR_FMT(wr_sbuf_str(&out)));
    else if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    job_args_free(&a.job);
    return finish_stdout(code);
}
