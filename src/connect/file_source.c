/* connect/file_source.c: the source of 'filesystem': files as partitions, read in chunks of about 1 MiB cut at a record's end.
 *
 * Idea       a file is known by its inode, not its name: so a position survives log rotation. `next` goes round the files that have
 *            something to give; in tail mode, when none has, the directory is looked at again every poll interval: new files become
 *            partitions, renamed ones keep theirs, one that became shorter than our position was truncated and begins anew,
 *            one that was removed is read to its end through the handle that is still open.
 * At once    where the system tells of changes (sys/notify.h), a change makes the job ask again and the directory is looked at then; the interval stays for
 *            file systems that do not tell.
 * Unread     of a plain file whose records end at line breaks only the last bytes of a chunk are read by `next`, to find where it can be cut; the rest is read by
 *            whoever decodes it. Near the end of a file, in a record of many bytes and in other formats the whole chunk is read at once.
 * Torn line  a last line without line break is a record when bounded, and waits for the rest when tailing.
 * Too long   a record longer than max-record-bytes is passed over piece by piece; one chunk tells the decoder where and how long.
 * Invariant  a partition's index never changes; `offset` counts uncompressed bytes handed out.
 * Bounds     64 open handles; one chunk, at most max-record-bytes + 1 MiB; for compressed files the tail of the last chunk is kept.
 * Thread     next, save, load: under the turn lock. read, decode: any worker; they see only the chunk and what hangs on it. */
#define _GNU_SOURCE 1 /* memrchr */
#include "connect/parts.h"
#include "sys/notify.h"
#include <stdatomic.h>

enum { CHUNK_BYTES = (1 << 18) - 4096, OPEN_MAX_FILES = 64, RAW_SHOWN = 200, SAVE_VERSION = 1, LOOK_FILE_US = 10, HEADER_BYTES = 1 << 16, HEADER_BYTES_MAX = 16 << 20, TAIL_BYTES = 2048 };

typedef struct chunk_note { /* hangs on a chunk (rows_from): what decode may know of the file */
    wr_str   path;
    uint64_t size;
    int64_t  mtime_us;
    wr_str   header;   /* of formats that have one */
    uint64_t too_long; /* bytes of an over-long record; data holds its beginning */
    file_share *unread; /* where its bytes are still to be read; NULL once they are */
} chunk_note;

typedef struct file_part {
    char            *path;
    uint64_t         inode, device, size;
    int64_t          mtime_us;
    uint64_t         offset;
    file_reader     *reader;
    uint64_t         used;     /* turn of the last use, for closing the least recently used */
    wr_sbuf          header;   /* of the file, where the format has one */
    bool             headed;   /* it was looked for */
    wr_sbuf          carry;    /* compressed: text read but not handed out */
    uint64_t         skipping; /* bytes passed over of an over-long record, 0 = none */
    uint8_t          shown[RAW_SHOWN], n_shown; /* the beginning of it */
    wr_envelope_seen seen;
    bool             done;     /* never again */
    bool             at_end;   /* nothing more until the next look */
    bool             gone;     /* no name leads to it any more */
    uint64_t         limit;    /* see until: bytes behind it are not handed out; UINT64_MAX: none */
    bool             limit_done; /* there the part was done */
} file_part;

typedef struct file_source {
    wr_source         base;
    wr_world         *world;
    wr_account       *acct;
    wr_str            paths, table;
    const wr_format  *format;
    wr_options        options;
    bool              tail, envelope, limited;
    size_t            chunk_bytes;
    int64_t           max_record_bytes, poll_us, last_look_us;
    wr_notify        *notify;   /* tail; NULL: nobody tells */
    _Atomic bool      changed;  /* it told */
    void            (*wake)(void *arg);
    void             *wake_arg;
    uint32_t          n_physical, n_cols, n_workers;
    const wr_schema  *schema;
    const wr_str     *metadata_keys;
    const uint8_t    *needed;
    wr_schema         physical;
    wr_decoder      **decoders; /* one a worker */
    WR_ARR(file_part *) parts;
    uint32_t          turn, n_open;
    uint64_t          clock;
} file_source;

/* ---- the list of files ---- */

/* Where new files may turn up: the directory that a name or a pattern stands in, and what is named itself, which may be a directory. */
static void notify_paths(file_source *s) {
    wr_sbuf dir = {0};
    wr_str  rest = s->paths;
    for (wr_str path; wr_str_next(&rest, ',', &path);) {
        if (wr_str_starts(path, WR_STR("file://"))) path.ptr += 7, path.len -= 7;
        size_t plain = 0;
        while (plain < path.len && !strchr("*?[{\\", path.ptr[plain])) plain++;
        wr_sbuf_clear(&dir);
        wr_sbuf_add_str(&dir, path_dir((wr_str){path.ptr, plain}));
        wr_notify_dir(s->notify, dir.at);
        if (plain < path.len || !plain) continue;
        wr_sbuf_clear(&dir);
        wr_sbuf_add_str(&dir, path);
        wr_notify_dir(s->notify, dir.at);
    }
    wr_sbuf_free(&dir);
}

static file_part *add_part(file_source *s, const char *path, const wr_file_info *info) {
    file_part *p = wr_calloc(1, sizeof *p);
    p->path = wr_strdup(path);
    p->inode = info->inode, p->device = info->device, p->size = info->size_bytes, p->mtime_us = info->mtime_us;
    p->limit = s->limited ? 0 : UINT64_MAX; /* a file that was not there at the limit */
    wr_arr_push(&s->parts, p);
    if (s->notify) { /* a pattern may lead to many directories */
        wr_sbuf dir = {0};
        wr_sbuf_add_str(&dir, path_dir(wr_str_of(path)));
        wr_notify_dir(s->notify, dir.at);
        wr_sbuf_free(&dir);
    }
    return p;
}

