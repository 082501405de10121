/* expr/resolve.c: a name and argument expressions -> a call with casts inserted, or a diagnostic that says what would fit.
 *
 * Idea       most functions are typed by the small signature language of functions.def, matched here; the others have a resolver.
 *            Kernels exist for equal argument types only, so all widening happens by CAST calls that are inserted here.
 * Invariant  wr_expr_call either returns a well-typed call or has added exactly one error to ctx->diags.
 * Memory     the plan's arena.                                                                                     */
#include <stdarg.h>
#include <stdlib.h>
#include "fn.h"

/* ---- making nodes ---- */
wr_expr *expr_make(wr_arena *arena, const wr_fn *fn, wr_type type, wr_impl impl, wr_expr **args, uint32_t n, wr_span at) {
    wr_expr *e = wr_new(arena, wr_expr);
    wr_impl *im = wr_new(arena, wr_impl);
    *im = impl;
    *e = (wr_expr){.kind = WR_E_CALL, .type = type, .at = at, .fn = fn, .impl = im, .args = args, .n_args = n};
    return e;
}

wr_expr *expr_bool(wr_expr_ctx *ctx, bool value, wr_span at) {
    return wr_expr_const(ctx->arena, (wr_value){.type = wr_type_not_null(wr_type_of(WR_T_BOOLEAN)), .b = value}, at);
}

wr_expr *wr_expr_calln(wr_expr_ctx *ctx, const char *name, wr_span at, uint32_t n, ...) {
    wr_expr *args[8];
    wr_assert(n <= 8);
    va_list ap;
    va_start(ap, n);
    for (uint32_t i = 0; i < n; i++) args[i] = va_arg(ap, wr_expr *);
    va_end(ap);
    for (uint32_t i = 0; i < n; i++)
        if (!args[i]) return NULL;
    return wr_expr_call(ctx, wr_str_of(name), args, n, at);
}

/* ---- diagnostics ---- */
static void type_list(wr_expr *const *args, uint32_t n, wr_sbuf *out) {
    for (uint32_t i = 0; i < n; i++) {
        wr_type t = args[i]->type;
        if (i) wr_sbuf_addz(out, ", ");
        t.nullable = 1;
        wr_type_text(t, out);
    }
}

static void candidates(const wr_fn *fn, wr_sbuf *out) {
    wr_sbuf sig = {0};
    wr_fn_signatures(fn, &sig);
    wr_sbuf_add_str(out, wr_sbuf_str(&sig));
    wr_sbuf_free(&sig);
    for (size_t i = 0; i < out->len; i++)
        if (out->at[i] == '\n') out->at[i] = ';';
}

bool res_error(wr_resolve *r, const char *code, const char *fmt, ...) {
    char    text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wr_diags_add(r->ctx->diags, WR_SEV_ERROR, code, r->at, "%s", text);
    r->reported = true;
    return false;
}

static void mismatch(wr_resolve *r) {
    wr_sbuf types = {0}, cand = {0};
    type_list(r->args, r->n, &types);
    candidates(r->fn, &cand);
    wr_str t = wr_sbuf_str(&types), c = wr_sbuf_str(&cand);
    wr_diags_add(r->ctx->diags, WR_SEV_ERROR, r->fn->flags & FN_OPERATOR ? "42804" : "42883", r->at, "cannot apply '%s' to arguments of type (%.*s)",
                 r->fn->name, WR_FMT(t));
    wr_diags_hint(r->ctx->diags, "supported form(s): %.*s", WR_FMT(c));
    wr_sbuf_free(&types), wr_sbuf_free(&cand);
}

