/* connect/connect.h: one source and one sink interface in front of every connector. (contract)
 *
 * Sources    `next` hands out the next chunk of raw input; it is called under the job's turn lock, in turn order, so it must be cheap
 *            (say which bytes, cut at a record's end; no parsing). What takes longer can be left to `read`, which like `decode` is called without any
 *            lock, by any worker, for different chunks at the same time. Positions (save/load) describe exactly the chunks handed out so far, so a checkpoint is a cut between turns.
 * Order      rows keep their order within a partition; between partitions there is no order. Each file is a partition.
 * Sinks      rows written since the last prepare belong to the next epoch. prepare() makes them durable or returns them as staged bytes that
 *            the checkpoint stores; commit() makes them visible and is idempotent; recover() after a crash gets the last complete epoch
 *            and its staged bytes: it commits that epoch if it was not, and removes everything newer. Without checkpoints the runtime calls
 *            flush() from time to time and at the end, and close(ok).
 * Thread     sinks: one worker owns an instance. Blocking calls are allowed in write/prepare/commit (they are measured as sink time);
 *            a checkpoint waits for them, so a sink that may block for long has drain(). */
#pragma once
#include "format/format.h"
#include "sys/world.h"

typedef struct wr_table_info {       /* what a connector may know of a table */
    wr_str           name;
    const wr_schema *schema;         /* source: physical + metadata columns, in this order; sink: columns written */
    uint32_t         n_physical;
    const wr_str    *metadata_keys;  /* for columns >= n_physical: 'file.path', 'offset' ... */
    const wr_str    *written_metadata; /* sink: per column its metadata key, ptr NULL for a physical one; NULL: there is none */
    uint32_t         n_key;          /* PRIMARY KEY */
    const uint32_t  *key;            /* columns */
    wr_options       options;
    wr_span          at;
    const uint8_t   *needed;         /* per column, sources only */
    wr_str           base_dir;       /* directory of the SQL file: relative paths are resolved against the working directory; kept for messages */
} wr_table_info;

/* Where a sink puts a row that its other end does not take for what is in it; the others it writes. The worker that owns the sink: in write, flush, commit
 * and recover. `number`: of the row among all that the sink was given since it was made. An error: more of them than the table's options allow. */
typedef struct wr_refuse {
    void *arg;
    wr_status (*row)(void *arg, const wr_batch *batch, uint32_t row, uint64_t number, const char *code, const char *reason, wr_err *err);
} wr_refuse;

typedef struct wr_connect_ctx {
    wr_world    *world;
    wr_arena    *arena;              /* lives as long as the job */
    wr_account  *acct;               /* buffers are charged here */
    wr_diags    *diags;
    const wr_tz *tz;
    uint32_t     n_workers, batch_rows;
    size_t       chunk_bytes;        /* sources: bytes of one chunk; 0 = the connector's own */
    bool         bounded_override, tail_override; /* test matrix and CLI: force 'bounded' / 'tail' where the connector has both */
    bool         next_version;       /* sinks: write beside the output what is to take its place (wr_output below) */
    bool         one_file;           /* filesystem sink: 'path' is a file whatever its name looks like */
    const wr_refuse *refuse;         /* sinks: NULL: a row that cannot be taken is an error ('on-error' = 'fail') */
    bool         final_rows;         /* print: --final */
    bool         keeps;              /* sources: checkpoints are on, so lasting() will be called */
    void       (*wake)(void *arg);   /* sources: there may be input now: `next` is asked at once, not after retry_us. Any thread, until close returns. NULL: in simulation */
    void        *wake_arg;
    const char  *print_style;        /* result: "table", "jsonl", "changelog-jsonl", "changelog-csv" */
    void        *result_arg;         /* for an embedder's own result connector (wr_run_opts.result) */
} wr_connect_ctx;

