/* plan/bill.c: the state bill: what each operator keeps, what bounds it, bytes per key and per row; and the refusal of what nothing bounds.
 *
 * Idea       each operator's state is written down as parts (bill.h): so many bytes each, from the functions beside the operators (wr_group_agg_key_bytes ...),
 *            times units that depend on time (bill_units.c). ph_bill notes what planning knows of each input; wr_bill_apply makes the bill out anew
 *            when a sample or the last run has told more. Without either, counts come from declarations of the source tables
 *            ('stats.rows-per-second', 'stats.keys.<column>', 'stats.row-bytes'), else from an assumption that is named.
 * Invariant  every node has a bill; a stateless one says so. A refusal is an error diagnostic; the plan is still given for explain.
 * Memory     parts live in the arena given.                                                                                   */
#include "plan/physical.h"
#include "state/versions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ASSUMED_RATE 1000.0
#define SLACK 0.06       /* maps and heaps: large pieces that stay */
#define SLACK_CHURN 0.7  /* panes that come and go, sets that grow by copying: measured, glibc */
enum { ROW_HEAD = 24, KEY_HEAD = 16, PARTS_MAX = WR_BILL_VALUES + 5, OPERATOR_BYTES = 4096 /* the first chunk of its arena */ }; /* heads: beside an encoded row and key in a checkpoint */
typedef enum side_bound { SIDE_ENDS, SIDE_TTL, SIDE_KEYS, SIDE_NOTHING } side_bound;

typedef struct account { /* of one node */
    wr_pnode             *n;
    wr_bill              *b;
    const wr_bill_facts  *facts;
    const wr_input_facts *in[2]; /* NULL: nothing is known */
    wr_bill_part          parts[PARTS_MAX];
    uint32_t              n_parts;
} account;

/* ---- sizes ---- */

static double encoded_row(double declared, const wr_schema *s) {
    double by_type = pl_row_bytes(s);
    return declared > 0 && declared < by_type ? declared : by_type;
}
static double encoded_key(const wr_schema *s, const uint32_t *cols, uint32_t n) {
    double b = 0;
    for (uint32_t i = 0; i < n; i++) {
        wr_field  f = s->fields[cols[i]];
        wr_schema one = {1, &f};
        b += pl_row_bytes(&one) - 1.0 / 8;
    }
    return b + 1;
}
/* The map keeps one fixed-width column in place, everything else as bytes: two small columns are not one. */
static double map_key(double bytes, uint32_t n) { /* nor are they short text: there is no header to leave out */
    return n <= 1 ? bytes : bytes > 20 ? bytes + 5.1 : WR_MAX(bytes, 10.0);
}
static double side_key_bytes(const wr_pnode *n, int side) {
    const uint32_t *cols = side ? n->join.keys.right : n->join.keys.left;
    return map_key(encoded_key(&n->inputs[side].node->schema, cols, n->join.keys.n), n->join.keys.n);
}
static double row_len(const account *a, uint32_t i) {
    return a->in[i] && a->in[i]->row_bytes > 0 ? a->in[i]->row_bytes : encoded_row(a->b->in[i].row_bytes, &a->n->inputs[i].node->schema);
}
static double key_len(const account *a, uint32_t i, const uint32_t *cols, uint32_t n) {
    if (!n) return 0;
    return map_key(a->in[i] && a->in[i]->key_bytes > 0 ? a->in[i]->key_bytes : encoded_key(&a->n->inputs[i].node->schema, cols, n), n);
}

/* Declared distinct values of a column, traced down to the table it comes from; 0 = not declared. */
static double declared_column(const wr_pnode *n, uint32_t col) {
    while (n->kind != WR_P_SOURCE) {
        const wr_expr *e = n->kind == WR_P_CALC ? n->calc.exprs[col] : NULL;
        if (e && e->kind == WR_E_COL) col = e->col;
        else if (n->kind == WR_P_GROUP_AGG && col < n->group_agg.n_keys) col = n->group_agg.keys[col];
        else if (n->kind == WR_P_WINDOW_AGG && col < n->window_agg.n_keys) col = n->window_agg.keys[col];
        else if (n->kind == WR_P_LOCAL_AGG) (void)0; /* same columns */
        else if (n->kind == WR_P_MATCH && col < n->match.n_keys) col = n->match.keys[col];
        else if (n->kind == WR_P_ASSIGN && col <= n->assign.n_keys) col = n->assign.side[0].keys[col]; /* the order's id is behind them */
        else if (n->kind == WR_P_SPREAD && col + 1 == n->schema.n) return n->spread.hot ? 1 : n->spread.ways;
        else if (n->kind == WR_P_INTERVAL_JOIN || n->kind == WR_P_JOIN || n->kind == WR_P_TEMPORAL_JOIN || n->kind == WR_P_WINDOW_JOIN) {
            uint32_t nl = n->inputs[0].node->schema.n;
            if (col >= nl) {
                n = n->inputs[1].node;
                col -= nl;
                continue;
            }
        } else if (e || !n->n_inputs || col >= n->inputs[0].node->schema.n || n->kind == WR_P_GROUP_AGG || n->kind == WR_P_WINDOW_AGG || n->kind == WR_P_MATCH || n->kind == WR_P_ASSIGN) {
            return 0;
        }
        n = n->inputs[0].node;
    }
    char key[160], text[32];
    snprintf(key, sizeof key, "stats.keys.%.*s", WR_FMT(n->schema.fields[col].name));
    wr_str v = pl_table_option(n->source.table, key);
    if (!v.ptr || v.len >= sizeof text) return 0;
    memcpy(text, v.ptr, v.len);
    text[v.len] = 0;
    return strtod(text, NULL);
}

static double declared_keys(const wr_pnode *in, const uint32_t *cols, uint32_t n) {
    double keys = 1;
    for (uint32_t i = 0; i < n; i++) {
        double d = declared_column(in, cols[i]);
        if (d <= 0) return 0;
        keys *= d;
    }
    return keys;
}

static void names(const wr_schema *s, const uint32_t *cols, uint32_t n, char *out, size_t size) {
    size_t at = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < n && at + 2 < size; i++) {
        int w = snprintf(out + at, size - at, "%s%.*s", i ? ", " : "", WR_FMT(s->fields[cols[i]].name));
        at += (size_t)WR_MAX(w, 0);
    }
}

static void text_us(char *out, size_t size, double us) {
    wr_sbuf b = {0};
    wr_text_duration((int64_t)us, &b);
    snprintf(out, size, "%.*s", (int)b.len, b.at ? b.at : "0 s");
    wr_sbuf_free(&b);
}

/* ---- parts ---- */

static wr_bill_part *add_part(account *a, bool is_key, double bytes, double saved_bytes, wr_units units, const char *what) {
    wr_bill_part *p = &a->parts[WR_MIN(a->n_parts, (uint32_t)PARTS_MAX - 1)];
    if (a->n_parts < PARTS_MAX) a->n_parts++;
    *p = (wr_bill_part){.is_key = is_key, .bytes = bytes, .saved_bytes = saved_bytes, .slack = SLACK, .copies = 1, .units = units};
    snprintf(p->what, sizeof p->what, "%s", what);
    return p;
}
/* How often a row of this side, and so its key, is there: more than once where the join is split and this is the side kept in every part. */
static double copies_of(const account *a, uint32_t i) {
    const wr_pnode *in = a->n->inputs[i].node;
    if (in->kind != WR_P_SPREAD || !in->spread.replicate) return 1;
    if (a->facts && a->facts->copies && a->facts->copies[in->index] > 0) return a->facts->copies[in->index];
    return in->spread.hot ? 0 : in->spread.ways;
}
static double copies_of_keys(const account *a) {
    double l = copies_of(a, 0), r = copies_of(a, 1);
    return l == 0 || r == 0 ? 0 : WR_MAX(l, r);
}
/* A part whose units are entries of one map: exact slack for as many as there are now. */
static void in_map(wr_bill_part *p, double entry_bytes) {
    double n = p->units.now;
    if (n > 0) p->bytes_now = p->bytes - entry_bytes + (wr_kmap_map_bytes(entry_bytes, n * 0.97, 0) + wr_kmap_map_bytes(entry_bytes, n * 1.03, 0)) / 2 / n; /* n is not exact */
}

/* ---- units ---- */

static double rate_of(const account *a, uint32_t i) {
    const wr_bill_input *p = &a->b->in[i];
    const wr_input_facts *f = a->in[i];
    if (p->rate_declared || !f) return p->rate > 0 ? p->rate : ASSUMED_RATE;
    return f->rate > 0 ? f->rate : p->rate > 0 ? p->rate : ASSUMED_RATE;
}
static const char *rate_from(const account *a, uint32_t i) {
    if (a->b->in[i].rate_declared) return "hint";
    return a->in[i] && a->in[i]->rate > 0 ? a->facts->from : "assumed";
}
static double whole(const account *a, double sampled) { /* of rows, in the input that is there */
    return a->facts->share > 0 && a->facts->share < 1 ? sampled / a->facts->share : sampled;
}

