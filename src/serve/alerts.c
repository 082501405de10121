/* serve/alerts.c: conditions that somebody should know of; which of them hold, since when, and telling the webhook when one begins and ends.
 *
 * Idea       twice a second every condition that holds is raised again, by a name and a subject; what was raised before and is not any more is resolved. News
 *            of a second go together in one text (docs/monitoring.md has its form). Firing alerts are said again every four hours.
 * Bounds     ALERTS_MOST alerts at a time; the same conditions of more tables than that say nothing new.
 * Thread     with the lock of serve/; sending is the poster's thread.                                                                  */
#include "serve/internal.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { ALERTS_MOST = 256 };
#define GROUP_US INT64_C(1000000)
#define REPEAT_US (INT64_C(4) * 3600 * 1000000)
#define LETTERS_QUIET_US (INT64_C(5) * 60 * 1000000)
#define BUDGET_SOON_US (INT64_C(24) * 3600 * 1000000)

typedef struct alert {
    char    name[32], subject[160], severity[12], text[400];
    int64_t since_us, said_us;              /* wall clock; said: monotonic, 0: not yet */
    bool    raised, firing, changed;        /* raised: in this look; changed: to be said */
} alert;
typedef struct silence { uint64_t done; int64_t since_us; } silence; /* of a source */
struct alerts {
    poster  *to;
    uint32_t n;
    alert    at[ALERTS_MOST];
    int64_t  silent_us, changed_us;         /* changed: monotonic, of the oldest news; 0: there are none */
    /* what the conditions remember */
    uint64_t failed, completed, letters;
    int64_t  letters_us;
    bool     failing, looked;
    uint32_t open_looks;                    /* in a row in which a ledger did not close */
    uint32_t n_sources;
    silence *sources;
};

alerts *alerts_new(poster *to, int64_t silent_us) {
    alerts *a = wr_calloc(1, sizeof *a);
    a->to = to;
    a->silent_us = silent_us;
    return a;
}

void alerts_free(alerts *a) {
    if (!a) return;
    wr_free(a->sources);
    wr_free(a);
}

void alerts_each(alerts *a, void (*visit)(void *arg, const char *name, const char *severity, wr_str subject), void *arg) {
    for (uint32_t i = 0; a && i < a->n; i++)
        if (a->at[i].firing) visit(arg, a->at[i].name, a->at[i].severity, wr_str_of(a->at[i].subject));
}

/* ---- raising ---- */
WR_PRINTF(6, 7) static void raise_alert(alerts *a, const wr_job_status *s, const char *name, wr_str subject, const char *severity, const char *fmt, ...) {
    char        about[sizeof a->at[0].subject];
    alert      *to = NULL;
    snprintf(about, sizeof about, "%.*s", WR_FMT(subject));
    for (uint32_t i = 0; i < a->n && !to; i++)
        if (!strcmp(a->at[i].name, name) && !strcmp(a->at[i].subject, about)) to = &a->at[i];
    if (!to) {
        if (a->n == ALERTS_MOST) return;
        to = &a->at[a->n++];
        *to = (alert){0};
        snprintf(to->name, sizeof to->name, "%s", name);
        memcpy(to->subject, about, sizeof about);
    }
    if (!to->firing) to->since_us = s->wall_us;
    to->changed = to->changed || !to->firing || strcmp(to->severity, severity) || (to->said_us && s->mono_us - to->said_us >= REPEAT_US);
    to->firing = to->raised = true;
    snprintf(to->severity, sizeof to->severity, "%s", severity);
    va_list args;
    va_start(args, fmt);
    vsnprintf(to->text, sizeof to->text, fmt, args);
    va_end(args);
}

static void slo_text(const wr_slo_state *s, wr_sbuf *out) {
    wr_sbuf_clear(out);
    wr_sbuf_printf(out, "%.*s: %s is ", WR_FMT(s->table), s->target.name);
    wr_slo_value_text(&s->target, s->value, out);
    wr_sbuf_addz(out, ", promised: ");
    wr_slo_value_text(&s->target, s->target.limit, out);
    static const uint32_t windows[][2] = {{1, 3}, {0, 2}}; /* the two of a ticket, of a page */
    if (s->alert < WR_SLO_TICKET) return;
    const uint32_t *w = windows[s->alert == WR_SLO_PAGE];
    wr_sbuf_printf(out, "; the error budget is used up %.1f times too fast over %s and %.1f times over %s, ", s->burn[w[0]], wr_slo_window_names[w[0]], s->burn[w[1]], wr_slo_window_names[w[1]]);
    wr_sbuf_printf(out, "%.1f %% of it is left", 100 * s->budget_left);
}

