/* connect/view/view.c: finding, publishing and pinning views. See view.h and writer.h; reading is in read.c.
 *
 * Locks      registry > set > shard; none is held while another thread's work is waited for. Publishing takes the set's lock, so that whoever pins several
 *            views under it gets one version. Listeners have a lock of their own: they are called behind publication.
 * Horizon    the least version that may still be read: of pins, and of the last published ones that are kept. Each seal collects what lies before it in
 *            its own shard, a few hundred rows a time under the lock.
 * Taken away a pin is marked gone before the horizon passes it; reads look at the mark under the shard's lock, under which collecting happens too.          */
#include "connect/view/internal.h"
#include <stdlib.h>

enum { KEEP_BYTES = 8 << 20, PIN_BYTES = 64 << 20, COLLECT_PIECE = 256 };
static const int64_t KEEP_US = INT64_C(60) * 1000000;

static _Atomic(wr_mutex *) registry_lock;
static wr_view *first_view, *last_view;

static void lock_registry(void) {
    wr_mutex *m = atomic_load(&registry_lock);
    if (!m) {
        wr_mutex *mine = wr_mutex_new();
        if (atomic_compare_exchange_strong(&registry_lock, &m, mine)) m = mine;
        else wr_mutex_free(mine);
    }
    wr_mutex_lock(m);
}
static void unlock_registry(void) { wr_mutex_unlock(atomic_load(&registry_lock)); }

/* ---- references ---- */
static void free_set(wr_view_set *s) {
    wr_mutex_free(s->lock);
    wr_free(s);
}

static void set_unref(wr_view_set *s) {
    if (atomic_fetch_sub(&s->refs, 1) == 1) free_set(s);
}

wr_view *wr_view_ref(wr_view *v) {
    atomic_fetch_add(&v->refs, 1);
    return v;
}

void wr_view_unref(wr_view *v) {
    if (!v || atomic_fetch_sub(&v->refs, 1) != 1) return;
    for (uint32_t i = 0; i < v->n_shards; i++) {
        wr_versions_free(v->shards[i].rows);
        wr_mutex_free(v->shards[i].lock);
    }
    wr_free(v->shards);
    wr_free(v->kept);
    wr_mutex_free(v->listen_lock);
    set_unref(v->set);
    wr_arena_free(v->arena);
    wr_free(v);
}

wr_view *wr_view_find(wr_str name) {
    wr_view *found = NULL;
    lock_registry();
    for (wr_view *v = first_view; v; v = v->next)
        if (wr_str_eq(v->name, name) && !atomic_load(&v->set->restoring)) found = v;
    if (found) wr_view_ref(found);
    unlock_registry();
    return found;
}

uint32_t wr_views_list(wr_view **out, uint32_t max) {
    uint32_t n = 0;
    lock_registry();
    for (wr_view *v = first_view; v; v = v->next) {
        if (atomic_load(&v->set->restoring)) continue;
        if (n < max) out[n] = wr_view_ref(v);
        n++;
    }
    unlock_registry();
    return n;
}

/* With the registry's lock: those that `which` says leave the list, and are let go of behind it. */
static void forget_where(bool (*which)(const wr_view *, const void *), const void *arg) {
    wr_view *gone = NULL;
    lock_registry();
    last_view = NULL;
    for (wr_view **at = &first_view; *at;) {
        wr_view *v = *at;
        if (which(v, arg)) *at = v->next, v->next = gone, gone = v;
        else last_view = v, at = &v->next;
    }
    unlock_registry();
    for (wr_view *next; gone; gone = next) next = gone->next, gone->next = NULL, wr_view_unref(gone);
}

static bool of_owner(const wr_view *v, const void *owner) { return v->set->opts.owner == owner; }
static bool of_set(const wr_view *v, const void *set) { return v->set == set; }
static bool same_place(const wr_view *v, const void *other) {
    const wr_view *o = other;
    return v->set != o->set && v->set->opts.owner && v->set->opts.owner == o->set->opts.owner && wr_str_eq(v->name, o->name);
}
void wr_views_forget(const void *owner) {
    if (owner) forget_where(of_owner, owner);
}

/* ---- what a view is ---- */
wr_str           wr_view_name(const wr_view *v) { return v->name; }
wr_str           wr_view_query(const wr_view *v) { return v->query; }
const wr_schema *wr_view_schema(const wr_view *v) { return &v->schema; }
const struct wr_tz *wr_view_tz(const wr_view *v) { return v->tz; }
const uint32_t  *wr_view_key(const wr_view *v, uint32_t *n) {
    *n = v->n_key;
    return v->order;
}
const uint32_t *wr_view_order(const wr_view *v, uint32_t *n) {
    *n = v->n_order;
    return v->order;
}

