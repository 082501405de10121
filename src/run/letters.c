/* run/letters.c: see letters.h. */
#include "run/internal.h"
#include "base/hash.h"
#include "catalog/letter.h"
#include <inttypes.h>
#include <stdio.h>

enum { BATCH_ROWS = 512, FLUSH_EVERY_US = 200000, FLUSH_BYTES = 1 << 20 };

typedef struct waiting { uint64_t epoch; wr_sbuf bytes; } waiting;
struct letter_box {
    wr_str          name;
    char           *owner;             /* of its section in a checkpoint */
    const wr_table *table;             /* NULL: a file */
    wr_schema       schema;
    uint8_t        *fields;            /* by column: wr_letter_field */
    wr_sink        *sink;
    WR_ARR(waiting) waiting;           /* letters, encoded; under the lock */
    wr_sbuf         staged;
};
struct letters {
    wr_mutex   *lock;
    WR_ARR(letter_box *) boxes;
    wr_account  acct;
    _Atomic size_t bytes;
    uint64_t    state;
    int64_t     flushed_us;
};

/* ---- identities ---- */
static void hash_id(wr_str id, uint64_t out[2]) {
    char   copy[512];
    size_t n = WR_MIN(id.len, sizeof copy - 1);
    memcpy(copy, id.ptr, n);
    copy[n] = '+';
    out[0] = wr_hash_bytes(id.ptr, id.len) | 1; /* 0: an empty place */
    out[1] = wr_hash_bytes(copy, n + 1);
}

static uint32_t place_of(const id_set *set, const uint64_t key[2]) {
    uint32_t i = (uint32_t)(key[1] & (set->cap - 1));
    while (set->at[i][0] && (set->at[i][0] != key[0] || set->at[i][1] != key[1])) i = (i + 1) & (set->cap - 1);
    return i;
}

bool id_set_has(const id_set *set, wr_str id) {
    uint64_t key[2];
    hash_id(id, key);
    return set->cap && set->at[place_of(set, key)][0];
}

static void add_key(id_set *set, const uint64_t key[2]) {
    if (set->n * 2 >= set->cap) {
        id_set more = {.cap = set->cap ? set->cap * 2 : 64};
        more.at = wr_calloc(more.cap, sizeof *more.at);
        for (uint32_t i = 0; i < set->cap; i++)
            if (set->at[i][0]) add_key(&more, set->at[i]);
        wr_free(set->at);
        *set = more;
    }
    uint32_t i = place_of(set, key);
    set->n += !set->at[i][0];
    set->at[i][0] = key[0], set->at[i][1] = key[1];
}

void id_set_add(id_set *set, wr_str id) {
    uint64_t key[2];
    hash_id(id, key);
    add_key(set, key);
}

void id_set_free(id_set *set) {
    wr_free(set->at);
    *set = (id_set){0};
}

/* ---- refusers ---- */
void refuser_free(refuser *r) {
    wr_arr_free(&r->counts);
    id_set_free(&r->replayed);
}

void refuser_save(const refuser *r, wr_sbuf *out) {
    wr_put_u64(out, r->window), wr_put_u64(out, r->in_window);
    wr_put_u32(out, r->counts.n);
    for (uint32_t i = 0; i < r->counts.n; i++) wr_put_bytes(out, r->counts.at[i].code, strlen(r->counts.at[i].code)), wr_put_u64(out, r->counts.at[i].n);
    wr_put_u32(out, r->replayed.n);
    for (uint32_t i = 0; i < r->replayed.cap; i++)
        if (r->replayed.at[i][0]) wr_put_u64(out, r->replayed.at[i][0]), wr_put_u64(out, r->replayed.at[i][1]);
}

void refuser_load(refuser *r, wr_reader *in) {
    r->window = wr_get_u64(in), r->in_window = wr_get_u64(in);
    r->counts.n = 0;
    for (uint32_t n = wr_get_u32(in); n > 0 && !in->bad; n--) {
        wr_refused_code c = {.n = 0};
        wr_str code = wr_get_bytes(in);
        snprintf(c.code, sizeof c.code, "%.*s", WR_FMT(code));
        c.n = wr_get_u64(in);
        wr_arr_push(&r->counts, c);
    }
    for (uint32_t n = wr_get_u32(in); n > 0 && !in->bad; n--) {
        uint64_t key[2] = {wr_get_u64(in), 0};
        key[1] = wr_get_u64(in);
        if (!in->bad && key[0]) add_key(&r->replayed, key);
    }
}

