/* cli/gen.c: `weir gen ridelo|nexmark`: event logs into a directory, with progress and a summary of what was written.
 *
 * Idea       the generators hand out whole lines of a numbered file; here a file is made when its first bytes come and closed when the next
 *            begins, so nothing but the generator's own tables is held in memory.
 * Invariant  files are written through the world, truncated first; an error names the file.                              */
#include "cli.h"
#include "connect/nexmark/nexmark.h"
#include "connect/ridelo/ridelo.h"
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPT_OUT = OPT_GEN_FIRST, OPT_GEN_SEED, OPT_DURATION, OPT_SCALE, OPT_ORDERS, OPT_USERS, OPT_COURIERS, OPT_RESTAURANTS, OPT_SEGMENTS, OPT_HOT,
       OPT_OUT_OF_ORDER, OPT_LATE, OPT_DUPLICATES, OPT_MALFORMED, OPT_FUTURE, OPT_CHARGEBACK_FROM, OPT_CHARGEBACK_TO, OPT_EVENTS, OPT_RATE,
       OPT_SHUFFLE };
enum { FILES_OPEN_MAX = WR_NEXMARK_STREAMS, NEXMARK_SLICE = 200000 };

typedef struct writer {
    wr_world *world;
    const char *dir;
    bool      tty, quiet;
    wr_file  *open[FILES_OPEN_MAX];
    int       current;                /* ridelo: the file that is open, -1 none */
    uint64_t  bytes, files;
    int64_t   started_us, next_us;
    const wr_ridelo *ridelo;
    const char *doing;                /* for the progress line */
    uint64_t  done, total;
} writer;

static void progress(writer *w) {
    int64_t now = wr_mono_us(w->world);
    if (!w->tty || w->quiet || now < w->next_us) return;
    w->next_us = now + 200000;
    wr_sbuf out = {0};
    wr_text_size((int64_t)w->bytes, &out);
    fprintf(stderr, "\r\033[K  %s: %.*s written", w->doing, WR_FMT(wr_sbuf_str(&out)));
    if (w->total) fprintf(stderr, ", %.0f %%", 100.0 * (double)w->done / (double)w->total);
    fflush(stderr);
    wr_sbuf_free(&out);
}

static wr_status open_file(writer *w, const char *name, wr_file **out, wr_err *err) {
    wr_sbuf path = {0};
    wr_sbuf_printf(&path, "%s/%s", w->dir, name);
    char     *slash = strrchr(path.at, '/');
    *slash = '\0';
    wr_status status = w->world->vt->make_dirs(w->world, path.at, err);
    *slash = '/';
    if (status == WR_OK) status = w->world->vt->file_open(w->world, path.at, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE, out, err);
    wr_sbuf_free(&path);
    if (status == WR_OK) w->files++;
    return status;
}

static wr_status emit_ridelo(void *arg, int file, const char *bytes, size_t len, wr_err *err) {
    writer *w = arg;
    if (file != w->current) {
        if (w->open[0]) w->world->vt->file_close(w->world, w->open[0]);
        w->open[0] = NULL;
        wr_sbuf name = {0};
        wr_ridelo_file(w->ridelo, file, &name);
        wr_status status = open_file(w, name.at, &w->open[0], err);
        wr_sbuf_free(&name);
        WR_TRY(status);
        w->current = file;
    }
    w->bytes += len;
    w->done = (uint64_t)file;
    progress(w);
    return w->world->vt->file_write(w->world, w->open[0], bytes, len, err);
}

static wr_status emit_nexmark(void *arg, int stream, const char *bytes, size_t len, wr_err *err) {
    writer *w = arg;
    w->bytes += len;
    progress(w);
    return w->world->vt->file_write(w->world, w->open[stream], bytes, len, err);
}

static void close_files(writer *w) {
    for (int i = 0; i < FILES_OPEN_MAX; i++)
        if (w->open[i]) w->world->vt->file_close(w->world, w->open[i]);
    if (w->tty && !w->quiet) fputs("\r\033[K", stderr);
}

/* ---- options ---- */
typedef struct gen_args {
    const char *out;
    bool        json, quiet;
    double      scale;
    wr_ridelo_config  ridelo;
    wr_nexmark_config nexmark;
} gen_args;

