/* sql/format_query.c: queries and FROM back to text.
 *
 * Idea       laid out: one clause a line, queries in FROM and WITH indented by two; a list that would make a line longer than
 *            LINE_MAX_CHARS is broken one entry a line. One-line form: the same with blanks.
 * Invariant  as format_expr.c.                                                                                        */
#include "format.h"
#include "parse.h"

#define OUT(text) wr_sbuf_addz(p->out, (text))

enum { LINE_MAX_CHARS = 100 };

static void line(wr_printer *p) {
    if (!p->pretty) {
        OUT(" ");
        return;
    }
    OUT("\n");
    for (int i = 0; i < p->indent; i++) OUT(" ");
}

/* ( query ) with the query on its own lines. */
static void print_parens(wr_printer *p, const wr_ast_query *q) {
    OUT("(");
    if (p->pretty) {
        p->indent += 2;
        line(p);
        wr_print_query(p, q);
        p->indent -= 2;
        line(p);
    } else {
        wr_print_query(p, q);
    }
    OUT(")");
}

/* ---- hints ---- */

static void print_hint_word(wr_printer *p, wr_str s) {
    bool digits = s.len > 0;
    for (size_t i = 0; i < s.len; i++) digits = digits && s.ptr[i] >= '0' && s.ptr[i] <= '9';
    if (digits || !wr_sql_needs_quotes(s)) wr_sbuf_add_str(p->out, s);
    else wr_print_string(p->out, s);
}

static void print_hints(wr_printer *p, const wr_ast_hints *hints) {
    if (!hints->n) return;
    OUT(" /*+ ");
    for (uint32_t i = 0; i < hints->n; i++) {
        const wr_ast_hint *h = &hints->at[i];
        if (i) OUT(", ");
        wr_sql_ident_text(h->name, p->out);
        if (!h->args.n) continue;
        OUT("(");
        for (uint32_t k = 0; k < h->args.n; k++) {
            const wr_ast_hint_arg *a = &h->args.at[k];
            if (k) OUT(", ");
            if (a->value.text.ptr) wr_print_string(p->out, a->key.text), OUT(" = "), wr_print_string(p->out, a->value.text);
            else print_hint_word(p, a->key.text);
        }
        OUT(")");
    }
    OUT(" */");
}

/* ---- FROM ---- */

static void print_pattern(wr_printer *p, const wr_ast_pattern *x, int level); /* level: 0 alternatives, 1 sequence, 2 repeated */

static void print_parts(wr_printer *p, const wr_ast_pattern *x, const char *sep, int level) {
    for (uint32_t i = 0; i < x->parts.n; i++) {
        if (i) OUT(sep);
        print_pattern(p, x->parts.at[i], level);
    }
}

static void print_repeat(wr_printer *p, const wr_ast_pattern *x) {
    print_pattern(p, x->parts.at[0], 3);
    if (x->min == 0 && x->max == -1) OUT("*");
    else if (x->min == 1 && x->max == -1) OUT("+");
    else if (x->min == 0 && x->max == 1) OUT("?");
    else if (x->min == x->max) wr_sbuf_printf(p->out, "{%d}", x->min);
    else if (x->max == -1) wr_sbuf_printf(p->out, "{%d,}", x->min);
    else wr_sbuf_printf(p->out, "{%d,%d}", x->min, x->max);
    if (x->reluctant) OUT("?");
}

static void print_pattern(wr_printer *p, const wr_ast_pattern *x, int level) {
    int own = x->kind == WR_PAT_ALT ? 0 : x->kind == WR_PAT_CONCAT ? 1 : x->kind == WR_PAT_REPEAT ? 2 : 3;
    if (own < level) OUT("(");
    switch (x->kind) {
    case WR_PAT_SYMBOL: wr_sql_ident_text(x->symbol, p->out); break;
    case WR_PAT_CONCAT: print_parts(p, x, " ", 2); break;
    case WR_PAT_ALT: print_parts(p, x, " | ", 1); break;
    case WR_PAT_REPEAT: print_repeat(p, x); break;
    case WR_PAT_PERMUTE: OUT("PERMUTE("), print_parts(p, x, ", ", 0), OUT(")"); break;
    case WR_PAT_EXCLUDE: OUT("{- "), print_parts(p, x, "", 0), OUT(" -}"); break;
    case WR_PAT_EMPTY: OUT("()"); break;
    case WR_PAT_START: OUT("^"); break;
    case WR_PAT_END: OUT("$"); break;
    }
    if (own < level) OUT(")");
}

