/* connect/mysql/sink.c: the sink 'jdbc' for a table of MySQL or MariaDB: upserted by PRIMARY KEY or appended to, exactly once.
 *
 * Idea       changes are kept as encoded rows. prepare hands them to the checkpoint as staged bytes; commit writes them in pieces, each by one INSERT of many
 *            rows, and the epoch's number to weir_epoch in the same transaction: so doing it again, after a lost connection or a crash, does nothing. With a
 *            key only the last change of each key in a piece counts: one DELETE for those that are gone, one INSERT ... ON DUPLICATE KEY UPDATE for the rest.
 * Refused    where the table's 'on-error' lets the job go on, each piece stands behind a savepoint. A piece that the server refuses for what is in it is halved
 *            until one row is left, which is put aside; the rest commits. weir_refused keeps which rows those were.
 * Keys       ON DUPLICATE KEY UPDATE goes by any unique key. Where the table has others, the key columns are assigned too: to themselves if the row that was
 *            found is the right one, else to NULL, which they do not take.
 * Invariant  weir_epoch.epoch = E  <=>  the changes of all epochs up to E are in the table. That needs an engine with transactions (InnoDB).
 * Fresh      a job that begins anew forgets the epoch of an earlier one before its first: a crash in it, or an answer that is lost, finds none but its own.
 * State      the changes since the last prepare or flush, charged to the account.
 * Thread     one worker; the connection is its own.                                                                            */
#include "base/hash.h"
#include "connect/mysql/lib.h"
#include "connect/staged.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_ROWS = 2048, PIECE_BYTES = 256 << 10, N_SLOTS = 2 * PIECE_ROWS };
#define OWN_TABLE ") CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ENGINE = InnoDB"

typedef struct my_sink {
    staged_sink  base;           /* its log: encoded rows */
    db_columns   columns;
    wr_str       job;
    my_conn      conn;
    bool         guarded;        /* the table has unique keys besides ours */
    const char  *insert, *conflict, *remove;
    wr_sbuf      scratch, row, sql, gone;
    wr_rowcodec *codec, *key_codec;
    db_refusals  refused;
    uint32_t     slots[N_SLOTS]; /* of the rows of a piece by key: row + 1 */
    uint64_t     hashes[PIECE_ROWS];
} my_sink;

/* ---- statements ---- */

static const char *keep(my_sink *s, wr_sbuf *sql) {
    const char *z = wr_arena_strndup(s->base.arena, sql->at, sql->len);
    wr_sbuf_clear(sql);
    return z;
}

static void put_assignment(wr_sbuf *sql, wr_str name, bool *first) {
    wr_sbuf_addz(sql, *first ? " ON DUPLICATE KEY UPDATE " : ", ");
    *first = false;
    db_put_quoted(sql, name, '`');
    wr_sbuf_addz(sql, " = ");
}
static void put_new(wr_sbuf *sql, wr_str name) {
    wr_sbuf_addz(sql, "VALUES(");
    db_put_quoted(sql, name, '`');
    wr_sbuf_addc(sql, ')');
}

static void put_conflict(my_sink *s, wr_sbuf *sql) {
    const wr_field *fields = s->columns.schema->fields;
    bool            first = true;
    wr_str          lead = fields[s->columns.key[0]].name;
    if (s->guarded) {
        put_assignment(sql, lead, &first);
        for (uint32_t k = 0; k < s->columns.n_key; k++) {
            wr_sbuf_addz(sql, k ? " AND " : "IF(");
            db_put_quoted(sql, fields[s->columns.key[k]].name, '`');
            wr_sbuf_addz(sql, " <=> ");
            put_new(sql, fields[s->columns.key[k]].name);
        }
        wr_sbuf_addz(sql, ", ");
        put_new(sql, lead);
        wr_sbuf_addz(sql, ", NULL)");
    }
    for (uint32_t c = 0; c < s->columns.schema->n; c++) {
        if (db_is_key(&s->columns, c)) continue;
        put_assignment(sql, fields[c].name, &first);
        put_new(sql, fields[c].name);
    }
    if (!first) return;
    put_assignment(sql, lead, &first); /* nothing but the key */
    db_put_quoted(sql, lead, '`');
}

