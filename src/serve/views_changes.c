/* serve/views_changes.c: GET /api/views/NAME/changes: what changes in a view, as server-sent events.
 *
 * Events     `changes`: some of the changes of one step from a version to a later one; `as_of`: they are all told, the id is the version; what changed several times in
 *            between comes once. `snapshot`: rows, when asked for, or behind `reset`: the version to go on from is not kept any more. `gone`: the reader was too slow.
 *            `end`: the job has ended.
 * Resume     Last-Event-ID or ?since=: the id of the last `as_of`; nothing in between is left out or told twice.
 * Bound      one piece of text a stream, and the version that it holds (view.h). Who does not read is cut by the server's time limit.
 * Thread     more, close: the server's; the listener: whoever publishes.                                                        */
#include "serve/views.h"
#include "connect/connect.h"
#include <inttypes.h>
#include <stdio.h>

enum { STREAMS_MOST = 500, PIECE_ROWS = 256, ID_MAX = 64 };
static const int64_t BEAT_US = INT64_C(5) * 1000000;

struct view_stream {
    view_stream     *next;
    serve_views     *views;
    wr_http_in      *in;
    wr_view         *view;
    wr_view_listener listener;
    wr_view_cut     *cut;        /* of a snapshot that is under way */
    wr_view_scan    *scan;
    wr_view_sub     *sub;
    wr_encoder      *encoder;
    wr_sbuf          text, scratch;
    size_t           sent;
    bool             told, ended; /* told: changes of the round that is under way */
    _Atomic bool     beat;       /* the next round is told even if nothing changed */
};

static void put_as_of(view_stream *s, const wr_view_as_of *a) {
    wr_sbuf_addz(&s->text, "event: as_of\nid: ");
    serve_view_id(a, &s->text);
    wr_sbuf_addz(&s->text, "\ndata: ");
    serve_view_as_of_json(a, wr_wall_us(s->views->world), &s->text);
    wr_sbuf_addz(&s->text, "\n\n");
}

static void put_failed(view_stream *s, const wr_err *err) {
    wr_sbuf_printf(&s->text, "event: %s\ndata: {\"code\":\"%s\",\"error\":", strcmp(err->code, WR_VIEW_GONE) ? "error" : "gone", err->code);
    wr_sbuf_add_json(&s->text, wr_str_of(err->message));
    wr_sbuf_addz(&s->text, "}\n\n");
    s->ended = true;
}

static void put_changes(view_stream *s, const wr_batch *rows) {
    static const char *const NAMES[] = {"insert", "before", "update", "delete"};
    wr_sbuf_addz(&s->text, "event: changes\ndata: [");
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        wr_sbuf_printf(&s->text, "%s{\"op\":\"%s\",\"row\":", i ? "," : "", NAMES[rows->kinds[i]]);
        serve_view_rows_json(s->encoder, rows, i, i + 1, &s->scratch, &s->text);
        wr_sbuf_addc(&s->text, '}');
    }
    wr_sbuf_addz(&s->text, "]\n\n");
}

/* A piece of the snapshot. */
static void fill_snapshot(view_stream *s) {
    wr_err    err = {0};
    wr_batch *rows;
    if (wr_view_scan_next(s->scan, PIECE_ROWS, &rows, &err) != WR_OK) {
        put_failed(s, &err);
        return;
    }
    if (rows) {
        wr_sbuf_addz(&s->text, "event: snapshot\ndata: [");
        serve_view_rows_json(s->encoder, rows, 0, rows->n_rows, &s->scratch, &s->text);
        wr_sbuf_addz(&s->text, "]\n\n");
        wr_batch_unref(rows);
        return;
    }
    put_as_of(s, wr_view_cut_as_of(s->cut));
    wr_view_scan_free(s->scan), s->scan = NULL;
    wr_view_unpin(s->cut), s->cut = NULL;
}

/* A piece of a round of changes. */
static void fill_changes(view_stream *s) {
    wr_err        err = {0};
    wr_batch     *rows;
    wr_view_as_of as_of;
    wr_view_info  info;
    wr_view_info_get(s->view, &info); /* first: what is published after it belongs to the next call */
    if (wr_view_sub_next(s->sub, false, PIECE_ROWS, &rows, &as_of, &err) != WR_OK) {
        put_failed(s, &err);
        return;
    }
    if (rows) {
        put_changes(s, rows);
        s->told = true;
        wr_batch_unref(rows);
        return;
    }
    if (atomic_exchange(&s->beat, false) || s->told) put_as_of(s, &as_of);
    s->told = false;
    if (!info.ended || info.as_of.version > as_of.version) return;
    wr_sbuf_addz(&s->text, "event: end\ndata: ");
    serve_view_as_of_json(&as_of, wr_wall_us(s->views->world), &s->text);
    wr_sbuf_addz(&s->text, "\n\n");
    s->ended = true;
}