/* Distinct ones among so many rows. declared <= 0: not declared. */
static wr_units distinct(const account *a, uint32_t i, double declared, double rows, double keys, double half_rows, double half_keys) {
    wr_units u = {.kind = WR_UNITS_KEYS, .rate = rate_of(a, i), .total = declared > 0 ? declared : -1};
    if (!a->in[i] || rows <= 0) {
        if (declared <= 0) u.kind = WR_UNITS_UNKNOWN;
        return u;
    }
    if (declared <= 0) u.total = pl_fit_total(rows, keys);
    u.power = declared > 0 ? 0 : pl_fit_power(u.total, rows, keys, half_rows, half_keys);
    u.seen = rows, u.now = keys;
    double all = whole(a, rows);
    if (all > rows) {
        double then = pl_units_of_rows(&u, all);
        u.seen = all, u.now = then;
    }
    return u;
}
static wr_units keys_units(account *a, uint32_t i, const uint32_t *cols, uint32_t n) {
    const wr_input_facts *f = a->in[i];
    double declared = n ? declared_keys(a->n->inputs[i].node, cols, n) : 1;
    wr_units u = f ? distinct(a, i, declared, f->rows, f->keys, f->half_rows, f->half_keys) : distinct(a, i, declared, 0, 0, 0, 0);
    if (!n) u = (wr_units){.kind = WR_UNITS_FIXED, .now = 1, .rate = rate_of(a, i)};
    a->b->keys = u.kind == WR_UNITS_FIXED ? 1 : u.kind == WR_UNITS_UNKNOWN ? 0 : u.now > 0 ? u.now : declared;
    a->b->keys_from = declared > 0 ? "hint" : f ? a->facts->from : "not known";
    return u;
}
/* Of those, the ones touched within a time. steady from the keys model, unless the sample was longer than that. */
static wr_units within(const account *a, wr_units keys, double span_us, double peak, double sampled_span_us) {
    wr_units u = keys;
    u.kind = WR_UNITS_SPAN;
    u.span_us = span_us;
    if (keys.kind == WR_UNITS_UNKNOWN) return keys;
    if (keys.kind == WR_UNITS_FIXED) return keys;
    double rows = keys.rate * span_us / 1e6;
    u.steady = keys.seen > 0 ? pl_units_of_rows(&keys, rows) : WR_MIN(keys.total, rows);
    if (peak > 0) {
        u.now = peak;
        if (sampled_span_us >= span_us) u.steady = peak;
        else u.steady = WR_MAX(u.steady, peak);
    }
    (void)a;
    return u;
}
/* Keys with a time to live. Expired ones are swept little by little, so more are there than were touched in time: as many as the sample held. */
static wr_units with_ttl(const account *a, wr_units keys, int64_t ttl_us, bool event_time) {
    const wr_input_facts *f = a->in[0];
    if (ttl_us <= 0) return keys;
    wr_units u = within(a, keys, (double)ttl_us, f && event_time ? f->peak_keys : 0, f ? f->span_us : 0);
    if (!f || u.kind != WR_UNITS_SPAN) return u;
    if (!event_time) u.now = keys.now;
    double swept_late = f->peak_keys > 0 && event_time ? WR_MAX(f->kept_keys / f->peak_keys, 1.0) : 1;
    u.now *= swept_late, u.steady *= swept_late;
    return u;
}
static wr_units rows_within(const account *a, uint32_t i, double span_us) {
    const wr_input_facts *f = a->in[i];
    wr_units u = {.kind = WR_UNITS_SPAN, .rate = rate_of(a, i), .span_us = span_us};
    u.steady = u.rate * span_us / 1e6;
    if (!f) return u;
    u.now = f->peak_rows;
    if (!a->b->in[i].rate_declared && f->span_us >= span_us && f->busy_rows > 0) u.steady = f->busy_rows; /* the busiest stretch */
    return u;
}

static void by_keys(account *a, const wr_pnode *in, const uint32_t *cols, uint32_t n, int64_t ttl, bool event_time) {
    char k[160];
    wr_bill *b = a->b;
    names(&in->schema, cols, n, k, sizeof k);
    b->bound = n ? WR_BOUND_KEYS : WR_BOUND_INPUT;
    snprintf(b->bounded_by, sizeof b->bounded_by, n ? "number of distinct (%s)" : "one entry", k);
    if (ttl <= 0) return;
    char t[48];
    text_us(t, sizeof t, (double)ttl);
    b->bound = WR_BOUND_TIME;
    b->retention_us = (double)ttl;
    snprintf(b->clock, sizeof b->clock, "%s", event_time ? "event time" : "processing time");
    snprintf(b->bounded_by, sizeof b->bounded_by, "keys touched within %s of %s (TTL)", t, b->clock);
}

/* ---- aggregation ---- */

static double values_cap(double per_key) { return per_key <= 2 ? 2 : per_key <= 5 ? 5 : 9; } /* how a small set grows: op/value_set.c */

/* Aggregates that keep the values of a group. groups: how many groups there are at a time. */
static void add_values(account *a, const wr_agg *aggs, uint32_t n, bool retract, wr_units groups, bool by_pane) {
    const wr_input_facts *f = a->in[0];
    for (uint32_t i = 0; i < n; i++) {
        double fixed, each;
        char   what[80];
        wr_agg_bytes(&aggs[i], 1, retract, &fixed, &each);
        if (each <= 0 || (a->n->kind == WR_P_GROUP_AGG && wr_agg_values_kept_by_other(aggs, n, i, retract))) continue;
        a->b->row_bytes += each;
        bool     every_row = !aggs[i].distinct && (aggs[i].kind == WR_AGG_LISTAGG || aggs[i].kind == WR_AGG_COLLECT || aggs[i].kind == WR_AGG_ARRAY_AGG);
        wr_units u = {.kind = WR_UNITS_UNKNOWN, .rate = rate_of(a, 0)};
        if (f && i < WR_BILL_VALUES) {
            double live = WR_MAX(f->added - f->removed, 0.0), seen = every_row ? live : retract ? WR_MIN(f->values[i], live) : f->values[i];
            u = distinct(a, 0, -1, f->rows, seen, f->half_rows, 0);
            if (groups.kind == WR_UNITS_SPAN) u = within(a, u, groups.span_us, by_pane ? f->peak_values[i] : 0, f->span_us);
            double per_key = groups.now > 0 ? WR_MAX(u.now / groups.now, 1.0) : 9; /* of the groups that have any */
            if (aggs[i].distinct && per_key <= 8) each = WR_MAX(each - 4 / 0.375, 0.0) / 1.2 * values_cap(per_key) / per_key;
            if (u.now > 0) each += wr_agg_list_bytes(&aggs[i], 1, retract) * WR_MIN(groups.now / u.now, 1.0); /* groups without a value have no list */
            if (f->value_bytes[i] > 12) each += f->value_bytes[i] + 16; /* longer text stands outside */
        }
        snprintf(what, sizeof what, "a value of %s", wr_agg_title(&aggs[i]));
        wr_bill_part *p = add_part(a, false, each, 16 + (f && i < WR_BILL_VALUES ? f->value_bytes[i] : 0), u, what);
        p->slack = aggs[i].distinct ? SLACK_CHURN : 0.2;
    }
}

static void bill_group(account *a) {
    wr_pnode *n = a->n;
    const wr_group_agg_opts *o = &n->group_agg;
    const wr_pnode *in = n->inputs[0].node;
    double          key = key_len(a, 0, o->keys, o->n_keys), fixed, per_value;
    char            k[160];
    a->b->windows = 1;
    a->b->key_bytes = wr_group_agg_key_bytes(o, key);
    wr_agg_bytes(o->aggs, o->n_aggs, o->retract_input, &fixed, &per_value);
    by_keys(a, in, o->keys, o->n_keys, o->ttl_us, o->ttl_event_time);
    wr_units u = keys_units(a, 0, o->keys, o->n_keys);
    u = with_ttl(a, u, o->ttl_us, o->ttl_event_time);
    double lists = wr_agg_list_bytes(o->aggs, o->n_aggs, o->retract_input), entry = a->b->key_bytes - lists;
    in_map(add_part(a, true, a->in[0] ? entry : a->b->key_bytes, KEY_HEAD + key + fixed, u, "a group"), entry);
    add_values(a, o->aggs, o->n_aggs, o->retract_input, u, false);
    names(&in->schema, o->keys, o->n_keys, k, sizeof k);
    snprintf(a->b->keeps, sizeof a->b->keeps, o->n_keys ? "%s per (%s)%s" : "%s%.0s%s", o->n_aggs ? "accumulators" : "one mark", k,
             a->b->row_bytes > 0 ? ", and every value of a group" : "");
}

/* Keys of panes that are open at a time. */
static wr_units pane_units(account *a, double keep_us, double pane_us) {
    const wr_window_agg_opts *o = &a->n->window_agg;
    const wr_input_facts *f = a->in[0];
    wr_bill *b = a->b;
    double declared = o->n_keys ? declared_keys(a->n->inputs[0].node, o->keys, o->n_keys) : 1, rate = rate_of(a, 0);
    wr_units u = {.kind = WR_UNITS_SPAN, .rate = rate, .span_us = keep_us};
    double rows = rate * pane_us / 1e6, keys = declared > 0 ? WR_MIN(declared, rows) : rows;
    if (f && f->pane_keys > 0) keys = f->pane_keys;
    b->keys = f ? f->keys : declared > 0 ? declared : 0;
    b->keys_from = f ? a->facts->from : declared > 0 ? "hint" : "assumed";
    u.steady = keys * b->windows;
    if (f) {
        u.now = f->peak_keys;
        if (f->span_us >= keep_us) u.steady = WR_MIN(u.steady, WR_MAX(f->peak_keys, keys));
    }
    return u;
}

