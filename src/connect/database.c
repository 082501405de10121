/* connect/database.c: what the sinks and look-ups of SQL databases share: pieces of statements, rows that were refused, rows that were read.
 *
 * Idea       see parts.h. Each database adds its own connection, types and errors only.
 * Thread     any; what it works on belongs to its caller.                                                                     */
#include "connect/parts.h"
#include <inttypes.h>
#include <stdio.h>

db_columns db_columns_of(const wr_table_info *t, wr_arena *arena) {
    db_columns c = {t->schema, t->n_key, wr_new_n(arena, uint32_t, t->n_key + 1), '"'};
    for (uint32_t k = 0; k < t->n_key; k++) c.key[k] = t->key[k];
    return c;
}

void db_put_quoted(wr_sbuf *sql, wr_str name, char quote) {
    wr_sbuf_addc(sql, quote);
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == quote) wr_sbuf_addc(sql, quote);
        wr_sbuf_addc(sql, name.ptr[i]);
    }
    wr_sbuf_addc(sql, quote);
}
void db_put_name(wr_sbuf *sql, wr_str name) { db_put_quoted(sql, name, '"'); }

bool db_is_key(const db_columns *c, uint32_t col) {
    for (uint32_t k = 0; k < c->n_key; k++)
        if (c->key[k] == col) return true;
    return false;
}

void db_put_columns(const db_columns *c, wr_sbuf *sql) {
    for (uint32_t i = 0; i < c->schema->n; i++) {
        if (i) wr_sbuf_addz(sql, ", ");
        db_put_quoted(sql, c->schema->fields[i].name, c->quote);
    }
}

void db_put_keys(const db_columns *c, wr_sbuf *sql) {
    for (uint32_t k = 0; k < c->n_key; k++) {
        if (k) wr_sbuf_addz(sql, ", ");
        db_put_quoted(sql, c->schema->fields[c->key[k]].name, c->quote);
    }
}

void db_put_table(const db_columns *c, void (*put_type)(wr_sbuf *sql, wr_type type), wr_sbuf *sql) {
    wr_sbuf_addz(sql, " (");
    for (uint32_t i = 0; i < c->schema->n; i++) {
        const wr_field *f = &c->schema->fields[i];
        if (i) wr_sbuf_addz(sql, ", ");
        db_put_quoted(sql, f->name, c->quote);
        wr_sbuf_addc(sql, ' ');
        put_type(sql, f->type);
        if (!f->type.nullable) wr_sbuf_addz(sql, " NOT NULL");
    }
    if (c->n_key) {
        wr_sbuf_addz(sql, ", PRIMARY KEY (");
        db_put_keys(c, sql);
        wr_sbuf_addz(sql, ")");
    }
    wr_sbuf_addz(sql, ")");
}

void db_put_conflict(const db_columns *c, wr_sbuf *sql) {
    wr_sbuf_addz(sql, " ON CONFLICT (");
    db_put_keys(c, sql);
    wr_sbuf_addz(sql, c->n_key == c->schema->n ? ") DO NOTHING" : ") DO UPDATE SET ");
    bool first = true;
    for (uint32_t i = 0; i < c->schema->n; i++) {
        if (db_is_key(c, i)) continue;
        if (!first) wr_sbuf_addz(sql, ", ");
        first = false;
        db_put_name(sql, c->schema->fields[i].name);
        wr_sbuf_addz(sql, " = excluded.");
        db_put_name(sql, c->schema->fields[i].name);
    }
}

/* ---- transactions ---- */

bool db_try_again(wr_world *world, const wr_err *err, int64_t until_us) {
    enum { PAUSE_US = 200000 };
    if (!err->retriable || wr_mono_us(world) > until_us) return false;
    world->vt->sleep_us(world, PAUSE_US);
    return true;
}

wr_status db_newer_epoch(const char *database, wr_str table, uint64_t have, uint64_t epoch, wr_err *err) {
    wr_status status = wr_fail(err, WR_DATA, "55000", "%s is at epoch %" PRIu64 " of the table '%.*s', newer than the checkpoint's %" PRIu64, database, have, WR_FMT(table), epoch);
    wr_err_hint(err, "recover from the newest checkpoint; or, to go back on purpose, restore the database too");
    return status;
}

/* ---- rows that a database refused ---- */

void db_refusals_add(db_refusals *r, uint64_t row, const char *code, wr_str reason) {
    db_refusal one = {.row = row};
    snprintf(one.code, sizeof one.code, "%s", code);
    snprintf(one.reason, sizeof one.reason, "%.*s", WR_FMT(reason));
    wr_arr_push(&r->list, one);
}

static wr_status tell(db_refusals *r, const db_refusal *one, const wr_rowcodec *codec, uint8_t kind, wr_str bytes, wr_err *err) {
    wr_batch *b = wr_batch_new(r->schema->n, 4096);
    uint8_t  *kinds = wr_mem_calloc(b->mem, 1);
    for (uint32_t c = 0; c < r->schema->n; c++) wr_vec_init(&b->cols[c], r->schema->fields[c].type, 1, true, b->mem);
    kinds[0] = kind;
    b->kinds = kinds;
    b->n_rows = 1;
    wr_status status = wr_rowcodec_get(codec, bytes, b->cols, 0, b->mem) ? r->refuse->row(r->refuse->arg, b, 0, r->before + one->row, one->code, one->reason, err)
                                                                        : wr_fail(err, WR_CORRUPT, "XX001", "the staged rows are damaged");
    wr_batch_unref(b);
    return status;
}

wr_status db_refusals_tell(db_refusals *r, const wr_rowcodec *codec, wr_str log, wr_err *err) {
    wr_reader in = {(const uint8_t *)log.ptr, (const uint8_t *)log.ptr + log.len, false};
    uint64_t  row = 0;
    wr_status status = WR_OK;
    for (uint32_t next = 0; in.at < in.end && !in.bad && status == WR_OK; row++) { /* rows of the list ascend */
        uint8_t kind = wr_get_u8(&in);
        wr_str  bytes = wr_get_bytes(&in);
        if (next < r->list.n && r->list.at[next].row == row) status = tell(r, &r->list.at[next++], codec, kind, bytes, err);
    }
    r->before += row;
    r->list.n = 0;
    return status;
}

/* ---- rows that a look-up reads ---- */

wr_batch *lookup_row(const wr_schema *schema, wr_lookup_rows *out) {
    wr_batch *b = out->batches.n ? out->batches.at[out->batches.n - 1] : NULL;
    if (b && b->n_rows < LOOKUP_PIECE_ROWS) return b;
    b = wr_batch_new(schema->n, 32 * 1024);
    for (uint32_t c = 0; c < schema->n; c++) wr_vec_init(&b->cols[c], schema->fields[c].type, LOOKUP_PIECE_ROWS, true, b->mem);
    wr_arr_push(&out->batches, b);
    return b;
}

wr_status lookup_bad_value(const wr_field *field, const char *table, const char *database, wr_str text, wr_err *err) {
    wr_sbuf want = {0};
    wr_scalar_expected(field->type, ' ', &want);
    wr_fail(err, WR_DATA, "22000", "the table %s%s%s%s has '%.*s' in column '%.*s', expected %.*s", table, *database ? " in '" : "", database, *database ? "'" : "", (int)WR_MIN(text.len, 80u), text.ptr, WR_FMT(field->name), WR_FMT(wr_sbuf_str(&want)));
    wr_sbuf_free(&want);
    return WR_DATA;
}
