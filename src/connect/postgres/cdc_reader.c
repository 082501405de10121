/* connect/postgres/cdc_reader.c: the thread of 'postgres-cdc': makes the slot, reads the snapshot, then the changes; fills the queue. See cdc.h.
 *
 * Idea       s->now is the position with everything that was received; a connection that is lost is made again and goes on from there. What is in the queue
 *            carries its own position. While the queue is full the server is told all the same that we are there, and reading stops: that is the
 *            backpressure.
 * Waiting    never without an end: every wait looks whether the source is being closed, so closing takes no longer than one of them.
 * Thread     this one; the queue under the lock.                                                                                            */
#include "connect/postgres/cdc.h"
#include <poll.h>
#include <stdio.h>

enum { WAIT_MS = 20, GATHER_MS = 3, CHUNK_AGE_US = 20000, TELL_US = 1000000, LOOK_US = 2000000, BACKOFF_US = 100000, BACKOFF_MAX_US = 2000000, FIRST_CHUNK_BYTES = 32 * 1024 };

static bool stopping(cdc_source *s) {
    wr_mutex_lock(s->lock);
    bool stop = s->stopping;
    wr_mutex_unlock(s->lock);
    return stop;
}
static wr_status cancelled(wr_err *err) { return wr_fail(err, WR_CANCELLED, "57014", "stopped"); }

static void say(cdc_source *s, const char *what) {
    wr_mutex_lock(s->lock);
    snprintf(s->doing, sizeof s->doing, "%s", what);
    wr_mutex_unlock(s->lock);
}

/* ---- chunks ---- */

static cdc_note *note_new(size_t cap) {
    wr_mem   *mem = wr_mem_new(cap + CDC_CHUNK_ROWS * sizeof(cdc_record) + 4096);
    cdc_note *note = wr_mem_calloc(mem, sizeof *note);
    *note = (cdc_note){.mem = mem, .cap = cap, .records = wr_mem_alloc(mem, CDC_CHUNK_ROWS * sizeof(cdc_record)), .bytes = wr_mem_alloc(mem, cap + 64)};
    return note;
}

void cdc_note_free(cdc_source *s, cdc_note *note) {
    if (s->acct) wr_account_add(s->acct, -(int64_t)note->cap);
    wr_mem_unref(note->mem);
}

static wr_status tell(cdc_source *s, wr_err *err);
static void      look(cdc_source *s);

/* The open chunk into the queue. */
static wr_status push(cdc_source *s, wr_err *err) {
    cdc_note *note = s->open;
    if (!note) return WR_OK;
    s->open = NULL;
    note->after = s->now;
    note->after.key = (wr_str){NULL, 0};
    if (s->now.phase == CDC_SNAPSHOT && s->n_key) {
        char *key = wr_mem_alloc(note->mem, s->now_key.len + 1);
        memcpy(key, s->now_key.at, s->now_key.len);
        note->after.key = (wr_str){key, s->now_key.len};
    }
    for (;;) {
        wr_mutex_lock(s->lock);
        bool room = !s->n_queue || (s->n_queue < CDC_QUEUE_MAX && s->queue_bytes + note->cap <= CDC_QUEUE_BYTES), stop = s->stopping;
        if (room && !stop) {
            s->queue[(s->head + s->n_queue++) % CDC_QUEUE_MAX] = note;
            s->queue_bytes += note->cap;
            s->tail.phase = CDC_NEW; /* that was before this chunk */
        }
        wr_mutex_unlock(s->lock);
        wr_status status = stop ? cancelled(err) : room || !s->streaming ? WR_OK : tell(s, err);
        if (room && !stop) return status;
        if (status == WR_CANCELLED) {
            cdc_note_free(s, note);
            return status;
        }
        if (status != WR_OK) s->streaming = false; /* the connection is lost: that is seen when there is room */
        if (s->streaming) look(s);
        wr_bell_wait(s->bell, WAIT_MS * 1000);
    }
}

/* Where a job stands that has taken all that is in the queue. */
static void set_tail(cdc_source *s) {
    wr_mutex_lock(s->lock);
    s->tail = s->now;
    wr_mutex_unlock(s->lock);
}

