/* format/records.c: see records.h.
 *
 * Idea       two sides, key and value: each is decoded by itself into batches and, per row, the index of its message; then one pass over the messages
 *            puts them together. Without keys nothing is copied: the value's batches are the result.
 * Breaks     a line break inside a message would make two lines of one. In the text formats but CSV it is white space: such a chunk is copied with
 *            tabs for it, and bad records are shown from the original. CSV counts its own lines, which are then mapped to messages.
 * Invariant  rows come out in the order of the messages.                                                                     */
#include "format/records.h"
#include "format/parts.h"
#include <stdio.h>

void wr_records_open(wr_records *r, wr_mem *mem, size_t key_bytes, size_t value_bytes) {
    *r = (wr_records){.mem = mem, .key_cap = key_bytes, .value_cap = value_bytes};
    r->keys = wr_mem_alloc(mem, WR_RECORDS_MAX * sizeof *r->keys);
    r->values = wr_mem_alloc(mem, WR_RECORDS_MAX * sizeof *r->values);
}

static bool lay_down(wr_mem *mem, bool first, uint8_t **bytes, size_t *len, size_t *cap, wr_str text, wr_slice *slice) {
    *slice = (wr_slice){(uint32_t)*len, WR_NO_BYTES};
    if (!text.ptr) return true;
    if (first && text.len + 1 > *cap) *cap = text.len + 1;
    if (*len + text.len + 1 > *cap) return false;
    if (!*bytes) {
        *bytes = wr_mem_alloc(mem, *cap + 64);
    }
    memcpy(*bytes + *len, text.ptr, text.len);
    slice->len = (uint32_t)text.len;
    *len += text.len;
    (*bytes)[(*len)++] = '\n';
    memset(*bytes + *len, 0, 64);
    return true;
}

bool wr_records_add(wr_records *r, wr_str key, wr_str value) {
    if (r->n == WR_RECORDS_MAX) return false;
    size_t key_was = r->key_len;
    if (!lay_down(r->mem, r->n == 0, &r->key_bytes, &r->key_len, &r->key_cap, key, &r->keys[r->n])) return false;
    if (!lay_down(r->mem, r->n == 0, &r->value_bytes, &r->value_len, &r->value_cap, value, &r->values[r->n])) {
        r->key_len = key_was;
        return false;
    }
    r->n++;
    return true;
}

/* ---- one side ---- */

typedef struct side {
    const wr_format *format;
    wr_decoder      *decoder;
    wr_decoded       out;     /* batches, bad and row_lines of the chunk at hand; lines become messages in read_side */
    WR_ARR(uint32_t) message; /* per record with bytes, the message */
    WR_ARR(wr_slice) present;
    WR_ARR(uint32_t) first_line;
} side;

static void clear_side(side *s) {
    wr_decoded_clear(&s->out);
    s->out.want_lines = true;
    s->message.n = s->present.n = s->first_line.n = 0;
}

static void free_side(side *s) {
    if (s->decoder) s->decoder->free(s->decoder);
    wr_decoded_free(&s->out);
    wr_arr_free(&s->message);
    wr_arr_free(&s->present);
    wr_arr_free(&s->first_line);
}

static uint32_t count_breaks(const uint8_t *p, size_t len) {
    uint32_t n = 0;
    for (const uint8_t *end = p + len; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) n++;
    return n;
}

/* The same bytes with tabs for the line breaks inside messages: white space between values too, and just as wrong inside a JSON string. */
static const uint8_t *without_breaks(side *s, wr_mem *mem, const uint8_t *bytes, size_t len) {
    uint8_t *copy = wr_mem_alloc(mem, len + 64);
    memcpy(copy, bytes, len + 64);
    for (uint32_t i = 0; i < s->present.n; i++)
        for (uint8_t *p = copy + s->present.at[i].at, *end = p + s->present.at[i].len; (p = memchr(p, '\n', (size_t)(end - p))); p++) *p = '\t';
    return copy;
}

