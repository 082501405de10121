/* connect/sqlite.c: the sink 'sqlite': a table of an SQLite database, upserted by PRIMARY KEY or appended to, exactly once.
 *
 * Idea       changes are kept as encoded rows. prepare hands them to the checkpoint as staged bytes; commit applies them and writes the epoch's
 *            number to weir_epoch in one transaction: so doing it again does nothing. Without checkpoints flush applies them.
 * Invariants weir_epoch.epoch = E  <=>  the changes of all epochs up to E are in the table. synchronous = FULL: a commit that was
 *            reported is on disk (with NORMAL several epochs could be lost at once, and only the last one is kept by the checkpoint).
 * Fresh      a job that begins anew (recover of epoch 0) forgets the epoch of an earlier one before its first: a crash in it finds none but its own.
 * Types      BOOLEAN 0/1; integers INTEGER; FLOAT, DOUBLE REAL (NaN as text: SQLite would make it NULL); DECIMAL TEXT, all digits; DATE,
 *            TIME, TIMESTAMP TEXT in SQL's form, TIMESTAMP_LTZ in UTC with Z; BYTES BLOB; ARRAY, MAP, ROW TEXT as JSON.
 * State      the changes since the last prepare or flush, charged to the account.
 * Thread     one worker; the database handle is its own.                                                                */
#include "connect/sqlite_parts.h"
#include "connect/staged.h"
#include "type/decimal.h"
#include "type/rowcodec.h"
#include <stdio.h>

enum { SCRATCH_ROWS = 512 };

typedef struct sqlite_sink {
    staged_sink      base;           /* its log: encoded rows */
    db_columns       columns;
    wr_str           job;            /* in weir_epoch, beside base.table */
    char            *path, *table;
    int64_t          busy_ms;
    sqlite3         *db;
    sqlite3_stmt    *put, *del;
    wr_rowcodec     *codec;
    wr_batch        *scratch;
    uint32_t         n_scratch;      /* rows decoded into it */
    wr_sbuf          row, text;
    db_refusals      refused;
} sqlite_sink;

/* ---- errors ---- */

WR_COLD static wr_status fail_sqlite(sqlite_sink *s, int code, const char *what, wr_err *err) {
    int         kind = code & 0xFF;
    const char *state = kind == SQLITE_FULL ? "53100" : kind == SQLITE_BUSY || kind == SQLITE_LOCKED ? "55P03" : kind == SQLITE_CONSTRAINT ? "23000" : "58030";
    wr_status   status = wr_fail(err, WR_IO, state, "cannot %s in the SQLite database '%s': %s", what, s->path, s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
    if (!err) return status;
    wr_err_detail(err, "it is the output of the table '%.*s'", WR_FMT(s->base.table));
    switch (kind) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        err->retriable = true;
        wr_err_hint(err, "another process holds a write lock; waited %.1f s ('sink.busy-timeout'). 'fuser -v %s' shows who has it open", (double)s->busy_ms / 1000, s->path);
        break;
    case SQLITE_FULL: wr_err_hint(err, "free space on the file system that holds '%s'", s->path); break;
    case SQLITE_CONSTRAINT: wr_err_hint(err, "the table '%s' has a constraint that a row breaks; the whole transaction was undone", s->table); break;
    case SQLITE_CANTOPEN: wr_err_hint(err, "check that the directory exists and can be written to"); break;
    case SQLITE_READONLY: wr_err_hint(err, "check the permissions of '%s' and of its directory", s->path); break;
    case SQLITE_NOTADB: wr_err_hint(err, "the file is there but is not an SQLite database"); break;
    default: break;
    }
    return status;
}

static wr_status run(sqlite_sink *s, const char *sql, const char *what, wr_err *err) {
    int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? WR_OK : fail_sqlite(s, code, what, err);
}

/* ---- statements ---- */

