/* plan/plan.c: a script, statement by statement: DDL changes the catalog, INSERT and SELECT become jobs, SHOW and EXPLAIN texts.
 *
 * Idea       INSERTs that follow each other (DDL between them does not count) are gathered and planned as one job, so that they share their
 *            sources; a SET, SELECT, SHOW or EXPLAIN closes the gathered job.
 * Invariant  a failing statement never stops the script: its errors are in diags, the next statement is planned.
 * Memory     the arena of the context.                                                                                */
#include "plan/logical.h"

typedef struct driver {
    pl        p;
    wr_steps *out;
    lsinks    pending; /* INSERTs not planned yet */
    wr_span   pending_at;
    bool      set_ended; /* they are those of a statement set: materialized views still join them, other INSERTs do not */
} driver;

static void push_step(driver *d, wr_step step) { wr_arr_apush(d->p.arena, d->out, step); }

static void push_text(driver *d, wr_span at, wr_sbuf *text) {
    push_step(d, (wr_step){.kind = WR_STEP_TEXT, .at = at, .text = wr_str_dup(d->p.arena, wr_sbuf_str(text))});
    wr_sbuf_free(text);
}

static void flush(driver *d) {
    d->set_ended = false;
    if (!d->pending.n) return;
    wr_job_plan *job = pl_physical(&d->p, &d->pending);
    push_step(d, (wr_step){.kind = WR_STEP_JOB, .at = d->pending_at, .job = job});
    memset(&d->pending, 0, sizeof d->pending);
}

/* ---- settings ---- */

static void bad_setting(driver *d, wr_span at, const char *key, wr_str value, const char *expected) { /* says so once: back to the default */
    pl_error(&d->p, "22023", at, "'%s' = '%.*s': expected %s", key, WR_FMT(value), expected);
    wr_catalog_set(d->p.ctx->catalog, wr_str_of(key), (wr_str){NULL, 0});
}

static void apply_time_zone(driver *d, wr_span at) {
    wr_err       err = {0};
    wr_str       name = wr_catalog_get(d->p.ctx->catalog, "table.local-time-zone");
    const wr_tz *tz = NULL;
    if (name.len == 0 || wr_str_ieq(name, WR_STR("default"))) name = WR_STR("UTC");
    if (!wr_str_eq(name, WR_STR("UTC")) && wr_tz_load(d->p.ctx->world, name, &tz, &err) != WR_OK) {
        bad_setting(d, at, "table.local-time-zone", name, "a time zone such as 'Europe/Zurich', 'UTC' or 'GMT+02:00'");
        return;
    }
    d->p.tz = d->p.ec.tz = tz;
}

