/* plan/ddl.c: CREATE TABLE (with LIKE, AS), CREATE VIEW, names of objects.
 *
 * Idea       a table whose CREATE failed is remembered by name, so that statements that use it say nothing more.
 * Invariant  wr_table.columns keep the declared order; key columns are NOT NULL.
 * Memory     the arena of the plan.                                                                                  */
#include "plan/ddl.h"

bool pl_is_broken(const pl *p, wr_str name) {
    for (uint32_t i = 0; i < p->broken.n; i++)
        if (wr_str_eq(p->broken.at[i], name)) return true;
    return false;
}

void pl_mark_broken(pl *p, wr_str name) {
    if (!pl_is_broken(p, name)) wr_arr_apush(p->arena, &p->broken, wr_str_dup(p->arena, name));
}

static wr_space *no_space(pl *p, const char *what, const wr_ast_ident *name) {
    const wr_catalog *c = p->ctx->catalog;
    bool              database = what[0] == 'd';
    wr_sbuf           all = {0};
    pl_error(p, "3F000", name->at, "%s '%.*s' not found", what, WR_FMT(name->text));
    for (uint32_t i = 0; i < wr_catalog_count_spaces(c); i++) {
        const wr_space *s = wr_catalog_space_at(c, i);
        if ((s->database.len != 0) == database) wr_sbuf_printf(&all, "%s%.*s%s%.*s", all.len ? ", " : "", WR_FMT(s->catalog), database ? "." : "", WR_FMT(s->database));
    }
    wr_diags_hint(p->diags, "there are: %.*s", WR_FMT(wr_sbuf_str(&all)));
    wr_sbuf_free(&all);
    return NULL;
}

wr_space *pl_catalog_named(pl *p, const wr_ast_ident *name) {
    wr_space *s = wr_catalog_find_space(p->ctx->catalog, name->text, WR_STR(""));
    return s ? s : no_space(p, "catalog", name);
}

static wr_space *find_database(const pl *p, const wr_ast_name *name, uint32_t n) {
    const wr_space *now = wr_catalog_current(p->ctx->catalog);
    return wr_catalog_find_space(p->ctx->catalog, n == 2 ? name->part[0].text : now->catalog, n ? name->part[n - 1].text : now->database);
}

bool pl_has_database(const pl *p, const wr_ast_name *name) { return name->n > 3 || find_database(p, name, name->n - 1); }

wr_space *pl_database(pl *p, const wr_ast_name *name, uint32_t behind) {
    uint32_t n = name->n - behind;
    if (n > 2) return pl_error(p, "42601", name->at, "a name has at most a catalog and a database before it");
    if (n == 2 && !pl_catalog_named(p, &name->part[0])) return NULL;
    wr_space *s = find_database(p, name, n);
    return s ? s : no_space(p, "database", &name->part[n - 1]);
}

bool pl_object_name(pl *p, const wr_ast_name *name, wr_str *out) {
    const wr_space *s = pl_database(p, name, 1);
    if (s) *out = wr_catalog_name_in(p->ctx->catalog, s, name->part[name->n - 1].text);
    return s != NULL;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '`'; }

/* Does a statement that did not parse create it? Then its own error is enough. Looks for TABLE name or VIEW name in the text. */
static bool created_by_bad_text(const pl *p, wr_str name) {
    for (uint32_t s = 0; p->n_bad && s < p->diags->sources.n; s++) {
        wr_str t = p->diags->sources.at[s].text;
        for (size_t i = 6; i + name.len <= t.len; i++) {
            if (memcmp(t.ptr + i, name.ptr, name.len) != 0 || !is_space(t.ptr[i - 1])) continue;
            size_t end = i;
            while (end > 0 && is_space(t.ptr[end - 1])) end--;
            bool create = (end >= 5 && wr_str_ieq((wr_str){t.ptr + end - 5, 5}, WR_STR("TABLE"))) || (end >= 4 && wr_str_ieq((wr_str){t.ptr + end - 4, 4}, WR_STR("VIEW"))) ||
                          (end >= 6 && wr_str_ieq((wr_str){t.ptr + end - 6, 6}, WR_STR("EXISTS")));
            if (create) return true;
        }
    }
    return false;
}

