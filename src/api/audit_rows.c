/* api/audit_rows.c: the rows of the log that explain differences: those that were late, records that were refused, rows of an interval join without a partner.
 *
 * Idea       they are noted as the runs go on, in piles of their own. A late row belongs to a difference if the columns that its source shares with the output's
 *            key are equal, and its time lies in the window that the key names. A row without a partner is found from both inputs of the join, by key and
 *            time, without the join's help: how far the nearest one was follows from the same search.
 * Retention  the first record of each partition tells whether the log still has what the audit needs.
 * Thread     callbacks: any worker, under `lock`.                                                                        */
#include "api/audit_parts.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTNERS_MAX = 1 << 20 /* rows of one key in a join */, LATE_SHOWN = 3 };

/* ---- noting ---- */
static void put_time(wr_sbuf *key, int64_t us) { /* sorts as the number does */
    uint64_t v = (uint64_t)us ^ UINT64_C(1) << 63;
    for (int i = 7; i >= 0; i--) wr_sbuf_addc(key, (char)(v >> (i * 8)));
}

static void note_row(audit *a, pile *to, const wr_source_row *r, bool cells) {
    wr_sbuf key = {0}, value = {0}, text = {0};
    put_time(&key, r->ts_us);
    if (cells) audit_cells(r->batch, r->row, r->batch->n_cols, a->plan->tz, &text);
    else wr_sbuf_add_str(&text, r->raw);
    wr_put_u32(&value, r->node->index);
    wr_put_bytes(&value, r->partition.ptr, r->partition.len);
    wr_put_i64(&value, r->offset), wr_put_i64(&value, r->line), wr_put_i64(&value, r->ts_us), wr_put_i64(&value, r->wm_us);
    wr_put_bytes(&value, text.at, text.len);
    wr_put_bytes(&value, r->code.ptr, r->code.len), wr_put_bytes(&value, r->reason.ptr, r->reason.len);
    wr_err err;
    if (a->failed.status == WR_OK && pile_add(to, wr_sbuf_str(&key), wr_sbuf_str(&value), &err) != WR_OK) a->failed = err;
    wr_sbuf_free(&key);
    wr_sbuf_free(&value);
    wr_sbuf_free(&text);
}
typedef struct noted { const wr_pnode *node; wr_str partition, text, code, reason; int64_t offset, line, ts_us, wm_us; } noted;
static noted noted_of(const audit *a, wr_str value) {
    wr_reader in = {(const uint8_t *)value.ptr, (const uint8_t *)value.ptr + value.len, false};
    noted     n = {.node = a->plan->nodes.at[wr_get_u32(&in)]};
    n.partition = wr_get_bytes(&in);
    n.offset = wr_get_i64(&in), n.line = wr_get_i64(&in), n.ts_us = wr_get_i64(&in), n.wm_us = wr_get_i64(&in);
    n.text = wr_get_bytes(&in), n.code = wr_get_bytes(&in), n.reason = wr_get_bytes(&in);
    return n;
}

static void on_late(void *arg, const wr_source_row *r) {
    audit *a = arg;
    wr_mutex_lock(a->lock);
    a->n_late++;
    a->most_behind[r->node->index] = WR_MAX(a->most_behind[r->node->index], r->wm_us - r->ts_us);
    if (a->side == SIDE_AS_RUN) note_row(a, a->late, r, true);
    wr_mutex_unlock(a->lock);
}
static void on_refused(void *arg, const wr_source_row *r) {
    audit *a = arg;
    wr_mutex_lock(a->lock);
    if (a->side == SIDE_AS_RUN) note_row(a, a->refused, r, false);
    wr_mutex_unlock(a->lock);
}

