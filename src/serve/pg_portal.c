/* serve/pg_portal.c: prepared statements and portals: describing, running, sending rows. See pg.h.
 *
 * Quick      a read of a view by its key runs where it is asked. All else is described and run by a query thread: `working` until it is through.
 * Rows       are encoded a batch at a time into the connection's output, as long as there is room; the portal keeps where it is.
 * Lives      statements are counted references (a portal has one); portals end with the transaction.                                   */
#include "serve/pg_parts.h"
#include "format/format.h"
#include <inttypes.h>
#include <stdio.h>

/* ---- statements ---- */
pg_stmt *stmt_new(pg_client *c, const char *name, wr_str sql, const uint32_t *oids, uint32_t n_oids, wr_err *err) {
    pg_stmt *s = wr_calloc(1, sizeof *s);
    uint32_t at = 0;
    *s = (pg_stmt){.refs = 1, .arena = wr_arena_new(NULL)};
    snprintf(s->name, sizeof s->name, "%s", name);
    s->sql = wr_str_dup(s->arena, sql);
    wr_status status = pg_lex(s->arena, s->sql, &s->toks, &at, err);
    if (status != WR_OK) err->at.col = at + 1;
    if (status == WR_OK && s->toks.list.n > 1 && pg_is_char(&s->toks.list.at[s->toks.list.n - 2], ';')) s->toks.list.n--, s->toks.list.at[s->toks.list.n - 1].kind = PG_END;
    if (status == WR_OK) {
        s->command = command_of(&s->toks, &s->tag);
        if (s->command == PG_CMD_NONE) status = query_new(c->server->opts.db, s->sql, oids, n_oids, &s->query, err);
        else if (!command_prepare(c, s, err)) status = WR_USER;
    }
    if (status == WR_OK) return s;
    stmt_unref(s);
    return NULL;
}

void stmt_unref(pg_stmt *s) {
    if (!s || --s->refs) return;
    query_free(s->query);
    wr_arena_free(s->arena);
    wr_free(s);
}

pg_stmt *stmt_find(pg_client *c, const char *name) {
    for (pg_stmt *s = c->stmts; s; s = s->next)
        if (!strcmp(s->name, name)) return s;
    return NULL;
}

void stmt_drop(pg_client *c, const char *name) {
    for (pg_stmt **at = &c->stmts; *at;) {
        pg_stmt *s = *at;
        if (name && strcmp(s->name, name)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        c->n_stmts--;
        stmt_unref(s);
    }
}

void stmt_keep(pg_client *c, pg_stmt *s) {
    stmt_drop(c, s->name);
    s->next = c->stmts;
    c->stmts = s;
    c->n_stmts++;
}

/* ---- portals ---- */
pg_portal *portal_new(pg_client *c, const char *name, pg_stmt *stmt) {
    pg_portal *p = wr_calloc(1, sizeof *p);
    *p = (pg_portal){.stmt = stmt, .arena = wr_arena_new(NULL), .next = c->portals, .delimiter = '\t'};
    snprintf(p->name, sizeof p->name, "%s", name);
    stmt->refs++;
    c->portals = p;
    c->n_portals++;
    return p;
}

pg_portal *portal_find(pg_client *c, const char *name) {
    for (pg_portal *p = c->portals; p; p = p->next)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

void portal_drop(pg_client *c, pg_portal *p) {
    if (!p) return;
    for (pg_portal **at = &c->portals; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            c->n_portals--;
            break;
        }
    if (c->sending == p) c->sending = NULL;
    if (p->sub_view && p->listener.published) wr_view_unlisten(p->sub_view, &p->listener);
    wr_view_sub_free(p->sub);
    wr_view_unref(p->sub_view);
    wr_batch_unref(p->batch);
    if (p->rows) p->rows->free(p->rows);
    stmt_unref(p->stmt);
    wr_arena_free(p->arena);
    wr_free(p);
}

void portals_drop(pg_client *c, bool held_too) {
    for (pg_portal *p = c->portals, *next; p; p = next) {
        next = p->next;
        if (held_too || !p->held) portal_drop(c, p);
    }
}

/* ---- describing ---- */
static int16_t format_of(const int16_t *formats, uint32_t n, uint32_t i) { return n == 0 ? 0 : n == 1 ? formats[0] : i < n ? formats[i] : 0; }

void send_columns(pg_client *c, const query_col *cols, uint32_t n, const int16_t *formats, uint32_t n_formats) {
    size_t   at = msg_begin(c, 'T');
    wr_sbuf *out = wr_conn_out(c->conn);
    pg_put_i16(out, (int16_t)n);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < cols[i].name.len; k++)
            if (cols[i].name.ptr[k]) wr_sbuf_addc(out, cols[i].name.ptr[k]);
        wr_sbuf_addc(out, 0);
        pg_put_i32(out, 0);
        pg_put_i16(out, 0);
        pg_put_i32(out, (int32_t)cols[i].oid);
        pg_put_i16(out, pg_size_of(cols[i].oid));
        pg_put_i32(out, cols[i].typmod);
        pg_put_i16(out, format_of(formats, n_formats, i));
    }
    msg_end(c, at);
}