/* Which of the records with bytes does the line belong to? */
static uint32_t record_at(const side *s, uint32_t line) {
    if (!s->first_line.n) return line;
    uint32_t from = 0, to = s->first_line.n;
    while (to - from > 1) {
        uint32_t mid = from + (to - from) / 2;
        if (s->first_line.at[mid] <= line) from = mid;
        else to = mid;
    }
    return from;
}

static void read_side(side *s, const wr_records *records, const wr_slice *slices, const uint8_t *bytes, size_t len) {
    clear_side(s);
    for (uint32_t i = 0; i < records->n; i++) {
        if (slices[i].len == WR_NO_BYTES) continue;
        wr_arr_push(&s->message, i);
        wr_arr_push(&s->present, slices[i]);
    }
    if (!s->present.n) return;
    const uint8_t *text = bytes;
    if (s->decoder->decode_records) {
        s->decoder->decode_records(s->decoder, records->mem, bytes, s->present.at, s->present.n, &s->out);
    } else {
        wr_mem *mem = records->mem, *copy = NULL;
        if (count_breaks(bytes, len) != s->present.n) {
            if (s->format->newline_in_record) {
                uint32_t line = 0;
                for (uint32_t i = 0; i < s->present.n; i++) {
                    wr_arr_push(&s->first_line, line);
                    line += 1 + count_breaks(bytes + s->present.at[i].at, s->present.at[i].len);
                }
            } else {
                mem = copy = wr_mem_new(len + 1024);
                wr_mem_keep(copy, records->mem);
                text = without_breaks(s, copy, bytes, len);
            }
        }
        s->decoder->decode(s->decoder, mem, text, len, false, &s->out);
        wr_mem_unref(copy); /* batches keep it; bad.raw is turned back below */
    }
    for (uint32_t i = 0; i < s->out.row_lines.n; i++) s->out.row_lines.at[i] = s->message.at[record_at(s, s->out.row_lines.at[i])];
    for (uint32_t i = 0; i < s->out.bad.n; i++) {
        wr_bad_record *bad = &s->out.bad.at[i];
        uint32_t       record = record_at(s, (uint32_t)bad->line);
        bad->line = s->message.at[record];
        bad->raw = (wr_str){(const char *)bytes + s->present.at[record].at, s->present.at[record].len}; /* all of it, whatever the decoder shows */
        bad->offset = s->message.at[record];
    }
}

/* ---- both ---- */

typedef struct place { bool in_key; uint32_t col; } place;

struct wr_record_reader {
    wr_arena              *arena;
    wr_schema              schema;     /* physical columns, then metadata */
    const wr_record_format *format;
    side                   value, key;
    bool                   keyed;      /* the key has a column that is needed, or it is an upsert */
    place                 *places;     /* of each physical column */
    uint32_t               batch_rows;
    uint32_t              *key_row;    /* per message: row of the key's batch; UINT32_MAX none */
    bool                  *key_bad;
    wr_batch              *key_batch;  /* of the chunk at hand */
};

static void read_keys(wr_record_reader *r, const wr_records *records) {
    side *k = &r->key;
    read_side(k, records, records->keys, records->key_bytes, records->key_len);
    memset(r->key_row, 0xff, records->n * sizeof *r->key_row);
    memset(r->key_bad, 0, records->n);
    for (uint32_t i = 0; i < k->out.row_lines.n; i++) r->key_row[k->out.row_lines.at[i]] = i;
    for (uint32_t i = 0; i < k->out.bad.n; i++) r->key_bad[k->out.bad.at[i].line] = true;
    r->key_batch = k->out.batches.n ? k->out.batches.at[0] : NULL; /* the key's decoder makes one batch of up to WR_RECORDS_MAX rows */
    wr_assert(k->out.batches.n <= 1);
}

/* A piece of the result: rows of one value batch (or of none) with their keys. */
typedef struct piece {
    uint32_t n;
    wr_batch *values;
    uint32_t value_row[WR_RECORDS_MAX], key_row[WR_RECORDS_MAX], message[WR_RECORDS_MAX];
    uint8_t  kind[WR_RECORDS_MAX];
} piece;

