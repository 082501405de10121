/* api/internal.h: the session's parts, shared by the files of api/. */
#pragma once
#include "api/session.h"
#include <stdatomic.h>

typedef struct script_text { wr_str name, text; uint32_t lines_before; bool planned; } script_text;
typedef struct variable { wr_str name, value; bool used; } variable;
typedef struct subscriber { wr_str table; wr_session_rows call; void *arg; } subscriber;
typedef struct push_table push_table; /* link.c */

struct wr_session {
    wr_session_opts opts;
    wr_world       *world;
    wr_arena       *arena;
    wr_diags        diags;
    wr_catalog     *catalog;
    wr_plan_ctx     plan_ctx;
    WR_ARR(script_text) texts;
    WR_ARR(variable)    variables;
    WR_ARR(subscriber)  subscribers;
    WR_ARR(wr_step)     steps;
    uint32_t        n_run;        /* steps before it have run */
    _Atomic bool    stop;
    bool            stop_sent;    /* to the running job */
    const char     *stats_dir;    /* of the running job; NULL: nothing is remembered */
    int64_t         stats_saved_us;
    bool              again_only;     /* the next three: letters.c, for wr_run_opts */
    wr_again_request *again;
    const struct wr_checkpoint *again_from;
    const struct wr_checkpoint *until; /* the next three: backfill.c, for wr_run_opts */
    const bool     *muted;
    bool            next_version;
    wr_account      acct;
    uint64_t        id;           /* how a connector of ours finds the session again */
    wr_mutex       *push_lock;
    WR_ARR(push_table *) pushes;
};

/* text.c: ${NAME} outside comments becomes its value; quotes in it are doubled inside a literal. True if there was any. */
bool     text_substitute(wr_session *s, wr_str text, wr_sbuf *out);
/* A diagnostic for every name without a value, at its place; returns their number. */
uint32_t text_report_missing(wr_session *s, uint32_t file, wr_str text);

/* adapter.c: connect/'s registry in the form plan/ asks for. */
const wr_connector_ref *adapter_connector(wr_str name);
const wr_connector *letters_nowhere(void); /* letters.c: a sink that takes rows and lets them go */
bool adapter_check_options(const wr_table *table, bool as_source, wr_diags *diags);

/* link.c: the connectors 'push' and 'callback'. */
void link_open(wr_session *s);               /* gives the session its id and registers the connectors */
void link_close(wr_session *s);
/* Points the 'push' tables of a plan at this session, before it runs. */
void link_plan(wr_session *s, const wr_job_plan *plan);
/* Where the rows of a bare SELECT go when somebody wants them; NULL: printed. */
const wr_connector *link_result(const wr_session *s);
