/* serve/pg_command.c: statements that are not SELECT: what clients send about their session, cursors, COPY and SUBSCRIBE. See pg.h.
 *
 * Settings   any name may be set, as clients set much; those that change something here are checked: TimeZone, client_encoding, statement_timeout, weir.freshness.
 * Cursors    DECLARE makes a portal by the cursor's name; it needs a transaction, or WITH HOLD.                                        */
#include "serve/pg_parts.h"
#include "serve/query_parts.h"
#include "type/number.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct { const char *name, *value; bool reported; } SETTINGS[] = {
    {"server_version", "15.0 (weir)", true}, {"server_version_num", "150000", false}, {"server_encoding", "UTF8", true}, {"client_encoding", "UTF8", true}, {"application_name", "", true},
    {"default_transaction_read_only", "on", true}, {"transaction_read_only", "on", false}, {"in_hot_standby", "off", true}, {"is_superuser", "off", true}, {"session_authorization", "", true}, {"DateStyle", "ISO, MDY", true},
    {"IntervalStyle", "postgres", true}, {"TimeZone", "UTC", true}, {"integer_datetimes", "on", true}, {"standard_conforming_strings", "on", true}, {"bytea_output", "hex", false}, {"extra_float_digits", "1", false},
    {"search_path", "\"$user\", public", false}, {"transaction_isolation", "repeatable read", false}, {"default_transaction_isolation", "repeatable read", false}, {"statement_timeout", "0", false}, {"lock_timeout", "0", false},
    {"idle_in_transaction_session_timeout", "0", false}, {"max_identifier_length", "63", false}, {"max_index_keys", "32", false}, {"block_size", "8192", false}, {"lc_collate", "C.UTF-8", false}, {"lc_ctype", "C.UTF-8", false},
    {"lc_messages", "C", false}, {"lc_monetary", "C", false}, {"lc_numeric", "C", false}, {"lc_time", "C", false}, {"row_security", "on", false}, {"client_min_messages", "notice", false}, {"escape_string_warning", "on", false},
    {"backslash_quote", "safe_encoding", false}, {"jit", "off", false}, {"ssl", "off", false}, {"port", "5432", false}, {"role", "none", false}, {"wal_level", "minimal", false}, {"transaction_deferrable", "off", false}, {"weir.freshness", "off", false},
};

/* ---- settings ---- */
const char *setting_get(pg_client *c, wr_str name) {
    if (wr_str_ieq(name, WR_STR("session_authorization"))) return c->user_name;
    for (uint32_t i = 0; i < c->settings.n; i++)
        if (wr_str_ieq(c->settings.at[i].name, name)) return c->settings.at[i].value.ptr;
    for (size_t i = 0; i < WR_COUNT_OF(SETTINGS); i++)
        if (wr_str_ieq(wr_str_of(SETTINGS[i].name), name)) return SETTINGS[i].value;
    return NULL;
}

static bool is_on(wr_str v) { return wr_str_ieq(v, WR_STR("on")) || wr_str_ieq(v, WR_STR("true")) || wr_str_eq(v, WR_STR("1")) || wr_str_ieq(v, WR_STR("yes")); }

/* Names of encodings are compared without regard to case, and to what is neither letter nor digit, as PostgreSQL does. */
static bool is_utf8(wr_str v) {
    static const char *const names[] = {"utf8", "unicode", "sqlascii", "default"};
    char   text[16];
    size_t n = 0;
    for (size_t i = 0; i < v.len && n < sizeof text; i++) {
        char c = (char)(v.ptr[i] | 32);
        if ((c >= 'a' && c <= 'z') || (v.ptr[i] >= '0' && v.ptr[i] <= '9')) text[n++] = c;
    }
    for (size_t i = 0; i < WR_COUNT_OF(names); i++)
        if (wr_str_eq((wr_str){text, n}, wr_str_of(names[i]))) return true;
    return false;
}

