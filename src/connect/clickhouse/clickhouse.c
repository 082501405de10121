/* connect/clickhouse/clickhouse.c: the connector 'clickhouse': options, requests, what `weir doctor` looks at; the work is in sink.c. See clickhouse.h.   */
#include "connect/clickhouse/clickhouse.h"
#include "connect/probe.h"
#include <stdio.h>
#include <stdlib.h>

enum { REPLY_BYTES = 1 << 20, TIMEOUT_US = 300000000 };

const wr_option_spec click_specs[] = {
    {"url", "string", NULL, true, "http://host:8123 or https://host:8443"},
    {"database-name", "string", "default", false, "the database"},
    {"table-name", "string", NULL, true, "the table"},
    {"username", "string", "default", false, "the user"},
    {"password", "string", "", false, "the password; ${NAME} takes it from --set"},
    {"ca-file", "path", "", false, "https: certificates to trust (PEM) instead of the system's"},
    {"create-table", "bool", "false", false, "make the table if it is not there: MergeTree; with a PRIMARY KEY ReplacingMergeTree(weir_version, weir_deleted)"},
    {"sink.delivery-guarantee", "enum:at-least-once|exactly-once", "exactly-once", false, "exactly-once: each insert has a token by which the server knows it again; the table must remember them"},
    {"sink.job", "string", "weir", false, "the job's name in the tokens"},
    {"connection.max-retry-timeout", "duration", "60 s", false, "how long a server that does not answer is tried again"},
    {0}};

bool click_is_exact(const wr_table_info *t) { return wr_str_ieq(option_text(t, click_specs, "sink.delivery-guarantee"), WR_STR("exactly-once")); }

static const char *kept(wr_arena *arena, wr_str text) { return wr_arena_strndup(arena, text.ptr, text.len); }

wr_status click_open(click_conn *c, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err) {
    wr_str  url = option_text(t, click_specs, "url"), ca = option_text(t, click_specs, "ca-file");
    wr_sbuf shown = {0};
    *c = (click_conn){.world = ctx->world, .name = t->name, .at = t->at};
    if (!wr_http_is_url(url) || memchr(url.ptr, '?', url.len)) return option_error(ctx, t, "url", "WR121", "expected http://host:port or https://host:port");
    while (url.len && url.ptr[url.len - 1] == '/') url.len--;
    if (!wr_option_duration(&t->options, click_specs, "connection.max-retry-timeout", &c->retry_us, ctx->diags)) return WR_USER;
    wr_http_show_url(&shown, url);
    c->url = kept(arena, url), c->shown = kept(arena, wr_sbuf_str(&shown));
    wr_sbuf_free(&shown);
    c->database = kept(arena, option_text(t, click_specs, "database-name")), c->table = kept(arena, option_text(t, click_specs, "table-name"));
    c->opts = (wr_http_opts){.who = {.user = kept(arena, option_text(t, click_specs, "username")), .password = kept(arena, option_text(t, click_specs, "password")), .ca_file = ca.len ? kept(arena, ca) : NULL},
                             .timeout_us = TIMEOUT_US, .max_reply_bytes = REPLY_BYTES};
    return wr_http_open(c->world, &c->opts, &c->http, err);
}

void click_close(click_conn *c) {
    wr_http_close(c->http);
    wr_sbuf_free(&c->answer.body);
    wr_sbuf_free(&c->address);
    c->http = NULL;
}

/* ---- requests ---- */

/* "Code: 60. DB::Exception: Table d.t does not exist. (UNKNOWN_TABLE)": 60; 0: no such text. */
static int code_of(const char *text) {
    const char *at = strstr(text, "Code: ");
    return at ? (int)strtol(at + 6, NULL, 10) : 0;
}

