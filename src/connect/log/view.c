/* connect/log/view.c: reading: what is visible, places in a partition, offsets of times. Any number of processes, while one writes.
 *
 * Idea       `commits` says how far a partition may be read; below that every batch is whole. A segment that retention removes or compaction replaces stays readable for
 *            who has it open; whoever opens next finds what is there then, and offsets say where to go on: a gap between two segments means that the offsets
 *            in between were removed.
 * Thread     one owner for the view and its cursors.                                                                                      */
#include "connect/log/parts.h"

struct wr_log_view {
    wr_world     *world;
    char         *path;
    wr_log_config config;
    log_state    *state;
    wr_file      *commits;
    uint64_t      inode;
};

struct wr_log_cursor {
    wr_log_view *view;
    uint32_t     partition;
    int64_t      offset;      /* of the next record that is wanted */
    int64_t      segment;     /* base; -1: none is open */
    uint64_t     inode;       /* of its file */
    int64_t      reached;     /* offset behind the last batch that was passed */
    walker       walk;
};

/* ---- what is visible ---- */

static wr_status open_commits(wr_log_view *v, bool *opened, wr_err *err) {
    const wr_world_vt *vt = v->world->vt;
    wr_sbuf      path = {0};
    wr_file_info info;
    bool         exists;
    *opened = false;
    log_path(v->path, "commits", &path);
    wr_status status = vt->stat(v->world, path.at, &info, &exists, err);
    if (status == WR_OK && exists && (!v->commits || info.inode != v->inode)) {
        vt->file_close(v->world, v->commits);
        v->commits = NULL;
        status = vt->file_open(v->world, path.at, WR_OPEN_READ, &v->commits, err);
        if (status == WR_OK) status = vt->file_info(v->world, v->commits, &info, err);
        v->inode = info.inode;
        v->state->bytes = 0; /* it begins with all there is to know */
        *opened = true;
    }
    wr_sbuf_free(&path);
    return status;
}

wr_status wr_log_view_refresh(wr_log_view *v, wr_err *err) {
    bool     opened;
    uint64_t was = v->state->bytes;
    if (v->commits) WR_TRY(state_read(v->world, v->commits, v->state, err));
    if (v->commits && v->state->bytes != was) return WR_OK;
    WR_TRY(open_commits(v, &opened, err));
    return opened ? state_read(v->world, v->commits, v->state, err) : WR_OK;
}

wr_status wr_log_view_open(wr_world *world, const char *path, wr_log_view **out, wr_err *err) {
    *out = NULL;
    wr_log_view *v = wr_calloc(1, sizeof *v);
    *v = (wr_log_view){.world = world, .path = wr_strdup(path)};
    wr_status status = config_read(world, path, &v->config, err);
    v->state = state_new(v->config.partitions);
    if (status == WR_OK) status = wr_log_view_refresh(v, err);
    if (status != WR_OK) {
        wr_log_view_close(v);
        return status;
    }
    *out = v;
    return WR_OK;
}

void wr_log_view_close(wr_log_view *v) {
    if (!v) return;
    v->world->vt->file_close(v->world, v->commits);
    state_free(v->state);
    wr_free(v->path);
    wr_free(v);
}

const wr_log_config *wr_log_view_config(const wr_log_view *v) { return &v->config; }
int64_t wr_log_view_end(const wr_log_view *v, uint32_t p) { return v->state->ends[p]; }

bool wr_log_view_pending(const wr_log_view *v, wr_log_pending *out) {
    if (v->state->pending) *out = (wr_log_pending){wr_str_of(v->state->pending_by.name), v->state->pending_by.epoch};
    return v->state->pending;
}

/* ---- places ---- */

wr_log_cursor *wr_log_cursor_new(wr_log_view *view, uint32_t partition, int64_t offset) {
    wr_log_cursor *c = wr_calloc(1, sizeof *c);
    *c = (wr_log_cursor){.view = view, .partition = partition, .offset = offset, .segment = -1};
    return c;
}

void wr_log_cursor_free(wr_log_cursor *c) {
    if (!c) return;
    walker_free(&c->walk);
    wr_free(c);
}

size_t wr_log_cursor_bytes(const wr_log_view *v) { return WR_MAX(WR_MIN((size_t)(16 << 20) / v->config.partitions, (size_t)WALK_STEP), (size_t)16 * 1024); }
int64_t wr_log_cursor_offset(const wr_log_cursor *c) { return c->offset; }

static wr_status open_segment(wr_log_cursor *c, int64_t base, wr_err *err) {
    wr_sbuf path = {0};
    walker_free(&c->walk);
    c->walk = (walker){.world = c->view->world, .partition = c->partition, .step = wr_log_cursor_bytes(c->view)};
    segment_path(c->view->path, c->partition, base, ".log", &path);
    wr_file_info info = {0};
    wr_status    status = c->view->world->vt->file_open(c->view->world, path.at, WR_OPEN_READ, &c->walk.file, err);
    if (status == WR_OK) status = c->view->world->vt->file_info(c->view->world, c->walk.file, &info, err);
    c->segment = status == WR_OK ? base : -1;
    c->inode = info.inode;
    c->reached = base;
    wr_sbuf_free(&path);
    return status;
}

