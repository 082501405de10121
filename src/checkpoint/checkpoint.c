/* checkpoint/checkpoint.c: the manifest: sections streamed out with their checksums, read back and verified. See checkpoint.h.
 *
 * Memory     writing: the sections that were handed over and one buffer; reading: the manifest once, and a buffer for the files. */
#include "checkpoint/internal.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdio.h>

enum { BUFFER = 256 * 1024, HEAD_BYTES = 20, FOOT_BYTES = 8 + 4 + 8 };
static const char HEAD[8] = {'W', 'E', 'I', 'R', 'C', 'K', 'P', '1'}, TAIL[8] = {'W', 'E', 'I', 'R', 'E', 'N', 'D', '1'};

/* ---- writing ---- */
void wr_checkpoint_begin(wr_checkpoint_writer *w, uint64_t epoch) {
    memset(w, 0, sizeof *w);
    w->epoch = epoch;
}

void wr_checkpoint_put(wr_checkpoint_writer *w, wr_section_kind kind, wr_str owner, uint32_t instance, wr_sbuf *content) {
    char *name = wr_malloc(owner.len + 1);
    memcpy(name, owner.ptr, owner.len);
    name[owner.len] = 0;
    wr_arr_push(&w->parts, (wr_checkpoint_part){kind, name, instance, *content});
    memset(content, 0, sizeof *content);
}

void wr_checkpoint_abandon(wr_checkpoint_writer *w) {
    for (uint32_t i = 0; i < w->parts.n; i++) {
        wr_free(w->parts.at[i].owner);
        wr_sbuf_free(&w->parts.at[i].content);
    }
    wr_arr_free(&w->parts);
    wr_arr_free(&w->files);
}

typedef struct stream {
    wr_world  *world;
    wr_file   *file;
    wr_sbuf    buf;
    wr_hasher *all, *section;
    uint64_t   bytes;
    wr_status  status; /* the first error; later calls do nothing */
    wr_err    *err;
} stream;

static void flush(stream *s) {
    if (s->status == WR_OK && s->buf.len) s->status = s->world->vt->file_write(s->world, s->file, s->buf.at, s->buf.len, s->err);
    wr_sbuf_clear(&s->buf);
}

static void emit(stream *s, const void *bytes, size_t len) {
    wr_hasher_add(s->all, bytes, len);
    wr_hasher_add(s->section, bytes, len);
    s->bytes += len;
    if (s->status == WR_OK && len >= BUFFER) {
        flush(s);
        if (s->status == WR_OK) s->status = s->world->vt->file_write(s->world, s->file, bytes, len, s->err);
        return;
    }
    wr_sbuf_add(&s->buf, bytes, len);
    if (s->buf.len >= BUFFER) flush(s);
}

static void emit_sum(stream *s, const wr_hasher *of) {
    wr_sbuf sum = {0};
    wr_put_u64(&sum, wr_hasher_sum(of));
    emit(s, sum.at, sum.len);
    wr_sbuf_free(&sum);
}

static void emit_section(stream *s, wr_section_kind kind, const char *owner, uint32_t instance, wr_str content) {
    wr_sbuf head = {0};
    wr_put_u32(&head, (uint32_t)kind);
    wr_put_bytes(&head, owner, strlen(owner));
    wr_put_u32(&head, instance);
    wr_put_u64(&head, content.len);
    wr_hasher_reset(s->section);
    emit(s, head.at, head.len);
    emit(s, content.ptr, content.len);
    emit_sum(s, s->section);
    wr_sbuf_free(&head);
}

static void emit_all(stream *s, const wr_checkpoint_writer *w) {
    wr_sbuf text = {0};
    wr_sbuf_add(&text, HEAD, sizeof HEAD);
    wr_put_u32(&text, WR_CHECKPOINT_VERSION);
    wr_put_u64(&text, w->epoch);
    emit(s, text.at, text.len);
    for (uint32_t i = 0; i < w->parts.n; i++) {
        const wr_checkpoint_part *p = &w->parts.at[i];
        emit_section(s, p->kind, p->owner, p->instance, wr_sbuf_str(&p->content));
    }
    wr_sbuf_clear(&text);
    wr_put_u32(&text, w->files.n);
    for (uint32_t i = 0; i < w->files.n; i++) {
        const wr_checkpoint_file *f = &w->files.at[i];
        wr_put_bytes(&text, f->name, strlen(f->name));
        wr_put_bytes(&text, f->stored, strlen(f->stored));
        wr_put_u64(&text, f->bytes), wr_put_u64(&text, f->sum);
    }
    emit_section(s, WR_SECTION_FILES, "tier", 0, wr_sbuf_str(&text));
    wr_sbuf_clear(&text);
    wr_sbuf_add(&text, TAIL, sizeof TAIL);
    wr_put_u32(&text, w->parts.n + 1);
    emit(s, text.at, text.len);
    emit_sum(s, s->all);
    wr_sbuf_free(&text);
    flush(s);
}

