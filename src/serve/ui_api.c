/* serve/ui_api.c: what the dashboard asks for beside the reports: the past of this run, dead letters, and putting them back.
 *
 * History    GET /api/history: observe/history.h.
 * Letters    GET /api/letters?limit=200: {"total", "of_another_state", "unreadable", "can_replay", "cannot_replay" (why), "reason" (why there are none), "letters": [as `weir replay --list`
 *            writes them, the newest first]}. They are read by a session of its own with the job's script, as `weir replay` does it; a file of more than
 *            LETTERS_BYTES is not read, since the job's memory is not the place for it.
 * Replay     POST /api/replay {"ids": ["...", ...]} answers 202 {"name", "letters"}: the request is in the state directory (run/again.h), where the job finds it; it has taken the letters
 *            when its next checkpoint has them. GET /api/replay?name=NAME: {"done": false}, or {"done": true, "outcomes": {"passed": 3, ...}, "letters": [{"id", "outcome", "why"}]}, once.
 * Bounds     REPLAYS requests at a time; the oldest is withdrawn when there is one more.
 * Thread     the server's; the list under its lock.                                                                               */
#include "serve/internal.h"
#include "api/letters.h"
#include "serve/ids.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REPLAYS = 8, LETTERS_BYTES = 16 << 20, LETTERS_SHOWN = 200, LETTERS_SHOWN_MAX = 5000 };

typedef struct replay {
    char             name[64];
    wr_session      *session;          /* owns the strings of the letters; NULL: this place is free */
    wr_letters       letters;
    wr_again_request request;
    bool             asked;            /* somebody looks at it */
} replay;
struct replays { replay at[REPLAYS]; uint32_t next, number; };

/* ---- history ---- */
void serve_history(const serve_ask *ask, wr_http_out *out) {
    wr_serve *s = ask->serve;
    wr_mutex_lock(s->lock);
    if (s->history && s->job) wr_history_json(s->history, &out->body);
    else wr_http_out_error(out, 503, "no job runs here now");
    wr_mutex_unlock(s->lock);
}

/* ---- reading letters ---- */
static void refuse(wr_http_out *out, int status, const wr_err *err) {
    wr_http_out_error(out, status, "%s%s%s", err->message, err->hint[0] ? ": " : "", err->hint);
}

/* The letters of the job, in a session that the caller frees. WR_UNSUPPORTED: this job's script is not at hand. */
static wr_status read_letters(wr_serve *s, const wr_letters_opts *o, wr_session **session, wr_letters *letters, wr_err *err) {
    *letters = (wr_letters){0};
    *session = s->opts.script ? s->opts.script(s->opts.script_arg) : NULL;
    if (!*session) return wr_fail(err, WR_UNSUPPORTED, "WR446", "the job's script cannot be read again");
    if (wr_session_plan(*session) != WR_OK) return wr_fail(err, WR_USER, "WR446", "the script is not what the job was started with: it cannot be planned any more");
    return wr_letters_read(*session, o, letters, err);
}

static int newest_first(const void *a, const void *b) {
    const wr_letter_row *x = a, *y = b;
    return x->at_us < y->at_us ? 1 : x->at_us > y->at_us ? -1 : 0;
}

static void letters_json(const wr_serve *s, wr_letters *l, uint32_t limit, wr_sbuf *out) {
    bool can = s->opts.state_dir != NULL;
    wr_sbuf_printf(out, "{\"total\":%u,\"of_another_state\":%u,\"unreadable\":%u,\"can_replay\":%s,\"cannot_replay\":", l->list.n, l->n_other_state, l->n_unreadable, can ? "true" : "false");
    wr_sbuf_addz(out, can ? "null" : "\"the job keeps no state, so it could not know which letters are in: give it --state-dir\"");
    wr_sbuf_addz(out, ",\"reason\":null,\"letters\":[");
    if (l->list.n) qsort(l->list.at, l->list.n, sizeof *l->list.at, newest_first);
    for (uint32_t i = 0; i < l->list.n && i < limit; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_letter_json(&l->list.at[i], false, out);
    }
    wr_sbuf_addz(out, "]}");
}