const wr_table *pl_find_table(pl *p, const wr_ast_name *name, const char *what) {
    wr_str n;
    if (!pl_object_name(p, name, &n)) return NULL;
    const wr_table *t = wr_catalog_find(p->ctx->catalog, n);
    if (pl_is_broken(p, n) || (!t && created_by_bad_text(p, n))) return NULL;
    if (t) return t;
    wr_str near = wr_catalog_nearest(p->ctx->catalog, n);
    if (near.len) return pl_error(p, "42P01", name->at, "%s '%.*s' not found; did you mean '%.*s'?", what, WR_FMT(n), WR_FMT(near));
    pl_error(p, "42P01", name->at, "%s '%.*s' not found", what, WR_FMT(n));
    uint32_t count = wr_catalog_count(p->ctx->catalog);
    if (!count) {
        wr_diags_hint(p->diags, "the script has no CREATE TABLE before this statement");
        return NULL;
    }
    wr_sbuf all = {0};
    for (uint32_t i = 0; i < count && i < 20; i++) wr_sbuf_printf(&all, "%s%.*s", i ? ", " : "", WR_FMT(wr_catalog_at(p->ctx->catalog, i)->name));
    wr_diags_hint(p->diags, "there are: %.*s", WR_FMT(wr_sbuf_str(&all)));
    wr_sbuf_free(&all);
    return NULL;
}

/* ---- CREATE TABLE ---- */

int pl_draft_column(const draft *d, wr_str name) {
    for (uint32_t i = 0; i < d->columns.n; i++)
        if (wr_str_eq(d->columns.at[i].name, name)) return (int)i;
    return -1;
}

typedef struct like_modes { wr_ast_like_mode columns, generated, metadata, watermarks, constraints, options; } like_modes;

static void like_mode(like_modes *m, wr_str what, wr_ast_like_mode mode) {
    bool all = wr_str_ieq(what, WR_STR("ALL"));
    if (all || wr_str_ieq(what, WR_STR("GENERATED"))) m->generated = mode;
    if (all || wr_str_ieq(what, WR_STR("METADATA"))) m->metadata = mode;
    if (all || wr_str_ieq(what, WR_STR("WATERMARKS"))) m->watermarks = mode;
    if (all || wr_str_ieq(what, WR_STR("CONSTRAINTS"))) m->constraints = mode;
    if (all || wr_str_ieq(what, WR_STR("OPTIONS"))) m->options = mode;
}

static bool copy_like(pl *p, const wr_ast_create_table *c, draft *d, like_modes *m) {
    if (!c->like.n) return true;
    const wr_table *t = pl_find_table(p, &c->like, "table");
    if (!t) return false;
    if (t->is_view) return pl_error(p, "42809", c->like.at, "LIKE takes a table, but '%.*s' is a view", WR_FMT(t->name)), false;
    *m = (like_modes){WR_LIKE_INCLUDING, WR_LIKE_INCLUDING, WR_LIKE_INCLUDING, WR_LIKE_INCLUDING, WR_LIKE_INCLUDING, WR_LIKE_OVERWRITING};
    for (int pass = 0; pass < 2; pass++) /* ALL first, the single ones override it */
        for (uint32_t i = 0; i < c->like_options.n; i++)
            if (wr_str_ieq(c->like_options.at[i].what, WR_STR("ALL")) == (pass == 0)) like_mode(m, c->like_options.at[i].what, c->like_options.at[i].mode);
    for (uint32_t i = 0; i < t->n_columns; i++) {
        if (t->columns[i].kind == WR_COLUMN_COMPUTED && m->generated == WR_LIKE_EXCLUDING) continue;
        if (t->columns[i].kind == WR_COLUMN_METADATA && m->metadata == WR_LIKE_EXCLUDING) continue;
        wr_arr_apush(p->arena, &d->columns, t->columns[i]);
    }
    if (m->constraints != WR_LIKE_EXCLUDING)
        for (uint32_t i = 0; i < t->n_key; i++) wr_arr_apush(p->arena, &d->key, t->columns[t->key[i]].name);
    d->key_at = c->like.at;
    if (m->watermarks != WR_LIKE_EXCLUDING && t->watermark_column >= 0) {
        d->watermark_column = t->columns[t->watermark_column].name;
        d->watermark = t->watermark;
        d->watermark_at = t->watermark_at;
    }
    if (m->options != WR_LIKE_EXCLUDING)
        for (uint32_t i = 0; i < t->n_options; i++) wr_arr_apush(p->arena, &d->options, t->options[i]);
    return true;
}

