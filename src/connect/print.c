/* connect/print.c: the sinks that show rows to people and programs (print, result) and the one that shows nothing (blackhole).
 *
 * Idea       print writes Flink's form, +I[a, 1]. result is where a bare SELECT goes: an aligned table for people, JSON lines for programs;
 *            with final_rows it keeps the rows (type/row_set.h) and prints what is left at the end, in order of arrival.
 * Thread     one worker an instance; blackhole any.                                                                     */
#include "connect/parts.h"
#include "type/decimal.h"
#include "type/row_set.h"
#include "type/width.h"
#include <errno.h>
#include <stdio.h>

enum { OUT_BYTES = 64 * 1024, CELL_MAX = 60, WIDTH_MAX_COLS = 256 };

/* ---- writing out ---- */

static wr_status write_stream(FILE *to, wr_sbuf *text, wr_err *err) {
    if (!text->len) return WR_OK;
    size_t n = fwrite(text->at, 1, text->len, to);
    bool   ok = n == text->len && fflush(to) == 0;
    wr_sbuf_clear(text);
    if (ok) return WR_OK;
    return wr_fail(err, WR_IO, errno == EPIPE ? "08006" : "58030", "cannot write to %s: %s", to == stderr ? "standard error" : "standard output", strerror(errno));
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
    FILE   *to;
    wr_sbuf out;
} print_sink;

static wr_status print_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    print_sink *s = (print_sink *)base;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (s->identifier.len) wr_sbuf_printf(&s->out, "%.*s> ", WR_FMT(s->identifier));
        wr_sbuf_printf(&s->out, "%s[", wr_kind_text(wr_batch_kind(batch, row)));
        for (uint32_t c = 0; c < batch->n_cols; c++) {
            if (c) wr_sbuf_addz(&s->out, ", ");
            print_value(&batch->cols[c], row, &s->out);
        }
        wr_sbuf_addz(&s->out, "]\n");
        if (s->out.len > OUT_BYTES) WR_TRY(write_stream(s->to, &s->out, err));
    }
    return write_stream(s->to, &s->out, err);
}

static wr_status print_close(wr_sink *base, bool ok, wr_err *err) {
    print_sink *s = (print_sink *)base;
    wr_status   status = ok ? write_stream(s->to, &s->out, err) : WR_OK;
    wr_sbuf_free(&s->out);
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
    static const wr_sink_vt vt = {"print", print_write, no_flush, no_prepare, no_commit, no_commit, print_close};
    (void)err;
    bool to_stderr;
    *out = NULL;
    if (!wr_option_bool(&t->options, print_specs, "standard-error", &to_stderr, ctx->diags)) return WR_USER;
    print_sink *s = wr_calloc(1, sizeof *s);
    *s = (print_sink){.base = {&vt}, .identifier = wr_option_string(&t->options, print_specs, "print-identifier"), .to = to_stderr ? stderr : stdout};
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
    wr_sbuf          out;
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
    if (right) wr_sbuf_printf(&s->out, "%*s", (int)pad, "");
    wr_sbuf_add_str(&s->out, text);
    if (!right && !last) wr_sbuf_printf(&s->out, "%*s", (int)pad, "");
    wr_sbuf_addz(&s->out, last ? "\n" : "  ");
}

static void put_header(result_sink *s) {
    uint32_t n = s->schema->n;
    if (s->header) wr_sbuf_addc(&s->out, '\n');
    if (s->ops) wr_sbuf_addz(&s->out, "op  ");
    for (uint32_t c = 0; c < n; c++) put_cell(s, s->schema->fields[c].name, s->widths[c], is_right(s->schema->fields[c].type), c + 1 == n);
    if (s->ops) wr_sbuf_addz(&s->out, "--  ");
    for (uint32_t c = 0; c < n; c++) {
        for (uint32_t i = 0; i < s->widths[c]; i++) wr_sbuf_addc(&s->out, '-');
        wr_sbuf_addz(&s->out, c + 1 == n ? "\n" : "  ");
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
        if (s->ops) wr_sbuf_printf(&s->out, "%s  ", wr_kind_text(wr_batch_kind(batch, row)));
        for (uint32_t c = 0; c < s->schema->n; c++) {
            cell_text(s, &batch->cols[c], row, &cell);
            put_cell(s, wr_sbuf_str(&cell), s->widths[c], is_right(s->schema->fields[c].type), c + 1 == s->schema->n);
        }
    }
    wr_sbuf_free(&cell);
}

static void put_csv(result_sink *s, const wr_batch *batch) {
    if (!s->header) wr_csv_header(s->schema, true, &s->out);
    s->header = true;
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        wr_csv_row(batch, row, wr_kind_text(wr_batch_kind(batch, row)), s->tz, &s->out);
    }
}

static wr_status put_batch(result_sink *s, const wr_batch *batch, wr_err *err) {
    static const wr_json_style style = {.sep = ' ', .exact = true};
    uint32_t live = wr_batch_live(batch);
    if (!live) return WR_OK;
    if (s->style == STYLE_CSV_CHANGELOG) put_csv(s, batch);
    else if (s->style == STYLE_TABLE) put_table(s, batch);
    else for (uint32_t i = 0; i < live; i++) {
        uint32_t row = wr_batch_row(batch, i);
        uint8_t  kind = wr_batch_kind(batch, row);
        bool     op = s->style == STYLE_CHANGELOG || kind != WR_KIND_INSERT;
        wr_json_row(s->schema, batch, row, op ? wr_kind_text(kind) : NULL, &style, &s->out);
        wr_sbuf_addc(&s->out, '\n');
    }
    return write_stream(stdout, &s->out, err);
}

static wr_status result_write(wr_sink *base, const wr_batch *batch, wr_err *err) {
    result_sink *s = (result_sink *)base;
    if (!s->final) return put_batch(s, batch, err);
    wr_row_set_change(s->final, batch);
    return WR_OK;
}

static wr_status put_final(result_sink *s, wr_err *err) {
    wr_row_at at = {0};
    for (wr_batch *batch; (batch = wr_row_set_next(s->final, &at, WR_BATCH_MAX));) {
        wr_status status = put_batch(s, batch, err);
        wr_batch_unref(batch);
        WR_TRY(status);
    }
    return WR_OK;
}

static wr_status result_close(wr_sink *base, bool ok, wr_err *err) {
    result_sink *s = (result_sink *)base;
    wr_status    status = WR_OK;
    if (ok && s->final) status = put_final(s, err);
    if (ok && status == WR_OK && s->style == STYLE_TABLE && !s->header) { /* no rows: say what there would have been */
        put_header(s);
        wr_sbuf_addz(&s->out, "(no rows)\n");
        status = write_stream(stdout, &s->out, err);
    }
    wr_sbuf_free(&s->out);
    wr_row_set_free(s->final);
    wr_free(s->widths);
    wr_free(s);
    return status;
}

static wr_status result_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_sink **out, wr_err *err) {
    static const wr_sink_vt vt = {"result", result_write, no_flush, no_prepare, no_commit, no_commit, result_close};
    (void)err;
    result_sink *s = wr_calloc(1, sizeof *s);
    const char  *style = ctx->print_style ? ctx->print_style : "table";
    *s = (result_sink){.base = {&vt}, .schema = t->schema, .tz = ctx->tz};
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
    static const wr_sink_vt vt = {"blackhole", blackhole_write, no_flush, no_prepare, no_commit, no_commit, blackhole_close};
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
