/* connect/postgres/cdc.c: the connector 'postgres-cdc': options, positions, reports; see cdc.h for how it works.
 *
 * Options    those of Flink's CDC connector for PostgreSQL where they mean the same. Its 'changelog-mode' = 'all' needs REPLICA IDENTITY FULL; 'upsert' is
 *            right with every identity, so it is the default of a table with a PRIMARY KEY.
 * Thread     next, save, load: under the turn lock; decode: any worker; lasting: the coordinator.                                          */
#include "connect/postgres/cdc.h"
#include <inttypes.h>
#include <stdio.h>

enum { SAVE_VERSION = 1, WAIT_US = 2000, WAIT_MAX_US = 20000 };

const wr_option_spec cdc_specs[] = {
    {"hostname", "string", NULL, true, "the server"},
    {"port", "int", "5432", false, "its port"},
    {"username", "string", NULL, true, "who connects: needs REPLICATION, and SELECT on the table"},
    {"password", "string", "", false, "without it: what libpq finds in PGPASSWORD or ~/.pgpass"},
    {"database-name", "string", NULL, true, "the database"},
    {"schema-name", "string", "public", false, "the table's schema"},
    {"table-name", "string", NULL, true, "one table"},
    {"slot.name", "string", NULL, true, "the replication slot, made if it is not there: each table of each job needs its own; remove it with pg_drop_replication_slot when the job is no more"},
    {"decoding.plugin.name", "enum:pgoutput", "pgoutput", false, "the server's own"},
    {"debezium.publication.name", "string", "", false, "the publication that has the table; default: the slot's name"},
    {"debezium.publication.autocreate.mode", "enum:filtered|disabled", "filtered", false, "filtered: a publication that is not there is made, with this table"},
    {"changelog-mode", "enum:all|upsert", "", false, "all: old rows too, needs REPLICA IDENTITY FULL; upsert: by PRIMARY KEY. Default: upsert with a PRIMARY KEY, else all"},
    {"scan.startup.mode", "enum:initial|latest-offset|committed-offset|snapshot", "initial", false, "initial: the rows that are there, then changes; latest-offset: changes from now on; committed-offset: from where the slot is; snapshot: the rows, and the end"},
    {"connection.max-retry-timeout", "duration", "60 s", false, "how long a lost connection is tried again before the job stops"},
    {"scan.incremental.snapshot.enabled", "bool", NULL, false, "accepted for Flink's sake: the snapshot goes on after a crash where there is a PRIMARY KEY"},
    {"scan.snapshot.fetch.size", "int", NULL, false, "accepted for Flink's sake"},
    {"heartbeat.interval.ms", "duration", NULL, false, "accepted for Flink's sake: the slot moves on with the checkpoints, also when the table is at rest"},
    {0}};
static const char *const cdc_metadata[] = {"table_name", "schema_name", "database_name", "op_ts", NULL};

static bool is_upsert(const wr_table_info *t) {
    wr_str mode = option_text(t, cdc_specs, "changelog-mode");
    return mode.len ? wr_str_ieq(mode, WR_STR("upsert")) : t->n_key > 0;
}
static wr_format_changes changes(const wr_table_info *t) { return is_upsert(t) ? WR_FORMAT_UPSERT : WR_FORMAT_RETRACT; }
static bool bounded(const wr_table_info *t) { return wr_str_ieq(option_text(t, cdc_specs, "scan.startup.mode"), WR_STR("snapshot")); }

/* ---- handing out ---- */

static void set_pos(cdc_source *s, const cdc_pos *pos) {
    s->pos = *pos;
    wr_sbuf_clear(&s->pos_key);
    if (pos->key.ptr) wr_sbuf_add_str(&s->pos_key, pos->key);
    s->pos.key = (wr_str){NULL, 0};
    if (!s->keeps && pos->phase == CDC_CHANGES) atomic_store(&s->confirmed, pos->lsn);
}

static wr_status start_thread(cdc_source *s, wr_err *err) {
    s->now = s->pos;
    wr_sbuf_clear(&s->now_key);
    wr_sbuf_add_str(&s->now_key, wr_sbuf_str(&s->pos_key));
    s->admin.retry_us = s->repl.retry_us = s->rows.retry_us = 0; /* the thread has its own way of trying again */
    atomic_store(&s->first_lsn, s->pos.lsn);
    return s->world->vt->spawn(s->world, "postgres-cdc", cdc_reader, s, &s->thread, err);
}

