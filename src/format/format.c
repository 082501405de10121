/* format/format.c: the table of formats, typed access to options.
 *
 * Idea       an option's spec says its kind and default; readers name the key only, so that messages and docs come from one table.
 * Thread     everything here is read-only after start.                                                                */
#include "format/format.h"
#include "format/parts.h"

const wr_option *wr_options_find(const wr_options *options, const char *key) {
    wr_str k = wr_str_of(key);
    for (uint32_t i = 0; i < options->n; i++)
        if (wr_str_eq(options->at[i].key, k)) return &options->at[i];
    return NULL;
}

static const wr_option_spec *spec_of(const wr_option_spec *specs, const char *key) {
    for (; specs && specs->key; specs++)
        if (!strcmp(specs->key, key)) return specs;
    return NULL;
}

wr_str wr_option_string(const wr_options *o, const wr_option_spec *specs, const char *key) {
    const wr_option *found = wr_options_find(o, key);
    if (found) return found->value;
    const wr_option_spec *spec = spec_of(specs, key);
    return spec && spec->fallback ? wr_str_of(spec->fallback) : WR_STR("");
}

/* The option's text, from WITH or the default; *at is where to point on trouble. False if there is neither. */
static bool option_text(const wr_options *o, const wr_option_spec *specs, const char *key, wr_str *text, wr_span *at) {
    const wr_option *found = wr_options_find(o, key);
    *at = found ? found->at : (wr_span){0};
    *text = wr_str_trim(wr_option_string(o, specs, key));
    return found || text->len;
}

static bool bad_value(wr_diags *diags, wr_span at, const char *key, wr_str text, const char *expected) {
    if (diags) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR121", at, "option '%s' is '%.*s', expected %s", key, (int)WR_MIN(text.len, 200u), text.ptr, expected);
        wr_diags_hint(diags, "write for example '%s' = '%s'", key,
                      strstr(expected, "true") ? "true" : strstr(expected, "duration") ? "5 s" : strstr(expected, "size") ? "16 MiB" : "100");
    }
    return false;
}

bool wr_option_bool(const wr_options *o, const wr_option_spec *specs, const char *key, bool *out, wr_diags *diags) {
    wr_str  text;
    wr_span at;
    *out = false;
    if (!option_text(o, specs, key, &text, &at)) return true;
    if (wr_str_ieq(text, WR_STR("true"))) return *out = true;
    if (wr_str_ieq(text, WR_STR("false"))) return true;
    return bad_value(diags, at, key, text, "true or false");
}

bool wr_option_int(const wr_options *o, const wr_option_spec *specs, const char *key, int64_t *out, wr_diags *diags) {
    wr_str  text;
    wr_span at;
    *out = 0;
    if (!option_text(o, specs, key, &text, &at)) return true;
    if (wr_scalar_int(text, out)) return true;
    return bad_value(diags, at, key, text, "a whole number");
}

bool wr_option_duration(const wr_options *o, const wr_option_spec *specs, const char *key, int64_t *out_us, wr_diags *diags) {
    wr_str  text;
    wr_span at;
    *out_us = 0;
    if (!option_text(o, specs, key, &text, &at)) return true;
    if (wr_parse_duration(text, out_us)) return true;
    return bad_value(diags, at, key, text, "a duration such as '5 s', '100 ms', '1 min' or '2 h'");
}

bool wr_option_size(const wr_options *o, const wr_option_spec *specs, const char *key, int64_t *out_bytes, wr_diags *diags) {
    wr_str  text;
    wr_span at;
    *out_bytes = 0;
    if (!option_text(o, specs, key, &text, &at)) return true;
    if (wr_parse_size(text, out_bytes)) return true;
    return bad_value(diags, at, key, text, "a size such as '512 MiB', '64 mb' or '1g'");
}

const char *wr_bad_kind_name(wr_bad_kind kind) {
    static const char *const names[] = {"malformed", "wrong type", "missing field", "out of range", "over-long", "invalid UTF-8", "NULL in NOT NULL column", "late"};
    return (unsigned)kind < WR_COUNT_OF(names) ? names[kind] : "unknown";
}

static const wr_format *const formats[] = {&wr_format_json, &wr_format_csv, &wr_format_raw, &wr_format_debezium, &wr_format_canal, &wr_format_maxwell, &wr_format_ogg, &wr_format_upsert,
                                         &wr_format_avro, &wr_format_avro_confluent, &wr_format_debezium_avro, &wr_format_proto, &wr_format_proto_confluent, &wr_format_json_confluent};

