/* plan/show.c: SHOW and DESCRIBE as text.
 *
 * Idea       plain lines, one object a line; catalogs and databases: spaces.c; SHOW CREATE gives a statement that can be run again.
 * Memory     the caller's buffer.                                                                                     */
#include "plan/logical.h"

bool pl_show_like(const wr_ast_show *s, wr_str name) { /* % and _ */
    if (!s->like.text.ptr) return true;
    const char *p = s->like.text.ptr, *pe = p + s->like.text.len, *n = name.ptr, *ne = n + name.len, *star = NULL, *back = NULL;
    bool        hit;
    for (;;) {
        if (n == ne) {
            while (p < pe && *p == '%') p++;
            hit = p == pe;
            break;
        }
        if (p < pe && *p == '%') star = ++p, back = n;
        else if (p < pe && (*p == '_' || *p == *n)) p++, n++;
        else if (star) p = star, n = ++back;
        else {
            hit = false;
            break;
        }
    }
    return hit != s->not_like;
}

static void quote(wr_sbuf *b, wr_str s) {
    wr_sbuf_addc(b, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'') wr_sbuf_addc(b, '\'');
        wr_sbuf_addc(b, s.ptr[i]);
    }
    wr_sbuf_addc(b, '\'');
}

static void ident(wr_sbuf *b, wr_str s) { wr_sql_ident_text((wr_ast_ident){.text = s, .quoted = true}, b); }

static void create_column(const wr_column *c, wr_sbuf *b) {
    wr_sbuf_addz(b, "  ");
    ident(b, c->name);
    wr_sbuf_addc(b, ' ');
    if (c->kind == WR_COLUMN_COMPUTED) {
        wr_sbuf_addz(b, "AS ");
        wr_sql_expr_text(c->expr, b);
        return;
    }
    wr_type_text(c->type, b);
    if (c->kind == WR_COLUMN_METADATA) {
        wr_sbuf_addz(b, " METADATA");
        if (!wr_str_eq(c->metadata_key, c->name)) wr_sbuf_addz(b, " FROM "), quote(b, c->metadata_key);
        if (c->is_virtual) wr_sbuf_addz(b, " VIRTUAL");
    }
}

static void object_name(const wr_catalog *c, const wr_table *t, wr_sbuf *b) {
    wr_str          object;
    const wr_space *s = wr_catalog_space_of(c, t->name, &object);
    if (!wr_space_is_default(s)) ident(b, s->catalog), wr_sbuf_addc(b, '.'), ident(b, s->database), wr_sbuf_addc(b, '.');
    ident(b, object);
}

static void create_table(const wr_catalog *catalog, const wr_table *t, wr_sbuf *b) {
    wr_sbuf_addz(b, "CREATE TABLE ");
    object_name(catalog, t, b);
    wr_sbuf_addz(b, " (\n");
    for (uint32_t i = 0; i < t->n_columns; i++) {
        if (i) wr_sbuf_addz(b, ",\n");
        create_column(&t->columns[i], b);
    }
    if (t->watermark_column >= 0) {
        wr_sbuf_addz(b, ",\n  WATERMARK FOR ");
        ident(b, t->columns[t->watermark_column].name);
        wr_sbuf_addz(b, " AS ");
        wr_sql_expr_text(t->watermark, b);
    }
    if (t->n_key) {
        wr_sbuf_addz(b, ",\n  PRIMARY KEY (");
        for (uint32_t i = 0; i < t->n_key; i++) {
            if (i) wr_sbuf_addz(b, ", ");
            ident(b, t->columns[t->key[i]].name);
        }
        wr_sbuf_addz(b, ") NOT ENFORCED");
    }
    wr_sbuf_addz(b, "\n) WITH (\n");
    for (uint32_t i = 0; i < t->n_options; i++) {
        wr_sbuf_addz(b, i ? ",\n  " : "  ");
        quote(b, t->options[i].key);
        wr_sbuf_addz(b, " = ");
        quote(b, t->options[i].value);
    }
    wr_sbuf_addz(b, "\n)\n");
}

