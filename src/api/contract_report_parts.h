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
bool               report_is_orphan(const wr_contract_report *r, const wr_contract *c);