static wr_status take_setting(pg_client *c, wr_str name, wr_str *value, wr_err *err) {
    int64_t n = 0;
    if (wr_str_ieq(name, WR_STR("timezone"))) {
        const wr_tz *tz = NULL;
        wr_str       v = wr_str_ieq(*value, WR_STR("default")) || wr_str_ieq(*value, WR_STR("local")) || wr_str_ieq(*value, WR_STR("localtime")) || wr_str_ieq(*value, WR_STR("Etc/UTC")) ? WR_STR("UTC") : *value;
        wr_err       ignored;
        if (wr_tz_load(c->server->opts.world, v, &tz, &ignored) != WR_OK) return wr_fail(err, WR_USER, "22023", "invalid value for parameter \"TimeZone\": \"%.*s\"", WR_FMT(*value));
        c->tz = tz;
    } else if (wr_str_ieq(name, WR_STR("client_encoding"))) {
        if (!is_utf8(*value)) return wr_fail(err, WR_USER, "22023", "invalid value for parameter \"client_encoding\": \"%.*s\"; texts are UTF8", WR_FMT(*value));
        *value = WR_STR("UTF8");
    } else if (wr_str_ieq(name, WR_STR("statement_timeout"))) {
        if (!wr_parse_i64(*value, &n) && !wr_parse_duration(*value, &n)) return wr_fail(err, WR_USER, "22023", "invalid value for parameter \"statement_timeout\": \"%.*s\"", WR_FMT(*value));
        c->timeout_us = wr_parse_i64(*value, &n) ? WR_MIN(n, INT64_C(1000000000)) * 1000 : n;
    } else if (wr_str_ieq(name, WR_STR("weir.freshness"))) {
        c->freshness = is_on(*value);
    } else if (wr_str_ieq(name, WR_STR("transaction_read_only")) || wr_str_ieq(name, WR_STR("default_transaction_read_only"))) {
        *value = WR_STR("on");
    }
    return WR_OK;
}

wr_status setting_set(pg_client *c, wr_str name, wr_str value, wr_err *err) {
    WR_TRY(take_setting(c, name, &value, err));
    pg_setting *s = NULL;
    for (uint32_t i = 0; i < c->settings.n; i++)
        if (wr_str_ieq(c->settings.at[i].name, name)) s = &c->settings.at[i];
    if (wr_arena_bytes(c->arena) > (1 << 20) || (!s && c->settings.n >= 500)) return wr_fail(err, WR_LIMIT, "54000", "a session has too many settings");
    if (!s) {
        wr_arr_apush(c->arena, &c->settings, (pg_setting){wr_str_dup(c->arena, name), {0}});
        s = &c->settings.at[c->settings.n - 1];
    }
    if (s->value.ptr && wr_str_eq(s->value, value)) return WR_OK;
    s->value = (wr_str){wr_arena_strndup(c->arena, value.ptr, value.len), value.len};
    for (size_t i = 0; c->state == PG_READY && i < WR_COUNT_OF(SETTINGS); i++)
        if (SETTINGS[i].reported && wr_str_ieq(wr_str_of(SETTINGS[i].name), name)) send_parameter(c, SETTINGS[i].name, s->value);
    return WR_OK;
}

static void reset_all(pg_client *c) {
    c->settings.n = 0;
    c->tz = NULL, c->timeout_us = 0, c->freshness = false;
}

/* ---- transactions ---- */
void transaction_end(pg_client *c) {
    if (c->txn != 'I')
        for (pg_portal *p = c->portals, *next; p; p = next) {
            next = p->next;
            if (p->name[0] && !p->held) portal_drop(c, p);
        }
    c->txn = 'I';
    query_snapshot_free(c->snapshot);
    c->snapshot = NULL;
}