static void add_code(wr_refused_code *codes, uint32_t *n, const wr_refused_code *more) {
    for (uint32_t i = 0; i < *n; i++)
        if (!strcmp(codes[i].code, more->code)) {
            codes[i].n += more->n;
            return;
        }
    if (*n < WR_REFUSED_CODES_MAX) codes[(*n)++] = *more;
}

void refuser_report(const refuser *r, wr_refused_code *codes, uint32_t *n) {
    for (uint32_t i = 0; i < r->counts.n; i++) add_code(codes, n, &r->counts.at[i]);
}

static void count_code(refuser *r, const char *code) {
    for (uint32_t i = 0; i < r->counts.n; i++)
        if (!strcmp(r->counts.at[i].code, code)) {
            r->counts.at[i].n++;
            return;
        }
    wr_refused_code c = {.n = 1};
    snprintf(c.code, sizeof c.code, "%s", code);
    wr_arr_push(&r->counts, c);
}

wr_status refuser_judge(refuser *r, const char *code, uint64_t number, const char *reason, wr_err *err) {
    uint64_t window = number / WR_MAX(r->policy.window, UINT64_C(1));
    count_code(r, code);
    if (window > r->window) r->window = window, r->in_window = 0; /* rows of a turn without an event time come after its records that cannot be read */
    if (++r->in_window <= r->policy.most) return WR_OK;
    wr_fail(err, WR_DATA, "WR395", "table %.*s: more than %" PRIu64 " records of a window of %" PRIu64 " are refused, so the job stops", WR_FMT(r->table), r->policy.most, r->policy.window);
    wr_err_detail(err, "the last one: [%s] %s", code, reason);
    wr_err_hint(err, "is the input what the table says it is? 'on-error.max-rate', 'on-error.max-count' and 'on-error.window' of %.*s set the limit", WR_FMT(r->table));
    return WR_DATA;
}

/* ---- letters, encoded while they wait ---- */
static void put_text(wr_sbuf *out, wr_str text) {
    wr_put_u8(out, text.ptr != NULL);
    if (text.ptr) wr_put_bytes(out, text.ptr, text.len);
}
static void put_number(wr_sbuf *out, int64_t n) {
    wr_put_u8(out, n >= 0);
    if (n >= 0) wr_put_i64(out, n);
}

static void put_id(wr_job *job, refuser *r, uint64_t epoch, const letter *l, wr_sbuf *out) {
    wr_sbuf id = {0};
    if (l->of_join) wr_sbuf_printf(&id, "%.*s#%016" PRIx64 "-%" PRIu64 "-%u-%" PRIu64, WR_FMT(r->table), job->letters->state, epoch, l->worker, ++r->number);
    else if (l->of_sink) wr_sbuf_printf(&id, "%.*s#%016" PRIx64 "-%" PRIu64 "-%" PRIu64, WR_FMT(r->table), job->letters->state, epoch, ++r->number);
    else if (l->name.ptr) wr_sbuf_printf(&id, "%.*s/%.*s@%.*s", WR_FMT(r->table), WR_FMT(l->partition), WR_FMT(l->name));
    else wr_sbuf_printf(&id, "%.*s/%.*s@%" PRId64, WR_FMT(r->table), WR_FMT(l->partition), l->offset);
    put_text(out, wr_sbuf_str(&id));
    wr_sbuf_free(&id);
}

