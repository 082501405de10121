/* state/versions.h: rows ordered by key, each in the versions that somebody may still read: what a materialized view is made of.
 *
 * Idea       a skip list of keys; each key has a chain of versions, newest first, of which one at most was begun in the version that is being written: writing
 *            a key twice before that is closed costs one. Every key written in a version is noted once, in order (touches): that list says what changed
 *            between two versions, and what can be thrown away when nobody reads the older one.
 * Invariant  a row is seen at version v as the newest of its versions with from <= v; count 0: not there.
 * Memory     pieces of a slab by size, given back to it; bytes() counts the slab.
 * Thread     one at a time: whoever shares it has a lock.                                                                          */
#pragma once
#include "base/str.h"

typedef struct wr_versions wr_versions;
typedef struct wr_vrow wr_vrow;
typedef struct wr_version {
    struct wr_version *older;
    uint64_t           from;
    uint32_t           count;  /* how often the row is there; 0: not */
    uint32_t           len;
    char               bytes[];
} wr_version;

wr_versions *wr_versions_new(void);
void     wr_versions_free(wr_versions *v);                                /* NULL is legal */
int64_t  wr_versions_bytes(const wr_versions *v);
int64_t  wr_versions_old_bytes(const wr_versions *v);                     /* of them: what collect could give back, about */
uint64_t wr_versions_touched(const wr_versions *v);                       /* keys written, once a version, since the start */
uint64_t wr_versions_rows(const wr_versions *v);                          /* as it is being written, with their counts */
/* The key's row as it is from version `now` on (never less than in a call before). `row`: what an earlier call gave for the key, or NULL. */
wr_vrow *wr_versions_set(wr_versions *v, wr_vrow *row, wr_str key, uint64_t now, wr_str bytes, uint32_t count);
wr_vrow *wr_versions_find(const wr_versions *v, wr_str key);
wr_vrow *wr_versions_seek(const wr_versions *v, wr_str key, bool behind); /* the first one that is not less, or that is greater; NULL: there is none */
wr_vrow *wr_vrow_next(const wr_vrow *row);
wr_str   wr_vrow_key(const wr_vrow *row);
const wr_version *wr_vrow_at(const wr_vrow *row, uint64_t version);       /* may be one with count 0; NULL: the key came later */
const wr_version *wr_vrow_newest(const wr_vrow *row);

/* Touches with version > `since`, from *at on (zero: from the first of them). false: no more. A touch is there until collect passes its version; so *at is good
 * as long as no horizon is greater than `since`. */
typedef struct wr_touch { wr_vrow *row; uint64_t version; } wr_touch;
typedef struct wr_touch_at { const struct touches *in; uint32_t next; } wr_touch_at;
bool     wr_versions_touch(const wr_versions *v, uint64_t since, wr_touch_at *at, wr_touch *out);
/* Nobody will read at a version < horizon: forgets what only they would see, for at most `most` touches. False: there is more to do. */
bool     wr_versions_collect(wr_versions *v, uint64_t horizon, uint32_t most);
double   wr_versions_row_bytes(double key_bytes, double row_bytes);       /* for the bill */