static void free_carry(file_source *s, file_part *p) {
    if (s->acct && p->carry.cap) wr_account_add(s->acct, -(int64_t)p->carry.cap);
    wr_sbuf_free(&p->carry);
}

static void free_part(file_source *s, file_part *p) {
    file_reader_free(p->reader);
    free_carry(s, p);
    wr_sbuf_free(&p->header);
    wr_arr_free(&p->seen.list);
    wr_free(p->path);
    wr_free(p);
}

static void set_path(file_part *p, const char *path) {
    if (!strcmp(p->path, path)) return;
    wr_free(p->path);
    p->path = wr_strdup(path);
}

static file_part *part_of(file_source *s, const wr_file_info *info) {
    for (uint32_t i = 0; i < s->parts.n; i++) {
        file_part *p = s->parts.at[i];
        if (p->inode == info->inode && p->device == info->device && !p->gone) return p;
    }
    return NULL;
}

static void restart_part(file_source *s, file_part *p) { /* truncated */
    if (p->reader && file_reader_is_open(p->reader)) s->n_open--;
    file_reader_free(p->reader);
    p->reader = NULL;
    p->offset = 0;
    p->skipping = 0;
    p->done = p->headed = false;
    wr_sbuf_clear(&p->carry);
}

/* A name of our list leads elsewhere now: is the file still in that directory, under another name? */
static void find_moved(file_source *s, file_part *p) {
    wr_sbuf       dir = {0}, path = {0};
    wr_file_info *names = NULL;
    size_t        n = 0;
    wr_sbuf_add_str(&dir, path_dir(wr_str_of(p->path)));
    p->gone = true;
    if (s->world->vt->list(s->world, dir.at, &names, &n, NULL) == WR_OK) {
        for (size_t i = 0; i < n; i++) {
            if (names[i].inode != p->inode || names[i].device != p->device) continue;
            wr_sbuf_printf(&path, "%s/%s", dir.at, names[i].name);
            set_path(p, path.at);
            p->size = names[i].size_bytes;
            p->gone = false;
        }
        wr_free(names);
    }
    wr_sbuf_free(&dir);
    wr_sbuf_free(&path);
}

static wr_status look(file_source *s, wr_err *err) {
    file_list found = {0};
    wr_status status = file_list_find(s->world, s->paths, false, &found, err);
    uint32_t  n_before = s->parts.n;
    uint8_t  *still = wr_calloc(n_before + 1, 1);
    for (uint32_t i = 0; status == WR_OK && i < found.list.n; i++) {
        const file_entry *e = &found.list.at[i];
        file_part        *p = part_of(s, &e->info);
        if (!p) {
            add_part(s, e->path, &e->info);
            continue;
        }
        for (uint32_t k = 0; k < n_before; k++)
            if (s->parts.at[k] == p) still[k] = 1;
        set_path(p, e->path);
        if (e->info.size_bytes < p->offset && !(p->reader && file_reader_compressed(p->reader))) restart_part(s, p);
        if (e->info.size_bytes != p->size || e->info.mtime_us != p->mtime_us) p->at_end = false;
        p->size = e->info.size_bytes;
        p->mtime_us = e->info.mtime_us;
    }
    for (uint32_t k = 0; status == WR_OK && k < n_before; k++) {
        file_part *p = s->parts.at[k];
        if (still[k] || p->gone) continue;
        find_moved(s, p);
        p->at_end = false; /* whatever was written before it went is read; then a gone part is done */
    }
    wr_free(still);
    file_list_free(&found);
    s->last_look_us = wr_mono_us(s->world);
    return status;
}

/* ---- reading ---- */

static void close_oldest(file_source *s, const file_part *but) {
    file_part *oldest = NULL;
    for (uint32_t i = 0; i < s->parts.n; i++) {
        file_part *p = s->parts.at[i];
        if (p == but || p->gone || !p->reader || !file_reader_is_open(p->reader)) continue;
        if (!oldest || p->used < oldest->used) oldest = p;
    }
    if (!oldest) return;
    file_reader_park(oldest->reader);
    s->n_open--;
}

/* Opens the part's file; *there = false if it is gone for good. */
static wr_status open_part(file_source *s, file_part *p, bool *there, wr_err *err) {
    wr_file     *file;
    wr_file_info info;
    *there = true;
    p->used = ++s->clock;
    if (p->reader && file_reader_is_open(p->reader)) return WR_OK;
    if (p->gone) return *there = false, WR_OK;
    if (s->n_open >= OPEN_MAX_FILES) close_oldest(s, p);
    for (int attempt = 0; attempt < 2; attempt++) {
        wr_status status = s->world->vt->file_open(s->world, p->path, WR_OPEN_READ, &file, err);
        if (status == WR_OK) {
            status = s->world->vt->file_info(s->world, file, &info, err);
            if (status != WR_OK) s->world->vt->file_close(s->world, file);
        }
        if (status != WR_OK && !s->tail) {
            wr_err_detail(err, "it is an input of the table '%.*s'", WR_FMT(s->table));
            return status;
        }
        if (status == WR_OK && info.inode == p->inode && info.device == p->device) {
            if (!p->reader) p->reader = file_reader_new(s->world, s->acct, p->path, file);
            else file_reader_resume(p->reader, file);
            s->n_open++;
            return WR_OK;
        }
        if (status == WR_OK) s->world->vt->file_close(s->world, file);
        bool exists;
        if (status != WR_OK && s->world->vt->stat(s->world, p->path, &info, &exists, NULL) == WR_OK && exists) return status; /* it is there: rights */
        find_moved(s, p);
        if (p->gone) break;
    }
    *there = false;
    return WR_OK;
}

