/* plan/spaces.c: catalogs, databases and modules: CREATE, ALTER, DROP, USE, SHOW and DESCRIBE of them.
 *
 * Idea       they live in the script: a catalog is of the type generic_in_memory, a database is a folder of names. There is one module, core.
 * Invariant  default_catalog.default_database stays.
 * Memory     the arena of the plan; what is kept is in the catalog's.                                                 */
#include "plan/ddl.h"

static void set_option(pl *p, wr_space *s, const wr_ast_option *o, bool remove) {
    wr_table_option *list = wr_new_n(p->arena, wr_table_option, s->n_options + 1);
    uint32_t         n = 0;
    bool             found = false;
    for (uint32_t i = 0; i < s->n_options; i++) {
        bool same = wr_str_eq(s->options[i].key, o->key.text);
        found |= same;
        if (same && remove) continue;
        list[n++] = same ? (wr_table_option){o->key.text, o->value.text, o->key.at} : s->options[i];
    }
    if (!found && !remove) list[n++] = (wr_table_option){o->key.text, o->value.text, o->key.at};
    s->options = list, s->n_options = n;
}

static wr_str option(const wr_space *s, const char *key) {
    for (uint32_t i = 0; i < s->n_options; i++)
        if (wr_str_eq(s->options[i].key, wr_str_of(key))) return s->options[i].value;
    return (wr_str){NULL, 0};
}

static void exists(pl *p, const char *what, const wr_ast_ident *name) { pl_error(p, "42P06", name->at, "%s '%.*s' exists already", what, WR_FMT(name->text)); }

static void create_catalog(pl *p, const wr_ast_create_space *c) {
    wr_ast_ident name = c->name.part[0];
    wr_space     s = {.catalog = name.text, .comment = c->comment.text};
    if (c->name.n > 1) {
        pl_error(p, "42601", c->name.at, "a catalog's name has one part");
        return;
    }
    for (uint32_t i = 0; i < c->options.n; i++) set_option(p, &s, &c->options.at[i], false);
    wr_str type = option(&s, "type"), first = option(&s, "default-database");
    if (!wr_str_eq(type, WR_STR("generic_in_memory"))) {
        if (type.ptr) pl_error(p, "0A000", name.at, "there is no catalog of type '%.*s'", WR_FMT(type));
        else pl_error(p, "42601", name.at, "catalog '%.*s' does not say its type", WR_FMT(name.text));
        wr_diags_hint(p->diags, "WITH ('type' = 'generic_in_memory')");
        return;
    }
    s.entry = first.ptr ? first : WR_STR("default");
    if (!wr_catalog_add_space(p->ctx->catalog, s)) {
        if (!c->if_not_exists) exists(p, "catalog", &name);
        return;
    }
    wr_catalog_add_space(p->ctx->catalog, (wr_space){.catalog = name.text, .database = s.entry});
}

void pl_create_space(pl *p, const wr_ast_stmt *stmt) {
    const wr_ast_create_space *c = &stmt->create_space;
    if (!c->database) {
        create_catalog(p, c);
        return;
    }
    wr_ast_ident    name = c->name.part[c->name.n - 1];
    const wr_space *now = wr_catalog_current(p->ctx->catalog);
    if (c->name.n > 2) {
        pl_error(p, "42601", c->name.at, "a database's name has at most a catalog before it");
        return;
    }
    if (c->name.n == 2 && !pl_catalog_named(p, &c->name.part[0])) return;
    wr_space s = {.catalog = c->name.n == 2 ? c->name.part[0].text : now->catalog, .database = name.text, .comment = c->comment.text};
    for (uint32_t i = 0; i < c->options.n; i++) set_option(p, &s, &c->options.at[i], false);
    if (!wr_catalog_add_space(p->ctx->catalog, s) && !c->if_not_exists) exists(p, "database", &name);
}

static uint32_t objects_in(const wr_catalog *c, const wr_space *s) {
    uint32_t n = 0;
    wr_str   object;
    for (uint32_t i = 0; i < wr_catalog_count(c); i++) n += wr_catalog_space_of(c, wr_catalog_at(c, i)->name, &object) == s;
    return n;
}

/* The catalog or database that a statement names; NULL: said so, or `quiet` and absent. */
static wr_space *named_space(pl *p, wr_ast_object what, const wr_ast_name *name, bool quiet) {
    const wr_catalog *c = p->ctx->catalog;
    if (what == WR_OBJ_CATALOG) {
        wr_space *s = wr_catalog_find_space(c, name->part[0].text, WR_STR(""));
        return s || quiet ? s : pl_catalog_named(p, &name->part[0]);
    }
    wr_str catalog = name->n == 2 ? name->part[0].text : wr_catalog_current(c)->catalog;
    if (quiet && name->n < 3 && !wr_catalog_find_space(c, catalog, name->part[name->n - 1].text)) return NULL;
    return pl_database(p, name, 0);
}

