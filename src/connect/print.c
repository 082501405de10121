/* connect/print.c: the sinks that show rows to people and programs (print, result) and the one that shows nothing (blackhole).
 *
 * Idea       print writes Flink's form, +I[a, 1]. result is where a bare SELECT goes: an aligned table for people, JSON lines for programs;
 *            with final_rows it keeps the rows (type/row_set.h) and prints what is left at the end, in order of arrival.
 * Readers    may be slow, or stop: a batch goes out as far as there is room (drain), and from its first byte to its last no other sink writes
 *            to the same stream, so that lines stay whole.
 * Thread     one worker an instance; blackhole any.                                                                     */
#include "connect/parts.h"
#include "type/decimal.h"
#include "type/row_set.h"
#include "type/width.h"
#include <stdatomic.h>
#include <stdio.h>

enum { CELL_MAX = 60, WIDTH_MAX_COLS = 256 };

/* ---- writing out ---- */

typedef struct stream {
    wr_world *world;
    FILE     *to;
    wr_sbuf   text; /* of the batch that is under way */
    size_t    at;   /* so much of it is out */
} stream;

/* Who is in the middle of a batch: as standard output and standard error, there is one of it in the process. */
static _Atomic(const stream *) in_use[2];

static _Atomic(const stream *) *owner_of(const stream *s) { return &in_use[s->to == stderr]; }

static bool take_stream(const stream *s) {
    const stream *nobody = NULL;
    return atomic_load(owner_of(s)) == s || atomic_compare_exchange_strong(owner_of(s), &nobody, s);
}

static void give_back(const stream *s) {
    if (atomic_load(owner_of(s)) == s) atomic_store(owner_of(s), NULL);
}

static wr_status stream_drain(stream *s, int64_t wait_us, bool *busy, wr_err *err) {
    enum { OTHERS_US = 1000 };
    *busy = s->at < s->text.len;
    if (!*busy) return WR_OK;
    if (!take_stream(s)) {
        if (wait_us) s->world->vt->sleep_us(s->world, WR_MIN(wait_us, (int64_t)OTHERS_US));
        return WR_OK;
    }
    (void)fflush(s->to); /* what others have put there comes before */
    size_t    n;
    wr_status status = wr_stream_write(fileno(s->to), s->text.at + s->at, s->text.len - s->at, wait_us, &n, err);
    s->at += n;
    *busy = status == WR_OK && s->at < s->text.len;
    if (*busy) return WR_OK;
    wr_sbuf_clear(&s->text);
    s->at = 0;
    give_back(s);
    return status;
}

/* All that there is, for as long as it takes. */
static wr_status stream_finish(stream *s, wr_err *err) {
    enum { LOOK_US = 1000000 };
    for (bool busy = true; busy;) WR_TRY(stream_drain(s, LOOK_US, &busy, err));
    return WR_OK;
}

/* Rows that have not begun are not to come; a line that has is brought to its end, if somebody reads it. */
static wr_status stream_stop(stream *s, wr_err *err) {
    enum { PATIENCE_US = 1000000 };
    const char *end = s->at ? memchr(s->text.at + s->at, '\n', s->text.len - s->at) : NULL;
    bool        inside = end && s->text.at[s->at - 1] != '\n';
    s->text.len = inside ? (size_t)(end + 1 - s->text.at) : s->at;
    bool      busy;
    wr_status status = stream_drain(s, PATIENCE_US, &busy, err);
    wr_sbuf_clear(&s->text);
    s->at = 0;
    give_back(s);
    return status;
}

/* ---- Flink's print form ---- */