static void put_span(int64_t us, wr_sbuf *out) { wr_text_duration(us, out); }
static void put_when(const audit *a, const wr_pnode *source, int64_t us, wr_sbuf *out) {
    char text[40];
    bool instant = source->source.rowtime && source->source.rowtime->type.id == WR_T_TIMESTAMP_LTZ;
    if (instant) us = wr_tz_to_local(a->plan->tz, us);
    wr_sbuf_add(out, text, wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', text));
}

/* A partition whose first record is not its first one any more, and is younger than what is needed. */
static void on_begins(void *arg, const wr_pnode *node, wr_str partition, int64_t offset, int64_t ts_us) {
    audit *a = arg;
    int64_t from = a->ranges[node->index].from_us, end = a->periods[node->index].to_us;
    wr_str  mode = wr_table_option_get(node->source.table, "scan.startup.mode");
    if (offset <= 0 || (from != WR_TIME_MIN && ts_us != WR_TIME_MIN && ts_us <= from) || wr_str_eq(mode, WR_STR("timestamp")) || wr_str_eq(mode, WR_STR("specific-offsets"))) return;
    wr_mutex_lock(a->lock);
    if (a->failed.status == WR_OK) {
        wr_sbuf need = {0}, keeps = {0}, begins = {0};
        if (from == WR_TIME_MIN) wr_sbuf_addz(&need, "all");
        else put_span((end == WR_TIME_MAX ? a->periods[node->index].from_us : end) - from, &need);
        if (ts_us != WR_TIME_MIN) put_when(a, node, ts_us, &begins);
        if (ts_us != WR_TIME_MIN && end != WR_TIME_MAX && end > ts_us) put_span(end - ts_us, &keeps);
        wr_fail(&a->failed, WR_USER, "WR426", "this audit needs %.*s of the log of table '%.*s'; %.*s begins at offset %" PRId64 "%s%.*s now%s%.*s", WR_FMT(wr_sbuf_str(&need)), WR_FMT(node->source.table->name),
                WR_FMT(partition), offset, begins.len ? ", " : "", WR_FMT(wr_sbuf_str(&begins)), keeps.len ? ": it keeps " : "", WR_FMT(wr_sbuf_str(&keeps)));
        wr_str why = a->nodes[node->index].why;
        if (why.len) wr_err_detail(&a->failed, "it reads back so far because of %.*s", WR_FMT(why));
        wr_err_hint(&a->failed, "audit a later period, or keep the log longer");
        a->failed.at = node->at;
        wr_sbuf_free(&need), wr_sbuf_free(&keeps), wr_sbuf_free(&begins);
    }
    wr_mutex_unlock(a->lock);
}

/* ---- joins ---- */
static bool loses(wr_join_kind kind, uint32_t side) { /* a row without a partner leaves no trace in the output */
    switch (kind) {
    case WR_JOIN_INNER: return true;
    case WR_JOIN_LEFT: return side == 1;
    case WR_JOIN_RIGHT: case WR_JOIN_SEMI: return side == 0;
    case WR_JOIN_FULL: case WR_JOIN_ANTI: return false;
    }
    return false;
}
static void on_rows(void *arg, const wr_pnode *n, uint32_t input, const wr_batch *batch) {
    audit *a = arg;
    if (n->kind != WR_P_INTERVAL_JOIN || n->interval_join.proctime || !a->nodes[n->index].reached) return;
    const wr_interval_join_opts *o = &n->interval_join;
    const uint32_t *keys = input ? o->keys.right : o->keys.left;
    uint32_t        time_col = input ? o->right_time : o->left_time;
    wr_sbuf         key = {0}, value = {0};
    wr_err          err;
    wr_mutex_lock(a->lock);
    for (uint32_t i = 0; i < wr_batch_live(batch) && a->failed.status == WR_OK; i++) {
        uint32_t row = wr_batch_row(batch, i);
        int64_t  us;
        bool     null_key = false;
        if (!wr_kind_adds(wr_batch_kind(batch, row)) || !audit_time_of(&batch->cols[time_col], row, &us)) continue;
        wr_sbuf_clear(&key), wr_sbuf_clear(&value);
        wr_put_u32(&key, n->index);
        for (uint32_t k = 0; k < o->keys.n; k++) {
            null_key |= wr_vec_is_null(&batch->cols[keys[k]], row) && !(o->keys.null_safe && o->keys.null_safe[k]);
            wr_batch one = {.n_cols = 1, .cols = &batch->cols[keys[k]]};
            if (k) wr_sbuf_addc(&key, '\t');
            audit_cells(&one, row, 1, a->plan->tz, &key);
        }
        wr_put_u8(&value, (uint8_t)(input | (null_key ? 2 : 0)));
        wr_put_i64(&value, us);
        audit_cells(batch, row, batch->n_cols, a->plan->tz, &value);
        if (pile_add(a->joined, wr_sbuf_str(&key), wr_sbuf_str(&value), &err) != WR_OK) a->failed = err;
    }
    wr_mutex_unlock(a->lock);
    wr_sbuf_free(&key);
    wr_sbuf_free(&value);
}
static void on_watermark(void *arg, const wr_pnode *n, const wr_op *op, int64_t wm_us) { (void)arg, (void)n, (void)op, (void)wm_us; }

void audit_watch(audit *a, wr_source_watch *watch, wr_probe *probe) {
    *watch = (wr_source_watch){.arg = a, .ranges = a->ranges, .late = on_late, .refused = on_refused, .begins = on_begins};
    *probe = (wr_probe){.arg = a, .rows = on_rows, .watermark = on_watermark};
}

static pile *new_pile(const audit *a, const char *name, wr_err *err) {
    const char *dir = wr_arena_printf(a->report->arena, "%s/%s-%u-%d", a->dir, name, a->report->runs, (int)a->side);
    if (a->s->world->vt->make_dirs(a->s->world, dir, err) != WR_OK) return NULL;
    return pile_new(a->s->world, dir, (size_t)wr_session_memory(a->s) / 16);
}
wr_status audit_rows_begin(audit *a, wr_err *err) {
    a->n_late = 0;
    pile_free(a->joined);
    a->joined = new_pile(a, "joined", err);
    if (!a->joined) return err->status;
    if (a->side != SIDE_AS_RUN) return WR_OK;
    a->late = new_pile(a, "late", err);
    a->refused = a->late ? new_pile(a, "refused", err) : NULL;
    return a->refused ? WR_OK : err->status;
}
void audit_rows_end(audit *a) {
    pile_free(a->joined);
    pile_free(a->late);
    pile_free(a->refused);
}

/* ---- late rows to their differences ---- */
static wr_str cell_at(wr_str cells, uint32_t col) {
    for (;;) {
        const char *tab = cells.len ? memchr(cells.ptr, '\t', cells.len) : NULL;
        wr_str      cell = {cells.ptr, tab ? (size_t)(tab - cells.ptr) : cells.len};
        if (!col--) return cell;
        if (!tab) return (wr_str){"", 0};
        cells.ptr = tab + 1, cells.len -= cell.len + 1;
    }
}

/* 1: equal, -1: not, 0: the column says nothing about it. */
static int column_fits(const audit *a, const audit_output *o, uint32_t col, wr_str cell, const noted *late) {
    const audit_col *c = &o->cols[col];
    for (uint32_t i = 0; i < c->n_ids; i++)
        if (c->ids[i] >> 16 == late->node->index) return wr_str_eq(cell, cell_at(late->text, c->ids[i] & 0xFFFF)) ? 1 : -1;
    int64_t us, ts = late->ts_us, wm = late->wm_us;
    int32_t nanos;
    bool    zoned;
    if (c->window == AUDIT_NO_WINDOW || c->session || !late->node->source.rowtime || !wr_parse_timestamp(cell, &us, &nanos, &zoned)) return 0;
    if (late->node->source.rowtime->type.id == WR_T_TIMESTAMP_LTZ) ts = wr_tz_to_local(a->plan->tz, ts), wm = wr_tz_to_local(a->plan->tz, wm); /* cells show what the clock on the wall showed */
    int64_t from = c->window == AUDIT_WINDOW_START ? us : us - c->size_us; /* of a window_time: a millisecond too early */
    int64_t closed = from + (c->window == AUDIT_WINDOW_START ? c->least_us : c->size_us);
    return ts >= from && ts < from + c->size_us && wm >= closed - 2000 ? 1 : -1; /* the window had closed, or one with that start */
}
static bool fits(const audit *a, const audit_shown *s, const noted *late) {
    const audit_output *o = &a->outputs.at[s->output];
    bool any = false;
    if (!o->from[late->node->index]) return false;
    for (uint32_t k = 0; k < o->n_key; k++) {
        int one = column_fits(a, o, o->key[k], cell_at(s->key, k), late);
        if (one < 0) return false;
        any |= one > 0;
    }
    return any || !o->n_key;
}

static wr_audit_row row_of(const audit *a, const noted *n, bool cells) {
    wr_arena    *arena = a->report->arena;
    wr_audit_row r = {.table = n->node->source.table->name, .partition = wr_str_dup(arena, n->partition), .offset = n->offset, .line = n->line, .ts_us = n->ts_us, .behind_us = cells ? n->wm_us - n->ts_us : 0,
                      .code = wr_str_dup(arena, n->code), .reason = wr_str_dup(arena, n->reason)};
    wr_sbuf text = {0};
    if (cells) {
        wr_sbuf_addc(&text, '{');
        audit_row_json(n->node->schema.fields, NULL, n->node->schema.n, n->text, &text);
        wr_sbuf_addc(&text, '}');
        r.row = wr_str_dup(arena, wr_sbuf_str(&text));
    } else {
        r.row = wr_str_dup(arena, (wr_str){n->text.ptr, WR_MIN(n->text.len, (size_t)2000)});
    }
    wr_sbuf_free(&text);
    return r;
}

static bool in_period(const audit *a, const noted *n) {
    const wr_source_range *p = &a->periods[n->node->index];
    return n->ts_us >= p->from_us && n->ts_us < p->to_us;
}

static wr_status late_rows(audit *a, wr_err *err) {
    wr_audit_report *r = a->report;
    wr_str key, value;
    WR_TRY(pile_sort(a->late, err));
    for (bool got = true;;) {
        WR_TRY(pile_next(a->late, &got, &key, &value, err));
        if (!got) return WR_OK;
        noted n = noted_of(a, value);
        bool shown = in_period(a, &n) && (n.wm_us > n.ts_us || n.node->changes == WR_CHANGES_APPEND); /* versions of the same time are late by nothing */
        if (shown && r->n_late++ < a->o->limit) wr_arr_apush(r->arena, &r->late, row_of(a, &n, true));
        for (uint32_t i = 0; i < a->shown.n; i++) {
            const audit_shown *s = &a->shown.at[i];
            wr_audit_diff     *d = &r->outputs.at[a->outputs.at[s->output].report].diffs.at[s->diff];
            if (d->reason != WR_AUDIT_LATE || !fits(a, s, &n)) continue;
            if (d->n_late++ < LATE_SHOWN) wr_arr_apush(r->arena, &d->late, row_of(a, &n, true));
        }
    }
}

static void put_place(const wr_audit_row *row, wr_sbuf *out) {
    wr_sbuf_printf(out, "%.*s", WR_FMT(row->partition));
    if (row->line >= 0) wr_sbuf_printf(out, " line %" PRId64, row->line);
    else if (row->offset >= 0) wr_sbuf_printf(out, " offset %" PRId64, row->offset);
}
static void explain_late(const audit *a) {
    for (uint32_t i = 0; i < a->shown.n; i++) {
        wr_audit_diff *d = &a->report->outputs.at[a->outputs.at[a->shown.at[i].output].report].diffs.at[a->shown.at[i].diff];
        wr_sbuf        text = {0};
        if (d->reason != WR_AUDIT_LATE) continue;
        wr_sbuf_add_str(&text, d->because);
        if (text.len) wr_sbuf_addz(&text, "; ");
        for (uint32_t k = 0; k < d->late.n; k++) {
            if (k) wr_sbuf_addz(&text, ", ");
            wr_sbuf_addz(&text, "late by ");
            put_span(WR_MAX(d->late.at[k].behind_us, (int64_t)1000), &text);
            wr_sbuf_printf(&text, ": %.*s ", WR_FMT(d->late.at[k].table));
            put_place(&d->late.at[k], &text);
        }
        if (d->n_late > d->late.n) wr_sbuf_printf(&text, " and %" PRIu64 " more", d->n_late - d->late.n);
        if (!d->n_late) wr_sbuf_addz(&text, "late: the run as the job ran gives the same; the columns do not tell which row it was");
        d->because = wr_str_dup(a->report->arena, wr_sbuf_str(&text));
        wr_sbuf_free(&text);
    }
}

static wr_status refused_rows(audit *a, wr_err *err) {
    wr_audit_report *r = a->report;
    wr_str key, value;
    WR_TRY(pile_sort(a->refused, err));
    for (bool got = true;;) {
        WR_TRY(pile_next(a->refused, &got, &key, &value, err));
        if (!got) return WR_OK;
        noted n = noted_of(a, value);
        if (n.ts_us != WR_TIME_MIN && !in_period(a, &n)) continue;
        if (r->n_refused++ >= a->o->limit) continue;
        wr_audit_row row = row_of(a, &n, false);
        row.number = r->n_refused;
        wr_arr_apush(r->arena, &r->refused, row);
    }
}

/* ---- rows without a partner ---- */
typedef struct partner { int64_t us; wr_str cells; bool null_key; } partner;
typedef struct pairs { WR_ARR(partner) side[2]; wr_sbuf key; uint64_t skipped; } pairs;

static int by_time(const void *a, const void *b) {
    const partner *x = a, *y = b;
    return x->us < y->us ? -1 : x->us > y->us;
}
/* Distance of the nearest of `in` (sorted) to [from, to]: 0 inside; UINT64_MAX: there is none. */
static uint64_t nearest(const partner *in, uint32_t n, int64_t from, int64_t to, int64_t *at) {
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (in[mid].us < from) low = mid + 1;
        else high = mid;
    }
    uint64_t best = UINT64_MAX;
    if (low < n) best = in[low].us <= to ? 0 : (uint64_t)(in[low].us - to), *at = in[low].us;
    if (low && (uint64_t)(from - in[low - 1].us) < best) best = (uint64_t)(from - in[low - 1].us), *at = in[low - 1].us;
    return best;
}

