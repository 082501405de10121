/* plan/assign.c: ASSIGN(orders => TABLE o PARTITION BY k, couriers => TABLE c PARTITION BY k, ...): the call of a table function with two inputs. docs/dispatch.md
 *
 * Idea       arguments stand in a table with what each must be (ARGS); when all are checked, wr_assign_opts are filled. Coordinates that are not DOUBLE and
 *            states that are CHAR are cast by a calc below, so that the operator knows one type of each.
 * Invariant  one diagnostic for one mistake, at the argument. side.keys has the id behind the partition's columns: what a sample counts (bill_watch.c).
 * Memory     the arena of the plan. One thread.                                                                     */
#include "plan/logical.h"
#include <math.h>
#include <stdio.h>

typedef enum arg_kind { ARG_TABLE, ARG_COLUMNS, ARG_INTERVAL, ARG_NUMBER, ARG_TEXT } arg_kind;
typedef enum arg_id {
    A_ORDERS, A_COURIERS, A_ORDER_KEY, A_ORDER_AT, A_COURIER_KEY, A_COURIER_AT, A_EVERY, A_ON_TIME, A_ORDER_TIME, A_COURIER_TIME, A_ORDER_STATUS, A_COURIER_STATUS, A_DROP_AT,
    A_MAX_DISTANCE, A_METRIC, A_WAIT_WEIGHT, A_BATCH, A_MAX_WAIT, A_COURIER_TIMEOUT, A_HOLD, A_REASSIGN, A_MODE, N_ARGS,
} arg_id;
enum { N_NEEDED = A_ON_TIME, REASSIGN_MAX = 1000 };
#define DURATION_MAX_US (INT64_C(36500) * 86400 * 1000000) /* a time plus it stays a time */

typedef struct arg_spec { const char *name; arg_kind kind; uint32_t n; const char *example; } arg_spec; /* n: columns */
static const arg_spec ARGS[N_ARGS] = {
    [A_ORDERS] = {"orders", ARG_TABLE, 0, "TABLE orders PARTITION BY region"},
    [A_COURIERS] = {"couriers", ARG_TABLE, 0, "TABLE couriers PARTITION BY region"},
    [A_ORDER_KEY] = {"order_key", ARG_COLUMNS, 1, "DESCRIPTOR(order_id)"},
    [A_ORDER_AT] = {"order_at", ARG_COLUMNS, 2, "DESCRIPTOR(x, y)"},
    [A_COURIER_KEY] = {"courier_key", ARG_COLUMNS, 1, "DESCRIPTOR(courier_id)"},
    [A_COURIER_AT] = {"courier_at", ARG_COLUMNS, 2, "DESCRIPTOR(x, y)"},
    [A_EVERY] = {"every", ARG_INTERVAL, 0, "INTERVAL '5' SECOND"},
    [A_ON_TIME] = {"on_time", ARG_COLUMNS, 1, "DESCRIPTOR(ts)"},
    [A_ORDER_TIME] = {"order_time", ARG_COLUMNS, 1, "DESCRIPTOR(ts)"},
    [A_COURIER_TIME] = {"courier_time", ARG_COLUMNS, 1, "DESCRIPTOR(ts)"},
    [A_ORDER_STATUS] = {"order_status", ARG_COLUMNS, 1, "DESCRIPTOR(status)"},
    [A_COURIER_STATUS] = {"courier_status", ARG_COLUMNS, 1, "DESCRIPTOR(status)"},
    [A_DROP_AT] = {"drop_at", ARG_COLUMNS, 2, "DESCRIPTOR(to_x, to_y)"},
    [A_MAX_DISTANCE] = {"max_distance", ARG_NUMBER, 0, "5000"},
    [A_METRIC] = {"metric", ARG_TEXT, 0, "'plane'"},
    [A_WAIT_WEIGHT] = {"wait_weight", ARG_NUMBER, 0, "0.5"},
    [A_BATCH] = {"batch", ARG_NUMBER, 0, "0.25"},
    [A_MAX_WAIT] = {"max_wait", ARG_INTERVAL, 0, "INTERVAL '30' MINUTE"},
    [A_COURIER_TIMEOUT] = {"courier_timeout", ARG_INTERVAL, 0, "INTERVAL '10' MINUTE"},
    [A_HOLD] = {"hold", ARG_INTERVAL, 0, "INTERVAL '30' SECOND"},
    [A_REASSIGN] = {"reassign", ARG_NUMBER, 0, "2"},
    [A_MODE] = {"mode", ARG_TEXT, 0, "'optimal'"},
};

