/* sql/format_expr.c: names, types and expressions back to text.
 *
 * Idea       one printer for the one-line and the laid-out form; parentheses are put where the grammar's levels ask for them, so what
 *            was in parentheses in vain loses them.
 * Invariant  the text parses to a tree that prints the same text. Recursion is bounded by the depth of the tree.          */
#include "format.h"
#include "parse.h"

#define OUT(text) wr_sbuf_addz(p->out, (text))

void wr_sql_ident_text(wr_ast_ident ident, wr_sbuf *out) {
    if (!wr_sql_needs_quotes(ident.text)) {
        wr_sbuf_add_str(out, ident.text);
        return;
    }
    wr_sbuf_addc(out, '`');
    for (size_t i = 0; i < ident.text.len; i++) {
        if (ident.text.ptr[i] == '`') wr_sbuf_addc(out, '`');
        wr_sbuf_addc(out, ident.text.ptr[i]);
    }
    wr_sbuf_addc(out, '`');
}

void wr_sql_name_text(wr_ast_name name, wr_sbuf *out) {
    for (uint32_t i = 0; i < name.n; i++) {
        if (i) wr_sbuf_addc(out, '.');
        wr_sql_ident_text(name.part[i], out);
    }
}

void wr_print_idents(wr_sbuf *out, const wr_ast_idents *list) {
    wr_sbuf_addc(out, '(');
    for (uint32_t i = 0; i < list->n; i++) {
        if (i) wr_sbuf_addz(out, ", ");
        wr_sql_ident_text(list->at[i], out);
    }
    wr_sbuf_addc(out, ')');
}

void wr_print_string(wr_sbuf *out, wr_str s) {
    wr_sbuf_addc(out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'') wr_sbuf_addc(out, '\'');
        wr_sbuf_addc(out, s.ptr[i]);
    }
    wr_sbuf_addc(out, '\'');
}

/* ---- types ---- */

static const char *const TYPE_TEXT[] = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "CHAR", "VARCHAR", "STRING", "BINARY", "VARBINARY", "BYTES",
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "ARRAY", "MULTISET", "MAP", "ROW", "NULL", "VARIANT", "",
};

static void print_numbers(wr_printer *p, int32_t a, int32_t b) {
    if (a < 0) return;
    wr_sbuf_printf(p->out, "(%d", a);
    if (b >= 0) wr_sbuf_printf(p->out, ", %d", b);
    OUT(")");
}

static void print_qualifier(wr_printer *p, wr_ast_unit from, wr_ast_unit to, int32_t precision, int32_t scale) {
    OUT(wr_ast_unit_name(from));
    print_numbers(p, precision, to ? -1 : scale);
    if (!to) return;
    OUT(" TO ");
    OUT(wr_ast_unit_name(to));
    print_numbers(p, scale, -1);
}

static void print_row_type(wr_printer *p, const wr_ast_type *t) {
    OUT("ROW<");
    for (uint32_t i = 0; i < t->fields.n; i++) {
        const wr_ast_field *f = &t->fields.at[i];
        if (i) OUT(", ");
        wr_sql_ident_text(f->name, p->out);
        OUT(" ");
        wr_print_type(p, f->type);
        if (f->comment.text.ptr) OUT(" "), wr_print_string(p->out, f->comment.text);
    }
    OUT(">");
}

void wr_print_type(wr_printer *p, const wr_ast_type *t) {
    switch (t->kind) {
    case WR_AST_TYPE_ARRAY:
    case WR_AST_TYPE_MULTISET:
        OUT(TYPE_TEXT[t->kind]);
        OUT("<");
        wr_print_type(p, t->elem);
        OUT(">");
        break;
    case WR_AST_TYPE_MAP:
        OUT("MAP<");
        wr_print_type(p, t->key);
        OUT(", ");
        wr_print_type(p, t->elem);
        OUT(">");
        break;
    case WR_AST_TYPE_ROW: print_row_type(p, t); break;
    case WR_AST_TYPE_INTERVAL:
        OUT("INTERVAL ");
        print_qualifier(p, t->unit_from, t->unit_to, t->p, t->s);
        break;
    case WR_AST_TYPE_NAMED:
        wr_sql_name_text(t->name, p->out);
        print_numbers(p, t->p, t->s);
        break;
    default:
        OUT(TYPE_TEXT[t->kind]);
        print_numbers(p, t->p, t->s);
        if (t->kind == WR_AST_TYPE_TIMESTAMP_TZ) OUT(" WITH TIME ZONE");
        break;
    }
    if (t->nullable == 0) OUT(" NOT NULL");
    if (t->nullable == 1) OUT(" NULL");
}