static wr_status append(cdc_source *s, char kind, wr_str bytes, uint64_t lsn, int64_t time_us, wr_err *err) {
    if (s->max_record_bytes && bytes.len > (size_t)s->max_record_bytes) kind = 'L', bytes.len = WR_MIN(bytes.len, (size_t)1024);
    cdc_note *note = s->open;
    if (note && (note->n == CDC_CHUNK_ROWS || note->len + bytes.len > note->cap)) WR_TRY(push(s, err));
    if (!s->open) {
        size_t cap = s->now.phase == CDC_SNAPSHOT ? CDC_CHUNK_BYTES : FIRST_CHUNK_BYTES; /* changes mostly come few at a time */
        s->open = note_new(WR_MAX(cap, bytes.len));
        s->open->map = s->map;
        s->open->ranges = s->now.ranges;
        s->opened_us = wr_mono_us(s->world);
        if (s->acct) wr_account_add(s->acct, (int64_t)s->open->cap);
    }
    note = s->open;
    note->records[note->n++] = (cdc_record){.at = (uint32_t)note->len, .len = (uint32_t)bytes.len, .kind = kind, .lsn = lsn, .time_us = time_us};
    memcpy(note->bytes + note->len, bytes.ptr, bytes.len);
    note->len += bytes.len;
    return WR_OK;
}

/* ---- asking, with an eye on the end ---- */

static bool wait_readable(pg_conn *c, int ms) {
    struct pollfd p = {.fd = pg.socket(c->c), .events = POLLIN};
    return p.fd >= 0 && poll(&p, 1, ms) > 0;
}

/* A statement that may take long. */
static wr_status run(cdc_source *s, pg_conn *c, const char *sql, const char *doing, ExecStatusType want, PGresult **out, wr_err *err) {
    if (!pg.sendQuery(c->c, sql)) return pg_fail(c, NULL, doing, err);
    while (pg.isBusy(c->c)) {
        if (stopping(s)) return pg_close(c), cancelled(err);
        if (wait_readable(c, WAIT_MS) && !pg.consumeInput(c->c)) return pg_fail(c, NULL, doing, err);
    }
    PGresult *r = pg.getResult(c->c);
    if (!r || pg.resultStatus(r) != want) return pg_fail(c, r, doing, err);
    if (want == PGRES_COPY_OUT || want == PGRES_COPY_BOTH) return pg.clear(r), WR_OK;
    for (PGresult *more; (more = pg.getResult(c->c));) pg.clear(more);
    if (out) *out = r;
    else pg.clear(r);
    return WR_OK;
}

/* The next piece of COPY data; NULL: none now (*ended: and no more). */
static wr_status next_piece(pg_conn *c, const char *doing, char **piece, int *len, bool *ended, wr_err *err) {
    *piece = NULL;
    *ended = false;
    *len = pg.getCopyData(c->c, piece, 1);
    if (*len == 0 && !pg.consumeInput(c->c)) return pg_fail(c, NULL, doing, err);
    if (*len == 0) *len = pg.getCopyData(c->c, piece, 1);
    if (*len == -2) return pg_fail(c, NULL, doing, err);
    *ended = *len == -1;
    return WR_OK;
}

static wr_status copy_result(pg_conn *c, const char *doing, wr_err *err) {
    PGresult *r = pg.getResult(c->c);
    if (!r || pg.resultStatus(r) != PGRES_COMMAND_OK) return pg_fail(c, r, doing, err);
    pg.clear(r);
    for (PGresult *more; (more = pg.getResult(c->c));) pg.clear(more);
    return WR_OK;
}

/* ---- the slot ---- */

static wr_status slot_trouble(cdc_source *s, wr_status status, wr_err *err) {
    if (err && (!strcmp(err->code, "53400") || strstr(err->message, "max_wal_senders") || strstr(err->message, "all replication slots"))) {
        err->retriable = false;
        snprintf(err->code, sizeof err->code, "WR380");
        wr_err_hint(err, "remove a slot that nobody needs (pg_replication_slots says which there are), or raise max_replication_slots and max_wal_senders; the snapshot needs a second slot for its start");
    } else if (err && !strcmp(err->code, "42501")) {
        err->retriable = false;
        snprintf(err->code, sizeof err->code, "WR381");
        wr_err_hint(err, "ALTER ROLE %s REPLICATION", s->repl.user[0] ? s->repl.user : "of this user");
    }
    return status;
}