/* What other databases call it. */
static const char *known_elsewhere(wr_str name) {
    static const struct { const char *name, *here; } words[] = {
        {"STRING_AGG", "LISTAGG(text, separator)"}, {"GROUP_CONCAT", "LISTAGG(text, separator)"}, {"MEDIAN", "PERCENTILE(x, 0.5)"}, {"QUANTILE", "PERCENTILE(x, share)"},
        {"PERCENTILE_CONT", "PERCENTILE(x, share)"}, {"LEN", "CHAR_LENGTH(text)"}, {"DATE_TRUNC", "FLOOR(ts TO MINUTE), and so on with SECOND, HOUR, DAY, MONTH, YEAR"},
        {"STRFTIME", "DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm')"}, {"TO_CHAR", "DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm'), or CAST(x AS STRING)"}, {"DATEDIFF", "TIMESTAMPDIFF(DAY, from, to)"},
        {"DATE_DIFF", "TIMESTAMPDIFF(DAY, from, to)"}, {"DATEADD", "ts + INTERVAL '1' DAY"}, {"DATE_ADD", "ts + INTERVAL '1' DAY"}, {"DATE_SUB", "ts - INTERVAL '1' DAY"},
        {"GETDATE", "CURRENT_TIMESTAMP"}, {"SYSDATE", "CURRENT_TIMESTAMP"}, {"ISNULL", "x IS NULL, or COALESCE(x, y)"}, {"TO_NUMBER", "CAST(x AS DOUBLE), or TRY_CAST"},
        {"STRPOS", "POSITION(part IN text)"}, {"CHARINDEX", "POSITION(part IN text)"}, {"TIME_BUCKET", "windows: FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTE))"},
        {"DATE_PART", "EXTRACT(HOUR FROM ts)"}, {"COUNT_IF", "COUNT(*) FILTER (WHERE condition)"}, {"COUNTIF", "COUNT(*) FILTER (WHERE condition)"}, {"JSON_EXTRACT", "JSON_VALUE(json, '$.path')"},
        {"UNNEST", "FROM t CROSS JOIN UNNEST(t.list) AS u (x)"}, {"BOOL_OR", "MAX(CASE WHEN condition THEN 1 ELSE 0 END) = 1"}};
    for (size_t i = 0; i < WR_COUNT_OF(words); i++)
        if (wr_str_ieq(name, wr_str_of(words[i].name))) return words[i].here;
    return NULL;
}

static void unknown(wr_expr_ctx *ctx, wr_str name, wr_expr *const *args, uint32_t n, wr_span at) {
    wr_sbuf types = {0};
    type_list(args, n, &types);
    wr_str t = wr_sbuf_str(&types);
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "42883", at, "no function '%.*s' (%.*s)", WR_FMT(name), WR_FMT(t));
    wr_sbuf_free(&types);
    const char *here = known_elsewhere(name);
    if (here) {
        wr_diags_hint(ctx->diags, "here it is %s", here);
        return;
    }
    size_t  count = wr_fn_count(), k = 0;
    wr_str *names = wr_new_n(ctx->arena, wr_str, count + ctx->n_user_names);
    for (size_t i = 0; i < count; i++)
        if (!(wr_fn_table[i].flags & FN_OPERATOR)) names[k++] = wr_str_of(wr_fn_table[i].name);
    for (uint32_t i = 0; i < ctx->n_user_names; i++) names[k++] = ctx->user_names[i];
    int best = wr_nearest(name, names, k);
    if (best < 0) return;
    wr_sbuf      cand = {0};
    const wr_fn *near = wr_fn_find(names[best]); /* NULL: of the user */
    if (near) candidates(near, &cand);
    wr_str c = wr_sbuf_str(&cand);
    wr_diags_hint(ctx->diags, "did you mean %.*s?%s%.*s", WR_FMT(names[best]), near ? " " : "", WR_FMT(c));
    wr_sbuf_free(&cand);
}

/* ---- resolvers' helpers ---- */
bool res_set(wr_resolve *r, wr_type type, wr_kernel kernel, uint32_t more_flags) {
    r->type = type;
    r->kernel = kernel;
    r->flags |= more_flags;
    return true;
}

bool res_cast(wr_resolve *r, uint32_t i, wr_type to) {
    to.nullable = r->args[i]->type.nullable || r->args[i]->type.id == WR_T_NULL;
    to.attr = WR_TIME_NONE;
    if (wr_type_same(r->args[i]->type, to)) return true;
    wr_expr *e = wr_expr_cast(r->ctx, r->args[i], to, false, r->args[i]->at);
    if (!e) return r->reported = true, false;
    r->args[i] = r->args[i]->kind == WR_E_CONST ? wr_expr_fold(r->ctx, e) : e; /* `x > 1` compares with a constant, not with a cast */
    return true;
}