/* ---- expressions ---- */

const char *wr_ast_op_text(wr_ast_op op) {
    static const char *const TEXT[] = {"-", "+", "NOT", "+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "OVERLAPS"};
    return TEXT[op];
}

static int level_of(const wr_ast_expr *e) {
    switch (e->kind) {
    case WR_AST_LOGIC: return e->logic.op == WR_AST_OR ? LEVEL_OR : LEVEL_AND;
    case WR_AST_UNARY: return e->unary.op == WR_AST_NOT ? LEVEL_NOT : LEVEL_UNARY;
    case WR_AST_BINARY:
        switch (e->binary.op) {
        case WR_AST_ADD:
        case WR_AST_SUB: return LEVEL_ADD;
        case WR_AST_MUL:
        case WR_AST_DIV:
        case WR_AST_MOD:
        case WR_AST_CONCAT: return LEVEL_MUL;
        case WR_AST_OVERLAPS: return LEVEL_PRED;
        default: return LEVEL_CMP;
        }
    case WR_AST_IS:
    case WR_AST_QUANTIFIED: return LEVEL_CMP;
    case WR_AST_BETWEEN:
    case WR_AST_IN:
    case WR_AST_LIKE: return LEVEL_PRED;
    default: return LEVEL_POSTFIX;
    }
}

void wr_print_exprs(wr_printer *p, const wr_ast_exprs *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        if (i) OUT(", ");
        wr_print_expr(p, list->at[i], LEVEL_ANY);
    }
}

void wr_print_orders(wr_printer *p, const wr_ast_orders *orders) {
    for (uint32_t i = 0; i < orders->n; i++) {
        const wr_ast_order *o = &orders->at[i];
        if (i) OUT(", ");
        wr_print_expr(p, o->expr, LEVEL_ANY);
        if (o->desc) OUT(" DESC");
        if (o->nulls >= 0) OUT(o->nulls ? " NULLS LAST" : " NULLS FIRST");
    }
}

static void print_bound(wr_printer *p, const wr_ast_bound *b) {
    switch (b->kind) {
    case WR_BOUND_UNBOUNDED_PRECEDING: OUT("UNBOUNDED PRECEDING"); break;
    case WR_BOUND_UNBOUNDED_FOLLOWING: OUT("UNBOUNDED FOLLOWING"); break;
    case WR_BOUND_CURRENT: OUT("CURRENT ROW"); break;
    case WR_BOUND_PRECEDING:
    case WR_BOUND_FOLLOWING:
        wr_print_expr(p, b->offset, LEVEL_ADD);
        OUT(b->kind == WR_BOUND_PRECEDING ? " PRECEDING" : " FOLLOWING");
        break;
    }
}

void wr_print_window(wr_printer *p, const wr_ast_window *w) {
    if (w->bare) {
        wr_sql_ident_text(w->base, p->out);
        return;
    }
    const char *sep = "";
    OUT("(");
    if (w->base.text.ptr) wr_sql_ident_text(w->base, p->out), sep = " ";
    if (w->partition_by.n) OUT(sep), OUT("PARTITION BY "), wr_print_exprs(p, &w->partition_by), sep = " ";
    if (w->order_by.n) OUT(sep), OUT("ORDER BY "), wr_print_orders(p, &w->order_by), sep = " ";
    if (w->has_frame) {
        OUT(sep);
        OUT(w->rows ? "ROWS BETWEEN " : "RANGE BETWEEN ");
        print_bound(p, &w->start);
        OUT(" AND ");
        print_bound(p, &w->end);
    }
    OUT(")");
}