static void add_unmatched(audit *a, const wr_pnode *n, uint32_t side, const partner *p, uint64_t distance, int64_t near_us) {
    wr_audit_report *r = a->report;
    const wr_pnode  *in = n->inputs[side].node;
    wr_sbuf text = {0}, row = {0};
    if (r->n_unmatched++ >= a->o->limit) return;
    wr_sbuf_printf(&text, "partner missing: line %u, ", n->at.line);
    if (p->null_key) wr_sbuf_addz(&text, "its key is NULL");
    else if (distance == UINT64_MAX) wr_sbuf_printf(&text, "no row with its key comes from the %s input", side ? "left" : "right");
    else {
        wr_sbuf_addz(&text, "the nearest one is "), put_span((int64_t)distance, &text);
        wr_sbuf_printf(&text, " outside the interval, %s it", near_us < p->us ? "before" : "after");
    }
    wr_sbuf_addc(&row, '{');
    audit_row_json(in->schema.fields, NULL, in->schema.n, p->cells, &row);
    wr_sbuf_addc(&row, '}');
    const wr_pnode *source = in;
    while (source->kind != WR_P_SOURCE && source->n_inputs == 1) source = source->inputs[0].node;
    wr_audit_row out = {.table = source->kind == WR_P_SOURCE ? source->source.table->name : wr_str_of(side ? "right input" : "left input"), .offset = -1, .line = -1, .ts_us = p->us,
                        .row = wr_str_dup(r->arena, wr_sbuf_str(&row)), .reason = wr_str_dup(r->arena, wr_sbuf_str(&text)), .code = wr_str_of(p->null_key ? "null key" : "unmatched")};
    wr_arr_apush(r->arena, &r->unmatched, out);
    wr_sbuf_free(&text);
    wr_sbuf_free(&row);
}

