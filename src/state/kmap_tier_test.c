/* state/kmap_tier_test.c: maps over a real tier against a plain array: every kind of eviction, images, crashes, other group ranges, faults. */
#include "base/hash.h"
#include "state/state.h"
#include "state/tier_testkit.h"

enum { KEYS = 3000, GROUPS = 16, TYPES = 3 };
static const wr_type types[TYPES][2] = {{{.id = WR_T_BIGINT, .nullable = true}}, {{.id = WR_T_VARCHAR, .prec = WR_LENGTH_MAX, .nullable = true}},
                                        {{.id = WR_T_VARCHAR, .prec = WR_LENGTH_MAX, .nullable = true}, {.id = WR_T_INT, .nullable = true}}};

typedef struct value { char *text; uint64_t kept; } value; /* text: decimal number, NULL = none yet; kept: stays through evictions of the value */
typedef struct fix {
    tier_kit  *kit;
    wr_account acct;
    wr_spill   spill;
    wr_kmap   *map;
    int64_t    heap;
    uint64_t   n_new;
} fix;
static void set(fix *f, void *value_, const char *text) {
    value *v = value_;
    if (v->text) f->heap -= (int64_t)strlen(v->text) + 1, wr_free(v->text);
    v->text = text ? wr_strdup(text) : NULL;
    if (text) f->heap += (int64_t)strlen(text) + 1;
}
static void value_free(void *self, void *v) { set(self, v, NULL); }
static void value_save(void *self, const void *v, wr_sbuf *out) {
    const char *text = ((const value *)v)->text;
    (void)self;
    wr_put_bytes(out, text ? text : "", text ? strlen(text) : 0);
}
static bool value_load(void *self, void *v, wr_reader *in) {
    char   text[32] = {0};
    wr_str bytes = wr_get_bytes(in);
    if (in->bad || bytes.len >= sizeof text) return false;
    memcpy(text, bytes.ptr, bytes.len);
    assert_null(((value *)v)->text);
    if (bytes.len) set(self, v, text);
    return true;
}
static void value_new(void *self, uint32_t slot, void *v) {
    fix *f = self;
    (void)slot;
    f->n_new++;
    ((value *)v)->kept = 77;
}
static bool value_expired(void *self, const void *v) { /* uneven numbers */
    (void)self;
    return ((const value *)v)->text && (atoll(((const value *)v)->text) & 1);
}
static int64_t heap_bytes(void *self) { return ((fix *)self)->heap; }

static void fix_open(fix *f, tier_kit *kit, int type, wr_spill spill, uint32_t from, uint32_t to) {
    *f = (fix){.kit = kit, .spill = spill};
    wr_account_init(&f->acct, NULL, "map", 0);
    f->map = wr_kmap_new(&(wr_kmap_opts){
        .name = "test", .key_types = types[type], .n_key_types = type == 2 ? 2 : 1, .value_bytes = sizeof(value), .acct = &f->acct, .tier = kit->tier,
        .table = "op", .prefix = WR_STR("p"), .spill = spill, .n_groups = GROUPS, .group_from = from, .group_to = to, .self = f, .value_free = value_free,
        .value_save = value_save, .value_load = value_load, .value_new = value_new, .value_expired = value_expired, .heap_bytes = heap_bytes});
}
static void fix_close(fix *f) {
    wr_kmap_free(f->map);
    assert_int_equal(f->heap, 0);
    assert_int_equal(wr_account_bytes(&f->acct), 0);
}

static wr_batch *batch_of(int type, const uint32_t *keys, uint32_t n) {
    wr_batch *b = wr_batch_new(2, 4096);
    for (int c = 0; c < 2; c++) {
        wr_vec_init(&b->cols[c], type == 2 || c == 0 ? types[type][c] : wr_type_of(WR_T_INT), n, true, b->mem);
        for (uint32_t i = 0; i < n; i++) {
            char text[64];
            int  len = snprintf(text, sizeof text, keys[i] % 3 ? "k%u" : "a-key-that-is-longer-than-its-place-%u", keys[i]);
            if (c) ((int32_t *)b->cols[c].data)[i] = (int32_t)keys[i];
            else if (type == 0) ((int64_t *)b->cols[c].data)[i] = (int64_t)keys[i] - 1000;
            else ((wr_sview *)b->cols[c].data)[i] = wr_sview_copy(b->mem, text, (size_t)len);
            if (keys[i] == 7 && c == 0) wr_valid_set(b->cols[c].valid, i, false);
        }
    }
    b->n_rows = n;
    uint64_t *hash = wr_mem_alloc(b->mem, n * sizeof *hash);
    wr_batch_hash(b, (uint32_t[]){0, 1}, type == 2 ? 2 : 1, hash);
    b->hash = hash;
    return b;
}
static void ok(fix *f, wr_status s) {
    if (s != WR_OK) fail_msg("%s: %s", wr_status_name(s), f->kit->err.message);
}

