/* connect/view/view_test.c: a view against a plain table of counts a version: random writes, cuts, pins, scans with a resumed place, changes; and readers beside writers.   */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "base/hash.h"
#include "connect/view/writer.h"
#include "type/keycodec.h"
#include "type/rowcodec.h"
#include <stdatomic.h>

enum { KEYS = 40, SHARDS = 3, VERSIONS = 60 };

static const wr_field  FIELDS[] = {{.name = {"k", 1}, .type = {.id = WR_T_BIGINT, .nullable = true}}, {.name = {"v", 1}, .type = {.id = WR_T_BIGINT, .nullable = true}}};
static const wr_schema SCHEMA = {2, (wr_field *)(uintptr_t)FIELDS};

typedef struct fixture { wr_arena *arena; wr_view_set *set; wr_view *view; wr_rowcodec *codec; bool keyed; } fixture;

static void fixture_open(fixture *f, bool keyed, int64_t keep_bytes, int64_t pin_bytes) {
    static const uint32_t key = 0;
    *f = (fixture){.arena = wr_arena_new(NULL), .keyed = keyed};
    const wr_view_set_opts o = {.world = wr_world_posix(), .n_shards = SHARDS, .keep_bytes = keep_bytes, .pin_bytes = pin_bytes};
    f->set = wr_view_set_new(&o);
    const wr_view_def d = {.name = WR_STR("v"), .schema = &SCHEMA, .n_key = keyed, .key = &key, .instances = (1u << SHARDS) - 1};
    f->view = wr_view_set_add(f->set, &d);
    wr_type types[2] = {FIELDS[0].type, FIELDS[1].type};
    f->codec = wr_rowcodec_new(f->arena, types, 2);
    assert_ptr_equal(wr_view_find(WR_STR("v")), f->view);
}

static void fixture_close(fixture *f) {
    wr_view_unref(f->view); /* of find */
    wr_view_set_close(f->set);
    wr_arena_free(f->arena);
    assert_null(wr_view_find(WR_STR("v")));
}

static void put(fixture *f, wr_view_shard *s, int64_t k, int64_t v, uint32_t count) {
    wr_batch *b = wr_batch_new(2, 256);
    wr_sbuf   key = {0}, row = {0};
    b->n_rows = 1;
    for (uint32_t c = 0; c < 2; c++) wr_vec_init(&b->cols[c], FIELDS[c].type, 1, true, b->mem);
    ((int64_t *)b->cols[0].data)[0] = k, ((int64_t *)b->cols[1].data)[0] = v;
    wr_view_key_put_row(f->view, b, 0, &key);
    wr_rowcodec_put(f->codec, b, NULL, 0, &row);
    uint64_t     now;
    wr_versions *rows = wr_view_shard_lock(s, &now);
    (void)wr_versions_set(rows, NULL, wr_sbuf_str(&key), now, wr_sbuf_str(&row), count);
    wr_view_shard_unlock(s);
    wr_batch_unref(b);
    wr_sbuf_free(&key), wr_sbuf_free(&row);
}

static void cut(fixture *f, uint64_t version) {
    wr_view_set_open(f->set, version);
    for (uint32_t i = 0; i < SHARDS; i++) {
        assert_true(wr_view_set_waits(f->set));
        wr_view_seal(wr_view_shard_of(f->view, i), version, (int64_t)version * 10);
    }
    assert_false(wr_view_set_waits(f->set));
}

/* value[k]: of key k, or count[k] of the row (k, k). */
typedef struct table { int64_t value[KEYS]; uint32_t count[KEYS]; } table;

static void random_writes(fixture *f, wr_rng *rng, table *t) {
    for (uint64_t n = wr_rng_below(rng, 30); n--;) {
        int64_t k = (int64_t)wr_rng_below(rng, KEYS);
        t->count[k] = wr_rng_below(rng, 3) == 0 ? 0 : f->keyed ? 1 : (uint32_t)wr_rng_below(rng, 4);
        t->value[k] = f->keyed ? (int64_t)wr_rng_below(rng, 5) : k;
        put(f, wr_view_shard_of(f->view, (uint32_t)(k % SHARDS)), k, t->value[k], t->count[k]);
    }
}