wr_status cdc_connect_replication(cdc_source *s, wr_err *err) {
    PGresult *r;
    pg_close(&s->repl);
    wr_status status = pg_connect(&s->repl, err);
    if (status != WR_OK && err && !err->retriable && (strstr(err->message, "replication role") || strstr(err->message, "REPLICATION"))) {
        char cause[200];
        snprintf(cause, sizeof cause, "%.190s", err->message);
        cdc_fail(s, WR_USER, "WR381", err, "the user may not read the log of changes");
        wr_err_detail(err, "%s", cause);
        wr_err_hint(err, "ALTER ROLE %s REPLICATION", s->repl.user[0] ? s->repl.user : "of this user");
        return WR_USER;
    }
    if (status != WR_OK) return slot_trouble(s, status, err);
    WR_TRY(run(s, &s->repl, "IDENTIFY_SYSTEM", "ask who the server is", PGRES_TUPLES_OK, &r, err));
    uint64_t system = 0;
    for (const char *p = pg.getvalue(r, 0, 0); *p; p++) system = system * 10 + (uint64_t)(*p - '0');
    pg.clear(r);
    if (s->system && s->system != system) {
        cdc_fail(s, WR_DATA, "WR383", err, "the saved position is of another server: the database was made anew, or 'hostname' leads elsewhere now");
        wr_err_hint(err, "begin anew with a new --state-dir");
        return WR_DATA;
    }
    if (!s->system) s->system = system;
    return WR_OK;
}

/* Makes the slot, or a temporary one that only gives a snapshot and its position. The snapshot lasts until the next statement of s->repl. */
static wr_status make_slot(cdc_source *s, bool temporary, uint64_t *lsn, char *snapshot, size_t room, wr_err *err) {
    PGresult *r;
    wr_sbuf   sql = {0};
    wr_sbuf_addz(&sql, "CREATE_REPLICATION_SLOT ");
    char own[40]; /* a temporary one disturbs nobody, whatever 'slot.name' is */
    snprintf(own, sizeof own, "weir_snapshot_%llx", (unsigned long long)s->world->vt->random(s->world));
    db_put_name(&sql, temporary ? wr_str_of(own) : s->slot);
    if (temporary) wr_sbuf_addz(&sql, " TEMPORARY");
    if (s->temporary) s->live_slot = wr_arena_strndup(s->arena, own, strlen(own));
    wr_sbuf_addz(&sql, " LOGICAL pgoutput EXPORT_SNAPSHOT");
    say(s, "waits until the transactions that run on the server now have ended");
    wr_status status = run(s, &s->repl, sql.at, "make the replication slot", PGRES_TUPLES_OK, &r, err);
    wr_sbuf_free(&sql);
    say(s, "");
    if (status != WR_OK) return slot_trouble(s, status, err);
    bool fine = pg.ntuples(r) == 1 && pg_lsn_parse(pg.getvalue(r, 0, 1), lsn);
    snprintf(snapshot, room, "%s", pg.getvalue(r, 0, 2));
    pg.clear(r);
    return fine ? WR_OK : cdc_fail(s, WR_IO, "08P01", err, "the server's answer to CREATE_REPLICATION_SLOT is not understood");
}

static wr_status slot_gone(cdc_source *s, const char *what, wr_err *err) {
    wr_sbuf drop = {0};
    cdc_drop_hint(s, &drop);
    cdc_fail(s, WR_DATA, "WR383", err, "the slot '%.*s' %s: changes since " PG_LSN_FMT " are lost", WR_FMT(s->slot), what, PG_LSN(s->now.lsn));
    wr_err_hint(err, "begin anew with a new --state-dir (if the slot is there: %s)", drop.at);
    wr_sbuf_free(&drop);
    return WR_DATA;
}

/* The server may not have seen yet that our last connection is gone; or it is somebody else's. */
static wr_status slot_busy(const cdc_source *s, wr_err *err) {
    cdc_fail(s, WR_USER, "WR383", err, "the slot '%.*s' is being read by another connection", WR_FMT(s->slot));
    wr_err_hint(err, "each table of each job needs a slot of its own: is another job, or another table of this one, reading with this 'slot.name'?");
    if (err) err->retriable = true;
    return WR_USER;
}

/* ---- the snapshot ---- */

static bool plain_order(const cdc_source *s, uint32_t col) { return !wr_type_is_string(s->schema->fields[col].type) || s->columns[col].base == 2950; } /* uuid: as its text */