/* Makes the map hold `want`: number per key, -1 = absent. */
static void check(fix *f, int type, const int64_t *want, uint32_t from, uint32_t to) {
    uint64_t live = 0;
    for (uint32_t at = 0; at < KEYS;) {
        uint32_t keys[512], n = 0, slots[512];
        for (; n < 512 && at < KEYS; at++) keys[n++] = at;
        wr_batch *b = batch_of(type, keys, n);
        uint16_t  sel[512];
        b->sel = sel;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t group = wr_key_group(b->hash[i], GROUPS);
            if (group >= from && group < to) sel[b->n_sel++] = (uint16_t)i;
        }
        ok(f, wr_kmap_find(f->map, b, NULL, b->hash, false, slots, NULL, &f->kit->err));
        for (uint32_t i = 0; i < b->n_sel; i++) {
            int64_t number = want[keys[sel[i]]];
            live += number >= 0;
            assert_int_equal(slots[i] != WR_SLOT_NONE, number >= 0);
            if (slots[i] == WR_SLOT_NONE) continue;
            const value *v = wr_kmap_peek(f->map, slots[i]);
            assert_int_equal(atoll(v->text), number);
            if (f->spill != WR_SPILL_ENTRY) assert_int_equal(v->kept, 77);
        }
        wr_batch_unref(b);
    }
    assert_int_equal(wr_kmap_count(f->map), live);
}

static uint64_t sum_by_scan(fix *f, uint64_t *n) {
    wr_kmap_cursor c = {0};
    uint32_t       slots[100], got;
    uint64_t       sum = 0;
    *n = 0;
    do {
        ok(f, wr_kmap_scan(f->map, &c, slots, 100, &got, &f->kit->err));
        for (uint32_t i = 0; i < got; i++) sum += (uint64_t)atoll(((const value *)wr_kmap_peek(f->map, slots[i]))->text);
        *n += got;
    } while (got);
    wr_kmap_scan_end(f->map, &c);
    return sum;
}

static void step(fix *f, int type, wr_rng *rng, int64_t *want) {
    uint32_t  keys[600], slots[600], n = 1 + (uint32_t)wr_rng_below(rng, 600);
    uint8_t   created[600];
    for (uint32_t i = 0; i < n; i++) keys[i] = (uint32_t)wr_rng_below(rng, wr_rng_below(rng, 2) ? 100 : KEYS);
    wr_batch *b = batch_of(type, keys, n);
    ok(f, wr_kmap_find(f->map, b, NULL, b->hash, true, slots, created, &f->kit->err));
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(created[i], want[keys[i]] < 0);
        char   text[32];
        value *v = wr_kmap_value(f->map, slots[i]);
        if (want[keys[i]] >= 0) assert_int_equal(atoll(v->text), want[keys[i]]);
        want[keys[i]] = (int64_t)wr_rng_below(rng, 1000000);
        snprintf(text, sizeof text, "%lld", (long long)want[keys[i]]);
        set(f, v, text);
        v->kept = 77;
    }
    for (uint32_t i = 0; i < n; i += 1 + (uint32_t)wr_rng_below(rng, 9)) {
        if (want[keys[i]] < 0) continue;
        wr_kmap_remove(f->map, slots[i]);
        want[keys[i]] = -1;
    }
    wr_batch_unref(b);
}

static void sweep_all(fix *f, int64_t *want) {
    uint64_t removed = 0, all = 0, uneven = 0;
    for (int i = 0; i < 200; i++) {
        ok(f, wr_kmap_sweep(f->map, 64, &removed, &f->kit->err));
        all += removed;
    }
    for (int k = 0; k < KEYS; k++) {
        if (want[k] < 0 || !(want[k] & 1)) continue;
        want[k] = -1;
        uneven++;
    }
    assert_int_equal(all, uneven);
}