static const struct option OPTIONS[] = {
    {"out", required_argument, NULL, OPT_OUT}, {"seed", required_argument, NULL, OPT_GEN_SEED}, {"json", no_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, 'q'}, {"help", no_argument, NULL, 'h'},
    {"duration", required_argument, NULL, OPT_DURATION}, {"scale", required_argument, NULL, OPT_SCALE},
    {"orders-per-day", required_argument, NULL, OPT_ORDERS}, {"users", required_argument, NULL, OPT_USERS},
    {"couriers", required_argument, NULL, OPT_COURIERS}, {"restaurants", required_argument, NULL, OPT_RESTAURANTS},
    {"segments", required_argument, NULL, OPT_SEGMENTS}, {"hot", required_argument, NULL, OPT_HOT},
    {"out-of-order", required_argument, NULL, OPT_OUT_OF_ORDER}, {"late", required_argument, NULL, OPT_LATE},
    {"duplicates", required_argument, NULL, OPT_DUPLICATES}, {"malformed", required_argument, NULL, OPT_MALFORMED},
    {"future", required_argument, NULL, OPT_FUTURE}, {"chargeback-after", required_argument, NULL, OPT_CHARGEBACK_FROM},
    {"chargeback-until", required_argument, NULL, OPT_CHARGEBACK_TO}, {"events", required_argument, NULL, OPT_EVENTS},
    {"rate", required_argument, NULL, OPT_RATE}, {"shuffle", required_argument, NULL, OPT_SHUFFLE}, {0},
};

static bool nexmark_option(int opt) { return opt == OPT_EVENTS || opt == OPT_RATE || opt == OPT_SHUFFLE; }
static bool common_option(int opt) { return opt == OPT_OUT || opt == OPT_GEN_SEED || opt == OPT_JSON || opt == 'q'; }

static int take_u32(const char *option, const char *value, uint32_t *out) {
    uint64_t n;
    if (!parse_count(value, &n) || n > UINT32_MAX) return usage_error("gen", "--%s: expected a number, got '%s'", option, value);
    *out = (uint32_t)n;
    return 0;
}

static int take_u64(const char *option, const char *value, uint64_t *out) {
    return parse_count(value, out) ? 0 : usage_error("gen", "--%s: expected a number, got '%s'", option, value);
}

/* "5%" or "0.05" -> parts in a million. */
static int take_share(const char *option, const char *value, uint32_t *ppm) {
    char  *end;
    double share = strtod(value, &end);
    if (*end == '%') share /= 100, end++;
    if (end == value || *end || !(share >= 0 && share <= 1)) return usage_error("gen", "--%s: expected a share such as 5%%, got '%s'", option, value);
    *ppm = (uint32_t)(share * 1e6 + 0.5);
    return 0;
}

static int take_ms(const char *option, const char *value, int64_t *ms) {
    int64_t us;
    if (value[strspn(value, "0123456789.")] == '\0' || !wr_parse_duration(wr_str_of(value), &us) || us < 1000)
        return usage_error("gen", "--%s: expected a duration such as 24h or 30min, got '%s'", option, value);
    *ms = us / 1000;
    return 0;
}

static int take_scale(const char *value, double *scale) {
    char *end;
    *scale = strtod(value, &end);
    if (end == value || *end || !(*scale >= 0.001 && *scale <= 1000)) return usage_error("gen", "--scale: expected 0.001 to 1000, got '%s'", value);
    return 0;
}

static int take(gen_args *a, int opt, const char *value) {
    switch (opt) {
    case OPT_OUT: a->out = value; return 0;
    case OPT_JSON: a->json = true; return 0;
    case 'q': a->quiet = true; return 0;
    case OPT_GEN_SEED: {
        int code = take_u64("seed", value, &a->ridelo.seed);
        a->nexmark.seed = a->ridelo.seed;
        return code;
    }
    case OPT_DURATION: return take_ms("duration", value, &a->ridelo.duration_ms);
    case OPT_SCALE: return take_scale(value, &a->scale);
    case OPT_ORDERS: return take_u32("orders-per-day", value, &a->ridelo.orders_per_day);
    case OPT_USERS: return take_u32("users", value, &a->ridelo.n_users);
    case OPT_COURIERS: return take_u32("couriers", value, &a->ridelo.n_couriers);
    case OPT_RESTAURANTS: return take_u32("restaurants", value, &a->ridelo.n_restaurants);
    case OPT_SEGMENTS: return take_u32("segments", value, &a->ridelo.n_segments);
    case OPT_HOT: return take_share("hot", value, &a->ridelo.hot_ppm);
    case OPT_OUT_OF_ORDER: return take_share("out-of-order", value, &a->ridelo.out_of_order_ppm);
    case OPT_LATE: return take_share("late", value, &a->ridelo.late_ppm);
    case OPT_DUPLICATES: return take_share("duplicates", value, &a->ridelo.duplicate_ppm);
    case OPT_MALFORMED: return take_share("malformed", value, &a->ridelo.malformed_ppm);
    case OPT_FUTURE: return take_share("future", value, &a->ridelo.future_ppm);
    case OPT_CHARGEBACK_FROM: return take_ms("chargeback-after", value, &a->ridelo.chargeback_min_ms);
    case OPT_CHARGEBACK_TO: return take_ms("chargeback-until", value, &a->ridelo.chargeback_max_ms);
    case OPT_EVENTS: return take_u64("events", value, &a->nexmark.n_events);
    case OPT_RATE: return take_u32("rate", value, &a->nexmark.events_per_s);
    case OPT_SHUFFLE: return take_u32("shuffle", value, &a->nexmark.out_of_order_group);
    default: return 0;
    }
}

