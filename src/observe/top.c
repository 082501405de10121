/* observe/top.c: a picture of a running job for a terminal: what `weir top` draws. See why.h.
 *
 * Lines      the job; what limits it; one line an operator, inputs first, the culprit marked; sources; hot keys. Figures are those of the window.       */
#include "observe/why.h"
#include "type/width.h"
#include <inttypes.h>
#include <stdio.h>

enum { WIDTH_MIN = 80, WIDTH_MAX = 300, FIGURES_WIDTH = 68, HOT_SHOWN = 4 };
typedef struct pen { wr_sbuf *out; uint32_t width; bool colour; } pen;

static void paint(const pen *p, const char *how) {
    if (p->colour) wr_sbuf_printf(p->out, "\033[%sm", how);
}

/* A cell of that width, cut or padded. */
static void cell(const pen *p, wr_str text, uint32_t width, bool right) {
    size_t n = wr_text_fit(text, width), w = wr_text_width((wr_str){text.ptr, n});
    if (right) wr_sbuf_printf(p->out, "%*s", (int)(width - w), "");
    wr_sbuf_add(p->out, text.ptr, n);
    if (!right) wr_sbuf_printf(p->out, "%*s", (int)(width - w), "");
}
static void cell_text(const pen *p, wr_sbuf *text, uint32_t width) {
    cell(p, wr_sbuf_str(text), width, true);
    wr_sbuf_clear(text);
}

static void count(double n, wr_sbuf *out) {
    if (n >= 1e9) wr_sbuf_printf(out, "%.1f G", n / 1e9);
    else if (n >= 1e6) wr_sbuf_printf(out, "%.1f M", n / 1e6);
    else if (n >= 1e4) wr_sbuf_printf(out, "%.0f k", n / 1e3);
    else wr_sbuf_printf(out, "%.0f", n);
}

static void lag(int64_t us, wr_sbuf *out) {
    if (us < 0) wr_sbuf_addz(out, "-");
    else if (us < 1000000) wr_sbuf_printf(out, "%" PRIi64 " ms", us / 1000);
    else if (us < INT64_C(600000000)) wr_sbuf_printf(out, "%.1f s", (double)us / 1e6);
    else if (us < INT64_C(172800000000)) wr_sbuf_printf(out, "%.1f h", (double)us / 3600e6);
    else wr_sbuf_printf(out, "%.0f d", (double)us / 86400e6);
}

static void head(const pen *p, const char *name, const wr_job_status *s, const wr_why *why) {
    wr_sbuf text = {0};
    wr_sbuf_printf(&text, "%s  %u worker%s, up ", name, s->n_workers, s->n_workers == 1 ? "" : "s");
    wr_text_duration(s->running_us / 1000000 * 1000000, &text);
    wr_sbuf_addz(&text, ", rows in "), count((double)s->rows_in, &text);
    wr_sbuf_addz(&text, ", out "), count((double)s->rows_out, &text);
    wr_sbuf_addz(&text, ", memory "), wr_text_size(s->memory_bytes, &text);
    wr_sbuf_addz(&text, " of "), wr_text_size(s->memory_limit_bytes, &text);
    if (s->budget.level) wr_sbuf_printf(&text, " (%s)", wr_budget_level_name(s->budget.level));
    paint(p, "1");
    cell(p, wr_sbuf_str(&text), p->width, false);
    paint(p, "0");
    wr_sbuf_clear(&text);
    bool fine = why->is.is == WR_WHY_NOTHING || why->is.is == WR_WHY_MEASURING || why->is.is == WR_WHY_NO_INPUT;
    wr_sbuf_printf(&text, "\n%s%s%s", fine ? "" : wr_why_class_name(why->is.is), fine ? "" : ": ", why->is.sentence);
    paint(p, fine ? "32" : "1;31");
    wr_sbuf_addc(p->out, '\n');
    cell(p, (wr_str){text.at + 1, text.len - 1}, p->width, false);
    paint(p, "0");
    wr_sbuf_addz(p->out, "\n\n");
    wr_sbuf_free(&text);
}

static void columns(const pen *p) {
    static const struct { const char *name; uint32_t width; } all[] = {{"IN/S", 9}, {"OUT/S", 9}, {"BUSY", 6}, {"FULL", 6}, {"WAIT", 6}, {"EVENT", 9}, {"LAG", 8}, {"STATE", 15}};
    paint(p, "7");
    cell(p, WR_STR("  OPERATOR"), p->width - FIGURES_WIDTH, false);
    for (size_t i = 0; i < WR_COUNT_OF(all); i++) cell(p, wr_str_of(all[i].name), all[i].width, true);
    paint(p, "0");
    wr_sbuf_addc(p->out, '\n');
}

