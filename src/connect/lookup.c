/* connect/lookup.c: tables that are asked by key: their options, and those that can only be read as a whole.
 *
 * Idea       any source that ends can be such a table: for each question for the whole of it, a source is made, read to its end and closed, in the thread
 *            that asks. Who asks keeps the rows (run/lookup.c). Connectors with lookup_new answer for single keys.
 * Bad data   by the table's 'on-error': fail, or skip (counted). A dead-letter file is for streams: here it counts as skip.
 * Memory     what a question for the whole table gives is its caller's.                                               */
#include "connect/parts.h"

const wr_option_spec wr_lookup_specs[] = {
    {"lookup.cache", "enum:NONE|PARTIAL|FULL", NULL, false, "lookup joins: remember nothing, the keys asked for, or the whole table. Default: FULL where a table cannot be asked by key, else NONE"},
    {"lookup.partial-cache.max-rows", "int", NULL, false, "PARTIAL: most keys"},
    {"lookup.partial-cache.max-bytes", "size", "64 MiB", false, "PARTIAL: most memory, per worker"},
    {"lookup.partial-cache.expire-after-write", "duration", NULL, false, "PARTIAL: a key is asked for again when its answer is so old"},
    {"lookup.partial-cache.expire-after-access", "duration", NULL, false, "PARTIAL: a key that nobody wanted for so long is forgotten"},
    {"lookup.partial-cache.cache-missing-key", "bool", "true", false, "PARTIAL: remember also that a key has no row"},
    {"lookup.max-retries", "int", "3", false, "how often a question is repeated after an error that may pass; then the job stops"},
    {"lookup.full-cache.reload-strategy", "enum:PERIODIC|TIMED", "PERIODIC", false, "FULL: read the table again every so often, or at a time of the day"},
    {"lookup.full-cache.periodic-reload.interval", "duration", NULL, false, "FULL, PERIODIC: how often; absent: when the table has changed, where that can be seen"},
    {"lookup.full-cache.periodic-reload.schedule-mode", "enum:FIXED_DELAY|FIXED_RATE", "FIXED_DELAY", false, "FULL, PERIODIC: counted from the end of the last reading, or from its beginning"},
    {"lookup.full-cache.timed-reload.iso-time", "string", NULL, false, "FULL, TIMED: time of the day, such as 04:30:00, in the session's time zone"},
    {"lookup.full-cache.timed-reload.interval-in-days", "int", "1", false, "FULL, TIMED: every so many days"},
    {"lookup.full-cache.change-check.interval", "duration", "1 s", false, "FULL: how often to look whether the table has changed"},
    {0}};

wr_lookup_way wr_lookup_way_of(const wr_connector *c, const wr_table_info *t) {
    if (c->lookup_new) return WR_LOOKUP_BY_KEY;
    return c->source_new && c->bounded && c->bounded(t) ? WR_LOOKUP_WHOLE : WR_LOOKUP_NOT;
}

wr_status wr_lookup_rows_pass(wr_lookup_rows *rows, wr_err *err) {
    wr_status status = WR_OK;
    if (!rows->take) return WR_OK;
    for (uint32_t i = 0; i < rows->batches.n; i++) {
        if (status == WR_OK) status = rows->take(rows->arg, rows->batches.at[i], err);
        else wr_batch_unref(rows->batches.at[i]);
    }
    rows->batches.n = 0;
    return status;
}

typedef struct whole { wr_lookup base; const wr_connector *connector; wr_table_info table; wr_connect_ctx ctx; bool skip_bad; } whole;

static wr_status fail_bad(const whole *w, wr_source *s, const wr_chunk *chunk, const wr_bad_record *bad, wr_err *err) {
    wr_sbuf name = {0};
    s->vt->partition_name(s, chunk->partition, &name);
    wr_fail(err, WR_DATA, "22000", "table '%.*s': a record is %s: %s", WR_FMT(w->table.name), wr_bad_kind_name(bad->kind), bad->message);
    wr_err_place(err, "%.*s (byte %llu)", WR_FMT(wr_sbuf_str(&name)), (unsigned long long)(chunk->offset + bad->offset));
    wr_err_hint(err, "'on-error' = 'skip' leaves such records out");
    wr_sbuf_free(&name);
    return WR_DATA;
}

