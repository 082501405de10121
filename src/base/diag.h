/* base/diag.h: what is wrong with a text that the user wrote: collected, not stopped at; printed with the line and a caret.
 *
 * Idea       one wr_diags per run holds the source texts (script files) and all diagnostics about them; every stage of the
 *            front end adds to it and carries on where it can, so that one run reports all errors of a script.
 * Invariant  spans index sources from 1; texts are borrowed and outlive the list. At most WR_DIAG_MAX are kept.     */
#pragma once
#include "base/err.h"
#include "base/str.h"

enum { WR_DIAG_MAX = 100 };
typedef enum wr_severity { WR_SEV_ERROR, WR_SEV_WARNING, WR_SEV_NOTE } wr_severity;

typedef struct wr_diag {
    wr_severity severity;
    char        code[8];
    wr_span     at;
    char       *message, *detail, *hint; /* in the list's arena; detail and hint may be NULL */
} wr_diag;

typedef struct wr_diag_source { wr_str name, text; uint32_t lines_before; } wr_diag_source; /* lines_before: of the file, in front of the text */

typedef struct wr_diags {
    wr_arena *arena;                 /* owned */
    WR_ARR(wr_diag) list;            /* heap arrays */
    WR_ARR(wr_diag_source) sources;
    uint32_t n_errors, n_warnings, n_dropped;
} wr_diags;

void     wr_diags_init(wr_diags *diags);
void     wr_diags_free(wr_diags *diags);
uint32_t wr_diags_add_source(wr_diags *diags, wr_str name, wr_str text); /* (borrows) both; returns the file index */
uint32_t wr_diags_line(const wr_diags *diags, wr_span at);                       /* of the file, where the text is only a part of it */
WR_PRINTF(5, 6) WR_COLD void wr_diags_add(wr_diags *diags, wr_severity severity, const char *code, wr_span at, const char *fmt, ...);
/* Complete the diagnostic added last. */
WR_PRINTF(2, 3) WR_COLD void wr_diags_detail(wr_diags *diags, const char *fmt, ...);
WR_PRINTF(2, 3) WR_COLD void wr_diags_hint(wr_diags *diags, const char *fmt, ...);
/* file:line:col: error [code] message / the line / the caret / detail: / hint: */
void wr_diags_print(const wr_diags *diags, wr_sbuf *out);
void wr_diags_json(const wr_diags *diags, wr_sbuf *out); /* JSON array */
wr_span wr_span_join(wr_span from, wr_span to);          /* from the start of one to the end of the other, when on one line */
/* Prints one wr_err in the same form (place, message, detail, hint). */
void wr_err_print(const wr_err *err, const wr_diags *diags, wr_sbuf *out);
