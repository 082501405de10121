/* sql/build.c: builders of names, literals, expressions and types, called by the grammar's actions.
 *
 * Idea       a builder fills one node, joins the spans of its parts and computes its depth; special call syntaxes become plain calls.
 * Invariant  never fails: what is wrong is noted in the context, and the driver drops the statement. Depth is checked here, once.
 * Not here   queries and FROM (build_query.c), statements (build_stmt.c).                                             */
#include "parse.h"
#include "grammar.h"
#include <stdarg.h>
#include <stdio.h>

void wr_parse_fail(wr_parse *ctx, const char *code, wr_span at, const char *fmt, ...) {
    if (ctx->failed) return; /* what follows is a consequence */
    ctx->failed = true;
    char    text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wr_diags_add(ctx->diags, WR_SEV_ERROR, code, at, "%s", text);
}

wr_span wr_token_span(const wr_parse *ctx, const wr_token *token) { return (wr_span){ctx->file, token->line, token->col, token->chars}; }
wr_str  wr_token_text(const wr_parse *ctx, const wr_token *token) { return (wr_str){ctx->text + token->begin, token->end - token->begin}; }

wr_str wr_upper(wr_arena *arena, wr_str s) {
    char *out = wr_arena_strndup(arena, s.ptr, s.len);
    for (size_t i = 0; i < s.len; i++) out[i] = (char)(out[i] >= 'a' && out[i] <= 'z' ? out[i] - 32 : out[i]);
    return (wr_str){out, s.len};
}

void wr_mk_deepen(wr_parse *ctx, uint16_t *depth, wr_span at, unsigned child) {
    if (child + 1 <= *depth) return;
    if (child + 1 > WR_AST_DEPTH_MAX) {
        wr_parse_fail(ctx, "54001", at, "nested too deeply: more than %d levels", WR_AST_DEPTH_MAX);
        return;
    }
    *depth = (uint16_t)(child + 1);
}

/* ---- names and texts ---- */

/* Copies [from, to) with every doubled `quote` made single. */
static wr_str undouble(wr_arena *arena, const char *from, const char *to, char quote) {
    char  *out = wr_arena_alloc(arena, (size_t)(to - from) + 1);
    size_t n = 0;
    for (; from < to; from++) {
        out[n++] = *from;
        if (*from == quote) from++;
    }
    out[n] = 0;
    return (wr_str){out, n};
}

wr_ast_ident wr_mk_ident(wr_parse *ctx, const wr_token *token) {
    wr_ast_ident id = {.quoted = token->quoted, .at = wr_token_span(ctx, token)};
    wr_str       s = wr_token_text(ctx, token);
    if (token->quoted) id.text = undouble(ctx->arena, s.ptr + 1, s.ptr + s.len - 1, '`');
    else id.text = (wr_str){wr_arena_strndup(ctx->arena, s.ptr, s.len), s.len};
    return id;
}

wr_ast_name *wr_mk_name(wr_parse *ctx, const wr_token *token) {
    wr_ast_name *name = wr_new(ctx->arena, wr_ast_name);
    name->part = wr_new(ctx->arena, wr_ast_ident);
    name->part[0] = wr_mk_ident(ctx, token);
    name->n = 1;
    name->at = name->part[0].at;
    return name;
}

wr_ast_name *wr_mk_name_add(wr_parse *ctx, wr_ast_name *name, const wr_token *token) {
    if (name->n == 32) {
        wr_parse_fail(ctx, "54001", name->at, "a name has at most 32 parts");
        return name;
    }
    if ((name->n & (name->n - 1)) == 0) { /* room doubles at powers of two */
        wr_ast_ident *part = wr_new_n(ctx->arena, wr_ast_ident, name->n * 2);
        memcpy(part, name->part, name->n * sizeof *part);
        name->part = part;
    }
    name->part[name->n++] = wr_mk_ident(ctx, token);
    name->at = wr_span_join(name->at, wr_token_span(ctx, token));
    return name;
}

static uint32_t hex_value(const char *at, size_t n) {
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) v = v * 16 + (uint32_t)(at[i] <= '9' ? at[i] - '0' : (at[i] | 32) - 'a' + 10);
    return v;
}

