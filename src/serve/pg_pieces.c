/* serve/pg_pieces.c: see pg_pieces.h.                                                                                              */
#include "serve/pg_pieces.h"

void pg_piece_put(pg_pieces *p, wr_str text, uint32_t at) { wr_arr_apush(p->arena, &p->list, (pg_piece){text, at}); }
bool pg_piece_is(const pg_pieces *p, uint32_t i, const char *text) { return wr_str_eq(p->list.at[i].text, wr_str_of(text)); }

static bool is_name(wr_str s) {
    static const char *const words[] = {"select", "where", "and", "or", "not", "on", "in", "then", "else", "when", "case", "by", "having", "from", "as", "like", "between", "limit", "union", "all", "distinct", "is", "regexp"};
    char c = s.len ? s.ptr[0] : 0;
    for (size_t i = 0; i < WR_COUNT_OF(words); i++)
        if (wr_str_ieq(s, wr_str_of(words[i]))) return false;
    return c == '`' || c == '"' || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

uint32_t pg_piece_primary(const pg_pieces *p) {
    uint32_t i = p->list.n;
    if (!i) return 0;
    i--;
    if (wr_str_ieq(p->list.at[i].text, WR_STR("END"))) {
        for (int depth = 0; i > 0; i--) {
            depth += wr_str_ieq(p->list.at[i].text, WR_STR("END")) ? 1 : wr_str_ieq(p->list.at[i].text, WR_STR("CASE")) ? -1 : 0;
            if (!depth) return i;
        }
        return i;
    }
    if (pg_piece_is(p, i, ")") || pg_piece_is(p, i, "]")) {
        for (int depth = 0;; i--) {
            depth += pg_piece_is(p, i, ")") || pg_piece_is(p, i, "]") ? 1 : pg_piece_is(p, i, "(") || pg_piece_is(p, i, "[") ? -1 : 0;
            if (!depth || !i) break;
        }
        if (!i || !is_name(p->list.at[i - 1].text)) return i;
        i--;
    }
    while (i > 1 && pg_piece_is(p, i - 1, ".")) i -= 2;
    return i;
}

void pg_piece_wrap(pg_pieces *p, const char *function) {
    uint32_t from = pg_piece_primary(p), at = p->list.n ? p->list.at[from].at : 0;
    pg_piece_put(p, WR_STR(""), at), pg_piece_put(p, WR_STR(""), at);
    memmove(p->list.at + from + 2, p->list.at + from, (p->list.n - from - 2) * sizeof(pg_piece));
    p->list.at[from] = (pg_piece){wr_str_of(function), at};
    p->list.at[from + 1] = (pg_piece){WR_STR("("), at};
}

bool pg_piece_tight(const pg_pieces *p, uint32_t i) { return pg_piece_is(p, i, ".") || (i + 1 < p->list.n && pg_piece_is(p, i + 1, ".")); }

wr_str pg_quoted(wr_arena *arena, wr_str s, char quote) {
    char  *out = wr_arena_alloc(arena, s.len * 2 + 3);
    size_t n = 0;
    out[n++] = quote;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == quote) out[n++] = quote;
        out[n++] = s.ptr[i];
    }
    out[n++] = quote, out[n] = 0;
    return (wr_str){out, n};
}