/* ---- which one ---- */
pg_command command_of(const pg_toks *toks, const char **tag) {
    static const struct { const char *word; pg_command command; const char *tag; } words[] = {
        {"begin", PG_CMD_BEGIN, "BEGIN"}, {"start", PG_CMD_BEGIN, "START TRANSACTION"}, {"commit", PG_CMD_COMMIT, "COMMIT"}, {"end", PG_CMD_COMMIT, "COMMIT"}, {"rollback", PG_CMD_ROLLBACK, "ROLLBACK"},
        {"abort", PG_CMD_ROLLBACK, "ROLLBACK"}, {"savepoint", PG_CMD_SAVEPOINT, "SAVEPOINT"}, {"release", PG_CMD_SAVEPOINT, "RELEASE"}, {"set", PG_CMD_SET, "SET"}, {"reset", PG_CMD_SET, "RESET"}, {"show", PG_CMD_SHOW, "SHOW"},
        {"discard", PG_CMD_DISCARD, "DISCARD ALL"}, {"deallocate", PG_CMD_DEALLOCATE, "DEALLOCATE"}, {"close", PG_CMD_CLOSE, "CLOSE CURSOR"}, {"declare", PG_CMD_DECLARE, "DECLARE CURSOR"}, {"fetch", PG_CMD_FETCH, "FETCH"},
        {"move", PG_CMD_FETCH, "MOVE"}, {"copy", PG_CMD_COPY, "COPY"}, {"subscribe", PG_CMD_SUBSCRIBE, "SUBSCRIBE"}, {"listen", PG_CMD_NOTHING, "LISTEN"}, {"unlisten", PG_CMD_NOTHING, "UNLISTEN"}, {"checkpoint", PG_CMD_NOTHING, "CHECKPOINT"},
    };
    const pg_tok *t = toks->list.at;
    if (t[0].kind == PG_END) return *tag = "", PG_CMD_EMPTY;
    if (pg_is(t, "rollback")) {
        uint32_t i = pg_is(&t[1], "work") || pg_is(&t[1], "transaction") ? 2 : 1;
        if (pg_is(&t[i], "to")) return *tag = "ROLLBACK", PG_CMD_ROLLBACK_TO;
    }
    for (size_t i = 0; i < WR_COUNT_OF(words); i++)
        if (pg_is(t, words[i].word)) return *tag = words[i].tag, words[i].command;
    return PG_CMD_NONE;
}

static wr_str from_token(const pg_stmt *s, uint32_t i) { return (wr_str){s->sql.ptr + s->toks.list.at[i].at, s->sql.len - s->toks.list.at[i].at}; }

/* COPY ( query ) TO STDOUT ..., COPY view TO STDOUT ... */
static bool prepare_copy(pg_client *c, pg_stmt *s, wr_err *err) {
    const pg_tok *t = s->toks.list.at;
    uint32_t      i = 1, depth = 0;
    wr_str        inner;
    if (pg_is_char(&t[1], '(')) {
        do {
            depth += pg_is_char(&t[i], '(') ? 1 : 0;
            depth -= pg_is_char(&t[i], ')') ? 1 : 0;
        } while (depth && t[++i].kind != PG_END);
        inner = (wr_str){s->sql.ptr + t[2].at, t[i].at - t[2].at};
        i++;
    } else {
        while (pg_is_name(&t[i]) && pg_is_char(&t[i + 1], '.')) i += 2;
        if (!pg_is_name(&t[i])) return query_fail_at(&t[i], err, "42601", "syntax error at or near \"%.*s\"", WR_FMT(t[i].text)), false;
        inner = wr_str_of(wr_arena_printf(s->arena, "SELECT * FROM %.*s", (int)(t[i].at + t[i].text.len - t[1].at), s->sql.ptr + t[1].at));
        i++;
    }
    if (depth || t[i - 1].kind == PG_END || !pg_is(&t[i], "to") || !pg_is(&t[i + 1], "stdout")) {
        query_fail_at(&t[WR_MIN(i, s->toks.list.n - 1)], err, "0A000", "only COPY (query) TO STDOUT and COPY view TO STDOUT are supported");
        return false;
    }
    return query_new(c->server->opts.db, inner, NULL, 0, &s->query, err) == WR_OK;
}

bool command_prepare(pg_client *c, pg_stmt *s, wr_err *err) {
    const pg_tok *t = s->toks.list.at;
    if (s->command == PG_CMD_COPY) return prepare_copy(c, s, err);
    if (s->command != PG_CMD_DECLARE) return true;
    uint32_t i = 1;
    while (t[i].kind != PG_END && !pg_is(&t[i], "for")) i++;
    if (t[i].kind == PG_END || t[i + 1].kind == PG_END || !pg_is_name(&t[1])) return query_fail_at(&t[i], err, "42601", "expected DECLARE name CURSOR FOR query"), false;
    return query_new(c->server->opts.db, from_token(s, i + 1), NULL, 0, &s->query, err) == WR_OK;
}

