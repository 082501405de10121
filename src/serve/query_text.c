/* serve/query_text.c: a statement in PostgreSQL's lexical form as weir reads it: names in backquotes, casts by CAST, parameters as literals.
 *
 * Idea       a list of pieces; what stands behind its operand in PostgreSQL (:: ~ ILIKE) is put around the piece or pieces that are the operand, found by
 *            walking back over one primary expression. Every piece remembers its place, so that messages point into what the client sent.
 * Safe       the answer is made of whole tokens: no text of the client's is copied over their bounds, comments are gone, and there is no ';'.        */
#include "serve/catalog.h"
#include "serve/pg_pieces.h"
#include "serve/query_parts.h"
#include "sql/sql.h"
#include <stdio.h>

typedef struct writer {
    const query    *q;
    const wr_value *params;
    uint32_t        n_params;
    wr_arena       *arena;
    pg_pieces       out;
    struct { wr_str close; bool cast; } paren[200]; /* what an open parenthesis gets when it closes; it is a CAST's */
    uint32_t        depth;
    bool            grouping, inside;  /* behind GROUP BY of the outermost query; in an item that is put there */
    catalog_rewritten items;           /* of its list of columns */
} writer;

static void put(writer *w, wr_str text, uint32_t at) { pg_piece_put(&w->out, text, at); }
static void putz(writer *w, const char *text, uint32_t at) { pg_piece_put(&w->out, wr_str_of(text), at); }
static wr_str quoted(wr_arena *arena, wr_str s, char quote) { return pg_quoted(arena, s, quote); }

/* ---- types ---- */
static const struct { const char *name; wr_tid id; int32_t prec; } TYPE_NAMES[] = {
    {"bool", WR_T_BOOLEAN, 0}, {"boolean", WR_T_BOOLEAN, 0}, {"int2", WR_T_SMALLINT, 0}, {"smallint", WR_T_SMALLINT, 0}, {"int", WR_T_INT, 0}, {"int4", WR_T_INT, 0}, {"integer", WR_T_INT, 0},
    {"int8", WR_T_BIGINT, 0}, {"bigint", WR_T_BIGINT, 0}, {"oid", WR_T_BIGINT, 0}, {"float4", WR_T_FLOAT, 0}, {"real", WR_T_FLOAT, 0}, {"float8", WR_T_DOUBLE, 0}, {"double", WR_T_DOUBLE, 0}, {"float", WR_T_DOUBLE, 0},
    {"text", WR_T_VARCHAR, WR_LENGTH_MAX}, {"varchar", WR_T_VARCHAR, WR_LENGTH_MAX}, {"character", WR_T_VARCHAR, WR_LENGTH_MAX}, {"bpchar", WR_T_VARCHAR, WR_LENGTH_MAX}, {"name", WR_T_VARCHAR, WR_LENGTH_MAX}, {"string", WR_T_VARCHAR, WR_LENGTH_MAX},
    {"json", WR_T_VARCHAR, WR_LENGTH_MAX}, {"jsonb", WR_T_VARCHAR, WR_LENGTH_MAX}, {"uuid", WR_T_VARCHAR, WR_LENGTH_MAX}, {"bytea", WR_T_VARBINARY, WR_LENGTH_MAX}, {"date", WR_T_DATE, 0}, {"time", WR_T_TIME, 3}, {"timestamp", WR_T_TIMESTAMP, 6},
    {"timestamptz", WR_T_TIMESTAMP_LTZ, 6}, {"timestamp_ltz", WR_T_TIMESTAMP_LTZ, 6}, {"numeric", WR_T_DECIMAL, 38}, {"decimal", WR_T_DECIMAL, 38},
};

static int32_t small_number(const pg_tok *t) {
    int32_t n = 0;
    for (size_t i = 0; t->kind == PG_NUMBER && i < t->text.len && n < 100000; i++) n = n * 10 + (t->text.ptr[i] >= '0' && t->text.ptr[i] <= '9' ? t->text.ptr[i] - '0' : 0);
    return n;
}

