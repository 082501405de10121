/* connect/clickhouse/clickhouse.h: requests to ClickHouse, which sink and probe of 'clickhouse' share. Private to connect/clickhouse.
 *
 * Idea       ClickHouse's own HTTP interface: a query in the URL, rows in the body as JSON, one object a line. Errors are texts with a number.
 * Retries    are the caller's: click_ask says of an error whether it may pass.
 * Thread     a connection belongs to one thread.                                                                                  */
#pragma once
#include "connect/parts.h"
#include "http/http.h"

typedef struct click_conn {
    wr_world   *world;
    wr_str      name;             /* of the SQL table */
    wr_span     at;
    const char *url, *shown, *database, *table; /* url without a slash at its end; database and table as they are */
    int64_t     retry_us;
    wr_http    *http;
    wr_http_opts opts;
    wr_http_answer answer;
    wr_sbuf     address;
} click_conn;

extern const wr_option_spec click_specs[];
/* Reads the options; strings in `arena`. WR_USER: diagnostics. */
wr_status click_open(click_conn *c, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err);
void      click_close(click_conn *c);
/* settings: NULL, or what stands behind '&' in the URL, encoded. The answer's text is c->answer.body, with a NUL behind it. */
wr_status click_ask(click_conn *c, const char *query, const char *settings, wr_str body, const char *doing, wr_err *err);

void click_put_name(wr_sbuf *sql, wr_str name);      /* quoted */
void click_put_text(wr_sbuf *sql, const char *text); /* 'quoted' */
void click_put_table(const click_conn *c, wr_sbuf *sql); /* `database`.`table` */
void click_put_type(wr_sbuf *sql, wr_type type);     /* the type of a column that holds it; without Nullable */

/* What the table is: from system.tables. */
typedef struct click_kind { bool there, remembers, replacing; char engine[64]; } click_kind; /* remembers: tokens of inserts, so that the same insert does nothing */
wr_status click_kind_of(click_conn *c, click_kind *out, wr_err *err);
#define CLICK_VERSION "weir_version"
#define CLICK_DELETED "weir_deleted"

bool      click_is_exact(const wr_table_info *t);    /* 'sink.delivery-guarantee' */
wr_status click_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
