/* api/pile.c: see pile.h.
 *
 * Layout     a record is key length, value length (u32 each), key, value; in the buffer and in the runs alike. */
#include "api/pile.h"
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 8, RUNS_MAX = 48, BLOCK_BYTES = 64 << 10, MEMORY_LEAST_BYTES = 1 << 20 };

typedef struct run {             /* a file with sorted records, and the block of it that is being read */
    char    *path;
    wr_file *file;
    uint8_t *block;
    size_t   cap, len, at;       /* of the block: room, bytes in it, where the record at hand begins */
    uint64_t offset;             /* of the block's end in the file */
    bool     done;
} run;

struct pile {
    wr_world *world;
    const char *dir;
    size_t    limit;
    uint8_t  *buf;
    size_t    len, cap;
    WR_ARR(uint32_t) records;    /* where they begin in buf: it is at most 2 GiB */
    WR_ARR(run) runs;
    uint64_t  n, n_files;
    uint32_t  next;              /* nothing was written: index in records */
    bool      moved;             /* the run that gave the last record is to go on before the next */
    uint32_t  last;
};

pile *pile_new(wr_world *world, const char *dir, size_t memory_bytes) {
    pile *p = wr_calloc(1, sizeof *p);
    *p = (pile){.world = world, .dir = dir, .limit = WR_MIN(WR_MAX(memory_bytes, (size_t)MEMORY_LEAST_BYTES), (size_t)1 << 30)};
    return p;
}

static void run_free(pile *p, run *r) {
    wr_err spare;
    p->world->vt->file_close(p->world, r->file);
    if (r->path) (void)p->world->vt->remove(p->world, r->path, &spare);
    wr_free(r->path);
    wr_free(r->block);
}
void pile_free(pile *p) {
    if (!p) return;
    for (uint32_t i = 0; i < p->runs.n; i++) run_free(p, &p->runs.at[i]);
    wr_arr_free(&p->runs);
    wr_arr_free(&p->records);
    wr_free(p->buf);
    wr_free(p);
}
uint64_t pile_count(const pile *p) { return p->n; }

/* ---- records ---- */
static uint32_t word(const uint8_t *at) { uint32_t v; memcpy(&v, at, 4); return v; }
static wr_str   key_at(const uint8_t *at) { return (wr_str){(const char *)at + HEAD_BYTES, word(at)}; }
static wr_str   value_at(const uint8_t *at) { return (wr_str){(const char *)at + HEAD_BYTES + word(at), word(at + 4)}; }
static size_t   bytes_at(const uint8_t *at) { return (size_t)HEAD_BYTES + word(at) + word(at + 4); }

static int in_buffer(const void *a, const void *b, void *buf) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int      order = wr_str_cmp(key_at((const uint8_t *)buf + x), key_at((const uint8_t *)buf + y));
    return order ? order : x < y ? -1 : x > y;
}
static void sort_buffer(pile *p) {
    if (p->records.n) qsort_r(p->records.at, p->records.n, sizeof *p->records.at, in_buffer, p->buf);
}

/* ---- runs ---- */
typedef struct writer { wr_file *file; wr_sbuf out; } writer;
static wr_status put(pile *p, writer *w, const uint8_t *record, wr_err *err) {
    wr_sbuf_add(&w->out, record, bytes_at(record));
    if (w->out.len < BLOCK_BYTES) return WR_OK;
    wr_status status = p->world->vt->file_write(p->world, w->file, w->out.at, w->out.len, err);
    wr_sbuf_clear(&w->out);
    return status;
}
static wr_status begin_run(pile *p, run *r, writer *w, wr_err *err) {
    wr_sbuf path = {0};
    wr_sbuf_printf(&path, "%s/run-%llu", p->dir, (unsigned long long)p->n_files++);
    *r = (run){.path = path.at};
    return p->world->vt->file_open(p->world, r->path, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE, &w->file, err);
}
static wr_status end_run(pile *p, writer *w, wr_err *err) {
    wr_status status = w->out.len ? p->world->vt->file_write(p->world, w->file, w->out.at, w->out.len, err) : WR_OK;
    p->world->vt->file_close(p->world, w->file);
    wr_sbuf_free(&w->out);
    return status;
}

