/* plan/alter.c: ALTER TABLE and ALTER VIEW: a changed copy takes the place of the object in the catalog.
 *
 * Idea       the table becomes a draft again, each action changes the draft, and what is finished from it is checked like a new table. Objects are
 *            never changed in place: a job that was planned before keeps the table that it was planned with.
 * Invariant  after an error the table is as it was.
 * Memory     the arena of the plan.                                                                                   */
#include "plan/ddl.h"

static draft draft_of(pl *p, const wr_table *t) {
    draft d = {.key_at = t->at, .watermark = t->watermark, .watermark_at = t->watermark_at};
    for (uint32_t i = 0; i < t->n_columns; i++) wr_arr_apush(p->arena, &d.columns, t->columns[i]);
    for (uint32_t i = 0; i < t->n_options; i++) wr_arr_apush(p->arena, &d.options, t->options[i]);
    for (uint32_t i = 0; i < t->n_key; i++) wr_arr_apush(p->arena, &d.key, t->columns[t->key[i]].name);
    if (t->watermark_column >= 0) d.watermark_column = t->columns[t->watermark_column].name;
    return d;
}

static bool same_options(const wr_table *a, const draft *d) {
    if (a->n_options != d->options.n) return false;
    for (uint32_t i = 0; i < a->n_options; i++)
        if (!wr_str_eq(a->options[i].key, d->options.at[i].key) || !wr_str_eq(a->options[i].value, d->options.at[i].value)) return false;
    return true;
}

/* t with the options of OPTIONS(...) behind its name; equal ones are one table, so that they are read once. NULL after a diagnostic. */
const wr_table *pl_table_with(pl *p, const wr_table *t, const wr_ast_hints *hints) {
    draft d = draft_of(p, t);
    for (uint32_t i = 0; i < hints->n; i++) {
        const wr_ast_hint *h = &hints->at[i];
        if (!wr_str_ieq(h->name.text, WR_STR("OPTIONS"))) return pl_unsupported(p, h->name.at, "OPTIONS('key' = 'value') stands after a table, STATE_TTL after SELECT", "the hint %.*s after a table", WR_FMT(h->name.text));
        for (uint32_t k = 0; k < h->args.n; k++) {
            if (!h->args.at[k].value.text.ptr) return pl_error(p, "42601", h->args.at[k].key.at, "OPTIONS takes 'key' = 'value'");
            if (wr_str_eq(h->args.at[k].key.text, WR_STR("connector"))) return pl_error(p, "42601", h->args.at[k].key.at, "OPTIONS cannot change the connector");
            wr_ast_option o = {.key = h->args.at[k].key, .value = h->args.at[k].value};
            pl_draft_option(p, &d, &o);
        }
    }
    if (same_options(t, &d)) return t;
    for (uint32_t i = 0; i < p->infos.n; i++) {
        const wr_table *x = p->infos.at[i]->table;
        if (x->columns && wr_str_eq(x->name, t->name) && x->at.line == t->at.line && x->at.col == t->at.col && x->n_columns == t->n_columns && same_options(x, &d)) return x;
    }
    return pl_draft_finish(p, &d, t->name, t->at);
}

static int column_named(pl *p, const draft *d, wr_ast_ident name) {
    int at = pl_draft_column(d, name.text);
    if (at >= 0) return at;
    wr_str *names = wr_new_n(p->arena, wr_str, d->columns.n + 1);
    for (uint32_t i = 0; i < d->columns.n; i++) names[i] = d->columns.at[i].name;
    int near = wr_nearest(name.text, names, d->columns.n);
    if (near >= 0) pl_error(p, "42703", name.at, "column '%.*s' not found; did you mean '%.*s'?", WR_FMT(name.text), WR_FMT(names[near]));
    else pl_error(p, "42703", name.at, "column '%.*s' not found", WR_FMT(name.text));
    return -1;
}

static void remove_column(draft *d, uint32_t at) {
    for (uint32_t i = at; i + 1 < d->columns.n; i++) d->columns.at[i] = d->columns.at[i + 1];
    d->columns.n--;
}

/* The last column goes to `at`. */
static void move_last(draft *d, uint32_t at) {
    wr_column last = d->columns.at[d->columns.n - 1];
    for (uint32_t i = d->columns.n - 1; i > at; i--) d->columns.at[i] = d->columns.at[i - 1];
    d->columns.at[at] = last;
}

static bool add_column(pl *p, draft *d, const wr_ast_alter_action *a, int place) {
    wr_ast_create_table one = {0};
    wr_arr_apush(p->arena, &one.columns, a->column);
    if (!pl_draft_columns(p, &one, NULL, d)) return false;
    if (a->first) place = 0;
    if (a->after.text.ptr) {
        int after = column_named(p, d, a->after);
        if (after < 0) return false;
        place = after + 1;
    }
    if (place >= 0) move_last(d, (uint32_t)place);
    return true;
}