wr_status manifest_write(const wr_checkpoint_writer *w, wr_world *world, const char *path, uint64_t *bytes, wr_err *err) {
    char   temp[600];
    stream s = {.world = world, .err = err};
    snprintf(temp, sizeof temp, "%s.tmp", path);
    WR_TRY(world->vt->file_open(world, temp, WR_OPEN_WRITE | WR_OPEN_CREATE | WR_OPEN_TRUNCATE, &s.file, err));
    s.all = wr_hasher_new(), s.section = wr_hasher_new();
    emit_all(&s, w);
    if (s.status == WR_OK) s.status = world->vt->file_sync(world, s.file, err);
    world->vt->file_close(world, s.file);
    if (s.status == WR_OK) s.status = world->vt->rename(world, temp, path, err);
    *bytes = s.bytes;
    wr_hasher_free(s.all), wr_hasher_free(s.section);
    wr_sbuf_free(&s.buf);
    return s.status;
}

/* ---- reading ---- */
static wr_status damaged(wr_checkpoint *ck, const char *why, wr_err *err) {
    return wr_fail(err, WR_CORRUPT, "WR301", "checkpoint %s is damaged: %s", ck->path, why);
}

static bool copy_name(char *out, size_t cap, wr_str name) { /* names of files only: nothing that leaves its directory */
    if (!name.len || name.len >= cap || name.ptr[0] == '.' || memchr(name.ptr, '/', name.len) || memchr(name.ptr, 0, name.len)) return false;
    memcpy(out, name.ptr, name.len);
    out[name.len] = 0;
    return true;
}

static wr_status parse_files(wr_checkpoint *ck, wr_str content, wr_err *err) {
    wr_reader r = {.at = (const uint8_t *)content.ptr, .end = (const uint8_t *)content.ptr + content.len};
    uint32_t  n = wr_get_u32(&r);
    for (uint32_t i = 0; i < n && !r.bad; i++) {
        wr_checkpoint_file f = {0};
        bool named = copy_name(f.name, sizeof f.name, wr_get_bytes(&r));
        named = copy_name(f.stored, sizeof f.stored, wr_get_bytes(&r)) && named;
        f.bytes = wr_get_u64(&r), f.sum = wr_get_u64(&r);
        if (r.bad || !named) return damaged(ck, "its list of files makes no sense", err);
        wr_arr_push(&ck->files, f);
    }
    return r.bad || r.at != r.end ? damaged(ck, "its list of files makes no sense", err) : WR_OK;
}

static wr_status parse_sections(wr_checkpoint *ck, const uint8_t *end, uint32_t n, wr_err *err) {
    wr_reader r = {.at = (const uint8_t *)ck->file.at + HEAD_BYTES, .end = end};
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *from = r.at;
        wr_section     s = {.kind = (wr_section_kind)wr_get_u32(&r)};
        s.owner = wr_get_bytes(&r);
        s.instance = wr_get_u32(&r);
        uint64_t len = wr_get_u64(&r);
        if (r.bad || (uint64_t)(r.end - r.at) < len) return damaged(ck, "a section is cut short", err);
        s.content = (wr_str){(const char *)r.at, len};
        r.at += len;
        uint64_t sum = wr_hash_bytes(from, (size_t)(r.at - from));
        if (wr_get_u64(&r) != sum || r.bad) return damaged(ck, "a section's checksum does not match", err);
        wr_arr_push(&ck->sections, s);
        if (s.kind == WR_SECTION_FILES) WR_TRY(parse_files(ck, s.content, err));
        char name[64];
        if (s.kind == WR_SECTION_FILE && !copy_name(name, sizeof name, s.owner)) return damaged(ck, "its list of files makes no sense", err);
    }
    return r.at == r.end ? WR_OK : damaged(ck, "bytes are left over", err);
}

