/* serve/pg_client.c: one client's messages: startup, authentication, simple and extended queries. See pg.h.
 *
 * Turn       first what is under way (a job, rows that go out, a simple query's next statement), then the next message. It returns to wait for bytes, for room or
 *            to be woken, so a client that sends much or reads slowly keeps nobody.
 * Errors     in the extended protocol the messages up to the next Sync are passed over; in a transaction all statements up to its end are refused.
 * Distrust   lengths are checked against a bound before anything is waited for; every field is read by a reader that knows its end.                    */
#include "serve/pg_parts.h"
#include <stdarg.h>
#include <stdio.h>

static const int64_t IDLE_US = INT64_C(24) * 3600 * 1000000;

/* ---- messages out ---- */
size_t msg_begin(pg_client *c, char type) {
    wr_sbuf *out = wr_conn_out(c->conn);
    wr_sbuf_addc(out, type);
    pg_put_i32(out, 0);
    return out->len - 4;
}

void msg_end(pg_client *c, size_t at) {
    wr_sbuf *out = wr_conn_out(c->conn);
    uint32_t len = __builtin_bswap32((uint32_t)(out->len - at));
    memcpy(out->at + at, &len, 4);
}

static void put_field(wr_sbuf *out, char type, const char *text) {
    if (!text[0]) return;
    wr_sbuf_addc(out, type);
    wr_sbuf_add(out, text, strlen(text) + 1);
}

static const char *sqlstate(const wr_err *err) {
    if (strlen(err->code) == 5) return err->code;
    return err->status == WR_UNSUPPORTED ? "0A000" : err->status == WR_LIMIT ? "53000" : err->status == WR_CANCELLED ? "57014" : err->status == WR_USER ? "42000" : "XX000";
}

void send_error(pg_client *c, const wr_err *err, const char *severity) {
    wr_sbuf *out = wr_conn_out(c->conn);
    size_t   at = msg_begin(c, 'E');
    char     place[16] = "";
    if (err->at.col) snprintf(place, sizeof place, "%u", err->at.col + c->place);
    put_field(out, 'S', severity);
    put_field(out, 'V', severity);
    put_field(out, 'C', sqlstate(err));
    put_field(out, 'M', err->message[0] ? err->message : "the statement failed");
    put_field(out, 'D', err->detail);
    put_field(out, 'H', err->hint);
    put_field(out, 'P', place);
    wr_sbuf_addc(out, 0);
    msg_end(c, at);
}

void send_notice(pg_client *c, const char *fmt, ...) {
    char    text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wr_sbuf *out = wr_conn_out(c->conn);
    size_t   at = msg_begin(c, 'N');
    put_field(out, 'S', "NOTICE");
    put_field(out, 'V', "NOTICE");
    put_field(out, 'C', "00000");
    put_field(out, 'M', text);
    wr_sbuf_addc(out, 0);
    msg_end(c, at);
}

static void put_z(wr_sbuf *out, wr_str s) {
    wr_sbuf_add_str(out, s);
    wr_sbuf_addc(out, 0);
}

void send_complete(pg_client *c, const char *tag) {
    size_t at = msg_begin(c, 'C');
    put_z(wr_conn_out(c->conn), wr_str_of(tag));
    msg_end(c, at);
}

void send_parameter(pg_client *c, const char *name, wr_str value) {
    size_t at = msg_begin(c, 'S');
    put_z(wr_conn_out(c->conn), wr_str_of(name));
    put_z(wr_conn_out(c->conn), value);
    msg_end(c, at);
}

static void send_ready(pg_client *c) {
    size_t at = msg_begin(c, 'Z');
    wr_sbuf_addc(wr_conn_out(c->conn), c->txn);
    msg_end(c, at);
}

static void send_bare(pg_client *c, char type) { msg_end(c, msg_begin(c, type)); }

static void fatal(pg_client *c, const wr_err *err) {
    send_error(c, err, "FATAL");
    c->state = PG_CLOSING;
}

