/* api/audit_compare.c: walks over the rows of all sides, by output and key, and says of each difference what it is put down to.
 *
 * Idea       a key that replaces has one row on each side: the last. Otherwise rows of a key are a bag: equal ones are paired off first, then those that are equal
 *            up to the last digits of floating point, then what is left on both sides is a different row; the rest is missing or extra.
 * Memory     the rows of one key, at most GROUP_BYTES; the differences that are kept.                               */
#include "api/audit_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUP_BYTES = 64 << 20, TEXT_MAX = 300 };

const char *wr_audit_reason_name(wr_audit_reason reason) {
    static const char *const names[] = {"late", "expired", "shed", "not-published", "refused", "duplicate", "orphan", "changed", "not-deterministic"};
    return names[reason];
}
const char *wr_audit_kind_name(wr_audit_kind kind) {
    static const char *const names[] = {"missing", "extra", "different"};
    return names[kind];
}

typedef struct entry { uint32_t at, len; int32_t order; uint8_t side; bool adds; } entry; /* of bytes */
typedef struct variant { uint32_t at, len; int64_t n[SIDES], left, extra; } variant; /* rows that are equal: of each side; in the truth only, published only */
typedef struct walk {
    audit   *a;
    uint32_t output;
    wr_sbuf  key, bytes;
    WR_ARR(entry) entries;
    WR_ARR(variant) variants;
} walk;

static const audit_output *output_of(const walk *w) { return &w->a->outputs.at[w->output]; }
static wr_audit_output    *report_of(const walk *w) { return &w->a->report->outputs.at[output_of(w)->report]; }
static wr_str              text_of(const walk *w, uint32_t at, uint32_t len) { return (wr_str){len ? w->bytes.at + at : "", len}; }

/* ---- values ---- */
static wr_str next_cell(wr_str *rest) {
    const char *tab = rest->len ? memchr(rest->ptr, '\t', rest->len) : NULL;
    wr_str      cell = {rest->ptr, tab ? (size_t)(tab - rest->ptr) : rest->len};
    rest->ptr += cell.len + (tab != NULL), rest->len -= cell.len + (tab != NULL);
    return cell;
}
static bool close_enough(wr_type type, wr_str a, wr_str b) {
    char x[64], y[64];
    if (wr_str_eq(a, b)) return true;
    if ((type.id != WR_T_FLOAT && type.id != WR_T_DOUBLE) || a.len >= sizeof x || b.len >= sizeof y || !a.len || !b.len || *a.ptr == '\\' || *b.ptr == '\\') return false;
    snprintf(x, sizeof x, "%.*s", WR_FMT(a)), snprintf(y, sizeof y, "%.*s", WR_FMT(b));
    double p = strtod(x, NULL), q = strtod(y, NULL);
    return fabs(p - q) <= (type.id == WR_T_FLOAT ? 1e-5 : 1e-9) * fmax(fabs(p), fabs(q));
}
static bool same_values(const audit_output *o, wr_str a, wr_str b) {
    if (wr_str_eq(a, b)) return true;
    for (uint32_t k = 0; k < o->n_value; k++) {
        wr_str x = next_cell(&a), y = next_cell(&b);
        if (!close_enough(o->schema.fields[o->value[k]].type, x, y)) return false;
    }
    return true;
}
/* All that differs is another value each time; why. */
static const char *only_unsteady(const audit_output *o, wr_str a, wr_str b) {
    const char *why = NULL;
    for (uint32_t k = 0; k < o->n_value; k++) {
        wr_str x = next_cell(&a), y = next_cell(&b);
        if (close_enough(o->schema.fields[o->value[k]].type, x, y)) continue;
        if (!o->cols[o->value[k]].unsteady) return NULL;
        why = o->cols[o->value[k]].unsteady;
    }
    return why;
}

