/* connect/probe.c: see probe.h.                                                                                              */
#include "connect/probe.h"
#include "connect/messages.h"
#include "connect/parts.h"
#include "format/records.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *wr_found_name(wr_found found) {
    static const char *const NAMES[] = {"ok", "note", "warning", "fault"};
    return NAMES[found];
}

static wr_str text_of(wr_arena *arena, const char *fmt, va_list args) {
    char text[2000];
    int  n = vsnprintf(text, sizeof text, fmt, args);
    return wr_str_dup(arena, (wr_str){text, WR_MIN((size_t)WR_MAX(n, 0), sizeof text - 1)});
}

void wr_find(wr_findings *out, wr_found found, const char *what, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wr_finding f = {found, out->subject, what, text_of(out->arena, fmt, args), WR_STR("")};
    va_end(args);
    wr_arr_apush(out->arena, &out->list, f);
}

void wr_find_todo(wr_findings *out, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    out->list.at[out->list.n - 1].todo = text_of(out->arena, fmt, args);
    va_end(args);
}

void wr_find_err(wr_findings *out, const char *what, const wr_err *err) {
    wr_find(out, WR_FOUND_FAULT, what, "%s%s%s%s%s%s", err->place, err->place[0] ? ": " : "", err->message, err->detail[0] ? " (" : "", err->detail, err->detail[0] ? ")" : "");
    if (err->hint[0]) wr_find_todo(out, "%s", err->hint);
}

uint32_t wr_findings_count(const wr_findings *out, wr_found found) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->list.n; i++) n += out->list.at[i].found == found;
    return n;
}

/* ---- the table ---- */

void wr_findings_text(const wr_findings *out, wr_sbuf *text) {
    size_t wide = 0;
    for (uint32_t i = 0; i < out->list.n; i++) wide = WR_MAX(wide, strlen(out->list.at[i].what));
    for (uint32_t i = 0; i < out->list.n; i++) {
        const wr_finding *f = &out->list.at[i];
        if (!i || !wr_str_eq(f->subject, out->list.at[i - 1].subject)) wr_sbuf_printf(text, "%s%.*s\n", i ? "\n" : "", WR_FMT(f->subject));
        wr_sbuf_printf(text, "  %-7s  %-*s  %.*s\n", wr_found_name(f->found), (int)wide, f->what, WR_FMT(f->said));
        if (f->todo.len) wr_sbuf_printf(text, "  %-7s  %-*s  -> %.*s\n", "", (int)wide, "", WR_FMT(f->todo));
    }
    uint32_t bad = wr_findings_count(out, WR_FOUND_FAULT), warned = wr_findings_count(out, WR_FOUND_WARNING);
    wr_sbuf_printf(text, "\n%u thing%s looked at: ", out->list.n, out->list.n == 1 ? "" : "s");
    if (bad) wr_sbuf_printf(text, "%u fault%s", bad, bad == 1 ? "" : "s");
    if (warned) wr_sbuf_printf(text, "%s%u warning%s", bad ? ", " : "", warned, warned == 1 ? "" : "s");
    wr_sbuf_addz(text, bad || warned ? "\n" : "nothing to complain of\n");
}

void wr_findings_json(const wr_findings *out, wr_sbuf *text) {
    wr_sbuf_addc(text, '[');
    for (uint32_t i = 0; i < out->list.n; i++) {
        const wr_finding *f = &out->list.at[i];
        wr_sbuf_printf(text, "%s{\"found\":\"%s\",\"subject\":", i ? "," : "", wr_found_name(f->found));
        wr_sbuf_add_json(text, f->subject);
        wr_sbuf_printf(text, ",\"what\":\"%s\",\"said\":", f->what);
        wr_sbuf_add_json(text, f->said);
        wr_sbuf_addz(text, ",\"todo\":");
        if (f->todo.len) wr_sbuf_add_json(text, f->todo);
        else wr_sbuf_addz(text, "null");
        wr_sbuf_addc(text, '}');
    }
    wr_sbuf_addc(text, ']');
}

/* ---- what belongs to any table: the registry of its formats, its file of dead letters ---- */

