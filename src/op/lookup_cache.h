/* op/lookup_cache.h: what a table outside has answered for a key, for a while. Private to op/.
 *
 * Idea       a map from the encoded key to the encoded rows, in a list by last use; the least used leaves when rows or bytes are too many. Times are those
 *            of the job's clock, so that runs can be repeated.
 * Memory     bounded by its options in rows and in bytes, charged to the operator's account. It is no state: checkpoints do not have it.
 * Thread     one worker.                                                                                                */
#pragma once
#include "op/op_util.h"

typedef struct wr_lookup_store wr_lookup_store;
wr_lookup_store *wr_lookup_store_new(const wr_lookup_join_opts *opts, const wr_type *key_types, wr_account *acct);
void    wr_lookup_store_free(wr_lookup_store *c);
/* The rows of a key, each as wr_put_bytes writes it, borrowed until the next call; false: it is not there, or too old. */
bool    wr_lookup_store_get(wr_lookup_store *c, wr_str key, uint64_t hash, int64_t now_us, wr_str *rows);
void    wr_lookup_store_put(wr_lookup_store *c, wr_str key, uint64_t hash, int64_t now_us, wr_str rows);
void    wr_lookup_store_shrink(wr_lookup_store *c, int64_t bytes);
int64_t wr_lookup_store_bytes(const wr_lookup_store *c);
