/* connect/postgres/cdc_decode.c: rows of the snapshot and changes -> batches with change kinds. See cdc.h.
 *
 * Idea       texts stay where they are in the chunk; a row is written at the end of the batch and counts once all of its values fit. A deletion by key has NULL in
 *            the other columns. Each row of a change is looked at by itself where the snapshot was read in several goes: its key says from which
 *            position on it counts.
 * Refused    a value that the column cannot hold, a TRUNCATE, an update whose large value is nowhere: bad records, the table's policy applies.
 * Thread     any worker; nothing here is written but the batch.                                                                           */
#include "connect/postgres/cdc.h"
#include <inttypes.h>
#include <stdio.h>

enum { KEYS_MAX = 32, MASK_BITS = 63 };

typedef struct decoding {
    const cdc_source *s;
    const cdc_note   *note;
    const cdc_record *record;
    wr_decoded       *out;
    wr_batch         *batch;
    uint8_t          *kinds;
    uint32_t          n, cap;
    wr_bad_kind       kind;         /* of the record that is refused */
    char              why[200];
} decoding;

/* ---- rows ---- */

static void close_batch(decoding *d) {
    if (!d->batch) return;
    d->batch->n_rows = d->n;
    for (uint32_t c = 0; c < d->batch->n_cols; c++) d->batch->cols[c].n = d->n;
    if (wr_kinds_uniform_insert(d->kinds, d->n)) d->batch->kinds = NULL;
    if (d->n) wr_arr_push(&d->out->batches, d->batch);
    else wr_batch_unref(d->batch);
    d->batch = NULL;
    d->n = 0;
}

/* Room for two rows: an update's belong into one batch. */
static void need_rows(decoding *d) {
    if (d->batch && d->n + 2 > d->cap) close_batch(d);
    if (d->batch) return;
    const wr_schema *schema = d->s->schema;
    d->batch = wr_batch_new(schema->n, 32 * 1024);
    wr_mem_keep(d->batch->mem, d->note->mem);
    for (uint32_t c = 0; c < schema->n; c++) {
        if (d->s->needed && !d->s->needed[c]) d->batch->cols[c] = (wr_vec){.type = wr_type_of(WR_T_NULL), .n = d->cap};
        else wr_vec_init(&d->batch->cols[c], schema->fields[c].type, d->cap, true, d->batch->mem);
    }
    d->kinds = wr_mem_alloc(d->batch->mem, d->cap);
    d->batch->kinds = d->kinds;
}

static bool refuse(decoding *d, wr_bad_kind kind, const char *why) {
    d->kind = kind;
    snprintf(d->why, sizeof d->why, "%s", why);
    return false;
}

static bool bad_value(decoding *d, uint32_t c, wr_put put, wr_str text) {
    wr_sbuf want = {0};
    wr_scalar_expected(d->s->schema->fields[c].type, ' ', &want);
    d->kind = put == WR_PUT_RANGE ? WR_BAD_RANGE : WR_BAD_TYPE;
    snprintf(d->why, sizeof d->why, "column '%.*s': expected %.*s, got '%.*s'", (int)WR_MIN(d->s->schema->fields[c].name.len, 60u), d->s->schema->fields[c].name.ptr, (int)WR_MIN(want.len, 60u), want.at,
             (int)WR_MIN(text.len, 50u), text.ptr);
    wr_sbuf_free(&want);
    return false;
}

/* 1.25 into DECIMAL(10, 1): no digit is lost without a word. */
static bool loses_digits(wr_str text, wr_type type) {
    const char *dot = memchr(text.ptr, '.', text.len), *end = text.ptr + text.len;
    if (!dot) return false;
    for (const char *p = dot + 1 + type.scale; p < end; p++)
        if (*p != '0') return true;
    return false;
}

static bool put_text(decoding *d, uint32_t c, uint32_t row, wr_str text) {
    wr_vec *vec = &d->batch->cols[c];
    wr_valid_set(vec->valid, row, true);
    if (vec->type.id == WR_T_DECIMAL && loses_digits(text, vec->type)) return bad_value(d, c, WR_PUT_RANGE, text);
    wr_put put = pg_read_value(text, vec, row, d->batch->mem);
    return put == WR_PUT_OK || bad_value(d, c, put, text);
}

