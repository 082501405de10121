/* connect/postgres/sink.c: the sink 'jdbc': a table of a PostgreSQL database, upserted by PRIMARY KEY or appended to, exactly once.
 *
 * Idea       changes are kept as lines of COPY's text format. prepare hands them to the checkpoint as staged bytes; commit sends them by COPY and writes the
 *            epoch's number to weir_epoch in the same transaction: so doing it again, after a lost connection or a crash, does nothing. An append-only
 *            table is copied into directly. With a key the lines go to a temporary table, and the last change of each key is applied by one DELETE and one
 *            INSERT ... ON CONFLICT, whatever the number of rows.
 * Refused    where the table's 'on-error' lets the job go on, the changes are kept as encoded rows and sent in pieces, each behind a savepoint. A piece that the
 *            server refuses for what is in it is halved until one row is left, which is put aside; the rest commits. weir_refused keeps which rows those were.
 * Invariant  weir_epoch.epoch = E  <=>  the changes of all epochs up to E are in the table.
 * Fresh      a job that begins anew forgets the epoch of an earlier one before its first: a crash in it, or an answer that is lost, finds none but its own.
 * State      the changes since the last prepare or flush, charged to the account.
 * Thread     one worker; the connection is its own.                                                                            */
#include "connect/postgres/pg.h"
#include "connect/staged.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGED_LINES = 1, STAGED_ROWS = 2 /* lines of COPY; encoded rows */, COPY_BYTES = 1 << 20, PIECE_ROWS = 2048 };

typedef struct pg_sink {
    staged_sink      base;
    db_columns       columns;
    wr_str           job;
    pg_conn          conn;
    const char      *copy, *make_changes, *remove, *put;
    uint64_t         seq;
    wr_sbuf          scratch, row, lines;
    wr_rowcodec     *codec;
    db_refusals      refused;
} pg_sink;

/* ---- statements ---- */

static const char *keep(pg_sink *s, wr_sbuf *sql) {
    const char *z = wr_arena_strndup(s->base.arena, sql->at, sql->len);
    wr_sbuf_clear(sql);
    return z;
}

static void make_statements(pg_sink *s) {
    wr_sbuf sql = {0};
    if (!s->columns.n_key) {
        wr_sbuf_printf(&sql, "COPY %s (", s->conn.table);
        db_put_columns(&s->columns, &sql);
        wr_sbuf_addz(&sql, ") FROM STDIN");
        s->copy = keep(s, &sql);
        wr_sbuf_free(&sql);
        return;
    }
    wr_sbuf_addz(&sql, "CREATE TEMP TABLE IF NOT EXISTS weir_changes ON COMMIT DELETE ROWS AS SELECT 0::bigint AS weir_seq, false AS weir_gone, ");
    db_put_columns(&s->columns, &sql);
    wr_sbuf_printf(&sql, " FROM %s WITH NO DATA", s->conn.table);
    s->make_changes = keep(s, &sql);
    wr_sbuf_addz(&sql, "COPY weir_changes FROM STDIN");
    s->copy = keep(s, &sql);
    wr_sbuf_printf(&sql, "DELETE FROM %s AS t USING (SELECT DISTINCT ON (", s->conn.table);
    db_put_keys(&s->columns, &sql);
    wr_sbuf_addz(&sql, ") weir_gone, ");
    db_put_keys(&s->columns, &sql);
    wr_sbuf_addz(&sql, " FROM weir_changes ORDER BY ");
    db_put_keys(&s->columns, &sql);
    wr_sbuf_addz(&sql, ", weir_seq DESC) AS c WHERE c.weir_gone");
    for (uint32_t k = 0; k < s->columns.n_key; k++) {
        wr_sbuf_addz(&sql, " AND t.");
        db_put_name(&sql, s->columns.schema->fields[s->columns.key[k]].name);
        wr_sbuf_addz(&sql, " = c.");
        db_put_name(&sql, s->columns.schema->fields[s->columns.key[k]].name);
    }
    s->remove = keep(s, &sql);
    wr_sbuf_printf(&sql, "INSERT INTO %s (", s->conn.table);
    db_put_columns(&s->columns, &sql);
    wr_sbuf_addz(&sql, ") SELECT ");
    db_put_columns(&s->columns, &sql);
    wr_sbuf_addz(&sql, " FROM (SELECT DISTINCT ON (");
    db_put_keys(&s->columns, &sql);
    wr_sbuf_addz(&sql, ") * FROM weir_changes ORDER BY ");
    db_put_keys(&s->columns, &sql);
    wr_sbuf_addz(&sql, ", weir_seq DESC) AS c WHERE NOT weir_gone");
    db_put_conflict(&s->columns, &sql);
    s->put = keep(s, &sql);
    wr_sbuf_free(&sql);
}

