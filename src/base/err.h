/* base/err.h: errors are values.
 *
 * Idea       a function that can fail returns a wr_status and fills a caller-owned, fixed-size wr_err, its last parameter;
 *            reporting an error never allocates. Four kinds of trouble, four treatments: a bug asserts (compiler.h); an
 *            operating error travels up as a status; a user's mistake in SQL becomes a diagnostic (diag.h); a bad row of
 *            data is a bit in a row-error mask and is counted by the table's policy.
 * Invariant  status != WR_OK  <=>  err holds code, message and, where known, a place and one hint.                  */
#pragma once
#include "base/compiler.h"

typedef enum wr_status {
    WR_OK = 0,
    WR_LIMIT,       /* a budget or a stated bound was reached */
    WR_IO,          /* the world said no: file, disk, database */
    WR_USER,        /* SQL, option or command line is wrong; diagnostics say where */
    WR_DATA,        /* a record or value that the policy 'fail' does not let pass */
    WR_CORRUPT,     /* a file of ours does not verify */
    WR_CANCELLED,   /* stopped on request */
    WR_UNSUPPORTED, /* named feature that weir does not have (yet) */
} wr_status;

/* A place in a text that the user wrote. file indexes the diag source list (0 = none); line and col count from 1. */
typedef struct wr_span {
    uint32_t file, line, col, len;
} wr_span;

typedef struct wr_err {
    wr_status   status;
    bool        retriable;
    char        code[8];       /* SQLSTATE or weir code such as "22012", "WR101" */
    wr_span     at;            /* zero if none */
    char        place[256];    /* "orders.jsonl:12 (byte 345)" for data, "" if none */
    char        message[512];  /* lower-case start, no full stop, names the object in the user's words */
    char        detail[1024];  /* a sentence, or "" */
    char        hint[512];     /* something to do, or "" */
    const char *c_file;
    int         c_line;
} wr_err;

#define WR_TRY(call)                               \
    do {                                           \
        wr_status s_ = (call);                     \
        if (WR_UNLIKELY(s_ != WR_OK)) return s_;   \
    } while (0)

/* Fills err (which may be NULL) and returns status, so that `return wr_fail(err, WR_IO, "58030", "cannot ...")` reads well. */
#define wr_fail(err, status, code, ...) wr_fail_at((err), (status), (code), __FILE__, __LINE__, __VA_ARGS__)
WR_COLD WR_PRINTF(6, 7) wr_status wr_fail_at(wr_err *err, wr_status status, const char *code, const char *c_file, int c_line,
                                             const char *fmt, ...);
WR_COLD WR_PRINTF(2, 3) void wr_err_detail(wr_err *err, const char *fmt, ...);
WR_COLD WR_PRINTF(2, 3) void wr_err_hint(wr_err *err, const char *fmt, ...);
WR_COLD WR_PRINTF(2, 3) void wr_err_place(wr_err *err, const char *fmt, ...);
const char *wr_status_name(wr_status status);