static void put_key_column(const cdc_source *s, uint32_t col, wr_sbuf *sql) {
    if (!plain_order(s, col)) wr_sbuf_addc(sql, '(');
    db_put_name(sql, s->schema->fields[col].name);
    if (!plain_order(s, col)) wr_sbuf_addz(sql, "::text COLLATE \"C\")"); /* by bytes, as keys are compared here */
}

static void put_literal(wr_sbuf *sql, wr_str text) {
    wr_sbuf_addc(sql, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'') wr_sbuf_addc(sql, '\'');
        wr_sbuf_addc(sql, text.ptr[i]);
    }
    wr_sbuf_addc(sql, '\'');
}

static void put_keys(const cdc_source *s, wr_sbuf *sql) {
    for (uint32_t k = 0; k < s->n_key; k++) {
        if (k) wr_sbuf_addz(sql, ", ");
        put_key_column(s, s->key[k], sql);
    }
}

static void put_select(const cdc_source *s, wr_sbuf *sql) {
    const char *sep = "COPY (SELECT ";
    for (uint32_t c = 0; c < s->n_physical; c++) {
        if (s->needed && !s->needed[c]) continue;
        wr_sbuf_addz(sql, sep);
        db_put_name(sql, s->schema->fields[c].name);
        sep = ", ";
    }
    if (*sep == 'C') wr_sbuf_addz(sql, "COPY (SELECT NULL");
    wr_sbuf_printf(sql, " FROM %s%s", s->partitioned ? "" : "ONLY ", s->quoted);
    bool after = s->now.begun && s->n_key;
    if (after || s->row_filter.len) wr_sbuf_addz(sql, " WHERE ");
    if (s->row_filter.len) wr_sbuf_printf(sql, "(%.*s)%s", WR_FMT(s->row_filter), after ? " AND " : "");
    if (after) {
        wr_reader in = {(const uint8_t *)s->now_key.at, (const uint8_t *)s->now_key.at + s->now_key.len, false};
        wr_sbuf_addc(sql, '(');
        put_keys(s, sql);
        wr_sbuf_addz(sql, ") > (");
        for (uint32_t k = 0; k < s->n_key; k++) {
            if (k) wr_sbuf_addz(sql, ", ");
            put_literal(sql, wr_get_bytes(&in));
            if (plain_order(s, s->key[k])) wr_sbuf_printf(sql, "::%.*s", WR_FMT(s->columns[s->key[k]].type_name));
            else wr_sbuf_addz(sql, "::text");
        }
        wr_sbuf_addc(sql, ')');
    }
    if (s->n_key) wr_sbuf_addz(sql, " ORDER BY "), put_keys(s, sql);
    wr_sbuf_addz(sql, ") TO STDOUT");
}

/* The ranges of a snapshot that goes on, or begins, at `lsn`. */
static void new_range(cdc_source *s, uint64_t lsn) {
    const cdc_ranges *was = s->now.ranges;
    uint32_t          n = was ? was->n : 0, keep = s->now.begun ? n : n ? n - 1 : 0; /* a last one that gave no row is replaced */
    cdc_ranges       *r = wr_arena_calloc(s->arena, sizeof *r + (keep + 1) * sizeof r->at[0]);
    for (uint32_t i = 0; i < keep; i++) r->at[i] = was->at[i];
    if (keep && s->now.begun) r->at[keep - 1].upper = (wr_str){wr_arena_strndup(s->arena, s->now_key.at, s->now_key.len), s->now_key.len};
    r->at[keep].lsn = lsn;
    r->n = keep + 1;
    s->now.ranges = r;
}

static wr_status copy_rows(cdc_source *s, wr_err *err) {
    static const char doing[] = "read the rows that are there";
    wr_sbuf           scratch = {0};
    wr_str           *texts = wr_calloc(s->n_key + 1, sizeof *texts);
    wr_status         status = WR_OK;
    for (bool ended = false; !ended && status == WR_OK;) {
        char *piece;
        int   len;
        if (stopping(s)) status = cancelled(err);
        if (status == WR_OK) status = next_piece(&s->rows, doing, &piece, &len, &ended, err);
        if (status != WR_OK || ended) break;
        if (len <= 0) {
            if (!wait_readable(&s->rows, WAIT_MS)) status = push(s, err);
            continue;
        }
        wr_str line = {piece, (size_t)len - (piece[len - 1] == '\n')};
        status = append(s, 'r', line, s->now.lsn, 0, err);
        if (status == WR_OK && s->n_key) {
            wr_sbuf_reserve(&scratch, line.len + 1);
            cdc_row_key(s, line, scratch.at, texts);
            wr_sbuf_clear(&s->now_key);
            cdc_put_key(&s->now_key, texts, s->n_key);
        }
        s->now.begun = true;
        atomic_fetch_add(&s->snapshot_rows, 1);
        pg.freemem(piece);
    }
    wr_sbuf_free(&scratch);
    wr_free(texts);
    if (status == WR_OK) status = push(s, err);
    return status == WR_OK ? copy_result(&s->rows, doing, err) : status;
}

