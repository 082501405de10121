/* run/pace.c: from where a job's sources are read, and how fast while they are behind.
 *
 * Start      --from TIMESTAMP: rows whose event time is earlier are left out when a turn is published ("before-start" in the ledger): they move no watermark
 *            and are late for nobody, as if they were not in the input. Changelogs are read whole, since their later rows build on the earlier ones.
 *            The start is part of a source's state: a restored job keeps it, and one that is asked for another is refused.
 * Pace       while a source is behind (bytes or messages it has not read, and event time further behind the clock than scan.catch-up.lag) it reads at most at the
 *            rate given; all sources of a job share it. What was read is paid for in time when it is handed out: the next turn waits. How many rows a chunk
 *            holds is known once it is decoded, so until then it pays for as many as chunks of its size had before, and the first one holds back those
 *            after it. A source that is not behind waits for nothing, so that live rows are not delayed.
 * Thread     the turn lock.                                                                                                       */
#include "run/internal.h"
#include <stdio.h>

enum { BEHIND_BYTES = 1 << 20, BEHIND_MESSAGES = 10000 }; /* without event time: less than that is not behind */
static const int64_t EARLIEST = WR_TIME_MIN + 1;    /* asked for, so the state says so; WR_TIME_MIN: nothing was asked for */

/* ---- the start ---- */
WR_COLD static wr_status no_event_time(const source *s, const char *from, wr_err *err) {
    wr_fail(err, WR_USER, "WR321", "--from %s: the table '%.*s' has no event time, so it is not known which of its rows are earlier", from, WR_FMT(s->p->source.table->name));
    wr_err_hint(err, "give it a WATERMARK FOR, or begin at --from earliest");
    err->at = s->p->source.table->at;
    return WR_USER;
}

wr_status pace_start(wr_job *job, source *s, wr_err *err) {
    const char *from = job->opts.from;
    s->start_us = WR_TIME_MIN;
    if (!from || s->p->kind != WR_P_SOURCE) return WR_OK;
    s->start_us = EARLIEST;
    if (wr_str_ieq(wr_str_trim(wr_str_of(from)), WR_STR("earliest"))) return WR_OK;
    int64_t us;
    int32_t nanos;
    bool    zoned;
    if (!wr_parse_timestamp(wr_str_trim(wr_str_of(from)), &us, &nanos, &zoned)) {
        wr_fail(err, WR_USER, "WR321", "--from '%s' is neither earliest nor a timestamp", from);
        wr_err_hint(err, "such as '2024-05-01 00:00:00', in table.local-time-zone, or '2024-05-01T00:00:00Z'");
        return WR_USER;
    }
    if (s->p->changes != WR_CHANGES_APPEND) return WR_OK;
    if (!s->p->source.rowtime) return no_event_time(s, from, err);
    bool instant = s->p->source.rowtime->type.id == WR_T_TIMESTAMP_LTZ; /* else what the clock on the wall showed */
    if (instant && !zoned) us = wr_tz_to_utc(job->plan->tz, us);
    if (!instant && zoned) us = wr_tz_to_local(job->plan->tz, us);
    s->start_us = us;
    return WR_OK;
}

