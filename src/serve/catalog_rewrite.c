/* serve/catalog_rewrite.c: a query of the catalogue in PostgreSQL's SQL, in SQLite's. See catalog.h.
 *
 * Idea       word by word into pieces (pg_pieces.h), with a stack of what is open. What has no counterpart is said by what has: arrays are JSON (= ANY(x) is IN
 *            (SELECT value FROM json_each(x))), functions that give rows in a list of columns are joined to the FROM of that SELECT, casts are calls.
 * Limits     what neither can say ends in SQLite's own message, or in one of here that names it.                                        */
#include "serve/catalog.h"
#include "serve/pg_pieces.h"
#include "serve/pg_value.h"
#include "serve/query_parts.h"
#include <stdio.h>

enum { DEPTH_MAX = 200, JOINED_MAX = 16, ALIASES_MAX = 64 };
typedef enum frame_kind { F_PAREN, F_CALL, F_CAST, F_ARRAY, F_ITEM, F_COMMA_WORDS } frame_kind; /* ITEM: x[i]; COMMA_WORDS: SUBSTRING(a FROM b FOR c) */
typedef struct frame {
    frame_kind kind;
    const char *close;               /* in place of ) or ] */
    uint32_t   piece;                /* CAST: where its name is */
    int        base;                 /* ITEM: 1, or 0 for vectors */
    bool       select, from;         /* a SELECT begins in it; its FROM was seen */
    bool       tail;                 /* behind FROM: WHERE and what follows */
    uint32_t   n_joined;
    wr_str     joined[JOINED_MAX];   /* arguments of functions that give rows */
    uint32_t   joined_id[JOINED_MAX];
} frame;
typedef struct alias { wr_str table, value, ordinal; bool bare; } alias; /* of a function in FROM */
typedef struct rewriter {
    wr_arena     *arena;
    const pg_tok *t;
    uint32_t      i;
    pg_pieces     out;
    frame        *frames;
    uint32_t      depth, next_id, nested;
    alias         aliases[ALIASES_MAX];
    uint32_t      n_aliases;
} rewriter;

static frame *top(rewriter *r) { return &r->frames[r->depth]; }
static void   put(rewriter *r, const char *text) { pg_piece_put(&r->out, wr_str_of(text), r->t[r->i].at); }
static void   put_str(rewriter *r, wr_str text) { pg_piece_put(&r->out, text, r->t[r->i].at); }
static wr_str last(const rewriter *r) { return r->out.list.n ? r->out.list.at[r->out.list.n - 1].text : (wr_str){0}; }

static bool push(rewriter *r, frame_kind kind, const char *close) {
    if (r->depth + 1 == DEPTH_MAX) return false;
    r->depth++;
    *top(r) = (frame){.kind = kind, .close = close};
    return true;
}

static uint32_t match(const pg_tok *t, uint32_t open) { /* the token that closes it, or the end */
    uint32_t depth = 0, i = open;
    for (; t[i].kind != PG_END; i++) {
        depth += pg_is_char(&t[i], '(') || pg_is_char(&t[i], '[');
        if ((pg_is_char(&t[i], ')') || pg_is_char(&t[i], ']')) && !--depth) return i;
    }
    return i;
}

static wr_status token(rewriter *r, wr_err *err);

