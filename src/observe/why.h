/* observe/why.h: the one thing that limits a running job, from an observer's window: operator and class, the figures that show it, what to change. (contract)
 *
 * Root rule  waiting is seen everywhere upstream of a cause, so it accuses nobody. A job is limited when a source has input and may not read it; then the cause
 *            is who works, or waits for its other end, most of the time: each worker's time adds up to all of it (run/meter.c), so there is a largest part.
 *            When sources wait for input nothing limits the throughput; then rows may still wait for event time, or find no partner.
 * Ratios     only shares of time and of rows decide, never speeds: the verdict is the same on a machine that is ten times slower.
 * Thread     as the observer's.                                                                                                  */
#pragma once
#include "observe/observe.h"

typedef enum wr_why_class {
    WR_WHY_NOTHING, WR_WHY_MEASURING,                 /* measuring: the job has not run for long enough */
    WR_WHY_OPERATOR, WR_WHY_FUNCTION, WR_WHY_HOT_KEY, WR_WHY_SKEW, WR_WHY_FAN_OUT, WR_WHY_SINK, WR_WHY_LOOKUP, WR_WHY_MEMORY, WR_WHY_DISK, WR_WHY_SOURCE,
    WR_WHY_FUTURE, WR_WHY_EMPTY, WR_WHY_IDLE, WR_WHY_LATE, /* of event time and partners: the throughput is fine */
    WR_WHY_RATE, WR_WHY_NO_INPUT,
    WR_WHY_COUNT
} wr_why_class;
const char *wr_why_class_name(wr_why_class c);        /* "slow-sink", as in --json */

typedef struct wr_culprit {
    wr_why_class   is;
    const wr_pnode *node;                             /* NULL: none */
    char           key[96], partition[128];           /* "" none */
    double         share, confidence;                 /* of the time of its busiest instance; 0..1, how far it stands out */
    char           sentence[480], evidence[3][256], change[600];
    uint32_t       n_evidence;
} wr_culprit;
enum { WR_WHY_ALSO = 4 };
typedef struct wr_why {
    bool       limited;                               /* some source has input and may not read it */
    wr_culprit is, next;                              /* next.node NULL: nobody comes close */
    uint32_t   n_also;
    wr_culprit also[WR_WHY_ALSO];                     /* what else holds rows up; if limited: of event time and partners */
    double     span_s, waiting, blocked;              /* the window; shares of the time of the source that waits least */
} wr_why;
void wr_why_decide(const wr_observer *o, wr_why *out);
void wr_why_text(const wr_why *why, wr_sbuf *out);    /* lines */
void wr_why_json(const wr_why *why, wr_sbuf *out);    /* an object */
/* One sentence on why nothing came out for a while. */
void wr_why_silent(const wr_observer *o, const wr_job_status *s, wr_sbuf *out);
/* A picture of the job, some 20 lines and more; width in columns; colour: with ANSI sequences. */
void wr_top_text(const wr_observer *o, const wr_why *why, const char *name, uint32_t width, bool colour, wr_sbuf *out);