static bool modify_column(pl *p, draft *d, const wr_ast_alter_action *a) {
    int at = column_named(p, d, a->column.name);
    if (at < 0) return false;
    remove_column(d, (uint32_t)at);
    return add_column(p, d, a, at);
}

static bool in_use(pl *p, const draft *d, wr_ast_ident name) {
    for (uint32_t i = 0; i < d->key.n; i++)
        if (wr_str_eq(d->key.at[i], name.text)) return pl_error(p, "42P16", name.at, "column '%.*s' is in the PRIMARY KEY: change the key first", WR_FMT(name.text)), true;
    if (d->watermark && wr_str_eq(d->watermark_column, name.text)) return pl_error(p, "42P16", name.at, "column '%.*s' has the WATERMARK: drop that first", WR_FMT(name.text)), true;
    return false;
}

static bool drop_columns(pl *p, draft *d, const wr_ast_alter_action *a) {
    for (uint32_t i = 0; i < a->names.n; i++) {
        int at = column_named(p, d, a->names.at[i]);
        if (at < 0 || in_use(p, d, a->names.at[i])) return false;
        remove_column(d, (uint32_t)at);
    }
    return true;
}

static bool rename_column(pl *p, draft *d, const wr_ast_alter_action *a) {
    wr_ast_ident from = a->names.at[0], to = a->names.at[1];
    int          at = column_named(p, d, from);
    if (at < 0) return false;
    if (pl_draft_column(d, to.text) >= 0) return pl_error(p, "42701", to.at, "there is a column '%.*s' already", WR_FMT(to.text)), false;
    if (d->watermark && wr_str_eq(d->watermark_column, from.text)) return in_use(p, d, from), false;
    wr_column *c = &d->columns.at[at];
    if (c->kind == WR_COLUMN_METADATA && wr_str_eq(c->metadata_key, c->name)) c->metadata_key = from.text;
    c->name = to.text;
    for (uint32_t i = 0; i < d->key.n; i++)
        if (wr_str_eq(d->key.at[i], from.text)) d->key.at[i] = to.text;
    return true;
}

static bool set_constraint(pl *p, draft *d, const wr_ast_alter_action *a, bool modify) {
    wr_ast_create_table one = {0};
    if (modify && !d->key.n) return pl_error(p, "42P16", a->at, "the table has no PRIMARY KEY to modify"), false;
    if (modify) d->key.n = 0;
    wr_arr_apush(p->arena, &one.constraints, a->constraint);
    return pl_draft_constraints(p, &one, d);
}

static bool set_watermark(pl *p, draft *d, const wr_ast_alter_action *a, bool modify) {
    wr_ast_create_table one = {0};
    if (modify != (d->watermark != NULL))
        return pl_error(p, "42P16", a->at, modify ? "the table has no WATERMARK to modify: ADD it" : "the table has a WATERMARK already: MODIFY it"), false;
    wr_arr_apush(p->arena, &one.watermarks, a->watermark);
    return pl_draft_constraints(p, &one, d);
}

static bool reset_options(pl *p, draft *d, const wr_ast_alter_action *a) {
    for (uint32_t i = 0; i < a->options.n; i++) {
        wr_str   key = a->options.at[i].key.text;
        uint32_t kept = 0;
        if (wr_str_eq(key, WR_STR("connector"))) return pl_error(p, "42P16", a->options.at[i].key.at, "a table without connector cannot be: SET another one"), false;
        for (uint32_t k = 0; k < d->options.n; k++)
            if (!wr_str_eq(d->options.at[k].key, key)) d->options.at[kept++] = d->options.at[k];
        d->options.n = kept;
    }
    return true;
}

/* RENAME TO b: a name without a database stays in that of the old name, as in Flink. */
static bool new_name(pl *p, const wr_ast_name *old, const wr_ast_name *to, wr_str *out) {
    const wr_space *s = pl_database(p, to->n == 1 ? old : to, 1);
    if (s) *out = wr_catalog_name_in(p->ctx->catalog, s, to->part[to->n - 1].text);
    return s != NULL;
}