static const wr_letters_opts EVERY_LETTER = {.since_us = WR_TIME_MIN, .until_us = WR_TIME_MAX, .max_bytes = LETTERS_BYTES};

void serve_letters(const serve_ask *ask, wr_http_out *out) {
    char        text[32];
    const char *limit = serve_param(ask, "limit", text, sizeof text);
    uint32_t    n = limit ? (uint32_t)WR_MIN(strtoul(limit, NULL, 10), (unsigned long)LETTERS_SHOWN_MAX) : (uint32_t)LETTERS_SHOWN;
    wr_session *session;
    wr_letters  letters;
    wr_err      err = {0};
    wr_status   status = read_letters(ask->serve, &EVERY_LETTER, &session, &letters, &err);
    if (status == WR_OK) {
        letters_json(ask->serve, &letters, n, &out->body);
    } else if (status == WR_USER && !strcmp(err.code, "WR398")) { /* no table has any: that is an answer */
        wr_sbuf_addz(&out->body, "{\"total\":0,\"of_another_state\":0,\"unreadable\":0,\"can_replay\":false,\"cannot_replay\":null,\"letters\":[],\"reason\":");
        wr_sbuf reason = {0};
        wr_sbuf_printf(&reason, "%s: %s", err.message, err.hint);
        wr_sbuf_add_json(&out->body, wr_sbuf_str(&reason));
        wr_sbuf_free(&reason);
        wr_sbuf_addc(&out->body, '}');
    } else {
        refuse(out, status == WR_UNSUPPORTED ? 404 : 409, &err);
    }
    wr_letters_free(&letters);
    wr_session_free(session);
}

/* ---- putting back ---- */
static void forget(wr_serve *s, replay *r) {
    wr_err ignored;
    if (r->session && s->opts.state_dir) (void)!wr_again_withdraw(s->opts.world, s->opts.state_dir, r->name, &ignored);
    wr_arr_free(&r->request.letters);
    wr_letters_free(&r->letters);
    wr_session_free(r->session);
    *r = (replay){0};
}

void serve_replays_free(wr_serve *s) {
    for (uint32_t i = 0; s->replays && i < REPLAYS; i++) forget(s, &s->replays->at[i]);
    wr_free(s->replays);
    s->replays = NULL;
}

static bool is_wanted(const serve_ids *ids, wr_str id) {
    for (uint32_t i = 0; i < ids->n; i++)
        if (wr_str_eq(ids->at[i], id)) return true;
    return false;
}

/* Those of the wanted ones that can go back; a record that was too long is there only in part. */
static void choose(wr_letters *letters, const serve_ids *ids) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < letters->list.n; i++) {
        const wr_letter_row *l = &letters->list.at[i];
        bool in_part = l->of_join || (!l->of_sink && wr_str_eq(l->code, WR_STR("54000")));
        if (!in_part && is_wanted(ids, l->id)) letters->list.at[kept++] = *l;
    }
    letters->list.n = kept;
}

static wr_status put(wr_serve *s, replay *r, wr_err *err) {
    wr_letters_opts o = EVERY_LETTER;
    if (!r->letters.list.n) return wr_fail(err, WR_USER, "WR447", "none of these letters is there and whole");
    if (wr_letters_request(&o, &r->letters, 0, &r->request) < r->letters.list.n) return wr_fail(err, WR_LIMIT, "WR447", "too many letters for one request: choose fewer");
    return wr_again_put_request(s->opts.world, s->opts.state_dir, r->name, &r->request, err);
}

static void keep(wr_serve *s, replay *r) { /* under the lock */
    struct replays *all = s->replays;
    replay         *place = &all->at[all->next];
    for (uint32_t i = 0; i < REPLAYS && place->asked; i++) place = &all->at[all->next = (all->next + 1) % REPLAYS];
    all->next = (all->next + 1) % REPLAYS;
    forget(s, place);
    *place = *r;
}

