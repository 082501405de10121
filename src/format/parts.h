/* format/parts.h: what the files of this room share. Private to format/.
 *
 * Idea       text -> typed value is one set of functions (scalar.c) for all text formats; each format adds only its own syntax.  */
#pragma once
#include "format/format.h"

extern const wr_format wr_format_json, wr_format_csv, wr_format_raw, wr_format_debezium, wr_format_upsert, wr_format_canal, wr_format_maxwell, wr_format_ogg,
    wr_format_avro, wr_format_avro_confluent, wr_format_debezium_avro, wr_format_proto, wr_format_proto_confluent, wr_format_json_confluent;

/* ---- scalar.c ---- */
bool   wr_scalar_int(wr_str text, int64_t *out); /* trims; sign and digits; false also when it does not fit */
/* The text of a number (JSON's or CSV's) into a numeric column: fractions are cut for integers, DECIMAL keeps all digits. */
wr_put wr_scalar_put_number(wr_str text, wr_vec *vec, uint32_t row);
/* Timestamps as Flink's formats write them: no trailing zeros in the fraction; LTZ ends with Z. */
void   wr_scalar_timestamp_text(int64_t ticks, wr_type type, char sep, wr_sbuf *out);

/* ---- format.c ---- */
void      wr_bad_add(wr_decoded *out, wr_bad_kind kind, uint64_t line, uint64_t offset, wr_str raw, const char *message);
WR_INLINE void wr_rows_set_null(wr_vec *vec, uint32_t row, wr_mem *mem) { wr_vec_set_null(vec, row, mem); }

/* ---- json.c, json_encode.c ---- */
bool      wr_json_sep(const wr_options *options, const wr_option_spec *specs, const char *format, char *sep, wr_diags *diags);
wr_status wr_json_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags);
wr_status wr_debezium_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags);
wr_status wr_canal_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags);
wr_status wr_maxwell_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags);
wr_status wr_ogg_encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags);