static void apply_settings(driver *d, wr_span at) {
    const wr_catalog *c = d->p.ctx->catalog;
    wr_str            ttl = wr_catalog_get(c, "table.exec.state.ttl"), unbounded = wr_catalog_get(c, "state.unbounded"), mode = wr_catalog_get(c, "execution.runtime-mode");
    apply_time_zone(d, at);
    d->p.ttl_us = 0;
    if (ttl.len && !wr_parse_duration(ttl, &d->p.ttl_us)) bad_setting(d, at, "table.exec.state.ttl", ttl, "a duration such as '1 d' or '12 h'");
    if (!wr_str_ieq(unbounded, WR_STR("accepted")) && !wr_str_ieq(unbounded, WR_STR("refused"))) bad_setting(d, at, "state.unbounded", unbounded, "'accepted' or 'refused'");
    d->p.accept_unbounded = d->p.ctx->accept_unbounded || wr_str_ieq(unbounded, WR_STR("accepted"));
    if (!wr_str_ieq(mode, WR_STR("streaming")) && !wr_str_ieq(mode, WR_STR("batch")) && !wr_str_ieq(mode, WR_STR("automatic")))
        bad_setting(d, at, "execution.runtime-mode", mode, "'streaming' or 'batch'");
    int64_t us;
    wr_str  every = wr_catalog_get(c, "execution.checkpointing.interval");
    if (every.len && (!wr_parse_duration(every, &us) || us <= 0)) bad_setting(d, at, "execution.checkpointing.interval", every, "a duration such as '10 s'");
    wr_str wait = wr_catalog_get(c, "execution.checkpointing.aligned-checkpoint-timeout"), overtake = wr_catalog_get(c, "execution.checkpointing.unaligned.enabled");
    if (wait.len && (!wr_parse_duration(wait, &us) || us < 0)) bad_setting(d, at, "execution.checkpointing.aligned-checkpoint-timeout", wait, "a duration such as '1 s', or '0'");
    if (!wr_str_ieq(overtake, WR_STR("true")) && !wr_str_ieq(overtake, WR_STR("false"))) bad_setting(d, at, "execution.checkpointing.unaligned.enabled", overtake, "'true' or 'false'");
    static const char *const numbers[] = {"execution.checkpointing.num-retained", "execution.checkpointing.tolerable-failed-checkpoints"};
    for (size_t i = 0; i < WR_COUNT_OF(numbers); i++) {
        wr_str text = wr_catalog_get(c, numbers[i]);
        size_t digits = 0;
        while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9') digits++;
        if (!text.len || digits < text.len || text.len > 6 || (i == 0 && text.ptr[0] == '0')) bad_setting(d, at, numbers[i], text, i ? "a number from 0 on" : "a number from 1 on");
    }
    wr_str remote = wr_catalog_get(c, "execution.checkpointing.remote");
    if (remote.len && !wr_str_starts(remote, WR_STR("s3://"))) bad_setting(d, at, "execution.checkpointing.remote", remote, "an object store: 's3://BUCKET/PREFIX'");
    wr_str phases = wr_catalog_get(c, "table.optimizer.agg-phase-strategy");
    if (!wr_str_ieq(phases, WR_STR("AUTO")) && !wr_str_ieq(phases, WR_STR("ONE_PHASE")) && !wr_str_ieq(phases, WR_STR("TWO_PHASE")))
        bad_setting(d, at, "table.optimizer.agg-phase-strategy", phases, "'AUTO', 'ONE_PHASE' or 'TWO_PHASE'");
}

bool pl_is_batch(const pl *p) {
    return (p->ctx->batch && !p->ctx->tail) || wr_str_ieq(wr_catalog_get(p->ctx->catalog, "execution.runtime-mode"), WR_STR("batch"));
}

static void list_settings(driver *d, wr_span at) {
    wr_sbuf                b = {0};
    size_t                 n;
    const wr_setting_info *all = wr_settings(&n);
    for (size_t i = 0; i < n; i++) {
        wr_str v = wr_catalog_get(d->p.ctx->catalog, all[i].key);
        wr_sbuf_printf(&b, "%-40s = %-12.*s  %s\n", all[i].key, WR_FMT(v), all[i].doc);
    }
    push_text(d, at, &b);
}

static void reset_all(driver *d, wr_span at) {
    size_t                 n;
    const wr_setting_info *all = wr_settings(&n);
    for (size_t i = 0; i < n; i++) wr_catalog_set(d->p.ctx->catalog, wr_str_of(all[i].key), (wr_str){NULL, 0});
    apply_settings(d, at);
}

static void set(driver *d, const wr_ast_stmt *s) {
    flush(d);
    if (!s->set.key.text.ptr) {
        if (s->kind == WR_STMT_SET) list_settings(d, s->at);
        else reset_all(d, s->at);
        return;
    }
    bool   reset = s->kind == WR_STMT_RESET;
    wr_str key = s->set.key.text;
    if (!wr_catalog_set(d->p.ctx->catalog, key, reset ? (wr_str){NULL, 0} : s->set.value.text) && !reset) {
        wr_str near = wr_setting_nearest(key);
        wr_diags_add(d->p.diags, WR_SEV_WARNING, "01000", s->set.key.at, "setting '%.*s' is not known and has no effect", WR_FMT(key));
        if (near.len) wr_diags_hint(d->p.diags, "did you mean '%.*s'?", WR_FMT(near));
    }
    apply_settings(d, s->set.value.at.line ? s->set.value.at : s->set.key.at);
}

/* ---- INSERT, SELECT ---- */

