/* tests/golden/golden.h: the golden format, its cases in memory, and one run of a case under one setting.
 *
 * Format     a .test file holds cases. '#' lines outside of blocks are comments.
 *              case NAME                 starts a case; NAME is unique in the file
 *              oracle TEXT               where the expected rows come from (required)
 *              set KEY VALUE             a setting, as SET 'KEY' = 'VALUE'
 *              file NAME / sql / rows / changelog / error / ledger    start a block, ended by a line ----
 *            rows: final rows as a multiset, values joined by ' | ', NULL for null. changelog: exact rows with their kind, checked at one worker
 *            and batch size 1 only. rows-loose: as rows, but fractions' trailing zeros, the T of timestamps and the case of TRUE/FALSE do not count
 *            (for rows recorded through a client that drops them). error: every line must occur in the diagnostics. ledger: 'TABLE-OR-TITLE|WHAT COUNT' (in, out, matched-left,
 *            matched-right or a reason's name). In sql ${DIR} is the directory of the case's files,
 *            ${LIB} that of the functions in C (libexample.so of examples/udf, libfunctions.so of tests/udf).
 * Views      with --views the last SELECT of a case becomes a materialized view, and its rows are read from there at the end: what readers see must be what a sink gets. Cases that
 *            cannot be made so are passed over and counted.
 * Matrix     every case runs under all settings of golden_settings(); each must give the same rows.                                     */
#pragma once
#include "run/run.h"

typedef struct golden_block { char *name; char *text; } golden_block;
typedef struct golden_case {
    const char *path;
    uint32_t    line;
    char       *name, *oracle;
    WR_ARR(golden_block) files;
    WR_ARR(golden_block) settings; /* key, value */
    char       *sql, *rows, *changelog, *error, *ledger;
    bool        loose, as_view;
} golden_case;
typedef WR_ARR(golden_case) golden_cases;
bool golden_parse(const char *path, char *text, golden_cases *out, char *message, size_t cap); /* cuts text up and borrows it */

typedef struct fault_world {
    wr_world         base;
    wr_world        *real;
    _Atomic uint64_t calls;
    uint64_t         fail_at;  /* 0 = never */
} fault_world;
fault_world golden_world(uint64_t fail_at);

typedef struct golden_setting {
    char     name[64];
    uint32_t workers, batch;
    bool     simulate, tail, crash;
    bool     tier;          /* all keyed state goes through the tier; with crash, or with a checkpoint every few steps */
    uint64_t seed;
    size_t   queue_bytes;
    int64_t  map_bytes;     /* wr_run_opts.map_bytes: keyed state over it goes to the tier */
    wr_world *faulty;       /* the first attempt runs in this world, the second in the real one (tests/golden/fault.c); NULL = no faults */
} golden_setting;
uint32_t golden_settings(const golden_setting **out, bool quick);

typedef struct golden_count { char *who; const char *what; uint64_t n; } golden_count;
typedef struct golden_result {
    wr_status status;
    wr_sbuf   rows;        /* "+I a | 1" lines in order */
    wr_sbuf   messages;    /* diagnostics and errors as text */
    wr_sbuf   ledger_text;
    WR_ARR(golden_count) counts;
    uint32_t  crashes;
    bool      skipped;     /* as_view: it has no SELECT at its end, or the view cannot be */
    bool      faulted;     /* the first attempt ended with an error of the world */
} golden_result;
void golden_run(const golden_case *c, const golden_setting *s, const char *dir, golden_result *out);
void golden_result_free(golden_result *r);

void  golden_write_files(const golden_case *c, const char *dir);
void  golden_remove_tree(const char *dir);
char *golden_read_file(const char *path); /* NULL: cannot be read */
