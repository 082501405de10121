/* sql/parse.c: the driver: text to statements, one at a time, so that each error costs one statement and no more.
 *
 * Idea       tokens are collected up to ';'. For each one the driver decides keyword or name (a keyword is taken only where the grammar
 *            can take it), asks the grammar whether it fits, and feeds it. STATEMENT SET brackets are the driver's, because a ';'
 *            stands inside them. What weir refuses by name is recognised by its first words.
 * Invariant  a statement is in the result only if the lexer and the grammar had nothing against it.
 * Memory     the text is copied into the arena; token array, state stacks and parser are freed before returning.            */
#include "driver.h"
#include "grammar.h"
#include <stdio.h>

/* ---- keyword or name ---- */

static int next_code(const wr_driver *d, uint32_t i) { return i < d->tokens.n ? d->tokens.at[i].code : 0; }

static bool is_unit(int code) {
    return code == TK_YEAR || code == TK_QUARTER || code == TK_MONTH || code == TK_WEEK || code == TK_DAY || code == TK_HOUR ||
           code == TK_MINUTE || code == TK_SECOND;
}

/* FREE words that look one token ahead, so that they can be names more often. */
static bool fits_next(int code, int next, int after_next) {
    switch (code) {
    case TK_IF: return next == TK_NOT || next == TK_EXISTS;
    case TK_GROUPING: return next == TK_SETS;
    case TK_WATERMARK: return next == TK_FOR || next == TK_COMMA || next == TK_RP || next == 0 || after_next == TK_AS;
    case TK_PRIMARY: return next == TK_KEY;
    case TK_IGNORE:
    case TK_RESPECT: return next == TK_NULLS;
    case TK_KEY: return next != TK_VALUE;
    default: return true;
    }
}

static int bracket_code(const wr_driver *d, uint32_t i, int code, int next) {
    uint32_t at = i + 1;
    while (next_code(d, at) == TK_LP) at++;
    int  inside = at > i + 1 ? next_code(d, at) : 0;
    bool query = inside == TK_SELECT || inside == TK_WITH || inside == TK_VALUES || inside == TK_TABLE;
    bool opens = next == TK_LB || next == TK_LT || query || (next == TK_LP && code != TK_MAP);
    if (opens && wr_sql_accepts(d->grammar, code)) return code;
    int postfix = code == TK_ARRAY ? TK_ARRAY_POSTFIX : TK_MULTISET_POSTFIX;
    if (code != TK_MAP && wr_sql_accepts(d->grammar, postfix)) return postfix;
    return TK_ID;
}

static int interval_code(const wr_driver *d, uint32_t i, int next) {
    bool literal = next == TK_STRING || ((next == TK_MINUS || next == TK_PLUS) && next_code(d, i + 2) == TK_STRING);
    return (literal || is_unit(next)) && wr_sql_accepts(d->grammar, TK_INTERVAL) ? TK_INTERVAL : TK_ID;
}

/* The code with which token i could be fed now: a word that is a keyword only in places is a name elsewhere. */
static int driver_code(const wr_driver *d, uint32_t i, int previous) {
    const wr_token *t = &d->tokens.at[i];
    int             code = t->code, next = next_code(d, i + 1);
    if (t->mode == WR_KW_NOT) return code;
    if (previous == TK_DOT) return TK_ID;
    switch ((wr_kw_mode)t->mode) {
    case WR_KW_RESERVED:
        if (code == TK_WITH && (next == TK_TIME || next == TK_LOCAL) && wr_sql_accepts(d->grammar, TK_WITH_ZONE)) return TK_WITH_ZONE;
        return code;
    case WR_KW_FREE:
        if (code == TK_WITHOUT && next == TK_TIME && wr_sql_accepts(d->grammar, TK_WITHOUT_ZONE)) return TK_WITHOUT_ZONE;
        return fits_next(code, next, next_code(d, i + 2)) && wr_sql_accepts(d->grammar, code) ? code : TK_ID;
    case WR_KW_CALL: return next == TK_LP && wr_sql_accepts(d->grammar, code) ? code : TK_ID;
    case WR_KW_JOIN: return next == TK_LP ? TK_ID : code;
    case WR_KW_LITERAL:
        if (next == TK_STRING && wr_sql_accepts(d->grammar, code)) return code;
        return code == TK_TIME && (previous == TK_WITH_ZONE || previous == TK_WITHOUT_ZONE || previous == TK_LOCAL) ? code : TK_ID;
    case WR_KW_INTERVAL: return interval_code(d, i, next);
    case WR_KW_BRACKET: return bracket_code(d, i, code, next);
    case WR_KW_NILADIC: return next != TK_LP && wr_sql_accepts(d->grammar, code) ? code : TK_ID;
    case WR_KW_RUNNING: {
        uint32_t at = i + 2; /* behind the first part of a name */
        while (next_code(d, at) == TK_DOT) at += 2;
        bool call = i + 1 < d->tokens.n && next != TK_LP && next != TK_DOT && next_code(d, at) == TK_LP;
        return call && wr_sql_accepts(d->grammar, code) ? code : TK_ID;
    }
    case WR_KW_END:
        if (wr_sql_accepts(d->grammar, code)) return code;
        return previous == TK_AS || previous == TK_COMMA || previous == TK_LP || previous == TK_SELECT ? TK_ID : code;
    case WR_KW_NOT: break;
    }
    return code;
}