/* The columns that the statement gives; false: none. */
static bool columns_of(pg_client *c, const pg_stmt *s, uint32_t *n, query_col **cols) {
    if (s->command != PG_CMD_NONE) return command_columns(c, s, n, cols);
    *cols = (query_col *)(uintptr_t)query_cols(s->query, n);
    return true;
}

void describe_stmt(pg_client *c, pg_stmt *s, const pg_portal *p) {
    wr_sbuf   *out = wr_conn_out(c->conn);
    uint32_t   n;
    query_col *cols;
    if (!p) {
        const uint32_t *oids = NULL;
        uint32_t        n_params = s->query ? query_params(s->query, &oids) : 0;
        size_t          at = msg_begin(c, 't');
        pg_put_i16(out, (int16_t)n_params);
        for (uint32_t i = 0; i < n_params; i++) pg_put_i32(out, (int32_t)oids[i]);
        msg_end(c, at);
    }
    bool gives = columns_of(c, s, &n, &cols);
    if (p && p->cursor) cols = (query_col *)(uintptr_t)query_cols(s->query, &n), gives = true;
    if (gives) send_columns(c, cols, n, p ? p->formats : NULL, p ? p->n_formats : 0);
    else msg_end(c, msg_begin(c, 'n'));
}

/* ---- running ---- */
static query_limits limits_of(pg_client *c) {
    query_limits l = c->server->limits;
    if (c->user && c->user->limits.rows) l.rows = c->user->limits.rows;
    if (c->user && c->user->limits.bytes) l.bytes = c->user->limits.bytes;
    if (c->user && c->user->limits.time_us) l.time_us = c->user->limits.time_us;
    if (c->timeout_us > 0) l.time_us = WR_MIN(l.time_us, c->timeout_us);
    return l;
}

static query_args args_of(pg_client *c, const pg_portal *p) {
    if (c->txn == 'T' && !c->snapshot) c->snapshot = query_snapshot_new();
    query_args a = {.snapshot = c->snapshot, .limits = limits_of(c), .stop = &c->stop, .user = c->user_name, .tz = c->tz};
    if (p) a.params = p->params, a.n = p->n_params;
    return a;
}

static bool submit(pg_client *c, pg_stmt *s, pg_portal *p, pg_job_kind kind, pg_then then, wr_err *err) {
    query_args args = args_of(c, p);
    c->job = (pg_job){.kind = kind, .client = c, .query = s->query, .args = args};
    atomic_store(&c->stop.asked, false);
    atomic_store(&c->stop.timed_out, false);
    c->stop.until_us = args.limits.time_us ? wr_mono_us(c->server->opts.world) + args.limits.time_us : 0;
    c->then = then;
    if (!server_submit(c, err)) return false;
    s->refs++;
    c->job_stmt = s;
    c->working = true;
    return true;
}

bool describe_later(pg_client *c, pg_stmt *s, pg_then then) {
    wr_err   err = {0};
    uint32_t n = 0;
    if (!s->query || (s->command != PG_CMD_NONE && s->command != PG_CMD_COPY) || query_cols(s->query, &n)) return false;
    if (query_is_quick(s->query)) {
        if (query_describe(s->query, &err) == WR_OK) return false;
        client_failed(c, &err);
        return true;
    }
    if (!submit(c, s, c->sending, PG_JOB_DESCRIBE, then, &err)) client_failed(c, &err);
    return true;
}

