/* serve/pg_server.c: the listener, the clients by number, the threads that run queries. See pg.h.
 *
 * Lock       one, for the list of clients, the queue of jobs and the counts. A client that is in the list may be asked to stop by others; all else of it is its own.
 * Closing    jobs are asked to end, the query threads end when the queue is empty, then the sockets are closed: so nobody wakes a connection that is gone.  */
#include "serve/pg_parts.h"

enum { CONNECTIONS = 1000, RESERVE = 64, QUERIES = 4, WAITING_MAX = 256, STARTUP_S = 10 };

query_limits pg_default_limits(void) {
    return (query_limits){.rows = 1000000, .bytes = UINT64_C(256) << 20, .memory_bytes = INT64_C(128) << 20, .time_us = INT64_C(60) * 1000000};
}

static uint32_t *count_of(pg_server *s, uint32_t *counts, const wr_user *user) { return user ? &counts[user - wr_users_at(s->opts.users, 0)] : NULL; }

bool server_admit(pg_client *c, wr_err *err) {
    pg_server *s = c->server;
    bool       ok = false;
    wr_mutex_lock(s->lock);
    uint32_t *mine = count_of(s, s->user_connections, c->user), most = c->user ? c->user->limits.connections : 0;
    if (s->stopping) wr_fail(err, WR_LIMIT, "57P03", "the job is ending");
    else if (s->starting) wr_fail(err, WR_LIMIT, "57P03", "the job is starting up");
    else if (s->n_ready >= s->opts.connections) wr_fail(err, WR_LIMIT, "53300", "sorry, too many clients already");
    else if (mine && most && *mine >= most) wr_fail(err, WR_LIMIT, "53300", "too many connections for role \"%s\"", c->user->name);
    else {
        ok = c->counted = true;
        s->n_ready++;
        if (mine) ++*mine;
    }
    wr_mutex_unlock(s->lock);
    return ok;
}

bool server_submit(pg_client *c, wr_err *err) {
    pg_server *s = c->server;
    bool       ok = false;
    wr_mutex_lock(s->lock);
    uint32_t *mine = count_of(s, s->user_queries, c->user), most = c->user ? c->user->limits.queries : 0;
    if (s->stopping) wr_fail(err, WR_LIMIT, "57P01", "the job is ending");
    else if (s->n_waiting >= WAITING_MAX) wr_fail(err, WR_LIMIT, "53400", "too many queries wait; try again");
    else if (mine && most && *mine >= most) wr_fail(err, WR_LIMIT, "53400", "role \"%s\" may run %u queries at a time", c->user->name, most);
    else {
        ok = true;
        if (mine) ++*mine;
        c->job.next = NULL;
        atomic_store(&c->job.done, false);
        *s->last = &c->job, s->last = &c->job.next;
        s->n_waiting++;
    }
    wr_mutex_unlock(s->lock);
    if (ok) wr_bell_ring(s->bell);
    return ok;
}

void server_cancel(pg_server *s, uint32_t pid, uint32_t secret) {
    wr_mutex_lock(s->lock);
    for (pg_client *c = s->clients; c; c = c->next) {
        if (c->pid != pid || c->secret != secret) continue;
        query_stop_ask(&c->stop);
        wr_conn_wake(c->conn);
    }
    wr_mutex_unlock(s->lock);
}

/* ---- query threads ---- */
static pg_job *take_job(pg_server *s, bool *end) {
    wr_mutex_lock(s->lock);
    pg_job *j = s->first;
    if (j) {
        s->first = j->next;
        if (!s->first) s->last = &s->first;
        s->n_waiting--;
    }
    bool more = s->first != NULL;
    *end = !j && s->stopping;
    wr_mutex_unlock(s->lock);
    if (more) wr_bell_ring(s->bell);
    return j;
}