/* U&'..': the lexer has checked the escapes. */
static wr_str unicode_text(wr_arena *arena, wr_str s) {
    char  *out = wr_arena_alloc(arena, s.len + 4);
    size_t n = 0;
    for (size_t i = 0; i < s.len;) {
        if (s.ptr[i] != '\\') {
            out[n++] = s.ptr[i++];
        } else if (s.ptr[i + 1] == '\\') {
            out[n++] = '\\';
            i += 2;
        } else {
            bool     wide = s.ptr[i + 1] == '+';
            uint32_t c = wide ? hex_value(s.ptr + i + 2, 6) : hex_value(s.ptr + i + 1, 4);
            char     utf8[4];
            size_t   len = wr_utf8_put(utf8, c);
            memcpy(out + n, utf8, len); /* an escape is longer than its UTF-8 */
            n += len;
            i += wide ? 8 : 5;
        }
    }
    out[n] = 0;
    return (wr_str){out, n};
}

wr_ast_text wr_mk_text(wr_parse *ctx, const wr_token *token) {
    wr_ast_text text = {.at = wr_token_span(ctx, token)};
    wr_str      s = wr_token_text(ctx, token);
    if (token->code != TK_STRING) { /* hint arguments may be words and numbers */
        text.text = token->quoted ? undouble(ctx->arena, s.ptr + 1, s.ptr + s.len - 1, '`')
                                  : (wr_str){wr_arena_strndup(ctx->arena, s.ptr, s.len), s.len};
        return text;
    }
    const char *open = memchr(s.ptr, '\'', s.len);
    text.text = undouble(ctx->arena, open + 1, s.ptr + s.len - 1, '\'');
    if (open - s.ptr == 2) text.text = unicode_text(ctx->arena, text.text);
    return text;
}

int64_t wr_mk_int(wr_parse *ctx, const wr_token *token, int64_t max) {
    wr_str  s = wr_token_text(ctx, token);
    int64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        v = v * 10 + (s.ptr[i] - '0');
        if (v > max) {
            wr_parse_fail(ctx, "22003", wr_token_span(ctx, token), "number %.*s is too large here", (int)WR_MIN(s.len, 40), s.ptr);
            return max;
        }
    }
    return v;
}

static wr_ast_unit unit_of(const wr_token *token) {
    switch (token->code) {
    case TK_YEAR: return WR_UNIT_YEAR;
    case TK_QUARTER: return WR_UNIT_QUARTER;
    case TK_MONTH: return WR_UNIT_MONTH;
    case TK_WEEK: return WR_UNIT_WEEK;
    case TK_DAY: return WR_UNIT_DAY;
    case TK_HOUR: return WR_UNIT_HOUR;
    case TK_MINUTE: return WR_UNIT_MINUTE;
    case TK_SECOND: return WR_UNIT_SECOND;
    default: return WR_UNIT_NONE;
    }
}

/* ---- expressions ---- */

wr_ast_expr *wr_mk_expr(wr_parse *ctx, wr_ast_expr_kind kind, wr_span at) {
    wr_ast_expr *e = wr_new(ctx->arena, wr_ast_expr);
    e->kind = kind;
    e->depth = 1;
    e->at = at;
    return e;
}

static void deepen_by(wr_parse *ctx, wr_ast_expr *e, const wr_ast_expr *child) {
    if (child) wr_mk_deepen(ctx, &e->depth, e->at, child->depth);
}

static void deepen_by_list(wr_parse *ctx, wr_ast_expr *e, const wr_ast_exprs *list) {
    for (uint32_t i = 0; i < list->n; i++) deepen_by(ctx, e, list->at[i]);
}

uint16_t wr_mk_orders_depth(const wr_ast_orders *orders) {
    uint16_t depth = 0;
    for (uint32_t i = 0; i < orders->n; i++) depth = WR_MAX(depth, orders->at[i].expr->depth);
    return depth;
}

wr_ast_expr *wr_mk_literal(wr_parse *ctx, wr_ast_literal_kind kind, const wr_token *token) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_LITERAL, wr_token_span(ctx, token));
    wr_str       s = wr_token_text(ctx, token);
    e->lit.kind = kind;
    e->lit.p = e->lit.s = -1;
    if (kind == WR_LIT_STRING) {
        e->lit.text = wr_mk_text(ctx, token).text;
    } else if (kind == WR_LIT_BINARY) {
        size_t n = (s.len - 3) / 2;
        char  *bytes = wr_arena_alloc(ctx->arena, n + 1);
        for (size_t i = 0; i < n; i++) bytes[i] = (char)hex_value(s.ptr + 2 + 2 * i, 2);
        bytes[n] = 0;
        e->lit.text = (wr_str){bytes, n};
    } else {
        e->lit.text = (wr_str){wr_arena_strndup(ctx->arena, s.ptr, s.len), s.len};
    }
    return e;
}

