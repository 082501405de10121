/* connect/messages.c: see messages.h. No state; a note belongs to one worker. */
#include "connect/messages.h"
#include <stdio.h>
#include <stdlib.h>

/* "partition:7" -> 7, when it begins with the word. */
static bool named_number(wr_str text, const char *word, int64_t *out) {
    const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
    if (!colon || !wr_str_eq(wr_str_trim((wr_str){text.ptr, (size_t)(colon - text.ptr)}), wr_str_of(word))) return false;
    wr_str digits = wr_str_trim((wr_str){colon + 1, text.len - (size_t)(colon + 1 - text.ptr)});
    *out = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9' || *out > INT64_MAX / 10 - 9) return false;
        *out = *out * 10 + (digits.ptr[i] - '0');
    }
    return digits.len > 0;
}

bool message_offset(wr_str list, int64_t partition, int64_t *offset, bool *found) {
    *found = false;
    for (wr_str item, part; wr_str_next(&list, ';', &item);) {
        int64_t which, at;
        if (!wr_str_next(&item, ',', &part) || !named_number(part, "partition", &which) || !named_number(item, "offset", &at)) return false;
        if (which == partition) *offset = at, *found = true;
    }
    return true;
}

/* ---- sources ---- */

void message_note_open(message_note *note, wr_mem *mem, size_t key_bytes, size_t value_bytes, bool headers) {
    wr_str  topic = note->topic;
    int32_t partition = note->partition;
    *note = (message_note){.topic = topic, .partition = partition};
    note->offsets = wr_mem_alloc(mem, WR_RECORDS_MAX * sizeof(int64_t));
    note->timestamps_ms = wr_mem_alloc(mem, WR_RECORDS_MAX * sizeof(int64_t));
    if (headers) note->header_from = wr_mem_calloc(mem, (WR_RECORDS_MAX + 1) * sizeof(uint32_t));
    wr_records_open(&note->records, mem, key_bytes, value_bytes);
}

bool message_note_add(message_note *note, wr_str key, wr_str value, int64_t offset, int64_t timestamp_ms) {
    uint32_t i = note->records.n;
    if (!wr_records_add(&note->records, key, value)) return false;
    note->offsets[i] = offset;
    note->timestamps_ms[i] = timestamp_ms;
    if (note->header_from) note->header_from[i + 1] = note->header_from[i];
    return true;
}

bool message_source_glance(wr_source *base, const wr_chunk *chunk, wr_decoded *out, int64_t *came_us) {
    const message_note *note = (const message_note *)(uintptr_t)chunk->rows_from;
    (void)base;
    *came_us = WR_TIME_MIN;
    if (!chunk->len) return true;
    out->n_records += note->records.n;
    if (note->records.n && note->timestamps_ms[0] > 0) *came_us = note->timestamps_ms[0] * 1000;
    return true;
}

static wr_str *grow(wr_mem *mem, const wr_str *list, uint32_t n, uint32_t room) {
    wr_str *more = wr_mem_alloc(mem, room * sizeof *more);
    if (n) memcpy(more, list, n * sizeof *more);
    return more;
}

void message_note_header(message_note *note, wr_str name, wr_str value) {
    wr_mem   *mem = note->records.mem;
    uint32_t *n = &note->header_from[note->records.n];
    char     *bytes = wr_mem_alloc(mem, name.len + value.len + 1);
    memcpy(bytes, name.ptr, name.len);
    if (value.ptr) memcpy(bytes + name.len, value.ptr, value.len);
    if (*n == note->header_room) {
        note->header_room = WR_MAX(note->header_room * 2, 64u);
        note->header_names = grow(mem, note->header_names, *n, note->header_room);
        note->header_values = grow(mem, note->header_values, *n, note->header_room);
    }
    note->header_names[*n] = (wr_str){bytes, name.len};
    note->header_values[*n] = (wr_str){value.ptr ? bytes + name.len : NULL, value.len};
    (*n)++;
}