/* The whole cut in pieces of some rows, begun anew at its place now and then. */
static void expect_scan(wr_view_cut *c, const table *t, wr_rng *rng) {
    wr_view_range range = {0};
    wr_view_scan *s = wr_view_scan_new(c, &range);
    wr_sbuf       at = {0};
    wr_err        err = {0};
    uint32_t      k = 0, copy = 0;
    uint64_t      n = 0;
    for (wr_batch *b;;) {
        assert_int_equal(wr_view_scan_next(s, 1 + (uint32_t)wr_rng_below(rng, 9), &b, &err), WR_OK);
        if (!b) break;
        for (uint32_t i = 0; i < b->n_rows; i++, n++, copy++) {
            while (k < KEYS && copy >= t->count[k]) k++, copy = 0;
            assert_in_range(k, 0, KEYS - 1);
            assert_int_equal(((int64_t *)b->cols[0].data)[i], k);
            assert_int_equal(((int64_t *)b->cols[1].data)[i], t->value[k]);
        }
        wr_batch_unref(b);
        if (wr_rng_below(rng, 3)) continue;
        wr_sbuf_clear(&at);
        wr_view_scan_at(s, &at);
        wr_view_scan_free(s);
        range.after = wr_sbuf_str(&at);
        s = wr_view_scan_new(c, &range);
    }
    uint64_t want = 0;
    for (k = 0; k < KEYS; k++) want += t->count[k];
    assert_int_equal(n, want);
    assert_int_equal(wr_view_cut_as_of(c)->rows, want);
    wr_view_scan_free(s);
    wr_sbuf_free(&at);
}

static void expect_range(wr_view_cut *c, const table *t, wr_rng *rng) {
    wr_sbuf  from = {0}, to = {0};
    wr_err   err = {0};
    uint32_t a = (uint32_t)wr_rng_below(rng, KEYS), z = (uint32_t)wr_rng_below(rng, KEYS);
    bool     open = wr_rng_below(rng, 2), closed = wr_rng_below(rng, 2);
    wr_value va = wr_value_int(FIELDS[0].type, a), vz = wr_value_int(FIELDS[0].type, z);
    assert_int_equal(wr_view_key_put(wr_view_cut_view(c), &va, 1, &from, &err), WR_OK);
    assert_int_equal(wr_view_key_put(wr_view_cut_view(c), &vz, 1, &to, &err), WR_OK);
    wr_view_range range = {.from = wr_sbuf_str(&from), .to = wr_sbuf_str(&to), .from_exclusive = open, .to_inclusive = closed};
    wr_view_scan *s = wr_view_scan_new(c, &range);
    uint64_t      n = 0, want = 0;
    for (wr_batch *b; assert_int_equal(wr_view_scan_next(s, 7, &b, &err), WR_OK), b;) n += b->n_rows, wr_batch_unref(b);
    for (uint32_t k = open ? a + 1 : a; closed ? k <= z : k < z; k++) want += t->count[k];
    assert_int_equal(n, want);
    wr_view_scan_free(s);
    wr_sbuf_free(&from), wr_sbuf_free(&to);
}

static void expect_get(wr_view_cut *c, const table *t, uint32_t k) {
    wr_sbuf   key = {0};
    wr_err    err = {0};
    wr_batch *b;
    wr_value  v[2] = {wr_value_int(FIELDS[0].type, k), wr_value_int(FIELDS[1].type, t->value[k])};
    uint32_t  n_key;
    (void)wr_view_order(wr_view_cut_view(c), &n_key);
    assert_int_equal(wr_view_key_put(wr_view_cut_view(c), v, n_key, &key, &err), WR_OK);
    assert_int_equal(wr_view_get(c, wr_sbuf_str(&key), &b, &err), WR_OK);
    assert_int_equal(b ? b->n_rows : 0, t->count[k]);
    if (b) assert_int_equal(((int64_t *)b->cols[1].data)[0], t->value[k]);
    wr_batch_unref(b);
    wr_sbuf_free(&key);
}

/* The table that a subscription adds up to. */
static void follow(wr_view_sub *sub, table *mine, bool keyed, uint64_t version) {
    wr_err        err = {0};
    wr_view_as_of as_of;
    for (wr_batch *b; assert_int_equal(wr_view_sub_next(sub, true, 3, &b, &as_of, &err), WR_OK), b; wr_batch_unref(b))
        for (uint32_t i = 0; i < b->n_rows; i++) {
            int64_t k = ((int64_t *)b->cols[0].data)[i], v = ((int64_t *)b->cols[1].data)[i];
            bool    adds = wr_kind_adds(b->kinds[i]);
            if (!adds) assert_int_equal(mine->value[k], v), assert_true(mine->count[k] > 0), mine->count[k]--;
            else mine->value[k] = v, mine->count[k]++;
            if (keyed) assert_true(mine->count[k] <= 1);
        }
    assert_int_equal(as_of.version, version);
}

static void same_table(const table *a, const table *b) {
    for (uint32_t k = 0; k < KEYS; k++) {
        assert_int_equal(a->count[k], b->count[k]);
        if (a->count[k]) assert_int_equal(a->value[k], b->value[k]);
    }
}