static void state(const wr_node_status *n, const wr_job_status *s, wr_sbuf *out) {
    double bill = wr_bill_bytes(n->node, (double)s->running_us);
    if (!n->account_bytes && !(bill > 0)) return;
    wr_text_size(n->account_bytes, out);
    if (bill > 0 && n->account_bytes > 0) wr_sbuf_printf(out, " %3.0f%%", WR_MIN((double)n->account_bytes / bill * 100, 999.0));
}

static void operator_line(const pen *p, const wr_observer *o, const wr_job_status *s, const wr_node_status *n, const wr_why *why) {
    const wr_op_figures *f = wr_observer_figures(o, n->node->index);
    bool     culprit = why->is.node == n->node;
    wr_sbuf  text = {0};
    wr_sbuf_printf(&text, "%s %s", culprit ? ">" : n->chained ? " '" : " ", n->node->title);
    if (culprit) paint(p, "1;31");
    cell(p, wr_sbuf_str(&text), p->width - FIGURES_WIDTH, false);
    wr_sbuf_clear(&text);
    if (f) {
        count(n->node->kind == WR_P_SOURCE ? f->out_per_s : f->in_per_s[0] + f->in_per_s[1], &text), cell_text(p, &text, 9);
        count(f->out_per_s, &text), cell_text(p, &text, 9);
        wr_sbuf_printf(&text, "%.0f%%", f->load * 100), cell_text(p, &text, 6);
        wr_sbuf_printf(&text, "%.0f%%", f->share[WR_WAIT_ROOM] * 100), cell_text(p, &text, 6);
        wr_sbuf_printf(&text, "%.0f%%", (f->share[WR_WAIT_INPUT] + f->share[WR_WAIT_MEMORY]) * 100), cell_text(p, &text, 6);
        lag(f->event_lag_us, &text), cell_text(p, &text, 9);
        lag(f->lag_us, &text), cell_text(p, &text, 8);
        state(n, s, &text), cell_text(p, &text, 15);
    }
    if (culprit) paint(p, "0");
    wr_sbuf_addc(p->out, '\n');
    wr_sbuf_free(&text);
}

static void source_line(const pen *p, const wr_source_status *q) {
    wr_sbuf text = {0};
    char    at[40];
    if (q->node->kind != WR_P_SOURCE) return;
    wr_sbuf_printf(&text, "  from %.*s: %s", WR_FMT(q->node->source.table->name), q->ended ? "ended" : q->waiting ? "waits for input" : "has input");
    if (q->messages && !q->ended) wr_sbuf_printf(&text, ", %" PRIu64 " messages behind", q->behind);
    if (q->watermark_us != WR_TIME_MIN && q->watermark_us != WR_TIME_MAX) {
        wr_text_timestamp(q->watermark_us, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', at);
        wr_sbuf_printf(&text, ", event time %s", at);
        if (q->held_by[0] && q->n_partitions > 1) wr_sbuf_printf(&text, " by %s", q->held_by);
    }
    cell(p, wr_sbuf_str(&text), p->width, false);
    wr_sbuf_addc(p->out, '\n');
    wr_sbuf_free(&text);
}

void wr_top_text(const wr_observer *o, const wr_why *why, const char *name, uint32_t width, bool colour, wr_sbuf *out) {
    const wr_job_status *s = wr_observer_last(o);
    pen p = {out, WR_MIN(WR_MAX(width, (uint32_t)WIDTH_MIN), (uint32_t)WIDTH_MAX), colour};
    if (!s) {
        wr_sbuf_addz(out, "no figures yet\n");
        return;
    }
    head(&p, name, s, why);
    columns(&p);
    for (uint32_t i = 0; i < s->n_nodes; i++) operator_line(&p, o, s, &s->nodes[i], why);
    wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < s->n_sources; i++) source_line(&p, &s->sources[i]);
    for (uint32_t i = 0; i < s->n_hot && i < HOT_SHOWN; i++) {
        wr_sbuf text = {0};
        wr_sbuf_printf(&text, "  hot: %s has %.0f %% of the rows at %s", s->hot[i].key, s->hot[i].share * 100, s->hot[i].node->title);
        cell(&p, wr_sbuf_str(&text), p.width, false);
        wr_sbuf_addc(out, '\n');
        wr_sbuf_free(&text);
    }
}