static void fill_headers(const message_note *note, const uint32_t *records, wr_vec *vec, uint32_t n, wr_mem *mem) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = note->header_from[records[i]], len = note->header_from[records[i] + 1] - from;
        uint32_t at = wr_vec_grow(&vec->kids[0], len, mem);
        (void)wr_vec_grow(&vec->kids[1], len, mem);
        for (uint32_t k = 0; k < len; k++) {
            wr_str name = note->header_names[from + k], value = note->header_values[from + k];
            ((wr_sview *)vec->kids[0].data)[at + k] = wr_sview_borrow(name.ptr, name.len);
            if (value.ptr) ((wr_sview *)vec->kids[1].data)[at + k] = wr_sview_borrow(value.ptr, value.len);
            else wr_vec_set_null(&vec->kids[1], at + k, mem);
        }
        ((wr_list *)vec->data)[i] = (wr_list){at, len};
    }
}

static void fill_metadata(const message_note *note, const uint32_t *records, wr_batch *batch, wr_str key, wr_vec *vec, wr_type type) {
    static const char *const time_types[] = {"NoTimestampType", "CreateTime", "LogAppendTime"};
    uint32_t n = batch->n_rows;
    wr_vec_init(vec, type, n, false, batch->mem);
    if (wr_str_eq(key, WR_STR("headers"))) {
        fill_headers(note, records, vec, n, batch->mem);
    } else if (wr_str_eq(key, WR_STR("id")) || wr_str_eq(key, WR_STR("subject")) || (wr_str_eq(key, WR_STR("topic")) && !note->topic.ptr)) {
        const wr_str *texts = wr_str_eq(key, WR_STR("id")) ? note->ids : note->topics;
        for (uint32_t i = 0; i < n; i++) ((wr_sview *)vec->data)[i] = wr_sview_borrow(texts[records[i]].ptr, texts[records[i]].len);
    } else if (wr_str_eq(key, WR_STR("topic")) || wr_str_eq(key, WR_STR("stream"))) {
        wr_sview view = wr_sview_borrow(note->topic.ptr, note->topic.len);
        for (uint32_t i = 0; i < n; i++) ((wr_sview *)vec->data)[i] = view;
    } else if (wr_str_eq(key, WR_STR("partition"))) {
        for (uint32_t i = 0; i < n; i++) ((int32_t *)vec->data)[i] = note->partition;
    } else if (wr_str_eq(key, WR_STR("offset")) || wr_str_eq(key, WR_STR("sequence"))) {
        for (uint32_t i = 0; i < n; i++) ((int64_t *)vec->data)[i] = note->offsets[records[i]];
    } else if (wr_str_eq(key, WR_STR("timestamp-type"))) {
        for (uint32_t i = 0; i < n; i++) {
            wr_str text = wr_str_of(time_types[WR_MIN(note->timestamp_types[records[i]], 2)]);
            ((wr_sview *)vec->data)[i] = wr_sview_borrow(text.ptr, text.len);
        }
    } else if (wr_str_eq(key, WR_STR("leader-epoch"))) {
        for (uint32_t i = 0; i < n; i++) wr_vec_set_null(vec, i, batch->mem); /* the client library does not tell it before 2.1 */
    } else { /* timestamp: TIMESTAMP_LTZ(3), microseconds */
        for (uint32_t i = 0; i < n; i++) ((int64_t *)vec->data)[i] = (int64_t)((uint64_t)note->timestamps_ms[records[i]] * 1000); /* a producer may write any number there */
    }
}

/* ---- readers ---- */

static bool is_of(message_kind kind, wr_type type) {
    switch (kind) {
    case MESSAGE_TEXT: return wr_type_is_string(type);
    case MESSAGE_INT: return type.id == WR_T_INT;
    case MESSAGE_BIGINT: return type.id == WR_T_BIGINT;
    case MESSAGE_TIME: return type.id == WR_T_TIMESTAMP_LTZ && type.prec == 3;
    default: return type.id == WR_T_MAP && wr_type_is_string(type.kids[0]) && wr_type_is_binary(type.kids[1]);
    }
}