bool pl_is_assign(const wr_ast_call *c) { return c->name.n == 1 && wr_str_ieq(c->name.part[0].text, WR_STR("ASSIGN")); }

/* ---- the call's arguments ---- */

typedef struct asg { /* one call being bound */
    pl                *p;
    const wr_ast_ref  *ref;
    const wr_ast_expr *arg[N_ARGS]; /* values; NULL: not said */
    scope              sc[2];
    bind               b[2];        /* orders, couriers */
    lnode             *in[2];
    WR_ARR(wr_expr *)  extra[2];    /* casts, behind the input's columns */
} asg;

static const char *const SIDE[2] = {"orders", "couriers"};

static bool wrong(asg *x, arg_id id, const char *code, wr_span at, const char *what) {
    const arg_spec *s = &ARGS[id];
    pl_error(x->p, code, at, "ASSIGN: %s must be %s", s->name, what);
    wr_diags_hint(x->p->diags, "%s => %s", s->name, s->example);
    return false;
}

static bool check_kind(asg *x, arg_id id, const wr_ast_expr *v) {
    const arg_spec *s = &ARGS[id];
    uint32_t        n = s->n;
    if (s->kind == ARG_TABLE && v->kind != WR_AST_TABLE_ARG && v->kind != WR_AST_SUBQUERY) return wrong(x, id, "42883", v->at, "a table");
    if (s->kind == ARG_COLUMNS && v->kind != WR_AST_DESCRIPTOR) return wrong(x, id, "42883", v->at, n == 2 ? "a DESCRIPTOR of two columns" : "a DESCRIPTOR of one column");
    if (s->kind != ARG_COLUMNS || v->descriptor.columns.n == n || (id == A_ON_TIME && v->descriptor.columns.n == 2)) return true;
    return wrong(x, id, "42883", v->at, n == 2 ? "a DESCRIPTOR of two columns: x, then y" : "a DESCRIPTOR of one column");
}

static bool no_such(asg *x, const wr_ast_expr *a) {
    wr_str names[N_ARGS], n = a->named.name.text;
    for (int i = 0; i < N_ARGS; i++) names[i] = wr_str_of(ARGS[i].name);
    int     near = wr_nearest(n, names, N_ARGS);
    wr_sbuf all = {0};
    for (int i = 0; i < N_ARGS; i++) wr_sbuf_printf(&all, "%s%s", i ? ", " : "", ARGS[i].name);
    pl_error(x->p, "42883", a->at, "ASSIGN has no argument '%.*s'", WR_FMT(n));
    if (near >= 0) wr_diags_hint(x->p->diags, "did you mean %s? There are: %.*s", ARGS[near].name, WR_FMT(wr_sbuf_str(&all)));
    else wr_diags_hint(x->p->diags, "there are: %.*s", WR_FMT(wr_sbuf_str(&all)));
    wr_sbuf_free(&all);
    return false;
}

static bool one_time_argument(asg *x) {
    bool both = x->arg[A_ORDER_TIME] && x->arg[A_COURIER_TIME], any = x->arg[A_ORDER_TIME] || x->arg[A_COURIER_TIME];
    if (x->arg[A_ON_TIME] ? !any : both) return true;
    if (x->arg[A_ON_TIME]) pl_error(x->p, "42883", x->arg[A_ORDER_TIME] ? x->arg[A_ORDER_TIME]->at : x->arg[A_COURIER_TIME]->at, "ASSIGN: on_time says the time of both tables already");
    else pl_error(x->p, "42883", x->ref->call->at, "ASSIGN needs on_time, the event-time column of both tables%s", any ? "; or both order_time and courier_time" : "");
    wr_diags_hint(x->p->diags, "on_time => DESCRIPTOR(ts); where the names differ: order_time => DESCRIPTOR(ordered), courier_time => DESCRIPTOR(seen)");
    return false;
}

