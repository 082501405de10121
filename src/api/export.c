/* api/export.c: `weir export flink`: the script as Flink 2.x takes it.
 *
 * Idea       the SQL is Flink's already; what differs are options of connectors and settings that only weir has. So the text is kept as it was
 *            written, comments included, and only CREATE TABLE statements with such options, and such SETs, are replaced. An option
 *            has one of four fates: kept, renamed, translated (a value too), or left out with a sentence on what Flink does instead.
 * Invariant  nothing is left out silently: each option that Flink does not know gives a note, hints for the bill and what has
 *            no meaning behind another connector excepted.                                                                */
#include "api/export.h"
#include <stdarg.h>
#include <stdio.h>

typedef struct rule {
    const char *connector; /* NULL: any */
    const char *key;       /* ends with '*': a prefix */
    const char *to;        /* renamed to; NULL: left out */
    const char *note;      /* what differs; NULL: nothing to say */
} rule;

/* The first rule that fits counts. Options without a rule are kept. */
static const rule RULES[] = {
    {NULL, "stats.*", NULL, NULL},
    {NULL, "contract.*", NULL, NULL}, /* 'weir contract' has them in a file of its own */
    {NULL, "needs.*", NULL, NULL},
    {NULL, "dead-letter.path", NULL, "bad records are not kept: Flink has no dead-letter file for this connector"},
    {NULL, "dead-letter.table", NULL, "bad records are not kept: Flink has no table of dead letters for this connector"},
    {NULL, "on-error.*", NULL, NULL},
    {NULL, "watermark.future-guard", NULL, "rows dated far ahead move the watermark: Flink has no 'watermark.future-guard'"},
    {NULL, "watermark.late", NULL, "late rows are not kept: Flink has no dead letters for them"},
    {NULL, "watermark.alignment", NULL, "partitions are not aligned: in Flink 'scan.watermark.alignment.group', '.max-drift' and '.update-interval', for connectors that support it"},
    {NULL, "scan.idle-timeout", "scan.watermark.idle-timeout", NULL},
    {NULL, "max-record-bytes", NULL, "the length of a record is not bounded"},
    {"filesystem", "source.mode", NULL, NULL}, /* see translate */
    {"filesystem", "envelope", NULL, "Flink reads no envelope from files: it would come from the Kafka connector"},
    {"filesystem", "sink.if-exists", NULL, "Flink adds files to the directory of a sink"},
    {"datagen", "seed", NULL, "the rows are others: Flink's datagen has no seed"},
    {"postgres-cdc", "connection.max-retry-timeout", NULL, NULL},
    {"sqlite", "path", "url", NULL}, /* see translate */
    {"sqlite", "table", "table-name", NULL},
    {"sqlite", "create-table", NULL, "the table must be there already"},
    {"sqlite", "sink.busy-timeout", NULL, NULL},
    {"sqlite", "sink.job", NULL, NULL},
};

typedef struct exporter {
    wr_arena        *arena;
    wr_export_notes *notes;
    wr_sbuf          comments; /* of the statement in hand */
    uint32_t         line;
} exporter;

WR_PRINTF(2, 3) static void note(exporter *x, const char *fmt, ...) {
    wr_export_note n = {.line = x->line};
    va_list        args;
    va_start(args, fmt);
    vsnprintf(n.text, sizeof n.text, fmt, args);
    va_end(args);
    wr_arr_push(x->notes, n);
    wr_sbuf_printf(&x->comments, "-- differs: %s\n", n.text);
}

static wr_ast_text text_of(exporter *x, wr_str s) { return (wr_ast_text){.text = wr_str_dup(x->arena, s)}; }
static wr_str option_value(const wr_ast_options *options, const char *key) {
    for (uint32_t i = 0; i < options->n; i++)
        if (wr_str_eq(options->at[i].key.text, wr_str_of(key))) return options->at[i].value.text;
    return (wr_str){0};
}

