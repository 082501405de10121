/* connect/parts.h: what the connectors share. Private to connect/.                                                     */
#pragma once
#include "connect/connect.h"
#include "type/rowcodec.h"

extern const wr_connector wr_connector_filesystem, wr_connector_datagen, wr_connector_print, wr_connector_result, wr_connector_blackhole, wr_connector_sqlite,
    wr_connector_nexmark, wr_connector_ridelo, wr_connector_kafka, wr_connector_upsert_kafka, wr_connector_log, wr_connector_upsert_log, wr_connector_jdbc, wr_connector_postgres_cdc, wr_connector_http, wr_connector_ingest, wr_connector_redis, wr_connector_nats, wr_connector_mqtt, wr_connector_clickhouse, wr_connector_view;

/* ---- file_list.c: from the option 'path' to files ---- */
typedef struct file_entry {
    char        *path;
    wr_file_info info;
} file_entry;
typedef struct file_list {
    WR_ARR(file_entry) list;
    uint32_t n_named; /* a file that is named twice counts twice here */
} file_list;
void      file_list_free(file_list *list);
/* All files that the option names now: a file, a glob, a directory (not recursive; names with . or _ are hidden), several with commas.
 * `must`: nothing found is an error, with the nearest name there is. */
wr_status file_list_find(wr_world *w, wr_str paths, bool must, file_list *out, wr_err *err);
wr_str    path_dir(wr_str path);  /* "." if there is no slash */
wr_str    path_name(wr_str path); /* last component */

/* ---- file_reader.c: bytes of a plain, gzip or zstd file ---- */
typedef struct file_reader file_reader;
file_reader *file_reader_new(wr_world *w, wr_account *acct, const char *path, wr_file *file);
void         file_reader_free(file_reader *r); /* closes the file */
bool         file_reader_is_open(const file_reader *r);
void         file_reader_park(file_reader *r);                  /* closes the handle, keeps the position and the decompressor */
void         file_reader_resume(file_reader *r, wr_file *file); /* (owns) a handle for it again */
/* Reads up to len bytes that follow `offset` of the uncompressed text; compressed files can be read forward only (going back starts anew).
 * *got < len: the end, as of now. */
wr_status file_reader_read(file_reader *r, uint64_t offset, void *buf, size_t len, size_t *got, wr_err *err);
bool      file_reader_compressed(const file_reader *r);  /* known after the first read */
uint64_t  file_reader_raw_offset(const file_reader *r);  /* bytes of the file used, compressed */
/* A plain file for somebody who reads a part of it at the same time: it stays open for him. NULL: it is compressed, or not known yet. */
typedef struct file_share file_share;
file_share  *file_reader_share(file_reader *r);
wr_status    file_share_read(file_share *f, uint64_t offset, void *buf, size_t len, size_t *got, wr_err *err); /* any thread */
void         file_share_drop(file_share *f);                /* any thread; NULL is legal */

/* ---- connect.c ---- */
WR_INLINE bool is_held(const uint64_t *held, uint32_t partition) { return held && (held[partition >> 6] >> (partition & 63) & 1); } /* see wr_source_vt.next */
WR_PRINTF(5, 6) WR_COLD wr_status option_error(wr_connect_ctx *ctx, const wr_table_info *t, const char *key, const char *code, const char *fmt, ...);
void     point_at_path(const wr_table_info *t, wr_err *err); /* an error about a file points at the option that named it */
int      option_choice(const wr_table_info *t, const wr_option_spec *specs, const char *key, const char *const *names, int n); /* index of an enum's value; it was checked */
wr_str   option_text(const wr_table_info *t, const wr_option_spec *specs, const char *key);
/* The table's options as those of a format see them, and the format itself; diagnostics if it is not there. */
const wr_format *table_format(const wr_table_info *t, wr_connect_ctx *ctx);

