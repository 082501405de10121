/* expr/fn.h: what a function of the catalogue is, how its resolver picks types and a kernel, and what a kernel sees. (private)
 *
 * Idea       one table (functions.def) lists every function. A resolver looks at the argument types, inserts casts, sets the result
 *            type and picks a kernel; the kernel is called once per batch with whole columns and loops itself.
 * Nulls      strict kernels (the default) never see a NULL: out->valid is already the AND of the arguments' bitmaps and rows[] lists the
 *            live rows where all arguments are present. FN_CUSTOM kernels get all live rows and look at NULLs themselves.
 * Dense      FN_DENSE kernels run over all n physical rows, NULL or dead ones too: they can neither fail nor follow a pointer.
 * Memory     strings of results go to call_text(): the batch's memory if they can reach an output, else the program's scratch.   */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "expr/expr.h"
#include "type/decimal.h"

typedef struct wr_call wr_call;
typedef struct wr_resolve wr_resolve;
typedef wr_status (*wr_kernel)(wr_call *c);
typedef bool (*wr_resolver)(wr_resolve *r);

enum {
    FN_CUSTOM = 1,       /* the kernel handles NULL arguments itself */
    FN_NULLABLE = 2,     /* the result may be NULL for present arguments */
    FN_NOT_NULL = 4,     /* the result never is */
    FN_DENSE = 8,        /* see above */
    FN_LAZY = 16,        /* CASE, AND, OR, COALESCE: the program evaluates the arguments piece by piece */
    FN_QUERY_TIME = 32,  /* reads the clock */
    FN_RANDOM = 64,
    FN_SAME = 128,       /* the result is argument 0 under another type: no kernel */
    FN_OPERATOR = 256,   /* not to be called by this name in SQL text, but by an operator's syntax */
    FN_PER_ROW = 512,    /* a new value for each row even with constant arguments */
};

struct wr_fn {
    const char *name, *kind, *sig, *summary; /* sig: see resolve.c; or plain text when resolve is set */
    uint32_t    flags;
    wr_resolver resolve; /* NULL: by sig */
    wr_kernel   kernel;  /* NULL: set by resolve */
};
extern const wr_fn wr_fn_table[];
const wr_fn *wr_fn_find(wr_str name);
const wr_fn *wr_fn_get(const char *name); /* asserts that it exists */

typedef struct wr_impl { /* wr_expr.impl */
    wr_kernel kernel;
    uint32_t  flags;
    int64_t   extra[2];  /* for the kernel: a unit, scales, ... */
} wr_impl;

struct wr_resolve {
    wr_expr_ctx *ctx;
    const wr_fn *fn;
    wr_expr    **args; /* a copy: resolvers replace entries by casts */
    uint32_t     n;
    wr_span      at;
    /* results */
    wr_type   type;    /* nullability is filled in by the caller unless set_null */
    wr_kernel kernel;
    uint32_t  flags;   /* starts as fn->flags */
    int64_t   extra[2];
    bool      reported; /* a diagnostic was made; else the general one is */
    wr_expr  *rewrite;  /* the result is this expression */
};

typedef struct wr_arg {
    const wr_vec *vec;
    uint32_t      mask; /* 0 = constant (one row), else all ones: value of a row is data[row & mask] */
} wr_arg;

struct wr_call {
    const wr_expr  *expr;
    const wr_impl  *impl;
    uint32_t        n;      /* physical rows of the result; 1 when all arguments are constant */
    uint32_t        n_rows;
    const uint16_t *rows;   /* NULL = 0..n-1 */
    uint32_t        n_args;
    const wr_arg   *arg;
    wr_vec         *out;
    bool            escapes; /* strings of the result may reach an output */
    bool            is_try;  /* TRY_CAST: a bad value is NULL */
    wr_mem         *mem;
    wr_arena       *scratch;
    void          **state;   /* of this step, kept between batches; freed by *state_free */
    void          (**state_free)(void *);
    const wr_batch *in;
    const wr_schema *names;   /* of the input's columns, or NULL */
    const wr_tz    *tz;
    wr_world       *world;
    int64_t         now_us;
    uint64_t       *valid_buf; /* reserve for out->valid */
    uint64_t      (*random)(wr_call *);
    void           *rng;
    wr_err         *err;
};