/* ---- one statement ---- */

static void remember(wr_driver *d, uint32_t i) {
    uint32_t slot = i % WR_LOOK_BACK;
    wr_sql_states_copy(d->grammar, d->before[slot]);
    d->before_index[slot] = i + 1;
}

/* Feeds tokens [from, tokens.n). True if they are one whole input. */
static bool run(wr_driver *d, uint32_t from) {
    wr_parse *ctx = &d->ctx;
    int       previous = 0;
    ctx->failed = false;
    ctx->stmt = NULL, ctx->expr = NULL, ctx->type = NULL, ctx->query = NULL;
    memset(d->before_index, 0, sizeof d->before_index);
    wr_sql_grammar_start(d->grammar);
    if (d->entry) wr_sql_grammar_feed(d->grammar, d->entry, NULL, ctx);
    for (uint32_t i = from; i < d->tokens.n && !ctx->failed; i++) {
        const wr_token *t = &d->tokens.at[i];
        int             code = driver_code(d, i, previous);
        ctx->at = wr_token_span(ctx, t);
        if (wr_sql_grammar_depth(d->grammar) > WR_SQL_STACK_MAX - 64) {
            wr_parse_fail(ctx, "54001", ctx->at, "nested too deeply");
        } else if (!wr_sql_accepts(d->grammar, code)) {
            wr_driver_syntax_error(d, i);
        } else {
            if (code == TK_ID && !t->quoted) remember(d, i);
            wr_sql_grammar_feed(d->grammar, code, t, ctx);
        }
        previous = code;
    }
    if (!ctx->failed && !wr_sql_accepts(d->grammar, 0)) wr_driver_syntax_error(d, d->tokens.n);
    if (!ctx->failed) wr_sql_grammar_feed(d->grammar, 0, NULL, ctx);
    wr_sql_grammar_end(d->grammar);
    return !ctx->failed;
}

/* ---- what is refused by name ---- */

static bool word_is(const wr_driver *d, uint32_t i, const char *word) {
    return i < d->tokens.n && !d->tokens.at[i].quoted && wr_str_ieq(wr_token_text(&d->ctx, &d->tokens.at[i]), wr_str_of(word));
}

static const struct { const char *first, *second, *name; } REFUSED[] = {
    {"ANALYZE", "TABLE", "ANALYZE TABLE"},
    {"UPDATE", NULL, "UPDATE"},
    {"DELETE", "FROM", "DELETE"},
    {"MERGE", "INTO", "MERGE"},
    {"UPSERT", "INTO", "UPSERT INTO"},
    {"TRUNCATE", "TABLE", "TRUNCATE TABLE"},
    {"CALL", NULL, "CALL of procedures"},
    {"COMPILE", NULL, "COMPILE PLAN"},
    {"EXECUTE", "PLAN", "EXECUTE PLAN"},
    {"EXECUTE", "IMMEDIATE", "EXECUTE IMMEDIATE"},
    {"ADD", "JAR", "ADD JAR"},
    {"REMOVE", "JAR", "REMOVE JAR"},
    {"STOP", "JOB", "STOP JOB"},
    {"ALTER", "MATERIALIZED", "ALTER MATERIALIZED TABLE"},
    {"CREATE", "MODEL", "CREATE MODEL"},
    {"CREATE", "CONNECTION", "CREATE CONNECTION"},
    {"BEGIN", "TRANSACTION", "transactions"},
    {"COMMIT", NULL, "transactions"},
    {"ROLLBACK", NULL, "transactions"},
};