/* Time-outs, the network, memory, too many parts or queries, a replica that is read-only for now, Keeper. */
static bool passes(long status, int code) {
    static const int codes[] = {159, 160, 198, 201, 202, 203, 209, 210, 225, 241, 242, 244, 252, 279, 285, 319, 394, 425, 999};
    for (size_t i = 0; i < WR_COUNT_OF(codes); i++)
        if (code == codes[i]) return true;
    return !code && (status == 408 || status == 429 || status >= 500);
}

static const char *advice(int code) {
    switch (code) {
    case 60: return "make the table first, or let 'create-table' = 'true' do it";
    case 81: return "make the database first: CREATE DATABASE";
    case 16: case 117: return "the columns of the SQL table must be there under the same names";
    case 53: case 27: case 26: case 6: case 72: case 349: return "a value does not fit into its column: compare the types with DESCRIBE TABLE; a column that takes NULL is Nullable(...)";
    case 192: case 193: case 194: case 516: return "is 'username' or 'password' right?";
    case 497: return "GRANT the user INSERT on the table, and SELECT on system.tables and system.columns";
    default: return NULL;
    }
}

static wr_status refuse(click_conn *c, const char *doing, wr_err *err) {
    char       *text = c->answer.body.at ? c->answer.body.at : (char *)(uintptr_t)"";
    int         code = code_of(text);
    const char *said = strstr(text, "DB::Exception: "), *hint = advice(code);
    char        words[300];
    snprintf(words, sizeof words, "%.280s", said ? said + 15 : text);
    words[strcspn(words, "\n")] = 0;
    wr_status status = wr_fail(err, WR_IO, "WR353", "table '%.*s': cannot %s in ClickHouse at %s: %s%s", WR_FMT(c->name), doing, c->shown, *words ? "" : "HTTP status ", *words ? words : "");
    if (!err) return status;
    if (!*words) snprintf(err->message + strlen(err->message), sizeof err->message - strlen(err->message), "%ld", c->answer.status);
    err->at = c->at;
    err->retriable = passes(c->answer.status, code);
    if (hint) wr_err_hint(err, "%s", hint);
    return status;
}

wr_status click_ask(click_conn *c, const char *query, const char *settings, wr_str body, const char *doing, wr_err *err) {
    wr_err own = {0}, *e = err ? err : &own;
    wr_sbuf_clear(&c->address);
    wr_sbuf_printf(&c->address, "%s/?database=", c->url);
    wr_http_encode(&c->address, wr_str_of(c->database), false);
    wr_sbuf_addz(&c->address, "&query=");
    wr_http_encode(&c->address, wr_str_of(query), false);
    if (settings) wr_sbuf_addz(&c->address, settings);
    wr_http_request q = {.method = "POST", .url = c->address.at, .body = body.ptr ? body : WR_STR(""), .content_type = "application/x-ndjson"};
    wr_sbuf_clear(&c->answer.body);
    if (wr_http_ask(c->http, &q, &c->answer, e) != WR_OK) {
        char why[256];
        const char *said = strstr(e->message, "no answer: ");
        snprintf(why, sizeof why, "%.240s", said ? said + 11 : e->message);
        wr_fail(e, WR_IO, "WR353", "table '%.*s': cannot %s in ClickHouse: no answer from %s: %s", WR_FMT(c->name), doing, c->shown, why);
        wr_err_hint(e, "is the server up, and 'url' right?");
        e->at = c->at;
        e->retriable = true;
        return WR_IO;
    }
    wr_sbuf_addc(&c->answer.body, 0);
    c->answer.body.len--;
    return c->answer.status == 200 ? WR_OK : refuse(c, doing, err);
}

/* ---- SQL ---- */

void click_put_name(wr_sbuf *sql, wr_str name) {
    wr_sbuf_addc(sql, '`');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '`' || name.ptr[i] == '\\') wr_sbuf_addc(sql, '\\');
        wr_sbuf_addc(sql, name.ptr[i]);
    }
    wr_sbuf_addc(sql, '`');
}

void click_put_text(wr_sbuf *sql, const char *text) {
    wr_sbuf_addc(sql, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') wr_sbuf_addc(sql, '\\');
        wr_sbuf_addc(sql, *text);
    }
    wr_sbuf_addc(sql, '\'');
}

