/* format/records.h: messages -> batches: what a queue's connector needs of the formats. (contract)
 *
 * Idea       a message is a record of its own, with a key beside its value and no value at all if it is a tombstone. Decoders read text in which
 *            each line is a record. So the values of many messages are laid end to end, a line break behind each, decoded at once, and the line of
 *            each row says which message it came from; keys likewise, and the two are put together by message.
 * Keys       columns of the key format ('key.fields') stand in the key only, or in the value too ('value.fields-include' = 'ALL'), which wins.
 *            Upsert (upsert-kafka): a value replaces the row of its key, a message without value deletes it; key columns come from the key.
 * Bad data   as in format.h; bad.line is the index of the message, bad.raw its bytes as they were.
 * Thread     a reader belongs to one worker. Records are read-only once made.                                                                     */
#pragma once
#include "format/format.h"

enum { WR_RECORDS_MAX = 2048 }; /* messages of one chunk */
#define WR_NO_BYTES UINT32_MAX  /* as wr_slice.len: there is no key, no value */

typedef struct wr_records { /* messages of one chunk: built with wr_records_add, sealed, then read */
    wr_mem  *mem;           /* keeps the bytes; given by the caller */
    uint32_t n;
    wr_slice *keys, *values; /* WR_RECORDS_MAX of each */
    uint8_t  *key_bytes, *value_bytes; /* each message's, and a line break */
    size_t    key_len, value_len, key_cap, value_cap;
} wr_records;

/* Room for WR_RECORDS_MAX messages with so many bytes of keys and values. */
void wr_records_open(wr_records *records, wr_mem *mem, size_t key_bytes, size_t value_bytes);
/* False: no room (a message longer than all the room is taken if it is the first). ptr NULL: none. */
bool wr_records_add(wr_records *records, wr_str key, wr_str value);

typedef struct wr_record_format { /* how a table's records are written: from its options */
    const wr_format *value, *key;  /* key NULL: messages' keys are not read */
    wr_options       value_options, key_options; /* with the format's own keys: 'json.ignore-parse-errors' */
    uint32_t         n_key;        /* key.fields */
    uint32_t        *key_columns;
    wr_str           key_prefix;   /* of the columns' names, not of the key's fields */
    bool             value_has_key; /* value.fields-include */
    bool             upsert;
} wr_record_format;
extern const wr_option_spec wr_record_specs[]; /* format, key.format, key.fields ... */
/* Reads and checks the options above; strings and arrays in `arena`. `schema`: the physical columns; upsert: the key is the PRIMARY KEY. */
bool wr_record_format_read(wr_record_format *out, const wr_schema *schema, const uint32_t *primary, uint32_t n_primary, const wr_options *options, wr_span at, bool upsert,
                           bool for_write, wr_arena *arena, wr_diags *diags);

typedef struct wr_record_reader wr_record_reader;
typedef struct wr_record_reader_opts {
    const wr_record_format *format;      /* borrowed */
    const wr_schema        *schema;      /* physical columns */
    const wr_schema        *metadata;    /* of the value's format (wr_format_metadata_pick): columns behind them, in `needed` too; NULL: none */
    const wr_str           *metadata_keys;
    const uint8_t          *needed;
    const wr_tz            *tz;
    wr_world               *world;
    uint32_t                batch_rows;
    int64_t                 max_record_bytes;
} wr_record_reader_opts;
wr_status wr_record_reader_new(const wr_record_reader_opts *opts, wr_record_reader **out, wr_diags *diags);
void      wr_record_reader_free(wr_record_reader *reader);
/* Adds batches of all physical and metadata columns to out; out->row_lines says of each row the message. out->want_lines is set. out->failed: as a decoder's. */
void      wr_record_reader_decode(wr_record_reader *reader, const wr_records *records, wr_decoded *out);

typedef struct wr_record_writer wr_record_writer;
typedef struct wr_record_writer_opts {
    const wr_record_format *format;
    const wr_schema        *schema;
    const wr_tz            *tz;
    wr_world               *world;
    wr_str                  topic;
} wr_record_writer_opts;
wr_status wr_record_writer_new(const wr_record_writer_opts *opts, wr_record_writer **out, wr_diags *diags);
void      wr_record_writer_free(wr_record_writer *writer);
/* `weir doctor`: what the formats of value and key need outside (wr_format.probe). said stays empty: nothing. */
wr_status wr_record_format_probe(const wr_record_writer_opts *opts, bool for_write, wr_sbuf *said, wr_diags *diags, wr_err *err);
/* Live rows [from, to) of the batch as messages: `put` gets key and value (ptr NULL: none; an upsert's deletion has no value), valid until it returns. A status
 * other than WR_OK ends it. */
typedef wr_status (*wr_record_put)(void *self, wr_str key, wr_str value, uint32_t row, wr_err *err);
wr_status wr_record_writer_write(wr_record_writer *writer, const wr_batch *batch, wr_record_put put, void *self, wr_err *err);
