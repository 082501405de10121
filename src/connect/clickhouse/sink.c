/* connect/clickhouse/sink.c: the sink of 'clickhouse': rows are inserted in blocks, each of them once.
 *
 * Idea       rows are kept as lines of JSON. prepare hands them to the checkpoint as staged bytes; commit sends them in blocks that are cut the same way each time,
 *            each with a token RUN:EPOCH:BLOCK, by which the server knows a block that it has already (insert_deduplication_token). So doing it again, after a
 *            lost connection or a crash, does nothing, as long as the table remembers tokens; that is looked at before the first row.
 * Run        a random number of each start of the job, staged with the rows: a job that begins anew, or goes back to an older checkpoint, counts epochs that
 *            the server has seen with other rows; they are not taken for those.
 * Keys       with a PRIMARY KEY the table is a ReplacingMergeTree: a row is written with a version that only grows (it begins above the table's largest, and
 *            goes with the clock), a deletion is a row with weir_deleted = 1. SELECT ... FINAL shows what holds.
 * State      the lines since the last prepare or flush, charged to the account.
 * Thread     one worker; the connection is its own.                                                                                       */
#include "connect/clickhouse/clickhouse.h"
#include "connect/staged.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 8 << 20, BLOCK_ROWS = 500000 /* the server cuts what is more than a million */ };
/* One block is one insert: not parsed in pieces, not held back, no NULL taken for a default, times with and without a zone. */
#define SETTINGS "&async_insert=0&input_format_parallel_parsing=0&input_format_null_as_default=0&input_format_skip_unknown_fields=0&date_time_input_format=best_effort&input_format_import_nested_json=1"

typedef struct click_sink {
    staged_sink     base;           /* its log: lines, without the brace at their end; 'd' or 'i' in front */
    click_conn      conn;
    const wr_schema *schema;
    db_columns      columns;
    bool            exact;
    uint64_t        run, version;   /* version: given last */
    bool           *no_null;        /* of each column: the table's takes none */
    const char     *insert, *job;
    wr_sbuf         body;
} click_sink;

/* ---- rows ---- */

static const wr_json_style style = {.sep = ' ', .exact = true};

static bool is_nested(wr_type t) { return t.id == WR_T_ARRAY || t.id == WR_T_MAP || t.id == WR_T_MULTISET || t.id == WR_T_ROW; }

static void put_member(click_sink *s, const wr_batch *batch, uint32_t row, uint32_t c, bool *first) {
    wr_sbuf_addc(&s->base.log.bytes, *first ? '{' : ',');
    *first = false;
    wr_sbuf_add_json(&s->base.log.bytes, s->schema->fields[c].name);
    wr_sbuf_addc(&s->base.log.bytes, ':');
    wr_json_value(&batch->cols[c], row, &style, &s->base.log.bytes);
}

/* ClickHouse would take its default for a NULL that the column cannot hold: here that is said. Arrays, maps and tuples cannot be NULL there: they are empty. A row that
 * is gone is its key. */
static wr_status put_line(click_sink *s, const wr_batch *batch, uint32_t row, wr_err *err) {
    bool gone = s->columns.n_key && !wr_kind_adds(wr_batch_kind(batch, row)), first = true;
    wr_sbuf_addc(&s->base.log.bytes, gone ? 'd' : 'i');
    for (uint32_t c = 0; c < s->schema->n; c++) {
        bool null = wr_vec_is_null(&batch->cols[c], row);
        if (gone ? !db_is_key(&s->columns, c) : null && is_nested(s->schema->fields[c].type)) continue;
        if (null && s->no_null[c]) {
            wr_fail(err, WR_DATA, "23502", "table '%.*s': the column '%.*s' of %s.%s takes no NULL", WR_FMT(s->conn.name), WR_FMT(s->schema->fields[c].name), s->conn.database, s->conn.table);
            wr_err_hint(err, "COALESCE gives another value; Nullable(...) is a type that takes NULL");
            if (err) err->at = s->conn.at;
            return WR_DATA;
        }
        put_member(s, batch, row, c, &first);
    }
    if (first) wr_sbuf_addc(&s->base.log.bytes, '{');
    wr_sbuf_addc(&s->base.log.bytes, '\n');
    return WR_OK;
}