static void close_part(file_source *s, file_part *p) {
    p->done = true;
    if (p->reader && file_reader_is_open(p->reader)) s->n_open--;
    file_reader_free(p->reader);
    p->reader = NULL;
    free_carry(s, p);
}

/* Where may a chunk of the bytes be cut? */
static size_t cut(const file_source *s, const uint8_t *data, size_t len) {
    if (s->format->split) {
        uint64_t state = 0;
        return s->format->split(data, len, &s->options, &state);
    }
    const uint8_t *nl = memrchr(data, '\n', len);
    return nl ? (size_t)(nl + 1 - data) : 0;
}

/* Bytes after p->offset into a new wr_mem: carried ones first. *end: nothing more in the file now. */
static wr_status read_bytes(file_part *p, size_t want, wr_mem **mem, uint8_t **data, size_t *len, bool *end, wr_err *err) {
    size_t had = p->carry.len, got = 0;
    *mem = wr_mem_new(WR_MAX(want, had) + 2048); /* one block, with room for the note */
    *data = wr_mem_alloc(*mem, WR_MAX(want, had) + 64);
    if (had) memcpy(*data, p->carry.at, had);
    if (want > had) {
        wr_status status = file_reader_read(p->reader, p->offset + p->skipping + had, *data + had, want - had, &got, err);
        if (status != WR_OK) {
            wr_mem_unref(*mem);
            return status;
        }
    }
    *len = had + got;
    *end = had + got < want;
    memset(*data + *len, 0, 64);
    return WR_OK;
}

static void keep_carry(file_source *s, file_part *p, const uint8_t *from, size_t len) {
    if (!file_reader_compressed(p->reader)) return;
    if (p->carry.cap > s->chunk_bytes && len < s->chunk_bytes / 2) free_carry(s, p);
    size_t before = p->carry.cap;
    wr_sbuf_clear(&p->carry);
    wr_sbuf_add(&p->carry, from, len);
    if (s->acct) wr_account_add(s->acct, (int64_t)p->carry.cap - (int64_t)before);
}

static chunk_note *note_of(file_part *p, wr_mem *mem) {
    chunk_note *note = wr_mem_calloc(mem, sizeof *note);
    size_t      n = strlen(p->path);
    char       *path = wr_mem_alloc(mem, n + 1);
    memcpy(path, p->path, n + 1);
    *note = (chunk_note){.path = {path, n}, .size = p->size, .mtime_us = p->mtime_us};
    if (p->header.len) {
        char *header = wr_mem_alloc(mem, p->header.len);
        memcpy(header, p->header.at, p->header.len);
        note->header = (wr_str){header, p->header.len};
    }
    return note;
}

static void give(const file_source *s, file_part *p, uint32_t index, wr_mem *mem, uint8_t *data, size_t len, wr_chunk *out) {
    *out = (wr_chunk){.partition = index, .first = p->offset == 0, .offset = p->offset, .mem = mem, .data = data, .len = len};
    out->rows_from = (uint64_t)(uintptr_t)note_of(p, mem);
    if (s->envelope) wr_envelope_mark(data, len, &p->seen);
    p->offset += len;
    out->last = p->done;
}

/* A chunk of a plain file without its bytes. *made false: its end is not in sight, the bytes have to be looked at. */
static wr_status give_unread(file_source *s, file_part *p, uint32_t index, wr_chunk *out, bool *made, wr_err *err) {
    uint8_t     tail[TAIL_BYTES];
    size_t      want = s->chunk_bytes, look_at = WR_MIN((size_t)TAIL_BYTES, want / 2), got;
    file_share *share = s->envelope || s->format->split || want >= p->limit - p->offset || p->carry.len ? NULL : file_reader_share(p->reader);
    *made = false;
    if (!share) return WR_OK;
    wr_status status = file_share_read(share, p->offset + want - look_at, tail, look_at, &got, err);
    const uint8_t *nl = status == WR_OK && got == look_at ? memrchr(tail, '\n', got) : NULL;
    if (!nl) return file_share_drop(share), status;
    wr_mem *mem = wr_mem_new(0);
    give(s, p, index, mem, NULL, want - look_at + (size_t)(nl + 1 - tail), out);
    ((chunk_note *)(uintptr_t)out->rows_from)->unread = share;
    *made = true;
    return WR_OK;
}

/* Fewer bytes than there were: the file was cut meanwhile. Records that are still whole count, the rest is lost as if it had been cut before. */
static wr_status source_read(wr_source *base, wr_chunk *chunk, wr_err *err) {
    file_source *s = (file_source *)base;
    chunk_note  *note = (chunk_note *)(uintptr_t)chunk->rows_from;
    uint8_t     *data = wr_mem_alloc(chunk->mem, chunk->len + 64);
    size_t       got = 0;
    wr_status    status = file_share_read(note->unread, chunk->offset, data, chunk->len, &got, err);
    file_share_drop(note->unread);
    note->unread = NULL;
    if (status != WR_OK) return status;
    if (got < chunk->len) chunk->len = cut(s, data, got);
    memset(data + chunk->len, 0, 64);
    chunk->data = data;
    return WR_OK;
}

