/* type/decimal.h: DECIMAL(1..38) on 128-bit integers; 256-bit intermediates for product and quotient. (contract)
 *
 * Rules      Flink's: results that do not fit the precision are NULL (the functions return false); rounding is half away from zero;
 *            scale of a quotient etc. is decided by the caller (wr_decimal_*_type).                                       */
#pragma once
#include "type/type.h"

#define WR_DECIMAL_MAX_PREC 38
wr_i128 wr_pow10(int n);                                             /* 0 <= n <= 38 */
bool wr_decimal_fits(wr_i128 v, int prec);
bool wr_decimal_rescale(wr_i128 v, int from_scale, int to_prec, int to_scale, wr_i128 *out); /* rounds half up (away from zero) */
bool wr_decimal_add(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out);
bool wr_decimal_sub(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out);
bool wr_decimal_mul(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out);
bool wr_decimal_div(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out); /* b != 0 */
bool wr_decimal_mod(wr_i128 a, int sa, wr_i128 b, int sb, int prec, int scale, wr_i128 *out); /* b != 0; sign of a */
int  wr_decimal_compare(wr_i128 a, int sa, wr_i128 b, int sb);
wr_type wr_decimal_add_type(wr_type a, wr_type b);                   /* also subtraction; DECIMAL arguments */
wr_type wr_decimal_mul_type(wr_type a, wr_type b);
wr_type wr_decimal_div_type(wr_type a, wr_type b);
wr_type wr_decimal_mod_type(wr_type a, wr_type b);
wr_type wr_decimal_of_integer(wr_type t);                            /* TINYINT (3,0), SMALLINT (5,0), INT (10,0), BIGINT (20,0) */
/* Parses "-12.50", "1e3", ".5"; rounds to scale. false: not a number, or does not fit. */
bool wr_decimal_parse(wr_str text, int prec, int scale, wr_i128 *out);
size_t wr_decimal_text(wr_i128 v, int scale, char out[48]);          /* keeps trailing zeros of the scale; returns the length */
double wr_decimal_to_double(wr_i128 v, int scale);
bool wr_decimal_from_double(double x, int prec, int scale, wr_i128 *out);
