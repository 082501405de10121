/* plan/tables.c: what binding needs of a table: its own expressions bound, types with time attributes, what its connector does.
 *
 * Idea       CREATE TABLE keeps computed columns and the watermark as written; here they are bound once a table, over the decoded columns
 *            (physical, then metadata), so that a source can compute them from a record.
 * Invariant  tinfo.exprs[i] is over `decoded`; schema has one field a table column; bad = a diagnostic was given, nobody else complains.
 * Memory     the arena of the plan.                                                                                  */
#include "plan/logical.h"
#include <stdlib.h>

wr_str pl_table_option(const wr_table *t, const char *key) { return wr_table_option_get(t, key); }

static void decoded_columns(pl *p, tinfo *ti) {
    const wr_table *t = ti->table;
    wr_field       *fields = wr_new_n(p->arena, wr_field, t->n_columns);
    ti->exprs = wr_new_n(p->arena, wr_expr *, t->n_columns);
    ti->metadata_keys = wr_new_n(p->arena, wr_str, t->n_columns);
    uint32_t n = 0, n_meta = 0;
    for (int pass = WR_COLUMN_PHYSICAL; pass <= WR_COLUMN_METADATA; pass++) {
        for (uint32_t i = 0; i < t->n_columns; i++) {
            const wr_column *c = &t->columns[i];
            if ((int)c->kind != pass) continue;
            if (pass == WR_COLUMN_METADATA) ti->metadata_keys[n_meta++] = c->metadata_key.len ? c->metadata_key : c->name;
            ti->exprs[i] = wr_expr_col(p->arena, n, c->type, c->at);
            fields[n++] = (wr_field){c->name, c->type};
        }
        if (pass == WR_COLUMN_PHYSICAL) ti->n_physical = n;
    }
    ti->decoded = (wr_schema){n, fields};
}

static bool computed_columns(pl *p, tinfo *ti, wr_str name) {
    const wr_table *t = ti->table;
    scope           sc = {.n = ti->decoded.n};
    srel            rel = {.alias = name, .n = ti->decoded.n, .fields = ti->decoded.fields};
    wr_arr_apush(p->arena, &sc.rels, rel);
    bool ok = true;
    for (uint32_t i = 0; i < t->n_columns; i++) {
        if (t->columns[i].kind != WR_COLUMN_COMPUTED) continue;
        bind b = {.p = p, .sc = &sc, .clause = "a computed column"};
        ti->exprs[i] = pl_bind_expr(&b, t->columns[i].expr);
        ok &= ti->exprs[i] != NULL;
    }
    return ok;
}

static bool watermark(pl *p, tinfo *ti, wr_field *fields) {
    const wr_table  *t = ti->table;
    if (t->watermark_column < 0) return true;
    const wr_column *c = &t->columns[t->watermark_column];
    wr_field        *f = &fields[t->watermark_column];
    if ((f->type.id != WR_T_TIMESTAMP && f->type.id != WR_T_TIMESTAMP_LTZ) || f->type.prec > 3) {
        wr_sbuf text = {0};
        wr_type_text(f->type, &text);
        pl_error(p, "42804", t->watermark_at, "the watermark column '%.*s' must be TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p <= 3, but it is %.*s", WR_FMT(c->name),
                 WR_FMT(wr_sbuf_str(&text)));
        wr_diags_hint(p->diags, "declare it as TIMESTAMP(3), or add a computed column: %.*s3 AS CAST(%.*s AS TIMESTAMP(3))", WR_FMT(c->name), WR_FMT(c->name));
        wr_sbuf_free(&text);
        return false;
    }
    scope sc = {.n = t->n_columns};
    srel  rel = {.alias = t->name, .n = t->n_columns, .fields = fields};
    wr_arr_apush(p->arena, &sc.rels, rel);
    bind     b = {.p = p, .sc = &sc, .clause = "WATERMARK"};
    wr_expr *e = pl_bind_expr(&b, t->watermark);
    if (!e) return false;
    if (e->type.id != WR_T_TIMESTAMP && e->type.id != WR_T_TIMESTAMP_LTZ) {
        pl_error(p, "42804", t->watermark->at, "the watermark must be a TIMESTAMP or TIMESTAMP_LTZ");
        return false;
    }
    ti->watermark = wr_expr_fold(&p->ec, wr_expr_substitute(p->arena, e, ti->exprs));
    int64_t delay;
    if (wr_expr_is_call(ti->watermark, "-") && pl_interval_const(p, ti->watermark->args[1], &delay)) ti->delay_us = (double)delay;
    f->type.attr = WR_TIME_ROWTIME;
    return true;
}

static void statistics(pl *p, tinfo *ti) {
    wr_str rate = pl_table_option(ti->table, "stats.rows-per-second"), bytes = pl_table_option(ti->table, "stats.row-bytes");
    if (!rate.ptr) rate = pl_table_option(ti->table, "rows-per-second"); /* datagen says it itself */
    char text[64];
    if (rate.ptr && rate.len < sizeof text) {
        memcpy(text, rate.ptr, rate.len), text[rate.len] = 0;
        ti->rate = strtod(text, NULL);
        ti->rate_declared = ti->rate > 0;
    }
    int64_t size;
    if (bytes.ptr && wr_parse_size(bytes, &size)) ti->row_bytes = (double)size;
    if (ti->rate <= 0) ti->rate = 1000;
    (void)p;
}

tinfo *pl_table_info(pl *p, const wr_table *table) {
    for (uint32_t i = 0; i < p->infos.n; i++)
        if (p->infos.at[i]->table == table) return p->infos.at[i];
    tinfo *ti = wr_new(p->arena, tinfo);
    ti->table = table;
    wr_arr_apush(p->arena, &p->infos, ti);
    decoded_columns(p, ti);
    wr_field *fields = wr_new_n(p->arena, wr_field, table->n_columns);
    if (!computed_columns(p, ti, table->name)) ti->bad = true;
    for (uint32_t i = 0; i < table->n_columns && !ti->bad; i++) {
        fields[i] = (wr_field){table->columns[i].name, ti->exprs[i]->type};
        if (wr_expr_is_call(ti->exprs[i], "PROCTIME")) fields[i].type.attr = WR_TIME_PROCTIME;
        else fields[i].type.attr = WR_TIME_NONE;
    }
    if (!ti->bad && !watermark(p, ti, fields)) ti->bad = true;
    ti->schema = (wr_schema){table->n_columns, fields};
    statistics(p, ti);
    if (p->ctx->connector) ti->connector = p->ctx->connector(table->connector);
    if (ti->connector) {
        ti->changes = ti->connector->source_changes ? ti->connector->source_changes(table) : 0;
        ti->bounded = ti->connector->bounded ? ti->connector->bounded(table) : false;
    }
    return ti;
}