/* The rest of an over-long record: up to and with its line break. True when it is over (a chunk was made). */
static wr_status pass_over(file_source *s, file_part *p, uint32_t index, wr_chunk *out, bool *made, wr_err *err) {
    wr_mem  *mem;
    uint8_t *data;
    size_t   len;
    bool     end;
    *made = false;
    WR_TRY(read_bytes(p, s->chunk_bytes, &mem, &data, &len, &end, err));
    uint8_t *nl = memchr(data, '\n', len);
    size_t   used = nl ? (size_t)(nl + 1 - data) : len;
    p->skipping += used;
    keep_carry(s, p, data + used, len - used);
    wr_mem_unref(mem);
    if (!nl && !(end && !s->tail)) {
        p->at_end = end;
        return WR_OK;
    }
    mem = wr_mem_new(RAW_SHOWN + 256);
    uint8_t *shown = wr_mem_alloc(mem, RAW_SHOWN + 64);
    memset(shown, 0, RAW_SHOWN + 64);
    memcpy(shown, p->shown, p->n_shown);
    bool done = end && !nl;
    p->done = done;
    *out = (wr_chunk){.partition = index, .first = p->offset == 0, .last = done, .offset = p->offset, .mem = mem, .data = shown, .len = p->n_shown};
    chunk_note *note = note_of(p, mem);
    note->too_long = p->skipping;
    out->rows_from = (uint64_t)(uintptr_t)note;
    p->offset += p->skipping;
    p->skipping = 0;
    if (done) close_part(s, p);
    *made = true;
    return WR_OK;
}

/* The header that every chunk needs, after a restore too. *there false: it is not complete yet. */
static wr_status read_header(file_source *s, file_part *p, bool *there, wr_err *err) {
    wr_sbuf_clear(&p->header);
    for (size_t want = HEADER_BYTES;; want *= 4) {
        size_t got = 0;
        wr_sbuf_clear(&p->header);
        wr_sbuf_reserve(&p->header, want);
        WR_TRY(file_reader_read(p->reader, 0, p->header.at, want, &got, err));
        size_t n = s->format->header((const uint8_t *)p->header.at, got);
        bool   end = got < want || want > HEADER_BYTES_MAX;
        *there = n || !end || !s->tail;
        if (!n && !end) continue;
        p->header.len = n == SIZE_MAX ? 0 : n; /* none: the decoder says so */
        p->headed = *there;
        return WR_OK;
    }
}

/* Tries to get a chunk from one part. */
static wr_status read_part(file_source *s, file_part *p, uint32_t index, wr_chunk *out, bool *made, wr_err *err) {
    bool there;
    *made = false;
    if (p->offset >= p->limit && !p->limit_done) {
        p->at_end = true;
        return WR_OK;
    }
    there = p->offset < p->limit;
    if (there) WR_TRY(open_part(s, p, &there, err));
    if (!there) {
        close_part(s, p);
        *out = (wr_chunk){.partition = index, .first = p->offset == 0, .last = true, .offset = p->offset};
        *made = true;
        return WR_OK;
    }
    if (p->skipping) return pass_over(s, p, index, out, made, err);
    if (s->format->header && !p->headed) {
        WR_TRY(read_header(s, p, &there, err));
        if (!there) return p->at_end = true, WR_OK;
    }
    WR_TRY(give_unread(s, p, index, out, made, err));
    if (*made) return WR_OK;
    for (size_t want = s->chunk_bytes;; want = WR_MIN(want * 4, (size_t)s->max_record_bytes + s->chunk_bytes)) {
        wr_mem  *mem;
        uint8_t *data;
        size_t   len;
        bool     end;
        bool     limited = want >= p->limit - p->offset; /* the limit lies at a record's end */
        if (limited) want = p->limit - p->offset;
        WR_TRY(read_bytes(p, want, &mem, &data, &len, &end, err));
        size_t n = cut(s, data, len);
        if (limited && len >= want) n = want;
        bool   final = end && (!s->tail || p->gone || file_reader_compressed(p->reader));
        if (final && (int64_t)(len - n) <= s->max_record_bytes) n = len; /* a last line without line break */
        if (n || (end && !len)) {
            final &= n == len;
            p->at_end = end && s->tail;
            keep_carry(s, p, data + n, len - n);
            p->done = final;
            *made = n || final;
            if (*made) give(s, p, index, mem, data, n, out);
            else wr_mem_unref(mem);
            if (final) close_part(s, p);
            return WR_OK;
        }
        if ((int64_t)len > s->max_record_bytes && s->format->lengths) {
            wr_mem_unref(mem);
            wr_fail(err, WR_DATA, "WR393", "%s: the record at byte %llu is longer than max-record-bytes = %lld, or its length is damaged", p->path, (unsigned long long)p->offset, (long long)s->max_record_bytes);
            return WR_DATA;
        }
        if ((int64_t)len > s->max_record_bytes) { /* no end in sight */
            p->n_shown = (uint8_t)WR_MIN(len, (size_t)RAW_SHOWN);
            memcpy(p->shown, data, p->n_shown);
            p->skipping = len;
            keep_carry(s, p, data, 0);
            wr_mem_unref(mem);
            return WR_OK;
        }
        keep_carry(s, p, data, len);
        wr_mem_unref(mem);
        if (end) {
            p->at_end = true; /* a torn last line waits */
            return WR_OK;
        }
    }
}

static void on_change(void *arg) {
    file_source *s = arg;
    atomic_store(&s->changed, true);
    s->wake(s->wake_arg);
}

/* When the interval is over; when something changed, but not so often that looking at many files becomes the work. */
static bool look_due(file_source *s) {
    int64_t since_us = wr_mono_us(s->world) - s->last_look_us;
    bool    due = since_us >= s->poll_us || (since_us >= (int64_t)s->parts.n * LOOK_FILE_US && atomic_load(&s->changed));
    if (!due) return false;
    atomic_store(&s->changed, false);
    wr_notify_arm(s->notify); /* behind the flag: what happens after this look is told again, though this call was told already */
    return true;
}

