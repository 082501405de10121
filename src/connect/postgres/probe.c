/* connect/postgres/probe.c: what `weir doctor` looks at of a table in PostgreSQL: the server, the login, the table, columns and types, rights, a unique key.
 *
 * Idea       the catalogue says it all, in a session that is read-only and has a time limit.
 * Types      a sink's values go in as text, a look-up's come out as text: what fits is judged by the kinds and widths of both sides.              */
#include "connect/postgres/pg.h"
#include "connect/probe.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- types ---- */

typedef enum pg_kind { PG_BOOL, PG_INT, PG_NUMERIC, PG_REAL, PG_DOUBLE, PG_TEXT, PG_BYTES, PG_DATE, PG_TIME, PG_TIMESTAMP, PG_TIMESTAMPTZ, PG_JSON, PG_OTHER } pg_kind;
typedef struct pg_type { pg_kind kind; int digits, scale; bool limited; } pg_type; /* digits: of integers and numeric; characters; of a second */
enum { DIGITS_SMALLINT = 4, DIGITS_INT = 9, DIGITS_BIGINT = 18 };

/* As format_type() writes it: numeric(10,2), character varying(20), timestamp(3) without time zone. */
static pg_type type_of(wr_str text) {
    static const struct { const char *begins; pg_kind kind; int digits; } names[] = {
        {"boolean", PG_BOOL, 0}, {"smallint", PG_INT, DIGITS_SMALLINT}, {"integer", PG_INT, DIGITS_INT}, {"bigint", PG_INT, DIGITS_BIGINT}, {"numeric", PG_NUMERIC, 0}, {"real", PG_REAL, 0},
        {"double precision", PG_DOUBLE, 0}, {"text", PG_TEXT, 0}, {"character", PG_TEXT, 0}, {"bytea", PG_BYTES, 0}, {"date", PG_DATE, 0}, {"timestamp", PG_TIMESTAMP, 6}, {"time", PG_TIME, 6},
        {"json", PG_JSON, 0}};
    pg_type     t = {.kind = PG_OTHER};
    const char *open = memchr(text.ptr, '(', text.len);
    if (text.len && text.ptr[text.len - 1] == ']') return t; /* an array */
    for (size_t i = 0; i < WR_COUNT_OF(names) && t.kind == PG_OTHER; i++)
        if (wr_str_starts(text, wr_str_of(names[i].begins))) t = (pg_type){.kind = names[i].kind, .digits = names[i].digits};
    if (open) {
        char number[40];
        snprintf(number, sizeof number, "%.*s", (int)(text.ptr + text.len - open - 1), open + 1);
        char *end;
        t.digits = (int)strtol(number, &end, 10);
        t.limited = true;
        if (*end == ',') t.scale = (int)strtol(end + 1, NULL, 10);
    }
    bool zoned = memmem(text.ptr, text.len, "with time zone", 14) != NULL;
    if (t.kind == PG_TIMESTAMP && zoned) t.kind = PG_TIMESTAMPTZ;
    if (t.kind == PG_TIME && zoned) t.kind = PG_OTHER;
    return t;
}

static bool as_text(wr_type t) { return wr_type_is_string(t) || t.id == WR_T_VARIANT; }
static wr_fit at_least(int have, int need) { return have >= need ? WR_FIT : WR_FIT_NARROW; }

/* Digits before and after the point that a column of ours has; -1: it is no exact number. */
static int whole_digits(wr_type t, int *scale) {
    *scale = 0;
    switch (t.id) {
    case WR_T_TINYINT: return 3;
    case WR_T_SMALLINT: return DIGITS_SMALLINT;
    case WR_T_INT:
    case WR_T_INTERVAL_YM: return DIGITS_INT;
    case WR_T_BIGINT:
    case WR_T_INTERVAL_DS: return DIGITS_BIGINT;
    case WR_T_DECIMAL: *scale = t.scale; return t.prec - t.scale;
    default: return -1;
    }
}

