/* cli/common.c: options shared by run, explain and check; reports; numbers for people. See cli.h. */
#include "cli.h"
#include <getopt.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int exit_code_of(wr_status status) {
    switch (status) {
    case WR_OK: return CLI_OK;
    case WR_USER: case WR_UNSUPPORTED: return CLI_REFUSED;
    case WR_CANCELLED: return CLI_INTERRUPTED;
    case WR_LIMIT: case WR_IO: case WR_DATA: case WR_CORRUPT: break;
    }
    return CLI_FAILED;
}

void job_args_free(job_args *args) {
    wr_arr_free(&args->sets);
    wr_arr_free(&args->texts);
    wr_arr_free(&args->files);
}

static bool take_count(const char *command, const char *option, const char *value, uint32_t max, uint32_t *out, int *code) {
    uint64_t n;
    if (parse_count(value, &n) && n >= 1 && n <= max) {
        *out = (uint32_t)n;
        return true;
    }
    *code = usage_error(command, "%s: expected a number from 1 to %u, got '%s'", option, max, value);
    return true;
}

bool take_duration(const char *command, const char *option, const char *value, int64_t *out, int *code) {
    bool bare = value[0] && value[strspn(value, "0123456789.")] == '\0'; /* a bare number would mean milliseconds */
    if (!bare && wr_parse_duration(wr_str_of(value), out) && *out > 0) return true;
    *code = usage_error(command, "%s: expected a duration such as 5s or '1 min', got '%s'", option, value);
    return true;
}

bool no_object_store(const char *command, const char *dir, int *code) {
    const char *scheme = strstr(dir, "://");
    if (!scheme || strchr(dir, '/') < scheme) return false;
    bool runs = !strcmp(command, "run");
    if (runs) *code = usage_error(command, "'%s': a state directory is local, its checkpoints are copied to an object store: --state-dir DIR --checkpoint-to %s", dir, dir);
    else *code = usage_error(command, "'%s': this command needs a directory, not an object store; weir savepoint %s DIR brings the newest checkpoint there", dir, dir);
    return true;
}

bool job_option(job_args *args, const char *command, int opt, const char *value, int *code) {
    wr_session_opts *o = &args->opts;
    *code = 0;
    switch (opt) {
    case 'p': return take_count(command, "-p", value, 64, &o->n_workers, code);
    case OPT_BATCH_ROWS: return take_count(command, "--batch-rows", value, WR_BATCH_MAX, &o->batch_rows, code);
    case OPT_MEMORY:
        if (!wr_parse_size(wr_str_of(value), &o->memory_bytes) || o->memory_bytes < 1 << 20)
            *code = usage_error(command, "--memory: expected a size of at least 1MiB, such as 512MiB or 2g, got '%s'", value);
        return true;
    case OPT_STATE_DIR:
        o->state_dir = value;
        no_object_store(command, value, code);
        return true;
    case OPT_RESTORE:
        o->restore_from = value;
        return true;
    case OPT_CHECKPOINT_TO:
        o->checkpoint_to = value;
        if (strncmp(value, "s3://", 5) != 0) *code = usage_error(command, "--checkpoint-to: expected s3://BUCKET/PREFIX, got '%s'", value);
        return true;
    case OPT_CATCH_UP: {
        int64_t bytes, rows;
        o->catch_up_rate = value;
        if (!wr_pace_parse(wr_str_of(value), &bytes, &rows)) *code = usage_error(command, "--catch-up-rate: expected a rate such as 50MiB/s or '200k rows/s', got '%s'", value);
        return true;
    }
    case OPT_FROM: o->from = value; return true;
    case OPT_FRESH: o->fresh = true; return true;
    case OPT_ACCEPT_OLDER: o->accept_older = true; return true;
    case OPT_SET: wr_arr_push(&args->sets, value); return true;
    case OPT_JSON: args->json = true; return true;
    case OPT_UNTIL_IDLE: return take_duration(command, "--until-idle", value, &o->end_when_idle_us, code);
    case OPT_CHECKPOINT: return take_duration(command, "--checkpoint-every", value, &o->checkpoint_interval_us, code);
    case OPT_BOUNDED: o->force_bounded = true; return true;
    case OPT_TAIL: o->force_tail = true; return true;
    case 'q': args->quiet = true; return true;
    case 'e': wr_arr_push(&args->texts, value); return true;
    default: return false;
    }
}

void job_files(job_args *args, int argc, char **argv, int from) {
    for (int i = from; i < argc; i++) wr_arr_push(&args->files, argv[i]);
}

int wrong_option(const char *command, char **argv, int opt) {
    if (opt == ':') return usage_error(command, "%s needs a value", argv[optind - 1]);
    if (optopt && optopt < 256) return usage_error(command, "there is no option -%c", optopt);
    return usage_error(command, "there is no option %s", argv[optind - 1]);
}

