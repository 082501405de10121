/* api/contract.h: contracts of a directory, and a script judged by them.
 *
 * Idea       a directory holds what teams publish (*.contract), what readers need (*.needs), and readers' own scripts (*.sql), whose needs are derived as
 *            they stand. Each file is read by a session of its own, which the book keeps, because the contracts point into it.
 * Thread     one. */
#pragma once
#include "api/session.h"
#include "plan/contract.h"

typedef struct wr_contract_book {
    wr_arena     *arena;
    wr_contracts  promises, needs;
    WR_ARR(wr_session *) sessions;
} wr_contract_book;
void wr_contract_book_free(wr_contract_book *book); /* zero is legal */
/* One file, by the end of its name. WR_USER: report has what is wrong with it. sets: NAME=VALUE for scripts. */
wr_status wr_contract_book_add(wr_contract_book *book, const char *path, const char *const *sets, uint32_t n_sets, wr_sbuf *report, wr_err *err);
wr_status wr_contract_book_load(wr_contract_book *book, const char *dir, const char *const *sets, uint32_t n_sets, wr_sbuf *report, wr_err *err);
/* Promises and needs of a planned session, into the book; wrong options are diagnostics of the session. path: its script. */
void      wr_contract_book_take(wr_contract_book *book, wr_session *session, const char *path);

typedef enum wr_verdict {
    WR_VERDICT_BREAKS,   /* a reader does not get what it needs any more: `need` says whose */
    WR_VERDICT_LACKS,    /* the script needs more than its input promises */
    WR_VERDICT_WEAKER,   /* weaker than before, and no reader is known who minds */
    WR_VERDICT_CHANGED,  /* other than before, and not weaker */
    WR_VERDICT_ORPHAN,   /* a reader's table that nobody promises */
} wr_verdict;
typedef struct wr_contract_finding { wr_verdict verdict; const wr_contract *promise, *need; wr_contract_point point; } wr_contract_finding; /* NULL: none */
typedef WR_ARR(wr_contract_finding) wr_contract_findings; /* in the book's arena */
/* What `now` (the promises and needs of a script) does to the book. publisher: the script's job, whose tables must all be there still; "": it may be anybody's. */
void wr_contract_judge(wr_contract_book *book, const wr_contract_book *now, wr_str publisher, wr_contract_findings *out);
wr_str wr_contract_publisher(const wr_session *session, const char *path); /* 'pipeline.name', or the script's name */
/* The book by itself: every need against its promise. */
void wr_contract_judge_all(wr_contract_book *book, wr_contract_findings *out);
const char *wr_verdict_name(wr_verdict verdict);
void wr_contract_findings_json(const wr_contract_findings *findings, wr_sbuf *out);
