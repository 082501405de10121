/* api/contract_report_lineage.c: where a column comes from over all jobs of the tree, and not only over the one that writes it.
 *
 * Idea       the lineage of a job names columns of the tables that it reads; the jobs that write these tables (the same place) name theirs, and so on, until nobody in the tree writes a table. A list of
 *            (output, column) is worked off in order, so the number of jobs in between is the least, and a ring of jobs ends.
 * Memory     texts are the report's.                                                                                        */
#include "api/contract_report_parts.h"

typedef struct step { uint32_t output; wr_str column; uint32_t jobs; } step;
typedef WR_ARR(step) steps;

static void visit(steps *all, uint32_t output, wr_str column, uint32_t jobs) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].output == output && wr_str_eq(all->at[i].column, column)) return;
    wr_arr_push(all, ((step){output, column, jobs}));
}

static void found(wr_report_origins *out, const wr_contract *need, wr_str column, uint32_t jobs) {
    for (uint32_t i = 0; i < out->n; i++)
        if (wr_str_eq(out->at[i].need->place, need->place) && wr_str_eq(out->at[i].column, column)) return;
    wr_arr_push(out, ((wr_report_origin){need, column, jobs}));
}

static bool has_column(const wr_contract *c, wr_str name) {
    for (uint32_t i = 0; i < c->n; i++)
        if (wr_str_eq(c->columns[i].name, name)) return true;
    return false;
}

/* "orders.price": a column of the table of which the job's need speaks. */
static bool of_table(wr_str item, wr_str table, wr_str *column) {
    if (item.len <= table.len + 1 || !wr_str_starts(item, table) || item.ptr[table.len] != '.') return false;
    *column = (wr_str){item.ptr + table.len + 1, item.len - table.len - 1};
    return true;
}

static void follow(const wr_contract_report *r, const wr_report_file *job, wr_str item, uint32_t jobs, steps *todo, wr_report_origins *out) {
    for (uint32_t n = job->needs[0]; n < job->needs[1]; n++) {
        const wr_contract *need = &r->jobs.needs.at[n];
        wr_str             column;
        bool               written = false;
        if (!of_table(item, r->in_table.at[n], &column)) continue;
        for (uint32_t p = 0; p < r->jobs.promises.n; p++) {
            const wr_contract *c = &r->jobs.promises.at[p];
            if (!report_reads(r, need, c) || !has_column(c, column)) continue;
            visit(todo, p, column, jobs + 1);
            written = true;
        }
        if (!written) found(out, need, column, jobs);
        return;
    }
}

void report_origins(const wr_contract_report *r, uint32_t output, wr_str column, wr_report_origins *out) {
    steps todo = {0};
    out->n = 0;
    visit(&todo, output, column, 1);
    for (uint32_t i = 0; i < todo.n; i++) {
        step                  s = todo.at[i];
        const wr_contract    *c = &r->jobs.promises.at[s.output];
        const wr_report_file *job = NULL;
        wr_str                from = {0}, item;
        for (uint32_t k = 0; k < c->n; k++)
            if (wr_str_eq(c->columns[k].name, s.column)) from = c->columns[k].from;
        for (uint32_t f = 0; f < r->files.n && !job; f++)
            if (r->files.at[f].job && s.output >= r->files.at[f].promises[0] && s.output < r->files.at[f].promises[1]) job = &r->files.at[f];
        while (job && from.len && wr_str_next(&from, ',', &item)) follow(r, job, wr_str_trim(item), s.jobs, &todo, out);
    }
    wr_arr_free(&todo);
}

void report_origin_tables(const wr_contract_report *r, uint32_t output, wr_report_origins *out) {
    wr_report_origins one = {0};
    const wr_contract *c = &r->jobs.promises.at[output];
    out->n = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        report_origins(r, output, c->columns[k].name, &one);
        for (uint32_t i = 0; i < one.n; i++) found(out, one.at[i].need, WR_STR(""), one.at[i].jobs);
    }
    wr_arr_free(&one);
}