static void gather_null(wr_vec *dst, wr_type type, uint32_t n, wr_mem *mem) {
    wr_vec_init(dst, type, n, true, mem);
    for (uint32_t i = 0; i < n; i++) wr_vec_set_null(dst, i, mem);
}

static void emit(wr_record_reader *r, piece *p, wr_decoded *out) {
    if (!p->n) return;
    wr_batch *b = wr_batch_new(r->schema.n, 4096 + (size_t)p->n * 64);
    if (p->values) wr_mem_keep(b->mem, p->values->mem);
    if (r->key_batch) wr_mem_keep(b->mem, r->key_batch->mem);
    b->n_rows = p->n;
    for (uint32_t c = 0; c < r->schema.n; c++) {
        place           at = r->places[c];
        const wr_batch *from = at.in_key ? r->key_batch : p->values;
        const wr_vec   *vec = from ? &from->cols[at.col] : NULL;
        if (!vec) gather_null(&b->cols[c], r->schema.fields[c].type, p->n, b->mem);
        else if (vec->type.id == WR_T_NULL) b->cols[c] = (wr_vec){.type = wr_type_of(WR_T_NULL), .n = p->n};
        else wr_vec_gather32(&b->cols[c], vec, at.in_key ? p->key_row : p->value_row, p->n, b->mem);
    }
    uint8_t *kinds = wr_mem_alloc(b->mem, p->n);
    memcpy(kinds, p->kind, p->n);
    b->kinds = wr_kinds_uniform_insert(kinds, p->n) ? NULL : kinds;
    for (uint32_t i = 0; i < p->n; i++) wr_arr_push(&out->row_lines, p->message[i]);
    wr_arr_push(&out->batches, b);
    out->n_rows += p->n;
    p->n = 0;
}

static void add(wr_record_reader *r, piece *p, wr_batch *values, uint32_t value_row, uint32_t message, uint8_t kind, wr_decoded *out) {
    if (p->n == r->batch_rows || (values && p->values && p->values != values)) {
        emit(r, p, out);
        p->values = NULL;
    }
    if (values) p->values = values;
    p->value_row[p->n] = value_row;
    p->key_row[p->n] = r->key_row[message];
    p->message[p->n] = message;
    p->kind[p->n++] = kind;
}

static void bad_message(wr_decoded *out, const wr_bad_record *bad) {
    wr_arr_push(&out->bad, *bad);
    out->bad.at[out->bad.n - 1].before_row = out->n_rows;
    out->n_records++;
}

static wr_str bytes_of(const uint8_t *bytes, wr_slice slice) { return slice.len == WR_NO_BYTES ? (wr_str){"", 0} : (wr_str){(const char *)bytes + slice.at, slice.len}; }

static void no_key(const wr_records *records, uint32_t message, wr_decoded *out) {
    wr_bad_record bad = {.kind = WR_BAD_MISSING, .line = message, .offset = message, .raw = bytes_of(records->value_bytes, records->values[message]),
                         .message = "a message without key: the key says which row it replaces"};
    bad_message(out, &bad);
}

