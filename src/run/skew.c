/* run/skew.c: which keys of an exchange are hot: named by value and share while the job runs.
 *
 * Idea       each sender keeps a Space-Saving sketch (state/sketch.c) per exchange by hash, fed with the first rows, then with one row in 64 and after a million with one
 *            in 256 (and as few samples are kept, so that it follows the same last rows), at random distances so that no period of the input can hide a key or make one up. A key is named when its share of the rows is above what a
 *            worker would get of an even distribution: only such a key can make one worker the slow one. How fast operators are does
 *            not enter, so a slow operator is never called skew. Where rows are combined before the exchange, the rows before count.
 * Names      the text of a key is made from a row at hand when its counter has shown that it is frequent; for a join with what a SPLIT hint would say.
 * Bound      some 8 KiB per sender and exchange; nothing on one worker. Deterministic: the distances come from a fixed seed, no clock is read.
 * Thread     a sketch belongs to the sending worker, which copies its best counters into job->skews under the report lock.                  */
#include "run/internal.h"
#include "base/hash.h"
#include <stdio.h>

enum { GAP = 64, ALL_ROWS = 4096, WIDE_GAP = 256, WIDE_ROWS = 1 << 20, HALVE_AT = 1 << 16, SAMPLES_MIN = 1000, TEXT_MIN = 8, REPORTED = 16, NAMED_MAX = 8, KEY_TEXT = 96 };

struct skew {
    const wr_schema *schema;
    const uint32_t  *keys;
    uint32_t         n_keys, left;      /* rows until the next sample */
    uint64_t         rows, random;
    wr_sketch        sketch;
    char             text[WR_SKETCH_COUNTERS][KEY_TEXT], values[WR_SKETCH_COUNTERS][KEY_TEXT]; /* values: as in wr_hot_key */
};
typedef struct hot { uint64_t hash, count; char text[KEY_TEXT], values[KEY_TEXT]; } hot;
struct skew_report { uint64_t total, sent[64]; uint32_t n; hot top[REPORTED]; };
struct skew_point { const edge *e; skew **skews; skew_report *reports; }; /* both by worker */

static void key_text(const skew *k, const wr_batch *batch, uint32_t row, const wr_tz *tz, char *out) {
    wr_sbuf b = {0};
    for (uint32_t i = 0; i < k->n_keys; i++) {
        wr_sbuf_printf(&b, "%s%.*s=", i ? ", " : "", WR_FMT(k->schema->fields[k->keys[i]].name));
        wr_vec_text(&batch->cols[k->keys[i]], row, tz, &b);
    }
    wr_str text = wr_sbuf_str(&b);
    size_t len = text.len;
    if (len > KEY_TEXT - 4) { /* "..." in UTF-8's place, not inside a character */
        len = KEY_TEXT - 4;
        while (len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) len--;
    }
    snprintf(out, KEY_TEXT, "%.*s%s", (int)len, text.ptr, len < text.len ? "..." : "");
    wr_sbuf_free(&b);
}

/* As a hint says it: no name, '|' between; "" where that would say another key. */
static void key_values(const skew *k, const wr_batch *batch, uint32_t row, const wr_tz *tz, char *out) {
    wr_sbuf b = {0};
    bool    can = true;
    for (uint32_t i = 0; i < k->n_keys; i++) {
        size_t from = b.len + (i > 0);
        if (i) wr_sbuf_addc(&b, '|');
        wr_vec_text(&batch->cols[k->keys[i]], row, tz, &b);
        wr_str one = {b.at + from, b.len - from};
        can &= one.len && wr_str_trim(one).len == one.len && !memchr(one.ptr, ',', one.len) && !memchr(one.ptr, '|', one.len) && !memchr(one.ptr, '\'', one.len);
    }
    snprintf(out, KEY_TEXT, "%.*s", can && b.len < KEY_TEXT ? (int)b.len : 0, b.at);
    wr_sbuf_free(&b);
}

void skew_feed(skew *k, const wr_batch *batch, const uint64_t *hash, const wr_tz *tz) {
    uint32_t live = wr_batch_live(batch), i = k->left;
    bool     wide = k->rows >= WIDE_ROWS;
    uint32_t gap = wide ? WIDE_GAP : GAP, halve_at = wide ? HALVE_AT / (WIDE_GAP / GAP) : HALVE_AT;
    for (; i < live; i += 1 + (k->rows + i < ALL_ROWS ? 0 : (uint32_t)(k->random >> 33) % (2 * gap - 1))) {
        uint32_t row = wr_batch_row(batch, i);
        bool     fresh;
        uint32_t at = wr_sketch_add(&k->sketch, hash[row], &fresh);
        if (fresh) k->text[at][0] = k->values[at][0] = 0;
        uint64_t sure = k->sketch.count[at] - k->sketch.error[at];
        if (!k->text[at][0] && sure >= TEXT_MIN && sure * WR_SKETCH_COUNTERS >= k->sketch.total) key_text(k, batch, row, tz, k->text[at]), key_values(k, batch, row, tz, k->values[at]);
        if (k->sketch.total >= halve_at) wr_sketch_halve(&k->sketch);
        k->random = k->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's MMIX generator */
    }
    k->left = i - live;
    k->rows += live;
}