static void look_at_slos(alerts *a, const wr_slos *slos, const wr_job_status *s) {
    wr_sbuf text = {0}, subject = {0};
    for (uint32_t i = 0; i < wr_slos_count(slos); i++) {
        const wr_slo_state *q = wr_slos_at(slos, i);
        if (q->alert == WR_SLO_FINE) continue;
        slo_text(q, &text);
        wr_sbuf_clear(&subject);
        wr_sbuf_printf(&subject, "%.*s %s", WR_FMT(q->table), q->target.name);
        raise_alert(a, s, "slo", wr_sbuf_str(&subject), wr_slo_alert_name(q->alert), "%.*s", WR_FMT(wr_sbuf_str(&text)));
    }
    wr_sbuf_free(&text);
    wr_sbuf_free(&subject);
}

/* Workers report one after the other: what does not add up once is nothing yet, and a job that broke off has rows under way. */
static void look_at_ledger(alerts *a, const wr_job_status *s, bool last) {
    bool closes = true;
    for (uint32_t i = 0; i < s->n_nodes; i++) closes = closes && wr_node_closes(s, &s->nodes[i]);
    a->open_looks = closes ? 0 : a->open_looks + 1;
    if (a->open_looks < 3 && !(last && s->finished)) return;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!wr_node_closes(s, &s->nodes[i]))
            raise_alert(a, s, "ledger", wr_str_of(s->nodes[i].node->id), "page", "%s: the ledger does not close: rows are unaccounted for; this is a fault of weir", s->nodes[i].node->title);
}

static void look_at_budget(alerts *a, const wr_job_status *s) {
    const wr_budget_status *b = &s->budget;
    if (b->reach_us < 0 || b->reach_us > BUDGET_SOON_US || !b->grows) return;
    wr_sbuf in = {0};
    wr_text_duration(b->reach_us, &in);
    raise_alert(a, s, "budget", wr_str_of(b->grows->id), "ticket", "the memory budget is reached in %.*s; %s grows most", WR_FMT(wr_sbuf_str(&in)), b->grows->title);
    wr_sbuf_free(&in);
}

static void look_at_checkpoints(alerts *a, const wr_job_status *s) {
    if (s->checkpoints_failed > a->failed) a->failing = true;
    else if (s->checkpoints > a->completed) a->failing = false;
    a->failed = s->checkpoints_failed, a->completed = s->checkpoints;
    if (a->failing) raise_alert(a, s, "checkpoints", WR_STR("job"), "page", "checkpoints fail, the last one is %" PRIu64 ": %s", s->checkpoint_epoch, s->checkpoint_error);
}

static void look_at_letters(alerts *a, const wr_job_status *s) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->n_nodes; i++) n += s->nodes[i].ledger.dropped[WR_REASON_DEAD_LETTER];
    if (!a->looked) a->letters = n; /* of before */
    if (n > a->letters) a->letters_us = s->mono_us;
    a->letters = WR_MAX(a->letters, n);
    if (a->letters_us && s->mono_us - a->letters_us < LETTERS_QUIET_US)
        raise_alert(a, s, "dead-letters", WR_STR("job"), "ticket", "dead letters are growing: %" PRIu64 " so far; 'weir replay' puts them back", n);
}

static void look_at_sources(alerts *a, const wr_job_status *s) {
    if (!a->sources) a->sources = wr_calloc(s->n_sources + 1, sizeof *a->sources), a->n_sources = s->n_sources;
    for (uint32_t i = 0; i < s->n_sources && i < a->n_sources; i++) {
        const wr_source_status *q = &s->sources[i];
        silence                *l = &a->sources[i];
        if (q->done != l->done || !l->since_us || q->ended || q->node->kind != WR_P_SOURCE) {
            *l = (silence){q->done, s->mono_us};
        } else if (q->waiting && s->mono_us - l->since_us >= a->silent_us) {
            wr_sbuf span = {0};
            wr_text_duration(a->silent_us, &span);
            raise_alert(a, s, "source-silent", q->node->source.table->name, "ticket", "%.*s: nothing new to read for more than %.*s", WR_FMT(q->node->source.table->name), WR_FMT(wr_sbuf_str(&span)));
            wr_sbuf_free(&span);
        }
    }
}

/* ---- saying ---- */
static void time_json(const char *name, int64_t us, wr_sbuf *out) {
    char text[40];
    wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 3), 'T', text);
    wr_sbuf_printf(out, ",\"%s\":\"%sZ\"", name, text);
}

