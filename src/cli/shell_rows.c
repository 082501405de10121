/* cli/shell_rows.c: the rows of a SELECT in `weir sql`.
 *
 * Idea       a query that ends is shown at its end, as the table that its changes add up to (type/row_set.h), sorted as ORDER BY says. Where rows are
 *            only added and nobody needs their widths (CSV, JSON), they go out as they come. A query that does not end and corrects its rows is a
 *            table that is drawn over, a few times a second, as much of it as the screen takes.
 * Thread     rows_take comes from the worker that owns the sink; while a table is drawn the set is under the lock, else the run is over before it is read.
 * Memory     the set is the process's (memory_of_process), freed at the end of the statement.                                          */
#include "shell.h"
#include "type/width.h"
#include <errno.h>
#include <inttypes.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { CELL_MAX = 60, OUT_BYTES = 64 * 1024, DRAW_EVERY_US = 250000 };

void shell_size(uint32_t *columns, uint32_t *lines) {
    struct winsize size = {0};
    bool           known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *columns = known && size.ws_col ? size.ws_col : 80;
    *lines = known && size.ws_row ? size.ws_row : 24;
}

static void put(wr_sbuf *out) {
    if (out->len) fwrite(out->at, 1, out->len, stdout);
    wr_sbuf_clear(out);
}

/* ---- one value ---- */
static void cell_text(const shell_rows *r, const wr_vec *vec, uint32_t row, bool cut, wr_sbuf *out) {
    wr_sbuf_clear(out);
    wr_vec_text(vec, row, r->tz, out);
    for (size_t i = 0; i < out->len; i++)
        if ((uint8_t)out->at[i] < 0x20 || out->at[i] == 0x7F) out->at[i] = ' ';
    wr_str text = wr_sbuf_str(out);
    if (!cut || !r->terminal || wr_text_width(text) <= CELL_MAX) return;
    out->len = wr_text_fit(text, CELL_MAX - 1);
    wr_sbuf_addz(out, "\xE2\x80\xA6");
}

static void spaces(wr_sbuf *out, size_t n) { wr_sbuf_printf(out, "%*s", (int)n, ""); }

/* ---- a table ---- */
static void put_cell(wr_sbuf *out, wr_str text, uint32_t width, bool right, bool last) {
    size_t n = wr_text_width(text), pad = n < width ? width - n : 0;
    if (right) spaces(out, pad);
    wr_sbuf_add_str(out, text);
    if (!right && !last) spaces(out, pad);
    wr_sbuf_addz(out, last ? "\n" : "  ");
}

static uint32_t *widths_of(const shell_rows *r, wr_row_at from, uint64_t n_rows) {
    uint32_t *w = wr_calloc(r->shown.n + 1, sizeof *w);
    wr_sbuf   cell = {0};
    for (uint32_t c = 0; c < r->shown.n; c++) w[c] = (uint32_t)wr_text_width(r->shown.fields[c].name);
    for (wr_batch *b; (b = wr_row_set_next(r->set, &from, n_rows));) {
        for (uint32_t i = 0; i < b->n_rows; i++)
            for (uint32_t c = 0; c < r->shown.n; c++) {
                cell_text(r, &b->cols[c], i, true, &cell);
                w[c] = WR_MAX(w[c], (uint32_t)wr_text_width(wr_sbuf_str(&cell)));
            }
        n_rows -= b->n_rows;
        wr_batch_unref(b);
    }
    wr_sbuf_free(&cell);
    return w;
}

static void table_head(const shell_rows *r, const uint32_t *w, wr_sbuf *out) {
    uint32_t n = r->shown.n;
    for (uint32_t c = 0; c < n; c++) put_cell(out, r->shown.fields[c].name, w[c], wr_type_is_numeric(r->shown.fields[c].type), c + 1 == n);
    for (uint32_t c = 0; c < n; c++) {
        for (uint32_t i = 0; i < w[c]; i++) wr_sbuf_addc(out, '-');
        wr_sbuf_addz(out, c + 1 == n ? "\n" : "  ");
    }
}

static void table_rows(const shell_rows *r, const uint32_t *w, wr_row_at from, uint64_t n_rows, bool flush, wr_sbuf *out) {
    wr_sbuf cell = {0};
    for (wr_batch *b; (b = wr_row_set_next(r->set, &from, n_rows));) {
        for (uint32_t i = 0; i < b->n_rows; i++)
            for (uint32_t c = 0; c < r->shown.n; c++) {
                cell_text(r, &b->cols[c], i, true, &cell);
                put_cell(out, wr_sbuf_str(&cell), w[c], wr_type_is_numeric(r->shown.fields[c].type), c + 1 == r->shown.n);
            }
        n_rows -= b->n_rows;
        wr_batch_unref(b);
        if (flush && out->len > OUT_BYTES) put(out);
    }
    wr_sbuf_free(&cell);
}