wr_ast_expr *wr_mk_time_literal(wr_parse *ctx, wr_ast_literal_kind kind, const wr_token *keyword, const wr_token *token) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_LITERAL, wr_span_join(wr_token_span(ctx, keyword), wr_token_span(ctx, token)));
    e->lit.kind = kind;
    e->lit.text = wr_mk_text(ctx, token).text;
    e->lit.p = e->lit.s = -1;
    return e;
}

wr_ast_expr *wr_mk_interval(wr_parse *ctx, const wr_token *token, bool negative, const wr_token *text, wr_ast_type *qualifier) {
    wr_ast_expr *e = wr_mk_time_literal(ctx, WR_LIT_INTERVAL, token, text);
    e->at = wr_span_join(e->at, qualifier->at);
    e->lit.negative = negative;
    e->lit.unit_from = qualifier->unit_from;
    e->lit.unit_to = qualifier->unit_to;
    e->lit.p = qualifier->p;
    e->lit.s = qualifier->s;
    return e;
}

wr_ast_expr *wr_mk_column(wr_parse *ctx, wr_ast_name *name) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_COLUMN, name->at);
    e->name = *name;
    return e;
}

wr_ast_expr *wr_mk_star(wr_parse *ctx, wr_ast_name *name, const wr_token *star) {
    wr_span      at = wr_token_span(ctx, star);
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_STAR, name ? wr_span_join(name->at, at) : at);
    if (name) e->name = *name;
    return e;
}

wr_ast_expr *wr_mk_unary(wr_parse *ctx, wr_ast_op op, const wr_token *token, wr_ast_expr *arg) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_UNARY, wr_span_join(wr_token_span(ctx, token), arg->at));
    e->unary.op = op;
    e->unary.arg = arg;
    deepen_by(ctx, e, arg);
    return e;
}

wr_ast_expr *wr_mk_binary(wr_parse *ctx, wr_ast_op op, const wr_token *token, wr_ast_expr *left, wr_ast_expr *right) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_BINARY, wr_span_join(left->at, right->at));
    e->binary.op = op;
    e->binary.left = left;
    e->binary.right = right;
    e->binary.op_at = token ? wr_token_span(ctx, token) : e->at;
    deepen_by(ctx, e, left);
    deepen_by(ctx, e, right);
    return e;
}

wr_ast_expr *wr_mk_logic(wr_parse *ctx, wr_ast_op op, wr_ast_expr *left, wr_ast_expr *right) {
    wr_ast_expr *e = left;
    if (left->kind != WR_AST_LOGIC || left->logic.op != op) {
        e = wr_mk_expr(ctx, WR_AST_LOGIC, left->at);
        e->logic.op = op;
        LIST_ADD(ctx, &e->logic.args, left);
        deepen_by(ctx, e, left);
    }
    LIST_ADD(ctx, &e->logic.args, right);
    e->at = wr_span_join(e->at, right->at);
    deepen_by(ctx, e, right);
    return e;
}

wr_ast_expr *wr_mk_is(wr_parse *ctx, wr_ast_expr *arg, wr_ast_is what, bool negated, wr_ast_expr *other) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_IS, other ? wr_span_join(arg->at, other->at) : arg->at);
    e->is.arg = arg;
    e->is.what = what;
    e->is.negated = negated;
    e->is.other = other;
    deepen_by(ctx, e, arg);
    deepen_by(ctx, e, other);
    return e;
}

wr_ast_expr *wr_mk_between(wr_parse *ctx, wr_ast_expr *arg, bool negated, bool symmetric, wr_ast_expr *low, wr_ast_expr *high) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_BETWEEN, wr_span_join(arg->at, high->at));
    e->between.arg = arg;
    e->between.low = low;
    e->between.high = high;
    e->between.negated = negated;
    e->between.symmetric = symmetric;
    deepen_by(ctx, e, arg);
    deepen_by(ctx, e, low);
    deepen_by(ctx, e, high);
    return e;
}