static void schema_list(const wr_field *f, uint32_t n, wr_sbuf *out) {
    for (uint32_t i = 0; i < n; i++) {
        wr_sbuf_printf(out, "%s%.*s ", i ? ", " : "", WR_FMT(f[i].name));
        wr_type t = f[i].type;
        t.attr = WR_TIME_NONE;
        wr_type_text(t, out);
    }
}

static void count_mismatch(pl *p, const wr_ast_insert *in, wr_span at, const lnode *q, const wr_field *want, uint32_t n) {
    wr_sbuf a = {0}, b = {0};
    schema_list(q->schema.fields, q->schema.n, &a);
    schema_list(want, n, &b);
    pl_error(p, "42601", at, "the query has %u column%s, but %s '%.*s' takes %u", q->schema.n, q->schema.n == 1 ? "" : "s", in->columns.n ? "the column list of" : "table",
             WR_FMT(in->name.part[in->name.n - 1].text), n);
    wr_diags_detail(p->diags, "query: (%.*s); table: (%.*s)", WR_FMT(wr_sbuf_str(&a)), WR_FMT(wr_sbuf_str(&b)));
    wr_sbuf_free(&a);
    wr_sbuf_free(&b);
}

enum { VALUE_OF_PARTITION = -2 };

/* Columns that an INSERT writes: physical ones and metadata that is not VIRTUAL. */
static wr_schema written(pl *p, const wr_table *t) {
    wr_field *f = wr_new_n(p->arena, wr_field, t->n_columns);
    uint32_t  n = 0;
    for (uint32_t i = 0; i < t->n_columns; i++)
        if (t->columns[i].kind == WR_COLUMN_PHYSICAL || (t->columns[i].kind == WR_COLUMN_METADATA && !t->columns[i].is_virtual))
            f[n++] = (wr_field){t->columns[i].name, t->columns[i].type};
    return (wr_schema){n, f};
}

/* PARTITION (c = value): these columns are not the query's. */
static bool column_values(pl *p, const wr_ast_insert *in, const wr_schema *w, const wr_table *t, int32_t *from) {
    for (uint32_t k = 0; k < in->partition.n; k++) {
        wr_ast_ident c = in->partition.at[k].column;
        int          at = wr_schema_find(w, c.text);
        if (at < 0) return pl_error(p, "42703", c.at, "PARTITION: column '%.*s' of table '%.*s' not found", WR_FMT(c.text), WR_FMT(t->name)), false;
        if (in->partition.at[k].value) from[at] = VALUE_OF_PARTITION - (int32_t)k;
    }
    return true;
}

/* For each written column the query column that fills it, -1 = NULL, VALUE_OF_PARTITION - k: the k-th of PARTITION. */
static int32_t *column_list(pl *p, const wr_ast_insert *in, const wr_schema *w, const wr_table *t, wr_field *want) {
    int32_t *from = wr_new_n(p->arena, int32_t, w->n + 1);
    bool     ok = true;
    for (uint32_t i = 0; i < w->n; i++) from[i] = -1;
    if (!in->columns.n) {
        uint32_t n = 0;
        if (!column_values(p, in, w, t, from)) return NULL;
        for (uint32_t i = 0; i < w->n; i++)
            if (from[i] == -1) want[n] = w->fields[i], from[i] = (int32_t)n++;
        return from;
    }
    if (!column_values(p, in, w, t, from)) return NULL;
    for (uint32_t i = 0; i < in->columns.n; i++) {
        wr_ast_ident c = in->columns.at[i].part[in->columns.at[i].n - 1];
        int          at = wr_schema_find(w, c.text);
        if (at >= 0 && from[at] != -1) {
            pl_error(p, "42701", c.at, "column '%.*s' is in the list twice", WR_FMT(c.text));
            ok = false;
        } else if (at >= 0) {
            from[at] = (int32_t)i;
            want[i] = w->fields[at];
        } else {
            wr_str *names = wr_new_n(p->arena, wr_str, w->n);
            for (uint32_t k = 0; k < w->n; k++) names[k] = w->fields[k].name;
            int near = wr_nearest(c.text, names, w->n);
            if (near >= 0) pl_error(p, "42703", c.at, "column '%.*s' of table '%.*s' not found; did you mean '%.*s'?", WR_FMT(c.text), WR_FMT(t->name), WR_FMT(names[near]));
            else pl_error(p, "42703", c.at, "column '%.*s' of table '%.*s' not found, or it is computed", WR_FMT(c.text), WR_FMT(t->name));
            ok = false;
        }
    }
    for (uint32_t i = 0; ok && i < w->n; i++) {
        if (from[i] != -1 || w->fields[i].type.nullable) continue;
        pl_error(p, "23502", in->name.at, "column '%.*s' of table '%.*s' is NOT NULL, but the INSERT leaves it out", WR_FMT(w->fields[i].name), WR_FMT(t->name));
        ok = false;
    }
    return ok ? from : NULL;
}

