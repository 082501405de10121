/* expr/registry.c: the catalogue of functions as C data, made from functions.def; look-up and description.
 *
 * Idea       the table is the .def file included twice (prototypes in fn.h, rows here); nothing about a function stands elsewhere.
 * Invariant  names are unique and upper case; kernels and resolvers are never both NULL.
 * Thread     read-only.                                                                                            */
#include "fn.h"

const wr_fn wr_fn_table[] = {
#define F(name, id, kind, sig, flags, summary) {name, kind, sig, summary, flags, NULL, fn_##id},
#define R(name, id, kind, text, flags, summary) {name, kind, text, summary, flags, res_##id, NULL},
#include "functions.def"
#undef F
#undef R
};

size_t wr_fn_count(void) { return WR_COUNT_OF(wr_fn_table); }

const wr_fn *wr_fn_find(wr_str name) {
    for (size_t i = 0; i < WR_COUNT_OF(wr_fn_table); i++)
        if (wr_str_ieq(wr_str_of(wr_fn_table[i].name), name)) return &wr_fn_table[i];
    return NULL;
}

const wr_fn *wr_fn_get(const char *name) {
    const wr_fn *fn = wr_fn_find(wr_str_of(name));
    wr_assert(fn != NULL);
    return fn;
}

bool wr_fn_exists(wr_str name) {
    const wr_fn *fn = wr_fn_find(name);
    return fn && !(fn->flags & FN_OPERATOR);
}

static const char *letter_name(char c) {
    switch (c) {
    case 's': return "STRING";
    case 'i': return "INT";
    case 'n': return "numeric";
    case 'b': return "BOOLEAN";
    case 'y': return "BYTES";
    case 'e': return "STRING | BYTES";
    case 'm': return "BITMAP";
    case 'v': return "VARIANT";
    default: return "ANY";
    }
}

static const char *result_name(const char *sig, char buf[32]) {
    switch (*sig) {
    case 's':
        if (!sig[1] || sig[1] == '|') return "STRING";
        snprintf(buf, 32, "VARCHAR(%d)", (int)strtol(sig + 1, NULL, 10));
        return buf;
    case 'i': return "INT";
    case 'l': return "BIGINT";
    case 'd': return "DOUBLE";
    case 'b': return "BOOLEAN";
    case 'y': return "BYTES";
    case 'm': return "BITMAP";
    case 'v': return "VARIANT";
    case 'D': return "DATE";
    case 'T': return "TIMESTAMP(3)";
    case 'L': return "TIMESTAMP_LTZ(3)";
    default: return "same";
    }
}

/* "s,i,i?>s" -> "SUBSTRING(STRING, INT[, INT]) -> STRING" for each alternative. */
static void signature_text(const wr_fn *fn, wr_sbuf *out) {
    if (fn->resolve) {
        wr_sbuf_addz(out, fn->sig);
        return;
    }
    const char *p = fn->sig;
    while (*p) {
        int n = 0, open = 0;
        char buf[32];
        wr_sbuf_printf(out, "%s(", fn->name);
        for (; *p != '>'; p++) {
            if (*p == ',') continue;
            bool optional = p[1] == '?', many = p[1] == '*';
            if (optional) wr_sbuf_addz(out, n ? "[, " : "["), open++;
            else if (n) wr_sbuf_addz(out, ", ");
            wr_sbuf_addz(out, letter_name(*p));
            if (many) wr_sbuf_addz(out, ", ...");
            if (optional || many) p++;
            n++;
        }
        while (open--) wr_sbuf_addc(out, ']');
        wr_sbuf_printf(out, ") -> %s", result_name(++p, buf));
        while (*p && *p != '|') p++;
        if (*p == '|') wr_sbuf_addc(out, '\n'), p++;
    }
}

void wr_fn_signatures(const wr_fn *fn, wr_sbuf *out) { signature_text(fn, out); }

/* The texts live in static storage, made at the first call: a documentation tool's path, not a thread's. */
void wr_fn_describe(size_t i, wr_str *name, wr_str *kind, wr_str *signatures, wr_str *summary) {
    static char texts[WR_COUNT_OF(wr_fn_table)][320];
    wr_assert(i < WR_COUNT_OF(wr_fn_table));
    const wr_fn *fn = &wr_fn_table[i];
    wr_sbuf      buf = {0};
    signature_text(fn, &buf);
    wr_assert(buf.len < sizeof texts[0]);
    if (!texts[i][0]) memcpy(texts[i], buf.at, buf.len + 1);
    wr_sbuf_free(&buf);
    *name = wr_str_of(fn->name);
    *kind = wr_str_of(fn->kind);
    *signatures = wr_str_of(texts[i]);
    *summary = wr_str_of(fn->summary);
}