/* ---- sending ---- */

/* Lines up to BLOCK_BYTES or BLOCK_ROWS into the body; what is left. Always cut the same way. */
static wr_str take_block(click_sink *s, wr_str log) {
    wr_sbuf_clear(&s->body);
    for (uint32_t rows = 0; log.len && s->body.len < BLOCK_BYTES && rows < BLOCK_ROWS; rows++) {
        const char *end = memchr(log.ptr, '\n', log.len);
        size_t      len = end ? (size_t)(end - log.ptr) : log.len;
        wr_sbuf_add(&s->body, log.ptr + 1, len - 1);
        if (s->columns.n_key) wr_sbuf_printf(&s->body, ",\"" CLICK_VERSION "\":%" PRIu64 ",\"" CLICK_DELETED "\":%d", ++s->version, *log.ptr == 'd');
        wr_sbuf_addz(&s->body, "}\n");
        log = end ? (wr_str){end + 1, log.len - len - 1} : (wr_str){NULL, 0};
    }
    return log;
}

static wr_status send_block(click_sink *s, uint64_t run, uint64_t epoch, uint32_t block, wr_err *err) {
    int64_t until = wr_mono_us(s->conn.world) + s->conn.retry_us, pause = 100000;
    wr_err  own = {0}, *e = err ? err : &own;
    wr_sbuf settings = {0};
    wr_sbuf_addz(&settings, SETTINGS);
    if (epoch) {
        wr_sbuf_addz(&settings, "&insert_deduplicate=1&insert_deduplication_token=");
        wr_http_encode(&settings, wr_str_of(s->job), false);
        wr_sbuf_printf(&settings, "-%016" PRIx64 "-%" PRIu64 "-%u", run, epoch, block);
    } else {
        wr_sbuf_addz(&settings, "&insert_deduplicate=0"); /* two blocks that look the same are two */
    }
    wr_status status;
    for (;;) {
        status = click_ask(&s->conn, s->insert, settings.at, wr_sbuf_str(&s->body), "insert rows", e);
        if (status == WR_OK || !e->retriable || wr_mono_us(s->conn.world) > until) break;
        s->conn.world->vt->sleep_us(s->conn.world, pause);
        pause = WR_MIN(pause * 2, INT64_C(5000000));
    }
    wr_sbuf_free(&settings);
    return status;
}

static wr_status send_lines(click_sink *s, uint64_t run, uint64_t epoch, wr_str log, wr_err *err) {
    for (uint32_t block = 0; log.len; block++) {
        s->version = WR_MAX(s->version, (uint64_t)s->conn.world->vt->wall_us(s->conn.world));
        log = take_block(s, log);
        WR_TRY(send_block(s, run, s->exact ? epoch : 0, block, err));
    }
    return WR_OK;
}

/* ---- the sink ---- */

static wr_status sink_put(staged_sink *base, const wr_batch *batch, wr_err *err) {
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) WR_TRY(put_line((click_sink *)base, batch, wr_batch_row(batch, i), err));
    return WR_OK;
}
static wr_status sink_flush(staged_sink *base, wr_str log, wr_err *err) { return send_lines((click_sink *)base, ((click_sink *)base)->run, 0, log, err); }
static void      sink_head(staged_sink *base, wr_sbuf *staged) { wr_put_u64(staged, ((click_sink *)base)->run); }

static wr_status sink_commit(staged_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    wr_reader in = {(const uint8_t *)staged.ptr, (const uint8_t *)staged.ptr + staged.len, false};
    uint64_t  run = wr_get_u64(&in);
    if (in.bad) return staged_damaged(base, err);
    return send_lines((click_sink *)base, run, epoch, (wr_str){(const char *)in.at, (size_t)(in.end - in.at)}, err);
}

