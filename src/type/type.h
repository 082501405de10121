/* type/type.h: SQL types by value, and schemas. (contract)
 *
 * Idea       a logical type fixes its storage (wr_storage): kernels, hash and compare know ~10 storages, not 20 types.
 *            TIMESTAMP/TIMESTAMP_LTZ(p<=6) and INTERVAL DAY TO SECOND are int64 microseconds, (p 7..9) int64 nanoseconds.
 * Invariant  wr_type is plain data; `kids`/`names` live in an arena that outlives every user (the plan's).
 * Not here   text forms and parsing of values (datetime.h, decimal.h), casts (expr/).                              */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef enum wr_tid {
    WR_T_NULL, /* the type of a bare NULL; casts to anything */
    WR_T_BOOLEAN, WR_T_TINYINT, WR_T_SMALLINT, WR_T_INT, WR_T_BIGINT, WR_T_FLOAT, WR_T_DOUBLE,
    WR_T_DECIMAL,                    /* prec 1..38, scale 0..prec */
    WR_T_CHAR, WR_T_VARCHAR,         /* prec = length in characters; STRING = VARCHAR(WR_LENGTH_MAX) */
    WR_T_BINARY, WR_T_VARBINARY,     /* BYTES = VARBINARY(WR_LENGTH_MAX) */
    WR_T_DATE, WR_T_TIME,            /* TIME prec 0..3 */
    WR_T_TIMESTAMP, WR_T_TIMESTAMP_LTZ, /* prec 0..9, default 6 */
    WR_T_INTERVAL_YM, WR_T_INTERVAL_DS,
    WR_T_ARRAY, WR_T_MULTISET,       /* kids[0] = element */
    WR_T_MAP,                        /* kids[0] = key, kids[1] = value */
    WR_T_ROW,                        /* kids[i], names[i] */
    WR_T_BITMAP,                     /* the bytes of bitmap.h */
    WR_T_VARIANT,                    /* a JSON value, as text: expr/fn_variant.c */
    WR_T_COUNT
} wr_tid;
#define WR_LENGTH_MAX 2147483647

typedef enum wr_storage {
    WR_S_NONE,  /* WR_T_NULL: no data, all rows NULL */
    WR_S_BOOL,  /* uint8_t 0/1 */
    WR_S_I8, WR_S_I16, WR_S_I32, WR_S_I64,
    WR_S_I128,  /* DECIMAL: unscaled value */
    WR_S_F32, WR_S_F64,
    WR_S_STR,   /* wr_sview (16 bytes); BITMAP and VARIANT too */
    WR_S_LIST,  /* ARRAY, MULTISET, MAP: wr_list {offset, length} into kids */
    WR_S_ROW,   /* children only */
} wr_storage;

/* What a column means for time. Only base TIMESTAMP(3)/TIMESTAMP_LTZ(3) columns can be rowtime. */
typedef enum wr_time_attr { WR_TIME_NONE, WR_TIME_ROWTIME, WR_TIME_PROCTIME } wr_time_attr;

typedef struct wr_type {
    uint8_t  id;       /* wr_tid */
    uint8_t  nullable; /* bool */
    uint8_t  attr;     /* wr_time_attr */
    uint8_t  scale;    /* DECIMAL */
    int32_t  prec;     /* see wr_tid */
    uint32_t n_kids;
    const struct wr_type *kids;
    const wr_str         *names; /* ROW only */
} wr_type;

WR_INLINE wr_type wr_type_of(wr_tid id) { return (wr_type){.id = (uint8_t)id, .nullable = 1}; }
WR_INLINE wr_type wr_type_prec(wr_tid id, int32_t prec) { return (wr_type){.id = (uint8_t)id, .nullable = 1, .prec = prec}; }
WR_INLINE wr_type wr_type_string(void) { return wr_type_prec(WR_T_VARCHAR, WR_LENGTH_MAX); }
WR_INLINE wr_type wr_type_decimal(int prec, int scale) {
    return (wr_type){.id = WR_T_DECIMAL, .nullable = 1, .prec = prec, .scale = (uint8_t)scale};
}
WR_INLINE wr_type wr_type_not_null(wr_type t) { t.nullable = 0; return t; }
WR_INLINE wr_type wr_type_with_null(wr_type t, bool nullable) { t.nullable = nullable; return t; }

wr_storage wr_type_storage(wr_type t);
size_t     wr_storage_size(wr_storage s);           /* bytes a row in the data array; ROW and NONE 0 */
bool       wr_type_same(wr_type a, wr_type b);      /* equal but for nullability and time attribute */
void       wr_type_text(wr_type t, wr_sbuf *out);   /* Flink's text: DECIMAL(10, 2), TIMESTAMP(3) *ROWTIME*, ROW<`a` INT> NOT NULL */
const char *wr_tid_name(wr_tid id);
bool       wr_type_is_numeric(wr_type t);           /* TINYINT..DECIMAL */
bool       wr_type_is_integer(wr_type t);
bool       wr_type_is_string(wr_type t);            /* CHAR, VARCHAR */
bool       wr_type_is_binary(wr_type t);
bool       wr_type_is_time_point(wr_type t);        /* DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ */
bool       wr_type_is_nested(wr_type t);
/* Units per second of a TIMESTAMP / TIMESTAMP_LTZ of this precision: 1,000,000 or 1,000,000,000. */
int64_t    wr_type_ticks_per_second(wr_type t);
/* The least type that both go into without losing meaning (Flink's rules), or false. Nullable if either is. */
bool       wr_type_common(wr_type a, wr_type b, wr_type *out);
wr_type    wr_type_copy(wr_arena *arena, wr_type t); /* deep */
void       wr_type_save(wr_type t, wr_sbuf *out);    /* binary, for checkpoints */
wr_type    wr_type_load(wr_arena *arena, wr_reader *in);

/* Columns of a stream or table. In the plan's arena, read-only once built. */
typedef struct wr_field {
    wr_str  name;
    wr_type type;
} wr_field;
typedef struct wr_schema {
    uint32_t        n;
    const wr_field *fields;
} wr_schema;
int wr_schema_find(const wr_schema *schema, wr_str name); /* exact case; -1 if absent */
