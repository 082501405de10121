/* api/letters.c: see letters.h. */
#include "api/letters.h"
#include "api/internal.h"
#include "catalog/letter.h"
#include "checkpoint/checkpoint.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE_LETTERS = 2000, PIECE_BYTES = 16 << 20, LOOK_US = 20000 };

typedef struct place { wr_str path; const wr_table *table; wr_str of; wr_span at; } place; /* of: a table whose letters lie there */
typedef WR_ARR(place) places;

void wr_letters_free(wr_letters *l) { wr_arr_free(&l->list); }

/* ---- where letters lie ---- */
static wr_status find_step(wr_session *s, uint32_t *step, wr_err *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->steps.n; i++)
        if (s->steps.at[i].kind == WR_STEP_JOB) *step = i, n++;
    if (n == 1) return WR_OK;
    wr_fail(err, WR_USER, "WR397", n ? "the script has %u jobs; dead letters go back into one" : "the script has no job", n);
    if (n) wr_err_hint(err, "put its INSERTs into one EXECUTE STATEMENT SET BEGIN ... END");
    return WR_USER;
}

static void add_place(places *out, const wr_table *of, const wr_table *table) {
    wr_options        options = {of->n_options, (const wr_option *)(const void *)of->options};
    wr_refusal_policy policy;
    wr_diags          ignored;
    wr_diags_init(&ignored);
    bool fine = wr_refusal_policy_read(&options, &policy, &ignored);
    wr_diags_free(&ignored);
    if (!table && (!fine || !policy.path.len)) return; /* also when 'on-error' is another one by now: the letters are there still */
    for (uint32_t i = 0; i < out->n; i++)
        if (table ? out->at[i].table == table : wr_str_eq(out->at[i].path, policy.path)) return;
    wr_arr_push(out, (place){.path = policy.path, .table = table, .of = of->name, .at = of->at});
}

static void find_places(wr_session *s, const wr_job_plan *plan, const wr_letters_opts *opts, places *out) {
    if (opts->from) {
        wr_arr_push(out, (place){.path = wr_str_of(opts->from)});
        return;
    }
    (void)s;
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *p = plan->nodes.at[i];
        if (p->kind == WR_P_SOURCE) add_place(out, p->source.table, p->source.letters);
        if (p->kind == WR_P_SINK && !p->sink.is_result) add_place(out, p->sink.table, p->sink.letters);
    }
}

/* ---- reading ---- */
static wr_str text_at(wr_session *s, const wr_vec *vec, uint32_t row) {
    if (wr_vec_is_null(vec, row)) return (wr_str){NULL, 0};
    return wr_str_dup(s->arena, wr_sview_str((const wr_sview *)vec->data + row));
}

static wr_str bytes_of(wr_session *s, wr_str plain, wr_str base64) {
    wr_sbuf bytes = {0};
    if (plain.ptr || !base64.ptr || !wr_base64_decode(base64, &bytes)) return plain;
    wr_str kept = wr_str_dup(s->arena, wr_sbuf_str(&bytes));
    wr_sbuf_free(&bytes);
    return kept;
}

static int64_t time_at(const wr_vec *vec, uint32_t row) {
    int64_t v = ((const int64_t *)vec->data)[row];
    return vec->type.prec > 6 ? wr_floor_div(v, 1000) : v;
}

/* Tables of letters may lack most columns: what can be made of others is. */
static bool complete(wr_session *s, const place *from, wr_letter_row *l) {
    if (!l->table.ptr) l->table = from->of;
    if (!l->id.ptr && !l->of_sink && l->partition.ptr && l->offset >= 0)
        l->id = wr_str_of(wr_arena_printf(s->arena, "%.*s/%.*s@%" PRId64, WR_FMT(l->table), WR_FMT(l->partition), l->offset));
    return l->id.ptr && l->table.ptr && (l->raw.ptr || l->key.ptr);
}

