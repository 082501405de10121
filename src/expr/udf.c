/* expr/udf.c: declarations of user functions: loading, checking, types from text, choice of a signature. See udf.h.
 *
 * Idea       everything a library says is looked at once, here: ABI, kinds, missing functions, types. What passed needs no check where it runs.
 * Invariant  an error names the function and what is wrong with it.                                                    */
#include <stdarg.h>
#include "expr/udf.h"
#include "fn.h"

enum { ARGS_MAX = 64, SIGNATURES_MAX = 256, STATE_BYTES_MAX = 1 << 20 };

/* ---- types from text ---- */

typedef struct text { const char *at; } text;

static void skip(text *t) {
    while (*t->at == ' ') t->at++;
}
static bool take(text *t, char c) {
    skip(t);
    if (*t->at != c) return false;
    t->at++;
    return true;
}
static wr_str word(text *t) {
    skip(t);
    const char *from = t->at;
    while (ch_alpha((unsigned char)*t->at) || *t->at == '_' || (t->at > from && ch_digit((unsigned char)*t->at))) t->at++;
    return (wr_str){from, (size_t)(t->at - from)};
}
static bool number(text *t, int32_t max, int32_t *out) {
    skip(t);
    if (!ch_digit((unsigned char)*t->at)) return false;
    for (*out = 0; ch_digit((unsigned char)*t->at) && *out <= max; t->at++) *out = *out * 10 + (*t->at - '0');
    return *out <= max;
}

/* The type at hand; NULL or what is wrong with it. */
static const char *type_of(text *t, wr_type *out) {
    static const struct { const char *name; wr_tid id; int32_t prec, max; } TYPES[] = {
        {"BOOLEAN", WR_T_BOOLEAN, 0, -1}, {"TINYINT", WR_T_TINYINT, 0, -1}, {"SMALLINT", WR_T_SMALLINT, 0, -1}, {"INT", WR_T_INT, 0, -1},
        {"INTEGER", WR_T_INT, 0, -1}, {"BIGINT", WR_T_BIGINT, 0, -1}, {"FLOAT", WR_T_FLOAT, 0, -1}, {"DOUBLE", WR_T_DOUBLE, 0, -1},
        {"DECIMAL", WR_T_DECIMAL, 10, 38}, {"STRING", WR_T_VARCHAR, WR_LENGTH_MAX, -1}, {"BYTES", WR_T_VARBINARY, WR_LENGTH_MAX, -1},
        {"DATE", WR_T_DATE, 0, -1}, {"TIME", WR_T_TIME, 0, 3}, {"TIMESTAMP", WR_T_TIMESTAMP, 6, 9}, {"TIMESTAMP_LTZ", WR_T_TIMESTAMP_LTZ, 6, 9}};
    wr_str name = word(t);
    for (size_t i = 0; i < WR_COUNT_OF(TYPES); i++) {
        if (!wr_str_ieq(name, wr_str_of(TYPES[i].name))) continue;
        int32_t prec = TYPES[i].prec, scale = 0;
        if (take(t, '(')) {
            if (TYPES[i].max < 0 || !number(t, TYPES[i].max, &prec)) return "its precision is not possible";
            if (TYPES[i].id == WR_T_DECIMAL && take(t, ',') && !number(t, prec, &scale)) return "its scale is not possible";
            if (!take(t, ')')) return "')' is missing";
        }
        if (TYPES[i].id == WR_T_DECIMAL && !prec) return "its precision is not possible";
        *out = TYPES[i].id == WR_T_DECIMAL ? wr_type_decimal(prec, scale) : wr_type_prec(TYPES[i].id, prec);
        return NULL;
    }
    return name.len ? "it is not among the types of a user function" : "a type is missing";
}