static void window_texts(account *a, double size, double pane) {
    const wr_window_agg_opts *o = &a->n->window_agg;
    const char *per = o->n_keys ? " and " : "";
    char k[160], t[48], p[48];
    names(&a->n->inputs[0].node->schema, o->keys, o->n_keys, k, sizeof k);
    text_us(t, sizeof t, size);
    text_us(p, sizeof p, pane);
    wr_bill *b = a->b;
    if (o->window.kind == WR_WINDOW_SESSION) snprintf(b->keeps, sizeof b->keeps, "accumulators per open session%s%s", o->n_keys ? " of " : "", k);
    else if (o->input_is_windowed) snprintf(b->keeps, sizeof b->keeps, "accumulators per open window%s%s", per, k);
    else snprintf(b->keeps, sizeof b->keeps, "accumulators per %s%s%s pane", k, per, p);
    snprintf(b->bounded_by, sizeof b->bounded_by, o->window.kind == WR_WINDOW_SESSION ? "keys active within %s" : o->window.proctime ? "%s of processing time" : "%s of event time", t);
}

static void bill_session(account *a) {
    const wr_window_agg_opts *o = &a->n->window_agg;
    wr_bill *b = a->b;
    double   key = key_len(a, 0, o->keys, o->n_keys), fixed, per_value;
    wr_agg_bytes(o->aggs, o->n_aggs, o->retract_input, &fixed, &per_value);
    b->key_bytes = wr_session_agg_key_bytes(o, key);
    b->row_bytes = wr_timer_bytes();
    b->windows = 1;
    b->retention_us = (double)o->window.size_us + b->in[0].delay_us;
    wr_units u = within(a, keys_units(a, 0, o->keys, o->n_keys), b->retention_us, a->in[0] ? a->in[0]->peak_keys : 0, a->in[0] ? a->in[0]->span_us : 0);
    if (u.kind == WR_UNITS_UNKNOWN) u = rows_within(a, 0, b->retention_us); /* at most one a row */
    double lists = a->in[0] ? wr_agg_list_bytes(o->aggs, o->n_aggs, o->retract_input) : 0;
    in_map(add_part(a, true, b->key_bytes - lists, KEY_HEAD + key + fixed + 17, u, "a session"), wr_kmap_entry_bytes(8, key));
    add_part(a, false, b->row_bytes, 0, rows_within(a, 0, b->retention_us), "a timer of a session that grew");
    add_values(a, o->aggs, o->n_aggs, o->retract_input, u, true);
}

static void bill_window(account *a) {
    const wr_window_agg_opts *o = &a->n->window_agg;
    const wr_window *w = &o->window;
    wr_bill *b = a->b;
    double size = (double)w->size_us, pane = o->input_is_windowed ? size : w->kind == WR_WINDOW_TUMBLE ? size : (double)w->slide_us, fixed, per_value;
    b->bound = WR_BOUND_TIME;
    window_texts(a, size, (double)w->slide_us);
    if (w->kind == WR_WINDOW_SESSION && !o->input_is_windowed) {
        bill_session(a);
        return;
    }
    double key = key_len(a, 0, o->keys, o->n_keys);
    b->key_bytes = wr_window_agg_key_bytes(o, key);
    wr_agg_bytes(o->aggs, o->n_aggs, o->retract_input, &fixed, &per_value);
    b->retention_us = size + b->in[0].delay_us;
    b->windows = o->input_is_windowed ? WR_MAX(ceil(b->in[0].delay_us / WR_MAX(size, 1.0)), 0.0) + 1 : ceil(b->retention_us / pane) + (w->kind == WR_WINDOW_TUMBLE ? 0 : 1);
    if (w->kind == WR_WINDOW_CUMULATE) b->windows = ceil(b->in[0].delay_us / pane) + 1; /* older steps are merged into the running one */
    bool   hop = !o->input_is_windowed && w->kind == WR_WINDOW_HOP && w->slide_us != w->size_us;
    double lists = WR_MIN(wr_agg_list_bytes(o->aggs, o->n_aggs, o->retract_input), b->key_bytes - wr_kmap_entry_bytes(0, key)), keys_of_pane = a->in[0] ? a->in[0]->pane_keys : 0;
    wr_units      u = pane_units(a, b->retention_us, pane);
    double        entry = b->key_bytes - lists;
    wr_bill_part *p = add_part(a, true, a->in[0] ? entry : b->key_bytes, KEY_HEAD + key + fixed, u, "a key in a pane");
    p->slack = SLACK_CHURN;
    if (keys_of_pane > 0) p->bytes_now = wr_kmap_map_bytes(entry, keys_of_pane, keys_of_pane * 0.9) / keys_of_pane; /* made for the pane before it, which was not full yet */
    bool running = !o->input_is_windowed && (w->kind == WR_WINDOW_CUMULATE || (w->kind == WR_WINDOW_HOP && w->slide_us != w->size_us));
    if (running) {
        bool   linked = hop && wr_window_agg_key_bytes(o, key) > wr_kmap_entry_bytes((uint32_t)(fixed * 1.5), key); /* two stacks: a second map, of links */
        double running_entry = wr_kmap_entry_bytes((uint32_t)fixed, key) + (linked ? wr_kmap_entry_bytes(24, key) : 0);
        wr_units all = within(a, keys_units(a, 0, o->keys, o->n_keys), size, 0, 0);
        if (a->in[0]) all.now = WR_MIN(a->in[0]->keys, all.steady);
        if (a->in[0] && w->kind == WR_WINDOW_HOP) all.now = WR_MIN(all.now, a->in[0]->peak_keys);
        if (all.kind == WR_UNITS_UNKNOWN) all = u;
        wr_bill_part *r = add_part(a, true, running_entry, 0, all, "a key of the running window");
        in_map(r, running_entry);
        r->slack = SLACK_CHURN + 2 * pl_row_bytes(&a->n->schema) / running_entry; /* and its row, when the window fires */
    }
    add_values(a, o->aggs, o->n_aggs, o->retract_input, u, true);
}

/* ---- joins ---- */

/* A side that is kept for a time; due_each: due times a row. */
static void side_within(account *a, uint32_t i, double keep_us, double per_key, double due_each, double (*bytes_of)(double, double), const char *what) {
    double        row = row_len(a, i);
    wr_units      u = rows_within(a, i, keep_us);
    wr_bill_part *p = add_part(a, false, bytes_of(row, per_key), ROW_HEAD + row, u, what);
    p->copies = copies_of(a, i);
    if (due_each <= 0) return;
    p->bytes_now = p->bytes + due_each * wr_join_due_bytes(u.now * due_each);
    p->bytes += due_each * wr_join_due_bytes(u.steady * due_each);
}

static double mean_rate(const account *a, double l, double r) {
    double rl = rate_of(a, 0), rr = rate_of(a, 1);
    return rl + rr > 0 ? (rl * l + rr * r) / (rl + rr) : 0;
}
static void two_rates(account *a) {
    a->b->windows = 1;
    a->b->rate_rows = rate_of(a, 0) + rate_of(a, 1);
    a->b->rate_from = strcmp(rate_from(a, 0), "assumed") == 0 ? rate_from(a, 0) : rate_from(a, 1);
}
/* Keys of both sides at a time, and the rows a key has. */
static wr_units open_keys(account *a, const uint32_t *cols, uint32_t n, double keep_us, double *per_key) {
    const wr_input_facts *f = a->in[0], *g = a->in[1];
    wr_units l = rows_within(a, 0, keep_us), r = rows_within(a, 1, keep_us);
    wr_units u = l.steady > r.steady ? l : r; /* at most one a row of the larger side */
    *per_key = 1;
    if (!n) return (wr_units){.kind = WR_UNITS_FIXED, .now = 1};
    if (f && g && f->peak_keys > 0) {
        double rows = f->peak_rows + g->peak_rows;
        u.now = f->peak_keys;
        *per_key = WR_MAX(rows / f->peak_keys, 1.0);
        if (rows > 0) u.steady = (l.steady + r.steady) * f->peak_keys / rows;
        return u;
    }
    double declared = declared_keys(a->n->inputs[0].node, cols, n);
    if (declared > 0 && u.steady > declared) *per_key = (l.steady + r.steady) / declared, u.steady = declared;
    return u;
}

static void bill_interval(account *a) {
    const wr_interval_join_opts *o = &a->n->interval_join;
    wr_bill *b = a->b;
    double   delay = WR_MAX(b->in[0].delay_us, b->in[1].delay_us), keep_l = (double)WR_MAX(o->upper_us, 0) + delay, keep_r = (double)WR_MAX(-o->lower_us, 0) + delay, per_key;
    char     tl[48], tr[48];
    b->bound = WR_BOUND_TIME;
    two_rates(a);
    b->retention_us = mean_rate(a, keep_l, keep_r);
    wr_units keys = open_keys(a, o->keys.left, o->keys.n, WR_MAX(keep_l, keep_r), &per_key);
    double   key = key_len(a, 0, o->keys.left, o->keys.n);
    b->key_bytes = wr_interval_join_key_bytes(key);
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key, keys, "a key"), b->key_bytes);
    side_within(a, 0, keep_l, per_key, 1 / per_key, wr_interval_join_row_bytes, "a left row");
    side_within(a, 1, keep_r, per_key, 1 / per_key, wr_interval_join_row_bytes, "a right row");
    b->row_bytes = mean_rate(a, a->parts[1].bytes, a->parts[2].bytes);
    text_us(tl, sizeof tl, keep_l);
    text_us(tr, sizeof tr, keep_r);
    snprintf(b->keeps, sizeof b->keeps, "rows of %.*s for %s, of %.*s for %s", WR_FMT(b->in[0].label), tl, WR_FMT(b->in[1].label), tr);
    snprintf(b->bounded_by, sizeof b->bounded_by, "%s time: %s left, %s right", o->proctime ? "processing" : "event", tl, tr);
}