static size_t more(void *self, char *to, size_t room, bool *end) {
    view_stream *s = self;
    if (s->sent == s->text.len && !s->ended) {
        wr_sbuf_clear(&s->text);
        s->sent = 0;
        if (s->scan) fill_snapshot(s);
        else fill_changes(s);
    }
    size_t n = WR_MIN(room, s->text.len - s->sent);
    if (n) memcpy(to, s->text.at + s->sent, n);
    s->sent += n;
    *end = s->ended && s->sent == s->text.len;
    return n;
}

static void close_stream(void *self) {
    view_stream *s = self;
    wr_view_unlisten(s->view, &s->listener);
    wr_mutex_lock(s->views->lock);
    for (view_stream **at = &s->views->streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    s->views->n_streams--;
    wr_mutex_unlock(s->views->lock);
    wr_view_scan_free(s->scan);
    wr_view_unpin(s->cut);
    wr_view_sub_free(s->sub);
    wr_view_unref(s->view);
    if (s->encoder) s->encoder->free(s->encoder);
    wr_sbuf_free(&s->text), wr_sbuf_free(&s->scratch);
    wr_free(s);
}

static void published(void *arg) { wr_http_wake(((view_stream *)arg)->in); }

void serve_streams_beat(serve_views *v, int64_t now_us) {
    wr_mutex_lock(v->lock);
    if (now_us - v->beat_us >= BEAT_US) {
        v->beat_us = now_us;
        for (view_stream *s = v->streams; s; s = s->next) atomic_store(&s->beat, true), wr_http_wake(s->in);
    }
    wr_mutex_unlock(v->lock);
}

/* Where it begins: at a version that the client has, else at now, with the rows if it wants them or has lost its version. */
static void begin(view_stream *s, const char *since, bool snapshot) {
    uint64_t     run, version;
    wr_err       err = {0};
    bool         given = since && *since;
    wr_view_cut *cut = given && serve_view_id_parse(since, &run, &version) ? wr_view_pin_at(s->view, run, version, &err) : NULL;
    wr_sbuf_addz(&s->text, "retry: 1000\n\n");
    if (cut) {
        s->sub = wr_view_sub_new(cut);
        wr_view_unpin(cut);
        return;
    }
    if (given) wr_sbuf_addz(&s->text, "event: reset\ndata: {\"code\":\"" WR_VIEW_GONE "\",\"error\":\"that version is not kept any more; a snapshot follows\"}\n\n");
    cut = wr_view_pin(s->view);
    s->sub = wr_view_sub_new(cut);
    if (snapshot || given) {
        s->cut = cut;
        s->scan = wr_view_scan_new(cut, &(wr_view_range){0});
        return;
    }
    put_as_of(s, wr_view_cut_as_of(cut));
    wr_view_unpin(cut);
}

/* A client that has all there will ever be need not come again. */
static bool has_all(wr_view *v, const char *since) {
    uint64_t     run, version;
    wr_view_info info;
    wr_view_info_get(v, &info);
    return info.ended && since && serve_view_id_parse(since, &run, &version) && run == info.as_of.run && version == info.as_of.version;
}

void serve_view_changes(const serve_ask *ask, wr_view *view, wr_http_out *out) {
    char         param[ID_MAX], flag[8];
    const char  *since = serve_param(ask, "since", param, sizeof param);
    serve_views *v = ask->serve->views;
    if (!since) since = wr_http_in_header(ask->http, "Last-Event-ID");
    const char *snapshot = serve_param(ask, "snapshot", flag, sizeof flag);
    if (has_all(view, since)) {
        out->status = 204;
        return;
    }
    wr_mutex_lock(v->lock);
    bool room = v->n_streams < STREAMS_MOST;
    if (room) v->n_streams++;
    wr_mutex_unlock(v->lock);
    if (!room) {
        wr_http_out_error(out, 503, "%d streams of changes are open, which is the most", STREAMS_MOST);
        wr_http_out_header(out, "Retry-After", "5");
        return;
    }
    view_stream *s = wr_calloc(1, sizeof *s);
    *s = (view_stream){.views = v, .in = (wr_http_in *)(uintptr_t)ask->http, .view = wr_view_ref(view), .encoder = serve_view_encoder(view, v->world)};
    s->listener = (wr_view_listener){.published = published, .arg = s};
    begin(s, since, snapshot && strcmp(snapshot, "0"));
    out->type = "text/event-stream";
    out->stream = (wr_http_stream){s, more, close_stream};
    wr_mutex_lock(v->lock);
    s->next = v->streams;
    v->streams = s;
    wr_mutex_unlock(v->lock);
    wr_view_listen(view, &s->listener);
}