static void print_match(wr_printer *p, const wr_ast_match *m) {
    wr_print_ref(p, m->input);
    OUT(" MATCH_RECOGNIZE (");
    p->indent += 2;
    if (m->partition_by.n) line(p), OUT("PARTITION BY "), wr_print_exprs(p, &m->partition_by);
    if (m->order_by.n) line(p), OUT("ORDER BY "), wr_print_orders(p, &m->order_by);
    for (uint32_t i = 0; i < m->measures.n; i++) {
        if (i) OUT(", ");
        else line(p), OUT("MEASURES ");
        wr_print_expr(p, m->measures.at[i].expr, LEVEL_ANY);
        OUT(" AS ");
        wr_sql_ident_text(m->measures.at[i].alias, p->out);
    }
    if (m->all_rows >= 0) line(p), OUT(m->all_rows ? "ALL ROWS PER MATCH" : "ONE ROW PER MATCH");
    if (m->after != WR_AFTER_UNSAID) {
        static const char *const TEXT[] = {"", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST ", "TO LAST "};
        line(p), OUT("AFTER MATCH SKIP "), OUT(TEXT[m->after]);
        if (m->after_symbol.text.ptr) wr_sql_ident_text(m->after_symbol, p->out);
    }
    line(p), OUT("PATTERN ("), print_pattern(p, m->pattern, 0), OUT(")");
    if (m->within) OUT(" WITHIN "), wr_print_expr(p, m->within, LEVEL_ADD);
    for (uint32_t i = 0; i < m->subsets.n; i++) {
        if (i) OUT(", ");
        else line(p), OUT("SUBSET ");
        wr_sql_ident_text(m->subsets.at[i].name, p->out);
        OUT(" = ");
        wr_print_idents(p->out, &m->subsets.at[i].symbols);
    }
    for (uint32_t i = 0; i < m->defines.n; i++) {
        if (i) OUT(", ");
        else line(p), OUT("DEFINE ");
        wr_sql_ident_text(m->defines.at[i].symbol, p->out);
        OUT(" AS ");
        wr_print_expr(p, m->defines.at[i].expr, LEVEL_ANY);
    }
    p->indent -= 2;
    line(p), OUT(")");
}

static void print_ref_parens(wr_printer *p, const wr_ast_ref *r, bool parens) {
    if (parens) OUT("(");
    wr_print_ref(p, r);
    if (parens) OUT(")");
}

static void print_join(wr_printer *p, const wr_ast_ref *r) {
    static const char *const TEXT[] = {"JOIN ", "LEFT JOIN ", "RIGHT JOIN ", "FULL JOIN ", "CROSS JOIN "};
    const wr_ast_ref *left = r->join.left, *right = r->join.right;
    bool              comma = r->join.kind == WR_AST_JOIN_COMMA;
    bool              left_comma = left->kind == WR_AST_REF_JOIN && left->join.kind == WR_AST_JOIN_COMMA;
    bool              right_comma = right->kind == WR_AST_REF_JOIN && right->join.kind == WR_AST_JOIN_COMMA;
    print_ref_parens(p, left, left_comma && !comma);
    if (comma) OUT(",");
    p->indent += 2;
    line(p);
    p->indent -= 2;
    if (r->join.natural) OUT("NATURAL ");
    if (!comma) OUT(TEXT[r->join.kind]);
    p->indent += 2;
    print_ref_parens(p, right, comma ? right_comma : right->kind == WR_AST_REF_JOIN);
    p->indent -= 2;
    if (r->join.on) OUT(" ON "), wr_print_expr(p, r->join.on, LEVEL_ANY);
    if (r->join.using.n) OUT(" USING "), wr_print_idents(p->out, &r->join.using);
}

void wr_print_ref(wr_printer *p, const wr_ast_ref *r) {
    wr_ast_expr *as_of = NULL;
    if (r->lateral) OUT("LATERAL ");
    switch (r->kind) {
    case WR_AST_REF_NAME:
        wr_sql_name_text(r->table.name, p->out);
        print_hints(p, &r->hints);
        as_of = r->table.as_of;
        break;
    case WR_AST_REF_QUERY:
        print_parens(p, r->derived.query);
        as_of = r->derived.as_of;
        break;
    case WR_AST_REF_FUNCTION:
        if (r->table_keyword) OUT("TABLE(");
        wr_print_expr(p, r->call, LEVEL_ANY);
        if (r->table_keyword) OUT(")");
        print_hints(p, &r->hints);
        break;
    case WR_AST_REF_UNNEST:
        OUT("UNNEST(");
        wr_print_exprs(p, &r->unnest);
        OUT(")");
        if (r->with_ordinality) OUT(" WITH ORDINALITY");
        break;
    case WR_AST_REF_JOIN: print_join(p, r); break;
    case WR_AST_REF_MATCH: print_match(p, r->match); break;
    }
    if (as_of) OUT(" FOR SYSTEM_TIME AS OF "), wr_print_expr(p, as_of, LEVEL_ADD);
    if (!r->alias.text.ptr) return;
    OUT(" AS ");
    wr_sql_ident_text(r->alias, p->out);
    if (r->columns.n) wr_print_idents(p->out, &r->columns);
}

/* ---- SELECT ---- */

static void print_item(wr_printer *p, const wr_ast_item *item) {
    wr_print_expr(p, item->expr, LEVEL_ANY);
    if (item->alias.text.ptr) OUT(" AS "), wr_sql_ident_text(item->alias, p->out);
}

static void print_items(wr_printer *p, const wr_ast_select *s) {
    size_t start = p->out->len;
    OUT(" ");
    for (uint32_t i = 0; i < s->items.n; i++) {
        if (i) OUT(", ");
        print_item(p, &s->items.at[i]);
    }
    if (!p->pretty || s->items.n < 2 || p->out->len - start <= LINE_MAX_CHARS) return;
    p->out->len = start; /* too long: again, one a line */
    p->indent += 2;
    for (uint32_t i = 0; i < s->items.n; i++) {
        if (i) OUT(",");
        line(p);
        print_item(p, &s->items.at[i]);
    }
    p->indent -= 2;
}

static void print_group(wr_printer *p, const wr_ast_group *g) {
    static const char *const TEXT[] = {"", "", "ROLLUP", "CUBE", "GROUPING SETS "};
    if (g->kind == WR_GROUP_EXPR) {
        wr_print_expr(p, g->exprs.at[0], LEVEL_ANY);
        return;
    }
    OUT(TEXT[g->kind]);
    OUT("(");
    wr_print_exprs(p, &g->exprs);
    for (uint32_t i = 0; i < g->items.n; i++) {
        if (i) OUT(", ");
        print_group(p, g->items.at[i]);
    }
    OUT(")");
}

static void print_select(wr_printer *p, const wr_ast_select *s) {
    OUT("SELECT");
    print_hints(p, &s->hints);
    if (s->distinct) OUT(" DISTINCT");
    if (s->all) OUT(" ALL");
    print_items(p, s);
    if (s->from) line(p), OUT("FROM "), wr_print_ref(p, s->from);
    if (s->where) line(p), OUT("WHERE "), wr_print_expr(p, s->where, LEVEL_ANY);
    for (uint32_t i = 0; i < s->group_by.n; i++) {
        if (i) OUT(", ");
        else line(p), OUT("GROUP BY ");
        print_group(p, s->group_by.at[i]);
    }
    if (s->having) line(p), OUT("HAVING "), wr_print_expr(p, s->having, LEVEL_ANY);
    for (uint32_t i = 0; i < s->windows.n; i++) {
        if (i) OUT(", ");
        else line(p), OUT("WINDOW ");
        wr_sql_ident_text(s->windows.at[i].name, p->out);
        OUT(" AS ");
        wr_print_window(p, s->windows.at[i].window);
    }
    if (s->qualify) line(p), OUT("QUALIFY "), wr_print_expr(p, s->qualify, LEVEL_ANY);
}

/* ---- queries ---- */

static void print_values(wr_printer *p, const wr_ast_query *q) {
    OUT("VALUES ");
    p->indent += 2;
    for (uint32_t i = 0; i < q->rows.n; i++) {
        if (i) OUT(",");
        if (i) line(p);
        wr_print_expr(p, q->rows.at[i], LEVEL_ANY);
    }
    p->indent -= 2;
}

static void print_operand(wr_printer *p, const wr_ast_query *q, bool parens) {
    if (parens || q->with.n || q->order_by.n || q->limit || q->offset || q->kind == WR_AST_QUERY_NESTED) print_parens(p, q);
    else wr_print_query(p, q);
}

static void print_set(wr_printer *p, const wr_ast_query *q) {
    static const char *const TEXT[] = {"UNION", "INTERSECT", "EXCEPT"};
    const wr_ast_query *left = q->left, *right = q->set.right;
    bool                tight = q->set.op == WR_AST_INTERSECT; /* binds more than the other two */
    bool                left_loose = left->kind == WR_AST_QUERY_SET && left->set.op != WR_AST_INTERSECT;
    bool                right_set = right->kind == WR_AST_QUERY_SET;
    print_operand(p, left, tight && left_loose);
    line(p), OUT(TEXT[q->set.op]), OUT(q->set.all ? " ALL" : "");
    line(p), print_operand(p, right, right_set && (tight || right->set.op != WR_AST_INTERSECT));
}

static void print_with(wr_printer *p, const wr_ast_query *q) {
    OUT(q->recursive ? "WITH RECURSIVE " : "WITH ");
    for (uint32_t i = 0; i < q->with.n; i++) {
        const wr_ast_cte *c = &q->with.at[i];
        if (i) OUT(","), line(p);
        wr_sql_ident_text(c->name, p->out);
        if (c->columns.n) OUT(" "), wr_print_idents(p->out, &c->columns);
        OUT(" AS ");
        print_parens(p, c->query);
    }
    line(p);
}

void wr_print_query(wr_printer *p, const wr_ast_query *q) {
    if (q->with.n) print_with(p, q);
    switch (q->kind) {
    case WR_AST_QUERY_SELECT: print_select(p, &q->select); break;
    case WR_AST_QUERY_VALUES: print_values(p, q); break;
    case WR_AST_QUERY_TABLE: OUT("TABLE "), wr_sql_name_text(q->table, p->out); break;
    case WR_AST_QUERY_SET: print_set(p, q); break;
    case WR_AST_QUERY_NESTED: print_parens(p, q->left); break;
    }
    if (q->order_by.n) line(p), OUT("ORDER BY "), wr_print_orders(p, &q->order_by);
    if (q->limit) line(p), OUT("LIMIT "), wr_print_expr(p, q->limit, LEVEL_ADD);
    if (q->offset) line(p), OUT("OFFSET "), wr_print_expr(p, q->offset, LEVEL_ADD);
}

void wr_sql_format_query(const wr_ast_query *query, wr_sbuf *out) {
    wr_printer p = {.out = out, .pretty = true};
    wr_print_query(&p, query);
}

void wr_sql_query_text(const wr_ast_query *query, wr_sbuf *out) {
    wr_printer p = {.out = out};
    wr_print_query(&p, query);
}