skew *skew_new(wr_arena *arena, const wr_schema *schema, const uint32_t *keys, uint32_t n_keys, uint32_t seed) {
    skew *k = wr_new(arena, skew);
    k->schema = schema, k->keys = keys, k->n_keys = n_keys;
    k->random = wr_hash_u64(seed);
    return k;
}

void skew_build(wr_job *job) {
    if (job->n_workers < 2) return;
    job->skews = wr_new_n(job->arena, skew_point, job->n_edges + 1);
    for (uint32_t i = 0; i < job->n_edges; i++) {
        edge *e = &job->edges[i];
        if (e->kind != WR_X_HASH || !e->n_keys) continue;
        skew_point *p = &job->skews[job->n_skews++];
        *p = (skew_point){e, wr_new_n(job->arena, skew *, job->n_workers), wr_new_n(job->arena, skew_report, job->n_workers)};
        e->sent = wr_new_n(job->arena, uint64_t, job->n_workers * job->n_workers);
        for (uint32_t w = 0; w < job->n_workers; w++) {
            node *from = &job->workers[w].nodes[e->from->index];
            if (!from->p) continue;
            skew *k = p->skews[w] = skew_new(job->arena, &e->from->schema, e->keys, e->n_keys - (e->from->kind == WR_P_SPREAD), w + 1);
            if (e->from->kind == WR_P_LOCAL_AGG) from->skew = k;
        }
        e->skews = e->from->kind == WR_P_LOCAL_AGG ? NULL : p->skews;
    }
}

/* The most frequent keys with a name, most first; how many. */
static uint32_t best(const skew *k, hot *top) {
    uint32_t n = 0;
    for (uint32_t c = 0; c < k->sketch.n; c++) {
        if (!k->text[c][0]) continue;
        hot      h = {.hash = k->sketch.hash[c], .count = k->sketch.count[c] - k->sketch.error[c]};
        uint32_t at = n;
        while (at && top[at - 1].count < h.count) at--;
        if (at == REPORTED) continue;
        memcpy(h.text, k->text[c], KEY_TEXT);
        memcpy(h.values, k->values[c], KEY_TEXT);
        if (n < REPORTED) n++;
        memmove(&top[at + 1], &top[at], (n - 1 - at) * sizeof h);
        top[at] = h;
    }
    return n;
}

uint32_t skew_best(const skew *k, wr_bill_hot *out, uint32_t max) {
    hot      top[REPORTED];
    uint32_t n = k->sketch.total < SAMPLES_MIN ? 0 : WR_MIN(best(k, top), max);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (wr_bill_hot){.share = (double)top[i].count / (double)k->sketch.total};
        memcpy(out[i].key, top[i].text, KEY_TEXT);
        memcpy(out[i].values, top[i].values, KEY_TEXT);
    }
    return n;
}

/* Called with the report lock. */
void skew_report_worker(worker *w) {
    wr_job *job = w->job;
    for (uint32_t i = 0; i < job->n_skews; i++) {
        const skew  *k = job->skews[i].skews[w->index];
        skew_report *r = &job->skews[i].reports[w->index];
        if (!k) continue;
        r->total = k->sketch.total;
        for (uint32_t to = 0; to < job->n_workers; to++) r->sent[to] = job->skews[i].e->sent[w->index * job->n_workers + to];
        r->n = best(k, r->top);
    }
}

static bool above_share(double share, uint32_t n_workers) { return share > 1.1 / n_workers + 0.02; } /* beyond what sampling may add */

static void spread_of(const wr_job *job, const skew_point *p, uint64_t *rows, uint64_t *busiest) {
    uint64_t sum = 0, most = 0;
    for (uint32_t to = 0; to < job->n_workers; to++) {
        uint64_t got = 0;
        for (uint32_t w = 0; w < job->n_workers; w++) got += p->reports[w].sent[to];
        sum += got;
        most = WR_MAX(most, got);
    }
    *rows = sum, *busiest = most;
}
static double busiest_share(const wr_job *job, const skew_point *p) {
    uint64_t rows, busiest;
    spread_of(job, p, &rows, &busiest);
    return rows ? (double)busiest / (double)rows : 0;
}