static void random_ops(int type, wr_spill spill, int64_t limit, uint64_t seed) {
    static int64_t want[KEYS];
    tier_kit kit;
    fix      f;
    wr_rng   rng;
    wr_rng_seed(&rng, seed);
    tier_kit_open(&kit, 0);
    fix_open(&f, &kit, type, spill, 0, GROUPS);
    for (int k = 0; k < KEYS; k++) want[k] = -1;
    for (int round = 0; round < 120; round++) {
        step(&f, type, &rng, want);
        if (round == 5) wr_kmap_limit(f.map, limit);
        if (round % 17 == 3) tier_kit_begin(&kit);
        if (round % 17 == 6) { /* frozen from here on */
            wr_sbuf image = {0};
            ok(&f, wr_kmap_save(f.map, &image, &kit.err));
            wr_sbuf_free(&image);
        }
        if (round % 17 == 12) tier_kit_image(&kit);
        if (round % 23 == 20) sweep_all(&f, want);
        if (round % 13 == 5) ok(&f, wr_kmap_shrink(f.map, limit * 2, &kit.err));
        if (round % 29 == 28) {
            uint64_t n, live = 0, sum = 0;
            for (int k = 0; k < KEYS; k++)
                if (want[k] >= 0) live++, sum += (uint64_t)want[k];
            assert_int_equal(sum_by_scan(&f, &n), sum);
            assert_int_equal(n, live);
        }
        if (round == 70) {
            wr_kmap_clear(f.map);
            for (int k = 0; k < KEYS; k++) want[k] = -1;
        }
        if (round % 10 == 9) check(&f, type, want, 0, GROUPS);
    }
    wr_kmap_tier_usage u;
    wr_kmap_tier_usage_get(f.map, &u);
    if (spill != WR_SPILL_NONE && !(u.loads > 1000 && u.evictions > 1000))
        fail_msg("type %d spill %d limit %lld: %llu loads, %llu evictions", type, (int)spill, (long long)limit, (unsigned long long)u.loads, (unsigned long long)u.evictions);
    if (spill == WR_SPILL_NONE) assert_int_equal(u.loads + u.evictions, 0);
    fix_close(&f);
    tier_kit_close(&kit);
}
static void test_random(void **state) {
    (void)state;
    for (int type = 0; type < TYPES; type++) {
        random_ops(type, WR_SPILL_ENTRY, 1, 1 + (uint64_t)type);
        random_ops(type, WR_SPILL_ENTRY, 60000, 11 + (uint64_t)type);
        random_ops(type, WR_SPILL_VALUE, 1, 21 + (uint64_t)type);
        random_ops(type, WR_SPILL_VALUE, 70000, 31 + (uint64_t)type);
        random_ops(type, WR_SPILL_NONE, 1, 41 + (uint64_t)type);
    }
}