static void create_view(const wr_catalog *catalog, const wr_table *t, wr_sbuf *b) {
    wr_sbuf_addz(b, t->is_materialized ? "CREATE MATERIALIZED VIEW " : "CREATE VIEW ");
    object_name(catalog, t, b);
    for (uint32_t i = 0; i < t->n_view_columns; i++) {
        wr_sbuf_addz(b, i ? ", " : " (");
        ident(b, t->view_columns[i]);
    }
    if (t->n_view_columns) wr_sbuf_addc(b, ')');
    for (uint32_t i = 0; i < t->n_options; i++) {
        wr_sbuf_addz(b, i ? ", " : " WITH (");
        quote(b, t->options[i].key);
        wr_sbuf_addz(b, " = ");
        quote(b, t->options[i].value);
    }
    wr_sbuf_addz(b, t->n_options ? ") AS\n" : " AS\n");
    wr_sql_format_query(t->query, b);
    wr_sbuf_addc(b, '\n');
}

static void user_functions(const wr_ast_show *s, const wr_catalog *c, wr_sbuf *b) {
    for (uint32_t i = 0; i < wr_catalog_n_functions(c); i++)
        if (pl_show_like(s, wr_catalog_function_at(c, i)->name)) pl_user_function_line(wr_catalog_function_at(c, i), b);
}

static void functions(const wr_ast_show *s, wr_sbuf *b) {
    for (size_t i = 0; i < wr_fn_count(); i++) {
        wr_str name, kind, signatures, summary;
        wr_fn_describe(i, &name, &kind, &signatures, &summary);
        if (wr_str_eq(kind, WR_STR("operator")) || !pl_show_like(s, name)) continue;
        wr_sbuf_printf(b, "%-28.*s %-14.*s %.*s\n", WR_FMT(name), WR_FMT(kind), WR_FMT(summary));
    }
    for (int k = 0; k < WR_AGG_KIND_COUNT; k++) {
        wr_str name = wr_str_of(wr_agg_name((wr_agg_kind)k));
        if (wr_agg_exists(name) && pl_show_like(s, name)) wr_sbuf_printf(b, "%-28.*s %-14s aggregate\n", WR_FMT(name), "aggregate");
    }
}

static bool tables(pl *p, const wr_ast_show *s, wr_sbuf *out) {
    const wr_catalog *c = p->ctx->catalog;
    const wr_space   *in = pl_database(p, &s->name, 0);
    for (uint32_t i = 0; in && i < wr_catalog_count(c); i++) {
        const wr_table *t = wr_catalog_at(c, i);
        wr_str          object;
        bool            wanted = s->kind == WR_SHOW_TABLES || (t->is_view && (s->kind == WR_SHOW_VIEWS || t->is_materialized));
        if (wr_catalog_space_of(c, t->name, &object) == in && wanted && pl_show_like(s, object)) wr_sbuf_printf(out, "%.*s\n", WR_FMT(object));
    }
    return in != NULL;
}