static const rule *rule_of(wr_str connector, wr_str key) {
    for (size_t i = 0; i < WR_COUNT_OF(RULES); i++) {
        const rule *r = &RULES[i];
        size_t      n = strlen(r->key);
        bool        prefix = r->key[n - 1] == '*';
        if (r->connector && !wr_str_eq(connector, wr_str_of(r->connector))) continue;
        if (prefix ? wr_str_starts(key, (wr_str){r->key, n - 1}) : wr_str_eq(key, wr_str_of(r->key))) return r;
    }
    return NULL;
}

static void add_option(exporter *x, wr_ast_options *to, wr_str key, wr_str value) {
    wr_ast_option o = {text_of(x, key), text_of(x, value)};
    wr_arr_apush(x->arena, to, o);
}

/* Options whose value changes, or that become others. True: done. */
static bool translate(exporter *x, wr_str connector, wr_str format, const wr_ast_option *o, wr_ast_options *to) {
    wr_str key = o->key.text, value = o->value.text;
    if (wr_str_eq(key, WR_STR("connector")) && wr_str_eq(value, WR_STR("sqlite"))) {
        note(x, "the JDBC connector needs a dialect for SQLite on Flink's class path; rows are written by key, not once per checkpoint");
        return add_option(x, to, key, WR_STR("jdbc")), true;
    }
    if (wr_str_eq(connector, WR_STR("sqlite")) && wr_str_eq(key, WR_STR("path"))) {
        char url[1200];
        snprintf(url, sizeof url, "jdbc:sqlite:%.*s", (int)WR_MIN(value.len, 1100u), value.ptr);
        return add_option(x, to, WR_STR("url"), wr_str_of(url)), true;
    }
    if (wr_str_eq(connector, WR_STR("filesystem")) && wr_str_eq(key, WR_STR("source.mode"))) {
        if (wr_str_ieq(value, WR_STR("tail"))) {
            add_option(x, to, WR_STR("source.monitor-interval"), WR_STR("1 s"));
            note(x, "Flink sees new files, not bytes added to a file that it has read");
        }
        return true;
    }
    if (wr_str_eq(key, WR_STR("on-error"))) {
        bool knows = wr_str_eq(format, WR_STR("json")) || wr_str_eq(format, WR_STR("csv")) || wr_str_eq(format, WR_STR("debezium-json"));
        if (wr_str_ieq(value, WR_STR("fail"))) return true;
        if (knows) {
            char name[64];
            snprintf(name, sizeof name, "%.*s.ignore-parse-errors", WR_FMT(format));
            add_option(x, to, wr_str_of(name), WR_STR("true"));
        }
        note(x, knows ? "bad records are skipped without a count, and a bad field becomes NULL" : "a bad record stops the job");
        return true;
    }
    if (wr_str_eq(key, WR_STR("format")) && wr_str_eq(value, WR_STR("upsert-json"))) {
        note(x, "Flink has no format 'upsert-json': use the upsert-kafka connector");
        return add_option(x, to, key, WR_STR("json")), true;
    }
    if (wr_str_eq(connector, WR_STR("filesystem")) && wr_str_eq(key, WR_STR("path"))) {
        bool has_list = memchr(value.ptr, ',', value.len) || memchr(value.ptr, '*', value.len) || memchr(value.ptr, '[', value.len);
        if (has_list) note(x, "Flink takes one file or directory in 'path' (and 'source.path.regex-pattern'), no globs or lists");
        else if (value.len && value.ptr[0] != '/' && value.ptr[0] != '$' && !memchr(value.ptr, ':', value.len)) note(x, "a relative path is looked up by Flink's workers, not beside the script");
        return add_option(x, to, key, value), true;
    }
    return false;
}