static void add_query_column(pl *p, draft *d, const wr_field *f, wr_span at) {
    wr_column col = {.name = f->name, .kind = WR_COLUMN_PHYSICAL, .type = f->type, .at = at};
    col.type.attr = WR_TIME_NONE;
    wr_arr_apush(p->arena, &d->columns, col);
}

/* What the query has and the column list does not say, behind it. */
static bool add_query_columns(pl *p, const wr_ast_create_table *c, const wr_schema *query, draft *d) {
    bool ordered = c->columns.n && c->columns.at[0].kind == WR_AST_COL_NAME_ONLY;
    for (uint32_t i = 0; i < query->n; i++) {
        const wr_field *f = &query->fields[i];
        if (f->type.id == WR_T_NULL) return pl_error(p, "42804", c->name.at, "column '%.*s' of the query is a bare NULL: cast it to a type", WR_FMT(f->name)), false;
        if (pl_draft_column(d, f->name) >= 0) continue;
        if (ordered) return pl_error(p, "42601", c->name.at, "the column list leaves out '%.*s' of the query", WR_FMT(f->name)), false;
        add_query_column(p, d, f, c->name.at);
    }
    return true;
}

static bool not_enforced_missing(pl *p, wr_span at) {
    pl_error(p, "0A000", at, "PRIMARY KEY must say NOT ENFORCED: a stream cannot check it");
    wr_diags_hint(p->diags, "PRIMARY KEY (columns) NOT ENFORCED, or behind a column: id INT PRIMARY KEY NOT ENFORCED");
    return false;
}

bool pl_draft_columns(pl *p, const wr_ast_create_table *c, const wr_schema *query, draft *d) {
    bool ok = true;
    for (uint32_t i = 0; i < c->columns.n; i++) {
        const wr_ast_column *a = &c->columns.at[i];
        wr_column            col = {.name = a->name.text, .at = a->at, .is_virtual = a->is_virtual};
        if (a->kind == WR_AST_COL_NAME_ONLY && query) { /* CREATE TABLE t (b, a) AS SELECT a, b: an order */
            int at = wr_schema_find(query, a->name.text);
            if (at < 0 || pl_draft_column(d, a->name.text) >= 0) ok = pl_error(p, "42703", a->at, "column '%.*s' is not in the query, or here twice", WR_FMT(a->name.text));
            else add_query_column(p, d, &query->fields[at], a->at);
            continue;
        }
        if (a->kind == WR_AST_COL_NAME_ONLY) {
            ok = pl_error(p, "42601", a->at, "column '%.*s' needs a type", WR_FMT(a->name.text));
            continue;
        }
        col.kind = a->kind == WR_AST_COL_PHYSICAL ? WR_COLUMN_PHYSICAL : a->kind == WR_AST_COL_METADATA ? WR_COLUMN_METADATA : WR_COLUMN_COMPUTED;
        if (a->type && !wr_catalog_type(p->arena, a->type, p->diags, &col.type)) ok = false;
        col.expr = a->expr;
        col.metadata_key = a->metadata_key.text.ptr ? a->metadata_key.text : a->name.text;
        if (pl_draft_column(d, col.name) >= 0) {
            pl_error(p, "42701", a->name.at, "column '%.*s' is declared twice", WR_FMT(col.name));
            ok = false;
            continue;
        }
        wr_arr_apush(p->arena, &d->columns, col);
        if (a->primary_key) {
            wr_arr_apush(p->arena, &d->key, a->name.text);
            d->key_at = a->at;
            if (!a->not_enforced) ok = not_enforced_missing(p, a->at);
        }
    }
    return ok;
}

bool pl_draft_constraints(pl *p, const wr_ast_create_table *c, draft *d) {
    bool ok = true;
    for (uint32_t i = 0; i < c->constraints.n; i++) {
        const wr_ast_constraint *k = &c->constraints.at[i];
        if (k->unique) {
            ok = pl_unsupported(p, k->at, "use PRIMARY KEY (...) NOT ENFORCED", "UNIQUE");
            continue;
        }
        if (!k->not_enforced) ok = not_enforced_missing(p, k->at);
        if (d->key.n) ok = pl_error(p, "42P16", k->at, "the table has a PRIMARY KEY already");
        for (uint32_t j = 0; j < k->columns.n; j++) {
            int at = pl_draft_column(d, k->columns.at[j].text);
            if (at < 0) {
                ok = pl_error(p, "42703", k->columns.at[j].at, "PRIMARY KEY: column '%.*s' not found", WR_FMT(k->columns.at[j].text));
            } else if (d->columns.at[at].kind != WR_COLUMN_PHYSICAL) {
                ok = pl_error(p, "42P16", k->columns.at[j].at, "PRIMARY KEY: '%.*s' must be a physical column", WR_FMT(k->columns.at[j].text));
            }
            wr_arr_apush(p->arena, &d->key, k->columns.at[j].text);
        }
        d->key_at = k->at;
    }
    if (c->watermarks.n > 1) ok = pl_error(p, "42P16", c->watermarks.at[1].at, "a table has at most one WATERMARK");
    if (c->watermarks.n) {
        const wr_ast_watermark *w = &c->watermarks.at[0];
        d->watermark_column = w->column.part[w->column.n - 1].text;
        d->watermark = w->expr;
        d->watermark_at = w->at;
        if (w->column.n > 1) ok = pl_unsupported(p, w->column.at, "add a computed column for it", "a WATERMARK on a field of a ROW");
    }
    return ok;
}

