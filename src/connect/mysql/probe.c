/* connect/mysql/probe.c: what `weir doctor` looks at of a table in MySQL or MariaDB: the server, the login, the table and its engine, columns and types, a unique key.
 *
 * Idea       the catalogue says it all, in a session that is read-only and has a time limit.
 * Types      values go in as literals: what fits is judged by kinds, and by the widths of integers.                             */
#include "connect/mysql/lib.h"
#include "connect/probe.h"
#include <stdio.h>

/* ---- types ---- */

typedef enum my_kind { MY_OTHER, MY_INT, MY_DECIMAL, MY_REAL, MY_TEXT, MY_BYTES, MY_DATE, MY_TIME, MY_DATETIME } my_kind;

static const struct { const char *begins; my_kind kind; int width; } names[] = { /* COLUMN_TYPE: int(11) unsigned, varchar(20); width: of integers, in bytes; the first that fits */
    {"tinyint", MY_INT, 1}, {"smallint", MY_INT, 2}, {"mediumint", MY_INT, 3}, {"int", MY_INT, 4}, {"bigint", MY_INT, 8}, {"decimal", MY_DECIMAL, 0}, {"float", MY_REAL, 4}, {"double", MY_REAL, 8},
    {"varchar", MY_TEXT, 0}, {"char", MY_TEXT, 0}, {"tinytext", MY_TEXT, 0}, {"text", MY_TEXT, 0}, {"mediumtext", MY_TEXT, 0}, {"longtext", MY_TEXT, 0}, {"json", MY_TEXT, 0},
    {"varbinary", MY_BYTES, 0}, {"binary", MY_BYTES, 0}, {"tinyblob", MY_BYTES, 0}, {"blob", MY_BYTES, 0}, {"mediumblob", MY_BYTES, 0}, {"longblob", MY_BYTES, 0},
    {"datetime", MY_DATETIME, 0}, {"timestamp", MY_DATETIME, 0}, {"date", MY_DATE, 0}, {"time", MY_TIME, 0}};

static my_kind kind_of(wr_str type, int *width) {
    for (size_t i = 0; i < WR_COUNT_OF(names); i++)
        if (wr_str_starts(type, wr_str_of(names[i].begins))) return *width = names[i].width, names[i].kind;
    return *width = 0, MY_OTHER;
}

static int bytes_of(wr_type t) {
    switch (t.id) {
    case WR_T_BOOLEAN:
    case WR_T_TINYINT: return 1;
    case WR_T_SMALLINT: return 2;
    case WR_T_INT:
    case WR_T_INTERVAL_YM: return 4;
    default: return 8;
    }
}

static wr_fit fit(wr_type ours, wr_str theirs, wr_role role) {
    int     width;
    my_kind to = kind_of(theirs, &width);
    (void)role;
    if (to == MY_OTHER) return WR_FIT_NARROW; /* an enum, a uuid: only some values */
    switch (ours.id) {
    case WR_T_BOOLEAN:
    case WR_T_TINYINT:
    case WR_T_SMALLINT:
    case WR_T_INT:
    case WR_T_INTERVAL_YM:
    case WR_T_BIGINT:
    case WR_T_INTERVAL_DS: return to == MY_INT ? width >= bytes_of(ours) ? WR_FIT : WR_FIT_NARROW : to == MY_DECIMAL || to == MY_REAL || to == MY_TEXT ? WR_FIT : WR_FIT_NOT;
    case WR_T_DECIMAL: return to == MY_DECIMAL || to == MY_TEXT ? WR_FIT : to == MY_INT || to == MY_REAL ? WR_FIT_NARROW : WR_FIT_NOT;
    case WR_T_FLOAT:
    case WR_T_DOUBLE: return to == MY_REAL ? width == 8 || ours.id == WR_T_FLOAT ? WR_FIT : WR_FIT_NARROW : to == MY_TEXT ? WR_FIT : to == MY_DECIMAL || to == MY_INT ? WR_FIT_NARROW : WR_FIT_NOT;
    case WR_T_BINARY:
    case WR_T_VARBINARY: return to == MY_BYTES ? WR_FIT : WR_FIT_NOT;
    case WR_T_DATE: return to == MY_DATE || to == MY_DATETIME || to == MY_TEXT ? WR_FIT : WR_FIT_NOT;
    case WR_T_TIME: return to == MY_TIME || to == MY_TEXT ? WR_FIT : WR_FIT_NOT;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: return to == MY_DATETIME || to == MY_TEXT ? WR_FIT : to == MY_DATE ? WR_FIT_NARROW : WR_FIT_NOT;
    default: return to == MY_TEXT ? WR_FIT : WR_FIT_NOT;
    }
}

/* ---- looking ---- */

typedef struct probe { my_conn conn; const wr_table_info *t; wr_probe_ctx *ctx; wr_findings *out; db_columns columns; } probe;