static uint32_t table_width(const shell_rows *r, const uint32_t *w) {
    uint32_t sum = 0;
    for (uint32_t c = 0; c < r->shown.n; c++) sum += w[c] + (c ? 2 : 0);
    return sum;
}

/* One column a line. */
static void expanded_rows(const shell_rows *r, wr_sbuf *out) {
    uint32_t  width = 0;
    uint64_t  number = 0;
    wr_sbuf   cell = {0};
    wr_row_at at = {0};
    for (uint32_t c = 0; c < r->shown.n; c++) width = WR_MAX(width, (uint32_t)wr_text_width(r->shown.fields[c].name));
    for (wr_batch *b; (b = wr_row_set_next(r->set, &at, WR_BATCH_MAX));) {
        for (uint32_t i = 0; i < b->n_rows; i++) {
            wr_sbuf_printf(out, "-- row %" PRIu64 " --\n", ++number);
            for (uint32_t c = 0; c < r->shown.n; c++) {
                cell_text(r, &b->cols[c], i, false, &cell);
                put_cell(out, r->shown.fields[c].name, width, false, false);
                wr_sbuf_printf(out, "%.*s\n", WR_FMT(wr_sbuf_str(&cell)));
            }
        }
        wr_batch_unref(b);
        put(out);
    }
    wr_sbuf_free(&cell);
}

static void print_table(shell_rows *r) {
    wr_sbuf   out = {0};
    uint32_t *w = widths_of(r, (wr_row_at){0}, UINT64_MAX), columns, lines;
    uint64_t  n = wr_row_set_rows(r->set);
    shell_size(&columns, &lines);
    if (r->expanded == EXPANDED_ON || (r->expanded == EXPANDED_AUTO && r->terminal && table_width(r, w) > columns)) {
        expanded_rows(r, &out);
    } else {
        table_head(r, w, &out);
        table_rows(r, w, (wr_row_at){0}, UINT64_MAX, true, &out);
    }
    wr_sbuf_printf(&out, "(%" PRIu64 " row%s)\n", n, n == 1 ? "" : "s");
    put(&out);
    wr_sbuf_free(&out);
    wr_free(w);
}

/* ---- CSV and JSON lines ---- */
static void line_rows(const shell_rows *r, wr_batch *batch, wr_sbuf *out) {
    static const wr_json_style style = {.sep = ' ', .exact = true};
    for (uint32_t i = 0; i < wr_batch_live(batch); i++) {
        uint32_t row = wr_batch_row(batch, i);
        if (r->format == SHELL_CSV) {
            wr_csv_row(batch, row, NULL, r->tz, out);
        } else {
            wr_json_row(&r->shown, batch, row, NULL, &style, out);
            wr_sbuf_addc(out, '\n');
        }
    }
}

static void print_lines(shell_rows *r) {
    wr_sbuf   out = {0};
    wr_row_at at = {0};
    for (wr_batch *b; (b = wr_row_set_next(r->set, &at, WR_BATCH_MAX));) {
        b->n_cols = r->shown.n;
        line_rows(r, b, &out);
        wr_batch_unref(b);
        put(&out);
    }
    wr_sbuf_free(&out);
}

/* ---- a statement ---- */
void rows_begin(shell_rows *r, const wr_job_plan *plan, bool live) {
    r->sink = NULL;
    for (uint32_t i = 0; i < plan->nodes.n; i++)
        if (plan->nodes.at[i]->kind == WR_P_SINK && plan->nodes.at[i]->sink.is_result) r->sink = plan->nodes.at[i];
    if (!r->sink) return;
    r->schema = &r->sink->sink.write_schema;
    r->shown = (wr_schema){r->schema->n - r->sink->sink.n_hidden, r->schema->fields};
    r->tz = plan->tz;
    r->append = r->sink->inputs[0].node->changes == WR_CHANGES_APPEND;
    r->live = live;
    r->n_drawn = 0, r->n_changes = 0, r->n_changes_drawn = UINT64_MAX, r->next_draw_us = 0;
    bool kept = r->format == SHELL_TABLE || !r->append || r->sink->sink.n_order;
    if (kept) r->set = wr_row_set_new(r->schema, NULL);
    if (live) r->lock = wr_mutex_new();
    wr_sbuf head = {0};
    if (r->format == SHELL_CSV) wr_csv_header(&r->shown, false, &head);
    put(&head);
    wr_sbuf_free(&head);
}