static void sink_free(staged_sink *base) {
    click_sink *s = (click_sink *)base;
    click_close(&s->conn);
    wr_sbuf_free(&s->body);
}
static const staged_vt sink_vt = {.put = sink_put, .flush = sink_flush, .commit = sink_commit, .head = sink_head, .free = sink_free};

/* ---- making one ---- */

static void put_create(click_sink *s, wr_sbuf *sql) {
    wr_sbuf_addz(sql, "CREATE TABLE IF NOT EXISTS ");
    click_put_table(&s->conn, sql);
    wr_sbuf_addz(sql, " (");
    for (uint32_t c = 0; c < s->schema->n; c++) {
        const wr_field *f = &s->schema->fields[c];
        bool            nullable = f->type.nullable && !is_nested(f->type) && !db_is_key(&s->columns, c);
        if (c) wr_sbuf_addz(sql, ", ");
        click_put_name(sql, f->name);
        wr_sbuf_addz(sql, nullable ? " Nullable(" : " ");
        click_put_type(sql, f->type);
        if (nullable) wr_sbuf_addc(sql, ')');
    }
    if (s->columns.n_key) wr_sbuf_addz(sql, ", " CLICK_VERSION " UInt64, " CLICK_DELETED " UInt8) ENGINE = ReplacingMergeTree(" CLICK_VERSION ", " CLICK_DELETED ") ORDER BY (");
    else wr_sbuf_addz(sql, ") ENGINE = MergeTree ORDER BY (");
    for (uint32_t k = 0; k < s->columns.n_key; k++) {
        if (k) wr_sbuf_addz(sql, ", ");
        click_put_name(sql, s->schema->fields[s->columns.key[k]].name);
    }
    wr_sbuf_addz(sql, s->columns.n_key ? ")" : "tuple())");
    wr_sbuf_addz(sql, " SETTINGS non_replicated_deduplication_window = 1000");
}

static wr_status wrong_table(click_sink *s, const char *why, wr_err *err) {
    wr_fail(err, WR_USER, "WR354", "table '%.*s': %s.%s of ClickHouse %s", WR_FMT(s->conn.name), s->conn.database, s->conn.table, why);
    if (err) err->at = s->conn.at;
    return WR_USER;
}

/* Which of the columns take no NULL; one that is not there is an error. */
static wr_status read_columns(click_sink *s, wr_err *err) {
    wr_sbuf sql = {0};
    wr_sbuf_addz(&sql, "SELECT name, type LIKE 'Nullable(%' OR type LIKE 'LowCardinality(Nullable(%' FROM system.columns WHERE database = ");
    click_put_text(&sql, s->conn.database);
    wr_sbuf_addz(&sql, " AND table = ");
    click_put_text(&sql, s->conn.table);
    wr_sbuf_addz(&sql, " FORMAT TSV");
    wr_status status = click_ask(&s->conn, sql.at, NULL, WR_STR(""), "read the columns", err);
    wr_sbuf_free(&sql);
    WR_TRY(status);
    s->no_null = wr_new_n(s->base.arena, bool, s->schema->n + 1);
    for (uint32_t c = 0; c < s->schema->n; c++) {
        wr_str name = s->schema->fields[c].name, lines = wr_sbuf_str(&s->conn.answer.body), line;
        bool   there = false;
        while (!there && wr_str_next(&lines, '\n', &line)) {
            wr_str of;
            if (!wr_str_next(&line, '\t', &of) || !wr_str_eq(of, name)) continue;
            there = true;
            s->no_null[c] = !wr_str_starts(line, WR_STR("1"));
        }
        if (there) continue;
        wr_fail(err, WR_USER, "WR354", "table '%.*s': %s.%s of ClickHouse has no column '%.*s'", WR_FMT(s->conn.name), s->conn.database, s->conn.table, WR_FMT(name));
        wr_err_hint(err, "the columns of the SQL table must be there under the same names");
        if (err) err->at = s->conn.at;
        return WR_USER;
    }
    return WR_OK;
}