static void export_table(exporter *x, wr_ast_create_table *t) {
    wr_str         connector = option_value(&t->options, "connector"), format = option_value(&t->options, "format");
    wr_ast_options to = {0};
    if (wr_str_eq(connector, WR_STR("nexmark")) || wr_str_eq(connector, WR_STR("ridelo")))
        note(x, "Flink has no connector '%.*s': write the events with 'weir gen %.*s' and read them with 'filesystem'", WR_FMT(connector), WR_FMT(connector));
    if (wr_str_eq(connector, WR_STR("push")) || wr_str_eq(connector, WR_STR("callback")))
        note(x, "'%.*s' exists only in a program that embeds libweir", WR_FMT(connector));
    for (uint32_t i = 0; i < t->options.n; i++) {
        const wr_ast_option *o = &t->options.at[i];
        if (translate(x, connector, format, o, &to)) continue;
        const rule *r = rule_of(connector, o->key.text);
        if (r && r->note) note(x, "%s", r->note);
        if (!r) wr_arr_apush(x->arena, &to, *o);
        else if (r->to) add_option(x, &to, wr_str_of(r->to), o->value.text);
    }
    if (wr_str_eq(connector, WR_STR("postgres-cdc"))) { /* where the defaults differ */
        bool keyed = false;
        for (uint32_t i = 0; i < t->constraints.n; i++) keyed |= !t->constraints.at[i].unique;
        for (uint32_t i = 0; i < t->columns.n; i++) keyed |= t->columns.at[i].primary_key;
        if (keyed && !option_value(&t->options, "changelog-mode").ptr) add_option(x, &to, WR_STR("changelog-mode"), WR_STR("upsert"));
        if (!option_value(&t->options, "decoding.plugin.name").ptr) add_option(x, &to, WR_STR("decoding.plugin.name"), WR_STR("pgoutput"));
    }
    if (wr_str_eq(connector, WR_STR("sqlite")) && !option_value(&t->options, "table").ptr && t->name.n) add_option(x, &to, WR_STR("table-name"), t->name.part[t->name.n - 1].text);
    t->options = to;
}

/* NULL text: the statement is left out. */
static bool export_set(exporter *x, const wr_ast_set *s) {
    static const char *const FLINK[] = {"table.", "execution.", "parallelism.", "pipeline.", "restart-strategy", "sql-client.", "state.backend", "state.checkpoints", "state.savepoints"};
    if (!s->key.text.ptr) return true;
    for (size_t i = 0; i < WR_COUNT_OF(FLINK); i++)
        if (wr_str_starts(s->key.text, wr_str_of(FLINK[i]))) return true;
    if (wr_str_eq(s->key.text, WR_STR("state.unbounded"))) note(x, "Flink runs queries whose state nothing bounds without asking: '%.*s' is left out", WR_FMT(s->key.text));
    else note(x, "the setting '%.*s' is weir's and is left out", WR_FMT(s->key.text));
    return false;
}

/* ---- hints ---- */