static wr_status source_next(wr_source *base, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *err) {
    cdc_source *s = (cdc_source *)base;
    *out = (wr_chunk){0};
    (void)held; /* one partition */
    if (!s->thread) WR_TRY(start_thread(s, err));
    wr_mutex_lock(s->lock);
    cdc_note *note = s->n_queue ? s->queue[s->head] : NULL;
    bool      end = !note && s->finished, failed = !note && s->failed;
    if (note) {
        s->head = (s->head + 1) % CDC_QUEUE_MAX;
        s->n_queue--;
        s->queue_bytes -= note->cap;
        set_pos(s, &note->after);
    }
    if (!s->n_queue && s->tail.phase != CDC_NEW && !note) set_pos(s, &s->tail);
    if (failed && err) *err = s->err;
    wr_mutex_unlock(s->lock);
    if (failed) return s->err.status;
    if (note) {
        if (s->acct) wr_account_add(s->acct, -(int64_t)note->cap);
        wr_bell_ring(s->bell);
        *out = (wr_chunk){.mem = note->mem, .data = (const uint8_t *)note, .len = note->len + 1, .rows_from = (uint64_t)(uintptr_t)note};
        s->wait_us = WAIT_US;
    }
    if (end) out->last = true;
    *state = note ? WR_NEXT_CHUNK : end ? WR_NEXT_END : WR_NEXT_WAIT;
    *retry_us = s->wait_us;
    if (!note) s->wait_us = WR_MIN(s->wait_us + s->wait_us / 2, (int64_t)WAIT_MAX_US);
    return WR_OK;
}

static wr_status source_decode(wr_source *base, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *err) {
    (void)worker, (void)err;
    out->row_lines.n = 0;
    return chunk->len ? cdc_decode((cdc_source *)base, (const cdc_note *)(uintptr_t)chunk->rows_from, out) : WR_OK;
}

/* ---- positions ---- */

static void source_save(wr_source *base, wr_sbuf *out) {
    cdc_source      *s = (cdc_source *)base;
    const cdc_ranges *r = s->pos.ranges;
    wr_put_u8(out, SAVE_VERSION);
    wr_put_u8(out, (uint8_t)s->pos.phase);
    wr_put_u64(out, s->pos.lsn);
    wr_put_u64(out, s->pos.txn), wr_put_u64(out, s->pos.done);
    wr_put_u64(out, s->pos.phase == CDC_NEW ? 0 : s->system);
    wr_put_u64(out, atomic_load(&s->snapshot_rows));
    wr_put_u8(out, s->pos.begun);
    wr_put_bytes(out, s->pos_key.at, s->pos_key.len);
    wr_put_u32(out, r ? r->n : 0);
    for (uint32_t i = 0; r && i < r->n; i++) {
        wr_put_u64(out, r->at[i].lsn);
        wr_put_u8(out, r->at[i].upper.ptr != NULL);
        wr_put_bytes(out, r->at[i].upper.ptr, r->at[i].upper.len);
    }
}

static wr_str kept(cdc_source *s, wr_str bytes) { return (wr_str){wr_arena_strndup(s->arena, bytes.ptr ? bytes.ptr : "", bytes.len), bytes.len}; }

static wr_status source_load(wr_source *base, wr_reader *in, wr_err *err) {
    cdc_source *s = (cdc_source *)base;
    cdc_pos     p = {0};
    bool        known = wr_get_u8(in) == SAVE_VERSION;
    p.phase = (cdc_phase)wr_get_u8(in);
    p.lsn = wr_get_u64(in);
    p.txn = wr_get_u64(in), p.done = wr_get_u64(in);
    s->system = wr_get_u64(in);
    atomic_store(&s->snapshot_rows, wr_get_u64(in));
    p.begun = wr_get_u8(in);
    p.key = kept(s, wr_get_bytes(in));
    uint32_t n = wr_get_u32(in);
    if (!known || in->bad || p.phase > CDC_CHANGES || n > (uint32_t)(in->end - in->at)) return wr_fail(err, WR_CORRUPT, "XX001", "the saved position of the table '%.*s' is damaged", WR_FMT(s->table));
    cdc_ranges *r = n ? wr_arena_calloc(s->arena, sizeof *r + n * sizeof r->at[0]) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        r->at[i].lsn = wr_get_u64(in);
        bool   upper = wr_get_u8(in);
        wr_str key = wr_get_bytes(in);
        if (upper) r->at[i].upper = kept(s, key);
    }
    if (r) r->n = n;
    if (in->bad) return wr_fail(err, WR_CORRUPT, "XX001", "the saved position of the table '%.*s' is damaged", WR_FMT(s->table));
    p.ranges = r;
    set_pos(s, &p);
    s->loaded = p.phase != CDC_NEW;
    if (p.phase == CDC_CHANGES) s->lasting_lsn = p.lsn; /* confirmed when the next checkpoint lasts: until then somebody may go back to the one before */
    return WR_OK;
}

