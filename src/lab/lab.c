/* lab/lab.c: the labs there are, their parameters, and what a report is made of. See lab.h. */
#include "lab/parts.h"
#include "type/datetime.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const wr_lab *const all_labs[] = {&wr_lab_remember, &wr_lab_hot_key, &wr_lab_panes, &wr_lab_barriers, &wr_lab_replay, &wr_lab_dispatch};

const wr_lab *const *wr_labs(uint32_t *n) { return *n = WR_COUNT_OF(all_labs), all_labs; }

const wr_lab *wr_lab_find(wr_str name, wr_err *err) {
    wr_str names[WR_COUNT_OF(all_labs)];
    for (uint32_t i = 0; i < WR_COUNT_OF(all_labs); i++) {
        names[i] = wr_str_of(all_labs[i]->name);
        if (wr_str_eq(name, names[i])) return all_labs[i];
    }
    int near = wr_nearest(name, names, WR_COUNT_OF(all_labs));
    wr_fail(err, WR_USER, "WR475", "there is no lab '%.*s'", WR_FMT(name));
    if (near >= 0) wr_err_hint(err, "did you mean '%.*s'? 'weir lab' lists them", WR_FMT(names[near]));
    else wr_err_hint(err, "'weir lab' lists them");
    return NULL;
}

uint32_t wr_lab_n_params(const wr_lab *lab) {
    uint32_t n = 0;
    while (n < WR_LAB_PARAMS_MAX && lab->params[n].name) n++;
    return n;
}

/* ---- a run ---- */
void wr_lab_run_open(wr_lab_run *run, const wr_lab *lab, wr_world *world, uint64_t seed, bool quick) {
    memset(run, 0, sizeof *run);
    run->lab = lab, run->world = world ? world : wr_world_posix(), run->arena = wr_arena_new(NULL), run->seed = seed, run->quick = quick;
    for (uint32_t i = 0; i < wr_lab_n_params(lab); i++) run->values[i] = quick ? lab->params[i].quick : lab->params[i].fallback;
}

static bool read_value(const wr_lab_param *p, const char *text, double *out) {
    int64_t bytes;
    if (p->unit == WR_LAB_BYTES && wr_parse_size(wr_str_of(text), &bytes)) return *out = (double)bytes, true;
    char *end;
    *out = strtod(text, &end);
    if (end == text) return false;
    if (*end == 'k' && !end[1]) return *out *= 1e3, true;
    if (*end == 'M' && !end[1]) return *out *= 1e6, true;
    return !*end;
}

wr_status wr_lab_run_set(wr_lab_run *run, const char *assignment, wr_err *err) {
    const char *is = strchr(assignment, '=');
    uint32_t    n = wr_lab_n_params(run->lab);
    wr_str      name = {assignment, is ? (size_t)(is - assignment) : strlen(assignment)}, names[WR_LAB_PARAMS_MAX];
    for (uint32_t i = 0; i < n; i++) {
        const wr_lab_param *p = &run->lab->params[i];
        names[i] = wr_str_of(p->name);
        if (!is || !wr_str_eq(name, names[i])) continue;
        double  value;
        wr_sbuf least = {0}, most = {0};
        if (read_value(p, is + 1, &value) && value >= p->least && value <= p->most) return run->values[i] = value, WR_OK;
        wr_lab_number(p->least, p->unit, &least), wr_lab_number(p->most, p->unit, &most);
        wr_fail(err, WR_USER, "WR476", "'%s' is no value for %s", is + 1, p->name);
        wr_err_hint(err, "%s: a number from %s to %s", p->doc, least.at, most.at);
        wr_sbuf_free(&least), wr_sbuf_free(&most);
        return WR_USER;
    }
    int near = wr_nearest(name, names, n);
    if (!is) wr_fail(err, WR_USER, "WR476", "'%s' is not of the form NAME=VALUE", assignment);
    else wr_fail(err, WR_USER, "WR476", "lab %s has no parameter '%.*s'", run->lab->name, WR_FMT(name));
    if (is && near >= 0) wr_err_hint(err, "did you mean '%.*s'?", WR_FMT(names[near]));
    else wr_err_hint(err, "'weir lab' lists the parameters of each lab");
    return WR_USER;
}