static void probe_letters(const wr_table_info *t, wr_probe_ctx *ctx) {
    wr_refusal_policy policy;
    if (!wr_refusal_policy_read(&t->options, &policy, ctx->connect->diags) || policy.on_error != WR_ON_ERROR_DEAD_LETTER || !policy.path.len) return;
    wr_str      dir = path_dir(policy.path);
    const char *file = wr_arena_strndup(ctx->connect->arena, policy.path.ptr, policy.path.len), *refused;
    wr_file_info info;
    bool         there = false;
    if (ctx->connect->world->vt->stat(ctx->connect->world, file, &info, &there, NULL) == WR_OK && there && (refused = wr_path_refused(file, true))) {
        wr_find(ctx->out, WR_FOUND_FAULT, "dead letters", "cannot write '%s': %s", file, refused);
        wr_find_todo(ctx->out, "chown or chmod '%s'", file);
    } else if (!(there && info.is_dir)) {
        wr_probe_writable_dir(ctx->connect->world, wr_arena_strndup(ctx->connect->arena, dir.ptr, dir.len), "dead letters", ctx->out);
    } else {
        wr_probe_writable_dir(ctx->connect->world, file, "dead letters", ctx->out);
    }
}

/* ---- tables ---- */

/* What the formats of messages need: a registry of schemas. */
static void probe_formats(const wr_connector *c, const wr_table_info *t, wr_probe_ctx *ctx) {
    bool             write = ctx->role == WR_ROLE_SINK;
    wr_arena        *arena = ctx->connect->arena;
    wr_diags        *diags = ctx->connect->diags;
    message_columns  columns = {.stored = {t->n_physical, t->schema->fields}};
    wr_record_format format;
    uint32_t        *key = wr_new_n(arena, uint32_t, t->n_key + 1), n_key = 0;
    if (write && !message_columns_split(&columns, t, arena, diags)) return;
    for (uint32_t k = 0; k < t->n_key; k++) {
        int at = wr_schema_find(&columns.stored, t->schema->fields[t->key[k]].name);
        if (at >= 0) key[n_key++] = (uint32_t)at;
    }
    if (!wr_record_format_read(&format, &columns.stored, key, n_key, &t->options, t->at, c->upsert, write, arena, diags)) return;
    const wr_option *topic = wr_options_find(&t->options, "topic"), *path = wr_options_find(&t->options, "path");
    wr_record_writer_opts opts = {.format = &format, .schema = &columns.stored, .tz = ctx->connect->tz, .world = ctx->connect->world,
                                  .topic = topic ? wr_str_trim(topic->value) : path ? path_name(wr_str_trim(path->value)) : (wr_str){"", 0}};
    wr_sbuf   said = {0};
    wr_err    err = {0};
    wr_status status = wr_record_format_probe(&opts, write, &said, diags, &err);
    if (status != WR_OK && err.message[0]) wr_find_err(ctx->out, "registry", &err);
    else if (status == WR_OK && said.len) wr_find(ctx->out, WR_FOUND_FINE, "registry", "%s", said.at);
    wr_sbuf_free(&said);
}

void wr_probe_table(const wr_connector *c, const wr_table_info *t, wr_probe_ctx *ctx) {
    static const char *const ROLES[] = {"source", "sink", "lookup"};
    wr_sbuf                  name = {0};
    wr_sbuf_printf(&name, "%.*s (%s, %s)", WR_FMT(t->name), c->name, ROLES[ctx->role]);
    ctx->out->subject = wr_str_dup(ctx->out->arena, wr_sbuf_str(&name));
    wr_sbuf_free(&name);
    wr_diags *diags = ctx->connect->diags;
    uint32_t  before = ctx->out->list.n, from = diags->list.n, errors = diags->n_errors;
    if (c->probe) c->probe(t, ctx);
    if (diags->n_errors == errors && c->records) probe_formats(c, t, ctx);
    if (diags->n_errors == errors) probe_letters(t, ctx);
    for (uint32_t i = from; i < diags->list.n; i++) { /* options that only the connector can judge */
        const wr_diag *d = &diags->list.at[i];
        wr_find(ctx->out, d->severity == WR_SEV_ERROR ? WR_FOUND_FAULT : WR_FOUND_WARNING, "options", "%s", d->message);
        if (d->hint) wr_find_todo(ctx->out, "%s", d->hint);
    }
    if (ctx->out->list.n == before) wr_find(ctx->out, WR_FOUND_FINE, "connector", "'%s' needs nothing outside", c->name);
}