bool res_common(wr_resolve *r, uint32_t from, uint32_t step, wr_type *common) {
    wr_type t = r->args[from]->type;
    for (uint32_t i = from + step; i < r->n; i += step)
        if (!wr_type_common(t, r->args[i]->type, &t)) return false;
    t.attr = WR_TIME_NONE;
    for (uint32_t i = from; i < r->n; i += step)
        if (!res_cast(r, i, t)) return false;
    *common = t;
    return true;
}

bool res_const_str(const wr_resolve *r, uint32_t i, wr_str *out) {
    if (i >= r->n || r->args[i]->kind != WR_E_CONST || r->args[i]->value.null || !wr_type_is_string(r->args[i]->type)) return false;
    *out = r->args[i]->value.s;
    return true;
}

/* ---- the signature language ---- */
static bool letter_fits(char c, wr_type t) {
    if (t.id == WR_T_NULL) return true;
    switch (c) {
    case 's': return wr_type_is_string(t);
    case 'i': return wr_type_is_integer(t);
    case 'n': return wr_type_is_numeric(t);
    case 'b': return t.id == WR_T_BOOLEAN;
    case 'y': return wr_type_is_binary(t);
    case 'e': return wr_type_is_string(t) || wr_type_is_binary(t);
    case 'm': return t.id == WR_T_BITMAP;
    case 'v': return t.id == WR_T_VARIANT;
    default: return true;
    }
}

static wr_type letter_type(char c, wr_type t) {
    switch (c) {
    case 's': return wr_type_is_string(t) ? t : wr_type_string();
    case 'i': return wr_type_of(WR_T_BIGINT);
    case 'n': return wr_type_of(WR_T_DOUBLE);
    case 'b': return wr_type_of(WR_T_BOOLEAN);
    case 'y': return wr_type_is_binary(t) ? t : wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX);
    case 'm': return wr_type_of(WR_T_BITMAP);
    case 'v': return wr_type_of(WR_T_VARIANT);
    case 'e': return t.id == WR_T_NULL ? wr_type_string() : t;
    default: return t.id == WR_T_NULL ? wr_type_string() : t;
    }
}

static wr_type result_type(const char *s, const wr_resolve *r) {
    switch (*s) {
    case 's': return s[1] >= '0' && s[1] <= '9' ? wr_type_prec(WR_T_VARCHAR, (int32_t)strtol(s + 1, NULL, 10)) : wr_type_string();
    case 'i': return wr_type_of(WR_T_INT);
    case 'l': return wr_type_of(WR_T_BIGINT);
    case 'd': return wr_type_of(WR_T_DOUBLE);
    case 'b': return wr_type_of(WR_T_BOOLEAN);
    case 'y': return wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX);
    case 'm': return wr_type_of(WR_T_BITMAP);
    case 'v': return wr_type_of(WR_T_VARIANT);
    case 'D': return wr_type_of(WR_T_DATE);
    case 'T': return wr_type_prec(WR_T_TIMESTAMP, 3);
    case 'L': return wr_type_prec(WR_T_TIMESTAMP_LTZ, 3);
    default: return r->args[0]->type;
    }
}

/* The next parameter's letter for argument i of the alternative at *p, or 0 if there is none for it. */
static char next_letter(const char **p) {
    while (**p == ',') ++*p;
    char c = **p;
    if (c == '>') return 0;
    if ((*p)[1] == '*') return c; /* stays on a repeated parameter */
    *p += (*p)[1] == '?' ? 2 : 1;
    return c;
}

static bool enough(const char *p) { /* what remains is optional */
    while (*p == ',') p++;
    return *p == '>' || p[1] == '?' || p[1] == '*';
}

