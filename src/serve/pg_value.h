/* serve/pg_value.h: weir's types and values in the forms of the PostgreSQL protocol. Private to serve/.
 *
 * Types      MAP, ROW, MULTISET and arrays of arrays or of such are json; TINYINT is int2, BITMAP bytea, VARIANT json. Nanoseconds are cut to microseconds.
 * Numbers    big-endian, times since 2000-01-01.                                                                                        */
#pragma once
#include "type/datetime.h"
#include "type/value.h"

enum {
    PG_BOOL = 16, PG_BYTEA = 17, PG_CHAR1 = 18, PG_NAME = 19, PG_INT8 = 20, PG_INT2 = 21, PG_INT2VECTOR = 22, PG_INT4 = 23, PG_REGPROC = 24, PG_TEXT = 25, PG_OID = 26, PG_OIDVECTOR = 30,
    PG_JSON = 114, PG_NODE_TREE = 194, PG_FLOAT4 = 700, PG_FLOAT8 = 701, PG_UNKNOWN = 705, PG_BPCHAR = 1042, PG_VARCHAR = 1043, PG_DATE = 1082, PG_TIME = 1083, PG_TIMESTAMP = 1114, PG_TIMESTAMPTZ = 1184,
    PG_INTERVAL = 1186, PG_NUMERIC = 1700,
};
uint32_t pg_oid_of(wr_type t);
uint32_t pg_array_of(uint32_t oid);                     /* 0: there is none */
int16_t  pg_size_of(uint32_t oid);                      /* -1: it varies */
int32_t  pg_typmod_of(wr_type t);                       /* -1: none */
/* The type that values of an OID are read as; false: there is none. */
bool     pg_type_of(uint32_t oid, wr_type *out);

void pg_put_text(const wr_vec *vec, uint32_t row, const wr_tz *tz, wr_sbuf *out);   /* of a value that is not NULL */
void pg_put_binary(const wr_vec *vec, uint32_t row, wr_sbuf *out);
void pg_put_i16(wr_sbuf *out, int16_t v);
void pg_put_i32(wr_sbuf *out, int32_t v);
void pg_put_i64(wr_sbuf *out, int64_t v);

/* A value of a type from text as clients write it, or from the binary form of an OID; text in the arena. A decimal gets the digits that it needs,
 * whatever the type says. WR_DATA, 22P02 or 22P03. */
wr_status pg_parse_text(wr_arena *arena, wr_type type, wr_str text, const wr_tz *tz, wr_value *out, wr_err *err);
wr_status pg_parse_binary(wr_arena *arena, uint32_t oid, wr_str bytes, wr_value *out, wr_err *err);
/* Digits before and behind the point that the number needs; false: it is none. */
bool      pg_decimal_digits(wr_str text, int *whole, int *frac);
/* As a literal in weir's SQL. */
void      pg_put_literal(const wr_value *v, wr_sbuf *out);
