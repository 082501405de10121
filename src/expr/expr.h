/* expr/expr.h: bound expressions, the function catalogue, and their evaluation over batches. (contract)
 *
 * Idea       the binder (plan/) builds wr_expr trees of three kinds only: column, constant, call. Everything else (AND, CASE, CAST,
 *            IN, COALESCE, field and element access) is a call of a catalogue function; overloads are resolved here and casts
 *            inserted, so a kernel exists for equal argument types only. A wr_prog is the flat list of steps for several
 *            expressions over one input schema; it runs whole batches, loops live in include-templates (shape_*.h).
 * Invariant  evaluation never reads a row that is not live in a way that can fail: CASE, AND, OR, COALESCE, IF guard their branches.
 * Rules      types, precision, rounding, NULLs as Flink 2.3 (see docs/sql). Integer overflow wraps; x/0 fails the job for integers and
 *            decimals; a failing CAST fails the job with the value and place, TRY_CAST gives NULL.
 * Thread     wr_expr and wr_fn are read-only after binding and shared; a wr_prog belongs to one worker.              */
#pragma once
#include "base/diag.h"
#include "sys/world.h"
#include "type/datetime.h"
#include "type/value.h"

typedef enum wr_expr_kind { WR_E_COL, WR_E_CONST, WR_E_CALL } wr_expr_kind;
typedef struct wr_fn wr_fn; /* one catalogue entry (an overload family by name) */

typedef struct wr_expr {
    wr_expr_kind kind;
    wr_type      type;
    wr_span      at;
    uint32_t     col;          /* WR_E_COL: column of the input schema */
    wr_value     value;        /* WR_E_CONST */
    const wr_fn *fn;           /* WR_E_CALL */
    const void  *impl;         /* WR_E_CALL: the chosen overload, private to expr/ */
    uint32_t          n_args;
    struct wr_expr  **args;
} wr_expr;

typedef struct wr_expr_ctx {   /* what binding needs */
    wr_arena    *arena;
    wr_diags    *diags;
    const wr_tz *tz;           /* table.local-time-zone */
    wr_world    *world;        /* for the tz database only */
    const wr_str *user_names;  /* of functions of the user, for did-you-mean; plan/ resolves them (expr/udf.h) */
    uint32_t     n_user_names;
} wr_expr_ctx;

typedef enum wr_volatility {
    WR_VOL_PURE,       /* same arguments, same result, always */
    WR_VOL_QUERY,      /* fixed when the job starts? no: evaluated per row from the injected clock: NOW(), CURRENT_TIMESTAMP, PROCTIME() */
    WR_VOL_RANDOM,     /* RAND, UUID */
} wr_volatility;

/* ---- building (diagnostics go to ctx->diags; NULL is returned after an error) ---- */
wr_expr *wr_expr_col(wr_arena *arena, uint32_t col, wr_type type, wr_span at);
wr_expr *wr_expr_const(wr_arena *arena, wr_value value, wr_span at);
/* Resolves `name` (any case) over the argument types, inserts casts, folds nothing. Unknown name: did-you-mean; wrong arguments: the
 * candidate signatures. Operators have names too: + - * / % || = <> < <= > >= AND OR NOT IS_NULL IS_NOT_NULL IS_TRUE IS_FALSE IS_UNKNOWN
 * IS_NOT_TRUE IS_NOT_FALSE IS_NOT_UNKNOWN IS_DISTINCT IS_NOT_DISTINCT BETWEEN BETWEEN_SYMMETRIC IN(x, a, b, ...) LIKE(x, pattern[, escape]) SIMILAR
 * CASE(c1, v1, c2, v2, ..., else) NEGATE ITEM(array|map|row, index) FIELD(row, 'name') ROW(...) ARRAY(...) MAP(k, v, ...) EXTRACT('UNIT', x)
 * FLOOR(x, 'UNIT') CEIL(x, 'UNIT') TIMESTAMPADD('UNIT', n, x) TIMESTAMPDIFF('UNIT', a, b) TRIM('BOTH|LEADING|TRAILING', chars, x) OVERLAY(s, r, from[, n]). */
