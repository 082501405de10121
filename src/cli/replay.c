/* cli/replay.c: `weir check --replay`: progress on a terminal, and what came out, as text or as one JSON document. See api/replay.h. */
#include "cli.h"
#include "api/replay.h"
#include <inttypes.h>
#include <unistd.h>

static void show_run(void *arg, uint32_t run, uint32_t runs) {
    (void)arg;
    fprintf(stderr, "\rrun %u of %u", run, runs);
    fflush(stderr);
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static void add_side(wr_sbuf *out, const char *who, uint64_t n, wr_str row) {
    if (n) wr_sbuf_printf(out, "  only in %s: %" PRIu64 " row%s, the first is\n    %.*s\n", who, n, plural(n), WR_FMT(row));
}

static void add_text(const char *name, const wr_replay_report *r, wr_sbuf *out) {
    char other[32];
    snprintf(other, sizeof other, "run %u", r->other_run);
    if (r->equal) {
        uint64_t rows = 0;
        for (uint32_t i = 0; i < r->outputs.n; i++) rows += r->outputs.at[i].rows;
        wr_sbuf_printf(out, "%s: %u runs, all equal: %u output%s with ", name, r->runs, r->outputs.n, plural(r->outputs.n));
        add_count(out, rows);
        wr_sbuf_printf(out, " row%s; 1 to %u workers, %u crash%s, each followed by a restore\n", plural(rows), r->workers_max, r->crashes, r->crashes == 1 ? "" : "es");
    } else {
        wr_sbuf_printf(out, "%s: output '%.*s' differs: run 1 (1 worker, no crash) and run %u (%u worker%s, %u row%s a batch, %u crash%s)\n", name, WR_FMT(r->output), r->other_run,
                       r->other_workers, plural(r->other_workers), r->other_batch, plural(r->other_batch), r->other_crashes, r->other_crashes == 1 ? "" : "es");
        add_side(out, "run 1", r->n_only_first, r->only_first);
        add_side(out, other, r->n_only_other, r->only_other);
    }
    if (r->suspects.n) wr_sbuf_addz(out, r->equal ? "what could make another run differ:\n" : "what in the plan may differ from run to run:\n");
    for (uint32_t i = 0; i < r->suspects.n; i++) wr_sbuf_printf(out, "  %.*s\n", WR_FMT(r->suspects.at[i]));
    if (!r->equal && !r->suspects.n) wr_sbuf_addz(out, "nothing in the plan explains it: this is a fault of weir, please report it with the script\n");
}

static void add_json(const wr_replay_report *r, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"runs\":%u,\"equal\":%s,\"crashes\":%u,\"workers\":%u,\"outputs\":[", r->runs, r->equal ? "true" : "false", r->crashes, r->workers_max);
    for (uint32_t i = 0; i < r->outputs.n; i++) {
        wr_sbuf_addz(out, i ? ",{\"name\":" : "{\"name\":");
        wr_sbuf_add_json(out, r->outputs.at[i].name);
        wr_sbuf_printf(out, ",\"rows\":%" PRIu64 "}", r->outputs.at[i].rows);
    }
    wr_sbuf_addz(out, "],\"difference\":");
    if (r->equal) wr_sbuf_addz(out, "null");
    else {
        wr_sbuf_printf(out, "{\"run\":%u,\"workers\":%u,\"batch_rows\":%u,\"crashes\":%u,\"output\":", r->other_run, r->other_workers, r->other_batch, r->other_crashes);
        wr_sbuf_add_json(out, r->output);
        wr_sbuf_printf(out, ",\"only_in_first\":%" PRIu64 ",\"only_in_other\":%" PRIu64 ",\"row_of_first\":", r->n_only_first, r->n_only_other);
        wr_sbuf_add_json(out, r->only_first);
        wr_sbuf_addz(out, ",\"row_of_other\":");
        wr_sbuf_add_json(out, r->only_other);
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addz(out, ",\"suspects\":[");
    for (uint32_t i = 0; i < r->suspects.n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_sbuf_add_json(out, r->suspects.at[i]);
    }
    wr_sbuf_addz(out, "]}\n");
}

int replay_session(wr_session *session, const char *name, bool json, bool quiet, uint64_t runs, uint64_t seed) {
    bool             show = !json && !quiet && isatty(STDERR_FILENO);
    wr_replay_opts   opts = {.runs = (uint32_t)runs, .seed = seed, .progress = show ? show_run : NULL};
    wr_replay_report report;
    wr_err           err = {0};
    wr_sbuf          out = {0};
    wr_status        status = wr_session_replay(session, &opts, &report, &err);
    if (show) fputs("\r                              \r", stderr);
    if (status == WR_OK && json) add_json(&report, &out);
    else if (status == WR_OK) add_text(name, &report, &out);
    else print_report(session, &err, json);
    if (out.len) fwrite(out.at, 1, out.len, stdout);
    wr_sbuf_free(&out);
    wr_arena_free(report.arena);
    return status == WR_OK && !report.equal ? CLI_FAILED : exit_code_of(status);
}
