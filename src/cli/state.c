/* cli/state.c: `weir savepoint` and `weir state verify|ls`: copies of a job's state, whether it is whole, what is in it.
 *
 * Live       a job that runs on the directory is asked for a checkpoint first (checkpoint/live.c), unless --last. In an object store (mirror.h) it is
 *            what the job has uploaded. */
#include "state.h"
#include "mirror.h"
#include "remote/remote.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

enum { TIMEOUT_US = 60000000 };

void put_out(wr_sbuf *out) {
    mirror_rename(out);
    if (out->len) fwrite(out->at, 1, out->len, stdout);
    wr_sbuf_free(out);
}

int state_fail(const wr_err *err, const state_args *args) {
    wr_err said = *err;
    mirror_rename_err(&said);
    print_err(&said, args->json);
    return exit_code_of(err->status);
}

int state_parse(int argc, char **argv, const char *command, state_args *args) {
    enum { LAST = 1000, EPOCH, LIMIT, TIMEOUT };
    static const struct option options[] = {{"json", no_argument, NULL, OPT_JSON}, {"last", no_argument, NULL, LAST},
                                            {"accept-older", no_argument, NULL, OPT_ACCEPT_OLDER}, {"epoch", required_argument, NULL, EPOCH},
                                            {"limit", required_argument, NULL, LIMIT}, {"timeout", required_argument, NULL, TIMEOUT},
                                            {"help", no_argument, NULL, 'h'}, {0}};
    *args = (state_args){.limit = 10, .timeout_us = TIMEOUT_US};
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        uint64_t n = 0;
        if (opt == 'h') return help_command(command, stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option(command, argv, opt);
        if (opt == OPT_JSON) args->json = true;
        if (opt == LAST) args->last = true;
        if (opt == OPT_ACCEPT_OLDER) args->accept_older = true;
        if ((opt == EPOCH || opt == LIMIT) && (!parse_count(optarg, &n) || !n || n > UINT32_MAX)) return usage_error(command, "%s: expected a number, got '%s'", argv[optind - 2], optarg);
        if (opt == EPOCH) args->epoch = n;
        if (opt == LIMIT) args->limit = (uint32_t)n;
        if (opt == TIMEOUT && (!wr_parse_duration(wr_str_of(optarg), &args->timeout_us) || args->timeout_us <= 0))
            return usage_error(command, "--timeout: expected a duration such as 60s, got '%s'", optarg);
    }
    for (; optind < argc; optind++) {
        if (args->n_pos == 4) return usage_error(command, "'%s' is one argument too many", argv[optind]);
        args->pos[args->n_pos++] = argv[optind];
    }
    return -1;
}

/* The newest state of a running job; of another one what is there. */
static wr_status refresh(const char *dir, const state_args *args, wr_err *err) {
    uint64_t epoch;
    return args->last || args->epoch ? WR_OK : wr_state_ask(wr_world_posix(), dir, args->timeout_us, &epoch, err);
}

/* Directories in an object store are looked at in a copy. */
static wr_status fetch_dir(const char **dir, uint64_t epoch, bool files, wr_err *err) {
    return wr_remote_is_url(*dir) ? mirror_fetch(*dir, epoch, files, dir, err) : WR_OK;
}

/* ---- savepoint ---- */
static wr_status must_be_free(const char *out, wr_err *err) {
    wr_file_info info, *files = NULL;
    bool         there;
    size_t       n = 0;
    wr_world    *world = wr_world_posix();
    WR_TRY(world->vt->stat(world, out, &info, &there, err));
    if (!there) return WR_OK;
    WR_TRY(world->vt->list(world, out, &files, &n, err));
    wr_free(files);
    if (n) wr_fail(err, WR_USER, "WR307", "%s is not empty: a savepoint gets a directory of its own", out);
    return n ? WR_USER : WR_OK;
}