bool pl_show(pl *p, const wr_ast_stmt *stmt, wr_sbuf *out) {
    const wr_ast_show *s = &stmt->show;
    const wr_catalog  *c = p->ctx->catalog;
    switch (s->kind) {
    case WR_SHOW_CATALOGS:
    case WR_SHOW_DATABASES: return pl_show_spaces(p, s, out);
    case WR_SHOW_CURRENT_CATALOG: wr_sbuf_printf(out, "%.*s\n", WR_FMT(wr_catalog_current(c)->catalog)); return true;
    case WR_SHOW_CURRENT_DATABASE: wr_sbuf_printf(out, "%.*s\n", WR_FMT(wr_catalog_current(c)->database)); return true;
    case WR_SHOW_TABLES:
    case WR_SHOW_VIEWS:
    case WR_SHOW_MATERIALIZED_VIEWS: return tables(p, s, out);
    case WR_SHOW_FUNCTIONS:
    case WR_SHOW_USER_FUNCTIONS:
        if (s->kind == WR_SHOW_FUNCTIONS) functions(s, out);
        user_functions(s, c, out);
        return true;
    case WR_SHOW_CREATE_TABLE:
    case WR_SHOW_CREATE_VIEW: {
        const wr_table *t = pl_find_table(p, &s->name, s->kind == WR_SHOW_CREATE_TABLE ? "table" : "view");
        if (!t) return false;
        if (t->is_view) create_view(c, t, out);
        else create_table(c, t, out);
        return true;
    }
    case WR_SHOW_MODULES:
        if (wr_catalog_has_core(c)) wr_sbuf_addz(out, "core\n");
        return true;
    case WR_SHOW_FULL_MODULES: wr_sbuf_addz(out, wr_catalog_has_core(c) ? "core true\n" : "core false\n"); return true;
    case WR_SHOW_JARS:
    case WR_SHOW_PROCEDURES: return true; /* there are none */
    case WR_SHOW_COLUMNS: {
        wr_ast_stmt d = *stmt;
        d.kind = WR_STMT_DESCRIBE;
        d.describe = (wr_ast_describe){.what = WR_OBJ_TABLE, .name = s->name};
        return pl_describe(p, &d, out);
    }
    default: return pl_unsupported(p, stmt->at, "SHOW TABLES, VIEWS, FUNCTIONS, COLUMNS FROM t, CREATE TABLE t, CREATE VIEW v", "this SHOW"), false;
    }
}

static bool is_key(const wr_table *t, uint32_t col) {
    for (uint32_t i = 0; i < t->n_key; i++)
        if (t->key[i] == col) return true;
    return false;
}

bool pl_describe(pl *p, const wr_ast_stmt *stmt, wr_sbuf *out) {
    if (stmt->describe.what == WR_OBJ_DATABASE || stmt->describe.what == WR_OBJ_CATALOG) return pl_describe_space(p, &stmt->describe, out);
    if (stmt->describe.what == WR_OBJ_FUNCTION) return pl_describe_function(p, stmt, out);
    if (stmt->describe.what != WR_OBJ_TABLE && stmt->describe.what != WR_OBJ_VIEW) return pl_unsupported(p, stmt->at, "DESCRIBE takes a table or view", "this DESCRIBE"), false;
    const wr_table *t = pl_find_table(p, &stmt->describe.name, "table or view");
    if (!t) return false;
    wr_schema s;
    if (t->is_view) {
        lnode *n = pl_bind_query(p, t->query, NULL, false);
        if (!n) return false;
        s = n->schema;
    } else {
        tinfo *ti = pl_table_info(p, t);
        if (ti->bad) return false;
        s = ti->schema;
    }
    wr_sbuf type = {0};
    for (uint32_t i = 0; i < s.n; i++) {
        wr_str name = t->is_view && i < t->n_view_columns ? t->view_columns[i] : s.fields[i].name;
        wr_sbuf_clear(&type);
        wr_type_text(s.fields[i].type, &type);
        wr_sbuf_printf(out, "%-24.*s %-36.*s", WR_FMT(name), WR_FMT(wr_sbuf_str(&type)));
        if (!t->is_view) {
            if (is_key(t, i)) wr_sbuf_addz(out, " PRIMARY KEY");
            if (t->columns[i].kind == WR_COLUMN_COMPUTED) wr_sbuf_addz(out, " AS "), wr_sql_expr_text(t->columns[i].expr, out);
            if (t->columns[i].kind == WR_COLUMN_METADATA) wr_sbuf_printf(out, " METADATA '%.*s'", WR_FMT(t->columns[i].metadata_key));
            if (t->watermark_column == (int32_t)i) wr_sbuf_addz(out, " WATERMARK "), wr_sql_expr_text(t->watermark, out);
        }
        while (out->len && out->at[out->len - 1] == ' ') out->len--;
        wr_sbuf_addc(out, '\n');
    }
    wr_sbuf_free(&type);
    return true;
}
