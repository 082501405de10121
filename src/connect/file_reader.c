/* connect/file_reader.c: one file as a run of bytes, decompressed by the way if its first bytes say gzip or zstd.
 *
 * Idea       plain files are read where they are (pread); compressed ones are a stream: a window of raw bytes, the library's state, and the
 *            position reached. A position behind us (after a restart) is reached by reading from the start and throwing away.
 * Bounds     raw window 64 KiB; gzip 44 KiB; zstd refuses windows above 128 MiB. All charged to the account.
 * Shared     the handle of a plain file may be in several hands; the last one closes it.
 * Thread     the caller's (a source's next); a file_share: any.                                                        */
#include "connect/parts.h"
#include <stdatomic.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW_BYTES = 64 * 1024, SKIP_BYTES = 64 * 1024 };
typedef enum coding { CODE_UNKNOWN, CODE_PLAIN, CODE_GZIP, CODE_ZSTD } coding;

struct file_share {
    wr_world        *world;
    wr_file         *file;
    _Atomic uint32_t hands;
};

struct file_reader {
    wr_world   *world;
    wr_account *acct;
    char       *path;
    file_share *share;    /* NULL: it is closed */
    coding      code;
    uint64_t    raw_at;   /* in the file, of the end of the window */
    uint64_t    text_at;  /* uncompressed bytes given out */
    uint8_t    *raw;      /* window */
    size_t      raw_from, raw_to;
    bool        raw_end;  /* of the file */
    bool        between;  /* a gzip member or zstd frame has just ended: the file may end here */
    z_stream    gzip;
    ZSTD_DStream *zstd;
    int64_t     charged;
};

static void charge(file_reader *r) {
    int64_t now = (r->raw ? RAW_BYTES : 0) + (r->code == CODE_GZIP ? 44 * 1024 : 0) + (r->zstd ? (int64_t)ZSTD_sizeof_DStream(r->zstd) : 0);
    if (r->acct && now != r->charged) wr_account_add(r->acct, now - r->charged);
    r->charged = now;
}

file_reader *file_reader_new(wr_world *w, wr_account *acct, const char *path, wr_file *file) {
    file_reader *r = wr_calloc(1, sizeof *r);
    r->world = w;
    r->acct = acct;
    r->path = wr_strdup(path);
    file_reader_resume(r, file);
    return r;
}

static void stop_coding(file_reader *r) {
    if (r->code == CODE_GZIP) inflateEnd(&r->gzip);
    if (r->zstd) ZSTD_freeDStream(r->zstd);
    r->zstd = NULL;
    r->code = CODE_UNKNOWN;
    wr_free(r->raw);
    r->raw = NULL;
    charge(r);
}

void file_reader_free(file_reader *r) {
    if (!r) return;
    stop_coding(r);
    file_share_drop(r->share);
    wr_free(r->path);
    wr_free(r);
}

bool file_reader_is_open(const file_reader *r) { return r->share != NULL; }
void file_reader_park(file_reader *r) {
    file_share_drop(r->share);
    r->share = NULL;
}
void file_reader_resume(file_reader *r, wr_file *file) {
    r->share = wr_calloc(1, sizeof *r->share);
    *r->share = (file_share){.world = r->world, .file = file, .hands = 1};
}

file_share *file_reader_share(file_reader *r) {
    if (!r->share || r->code != CODE_PLAIN) return NULL;
    atomic_fetch_add_explicit(&r->share->hands, 1, memory_order_relaxed);
    return r->share;
}
wr_status file_share_read(file_share *f, uint64_t offset, void *buf, size_t len, size_t *got, wr_err *err) { return f->world->vt->file_pread(f->world, f->file, buf, len, offset, got, err); }
void      file_share_drop(file_share *f) {
    if (!f || atomic_fetch_sub_explicit(&f->hands, 1, memory_order_acq_rel) != 1) return;
    f->world->vt->file_close(f->world, f->file);
    wr_free(f);
}

bool     file_reader_compressed(const file_reader *r) { return r->code == CODE_GZIP || r->code == CODE_ZSTD; }
uint64_t file_reader_raw_offset(const file_reader *r) { return r->raw_at - (r->raw_to - r->raw_from); }