static wr_status source_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    file_source *s = (file_source *)base;
    *out = (wr_chunk){0};
    wr_notify_arm(s->notify); /* before anything is read: what is written from now on wakes */
    uint32_t n_known = s->parts.n; /* `held` covers no more than these */
    for (int round = 0; round < 2; round++) {
        bool again;
        do {
            again = false;
            for (uint32_t k = 0; k < s->parts.n; k++) {
                uint32_t   i = (s->turn + k) % s->parts.n;
                file_part *p = s->parts.at[i];
                if (p->done || p->at_end || (i < n_known && is_held(held, i))) continue;
                bool made;
                WR_TRY(read_part(s, p, i, out, &made, err));
                if (made) {
                    s->turn = (i + 1) % s->parts.n;
                    *state = WR_NEXT_CHUNK;
                    return WR_OK;
                }
                again |= !p->done && !p->at_end;
            }
        } while (again);
        if (!s->tail || round || !look_due(s)) break;
        WR_TRY(look(s, err));
    }
    bool all_done = !s->tail && !s->limited;
    for (uint32_t i = 0; i < s->parts.n; i++) all_done &= s->parts.at[i]->done;
    *state = all_done ? WR_NEXT_END : WR_NEXT_WAIT;
    if (s->tail && atomic_load(&s->changed)) *retry_us = WR_MAX((int64_t)s->parts.n * LOOK_FILE_US, 1000); /* it was too soon */
    else *retry_us = s->tail ? WR_MAX(s->poll_us - (wr_mono_us(s->world) - s->last_look_us), 1000) : 1000;
    return WR_OK;
}

/* ---- decoding ---- */

static void fill_metadata(const chunk_note *note, wr_batch *batch, wr_str key, wr_vec *vec, wr_type type) {
    uint32_t n = batch->n_rows;
    wr_vec_init(vec, type, n, false, batch->mem);
    if (wr_str_eq(key, WR_STR("file.size"))) {
        for (uint32_t i = 0; i < n; i++) ((int64_t *)vec->data)[i] = (int64_t)note->size;
    } else if (wr_str_eq(key, WR_STR("file.modification-time"))) {
        int64_t ticks = type.prec > 6 ? note->mtime_us * 1000 : type.prec >= 6 ? note->mtime_us : note->mtime_us - wr_floor_mod(note->mtime_us, type.prec >= 3 ? 1000 : 1000000);
        for (uint32_t i = 0; i < n; i++) ((int64_t *)vec->data)[i] = ticks;
    } else {
        wr_str   text = wr_str_eq(key, WR_STR("file.name")) ? path_name(note->path) : note->path;
        wr_sview view = wr_sview_borrow(text.ptr, text.len);
        for (uint32_t i = 0; i < n; i++) ((wr_sview *)vec->data)[i] = view;
    }
}

static wr_status source_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)err;
    file_source      *s = (file_source *)base;
    const chunk_note *note = (const chunk_note *)(uintptr_t)chunk->rows_from;
    wr_assert(worker < s->n_workers);
    if (!chunk->len) return WR_OK;
    if (note->too_long) {
        wr_bad_record bad = {.kind = WR_BAD_TOO_LONG, .before_row = out->n_rows, .raw = {(const char *)chunk->data, chunk->len}};
        wr_sbuf       text = {.max = sizeof bad.message - 1};
        wr_sbuf_printf(&text, "a record of %llu bytes, more than max-record-bytes = %lld; its first %d bytes are shown", (unsigned long long)note->too_long,
                       (long long)s->max_record_bytes, RAW_SHOWN);
        memcpy(bad.message, text.at, text.len);
        wr_sbuf_free(&text);
        wr_arr_push(&out->bad, bad);
        out->n_records++, out->n_lines++;
        return WR_OK;
    }
    uint32_t from = out->batches.n;
    if (s->format->header) s->decoders[worker]->file_header(s->decoders[worker], note->header);
    s->decoders[worker]->decode(s->decoders[worker], chunk->mem, chunk->data, chunk->len, chunk->first, out);
    if (s->n_cols == s->n_physical) return WR_OK;
    for (uint32_t b = from; b < out->batches.n; b++) {
        wr_batch *inner = out->batches.at[b], *whole = wr_batch_derive(inner, s->n_cols);
        uint32_t  own = s->n_physical; /* the format's metadata columns stand behind the physical ones */
        wr_mem_keep(whole->mem, chunk->mem);
        for (uint32_t c = s->n_physical; c < s->n_cols; c++)
            if (wr_format_is_metadata(s->metadata_keys[c - s->n_physical])) whole->cols[c] = inner->cols[own++];
            else fill_metadata(note, whole, s->metadata_keys[c - s->n_physical], &whole->cols[c], s->schema->fields[c].type);
        wr_batch_unref(inner);
        out->batches.at[b] = whole;
    }
    return WR_OK;
}