static bool match_alternative(wr_resolve *r, const char *sig) {
    const char *p = sig;
    for (uint32_t i = 0; i < r->n; i++) {
        char c = next_letter(&p);
        if (!c || !letter_fits(c, r->args[i]->type)) return false;
    }
    if (!enough(p)) return false;
    p = sig;
    for (uint32_t i = 0; i < r->n; i++) {
        char c = next_letter(&p);
        if (!res_cast(r, i, letter_type(c, r->args[i]->type))) return false;
    }
    return true;
}

static bool resolve_by_sig(wr_resolve *r) {
    for (const char *sig = r->fn->sig; *sig;) {
        const char *result = strchr(sig, '>') + 1;
        if (match_alternative(r, sig)) return res_set(r, result_type(result, r), r->fn->kernel, 0);
        if (r->reported) return false;
        const char *next = strchr(result, '|');
        if (!next) break;
        sig = next + 1;
    }
    return false;
}

/* ---- the entry ---- */
static bool call_nullable(const wr_resolve *r) {
    if (r->flags & FN_NOT_NULL) return false;
    if (r->flags & FN_NULLABLE) return true;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->args[i]->type.nullable || r->args[i]->type.id == WR_T_NULL) return true;
    return false;
}

wr_expr *wr_expr_call(wr_expr_ctx *ctx, wr_str name, wr_expr **args, uint32_t n_args, wr_span at) {
    for (uint32_t i = 0; i < n_args; i++)
        if (!args[i]) return NULL;
    if (wr_str_eq(name, WR_STR("!="))) name = WR_STR("<>");
    if (wr_str_eq(name, WR_STR("==")) ) name = WR_STR("=");
    const wr_fn *fn = wr_fn_find(name);
    if (!fn || fn->resolve == res_cast_op) {
        unknown(ctx, name, args, n_args, at);
        return NULL;
    }
    wr_resolve r = {.ctx = ctx, .fn = fn, .n = n_args, .at = at, .flags = fn->flags};
    r.args = wr_new_n(ctx->arena, wr_expr *, n_args ? n_args : 1);
    if (n_args) memcpy(r.args, args, n_args * sizeof *args);
    if (!(fn->resolve ? fn->resolve(&r) : resolve_by_sig(&r))) {
        if (!r.reported) mismatch(&r);
        return NULL;
    }
    if (r.rewrite) return r.rewrite;
    /* lazy resolvers know better: CASE without ELSE, COALESCE with an argument that is always present */
    r.type.nullable = r.flags & FN_LAZY ? r.extra[0] != 0 : call_nullable(&r);
    wr_impl impl = {.kernel = r.kernel, .flags = r.flags, .extra = {r.extra[0], r.extra[1]}};
    return expr_make(ctx->arena, r.fn, r.type, impl, r.args, r.n, at);
}

/* ---- casts ---- */
static bool coerce_kids(wr_type from, wr_type to) {
    if (from.n_kids != to.n_kids) return false;
    for (uint32_t i = 0; i < from.n_kids; i++)
        if (!wr_expr_can_coerce(from.kids[i], to.kids[i])) return false;
    return true;
}

bool wr_expr_can_coerce(wr_type from, wr_type to) {
    if (from.id == WR_T_NULL || wr_type_same(from, to)) return true;
    switch (to.id) {
    case WR_T_SMALLINT: return from.id == WR_T_TINYINT;
    case WR_T_INT: return from.id >= WR_T_TINYINT && from.id <= WR_T_INT;
    case WR_T_BIGINT: return wr_type_is_integer(from);
    case WR_T_FLOAT: return wr_type_is_integer(from) || from.id == WR_T_DECIMAL || from.id == WR_T_FLOAT;
    case WR_T_DOUBLE:
    case WR_T_DECIMAL: return wr_type_is_numeric(from);
    case WR_T_CHAR: return from.id == WR_T_CHAR;
    case WR_T_VARCHAR: return wr_type_is_string(from);
    case WR_T_BINARY: return from.id == WR_T_BINARY;
    case WR_T_VARBINARY: return wr_type_is_binary(from);
    case WR_T_DATE: return from.id == WR_T_DATE || from.id == WR_T_TIMESTAMP;
    case WR_T_TIME: return from.id == WR_T_TIME || from.id == WR_T_TIMESTAMP;
    case WR_T_TIMESTAMP: return from.id == WR_T_TIMESTAMP || from.id == WR_T_TIMESTAMP_LTZ || from.id == WR_T_DATE;
    case WR_T_TIMESTAMP_LTZ: return from.id == WR_T_TIMESTAMP || from.id == WR_T_TIMESTAMP_LTZ || from.id == WR_T_DATE;
    case WR_T_ARRAY:
    case WR_T_MULTISET:
    case WR_T_MAP:
    case WR_T_ROW: return from.id == to.id && coerce_kids(from, to);
    default: return from.id == to.id;
    }
}