static wr_status create_table(pg_sink *s, wr_err *err) {
    wr_sbuf sql = {0};
    wr_sbuf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s", s->conn.table);
    db_put_table(&s->columns, pg_put_type, &sql);
    wr_status status = pg_run(&s->conn, sql.at, "create the table", err);
    wr_sbuf_free(&sql);
    return status;
}

/* ---- a transaction ---- */

static wr_status send_lines(pg_sink *s, wr_str lines, wr_err *err) {
    PGresult *r = pg.exec(s->conn.c, s->copy);
    if (pg.resultStatus(r) != PGRES_COPY_IN) return pg_fail(&s->conn, r, "write rows", err);
    pg.clear(r);
    for (size_t at = 0; at < lines.len; at += COPY_BYTES)
        if (pg.putCopyData(s->conn.c, lines.ptr + at, (int)WR_MIN(lines.len - at, (size_t)COPY_BYTES)) != 1) return pg_fail(&s->conn, NULL, "write rows", err);
    if (pg.putCopyEnd(s->conn.c, NULL) != 1) return pg_fail(&s->conn, NULL, "write rows", err);
    wr_status status = WR_OK;
    while ((r = pg.getResult(s->conn.c))) {
        if (pg.resultStatus(r) != PGRES_COMMAND_OK && status == WR_OK) status = pg_fail(&s->conn, r, "write rows", err);
        else pg.clear(r);
    }
    return status;
}

static wr_status stored_epoch(pg_sink *s, uint64_t *epoch, wr_err *err) {
    char        job[256], sink[256];
    const char *values[] = {job, sink};
    PGresult   *r;
    snprintf(job, sizeof job, "%.*s", WR_FMT(s->job));
    snprintf(sink, sizeof sink, "%.*s", WR_FMT(s->conn.name));
    WR_TRY(pg_query(&s->conn, "SELECT epoch FROM weir_epoch WHERE job = $1 AND sink = $2 FOR UPDATE", 2, values, "read weir_epoch", &r, err));
    *epoch = pg.ntuples(r) ? strtoull(pg.getvalue(r, 0, 0), NULL, 10) : 0;
    pg.clear(r);
    return WR_OK;
}

static wr_status store_epoch(pg_sink *s, uint64_t epoch, wr_err *err) {
    char        job[256], sink[256], number[32];
    const char *values[] = {job, sink, number};
    PGresult   *r;
    snprintf(job, sizeof job, "%.*s", WR_FMT(s->job));
    snprintf(sink, sizeof sink, "%.*s", WR_FMT(s->conn.name));
    snprintf(number, sizeof number, "%" PRIu64, epoch);
    WR_TRY(pg_query(&s->conn, "INSERT INTO weir_epoch (job, sink, epoch) VALUES ($1, $2, $3) ON CONFLICT (job, sink) DO UPDATE SET epoch = excluded.epoch", 3, values, "write weir_epoch", &r, err));
    pg.clear(r);
    return WR_OK;
}