/* Everything that can be wrong with the table is found before the first row. */
static wr_status try_table(click_sink *s, bool create, wr_err *err) {
    click_kind kind;
    wr_sbuf    sql = {0};
    if (create) {
        put_create(s, &sql);
        wr_status status = click_ask(&s->conn, sql.at, NULL, WR_STR(""), "make the table", err);
        wr_sbuf_free(&sql);
        WR_TRY(status);
    }
    WR_TRY(click_kind_of(&s->conn, &kind, err));
    if (!kind.there) {
        wrong_table(s, "is not there", err);
        wr_err_hint(err, "make the table first, or let 'create-table' = 'true' do it");
        return WR_USER;
    }
    if (s->columns.n_key && !kind.replacing) {
        wrong_table(s, "does not replace rows by key", err);
        wr_err_hint(err, "rows are updated by the PRIMARY KEY: ENGINE = ReplacingMergeTree(" CLICK_VERSION ", " CLICK_DELETED ") with these two columns, UInt64 and UInt8");
        return WR_USER;
    }
    if (s->exact && !kind.remembers) {
        wrong_table(s, "does not remember inserts, so that one that is sent again would count twice", err);
        wr_err_hint(err, "ALTER TABLE %s.%s MODIFY SETTING non_replicated_deduplication_window = 1000; or 'sink.delivery-guarantee' = 'at-least-once'", s->conn.database, s->conn.table);
        return WR_USER;
    }
    WR_TRY(read_columns(s, err));
    if (!s->columns.n_key) return WR_OK;
    wr_sbuf_addz(&sql, "SELECT max(" CLICK_VERSION ") FROM ");
    click_put_table(&s->conn, &sql);
    wr_sbuf_addz(&sql, " FORMAT TSV");
    wr_status status = click_ask(&s->conn, sql.at, NULL, WR_STR(""), "read the largest version", err);
    wr_sbuf_free(&sql);
    if (status == WR_OK) s->version = strtoull(s->conn.answer.body.at, NULL, 10);
    return status;
}

static void make_insert(click_sink *s) {
    wr_sbuf sql = {0};
    wr_sbuf_addz(&sql, "INSERT INTO ");
    click_put_table(&s->conn, &sql);
    wr_sbuf_addz(&sql, " (");
    for (uint32_t c = 0; c < s->schema->n; c++) {
        if (c) wr_sbuf_addz(&sql, ", ");
        click_put_name(&sql, s->schema->fields[c].name);
    }
    if (s->columns.n_key) wr_sbuf_addz(&sql, ", " CLICK_VERSION ", " CLICK_DELETED);
    wr_sbuf_addz(&sql, ") FORMAT JSONEachRow");
    s->insert = wr_arena_strndup(s->base.arena, sql.at, sql.len);
    wr_sbuf_free(&sql);
}

wr_status click_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    bool        create;
    click_sink *s = wr_calloc(1, sizeof *s);
    wr_str      job = option_text(t, click_specs, "sink.job");
    *s = (click_sink){.schema = t->schema, .exact = click_is_exact(t), .run = ctx->world->vt->random(ctx->world)};
    staged_sink_init(&s->base, &sink_vt, t, ctx);
    s->columns = db_columns_of(t, s->base.arena);
    s->job = wr_arena_printf(s->base.arena, "%.*s-%.*s", WR_FMT(job), WR_FMT(t->name));
    wr_status status = wr_option_bool(&t->options, click_specs, "create-table", &create, ctx->diags) ? WR_OK : WR_USER;
    if (status == WR_OK) status = click_open(&s->conn, t, s->base.arena, ctx, err);
    if (status == WR_OK) {
        make_insert(s);
        status = try_table(s, create, err);
    }
    return staged_sink_made(&s->base, status, out);
}