static const char *column_type(wr_type t) {
    switch (t.id) {
    case WR_T_BOOLEAN:
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_BIGINT:
    case WR_T_INTERVAL_YM:
    case WR_T_INTERVAL_DS: return "INTEGER";
    case WR_T_FLOAT:
    case WR_T_DOUBLE: return "REAL";
    case WR_T_BITMAP:
    case WR_T_BINARY:
    case WR_T_VARBINARY: return "BLOB";
    default: return "TEXT";
    }
}

void sqlite_put_type(wr_sbuf *sql, wr_type t) { wr_sbuf_addz(sql, column_type(t)); }

static wr_status create_table(sqlite_sink *s, wr_err *err) {
    wr_sbuf sql = {0};
    wr_sbuf_addz(&sql, "CREATE TABLE IF NOT EXISTS ");
    db_put_name(&sql, wr_str_of(s->table));
    db_put_table(&s->columns, sqlite_put_type, &sql);
    wr_status status = run(s, sql.at, "create the table", err);
    wr_sbuf_free(&sql);
    return status;
}

/* Every column must be there; the nearest name for one that is not. */
static wr_status check_table(sqlite_sink *s, wr_err *err) {
    sqlite3_stmt *st;
    wr_sbuf       sql = {0};
    WR_ARR(wr_str) names = {0};
    wr_sbuf_addz(&sql, "SELECT name FROM pragma_table_info(?1)");
    int code = sqlite3_prepare_v2(s->db, sql.at, -1, &st, NULL);
    wr_sbuf_free(&sql);
    if (code != SQLITE_OK) return fail_sqlite(s, code, "look at the table", err);
    sqlite3_bind_text(st, 1, s->table, -1, SQLITE_STATIC);
    while ((code = sqlite3_step(st)) == SQLITE_ROW) wr_arr_push(&names, wr_str_of(wr_arena_printf(s->base.arena, "%s", (const char *)sqlite3_column_text(st, 0))));
    sqlite3_finalize(st);
    wr_status status = code == SQLITE_DONE ? WR_OK : fail_sqlite(s, code, "look at the table", err);
    if (status == WR_OK && !names.n) {
        status = wr_fail(err, WR_IO, "42P01", "the SQLite database '%s' has no table '%s'", s->path, s->table);
        wr_err_hint(err, "'create-table' = 'true' makes it");
    }
    for (uint32_t c = 0; c < s->columns.schema->n && status == WR_OK; c++) {
        wr_str name = s->columns.schema->fields[c].name;
        bool   there = false;
        for (uint32_t i = 0; i < names.n; i++) there |= wr_str_ieq(names.at[i], name);
        if (there) continue;
        status = wr_fail(err, WR_IO, "42703", "the table '%s' in '%s' has no column '%.*s'", s->table, s->path, WR_FMT(name));
        int near = wr_nearest(name, names.at, names.n);
        if (near >= 0) wr_err_hint(err, "it has '%.*s'", WR_FMT(names.at[near]));
        else wr_err_hint(err, "the table was there before with other columns: drop it, or name another one with 'table'");
    }
    wr_arr_free(&names);
    return status;
}

static wr_status prepare_put(sqlite_sink *s, wr_err *err) {
    wr_sbuf sql = {0};
    wr_sbuf_addz(&sql, "INSERT INTO ");
    db_put_name(&sql, wr_str_of(s->table));
    wr_sbuf_addz(&sql, " (");
    db_put_columns(&s->columns, &sql);
    wr_sbuf_addz(&sql, ") VALUES (");
    for (uint32_t c = 0; c < s->columns.schema->n; c++) wr_sbuf_printf(&sql, "%s?%u", c ? ", " : "", c + 1);
    wr_sbuf_addz(&sql, ")");
    if (s->columns.n_key) db_put_conflict(&s->columns, &sql);
    int code = sqlite3_prepare_v3(s->db, sql.at, -1, SQLITE_PREPARE_PERSISTENT, &s->put, NULL);
    wr_sbuf_free(&sql);
    if (code == SQLITE_OK) return WR_OK;
    wr_status status = fail_sqlite(s, code, "prepare writing", err);
    if (s->columns.n_key) wr_err_hint(err, "the table '%s' needs a PRIMARY KEY or UNIQUE constraint on the columns of the SQL table's PRIMARY KEY", s->table);
    return status;
}

