/* api/link.h: the program's end of 'push' tables; private to api/ (link.c says how it works). */
#pragma once
#include "api/internal.h"

push_table      *push_find(wr_session *s, wr_str name);
push_table      *push_open(wr_session *s, const wr_table *table);           /* makes it on first use */
const wr_schema *push_schema(const push_table *p);
bool             push_add(wr_session *s, push_table *p, wr_batch *batch);   /* (takes) unless false: ended or stopped; waits for room */
void             push_end(push_table *p);
void             push_reopen(push_table *p);                                /* for the next run */
uint64_t         push_position(push_table *p);                              /* rows that a restored checkpoint has seen */
