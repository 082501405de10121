/* run/letters.h: records that a source or a sink refuses: counted, judged by the table's threshold, kept as dead letters. Private to run/.
 *
 * Idea       a place that takes dead letters (a file, or any table that can be written to) has a sink of its own beside the plan. Letters wait in memory, with
 *            the epoch that they belong to: that of the turn, or of the rows of the sink. When all of an epoch has been acknowledged, its letters are
 *            written and prepared, and what the sink stages is in the checkpoint like that of any other sink; then it commits. So a letter is written once
 *            for each refused record, as surely as the sink takes rows once, whatever crashes: what is read again is refused again, in an epoch that was
 *            never completed. Without checkpoints letters are flushed a few times a second.
 * Late       a database refuses rows when an epoch commits, so their letters belong to the next one. If the process dies in between, recover of the database's
 *            sink says again which they were (connect.h: wr_refuse).
 * Bounds     LETTERS_SOON_BYTES waiting: a checkpoint begins; LETTERS_MOST_BYTES: sources are not read meanwhile. Charged.
 * Thread     letters_add, refuser_*: the worker; prepare: the thread that writes checkpoints; commit: worker 0; the rest: coordinator. `lock` guards what waits. */
#pragma once
#include "connect/connect.h"
#include "run/run.h"

enum { LETTERS_SOON_BYTES = 16 << 20, LETTERS_MOST_BYTES = 64 << 20 };

typedef struct id_set { uint64_t (*at)[2]; uint32_t n, cap; } id_set; /* of identities, by hash */
bool id_set_has(const id_set *set, wr_str id);
void id_set_add(id_set *set, wr_str id);
void id_set_free(id_set *set);

typedef struct letter_box letter_box;
typedef struct refuser {              /* one table's: of a source, or of a sink's instance */
    wr_refusal_policy policy;
    wr_str            table;
    letter_box       *box;            /* NULL: letters are counted only */
    uint64_t          number;         /* sinks: of the last letter */
    uint64_t          window, in_window; /* which window of records; refused ones in it */
    WR_ARR(wr_refused_code) counts;     /* by code */
    id_set            replayed;       /* letters that were put back */
} refuser;

typedef struct letter {
    bool        of_sink, of_join;
    uint32_t    worker;                               /* of_join */
    wr_str      partition, raw, key, reason, context, name; /* ptr NULL: none; name: of the message, where its queue has no offsets */
    int64_t     offset, line;                         /* -1: none */
    const char *code;
} letter;

struct wr_job;
struct source;
struct node;
wr_status letters_open(struct wr_job *job, wr_err *err);              /* sources and sinks are there */
void      letters_close(struct wr_job *job);
void      letters_add(struct wr_job *job, refuser *r, uint64_t epoch, const letter *l);
size_t    letters_waiting(const struct wr_job *job);                  /* bytes */
wr_status letters_prepare(struct wr_job *job, uint64_t epoch, wr_err *err);
wr_status letters_commit(struct wr_job *job, uint64_t epoch, wr_err *err);
wr_status letters_recover(struct wr_job *job, const struct wr_checkpoint *ck, bool found, wr_err *err);
wr_status letters_flush(struct wr_job *job, wr_err *err);             /* without checkpoints */
wr_status letters_end(struct wr_job *job, wr_err *err);               /* the job ended well */
uint64_t  letters_state(const struct wr_job *job);                    /* identity of the state that the job has */
void      letters_set_state(struct wr_job *job, uint64_t state);
/* Counts a refused record. number: its place among the table's records, from 0. WR_DATA: more than the threshold allows. */
wr_status refuser_judge(refuser *r, const char *code, uint64_t number, const char *reason, wr_err *err);
void      refuser_save(const refuser *r, wr_sbuf *out);
void      refuser_load(refuser *r, wr_reader *in);
void      refuser_report(const refuser *r, wr_refused_code *codes, uint32_t *n); /* adds to *n of WR_REFUSED_CODES_MAX */
void      refuser_free(refuser *r);
/* A row that the sink of a node does not take. */
wr_status refuse_row(struct node *n, const wr_batch *batch, uint32_t row, uint64_t number, const char *code, const char *reason, wr_err *err);
