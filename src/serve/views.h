/* serve/views.h: materialized views over HTTP: what views.c (rows) and views_changes.c (streams) share. Private to serve/.                  */
#pragma once
#include "connect/view/view.h"
#include "serve/internal.h"

enum { VIEW_PAGES = 64 };
static const int64_t VIEW_PAGE_US = INT64_C(60) * 1000000;

typedef struct view_page { wr_view_cut *cut; int64_t used_us; } view_page; /* a version that somebody pages through */
typedef struct view_stream view_stream;
struct serve_views {
    wr_world   *world;
    wr_mutex   *lock;                 /* of what follows */
    view_page   pages[VIEW_PAGES];
    view_stream *streams;
    uint32_t    n_streams;
    int64_t     beat_us;              /* when streams were last told that time passes */
};

void serve_view_as_of_json(const wr_view_as_of *as_of, int64_t now_us, wr_sbuf *out); /* an object */
/* RUN-VERSION */
void serve_view_id(const wr_view_as_of *as_of, wr_sbuf *out);
bool serve_view_id_parse(const char *text, uint64_t *run, uint64_t *version);
/* Rows from .. to as objects with commas between; (takes) nothing. */
void serve_view_rows_json(wr_encoder *encoder, const wr_batch *rows, uint32_t from, uint32_t to, wr_sbuf *scratch, wr_sbuf *out);
wr_encoder *serve_view_encoder(const wr_view *view, wr_world *world);
void serve_view_fail(wr_http_out *out, const wr_err *err);            /* an error of a view as an answer */
/* views_changes.c */
void serve_view_changes(const serve_ask *ask, wr_view *view, wr_http_out *out);
void serve_streams_beat(serve_views *views, int64_t now_us);