static void refuse(wr_driver *d, uint32_t i, const char *name) {
    wr_diags_add(d->ctx.diags, WR_SEV_ERROR, "0A000", wr_token_span(&d->ctx, &d->tokens.at[i]), "%s is not supported", name);
    static const char *const CHANGES[] = {"UPDATE", "DELETE", "MERGE", "TRUNCATE TABLE"};
    for (size_t k = 0; k < WR_COUNT_OF(CHANGES); k++)
        if (!strcmp(name, CHANGES[k])) wr_diags_hint(d->ctx.diags, "rows are not changed in place: INSERT INTO another table what they become");
    d->ctx.failed = true;
}

static bool refused(wr_driver *d, uint32_t from) {
    for (size_t i = 0; i < WR_COUNT_OF(REFUSED); i++) {
        if (!word_is(d, from, REFUSED[i].first)) continue;
        if (REFUSED[i].second ? !word_is(d, from + 1, REFUSED[i].second) : next_code(d, from + 1) == TK_LP) continue;
        refuse(d, from, REFUSED[i].name);
        return true;
    }
    static const char *const BEHIND_TABLE[] = {"PIVOT", "UNPIVOT", "TABLESAMPLE"};
    for (uint32_t i = from + 1; i + 1 < d->tokens.n; i++) {
        if (d->tokens.at[i].code != TK_ID || d->tokens.at[i].quoted || d->tokens.at[i].end - d->tokens.at[i].begin > 11) continue;
        int before = d->tokens.at[i - 1].code;
        if (before != TK_ID && before != TK_RP) continue;
        for (size_t k = 0; k < WR_COUNT_OF(BEHIND_TABLE); k++) {
            bool sample = k == 2, opens = next_code(d, i + 1) == TK_LP;
            if (!word_is(d, i, BEHIND_TABLE[k]) || !(opens || sample)) continue;
            refuse(d, i, BEHIND_TABLE[k]);
            return true;
        }
    }
    return false;
}

/* ---- STATEMENT SET ---- */

typedef struct open_set {
    wr_ast_stmt *set, *whole; /* whole is the EXPLAIN around it, or the set itself; NULL = none open */
    wr_span      at;
    uint32_t     begin;       /* byte in the text */
    bool         bad;
} open_set;

static uint32_t explain_detail(int code) {
    return code == TK_ESTIMATED_COST ? WR_EXPLAIN_COST : code == TK_CHANGELOG_MODE ? WR_EXPLAIN_CHANGELOG
           : code == TK_JSON_EXECUTION_PLAN ? WR_EXPLAIN_JSON : code == TK_PLAN_ADVICE ? WR_EXPLAIN_ADVICE : 0;
}

/* Recognises what opens a set; returns the number of tokens it takes, 0 if it is something else. */
static uint32_t set_opening(const wr_driver *d, bool *explain, uint32_t *details) {
    uint32_t i = 0;
    *explain = false;
    *details = 0;
    if (word_is(d, 0, "BEGIN") && word_is(d, 1, "STATEMENT") && word_is(d, 2, "SET")) return 3;
    if (word_is(d, 0, "EXECUTE") && word_is(d, 1, "STATEMENT")) {
        i = 1;
    } else if (next_code(d, 0) == TK_EXPLAIN) {
        *explain = true;
        for (i = 1; i < d->tokens.n && (next_code(d, i) == TK_COMMA || explain_detail(next_code(d, i)) || word_is(d, i, "PLAN") || word_is(d, i, "FOR")); i++) {
            *details |= explain_detail(next_code(d, i));
        }
    }
    if (!word_is(d, i, "STATEMENT") || !word_is(d, i + 1, "SET") || !word_is(d, i + 2, "BEGIN")) return 0;
    return i + 3;
}