static void print_literal(wr_printer *p, const wr_ast_expr *e) {
    switch (e->lit.kind) {
    case WR_LIT_NULL: OUT("NULL"); break;
    case WR_LIT_TRUE: OUT("TRUE"); break;
    case WR_LIT_FALSE: OUT("FALSE"); break;
    case WR_LIT_UNKNOWN: OUT("UNKNOWN"); break;
    case WR_LIT_INTEGER:
    case WR_LIT_DECIMAL:
    case WR_LIT_APPROX: wr_sbuf_add_str(p->out, e->lit.text); break;
    case WR_LIT_STRING: wr_print_string(p->out, e->lit.text); break;
    case WR_LIT_BINARY:
        OUT("X'");
        for (size_t i = 0; i < e->lit.text.len; i++) wr_sbuf_printf(p->out, "%02X", (unsigned char)e->lit.text.ptr[i]);
        OUT("'");
        break;
    case WR_LIT_DATE: OUT("DATE "), wr_print_string(p->out, e->lit.text); break;
    case WR_LIT_TIME: OUT("TIME "), wr_print_string(p->out, e->lit.text); break;
    case WR_LIT_TIMESTAMP: OUT("TIMESTAMP "), wr_print_string(p->out, e->lit.text); break;
    case WR_LIT_INTERVAL:
        OUT(e->lit.negative ? "INTERVAL -" : "INTERVAL ");
        wr_print_string(p->out, e->lit.text);
        OUT(" ");
        print_qualifier(p, e->lit.unit_from, e->lit.unit_to, e->lit.p, e->lit.s);
        break;
    }
}

static void print_json_on(wr_printer *p, wr_ast_json_on what, const wr_ast_expr *value, const char *where) {
    static const char *const TEXT[] = {"", "NULL", "ERROR", "DEFAULT ", "EMPTY ARRAY", "EMPTY OBJECT", "TRUE", "FALSE", "UNKNOWN", "ABSENT"};
    if (what == WR_JSON_ON_UNSAID) return;
    OUT(" ");
    OUT(TEXT[what]);
    if (value) wr_print_expr(p, value, LEVEL_ANY);
    OUT(where);
}

static void print_json(wr_printer *p, const wr_ast_call *c) {
    bool pairs = wr_str_starts(c->name.part[0].text, WR_STR("JSON_OBJECT"));
    for (uint32_t i = 0; i < c->args.n; i++) {
        if (pairs) OUT(i == 0 ? "KEY " : i % 2 ? " VALUE " : ", KEY ");
        else if (i) OUT(", ");
        wr_print_expr(p, c->args.at[i], LEVEL_ANY);
    }
    const wr_ast_json *j = c->json;
    if (!j) return;
    if (j->returning) OUT(" RETURNING "), wr_print_type(p, j->returning);
    if (j->wrapper == WR_JSON_WRAP_WITHOUT) OUT(" WITHOUT ARRAY WRAPPER");
    if (j->wrapper == WR_JSON_WRAP_CONDITIONAL) OUT(" WITH CONDITIONAL ARRAY WRAPPER");
    if (j->wrapper == WR_JSON_WRAP_UNCONDITIONAL) OUT(" WITH UNCONDITIONAL ARRAY WRAPPER");
    print_json_on(p, j->on_null, NULL, " ON NULL");
    print_json_on(p, j->on_empty, j->empty_default, " ON EMPTY");
    print_json_on(p, j->on_error, j->error_default, " ON ERROR");
}

/* Argument list of the call forms with words inside; false if the call is an ordinary one. */
static bool print_special(wr_printer *p, const wr_ast_call *c) {
    const wr_ast_ident *f = &c->name.part[0];
    if (c->name.n != 1 || f->quoted) return false;
    wr_ast_expr *const *a = c->args.at;
    uint32_t            n = c->args.n;
    if (wr_str_eq(f->text, WR_STR("EXTRACT")) && n == 2 && a[0]->kind == WR_AST_SYMBOL) {
        wr_print_expr(p, a[0], LEVEL_ANY);
        OUT(" FROM ");
        wr_print_expr(p, a[1], LEVEL_ANY);
    } else if (wr_str_eq(f->text, WR_STR("TRIM")) && n == 3) {
        wr_print_expr(p, a[0], LEVEL_ANY);
        OUT(" ");
        wr_print_expr(p, a[1], LEVEL_ANY);
        OUT(" FROM ");
        wr_print_expr(p, a[2], LEVEL_ANY);
    } else if (wr_str_eq(f->text, WR_STR("POSITION")) && n >= 2) {
        wr_print_expr(p, a[0], LEVEL_ADD);
        OUT(" IN ");
        wr_print_expr(p, a[1], LEVEL_ANY);
        if (n > 2) OUT(" FROM "), wr_print_expr(p, a[2], LEVEL_ANY);
    } else if (wr_str_eq(f->text, WR_STR("OVERLAY")) && n >= 3) {
        wr_print_expr(p, a[0], LEVEL_ANY);
        OUT(" PLACING ");
        wr_print_expr(p, a[1], LEVEL_ANY);
        OUT(" FROM ");
        wr_print_expr(p, a[2], LEVEL_ANY);
        if (n > 3) OUT(" FOR "), wr_print_expr(p, a[3], LEVEL_ANY);
    } else if (n == 2 && a[1]->kind == WR_AST_SYMBOL) { /* FLOOR, CEIL, CEILING */
        wr_print_expr(p, a[0], LEVEL_ANY);
        OUT(" TO ");
        wr_print_expr(p, a[1], LEVEL_ANY);
    } else {
        const wr_keyword *k = wr_sql_keyword(f->text);
        if (!k || k->mode != WR_KW_CALL || !wr_str_starts(f->text, WR_STR("JSON_"))) return false;
        print_json(p, c);
    }
    return true;
}