/* Images of 2 instances load into 4 and then into 1, from the tier of the last image each time; changes after the barrier are lost. */
static void rescale(int type, wr_spill spill, int64_t limit) {
    static int64_t want[KEYS], other[KEYS];
    static const uint32_t sizes[] = {2, 4, 1, 3};
    tier_kit kit;
    wr_sbuf  images[4] = {{0}};
    uint32_t n_images = 0;
    wr_rng   rng;
    wr_rng_seed(&rng, (uint64_t)type * 10 + spill);
    tier_kit_open(&kit, 0);
    for (int k = 0; k < KEYS; k++) want[k] = -1;
    for (uint32_t round = 0; round < WR_COUNT_OF(sizes); round++) {
        uint32_t n = sizes[round];
        fix      f[4];
        uint64_t live = 0, restored = 0;
        for (int k = 0; k < KEYS; k++) live += want[k] >= 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t from = i * GROUPS / n, to = (i + 1) * GROUPS / n;
            fix_open(&f[i], &kit, type, spill, from, to);
            if (limit) wr_kmap_limit(f[i].map, limit);
            for (uint32_t k = 0; k < n_images; k++) {
                wr_reader in = {(const uint8_t *)images[k].at, (const uint8_t *)images[k].at + images[k].len, false};
                ok(&f[i], wr_kmap_load(f[i].map, &in, GROUPS, from, to, &kit.err));
                assert_true(in.at == in.end);
            }
            restored += f[i].n_new;
            check(&f[i], type, want, from, to);
        }
        assert_int_equal(restored, spill == WR_SPILL_ENTRY && n_images ? 0 : live);
        for (uint32_t s = 0; s < 12; s++) {
            uint32_t keys[600], all = 1 + (uint32_t)wr_rng_below(&rng, 600);
            for (uint32_t i = 0; i < all; i++) keys[i] = (uint32_t)wr_rng_below(&rng, KEYS);
            wr_batch *b = batch_of(type, keys, all);
            uint16_t  sel[600];
            if (s == 8) { /* the barrier */
                tier_kit_begin(&kit);
                for (uint32_t i = 0; i < n; i++) {
                    if (i >= n_images) images[i] = (wr_sbuf){0};
                    wr_sbuf_clear(&images[i]);
                    ok(&f[i], wr_kmap_save(f[i].map, &images[i], &kit.err));
                }
                for (uint32_t i = n; i < n_images; i++) wr_sbuf_free(&images[i]);
                n_images = n;
                memcpy(other, want, sizeof want);
            }
            int64_t *w = s >= 8 ? other : want; /* what comes after it will be lost */
            for (uint32_t i = 0; i < n; i++) {
                uint32_t slots[600];
                b->n_sel = 0, b->sel = sel;
                for (uint32_t r = 0; r < all; r++)
                    if (wr_key_group(b->hash[r], GROUPS) >= i * GROUPS / n && wr_key_group(b->hash[r], GROUPS) < (i + 1) * GROUPS / n) sel[b->n_sel++] = (uint16_t)r;
                ok(&f[i], wr_kmap_find(f[i].map, b, NULL, b->hash, true, slots, NULL, &kit.err));
                for (uint32_t r = 0; r < b->n_sel; r++) {
                    char   text[32];
                    value *v = wr_kmap_value(f[i].map, slots[r]);
                    w[keys[sel[r]]] = (int64_t)wr_rng_below(&rng, 1000);
                    snprintf(text, sizeof text, "%lld", (long long)w[keys[sel[r]]]);
                    set(&f[i], v, text);
                    v->kept = 77;
                }
                for (uint32_t r = 0; r < b->n_sel; r += 5) {
                    if (w[keys[sel[r]]] >= 0) wr_kmap_remove(f[i].map, slots[r]);
                    w[keys[sel[r]]] = -1;
                }
            }
            wr_batch_unref(b);
            if (s == 10) tier_kit_image(&kit);
        }
        for (uint32_t i = 0; i < n; i++) {
            check(&f[i], type, other, i * GROUPS / n, (i + 1) * GROUPS / n);
            fix_close(&f[i]);
        }
        tier_kit_restore(&kit);
    }
    for (uint32_t i = 0; i < n_images; i++) wr_sbuf_free(&images[i]);
    tier_kit_close(&kit);
}
static void test_rescale(void **state) {
    (void)state;
    for (int type = 0; type < TYPES; type++)
        for (wr_spill spill = WR_SPILL_NONE; spill <= WR_SPILL_ENTRY; spill++) rescale(type, spill, 0), rescale(type, spill, 20000);
}

/* A change of few keys stages few bytes. */
static void test_incremental(void **state) {
    (void)state;
    static int64_t want[KEYS];
    tier_kit kit;
    fix      f;
    wr_sbuf  image = {0};
    uint64_t full = 0;
    tier_kit_open(&kit, 0);
    fix_open(&f, &kit, 0, WR_SPILL_NONE, 0, GROUPS);
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t keys[KEYS], slots[KEYS], n = round == 1 ? KEYS / 100 : round == 2 ? 0 : KEYS;
        for (uint32_t at = 0; at < n; at += 1000) {
            uint32_t m = WR_MIN(n - at, 1000u);
            for (uint32_t i = 0; i < m; i++) keys[i] = at + i;
            wr_batch *b = batch_of(0, keys, m);
            ok(&f, wr_kmap_find(f.map, b, NULL, b->hash, true, slots, NULL, &kit.err));
            for (uint32_t i = 0; i < m; i++) {
                value *v = wr_kmap_value(f.map, slots[i]);
                set(&f, v, "12345");
                v->kept = 77;
                want[keys[i]] = 12345;
            }
            wr_batch_unref(b);
        }
        tier_kit_begin(&kit);
        wr_sbuf_clear(&image);
        ok(&f, wr_kmap_save(f.map, &image, &kit.err));
        assert_true(image.len < 300);
        tier_kit_image(&kit);
        if (!round) full = kit.staged_bytes;
        else assert_true(kit.staged_bytes <= full * (round == 1 ? 2 : 0) / 100);
    }
    check(&f, 0, want, 0, GROUPS);
    wr_sbuf_free(&image);
    fix_close(&f);
    tier_kit_close(&kit);
}

