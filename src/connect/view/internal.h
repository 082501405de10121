/* connect/view/internal.h: the parts of a view among the files of this folder. Private to them.                                        */
#pragma once
#include "connect/view/writer.h"
#include "type/rowcodec.h"
#include <stdatomic.h>

enum { KEPT_MAX = 1024 };

struct wr_view_shard {
    wr_view         *view;
    wr_mutex        *lock;        /* of rows and writing */
    wr_versions     *rows;        /* NULL: this worker has none of it */
    uint64_t         writing;
    uint64_t         sealed_rows; /* with the next under the set's lock */
    uint64_t         sealed_touched;
    int64_t          sealed_wm;
    _Atomic int64_t  old_bytes;
};

struct wr_view_set {
    wr_view_set_opts opts;
    _Atomic uint32_t refs;
    uint64_t         run;
    uint32_t         n_instances; /* shards of all views */
    _Atomic bool     restoring;   /* no version yet that has what a checkpoint has */
    wr_view         *views;
    wr_mutex        *lock;        /* of what follows, and of the views' as_of, kept and pins */
    uint64_t         opened, version;
    uint32_t         left;
    bool             ended;
};

struct wr_view {
    wr_view         *next, *of_set; /* in the registry; in its set while the job lives */
    _Atomic uint32_t refs;
    wr_view_set     *set;
    wr_arena        *arena;
    wr_str           name, query;
    wr_schema        schema;
    wr_rowcodec     *codec;
    const struct wr_tz *tz;
    uint32_t         n_key, n_order;
    const uint32_t  *order;
    uint32_t         n_shards;
    wr_view_shard   *shards;
    wr_view_as_of    as_of, *kept; /* kept: published ones, oldest first, the last is as_of */
    uint32_t         n_kept, cap_kept;
    wr_view_cut     *pins;
    uint64_t         touched;      /* keys written so far */
    bool             changed;      /* in the last version */
    _Atomic uint64_t horizon;
    wr_mutex        *listen_lock;
    wr_view_listener *listeners;
};

struct wr_view_cut {
    wr_view      *view;
    wr_view_as_of as_of;
    _Atomic bool  gone;
    wr_view_cut  *next;
};

wr_status view_gone(const wr_view *view, wr_err *err);
void      view_tell(wr_view *view);
