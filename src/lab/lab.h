/* lab/lab.h: labs: small experiments on the real engine that teach one rule each. `weir lab NAME`.
 *
 * Idea       a lab is a question, a few parameters, and a function that runs jobs in this process (api/session.h, run/run.h) and writes a report: tables,
 *            plots, sentences, and relations that must hold. Nothing is modelled: what is drawn as measured was measured, what is drawn as predicted is
 *            the state bill. Renderers (text, SVG, JSON) know reports, not labs.
 * Seeds      jobs whose figures are counts and bytes run in simulation (all workers in this thread, order from the seed): the same seed, the same figures.
 * Errors     of a job are those of the session; WR475 no such lab, WR476 a parameter, WR477 no room for the files of a lab.
 * Memory     a report and all in it belong to the arena of its run.  Thread: one; wr_lab_run_stop from any thread or a signal handler. */
#pragma once
#include "api/session.h"

enum { WR_LAB_PARAMS_MAX = 8, WR_LAB_CELLS_MAX = 10, WR_LAB_SERIES_MAX = 8 };

/* ---- reports ---- */
typedef struct wr_lab_point { double x, y; } wr_lab_point;
typedef enum wr_lab_look { WR_LAB_MEASURED, WR_LAB_PREDICTED } wr_lab_look; /* marks; a line */
typedef struct wr_lab_series {
    const char *name;
    wr_lab_look look;
    WR_ARR(wr_lab_point) points; /* by x */
} wr_lab_series;
typedef enum wr_lab_unit { WR_LAB_PLAIN, WR_LAB_BYTES, WR_LAB_SECONDS } wr_lab_unit;
typedef struct wr_lab_plot {
    const char   *title, *x_label, *y_label;
    wr_lab_unit   x_unit, y_unit;
    bool          x_log, y_log;
    uint32_t      n;
    wr_lab_series series[WR_LAB_SERIES_MAX];
} wr_lab_plot;
typedef struct wr_lab_cells { const char *at[WR_LAB_CELLS_MAX]; } wr_lab_cells;
typedef struct wr_lab_table {
    const char  *title;
    uint32_t     n_columns;
    wr_lab_cells head;
    WR_ARR(wr_lab_cells) rows;
} wr_lab_table;
typedef struct wr_lab_relation { const char *text; bool held; } wr_lab_relation;
typedef struct wr_lab_figure { const char *name; double value; } wr_lab_figure;
typedef struct wr_lab_report {
    wr_arena *arena;
    WR_ARR(wr_lab_table *) tables;
    WR_ARR(wr_lab_plot *) plots;
    WR_ARR(const char *) sentences;      /* the explanation, a paragraph each */
    WR_ARR(wr_lab_relation) relations;
    WR_ARR(wr_lab_figure) figures;       /* numbers by name, for --json */
} wr_lab_report;
wr_lab_table *wr_lab_add_table(wr_lab_report *report, const char *title, const char *head);    /* "rate|users|state": columns */
WR_PRINTF(3, 4) void wr_lab_row(wr_lab_report *report, wr_lab_table *table, const char *fmt, ...); /* cells with '|' between */
wr_lab_plot  *wr_lab_add_plot(wr_lab_report *report, const char *title, const char *x_label, wr_lab_unit x_unit, const char *y_label, wr_lab_unit y_unit);
WR_PRINTF(4, 5) wr_lab_series *wr_lab_add_series(wr_lab_report *report, wr_lab_plot *plot, wr_lab_look look, const char *fmt, ...);
void          wr_lab_add_point(wr_lab_report *report, wr_lab_series *series, double x, double y);
WR_PRINTF(2, 3) void wr_lab_say(wr_lab_report *report, const char *fmt, ...);
WR_PRINTF(3, 4) void wr_lab_relate(wr_lab_report *report, bool held, const char *fmt, ...);
void          wr_lab_add_figure(wr_lab_report *report, const char *name, double value);
bool          wr_lab_held(const wr_lab_report *report);

/* ---- labs ---- */
typedef struct wr_lab_param {
    const char *name;
    double      fallback, quick, least, most;  /* quick: instead of fallback with --quick */
    wr_lab_unit unit;
    const char *doc;
} wr_lab_param;
typedef struct wr_lab_run wr_lab_run;
typedef struct wr_lab {
    const char  *name, *line;            /* line: for the list */
    const char  *question, *guess, *rule;
    wr_lab_param params[WR_LAB_PARAMS_MAX];
    wr_status  (*run)(wr_lab_run *run, wr_lab_report *report, wr_err *err);
} wr_lab;
const wr_lab *const *wr_labs(uint32_t *n);
const wr_lab *wr_lab_find(wr_str name, wr_err *err);  /* NULL: WR475 with the nearest name */
uint32_t      wr_lab_n_params(const wr_lab *lab);

struct wr_lab_run {
    const wr_lab *lab;
    wr_world     *world;
    wr_arena     *arena;
    uint64_t      seed;
    bool          quick;
    double        values[WR_LAB_PARAMS_MAX];
    char          dir[512];              /* for files of jobs; removed at the end */
    void        (*progress)(void *arg, const char *what); /* what is done now; may be NULL */
    void         *arg;
    _Atomic bool  stopped;
};
/* Parameters at their fallbacks; world NULL: the real one. */
void      wr_lab_run_open(wr_lab_run *run, const wr_lab *lab, wr_world *world, uint64_t seed, bool quick);
wr_status wr_lab_run_set(wr_lab_run *run, const char *assignment, wr_err *err); /* "NAME=VALUE"; WR476 */
wr_status wr_lab_run_do(wr_lab_run *run, wr_lab_report *report, wr_err *err);  /* the report is that of run->arena */
void      wr_lab_run_stop(wr_lab_run *run);
void      wr_lab_run_close(wr_lab_run *run);

/* ---- renderers ---- */
void wr_lab_list(wr_sbuf *out);
void wr_lab_list_json(wr_sbuf *out);
typedef struct wr_lab_text { uint32_t width; bool utf8; } wr_lab_text;
void wr_lab_ask(const wr_lab_run *run, const wr_lab_text *how, wr_sbuf *out); /* the question, the values of the parameters, what to guess */
void wr_lab_show(const wr_lab_run *run, const wr_lab_report *report, const wr_lab_text *how, wr_sbuf *out); /* all behind the question */
void wr_lab_show_json(const wr_lab_run *run, const wr_lab_report *report, const char *guess, wr_sbuf *out);
void wr_lab_svg(const wr_lab_report *report, uint32_t first, uint32_t n, wr_sbuf *out); /* so many plots, one above the other */
void wr_lab_number(double value, wr_lab_unit unit, wr_sbuf *out); /* as axes and cells have it: "12.3 MiB", "600 s", "1.5 M" */
