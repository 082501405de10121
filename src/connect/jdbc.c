/* connect/jdbc.c: the connector 'jdbc': its table's 'url' says which database it is of.                                                */
#include "connect/mysql/lib.h"
#include "connect/postgres/pg.h"
#include "connect/probe.h"

const wr_option_spec jdbc_specs[] = {
    {"url", "string", NULL, true, "jdbc:postgresql://host:port/database; libpq's parameters may follow a '?'. jdbc:mysql:// or jdbc:mariadb://host:port/database; sslMode, useSSL, serverSslCert may follow"},
    {"table-name", "string", NULL, true, "the table, with its schema if it is not in the search path: public.orders; in MySQL with its database if it is not that of the URL"},
    {"username", "string", "", false, "who connects"},
    {"password", "string", "", false, "without it: what libpq finds in PGPASSWORD or ~/.pgpass"},
    {"create-table", "bool", "false", false, "make the table if it is not there"},
    {"connection.max-retry-timeout", "duration", "60 s", false, "how long a lost connection is tried again before the job stops"},
    {"sink.job", "string", "weir", false, "name of the job in weir_epoch: two jobs that write to one table need two"},
    {"sink.buffer-flush.max-rows", "int", NULL, false, "accepted for Flink's sake: rows are written with the checkpoint, or every 8 MiB without checkpoints"},
    {"sink.buffer-flush.interval", "duration", NULL, false, "accepted for Flink's sake"},
    {"sink.max-retries", "int", NULL, false, "accepted for Flink's sake: see connection.max-retry-timeout"},
    {"sink.parallelism", "int", NULL, false, "accepted for Flink's sake: one worker writes"},
    {"driver", "string", NULL, false, "accepted for Flink's sake"},
    {0}};

static wr_status sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) { return my_is_url(t) ? mysql_sink_new(t, ctx, out, err) : pg_sink_new(t, ctx, out, err); }

static wr_status lookup_new(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err) {
    if (!my_is_url(t)) return pg_lookup_new(t, keys, n_keys, ctx, out, err);
    wr_status status = option_error(ctx, t, "url", "WR121", "a table of MySQL can be written to, not asked by key in lookup joins");
    wr_diags_hint(ctx->diags, "tables of PostgreSQL and SQLite can be asked");
    return status;
}

static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    if (!my_is_url(t)) pg_probe(t, ctx);
    else if (ctx->role == WR_ROLE_SINK) mysql_table_probe(t, ctx);
}

static wr_sink_takes takes(const wr_table_info *t) { return t->n_key ? WR_SINK_UPSERT : WR_SINK_APPEND; }
static wr_guarantee  guarantee(const wr_table_info *t) { return (void)t, WR_EXACTLY_ONCE; }

const wr_connector wr_connector_jdbc = {.name = "jdbc", .doc = "a table of a database of PostgreSQL, MySQL or MariaDB: upsert by PRIMARY KEY, or append, exactly once; in PostgreSQL asked by key in lookup joins", .specs = jdbc_specs,
                                        .sink_new = sink_new, .takes = takes, .guarantee = guarantee, .lookup_new = lookup_new, .probe = probe};