/* ---- a difference into the report ---- */
static wr_str row_json(const walk *w, const wr_str *value) {
    const audit_output *o = output_of(w);
    wr_sbuf text = {0};
    wr_sbuf_addc(&text, '{');
    audit_row_json(o->schema.fields, o->key, o->n_key, (wr_str){w->key.at + 4, w->key.len - 4}, &text);
    if (value) audit_row_json(o->schema.fields, o->value, o->n_value, *value, &text);
    wr_sbuf_addc(&text, '}');
    wr_str out = wr_str_dup(w->a->report->arena, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    return out;
}

/* "total is 12 and should be 15" */
static void put_columns(const audit_output *o, wr_str expected, wr_str published, wr_sbuf *out) {
    for (uint32_t k = 0; k < o->n_value && out->len < TEXT_MAX; k++) {
        const wr_field *f = &o->schema.fields[o->value[k]];
        wr_str          x = next_cell(&expected), y = next_cell(&published);
        if (close_enough(f->type, x, y)) continue;
        if (wr_str_eq(x, WR_STR("\\N"))) x = WR_STR("NULL");
        if (wr_str_eq(y, WR_STR("\\N"))) y = WR_STR("NULL");
        wr_sbuf_printf(out, "%s%.*s is %.*s and should be %.*s", out->len ? "; " : "", WR_FMT(f->name), (int)WR_MIN(y.len, (size_t)60), y.ptr, (int)WR_MIN(x.len, (size_t)60), x.ptr);
    }
}

static wr_str because(const walk *w, wr_audit_kind kind, wr_audit_reason reason, const char *why, const wr_str *expected, const wr_str *published, uint64_t count) {
    static const char *const words[WR_AUDIT_REASONS] = {
        [WR_AUDIT_NOT_PUBLISHED] = "the log has it, and the job as it ran computes it: it was not written, or was removed since",
        [WR_AUDIT_REFUSED] = "the output's other end refused it",
        [WR_AUDIT_DUPLICATE] = "it was published more often than it was computed",
        [WR_AUDIT_ORPHAN] = "nothing in the log gives it: it was written by somebody else, or by another version of the job",
    };
    wr_sbuf text = {0};
    if (kind == WR_AUDIT_DIFFERENT) put_columns(output_of(w), *expected, *published, &text);
    if (reason == WR_AUDIT_DUPLICATE && count > 1) wr_sbuf_printf(&text, "%llu times more: ", (unsigned long long)count);
    if (why) wr_sbuf_printf(&text, "%s%s", text.len ? "; " : "", why);
    else if (words[reason]) wr_sbuf_printf(&text, "%s%s", text.len ? "; " : "", words[reason]);
    wr_str out = wr_str_dup(w->a->report->arena, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
    return out;
}

static void add_diff(walk *w, wr_audit_kind kind, wr_audit_reason reason, const char *why, const wr_str *expected, const wr_str *published, uint64_t count) {
    wr_audit_output *r = report_of(w);
    r->kinds[kind] += count;
    r->reasons[reason] += count;
    if (!(w->a->o->accepted >> reason & 1)) w->a->report->equal = false;
    if (r->diffs.n >= w->a->o->limit) return;
    wr_audit_diff d = {.kind = kind, .reason = reason, .count = count, .key = row_json(w, NULL)};
    if (expected) d.expected = row_json(w, expected);
    if (published) d.published = row_json(w, published);
    d.because = because(w, kind, reason, why, expected, published, count);
    audit_shown shown = {w->output, r->diffs.n, wr_str_dup(w->a->report->arena, (wr_str){w->key.at + 4, w->key.len - 4})};
    wr_arr_apush(w->a->report->arena, &r->diffs, d);
    wr_arr_push(&w->a->shown, shown);
}

/* What the job as it ran computes in the same way: late rows, or what was forgotten. late_only: the run in which nothing was forgotten gives the truth. */
static wr_audit_reason late_or_expired(const walk *w, bool late_only_is_truth) {
    if (w->a->has[SIDE_LATE_ONLY]) return late_only_is_truth ? WR_AUDIT_EXPIRED : WR_AUDIT_LATE;
    return w->a->late_any ? WR_AUDIT_LATE : WR_AUDIT_EXPIRED;
}
static const char *expired_why(const walk *w, wr_audit_reason reason) {
    (void)w;
    return reason == WR_AUDIT_EXPIRED ? "state that it needs was forgotten ('table.exec.state.ttl')" : NULL;
}
static void unexplained(walk *w, wr_audit_kind kind, wr_audit_reason reason, const wr_str *expected, const wr_str *published, uint64_t count) {
    const audit_output *o = output_of(w);
    const char *why = kind == WR_AUDIT_DIFFERENT ? only_unsteady(o, *expected, *published) : NULL;
    if (!why) why = o->unsteady;
    if (why) reason = WR_AUDIT_NOT_DETERMINISTIC;
    else if (o->sheds && reason != WR_AUDIT_DUPLICATE && reason != WR_AUDIT_ORPHAN) reason = WR_AUDIT_SHED, why = o->sheds;
    else if (o->forgets && reason != WR_AUDIT_DUPLICATE) reason = WR_AUDIT_EXPIRED, why = o->forgets;
    add_diff(w, kind, reason, why, expected, published, count);
}

/* ---- a key that replaces ---- */
static void judge_key(walk *w) {
    const audit_output *o = output_of(w);
    wr_audit_output    *r = report_of(w);
    bool   there[SIDES] = {0};
    wr_str value[SIDES] = {0};
    for (uint32_t i = 0; i < w->entries.n; i++) {
        const entry *e = &w->entries.at[i];
        there[e->side] = e->adds;
        value[e->side] = text_of(w, e->at, e->len);
    }
    int t = w->a->has[SIDE_TRUTH] ? SIDE_TRUTH : SIDE_AS_RUN, p = SIDE_PUBLISHED, c = SIDE_LATE_ONLY;
    r->expected += there[t], r->published += there[p];
    if (there[t] == there[p] && (!there[t] || same_values(o, value[t], value[p]))) {
        r->equal += there[t];
        return;
    }
    wr_audit_kind kind = !there[p] ? WR_AUDIT_MISSING : !there[t] ? WR_AUDIT_EXTRA : WR_AUDIT_DIFFERENT;
    const wr_str *expected = there[t] ? &value[t] : NULL, *published = there[p] ? &value[p] : NULL;
    if (w->a->has[SIDE_TRUTH] && there[SIDE_AS_RUN] == there[p] && (!there[p] || same_values(o, value[SIDE_AS_RUN], value[p]))) {
        wr_audit_reason reason = late_or_expired(w, there[c] == there[t] && (!there[t] || same_values(o, value[c], value[t])));
        add_diff(w, kind, reason, expired_why(w, reason), expected, published, 1);
        return;
    }
    unexplained(w, kind, kind == WR_AUDIT_MISSING ? WR_AUDIT_NOT_PUBLISHED : kind == WR_AUDIT_EXTRA ? WR_AUDIT_ORPHAN : WR_AUDIT_CHANGED, expected, published, 1);
}

/* ---- a bag ---- */
static int by_text(const void *a, const void *b, void *bytes) {
    const entry *x = a, *y = b;
    wr_str       s = {(const char *)bytes + x->at, x->len}, t = {(const char *)bytes + y->at, y->len};
    int          order = wr_str_cmp(s, t);
    return order ? order : x->order - y->order;
}
static void find_variants(walk *w) {
    static char none[1];
    w->variants.n = 0;
    if (w->entries.n) qsort_r(w->entries.at, w->entries.n, sizeof *w->entries.at, by_text, w->bytes.at ? w->bytes.at : none);
    for (uint32_t i = 0; i < w->entries.n; i++) {
        const entry *e = &w->entries.at[i];
        variant     *v = w->variants.n ? &w->variants.at[w->variants.n - 1] : NULL;
        if (!v || !wr_str_eq(text_of(w, v->at, v->len), text_of(w, e->at, e->len))) {
            wr_arr_push(&w->variants, (variant){.at = e->at, .len = e->len});
            v = &w->variants.at[w->variants.n - 1];
        }
        v->n[e->side] += e->adds ? 1 : -1;
    }
}

/* Those of the two that are left over, paired: `close`: only if they are nearly equal, which makes them equal. */
static void pair_up(walk *w, bool close) {
    const audit_output *o = output_of(w);
    for (uint32_t i = 0; i < w->variants.n; i++) {
        variant *x = &w->variants.at[i];
        for (uint32_t k = 0; k < w->variants.n && x->left; k++) {
            variant *y = &w->variants.at[k];
            wr_str   expected = text_of(w, x->at, x->len), published = text_of(w, y->at, y->len);
            int64_t  n = WR_MIN(x->left, y->extra);
            if (!n || (close && !same_values(o, expected, published))) continue;
            x->left -= n, y->extra -= n;
            if (close) {
                report_of(w)->equal += (uint64_t)n;
                continue;
            }
            int64_t as_run = w->a->has[SIDE_TRUTH] ? WR_MIN(WR_MAX(y->n[SIDE_AS_RUN] - y->n[SIDE_TRUTH], (int64_t)0), n) : 0;
            wr_audit_reason reason = late_or_expired(w, y->n[SIDE_LATE_ONLY] == y->n[SIDE_TRUTH]);
            if (as_run) add_diff(w, WR_AUDIT_DIFFERENT, reason, expired_why(w, reason), &expected, &published, (uint64_t)as_run);
            if (n > as_run) unexplained(w, WR_AUDIT_DIFFERENT, WR_AUDIT_CHANGED, &expected, &published, (uint64_t)(n - as_run));
        }
    }
}

static void judge_rest(walk *w, const variant *v) {
    wr_str          value = text_of(w, v->at, v->len);
    bool            truth = w->a->has[SIDE_TRUTH];
    int64_t         fewer = v->n[SIDE_TRUTH] - v->n[SIDE_AS_RUN];
    wr_audit_reason reason = late_or_expired(w, v->n[SIDE_LATE_ONLY] == v->n[SIDE_TRUTH]);
    if (v->left) {
        int64_t late = truth ? WR_MIN(WR_MAX(fewer, (int64_t)0), v->left) : 0;
        if (late) add_diff(w, WR_AUDIT_MISSING, reason, expired_why(w, reason), &value, NULL, (uint64_t)late);
        if (v->left > late) unexplained(w, WR_AUDIT_MISSING, WR_AUDIT_NOT_PUBLISHED, &value, NULL, (uint64_t)(v->left - late));
    }
    if (v->extra) {
        int64_t late = truth ? WR_MIN(WR_MAX(-fewer, (int64_t)0), v->extra) : 0;
        bool    known = v->n[truth ? SIDE_TRUTH : SIDE_AS_RUN] > 0 || v->n[SIDE_AS_RUN] > 0;
        if (late) add_diff(w, WR_AUDIT_EXTRA, reason, expired_why(w, reason), NULL, &value, (uint64_t)late);
        if (v->extra > late) unexplained(w, WR_AUDIT_EXTRA, known ? WR_AUDIT_DUPLICATE : WR_AUDIT_ORPHAN, NULL, &value, (uint64_t)(v->extra - late));
    }
}

static void judge_bag(walk *w) {
    const audit_output *o = output_of(w);
    wr_audit_output    *r = report_of(w);
    bool                open = false;
    find_variants(w);
    for (uint32_t i = 0; i < w->variants.n; i++) {
        variant *v = &w->variants.at[i];
        int64_t  expected = WR_MAX(v->n[w->a->has[SIDE_TRUTH] ? SIDE_TRUTH : SIDE_AS_RUN], (int64_t)0), published = WR_MAX(v->n[SIDE_PUBLISHED], (int64_t)0), both = WR_MIN(expected, published);
        r->expected += (uint64_t)expected, r->published += (uint64_t)published, r->equal += (uint64_t)both;
        v->left = expected - both, v->extra = published - both;
        open |= v->left || v->extra;
    }
    if (!open) return;
    if (o->n_value) pair_up(w, true), pair_up(w, false);
    for (uint32_t i = 0; i < w->variants.n; i++) judge_rest(w, &w->variants.at[i]);
}

/* ---- the walk ---- */
static void end_group(walk *w) {
    if (w->entries.n) {
        if (output_of(w)->by_key) judge_key(w);
        else judge_bag(w);
    }
    w->entries.n = 0;
    wr_sbuf_clear(&w->bytes);
}

static int side_of(const audit *a, char mark) {
    for (int i = 0; i < SIDES; i++)
        if (a->mark[i] == mark) return i;
    return -1; /* of a run that did not count */
}

static wr_status take(walk *w, wr_str key, wr_str value, wr_err *err) {
    const uint8_t *k = (const uint8_t *)key.ptr;
    if (!wr_str_eq(key, wr_sbuf_str(&w->key))) {
        end_group(w);
        wr_sbuf_clear(&w->key);
        wr_sbuf_add_str(&w->key, key);
        w->output = (uint32_t)k[0] << 24 | (uint32_t)k[1] << 16 | (uint32_t)k[2] << 8 | k[3];
    }
    int side = side_of(w->a, value.ptr[0]);
    if (side < 0 || report_of(w)->unreadable.ptr) return WR_OK;
    entry e = {(uint32_t)w->bytes.len, (uint32_t)value.len - 2, (int32_t)w->entries.n, (uint8_t)side, value.ptr[1] == '+'};
    uint32_t last = w->entries.n;
    while (output_of(w)->by_key && last > 0 && w->entries.at[last - 1].side != e.side) last--;
    if (output_of(w)->by_key && last && w->entries.at[last - 1].len >= e.len) { /* the last one of a side is all that counts */
        memcpy(w->bytes.at + w->entries.at[last - 1].at, value.ptr + 2, e.len);
        w->entries.at[last - 1].len = e.len, w->entries.at[last - 1].adds = e.adds;
        return WR_OK;
    }
    if (w->bytes.len + value.len > GROUP_BYTES) {
        wr_fail(err, WR_LIMIT, "WR428", "output '%.*s': one key has more rows than an audit can hold", WR_FMT(output_of(w)->table->name));
        wr_err_hint(err, "a column that tells its rows apart would help; --output leaves it out");
        return WR_LIMIT;
    }
    wr_sbuf_add(&w->bytes, value.ptr + 2, e.len);
    wr_arr_push(&w->entries, e);
    return WR_OK;
}

wr_status audit_compare(audit *a, wr_err *err) {
    walk      w = {.a = a};
    bool      got = true;
    wr_str    key, value;
    wr_status status = WR_OK;
    while (status == WR_OK) {
        status = pile_next(a->rows, &got, &key, &value, err);
        if (status != WR_OK || !got) break;
        status = take(&w, key, value, err);
    }
    if (status == WR_OK) end_group(&w);
    wr_sbuf_free(&w.key);
    wr_sbuf_free(&w.bytes);
    wr_arr_free(&w.entries);
    wr_arr_free(&w.variants);
    return status;
}
