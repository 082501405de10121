/* serve/query_read.c: reads of one view by its key, straight from the store.
 *
 * Form       SELECT columns | * | COUNT(*) FROM view [alias] [WHERE column op constant AND ...] [ORDER BY columns] [LIMIT n] [OFFSET n], where ops are = < <= > >= and BETWEEN.
 *            Anything else is not recognised here and goes the long way, so nothing is refused.
 * Range      equalities on the first columns of the view's order, then at most one column with bounds, are a range of keys. Conditions on other columns are looked
 *            at row by row. ORDER BY must be the order that the rows have anyway (from the first column without equality on, ascending).
 * Quick      a whole key, or a range without conditions beside: rows come as they are taken, so no time is spent in between.
 * Constants  are read as values of the column's type when the read begins; one that is not such a value makes the long way decide.                    */
#include "serve/query_parts.h"
#include "sql/sql.h"
#include <stdio.h>

enum { CONDS_MAX = 32, OUT_MAX = 1600 };
typedef enum cond_op { C_EQ, C_LT, C_LE, C_GT, C_GE } cond_op;
typedef struct constant { uint32_t tok; bool negative; } constant; /* literal or parameter */
typedef struct cond { uint32_t col; cond_op op; constant value; } cond;

struct read_plan {
    wr_view *view;
    bool     count;
    uint32_t n_out;
    uint32_t out[OUT_MAX];
    wr_str   names[OUT_MAX];
    uint32_t n_conds;
    cond     conds[CONDS_MAX];
    uint32_t n_order_by, order_by[CONDS_MAX];
    bool     limited, skips;
    constant limit, offset;
    uint32_t n_prefix;               /* columns of the view's order that are given by = */
    uint32_t n_beside;               /* conditions that no range says */
};

typedef struct reader { query *q; const pg_tok *t; uint32_t i; struct read_plan *p; const wr_schema *schema; wr_str alias; } reader;

static bool is(reader *r, const char *word) { return pg_is(&r->t[r->i], word); }
static bool take(reader *r, const char *word) { return is(r, word) && (r->i++, true); }
static bool take_char(reader *r, char c) { return pg_is_char(&r->t[r->i], c) && (r->i++, true); }

static bool is_reserved(const pg_tok *t) {
    static const char *const words[] = {"from", "where", "order", "limit", "offset", "fetch", "group", "having", "union", "join", "left", "inner", "cross", "window", "and", "or", "as", "asc", "desc", "distinct", "all", "case", "not", "null",
        "true", "false", "cast", "interval", "timestamp", "date", "time", "select", "on", "for", "tablesample", "natural", "right", "full", "except", "intersect", "current_timestamp", "current_date", "between", "is", "in", "like", "nulls"};
    for (size_t i = 0; t->kind == PG_WORD && i < WR_COUNT_OF(words); i++)
        if (pg_is(t, words[i])) return true;
    return false;
}

/* [alias.]column */
static bool column(reader *r, uint32_t *out) {
    if (!pg_is_name(&r->t[r->i]) || is_reserved(&r->t[r->i])) return false;
    if (pg_is_char(&r->t[r->i + 1], '.')) {
        wr_str q = pg_name(r->q->arena, &r->t[r->i]), raw = r->t[r->i].text;
        bool   ours = wr_str_ieq(q, r->alias) || wr_str_eq(raw, r->alias);
        if (!ours) return false;
        r->i += 2;
    }
    const pg_tok *t = &r->t[r->i];
    if (!pg_is_name(t)) return false;
    wr_str name = t->kind == PG_QUOTED ? pg_name(r->q->arena, t) : t->text;
    int    at = wr_schema_find(r->schema, name);
    for (uint32_t c = 0; at < 0 && t->kind == PG_WORD && c < r->schema->n; c++)
        if (wr_str_ieq(r->schema->fields[c].name, name)) at = (int)c;
    if (at < 0 || pg_is_char(t + 1, '.') || pg_is_char(t + 1, '(') || pg_is_char(t + 1, '[')) return false;
    *out = (uint32_t)at;
    r->i++;
    return true;
}

