/* serve/watching.c: promises, alerts and traces of the running job: opened, looked at with each sample, kept over a restart, closed.
 *
 * Idea       what is watched for is known when the script was planned (wr_serve_watch); a job that begins gets its promises, and what an earlier run counted of
 *            them from the file 'slo.state' in the state directory, which is replaced every minute.
 * Thread     with the lock of serve/.                                                                                                */
#include "serve/internal.h"
#include <stdio.h>

#define SAVE_US INT64_C(60000000)
enum { STATE_MOST = 8 << 20, ALERT_GIVE_UP_US = 600000000, TRACE_GIVE_UP_US = 30000000 };

wr_status wr_serve_watch(wr_serve *s, const wr_serve_watch_opts *opts, wr_err *err) {
    s->watch = *opts;
    if (opts->webhook) WR_TRY(poster_new(&(poster_opts){.world = s->opts.world, .thread = "weir-alerts", .url = opts->webhook, .give_up_us = ALERT_GIVE_UP_US}, &s->webhook, err));
    if (opts->otlp) WR_TRY(poster_new(&(poster_opts){.world = s->opts.world, .thread = "weir-traces", .url = opts->otlp, .headers = opts->otlp_headers, .give_up_us = TRACE_GIVE_UP_US}, &s->otlp, err));
    return WR_OK;
}

wr_str serve_job_name(const wr_serve *s) { return s->plan && s->plan->name.len ? s->plan->name : wr_str_of(s->opts.name ? s->opts.name : "job"); }

static bool state_path(const wr_serve *s, char *path, size_t size) {
    if (!s->opts.state_dir) return false;
    snprintf(path, size, "%s/slo.state", s->opts.state_dir);
    return true;
}

static void save(wr_serve *s, int64_t now_us) {
    char    path[4200];
    wr_sbuf text = {0};
    wr_err  ignored; /* it is counted anew then */
    s->saved_us = now_us;
    if (!wr_slos_count(s->slos) || !state_path(s, path, sizeof path)) return;
    wr_slos_save(s->slos, &text);
    (void)!wr_file_replace(s->opts.world, path, wr_sbuf_str(&text), &ignored);
    wr_sbuf_free(&text);
}

void watching_start(wr_serve *s, const wr_job_plan *plan) {
    char    path[4200];
    wr_sbuf text = {0};
    wr_err  ignored; /* there is none yet */
    s->slos = wr_slos_new(plan, s->watch.slo_file);
    s->alerts = alerts_new(s->webhook, s->watch.source_silent_us ? s->watch.source_silent_us : INT64_C(300000000));
    s->traced = 0;
    s->saved_us = wr_mono_us(s->opts.world);
    if (wr_slos_count(s->slos) && !s->watch.fresh && state_path(s, path, sizeof path) && wr_file_read_all(s->opts.world, path, STATE_MOST, &text, &ignored) == WR_OK) wr_slos_load(s->slos, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
}

void watching_see(wr_serve *s, const wr_job_status *status, const wr_err *failed, bool last) {
    wr_slos_see(s->slos, status, s->observer, last);
    alerts_look(s->alerts, s->slos, serve_job_name(s), status, failed, last);
    traces_look(s, status);
    if (last || status->mono_us - s->saved_us >= SAVE_US) save(s, status->mono_us);
}

void watching_end(wr_serve *s) {
    wr_slos_free(s->slos);
    alerts_free(s->alerts);
    s->slos = NULL, s->alerts = NULL;
}

void watching_close(wr_serve *s) {
    enum { LAST_WORDS_US = 5000000 };
    watching_end(s);
    poster_end(s->webhook, LAST_WORDS_US);
    poster_end(s->otlp, LAST_WORDS_US);
    poster_close(s->webhook);
    poster_close(s->otlp);
    s->webhook = s->otlp = NULL;
}

/* ---- answers ---- */
static bool no_job(wr_serve *s, wr_http_out *out) {
    wr_mutex_lock(s->lock);
    if (s->job) return false;
    wr_mutex_unlock(s->lock);
    wr_http_out_error(out, 503, "no job runs here now");
    return true;
}

void serve_slo(const serve_ask *ask, wr_http_out *out) {
    if (no_job(ask->serve, out)) return;
    char        buf[16];
    const char *form = serve_param(ask, "form", buf, sizeof buf);
    if (form && !strcmp(form, "text")) out->type = "text/plain; charset=utf-8", wr_slos_text(ask->serve->slos, &out->body);
    else wr_slos_json(ask->serve->slos, &out->body);
    wr_mutex_unlock(ask->serve->lock);
}

void serve_alerts(const serve_ask *ask, wr_http_out *out) {
    if (no_job(ask->serve, out)) return;
    alerts_json(ask->serve->alerts, &out->body);
    wr_mutex_unlock(ask->serve->lock);
}