/* A record that was refused before. Of its file the name is known, the rest if the file is still among those that are read. */
static wr_status source_again(wr_source *base, const wr_again *r, wr_chunk *out, wr_err *err) {
    (void)err;
    file_source *s = (file_source *)base;
    wr_mem      *mem = wr_mem_new(r->raw.len + 1024);
    uint8_t     *data = wr_mem_calloc(mem, r->raw.len + 75);
    chunk_note  *note = NULL;
    uint32_t     index = 0;
    size_t       len = 0, left = r->raw.len;
    if (s->format->lengths) { /* a letter has the record without it */
        for (; left >= 0x80; left >>= 7) data[len++] = (uint8_t)(left | 0x80);
        data[len++] = (uint8_t)left;
    }
    memcpy(data + len, r->raw.ptr, r->raw.len);
    len += r->raw.len;
    if (!s->format->lengths) data[len++] = '\n';
    for (uint32_t i = 0; i < s->parts.n && !note; i++)
        if (wr_str_eq(wr_str_of(s->parts.at[i]->path), r->partition)) note = note_of(s->parts.at[i], mem), index = i;
    if (!note) {
        char *path = wr_mem_alloc(mem, r->partition.len + 1);
        memcpy(path, r->partition.ptr ? r->partition.ptr : "", r->partition.len);
        note = wr_mem_calloc(mem, sizeof *note);
        note->path = (wr_str){path, r->partition.len};
    }
    *out = (wr_chunk){.partition = index, .offset = (uint64_t)WR_MAX(r->offset, 0), .mem = mem, .data = data, .len = len, .rows_from = (uint64_t)(uintptr_t)note};
    return WR_OK;
}

/* ---- positions ---- */

static void source_save(wr_source *base, wr_sbuf *out) {
    file_source *s = (file_source *)base;
    wr_put_u8(out, SAVE_VERSION);
    wr_put_u32(out, s->parts.n);
    for (uint32_t i = 0; i < s->parts.n; i++) {
        const file_part *p = s->parts.at[i];
        wr_put_bytes(out, p->path, strlen(p->path));
        wr_put_u64(out, p->inode), wr_put_u64(out, p->device), wr_put_u64(out, p->offset);
        wr_put_u8(out, p->done), wr_put_u8(out, p->gone);
        wr_put_u32(out, p->seen.list.n);
        for (uint32_t k = 0; k < p->seen.list.n; k++) wr_put_i64(out, p->seen.list.at[k].partition), wr_put_i64(out, p->seen.list.at[k].offset);
    }
}

static bool is_packed(const char *path) {
    size_t len = strlen(path);
    return (len > 3 && !strcmp(path + len - 3, ".gz")) || (len > 4 && !strcmp(path + len - 4, ".zst"));
}

/* One saved part: found among the files there are now (by inode, else by name), or a place holder. */
static wr_status load_part(file_source *s, file_list *now, wr_reader *in, wr_err *err) {
    wr_str       path = wr_get_bytes(in);
    wr_file_info info = {.inode = wr_get_u64(in)};
    info.device = wr_get_u64(in);
    uint64_t offset = wr_get_u64(in);
    bool     done = wr_get_u8(in), gone = wr_get_u8(in);
    uint32_t n_seen = wr_get_u32(in);
    if (in->bad) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->table));
    char *name = wr_malloc(path.len + 1);
    memcpy(name, path.ptr, path.len);
    name[path.len] = 0;
    file_part *p = add_part(s, name, &info);
    wr_free(name);
    p->offset = offset, p->done = done, p->gone = gone;
    for (uint32_t k = 0; k < n_seen && !in->bad; k++) {
        wr_envelope_pos pos = {.partition = wr_get_i64(in)};
        pos.offset = wr_get_i64(in);
        wr_arr_push(&p->seen.list, pos);
    }
    /* A file shorter than our position was cut or its inode is in use again: other content, to be read from its start. (Positions in
     * compressed files count bytes after decompression and say nothing about the size.) */
    bool        packed = is_packed(p->path);
    file_entry *found = NULL;
    for (int by_name = 0; by_name < 2 && !found && !gone; by_name++)
        for (uint32_t i = 0; i < now->list.n && !found; i++) {
            file_entry *e = &now->list.at[i];
            if (!e->path) continue;
            bool whole = packed || e->info.size_bytes >= offset;
            bool same = whole && (by_name ? !strcmp(e->path, p->path) : e->info.inode == p->inode && e->info.device == p->device);
            if (same) found = e;
        }
    if (found) {
        set_path(p, found->path);
        p->inode = found->info.inode, p->device = found->info.device, p->size = found->info.size_bytes, p->mtime_us = found->info.mtime_us;
        wr_free(found->path);
        found->path = NULL; /* taken */
        return WR_OK;
    }
    if (done) return WR_OK;
    if (!gone) find_moved(s, p);
    if (!p->gone) return WR_OK;
    if (s->tail) {
        p->done = true;
        return WR_OK;
    }
    wr_status status = wr_fail(err, WR_DATA, "58P01", "the checkpoint was reading '%s' (byte %llu), and that file is not there any more", p->path, (unsigned long long)offset);
    wr_err_hint(err, "bring the file back, or start the job without the checkpoint");
    return status;
}

static wr_status source_load(wr_source *base, wr_reader *in, wr_err *err) {
    file_source *s = (file_source *)base;
    if (wr_get_u8(in) != SAVE_VERSION) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are of another version", WR_FMT(s->table));
    file_list now = {0};
    for (uint32_t i = 0; i < s->parts.n; i++) {
        file_part *p = s->parts.at[i];
        wr_file_info info = {.inode = p->inode, .device = p->device, .size_bytes = p->size, .mtime_us = p->mtime_us};
        wr_arr_push(&now.list, (file_entry){wr_strdup(p->path), info});
        free_part(s, p);
    }
    s->parts.n = 0;
    s->turn = s->n_open = 0;
    uint32_t  n = wr_get_u32(in);
    wr_status status = WR_OK;
    for (uint32_t i = 0; i < n && status == WR_OK; i++) status = load_part(s, &now, in, err);
    for (uint32_t i = 0; i < now.list.n; i++)
        if (now.list.at[i].path && status == WR_OK) add_part(s, now.list.at[i].path, &now.list.at[i].info);
    file_list_free(&now);
    return status;
}