static bool constant_here(reader *r, constant *out) {
    const pg_tok *t = &r->t[r->i];
    *out = (constant){0};
    if (pg_is_op(t, "-") && t[1].kind == PG_NUMBER) out->negative = true, t++, r->i++;
    if ((pg_is(t, "timestamp") || pg_is(t, "date")) && pg_is_text(t + 1)) t++, r->i++;
    if (t->kind != PG_NUMBER && t->kind != PG_PARAM && !pg_is_text(t) && !pg_is(t, "true") && !pg_is(t, "false")) return false;
    out->tok = r->i++;
    if (pg_is_op(&r->t[r->i], "::")) {
        wr_type  type;
        uint32_t n;
        if (!query_pg_type(&r->t[r->i + 1], &n, &type) || pg_is_char(&r->t[r->i + 1 + n], '[')) return false;
        r->i += 1 + n;
    }
    return true;
}

static bool operator_here(reader *r, cond_op *op) {
    static const struct { const char *text; cond_op op; } ops[] = {{"=", C_EQ}, {"<", C_LT}, {"<=", C_LE}, {">", C_GT}, {">=", C_GE}};
    for (size_t i = 0; i < WR_COUNT_OF(ops); i++)
        if (pg_is_op(&r->t[r->i], ops[i].text)) return *op = ops[i].op, r->i++, true;
    return false;
}

static bool add_cond(reader *r, uint32_t col, cond_op op, constant value) {
    wr_type t = r->schema->fields[col].type;
    if (r->p->n_conds == CONDS_MAX || wr_type_is_nested(t) || t.id == WR_T_CHAR || t.id == WR_T_BINARY || t.id == WR_T_BITMAP || t.id == WR_T_VARIANT) return false;
    if (t.id == WR_T_FLOAT || t.id == WR_T_INTERVAL_DS || t.id == WR_T_INTERVAL_YM) return false;
    r->p->conds[r->p->n_conds++] = (cond){col, op, value};
    return true;
}

static bool condition(reader *r) {
    static const cond_op turned[] = {C_EQ, C_GT, C_GE, C_LT, C_LE};
    uint32_t col;
    constant a, b;
    cond_op  op;
    uint32_t parens = 0;
    while (take_char(r, '(')) parens++;
    if (column(r, &col)) {
        if (take(r, "between")) {
            if (!constant_here(r, &a) || !take(r, "and") || !constant_here(r, &b) || !add_cond(r, col, C_GE, a) || !add_cond(r, col, C_LE, b)) return false;
        } else if (!operator_here(r, &op) || !constant_here(r, &a) || !add_cond(r, col, op, a)) {
            return false;
        }
    } else if (!constant_here(r, &a) || !operator_here(r, &op) || !column(r, &col) || !add_cond(r, col, turned[op], a)) {
        return false;
    }
    while (parens && take_char(r, ')')) parens--;
    return !parens;
}

static bool items(reader *r) {
    struct read_plan *p = r->p;
    if (take(r, "count")) {
        if (!take_char(r, '(') || !pg_is_op(&r->t[r->i], "*")) return false;
        r->i++;
        if (!take_char(r, ')')) return false;
        p->count = true, p->n_out = 1, p->names[0] = WR_STR("count");
        if (take(r, "as") || (pg_is_name(&r->t[r->i]) && !is_reserved(&r->t[r->i]))) p->names[0] = pg_name(r->q->arena, &r->t[r->i++]);
        return true;
    }
    do {
        bool star = pg_is_op(&r->t[r->i], "*"), of = pg_is_name(&r->t[r->i]) && pg_is_char(&r->t[r->i + 1], '.') && pg_is_op(&r->t[r->i + 2], "*");
        uint32_t col;
        if (star || of) {
            if (of && !wr_str_ieq(pg_name(r->q->arena, &r->t[r->i]), r->alias)) return false;
            r->i += of ? 3 : 1;
            for (uint32_t c = 0; c < r->schema->n; c++) {
                if (p->n_out == OUT_MAX) return false;
                p->names[p->n_out] = r->schema->fields[c].name, p->out[p->n_out++] = c;
            }
            continue;
        }
        if (p->n_out == OUT_MAX || !column(r, &col)) return false;
        p->names[p->n_out] = r->schema->fields[col].name;
        if (take(r, "as") || (pg_is_name(&r->t[r->i]) && !is_reserved(&r->t[r->i]))) {
            if (!pg_is_name(&r->t[r->i])) return false;
            p->names[p->n_out] = r->t[r->i].kind == PG_QUOTED ? pg_name(r->q->arena, &r->t[r->i]) : r->t[r->i].text;
            r->i++;
        }
        p->out[p->n_out++] = col;
    } while (take_char(r, ','));
    return true;
}