void wr_view_info_get(const wr_view *view, wr_view_info *out) {
    wr_view *v = (wr_view *)(uintptr_t)view;
    *out = (wr_view_info){0};
    wr_mutex_lock(v->set->lock);
    out->as_of = v->as_of;
    out->ended = v->set->ended;
    for (const wr_view_cut *c = v->pins; c; c = c->next) out->pins++;
    wr_mutex_unlock(v->set->lock);
    for (uint32_t i = 0; i < v->n_shards; i++) {
        wr_view_shard *s = &v->shards[i];
        if (!s->rows) continue;
        wr_mutex_lock(s->lock);
        out->bytes += wr_versions_bytes(s->rows);
        out->old_bytes += wr_versions_old_bytes(s->rows);
        wr_mutex_unlock(s->lock);
    }
}

static uint64_t new_run(wr_world *world) { /* another one each time; small enough for a double */
    static _Atomic uint64_t last;
    uint64_t run = (uint64_t)wr_wall_us(world) / 1000, before = atomic_load(&last);
    do run = WR_MAX(run, before + 1);
    while (!atomic_compare_exchange_weak(&last, &before, run));
    return run;
}

wr_view_set *wr_view_set_new(const wr_view_set_opts *opts) {
    wr_view_set *s = wr_calloc(1, sizeof *s);
    *s = (wr_view_set){.opts = *opts, .refs = 1, .lock = wr_mutex_new(), .run = new_run(opts->world), .restoring = opts->restoring};
    if (!s->opts.keep_bytes) s->opts.keep_bytes = KEEP_BYTES;
    if (!s->opts.keep_us) s->opts.keep_us = KEEP_US;
    if (!s->opts.pin_bytes) s->opts.pin_bytes = PIN_BYTES;
    return s;
}

static void copy_def(wr_view *v, const wr_view_def *d) {
    v->name = wr_str_dup(v->arena, d->name), v->query = wr_str_dup(v->arena, d->query);
    v->tz = d->tz;
    wr_field *fields = wr_new_n(v->arena, wr_field, d->schema->n + 1);
    wr_type  *types = wr_new_n(v->arena, wr_type, d->schema->n + 1);
    for (uint32_t i = 0; i < d->schema->n; i++) {
        fields[i] = (wr_field){wr_str_dup(v->arena, d->schema->fields[i].name), wr_type_copy(v->arena, d->schema->fields[i].type)};
        fields[i].type.attr = WR_TIME_NONE;
        types[i] = fields[i].type;
    }
    v->schema = (wr_schema){d->schema->n, fields};
    v->codec = wr_rowcodec_new(v->arena, types, d->schema->n);
    v->n_key = d->n_key;
    v->n_order = d->n_key ? d->n_key : d->schema->n;
    uint32_t *order = wr_new_n(v->arena, uint32_t, v->n_order + 1);
    for (uint32_t i = 0; i < v->n_order; i++) order[i] = d->n_key ? d->key[i] : i;
    v->order = order;
}

wr_view *wr_view_set_add(wr_view_set *set, const wr_view_def *def) {
    wr_view *v = wr_calloc(1, sizeof *v);
    v->arena = wr_arena_new(NULL);
    v->set = set;
    atomic_fetch_add(&set->refs, 1);
    atomic_init(&v->refs, 1);
    v->listen_lock = wr_mutex_new();
    v->as_of = (wr_view_as_of){.run = set->run, .watermark_us = WR_TIME_MIN};
    copy_def(v, def);
    v->n_shards = set->opts.n_shards;
    v->shards = wr_calloc(v->n_shards, sizeof *v->shards);
    for (uint32_t i = 0; i < v->n_shards; i++) {
        v->shards[i] = (wr_view_shard){.view = v, .lock = wr_mutex_new(), .writing = 1, .sealed_wm = WR_TIME_MIN};
        if (!(def->instances >> i & 1)) continue;
        v->shards[i].rows = wr_versions_new();
        set->n_instances++;
    }
    v->of_set = set->views;
    set->views = v;
    if (set->opts.hidden) return v;
    forget_where(same_place, v);
    lock_registry();
    if (last_view) last_view->next = v;
    else first_view = v;
    last_view = v;
    unlock_registry();
    return v;
}

void wr_view_set_end(wr_view_set *s) {
    if (!s) return;
    wr_mutex_lock(s->lock);
    s->ended = true;
    wr_mutex_unlock(s->lock);
    for (wr_view *v = s->views; v; v = v->of_set) view_tell(v);
}