/* The name of a function stands bare where a column's could not: LEFT(x, 2). What was quoted stays quoted if it must. */
static void print_function_name(wr_printer *p, const wr_ast_name *name) {
    for (uint32_t i = 0; i < name->n; i++) {
        if (i) OUT(".");
        if (i + 1 == name->n && !name->part[i].quoted) wr_sbuf_add_str(p->out, name->part[i].text);
        else wr_sql_ident_text(name->part[i], p->out);
    }
}

static void print_call(wr_printer *p, const wr_ast_call *c) {
    if (c->running >= 0) OUT(c->running ? "RUNNING " : "FINAL ");
    print_function_name(p, &c->name);
    if (!c->no_parens) {
        OUT("(");
        if (c->distinct) OUT("DISTINCT ");
        if (!print_special(p, c)) wr_print_exprs(p, &c->args);
        OUT(")");
    }
    if (c->within_group.n) OUT(" WITHIN GROUP (ORDER BY "), wr_print_orders(p, &c->within_group), OUT(")");
    if (c->filter) OUT(" FILTER (WHERE "), wr_print_expr(p, c->filter, LEVEL_ANY), OUT(")");
    if (c->nulls >= 0) OUT(c->nulls ? " RESPECT NULLS" : " IGNORE NULLS");
    if (c->over) OUT(" OVER "), wr_print_window(p, c->over);
}

static void print_is(wr_printer *p, const wr_ast_expr *e) {
    static const char *const JSON[] = {"JSON VALUE", "JSON OBJECT", "JSON ARRAY", "JSON SCALAR"};
    wr_print_expr(p, e->is.arg, LEVEL_CMP);
    OUT(e->is.negated ? " IS NOT " : " IS ");
    switch (e->is.what) {
    case WR_IS_NULL: OUT("NULL"); break;
    case WR_IS_TRUE: OUT("TRUE"); break;
    case WR_IS_FALSE: OUT("FALSE"); break;
    case WR_IS_UNKNOWN: OUT("UNKNOWN"); break;
    case WR_IS_JSON: OUT(JSON[e->is.json]); break;
    case WR_IS_DISTINCT:
        OUT("DISTINCT FROM ");
        wr_print_expr(p, e->is.other, LEVEL_PRED);
        break;
    }
}

static void print_pred(wr_printer *p, const wr_ast_expr *e) {
    if (e->kind == WR_AST_BETWEEN) {
        wr_print_expr(p, e->between.arg, LEVEL_PRED);
        OUT(e->between.negated ? " NOT BETWEEN " : " BETWEEN ");
        if (e->between.symmetric) OUT("SYMMETRIC ");
        wr_print_expr(p, e->between.low, LEVEL_ADD);
        OUT(" AND ");
        wr_print_expr(p, e->between.high, LEVEL_ADD);
    } else if (e->kind == WR_AST_IN) {
        wr_print_expr(p, e->in.arg, LEVEL_PRED);
        OUT(e->in.negated ? " NOT IN (" : " IN (");
        if (e->in.query) wr_print_query(p, e->in.query);
        else wr_print_exprs(p, &e->in.list);
        OUT(")");
    } else {
        static const char *const TEXT[] = {"LIKE ", "SIMILAR TO ", "ILIKE "};
        wr_print_expr(p, e->like.arg, LEVEL_PRED);
        OUT(e->like.negated ? " NOT " : " ");
        OUT(TEXT[e->like.kind]);
        wr_print_expr(p, e->like.pattern, LEVEL_ADD);
        if (e->like.escape) OUT(" ESCAPE "), wr_print_expr(p, e->like.escape, LEVEL_ADD);
    }
}