/* A damaged marker, a tier without the table, a map of another prefix: refused with a message. */
static void test_bad_images(void **state) {
    (void)state;
    static int64_t want[KEYS];
    tier_kit kit, empty;
    fix      f, g;
    wr_rng   rng;
    wr_sbuf  image = {0};
    wr_rng_seed(&rng, 3);
    for (int k = 0; k < KEYS; k++) want[k] = -1;
    tier_kit_open(&kit, 0);
    tier_kit_open(&empty, 0);
    fix_open(&f, &kit, 0, WR_SPILL_ENTRY, 0, GROUPS);
    step(&f, 0, &rng, want);
    tier_kit_begin(&kit);
    ok(&f, wr_kmap_save(f.map, &image, &kit.err));
    tier_kit_image(&kit);
    for (size_t len = 0; len < image.len; len += 3) {
        fix_open(&g, &kit, 0, WR_SPILL_ENTRY, 0, GROUPS);
        wr_reader in = {(const uint8_t *)image.at, (const uint8_t *)image.at + len, false};
        assert_int_equal(wr_kmap_load(g.map, &in, GROUPS, 0, GROUPS, &kit.err), WR_CORRUPT);
        fix_close(&g);
    }
    fix_open(&g, &empty, 0, WR_SPILL_ENTRY, 0, GROUPS);
    wr_reader in = {(const uint8_t *)image.at, (const uint8_t *)image.at + image.len, false};
    assert_int_equal(wr_kmap_load(g.map, &in, GROUPS, 0, GROUPS, &kit.err), WR_CORRUPT);
    assert_non_null(strstr(kit.err.message, "test"));
    fix_close(&g);
    wr_sbuf_free(&image);
    fix_close(&f);
    tier_kit_close(&kit);
    tier_kit_close(&empty);
}

/* A write that fails is told by a find, and never a wrong answer before it. */
static void test_faults(void **state) {
    (void)state;
    static int64_t want[KEYS];
    for (uint64_t fail_at = 1; fail_at < 40; fail_at += 3) {
        tier_kit  kit;
        fix       f;
        wr_rng    rng;
        wr_status s = WR_OK;
        wr_rng_seed(&rng, fail_at);
        for (int k = 0; k < KEYS; k++) want[k] = -1;
        tier_kit_open(&kit, 0);
        fix_open(&f, &kit, 0, WR_SPILL_ENTRY, 0, GROUPS);
        wr_kmap_limit(f.map, 1);
        tier_kit_fail_at = fail_at;
        for (int round = 0; round < 200 && s == WR_OK; round++) {
            uint32_t keys[300], slots[300];
            for (uint32_t i = 0; i < 300; i++) keys[i] = (uint32_t)wr_rng_below(&rng, KEYS);
            wr_batch *b = batch_of(0, keys, 300);
            s = wr_kmap_find(f.map, b, NULL, b->hash, true, slots, NULL, &kit.err);
            for (uint32_t i = 0; i < 300 && s == WR_OK; i++) {
                value *v = wr_kmap_value(f.map, slots[i]);
                char   text[32];
                if (want[keys[i]] >= 0) assert_int_equal(atoll(v->text), want[keys[i]]);
                want[keys[i]] = (int64_t)wr_rng_below(&rng, 1000);
                snprintf(text, sizeof text, "%lld", (long long)want[keys[i]]);
                set(&f, v, text);
            }
            wr_batch_unref(b);
        }
        if (s != WR_OK) assert_int_equal(wr_tier_error(kit.tier, &kit.err), s);
        tier_kit_fail_at = 0;
        fix_close(&f);
        tier_kit_close(&kit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_rescale), cmocka_unit_test(test_incremental), cmocka_unit_test(test_bad_images),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