static wr_status prepare_delete(sqlite_sink *s, wr_err *err) {
    if (!s->columns.n_key) return WR_OK;
    wr_sbuf sql = {0};
    wr_sbuf_addz(&sql, "DELETE FROM ");
    db_put_name(&sql, wr_str_of(s->table));
    for (uint32_t k = 0; k < s->columns.n_key; k++) {
        wr_sbuf_addz(&sql, k ? " AND " : " WHERE ");
        db_put_name(&sql, s->columns.schema->fields[s->columns.key[k]].name);
        wr_sbuf_printf(&sql, " IS ?%u", k + 1);
    }
    int code = sqlite3_prepare_v3(s->db, sql.at, -1, SQLITE_PREPARE_PERSISTENT, &s->del, NULL);
    wr_sbuf_free(&sql);
    return code == SQLITE_OK ? WR_OK : fail_sqlite(s, code, "prepare deleting", err);
}

/* ---- rows that the table does not take ---- */

/* What SQLite says of the row itself: the statement was undone, the transaction goes on. NULL: something else is wrong. */
static const char *row_state(sqlite_sink *s, int code) {
    if (sqlite3_get_autocommit(s->db)) return NULL; /* a trigger rolled everything back */
    switch (code) {
    case SQLITE_CONSTRAINT_NOTNULL: return "23502";
    case SQLITE_CONSTRAINT_FOREIGNKEY: return "23503";
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID: return "23505";
    case SQLITE_CONSTRAINT_CHECK: return "23514";
    case SQLITE_CONSTRAINT_DATATYPE:
    case SQLITE_MISMATCH: return "22018";
    case SQLITE_TOOBIG: return "22001";
    default: return (code & 0xFF) == SQLITE_CONSTRAINT ? "23000" : NULL;
    }
}

static wr_status refused_step(sqlite_sink *s, sqlite3_stmt *st, wr_err *err) {
    int code = sqlite3_step(st);
    sqlite3_finalize(st);
    return code == SQLITE_DONE ? WR_OK : fail_sqlite(s, code, "write weir_refused", err);
}

static wr_status refused_statement(sqlite_sink *s, const char *sql, sqlite3_stmt **st, wr_err *err) {
    int code = sqlite3_prepare_v2(s->db, sql, -1, st, NULL);
    if (code != SQLITE_OK) return fail_sqlite(s, code, "use weir_refused", err);
    sqlite3_bind_text(*st, 1, s->job.ptr, (int)s->job.len, SQLITE_STATIC);
    sqlite3_bind_text(*st, 2, s->base.table.ptr, (int)s->base.table.len, SQLITE_STATIC);
    return WR_OK;
}