static void bill_temporal(account *a) {
    const wr_temporal_join_opts *o = &a->n->temporal_join;
    const wr_pnode *right = a->n->inputs[1].node;
    wr_bill *b = a->b;
    two_rates(a);
    by_keys(a, right, o->keys.right, o->keys.n, 0, false);
    wr_units keys = keys_units(a, 1, o->keys.right, o->keys.n), versions = keys;
    double   key = key_len(a, 1, o->keys.right, o->keys.n), row = row_len(a, 1);
    bool replaced = !a->in[1] || a->in[1]->rows > a->in[1]->keys * 1.2;
    b->key_bytes = wr_temporal_join_key_bytes(key, replaced);
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key, keys, "a key"), wr_temporal_join_key_bytes(key, false));
    if (a->in[1] && keys.now > 0) versions.now *= exp(-a->in[1]->peak_rows / keys.now); /* the others' is among those below */
    add_part(a, true, wr_temporal_join_row_bytes(row, 1), ROW_HEAD + row, versions, "the last version of a key")->copies = copies_of(a, 1);
    b->key_bytes += a->parts[1].bytes;
    double per_key = keys.now > 0 && a->in[1] ? WR_MAX(1 + a->in[1]->peak_rows / keys.now, 1.0) : 1;
    side_within(a, 1, b->in[1].delay_us, replaced && per_key < 4 ? 1 : per_key, 1, wr_temporal_join_row_bytes, "a version that may still be asked for");
    side_within(a, 0, WR_MAX(b->in[0].delay_us, b->in[1].delay_us), 2, 1, wr_temporal_join_row_bytes, "a left row that waits");
    b->row_bytes = a->parts[3].bytes;
    snprintf(b->keeps, sizeof b->keeps, "versions of %.*s that may still be asked for (one a key when quiet); left rows until both watermarks pass", WR_FMT(b->in[1].label));
}

/* How many rows of a side of a regular join are there at a time. */
static wr_units side_units(account *a, uint32_t s) {
    const wr_input_facts *f = a->in[s];
    double   live = f ? (f->upserts > 0 ? f->upserts : WR_MAX(f->added - f->removed, 0.0)) : 0;
    wr_units u = {.kind = WR_UNITS_ROWS, .rate = rate_of(a, s), .now = f ? whole(a, live) : 0};
    switch (a->b->in[s].bound) {
    case SIDE_ENDS: u.kind = f ? WR_UNITS_FIXED : WR_UNITS_UNKNOWN; break;
    case SIDE_KEYS:
        u = f ? distinct(a, s, a->b->in[s].keys, f->rows, live, f->half_rows, 0) : distinct(a, s, a->b->in[s].keys, 0, 0, 0, 0);
        break;
    case SIDE_TTL:
        u.kind = WR_UNITS_SPAN;
        u.span_us = (double)a->n->join.ttl_us[s];
        u.steady = u.rate * u.span_us / 1e6;
        break;
    default: break;
    }
    return u;
}

static void join_bound(account *a) {
    wr_bill *b = a->b;
    int      l = b->in[0].bound, r = b->in[1].bound;
    char     t[2][48];
    if (l == SIDE_NOTHING || r == SIDE_NOTHING) {
        b->bound = WR_BOUND_NOTHING;
        snprintf(b->bounded_by, sizeof b->bounded_by, "nothing");
    } else if (l == SIDE_TTL || r == SIDE_TTL) {
        const int64_t *ttl = a->n->join.ttl_us;
        b->bound = WR_BOUND_TIME;
        b->retention_us = (double)WR_MAX(ttl[0], ttl[1]);
        snprintf(b->clock, sizeof b->clock, "processing time");
        for (int s = 0; s < 2; s++) text_us(t[s], sizeof t[s], (double)ttl[s]);
        if (ttl[0] == ttl[1]) snprintf(b->bounded_by, sizeof b->bounded_by, "rows touched within %s of processing time (TTL)", t[0]);
        else snprintf(b->bounded_by, sizeof b->bounded_by, "rows touched within %s (left), %s (right) of processing time (TTL)", ttl[0] ? t[0] : "ever", ttl[1] ? t[1] : "ever");
    } else if (l == SIDE_KEYS || r == SIDE_KEYS) {
        b->bound = WR_BOUND_KEYS;
        snprintf(b->bounded_by, sizeof b->bounded_by, "number of keys of both sides");
    } else {
        b->bound = WR_BOUND_INPUT;
        snprintf(b->bounded_by, sizeof b->bounded_by, "the input, which ends");
    }
}

static void bill_join(account *a) {
    const wr_join_opts *o = &a->n->join;
    wr_bill *b = a->b;
    two_rates(a);
    join_bound(a);
    wr_units s[2] = {side_units(a, 0), side_units(a, 1)}, keys = s[0];
    double   declared = o->keys.n ? declared_keys(a->n->inputs[0].node, o->keys.left, o->keys.n) : 1, per_key[2] = {1, 1}, key = key_len(a, 0, o->keys.left, o->keys.n);
    b->key_bytes = wr_join_key_bytes(o, key);
    if (!o->keys.n) keys = (wr_units){.kind = WR_UNITS_FIXED, .now = 1};
    else if (a->in[0] && a->in[1] && a->in[0]->all_keys > 0) {
        keys = distinct(a, 0, declared, a->in[0]->rows + a->in[1]->rows, a->in[0]->all_keys, 0, 0);
        keys.rate = rate_of(a, 0) + rate_of(a, 1);
        if (o->ttl_us[0] > 0 && o->ttl_us[1] > 0) keys = within(a, keys, (double)WR_MAX(o->ttl_us[0], o->ttl_us[1]), keys.now, 0);
        for (int i = 0; i < 2; i++) per_key[i] = WR_MAX(s[i].now / WR_MAX(a->in[i]->keys, 1.0), 1.0);
    } else if (declared > 0) {
        keys = distinct(a, 0, declared, 0, 0, 0, 0);
    } else if (s[1].kind != WR_UNITS_UNKNOWN && (s[0].kind == WR_UNITS_UNKNOWN || s[1].rate > s[0].rate)) {
        keys = s[1]; /* at most one a row of the larger side */
    }
    if (o->keys.n) b->keys = a->in[0] ? a->in[0]->all_keys : declared > 0 ? declared : 0, b->keys_from = declared > 0 ? "hint" : a->in[0] ? a->facts->from : "not known";
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key, keys, "a key"), b->key_bytes);
    for (uint32_t i = 0; i < 2; i++) {
        double row = row_len(a, i);
        add_part(a, false, wr_join_side_row_bytes(row, per_key[i]), ROW_HEAD + 8 + row, s[i], i ? "a right row" : "a left row")->copies = copies_of(a, i);
    }
    b->row_bytes = mean_rate(a, a->parts[1].bytes, a->parts[2].bytes);
    snprintf(b->keeps, sizeof b->keeps, "every row of %.*s and of %.*s", WR_FMT(b->in[0].label), WR_FMT(b->in[1].label));
}

static void bill_window_join(account *a) {
    const wr_window_join_opts *o = &a->n->window_join;
    wr_bill *b = a->b;
    double   per_key, key = key_len(a, 0, o->keys.left, o->keys.n);
    b->bound = WR_BOUND_TIME;
    two_rates(a);
    wr_units keys = open_keys(a, o->keys.left, WR_MAX(o->keys.n, 1u), b->retention_us, &per_key);
    b->key_bytes = wr_window_join_key_bytes(key + 18);
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key, keys, "a key of an open window"), b->key_bytes);
    side_within(a, 0, b->retention_us, per_key, 0, wr_window_join_row_bytes, "a left row");
    side_within(a, 1, b->retention_us, per_key, 0, wr_window_join_row_bytes, "a right row");
    b->row_bytes = mean_rate(a, a->parts[1].bytes, a->parts[2].bytes);
    snprintf(b->keeps, sizeof b->keeps, "rows of both sides of the windows that are open");
    snprintf(b->bounded_by, sizeof b->bounded_by, "open windows");
}

/* ---- ranking and the rest ---- */

/* OVER without an upper bound on the rank, over inserts. */
static bool keeps_all(const wr_pnode *n) {
    return n->kind == WR_P_TOP_N && !n->top_n.retract_input && n->top_n.window_end < 0 && n->top_n.first <= 1 && n->top_n.last == UINT64_MAX;
}

