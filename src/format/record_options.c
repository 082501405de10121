/* format/record_options.c: the options of a table whose records are messages with key and value (see records.h): read, checked, explained.
 *
 * Idea       a format's own options ('json.ignore-parse-errors') may carry 'value.' or 'key.' in front, as in Flink; each side's decoder gets a list in which
 *            they stand without it.
 * Thread     any.                                                                                                                    */
#include "format/records.h"

const wr_option_spec wr_record_specs[] = {
    {"format", "string", NULL, false, "how values are written"},
    {"value.format", "string", NULL, false, "the same as 'format'"},
    {"key.format", "string", NULL, false, "how keys are written; without it they are not read, and written empty"},
    {"key.fields", "string", NULL, false, "columns that make up the key, with ';' between them"},
    {"key.fields-prefix", "string", "", false, "these columns' names begin with it in the table, not in the key"},
    {"value.fields-include", "enum:ALL|EXCEPT_KEY", "ALL", false, "do values have the key's columns too?"},
    {0}};

typedef struct reading {
    wr_record_format *f;
    const wr_schema  *schema;
    const wr_options *options;
    wr_span           at;
    bool              for_write;
    wr_arena         *arena;
    wr_diags         *diags;
} reading;

static wr_str text_of(const reading *r, const char *key) { return wr_str_trim(wr_option_string(r->options, wr_record_specs, key)); }
static wr_span span_of(const reading *r, const char *key) {
    const wr_option *o = wr_options_find(r->options, key);
    return o ? o->at : r->at;
}

static const wr_format *find_format(reading *r, const char *key, wr_str name) {
    const wr_format *f = wr_format_find(name);
    if (f && r->for_write && !f->can_write) {
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR125", span_of(r, key), "the format '%s' can only be read", f->name);
        return NULL;
    }
    if (f) return f;
    wr_diags_add(r->diags, WR_SEV_ERROR, "WR124", span_of(r, key), "there is no format '%.*s'", WR_FMT(name));
    wr_formats_hint(r->diags, name, r->for_write);
    return NULL;
}

/* The table's options with those of this side's format without their prefix. */
static wr_options side_options(const reading *r, const char *prefix) {
    wr_option *at = wr_new_n(r->arena, wr_option, r->options->n + 1);
    wr_str     p = wr_str_of(prefix);
    uint32_t   n = 0;
    for (uint32_t i = 0; i < r->options->n; i++) {
        wr_option o = r->options->at[i];
        bool      subject = o.key.len > 8 && !memcmp(o.key.ptr + o.key.len - 8, ".subject", 8); /* of a registry: what is said of values is not said of keys */
        if (wr_str_starts(o.key, p)) o.key = (wr_str){o.key.ptr + p.len, o.key.len - p.len};
        else if (subject && *prefix == 'k') continue;
        at[n++] = o;
    }
    return (wr_options){n, at};
}

static bool key_column(reading *r, wr_str name) {
    int col = wr_schema_find(r->schema, name);
    if (col < 0) {
        wr_str *names = wr_new_n(r->arena, wr_str, r->schema->n + 1);
        for (uint32_t i = 0; i < r->schema->n; i++) names[i] = r->schema->fields[i].name;
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR121", span_of(r, "key.fields"), "'key.fields': the table has no column '%.*s' that is stored", WR_FMT(name));
        int near = wr_nearest(name, names, r->schema->n);
        if (near >= 0) wr_diags_hint(r->diags, "did you mean '%.*s'?", WR_FMT(names[near]));
        return false;
    }
    if (!wr_str_starts(name, r->f->key_prefix)) {
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR121", span_of(r, "key.fields-prefix"), "the key column '%.*s' does not begin with 'key.fields-prefix' = '%.*s'", WR_FMT(name), WR_FMT(r->f->key_prefix));
        return false;
    }
    for (uint32_t i = 0; i < r->f->n_key; i++)
        if (r->f->key_columns[i] == (uint32_t)col) return true;
    r->f->key_columns[r->f->n_key++] = (uint32_t)col;
    return true;
}