/* A list of types, with names before them if `names`; the array is filled up to ARGS_MAX. */
static const char *list_of(wr_arena *arena, const char *from, bool named, wr_type *types, wr_str *names, uint32_t *n) {
    text t = {from};
    *n = 0;
    skip(&t);
    if (!*t.at && !named) return NULL;
    do {
        if (*n == ARGS_MAX) return "there are too many";
        if (named) {
            wr_str name = word(&t);
            if (!name.len) return "the name of a column is missing";
            for (uint32_t i = 0; i < *n; i++)
                if (wr_str_eq(names[i], name)) return "two columns have one name";
            names[*n] = wr_str_dup(arena, name);
        }
        const char *why = type_of(&t, &types[(*n)++]);
        if (why) return why;
    } while (take(&t, ','));
    skip(&t);
    return *t.at ? "something stands behind a type that does not belong there" : NULL;
}

/* ---- declarations ---- */

static const char *aggregate_fault(const weir_aggregate *a) {
    if (!a) return "has no aggregate";
    if (a->size < sizeof *a) return "has a weir_aggregate of another size: compile it again";
    if (!a->accumulate || !a->result) return "needs accumulate and result";
    if (!a->save != !a->load) return "needs both save and load, or neither";
    if (a->destroy && !a->save) return "has states that own memory (destroy), so it needs save and load";
    if (!a->state_bytes || a->state_bytes > STATE_BYTES_MAX) return "needs a state of 1 byte to 1 MiB";
    return NULL;
}

static const char *function_fault(const weir_function *d) {
    if (d->kind < WEIR_SCALAR || d->kind > WEIR_TABLE) return "is neither scalar nor aggregate nor table";
    if (d->determinism > WEIR_NONDETERMINISTIC) return "has no such determinism";
    if (!d->n_signatures || d->n_signatures > SIGNATURES_MAX || !d->signatures) return "has no signatures, or too many";
    if (d->signature_size < sizeof(weir_signature)) return "has signatures of another size: compile it again";
    if (d->kind == WEIR_AGGREGATE && d->determinism != WEIR_DETERMINISTIC) return "is an aggregate and must be deterministic";
    return NULL;
}

static const weir_signature *signature_at(const weir_function *d, uint32_t i) { /* the library's may be longer than ours */
    return (const weir_signature *)(const void *)((const char *)d->signatures + (size_t)i * d->signature_size);
}

static wr_status fault(wr_err *err, wr_str name, const char *why) { return wr_fail(err, WR_USER, "WR343", "function '%.*s' %s", WR_FMT(name), why); }

static wr_status make_signature(wr_arena *arena, wr_str name, const wr_udf *udf, wr_udf_sig *s, wr_err *err) {
    const weir_function *d = udf->decl;
    wr_type  types[ARGS_MAX];
    wr_str   names[ARGS_MAX];
    uint32_t n;
    const char *why, *what = "argument", *list = s->decl->args ? s->decl->args : "";
    why = list_of(arena, list, false, types, names, &s->n_args);
    if (!why) {
        s->args = wr_new_n(arena, wr_type, s->n_args + 1);
        memcpy(s->args, types, s->n_args * sizeof *types);
        what = "result", list = s->decl->result ? s->decl->result : "";
        why = list_of(arena, list, d->kind == WEIR_TABLE, types, names, &n);
        if (!why && d->kind != WEIR_TABLE && n != 1) why = "it must be one type";
    }
    if (why) return wr_fail(err, WR_USER, "WR343", "function '%.*s' declares the %ss '%s': %s", WR_FMT(name), what, list, why);
    s->result = types[0];
    if (d->kind == WEIR_TABLE) {
        wr_type *kids = wr_new_n(arena, wr_type, n);
        wr_str  *kid_names = wr_new_n(arena, wr_str, n);
        memcpy(kids, types, n * sizeof *types), memcpy(kid_names, names, n * sizeof *names);
        s->result = (wr_type){.id = WR_T_ROW, .n_kids = n, .kids = kids, .names = kid_names};
    }
    if (d->kind == WEIR_AGGREGATE && !s->n_args) return fault(err, name, "is an aggregate without arguments, which is not possible");
    why = d->kind == WEIR_AGGREGATE ? aggregate_fault(s->decl->aggregate) : s->decl->eval ? NULL : "has a signature without eval";
    return why ? fault(err, name, why) : WR_OK;
}