static void take_row(wr_session *s, const place *from, const int *column, const wr_batch *b, uint32_t row, wr_letters *out) {
    wr_str  t[WR_LETTER_FIELDS] = {0};
    int64_t offset = -1, line = -1, at = WR_TIME_MIN;
    for (int f = 0; f < WR_LETTER_FIELDS; f++) {
        const wr_vec *vec = column[f] >= 0 ? &b->cols[column[f]] : NULL;
        if (!vec || wr_vec_is_null(vec, row)) continue;
        if (f == WR_LETTER_OFFSET) offset = ((const int64_t *)vec->data)[row];
        else if (f == WR_LETTER_LINE) line = ((const int64_t *)vec->data)[row];
        else if (f == WR_LETTER_TIME) at = time_at(vec, row);
        else t[f] = text_at(s, vec, row);
    }
    wr_letter_row l = {.id = t[WR_LETTER_ID], .table = t[WR_LETTER_TABLE], .partition = t[WR_LETTER_PARTITION], .code = t[WR_LETTER_CODE], .reason = t[WR_LETTER_REASON],
                       .raw = bytes_of(s, t[WR_LETTER_RAW], t[WR_LETTER_RAW_BASE64]), .key = bytes_of(s, t[WR_LETTER_KEY], t[WR_LETTER_KEY_BASE64]), .context = t[WR_LETTER_CONTEXT],
                       .state = t[WR_LETTER_STATE], .job_version = t[WR_LETTER_JOB_VERSION], .of_sink = wr_str_eq(t[WR_LETTER_ORIGIN], WR_STR("sink")), .of_join = wr_str_eq(t[WR_LETTER_ORIGIN], WR_STR("join")), .offset = offset, .line = line, .at_us = at};
    if (!t[WR_LETTER_ORIGIN].ptr && l.id.ptr && l.id.len > l.table.len && l.id.ptr[l.table.len] == '#') l.of_sink = true;
    if (complete(s, from, &l)) wr_arr_push(&out->list, l);
    else out->n_unreadable++;
}

static wr_schema schema_of(wr_session *s, const place *p) {
    uint32_t  n = 0;
    wr_field *fields = wr_new_n(s->arena, wr_field, WR_MAX(p->table ? p->table->n_columns : 0, (uint32_t)WR_LETTER_FIELDS));
    for (uint32_t i = 0; p->table && i < p->table->n_columns; i++)
        if (p->table->columns[i].kind == WR_COLUMN_PHYSICAL) fields[n++] = (wr_field){p->table->columns[i].name, wr_type_with_null(p->table->columns[i].type, true)};
    for (uint32_t i = 0; !p->table && i < WR_LETTER_FIELDS; i++) {
        wr_tid id = wr_letter_columns[i].type;
        fields[n++] = (wr_field){wr_str_of(wr_letter_columns[i].name), id == WR_T_VARCHAR ? wr_type_string() : id == WR_T_TIMESTAMP_LTZ ? wr_type_prec(id, 3) : wr_type_of(id)};
    }
    return (wr_schema){n, fields};
}

static bool has_option(const place *p, const char *key) {
    const wr_connector *c = wr_connector_find(p->table->connector);
    for (const wr_option_spec *o = c ? c->specs : NULL; o && o->key; o++)
        if (!strcmp(o->key, key)) return true;
    return false;
}

/* A file: as JSON lines; lines that are none are left out and counted. A table: what can be read of it as it is now; of a queue: from its first message to its last. */
static wr_options options_of(wr_session *s, const place *p) {
    static const struct { const char *key; wr_str value; } queue[] = {{"scan.startup.mode", {"earliest-offset", 15}}, {"scan.bounded.mode", {"latest-offset", 13}}};
    wr_option *o = wr_new_n(s->arena, wr_option, (p->table ? p->table->n_options : 0) + 8);
    uint32_t   n = 0;
    for (uint32_t i = 0; p->table && i < p->table->n_options; i++) {
        const wr_table_option *t = &p->table->options[i];
        bool                   mine = wr_str_eq(t->key, WR_STR("on-error")) || wr_str_starts(t->key, WR_STR("scan.startup.")) || wr_str_starts(t->key, WR_STR("scan.bounded."));
        if (!mine) o[n++] = (wr_option){t->key, t->value, t->at};
    }
    for (size_t i = 0; p->table && i < WR_COUNT_OF(queue); i++)
        if (has_option(p, queue[i].key)) o[n++] = (wr_option){wr_str_of(queue[i].key), queue[i].value, p->at};
    if (!p->table) {
        o[n++] = (wr_option){WR_STR("connector"), WR_STR("filesystem"), p->at};
        o[n++] = (wr_option){WR_STR("path"), p->path, p->at};
        o[n++] = (wr_option){WR_STR("format"), WR_STR("json"), p->at};
    }
    o[n++] = (wr_option){WR_STR("on-error"), WR_STR("skip"), p->at};
    return (wr_options){n, o};
}