void pl_drop_space(pl *p, const wr_ast_stmt *stmt) {
    const wr_ast_drop *d = &stmt->drop;
    wr_catalog        *c = p->ctx->catalog;
    wr_space          *s = named_space(p, d->what, &d->name, d->if_exists);
    if (!s) return;
    const char *what = d->what == WR_OBJ_CATALOG ? "catalog" : "database";
    wr_str      name = d->name.part[d->name.n - 1].text;
    if (s == wr_catalog_current(c) || (d->what == WR_OBJ_CATALOG && wr_str_eq(s->catalog, wr_catalog_current(c)->catalog))) {
        pl_error(p, "55006", d->name.at, "the %s '%.*s' is in use and cannot be dropped", what, WR_FMT(name));
        return;
    }
    uint32_t n = objects_in(c, s);
    if (d->what == WR_OBJ_DATABASE && n && !d->cascade) {
        pl_error(p, "2BP01", d->name.at, "database '%.*s' is not empty: it has %u table%s", WR_FMT(name), n, n == 1 ? "" : "s and views");
        wr_diags_hint(p->diags, "DROP DATABASE %.*s CASCADE drops them too", WR_FMT(name));
        return;
    }
    if (!wr_catalog_drop_space(c, s)) pl_error(p, "0A000", d->name.at, "the %s '%.*s' cannot be dropped", what, WR_FMT(name));
}

void pl_alter_space(pl *p, const wr_ast_alter *a) {
    wr_space *s = named_space(p, a->what, &a->name, false);
    for (uint32_t i = 0; s && i < a->actions.n; i++) {
        const wr_ast_alter_action *x = &a->actions.at[i];
        for (uint32_t k = 0; k < x->options.n; k++) {
            if (a->what == WR_OBJ_CATALOG && wr_str_eq(x->options.at[k].key.text, WR_STR("type"))) {
                pl_error(p, "0A000", x->options.at[k].key.at, "the type of a catalog cannot be changed");
                return;
            }
            set_option(p, s, &x->options.at[k], x->kind == WR_ALTER_RESET);
        }
    }
}

/* ---- USE, modules ---- */

static void use_module(pl *p, const wr_ast_use *u) {
    wr_catalog *c = p->ctx->catalog;
    for (uint32_t i = 0; i < u->modules.n; i++) {
        wr_ast_ident m = u->modules.at[i];
        bool         loaded = wr_catalog_has_core(c);
        if (!wr_str_eq(m.text, WR_STR("core"))) pl_error(p, "42704", m.at, "there is one module: core");
        else if (u->what == WR_OBJ_LOAD_MODULE && loaded) pl_error(p, "42710", m.at, "module 'core' is loaded already");
        else if (u->what != WR_OBJ_LOAD_MODULE && !loaded) pl_error(p, "42704", m.at, "module 'core' is not loaded");
        else if (u->what != WR_OBJ_MODULES) wr_catalog_load_core(c, u->what == WR_OBJ_LOAD_MODULE);
    }
}

void pl_use(pl *p, const wr_ast_stmt *stmt) {
    const wr_ast_use *u = &stmt->use;
    if (u->what != WR_OBJ_CATALOG && u->what != WR_OBJ_DATABASE) {
        use_module(p, u);
        return;
    }
    const wr_space *s = named_space(p, u->what, &u->name, false);
    if (s && u->what == WR_OBJ_CATALOG) s = wr_catalog_find_space(p->ctx->catalog, s->catalog, s->entry);
    if (s) wr_catalog_use(p->ctx->catalog, s);
    else if (u->what == WR_OBJ_CATALOG && !p->diags->n_errors) pl_error(p, "3F000", u->name.at, "the database that this catalog is entered by is gone: USE catalog.database");
}

/* ---- SHOW, DESCRIBE ---- */

bool pl_show_spaces(pl *p, const wr_ast_show *s, wr_sbuf *out) {
    const wr_catalog *c = p->ctx->catalog;
    wr_str            of = s->name.n ? s->name.part[0].text : wr_catalog_current(c)->catalog;
    if (s->kind == WR_SHOW_DATABASES && s->name.n && !pl_catalog_named(p, &s->name.part[0])) return false;
    for (uint32_t i = 0; i < wr_catalog_count_spaces(c); i++) {
        const wr_space *x = wr_catalog_space_at(c, i);
        wr_str          name = x->database.len ? x->database : x->catalog;
        bool            wanted = s->kind == WR_SHOW_CATALOGS ? !x->database.len : x->database.len && wr_str_eq(x->catalog, of);
        if (wanted && pl_show_like(s, name)) wr_sbuf_printf(out, "%.*s\n", WR_FMT(name));
    }
    return true;
}

static void line(wr_sbuf *out, const char *key, wr_str value) {
    wr_sbuf_printf(out, "%-24s %.*s", key, WR_FMT(value));
    while (out->at[out->len - 1] == ' ') out->len--;
    wr_sbuf_addc(out, '\n');
}

bool pl_describe_space(pl *p, const wr_ast_describe *d, wr_sbuf *out) {
    const wr_space *s = named_space(p, d->what, &d->name, false);
    if (!s) return false;
    bool catalog = d->what == WR_OBJ_CATALOG;
    line(out, catalog ? "name" : "catalog name", s->catalog);
    line(out, catalog ? "type" : "database name", catalog ? option(s, "type") : s->database);
    line(out, catalog ? "comment" : "description", s->comment.ptr ? s->comment : WR_STR(""));
    for (uint32_t i = 0; d->extended && i < s->n_options; i++) {
        wr_str key = pl_printf(p, "%s%.*s", catalog ? "option:" : "", WR_FMT(s->options[i].key));
        if (!catalog || !wr_str_eq(s->options[i].key, WR_STR("type"))) wr_sbuf_printf(out, "%-24.*s %.*s\n", WR_FMT(key), WR_FMT(s->options[i].value));
    }
    return true;
}
