/* cli/watch.c: what a running job tells people: the first line (sources, positions, what is awaited), progress, why nothing comes out, and
 * at the end the summary and where every row went.
 *
 * Idea       the session calls watch_start, watch_tick, watch_end from the coordinating thread; a status is taken at most five times a second.
 * Output     stderr only. With --json one object a line with "event": start | progress | checkpoint | silent | end.
 * Rules      users.md: the first line within a second; five seconds without an output row: one line why.                   */
#include "watch.h"
#include "observe/why.h"
#include "base/hash.h"
#include <inttypes.h>
#include <unistd.h>

enum { LOOK_TTY_US = 200000, LOOK_US = 400000, RATE_US = 1000000, LINE_US = 5000000, LINE_TAIL_US = 60000000, SILENCE_US = 5000000, SILENCE_AGAIN_US = 60000000 };
static const int64_t FORECAST_SHOWN_US = INT64_C(30) * 86400000000;

static void put(watch *w, wr_sbuf *text) {
    if (w->drawn) fputs("\r\033[K", stderr);
    w->drawn = false;
    fwrite(text->at, 1, text->len, stderr);
    wr_sbuf_free(text);
}

static const char *table_name(const wr_pnode *p, wr_str *name) {
    if (p->kind == WR_P_SOURCE) *name = p->source.table->name;
    else if (p->kind == WR_P_SINK && p->sink.table) *name = p->sink.table->name;
    else if (p->kind == WR_P_VIEW) *name = p->view.table->name;
    else *name = p->kind == WR_P_SINK ? WR_STR("result") : WR_STR("values");
    return name->ptr;
}

static void job_name(const watch *w, const wr_job_plan *plan, wr_sbuf *out) {
    if (plan->name.len) wr_sbuf_add_str(out, plan->name);
    else wr_sbuf_addz(out, w->name);
}

/* ---- start ---- */
static void sinks_text(const wr_job_plan *plan, wr_sbuf *out) {
    const char *sep = "";
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        wr_str name;
        if (plan->nodes.at[i]->kind != WR_P_SINK && plan->nodes.at[i]->kind != WR_P_VIEW) continue;
        table_name(plan->nodes.at[i], &name);
        wr_sbuf_printf(out, "%s%.*s", sep, WR_FMT(name));
        sep = ", ";
    }
}

static void start_text(watch *w, const wr_job_plan *plan, const wr_job_status *s, wr_sbuf *out) {
    const wr_session_opts *o = wr_session_opts_of(w->session);
    job_name(w, plan, out);
    wr_sbuf_printf(out, ": %u worker%s, memory budget ", wr_session_workers(w->session), wr_session_workers(w->session) == 1 ? "" : "s");
    wr_text_size(wr_session_memory(w->session), out);
    wr_sbuf_addz(out, o->memory_bytes > 0 ? " (--memory)" : wr_session_memory(w->session) == WR_MEMORY_DEFAULT_BYTES ? " (default)" : " (default: a quarter of the machine's)");
    if (!o->state_dir) wr_sbuf_addz(out, ", no state directory");
    else if (s->finished_before)
        wr_sbuf_printf(out, ", ended already: %s holds its last checkpoint (%" PRIu64 "), nothing is read; --fresh starts over", o->state_dir, s->restored_epoch);
    else if (s->restored_epoch) wr_sbuf_printf(out, ", goes on from checkpoint %" PRIu64 " in %s", s->restored_epoch, o->state_dir);
    else wr_sbuf_printf(out, ", checkpoints in %s", o->state_dir);
    wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < s->n_sources; i++) {
        wr_str name;
        table_name(s->sources[i].node, &name);
        wr_sbuf_printf(out, "  from %.*s: %s\n", WR_FMT(name), s->sources[i].what);
    }
    wr_sbuf_addz(out, "  into ");
    sinks_text(plan, out);
    bool ends = (plan->bounded || o->force_bounded) && !o->force_tail;
    wr_sbuf_addz(out, ends ? "; runs to the end of input\n" : "; waits for new rows until Ctrl-C\n");
}