static wr_status apply_lines(pg_sink *s, wr_str lines, wr_err *err) {
    if (!lines.len) return WR_OK;
    if (s->columns.n_key) WR_TRY(pg_run(&s->conn, s->make_changes, "make a temporary table", err));
    WR_TRY(send_lines(s, lines, err));
    if (!s->columns.n_key) return WR_OK;
    WR_TRY(pg_run(&s->conn, s->remove, "delete rows", err));
    return pg_run(&s->conn, s->put, "write rows", err);
}

/* ---- rows that the table does not take ---- */

WR_COLD static wr_status fail_nul(pg_sink *s, uint32_t col, wr_err *err) {
    wr_status status = wr_fail(err, WR_DATA, "22021", "table '%.*s': a text of column '%.*s' has a NUL byte in it, which PostgreSQL cannot hold", WR_FMT(s->conn.name), WR_FMT(s->columns.schema->fields[col].name));
    wr_err_hint(err, "REPLACE(%.*s, U&'\\0000', '') takes it out; a BYTES column holds it", WR_FMT(s->columns.schema->fields[col].name));
    if (err) err->at = s->conn.at;
    return status;
}

static wr_status put_line(pg_sink *s, const wr_batch *batch, uint32_t row, wr_sbuf *out, wr_err *err) {
    bool gone = !wr_kind_adds(wr_batch_kind(batch, row));
    if (s->columns.n_key) wr_sbuf_printf(out, "%" PRIu64 "\t%s\t", s->seq++, gone ? "t" : "f");
    for (uint32_t c = 0; c < s->columns.schema->n; c++) {
        if (c) wr_sbuf_addc(out, '\t');
        if (gone && !db_is_key(&s->columns, c)) wr_sbuf_addz(out, "\\N");
        else if (!pg_put_value(out, &batch->cols[c], row, &s->scratch)) return fail_nul(s, c, err);
    }
    wr_sbuf_addc(out, '\n');
    return WR_OK;
}

/* Does the server say it of the row itself? Data, constraints, what a trigger raises, a view's check. */
static bool of_row(const wr_err *e) {
    return !strncmp(e->code, "22", 2) || !strncmp(e->code, "23", 2) || !strcmp(e->code, "P0001") || !strncmp(e->code, "44", 2);
}

static wr_status send_rows(pg_sink *s, const wr_batch *b, uint32_t from, uint32_t to, wr_err *err) {
    wr_sbuf_clear(&s->lines);
    for (uint32_t row = from; row < to; row++) WR_TRY(put_line(s, b, row, &s->lines, err));
    if (s->columns.n_key) WR_TRY(pg_run(&s->conn, "DELETE FROM weir_changes", "begin with rows", err));
    return apply_lines(s, wr_sbuf_str(&s->lines), err);
}

/* Rows [from, to) of a batch that begins at row `first` of the log. As deep as the logarithm of PIECE_ROWS. */
static wr_status apply_rows(pg_sink *s, const wr_batch *b, uint32_t from, uint32_t to, uint64_t first, wr_err *err) {
    wr_err why = {0};
    WR_TRY(pg_run(&s->conn, "SAVEPOINT weir_rows", "set a savepoint", err));
    wr_status status = send_rows(s, b, from, to, &why);
    if (status == WR_OK) return pg_run(&s->conn, "RELEASE weir_rows", "write rows", err);
    if (!of_row(&why) || pg_lost(&s->conn)) {
        if (err) *err = why;
        return status;
    }
    WR_TRY(pg_run(&s->conn, "ROLLBACK TO weir_rows; RELEASE weir_rows", "go back to a savepoint", err));
    if (to - from == 1) {
        const char *said = strstr(why.message, "in PostgreSQL: ");
        wr_sbuf     reason = {0};
        wr_sbuf_printf(&reason, "%s%s%s", said ? said + 15 : why.message, why.detail[0] ? ". " : "", why.detail);
        db_refusals_add(&s->refused, first + from, why.code, wr_sbuf_str(&reason));
        wr_sbuf_free(&reason);
        return WR_OK;
    }
    uint32_t middle = from + (to - from) / 2;
    WR_TRY(apply_rows(s, b, from, middle, first, err));
    return apply_rows(s, b, middle, to, first, err);
}