static wr_fit number_goes_into(int whole, int scale, pg_type to) {
    switch (to.kind) {
    case PG_INT: return scale ? WR_FIT_NOT : at_least(to.digits, whole);
    case PG_NUMERIC: return !to.limited ? WR_FIT : to.digits - to.scale >= whole && to.scale >= scale ? WR_FIT : WR_FIT_NARROW;
    case PG_DOUBLE: return at_least(15, whole + scale);
    case PG_REAL: return at_least(6, whole + scale);
    case PG_TEXT: return !to.limited ? WR_FIT : at_least(to.digits, whole + scale + 2);
    default: return WR_FIT_NOT;
    }
}

static wr_fit text_goes_into(wr_type from, pg_type to) {
    if (to.kind == PG_TEXT) return !to.limited ? WR_FIT : at_least(to.digits, from.id == WR_T_VARIANT ? WR_LENGTH_MAX : from.prec);
    return to.kind == PG_JSON || to.kind == PG_OTHER ? WR_FIT_NARROW : WR_FIT_NOT; /* an enum, a uuid: only some texts */
}

static wr_fit goes_into(wr_type from, pg_type to) {
    int scale, whole = whole_digits(from, &scale);
    if (whole >= 0) return number_goes_into(whole, scale, to);
    if (as_text(from)) return text_goes_into(from, to);
    if (to.kind == PG_TEXT && from.id != WR_T_BINARY && from.id != WR_T_VARBINARY) return WR_FIT;
    switch (from.id) {
    case WR_T_BOOLEAN: return to.kind == PG_BOOL ? WR_FIT : WR_FIT_NOT;
    case WR_T_FLOAT: return to.kind == PG_REAL || to.kind == PG_DOUBLE ? WR_FIT : to.kind == PG_NUMERIC ? WR_FIT_NARROW : WR_FIT_NOT;
    case WR_T_DOUBLE: return to.kind == PG_DOUBLE ? WR_FIT : to.kind == PG_REAL || to.kind == PG_NUMERIC ? WR_FIT_NARROW : WR_FIT_NOT;
    case WR_T_BINARY:
    case WR_T_VARBINARY: return to.kind == PG_BYTES ? WR_FIT : WR_FIT_NOT;
    case WR_T_DATE: return to.kind == PG_DATE || to.kind == PG_TIMESTAMP || to.kind == PG_TIMESTAMPTZ ? WR_FIT : WR_FIT_NOT;
    case WR_T_TIME: return to.kind == PG_TIME ? at_least(to.digits, WR_MIN(from.prec, 6)) : WR_FIT_NOT;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: {
        bool same = to.kind == (from.id == WR_T_TIMESTAMP ? PG_TIMESTAMP : PG_TIMESTAMPTZ);
        if (same) return at_least(to.digits, WR_MIN(from.prec, 6));
        return to.kind == PG_TIMESTAMP || to.kind == PG_TIMESTAMPTZ || to.kind == PG_DATE ? WR_FIT_NARROW : WR_FIT_NOT;
    }
    case WR_T_ARRAY:
    case WR_T_MAP:
    case WR_T_MULTISET:
    case WR_T_ROW: return to.kind == PG_JSON ? WR_FIT : WR_FIT_NOT;
    default: return WR_FIT;
    }
}

static wr_fit comes_from(wr_type to, pg_type from) {
    int scale, whole = whole_digits(to, &scale);
    if (as_text(to)) return WR_FIT;
    if (from.kind == PG_TEXT) return WR_FIT_NARROW;
    if (whole >= 0 && from.kind == PG_INT) return at_least(whole, from.digits);
    if (whole >= 0 && from.kind == PG_NUMERIC) return from.limited && from.digits - from.scale <= whole && from.scale <= scale ? WR_FIT : WR_FIT_NARROW;
    if (whole >= 0) return (from.kind == PG_REAL || from.kind == PG_DOUBLE) && scale ? WR_FIT_NARROW : WR_FIT_NOT;
    if (to.id == WR_T_FLOAT || to.id == WR_T_DOUBLE) return from.kind == PG_INT || from.kind == PG_NUMERIC || from.kind == PG_REAL || from.kind == PG_DOUBLE ? WR_FIT : WR_FIT_NOT;
    return goes_into(to, from) == WR_FIT_NOT ? WR_FIT_NOT : WR_FIT;
}