WR_PRINTF(3, 4) static void fatal_because(pg_client *c, const char *code, const char *fmt, ...) {
    char    text[300];
    wr_err  err = {0};
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wr_fail(&err, WR_USER, code, "%s", text);
    fatal(c, &err);
}

/* ---- fields in ---- */
typedef struct fields { const char *at, *end; bool bad; } fields;

static int32_t get_int(fields *f, size_t size) {
    uint32_t v = 0;
    if ((size_t)(f->end - f->at) < size) return f->bad = true, f->at = f->end, 0;
    for (size_t i = 0; i < size; i++) v = v << 8 | (uint8_t)*f->at++;
    return size == 2 ? (int16_t)v : (int32_t)v;
}

static wr_str get_z(fields *f) {
    const char *end = f->at < f->end ? memchr(f->at, 0, (size_t)(f->end - f->at)) : NULL;
    if (!end) return f->bad = true, f->at = f->end, WR_STR("");
    wr_str s = {f->at, (size_t)(end - f->at)};
    f->at = end + 1;
    return s;
}

static wr_str get_bytes(fields *f, int32_t len) {
    if (len < 0 || f->end - f->at < len) return f->bad = true, f->at = f->end, WR_STR("");
    wr_str s = {f->at, (size_t)len};
    f->at += len;
    return s;
}

static void name_into(char out[PG_NAME_MAX], wr_str s) { snprintf(out, PG_NAME_MAX, "%.*s", WR_FMT(s)); }

/* ---- startup ---- */
static void greet(pg_client *c) {
    static const char *const reported[] = {"server_version", "server_encoding", "client_encoding", "application_name", "default_transaction_read_only", "in_hot_standby", "is_superuser", "session_authorization",
                                           "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings"};
    wr_err   err = {0};
    wr_sbuf *out = wr_conn_out(c->conn);
    if (!server_admit(c, &err)) {
        fatal(c, &err);
        return;
    }
    size_t at = msg_begin(c, 'R');
    pg_put_i32(out, 0);
    msg_end(c, at);
    for (size_t i = 0; i < WR_COUNT_OF(reported); i++) send_parameter(c, reported[i], wr_str_of(setting_get(c, wr_str_of(reported[i]))));
    at = msg_begin(c, 'K');
    pg_put_i32(out, (int32_t)c->pid);
    pg_put_i32(out, (int32_t)c->secret);
    msg_end(c, at);
    send_ready(c);
    c->state = PG_READY;
    wr_conn_limits(c->conn, PG_MESSAGE_MAX + 5, IDLE_US);
}

static void ask_sasl(pg_client *c) {
    wr_sbuf *out = wr_conn_out(c->conn);
    size_t   at = msg_begin(c, 'R');
    c->user = wr_users_find(c->server->opts.users, wr_str_of(c->user_name));
    wr_scram_server_begin(&c->scram, c->server->opts.users, c->user, wr_str_of(c->user_name));
    pg_put_i32(out, 10);
    put_z(out, WR_STR("SCRAM-SHA-256"));
    wr_sbuf_addc(out, 0);
    msg_end(c, at);
    c->state = PG_SASL_FIRST;
}

static bool take_startup_fields(pg_client *c, fields *f) {
    while (f->at < f->end && *f->at) {
        wr_str name = get_z(f), value = get_z(f);
        wr_err err = {0};
        if (f->bad) break;
        if (wr_str_eq(name, WR_STR("user"))) name_into(c->user_name, value);
        else if (wr_str_eq(name, WR_STR("database"))) name_into(c->database, value);
        else if (wr_str_eq(name, WR_STR("replication"))) {
            if (wr_str_ieq(value, WR_STR("false")) || wr_str_eq(value, WR_STR("0")) || wr_str_ieq(value, WR_STR("off"))) continue;
            fatal_because(c, "0A000", "there is no replication; SUBSCRIBE TO a view gives its changes");
            return false;
        } else if (!wr_str_eq(name, WR_STR("options")) && !wr_str_starts(name, WR_STR("_pq_.")) && setting_set(c, name, value, &err) != WR_OK) {
            fatal(c, &err);
            return false;
        }
    }
    if (f->bad || !c->user_name[0]) {
        fatal_because(c, f->bad ? "08P01" : "28000", f->bad ? "invalid startup packet" : "no user name was given");
        return false;
    }
    if (!c->database[0]) snprintf(c->database, sizeof c->database, "%s", c->server->opts.database);
    return true;
}