static wr_status parse(wr_checkpoint *ck, wr_err *err) {
    if (ck->file.len < HEAD_BYTES + FOOT_BYTES || memcmp(ck->file.at, HEAD, sizeof HEAD) != 0) return damaged(ck, "it is not a checkpoint file", err);
    wr_reader r = {.at = (const uint8_t *)ck->file.at + 8, .end = (const uint8_t *)ck->file.at + ck->file.len};
    ck->version = wr_get_u32(&r);
    if (ck->version < 1 || ck->version > WR_CHECKPOINT_VERSION)
        return wr_fail(err, WR_CORRUPT, "WR302", "checkpoint %s has format version %u; this weir reads versions 1 to %d", ck->path, ck->version,
                       WR_CHECKPOINT_VERSION);
    if (wr_get_u64(&r) != ck->epoch) return damaged(ck, "its name and its content disagree", err);
    const uint8_t *foot = (const uint8_t *)ck->file.at + ck->file.len - FOOT_BYTES;
    wr_reader      f = {.at = foot + 8, .end = foot + FOOT_BYTES};
    uint32_t       n = wr_get_u32(&f);
    if (memcmp(foot, TAIL, sizeof TAIL) != 0) return damaged(ck, "its end is missing", err);
    if (wr_get_u64(&f) != wr_hash_bytes(ck->file.at, ck->file.len - 8)) return damaged(ck, "its checksum does not match", err);
    return parse_sections(ck, foot, n, err);
}

wr_status wr_checkpoint_read(wr_world *world, const char *dir, uint64_t epoch, wr_checkpoint *ck, wr_err *err) {
    memset(ck, 0, sizeof *ck);
    ck->epoch = epoch;
    manifest_path(ck->path, sizeof ck->path, dir, epoch);
    wr_status status = wr_file_read_all(world, ck->path, (size_t)1 << 40, &ck->file, err);
    if (status == WR_OK) status = parse(ck, err);
    if (status != WR_OK) wr_checkpoint_close(ck);
    return status;
}

wr_status wr_checkpoint_check_file(wr_world *world, const char *dir, const wr_checkpoint_file *file, wr_err *err) {
    char         path[512];
    wr_file_info info;
    bool         exists = false;
    stored_path(path, sizeof path, dir, file->stored);
    WR_TRY(world->vt->stat(world, path, &info, &exists, err));
    if (!exists) return wr_fail(err, WR_CORRUPT, "WR301", "checkpoint file %s is missing", path);
    if (info.size_bytes != file->bytes)
        return wr_fail(err, WR_CORRUPT, "WR301", "checkpoint file %s is damaged: it has %" PRIu64 " bytes instead of %" PRIu64, path, info.size_bytes, file->bytes);
    wr_file *f;
    WR_TRY(world->vt->file_open(world, path, WR_OPEN_READ, &f, err));
    wr_hasher *hasher = wr_hasher_new();
    char      *buf = wr_malloc(BUFFER);
    wr_status  status = WR_OK;
    size_t     got = BUFFER;
    for (uint64_t at = 0; status == WR_OK && got == BUFFER; at += got) {
        status = world->vt->file_pread(world, f, buf, BUFFER, at, &got, err);
        if (status == WR_OK) wr_hasher_add(hasher, buf, got);
    }
    if (status == WR_OK && wr_hasher_sum(hasher) != file->sum)
        status = wr_fail(err, WR_CORRUPT, "WR301", "checkpoint file %s is damaged: its checksum does not match", path);
    wr_free(buf);
    wr_hasher_free(hasher);
    world->vt->file_close(world, f);
    return status;
}

void wr_checkpoint_close(wr_checkpoint *ck) {
    wr_sbuf_free(&ck->file);
    wr_arr_free(&ck->sections);
    wr_arr_free(&ck->files);
}

void wr_checkpoint_in_flight(const wr_checkpoint *ck, uint64_t *rows, uint64_t *bytes) {
    *rows = *bytes = 0;
    for (uint32_t i = 0; i < ck->sections.n; i++) {
        const wr_section *s = &ck->sections.at[i];
        if (s->kind != WR_SECTION_CHANNELS) continue;
        wr_reader in = {(const uint8_t *)s->content.ptr, (const uint8_t *)s->content.ptr + s->content.len, false};
        *rows += wr_get_u64(&in);
        *bytes += s->content.len;
    }
}

wr_status wr_checkpoint_check_settled(const wr_checkpoint *ck, const char *what, wr_err *err) {
    uint64_t rows, bytes;
    wr_checkpoint_in_flight(ck, &rows, &bytes);
    if (!bytes) return WR_OK;
    wr_fail(err, WR_USER, "WR311", "checkpoint %s is unaligned: it holds %" PRIu64 " rows on their way between operators, which %s would lose", ck->path, rows, what);
    wr_err_hint(err, "run the job as it is for a moment and stop it with Ctrl-C or SIGTERM: its last checkpoint holds no such rows");
    return WR_USER;
}

const wr_section *wr_checkpoint_find(const wr_checkpoint *ck, wr_section_kind kind, wr_str owner) {
    for (uint32_t i = 0; i < ck->sections.n; i++)
        if (ck->sections.at[i].kind == kind && wr_str_eq(ck->sections.at[i].owner, owner)) return &ck->sections.at[i];
    return NULL;
}