/* FROM [schema.]view [AS alias]; the view is the only one that was found. */
static bool source(reader *r) {
    if (!take(r, "from")) return false;
    while (pg_is_name(&r->t[r->i]) && pg_is_char(&r->t[r->i + 1], '.')) r->i += 2;
    wr_str name = wr_view_name(r->q->views[0]), here = pg_name(r->q->arena, &r->t[r->i]);
    if (!pg_is_name(&r->t[r->i]) || !wr_str_ieq(here, name)) return false;
    r->i++;
    if (take(r, "as") || (pg_is_name(&r->t[r->i]) && !is_reserved(&r->t[r->i]))) {
        if (!pg_is_name(&r->t[r->i]) || pg_is_char(&r->t[r->i + 1], '(')) return false;
        r->i++;
    }
    return true;
}

/* Before the columns are read, what they may be qualified by. */
static void find_alias(reader *r) {
    for (uint32_t i = r->i; r->t[i].kind != PG_END; i++) {
        if (!pg_is(&r->t[i], "from")) continue;
        i++;
        while (pg_is_name(&r->t[i]) && pg_is_char(&r->t[i + 1], '.')) i += 2;
        if (!pg_is_name(&r->t[i])) return;
        r->alias = pg_name(r->q->arena, &r->t[i++]);
        if (pg_is(&r->t[i], "as")) i++;
        if (pg_is_name(&r->t[i]) && !is_reserved(&r->t[i])) r->alias = pg_name(r->q->arena, &r->t[i]);
        return;
    }
}

static bool tail(reader *r) {
    struct read_plan *p = r->p;
    if (take(r, "where")) {
        do {
            if (!condition(r)) return false;
        } while (take(r, "and"));
    }
    if (is(r, "order") && pg_is(&r->t[r->i + 1], "by")) {
        r->i += 2;
        do {
            if (p->n_order_by == CONDS_MAX || !column(r, &p->order_by[p->n_order_by])) return false;
            p->n_order_by++;
            if (!take(r, "asc") && is(r, "desc")) return false;
        } while (take_char(r, ','));
    }
    for (int k = 0; k < 2; k++) {
        if (!p->limited && take(r, "limit")) {
            p->limited = !take(r, "all");
            if (p->limited && !constant_here(r, &p->limit)) return false;
        } else if (!p->skips && take(r, "offset")) {
            p->skips = true;
            if (!constant_here(r, &p->offset)) return false;
            if (is(r, "rows") || is(r, "row")) r->i++;
        }
    }
    return r->t[r->i].kind == PG_END;
}

/* Which conditions are a range of the order, and is ORDER BY what there is anyway? */
static bool arrange(struct read_plan *p) {
    uint32_t        n_order;
    const uint32_t *order = wr_view_order(p->view, &n_order);
    uint32_t        used = 0, eq;
    for (p->n_prefix = 0; p->n_prefix < n_order; p->n_prefix++) {
        for (eq = 0; eq < p->n_conds && !(p->conds[eq].col == order[p->n_prefix] && p->conds[eq].op == C_EQ); eq++) {}
        if (eq == p->n_conds) break;
        used++;
    }
    uint32_t lower = 0, upper = 0;
    for (uint32_t i = 0; i < p->n_conds && p->n_prefix < n_order; i++) {
        if (p->conds[i].col != order[p->n_prefix]) continue;
        lower += p->conds[i].op >= C_GT, upper += p->conds[i].op < C_GT;
    }
    used += (lower == 1) + (upper == 1);
    p->n_beside = p->n_conds - used;
    uint32_t at = 0; /* of the order; columns with = may be named or not */
    for (uint32_t i = 0; i < p->n_order_by; i++) {
        bool given = false;
        for (uint32_t c = 0; c < p->n_conds; c++) given |= p->conds[c].col == p->order_by[i] && p->conds[c].op == C_EQ;
        if (given) continue;
        while (at < p->n_prefix) at++;
        if (at == n_order || order[at] != p->order_by[i]) return false;
        at++;
    }
    return true;
}