typedef enum wr_next { WR_NEXT_CHUNK, WR_NEXT_WAIT, WR_NEXT_END } wr_next; /* WAIT: nothing now, ask again after retry_us */
typedef struct wr_chunk {
    uint32_t       partition;
    bool           first;            /* of its partition, from position 0 */
    bool           last;             /* the partition ends with it (may come with len 0) */
    uint64_t       offset;           /* byte offset of data[0] in the partition, or row number for generators; of a queue's messages (wr_source_vt.messages) 0 */
    wr_mem        *mem;              /* (owned by the chunk) keeps data */
    const uint8_t *data;             /* NULL though len > 0: its bytes are still to be read (wr_chunk_read) */
    size_t         len;
    uint64_t       rows_from, rows_to; /* generators: rows to make, no data */
} wr_chunk;

typedef struct wr_again {            /* a dead letter on its way back: catalog/letter.h says what each is */
    wr_str  partition, raw, key, context; /* ptr NULL: there is none */
    int64_t offset;                  /* -1: not known */
} wr_again;
typedef struct wr_source wr_source;
typedef struct wr_source_vt {
    const char *name;
    /* `held`: partitions (bitmap by index, may be NULL) that run ahead and must not be read now. */
    wr_status (*next)(wr_source *, const uint64_t *held, wr_chunk *out, wr_next *state, int64_t *retry_us, wr_err *);
    wr_status (*read)(wr_source *, wr_chunk *chunk, wr_err *);         /* the bytes of a chunk that `next` gave without them; any worker, once for each. NULL: it gives them */
    wr_status (*decode)(wr_source *, uint32_t worker, const wr_chunk *chunk, wr_decoded *out, wr_err *); /* behind wr_chunk_read */
    uint32_t  (*partitions)(wr_source *);                              /* known so far; grows */
    void      (*partition_name)(wr_source *, uint32_t partition, wr_sbuf *out); /* "orders/0001.jsonl" */
    bool      (*partition_done)(wr_source *, uint32_t partition);      /* will never give another chunk */
    void      (*save)(wr_source *, wr_sbuf *out);
    wr_status (*load)(wr_source *, wr_reader *in, wr_err *);
    /* Before the first next: hand out nothing that lies behind these positions (as saved); then next says WAIT and at_limit true, though the input
     * may have more. NULL: this source cannot be read again up to a position. */
    wr_status (*until)(wr_source *, wr_reader *positions, wr_err *);
    bool      (*at_limit)(wr_source *);
    /* A checkpoint with these positions (as saved) will last. NULL: it is nothing to this source. Any thread; must not block. */
    void      (*lasting)(wr_source *, wr_str positions);
    void      (*describe)(wr_source *, wr_sbuf *out);                  /* "2 files, 34.1 MiB, bounded, from the start" */
    void      (*progress)(wr_source *, uint64_t *done, uint64_t *total); /* bytes or rows; total: known so far, also of an input without an end; 0 = unknown */
    bool      (*bounded)(wr_source *);
    void      (*left)(wr_source *, wr_sbuf *out);                      /* what it leaves behind on a server when the job ends, and how that is removed; may be NULL */
    void      (*close)(wr_source *);
    /* What there is of a refused record: *raw, its bytes, if they are not those that are bad; its key (ptr NULL: none); members of a JSON object. NULL: nothing
     * but bad->raw. Any worker. */
    void      (*beside)(wr_source *, const wr_chunk *chunk, const wr_bad_record *bad, wr_str *raw, wr_str *key, wr_sbuf *context);
    /* A chunk that holds one record which was refused before, as it was or put right, to be decoded as if it came from there. Under the turn lock. NULL:
     * records cannot be put back. */
    wr_status (*again)(wr_source *, const wr_again *record, wr_chunk *out, wr_err *err);
    /* What a chunk holds, without decoding it: n_records, n_lines and n_blank of *out as decode would have them; and when its first record came, by the wall
     * clock (WR_TIME_MIN: not known). False: only decode can tell how many they are. Any worker. NULL: neither is known. */
    bool      (*glance)(wr_source *, const wr_chunk *chunk, wr_decoded *out, int64_t *came_us);
    uint64_t  (*turned_away)(wr_source *);                             /* requests that were not taken, since nothing more could be; NULL: those who write never hear of it */
    bool        log;                 /* progress counts bytes of a database's log */
    bool        messages;            /* a bad record's offset is the message's own, not a byte of the partition */
    bool        closes_door;         /* 'drop-newest' is done where the rows come in */
} wr_source_vt;
struct wr_source { const wr_source_vt *vt; };
/* Whoever was given a chunk, before anything else is done with its bytes. */
WR_INLINE wr_status wr_chunk_read(wr_source *s, wr_chunk *chunk, wr_err *err) { return !chunk->data && chunk->len && s->vt->read ? s->vt->read(s, chunk, err) : WR_OK; }