void wr_view_set_close(wr_view_set *s) {
    if (!s) return;
    wr_view_set_end(s);
    for (wr_view *v = s->opts.hidden ? s->views : NULL, *next; v; v = next) next = v->of_set, wr_view_unref(v);
    s->views = NULL;
    if (!s->opts.owner) forget_where(of_set, s);
    set_unref(s);
}

/* ---- shards ---- */
wr_view_shard *wr_view_shard_of(wr_view *v, uint32_t worker) { return &v->shards[worker]; }
wr_versions   *wr_view_shard_lock(wr_view_shard *s, uint64_t *now) {
    wr_mutex_lock(s->lock);
    *now = s->writing;
    return s->rows;
}
void     wr_view_shard_unlock(wr_view_shard *s) { wr_mutex_unlock(s->lock); }
int64_t  wr_view_shard_bytes(const wr_view_shard *s) { return wr_versions_bytes(s->rows); }
uint64_t wr_view_shard_rows(const wr_view_shard *s) { return wr_versions_rows(s->rows); }

static void collect(wr_view_shard *s) {
    uint64_t horizon = atomic_load_explicit(&s->view->horizon, memory_order_acquire);
    for (bool more = true; more;) {
        wr_mutex_lock(s->lock);
        more = !wr_versions_collect(s->rows, horizon, COLLECT_PIECE);
        atomic_store_explicit(&s->old_bytes, wr_versions_old_bytes(s->rows), memory_order_relaxed);
        wr_mutex_unlock(s->lock);
    }
}

/* ---- publishing ---- */
static uint64_t least_pinned(const wr_view *v, uint64_t least) {
    for (const wr_view_cut *c = v->pins; c; c = c->next)
        if (!atomic_load_explicit(&c->gone, memory_order_relaxed)) least = WR_MIN(least, c->as_of.version);
    return least;
}

/* The oldest pin that holds something. */
static bool take_pin_away(wr_view *v) {
    wr_view_cut *oldest = NULL;
    for (wr_view_cut *c = v->pins; c; c = c->next)
        if (!atomic_load_explicit(&c->gone, memory_order_relaxed) && c->as_of.version < v->as_of.version && (!oldest || c->as_of.version < oldest->as_of.version)) oldest = c;
    if (oldest) atomic_store_explicit(&oldest->gone, true, memory_order_release);
    return oldest != NULL;
}

static void set_horizon(wr_view *v, int64_t now_us) {
    const wr_view_set_opts *o = &v->set->opts;
    int64_t                 old = 0;
    for (uint32_t i = 0; i < v->n_shards; i++) old += atomic_load_explicit(&v->shards[i].old_bytes, memory_order_relaxed);
    uint32_t drop = 0;
    while (drop + 1 < v->n_kept && (old > o->keep_bytes || now_us - v->kept[drop].published_us > o->keep_us || v->n_kept - drop > KEPT_MAX)) {
        drop++;
        if (old > o->keep_bytes && drop >= v->n_kept / 2) break; /* then it is looked at again, with what that gave back */
    }
    memmove(v->kept, v->kept + drop, (v->n_kept - drop) * sizeof *v->kept);
    v->n_kept -= drop;
    if (old > o->pin_bytes && v->n_kept == 1) (void)take_pin_away(v);
    atomic_store_explicit(&v->horizon, least_pinned(v, v->n_kept ? v->kept[0].version : 0), memory_order_release);
}

static void publish_view(wr_view *v, uint64_t version, int64_t now_us) {
    wr_view_as_of a = {.run = v->set->run, .version = version, .watermark_us = WR_TIME_MAX, .published_us = now_us};
    uint64_t      touched = 0;
    for (uint32_t i = 0; i < v->n_shards; i++) {
        if (!v->shards[i].rows) continue;
        a.rows += v->shards[i].sealed_rows;
        touched += v->shards[i].sealed_touched;
        a.watermark_us = WR_MIN(a.watermark_us, v->shards[i].sealed_wm);
    }
    v->as_of = a;
    v->changed = touched != v->touched;
    v->touched = touched;
    if (v->n_kept == v->cap_kept) {
        v->cap_kept = v->cap_kept ? v->cap_kept * 2 : 16;
        v->kept = wr_realloc(v->kept, v->cap_kept * sizeof *v->kept);
    }
    v->kept[v->n_kept++] = a;
    set_horizon(v, now_us);
}

void view_tell(wr_view *v) {
    wr_mutex_lock(v->listen_lock);
    for (wr_view_listener *l = v->listeners; l; l = l->next) l->published(l->arg);
    wr_mutex_unlock(v->listen_lock);
}

void wr_view_set_open(wr_view_set *s, uint64_t version) {
    wr_mutex_lock(s->lock);
    wr_assert(version > s->version);
    s->opened = version;
    s->left = s->n_instances;
    wr_mutex_unlock(s->lock);
}

