/* serve/query.c: statements: which way each goes, its parameters, its answer as JSON. See query.h.                                 */
#include "serve/query_parts.h"
#include "format/format.h"
#include "serve/catalog.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

query_db *query_db_new(wr_world *world, const char *database) {
    query_db *db = wr_calloc(1, sizeof *db);
    *db = (query_db){.world = world, .database = database, .catalog = catalog_new(world, database)};
    return db;
}

void query_db_free(query_db *db) {
    if (!db) return;
    catalog_free(db->catalog);
    wr_free(db);
}

uint32_t query_views(wr_view **out, uint32_t max) {
    uint32_t n = wr_views_list(out, max);
    return WR_MIN(n, max);
}

/* ---- snapshots ---- */
query_snapshot *query_snapshot_new(void) {
    query_snapshot *s = wr_calloc(1, sizeof *s);
    s->refs = 1;
    s->n = query_views(s->views, QUERY_VIEWS_MAX);
    wr_view_pin_all(s->views, s->n, s->cuts);
    return s;
}

query_snapshot *query_snapshot_ref(query_snapshot *s) {
    if (s) atomic_fetch_add(&s->refs, 1);
    return s;
}

void query_snapshot_free(query_snapshot *s) {
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
    for (uint32_t i = 0; i < s->n; i++) {
        wr_view_unpin(s->cuts[i]);
        wr_view_unref(s->views[i]);
    }
    wr_free(s);
}

wr_view_cut *query_snapshot_cut(const query_snapshot *s, const wr_view *view) {
    for (uint32_t i = 0; s && i < s->n; i++)
        if (s->views[i] == view) return s->cuts[i];
    return NULL;
}

/* ---- ends from outside ---- */
void query_stop_init(query_stop *stop) { *stop = (query_stop){.lock = wr_mutex_new()}; }
void query_stop_free(query_stop *stop) { wr_mutex_free(stop->lock); }

/* ---- words ---- */
wr_status query_fail_at(const pg_tok *t, wr_err *err, const char *code, const char *fmt, ...) {
    char    text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wr_fail(err, code[0] == '0' && code[1] == 'A' ? WR_UNSUPPORTED : WR_USER, code, "%s", text);
    err->at.col = t->at + 1;
    return err->status;
}

static bool in_from(const pg_tok *t, uint32_t i) {
    if (i >= 2 && pg_is_char(&t[i - 1], '.')) i -= 2;
    if (i >= 2 && pg_is_char(&t[i - 1], '.')) i -= 2;
    return i && (pg_is(&t[i - 1], "from") || pg_is(&t[i - 1], "join") || pg_is(&t[i - 1], "table") || pg_is_char(&t[i - 1], ',') || pg_is_char(&t[i - 1], '('));
}

/* Views are found as written, else without regard to case where the name was not quoted. */
static wr_view *find_view(wr_arena *arena, const pg_tok *t) {
    wr_str   name = t->kind == PG_QUOTED ? pg_name(arena, t) : t->text;
    wr_view *v = wr_view_find(name), *all[QUERY_VIEWS_MAX];
    if (v || t->kind == PG_QUOTED) return v;
    uint32_t n = query_views(all, QUERY_VIEWS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (!v && wr_str_ieq(wr_view_name(all[i]), name)) v = all[i];
        else wr_view_unref(all[i]);
    }
    return v;
}

static bool is_system(wr_arena *arena, const pg_tok *t, uint32_t i) {
    wr_str schema = {0};
    if (i >= 2 && pg_is_char(&t[i - 1], '.') && pg_is_name(&t[i - 2])) schema = pg_name(arena, &t[i - 2]);
    return catalog_has(schema, pg_name(arena, &t[i]));
}

