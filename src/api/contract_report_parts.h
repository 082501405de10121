/* api/contract_report_parts.h: what contract_report.c knows and contract_report_show.c shows. Private to api/. */
#pragma once
#include "api/contract_report.h"

wr_arena          *report_arena(wr_contract_book *book);
wr_str             report_team(const wr_contract_report *r, const wr_contract *c);
bool               report_is_output(const wr_contract *c);                       /* others could read it */
const wr_contract *report_contract_of(const wr_contract_report *r, const wr_contract *c); /* NULL: none */
bool               report_reads(const wr_contract_report *r, const wr_contract *need, const wr_contract *written);
uint32_t           report_readers(const wr_contract_report *r, const wr_contract *written);
bool               report_is_unused(const wr_contract_report *r, const wr_contract *promise); /* nobody is known who needs it */
bool               report_first(const wr_contract_report *r, const wr_contracts *all, uint32_t i); /* the first with its place */
uint32_t           report_producers(const wr_contract_report *r, const wr_contract *c);
wr_str             report_owner(const wr_contract_report *r, const wr_contract *promise, bool *by_folder); /* who it says, else the team in whose folder it lies; '' */
bool               report_new_team(const wr_contract_report *r, uint32_t file);  /* the first file of its team */
uint32_t           report_n_teams(const wr_contract_report *r);
uint32_t           report_n_jobs(const wr_contract_report *r);
typedef struct report_rule { wr_str name; const char *says; } report_rule;
enum { REPORT_RULES = 9 };
extern const report_rule report_rules[REPORT_RULES];
void               report_xml(wr_str text, wr_sbuf *out);

/* contract_report_kept.c */
void               report_read_slos(wr_contract_report *r, wr_str team, const char *state_dir);
void               report_judge_kept(wr_contract_report *r);
uint32_t           report_count_kept(const wr_contract_report *r, wr_str team, wr_kept_verdict verdict); /* team.ptr NULL: all */
void               report_kept_text(const wr_report_kept *kept, wr_sbuf *out);
void               report_kept_json(const wr_contract_report *r, const wr_report_kept *kept, wr_sbuf *out);

/* contract_report_lineage.c: tables that nobody in the tree writes, from which an output's column comes. jobs: so many stand in between, the writer of the output included. */
typedef struct wr_report_origin { const wr_contract *need; wr_str column; uint32_t jobs; } wr_report_origin;
typedef WR_ARR(wr_report_origin) wr_report_origins;
void               report_origins(const wr_contract_report *r, uint32_t output, wr_str column, wr_report_origins *out);
void               report_origin_tables(const wr_contract_report *r, uint32_t output, wr_report_origins *out); /* of all its columns; column: '' */
bool               report_is_orphan(const wr_contract_report *r, const wr_contract *c);
