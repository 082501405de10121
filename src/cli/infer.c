/* cli/infer.c: CREATE TABLE for a file of rows: JSON objects, one a line, or CSV.
 *
 * Idea       the first rows (SAMPLE_BYTES, SAMPLE_ROWS) are read; a column's type is the narrowest that holds all of its values: BOOLEAN, BIGINT,
 *            DOUBLE, DATE, TIMESTAMP, TIMESTAMP_LTZ, ROW, ARRAY, else STRING. A later value that does not fit stops the query with its place.
 * Bounds     objects inside objects: DEPTH_MAX, then STRING (the JSON text). COLUMNS_MAX names an object.
 * Memory     one arena for the types, freed at the end.                                                                         */
#include "shell.h"
#include "expr/jdoc.h"
#include <stdio.h>

enum { SAMPLE_BYTES = 4 << 20, SAMPLE_ROWS = 10000, DEPTH_MAX = 8, COLUMNS_MAX = 2000, DIGITS_MAX = 18 };

typedef enum guess_kind { G_NOTHING, G_BOOL, G_INT, G_DOUBLE, G_DATE, G_TIMESTAMP, G_LTZ, G_STRING, G_OBJECT, G_ARRAY } guess_kind;
typedef struct guess guess;
struct guess {
    wr_str     name;
    guess_kind kind;
    uint32_t   prec;          /* of a timestamp */
    bool       had_empty;     /* CSV: some field is empty */
    WR_ARR(guess *) members;  /* OBJECT; ARRAY: one */
};
typedef struct infer {
    wr_arena *arena;
    bool      iso, sql_time;  /* 2026-01-31T12:00:00 was seen; 2026-01-31 12:00:00 was */
    uint32_t  n_rows;
    char      delimiter;
    bool      header;
} infer;

static bool ends_with(wr_str s, const char *end) {
    size_t n = strlen(end);
    return s.len >= n && wr_str_ieq((wr_str){s.ptr + s.len - n, n}, wr_str_of(end));
}

static wr_str unpacked(const char *path) {
    wr_str s = wr_str_of(path);
    if (ends_with(s, ".gz")) s.len -= 3;
    else if (ends_with(s, ".zst")) s.len -= 4;
    return s;
}

static bool is_csv(wr_str s) { return ends_with(s, ".csv") || ends_with(s, ".tsv"); }
bool infer_is_data(const char *path) {
    wr_str s = unpacked(path);
    return is_csv(s) || ends_with(s, ".json") || ends_with(s, ".jsonl") || ends_with(s, ".ndjson");
}

/* ---- one text ---- */
static bool digits(const char **at, const char *end, int least, int most) {
    int n = 0;
    while (*at < end && **at >= '0' && **at <= '9' && n < most) ++*at, n++;
    return n >= least;
}
static bool take(const char **at, const char *end, char c) { return *at < end && **at == c && ++*at; }

/* What a text is beside a text. */
static guess_kind time_kind(infer *in, wr_str s, uint32_t *prec) {
    const char *at = s.ptr, *end = s.ptr + s.len;
    if (!digits(&at, end, 4, 4) || !take(&at, end, '-') || !digits(&at, end, 2, 2) || !take(&at, end, '-') || !digits(&at, end, 2, 2)) return G_STRING;
    if (at == end) return G_DATE;
    bool iso = *at == 'T';
    if ((!iso && *at != ' ') || !(at++, digits(&at, end, 2, 2)) || !take(&at, end, ':') || !digits(&at, end, 2, 2)) return G_STRING;
    if (take(&at, end, ':') && !digits(&at, end, 2, 2)) return G_STRING;
    const char *point = at;
    if (take(&at, end, '.') && !digits(&at, end, 1, 9)) return G_STRING;
    uint32_t fraction = at > point ? (uint32_t)(at - point - 1) : 0;
    bool     zone = take(&at, end, 'Z');
    if (at != end) return G_STRING;
    *prec = WR_MAX(*prec, fraction > 6 ? 9u : fraction > 3 ? 6u : 3u);
    in->iso |= iso, in->sql_time |= !iso;
    return zone ? G_LTZ : G_TIMESTAMP;
}