static void look_up(query *q, bool *from, bool *system) {
    const pg_tok *t = q->toks.list.at;
    WR_ARR(wr_view *) found = {0};
    *from = *system = false;
    for (uint32_t i = 0; t[i].kind != PG_END; i++) {
        *from |= pg_is(&t[i], "from") && i && !pg_is(&t[i - 1], "distinct");
        if (!pg_is_name(&t[i]) || !in_from(t, i) || pg_is_char(&t[i + 1], '.') || pg_is_char(&t[i + 1], '(')) continue;
        if (is_system(q->arena, t, i)) {
            *system = true;
            continue;
        }
        wr_view *v = find_view(q->arena, &t[i]);
        for (uint32_t k = 0; v && k < found.n; k++)
            if (found.at[k] == v) wr_view_unref(v), v = NULL;
        if (v) wr_arr_apush(q->arena, &found, v);
    }
    q->n_views = found.n, q->views = found.at;
}

/* ---- what a value stands beside ---- */
bool query_column(const query *q, const pg_tok *t, wr_type *out) {
    bool   found = false;
    wr_str name = t->kind == PG_QUOTED ? pg_name(q->arena, t) : t->text;
    if (!pg_is_name(t)) return false;
    for (uint32_t v = 0; v < q->n_views; v++) {
        const wr_schema *s = wr_view_schema(q->views[v]);
        for (uint32_t c = 0; c < s->n; c++) {
            bool same = wr_str_eq(s->fields[c].name, name) || (t->kind == PG_WORD && wr_str_ieq(s->fields[c].name, name));
            if (!same) continue;
            if (found && !wr_type_same(*out, s->fields[c].type)) return false;
            *out = wr_type_with_null(s->fields[c].type, true), found = true;
            out->attr = WR_TIME_NONE;
        }
    }
    return found;
}

static bool is_comparison(const pg_tok *t) {
    return t->kind == PG_OP && strchr("=<>!", t->text.ptr[0]) && !pg_is_op(t, "!~") && !pg_is_op(t, "!~*") && !pg_is_op(t, "!~~");
}

bool query_context(const query *q, uint32_t i, wr_type *out) {
    const pg_tok *t = q->toks.list.at;
    uint32_t      n;
    if (pg_is_op(&t[i + 1], "::")) return query_pg_type(&t[i + 2], &n, out);
    if (!i) return false;
    if (pg_is(&t[i - 1], "limit") || pg_is(&t[i - 1], "offset")) return *out = wr_type_of(WR_T_BIGINT), true;
    if (is_comparison(&t[i - 1])) return i > 1 && query_column(q, &t[i - 2], out);
    if (is_comparison(&t[i + 1])) {
        uint32_t c = i + 2;
        while (pg_is_name(&t[c]) && pg_is_char(&t[c + 1], '.')) c += 2;
        return query_column(q, &t[c], out);
    }
    if (pg_is(&t[i - 1], "between")) return i > 1 && query_column(q, &t[i - (pg_is(&t[i - 2], "not") ? 3 : 2)], out);
    if (pg_is(&t[i - 1], "and") && i > 3 && pg_is(&t[i - 3], "between")) return query_column(q, &t[i - (pg_is(&t[i - 4], "not") ? 5 : 4)], out);
    uint32_t at = i - 1; /* IN (a, b, ... */
    while (at > 1 && (pg_is_char(&t[at], ',') || t[at].kind == PG_NUMBER || pg_is_text(&t[at]) || t[at].kind == PG_PARAM)) at--;
    if (!pg_is_char(&t[at], '(') || at < 2 || !pg_is(&t[at - 1], "in")) return false;
    return query_column(q, &t[at - (pg_is(&t[at - 2], "not") && at > 2 ? 3 : 2)], out);
}