static lnode *fit(pl *p, lnode *q, const wr_ast_insert *in, const wr_schema *w, const int32_t *from, const wr_table *t) {
    scope none = {0};
    bind  b = {.p = p, .sc = &none, .clause = "PARTITION"};
    wr_expr **exprs = wr_new_n(p->arena, wr_expr *, w->n);
    wr_str   *names = wr_new_n(p->arena, wr_str, w->n);
    bool      ok = true;
    for (uint32_t i = 0; i < w->n; i++) {
        char what[256];
        wr_str text = pl_printf(p, "column '%.*s' of sink '%.*s'", WR_FMT(w->fields[i].name), WR_FMT(t->name));
        memcpy(what, text.ptr, WR_MIN(text.len, sizeof what - 1));
        what[WR_MIN(text.len, sizeof what - 1)] = 0;
        names[i] = w->fields[i].name;
        wr_type to = w->fields[i].type;
        if (from[i] == -1) {
            exprs[i] = wr_expr_const(p->arena, wr_value_null(to), q->at);
            continue;
        }
        if (from[i] >= 0) exprs[i] = pl_col(p, q, (uint32_t)from[i], q->at);
        else if (!(exprs[i] = pl_bind_expr(&b, in->partition.at[VALUE_OF_PARTITION - from[i]].value))) return NULL;
        if (exprs[i]->type.id == WR_T_NULL && !to.nullable) {
            pl_error(p, "23502", q->at, "%s is NOT NULL, however, a null value is being written into it", what);
            ok = false;
            continue;
        }
        to.nullable = exprs[i]->type.nullable; /* a NULL for a NOT NULL column is found when it comes */
        if (!wr_type_same(exprs[i]->type, to)) ok &= (exprs[i] = wr_expr_coerce(&p->ec, exprs[i], to, wr_arena_strndup(p->arena, what, strlen(what)))) != NULL;
    }
    return ok ? pl_calc(p, q, NULL, exprs, names, w->n, q->at) : NULL;
}

/* INSERT OVERWRITE, of a job that ends: one file is written anew. */
static const wr_table *overwritten(pl *p, const wr_ast_insert *in, const wr_table *t) {
    wr_str path = pl_table_option(t, "path");
    if (!wr_str_ieq(wr_catalog_get(p->ctx->catalog, "execution.runtime-mode"), WR_STR("batch"))) {
        pl_error(p, "0A000", in->name.at, "INSERT OVERWRITE is not for streams: there is no end at which the new rows could take the place of the old ones");
        wr_diags_hint(p->diags, "SET 'execution.runtime-mode' = 'batch'; Flink refuses it in streaming mode too");
        return NULL;
    }
    if (!wr_str_eq(t->connector, WR_STR("filesystem")) || !path.len || path.ptr[path.len - 1] == '/' || in->partition.n) {
        pl_error(p, "0A000", in->name.at, "INSERT OVERWRITE is for a 'filesystem' table of one file, as a whole");
        wr_diags_hint(p->diags, "take away the old rows with the tool of the store, then INSERT INTO");
        return NULL;
    }
    wr_table        *own = wr_new(p->arena, wr_table);
    wr_table_option *options = wr_new_n(p->arena, wr_table_option, t->n_options + 1);
    *own = *t;
    own->n_options = 0;
    for (uint32_t i = 0; i < t->n_options; i++)
        if (!wr_str_eq(t->options[i].key, WR_STR("sink.if-exists"))) options[own->n_options++] = t->options[i];
    options[own->n_options++] = (wr_table_option){WR_STR("sink.if-exists"), WR_STR("overwrite"), in->name.at};
    own->options = options;
    return own;
}