/* Up to saved positions: the files of that time, each to where it was read; their order of reading does not matter. */
static wr_status source_until(wr_source *base, wr_reader *in, wr_err *err) {
    file_source *s = (file_source *)base;
    if (wr_get_u8(in) != SAVE_VERSION) return wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are of another version", WR_FMT(s->table));
    s->limited = true;
    for (uint32_t i = 0; i < s->parts.n; i++) s->parts.at[i]->limit = 0;
    uint32_t n = wr_get_u32(in);
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        wr_str       path = wr_get_bytes(in);
        wr_file_info info = {.inode = wr_get_u64(in)};
        info.device = wr_get_u64(in);
        uint64_t offset = wr_get_u64(in);
        bool done = wr_get_u8(in);
        (void)wr_get_u8(in); /* gone */
        for (uint32_t k = wr_get_u32(in); k > 0 && !in->bad; k--) (void)wr_get_i64(in), (void)wr_get_i64(in);
        file_part *p = part_of(s, &info);
        for (uint32_t k = 0; !p && k < s->parts.n; k++)
            if (wr_str_eq(path, wr_str_of(s->parts.at[k]->path))) p = s->parts.at[k];
        if (in->bad || !offset) continue;
        if (!p || (p->size < offset && !is_packed(p->path))) {
            wr_status status = wr_fail(err, WR_DATA, "58P01", "'%.*s' was read to byte %llu, and %s", WR_FMT(path), (unsigned long long)offset,
                                       p ? "is shorter now" : "is not there any more");
            wr_err_hint(err, "the table '%.*s' cannot be read again from its start", WR_FMT(s->table));
            return status;
        }
        p->limit = offset;
        p->limit_done = done;
    }
    return in->bad ? wr_fail(err, WR_CORRUPT, "XX001", "the saved positions of the table '%.*s' are damaged", WR_FMT(s->table)) : WR_OK;
}
static bool source_at_limit(wr_source *base) {
    file_source *s = (file_source *)base;
    for (uint32_t i = 0; i < s->parts.n; i++)
        if (s->parts.at[i]->offset < s->parts.at[i]->limit || (s->parts.at[i]->limit_done && !s->parts.at[i]->done)) return false;
    return s->limited;
}

/* ---- reports ---- */

static uint32_t source_partitions(wr_source *base) { return ((file_source *)base)->parts.n; }
static bool     source_bounded(wr_source *base) { return !((file_source *)base)->tail; }
static bool     source_partition_done(wr_source *base, uint32_t i) { return i < ((file_source *)base)->parts.n && ((file_source *)base)->parts.at[i]->done; }
static void     source_partition_name(wr_source *base, uint32_t i, wr_sbuf *out) {
    file_source *s = (file_source *)base;
    if (i < s->parts.n) wr_sbuf_addz(out, s->parts.at[i]->path);
}

static void source_progress(wr_source *base, uint64_t *done, uint64_t *total) {
    file_source *s = (file_source *)base;
    *done = *total = 0;
    for (uint32_t i = 0; i < s->parts.n; i++) {
        const file_part *p = s->parts.at[i];
        *total += p->size;
        *done += p->done ? p->size : p->reader && file_reader_compressed(p->reader) ? WR_MIN(file_reader_raw_offset(p->reader), p->size) : WR_MIN(p->offset, p->size);
    }
}

static void source_describe(wr_source *base, wr_sbuf *out) {
    file_source *s = (file_source *)base;
    uint64_t     bytes = 0;
    bool         started = false;
    for (uint32_t i = 0; i < s->parts.n; i++) bytes += s->parts.at[i]->size, started |= s->parts.at[i]->offset || s->parts.at[i]->done;
    wr_sbuf_printf(out, "%u file%s, ", s->parts.n, s->parts.n == 1 ? "" : "s");
    wr_text_size((int64_t)bytes, out);
    wr_sbuf_printf(out, ", %s, %s", s->tail ? "tail" : "bounded", started ? "from the saved positions" : "from the start");
}

static void source_close(wr_source *base) {
    file_source *s = (file_source *)base;
    wr_notify_close(s->notify);
    for (uint32_t i = 0; i < s->parts.n; i++) free_part(s, s->parts.at[i]);
    wr_arr_free(&s->parts);
    for (uint32_t i = 0; s->decoders && i < s->n_workers; i++)
        if (s->decoders[i]) s->decoders[i]->free(s->decoders[i]);
    wr_free(s->decoders);
    wr_free(s);
}