wr_status wr_lab_run_do(wr_lab_run *run, wr_lab_report *report, wr_err *err) {
    memset(err, 0, sizeof *err);
    *report = (wr_lab_report){.arena = run->arena};
    const char *tmp = getenv("TMPDIR");
    snprintf(run->dir, sizeof run->dir, "%.400s/weir-lab-%016llx", tmp && *tmp ? tmp : "/tmp", (unsigned long long)run->world->vt->random(run->world));
    wr_status status = run->world->vt->make_dirs(run->world, run->dir, err);
    if (status != WR_OK) {
        memcpy(err->code, "WR477", 6);
        wr_err_hint(err, "a lab keeps the files of its jobs there while it runs; TMPDIR names another place");
        return status;
    }
    status = run->lab->run(run, report, err);
    wr_err spare;
    wr_dir_remove(run->world, run->dir, &spare);
    if (atomic_load(&run->stopped)) status = wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
    return status;
}

void wr_lab_run_stop(wr_lab_run *run) { atomic_store(&run->stopped, true); }
void wr_lab_run_close(wr_lab_run *run) { wr_arena_free(run->arena); }

double lab_value(const wr_lab_run *run, const char *name) {
    for (uint32_t i = 0; i < wr_lab_n_params(run->lab); i++)
        if (!strcmp(run->lab->params[i].name, name)) return run->values[i];
    wr_assert(!"a parameter of this lab");
    return 0;
}
void lab_progress(wr_lab_run *run, const char *what) {
    if (run->progress) run->progress(run->arg, what);
}

/* ---- reports ---- */
static WR_PRINTF(2, 0) const char *text_of(wr_lab_report *r, const char *fmt, va_list args) {
    char small[2048];
    vsnprintf(small, sizeof small, fmt, args);
    return wr_arena_strndup(r->arena, small, strlen(small));
}

static uint32_t split(wr_lab_report *r, const char *text, wr_lab_cells *out) {
    wr_str   rest = wr_str_of(text), cell;
    uint32_t n = 0;
    while (n < WR_LAB_CELLS_MAX && wr_str_next(&rest, '|', &cell)) out->at[n++] = wr_arena_strndup(r->arena, cell.ptr, cell.len);
    return n;
}

wr_lab_table *wr_lab_add_table(wr_lab_report *r, const char *title, const char *head) {
    wr_lab_table *t = wr_new(r->arena, wr_lab_table);
    t->title = title;
    t->n_columns = split(r, head, &t->head);
    wr_arr_apush(r->arena, &r->tables, t);
    return t;
}
void wr_lab_row(wr_lab_report *r, wr_lab_table *t, const char *fmt, ...) {
    wr_lab_cells cells = {{0}};
    va_list      args;
    va_start(args, fmt);
    split(r, text_of(r, fmt, args), &cells);
    va_end(args);
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (!cells.at[i]) cells.at[i] = "";
    wr_arr_apush(r->arena, &t->rows, cells);
}

wr_lab_plot *wr_lab_add_plot(wr_lab_report *r, const char *title, const char *x_label, wr_lab_unit x_unit, const char *y_label, wr_lab_unit y_unit) {
    wr_lab_plot *p = wr_new(r->arena, wr_lab_plot);
    *p = (wr_lab_plot){.title = title, .x_label = x_label, .y_label = y_label, .x_unit = x_unit, .y_unit = y_unit};
    wr_arr_apush(r->arena, &r->plots, p);
    return p;
}
wr_lab_series *wr_lab_add_series(wr_lab_report *r, wr_lab_plot *p, wr_lab_look look, const char *fmt, ...) {
    wr_assert(p->n < WR_LAB_SERIES_MAX);
    wr_lab_series *s = &p->series[p->n++];
    va_list        args;
    va_start(args, fmt);
    *s = (wr_lab_series){.name = text_of(r, fmt, args), .look = look};
    va_end(args);
    return s;
}
void wr_lab_add_point(wr_lab_report *r, wr_lab_series *s, double x, double y) {
    if (isfinite(x) && isfinite(y)) wr_arr_apush(r->arena, &s->points, (wr_lab_point){x, y});
}

void wr_lab_say(wr_lab_report *r, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wr_arr_apush(r->arena, &r->sentences, text_of(r, fmt, args));
    va_end(args);
}
void wr_lab_relate(wr_lab_report *r, bool held, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wr_arr_apush(r->arena, &r->relations, (wr_lab_relation){text_of(r, fmt, args), held});
    va_end(args);
}
void wr_lab_add_figure(wr_lab_report *r, const char *name, double value) {
    wr_arr_apush(r->arena, &r->figures, (wr_lab_figure){wr_arena_strndup(r->arena, name, strlen(name)), value});
}
bool wr_lab_held(const wr_lab_report *r) {
    for (uint32_t i = 0; i < r->relations.n; i++)
        if (!r->relations.at[i].held) return false;
    return true;
}