static wr_status make_savepoint(const state_args *args, wr_checkpoint *ck, wr_err *err) {
    const char *dir = args->pos[0], *out = args->pos[1];
    wr_world   *world = wr_world_posix();
    bool        found, away = wr_remote_is_url(out);
    if (away) WR_TRY(mirror_begin(out, &out, err));
    else WR_TRY(must_be_free(out, err));
    WR_TRY(fetch_dir(&dir, args->accept_older ? WR_MIRROR_ALL : WR_MIRROR_NEWEST, true, err));
    WR_TRY(refresh(dir, args, err));
    wr_status status = WR_OK;
    for (int attempt = 0; attempt < 5; attempt++) { /* a running job may retire it while it is read */
        WR_TRY(wr_checkpoint_open(world, dir, args->accept_older, ck, &found, err));
        if (!found) return wr_fail(err, WR_USER, "WR307", "there is no checkpoint in %s", dir);
        status = wr_checkpoint_export(world, dir, ck, out, err);
        if (status == WR_OK || strcmp(err->code, "58P01") != 0) break;
        wr_checkpoint_close(ck);
    }
    return status == WR_OK && away ? mirror_send(out, err) : status;
}

int cmd_savepoint(int argc, char **argv) {
    state_args args;
    int        code = state_parse(argc, argv, "savepoint", &args);
    if (code >= 0) return code;
    if (args.n_pos != 2) return usage_error("savepoint", "a state directory and a directory to make are needed");
    wr_checkpoint ck = {0};
    wr_err        err = {0};
    wr_sbuf       out = {0};
    if (make_savepoint(&args, &ck, &err) != WR_OK) {
        wr_checkpoint_close(&ck);
        code = state_fail(&err, &args);
        mirror_drop_all();
        return code;
    }
    uint64_t bytes = ck.file.len;
    for (uint32_t i = 0; i < ck.files.n; i++) bytes += ck.files.at[i].bytes;
    if (args.json) {
        wr_sbuf_addz(&out, "{\"savepoint\":"), wr_sbuf_add_json(&out, wr_str_of(args.pos[1]));
        wr_sbuf_printf(&out, ",\"epoch\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"files\":%u}\n", ck.epoch, bytes, ck.files.n + 1);
    } else {
        wr_sbuf_printf(&out, "savepoint %s: checkpoint %" PRIu64 ", ", args.pos[1], ck.epoch);
        wr_text_size((int64_t)bytes, &out);
        wr_sbuf_printf(&out, " in %u file%s; begin from it with\n  weir run --restore %s --state-dir NEW-DIR job.sql\n", ck.files.n + 1, ck.files.n ? "s" : "", args.pos[1]);
    }
    put_out(&out);
    wr_checkpoint_close(&ck);
    mirror_drop_all();
    return finish_stdout(CLI_OK);
}

/* ---- verify ---- */
typedef struct verify { const state_args *args; wr_sbuf out; uint32_t files, bad; } verify;

static void report_file(verify *v, const char *path, uint64_t bytes, uint64_t in_flight_bytes, wr_status status, const wr_err *err) {
    v->files++;
    v->bad += status != WR_OK;
    if (v->args->json) {
        wr_sbuf_printf(&v->out, "%s{\"file\":", v->files > 1 ? "," : "");
        wr_sbuf_add_json(&v->out, wr_str_of(path));
        wr_sbuf_printf(&v->out, ",\"bytes\":%" PRIu64 ",\"ok\":%s", bytes, status == WR_OK ? "true" : "false");
        if (in_flight_bytes) wr_sbuf_printf(&v->out, ",\"in_flight_bytes\":%" PRIu64, in_flight_bytes);
        if (status != WR_OK) wr_sbuf_addz(&v->out, ",\"why\":"), wr_sbuf_add_json(&v->out, wr_str_of(err->message));
        wr_sbuf_addc(&v->out, '}');
    } else if (status == WR_OK) {
        wr_sbuf_printf(&v->out, "  ok       %s (", path);
        wr_text_size((int64_t)bytes, &v->out);
        if (in_flight_bytes) wr_sbuf_addz(&v->out, ", of that rows in flight "), wr_text_size((int64_t)in_flight_bytes, &v->out);
        wr_sbuf_addz(&v->out, ")\n");
    } else {
        wr_sbuf_printf(&v->out, "  DAMAGED  %s: %s\n", path, err->message);
    }
}

/* Files that several checkpoints share are read once. */
static void verify_files(verify *v, const char *dir, wr_checkpoint *ck, wr_sbuf *seen) {
    for (uint32_t i = 0; i < ck->files.n; i++) {
        const wr_checkpoint_file *f = &ck->files.at[i];
        if (seen->at && strstr(seen->at, f->stored)) continue;
        wr_sbuf_printf(seen, "%s\n", f->stored);
        wr_err err = {0};
        char   path[600];
        snprintf(path, sizeof path, "%s/files/%s", dir, f->stored);
        report_file(v, path, f->bytes, 0, wr_checkpoint_check_file(wr_world_posix(), dir, f, &err), &err);
    }
}

