/* catalog/catalog.c: the tables and views of one script, in order of creation.
 *
 * Idea       a script has tens of tables: an array and a linear search by exact name are the whole store.
 * Invariant  names are unique; a dropped table leaves the array but its memory stays (plans may point to it).
 * Memory     everything in the arena given to wr_catalog_new. One thread.                                        */
#include "catalog/catalog_private.h"

wr_str wr_table_option_get(const wr_table *table, const char *key) {
    wr_str want = wr_str_of(key);
    for (uint32_t i = 0; i < table->n_options; i++)
        if (wr_str_eq(table->options[i].key, want)) return table->options[i].value;
    return (wr_str){NULL, 0};
}

wr_catalog *wr_catalog_new(wr_arena *arena) {
    wr_catalog *catalog = wr_new(arena, wr_catalog);
    catalog->arena = arena;
    wr_catalog_spaces_init(catalog);
    return catalog;
}

const wr_table *wr_catalog_find(const wr_catalog *catalog, wr_str name) {
    for (uint32_t i = 0; i < catalog->tables.n; i++)
        if (wr_str_eq(catalog->tables.at[i]->name, name)) return catalog->tables.at[i];
    return NULL;
}

bool wr_catalog_add(wr_catalog *catalog, wr_table *table) {
    if (wr_catalog_find(catalog, table->name)) return false;
    wr_arr_apush(catalog->arena, &catalog->tables, table);
    return true;
}

bool wr_catalog_drop(wr_catalog *catalog, wr_str name) {
    for (uint32_t i = 0; i < catalog->tables.n; i++) {
        if (!wr_str_eq(catalog->tables.at[i]->name, name)) continue;
        for (uint32_t k = i + 1; k < catalog->tables.n; k++) catalog->tables.at[k - 1] = catalog->tables.at[k];
        catalog->tables.n--;
        return true;
    }
    return false;
}

uint32_t wr_catalog_count(const wr_catalog *catalog) { return catalog->tables.n; }

const wr_table *wr_catalog_at(const wr_catalog *catalog, uint32_t i) {
    wr_assert(i < catalog->tables.n);
    return catalog->tables.at[i];
}

wr_str wr_catalog_nearest(const wr_catalog *catalog, wr_str name) {
    if (!catalog->tables.n) return WR_STR("");
    wr_str *names = wr_new_n(catalog->arena, wr_str, catalog->tables.n);
    for (uint32_t i = 0; i < catalog->tables.n; i++) names[i] = catalog->tables.at[i]->name;
    int at = wr_nearest(name, names, catalog->tables.n);
    return at < 0 ? WR_STR("") : names[at];
}

static int function_index(const wr_catalog *catalog, wr_str name, bool temporary, bool system) {
    for (uint32_t i = 0; i < catalog->functions.n; i++) {
        const wr_function *f = &catalog->functions.at[i];
        if (f->temporary == temporary && f->system == system && wr_str_ieq(f->name, name)) return (int)i;
    }
    return -1;
}
const wr_function *wr_catalog_function(const wr_catalog *catalog, wr_str name, bool temporary, bool system) {
    int i = function_index(catalog, name, temporary, system);
    return i < 0 ? NULL : &catalog->functions.at[i];
}
void wr_catalog_set_function(wr_catalog *catalog, wr_function function) {
    int i = function_index(catalog, function.name, function.temporary, function.system);
    if (i >= 0) catalog->functions.at[i] = function;
    else wr_arr_apush(catalog->arena, &catalog->functions, function);
}
bool wr_catalog_drop_function(wr_catalog *catalog, wr_str name, bool temporary, bool system) {
    int i = function_index(catalog, name, temporary, system);
    if (i < 0) return false;
    for (uint32_t k = (uint32_t)i + 1; k < catalog->functions.n; k++) catalog->functions.at[k - 1] = catalog->functions.at[k];
    catalog->functions.n--;
    return true;
}
uint32_t wr_catalog_n_functions(const wr_catalog *catalog) { return catalog->functions.n; }
const wr_function *wr_catalog_function_at(const wr_catalog *catalog, uint32_t i) {
    wr_assert(i < catalog->functions.n);
    return &catalog->functions.at[i];
}
