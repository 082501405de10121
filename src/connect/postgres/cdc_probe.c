/* connect/postgres/cdc_probe.c: what `weir doctor` looks at of a table that is read with its changes: all that the job would look at, and the slot.
 *
 * Idea       the job's own checks (cdc_server.c), which stop at the first fault, each as a finding; nothing is made.                             */
#include "connect/postgres/cdc.h"
#include "connect/probe.h"
#include <inttypes.h>
#include <stdio.h>

static bool look_at_login(cdc_source *s, wr_probe_ctx *ctx) {
    wr_err err = {0};
    char   limit[80];
    s->admin.retry_us = s->repl.retry_us = 0;
    s->admin.connect_s = s->repl.connect_s = (int)WR_MAX(ctx->timeout_us / 1000000, (int64_t)2);
    if (pg_connect(&s->admin, &err) != WR_OK) {
        bool answered = s->admin.c && pg_refused(&s->admin);
        wr_find_err(ctx->out, answered ? "login" : "server", &err);
        wr_find_todo(ctx->out, answered ? "check 'username', 'password' and 'database-name'; and the server's pg_hba.conf" : "is the server up, 'hostname' and 'port' right, and the way through firewalls open?");
        return false;
    }
    snprintf(limit, sizeof limit, "SET statement_timeout = %" PRIi64, ctx->timeout_us / 1000);
    if (pg_run(&s->admin, limit, "begin a session", &err) != WR_OK) return wr_find_err(ctx->out, "server", &err), false;
    wr_find(ctx->out, WR_FOUND_FINE, "login", "'%s' in the database '%.*s'", s->admin.user, WR_FMT(s->database));
    return true;
}

static void say_fine(cdc_source *s, const char *what, wr_findings *out) {
    if (!strcmp(what, "settings")) wr_find(out, WR_FOUND_FINE, what, "PostgreSQL %lu, wal_level is logical", s->version / 10000);
    else if (!strcmp(what, "table")) wr_find(out, WR_FOUND_FINE, what, "%s is there and may be read", s->quoted);
    else if (!strcmp(what, "columns")) wr_find(out, WR_FOUND_FINE, what, "%u, of types that fit; the replica identity says which row a change is of", s->n_physical);
    else if (s->start != CDC_SNAPSHOT_ONLY) wr_find(out, WR_FOUND_FINE, what, "'%.*s' has the table, or will be made", WR_FMT(s->publication));
}

static void look_at_slot(cdc_source *s, wr_probe_ctx *ctx) {
    wr_err    err = {0};
    cdc_slot  slot;
    PGresult *r;
    if (cdc_look_at_slot(s, &slot, &err) != WR_OK || pg_query(&s->admin, "SELECT current_setting('max_replication_slots')::int - count(*) FROM pg_replication_slots", 0, NULL, "count the slots", &r, &err) != WR_OK) {
        wr_find_err(ctx->out, "slot", &err);
        return;
    }
    char left[24];
    snprintf(left, sizeof left, "%s", pg.getvalue(r, 0, 0));
    pg.clear(r);
    bool none = left[0] == '0' || left[0] == '-';
    if (slot.active) wr_find(ctx->out, WR_FOUND_WARNING, "slot", "'%.*s' is being read: by this job, or by another one with its name", WR_FMT(s->slot)), wr_find_todo(ctx->out, "a 'slot.name' of its own for each table of each job");
    else if (!slot.there && ctx->goes_on) wr_find(ctx->out, WR_FOUND_WARNING, "slot", "'%.*s' is not there: if the checkpoint has rows of this table, the changes since are lost", WR_FMT(s->slot)), wr_find_todo(ctx->out, "begin anew with a new --state-dir");
    else if (slot.there) wr_find(ctx->out, WR_FOUND_FINE, "slot", "'%.*s' is there, at " PG_LSN_FMT, WR_FMT(s->slot), PG_LSN(slot.confirmed));
    else if (none) wr_find(ctx->out, WR_FOUND_FAULT, "slot", "'%.*s' has to be made, and all slots of the server are in use", WR_FMT(s->slot)), wr_find_todo(ctx->out, "raise max_replication_slots, or drop a slot that nobody needs: SELECT * FROM pg_replication_slots");
    else wr_find(ctx->out, WR_FOUND_FINE, "slot", "'%.*s' will be made; %s are free", WR_FMT(s->slot), left);
    if (!ctx->checkpoints) wr_find(ctx->out, WR_FOUND_NOTE, "checkpoints", "there are none, so each start reads all rows anew"), wr_find_todo(ctx->out, "weir run --state-dir DIR");
}

void cdc_probe(const wr_table_info *t, wr_probe_ctx *ctx) {
    cdc_source *s;
    wr_err      err = {0};
    if (cdc_source_make(t, ctx->connect, &s, &err) != WR_OK) {
        if (err.message[0]) wr_find_err(ctx->out, "client library", &err);
        return;
    }
    s->looks_only = true;
    bool fine = look_at_login(s, ctx);
    for (const cdc_step *step = cdc_steps; fine && step->what; step++) {
        fine = step->look(s, &err) == WR_OK;
        if (fine) say_fine(s, step->what, ctx->out);
        else wr_find_err(ctx->out, step->what, &err);
    }
    if (fine && s->start != CDC_SNAPSHOT_ONLY) {
        if (cdc_connect_replication(s, &err) == WR_OK) look_at_slot(s, ctx);
        else wr_find_err(ctx->out, "replication", &err);
    }
    s->base.vt->close(&s->base);
}