static void model(bool keyed) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fixture      f;
        wr_rng       rng;
        table        t = {0}, history[VERSIONS + 1] = {0}, mine = {0};
        wr_view_cut *pins[VERSIONS + 1] = {0};
        wr_rng_seed(&rng, seed);
        fixture_open(&f, keyed, seed % 2 ? 1 : 1 << 20, 0); /* with and without versions to come back to */
        pins[0] = wr_view_pin(f.view);
        wr_view_sub *sub = wr_view_sub_new(pins[0]);
        for (uint32_t v = 1; v <= VERSIONS; v++) {
            random_writes(&f, &rng, &t);
            cut(&f, v);
            history[v] = t;
            random_writes(&f, &rng, &t); /* not seen yet */
            if (wr_rng_below(&rng, 2)) pins[v] = wr_view_pin(f.view);
            if (wr_rng_below(&rng, 3) == 0) follow(sub, &mine, keyed, v), same_table(&mine, &history[v]);
            for (uint32_t p = 0; p <= v; p++) {
                if (!pins[p]) continue;
                assert_int_equal(wr_view_cut_as_of(pins[p])->version, p);
                if (wr_rng_below(&rng, 8) == 0) expect_scan(pins[p], &history[p], &rng), expect_range(pins[p], &history[p], &rng);
                expect_get(pins[p], &history[p], (uint32_t)wr_rng_below(&rng, KEYS));
                if (wr_rng_below(&rng, 10) == 0) wr_view_unpin(pins[p]), pins[p] = NULL;
            }
        }
        for (uint32_t p = 0; p <= VERSIONS; p++) wr_view_unpin(pins[p]);
        wr_view_sub_free(sub);
        for (uint32_t v = VERSIONS + 1; v <= VERSIONS + 1100; v++) cut(&f, v); /* what nobody reads goes */
        wr_view_info info;
        wr_view_info_get(f.view, &info);
        assert_int_equal(info.pins, 0);
        if (seed % 2) assert_true(info.old_bytes < SHARDS * 9000); /* of each shard one list of touches at most */
        fixture_close(&f);
    }
}
static void keyed(void **state) { (void)state, model(true); }
static void counted(void **state) { (void)state, model(false); }

static void a_pin_that_holds_too_much(void **state) {
    (void)state;
    fixture f;
    wr_err  err = {0};
    fixture_open(&f, true, 1, 100000);
    put(&f, wr_view_shard_of(f.view, 0), 7, 1, 1);
    cut(&f, 1);
    wr_view_cut *old = wr_view_pin(f.view), *again = wr_view_pin_at(f.view, wr_view_cut_as_of(old)->run, 1, &err);
    assert_non_null(again);
    for (uint64_t v = 2; v < 4000; v++) {
        put(&f, wr_view_shard_of(f.view, 0), 7, (int64_t)v, 1);
        cut(&f, v);
    }
    wr_view_scan *s = wr_view_scan_new(old, &(wr_view_range){0});
    wr_batch     *b;
    assert_int_equal(wr_view_scan_next(s, 10, &b, &err), WR_LIMIT);
    assert_string_equal(err.code, WR_VIEW_GONE);
    assert_null(b);
    wr_view_scan_free(s);
    assert_null(wr_view_pin_at(f.view, wr_view_cut_as_of(old)->run, 1, &err));
    wr_view_cut *now = wr_view_pin(f.view);
    assert_null(wr_view_pin_at(f.view, wr_view_cut_as_of(now)->run + 1, wr_view_cut_as_of(now)->version, &err)); /* of another run */
    wr_view_unpin(old), wr_view_unpin(again), wr_view_unpin(now);
    fixture_close(&f);
}

/* Money moves between accounts, each shard has some of them; its sum is the same at every cut. */
typedef struct bank { fixture f; _Atomic bool stop; _Atomic uint64_t reads; } bank;
enum { ACCOUNTS = 30, SUM = ACCOUNTS * 100 };