static bool check_metadata(const wr_table_info *t, const message_key *keys, wr_diags *diags) {
    static const char *const types[] = {"STRING", "INT", "BIGINT", "TIMESTAMP_LTZ(3)", "MAP<STRING, BYTES>"};
    const wr_option *connector = wr_options_find(&t->options, "connector");
    for (uint32_t c = t->n_physical; c < t->schema->n; c++) {
        wr_str             key = t->metadata_keys[c - t->n_physical];
        const message_key *k = keys;
        if (wr_format_is_metadata(key)) continue; /* the format's */
        while (k->name && !wr_str_eq(key, wr_str_of(k->name))) k++;
        if (k->name && is_of(k->kind, t->schema->fields[c].type)) continue;
        if (k->name) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR126", t->at, "the metadata column '%.*s' must be of type %s", WR_FMT(key), types[k->kind]);
            return false;
        }
        wr_sbuf names = {0};
        for (k = keys; k->name; k++) wr_sbuf_printf(&names, "%s%s", k == keys ? "" : ", ", k->name);
        wr_diags_add(diags, WR_SEV_ERROR, "WR126", t->at, "'%.*s' has no metadata '%.*s'; there are %s", connector ? (int)connector->value.len : 0, connector ? connector->value.ptr : "", WR_FMT(key), names.at);
        wr_sbuf_free(&names);
        return false;
    }
    return true;
}

bool message_reader_wants(const message_reader *r, const char *key) {
    for (uint32_t c = r->n_physical; c < r->schema->n; c++)
        if (wr_str_eq(r->metadata_keys[c - r->n_physical], wr_str_of(key))) return true;
    return false;
}

wr_status message_reader_open(message_reader *r, const wr_table_info *t, const message_key *keys, bool upsert, wr_arena *arena, wr_connect_ctx *ctx) {
    int64_t    max_bytes = 0;
    wr_schema *physical = wr_new(arena, wr_schema);
    *r = (message_reader){.schema = t->schema, .n_physical = t->n_physical, .metadata_keys = t->metadata_keys, .n = WR_MAX(ctx->n_workers, 1u)};
    *physical = (wr_schema){t->n_physical, t->schema->fields};
    if (!wr_record_format_read(&r->format, physical, t->key, t->n_key, &t->options, t->at, upsert, false, arena, ctx->diags) || !check_metadata(t, keys, ctx->diags) ||
        !wr_option_size(&t->options, wr_source_specs, "max-record-bytes", &max_bytes, ctx->diags)) return WR_USER;
    wr_record_reader_opts opts = {.format = &r->format, .schema = physical, .tz = ctx->tz, .world = ctx->world, .batch_rows = ctx->batch_rows, .max_record_bytes = max_bytes,
                                  .needed = wr_format_needed(t->schema, t->n_physical, t->metadata_keys, t->needed, ctx->arena)};
    if (!wr_format_metadata_pick(r->format.value, t->schema, t->n_physical, t->metadata_keys, t->at, ctx->arena, &opts.metadata, &opts.metadata_keys, ctx->diags)) return WR_USER;
    r->list = wr_calloc(r->n, sizeof *r->list);
    for (uint32_t i = 0; i < r->n; i++) WR_TRY(wr_record_reader_new(&opts, &r->list[i], ctx->diags));
    return WR_OK;
}

void message_reader_close(message_reader *r) {
    for (uint32_t i = 0; r->list && i < r->n; i++) wr_record_reader_free(r->list[i]);
    wr_free(r->list);
    r->list = NULL;
}