/* Tokens up to `end` as text of their own. */
static wr_status part(rewriter *r, uint32_t from, uint32_t end, wr_str *out, wr_err *err) {
    uint32_t  i = r->i, n = r->out.list.n;
    wr_status status = WR_OK;
    wr_sbuf   text = {0};
    if (++r->nested > 16) return query_fail_at(&r->t[from], err, "54001", "the statement is nested too deeply");
    r->i = from;
    while (status == WR_OK && r->i < end) status = token(r, err);
    for (uint32_t k = n; k < r->out.list.n; k++) {
        wr_sbuf_add_str(&text, r->out.list.at[k].text);
        if (!pg_piece_tight(&r->out, k)) wr_sbuf_addc(&text, ' ');
    }
    *out = wr_str_dup(r->arena, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    r->out.list.n = n;
    r->i = i, r->nested--;
    return status;
}

/* ---- functions that give rows ---- */
static bool gives_rows(const pg_tok *t) { return pg_is(t, "unnest") || pg_is(t, "generate_subscripts") || pg_is(t, "generate_series") || pg_is(t, "_pg_expandarray"); }
static uint32_t behind_schema(const pg_tok *t, uint32_t i) { return pg_is_name(&t[i]) && pg_is_char(&t[i + 1], '.') && pg_is_name(&t[i + 2]) ? i + 2 : i; }

static frame *select_frame(rewriter *r) {
    for (uint32_t d = r->depth + 1; d-- > 0;)
        if (r->frames[d].select) return &r->frames[d];
    return &r->frames[0];
}

/* The argument of the call at token `f`, as a JSON array. */
static wr_status rows_of(rewriter *r, uint32_t f, wr_str *out, wr_err *err) {
    uint32_t close = match(r->t, f + 1), end = f + 2, depth = 0;
    bool     series = pg_is(&r->t[f], "generate_series");
    while (end < close && (series || depth || !pg_is_char(&r->t[end], ','))) {
        depth += pg_is_char(&r->t[end], '(') || pg_is_char(&r->t[end], '[');
        depth -= pg_is_char(&r->t[end], ')') || pg_is_char(&r->t[end], ']');
        end++;
    }
    WR_TRY(part(r, f + 2, end, out, err));
    *out = wr_str_of(wr_arena_printf(r->arena, series ? "pg_series(%.*s)" : "pg_array(%.*s)", WR_FMT(*out)));
    return WR_OK;
}

/* In a list of columns: joined to the FROM of the SELECT; functions with the same argument go together. */
static wr_status joined(rewriter *r, uint32_t f, const char *field, wr_err *err) {
    wr_str   text;
    frame   *s = select_frame(r);
    uint32_t k = 0;
    WR_TRY(rows_of(r, f, &text, err));
    while (k < s->n_joined && !wr_str_eq(s->joined[k], text)) k++;
    if (k == JOINED_MAX) return query_fail_at(&r->t[f], err, "0A000", "too many functions that give rows in one SELECT");
    if (k == s->n_joined) s->joined[k] = text, s->joined_id[k] = r->next_id++, s->n_joined++;
    uint32_t id = s->joined_id[k];
    bool     key = pg_is(&r->t[f], "generate_subscripts") || (field && !strcmp(field, "n"));
    if (pg_is(&r->t[f], "_pg_expandarray") && !field) put(r, wr_arena_printf(r->arena, "json_object('x', _s%u.value, 'n', _s%u.key + 1)", id, id));
    else put(r, wr_arena_printf(r->arena, key ? "(_s%u.key + 1)" : "_s%u.value", id));
    return WR_OK;
}

/* The end of a FROM, or of a SELECT without one. */
static void end_from(rewriter *r, frame *s) {
    for (uint32_t k = 0; k < s->n_joined; k++)
        put(r, wr_arena_printf(r->arena, "%s json_each(%.*s) AS _s%u", k || s->from ? "," : "FROM", WR_FMT(s->joined[k]), s->joined_id[k]));
    s->n_joined = 0;
}

/* FROM f(x) [WITH ORDINALITY] [AS] a [(value [, ordinal])]: what it is called is noted before anything is rewritten, as it is used in front of it. */
static uint32_t table_function(const pg_tok *t, uint32_t i, uint32_t *f) {
    uint32_t at = i + 1;
    if (pg_is(&t[at], "lateral")) at++;
    at = behind_schema(t, at);
    *f = at;
    return gives_rows(&t[at]) && pg_is_char(&t[at + 1], '(') ? match(t, at + 1) + 1 : 0;
}

static bool opens_table(const pg_tok *t, uint32_t i) { return pg_is(&t[i], "from") || pg_is(&t[i], "join") || pg_is_char(&t[i], ','); }

static uint32_t alias_of(rewriter *r, uint32_t i, alias *out) {
    const pg_tok *t = r->t;
    *out = (alias){0};
    if (pg_is(&t[i], "with") && pg_is(&t[i + 1], "ordinality")) i += 2;
    if (pg_is(&t[i], "as")) i++;
    if (!pg_is_name(&t[i]) || pg_is(&t[i], "on") || pg_is(&t[i], "where") || pg_is(&t[i], "order") || pg_is(&t[i], "join") || pg_is(&t[i], "left")) return i;
    out->table = pg_name(r->arena, &t[i++]);
    out->bare = true;
    if (!pg_is_char(&t[i], '(')) return i;
    out->bare = false;
    out->value = pg_name(r->arena, &t[i + 1]);
    if (pg_is_char(&t[i + 2], ',')) out->ordinal = pg_name(r->arena, &t[i + 3]);
    return match(t, i) + 1;
}

static bool in_select_list(const pg_tok *t, uint32_t i) { /* a comma of a list of columns is not one of FROM */
    int depth = 0;
    while (i-- > 0) {
        depth += pg_is_char(&t[i], ')') ? 1 : pg_is_char(&t[i], '(') ? -1 : 0;
        if (depth < 0) return true;
        if (depth == 0 && (pg_is(&t[i], "from") || pg_is(&t[i], "join"))) return false;
        if (depth == 0 && (pg_is(&t[i], "select") || pg_is(&t[i], "where") || pg_is(&t[i], "by"))) return true;
    }
    return true;
}

static void note_aliases(rewriter *r) {
    for (uint32_t i = 0; r->t[i].kind != PG_END && r->n_aliases < ALIASES_MAX; i++) {
        uint32_t f, end;
        if (!opens_table(r->t, i) || (pg_is_char(&r->t[i], ',') && in_select_list(r->t, i)) || !(end = table_function(r->t, i, &f))) continue;
        alias a;
        (void)alias_of(r, end, &a);
        if (a.table.len) r->aliases[r->n_aliases++] = a;
    }
}

/* A name that is a column of such a function. */
static bool aliased(rewriter *r) {
    const pg_tok *t = &r->t[r->i];
    wr_str        name = pg_name(r->arena, t);
    bool          dotted = pg_is_char(t + 1, '.') && pg_is_name(t + 2);
    if (r->i && (pg_is_char(t - 1, '.') || pg_is(t - 1, "as"))) return false;
    for (uint32_t k = 0; k < r->n_aliases; k++) {
        const alias *a = &r->aliases[k];
        wr_str       col = dotted ? pg_name(r->arena, t + 2) : name;
        if (dotted && !wr_str_eq(a->table, name)) continue;
        bool value = a->bare ? wr_str_eq(a->table, col) : wr_str_eq(a->value, col), ordinal = a->ordinal.len && wr_str_eq(a->ordinal, col);
        if (!value && !ordinal) continue;
        const pg_tok *next = t + (dotted ? 3 : 1);
        bool          item = top(r)->kind == F_PAREN && r->i && (pg_is(t - 1, "select") || pg_is_char(t - 1, ',')) && (pg_is_char(next, ',') || pg_is(next, "from"));
        put(r, wr_arena_printf(r->arena, ordinal ? "(\"%.*s\".key + 1)" : "\"%.*s\".value", WR_FMT(a->table)));
        if (item) put(r, wr_arena_printf(r->arena, "AS \"%.*s\"", WR_FMT(col))); /* it would be called value */
        r->i += dotted ? 3 : 1;
        return true;
    }
    return false;
}

/* ---- types ---- */
static const struct { const char *name, *cast; uint32_t oid; } CASTS[] = {
    {"int2", "INTEGER", PG_INT2}, {"smallint", "INTEGER", PG_INT2}, {"int4", "INTEGER", PG_INT4}, {"int", "INTEGER", PG_INT4}, {"integer", "INTEGER", PG_INT4}, {"int8", "INTEGER", PG_INT8}, {"bigint", "INTEGER", PG_INT8},
    {"oid", "INTEGER", PG_OID}, {"xid", "INTEGER", PG_INT4}, {"text", "TEXT", PG_TEXT}, {"varchar", "TEXT", PG_VARCHAR}, {"character", "TEXT", PG_VARCHAR}, {"name", "TEXT", PG_NAME}, {"bpchar", "TEXT", PG_BPCHAR},
    {"float4", "REAL", PG_FLOAT4}, {"real", "REAL", PG_FLOAT4}, {"float8", "REAL", PG_FLOAT8}, {"double", "REAL", PG_FLOAT8}, {"numeric", "REAL", PG_FLOAT8}, {"decimal", "REAL", PG_FLOAT8},
};

/* Behind a type; its name, and whether it is an array. */
static uint32_t type_at(rewriter *r, uint32_t i, wr_str *name, bool *array) {
    const pg_tok *t = r->t;
    i = behind_schema(t, i);
    *name = pg_is_name(&t[i]) ? pg_name(r->arena, &t[i]) : (wr_str){0};
    *array = false;
    if (!name->len) return i;
    i++;
    if (pg_is(&t[i], "precision") || pg_is(&t[i], "varying")) i++;
    if (pg_is_char(&t[i], '(') && t[i + 1].kind == PG_NUMBER) i = match(t, i) + 1;
    if ((pg_is(&t[i], "with") || pg_is(&t[i], "without")) && pg_is(&t[i + 1], "time")) i += 3;
    while (pg_is_char(&t[i], '[') && (pg_is_char(&t[i + 1], ']') || t[i + 1].kind == PG_NUMBER)) *array = true, i = match(t, i) + 1;
    if (name->len > 1 && name->ptr[0] == '_') *array = true;
    return i;
}

/* The function and what closes it, of a cast. literal: what is cast is written there. */
static const char *cast_call(rewriter *r, wr_str name, bool array, bool literal, const char **close) {
    *close = ")";
    if (array) return "pg_array";
    for (size_t k = 0; k < WR_COUNT_OF(CASTS); k++)
        if (wr_str_eq(name, wr_str_of(CASTS[k].name))) return *close = wr_arena_printf(r->arena, " AS %s)", CASTS[k].cast), "CAST";
    if (wr_str_eq(name, WR_STR("bool")) || wr_str_eq(name, WR_STR("boolean"))) return "pg_bool";
    if (wr_str_eq(name, WR_STR("regclass"))) return literal ? "pg_to_regclass" : "pg_regclass";
    if (wr_str_eq(name, WR_STR("regtype"))) return literal ? "pg_to_regtype" : "pg_regtype";
    if (wr_str_eq(name, WR_STR("regnamespace"))) return literal ? "pg_to_regnamespace" : "pg_regnamespace";
    return "";
}

static bool is_literal(wr_str piece) { return piece.len && (piece.ptr[0] == '\'' || piece.ptr[0] == '?'); }

static wr_status cast_behind(rewriter *r, wr_err *err) {
    wr_str      name;
    bool        array;
    uint32_t    next = type_at(r, r->i + 1, &name, &array);
    const char *close, *call;
    if (!name.len) return query_fail_at(&r->t[r->i], err, "42601", "syntax error at or near \"::\"");
    call = cast_call(r, name, array, is_literal(last(r)), &close);
    if (call[0]) {
        pg_piece_wrap(&r->out, call);
        if (close[0] == ' ') put_str(r, (wr_str){close, strlen(close) - 1}), put(r, ")");
        else put(r, ")");
    }
    r->i = next;
    return WR_OK;
}

/* ---- operators and words ---- */
static wr_status any(rewriter *r, bool all, wr_err *err) { /* = ANY (x), <> ALL (x) */
    wr_str op = last(r);
    bool   in = !all && wr_str_eq(op, WR_STR("=")), out = all && (wr_str_eq(op, WR_STR("<>")) || wr_str_eq(op, WR_STR("!=")));
    if (!in && !out) return query_fail_at(&r->t[r->i], err, "0A000", "only = ANY and <> ALL are supported in the catalogue");
    r->out.list.at[r->out.list.n - 1].text = wr_str_of(in ? "IN" : "NOT IN");
    bool select = pg_is(&r->t[r->i + 2], "select") || pg_is(&r->t[r->i + 2], "with");
    if (!push(r, F_PAREN, select ? ")" : ")))")) return query_fail_at(&r->t[r->i], err, "54001", "the statement is nested too deeply");
    put(r, select ? "(" : "(SELECT value FROM json_each(pg_array(");
    r->i += 2;
    return WR_OK;
}

static void matching(rewriter *r, const char *mark) {
    put(r, "REGEXP"), put(r, wr_arena_printf(r->arena, "'%s'", mark)), put(r, "||");
    r->i++;
}

static wr_status operator_(rewriter *r, wr_err *err) {
    static const struct { const char *op, *mark; bool negated; } ops[] = {{"~", "R", false}, {"~*", "S", false}, {"!~", "R", true}, {"!~*", "S", true}, {"~~", "L", false}, {"~~*", "M", false}, {"!~~", "L", true}, {"!~~*", "M", true}};
    const pg_tok *t = &r->t[r->i];
    if (pg_is_op(t, "::")) return cast_behind(r, err);
    for (size_t k = 0; k < WR_COUNT_OF(ops); k++) {
        if (!pg_is_op(t, ops[k].op)) continue;
        if (ops[k].negated) put(r, "NOT");
        matching(r, ops[k].mark);
        return WR_OK;
    }
    put_str(r, t->text);
    r->i++;
    return WR_OK;
}

static bool ends_from(const pg_tok *t) {
    static const char *const words[] = {"where", "group", "having", "window", "union", "intersect", "except", "order", "limit", "offset", "fetch", "for"};
    for (size_t k = 0; k < WR_COUNT_OF(words); k++)
        if (pg_is(t, words[k])) return true;
    return false;
}

/* Words that are calls without parentheses, or other calls. */
static const char *renamed(const pg_tok *t, bool call) {
    static const struct { const char *from, *to; bool bare; } words[] = {
        {"current_schema", "current_schema()", true}, {"current_user", "pg_user()", true}, {"session_user", "pg_user()", true}, {"user", "pg_user()", true}, {"current_role", "pg_user()", true}, {"current_catalog", "current_database()", true}, {"current_timestamp", "now()", true}, {"localtimestamp", "now()", true},
        {"string_agg", "group_concat", false}, {"array_agg", "json_group_array", false}, {"json_agg", "json_group_array", false}, {"jsonb_agg", "json_group_array", false}, {"json_build_object", "json_object", false}, {"jsonb_build_object", "json_object", false}, {"json_build_array", "json_array", false}, {"jsonb_build_array", "json_array", false}, {"row_to_json", "json_quote", false}, {"greatest", "max", false}, {"least", "min", false}, {"substring", "substr", false}, {"char_length", "length", false},
        {"strpos", "instr", false}, {"position", "pg_position", false}, {"bool_and", "min", false}, {"bool_or", "max", false}, {"every", "min", false},
    };
    for (size_t k = 0; k < WR_COUNT_OF(words); k++)
        if (pg_is(t, words[k].from) && words[k].bare != call) return words[k].to;
    return NULL;
}

/* Words whose arguments have words between them in PostgreSQL. */
static bool has_words(const pg_tok *t) { return pg_is(t, "substring") || pg_is(t, "position") || pg_is(t, "extract") || pg_is(t, "overlay"); }

static bool drops(rewriter *r) { /* what SQLite has no need of */
    const pg_tok *t = &r->t[r->i];
    if (pg_is(t, "lateral") || (pg_is(t, "only") && r->i && pg_is(t - 1, "from"))) return r->i++, true;
    if (pg_is(t, "collate")) return r->i = behind_schema(r->t, r->i + 1) + 1, true;
    if (pg_is(t, "escape") && pg_is_text(t + 1)) return r->i += 2, true;
    if (pg_is(t, "at") && pg_is(t + 1, "time") && pg_is(t + 2, "zone")) return r->i += 4, true;
    if (pg_is(t, "limit") && pg_is(t + 1, "all")) return r->i += 2, true;
    if ((pg_is(t, "interval") || pg_is(t, "timestamp") || pg_is(t, "date")) && pg_is_text(t + 1)) return r->i++, true;
    if (pg_is(t, "public") && pg_is_char(t + 1, '.')) return r->i += 2, true;
    if ((pg_is(t, "pg_catalog") || pg_is(t, "information_schema")) && pg_is_char(t + 1, '.') && pg_is_name(t + 2) && pg_is_char(t + 3, '(')) return r->i += 2, true;
    return false;
}

static wr_status from_word(rewriter *r) {
    frame *s = top(r);
    if (s->kind == F_COMMA_WORDS) {
        put(r, ",");
    } else {
        put(r, "FROM");
        if (!r->i || !pg_is(&r->t[r->i - 1], "distinct")) select_frame(r)->from = true;
    }
    r->i++;
    return WR_OK;
}

static wr_status call(rewriter *r, wr_err *err) { /* a name and ( */
    const pg_tok *t = &r->t[r->i];
    wr_str        empty_table = pg_name(r->arena, t);
    const char   *to = renamed(t, true);
    if (gives_rows(t)) {
        WR_TRY(joined(r, r->i, NULL, err));
        r->i = match(r->t, r->i + 1) + 1;
        return WR_OK;
    }
    if (pg_is_char(t + 2, ')') && catalog_has((wr_str){0}, empty_table)) { /* FROM pg_get_keywords() */
        put_str(r, empty_table);
        r->i += 3;
        return WR_OK;
    }
    bool both = pg_is(t + 2, "both"), leading = pg_is(t + 2, "leading"), trailing = pg_is(t + 2, "trailing");
    if (pg_is(t, "trim") && (both || leading || trailing)) { /* TRIM(BOTH x FROM y) */
        put(r, both ? "pg_btrim" : leading ? "pg_ltrim" : "pg_rtrim"), put(r, "(");
        if (!push(r, F_COMMA_WORDS, ")")) return query_fail_at(t, err, "54001", "the statement is nested too deeply");
        return r->i += 3, WR_OK;
    }
    put_str(r, to ? wr_str_of(to) : pg_name(r->arena, t)), put(r, "(");
    if (pg_is(t, "extract")) put_str(r, pg_quoted(r->arena, pg_name(r->arena, t + 2), '\''));
    if (!push(r, has_words(t) ? F_COMMA_WORDS : F_CALL, ")")) return query_fail_at(t, err, "54001", "the statement is nested too deeply");
    r->i += pg_is(t, "extract") ? 3 : 2;
    return WR_OK;
}

static bool is_call(const pg_tok *t) {
    static const char *const not[] = {"in", "and", "or", "not", "on", "using", "as", "where", "from", "join", "select", "exists", "over", "filter", "when", "then", "else", "case", "union", "all", "except", "intersect", "having", "by", "limit", "is", "like",
        "values", "between", "distinct", "any", "some", "partition", "with", "materialized"};
    for (size_t k = 0; t->kind == PG_WORD && k < WR_COUNT_OF(not); k++)
        if (pg_is(t, not[k])) return false;
    return pg_is_name(t) && pg_is_char(t + 1, '(');
}

static wr_status word(rewriter *r, wr_err *err) {
    const pg_tok *t = &r->t[r->i];
    if (drops(r)) return WR_OK;
    if (ends_from(t) && top(r)->kind != F_CALL && top(r)->kind != F_COMMA_WORDS) end_from(r, top(r));
    if (pg_is(t, "select")) {
        top(r)->select = true, top(r)->from = false;
        if (pg_is(t + 1, "distinct") && pg_is(t + 2, "on")) return query_fail_at(t + 1, err, "0A000", "DISTINCT ON is not supported in the catalogue");
    }
    if (pg_is(t, "from")) return from_word(r);
    if (top(r)->kind == F_COMMA_WORDS && (pg_is(t, "for") || pg_is(t, "in"))) return put(r, ","), r->i++, WR_OK;
    if (top(r)->kind == F_CALL && pg_is(t, "order") && pg_is(t + 1, "by")) { /* the order inside an aggregate */
        for (uint32_t depth = 0; t->kind != PG_END && (depth || !pg_is_char(t, ')')); t = &r->t[++r->i]) depth += pg_is_char(t, '(') ? 1 : pg_is_char(t, ')') ? -1u : 0;
        return WR_OK;
    }
    if (pg_is(t, "operator") && pg_is_char(t + 1, '(')) {
        uint32_t close = match(r->t, r->i + 1), at = r->i;
        r->i = close - 1;
        WR_TRY(operator_(r, err));
        r->i = WR_MAX(close + 1, at + 1);
        return WR_OK;
    }
    if ((pg_is(t, "any") || pg_is(t, "some") || pg_is(t, "all")) && pg_is_char(t + 1, '(') && last(r).len && strchr("=<>!", last(r).ptr[0])) return any(r, pg_is(t, "all"), err);
    if (pg_is(t, "ilike")) return matching(r, "M"), WR_OK;
    if (pg_is(t, "like")) return matching(r, "L"), WR_OK;
    if (pg_is(t, "cast") && pg_is_char(t + 1, '(')) {
        put(r, ""), put(r, "(");
        if (!push(r, F_CAST, ")")) return query_fail_at(t, err, "54001", "the statement is nested too deeply");
        top(r)->piece = r->out.list.n - 2;
        return r->i += 2, WR_OK;
    }
    if (pg_is(t, "as") && top(r)->kind == F_CAST) {
        wr_str      name;
        bool        array, literal = is_literal(last(r)) && r->out.list.n - top(r)->piece == 3;
        uint32_t    next = type_at(r, r->i + 1, &name, &array);
        const char *close;
        r->out.list.at[top(r)->piece].text = wr_str_of(cast_call(r, name, array, literal, &close));
        if (close[0] == ' ') put_str(r, (wr_str){close, strlen(close) - 1});
        return r->i = next, WR_OK;
    }
    if (pg_is(t, "array") && (pg_is_char(t + 1, '[') || pg_is_char(t + 1, '('))) {
        bool list = pg_is_char(t + 1, '[');
        put(r, list ? "json_array" : "(WITH _q(_c) AS"), put(r, "(");
        if (!push(r, list ? F_ARRAY : F_PAREN, list ? ")" : ") SELECT json_group_array(_c) FROM _q)")) return query_fail_at(t, err, "54001", "the statement is nested too deeply");
        return r->i += 2, WR_OK;
    }
    if (pg_is(t, "fetch") && (pg_is(t + 1, "first") || pg_is(t + 1, "next")) && t[2].kind == PG_NUMBER) return put(r, "LIMIT"), r->i += 2, WR_OK;
    if ((pg_is(t, "rows") || pg_is(t, "row")) && pg_is(t + 1, "only")) return r->i += 2, WR_OK;
    if (is_call(t)) return call(r, err);
    const char *to = renamed(t, false);
    bool        member = r->i && pg_is_char(t - 1, '.'), after_as = r->i && pg_is(t - 1, "as");
    if (to && !member && !after_as && !pg_is_char(t + 1, '.')) return put(r, to), r->i++, WR_OK;
    if (r->n_aliases && aliased(r)) return WR_OK;
    wr_str name = pg_name(r->arena, t);
    put_str(r, member || (after_as && !pg_is_char(t + 1, '(')) || pg_is_char(t + 1, '.') ? pg_quoted(r->arena, name, '"') : name);
    r->i++;
    return WR_OK;
}

static bool is_vector(const rewriter *r) {
    wr_str s = last(r);
    return s.len > 3 && (memmem(s.ptr, s.len, "indkey", 6) || memmem(s.ptr, s.len, "indoption", 9) || memmem(s.ptr, s.len, "indclass", 8) || memmem(s.ptr, s.len, "indcollation", 12) || memmem(s.ptr, s.len, "proargtypes", 11));
}

static wr_status open_paren(rewriter *r, wr_err *err) {
    uint32_t f = behind_schema(r->t, r->i + 1), close;
    if (pg_is(&r->t[f], "_pg_expandarray") && pg_is_char(&r->t[f + 1], '(')) { /* (_pg_expandarray(x)).n */
        close = match(r->t, f + 1);
        if (pg_is_char(&r->t[close + 1], ')') && pg_is_char(&r->t[close + 2], '.')) {
            wr_str field = pg_name(r->arena, &r->t[close + 3]);
            WR_TRY(joined(r, f, field.ptr, err));
            r->i = close + 4;
            return WR_OK;
        }
    }
    put(r, "(");
    if (!push(r, F_PAREN, ")")) return query_fail_at(&r->t[r->i], err, "54001", "the statement is nested too deeply");
    r->i++;
    return WR_OK;
}

static wr_status punctuation(rewriter *r, wr_err *err) {
    const pg_tok *t = &r->t[r->i];
    char          c = t->text.ptr[0];
    if (c == '(') return open_paren(r, err);
    if (c == '[') {
        bool vector = is_vector(r);
        pg_piece_wrap(&r->out, "pg_item"), put(r, ",");
        if (!push(r, F_ITEM, vector ? ", 0)" : ", 1)")) return query_fail_at(t, err, "54001", "the statement is nested too deeply");
        return r->i++, WR_OK;
    }
    if (c == ')' || c == ']') {
        if (!r->depth) return query_fail_at(t, err, "42601", "syntax error at or near \"%.*s\"", WR_FMT(t->text));
        end_from(r, top(r));
        const char *close = top(r)->close;
        size_t      n = strlen(close);
        if (n > 1 && close[n - 1] == ')') put_str(r, (wr_str){close, n - 1}), put(r, ")"); /* the last one as a piece of its own, so that a walk back finds its partner */
        else put(r, close);
        r->depth--;
        return r->i++, WR_OK;
    }
    if (c == '.' && r->i && pg_is_char(t - 1, ')') && pg_is_name(t + 1)) { /* a field of a row */
        pg_piece_wrap(&r->out, "json_extract");
        put(r, wr_arena_printf(r->arena, ", '$.%.*s'", WR_FMT(pg_name(r->arena, t + 1)))), put(r, ")");
        return r->i += 2, WR_OK;
    }
    if (c == ':' || c == ';') return query_fail_at(t, err, "0A000", "\"%c\" is not supported in the catalogue", c);
    put_str(r, t->text);
    return r->i++, WR_OK;
}

static wr_status token(rewriter *r, wr_err *err) {
    const pg_tok *t = &r->t[r->i];
    uint32_t      f, end;
    if (opens_table(r->t, r->i) && (end = table_function(r->t, r->i, &f)) && !(pg_is_char(t, ',') && in_select_list(r->t, r->i))) {
        wr_str text;
        alias  a;
        WR_TRY(rows_of(r, f, &text, err));
        if (pg_is(t, "from")) (void)from_word(r), r->i--;
        else put_str(r, t->text);
        uint32_t next = alias_of(r, end, &a);
        put(r, wr_arena_printf(r->arena, a.table.len ? "json_each(%.*s) AS \"%.*s\"" : "json_each(%.*s)", WR_FMT(text), WR_FMT(a.table)));
        r->i = next;
        return WR_OK;
    }
    switch (t->kind) {
    case PG_WORD: return word(r, err);
    case PG_QUOTED:
        if (is_call(t)) return call(r, err);
        if (drops(r) || (r->n_aliases && aliased(r))) return WR_OK;
        put_str(r, pg_quoted(r->arena, pg_name(r->arena, t), '"'));
        break;
    case PG_STRING:
    case PG_ESTRING:
    case PG_DOLLAR: put_str(r, pg_quoted(r->arena, pg_text(r->arena, t), '\'')); break;
    case PG_PARAM: put(r, wr_arena_printf(r->arena, "?%u", t->param)); break;
    case PG_OP: return operator_(r, err);
    case PG_CHAR: return punctuation(r, err);
    case PG_BITS:
    case PG_NUMBER:
    case PG_END: put_str(r, t->text); break;
    }
    r->i++;
    return WR_OK;
}

/* ---- names and types of the first SELECT's columns ---- */
static uint32_t type_oid(wr_str name, bool array) {
    if (array) return 1009;
    for (size_t k = 0; k < WR_COUNT_OF(CASTS); k++)
        if (wr_str_eq(name, wr_str_of(CASTS[k].name))) return CASTS[k].oid;
    return wr_str_eq(name, WR_STR("bool")) || wr_str_eq(name, WR_STR("boolean")) ? PG_BOOL : PG_TEXT;
}

static uint32_t call_oid(const pg_tok *t) {
    static const struct { const char *name; uint32_t oid; } calls[] = {
        {"count", PG_INT8}, {"row_number", PG_INT8}, {"rank", PG_INT8}, {"current_database", PG_NAME}, {"current_schema", PG_NAME}, {"current_schemas", 1003}, {"pg_backend_pid", PG_INT4}, {"array_agg", 1009}, {"pg_table_is_visible", PG_BOOL},
        {"pg_type_is_visible", PG_BOOL}, {"pg_is_in_recovery", PG_BOOL}, {"has_table_privilege", PG_BOOL}, {"has_schema_privilege", PG_BOOL}, {"has_database_privilege", PG_BOOL}, {"has_column_privilege", PG_BOOL}, {"bool_or", PG_BOOL}, {"bool_and", PG_BOOL},
        {"now", PG_TIMESTAMPTZ}, {"pg_postmaster_start_time", PG_TIMESTAMPTZ}, {"array_length", PG_INT4}, {"array_upper", PG_INT4}, {"cardinality", PG_INT4}, {"pg_total_relation_size", PG_INT8}, {"pg_relation_size", PG_INT8}, {"pg_database_size", PG_INT8},
        {"txid_current", PG_INT8}, {"exists", PG_BOOL}, {"length", PG_INT4}, {"unnest", 0}, {"to_regclass", PG_OID},
    };
    for (size_t k = 0; k < WR_COUNT_OF(calls); k++)
        if (pg_is(t, calls[k].name)) return calls[k].oid;
    return 0;
}

static bool is_truth(const pg_tok *t) {
    static const char *const words[] = {"and", "or", "not", "is", "in", "like", "ilike", "between"};
    for (size_t k = 0; k < WR_COUNT_OF(words); k++)
        if (pg_is(t, words[k])) return true;
    return t->kind == PG_OP && (strchr("=<>!~", t->text.ptr[0]) != NULL);
}

/* What a column of tokens [from, to) is called and is. */
static void item_of(rewriter *r, uint32_t from, uint32_t to, wr_str *name, uint32_t *oid, uint32_t *behind) {
    const pg_tok *t = r->t;
    uint32_t      end = to, depth = 0, n_case = 0, head = from;
    bool          truth = false, number = true;
    *name = (wr_str){0}, *oid = 0;
    if (to - from >= 2 && pg_is_name(&t[to - 1]) && pg_is(&t[to - 2], "as")) *name = pg_name(r->arena, &t[to - 1]), end = to - 2;
    else if (to - from >= 2 && pg_is_name(&t[to - 1]) && !pg_is(&t[to - 1], "end") && !pg_is(&t[to - 1], "null") && !pg_is(&t[to - 1], "true") && !pg_is(&t[to - 1], "false") && !pg_is_char(&t[to - 2], '.') && t[to - 2].kind != PG_OP && !pg_is(&t[to - 2], "is"))
        *name = pg_name(r->arena, &t[to - 1]), end = to - 1;
    for (uint32_t i = from; i < end; i++) {
        if (pg_is_char(&t[i], '(') || pg_is_char(&t[i], '[')) depth++;
        if (pg_is_char(&t[i], ')') || pg_is_char(&t[i], ']')) depth--;
        n_case += pg_is(&t[i], "case") ? 1 : pg_is(&t[i], "end") ? -1u : 0;
        truth |= !depth && !n_case && is_truth(&t[i]);
        number &= t[i].kind == PG_NUMBER || (t[i].kind == PG_OP && strchr("+-*", t[i].text.ptr[0]));
    }
    *behind = end;
    if (end == from) return;
    uint32_t cast = 0;
    for (uint32_t i = from, d = 0; i < end; i++) {
        d += pg_is_char(&t[i], '(') ? 1 : pg_is_char(&t[i], ')') ? -1u : 0;
        if (!d && pg_is_op(&t[i], "::")) cast = i;
    }
    wr_str type;
    bool   array;
    if (cast && type_at(r, cast + 1, &type, &array) == end) *oid = type_oid(type, array), truth = false;
    else if (truth) *oid = PG_BOOL;
    else if (number) *oid = end - from == 1 && t[from].text.len > 9 ? PG_INT8 : PG_INT4;
    if (number && end - from == 1 && memchr(t[from].text.ptr, '.', t[from].text.len)) *oid = PG_FLOAT8;
    if (pg_is(&t[from], "true") || pg_is(&t[from], "false")) *oid = PG_BOOL;
    if (pg_is(&t[from], "array")) *oid = *oid ? *oid : 1009;
    if (pg_is(&t[from], "case") && !cast)
        for (uint32_t i = from; i < end; i++)
            if (pg_is(&t[i], "then") && (pg_is(&t[i + 1], "true") || pg_is(&t[i + 1], "false"))) *oid = PG_BOOL;
    head = behind_schema(t, from);
    if (!*oid && is_call(&t[head]) && match(t, head + 1) + 1 == end) *oid = call_oid(&t[head]);
    if (!*oid && (pg_is(&t[head], "current_timestamp") || pg_is(&t[head], "localtimestamp"))) *oid = PG_TIMESTAMPTZ;
    if (!*oid && (pg_is(&t[head], "current_user") || pg_is(&t[head], "current_schema") || pg_is(&t[head], "session_user"))) *oid = PG_NAME;
    bool sum = false;
    for (uint32_t i = from + 1, d = 0; i < end; i++) {
        d += pg_is_char(&t[i], '(') ? 1 : pg_is_char(&t[i], ')') ? -1u : 0;
        sum |= !d && t[i].kind == PG_OP && t[i].text.len == 1 && strchr("+-*/%", t[i].text.ptr[0]);
    }
    if (!*oid && sum) *oid = cast && type_at(r, cast + 1, &type, &array) < end ? type_oid(type, array) : PG_INT8;
    if (!*oid) { /* the column that it is, or that a function is of */
        uint32_t at = head;
        if (is_call(&t[head]) && (pg_is(&t[head], "min") || pg_is(&t[head], "max") || pg_is(&t[head], "coalesce") || pg_is(&t[head], "nullif"))) at = head + 2;
        while (pg_is_name(&t[at]) && pg_is_char(&t[at + 1], '.')) at += 2;
        if (pg_is_name(&t[at]) && !is_call(&t[at])) *oid = catalog_column(pg_name(r->arena, &t[at]));
    }
    if (name->ptr) return;
    if (pg_is(&t[from], "case")) *name = WR_STR("case");
    else if (pg_is(&t[from], "array")) *name = WR_STR("array");
    else if (is_call(&t[head]) || (pg_is_name(&t[head]) && !pg_is(&t[head], "null") && !pg_is(&t[head], "true") && !pg_is(&t[head], "false"))) {
        while (pg_is_char(&t[head + 1], '.') && pg_is_name(&t[head + 2])) head += 2;
        *name = truth || (head + 1 < end && t[head + 1].kind == PG_OP && !pg_is_op(&t[head + 1], "::")) ? WR_STR("?column?") : pg_name(r->arena, &t[head]);
        if (is_call(&t[head]) && match(t, head + 1) + 1 != end && !cast) *name = WR_STR("?column?");
    } else {
        *name = pg_is(&t[from], "true") || pg_is(&t[from], "false") ? WR_STR("bool") : WR_STR("?column?");
    }
}

static void first_items(rewriter *r, catalog_rewritten *info) {
    const pg_tok *t = r->t;
    uint32_t      i = 0, depth = 0, n = 0;
    WR_ARR(wr_str) names = {0};
    WR_ARR(uint32_t) oids = {0}, froms = {0}, tos = {0};
    for (; t[i].kind != PG_END && (depth || !pg_is(&t[i], "select")); i++) depth += pg_is_char(&t[i], '(') ? 1 : pg_is_char(&t[i], ')') ? -1u : 0;
    if (t[i].kind == PG_END) return;
    i++;
    if (pg_is(&t[i], "distinct") || pg_is(&t[i], "all")) i++;
    for (uint32_t from = i;; i++) {
        bool end = t[i].kind == PG_END || (!depth && ((pg_is(&t[i], "from") && !pg_is(&t[i - 1], "distinct")) || ends_from(&t[i])));
        depth += pg_is_char(&t[i], '(') || pg_is_char(&t[i], '[');
        depth -= pg_is_char(&t[i], ')') || pg_is_char(&t[i], ']');
        if (!end && (depth || !pg_is_char(&t[i], ','))) continue;
        wr_str   name;
        uint32_t oid, behind = from;
        if (i > from && pg_is_op(&t[i - 1], "*") && (i - 1 == from || pg_is_char(&t[i - 2], '.'))) return; /* names are SQLite's */
        item_of(r, from, i, &name, &oid, &behind);
        wr_arr_apush(r->arena, &froms, from);
        wr_arr_apush(r->arena, &tos, behind);
        wr_arr_apush(r->arena, &names, name);
        wr_arr_apush(r->arena, &oids, oid);
        n++;
        if (end) break;
        from = i + 1;
    }
    *info = (catalog_rewritten){n, names.at, oids.at, froms.at, tos.at};
}

catalog_rewritten catalog_items(wr_arena *arena, const pg_toks *toks) {
    catalog_rewritten info = {0};
    rewriter          r = {.arena = arena, .t = toks->list.at};
    first_items(&r, &info);
    return info;
}

wr_status catalog_rewrite(wr_arena *arena, const pg_toks *toks, wr_sbuf *out, catalog_rewritten *info, wr_err *err) {
    rewriter r = {.arena = arena, .t = toks->list.at, .out = {.arena = arena}, .frames = wr_arena_calloc(arena, sizeof(frame) * DEPTH_MAX)};
    *info = (catalog_rewritten){0};
    r.frames[0] = (frame){.kind = F_PAREN, .close = ")"};
    note_aliases(&r);
    while (r.t[r.i].kind != PG_END) WR_TRY(token(&r, err));
    end_from(&r, &r.frames[0]);
    for (uint32_t i = 0; i < r.out.list.n; i++) {
        wr_sbuf_add_str(out, r.out.list.at[i].text);
        if (!pg_piece_tight(&r.out, i)) wr_sbuf_addc(out, ' ');
    }
    first_items(&r, info);
    return WR_OK;
}