static void name_keys(wr_job *job, const skew_point *p, wr_job_status *out) {
    hot      all[64 * REPORTED];
    uint32_t n = 0, first = out->n_hot;
    uint64_t total = 0;
    for (uint32_t w = 0; w < job->n_workers; w++) {
        const skew_report *r = &p->reports[w];
        total += r->total;
        for (uint32_t c = 0; c < r->n; c++) {
            uint32_t at = 0;
            while (at < n && all[at].hash != r->top[c].hash) at++;
            if (at == n) all[n++] = (hot){.hash = r->top[c].hash}, memcpy(all[at].text, r->top[c].text, KEY_TEXT), memcpy(all[at].values, r->top[c].values, KEY_TEXT);
            all[at].count += r->top[c].count;
        }
    }
    if (total < SAMPLES_MIN) return;
    for (uint32_t i = 0; i < n; i++) {
        double share = (double)all[i].count / (double)total;
        if (!above_share(share, job->n_workers) || out->n_hot - first == NAMED_MAX) continue;
        wr_hot_key *h = &out->hot[out->n_hot++];
        *h = (wr_hot_key){.node = p->e->to, .port = p->e->port, .share = share, .fair_share = 1.0 / job->n_workers, .busiest_share = busiest_share(job, p),
                          .combined = p->e->from->kind == WR_P_LOCAL_AGG, .n_workers = job->n_workers};
        if (p->e->from->kind == WR_P_SPREAD) h->parts = p->e->from->spread.ways;
        snprintf(h->key, sizeof h->key, "%s", all[i].text);
        snprintf(h->values, sizeof h->values, "%s", all[i].values);
    }
}

/* Called with the report lock. */
void skew_status(wr_job *job, wr_job_status *out) {
    out->hot = wr_new_n(out->arena, wr_hot_key, job->n_skews * NAMED_MAX + 1);
    out->n_exchanges = job->n_skews;
    out->exchanges = wr_new_n(out->arena, wr_exchange_status, job->n_skews + 1);
    for (uint32_t i = 0; i < job->n_skews; i++) {
        const skew_point   *p = &job->skews[i];
        wr_exchange_status *x = &out->exchanges[i];
        name_keys(job, p, out);
        x->node = p->e->to, x->port = p->e->port;
        spread_of(job, p, &x->rows, &x->busiest);
    }
}

void wr_exchanges_json(const wr_job_status *s, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < s->n_exchanges; i++) {
        const wr_exchange_status *x = &s->exchanges[i];
        wr_sbuf_printf(out, "%s{\"operator\":\"%s\",\"port\":%u,\"rows\":%llu,\"busiest\":%llu,\"mean\":%.1f}", i ? "," : "", x->node->id, x->port, (unsigned long long)x->rows,
                       (unsigned long long)x->busiest, (double)x->rows / s->n_workers);
    }
    wr_sbuf_addc(out, ']');
}

/* ---- in words ---- */

static const char *side(const wr_hot_key *h) { return h->node->n_inputs < 2 ? "" : h->port ? ", right side" : ", left side"; }

void wr_hot_key_text(const wr_hot_key *h, wr_sbuf *out) {
    if (h->parts) wr_sbuf_printf(out, "one of the %u parts of ", h->parts);
    wr_sbuf_printf(out, "key %s has %.0f %% of the rows at %s (%s%s); fair share per worker is %.1f %%", h->key, h->share * 100, h->node->title, h->node->id, side(h),
                   h->fair_share * 100);
    if (h->combined) wr_sbuf_addz(out, "; its rows are combined before the exchange");
    if (h->busiest_share > 0) wr_sbuf_printf(out, "; the busiest worker gets %.0f %% of what is sent, %.1f times the mean", h->busiest_share * 100, h->busiest_share / h->fair_share);
    wr_sbuf advice = {0};
    wr_plan_split_advice(h->node, h->port, h->n_workers, h->values, &advice);
    if (advice.len) wr_sbuf_printf(out, "; %.*s", WR_FMT(wr_sbuf_str(&advice)));
    wr_sbuf_free(&advice);
}

void wr_hot_key_json(const wr_hot_key *h, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\"key\":");
    wr_sbuf_add_json(out, wr_str_of(h->key));
    wr_sbuf_printf(out, ",\"operator\":\"%s\",\"port\":%u,\"share\":%.4f,\"fair_share\":%.4f,\"busiest_share\":%.4f,\"combined\":%s,\"parts\":%u,\"split\":", h->node->id, h->port,
                   h->share, h->fair_share, h->busiest_share, h->combined ? "true" : "false", h->parts);
    wr_sbuf advice = {0};
    wr_plan_split_advice(h->node, h->port, h->n_workers, h->values, &advice);
    if (advice.len) wr_sbuf_add_json(out, wr_sbuf_str(&advice));
    else wr_sbuf_addz(out, "null");
    wr_sbuf_free(&advice);
    wr_sbuf_addc(out, '}');
}