/* java.time's toString: seconds are left out when zero (local times only), fractions have 3, 6 or 9 digits. */
static void java_time(int32_t h, int32_t m, int32_t s, int32_t nano, bool always_seconds, wr_sbuf *out) {
    wr_sbuf_printf(out, "%02d:%02d", h, m);
    if (s || nano || always_seconds) wr_sbuf_printf(out, ":%02d", s);
    if (!nano) return;
    if (nano % 1000000 == 0) wr_sbuf_printf(out, ".%03d", nano / 1000000);
    else if (nano % 1000 == 0) wr_sbuf_printf(out, ".%06d", nano / 1000);
    else wr_sbuf_printf(out, ".%09d", nano);
}

static void java_timestamp(int64_t ticks, wr_type type, wr_sbuf *out) {
    bool     fine = type.prec > 6;
    int64_t  us = fine ? wr_floor_div(ticks, 1000) : ticks;
    wr_civil c = wr_civil_from_us(us);
    c.nano = (int32_t)(wr_floor_mod(us, WR_US_PER_SECOND) * 1000 + (fine ? wr_floor_mod(ticks, 1000) : 0));
    wr_sbuf_printf(out, "%04d-%02d-%02dT", c.year, c.month, c.day);
    java_time(c.hour, c.minute, c.second, c.nano, type.id == WR_T_TIMESTAMP_LTZ, out);
    if (type.id == WR_T_TIMESTAMP_LTZ) wr_sbuf_addc(out, 'Z');
}

static void print_value(const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    if (wr_vec_is_null(vec, row)) {
        wr_sbuf_addz(out, "null");
        return;
    }
    switch (vec->type.id) {
    case WR_T_BOOLEAN: wr_sbuf_addz(out, ((const uint8_t *)vec->data)[row] ? "true" : "false"); break;
    case WR_T_TIMESTAMP:
    case WR_T_TIMESTAMP_LTZ: java_timestamp(((const int64_t *)vec->data)[row], vec->type, out); break;
    case WR_T_TIME: {
        int32_t ms = ((const int32_t *)vec->data)[row];
        java_time(ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, ms % 1000 * 1000000, false, out);
        break;
    }
    case WR_T_BINARY:
    case WR_T_VARBINARY: {
        wr_str bytes = wr_sview_str((const wr_sview *)vec->data + row);
        wr_sbuf_addc(out, '[');
        for (size_t i = 0; i < bytes.len; i++) wr_sbuf_printf(out, i ? ", %d" : "%d", (int8_t)bytes.ptr[i]);
        wr_sbuf_addc(out, ']');
        break;
    }
    case WR_T_ARRAY:
    case WR_T_MULTISET:
    case WR_T_MAP: {
        wr_list list = ((const wr_list *)vec->data)[row];
        wr_sbuf_addc(out, vec->type.id == WR_T_ARRAY ? '[' : '{');
        for (uint32_t i = 0; i < list.len; i++) {
            if (i) wr_sbuf_addz(out, ", ");
            print_value(&vec->kids[0], list.offset + i, out);
            if (vec->type.id == WR_T_ARRAY) continue;
            wr_sbuf_addc(out, '=');
            if (vec->type.n_kids > 1) print_value(&vec->kids[1], list.offset + i, out);
            else wr_sbuf_addc(out, '1');
        }
        wr_sbuf_addc(out, vec->type.id == WR_T_ARRAY ? ']' : '}');
        break;
    }
    case WR_T_ROW:
        wr_sbuf_addz(out, "+I[");
        for (uint32_t i = 0; i < vec->type.n_kids; i++) {
            if (i) wr_sbuf_addz(out, ", ");
            print_value(&vec->kids[i], row, out);
        }
        wr_sbuf_addc(out, ']');
        break;
    default: wr_vec_text(vec, row, NULL, out);
    }
}

typedef struct print_sink {
    wr_sink base;
    wr_str  identifier;
    stream  out;
} print_sink;

