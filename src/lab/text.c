/* lab/text.c: a report on a terminal: tables, plots of characters, sentences broken at the width, relations.
 *
 * Plots      a grid of cells, one character each. Predictions are drawn first, as a line of dots over all columns; measured points lie on it as marks, thinned to
 *            every third column so that the line stays visible between them. Without UTF-8 everything is ASCII. */
#include "lab/axis.h"
#include "type/width.h"
#include <math.h>
#include <stdio.h>

enum { WIDTH_MIN = 50, WIDTH_MAX = 110, HEIGHT = 16, LABEL = 10, THIN = 3, GRID_MAX = WIDTH_MAX };
static const char *const MARKS[2][WR_LAB_SERIES_MAX] = {{"o", "x", "+", "*", "#", "@", "%", "&"}, {"●", "▲", "■", "◆", "○", "△", "□", "◇"}};
static const char *const DOTS[2] = {".", "·"};

static uint32_t width_of(const wr_lab_text *how) { return WR_MIN(WR_MAX(how->width, (uint32_t)WIDTH_MIN), (uint32_t)WIDTH_MAX); }

/* ---- sentences ---- */
static void add_wrapped(const char *text, const char *first, const char *next, uint32_t width, wr_sbuf *out) {
    wr_str   rest = wr_str_of(text), word;
    uint32_t at = (uint32_t)wr_text_width(wr_str_of(first));
    bool     begins = true;
    wr_sbuf_addz(out, first);
    while (wr_str_next(&rest, ' ', &word)) {
        uint32_t w = (uint32_t)wr_text_width(word);
        if (!begins && at + 1 + w > width) {
            wr_sbuf_printf(out, "\n%s", next);
            at = (uint32_t)wr_text_width(wr_str_of(next));
            begins = true;
        }
        if (!begins) wr_sbuf_addc(out, ' '), at++;
        wr_sbuf_add_str(out, word);
        at += w;
        begins = false;
    }
    wr_sbuf_addc(out, '\n');
}

/* ---- tables ---- */
static bool is_number(const char *cell) { return (*cell >= '0' && *cell <= '9') || ((*cell == '-' || *cell == '+') && cell[1] >= '0' && cell[1] <= '9'); }

static void add_cell(const char *cell, uint32_t width, bool right, bool last, wr_sbuf *out) {
    uint32_t w = (uint32_t)wr_text_width(wr_str_of(cell)), pad = width > w ? width - w : 0;
    if (right) wr_sbuf_printf(out, "%*s", (int)pad, "");
    wr_sbuf_addz(out, cell);
    if (!right && !last) wr_sbuf_printf(out, "%*s", (int)pad, "");
    if (!last) wr_sbuf_addz(out, "  ");
}

static void add_table(const wr_lab_table *t, const wr_lab_text *how, wr_sbuf *out) {
    uint32_t widths[WR_LAB_CELLS_MAX], total = 0;
    bool     right[WR_LAB_CELLS_MAX];
    for (uint32_t c = 0; c < t->n_columns; c++) {
        widths[c] = (uint32_t)wr_text_width(wr_str_of(t->head.at[c]));
        right[c] = t->rows.n > 0;
        for (uint32_t r = 0; r < t->rows.n; r++) {
            widths[c] = WR_MAX(widths[c], (uint32_t)wr_text_width(wr_str_of(t->rows.at[r].at[c])));
            right[c] = right[c] && (is_number(t->rows.at[r].at[c]) || !t->rows.at[r].at[c][0]);
        }
        total += widths[c] + (c ? 2 : 0);
    }
    wr_sbuf_printf(out, "%s\n", t->title);
    for (uint32_t c = 0; c < t->n_columns; c++) add_cell(t->head.at[c], widths[c], right[c], c + 1 == t->n_columns, out);
    wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < total; i++) wr_sbuf_addz(out, how->utf8 ? "─" : "-");
    wr_sbuf_addc(out, '\n');
    for (uint32_t r = 0; r < t->rows.n; r++) {
        for (uint32_t c = 0; c < t->n_columns; c++) add_cell(t->rows.at[r].at[c], widths[c], right[c], c + 1 == t->n_columns, out);
        wr_sbuf_addc(out, '\n');
    }
    wr_sbuf_addc(out, '\n');
}