static void read_bank(void *arg) {
    bank        *b = arg;
    wr_err       err = {0};
    uint64_t     last = 0;
    wr_view_sub *sub = NULL;
    int64_t      followed[ACCOUNTS] = {0};
    while (!atomic_load(&b->stop)) {
        wr_view_cut  *c = wr_view_pin(b->f.view);
        wr_view_scan *s = wr_view_scan_new(c, &(wr_view_range){0});
        int64_t       sum = 0;
        for (wr_batch *rows; wr_view_scan_next(s, 5, &rows, &err) == WR_OK && rows; wr_batch_unref(rows))
            for (uint32_t i = 0; i < rows->n_rows; i++) sum += ((int64_t *)rows->cols[1].data)[i];
        if (wr_view_cut_as_of(c)->version) assert_int_equal(sum, SUM);
        assert_true(wr_view_cut_as_of(c)->version >= last);
        last = wr_view_cut_as_of(c)->version;
        wr_view_scan_free(s);
        if (!sub && last) {
            for (int64_t k = 0; k < ACCOUNTS; k++) followed[k] = 0;
            sub = wr_view_sub_new(c);
            s = wr_view_scan_new(c, &(wr_view_range){0});
            for (wr_batch *rows; wr_view_scan_next(s, 5, &rows, &err) == WR_OK && rows; wr_batch_unref(rows))
                for (uint32_t i = 0; i < rows->n_rows; i++) followed[((int64_t *)rows->cols[0].data)[i]] = ((int64_t *)rows->cols[1].data)[i];
            wr_view_scan_free(s);
        }
        wr_view_unpin(c);
        if (sub) {
            wr_view_as_of as_of;
            for (wr_batch *rows; assert_int_equal(wr_view_sub_next(sub, false, 4, &rows, &as_of, &err), WR_OK), rows; wr_batch_unref(rows))
                for (uint32_t i = 0; i < rows->n_rows; i++) followed[((int64_t *)rows->cols[0].data)[i]] = ((int64_t *)rows->cols[1].data)[i];
            sum = 0;
            for (int64_t k = 0; k < ACCOUNTS; k++) sum += followed[k];
            assert_int_equal(sum, SUM);
        }
        atomic_fetch_add(&b->reads, 1);
    }
    wr_view_sub_free(sub);
}

static void readers_beside_a_writer(void **state) {
    (void)state;
    bank      b = {0};
    wr_world *world = wr_world_posix();
    void     *threads[3];
    wr_err    err = {0};
    wr_rng    rng;
    int64_t   money[ACCOUNTS];
    fixture_open(&b.f, true, 0, 0);
    for (uint32_t i = 0; i < WR_COUNT_OF(threads); i++) assert_int_equal(world->vt->spawn(world, "reader", read_bank, &b, &threads[i], &err), WR_OK);
    wr_rng_seed(&rng, 1);
    for (int64_t k = 0; k < ACCOUNTS; k++) put(&b.f, wr_view_shard_of(b.f.view, (uint32_t)k % SHARDS), k, money[k] = 100, 1);
    cut(&b.f, 1);
    for (uint64_t v = 2; v < 300 || (atomic_load(&b.reads) < 200 && v < 1000000); v++) {
        for (uint32_t n = 0; n < 20; n++) {
            uint32_t from = (uint32_t)wr_rng_below(&rng, ACCOUNTS), to = (uint32_t)wr_rng_below(&rng, ACCOUNTS);
            money[from]--, money[to]++;
            put(&b.f, wr_view_shard_of(b.f.view, from % SHARDS), from, money[from], 1);
            put(&b.f, wr_view_shard_of(b.f.view, to % SHARDS), to, money[to], 1);
        }
        cut(&b.f, v);
    }
    atomic_store(&b.stop, true);
    for (uint32_t i = 0; i < WR_COUNT_OF(threads); i++) world->vt->join(world, threads[i]);
    fixture_close(&b.f);
}

/* Nobody reads an empty view while a checkpoint's rows are being put into it. */
static void found_when_restored(void **state) {
    (void)state;
    static const uint32_t key = 0;
    const wr_view_set_opts o = {.world = wr_world_posix(), .n_shards = 2, .restoring = true};
    const wr_view_def      d = {.name = WR_STR("r"), .schema = &SCHEMA, .n_key = 1, .key = &key, .instances = 3};
    wr_view_set *set = wr_view_set_new(&o);
    wr_view     *view = wr_view_set_add(set, &d), *found;
    assert_null(wr_view_find(WR_STR("r")));
    assert_int_equal(wr_views_list(&found, 1), 0);
    wr_view_set_open(set, 1);
    wr_view_seal(wr_view_shard_of(view, 0), 1, 10);
    assert_null(wr_view_find(WR_STR("r"))); /* a half of it */
    wr_view_seal(wr_view_shard_of(view, 1), 1, 10);
    assert_int_equal(wr_views_list(&found, 1), 1);
    assert_ptr_equal(found, view);
    wr_view_unref(found);
    wr_view_set_close(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keyed), cmocka_unit_test(counted), cmocka_unit_test(a_pin_that_holds_too_much), cmocka_unit_test(readers_beside_a_writer), cmocka_unit_test(found_when_restored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
