/* serve/why.c: what limits the job (`weir why`), and its picture for a terminal (`weir top`).                                       */
#include "observe/why.h"
#include "serve/internal.h"
#include <stdio.h>
#include <stdlib.h>

static bool look(wr_serve *s, wr_why *why, wr_http_out *out) {
    wr_mutex_lock(s->lock);
    if (s->job) {
        wr_why_decide(s->observer, why);
        return true;
    }
    wr_mutex_unlock(s->lock);
    wr_http_out_error(out, 503, "no job runs here now");
    return false;
}

void serve_why(const serve_ask *ask, wr_http_out *out) {
    wr_why why;
    char   text[8];
    if (!look(ask->serve, &why, out)) return;
    if (serve_param(ask, "text", text, sizeof text)) out->type = "text/plain; charset=utf-8", wr_why_text(&why, &out->body);
    else wr_why_json(&why, &out->body);
    wr_mutex_unlock(ask->serve->lock);
}

void serve_top(const serve_ask *ask, wr_http_out *out) {
    wr_why     why;
    char       width[16], colour[8], name[128];
    wr_serve  *s = ask->serve;
    const char *columns = serve_param(ask, "width", width, sizeof width);
    if (!look(s, &why, out)) return;
    snprintf(name, sizeof name, "%.*s", s->plan->name.len ? (int)WR_MIN(s->plan->name.len, sizeof name - 1) : (int)strlen(s->opts.name ? s->opts.name : "job"),
             s->plan->name.len ? s->plan->name.ptr : s->opts.name ? s->opts.name : "job");
    out->type = "text/plain; charset=utf-8";
    wr_top_text(s->observer, &why, name, columns ? (uint32_t)strtoul(columns, NULL, 10) : 120, serve_param(ask, "colour", colour, sizeof colour) != NULL, &out->body);
    wr_mutex_unlock(s->lock);
}