bool portal_run(pg_client *c, pg_portal *p, pg_then then) {
    wr_err err = {0};
    if (!p->started) atomic_store(&c->stop.asked, false); /* what was to be cancelled is not this */
    if (p->started || p->done) {
        portal_send(c, p, c->sending_max);
        return true;
    }
    c->sending = p;
    if (p->stmt->command == PG_CMD_SUBSCRIBE) {
        if (command_run(c, p, c->sending_max, &err)) return true;
        client_failed(c, &err);
        return false;
    }
    if (p->stmt->command == PG_CMD_COPY && !command_run(c, p, 0, &err)) {
        client_failed(c, &err);
        return false;
    }
    if (query_is_quick(p->stmt->query)) {
        query_args args = args_of(c, p);
        if (query_run(p->stmt->query, &args, &p->rows, &err) == WR_OK) {
            p->started = true;
            if (then == PG_THEN_DECLARE) {
                send_complete(c, "DECLARE CURSOR");
                client_step_done(c);
            } else {
                portal_send(c, p, c->sending_max);
            }
            return true;
        }
    } else if (submit(c, p->stmt, p, PG_JOB_RUN, then, &err)) {
        return true;
    }
    client_failed(c, &err);
    return false;
}

static void say_freshness(pg_client *c) {
    wr_view *views[16];
    uint32_t n = query_views(views, WR_COUNT_OF(views));
    for (uint32_t i = 0; i < n; i++) {
        wr_view_info info;
        wr_view_info_get(views[i], &info);
        if (i == 0) {
            wr_value v = wr_value_int(wr_type_prec(WR_T_TIMESTAMP, 3), info.as_of.watermark_us);
            wr_sbuf  text = {0};
            if (info.as_of.watermark_us == WR_TIME_MIN) wr_sbuf_addz(&text, "none");
            else if (info.as_of.watermark_us == WR_TIME_MAX) wr_sbuf_addz(&text, "end of input");
            else wr_value_text(&v, NULL, &text);
            send_notice(c, "weir: version %" PRIu64 ", watermark %.*s, published %" PRId64 " ms ago", info.as_of.version, WR_FMT(wr_sbuf_str(&text)),
                        (wr_wall_us(c->server->opts.world) - info.as_of.published_us) / 1000);
            wr_sbuf_free(&text);
        }
        wr_view_unref(views[i]);
    }
}

static void begin_copy(pg_client *c, pg_portal *p, uint32_t n, const query_col *cols) {
    size_t   at = msg_begin(c, 'H');
    wr_sbuf *out = wr_conn_out(c->conn);
    wr_sbuf_addc(out, 0);
    pg_put_i16(out, (int16_t)n);
    for (uint32_t i = 0; i < n; i++) pg_put_i16(out, 0);
    msg_end(c, at);
    if (!p->header) return;
    at = msg_begin(c, 'd');
    for (uint32_t i = 0; i < n; i++) {
        if (i) wr_sbuf_addc(out, p->delimiter);
        wr_sbuf_add_str(out, cols[i].name);
    }
    wr_sbuf_addc(out, '\n');
    msg_end(c, at);
}

/* Rows go out from now on, step by step. */
void portal_send(pg_client *c, pg_portal *p, uint64_t max) {
    uint32_t   n;
    query_col *cols;
    bool       first = p->n_sent == 0 && !p->done;
    c->sending = p;
    c->sending_max = max;
    c->fetched = 0;
    if (c->fetching) return;
    if (p->shape != PG_ROWS) {
        (void)columns_of(c, p->stmt, &n, &cols);
        begin_copy(c, p, n, cols);
    } else if (c->simple && first && columns_of(c, p->stmt, &n, &cols)) {
        send_columns(c, cols, n, NULL, 0);
    }
}

static void put_value(wr_sbuf *out, const query_col *col, const wr_vec *vec, uint32_t row, bool binary, const wr_tz *tz) {
    if (vec->type.id == WR_T_NULL || wr_vec_is_null(vec, row)) {
        pg_put_i32(out, -1);
        return;
    }
    size_t at = out->len;
    pg_put_i32(out, 0);
    if (!binary) pg_put_text(vec, row, tz, out);
    else if (pg_size_of(col->oid) == 4 && vec->type.id == WR_T_BIGINT) pg_put_i32(out, (int32_t)((const int64_t *)vec->data)[row]); /* an OID */
    else pg_put_binary(vec, row, out);
    uint32_t len = __builtin_bswap32((uint32_t)(out->len - at - 4));
    memcpy(out->at + at, &len, 4);
}

