/* run/skew.c: which keys of an exchange are hot: named by value and share while the job runs.
 *
 * Idea       each sender keeps a Space-Saving sketch (state/sketch.c) per exchange by hash, fed with the first rows and then with one row in 64, at
 *            random distances so that no period of the input can hide a key or make one up. A key is named when its share of the rows is above what a
 *            worker would get of an even distribution: only such a key can make one worker the slow one. How fast operators are does
 *            not enter, so a slow operator is never called skew. Where rows are combined before the exchange, the rows before count.
 * Names      the text of a key is made from a row at hand when its counter has shown that it is frequent.
 * Bound      some 8 KiB per sender and exchange; nothing on one worker. Deterministic: the distances come from a fixed seed, no clock is read.
 * Thread     a sketch belongs to the sending worker, which copies its best counters into job->skews under the report lock.                  */
#include "run/internal.h"
#include "base/hash.h"
#include <stdio.h>

enum { GAP = 64, ALL_ROWS = 4096, HALVE_AT = 1 << 16, SAMPLES_MIN = 1000, TEXT_MIN = 8, REPORTED = 16, NAMED_MAX = 8, KEY_TEXT = 96 };

struct skew {
    const wr_schema *schema;
    const uint32_t  *keys;
    uint32_t         n_keys, left;      /* rows until the next sample */
    uint64_t         rows, random;
    wr_sketch        sketch;
    char             text[WR_SKETCH_COUNTERS][KEY_TEXT];
};
typedef struct hot { uint64_t hash, count; char text[KEY_TEXT]; } hot;
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

void skew_feed(skew *k, const wr_batch *batch, const uint64_t *hash, const wr_tz *tz) {
    uint32_t live = wr_batch_live(batch), i = k->left;
    for (; i < live; i += 1 + (k->rows + i < ALL_ROWS ? 0 : (uint32_t)(k->random >> 33) % (2 * GAP - 1))) {
        uint32_t row = wr_batch_row(batch, i);
        bool     fresh;
        uint32_t at = wr_sketch_add(&k->sketch, hash[row], &fresh);
        if (fresh) k->text[at][0] = 0;
        uint64_t sure = k->sketch.count[at] - k->sketch.error[at];
        if (!k->text[at][0] && sure >= TEXT_MIN && sure * WR_SKETCH_COUNTERS >= k->sketch.total) key_text(k, batch, row, tz, k->text[at]);
        if (k->sketch.total >= HALVE_AT) wr_sketch_halve(&k->sketch);
        k->random = k->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's MMIX generator */
    }
    k->left = i - live;
    k->rows += live;
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
            skew *k = p->skews[w] = wr_new(job->arena, skew);
            *k = (skew){.schema = &e->from->schema, .keys = e->keys, .n_keys = e->n_keys, .random = wr_hash_u64(w + 1)};
            if (e->from->kind == WR_P_LOCAL_AGG) from->skew = k;
        }
        e->skews = e->from->kind == WR_P_LOCAL_AGG ? NULL : p->skews;
    }
}

/* Called with the report lock. */
void skew_report_worker(worker *w) {
    wr_job *job = w->job;
    for (uint32_t i = 0; i < job->n_skews; i++) {
        const skew  *k = job->skews[i].skews[w->index];
        skew_report *r = &job->skews[i].reports[w->index];
        if (!k) continue;
        r->total = k->sketch.total;
        r->n = 0;
        for (uint32_t to = 0; to < job->n_workers; to++) r->sent[to] = job->skews[i].e->sent[w->index * job->n_workers + to];
        for (uint32_t c = 0; c < k->sketch.n; c++) {
            if (!k->text[c][0]) continue;
            hot h = {.hash = k->sketch.hash[c], .count = k->sketch.count[c] - k->sketch.error[c]};
            uint32_t at = r->n;
            while (at && r->top[at - 1].count < h.count) at--;
            if (at == REPORTED) continue;
            memcpy(h.text, k->text[c], KEY_TEXT);
            if (r->n < REPORTED) r->n++;
            memmove(&r->top[at + 1], &r->top[at], (r->n - 1 - at) * sizeof h);
            r->top[at] = h;
        }
    }
}

static bool above_share(double share, uint32_t n_workers) { return share > 1.1 / n_workers + 0.02; } /* beyond what sampling may add */

static double busiest_share(const wr_job *job, const skew_point *p) {
    uint64_t sum = 0, most = 0;
    for (uint32_t to = 0; to < job->n_workers; to++) {
        uint64_t got = 0;
        for (uint32_t w = 0; w < job->n_workers; w++) got += p->reports[w].sent[to];
        sum += got;
        most = WR_MAX(most, got);
    }
    return sum ? (double)most / (double)sum : 0;
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
            if (at == n) all[n++] = (hot){.hash = r->top[c].hash}, memcpy(all[at].text, r->top[c].text, KEY_TEXT);
            all[at].count += r->top[c].count;
        }
    }
    if (total < SAMPLES_MIN) return;
    for (uint32_t i = 0; i < n; i++) {
        double share = (double)all[i].count / (double)total;
        if (!above_share(share, job->n_workers) || out->n_hot - first == NAMED_MAX) continue;
        wr_hot_key *h = &out->hot[out->n_hot++];
        *h = (wr_hot_key){.node = p->e->to, .port = p->e->port, .share = share, .fair_share = 1.0 / job->n_workers, .busiest_share = busiest_share(job, p),
                          .combined = p->e->from->kind == WR_P_LOCAL_AGG};
        snprintf(h->key, sizeof h->key, "%s", all[i].text);
    }
}

/* Called with the report lock. */
void skew_status(wr_job *job, wr_job_status *out) {
    out->hot = wr_new_n(out->arena, wr_hot_key, job->n_skews * NAMED_MAX + 1);
    for (uint32_t i = 0; i < job->n_skews; i++) name_keys(job, &job->skews[i], out);
}

/* ---- in words ---- */

static const char *side(const wr_hot_key *h) { return h->node->n_inputs < 2 ? "" : h->port ? ", right side" : ", left side"; }

void wr_hot_key_text(const wr_hot_key *h, wr_sbuf *out) {
    wr_sbuf_printf(out, "key %s has %.0f %% of the rows at %s (%s%s); fair share per worker is %.1f %%", h->key, h->share * 100, h->node->title, h->node->id, side(h),
                   h->fair_share * 100);
    if (h->combined) wr_sbuf_addz(out, "; its rows are combined before the exchange");
    if (h->busiest_share > 0) wr_sbuf_printf(out, "; the busiest worker gets %.0f %% of what is sent", h->busiest_share * 100);
}

void wr_hot_key_json(const wr_hot_key *h, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\"key\":");
    wr_sbuf_add_json(out, wr_str_of(h->key));
    wr_sbuf_printf(out, ",\"operator\":\"%s\",\"port\":%u,\"share\":%.4f,\"fair_share\":%.4f,\"busiest_share\":%.4f,\"combined\":%s}", h->node->id, h->port, h->share,
                   h->fair_share, h->busiest_share, h->combined ? "true" : "false");
}
