/* expr/expr.c: expression trees: leaves, questions about them, copies with other columns, text, folding of constants.
 *
 * Idea       trees are immutable once built: every change is a copy in the arena that shares what did not change.
 * Invariant  recursion is as deep as the tree, which the parser bounds (WR_AST_DEPTH_MAX) and long AND/OR/IN lists keep flat.
 * Memory     the arena given.                                                                                      */
#include "fn.h"

wr_expr *wr_expr_col(wr_arena *arena, uint32_t col, wr_type type, wr_span at) {
    wr_expr *e = wr_new(arena, wr_expr);
    *e = (wr_expr){.kind = WR_E_COL, .type = type, .at = at, .col = col};
    return e;
}

wr_expr *wr_expr_const(wr_arena *arena, wr_value value, wr_span at) {
    wr_expr *e = wr_new(arena, wr_expr);
    *e = (wr_expr){.kind = WR_E_CONST, .type = value.type, .at = at, .value = value};
    return e;
}

/* ---- conditions ---- */
static uint32_t count_conjuncts(const wr_expr *e) {
    if (!wr_expr_is_call(e, "AND")) return 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n_args; i++) n += count_conjuncts(e->args[i]);
    return n;
}

static void put_conjuncts(wr_expr *e, wr_expr ***at) {
    if (!wr_expr_is_call(e, "AND")) {
        *(*at)++ = e;
        return;
    }
    for (uint32_t i = 0; i < e->n_args; i++) put_conjuncts(e->args[i], at);
}

void wr_expr_conjuncts(wr_arena *arena, wr_expr *e, wr_expr ***out, uint32_t *n) {
    *n = e ? count_conjuncts(e) : 0;
    *out = wr_new_n(arena, wr_expr *, *n ? *n : 1);
    wr_expr **at = *out;
    if (e) put_conjuncts(e, &at);
}

wr_expr *wr_expr_and(wr_expr_ctx *ctx, wr_expr **list, uint32_t n) {
    if (n == 0) return NULL;
    if (n == 1) return list[0];
    return wr_expr_call(ctx, WR_STR("AND"), list, n, list[0]->at);
}

/* ---- questions ---- */
bool wr_expr_is_call(const wr_expr *e, const char *name) { return e && e->kind == WR_E_CALL && strcmp(e->fn->name, name) == 0; }

wr_volatility wr_expr_volatility(const wr_expr *e) {
    if (e->kind != WR_E_CALL) return WR_VOL_PURE;
    const wr_impl *impl = e->impl;
    wr_volatility  v = impl->flags & FN_RANDOM ? WR_VOL_RANDOM : impl->flags & FN_QUERY_TIME ? WR_VOL_QUERY : WR_VOL_PURE;
    for (uint32_t i = 0; i < e->n_args; i++) {
        wr_volatility a = wr_expr_volatility(e->args[i]);
        if (a > v) v = a;
    }
    return v;
}

bool wr_expr_equal(const wr_expr *a, const wr_expr *b) {
    if (a == b) return true;
    if (a->kind != b->kind || !wr_type_same(a->type, b->type)) return false;
    if (a->kind == WR_E_COL) return a->col == b->col;
    if (a->kind == WR_E_CONST) return wr_value_equal(&a->value, &b->value);
    const wr_impl *x = a->impl, *y = b->impl;
    if (a->fn != b->fn || a->n_args != b->n_args || x->kernel != y->kernel || memcmp(x->extra, y->extra, sizeof x->extra) != 0) return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!wr_expr_equal(a->args[i], b->args[i])) return false;
    return true;
}

void wr_expr_columns(const wr_expr *e, uint64_t *bits) {
    if (e->kind == WR_E_COL) bits[e->col >> 6] |= UINT64_C(1) << (e->col & 63);
    for (uint32_t i = 0; i < e->n_args; i++) wr_expr_columns(e->args[i], bits);
}