wr_ast_expr *wr_mk_in(wr_parse *ctx, wr_ast_expr *arg, bool negated, wr_ast_exprs *list, wr_ast_query *query) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_IN, arg->at);
    e->in.arg = arg;
    e->in.negated = negated;
    e->in.query = query;
    deepen_by(ctx, e, arg);
    if (list) {
        e->in.list = *list;
        deepen_by_list(ctx, e, list);
    }
    if (query) wr_mk_deepen(ctx, &e->depth, e->at, query->depth);
    return e;
}

wr_ast_expr *wr_mk_like(wr_parse *ctx, wr_ast_expr *arg, wr_ast_like kind, bool negated, wr_ast_expr *pattern, wr_ast_expr *escape) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_LIKE, wr_span_join(arg->at, escape ? escape->at : pattern->at));
    e->like.arg = arg;
    e->like.kind = kind;
    e->like.negated = negated;
    e->like.pattern = pattern;
    e->like.escape = escape;
    deepen_by(ctx, e, arg);
    deepen_by(ctx, e, pattern);
    deepen_by(ctx, e, escape);
    return e;
}

wr_ast_expr *wr_mk_query_expr(wr_parse *ctx, wr_ast_expr_kind kind, wr_span at, wr_ast_query *query) {
    wr_ast_expr *e = wr_mk_expr(ctx, kind, at);
    e->query = query;
    wr_mk_deepen(ctx, &e->depth, at, query->depth);
    return e;
}

wr_ast_expr *wr_mk_quantified(wr_parse *ctx, wr_ast_expr *arg, wr_ast_op op, wr_ast_quantifier quantifier, wr_ast_query *query,
                              wr_ast_exprs *list) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_QUANTIFIED, arg->at);
    e->quant.op = op;
    e->quant.quantifier = quantifier;
    e->quant.arg = arg;
    e->quant.query = query;
    deepen_by(ctx, e, arg);
    if (query) wr_mk_deepen(ctx, &e->depth, e->at, query->depth);
    if (list) {
        e->quant.list = *list;
        deepen_by_list(ctx, e, list);
    }
    return e;
}

wr_ast_expr *wr_mk_case(wr_parse *ctx, const wr_token *token, wr_ast_expr *arg, wr_ast_exprs *whens, wr_ast_expr *otherwise) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_CASE, wr_token_span(ctx, token));
    e->cases.arg = arg;
    e->cases.otherwise = otherwise;
    for (uint32_t i = 0; i + 1 < whens->n; i += 2) LIST_ADD(ctx, &e->cases.whens, (wr_ast_when){whens->at[i], whens->at[i + 1]});
    deepen_by(ctx, e, arg);
    deepen_by(ctx, e, otherwise);
    deepen_by_list(ctx, e, whens);
    return e;
}

wr_ast_expr *wr_mk_cast(wr_parse *ctx, const wr_token *token, wr_ast_expr *arg, wr_ast_type *type, bool is_try) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_CAST, wr_span_join(wr_token_span(ctx, token), type->at));
    e->cast.arg = arg;
    e->cast.type = type;
    e->cast.is_try = is_try;
    deepen_by(ctx, e, arg);
    wr_mk_deepen(ctx, &e->depth, e->at, type->depth);
    return e;
}

wr_ast_expr *wr_mk_list(wr_parse *ctx, wr_ast_expr_kind kind, const wr_token *token, bool keyword, wr_ast_exprs *args) {
    wr_ast_expr *e = wr_mk_expr(ctx, kind, wr_token_span(ctx, token));
    e->row.keyword = keyword;
    if (args) {
        e->row.args = *args;
        deepen_by_list(ctx, e, args);
        e->at = wr_span_join(e->at, args->at[args->n - 1]->at);
    }
    return e;
}

wr_ast_expr *wr_mk_collect(wr_parse *ctx, const wr_token *token, wr_ast_query *query, wr_ast_exprs *args) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_COLLECT, wr_token_span(ctx, token));
    wr_str       what = wr_upper(ctx->arena, wr_token_text(ctx, token));
    snprintf(e->collect.what, sizeof e->collect.what, "%s", what.ptr);
    e->collect.query = query;
    if (query) wr_mk_deepen(ctx, &e->depth, e->at, query->depth);
    if (args) {
        e->collect.args = *args;
        deepen_by_list(ctx, e, args);
    }
    return e;
}

