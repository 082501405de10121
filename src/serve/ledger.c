/* serve/ledger.c: /api/ledger: where every row went. ?text=1: as lines for people; ?window=1: with the newest windows. See run/ledger.c.   */
#include "serve/internal.h"

void serve_ledger(const serve_ask *ask, wr_http_out *out) {
    wr_job_status s;
    char          buf[8];
    bool          text = serve_param(ask, "text", buf, sizeof buf) != NULL, windows = serve_param(ask, "window", buf, sizeof buf) != NULL;
    if (!serve_look(ask->serve, &s, out)) return;
    if (text) wr_job_ledger_report(&s, windows, &out->body);
    else wr_job_ledger_report_json(&s, windows, &out->body);
    serve_unlook(ask->serve, &s);
}