/* In place of those of the epoch before. */
static wr_status store_refused(sqlite_sink *s, uint64_t epoch, wr_err *err) {
    sqlite3_stmt *st;
    WR_TRY(refused_statement(s, "DELETE FROM weir_refused WHERE job = ?1 AND sink = ?2", &st, err));
    WR_TRY(refused_step(s, st, err));
    for (uint32_t i = 0; i < s->refused.list.n; i++) {
        const db_refusal *r = &s->refused.list.at[i];
        WR_TRY(refused_statement(s, "INSERT INTO weir_refused (job, sink, epoch, row_index, code, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &st, err));
        sqlite3_bind_int64(st, 3, (sqlite3_int64)epoch), sqlite3_bind_int64(st, 4, (sqlite3_int64)r->row);
        sqlite3_bind_text(st, 5, r->code, -1, SQLITE_STATIC), sqlite3_bind_text(st, 6, r->reason, -1, SQLITE_STATIC);
        WR_TRY(refused_step(s, st, err));
    }
    return WR_OK;
}

/* The epoch is in the table already: which of its rows are not? */
static wr_status load_refused(sqlite_sink *s, uint64_t epoch, wr_err *err) {
    sqlite3_stmt *st;
    int           code;
    WR_TRY(refused_statement(s, "SELECT row_index, code, reason FROM weir_refused WHERE job = ?1 AND sink = ?2 AND epoch = ?3 ORDER BY row_index", &st, err));
    sqlite3_bind_int64(st, 3, (sqlite3_int64)epoch);
    while ((code = sqlite3_step(st)) == SQLITE_ROW)
        db_refusals_add(&s->refused, (uint64_t)sqlite3_column_int64(st, 0), (const char *)sqlite3_column_text(st, 1), wr_str_of((const char *)sqlite3_column_text(st, 2)));
    sqlite3_finalize(st);
    return code == SQLITE_DONE ? WR_OK : fail_sqlite(s, code, "read weir_refused", err);
}

/* ---- applying changes ---- */

static int bind_nested(sqlite3_stmt *st, int at, const wr_vec *vec, uint32_t row, wr_sbuf *scratch) {
    static const wr_json_style style = {.sep = ' '};
    wr_sbuf_clear(scratch);
    wr_json_value(vec, row, &style, scratch);
    return sqlite3_bind_text(st, at, scratch->at, (int)scratch->len, SQLITE_TRANSIENT);
}

int sqlite_bind(sqlite3_stmt *st, int at, const wr_vec *vec, uint32_t row, wr_sbuf *scratch) {
    if (wr_vec_is_null(vec, row)) return sqlite3_bind_null(st, at);
    switch (vec->type.id) {
    case WR_T_BOOLEAN: return sqlite3_bind_int(st, at, ((const uint8_t *)vec->data)[row]);
    case WR_T_TINYINT: return sqlite3_bind_int(st, at, ((const int8_t *)vec->data)[row]);
    case WR_T_SMALLINT: return sqlite3_bind_int(st, at, ((const int16_t *)vec->data)[row]);
    case WR_T_INT:
    case WR_T_INTERVAL_YM: return sqlite3_bind_int(st, at, ((const int32_t *)vec->data)[row]);
    case WR_T_BIGINT:
    case WR_T_INTERVAL_DS: return sqlite3_bind_int64(st, at, ((const int64_t *)vec->data)[row]);
    case WR_T_FLOAT:
    case WR_T_DOUBLE: {
        double x = vec->type.id == WR_T_FLOAT ? (double)((const float *)vec->data)[row] : ((const double *)vec->data)[row];
        return x == x ? sqlite3_bind_double(st, at, x) : sqlite3_bind_text(st, at, "NaN", 3, SQLITE_STATIC);
    }
    case WR_T_CHAR:
    case WR_T_VARCHAR: {
        wr_str text = wr_sview_str((const wr_sview *)vec->data + row);
        return sqlite3_bind_text(st, at, text.ptr, (int)text.len, SQLITE_TRANSIENT);
    }
    case WR_T_BITMAP:
    case WR_T_BINARY:
    case WR_T_VARBINARY: {
        wr_str bytes = wr_sview_str((const wr_sview *)vec->data + row);
        return sqlite3_bind_blob(st, at, bytes.ptr, (int)bytes.len, SQLITE_TRANSIENT);
    }
    case WR_T_TIMESTAMP_LTZ: {
        char   text[48];
        size_t n = wr_text_timestamp(((const int64_t *)vec->data)[row], vec->type, ' ', text);
        if (text[n - 1] != 'Z') text[n++] = 'Z';
        return sqlite3_bind_text(st, at, text, (int)n, SQLITE_TRANSIENT);
    }
    case WR_T_ARRAY:
    case WR_T_MAP:
    case WR_T_MULTISET:
    case WR_T_ROW: return bind_nested(st, at, vec, row, scratch);
    default:
        wr_sbuf_clear(scratch);
        wr_vec_text(vec, row, NULL, scratch);
        return sqlite3_bind_text(st, at, scratch->at ? scratch->at : "", (int)scratch->len, SQLITE_TRANSIENT);
    }
}

/* A row of the log in the scratch batch; its index. */
static bool decode_row(sqlite_sink *s, wr_str bytes, uint32_t *row) {
    if (s->n_scratch == SCRATCH_ROWS) {
        wr_batch_unref(s->scratch);
        s->scratch = NULL;
    }
    if (!s->scratch) {
        s->scratch = wr_batch_new(s->columns.schema->n, 64 * 1024);
        for (uint32_t c = 0; c < s->columns.schema->n; c++) wr_vec_init(&s->scratch->cols[c], s->columns.schema->fields[c].type, SCRATCH_ROWS, true, s->scratch->mem);
        s->n_scratch = 0;
    }
    *row = s->n_scratch++;
    return wr_rowcodec_get(s->codec, bytes, s->scratch->cols, *row, s->scratch->mem);
}

static wr_status apply_one(sqlite_sink *s, uint8_t kind, uint32_t row, uint64_t index, wr_err *err) {
    bool          adds = wr_kind_adds(kind);
    sqlite3_stmt *st = adds ? s->put : s->del;
    int           code = SQLITE_OK;
    if (!st) return wr_fail(err, WR_UNSUPPORTED, "0A000", "the table '%.*s' has no PRIMARY KEY, and a row is to be deleted from it", WR_FMT(s->base.table));
    uint32_t n = adds ? s->columns.schema->n : s->columns.n_key;
    for (uint32_t i = 0; i < n && code == SQLITE_OK; i++) code = sqlite_bind(st, (int)i + 1, &s->scratch->cols[adds ? i : s->columns.key[i]], row, &s->text);
    if (code == SQLITE_OK) code = sqlite3_step(st);
    const char *state = s->refused.refuse && code != SQLITE_DONE ? row_state(s, code) : NULL;
    if (state) db_refusals_add(&s->refused, index, state, wr_str_of(sqlite3_errmsg(s->db)));
    sqlite3_reset(st);
    if (state) return WR_OK;
    return code == SQLITE_DONE || code == SQLITE_OK ? WR_OK : fail_sqlite(s, code, "write a row", err);
}

static wr_status apply_log(sqlite_sink *s, wr_str log, wr_err *err) {
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    for (uint64_t index = 0; in.at < in.end; index++) {
        uint8_t  kind = wr_get_u8(&in);
        wr_str   bytes = wr_get_bytes(&in);
        uint32_t row;
        if (in.bad || !decode_row(s, bytes, &row)) return staged_damaged(&s->base, err);
        WR_TRY(apply_one(s, kind, row, index, err));
    }
    return WR_OK;
}

/* The epoch that the database has; 0 if none. */
static wr_status stored_epoch(sqlite_sink *s, uint64_t *epoch, wr_err *err) {
    sqlite3_stmt *st;
    *epoch = 0;
    int code = sqlite3_prepare_v2(s->db, "SELECT epoch FROM weir_epoch WHERE job = ?1 AND sink = ?2", -1, &st, NULL);
    if (code != SQLITE_OK) return fail_sqlite(s, code, "read weir_epoch", err);
    sqlite3_bind_text(st, 1, s->job.ptr, (int)s->job.len, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, s->base.table.ptr, (int)s->base.table.len, SQLITE_STATIC);
    code = sqlite3_step(st);
    if (code == SQLITE_ROW) *epoch = (uint64_t)sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return code == SQLITE_ROW || code == SQLITE_DONE ? WR_OK : fail_sqlite(s, code, "read weir_epoch", err);
}

static wr_status store_epoch(sqlite_sink *s, uint64_t epoch, wr_err *err) {
    sqlite3_stmt *st;
    int code = sqlite3_prepare_v2(s->db, "INSERT INTO weir_epoch (job, sink, epoch) VALUES (?1, ?2, ?3) ON CONFLICT (job, sink) DO UPDATE SET epoch = excluded.epoch", -1, &st, NULL);
    if (code != SQLITE_OK) return fail_sqlite(s, code, "write weir_epoch", err);
    sqlite3_bind_text(st, 1, s->job.ptr, (int)s->job.len, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, s->base.table.ptr, (int)s->base.table.len, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, (sqlite3_int64)epoch);
    code = sqlite3_step(st);
    sqlite3_finalize(st);
    return code == SQLITE_DONE ? WR_OK : fail_sqlite(s, code, "write weir_epoch", err);
}

/* One transaction: the log's changes and, if epoch != 0, its number. Does nothing if the database has the epoch already. */
static wr_status apply(sqlite_sink *s, uint64_t epoch, wr_str log, wr_err *err) {
    uint64_t  have = 0;
    WR_TRY(run(s, "BEGIN IMMEDIATE", "begin a transaction", err));
    wr_status status = epoch ? stored_epoch(s, &have, err) : WR_OK;
    s->refused.list.n = 0;
    if (status == WR_OK && (!epoch || have < epoch)) {
        status = apply_log(s, log, err);
        if (status == WR_OK && epoch) status = store_epoch(s, epoch, err);
        if (status == WR_OK && epoch && s->refused.refuse) status = store_refused(s, epoch, err);
    } else if (status == WR_OK && s->refused.refuse) {
        status = load_refused(s, epoch, err);
    }
    if (status == WR_OK) status = run(s, "COMMIT", "commit", err);
    if (status != WR_OK) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        return status;
    }
    return s->refused.refuse ? db_refusals_tell(&s->refused, s->codec, log, err) : WR_OK;
}

/* ---- the sink ---- */

static wr_status sink_put(staged_sink *base, const wr_batch *batch, wr_err *err) {
    sqlite_sink *s = (sqlite_sink *)base;
    change_log_put_rows(&base->log, s->codec, batch, &s->row);
    return (void)err, WR_OK;
}
static wr_status sink_flush(staged_sink *base, wr_str log, wr_err *err) { return apply((sqlite_sink *)base, 0, log, err); }
static wr_status sink_commit(staged_sink *base, uint64_t epoch, wr_str staged, wr_err *err) { return apply((sqlite_sink *)base, epoch, staged, err); }
static wr_status sink_fresh(staged_sink *base, wr_err *err) { return store_epoch((sqlite_sink *)base, 0, err); }

static wr_status sink_look(staged_sink *base, uint64_t epoch, wr_err *err) {
    sqlite_sink *s = (sqlite_sink *)base;
    uint64_t     have;
    WR_TRY(stored_epoch(s, &have, err));
    return have > epoch ? db_newer_epoch(wr_arena_printf(s->base.arena, "the database '%s'", s->path), s->base.table, have, epoch, err) : WR_OK;
}

static void sink_free(staged_sink *base) {
    sqlite_sink *s = (sqlite_sink *)base;
    sqlite3_finalize(s->put);
    sqlite3_finalize(s->del);
    sqlite3_close(s->db);
    wr_batch_unref(s->scratch);
    wr_arr_free(&s->refused.list);
    wr_sbuf_free(&s->row);
    wr_sbuf_free(&s->text);
}
static const staged_vt sink_vt = {.put = sink_put, .flush = sink_flush, .commit = sink_commit, .fresh = sink_fresh, .look = sink_look, .free = sink_free};

static const wr_option_spec specs[] = {
    {"path", "path", NULL, true, "the database file; it is made if it is not there"},
    {"table", "string", NULL, false, "name of the table; default: the SQL table's name"},
    {"create-table", "bool", "true", false, "make the table if it is not there"},
    {"sink.busy-timeout", "duration", "10 s", false, "how long to wait for another process's lock"},
    {"sink.job", "string", "weir", false, "name of the job in weir_epoch: two jobs that write tables of one name into one database need two"},
    {0}};

static wr_status open_db(sqlite_sink *s, wr_connect_ctx *ctx, bool create, wr_err *err) {
    wr_sbuf dir = {0};
    wr_sbuf_add_str(&dir, path_dir(wr_str_of(s->path)));
    wr_status status = ctx->world->vt->make_dirs(ctx->world, dir.at, err);
    wr_sbuf_free(&dir);
    WR_TRY(status);
    int code = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) return fail_sqlite(s, code, "open a table", err);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, (int)s->busy_ms);
    WR_TRY(run(s, "PRAGMA journal_mode = WAL", "switch to WAL", err));
    WR_TRY(run(s, "PRAGMA synchronous = FULL", "set synchronous", err));
    WR_TRY(run(s, "PRAGMA wal_autocheckpoint = 8000", "set the size of the log", err)); /* 32 MB: pages written often go to the table once */
    WR_TRY(run(s, "CREATE TABLE IF NOT EXISTS weir_epoch (job TEXT NOT NULL, sink TEXT NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (job, sink))", "create weir_epoch", err));
    if (s->refused.refuse) WR_TRY(run(s, "CREATE TABLE IF NOT EXISTS weir_refused (" DB_REFUSED_COLUMNS("TEXT", "INTEGER") ")", "create weir_refused", err));
    if (create) WR_TRY(create_table(s, err));
    WR_TRY(check_table(s, err));
    WR_TRY(prepare_put(s, err));
    return prepare_delete(s, err);
}