wr_ast_expr *wr_mk_index(wr_parse *ctx, wr_ast_expr *arg, wr_ast_expr *index) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_INDEX, wr_span_join(arg->at, index->at));
    e->index.arg = arg;
    e->index.index = index;
    deepen_by(ctx, e, arg);
    deepen_by(ctx, e, index);
    return e;
}

wr_ast_expr *wr_mk_field(wr_parse *ctx, wr_ast_expr *arg, const wr_token *name) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_FIELD, wr_span_join(arg->at, wr_token_span(ctx, name)));
    e->field.arg = arg;
    e->field.name = wr_mk_ident(ctx, name);
    deepen_by(ctx, e, arg);
    return e;
}

wr_ast_expr *wr_mk_symbol(wr_parse *ctx, const wr_token *token) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_SYMBOL, wr_token_span(ctx, token));
    wr_ast_unit unit = unit_of(token);
    e->symbol = unit && !token->quoted ? wr_str_of(wr_ast_unit_name(unit)) : wr_upper(ctx->arena, wr_token_text(ctx, token));
    return e;
}

/* ---- calls ---- */

static wr_ast_expr *new_call(wr_parse *ctx, wr_ast_name *name) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_CALL, name->at);
    e->call.name = *name;
    e->call.nulls = e->call.running = -1;
    return e;
}

wr_ast_expr *wr_mk_call(wr_parse *ctx, wr_ast_name *name, wr_mk_args *args) {
    wr_ast_expr *e = new_call(ctx, name);
    e->call.args = args->list;
    e->call.distinct = args->distinct;
    wr_str f = name->part[0].text;
    if (name->n == 1 && args->list.n == 3 && (wr_str_ieq(f, WR_STR("TIMESTAMPADD")) || wr_str_ieq(f, WR_STR("TIMESTAMPDIFF")))) {
        wr_ast_expr *unit = args->list.at[0]; /* the unit was read as a column */
        if (unit->kind == WR_AST_COLUMN && unit->name.n == 1 && !unit->name.part[0].quoted) {
            wr_str text = wr_upper(ctx->arena, unit->name.part[0].text);
            unit->kind = WR_AST_SYMBOL;
            unit->symbol = text;
        }
    }
    deepen_by_list(ctx, e, &args->list);
    return e;
}

static wr_ast_expr *upper_call(wr_parse *ctx, const wr_token *token) {
    wr_ast_name *name = wr_mk_name(ctx, token);
    name->part[0].text = wr_upper(ctx->arena, name->part[0].text);
    return new_call(ctx, name);
}

wr_ast_expr *wr_mk_special(wr_parse *ctx, const wr_token *token, uint32_t n, wr_ast_expr *const *args) {
    wr_ast_expr *e = upper_call(ctx, token);
    for (uint32_t i = 0; i < n; i++) {
        wr_ast_expr *arg = args[i];
        if (!arg && i == 0) { /* TRIM(x FROM y) is TRIM(BOTH x FROM y) */
            arg = wr_mk_expr(ctx, WR_AST_SYMBOL, e->at);
            arg->symbol = WR_STR("BOTH");
        } else if (!arg) { /* TRIM(BOTH FROM y) takes blanks away */
            arg = wr_mk_expr(ctx, WR_AST_LITERAL, e->at);
            arg->lit.kind = WR_LIT_STRING;
            arg->lit.text = WR_STR(" ");
            arg->lit.p = arg->lit.s = -1;
        }
        LIST_ADD(ctx, &e->call.args, arg);
        deepen_by(ctx, e, arg);
    }
    return e;
}

wr_ast_expr *wr_mk_json(wr_parse *ctx, const wr_token *token, wr_ast_exprs *args, wr_ast_json *json) {
    wr_ast_expr *e = upper_call(ctx, token);
    e->call.json = json;
    if (args) {
        e->call.args = *args;
        deepen_by_list(ctx, e, args);
    }
    if (json) {
        deepen_by(ctx, e, json->empty_default);
        deepen_by(ctx, e, json->error_default);
        if (json->returning) wr_mk_deepen(ctx, &e->depth, e->at, json->returning->depth);
    }
    return e;
}