wr_status wr_udf_make(wr_arena *arena, wr_str name, const weir_function *d, const wr_udf **out, wr_err *err) {
    if (d->abi != WEIR_UDF_ABI) {
        wr_fail(err, WR_USER, "WR343", "function '%.*s' was compiled for version %u of weir_udf.h, this weir takes version %d", WR_FMT(name), d->abi, WEIR_UDF_ABI);
        wr_err_hint(err, "compile the library with the weir_udf.h of this weir; the symbol must be a weir_function");
        return WR_USER;
    }
    if (d->size < sizeof *d) return fault(err, name, "has a weir_function of another size: compile it again");
    const char *why = function_fault(d);
    if (why) return fault(err, name, why);
    wr_udf *u = wr_new(arena, wr_udf);
    u->name = wr_arena_strndup(arena, name.ptr, name.len);
    u->decl = d;
    u->n_sigs = d->n_signatures;
    u->sigs = wr_new_n(arena, wr_udf_sig, u->n_sigs);
    for (uint32_t i = 0; i < u->n_sigs; i++) {
        u->sigs[i] = (wr_udf_sig){.udf = u, .decl = signature_at(d, i)};
        WR_TRY(make_signature(arena, name, u, &u->sigs[i], err));
    }
    wr_fn *fn = wr_new(arena, wr_fn);
    *fn = (wr_fn){.name = u->name, .kind = "user", .sig = "", .summary = d->summary ? d->summary : "", .flags = FN_NULLABLE};
    if (d->flags & WEIR_SEES_NULL) fn->flags |= FN_CUSTOM;
    if (d->determinism == WEIR_PER_JOB) fn->flags |= FN_QUERY_TIME;
    if (d->determinism == WEIR_NONDETERMINISTIC) fn->flags |= FN_RANDOM | FN_PER_ROW;
    u->fn = fn;
    *out = u;
    return WR_OK;
}

wr_status wr_udf_load(wr_arena *arena, wr_str name, const char *symbol, const char *library, const wr_udf **out, wr_err *err) {
    void *at;
    WR_TRY(wr_library_symbol(library, symbol, &at, err));
    return wr_udf_make(arena, name, at, out, err);
}

/* ---- texts ---- */

static void one_signature(const wr_udf_sig *s, wr_sbuf *out) {
    wr_sbuf_printf(out, "%s(", s->udf->name);
    for (uint32_t i = 0; i < s->n_args; i++) {
        if (i) wr_sbuf_addz(out, ", ");
        wr_type_text(s->args[i], out);
    }
    wr_sbuf_addz(out, ") -> ");
    if (s->udf->decl->kind != WEIR_TABLE) {
        wr_type_text(s->result, out);
        return;
    }
    for (uint32_t i = 0; i < s->result.n_kids; i++) {
        wr_sbuf_printf(out, "%s%.*s ", i ? ", " : "(", WR_FMT(s->result.names[i]));
        wr_type_text(s->result.kids[i], out);
    }
    wr_sbuf_addc(out, ')');
}

void wr_udf_signatures(const wr_udf *udf, wr_sbuf *out) {
    for (uint32_t i = 0; i < udf->n_sigs; i++) {
        if (i) wr_sbuf_addc(out, '\n');
        one_signature(&udf->sigs[i], out);
    }
}

const char *wr_udf_kind(const wr_udf *udf) {
    static const char *const NAMES[] = {[WEIR_SCALAR] = "scalar", [WEIR_AGGREGATE] = "aggregate", [WEIR_TABLE] = "table"};
    return NAMES[udf->decl->kind];
}
const char *wr_udf_determinism(const wr_udf *udf) {
    static const char *const NAMES[] = {"deterministic", "the same while a job runs", "not deterministic"};
    return NAMES[udf->decl->determinism];
}