void pl_draft_option(pl *p, draft *d, const wr_ast_option *o) {
    wr_table_option opt = {o->key.text, o->value.text, o->key.at};
    for (uint32_t i = 0; i < d->options.n; i++)
        if (wr_str_eq(d->options.at[i].key, opt.key)) {
            d->options.at[i] = opt;
            return;
        }
    wr_arr_apush(p->arena, &d->options, opt);
}

wr_table *pl_draft_finish(pl *p, draft *d, wr_str name, wr_span at) {
    wr_table *t = wr_new(p->arena, wr_table);
    uint32_t *key = wr_new_n(p->arena, uint32_t, d->key.n);
    t->name = wr_str_dup(p->arena, name);
    t->at = at;
    t->n_columns = d->columns.n;
    t->columns = d->columns.at;
    t->n_key = d->key.n;
    t->key = key;
    for (uint32_t i = 0; i < d->key.n; i++) {
        int c = pl_draft_column(d, d->key.at[i]);
        if (c < 0) return pl_error(p, "42703", d->key_at, "PRIMARY KEY: column '%.*s' not found", WR_FMT(d->key.at[i]));
        key[i] = (uint32_t)c;
        d->columns.at[c].type.nullable = 0;
    }
    t->watermark_column = -1;
    if (d->watermark) {
        t->watermark_column = pl_draft_column(d, d->watermark_column);
        t->watermark = d->watermark;
        t->watermark_at = d->watermark_at;
        if (t->watermark_column < 0) {
            wr_str *names = wr_new_n(p->arena, wr_str, d->columns.n);
            for (uint32_t i = 0; i < d->columns.n; i++) names[i] = d->columns.at[i].name;
            int near = wr_nearest(d->watermark_column, names, d->columns.n);
            if (near >= 0)
                return pl_error(p, "42703", d->watermark_at, "WATERMARK: column '%.*s' not found; did you mean '%.*s'?", WR_FMT(d->watermark_column), WR_FMT(names[near]));
            return pl_error(p, "42703", d->watermark_at, "WATERMARK: column '%.*s' not found", WR_FMT(d->watermark_column));
        }
    }
    t->n_options = d->options.n;
    t->options = d->options.at;
    t->connector = wr_table_option_get(t, "connector");
    t->format = wr_table_option_get(t, "format");
    if (!t->format.ptr) t->format = wr_table_option_get(t, "value.format");
    if (!t->connector.ptr) t->connector = WR_STR("");
    if (!t->format.ptr) t->format = WR_STR("");
    return t;
}

static bool add_object(pl *p, wr_table *t, bool if_not_exists, bool or_replace, wr_span at) {
    if (or_replace) wr_catalog_drop(p->ctx->catalog, t->name);
    if (wr_catalog_add(p->ctx->catalog, t)) return true;
    if (if_not_exists) return true;
    const wr_table *old = wr_catalog_find(p->ctx->catalog, t->name);
    pl_error(p, "42P07", at, "'%.*s' exists already: see line %u", WR_FMT(t->name), old->at.line);
    wr_diags_hint(p->diags, "CREATE %s IF NOT EXISTS, or DROP it first", t->is_view ? "VIEW" : "TABLE");
    return false;
}