static wr_status print_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    wr_sbuf *out = &((print_sink *)base)->out.text;
    wr_str   identifier = ((print_sink *)base)->identifier;
    (void)err;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (identifier.len) wr_sbuf_printf(out, "%.*s> ", WR_FMT(identifier));
        wr_sbuf_printf(out, "%s[", wr_kind_text(wr_batch_kind(batch, row)));
        for (uint32_t c = 0; c < batch->n_cols; c++) {
            if (c) wr_sbuf_addz(out, ", ");
            print_value(&batch->cols[c], row, out);
        }
        wr_sbuf_addz(out, "]\n");
    }
    return WR_OK;
}

static wr_status print_drain(wr_sink *base, int64_t wait_us, bool *busy, wr_err *err) { return stream_drain(&((print_sink *)base)->out, wait_us, busy, err); }

static wr_status print_close(wr_sink *base, bool ok, wr_err *err) {
    print_sink *s = (print_sink *)base;
    (void)ok;
    wr_status status = stream_stop(&s->out, err);
    wr_sbuf_free(&s->out.text);
    wr_free(s);
    return status;
}

/* What sinks without memory of their own do at flush, prepare, commit, recover. */
static wr_status no_flush(wr_sink *s, wr_err *err) { return (void)s, (void)err, WR_OK; }
static wr_status no_prepare(wr_sink *s, uint64_t epoch, wr_sbuf *staged, wr_err *err) { return (void)s, (void)epoch, (void)staged, (void)err, WR_OK; }
static wr_status no_commit(wr_sink *s, uint64_t epoch, wr_str staged, wr_err *err) { return (void)s, (void)epoch, (void)staged, (void)err, WR_OK; }

static const wr_option_spec print_specs[] = {{"print-identifier", "string", NULL, false, "written before each row, followed by '> '"},
                                             {"standard-error", "bool", "false", false, "write to standard error"},
                                             {0}};

static wr_status print_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    static const wr_sink_vt vt = {"print", print_write, no_flush, no_prepare, no_commit, no_commit, print_close, print_drain};
    (void)err;
    bool to_stderr;
    *out = NULL;
    if (!wr_option_bool(&t->options, print_specs, "standard-error", &to_stderr, ctx->diags)) return WR_USER;
    print_sink *s = wr_calloc(1, sizeof *s);
    *s = (print_sink){.base = {&vt}, .identifier = wr_option_string(&t->options, print_specs, "print-identifier"), .out = {.world = ctx->world, .to = to_stderr ? stderr : stdout}};
    *out = &s->base;
    return WR_OK;
}

/* ---- result ---- */

typedef enum result_style { STYLE_TABLE, STYLE_JSONL, STYLE_CHANGELOG, STYLE_CSV_CHANGELOG } result_style;
static const char *const STYLES[] = {"table", "jsonl", "changelog-jsonl", "changelog-csv"};

typedef struct result_sink {
    wr_sink          base;
    const wr_schema *schema;
    result_style     style;
    const wr_tz     *tz;
    stream           to;
    bool             header, ops; /* a header was written; with the op column */
    uint32_t        *widths;
    wr_row_set      *final;       /* NULL: every change is shown */
} result_sink;

static bool is_right(wr_type t) { return wr_type_is_numeric(t); }

/* A cell's text, on one line and not endlessly long. */
static void cell_text(const result_sink *s, const wr_vec *vec, uint32_t row, wr_sbuf *out) {
    wr_sbuf_clear(out);
    wr_vec_text(vec, row, s->tz, out);
    for (size_t i = 0; i < out->len; i++)
        if ((uint8_t)out->at[i] < 0x20) out->at[i] = ' ';
    wr_str text = wr_sbuf_str(out);
    if (wr_text_width(text) <= CELL_MAX) return;
    out->len = wr_text_fit(text, CELL_MAX - 1);
    wr_sbuf_addz(out, "\xE2\x80\xA6");
}