static void source_lasting(wr_source *base, wr_str positions) {
    cdc_source *s = (cdc_source *)base;
    wr_reader   in = {(const uint8_t *)positions.ptr, (const uint8_t *)positions.ptr + positions.len, false};
    if (wr_get_u8(&in) != SAVE_VERSION || wr_get_u8(&in) != CDC_CHANGES) return;
    uint64_t lsn = wr_get_u64(&in);
    if (in.bad) return;
    if (s->lasting_lsn) atomic_store(&s->confirmed, s->lasting_lsn);
    s->lasting_lsn = lsn;
}

/* ---- reports ---- */

static uint32_t one_partition(wr_source *base) { return (void)base, 1; }
static bool     source_bounded(wr_source *base) { return ((cdc_source *)base)->start == CDC_SNAPSHOT_ONLY; }
static void     source_partition_name(wr_source *base, uint32_t i, wr_sbuf *out) {
    const cdc_source *s = (cdc_source *)base;
    (void)i;
    wr_sbuf_printf(out, "%.*s.%.*s", WR_FMT(s->schema_name), WR_FMT(s->table_name));
}
static bool source_partition_done(wr_source *base, uint32_t i) {
    cdc_source *s = (cdc_source *)base;
    (void)i;
    wr_mutex_lock(s->lock);
    bool done = s->finished && !s->n_queue;
    wr_mutex_unlock(s->lock);
    return done;
}

/* Bytes of the server's log; what is left is how far the slot is behind. */
static void source_progress(wr_source *base, uint64_t *done, uint64_t *total) {
    cdc_source *s = (cdc_source *)base;
    uint64_t    first = atomic_load(&s->first_lsn), end = atomic_load(&s->server_lsn), at = s->pos.lsn;
    *done = *total = 0;
    if (s->pos.phase != CDC_CHANGES || s->start == CDC_SNAPSHOT_ONLY || at < first) return;
    *done = at - first;
    *total = WR_MAX(end, at) - first;
}

static void source_describe(wr_source *base, wr_sbuf *out) {
    cdc_source *s = (cdc_source *)base;
    uint64_t    end = atomic_load(&s->server_lsn);
    char        doing[sizeof s->doing], added[sizeof s->added];
    wr_mutex_lock(s->lock);
    memcpy(doing, s->doing, sizeof doing);
    memcpy(added, s->added, sizeof added);
    wr_mutex_unlock(s->lock);
    if (s->pos.phase == CDC_NEW && (s->start == CDC_LATEST || s->start == CDC_COMMITTED)) {
        wr_sbuf_printf(out, "changes of %s by slot %.*s, %s", s->quoted, WR_FMT(s->slot), s->start == CDC_LATEST ? "from now on" : "from where the slot is");
    } else if (s->pos.phase != CDC_CHANGES) {
        wr_sbuf_printf(out, "%" PRIu64 " rows of the snapshot of %s%s", atomic_load(&s->snapshot_rows), s->quoted, s->start == CDC_SNAPSHOT_ONLY ? "" : ", then changes");
    } else if (s->start == CDC_SNAPSHOT_ONLY) {
        wr_sbuf_printf(out, "the snapshot of %s, %" PRIu64 " rows", s->quoted, atomic_load(&s->snapshot_rows));
    } else {
        wr_sbuf_printf(out, "changes of %s by ", s->quoted);
        if (s->temporary) wr_sbuf_addz(out, "a temporary slot, ");
        else wr_sbuf_printf(out, "slot %.*s, ", WR_FMT(s->slot));
        wr_text_size((int64_t)(end > s->pos.lsn ? end - s->pos.lsn : 0), out);
        wr_sbuf_addz(out, " behind, for which the server keeps ");
        wr_text_size((int64_t)atomic_load(&s->kept_bytes), out);
    }
    if (*doing) wr_sbuf_printf(out, "; %s", doing);
    if (*added) wr_sbuf_printf(out, "; columns that were added since and are not read: %s", added);
}

