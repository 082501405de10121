/* type/batch.h: columnar batches: up to WR_BATCH_MAX rows, Arrow-like memory, a selection vector, changelog kinds. (contract)
 *
 * Idea       a batch and all it owns live in one wr_mem: a reference-counted bump allocator. A derived batch (a projection, a
 *            split by key group) makes a new wr_mem that keeps its parent's alive, so columns are shared, never copied.
 *            Once a batch has been passed on it is frozen: nobody writes to it again, so it may cross threads.
 * Layout     validity: bit i of word i/64, 1 = value present, NULL pointer = no NULLs. Values of NULL rows are unspecified but
 *            readable. BOOLEAN one byte a row. Strings 16-byte views: 12 bytes inline, else a pointer into memory that `mem` keeps.
 * Rows       physical rows 0..n_rows-1; live rows are sel[0..n_sel-1] in ascending order when sel != NULL, else all. `kinds`,
 *            `row_wm_us` and `hash` are indexed by physical row.
 * Late rows  row_wm_us[i] is the watermark of the row's own source partition just before the row if the row is at or behind it,
 *            else WR_TIME_MIN. NULL = no row of the batch is late. Lateness is thus a property of the row, fixed at the source:
 *            it depends on neither batch size, nor the number of workers, nor timing.
 * Thread     a batch is written by one worker, then frozen. Reference counts are atomic.                               */
#pragma once
#include "type/type.h"
#include <stdatomic.h>

enum { WR_BATCH_MAX = 2048 };
#define WR_TIME_MIN INT64_MIN /* "no watermark yet" */
#define WR_TIME_MAX INT64_MAX /* "end of input" */

struct wr_batch;
struct wr_tz;
typedef enum wr_kind { WR_KIND_INSERT, WR_KIND_UPDATE_BEFORE, WR_KIND_UPDATE_AFTER, WR_KIND_DELETE } wr_kind; /* +I -U +U -D */
/* Metadata of a source that no table declares: a BIGINT, a set bit for each physical column (of the first 63) that an update did not touch and whose value is
 * not known; NULL: the row is whole. Planned where a connector has partial_updates; the normalization behind the source fills the row and takes it out. */
#define WR_UNCHANGED_KEY "unchanged"
WR_INLINE bool wr_kind_adds(uint8_t kind) { return kind == WR_KIND_INSERT || kind == WR_KIND_UPDATE_AFTER; }
const char *wr_kind_text(wr_kind kind);

/* ---- memory ---- */
typedef struct wr_mem wr_mem;
wr_mem *wr_mem_new(size_t hint_bytes);         /* reference count 1 */
wr_mem *wr_mem_ref(wr_mem *mem);
void    wr_mem_unref(wr_mem *mem);             /* any thread; NULL is legal */
void   *wr_mem_alloc(wr_mem *mem, size_t size);         /* 64-byte aligned when size >= 64, else 16; not zeroed; owner only, before freezing */
void   *wr_mem_calloc(wr_mem *mem, size_t size);
void    wr_mem_keep(wr_mem *mem, wr_mem *other);        /* other lives as long as mem (takes a reference); duplicates are cheap */
void    wr_mem_pool_trim(size_t most_bytes);            /* freed chunks kept for the next batch: never more than this from now on; empties the pool */