/* A place with '_base64' beside a place without: one of them is NULL. Both hold the bytes: which one is shown depends on the column's type. */
static void encode(wr_job *job, refuser *r, uint64_t epoch, const letter *l, wr_sbuf *out) {
    char state[20];
    snprintf(state, sizeof state, "%016" PRIx64, job->letters->state);
    wr_str name = job->opts.job_name ? wr_str_of(job->opts.job_name) : job->plan->name;
    put_id(job, r, epoch, l, out);
    put_text(out, l->of_join ? WR_STR("join") : l->of_sink ? WR_STR("sink") : WR_STR("source"));
    put_text(out, r->table), put_text(out, l->partition);
    put_number(out, l->offset), put_number(out, l->line);
    put_text(out, wr_str_of(l->code)), put_text(out, l->reason);
    put_text(out, l->raw), put_text(out, l->raw), put_text(out, l->key), put_text(out, l->key);
    put_text(out, l->context);
    put_text(out, name), put_text(out, wr_str_of(job->opts.job_version ? job->opts.job_version : "")), put_text(out, wr_str_of(job->opts.weir_version ? job->opts.weir_version : "")), put_text(out, wr_str_of(state));
    put_number(out, wr_wall_us(job->opts.world));
}

void letters_add(wr_job *job, refuser *r, uint64_t epoch, const letter *l) {
    letter_box *box = r->box;
    letters    *ls = job->letters;
    if (!box) return;
    wr_mutex_lock(ls->lock);
    waiting *w = NULL;
    for (uint32_t i = 0; i < box->waiting.n; i++)
        if (box->waiting.at[i].epoch == epoch) w = &box->waiting.at[i];
    if (!w) {
        wr_arr_push(&box->waiting, (waiting){.epoch = epoch});
        w = &box->waiting.at[box->waiting.n - 1];
    }
    size_t before = w->bytes.len;
    encode(job, r, epoch, l, &w->bytes);
    atomic_fetch_add(&ls->bytes, w->bytes.len - before);
    wr_account_add(&ls->acct, (int64_t)(w->bytes.len - before));
    wr_mutex_unlock(ls->lock);
}

size_t letters_waiting(const wr_job *job) { return job->letters ? atomic_load_explicit(&((wr_job *)(uintptr_t)job)->letters->bytes, memory_order_relaxed) : 0; }

/* ---- from letters to rows ---- */
static void set_text(const letter_box *box, uint32_t col, uint32_t row, wr_letter_field field, wr_str text, wr_batch *b) {
    wr_vec *vec = &b->cols[col];
    bool    encoded = field == WR_LETTER_RAW_BASE64 || field == WR_LETTER_KEY_BASE64;
    bool    plain = vec->type.id == WR_T_VARBINARY || !(field == WR_LETTER_RAW || field == WR_LETTER_KEY) || wr_utf8_valid(text);
    (void)box;
    if (encoded ? wr_utf8_valid(text) : !plain) {
        wr_vec_set_null(vec, row, b->mem);
        return;
    }
    wr_sbuf base64 = {0};
    if (encoded) wr_base64(text.ptr, text.len, &base64), text = wr_sbuf_str(&base64);
    ((wr_sview *)vec->data)[row] = wr_sview_copy(b->mem, text.ptr, text.len);
    wr_sbuf_free(&base64);
}

static void decode_row(const letter_box *box, wr_reader *in, wr_batch *b, uint32_t row) {
    wr_str  texts[WR_LETTER_FIELDS] = {0};
    int64_t numbers[WR_LETTER_FIELDS] = {0};
    bool    there[WR_LETTER_FIELDS];
    for (int f = 0; f < WR_LETTER_FIELDS; f++) {
        there[f] = wr_get_u8(in);
        if (!there[f]) continue;
        if (wr_letter_columns[f].type == WR_T_VARCHAR) texts[f] = wr_get_bytes(in);
        else numbers[f] = wr_get_i64(in);
    }
    for (uint32_t c = 0; c < box->schema.n; c++) {
        wr_letter_field f = (wr_letter_field)box->fields[c];
        wr_type         type = box->schema.fields[c].type;
        if (!there[f]) wr_vec_set_null(&b->cols[c], row, b->mem);
        else if (wr_letter_columns[f].type == WR_T_VARCHAR) set_text(box, c, row, f, texts[f], b);
        else if (type.id == WR_T_TIMESTAMP_LTZ) ((int64_t *)b->cols[c].data)[row] = type.prec > 6 ? numbers[f] * 1000 : type.prec >= 6 ? numbers[f] : numbers[f] - wr_floor_mod(numbers[f], 1000);
        else ((int64_t *)b->cols[c].data)[row] = numbers[f];
    }
}

