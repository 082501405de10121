/* connect/staged.h: sinks that keep what they were given until a checkpoint holds it: the log of it, and the calls of a sink around that log.
 *
 * Idea       write puts rows into the log, in the sink's own form. Without checkpoints the log is applied at each flush, and when it is long. With them prepare hands it
 *            to the checkpoint as staged bytes and commit applies those; so does recover after a crash. What a connector adds is how rows become bytes, and how bytes
 *            are applied: once, for an epoch that may come a second time, or as often as they come, if it promises no more.
 * Staged     u8 form, what `head` puts, the log.
 * State      the log, charged to the account.
 * Thread     one worker.                                                                                                                     */
#pragma once
#include "connect/parts.h"

/* What a sink was given since its last prepare or flush. */
typedef struct change_log { wr_account *acct; wr_sbuf bytes; int64_t charged; } change_log;
void change_log_charge(change_log *log);                 /* after bytes were added */
void change_log_stage(change_log *log, wr_sbuf *staged); /* appends it to what the checkpoint keeps; the log is empty then */
void change_log_free(change_log *log);
/* Logs of encoded rows: of each its kind, then its bytes. */
void change_log_put_rows(change_log *log, const wr_rowcodec *codec, const wr_batch *batch, wr_sbuf *scratch); /* live rows */
/* The next rows as a batch with kinds, up to so many and so many bytes of the log; NULL: they are damaged. */
wr_batch *change_log_take_rows(wr_reader *log, const wr_rowcodec *codec, const wr_schema *schema, uint32_t max_rows, size_t max_bytes);

typedef struct staged_sink staged_sink;
typedef struct staged_vt {
    wr_status (*put)(staged_sink *, const wr_batch *batch, wr_err *);                    /* live rows into the log */
    wr_status (*flush)(staged_sink *, wr_str log, wr_err *);                             /* applied without an epoch: what is lost on the way may come twice */
    wr_status (*commit)(staged_sink *, uint64_t epoch, wr_str staged, wr_err *);         /* head and log, of the form s->committing */
    void      (*head)(staged_sink *, wr_sbuf *staged);                                   /* in front of the log, which begins anew then; NULL: nothing */
    wr_status (*fresh)(staged_sink *, wr_err *);                                         /* nothing was ever staged: what an earlier job left is forgotten; NULL: nothing */
    wr_status (*look)(staged_sink *, uint64_t epoch, wr_err *);                          /* before an epoch is applied again: may it be? NULL: it may */
    void      (*free)(staged_sink *);                                                    /* all but the log and the arena; the connection is closed */
} staged_vt;
struct staged_sink {
    wr_sink          base;
    const staged_vt *vt;
    wr_arena        *arena;
    wr_str           table;
    change_log       log;
    uint8_t          form, n_forms; /* of what is staged from now on; those that are understood are 1 .. n_forms */
    uint8_t          committing;
    bool             staging;       /* there are checkpoints, so what is not prepared will be read again */
    bool             recovering;    /* commit is called for an epoch that may be applied already */
};

/* s: zeroed, the first member of the connector's own, which wr_free frees. One form. */
void      staged_sink_init(staged_sink *s, const staged_vt *vt, const wr_table_info *t, wr_connect_ctx *ctx);
/* What becomes of a sink whose opening ended with `status`: *out, or freed. */
wr_status staged_sink_made(staged_sink *s, wr_status status, wr_sink **out);
WR_COLD wr_status staged_damaged(const staged_sink *s, wr_err *err);