/* ---- string views ---- */
typedef struct wr_sview {
    uint32_t len;
    char     prefix[4];  /* the first four bytes, always */
    union {
        char        rest[8]; /* len <= 12: bytes 4..11; the unused tail of prefix and rest is zero */
        const char *ptr;     /* len > 12: all bytes */
    };
} wr_sview;
_Static_assert(sizeof(wr_sview) == 16, "string view is 16 bytes");
WR_INLINE const char *wr_sview_ptr(const wr_sview *v) { return v->len <= 12 ? (const char *)v + 4 : v->ptr; }
WR_INLINE wr_str wr_sview_str(const wr_sview *v) { return (wr_str){wr_sview_ptr(v), v->len}; }
WR_INLINE wr_sview wr_sview_borrow(const char *ptr, size_t len) { /* ptr must outlive the batch, kept by its mem */
    wr_sview v = {.len = (uint32_t)len};
    if (len <= 12) {
        if (len) memcpy((char *)&v + 4, ptr, len);
    } else {
        memcpy(v.prefix, ptr, 4);
        v.ptr = ptr;
    }
    return v;
}
wr_sview wr_sview_copy(wr_mem *mem, const char *ptr, size_t len);
WR_INLINE bool wr_sview_eq(const wr_sview *a, const wr_sview *b) {
    uint64_t x, y;
    memcpy(&x, a, 8), memcpy(&y, b, 8);
    if (x != y) return false; /* length and first four bytes */
    if (a->len <= 12) return memcmp((const char *)a + 8, (const char *)b + 8, 8) == 0;
    return memcmp(a->ptr, b->ptr, a->len) == 0;
}

/* ---- columns ---- */
typedef struct wr_list { uint32_t offset, len; } wr_list; /* a row of ARRAY/MULTISET/MAP: a range of the children's rows */
typedef struct wr_vec {
    wr_type        type;
    uint64_t      *valid; /* NULL = no NULLs */
    void          *data;  /* by wr_type_storage(type) */
    struct wr_vec *kids;  /* ARRAY: 1, MAP: 2 (keys, values), ROW: n */
    uint32_t       n;     /* rows in data (for kids of lists: number of elements) */
} wr_vec;
WR_INLINE bool wr_valid_get(const uint64_t *valid, uint32_t row) { return !valid || (valid[row >> 6] >> (row & 63) & 1); }
WR_INLINE void wr_valid_set(uint64_t *valid, uint32_t row, bool on) {
    uint64_t bit = UINT64_C(1) << (row & 63);
    valid[row >> 6] = on ? valid[row >> 6] | bit : valid[row >> 6] & ~bit;
}
WR_INLINE bool wr_vec_is_null(const wr_vec *vec, uint32_t row) { return vec->type.id == WR_T_NULL || !wr_valid_get(vec->valid, row); }
WR_INLINE size_t wr_valid_bytes(uint32_t n) { return ((size_t)n + 63) / 64 * 8; }
/* Allocates data (and valid, all ones, if `nulls`) for n rows. ROW children are allocated too; list children are not. */
void wr_vec_init(wr_vec *vec, wr_type type, uint32_t n, bool nulls, wr_mem *mem);
/* Appends `extra` rows (valid, values unspecified) to a list's child and returns the index of the first: list rows are written as
 * {offset = wr_vec_grow(&vec->kids[k], len, mem), len}. The child must come from wr_vec_init of its parent, or be grown by this. */
uint32_t wr_vec_grow(wr_vec *vec, uint32_t extra, wr_mem *mem);
/* dst[i] = src[sel[i]] for i < n (sel NULL = identity). Strings stay views into src's memory: the caller keeps it (wr_mem_keep). */
void wr_vec_gather(wr_vec *dst, const wr_vec *src, const uint16_t *sel, uint32_t n, wr_mem *mem);
/* As gather, with 32-bit rows (for list children and building sides), and with row UINT32_MAX giving NULL. */
void wr_vec_gather32(wr_vec *dst, const wr_vec *src, const uint32_t *rows, uint32_t n, wr_mem *mem);
/* Three-way compare of two rows, SQL order, NULL lowest and equal to NULL; NaN is greatest and equal to itself. */
int  wr_vec_compare(const wr_vec *a, uint32_t row_a, const wr_vec *b, uint32_t row_b);
bool wr_vec_equal(const wr_vec *a, uint32_t row_a, const wr_vec *b, uint32_t row_b); /* NULL equals NULL */
/* Copies one value with all it refers to into mem; dst->n rows are already allocated. */
void wr_vec_set(wr_vec *dst, uint32_t row, const wr_vec *src, uint32_t src_row, wr_mem *mem);
void wr_vec_set_null(wr_vec *dst, uint32_t row, wr_mem *mem);
/* hash[i] (for all physical rows) = mix over the columns; NULL and value agree with wr_vec_equal (-0.0 = 0.0, NaN = NaN). */
void wr_batch_hash(const struct wr_batch *batch, const uint32_t *cols, uint32_t n_cols, uint64_t *hash);
/* SQL text of one value as CAST(x AS STRING) gives it, except that NULL is "NULL". tz only for TIMESTAMP_LTZ (NULL = UTC). */
void wr_vec_text(const wr_vec *vec, uint32_t row, const struct wr_tz *tz, wr_sbuf *out);