/* A message whose row the pieces before it hold back is counted before them: so they go first. */
static void put_together(wr_record_reader *r, const wr_records *records, wr_decoded *out) {
    const wr_decoded *v = &r->value.out;
    bool              upsert = r->format->upsert;
    uint32_t          row = 0, batch = 0, in_batch = 0, bad = 0, key_bad = 0;
    piece            *p = wr_calloc(1, sizeof *p);
    for (uint32_t m = 0; m < records->n; m++) {
        bool wrong_key = r->key_bad[m], missing = upsert && !wrong_key && r->key_row[m] == UINT32_MAX;
        bool wrong_value = bad < v->bad.n && v->bad.at[bad].line == m;
        if (wrong_key || missing || wrong_value) emit(r, p, out);
        if (wrong_key) {
            while (r->key.out.bad.at[key_bad].line != m) key_bad++;
            wr_bad_record one = r->key.out.bad.at[key_bad];
            one.raw = bytes_of(records->value_bytes, records->values[m]);
            char text[sizeof one.message];
            snprintf(text, sizeof text, "key: %.190s", one.message);
            memcpy(one.message, text, sizeof text);
            bad_message(out, &one);
        } else if (missing) {
            no_key(records, m, out);
        } else if (wrong_value) {
            bad_message(out, &v->bad.at[bad]);
        }
        for (; bad < v->bad.n && v->bad.at[bad].line == m; bad++) {}
        bool dropped = wrong_key || missing || wrong_value, any = false;
        for (; row < v->row_lines.n && v->row_lines.at[row] == m; row++) {
            while (in_batch == v->batches.at[batch]->n_rows) batch++, in_batch = 0;
            wr_batch *values = v->batches.at[batch];
            if (!dropped) add(r, p, values, in_batch, m, upsert ? WR_KIND_UPDATE_AFTER : wr_batch_kind(values, in_batch), out);
            in_batch++;
            any = true;
        }
        if (dropped) continue;
        bool tombstone = records->values[m].len == WR_NO_BYTES;
        if (tombstone && upsert) add(r, p, NULL, UINT32_MAX, m, WR_KIND_DELETE, out);
        else if (tombstone) out->n_tombstones++;
        else if (!any) out->n_blank++; /* a blank one, or one that its format passes over */
        out->n_records++;
    }
    emit(r, p, out);
    wr_free(p);
}

/* No keys: the value's batches as they are. */
static void take_values(wr_record_reader *r, const wr_records *records, wr_decoded *out) {
    wr_decoded *v = &r->value.out;
    uint64_t    before = out->n_rows;
    for (uint32_t i = 0; i < v->batches.n; i++) wr_arr_push(&out->batches, v->batches.at[i]);
    v->batches.n = 0;
    for (uint32_t i = 0; i < v->row_lines.n; i++) wr_arr_push(&out->row_lines, v->row_lines.at[i]);
    for (uint32_t i = 0; i < v->bad.n; i++) {
        wr_arr_push(&out->bad, v->bad.at[i]);
        out->bad.at[out->bad.n - 1].before_row += before;
    }
    out->n_rows += v->n_rows;
    out->n_tombstones += v->n_tombstones + (records->n - r->value.present.n);
    out->n_blank += v->n_blank;
    out->n_records += records->n;
}

static void take_failure(const side *s, wr_decoded *out) {
    out->failed = s->out.failed;
    out->err = s->out.err;
}

void wr_record_reader_decode(wr_record_reader *r, const wr_records *records, wr_decoded *out) {
    out->want_lines = true;
    read_side(&r->value, records, records->values, records->value_bytes, records->value_len);
    if (r->value.out.failed != WR_OK) {
        take_failure(&r->value, out);
    } else if (r->keyed) {
        read_keys(r, records);
        if (r->key.out.failed != WR_OK) take_failure(&r->key, out);
        else put_together(r, records, out);
        clear_side(&r->key);
        r->key_batch = NULL;
    } else {
        take_values(r, records, out);
    }
    out->n_lines += records->n;
    clear_side(&r->value);
}

/* ---- making one ---- */

static bool is_key_column(const wr_record_format *f, uint32_t col) {
    for (uint32_t i = 0; i < f->n_key; i++)
        if (f->key_columns[i] == col) return true;
    return false;
}

static wr_str without_prefix(const wr_record_format *f, wr_str name) {
    return wr_str_starts(name, f->key_prefix) ? (wr_str){name.ptr + f->key_prefix.len, name.len - f->key_prefix.len} : name;
}

/* The columns of one side, in the table's order (the key's in the order of key.fields). */
static wr_schema *side_schema(wr_arena *arena, const wr_record_format *f, const wr_schema *schema, bool key, uint32_t **columns) {
    wr_schema *s = wr_new(arena, wr_schema);
    wr_field  *fields = wr_new_n(arena, wr_field, schema->n + 1);
    *columns = wr_new_n(arena, uint32_t, schema->n + 1);
    if (key) {
        for (; s->n < f->n_key; s->n++) {
            (*columns)[s->n] = f->key_columns[s->n];
            fields[s->n] = schema->fields[f->key_columns[s->n]];
            fields[s->n].name = without_prefix(f, fields[s->n].name);
        }
    } else {
        for (uint32_t c = 0; c < schema->n; c++) {
            if (!f->value_has_key && is_key_column(f, c)) continue;
            (*columns)[s->n] = c;
            fields[s->n++] = schema->fields[c];
        }
    }
    s->fields = fields;
    return s;
}