static guess_kind number_kind(wr_str s) {
    const char *at = s.ptr, *end = s.ptr + s.len, *from;
    if (at < end && (*at == '-' || *at == '+')) at++;
    from = at;
    if (!digits(&at, end, 1, 400)) return G_STRING;
    if (at == end) return at - from > DIGITS_MAX ? G_DOUBLE : at - from > 1 && *from == '0' ? G_STRING : G_INT; /* 007 is a name */
    if (take(&at, end, '.') && !digits(&at, end, 1, 400)) return G_STRING;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (!digits(&at, end, 1, 4)) return G_STRING;
    }
    return at == end ? G_DOUBLE : G_STRING;
}

/* The narrowest type for both. */
static guess_kind widen(guess_kind a, guess_kind b) {
    if (a == b || b == G_NOTHING) return a;
    if (a == G_NOTHING) return b;
    if ((a == G_INT && b == G_DOUBLE) || (a == G_DOUBLE && b == G_INT)) return G_DOUBLE;
    return G_STRING;
}

static guess *member(infer *in, guess *of, wr_str name) {
    for (uint32_t i = 0; i < of->members.n; i++)
        if (wr_str_eq(of->members.at[i]->name, name)) return of->members.at[i];
    if (of->members.n >= COLUMNS_MAX) return NULL;
    guess *g = wr_new(in->arena, guess);
    g->name = wr_str_dup(in->arena, name);
    wr_arr_apush(in->arena, &of->members, g);
    return g;
}

/* ---- JSON ---- */
static void add_json(infer *in, guess *g, const wr_jdoc *doc, uint32_t index, uint32_t depth) {
    const wr_jnode *node = &doc->nodes.at[index];
    guess_kind      kind = G_STRING;
    switch (node->kind) {
    case WR_J_NULL: return;
    case WR_J_BOOL: kind = G_BOOL; break;
    case WR_J_NUMBER: kind = number_kind(node->text); break;
    case WR_J_STRING: kind = time_kind(in, node->text, &g->prec); break;
    case WR_J_OBJECT: kind = depth < DEPTH_MAX ? G_OBJECT : G_STRING; break;
    case WR_J_ARRAY: kind = depth < DEPTH_MAX ? G_ARRAY : G_STRING; break;
    }
    g->kind = widen(g->kind, kind);
    if (g->kind != G_OBJECT && g->kind != G_ARRAY) return;
    uint32_t child = index + 1;
    for (uint32_t i = 0; i < node->n; i++, child = doc->nodes.at[child].next) {
        if (g->kind == G_OBJECT && !doc->nodes.at[child].key.len) continue; /* SQL has no name for it */
        guess *m = member(in, g, g->kind == G_OBJECT ? doc->nodes.at[child].key : WR_STR(""));
        if (m) add_json(in, m, doc, child, depth + 1);
    }
}

static wr_status infer_json(infer *in, const char *path, wr_str text, bool whole, guess *root, wr_err *err) {
    wr_jdoc   doc = {0};
    wr_status status = WR_OK;
    uint32_t  line = 0;
    for (const char *at = text.ptr, *end = text.ptr + text.len; at < end && in->n_rows < SAMPLE_ROWS && status == WR_OK;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        wr_str      record = wr_str_trim((wr_str){at, (size_t)((nl ? nl : end) - at)});
        at = nl ? nl + 1 : end;
        line++;
        if (!record.len || (!nl && !whole)) continue;
        bool ok = wr_jdoc_parse(&doc, record) && doc.nodes.at[0].kind == WR_J_OBJECT;
        if (!ok && !in->n_rows) {
            bool array = *record.ptr == '[';
            status = wr_fail(err, WR_USER, "WR141", array ? "%s:%u is an array; a table is one JSON object a line" : "%s:%u is not a JSON object on one line", path, line);
            if (array || *record.ptr == '{') wr_err_hint(err, "jq -c '%s' %s > rows.jsonl makes lines of it", array ? ".[]" : ".", path);
        }
        if (!ok) continue; /* the query will say so */
        in->n_rows++;
        add_json(in, root, &doc, 0, 0);
    }
    wr_jdoc_free(&doc);
    return status;
}