static void put_copy_value(wr_sbuf *out, const pg_portal *p, const wr_vec *vec, uint32_t row, const wr_tz *tz, wr_sbuf *text) {
    bool csv = p->shape == PG_COPY_CSV, null = vec->type.id == WR_T_NULL || wr_vec_is_null(vec, row);
    wr_sbuf_clear(text);
    if (null) {
        if (!csv) wr_sbuf_addz(out, "\\N");
        return;
    }
    pg_put_text(vec, row, tz, text);
    bool quote = csv && !text->len;
    for (size_t i = 0; i < text->len && csv; i++) quote |= text->at[i] == p->delimiter || strchr("\"\r\n", text->at[i]) != NULL;
    if (quote) wr_sbuf_addc(out, '"');
    for (size_t i = 0; i < text->len; i++) {
        char ch = text->at[i];
        if (csv && ch == '"') wr_sbuf_addc(out, '"');
        const char *at = csv ? NULL : strchr("\\\t\n\r\b\f\v", ch);
        if (at && ch) wr_sbuf_addc(out, '\\'), ch = "\\tnrbfv"[at - "\\\t\n\r\b\f\v"];
        else if (!csv && ch == p->delimiter) wr_sbuf_addc(out, '\\');
        wr_sbuf_addc(out, ch);
    }
    if (quote) wr_sbuf_addc(out, '"');
}

static void put_row(pg_client *c, pg_portal *p, const query_col *cols, uint32_t n, uint32_t row, const wr_tz *tz, wr_sbuf *text) {
    wr_sbuf *out = wr_conn_out(c->conn);
    size_t   at = msg_begin(c, p->shape == PG_ROWS ? 'D' : 'd');
    if (p->shape == PG_ROWS) pg_put_i16(out, (int16_t)n);
    for (uint32_t i = 0; i < n; i++) {
        if (p->shape == PG_ROWS) {
            put_value(out, &cols[i], &p->batch->cols[i], row, format_of(p->formats, p->n_formats, i) == 1, tz);
        } else {
            if (i) wr_sbuf_addc(out, p->delimiter);
            put_copy_value(out, p, &p->batch->cols[i], row, tz, text);
        }
    }
    if (p->shape != PG_ROWS) wr_sbuf_addc(out, '\n');
    msg_end(c, at);
    p->bytes += out->len - at;
    p->n_sent++, c->fetched++;
}

static void finish(pg_client *c, pg_portal *p) {
    char tag[64];
    if (c->fetching) snprintf(tag, sizeof tag, "FETCH %" PRIu64, c->fetched);
    else if (p->shape != PG_ROWS) snprintf(tag, sizeof tag, "COPY %" PRIu64, p->n_sent);
    else snprintf(tag, sizeof tag, "SELECT %" PRIu64, p->cursor || !c->sending_max ? c->fetched : p->n_sent);
    if (p->shape != PG_ROWS) msg_end(c, msg_begin(c, 'c'));
    if (c->freshness && p->stmt->command == PG_CMD_NONE) say_freshness(c);
    send_complete(c, tag);
    c->fetching = false;
    client_step_done(c);
}

static void suspend(pg_client *c, pg_portal *p) {
    if (c->fetching) {
        finish(c, p);
        return;
    }
    msg_end(c, msg_begin(c, 's'));
    client_step_done(c);
}

/* The columns of SUBSCRIBE in front of the view's. */
void describe_subscription(wr_arena *arena, const wr_view *v, uint32_t *n, query_col **cols) {
    const wr_schema *s = wr_view_schema(v);
    *n = s->n + 2;
    *cols = wr_new_n(arena, query_col, *n);
    (*cols)[0] = (query_col){WR_STR("weir_position"), wr_type_string(), PG_TEXT, -1};
    (*cols)[1] = (query_col){WR_STR("weir_op"), wr_type_string(), PG_TEXT, -1};
    for (uint32_t i = 0; i < s->n; i++) (*cols)[i + 2] = (query_col){s->fields[i].name, s->fields[i].type, pg_oid_of(s->fields[i].type), pg_typmod_of(s->fields[i].type)};
}

static void put_text(wr_sbuf *out, wr_str s) {
    pg_put_i32(out, (int32_t)s.len);
    wr_sbuf_add_str(out, s);
}