static void ask_job(wr_serve *s, const serve_ids *ids, wr_http_out *out) {
    replay    r = {0};
    wr_err    err = {0};
    wr_status status = read_letters(s, &EVERY_LETTER, &r.session, &r.letters, &err);
    wr_mutex_lock(s->lock);
    if (!s->replays) s->replays = wr_calloc(1, sizeof *s->replays);
    snprintf(r.name, sizeof r.name, "%016" PRIx64 "-%d-ui%06u", (uint64_t)wr_wall_us(s->opts.world), (int)getpid(), s->replays->number++);
    wr_mutex_unlock(s->lock);
    if (status == WR_OK) choose(&r.letters, ids), status = put(s, &r, &err);
    if (status != WR_OK) {
        refuse(out, status == WR_UNSUPPORTED ? 404 : 409, &err);
        wr_arr_free(&r.request.letters);
        wr_letters_free(&r.letters);
        wr_session_free(r.session);
        return;
    }
    out->status = 202;
    wr_sbuf_printf(&out->body, "{\"name\":\"%s\",\"letters\":%u}", r.name, r.letters.list.n);
    wr_mutex_lock(s->lock);
    keep(s, &r);
    wr_mutex_unlock(s->lock);
}

static void outcome_json(const replay *r, wr_sbuf *out) {
    uint32_t n[WR_AGAIN_CANNOT + 1] = {0};
    for (uint32_t i = 0; i < r->request.letters.n; i++) n[r->request.letters.at[i].outcome]++;
    wr_sbuf_addz(out, "{\"done\":true,\"outcomes\":{");
    const char *sep = "";
    for (uint32_t o = 0; o < WR_COUNT_OF(n); o++)
        if (n[o]) wr_sbuf_printf(out, "%s\"%s\":%u", sep, wr_again_outcome_name((wr_again_outcome)o), n[o]), sep = ",";
    wr_sbuf_addz(out, "},\"letters\":[");
    for (uint32_t i = 0; i < r->request.letters.n; i++) {
        const wr_again_letter *l = &r->request.letters.at[i];
        wr_sbuf_addz(out, i ? ",{\"id\":" : "{\"id\":"), wr_sbuf_add_json(out, l->id);
        wr_sbuf_printf(out, ",\"outcome\":\"%s\",\"why\":", wr_again_outcome_name(l->outcome));
        if (l->reason[0]) wr_sbuf_add_json(out, wr_str_of(l->reason));
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addz(out, "]}");
}

static void tell(wr_serve *s, const char *name, wr_http_out *out) {
    wr_err  err = {0};
    replay *r = NULL;
    bool    there = false;
    wr_mutex_lock(s->lock);
    for (uint32_t i = 0; s->replays && i < REPLAYS; i++)
        if (s->replays->at[i].session && !s->replays->at[i].asked && !strcmp(s->replays->at[i].name, name)) r = &s->replays->at[i], r->asked = true;
    wr_mutex_unlock(s->lock);
    if (!r) {
        wr_http_out_error(out, 404, "no letters are under way by that name");
        return;
    }
    wr_status status = wr_again_take_result(s->opts.world, s->opts.state_dir, name, &r->request, &there, &err);
    if (status != WR_OK) refuse(out, 500, &err);
    else if (there) outcome_json(r, &out->body);
    else wr_sbuf_addz(&out->body, "{\"done\":false}");
    wr_mutex_lock(s->lock);
    r->asked = false;
    if (there || status != WR_OK) forget(s, r);
    wr_mutex_unlock(s->lock);
}

void serve_replay(const serve_ask *ask, wr_http_out *out) {
    wr_serve *s = ask->serve;
    char      text[64];
    bool      post = ask->http && !strcmp(ask->http->method, "POST");
    if (!post) {
        const char *name = serve_param(ask, "name", text, sizeof text);
        if (name) tell(s, name, out);
        else wr_http_out_error(out, 400, "which request? /api/replay?name=NAME, the name that POST /api/replay gave");
        return;
    }
    wr_arena *arena = wr_arena_new(NULL);
    serve_ids ids;
    if (!serve_ids_parse(arena, ask->http->body, &ids)) wr_http_out_error(out, 400, "expected {\"ids\": [\"id of a letter\", ...]}");
    else if (!s->opts.state_dir) wr_http_out_error(out, 409, "the job keeps no state, so it could not know which letters are in: give it --state-dir");
    else ask_job(s, &ids, out);
    wr_arena_free(arena);
}