static void make_statements(my_sink *s) {
    wr_sbuf sql = {0};
    wr_sbuf_printf(&sql, "INSERT INTO %s (", s->conn.table);
    db_put_columns(&s->columns, &sql);
    wr_sbuf_addz(&sql, ") VALUES ");
    s->insert = keep(s, &sql);
    s->conflict = s->remove = "";
    if (s->columns.n_key) {
        put_conflict(s, &sql);
        s->conflict = keep(s, &sql);
        wr_sbuf_printf(&sql, "DELETE FROM %s WHERE (", s->conn.table);
        db_put_keys(&s->columns, &sql);
        wr_sbuf_addz(&sql, ") IN (");
        s->remove = keep(s, &sql);
    }
    wr_sbuf_free(&sql);
}

/* Key columns of a type that can be indexed; texts that differ are different, by case and by spaces at the end too. */
static wr_status create_table(my_sink *s, wr_err *err) {
    enum { KEY_CHARS = 255 };
    wr_schema schema = *s->columns.schema;
    wr_sbuf   sql = {0};
    wr_field *fields = wr_new_n(s->base.arena, wr_field, schema.n + 1);
    memcpy(fields, s->columns.schema->fields, schema.n * sizeof *fields);
    schema.fields = fields;
    for (uint32_t k = 0; k < s->columns.n_key; k++) {
        wr_type *t = &fields[s->columns.key[k]].type;
        if (wr_type_is_string(*t) || wr_type_is_binary(*t)) t->prec = WR_MIN(t->prec, KEY_CHARS);
    }
    db_columns columns = s->columns;
    columns.schema = &schema;
    wr_sbuf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s", s->conn.table);
    db_put_table(&columns, my_put_type, &sql);
    wr_sbuf_printf(&sql, " CHARACTER SET utf8mb4 COLLATE %s ENGINE = InnoDB", s->conn.mariadb ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin");
    wr_status status = my_run(&s->conn, sql.at, "create the table", err);
    wr_sbuf_free(&sql);
    return status;
}

/* ---- weir's own tables ---- */

static void put_owner(my_sink *s, wr_sbuf *sql) {
    wr_sbuf_addz(sql, " WHERE job = ");
    my_put_string(sql, s->job);
    wr_sbuf_addz(sql, " AND sink = ");
    my_put_string(sql, s->conn.name);
}

static wr_status stored_epoch(my_sink *s, uint64_t *epoch, wr_err *err) {
    MYSQL_RES *r;
    wr_sbuf_clear(&s->sql);
    wr_sbuf_addz(&s->sql, "SELECT epoch FROM weir_epoch");
    put_owner(s, &s->sql);
    wr_sbuf_addz(&s->sql, " FOR UPDATE");
    WR_TRY(my_query(&s->conn, s->sql.at, "read weir_epoch", &r, err));
    MYSQL_ROW row = my.fetch_row_(r);
    *epoch = row ? strtoull(row[0], NULL, 10) : 0;
    my.free_result_(r);
    return WR_OK;
}

static wr_status store_epoch(my_sink *s, uint64_t epoch, wr_err *err) {
    wr_sbuf_clear(&s->sql);
    wr_sbuf_addz(&s->sql, "INSERT INTO weir_epoch (job, sink, epoch) VALUES (");
    my_put_string(&s->sql, s->job);
    wr_sbuf_addz(&s->sql, ", ");
    my_put_string(&s->sql, s->conn.name);
    wr_sbuf_printf(&s->sql, ", %" PRIu64 ") ON DUPLICATE KEY UPDATE epoch = VALUES(epoch)", epoch);
    return my_run_bytes(&s->conn, wr_sbuf_str(&s->sql), "write weir_epoch", err);
}

/* In place of those of the epoch before. */
static wr_status store_refused(my_sink *s, uint64_t epoch, wr_err *err) {
    wr_sbuf_clear(&s->sql);
    wr_sbuf_addz(&s->sql, "DELETE FROM weir_refused");
    put_owner(s, &s->sql);
    WR_TRY(my_run_bytes(&s->conn, wr_sbuf_str(&s->sql), "write weir_refused", err));
    for (uint32_t i = 0; i < s->refused.list.n;) {
        wr_sbuf_clear(&s->sql);
        wr_sbuf_addz(&s->sql, "INSERT INTO weir_refused (job, sink, epoch, row_index, code, reason) VALUES ");
        for (bool first = true; i < s->refused.list.n && s->sql.len < PIECE_BYTES; i++, first = false) {
            const db_refusal *one = &s->refused.list.at[i];
            wr_sbuf_addz(&s->sql, first ? "(" : ", (");
            my_put_string(&s->sql, s->job);
            wr_sbuf_addz(&s->sql, ", ");
            my_put_string(&s->sql, s->conn.name);
            wr_sbuf_printf(&s->sql, ", %" PRIu64 ", %" PRIu64 ", ", epoch, one->row);
            my_put_string(&s->sql, wr_str_of(one->code));
            wr_sbuf_addz(&s->sql, ", ");
            my_put_string(&s->sql, wr_str_of(one->reason));
            wr_sbuf_addc(&s->sql, ')');
        }
        WR_TRY(my_run_bytes(&s->conn, wr_sbuf_str(&s->sql), "write weir_refused", err));
    }
    return WR_OK;
}

/* The epoch is in the table already: which of its rows are not? */
static wr_status load_refused(my_sink *s, uint64_t epoch, wr_err *err) {
    MYSQL_RES *r;
    wr_sbuf_clear(&s->sql);
    wr_sbuf_addz(&s->sql, "SELECT row_index, code, reason FROM weir_refused");
    put_owner(s, &s->sql);
    wr_sbuf_printf(&s->sql, " AND epoch = %" PRIu64 " ORDER BY row_index", epoch);
    WR_TRY(my_query(&s->conn, s->sql.at, "read weir_refused", &r, err));
    for (MYSQL_ROW row; (row = my.fetch_row_(r));) db_refusals_add(&s->refused, strtoull(row[0], NULL, 10), row[1], wr_str_of(row[2]));
    my.free_result_(r);
    return WR_OK;
}

/* ---- a piece ---- */

/* keep[row]: no later row of [from, to) has its key. */
static void find_last(my_sink *s, const wr_batch *b, uint32_t from, uint32_t to, bool *last) {
    memset(s->slots, 0, sizeof s->slots);
    for (uint32_t row = to; row-- > from;) {
        wr_sbuf_clear(&s->row);
        wr_rowcodec_put(s->key_codec, b, s->columns.key, row, &s->row);
        uint64_t hash = wr_hash_bytes(s->row.at, s->row.len);
        bool     seen = false;
        s->hashes[row] = hash;
        uint32_t at = (uint32_t)(hash % N_SLOTS);
        for (; s->slots[at] && !seen; at = (at + 1) % N_SLOTS) {
            uint32_t other = s->slots[at] - 1;
            if (s->hashes[other] != hash) continue;
            wr_sbuf_clear(&s->gone);
            wr_rowcodec_put(s->key_codec, b, s->columns.key, other, &s->gone);
            seen = wr_str_eq(wr_sbuf_str(&s->row), wr_sbuf_str(&s->gone));
        }
        last[row] = !seen;
        if (!seen) s->slots[at] = row + 1;
    }
    wr_sbuf_clear(&s->gone);
}

static wr_status put_value(my_sink *s, const wr_batch *b, uint32_t c, uint32_t row, wr_sbuf *out, wr_err *err) {
    if (my_put_value(out, &b->cols[c], row, &s->scratch)) return WR_OK;
    wr_str    name = s->columns.schema->fields[c].name;
    wr_status status = wr_fail(err, WR_DATA, "22003", "table '%.*s': column '%.*s' has NaN or an infinity, which MySQL cannot hold", WR_FMT(s->conn.name), WR_FMT(name));
    wr_err_hint(err, "write NULL in its place, or the text of it");
    if (err) err->at = s->conn.at;
    return status;
}

static wr_status put_row(my_sink *s, const wr_batch *b, uint32_t row, wr_err *err) {
    wr_sbuf_addz(&s->sql, s->sql.len ? ", (" : "(");
    for (uint32_t c = 0; c < s->columns.schema->n; c++) {
        if (c) wr_sbuf_addz(&s->sql, ", ");
        WR_TRY(put_value(s, b, c, row, &s->sql, err));
    }
    wr_sbuf_addc(&s->sql, ')');
    return WR_OK;
}

static wr_status put_key(my_sink *s, const wr_batch *b, uint32_t row, wr_err *err) {
    if (s->gone.len) wr_sbuf_addz(&s->gone, ", ");
    wr_sbuf_addc(&s->gone, '(');
    for (uint32_t k = 0; k < s->columns.n_key; k++) {
        if (k) wr_sbuf_addz(&s->gone, ", ");
        WR_TRY(put_value(s, b, s->columns.key[k], row, &s->gone, err));
    }
    wr_sbuf_addc(&s->gone, ')');
    return WR_OK;
}

static wr_status send(my_sink *s, const char *begin, wr_sbuf *rows, const char *end, const char *doing, wr_err *err) {
    if (!rows->len) return WR_OK;
    wr_sbuf_clear(&s->scratch);
    wr_sbuf_addz(&s->scratch, begin);
    wr_sbuf_add(&s->scratch, rows->at, rows->len);
    wr_sbuf_addz(&s->scratch, end);
    return my_run_bytes(&s->conn, wr_sbuf_str(&s->scratch), doing, err);
}

static wr_status send_rows(my_sink *s, const wr_batch *b, uint32_t from, uint32_t to, wr_err *err) {
    bool last[PIECE_ROWS];
    wr_sbuf_clear(&s->sql);
    wr_sbuf_clear(&s->gone);
    if (s->columns.n_key) find_last(s, b, from, to, last);
    for (uint32_t row = from; row < to; row++) {
        if (!s->columns.n_key) WR_TRY(put_row(s, b, row, err));
        else if (!last[row]) continue;
        else if (wr_kind_adds(wr_batch_kind(b, row))) WR_TRY(put_row(s, b, row, err));
        else WR_TRY(put_key(s, b, row, err));
    }
    WR_TRY(send(s, s->remove, &s->gone, ")", "delete rows", err));
    wr_status status = send(s, s->insert, &s->sql, s->conflict, "write rows", err);
    if (status != WR_OK && err && s->guarded && s->conn.number == 1048 && s->columns.n_key)
        wr_err_detail(err, "or: another unique key of the table has a value of the row already");
    return status;
}

/* Does the server say it of the row itself? Data, constraints, what a trigger raises, a view's check, a row that is too large. */
static bool of_row(const my_sink *s, const wr_err *e) {
    static const unsigned    numbers[] = {1264, 1265, 1292, 1366, 1369, 3819};
    static const char *const classes[] = {"22", "23", "44", "45", "54"};
    for (size_t i = 0; i < WR_COUNT_OF(numbers); i++)
        if (s->conn.number == numbers[i]) return true;
    for (size_t i = 0; i < WR_COUNT_OF(classes); i++)
        if (!strncmp(e->code, classes[i], 2)) return true;
    return false;
}

static wr_status apply_halves(my_sink *s, const wr_batch *b, uint32_t from, uint32_t to, uint64_t first, wr_err *err);

/* Rows [from, to) of a batch that begins at row `first` of the log. As deep as the logarithm of PIECE_ROWS. */
static wr_status apply_rows(my_sink *s, const wr_batch *b, uint32_t from, uint32_t to, uint64_t first, wr_err *err) {
    wr_err why = {0};
    bool   behind = s->refused.refuse != NULL; /* a savepoint */
    if (behind) WR_TRY(my_run(&s->conn, "SAVEPOINT weir_rows", "set a savepoint", err));
    s->conn.number = 0;
    wr_status status = send_rows(s, b, from, to, &why);
    if (!behind) {
        if (status != WR_OK && to - from > 1 && !strcmp(why.code, TOO_LARGE)) return apply_halves(s, b, from, to, first, err);
        if (status != WR_OK && err) *err = why;
        return status;
    }
    if (status == WR_OK) return my_run(&s->conn, "RELEASE SAVEPOINT weir_rows", "write rows", err);
    if (!s->conn.c || why.retriable || !of_row(s, &why)) {
        if (err) *err = why;
        return status;
    }
    WR_TRY(my_run(&s->conn, "ROLLBACK TO SAVEPOINT weir_rows", "go back to a savepoint", err));
    if (to - from == 1) {
        const char *said = strstr(why.message, "in MySQL: ");
        wr_sbuf     reason = {0};
        wr_sbuf_printf(&reason, "%s%s%s", said ? said + 10 : why.message, why.detail[0] ? "; " : "", why.detail);
        db_refusals_add(&s->refused, first + from, why.code, wr_sbuf_str(&reason));
        wr_sbuf_free(&reason);
        return WR_OK;
    }
    return apply_halves(s, b, from, to, first, err);
}
static wr_status apply_halves(my_sink *s, const wr_batch *b, uint32_t from, uint32_t to, uint64_t first, wr_err *err) {
    uint32_t middle = from + (to - from) / 2;
    WR_TRY(apply_rows(s, b, from, middle, first, err));
    return apply_rows(s, b, middle, to, first, err);
}

static wr_status apply_log(my_sink *s, wr_str log, wr_err *err) {
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    for (uint64_t first = 0; in.at < in.end;) {
        wr_batch *b = change_log_take_rows(&in, s->codec, s->columns.schema, PIECE_ROWS, PIECE_BYTES);
        if (!b) return staged_damaged(&s->base, err);
        wr_status status = apply_rows(s, b, 0, b->n_rows, first, err);
        first += b->n_rows;
        wr_batch_unref(b);
        WR_TRY(status);
    }
    return WR_OK;
}

/* ---- a transaction ---- */

/* Never left open: the next START TRANSACTION would commit it. */
static void roll_back(my_sink *s) {
    if (s->conn.c && my_run(&s->conn, "ROLLBACK", "roll back", NULL) != WR_OK) my_close(&s->conn);
}

/* The changes and, if epoch != 0, its number. Does nothing if the database has the epoch already. */
static wr_status apply_once(my_sink *s, uint64_t epoch, wr_str log, wr_err *err) {
    uint64_t have = 0;
    WR_TRY(my_connect(&s->conn, err));
    WR_TRY(my_run(&s->conn, "START TRANSACTION", "begin a transaction", err));
    wr_status status = epoch ? stored_epoch(s, &have, err) : WR_OK;
    s->refused.list.n = 0;
    if (status == WR_OK && (!epoch || have < epoch)) {
        status = apply_log(s, log, err);
        if (status == WR_OK && epoch) status = store_epoch(s, epoch, err);
        if (status == WR_OK && epoch && s->refused.refuse) status = store_refused(s, epoch, err);
    } else if (status == WR_OK && s->refused.refuse) {
        status = load_refused(s, epoch, err);
    }
    if (status == WR_OK) return my_run(&s->conn, "COMMIT", "commit", err);
    roll_back(s);
    return status;
}

/* Again after a lost connection or a deadlock: with an epoch that is safe whether or not the COMMIT arrived. Without one (no checkpoints) rows may come twice. */
static wr_status apply(my_sink *s, uint64_t epoch, wr_str log, wr_err *err) {
    int64_t until = wr_mono_us(s->conn.world) + s->conn.retry_us;
    wr_err  own = {0}, *e = err ? err : &own;
    wr_status status;
    while ((status = apply_once(s, epoch, log, e)) != WR_OK)
        if (!db_try_again(s->conn.world, e, until)) return status;
    return s->refused.refuse ? db_refusals_tell(&s->refused, s->codec, log, err) : WR_OK;
}

/* ---- the sink ---- */

static wr_status sink_put(staged_sink *base, const wr_batch *batch, wr_err *err) {
    my_sink *s = (my_sink *)base;
    change_log_put_rows(&base->log, s->codec, batch, &s->row);
    return (void)err, WR_OK;
}
static wr_status sink_flush(staged_sink *base, wr_str log, wr_err *err) { return apply((my_sink *)base, 0, log, err); }
static wr_status sink_commit(staged_sink *base, uint64_t epoch, wr_str staged, wr_err *err) { return apply((my_sink *)base, epoch, staged, err); }

static wr_status sink_fresh(staged_sink *base, wr_err *err) {
    my_sink *s = (my_sink *)base;
    WR_TRY(my_connect(&s->conn, err));
    return store_epoch(s, 0, err);
}

static wr_status sink_look(staged_sink *base, uint64_t epoch, wr_err *err) {
    my_sink *s = (my_sink *)base;
    uint64_t have;
    WR_TRY(my_connect(&s->conn, err));
    WR_TRY(my_run(&s->conn, "START TRANSACTION", "begin a transaction", err));
    wr_status status = stored_epoch(s, &have, err);
    roll_back(s);
    WR_TRY(status);
    return have > epoch ? db_newer_epoch("the database", s->base.table, have, epoch, err) : WR_OK;
}

static void sink_free(staged_sink *base) {
    my_sink *s = (my_sink *)base;
    my_close(&s->conn);
    wr_arr_free(&s->refused.list);
    wr_sbuf_free(&s->row);
    wr_sbuf_free(&s->sql);
    wr_sbuf_free(&s->gone);
    wr_sbuf_free(&s->scratch);
}
static const staged_vt sink_vt = {.put = sink_put, .flush = sink_flush, .commit = sink_commit, .fresh = sink_fresh, .look = sink_look, .free = sink_free};

/* ---- the beginning ---- */

/* Asked for first: CREATE needs a right that a job may lack where the table is there already. */
static wr_status make_own(my_sink *s, const char *table, const char *columns, wr_err *err) {
    my_conn  own = s->conn; /* the same connection, looking at another table */
    my_shape shape;
    wr_sbuf  sql = {0};
    own.schema = own.database;
    own.plain = table;
    wr_status status = my_look(&own, &s->columns, &shape, err);
    s->conn.c = own.c;
    s->conn.number = own.number;
    WR_TRY(status);
    if (shape.there && !shape.transactional) {
        status = wr_fail(err, WR_USER, "0A000", "table '%.*s': the table %s is of the engine %s, which has no transactions", WR_FMT(s->conn.name), table, shape.engine);
        wr_err_hint(err, "ALTER TABLE %s ENGINE = InnoDB", table);
        return status;
    }
    if (shape.there) return WR_OK;
    wr_sbuf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s (%s" OWN_TABLE, table, columns);
    status = my_run(&s->conn, sql.at, "make a table of weir's own", err);
    wr_sbuf_free(&sql);
    return status;
}

WR_COLD static wr_status unfit(my_sink *s, const my_shape *shape, wr_err *err) {
    wr_sbuf   keys = {0};
    wr_status status = WR_OK;
    db_put_keys(&s->columns, &keys);
    if (shape->view) {
        status = wr_fail(err, WR_USER, "0A000", "table '%.*s': %s is a view: it is not written to", WR_FMT(s->conn.name), s->conn.table);
        wr_err_hint(err, "name the table behind it in 'table-name'");
    } else if (!shape->transactional) {
        status = wr_fail(err, WR_USER, "0A000", "table '%.*s': %s is of the engine %s, which has no transactions: rows could come twice or get lost", WR_FMT(s->conn.name), s->conn.table, shape->engine);
        wr_err_hint(err, "ALTER TABLE %s ENGINE = InnoDB", s->conn.table);
    } else if (!shape->has_key) {
        status = wr_fail(err, WR_USER, "42P10", "table '%.*s': %s has no PRIMARY KEY or UNIQUE constraint on (%s)", WR_FMT(s->conn.name), s->conn.table, keys.at);
        wr_err_hint(err, "ALTER TABLE %s ADD PRIMARY KEY (%s); or another PRIMARY KEY in the script", s->conn.table, keys.at);
    } else {
        status = wr_fail(err, WR_USER, "0A000", "table '%.*s': %s has other unique keys besides (%s), whose columns may be NULL", WR_FMT(s->conn.name), s->conn.table, keys.at);
        wr_err_hint(err, "make the columns of the key NOT NULL: then a row cannot be written in place of another one");
    }
    wr_sbuf_free(&keys);
    if (err) err->at = s->conn.at;
    return status;
}

/* Everything that can be wrong with the table is found before the first row: its engine, columns, key, the right to write. */
static wr_status try_table(my_sink *s, bool create, wr_err *err) {
    my_shape shape;
    wr_sbuf  sql = {0};
    WR_TRY(my_connect(&s->conn, err));
    WR_TRY(make_own(s, "weir_epoch", "job varchar(255) NOT NULL, sink varchar(255) NOT NULL, epoch bigint NOT NULL, PRIMARY KEY (job, sink)", err));
    if (s->refused.refuse) WR_TRY(make_own(s, "weir_refused", DB_REFUSED_COLUMNS("varchar(300)", "bigint") ", KEY (job(100), sink(100))", err));
    if (create) WR_TRY(create_table(s, err));
    WR_TRY(my_look(&s->conn, &s->columns, &shape, err));
    if (shape.there && (shape.view || !shape.transactional || (s->columns.n_key && (!shape.has_key || (shape.other_keys && shape.nullable_key))))) return unfit(s, &shape, err);
    s->guarded = s->columns.n_key && shape.other_keys;
    wr_sbuf_printf(&sql, "EXPLAIN INSERT INTO %s (", s->conn.table);
    db_put_columns(&s->columns, &sql);
    wr_sbuf_addz(&sql, ") SELECT ");
    db_put_columns(&s->columns, &sql);
    wr_sbuf_printf(&sql, " FROM %s WHERE false", s->conn.table);
    wr_status status = my_run(&s->conn, sql.at, "write to the table", err);
    wr_sbuf_clear(&sql);
    wr_sbuf_printf(&sql, "EXPLAIN DELETE FROM %s WHERE false", s->conn.table);
    if (status == WR_OK && s->columns.n_key) status = my_run(&s->conn, sql.at, "delete from the table", err);
    wr_sbuf_free(&sql);
    return status;
}

wr_status mysql_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    bool create;
    *out = NULL;
    if (!wr_option_bool(&t->options, jdbc_specs, "create-table", &create, ctx->diags)) return WR_USER;
    my_sink *s = wr_calloc(1, sizeof *s);
    *s = (my_sink){.job = option_text(t, jdbc_specs, "sink.job"), .refused = {.refuse = ctx->refuse, .schema = t->schema}};
    staged_sink_init(&s->base, &sink_vt, t, ctx);
    s->columns = my_columns_of(t, s->base.arena);
    wr_type *types = wr_new_n(s->base.arena, wr_type, t->schema->n + 1), *keys = wr_new_n(s->base.arena, wr_type, t->n_key + 1);
    for (uint32_t c = 0; c < t->schema->n; c++) types[c] = t->schema->fields[c].type;
    for (uint32_t k = 0; k < t->n_key; k++) keys[k] = types[t->key[k]];
    s->codec = wr_rowcodec_new(s->base.arena, types, t->schema->n);
    s->key_codec = wr_rowcodec_new(s->base.arena, keys, t->n_key);
    wr_status status = my_open(&s->conn, t, s->base.arena, ctx, err);
    if (status == WR_OK) status = try_table(s, create, err);
    if (status == WR_OK) make_statements(s);
    return staged_sink_made(&s->base, status, out);
}