static bool sort_args(asg *x) {
    const wr_ast_call *c = &x->ref->call->call;
    for (uint32_t i = 0; i < c->args.n; i++) {
        const wr_ast_expr *a = c->args.at[i];
        if (a->kind != WR_AST_NAMED_ARG) {
            pl_error(x->p, "42883", a->at, "ASSIGN takes its arguments by name");
            wr_diags_hint(x->p->diags, "ASSIGN(orders => TABLE o PARTITION BY k, couriers => TABLE c PARTITION BY k, order_key => DESCRIPTOR(order_id), ...)");
            return false;
        }
        int id = 0;
        while (id < N_ARGS && !wr_str_ieq(a->named.name.text, wr_str_of(ARGS[id].name))) id++;
        if (id == N_ARGS) return no_such(x, a);
        if (x->arg[id]) {
            pl_error(x->p, "42883", a->at, "ASSIGN: %s stands twice", ARGS[id].name);
            wr_diags_hint(x->p->diags, "leave one of them");
            return false;
        }
        if (!check_kind(x, (arg_id)id, a->named.value)) return false;
        x->arg[id] = a->named.value;
    }
    for (int id = 0; id < N_NEEDED; id++) {
        if (x->arg[id]) continue;
        pl_error(x->p, "42883", x->ref->call->at, "ASSIGN needs %s", ARGS[id].name);
        wr_diags_hint(x->p->diags, "%s => %s", ARGS[id].name, ARGS[id].example);
        return false;
    }
    return one_time_argument(x);
}

/* ---- constants ---- */

static wr_expr *constant(asg *x, arg_id id) { /* a value that is known now, not NULL */
    scope    nothing = {0};
    bind     none = {.p = x->p, .sc = &nothing, .clause = "an argument of ASSIGN"};
    wr_expr *e = pl_bind_expr(&none, x->arg[id]);
    if (!e) return NULL;
    e = wr_expr_fold(&x->p->ec, e);
    if (e->kind == WR_E_CONST && !e->value.null) return e;
    return wrong(x, id, "22023", x->arg[id]->at, "a constant"), NULL;
}

static bool interval(asg *x, arg_id id, int64_t least_us, int64_t *out) { /* not said: *out stays */
    if (!x->arg[id]) return true;
    wr_expr *e = constant(x, id);
    if (!e) return false;
    if (!pl_interval_const(x->p, e, out)) return wrong(x, id, "42804", x->arg[id]->at, "an INTERVAL of days to seconds");
    if (*out < least_us) return wrong(x, id, "22023", x->arg[id]->at, least_us > 0 ? "at least a millisecond" : "zero or more");
    if (*out % 1000) return wrong(x, id, "22023", x->arg[id]->at, "whole milliseconds");
    return *out <= DURATION_MAX_US || wrong(x, id, "22023", x->arg[id]->at, "at most 36,500 days");
}

static bool number(asg *x, arg_id id, double *out) {
    if (!x->arg[id]) return true;
    wr_expr *e = constant(x, id);
    if (!e) return false;
    if (!wr_type_is_numeric(e->type)) return wrong(x, id, "42804", x->arg[id]->at, "a number");
    e = wr_expr_cast(&x->p->ec, e, wr_type_of(WR_T_DOUBLE), false, x->arg[id]->at);
    if (e) e = wr_expr_fold(&x->p->ec, e);
    if (!e || e->kind != WR_E_CONST || !isfinite(e->value.f)) return wrong(x, id, "42804", x->arg[id]->at, "a number");
    *out = e->value.f;
    return true;
}

