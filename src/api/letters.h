/* api/letters.h: `weir replay`: dead letters are read from where they were put, chosen, and put back into the job of the state directory.
 *
 * Idea       what goes in is decided by the job itself (run/again.h): this reads letters (from files and tables of the script, or from a file that was edited),
 *            hands them over in pieces and waits for the answers; or, for a try, runs the job on nothing but the letters, with no output and no state.
 * Once       letters are known by identity; the state says which ones went in. Letters of another state (before --fresh) are left alone: their records were read anew.
 * Thread     the caller's.                                                                                               */
#pragma once
#include "api/session.h"

typedef struct wr_letter_row {
    wr_str  id, table, partition, code, reason, raw, key, context, state, job_version;
    bool    of_sink, of_join;
    int64_t offset, line, at_us;       /* -1, -1, WR_TIME_MIN: not known */
    wr_again_outcome outcome;
    wr_str  told;                      /* why it was not put in */
} wr_letter_row;

typedef struct wr_letters_opts {
    const char *from;                  /* a file of dead letters in place of those that the script names; NULL: these */
    const char *table, *id, *reason;   /* only those: of the table; with the id; whose code is that or whose reason has it in it; NULL: all */
    int64_t     since_us, until_us;    /* refused then; WR_TIME_MIN, WR_TIME_MAX */
    bool        any_state;             /* letters of another state too */
    bool        late_enters, overwrite;
    bool        try_only;              /* nothing is put in */
    int64_t     timeout_us;            /* a running job has to answer a piece within that */
    uint64_t    max_bytes;             /* of a file: a longer one is refused; 0: any */
    void      (*progress)(void *arg, uint32_t done, uint32_t all);
    void       *arg;
} wr_letters_opts;

typedef struct wr_letters {
    WR_ARR(wr_letter_row) list;        /* the chosen ones; in the session's arena */
    uint32_t n_read, n_other_state;    /* letters found; of them those that belong to another state */
    uint32_t n_unreadable;             /* lines or rows that are no letters */
    bool     running;                  /* the job ran meanwhile, and took them */
} wr_letters;
void      wr_letter_json(const wr_letter_row *letter, bool outcome, wr_sbuf *out); /* an object */
void      wr_letters_free(wr_letters *letters);
/* Finds and chooses. The script is planned and has one job. */
wr_status wr_letters_read(wr_session *session, const wr_letters_opts *opts, wr_letters *out, wr_err *err);
/* What a job is asked to put back: letters from `from` on, as many as go into one request; returns the index of the first that does not. Borrows their strings. */
uint32_t  wr_letters_request(const wr_letters_opts *opts, const wr_letters *letters, uint32_t from, wr_again_request *out);
/* Puts them back, or tries: outcome and told of each are set. */
wr_status wr_letters_replay(wr_session *session, const wr_letters_opts *opts, wr_letters *letters, wr_err *err);
