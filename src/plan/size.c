/* plan/size.c: see size.h.
 *
 * Load       bytes a second B = rows x bytes x ratio. Brokers write B x replicas, spread evenly; each broker is sent B x replicas / brokers by producers and other brokers, and sends
 *            B x (replicas - 1) / brokers to other brokers and B x consumers / brokers to consumers.
 * Zones      a producer's broker is in another zone in (z - 1) of z cases; replicas are spread evenly, so with as many zones as replicas each copy goes to another one; a consumer reads from another zone in
 *            (z - 1) of z cases, unless it may read from a replica of its own.
 * Replay     what is read again goes through the brokers' disks and network that the usual load leaves, and through the consumer.                                                  */
#include "plan/size.h"
#include "plan/logical.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double MONTH_S = 730 * 3600.0, CACHE_S = 600, GIB = 1073741824.0, DISK_FULL = 0.75, NET_FULL = 0.5; /* shares of a broker's disk and network that are planned for */

void wr_size_defaults(wr_size_load *l) {
    *l = (wr_size_load){.rows_per_s = 1000, .row_bytes = 200, .ratio = 1, .replication = 3, .retention_s = 7 * 86400.0, .consumers = 1, .replay_s = 86400, .zones = 3, .parallel = 1,
                        .broker_disk_bytes = 2e12, .broker_net_bytes_per_s = 1.25e9, .broker_disk_bytes_per_s = 5e8, .partition_bytes_per_s = 1e7};
}

const char *wr_size_why_text(wr_size_why why) {
    static const char *const texts[] = {"as given", "by throughput", "so that each reader has one", "by disk", "by network", "one for each replica", "by the consumer"};
    return texts[why];
}

static double larger(double a, double b, wr_size_why *why, wr_size_why of_b) {
    if (b <= a) return a;
    *why = of_b;
    return b;
}

static void partitions(const wr_size_load *l, wr_size *s) {
    s->partitions_why = WR_SIZE_THROUGHPUT;
    s->partitions = WR_MAX(ceil(s->in_bytes_per_s / l->partition_bytes_per_s), 1.0);
    s->partitions = larger(s->partitions, l->parallel, &s->partitions_why, WR_SIZE_PARALLEL);
    if (l->partitions > 0) s->partitions = l->partitions, s->partitions_why = WR_SIZE_GIVEN;
}

static void brokers(const wr_size_load *l, wr_size *s) {
    double in = s->in_bytes_per_s * l->replication, out = s->in_bytes_per_s * (l->replication - 1 + l->consumers);
    s->brokers = l->replication, s->brokers_why = WR_SIZE_REPLICAS;
    s->brokers = larger(s->brokers, ceil(s->local_bytes / (l->broker_disk_bytes * DISK_FULL)), &s->brokers_why, WR_SIZE_DISK);
    s->brokers = larger(s->brokers, ceil(WR_MAX(in, out + s->net_upload) / (l->broker_net_bytes_per_s * NET_FULL)), &s->brokers_why, WR_SIZE_NETWORK);
    if (l->brokers > 0) s->brokers = l->brokers, s->brokers_why = WR_SIZE_GIVEN;
    s->disk_per_broker = s->local_bytes / s->brokers;
    s->disk_per_replica = s->local_bytes / s->partitions / l->replication;
    s->net_in = in / s->brokers, s->net_out = (out + s->net_upload) / s->brokers;
    s->cache_bytes = in * CACHE_S / s->brokers;
}

static void replay(const wr_size_load *l, wr_size *s) {
    double stored = l->row_bytes * l->ratio, disk = WR_MAX(l->broker_disk_bytes_per_s - s->net_in, 0) * s->brokers, net = WR_MAX(l->broker_net_bytes_per_s - s->net_out, 0) * s->brokers;
    s->replay_bytes = s->in_bytes_per_s * l->replay_s;
    s->replay_kept = l->replay_s <= l->retention_s;
    s->replay_why = disk <= net ? WR_SIZE_DISK : WR_SIZE_NETWORK;
    s->replay_read_bytes_per_s = WR_MIN(disk, net);
    if (l->consume_rows_per_s > 0 && l->consume_rows_per_s * stored < s->replay_read_bytes_per_s) s->replay_read_bytes_per_s = l->consume_rows_per_s * stored, s->replay_why = WR_SIZE_CONSUMER;
    s->replay_rows_per_s = stored > 0 ? s->replay_read_bytes_per_s / stored : 0;
    s->replay_us = s->replay_read_bytes_per_s > 0 ? s->replay_bytes / s->replay_read_bytes_per_s * 1e6 : -1;
    s->catch_up_us = s->replay_read_bytes_per_s > s->in_bytes_per_s ? s->replay_bytes / (s->replay_read_bytes_per_s - s->in_bytes_per_s) * 1e6 : -1;
}

static double cross_zone(const wr_size_load *l, const wr_size *s) {
    /* Replicas lie evenly in the zones: `full` in each, one more in `over` of them; the leader is any of them, and sends to those that are not in its zone. */
    double full = floor(l->replication / l->zones), over = l->replication - full * l->zones;
    double away = (l->zones - 1) / l->zones, copies = l->replication - (over * (full + 1) * (full + 1) + (l->zones - over) * full * full) / l->replication;
    return s->in_bytes_per_s * MONTH_S * (away + copies + (l->follower_fetch ? 0 : l->consumers * away));
}

