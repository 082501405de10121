/* serve/traces.c: OpenTelemetry traces of checkpoints: one trace a checkpoint, its parts as child spans, as OTLP over HTTP in JSON.
 *
 * Idea       nothing is measured for this: a checkpoint's report has begin and parts, which add up, in order. What was finished since the last look is sent as
 *            one request. More than WR_CHECKPOINT_HISTORY between two looks are not: the report of a status holds so many.
 * Form       OTLP 1: resourceSpans > scopeSpans > spans; ids in hex, times as text in nanoseconds.
 * Thread     with the lock of serve/; sending is the poster's thread.                                                                  */
#include "serve/internal.h"
#include "base/hash.h"
#include "weir.h"
#include <inttypes.h>
#include <stdio.h>

static void id_json(const char *name, uint32_t n_words, wr_world *world, char *to, wr_sbuf *out) {
    for (uint32_t i = 0; i < n_words; i++) snprintf(to + 16 * i, 17, "%016" PRIx64, world->vt->random(world) | 1); /* all zeros would be none */
    wr_sbuf_printf(out, "\"%s\":\"%s\"", name, to);
}

static void number(const char *key, uint64_t value, wr_sbuf *out) {
    wr_sbuf_printf(out, "%s{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRIu64 "\"}}", out->at[out->len - 1] == '[' ? "" : ",", key, value);
}

static void text(const char *key, wr_str value, wr_sbuf *out) {
    wr_sbuf_printf(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", out->at[out->len - 1] == '[' ? "" : ",", key);
    wr_sbuf_add_json(out, value);
    wr_sbuf_addz(out, "}}");
}

static void times(int64_t from_us, int64_t to_us, wr_sbuf *out) {
    wr_sbuf_printf(out, ",\"startTimeUnixNano\":\"%" PRIi64 "000\",\"endTimeUnixNano\":\"%" PRIi64 "000\"", from_us, to_us);
}

static void checkpoint_spans(wr_world *world, const wr_checkpoint_report *r, wr_sbuf *out) {
    const struct { const char *name; int64_t us; } parts[] = {{"waiting", r->waiting_us}, {"snapshotting", r->snapshotting_us}, {"writing", r->writing_us}, {"uploading", r->uploading_us}, {"committing", r->committing_us}};
    char trace[33], root[17], span[17];
    wr_sbuf_addc(out, '{');
    id_json("traceId", 2, world, trace, out);
    wr_sbuf_addc(out, ',');
    id_json("spanId", 1, world, root, out);
    wr_sbuf_addz(out, ",\"name\":\"checkpoint\",\"kind\":1");
    times(r->at_us, r->at_us + r->total_us, out);
    wr_sbuf_addz(out, ",\"attributes\":[");
    number("weir.checkpoint.epoch", r->epoch, out);
    number("weir.checkpoint.new_bytes", r->new_bytes, out), number("weir.checkpoint.total_bytes", r->total_bytes, out);
    number("weir.checkpoint.changed_bytes", r->changed_bytes, out), number("weir.checkpoint.uploaded_bytes", r->uploaded_bytes, out);
    number("weir.checkpoint.new_files", r->new_files, out), number("weir.checkpoint.total_files", r->total_files, out);
    number("weir.checkpoint.failed_attempts", r->failed_attempts, out);
    number("weir.checkpoint.overtaken_tasks", r->overtaken_tasks, out);
    number("weir.checkpoint.in_flight_rows", r->in_flight_rows, out), number("weir.checkpoint.in_flight_bytes", r->in_flight_bytes, out);
    text("weir.checkpoint.last_task", wr_str_of(r->last_task), out), text("weir.checkpoint.longest_task", wr_str_of(r->longest_task), out);
    wr_sbuf_addz(out, "],\"status\":{\"code\":1}}");
    int64_t at = r->at_us;
    for (size_t i = 0; i < WR_COUNT_OF(parts); at += parts[i++].us) {
        if (!strcmp(parts[i].name, "uploading") && !r->uploaded_files) continue; /* to nowhere */
        wr_sbuf_printf(out, ",{\"traceId\":\"%s\",", trace);
        id_json("spanId", 1, world, span, out);
        wr_sbuf_printf(out, ",\"parentSpanId\":\"%s\",\"name\":\"%s\",\"kind\":1", root, parts[i].name);
        times(at, at + parts[i].us, out);
        wr_sbuf_addz(out, ",\"attributes\":[");
        number("weir.checkpoint.epoch", r->epoch, out);
        if (i < 2) text("weir.operator", wr_str_of(i ? r->longest_task : r->last_task), out);
        wr_sbuf_addz(out, "]}");
    }
}

void traces_look(wr_serve *serve, const wr_job_status *s) {
    wr_sbuf body = {0};
    if (!serve->otlp) return;
    for (uint32_t i = 0; i < s->n_history; i++) {
        const wr_checkpoint_report *r = &s->history[i];
        if (r->epoch <= serve->traced) continue;
        serve->traced = r->epoch;
        if (!body.len) {
            wr_sbuf_addz(&body, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
            text("service.name", wr_str_of(serve->watch.service && serve->watch.service[0] ? serve->watch.service : "weir"), &body);
            text("service.version", wr_str_of(weir_version()), &body);
            text("weir.job", serve_job_name(serve), &body);
            wr_sbuf_addz(&body, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"weir\"},\"spans\":[");
        } else {
            wr_sbuf_addc(&body, ',');
        }
        checkpoint_spans(serve->opts.world, r, &body);
    }
    if (!body.len) return;
    wr_sbuf_addz(&body, "]}]}]}");
    (void)poster_send(serve->otlp, &body); /* it counts what it drops */
}