static size_t past(wr_str t, size_t at, const char *end) { /* where the first `end` at or behind `at` is over */
    const char *found = at < t.len ? memmem(t.ptr + at, t.len - at, end, strlen(end)) : NULL;
    return found ? (size_t)(found - t.ptr) + strlen(end) : t.len;
}
/* What is no SQL at `at`: a literal, a quoted name, a comment (not a hint); its end, or `at`. */
static size_t past_quoted(wr_str t, size_t at) {
    if (t.ptr[at] == '\'') return past(t, at + 1, "'"); /* '' is two of them */
    if (t.ptr[at] == '`') return past(t, at + 1, "`");
    if (at + 1 < t.len && t.ptr[at] == '-' && t.ptr[at + 1] == '-') return past(t, at, "\n");
    if (at + 1 < t.len && t.ptr[at] == '/' && t.ptr[at + 1] == '*' && !(at + 2 < t.len && t.ptr[at + 2] == '+')) return past(t, at + 2, "*/");
    return at;
}
/* The hints between the marks without SPLIT(...). False: there is none of those. */
static bool other_hints(wr_str hints, wr_sbuf *out) {
    bool found = false;
    for (size_t at = 0; at < hints.len;) {
        size_t end = at;
        while (end < hints.len && hints.ptr[end] != '(' && hints.ptr[end] != ',') end++;
        wr_str name = wr_str_trim((wr_str){hints.ptr + at, end - at});
        if (end < hints.len && hints.ptr[end] == '(')
            while (end < hints.len && hints.ptr[end] != ')') end = hints.ptr[end] == '\'' ? past_quoted(hints, end) : end + 1;
        while (end < hints.len && hints.ptr[end] != ',') end++;
        wr_str one = wr_str_trim((wr_str){hints.ptr + at, WR_MIN(end, hints.len) - at});
        bool split = wr_str_ieq(name, WR_STR("SPLIT"));
        if (one.len && !split) wr_sbuf_printf(out, "%s%.*s", out->len ? ", " : "", WR_FMT(one));
        found |= split;
        at = end + 1;
    }
    return found;
}
/* Hot keys of joins are spread by weir only. True: there was such a hint; *out is the text without. */
static bool drop_splits(exporter *x, wr_str t, wr_sbuf *out) {
    bool any = false;
    for (size_t at = 0, end; at < t.len; at = end) {
        end = past_quoted(t, at);
        if (end == at) end = at + 1;
        if (t.ptr[at] == '/' && at + 2 < t.len && t.ptr[at + 1] == '*' && t.ptr[at + 2] == '+') {
            end = past(t, at + 3, "*/");
            wr_sbuf rest = {0};
            bool    drops = end >= at + 5 && other_hints((wr_str){t.ptr + at + 3, end - at - 5}, &rest);
            if (drops && rest.len) wr_sbuf_printf(out, "/*+ %.*s */", WR_FMT(wr_sbuf_str(&rest)));
            if (drops && !rest.len && end < t.len && t.ptr[end] == ' ') end++;
            wr_sbuf_free(&rest);
            any |= drops;
            if (drops) continue;
        }
        wr_sbuf_add(out, t.ptr + at, end - at);
    }
    if (any) note(x, "the hint SPLIT is weir's and is left out: Flink spreads no hot key of a join");
    return any;
}

static size_t word_at(wr_str t, size_t at) { /* its length */
    size_t n = 0;
    while (at + n < t.len && (t.ptr[at + n] == '_' || (t.ptr[at + n] | 0x20) - 'a' + 0u < 26 || (n && t.ptr[at + n] - '0' + 0u < 10))) n++;
    return n;
}
static bool followed_by(wr_str t, size_t at, const char *what) { /* behind white space */
    while (at < t.len && (t.ptr[at] == ' ' || t.ptr[at] == '\t' || t.ptr[at] == '\n' || t.ptr[at] == '\r')) at++;
    return wr_str_starts((wr_str){t.ptr + at, t.len - at}, wr_str_of(what));
}
/* ASSIGN is a function that Flink's user provides; two of its arguments are reserved words there. True: *out is the text with those quoted. */
static bool quote_assign(exporter *x, wr_str t, wr_sbuf *out) {
    bool calls = false, any = false;
    for (size_t at = 0, end; at < t.len; at = end) {
        end = past_quoted(t, at);
        wr_str word = {t.ptr + at, end == at ? word_at(t, at) : 0};
        if (end == at) end = at + WR_MAX(word.len, (size_t)1);
        calls |= wr_str_ieq(word, WR_STR("ASSIGN")) && followed_by(t, end, "(");
        bool quote = calls && (wr_str_ieq(word, WR_STR("every")) || wr_str_ieq(word, WR_STR("hold"))) && followed_by(t, end, "=>");
        wr_sbuf_printf(out, quote ? "`%.*s`" : "%.*s", (int)(end - at), t.ptr + at);
        any |= quote;
    }
    if (calls) note(x, "ASSIGN is weir's: Flink needs a process table function of that name (docs/dispatch.md), and SELECT * has the partition columns of both tables there");
    return any;
}

/* False: a function of a shared object, which Flink cannot load. */
static bool export_function(exporter *x, const wr_ast_create_function *f) {
    wr_sbuf name = {0};
    bool    is_c = f->libraries.n || wr_str_ieq(f->language.text, WR_STR("C"));
    if (!is_c) return true;
    wr_sql_name_text(f->name, &name);
    note(x, "function %.*s is C ('%.*s'), which Flink does not load: write it in Java, Scala or Python and CREATE FUNCTION it here", WR_FMT(wr_sbuf_str(&name)), WR_FMT(f->implementation.text));
    wr_sbuf_free(&name);
    return false;
}

