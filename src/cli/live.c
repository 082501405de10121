/* cli/live.c: commands that look at a running job ask it here: through the socket in its state directory, or over HTTP at its --ui. */
#include "cli.h"
#include "http/http.h"
#include "sys/local.h"
#include <stdlib.h>

enum { TIMEOUT_US = 10000000, ANSWER_MAX = 64 << 20 };

static wr_status not_200(const char *target, long code, wr_str body, wr_err *err) {
    return wr_fail(err, WR_IO, "WR400", "%s answered %ld: %.*s", target, code, (int)WR_MIN(body.len, (size_t)400), body.ptr ? body.ptr : "");
}

static wr_status over_http(const char *target, const char *token, const char *path, wr_sbuf *out, wr_err *err) {
    wr_http       *http;
    char           url[2048];
    wr_http_answer answer = {0};
    snprintf(url, sizeof url, "%s%s%s", strstr(target, "://") ? "" : "http://", target, path);
    WR_TRY(wr_http_open(wr_world_posix(), &(wr_http_opts){.who.bearer = token, .timeout_us = TIMEOUT_US, .max_reply_bytes = ANSWER_MAX}, &http, err));
    wr_status status = wr_http_ask(http, &(wr_http_request){.method = "GET", .url = url}, &answer, err);
    wr_http_close(http);
    *out = answer.body;
    if (status == WR_OK && answer.status != 200) status = not_200(target, answer.status, wr_sbuf_str(out), err);
    return status;
}

/* The status comes first, on a line of its own. */
static wr_status over_socket(const char *dir, const char *path, wr_sbuf *out, wr_err *err) {
    char    sock[4096];
    wr_sbuf text = {0};
    snprintf(sock, sizeof sock, "%s/live.sock", dir);
    wr_status   status = wr_local_ask(sock, path, TIMEOUT_US, ANSWER_MAX, &text, err);
    const char *line = status == WR_OK && text.len ? memchr(text.at, '\n', text.len) : NULL;
    if (status == WR_OK && !line) status = wr_fail(err, WR_IO, "WR400", "the job at %s broke its answer off", dir);
    if (status == WR_OK) {
        wr_str body = {line + 1, text.len - (size_t)(line + 1 - text.at)};
        if (strncmp(text.at, "200\n", 4)) status = not_200(dir, strtol(text.at, NULL, 10), body, err);
        else wr_sbuf_add_str(out, body);
    } else if (!err->hint[0]) {
        wr_err_hint(err, "is a job running with --state-dir %s?", dir);
    }
    wr_sbuf_free(&text);
    return status;
}

static bool is_dir(const char *target) {
    wr_file_info info;
    wr_err       ignored;
    bool         there = false;
    return wr_world_posix()->vt->stat(wr_world_posix(), target, &info, &there, &ignored) == WR_OK && there && info.is_dir;
}

int live_get(const char *target, const char *token, const char *path, bool json, wr_sbuf *out) {
    wr_err    err = {0};
    wr_status status;
    if (is_dir(target)) {
        status = over_socket(target, path, out, &err);
    } else {
        status = over_http(target, token, path, out, &err);
        if (status == WR_IO && !err.hint[0]) wr_err_hint(&err, "give the state directory of a running job, or the address that it was given with --ui");
    }
    if (status == WR_OK) return CLI_OK;
    print_err(&err, json);
    return exit_code_of(status);
}