static void start_text(int64_t us, wr_sbuf *out) {
    char text[40];
    if (us == WR_TIME_MIN) wr_sbuf_addz(out, "without --from");
    else if (us == EARLIEST) wr_sbuf_addz(out, "with --from earliest");
    else wr_sbuf_addz(out, "with --from "), wr_sbuf_add(out, text, wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', text));
}

wr_status pace_restore(wr_job *job, source *s, int64_t saved_us, wr_err *err) {
    if (!job->opts.from || s->start_us == saved_us) {
        s->start_us = saved_us;
        return WR_OK;
    }
    wr_sbuf was = {0}, is = {0};
    start_text(saved_us, &was), start_text(s->start_us, &is);
    wr_fail(err, WR_USER, "WR320", "the state in %s began %.*s, and this run is to begin %.*s", job->opts.state_dir, WR_FMT(wr_sbuf_str(&was)), WR_FMT(wr_sbuf_str(&is)));
    wr_err_hint(err, "'weir backfill %s SCRIPT --from %s' computes the outputs anew from there and then takes the place of this state; or start over with --fresh",
                job->opts.state_dir, job->opts.from);
    wr_sbuf_free(&was);
    wr_sbuf_free(&is);
    return WR_USER;
}

/* ---- the pace ---- */
bool wr_pace_parse(wr_str text, int64_t *bytes_per_s, int64_t *rows_per_s) {
    *bytes_per_s = *rows_per_s = 0;
    text = wr_str_trim(text);
    if (text.len < 3 || memcmp(text.ptr + text.len - 2, "/s", 2) != 0) return false;
    text = wr_str_trim((wr_str){text.ptr, text.len - 2});
    if (text.len > 4 && !memcmp(text.ptr + text.len - 4, "rows", 4)) return wr_parse_count((wr_str){text.ptr, text.len - 4}, rows_per_s);
    return wr_parse_size(text, bytes_per_s) && *bytes_per_s > 0;
}

wr_status pace_open(wr_job *job, wr_err *err) {
    pace       *p = &job->pace;
    const char *rate = job->opts.catch_up_rate;
    p->lag_us = job->opts.catch_up_lag_us ? job->opts.catch_up_lag_us : WR_CATCH_UP_LAG_US;
    if (!rate || !*rate || wr_pace_parse(wr_str_of(rate), &p->bytes_per_s, &p->rows_per_s)) return WR_OK;
    wr_fail(err, WR_USER, "WR107", "scan.catch-up.max-rate: '%s' is no rate", rate);
    wr_err_hint(err, "such as 50MiB/s, or 200k rows/s");
    return WR_USER;
}

/* Units (bytes, messages of a queue, or rows of a generator) that are known to be there and have not been read; event time behind the clock, 0 = not known. */
static void measure(wr_job *job, source *s) {
    uint64_t done = 0, total = 0;
    int64_t  greatest = WR_TIME_MIN, wall = wr_wall_us(job->opts.world);
    s->src->vt->progress(s->src, &done, &total);
    s->behind = total > done ? total - done : 0;
    for (uint32_t i = 0; i < s->parts.n; i++) greatest = WR_MAX(greatest, s->parts.at[i].max_ts);
    bool local = s->p->source.rowtime && s->p->source.rowtime->type.id != WR_T_TIMESTAMP_LTZ;
    if (local) wall = wr_tz_to_local(job->plan->tz, wall);
    s->lag_us = greatest == WR_TIME_MIN ? 0 : WR_MAX(wall - greatest, (int64_t)0);
    s->catching_up = s->behind && (s->lag_us ? s->lag_us > job->pace.lag_us : s->behind > (s->src->vt->messages && !s->src->vt->log ? BEHIND_MESSAGES : BEHIND_BYTES));
}

void pace_look(wr_job *job, source *s) {
    enum { LOOK_US = 100000 };
    int64_t now = wr_mono_us(job->opts.world);
    if (!s->src || (s->paced.looked && now < s->paced.look_us)) return;
    s->paced.look_us = now + LOOK_US;
    measure(job, s);
    s->paced.looked = s->lag_us || !s->p->source.rowtime; /* until the first row is published nobody knows how old it is */
}

static bool is_limited(const wr_job *job) { return (job->pace.bytes_per_s || job->pace.rows_per_s) && !job->opts.simulate; }

bool pace_slows(wr_job *job, source *s) {
    if (!is_limited(job) || !s->src) return false;
    pace_look(job, s);
    return s->catching_up;
}

bool pace_holds(wr_job *job, source *s, int64_t now_us) {
    return (now_us < job->pace.ready_us || s->paced.uncounted) && pace_slows(job, s);
}

static void pay(wr_job *job, double n, int64_t per_s) {
    job->pace.ready_us = WR_MAX(job->pace.ready_us, wr_mono_us(job->opts.world)) + (int64_t)(n * 1e6 / (double)per_s);
}

void pace_read(wr_job *job, source *s, turn *t) {
    t->paced_bytes = 0, t->paced_rows = 0, t->uncounted = false;
    if (!pace_slows(job, s)) return;
    if (job->pace.bytes_per_s) pay(job, (double)t->chunk.len, job->pace.bytes_per_s);
    if (!job->pace.rows_per_s) return;
    t->paced_bytes = t->chunk.len;
    t->uncounted = !t->paced_bytes || !s->paced.rows;
    if (t->uncounted) s->paced.uncounted++;
    else pay(job, t->paced_rows = (double)t->paced_bytes * (double)s->paced.rows / (double)s->paced.bytes, job->pace.rows_per_s);
}

void pace_rows(wr_job *job, source *s, turn *t, uint64_t n_rows) {
    if (!t->uncounted && !t->paced_bytes) return;
    if (t->uncounted) s->paced.uncounted--;
    if (pace_slows(job, s) || !t->uncounted) pay(job, (double)n_rows - t->paced_rows, job->pace.rows_per_s);
    s->paced.bytes += t->paced_bytes, s->paced.rows += n_rows;
    t->paced_bytes = 0, t->uncounted = false;
}