bool query_pg_type(const pg_tok *t, uint32_t *next, wr_type *out) {
    uint32_t i = 0, found = WR_COUNT_OF(TYPE_NAMES);
    if (pg_is(&t[0], "pg_catalog") && pg_is_char(&t[1], '.')) i = 2;
    for (uint32_t k = 0; k < WR_COUNT_OF(TYPE_NAMES); k++)
        if (pg_is(&t[i], TYPE_NAMES[k].name)) found = k;
    if (found == WR_COUNT_OF(TYPE_NAMES)) return false;
    *out = wr_type_prec(TYPE_NAMES[found].id, TYPE_NAMES[found].prec);
    if (out->id == WR_T_DECIMAL) *out = wr_type_decimal(38, 12);
    i++;
    if (pg_is(&t[i], "precision") || pg_is(&t[i], "varying")) i++;
    if (pg_is_char(&t[i], '(') && t[i + 1].kind == PG_NUMBER) {
        int32_t p = small_number(&t[i + 1]), s = 0;
        i += 2;
        if (pg_is_char(&t[i], ',') && t[i + 1].kind == PG_NUMBER) s = small_number(&t[i + 1]), i += 2;
        if (!pg_is_char(&t[i], ')')) return false;
        i++;
        if (out->id == WR_T_DECIMAL && p >= 1 && p <= 38 && s <= p) *out = wr_type_decimal(p, s);
        else if ((out->id == WR_T_TIMESTAMP || out->id == WR_T_TIMESTAMP_LTZ) && p <= 9) out->prec = p;
        else if (out->id == WR_T_VARCHAR && p > 0) out->prec = p;
    }
    if ((pg_is(&t[i], "with") || pg_is(&t[i], "without")) && pg_is(&t[i + 1], "time") && pg_is(&t[i + 2], "zone")) {
        if (pg_is(&t[i], "with") && out->id == WR_T_TIMESTAMP) out->id = WR_T_TIMESTAMP_LTZ;
        i += 3;
    }
    *next = i;
    return true;
}

static wr_str type_text(writer *w, wr_type t) {
    wr_sbuf out = {0};
    wr_type_text(wr_type_with_null(t, true), &out);
    wr_str kept = wr_str_dup(w->arena, wr_sbuf_str(&out));
    wr_sbuf_free(&out);
    return kept;
}

/* ---- intervals: '1 day 2 hours' -> (INTERVAL '1' DAY + INTERVAL '2' HOUR) ---- */
static bool interval(writer *w, wr_str text, uint32_t at) {
    static const struct { const char *name, *unit; } units[] = {{"year", "YEAR"}, {"mon", "MONTH"}, {"month", "MONTH"}, {"day", "DAY"}, {"hour", "HOUR"}, {"min", "MINUTE"}, {"minute", "MINUTE"}, {"sec", "SECOND"}, {"second", "SECOND"}, {"week", "WEEK"}};
    wr_sbuf out = {0};
    wr_str  word, number = {0};
    bool    ok = true, any = false;
    while (ok && wr_str_next(&text, ' ', &word)) {
        if (!word.len) continue;
        if (!number.ptr) {
            number = word;
            ok = word.len < 12 && strspn(word.ptr, "-0123456789.") >= word.len;
            continue;
        }
        if (word.len > 1 && (word.ptr[word.len - 1] | 32) == 's') word.len--;
        const char *unit = NULL;
        for (size_t i = 0; i < WR_COUNT_OF(units); i++)
            if (wr_str_ieq(word, wr_str_of(units[i].name))) unit = units[i].unit;
        ok = unit != NULL;
        if (ok) wr_sbuf_printf(&out, "%sINTERVAL '%.*s' %s", any ? " + " : "(", WR_FMT(number), unit);
        any = true, number = (wr_str){0};
    }
    ok = ok && any && !number.ptr;
    wr_sbuf_addc(&out, ')');
    if (ok) put(w, wr_str_dup(w->arena, wr_sbuf_str(&out)), at);
    wr_sbuf_free(&out);
    return ok;
}

/* ---- tokens ---- */
static void literal(writer *w, const wr_value *v, uint32_t at) {
    wr_sbuf out = {0};
    pg_put_literal(v, &out);
    put(w, wr_str_dup(w->arena, wr_sbuf_str(&out)), at);
    wr_sbuf_free(&out);
}

/* A parameter has the same type each time, whatever its value. */
static void parameter(writer *w, const pg_tok *t) {
    const wr_value *v = &w->params[t->param - 1];
    bool            bare = t > w->q->toks.list.at && (pg_is(t - 1, "limit") || pg_is(t - 1, "offset"));
    if (bare && !v->null) {
        put(w, wr_str_of(wr_arena_printf(w->arena, "%lld", (long long)v->i)), t->at);
        return;
    }
    bool text = wr_type_is_string(v->type) && !v->null;
    if (text) putz(w, "CAST(", t->at);
    literal(w, v, t->at);
    if (text) putz(w, " AS STRING)", t->at);
}