/* ---- copies ---- */
static wr_expr *copy_with(wr_arena *arena, const wr_expr *e, const uint32_t *new_col, wr_expr *const *exprs) {
    if (e->kind == WR_E_COL && exprs) return exprs[e->col];
    wr_expr *copy = wr_new(arena, wr_expr);
    *copy = *e;
    if (e->kind == WR_E_COL && new_col) copy->col = new_col[e->col];
    if (e->kind == WR_E_CALL && e->n_args) {
        copy->args = wr_new_n(arena, wr_expr *, e->n_args);
        for (uint32_t i = 0; i < e->n_args; i++) copy->args[i] = copy_with(arena, e->args[i], new_col, exprs);
    }
    return copy;
}

wr_expr *wr_expr_remap(wr_arena *arena, const wr_expr *e, const uint32_t *new_col) { return copy_with(arena, e, new_col, NULL); }
wr_expr *wr_expr_substitute(wr_arena *arena, const wr_expr *e, wr_expr *const *exprs) { return copy_with(arena, e, NULL, exprs); }

/* ---- text ---- */
static void quoted(wr_str s, wr_sbuf *out) {
    wr_sbuf_addc(out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'') wr_sbuf_addc(out, '\'');
        wr_sbuf_addc(out, s.ptr[i]);
    }
    wr_sbuf_addc(out, '\'');
}

static void const_text(const wr_value *v, wr_sbuf *out) {
    if (v->null) {
        wr_sbuf_addz(out, "NULL");
        return;
    }
    switch (v->type.id) {
    case WR_T_CHAR:
    case WR_T_VARCHAR: quoted(v->s, out); return;
    case WR_T_BINARY:
    case WR_T_VARBINARY:
        wr_sbuf_addz(out, "X'");
        for (size_t i = 0; i < v->s.len; i++) wr_sbuf_printf(out, "%02X", (unsigned char)v->s.ptr[i]);
        wr_sbuf_addc(out, '\'');
        return;
    case WR_T_DATE: wr_sbuf_addz(out, "DATE '"); break;
    case WR_T_TIME: wr_sbuf_addz(out, "TIME '"); break;
    case WR_T_TIMESTAMP: wr_sbuf_addz(out, "TIMESTAMP '"); break;
    case WR_T_TIMESTAMP_LTZ: wr_sbuf_addz(out, "TIMESTAMP_LTZ '"); break;
    case WR_T_INTERVAL_YM:
    case WR_T_INTERVAL_DS: wr_sbuf_addz(out, "INTERVAL '"); break;
    default: wr_value_text(v, NULL, out); return;
    }
    wr_value_text(v, NULL, out);
    wr_sbuf_addc(out, '\'');
}

static void sub_text(const wr_expr *e, const wr_schema *schema, wr_sbuf *out) { /* an operand: operators in parentheses */
    static const char *const infix[] = {"+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "LIKE", "IN", "SIMILAR", "NEGATE",
                                        "IS_DISTINCT", "IS_NOT_DISTINCT"};
    bool wrap = false;
    if (e->kind == WR_E_CALL)
        for (size_t i = 0; i < WR_COUNT_OF(infix); i++) wrap |= strcmp(e->fn->name, infix[i]) == 0;
    if (wrap) wr_sbuf_addc(out, '(');
    wr_expr_text(e, schema, out);
    if (wrap) wr_sbuf_addc(out, ')');
}

static void joined(const wr_expr *e, const wr_schema *schema, uint32_t from, const char *sep, bool wrap, wr_sbuf *out) {
    for (uint32_t i = from; i < e->n_args; i++) {
        if (i > from) wr_sbuf_addz(out, sep);
        if (wrap) sub_text(e->args[i], schema, out);
        else wr_expr_text(e->args[i], schema, out);
    }
}

static void case_text(const wr_expr *e, const wr_schema *schema, wr_sbuf *out) {
    wr_sbuf_addz(out, "CASE");
    for (uint32_t i = 0; i + 1 < e->n_args; i += 2) {
        wr_sbuf_addz(out, " WHEN ");
        wr_expr_text(e->args[i], schema, out);
        wr_sbuf_addz(out, " THEN ");
        wr_expr_text(e->args[i + 1], schema, out);
    }
    wr_sbuf_addz(out, " ELSE ");
    wr_expr_text(e->args[e->n_args - 1], schema, out);
    wr_sbuf_addz(out, " END");
}