static bool look_at_server(probe *p) {
    wr_err     err = {0};
    MYSQL_RES *r;
    p->conn.retry_us = 0;
    p->conn.timeout_s = p->conn.answer_s = (unsigned)WR_MAX(p->ctx->timeout_us / 1000000, INT64_C(1));
    if (my_connect(&p->conn, &err) != WR_OK) {
        bool answered = p->conn.number && !err.retriable;
        wr_find_err(p->out, answered ? "login" : "server", &err);
        wr_find_todo(p->out, answered ? "check 'username', 'password' and the database at the end of 'url', and what the user may: SHOW GRANTS" : "is the server up, host and port in 'url' right, and the way through firewalls open?");
        return false;
    }
    if (my_run(&p->conn, "SET SESSION TRANSACTION READ ONLY", "begin a session", &err) != WR_OK || my_query(&p->conn, "SELECT VERSION(), CURRENT_USER(), DATABASE(), @@read_only", "begin a session", &r, &err) != WR_OK) {
        wr_find_err(p->out, "server", &err);
        return false;
    }
    MYSQL_ROW row = my.fetch_row_(r);
    bool      standby = row && row[3] && row[3][0] == '1';
    if (row) {
        wr_find(p->out, WR_FOUND_FINE, "server", "%s %s", p->conn.mariadb ? "MariaDB" : "MySQL", row[0]);
        wr_find(p->out, WR_FOUND_FINE, "login", "'%s' in the database '%s'", row[1], row[2] ? row[2] : "");
        if (standby) wr_find(p->out, WR_FOUND_WARNING, "standby", "this server is read_only: only privileged users may write to it"), wr_find_todo(p->out, "the primary's address in 'url'");
    }
    my.free_result_(r);
    return true;
}

static bool look_at_table(probe *p, my_shape *shape) {
    bool   create = false;
    wr_err err = {0};
    if (my_look(&p->conn, &p->columns, shape, &err) != WR_OK) return wr_find_err(p->out, "table", &err), false;
    (void)wr_option_bool(&p->t->options, jdbc_specs, "create-table", &create, p->ctx->connect->diags);
    if (!shape->there && create) return wr_find(p->out, WR_FOUND_FINE, "table", "%s is not there yet and will be made", p->conn.table), false;
    if (!shape->there) {
        wr_sbuf sql = {0};
        db_put_table(&p->columns, my_put_type, &sql);
        wr_find(p->out, WR_FOUND_FAULT, "table", "there is no table %s, or the user may not see it", p->conn.table);
        wr_find_todo(p->out, "CREATE TABLE %s%s ENGINE = InnoDB; or 'create-table' = 'true'", p->conn.table, sql.at);
        wr_sbuf_free(&sql);
    } else if (shape->view) {
        wr_find(p->out, WR_FOUND_FAULT, "table", "%s is a view: it is not written to", p->conn.table);
        wr_find_todo(p->out, "name the table behind it in 'table-name'");
    } else if (!shape->transactional) {
        wr_find(p->out, WR_FOUND_FAULT, "table", "%s is of the engine %s, which has no transactions", p->conn.table, shape->engine);
        wr_find_todo(p->out, "ALTER TABLE %s ENGINE = InnoDB", p->conn.table);
    } else wr_find(p->out, WR_FOUND_FINE, "table", "%s is there (%s)", p->conn.table, shape->engine);
    return shape->there && !shape->view;
}

static void look_at_columns(probe *p) {
    MYSQL_RES *r;
    wr_err     err = {0};
    wr_sbuf    sql = {0};
    wr_arena  *arena = p->ctx->connect->arena;
    wr_sbuf_addz(&sql, "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT IS NOT NULL OR EXTRA <> '' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ");
    my_put_string(&sql, wr_str_of(p->conn.schema));
    wr_sbuf_addz(&sql, " AND TABLE_NAME = ");
    my_put_string(&sql, wr_str_of(p->conn.plain));
    wr_sbuf_addz(&sql, " ORDER BY ORDINAL_POSITION");
    wr_status status = my_query(&p->conn, sql.at, "look at the columns", &r, &err);
    wr_sbuf_free(&sql);
    if (status != WR_OK) {
        wr_find_err(p->out, "columns", &err);
        return;
    }
    uint32_t         n = 0;
    wr_probe_column *at = wr_new_n(arena, wr_probe_column, (uint32_t)my.num_rows_(r) + 1);
    for (MYSQL_ROW row; (row = my.fetch_row_(r)); n++) at[n] = (wr_probe_column){wr_str_of(row[0]), wr_str_of(row[1]), !strcmp(row[2], "NO"), row[3] && row[3][0] == '1'};
    wr_probe_columns there = {.table = p->conn.table, .n = n, .at = at, .any_case = true, .fit = fit, .put_type = my_put_type, .backticks = true};
    wr_probe_db_columns(p->t, &there, p->ctx);
    my.free_result_(r);
}

static void look_at_key(probe *p, const my_shape *shape) {
    if (!p->t->n_key) return;
    wr_sbuf keys = {0};
    db_put_keys(&p->columns, &keys);
    if (!shape->has_key) {
        wr_find(p->out, WR_FOUND_FAULT, "unique key", "rows are upserted by (%s), and %s has no PRIMARY KEY or UNIQUE constraint on it", keys.at, p->conn.table);
        wr_find_todo(p->out, "ALTER TABLE %s ADD PRIMARY KEY (%s)", p->conn.table, keys.at);
    } else if (shape->other_keys && shape->nullable_key) {
        wr_find(p->out, WR_FOUND_FAULT, "unique key", "%s has other unique keys besides (%s), whose columns may be NULL", p->conn.table, keys.at);
        wr_find_todo(p->out, "make the columns of the key NOT NULL");
    } else wr_find(p->out, WR_FOUND_FINE, "unique key", "(%s)", keys.at);
    wr_sbuf_free(&keys);
}

void mysql_table_probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    probe    p = {.t = t, .ctx = ctx, .out = ctx->out, .columns = my_columns_of(t, ctx->connect->arena)};
    my_shape shape;
    wr_err   err = {0};
    if (my_open(&p.conn, t, ctx->connect->arena, ctx->connect, &err) != WR_OK) {
        if (err.message[0]) wr_find_err(ctx->out, "client library", &err);
        return;
    }
    if (look_at_server(&p) && look_at_table(&p, &shape)) look_at_columns(&p), look_at_key(&p, &shape);
    my_close(&p.conn);
}