/* ---- files ---- */

bool wr_probe_nearest(wr_world *w, wr_str path, wr_sbuf *out, wr_file_info *info) {
    bool there = false;
    for (;;) {
        wr_sbuf_clear(out);
        wr_sbuf_add_str(out, path.len ? path : WR_STR("."));
        if (w->vt->stat(w, out->at, info, &there, NULL) == WR_OK && there) return true;
        if (!path.len || wr_str_eq(path, WR_STR(".")) || wr_str_eq(path, WR_STR("/"))) return false;
        path = path_dir(path);
    }
}

void wr_probe_writable_dir(wr_world *w, const char *dir, const char *what, wr_findings *out) {
    wr_sbuf      near = {0};
    wr_file_info info;
    wr_disk      disk;
    bool         found = wr_probe_nearest(w, wr_str_of(dir), &near, &info);
    const char  *at = found ? near.at : dir, *refused = found ? wr_path_refused(at, true) : "there is no such directory";
    if (found && !info.is_dir) {
        wr_find(out, WR_FOUND_FAULT, what, "'%s' is a file, and a directory is needed%s%s%s", at, strcmp(at, dir) ? " for '" : "", strcmp(at, dir) ? dir : "", strcmp(at, dir) ? "'" : "");
        wr_find_todo(out, "another path, or move the file away: mv '%s' '%s.old'", at, at);
    } else if (refused) {
        wr_find(out, WR_FOUND_FAULT, what, "cannot write in '%s': %s", at, refused);
        wr_find_todo(out, "chown or chmod '%s' so that the user who runs the job may write there", at);
    } else if (!wr_disk_room(at, &disk) || !disk.total_bytes) {
        wr_find(out, WR_FOUND_FAULT, what, "'%s' is on a file system that keeps no files", at);
        wr_find_todo(out, "another directory");
    } else if (disk.free_bytes < (1u << 20) || disk.free_files < 16) {
        wr_find(out, WR_FOUND_FAULT, what, "the file system of '%s' is full: %llu KiB are free%s", at, (unsigned long long)(disk.free_bytes >> 10), disk.free_files < 16 ? ", and no more files can be made" : "");
        wr_find_todo(out, "free space there (df -h '%s'), or another directory", at);
    } else {
        wr_sbuf size = {0};
        wr_text_size((int64_t)WR_MIN(disk.free_bytes, (uint64_t)INT64_MAX), &size);
        wr_find(out, WR_FOUND_FINE, what, "'%s' %s, %s free", dir, strcmp(at, dir) ? "can be made" : "is there and can be written", size.at);
        wr_sbuf_free(&size);
    }
    wr_sbuf_free(&near);
}

/* ---- logs ---- */

static double declared(const wr_table_info *t, const char *key) {
    const wr_option *o = wr_options_find(&t->options, key);
    char             text[64] = "";
    if (o && o->value.len < sizeof text) snprintf(text, sizeof text, "%.*s", WR_FMT(o->value));
    return WR_MAX(strtod(text, NULL), 0.0);
}

/* How long so many bytes a partition last at the declared rate; 0: it is not declared. */
static double lasts_us(const wr_table_info *t, const wr_probe_kept *k) {
    double bytes_per_s = declared(t, "stats.rows-per-second") * declared(t, "stats.row-bytes");
    return bytes_per_s > 0 ? k->partition_bytes * k->partitions / bytes_per_s * 1e6 : 0;
}

