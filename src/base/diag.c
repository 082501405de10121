/* base/diag.c: see diag.h. */
#include "base/diag.h"
#include <stdarg.h>
#include <stdio.h>

void wr_diags_init(wr_diags *diags) {
    memset(diags, 0, sizeof *diags);
    diags->arena = wr_arena_new(NULL);
}

void wr_diags_free(wr_diags *diags) {
    wr_arena_free(diags->arena);
    wr_arr_free(&diags->list);
    wr_arr_free(&diags->sources);
    diags->arena = NULL;
}

uint32_t wr_diags_add_source(wr_diags *diags, wr_str name, wr_str text) {
    wr_arr_push(&diags->sources, (wr_diag_source){name, text, 0});
    return diags->sources.n;
}

uint32_t wr_diags_line(const wr_diags *diags, wr_span at) {
    return at.line + (at.line && at.file && at.file <= diags->sources.n ? diags->sources.at[at.file - 1].lines_before : 0);
}

static char *format(wr_arena *arena, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    wr_assert(len >= 0);
    char *text = wr_arena_alloc(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, ap);
    return text;
}

void wr_diags_add(wr_diags *diags, wr_severity severity, const char *code, wr_span at, const char *fmt, ...) {
    if (severity == WR_SEV_ERROR) diags->n_errors++;
    if (severity == WR_SEV_WARNING) diags->n_warnings++;
    if (diags->list.n >= WR_DIAG_MAX) {
        diags->n_dropped++;
        return;
    }
    wr_diag d = {.severity = severity, .at = at};
    snprintf(d.code, sizeof d.code, "%s", code);
    va_list ap;
    va_start(ap, fmt);
    d.message = format(diags->arena, fmt, ap);
    va_end(ap);
    wr_arr_push(&diags->list, d);
}

#define COMPLETE(field)                                                                  \
    do {                                                                                 \
        if (!diags->list.n || diags->n_dropped) return;                                  \
        va_list ap;                                                                      \
        va_start(ap, fmt);                                                               \
        diags->list.at[diags->list.n - 1].field = format(diags->arena, fmt, ap);         \
        va_end(ap);                                                                      \
    } while (0)
void wr_diags_detail(wr_diags *diags, const char *fmt, ...) { COMPLETE(detail); }
void wr_diags_hint(wr_diags *diags, const char *fmt, ...) { COMPLETE(hint); }

static wr_str line_of(wr_str text, uint32_t line) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    for (uint32_t i = 1; i < line && at < end; i++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        at = nl ? nl + 1 : end;
    }
    const char *nl = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    wr_str      s = {at, (size_t)((nl ? nl : end) - at)};
    while (s.len && (s.ptr[s.len - 1] == '\r')) s.len--;
    return s;
}

enum { LINE_SHOWN = 160 };

static void print_line(const wr_diags *diags, wr_span at, wr_sbuf *out) {
    if (!at.file || at.file > diags->sources.n || !at.line) return;
    wr_str line = line_of(diags->sources.at[at.file - 1].text, at.line);
    size_t col = wr_utf8_offset(line, at.col ? at.col - 1 : 0); /* columns count characters */
    size_t from = 0; /* a very long line is shown around the caret only */
    if (line.len > LINE_SHOWN && col > LINE_SHOWN / 2) from = wr_utf8_offset(line, wr_utf8_chars((wr_str){line.ptr, col}) - wr_utf8_chars((wr_str){line.ptr + col - LINE_SHOWN / 2, LINE_SHOWN / 2}));
    wr_str shown = {line.ptr + from, WR_MIN(line.len - from, (size_t)LINE_SHOWN)};
    while (shown.len < line.len - from && shown.len && ((unsigned char)shown.ptr[shown.len] & 0xC0) == 0x80) shown.len--; /* no half characters */
    wr_sbuf_printf(out, "%5u | %.*s\n      | ", wr_diags_line(diags, at), WR_FMT(shown));
    for (size_t i = 0; i < col - from; i++) {
        unsigned char c = (unsigned char)shown.ptr[i];
        if (c == '\t') wr_sbuf_addc(out, '\t');
        else if ((c & 0xC0) != 0x80) wr_sbuf_addc(out, ' ');
    }
    wr_str behind = {shown.ptr + (col - from), shown.len - (col - from)};
    size_t carets = at.len ? at.len : 1, room = behind.len ? wr_utf8_chars(behind) : 1;
    for (size_t i = 0; i < WR_MIN(carets, room); i++) wr_sbuf_addc(out, '^');
    wr_sbuf_addc(out, '\n');
}

static const char *severity_name(wr_severity s) { return s == WR_SEV_ERROR ? "error" : s == WR_SEV_WARNING ? "warning" : "note"; }

static void print_place(const wr_diags *diags, wr_span at, wr_sbuf *out) {
    if (!diags || !at.file || at.file > diags->sources.n) return;
    wr_str name = diags->sources.at[at.file - 1].name;
    wr_sbuf_printf(out, "%.*s:%u:%u: ", WR_FMT(name), wr_diags_line(diags, at), at.col);
}

void wr_diags_print(const wr_diags *diags, wr_sbuf *out) {
    for (uint32_t i = 0; i < diags->list.n; i++) {
        const wr_diag *d = &diags->list.at[i];
        print_place(diags, d->at, out);
        wr_sbuf_printf(out, "%s [%s] %s\n", severity_name(d->severity), d->code, d->message);
        print_line(diags, d->at, out);
        if (d->detail) wr_sbuf_printf(out, "detail: %s\n", d->detail);
        if (d->hint) wr_sbuf_printf(out, "hint:   %s\n", d->hint);
    }
    if (diags->n_dropped) wr_sbuf_printf(out, "... and %u more\n", diags->n_dropped);
}

void wr_diags_json(const wr_diags *diags, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < diags->list.n; i++) {
        const wr_diag *d = &diags->list.at[i];
        wr_str         file = d->at.file && d->at.file <= diags->sources.n ? diags->sources.at[d->at.file - 1].name : WR_STR("");
        wr_sbuf_printf(out, "%s{\"severity\":\"%s\",\"code\":\"%s\",\"file\":", i ? "," : "", severity_name(d->severity), d->code);
        wr_sbuf_add_json(out, file);
        wr_sbuf_printf(out, ",\"line\":%u,\"column\":%u,\"message\":", wr_diags_line(diags, d->at), d->at.col);
        wr_sbuf_add_json(out, wr_str_of(d->message));
        if (d->detail) wr_sbuf_addz(out, ",\"detail\":"), wr_sbuf_add_json(out, wr_str_of(d->detail));
        if (d->hint) wr_sbuf_addz(out, ",\"hint\":"), wr_sbuf_add_json(out, wr_str_of(d->hint));
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addc(out, ']');
}

wr_span wr_span_join(wr_span from, wr_span to) {
    if (!from.line) return to;
    if (from.file == to.file && from.line == to.line && to.col >= from.col) from.len = to.col + to.len - from.col;
    return from;
}

void wr_err_print(const wr_err *err, const wr_diags *diags, wr_sbuf *out) {
    print_place(diags, err->at, out);
    if (err->place[0]) wr_sbuf_printf(out, "%s: ", err->place);
    wr_sbuf_printf(out, "error [%s] %s\n", err->code, err->message);
    if (diags) print_line(diags, err->at, out);
    if (err->detail[0]) wr_sbuf_printf(out, "detail: %s\n", err->detail);
    if (err->hint[0]) wr_sbuf_printf(out, "hint:   %s\n", err->hint);
}