static void top_n_keeps(account *a) {
    const wr_top_n_opts *o = &a->n->top_n;
    wr_bill *b = a->b;
    if (keeps_all(a->n)) snprintf(b->keeps, sizeof b->keeps, "every row of %.*s, since one may come before it", WR_FMT(b->in[0].label));
    else if (!o->retract_input) snprintf(b->keeps, sizeof b->keeps, "%llu rows%s", (unsigned long long)o->last, o->n_keys ? " a key" : "");
    else snprintf(b->keeps, sizeof b->keeps, "every row of %.*s, since a removed one lets the next one in", WR_FMT(b->in[0].label));
}

static void bill_top_n(account *a) {
    const wr_top_n_opts  *o = &a->n->top_n;
    const wr_pnode       *in = a->n->inputs[0].node;
    const wr_input_facts *f = a->in[0];
    wr_bill *b = a->b;
    double   row = row_len(a, 0), order = f && f->order_bytes > 0 ? f->order_bytes : 9.0 * o->n_order, key = key_len(a, 0, o->keys, o->n_keys), last = (double)WR_MIN(o->last, (uint64_t)1000000);
    by_keys(a, in, o->keys, o->n_keys, o->ttl_us, false);
    b->windows = 1;
    wr_units keys = keys_units(a, 0, o->keys, o->n_keys), rows;
    keys = with_ttl(a, keys, o->ttl_us, false);
    if (o->window_end >= 0) {
        b->bound = WR_BOUND_TIME;
        snprintf(b->bounded_by, sizeof b->bounded_by, "open windows");
        keys = (wr_units){.kind = WR_UNITS_SPAN, .now = f ? f->peak_keys : 0, .steady = f ? f->peak_keys : o->n_keys <= 2 ? 2 : -1, .rate = rate_of(a, 0)};
        if (f) b->keys = f->peak_keys, b->keys_from = a->facts->from;
        else if (o->n_keys <= 2) b->keys = 2, b->keys_from = "windows"; /* the one that fills and the one that goes out */
    }
    double per_key = last;
    if (f && o->window_end >= 0 && f->pane_keys > 0) per_key = WR_MIN(last, WR_MAX(f->pane_rows / f->pane_keys, 1.0));
    else if (f && f->kept_keys > 0) per_key = f->kept_rows / f->kept_keys;
    rows = keys;
    rows.now *= per_key, rows.steady *= per_key;
    if (rows.kind == WR_UNITS_KEYS) rows.total *= per_key; /* a row for each key, and again until it has so many */
    if (rows.kind == WR_UNITS_KEYS && rows.total < 0) rows.total = -1;
    if (o->retract_input && o->window_end < 0) {
        bool for_ever = o->ttl_us <= 0;
        rows = f ? distinct(a, 0, -1, f->rows, f->upserts > 0 ? f->upserts : WR_MAX(f->added - f->removed, 0.0), f->half_rows, 0) : (wr_units){.kind = WR_UNITS_UNKNOWN, .rate = rate_of(a, 0)};
        if (for_ever) snprintf(b->bounded_by, sizeof b->bounded_by, "number of rows of the input (its keys)");
        if (b->bound == WR_BOUND_INPUT) b->bound = WR_BOUND_KEYS;
    }
    if (keeps_all(a->n)) {
        rows = f ? distinct(a, 0, -1, f->rows, WR_MAX(f->added - f->removed, 0.0), f->half_rows, 0) : (wr_units){.kind = WR_UNITS_UNKNOWN, .rate = rate_of(a, 0)};
        if (o->ttl_us <= 0) {
            int bound = b->in[0].bound;
            b->bound = bound == SIDE_NOTHING ? WR_BOUND_NOTHING : bound == SIDE_KEYS ? WR_BOUND_KEYS : WR_BOUND_INPUT;
            snprintf(b->bounded_by, sizeof b->bounded_by, "%s", bound == SIDE_NOTHING ? "nothing" : bound == SIDE_KEYS ? "number of keys of the input" : "the input, which ends");
        }
    }
    double entry = wr_top_n_key_bytes(o, key);
    b->row_bytes = wr_top_n_row_bytes(o, row, order);
    b->key_bytes = entry + (o->retract_input || keeps_all(a->n) ? 0 : last * b->row_bytes);
    in_map(add_part(a, true, entry, KEY_HEAD + key, keys, "a key"), wr_kmap_entry_bytes(48, key));
    add_part(a, false, b->row_bytes, ROW_HEAD + row + order, rows, "a ranked row");
    top_n_keeps(a);
}

static void bill_dedup(account *a) {
    const wr_dedup_opts *o = &a->n->dedup;
    double   key = key_len(a, 0, o->keys, o->n_keys), row = row_len(a, 0);
    bool     waits = !o->keep_last && o->time_col >= 0;
    wr_bill *b = a->b;
    by_keys(a, a->n->inputs[0].node, o->keys, o->n_keys, o->ttl_us, o->ttl_event_time);
    b->windows = 1;
    b->key_bytes = wr_dedup_key_bytes(o, key, row);
    wr_units u = keys_units(a, 0, o->keys, o->n_keys);
    u = with_ttl(a, u, o->ttl_us, o->ttl_event_time);
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key + (o->keep_last ? row : 16), u, "a key"), WR_MIN(b->key_bytes, wr_kmap_entry_bytes(32, key)));
    if (waits) { /* the first row of a key, until the watermark has passed it */
        b->row_bytes = row + 16 + wr_timer_bytes();
        wr_units w = rows_within(a, 0, b->in[0].delay_us);
        if (u.seen > 0) { /* only rows that are the first of their key: fewer and fewer */
            double fresh = isinf(u.total) ? 1 : exp(-u.seen / WR_MAX(u.total, 1.0));
            w.now *= fresh, w.steady *= fresh;
        }
        add_part(a, false, b->row_bytes, ROW_HEAD + row, w, "a first row that waits for the watermark");
    }
    snprintf(b->keeps, sizeof b->keeps, o->keep_last && o->emit_before ? "the last row a key" : "the key");
}

static void bill_normalize(account *a) {
    const wr_normalize_opts *o = &a->n->normalize;
    const wr_input_facts    *f = a->in[0];
    double   key = key_len(a, 0, o->keys, o->n_keys), row = row_len(a, 0), per_key = 1;
    wr_bill *b = a->b;
    by_keys(a, a->n->inputs[0].node, o->keys, o->n_keys, 0, false);
    wr_units u = keys_units(a, 0, o->keys, o->n_keys), rows = u;
    if (o->materialize && f) {
        double live = WR_MAX(f->added - f->removed, 0.0);
        rows = distinct(a, 0, -1, f->rows, live, f->half_rows, 0);
        per_key = u.now > 0 ? WR_MAX(rows.now / u.now, 1.0) : 1;
    } else if (f) { /* keys that were taken back are gone */
        u.now = WR_MAX(u.now - (f->upserts > 0 ? 0 : whole(a, f->removed)), 0.0), rows = u;
    }
    double entry = wr_normalize_key_bytes(key), each = wr_normalize_row_bytes(row, per_key);
    b->key_bytes = entry + each;
    in_map(add_part(a, true, entry, KEY_HEAD + key, u, "a key"), entry);
    add_part(a, true, each, ROW_HEAD + row, rows, "its row");
    snprintf(b->keeps, sizeof b->keeps, o->materialize ? "the rows of a key" : "the last row a key");
}

/* An entry of the index by key, and the row with its key in order. */
static void bill_view(account *a) {
    const wr_p_view      *v = &a->n->view;
    const wr_input_facts *f = a->in[0];
    const wr_schema      *s = &a->n->inputs[0].node->schema;
    uint32_t             *all = wr_calloc(s->n + 1, sizeof *all);
    for (uint32_t i = 0; i < s->n; i++) all[i] = i;
    uint32_t n_key = v->n_key ? v->n_key : s->n;
    double   key = key_len(a, 0, v->n_key ? v->key : all, n_key), row = row_len(a, 0);
    wr_free(all);
    wr_bill *b = a->b;
    wr_units u;
    if (v->n_key) {
        by_keys(a, a->n->inputs[0].node, v->key, v->n_key, 0, false);
        u = keys_units(a, 0, v->key, v->n_key);
        if (f) u.now = WR_MAX(u.now - (f->upserts > 0 ? 0 : whole(a, f->removed)), 0.0);
    } else {
        b->bound = WR_BOUND_NOTHING;
        snprintf(b->bounded_by, sizeof b->bounded_by, "nothing");
        u = f ? distinct(a, 0, -1, f->rows, WR_MAX(f->added - f->removed, 0.0), f->half_rows, 0) : (wr_units){.kind = WR_UNITS_ROWS, .rate = rate_of(a, 0)};
    }
    if (v->time_col >= 0) {
        char t[48];
        text_us(t, sizeof t, (double)v->retention_us);
        u = rows_within(a, 0, (double)v->retention_us);
        b->bound = WR_BOUND_TIME;
        b->retention_us = (double)v->retention_us;
        snprintf(b->bounded_by, sizeof b->bounded_by, "rows of the last %s of event time ('retention')", t);
    }
    double entry = wr_kmap_entry_bytes(16, key) + wr_versions_row_bytes(key, row);
    b->windows = 1;
    b->key_bytes = entry;
    add_part(a, true, entry, KEY_HEAD + key + row, u, "a row of the view");
    snprintf(b->keeps, sizeof b->keeps, "the rows of the view, for readers");
}