/* ---- SHOW ---- */
static wr_str shown(pg_client *c, const pg_stmt *s, const char **value) {
    const pg_tok *t = s->toks.list.at;
    wr_str        name = {0};
    if (pg_is(&t[1], "transaction") && pg_is(&t[2], "isolation")) name = WR_STR("transaction_isolation");
    else if (pg_is(&t[1], "time") && pg_is(&t[2], "zone")) name = WR_STR("TimeZone");
    else if (pg_is(&t[1], "session") && pg_is(&t[2], "authorization")) name = WR_STR("session_authorization");
    else if (pg_is_name(&t[1])) {
        const pg_tok *last = &t[1];
        while (pg_is_char(last + 1, '.') && pg_is_name(last + 2)) last += 2;
        name = wr_str_dup(s->arena, (wr_str){t[1].text.ptr, (size_t)(last->text.ptr + last->text.len - t[1].text.ptr)});
        if (t[1].kind == PG_QUOTED) name = pg_name(s->arena, &t[1]);
    }
    *value = name.len ? setting_get(c, name) : NULL;
    for (size_t i = 0; i < WR_COUNT_OF(SETTINGS); i++)
        if (wr_str_ieq(name, wr_str_of(SETTINGS[i].name))) name = wr_str_of(SETTINGS[i].name);
    return name;
}

static const pg_portal *cursor_of(pg_client *c, const pg_stmt *s, uint64_t *n);

bool command_columns(pg_client *c, const pg_stmt *s, uint32_t *n, query_col **cols) {
    const char *value;
    uint64_t    rows;
    if (s->command == PG_CMD_COPY) return *cols = (query_col *)(uintptr_t)query_cols(s->query, n), true;
    if (s->command == PG_CMD_SHOW) {
        *n = 1;
        *cols = wr_new(s->arena, query_col);
        **cols = (query_col){shown(c, s, &value), wr_type_string(), PG_TEXT, -1};
        return true;
    }
    if (s->command == PG_CMD_FETCH) {
        const pg_portal *p = cursor_of(c, s, &rows);
        if (!p || !p->stmt->query) return false;
        *cols = (query_col *)(uintptr_t)query_cols(p->stmt->query, n);
        return true;
    }
    if (s->command == PG_CMD_SUBSCRIBE) {
        uint32_t i = pg_is(&s->toks.list.at[1], "to") ? 2 : 1;
        const pg_tok *t = s->toks.list.at;
        while (pg_is_name(&t[i]) && pg_is_char(&t[i + 1], '.')) i += 2;
        wr_view *v = pg_is_name(&t[i]) ? wr_view_find(t[i].kind == PG_QUOTED ? pg_name(s->arena, &t[i]) : t[i].text) : NULL;
        if (!v) return false;
        describe_subscription(s->arena, v, n, cols);
        for (uint32_t k = 0; k < *n; k++) (*cols)[k].name = wr_str_dup(s->arena, (*cols)[k].name);
        wr_view_unref(v);
        return true;
    }
    return false;
}

static bool run_show(pg_client *c, pg_portal *p, wr_err *err) {
    const char *value;
    uint32_t    n;
    query_col  *cols;
    wr_str      name = shown(c, p->stmt, &value);
    wr_sbuf    *out = wr_conn_out(c->conn);
    if (!value) return wr_fail(err, WR_USER, "42704", "unrecognized configuration parameter \"%.*s\"", WR_FMT(name)), false;
    if (c->simple && command_columns(c, p->stmt, &n, &cols)) send_columns(c, cols, n, NULL, 0);
    size_t at = msg_begin(c, 'D');
    pg_put_i16(out, 1);
    pg_put_i32(out, (int32_t)strlen(value));
    wr_sbuf_addz(out, value);
    msg_end(c, at);
    send_complete(c, "SHOW");
    client_step_done(c);
    return true;
}