bool pl_create_table(pl *p, const wr_ast_stmt *s) {
    const wr_ast_create_table *c = &s->create_table;
    wr_str                     name;
    draft                      d = {0};
    like_modes                 m;
    bool                       named = pl_object_name(p, &c->name, &name), ok = named;
    if (c->materialized) ok = pl_unsupported(p, c->name.at, "CREATE VIEW and INSERT INTO a table", "CREATE MATERIALIZED TABLE");
    wr_schema query = {0};
    if (ok && c->as) {
        lnode *n = pl_bind_query(p, c->as, NULL, true);
        if (n) query = n->schema;
        else ok = false;
    }
    if (ok) ok = copy_like(p, c, &d, &m);
    if (ok) {
        ok = pl_draft_columns(p, c, c->as ? &query : NULL, &d);
        if (ok && c->as) ok = add_query_columns(p, c, &query, &d);
        if (c->constraints.n && c->like.n && d.key.n) d.key.n = 0; /* its own key replaces the copied one */
        ok &= pl_draft_constraints(p, c, &d);
        for (uint32_t i = 0; i < c->options.n; i++) pl_draft_option(p, &d, &c->options.at[i]);
    }
    if (ok && !d.columns.n) ok = pl_error(p, "42601", c->name.at, "table '%.*s' has no columns", WR_FMT(name));
    wr_table *t = ok ? pl_draft_finish(p, &d, name, c->name.at) : NULL;
    if (t && c->replace && !wr_catalog_find(p->ctx->catalog, name)) {
        pl_error(p, "42P01", c->name.at, "table '%.*s' to be replaced not found", WR_FMT(name));
        wr_diags_hint(p->diags, "CREATE OR REPLACE TABLE makes it if it is not there");
        t = NULL;
    }
    if (t && !t->connector.len) {
        pl_error(p, "42601", c->name.at, "table '%.*s' does not say its connector", WR_FMT(name));
        wr_diags_hint(p->diags, "WITH ('connector' = 'filesystem', 'path' = '...', 'format' = 'json')");
        t = NULL;
    }
    if (t && p->ctx->connector && !p->ctx->connector(t->connector)) {
        if (p->ctx->check_options) p->ctx->check_options(t, true, p->diags); /* says what there is */
        else pl_error(p, "42704", c->name.at, "connector '%.*s' not found", WR_FMT(t->connector));
        t = NULL;
    }
    if (!t) {
        pl_mark_broken(p, named ? name : c->name.part[c->name.n - 1].text);
        return false;
    }
    if (!add_object(p, t, c->if_not_exists, c->or_replace || c->or_alter, c->name.at)) return false;
    if (wr_catalog_find(p->ctx->catalog, t->name) != t) return false; /* IF NOT EXISTS */
    if (pl_table_info(p, t)->bad) pl_mark_broken(p, t->name);
    return !pl_is_broken(p, t->name);
}

bool pl_create_view(pl *p, const wr_ast_stmt *s) {
    const wr_ast_create_view *c = &s->create_view;
    wr_str                    name;
    if (!pl_object_name(p, &c->name, &name)) return false;
    wr_table *t = wr_new(p->arena, wr_table);
    draft     d = {0};
    wr_str   *columns = wr_new_n(p->arena, wr_str, c->columns.n);
    for (uint32_t i = 0; i < c->columns.n; i++) columns[i] = c->columns.at[i].name.text;
    *t = (wr_table){.name = name, .at = c->name.at, .watermark_column = -1, .is_view = true, .is_materialized = c->materialized, .query = c->query,
                    .home_catalog = wr_catalog_current(p->ctx->catalog)->catalog, .home_database = wr_catalog_current(p->ctx->catalog)->database, .n_view_columns = c->columns.n, .view_columns = columns, .connector = WR_STR(""), .format = WR_STR("")};
    for (uint32_t i = 0; i < c->options.n; i++) pl_draft_option(p, &d, &c->options.at[i]);
    t->n_options = d.options.n, t->options = d.options.at;
    uint32_t errors = p->diags->n_errors;
    if (!pl_check_view_options(p, t)) {
        pl_mark_broken(p, name);
        return false;
    }
    lnode *n = pl_bind_query(p, c->query, NULL, false); /* errors are told here, once */
    if (n && c->columns.n && c->columns.n != n->schema.n) {
        pl_error(p, "42601", c->name.at, "view '%.*s' names %u columns, but its query has %u", WR_FMT(name), c->columns.n, n->schema.n);
        n = NULL;
    }
    if (!n || p->diags->n_errors > errors) {
        pl_mark_broken(p, name);
        return false;
    }
    return add_object(p, t, c->if_not_exists, c->or_replace || c->or_alter, c->name.at) && wr_catalog_find(p->ctx->catalog, t->name) == t;
}