/* A text that is compared with a column that is none becomes a literal of the column's type. */
static void text(writer *w, uint32_t i) {
    const pg_tok *t = &w->q->toks.list.at[i];
    wr_str        s = pg_text(w->arena, t);
    wr_type       type;
    wr_value      v;
    wr_err        ignored;
    bool          after_type = i && (pg_is(t - 1, "timestamp") || pg_is(t - 1, "date") || pg_is(t - 1, "time") || pg_is(t - 1, "interval") || pg_is(t - 1, "zone"));
    if (!after_type && query_context(w->q, i, &type) && !wr_type_is_string(type) && pg_parse_text(w->arena, wr_type_with_null(type, true), s, NULL, &v, &ignored) == WR_OK) literal(w, &v, t->at);
    else put(w, quoted(w->arena, s, '\''), t->at);
}

/* A name in other letters than a view or one of its columns has becomes that, if nothing has the name as written. */
static wr_str as_declared(const writer *w, const pg_tok *t) {
    wr_str found = {0};
    for (uint32_t v = 0; v < w->q->n_views; v++) {
        wr_str           name = wr_view_name(w->q->views[v]);
        const wr_schema *s = wr_view_schema(w->q->views[v]);
        if (wr_str_eq(name, t->text)) return t->text;
        if (wr_str_ieq(name, t->text)) found = name;
        for (uint32_t c = 0; c < s->n; c++) {
            if (wr_str_eq(s->fields[c].name, t->text)) return t->text;
            if (wr_str_ieq(s->fields[c].name, t->text)) found = s->fields[c].name;
        }
    }
    return found.ptr ? quoted(w->arena, found, '`') : t->text;
}

static wr_status one_operand(writer *w, uint32_t *i, wr_err *err);

/* OPERATORS that weir writes as functions: a ~ b -> REGEXP(a, b); a ILIKE b -> LOWER(a) LIKE LOWER(b). */
static wr_status matching(writer *w, uint32_t *i, bool like, bool blind, bool negated, wr_err *err) {
    uint32_t at = w->q->toks.list.at[*i].at;
    (*i)++;
    pg_piece_wrap(&w->out, like ? "LOWER" : blind ? negated ? "NOT REGEXP" : "REGEXP" : negated ? "NOT REGEXP" : "REGEXP");
    if (like) putz(w, negated ? ") NOT LIKE LOWER(" : ") LIKE LOWER(", at);
    else putz(w, blind ? ", '(?i)' || " : ", ", at);
    WR_TRY(one_operand(w, i, err));
    putz(w, ")", at);
    return WR_OK;
}

static wr_status one_operand(writer *w, uint32_t *i, wr_err *err) {
    const pg_tok *t = &w->q->toks.list.at[*i];
    if (pg_is_text(t)) text(w, *i);
    else if (t->kind == PG_PARAM && t->param >= 1 && t->param <= w->n_params) parameter(w, t);
    else if (t->kind == PG_WORD) put(w, as_declared(w, t), t->at);
    else return query_fail_at(t, err, "0A000", "a pattern is a text or a parameter here");
    (*i)++;
    return WR_OK;
}

static wr_status cast_behind(writer *w, uint32_t *i, wr_err *err) {
    const pg_tok *t = &w->q->toks.list.at[*i];
    wr_type       type;
    uint32_t      n;
    if (pg_is(t + 1, "interval")) {
        wr_str before = w->out.list.n ? w->out.list.at[w->out.list.n - 1].text : (wr_str){0};
        if (before.len > 2 && before.ptr[0] == '\'') {
            w->out.list.n--;
            if (interval(w, (wr_str){before.ptr + 1, before.len - 2}, t->at)) return *i += 2, WR_OK;
        }
        return query_fail_at(t, err, "0A000", "only a text such as '1 hour' can be cast to an interval");
    }
    if (!query_pg_type(t + 1, &n, &type)) return query_fail_at(t + 1, err, "42704", "type \"%.*s\" does not exist", WR_FMT(t[1].text));
    if (pg_is_char(t + 1 + n, '[')) return query_fail_at(t + 1, err, "0A000", "casts to arrays are not supported");
    pg_piece_wrap(&w->out, "CAST");
    putz(w, " AS ", t->at);
    put(w, type_text(w, type), t->at);
    putz(w, ")", t->at);
    *i += 1 + n;
    return WR_OK;
}