static wr_schema both(wr_arena *arena, const wr_schema *physical, const wr_schema *metadata) {
    if (!metadata) return *physical;
    wr_field *fields = wr_new_n(arena, wr_field, physical->n + metadata->n);
    memcpy(fields, physical->fields, physical->n * sizeof *fields);
    memcpy(fields + physical->n, metadata->fields, metadata->n * sizeof *fields);
    return (wr_schema){physical->n + metadata->n, fields};
}

static wr_status make_decoder(wr_record_reader *r, const wr_record_reader_opts *opts, side *s, bool key, wr_diags *diags) {
    const wr_record_format *f = opts->format;
    uint32_t  *columns;
    wr_schema *schema = side_schema(r->arena, f, opts->schema, key, &columns);
    uint32_t   n_meta = key || !opts->metadata ? 0 : opts->metadata->n;
    uint8_t   *needed = wr_arena_calloc(r->arena, schema->n + n_meta + 1);
    for (uint32_t i = 0; i < schema->n; i++) {
        bool mine = key ? f->upsert || !f->value_has_key : !(f->upsert && is_key_column(f, columns[i]));
        needed[i] = mine && (!opts->needed || opts->needed[columns[i]]);
        if (mine) r->places[columns[i]] = (place){key, i};
        if (key && needed[i]) r->keyed = true;
    }
    for (uint32_t i = 0; i < n_meta; i++) {
        uint32_t col = opts->schema->n + i;
        needed[schema->n + i] = !opts->needed || opts->needed[col];
        r->places[col] = (place){false, schema->n + i};
    }
    s->format = key ? f->key : f->value;
    wr_decoder_opts d = {.schema = schema, .needed = needed, .options = key ? f->key_options : f->value_options, .tz = opts->tz, .world = opts->world,
                         .batch_rows = key ? WR_RECORDS_MAX : opts->batch_rows, .max_record_bytes = opts->max_record_bytes, .metadata = n_meta ? opts->metadata : NULL, .metadata_keys = opts->metadata_keys};
    return s->format->decoder_new(&d, &s->decoder, diags);
}

wr_status wr_record_reader_new(const wr_record_reader_opts *opts, wr_record_reader **out, wr_diags *diags) {
    *out = NULL;
    wr_record_reader *r = wr_calloc(1, sizeof *r);
    r->arena = wr_arena_new(NULL);
    r->schema = both(r->arena, opts->schema, opts->metadata);
    r->format = opts->format;
    r->keyed = opts->format->upsert;
    r->batch_rows = opts->batch_rows && opts->batch_rows < WR_RECORDS_MAX ? opts->batch_rows : WR_RECORDS_MAX;
    r->places = wr_arena_calloc(r->arena, (r->schema.n + 1) * sizeof *r->places);
    r->key_row = wr_new_n(r->arena, uint32_t, WR_RECORDS_MAX);
    r->key_bad = wr_new_n(r->arena, bool, WR_RECORDS_MAX);
    wr_status status = make_decoder(r, opts, &r->value, false, diags);
    if (status == WR_OK && opts->format->key) status = make_decoder(r, opts, &r->key, true, diags);
    if (status != WR_OK) {
        wr_record_reader_free(r);
        return status == WR_UNSUPPORTED ? WR_USER : status;
    }
    *out = r;
    return WR_OK;
}

void wr_record_reader_free(wr_record_reader *r) {
    if (!r) return;
    free_side(&r->value);
    free_side(&r->key);
    wr_arena_free(r->arena);
    wr_free(r);
}

/* ---- writing ---- */

struct wr_record_writer {
    wr_arena   *arena;
    bool        upsert;
    uint32_t    n_value, n_key;
    uint32_t   *value_columns, *key_columns;
    wr_encoder *value, *key;
    wr_sbuf     text;
};

