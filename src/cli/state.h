/* cli/state.h: one checkpoint opened for looking into: its operators, what they say about themselves, their keyed entries. Private to cli/. */
#pragma once
#include "cli.h"
#include "checkpoint/checkpoint.h"
#include "state/inspect.h"

enum { STATE_KEYS_MAX = 64 };
typedef struct state_op {            /* summed over instances */
    wr_str   id, kind, title;
    uint64_t keys, rows;
    int64_t  state_bytes;            /* in memory, as the operator counted it */
    uint64_t inline_bytes;           /* in the manifest */
    uint64_t in_flight_bytes;        /* in front of it, in the manifest */
    uint32_t instances, n_keys;
    wr_str   key_names[STATE_KEYS_MAX];
    wr_type  key_types[STATE_KEYS_MAX];
    bool     decodable;              /* the types of its key are known */
} state_op;
typedef struct state_view {
    const char   *dir;
    wr_checkpoint ck;
    uint32_t      n_groups;
    WR_ARR(state_op) ops;
    wr_account    acct;
    wr_tier      *tier;              /* NULL: nothing of this checkpoint is in one, or it is not opened */
    char          tier_dir[512];
    uint64_t      tier_bytes;
    uint64_t      in_flight_rows, in_flight_bytes; /* an unaligned checkpoint: rows on their way between operators, in the manifest */
} state_view;
/* epoch 0: the newest valid one. with_tier: its files are verified, entries in the tier can be read; else only the manifest is. */
wr_status state_open(const char *dir, uint64_t epoch, bool with_tier, state_view *out, wr_err *err);
void      state_close(state_view *v);
state_op *state_find_op(state_view *v, const char *name, wr_err *err); /* id, beginning of an id, or kind; NULL: err */
/* Entries of one operator, all instances. */
wr_status state_walk(state_view *v, const state_op *op, bool (*visit)(void *arg, const wr_state_entry *e), void *arg, wr_err *err);
void      state_key_text(const state_op *op, const wr_state_entry *e, wr_sbuf *out); /* 42, 'Anna'; or x'...' */

/* `weir state` (state.c) */
typedef struct state_args {
    bool        json, last, accept_older;
    uint64_t    epoch;
    uint32_t    limit;
    int64_t     timeout_us;
    const char *pos[4];
    int         n_pos;
} state_args;
int  state_parse(int argc, char **argv, const char *command, state_args *args); /* -1: go on; else the exit code */
int  state_fail(const wr_err *err, const state_args *args);
void put_out(wr_sbuf *out);                                                     /* to stdout, freed */
int  state_top(const state_args *args);                                         /* state_keys.c */
int  state_get(const state_args *args);
int  state_diff(const state_args *args);
