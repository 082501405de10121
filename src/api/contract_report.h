/* api/contract_report.h: contracts and jobs of many teams, looked at as a whole: what is covered, who reads what, what breaks, what nobody owns.
 *
 * Layout     DIR/TEAM/...: the first folder is the team; files straight in DIR are of the team ".". Jobs are *.sql, contracts *.contract, needs of readers without a script *.needs, state directories
 *            any folder with checkpoints in it, dead letters the files that a job's tables name with 'dead-letter.path' (beside the script, if it is no absolute path).
 * Errors     a file that cannot be read or planned is listed with what is wrong, and the rest is reported.
 * Cost       one session a file, kept, as contracts point into it; tables are compared with tables, so it is for thousands of them and not for millions.
 * Thread     one.                                                                                                                    */
#pragma once
#include "api/contract.h"

enum { WR_REPORT_DEPTH_MAX = 16, WR_LETTERS_OLD_S = 7 * 86400 };
typedef struct wr_report_file { wr_str team, path; bool job; uint32_t promises[2], needs[2]; } wr_report_file; /* from, to: in book (contracts) or jobs */
typedef struct wr_report_error { wr_str team, path, said; } wr_report_error;
typedef struct wr_report_state { wr_str team, path; uint64_t in, left_out, refused, late; bool closes; wr_str tables; } wr_report_state; /* of all sources of a job; tables: that it writes, a line each */
typedef struct wr_report_measured { wr_str team, dir, table, what; double total, bad; } wr_report_measured; /* of a state directory's slo.state: microseconds, or rows */
typedef struct wr_report_out { wr_str table; wr_slo_options slo; } wr_report_out; /* of an output: its name in the script, what is watched */
typedef enum wr_kept_verdict { WR_KEPT_UNKNOWN, WR_KEPT_YES, WR_KEPT_NO } wr_kept_verdict;
typedef struct wr_report_kept {      /* one promise of one output */
    uint32_t output;                 /* in jobs.promises */
    bool     completeness;           /* else freshness */
    double   promised, watched;      /* microseconds, or per cent; watched -1: the script does not say */
    double   objective;              /* of freshness: the share of the time */
    double   counted, bad;           /* 0: not measured */
    wr_str   state;                  /* the directory */
    bool     by_ledger;
    wr_kept_verdict verdict;
} wr_report_kept;
typedef struct wr_report_letters { wr_str team, path, table; uint64_t n; int64_t oldest_us; } wr_report_letters; /* that wait in a file: UINT64_MAX: too many to count; since the first was refused, else the last change */
typedef struct wr_contract_report {
    wr_contract_book declared, jobs; /* what contracts say; what jobs write (promises) and read (needs) */
    wr_arena        *arena;
    WR_ARR(wr_report_file)    files;
    WR_ARR(wr_report_error)   errors;
    WR_ARR(wr_report_state)   states;
    WR_ARR(wr_report_letters) letters;
    wr_contract_findings      broken;  /* needs against contracts; changes against an earlier tree */
    wr_arena                 *former[3]; /* of that tree */
    WR_ARR(wr_report_measured) measured;
    WR_ARR(wr_report_kept)    kept;
    WR_ARR(wr_report_out)     outs;     /* beside jobs' promises */
    WR_ARR(wr_str)            in_table; /* beside jobs' needs: the table's name in the script */
    WR_ARR(wr_str)            out_realm, in_realm; /* beside jobs' promises and needs: the brokers, or the folder that a relative path is in: places of one name in two realms are two */
} wr_contract_report;

/* against: an earlier state of the same tree, or NULL. WR_IO: DIR cannot be read. sets: NAME=VALUE for scripts. */
wr_status wr_contract_report_make(const char *dir, const char *against, const char *const *sets, uint32_t n_sets, wr_contract_report *out, wr_err *err);
void      wr_contract_report_free(wr_contract_report *r);
/* What a rule of --fail-on counts: "errors", "breaks", "uncovered", "orphans", "producers", "letters", "unowned", "unused", "unkept"; -1: there is no such rule. */
int64_t   wr_contract_report_count(const wr_contract_report *r, wr_str rule, int64_t now_us);
void      wr_contract_report_text(const wr_contract_report *r, int64_t now_us, wr_sbuf *out);
void      wr_contract_report_json(const wr_contract_report *r, int64_t now_us, wr_sbuf *out);
void      wr_contract_report_html(const wr_contract_report *r, int64_t now_us, wr_sbuf *out); /* one page, which loads nothing, with the picture in it */
void      wr_contract_report_svg(const wr_contract_report *r, wr_sbuf *out); /* teams as boxes, tables in them, an arrow from each table to the jobs that read it */