static wr_status cannot_go_on(cdc_source *s, wr_err *err) {
    wr_sbuf drop = {0};
    cdc_drop_hint(s, &drop);
    cdc_fail(s, WR_DATA, "WR383", err, "reading the rows of %s that were there at the start was broken off, and without a PRIMARY KEY in the SQL table it cannot go on where it was", s->quoted);
    wr_err_hint(err, "begin anew with a new --state-dir (%s), or declare the PRIMARY KEY (...) NOT ENFORCED", drop.at);
    wr_sbuf_free(&drop);
    return WR_DATA;
}

/* Without checkpoints the slot is the connection's own. */
static wr_status lost_temporary(cdc_source *s, wr_err *err) {
    cdc_fail(s, WR_DATA, "WR383", err, "the connection to the server was lost, and with it the slot, which is a temporary one without checkpoints: changes since are lost");
    wr_err_hint(err, "start it again: it reads all rows anew; with --state-dir it goes on where it was");
    return WR_DATA;
}

/* The slot, the snapshot's name, and the position that it belongs to. */
static wr_status slot_for_snapshot(cdc_source *s, char *name, size_t room, wr_err *err) {
    cdc_slot slot = {0};
    uint64_t lsn = 0;
    WR_TRY(cdc_connect_replication(s, err));
    if (s->temporary) {
        WR_TRY(make_slot(s, true, &lsn, name, room, err));
        s->now = (cdc_pos){.phase = CDC_SNAPSHOT, .lsn = lsn};
        return WR_OK;
    }
    WR_TRY(cdc_look_at_slot(s, &slot, err));
    if (s->now.phase == CDC_SNAPSHOT && !slot.there) return slot_gone(s, "is not there any more", err);
    if (slot.active) return slot_busy(s, err);
    WR_TRY(make_slot(s, slot.there, &lsn, name, room, err));
    if (s->now.phase == CDC_NEW) s->now = (cdc_pos){.phase = CDC_SNAPSHOT, .lsn = slot.there ? slot.confirmed : lsn};
    new_range(s, lsn);
    return WR_OK;
}

static wr_status snapshot(cdc_source *s, wr_err *err) {
    char    name[80] = "";
    wr_sbuf sql = {0};
    if (s->now.begun && s->temporary) return lost_temporary(s, err);
    if (s->now.begun && !s->n_key) return cannot_go_on(s, err);
    if (s->start != CDC_SNAPSHOT_ONLY) WR_TRY(slot_for_snapshot(s, name, sizeof name, err));
    s->now.phase = CDC_SNAPSHOT;
    atomic_store(&s->first_lsn, s->now.lsn);
    pg_close(&s->rows);
    wr_status status = pg_connect(&s->rows, err);
    if (status == WR_OK) status = pg_run(&s->rows, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "begin to read", err);
    if (status == WR_OK && *name) {
        wr_sbuf_printf(&sql, "SET TRANSACTION SNAPSHOT '%s'", name);
        status = pg_run(&s->rows, sql.at, "take the slot's snapshot", err);
    }
    if (!s->temporary) pg_close(&s->repl); /* the second slot goes with it */
    wr_sbuf_clear(&sql);
    put_select(s, &sql);
    s->map = &s->snapshot_map;
    if (status == WR_OK) status = run(s, &s->rows, sql.at, "read the rows that are there", PGRES_COPY_OUT, NULL, err);
    wr_sbuf_free(&sql);
    if (status == WR_OK) status = copy_rows(s, err);
    pg_close(&s->rows);
    WR_TRY(status);
    s->now.phase = CDC_CHANGES;
    s->now.begun = false;
    s->map = NULL;
    wr_sbuf_clear(&s->now_key);
    set_tail(s);
    return WR_OK;
}