static void print_binary(wr_printer *p, const wr_ast_expr *e) {
    int level = level_of(e);
    wr_print_expr(p, e->binary.left, level);
    OUT(" ");
    OUT(wr_ast_op_text(e->binary.op));
    OUT(" ");
    wr_print_expr(p, e->binary.right, level + 1);
}

static void print_case(wr_printer *p, const wr_ast_expr *e) {
    OUT("CASE");
    if (e->cases.arg) OUT(" "), wr_print_expr(p, e->cases.arg, LEVEL_ANY);
    for (uint32_t i = 0; i < e->cases.whens.n; i++) {
        OUT(" WHEN ");
        wr_print_expr(p, e->cases.whens.at[i].when, LEVEL_ANY);
        OUT(" THEN ");
        wr_print_expr(p, e->cases.whens.at[i].then, LEVEL_ANY);
    }
    if (e->cases.otherwise) OUT(" ELSE "), wr_print_expr(p, e->cases.otherwise, LEVEL_ANY);
    OUT(" END");
}

static void print_table_arg(wr_printer *p, const wr_ast_expr *e) {
    const wr_ast_exprs  *by = &e->table_arg.partition_by;
    const wr_ast_orders *order = &e->table_arg.order_by;
    OUT("TABLE ");
    if (e->table_arg.ref->kind == WR_AST_REF_QUERY) OUT("("), wr_print_query(p, e->table_arg.ref->derived.query), OUT(")");
    else wr_sql_name_text(e->table_arg.ref->table.name, p->out);
    if (by->n) OUT(by->n > 1 ? " PARTITION BY (" : " PARTITION BY "), wr_print_exprs(p, by), OUT(by->n > 1 ? ")" : "");
    if (!order->n) return;
    if (order->n == 1) {
        OUT(" ORDER BY ");
        wr_print_orders(p, order);
        return;
    }
    OUT(" ORDER BY (");
    for (uint32_t i = 0; i < order->n; i++) {
        if (i) OUT(", ");
        wr_print_expr(p, order->at[i].expr, LEVEL_ANY);
    }
    OUT(")");
    if (order->at[0].desc) OUT(" DESC");
    if (order->at[0].nulls >= 0) OUT(order->at[0].nulls ? " NULLS LAST" : " NULLS FIRST");
}

static void print_list(wr_printer *p, const wr_ast_expr *e) {
    bool row = e->kind == WR_AST_ROW;
    if (e->kind == WR_AST_ARRAY) OUT("ARRAY");
    if (e->kind == WR_AST_MAP) OUT("MAP");
    if (row && e->row.keyword) OUT("ROW");
    OUT(row ? "(" : "[");
    wr_print_exprs(p, &e->row.args);
    OUT(row ? ")" : "]");
}

static void print_collect(wr_printer *p, const wr_ast_expr *e) {
    OUT(e->collect.what);
    if (e->collect.query) OUT("("), wr_print_query(p, e->collect.query), OUT(")");
    else OUT("["), wr_print_exprs(p, &e->collect.args), OUT("]");
}

static void print_quantified(wr_printer *p, const wr_ast_expr *e) {
    wr_print_expr(p, e->quant.arg, LEVEL_CMP);
    wr_sbuf_printf(p->out, " %s %s (", wr_ast_op_text(e->quant.op), e->quant.quantifier == WR_QUANT_ALL ? "ALL" : "ANY");
    if (e->quant.query) wr_print_query(p, e->quant.query);
    else wr_print_exprs(p, &e->quant.list);
    OUT(")");
}

static void print_unary(wr_printer *p, const wr_ast_expr *e) {
    OUT(wr_ast_op_text(e->unary.op));
    const wr_ast_expr *arg = e->unary.arg;
    bool               sign = arg->kind == WR_AST_UNARY && arg->unary.op != WR_AST_NOT;
    if (e->unary.op == WR_AST_NOT || sign) OUT(" "); /* two minus signs would start a comment */
    wr_print_expr(p, arg, level_of(e));
}

