/* plan/size.h: what the log behind a job costs: partitions, disk, network, money, and how long it takes to read a part of it again. (contract)
 *
 * Idea       plain arithmetic over a stated load; docs/sizing.md has every formula with its assumption. A MB is 10^6 bytes, a GiB 2^30, a month 730 hours.
 * Thread     any; plain data.                                                                                                  */
#pragma once
#include "plan/bill.h"

typedef struct wr_size_load {
    double rows_per_s, row_bytes;          /* row_bytes: on the wire, before compression */
    double ratio;                          /* bytes on disk for each byte before compression; 1: none */
    double replication, retention_s;
    double local_s;                        /* with tiered storage: what stays on the brokers' disks; 0: not tiered */
    double consumers;                      /* groups that read all of it */
    double consume_rows_per_s;             /* of one reader that catches up; 0: not known */
    double replay_s;                       /* of the log, read again */
    double zones;                          /* brokers are spread over so many; 1: one */
    bool   follower_fetch;                 /* consumers read from a replica in their own zone */
    double brokers, partitions;            /* 0: computed */
    double broker_disk_bytes, broker_net_bytes_per_s, broker_disk_bytes_per_s; /* of one; net: each way */
    double partition_bytes_per_s;          /* that one partition is given */
    double parallel;                       /* workers or instances that read one group; partitions are at least that many */
} wr_size_load;
void wr_size_defaults(wr_size_load *load); /* 3 replicas, 7 d, 1 consumer, 3 zones, 2 TB, 10 Gbit/s, 500 MB/s, 10 MB/s a partition */

typedef enum wr_size_why { WR_SIZE_GIVEN, WR_SIZE_THROUGHPUT, WR_SIZE_PARALLEL, WR_SIZE_DISK, WR_SIZE_NETWORK, WR_SIZE_REPLICAS, WR_SIZE_CONSUMER } wr_size_why;
const char *wr_size_why_text(wr_size_why why);
typedef struct wr_size {
    double      in_bytes_per_s;            /* compressed, once */
    double      partitions, brokers;
    wr_size_why partitions_why, brokers_why;
    double      local_bytes, remote_bytes; /* all brokers' disks with replicas; the object store, once */
    double      disk_per_broker, disk_per_replica; /* the latter: of one partition */
    double      net_in, net_out;           /* of one broker, bytes a second: producers and replicas in; replicas and consumers out */
    double      net_upload;                /* to the object store, all together */
    double      cross_zone_bytes;          /* a month */
    double      cache_bytes;               /* of one broker: the last ten minutes of what it is written */
    double      replay_bytes, replay_read_bytes_per_s, replay_rows_per_s, replay_us; /* replay_us -1: the reader never catches up */
    double      catch_up_us;               /* replay, and what arrives meanwhile; -1: never */
    wr_size_why replay_why;                /* what bounds it: disk, network or the consumer */
    bool        replay_kept;               /* the log keeps that much */
    double      disk_money, object_money, cross_zone_money; /* a month; -1: no price */
} wr_size;
/* Fills rate and row bytes of a queue that a job reads (kafka, upsert-kafka, log ...) from its options, else from its columns; false: the node is no such source. */
bool wr_size_of_source(const struct wr_pnode *node, wr_size_load *load, bool *rate_declared, bool *bytes_declared);
/* How far back the log has to reach, so that the state of what stands behind this source can be built anew from it (a backfill, an upgrade that rebuilds, an audit): along the longest way
 * from it, what the operators on it remember, one after the other (a window over what a join made of a row that waited for its partner). *by: the last one that adds to it. 0: nothing is remembered;
 * -1: something for ever, as long as its keys are. */
double wr_size_needed_us(const struct wr_job_plan *job, const struct wr_pnode *source, const struct wr_pnode **by);
/* What the table says its log keeps ('log.retention', else 'contract.retention': *key); -1: it does not. */
double wr_size_kept_us(const struct wr_pnode *source, const char **key);

typedef struct wr_log_need {               /* of one log: retention.c */
    const struct wr_pnode *source, *by;    /* by: the operator that needs the most; NULL: none does */
    double      needed_us, audit_us;       /* for the state, as wr_size_needed_us; for audits of periods, 0: there are none, -1: all of it */
    double      most_us;                   /* the larger one */
    double      kept_us;                   /* -1: not declared; */
    const char *kept_by;                   /* the option that says so */
} wr_log_need;
/* audit_us: a period and its lag (`weir run --audit-every, --audit-lag`), 0: no audits. False: no queue is read here. */
bool wr_log_need_of(const struct wr_job_plan *job, const struct wr_pnode *source, double audit_us, wr_log_need *out);
static inline bool wr_log_need_short(const wr_log_need *n) { return n->kept_us >= 0 && (n->most_us < 0 || n->most_us > n->kept_us); }
void wr_log_need_text(const wr_log_need *need, wr_sbuf *out);  /* "9 d of it, to build ... anew" */
void wr_log_need_json(const wr_log_need *need, wr_sbuf *out);  /* members of an object */
void wr_size_compute(const wr_size_load *load, const wr_prices *prices, wr_size *out); /* prices NULL: none */