static void run(void *arg) {
    pg_server *s = arg;
    for (bool end = false; !end;) {
        pg_job *j = take_job(s, &end);
        if (!j) {
            if (!end) wr_bell_wait(s->bell, 1000000);
            continue;
        }
        pg_client *c = j->client;
        if (atomic_load(&c->stop.asked)) j->status = wr_fail(&j->err, WR_CANCELLED, "57014", "canceling statement due to user request");
        else j->status = j->kind == PG_JOB_DESCRIBE ? query_describe(j->query, &j->err) : query_run(j->query, &j->args, &j->rows, &j->err);
        wr_mutex_lock(s->lock);
        uint32_t *mine = count_of(s, s->user_queries, c->user);
        if (mine) --*mine;
        atomic_store(&j->done, true);
        wr_conn_wake(c->conn); /* under the lock: a client that saw `done` by itself cannot be gone before */
        wr_mutex_unlock(s->lock);
    }
    wr_bell_ring(s->bell); /* for the next one */
}

/* ---- life ---- */
void pg_server_start(pg_server *s) {
    wr_mutex_lock(s->lock);
    s->starting = false;
    wr_mutex_unlock(s->lock);
}

wr_status pg_server_open(const pg_opts *opts, pg_server **out, wr_err *err) {
    pg_server *s = wr_calloc(1, sizeof *s);
    bool       loopback = false;
    *s = (pg_server){.opts = *opts, .starting = opts->starting, .limits = opts->limits, .lock = wr_mutex_new(), .bell = wr_bell_new(), .last = &s->first};
    query_limits d = pg_default_limits();
    if (!s->limits.rows) s->limits.rows = d.rows;
    if (!s->limits.bytes) s->limits.bytes = d.bytes;
    if (!s->limits.memory_bytes) s->limits.memory_bytes = d.memory_bytes;
    if (!s->limits.time_us) s->limits.time_us = d.time_us;
    if (!s->opts.connections) s->opts.connections = CONNECTIONS;
    uint32_t n_users = opts->users ? wr_users_count(opts->users) : 0, n_threads = WR_MIN(opts->queries ? opts->queries : (uint32_t)QUERIES, (uint32_t)WR_COUNT_OF(s->threads));
    s->user_connections = wr_calloc(n_users + 1, sizeof(uint32_t));
    s->user_queries = wr_calloc(n_users + 1, sizeof(uint32_t));
    wr_status status = WR_OK;
    if (wr_net_listen_ok(wr_str_of(opts->listen), &loopback) && !loopback && !opts->users) {
        status = wr_fail(err, WR_USER, "WR401", "%s can be reached from other machines, and nobody would be asked who they are", opts->listen);
        wr_err_hint(err, "--users FILE, or --pg 127.0.0.1:PORT");
    }
    for (uint32_t i = 0; status == WR_OK && i < n_threads; i++) {
        status = opts->world->vt->spawn(opts->world, "query", run, s, &s->threads[i], err);
        s->n_threads += status == WR_OK;
    }
    wr_net_opts net = {.listen = opts->listen, .cert_file = opts->cert_file, .key_file = opts->key_file, .connections = s->opts.connections + RESERVE, .idle_us = STARTUP_S * INT64_C(1000000),
                       .self = s, .turn = client_turn, .gone = client_gone, .closed = client_closed};
    if (status == WR_OK) status = wr_net_open(opts->world, &net, &s->net, err);
    if (status == WR_OK) *out = s;
    else pg_server_close(s), *out = NULL;
    return status;
}

void pg_server_close(pg_server *s) {
    if (!s) return;
    wr_mutex_lock(s->lock);
    s->stopping = true;
    for (pg_client *c = s->clients; c; c = c->next) query_stop_ask(&c->stop);
    wr_mutex_unlock(s->lock);
    wr_bell_ring(s->bell);
    for (uint32_t i = 0; i < s->n_threads; i++) s->opts.world->vt->join(s->opts.world, s->threads[i]);
    wr_net_close(s->net);
    wr_bell_free(s->bell);
    wr_mutex_free(s->lock);
    wr_free(s->user_connections);
    wr_free(s->user_queries);
    wr_free(s);
}

const char *pg_server_address(const pg_server *s) { return wr_net_address(s->net); }