/* Lines of JSON: each is a record unless it is blank. Other formats, and records with a frame around them, have to be decoded. */
static bool source_glance(wr_source *base, const wr_chunk *chunk, wr_decoded *out, int64_t *came_us) {
    file_source      *s = (file_source *)base;
    const chunk_note *note = (const chunk_note *)(uintptr_t)chunk->rows_from;
    *came_us = WR_TIME_MIN;
    if (strcmp(s->format->name, "json") || s->envelope || !note || note->too_long || !chunk->data) return false;
    for (const uint8_t *at = chunk->data, *end = at + chunk->len; at < end;) {
        const uint8_t *nl = memchr(at, '\n', (size_t)(end - at)), *to = nl ? nl : end;
        while (at < to && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
        if (at < to) out->n_records++;
        else out->n_blank++;
        out->n_lines++;
        at = to + 1;
    }
    return true;
}

static const wr_source_vt source_vt = {
    .name = "filesystem", .next = source_next, .read = source_read, .decode = source_decode, .partitions = source_partitions, .partition_name = source_partition_name,
    .partition_done = source_partition_done, .save = source_save, .load = source_load, .until = source_until, .at_limit = source_at_limit, .describe = source_describe, .progress = source_progress,
    .bounded = source_bounded, .close = source_close, .again = source_again, .glance = source_glance};

/* ---- making one ---- */


bool file_is_tail(const wr_table_info *t) {
    wr_str mode = wr_option_string(&t->options, wr_connector_filesystem.specs, "source.mode");
    if (mode.len) return wr_str_ieq(mode, WR_STR("tail"));
    return wr_options_find(&t->options, "source.monitor-interval") != NULL; /* as in Flink */
}

static bool check_metadata(const wr_table_info *t, wr_connect_ctx *ctx) {
    for (uint32_t c = t->n_physical; c < t->schema->n; c++) {
        wr_str  key = t->metadata_keys[c - t->n_physical];
        wr_type type = t->schema->fields[c].type;
        if (wr_format_is_metadata(key)) continue; /* the format's */
        bool    size = wr_str_eq(key, WR_STR("file.size")), time = wr_str_eq(key, WR_STR("file.modification-time"));
        bool    text = wr_str_eq(key, WR_STR("file.path")) || wr_str_eq(key, WR_STR("file.name"));
        if ((size && type.id == WR_T_BIGINT) || (time && type.id == WR_T_TIMESTAMP_LTZ) || (text && wr_type_is_string(type))) continue;
        if (size || time || text)
            wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR126", t->at, "the metadata column '%.*s' must be of type %s", WR_FMT(key), size ? "BIGINT" : time ? "TIMESTAMP_LTZ(3)" : "STRING");
        else wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR126", t->at, "'filesystem' has no metadata '%.*s'; there are file.path, file.name, file.size, file.modification-time", WR_FMT(key));
        return false;
    }
    return true;
}

static bool is_envelope(const wr_table_info *t, const wr_format *format, wr_str path) {
    wr_str mode = wr_option_string(&t->options, wr_connector_filesystem.specs, "envelope");
    if (wr_str_eq(wr_str_of(format->name), WR_STR("upsert-json"))) return true;
    if (format->changes == WR_FORMAT_APPEND && !wr_str_eq(wr_str_of(format->name), WR_STR("json"))) return false;
    if (wr_str_ieq(mode, WR_STR("auto"))) return memmem(path.ptr, path.len, ".kafka.jsonl", 12) != NULL;
    return wr_str_ieq(mode, WR_STR("kafka"));
}

wr_status file_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    const wr_option_spec *specs = wr_connector_filesystem.specs;
    *out = NULL;
    const wr_format *format = table_format(t, ctx);
    if (!format || !check_metadata(t, ctx)) return WR_USER;
    file_source *s = wr_calloc(1, sizeof *s);
    *s = (file_source){.base = {&source_vt}, .world = ctx->world, .acct = ctx->acct, .paths = option_text(t, specs, "path"), .table = t->name, .format = format,
                       .options = t->options, .n_physical = t->n_physical, .n_cols = t->schema->n, .n_workers = WR_MAX(ctx->n_workers, 1u), .schema = t->schema,
                       .metadata_keys = t->metadata_keys, .needed = t->needed, .physical = {t->n_physical, t->schema->fields},
                       .chunk_bytes = ctx->chunk_bytes ? ctx->chunk_bytes : CHUNK_BYTES};
    s->tail = (file_is_tail(t) || ctx->tail_override) && !ctx->bounded_override;
    s->envelope = is_envelope(t, format, s->paths);
    s->decoders = wr_calloc(s->n_workers, sizeof *s->decoders);
    wr_status status = WR_OK;
    if (!wr_option_duration(&t->options, specs, "source.monitor-interval", &s->poll_us, ctx->diags) ||
        !wr_option_size(&t->options, wr_source_specs, "max-record-bytes", &s->max_record_bytes, ctx->diags))
        status = WR_USER;
    s->max_record_bytes = WR_MIN(WR_MAX(s->max_record_bytes, 1), INT64_C(1) << 30);
    bool *key = wr_arena_calloc(ctx->arena, t->schema->n + 1);
    for (uint32_t i = 0; i < t->n_key; i++) key[t->key[i]] = true;
    wr_schema *physical = wr_new(ctx->arena, wr_schema); /* outlives the decoders, which borrow it */
    *physical = s->physical;
    wr_decoder_opts opts = {.schema = physical, .needed = wr_format_needed(t->schema, t->n_physical, t->metadata_keys, t->needed, ctx->arena), .key = key, .options = t->options, .tz = ctx->tz, .world = ctx->world, .batch_rows = ctx->batch_rows,
                            .max_record_bytes = s->max_record_bytes, .files = true, .envelope = s->envelope};
    if (!wr_format_metadata_pick(format, t->schema, t->n_physical, t->metadata_keys, t->at, ctx->arena, &opts.metadata, &opts.metadata_keys, ctx->diags)) status = WR_USER;
    for (uint32_t i = 0; i < s->n_workers && status == WR_OK; i++) status = format->decoder_new(&opts, &s->decoders[i], ctx->diags);
    if (status == WR_UNSUPPORTED) status = WR_USER;
    if (s->tail && ctx->wake) {
        s->wake = ctx->wake, s->wake_arg = ctx->wake_arg;
        s->notify = wr_notify_new(on_change, s);
        notify_paths(s);
    }
    file_list found = {0};
    if (status == WR_OK) {
        status = file_list_find(s->world, s->paths, !s->tail, &found, err);
        if (status != WR_OK) point_at_path(t, err);
    }
    for (uint32_t i = 0; status == WR_OK && i < found.list.n; i++) add_part(s, found.list.at[i].path, &found.list.at[i].info);
    file_list_free(&found);
    s->last_look_us = wr_mono_us(s->world);
    if (status != WR_OK) {
        source_close(&s->base);
        return status;
    }
    *out = &s->base;
    return WR_OK;
}