static void start_json(watch *w, const wr_job_plan *plan, const wr_job_status *s, wr_sbuf *out) {
    const wr_session_opts *o = wr_session_opts_of(w->session);
    wr_sbuf name = {0};
    job_name(w, plan, &name);
    wr_sbuf_addz(out, "{\"event\":\"start\",\"job\":");
    wr_sbuf_add_json(out, wr_sbuf_str(&name));
    wr_sbuf_printf(out, ",\"workers\":%u,\"memory_limit_bytes\":%" PRIi64 ",\"memory_from\":\"%s\",\"state_dir\":", wr_session_workers(w->session),
                   wr_session_memory(w->session), o->memory_bytes > 0 ? "option" : "default");
    if (o->state_dir) wr_sbuf_add_json(out, wr_str_of(o->state_dir));
    else wr_sbuf_addz(out, "null");
    wr_sbuf_printf(out, ",\"restored_epoch\":%" PRIu64 ",\"rss_bytes\":%" PRIi64 ",\"bounded\":%s,\"sources\":[", s->restored_epoch, wr_rss_bytes(),
                   plan->bounded ? "true" : "false");
    for (uint32_t i = 0; i < s->n_sources; i++) {
        wr_str table;
        table_name(s->sources[i].node, &table);
        wr_sbuf_addz(out, i ? ",{\"table\":" : "{\"table\":");
        wr_sbuf_add_json(out, table);
        wr_sbuf_addz(out, ",\"what\":");
        wr_sbuf_add_json(out, wr_str_of(s->sources[i].what));
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addz(out, "]}\n");
    wr_sbuf_free(&name);
}

void watch_start(void *arg, const wr_job_plan *plan, wr_job *job) {
    watch  *w = arg;
    int64_t now = wr_mono_us(wr_world_posix());
    w->started_us = w->last_rows_us = w->last_out_us = now;
    w->rate = 0;
    w->silence[0] = '\0';
    w->budget_warned = 0;
    w->next_us = now + LOOK_TTY_US;
    w->n_hot_said = 0;
    w->next_line_us = now + LINE_US;
    wr_job_status s;
    wr_sbuf       out = {0};
    wr_job_status_get(job, &s);
    w->first_rows_in = w->last_rows_in = s.rows_in;
    w->last_rows_out = s.rows_out;
    wr_observer_free(w->observer);
    w->observer = wr_observer_new(plan);
    if (w->quiet) {
        wr_arena_free(s.arena);
        return;
    }
    if (w->json) start_json(w, plan, &s, &out);
    else start_text(w, plan, &s, &out);
    wr_arena_free(s.arena);
    put(w, &out);
}

/* ---- progress ---- */
static double share_done(const wr_job_status *s) {
    uint64_t done = 0, total = 0;
    for (uint32_t i = 0; i < s->n_sources; i++) {
        if (s->sources[i].ended) continue;
        if (!s->sources[i].total) return -1;
    }
    for (uint32_t i = 0; i < s->n_sources; i++) done += s->sources[i].done, total += s->sources[i].total;
    return total ? WR_MIN((double)done / (double)total, 1.0) : -1;
}

/* ---- queues ---- */
static void lag_text(const wr_job_status *s, wr_sbuf *out) {
    uint64_t behind = 0, log = 0;
    bool     any = false, any_log = false;
    for (uint32_t i = 0; i < s->n_sources; i++) {
        if (s->sources[i].messages) behind += s->sources[i].behind, any = true;
        if (s->sources[i].log) log += s->sources[i].behind, any_log = true;
    }
    if (any) wr_sbuf_addz(out, ", lag "), add_count(out, behind);
    if (any_log) wr_sbuf_addz(out, ", lag "), wr_text_size((int64_t)log, out);
}

static double per_s(uint64_t n, const wr_job_status *s) { return s->running_us > 0 ? (double)n * 1e6 / (double)s->running_us : 0; }

/* What was read of queues in this run, and what is left there. */
static void queues_text(const wr_job_status *s, wr_sbuf *out) {
    for (uint32_t i = 0; i < s->n_sources; i++) {
        const wr_source_status *q = &s->sources[i];
        wr_str name;
        if (!q->messages) continue;
        table_name(q->node, &name);
        wr_sbuf_printf(out, "\nread of %.*s: ", WR_FMT(name));
        add_count(out, q->done);
        wr_sbuf_printf(out, " message%s (", q->done == 1 ? "" : "s");
        add_rate(out, per_s(q->done, s));
        wr_sbuf_addz(out, "/s), lag ");
        add_count(out, q->behind);
    }
}

/* ---- catching up ---- */
typedef struct catch_up { bool on, messages; int64_t lag_us; uint64_t behind; } catch_up;

/* A bounded input is as old as it is: its share done says enough, unless it is held back. */
static catch_up catch_up_of(const wr_job_status *s) {
    catch_up c = {0};
    if (share_done(s) >= 0 && !s->paced) return c;
    for (uint32_t i = 0; i < s->n_sources; i++) {
        if (!s->sources[i].catching_up) continue;
        c.on = true;
        c.lag_us = WR_MAX(c.lag_us, s->sources[i].lag_us);
        c.behind += s->sources[i].behind;
        c.messages = s->sources[i].messages;
    }
    return c;
}

static void measure_catch_up(watch *w, const wr_job_status *s, int64_t now) {
    enum { SPAN_US = 1000000 };
    catch_up c = catch_up_of(s);
    if (!c.on) {
        w->last_behind_us = 0;
        w->catch_up_rate = 0;
        return;
    }
    int64_t span = now - w->last_behind_us;
    if (w->last_behind_us && span < SPAN_US) return;
    if (w->last_behind_us) {
        double rate = ((double)w->last_behind - (double)c.behind) * 1e6 / (double)span;
        w->catch_up_rate = w->catch_up_rate ? 0.7 * w->catch_up_rate + 0.3 * rate : rate;
    }
    w->last_behind = c.behind;
    w->last_behind_us = now;
}

static int64_t catch_up_left_us(const watch *w, const catch_up *c) { return w->catch_up_rate > 1 ? (int64_t)WR_MIN((double)c->behind / w->catch_up_rate * 1e6, 1e17) : -1; }

/* Minutes of what takes hours, seconds of what takes minutes. */
static void rough_duration(int64_t us, wr_sbuf *out) {
    int64_t unit = us >= INT64_C(3600000000) ? INT64_C(60000000) : us >= 10000000 ? 1000000 : 100000;
    wr_text_duration(WR_MAX(us / unit * unit, unit), out);
}

static void catch_up_text(const watch *w, const wr_job_status *s, wr_sbuf *out) {
    catch_up c = catch_up_of(s);
    if (!c.on) return;
    int64_t left = catch_up_left_us(w, &c);
    wr_sbuf_addz(out, ", catching up: ");
    if (c.lag_us) rough_duration(c.lag_us, out);
    else if (c.messages) add_count(out, c.behind), wr_sbuf_addz(out, " messages");
    else wr_text_size((int64_t)c.behind, out);
    wr_sbuf_addz(out, " behind");
    if (left >= 0) wr_sbuf_addz(out, ", about "), rough_duration(left, out), wr_sbuf_addz(out, " left");
    else if (w->catch_up_rate < 0) wr_sbuf_addz(out, ", and input comes faster than it is read");
}

static void catch_up_json(const watch *w, const wr_job_status *s, wr_sbuf *out) {
    catch_up c = catch_up_of(s);
    if (!c.on) return;
    int64_t left = catch_up_left_us(w, &c);
    wr_sbuf_printf(out, ",\"catch_up\":{\"lag_us\":%" PRIi64 ",\"behind\":%" PRIu64 ",\"limited\":%s,\"left_us\":", c.lag_us, c.behind, s->paced ? "true" : "false");
    if (left >= 0) wr_sbuf_printf(out, "%" PRIi64 "}", left);
    else wr_sbuf_addz(out, "null}");
}

/* ---- overload ---- */
static void shed_text(const wr_job_status *s, wr_sbuf *out) {
    for (uint32_t i = 0; i < s->n_sources; i++) {
        const wr_source_status *q = &s->sources[i];
        wr_str name;
        if (!q->shed && !q->turned_away) continue;
        table_name(q->node, &name);
        wr_sbuf_printf(out, ", %s ", q->shed ? q->shedding ? "shedding" : "shed" : "turned away");
        add_count(out, q->shed ? q->shed : q->turned_away);
        wr_sbuf_printf(out, " %s of %.*s", q->shed ? "rows" : "requests", WR_FMT(name));
    }
}

/* ---- the memory budget ---- */
static void forecast_text(const wr_budget_status *b, wr_sbuf *out) {
    wr_sbuf_addz(out, "budget reached in ");
    wr_text_duration(WR_MAX(b->reach_us / 60000000 * 60000000, (int64_t)60000000), out);
    wr_sbuf_printf(out, " at this rate: %s grows ", b->grows->title);
    wr_text_size((int64_t)b->bytes_per_hour, out);
    wr_sbuf_addz(out, "/h");
}

/* Once below 7 days, once below 1 day, once below 1 hour; not if the input ends before. */
static void warn_ahead(watch *w, const wr_job_status *s) {
    static const int64_t steps[] = {INT64_C(7) * 86400000000, INT64_C(86400000000), INT64_C(3600000000)};
    double share = share_done(s);
    if (!s->budget.grows || s->budget.reach_us < 0) return;
    if (share > 0 && (double)s->running_us * (1 - share) / share < (double)s->budget.reach_us) return;
    uint32_t now = 0;
    while (now < WR_COUNT_OF(steps) && s->budget.reach_us < steps[now]) now++;
    if (now <= w->budget_warned) return;
    w->budget_warned = now;
    wr_sbuf out = {0};
    if (w->json) {
        wr_sbuf_addz(&out, "{\"event\":\"forecast\",\"budget\":");
        wr_observe_budget_json(&s->budget, &out);
        wr_sbuf_addz(&out, "}\n");
    } else {
        wr_sbuf_addz(&out, "  memory: ");
        forecast_text(&s->budget, &out);
        wr_sbuf_addc(&out, '\n');
    }
    put(w, &out);
}

static void progress_text(watch *w, const wr_job_status *s, wr_sbuf *out) {
    double share = share_done(s);
    wr_sbuf_addz(out, "  ");
    if (share >= 0) wr_sbuf_printf(out, "%.0f %%, ", share * 100);
    add_count(out, s->rows_in);
    wr_sbuf_addz(out, " rows in (");
    add_rate(out, w->rate);
    wr_sbuf_addz(out, "/s), ");
    add_count(out, s->rows_out);
    wr_sbuf_addz(out, " out, memory ");
    wr_text_size(s->memory_bytes, out);
    wr_sbuf_addz(out, " of ");
    wr_text_size(s->memory_limit_bytes, out);
    if (s->budget.level) wr_sbuf_printf(out, " (%s)", wr_budget_level_name(s->budget.level));
    if (s->budget.grows && s->budget.reach_us >= 0 && s->budget.reach_us < FORECAST_SHOWN_US) wr_sbuf_addz(out, ", "), forecast_text(&s->budget, out);
    if (s->checkpoints) wr_sbuf_printf(out, ", %" PRIu64 " checkpoint%s", s->checkpoints, s->checkpoints == 1 ? "" : "s");
    lag_text(s, out);
    catch_up_text(w, s, out);
    shed_text(s, out);
}

static void progress_json(watch *w, const wr_job_status *s, wr_sbuf *out) {
    double share = share_done(s);
    wr_sbuf_printf(out, "{\"event\":\"progress\",\"rows_in\":%" PRIu64 ",\"rows_out\":%" PRIu64 ",\"rows_per_s\":%.0f", s->rows_in, s->rows_out, w->rate);
    if (share >= 0) wr_sbuf_printf(out, ",\"done\":%.4f", share);
    wr_sbuf_printf(out, ",\"memory_bytes\":%" PRIi64 ",\"memory_limit_bytes\":%" PRIi64 ",\"checkpoints\":%" PRIu64 ",\"running_us\":%" PRIi64,
                   s->memory_bytes, s->memory_limit_bytes, s->checkpoints, s->running_us);
    wr_sbuf_addz(out, ",\"budget\":"), wr_observe_budget_json(&s->budget, out);
    wr_sbuf_addz(out, ",\"sources\":"), wr_observe_sources_json(s, out);
    catch_up_json(w, s, out);
    wr_sbuf_addz(out, "}\n");
}

static void say_silence(watch *w, const wr_job_status *s, int64_t now) {
    wr_sbuf why = {0}, out = {0};
    wr_why_silent(w->observer, s, &why);
    char text[sizeof w->silence];
    snprintf(text, sizeof text, "%.*s", WR_FMT(wr_sbuf_str(&why)));
    wr_sbuf_free(&why);
    if (!strcmp(text, w->silence) && now - w->silence_said_us < SILENCE_AGAIN_US) return;
    if (w->silence[0] && now - w->silence_said_us < SILENCE_US) return;
    snprintf(w->silence, sizeof w->silence, "%s", text);
    w->silence_said_us = now;
    if (w->json) {
        wr_sbuf_addz(&out, "{\"event\":\"silent\",\"why\":");
        wr_sbuf_add_json(&out, wr_str_of(text));
        wr_sbuf_addz(&out, "}\n");
    } else {
        wr_sbuf_printf(&out, "  %s\n", text);
    }
    put(w, &out);
}

/* One line for each checkpoint that was done since the last look (the newest WR_CHECKPOINT_HISTORY of them). */
static void say_checkpoints(watch *w, const wr_job_status *s) {
    wr_sbuf out = {0};
    for (uint32_t i = 0; w->json && i < s->n_history; i++) {
        const wr_checkpoint_report *r = &s->history[i];
        if (r->epoch <= w->epoch_said) continue;
        w->epoch_said = r->epoch;
        wr_sbuf_printf(&out, "{\"event\":\"checkpoint\",\"running_us\":%" PRIi64 ",\"checkpoint\":", s->running_us);
        wr_checkpoint_report_json(r, &out);
        wr_sbuf_addz(&out, "}\n");
    }
    if (out.len) put(w, &out);
}

static void say_progress(watch *w, const wr_job_status *s, int64_t now) {
    wr_sbuf out = {0};
    if (w->progress && !w->json) {
        progress_text(w, s, &out);
        fprintf(stderr, "\r\033[K%.*s", WR_FMT(wr_sbuf_str(&out)));
        fflush(stderr);
        w->drawn = true;
        wr_sbuf_free(&out);
        return;
    }
    if (now < w->next_line_us) return;
    w->next_line_us = now + (share_done(s) >= 0 || w->json || catch_up_of(s).on ? LINE_US : LINE_TAIL_US);
    if (w->json) progress_json(w, s, &out);
    else progress_text(w, s, &out), wr_sbuf_addc(&out, '\n');
    put(w, &out);
}

/* A key is said once, when it is found hot; the summary at the end says what held then. */
static void say_hot_keys(watch *w, const wr_job_status *s) {
    for (uint32_t i = 0; i < s->n_hot; i++) {
        const wr_hot_key *h = &s->hot[i];
        wr_sbuf  out = {0};
        uint64_t id = wr_hash_mix(wr_hash_bytes(h->key, strlen(h->key)), wr_hash_bytes(h->node->id, strlen(h->node->id)) + h->port);
        uint32_t k = 0;
        while (k < w->n_hot_said && w->hot_said[k] != id) k++;
        if (k < w->n_hot_said || w->n_hot_said == WR_COUNT_OF(w->hot_said)) continue;
        w->hot_said[w->n_hot_said++] = id;
        if (w->json) wr_sbuf_printf(&out, "{\"event\":\"hot_key\",\"running_us\":%" PRIi64 ",\"hot\":", s->running_us), wr_hot_key_json(h, &out), wr_sbuf_addz(&out, "}\n");
        else wr_sbuf_addz(&out, "  "), wr_hot_key_text(h, &out), wr_sbuf_addc(&out, '\n');
        put(w, &out);
    }
}

void watch_tick(void *arg, wr_job *job) {
    watch  *w = arg;
    int64_t now = wr_mono_us(wr_world_posix());
    if (w->quiet || now < w->next_us) return;
    w->next_us = now + (w->progress ? LOOK_TTY_US : LOOK_US);
    wr_job_status s;
    wr_job_status_get(job, &s);
    int64_t span = now - w->last_rows_us;
    if (span >= RATE_US) {
        w->rate = (double)(s.rows_in - w->last_rows_in) * 1e6 / (double)span;
        w->last_rows_in = s.rows_in;
        w->last_rows_us = now;
    } else if (!w->rate && now > w->started_us) {
        w->rate = (double)(s.rows_in - w->first_rows_in) * 1e6 / (double)(now - w->started_us);
    }
    if (s.rows_out != w->last_rows_out) {
        w->last_rows_out = s.rows_out;
        w->last_out_us = now;
        w->silence[0] = '\0';
    }
    if (!s.finished && now - w->last_out_us >= SILENCE_US) say_silence(w, &s, now);
    say_hot_keys(w, &s);
    say_checkpoints(w, &s);
    measure_catch_up(w, &s, now);
    warn_ahead(w, &s);
    say_progress(w, &s, now);
    if (wr_observer_due(w->observer, now)) wr_observer_see(w->observer, &s, now);
    else wr_arena_free(s.arena);
}

/* ---- end ---- */
static const char *end_word(const wr_job_status *s, wr_status status) {
    if (status == WR_OK) return s->finished ? "done" : "stopped";
    return status == WR_CANCELLED ? "stopped" : "failed";
}

static void end_text(watch *w, const wr_job_plan *plan, const wr_job_status *s, wr_status status, wr_sbuf *out) {
    double seconds = (double)s->running_us / 1e6;
    job_name(w, plan, out);
    wr_sbuf_printf(out, " %s after ", end_word(s, status));
    wr_text_duration(s->running_us, out);
    wr_sbuf_addz(out, ": ");
    add_count(out, s->rows_in);
    wr_sbuf_addz(out, " rows in");
    if (w->first_rows_in) wr_sbuf_addz(out, ", "), add_count(out, s->rows_in - w->first_rows_in), wr_sbuf_addz(out, " of them in this run");
    if (seconds > 0.01) wr_sbuf_addz(out, " ("), add_rate(out, (double)(s->rows_in - w->first_rows_in) / seconds), wr_sbuf_addz(out, "/s)");
    wr_sbuf_addz(out, ", ");
    add_count(out, s->rows_out);
    wr_sbuf_addz(out, " rows out, memory at most ");
    wr_text_size(s->memory_peak_bytes, out);
    wr_sbuf_addz(out, " of ");
    wr_text_size(s->memory_limit_bytes, out);
    wr_sbuf_addz(out, " (process ");
    wr_text_size(wr_peak_rss_bytes(), out);
    wr_sbuf_addc(out, ')');
    if (s->budget.throttled_us) wr_sbuf_addz(out, ", sources held back for "), wr_text_duration(s->budget.throttled_us, out);
    if (s->checkpoints) {
        wr_sbuf_printf(out, ", %" PRIu64 " checkpoint%s, the last ", s->checkpoints, s->checkpoints == 1 ? "" : "s");
        wr_text_size(s->last_checkpoint_bytes, out);
        wr_sbuf_addz(out, " in ");
        wr_text_duration(s->last_checkpoint_us, out);
        wr_sbuf_addz(out, "\n");
        wr_job_checkpoint_text(s, out);
    }
    queues_text(s, out);
    for (uint32_t i = 0; i < s->n_hot; i++) wr_sbuf_addz(out, "\nhot: "), wr_hot_key_text(&s->hot[i], out);
    for (uint32_t i = 0; i < s->n_sources; i++)
        if (s->sources[i].left[0]) wr_sbuf_printf(out, "\nread: %s\nleft: %s", s->sources[i].what, s->sources[i].left);
    wr_sbuf_addz(out, "\nwhere every row went:\n");
    wr_sbuf ledger = {0};
    bool    closes = wr_job_ledger_text(s, &ledger);
    for (char *at = ledger.at, *end = ledger.at + ledger.len; at < end;) {
        char *nl = memchr(at, '\n', (size_t)(end - at));
        char *to = nl ? nl : end;
        wr_sbuf_printf(out, "  %.*s\n", (int)(to - at), at);
        at = to + 1;
    }
    wr_sbuf_free(&ledger);
    if (status == WR_OK && s->finished) wr_sbuf_addz(out, closes ? "the ledger closes\n" : "THE LEDGER DOES NOT CLOSE\n");
    else wr_sbuf_addz(out, closes ? "the ledger closes so far\n" : "rows in flight at the stop are not accounted for\n");
    w->ledger_open = w->ledger_open || (!closes && status == WR_OK && s->finished);
}

static void end_json(watch *w, const wr_job_status *s, wr_status status, wr_sbuf *out) {
    wr_sbuf spare = {0};
    bool    closes = wr_job_ledger_text(s, &spare);
    wr_sbuf_free(&spare);
    w->ledger_open = w->ledger_open || (!closes && status == WR_OK && s->finished);
    wr_sbuf_printf(out, "{\"event\":\"end\",\"outcome\":\"%s\",\"status\":\"%s\",\"rows_in\":%" PRIu64 ",\"rows_out\":%" PRIu64, end_word(s, status),
                   wr_status_name(status), s->rows_in, s->rows_out);
    wr_sbuf_printf(out, ",\"running_us\":%" PRIi64 ",\"cpu_us\":%" PRIi64 ",\"memory_peak_bytes\":%" PRIi64 ",\"memory_limit_bytes\":%" PRIi64
                   ",\"peak_rss_bytes\":%" PRIi64, s->running_us, wr_cpu_time_us(), s->memory_peak_bytes, s->memory_limit_bytes, wr_peak_rss_bytes());
    wr_sbuf_addz(out, ",\"hot_keys\":[");
    for (uint32_t i = 0; i < s->n_hot; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_hot_key_json(&s->hot[i], out);
    }
    wr_sbuf_addz(out, "],\"exchanges\":");
    wr_exchanges_json(s, out);
    wr_sbuf_addz(out, ",\"left\":[");
    for (uint32_t i = 0, n = 0; i < s->n_sources; i++)
        if (s->sources[i].left[0]) wr_sbuf_addz(out, n++ ? "," : ""), wr_sbuf_add_json(out, wr_str_of(s->sources[i].left));
    wr_sbuf_addc(out, ']');
    wr_sbuf_printf(out, ",\"checkpoints\":%" PRIu64 ",\"checkpoint_epoch\":%" PRIu64 ",\"last_checkpoint_us\":%" PRIi64 ",\"last_checkpoint_bytes\":%" PRIi64
                   ",\"closes\":%s,\"ledger\":", s->checkpoints, s->checkpoint_epoch, s->last_checkpoint_us, s->last_checkpoint_bytes,
                   closes ? "true" : "false");
    wr_job_ledger_json(s, out);
    wr_sbuf_addz(out, ",\"checkpoint_history\":");
    wr_job_checkpoints_json(s, out);
    wr_sbuf_addz(out, ",\"budget\":"), wr_observe_budget_json(&s->budget, out);
    wr_sbuf_addz(out, ",\"sources\":"), wr_observe_sources_json(s, out);
    wr_sbuf_addz(out, "}\n");
}

void watch_end(void *arg, const wr_job_plan *plan, wr_job *job, wr_status status, const wr_err *err) {
    (void)err; /* printed once, by the command */
    watch        *w = arg;
    wr_job_status s;
    fflush(stdout);
    wr_job_status_get(job, &s);
    if (status == WR_CANCELLED) w->stop_epoch = s.checkpoint_epoch;
    wr_sbuf out = {0};
    if (w->json) end_json(w, &s, status, &out);
    else end_text(w, plan, &s, status, &out);
    if (w->quiet) wr_sbuf_free(&out);
    else put(w, &out);
    wr_arena_free(s.arena);
}
