/* run/again.h: dead letters on their way back into a job: what is asked for, and what became of each.
 *
 * Idea       a source decodes the bytes of a letter as it decodes its input, at the place in its turns where they come; a sink is given the row. Which letters went in is
 *            part of the checkpoint, by identity, and so are the rows: a letter goes in once, whatever crashes and however often it is asked for.
 *            A running job finds requests in STATE_DIR/replay (NAME.request) and answers when a checkpoint has them (NAME.result). A job that does not run is
 *            started for them alone (wr_run_opts.again_only): it reads none of its input and ends with a checkpoint.
 * Late       a row that is at or behind its source's watermark would be late in every window that has closed: unless late_enters it is not put in.
 * Thread     a request belongs to one thread until the job has it.                                                          */
#pragma once
#include "connect/connect.h"

typedef enum wr_again_outcome {
    WR_AGAIN_WAITS,
    WR_AGAIN_PASSED,  /* it is in, with the next checkpoint */
    WR_AGAIN_REFUSED, /* again */
    WR_AGAIN_LATE,    /* it would be late */
    WR_AGAIN_BEFORE,  /* it was put back before */
    WR_AGAIN_CANNOT,  /* it cannot be put back here: the reason says why */
} wr_again_outcome;
const char *wr_again_outcome_name(wr_again_outcome outcome); /* "passed", "refused", "late", "done-before", "not-possible" */

typedef struct wr_again_letter {
    wr_str           id, table;
    bool             of_sink;
    wr_again         record;
    wr_again_outcome outcome;
    char             reason[240];
} wr_again_letter;
typedef struct wr_again_request {
    bool late_enters;         /* late rows go in; operators drop or take them as they do with any late row */
    bool overwrite;           /* rows go back to tables that are written by key, over what may be newer */
    WR_ARR(wr_again_letter) letters;
    wr_sbuf file;             /* owns the strings of one that was read from a file */
} wr_again_request;
enum { WR_AGAIN_LETTERS_MAX = 5000 }; /* of one request */
void wr_again_free(wr_again_request *request);

/* Files in STATE_DIR/replay; each is written whole or not at all. name: without extension. */
wr_status wr_again_put_request(wr_world *world, const char *state_dir, const char *name, const wr_again_request *request, wr_err *err);
/* The answer, once it is there: outcomes and reasons of the request's letters; the file is removed. */
wr_status wr_again_take_result(wr_world *world, const char *state_dir, const char *name, wr_again_request *request, bool *there, wr_err *err);
/* Nobody waits for it any more; removed before the job looked at it, or else it is done all the same. */
wr_status wr_again_withdraw(wr_world *world, const char *state_dir, const char *name, wr_err *err);
/* Which state this is, as its dead letters say it; "": none is there. */
wr_status wr_again_state_id(wr_world *world, const char *state_dir, char out[20], wr_err *err);