static wr_status end_key(audit *a, pairs *p, wr_err *err) {
    if (!p->key.len) return WR_OK;
    wr_reader in = {(const uint8_t *)p->key.at, (const uint8_t *)p->key.at + p->key.len, false};
    const wr_pnode *n = a->plan->nodes.at[wr_get_u32(&in)];
    const wr_interval_join_opts *o = &n->interval_join;
    for (int k = 0; k < 2; k++)
        if (p->side[k].n) qsort(p->side[k].at, p->side[k].n, sizeof *p->side[k].at, by_time);
    for (uint32_t side = 0; side < 2; side++) {
        int64_t from = WR_TIME_MIN, to = WR_TIME_MAX;
        wr_type type = n->inputs[side].node->schema.fields[side ? o->right_time : o->left_time].type;
        if (a->o->from) WR_TRY(audit_time(a, "--from", a->o->from, type, &from, err));
        if (a->o->to) WR_TRY(audit_time(a, "--to", a->o->to, type, &to, err));
        for (uint32_t i = 0; loses(o->kind, side) && i < p->side[side].n; i++) {
            const partner *one = &p->side[side].at[i];
            int64_t  least = side ? one->us - o->upper_us : one->us + o->lower_us, most = side ? one->us - o->lower_us : one->us + o->upper_us, near_us = 0;
            if (one->us < from || one->us >= to) continue;
            uint64_t distance = one->null_key ? UINT64_MAX : nearest(p->side[!side].at, p->side[!side].n, least, most, &near_us);
            if (distance) add_unmatched(a, n, side, one, distance, near_us);
        }
    }
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < p->side[k].n; i++) wr_free((void *)(uintptr_t)p->side[k].at[i].cells.ptr);
        p->side[k].n = 0;
    }
    return WR_OK;
}