typedef struct wr_sink wr_sink;
typedef struct wr_sink_vt {
    const char *name;
    wr_status (*write)(wr_sink *, const wr_batch *batch, wr_err *);    /* all live rows, with kinds */
    wr_status (*flush)(wr_sink *, wr_err *);
    wr_status (*prepare)(wr_sink *, uint64_t epoch, wr_sbuf *staged, wr_err *);
    wr_status (*commit)(wr_sink *, uint64_t epoch, wr_str staged, wr_err *);
    wr_status (*recover)(wr_sink *, uint64_t epoch, wr_str staged, wr_err *); /* epoch 0: nothing was ever completed */
    wr_status (*close)(wr_sink *, bool ok, wr_err *);                  /* ok: the job ended or stopped cleanly. Frees the sink */
    /* Sinks whose other end may take its time: write only begins with a batch, drain goes on with it. *busy: it is not through; then this waits for
     * room for no longer than wait_us. While it is busy nothing is written or prepared that has rows of this batch: a checkpoint has the batch among the
     * rows in flight, and a restore writes it again. NULL: write returns when it is through. */
    wr_status (*drain)(wr_sink *, int64_t wait_us, bool *busy, wr_err *);
} wr_sink_vt;
struct wr_sink { const wr_sink_vt *vt; };

typedef enum wr_sink_takes { WR_SINK_APPEND, WR_SINK_UPSERT, WR_SINK_ALL } wr_sink_takes; /* +I only; +I/+U/-D by key; all four kinds */
typedef enum wr_guarantee { WR_AT_LEAST_ONCE, WR_IDEMPOTENT, WR_EXACTLY_ONCE } wr_guarantee;

/* ---- outputs in two versions (output.c) ----
 * A sink made with next_version writes to a hidden sibling (files), or to a table NAME__next of the same database (sqlite). wr_outputs_swap puts it in
 * the output's place; what was there stays as .NAME.old, or NAME__old, until the next swap. Every step may be done again after a crash.        */
typedef struct wr_output {
    bool     database, kept;         /* kept: no new version; of a database only weir_epoch has to follow */
    wr_str   sink;                   /* table of the script */
    wr_str   path;                   /* the file, the directory or the database */
    wr_str   table, job;             /* database: the table, and the job's name in weir_epoch */
    uint64_t inode, device;          /* files: of the new version; wherever it lies tells how far the swap came */
} wr_output;
void      wr_output_put(const wr_output *output, wr_sbuf *out);
void      wr_output_get(wr_output *output, wr_reader *in);           /* borrows */
/* Removes a new version that was begun; nothing there is fine. */
wr_status wr_output_discard(wr_world *world, const wr_output *output, wr_err *err);
/* Is the new version there? Notes where. */
wr_status wr_output_look(wr_world *world, wr_output *output, wr_err *err);
/* All of one database in one transaction, files by renaming. `epoch`: of the checkpoint that is to be recovered from afterwards, in place of `was`. */
wr_status wr_outputs_swap(wr_world *world, const wr_output *outputs, uint32_t n, uint64_t epoch, uint64_t was, wr_err *err);

