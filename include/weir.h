/* weir.h: streaming SQL inside a program.
 *
 * A weir is one session: SQL text declares tables and says what to compute; rows go in through tables with 'connector' = 'push' and come out
 * of tables with 'connector' = 'callback' (or of a bare SELECT, whose table is called "result"), both as Arrow C data; files, SQLite databases
 * and the other connectors work as on the command line.
 *
 *     weir *w = weir_open();
 *     weir_sql(w, "CREATE TABLE t (k BIGINT, v DOUBLE) WITH ('connector' = 'push'); SELECT k, SUM(v) AS s FROM t GROUP BY k");
 *     weir_subscribe(w, "result", on_rows, NULL);
 *     weir_start(w);
 *     weir_push(w, "t", &schema, &array);
 *     weir_end(w, "t");
 *     if (weir_wait(w) != WEIR_OK) puts(weir_error(w));
 *     weir_close(w);
 *
 * Results    every call that can fail returns a weir_result; weir_error() then has the text, with file, line and column where there is one.
 * Memory     arrays and schemas given to weir_push stay the caller's (weir copies and does not release them); those handed out belong
 *            to the receiver, who calls their release. Texts are the caller's to weir_free, but for weir_error and weir_version.
 * Threads    weir_sql, weir_set, weir_subscribe, weir_start, weir_wait and weir_close from one thread at a time; weir_push, weir_end, weir_pull,
 *            weir_stop and weir_status from any thread while the job runs. Callbacks come from threads of weir's. */
#ifndef WEIR_H
#define WEIR_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#if defined(WEIR_BUILD)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

typedef struct weir weir;
typedef enum weir_result {
    WEIR_OK = 0,
    WEIR_FAILED = 1,      /* data, input or output, a limit */
    WEIR_REFUSED = 2,     /* wrong use, or SQL that is wrong or not supported */
    WEIR_INTERRUPTED = 3, /* weir_stop */
    WEIR_TIMEOUT = 4,     /* weir_pull: nothing yet */
    WEIR_END = 5,         /* weir_pull: the job has ended and every row was handed out */
} weir_result;

WEIR_API const char *weir_version(void); /* "0.1.0" */
WEIR_API weir       *weir_open(void);
WEIR_API void        weir_close(weir *w);       /* stops what runs, waits for it, frees all; NULL is legal */

/* Options: "workers", "memory" ("256MiB"), "state-dir", "fresh" ("true"), "checkpoint-every" ("10s"), "batch-rows"; any setting with a dot in
 * its name ("table.local-time-zone"); and every other name NAME is the value of ${NAME} in SQL. Before weir_sql. */
WEIR_API weir_result weir_set(weir *w, const char *name, const char *value);

/* Declares tables and views, checks and plans queries. Nothing runs before weir_start, which runs what was added since the last one;
 * neighbouring INSERTs are one job. A text that is refused adds nothing that runs. */
WEIR_API weir_result weir_sql(weir *w, const char *sql);
/* Plan and state bill of what weir_start would run, as text or as JSON. NULL if there is nothing. */
WEIR_API char       *weir_explain(weir *w, int json);

/* Runs in the background. 'push' tables of the job take rows from now on. */
WEIR_API weir_result weir_start(weir *w);
WEIR_API weir_result weir_wait(weir *w);        /* until it ends; its result */
WEIR_API void        weir_stop(weir *w);        /* asks it to end: with a state directory after a checkpoint; then weir_wait */

/* Rows in: a struct array with one child a column, in the order of the table's columns. Waits while the job is behind.
 * WEIR_INTERRUPTED: the job is not running (any more). */
WEIR_API weir_result weir_push(weir *w, const char *table, const struct ArrowSchema *schema, const struct ArrowArray *array);
WEIR_API weir_result weir_end(weir *w, const char *table);  /* no more rows: windows close, a job with only such inputs ends */
/* After weir_start with a state directory: rows of the table that the restored checkpoint contains; push from there. */
WEIR_API uint64_t    weir_position(weir *w, const char *table);

/* Rows out. The last column "$kind" (int8) is the kind of change: 0 insert, 1 update before, 2 update after, 3 delete.
 * The callback may keep the array (and the schema) by setting release of its copy to NULL after moving it, as Arrow prescribes; else weir
 * releases them. A return value other than 0 fails the job. Before weir_start. */
typedef int (*weir_rows)(void *arg, const char *table, struct ArrowSchema *schema, struct ArrowArray *array);
WEIR_API weir_result weir_subscribe(weir *w, const char *table, weir_rows call, void *arg);
/* Without a callback: weir_listen before weir_start, then weir_pull takes the next rows. The job waits when 16 MiB wait to be pulled. */
WEIR_API weir_result weir_listen(weir *w, const char *table);
WEIR_API weir_result weir_pull(weir *w, const char *table, int timeout_ms, struct ArrowSchema *schema, struct ArrowArray *array);

WEIR_API char       *weir_status(weir *w);      /* JSON: state, rows, memory, checkpoints, ledger of the running or last job */
WEIR_API const char *weir_error(weir *w);       /* of the last call on this thread's session that failed; "" if none */
WEIR_API void        weir_free(void *text);

#ifdef __cplusplus
}
#endif
#endif