static void kept_text(const wr_probe_kept *k, double by_size_us, wr_sbuf *b) {
    if (k->time_us < 0) wr_sbuf_addz(b, "for ever");
    else wr_sbuf_addz(b, "for "), wr_text_duration((int64_t)k->time_us, b), wr_sbuf_printf(b, " (%s)", k->time_key);
    if (k->partition_bytes < 0) return;
    wr_sbuf_addz(b, ", but no more than "), wr_text_size((int64_t)k->partition_bytes, b), wr_sbuf_printf(b, " a partition (%s)", k->size_key);
    if (by_size_us > 0) wr_sbuf_addz(b, ", which the declared rate fills in "), wr_text_duration((int64_t)by_size_us, b);
    else wr_sbuf_addz(b, ": how long that is the table does not say ('stats.rows-per-second', 'stats.row-bytes')");
}

bool wr_probe_kept_enough(const wr_table_info *t, const wr_probe_kept *k, wr_probe_ctx *ctx, double *set_us, double *set_bytes) {
    wr_sbuf kept = {0}, need = {0};
    double  by_size_us = k->partition_bytes >= 0 ? lasts_us(t, k) : 0;
    bool    short_time = ctx->need_us > 0 && k->time_us >= 0 && k->time_us < ctx->need_us, short_size = ctx->need_us > 0 && by_size_us > 0 && by_size_us < ctx->need_us;
    bool    unknown = k->partition_bytes >= 0 && by_size_us <= 0, ever = k->time_us < 0 && k->partition_bytes < 0;
    *set_us = short_time ? ctx->need_us : -1;
    *set_bytes = short_size ? k->partition_bytes * (ctx->need_us / by_size_us) : -1;
    kept_text(k, by_size_us, &kept);
    if (ctx->need_us > 0) wr_text_duration((int64_t)ctx->need_us, &need);
    if (short_time || short_size)
        wr_find(ctx->out, WR_FOUND_WARNING, "retention", "'%s' keeps messages %s; %s of them are needed to build the state of %s anew (a backfill, an upgrade that rebuilds, an audit)", k->log, kept.at, need.at, ctx->need_by);
    else if (ctx->need_us < 0 && !ever)
        wr_find(ctx->out, WR_FOUND_NOTE, "retention", "'%s' keeps messages %s; the state of %s is made from all that ever came: only checkpoints and savepoints have it", k->log, kept.at, ctx->need_by);
    else if (ctx->need_us > 0 && unknown)
        wr_find(ctx->out, WR_FOUND_NOTE, "retention", "'%s' keeps messages %s; %s of them are needed to build the state of %s anew", k->log, kept.at, need.at, ctx->need_by);
    else if (ctx->need_us > 0) wr_find(ctx->out, WR_FOUND_FINE, "retention", "'%s' keeps messages %s; %s are needed to build the state of %s anew", k->log, kept.at, need.at, ctx->need_by);
    else if (ever) wr_find(ctx->out, WR_FOUND_FINE, "retention", "'%s' keeps messages for ever", k->log);
    else wr_find(ctx->out, WR_FOUND_FINE, "retention", "'%s' keeps messages %s: a job that is away for longer loses some", k->log, kept.at);
    wr_sbuf_free(&kept), wr_sbuf_free(&need);
    return !short_time && !short_size;
}

/* ---- databases ---- */

static const wr_probe_column *find_column(const wr_probe_columns *there, wr_str name) {
    for (uint32_t i = 0; i < there->n; i++)
        if (there->any_case ? wr_str_ieq(there->at[i].name, name) : wr_str_eq(there->at[i].name, name)) return &there->at[i];
    return NULL;
}

static bool written(const wr_table_info *t, const wr_probe_columns *there, wr_str name) {
    for (uint32_t c = 0; c < t->schema->n; c++)
        if (there->any_case ? wr_str_ieq(t->schema->fields[c].name, name) : wr_str_eq(t->schema->fields[c].name, name)) return true;
    return false;
}