static bool opens(writer *w, wr_str close, bool cast) {
    if (w->depth == WR_COUNT_OF(w->paren)) return false;
    w->paren[w->depth].close = close;
    w->paren[w->depth++].cast = cast;
    return true;
}

static wr_status nested(const pg_tok *t, wr_err *err) { return query_fail_at(t, err, "54001", "the statement is nested too deeply"); }

static wr_status word(writer *w, uint32_t *i, wr_err *err) {
    const pg_tok *t = &w->q->toks.list.at[*i];
    wr_type       type;
    uint32_t      n;
    bool          not_before = *i && pg_is(t - 1, "not");
    if (!w->depth && (pg_is(t, "union") || pg_is(t, "intersect") || pg_is(t, "except"))) w->items.n_items = 0; /* they are the first SELECT's */
    if (!w->depth && pg_is(t, "group") && pg_is(t + 1, "by")) w->grouping = true;
    if (!w->depth && (pg_is(t, "having") || pg_is(t, "order") || pg_is(t, "limit") || pg_is(t, "union") || pg_is(t, "window") || pg_is(t, "offset") || pg_is(t, "fetch"))) w->grouping = false;
    if (pg_is(t, "ilike")) {
        if (not_before) w->out.list.n--;
        return matching(w, i, true, true, not_before, err);
    }
    if ((pg_is(t, "public") || (pg_is(t, "pg_catalog"))) && pg_is_char(t + 1, '.')) return *i += 2, WR_OK;
    if (pg_is(t, "date_trunc") && pg_is_char(t + 1, '(') && pg_is_text(t + 2) && pg_is_char(t + 3, ',')) {
        wr_str unit = pg_text(w->arena, t + 2);
        for (size_t k = 0; k < unit.len; k++)
            if ((unit.ptr[k] | 32) < 'a' || (unit.ptr[k] | 32) > 'z') return query_fail_at(t + 2, err, "22023", "\"%.*s\" is not a unit of time", WR_FMT(unit));
        putz(w, "FLOOR", t->at), putz(w, "(", t->at);
        if (!opens(w, wr_str_of(wr_arena_printf(w->arena, " TO %.*s", WR_FMT(unit))), false)) return nested(t, err);
        return *i += 4, WR_OK;
    }
    if (pg_is(t, "interval") && pg_is_text(t + 1) && !pg_is_name(t + 2)) {
        if (interval(w, pg_text(w->arena, t + 1), t->at)) return *i += 2, WR_OK;
    }
    if (pg_is(t, "cast") && pg_is_char(t + 1, '(')) {
        putz(w, "CAST", t->at), putz(w, "(", t->at);
        if (!opens(w, (wr_str){0}, true)) return nested(t, err);
        return *i += 2, WR_OK;
    }
    if (pg_is(t, "as") && w->depth && w->paren[w->depth - 1].cast && query_pg_type(t + 1, &n, &type)) {
        putz(w, "AS", t->at), put(w, type_text(w, type), t->at);
        return *i += 1 + n, WR_OK;
    }
    if (pg_is(t, "limit") && pg_is(t + 1, "all")) return *i += 2, WR_OK;
    put(w, as_declared(w, t), t->at);
    (*i)++;
    return WR_OK;
}

static wr_status operator_(writer *w, uint32_t *i, wr_err *err) {
    const pg_tok *t = &w->q->toks.list.at[*i];
    if (pg_is_op(t, "::")) return cast_behind(w, i, err);
    if (pg_is_op(t, "~") || pg_is_op(t, "~*") || pg_is_op(t, "!~") || pg_is_op(t, "!~*"))
        return matching(w, i, false, t->text.ptr[t->text.len - 1] == '*', t->text.ptr[0] == '!', err);
    if (pg_is_op(t, "~~*") || pg_is_op(t, "!~~*")) return matching(w, i, true, true, t->text.ptr[0] == '!', err);
    if (pg_is_op(t, "!=")) putz(w, "<>", t->at);
    else if (pg_is_op(t, "~~")) putz(w, "LIKE", t->at);
    else if (pg_is_op(t, "!~~")) putz(w, "NOT LIKE", t->at);
    else put(w, t->text, t->at);
    (*i)++;
    return WR_OK;
}