/* ---- CSV ---- */

/* The next field of a record; false: the record is over. Doubled quotes stay: only the kind of the text is asked for. */
static bool next_field(const infer *in, const char **at, const char *end, wr_str *out, bool *last, bool *quoted) {
    const char *from = *at;
    *quoted = from < end && *from == '"';
    if (*quoted) {
        const char *p = from + 1;
        while (p < end && (*p != '"' || (p + 1 < end && p[1] == '"'))) p += *p == '"' ? 2 : 1;
        *out = (wr_str){from + 1, (size_t)(p - from - 1)};
        *at = p < end ? p + 1 : end;
    } else {
        while (*at < end && **at != in->delimiter && **at != '\n') ++*at;
        *out = (wr_str){from, (size_t)(*at - from)};
        if (out->len && out->ptr[out->len - 1] == '\r') out->len--;
    }
    while (*at < end && **at != in->delimiter && **at != '\n') ++*at;
    *last = *at >= end || **at == '\n';
    if (*at < end) ++*at;
    return true;
}

static char best_delimiter(wr_str text) {
    static const char candidates[] = {',', ';', '\t', '|'};
    char              best = ',';
    size_t            most = 0;
    for (size_t c = 0; c < sizeof candidates; c++) {
        size_t n = 0;
        for (size_t i = 0; i < text.len && text.ptr[i] != '\n'; i++) n += text.ptr[i] == candidates[c];
        if (n > most) most = n, best = candidates[c];
    }
    return best;
}

static guess_kind csv_kind(infer *in, wr_str s, uint32_t *prec) {
    guess_kind k = number_kind(s);
    if (k != G_STRING) return k;
    if (wr_str_ieq(s, WR_STR("true")) || wr_str_ieq(s, WR_STR("false"))) return G_BOOL;
    k = time_kind(in, s, prec);
    bool iso = k >= G_TIMESTAMP && memchr(s.ptr, 'T', s.len);
    return iso ? G_STRING : k; /* the format reads 2026-01-31 12:00:00 only */
}

/* A name of the header: doubled quotes are one. */
static wr_str unquoted(infer *in, wr_str s) {
    char  *text = wr_arena_alloc(in->arena, s.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        text[n++] = s.ptr[i];
        if (s.ptr[i] == '"' && i + 1 < s.len && s.ptr[i + 1] == '"') i++;
    }
    return (wr_str){text, n};
}

/* The first record names the columns unless one of its fields is no name: a number, a time, nothing, or there twice. */
static wr_status csv_columns(infer *in, const char *path, const char *at, const char *end, guess *root, wr_err *err) {
    const char *again = at;
    wr_str      field;
    uint32_t    n = 0, prec = 0;
    bool        last = false, quoted;
    in->header = true;
    while (!last && next_field(in, &at, end, &field, &last, &quoted)) {
        in->header &= wr_str_trim(field).len > 0 && csv_kind(&(infer){0}, field, &prec) == G_STRING;
        n++;
    }
    last = false;
    for (uint32_t i = 0; i < n && i < COLUMNS_MAX; i++) {
        char made[16];
        next_field(in, &again, end, &field, &last, &quoted);
        if (in->header && quoted) field = unquoted(in, field);
        if (in->header) field = wr_str_trim(field);
        snprintf(made, sizeof made, "c%u", i + 1);
        if (!member(in, root, in->header ? field : wr_str_of(made)) || root->members.n != i + 1)
            return wr_fail(err, WR_USER, "WR141", "%s: the first line has the name '%.*s' twice", path, WR_FMT(field));
    }
    return n <= COLUMNS_MAX ? WR_OK : wr_fail(err, WR_USER, "WR141", "%s has more than %d columns", path, COLUMNS_MAX);
}