static bool put_null(decoding *d, uint32_t c, uint32_t row, bool by_key) {
    if (!by_key && !d->s->schema->fields[c].type.nullable) {
        char why[120];
        snprintf(why, sizeof why, "column '%.*s' is NULL and declared NOT NULL", (int)WR_MIN(d->s->schema->fields[c].name.len, 60u), d->s->schema->fields[c].name.ptr);
        return refuse(d, WR_BAD_NULL, why);
    }
    wr_vec_set_null(&d->batch->cols[c], row, d->batch->mem);
    return true;
}

static void put_words(wr_vec *vec, uint32_t row, wr_str words) { ((wr_sview *)vec->data)[row] = wr_sview_borrow(words.ptr, words.len); }

static void put_metadata(decoding *d, uint32_t row, uint64_t unchanged) {
    const cdc_source *s = d->s;
    for (uint32_t c = s->n_physical; c < s->schema->n; c++) {
        wr_str  key = s->metadata_keys[c - s->n_physical];
        wr_vec *vec = &d->batch->cols[c];
        if (vec->type.id == WR_T_NULL) continue;
        wr_valid_set(vec->valid, row, true);
        if (wr_str_eq(key, WR_STR("table_name"))) put_words(vec, row, s->table_name);
        else if (wr_str_eq(key, WR_STR("schema_name"))) put_words(vec, row, s->schema_name);
        else if (wr_str_eq(key, WR_STR("database_name"))) put_words(vec, row, s->database);
        else if (wr_str_eq(key, WR_STR("op_ts"))) ((int64_t *)vec->data)[row] = d->record->time_us - d->record->time_us % 1000;
        else if (unchanged) ((int64_t *)vec->data)[row] = (int64_t)unchanged;
        else wr_vec_set_null(vec, row, d->batch->mem);
    }
}

/* The row at `row` is whole. */
static void add_row(decoding *d, wr_kind kind) {
    d->kinds[d->n++] = (uint8_t)kind;
    d->out->n_rows++;
    if (d->out->want_lines) wr_arr_push(&d->out->row_lines, (uint32_t)(d->record - d->note->records));
}

/* ---- tuples ---- */

static bool unchanged_value(decoding *d, uint32_t c, uint32_t row, uint64_t *unchanged) {
    if (!unchanged || c >= MASK_BITS) {
        char why[200];
        snprintf(why, sizeof why, "column '%.*s': a large value that the update did not touch was not sent, and is not known; ALTER TABLE %.60s REPLICA IDENTITY FULL", (int)WR_MIN(d->s->schema->fields[c].name.len, 40u),
                 d->s->schema->fields[c].name.ptr, d->s->quoted);
        return refuse(d, WR_BAD_MISSING, why);
    }
    *unchanged |= UINT64_C(1) << c;
    wr_vec_set_null(&d->batch->cols[c], row, d->batch->mem);
    return true;
}

/* A row; `before`: the old one with all columns, or NULL. by_key: it is the key of a deletion. unchanged NULL: it must be whole. */
static bool put_tuple(decoding *d, pgo_tuple tuple, const pgo_tuple *before, bool by_key, uint32_t row, uint64_t *unchanged) {
    const cdc_map *map = d->note->map;
    pgo_tuple      old = before ? *before : (pgo_tuple){0};
    pgo_value      v, was = {0};
    if (!map || tuple.n != map->n) return refuse(d, WR_BAD_MALFORMED, "a change with another number of columns than the table");
    for (uint32_t i = 0; pgo_next_value(&tuple, &v); i++) {
        int32_t c = map->column[i];
        if (before && !pgo_next_value(&old, &was)) return refuse(d, WR_BAD_MALFORMED, "a change whose old row is shorter than the new one");
        if (c < 0) continue;
        if (v.kind == 'u' && before) v = was;
        switch (v.kind) {
        case 't':
            if (!put_text(d, (uint32_t)c, row, v.text)) return false;
            break;
        case 'n':
            if (!put_null(d, (uint32_t)c, row, by_key)) return false;
            break;
        case 'u':
            if (!unchanged_value(d, (uint32_t)c, row, unchanged)) return false;
            break;
        default: return refuse(d, WR_BAD_MALFORMED, "a value in binary, which was not asked for");
        }
    }
    for (uint32_t i = 0; i < map->n_absent; i++)
        if (!put_null(d, map->absent[i], row, by_key)) return false;
    put_metadata(d, row, unchanged ? *unchanged : 0);
    return true;
}