static wr_fit fit(wr_type ours, wr_str theirs, wr_role role) { return role == WR_ROLE_SINK ? goes_into(ours, type_of(theirs)) : comes_from(ours, type_of(theirs)); }

/* ---- looking ---- */

typedef struct probe { pg_conn conn; const wr_table_info *t; wr_probe_ctx *ctx; wr_findings *out; bool sink; } probe;

/* NULL: it has been said. $1 is the table. */
static PGresult *ask(probe *p, const char *what, const char *sql) {
    const char *values[] = {p->conn.table};
    PGresult   *r;
    wr_err      err = {0};
    if (pg_query(&p->conn, sql, strstr(sql, "$1") ? 1 : 0, values, "look at the table", &r, &err) == WR_OK) return r;
    wr_find_err(p->out, what, &err);
    return NULL;
}
static bool is_true(PGresult *r, int col) { return pg.getvalue(r, 0, col)[0] == 't'; }

static bool look_at_server(probe *p) {
    wr_err err = {0};
    char   limit[120];
    p->conn.retry_us = 0;
    p->conn.connect_s = (int)WR_MAX(p->ctx->timeout_us / 1000000, (int64_t)2); /* libpq knows no less */
    if (pg_connect(&p->conn, &err) != WR_OK) {
        bool answered = p->conn.c && pg_refused(&p->conn);
        wr_find_err(p->out, answered ? "login" : "server", &err);
        wr_find_todo(p->out, answered ? "check 'username', 'password' and the database at the end of 'url'; and the server's pg_hba.conf" : "is the server up, host and port in 'url' right, and the way through firewalls open?");
        return false;
    }
    snprintf(limit, sizeof limit, "SET statement_timeout = %lld; SET default_transaction_read_only = on", (long long)(p->ctx->timeout_us / 1000));
    if (pg_run(&p->conn, limit, "begin a session", &err) != WR_OK) return wr_find_err(p->out, "server", &err), false;
    PGresult *r = ask(p, "server", "SELECT current_setting('server_version'), current_user, current_database(), pg_is_in_recovery()");
    if (!r) return false;
    wr_find(p->out, WR_FOUND_FINE, "server", "PostgreSQL %s", pg.getvalue(r, 0, 0));
    wr_find(p->out, WR_FOUND_FINE, "login", "'%s' in the database '%s'", pg.getvalue(r, 0, 1), pg.getvalue(r, 0, 2));
    bool standby = p->sink && is_true(r, 3);
    if (standby) wr_find(p->out, WR_FOUND_FAULT, "standby", "this server is a standby: it can only be read"), wr_find_todo(p->out, "the primary's address in 'url'");
    pg.clear(r);
    return !standby;
}

static bool may_create(probe *p, const char *for_what) {
    PGresult *r = ask(p, "rights", "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), coalesce(current_schema(), 'public'), current_user");
    if (!r) return false;
    bool may = is_true(r, 0);
    if (!may) {
        wr_find(p->out, WR_FOUND_FAULT, "rights", "%s has to be made in the schema '%s', and '%s' may not", for_what, pg.getvalue(r, 0, 1), pg.getvalue(r, 0, 2));
        wr_find_todo(p->out, "GRANT CREATE ON SCHEMA \"%s\" TO \"%s\"", pg.getvalue(r, 0, 1), pg.getvalue(r, 0, 2));
    }
    pg.clear(r);
    return may;
}

