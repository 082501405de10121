/* plan/letters.c: the table that another one's dead letters go to ('dead-letter.table'): found, and checked column by column.
 *
 * Idea       it is a table like any other; its columns are known by name (catalog/letter.h), so it may declare those that it wants, in any order.
 * Joins      rows without a partner: 'join.unmatched.table' names such a table for all joins of the job.
 * Invariant  wr_p_source.letters, wr_pnode.sink.letters: NULL, or a table that can be written to whose physical columns are all fields of a letter.   */
#include "catalog/letter.h"
#include "plan/logical.h"

static bool fits(wr_letter_field field, wr_type type) {
    if (wr_letter_columns[field].type == WR_T_VARCHAR) return type.id == WR_T_VARCHAR || ((field == WR_LETTER_RAW || field == WR_LETTER_KEY) && type.id == WR_T_VARBINARY);
    return type.id == wr_letter_columns[field].type;
}

static const char *type_name(wr_letter_field field) {
    switch (wr_letter_columns[field].type) {
    case WR_T_BIGINT: return "BIGINT";
    case WR_T_TIMESTAMP_LTZ: return "TIMESTAMP_LTZ(3)";
    default: return field == WR_LETTER_RAW || field == WR_LETTER_KEY ? "STRING or BYTES" : "STRING";
    }
}

static void no_such_column(pl *p, const wr_table *t, const wr_column *c) {
    wr_str  names[WR_LETTER_FIELDS];
    wr_sbuf all = {0};
    for (int i = 0; i < WR_LETTER_FIELDS; i++) {
        names[i] = wr_str_of(wr_letter_columns[i].name);
        wr_sbuf_printf(&all, "%s%s", i ? ", " : "", wr_letter_columns[i].name);
    }
    pl_error(p, "WR396", c->at, "table '%.*s' takes dead letters, which have no column '%.*s'", WR_FMT(t->name), WR_FMT(c->name));
    int near = wr_nearest(c->name, names, WR_LETTER_FIELDS);
    if (near >= 0) wr_diags_hint(p->diags, "did you mean '%.*s'? There are: %s", WR_FMT(names[near]), all.at);
    else wr_diags_hint(p->diags, "there are: %s", all.at);
    wr_sbuf_free(&all);
}

static bool check_columns(pl *p, const wr_table *t) {
    bool fine = true, raw = false;
    for (uint32_t i = 0; i < t->n_columns; i++) {
        const wr_column *c = &t->columns[i];
        int              field = wr_letter_field_of(c->name);
        if (c->kind != WR_COLUMN_PHYSICAL) continue;
        if (field < 0) no_such_column(p, t, c);
        else if (!fits((wr_letter_field)field, c->type)) pl_error(p, "WR396", c->at, "column '%.*s' of the dead letters '%.*s' must be %s", WR_FMT(c->name), WR_FMT(t->name), type_name((wr_letter_field)field));
        fine = fine && field >= 0 && fits((wr_letter_field)field, c->type);
        raw = raw || field == WR_LETTER_RAW;
    }
    if (fine && !raw) {
        pl_error(p, "WR396", t->at, "table '%.*s' takes dead letters and has no column for the record itself", WR_FMT(t->name));
        wr_diags_hint(p->diags, "raw BYTES keeps every byte; raw STRING with raw_base64 STRING shows what is text as text");
    }
    return fine && raw;
}

/* A table by its name that can take letters; NULL after a diagnostic. of: says whose, such as "'dead-letter.table' of 'orders'". from: whose own letters it cannot take; NULL: nobody's. */
static const wr_table *table_for(pl *p, wr_str name, const char *of, const wr_table *from, wr_span at, const wr_connector_ref **connector) {
    const wr_table *t = wr_catalog_find(p->ctx->catalog, name);
    if (!t) t = wr_catalog_find(p->ctx->catalog, wr_catalog_name_in(p->ctx->catalog, wr_catalog_current(p->ctx->catalog), name));
    if (!t || t->is_view) {
        wr_str near = wr_catalog_nearest(p->ctx->catalog, name);
        pl_error(p, "WR396", at, "%s: there is no table '%.*s'", of, WR_FMT(name));
        if (near.len) wr_diags_hint(p->diags, "did you mean '%.*s'?", WR_FMT(near));
        return NULL;
    }
    const wr_connector_ref *c = p->ctx->connector ? p->ctx->connector(t->connector) : NULL;
    if (t == from || (c && !c->is_sink)) {
        if (t == from) pl_error(p, "WR396", at, "'%.*s' cannot take its own dead letters", WR_FMT(from->name));
        else pl_error(p, "WR396", at, "%s: letters cannot go to '%.*s', which is only read", of, WR_FMT(t->name));
        return NULL;
    }
    if (p->ctx->check_options && !p->ctx->check_options(t, false, p->diags)) return NULL;
    if (!check_columns(p, t)) return NULL;
    *connector = c;
    return t;
}

bool pl_letters(pl *p, tinfo *ti) {
    const wr_table *from = ti->table;
    wr_str          name = wr_str_trim(pl_table_option(from, "dead-letter.table")), policy = wr_str_trim(pl_table_option(from, "on-error"));
    if (ti->letters || !name.len || !wr_str_ieq(policy, WR_STR("dead-letter"))) return true;
    wr_span at = from->at;
    for (uint32_t i = 0; i < from->n_options; i++)
        if (wr_str_eq(from->options[i].key, WR_STR("dead-letter.table"))) at = from->options[i].at;
    ti->letters = table_for(p, name, wr_arena_printf(p->arena, "'dead-letter.table' of '%.*s'", WR_FMT(from->name)), from, at, &ti->letters_connector);
    return ti->letters != NULL;
}

void pl_unmatched(pl *p, wr_job_plan *job, wr_span at) {
    const wr_catalog *c = p->ctx->catalog;
    wr_str            table = wr_str_trim(wr_catalog_get(c, "join.unmatched.table"));
    job->unmatched_path = wr_str_trim(wr_catalog_get(c, "join.unmatched.path"));
    if (table.len && job->unmatched_path.len) {
        pl_error(p, "WR396", at, "rows without a partner go to one place, and both 'join.unmatched.path' and 'join.unmatched.table' are set");
        wr_diags_hint(p->diags, "RESET 'join.unmatched.path' or RESET 'join.unmatched.table'");
    } else if (table.len) job->unmatched = table_for(p, table, "'join.unmatched.table'", NULL, at, &job->unmatched_connector);
}

wr_str pl_refused(const wr_pnode *n, const wr_table **of, wr_str *to, const wr_table **letters) {
    *of = n->kind == WR_P_SOURCE ? n->source.table : n->kind == WR_P_SINK && !n->sink.is_result ? n->sink.table : NULL;
    *letters = n->kind == WR_P_SOURCE ? n->source.letters : n->kind == WR_P_SINK ? n->sink.letters : NULL;
    *to = (wr_str){"", 0};
    if (!*of) return *to;
    wr_str policy = wr_str_trim(pl_table_option(*of, "on-error"));
    if (!wr_str_ieq(policy, WR_STR("skip")) && !wr_str_ieq(policy, WR_STR("dead-letter"))) return *to;
    if (*letters) *to = (*letters)->name;
    else if (!wr_str_ieq(policy, WR_STR("skip"))) *to = wr_str_trim(pl_table_option(*of, "dead-letter.path"));
    return policy;
}