static bool text(asg *x, arg_id id, const char *no, const char *yes, bool *out) {
    char what[48];
    if (!x->arg[id]) return true;
    wr_expr *e = constant(x, id);
    if (!e) return false;
    wr_str v = wr_type_is_string(e->type) ? e->value.s : WR_STR("");
    *out = wr_str_ieq(v, wr_str_of(yes));
    snprintf(what, sizeof what, "'%s' or '%s'", no, yes);
    return *out || wr_str_ieq(v, wr_str_of(no)) || wrong(x, id, "22023", x->arg[id]->at, what);
}

static bool numbers(asg *x, wr_assign_opts *o) {
    double again = 0;
    if (!number(x, A_MAX_DISTANCE, &o->how.max_distance) || !number(x, A_WAIT_WEIGHT, &o->how.wait_weight) || !number(x, A_BATCH, &o->how.batch_share) || !number(x, A_REASSIGN, &again)) return false;
    if (x->arg[A_MAX_DISTANCE] && o->how.max_distance <= 0) return wrong(x, A_MAX_DISTANCE, "22023", x->arg[A_MAX_DISTANCE]->at, "more than zero");
    if (o->how.wait_weight < 0) return wrong(x, A_WAIT_WEIGHT, "22023", x->arg[A_WAIT_WEIGHT]->at, "zero or more");
    if (x->arg[A_BATCH] && (o->how.batch_share <= 0 || o->how.batch_share >= 1)) return wrong(x, A_BATCH, "22023", x->arg[A_BATCH]->at, "a share between 0 and 1: how much shorter one route for both must be");
    if (again < 0 || again > REASSIGN_MAX || again != floor(again)) return wrong(x, A_REASSIGN, "22023", x->arg[A_REASSIGN]->at, "a whole number from 0 to 1000");
    o->reassign = (uint32_t)again;
    if (!text(x, A_METRIC, "plane", "earth", &o->how.earth) || !text(x, A_MODE, "optimal", "greedy", &o->how.greedy)) return false;
    if (x->arg[A_BATCH] && !x->arg[A_DROP_AT]) {
        pl_error(x->p, "42883", x->arg[A_BATCH]->at, "ASSIGN: batch needs drop_at: whether one route for two orders is shorter depends on where they go");
        wr_diags_hint(x->p->diags, "drop_at => DESCRIPTOR(to_x, to_y)");
        return false;
    }
    if (!again || x->arg[A_ORDER_STATUS]) return true;
    pl_error(x->p, "42883", x->arg[A_REASSIGN]->at, "ASSIGN: reassign needs order_status: without it no row can say that a courier refused");
    wr_diags_hint(x->p->diags, "order_status => DESCRIPTOR(status); the row of the refusal says 'rejected' or 'timed_out'");
    return false;
}

static bool constants(asg *x, wr_assign_opts *o) {
    o->max_wait_us = INT64_C(30) * 60 * 1000000, o->timeout_us = INT64_C(10) * 60 * 1000000, o->hold_us = INT64_C(30) * 1000000;
    return interval(x, A_EVERY, 1000, &o->every_us) && interval(x, A_MAX_WAIT, 1000, &o->max_wait_us) && interval(x, A_COURIER_TIMEOUT, 1000, &o->timeout_us) &&
           interval(x, A_HOLD, 0, &o->hold_us) && numbers(x, o);
}

/* ---- inputs and their columns ---- */

static bool open_side(asg *x, int side, pcte *ctes) {
    const wr_ast_expr *a = x->arg[side ? A_COURIERS : A_ORDERS];
    wr_ast_ref        *sub = wr_new(x->p->arena, wr_ast_ref);
    *sub = (wr_ast_ref){.kind = WR_AST_REF_QUERY, .at = a->at};
    if (a->kind == WR_AST_SUBQUERY) sub->derived.query = a->query; /* orders => (SELECT ...) */
    else if (a->table_arg.order_by.n) {
        pl_error(x->p, "0A000", a->table_arg.order_by.at[0].at, "ASSIGN takes no ORDER BY: rows count in the order of their event time");
        wr_diags_hint(x->p->diags, "leave ORDER BY out");
        return false;
    }
    x->in[side] = pl_bind_ref(x->p, a->kind == WR_AST_SUBQUERY ? sub : a->table_arg.ref, ctes, &x->sc[side]);
    x->b[side] = (bind){.p = x->p, .sc = &x->sc[side], .clause = "PARTITION BY", .ctes = ctes};
    return x->in[side] != NULL;
}