bool read_recognise(query *q) {
    if (q->n_views != 1 || !pg_is(q->toks.list.at, "select")) return false;
    struct read_plan *p = wr_new(q->arena, struct read_plan);
    reader            r = {.q = q, .t = q->toks.list.at, .i = 1, .p = p, .schema = wr_view_schema(q->views[0])};
    p->view = q->views[0];
    find_alias(&r);
    if (!items(&r) || !source(&r) || !tail(&r) || !arrange(p)) return false;
    if (p->count && (p->n_conds || p->limited || p->skips || p->n_order_by)) return false;
    q->read = p;
    return true;
}

bool read_is_quick(const query *q) { return !q->read->n_beside; }

void read_describe(query *q) {
    const wr_schema *s = wr_view_schema(q->read->view);
    q->n_cols = q->read->n_out;
    q->cols = wr_new_n(q->arena, query_col, q->n_cols + 1);
    for (uint32_t i = 0; i < q->n_cols; i++) {
        wr_type t = q->read->count ? wr_type_of(WR_T_BIGINT) : s->fields[q->read->out[i]].type;
        q->cols[i] = (query_col){q->read->names[i], t, pg_oid_of(t), pg_typmod_of(t)};
    }
}

/* ---- running ---- */
typedef struct beside { wr_vec value; uint32_t col; cond_op op; } beside;
typedef struct read_rows {
    query_rows    base;
    wr_arena     *arena;
    struct read_plan *plan;
    wr_view_cut  *cut;
    query_snapshot *snapshot;         /* that has it */
    bool          own_cut, counted, empty;
    wr_view_scan *scan;
    uint64_t      left, skip;
    wr_mem       *mem;                /* of what the conditions beside compare with */
    uint32_t      n_beside;
    beside        besides[CONDS_MAX];
} read_rows;

/* 0: it is; 1: it is none of that type, the long way decides; 2: NULL. */
static int value_of(const query *q, wr_arena *arena, constant c, wr_type type, const query_args *args, wr_value *out) {
    const pg_tok *t = &q->toks.list.at[c.tok];
    wr_err        ignored;
    wr_str        text = t->text;
    type.nullable = 1, type.attr = WR_TIME_NONE;
    if (t->kind == PG_PARAM) {
        if (t->param > args->n) return 1;
        const wr_value *v = &args->params[t->param - 1];
        if (v->null) return 2;
        if (wr_type_same(v->type, type)) return *out = *v, 0;
        if (wr_type_is_time_point(v->type) && wr_type_is_time_point(type) && v->type.id != type.id) return 1;
        wr_sbuf buf = {0};
        wr_value_text(v, NULL, &buf);
        text = wr_str_dup(arena, wr_sbuf_str(&buf));
        wr_sbuf_free(&buf);
    } else if (pg_is_text(t)) {
        text = pg_text(arena, t);
    } else if (c.negative) {
        text = wr_str_of(wr_arena_printf(arena, "-%.*s", WR_FMT(text)));
    }
    if (t->kind == PG_NUMBER && !wr_type_is_numeric(type) && type.id != WR_T_FLOAT && type.id != WR_T_DOUBLE) return 1;
    int whole, frac;
    if (type.id == WR_T_DECIMAL && (!pg_decimal_digits(wr_str_trim(text), &whole, &frac) || frac > type.scale)) return 1; /* a constant with more digits is not the rounded one */
    if (pg_parse_text(arena, type, text, args->tz ? args->tz : wr_view_tz(q->read->view), out, &ignored) != WR_OK) return 1;
    return 0;
}

static bool count_of(const query *q, wr_arena *arena, constant c, const query_args *args, uint64_t *out) {
    wr_value v;
    if (value_of(q, arena, c, wr_type_of(WR_T_BIGINT), args, &v) || v.i < 0) return false;
    *out = (uint64_t)v.i;
    return true;
}