static void cast_text(const wr_expr *e, const wr_schema *schema, wr_sbuf *out) {
    wr_type t = e->type;
    t.nullable = 1;
    wr_sbuf_printf(out, "%s(", e->fn->name);
    wr_expr_text(e->args[0], schema, out);
    wr_sbuf_addz(out, " AS ");
    wr_type_text(t, out);
    wr_sbuf_addc(out, ')');
}

static void operator_text(const wr_expr *e, const wr_schema *schema, wr_sbuf *out) {
    const char *name = e->fn->name;
    if (strcmp(name, "CASE") == 0) {
        case_text(e, schema, out);
    } else if (strcmp(name, "CAST") == 0 || strcmp(name, "TRY_CAST") == 0) {
        cast_text(e, schema, out);
    } else if (strncmp(name, "IS_", 3) == 0) {
        sub_text(e->args[0], schema, out);
        wr_sbuf_addc(out, ' ');
        for (const char *p = name; *p; p++) wr_sbuf_addc(out, *p == '_' ? ' ' : *p);
        if (e->n_args == 2) wr_sbuf_addz(out, " FROM "), sub_text(e->args[1], schema, out);
    } else if (strcmp(name, "NOT") == 0 || strcmp(name, "NEGATE") == 0) {
        wr_sbuf_addz(out, name[1] == 'O' ? "NOT " : "-");
        sub_text(e->args[0], schema, out);
    } else if (strcmp(name, "IN") == 0) {
        sub_text(e->args[0], schema, out);
        wr_sbuf_addz(out, " IN (");
        joined(e, schema, 1, ", ", false, out);
        wr_sbuf_addc(out, ')');
    } else if (strcmp(name, "ITEM") == 0) {
        sub_text(e->args[0], schema, out);
        wr_sbuf_addc(out, '[');
        wr_expr_text(e->args[1], schema, out);
        wr_sbuf_addc(out, ']');
    } else if (strcmp(name, "FIELD") == 0) {
        const wr_impl *impl = e->impl;
        wr_str         f = e->args[0]->type.names[impl->extra[0]];
        sub_text(e->args[0], schema, out);
        wr_sbuf_printf(out, ".%.*s", WR_FMT(f));
    } else if (strcmp(name, "ARRAY") == 0 || strcmp(name, "MAP") == 0) {
        wr_sbuf_printf(out, "%s[", name);
        joined(e, schema, 0, ", ", false, out);
        wr_sbuf_addc(out, ']');
    } else if (e->n_args >= 2 && strcmp(name, "ROW") != 0 && strncmp(name, "JSON", 4) != 0) {
        char sep[24];
        snprintf(sep, sizeof sep, " %s ", strcmp(name, "SIMILAR") == 0 ? "SIMILAR TO" : name);
        bool escape = e->n_args == 3 && (strstr(name, "LIKE") || strcmp(name, "SIMILAR") == 0);
        if (!escape) {
            joined(e, schema, 0, sep, true, out);
            return;
        }
        sub_text(e->args[0], schema, out), wr_sbuf_addz(out, sep), sub_text(e->args[1], schema, out);
        wr_sbuf_addz(out, " ESCAPE "), sub_text(e->args[2], schema, out);
    } else {
        wr_sbuf_printf(out, "%s(", name);
        joined(e, schema, 0, ", ", false, out);
        wr_sbuf_addc(out, ')');
    }
}

void wr_expr_text(const wr_expr *e, const wr_schema *schema, wr_sbuf *out) {
    if (e->kind == WR_E_COL) {
        if (schema && e->col < schema->n) wr_sbuf_add_str(out, schema->fields[e->col].name);
        else wr_sbuf_printf(out, "$%u", e->col);
    } else if (e->kind == WR_E_CONST) {
        const_text(&e->value, out);
    } else if (e->fn->flags & FN_OPERATOR) {
        operator_text(e, schema, out);
    } else if (strcmp(e->fn->name, "EXTRACT") == 0 || strncmp(e->fn->name, "TIMESTAMP", 9) == 0) { /* the unit is the last argument */
        wr_str unit = e->args[e->n_args - 1]->value.s;
        wr_sbuf_printf(out, "%s(%.*s%s", e->fn->name, WR_FMT(unit), e->fn->name[0] == 'E' ? " FROM " : ", ");
        for (uint32_t i = 0; i + 1 < e->n_args; i++) {
            if (i) wr_sbuf_addz(out, ", ");
            wr_expr_text(e->args[i], schema, out);
        }
        wr_sbuf_addc(out, ')');
    } else {
        wr_sbuf_printf(out, "%s(", e->fn->name);
        joined(e, schema, 0, ", ", false, out);
        wr_sbuf_addc(out, ')');
    }
}

