/* plan/bill.c: the state bill: what each operator keeps, what bounds it, bytes per key and per row; and the refusal of what nothing bounds.
 *
 * Idea       bytes come from the arithmetic of the runtime itself (wr_kmap_entry_bytes, wr_agg_bytes), counts from declarations of the source
 *            tables ('stats.rows-per-second', 'stats.keys.<column>', 'stats.row-bytes'), else from an assumption that is named.
 * Invariant  every node has a bill; a stateless one says so. A refusal is an error diagnostic; the plan is still given for explain.
 * Numbers    steady state = rows or keys kept at a time x bytes each; NOTHING grows by rate x row bytes.                */
#include "plan/physical.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ASSUMED_RATE 1000.0
#define DAY_US (86400.0 * 1e6)
enum { ROW_OVERHEAD = 24 }; /* list links and counts beside a buffered row */

static double stored_row(const pinfo *f, const wr_schema *s) { /* a row kept in a buffer or join side */
    double by_type = pl_row_bytes(s) + ROW_OVERHEAD;
    return f->row_bytes > 0 && f->row_bytes < by_type ? f->row_bytes + ROW_OVERHEAD : by_type;
}

static double key_bytes(const wr_schema *s, const uint32_t *cols, uint32_t n) {
    double b = 0;
    for (uint32_t i = 0; i < n; i++) {
        wr_field  f = s->fields[cols[i]];
        wr_schema one = {1, &f};
        b += pl_row_bytes(&one);
    }
    return b;
}

