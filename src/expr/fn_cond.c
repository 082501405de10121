/* expr/fn_cond.c: CASE, IF, COALESCE, NULLIF, AND, OR (typing only: program.c runs them), GREATEST, LEAST, IS_DIGIT & co., TYPEOF.
 *
 * Idea       IF and IFNULL become CASE and COALESCE when they are bound, so that there is one guarded form of each.
 * Not here   evaluation of the lazy forms (program.c).                                                              */
#include <utf8proc.h>
#include "type/number.h"
#include "fn.h"

static bool to_boolean(wr_resolve *r, uint32_t i) {
    if (r->args[i]->type.id == WR_T_BOOLEAN) return true;
    if (r->args[i]->type.id == WR_T_NULL) return res_cast(r, i, wr_type_of(WR_T_BOOLEAN));
    wr_sbuf t = {0};
    wr_type_text(r->args[i]->type, &t);
    wr_diags_add(r->ctx->diags, WR_SEV_ERROR, "42804", r->args[i]->at, "a condition must be BOOLEAN, not %s", t.at);
    wr_sbuf_free(&t);
    return r->reported = true, false;
}

bool res_logic(wr_resolve *r) {
    if (r->n < 1) return false;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!to_boolean(r, i)) return false;
        r->extra[0] |= r->args[i]->type.nullable;
    }
    if (r->n == 1) return r->rewrite = r->args[0], true;
    return res_set(r, wr_type_of(WR_T_BOOLEAN), NULL, 0);
}

/* Values at args[i], i in the mask: all of one type. */
static bool unify(wr_resolve *r, const uint32_t *which, uint32_t n, wr_type *out) {
    wr_type t = wr_type_of(WR_T_NULL);
    for (uint32_t i = 0; i < n; i++) {
        wr_type next, x = r->args[which[i]]->type;
        if (!wr_type_common(t, x, &next)) {
            wr_sbuf a = {0}, b = {0};
            t.nullable = x.nullable = 1;
            wr_type_text(t, &a), wr_type_text(x, &b);
            wr_diags_add(r->ctx->diags, WR_SEV_ERROR, "42804", r->args[which[i]]->at, "the values of %s have no common type: %s and %s", r->fn->name, a.at, b.at);
            wr_sbuf_free(&a), wr_sbuf_free(&b);
            return r->reported = true, false;
        }
        t = next;
    }
    if (t.id == WR_T_NULL) return res_error(r, "42804", "at least one value of %s must not be NULL: cast it, as in CAST(NULL AS INT)", r->fn->name);
    t.attr = WR_TIME_NONE;
    for (uint32_t i = 0; i < n; i++)
        if (!res_cast(r, which[i], t)) return false;
    *out = t;
    return true;
}

bool res_case(wr_resolve *r) {
    if (r->n < 3 || r->n % 2 == 0) return false;
    uint32_t *which = wr_new_n(r->ctx->arena, uint32_t, r->n), n = 0;
    for (uint32_t i = 0; i + 1 < r->n; i += 2) {
        if (!to_boolean(r, i)) return false;
        which[n++] = i + 1;
    }
    which[n++] = r->n - 1;
    wr_type t;
    if (!unify(r, which, n, &t)) return false;
    for (uint32_t i = 0; i < n; i++) r->extra[0] |= r->args[which[i]]->type.nullable;
    return res_set(r, t, NULL, 0);
}

bool res_if(wr_resolve *r) {
    if (r->n != 3) return false;
    r->rewrite = wr_expr_call(r->ctx, WR_STR("CASE"), r->args, 3, r->at);
    return r->reported = true, r->rewrite != NULL;
}

bool res_coalesce(wr_resolve *r) {
    if (r->n < 1) return false;
    if (strcmp(r->fn->name, "COALESCE") != 0) {
        if (r->n != 2) return false;
        r->rewrite = wr_expr_call(r->ctx, WR_STR("COALESCE"), r->args, 2, r->at);
        return r->reported = true, r->rewrite != NULL;
    }
    uint32_t *which = wr_new_n(r->ctx->arena, uint32_t, r->n);
    for (uint32_t i = 0; i < r->n; i++) which[i] = i;
    wr_type t;
    if (!unify(r, which, r->n, &t)) return false;
    r->extra[0] = 1;
    for (uint32_t i = 0; i < r->n; i++)
        if (!r->args[i]->type.nullable) r->extra[0] = 0, r->n = i + 1; /* what follows can never be reached */
    if (r->n == 1) return r->rewrite = r->args[0], true;
    return res_set(r, t, NULL, 0);
}

