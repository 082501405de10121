/* observe/history.c: see history.h. */
#include "observe/history.h"
#include <inttypes.h>

typedef struct sample { int64_t at_us, memory_bytes, predicted_bytes; uint64_t rows_in, rows_out; } sample;
struct wr_history {
    const wr_job_plan *plan;
    uint32_t n_nodes, n;
    int64_t  step_us, next_us;         /* next: by the monotonic clock */
    sample   samples[WR_HISTORY_SAMPLES];
    int64_t *state_bytes;              /* [sample * n_nodes + node] */
};

wr_history *wr_history_new(const wr_job_plan *plan) {
    wr_history *h = wr_calloc(1, sizeof *h);
    h->plan = plan, h->n_nodes = plan->nodes.n, h->step_us = 1000000;
    h->state_bytes = wr_calloc((size_t)WR_HISTORY_SAMPLES * (h->n_nodes + 1), sizeof *h->state_bytes);
    return h;
}

void wr_history_free(wr_history *h) {
    if (!h) return;
    wr_free(h->state_bytes);
    wr_free(h);
}

bool wr_history_due(const wr_history *h, int64_t mono_us) { return mono_us >= h->next_us; }

static void thin(wr_history *h) {
    for (uint32_t i = 0; 2 * i < h->n; i++) {
        h->samples[i] = h->samples[2 * i];
        memmove(h->state_bytes + (size_t)i * h->n_nodes, h->state_bytes + (size_t)2 * i * h->n_nodes, h->n_nodes * sizeof *h->state_bytes);
    }
    h->n = (h->n + 1) / 2;
    h->step_us *= 2;
}

void wr_history_see(wr_history *h, const wr_job_status *s, int64_t mono_us, int64_t wall_us) {
    if (h->n == WR_HISTORY_SAMPLES) thin(h);
    sample x = {.at_us = wall_us, .memory_bytes = s->memory_bytes + s->budget.reserve_bytes, .rows_in = s->rows_in, .rows_out = s->rows_out};
    for (uint32_t i = 0; i < h->n_nodes && i < s->n_nodes; i++) {
        double bytes = wr_bill_bytes(s->nodes[i].node, (double)s->running_us);
        h->state_bytes[(size_t)h->n * h->n_nodes + i] = s->nodes[i].account_bytes;
        if (bytes > 0 && bytes < 1e18) x.predicted_bytes += (int64_t)bytes;
    }
    h->samples[h->n++] = x;
    h->next_us = mono_us + h->step_us;
}

void wr_history_json(const wr_history *h, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"step_us\":%" PRIi64 ",\"operators\":[", h->step_us);
    for (uint32_t i = 0; i < h->n_nodes; i++) wr_sbuf_printf(out, "%s\"%s\"", i ? "," : "", h->plan->nodes.at[i]->id);
    wr_sbuf_addz(out, "],\"samples\":[");
    for (uint32_t k = 0; k < h->n; k++) {
        const sample *x = &h->samples[k];
        wr_sbuf_printf(out, "%s{\"at_us\":%" PRIi64 ",\"memory_bytes\":%" PRIi64 ",\"predicted_bytes\":%" PRIi64 ",\"rows_in\":%" PRIu64 ",\"rows_out\":%" PRIu64 ",\"state_bytes\":[", k ? "," : "", x->at_us,
                       x->memory_bytes, x->predicted_bytes, x->rows_in, x->rows_out);
        for (uint32_t i = 0; i < h->n_nodes; i++) wr_sbuf_printf(out, "%s%" PRIi64, i ? "," : "", h->state_bytes[(size_t)k * h->n_nodes + i]);
        wr_sbuf_addz(out, "]}");
    }
    wr_sbuf_addz(out, "]}");
}