/* SET [SESSION | LOCAL] name {TO | =} value [, ...]; SET TIME ZONE x; SET TRANSACTION ...; RESET name. */
static bool run_set(pg_client *c, pg_portal *p, wr_err *err) {
    const pg_tok *t = p->stmt->toks.list.at;
    uint32_t      i = 1;
    wr_str        name, value;
    wr_sbuf       text = {0};
    if (pg_is(&t[0], "reset")) {
        if (pg_is(&t[1], "all")) return reset_all(c), true;
        name = pg_is_name(&t[1]) ? pg_name(p->arena, &t[1]) : (wr_str){0};
        for (size_t k = 0; k < WR_COUNT_OF(SETTINGS); k++)
            if (wr_str_ieq(name, wr_str_of(SETTINGS[k].name))) return setting_set(c, name, wr_str_of(SETTINGS[k].value), err) == WR_OK;
        return true;
    }
    if ((pg_is(&t[i], "session") && !pg_is_op(&t[i + 1], "=") && !pg_is(&t[i + 1], "to")) || pg_is(&t[i], "local")) i++;
    if (pg_is(&t[i], "transaction") || pg_is(&t[i], "characteristics") || pg_is(&t[i], "authorization") || pg_is(&t[i], "constraints") || pg_is(&t[i], "role")) return true;
    if (pg_is(&t[i], "names")) name = WR_STR("client_encoding"), i++;
    else if (pg_is(&t[i], "time") && pg_is(&t[i + 1], "zone")) name = WR_STR("TimeZone"), i += 2;
    else if (pg_is_name(&t[i])) {
        const pg_tok *last = &t[i];
        while (pg_is_char(last + 1, '.') && pg_is_name(last + 2)) last += 2;
        name = t[i].kind == PG_QUOTED ? pg_name(p->arena, &t[i]) : wr_str_dup(p->arena, (wr_str){t[i].text.ptr, (size_t)(last->text.ptr + last->text.len - t[i].text.ptr)});
        i = (uint32_t)(last - t) + 1;
        if (!pg_is_op(&t[i], "=") && !pg_is(&t[i], "to")) return query_fail_at(&t[i], err, "42601", "syntax error in SET"), false;
        i++;
    } else {
        return query_fail_at(&t[i], err, "42601", "syntax error in SET"), false;
    }
    for (; t[i].kind != PG_END; i++) {
        wr_str one = pg_is_text(&t[i]) ? pg_text(p->arena, &t[i]) : t[i].kind == PG_QUOTED ? pg_name(p->arena, &t[i]) : t[i].text;
        if (pg_is_char(&t[i], ',')) wr_sbuf_addz(&text, ", ");
        else wr_sbuf_add_str(&text, one);
    }
    value = wr_str_dup(p->arena, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    return setting_set(c, name, value, err) == WR_OK;
}

/* ---- cursors ---- */
static void cursor_name(const pg_stmt *s, uint32_t i, char out[PG_NAME_MAX]) {
    wr_str name = pg_is_name(&s->toks.list.at[i]) ? pg_name(s->arena, &s->toks.list.at[i]) : (wr_str){0};
    snprintf(out, PG_NAME_MAX, "%.*s", WR_FMT(name));
}

/* FETCH [NEXT | FORWARD [n | ALL] | n | ALL] [FROM | IN] name */
static const pg_portal *cursor_of(pg_client *c, const pg_stmt *s, uint64_t *n) {
    const pg_tok *t = s->toks.list.at;
    uint32_t      i = 1;
    char          name[PG_NAME_MAX];
    *n = 1;
    if (pg_is(&t[i], "next") || pg_is(&t[i], "forward")) i++;
    if (t[i].kind == PG_NUMBER) *n = strtoull(t[i].text.ptr, NULL, 10), i++;
    else if (pg_is(&t[i], "all")) *n = 0, i++;
    if (pg_is(&t[i], "from") || pg_is(&t[i], "in")) i++;
    cursor_name(s, i, name);
    return name[0] && t[i + 1].kind == PG_END ? portal_find(c, name) : NULL;
}

static bool run_declare(pg_client *c, pg_portal *p, wr_err *err) {
    char          name[PG_NAME_MAX];
    const pg_tok *t = p->stmt->toks.list.at;
    bool          held = false;
    cursor_name(p->stmt, 1, name);
    for (uint32_t i = 2; t[i].kind != PG_END && !pg_is(&t[i], "for"); i++) held |= pg_is(&t[i], "hold") && pg_is(&t[i - 1], "with");
    if (c->txn == 'I' && !held) return wr_fail(err, WR_USER, "25P01", "DECLARE CURSOR can only be used in transaction blocks"), false;
    if (portal_find(c, name)) return wr_fail(err, WR_USER, "42P03", "cursor \"%s\" already exists", name), false;
    pg_portal *cursor = portal_new(c, name, p->stmt);
    cursor->cursor = true, cursor->held = held;
    cursor->params = wr_new_n(cursor->arena, wr_value, p->n_params + 1);
    for (uint32_t i = 0; i < p->n_params; i++) {
        cursor->params[i] = p->params[i];
        if (wr_type_storage(p->params[i].type) == WR_S_STR && !p->params[i].null) cursor->params[i].s = wr_str_dup(cursor->arena, p->params[i].s);
    }
    cursor->n_params = p->n_params;
    if (!portal_run(c, cursor, PG_THEN_DECLARE)) portal_drop(c, portal_find(c, name)); /* said already */
    return true;
}

static bool run_fetch(pg_client *c, pg_portal *p, wr_err *err) {
    uint64_t   n;
    pg_portal *cursor = (pg_portal *)(uintptr_t)cursor_of(c, p->stmt, &n);
    if (!cursor) return wr_fail(err, WR_USER, "34000", "there is no such cursor, or FETCH has a direction that is not supported: FORWARD, NEXT, ALL are"), false;
    uint32_t   n_cols;
    query_col *cols;
    if (c->simple && command_columns(c, p->stmt, &n_cols, &cols)) send_columns(c, cols, n_cols, NULL, 0);
    cursor->formats = wr_new_n(cursor->arena, int16_t, p->n_formats + 1);
    if (p->n_formats) memcpy(cursor->formats, p->formats, sizeof(int16_t) * p->n_formats);
    cursor->n_formats = p->n_formats;
    c->fetching = true;
    portal_send(c, cursor, n);
    return true;
}

/* ---- COPY, SUBSCRIBE ---- */
static bool run_copy(pg_portal *p, wr_err *err) {
    const pg_tok *t = p->stmt->toks.list.at;
    uint32_t      i = p->stmt->toks.list.n - 1;
    p->shape = PG_COPY_TEXT;
    while (i && !pg_is(&t[i], "stdout")) i--;
    for (i++; t[i].kind != PG_END; i++) {
        if (pg_is(&t[i], "csv")) p->shape = PG_COPY_CSV;
        else if (pg_is(&t[i], "binary")) return query_fail_at(&t[i], err, "0A000", "COPY in binary is not supported; the formats are text and csv"), false;
        else if (pg_is(&t[i], "header")) p->header = !pg_is(&t[i + 1], "false") && !pg_is(&t[i + 1], "off");
        else if (pg_is(&t[i], "delimiter")) {
            uint32_t k = pg_is(&t[i + 1], "as") ? i + 2 : i + 1;
            wr_str   d = pg_is_text(&t[k]) ? pg_text(p->arena, &t[k]) : (wr_str){0};
            if (d.len != 1) return query_fail_at(&t[i], err, "22023", "COPY delimiter must be a single one-byte character"), false;
            p->delimiter = d.ptr[0];
            i = k;
            continue;
        }
    }
    if (p->shape == PG_COPY_CSV && p->delimiter == '\t') p->delimiter = ',';
    return true;
}

static void published(void *arg) { wr_conn_wake(arg); }

/* SUBSCRIBE [TO] view [AFTER 'run:version'] */
static bool run_subscribe(pg_client *c, pg_portal *p, wr_err *err) {
    const pg_tok *t = p->stmt->toks.list.at;
    uint32_t      i = pg_is(&t[1], "to") ? 2 : 1, n_cols;
    query_col    *cols;
    while (pg_is_name(&t[i]) && pg_is_char(&t[i + 1], '.')) i += 2;
    p->sub_view = pg_is_name(&t[i]) ? wr_view_find(t[i].kind == PG_QUOTED ? pg_name(p->arena, &t[i]) : t[i].text) : NULL;
    if (!p->sub_view) return query_fail_at(&t[i], err, "42P01", "there is no view \"%.*s\"", WR_FMT(t[i].text)), false;
    wr_view_cut *cut = NULL;
    if (pg_is(&t[i + 1], "after") && pg_is_text(&t[i + 2])) {
        wr_str      text = pg_text(p->arena, &t[i + 2]);
        const char *z = wr_arena_strndup(p->arena, text.ptr, text.len);
        char       *colon = NULL;
        uint64_t    run = strtoull(z, &colon, 10), version = *colon == ':' ? strtoull(colon + 1, NULL, 10) : 0;
        cut = wr_view_pin_at(p->sub_view, run, version, err);
        if (!cut) return false;
        p->as_of = *wr_view_cut_as_of(cut);
    } else if (t[i + 1].kind != PG_END) {
        return query_fail_at(&t[i + 1], err, "42601", "expected SUBSCRIBE TO view [AFTER 'position']"), false;
    } else {
        cut = wr_view_pin(p->sub_view);
        p->as_of = *wr_view_cut_as_of(cut);
    }
    p->sub = wr_view_sub_new(cut);
    wr_view_unpin(cut);
    p->started = true;
    atomic_store(&c->stop.asked, false);
    p->listener = (wr_view_listener){.published = published, .arg = c->conn};
    wr_view_listen(p->sub_view, &p->listener);
    if (c->simple && command_columns(c, p->stmt, &n_cols, &cols)) send_columns(c, cols, n_cols, NULL, 0);
    c->fetched = 0;
    return true;
}

/* ---- the others ---- */
static bool simple_command(pg_client *c, pg_portal *p, const char **tag, wr_err *err) {
    const pg_tok *t = p->stmt->toks.list.at;
    char          name[PG_NAME_MAX];
    switch (p->stmt->command) {
    case PG_CMD_BEGIN:
        if (c->txn == 'I') c->txn = 'T';
        else send_notice(c, "there is already a transaction in progress");
        return true;
    case PG_CMD_COMMIT:
        if (c->txn == 'E') *tag = "ROLLBACK";
        transaction_end(c);
        return true;
    case PG_CMD_ROLLBACK: transaction_end(c); return true;
    case PG_CMD_ROLLBACK_TO:
        if (c->txn == 'E') c->txn = 'T';
        return true;
    case PG_CMD_SET: return run_set(c, p, err);
    case PG_CMD_DISCARD:
        if (pg_is(&t[1], "all")) {
            stmt_drop(c, NULL);
            reset_all(c);
        }
        return true;
    case PG_CMD_DEALLOCATE: {
        uint32_t i = pg_is(&t[1], "prepare") ? 2 : 1;
        if (pg_is(&t[i], "all")) return stmt_drop(c, NULL), *tag = "DEALLOCATE ALL", true;
        cursor_name(p->stmt, i, name);
        if (!stmt_find(c, name)) return wr_fail(err, WR_USER, "26000", "prepared statement \"%s\" does not exist", name), false;
        stmt_drop(c, name);
        return true;
    }
    case PG_CMD_CLOSE: {
        if (pg_is(&t[1], "all")) return portals_drop(c, true), true;
        cursor_name(p->stmt, 1, name);
        if (!portal_find(c, name)) return wr_fail(err, WR_USER, "34000", "cursor \"%s\" does not exist", name), false;
        portal_drop(c, portal_find(c, name));
        return true;
    }
    default: return true;
    }
}

bool command_run(pg_client *c, pg_portal *p, uint64_t max, wr_err *err) {
    const char *tag = p->stmt->tag;
    (void)max;
    switch (p->stmt->command) {
    case PG_CMD_SHOW: return run_show(c, p, err);
    case PG_CMD_DECLARE: return run_declare(c, p, err);
    case PG_CMD_FETCH: return run_fetch(c, p, err);
    case PG_CMD_COPY: return run_copy(p, err);
    case PG_CMD_SUBSCRIBE: return run_subscribe(c, p, err);
    default: break;
    }
    pg_stmt *s = p->stmt;
    s->refs++; /* CLOSE ALL drops the portal that it is */
    bool ok = simple_command(c, p, &tag, err);
    if (ok) send_complete(c, tag);
    stmt_unref(s);
    if (ok) client_step_done(c);
    return ok;
}