/* ---- statements ---- */
static wr_status take_params(query *q, const uint32_t *oids, uint32_t n_oids, wr_err *err) {
    uint32_t n = n_oids;
    for (uint32_t i = 0; i < q->toks.list.n; i++) n = WR_MAX(n, q->toks.list.at[i].param);
    if (n > QUERY_PARAMS_MAX) return wr_fail(err, WR_USER, "54000", "a statement has at most %d parameters", QUERY_PARAMS_MAX);
    q->n_params = n;
    q->params = wr_new_n(q->arena, query_param, n + 1);
    q->oids = wr_new_n(q->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        query_param *p = &q->params[i];
        p->type = wr_type_string(), p->oid = PG_TEXT;
        if (i < n_oids && oids[i] && oids[i] != PG_UNKNOWN) {
            p->oid = oids[i];
            (void)pg_type_of(oids[i], &p->type);
        }
    }
    for (uint32_t i = 0; i < q->toks.list.n; i++) { /* what was not said: what it stands beside */
        uint32_t k = q->toks.list.at[i].param;
        wr_type  type;
        if (!k || (k <= n_oids && oids[k - 1] && oids[k - 1] != PG_UNKNOWN) || !query_context(q, i, &type) || wr_type_is_nested(type)) continue;
        q->params[k - 1] = (query_param){pg_oid_of(type), type};
    }
    for (uint32_t i = 0; i < n; i++) q->oids[i] = q->params[i].oid;
    return WR_OK;
}

static wr_status choose(query *q, wr_err *err) {
    const pg_tok *t = q->toks.list.at;
    bool          from, system;
    if (!pg_is(t, "select") && !pg_is(t, "with") && !pg_is(t, "values") && !pg_is_char(t, '(') && !pg_is(t, "explain") && !pg_is(t, "table")) {
        query_fail_at(t, err, pg_is_name(t) ? "25006" : "42601", pg_is_name(t) ? "%.*s cannot be run here: views are read only" : "syntax error at or near \"%.*s\"", WR_FMT(t->text));
        wr_err_hint(err, "SELECT reads materialized views; the running job's script says what they are");
        return err->status;
    }
    look_up(q, &from, &system);
    if (system && q->n_views) return query_fail_at(t, err, "0A000", "a view cannot be joined with a table of the catalogue");
    q->way = QUERY_SESSION;
    bool times = false; /* SQLite has no times: what is done with one is for weir */
    for (uint32_t i = 0; q->toks.list.n > 6 && t[i].kind != PG_END; i++)
        times |= pg_is(&t[i], "now") || pg_is(&t[i], "current_timestamp") || pg_is(&t[i], "current_date") || pg_is(&t[i], "interval") || pg_is(&t[i], "timestamp") || pg_is(&t[i], "timestamptz") || pg_is(&t[i], "date") || pg_is(&t[i], "extract");
    if (!from && times) return WR_OK;
    if (system || (!from && !q->n_views && !pg_is(t, "explain"))) q->way = QUERY_CATALOG;
    return WR_OK;
}

/* Every parenthesis has its partner: what looks for one relies on it. */
static wr_status balanced(const query *q, wr_err *err) {
    uint32_t open = 0, last = 0;
    for (uint32_t i = 0; i < q->toks.list.n; i++) {
        const pg_tok *t = &q->toks.list.at[i];
        if (pg_is_char(t, '(') || pg_is_char(t, '[')) open++, last = i;
        if (!pg_is_char(t, ')') && !pg_is_char(t, ']')) continue;
        if (!open--) return query_fail_at(t, err, "42601", "syntax error at or near \"%.*s\"", WR_FMT(t->text));
    }
    return open ? query_fail_at(&q->toks.list.at[last], err, "42601", "syntax error at end of input: a parenthesis is not closed") : WR_OK;
}