static bool look_at_table(probe *p) {
    bool      create = false;
    PGresult *r = ask(p, "table", "SELECT to_regclass($1) IS NOT NULL, (SELECT relkind FROM pg_class WHERE oid = to_regclass($1))");
    if (!r) return false;
    bool there = is_true(r, 0), table = there && strchr("rpf", pg.getvalue(r, 0, 1)[0]);
    pg.clear(r);
    (void)wr_option_bool(&p->t->options, jdbc_specs, "create-table", &create, p->ctx->connect->diags);
    if (there && (table || !p->sink)) return wr_find(p->out, WR_FOUND_FINE, "table", "%s is there", p->conn.table), true;
    if (there) {
        wr_find(p->out, WR_FOUND_FAULT, "table", "%s is a view: it is not written to", p->conn.table);
        wr_find_todo(p->out, "name the table behind it in 'table-name'");
    } else if (p->sink && create) {
        if (may_create(p, "the table")) wr_find(p->out, WR_FOUND_FINE, "table", "%s is not there yet and will be made", p->conn.table);
    } else {
        wr_sbuf    sql = {0};
        db_columns columns = db_columns_of(p->t, p->ctx->connect->arena);
        db_put_table(&columns, pg_put_type, &sql);
        wr_find(p->out, WR_FOUND_FAULT, "table", "there is no table %s", p->conn.table);
        wr_find_todo(p->out, "CREATE TABLE %s%s%s", p->conn.table, sql.at, p->sink ? "; or 'create-table' = 'true'" : "");
        wr_sbuf_free(&sql);
    }
    return false;
}

static void look_at_columns(probe *p) {
    PGresult *r = ask(p, "columns", "SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> '' OR attgenerated <> '' FROM pg_attribute "
                                    "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum");
    if (!r) return;
    uint32_t         n = (uint32_t)pg.ntuples(r);
    wr_probe_column *at = wr_new_n(p->ctx->connect->arena, wr_probe_column, n + 1);
    for (uint32_t i = 0; i < n; i++)
        at[i] = (wr_probe_column){wr_str_of(pg.getvalue(r, (int)i, 0)), wr_str_of(pg.getvalue(r, (int)i, 1)), pg.getvalue(r, (int)i, 2)[0] == 't', pg.getvalue(r, (int)i, 3)[0] == 't'};
    wr_probe_columns there = {.table = p->conn.table, .n = n, .at = at, .fit = fit, .put_type = pg_put_type, .alter_type = "TYPE"};
    wr_probe_db_columns(p->t, &there, p->ctx);
    pg.clear(r);
}

static void look_at_rights(probe *p) {
    static const char *const names[] = {"SELECT", "INSERT", "UPDATE", "DELETE"};
    bool      wanted[] = {!p->sink || p->t->n_key, p->sink, p->sink && p->t->n_key, p->sink && p->t->n_key};
    PGresult *r = ask(p, "rights", "SELECT has_table_privilege(to_regclass($1)::oid, 'SELECT'), has_table_privilege(to_regclass($1)::oid, 'INSERT'), has_table_privilege(to_regclass($1)::oid, 'UPDATE'), "
                                   "has_table_privilege(to_regclass($1)::oid, 'DELETE'), has_database_privilege(current_database(), 'TEMP'), current_user, current_database()");
    if (!r) return;
    wr_sbuf lacks = {0};
    for (int i = 0; i < 4; i++)
        if (wanted[i] && !is_true(r, i)) wr_sbuf_printf(&lacks, "%s%s", lacks.len ? ", " : "", names[i]);
    if (lacks.len) {
        wr_find(p->out, WR_FOUND_FAULT, "rights", "'%s' has no right to %s on %s", pg.getvalue(r, 0, 5), lacks.at, p->conn.table);
        wr_find_todo(p->out, "GRANT %s ON %s TO \"%s\"", lacks.at, p->conn.table, pg.getvalue(r, 0, 5));
    } else wr_find(p->out, WR_FOUND_FINE, "rights", "'%s' has those that are needed", pg.getvalue(r, 0, 5));
    if (p->sink && p->t->n_key && !is_true(r, 4)) {
        wr_find(p->out, WR_FOUND_FAULT, "rights", "'%s' may not make temporary tables, by which rows are upserted", pg.getvalue(r, 0, 5));
        wr_find_todo(p->out, "GRANT TEMPORARY ON DATABASE \"%s\" TO \"%s\"", pg.getvalue(r, 0, 6), pg.getvalue(r, 0, 5));
    }
    wr_sbuf_free(&lacks);
    pg.clear(r);
}

