/* run/shed_test.c: which chunks of a source that says how much lies there are left out, against a plain list of records. */
#include "run/internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint64_t done, total;
static void progress(wr_source *s, uint64_t *d, uint64_t *t) { (void)s, *d = done, *t = total; }
static const wr_source_vt vt = {.name = "told", .progress = progress};

typedef struct shed_job { wr_job job; wr_source src; source s; } shed_job;
static shed_job *begin(wr_overload_policy policy, int64_t most) {
    shed_job *j = wr_calloc(1, sizeof *j);
    j->src.vt = &vt;
    j->s = (source){.src = &j->src, .shed = {.policy = {.policy = policy, .unit = WR_LAG_ROWS, .most = most, .per_million = 100000}}};
    done = total = 0;
    return j;
}
static shed_what read_one(shed_job *j, uint64_t n) {
    const turn t = {.source = 0};
    done += n;
    assert_true(done <= total);
    return shed_judge(&j->job, &j->s, &t);
}

/* A queue with room for `most`: a record that comes when so many kept ones lie in front of it is not kept. Chunks of one record: exact. */
static void newest_is_a_queue_with_a_bound(void **state) {
    (void)state;
    enum { N = 4000, MOST = 50 };
    static bool keep[N];
    shed_job   *j = begin(WR_OVERLOAD_DROP_NEWEST, MOST);
    uint64_t    random = 7, waiting = 0;
    assert_int_equal((total = 1, keep[0] = true, read_one(j, 1)), SHED_NOT);
    while (done < N - 100) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t come = WR_MIN(random >> 33 & 63, N - total), go = random >> 50 & 31;
        if ((random >> 60) == 0) go = total - done + come; /* a lull */
        for (; come && total < N; come--) keep[total++] = waiting < MOST && ++waiting;
        for (; go && done < total; go--) {
            bool kept = keep[done];
            assert_int_equal(read_one(j, 1), kept ? SHED_NOT : SHED_ALL);
            waiting -= kept;
        }
        if (total < N) keep[total] = waiting < MOST && ++waiting, total++;
        if (done == total) continue;
        /* one is read at least, so that it is looked at before more comes */
        bool kept = keep[done];
        assert_int_equal(read_one(j, 1), kept ? SHED_NOT : SHED_ALL);
        waiting -= kept;
    }
    wr_free(j);
}

static void oldest_and_sample_begin_at_the_limit_and_end_at_half_of_it(void **state) {
    (void)state;
    for (int sample = 0; sample < 2; sample++) {
        shed_job *j = begin(sample ? WR_OVERLOAD_SAMPLE : WR_OVERLOAD_DROP_OLDEST, 100);
        shed_what acts = sample ? SHED_SAMPLE : SHED_ALL;
        total = 110;
        assert_int_equal(read_one(j, 10), SHED_NOT); /* 100 behind it */
        total = 121;
        assert_int_equal(read_one(j, 10), acts);     /* 101 */
        assert_int_equal(read_one(j, 50), acts);     /* 51 */
        assert_int_equal(read_one(j, 1), SHED_NOT);  /* 50 */
        total += 50;
        assert_int_equal(read_one(j, 1), SHED_NOT);
        wr_free(j);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(newest_is_a_queue_with_a_bound), cmocka_unit_test(oldest_and_sample_begin_at_the_limit_and_end_at_half_of_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