/* Declared distinct values of a column, traced down to the table it comes from; 0 = not declared. */
static double declared_column(phys *h, const wr_pnode *n, uint32_t col) {
    while (n->kind != WR_P_SOURCE) {
        const wr_expr *e = n->kind == WR_P_CALC ? n->calc.exprs[col] : NULL;
        if (e && e->kind == WR_E_COL) col = e->col;
        else if (n->kind == WR_P_GROUP_AGG && col < n->group_agg.n_keys) col = n->group_agg.keys[col];
        else if (n->kind == WR_P_WINDOW_AGG && col < n->window_agg.n_keys) col = n->window_agg.keys[col];
        else if (n->kind == WR_P_LOCAL_AGG) (void)0; /* same columns */
        else if (n->kind == WR_P_INTERVAL_JOIN || n->kind == WR_P_JOIN || n->kind == WR_P_TEMPORAL_JOIN || n->kind == WR_P_WINDOW_JOIN) {
            uint32_t nl = n->inputs[0].node->schema.n;
            if (col >= nl) {
                n = n->inputs[1].node;
                col -= nl;
                continue;
            }
        } else if (e || !n->n_inputs || col >= n->inputs[0].node->schema.n || n->kind == WR_P_GROUP_AGG || n->kind == WR_P_WINDOW_AGG) {
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
    (void)h;
    return strtod(text, NULL);
}

static double declared_keys(phys *h, const wr_pnode *in, const uint32_t *cols, uint32_t n) {
    double keys = 1;
    for (uint32_t i = 0; i < n; i++) {
        double d = declared_column(h, in, cols[i]);
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

static void rate(wr_bill *b, const pinfo *i) {
    b->rate_rows = i->rate > 0 ? i->rate : ASSUMED_RATE;
    b->rate_from = i->rate_declared ? "hint" : "assumed";
}

static void by_keys(phys *h, wr_bill *b, const wr_pnode *in, const uint32_t *cols, uint32_t n, int64_t ttl) {
    char k[160];
    names(&in->schema, cols, n, k, sizeof k);
    b->bound = WR_BOUND_KEYS;
    b->keys = n ? declared_keys(h, in, cols, n) : 1;
    b->keys_from = b->keys > 0 ? "hint" : "assumed";
    if (!n) b->bound = WR_BOUND_INPUT;
    snprintf(b->bounded_by, sizeof b->bounded_by, n ? "number of distinct (%s)" : "one entry", k);
    if (ttl > 0) {
        char t[48];
        text_us(t, sizeof t, (double)ttl);
        b->bound = WR_BOUND_TIME;
        b->retention_us = (double)ttl;
        snprintf(b->bounded_by, sizeof b->bounded_by, "keys touched within %s (TTL)", t);
    }
}

/* ---- aggregation ---- */

static void bill_group(phys *h, wr_pnode *n) {
    const wr_pnode *in = n->inputs[0].node;
    double          fixed = 0, per_value = 0;
    char            k[160];
    wr_agg_bytes(n->group_agg.aggs, n->group_agg.n_aggs, n->group_agg.retract_input, &fixed, &per_value);
    n->bill.windows = 1;
    n->bill.key_bytes = wr_kmap_entry_bytes((uint32_t)fixed, key_bytes(&in->schema, n->group_agg.keys, n->group_agg.n_keys));
    n->bill.row_bytes = per_value;
    by_keys(h, &n->bill, in, n->group_agg.keys, n->group_agg.n_keys, n->group_agg.ttl_us);
    names(&in->schema, n->group_agg.keys, n->group_agg.n_keys, k, sizeof k);
    snprintf(n->bill.keeps, sizeof n->bill.keeps, n->group_agg.n_keys ? "%s per (%s)%s" : "%s%.0s%s",
             n->group_agg.n_aggs ? "accumulators" : "one mark", k, per_value > 0 ? ", and every value of a group" : "");
}

static void bill_window(phys *h, wr_pnode *n) {
    const wr_pnode  *in = n->inputs[0].node;
    const wr_window *w = &n->window_agg.window;
    double           fixed = 0, per_value = 0, size = (double)w->size_us, pane = (double)w->slide_us;
    char             k[160], t[48], p[48];
    wr_agg_bytes(n->window_agg.aggs, n->window_agg.n_aggs, n->window_agg.retract_input, &fixed, &per_value);
    wr_bill *b = &n->bill;
    b->bound = WR_BOUND_TIME;
    b->key_bytes = wr_kmap_entry_bytes((uint32_t)fixed, key_bytes(&in->schema, n->window_agg.keys, n->window_agg.n_keys));
    b->row_bytes = per_value;
    b->retention_us = size + ph_info(h, n)->delay_us;
    b->windows = w->kind == WR_WINDOW_SESSION ? 1 : ceil(b->retention_us / pane) + 1;
    if (n->window_agg.input_is_windowed) b->windows = 1;
    b->keys = n->window_agg.n_keys ? declared_keys(h, in, n->window_agg.keys, n->window_agg.n_keys) : 1;
    b->keys_from = b->keys > 0 ? "hint" : "assumed";
    names(&in->schema, n->window_agg.keys, n->window_agg.n_keys, k, sizeof k);
    text_us(t, sizeof t, size);
    text_us(p, sizeof p, pane);
    if (w->kind == WR_WINDOW_SESSION) snprintf(b->keeps, sizeof b->keeps, "accumulators per open session%s%s", n->window_agg.n_keys ? " of " : "", k);
    else if (n->window_agg.input_is_windowed) snprintf(b->keeps, sizeof b->keeps, "accumulators per open window%s%s", n->window_agg.n_keys ? " and " : "", k);
    else snprintf(b->keeps, sizeof b->keeps, "accumulators per %s%s%s pane", n->window_agg.n_keys ? k : "", n->window_agg.n_keys ? " and " : "", p);
    snprintf(b->bounded_by, sizeof b->bounded_by, w->kind == WR_WINDOW_SESSION ? "keys active within %s" : "%s of event time", t);
}

/* ---- joins ---- */

static void bill_interval(phys *h, wr_pnode *n) {
    const pinfo *l = ph_info(h, n->inputs[0].node), *r = ph_info(h, n->inputs[1].node);
    double       delay = ph_info(h, n)->delay_us, keep_l = (double)WR_MAX(n->interval_join.upper_us, 0) + delay, keep_r = (double)WR_MAX(-n->interval_join.lower_us, 0) + delay;
    double       bl = stored_row(l, &n->inputs[0].node->schema), br = stored_row(r, &n->inputs[1].node->schema);
    double       rl = l->rate > 0 ? l->rate : ASSUMED_RATE, rr = r->rate > 0 ? r->rate : ASSUMED_RATE;
    wr_bill     *b = &n->bill;
    char         tl[48], tr[48];
    b->bound = WR_BOUND_TIME;
    b->windows = 1;
    b->rate_rows = rl + rr;
    b->rate_from = l->rate_declared && r->rate_declared ? "hint" : "assumed";
    b->retention_us = (rl * keep_l + rr * keep_r) / (rl + rr);
    b->row_bytes = b->retention_us > 0 ? (rl * keep_l * bl + rr * keep_r * br) / (rl * keep_l + rr * keep_r) : (bl + br) / 2;
    text_us(tl, sizeof tl, keep_l);
    text_us(tr, sizeof tr, keep_r);
    snprintf(b->keeps, sizeof b->keeps, "rows of %.*s for %s, of %.*s for %s", WR_FMT(l->label), tl, WR_FMT(r->label), tr);
    snprintf(b->bounded_by, sizeof b->bounded_by, "event time: %s left, %s right", tl, tr);
}

static void bill_temporal(phys *h, wr_pnode *n) {
    const pinfo *r = ph_info(h, n->inputs[1].node);
    wr_bill     *b = &n->bill;
    by_keys(h, b, n->inputs[1].node, n->temporal_join.keys.right, n->temporal_join.keys.n, 0);
    b->windows = 1;
    b->key_bytes = wr_kmap_entry_bytes(32, key_bytes(&n->inputs[1].node->schema, n->temporal_join.keys.right, n->temporal_join.keys.n)) + stored_row(r, &n->inputs[1].node->schema);
    b->row_bytes = stored_row(ph_info(h, n->inputs[0].node), &n->inputs[0].node->schema);
    snprintf(b->keeps, sizeof b->keeps, "versions of %.*s that may still be asked for (one a key when quiet); left rows until both watermarks pass", WR_FMT(r->label));
}

typedef enum side_bound { SIDE_ENDS, SIDE_TTL, SIDE_KEYS, SIDE_NOTHING } side_bound;

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
static side_bound bound_of_side(phys *h, const wr_pnode *n, int side) {
    const pinfo *f = ph_info(h, n->inputs[side].node);
    bool batch = wr_str_ieq(wr_catalog_get(h->p->ctx->catalog, "execution.runtime-mode"), WR_STR("batch"));
    if (f->bounded && (batch || !reads_a_table(n->inputs[side].node))) return SIDE_ENDS;
    if (n->join.ttl_us[side] > 0) return SIDE_TTL;
    return f->by_keys || (f->updating && f->has_key) ? SIDE_KEYS : SIDE_NOTHING;
}

static wr_str alias_of(wr_str label) { /* "orders AS o" -> "o" */
    for (size_t i = 0; i + 4 < label.len; i++)
        if (memcmp(label.ptr + i, " AS ", 4) == 0) return (wr_str){label.ptr + i + 4, label.len - i - 4};
    return label;
}

static void refuse_unbounded(phys *h, const wr_pnode *n, const side_bound *bounds) {
    pl     *p = h->p;
    wr_sbuf detail = {0};
    bool    assumed = false;
    for (int s = 0; s < 2; s++) {
        const pinfo *f = ph_info(h, n->inputs[s].node);
        double       r = f->rate > 0 ? f->rate : ASSUMED_RATE, bytes = stored_row(f, &n->inputs[s].node->schema);
        wr_sbuf_printf(&detail, "%s%s side %.*s", s ? "; " : "", s ? "right" : "left", WR_FMT(f->label));
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
    wr_str l = ph_info(h, n->inputs[0].node)->label, r = ph_info(h, n->inputs[1].node)->label;
    if (bounds[0] == SIDE_NOTHING && bounds[1] == SIDE_NOTHING)
        pl_error(p, "WR101", n->at, "nothing bounds the memory of this join: it keeps every row of '%.*s' and '%.*s' for ever", WR_FMT(l), WR_FMT(r));
    else pl_error(p, "WR101", n->at, "nothing bounds the memory of this join: it keeps every row of '%.*s' for ever", WR_FMT(bounds[0] == SIDE_NOTHING ? l : r));
    wr_diags_detail(p->diags, "%.*s", WR_FMT(wr_sbuf_str(&detail)));
    wr_diags_hint(p->diags, "bound the time in ON (r.ts BETWEEN l.ts - INTERVAL '1' HOUR AND l.ts + INTERVAL '1' HOUR); or forget rows: SELECT /*+ STATE_TTL('%.*s' = '1 d') */ or "
                            "SET 'table.exec.state.ttl' = '1 d'; or accept the growth: SET 'state.unbounded' = 'accepted'",
                  WR_FMT(alias_of(bounds[0] == SIDE_NOTHING ? l : r)));
    wr_sbuf_free(&detail);
}

static void bill_join(phys *h, wr_pnode *n) {
    const pinfo *l = ph_info(h, n->inputs[0].node), *r = ph_info(h, n->inputs[1].node);
    side_bound   s[2] = {bound_of_side(h, n, 0), bound_of_side(h, n, 1)};
    double       rl = l->rate > 0 ? l->rate : ASSUMED_RATE, rr = r->rate > 0 ? r->rate : ASSUMED_RATE;
    double       bl = stored_row(l, &n->inputs[0].node->schema), br = stored_row(r, &n->inputs[1].node->schema);
    wr_bill     *b = &n->bill;
    char         t[48];
    b->windows = 1;
    b->rate_rows = rl + rr;
    b->rate_from = l->rate_declared && r->rate_declared ? "hint" : "assumed";
    b->row_bytes = (rl * bl + rr * br) / (rl + rr);
    snprintf(b->keeps, sizeof b->keeps, "every row of %.*s and of %.*s", WR_FMT(l->label), WR_FMT(r->label));
    if (s[0] == SIDE_NOTHING || s[1] == SIDE_NOTHING) {
        b->bound = WR_BOUND_NOTHING;
        snprintf(b->bounded_by, sizeof b->bounded_by, "nothing");
        if (!h->p->accept_unbounded) refuse_unbounded(h, n, s);
    } else if (s[0] == SIDE_TTL || s[1] == SIDE_TTL) {
        b->bound = WR_BOUND_TIME;
        b->retention_us = (double)WR_MAX(n->join.ttl_us[0], n->join.ttl_us[1]);
        text_us(t, sizeof t, b->retention_us);
        snprintf(b->bounded_by, sizeof b->bounded_by, "time since a row was last touched: %s (TTL)", t);
    } else if (s[0] == SIDE_KEYS || s[1] == SIDE_KEYS) {
        b->bound = WR_BOUND_KEYS;
        b->key_bytes = bl + br;
        b->keys_from = "assumed";
        snprintf(b->bounded_by, sizeof b->bounded_by, "number of keys of both sides");
    } else {
        b->bound = WR_BOUND_INPUT;
        snprintf(b->bounded_by, sizeof b->bounded_by, "the input, which ends");
    }
}

/* ---- ranking and the rest ---- */

static void bill_top_n(phys *h, wr_pnode *n) {
    const wr_pnode *in = n->inputs[0].node;
    const pinfo    *f = ph_info(h, in);
    wr_bill        *b = &n->bill;
    double          row = stored_row(f, &in->schema), per_key = (double)WR_MIN(n->top_n.last, (uint64_t)1000000);
    by_keys(h, b, in, n->top_n.keys, n->top_n.n_keys, n->top_n.ttl_us);
    b->windows = 1;
    b->row_bytes = row;
    b->key_bytes = wr_kmap_entry_bytes(48, key_bytes(&in->schema, n->top_n.keys, n->top_n.n_keys)) + per_key * row;
    if (n->top_n.window_end >= 0) {
        b->bound = WR_BOUND_TIME;
        snprintf(b->bounded_by, sizeof b->bounded_by, "open windows");
        if (n->top_n.n_keys <= 2) b->keys = 2, b->keys_from = "windows"; /* the one that fills and the one that goes out */
    }
    if (n->top_n.retract_input) {
        snprintf(b->keeps, sizeof b->keeps, "every row of %.*s, since a removed one lets the next one in", WR_FMT(f->label));
        b->key_bytes = row;
        snprintf(b->bounded_by, sizeof b->bounded_by, "number of rows of the input (its keys)");
        b->keys = 0;
        b->keys_from = "assumed";
        if (b->bound != WR_BOUND_TIME) b->bound = WR_BOUND_KEYS;
    } else {
        snprintf(b->keeps, sizeof b->keeps, "%llu rows%s", (unsigned long long)n->top_n.last, n->top_n.n_keys ? " a key" : "");
    }
}

static void bill_other(phys *h, wr_pnode *n) {
    const wr_pnode *in = n->n_inputs ? n->inputs[0].node : NULL;
    const pinfo    *f = in ? ph_info(h, in) : NULL;
    wr_bill        *b = &n->bill;
    b->windows = 1;
    switch (n->kind) {
    case WR_P_DEDUP:
        by_keys(h, b, in, n->dedup.keys, n->dedup.n_keys, n->dedup.ttl_us);
        b->key_bytes = wr_kmap_entry_bytes(16, key_bytes(&in->schema, n->dedup.keys, n->dedup.n_keys)) + (n->dedup.keep_last ? stored_row(f, &in->schema) : 0);
        snprintf(b->keeps, sizeof b->keeps, n->dedup.keep_last ? "the last row a key" : "the key");
        break;
    case WR_P_NORMALIZE:
        by_keys(h, b, in, n->normalize.keys, n->normalize.n_keys, 0);
        b->key_bytes = wr_kmap_entry_bytes(32, key_bytes(&in->schema, n->normalize.keys, n->normalize.n_keys)) + stored_row(f, &in->schema);
        snprintf(b->keeps, sizeof b->keeps, "the last row a key");
        break;
    case WR_P_LIMIT:
        b->bound = WR_BOUND_INPUT;
        b->row_bytes = n->limit.retract_input ? stored_row(f, &in->schema) : 0;
        snprintf(b->keeps, sizeof b->keeps, n->limit.retract_input ? "the rows let through" : "two counters");
        snprintf(b->bounded_by, sizeof b->bounded_by, "constant");
        break;
    case WR_P_TIME_SORT:
        b->bound = WR_BOUND_TIME;
        b->row_bytes = stored_row(f, &in->schema);
        b->retention_us = f->delay_us;
        snprintf(b->keeps, sizeof b->keeps, "rows ahead of the watermark");
        snprintf(b->bounded_by, sizeof b->bounded_by, "the watermark's delay");
        break;
    case WR_P_WINDOW_JOIN:
        b->bound = WR_BOUND_TIME;
        b->row_bytes = (stored_row(f, &in->schema) + stored_row(ph_info(h, n->inputs[1].node), &n->inputs[1].node->schema)) / 2;
        snprintf(b->keeps, sizeof b->keeps, "rows of both sides of the windows that are open");
        snprintf(b->bounded_by, sizeof b->bounded_by, "open windows");
        if (n->kind == WR_P_WINDOW_JOIN && ph_info(h, n)->from) b->retention_us = (double)ph_info(h, n)->from->in[0]->props.win.window.size_us + ph_info(h, n)->delay_us;
        break;
    default:
        b->bound = WR_BOUND_STATELESS;
        snprintf(b->keeps, sizeof b->keeps, "nothing");
        break;
    }
}

void ph_bill(phys *h) {
    for (uint32_t i = 0; i < h->job->nodes.n; i++) {
        wr_pnode *n = h->job->nodes.at[i];
        rate(&n->bill, n->n_inputs ? ph_info(h, n->inputs[0].node) : ph_info(h, n));
        switch (n->kind) {
        case WR_P_GROUP_AGG: bill_group(h, n), n->bill.windows = 1; break;
        case WR_P_WINDOW_AGG: bill_window(h, n); break;
        case WR_P_INTERVAL_JOIN: bill_interval(h, n); break;
        case WR_P_TEMPORAL_JOIN: bill_temporal(h, n); break;
        case WR_P_JOIN: bill_join(h, n); break;
        case WR_P_TOP_N: bill_top_n(h, n); break;
        default: bill_other(h, n); break;
        }
    }
}

/* Bytes after so long at the assumed rate; infinity-free: -1 = not known (number of keys neither declared nor implied). */
double pl_bill_bytes(const wr_pnode *n, double after_us) {
    const wr_bill *b = &n->bill;
    double         span = b->retention_us > 0 ? WR_MIN(after_us, b->retention_us) : after_us, rows = b->rate_rows * span / 1e6;
    switch (b->bound) {
    case WR_BOUND_STATELESS: return 0;
    case WR_BOUND_NOTHING: return rows * b->row_bytes;
    case WR_BOUND_KEYS: return b->keys > 0 ? b->key_bytes * WR_MIN(b->keys, rows) : -1;
    case WR_BOUND_INPUT: return b->key_bytes > 0 ? b->key_bytes : n->kind == WR_P_JOIN ? -1 : b->row_bytes;
    case WR_BOUND_TIME:
        if (n->kind == WR_P_WINDOW_AGG) { /* a pane has at most as many keys as rows */
            double pane_us = b->windows > 1 ? b->retention_us / (b->windows - 1) : b->retention_us, pane_rows = b->rate_rows * pane_us / 1e6;
            double keys = b->keys > 0 ? WR_MIN(b->keys, pane_rows) : pane_rows, panes = WR_MIN(b->windows, after_us / WR_MAX(pane_us, 1) + 1);
            return keys * panes * b->key_bytes;
        }
        if (b->key_bytes > 0) return b->key_bytes * (b->keys > 0 ? WR_MIN(b->keys, rows) : rows);
        if (n->kind == WR_P_TIME_SORT && b->retention_us <= 0) return 0;
        return rows * b->row_bytes;
    }
    return -1;
}