static void print_field(wr_printer *p, const wr_ast_expr *e) {
    wr_ast_expr_kind kind = e->field.arg->kind;
    bool             parens = kind == WR_AST_COLUMN || kind == WR_AST_LITERAL; /* a.b is a column, 1.b a broken number */
    if (parens) OUT("(");
    wr_print_expr(p, e->field.arg, LEVEL_POSTFIX);
    if (parens) OUT(")");
    OUT(".");
    wr_sql_ident_text(e->field.name, p->out);
}

static void print_bare(wr_printer *p, const wr_ast_expr *e) {
    switch (e->kind) {
    case WR_AST_LITERAL: print_literal(p, e); break;
    case WR_AST_COLUMN: wr_sql_name_text(e->name, p->out); break;
    case WR_AST_STAR:
        if (e->name.n) wr_sql_name_text(e->name, p->out), OUT(".");
        OUT("*");
        break;
    case WR_AST_CALL: print_call(p, &e->call); break;
    case WR_AST_UNARY: print_unary(p, e); break;
    case WR_AST_BINARY: print_binary(p, e); break;
    case WR_AST_LOGIC:
        for (uint32_t i = 0; i < e->logic.args.n; i++) {
            if (i) OUT(e->logic.op == WR_AST_OR ? " OR " : " AND ");
            wr_print_expr(p, e->logic.args.at[i], level_of(e) + 1);
        }
        break;
    case WR_AST_BETWEEN:
    case WR_AST_IN:
    case WR_AST_LIKE: print_pred(p, e); break;
    case WR_AST_EXISTS: OUT("EXISTS ("), wr_print_query(p, e->query), OUT(")"); break;
    case WR_AST_SUBQUERY: OUT("("), wr_print_query(p, e->query), OUT(")"); break;
    case WR_AST_IS: print_is(p, e); break;
    case WR_AST_CASE: print_case(p, e); break;
    case WR_AST_CAST:
        OUT(e->cast.is_try ? "TRY_CAST(" : "CAST(");
        wr_print_expr(p, e->cast.arg, LEVEL_ANY);
        OUT(" AS ");
        wr_print_type(p, e->cast.type);
        OUT(")");
        break;
    case WR_AST_ROW:
    case WR_AST_ARRAY:
    case WR_AST_MAP: print_list(p, e); break;
    case WR_AST_COLLECT: print_collect(p, e); break;
    case WR_AST_INDEX:
        wr_print_expr(p, e->index.arg, LEVEL_POSTFIX);
        OUT("[");
        wr_print_expr(p, e->index.index, LEVEL_ANY);
        OUT("]");
        break;
    case WR_AST_FIELD: print_field(p, e); break;
    case WR_AST_QUANTIFIED: print_quantified(p, e); break;
    case WR_AST_NAMED_ARG:
        wr_sql_ident_text(e->named.name, p->out);
        OUT(" => ");
        wr_print_expr(p, e->named.value, LEVEL_ANY);
        break;
    case WR_AST_DESCRIPTOR:
        OUT("DESCRIPTOR(");
        for (uint32_t i = 0; i < e->descriptor.columns.n; i++) {
            if (i) OUT(", ");
            wr_sql_name_text(e->descriptor.columns.at[i], p->out);
        }
        OUT(")");
        break;
    case WR_AST_TABLE_ARG: print_table_arg(p, e); break;
    case WR_AST_SYMBOL: wr_sbuf_add_str(p->out, e->symbol); break;
    case WR_AST_DEFAULT: OUT("DEFAULT"); break;
    }
}

void wr_print_expr(wr_printer *p, const wr_ast_expr *e, int min_level) {
    bool parens = level_of(e) < min_level, pretty = p->pretty;
    p->pretty = false; /* an expression stays on one line, with the queries in it */
    if (parens) OUT("(");
    print_bare(p, e);
    if (parens) OUT(")");
    p->pretty = pretty;
}

void wr_sql_expr_text(const wr_ast_expr *expr, wr_sbuf *out) {
    wr_printer p = {.out = out};
    wr_print_expr(&p, expr, LEVEL_ANY);
}

void wr_sql_format_type(const wr_ast_type *type, wr_sbuf *out) {
    wr_printer p = {.out = out};
    wr_print_type(&p, type);
}