/* ---- folding ---- */
static bool is_const_bool(const wr_expr *e, bool value) { return e->kind == WR_E_CONST && !e->value.null && e->value.b == value; }

/* TRUE AND x -> x, FALSE AND x -> FALSE, and the same for OR with the values exchanged. */
static wr_expr *fold_logic(wr_expr_ctx *ctx, wr_expr *e, bool is_and) {
    uint32_t keep = 0;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (is_const_bool(e->args[i], !is_and)) return keep == 0 ? e->args[i] : e; /* what stands before may fail: keep the order */
        keep += !is_const_bool(e->args[i], is_and);
    }
    if (keep == e->n_args) return e;
    if (keep == 0) return expr_bool(ctx, is_and, e->at);
    wr_expr **args = wr_new_n(ctx->arena, wr_expr *, keep);
    keep = 0;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!is_const_bool(e->args[i], is_and)) args[keep++] = e->args[i];
    if (keep == 1) return args[0];
    wr_expr *copy = wr_new(ctx->arena, wr_expr);
    *copy = *e;
    copy->args = args, copy->n_args = keep;
    return copy;
}

/* Drops branches with a constant condition that is not TRUE; takes the first that is TRUE as ELSE. */
static wr_expr *fold_case(wr_expr_ctx *ctx, wr_expr *e) {
    wr_expr **args = wr_new_n(ctx->arena, wr_expr *, e->n_args);
    uint32_t  n = 0;
    wr_expr  *otherwise = e->args[e->n_args - 1];
    for (uint32_t i = 0; i + 1 < e->n_args; i += 2) {
        if (is_const_bool(e->args[i], true)) {
            otherwise = e->args[i + 1];
            break;
        }
        if (e->args[i]->kind == WR_E_CONST) continue;
        args[n++] = e->args[i], args[n++] = e->args[i + 1];
    }
    if (n == 0) return otherwise;
    args[n++] = otherwise;
    if (n == e->n_args) return e;
    wr_expr *copy = wr_new(ctx->arena, wr_expr);
    *copy = *e;
    copy->args = args, copy->n_args = n;
    return copy;
}

wr_expr *wr_expr_fold(wr_expr_ctx *ctx, wr_expr *e) {
    if (!e || e->kind != WR_E_CALL) return e;
    wr_expr **args = wr_new_n(ctx->arena, wr_expr *, e->n_args ? e->n_args : 1);
    bool      changed = false, all_const = true;
    for (uint32_t i = 0; i < e->n_args; i++) {
        args[i] = wr_expr_fold(ctx, e->args[i]);
        changed |= args[i] != e->args[i];
        all_const &= args[i]->kind == WR_E_CONST;
    }
    if (changed) {
        wr_expr *copy = wr_new(ctx->arena, wr_expr);
        *copy = *e;
        copy->args = args;
        e = copy;
    }
    if (wr_expr_is_call(e, "AND")) e = fold_logic(ctx, e, true);
    else if (wr_expr_is_call(e, "OR")) e = fold_logic(ctx, e, false);
    else if (wr_expr_is_call(e, "CASE")) e = fold_case(ctx, e);
    if (e->kind != WR_E_CALL || !all_const) return e;
    const wr_impl *impl = e->impl;
    if (impl->flags & (FN_RANDOM | FN_QUERY_TIME)) return e;
    wr_value v;
    wr_err   err;
    if (wr_expr_eval_const(ctx, e, &v, &err) != WR_OK) return e; /* it may stand behind a guard: it fails when it is reached */
    wr_type t = e->type;
    v.type = v.null ? wr_type_with_null(t, true) : t;
    return wr_expr_const(ctx->arena, v, e->at);
}