static wr_status apply_encoded(pg_sink *s, wr_str log, wr_err *err) {
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    WR_TRY(pg_run(&s->conn, "SET CONSTRAINTS ALL IMMEDIATE", "have constraints looked at with each row", err));
    if (s->columns.n_key) WR_TRY(pg_run(&s->conn, s->make_changes, "make a temporary table", err));
    for (uint64_t first = 0; in.at < in.end; first += PIECE_ROWS) {
        wr_batch *b = change_log_take_rows(&in, s->codec, s->columns.schema, PIECE_ROWS, SIZE_MAX);
        if (!b) return staged_damaged(&s->base, err);
        wr_status status = apply_rows(s, b, 0, b->n_rows, first, err);
        wr_batch_unref(b);
        WR_TRY(status);
    }
    return WR_OK;
}

static wr_status refused_query(pg_sink *s, const char *sql, int n, const char *third, const db_refusal *r, PGresult **out, wr_err *err) {
    char        job[256], sink[256], row[32];
    const char *values[] = {job, sink, third, row, r ? r->code : NULL, r ? r->reason : NULL};
    snprintf(job, sizeof job, "%.*s", WR_FMT(s->job));
    snprintf(sink, sizeof sink, "%.*s", WR_FMT(s->conn.name));
    snprintf(row, sizeof row, "%" PRIu64, r ? r->row : 0);
    return pg_query(&s->conn, sql, n, values, "use weir_refused", out, err);
}

/* In place of those of the epoch before. */
static wr_status store_refused(pg_sink *s, uint64_t epoch, wr_err *err) {
    char      number[32];
    PGresult *r;
    snprintf(number, sizeof number, "%" PRIu64, epoch);
    WR_TRY(refused_query(s, "DELETE FROM weir_refused WHERE job = $1 AND sink = $2", 2, NULL, NULL, &r, err));
    pg.clear(r);
    for (uint32_t i = 0; i < s->refused.list.n; i++) {
        WR_TRY(refused_query(s, "INSERT INTO weir_refused (job, sink, epoch, row_index, code, reason) VALUES ($1, $2, $3, $4, $5, $6)", 6, number, &s->refused.list.at[i], &r, err));
        pg.clear(r);
    }
    return WR_OK;
}

/* The epoch is in the table already: which of its rows are not? */
static wr_status load_refused(pg_sink *s, uint64_t epoch, wr_err *err) {
    char      number[32];
    PGresult *r;
    snprintf(number, sizeof number, "%" PRIu64, epoch);
    WR_TRY(refused_query(s, "SELECT row_index, code, reason FROM weir_refused WHERE job = $1 AND sink = $2 AND epoch = $3 ORDER BY row_index", 3, number, NULL, &r, err));
    for (int i = 0; i < pg.ntuples(r); i++) db_refusals_add(&s->refused, strtoull(pg.getvalue(r, i, 0), NULL, 10), pg.getvalue(r, i, 1), wr_str_of(pg.getvalue(r, i, 2)));
    pg.clear(r);
    return WR_OK;
}