/* Standard input as a script: `weir run -`. */
static wr_status read_stdin(wr_sbuf *text, wr_err *err) {
    char buf[65536];
    for (size_t n; (n = fread(buf, 1, sizeof buf, stdin)) > 0 && text->len <= WR_SQL_TEXT_BYTES_MAX;) wr_sbuf_add(text, buf, n);
    if (ferror(stdin)) return wr_fail(err, WR_IO, "58030", "cannot read the script from standard input: %s", strerror(errno));
    if (text->len > WR_SQL_TEXT_BYTES_MAX) return wr_fail(err, WR_LIMIT, "54000", "the script on standard input is longer than 64 MiB");
    return WR_OK;
}
wr_status read_script(const char *path, wr_sbuf *text, wr_err *err) {
    return !strcmp(path, "-") ? read_stdin(text, err) : wr_file_read_all(wr_world_posix(), path, WR_SQL_TEXT_BYTES_MAX, text, err);
}
static wr_status load_stdin(wr_session *session, wr_err *err) {
    wr_sbuf   text = {0};
    wr_status status = read_stdin(&text, err);
    if (status == WR_OK) wr_session_load_text(session, "standard input", wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    return status;
}

static wr_status load_all(wr_session *session, job_args *args, wr_err *err) {
    for (uint32_t i = 0; i < args->sets.n; i++) WR_TRY(wr_session_set(session, args->sets.at[i], err));
    for (uint32_t i = 0; i < args->files.n; i++) {
        if (!strcmp(args->files.at[i], "-")) WR_TRY(load_stdin(session, err));
        else WR_TRY(wr_session_load_file(session, args->files.at[i], err));
    }
    for (uint32_t i = 0; i < args->texts.n; i++) {
        char name[16];
        snprintf(name, sizeof name, args->texts.n > 1 ? "-e#%u" : "-e", i + 1);
        wr_session_load_text(session, name, wr_str_of(args->texts.at[i]));
    }
    return WR_OK;
}

wr_session *job_session(job_args *args, const char *command, int *code) {
    *code = 0;
    for (uint32_t i = 0; i < args->files.n; i++)
        if (infer_is_data(args->files.at[i])) {
            *code = usage_error(command, "%s is data, not SQL; 'weir sql %s' finds out its columns and asks for queries", args->files.at[i], args->files.at[i]);
            return NULL;
        }
    if (!args->files.n && !args->texts.n) {
        *code = usage_error(command, "no SQL given: name a file, or use -e \"SQL\"");
        return NULL;
    }
    wr_session *session = wr_session_new(&args->opts);
    wr_err      err = {0};
    if (load_all(session, args, &err) != WR_OK) {
        print_err(&err, args->json);
        wr_session_free(session);
        *code = CLI_REFUSED; /* nothing was read yet, whatever the cause */
        return NULL;
    }
    return session;
}

static const char *first_error(const wr_diags *diags) {
    for (uint32_t i = 0; i < diags->list.n; i++)
        if (diags->list.at[i].severity == WR_SEV_ERROR) return diags->list.at[i].code;
    return "";
}

void print_report(wr_session *session, const wr_err *err, bool json) {
    wr_sbuf out = {0};
    wr_session_report(session, err, json, &out);
    if (json) wr_sbuf_addc(&out, '\n');
    if (out.len) fwrite(out.at, 1, out.len, stderr);
    wr_sbuf_free(&out);
    if (!json) explain_code(err && err->message[0] ? err->code : first_error(wr_session_diags(session)));
}

void print_err(const wr_err *err, bool json) {
    wr_sbuf out = {0};
    if (json) {
        wr_sbuf_printf(&out, "{\"diagnostics\":[],\"error\":{\"status\":\"%s\",\"code\":\"%s\",\"place\":", wr_status_name(err->status), err->code);
        wr_sbuf_add_json(&out, wr_str_of(err->place));
        wr_sbuf_addz(&out, ",\"message\":"), wr_sbuf_add_json(&out, wr_str_of(err->message));
        wr_sbuf_addz(&out, ",\"hint\":"), wr_sbuf_add_json(&out, wr_str_of(err->hint));
        wr_sbuf_addz(&out, "}}\n");
    } else {
        wr_err_print(err, NULL, &out);
    }
    fwrite(out.at, 1, out.len, stderr);
    wr_sbuf_free(&out);
    if (!json) explain_code(err->code);
}

void add_count(wr_sbuf *out, uint64_t n) {
    char digits[24];
    int  len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) wr_sbuf_addc(out, ',');
        wr_sbuf_addc(out, digits[i]);
    }
}

void add_rate(wr_sbuf *out, double per_second) {
    if (per_second >= 999500) wr_sbuf_printf(out, "%.2f M", per_second / 1e6);
    else if (per_second >= 10000) wr_sbuf_printf(out, "%.0f k", per_second / 1e3);
    else wr_sbuf_printf(out, "%.0f", per_second);
}

bool parse_count(const char *text, uint64_t *n) {
    uint64_t value = 0;
    bool     any = false;
    for (; (*text >= '0' && *text <= '9') || (any && *text == '_'); text++) {
        if (*text == '_') continue;
        if (value > UINT64_MAX / 10 - 1) return false;
        value = value * 10 + (uint64_t)(*text - '0');
        any = true;
    }
    uint64_t times = *text == 'k' || *text == 'K' ? 1000 : *text == 'M' || *text == 'm' ? 1000000 : *text == 'G' || *text == 'g' ? 1000000000 : 1;
    if (times > 1) text++;
    if (!any || *text || value > UINT64_MAX / times) return false;
    *n = value * times;
    return true;
}

int finish_stdout(int code) {
    if ((fflush(stdout) == 0 && !ferror(stdout)) || code) return code; /* one error is said once */
    if (errno == EPIPE) return CLI_INTERRUPTED;
    fprintf(stderr, "error [58030] cannot write to standard output: %s\n", strerror(errno));
    return CLI_FAILED;
}