const wr_format *const *wr_formats(size_t *n) {
    *n = WR_COUNT_OF(formats);
    return formats;
}

const wr_format *wr_format_find(wr_str name) {
    for (size_t i = 0; i < WR_COUNT_OF(formats); i++)
        if (wr_str_eq(name, wr_str_of(formats[i]->name))) return formats[i];
    return NULL;
}

void wr_formats_hint(wr_diags *diags, wr_str name, bool for_write) {
    wr_str  names[WR_COUNT_OF(formats)];
    wr_sbuf text = {0};
    for (size_t i = 0; i < WR_COUNT_OF(formats); i++) {
        names[i] = wr_str_of(formats[i]->name);
        if (for_write && !formats[i]->can_write) continue;
        wr_sbuf_printf(&text, "%s%s", text.len ? ", " : "", formats[i]->name);
    }
    int near = name.len ? wr_nearest(name, names, WR_COUNT_OF(names)) : -1;
    if (near >= 0) wr_diags_hint(diags, "did you mean '%.*s'? There are: %s", WR_FMT(names[near]), text.at);
    else wr_diags_hint(diags, "there are: %s", text.at);
    wr_sbuf_free(&text);
}

bool wr_options_skip_bad(const wr_options *options) {
    const wr_str side = WR_STR("value."), option = WR_STR(".ignore-parse-errors");
    for (uint32_t i = 0; i < options->n; i++) {
        wr_str key = options->at[i].key;
        if (!wr_str_ieq(wr_str_trim(options->at[i].value), WR_STR("true"))) continue;
        if (wr_str_starts(key, side)) key = (wr_str){key.ptr + side.len, key.len - side.len};
        if (key.len <= option.len || memcmp(key.ptr + key.len - option.len, option.ptr, option.len)) continue;
        if (wr_format_find((wr_str){key.ptr, key.len - option.len})) return true;
    }
    return false;
}

/* ---- metadata columns ---- */

static const char FRAME[] = "value.";

bool wr_format_is_metadata(wr_str key) { return wr_str_starts(key, WR_STR("value.")); }

static bool type_fits(wr_type type, const char *wants) {
    if (!strcmp(wants, "TIMESTAMP_LTZ")) return type.id == WR_T_TIMESTAMP_LTZ;
    if (!strcmp(wants, "STRING")) return wr_type_is_string(type);
    if (!strcmp(wants, "ARRAY<STRING>")) return type.id == WR_T_ARRAY && wr_type_is_string(type.kids[0]);
    if (type.id != WR_T_MAP || !wr_type_is_string(type.kids[0])) return false;
    return !strcmp(wants, "MAP<STRING, INT>") ? type.kids[1].id == WR_T_INT : wr_type_is_string(type.kids[1]);
}

static bool check_metadata(const wr_format *format, wr_str key, wr_type type, wr_span at, wr_diags *diags) {
    wr_sbuf known = {0};
    for (const wr_format_metadata *m = format->metadata; m && m->key; m++) {
        if (wr_str_eq(key, wr_str_of(m->key))) {
            wr_sbuf_free(&known);
            if (type_fits(type, m->type)) return true;
            wr_diags_add(diags, WR_SEV_ERROR, "WR126", at, "the metadata column '%s%.*s' must be of type %s", FRAME, WR_FMT(key), m->type);
            return false;
        }
        wr_sbuf_printf(&known, "%s%s%s", known.len ? ", " : "", FRAME, m->key);
    }
    wr_diags_add(diags, WR_SEV_ERROR, "WR126", at, "the format '%s' has no metadata '%s%.*s'", format->name, FRAME, WR_FMT(key));
    wr_diags_hint(diags, known.len ? "there are: %s" : "it has none at all", known.at);
    wr_sbuf_free(&known);
    return false;
}