/* The lines and, if epoch != 0, its number. Does nothing if the database has the epoch already. */
static wr_status apply_once(pg_sink *s, uint64_t epoch, wr_str lines, wr_err *err) {
    uint64_t have = 0;
    WR_TRY(pg_connect(&s->conn, err));
    WR_TRY(pg_run(&s->conn, "BEGIN", "begin a transaction", err));
    wr_status status = epoch ? stored_epoch(s, &have, err) : WR_OK;
    s->refused.list.n = 0;
    if (status == WR_OK && (!epoch || have < epoch)) {
        status = s->refused.refuse ? apply_encoded(s, lines, err) : apply_lines(s, lines, err);
        if (status == WR_OK && epoch) status = store_epoch(s, epoch, err);
        if (status == WR_OK && epoch && s->refused.refuse) status = store_refused(s, epoch, err);
    } else if (status == WR_OK && s->refused.refuse) {
        status = load_refused(s, epoch, err);
    }
    if (status == WR_OK) return pg_run(&s->conn, "COMMIT", "commit", err);
    if (!pg_lost(&s->conn)) (void)pg_run(&s->conn, "ROLLBACK", "roll back", NULL);
    return status;
}

/* Again after a lost connection or a deadlock: with an epoch that is safe whether or not the COMMIT arrived. Without one (no checkpoints) rows may come twice. */
static wr_status apply(pg_sink *s, uint64_t epoch, wr_str lines, wr_err *err) {
    int64_t until = wr_mono_us(s->conn.world) + s->conn.retry_us;
    wr_err  own = {0}, *e = err ? err : &own;
    wr_status status;
    while ((status = apply_once(s, epoch, lines, e)) != WR_OK)
        if (!db_try_again(s->conn.world, e, until)) return status;
    return s->refused.refuse ? db_refusals_tell(&s->refused, s->codec, lines, err) : WR_OK;
}

/* ---- the sink ---- */

static wr_status sink_put(staged_sink *base, const wr_batch *batch, wr_err *err) {
    pg_sink *s = (pg_sink *)base;
    if (s->refused.refuse) change_log_put_rows(&base->log, s->codec, batch, &s->row);
    for (uint32_t i = 0; i < wr_batch_live(batch) && !s->refused.refuse; i++) WR_TRY(put_line(s, batch, wr_batch_row(batch, i), &base->log.bytes, err));
    return WR_OK;
}
static wr_status sink_flush(staged_sink *base, wr_str log, wr_err *err) { return apply((pg_sink *)base, 0, log, err); }
static void      sink_head(staged_sink *base, wr_sbuf *staged) { (void)staged, ((pg_sink *)base)->seq = 0; }

/* What was staged before 'on-error' was changed: as it was then. Encoded rows without anybody to tell of refused ones: the first one is an error. */
static wr_status stop_at_row(void *arg, const wr_batch *batch, uint32_t row, uint64_t number, const char *code, const char *reason, wr_err *err) {
    (void)batch, (void)row, (void)number;
    return wr_fail(err, WR_DATA, code, "table '%.*s': a row was refused: %s", WR_FMT(((pg_sink *)arg)->conn.name), reason);
}

static wr_status sink_commit(staged_sink *base, uint64_t epoch, wr_str staged, wr_err *err) {
    pg_sink         *s = (pg_sink *)base;
    const wr_refuse *refuse = s->refused.refuse, stop = {s, stop_at_row};
    if (base->committing != base->form) s->refused.refuse = base->committing == STAGED_ROWS ? &stop : NULL;
    wr_status status = apply(s, epoch, staged, err);
    s->refused.refuse = refuse;
    return status;
}

static wr_status sink_fresh(staged_sink *base, wr_err *err) {
    pg_sink *s = (pg_sink *)base;
    WR_TRY(pg_connect(&s->conn, err));
    return store_epoch(s, 0, err);
}

static wr_status sink_look(staged_sink *base, uint64_t epoch, wr_err *err) {
    pg_sink *s = (pg_sink *)base;
    uint64_t have;
    WR_TRY(pg_connect(&s->conn, err));
    WR_TRY(pg_run(&s->conn, "BEGIN", "begin a transaction", err));
    wr_status status = stored_epoch(s, &have, err);
    (void)pg_run(&s->conn, "ROLLBACK", "roll back", NULL);
    WR_TRY(status);
    return have > epoch ? db_newer_epoch("the database", s->base.table, have, epoch, err) : WR_OK;
}

