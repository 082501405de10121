/* connect/postgres/pgoutput.c: see pgoutput.h. Big-endian integers, strings that end with a NUL.
 *
 * Thread     any.                                                                                                                        */
#include "connect/postgres/pgoutput.h"
#include <string.h>

typedef struct bytes { const uint8_t *at, *end; bool bad; } bytes;

uint64_t pg_get_u64(const uint8_t *p) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v = v << 8 | p[i];
    return v;
}

void pg_put_u64(uint8_t *p, uint64_t v) {
    for (int i = 7; i >= 0; i--, v >>= 8) p[i] = (uint8_t)v;
}

static uint64_t number(bytes *b, unsigned width) {
    uint64_t v = 0;
    if ((size_t)(b->end - b->at) < width) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    for (unsigned i = 0; i < width; i++) v = v << 8 | *b->at++;
    return v;
}
static uint32_t u32(bytes *b) { return (uint32_t)number(b, 4); }
static char     letter(bytes *b) { return (char)number(b, 1); }
static int64_t  when(bytes *b) { return (int64_t)(number(b, 8) + (uint64_t)PG_EPOCH_S * 1000000); }

static wr_str text(bytes *b) {
    const uint8_t *from = b->at, *nul = b->at < b->end ? memchr(b->at, 0, (size_t)(b->end - b->at)) : NULL;
    if (!nul) {
        b->bad = true;
        b->at = b->end;
        return WR_STR("");
    }
    b->at = nul + 1;
    return (wr_str){(const char *)from, (size_t)(nul - from)};
}

static bool next_value(bytes *b, pgo_value *out) {
    *out = (pgo_value){.kind = letter(b)};
    if (b->bad) return false;
    if (out->kind == 'n' || out->kind == 'u') return true;
    uint32_t len = u32(b);
    if ((out->kind != 't' && out->kind != 'b') || b->bad || (size_t)(b->end - b->at) < len) return b->bad = true, false;
    out->text = (wr_str){(const char *)b->at, len};
    b->at += len;
    return true;
}

/* The tuple, and past it. */
static pgo_tuple tuple(bytes *b) {
    pgo_tuple t = {.n = (uint32_t)number(b, 2), .at = b->at};
    pgo_value v;
    for (uint32_t i = 0; i < t.n && !b->bad; i++) (void)next_value(b, &v);
    t.end = b->at;
    t.bad = b->bad;
    return t;
}

bool pgo_next_value(pgo_tuple *t, pgo_value *out) {
    if (!t->n || t->bad) return false;
    bytes b = {t->at, t->end, false};
    bool  fine = next_value(&b, out);
    t->n--, t->at = b.at, t->bad = b.bad;
    return fine;
}

static bool next_column(bytes *b, pgo_column *out) {
    out->key = number(b, 1) & 1;
    out->name = text(b);
    out->type = u32(b);
    out->typmod = (int32_t)u32(b);
    return !b->bad;
}

bool pgo_next_column(pgo_columns *c, pgo_column *out) {
    if (!c->n || c->bad) return false;
    bytes b = {c->at, c->end, false};
    bool  fine = next_column(&b, out);
    c->n--, c->at = b.at, c->bad = b.bad;
    return fine;
}

static pgo_columns columns(bytes *b) {
    pgo_columns c = {.n = (uint32_t)number(b, 2), .at = b->at};
    pgo_column  one;
    for (uint32_t i = 0; i < c.n && !b->bad; i++) (void)next_column(b, &one);
    c.end = b->at;
    c.bad = b->bad;
    return c;
}

bool pgo_next_relation(pgo_relids *list, uint32_t *out) {
    if (!list->n) return false;
    bytes b = {list->at, list->at + 4, false};
    *out = u32(&b);
    list->n--, list->at = b.at;
    return true;
}

static void change(bytes *b, pgo_message *m) {
    m->relation = u32(b);
    char what = letter(b);
    if (m->kind != PGO_INSERT && (what == 'K' || what == 'O')) {
        m->old = what;
        m->before = tuple(b);
        what = m->kind == PGO_DELETE ? 0 : letter(b);
    } else if (m->kind == PGO_DELETE) {
        b->bad = true;
    }
    if (m->kind == PGO_DELETE) return;
    if (what != 'N') b->bad = true;
    m->after = tuple(b);
}

bool pgo_read(wr_str from, pgo_message *m) {
    bytes b = {(const uint8_t *)from.ptr, (const uint8_t *)from.ptr + from.len, false};
    *m = (pgo_message){.kind = (pgo_kind)letter(&b)};
    switch (m->kind) {
    case PGO_BEGIN:
        m->lsn = number(&b, 8);
        m->time_us = when(&b);
        (void)u32(&b); /* the transaction's id */
        return !b.bad;
    case PGO_COMMIT:
        (void)letter(&b);
        m->lsn = number(&b, 8);
        m->end_lsn = number(&b, 8);
        m->time_us = when(&b);
        return !b.bad;
    case PGO_RELATION:
        m->relation = u32(&b);
        m->schema = text(&b);
        m->table = text(&b);
        m->identity = letter(&b);
        m->columns = columns(&b);
        return !b.bad;
    case PGO_INSERT:
    case PGO_UPDATE:
    case PGO_DELETE: change(&b, m); return !b.bad;
    case PGO_TRUNCATE:
        m->truncated.n = u32(&b);
        (void)letter(&b);
        m->truncated.at = b.at;
        return !b.bad && (size_t)(b.end - b.at) / 4 >= m->truncated.n;
    case PGO_ORIGIN:
    case PGO_TYPE:
    case PGO_MESSAGE: return true; /* nothing in them is needed */
    }
    return false;
}

static char escaped(char c) {
    switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return c;
    }
}

bool copy_next_field(wr_str *line, bool *first, char *to, wr_str *out, bool *is_null) {
    if (!*first) {
        if (!line->len) return false;
        line->ptr++, line->len--; /* the tab */
    }
    *first = false;
    *out = (wr_str){to, 0};
    *is_null = line->len >= 2 && line->ptr[0] == '\\' && line->ptr[1] == 'N';
    size_t i = 0;
    for (; i < line->len && line->ptr[i] != '\t'; i++) {
        char c = line->ptr[i];
        if (c == '\\' && i + 1 < line->len) c = escaped(line->ptr[++i]);
        to[out->len++] = c;
    }
    line->ptr += i, line->len -= i;
    return true;
}

bool pg_lsn_parse(const char *p, uint64_t *out) {
    uint64_t half[2] = {0, 0};
    int      n = 0, digits = 0;
    for (; *p; p++) {
        int d = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'A' && *p <= 'F' ? *p - 'A' + 10 : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
        if (d < 0 && (*p != '/' || n || !digits)) return false;
        if (d < 0) n = 1, digits = 0;
        else if (digits++ == 8) return false;
        else half[n] = half[n] << 4 | (uint64_t)d;
    }
    *out = half[0] << 32 | half[1];
    return n == 1 && digits > 0;
}