static int column(asg *x, int side, arg_id id, uint32_t i) {
    uint32_t used;
    wr_type  type;
    return pl_resolve_column(&x->b[side], &x->arg[id]->descriptor.columns.at[i], &used, &type, true);
}

static bool wrong_type(asg *x, arg_id id, uint32_t i, wr_field f, const char *needed) {
    wr_sbuf t = {0};
    wr_type_text(f.type, &t);
    pl_error(x->p, "42804", x->arg[id]->descriptor.columns.at[i].at, "ASSIGN: %s needs %s, but '%.*s' is %.*s", ARGS[id].name, needed, WR_FMT(f.name), WR_FMT(wr_sbuf_str(&t)));
    wr_diags_hint(x->p->diags, "cast it in a subquery: TABLE (SELECT ..., CAST(%.*s AS ...) AS %.*s FROM ...)", WR_FMT(f.name), WR_FMT(f.name));
    wr_sbuf_free(&t);
    return false;
}

/* The column as `to`: itself, or a cast behind the input's columns. */
static bool as_type(asg *x, int side, int col, wr_type to, wr_span at, uint32_t *out) {
    wr_field f = x->in[side]->schema.fields[col];
    *out = (uint32_t)col;
    if (f.type.id == to.id) return true;
    wr_expr *e = wr_expr_cast(&x->p->ec, wr_expr_col(x->p->arena, (uint32_t)col, f.type, at), to, false, at);
    if (!e) return false;
    *out = x->in[side]->schema.n + x->extra[side].n;
    wr_arr_apush(x->p->arena, &x->extra[side], e);
    return true;
}

static bool place(asg *x, int side, arg_id id, uint32_t *px, uint32_t *py) {
    for (uint32_t i = 0; i < 2; i++) {
        int col = column(x, side, id, i);
        if (col < 0) return false;
        if (!wr_type_is_numeric(x->in[side]->schema.fields[col].type)) return wrong_type(x, id, i, x->in[side]->schema.fields[col], "numbers");
        if (!as_type(x, side, col, wr_type_of(WR_T_DOUBLE), x->arg[id]->at, i ? py : px)) return false;
    }
    return true;
}

static bool status(asg *x, int side, int32_t *out) {
    arg_id   id = side ? A_COURIER_STATUS : A_ORDER_STATUS;
    uint32_t col;
    *out = -1;
    if (!x->arg[id]) return true;
    int c = column(x, side, id, 0);
    if (c < 0) return false;
    if (!wr_type_is_string(x->in[side]->schema.fields[c].type)) return wrong_type(x, id, 0, x->in[side]->schema.fields[c], "text");
    if (!as_type(x, side, c, wr_type_string(), x->arg[id]->at, &col)) return false;
    *out = (int32_t)col;
    return true;
}

/* on_time names one column for both tables, or one each: the one that the table has. */
static int time_column(asg *x, int side, arg_id *id, uint32_t *which) {
    *id = x->arg[A_ON_TIME] ? A_ON_TIME : side ? A_COURIER_TIME : A_ORDER_TIME;
    *which = 0;
    const wr_ast_names *names = &x->arg[*id]->descriptor.columns;
    uint32_t            used;
    wr_type             type;
    if (names->n == 2 && pl_resolve_column(&x->b[side], &names->at[0], &used, &type, false) < 0) *which = 1;
    return column(x, side, *id, *which);
}