static wr_status read_place(wr_session *s, const wr_letters_opts *o, const place *p, wr_letters *out, wr_err *err) {
    wr_schema      schema = schema_of(s, p);
    uint8_t       *needed = wr_arena_calloc(s->arena, schema.n + 1);
    int            column[WR_LETTER_FIELDS];
    wr_table_info  info = {.name = p->table ? p->table->name : p->path, .schema = &schema, .n_physical = schema.n, .options = options_of(s, p), .at = p->at, .needed = needed};
    wr_connect_ctx ctx = {.world = s->world, .arena = s->arena, .diags = &s->diags, .n_workers = 1, .batch_rows = 1024, .bounded_override = true};
    wr_lookup     *lookup;
    wr_lookup_rows rows = {0};
    wr_file_info   fi;
    bool           there = true;
    memset(needed, 1, schema.n);
    for (int f = 0; f < WR_LETTER_FIELDS; f++) column[f] = wr_schema_find(&schema, wr_str_of(wr_letter_columns[f].name));
    if (!p->table) WR_TRY(s->world->vt->stat(s->world, wr_arena_printf(s->arena, "%.*s", WR_FMT(p->path)), &fi, &there, err));
    if (!there) return WR_OK; /* nothing was refused yet */
    if (!p->table && o->max_bytes && fi.size_bytes > o->max_bytes)
        return wr_fail(err, WR_LIMIT, "WR398", "%.*s has %" PRIu64 " MiB of dead letters, too many to be listed here", WR_FMT(p->path), fi.size_bytes >> 20);
    wr_status status = wr_lookup_open(&info, NULL, 0, true, &ctx, &lookup, err);
    if (status != WR_OK) {
        if (status == WR_UNSUPPORTED) wr_err_hint(err, "its rows cannot be read back; --from FILE takes letters from a file");
        return status;
    }
    status = lookup->vt->get(lookup, NULL, &rows, err);
    for (uint32_t i = 0; i < rows.batches.n; i++) {
        const wr_batch *b = rows.batches.at[i];
        for (uint32_t k = 0; status == WR_OK && k < wr_batch_live(b); k++) take_row(s, p, column, b, wr_batch_row(b, k), out);
        wr_batch_unref(rows.batches.at[i]);
    }
    out->n_unreadable += (uint32_t)rows.n_bad;
    wr_arr_free(&rows.batches);
    lookup->vt->close(lookup);
    return status;
}

/* ---- choosing ---- */
static bool has_text(wr_str text, const char *part) { return !*part || (text.ptr && memmem(text.ptr, text.len, part, strlen(part))); }

static bool chosen(const wr_letters_opts *o, const wr_letter_row *l) {
    if (o->table && !wr_str_ieq(l->table, wr_str_of(o->table))) return false;
    if (o->id && !wr_str_eq(l->id, wr_str_of(o->id))) return false;
    if (o->reason && !wr_str_eq(l->code, wr_str_of(o->reason)) && !has_text(l->reason, o->reason)) return false;
    if (o->since_us != WR_TIME_MIN && l->at_us < o->since_us) return false;
    return o->until_us == WR_TIME_MAX || (l->at_us != WR_TIME_MIN && l->at_us <= o->until_us);
}

wr_status wr_letters_read(wr_session *s, const wr_letters_opts *o, wr_letters *out, wr_err *err) {
    uint32_t  step = 0, kept = 0;
    places    all = {0};
    char      state[20] = "";
    wr_status status = find_step(s, &step, err);
    *out = (wr_letters){0};
    WR_TRY(status);
    find_places(s, s->steps.at[step].job, o, &all);
    if (!all.n) {
        status = wr_fail(err, WR_USER, "WR398", "no table of the job has dead letters");
        wr_err_hint(err, "'on-error' = 'dead-letter' with 'dead-letter.path' or 'dead-letter.table'; or --from FILE");
    }
    if (status == WR_OK && s->opts.state_dir) status = wr_again_state_id(s->world, s->opts.state_dir, state, err);
    for (uint32_t i = 0; i < all.n && status == WR_OK; i++) status = read_place(s, o, &all.at[i], out, err);
    wr_arr_free(&all);
    WR_TRY(status);
    out->n_read = out->list.n;
    for (uint32_t i = 0; i < out->list.n; i++) {
        wr_letter_row *l = &out->list.at[i];
        if (!chosen(o, l)) continue;
        if (!o->any_state && l->state.len && !wr_str_eq(l->state, wr_str_of(state))) {
            out->n_other_state++;
            continue;
        }
        out->list.at[kept++] = *l;
    }
    out->list.n = kept;
    return WR_OK;
}

