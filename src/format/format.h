/* format/format.h: bytes <-> batches. (contract)
 *
 * Idea       a decoder turns one chunk (whole records, e.g. lines) straight into columns of the fields that are needed; an encoder appends
 *            rows of a batch to a buffer. Formats are found by name in one table that also lists their options for messages and docs.
 * Bad data   a record that cannot be decoded is reported in wr_decoded.bad with its place, bytes and cause, and leaves no row; the policy
 *            ('on-error') is applied by run/source_task, which knows file and line. A decoder never fails for bad input; what it needs besides (a schema registry) may fail: wr_decoded.failed.
 * Bounds     records longer than max_record_bytes are bad records. Nesting deeper than 256 is a bad record.
 * Thread     one decoder or encoder per worker.                                                                    */
#pragma once
#include "base/diag.h"
#include "sys/world.h"
#include "type/datetime.h"
#include "type/value.h"

typedef struct wr_option { wr_str key, value; wr_span at; } wr_option;  /* of WITH (...); spans are zero for defaults */
typedef struct wr_options { uint32_t n; const wr_option *at; } wr_options;
const wr_option *wr_options_find(const wr_options *options, const char *key); /* exact; NULL if absent */

typedef struct wr_option_spec { /* one line a known option: drives validation, did-you-mean and docs/connectors.md */
    const char *key, *kind;     /* kind: string | bool | int | duration | size | enum:a|b|c | path */
    const char *fallback;       /* default as text, NULL = none */
    bool        required;
    const char *doc;
} wr_option_spec;
/* Typed access; adds a diagnostic naming key, value and what was expected, and returns false. Absent: the spec's fallback. */
bool wr_option_bool(const wr_options *o, const wr_option_spec *specs, const char *key, bool *out, wr_diags *diags);
bool wr_option_int(const wr_options *o, const wr_option_spec *specs, const char *key, int64_t *out, wr_diags *diags);
bool wr_option_duration(const wr_options *o, const wr_option_spec *specs, const char *key, int64_t *out_us, wr_diags *diags);
bool wr_option_size(const wr_options *o, const wr_option_spec *specs, const char *key, int64_t *out_bytes, wr_diags *diags);
wr_str wr_option_string(const wr_options *o, const wr_option_spec *specs, const char *key); /* "" if absent without fallback */

typedef enum wr_bad_kind { WR_BAD_MALFORMED, WR_BAD_TYPE, WR_BAD_MISSING, WR_BAD_RANGE, WR_BAD_TOO_LONG, WR_BAD_UTF8, WR_BAD_NULL, WR_BAD_LATE /* of sources */ } wr_bad_kind;
const char *wr_bad_kind_name(wr_bad_kind kind); /* "malformed", "wrong type", "missing field", "out of range", "over-long", "invalid UTF-8", "NULL in NOT NULL column" */
typedef struct wr_bad_record {
    wr_bad_kind kind;
    uint64_t    line, offset;   /* from the chunk's start: line 0.., byte 0.. */
    uint64_t    before_row;     /* number of good rows of the chunk before it */
    wr_str      raw;            /* the record's bytes, in the chunk */
    char        message[200];   /* "field 'v': expected INT, got \"abc\"" */
} wr_bad_record;

typedef struct wr_decoded {     /* reused from chunk to chunk; batches are handed over and the array emptied by the caller */
    WR_ARR(wr_batch *) batches; /* each 1..batch_rows rows, in record order, kinds set for changelog formats */
    WR_ARR(wr_bad_record) bad;
    uint64_t n_records;         /* rows + bad + tombstones + redelivered + records without a value (changelog formats: records, not rows); blank lines
                                 * between records are counted in n_blank only */
    uint64_t n_lines, n_rows, n_blank, n_tombstones, n_redelivered;
    bool     want_lines;        /* asked for by the caller: */
    WR_ARR(uint32_t) row_lines; /* per row, the line (from the chunk's start) of its record */
    bool     want_places;       /* of messages, asked for by the caller: */
    WR_ARR(uint64_t) row_places; /* per row, the offset of its message */
    wr_status failed;           /* not the records' fault: the world said no (a schema registry); err says how. What was decoded does not count then */
    wr_err    err;
} wr_decoded;
void wr_decoded_clear(wr_decoded *decoded); /* for the next chunk: batches that nobody took are let go, the arrays keep their memory */
void      wr_decoded_push(wr_decoded *out, wr_batch *batch);
/* A batch that is filled by hand: columns of `capacity` rows (NULL type where not needed), cut to the rows that were used at the end. */
wr_batch *wr_rows_open(const wr_schema *schema, const uint8_t *needed, uint32_t capacity, bool kinds);
void      wr_rows_close(wr_batch *batch, uint32_t n);
void wr_decoded_free(wr_decoded *decoded);

