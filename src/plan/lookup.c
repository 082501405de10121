/* plan/lookup.c: what a lookup join is told: by the hint LOOKUP of its SELECT, by the settings, by the options of the table.
 *
 * Idea       names and values are Flink's. The hint says how to ask (asynchronously or not, in which order rows leave, again when nothing is found), the
 *            table's options what to remember.
 * Invariant  NULL or false mean that a diagnostic was given.                                                            */
#include "plan/logical.h"
#include "type/number.h"

enum { CAPACITY = 16 };

typedef struct hint { pl *p; const wr_ast_hint *ast; } hint;

static const wr_ast_hint_arg *find(const hint *h, const char *key) {
    for (uint32_t i = 0; h->ast && i < h->ast->args.n; i++)
        if (wr_str_eq(h->ast->args.at[i].key.text, wr_str_of(key))) return &h->ast->args.at[i];
    return NULL;
}
static bool bad(const hint *h, const wr_ast_hint_arg *a, const char *expected) {
    pl_error(h->p, "22023", a->key.at, "LOOKUP: '%.*s' = '%.*s', expected %s", WR_FMT(a->key.text), (int)a->value.text.len, a->value.text.ptr ? a->value.text.ptr : "", expected);
    return false;
}
static bool one_of(const hint *h, const char *key, const char *a, const char *b, int *out) {
    const wr_ast_hint_arg *arg = find(h, key);
    if (!arg) return true;
    if (arg->value.text.ptr && wr_str_ieq(arg->value.text, wr_str_of(a))) *out = 0;
    else if (arg->value.text.ptr && b && wr_str_ieq(arg->value.text, wr_str_of(b))) *out = 1;
    else return bad(h, arg, b ? pl_printf(h->p, "%s or %s", a, b).ptr : a);
    return true;
}
static bool number(const hint *h, const char *key, int64_t *out) {
    const wr_ast_hint_arg *arg = find(h, key);
    if (!arg) return true;
    return (arg->value.text.ptr && wr_parse_i64(arg->value.text, out) && *out > 0) || bad(h, arg, "a number above 0");
}
static bool duration(const hint *h, const char *key, int64_t *out) {
    const wr_ast_hint_arg *arg = find(h, key);
    if (!arg) return true;
    return (arg->value.text.ptr && wr_parse_duration(arg->value.text, out)) || bad(h, arg, "a duration such as '10 s'");
}

static bool known_keys(const hint *h) {
    static const char *const KEYS[] = {"table", "async", "output-mode", "capacity", "timeout", "retry-predicate", "retry-strategy", "fixed-delay", "max-attempts"};
    wr_str names[WR_COUNT_OF(KEYS)];
    for (size_t i = 0; i < WR_COUNT_OF(KEYS); i++) names[i] = wr_str_of(KEYS[i]);
    for (uint32_t k = 0; k < h->ast->args.n; k++) {
        bool found = false;
        for (size_t i = 0; i < WR_COUNT_OF(KEYS); i++) found |= wr_str_eq(h->ast->args.at[k].key.text, names[i]);
        if (found) continue;
        pl_error(h->p, "42601", h->ast->args.at[k].key.at, "LOOKUP has no option '%.*s'", WR_FMT(h->ast->args.at[k].key.text));
        int near = wr_nearest(h->ast->args.at[k].key.text, names, WR_COUNT_OF(KEYS));
        wr_diags_hint(h->p->diags, near >= 0 ? "did you mean '%s'?" : "there are table, async, output-mode, capacity, timeout, retry-predicate, retry-strategy, fixed-delay, max-attempts%.0s",
                      near >= 0 ? KEYS[near] : "");
        return false;
    }
    return true;
}

