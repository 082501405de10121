/* connect/sqlite_parts.h: what the sink and the look-ups of 'sqlite' share. Private to connect/.                     */
#pragma once
#include "connect/parts.h"
#include <sqlite3.h>

int       sqlite_bind(sqlite3_stmt *st, int at, const wr_vec *vec, uint32_t row, wr_sbuf *scratch);                  /* a value as the sink writes it */
wr_status sqlite_lookup_new(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err);
wr_status sqlite_version(const wr_table_info *t, wr_connect_ctx *ctx, uint64_t *out, wr_err *err);
struct wr_probe_ctx;
void      sqlite_probe(const wr_table_info *t, struct wr_probe_ctx *ctx);
void      sqlite_put_type(wr_sbuf *sql, wr_type type);
