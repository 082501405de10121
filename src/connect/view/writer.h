/* connect/view/writer.h: the side of a materialized view that its job writes. (contract)
 *
 * Idea       a set has the views of one job; each view has a shard a worker. A worker writes its shard under the shard's lock; when a cut has reached it (or all of
 *            what is to be published) it seals: what it writes from then on belongs to a later version. The last shard's seal publishes the version in all views at once.
 * Thread     make, open, end, close: the coordinator. A shard: its worker. forget: whoever owns the views.                                    */
#pragma once
#include "connect/view/view.h"
#include "state/versions.h"
#include "sys/world.h"

typedef struct wr_view_set wr_view_set;
typedef struct wr_view_def {
    wr_str           name, query;
    const wr_schema *schema;             /* copied, as all */
    uint32_t         n_key;              /* 0: the whole row, with counts */
    const uint32_t  *key;
    const struct wr_tz *tz;              /* lives as long as the process */
    uint64_t         instances;          /* bitmap of the workers that have a shard */
} wr_view_def;
typedef struct wr_view_set_opts {
    wr_world   *world;
    uint32_t    n_shards;                /* workers */
    int64_t     keep_bytes;              /* old versions of a view for those who come back; 0: a default */
    int64_t     keep_us;                 /* and their age; 0: a minute */
    int64_t     pin_bytes;               /* what pins may hold of old versions, 0: a default; then the oldest is taken away */
    const void *owner;                   /* who forgets them; NULL: close does */
    bool        restoring;               /* a checkpoint is loaded: nobody finds them before the first version is published, which has its rows */
    bool        hidden;                  /* nobody finds them by name: of a run beside the job (an audit) */
} wr_view_set_opts;
wr_view_set *wr_view_set_new(const wr_view_set_opts *opts);
wr_view     *wr_view_set_add(wr_view_set *set, const wr_view_def *def);   /* borrowed: the set holds it. Readers see it from now on, or when it is restored */
/* A cut is on its way; the version is greater than all before. */
void         wr_view_set_open(wr_view_set *set, uint64_t version);
bool         wr_view_set_waits(wr_view_set *set);                          /* the version that was opened last is not published yet */
void         wr_view_set_drop(wr_view_set *set);                           /* that one is given up */
void         wr_view_set_end(wr_view_set *set);                            /* nothing more will be published */
void         wr_view_set_close(wr_view_set *set);                          /* the job lets go of it; NULL is legal */
void         wr_views_forget(const void *owner);                           /* readers keep what they hold */

/* ---- a shard ---- */
typedef struct wr_view_shard wr_view_shard;
wr_view_shard *wr_view_shard_of(wr_view *view, uint32_t worker);
wr_versions *wr_view_shard_lock(wr_view_shard *shard, uint64_t *now);      /* now: the version that is being written */
void         wr_view_shard_unlock(wr_view_shard *shard);
int64_t      wr_view_shard_bytes(const wr_view_shard *shard);              /* its worker */
uint64_t     wr_view_shard_rows(const wr_view_shard *shard);
void         wr_view_seal(wr_view_shard *shard, uint64_t version, int64_t watermark_us);
