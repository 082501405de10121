/* cli/slo.c: `weir slo`: what is promised of a running job; and what `weir run` is told of promises, alerts and traces.                    */
#include "cli.h"
#include "http/http.h"
#include "observe/slo.h"
#include "serve/serve.h"
#include <getopt.h>
#include <stdlib.h>

enum { FILE_MOST = 1 << 20 };

/* ---- weir slo ---- */
int cmd_slo(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, OPT_JSON}, {"token", required_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool        json = false;
    const char *token = NULL;
    wr_sbuf     out = {0};
    opterr = 0, optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("slo", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("slo", argv, opt);
        if (opt == OPT_JSON) json = true;
        else token = optarg;
    }
    if (argc - optind != 1) return usage_error("slo", "give the state directory of a running job, or the address of its --ui");
    int code = live_get(argv[optind], token, "/api/slo", json, &out);
    bool kept = !code && !memmem(out.at, out.len, "\"kept\":false", 12);
    if (!code && !json) {
        wr_sbuf_clear(&out);
        code = live_get(argv[optind], token, "/api/slo?form=text", json, &out);
    }
    if (!code) printf("%.*s%s", WR_FMT(wr_sbuf_str(&out)), json ? "\n" : "");
    wr_sbuf_free(&out);
    return code ? code : finish_stdout(kept ? CLI_OK : CLI_FAILED);
}

/* ---- weir run ---- */
static wr_status read_promises(wr_session *session, const char *path, struct wr_slo_file **out, wr_err *err) {
    wr_sbuf   text = {0};
    wr_status status = wr_file_read_all(wr_world_posix(), path, FILE_MOST, &text, err);
    if (status == WR_OK) status = wr_slo_file_read(wr_sbuf_str(&text), path, out, err);
    wr_sbuf_free(&text);
    WR_TRY(status);
    WR_ARR(const wr_job_plan *) plans = {0};
    for (uint32_t i = 0; i < wr_session_n_steps(session); i++)
        if (wr_session_step(session, i)->kind == WR_STEP_JOB) wr_arr_push(&plans, wr_session_step(session, i)->job);
    status = wr_slo_file_check(*out, plans.at, plans.n, err);
    wr_arr_free(&plans);
    return status;
}

static const char *env(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Where traces go: --otel, or as OpenTelemetry's variables say. */
static void find_otlp(const char *given, wr_sbuf *url) {
    const char *off = env("OTEL_SDK_DISABLED"), *exporter = env("OTEL_TRACES_EXPORTER"), *whole = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    if (!given && ((off && !strcmp(off, "true")) || (exporter && strcmp(exporter, "otlp")))) return;
    if (!given && whole) {
        wr_sbuf_addz(url, whole);
        return;
    }
    const char *base = given ? given : env("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!base) return;
    wr_sbuf_addz(url, base);
    while (url->len && url->at[url->len - 1] == '/') url->at[--url->len] = 0;
    if (url->len < 10 || strcmp(url->at + url->len - 10, "/v1/traces")) wr_sbuf_addz(url, "/v1/traces");
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1; }

/* "a=b,c=d%20e" to lines "a: b". */
static void otlp_headers(wr_sbuf *out) {
    const char *given = env("OTEL_EXPORTER_OTLP_TRACES_HEADERS");
    wr_str      list = wr_str_of(given ? given : env("OTEL_EXPORTER_OTLP_HEADERS")), item;
    while (list.ptr && wr_str_next(&list, ',', &item)) {
        const char *equals = memchr(item.ptr, '=', item.len);
        if (!equals) continue;
        wr_sbuf_printf(out, "%.*s: ", (int)(equals - item.ptr), item.ptr);
        for (const char *c = equals + 1, *end = item.ptr + item.len; c < end; c++) {
            bool coded = *c == '%' && end - c > 2 && hex(c[1]) >= 0 && hex(c[2]) >= 0;
            char one = (char)(coded ? hex(c[1]) * 16 + hex(c[2]) : *c);
            if (one != '\r' && one != '\n') wr_sbuf_addc(out, one);
            if (coded) c += 2;
        }
        wr_sbuf_addc(out, '\n');
    }
}

static bool is_url(const char *what, const wr_sbuf *url, bool json) {
    if (!url->len || wr_http_is_url(wr_sbuf_str(url))) return true;
    wr_err err = {0};
    wr_fail(&err, WR_USER, "WR422", "%s is '%.*s', which is not a URL", what, WR_FMT(wr_sbuf_str(url)));
    wr_err_hint(&err, "http://HOST:PORT/... or https://...");
    print_err(&err, json);
    return false;
}

int watch_open(wr_serve *serve, wr_session *session, const watch_flags *flags, bool json, watch_kept *kept) {
    const wr_catalog *catalog = wr_session_catalog(session);
    wr_str            webhook = wr_catalog_get(catalog, "alert.webhook"), silent = wr_catalog_get(catalog, "alert.source-silent");
    wr_err            err = {0};
    int64_t           silent_us;
    wr_sbuf_add_str(&kept->webhook, flags->webhook ? wr_str_of(flags->webhook) : webhook);
    find_otlp(flags->otel, &kept->otlp);
    otlp_headers(&kept->headers);
    if (!is_url("'alert.webhook'", &kept->webhook, json) || !is_url("the endpoint of OpenTelemetry", &kept->otlp, json)) return CLI_REFUSED;
    wr_status status = flags->slo ? read_promises(session, flags->slo, &kept->file, &err) : WR_OK;
    if (status == WR_OK && (!wr_parse_duration(silent, &silent_us) || silent_us <= 0)) {
        status = wr_fail(&err, WR_USER, "WR422", "'alert.source-silent' is '%.*s', which is not a time", WR_FMT(silent));
        wr_err_hint(&err, "such as '5 min'");
    }
    if (status == WR_OK)
        status = wr_serve_watch(serve, &(wr_serve_watch_opts){.slo_file = kept->file, .webhook = kept->webhook.len ? kept->webhook.at : NULL, .otlp = kept->otlp.len ? kept->otlp.at : NULL,
                                                              .otlp_headers = kept->headers.len ? kept->headers.at : NULL, .service = env("OTEL_SERVICE_NAME"), .source_silent_us = silent_us,
                                                              .fresh = wr_session_opts_of(session)->fresh}, &err);
    if (status == WR_OK) return CLI_OK;
    print_err(&err, json);
    return exit_code_of(status);
}

void watch_close(watch_kept *kept) {
    wr_slo_file_free(kept->file);
    wr_sbuf_free(&kept->webhook), wr_sbuf_free(&kept->otlp), wr_sbuf_free(&kept->headers);
}