static bool time_of(asg *x, int side, uint32_t *out) {
    arg_id   id;
    uint32_t which;
    int      col = time_column(x, side, &id, &which);
    if (col < 0) return false;
    wr_field f = x->in[side]->schema.fields[col];
    wr_span  at = x->arg[id]->descriptor.columns.at[which].at;
    *out = (uint32_t)col;
    if (f.type.attr == WR_TIME_ROWTIME) return true;
    if (f.type.attr == WR_TIME_PROCTIME) {
        pl_error(x->p, "0A000", at, "ASSIGN goes by event time, but '%.*s' of %s is the processing time: its rounds would depend on when the job runs", WR_FMT(f.name), SIDE[side]);
        wr_diags_hint(x->p->diags, "name the column that says when it happened, with a WATERMARK on it");
        return false;
    }
    wr_sbuf t = {0};
    wr_type_text(f.type, &t);
    pl_error(x->p, "42804", at, "ASSIGN needs an event-time column, but '%.*s' of %s is a plain %.*s", WR_FMT(f.name), SIDE[side], WR_FMT(wr_sbuf_str(&t)));
    wr_diags_hint(x->p->diags, "declare WATERMARK FOR %.*s AS ... on the table; an expression, a GROUP BY or a regular join makes a time column plain", WR_FMT(f.name));
    wr_sbuf_free(&t);
    return false;
}

static bool key_column(asg *x, int side, uint32_t *out) {
    arg_id id = side ? A_COURIER_KEY : A_ORDER_KEY;
    int    col = column(x, side, id, 0);
    if (col < 0) return false;
    wr_type t = x->in[side]->schema.fields[col].type;
    *out = (uint32_t)col;
    if (!wr_type_is_nested(t) && t.id != WR_T_BITMAP && t.id != WR_T_VARIANT) return true;
    return wrong_type(x, id, 0, x->in[side]->schema.fields[col], "a value that can be a key");
}

static uint32_t *partition_of(asg *x, int side) {
    const wr_ast_expr *a = x->arg[side ? A_COURIERS : A_ORDERS];
    uint32_t           n = a->kind == WR_AST_TABLE_ARG ? a->table_arg.partition_by.n : 0, *keys = wr_new_n(x->p->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        wr_expr *e = pl_bind_expr(&x->b[side], a->table_arg.partition_by.at[i]);
        if (!e) return NULL;
        if (e->kind != WR_E_COL) {
            pl_error(x->p, "0A000", e->at, "PARTITION BY of ASSIGN takes columns");
            wr_diags_hint(x->p->diags, "compute it in a subquery: TABLE (SELECT ..., ... AS region FROM ...) PARTITION BY region");
            return NULL;
        }
        keys[i] = e->col;
    }
    return keys;
}

static bool partitions(asg *x, wr_assign_opts *o) {
    const wr_ast_expr *a[2] = {x->arg[A_ORDERS], x->arg[A_COURIERS]};
    uint32_t           n[2], *keys[2];
    for (int s = 0; s < 2; s++) {
        n[s] = a[s]->kind == WR_AST_TABLE_ARG ? a[s]->table_arg.partition_by.n : 0;
        if (!(keys[s] = partition_of(x, s))) return false;
    }
    if (n[0] != n[1]) {
        pl_error(x->p, "42883", a[n[0] ? 1 : 0]->at, "ASSIGN: orders has %u partition column%s and couriers %u: an order goes to couriers of its own partition, so both are cut the same way", n[0],
                 n[0] == 1 ? "" : "s", n[1]);
        wr_diags_hint(x->p->diags, "orders => TABLE o PARTITION BY region, couriers => TABLE c PARTITION BY region; or neither: then all is one partition");
        return false;
    }
    for (uint32_t i = 0; i < n[0]; i++) {
        wr_field l = x->in[0]->schema.fields[keys[0][i]], r = x->in[1]->schema.fields[keys[1][i]];
        if (l.type.id == r.type.id && (wr_type_is_string(l.type) || wr_type_same(l.type, r.type))) continue;
        wr_sbuf lt = {0}, rt = {0};
        wr_type_text(l.type, &lt), wr_type_text(r.type, &rt);
        pl_error(x->p, "42804", a[1]->table_arg.partition_by.at[i]->at, "ASSIGN: partition columns must have the same type, but '%.*s' of orders is %.*s and '%.*s' of couriers %.*s", WR_FMT(l.name),
                 WR_FMT(wr_sbuf_str(&lt)), WR_FMT(r.name), WR_FMT(wr_sbuf_str(&rt)));
        wr_diags_hint(x->p->diags, "cast one of them in a subquery: TABLE (SELECT ..., CAST(%.*s AS %.*s) AS %.*s FROM ...)", WR_FMT(r.name), WR_FMT(wr_sbuf_str(&lt)), WR_FMT(r.name));
        wr_sbuf_free(&lt), wr_sbuf_free(&rt);
        return false;
    }
    o->n_keys = n[0];
    o->side[0].keys = keys[0], o->side[1].keys = keys[1];
    return true;
}