static void put_cell(result_sink *s, wr_str text, uint32_t width, bool right, bool last) {
    size_t n = wr_text_width(text);
    size_t pad = n < width ? width - n : 0;
    if (right) wr_sbuf_printf(&s->to.text, "%*s", (int)pad, "");
    wr_sbuf_add_str(&s->to.text, text);
    if (!right && !last) wr_sbuf_printf(&s->to.text, "%*s", (int)pad, "");
    wr_sbuf_addz(&s->to.text, last ? "\n" : "  ");
}

static void put_header(result_sink *s) {
    uint32_t n = s->schema->n;
    if (s->header) wr_sbuf_addc(&s->to.text, '\n');
    if (s->ops) wr_sbuf_addz(&s->to.text, "op  ");
    for (uint32_t c = 0; c < n; c++) put_cell(s, s->schema->fields[c].name, s->widths[c], is_right(s->schema->fields[c].type), c + 1 == n);
    if (s->ops) wr_sbuf_addz(&s->to.text, "--  ");
    for (uint32_t c = 0; c < n; c++) {
        for (uint32_t i = 0; i < s->widths[c]; i++) wr_sbuf_addc(&s->to.text, '-');
        wr_sbuf_addz(&s->to.text, c + 1 == n ? "\n" : "  ");
    }
    s->header = true;
}

static void put_table(result_sink *s, const wr_batch *batch) {
    uint32_t live = wr_batch_live(batch);
    wr_sbuf  cell = {0};
    bool     wider = false;
    for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        for (uint32_t c = 0; c < s->schema->n; c++) {
            cell_text(s, &batch->cols[c], row, &cell);
            uint32_t width = (uint32_t)wr_text_width(wr_sbuf_str(&cell));
            if (width > s->widths[c] + (s->header ? 8 : 0)) s->widths[c] = width, wider = true; /* a little over is let be */
        }
    }
    bool ops = s->ops;
    for (uint32_t i = 0; i < live && !ops; i++) ops = wr_batch_kind(batch, wr_batch_row(batch, i)) != WR_KIND_INSERT;
    if (!s->header || ops != s->ops || wider) {
        s->ops = ops;
        put_header(s);
    }
    for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (s->ops) wr_sbuf_printf(&s->to.text, "%s  ", wr_kind_text(wr_batch_kind(batch, row)));
        for (uint32_t c = 0; c < s->schema->n; c++) {
            cell_text(s, &batch->cols[c], row, &cell);
            put_cell(s, wr_sbuf_str(&cell), s->widths[c], is_right(s->schema->fields[c].type), c + 1 == s->schema->n);
        }
    }
    wr_sbuf_free(&cell);
}

static void put_csv(result_sink *s, const wr_batch *batch) {
    if (!s->header) wr_csv_header(s->schema, true, &s->to.text);
    s->header = true;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_csv_row(batch, row, wr_kind_text(wr_batch_kind(batch, row)), s->tz, &s->to.text);
    }
}

static void put_batch(result_sink *s, const wr_batch *batch) {
    static const wr_json_style style = {.sep = ' ', .exact = true};
    uint32_t live = wr_batch_live(batch);
    if (!live) return;
    if (s->style == STYLE_CSV_CHANGELOG) put_csv(s, batch);
    else if (s->style == STYLE_TABLE) put_table(s, batch);
    else for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        uint8_t  kind = wr_batch_kind(batch, row);
        bool     op = s->style == STYLE_CHANGELOG || kind != WR_KIND_INSERT;
        wr_json_row(s->schema, batch, row, op ? wr_kind_text(kind) : NULL, &style, &s->to.text);
        wr_sbuf_addc(&s->to.text, '\n');
    }
}

static wr_status result_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    result_sink *s = (result_sink *)base;
    (void)err;
    if (s->final) wr_row_set_change(s->final, batch);
    else put_batch(s, batch);
    return WR_OK;
}

static wr_status result_drain(wr_sink *base, int64_t wait_us, bool *busy, wr_err *err) { return stream_drain(&((result_sink *)base)->to, wait_us, busy, err); }

