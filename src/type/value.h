/* type/value.h: one typed value on its own: literals in expressions, options, defaults. (contract)
 *
 * Idea       a value is a one-row column, so that everything that works on columns works on constants.                  */
#pragma once
#include "type/batch.h"

typedef struct wr_value {
    wr_type type;
    bool    null;
    union {
        bool     b;
        int64_t  i;   /* all integers, dates, times, timestamps, intervals */
        wr_i128  d;   /* DECIMAL */
        double   f;   /* FLOAT, DOUBLE */
        wr_str   s;   /* strings, bytes: in the plan's arena */
        const wr_vec *nested; /* ARRAY, MAP, ROW: row 0 of a column */
    };
} wr_value;
WR_INLINE wr_value wr_value_null(wr_type t) { return (wr_value){.type = wr_type_with_null(t, true), .null = true}; }
WR_INLINE wr_value wr_value_int(wr_type t, int64_t i) { return (wr_value){.type = t, .i = i}; }
/* Fills n rows of vec (allocated here) with the value. */
void wr_value_fill(const wr_value *v, wr_vec *vec, uint32_t n, wr_mem *mem);
/* Row `row` of vec as a value; text and nested parts are copied into the arena. */
wr_value wr_value_from_vec(wr_arena *arena, const wr_vec *vec, uint32_t row);
void wr_value_text(const wr_value *v, const struct wr_tz *tz, wr_sbuf *out);
bool wr_value_equal(const wr_value *a, const wr_value *b);