/* ---- the changes ---- */

/* Says what was received and what may go; the server answers, so that both sides know that the other is there. */
static wr_status tell(cdc_source *s, wr_err *err) {
    int64_t now = wr_mono_us(s->world);
    if (now - s->told_us < TELL_US) return WR_OK;
    uint8_t  m[34] = {'r'};
    uint64_t confirmed = atomic_load(&s->confirmed);
    s->told_us = now;
    pg_put_u64(m + 1, WR_MAX(s->now.lsn, confirmed));
    pg_put_u64(m + 9, confirmed);
    pg_put_u64(m + 17, confirmed);
    pg_put_u64(m + 25, (uint64_t)(wr_wall_us(s->world) - (int64_t)PG_EPOCH_S * 1000000));
    m[33] = 1;
    if (pg.putCopyData(s->repl.c, (const char *)m, sizeof m) != 1 || pg.flush(s->repl.c) < 0) return pg_fail(&s->repl, NULL, "tell the position", err);
    return WR_OK;
}

/* How far the server is and what it keeps for us, for reports only. */
static void look(cdc_source *s) {
    int64_t     now = wr_mono_us(s->world);
    const char *values[] = {s->live_slot};
    PGresult   *r;
    uint64_t    lsn;
    if (now - s->looked_us < LOOK_US) return;
    s->looked_us = now;
    if (pg_connect(&s->admin, NULL) != WR_OK || pg_query(&s->admin, "SELECT pg_current_wal_flush_lsn(), pg_current_wal_flush_lsn() - coalesce(restart_lsn, pg_current_wal_flush_lsn()) FROM pg_replication_slots WHERE slot_name = $1", 1, values, "look at the slot", &r, NULL) != WR_OK) return;
    if (pg.ntuples(r) && pg_lsn_parse(pg.getvalue(r, 0, 0), &lsn)) {
        uint64_t kept = 0;
        for (const char *p = pg.getvalue(r, 0, 1); *p >= '0' && *p <= '9'; p++) kept = kept * 10 + (uint64_t)(*p - '0');
        atomic_store(&s->server_lsn, lsn);
        atomic_store(&s->kept_bytes, kept);
    }
    pg.clear(r);
}

static wr_status take_relation(cdc_source *s, const pgo_message *m, wr_err *err) {
    bool named = wr_str_eq(m->schema, s->schema_name) && wr_str_eq(m->table, s->table_name);
    if (m->relation != s->oid) {
        if (!named) return WR_OK;
        cdc_fail(s, WR_DATA, "WR384", err, "the table %s was dropped and made anew", s->quoted);
        wr_err_hint(err, "begin anew with a new --state-dir");
        return WR_DATA;
    }
    if (!named) {
        cdc_fail(s, WR_DATA, "WR384", err, "the table %s was renamed: it is %.*s.%.*s now", s->quoted, WR_FMT(m->schema), WR_FMT(m->table));
        wr_err_hint(err, "change 'schema-name' and 'table-name'; the state stays");
        return WR_DATA;
    }
    const cdc_map *was = s->map;
    WR_TRY(cdc_map_relation(s, m, &s->map, err));
    return was == s->map ? WR_OK : push(s, err); /* a chunk has one map */
}

/* One more change of the table in this transaction; those that were given before the connection or the job broke off are passed over. */
static wr_status take_change(cdc_source *s, char kind, wr_str bytes, wr_err *err) {
    if (!s->in_txn) return cdc_fail(s, WR_IO, "08P01", err, "a change outside of a transaction");
    if (++s->txn_n <= s->txn_skip) return WR_OK;
    const cdc_ranges *r = s->now.ranges;
    if (!r || s->txn_lsn >= r->at[0].lsn) WR_TRY(append(s, kind, bytes, s->txn_lsn, s->txn_time_us, err)); /* else the snapshot has it, whatever the key */
    s->now.txn = s->txn_lsn;
    s->now.done = s->txn_n;
    return WR_OK;
}

static bool has_table(const cdc_source *s, pgo_relids list) {
    uint32_t id;
    while (pgo_next_relation(&list, &id))
        if (id == s->oid) return true;
    return false;
}