void wr_view_set_drop(wr_view_set *s) {
    wr_mutex_lock(s->lock);
    s->opened = s->version;
    wr_mutex_unlock(s->lock);
}

bool wr_view_set_waits(wr_view_set *s) {
    wr_mutex_lock(s->lock);
    bool waits = s->opened != s->version;
    wr_mutex_unlock(s->lock);
    return waits;
}

void wr_view_seal(wr_view_shard *s, uint64_t version, int64_t watermark_us) {
    wr_view_set *set = s->view->set;
    bool         last = false;
    wr_mutex_lock(s->lock);
    wr_assert(version >= s->writing);
    s->writing = version + 1;
    uint64_t rows = wr_versions_rows(s->rows), touched = wr_versions_touched(s->rows);
    atomic_store_explicit(&s->old_bytes, wr_versions_old_bytes(s->rows), memory_order_relaxed);
    wr_mutex_unlock(s->lock);
    wr_mutex_lock(set->lock);
    s->sealed_rows = rows, s->sealed_touched = touched, s->sealed_wm = watermark_us;
    if (version == set->opened && --set->left == 0) {
        int64_t now = wr_wall_us(set->opts.world);
        set->version = version;
        for (wr_view *v = set->views; v; v = v->of_set) publish_view(v, version, now);
        atomic_store(&set->restoring, false);
        last = true;
    }
    wr_mutex_unlock(set->lock);
    for (wr_view *v = set->views; last && v; v = v->of_set)
        if (v->changed) view_tell(v); /* no other version is published before this worker has sealed again */
    collect(s);
}

/* ---- pins ---- */
static wr_view_cut *pin_locked(wr_view *v, const wr_view_as_of *as_of) {
    wr_view_cut *c = wr_calloc(1, sizeof *c);
    *c = (wr_view_cut){.view = wr_view_ref(v), .as_of = *as_of, .next = v->pins};
    atomic_init(&c->gone, false);
    v->pins = c;
    return c;
}

void wr_view_pin_all(wr_view *const *views, uint32_t n, wr_view_cut **out) {
    for (uint32_t i = 0; i < n; i++) out[i] = NULL;
    for (uint32_t i = 0; i < n; i++) { /* set by set */
        if (out[i]) continue;
        wr_view_set *s = views[i]->set;
        wr_mutex_lock(s->lock);
        for (uint32_t k = i; k < n; k++)
            if (views[k]->set == s) out[k] = pin_locked(views[k], &views[k]->as_of);
        wr_mutex_unlock(s->lock);
    }
}

wr_view_cut *wr_view_pin(wr_view *v) {
    wr_view_cut *out;
    wr_view_pin_all(&v, 1, &out);
    return out;
}

wr_status view_gone(const wr_view *v, wr_err *err) {
    wr_fail(err, WR_LIMIT, WR_VIEW_GONE, "that version of '%.*s' is not kept any more", WR_FMT(v->name));
    wr_err_hint(err, "begin again with the version of now");
    return WR_LIMIT;
}

wr_view_cut *wr_view_pin_at(wr_view *v, uint64_t run, uint64_t version, wr_err *err) {
    wr_view_cut *out = NULL;
    wr_mutex_lock(v->set->lock);
    for (uint32_t i = 0; run == v->set->run && i < v->n_kept && !out; i++)
        if (v->kept[i].version == version) out = pin_locked(v, &v->kept[i]);
    for (const wr_view_cut *c = v->pins; run == v->set->run && c && !out; c = c->next)
        if (c->as_of.version == version && !atomic_load(&c->gone)) out = pin_locked(v, &c->as_of);
    wr_mutex_unlock(v->set->lock);
    if (!out) (void)view_gone(v, err);
    return out;
}

void wr_view_unpin(wr_view_cut *c) {
    if (!c) return;
    wr_view *v = c->view;
    wr_mutex_lock(v->set->lock);
    for (wr_view_cut **at = &v->pins; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    wr_mutex_unlock(v->set->lock);
    wr_free(c);
    wr_view_unref(v);
}

const wr_view_as_of *wr_view_cut_as_of(const wr_view_cut *c) { return &c->as_of; }
wr_view             *wr_view_cut_view(const wr_view_cut *c) { return c->view; }

void wr_view_listen(wr_view *v, wr_view_listener *l) {
    wr_mutex_lock(v->listen_lock);
    l->next = v->listeners;
    v->listeners = l;
    wr_mutex_unlock(v->listen_lock);
}

void wr_view_unlisten(wr_view *v, wr_view_listener *l) {
    wr_mutex_lock(v->listen_lock);
    for (wr_view_listener **at = &v->listeners; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    wr_mutex_unlock(v->listen_lock);
}