static wr_status next_batch(read_rows *r, uint32_t max, wr_batch **out, wr_err *err) {
    *out = NULL;
    return wr_view_scan_next(r->scan, max, out, err);
}

static bool matches(const read_rows *r, const wr_batch *b, uint32_t row) {
    for (uint32_t i = 0; i < r->n_beside; i++) {
        const beside *c = &r->besides[i];
        if (wr_vec_is_null(&b->cols[c->col], row)) return false;
        int  o = wr_vec_compare(&b->cols[c->col], row, &c->value, 0);
        bool ok = c->op == C_EQ ? o == 0 : c->op == C_LT ? o < 0 : c->op == C_LE ? o <= 0 : c->op == C_GT ? o > 0 : o >= 0;
        if (!ok) return false;
    }
    return true;
}

/* The rows of a batch that are wanted, with the columns that are: takes it. */
static wr_batch *shape(read_rows *r, wr_batch *b) {
    struct read_plan *p = r->plan;
    wr_batch         *d = wr_batch_derive(b, p->n_out);
    uint16_t         *sel = wr_mem_alloc(d->mem, sizeof *sel * (wr_batch_live(b) + 1));
    uint32_t          n = 0;
    for (uint32_t i = 0; i < wr_batch_live(b) && r->left; i++) {
        uint32_t row = wr_batch_row(b, i);
        if (r->n_beside && !matches(r, b, row)) continue;
        if (r->skip) {
            r->skip--;
            continue;
        }
        sel[n++] = (uint16_t)row;
        r->left--;
    }
    for (uint32_t c = 0; c < p->n_out; c++) d->cols[c] = b->cols[p->out[c]];
    d->n_rows = b->n_rows, d->sel = sel, d->n_sel = n, d->kinds = NULL;
    wr_batch_unref(b);
    return d;
}

static wr_status read_next(query_rows *rows, uint32_t max, wr_batch **out, wr_err *err) {
    read_rows *r = (read_rows *)rows;
    *out = NULL;
    if (r->empty || !r->left) return WR_OK;
    if (r->plan->count) {
        r->left = 0;
        *out = wr_batch_new(1, 64);
        (*out)->n_rows = 1;
        wr_vec_init(&(*out)->cols[0], wr_type_of(WR_T_BIGINT), 1, false, (*out)->mem);
        ((int64_t *)(*out)->cols[0].data)[0] = (int64_t)wr_view_cut_as_of(r->cut)->rows;
        return WR_OK;
    }
    wr_batch *b;
    uint64_t  wanted = r->n_beside ? max : WR_MIN((uint64_t)max, r->left + r->skip);
    WR_TRY(next_batch(r, (uint32_t)WR_MIN(wanted, (uint64_t)WR_BATCH_MAX), &b, err));
    if (b) *out = shape(r, b); /* may have no rows: the next one is asked for */
    return WR_OK;
}

static void read_free(query_rows *rows) {
    read_rows *r = (read_rows *)rows;
    wr_view_scan_free(r->scan);
    if (r->own_cut) wr_view_unpin(r->cut);
    query_snapshot_free(r->snapshot);
    wr_mem_unref(r->mem);
    wr_arena_free(r->arena);
    wr_free(r);
}

typedef struct bounds { wr_sbuf from, to; wr_view_range range; } bounds;

