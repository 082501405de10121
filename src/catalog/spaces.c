/* catalog/spaces.c: catalogs and databases: where names without a path are looked up.
 *
 * Idea       a space is a catalog (database '') or a database of one. A table of default_catalog.default_database is known by its bare name,
 *            any other by catalog.database.table; so jobs, ids and messages of a script that has one space see plain names.
 * Invariant  a catalog in the list has the database that USE CATALOG enters; the current space is in the list.
 * Memory     the catalog's arena. One thread.                                                                        */
#include "catalog/catalog_private.h"

#define DEFAULT_CATALOG WR_STR("default_catalog")
#define DEFAULT_DATABASE WR_STR("default_database")

void wr_catalog_spaces_init(wr_catalog *c) {
    static const wr_table_option type = {{"type", 4}, {"generic_in_memory", 17}, {0}};
    wr_catalog_add_space(c, (wr_space){.catalog = DEFAULT_CATALOG, .entry = DEFAULT_DATABASE, .n_options = 1, .options = &type});
    wr_catalog_add_space(c, (wr_space){.catalog = DEFAULT_CATALOG, .database = DEFAULT_DATABASE});
    c->current = c->spaces.at[1];
}

bool wr_space_is_default(const wr_space *s) { return wr_str_eq(s->catalog, DEFAULT_CATALOG) && wr_str_eq(s->database, DEFAULT_DATABASE); }

wr_space *wr_catalog_find_space(const wr_catalog *c, wr_str catalog, wr_str database) {
    for (uint32_t i = 0; i < c->spaces.n; i++)
        if (wr_str_eq(c->spaces.at[i]->catalog, catalog) && wr_str_eq(c->spaces.at[i]->database, database)) return c->spaces.at[i];
    return NULL;
}

bool wr_catalog_add_space(wr_catalog *c, wr_space s) {
    if (wr_catalog_find_space(c, s.catalog, s.database)) return false;
    wr_space *mine = wr_new(c->arena, wr_space);
    *mine = s;
    mine->catalog = wr_str_dup(c->arena, s.catalog);
    mine->database = wr_str_dup(c->arena, s.database);
    wr_arr_apush(c->arena, &c->spaces, mine);
    return true;
}

uint32_t wr_catalog_count_spaces(const wr_catalog *c) { return c->spaces.n; }
wr_space *wr_catalog_space_at(const wr_catalog *c, uint32_t i) { return c->spaces.at[i]; }
const wr_space *wr_catalog_current(const wr_catalog *c) { return c->current; }
void wr_catalog_use(wr_catalog *c, const wr_space *s) { c->current = s; }

wr_str wr_catalog_name_in(const wr_catalog *c, const wr_space *s, wr_str object) {
    if (wr_space_is_default(s)) return object;
    char  *text = wr_arena_alloc(c->arena, s->catalog.len + s->database.len + object.len + 2);
    size_t n = 0;
    memcpy(text, s->catalog.ptr, s->catalog.len), n = s->catalog.len, text[n++] = '.';
    memcpy(text + n, s->database.ptr, s->database.len), n += s->database.len, text[n++] = '.';
    memcpy(text + n, object.ptr, object.len);
    return (wr_str){text, n + object.len};
}

/* What stands behind "catalog.database." in name; ptr NULL if name is not of this space. */
static wr_str behind(const wr_space *s, wr_str name) {
    size_t c = s->catalog.len, d = s->database.len;
    if (!d || name.len <= c + d + 2 || name.ptr[c] != '.' || name.ptr[c + 1 + d] != '.') return (wr_str){NULL, 0};
    if (memcmp(name.ptr, s->catalog.ptr, c) != 0 || memcmp(name.ptr + c + 1, s->database.ptr, d) != 0) return (wr_str){NULL, 0};
    return (wr_str){name.ptr + c + d + 2, name.len - c - d - 2};
}

const wr_space *wr_catalog_space_of(const wr_catalog *c, wr_str name, wr_str *object) {
    for (uint32_t i = 0; i < c->spaces.n; i++)
        if ((*object = behind(c->spaces.at[i], name)).ptr) return c->spaces.at[i];
    *object = name;
    return c->spaces.at[1]; /* the default database, which cannot be dropped */
}

bool wr_catalog_has_core(const wr_catalog *c) { return !c->no_core; }
void wr_catalog_load_core(wr_catalog *c, bool load) { c->no_core = !load; }

bool wr_catalog_drop_space(wr_catalog *c, const wr_space *s) {
    wr_str object;
    if (c->current == s || wr_space_is_default(s) || (!s->database.len && wr_str_eq(s->catalog, DEFAULT_CATALOG))) return false;
    for (uint32_t i = c->tables.n; i-- > 0;) {
        const wr_space *of = wr_catalog_space_of(c, c->tables.at[i]->name, &object);
        if (of == s || (!s->database.len && wr_str_eq(of->catalog, s->catalog))) wr_catalog_drop(c, c->tables.at[i]->name);
    }
    for (uint32_t i = c->functions.n; i-- > 0;) {
        const wr_function *f = &c->functions.at[i];
        const wr_space    *of = f->system ? NULL : wr_catalog_space_of(c, f->name, &object);
        if (of && (of == s || (!s->database.len && wr_str_eq(of->catalog, s->catalog)))) wr_catalog_drop_function(c, f->name, f->temporary, false);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->spaces.n; i++) {
        const wr_space *x = c->spaces.at[i];
        if (x != s && (s->database.len || !wr_str_eq(x->catalog, s->catalog))) c->spaces.at[n++] = c->spaces.at[i];
    }
    c->spaces.n = n;
    return true;
}