static void startup(pg_client *c, fields *f) {
    enum { SSL_REQUEST = 80877103, GSS_REQUEST = 80877104, CANCEL_REQUEST = 80877102 };
    int32_t  code = get_int(f, 4);
    wr_sbuf *out = wr_conn_out(c->conn);
    if (code == CANCEL_REQUEST) {
        uint32_t pid = (uint32_t)get_int(f, 4), secret = (uint32_t)get_int(f, 4);
        if (!f->bad) server_cancel(c->server, pid, secret);
        c->state = PG_CLOSING;
    } else if (code == GSS_REQUEST || code == SSL_REQUEST) {
        bool tls = code == SSL_REQUEST && wr_conn_can_tls(c->conn);
        wr_sbuf_addc(out, tls ? 'S' : 'N');
        if (tls && wr_conn_in(c->conn).len) c->state = PG_CLOSING; /* bytes from before the handshake would count as secured */
        else if (tls) wr_conn_start_tls(c->conn);
    } else if (code >> 16 != 3) {
        fatal_because(c, "0A000", "unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code >> 16, code & 0xFFFF);
    } else {
        if (code & 0xFFFF) { /* a newer minor version: this is 3.0 */
            size_t at = msg_begin(c, 'v');
            pg_put_i32(out, 3 << 16);
            pg_put_i32(out, 0);
            msg_end(c, at);
        }
        if (!take_startup_fields(c, f)) return;
        if (c->server->opts.cert_file && c->server->opts.users && !wr_conn_is_local(c->conn) && !wr_conn_is_tls(c->conn)) fatal_because(c, "28000", "connections from other machines must use TLS: sslmode=require");
        else if (c->server->opts.users) ask_sasl(c);
        else greet(c);
    }
}

static void sasl(pg_client *c, fields *f) {
    wr_sbuf answer = {0}, *out = wr_conn_out(c->conn);
    bool    first = c->state == PG_SASL_FIRST, ok;
    wr_str  mechanism = WR_STR("SCRAM-SHA-256"), message;
    if (first) {
        mechanism = get_z(f);
        message = get_bytes(f, get_int(f, 4));
    } else {
        message = (wr_str){f->at, (size_t)(f->end - f->at)};
    }
    ok = !f->bad && wr_str_eq(mechanism, WR_STR("SCRAM-SHA-256")) && (first ? wr_scram_server_first(&c->scram, c->server->opts.world, message, &answer) : wr_scram_server_final(&c->scram, message, &answer));
    if (ok) {
        size_t at = msg_begin(c, 'R');
        pg_put_i32(out, first ? 11 : 12);
        wr_sbuf_add_str(out, wr_sbuf_str(&answer));
        msg_end(c, at);
        if (first) c->state = PG_SASL_FINAL;
        else greet(c);
    } else if (f->bad || first) {
        fatal_because(c, "08P01", "malformed SCRAM message");
    } else {
        fatal_because(c, "28P01", "password authentication failed for user \"%s\"", c->user_name);
    }
    wr_sbuf_free(&answer);
}

/* ---- statements ---- */
void client_failed(pg_client *c, const wr_err *err) {
    send_error(c, err, "ERROR");
    if (c->txn == 'T') c->txn = 'E';
    c->sending = NULL, c->fetching = false;
    if (c->simple) {
        c->script_at = c->script_toks.list.n; /* the rest is not run */
        client_step_done(c);
    } else {
        c->skip = true;
    }
}

static bool aborted(pg_client *c, const pg_stmt *s) {
    if (c->txn != 'E' || s->command == PG_CMD_COMMIT || s->command == PG_CMD_ROLLBACK || s->command == PG_CMD_ROLLBACK_TO || s->command == PG_CMD_EMPTY) return false;
    wr_err err = {0};
    wr_fail(&err, WR_USER, "25P02", "current transaction is aborted, commands ignored until end of transaction block");
    client_failed(c, &err);
    return true;
}

/* The portal is run; what there is goes out. */
static void execute(pg_client *c, pg_portal *p, uint64_t max) {
    wr_err err = {0};
    if (aborted(c, p->stmt)) return;
    if (!p->started) c->n_statements++;
    if (p->stmt->command == PG_CMD_EMPTY) {
        send_bare(c, 'I');
        client_step_done(c);
    } else if (p->stmt->command != PG_CMD_NONE && p->stmt->command != PG_CMD_COPY && p->stmt->command != PG_CMD_SUBSCRIBE) {
        if (!command_run(c, p, max, &err)) client_failed(c, &err);
    } else {
        c->sending_max = max;
        (void)portal_run(c, p, PG_THEN_RUN);
    }
}

static bool script_left(const pg_client *c) { return c->script_at + 1 < c->script_toks.list.n; }

/* The next statement of a simple query: cut at ';', prepared and run. */
static void script_next(pg_client *c) {
    wr_err        err = {0};
    const pg_tok *t = c->script_toks.list.at;
    while (pg_is_char(&t[c->script_at], ';')) c->script_at++;
    uint32_t from = c->script_at, end = from;
    if (t[from].kind == PG_END) {
        if (!c->n_statements) send_bare(c, 'I');
        client_step_done(c);
        return;
    }
    while (t[end].kind != PG_END && !pg_is_char(&t[end], ';')) end++;
    c->script_at = end;
    c->n_statements++;
    c->place = t[from].at;
    portal_drop(c, portal_find(c, ""));
    pg_stmt *s = stmt_new(c, "", (wr_str){c->script_text.ptr + t[from].at, t[end].at - t[from].at}, NULL, 0, &err);
    if (!s) {
        client_failed(c, &err);
        return;
    }
    if (!aborted(c, s)) {
        const uint32_t *oids;
        if (s->query && query_params(s->query, &oids)) {
            wr_fail(&err, WR_USER, "42P02", "there is no parameter $1");
            client_failed(c, &err);
        } else {
            execute(c, portal_new(c, "", s), 0);
        }
    }
    stmt_unref(s);
}

void client_step_done(pg_client *c) {
    c->sending = NULL;
    if (!c->simple || script_left(c)) return; /* the turn goes on with it */
    c->simple = false;
    c->n_statements = 0, c->place = 0;
    wr_arena_free(c->script);
    c->script = NULL;
    portal_drop(c, portal_find(c, ""));
    send_ready(c);
}

static void on_query(pg_client *c, fields *f) {
    wr_str   sql = get_z(f);
    uint32_t at = 0;
    wr_err   err = {0};
    c->script = wr_arena_new(NULL);
    c->script_text = wr_str_dup(c->script, sql);
    c->script_at = 0, c->simple = true, c->n_statements = 0, c->place = 0;
    if (pg_lex(c->script, c->script_text, &c->script_toks, &at, &err) == WR_OK) return;
    err.at.col = at + 1;
    c->script_at = c->script_toks.list.n;
    client_failed(c, &err);
}

/* ---- extended queries ---- */
static void on_parse(pg_client *c, fields *f) {
    wr_str   name = get_z(f), sql = get_z(f);
    int32_t  n = get_int(f, 2);
    uint32_t oids[QUERY_OIDS_MAX];
    wr_err   err = {0};
    char     key[PG_NAME_MAX];
    for (int32_t i = 0; i < n && i < QUERY_OIDS_MAX; i++) oids[i] = (uint32_t)get_int(f, 4);
    if (f->bad || n < 0 || n > QUERY_OIDS_MAX) {
        fatal_because(c, "08P01", "invalid Parse message");
        return;
    }
    name_into(key, name);
    if (key[0] && stmt_find(c, key)) {
        wr_fail(&err, WR_USER, "42P05", "prepared statement \"%s\" already exists", key);
        client_failed(c, &err);
        return;
    }
    if (c->n_stmts >= PG_STATEMENTS_MAX) {
        wr_fail(&err, WR_LIMIT, "54000", "a client has at most %d prepared statements", PG_STATEMENTS_MAX);
        client_failed(c, &err);
        return;
    }
    pg_stmt *s = stmt_new(c, key, sql, oids, (uint32_t)n, &err);
    if (!s) client_failed(c, &err);
    else if (aborted(c, s)) stmt_unref(s);
    else stmt_keep(c, s), send_bare(c, '1');
}

static bool take_params(pg_client *c, pg_portal *p, fields *f, wr_err *err) {
    const uint32_t *oids = NULL;
    uint32_t        wanted = p->stmt->query ? query_params(p->stmt->query, &oids) : 0;
    int32_t         n_formats = get_int(f, 2);
    int16_t         formats[QUERY_OIDS_MAX];
    for (int32_t i = 0; i < n_formats && i < QUERY_OIDS_MAX; i++) formats[i] = (int16_t)get_int(f, 2);
    int32_t n = get_int(f, 2);
    if (f->bad || n < 0 || n_formats < 0 || n > QUERY_OIDS_MAX || n_formats > QUERY_OIDS_MAX) return wr_fail(err, WR_USER, "08P01", "invalid Bind message"), false;
    if ((uint32_t)n != wanted) return wr_fail(err, WR_USER, "08P01", "bind message supplies %d parameters, but prepared statement \"%s\" requires %u", n, p->stmt->name, wanted), false;
    p->params = wr_new_n(p->arena, wr_value, wanted + 1);
    p->n_params = wanted;
    for (int32_t i = 0; i < n; i++) {
        int32_t len = get_int(f, 4);
        int16_t format = n_formats == 0 ? 0 : n_formats == 1 ? formats[0] : i < n_formats ? formats[i] : 0;
        wr_type type = query_param_type(p->stmt->query, (uint32_t)i);
        if (len == -1) {
            p->params[i] = wr_value_null(type);
            continue;
        }
        wr_str bytes = get_bytes(f, len);
        if (f->bad) return wr_fail(err, WR_USER, "08P01", "invalid Bind message"), false;
        if (format == 0 ? pg_parse_text(p->arena, type, bytes, c->tz, &p->params[i], err) : pg_parse_binary(p->arena, oids[i], bytes, &p->params[i], err)) return false;
    }
    return true;
}

static void on_bind(pg_client *c, fields *f) {
    wr_str     name = get_z(f), from = get_z(f);
    wr_err     err = {0};
    char       key[PG_NAME_MAX];
    name_into(key, from);
    pg_stmt *s = stmt_find(c, key);
    if (!s) {
        wr_fail(&err, WR_USER, "26000", "prepared statement \"%s\" does not exist", key);
        client_failed(c, &err);
        return;
    }
    name_into(key, name);
    if (key[0] && portal_find(c, key)) {
        wr_fail(&err, WR_USER, "42P03", "cursor \"%s\" already exists", key);
        client_failed(c, &err);
        return;
    }
    if (c->n_portals >= PG_PORTALS_MAX) {
        wr_fail(&err, WR_LIMIT, "54000", "a client has at most %d portals", PG_PORTALS_MAX);
        client_failed(c, &err);
        return;
    }
    portal_drop(c, portal_find(c, key));
    pg_portal *p = portal_new(c, key, s);
    bool       ok = take_params(c, p, f, &err);
    int32_t    n = ok ? get_int(f, 2) : 0;
    p->formats = wr_new_n(p->arena, int16_t, (size_t)WR_MAX(n, 0) + 1);
    p->n_formats = (uint32_t)WR_MAX(n, 0);
    for (int32_t i = 0; i < n && ok; i++) p->formats[i] = (int16_t)get_int(f, 2);
    if (ok && f->bad) wr_fail(&err, WR_USER, "08P01", "invalid Bind message"), ok = false;
    if (ok) {
        send_bare(c, '2');
    } else {
        portal_drop(c, p);
        client_failed(c, &err);
    }
}

static void on_describe(pg_client *c, fields *f) {
    char   what = f->at < f->end ? *f->at++ : 0, key[PG_NAME_MAX];
    wr_err err = {0};
    name_into(key, get_z(f));
    pg_stmt   *s = what == 'S' ? stmt_find(c, key) : NULL;
    pg_portal *p = what == 'P' ? portal_find(c, key) : NULL;
    if (!s && !p) {
        if (what == 'S') wr_fail(&err, WR_USER, "26000", "prepared statement \"%s\" does not exist", key);
        else wr_fail(&err, WR_USER, "34000", "portal \"%s\" does not exist", key);
        client_failed(c, &err);
        return;
    }
    if (p) s = p->stmt;
    if (aborted(c, s)) return;
    c->sending = p;
    if (describe_later(c, s, p ? PG_THEN_DESCRIBE_PORTAL : PG_THEN_DESCRIBE_STMT)) return;
    c->sending = NULL;
    describe_stmt(c, s, p);
}

static void on_execute(pg_client *c, fields *f) {
    char   key[PG_NAME_MAX];
    wr_err err = {0};
    name_into(key, get_z(f));
    int32_t    max = get_int(f, 4);
    pg_portal *p = portal_find(c, key);
    if (!p) {
        wr_fail(&err, WR_USER, "34000", "portal \"%s\" does not exist", key);
        client_failed(c, &err);
        return;
    }
    execute(c, p, max > 0 ? (uint64_t)max : 0);
}

static void on_close(pg_client *c, fields *f) {
    char what = f->at < f->end ? *f->at++ : 0, key[PG_NAME_MAX];
    name_into(key, get_z(f));
    if (what == 'S') stmt_drop(c, key);
    else portal_drop(c, portal_find(c, key));
    send_bare(c, '3');
}

static void on_sync(pg_client *c) {
    c->skip = false;
    if (c->txn == 'I') portals_drop(c, false);
    send_ready(c);
}

static void message(pg_client *c, char type, fields *f) {
    if (type == 'X') {
        c->state = PG_CLOSING;
        return;
    }
    if (c->state != PG_READY) {
        if (type == 'p') sasl(c, f);
        else fatal_because(c, "08P01", "expected an answer to the authentication request, got message type %d", type);
        return;
    }
    if (c->skip && type != 'S') return;
    switch (type) {
    case 'Q': on_query(c, f); break;
    case 'P': on_parse(c, f); break;
    case 'B': on_bind(c, f); break;
    case 'D': on_describe(c, f); break;
    case 'E': on_execute(c, f); break;
    case 'C': on_close(c, f); break;
    case 'S': on_sync(c); break;
    case 'H': break; /* what there is goes out anyway */
    case 'd':
    case 'c':
    case 'f': break; /* of a COPY that was refused */
    case 'F': fatal_because(c, "0A000", "function calls are not supported"); break;
    default: fatal_because(c, "08P01", "invalid frontend message type %d", type); break;
    }
}

/* Takes the next message, if it is all there. */
static bool next_message(pg_client *c) {
    wr_str   in = wr_conn_in(c->conn);
    size_t   head = c->state == PG_STARTUP ? 0 : 1, most = c->state == PG_STARTUP ? PG_STARTUP_MAX : c->state == PG_READY ? PG_MESSAGE_MAX : PG_STARTUP_MAX;
    if (in.len < head + 4) return false;
    fields   f = {in.ptr + head, in.ptr + head + 4, false};
    uint32_t len = (uint32_t)get_int(&f, 4);
    if (len < 4 || len > most) {
        fatal_because(c, "08P01", "a message of %u bytes is not taken", len);
        return true;
    }
    if (in.len < head + len) return false;
    wr_str copy = {wr_malloc(len), len}; /* what is done may look at the input again (TLS) */
    memcpy((char *)(uintptr_t)copy.ptr, in.ptr + head, len);
    char type = head ? in.ptr[0] : 0;
    wr_conn_take(c->conn, head + len);
    fields body = {copy.ptr + 4, copy.ptr + len, false};
    if (head) message(c, type, &body);
    else startup(c, &body);
    wr_free((char *)(uintptr_t)copy.ptr);
    return true;
}

/* ---- jobs that are through ---- */
static void job_done(pg_client *c) {
    pg_job  *j = &c->job;
    pg_stmt *s = c->job_stmt;
    pg_portal *p = c->sending;
    c->working = false, c->job_stmt = NULL;
    c->stop.until_us = 0;
    if (j->status != WR_OK) {
        if (p && c->then == PG_THEN_DECLARE) portal_drop(c, p);
        client_failed(c, &j->err);
    } else if (c->then == PG_THEN_DESCRIBE_STMT || c->then == PG_THEN_DESCRIBE_PORTAL) {
        c->sending = NULL;
        describe_stmt(c, s, c->then == PG_THEN_DESCRIBE_PORTAL ? p : NULL);
    } else if (c->then == PG_THEN_DECLARE) {
        p->rows = j->rows, p->started = true;
        send_complete(c, "DECLARE CURSOR");
        client_step_done(c);
    } else {
        p->rows = j->rows, p->started = true;
        portal_send(c, p, c->sending_max);
    }
    j->rows = NULL;
    stmt_unref(s);
}

/* ---- turns ---- */
static pg_client *client_new(pg_server *s, wr_conn *conn) {
    pg_client *c = wr_calloc(1, sizeof *c);
    *c = (pg_client){.server = s, .conn = conn, .arena = wr_arena_new(NULL), .txn = 'I', .secret = (uint32_t)s->opts.world->vt->random(s->opts.world)};
    query_stop_init(&c->stop);
    c->job.client = c;
    wr_conn_limits(conn, PG_STARTUP_MAX + 5, INT64_C(10) * 1000000);
    wr_mutex_lock(s->lock);
    c->pid = ++s->next_pid;
    c->next = s->clients;
    if (s->clients) s->clients->prev = c;
    s->clients = c;
    wr_mutex_unlock(s->lock);
    *wr_conn_user(conn) = c;
    return c;
}

wr_conn_next client_turn(void *server, wr_conn *conn) {
    pg_client *c = *wr_conn_user(conn);
    if (!c) c = client_new(server, conn);
    for (;;) {
        if (c->state == PG_CLOSING) return WR_CONN_CLOSE;
        if (c->working) {
            if (!atomic_load(&c->job.done)) return WR_CONN_PARK;
            job_done(c);
            continue;
        }
        if (c->sending) {
            if (!wr_conn_room(conn) && !wr_conn_ended(conn)) return WR_CONN_WRITE;
            if (!portal_step(c)) return WR_CONN_PARK;
            continue;
        }
        if (c->simple) {
            script_next(c);
            continue;
        }
        if (!wr_conn_room(conn) && !wr_conn_ended(conn)) return WR_CONN_WRITE;
        if (!next_message(c)) return WR_CONN_READ;
    }
}

void client_gone(void *server, wr_conn *conn) {
    pg_client *c = *wr_conn_user(conn);
    (void)server;
    if (!c) return;
    query_stop_ask(&c->stop);
    if (!c->working) wr_conn_wake(conn); /* a subscription: nobody else would */
}

void client_closed(void *server, wr_conn *conn) {
    pg_server *s = server;
    pg_client *c = *wr_conn_user(conn);
    if (!c) return;
    wr_mutex_lock(s->lock);
    if (c->prev) c->prev->next = c->next;
    else s->clients = c->next;
    if (c->next) c->next->prev = c->prev;
    if (c->counted) {
        s->n_ready--;
        if (c->user) s->user_connections[c->user - wr_users_at(s->opts.users, 0)]--;
    }
    wr_mutex_unlock(s->lock);
    if (c->job.rows) c->job.rows->free(c->job.rows);
    stmt_unref(c->job_stmt);
    portals_drop(c, true);
    stmt_drop(c, NULL);
    query_snapshot_free(c->snapshot);
    wr_arena_free(c->script);
    wr_arena_free(c->arena);
    query_stop_free(&c->stop);
    wr_free(c);
}
