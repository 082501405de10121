/* format/json_decoder.h: the decoder behind json.c (lines, envelopes) and json_change.c (records that say what changed). Private to format/.
 *
 * Idea       a handler reads the record at a place and returns the place after it, or NULL with the fault in the reader. Rows are added one by one to
 *            the batch at hand; a record that fails after some of its rows is taken back as a whole (json_change.c).
 * Thread     one decoder a worker. Memory: plans in an arena, stage 1's places (4 bytes per byte of a block).          */
#pragma once
#include "format/json_row.h"
#include "format/json_simd.h"

typedef enum record_form { FORM_PLAIN, FORM_UPSERT, FORM_DEBEZIUM, FORM_CANAL, FORM_MAXWELL, FORM_OGG } record_form;
struct json_change;
struct json_fast;

typedef struct json_decoder {
    wr_decoder          base;
    wr_arena           *arena;
    wr_simd            *simd, *inner_simd; /* inner: of an envelope's value */
    struct json_fast   *fast;              /* plain records, line by line; NULL: not for these */
    uint32_t            slow_lines;        /* how many go the general way after a surprise */
    json_object        *row, *key_row;
    int32_t             key_col;           /* the only key column, or -1 */
    record_form         form;
    struct json_change *change;            /* forms from FORM_DEBEZIUM on */
    wr_decoder_opts     opts;
    wr_schema           all;               /* the row's columns, then metadata */
    const uint8_t      *all_needed;
    json_reader         proto;
    /* the chunk at hand */
    wr_mem             *chunk_mem;
    const uint8_t      *data;
    wr_decoded         *out;
    uint64_t            line;
    wr_batch           *batch;
    uint8_t            *kinds;             /* of the batch; NULL for append-only formats */
    uint32_t            n_rows, capacity;
} json_decoder;

void json_close_batch(json_decoder *d);
void json_need_rows(json_decoder *d, uint32_t rows); /* makes room for so many more rows in one batch */

WR_INLINE void json_add_row(json_decoder *d, wr_kind kind) {
    if (d->kinds) d->kinds[d->n_rows] = (uint8_t)kind;
    if (WR_UNLIKELY(d->out->want_lines)) wr_arr_push(&d->out->row_lines, (uint32_t)d->line);
    d->n_rows++;
    d->out->n_rows++;
}
WR_INLINE const uint32_t *json_read_row(json_decoder *d, json_reader *r, const uint32_t *ix, uint32_t row) {
    r->mem = d->batch->mem;
    return json_row_read(r, d->row, ix, d->batch->cols, row);
}
WR_INLINE const uint32_t *json_record_done(json_reader *r, const uint32_t *ix) {
    return WR_LIKELY(*ix >= r->end) ? ix : json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: text after the end of the record");
}
WR_INLINE bool json_is_null(const json_reader *r, const uint32_t *ix) { return r->end - *ix >= 4 && !memcmp(r->data + *ix, "null", 4); }
/* Finds the values of some keys of the object at ix (the last of each); NULL where there is none. */
const uint32_t *json_scan_object(json_reader *r, const uint32_t *ix, const char *const *names, const uint32_t **values, uint32_t n);

/* ---- json_change.c ---- */
wr_status       json_change_new(json_decoder *d, const wr_format *format, wr_diags *diags);
void            json_change_free(json_decoder *d);
const uint32_t *json_change_read(json_decoder *d, json_reader *r, const uint32_t *ix);
extern const wr_format_metadata json_debezium_metadata[], json_canal_metadata[], json_maxwell_metadata[], json_ogg_metadata[];