wr_status query_new(query_db *db, wr_str sql, const uint32_t *oids, uint32_t n_oids, query **out, wr_err *err) {
    *out = NULL;
    if (sql.len > QUERY_TEXT_MAX) return wr_fail(err, WR_USER, "54000", "a statement has at most %d bytes", QUERY_TEXT_MAX);
    query *q = wr_calloc(1, sizeof *q);
    q->db = db;
    q->arena = wr_arena_new(NULL);
    q->sql = wr_str_dup(q->arena, sql);
    uint32_t  at = 0;
    wr_status status = pg_lex(q->arena, q->sql, &q->toks, &at, err);
    if (status != WR_OK) err->at.col = at + 1;
    else if (q->toks.list.n > 1 && pg_is_char(&q->toks.list.at[q->toks.list.n - 2], ';')) q->toks.list.n--, q->toks.list.at[q->toks.list.n - 1].kind = PG_END;
    if (status == WR_OK) status = balanced(q, err);
    if (status == WR_OK) status = choose(q, err);
    if (status == WR_OK) status = take_params(q, oids, n_oids, err);
    if (status == WR_OK && q->way == QUERY_SESSION && read_recognise(q)) q->way = QUERY_READ;
    if (status == WR_OK) *out = q;
    else query_free(q);
    return status;
}

void query_free(query *q) {
    if (!q) return;
    for (uint32_t i = 0; i < q->n_views; i++) wr_view_unref(q->views[i]);
    wr_arena_free(q->arena);
    wr_free(q);
}

bool     query_is_quick(const query *q) { return q->way == QUERY_READ && read_is_quick(q); }
uint32_t query_params(const query *q, const uint32_t **oids) { return *oids = q->oids, q->n_params; }
wr_type  query_param_type(const query *q, uint32_t i) { return q->params[i].type; }
const query_col *query_cols(const query *q, uint32_t *n) { return *n = q->n_cols, q->cols; }

wr_status query_describe(query *q, wr_err *err) {
    wr_status status = WR_OK;
    if (q->described) return WR_OK;
    if (q->way == QUERY_READ) read_describe(q);
    if (q->way == QUERY_CATALOG) {
        status = catalog_describe(q->db->catalog, q->arena, &q->toks, &q->n_cols, &q->cols, err);
        wr_err second = {0};
        bool   has_from = false;
        for (uint32_t i = 0; i < q->toks.list.n; i++) has_from |= pg_is(&q->toks.list.at[i], "from");
        if (status != WR_OK && !has_from && session_describe(q, &second) == WR_OK) status = WR_OK, q->way = QUERY_SESSION; /* an expression of weir's own */
    } else if (q->way == QUERY_SESSION) {
        status = session_describe(q, err);
    }
    q->described = status == WR_OK;
    return status;
}

wr_status query_run(query *q, const query_args *args, query_rows **out, wr_err *err) {
    *out = NULL;
    if (q->way != QUERY_SESSION) WR_TRY(query_describe(q, err)); /* a session finds out as it is planned */
    if (q->way == QUERY_READ) return read_run(q, args, out, err);
    if (q->way == QUERY_CATALOG) return catalog_run(q->db->catalog, &q->toks, q->cols, q->n_cols, args, out, err);
    return session_run(q, args, out, err);
}

/* ---- rows that are kept ---- */
typedef struct kept_rows { query_rows base; wr_row_set *set; wr_row_at at; uint32_t n_cols; void (*done)(void *); void *arg; } kept_rows;

static wr_status kept_next(query_rows *rows, uint32_t max, wr_batch **out, wr_err *err) {
    kept_rows *k = (kept_rows *)rows;
    (void)err;
    *out = wr_row_set_next(k->set, &k->at, max);
    if (*out) (*out)->n_cols = k->n_cols;
    return WR_OK;
}

static void kept_free(query_rows *rows) {
    kept_rows *k = (kept_rows *)rows;
    wr_row_set_free(k->set);
    if (k->done) k->done(k->arg);
    wr_free(k);
}

query_rows *query_rows_of_set(wr_row_set *set, const wr_tz *tz, uint32_t n_cols, void (*done)(void *), void *arg) {
    kept_rows *k = wr_calloc(1, sizeof *k);
    *k = (kept_rows){.base = {tz, kept_next, kept_free}, .set = set, .n_cols = n_cols, .done = done, .arg = arg};
    return &k->base;
}

