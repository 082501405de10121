/* connect/http/target.h: what the sink and the look-up of the connector 'http' share. Private to connect/.                            */
#pragma once
#include "connect/parts.h"
#include "http/http.h"

enum { HTTP_PARALLEL_MAX = 64, HTTP_HEADERS_MAX = 32 };

extern const wr_option_spec http_specs[];

typedef struct http_target {      /* of a table's options; strings in the arena that was given */
    wr_str         url;           /* may have {column} */
    char          *shown;         /* for messages: without password and query */
    wr_http_policy policy;
    wr_http_codes  refused;
    const char    *headers[HTTP_HEADERS_MAX + 1]; /* the user's */
    uint32_t       n_headers;
    bool           has_content_type;
    uint32_t       parallel;
} http_target;
wr_status http_target_read(http_target *out, const wr_table_info *t, wr_connect_ctx *ctx, wr_arena *arena, const char *parallel_key);
/* The beginning of a server's words, as one line. */
void http_show_reply(wr_str reply, char *out, size_t cap);

wr_status http_sink_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err);
wr_status http_lookup_new(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err);

/* ---- json_lines.c ---- */
/* JSON as people and servers send it, one value or an array of them over any number of lines, as one line for each: white space outside of strings is left out.
 * `path`: which member of the outer object holds them ("data.items"); "" the text itself. A null gives nothing. False: it is not such a text; *why says it. */
bool json_lines(wr_str text, wr_str path, wr_sbuf *out, uint64_t *n, const char **why);