static bool same_time_type(asg *x, const wr_assign_opts *o) {
    wr_type l = x->in[0]->schema.fields[o->side[0].time].type, r = x->in[1]->schema.fields[o->side[1].time].type;
    if (l.id == r.id) return true;
    pl_error(x->p, "42804", x->ref->call->at, "ASSIGN: the times of orders and couriers are of different kinds, %s and %s", wr_tid_name(l.id), wr_tid_name(r.id));
    wr_diags_hint(x->p->diags, "declare both TIMESTAMP(3), or both TIMESTAMP_LTZ(3)");
    return false;
}

static bool side_columns(asg *x, int s, wr_assign_side *o) {
    uint32_t to[2];
    o->to_x = o->to_y = -1;
    if (!key_column(x, s, &o->id) || !place(x, s, s ? A_COURIER_AT : A_ORDER_AT, &o->x, &o->y) || !time_of(x, s, &o->time) || !status(x, s, &o->status)) return false;
    if (s || !x->arg[A_DROP_AT]) return true;
    if (!place(x, 0, A_DROP_AT, &to[0], &to[1])) return false;
    if (x->arg[A_BATCH]) o->to_x = (int32_t)to[0], o->to_y = (int32_t)to[1];
    return true;
}

/* ---- the node ---- */

static lnode *with_casts(asg *x, int s) {
    lnode   *in = x->in[s];
    uint32_t n = in->schema.n + x->extra[s].n;
    if (!x->extra[s].n) return in;
    wr_expr **exprs = wr_new_n(x->p->arena, wr_expr *, n), **same = pl_identity(x->p, in);
    wr_str   *names = wr_new_n(x->p->arena, wr_str, n);
    for (uint32_t i = 0; i < n; i++) {
        exprs[i] = i < in->schema.n ? same[i] : x->extra[s].at[i - in->schema.n];
        const wr_expr *cast = i < in->schema.n ? NULL : x->extra[s].at[i - in->schema.n];
        names[i] = in->schema.fields[cast ? cast->args[0]->col : i].name; /* found by its place; the name is for people */
    }
    lnode *c = pl_calc(x->p, in, NULL, exprs, names, n, in->at);
    c->label = pl_label(in);
    return c;
}

static wr_schema output_of(asg *x, const wr_assign_opts *o) {
    static const char *const NAMES[] = {"order_id", "courier_id", "distance", "waited_ms", "attempt", "stop", "rowtime"};
    const wr_schema *l = &x->in[0]->schema, *r = &x->in[1]->schema;
    uint32_t         k = o->n_keys;
    wr_field        *f = wr_new_n(x->p->arena, wr_field, k + WR_COUNT_OF(NAMES));
    for (uint32_t i = 0; i < k; i++) f[i] = l->fields[o->side[0].keys[i]], f[i].type.attr = WR_TIME_NONE;
    wr_type time = wr_type_not_null(wr_type_prec(l->fields[o->side[0].time].type.id, 3));
    time.attr = WR_TIME_ROWTIME;
    wr_type types[] = {wr_type_not_null(l->fields[o->side[0].id].type), r->fields[o->side[1].id].type, wr_type_of(WR_T_DOUBLE), wr_type_not_null(wr_type_of(WR_T_BIGINT)),
                       wr_type_not_null(wr_type_of(WR_T_INT)), wr_type_of(WR_T_INT), time};
    types[0].attr = types[1].attr = WR_TIME_NONE;
    types[1].nullable = 1;
    for (size_t i = 0; i < WR_COUNT_OF(NAMES); i++) {
        wr_str name = wr_str_of(NAMES[i]);
        while (wr_schema_find(&(wr_schema){k, f}, name) >= 0) name = pl_printf(x->p, "%.*s0", WR_FMT(name)); /* as window_start0 */
        f[k + i] = (wr_field){name, types[i]};
    }
    return (wr_schema){k + WR_COUNT_OF(NAMES), f};
}