static bool is_key(const wr_table_info *t, wr_str names) {
    uint32_t n = 0, hits = 0;
    for (wr_str name; wr_str_next(&names, '\x1f', &name); n++)
        for (uint32_t k = 0; k < t->n_key; k++) hits += wr_str_eq(name, t->schema->fields[t->key[k]].name);
    return n == t->n_key && hits == n;
}

/* ON CONFLICT (...) takes an index on exactly these columns, without a condition, checked at once. */
static void look_at_key(probe *p) {
    if (!p->sink || !p->t->n_key) return;
    PGresult *r = ask(p, "unique key", "SELECT string_agg(a.attname, E'\\x1f') FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, nth) "
                                       "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indimmediate AND i.indisvalid "
                                       "AND i.indpred IS NULL AND i.indexprs IS NULL AND k.nth <= i.indnkeyatts GROUP BY i.indexrelid");
    if (!r) return;
    bool       found = false;
    wr_sbuf    keys = {0};
    db_columns columns = db_columns_of(p->t, p->ctx->connect->arena);
    db_put_keys(&columns, &keys);
    for (int i = 0; i < pg.ntuples(r); i++) found |= is_key(p->t, wr_str_of(pg.getvalue(r, i, 0)));
    if (found) wr_find(p->out, WR_FOUND_FINE, "unique key", "(%s)", keys.at);
    else {
        wr_find(p->out, WR_FOUND_FAULT, "unique key", "rows are upserted by (%s), and %s has no PRIMARY KEY or UNIQUE constraint on it", keys.at, p->conn.table);
        wr_find_todo(p->out, "ALTER TABLE %s ADD PRIMARY KEY (%s)", p->conn.table, keys.at);
    }
    wr_sbuf_free(&keys);
    pg.clear(r);
}

static void look_at_epochs(probe *p) {
    if (!p->sink) return;
    PGresult *r = ask(p, "weir_epoch", "SELECT to_regclass('weir_epoch') IS NOT NULL, coalesce(has_table_privilege(to_regclass('weir_epoch')::oid, 'SELECT') AND has_table_privilege(to_regclass('weir_epoch')::oid, 'INSERT') "
                                       "AND has_table_privilege(to_regclass('weir_epoch')::oid, 'UPDATE'), false), current_user");
    if (!r) return;
    if (!is_true(r, 0)) {
        if (may_create(p, "weir_epoch, which makes writing exactly once,")) wr_find(p->out, WR_FOUND_FINE, "weir_epoch", "will be made");
    } else if (!is_true(r, 1)) {
        wr_find(p->out, WR_FOUND_FAULT, "weir_epoch", "'%s' may not read and write weir_epoch", pg.getvalue(r, 0, 2));
        wr_find_todo(p->out, "GRANT SELECT, INSERT, UPDATE ON weir_epoch TO \"%s\"", pg.getvalue(r, 0, 2));
    }
    pg.clear(r);
}

void pg_probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    probe  p = {.t = t, .ctx = ctx, .out = ctx->out, .sink = ctx->role == WR_ROLE_SINK};
    wr_err err = {0};
    if (pg_open(&p.conn, t, ctx->connect->arena, ctx->connect, &err) != WR_OK) {
        if (err.message[0]) wr_find_err(ctx->out, "client library", &err);
        return;
    }
    if (look_at_server(&p)) {
        look_at_epochs(&p);
        if (look_at_table(&p)) look_at_columns(&p), look_at_rights(&p), look_at_key(&p);
    }
    pg_close(&p.conn);
}