/* ---- choice of a signature ---- */

/* How far a type is from a parameter; -1: it does not fit. Nothing is lost on the way but digits of a DECIMAL that is declared shorter. */
static int distance(wr_type from, wr_type to) {
    if (from.id == WR_T_NULL || wr_type_same(from, to)) return 0;
    if (from.id == to.id) return 1;
    if (!wr_expr_can_coerce(from, to)) return -1;
    if (wr_type_is_integer(from) && wr_type_is_integer(to)) return 1 + to.id - from.id;
    if (to.id == WR_T_DECIMAL) return wr_type_is_integer(from) ? 10 : -1;
    if (to.id == WR_T_DOUBLE) return from.id == WR_T_FLOAT ? 2 : 20;
    if (to.id == WR_T_FLOAT) return 21;
    return wr_type_is_string(from) || wr_type_is_binary(from) ? 1 : 30;
}

static int distance_all(const wr_udf_sig *s, wr_expr *const *args, uint32_t n) {
    int sum = 0;
    if (s->n_args != n) return -1;
    for (uint32_t i = 0; i < n; i++) {
        int d = distance(args[i]->type, s->args[i]);
        if (d < 0) return -1;
        sum += d;
    }
    return sum;
}

const wr_udf_sig *wr_udf_resolve(wr_expr_ctx *ctx, const wr_udf *udf, wr_expr **args, uint32_t n, wr_span at) {
    const wr_udf_sig *best = NULL;
    int               least = 0;
    for (uint32_t i = 0; i < udf->n_sigs; i++) {
        int d = distance_all(&udf->sigs[i], args, n);
        if (d >= 0 && (!best || d < least)) best = &udf->sigs[i], least = d;
    }
    if (!best) {
        wr_sbuf types = {0}, cand = {0};
        for (uint32_t i = 0; i < n; i++) {
            if (i) wr_sbuf_addz(&types, ", ");
            wr_type_text(wr_type_with_null(args[i]->type, true), &types);
        }
        wr_udf_signatures(udf, &cand);
        for (size_t i = 0; i < cand.len; i++)
            if (cand.at[i] == '\n') cand.at[i] = ';';
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "42883", at, "cannot apply '%s' to arguments of type (%.*s)", udf->name, WR_FMT(wr_sbuf_str(&types)));
        wr_diags_hint(ctx->diags, "supported form(s): %.*s", WR_FMT(wr_sbuf_str(&cand)));
        wr_sbuf_free(&types), wr_sbuf_free(&cand);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        wr_type to = wr_type_with_null(best->args[i], args[i]->type.nullable || args[i]->type.id == WR_T_NULL);
        if (wr_type_same(args[i]->type, to)) continue;
        wr_expr *e = wr_expr_cast(ctx, args[i], to, false, args[i]->at);
        if (!e) return NULL;
        args[i] = e->args && args[i]->kind == WR_E_CONST ? wr_expr_fold(ctx, e) : e;
    }
    return best;
}

wr_expr *wr_udf_call(wr_expr_ctx *ctx, const wr_udf *udf, wr_expr **args, uint32_t n, wr_span at) {
    wr_expr **mine = wr_new_n(ctx->arena, wr_expr *, n + 1);
    if (n) memcpy(mine, args, n * sizeof *args);
    const wr_udf_sig *s = wr_udf_resolve(ctx, udf, mine, n, at);
    if (!s) return NULL;
    wr_type type = s->result;
    if (udf->decl->kind == WEIR_TABLE) {
        wr_type *row = wr_new(ctx->arena, wr_type);
        *row = s->result;
        type = wr_type_of(WR_T_ARRAY);
        type.n_kids = 1, type.kids = row;
    }
    wr_impl impl = {.kernel = wr_udf_kernel, .flags = udf->fn->flags, .extra = {(int64_t)(intptr_t)s}};
    return expr_make(ctx->arena, udf->fn, type, impl, mine, n, at);
}
