/* type/mem_test.c: alignment, growth, keep lists, chains, and threads that pass batches on (run under TSan too).       */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "sys/world.h"
#include "type/testkit.h"

static void blocks_are_aligned_and_apart(void **state) {
    (void)state;
    wr_rng rng;
    wr_rng_seed(&rng, 1);
    for (int round = 0; round < 50; round++) {
        wr_mem *mem = wr_mem_new(wr_rng_below(&rng, 100000));
        struct { unsigned char *at; size_t size; } blocks[200];
        for (int i = 0; i < 200; i++) {
            size_t size = wr_rng_below(&rng, i % 20 == 0 ? 3000000 : 300);
            blocks[i].at = wr_mem_alloc(mem, size);
            blocks[i].size = size;
            assert_true((uintptr_t)blocks[i].at % (size >= 64 ? 64 : 16) == 0);
            memset(blocks[i].at, i, size);
        }
        for (int i = 0; i < 200; i++)
            for (size_t j = 0; j < blocks[i].size; j += blocks[i].size > 1000 ? 997 : 1) assert_int_equal(blocks[i].at[j], i);
        unsigned char *zero = wr_mem_calloc(mem, 500);
        for (int i = 0; i < 500; i++) assert_int_equal(zero[i], 0);
        wr_mem_unref(mem);
    }
    wr_mem_unref(NULL);
}

static void kept_memory_lives_as_long(void **state) {
    (void)state;
    wr_mem *parent = wr_mem_new(0), *child = wr_mem_new(0);
    char   *text = wr_mem_alloc(parent, 100);
    strcpy(text, "still here");
    for (int i = 0; i < 10; i++) wr_mem_keep(child, parent);
    wr_mem_keep(child, child);
    wr_mem_keep(child, NULL);
    wr_mem_unref(parent);
    assert_string_equal(text, "still here");
    wr_mem *others[20];
    for (int i = 0; i < 20; i++) wr_mem_keep(child, others[i] = wr_mem_new(10)), wr_mem_unref(others[i]);
    assert_string_equal(text, "still here");
    wr_mem_unref(child);
}

static void a_long_chain_dies_without_recursion(void **state) {
    (void)state;
    wr_mem *head = wr_mem_new(0);
    for (int i = 0; i < 200000; i++) {
        wr_mem *next = wr_mem_new(0);
        wr_mem_keep(next, head);
        wr_mem_unref(head);
        head = next;
    }
    wr_mem_unref(head);
    assert_true(true);
}

/* Ring of threads: each makes batches, hands them to the next, which reads, derives and drops them. */
enum { N_THREADS = 4, N_BATCHES = 400 };
typedef struct station {
    wr_mutex       *mutex;
    WR_ARR(wr_batch *) inbox;
    uint64_t        sum;
    struct station *next;
} station;

static void work(void *arg) {
    station *s = arg;
    wr_rng   rng;
    wr_rng_seed(&rng, (uint64_t)(uintptr_t)s);
    wr_type types[2] = {wr_type_of(WR_T_BIGINT), wr_type_string()};
    for (int i = 0; i < N_BATCHES; i++) {
        wr_batch *batch = kit_batch(&rng, types, 2, 64);
        for (int copy = 0; copy < 2; copy++) {
            wr_mutex_lock(s->next->mutex);
            wr_arr_push(&s->next->inbox, wr_batch_ref(batch));
            wr_mutex_unlock(s->next->mutex);
        }
        wr_batch *derived = wr_batch_derive(batch, 1);
        wr_batch_unref(batch);
        uint64_t hash[64];
        uint32_t col = 0;
        wr_batch_hash(derived, &col, 1, hash);
        s->sum += hash[0];
        wr_batch_unref(derived);
        wr_mutex_lock(s->mutex);
        wr_batch *got = s->inbox.n ? s->inbox.at[--s->inbox.n] : NULL;
        wr_mutex_unlock(s->mutex);
        if (!got) continue;
        col = 1;
        wr_batch_hash(got, &col, 1, hash);
        s->sum += hash[3];
        wr_batch_unref(got);
    }
}

static void batches_cross_threads(void **state) {
    (void)state;
    station   stations[N_THREADS] = {0};
    void     *threads[N_THREADS];
    wr_world *world = wr_world_posix();
    wr_err    err;
    for (int i = 0; i < N_THREADS; i++) stations[i].mutex = wr_mutex_new(), stations[i].next = &stations[(i + 1) % N_THREADS];
    for (int i = 0; i < N_THREADS; i++) assert_int_equal(world->vt->spawn(world, "ring", work, &stations[i], &threads[i], &err), WR_OK);
    for (int i = 0; i < N_THREADS; i++) world->vt->join(world, threads[i]);
    uint32_t left = 0;
    for (int i = 0; i < N_THREADS; i++) {
        left += stations[i].inbox.n;
        for (uint32_t j = 0; j < stations[i].inbox.n; j++) wr_batch_unref(stations[i].inbox.at[j]);
        wr_arr_free(&stations[i].inbox);
        wr_mutex_free(stations[i].mutex);
    }
    assert_true(left <= N_THREADS * N_BATCHES * 2 && left >= N_THREADS * N_BATCHES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_aligned_and_apart), cmocka_unit_test(kept_memory_lives_as_long),
                                       cmocka_unit_test(a_long_chain_dies_without_recursion), cmocka_unit_test(batches_cross_threads)};
    return cmocka_run_group_tests_name("type.mem", tests, NULL, NULL);
}