static void bill_lookup(account *a) {
    const wr_lookup_join_opts *o = &a->n->lookup.opts;
    const wr_p_lookup         *l = &a->n->lookup;
    wr_bill *b = a->b;
    double   right = encoded_row(0, &l->right), key = encoded_key(&a->n->inputs[0].node->schema, o->keys.left, o->keys.n), declared = 1;
    char     cache[120] = "nothing is cached";
    b->windows = 1;
    b->bound = WR_BOUND_INPUT;
    for (uint32_t i = 0; i < o->keys.n; i++) { /* rows of a whole table: as many as its keys, if they are declared */
        char option[160], text[32];
        snprintf(option, sizeof option, "stats.keys.%.*s", WR_FMT(l->from.decoded.fields[l->table_keys[i]].name));
        wr_str v = pl_table_option(l->from.table, option);
        snprintf(text, sizeof text, "%.*s", v.ptr ? (int)WR_MIN(v.len, 30u) : 0, v.ptr ? v.ptr : "");
        declared *= strtod(text, NULL);
    }
    if (o->cache == WR_LOOKUP_CACHE_FULL) {
        snprintf(cache, sizeof cache, "%.*s as a whole", WR_FMT(l->from.table->name));
        add_part(a, false, pl_row_bytes(&l->right) + 16, 0, declared > 0 ? (wr_units){.kind = WR_UNITS_FIXED, .now = declared} : (wr_units){.kind = WR_UNITS_UNKNOWN}, "a row of the table, cached");
    } else if (o->cache == WR_LOOKUP_CACHE_PARTIAL) {
        double entry = wr_lookup_cache_entry_bytes(key, right), most = (double)o->cache_bytes / entry;
        if (o->cache_rows) most = WR_MIN(most, (double)o->cache_rows);
        snprintf(cache, sizeof cache, "a cache of at most %.0f keys", most);
        add_part(a, false, entry, 0, (wr_units){.kind = WR_UNITS_FIXED, .now = most}, "a key in the cache, when it is full");
    }
    add_part(a, false, row_len(a, 0) + ROW_HEAD, row_len(a, 0) + ROW_HEAD, (wr_units){.kind = WR_UNITS_FIXED, .now = WR_BATCH_MAX}, "a row under way");
    snprintf(b->bounded_by, sizeof b->bounded_by, "constant");
    snprintf(b->keeps, sizeof b->keeps, "%s; rows whose answer is under way", cache);
    if (!o->kept) return;
    b->bound = WR_BOUND_KEYS;
    wr_units u = {.kind = WR_UNITS_UNKNOWN, .rate = rate_of(a, 0)};
    if (a->in[0]) {
        u = distinct(a, 0, -1, a->in[0]->rows, WR_MAX(a->in[0]->added - a->in[0]->removed, 0.0), a->in[0]->half_rows, 0);
    } else if (b->in[0].keys > 0) {
        u = (wr_units){.kind = WR_UNITS_FIXED, .now = b->in[0].keys};
    }
    b->key_bytes = wr_kept_row_bytes(row_len(a, 0), right + 4);
    add_part(a, true, b->key_bytes, ROW_HEAD + row_len(a, 0) + right, u, "a row and what was found for it, until it is taken back");
    snprintf(b->keeps, sizeof b->keeps, "what was found for each row, until it is taken back; %s", cache);
    snprintf(b->bounded_by, sizeof b->bounded_by, "number of rows of %.*s that are there", WR_FMT(b->in[0].label));
}

/* Rows with what was computed for them, until they go. */
static void bill_keep(account *a) {
    const wr_keep_opts *o = &a->n->keep;
    wr_bill *b = a->b;
    double   kept = 1;
    b->windows = 1;
    b->bound = WR_BOUND_STATELESS;
    snprintf(b->keeps, sizeof b->keeps, "nothing");
    snprintf(b->bounded_by, sizeof b->bounded_by, "-");
    if (o->plain) return;
    for (uint32_t i = 0; i < o->calc.n_exprs; i++) {
        wr_schema one = {1, &a->n->schema.fields[i]};
        if (wr_expr_volatility(o->calc.exprs[i]) != WR_VOL_PURE) kept += pl_row_bytes(&one);
    }
    wr_units u = {.kind = WR_UNITS_UNKNOWN, .rate = rate_of(a, 0)};
    if (a->in[0]) u = distinct(a, 0, -1, a->in[0]->rows, WR_MAX(a->in[0]->added - a->in[0]->removed, 0.0), a->in[0]->half_rows, 0);
    else if (b->in[0].keys > 0) u = (wr_units){.kind = WR_UNITS_FIXED, .now = b->in[0].keys};
    b->bound = WR_BOUND_KEYS;
    b->key_bytes = wr_kept_row_bytes(row_len(a, 0), kept);
    add_part(a, true, b->key_bytes, ROW_HEAD + row_len(a, 0) + kept, u, "a row and what was computed for it, until it is taken back");
    snprintf(b->keeps, sizeof b->keeps, "values that come out differently each time (random, the clock), for the retraction of their rows");
    snprintf(b->bounded_by, sizeof b->bounded_by, "number of rows of %.*s that are there", WR_FMT(b->in[0].label));
}

static void bill_over(account *a) {
    const wr_over_opts *o = &a->n->over;
    wr_bill *b = a->b;
    double   key = key_len(a, 0, o->keys, o->n_keys), row = row_len(a, 0), reach = 0, rows_back = 0;
    bool     for_ever = false;
    for (uint32_t i = 0; i < o->n_fns; i++) {
        const wr_over_fn *fn = &o->fns[i];
        bool              bounded = fn->kind == WR_OVER_AGG && !fn->frame.unbounded;
        if (bounded && !fn->frame.rows) reach = WR_MAX(reach, (double)fn->frame.preceding);
        if (bounded && fn->frame.rows) rows_back = WR_MAX(rows_back, (double)fn->frame.preceding + 1);
        if (fn->kind == WR_OVER_LAG) rows_back = WR_MAX(rows_back, (double)fn->offset);
        for_ever |= !bounded || fn->frame.rows;
    }
    b->windows = 1;
    int64_t ttl = for_ever ? o->ttl_us : 0; /* frames that end forget sooner or later by themselves */
    by_keys(a, a->n->inputs[0].node, o->keys, o->n_keys, ttl, o->time_col >= 0);
    wr_units keys = with_ttl(a, keys_units(a, 0, o->keys, o->n_keys), ttl, false);
    if (!for_ever) {
        b->bound = WR_BOUND_TIME;
        b->retention_us = reach + b->in[0].delay_us;
        char t[48];
        text_us(t, sizeof t, b->retention_us);
        snprintf(b->bounded_by, sizeof b->bounded_by, "%s of event time", t);
        keys = within(a, keys, b->retention_us, 0, 0);
    }
    b->key_bytes = wr_over_key_bytes(o, key) + rows_back * wr_over_row_bytes(row);
    b->row_bytes = wr_over_row_bytes(row) + wr_timer_bytes();
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key, keys, "a key"), b->key_bytes);
    if (o->time_col >= 0) add_part(a, false, b->row_bytes, ROW_HEAD + row, rows_within(a, 0, b->in[0].delay_us), "a row ahead of the watermark");
    if (reach > 0) add_part(a, false, wr_over_row_bytes(row), ROW_HEAD + row, rows_within(a, 0, reach), "a row of a frame");
    snprintf(b->keeps, sizeof b->keeps, "%sper key %s%s", o->time_col < 0 ? "" : "rows ahead of the watermark; ", rows_back > 0 ? "its last rows and " : "", reach > 0 ? "the rows of the frame" : "accumulators");
}

static void bill_match(account *a) {
    const wr_match_opts *o = &a->n->match;
    wr_bill *b = a->b;
    double   key = key_len(a, 0, o->keys, o->n_keys), row = row_len(a, 0);
    char     t[48];
    by_keys(a, a->n->inputs[0].node, o->keys, o->n_keys, 0, false);
    b->windows = 1;
    b->key_bytes = wr_match_key_bytes(key);
    b->row_bytes = wr_match_row_bytes(row);
    wr_units keys = keys_units(a, 0, o->keys, o->n_keys), rows;
    if (o->within_us) {
        b->bound = WR_BOUND_TIME;
        b->retention_us = (double)o->within_us + b->in[0].delay_us;
        text_us(t, sizeof t, (double)o->within_us);
        snprintf(b->bounded_by, sizeof b->bounded_by, o->within_is_ttl ? "%s of event time (TTL)" : "%s of event time (WITHIN)", t);
        rows = rows_within(a, 0, b->retention_us);
        keys = within(a, keys, b->retention_us, 0, 0);
    } else {
        rows = rows_within(a, 0, b->in[0].delay_us);
        if (pl_match_endless(o)) {
            b->bound = WR_BOUND_NOTHING;
            snprintf(b->bounded_by, sizeof b->bounded_by, "nothing");
        }
    }
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key, keys, "a key that a match has begun for"), wr_kmap_entry_bytes(96, key));
    add_part(a, false, b->row_bytes, ROW_HEAD + row, rows, "a row of a partial match, or ahead of the watermark");
    snprintf(b->keeps, sizeof b->keeps, "rows of partial matches; rows ahead of the watermark");
}

