/* api/adapter.c: connect/'s registry in the form that plan/ asks for (plan/ does not know connect/).
 *
 * Idea       one wr_connector_ref per connector, made on first use; its questions about a table are put to the connector with a wr_table_info made
 *            from the declaration alone, in an arena that lives as long as the question.
 * Thread     any; the table of refs is filled under a lock and its entries never change.                                */
#include "api/internal.h"

static wr_schema schema_of(wr_arena *arena, const wr_table *table, bool as_source, uint32_t *n_physical, const wr_str **metadata) {
    wr_field *fields = wr_new_n(arena, wr_field, table->n_columns + 1);
    wr_str   *keys = wr_new_n(arena, wr_str, table->n_columns + 1);
    uint32_t  n = 0;
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].kind == WR_COLUMN_PHYSICAL) fields[n++] = (wr_field){table->columns[i].name, table->columns[i].type};
    *n_physical = n;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const wr_column *c = &table->columns[i];
        if (c->kind != WR_COLUMN_METADATA || (!as_source && c->is_virtual)) continue;
        keys[n - *n_physical] = c->metadata_key;
        fields[n++] = (wr_field){c->name, c->type};
    }
    *metadata = keys;
    return (wr_schema){n, fields};
}

static wr_table_info info_of(wr_arena *arena, const wr_table *table, bool as_source) {
    _Static_assert(sizeof(wr_table_option) == sizeof(wr_option), "one layout");
    wr_table_info info = {.name = table->name, .at = table->at};
    wr_schema    *schema = wr_new(arena, wr_schema);
    *schema = schema_of(arena, table, as_source, &info.n_physical, &info.metadata_keys);
    info.schema = schema;
    info.options = (wr_options){table->n_options, (const wr_option *)(const void *)table->options};
    uint32_t *key = wr_new_n(arena, uint32_t, table->n_key + 1);
    for (uint32_t i = 0; i < table->n_key; i++) {
        int col = wr_schema_find(schema, table->columns[table->key[i]].name);
        if (col >= 0) key[info.n_key++] = (uint32_t)col;
    }
    info.key = key;
    return info;
}

static int source_changes(const wr_table *table) {
    const wr_connector *c = wr_connector_find(table->connector);
    if (c && c->upsert) return WR_FORMAT_UPSERT;
    if (c && c->changes) {
        wr_arena     *arena = wr_arena_new(NULL);
        wr_table_info info = info_of(arena, table, true);
        int           gives = (int)c->changes(&info);
        wr_arena_free(arena);
        return gives;
    }
    wr_str           name = table->format.len ? table->format : wr_table_option_get(table, "value.format");
    const wr_format *format = name.len ? wr_format_find(name) : NULL;
    return format ? (int)format->changes : WR_FORMAT_APPEND;
}

static int sink_takes(const wr_table *table) {
    const wr_connector *c = wr_connector_find(table->connector);
    if (!c || !c->takes) return WR_SINK_APPEND;
    wr_arena     *arena = wr_arena_new(NULL);
    wr_table_info info = info_of(arena, table, false);
    int           takes = (int)c->takes(&info);
    wr_arena_free(arena);
    return takes;
}

static int guarantee(const wr_table *table) {
    const wr_connector *c = wr_connector_find(table->connector);
    if (!c || !c->guarantee) return WR_AT_LEAST_ONCE;
    wr_arena     *arena = wr_arena_new(NULL);
    wr_table_info info = info_of(arena, table, false);
    int           kept = (int)c->guarantee(&info);
    wr_arena_free(arena);
    return kept;
}

static bool bounded(const wr_table *table) {
    const wr_connector *c = wr_connector_find(table->connector);
    if (!c || !c->bounded) return false;
    wr_arena     *arena = wr_arena_new(NULL);
    wr_table_info info = info_of(arena, table, true);
    bool          ends = c->bounded(&info);
    wr_arena_free(arena);
    return ends;
}

static int lookup(const wr_table *table) {
    const wr_connector *c = wr_connector_find(table->connector);
    if (!c) return WR_LOOKUP_NOT;
    wr_arena     *arena = wr_arena_new(NULL);
    wr_table_info info = info_of(arena, table, true);
    int           way = (int)wr_lookup_way_of(c, &info);
    wr_arena_free(arena);
    return way;
}

enum { CONNECTORS_MAX = 64 };

const wr_connector_ref *adapter_connector(wr_str name) {
    static wr_connector_ref refs[CONNECTORS_MAX];
    static uint32_t         n_refs;
    static atomic_flag      lock = ATOMIC_FLAG_INIT;
    const wr_connector     *c = wr_connector_find(name);
    if (!c) return NULL;
    while (atomic_flag_test_and_set(&lock)) {}
    wr_connector_ref *ref = NULL;
    for (uint32_t i = 0; i < n_refs; i++)
        if (!strcmp(refs[i].name, c->name)) ref = &refs[i];
    if (!ref && n_refs < CONNECTORS_MAX) {
        ref = &refs[n_refs++];
        *ref = (wr_connector_ref){.name = c->name, .is_source = c->source_new != NULL, .is_sink = c->sink_new != NULL, .parallel_sink = c->parallel_sink,
                                  .needs_format = c->needs_format, .partial_updates = c->partial_updates, .metadata = c->metadata, .source_changes = source_changes, .sink_takes = sink_takes,
                                  .guarantee = guarantee, .bounded = bounded, .lookup = lookup};
    }
    atomic_flag_clear(&lock);
    return ref;
}

/* Of a materialized view: its other options are the planner's. */
static bool check_promises(const wr_options *options, wr_diags *diags) {
    uint32_t       before = diags->n_errors;
    wr_slo_options promised;
    wr_str         names[32];
    size_t         n = 0;
    for (const wr_option_spec *s = wr_slo_specs; s->key && n < WR_COUNT_OF(names); s++) names[n++] = wr_str_of(s->key);
    for (uint32_t i = 0; i < options->n; i++) {
        const wr_option *o = &options->at[i];
        bool             known = !wr_str_starts(o->key, WR_STR("slo."));
        for (size_t k = 0; k < n; k++) known = known || wr_str_eq(names[k], o->key);
        if (known) continue;
        wr_diags_add(diags, WR_SEV_ERROR, "WR120", o->at, "a materialized view has no option '%.*s'", WR_FMT(o->key));
        int near = wr_nearest(o->key, names, n);
        if (near >= 0) wr_diags_hint(diags, "did you mean '%.*s'?", WR_FMT(names[near]));
    }
    (void)wr_slo_options_read(options, &promised, diags);
    return diags->n_errors == before;
}

bool adapter_check_options(const wr_table *table, bool as_source, wr_diags *diags) {
    wr_arena     *arena = wr_arena_new(NULL);
    wr_table_info info = info_of(arena, table, as_source);
    bool          fine = table->is_materialized ? check_promises(&info.options, diags) : wr_table_options_check(&info, as_source, diags);
    wr_arena_free(arena);
    return fine;
}