static wr_status punctuation(writer *w, uint32_t *i, wr_err *err) {
    const pg_tok *t = &w->q->toks.list.at[*i];
    if (pg_is_char(t, ';')) return query_fail_at(t, err, "42601", "one statement at a time");
    if (pg_is_char(t, '(') && !opens(w, (wr_str){0}, false)) return nested(t, err);
    if (pg_is_char(t, ')') && w->depth && w->paren[--w->depth].close.len) put(w, w->paren[w->depth].close, t->at);
    if (!strchr("()[],.:", t->text.ptr[0])) return query_fail_at(t, err, "42601", "syntax error at or near \"%.*s\"", WR_FMT(t->text));
    put(w, t->text, t->at);
    (*i)++;
    return WR_OK;
}

static wr_status token(writer *w, uint32_t *i, wr_err *err);

/* GROUP BY 1, and by the name of a column of the list: PostgreSQL means what stands there. */
static bool grouped(writer *w, uint32_t *i, wr_status *status, wr_err *err) {
    const pg_tok *t = &w->q->toks.list.at[*i];
    uint32_t      item = UINT32_MAX;
    wr_type       column;
    if (!w->grouping || w->inside || w->depth || !*i || !(pg_is(t - 1, "by") || pg_is_char(t - 1, ',')) || !(t[1].kind == PG_END || t[1].kind == PG_WORD || pg_is_char(t + 1, ','))) return false;
    if (t->kind == PG_NUMBER) item = (uint32_t)small_number(t) - 1;
    else if (pg_is_name(t) && !query_column(w->q, t, &column))
        for (uint32_t k = 0; k < w->items.n_items; k++)
            if (w->items.names[k].ptr && wr_str_eq(w->items.names[k], pg_name(w->arena, t))) item = k;
    if (item >= w->items.n_items) return false;
    w->inside = true; /* what is put in is not looked at again */
    for (uint32_t k = w->items.from[item]; k < w->items.to[item] && *status == WR_OK;) *status = token(w, &k, err);
    w->inside = false, w->grouping = true;
    (*i)++;
    return true;
}

static wr_status token(writer *w, uint32_t *i, wr_err *err) {
    const pg_tok *t = &w->q->toks.list.at[*i];
    wr_status     status = WR_OK;
    if (grouped(w, i, &status, err)) return status;
    switch (t->kind) {
    case PG_WORD: return word(w, i, err);
    case PG_QUOTED: {
        wr_str name = pg_name(w->arena, t);
        if (wr_str_eq(name, WR_STR("public")) && pg_is_char(t + 1, '.')) return *i += 2, WR_OK;
        put(w, quoted(w->arena, name, '`'), t->at);
        break;
    }
    case PG_STRING:
    case PG_ESTRING:
    case PG_DOLLAR: text(w, *i); break;
    case PG_PARAM:
        if (t->param < 1 || t->param > w->n_params) return query_fail_at(t, err, "42P02", "there is no parameter $%u", t->param);
        parameter(w, t);
        break;
    case PG_OP: return operator_(w, i, err);
    case PG_CHAR: return punctuation(w, i, err);
    case PG_BITS:
    case PG_NUMBER:
    case PG_END: put(w, t->text, t->at); break;
    }
    (*i)++;
    return WR_OK;
}

wr_status text_translate(const query *q, const wr_value *params, uint32_t n_params, wr_arena *arena, wr_sbuf *out, text_places *places, wr_err *err) {
    writer w = {.q = q, .params = params, .n_params = n_params, .arena = arena, .out = {.arena = arena}, .items = catalog_items(arena, &q->toks)};
    for (uint32_t i = 0; q->toks.list.at[i].kind != PG_END;) WR_TRY(token(&w, &i, err));
    for (uint32_t i = 0; i < w.out.list.n; i++) {
        wr_arr_apush(arena, &places->list, (text_place){(uint32_t)out->len, w.out.list.at[i].at});
        wr_sbuf_add_str(out, w.out.list.at[i].text);
        if (!pg_piece_tight(&w.out, i)) wr_sbuf_addc(out, ' ');
    }
    return WR_OK;
}

uint32_t text_place_of(const text_places *places, uint32_t out) {
    uint32_t in = 0;
    for (uint32_t i = 0; i < places->list.n && places->list.at[i].out <= out; i++) in = places->list.at[i].in;
    return in;
}