static const wr_table *sink_table(pl *p, const wr_ast_insert *in) {
    const wr_table *t = pl_find_table(p, &in->name, "table");
    if (!t) return NULL;
    if (t->is_view) return pl_error(p, "42809", in->name.at, "'%.*s' is a view: INSERT needs a table", WR_FMT(t->name));
    if (in->overwrite && !(t = overwritten(p, in, t))) return NULL;
    const wr_connector_ref *c = p->ctx->connector ? p->ctx->connector(t->connector) : NULL;
    if (c && !c->is_sink) return pl_error(p, "0A000", in->name.at, "table '%.*s' cannot be written: connector '%s' is only a source", WR_FMT(t->name), c->name);
    if (p->ctx->check_options && !p->ctx->check_options(t, false, p->diags)) return NULL;
    return pl_letters(p, pl_table_info(p, t)) ? t : NULL;
}

static bool insert(driver *d, const wr_ast_stmt *s, lsinks *into) {
    pl                  *p = &d->p;
    const wr_ast_insert *in = &s->insert;
    const wr_table      *t = sink_table(p, in);
    lnode               *q = pl_bind_query(p, in->query, NULL, true);
    if (!t || !q) return false;
    wr_schema w = written(p, t);
    wr_field *want = wr_new_n(p->arena, wr_field, WR_MAX(w.n, in->columns.n) + 1);
    int32_t  *from = column_list(p, in, &w, t, want);
    if (!from) return false;
    uint32_t n = in->columns.n;
    for (uint32_t i = 0; !in->columns.n && i < w.n; i++) n += from[i] >= 0;
    if (q->schema.n != n) return count_mismatch(p, in, in->query->at, q, want, n), false;
    lnode *root = fit(p, q, in, &w, from, t);
    if (root) root = pl_optimize(p, root);
    if (!root) return false;
    wr_arr_apush(p->arena, into, (lsink){.table = t, .root = root, .write_schema = w, .at = in->name.at});
    return true;
}

static bool select_into(driver *d, const wr_ast_stmt *s, lsinks *into) {
    uint32_t     before = d->p.diags->list.n;
    sorted_query o = {0};
    if (d->p.ctx->batch && !d->p.ctx->tail && pl_bind_sorted(&d->p, s->query, &o) && (o.root = pl_optimize(&d->p, o.root)) && o.root->props.bounded) {
        wr_arr_apush(d->p.arena, into, (lsink){.is_result = true, .root = o.root, .write_schema = o.root->schema, .at = s->at, .n_hidden = o.n_hidden, .n_order = o.n_order, .order = o.order});
        return true;
    }
    if (d->p.diags->list.n > before) return false; /* said already */
    lnode *q = pl_bind_query(&d->p, s->query, NULL, true);
    if (q) q = pl_optimize(&d->p, q);
    if (!q) return false;
    wr_arr_apush(d->p.arena, into, (lsink){.is_result = true, .root = q, .write_schema = q->schema, .at = s->at});
    return true;
}

/* A view that is dropped, or takes another's name, before its job was planned. */
static void forget_pending(driver *d, wr_str name) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->pending.n; i++)
        if (!d->pending.at[i].table || !d->pending.at[i].table->is_view || !wr_str_eq(d->pending.at[i].table->name, name)) d->pending.at[n++] = d->pending.at[i];
    d->pending.n = n;
}

