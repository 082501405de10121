/* cli/shell.h: the parts of `weir sql`; private to cli/.
 *
 *   sql.c         options, where statements come from, running one, the signals
 *   shell_rows.c  rows of a SELECT: a table, CSV or JSON lines; a table that is drawn over while a query runs on
 *   shell_meta.c  \commands
 *   shell_line.c  reading a line: editing, history, completion (libedit, loaded when a terminal is there)
 *   infer.c       CREATE TABLE for a file of rows
 *
 * Thread     the main thread, except where shell_rows.c says so. */
#pragma once
#include "cli.h"
#include "type/row_set.h"

typedef enum shell_format { SHELL_TABLE, SHELL_CSV, SHELL_JSON } shell_format;
typedef enum shell_expanded { EXPANDED_OFF, EXPANDED_ON, EXPANDED_AUTO } shell_expanded;

/* ---- rows ---- */
typedef struct shell_rows {
    shell_format     format;
    shell_expanded   expanded;
    bool             terminal;    /* stdout is one: cells are cut, wide tables may be turned */
    /* of the running SELECT */
    const wr_pnode  *sink;
    const wr_schema *schema;      /* of the rows that come */
    wr_schema        shown;       /* without the columns that only the order needs */
    const wr_tz     *tz;
    wr_row_set      *set;
    bool             append, live;
    wr_mutex        *lock;        /* guards set while a live table is drawn */
    uint32_t         n_drawn;     /* lines on the screen that the next drawing takes back */
    uint64_t         n_changes, n_changes_drawn;
    int64_t          next_draw_us;
} shell_rows;

wr_status rows_take(void *rows, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err); /* a wr_session_rows; any thread */
void      rows_begin(shell_rows *r, const wr_job_plan *plan, bool live);
void      rows_draw(shell_rows *r);                /* live: now and then */
void      rows_end(shell_rows *r, bool complete);  /* prints what there is; complete: the query came to its end */
void      rows_free(shell_rows *r);
void      shell_size(uint32_t *columns, uint32_t *lines); /* of the terminal */

/* ---- reading lines ---- */
typedef struct shell shell;
bool shell_interrupted(void);                      /* Ctrl-C since the statement or line was begun */
typedef struct line_editor line_editor;
line_editor *line_editor_new(shell *sh);           /* never NULL; without libedit lines are read plainly */
void         line_editor_free(line_editor *e);
typedef enum line_read { LINE_OK, LINE_END, LINE_INTERRUPTED } line_read;
line_read    line_editor_read(line_editor *e, const char *prompt, wr_sbuf *out); /* without the line end */
void         line_editor_remember(line_editor *e, wr_str statement);

/* ---- the shell ---- */
struct shell {
    wr_session  *session;
    job_args     args;
    shell_rows   rows;
    line_editor *editor;          /* NULL: statements do not come from a terminal */
    bool         timing, changelog, keep_going, quit, failed;
    uint32_t     depth;           /* of \i */
    wr_str       source;          /* name and line of the statement that runs, for messages of the shell's own */
    uint32_t     line;
    int          code;            /* worst exit code so far */
    wr_sbuf      last;            /* the last statement with rows, for \explain and \e */
};

bool shell_statement(shell *sh, const char *name, uint32_t lines_before, wr_str text); /* false: it failed; said already */
bool shell_text(shell *sh, const char *name, wr_str text);  /* all of a script; false: it stopped at an error */
bool shell_file(shell *sh, const char *path);               /* SQL, or data (.csv, .json, .jsonl, .ndjson): a table is made for it */
bool shell_meta(shell *sh, wr_str line);                    /* a line that begins with '\' */
WR_PRINTF(2, 3) bool shell_error(shell *sh, const char *fmt, ...); /* of the shell's own; returns false */

/* ---- infer.c ---- */
/* Appends a CREATE TABLE for the rows of a file. WR_USER: it cannot be said what they are. */
wr_status infer_table(const char *path, wr_sbuf *out, wr_err *err);