void message_decode(const message_reader *r, uint32_t worker, const message_note *note, wr_decoded *out) {
    uint32_t from = out->batches.n, first_bad = out->bad.n, row = 0;
    out->row_lines.n = 0;
    wr_record_reader_decode(r->list[worker], &note->records, out);
    for (uint32_t i = first_bad; i < out->bad.n; i++) out->bad.at[i].offset = (uint64_t)note->offsets[out->bad.at[i].line];
    for (uint32_t i = 0; out->want_places && i < out->row_lines.n; i++) wr_arr_push(&out->row_places, (uint64_t)note->offsets[out->row_lines.at[i]]);
    for (uint32_t b = from; b < out->batches.n && r->schema->n > r->n_physical; b++) {
        wr_batch *inner = out->batches.at[b], *whole = wr_batch_derive(inner, r->schema->n);
        uint32_t  own = r->n_physical; /* the format's metadata columns stand behind the physical ones */
        wr_mem_keep(whole->mem, note->records.mem);
        for (uint32_t c = r->n_physical; c < r->schema->n; c++)
            if (wr_format_is_metadata(r->metadata_keys[c - r->n_physical])) whole->cols[c] = inner->cols[own++];
            else fill_metadata(note, out->row_lines.at + row, whole, r->metadata_keys[c - r->n_physical], &whole->cols[c], r->schema->fields[c].type);
        row += inner->n_rows;
        wr_batch_unref(inner);
        out->batches.at[b] = whole;
    }
}

/* ---- dead letters ---- */

static wr_str slice_of(const uint8_t *bytes, wr_slice slice) { return slice.len == WR_NO_BYTES ? (wr_str){NULL, 0} : (wr_str){(const char *)bytes + slice.at, slice.len}; }

void message_put_headers(const wr_str *names, const wr_str *values, uint32_t n, wr_sbuf *context) {
    wr_sbuf headers = {0};
    for (uint32_t k = 0; k < n; k++) {
        wr_put_bytes(&headers, names[k].ptr, names[k].len);
        wr_put_u8(&headers, values[k].ptr != NULL);
        if (values[k].ptr) wr_put_bytes(&headers, values[k].ptr, values[k].len);
    }
    if (headers.len) {
        wr_sbuf_addz(context, ",\"headers\":\"");
        wr_base64(headers.at, headers.len, context);
        wr_sbuf_addc(context, '"');
    }
    wr_sbuf_free(&headers);
}

const char *message_member(wr_str context, const char *name) {
    char text[64];
    int  n = snprintf(text, sizeof text, "\"%s\":", name);
    const char *at = context.ptr ? memmem(context.ptr, context.len, text, (size_t)n) : NULL;
    return at ? at + n : NULL;
}

uint32_t message_get_headers(wr_str context, wr_mem *mem, wr_str **names, wr_str **values) {
    const char *at = message_member(context, "headers"), *end = context.ptr + context.len, *quote = at && at < end ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
    wr_sbuf     bytes = {0};
    uint32_t    n = 0;
    if (quote && *at == '"' && wr_base64_decode((wr_str){at + 1, (size_t)(quote - at - 1)}, &bytes)) {
        uint8_t  *copy = wr_mem_alloc(mem, bytes.len + 1);
        wr_reader in = {copy, copy + bytes.len, false};
        memcpy(copy, bytes.at, bytes.len);
        *names = wr_mem_alloc(mem, (bytes.len + 1) * sizeof **names);
        *values = wr_mem_alloc(mem, (bytes.len + 1) * sizeof **values);
        for (; in.at < in.end && !in.bad; n += !in.bad) {
            (*names)[n] = wr_get_bytes(&in);
            (*values)[n] = wr_get_u8(&in) ? wr_get_bytes(&in) : (wr_str){NULL, 0};
        }
    }
    wr_sbuf_free(&bytes);
    return n;
}

void message_beside(const message_note *note, uint64_t i, wr_str *raw, wr_str *key, wr_sbuf *context) {
    *raw = slice_of(note->records.value_bytes, note->records.values[i]);
    *key = slice_of(note->records.key_bytes, note->records.keys[i]);
    wr_sbuf_printf(context, "\"timestamp\":%lld", (long long)note->timestamps_ms[i]);
    if (note->ids && note->ids[i].ptr) wr_sbuf_addz(context, ",\"message_id\":"), wr_sbuf_add_json(context, note->ids[i]);
    if (note->topics && note->topics[i].ptr) wr_sbuf_addz(context, ",\"subject\":"), wr_sbuf_add_json(context, note->topics[i]);
    if (note->header_from) message_put_headers(note->header_names + note->header_from[i], note->header_values + note->header_from[i], note->header_from[i + 1] - note->header_from[i], context);
}

