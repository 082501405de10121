/* connect/probe.h: what `weir doctor` asks of a connector: does the outside have everything that this table needs? (contract)
 *
 * Idea       a connector's probe (wr_connector.probe) looks at its server, file or directory and says one finding for each thing that it looked at, good
 *            or bad, with what to change. The first thing is whether the other end answers; what could then only fail as well is left out.
 * Invariant  a probe changes nothing: no table, topic, file, slot or group is made, nothing is committed. It reads no more than it needs to judge, and each of
 *            its calls to a server ends by itself within timeout_us.
 * Findings   `what` is a short name of the thing looked at and stays the same ("server", "topic", "columns"): tests and scripts go by it. `said` is what was
 *            found, with figures; of a fault `todo` is a command, SQL or an option that puts it right.
 * Not here   mistakes in the options themselves: they are diagnostics of the plan, and nothing is probed then.
 * Memory     texts go into the arena of the findings. One thread.                                                                     */
#pragma once
#include "connect/connect.h"

typedef enum wr_found {
    WR_FOUND_FINE,
    WR_FOUND_NOTE,       /* good to know, or it could not be looked at */
    WR_FOUND_WARNING,    /* the job runs, but not as well as it could, or not for ever */
    WR_FOUND_FAULT,      /* the job does not run */
} wr_found;
typedef enum wr_role { WR_ROLE_SOURCE, WR_ROLE_SINK, WR_ROLE_LOOKUP } wr_role;

typedef struct wr_finding {
    wr_found    found;
    wr_str      subject; /* "orders (kafka, source)" */
    const char *what;    /* static */
    wr_str      said, todo; /* todo: empty if there is nothing to do */
} wr_finding;
typedef struct wr_findings { /* zero is empty, but for the arena */
    wr_arena *arena;
    wr_str    subject;   /* of those that are added from now on */
    WR_ARR(wr_finding) list; /* in the arena */
} wr_findings;

typedef struct wr_probe_ctx {
    wr_role         role;
    int64_t         timeout_us;     /* of one call to a server */
    wr_connect_ctx *connect;        /* world, arena, diags, tz, n_workers; as the job would have it */
    bool            checkpoints;    /* the job will make checkpoints, */
    int64_t         interval_us;    /* so often */
    bool            goes_on;        /* there is a checkpoint: it says where sources begin */
    double          need_us;        /* sources: how far back the log has to reach so that the state behind it can be built anew; 0: nothing is remembered, -1: something for ever */
    const char     *need_by;        /* the operator that needs it */
    wr_findings    *out;
} wr_probe_ctx;

const char *wr_found_name(wr_found found); /* "ok", "note", "warning", "fault" */
WR_PRINTF(4, 5) void wr_find(wr_findings *out, wr_found found, const char *what, const char *fmt, ...);
WR_PRINTF(2, 3) void wr_find_todo(wr_findings *out, const char *fmt, ...);              /* of the finding added last */
void     wr_find_err(wr_findings *out, const char *what, const wr_err *err);            /* a fault: message and detail; its hint is what to do */
uint32_t wr_findings_count(const wr_findings *out, wr_found found);
void     wr_findings_text(const wr_findings *out, wr_sbuf *text);                       /* the table for people */
void     wr_findings_json(const wr_findings *out, wr_sbuf *text);                       /* an array */

/* Of a table as the plan has it: the connector's probe, and what any table may have: a registry of schemas, a file of dead letters. */
void     wr_probe_table(const wr_connector *connector, const wr_table_info *table, wr_probe_ctx *ctx);
/* What probes share: files and directories. nearest: the path itself, or the nearest directory above it that is there. */
bool     wr_probe_nearest(wr_world *world, wr_str path, wr_sbuf *out, wr_file_info *info);
void     wr_probe_writable_dir(wr_world *world, const char *dir, const char *what, wr_findings *out); /* may not be there yet: then the nearest one that is */

/* What probes of logs share. "retention": is as much there as the job needs (need_us)? False: too little; then *set_us and *set_bytes are what would do, -1: no need to change it. */
typedef struct wr_probe_kept {
    const char *log;                /* its name */
    double      time_us, partition_bytes; /* that are kept; -1: for ever, any */
    uint32_t    partitions;
    const char *time_key, *size_key;
} wr_probe_kept;
bool     wr_probe_kept_enough(const wr_table_info *table, const wr_probe_kept *kept, wr_probe_ctx *ctx, double *set_us, double *set_bytes);

/* What probes of databases share. */
typedef enum wr_fit { WR_FIT, WR_FIT_NARROW, WR_FIT_NOT } wr_fit; /* NARROW: holds such values, but not all of them */
typedef struct wr_probe_column { wr_str name, type; bool not_null, has_default; } wr_probe_column;
typedef struct wr_probe_columns {
    const char            *table;                                            /* as the database names it */
    uint32_t               n;
    const wr_probe_column *at;
    bool                   any_case;                                         /* names are equal in any case */
    wr_fit               (*fit)(wr_type ours, wr_str theirs, wr_role role);  /* NULL: any value goes into any column */
    void                 (*put_type)(wr_sbuf *sql, wr_type type);            /* the type that fits */
    bool                   backticks;                                        /* names and ALTER TABLE as MySQL writes them */
    const char            *alter_type;                                       /* between column and type in ALTER TABLE t ALTER COLUMN c ...; "TYPE" */
} wr_probe_columns;
/* "columns": every column that is written or needed is there and of a type that fits, and no other one must be given. */
void     wr_probe_db_columns(const wr_table_info *table, const wr_probe_columns *there, wr_probe_ctx *ctx);