static void open_the_set(wr_driver *d, open_set *set, bool explain, uint32_t details) {
    wr_parse       *ctx = &d->ctx;
    const wr_token *first = &d->tokens.at[0];
    wr_span         at = wr_token_span(ctx, first);
    if (set->whole) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "42601", at, "a STATEMENT SET cannot stand inside another one");
        set->bad = true;
        return;
    }
    *set = (open_set){.at = at, .begin = first->begin};
    set->set = set->whole = wr_mk_stmt(ctx, WR_STMT_SET_OF_INSERTS, first);
    if (explain) {
        set->whole = wr_mk_stmt(ctx, WR_STMT_EXPLAIN, first);
        set->whole->explain.details = details;
        set->whole->explain.stmt = set->set;
    }
}

static void close_set(wr_driver *d, open_set *set, wr_script *script) {
    const wr_token *last = &d->tokens.at[d->tokens.n - 1];
    if (!set->bad && !set->set->inserts.n) {
        wr_diags_add(d->ctx.diags, WR_SEV_ERROR, "42601", set->at, "the STATEMENT SET is empty");
        set->bad = true;
    }
    set->whole->text = set->set->text = (wr_str){d->ctx.text + set->begin, last->end - set->begin};
    if (set->bad) script->n_bad++;
    else wr_arr_apush(d->ctx.arena, &script->stmts, set->whole);
    *set = (open_set){0};
}

/* ---- the script ---- */

static bool collect(wr_driver *d, bool *lexed) {
    wr_token t;
    uint32_t errors = d->lexer.n_errors;
    d->tokens.n = 0;
    for (;;) {
        if (!wr_lexer_next(&d->lexer, &t)) {
            *lexed = errors == d->lexer.n_errors;
            return d->tokens.n > 0 || !*lexed;
        }
        if (t.code == TK_SEMI && !d->entry) break;
        wr_arr_push(&d->tokens, t);
    }
    *lexed = errors == d->lexer.n_errors;
    return true;
}

/* Place and text of the statement behind EXPLAIN. */
static void name_explained(wr_driver *d, wr_ast_stmt *stmt, uint32_t from) {
    uint32_t i = from + 1;
    if (next_code(d, i) == TK_PLAN) i += 2;
    while (explain_detail(next_code(d, i)) || next_code(d, i) == TK_COMMA) i++;
    const wr_token *first = &d->tokens.at[i];
    stmt->explain.stmt->at = wr_token_span(&d->ctx, first);
    stmt->explain.stmt->text = (wr_str){d->ctx.text + first->begin, d->tokens.at[d->tokens.n - 1].end - first->begin};
}

static void add_statement(wr_driver *d, open_set *set, wr_script *script, uint32_t from) {
    wr_parse    *ctx = &d->ctx;
    bool         ok = !refused(d, from) && run(d, from);
    wr_ast_stmt *stmt = ctx->stmt;
    if (ok) {
        const wr_token *first = &d->tokens.at[from];
        stmt->at = wr_token_span(ctx, first);
        stmt->text = (wr_str){ctx->text + first->begin, d->tokens.at[d->tokens.n - 1].end - first->begin};
        if (stmt->kind == WR_STMT_EXPLAIN) name_explained(d, stmt, from);
    }
    if (ok && set->whole && stmt->kind != WR_STMT_INSERT) {
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "42601", stmt->at, "only INSERT statements can stand in a STATEMENT SET");
        ok = false;
    }
    if (set->whole) {
        if (ok) wr_arr_apush(ctx->arena, &set->set->inserts, stmt);
        else set->bad = true;
        const wr_token *last = &d->tokens.at[d->tokens.n - 1];
        if (!ok && last->code == TK_END && ctx->at.line == last->line && ctx->at.col == last->col) { /* INSERT .. END without ';' */
            wr_diags_hint(ctx->diags, "a statement ends with ';': is one missing before END?");
            close_set(d, set, script);
        }
    } else if (ok) {
        wr_arr_apush(ctx->arena, &script->stmts, stmt);
    } else {
        script->n_bad++;
    }
}

static void parse_statements(wr_driver *d, wr_script *script) {
    open_set set = {0};
    bool     lexed;
    while (collect(d, &lexed)) {
        bool     explain;
        uint32_t details, from = 0;
        if (!lexed) {
            if (d->tokens.n && set_opening(d, &explain, &details)) open_the_set(d, &set, explain, details);
            if (set.whole) set.bad = true;
            else script->n_bad++;
            continue;
        }
        if (!d->tokens.n) continue; /* ;; */
        if (set.whole && d->tokens.n == 1 && next_code(d, 0) == TK_END) {
            close_set(d, &set, script);
            continue;
        }
        from = set_opening(d, &explain, &details);
        if (from) open_the_set(d, &set, explain, details);
        if (from < d->tokens.n) add_statement(d, &set, script, from);
    }
    if (set.whole) {
        wr_diags_add(d->ctx.diags, WR_SEV_ERROR, "42601", set.at, "the STATEMENT SET is not closed");
        wr_diags_hint(d->ctx.diags, "put END; behind its last INSERT");
        script->n_bad++;
    }
}