wr_status wr_record_writer_new(const wr_record_writer_opts *opts, wr_record_writer **out, wr_diags *diags) {
    const wr_record_format *f = opts->format;
    *out = NULL;
    wr_record_writer *w = wr_calloc(1, sizeof *w);
    w->arena = wr_arena_new(NULL);
    w->upsert = f->upsert;
    wr_schema *value = side_schema(w->arena, f, opts->schema, false, &w->value_columns);
    wr_encoder_opts e = {.schema = value, .options = f->value_options, .tz = opts->tz, .world = opts->world, .topic = opts->topic};
    wr_status       status = f->value->encoder_new(&e, &w->value, diags);
    w->n_value = value->n;
    if (status == WR_OK && f->key) {
        wr_schema *key = side_schema(w->arena, f, opts->schema, true, &w->key_columns);
        w->n_key = key->n;
        e.schema = key, e.options = f->key_options, e.key = true;
        status = f->key->encoder_new(&e, &w->key, diags);
    }
    if (status != WR_OK) {
        wr_record_writer_free(w);
        return status == WR_UNSUPPORTED ? WR_USER : status;
    }
    *out = w;
    return WR_OK;
}

wr_status wr_record_format_probe(const wr_record_writer_opts *opts, bool for_write, wr_sbuf *said, wr_diags *diags, wr_err *err) {
    const wr_record_format *f = opts->format;
    wr_arena *arena = wr_arena_new(NULL);
    wr_status status = WR_OK;
    for (int k = 0; k < 2 && status == WR_OK; k++) {
        const wr_format *format = k ? f->key : f->value;
        uint32_t        *columns;
        if (!format || !format->probe) continue;
        wr_encoder_opts e = {.schema = side_schema(arena, f, opts->schema, k, &columns), .options = k ? f->key_options : f->value_options, .tz = opts->tz, .world = opts->world, .topic = opts->topic, .key = k};
        if (said->len) wr_sbuf_addz(said, "; ");
        status = format->probe(&e, for_write, said, diags, err);
    }
    wr_arena_free(arena);
    return status;
}

void wr_record_writer_free(wr_record_writer *w) {
    if (!w) return;
    if (w->value) w->value->free(w->value);
    if (w->key) w->key->free(w->key);
    wr_sbuf_free(&w->text);
    wr_arena_free(w->arena);
    wr_free(w);
}

/* The batch with the columns of one side. */
static wr_batch *side_batch(const wr_batch *batch, const uint32_t *columns, uint32_t n) {
    wr_batch *b = wr_batch_derive((wr_batch *)(uintptr_t)batch, n);
    for (uint32_t i = 0; i < n; i++) b->cols[i] = batch->cols[columns[i]];
    return b;
}

wr_status wr_record_writer_write(wr_record_writer *w, const wr_batch *batch, wr_record_put put, void *self, wr_err *err) {
    wr_batch *values = side_batch(batch, w->value_columns, w->n_value), *keys = w->key ? side_batch(batch, w->key_columns, w->n_key) : NULL;
    wr_status status = WR_OK;
    for (uint32_t i = 0, n = wr_batch_live(batch); i < n && status == WR_OK; i++) {
        uint32_t row = wr_batch_row(batch, i);
        size_t   split = 0;
        bool     gone = w->upsert && !wr_kind_adds(wr_batch_kind(batch, row));
        wr_sbuf_clear(&w->text);
        if (keys) w->key->encode(w->key, keys, i, i + 1, &w->text);
        split = w->text.len;
        if (!gone) w->value->encode(w->value, values, i, i + 1, &w->text);
        const wr_encoder *failed = keys && w->key->failed != WR_OK ? w->key : w->value->failed != WR_OK ? w->value : NULL;
        if (failed) {
            if (err) *err = failed->err;
            status = failed->failed;
            break;
        }
        wr_str key = {keys ? w->text.at : NULL, split ? split - 1 : 0}, value = {gone ? NULL : w->text.at + split, w->text.len > split ? w->text.len - split - 1 : 0};
        status = put(self, key, value, row, err);
    }
    wr_batch_unref(values);
    wr_batch_unref(keys);
    return status;
}