/* ---- putting back ---- */

static wr_status nowhere_write(wr_sink *s, const wr_batch *b, wr_err *err) { return (void)s, (void)b, (void)err, WR_OK; }
static wr_status nowhere_flush(wr_sink *s, wr_err *err) { return (void)s, (void)err, WR_OK; }
static wr_status nowhere_prepare(wr_sink *s, uint64_t epoch, wr_sbuf *staged, wr_err *err) { return (void)s, (void)epoch, (void)staged, (void)err, WR_OK; }
static wr_status nowhere_commit(wr_sink *s, uint64_t epoch, wr_str staged, wr_err *err) { return (void)s, (void)epoch, (void)staged, (void)err, WR_OK; }
static wr_status nowhere_close(wr_sink *s, bool ok, wr_err *err) { return (void)ok, (void)err, wr_free(s), WR_OK; }
static const wr_sink_vt nowhere_vt = {.name = "nowhere", .write = nowhere_write, .flush = nowhere_flush, .prepare = nowhere_prepare, .commit = nowhere_commit, .recover = nowhere_commit, .close = nowhere_close};
static wr_status nowhere_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    (void)t, (void)ctx, (void)err;
    *out = wr_calloc(1, sizeof **out);
    (*out)->vt = &nowhere_vt;
    return WR_OK;
}
const wr_connector *letters_nowhere(void) {
    static const wr_connector nowhere = {.name = "nowhere", .doc = "rows of a try", .sink_new = nowhere_new};
    return &nowhere;
}

uint32_t wr_letters_request(const wr_letters_opts *o, const wr_letters *letters, uint32_t from, wr_again_request *r) {
    size_t bytes = 0;
    *r = (wr_again_request){.late_enters = o->late_enters, .overwrite = o->overwrite};
    for (; from < letters->list.n && r->letters.n < PIECE_LETTERS && bytes < PIECE_BYTES; from++) {
        const wr_letter_row *l = &letters->list.at[from];
        wr_again_letter      a = {.id = l->id, .table = l->table, .of_sink = l->of_sink, .record = {.partition = l->partition, .raw = l->raw, .key = l->key, .context = l->context, .offset = l->offset}};
        bytes += l->raw.len + l->key.len;
        wr_arr_push(&r->letters, a);
    }
    return from;
}

/* Whole or not at all: of what was too long there is only the beginning. */
static void set_aside(wr_letters *letters, wr_letters *rest, uint32_t **index) {
    *index = wr_calloc(letters->list.n + 1, sizeof **index);
    for (uint32_t i = 0; i < letters->list.n; i++) {
        wr_letter_row *l = &letters->list.at[i];
        if (l->of_join) {
            l->outcome = WR_AGAIN_CANNOT;
            l->told = WR_STR("a row that left a join without a partner is no record of a table: there is nothing to put back");
            continue;
        }
        if (!l->of_sink && wr_str_eq(l->code, WR_STR("54000"))) {
            l->outcome = WR_AGAIN_CANNOT;
            l->told = WR_STR("the record was too long: the letter holds its beginning only ('max-record-bytes')");
            continue;
        }
        (*index)[rest->list.n] = i;
        wr_arr_push(&rest->list, *l);
    }
}

static wr_status run_here(wr_session *s, uint32_t step, wr_again_request *r, const wr_checkpoint *from, wr_err *err) {
    s->again = r, s->again_from = from, s->again_only = !r;
    wr_status status = wr_session_run_step(s, step, err);
    s->again = NULL, s->again_from = NULL, s->again_only = false;
    return status == WR_CANCELLED && !wr_session_stopped(s) ? WR_OK : status; /* it has not come to the end of its input */
}

static wr_status holder_of(wr_session *s, bool *held, wr_err *err) {
    wr_file *lock;
    long     holder;
    WR_TRY(wr_state_lock(s->world, s->opts.state_dir, &lock, &holder, err));
    *held = holder != 0;
    if (lock) s->world->vt->file_close(s->world, lock);
    return WR_OK;
}