void click_put_table(const click_conn *c, wr_sbuf *sql) {
    click_put_name(sql, wr_str_of(c->database));
    wr_sbuf_addc(sql, '.');
    click_put_name(sql, wr_str_of(c->table));
}

static bool may_be_nullable(wr_type t) { return t.id != WR_T_ARRAY && t.id != WR_T_MAP && t.id != WR_T_MULTISET && t.id != WR_T_ROW; }

static void put_inner(wr_sbuf *sql, wr_type t) {
    bool wrap = t.nullable && may_be_nullable(t);
    if (wrap) wr_sbuf_addz(sql, "Nullable(");
    click_put_type(sql, t);
    if (wrap) wr_sbuf_addc(sql, ')');
}

void click_put_type(wr_sbuf *sql, wr_type t) {
    switch (t.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(sql, "Bool"); break;
    case WR_T_TINYINT: wr_sbuf_addz(sql, "Int8"); break;
    case WR_T_SMALLINT: wr_sbuf_addz(sql, "Int16"); break;
    case WR_T_INT:
    case WR_T_INTERVAL_YM: wr_sbuf_addz(sql, "Int32"); break;
    case WR_T_BIGINT:
    case WR_T_INTERVAL_DS: wr_sbuf_addz(sql, "Int64"); break;
    case WR_T_FLOAT: wr_sbuf_addz(sql, "Float32"); break;
    case WR_T_DOUBLE: wr_sbuf_addz(sql, "Float64"); break;
    case WR_T_DECIMAL: wr_sbuf_printf(sql, "Decimal(%d, %d)", (int)t.prec, (int)t.scale); break;
    case WR_T_DATE: wr_sbuf_addz(sql, "Date32"); break;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: wr_sbuf_printf(sql, "DateTime64(%d, 'UTC')", (int)WR_MIN(t.prec, 6)); break;
    case WR_T_ARRAY:
        wr_sbuf_addz(sql, "Array(");
        put_inner(sql, t.kids[0]);
        wr_sbuf_addc(sql, ')');
        break;
    case WR_T_MAP:
        wr_sbuf_addz(sql, "Map(");
        click_put_type(sql, t.kids[0]);
        wr_sbuf_addz(sql, ", ");
        put_inner(sql, t.kids[1]);
        wr_sbuf_addc(sql, ')');
        break;
    case WR_T_ROW:
        wr_sbuf_addz(sql, "Tuple(");
        for (uint32_t i = 0; i < t.n_kids; i++) {
            if (i) wr_sbuf_addz(sql, ", ");
            click_put_name(sql, t.names[i]);
            wr_sbuf_addc(sql, ' ');
            put_inner(sql, t.kids[i]);
        }
        wr_sbuf_addc(sql, ')');
        break;
    default: wr_sbuf_addz(sql, "String");
    }
}

/* MergeTree remembers tokens if it is told how many; the Replicated and Shared ones do so by themselves, unless they are told not to. */
wr_status click_kind_of(click_conn *c, click_kind *out, wr_err *err) {
    wr_sbuf sql = {0};
    *out = (click_kind){0};
    wr_sbuf_addz(&sql, "SELECT engine, extract(engine_full, 'non_replicated_deduplication_window = (\\\\d+)'), extract(engine_full, 'replicated_deduplication_window = (\\\\d+)') FROM system.tables WHERE database = ");
    click_put_text(&sql, c->database);
    wr_sbuf_addz(&sql, " AND name = ");
    click_put_text(&sql, c->table);
    wr_sbuf_addz(&sql, " FORMAT TSV");
    wr_status status = click_ask(c, sql.at, NULL, WR_STR(""), "look for the table", err);
    wr_sbuf_free(&sql);
    WR_TRY(status);
    char *engine = c->answer.body.len ? c->answer.body.at : NULL, *own = engine ? strchr(engine, '\t') : NULL, *shared = own ? strchr(own + 1, '\t') : NULL;
    if (!shared) return WR_OK;
    *own++ = 0, *shared++ = 0;
    shared[strcspn(shared, "\n")] = 0;
    out->there = true;
    snprintf(out->engine, sizeof out->engine, "%s", engine);
    bool replicated = strstr(engine, "Replicated") != NULL || strstr(engine, "Shared") != NULL;
    out->remembers = replicated ? strcmp(shared, "0") != 0 : strstr(engine, "MergeTree") && strtoll(own, NULL, 10) > 0;
    out->replacing = strstr(engine, "Replacing") != NULL;
    return WR_OK;
}