/* The changes that there are; a row without an operation says how far it is. */
static bool subscription_step(pg_client *c, pg_portal *p) {
    wr_err   err = {0};
    wr_sbuf *out = wr_conn_out(c->conn);
    char     at_text[64];
    if (atomic_load(&c->stop.asked) || wr_conn_ended(c->conn)) {
        wr_fail(&err, WR_CANCELLED, "57014", "canceling statement due to user request");
        client_failed(c, &err);
        return true;
    }
    const wr_schema *s = wr_view_schema(p->sub_view);
    const wr_tz     *tz = c->tz ? c->tz : wr_view_tz(p->sub_view);
    while (wr_conn_room(c->conn) && (!c->sending_max || c->fetched < c->sending_max)) {
        wr_view_as_of as_of;
        wr_batch     *b = NULL;
        if (wr_view_sub_next(p->sub, true, 1024, &b, &as_of, &err) != WR_OK) {
            client_failed(c, &err);
            return true;
        }
        snprintf(at_text, sizeof at_text, "%" PRIu64 ":%" PRIu64, as_of.run, as_of.version);
        for (uint32_t i = 0; b && i < wr_batch_live(b); i++) {
            uint32_t row = wr_batch_row(b, i);
            size_t   at = msg_begin(c, 'D');
            pg_put_i16(out, (int16_t)(s->n + 2));
            put_text(out, wr_str_of(at_text));
            put_text(out, wr_str_of(wr_kind_text((wr_kind)wr_batch_kind(b, row))));
            for (uint32_t k = 0; k < s->n; k++) {
                query_col col = {.oid = pg_oid_of(s->fields[k].type)};
                put_value(out, &col, &b->cols[k], row, format_of(p->formats, p->n_formats, k + 2) == 1, tz);
            }
            msg_end(c, at);
            p->n_sent++, c->fetched++;
        }
        wr_batch_unref(b);
        bool news = as_of.version != p->as_of.version || as_of.run != p->as_of.run;
        if (!b && news && p->n_sent) { /* all up to this position has been given */
            size_t at = msg_begin(c, 'D');
            pg_put_i16(out, (int16_t)(s->n + 2));
            put_text(out, wr_str_of(at_text));
            for (uint32_t k = 0; k <= s->n; k++) pg_put_i32(out, -1);
            msg_end(c, at);
        }
        if (!b) p->as_of = as_of;
        if (b) continue;
        wr_view_info info;
        wr_view_info_get(p->sub_view, &info);
        if (info.ended && info.as_of.version == as_of.version) {
            p->done = true;
            finish(c, p);
            return true;
        }
        return false; /* a publication wakes the connection */
    }
    if (wr_conn_room(c->conn)) suspend(c, p);
    return true;
}

bool portal_step(pg_client *c) {
    pg_portal   *p = c->sending;
    wr_err       err = {0};
    query_limits limits = limits_of(c);
    uint32_t     n = 0;
    query_col   *cols;
    wr_sbuf      text = {0};
    if (p->sub) return subscription_step(c, p);
    cols = (query_col *)(uintptr_t)query_cols(p->stmt->query, &n); /* of a cursor too */
    const wr_tz *tz = c->tz ? c->tz : p->rows ? p->rows->tz : NULL;
    wr_status    status = WR_OK;
    bool         end = p->done || !p->rows;
    if (!end && atomic_load(&c->stop.asked)) status = wr_fail(&err, WR_CANCELLED, "57014", "canceling statement due to user request");
    while (!end && status == WR_OK && wr_conn_room(c->conn) && (!c->sending_max || c->fetched < c->sending_max)) {
        if (!p->batch) {
            uint64_t most = c->sending_max ? WR_MIN(c->sending_max - c->fetched, (uint64_t)WR_BATCH_MAX) : WR_BATCH_MAX;
            status = p->rows->next(p->rows, (uint32_t)most, &p->batch, &err);
            p->at = 0;
            end = status == WR_OK && !p->batch;
            if (!p->batch) break;
        }
        while (p->at < wr_batch_live(p->batch) && wr_conn_room(c->conn) && (!c->sending_max || c->fetched < c->sending_max)) put_row(c, p, cols, n, wr_batch_row(p->batch, p->at++), tz, &text);
        if (p->at == wr_batch_live(p->batch)) wr_batch_unref(p->batch), p->batch = NULL;
        if (p->n_sent > limits.rows) status = wr_fail(&err, WR_LIMIT, "54000", "the answer has more than the %" PRIu64 " rows that may be asked for at a time", limits.rows);
        else if (p->bytes > limits.bytes) status = wr_fail(&err, WR_LIMIT, "54000", "the answer has more than the %" PRIu64 " bytes that may be asked for at a time", limits.bytes);
    }
    wr_sbuf_free(&text);
    if (status != WR_OK) {
        if (!err.hint[0] && !strcmp(err.code, "54000")) wr_err_hint(&err, "LIMIT, or a condition");
        p->done = true;
        client_failed(c, &err);
    } else if (end) {
        p->done = true;
        if (p->rows) p->rows->free(p->rows), p->rows = NULL;
        finish(c, p);
    } else if (c->sending_max && c->fetched >= c->sending_max) {
        suspend(c, p);
    }
    return true;
}