static void missing_column(const wr_table_info *t, uint32_t c, const wr_probe_columns *there, wr_findings *out) {
    const wr_field *f = &t->schema->fields[c];
    wr_str         *names = wr_malloc((there->n + 1) * sizeof *names);
    wr_sbuf         type = {0};
    for (uint32_t i = 0; i < there->n; i++) names[i] = there->at[i].name;
    int  near = wr_nearest(f->name, names, there->n);
    char quote = there->backticks ? '`' : '"';
    there->put_type(&type, f->type);
    wr_find(out, WR_FOUND_FAULT, "columns", "the table %s has no column '%.*s'", there->table, WR_FMT(f->name));
    if (near >= 0) wr_find_todo(out, "it has '%.*s'; or: ALTER TABLE %s ADD COLUMN %c%.*s%c %s", WR_FMT(names[near]), there->table, quote, WR_FMT(f->name), quote, type.at);
    else wr_find_todo(out, "ALTER TABLE %s ADD COLUMN %c%.*s%c %s", there->table, quote, WR_FMT(f->name), quote, type.at);
    wr_sbuf_free(&type);
    wr_free(names);
}

static void wrong_type(const wr_table_info *t, uint32_t c, const wr_probe_columns *there, const wr_probe_column *col, wr_fit fit, wr_probe_ctx *ctx) {
    const wr_field *f = &t->schema->fields[c];
    wr_sbuf         ours = {0}, type = {0};
    bool            reads = ctx->role != WR_ROLE_SINK;
    wr_type_text(f->type, &ours);
    there->put_type(&type, f->type);
    wr_find(ctx->out, fit == WR_FIT_NOT ? WR_FOUND_FAULT : WR_FOUND_WARNING, "columns", "column '%.*s' of %s is %.*s, which %s %s%s", WR_FMT(f->name), there->table, WR_FMT(col->type),
            reads ? fit == WR_FIT_NOT ? "cannot be read as" : "may hold values that do not go into" : fit == WR_FIT_NOT ? "does not hold" : "does not hold all values of", "the script's ", ours.at);
    if (reads) wr_find_todo(ctx->out, "declare the column in the script as what it is there");
    else if (there->backticks) wr_find_todo(ctx->out, "ALTER TABLE %s MODIFY COLUMN `%.*s` %s; or CAST in the query and another type in the script", there->table, WR_FMT(f->name), type.at);
    else wr_find_todo(ctx->out, "ALTER TABLE %s ALTER COLUMN \"%.*s\" %s %s; or CAST in the query and another type in the script", there->table, WR_FMT(f->name), there->alter_type, type.at);
    wr_sbuf_free(&ours);
    wr_sbuf_free(&type);
}

void wr_probe_db_columns(const wr_table_info *t, const wr_probe_columns *there, wr_probe_ctx *ctx) {
    uint32_t before = ctx->out->list.n, n = 0;
    for (uint32_t c = 0; c < t->schema->n; c++) {
        if (ctx->role != WR_ROLE_SINK && t->needed && !t->needed[c]) continue;
        const wr_probe_column *col = find_column(there, t->schema->fields[c].name);
        wr_fit                 fit = col && there->fit ? there->fit(t->schema->fields[c].type, col->type, ctx->role) : WR_FIT;
        n++;
        if (!col) missing_column(t, c, there, ctx->out);
        else if (fit != WR_FIT) wrong_type(t, c, there, col, fit, ctx);
    }
    for (uint32_t i = 0; i < there->n && ctx->role == WR_ROLE_SINK; i++) {
        const wr_probe_column *col = &there->at[i];
        if (!col->not_null || col->has_default || written(t, there, col->name)) continue;
        wr_find(ctx->out, WR_FOUND_FAULT, "columns", "column '%.*s' of %s is NOT NULL, has no default, and the script does not write it", WR_FMT(col->name), there->table);
        if (there->backticks) wr_find_todo(ctx->out, "write it, or: ALTER TABLE %s MODIFY COLUMN `%.*s` %.*s NULL", there->table, WR_FMT(col->name), WR_FMT(col->type));
        else wr_find_todo(ctx->out, "write it, or: ALTER TABLE %s ALTER COLUMN \"%.*s\" DROP NOT NULL", there->table, WR_FMT(col->name));
    }
    if (ctx->out->list.n == before) wr_find(ctx->out, WR_FOUND_FINE, "columns", "all %u are there and hold what they must", n);
}