static bool apply(pl *p, draft *d, const wr_ast_name *old, const wr_ast_alter_action *a, wr_str *name) {
    switch (a->kind) {
    case WR_ALTER_RENAME: return new_name(p, old, &a->new_name, name);
    case WR_ALTER_SET:
        for (uint32_t i = 0; i < a->options.n; i++) pl_draft_option(p, d, &a->options.at[i]);
        return true;
    case WR_ALTER_RESET: return reset_options(p, d, a);
    case WR_ALTER_ADD_COLUMN: return add_column(p, d, a, -1);
    case WR_ALTER_MODIFY_COLUMN: return modify_column(p, d, a);
    case WR_ALTER_DROP_COLUMNS: return drop_columns(p, d, a);
    case WR_ALTER_RENAME_COLUMN: return rename_column(p, d, a);
    case WR_ALTER_ADD_CONSTRAINT: return set_constraint(p, d, a, false);
    case WR_ALTER_MODIFY_CONSTRAINT: return set_constraint(p, d, a, true);
    case WR_ALTER_DROP_CONSTRAINT:
    case WR_ALTER_DROP_PRIMARY_KEY:
        if (!d->key.n) return pl_error(p, "42P16", a->at, "the table has no PRIMARY KEY"), false;
        d->key.n = 0;
        return true;
    case WR_ALTER_ADD_WATERMARK: return set_watermark(p, d, a, false);
    case WR_ALTER_MODIFY_WATERMARK: return set_watermark(p, d, a, true);
    case WR_ALTER_DROP_WATERMARK:
        if (!d->watermark) return pl_error(p, "42P16", a->at, "the table has no WATERMARK"), false;
        d->watermark = NULL;
        return true;
    case WR_ALTER_AS_QUERY: break;
    }
    return pl_error(p, "42809", a->at, "ALTER TABLE has no AS query: that is for views"), false;
}

static bool is_free(pl *p, const wr_table *t, wr_str name, wr_span at) {
    if (wr_str_eq(t->name, name) || !wr_catalog_find(p->ctx->catalog, name)) return true;
    return pl_error(p, "42P07", at, "'%.*s' exists already", WR_FMT(name)), false;
}

static void replace(pl *p, const wr_table *was, wr_table *now) {
    wr_catalog_drop(p->ctx->catalog, was->name);
    wr_catalog_add(p->ctx->catalog, now);
}

static void alter_table(pl *p, const wr_ast_alter *a, const wr_table *t) {
    draft  d = draft_of(p, t);
    wr_str name = t->name;
    for (uint32_t i = 0; i < a->actions.n; i++)
        if (!apply(p, &d, &a->name, &a->actions.at[i], &name)) return;
    if (!d.columns.n) {
        pl_error(p, "42601", a->name.at, "table '%.*s' would have no columns", WR_FMT(t->name));
        return;
    }
    if (!is_free(p, t, name, a->name.at)) return;
    wr_table *now = pl_draft_finish(p, &d, name, t->at);
    if (!now) return;
    if (p->ctx->connector && !p->ctx->connector(now->connector)) {
        pl_error(p, "42704", a->name.at, "connector '%.*s' not found", WR_FMT(now->connector));
        return;
    }
    if (!pl_table_info(p, now)->bad) replace(p, t, now);
}

static void alter_view(pl *p, const wr_ast_alter *a, const wr_table *v) {
    wr_table *now = wr_new(p->arena, wr_table);
    *now = *v;
    for (uint32_t i = 0; i < a->actions.n; i++) {
        const wr_ast_alter_action *x = &a->actions.at[i];
        if (x->kind == WR_ALTER_RENAME) {
            if (!new_name(p, &a->name, &x->new_name, &now->name) || !is_free(p, v, now->name, x->new_name.at)) return;
        } else if (x->kind == WR_ALTER_AS_QUERY) {
            if (!pl_bind_query(p, x->query, NULL, false)) return;
            now->query = x->query;
            now->n_view_columns = 0;
        } else {
            pl_error(p, "42809", x->at, "ALTER VIEW takes RENAME TO or AS query");
            return;
        }
    }
    replace(p, v, now);
}

void pl_alter(pl *p, const wr_ast_stmt *s) {
    const wr_ast_alter *a = &s->alter;
    wr_str              name;
    if (a->what != WR_OBJ_TABLE && a->what != WR_OBJ_VIEW) {
        pl_alter_space(p, a);
        return;
    }
    if (a->if_exists && !pl_has_database(p, &a->name)) return;
    if (!pl_object_name(p, &a->name, &name)) return;
    const wr_table *t = wr_catalog_find(p->ctx->catalog, name);
    if (!t && a->if_exists) return;
    if (!t && !(t = pl_find_table(p, &a->name, a->what == WR_OBJ_VIEW ? "view" : "table"))) return;
    if (t->is_view != (a->what == WR_OBJ_VIEW)) {
        pl_error(p, "42809", a->name.at, "'%.*s' is a %s: use ALTER %s", WR_FMT(name), t->is_view ? "view" : "table", t->is_view ? "VIEW" : "TABLE");
        return;
    }
    if (t->is_view) alter_view(p, a, t);
    else alter_table(p, a, t);
}