static uint32_t scaled(uint32_t n, double scale) { return (uint32_t)WR_MIN(WR_MAX(floor(n * scale + 0.5), 1.0), 4e9); }

/* ---- summaries ---- */
static void print_rate(const writer *w, uint64_t lines) {
    double  seconds = (double)(wr_mono_us(w->world) - w->started_us) / 1e6;
    wr_sbuf out = {0};
    add_count(&out, lines);
    wr_sbuf_addz(&out, " lines, ");
    wr_text_size((int64_t)w->bytes, &out);
    wr_sbuf_printf(&out, ", %" PRIu64 " files in %s, %.1f s", w->files, w->dir, seconds);
    if (seconds > 0.05) wr_sbuf_addz(&out, " ("), add_rate(&out, (double)lines / seconds), wr_sbuf_addz(&out, " lines/s)");
    printf("%.*s\n", WR_FMT(wr_sbuf_str(&out)));
    wr_sbuf_free(&out);
}

static void ridelo_table(const writer *w, const wr_ridelo *gen) {
    uint64_t lines = 0;
    printf("%-20s %12s %12s %10s %10s %10s %10s %10s\n", "log", "lines", "accepted", "malformed", "future", "disorder", "late", "duplicates");
    for (int i = 0; i < WR_RIDELO_STREAMS; i++) {
        wr_ridelo_counts c = wr_ridelo_counts_of(gen, (wr_ridelo_stream)i);
        lines += c.lines;
        printf("%-20s %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
               wr_ridelo_stream_name((wr_ridelo_stream)i), c.lines, c.accepted, c.malformed, c.future, c.out_of_order, c.late, c.duplicates);
    }
    print_rate(w, lines);
    printf("truth.json holds these counts; next: weir run examples/ridelo/job.sql --set IN=%s --set OUT=RESULTS\n", w->dir);
}

static void json_head(const writer *w, const char *generator, uint64_t seed) {
    wr_sbuf dir = {0};
    wr_sbuf_add_json(&dir, wr_str_of(w->dir));
    printf("{\"generator\":\"%s\",\"seed\":%" PRIu64 ",\"dir\":%.*s,\"files\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"running_us\":%" PRIi64, generator, seed,
           WR_FMT(wr_sbuf_str(&dir)), w->files, w->bytes, wr_mono_us(w->world) - w->started_us);
    wr_sbuf_free(&dir);
}

static void ridelo_json(const writer *w, const wr_ridelo *gen, uint64_t seed) {
    json_head(w, "ridelo", seed);
    printf(",\"logs\":{");
    for (int i = 0; i < WR_RIDELO_STREAMS; i++) {
        wr_ridelo_counts c = wr_ridelo_counts_of(gen, (wr_ridelo_stream)i);
        printf("%s\"%s\":{\"lines\":%" PRIu64 ",\"accepted\":%" PRIu64 ",\"malformed\":%" PRIu64 ",\"future\":%" PRIu64 ",\"out_of_order\":%" PRIu64
               ",\"late\":%" PRIu64 ",\"duplicates\":%" PRIu64 "}", i ? "," : "", wr_ridelo_stream_name((wr_ridelo_stream)i), c.lines, c.accepted,
               c.malformed, c.future, c.out_of_order, c.late, c.duplicates);
    }
    puts("}}");
}