/* ---- JSON ---- */
static void json_columns(const query *q, wr_sbuf *out) {
    wr_sbuf type = {0};
    wr_sbuf_addz(out, "{\"columns\":[");
    for (uint32_t i = 0; i < q->n_cols; i++) {
        wr_sbuf_clear(&type);
        wr_type_text(wr_type_with_null(q->cols[i].type, true), &type);
        wr_sbuf_addz(out, i ? ",{\"name\":" : "{\"name\":");
        wr_sbuf_add_json(out, q->cols[i].name);
        wr_sbuf_addz(out, ",\"type\":");
        wr_sbuf_add_json(out, wr_sbuf_str(&type));
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addz(out, "],\"rows\":[");
    wr_sbuf_free(&type);
}

static void json_row(const wr_batch *b, uint32_t row, uint32_t n_cols, wr_sbuf *out) {
    static const wr_json_style style = {.sep = ' ', .exact = true};
    wr_sbuf_addc(out, '[');
    for (uint32_t c = 0; c < n_cols; c++) {
        if (c) wr_sbuf_addc(out, ',');
        if (wr_vec_is_null(&b->cols[c], row)) wr_sbuf_addz(out, "null");
        else wr_json_value(&b->cols[c], row, &style, out);
    }
    wr_sbuf_addc(out, ']');
}

wr_status query_json(query_db *db, wr_str sql, const query_args *args, wr_sbuf *out, wr_err *err) {
    query      *q = NULL;
    query_rows *rows = NULL;
    uint64_t    n = 0;
    bool        cut = false;
    wr_status   status = query_new(db, sql, NULL, 0, &q, err);
    if (status == WR_OK && q->n_params) status = wr_fail(err, WR_USER, "42P02", "there is no parameter $1");
    if (status == WR_OK) status = query_run(q, args, &rows, err);
    if (status == WR_OK) json_columns(q, out);
    for (wr_batch *b = NULL; status == WR_OK && !cut;) {
        status = rows->next(rows, WR_BATCH_MAX, &b, err);
        if (status != WR_OK || !b) break;
        for (uint32_t i = 0; i < wr_batch_live(b) && !cut; i++) {
            cut = (args->limits.rows && n >= args->limits.rows) || (args->limits.bytes && out->len > args->limits.bytes);
            if (cut) break;
            if (n++) wr_sbuf_addc(out, ',');
            json_row(b, wr_batch_row(b, i), q->n_cols, out);
        }
        wr_batch_unref(b);
    }
    if (status == WR_OK) {
        wr_sbuf_printf(out, "],\"row_count\":%" PRIu64 ",\"truncated\":%s,\"views\":[", n, cut ? "true" : "false");
        for (uint32_t i = 0; i < q->n_views; i++) {
            const wr_view_as_of *as_of = NULL;
            wr_view_info         info;
            wr_view_cut         *c = query_snapshot_cut(args->snapshot, q->views[i]);
            wr_view_info_get(q->views[i], &info);
            as_of = c ? wr_view_cut_as_of(c) : &info.as_of;
            wr_sbuf_addz(out, i ? ",{\"name\":" : "{\"name\":");
            wr_sbuf_add_json(out, wr_view_name(q->views[i]));
            wr_sbuf_printf(out, ",\"version\":%" PRIu64 ",\"published_us\":%" PRId64, as_of->version, as_of->published_us);
            if (as_of->watermark_us != WR_TIME_MIN && as_of->watermark_us != WR_TIME_MAX) wr_sbuf_printf(out, ",\"watermark_us\":%" PRId64, as_of->watermark_us);
            wr_sbuf_addc(out, '}');
        }
        wr_sbuf_addz(out, "]}\n");
    }
    if (rows) rows->free(rows);
    query_free(q);
    return status;
}