wr_expr *wr_expr_call(wr_expr_ctx *ctx, wr_str name, wr_expr **args, uint32_t n_args, wr_span at);
/* The same with its arguments, at most 8, in the list; NULL if one of them is. */
wr_expr *wr_expr_calln(wr_expr_ctx *ctx, const char *name, wr_span at, uint32_t n, ...);
wr_expr *wr_expr_cast(wr_expr_ctx *ctx, wr_expr *e, wr_type to, bool is_try, wr_span at);
/* Implicit conversion (INSERT columns, UNION branches, CASE results). `what` names the place for the message: "column 'x' of sink t". */
wr_expr *wr_expr_coerce(wr_expr_ctx *ctx, wr_expr *e, wr_type to, const char *what);
bool     wr_expr_can_coerce(wr_type from, wr_type to);
/* Evaluates constant pure sub-trees; a sub-tree whose evaluation fails stays as it is (it may be guarded). */
wr_expr *wr_expr_fold(wr_expr_ctx *ctx, wr_expr *e);
/* Splits a condition at its top-level ANDs; joins them again (NULL for none). */
void     wr_expr_conjuncts(wr_arena *arena, wr_expr *e, wr_expr ***out, uint32_t *n);
wr_expr *wr_expr_and(wr_expr_ctx *ctx, wr_expr **list, uint32_t n);

/* ---- asking ---- */
bool          wr_expr_is_call(const wr_expr *e, const char *name);
wr_volatility wr_expr_volatility(const wr_expr *e);
bool          wr_expr_equal(const wr_expr *a, const wr_expr *b);
void          wr_expr_columns(const wr_expr *e, uint64_t *bits); /* sets bit col of a bitmap */
wr_expr      *wr_expr_remap(wr_arena *arena, const wr_expr *e, const uint32_t *new_col); /* deep copy with columns renumbered */
/* Replaces column i by exprs[i] (merging projections). */
wr_expr      *wr_expr_substitute(wr_arena *arena, const wr_expr *e, wr_expr *const *exprs);
void          wr_expr_text(const wr_expr *e, const wr_schema *schema, wr_sbuf *out); /* canonical SQL-like text; schema may be NULL */
size_t        wr_fn_count(void);
/* Catalogue row for docs, SHOW FUNCTIONS and did-you-mean; n lines of signature text. */
void          wr_fn_describe(size_t i, wr_str *name, wr_str *kind, wr_str *signatures, wr_str *summary);
bool          wr_fn_exists(wr_str name);

/* ---- running ---- */
typedef struct wr_prog wr_prog;
wr_prog  *wr_prog_new(wr_expr *const *exprs, uint32_t n, const wr_tz *tz, wr_world *world); /* (borrows) exprs: they outlive it */
void      wr_prog_free(wr_prog *prog);
/* Optional: the input's column names (borrows), so that error details say `price = 7` instead of `$3 = 7`. */
void      wr_prog_names(wr_prog *prog, const wr_schema *input);
/* Evaluates all expressions; out[0..n-1] are filled, each aligned with the physical rows of `in` (dead rows: unspecified). Plain column
 * references share the input's memory (the caller keeps `in` alive by wr_mem_keep). now_us feeds CURRENT_TIMESTAMP etc.
 * WR_DATA with message, detail (expression text, values) when a live row fails. */
wr_status wr_prog_eval(wr_prog *prog, const wr_batch *in, int64_t now_us, wr_vec *out, wr_mem *mem, wr_err *err);
/* What its calls cost so far, from one evaluation in 16: the time of all of them, and of the function that takes most. */
typedef struct wr_prog_cost {
    uint64_t all_ns, most_ns;
    const char *most, *first_user; /* names; NULL: none was called yet; it calls none of the user's */
    bool user;                     /* most is one of the user's */
} wr_prog_cost;
void      wr_prog_cost_add(const wr_prog *prog, wr_prog_cost *into);
/* Expression 0 is BOOLEAN: writes the live rows where it is TRUE to sel (capacity n_rows) and their number to *n_sel. */
wr_status wr_prog_filter(wr_prog *prog, const wr_batch *in, int64_t now_us, uint16_t *sel, uint32_t *n_sel, wr_err *err);
/* Evaluates one constant expression at planning time (options, VALUES, DEFAULTs). */
wr_status wr_expr_eval_const(wr_expr_ctx *ctx, const wr_expr *e, wr_value *out, wr_err *err);
/* A value of one type as another by CAST's rules, for decoders and tests: false = not possible for this value. */