typedef struct wr_slice { uint32_t at, len; } wr_slice; /* bytes of a chunk */
typedef struct wr_format wr_format;
typedef struct wr_decoder wr_decoder;
typedef struct wr_encoder wr_encoder;
typedef enum wr_format_changes { WR_FORMAT_APPEND, WR_FORMAT_UPSERT, WR_FORMAT_RETRACT } wr_format_changes;

typedef struct wr_decoder_opts {
    const wr_schema *schema;      /* of the record's fields (physical columns), in table order */
    const uint8_t   *needed;      /* per column: 0 = never read it (the batch still has the column, all NULL, WR_T_NULL-like data untouched) */
    const bool      *key;         /* per column: part of the PRIMARY KEY (upsert formats), may be NULL */
    wr_options       options;     /* the table's, keys with the format's prefix: 'json.ignore-parse-errors' */
    const wr_tz     *tz;
    wr_world        *world;       /* for formats that ask a registry */
    uint32_t         batch_rows;
    int64_t          max_record_bytes;
    const wr_schema *metadata;    /* columns from the record's frame (wr_format.metadata), behind the schema's in every batch and in `needed`; NULL: none */
    const wr_str    *metadata_keys;
    bool             files;       /* records come out of files, not as messages */
    bool             envelope;    /* records are JSON objects {partition, offset, key, value}: a Kafka log dumped to lines */
} wr_decoder_opts;
struct wr_decoder {
    /* data[-1] is readable? no. data[len .. len+63] is readable padding. `mem` owns data: batches keep it if they borrow from it.
     * first_chunk: the partition begins here (BOM is skipped, CSV header line if configured). */
    void (*decode)(wr_decoder *d, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out);
    void (*free)(wr_decoder *d);
    /* Records whose ends are known (messages), for formats in which a line break is a byte like any other; lines are indexes of `records` then.
     * NULL: decode reads them as lines. See records.h. */
    void (*decode_records)(wr_decoder *d, wr_mem *mem, const uint8_t *data, const wr_slice *records, uint32_t n, wr_decoded *out);
    /* Of formats with wr_format.header: what stands at the beginning of the file that the next chunk comes from (len 0: it has none). Any other chunk than the
     * first begins behind it. */
    void (*file_header)(wr_decoder *d, wr_str header);
};
typedef struct wr_encoder_opts {
    const wr_schema *schema;
    wr_options       options;     /* as above */
    const wr_tz     *tz;
    wr_world        *world;
    wr_str           topic;       /* of messages; "" */
    bool             key;         /* messages' keys, not their values */
    bool             stream;      /* records lie end to end in a file: formats whose records have no end of their own put their length in front */
} wr_encoder_opts;
struct wr_encoder {
    /* Appends live rows batch[from_live .. to_live) as records, each ending with a newline (but not those with a length in front). */
    void (*encode)(wr_encoder *e, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out);
    void (*free)(wr_encoder *e);
    wr_status failed;             /* a value that the format cannot hold, a schema registry that does not answer: err says which. The text does not count then */
    wr_err    err;
};
typedef struct wr_format_metadata { const char *key, *type, *doc; } wr_format_metadata; /* METADATA FROM 'value.KEY'; TIMESTAMP_LTZ: of any precision */
struct wr_format {
    const char           *name;      /* "json" */
    const wr_option_spec *specs;     /* ends with key == NULL */
    wr_format_changes     changes;   /* what a source of this format produces */
    const wr_format_metadata *metadata; /* ends with key == NULL; NULL: none */
    bool                  can_write;
    bool                  messages;  /* records without a mark at their end: of queues, not of files (but see header) */
    bool                  lengths;   /* in a file each record has its length in front: behind one that is too long nothing can be found */
    bool                  newline_in_record; /* CSV: a chunk must be cut by split() below, not at any newline */
    wr_status (*decoder_new)(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags);
    wr_status (*encoder_new)(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags);
    /* `weir doctor`: asks for what the format needs outside (a schema registry), changes nothing; said: what there is. WR_USER: diagnostics. NULL: it needs nothing. */
    wr_status (*probe)(const wr_encoder_opts *opts, bool for_write, wr_sbuf *said, wr_diags *diags, wr_err *err);
    /* Length of the longest prefix of data that ends at a record's end; *state carries quoting over calls. NULL: cut at the last newline. */
    size_t (*split)(const uint8_t *data, size_t len, const wr_options *options, uint64_t *state);
    /* Files begin with a header that every chunk needs: its length; 0: there is more of it; SIZE_MAX: it is none. NULL: they do not. */
    size_t (*header)(const uint8_t *data, size_t len);
};
const wr_format *wr_format_find(wr_str name);
const wr_format *const *wr_formats(size_t *n); /* for messages and docs */
void wr_formats_hint(wr_diags *diags, wr_str name, bool for_write); /* for the last diagnostic: the nearest name, and what there is */