static wr_status take_message(cdc_source *s, wr_str bytes, wr_err *err) {
    pgo_message m;
    if (!pgo_read(bytes, &m)) return cdc_fail(s, WR_IO, "08P01", err, "a message of the server is not understood: kind '%c', %zu bytes", bytes.len ? *bytes.ptr : ' ', bytes.len);
    switch (m.kind) {
    case PGO_BEGIN:
        s->in_txn = true;
        s->txn_lsn = m.lsn, s->txn_time_us = m.time_us, s->txn_n = 0;
        s->txn_skip = s->now.txn == m.lsn ? s->now.done : 0;
        if (s->now.ranges && m.lsn >= s->now.ranges->at[s->now.ranges->n - 1].lsn) s->now.ranges = NULL; /* commits come in order: everything counts from here on */
        return WR_OK;
    case PGO_COMMIT:
        s->in_txn = false;
        s->now.lsn = m.end_lsn, s->now.txn = s->now.done = 0;
        return WR_OK;
    case PGO_RELATION: return take_relation(s, &m, err);
    case PGO_INSERT:
    case PGO_UPDATE:
    case PGO_DELETE: return m.relation == s->oid ? take_change(s, (char)m.kind, bytes, err) : WR_OK;
    case PGO_TRUNCATE: return has_table(s, m.truncated) ? take_change(s, (char)m.kind, bytes, err) : WR_OK;
    default: return WR_OK;
    }
}

static wr_status take_piece(cdc_source *s, wr_str piece, wr_err *err) {
    const uint8_t *p = (const uint8_t *)piece.ptr;
    if (piece.len > 25 && *p == 'w') return take_message(s, (wr_str){piece.ptr + 25, piece.len - 25}, err);
    if (piece.len >= 18 && *p == 'k') { /* outside a transaction everything that ends up to here was sent; one that was given in part and is about to come again lies behind it */
        uint64_t end = pg_get_u64(p + 1);
        if (!s->in_txn && end > s->now.lsn) s->now.lsn = end;
    }
    return WR_OK;
}

static wr_status start_streaming(cdc_source *s, wr_err *err) {
    cdc_slot slot;
    wr_sbuf  sql = {0}, name = {0};
    if (s->temporary) {
        if (pg_lost(&s->repl)) return lost_temporary(s, err);
    } else {
        WR_TRY(cdc_connect_replication(s, err));
        WR_TRY(cdc_look_at_slot(s, &slot, err));
        if (!slot.there) return slot_gone(s, "is not there any more", err);
        if (slot.active) return slot_busy(s, err);
        if (slot.confirmed > s->now.lsn && s->keeps) return slot_gone(s, "was moved on by somebody else", err);
    }
    wr_sbuf_addz(&sql, "START_REPLICATION SLOT ");
    db_put_name(&sql, wr_str_of(s->live_slot));
    wr_sbuf_printf(&sql, " LOGICAL " PG_LSN_FMT " (proto_version '1', publication_names ", PG_LSN(s->now.lsn));
    db_put_name(&name, s->publication);
    put_literal(&sql, wr_sbuf_str(&name));
    wr_sbuf_addc(&sql, ')');
    wr_sbuf_free(&name);
    wr_status status = run(s, &s->repl, sql.at, "read the changes", PGRES_COPY_BOTH, NULL, err);
    wr_sbuf_free(&sql);
    if (status == WR_OK || !err) return status;
    return !strcmp(err->code, "55006") ? slot_busy(s, err) : slot_trouble(s, status, err);
}

static wr_status stream(cdc_source *s, wr_err *err) {
    static const char doing[] = "read the changes";
    s->in_txn = false, s->told_us = 0;
    WR_TRY(start_streaming(s, err));
    s->streaming = true;
    wr_status status = WR_OK;
    while (status == WR_OK) {
        char *piece;
        int   len;
        bool  ended;
        if (stopping(s)) status = cancelled(err);
        if (status == WR_OK) status = tell(s, err);
        if (status == WR_OK) status = next_piece(&s->repl, doing, &piece, &len, &ended, err);
        if (status != WR_OK) break;
        if (ended) {
            status = copy_result(&s->repl, doing, err);
            if (status != WR_OK && err && !strcmp(err->code, "42704")) wr_err_hint(err, "the slot is older than the publication: remove the slot, and begin anew with a new --state-dir");
            if (status == WR_OK) {
                status = wr_fail(err, WR_IO, "08006", "the server has ended the stream of changes");
                if (err) err->retriable = true;
            }
        } else if (len > 0) {
            status = take_piece(s, (wr_str){piece, (size_t)len}, err);
            pg.freemem(piece);
            s->failing_us = 0;
        } else if (!s->open || wr_mono_us(s->world) - s->opened_us > CHUNK_AGE_US || !wait_readable(&s->repl, GATHER_MS)) { /* a few changes at a time: a chunk has its price */
            status = push(s, err);
            if (status == WR_OK) set_tail(s);
            if (status == WR_OK && !s->streaming) status = pg_fail(&s->repl, NULL, doing, err);
            look(s);
            (void)wait_readable(&s->repl, WAIT_MS);
        }
    }
    if (status == WR_CANCELLED) s->told_us = 0, (void)tell(s, NULL); /* what the last checkpoint has */
    s->streaming = false;
    pg_close(&s->repl);
    return status;
}