/* ---- tables that are asked by key: FOR SYSTEM_TIME AS OF processing time (lookup.c) ---- */
typedef struct wr_lookup wr_lookup;
typedef struct wr_lookup_rows {
    WR_ARR(wr_batch *) batches;
    uint64_t n_bad;                  /* records left out ('on-error' = 'skip') */
    /* The whole table: batches go there as they come, so that it need not fit into memory (a connector may still keep some to the end). NULL: they are kept. */
    wr_status (*take)(void *arg, wr_batch *batch /* (takes) */, wr_err *err);
    void     *arg;
} wr_lookup_rows;
/* All that is kept so far goes to `take`, if there is one. */
wr_status wr_lookup_rows_pass(wr_lookup_rows *rows, wr_err *err);
typedef struct wr_lookup_vt {
    const char *name;
    /* The rows whose key columns are equal to one of the keys, in any order, appended to `out` in batches of the table's schema (columns that nobody needs:
     * all NULL). keys: a column for each key column, all rows live, distinct, without NULLs; NULL = the whole table. May block. An error with `retriable`
     * is tried again. One thread at a time. */
    wr_status (*get)(wr_lookup *, const wr_batch *keys, wr_lookup_rows *out, wr_err *);
    void      (*close)(wr_lookup *);
} wr_lookup_vt;
struct wr_lookup { const wr_lookup_vt *vt; };
typedef enum wr_lookup_way { WR_LOOKUP_NOT, WR_LOOKUP_WHOLE, WR_LOOKUP_BY_KEY } wr_lookup_way; /* WHOLE: it can only be read as a whole, so it is kept in memory */
struct wr_connector;
struct wr_probe_ctx;
wr_lookup_way wr_lookup_way_of(const struct wr_connector *c, const wr_table_info *table);
/* One for each thread that asks. `whole`: it will be asked for the whole table only. */
wr_status wr_lookup_open(const wr_table_info *table, const uint32_t *keys, uint32_t n_keys, bool whole, wr_connect_ctx *ctx, wr_lookup **out, wr_err *err);
extern const wr_option_spec wr_lookup_specs[];

typedef struct wr_connector {
    const char           *name;
    const char           *doc;       /* one line */
    const wr_option_spec *specs;     /* ends with key == NULL; format options are added by the format */
    bool                  needs_format;
    bool                  records, upsert; /* messages with key and value (format/records.h) instead; the key replaces */
    const char *const    *metadata;  /* readable metadata keys, ends with NULL; may be NULL */
    wr_format_changes (*changes)(const wr_table_info *); /* sources without a format: what they give. NULL: inserts */
    bool                  partial_updates; /* an upsert source: a row may leave columns as they are, see WR_UNCHANGED_KEY in type/batch.h */
    /* NULL = not a source / not a sink. Problems with options go to ctx->diags at the option's span (return WR_USER); the world's to err. */
    wr_status (*source_new)(const wr_table_info *, wr_connect_ctx *, wr_source **, wr_err *);
    wr_status (*sink_new)(const wr_table_info *, wr_connect_ctx *, wr_sink **, wr_err *);
    /* Sinks: the output that a new version can take the place of. NULL: it has none. Strings in ctx->arena. */
    wr_status (*output)(const wr_table_info *, wr_connect_ctx *, wr_output *out, wr_err *);
    wr_sink_takes (*takes)(const wr_table_info *);       /* sinks */
    wr_guarantee  (*guarantee)(const wr_table_info *);   /* sinks, with checkpoints on */
    bool parallel_sink;                                  /* one instance per worker is fine (blackhole) */
    uint8_t lag_known;                                   /* sources: wr_lag_units in which 'overload.lag' may be given; 0: none */
    bool (*bounded)(const wr_table_info *);              /* sources: will the input end? from options only */
    /* Tables that can be asked by key. NULL: a source that ends can be read as a whole. */
    wr_status (*lookup_new)(const wr_table_info *, const uint32_t *keys, uint32_t n_keys, wr_connect_ctx *, wr_lookup **, wr_err *);
    /* A number that is another one when the table has changed. NULL: that cannot be seen. */
    wr_status (*version)(const wr_table_info *, wr_connect_ctx *, uint64_t *out, wr_err *);
    /* `weir doctor`: looks at all that the table needs outside, changes nothing, and says what it found (probe.h). NULL: there is nothing outside. */
    void (*probe)(const wr_table_info *, struct wr_probe_ctx *);
} wr_connector;
const wr_connector *wr_connector_find(wr_str name);
const wr_connector *const *wr_connectors(size_t *n);
/* Adds a connector that lives above connect/ (api/: 'push', 'callback'); a name that is there already is left alone. Process-wide, any thread.
 * At most 16; the connector is never freed. */
