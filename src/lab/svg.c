/* lab/svg.c: plots as SVG: axes, ticks, a legend; measured series as marks on a line, predictions dashed. Colours follow the reader's light or dark scheme and
 * are told apart by those who do not see all colours (Okabe and Ito's set); series differ in their marks as well. */
#include "lab/axis.h"
#include <math.h>

enum { WIDTH = 720, HEIGHT = 400, LEFT = 84, RIGHT = 36, TOP = 44, BOTTOM = 56, LEGEND = 20, MARKS_MAX = 40 };

static const char STYLE[] =
    "<style>"
    "svg{background:#fff;font:13px system-ui,sans-serif}text{fill:#1b1b1b}.t{font-weight:600;font-size:15px}.g{stroke:#ddd}.a{stroke:#555}"
    ".s0{--c:#0072b2}.s1{--c:#d55e00}.s2{--c:#009e73}.s3{--c:#aa4499}.s4{--c:#8a6d00}.s5{--c:#3a86a8}.s6{--c:#882255}.s7{--c:#444}"
    ".l{fill:none;stroke:var(--c);stroke-width:1.6}.p{fill:none;stroke:var(--c);stroke-width:1.6;stroke-dasharray:6 4}.m{fill:var(--c);stroke:none}"
    "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e6e6e6}.g{stroke:#33373d}.a{stroke:#aaa}"
    ".s0{--c:#56b4e9}.s1{--c:#ff9350}.s2{--c:#3ecfa0}.s3{--c:#e79fc9}.s4{--c:#f0e442}.s5{--c:#9ad1e8}.s6{--c:#e8899f}.s7{--c:#ccc}}"
    "</style>\n";

static void add_escaped(const char *text, wr_sbuf *out) {
    for (; *text; text++)
        if (*text == '<') wr_sbuf_addz(out, "&lt;");
        else if (*text == '>') wr_sbuf_addz(out, "&gt;");
        else if (*text == '&') wr_sbuf_addz(out, "&amp;");
        else if (*text == '"') wr_sbuf_addz(out, "&quot;");
        else wr_sbuf_addc(out, *text);
}
static void add_label(double x, double y, const char *more, const char *text, wr_sbuf *out) {
    wr_sbuf_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    add_escaped(text, out);
    wr_sbuf_addz(out, "</text>\n");
}

typedef struct place { axis x, y; double top; } place;
static double px(const place *at, double x) { return LEFT + axis_at(&at->x, x) * (WIDTH - LEFT - RIGHT); }
static double py(const place *at, double y) { return at->top + HEIGHT - BOTTOM - axis_at(&at->y, y) * (HEIGHT - TOP - BOTTOM); }

static void add_mark(uint32_t series, double x, double y, wr_sbuf *out) {
    switch (series % 4) {
    case 0: wr_sbuf_printf(out, "<circle class=\"m\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>", x, y); break;
    case 1: wr_sbuf_printf(out, "<path class=\"m\" d=\"M%.1f %.1fl4 7h-8z\"/>", x, y - 4); break;
    case 2: wr_sbuf_printf(out, "<rect class=\"m\" x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\"/>", x - 3, y - 3); break;
    default: wr_sbuf_printf(out, "<path class=\"m\" d=\"M%.1f %.1fl4.5 4.5l-4.5 4.5l-4.5 -4.5z\"/>", x, y - 4.5); break;
    }
}

static void add_series(const place *at, const wr_lab_series *s, uint32_t nth, wr_sbuf *out) {
    wr_sbuf_printf(out, "<g class=\"s%u\">", nth % WR_LAB_SERIES_MAX);
    if (s->points.n) {
        wr_sbuf_printf(out, "<polyline class=\"%s\" points=\"", s->look == WR_LAB_PREDICTED ? "p" : "l");
        for (uint32_t i = 0; i < s->points.n; i++) wr_sbuf_printf(out, "%s%.1f,%.1f", i ? " " : "", px(at, s->points.at[i].x), py(at, s->points.at[i].y));
        wr_sbuf_addz(out, "\"/>");
    }
    uint32_t every = s->points.n / MARKS_MAX + 1;
    for (uint32_t i = 0; i < s->points.n && s->look == WR_LAB_MEASURED; i += every) add_mark(nth, px(at, s->points.at[i].x), py(at, s->points.at[i].y), out);
    wr_sbuf_addz(out, "</g>\n");
}

static void add_axes(const place *at, const wr_lab_plot *p, wr_sbuf *out) {
    double bottom = at->top + HEIGHT - BOTTOM;
    for (uint32_t i = 0; i < at->y.n; i++) {
        wr_sbuf text = {0};
        double  y = py(at, at->y.ticks[i]);
        wr_lab_number(at->y.ticks[i], p->y_unit, &text);
        wr_sbuf_printf(out, "<line class=\"g\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, y, WIDTH - RIGHT, y);
        add_label(LEFT - 8, y + 4, " text-anchor=\"end\"", text.at, out);
        wr_sbuf_free(&text);
    }
    for (uint32_t i = 0; i < at->x.n; i++) {
        wr_sbuf text = {0};
        double  x = px(at, at->x.ticks[i]);
        wr_lab_number(at->x.ticks[i], p->x_unit, &text);
        wr_sbuf_printf(out, "<line class=\"a\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, bottom, x, bottom + 5);
        add_label(x, bottom + 20, " text-anchor=\"middle\"", text.at, out);
        wr_sbuf_free(&text);
    }
    wr_sbuf_printf(out, "<path class=\"a\" fill=\"none\" d=\"M%d %.1fV%.1fH%d\"/>\n", LEFT, at->top + TOP, bottom, WIDTH - RIGHT);
    add_label(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 42, " text-anchor=\"middle\"", p->x_label, out);
    add_label(LEFT, at->top + TOP - 8, "", p->y_label, out);
    add_label(LEFT, at->top + 18, " class=\"t\"", p->title, out);
}

static double height_of(const wr_lab_plot *p) { return HEIGHT + LEGEND * p->n + 16; }

void wr_lab_svg(const wr_lab_report *r, uint32_t first, uint32_t n, wr_sbuf *out) {
    double height = 0;
    for (uint32_t i = first; i < first + n && i < r->plots.n; i++) height += height_of(r->plots.at[i]);
    wr_sbuf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" role=\"img\">\n", WIDTH, height, WIDTH, height);
    wr_sbuf_addz(out, STYLE);
    place at = {.top = 0};
    for (uint32_t i = first; i < first + n && i < r->plots.n; i++) {
        const wr_lab_plot *p = r->plots.at[i];
        axis_make(&at.x, p, true, 7);
        axis_make(&at.y, p, false, 6);
        add_axes(&at, p, out);
        for (uint32_t k = 0; k < p->n; k++) add_series(&at, &p->series[k], k, out);
        for (uint32_t k = 0; k < p->n; k++) {
            double y = at.top + HEIGHT + LEGEND * k + 6;
            wr_sbuf_printf(out, "<g class=\"s%u\"><line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", k % WR_LAB_SERIES_MAX, p->series[k].look == WR_LAB_PREDICTED ? "p" : "l", LEFT, y, LEFT + 34, y);
            if (p->series[k].look == WR_LAB_MEASURED) add_mark(k, LEFT + 17, y, out);
            wr_sbuf_addz(out, "</g>\n");
            add_label(LEFT + 44, y + 4, "", p->series[k].name, out);
        }
        at.top += height_of(p);
    }
    wr_sbuf_addz(out, "</svg>\n");
}