/* 0, 1, 2 as value_of. */
static int make_range(const query *q, read_rows *r, const query_args *args, bounds *b, wr_err *err) {
    struct read_plan *p = r->plan;
    const wr_schema  *s = wr_view_schema(p->view);
    uint32_t          n_order, n = p->n_prefix;
    const uint32_t   *order = wr_view_order(p->view, &n_order);
    wr_value         *key = wr_new_n(r->arena, wr_value, n_order + 1), low, high;
    bool              used[CONDS_MAX] = {false}, lower = false, upper = false, low_open = false, high_open = false;
    uint32_t          n_low = 0, n_high = 0;
    int               how;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < p->n_conds; i++) {
            if (used[i] || p->conds[i].col != order[k] || p->conds[i].op != C_EQ) continue;
            if ((how = value_of(q, r->arena, p->conds[i].value, s->fields[order[k]].type, args, &key[k]))) return how;
            used[i] = true;
            break;
        }
    for (uint32_t i = 0; i < p->n_conds && n < n_order; i++)
        if (p->conds[i].col == order[n]) n_low += p->conds[i].op >= C_GT, n_high += p->conds[i].op < C_GT;
    for (uint32_t i = 0; i < p->n_conds && n < n_order; i++) {
        cond *c = &p->conds[i];
        bool  is_low = c->op >= C_GT;
        if (c->col != order[n] || (is_low ? n_low : n_high) != 1) continue;
        if ((how = value_of(q, r->arena, c->value, s->fields[c->col].type, args, is_low ? &low : &high))) return how;
        used[i] = true;
        if (is_low) lower = true, low_open = c->op == C_GT;
        else upper = true, high_open = c->op == C_LT;
    }
    if (n && wr_view_key_put(p->view, key, n, &b->from, err) != WR_OK) return 1;
    if (n && wr_view_key_put(p->view, key, n, &b->to, err) != WR_OK) return 1;
    if (n) b->range = (wr_view_range){.to_inclusive = true};
    if (lower || upper) { /* NULL is below all, and is not compared with anything */
        key[n] = lower ? low : wr_value_null(wr_type_with_null(s->fields[order[n]].type, true));
        wr_sbuf_clear(&b->from);
        if ((lower || s->fields[order[n]].type.nullable) && wr_view_key_put(p->view, key, n + 1, &b->from, err) != WR_OK) return 1;
        if (!lower && !s->fields[order[n]].type.nullable && n && wr_view_key_put(p->view, key, n, &b->from, err) != WR_OK) return 1;
        b->range.from_exclusive = lower ? low_open : s->fields[order[n]].type.nullable;
        if (upper) {
            key[n] = high;
            wr_sbuf_clear(&b->to);
            if (wr_view_key_put(p->view, key, n + 1, &b->to, err) != WR_OK) return 1;
            b->range.to_inclusive = !high_open;
        }
    }
    for (uint32_t i = 0; i < p->n_conds; i++) {
        wr_value v;
        if (used[i]) continue;
        if ((how = value_of(q, r->arena, p->conds[i].value, s->fields[p->conds[i].col].type, args, &v))) return how;
        beside *at = &r->besides[r->n_beside++];
        if (!r->mem) r->mem = wr_mem_new(1024);
        *at = (beside){.col = p->conds[i].col, .op = p->conds[i].op};
        wr_value_fill(&v, &at->value, 1, r->mem);
    }
    if (b->from.len) b->range.from = wr_sbuf_str(&b->from);
    if (b->to.len) b->range.to = wr_sbuf_str(&b->to);
    return 0;
}

wr_status read_run(query *q, const query_args *args, query_rows **out, wr_err *err) {
    struct read_plan *p = q->read;
    read_rows        *r = wr_calloc(1, sizeof *r);
    *r = (read_rows){.base = {wr_view_tz(p->view), read_next, read_free}, .arena = wr_arena_new(NULL), .plan = p, .left = UINT64_MAX};
    bounds b = {0};
    int    how = make_range(q, r, args, &b, err);
    if (!how && p->limited && !count_of(q, r->arena, p->limit, args, &r->left)) how = 1;
    if (!how && p->skips && !count_of(q, r->arena, p->offset, args, &r->skip)) how = 1;
    if (how == 1) { /* another type than the column's: as weir compares them */
        read_free(&r->base);
        wr_sbuf_free(&b.from), wr_sbuf_free(&b.to);
        memset(err, 0, sizeof *err);
        return session_run(q, args, out, err);
    }
    r->empty = how == 2;
    r->cut = query_snapshot_cut(args->snapshot, p->view);
    if (r->cut) r->snapshot = query_snapshot_ref(args->snapshot);
    else r->cut = wr_view_pin(p->view), r->own_cut = true;
    if (!r->empty && !p->count) r->scan = wr_view_scan_new(r->cut, &b.range);
    wr_sbuf_free(&b.from), wr_sbuf_free(&b.to);
    *out = &r->base;
    return WR_OK;
}