bool wr_format_metadata_pick(const wr_format *format, const wr_schema *schema, uint32_t n_physical, const wr_str *keys, wr_span at, wr_arena *arena, const wr_schema **out,
                             const wr_str **out_keys, wr_diags *diags) {
    wr_schema *picked = wr_new(arena, wr_schema);
    wr_field  *fields = wr_new_n(arena, wr_field, schema->n + 1);
    wr_str    *names = wr_new_n(arena, wr_str, schema->n + 1);
    *out = NULL;
    for (uint32_t c = n_physical; c < schema->n; c++) {
        wr_str key = keys[c - n_physical];
        if (!wr_format_is_metadata(key)) continue;
        key = (wr_str){key.ptr + sizeof FRAME - 1, key.len - (sizeof FRAME - 1)};
        if (!check_metadata(format, key, schema->fields[c].type, at, diags)) return false;
        names[picked->n] = key;
        fields[picked->n++] = schema->fields[c];
    }
    picked->fields = fields;
    *out_keys = names;
    if (picked->n) *out = picked;
    return true;
}

const uint8_t *wr_format_needed(const wr_schema *schema, uint32_t n_physical, const wr_str *keys, const uint8_t *needed, wr_arena *arena) {
    if (!needed) return NULL;
    uint8_t *mine = wr_arena_calloc(arena, schema->n + 1);
    uint32_t n = n_physical;
    memcpy(mine, needed, n_physical);
    for (uint32_t c = n_physical; c < schema->n; c++)
        if (wr_format_is_metadata(keys[c - n_physical])) mine[n++] = needed[c];
    return mine;
}

void wr_bad_add(wr_decoded *out, wr_bad_kind kind, uint64_t line, uint64_t offset, wr_str raw, const char *message) {
    wr_bad_record bad = {.kind = kind, .line = line, .offset = offset, .before_row = out->n_rows, .raw = raw};
    size_t        n = WR_MIN(strlen(message), sizeof bad.message - 1);
    memcpy(bad.message, message, n);
    wr_arr_push(&out->bad, bad);
    out->n_records++;
}

void wr_decoded_clear(wr_decoded *d) {
    for (uint32_t i = 0; i < d->batches.n; i++) wr_batch_unref(d->batches.at[i]);
    d->batches.n = d->bad.n = d->row_lines.n = d->row_places.n = 0;
    d->n_records = d->n_lines = d->n_rows = d->n_blank = d->n_tombstones = d->n_redelivered = 0;
    d->want_lines = d->want_places = false;
    d->failed = WR_OK;
}

void wr_decoded_free(wr_decoded *d) {
    wr_decoded_clear(d);
    wr_arr_free(&d->batches);
    wr_arr_free(&d->bad);
    wr_arr_free(&d->row_lines);
    wr_arr_free(&d->row_places);
}

void wr_decoded_push(wr_decoded *out, wr_batch *batch) { wr_arr_push(&out->batches, batch); }

/* ---- building a batch by hand: columns of `capacity` rows, cut to what was used at the end ---- */

wr_batch *wr_rows_open(const wr_schema *schema, const uint8_t *needed, uint32_t capacity, bool kinds) {
    size_t hint = 256 + (kinds ? capacity : 0);
    for (uint32_t i = 0; i < schema->n; i++) {
        wr_storage s = wr_type_storage(schema->fields[i].type);
        bool       grows = s == WR_S_STR || wr_type_is_nested(schema->fields[i].type); /* texts and elements stand behind */
        if (!needed || needed[i]) hint += wr_storage_size(s) * (capacity + 16) * (grows ? 2 : 1) + capacity / 8 + 192;
    }
    wr_batch *batch = wr_batch_new(schema->n, WR_MIN(hint, (size_t)1 << 20));
    for (uint32_t i = 0; i < schema->n; i++) {
        if (!needed || needed[i]) wr_vec_init(&batch->cols[i], schema->fields[i].type, capacity, false, batch->mem);
        else batch->cols[i] = (wr_vec){.type = wr_type_of(WR_T_NULL), .n = capacity};
    }
    if (kinds) batch->kinds = wr_mem_alloc(batch->mem, WR_MAX(capacity, 1u));
    return batch;
}

static void cut_vec(wr_vec *vec, uint32_t n) {
    vec->n = n;
    if (vec->type.id == WR_T_ROW)
        for (uint32_t k = 0; k < vec->type.n_kids; k++) cut_vec(&vec->kids[k], n);
}

void wr_rows_close(wr_batch *batch, uint32_t n) {
    batch->n_rows = n;
    for (uint32_t i = 0; i < batch->n_cols; i++) cut_vec(&batch->cols[i], n);
    if (batch->kinds && wr_kinds_uniform_insert(batch->kinds, n)) batch->kinds = NULL;
}