static wr_status infer_csv(infer *in, const char *path, wr_str text, bool whole, guess *root, wr_err *err) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    in->delimiter = ends_with(wr_str_of(path), ".tsv") ? '\t' : best_delimiter(text);
    WR_TRY(csv_columns(in, path, at, end, root, err));
    for (bool first = true; at < end && in->n_rows < SAMPLE_ROWS; first = false) {
        const char *start = at;
        wr_str      field;
        bool        last = false, quoted;
        const char *probe = at;
        while (!last) next_field(in, &probe, end, &field, &last, &quoted);
        if (probe >= end && !whole) break; /* may be half a record */
        last = false;
        for (uint32_t c = 0; !last; c++) {
            next_field(in, &at, end, &field, &last, &quoted);
            if ((first && in->header) || c >= root->members.n) continue;
            guess *g = root->members.at[c];
            if (!field.len) g->had_empty = true;
            else g->kind = widen(g->kind, quoted && number_kind(field) != G_STRING ? G_STRING : csv_kind(in, field, &g->prec));
        }
        if (!(first && in->header) && at - start > 1) in->n_rows++;
    }
    return WR_OK;
}

/* ---- the statement ---- */
static void put_name(wr_sbuf *out, wr_str name) { wr_sql_ident_text((wr_ast_ident){.text = name, .quoted = true}, out); }

static void put_type(const infer *in, const guess *g, wr_sbuf *out) {
    bool mixed = in->iso && in->sql_time; /* one format for the whole file: else they stay texts */
    switch (g->kind) {
    case G_NOTHING: case G_STRING: wr_sbuf_addz(out, "STRING"); break;
    case G_BOOL: wr_sbuf_addz(out, "BOOLEAN"); break;
    case G_INT: wr_sbuf_addz(out, "BIGINT"); break;
    case G_DOUBLE: wr_sbuf_addz(out, "DOUBLE"); break;
    case G_DATE: wr_sbuf_addz(out, "DATE"); break;
    case G_TIMESTAMP:
    case G_LTZ:
        if (mixed) wr_sbuf_addz(out, "STRING");
        else wr_sbuf_printf(out, "%s(%u)", g->kind == G_LTZ ? "TIMESTAMP_LTZ" : "TIMESTAMP", g->prec);
        break;
    case G_ARRAY:
        wr_sbuf_addz(out, "ARRAY<");
        if (g->members.n) put_type(in, g->members.at[0], out);
        else wr_sbuf_addz(out, "STRING");
        wr_sbuf_addc(out, '>');
        break;
    case G_OBJECT:
        if (!g->members.n) wr_sbuf_addz(out, "STRING");
        else wr_sbuf_addz(out, "ROW<");
        for (uint32_t i = 0; i < g->members.n; i++) {
            wr_sbuf_addz(out, i ? ", " : "");
            put_name(out, g->members.at[i]->name);
            wr_sbuf_addc(out, ' ');
            put_type(in, g->members.at[i], out);
        }
        if (g->members.n) wr_sbuf_addc(out, '>');
    }
}

/* orders-2026.jsonl -> orders_2026 */
static wr_str table_name(wr_arena *arena, const char *path) {
    wr_str      s = unpacked(path);
    const char *slash = memrchr(s.ptr, '/', s.len);
    if (slash) s.len -= (size_t)(slash + 1 - s.ptr), s.ptr = slash + 1;
    const char *dot = memrchr(s.ptr, '.', s.len);
    if (dot && dot > s.ptr) s.len = (size_t)(dot - s.ptr);
    char  *name = wr_arena_printf(arena, "%s%.*s", s.len && s.ptr[0] >= '0' && s.ptr[0] <= '9' ? "t_" : "", WR_FMT(s));
    for (char *c = name; *c; c++)
        if (!((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (unsigned char)*c >= 0x80)) *c = '_';
    return wr_str_of(name);
}

static void put_option(wr_sbuf *out, const char *key, wr_str value) {
    wr_sbuf_printf(out, ",\n  '%s' = '", key);
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '\'') wr_sbuf_addc(out, '\'');
        wr_sbuf_addc(out, value.ptr[i]);
    }
    wr_sbuf_addc(out, '\'');
}

