/* plan/contract.h: what a table promises to those who read it, what a reader needs of it, and whether the one covers the other. (contract)
 *
 * Idea       both are the same struct: a promise is made from the job that writes the table, needs from the job that reads it, as the plan has them, with what
 *            only people know from options of the table ('contract.*' where it is written, 'needs.*' where it is read). As text a contract is a CREATE
 *            TABLE with these options ('connector' = 'contract' or 'needs'), so that it is read by the parser, compared in reviews and kept beside the scripts.
 * Matching   by name: 'contract.name', else the table's; or by the place, where the names differ ("kafka orders").
 * Breaking   wr_contract_breaks: a need that a promise does not cover. wr_contract_changes: what became weaker between two promises, with or without readers.
 * Unknown    -1, an empty text, WR_ORDER_NONE: not promised; of needs: not needed.
 * Memory     texts and arrays in the arena that each function is given. One thread.                                              */
#pragma once
#include "plan/lineage.h"

typedef struct wr_contract_column { wr_str name; wr_type type; wr_str from; /* lineage in short; "" */ } wr_contract_column;
typedef struct wr_contract {
    bool        needs;          /* of a reader; else a promise */
    wr_str      table;          /* published under that name */
    wr_str      party;          /* a promise's owner, a reader's name; may be "" */
    wr_str      publisher;      /* promises: the job that writes it; may be "" */
    wr_str      file;           /* where it was read from or made of, for messages */
    wr_span     at;             /* in the script that is at hand; zero if it is another one */
    wr_str      place;          /* "kafka orders", "filesystem out/orders.jsonl" */
    uint32_t    n, n_key;
    wr_contract_column *columns; /* needs: those that are used, with the types that the reader reads them as */
    wr_str     *key;
    wr_str      event_time;
    int64_t     lateness_us;    /* a row comes at most so long after later ones, in event time */
    int         changes;        /* wr_changes; needs: APPEND, or -1: any */
    wr_order    order;
    uint32_t    n_order;        /* KEY: its columns; of needs none means the key */
    wr_str     *order_key;
    int         delivery;       /* 0 at least once, 1 once by key, 2 exactly once */
    int64_t     freshness_us;   /* a row is there so long after it happened */
    double      completeness;   /* per cent of the rows */
    int64_t     retention_us;   /* a row can be read for so long */
} wr_contract;
typedef WR_ARR(wr_contract) wr_contracts; /* in an arena */

/* Of a job: promises of the tables that it writes, needs of those that it reads. name: the job's. Wrong options are diagnostics at the table. */
void wr_contracts_of(const wr_job_plan *job, wr_str name, wr_str file, wr_arena *arena, wr_diags *diags, wr_contracts *promises, wr_contracts *needs);
/* Of a contract's text: a declared table with 'connector' = 'contract' or 'needs'. False: diagnostics. */
bool wr_contract_read(const wr_table *table, wr_str file, wr_arena *arena, wr_diags *diags, wr_contract *out);
/* The options of a table into a contract whose `needs` says which ones are meant; what is not given stays. False: diagnostics. */
bool wr_contract_options(const wr_table *table, wr_arena *arena, wr_diags *diags, wr_contract *contract);
void wr_contract_text(const wr_contract *contract, wr_sbuf *out);
void wr_contract_json(const wr_contract *contract, wr_sbuf *out);
bool wr_contract_is_of(const wr_contract *promise, const wr_contract *need); /* does the need speak of that table? */

/* One thing that is weaker than it must be, or than it was. */
typedef struct wr_contract_point {
    const char *what;           /* static: column, type, null, key, event-time, lateness, changes, order, delivery, freshness, completeness, retention, place, owner */
    wr_str      column;         /* "" if it is not about one */
    bool        weaker;         /* of changes: else it is as good or better */
    wr_str      said;
} wr_contract_point;
typedef WR_ARR(wr_contract_point) wr_contract_points; /* in an arena */
void wr_contract_breaks(const wr_contract *promise, const wr_contract *need, wr_arena *arena, wr_contract_points *out);
void wr_contract_changes(const wr_contract *was, const wr_contract *now, wr_arena *arena, wr_contract_points *out);
/* A change that breaks a reader though what is left would still do for it alone: a type that became narrower, another place. */
bool wr_contract_touches(const wr_contract_point *change, const wr_contract *was, const wr_contract *need);
/* Does every value of one type go into the other, by the widenings that contracts state? Nullability apart, but for what is nested. */
bool wr_contract_type_fits(wr_type from, wr_type into);