/* A job that runs finds the request; one that does not is started for it. */
static wr_status put_piece(wr_session *s, const wr_letters_opts *o, uint32_t step, uint32_t number, wr_again_request *r, bool *running, wr_err *err) {
    char    name[64];
    bool    there = false;
    int64_t until = wr_mono_us(s->world) + o->timeout_us;
    snprintf(name, sizeof name, "%016" PRIx64 "-%d-%06u", (uint64_t)wr_wall_us(s->world), (int)getpid(), number);
    WR_TRY(wr_again_put_request(s->world, s->opts.state_dir, name, r, err));
    for (;;) {
        bool held;
        WR_TRY(wr_again_take_result(s->world, s->opts.state_dir, name, r, &there, err));
        if (there) return WR_OK;
        WR_TRY(holder_of(s, &held, err));
        *running = *running || held;
        if (!held) {
            wr_status status = run_here(s, step, NULL, NULL, err);
            if (status == WR_OK) status = wr_again_take_result(s->world, s->opts.state_dir, name, r, &there, err);
            if (status == WR_OK && there) return WR_OK;
            if (status == WR_OK) status = wr_fail(err, WR_CORRUPT, "WR399", "the job ended without an answer for %s", name);
            wr_err ignored;
            (void)!wr_again_withdraw(s->world, s->opts.state_dir, name, &ignored);
            return status;
        }
        if (wr_session_stopped(s)) return wr_fail(err, WR_CANCELLED, "WR901", "stopped on request");
        if (wr_mono_us(s->world) > until) {
            WR_TRY(wr_again_withdraw(s->world, s->opts.state_dir, name, err));
            wr_fail(err, WR_LIMIT, "WR399", "the job that runs on %s has not taken the letters within %" PRId64 " s", s->opts.state_dir, o->timeout_us / 1000000);
            wr_err_hint(err, "see what it waits for in its own output; --timeout waits longer. Running this again puts nothing in twice");
            return WR_LIMIT;
        }
        s->world->vt->sleep_us(s->world, LOOK_US);
    }
}

static wr_status try_piece(wr_session *s, uint32_t step, wr_again_request *r, wr_err *err) {
    wr_checkpoint ck = {0};
    bool          found;
    const char   *dir = s->opts.state_dir;
    WR_TRY(wr_checkpoint_open(s->world, dir, false, &ck, &found, err));
    s->opts.state_dir = NULL;
    wr_status status = run_here(s, step, r, found ? &ck : NULL, err);
    s->opts.state_dir = dir;
    wr_checkpoint_close(&ck);
    return status;
}

static wr_status check_state(wr_session *s, wr_err *err) {
    wr_checkpoint_epochs epochs = {0};
    if (s->opts.state_dir) WR_TRY(wr_checkpoint_list(s->world, s->opts.state_dir, &epochs, err));
    bool any = epochs.n > 0;
    wr_arr_free(&epochs);
    if (any) return WR_OK;
    wr_fail(err, WR_USER, "WR397", s->opts.state_dir ? "there is no checkpoint in %s: no job has read anything there" : "dead letters go back into a job's state%.0s", s->opts.state_dir ? s->opts.state_dir : "");
    wr_err_hint(err, "--state-dir DIR, that of the job");
    return WR_USER;
}

wr_status wr_letters_replay(wr_session *s, const wr_letters_opts *o, wr_letters *letters, wr_err *err) {
    uint32_t   step = 0, *index;
    wr_letters rest = {0};
    WR_TRY(find_step(s, &step, err));
    WR_TRY(check_state(s, err));
    set_aside(letters, &rest, &index);
    wr_status status = WR_OK;
    for (uint32_t from = 0, number = 0; from < rest.list.n && status == WR_OK; number++) {
        wr_again_request r;
        uint32_t         to = wr_letters_request(o, &rest, from, &r);
        status = o->try_only ? try_piece(s, step, &r, err) : put_piece(s, o, step, number, &r, &letters->running, err);
        for (uint32_t i = 0; status == WR_OK && i < r.letters.n; i++) {
            wr_letter_row *l = &letters->list.at[index[from + i]];
            l->outcome = r.letters.at[i].outcome;
            l->told = wr_str_dup(s->arena, wr_str_of(r.letters.at[i].reason));
        }
        wr_again_free(&r);
        from = to;
        if (o->progress) o->progress(o->arg, from, rest.list.n);
    }
    wr_free(index);
    wr_letters_free(&rest);
    return status;
}
