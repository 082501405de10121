/* format/avro.h: Avro schemas, and how a datum becomes columns and columns a datum. Private to format/.
 *
 * Idea       a schema is a graph in an arena. For each pair (schema of whoever wrote, columns of the table) a plan is compiled once: a node per value that is
 *            read, by field number, with the promotion, the logical type and the union already decided; fields that nobody needs are skipped by walking the
 *            schema. Then a record is one pass over its bytes. avro-c is not used: it drops logical types, aliases and defaults when it parses.
 * Resolution Avro's rules between the writer's schema and the columns, which are the reader's; a schema of the table's own ('schema') adds aliases and
 *            defaults. A field without a column is skipped. A column without a field gets the default, else NULL; is it NOT NULL, the record is bad.
 * Digits     nothing is rounded: a DECIMAL that does not fit exactly is out of range; time beyond the column's precision is cut, as everywhere.
 * Bounds     nesting of data to AVRO_DEPTH_MAX; arrays of elements without bytes to AVRO_EMPTY_MAX, maps to AVRO_MAP_MAX.                                  */
#pragma once
#include "format/json_tree.h"
#include "format/parts.h"

enum { AVRO_DEPTH_MAX = 256, AVRO_EMPTY_MAX = 100000, AVRO_MAP_MAX = 10000 };

typedef enum avro_kind { AVRO_NULL, AVRO_BOOLEAN, AVRO_INT, AVRO_LONG, AVRO_FLOAT, AVRO_DOUBLE, AVRO_BYTES, AVRO_STRING, AVRO_RECORD, AVRO_ENUM, AVRO_ARRAY, AVRO_MAP, AVRO_UNION, AVRO_FIXED } avro_kind;
typedef enum avro_logical { AVRO_PLAIN, AVRO_DECIMAL, AVRO_UUID, AVRO_DATE, AVRO_TIME, AVRO_TIMESTAMP, AVRO_DURATION } avro_logical;

struct avro_schema;
typedef struct avro_field {
    wr_str               name;
    uint32_t             n_aliases;
    const wr_str        *aliases;
    struct avro_schema  *schema;
    const wr_json_node  *fallback; /* "default"; NULL: none */
} avro_field;
typedef struct avro_schema {
    uint8_t     kind, logical;
    bool        empty;             /* a value may take no bytes */
    int32_t     precision, scale;  /* DECIMAL */
    int64_t     per_second;        /* TIME, TIMESTAMP: 1000, a million, a billion */
    wr_str      name;              /* full; of named types */
    uint32_t    size;              /* FIXED */
    uint32_t    n;                 /* fields, symbols, branches */
    avro_field *fields;            /* RECORD */
    wr_str     *symbols;           /* ENUM */
    struct avro_schema **kids;     /* UNION: branches; ARRAY: items; MAP: values */
} avro_schema;

/* ---- avro_schema.c ---- */
typedef struct avro_names { WR_ARR(avro_schema *) list; } avro_names; /* named types seen so far, in the arena */
/* NULL: message says why not. The tree stays in use (defaults). */
avro_schema *avro_schema_parse(wr_arena *arena, wr_str text, avro_names *names, char message[200]);
void         avro_schema_text(const avro_schema *s, wr_sbuf *out); /* for messages: "long (timestamp-millis)", "union of null and string" */
/* Flink's schema for columns, as text: nullable is a union with null. legacy: TIMESTAMP is timestamp-millis. False, with a diagnostic: a type or a name that
 * Avro does not have. changes: an envelope with before, after and op. */
bool avro_schema_of_columns(const wr_schema *schema, bool legacy, bool changes, const char *format, wr_sbuf *out, wr_diags *diags);
/* A default as bytes of the field's schema. False: it is not one of that type. */
bool avro_default_bytes(const avro_schema *s, const wr_json_node *value, wr_sbuf *out);
void avro_put_long(wr_sbuf *out, int64_t v);