static wr_status put_final(result_sink *s, wr_err *err) {
    wr_row_at at = {0};
    for (wr_batch *batch; (batch = wr_row_set_next(s->final, &at, WR_BATCH_MAX));) {
        put_batch(s, batch);
        wr_batch_unref(batch);
        WR_TRY(stream_finish(&s->to, err));
    }
    return WR_OK;
}

static wr_status result_close(wr_sink *base, bool ok, wr_err *err) {
    result_sink *s = (result_sink *)base;
    wr_status    status = stream_stop(&s->to, err);
    if (ok && status == WR_OK && s->final) status = put_final(s, err);
    if (ok && status == WR_OK && s->style == STYLE_TABLE && !s->header) { /* no rows: say what there would have been */
        put_header(s);
        wr_sbuf_addz(&s->to.text, "(no rows)\n");
        status = stream_finish(&s->to, err);
    }
    wr_sbuf_free(&s->to.text);
    wr_row_set_free(s->final);
    wr_free(s->widths);
    wr_free(s);
    return status;
}

static wr_status result_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    static const wr_sink_vt vt = {"result", result_write, no_flush, no_prepare, no_commit, no_commit, result_close, result_drain};
    (void)err;
    result_sink *s = wr_calloc(1, sizeof *s);
    const char  *style = ctx->print_style ? ctx->print_style : "table";
    *s = (result_sink){.base = {&vt}, .schema = t->schema, .tz = ctx->tz, .to = {.world = ctx->world, .to = stdout}};
    for (uint32_t i = 0; i < WR_COUNT_OF(STYLES); i++)
        if (!strcmp(style, STYLES[i])) s->style = (result_style)i;
    s->widths = wr_calloc(t->schema->n + 1, sizeof *s->widths);
    for (uint32_t c = 0; c < t->schema->n; c++) s->widths[c] = (uint32_t)wr_text_width(t->schema->fields[c].name);
    if (ctx->final_rows) s->final = wr_row_set_new(t->schema, ctx->acct);
    *out = &s->base;
    return WR_OK;
}

/* ---- blackhole ---- */

static wr_status blackhole_write(wr_sink *s, const wr_batch *batch, wr_err *err) { return (void)s, (void)batch, (void)err, WR_OK; }
static wr_status blackhole_close(wr_sink *s, bool ok, wr_err *err) {
    (void)ok, (void)err;
    wr_free(s);
    return WR_OK;
}
static wr_status blackhole_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    static const wr_sink_vt vt = {"blackhole", blackhole_write, no_flush, no_prepare, no_commit, no_commit, blackhole_close, NULL};
    (void)t, (void)ctx, (void)err;
    *out = wr_calloc(1, sizeof **out);
    (*out)->vt = &vt;
    return WR_OK;
}

static wr_sink_takes takes_all(const wr_table_info *t) { return (void)t, WR_SINK_ALL; }
static wr_guarantee  at_least_once(const wr_table_info *t) { return (void)t, WR_AT_LEAST_ONCE; }
static wr_guarantee  idempotent(const wr_table_info *t) { return (void)t, WR_IDEMPOTENT; }
static const wr_option_spec no_specs[] = {{0}};

const wr_connector wr_connector_print = {.name = "print", .doc = "rows to standard output as +I[a, 1]", .specs = print_specs, .sink_new = print_new, .takes = takes_all, .guarantee = at_least_once};
const wr_connector wr_connector_result = {.name = "result", .doc = "where a bare SELECT goes: a table for people, JSON lines for programs", .specs = no_specs, .sink_new = result_new, .takes = takes_all, .guarantee = at_least_once};
const wr_connector wr_connector_blackhole = {.name = "blackhole", .doc = "takes everything, keeps nothing: for measuring", .specs = no_specs, .sink_new = blackhole_new, .takes = takes_all, .guarantee = idempotent, .parallel_sink = true};