void wr_connector_register(const wr_connector *connector);
/* Checks all options of a table against connector and format: unknown ones get the nearest name, missing ones are named, an unknown connector
 * or format gets the list of what there is. Adds diagnostics; false if any error. Options every source has ('on-error', 'dead-letter.path',
 * 'scan.idle-timeout', 'watermark.future-guard', 'watermark.alignment', 'max-record-bytes', 'overload.*') are known here too: wr_source_specs. */
bool wr_table_options_check(const wr_table_info *table, bool as_source, wr_diags *diags);
/* What a table's options say of records that are refused (refusal.c). */
typedef enum wr_on_error { WR_ON_ERROR_FAIL, WR_ON_ERROR_SKIP, WR_ON_ERROR_DEAD_LETTER } wr_on_error;
typedef struct wr_refusal_policy {
    wr_on_error on_error;
    wr_str      path, table;         /* DEAD_LETTER: one of them is given */
    uint64_t    window, most;        /* records of a window; most of them that may be refused, UINT64_MAX: all */
} wr_refusal_policy;
bool wr_refusal_policy_read(const wr_options *options, wr_refusal_policy *out, wr_diags *diags); /* false: a diagnostic was added */
/* What a source does when it has fallen further behind than it may (overload.c; run/shed.c does it). */
typedef enum wr_overload_policy { WR_OVERLOAD_WAIT, WR_OVERLOAD_DROP_OLDEST, WR_OVERLOAD_DROP_NEWEST, WR_OVERLOAD_SAMPLE } wr_overload_policy;
typedef enum wr_lag_unit { WR_LAG_ROWS = 1, WR_LAG_BYTES = 2, WR_LAG_TIME = 4 } wr_lag_unit;
typedef struct wr_overload {
    wr_overload_policy policy;
    wr_lag_unit        unit;         /* of `most`: progress() counts records, or bytes; or microseconds since a record came */
    int64_t            most;         /* further behind than that is too far */
    uint32_t           per_million;  /* SAMPLE: so many rows are kept */
} wr_overload;
const char *wr_overload_policy_name(wr_overload_policy policy);
bool wr_overload_read(const wr_options *options, const wr_connector *connector, wr_overload *out, wr_diags *diags); /* false: a diagnostic was added */
/* What is promised of a table while the job runs: 'slo.*' (slo_options.c). */
typedef enum wr_slo_kind { WR_SLO_FRESHNESS, WR_SLO_LATENCY, WR_SLO_LAG, WR_SLO_COMPLETENESS } wr_slo_kind;
enum { WR_SLO_TARGETS = 8, WR_SLO_LOSSES = 10 };
extern const char *const wr_slo_losses[WR_SLO_LOSSES];             /* reasons of the ledger that count against completeness */
typedef struct wr_slo_target {
    wr_slo_kind kind;
    const char *name;                /* static: "freshness", "latency.p99" */
    double      quantile, limit;     /* of latency; microseconds, messages or bytes, share */
} wr_slo_target;
typedef struct wr_slo_options {
    uint32_t      n;
    wr_slo_target at[WR_SLO_TARGETS];
    double        objective;
    int64_t       window_us, for_us, completeness_window_us;
    uint32_t      except;            /* bitmap of wr_slo_losses */
} wr_slo_options;
bool wr_slo_options_read(const wr_options *options, wr_slo_options *out, wr_diags *diags); /* false: a diagnostic was added */
extern const wr_option_spec wr_slo_specs[];
extern const wr_option_spec wr_source_specs[];
extern const wr_option_spec wr_contract_specs[]; /* of every table; plan/contract.h says what they mean */