/* Says where the first byte is that is not UTF-8. */
static bool check_utf8(wr_driver *d, wr_str text) {
    if (wr_utf8_valid(text)) return true;
    const char *at = text.ptr, *end = text.ptr + text.len;
    wr_span     span = {d->ctx.file, 1, 1, 1};
    while (at < end) {
        size_t used;
        if ((unsigned char)*at >= 0x80 && wr_utf8_get(at, end, &used) == 0xFFFD && used == 1) break;
        if ((unsigned char)*at < 0x80) used = 1;
        if (*at == '\n') span.line++, span.col = 1;
        else span.col++;
        at += used;
    }
    wr_diags_add(d->ctx.diags, WR_SEV_ERROR, "22021", span, "byte 0x%02X is not UTF-8", at < end ? (unsigned char)*at : 0);
    wr_diags_hint(d->ctx.diags, "save the text as UTF-8");
    return false;
}

static bool driver_open(wr_driver *d, wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, int entry) {
    *d = (wr_driver){.ctx = {.arena = arena, .diags = diags, .file = file}, .entry = entry};
    if (text.len > WR_SQL_TEXT_BYTES_MAX) {
        wr_diags_add(diags, WR_SEV_ERROR, "54000", (wr_span){file, 1, 1, 1}, "the text has %zu bytes; the limit is %d", text.len, WR_SQL_TEXT_BYTES_MAX);
        return false;
    }
    if (!check_utf8(d, text)) return false;
    d->ctx.text = wr_arena_strndup(arena, text.len ? text.ptr : "", text.len);
    wr_lexer_init(&d->lexer, file, d->ctx.text, text.len, diags);
    d->grammar = wr_sql_grammar_new();
    for (uint32_t i = 0; i < WR_LOOK_BACK; i++) d->before[i] = wr_malloc(sizeof *d->before[i]);
    return true;
}

static void driver_close(wr_driver *d) {
    wr_arr_free(&d->tokens);
    for (uint32_t i = 0; i < WR_LOOK_BACK; i++) wr_free(d->before[i]);
    if (d->grammar) wr_sql_grammar_free(d->grammar);
}

wr_status wr_sql_parse(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_script **out) {
    wr_driver  d;
    uint32_t   errors = diags->n_errors;
    wr_script *script = wr_new(arena, wr_script);
    if (driver_open(&d, arena, file, text, diags, 0)) parse_statements(&d, script);
    driver_close(&d);
    *out = script;
    return diags->n_errors == errors ? WR_OK : WR_USER;
}

/* One expression, type or query. */
static wr_status parse_one(wr_driver *d, wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, int entry) {
    uint32_t errors = diags->n_errors;
    bool     lexed = false;
    if (driver_open(d, arena, file, text, diags, entry)) {
        collect(d, &lexed);
        if (lexed) run(d, 0);
    }
    driver_close(d);
    return diags->n_errors == errors ? WR_OK : WR_USER;
}

wr_status wr_sql_parse_expr(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_ast_expr **out) {
    wr_driver d;
    wr_status status = parse_one(&d, arena, file, text, diags, TK_ENTER_EXPR);
    *out = status == WR_OK ? d.ctx.expr : NULL;
    return status;
}

wr_status wr_sql_parse_type(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_ast_type **out) {
    wr_driver d;
    wr_status status = parse_one(&d, arena, file, text, diags, TK_ENTER_TYPE);
    *out = status == WR_OK ? d.ctx.type : NULL;
    return status;
}

wr_status wr_sql_parse_query(wr_arena *arena, uint32_t file, wr_str text, wr_diags *diags, wr_ast_query **out) {
    wr_driver d;
    wr_status status = parse_one(&d, arena, file, text, diags, TK_ENTER_QUERY);
    *out = status == WR_OK ? d.ctx.query : NULL;
    return status;
}