/* CREATE MATERIALIZED VIEW, once the view is there: other queries read it as any view; its own rows are kept by the job. */
static void materialize(driver *d, const wr_ast_stmt *s) {
    pl                       *p = &d->p;
    const wr_ast_create_view *c = &s->create_view;
    wr_str                    name;
    if (!pl_object_name(p, &c->name, &name)) return;
    if (c->or_replace || c->or_alter) forget_pending(d, name);
    if (!c->materialized) return;
    const wr_table *t = wr_catalog_find(p->ctx->catalog, name);
    lnode          *q = pl_bind_query(p, c->query, NULL, true);
    wr_ast_idents columns = {0};
    for (uint32_t i = 0; i < c->columns.n; i++) wr_arr_apush(p->arena, &columns, c->columns.at[i].name);
    if (q) q = pl_rename_columns(p, q, &columns, c->name.at);
    for (uint32_t i = 0; q && i < q->schema.n; i++)
        if (wr_schema_find(&q->schema, q->schema.fields[i].name) != (int)i) {
            pl_error(p, "42701", c->name.at, "two columns of materialized view '%.*s' have the name '%.*s'", WR_FMT(name), WR_FMT(q->schema.fields[i].name));
            wr_diags_hint(p->diags, "name its columns: CREATE MATERIALIZED VIEW v (a, b) AS ..., or SELECT ... AS b");
            q = NULL;
        }
    if (q) q = pl_optimize(p, q);
    if (!q) return;
    if (!d->pending.n) d->pending_at = s->at;
    wr_arr_apush(p->arena, &d->pending, (lsink){.table = t, .root = q, .write_schema = q->schema, .at = c->name.at});
}

static bool only_views(const driver *d) {
    for (uint32_t i = 0; i < d->pending.n; i++)
        if (!d->pending.at[i].table || !d->pending.at[i].table->is_view) return false;
    return true;
}

static void gather(driver *d, const wr_ast_stmt *s) {
    if (d->set_ended) flush(d);
    if (!d->pending.n) d->pending_at = s->at;
    insert(d, s, &d->pending);
}

static void explain(driver *d, const wr_ast_stmt *s) {
    const wr_ast_stmt *inner = s->explain.stmt;
    lsinks             sinks = {0};
    bool               ok = true;
    flush(d);
    if (inner->kind == WR_STMT_INSERT) ok = insert(d, inner, &sinks);
    else if (inner->kind == WR_STMT_QUERY) ok = select_into(d, inner, &sinks);
    else if (inner->kind == WR_STMT_SET_OF_INSERTS)
        for (uint32_t i = 0; i < inner->inserts.n; i++) ok &= insert(d, inner->inserts.at[i], &sinks);
    else ok = pl_unsupported(&d->p, s->at, "EXPLAIN takes SELECT, INSERT or a STATEMENT SET", "EXPLAIN of this statement");
    if (!ok || !sinks.n) return;
    wr_job_plan *job = pl_physical(&d->p, &sinks);
    wr_sbuf      b = {0};
    if (s->explain.details & WR_EXPLAIN_JSON) wr_plan_explain_json(job, NULL, &b);
    else wr_plan_explain(job, NULL, &b);
    push_text(d, s->at, &b);
}

/* ---- other statements ---- */

/* A kind of which a script can make none: there is nothing to drop. */
static void drop_other(pl *p, const wr_ast_stmt *s) {
    if (!s->drop.if_exists) pl_error(p, "42704", s->drop.name.at, "materialized table '%.*s' not found", WR_FMT(s->drop.name.part[s->drop.name.n - 1].text));
}

static void drop(driver *d, const wr_ast_stmt *s) {
    pl    *p = &d->p;
    wr_str name;
    if (s->drop.what == WR_OBJ_DATABASE || s->drop.what == WR_OBJ_CATALOG) {
        pl_drop_space(p, s);
        return;
    }
    if (s->drop.what == WR_OBJ_FUNCTION) {
        flush(d);
        pl_drop_function(p, &s->drop);
        return;
    }
    if (s->drop.what != WR_OBJ_TABLE && s->drop.what != WR_OBJ_VIEW && s->drop.what != WR_OBJ_MATERIALIZED_VIEW) {
        drop_other(p, s);
        return;
    }
    if (s->drop.if_exists && !pl_has_database(p, &s->drop.name)) return;
    if (!pl_object_name(p, &s->drop.name, &name)) return;
    const wr_table *t = wr_catalog_find(p->ctx->catalog, name);
    if (!t && (s->drop.if_exists || pl_is_broken(p, name))) return;
    if (!t && !(t = pl_find_table(p, &s->drop.name, s->drop.what == WR_OBJ_TABLE ? "table" : "view"))) return;
    if (t->is_view != (s->drop.what != WR_OBJ_TABLE)) {
        pl_error(p, "42809", s->drop.name.at, "'%.*s' is a %s: use DROP %s", WR_FMT(name), t->is_view ? "view" : "table", t->is_view ? "VIEW" : "TABLE");
        return;
    }
    wr_catalog_drop(p->ctx->catalog, name);
    if (t->is_materialized) forget_pending(d, name);
}

