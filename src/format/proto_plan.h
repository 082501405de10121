/* format/proto_plan.h: how messages become rows and rows messages. Private to format/.
 *
 * Idea       a plan is made once from a message's fields and a table's columns, by name: per column which field, which shape, what stands for it when it is
 *            absent. Decoding is one walk over the bytes: the number of a field leads to its column; encoding walks the fields by number.
 * Types      integers (range checked), FLOAT, DOUBLE, BOOLEAN, STRING, BYTES; DECIMAL(p, 0) for integers, DOUBLE for float; enums as STRING or integer;
 *            messages as ROW, repeated as ARRAY, map as MAP; google.protobuf.Timestamp also as TIMESTAMP and TIMESTAMP_LTZ, wrappers (Int64Value ...) also
 *            as what they wrap.
 * Absent     a field without presence (proto3) has its default. One with presence (proto2, optional, oneof, messages) is NULL, or its default with
 *            read-default-values; repeated and maps: empty in proto3, NULL in proto2 (Flink's).
 * Recursion  along the columns' types only.                                                                             */
#pragma once
#include "format/parts.h"
#include "format/proto_schema.h"

typedef enum pb_shape { PB_SCALAR, PB_ROW, PB_TIME, PB_WRAPPED, PB_LIST, PB_MAP } pb_shape;
typedef enum pb_absent { PB_NULL, PB_DEFAULT, PB_EMPTY } pb_absent;

struct pb_row;
typedef struct pb_value {
    pb_shape          shape;
    wr_type           to;
    const char       *path;      /* for messages: total, address.city */
    const pb_field   *field;
    struct pb_row    *row;       /* ROW; MAP: the entry's key and value as a row of two */
    struct pb_value  *kid;       /* LIST: element; WRAPPED: what is inside */
    int64_t           fallback;  /* default of integers, enums and BOOLEAN */
    double            fallback_real;
} pb_value;

typedef struct pb_column {
    pb_value  value;
    pb_absent absent;
    bool      used;              /* the message has the field, and the column is needed */
    bool      implicit;          /* no presence: a default is not written */
} pb_column;

typedef struct pb_entry { uint32_t number; int32_t col, oneof; } pb_entry; /* col -1: only ends the others of its oneof */

enum { PB_SMALL = 256 };
typedef struct pb_row {
    const pb_message *message;
    uint32_t    n, n_entries, n_words;
    pb_column  *columns;
    pb_entry   *entries;         /* by number */
    int16_t     small[PB_SMALL]; /* index of an entry by number; -1 none */
    uint64_t   *seen, *twice;    /* scratch */
    const uint8_t **since;       /* scratch: where the message at a column begins to count: behind the last other one of its oneof */
} pb_row;

typedef struct pb_plan_opts {
    const wr_schema *schema;
    const uint8_t   *needed;     /* NULL: all */
    bool             read_defaults;
    bool             lenient;    /* columns that the message does not have are NULL: messages of several versions */
    bool             write;
} pb_plan_opts;
/* NULL: message says which column does not go with which field. */
pb_row *pb_row_new(wr_arena *arena, const pb_message *m, const pb_plan_opts *opts, char message[200]);

typedef struct pb_decode {
    wr_mem     *mem;             /* of the batch */
    bool        ignore_errors;   /* a value that does not fit is NULL */
    wr_bad_kind kind;
    char        message[200];
} pb_decode;
bool pb_row_read(pb_decode *d, pb_row *row, wr_str bytes, wr_vec *cols, uint32_t at);

typedef struct pb_encode {
    wr_sbuf *out;
    wr_str   null_string;        /* of a STRING in a list or map */
    wr_err  *err;
} pb_encode;
bool pb_row_write(pb_encode *e, const pb_row *row, const wr_vec *cols, uint32_t at); /* false: err says which value does not fit */