/* Distinct ids of a side among the rows of a time: at most one a row, and at most as many as there are. An order has its few rows, a courier says again and again where it is. */
static wr_units ids_within(const account *a, uint32_t i, double span_us) {
    const wr_input_facts *f = a->in[i];
    wr_units u = rows_within(a, i, span_us);
    double   declared = declared_column(a->n->inputs[i].node, a->n->assign.side[i].id);
    if (f && f->rows > 0) {
        u.now = f->peak_keys;
        if (!i) u.steady *= WR_MIN(f->keys / f->rows, 1.0);
        else if (f->span_us >= span_us) u.steady = WR_MIN(u.steady, u.now);
        u.steady = WR_MAX(u.steady, u.now);
    }
    if (declared > 0) u.steady = WR_MIN(u.steady, declared), u.now = WR_MIN(u.now, declared);
    return u;
}
static wr_units rows_of_round(const account *a, uint32_t i, double span_us) { /* a sample counted those of a longer time */
    wr_units u = {.kind = WR_UNITS_SPAN, .rate = rate_of(a, i), .span_us = span_us, .steady = rate_of(a, i) * span_us / 1e6};
    if (a->in[i]) u.now = WR_MIN(u.steady, a->in[i]->rows);
    return u;
}

static void bill_assign(account *a) {
    const wr_assign_opts *o = &a->n->assign;
    wr_bill *b = a->b;
    double   delay = WR_MAX(b->in[0].delay_us, b->in[1].delay_us), key = key_len(a, 0, o->side[0].keys, o->n_keys), id[2], round = (double)o->every_us + delay;
    wr_units ids[2], parts = {.kind = WR_UNITS_FIXED, .now = 1};
    char     wait[48], timeout[48];
    two_rates(a);
    for (uint32_t i = 0; i < 2; i++) {
        id[i] = encoded_key(&a->n->inputs[i].node->schema, &o->side[i].id, 1);
        ids[i] = ids_within(a, i, (double)(i ? o->timeout_us : o->max_wait_us) + delay);
    }
    b->keys = 1, b->keys_from = "one partition";
    if (o->n_keys) { /* a partition with neither is forgotten */
        double declared = declared_keys(a->n->inputs[0].node, o->side[0].keys, o->n_keys);
        if (declared <= 0) declared = declared_keys(a->n->inputs[1].node, o->side[1].keys, o->n_keys);
        double held = a->in[1] ? a->in[1]->kept_keys : 0;
        if (declared > 0 || held > 0) parts.now = declared > 0 ? declared : held;
        else parts = ids[1];
        b->keys = declared > 0 ? declared : held, b->keys_from = declared > 0 ? "hint" : held > 0 ? a->facts->from : "not known";
    }
    b->bound = WR_BOUND_TIME;
    b->retention_us = (double)WR_MAX(o->max_wait_us, o->timeout_us) + delay;
    b->key_bytes = wr_assign_key_bytes(key);
    b->row_bytes = wr_assign_order_bytes(id[0], o->reassign);
    in_map(add_part(a, true, b->key_bytes, KEY_HEAD + key, parts, b->keys > 0 ? "a partition" : "a partition, at most one a courier"), wr_kmap_entry_bytes(64, key));
    add_part(a, false, b->row_bytes, ROW_HEAD + 40 + id[0] * (1 + o->reassign), ids[0], o->reassign ? "an order, as if none were closed before max_wait" : "an order, as if none were assigned before max_wait");
    add_part(a, false, wr_assign_courier_bytes(id[1]), ROW_HEAD + 24 + id[1], ids[1], "a courier");
    for (uint32_t i = 0; i < 2; i++)
        add_part(a, false, wr_assign_row_bytes(id[i]), ROW_HEAD + 40 + id[i], rows_of_round(a, i, round), i ? "a courier's row before its round" : "an order's row before its round");
    text_us(wait, sizeof wait, (double)o->max_wait_us);
    text_us(timeout, sizeof timeout, (double)o->timeout_us);
    snprintf(b->keeps, sizeof b->keeps, "%s and couriers; rows before their round", o->reassign ? "open and given orders" : "open orders");
    snprintf(b->bounded_by, sizeof b->bounded_by, "event time: %s an order (max_wait), %s a courier (courier_timeout)", wait, timeout);
}

static void bill_other(account *a) {
    wr_bill *b = a->b;
    b->windows = 1;
    switch (a->n->kind) {
    case WR_P_LIMIT:
        b->bound = WR_BOUND_INPUT;
        if (a->n->limit.retract_input) {
            b->row_bytes = row_len(a, 0) + ROW_HEAD;
            add_part(a, false, b->row_bytes, row_len(a, 0), (wr_units){.kind = WR_UNITS_FIXED, .now = (double)WR_MIN(a->n->limit.n, (uint64_t)1000000)}, "a row let through");
        }
        snprintf(b->keeps, sizeof b->keeps, a->n->limit.retract_input ? "the rows let through" : "two counters");
        snprintf(b->bounded_by, sizeof b->bounded_by, "constant");
        break;
    case WR_P_TIME_SORT: {
        double row = row_len(a, 0), order = 9.0 * WR_MAX(a->n->time_sort.n_order, 1u);
        b->bound = WR_BOUND_TIME;
        b->retention_us = b->in[0].delay_us;
        b->row_bytes = wr_time_sort_row_bytes(row, order);
        add_part(a, false, b->row_bytes, ROW_HEAD + row, rows_within(a, 0, b->retention_us), "a row ahead of the watermark");
        snprintf(b->keeps, sizeof b->keeps, "rows ahead of the watermark");
        snprintf(b->bounded_by, sizeof b->bounded_by, "the watermark's delay");
        break;
    }
    default:
        b->bound = WR_BOUND_STATELESS;
        snprintf(b->keeps, sizeof b->keeps, "nothing");
        break;
    }
}

/* What the last run measured: the same parts, scaled to what they came to. */
static void scale_to_measured(account *a) {
    double computed = 0, measured = a->facts && a->facts->measured_bytes ? a->facts->measured_bytes[a->n->index] : 0;
    for (uint32_t i = 0; i < a->n_parts; i++) computed += WR_MAX(pl_units(&a->parts[i].units, 0), 0.0) * (a->parts[i].bytes_now > 0 ? a->parts[i].bytes_now : a->parts[i].bytes);
    if (measured <= 0 || computed <= 0) return;
    double by = measured / computed;
    for (uint32_t i = 0; i < a->n_parts; i++) a->parts[i].bytes_now = (a->parts[i].bytes_now > 0 ? a->parts[i].bytes_now : a->parts[i].bytes) * by;
    if (by > 0.5 && by < 2) /* else the counts are off, not the sizes */
        for (uint32_t i = 0; i < a->n_parts; i++) a->parts[i].bytes *= by;
}

static void bill_node(wr_pnode *n, const wr_bill_facts *facts, wr_arena *arena) {
    account a = {.n = n, .b = &n->bill, .facts = facts};
    for (uint32_t i = 0; i < 2 && facts && i < n->n_inputs; i++)
        if (facts->in[n->index * 2 + i].known) a.in[i] = &facts->in[n->index * 2 + i];
    wr_bill fresh = {0};
    memcpy(fresh.in, n->bill.in, sizeof fresh.in);
    fresh.retention_us = n->kind == WR_P_WINDOW_JOIN ? n->bill.retention_us : 0;
    n->bill = fresh;
    if (n->n_inputs) n->bill.rate_rows = rate_of(&a, 0), n->bill.rate_from = rate_from(&a, 0);
    switch (n->kind) {
    case WR_P_GROUP_AGG: bill_group(&a); break;
    case WR_P_WINDOW_AGG: bill_window(&a); break;
    case WR_P_INTERVAL_JOIN: bill_interval(&a); break;
    case WR_P_TEMPORAL_JOIN: bill_temporal(&a); break;
    case WR_P_JOIN: bill_join(&a); break;
    case WR_P_WINDOW_JOIN: bill_window_join(&a); break;
    case WR_P_TOP_N: bill_top_n(&a); break;
    case WR_P_DEDUP: bill_dedup(&a); break;
    case WR_P_NORMALIZE: bill_normalize(&a); break;
    case WR_P_VIEW: bill_view(&a); break;
    case WR_P_MATCH: bill_match(&a); break;
    case WR_P_ASSIGN: bill_assign(&a); break;
    case WR_P_OVER: bill_over(&a); break;
    case WR_P_LOOKUP_JOIN: bill_lookup(&a); break;
    case WR_P_KEEP: bill_keep(&a); break;
    default: bill_other(&a); break;
    }
    if (ph_is_split(n)) a.parts[0].copies = copies_of_keys(&a);
    double heap = 0;
    bool   stores = n->kind == WR_P_JOIN || n->kind == WR_P_INTERVAL_JOIN || n->kind == WR_P_TEMPORAL_JOIN || n->kind == WR_P_WINDOW_JOIN || n->kind == WR_P_NORMALIZE || n->kind == WR_P_OVER;
    for (uint32_t i = 1; stores && i < a.n_parts; i++) heap += WR_MAX(a.parts[i].units.now, 0.0) * a.parts[i].bytes; /* the first is the map */
    if (a.n_parts) add_part(&a, false, OPERATOR_BYTES + wr_join_heap_slack_bytes(heap), 0, (wr_units){.kind = WR_UNITS_FIXED, .now = 1}, "the operator itself");
    scale_to_measured(&a);
    n->bill.n_parts = a.n_parts;
    n->bill.parts = wr_new_n(arena, wr_bill_part, a.n_parts + 1);
    memcpy(n->bill.parts, a.parts, sizeof *a.parts * a.n_parts);
}