WR_INLINE bool ch_digit(unsigned char ch) { return (unsigned)ch - '0' < 10; }
WR_INLINE bool ch_alpha(unsigned char ch) { return ((unsigned)ch | 32) - 'a' < 26; }

#define ROWS(c, r) (uint32_t i_ = 0, r; i_ < (c)->n_rows && (r = (c)->rows ? (c)->rows[i_] : i_, 1); i_++)
#define ARG(c, k, T, r) (((const T *)(c)->arg[k].vec->data)[(r) & (c)->arg[k].mask])
#define OUT(c, T) ((T *)(c)->out->data)
WR_INLINE bool arg_null(const wr_call *c, uint32_t k, uint32_t r) { return wr_vec_is_null(c->arg[k].vec, r & c->arg[k].mask); }
WR_INLINE wr_str arg_str(const wr_call *c, uint32_t k, uint32_t r) {
    return wr_sview_str(&((const wr_sview *)c->arg[k].vec->data)[r & c->arg[k].mask]);
}
WR_INLINE wr_type arg_type(const wr_call *c, uint32_t k) { return c->arg[k].vec->type; }
WR_INLINE bool arg_const(const wr_call *c, uint32_t k) { return c->arg[k].mask == 0; }

void  call_null(wr_call *c, uint32_t row);
char *call_text(wr_call *c, size_t len);        /* room for the text of one row */
void  call_put(wr_call *c, uint32_t row, const char *ptr, size_t len);   /* copies */
WR_INLINE void call_view(wr_call *c, uint32_t row, const char *ptr, size_t len) { /* ptr lies in an argument or in call_text */
    OUT(c, wr_sview)[row] = wr_sview_borrow(ptr, len);
}
/* Fails the job at this row, or with is_try makes it NULL and returns WR_OK. */
WR_PRINTF(4, 5) WR_COLD wr_status call_fail(wr_call *c, uint32_t row, const char *code, const char *fmt, ...);

/* ---- resolvers' helpers (resolve.c) ---- */
bool     res_cast(wr_resolve *r, uint32_t i, wr_type to);   /* args[i] becomes `to` (nullability kept) */
bool     res_common(wr_resolve *r, uint32_t from, uint32_t step, wr_type *common); /* casts args from, from+step, ... to their common type */
WR_PRINTF(3, 4) bool res_error(wr_resolve *r, const char *code, const char *fmt, ...); /* reports, returns false */
bool     res_const_str(const wr_resolve *r, uint32_t i, wr_str *out); /* args[i] is a constant, not NULL string */
bool     res_set(wr_resolve *r, wr_type type, wr_kernel kernel, uint32_t more_flags); /* returns true */
wr_expr *expr_make(wr_arena *arena, const wr_fn *fn, wr_type type, wr_impl impl, wr_expr **args, uint32_t n, wr_span at);
wr_expr *expr_bool(wr_expr_ctx *ctx, bool value, wr_span at);

/* ---- casts (cast.c): NULL = there is none. FN_SAME in *flags: no work. ---- */
wr_kernel wr_cast_kernel(wr_type from, wr_type to, uint32_t *flags);

/* kernels and resolvers of functions.def */
#define F(name, id, kind, sig, flags, summary) wr_status fn_##id(wr_call *c);
#define R(name, id, kind, text, flags, summary) bool res_##id(wr_resolve *r);
#include "functions.def"
#undef F
#undef R

/* functions of the user (udf_call.c); extra[0]: its wr_udf_sig */
wr_status wr_udf_kernel(wr_call *c);
bool res_item_variant(wr_resolve *r); /* fn_variant.c */

/* kernels chosen by storage (fn_arith.c, fn_compare.c) */
/* time helpers (fn_time.c) */
typedef enum wr_time_unit {
    U_NONE, U_MILLENNIUM, U_CENTURY, U_DECADE, U_YEAR, U_QUARTER, U_MONTH, U_WEEK, U_DAY, U_HOUR, U_MINUTE, U_SECOND,
    U_MILLISECOND, U_MICROSECOND, U_NANOSECOND, U_DOW, U_ISODOW, U_DOY, U_ISOYEAR, U_EPOCH,
} wr_time_unit;
void wr_fn_signatures(const wr_fn *fn, wr_sbuf *out);