static void sink_free(staged_sink *base) {
    pg_sink *s = (pg_sink *)base;
    pg_close(&s->conn);
    wr_arr_free(&s->refused.list);
    wr_sbuf_free(&s->row);
    wr_sbuf_free(&s->lines);
    wr_sbuf_free(&s->scratch);
}
static const staged_vt sink_vt = {.put = sink_put, .flush = sink_flush, .commit = sink_commit, .head = sink_head, .fresh = sink_fresh, .look = sink_look, .free = sink_free};

/* Asked for first: CREATE needs a right that a job may lack where the table is there already. */
static wr_status make_own(pg_sink *s, const char *table, const char *columns, wr_err *err) {
    PGresult   *r;
    wr_sbuf     sql = {0};
    const char *values[] = {table};
    WR_TRY(pg_query(&s->conn, "SELECT to_regclass($1) IS NOT NULL", 1, values, "look for a table of weir's own", &r, err));
    bool there = pg.getvalue(r, 0, 0)[0] == 't';
    pg.clear(r);
    if (there) return WR_OK;
    wr_sbuf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s (%s)", table, columns);
    wr_status status = pg_run(&s->conn, sql.at, "make a table of weir's own", err);
    wr_sbuf_free(&sql);
    return status;
}

/* Everything that can be wrong with the table is found before the first row: its columns, its key, the right to write. */
static wr_status try_table(pg_sink *s, bool create, wr_err *err) {
    wr_sbuf sql = {0};
    WR_TRY(pg_connect(&s->conn, err));
    WR_TRY(make_own(s, "weir_epoch", "job text NOT NULL, sink text NOT NULL, epoch bigint NOT NULL, PRIMARY KEY (job, sink)", err));
    if (s->refused.refuse) WR_TRY(make_own(s, "weir_refused", DB_REFUSED_COLUMNS("text", "bigint"), err));
    if (create) WR_TRY(create_table(s, err));
    wr_sbuf_addz(&sql, "EXPLAIN INSERT INTO ");
    wr_sbuf_printf(&sql, "%s (", s->conn.table);
    db_put_columns(&s->columns, &sql);
    wr_sbuf_addz(&sql, ") SELECT ");
    db_put_columns(&s->columns, &sql);
    wr_sbuf_printf(&sql, " FROM %s WHERE false", s->conn.table);
    if (s->columns.n_key) {
        wr_sbuf_addz(&sql, " ON CONFLICT (");
        db_put_keys(&s->columns, &sql);
        wr_sbuf_addz(&sql, ") DO NOTHING");
    }
    wr_status status = pg_run(&s->conn, sql.at, "write to the table", err);
    wr_sbuf_free(&sql);
    return status;
}

wr_status pg_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    bool create;
    *out = NULL;
    if (!wr_option_bool(&t->options, jdbc_specs, "create-table", &create, ctx->diags)) return WR_USER;
    pg_sink *s = wr_calloc(1, sizeof *s);
    *s = (pg_sink){.job = wr_option_string(&t->options, jdbc_specs, "sink.job"), .refused = {.refuse = ctx->refuse, .schema = t->schema}};
    staged_sink_init(&s->base, &sink_vt, t, ctx);
    s->base.form = ctx->refuse ? STAGED_ROWS : STAGED_LINES;
    s->base.n_forms = STAGED_ROWS;
    s->columns = db_columns_of(t, s->base.arena);
    wr_type *types = wr_new_n(s->base.arena, wr_type, t->schema->n + 1);
    for (uint32_t c = 0; c < t->schema->n; c++) types[c] = t->schema->fields[c].type;
    s->codec = wr_rowcodec_new(s->base.arena, types, t->schema->n);
    wr_status status = pg_open(&s->conn, t, s->base.arena, ctx, err);
    if (status == WR_OK) {
        make_statements(s);
        status = try_table(s, create, err);
    }
    return staged_sink_made(&s->base, status, out);
}