/* CREATE TABLE t AS query, once t is there: INSERT INTO t (columns of the query) query. */
static wr_ast_stmt *fill_table(pl *p, const wr_ast_stmt *s) {
    wr_ast_stmt *in = wr_new(p->arena, wr_ast_stmt);
    const lnode *q = pl_bind_query(p, s->create_table.as, NULL, true);
    *in = (wr_ast_stmt){.kind = WR_STMT_INSERT, .at = s->at};
    in->insert = (wr_ast_insert){.name = s->create_table.name, .query = s->create_table.as};
    for (uint32_t i = 0; q && i < q->schema.n; i++) {
        wr_ast_ident *part = wr_new(p->arena, wr_ast_ident);
        *part = (wr_ast_ident){.text = q->schema.fields[i].name, .at = s->create_table.name.at};
        wr_arr_apush(p->arena, &in->insert.columns, ((wr_ast_name){.part = part, .n = 1, .at = part->at}));
    }
    return in;
}

static void statement(driver *d, const wr_ast_stmt *s) {
    pl     *p = &d->p;
    wr_sbuf b = {0};
    switch (s->kind) {
    case WR_STMT_CREATE_TABLE:
        if (pl_create_table(p, s) && s->create_table.as) gather(d, fill_table(p, s));
        return;
    case WR_STMT_CREATE_VIEW:
        if (pl_create_view(p, s)) materialize(d, s);
        return;
    case WR_STMT_DROP: drop(d, s); return;
    case WR_STMT_SET:
    case WR_STMT_RESET: set(d, s); return;
    case WR_STMT_INSERT: gather(d, s); return;
    case WR_STMT_SET_OF_INSERTS:
        if (!only_views(d)) flush(d); /* a statement set is a job of its own, with the materialized views before and after it */
        d->set_ended = false;
        for (uint32_t i = 0; i < s->inserts.n; i++) gather(d, s->inserts.at[i]);
        d->set_ended = true;
        return;
    case WR_STMT_QUERY: {
        lsinks one = {0};
        flush(d);
        if (select_into(d, s, &one)) push_step(d, (wr_step){.kind = WR_STEP_JOB, .at = s->at, .job = pl_physical(p, &one)});
        return;
    }
    case WR_STMT_EXPLAIN: explain(d, s); return;
    case WR_STMT_SHOW:
        flush(d);
        if (pl_show(p, s, &b)) push_text(d, s->at, &b);
        else wr_sbuf_free(&b);
        return;
    case WR_STMT_DESCRIBE:
        flush(d);
        if (pl_describe(p, s, &b)) push_text(d, s->at, &b);
        else wr_sbuf_free(&b);
        return;
    case WR_STMT_USE: pl_use(p, s); return;
    case WR_STMT_CREATE_FUNCTION:
    case WR_STMT_ALTER_FUNCTION:
        if (s->kind == WR_STMT_ALTER_FUNCTION || s->create_function.system) flush(d); /* a name that has meant something else */
        pl_create_function(p, s);
        return;
    case WR_STMT_CREATE_SPACE: pl_create_space(p, s); return;
    case WR_STMT_ALTER:
        flush(d); /* what was written before means the table as it was */
        pl_alter(p, s);
        return;
    }
}

wr_status wr_plan_script(wr_plan_ctx *ctx, const wr_script *script, wr_steps *out) {
    driver   d = {.out = out};
    uint32_t errors = ctx->diags->n_errors;
    d.p = (pl){.ctx = ctx, .arena = ctx->arena, .diags = ctx->diags, .n_bad = script->n_bad, .ec = {.arena = ctx->arena, .diags = ctx->diags, .world = ctx->world}};
    pl_user_names(&d.p);
    apply_settings(&d, (wr_span){0});
    for (uint32_t i = 0; i < script->stmts.n; i++) statement(&d, script->stmts.at[i]);
    flush(&d);
    return ctx->diags->n_errors > errors || script->n_bad ? WR_USER : WR_OK;
}