static void alert_json(const alert *t, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"status\":\"%s\",\"alert\":\"%s\",\"severity\":\"%s\",\"subject\":", t->firing ? "firing" : "resolved", t->name, t->severity);
    wr_sbuf_add_json(out, wr_str_of(t->subject));
    wr_sbuf_addz(out, ",\"message\":");
    wr_sbuf_add_json(out, wr_str_of(t->text));
    time_json("since", t->since_us, out);
    wr_sbuf_addc(out, '}');
}

/* What a chat shows: a line for each. */
static void chat_text(const alerts *a, wr_str job, wr_sbuf *out) {
    for (uint32_t i = 0; i < a->n; i++) {
        const alert *t = &a->at[i];
        if (!t->changed) continue;
        if (out->len) wr_sbuf_addc(out, '\n');
        if (t->firing) wr_sbuf_printf(out, "[%s] %.*s: %s", t->severity, WR_FMT(job), t->text);
        else wr_sbuf_printf(out, "[resolved] %.*s: %s %s (%s)", WR_FMT(job), t->name, t->subject, t->text);
    }
}

static void say(alerts *a, wr_str job, const wr_job_status *s) {
    wr_sbuf body = {0}, text = {0};
    bool    firing = false;
    for (uint32_t i = 0; i < a->n; i++) firing = firing || (a->at[i].changed && a->at[i].firing);
    chat_text(a, job, &text);
    wr_sbuf_printf(&body, "{\"version\":1,\"status\":\"%s\",\"job\":", firing ? "firing" : "resolved");
    wr_sbuf_add_json(&body, job);
    time_json("at", s->wall_us, &body);
    wr_sbuf_addz(&body, ",\"text\":");
    wr_sbuf_add_json(&body, wr_sbuf_str(&text));
    wr_sbuf_addz(&body, ",\"alerts\":[");
    const char *sep = "";
    for (uint32_t i = 0; i < a->n; i++) {
        alert *t = &a->at[i];
        if (!t->changed) continue;
        wr_sbuf_addz(&body, sep), sep = ",";
        alert_json(t, &body);
        t->changed = false;
        t->said_us = s->mono_us;
    }
    wr_sbuf_addz(&body, "]}");
    wr_sbuf_free(&text);
    if (a->to) (void)poster_send(a->to, &body); /* it counts what it drops */
    else wr_sbuf_free(&body);
}

static void settle(alerts *a, const wr_job_status *s) {
    bool any = false;
    for (uint32_t i = 0; i < a->n; i++) {
        alert *t = &a->at[i];
        if (t->firing && !t->raised) t->firing = false, t->changed = true;
        any = any || t->changed;
    }
    if (!any) a->changed_us = 0;
    else if (!a->changed_us) a->changed_us = s->mono_us;
}

static void forget(alerts *a) { /* what is over and said */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].firing || a->at[i].changed) {
            if (kept != i) a->at[kept] = a->at[i];
            kept++;
        }
    a->n = kept;
}

void alerts_look(alerts *a, const wr_slos *slos, wr_str job, const wr_job_status *s, const wr_err *failed, bool last) {
    for (uint32_t i = 0; i < a->n; i++) a->at[i].raised = false;
    look_at_slos(a, slos, s);
    look_at_ledger(a, s, last);
    look_at_budget(a, s);
    look_at_checkpoints(a, s);
    look_at_letters(a, s);
    if (!last) look_at_sources(a, s);
    if (failed) raise_alert(a, s, "job-failed", job, "page", "the job has stopped: [%s] %s", failed->code, failed->message);
    a->looked = true;
    settle(a, s);
    if (!a->changed_us || (!last && s->mono_us - a->changed_us < GROUP_US)) return;
    say(a, job, s);
    a->changed_us = 0;
    forget(a);
}

void alerts_json(const alerts *a, wr_sbuf *out) {
    const char *sep = "";
    wr_sbuf_addz(out, "{\"alerts\":[");
    for (uint32_t i = 0; a && i < a->n; i++) {
        if (!a->at[i].firing) continue;
        wr_sbuf_addz(out, sep), sep = ",";
        alert_json(&a->at[i], out);
    }
    wr_sbuf_addc(out, ']');
    if (a && a->to) {
        poster_status p;
        poster_status_get(a->to, &p);
        wr_sbuf_printf(out, ",\"webhook\":{\"sent\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"waiting\":%u,\"why\":", p.sent, p.failed, p.dropped, p.waiting);
        wr_sbuf_add_json(out, wr_str_of(p.why));
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addc(out, '}');
}