/* Does any table feed this node? Inputs without one (VALUES) are constants. */
static bool reads_a_table(const wr_pnode *n) {
    if (n->kind == WR_P_SOURCE) return true;
    uint32_t         n_in = n->kind == WR_P_UNION ? n->n_union : n->n_inputs;
    const wr_pinput *in = n->kind == WR_P_UNION ? n->union_inputs : n->inputs;
    for (uint32_t i = 0; i < n_in; i++)
        if (reads_a_table(in[i].node)) return true;
    return false;
}

/* A file that ends today is the log that does not end tomorrow: the same job must answer for its memory. Batch mode says that it will end. */
static side_bound bound_of_side(phys *h, const wr_pnode *n, int side, int64_t ttl_us) {
    const pinfo *f = ph_info(h, n->inputs[side].node);
    bool batch = pl_is_batch(h->p);
    if (f->bounded && (batch || !reads_a_table(n->inputs[side].node))) return SIDE_ENDS;
    if (ttl_us > 0) return SIDE_TTL;
    return f->by_keys || (f->updating && f->has_key) ? SIDE_KEYS : SIDE_NOTHING;
}

static void refuse_unbounded(phys *h, const wr_pnode *n, const side_bound *bounds) {
    pl     *p = h->p;
    wr_sbuf detail = {0};
    bool    assumed = false;
    for (int s = 0; s < 2; s++) {
        const pinfo *f = ph_info(h, n->inputs[s].node);
        double       r = f->rate > 0 ? f->rate : ASSUMED_RATE, bytes = wr_join_side_row_bytes(encoded_row(f->row_bytes, &n->inputs[s].node->schema), 1) + wr_join_key_bytes(&n->join, side_key_bytes(n, s));
        wr_sbuf_printf(&detail, "%s%s side %.*s", s ? "; " : "", s ? "right" : "left", WR_FMT(n->bill.in[s].label));
        if (bounds[s] != SIDE_NOTHING) {
            wr_sbuf_addz(&detail, bounds[s] == SIDE_ENDS ? ": ends" : bounds[s] == SIDE_KEYS ? ": one row a key" : ": TTL");
            continue;
        }
        wr_sbuf_printf(&detail, ": %.0f rows/s x %.0f B = ", r, bytes);
        wr_text_size((int64_t)(r * bytes * 86400), &detail);
        wr_sbuf_addz(&detail, " a day");
        assumed |= !f->rate_declared;
    }
    if (assumed) wr_sbuf_addz(&detail, " (rate assumed: 1,000 rows/s; declare 'stats.rows-per-second' on the table)");
    wr_str l = n->bill.in[0].label, r = n->bill.in[1].label;
    if (bounds[0] == SIDE_NOTHING && bounds[1] == SIDE_NOTHING)
        pl_error(p, "WR101", n->at, "nothing bounds the memory of this join: it keeps every row of '%.*s' and '%.*s' for ever", WR_FMT(l), WR_FMT(r));
    else pl_error(p, "WR101", n->at, "nothing bounds the memory of this join: it keeps every row of '%.*s' for ever", WR_FMT(bounds[0] == SIDE_NOTHING ? l : r));
    wr_diags_detail(p->diags, "%.*s", WR_FMT(wr_sbuf_str(&detail)));
    wr_diags_hint(p->diags, "bound the time in ON (r.ts BETWEEN l.ts - INTERVAL '1' HOUR AND l.ts + INTERVAL '1' HOUR); or forget rows: SELECT /*+ STATE_TTL('%.*s' = '1 d') */ or "
                            "SET 'table.exec.state.ttl' = '1 d'; or accept the growth: SET 'state.unbounded' = 'accepted'",
                  WR_FMT(pl_alias(bounds[0] == SIDE_NOTHING ? l : r)));
    wr_sbuf_free(&detail);
}

static void refuse_endless_match(phys *h, const wr_pnode *n) {
    pl          *p = h->p;
    const pinfo *f = ph_info(h, n->inputs[0].node);
    double       r = f->rate > 0 ? f->rate : ASSUMED_RATE, bytes = wr_match_row_bytes(encoded_row(f->row_bytes, &n->inputs[0].node->schema));
    wr_sbuf      detail = {0};
    wr_sbuf_printf(&detail, "rows that may all stay: %.0f rows/s x %.0f B = ", r, bytes);
    wr_text_size((int64_t)(r * bytes * 86400), &detail);
    wr_sbuf_addz(&detail, f->rate_declared ? " a day" : " a day (rate assumed: 1,000 rows/s; declare 'stats.rows-per-second' on the table)");
    pl_error(p, "WR101", n->at, "nothing bounds the memory of this MATCH_RECOGNIZE: a variable with * or + may go on for ever");
    wr_diags_detail(p->diags, "%.*s", WR_FMT(wr_sbuf_str(&detail)));
    wr_diags_hint(p->diags, "add WITHIN INTERVAL '1' HOUR after PATTERN (...); or bound the quantifier: A{1,100}; or SET 'table.exec.state.ttl' = '1 d' (the same as WITHIN); or accept the "
                            "growth: SET 'state.unbounded' = 'accepted'");
    wr_sbuf_free(&detail);
}

/* A Top-N that shows every row of an input without changes. */
static void refuse_all_rows(phys *h, const wr_pnode *n) {
    pl          *p = h->p;
    const pinfo *f = ph_info(h, n->inputs[0].node);
    double       r = f->rate > 0 ? f->rate : ASSUMED_RATE, bytes = wr_top_n_row_bytes(&n->top_n, encoded_row(f->row_bytes, &n->inputs[0].node->schema), 9.0 * n->top_n.n_order);
    wr_sbuf      detail = {0};
    wr_sbuf_printf(&detail, "%.0f rows/s x %.0f B = ", r, bytes);
    wr_text_size((int64_t)(r * bytes * 86400), &detail);
    wr_sbuf_addz(&detail, f->rate_declared ? " a day" : " a day (rate assumed: 1,000 rows/s; declare 'stats.rows-per-second' on the table)");
    pl_error(p, "WR101", n->at, "nothing bounds the memory of this OVER: a row may come before any other, so it keeps every row of '%.*s' for ever", WR_FMT(n->bill.in[0].label));
    wr_diags_detail(p->diags, "%.*s", WR_FMT(wr_sbuf_str(&detail)));
    wr_diags_hint(p->diags, "ORDER BY the event-time column; or bound a rank (WHERE rn <= 10): then it is a Top-N; or forget rows: SET 'table.exec.state.ttl' = '1 d'; or accept the growth: "
                            "SET 'state.unbounded' = 'accepted'");
    wr_sbuf_free(&detail);
}

void ph_bill(phys *h) {
    for (uint32_t i = 0; i < h->job->nodes.n; i++) {
        wr_pnode *n = h->job->nodes.at[i];
        for (uint32_t k = 0; k < n->n_inputs; k++) {
            const pinfo *f = ph_info(h, n->inputs[k].node);
            const lnode *from = ph_info(h, n)->from; /* knows the alias; a source does not */
            n->bill.in[k] = (wr_bill_input){.label = from && from->n_in > k && n->n_inputs == from->n_in ? pl_label(from->in[k]) : f->label, .rate = f->rate, .rate_declared = f->rate_declared, .row_bytes = f->row_bytes, .delay_us = f->delay_us,
                                            .bound = n->kind == WR_P_JOIN   ? (int)bound_of_side(h, n, (int)k, n->join.ttl_us[k])
                                                     : keeps_all(n) ? (int)bound_of_side(h, n, (int)k, n->top_n.ttl_us)
                                                                    : SIDE_NOTHING};
            const wr_pnode *in = n->inputs[k].node;
            if (in->n_upsert_key) n->bill.in[k].keys = declared_keys(in, in->upsert_key, in->n_upsert_key);
        }
        if (n->kind == WR_P_WINDOW_JOIN && ph_info(h, n)->from)
            n->bill.retention_us = (double)ph_info(h, n)->from->in[0]->props.win.window.size_us + ph_info(h, n)->delay_us;
        if (n->kind == WR_P_JOIN && !h->p->accept_unbounded) {
            side_bound s[2] = {(side_bound)n->bill.in[0].bound, (side_bound)n->bill.in[1].bound};
            if (s[0] == SIDE_NOTHING || s[1] == SIDE_NOTHING) refuse_unbounded(h, n, s);
        }
        if (keeps_all(n) && !h->p->accept_unbounded && n->bill.in[0].bound == SIDE_NOTHING) refuse_all_rows(h, n);
        if (n->kind == WR_P_VIEW && !h->p->accept_unbounded) ph_view_bounds(h, n);
        bool ends = ph_info(h, n)->bounded && pl_is_batch(h->p);
        if (n->kind == WR_P_MATCH && !h->p->accept_unbounded && !ends && !n->match.within_us && pl_match_endless(&n->match)) refuse_endless_match(h, n);
        bill_node(n, NULL, h->p->arena);
    }
}

void wr_bill_apply(wr_job_plan *job, const wr_bill_facts *facts, wr_arena *arena) {
    for (uint32_t i = 0; i < job->nodes.n; i++) bill_node(job->nodes.at[i], facts, arena);
}