static wr_status write_letters(letter_box *box, wr_str bytes, wr_err *err) {
    wr_reader in = {(const uint8_t *)bytes.ptr, (const uint8_t *)bytes.ptr + bytes.len, false};
    while (in.at < in.end && !in.bad) {
        wr_batch *b = wr_batch_new(box->schema.n, 64 * 1024);
        for (uint32_t c = 0; c < box->schema.n; c++) wr_vec_init(&b->cols[c], box->schema.fields[c].type, BATCH_ROWS, true, b->mem);
        for (; b->n_rows < BATCH_ROWS && in.at < in.end && !in.bad; b->n_rows++) decode_row(box, &in, b, b->n_rows);
        wr_status status = box->sink->vt->write(box->sink, b, err);
        wr_batch_unref(b);
        WR_TRY(status);
    }
    return WR_OK;
}

/* Takes what waits up to an epoch and writes it. */
static wr_status write_waiting(wr_job *job, letter_box *box, uint64_t epoch, wr_err *err) {
    letters  *ls = job->letters;
    wr_status status = WR_OK;
    for (;;) {
        wr_sbuf bytes = {0};
        bool    found = false;
        wr_mutex_lock(ls->lock);
        for (uint32_t i = 0; i < box->waiting.n && !found; i++) {
            if (box->waiting.at[i].epoch > epoch) continue;
            bytes = box->waiting.at[i].bytes;
            box->waiting.at[i] = box->waiting.at[--box->waiting.n];
            found = true;
        }
        wr_mutex_unlock(ls->lock);
        if (!found) return WR_OK;
        status = write_letters(box, wr_sbuf_str(&bytes), err);
        atomic_fetch_sub(&ls->bytes, bytes.len);
        wr_account_add(&ls->acct, -(int64_t)bytes.len);
        wr_sbuf_free(&bytes);
        WR_TRY(status);
    }
}

wr_status letters_prepare(wr_job *job, uint64_t epoch, wr_err *err) {
    for (uint32_t i = 0; job->letters && i < job->letters->boxes.n; i++) {
        letter_box *box = job->letters->boxes.at[i];
        wr_sbuf     section = {0};
        WR_TRY(write_waiting(job, box, epoch, err));
        wr_sbuf_clear(&box->staged);
        WR_TRY(box->sink->vt->prepare(box->sink, epoch, &box->staged, err));
        wr_sbuf_add_str(&section, wr_sbuf_str(&box->staged));
        snapshot_put_as(job, WR_SECTION_SINK, wr_str_of(box->owner), &section);
    }
    return WR_OK;
}

wr_status letters_commit(wr_job *job, uint64_t epoch, wr_err *err) {
    for (uint32_t i = 0; job->letters && i < job->letters->boxes.n; i++) {
        letter_box *box = job->letters->boxes.at[i];
        WR_TRY(box->sink->vt->commit(box->sink, epoch, wr_sbuf_str(&box->staged), err));
    }
    return WR_OK;
}

wr_status letters_recover(wr_job *job, const wr_checkpoint *ck, bool found, wr_err *err) {
    for (uint32_t i = 0; job->letters && i < job->letters->boxes.n; i++) {
        letter_box       *box = job->letters->boxes.at[i];
        const wr_section *s = found ? wr_checkpoint_find(ck, WR_SECTION_SINK, wr_str_of(box->owner)) : NULL;
        WR_TRY(box->sink->vt->recover(box->sink, found ? ck->epoch : 0, s ? s->content : (wr_str){"", 0}, err));
    }
    return WR_OK;
}

wr_status letters_flush(wr_job *job, wr_err *err) {
    letters *ls = job->letters;
    if (!ls || job->opts.state_dir || !letters_waiting(job)) return WR_OK;
    int64_t now = wr_mono_us(job->opts.world);
    if (letters_waiting(job) < FLUSH_BYTES && now - ls->flushed_us < FLUSH_EVERY_US) return WR_OK;
    ls->flushed_us = now;
    for (uint32_t i = 0; i < ls->boxes.n; i++) {
        WR_TRY(write_waiting(job, ls->boxes.at[i], UINT64_MAX, err));
        WR_TRY(ls->boxes.at[i]->sink->vt->flush(ls->boxes.at[i]->sink, err));
    }
    return WR_OK;
}