static bool retries(const hint *h, wr_lookup_join_opts *o) {
    int ignored = 0;
    if (!find(h, "retry-predicate")) return true;
    static const char *const NEEDS[] = {"retry-strategy", "fixed-delay", "max-attempts"};
    for (size_t i = 0; i < WR_COUNT_OF(NEEDS); i++)
        if (!find(h, NEEDS[i])) return pl_error(h->p, "42601", h->ast->name.at, "LOOKUP with 'retry-predicate' needs '%s' too", NEEDS[i]), false;
    int64_t attempts = 0;
    if (!one_of(h, "retry-predicate", "lookup_miss", NULL, &ignored) || !one_of(h, "retry-strategy", "fixed_delay", NULL, &ignored) ||
        !duration(h, "fixed-delay", &o->retry_delay_us) || !number(h, "max-attempts", &attempts))
        return false;
    o->retry_miss = true;
    o->attempts = (uint32_t)WR_MIN(attempts, (int64_t)1000000) + 1; /* the first one is none, as in Flink */
    return true;
}

static const wr_ast_hint *find_hint(pl *p, wr_str table, wr_str alias) {
    for (uint32_t i = 0; p->hints && i < p->hints->n; i++) {
        const wr_ast_hint *ast = &p->hints->at[i];
        hint h = {.ast = ast};
        if (!wr_str_ieq(ast->name.text, WR_STR("LOOKUP"))) continue;
        const wr_ast_hint_arg *t = find(&h, "table");
        if (t && t->value.text.ptr && (wr_str_eq(t->value.text, alias) || wr_str_eq(t->value.text, table))) {
            wr_arr_apush(p->arena, &p->lookups, ast);
            return ast;
        }
    }
    return NULL;
}

void pl_lookup_unused(pl *p, const wr_ast_hints *hints) {
    for (uint32_t i = 0; i < hints->n; i++) {
        hint h = {.p = p, .ast = &hints->at[i]};
        bool taken = !wr_str_ieq(h.ast->name.text, WR_STR("LOOKUP"));
        for (uint32_t k = 0; k < p->lookups.n; k++) taken |= p->lookups.at[k] == h.ast;
        if (taken) continue;
        const wr_ast_hint_arg *t = find(&h, "table");
        if (t && t->value.text.ptr) pl_error(p, "42P01", t->key.at, "LOOKUP: '%.*s' is no table or alias that this SELECT looks up with FOR SYSTEM_TIME AS OF", WR_FMT(t->value.text));
        else pl_error(p, "42601", h.ast->name.at, "LOOKUP needs the table that it is about: LOOKUP('table' = 'd', ...)");
    }
}

wr_lookup_join_opts *pl_lookup_hint(pl *p, wr_str table, wr_str alias) {
    wr_lookup_join_opts *o = wr_new(p->arena, wr_lookup_join_opts);
    hint    h = {.p = p, .ast = find_hint(p, table, alias)};
    int     sync = 0, unordered = wr_str_ieq(wr_catalog_get(p->ctx->catalog, "table.exec.async-lookup.output-mode"), WR_STR("ALLOW_UNORDERED"));
    int64_t capacity = CAPACITY;
    *o = (wr_lookup_join_opts){.timeout_us = INT64_C(180000000)};
    wr_str setting = wr_catalog_get(p->ctx->catalog, "table.exec.async-lookup.buffer-capacity");
    if (setting.len) (void)wr_parse_i64(setting, &capacity);
    setting = wr_catalog_get(p->ctx->catalog, "table.exec.async-lookup.timeout");
    if (setting.len) (void)wr_parse_duration(setting, &o->timeout_us);
    if (h.ast && (!known_keys(&h) || !one_of(&h, "async", "true", "false", &sync) || !one_of(&h, "output-mode", "ordered", "allow_unordered", &unordered) ||
                  !number(&h, "capacity", &capacity) || !duration(&h, "timeout", &o->timeout_us) || !retries(&h, o)))
        return NULL;
    o->ordered = sync || !unordered;
    o->capacity = sync ? 1 : (uint32_t)WR_MIN(WR_MAX(capacity, 1), (int64_t)10000);
    return o;
}

/* ---- the table's options; their forms were checked against connect/'s list ---- */

static bool is(const wr_table *t, const char *key, const char *value) {
    wr_str v = pl_table_option(t, key);
    return v.ptr && wr_str_ieq(v, wr_str_of(value));
}
static void take_duration(const wr_table *t, const char *key, int64_t *out) {
    wr_str v = pl_table_option(t, key);
    if (v.ptr) (void)wr_parse_duration(v, out);
}
static void take_number(const wr_table *t, const char *key, int64_t *out) {
    wr_str v = pl_table_option(t, key);
    if (v.ptr) (void)wr_parse_i64(v, out);
}

