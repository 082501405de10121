/* observe/why_parts.h: the parts of `why` among themselves. Private to observe/. */
#pragma once
#include "observe/why.h"

typedef struct look {                  /* the window, and what is known of it */
    const wr_observer   *o;
    const wr_job_status *before, *now;
    double   span_ns, memory;          /* memory: share of the time in which sources are held back by the budget */
    uint32_t n_running;                /* sources that have not ended */
    const wr_pnode *held;              /* the source that waits least for input */
} look;
void   why_times(look *l, wr_why *out);             /* why_time.c: fills out->also */
bool   why_upstream(const look *l, uint32_t from, uint32_t node); /* do rows of `from` reach `node`? */
wr_str why_table(const wr_pnode *p);                /* that it reads, writes or asks; "" none */
WR_PRINTF(2, 3) void why_evidence(wr_culprit *f, const char *fmt, ...);
WR_PRINTF(2, 3) void why_change(wr_culprit *f, const char *fmt, ...);