static void key_of(const decoding *d, pgo_tuple tuple, wr_str *texts) {
    const cdc_source *s = d->s;
    pgo_value         v;
    for (uint32_t k = 0; k < s->n_key; k++) texts[k] = (wr_str){NULL, 0};
    for (uint32_t i = 0; i < d->note->map->n && pgo_next_value(&tuple, &v); i++)
        for (uint32_t k = 0; k < s->n_key; k++)
            if (d->note->map->column[i] == (int32_t)s->key[k] && v.kind == 't') texts[k] = v.text;
}

/* ---- which changes count (cdc.h: Snapshot) ---- */

void cdc_put_key(wr_sbuf *out, const wr_str *texts, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) wr_put_bytes(out, texts[k].ptr, texts[k].len);
}

/* By values, as the snapshot was sorted. Only for changes of the time of a snapshot that was read in several goes. */
static int compare_keys(const cdc_source *s, const wr_str *texts, wr_str upper) {
    wr_reader in = {(const uint8_t *)upper.ptr, (const uint8_t *)upper.ptr + upper.len, false};
    wr_mem   *mem = wr_mem_new(1024);
    int       order = 0;
    for (uint32_t k = 0; k < s->n_key && !order; k++) {
        wr_vec vec;
        wr_str other = wr_get_bytes(&in);
        wr_vec_init(&vec, s->schema->fields[s->key[k]].type, 2, true, mem);
        if (pg_read_value(texts[k], &vec, 0, mem) == WR_PUT_OK && pg_read_value(other, &vec, 1, mem) == WR_PUT_OK) order = wr_vec_compare(&vec, 0, &vec, 1);
    }
    wr_mem_unref(mem);
    return order;
}

static bool counts(const decoding *d, const wr_str *key) {
    const cdc_ranges *r = d->note->ranges;
    uint64_t          lsn = d->record->lsn;
    if (!r || lsn >= r->at[r->n - 1].lsn) return true;
    for (uint32_t i = 0; i < r->n; i++) {
        bool last = !r->at[i].upper.ptr || !key[0].ptr;
        if (last || compare_keys(d->s, key, r->at[i].upper) <= 0) return lsn >= r->at[i].lsn;
    }
    return true;
}

static bool same_key(const cdc_source *s, const wr_str *a, const wr_str *b) {
    for (uint32_t k = 0; k < s->n_key; k++)
        if (!wr_str_eq(a[k], b[k])) return false;
    return true;
}

/* ---- records ---- */

static bool update(decoding *d, const pgo_message *m, bool *any) {
    const cdc_source *s = d->s;
    wr_str            was[KEYS_MAX], is[KEYS_MAX];
    uint64_t          unchanged = 0;
    bool              whole = m->old == 'O', moved = false;
    was[0] = is[0] = (wr_str){NULL, 0};
    if (s->n_key) {
        key_of(d, m->after, is);
        if (m->old) key_of(d, m->before, was), moved = !same_key(s, was, is);
    }
    bool takes = (!s->upsert || moved) && counts(d, was), gives = counts(d, is);
    if (!s->upsert && !whole) return refuse(d, WR_BAD_MISSING, "an update without the old row: the replica identity is not FULL any more");
    uint32_t row = d->n;
    if (takes && !put_tuple(d, m->before, NULL, !whole, row++, NULL)) return false;
    if (gives && !put_tuple(d, m->after, whole ? &m->before : NULL, false, row, s->upsert && !moved ? &unchanged : NULL)) return false;
    if (takes) add_row(d, gives && !moved && !s->upsert ? WR_KIND_UPDATE_BEFORE : WR_KIND_DELETE);
    if (gives) add_row(d, takes && (moved || s->upsert) ? WR_KIND_INSERT : takes || s->upsert ? WR_KIND_UPDATE_AFTER : WR_KIND_INSERT);
    *any = takes || gives;
    return true;
}