static bool reload(pl *p, const wr_table *t, wr_lookup_join_opts *o) {
    wr_str  at = pl_table_option(t, "lookup.full-cache.timed-reload.iso-time");
    int32_t ms;
    o->reload_at_us = -1;
    o->reload_days = 1, o->check_us = 1000000;
    take_duration(t, "lookup.full-cache.periodic-reload.interval", &o->reload_us);
    take_duration(t, "lookup.full-cache.change-check.interval", &o->check_us);
    take_number(t, "lookup.full-cache.timed-reload.interval-in-days", &o->reload_days);
    o->reload_fixed_rate = is(t, "lookup.full-cache.periodic-reload.schedule-mode", "FIXED_RATE");
    if (!is(t, "lookup.full-cache.reload-strategy", "TIMED")) return true;
    if (!at.ptr) return pl_error(p, "WR122", t->at, "table '%.*s': 'lookup.full-cache.reload-strategy' = 'TIMED' needs 'lookup.full-cache.timed-reload.iso-time'", WR_FMT(t->name)), false;
    if (!wr_parse_time(at, &ms)) return pl_error(p, "22023", t->at, "table '%.*s': 'lookup.full-cache.timed-reload.iso-time' = '%.*s' is not a time such as 04:30:00", WR_FMT(t->name), WR_FMT(at)), false;
    o->reload_at_us = (int64_t)ms * 1000;
    return true;
}

bool pl_lookup_table(pl *p, const lnode *scan, wr_span at, wr_lookup_join_opts *o) {
    const wr_table *t = scan->scan.table;
    tinfo          *ti = pl_table_info(p, t);
    int             way = ti->connector && ti->connector->lookup ? ti->connector->lookup(t) : 0;
    if (!way) {
        pl_error(p, "0A000", at, "table '%.*s' (connector '%.*s') cannot be asked by key: a lookup join needs a table that stands still", WR_FMT(t->name), WR_FMT(t->connector));
        wr_diags_hint(p->diags, "'sqlite' tables and files that end ('source.mode' = 'bounded') can; for a stream of versions join FOR SYSTEM_TIME AS OF the left side's event time");
        return false;
    }
    if (ti->changes) {
        pl_error(p, "0A000", at, "table '%.*s' is a changelog ('format' = '%.*s'): a lookup join needs a table that holds its present rows", WR_FMT(t->name), WR_FMT(t->format));
        wr_diags_hint(p->diags, "join FOR SYSTEM_TIME AS OF the left side's event time, or join the streams as they are");
        return false;
    }
    bool partial = is(t, "lookup.cache", "PARTIAL"), full = is(t, "lookup.cache", "FULL");
    if (way == 1 && (partial || is(t, "lookup.cache", "NONE"))) {
        pl_error(p, "0A000", at, "table '%.*s' (connector '%.*s') can only be read as a whole, so 'lookup.cache' must be FULL", WR_FMT(t->name), WR_FMT(t->connector));
        return false;
    }
    o->cache = way == 1 || full ? WR_LOOKUP_CACHE_FULL : partial ? WR_LOOKUP_CACHE_PARTIAL : WR_LOOKUP_CACHE_NONE;
    o->cache_bytes = 64 << 20;
    take_number(t, "lookup.partial-cache.max-rows", &o->cache_rows);
    take_duration(t, "lookup.partial-cache.expire-after-write", &o->expire_write_us);
    take_duration(t, "lookup.partial-cache.expire-after-access", &o->expire_access_us);
    wr_str bytes = pl_table_option(t, "lookup.partial-cache.max-bytes");
    if (bytes.ptr) (void)wr_parse_size(bytes, &o->cache_bytes);
    o->cache_missing = !is(t, "lookup.partial-cache.cache-missing-key", "false");
    int64_t tries = 3;
    take_number(t, "lookup.max-retries", &tries);
    o->max_retries = (uint32_t)WR_MIN(WR_MAX(tries, 0), (int64_t)1000000);
    return reload(p, t, o);
}