lnode *pl_bind_assign(pl *p, const wr_ast_ref *ref, pcte *ctes) {
    asg            x = {.p = p, .ref = ref};
    wr_assign_opts o = {0};
    if (!sort_args(&x) || !open_side(&x, 0, ctes) || !open_side(&x, 1, ctes) || !partitions(&x, &o) || !side_columns(&x, 0, &o.side[0]) || !side_columns(&x, 1, &o.side[1]) ||
        !same_time_type(&x, &o) || !constants(&x, &o))
        return NULL;
    for (int s = 0; s < 2; s++) ((uint32_t *)(uintptr_t)o.side[s].keys)[o.n_keys] = o.side[s].id;
    o.output = output_of(&x, &o);
    lnode *n = pl_node(p, L_ASSIGN, ref->call->at, 2, with_casts(&x, 0), with_casts(&x, 1));
    n->assign = o;
    n->schema = o.output;
    n->label = WR_STR("ASSIGN");
    return n;
}

/* ---- convert, prune ---- */

lnode *pl_convert_assign(pl *p, lnode *n) {
    for (int s = 0; s < 2; s++) {
        const lnode *in = n->in[s];
        wr_field     f = in->schema.fields[n->assign.side[s].time];
        if (in->props.updating) {
            pl_error(p, "0A000", n->at, "ASSIGN takes only inserts, but '%.*s' (%s) changes rows", WR_FMT(pl_label(in)), SIDE[s]);
            wr_diags_hint(p->diags, "give it the rows as they come: what happens to an order or a courier is a row with a status");
            return NULL;
        }
        if (f.type.attr == WR_TIME_ROWTIME) continue;
        return pl_error(p, "42804", n->at, "ASSIGN needs an event-time column, but '%.*s' of %s lost that property below (a regular join or an aggregation makes it plain)", WR_FMT(f.name), SIDE[s]);
    }
    n->props = (lprops){.bounded = n->in[0]->props.bounded && n->in[1]->props.bounded, .win = {.start = -1, .end = -1, .time = -1}, .rate = n->in[0]->props.rate,
                        .rate_declared = n->in[0]->props.rate_declared};
    return n;
}

void pl_assign_need(const wr_assign_opts *o, int s, bool *need) {
    const wr_assign_side *a = &o->side[s];
    for (uint32_t i = 0; i < o->n_keys; i++) need[a->keys[i]] = true;
    need[a->id] = need[a->x] = need[a->y] = need[a->time] = true;
    if (a->to_x >= 0) need[a->to_x] = need[a->to_y] = true;
    if (a->status >= 0) need[a->status] = true;
}

void pl_assign_remap(pl *p, wr_assign_opts *o, int s, const uint32_t *map) {
    wr_assign_side *a = &o->side[s];
    uint32_t       *keys = wr_new_n(p->arena, uint32_t, o->n_keys + 1);
    for (uint32_t i = 0; i <= o->n_keys; i++) keys[i] = map[a->keys[i]];
    a->keys = keys;
    a->id = map[a->id], a->x = map[a->x], a->y = map[a->y], a->time = map[a->time];
    if (a->to_x >= 0) a->to_x = (int32_t)map[a->to_x], a->to_y = (int32_t)map[a->to_y];
    if (a->status >= 0) a->status = (int32_t)map[a->status];
}