/* Nothing in Flink keeps a query's rows for readers: it is a plain view there. */
static void export_view(exporter *x, wr_ast_stmt *s, wr_sbuf *out) {
    wr_sbuf name = {0};
    wr_sql_name_text(s->create_view.name, &name);
    note(x, "materialized view %.*s is a plain view: Flink keeps no rows for readers; INSERT INTO a table of a database, by its key, and ask that", WR_FMT(wr_sbuf_str(&name)));
    s->create_view.materialized = s->create_view.or_replace = s->create_view.or_alter = false;
    s->create_view.options.n = 0;
    wr_sql_format(s, out);
    wr_sbuf_free(&name);
}

/* A changed statement: AST to text; otherwise as it was written. */
static void export_stmt(exporter *x, wr_ast_stmt *s, wr_sbuf *out) {
    wr_sbuf changed = {0};
    bool    keep = true;
    x->line = s->at.line;
    wr_sbuf_clear(&x->comments);
    if (s->kind == WR_STMT_CREATE_TABLE) {
        wr_sbuf before = {0};
        wr_sql_format(s, &before);
        export_table(x, &s->create_table);
        wr_sql_format(s, &changed);
        if (wr_str_eq(wr_sbuf_str(&before), wr_sbuf_str(&changed))) wr_sbuf_clear(&changed);
        wr_sbuf_free(&before);
    } else if (s->kind == WR_STMT_SET) {
        keep = export_set(x, &s->set);
    } else if (s->kind == WR_STMT_CREATE_FUNCTION || s->kind == WR_STMT_ALTER_FUNCTION) {
        keep = export_function(x, &s->create_function);
    } else if (s->kind == WR_STMT_CREATE_VIEW && s->create_view.materialized) {
        wr_sbuf rest = {0};
        export_view(x, s, &changed);
        quote_assign(x, wr_sbuf_str(&changed), &rest); /* what is reserved is quoted by then */
        wr_sbuf_free(&rest);
    } else {
        wr_sbuf plain = {0};
        bool    splits = drop_splits(x, s->text, &plain), quoted = quote_assign(x, splits ? wr_sbuf_str(&plain) : s->text, &changed);
        if (!quoted) wr_sbuf_clear(&changed);
        if (splits && !quoted) wr_sbuf_add_str(&changed, wr_sbuf_str(&plain));
        wr_sbuf_free(&plain);
    }
    wr_sbuf_add_str(out, wr_sbuf_str(&x->comments));
    if (keep) wr_sbuf_add_str(out, changed.len ? wr_sbuf_str(&changed) : s->text);
    wr_sbuf_free(&changed);
}

wr_status wr_export_flink(uint32_t file, wr_str text, wr_diags *diags, wr_sbuf *out, wr_export_notes *notes) {
    exporter   x = {.arena = wr_arena_new(NULL), .notes = notes};
    wr_script *script = NULL;
    wr_status  status = wr_sql_parse(x.arena, file, text, diags, &script);
    size_t     at = 0;
    for (uint32_t i = 0; status == WR_OK && i < script->stmts.n; i++) { /* what stands between statements is kept as it is */
        wr_ast_stmt *s = script->stmts.at[i];
        const char  *found = memmem(text.ptr + at, text.len - at, s->text.ptr, s->text.len);
        wr_assert(found);
        wr_sbuf_add(out, text.ptr + at, (size_t)(found - text.ptr) - at);
        size_t before = out->len;
        export_stmt(&x, s, out);
        at = (size_t)(found - text.ptr) + s->text.len;
        bool left_out = out->len == before + x.comments.len;
        const char *semi = at < text.len ? memchr(text.ptr + at, ';', text.len - at) : NULL;
        if (left_out && semi) at = (size_t)(semi + 1 - text.ptr);
    }
    if (status == WR_OK) wr_sbuf_add(out, text.ptr + at, text.len - at);
    wr_sbuf_free(&x.comments);
    wr_arena_free(x.arena);
    return status;
}