/* Metadata columns of a format: those of a table's columns [n_physical, schema->n) whose key begins with 'value.'. Their schema and keys for
 * wr_decoder_opts in *out and *out_keys (arena); *out NULL if there is none. False: a column that this format does not have, or of another type. */
bool wr_format_is_metadata(wr_str key);
bool wr_format_metadata_pick(const wr_format *format, const wr_schema *schema, uint32_t n_physical, const wr_str *keys, wr_span at, wr_arena *arena, const wr_schema **out,
                             const wr_str **out_keys, wr_diags *diags);
/* `needed` of the decoder's columns out of the table's. */
const uint8_t *wr_format_needed(const wr_schema *schema, uint32_t n_physical, const wr_str *keys, const uint8_t *needed, wr_arena *arena);

/* True if the table says '<format>.ignore-parse-errors' = 'true': bad records are reported in wr_decoded.bad all the same, but the policy
 * for them is 'skip' unless 'on-error' says otherwise. */
bool wr_options_skip_bad(const wr_options *options);

/* Kafka logs dumped to lines (envelope): offsets seen, per inner partition. Called in chunk order, by a source's next(). Records whose offset
 * is not above the last one of their inner partition are marked by overwriting the first byte of the line with WR_ENVELOPE_OLD;
 * the decoder counts them as redelivered. Returns their number. */
enum { WR_ENVELOPE_OLD = 0x1A };
typedef struct wr_envelope_pos { int64_t partition, offset; } wr_envelope_pos;
typedef struct wr_envelope_seen { WR_ARR(wr_envelope_pos) list; } wr_envelope_seen;
uint64_t wr_envelope_mark(uint8_t *data, size_t len, wr_envelope_seen *seen);

/* One row as a JSON object, for sinks that print: with "op" first if op is given. exact: DECIMAL as text with its scale, timestamps with all
 * digits of their precision. */
typedef struct wr_json_style {
    char        sep;
    bool        skip_nulls, exact, drop_null_keys;
    const char *null_key; /* of a MAP, with its quotes; NULL: "null" */
} wr_json_style;
void wr_json_value(const wr_vec *vec, uint32_t row, const wr_json_style *style, wr_sbuf *out);
void wr_json_row(const wr_schema *schema, const wr_batch *batch, uint32_t row, const char *op, const wr_json_style *style, wr_sbuf *out);
/* One row as a line of CSV (RFC 4180), with "op" first if op is given: NULL is nothing, the empty text is "". */
void wr_csv_row(const wr_batch *batch, uint32_t row, const char *op, const struct wr_tz *tz, wr_sbuf *out);
void wr_csv_header(const wr_schema *schema, bool op, wr_sbuf *out);

/* ---- text of one scalar, for formats and for databases that keep values as text (scalar.c) ---- */
typedef enum wr_put { WR_PUT_OK, WR_PUT_TYPE, WR_PUT_RANGE } wr_put; /* WR_PUT_TYPE: not of that type; WR_PUT_RANGE: is, but does not fit */
/* Into row `row`. Strings are borrowed (mem keeps them). Integers: text with a fraction is WR_PUT_TYPE. sep: 'T' or ' '. */
void   wr_base64(const void *bytes, size_t len, wr_sbuf *out);   /* appends */
bool   wr_base64_decode(wr_str text, wr_sbuf *out);              /* appends; false: it is not base64 */
wr_put wr_scalar_put(wr_str text, char sep, wr_vec *vec, uint32_t row, wr_mem *mem);
void   wr_scalar_expected(wr_type type, char sep, wr_sbuf *out); /* "INT", "TIMESTAMP(3) as 'yyyy-MM-dd HH:mm:ss[.fff]'" */