wr_status letters_end(wr_job *job, wr_err *err) {
    for (uint32_t i = 0; job->letters && i < job->letters->boxes.n; i++) {
        letter_box *box = job->letters->boxes.at[i];
        wr_sink    *sink = box->sink;
        if (!job->opts.state_dir) WR_TRY(write_waiting(job, box, UINT64_MAX, err));
        if (!job->opts.state_dir) WR_TRY(sink->vt->flush(sink, err));
        box->sink = NULL;
        WR_TRY(sink->vt->close(sink, true, err));
    }
    return WR_OK;
}

uint64_t letters_state(const wr_job *job) { return job->letters->state; }
void     letters_set_state(wr_job *job, uint64_t state) { job->letters->state = state; }

/* ---- places ---- */
static wr_status open_sink(wr_job *job, letter_box *box, wr_options options, const uint32_t *key, uint32_t n_key, wr_span at, wr_err *err) {
    const wr_option    *name = wr_options_find(&options, "connector");
    const wr_connector *c = wr_connector_find(wr_str_trim(name->value));
    wr_table_info       info = {.name = box->name, .schema = &box->schema, .n_physical = box->schema.n, .n_key = n_key, .key = key, .options = options, .at = at};
    wr_connect_ctx     *ctx = wr_new(job->arena, wr_connect_ctx);
    *ctx = (wr_connect_ctx){.world = job->opts.world, .arena = job->arena, .acct = &job->letters->acct, .diags = job->opts.diags, .tz = job->plan->tz, .n_workers = 1,
                            .batch_rows = job->batch_rows, .one_file = !box->table, .print_style = job->opts.print_style ? job->opts.print_style : "table", .result_arg = job->opts.result_arg};
    wr_assert(c && c->sink_new);
    return c->sink_new(&info, ctx, &box->sink, err);
}

static wr_status open_file(wr_job *job, letter_box *box, wr_span at, wr_err *err) {
    wr_field  *fields = wr_new_n(job->arena, wr_field, WR_LETTER_FIELDS);
    wr_option *options = wr_new_n(job->arena, wr_option, 5);
    box->fields = wr_new_n(job->arena, uint8_t, WR_LETTER_FIELDS);
    for (int i = 0; i < WR_LETTER_FIELDS; i++) {
        wr_tid id = wr_letter_columns[i].type;
        fields[i] = (wr_field){wr_str_of(wr_letter_columns[i].name), id == WR_T_VARCHAR ? wr_type_string() : id == WR_T_TIMESTAMP_LTZ ? wr_type_prec(id, 3) : wr_type_of(id)};
        box->fields[i] = (uint8_t)i;
    }
    box->schema = (wr_schema){WR_LETTER_FIELDS, fields};
    options[0] = (wr_option){WR_STR("connector"), WR_STR("filesystem"), at};
    options[1] = (wr_option){WR_STR("path"), box->name, at};
    options[2] = (wr_option){WR_STR("format"), WR_STR("json"), at};
    options[3] = (wr_option){WR_STR("sink.if-exists"), WR_STR("append"), at};
    options[4] = (wr_option){WR_STR("json.encode.ignore-null-fields"), WR_STR("true"), at};
    return open_sink(job, box, (wr_options){5, options}, NULL, 0, at, err);
}

static wr_status open_table(wr_job *job, letter_box *box, wr_err *err) {
    const wr_table *t = box->table;
    wr_field       *fields = wr_new_n(job->arena, wr_field, t->n_columns + 1);
    uint32_t       *key = wr_new_n(job->arena, uint32_t, t->n_key + 1), n = 0, n_key = 0;
    box->fields = wr_new_n(job->arena, uint8_t, t->n_columns + 1);
    for (uint32_t i = 0; i < t->n_columns; i++) {
        if (t->columns[i].kind != WR_COLUMN_PHYSICAL) continue;
        box->fields[n] = (uint8_t)wr_letter_field_of(t->columns[i].name);
        for (uint32_t k = 0; k < t->n_key; k++)
            if (t->key[k] == i) key[n_key++] = n;
        fields[n++] = (wr_field){t->columns[i].name, t->columns[i].type};
    }
    box->schema = (wr_schema){n, fields};
    wr_option *options = wr_new_n(job->arena, wr_option, t->n_options + 1);
    uint32_t   n_options = t->n_options;
    memcpy(options, t->options, n_options * sizeof *options);
    if (wr_str_eq(t->connector, WR_STR("filesystem")) && !wr_table_option_get(t, "sink.if-exists").ptr)
        options[n_options++] = (wr_option){WR_STR("sink.if-exists"), WR_STR("append"), t->at}; /* a run that begins anew does not lose them */
    return open_sink(job, box, (wr_options){n_options, options}, key, n_key, t->at, err);
}