static int state_verify(const state_args *args) {
    wr_checkpoint_epochs epochs = {0};
    wr_err err = {0};
    verify v = {.args = args};
    wr_sbuf seen = {0};
    if (wr_checkpoint_list(wr_world_posix(), args->pos[0], &epochs, &err) != WR_OK) return state_fail(&err, args);
    if (args->json) wr_sbuf_addz(&v.out, "{\"files\":[");
    for (uint32_t i = 0; i < epochs.n; i++) {
        wr_checkpoint ck;
        err = (wr_err){0};
        wr_status status = wr_checkpoint_read(wr_world_posix(), args->pos[0], epochs.at[i], &ck, &err);
        if (status == WR_IO && !strcmp(err.code, "58P01")) continue; /* retired by a running job meanwhile */
        uint64_t rows = 0, in_flight = 0;
        if (status == WR_OK) wr_checkpoint_in_flight(&ck, &rows, &in_flight);
        report_file(&v, ck.path, ck.file.len, in_flight, status, &err);
        if (status == WR_OK) verify_files(&v, args->pos[0], &ck, &seen);
        wr_checkpoint_close(&ck);
    }
    if (args->json) wr_sbuf_printf(&v.out, "],\"checkpoints\":%u,\"damaged\":%u}\n", epochs.n, v.bad);
    else wr_sbuf_printf(&v.out, "%u checkpoint%s, %u file%s, %u damaged\n", epochs.n, epochs.n == 1 ? "" : "s", v.files, v.files == 1 ? "" : "s", v.bad);
    put_out(&v.out);
    wr_sbuf_free(&seen);
    wr_arr_free(&epochs);
    return finish_stdout(v.bad ? CLI_FAILED : CLI_OK);
}

/* ---- ls ---- */
static void ls_json(const state_view *v, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"epoch\":%" PRIu64 ",\"format\":%u,\"manifest_bytes\":%zu,\"tier_bytes\":%" PRIu64 ",\"tier_files\":%u,\"key_groups\":%u,\"aligned\":%s,\"in_flight_rows\":%" PRIu64
                   ",\"in_flight_bytes\":%" PRIu64 ",\"operators\":[",
                   v->ck.epoch, v->ck.version, v->ck.file.len, v->tier_bytes, v->ck.files.n, v->n_groups, v->in_flight_bytes ? "false" : "true", v->in_flight_rows, v->in_flight_bytes);
    for (uint32_t i = 0; i < v->ops.n; i++) {
        const state_op *op = &v->ops.at[i];
        wr_sbuf_addz(out, i ? ",{\"id\":" : "{\"id\":"), wr_sbuf_add_json(out, op->id);
        wr_sbuf_addz(out, ",\"kind\":"), wr_sbuf_add_json(out, op->kind);
        wr_sbuf_addz(out, ",\"title\":"), wr_sbuf_add_json(out, op->title);
        wr_sbuf_printf(out, ",\"instances\":%u,\"keys\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"state_bytes\":%" PRIi64 ",\"inline_bytes\":%" PRIu64 ",\"in_flight_bytes\":%" PRIu64 "}", op->instances,
                       op->keys, op->rows, op->state_bytes, op->inline_bytes, op->in_flight_bytes);
    }
    wr_sbuf_addz(out, "]}");
}

static void ls_text(const state_view *v, wr_sbuf *out) {
    wr_sbuf_printf(out, "checkpoint %" PRIu64 ": ", v->ck.epoch);
    wr_text_size((int64_t)v->ck.file.len, out);
    wr_sbuf_printf(out, " in %s", strrchr(v->ck.path, '/') + 1);
    if (v->ck.files.n) wr_sbuf_printf(out, ", %u file%s of the tier with ", v->ck.files.n, v->ck.files.n == 1 ? "" : "s"), wr_text_size((int64_t)v->tier_bytes, out);
    if (v->in_flight_bytes) wr_sbuf_printf(out, "; unaligned: %" PRIu64 " rows in flight, ", v->in_flight_rows), wr_text_size((int64_t)v->in_flight_bytes, out);
    wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < v->ops.n; i++) {
        const state_op *op = &v->ops.at[i];
        wr_sbuf_printf(out, "  %-24.*s ", WR_FMT(op->id));
        add_count(out, op->keys);
        wr_sbuf_addz(out, " keys, ");
        if (op->rows) add_count(out, op->rows), wr_sbuf_addz(out, " rows, ");
        wr_text_size(op->state_bytes, out);
        wr_sbuf_addz(out, " in memory, ");
        wr_text_size((int64_t)op->inline_bytes, out);
        wr_sbuf_addz(out, " in the manifest");
        if (op->in_flight_bytes) wr_sbuf_addz(out, " + "), wr_text_size((int64_t)op->in_flight_bytes, out), wr_sbuf_addz(out, " in front of it");
        wr_sbuf_printf(out, "  %.*s\n", WR_FMT(op->title));
    }
    if (!v->ops.n) wr_sbuf_addz(out, "  no operator keeps anything (the job had ended)\n");
}

