/* lab/json.c: a report, and the list of labs, as one JSON document each. */
#include "lab/lab.h"
#include <math.h>

static void add_text(const char *name, const char *text, wr_sbuf *out) {
    wr_sbuf_printf(out, "\"%s\":", name);
    if (text) wr_sbuf_add_json(out, wr_str_of(text));
    else wr_sbuf_addz(out, "null");
}
static void add_number(double v, wr_sbuf *out) {
    if (isfinite(v)) wr_sbuf_printf(out, "%.17g", v);
    else wr_sbuf_addz(out, "null");
}
static const char *unit_name(wr_lab_unit unit) { return unit == WR_LAB_BYTES ? "bytes" : unit == WR_LAB_SECONDS ? "seconds" : ""; }

static void add_cells(const wr_lab_cells *cells, uint32_t n, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t c = 0; c < n; c++) {
        if (c) wr_sbuf_addc(out, ',');
        wr_sbuf_add_json(out, wr_str_of(cells->at[c]));
    }
    wr_sbuf_addc(out, ']');
}

static void add_table(const wr_lab_table *t, wr_sbuf *out) {
    wr_sbuf_addc(out, '{');
    add_text("title", t->title, out);
    wr_sbuf_addz(out, ",\"columns\":");
    add_cells(&t->head, t->n_columns, out);
    wr_sbuf_addz(out, ",\"rows\":[");
    for (uint32_t r = 0; r < t->rows.n; r++) {
        if (r) wr_sbuf_addc(out, ',');
        add_cells(&t->rows.at[r], t->n_columns, out);
    }
    wr_sbuf_addz(out, "]}");
}

static void add_axis(const char *name, const char *label, wr_lab_unit unit, bool log, wr_sbuf *out) {
    wr_sbuf_printf(out, ",\"%s\":{", name);
    add_text("label", label, out);
    wr_sbuf_printf(out, ",\"unit\":\"%s\",\"log\":%s}", unit_name(unit), log ? "true" : "false");
}

static void add_plot(const wr_lab_plot *p, wr_sbuf *out) {
    wr_sbuf_addc(out, '{');
    add_text("title", p->title, out);
    add_axis("x", p->x_label, p->x_unit, p->x_log, out);
    add_axis("y", p->y_label, p->y_unit, p->y_log, out);
    wr_sbuf_addz(out, ",\"series\":[");
    for (uint32_t i = 0; i < p->n; i++) {
        const wr_lab_series *s = &p->series[i];
        wr_sbuf_addz(out, i ? ",{" : "{");
        add_text("name", s->name, out);
        wr_sbuf_printf(out, ",\"predicted\":%s,\"points\":[", s->look == WR_LAB_PREDICTED ? "true" : "false");
        for (uint32_t k = 0; k < s->points.n; k++) {
            wr_sbuf_addz(out, k ? ",[" : "[");
            add_number(s->points.at[k].x, out);
            wr_sbuf_addc(out, ',');
            add_number(s->points.at[k].y, out);
            wr_sbuf_addc(out, ']');
        }
        wr_sbuf_addz(out, "]}");
    }
    wr_sbuf_addz(out, "]}");
}

void wr_lab_show_json(const wr_lab_run *run, const wr_lab_report *r, const char *guess, wr_sbuf *out) {
    wr_sbuf_addc(out, '{');
    add_text("lab", run->lab->name, out);
    wr_sbuf_printf(out, ",\"seed\":%llu,\"quick\":%s,\"parameters\":{", (unsigned long long)run->seed, run->quick ? "true" : "false");
    for (uint32_t i = 0; i < wr_lab_n_params(run->lab); i++) {
        wr_sbuf_printf(out, "%s\"%s\":", i ? "," : "", run->lab->params[i].name);
        add_number(run->values[i], out);
    }
    wr_sbuf_addz(out, "},");
    add_text("question", run->lab->question, out), wr_sbuf_addc(out, ',');
    add_text("guess", guess, out);
    wr_sbuf_addz(out, ",\"figures\":{");
    for (uint32_t i = 0; i < r->figures.n; i++) {
        wr_sbuf_printf(out, "%s\"%s\":", i ? "," : "", r->figures.at[i].name);
        add_number(r->figures.at[i].value, out);
    }
    wr_sbuf_addz(out, "},\"tables\":[");
    for (uint32_t i = 0; i < r->tables.n; i++) wr_sbuf_addz(out, i ? "," : ""), add_table(r->tables.at[i], out);
    wr_sbuf_addz(out, "],\"plots\":[");
    for (uint32_t i = 0; i < r->plots.n; i++) wr_sbuf_addz(out, i ? "," : ""), add_plot(r->plots.at[i], out);
    wr_sbuf_addz(out, "],\"explanation\":[");
    for (uint32_t i = 0; i < r->sentences.n; i++) wr_sbuf_addz(out, i ? "," : ""), wr_sbuf_add_json(out, wr_str_of(r->sentences.at[i]));
    wr_sbuf_addz(out, "],\"relations\":[");
    for (uint32_t i = 0; i < r->relations.n; i++) {
        wr_sbuf_addz(out, i ? ",{" : "{");
        add_text("text", r->relations.at[i].text, out);
        wr_sbuf_printf(out, ",\"held\":%s}", r->relations.at[i].held ? "true" : "false");
    }
    wr_sbuf_printf(out, "],\"held\":%s,", wr_lab_held(r) ? "true" : "false");
    add_text("rule", run->lab->rule, out);
    wr_sbuf_addz(out, "}\n");
}

void wr_lab_list_json(wr_sbuf *out) {
    uint32_t n;
    const wr_lab *const *all = wr_labs(&n);
    wr_sbuf_addz(out, "{\"labs\":[");
    for (uint32_t i = 0; i < n; i++) {
        wr_sbuf_addz(out, i ? ",{" : "{");
        add_text("name", all[i]->name, out), wr_sbuf_addc(out, ',');
        add_text("line", all[i]->line, out), wr_sbuf_addc(out, ',');
        add_text("question", all[i]->question, out);
        wr_sbuf_addz(out, ",\"parameters\":[");
        for (uint32_t k = 0; k < wr_lab_n_params(all[i]); k++) {
            const wr_lab_param *p = &all[i]->params[k];
            wr_sbuf_addz(out, k ? ",{" : "{");
            add_text("name", p->name, out), wr_sbuf_addc(out, ',');
            add_text("doc", p->doc, out);
            wr_sbuf_printf(out, ",\"default\":%.17g,\"quick\":%.17g,\"least\":%.17g,\"most\":%.17g,\"unit\":\"%s\"}", p->fallback, p->quick, p->least, p->most, unit_name(p->unit));
        }
        wr_sbuf_addz(out, "]}");
    }
    wr_sbuf_addz(out, "]}\n");
}