static bool change(decoding *d, wr_str bytes, bool *any) {
    pgo_message m;
    wr_str      key[KEYS_MAX];
    key[0] = (wr_str){NULL, 0};
    if (!pgo_read(bytes, &m)) return refuse(d, WR_BAD_MALFORMED, "not a message of pgoutput");
    if (m.kind == PGO_TRUNCATE) return refuse(d, WR_BAD_MALFORMED, "TRUNCATE: the rows that went with it are not sent, so they cannot be taken back here; begin anew with a new --state-dir, or skip it if they are to stay");
    if (m.kind == PGO_UPDATE) return update(d, &m, any);
    bool gone = m.kind == PGO_DELETE;
    if (d->s->n_key && d->note->map) key_of(d, gone ? m.before : m.after, key);
    *any = counts(d, key);
    if (!*any) return true;
    if (!put_tuple(d, gone ? m.before : m.after, NULL, gone && m.old == 'K', d->n, NULL)) return false;
    add_row(d, gone ? WR_KIND_DELETE : WR_KIND_INSERT);
    return true;
}

/* A line of COPY: the needed physical columns, in order. */
static bool snapshot_row(decoding *d, wr_str line) {
    const cdc_source *s = d->s;
    char             *to = wr_mem_alloc(d->batch->mem, line.len + 1);
    bool              first = true, is_null;
    wr_str            text;
    for (uint32_t c = 0; c < s->n_physical; c++) {
        if (s->needed && !s->needed[c]) continue;
        if (!copy_next_field(&line, &first, to, &text, &is_null)) return refuse(d, WR_BAD_MALFORMED, "a row with too few columns");
        if (is_null ? !put_null(d, c, d->n, false) : !put_text(d, c, d->n, text)) return false;
        to += text.len;
    }
    put_metadata(d, d->n, 0);
    add_row(d, WR_KIND_INSERT);
    return true;
}

void cdc_row_key(const cdc_source *s, wr_str line, char *to, wr_str *texts) {
    bool   first = true, is_null;
    wr_str text;
    for (uint32_t c = 0; c < s->n_physical; c++) {
        if (s->needed && !s->needed[c]) continue;
        if (!copy_next_field(&line, &first, to, &text, &is_null)) return;
        for (uint32_t k = 0; k < s->n_key; k++)
            if (s->key[k] == c) texts[k] = text;
        to += text.len;
    }
}

static void bad_record(decoding *d, wr_str bytes, uint64_t before_row) {
    wr_bad_record bad = {.kind = d->kind, .line = (uint64_t)(d->record - d->note->records), .offset = d->record->lsn, .before_row = before_row, .raw = bytes};
    snprintf(bad.message, sizeof bad.message, "%s", d->why);
    wr_arr_push(&d->out->bad, bad);
}

wr_status cdc_decode(const cdc_source *s, const cdc_note *note, wr_decoded *out) {
    decoding d = {.s = s, .note = note, .out = out, .cap = WR_MAX(s->batch_rows, 2u)};
    for (uint32_t i = 0; i < note->n; i++) {
        const cdc_record *r = d.record = &note->records[i];
        wr_str            bytes = {note->bytes + r->at, r->len};
        bool              any = true, fine;
        need_rows(&d);
        if (r->kind == 'L') fine = refuse(&d, WR_BAD_TOO_LONG, "longer than 'max-record-bytes'");
        else fine = r->kind == 'r' ? snapshot_row(&d, bytes) : change(&d, bytes, &any);
        out->n_records++;
        if (!fine) bad_record(&d, bytes, out->n_rows);
        else if (!any) out->n_redelivered++;
    }
    close_batch(&d);
    return WR_OK;
}