/* So that a whole record is in the block, or the run is done. */
static wr_status fill(pile *p, run *r, wr_err *err) {
    for (;;) {
        size_t have = r->len - r->at, need = have < HEAD_BYTES ? HEAD_BYTES : bytes_at(r->block + r->at);
        if (have >= need) return WR_OK;
        if (r->at) memmove(r->block, r->block + r->at, have);
        r->at = 0, r->len = have;
        if (need > r->cap) r->block = wr_realloc(r->block, r->cap = WR_MAX(need, r->cap * 2));
        size_t got;
        WR_TRY(p->world->vt->file_pread(p->world, r->file, r->block + have, r->cap - have, r->offset, &got, err));
        r->offset += got, r->len += got;
        if (got) continue;
        r->done = true;
        return have ? wr_fail(err, WR_CORRUPT, "WR428", "the audit's file %s ends in the middle of a record", r->path) : WR_OK;
    }
}
static wr_status open_run(pile *p, run *r, wr_err *err) {
    r->block = wr_malloc(r->cap = BLOCK_BYTES);
    WR_TRY(p->world->vt->file_open(p->world, r->path, WR_OPEN_READ, &r->file, err));
    return fill(p, r, err);
}
static wr_status step(pile *p, run *r, wr_err *err) {
    r->at += bytes_at(r->block + r->at);
    return fill(p, r, err);
}
/* Few enough for a walk; of equal keys the earlier run. */
static run *least(pile *p, uint32_t *index) {
    run *best = NULL;
    for (uint32_t i = 0; i < p->runs.n; i++) {
        run *r = &p->runs.at[i];
        if (r->done || (best && wr_str_cmp(key_at(r->block + r->at), key_at(best->block + best->at)) >= 0)) continue;
        best = r;
        *index = i;
    }
    return best;
}
static wr_status open_runs(pile *p, wr_err *err) {
    for (uint32_t i = 0; i < p->runs.n; i++) WR_TRY(open_run(p, &p->runs.at[i], err));
    return WR_OK;
}

static wr_status merge_runs(pile *p, wr_err *err) {
    run      merged;
    writer   w = {0};
    uint32_t at = 0;
    WR_TRY(open_runs(p, err));
    wr_status status = begin_run(p, &merged, &w, err);
    for (run *r; status == WR_OK && (r = least(p, &at));) {
        status = put(p, &w, r->block + r->at, err);
        if (status == WR_OK) status = step(p, r, err);
    }
    if (w.file) {
        wr_status ended = end_run(p, &w, status == WR_OK ? err : NULL);
        if (status == WR_OK) status = ended;
    }
    for (uint32_t i = 0; i < p->runs.n; i++) run_free(p, &p->runs.at[i]);
    p->runs.n = 0;
    wr_arr_push(&p->runs, merged);
    return status;
}

static wr_status spill(pile *p, wr_err *err) {
    run    r;
    writer w = {0};
    if (p->runs.n == RUNS_MAX) WR_TRY(merge_runs(p, err));
    sort_buffer(p);
    wr_status status = begin_run(p, &r, &w, err);
    wr_arr_push(&p->runs, r);
    WR_TRY(status);
    for (uint32_t i = 0; i < p->records.n && status == WR_OK; i++) status = put(p, &w, p->buf + p->records.at[i], err);
    wr_status ended = end_run(p, &w, status == WR_OK ? err : NULL);
    p->len = p->records.n = 0;
    return status == WR_OK ? ended : status;
}

wr_status pile_add(pile *p, wr_str key, wr_str value, wr_err *err) {
    size_t need = HEAD_BYTES + key.len + value.len;
    if (need > p->limit) return wr_fail(err, WR_LIMIT, "WR428", "a row of %zu bytes does not fit into the memory of the audit", need);
    if (p->len + need + (p->records.n + 1) * sizeof *p->records.at > p->limit) WR_TRY(spill(p, err));
    if (p->len + need > p->cap) p->buf = wr_realloc(p->buf, p->cap = WR_MIN(WR_MAX(p->len + need, p->cap * 2), p->limit + need));
    uint8_t *at = p->buf + p->len;
    uint32_t lens[2] = {(uint32_t)key.len, (uint32_t)value.len};
    memcpy(at, lens, sizeof lens);
    if (key.len) memcpy(at + HEAD_BYTES, key.ptr, key.len);
    if (value.len) memcpy(at + HEAD_BYTES + key.len, value.ptr, value.len);
    wr_arr_push(&p->records, (uint32_t)p->len);
    p->len += need;
    p->n++;
    return WR_OK;
}

wr_status pile_sort(pile *p, wr_err *err) {
    if (!p->runs.n) {
        sort_buffer(p);
        return WR_OK;
    }
    if (p->records.n) WR_TRY(spill(p, err));
    wr_free(p->buf);
    p->buf = NULL, p->cap = 0;
    return open_runs(p, err);
}

wr_status pile_next(pile *p, bool *got, wr_str *key, wr_str *value, wr_err *err) {
    const uint8_t *record;
    *got = false;
    if (!p->runs.n) {
        if (p->next == p->records.n) return WR_OK;
        record = p->buf + p->records.at[p->next++];
    } else {
        if (p->moved) WR_TRY(step(p, &p->runs.at[p->last], err));
        p->moved = false;
        run *r = least(p, &p->last);
        if (!r) return WR_OK;
        record = r->block + r->at;
        p->moved = true;
    }
    *got = true;
    *key = key_at(record), *value = value_at(record);
    return WR_OK;
}