void message_source_beside(wr_source *base, const wr_chunk *chunk, const wr_bad_record *bad, wr_str *raw, wr_str *key, wr_sbuf *context) {
    (void)base;
    message_beside((const message_note *)(uintptr_t)chunk->rows_from, bad->line, raw, key, context);
}

/* A text of the context, copied; ptr NULL: it is not there. */
static wr_str get_text(wr_str context, const char *name, wr_mem *mem) {
    const char *at = message_member(context, name), *end = context.ptr + context.len, *quote = at && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
    if (!quote) return (wr_str){NULL, 0};
    size_t len = (size_t)(quote - at - 1);
    char  *copy = wr_mem_alloc(mem, len + 1);
    memcpy(copy, at + 1, len);
    return (wr_str){copy, len};
}

bool message_again(message_note *note, wr_mem *mem, const wr_again *r, bool with_key, bool headers) {
    const char *time = message_member(r->context, "timestamp");
    message_note_open(note, mem, r->key.len + 64, r->raw.len + 64, headers);
    if (!message_note_add(note, with_key ? r->key : (wr_str){NULL, 0}, r->raw, r->offset, time ? strtoll(time, NULL, 10) : 0)) return false;
    note->ids = wr_mem_calloc(mem, sizeof *note->ids);
    note->topics = wr_mem_calloc(mem, sizeof *note->topics);
    note->ids[0] = get_text(r->context, "message_id", mem);
    note->topics[0] = get_text(r->context, "subject", mem);
    if (headers) note->header_from[1] = message_get_headers(r->context, mem, &note->header_names, &note->header_values);
    return true;
}

/* ---- sinks ---- */

bool message_columns_split(message_columns *out, const wr_table_info *t, wr_arena *arena, wr_diags *diags) {
    wr_field *fields = wr_new_n(arena, wr_field, t->schema->n + 1);
    *out = (message_columns){.columns = wr_new_n(arena, uint32_t, t->schema->n + 1), .timestamp = -1, .headers = -1};
    for (uint32_t c = 0; c < t->schema->n; c++) {
        wr_str  key = t->written_metadata ? t->written_metadata[c] : (wr_str){NULL, 0};
        wr_type type = t->schema->fields[c].type;
        if (!key.ptr) {
            out->columns[out->stored.n] = c;
            fields[out->stored.n++] = t->schema->fields[c];
        } else if (wr_str_eq(key, WR_STR("timestamp")) && type.id == WR_T_TIMESTAMP_LTZ && type.prec == 3) {
            out->timestamp = (int32_t)c;
        } else if (wr_str_eq(key, WR_STR("headers")) && type.id == WR_T_MAP && wr_type_is_string(type.kids[0]) && wr_type_is_binary(type.kids[1])) {
            out->headers = (int32_t)c;
        } else {
            wr_diags_add(diags, WR_SEV_ERROR, "WR126", t->at, "table '%.*s': the metadata '%.*s' cannot be written: timestamp as TIMESTAMP_LTZ(3) and headers as MAP<STRING, BYTES> can", WR_FMT(t->name), WR_FMT(key));
            wr_diags_hint(diags, "METADATA VIRTUAL leaves the column out when the table is written");
            return false;
        }
    }
    out->stored.fields = fields;
    return true;
}

wr_status message_write(const message_columns *c, wr_record_writer *writer, const wr_batch *batch, wr_record_put put, void *self, wr_err *err) {
    wr_batch *stored = wr_batch_derive((wr_batch *)(uintptr_t)batch, c->stored.n);
    for (uint32_t i = 0; i < c->stored.n; i++) stored->cols[i] = batch->cols[c->columns[i]];
    wr_status status = wr_record_writer_write(writer, stored, put, self, err);
    wr_batch_unref(stored);
    return status;
}