bool res_nullif(wr_resolve *r) {
    if (r->n != 2) return false;
    wr_expr *same = wr_expr_calln(r->ctx, "=", r->at, 2, r->args[0], r->args[1]);
    wr_expr *null = wr_expr_const(r->ctx->arena, wr_value_null(r->args[0]->type), r->at);
    r->rewrite = wr_expr_calln(r->ctx, "CASE", r->at, 3, same, null, r->args[0]);
    return r->reported = true, r->rewrite != NULL;
}

static wr_status greatest(wr_call *c) {
    int want = (int)c->impl->extra[0];
    for ROWS(c, r) {
        uint32_t best = 0;
        for (uint32_t k = 1; k < c->n_args; k++) {
            int d = wr_vec_compare(c->arg[k].vec, r & c->arg[k].mask, c->arg[best].vec, r & c->arg[best].mask);
            if (d * want > 0) best = k;
        }
        size_t w = wr_storage_size(wr_type_storage(c->out->type));
        memcpy((char *)c->out->data + r * w, (const char *)c->arg[best].vec->data + (r & c->arg[best].mask) * w, w);
    }
    return WR_OK;
}

bool res_greatest(wr_resolve *r) {
    if (r->n < 1) return false;
    uint32_t *which = wr_new_n(r->ctx->arena, uint32_t, r->n);
    for (uint32_t i = 0; i < r->n; i++) which[i] = i;
    wr_type t;
    if (!unify(r, which, r->n, &t)) return false;
    if (wr_type_is_nested(t) || t.id == WR_T_BITMAP || t.id == WR_T_VARIANT) return false; /* no order */
    r->extra[0] = r->fn->name[0] == 'G' ? 1 : -1;
    return res_set(r, t, greatest, 0);
}

/* ---- tests of text ---- */
/* Letters and digits are those of Java's Character for one UTF-16 unit: beyond the basic plane there are none. */
static bool all_chars(wr_str s, bool letters) {
    if (s.len == 0) return false;
    for (size_t i = 0, used; i < s.len; i += used) {
        uint32_t cp = wr_utf8_get(s.ptr + i, s.ptr + s.len, &used);
        utf8proc_category_t cat = cp > 0xFFFF ? UTF8PROC_CATEGORY_CN : utf8proc_category((utf8proc_int32_t)cp);
        bool ok = letters ? cat >= UTF8PROC_CATEGORY_LU && cat <= UTF8PROC_CATEGORY_LO : cat == UTF8PROC_CATEGORY_ND;
        if (!ok) return false;
    }
    return true;
}
wr_status fn_is_alpha(wr_call *c) {
    for ROWS(c, r) OUT(c, uint8_t)[r] = !arg_null(c, 0, r) && all_chars(arg_str(c, 0, r), true);
    return WR_OK;
}
wr_status fn_is_digit(wr_call *c) {
    for ROWS(c, r) OUT(c, uint8_t)[r] = !arg_null(c, 0, r) && all_chars(arg_str(c, 0, r), false);
    return WR_OK;
}
wr_status fn_is_decimal(wr_call *c) {
    double x;
    for ROWS(c, r) OUT(c, uint8_t)[r] = !arg_null(c, 0, r) && wr_parse_double(arg_str(c, 0, r), &x);
    return WR_OK;
}

bool res_typeof(wr_resolve *r) {
    if (r->n < 1 || r->n > 2) return false;
    wr_sbuf t = {0};
    wr_type_text(r->args[0]->type, &t);
    wr_value v = {.type = wr_type_not_null(wr_type_string()), .s = wr_str_dup(r->ctx->arena, wr_sbuf_str(&t))};
    wr_sbuf_free(&t);
    r->rewrite = wr_expr_const(r->ctx->arena, v, r->at);
    return true;
}