/* A sink of the plan writes there too: two writers of one epoch would not know of each other. */
static wr_status check_apart(const wr_job *job, const wr_table *t, wr_err *err) {
    for (uint32_t i = 0; i < job->n_nodes; i++) {
        const wr_pnode *p = job->plan->nodes.at[i];
        if (p->kind != WR_P_SINK || p->sink.table != t) continue;
        wr_fail(err, WR_USER, "WR396", "the table '%.*s' takes dead letters of this job and rows of an INSERT", WR_FMT(t->name));
        wr_err_hint(err, "declare a table of its own for the dead letters");
        err->at = p->at;
        return WR_USER;
    }
    return WR_OK;
}

static wr_status box_for(wr_job *job, refuser *r, const wr_table *table, wr_span at, wr_err *err) {
    letters *ls = job->letters;
    wr_str   name = table ? table->name : r->policy.path;
    if (r->policy.on_error != WR_ON_ERROR_DEAD_LETTER || job->opts.until || job->opts.redirect) return WR_OK;
    for (uint32_t i = 0; i < ls->boxes.n && !r->box; i++)
        if (ls->boxes.at[i]->table == table && wr_str_eq(ls->boxes.at[i]->name, name)) r->box = ls->boxes.at[i];
    if (r->box) return WR_OK;
    if (table) WR_TRY(check_apart(job, table, err));
    letter_box *box = wr_new(job->arena, letter_box);
    *box = (letter_box){.name = name, .table = table};
    box->owner = wr_arena_printf(job->arena, WR_LETTERS_OWNER "%s %.*s", table ? "table" : "file", WR_FMT(name));
    wr_arr_push(&ls->boxes, box);
    r->box = box;
    return table ? open_table(job, box, err) : open_file(job, box, at, err);
}

/* ---- rows that leave a join without a partner ---- */
static void lost_row(void *arg, const wr_lost *l) {
    static const wr_json_style style = {.sep = ' ', .exact = true};
    node   *n = arg;
    wr_sbuf raw = {0}, context = {0}, reason = {0};
    wr_json_row(&n->p->inputs[l->side].node->schema, l->batch, l->row, NULL, &style, &raw);
    wr_sbuf_addz(&context, "{\"join\":"), wr_sbuf_add_json(&context, wr_str_of(n->p->title));
    wr_sbuf_printf(&context, ",\"kind\":\"%s\",\"why\":\"%s\"", wr_kind_text(wr_batch_kind(l->batch, l->row)), wr_miss_name(l->why));
    if (l->reason == WR_REASON_LATE) wr_sbuf_addz(&reason, "late: its partners may have come and gone");
    else if (l->reason == WR_REASON_EXPIRED) wr_sbuf_addz(&reason, "no partner before it was forgotten (table.exec.state.ttl)");
    else wr_sbuf_addz(&reason, wr_miss_name(l->why));
    if (l->why == WR_MISS_OUTSIDE) {
        wr_sbuf_printf(&context, ",\"outside_us\":%" PRId64, l->below ? -l->us : l->us);
        wr_sbuf_addz(&reason, ": the closest is "), wr_text_duration(l->us, &reason);
        wr_sbuf_addz(&reason, l->below ? " before it" : " after it");
    }
    wr_sbuf_addc(&context, '}');
    letter one = {.of_join = true, .worker = n->w->index, .partition = l->side ? WR_STR("right") : WR_STR("left"), .raw = wr_sbuf_str(&raw), .reason = wr_sbuf_str(&reason),
                     .context = wr_sbuf_str(&context), .offset = -1, .line = -1, .code = wr_reason_name(l->reason)};
    for (uint64_t i = 0; i < l->copies; i++) letters_add(n->w->job, n->lost, n->letters_epoch, &one);
    wr_sbuf_free(&reason);
    wr_sbuf_free(&context);
    wr_sbuf_free(&raw);
}