/* ---- the connector ---- */

static wr_sink_takes takes(const wr_table_info *t) { return t->n_key ? WR_SINK_UPSERT : WR_SINK_APPEND; }
static wr_guarantee  guarantee(const wr_table_info *t) { return click_is_exact(t) ? WR_EXACTLY_ONCE : t->n_key ? WR_IDEMPOTENT : WR_AT_LEAST_ONCE; }

static void probe_table(click_conn *c, const wr_table_info *t, wr_probe_ctx *ctx) {
    click_kind kind;
    bool       create = false;
    wr_err     err = {0};
    if (click_kind_of(c, &kind, &err) != WR_OK) {
        wr_find_err(ctx->out, "table", &err);
        return;
    }
    (void)wr_option_bool(&t->options, click_specs, "create-table", &create, ctx->connect->diags);
    if (!kind.there) {
        wr_find(ctx->out, create ? WR_FOUND_NOTE : WR_FOUND_FAULT, "table", "there is no table %s.%s%s", c->database, c->table, create ? " yet: the job makes it" : "");
        if (!create) wr_find_todo(ctx->out, "make it, or 'create-table' = 'true'");
        return;
    }
    wr_find(ctx->out, WR_FOUND_FINE, "table", "%s.%s is there (%s)", c->database, c->table, kind.engine);
    if (t->n_key && !kind.replacing) {
        wr_find(ctx->out, WR_FOUND_FAULT, "engine", "rows are replaced by key, and %s does not do that", kind.engine);
        wr_find_todo(ctx->out, "ENGINE = ReplacingMergeTree(" CLICK_VERSION ", " CLICK_DELETED ")");
    }
    if (click_is_exact(t) && !kind.remembers) {
        wr_find(ctx->out, WR_FOUND_FAULT, "tokens", "the table does not remember inserts, so none would be known again");
        wr_find_todo(ctx->out, "ALTER TABLE %s.%s MODIFY SETTING non_replicated_deduplication_window = 1000, or 'sink.delivery-guarantee' = 'at-least-once'", c->database, c->table);
    }
}

static void probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    click_conn c;
    wr_err     err = {0};
    wr_status  status = click_open(&c, t, ctx->connect->arena, ctx->connect, &err);
    c.opts.timeout_us = ctx->timeout_us;
    if (status == WR_OK) {
        wr_http_close(c.http);
        status = wr_http_open(c.world, &c.opts, &c.http, &err);
    }
    if (status == WR_OK) status = click_ask(&c, "SELECT version()", NULL, WR_STR(""), "ask for the version", &err);
    if (status != WR_OK) {
        if (err.message[0]) wr_find_err(ctx->out, "server", &err);
    } else {
        wr_find(ctx->out, WR_FOUND_FINE, "server", "%s answers (ClickHouse %.*s)", c.shown, (int)strcspn(c.answer.body.at, "\n"), c.answer.body.at);
        probe_table(&c, t, ctx);
    }
    click_close(&c);
}

const wr_connector wr_connector_clickhouse = {.name = "clickhouse", .doc = "a table of ClickHouse over HTTP: inserts in blocks that count once", .specs = click_specs, .sink_new = click_sink_new,
                                              .takes = takes, .guarantee = guarantee, .probe = probe};