/* ---- file_source.c, file_sink.c ---- */
wr_status file_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
wr_status file_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
bool      file_is_tail(const wr_table_info *t);
wr_str    file_plain_path(wr_str path, bool *slash); /* of a sink: without file:// and slashes at its end */
wr_status file_output(const wr_table_info *t, wr_connect_ctx *ctx, wr_output *out, wr_err *err);

extern const wr_option_spec jdbc_specs[]; /* jdbc.c: for every database that it is for */

/* ---- database.c: what the sinks and look-ups of SQL databases share ---- */
typedef struct db_columns { const wr_schema *schema; uint32_t n_key, *key; char quote; } db_columns; /* quote: of names */
db_columns db_columns_of(const wr_table_info *t, wr_arena *arena); /* its key is a copy */
void db_put_name(wr_sbuf *sql, wr_str name);                       /* quoted */
void db_put_quoted(wr_sbuf *sql, wr_str name, char quote);
bool db_is_key(const db_columns *c, uint32_t col);
void db_put_columns(const db_columns *c, wr_sbuf *sql);            /* "a", "b" */
void db_put_keys(const db_columns *c, wr_sbuf *sql);
void db_put_table(const db_columns *c, void (*put_type)(wr_sbuf *sql, wr_type type), wr_sbuf *sql); /* of CREATE TABLE: (columns, PRIMARY KEY) */
void db_put_conflict(const db_columns *c, wr_sbuf *sql);           /* ON CONFLICT (keys) DO UPDATE SET the rest */
/* Rows that a database refused while a log of changes (each: kind, row) was applied. They are told when the transaction is in: only then is it certain.
 * The table weir_refused holds those of the last epoch, written in its transaction, so that they can be told again after a crash. */
typedef struct db_refusal { uint64_t row; char code[8], reason[300]; } db_refusal; /* row: its index in the log */
typedef struct db_refusals {
    const wr_refuse *refuse;                                       /* NULL: an error ends the transaction */
    const wr_schema *schema;
    uint64_t         before;                                       /* rows of the logs before this one */
    WR_ARR(db_refusal) list;
} db_refusals;
#define DB_REFUSED_COLUMNS(TEXT, NUMBER) "job " TEXT " NOT NULL, sink " TEXT " NOT NULL, epoch " NUMBER " NOT NULL, row_index " NUMBER " NOT NULL, code " TEXT " NOT NULL, reason " TEXT " NOT NULL"
/* For transactions that may be done again: false: err does not pass by itself, or it is too late; else a pause is over. */
bool      db_try_again(wr_world *world, const wr_err *err, int64_t until_us);
WR_COLD wr_status db_newer_epoch(const char *database, wr_str table, uint64_t have, uint64_t epoch, wr_err *err); /* 55000: it is ahead of the checkpoint */
void      db_refusals_add(db_refusals *r, uint64_t row, const char *code, wr_str reason);
wr_status db_refusals_tell(db_refusals *r, const wr_rowcodec *codec, wr_str log, wr_err *err);
enum { LOOKUP_PIECE_ROWS = 1024 };
wr_batch *lookup_row(const wr_schema *schema, wr_lookup_rows *out); /* a batch with room for one more row, at n_rows */
WR_COLD wr_status lookup_bad_value(const wr_field *field, const char *table, const char *database, wr_str text, wr_err *err); /* table: quoted; database: a file, or "" */

/* ---- output.c, sqlite_output.c ---- */
#define NEXT_TABLE "__next"
void      output_sibling(wr_str path, const char *suffix, wr_sbuf *out); /* dir/NAME -> dir/.NAMEsuffix */
wr_status sqlite_output_discard(const wr_output *output, wr_err *err);
wr_status sqlite_output_look(const wr_output *output, wr_err *err);
/* Those of `outputs` that lie in the database of the first one: one transaction. */
wr_status sqlite_outputs_swap(const wr_output *outputs, uint32_t n, uint64_t epoch, uint64_t was, wr_err *err);
