/* serve/rewrite_fuzz.c: any text as a query of the catalogue: cut into words, rewritten, compiled and run by SQLite within its bounds, or refused with an SQLSTATE. */
#include "serve/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static query_db *db;
    if (!db) db = query_db_new(wr_world_posix(), "fuzz");
    if (size > 4096) return 0;
    query      *q = NULL;
    query_rows *rows = NULL;
    wr_err      err = {0};
    query_stop  stop;
    query_stop_init(&stop);
    query_args args = {.limits = {.rows = 1000, .bytes = 1 << 20, .memory_bytes = 32 << 20, .time_us = 200000}, .stop = &stop};
    stop.until_us = wr_mono_us(wr_world_posix()) + args.limits.time_us;
    wr_status status = query_new(db, (wr_str){(const char *)data, size}, NULL, 0, &q, &err);
    if (status == WR_OK) status = query_describe(q, &err);
    if (status == WR_OK) status = query_run(q, &args, &rows, &err);
    for (wr_batch *b = NULL; status == WR_OK;) {
        status = rows->next(rows, 100, &b, &err);
        if (!b) break;
        wr_batch_unref(b);
    }
    wr_assert(status == WR_OK || (err.code[0] && err.message[0]));
    if (rows) rows->free(rows);
    query_free(q);
    query_stop_free(&stop);
    return 0;
}