/* By the index to a batch not behind the cursor's offset; what it points at must be such a batch. */
static wr_status jump(wr_log_cursor *c, wr_err *err) {
    index_list index = {0};
    WR_TRY(index_read(c->view->world, c->view->path, c->partition, c->segment, &index, err));
    uint32_t from = 0, to = index.n; /* the last entry with offset <= the cursor's */
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (index.at[mid].offset <= c->offset) from = mid + 1;
        else to = mid;
    }
    wr_status status = WR_OK;
    if (from) {
        batch_head     head;
        const uint8_t *bytes;
        c->walk.at = index.at[from - 1].at;
        status = walker_look(&c->walk, &head, &bytes, err);
        if (status == WR_OK && bytes && head.base >= index.at[from - 1].offset && head.base <= c->offset) c->reached = head.base;
        else c->walk.at = 0;
    }
    wr_arr_free(&index);
    return status;
}

/* Is the file that is open still the one of that name? */
static wr_status is_same(wr_log_cursor *c, bool *same, wr_err *err) {
    wr_sbuf      path = {0};
    wr_file_info info;
    bool         exists;
    segment_path(c->view->path, c->partition, c->segment, ".log", &path);
    wr_status status = c->view->world->vt->stat(c->view->world, path.at, &info, &exists, err);
    *same = exists && info.inode == c->inode;
    wr_sbuf_free(&path);
    return status;
}

/* The segment that has the cursor's offset, or, when one has been read to its end, the one after it. */
static wr_status find_segment(wr_log_cursor *c, bool *found, wr_err *err) {
    segment_list list = {0};
    int64_t      want = WR_MAX(c->offset, c->reached), base = -1;
    *found = false;
    WR_TRY(segments_list(c->view->world, c->view->path, c->partition, &list, err));
    for (uint32_t i = 0; i < list.n; i++)
        if (list.at[i].base <= want) base = list.at[i].base;
    int64_t start = list.n ? list.at[0].base : 0, end = wr_log_view_end(c->view, c->partition);
    wr_arr_free(&list);
    if (base < 0) return fail_not_there(c->view->path, c->partition, want, start, end, err);
    bool same = base == c->segment;
    if (same) WR_TRY(is_same(c, &same, err));
    if (same) return WR_OK;
    int64_t   reached = c->reached;
    bool      onward = c->segment >= 0 && base == reached;
    wr_status status = open_segment(c, base, err);
    if (status != WR_OK) { /* removed between the two looks: say so */
        c->reached = reached;
        return status;
    }
    *found = true;
    return onward ? WR_OK : jump(c, err);
}

/* A position behind the end: after a power failure the last records of `commits` may be lost, while the batches are there; the next writer commits them again.
 * Then there is nothing to read yet; else the offset has never been. */
static wr_status check_behind(wr_log_cursor *c, int64_t end, wr_err *err) {
    wr_log_cursor *at = wr_log_cursor_new(c->view, c->partition, end);
    batch_head     head;
    const uint8_t *bytes = NULL;
    bool           found = false;
    wr_status      status = find_segment(at, &found, err);
    while (found && status == WR_OK && at->reached < c->offset) {
        status = walker_look(&at->walk, &head, &bytes, err);
        if (status == WR_OK && (!bytes || !batch_verify(bytes, BATCH_HEADER + (size_t)head.len))) status = find_segment(at, &found, err);
        else if (status == WR_OK) at->walk.at += BATCH_HEADER + (uint64_t)head.len, at->reached = head.base + head.span;
    }
    if (status == WR_OK && at->reached < c->offset) status = fail_not_there(c->view->path, c->partition, c->offset, 0, end, err);
    wr_log_cursor_free(at);
    return status;
}

wr_status wr_log_cursor_peek(wr_log_cursor *c, wr_log_piece *out, wr_err *err) {
    int64_t end = wr_log_view_end(c->view, c->partition);
    *out = (wr_log_piece){0};
    if (c->offset > end) return check_behind(c, end, err);
    bool found = false;
    if (c->segment < 0 && c->offset < end) WR_TRY(find_segment(c, &found, err));
    while (c->offset < end && c->reached < end) {
        batch_head     head;
        const uint8_t *bytes;
        WR_TRY(walker_look(&c->walk, &head, &bytes, err));
        if (!bytes) { /* the segment's end */
            uint64_t was = c->walk.at;
            int64_t  segment = c->segment;
            WR_TRY(find_segment(c, &found, err));
            if (!found) return wr_log_damaged(c->view->path, c->partition, segment, was, c->reached, err);
            continue;
        }
        if (head.base >= end) break;
        int64_t next = head.base + head.span;
        if (next > c->offset && head.n) {
            *out = (wr_log_piece){.bytes = bytes, .len = BATCH_HEADER + (size_t)head.len, .base = head.base, .next = next, .n = head.n, .raw_len = head.raw_len, .segment = c->segment, .at = c->walk.at};
            return WR_OK;
        }
        c->walk.at += BATCH_HEADER + (uint64_t)head.len;
        c->reached = next;
    }
    c->offset = WR_MAX(c->offset, WR_MIN(c->reached, end)); /* what compaction removed up to the end */
    wr_sbuf_free(&c->walk.ahead); /* at rest it holds nothing */
    return WR_OK;
}