static void put_statement(const infer *in, const char *path, bool csv, const guess *root, wr_sbuf *out) {
    const guess *time = NULL;
    bool         empty_times = false;
    wr_sbuf_addz(out, "CREATE TABLE ");
    put_name(out, table_name(in->arena, path));
    wr_sbuf_addz(out, " (");
    for (uint32_t i = 0; i < root->members.n; i++) {
        const guess *g = root->members.at[i];
        wr_sbuf_addz(out, i ? ",\n  " : "\n  ");
        put_name(out, g->name);
        wr_sbuf_addc(out, ' ');
        put_type(in, g, out);
        bool is_time = (g->kind == G_TIMESTAMP || g->kind == G_LTZ) && !(in->iso && in->sql_time);
        if (is_time && !time) time = g;
        empty_times |= g->had_empty && (is_time || g->kind == G_DATE);
    }
    wr_sbuf_addz(out, "\n) WITH (\n  'connector' = 'filesystem'");
    put_option(out, "path", wr_str_of(path));
    put_option(out, "format", csv ? WR_STR("csv") : WR_STR("json"));
    if (csv && in->header) put_option(out, "csv.header", WR_STR("true"));
    if (csv && in->delimiter != ',') put_option(out, "csv.field-delimiter", in->delimiter == '\t' ? WR_STR("\\t") : (wr_str){&in->delimiter, 1});
    if (csv && empty_times) put_option(out, "csv.null-literal", WR_STR(""));
    if (!csv && time && in->iso) put_option(out, "json.timestamp-format.standard", WR_STR("ISO-8601"));
    wr_sbuf_addz(out, "\n);\n");
    wr_sbuf_printf(out, "-- types: from the first %u rows", in->n_rows);
    if (time) {
        wr_sbuf name = {0};
        put_name(&name, time->name);
        wr_sbuf_printf(out, "; for windows over time add: WATERMARK FOR %.*s AS %.*s - INTERVAL '10' SECOND", WR_FMT(wr_sbuf_str(&name)), WR_FMT(wr_sbuf_str(&name)));
        wr_sbuf_free(&name);
    }
    wr_sbuf_addc(out, '\n');
}

static wr_status read_sample(const char *path, wr_sbuf *text, bool *whole, wr_err *err) {
    wr_world *w = wr_world_posix();
    wr_file  *file = NULL;
    size_t    got = 0;
    char     *buf = wr_malloc(SAMPLE_BYTES);
    wr_status status = w->vt->file_open(w, path, WR_OPEN_READ, &file, err);
    if (status == WR_OK) status = w->vt->file_pread(w, file, buf, SAMPLE_BYTES, 0, &got, err);
    w->vt->file_close(w, file);
    if (status == WR_OK) wr_sbuf_add(text, buf, got);
    *whole = got < SAMPLE_BYTES;
    wr_free(buf);
    return status;
}

wr_status infer_table(const char *path, wr_sbuf *out, wr_err *err) {
    wr_sbuf text = {0};
    bool    whole, csv = is_csv(unpacked(path));
    if (unpacked(path).len != strlen(path)) {
        wr_fail(err, WR_USER, "WR141", "%s is compressed: its columns cannot be looked at", path);
        wr_err_hint(err, "write the CREATE TABLE by hand: it reads .gz and .zst; or unpack some rows and look at those");
        return WR_USER;
    }
    wr_status status = read_sample(path, &text, &whole, err);
    infer     in = {.arena = wr_arena_new(NULL)};
    guess     root = {.kind = G_OBJECT};
    wr_str    all = wr_sbuf_str(&text);
    if (wr_str_starts(all, WR_STR("\xEF\xBB\xBF"))) all.ptr += 3, all.len -= 3;
    if (status == WR_OK) status = csv ? infer_csv(&in, path, all, whole, &root, err) : infer_json(&in, path, all, whole, &root, err);
    if (status == WR_OK && !in.n_rows) status = wr_fail(err, WR_USER, "WR141", "%s holds no rows to look at", path);
    if (status == WR_OK) put_statement(&in, path, csv, &root, out);
    wr_arena_free(in.arena);
    wr_sbuf_free(&text);
    return status;
}