static wr_status read_chunk(whole *w, wr_source *s, wr_chunk *chunk, wr_lookup_rows *out, wr_err *err) {
    wr_decoded d = {0};
    WR_TRY(wr_chunk_read(s, chunk, err));
    wr_status  status = s->vt->decode(s, 0, chunk, &d, err);
    if (status == WR_OK && d.failed != WR_OK) *err = d.err, status = d.failed;
    for (uint32_t i = 0; i < d.batches.n; i++) {
        if (status == WR_OK) wr_arr_push(&out->batches, d.batches.at[i]);
        else wr_batch_unref(d.batches.at[i]);
    }
    out->n_bad += d.bad.n;
    if (status == WR_OK && d.bad.n && !w->skip_bad) status = fail_bad(w, s, chunk, &d.bad.at[0], err);
    d.batches.n = 0; /* taken */
    wr_decoded_free(&d);
    return status == WR_OK ? wr_lookup_rows_pass(out, err) : status;
}

static wr_status get(wr_lookup *lookup, const wr_batch *keys, wr_lookup_rows *out, wr_err *err) {
    whole         *w = (whole *)lookup;
    wr_diags       diags;
    wr_connect_ctx ctx = w->ctx;
    wr_source     *s = NULL;
    (void)keys;
    wr_diags_init(&diags);
    ctx.diags = &diags;
    ctx.arena = wr_arena_new(NULL);
    wr_status status = w->connector->source_new(&w->table, &ctx, &s, err);
    if (status == WR_USER) wr_fail(err, WR_USER, "WR121", "the options of table '%.*s' do not fit together", WR_FMT(w->table.name));
    for (bool more = status == WR_OK; more && status == WR_OK;) {
        wr_chunk chunk = {0};
        wr_next  next;
        int64_t  retry_us = 0;
        status = s->vt->next(s, NULL, &chunk, &next, &retry_us, err);
        if (status != WR_OK) break;
        more = next != WR_NEXT_END;
        if (next == WR_NEXT_CHUNK) status = read_chunk(w, s, &chunk, out, err), wr_mem_unref(chunk.mem);
        if (next == WR_NEXT_WAIT) ctx.world->vt->sleep_us(ctx.world, retry_us); /* of a queue: it is on its way */
    }
    if (s) s->vt->close(s);
    wr_arena_free(ctx.arena);
    wr_diags_free(&diags);
    return status;
}
static void close_whole(wr_lookup *lookup) { wr_free(lookup); }
static const wr_lookup_vt whole_vt = {"whole", get, close_whole};

wr_status wr_lookup_open(const wr_table_info *t, const uint32_t *keys, uint32_t n_keys, bool only_whole, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err) {
    const wr_option    *o = wr_options_find(&t->options, "connector");
    const wr_connector *c = o ? wr_connector_find(wr_str_trim(o->value)) : NULL;
    if (!c || wr_lookup_way_of(c, t) == WR_LOOKUP_NOT) return wr_fail(err, WR_UNSUPPORTED, "0A000", "table '%.*s' cannot be asked by key", WR_FMT(t->name));
    if (c->lookup_new) return c->lookup_new(t, keys, n_keys, ctx, out, err);
    wr_assert(only_whole);
    whole *w = wr_calloc(1, sizeof *w);
    *w = (whole){.base = {&whole_vt}, .connector = c, .table = *t, .ctx = *ctx};
    w->ctx.bounded_override = true;
    w->ctx.n_workers = 1;
    wr_str policy = wr_option_string(&t->options, wr_source_specs, "on-error");
    w->skip_bad = !wr_str_ieq(policy, WR_STR("fail")) || (!wr_options_find(&t->options, "on-error") && wr_options_skip_bad(&t->options));
    *out = &w->base;
    return WR_OK;
}