void wr_log_cursor_take(wr_log_cursor *c, const wr_log_piece *piece) {
    c->walk.at += piece->len;
    c->offset = c->reached = piece->next;
}

/* ---- times and figures ---- */

/* Of a finished segment, from the end of its index; false: it has none. */
static wr_status last_entry(wr_log_view *v, uint32_t p, const log_segment *s, index_entry *out, bool *whole, wr_err *err) {
    index_list index = {0};
    WR_TRY(index_read(v->world, v->path, p, s->base, &index, err));
    *whole = index.n && index.at[index.n - 1].at == s->bytes;
    if (*whole) *out = index.at[index.n - 1];
    wr_arr_free(&index);
    return WR_OK;
}

/* From the start of the list: segments that are over before the time are passed over. */
static wr_status segment_of_time(wr_log_view *v, uint32_t p, int64_t ms, int64_t *from, wr_err *err) {
    segment_list list = {0};
    wr_status    status = segments_list(v->world, v->path, p, &list, err);
    *from = list.n ? list.at[0].base : 0;
    for (uint32_t i = 0; i + 1 < list.n && status == WR_OK; i++) {
        index_entry e;
        bool        whole;
        status = last_entry(v, p, &list.at[i], &e, &whole, err);
        if (status != WR_OK || !whole || e.max_ms >= ms) break;
        *from = list.at[i + 1].base;
    }
    if (status == WR_OK && list.n) { /* within it: the last entry before which all is older */
        index_list index = {0};
        status = index_read(v->world, v->path, p, *from, &index, err);
        for (uint32_t i = 0; i < index.n && index.at[i].max_ms < ms; i++) *from = index.at[i].offset;
        wr_arr_free(&index);
    }
    wr_arr_free(&list);
    return status;
}

wr_status wr_log_view_time(wr_log_view *v, uint32_t p, int64_t ms, int64_t *offset, wr_err *err) {
    int64_t from, end = wr_log_view_end(v, p);
    *offset = end;
    WR_TRY(segment_of_time(v, p, ms, &from, err));
    wr_log_cursor *c = wr_log_cursor_new(v, p, WR_MIN(from, end));
    wr_log_batch   batch = {0};
    wr_log_piece   piece;
    wr_status      status;
    bool           found = false;
    while ((status = wr_log_cursor_peek(c, &piece, err)) == WR_OK && piece.len && !found) {
        batch_head    head;
        wr_log_record r;
        if (batch_head_get(piece.bytes, piece.len, &head) && head.max_ms >= ms) {
            status = wr_log_batch_open(&batch, piece.bytes, piece.len);
            if (status != WR_OK) status = wr_log_damaged(v->path, p, piece.segment, piece.at, piece.base, err);
            while (status == WR_OK && !found && wr_log_batch_next(&batch, &r))
                if (r.time_ms >= ms && r.offset < end) *offset = r.offset, found = true;
            if (status != WR_OK) break;
        }
        wr_log_cursor_take(c, &piece);
    }
    wr_log_batch_free(&batch);
    wr_log_cursor_free(c);
    return status;
}

wr_status wr_log_view_stat(wr_log_view *v, uint32_t p, wr_log_stat *out, wr_err *err) {
    segment_list list = {0};
    *out = (wr_log_stat){.end = wr_log_view_end(v, p)};
    wr_status status = segments_list(v->world, v->path, p, &list, err);
    for (uint32_t i = 0; i < list.n; i++) out->bytes += list.at[i].bytes;
    out->segments = list.n;
    out->start = list.n ? list.at[0].base : 0;
    wr_arr_free(&list);
    for (int last = 0; last < 2 && status == WR_OK && out->end > out->start; last++) { /* the first batch and the last one */
        wr_log_cursor *c = wr_log_cursor_new(v, p, last ? out->end - 1 : out->start);
        wr_log_piece   piece;
        batch_head     head;
        status = wr_log_cursor_peek(c, &piece, err);
        if (status == WR_OK && piece.len && batch_head_get(piece.bytes, piece.len, &head)) *(last ? &out->last_append_us : &out->first_append_us) = head.appended_us;
        wr_log_cursor_free(c);
    }
    return status;
}