static wr_expr *cast_refused(wr_expr_ctx *ctx, wr_type from, wr_type to, const char *what, wr_span at) {
    wr_sbuf a = {0}, b = {0};
    from.nullable = to.nullable = 1;
    wr_type_text(from, &a), wr_type_text(to, &b);
    wr_str x = wr_sbuf_str(&a), y = wr_sbuf_str(&b);
    if (what) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "42804", at, "%s is of type %.*s, but the expression is of type %.*s", what, WR_FMT(y), WR_FMT(x));
        wr_diags_hint(ctx->diags, "write CAST(... AS %.*s) if the conversion is meant", WR_FMT(y));
    } else {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "42846", at, "cannot cast %.*s to %.*s", WR_FMT(x), WR_FMT(y));
        if (wr_type_is_numeric(from) && (to.id == WR_T_TIMESTAMP || to.id == WR_T_TIMESTAMP_LTZ))
            wr_diags_hint(ctx->diags, "use TO_TIMESTAMP_LTZ(n, 0) for seconds or TO_TIMESTAMP_LTZ(n, 3) for milliseconds since 1970");
        if ((from.id == WR_T_TIMESTAMP || from.id == WR_T_TIMESTAMP_LTZ) && wr_type_is_numeric(to))
            wr_diags_hint(ctx->diags, "use UNIX_TIMESTAMP(CAST(ts AS STRING)) or EXTRACT(EPOCH FROM ts)");
    }
    wr_sbuf_free(&a), wr_sbuf_free(&b);
    return NULL;
}

wr_expr *wr_expr_cast(wr_expr_ctx *ctx, wr_expr *e, wr_type to, bool is_try, wr_span at) {
    if (!e) return NULL;
    to.nullable = e->type.nullable || is_try || e->type.id == WR_T_NULL;
    if (wr_type_same(e->type, to) && !is_try && e->type.attr == to.attr) return e;
    if (e->type.id == WR_T_NULL || (e->kind == WR_E_CONST && e->value.null)) return wr_expr_const(ctx->arena, wr_value_null(to), at);
    if (wr_type_same(e->type, to) && e->kind == WR_E_CONST) { /* TRY_CAST to its own type */
        wr_value v = e->value;
        v.type = to;
        return wr_expr_const(ctx->arena, v, at);
    }
    uint32_t  flags = 0;
    wr_kernel kernel = wr_cast_kernel(e->type, to, &flags);
    if (!kernel && !(flags & FN_SAME)) return cast_refused(ctx, e->type, to, NULL, at);
    if (flags & FN_NULLABLE) to.nullable = true; /* to DECIMAL: NULL when the digits do not fit */
    wr_expr **args = wr_new(ctx->arena, wr_expr *);
    args[0] = e;
    return expr_make(ctx->arena, wr_fn_get(is_try ? "TRY_CAST" : "CAST"), to, (wr_impl){.kernel = kernel, .flags = flags}, args, 1, at);
}

wr_expr *wr_expr_coerce(wr_expr_ctx *ctx, wr_expr *e, wr_type to, const char *what) {
    if (!e) return NULL;
    if (!wr_expr_can_coerce(e->type, to)) return cast_refused(ctx, e->type, to, what ? what : "the place", e->at);
    return wr_expr_cast(ctx, e, to, false, e->at);
}

bool res_cast_op(wr_resolve *r) { return res_error(r, "42883", "CAST needs a type: CAST(x AS type)"); }