/* Looks at the magic bytes; a file that is still empty stays unknown. */
static wr_status start_coding(file_reader *r, wr_err *err) {
    uint8_t magic[4];
    size_t  got;
    WR_TRY(file_share_read(r->share, 0, magic, sizeof magic, &got, err));
    if (!got) return WR_OK;
    bool gzip = got >= 3 && magic[0] == 0x1F && magic[1] == 0x8B && magic[2] == 8;
    bool zstd = got == 4 && magic[0] == 0x28 && magic[1] == 0xB5 && magic[2] == 0x2F && magic[3] == 0xFD;
    if (!gzip && !zstd) {
        r->code = CODE_PLAIN;
        return WR_OK;
    }
    r->raw = wr_malloc(RAW_BYTES);
    r->raw_from = r->raw_to = 0;
    r->raw_at = r->text_at = 0;
    r->raw_end = r->between = false;
    if (gzip) {
        memset(&r->gzip, 0, sizeof r->gzip);
        wr_assert(inflateInit2(&r->gzip, 15 + 16) == Z_OK);
        r->code = CODE_GZIP;
    } else {
        r->zstd = ZSTD_createDStream();
        wr_assert(r->zstd);
        ZSTD_initDStream(r->zstd);
        r->code = CODE_ZSTD;
    }
    charge(r);
    return WR_OK;
}

WR_COLD static wr_status fail_code(file_reader *r, const char *what, wr_err *err) {
    wr_status status = wr_fail(err, WR_DATA, "22000", "'%s' is not a valid %s file: %s", r->path, r->code == CODE_GZIP ? "gzip" : "zstd", what);
    wr_err_place(err, "%s (byte %llu of the compressed file)", r->path, (unsigned long long)file_reader_raw_offset(r));
    return status;
}

static wr_status fill_window(file_reader *r, wr_err *err) {
    if (r->raw_from < r->raw_to || r->raw_end) return WR_OK;
    size_t got;
    WR_TRY(file_share_read(r->share, r->raw_at, r->raw, RAW_BYTES, &got, err));
    r->raw_from = 0;
    r->raw_to = got;
    r->raw_at += got;
    r->raw_end = got < RAW_BYTES;
    return WR_OK;
}

static wr_status step_gzip(file_reader *r, uint8_t *to, size_t len, size_t *made, wr_err *err) {
    if (r->between) {
        inflateReset(&r->gzip);
        r->between = false;
    }
    r->gzip.next_in = r->raw + r->raw_from;
    r->gzip.avail_in = (uInt)(r->raw_to - r->raw_from);
    r->gzip.next_out = to;
    r->gzip.avail_out = (uInt)WR_MIN(len, 1u << 30);
    uInt had = r->gzip.avail_out;
    int  code = inflate(&r->gzip, Z_NO_FLUSH);
    r->raw_from = r->raw_to - r->gzip.avail_in;
    *made = had - r->gzip.avail_out;
    if (code == Z_STREAM_END) r->between = true;
    else if (code != Z_OK && code != Z_BUF_ERROR) return fail_code(r, r->gzip.msg ? r->gzip.msg : "damaged", err);
    return WR_OK;
}

static wr_status step_zstd(file_reader *r, uint8_t *to, size_t len, size_t *made, wr_err *err) {
    ZSTD_inBuffer  in = {r->raw + r->raw_from, r->raw_to - r->raw_from, 0};
    ZSTD_outBuffer out = {to, len, 0};
    size_t         left = ZSTD_decompressStream(r->zstd, &out, &in);
    r->raw_from += in.pos;
    *made = out.pos;
    if (ZSTD_isError(left)) return fail_code(r, ZSTD_getErrorName(left), err);
    r->between = left == 0;
    charge(r);
    return WR_OK;
}

static wr_status read_stream(file_reader *r, uint8_t *to, size_t len, size_t *got, wr_err *err) {
    *got = 0;
    while (*got < len) {
        WR_TRY(fill_window(r, err));
        if (r->raw_from == r->raw_to && r->raw_end && r->between) break;
        size_t made, before = r->raw_from;
        WR_TRY(r->code == CODE_GZIP ? step_gzip(r, to + *got, len - *got, &made, err) : step_zstd(r, to + *got, len - *got, &made, err));
        *got += made;
        if (!made && r->raw_from == before && r->raw_from == r->raw_to && r->raw_end && !r->between) return fail_code(r, "it ends too early", err);
    }
    r->text_at += *got;
    return WR_OK;
}

wr_status file_reader_read(file_reader *r, uint64_t offset, void *buf, size_t len, size_t *got, wr_err *err) {
    *got = 0;
    if (r->code == CODE_UNKNOWN) WR_TRY(start_coding(r, err));
    if (!file_reader_compressed(r)) {
        WR_TRY(file_share_read(r->share, offset, buf, len, got, err));
        r->raw_at = offset + *got;
        return WR_OK;
    }
    if (offset < r->text_at) {
        stop_coding(r);
        WR_TRY(start_coding(r, err));
    }
    if (offset > r->text_at) {
        uint8_t *waste = wr_malloc(SKIP_BYTES);
        while (offset > r->text_at) {
            size_t    made;
            wr_status status = read_stream(r, waste, WR_MIN(offset - r->text_at, (uint64_t)SKIP_BYTES), &made, err);
            if (status != WR_OK || !made) {
                wr_free(waste);
                return status;
            }
        }
        wr_free(waste);
    }
    return read_stream(r, buf, len, got, err);
}
