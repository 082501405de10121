/* serve/ui.c: the dashboard: the files of ui/dist, which are part of the binary.
 *
 * Idea       three files with fixed names, embedded as they are and packed by gzip when weir is built. GET / is the page for a browser (Accept: text/html) and the list of
 *            paths for everybody else. The page holds no figures: it asks /api/ for them, with the token that its user gives it.
 * Safe       a Content-Security-Policy that lets nothing in from anywhere else and no script that is not one of these files; no page may frame it.
 * Cached     by an ETag made of the bytes: a browser asks each time and is told 304.
 * Thread     any; constants only.                                                                                          */
#include "serve/internal.h"
#include "base/embed.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdio.h>

/* WR_UI_DIST, WR_UI_PACKED: directories, from CMakeLists.txt. */
WR_EMBED(ui_html, WR_UI_DIST "/index.html");
WR_EMBED(ui_js, WR_UI_DIST "/app.js");
WR_EMBED(ui_css, WR_UI_DIST "/app.css");
WR_EMBED(ui_licenses, WR_UI_DIST "/licenses.txt");
WR_EMBED(ui_js_gz, WR_UI_PACKED "/app.js.gz");
WR_EMBED(ui_css_gz, WR_UI_PACKED "/app.css.gz");

typedef struct ui_file { const char *path, *type, *at, *end, *gz, *gz_end; } ui_file;
static const ui_file FILES[] = {
    {"/", "text/html; charset=utf-8", ui_html, ui_html_end, NULL, NULL},
    {"/app.js", "text/javascript; charset=utf-8", ui_js, ui_js_end, ui_js_gz, ui_js_gz_end},
    {"/app.css", "text/css; charset=utf-8", ui_css, ui_css_end, ui_css_gz, ui_css_gz_end},
    {"/licenses.txt", "text/plain; charset=utf-8", ui_licenses, ui_licenses_end, NULL, NULL},
};

static bool has(const wr_http_in *in, const char *header, const char *what) {
    const char *value = wr_http_in_header(in, header);
    return value && strstr(value, what);
}

static void send_file(const ui_file *f, const wr_http_in *in, wr_http_out *out) {
    char etag[24];
    bool packed = f->gz && has(in, "Accept-Encoding", "gzip");
    snprintf(etag, sizeof etag, "\"%016" PRIx64 "%s\"", wr_hash_bytes(f->at, (size_t)(f->end - f->at)), packed ? "z" : "");
    out->type = f->type;
    wr_http_out_header(out, "ETag", etag);
    wr_http_out_header(out, "Cache-Control", "no-cache");
    wr_http_out_header(out, "Vary", "Accept-Encoding, Accept");
    wr_http_out_header(out, "Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    wr_http_out_header(out, "Referrer-Policy", "no-referrer");
    if (has(in, "If-None-Match", etag)) {
        out->status = 304;
        return;
    }
    if (packed) wr_http_out_header(out, "Content-Encoding", "gzip");
    wr_sbuf_add(&out->body, packed ? f->gz : f->at, (size_t)(packed ? f->gz_end - f->gz : f->end - f->at));
}

static wr_http_when on_ui(void *self, wr_http_in *in, wr_http_out *out) {
    wr_serve *s = self;
    bool      read = !strcmp(in->method, "GET") || !strcmp(in->method, "HEAD");
    for (size_t i = 0; i < WR_COUNT_OF(FILES); i++) {
        if (strcmp(FILES[i].path, in->path)) continue;
        if (!read) wr_http_out_error(out, 405, "%s is read with GET", in->path);
        else if (i == 0 && !has(in, "Accept", "text/html")) wr_http_paths(s->http, out);
        else send_file(&FILES[i], in, out);
        return WR_HTTP_NOW;
    }
    wr_http_out_error(out, 404, "nothing is here; GET / says what there is");
    return WR_HTTP_NOW;
}

static void describe(void *self, const char *address, wr_sbuf *out) {
    (void)self;
    wr_sbuf_printf(out, "  open %s/ in a browser: the dashboard\n", address);
}

wr_status serve_ui_open(wr_serve *s, wr_err *err) {
    s->root = (wr_http_route){.path = "/", .prefix = true, .max_body = 4096, .self = s, .serve = on_ui, .describe = describe};
    return wr_http_route_add(s->http, &s->root, err);
}
