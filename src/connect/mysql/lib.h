/* connect/mysql/lib.h: a connection to MySQL or MariaDB, and what sink and probe of 'jdbc' share there. Private to connect/mysql.
 *
 * Idea       libmariadb is loaded when a job first needs it: its functions stand in one table that mysql_load fills; my.NAME is mysql_NAME. Statements are text.
 *            The session says how text is read, whatever the server's settings: utf8mb4, UTC, strict, and no escapes in strings but the doubled quote.
 * Retries    a connection that is lost is made again for up to 'connection.max-retry-timeout'; what was in flight is done again by the caller, whose
 *            transactions are idempotent.
 * Thread     a connection belongs to one thread.                                                                                     */
#pragma once
#include "connect/parts.h"
#include <mariadb/mysql.h>

#define MY_FUNCTIONS(F)                                                                                                                             \
    F(server_init) F(init) F(options) F(real_connect) F(close) F(real_query) F(store_result) F(fetch_row) F(fetch_lengths) F(free_result) F(num_rows) \
    F(field_count) F(errno) F(error) F(sqlstate) F(get_ssl_cipher)
typedef struct my_table {
#define F(name) __typeof__(mysql_##name) *name##_;
    MY_FUNCTIONS(F)
#undef F
} my_table;
extern my_table my;

typedef enum my_tls { MY_TLS_OFF, MY_TLS_ON, MY_TLS_VERIFY } my_tls;
typedef struct my_conn {
    wr_world     *world;
    wr_str        name;             /* of the SQL table */
    wr_span       at;
    const char   *host, *user, *password, *database, *ca;
    const char   *schema, *plain;   /* of the table: its database, its name */
    const char   *table;            /* quoted, with its database if that was said */
    unsigned      port;
    my_tls        tls;
    MYSQL        *c;                /* NULL: none; my_connect makes one */
    int64_t       retry_us;
    unsigned      timeout_s, answer_s; /* of one attempt to connect; of one answer */
    size_t        packet_bytes;     /* what the server takes as one statement */
    bool          mariadb;
    unsigned      number;           /* the server's, of the last error; 0: it is our own */
} my_conn;

bool      my_is_url(const wr_table_info *t);
/* Reads the options; strings in `arena`. WR_USER: diagnostics. */
wr_status my_open(my_conn *conn, const wr_table_info *t, wr_arena *arena, wr_connect_ctx *ctx, wr_err *err);
wr_status my_connect(my_conn *conn, wr_err *err);  /* if it is not; settings of the session are made */
void      my_close(my_conn *conn);
wr_status my_run(my_conn *conn, const char *sql, const char *doing, wr_err *err);   /* one statement without rows */
#define TOO_LARGE "54000" /* the code of a statement that the server would not take */
wr_status my_run_bytes(my_conn *conn, wr_str sql, const char *doing, wr_err *err);
wr_status my_query(my_conn *conn, const char *sql, const char *doing, MYSQL_RES **out /* for my.free_result_ */, wr_err *err);
WR_COLD wr_status my_fail(my_conn *conn, const char *doing, wr_err *err);           /* what the server said last; closes a connection that is lost */

db_columns my_columns_of(const wr_table_info *t, wr_arena *arena);
void      my_put_string(wr_sbuf *out, wr_str text);                                  /* 'quoted' */
void      my_put_type(wr_sbuf *out, wr_type type);                                   /* the type of a column that holds it */
bool      my_put_value(wr_sbuf *out, const wr_vec *vec, uint32_t row, wr_sbuf *scratch); /* false: NaN or an infinity, which MySQL cannot hold */

/* What the catalogue says of the table. */
typedef struct my_shape {
    bool        there, view, transactional;
    char        engine[40];
    bool        has_key;            /* a unique key on exactly the columns of the PRIMARY KEY */
    bool        other_keys;         /* unique keys on other columns */
    bool        nullable_key;
} my_shape;
wr_status my_look(my_conn *conn, const db_columns *columns, my_shape *out, wr_err *err);

wr_status mysql_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
struct wr_probe_ctx;
void      mysql_table_probe(const wr_table_info *t, struct wr_probe_ctx *ctx);
