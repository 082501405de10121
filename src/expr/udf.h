/* expr/udf.h: functions of the user, loaded from a shared object (include/weir_udf.h): what was declared, checked, and calls of it. (contract)
 *
 * Idea       a wr_udf is the declaration with its types understood. Scalar and table functions become calls in expressions, whose kernel stands here; a
 *            table function is a call that gives an ARRAY of ROWs, which op/unnest.c makes rows of. Aggregates are run by op/agg_user.c, which uses the
 *            same frames and columns.
 * Memory     the arena given; the library stays loaded until the process ends.
 * Thread     a wr_udf is read-only. A wr_udf_frame belongs to one worker.                                                      */
#pragma once
#include "expr/expr.h"
#include "weir_udf.h"

struct wr_fn;
typedef struct wr_udf wr_udf;
typedef struct wr_udf_sig {
    const wr_udf         *udf;
    const weir_signature *decl;
    uint32_t              n_args;
    wr_type              *args;
    wr_type               result; /* table functions: ROW of the columns */
} wr_udf_sig;
struct wr_udf {
    const char          *name;      /* as in SQL */
    const weir_function *decl;
    uint32_t             n_sigs;
    wr_udf_sig          *sigs;
    const struct wr_fn  *fn;        /* its entry as a function of expressions */
};

/* WR_USER: no such library or symbol, another ABI, a declaration that is not possible. */
wr_status wr_udf_load(wr_arena *arena, wr_str name, const char *symbol, const char *library, const wr_udf **out, wr_err *err);
/* The same for a declaration at hand. */
wr_status wr_udf_make(wr_arena *arena, wr_str name, const weir_function *decl, const wr_udf **out, wr_err *err);
/* "f(STRING, INT) -> BIGINT", a line for each signature. */
void      wr_udf_signatures(const wr_udf *udf, wr_sbuf *out);
const char *wr_udf_kind(const wr_udf *udf);        /* "scalar", "aggregate", "table" */
const char *wr_udf_determinism(const wr_udf *udf); /* "deterministic", "the same while a job runs", "not deterministic" */
/* The signature that the arguments fit best; they are cast to its types in place. NULL after a diagnostic with the candidates. */
const wr_udf_sig *wr_udf_resolve(wr_expr_ctx *ctx, const wr_udf *udf, wr_expr **args, uint32_t n_args, wr_span at);
/* A call of a scalar function; of a table function: its rows as ARRAY<ROW<...>>. */
wr_expr  *wr_udf_call(wr_expr_ctx *ctx, const wr_udf *udf, wr_expr **args, uint32_t n_args, wr_span at);

/* ---- calls, also for op/ ---- */
typedef struct wr_udf_frame {       /* what a weir_call of ours is made of; call must stay first */
    weir_call   call;
    wr_arena   *scratch;            /* reset by whoever makes the calls */
    bool        failed;
    uint32_t    fail_row;
    char        message[256];
    int64_t     heap_bytes;         /* what states own: change since it was set to 0 */
    wr_sbuf    *image;              /* call->write */
    struct wr_udf_table *table;     /* table functions */
} wr_udf_frame;
void wr_udf_frame_init(wr_udf_frame *f, wr_arena *scratch);
void wr_udf_frame_begin(wr_udf_frame *f, uint32_t n_rows); /* before each call */
/* rows[0..n-1] of a column (NULL: the first n; of a constant: row 0 each time) as the user sees them. False: more than 2 GiB of text. */
bool wr_udf_column(const wr_vec *vec, bool constant, const uint32_t *rows, uint32_t n, bool nulls, wr_arena *scratch, weir_column *out);
/* Room for n results of a type, all valid. */
void wr_udf_result_init(wr_type type, uint32_t n, wr_arena *scratch, weir_column *out);
/* Values of the result into dst, row i into rows[i], or first + i * step; texts into what room(arg, bytes) gives. NULLs are the caller's to set. Returns NULL,
 * or what is wrong at row *bad. */
typedef struct wr_udf_place { const uint32_t *rows; uint32_t first, step; char *(*room)(void *arg, size_t bytes); void *arg; } wr_udf_place;
const char *wr_udf_result_put(const weir_column *result, uint32_t n, wr_vec *dst, wr_udf_place place, uint32_t *bad);