void wr_mk_json_on(wr_parse *ctx, wr_ast_json *json, const wr_token *where, wr_ast_json_on what, wr_ast_expr *value) {
    if (where->code == TK_EMPTY) {
        json->on_empty = what;
        json->empty_default = value;
    } else if (where->code == TK_ERROR) {
        json->on_error = what;
        json->error_default = value;
    } else {
        json->on_null = what;
        if (what != WR_JSON_ON_NULL && what != WR_JSON_ON_ABSENT) {
            wr_parse_fail(ctx, "42601", wr_token_span(ctx, where), "only NULL or ABSENT can stand before ON NULL");
        }
    }
    if (where->code != TK_ON && what == WR_JSON_ON_ABSENT) {
        wr_parse_fail(ctx, "42601", wr_token_span(ctx, where), "ABSENT can only stand before ON NULL");
    }
}

wr_ast_expr *wr_mk_niladic(wr_parse *ctx, const wr_token *token) {
    wr_ast_expr *e = upper_call(ctx, token);
    e->call.no_parens = true;
    return e;
}

wr_ast_expr *wr_mk_named_arg(wr_parse *ctx, wr_ast_name *name, wr_ast_expr *value) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_NAMED_ARG, wr_span_join(name->at, value->at));
    if (name->n != 1) wr_parse_fail(ctx, "42601", name->at, "an argument name has one part");
    e->named.name = name->part[0];
    e->named.value = value;
    deepen_by(ctx, e, value);
    return e;
}

wr_ast_expr *wr_mk_descriptor(wr_parse *ctx, const wr_token *token, wr_ast_names *columns) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_DESCRIPTOR, wr_token_span(ctx, token));
    e->descriptor.columns = *columns;
    e->at = wr_span_join(e->at, columns->at[columns->n - 1].at);
    return e;
}

wr_ast_expr *wr_mk_table_arg(wr_parse *ctx, const wr_token *token, wr_ast_ref *ref, wr_ast_expr *partition, wr_ast_order *order) {
    wr_ast_expr *e = wr_mk_expr(ctx, WR_AST_TABLE_ARG, wr_span_join(wr_token_span(ctx, token), ref->at));
    e->table_arg.ref = ref;
    wr_mk_deepen(ctx, &e->depth, e->at, ref->depth);
    if (partition) {
        deepen_by(ctx, e, partition);
        if (partition->kind == WR_AST_ROW && !partition->row.keyword) e->table_arg.partition_by = partition->row.args;
        else LIST_ADD(ctx, &e->table_arg.partition_by, partition);
    }
    if (order) {
        deepen_by(ctx, e, order->expr);
        if (order->expr->kind == WR_AST_ROW && !order->expr->row.keyword) {
            for (uint32_t i = 0; i < order->expr->row.args.n; i++) {
                wr_ast_expr *part = order->expr->row.args.at[i];
                LIST_ADD(ctx, &e->table_arg.order_by, (wr_ast_order){part, order->desc, order->nulls, part->at});
            }
        } else {
            LIST_ADD(ctx, &e->table_arg.order_by, *order);
        }
    }
    return e;
}

void wr_mk_call_filter(wr_parse *ctx, wr_ast_expr *call, wr_ast_expr *filter) {
    if (call->call.filter) wr_parse_fail(ctx, "42601", filter->at, "FILTER is given twice");
    call->call.filter = filter;
    deepen_by(ctx, call, filter);
}

void wr_mk_call_within(wr_parse *ctx, wr_ast_expr *call, wr_ast_orders *orders) {
    if (call->call.within_group.n) wr_parse_fail(ctx, "42601", orders->at[0].at, "WITHIN GROUP is given twice");
    call->call.within_group = *orders;
    wr_mk_deepen(ctx, &call->depth, call->at, wr_mk_orders_depth(orders));
}

void wr_mk_call_over(wr_parse *ctx, wr_ast_expr *call, wr_ast_window *window) {
    call->call.over = window;
    deepen_by_list(ctx, call, &window->partition_by);
    wr_mk_deepen(ctx, &call->depth, call->at, wr_mk_orders_depth(&window->order_by));
    deepen_by(ctx, call, window->start.offset);
    deepen_by(ctx, call, window->end.offset);
}

/* ---- types ---- */