static wr_status open_lost(wr_job *job, node *n, wr_err *err) {
    switch (n->p ? n->p->kind : WR_P_SOURCE) {
    case WR_P_INTERVAL_JOIN: case WR_P_TEMPORAL_JOIN: case WR_P_JOIN: case WR_P_WINDOW_JOIN: case WR_P_LOOKUP_JOIN: break;
    default: return WR_OK;
    }
    n->lost = wr_new(job->arena, refuser);
    *n->lost = (refuser){.policy = {.on_error = WR_ON_ERROR_DEAD_LETTER, .path = job->plan->unmatched_path}, .table = wr_str_of(n->p->id)};
    WR_TRY(box_for(job, n->lost, job->plan->unmatched, n->p->at, err));
    if (n->lost->box) n->ctx.lost = lost_row, n->ctx.lost_arg = n;
    return WR_OK;
}

wr_status letters_open(wr_job *job, wr_err *err) {
    letters *ls = job->letters = wr_new(job->arena, letters);
    ls->lock = wr_mutex_new();
    ls->state = job->opts.world->vt->random(job->opts.world);
    wr_account_init(&ls->acct, job->opts.acct, "dead letters", 0);
    for (uint32_t i = 0; i < job->n_sources; i++) {
        source *s = &job->sources[i];
        if (s->src) WR_TRY(box_for(job, &s->refused, s->p->source.letters, s->p->source.table->at, err));
    }
    for (uint32_t k = 0; k < job->n_workers; k++)
        for (uint32_t i = 0; i < job->n_nodes; i++) {
            node *n = &job->workers[k].nodes[i];
            bool  muted = job->opts.muted && job->opts.muted[i];
            if (n->refused && !muted) WR_TRY(box_for(job, n->refused, n->p->sink.letters, n->p->sink.table->at, err));
            if ((job->plan->unmatched_path.len || job->plan->unmatched) && !job->opts.muted) WR_TRY(open_lost(job, n, err));
        }
    return WR_OK;
}

void letters_close(wr_job *job) {
    letters *ls = job->letters;
    if (!ls) return;
    for (uint32_t i = 0; i < ls->boxes.n; i++) {
        letter_box *box = ls->boxes.at[i];
        wr_err      ignored;
        if (box->sink) (void)!box->sink->vt->close(box->sink, false, &ignored);
        for (uint32_t k = 0; k < box->waiting.n; k++) wr_sbuf_free(&box->waiting.at[k].bytes);
        wr_arr_free(&box->waiting);
        wr_sbuf_free(&box->staged);
    }
    wr_account_add(&ls->acct, -wr_account_bytes(&ls->acct));
    wr_arr_free(&ls->boxes);
    wr_mutex_free(ls->lock);
}

/* ---- rows of sinks ---- */
wr_status refuse_row(node *n, const wr_batch *batch, uint32_t row, uint64_t number, const char *code, const char *reason, wr_err *err) {
    refuser *r = n->refused;
    n->ledger.dropped[r->policy.on_error == WR_ON_ERROR_SKIP ? WR_REASON_REFUSED : WR_REASON_DEAD_LETTER]++;
    if (r->box) {
        static const wr_json_style style = {.sep = ' ', .exact = true};
        wr_sbuf raw = {0}, context = {0};
        wr_json_row(&n->p->sink.write_schema, batch, row, NULL, &style, &raw);
        wr_sbuf_printf(&context, "{\"kind\":\"%s\"}", wr_kind_text(wr_batch_kind(batch, row)));
        letters_add(n->w->job, r, n->letters_epoch, &(letter){.of_sink = true, .raw = wr_sbuf_str(&raw), .reason = wr_str_of(reason), .context = wr_sbuf_str(&context), .offset = -1, .line = -1, .code = code});
        wr_sbuf_free(&raw);
        wr_sbuf_free(&context);
    }
    return refuser_judge(r, code, number, reason, err);
}