/* ---- batches ---- */
typedef struct wr_batch {
    wr_mem         *mem;      /* owns this struct, the columns and keeps what they refer to */
    uint32_t        n_rows;   /* physical, <= WR_BATCH_MAX */
    uint32_t        n_sel;    /* live rows when sel != NULL */
    const uint16_t *sel;
    const uint8_t  *kinds;    /* wr_kind a row; NULL = all +I */
    const int64_t  *row_wm_us;
    const uint64_t *hash;     /* of the key columns of the exchange that the batch came through; NULL = none */
    uint32_t        n_cols;
    wr_vec         *cols;
} wr_batch;
WR_INLINE uint32_t wr_batch_live(const wr_batch *batch) { return batch->sel ? batch->n_sel : batch->n_rows; }
WR_INLINE uint32_t wr_batch_row(const wr_batch *batch, uint32_t i) { return batch->sel ? batch->sel[i] : i; }
WR_INLINE uint8_t wr_batch_kind(const wr_batch *batch, uint32_t row) { return batch->kinds ? batch->kinds[row] : WR_KIND_INSERT; }
/* An empty batch in a new wr_mem with n_cols zeroed column structs. Reference count 1, owned by the caller. */
wr_batch *wr_batch_new(uint32_t n_cols, size_t hint_bytes);
/* Same columns, kinds, row_wm, hash; own struct, so that sel/cols/hash can differ. Keeps the parent. */
wr_batch *wr_batch_derive(wr_batch *parent, uint32_t n_cols);
WR_INLINE wr_batch *wr_batch_ref(wr_batch *batch) { wr_mem_ref(batch->mem); return batch; }
WR_INLINE void wr_batch_unref(wr_batch *batch) { if (batch) wr_mem_unref(batch->mem); }
/* Dense copy: sel applied to all columns, kinds, row_wm, hash. Returns a new reference to the same batch when sel is NULL. */
wr_batch *wr_batch_compact(wr_batch *batch);
size_t    wr_batch_bytes(const wr_batch *batch); /* what a queue is charged for it */

/* ---- building a batch row by row (operators' output, decoders of odd formats, tests) ---- */
typedef struct wr_builder wr_builder;
wr_builder *wr_builder_new(const wr_schema *schema, uint32_t capacity);
void        wr_builder_free(wr_builder *b);
uint32_t    wr_builder_rows(const wr_builder *b);
wr_mem     *wr_builder_mem(wr_builder *b);            /* of the batch being built */
wr_vec     *wr_builder_col(wr_builder *b, uint32_t col);
/* Appends a row of NULLs of the given kind and returns its index; set values with wr_vec_set or directly in the columns. */
uint32_t    wr_builder_add(wr_builder *b, wr_kind kind);
WR_INLINE bool wr_kinds_uniform_insert(const uint8_t *kinds, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) if (kinds[i] != WR_KIND_INSERT) return false;
    return true;
}
void        wr_builder_set_late(wr_builder *b, uint32_t row, int64_t row_wm_us);
wr_batch   *wr_builder_take(wr_builder *b);           /* (returns owned) NULL when empty; the builder is ready for the next batch */
