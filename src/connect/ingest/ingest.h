/* connect/ingest/ingest.h: what the connector 'http-ingest' is made of: bodies (body.c), an endpoint that puts them into a log (endpoint.c), a source that reads it
 * (source.c). Private to connect/ingest/.                                                                                       */
#pragma once
#include "connect/log/log.h"
#include "connect/parts.h"
#include "http/server.h"

extern const wr_option_spec ingest_specs[];

/* ---- body.c: what a client sent, as records of the log ---- */
enum { INGEST_ERRORS_SHOWN = 100 };
typedef struct ingest_error { uint64_t row; char reason[240]; } ingest_error;
typedef struct ingest_rows {
    wr_sbuf  text;                        /* the records, end to end */
    WR_ARR(wr_log_record) records;        /* into text; with those that cannot be read, if they are kept */
    WR_ARR(ingest_error) errors;          /* the first INGEST_ERRORS_SHOWN */
    uint64_t n_good, n_bad;
    int      status;                      /* 0: it could be taken apart; else of HTTP, */
    char     why[240];
} ingest_rows;
void ingest_rows_free(ingest_rows *rows);

typedef struct ingest_reader ingest_reader; /* decoders of a table, a set for each thread that reads at the same time */
wr_status ingest_reader_new(const wr_table_info *t, wr_connect_ctx *ctx, ingest_reader **out);
void      ingest_reader_free(ingest_reader *reader); /* NULL is legal */
/* type: of Content-Type, may be NULL. keep_bad: those that cannot be read are records all the same (the table's 'on-error' is for them). Any thread. */
void      ingest_read(ingest_reader *reader, const char *type, wr_str body, bool keep_bad, ingest_rows *out);

/* ---- endpoint.c ---- */
typedef struct ingest_endpoint ingest_endpoint;
/* Reads the options, and makes the log if it is not there. */
wr_status ingest_endpoint_new(const wr_table_info *t, wr_connect_ctx *ctx, ingest_endpoint **out, wr_err *err);
/* Listens. *mine false: another source of this process has the same log, and takes rows for it. */
wr_status ingest_endpoint_start(ingest_endpoint *e, bool *mine, wr_err *err);
void      ingest_endpoint_close(ingest_endpoint *e);                    /* NULL is legal */
void      ingest_endpoint_describe(const ingest_endpoint *e, wr_sbuf *out);
void      ingest_endpoint_consumed(ingest_endpoint *e, int64_t offset); /* a checkpoint lasts that has read all below; must not block */
void      ingest_endpoint_read(ingest_endpoint *e, uint64_t done, uint64_t total); /* the job has read so many of the log's rows, and knows of so many */
uint64_t  ingest_endpoint_turned_away(const ingest_endpoint *e);
wr_status ingest_endpoint_broken(ingest_endpoint *e, wr_err *err);      /* why it takes nothing more */

wr_status ingest_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err);