/* ---- the two generators ---- */
static wr_status gen_ridelo(gen_args *a, writer *w, wr_err *err) {
    wr_ridelo *gen = NULL;
    if (a->scale > 0) {
        wr_ridelo_config *c = &a->ridelo;
        c->orders_per_day = scaled(c->orders_per_day, a->scale), c->n_users = scaled(c->n_users, a->scale);
        c->n_couriers = scaled(c->n_couriers, a->scale), c->n_restaurants = scaled(c->n_restaurants, a->scale);
    }
    WR_TRY(wr_ridelo_new(&a->ridelo, &gen, err));
    w->ridelo = gen;
    w->doing = "ridelo";
    w->total = (uint64_t)wr_ridelo_n_files(gen);
    wr_status status = w->world->vt->make_dirs(w->world, a->out, err);
    if (status == WR_OK) status = wr_ridelo_write(gen, emit_ridelo, w, err);
    close_files(w);
    if (status == WR_OK && a->json) ridelo_json(w, gen, a->ridelo.seed);
    else if (status == WR_OK && !a->quiet) ridelo_table(w, gen);
    wr_ridelo_free(gen);
    return status;
}

static wr_status write_nexmark(writer *w, const wr_nexmark *gen, wr_err *err) {
    uint64_t n = wr_nexmark_config_of(gen)->n_events;
    w->total = n;
    for (int i = 0; i < WR_NEXMARK_STREAMS; i++) WR_TRY(open_file(w, wr_nexmark_file(i), &w->open[i], err));
    for (uint64_t at = 0; at < n; at += NEXMARK_SLICE) {
        w->done = at;
        WR_TRY(wr_nexmark_write(gen, at, WR_MIN(n - at, (uint64_t)NEXMARK_SLICE), emit_nexmark, w, err));
    }
    return WR_OK;
}

static wr_status gen_nexmark(gen_args *a, writer *w, wr_err *err) {
    wr_nexmark *gen = NULL;
    WR_TRY(wr_nexmark_new(&a->nexmark, &gen, err));
    w->doing = "nexmark";
    wr_status status = w->world->vt->make_dirs(w->world, a->out, err);
    if (status == WR_OK) status = write_nexmark(w, gen, err);
    close_files(w);
    wr_nexmark_free(gen);
    WR_TRY(status);
    if (a->json) {
        json_head(w, "nexmark", a->nexmark.seed);
        printf(",\"events\":%" PRIu64 "}\n", a->nexmark.n_events);
    } else if (!a->quiet) {
        print_rate(w, a->nexmark.n_events);
        printf("next: weir run examples/nexmark/q1.sql --set IN=%s --set OUT=RESULTS\n", w->dir);
    }
    return WR_OK;
}

int cmd_gen(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "--help") || !strcmp(what, "-h")) return help_command("gen", stdout), finish_stdout(CLI_OK);
    bool ridelo = !strcmp(what, "ridelo");
    if (!ridelo && strcmp(what, "nexmark")) return usage_error("gen", *what ? "there is ridelo and nexmark, not '%s'" : "ridelo or nexmark?%s", what);
    gen_args a = {0};
    wr_ridelo_config_default(&a.ridelo);
    wr_nexmark_config_default(&a.nexmark);
    opterr = 0;
    optind = 2;
    for (int opt; (opt = getopt_long(argc, argv, ":qh", OPTIONS, NULL)) != -1;) {
        if (opt == 'h') return help_command("gen", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("gen", argv, opt);
        if (!common_option(opt) && nexmark_option(opt) == ridelo) return usage_error("gen", "%s does not have that option: %s", what, argv[optind - 1]);
        int code = take(&a, opt, optarg);
        if (code) return code;
    }
    if (optind < argc) return usage_error("gen", "'%s' is one argument too many", argv[optind]);
    if (!a.out || !*a.out) return usage_error("gen", "--out DIR is missing");
    signal(SIGPIPE, SIG_IGN);
    writer    w = {.world = wr_world_posix(), .dir = a.out, .tty = isatty(STDERR_FILENO), .quiet = a.quiet || a.json, .current = -1};
    wr_err    err = {0};
    w.started_us = wr_mono_us(w.world);
    wr_status status = ridelo ? gen_ridelo(&a, &w, &err) : gen_nexmark(&a, &w, &err);
    if (status != WR_OK) print_err(&err, a.json);
    return finish_stdout(exit_code_of(status));
}