static void source_left(wr_source *base, wr_sbuf *out) {
    cdc_source *s = (cdc_source *)base;
    if (s->start == CDC_SNAPSHOT_ONLY || s->pos.phase == CDC_NEW || s->temporary) return;
    wr_sbuf_printf(out, "the slot '%.*s' stays on %s: the server keeps its log for it until the job runs again, which fills its disk. If it will not: ", WR_FMT(s->slot), s->host);
    cdc_drop_hint(s, out);
    wr_sbuf_addz(out, "; DROP PUBLICATION ");
    db_put_name(out, s->publication);
}

static void source_close(wr_source *base) {
    cdc_source *s = (cdc_source *)base;
    if (s->thread) {
        wr_mutex_lock(s->lock);
        s->stopping = true;
        wr_mutex_unlock(s->lock);
        wr_bell_ring(s->bell);
        s->world->vt->join(s->world, s->thread);
    }
    for (; s->n_queue; s->n_queue--, s->head = (s->head + 1) % CDC_QUEUE_MAX) cdc_note_free(s, s->queue[s->head]);
    if (s->open) cdc_note_free(s, s->open);
    if (s->admin.c) pg_close(&s->admin);
    if (s->repl.c) pg_close(&s->repl);
    if (s->rows.c) pg_close(&s->rows);
    wr_sbuf_free(&s->pos_key);
    wr_sbuf_free(&s->now_key);
    wr_bell_free(s->bell);
    wr_mutex_free(s->lock);
    wr_arena_free(s->arena);
    wr_free(s);
}

static const wr_source_vt source_vt = {
    .name = "postgres-cdc", .next = source_next, .decode = source_decode, .partitions = one_partition, .partition_name = source_partition_name, .partition_done = source_partition_done,
    .save = source_save, .load = source_load, .lasting = source_lasting, .describe = source_describe, .progress = source_progress, .bounded = source_bounded, .left = source_left,
    .close = source_close, .messages = true, .log = true};

/* ---- making one ---- */

static bool check_metadata(const wr_table_info *t, wr_connect_ctx *ctx) {
    for (uint32_t c = t->n_physical; c < t->schema->n; c++) {
        wr_str      key = t->metadata_keys[c - t->n_physical];
        wr_type     type = t->schema->fields[c].type;
        bool        text = wr_str_eq(key, WR_STR("table_name")) || wr_str_eq(key, WR_STR("schema_name")) || wr_str_eq(key, WR_STR("database_name")), time = wr_str_eq(key, WR_STR("op_ts"));
        if (wr_str_eq(key, WR_STR(WR_UNCHANGED_KEY)) || (text && wr_type_is_string(type)) || (time && type.id == WR_T_TIMESTAMP_LTZ && type.prec == 3)) continue;
        if (text || time) wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR126", t->at, "the metadata column '%.*s' must be of type %s", WR_FMT(key), text ? "STRING" : "TIMESTAMP_LTZ(3)");
        else wr_diags_add(ctx->diags, WR_SEV_ERROR, "WR126", t->at, "'postgres-cdc' has no metadata '%.*s'; there are table_name, schema_name, database_name, op_ts", WR_FMT(key));
        return false;
    }
    return true;
}

static wr_str own_text(cdc_source *s, const wr_table_info *t, const char *key) { return kept(s, option_text(t, cdc_specs, key)); }

/* name='value', as libpq reads it. */
static void put_parameter(wr_sbuf *out, const char *name, wr_str value) {
    wr_sbuf_printf(out, "%s='", name);
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] == '\'' || value.ptr[i] == '\\') wr_sbuf_addc(out, '\\');
        wr_sbuf_addc(out, value.ptr[i]);
    }
    wr_sbuf_addz(out, "' ");
}

static bool good_slot_name(wr_str name) {
    for (size_t i = 0; i < name.len; i++)
        if (!(name.ptr[i] >= 'a' && name.ptr[i] <= 'z') && !(name.ptr[i] >= '0' && name.ptr[i] <= '9') && name.ptr[i] != '_') return false;
    return name.len > 0 && name.len < 64;
}