const char *wr_ast_unit_name(wr_ast_unit unit) {
    static const char *const NAMES[] = {"", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"};
    return NAMES[unit];
}

static wr_ast_type *new_type(wr_parse *ctx, wr_ast_type_kind kind, wr_span at) {
    wr_ast_type *t = wr_new(ctx->arena, wr_ast_type);
    t->kind = kind;
    t->depth = 1;
    t->nullable = -1;
    t->p = t->s = -1;
    t->at = at;
    return t;
}

static const struct type_name {
    const char      *name;
    wr_ast_type_kind kind;
    uint8_t          params;    /* how many numbers it may take */
    int32_t          min, max;  /* of the first */
} TYPE_NAMES[] = {
    {"BOOLEAN", WR_AST_TYPE_BOOLEAN, 0, 0, 0},
    {"TINYINT", WR_AST_TYPE_TINYINT, 0, 0, 0},
    {"SMALLINT", WR_AST_TYPE_SMALLINT, 0, 0, 0},
    {"INT", WR_AST_TYPE_INT, 0, 0, 0},
    {"INTEGER", WR_AST_TYPE_INT, 0, 0, 0},
    {"BIGINT", WR_AST_TYPE_BIGINT, 0, 0, 0},
    {"FLOAT", WR_AST_TYPE_FLOAT, 0, 0, 0},
    {"DOUBLE", WR_AST_TYPE_DOUBLE, 0, 0, 0},
    {"DECIMAL", WR_AST_TYPE_DECIMAL, 2, 1, 38},
    {"DEC", WR_AST_TYPE_DECIMAL, 2, 1, 38},
    {"NUMERIC", WR_AST_TYPE_DECIMAL, 2, 1, 38},
    {"CHAR", WR_AST_TYPE_CHAR, 1, 1, INT32_MAX},
    {"CHARACTER", WR_AST_TYPE_CHAR, 1, 1, INT32_MAX},
    {"VARCHAR", WR_AST_TYPE_VARCHAR, 1, 1, INT32_MAX},
    {"STRING", WR_AST_TYPE_STRING, 0, 0, 0},
    {"BINARY", WR_AST_TYPE_BINARY, 1, 1, INT32_MAX},
    {"VARBINARY", WR_AST_TYPE_VARBINARY, 1, 1, INT32_MAX},
    {"BYTES", WR_AST_TYPE_BYTES, 0, 0, 0},
    {"DATE", WR_AST_TYPE_DATE, 0, 0, 0},
    {"TIME", WR_AST_TYPE_TIME, 1, 0, 9},
    {"TIMESTAMP", WR_AST_TYPE_TIMESTAMP, 1, 0, 9},
    {"TIMESTAMP_LTZ", WR_AST_TYPE_TIMESTAMP_LTZ, 1, 0, 9},
    {"VARIANT", WR_AST_TYPE_VARIANT, 0, 0, 0},
};

static const struct type_name *find_type(wr_str name) {
    for (size_t i = 0; i < WR_COUNT_OF(TYPE_NAMES); i++) {
        if (wr_str_ieq(name, wr_str_of(TYPE_NAMES[i].name))) return &TYPE_NAMES[i];
    }
    return NULL;
}

/* Second word: DOUBLE PRECISION, CHARACTER VARYING, BINARY VARYING. */
static void second_word(wr_parse *ctx, wr_ast_type *t, const wr_token *second) {
    if (second->code == TK_PRECISION && t->kind == WR_AST_TYPE_DOUBLE) return;
    if (second->code == TK_VARYING && t->kind == WR_AST_TYPE_CHAR) t->kind = WR_AST_TYPE_VARCHAR;
    else if (second->code == TK_VARYING && t->kind == WR_AST_TYPE_BINARY) t->kind = WR_AST_TYPE_VARBINARY;
    else wr_parse_fail(ctx, "42601", wr_token_span(ctx, second), "%s cannot stand behind this type", second->code == TK_VARYING ? "VARYING" : "PRECISION");
}

wr_ast_type *wr_mk_type(wr_parse *ctx, wr_ast_name *name, int32_t p, int32_t s, const wr_token *second) {
    const struct type_name *known = name->n == 1 && !name->part[0].quoted ? find_type(name->part[0].text) : NULL;
    wr_ast_type            *t = new_type(ctx, known ? known->kind : WR_AST_TYPE_NAMED, name->at);
    t->p = p;
    t->s = s;
    if (!known) {
        t->name = *name;
        if (second) wr_parse_fail(ctx, "42601", wr_token_span(ctx, second), "unexpected word behind the type");
        return t;
    }
    if (p >= 0 && known->params == 0) wr_parse_fail(ctx, "42601", t->at, "type %s takes no length or precision", known->name);
    else if (s >= 0 && known->params == 1) wr_parse_fail(ctx, "42601", t->at, "type %s takes one number, not two", known->name);
    else if (p >= 0 && (p < known->min || p > known->max)) {
        wr_parse_fail(ctx, "42611", t->at, "%s of %s is from %d to %d, not %d", known->min == 1 && known->params == 1 ? "length" : "precision",
                      known->name, known->min, known->max, p);
    } else if (s > p) {
        wr_parse_fail(ctx, "42611", t->at, "scale of %s is at most its precision (%d), not %d", known->name, p, s);
    }
    if (second) second_word(ctx, t, second);
    return t;
}

wr_ast_type *wr_mk_type_zone(wr_parse *ctx, wr_ast_type *type, wr_ast_type_kind kind, const wr_token *token) {
    if (type->kind == WR_AST_TYPE_TIMESTAMP) type->kind = kind;
    else if (type->kind != WR_AST_TYPE_TIME || kind != WR_AST_TYPE_TIMESTAMP) {
        wr_parse_fail(ctx, "42601", wr_token_span(ctx, token), "only TIMESTAMP can be WITH TIME ZONE");
    }
    return type;
}

wr_ast_type *wr_mk_type_of(wr_parse *ctx, wr_ast_type_kind kind, wr_span at, wr_ast_type *key, wr_ast_type *elem) {
    wr_ast_type *t = new_type(ctx, kind, at);
    t->key = key;
    t->elem = elem;
    if (key) wr_mk_deepen(ctx, &t->depth, at, key->depth);
    if (elem) wr_mk_deepen(ctx, &t->depth, at, elem->depth);
    return t;
}

wr_ast_type *wr_mk_type_interval(wr_parse *ctx, const wr_token *from, int64_t p, int64_t s, const wr_token *to, int64_t s_to) {
    wr_ast_type *t = new_type(ctx, WR_AST_TYPE_INTERVAL, wr_token_span(ctx, from));
    t->unit_from = unit_of(from);
    t->unit_to = to ? unit_of(to) : WR_UNIT_NONE;
    t->p = (int32_t)p;
    t->s = (int32_t)(to ? s_to : s);
    if (to) {
        t->at = wr_span_join(t->at, wr_token_span(ctx, to));
        bool months = t->unit_from == WR_UNIT_YEAR && t->unit_to == WR_UNIT_MONTH;
        bool times = t->unit_from >= WR_UNIT_DAY && t->unit_to > t->unit_from;
        if (!months && !times) {
            wr_parse_fail(ctx, "42601", t->at, "there is no interval from %s to %s", wr_ast_unit_name(t->unit_from), wr_ast_unit_name(t->unit_to));
        }
    }
    if (t->s >= 0 && (to ? t->unit_to : t->unit_from) != WR_UNIT_SECOND) {
        wr_parse_fail(ctx, "42601", t->at, "only SECOND takes a precision of its fraction");
    }
    return t;
}

void wr_mk_type_field(wr_parse *ctx, wr_ast_type *row, wr_ast_name *name, wr_ast_type *type, const wr_token *comment) {
    wr_ast_field field = {.type = type};
    if (name) {
        if (name->n != 1) wr_parse_fail(ctx, "42601", name->at, "a field name has one part");
        field.name = name->part[0];
    }
    if (!name) field.name = (wr_ast_ident){.text = WR_STR("f0"), .at = type->at};
    if (comment) field.comment = wr_mk_text(ctx, comment);
    row->p = name ? -1 : 0; /* for wr_mk_type_add: the name was put in */
    LIST_ADD(ctx, &row->fields, field);
    wr_mk_deepen(ctx, &row->depth, row->at, type->depth);
}

void wr_mk_type_add(wr_parse *ctx, wr_ast_type *row, const wr_ast_type *one) {
    wr_ast_field field = one->fields.at[0];
    if (one->p == 0) {
        field.name.text.ptr = wr_arena_printf(ctx->arena, "f%u", row->fields.n);
        field.name.text.len = strlen(field.name.text.ptr);
    }
    LIST_ADD(ctx, &row->fields, field);
    wr_mk_deepen(ctx, &row->depth, one->at, one->depth - 1u);
}