wr_status rows_take(void *rows, wr_str table, const wr_schema *schema, const wr_tz *tz, wr_batch *batch, wr_err *err) {
    shell_rows *r = rows;
    (void)table, (void)schema, (void)tz;
    if (!r->set) {
        wr_sbuf out = {0};
        line_rows(r, batch, &out);
        bool ok = fwrite(out.at ? out.at : "", 1, out.len, stdout) == out.len && fflush(stdout) == 0;
        wr_sbuf_free(&out);
        return ok ? WR_OK : wr_fail(err, WR_IO, errno == EPIPE ? "08006" : "58030", "cannot write to standard output: %s", strerror(errno));
    }
    if (r->lock) wr_mutex_lock(r->lock);
    if (r->append) wr_row_set_append(r->set, batch);
    else wr_row_set_change(r->set, batch);
    r->n_changes += wr_batch_live(batch);
    if (r->lock) wr_mutex_unlock(r->lock);
    return WR_OK;
}

/* As ORDER BY says; a table that is drawn over, by its key, so that its rows stay where they are. */
static void sort(shell_rows *r) {
    uint32_t n = r->sink->sink.n_order, by_key = !n && r->live ? r->sink->n_upsert_key : 0;
    if (by_key) {
        wr_row_key *keys = wr_calloc(by_key, sizeof *keys);
        for (uint32_t i = 0; i < by_key; i++) keys[i].col = r->sink->upsert_key[i];
        wr_row_set_sort(r->set, keys, by_key);
        wr_free(keys);
    }
    if (!n) return;
    wr_row_key *keys = wr_calloc(n, sizeof *keys);
    for (uint32_t i = 0; i < n; i++) {
        const wr_sort_key *k = &r->sink->sink.order[i];
        keys[i] = (wr_row_key){k->col, k->desc, k->nulls_last};
    }
    wr_row_set_sort(r->set, keys, n);
    wr_free(keys);
}

static void take_back(shell_rows *r, wr_sbuf *out) {
    if (r->n_drawn) wr_sbuf_printf(out, "\033[%uA\r\033[J", r->n_drawn);
    r->n_drawn = 0;
}

/* A line that is longer than the screen is wide would break the counting: cut. */
static void cut_lines(wr_sbuf *text, uint32_t columns, wr_sbuf *out) {
    for (const char *at = text->at, *end = text->at + text->len; at < end;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        wr_str      line = {at, (size_t)((nl ? nl : end) - at)};
        wr_sbuf_add(out, line.ptr, wr_text_fit(line, columns));
        wr_sbuf_addc(out, '\n');
        at = nl ? nl + 1 : end;
    }
}

void rows_draw(shell_rows *r) {
    int64_t now = wr_mono_us(wr_world_posix());
    if (!r->live || !r->set || now < r->next_draw_us) return;
    r->next_draw_us = now + DRAW_EVERY_US;
    wr_sbuf  table = {0}, out = {0};
    uint32_t columns, lines;
    shell_size(&columns, &lines);
    wr_mutex_lock(r->lock);
    uint64_t n = wr_row_set_rows(r->set), room = lines > 6 ? lines - 5 : 1, n_shown = WR_MIN(n, room), changes = r->n_changes;
    if (changes == r->n_changes_drawn) n_shown = UINT64_MAX;
    else {
        sort(r);
        uint32_t *w = widths_of(r, (wr_row_at){0}, n_shown);
        table_head(r, w, &table);
        table_rows(r, w, (wr_row_at){0}, n_shown, false, &table);
        wr_free(w);
    }
    wr_mutex_unlock(r->lock);
    if (n_shown != UINT64_MAX) {
        take_back(r, &out);
        wr_sbuf_printf(&table, "(%" PRIu64 " row%s", n, n == 1 ? "" : "s");
        if (n_shown < n) wr_sbuf_printf(&table, ", %" PRIu64 " shown", n_shown);
        wr_sbuf_printf(&table, ", %" PRIu64 " changes; Ctrl-C stops)\n", changes);
        cut_lines(&table, columns, &out);
        r->n_drawn = (uint32_t)n_shown + 3;
        r->n_changes_drawn = changes;
        put(&out);
        fflush(stdout);
    }
    wr_sbuf_free(&table), wr_sbuf_free(&out);
}

void rows_end(shell_rows *r, bool complete) {
    if (!r->sink) return;
    if (r->live) {
        wr_sbuf out = {0};
        take_back(r, &out);
        put(&out);
        wr_sbuf_free(&out);
    }
    if (r->set && (complete || r->live)) {
        sort(r);
        if (r->format == SHELL_TABLE) print_table(r);
        else print_lines(r);
    }
    fflush(stdout);
    rows_free(r);
}

void rows_free(shell_rows *r) {
    wr_row_set_free(r->set);
    wr_mutex_free(r->lock);
    r->set = NULL, r->lock = NULL, r->sink = NULL, r->live = false;
}