/* ---- plots ---- */
typedef struct grid { axis x, y; uint32_t width; uint8_t cell[HEIGHT][GRID_MAX]; } grid; /* 0: empty; 1 dot; 2 + series */

static uint8_t *cell_at(grid *g, double x, double y) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return NULL;
    return &g->cell[HEIGHT - 1 - (uint32_t)lround(y * (HEIGHT - 1))][(uint32_t)lround(x * (g->width - 1))];
}
static void draw_line(grid *g, const wr_lab_series *s) {
    for (uint32_t i = 0; i + 1 < s->points.n; i++) {
        double x0 = axis_at(&g->x, s->points.at[i].x), x1 = axis_at(&g->x, s->points.at[i + 1].x), y0 = axis_at(&g->y, s->points.at[i].y), y1 = axis_at(&g->y, s->points.at[i + 1].y);
        uint32_t steps = 1 + (uint32_t)ceil(WR_MIN(fabs(x1 - x0), 1.0) * g->width);
        for (uint32_t k = 0; k <= steps; k++) {
            double   f = (double)k / steps;
            uint8_t *c = cell_at(g, x0 + (x1 - x0) * f, y0 + (y1 - y0) * f);
            if (c) *c = 1;
        }
    }
}
static void draw_marks(grid *g, const wr_lab_series *s, uint8_t mark) {
    int32_t last = -THIN;
    for (uint32_t i = 0; i < s->points.n; i++) {
        double   x = axis_at(&g->x, s->points.at[i].x);
        int32_t  col = (int32_t)lround(x * (g->width - 1));
        uint8_t *c = cell_at(g, x, axis_at(&g->y, s->points.at[i].y));
        if (!c || (col - last < THIN && i + 1 < s->points.n && s->points.n > g->width / THIN)) continue;
        *c = mark;
        last = col;
    }
}

static void add_ticks(const grid *g, wr_sbuf *out) {
    char    line[GRID_MAX + LABEL + 24];
    size_t  end = 0;
    memset(line, ' ', sizeof line);
    for (uint32_t i = 0; i < g->x.n; i++) {
        wr_sbuf b = {0};
        wr_lab_number(g->x.ticks[i], g->x.unit, &b);
        size_t at = LABEL + 2 + (size_t)lround(axis_at(&g->x, g->x.ticks[i]) * (g->width - 1));
        at = at >= b.len / 2 ? at - b.len / 2 : 0;
        if ((!end || at > end + 1) && at + b.len < sizeof line) {
            memcpy(line + at, b.at, b.len);
            end = at + b.len;
        }
        wr_sbuf_free(&b);
    }
    wr_sbuf_add(out, line, end);
    wr_sbuf_addc(out, '\n');
}

static void add_rows(const grid *g, bool utf8, wr_sbuf *out) {
    for (uint32_t row = 0; row < HEIGHT; row++) {
        wr_sbuf label = {0};
        for (uint32_t i = 0; i < g->y.n; i++)
            if (HEIGHT - 1 - (uint32_t)lround(axis_at(&g->y, g->y.ticks[i]) * (HEIGHT - 1)) == row) wr_sbuf_clear(&label), wr_lab_number(g->y.ticks[i], g->y.unit, &label);
        wr_sbuf_printf(out, "%*s %s", LABEL, label.len ? label.at : "", utf8 ? (label.len ? "┤" : "│") : "|");
        wr_sbuf_free(&label);
        uint32_t end = g->width;
        while (end && !g->cell[row][end - 1]) end--;
        for (uint32_t c = 0; c < end; c++) {
            uint8_t v = g->cell[row][c];
            wr_sbuf_addz(out, !v ? " " : v == 1 ? DOTS[utf8] : MARKS[utf8][v - 2]);
        }
        wr_sbuf_addc(out, '\n');
    }
    wr_sbuf_printf(out, "%*s %s", LABEL, "", utf8 ? "└" : "+");
    for (uint32_t c = 0; c < g->width; c++) wr_sbuf_addz(out, utf8 ? "─" : "-");
    wr_sbuf_addc(out, '\n');
}