static void make_connections(cdc_source *s, const wr_table_info *t, int64_t port) {
    wr_sbuf url = {0};
    char    number[32];
    snprintf(number, sizeof number, "%" PRIi64, port);
    s->host = own_text(s, t, "hostname").ptr;
    put_parameter(&url, "host", wr_str_of(s->host));
    put_parameter(&url, "port", wr_str_of(number));
    put_parameter(&url, "dbname", s->database);
    s->admin = (pg_conn){.world = s->world, .name = s->table, .at = s->at, .url = kept(s, wr_sbuf_str(&url)).ptr, .user = own_text(s, t, "username").ptr, .password = own_text(s, t, "password").ptr, .retry_us = s->retry_us, .connect_s = 10};
    s->repl = s->rows = s->admin;
    s->repl.replication = true;
    wr_sbuf_clear(&url);
    db_put_name(&url, s->schema_name);
    wr_sbuf_addc(&url, '.');
    db_put_name(&url, s->table_name);
    s->quoted = kept(s, wr_sbuf_str(&url)).ptr;
    wr_sbuf_free(&url);
}

static wr_status read_options(cdc_source *s, const wr_table_info *t, wr_connect_ctx *ctx) {
    static const char *const starts[] = {"initial", "latest-offset", "committed-offset", "snapshot"};
    int64_t port = 0;
    wr_str  start = option_text(t, cdc_specs, "scan.startup.mode");
    if (!wr_option_int(&t->options, cdc_specs, "port", &port, ctx->diags) || !wr_option_duration(&t->options, cdc_specs, "connection.max-retry-timeout", &s->retry_us, ctx->diags) ||
        !wr_option_size(&t->options, wr_source_specs, "max-record-bytes", &s->max_record_bytes, ctx->diags) || !check_metadata(t, ctx)) return WR_USER;
    s->schema_name = own_text(s, t, "schema-name"), s->table_name = own_text(s, t, "table-name"), s->database = own_text(s, t, "database-name"), s->slot = own_text(s, t, "slot.name");
    s->publication = own_text(s, t, "debezium.publication.name");
    if (!s->publication.len) s->publication = s->slot;
    s->make_publication = !wr_str_ieq(option_text(t, cdc_specs, "debezium.publication.autocreate.mode"), WR_STR("disabled"));
    for (int i = 0; i < 4; i++)
        if (wr_str_ieq(start, wr_str_of(starts[i]))) s->start = (cdc_start)i;
    if (ctx->bounded_override) s->start = CDC_SNAPSHOT_ONLY;
    s->live_slot = s->slot.ptr;
    s->temporary = !s->keeps && s->start != CDC_COMMITTED;
    if (!good_slot_name(s->slot)) return option_error(ctx, t, "slot.name", "WR121", "'slot.name' is made of small letters, digits and '_', at most 63");
    if (t->n_key > 32) return option_error(ctx, t, "connector", "WR121", "a PRIMARY KEY of more than 32 columns");
    make_connections(s, t, port);
    return WR_OK;
}

wr_status cdc_source_make(const wr_table_info *t, wr_connect_ctx *ctx, cdc_source **out, wr_err *err) {
    *out = NULL;
    WR_TRY(pg_load(err));
    cdc_source *s = wr_calloc(1, sizeof *s);
    *s = (cdc_source){.base = {&source_vt}, .world = ctx->world, .acct = ctx->acct, .arena = wr_arena_new(NULL), .table = t->name, .at = t->at, .schema = t->schema, .n_physical = t->n_physical,
                      .metadata_keys = t->metadata_keys, .needed = t->needed, .n_key = t->n_key, .key = t->key, .batch_rows = ctx->batch_rows, .upsert = is_upsert(t), .keeps = ctx->keeps,
                      .wait_us = WAIT_US, .bell = wr_bell_new(), .lock = wr_mutex_new()};
    wr_status status = read_options(s, t, ctx);
    if (status == WR_OK) *out = s;
    else source_close(&s->base);
    return status;
}

wr_status cdc_source_new(const wr_table_info *t, wr_connect_ctx *ctx, wr_source **out, wr_err *err) {
    cdc_source *s;
    *out = NULL;
    WR_TRY(cdc_source_make(t, ctx, &s, err));
    wr_status status = cdc_examine(s, err);
    if (status == WR_OK) *out = &s->base;
    else source_close(&s->base);
    return status;
}

const wr_connector wr_connector_postgres_cdc = {.name = "postgres-cdc", .doc = "a table of a PostgreSQL database with all its changes: first the rows that are there, then what logical replication gives", .specs = cdc_specs,
                                                .metadata = cdc_metadata, .source_new = cdc_source_new, .bounded = bounded, .changes = changes, .partial_updates = true, .probe = cdc_probe};