static wr_status sqlite_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    bool    create;
    int64_t busy_us;
    wr_str  table = option_text(t, specs, "table"), path = option_text(t, specs, "path");
    *out = NULL;
    if (!wr_option_bool(&t->options, specs, "create-table", &create, ctx->diags) || !wr_option_duration(&t->options, specs, "sink.busy-timeout", &busy_us, ctx->diags)) return WR_USER;
    sqlite_sink *s = wr_calloc(1, sizeof *s);
    *s = (sqlite_sink){.job = wr_option_string(&t->options, specs, "sink.job"),
                       .busy_ms = busy_us / 1000, .refused = {.refuse = ctx->refuse, .schema = t->schema}};
    staged_sink_init(&s->base, &sink_vt, t, ctx);
    if (!table.len) table = t->name;
    s->path = wr_arena_strndup(s->base.arena, path.ptr, path.len);
    s->table = wr_arena_strndup(s->base.arena, table.ptr, table.len);
    if (ctx->next_version) {
        s->table = wr_arena_printf(s->base.arena, "%s" NEXT_TABLE, s->table);
        s->base.table = wr_str_of(wr_arena_printf(s->base.arena, "%.*s" NEXT_TABLE, WR_FMT(s->base.table)));
    }
    s->columns = db_columns_of(t, s->base.arena);
    wr_type *types = wr_new_n(s->base.arena, wr_type, t->schema->n + 1);
    for (uint32_t c = 0; c < t->schema->n; c++) types[c] = t->schema->fields[c].type;
    s->codec = wr_rowcodec_new(s->base.arena, types, t->schema->n);
    wr_status status = open_db(s, ctx, create, err);
    if (status != WR_OK) point_at_path(t, err);
    return staged_sink_made(&s->base, status, out);
}

static wr_status output(const wr_table_info *t, wr_connect_ctx *ctx, wr_output *out, wr_err *err) {
    wr_str table = option_text(t, specs, "table");
    (void)err;
    *out = (wr_output){.database = true, .sink = t->name, .path = wr_str_dup(ctx->arena, option_text(t, specs, "path")),
                       .table = wr_str_dup(ctx->arena, table.len ? table : t->name), .job = wr_str_dup(ctx->arena, wr_option_string(&t->options, specs, "sink.job"))};
    return WR_OK;
}

static wr_sink_takes takes(const wr_table_info *t) { return t->n_key ? WR_SINK_UPSERT : WR_SINK_APPEND; }
static wr_guarantee  guarantee(const wr_table_info *t) { return (void)t, WR_EXACTLY_ONCE; }

const wr_connector wr_connector_sqlite = {.name = "sqlite", .doc = "a table of an SQLite database: upsert by PRIMARY KEY, or append; exactly once; asked by key in lookup joins", .specs = specs, .sink_new = sqlite_new, .output = output, .takes = takes, .guarantee = guarantee,
                                          .lookup_new = sqlite_lookup_new, .version = sqlite_version, .probe = sqlite_probe};