static void add_plot(const wr_lab_plot *p, const wr_lab_text *how, wr_sbuf *out) {
    grid *g = wr_calloc(1, sizeof *g);
    g->width = width_of(how) - LABEL - 4;
    axis_make(&g->x, p, true, g->width / 14);
    axis_make(&g->y, p, false, 5);
    wr_sbuf_printf(out, "%s\n%*s  %s%s\n", p->title, LABEL, "", p->y_label, p->y_log ? ", each step of the axis a factor" : "");
    for (uint32_t i = 0; i < p->n; i++)
        if (p->series[i].look == WR_LAB_PREDICTED) draw_line(g, &p->series[i]);
    for (uint32_t i = 0; i < p->n; i++)
        if (p->series[i].look == WR_LAB_MEASURED) draw_marks(g, &p->series[i], (uint8_t)(2 + i));
    add_rows(g, how->utf8, out);
    add_ticks(g, out);
    wr_sbuf_printf(out, "%*s  %s\n", LABEL, "", p->x_label);
    for (uint32_t i = 0; i < p->n; i++)
        wr_sbuf_printf(out, "%*s  %s %s\n", LABEL, "", p->series[i].look == WR_LAB_PREDICTED ? (how->utf8 ? "···" : "...") : MARKS[how->utf8][i], p->series[i].name);
    wr_sbuf_addc(out, '\n');
    wr_free(g);
}

/* ---- the whole ---- */
void wr_lab_show(const wr_lab_run *run, const wr_lab_report *r, const wr_lab_text *how, wr_sbuf *out) {
    uint32_t width = width_of(how);
    for (uint32_t i = 0; i < r->tables.n; i++) add_table(r->tables.at[i], how, out);
    for (uint32_t i = 0; i < r->plots.n; i++) add_plot(r->plots.at[i], how, out);
    for (uint32_t i = 0; i < r->sentences.n; i++) add_wrapped(r->sentences.at[i], "", "", width, out), wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < r->relations.n; i++) add_wrapped(r->relations.at[i].text, r->relations.at[i].held ? "held    " : "BROKEN  ", "        ", width, out);
    wr_sbuf_addc(out, '\n');
    add_wrapped(run->lab->rule, "Rule: ", "      ", width, out);
}

void wr_lab_ask(const wr_lab_run *run, const wr_lab_text *how, wr_sbuf *out) {
    uint32_t width = width_of(how);
    wr_sbuf_printf(out, "lab %s\n\n", run->lab->name);
    add_wrapped(run->lab->question, "", "", width, out);
    wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < wr_lab_n_params(run->lab); i++) {
        const wr_lab_param *p = &run->lab->params[i];
        wr_sbuf value = {0};
        wr_lab_number(run->values[i], p->unit, &value);
        wr_sbuf_printf(out, "  %-12s %-10s %s\n", p->name, value.at, p->doc);
        wr_sbuf_free(&value);
    }
    wr_sbuf_printf(out, "  %-12s %-10llu the same seed gives the same rows\n\n", "seed", (unsigned long long)run->seed);
    add_wrapped(run->lab->guess, "Guess: ", "       ", width, out);
}

void wr_lab_list(wr_sbuf *out) {
    uint32_t n;
    const wr_lab *const *all = wr_labs(&n);
    wr_sbuf_addz(out, "usage: weir lab NAME [--set NAME=VALUE] [--seed N] [--quick] [--svg PATH] [--json] [--yes]\n");
    for (uint32_t i = 0; i < n; i++) {
        wr_sbuf_printf(out, "\n%-9s %s\n", all[i]->name, all[i]->line);
        for (uint32_t k = 0; k < wr_lab_n_params(all[i]); k++) {
            wr_sbuf value = {0};
            wr_lab_number(all[i]->params[k].fallback, all[i]->params[k].unit, &value);
            wr_sbuf_printf(out, "            %-12s %-10s %s\n", all[i]->params[k].name, value.at, all[i]->params[k].doc);
            wr_sbuf_free(&value);
        }
    }
}
