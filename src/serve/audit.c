/* serve/audit.c: GET /api/audit: {"audits", "unequal", "failed", "differences", "error", "last"}: how many audits of closed periods this run has made, and the report of the
 * last one as `weir audit --json` writes it. Whoever makes them hands the answer over. */
#include "serve/internal.h"

void wr_serve_audit(wr_serve *s, wr_str json) {
    if (!s) return;
    wr_mutex_lock(s->lock);
    wr_sbuf_clear(&s->audit);
    wr_sbuf_add_str(&s->audit, json);
    wr_mutex_unlock(s->lock);
}

void serve_audit(const serve_ask *ask, wr_http_out *out) {
    wr_serve *s = ask->serve;
    wr_mutex_lock(s->lock);
    if (s->audit.len) wr_sbuf_add_str(&out->body, wr_sbuf_str(&s->audit));
    else wr_sbuf_addz(&out->body, "{\"audits\":0,\"unequal\":0,\"failed\":0,\"differences\":0,\"error\":null,\"last\":null}");
    wr_mutex_unlock(s->lock);
}