/* ---- avro_plan.c ---- */
typedef enum avro_op {
    AVRO_OP_SKIP, AVRO_OP_REFUSE, AVRO_OP_NULL, AVRO_OP_UNION,
    AVRO_OP_BOOLEAN, AVRO_OP_INT8, AVRO_OP_INT16, AVRO_OP_INT32, AVRO_OP_INT64, AVRO_OP_LONG_FLOAT, AVRO_OP_LONG_DOUBLE, AVRO_OP_LONG_DECIMAL,
    AVRO_OP_FLOAT, AVRO_OP_FLOAT_DOUBLE, AVRO_OP_DOUBLE,
    AVRO_OP_STRING, AVRO_OP_BYTES, AVRO_OP_FIXED, AVRO_OP_ENUM, AVRO_OP_UUID_FIXED, AVRO_OP_TEXT, AVRO_OP_BYTES_DECIMAL, AVRO_OP_FIXED_DECIMAL,
    AVRO_OP_DATE, AVRO_OP_TIME, AVRO_OP_TIMESTAMP, AVRO_OP_RECORD, AVRO_OP_ARRAY, AVRO_OP_MAP,
} avro_op;
typedef struct avro_absent { uint32_t col; const wr_vec *value; } avro_absent; /* a column without a field; value NULL: it is NULL */
typedef struct avro_plan {
    uint8_t            op;
    bool               nullable;   /* of the column */
    int32_t            col;        /* as a field of a record */
    wr_type            type;       /* of the column */
    const avro_schema *writer;
    const char        *path;       /* for messages: v, address.city */
    const char        *why;        /* REFUSE */
    int64_t            times, by;  /* TIME, TIMESTAMP: v * times / by */
    int64_t            cut;        /* TIMESTAMP: to a multiple of it */
    uint32_t           n;          /* kids */
    struct avro_plan  *kids;       /* RECORD: a field each; UNION: a branch each; ARRAY, MAP: the element */
    uint32_t           n_absent;
    avro_absent       *absent;     /* RECORD */
} avro_plan;
/* How a datum of `writer` becomes a row. reader: of the table's own; may be NULL. constants: keeps defaults. NULL: message says which column cannot be read. */
avro_plan *avro_plan_new(wr_arena *arena, const avro_schema *writer, const wr_schema *columns, const uint8_t *needed, const avro_schema *reader, wr_mem *constants, char message[200]);

/* ---- avro_read.c ---- */
typedef struct avro_reader {
    const uint8_t *end;
    wr_mem        *mem;            /* of the batch */
    bool           allow_null;     /* NOT NULL is not checked: images of deleted rows */
    wr_bad_kind    kind;           /* of the fault */
    char           message[200];
} avro_reader;
/* Both: the place behind the value, or NULL with the fault in r. */
const uint8_t *avro_read_row(avro_reader *r, const avro_plan *plan, const uint8_t *at, wr_vec *cols, uint32_t row);
const uint8_t *avro_skip(avro_reader *r, const avro_schema *s, const uint8_t *at, int depth);
const uint8_t *avro_get_long(const uint8_t *at, const uint8_t *end, int64_t *out); /* NULL: cut off, or too long */
WR_COLD WR_PRINTF(3, 4) const uint8_t *avro_fault(avro_reader *r, wr_bad_kind kind, const char *fmt, ...);

/* ---- avro_encode.c ---- */
/* Rows as data of `schema`, a record (changes: Debezium's envelope around such records). NULL, with a diagnostic at `at`: a column has no
 * field, or its values may not fit. */
typedef struct avro_writer avro_writer;
avro_writer *avro_writer_new(const avro_schema *schema, const wr_schema *columns, bool changes, wr_span at, wr_diags *diags);
void         avro_writer_free(avro_writer *w);
void         avro_write_row(const avro_writer *w, const wr_batch *batch, uint32_t row, wr_sbuf *out);

/* ---- avro_file.c: object container files: a header with the schema, then blocks of data, each packed and with a mark behind it ---- */
typedef struct avro_file { /* of one header */
    size_t  len;           /* of the header */
    wr_str  schema;        /* in the header */
    bool    deflate, zstd;
    char    codec[24];
    uint8_t sync[16];
} avro_file;
/* 0: there is more of it; SIZE_MAX: it is no such header. */
size_t avro_file_header(const uint8_t *data, size_t len, avro_file *out);
size_t avro_file_split(const uint8_t *data, size_t len, const wr_options *options, uint64_t *state); /* see wr_format.split */
typedef struct avro_block { int64_t n; wr_str data; size_t raw_len; } avro_block; /* raw_len: with its mark, as it is in the file */
/* The block at the beginning of data, unpacked into mem. NULL, or why it cannot be read; then raw_len goes up to behind the next mark, or all of data. */
const char *avro_file_block(const avro_file *f, const uint8_t *data, size_t len, size_t max_bytes, wr_mem *mem, avro_block *out);