static int state_ls(const state_args *args) {
    wr_checkpoint_epochs epochs = {0};
    wr_err  err = {0};
    wr_sbuf out = {0};
    uint32_t shown = 0, bad = 0;
    if (wr_checkpoint_list(wr_world_posix(), args->pos[0], &epochs, &err) != WR_OK) return state_fail(&err, args);
    if (args->json) wr_sbuf_addz(&out, "{\"checkpoints\":[");
    for (uint32_t i = 0; i < epochs.n; i++) {
        state_view v;
        if (args->epoch && epochs.at[i] != args->epoch) continue;
        err = (wr_err){0};
        wr_status status = state_open(args->pos[0], epochs.at[i], false, &v, &err);
        if (status == WR_IO && !strcmp(err.code, "58P01")) continue;
        if (status != WR_OK) {
            (void)state_fail(&err, args);
            bad++;
            continue;
        }
        if (args->json && shown) wr_sbuf_addc(&out, ',');
        shown++;
        if (args->json) ls_json(&v, &out);
        else ls_text(&v, &out);
        state_close(&v);
    }
    if (args->json) wr_sbuf_addz(&out, "]}\n");
    else if (!shown && !bad) wr_sbuf_printf(&out, "no checkpoints in %s\n", args->pos[0]);
    put_out(&out);
    wr_arr_free(&epochs);
    return finish_stdout(bad ? CLI_FAILED : CLI_OK);
}

typedef struct state_command {
    const char *name;
    int       (*run)(const state_args *);
    int         min, max, n_dirs;   /* arguments; the first n_dirs are state directories */
    bool        every, files;       /* what it reads: every checkpoint, the files of the tier */
    const char *wants;
} state_command;

static int state_run(const state_command *c, state_args *args) {
    wr_err err = {0};
    for (int i = 0; i < c->n_dirs; i++) {
        uint64_t epoch = c->every ? WR_MIRROR_ALL : args->epoch && !i ? args->epoch : WR_MIRROR_NEWEST;
        if (fetch_dir(&args->pos[i], epoch, c->files, &err) != WR_OK) return state_fail(&err, args);
    }
    if (refresh(args->pos[0], args, &err) != WR_OK) return state_fail(&err, args);
    return c->run(args);
}

int cmd_state(int argc, char **argv) {
    static const state_command commands[] = {
        {"verify", state_verify, 1, 1, 1, true, true, "a state directory"},
        {"ls", state_ls, 1, 1, 1, true, false, "a state directory"},
        {"get", state_get, 3, 3, 1, false, true, "a state directory, an operator and a key"},
        {"top", state_top, 1, 2, 1, false, true, "a state directory"},
        {"diff", state_diff, 2, 2, 2, false, true, "two state directories"},
    };
    state_args args;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) return help_command("state", stdout), finish_stdout(CLI_OK);
    for (size_t i = 0; argc > 1 && i < WR_COUNT_OF(commands); i++) {
        const state_command *c = &commands[i];
        if (strcmp(c->name, argv[1])) continue;
        int code = state_parse(argc - 1, argv + 1, "state", &args);
        if (code >= 0) return code;
        if (args.n_pos < c->min || args.n_pos > c->max) return usage_error("state", "%s needs %s", argv[1], c->wants);
        code = state_run(c, &args);
        mirror_drop_all();
        return code;
    }
    return usage_error("state", argc > 1 ? "there is no '%s': verify, ls, get, top or diff" : "verify, ls, get, top or diff%.0s", argc > 1 ? argv[1] : "");
}