/* ---- the thread ---- */

/* A job without positions begins as 'scan.startup.mode' says. */
static wr_status begin(cdc_source *s, wr_err *err) {
    cdc_slot slot;
    uint64_t lsn;
    char     name[80];
    if (s->start == CDC_INITIAL || s->start == CDC_SNAPSHOT_ONLY) return snapshot(s, err);
    WR_TRY(cdc_connect_replication(s, err));
    if (s->temporary) slot = (cdc_slot){0};
    else WR_TRY(cdc_look_at_slot(s, &slot, err));
    if (s->start == CDC_COMMITTED && !slot.there) {
        cdc_fail(s, WR_USER, "WR383", err, "there is no slot '%.*s' to go on from", WR_FMT(s->slot));
        wr_err_hint(err, "'scan.startup.mode' = 'initial' makes it, and reads the rows that are there first");
        return WR_USER;
    }
    if (!slot.there) {
        WR_TRY(make_slot(s, s->temporary, &lsn, name, sizeof name, err));
    } else if (s->start == CDC_COMMITTED) {
        lsn = slot.confirmed;
    } else { /* from now on */
        PGresult *r;
        WR_TRY(pg_query(&s->admin, "SELECT pg_current_wal_insert_lsn()", 0, NULL, "ask for the position", &r, err));
        bool fine = pg_lsn_parse(pg.getvalue(r, 0, 0), &lsn);
        pg.clear(r);
        if (!fine) return cdc_fail(s, WR_IO, "08P01", err, "the server's position is not understood");
    }
    s->now = (cdc_pos){.phase = CDC_CHANGES, .lsn = lsn};
    atomic_store(&s->first_lsn, lsn);
    set_tail(s);
    return WR_OK;
}

static wr_status step(cdc_source *s, wr_err *err) {
    if (s->now.phase == CDC_NEW) WR_TRY(begin(s, err));
    else if (s->now.phase == CDC_SNAPSHOT) WR_TRY(snapshot(s, err));
    return s->start == CDC_SNAPSHOT_ONLY ? WR_OK : stream(s, err);
}

/* True: it is worth another try. */
static bool again(cdc_source *s, const wr_err *err) {
    int64_t now = wr_mono_us(s->world), wait = BACKOFF_US;
    if (!err->retriable) return false;
    if (!s->failing_us) s->failing_us = now;
    if (now - s->failing_us > s->retry_us) return false;
    say(s, "the server cannot be reached, or does not let us read; it is tried again");
    wait = WR_MIN(WR_MAX(wait, (now - s->failing_us) / 4), (int64_t)BACKOFF_MAX_US);
    for (int64_t until = now + wait; wr_mono_us(s->world) < until && !stopping(s);) wr_bell_wait(s->bell, WR_MIN(wait, WAIT_MS * 1000));
    say(s, "");
    return !stopping(s);
}

void cdc_reader(void *arg) {
    cdc_source *s = arg;
    wr_err      err = {0};
    wr_status   status;
    do {
        err = (wr_err){0};
        status = step(s, &err);
        if (status == WR_OK || status == WR_CANCELLED) break;
        pg_close(&s->repl);
        pg_close(&s->rows);
    } while (again(s, &err));
    wr_mutex_lock(s->lock);
    s->finished = status == WR_OK;
    s->failed = status != WR_OK && status != WR_CANCELLED;
    if (s->failed) s->err = err;
    wr_mutex_unlock(s->lock);
}