static wr_status unmatched_rows(audit *a, wr_err *err) {
    pairs     p = {0};
    wr_str    key, value;
    wr_status status = pile_sort(a->joined, err);
    for (bool got = true; status == WR_OK;) {
        status = pile_next(a->joined, &got, &key, &value, err);
        if (status != WR_OK || !got) break;
        if (!wr_str_eq(key, wr_sbuf_str(&p.key))) {
            status = end_key(a, &p, err);
            wr_sbuf_clear(&p.key);
            wr_sbuf_add_str(&p.key, key);
        }
        wr_reader in = {(const uint8_t *)value.ptr, (const uint8_t *)value.ptr + value.len, false};
        uint8_t   flags = wr_get_u8(&in);
        partner   one = {.us = wr_get_i64(&in), .null_key = flags >> 1};
        if (p.side[0].n + p.side[1].n >= PARTNERS_MAX) {
            if (!p.skipped++) audit_note(a, "a key of a join has more than %d rows: which of them have no partner was not looked for beyond these", PARTNERS_MAX);
            continue;
        }
        size_t len = (size_t)(in.end - in.at);
        char  *copy = wr_malloc(len + 1);
        memcpy(copy, in.at, len);
        one.cells = (wr_str){copy, len};
        wr_arr_push(&p.side[flags & 1], one);
    }
    if (status == WR_OK) status = end_key(a, &p, err);
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < p.side[k].n; i++) wr_free((void *)(uintptr_t)p.side[k].at[i].cells.ptr);
        wr_arr_free(&p.side[k]);
    }
    wr_sbuf_free(&p.key);
    return status;
}

wr_status audit_rows_report(audit *a, wr_err *err) {
    WR_TRY(late_rows(a, err));
    explain_late(a);
    WR_TRY(refused_rows(a, err));
    return unmatched_rows(a, err);
}
