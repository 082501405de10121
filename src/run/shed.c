/* run/shed.c: overload is shed at the source, by the table's policy ('overload.policy'), and counted.
 *
 * Idea       backpressure leaves what cannot be worked on where it lies: unread, at the source. How much lies there is how far the source is behind, and when it is
 *            further than 'overload.lag' a chunk that was read goes no further: its records are counted (WR_REASON_SHED) and nobody decodes them, where the source
 *            can tell how many they are. They move no watermark and are late for nobody, as if they had not been in the input.
 * Oldest     what is read next is what has waited longest. From the limit on it is shed, until half the limit is left: few gaps, each long.
 * Sample     the same moments, but a share of the rows is kept: chosen by a hash, evenly.
 * Newest     a queue with a bound: what comes when `most` lie in front of it is not for us. It is noted where that lies (by position, in marks), and shed when
 *            reading comes there. With no room for another mark it is looked at again at the next chunk.
 * Repeats    which rows are shed depends on how fast the job was: a restore goes back to its positions, and decides anew; counts go back with it, so sums close.
 * Not        for inputs that end (they cannot be overloaded), for runs up to a position, and for dead letters on their way back.
 * Thread     the turn lock, but for shed_rows and shed_glance: the worker that has the turn.                                          */
#include "base/hash.h"
#include "run/internal.h"

void shed_open(wr_job *job, source *s, const wr_options *options, const wr_connector *c) {
    wr_overload policy;
    if (!wr_overload_read(options, c, &policy, job->opts.diags)) return;
    if (job->opts.until || job->opts.again || s->src->vt->bounded(s->src)) return;
    s->shed.policy = policy;
    s->shed.elsewhere = policy.policy == WR_OVERLOAD_DROP_NEWEST && s->src->vt->closes_door;
}

static void hurry(shedding *h, bool far, bool near) { h->on = h->on ? !near : far; }

/* By position: [from, to) is not for us. */
static bool in_mark(shedding *h, uint64_t at) {
    uint32_t passed = 0;
    while (passed < h->n_marks && h->marks[passed].to <= at) passed++;
    h->n_marks -= passed;
    memmove(h->marks, h->marks + passed, h->n_marks * sizeof *h->marks);
    return h->n_marks && h->marks[0].from <= at;
}

static void mark_newest(shedding *h, uint64_t done, uint64_t total) {
    uint64_t from = done + (uint64_t)h->policy.most;
    for (uint32_t i = 0; i < h->n_marks; i++) from += h->marks[i].to - WR_MAX(h->marks[i].from, WR_MIN(done, h->marks[i].to)); /* they take no room in front */
    from = WR_MAX(from, h->looked);
    shed_mark *last = h->n_marks ? &h->marks[h->n_marks - 1] : NULL;
    if (total > from) {
        if (last && last->to == from) last->to = total;
        else if (h->n_marks < SHED_MARKS_MAX) h->marks[h->n_marks++] = (shed_mark){from, total};
        else return;
    }
    h->looked = WR_MAX(h->looked, total);
}

/* How far is the source behind the chunk that was just read? */
shed_what shed_judge(wr_job *job, source *s, const turn *t) {
    shedding *h = &s->shed;
    uint64_t  done = 0, total = 0, most = (uint64_t)h->policy.most, was = h->done;
    if (h->policy.policy == WR_OVERLOAD_WAIT || h->elsewhere || t->chunk.partition == UINT32_MAX) return SHED_NOT;
    if (h->policy.unit == WR_LAG_TIME) {
        wr_decoded none = {0};
        int64_t    came = WR_TIME_MIN, now = wr_wall_us(job->opts.world);
        if (s->src->vt->glance) (void)s->src->vt->glance(s->src, &t->chunk, &none, &came);
        if (came == WR_TIME_MIN) return SHED_NOT;
        hurry(h, now - came > h->policy.most, now - came <= h->policy.most / 2);
    } else {
        s->src->vt->progress(s->src, &done, &total);
        h->done = done;
        uint64_t behind = total > done ? total - done : 0;
        if (!h->begun) h->begun = true, was = done; /* from here on positions are known */
        if (h->policy.policy == WR_OVERLOAD_DROP_NEWEST) {
            mark_newest(h, was, total);
            h->on = in_mark(h, was);
        } else {
            hurry(h, behind > most, behind <= most / 2);
        }
    }
    return !h->on ? SHED_NOT : h->policy.policy == WR_OVERLOAD_SAMPLE ? SHED_SAMPLE : SHED_ALL;
}

/* The whole chunk goes, and its source can count it. */
bool shed_glance(source *s, turn *t) {
    int64_t came;
    if (t->shed != SHED_ALL || !s->src->vt->glance || !s->src->vt->glance(s->src, &t->chunk, &t->decoded, &came)) return false;
    t->n_shed = t->decoded.n_records;
    return true;
}

static bool keeps(const source *s, const turn *t, uint64_t row) {
    return (wr_hash_mix(wr_hash_mix(t->seq, s->index), row) >> 11) * 0x1p-53 * 1e6 < (double)s->shed.policy.per_million;
}

/* What was decoded, less what is shed of it; batches that lose all their rows leave. */
void shed_rows(const source *s, turn *t) {
    wr_decoded *d = &t->decoded;
    uint64_t    row = 0, kept_lines = 0;
    uint32_t    kept_batches = 0;
    if (t->shed == SHED_NOT) return;
    for (uint32_t i = 0; i < d->batches.n; i++) {
        wr_batch *b = d->batches.at[i];
        uint16_t *sel = wr_mem_alloc(b->mem, sizeof *sel * (b->n_rows + 1));
        uint32_t  n = 0;
        for (uint32_t r = 0; r < b->n_rows; r++, row++) {
            if (t->shed == SHED_ALL || !keeps(s, t, row)) continue;
            sel[n++] = (uint16_t)r;
            if (row < d->row_lines.n) d->row_lines.at[kept_lines++] = d->row_lines.at[row];
        }
        t->n_shed += b->n_rows - n;
        if (n) {
            b->sel = sel, b->n_sel = n;
            d->batches.at[kept_batches++] = wr_batch_compact(b);
        }
        wr_batch_unref(b);
    }
    d->batches.n = kept_batches;
    d->row_lines.n = (uint32_t)WR_MIN(kept_lines, (uint64_t)d->row_lines.n);
    d->n_rows -= t->n_shed;
}