static bool key_fields(reading *r) {
    wr_str list = text_of(r, "key.fields");
    bool   ok = true;
    for (wr_str name; wr_str_next(&list, ';', &name);)
        if (name.len) ok &= key_column(r, name);
    return ok;
}

/* Does everything that belongs together stand there? */
static bool check_key(reading *r, bool upsert) {
    wr_record_format *f = r->f;
    if (f->key && !f->n_key) {
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR122", span_of(r, "key.format"), "'key.format' needs 'key.fields': the columns that make up the key");
        wr_diags_hint(r->diags, "write for example 'key.fields' = '%.*s'", r->schema->n ? (int)r->schema->fields[0].name.len : 0, r->schema->n ? r->schema->fields[0].name.ptr : "");
        return false;
    }
    if (!f->key && f->n_key) {
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR122", span_of(r, "key.fields"), "%s needs 'key.format'", upsert ? "the PRIMARY KEY is the message's key, which" : "'key.fields'");
        wr_diags_hint(r->diags, "write for example 'key.format' = 'json'");
        return false;
    }
    if (f->key && f->key->changes != WR_FORMAT_APPEND) {
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR125", span_of(r, "key.format"), "the format '%s' is for values: a key is no change", f->key->name);
        return false;
    }
    if (upsert && f->value->changes != WR_FORMAT_APPEND) {
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR125", span_of(r, "value.format"), "the format '%s' says itself what changes; here a message's key says it", f->value->name);
        wr_diags_hint(r->diags, "use the connector 'kafka' for it");
        return false;
    }
    if (f->value_has_key && f->key_prefix.len) {
        wr_diags_add(r->diags, WR_SEV_ERROR, "WR121", span_of(r, "key.fields-prefix"), "'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY'");
        return false;
    }
    return true;
}

bool wr_record_format_read(wr_record_format *out, const wr_schema *schema, const uint32_t *primary, uint32_t n_primary, const wr_options *options, wr_span at, bool upsert,
                           bool for_write, wr_arena *arena, wr_diags *diags) {
    reading r = {out, schema, options, at, for_write, arena, diags};
    *out = (wr_record_format){.upsert = upsert, .key_columns = wr_new_n(arena, uint32_t, schema->n + 1)};
    bool   alias = wr_options_find(options, "value.format") != NULL;
    wr_str value = text_of(&r, alias ? "value.format" : "format"), key = text_of(&r, "key.format");
    if (!value.len) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR122", at, "the table has no '%s'", upsert ? "value.format" : "format");
        wr_diags_hint(diags, "write for example '%s' = 'json'", upsert ? "value.format" : "format");
        return false;
    }
    if (alias && wr_options_find(options, "format")) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR120", span_of(&r, "format"), "'format' and 'value.format' are the same option");
        return false;
    }
    out->key_prefix = text_of(&r, "key.fields-prefix");
    out->value_has_key = !wr_str_ieq(text_of(&r, "value.fields-include"), WR_STR("EXCEPT_KEY"));
    out->value = find_format(&r, alias ? "value.format" : "format", value);
    if (key.len) out->key = find_format(&r, "key.format", key);
    if (!out->value || (key.len && !out->key)) return false;
    out->value_options = side_options(&r, "value.");
    out->key_options = side_options(&r, "key.");
    if (upsert) {
        if (wr_options_find(options, "key.fields")) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR120", span_of(&r, "key.fields"), "'key.fields' is the PRIMARY KEY here: leave it out");
            return false;
        }
        for (uint32_t i = 0; i < n_primary; i++) {
            if (!key_column(&r, schema->fields[primary[i]].name)) return false;
        }
        if (!n_primary) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR128", at, "the table needs a PRIMARY KEY (...) NOT ENFORCED: it is the messages' key, and says which rows replace each other");
            return false;
        }
    } else if (!key_fields(&r)) {
        return false;
    }
    return check_key(&r, upsert);
}