void wr_size_compute(const wr_size_load *l, const wr_prices *prices, wr_size *s) {
    *s = (wr_size){.in_bytes_per_s = l->rows_per_s * l->row_bytes * l->ratio};
    bool tiered = l->local_s > 0 && l->local_s < l->retention_s;
    s->local_bytes = s->in_bytes_per_s * (tiered ? l->local_s : l->retention_s) * l->replication;
    s->remote_bytes = tiered ? s->in_bytes_per_s * l->retention_s : 0;
    s->net_upload = tiered ? s->in_bytes_per_s : 0;
    partitions(l, s);
    brokers(l, s);
    replay(l, s);
    s->cross_zone_bytes = cross_zone(l, s);
    s->disk_money = s->object_money = s->cross_zone_money = -1;
    if (!prices) return;
    s->disk_money = s->local_bytes / GIB * prices->log;
    s->object_money = s->remote_bytes / GIB * prices->object;
    s->cross_zone_money = s->cross_zone_bytes / GIB * prices->cross_zone;
}

static bool number_of(const wr_table *t, const char *key, double *out) {
    wr_str v = wr_table_option_get(t, key);
    char   text[64], *end;
    if (!v.ptr || v.len >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", WR_FMT(v));
    double n = strtod(text, &end);
    if (end == text || n <= 0) return false;
    *out = n;
    return true;
}

/* Of JSON the names, quotes and commas come with every row. */
static double wire_bytes(const wr_pnode *n) {
    double bytes = pl_row_bytes(&n->source.decoded);
    wr_str format = wr_table_option_get(n->source.table, "format");
    bool   json = format.ptr && memmem(format.ptr, format.len, "json", 4);
    for (uint32_t i = 0; json && i < n->source.decoded.n; i++) bytes += (double)n->source.decoded.fields[i].name.len + 4;
    return bytes;
}

bool wr_size_of_source(const struct wr_pnode *node, wr_size_load *load, bool *rate_declared, bool *bytes_declared) {
    if (node->kind != WR_P_SOURCE) return false;
    const wr_table *t = node->source.table;
    static const char *const others[] = {"http-ingest", "redis-streams", "nats", "mqtt"};
    bool queue = pl_is_queue(t);
    for (size_t i = 0; i < WR_COUNT_OF(others); i++) queue = queue || wr_str_eq(t->connector, wr_str_of(others[i]));
    if (!queue) return false;
    load->rows_per_s = 1000;
    load->row_bytes = wire_bytes(node);
    *rate_declared = number_of(t, "stats.rows-per-second", &load->rows_per_s);
    *bytes_declared = number_of(t, "stats.row-bytes", &load->row_bytes);
    return true;
}

/* How long a node remembers a row of its input; -1: for ever. */
static double remembered_us(const wr_pnode *n) {
    if (n->bill.bound == WR_BOUND_KEYS || n->bill.bound == WR_BOUND_NOTHING) return -1;
    if (n->bill.bound != WR_BOUND_TIME || n->kind == WR_P_LOCAL_AGG) return 0; /* what is combined before an exchange goes on with each batch */
    if (n->kind != WR_P_INTERVAL_JOIN) return n->bill.retention_us;
    return (double)WR_MAX(WR_MAX(n->interval_join.upper_us, -n->interval_join.lower_us), 0) + WR_MAX(n->bill.in[0].delay_us, n->bill.in[1].delay_us);
}

/* Rows of the same windows that its input made: it remembers them while that does, and not after it. */
static bool of_the_same_windows(const wr_pnode *n) {
    return n->kind == WR_P_WINDOW_JOIN || (n->kind == WR_P_WINDOW_AGG && n->window_agg.input_is_windowed) || (n->kind == WR_P_TOP_N && n->top_n.window_end >= 0);
}

double wr_size_needed_us(const struct wr_job_plan *job, const struct wr_pnode *source, const struct wr_pnode **by) {
    typedef struct reach { bool behind; double us; } reach; /* us: on the longest way from the source up to the node's output */
    reach *of = wr_calloc(job->nodes.n + 1, sizeof *of);    /* inputs come first in the plan */
    double most = 0;
    *by = NULL;
    of[source->index].behind = true;
    for (uint32_t i = source->index + 1; i < job->nodes.n && most >= 0; i++) {
        const wr_pnode *n = job->nodes.at[i];
        for (uint32_t k = 0; k < n->n_inputs + n->n_union; k++) {
            const reach *in = &of[k < n->n_inputs ? n->inputs[k].node->index : n->union_inputs[k - n->n_inputs].node->index];
            if (in->behind) of[i].behind = true, of[i].us = WR_MAX(of[i].us, in->us);
        }
        if (!of[i].behind || n->kind == WR_P_SINK || n->kind == WR_P_VIEW) continue;
        double own = remembered_us(n);
        of[i].us = of_the_same_windows(n) ? WR_MAX(of[i].us, own) : of[i].us + own;
        if (own < 0 || of[i].us > most) most = own < 0 ? -1 : of[i].us, *by = n;
    }
    wr_free(of);
    return most;
}

double wr_size_kept_us(const struct wr_pnode *source, const char **key) {
    static const char *const keys[] = {"log.retention", "contract.retention"};
    int64_t us;
    for (size_t i = 0; i < WR_COUNT_OF(keys); i++)
        if (wr_parse_duration(wr_str_trim(wr_table_option_get(source->source.table, keys[i])), &us)) return *key = keys[i], (double)us;
    *key = NULL;
    return -1;
}
