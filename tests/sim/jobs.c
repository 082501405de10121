/* tests/sim/jobs.c: the jobs and what they read.
 *
 * Inputs     a (three files), b, dim (versions), cdc, up, bad: made from a fixed seed, out of order within the watermark's delay, some rows late;
 *            the six logs of Ridelo, ten minutes of them.
 * Golden     the cases of tests/sql can stand for the list: their files are read in small pieces, so a checkpoint falls anywhere.
 * Jobs       every operator, every kind of file output. Each has one right answer at any number of workers, so none uses the clock.  */
#include "sim.h"
#include "../golden/golden.h"
#include "connect/log/log.h"
#include "connect/ridelo/ridelo.h"
#include <stdio.h>

static const char PRELUDE[] =
    "SET 'state.unbounded' = 'accepted';\n"
    "CREATE TABLE a (id BIGINT, k INT, name STRING, v BIGINT, d DECIMAL(10,2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
    " WITH ('connector'='filesystem','path'='/in/a','format'='json');\n"
    "CREATE TABLE b (id BIGINT, k INT, w BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
    " WITH ('connector'='filesystem','path'='/in/b.jsonl','format'='json');\n"
    "CREATE TABLE dim (k INT, label STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED)"
    " WITH ('connector'='filesystem','path'='/in/dim.jsonl','format'='json');\n"
    "CREATE TABLE cdc (id BIGINT, g INT, v BIGINT) WITH ('connector'='filesystem','path'='/in/cdc.jsonl','format'='debezium-json');\n"
    "CREATE TABLE up (id BIGINT, g INT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
    " WITH ('connector'='filesystem','path'='/in/up.jsonl','format'='upsert-json');\n";

#define TO_DIR(cols) "CREATE TABLE o (" cols ") WITH ('connector'='filesystem','path'='/out/o','format'='json','sink.rolling-policy.file-size'='2kb');\n"
#define TO_FILE(cols, more) "CREATE TABLE o (" cols ") WITH ('connector'='filesystem','path'='/out/o.csv','format'='csv'" more ");\n"
#define TO_STORE(cols) "CREATE TABLE o (" cols ") WITH ('connector'='capture');\n"

static const struct { const char *name, *sql; } list[] = {
    {"calc to a directory", TO_DIR("id BIGINT, x STRING, y BIGINT") "INSERT INTO o SELECT id, UPPER(name) || '!', v * 2 FROM a WHERE v % 3 <> 0;"},
    {"calc to a file", TO_FILE("id BIGINT, d DECIMAL(10,2)", "") "INSERT INTO o SELECT id, d + 1 FROM a;"},
    {"calc appended to a file", TO_FILE("id BIGINT, v BIGINT", ",'sink.if-exists'='append'") "INSERT INTO o SELECT id, v FROM a WHERE k < 5;"},
    {"group by", TO_STORE("k INT, n BIGINT, s BIGINT, d DECIMAL(38,2), lo BIGINT, hi BIGINT, u BIGINT")
                 "INSERT INTO o SELECT k, COUNT(*), SUM(v), SUM(d), MIN(v), MAX(v), COUNT(DISTINCT name) FROM a GROUP BY k;"},
    {"group of groups", TO_STORE("n BIGINT, g BIGINT") "INSERT INTO o SELECT n, COUNT(*) FROM (SELECT k, name, COUNT(*) AS n FROM a GROUP BY k, name) GROUP BY n;"},
    {"views beside a sink", TO_STORE("n BIGINT, g BIGINT") "CREATE MATERIALIZED VIEW groups AS SELECT k, name, COUNT(*) AS n FROM a GROUP BY k, name;\n"
                            "CREATE MATERIALIZED VIEW late WITH ('retention' = '30 s') AS SELECT id, v, ts FROM a;\n"
                            "INSERT INTO o SELECT n, COUNT(*) FROM groups GROUP BY n;"},
    {"group of changes", TO_STORE("g INT, n BIGINT, s BIGINT, lo BIGINT, hi BIGINT") "INSERT INTO o SELECT g, COUNT(*), SUM(v), MIN(v), MAX(v) FROM cdc GROUP BY g;"},
    {"changes to debezium", "CREATE TABLE o (g INT, n BIGINT, s BIGINT) WITH ('connector'='filesystem','path'='/out/o','format'='debezium-json');\n"
                            "INSERT INTO o SELECT g, COUNT(*), SUM(v) FROM up GROUP BY g;"},
    {"grouping sets", TO_STORE("k INT, name STRING, n BIGINT") "INSERT INTO o SELECT k, name, COUNT(*) FROM a GROUP BY GROUPING SETS ((k), (name), ());"},
    {"tumble", TO_DIR("s TIMESTAMP(3), k INT, n BIGINT, v BIGINT")
               "INSERT INTO o SELECT window_start, k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, k;"},
    {"hop", TO_DIR("s TIMESTAMP(3), k INT, n BIGINT, u BIGINT")
            "INSERT INTO o SELECT window_start, k, COUNT(*), COUNT(DISTINCT name) FROM TABLE(HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '40' SECOND)) GROUP BY window_start, window_end, k;"},
    {"cumulate", TO_DIR("s TIMESTAMP(3), e TIMESTAMP(3), n BIGINT, v BIGINT")
                 "INSERT INTO o SELECT window_start, window_end, COUNT(*), MAX(v) FROM TABLE(CUMULATE(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '60' SECOND)) GROUP BY window_start, window_end;"},
    {"session", TO_DIR("k INT, s TIMESTAMP(3), e TIMESTAMP(3), n BIGINT")
                "INSERT INTO o SELECT k, window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE b PARTITION BY k, DESCRIPTOR(ts), INTERVAL '15' SECOND)) GROUP BY k, window_start, window_end;"},
    {"window of rows", TO_DIR("id BIGINT, s TIMESTAMP(3)") "INSERT INTO o SELECT id, window_start FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)) WHERE v > 20;"},
    {"interval join", TO_DIR("x BIGINT, y BIGINT") "INSERT INTO o SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL '10' SECOND AND a.ts + INTERVAL '10' SECOND AND b.id % 7 <> 0;"},
    {"temporal join", TO_DIR("id BIGINT, label STRING") "INSERT INTO o SELECT b.id, dim.label FROM b LEFT JOIN dim FOR SYSTEM_TIME AS OF b.ts ON b.k = dim.k;"},
    {"join", TO_STORE("x BIGINT, y BIGINT") "INSERT INTO o SELECT a.id, b.id FROM a JOIN b ON a.k = b.k WHERE a.v % 5 = b.w % 5;"},
    {"split join", TO_STORE("x BIGINT, y BIGINT") "INSERT INTO o SELECT /*+ SPLIT('a' = '4 for 1|2, 2|0') */ a.id, b.id FROM a JOIN b ON a.k = b.k WHERE a.v % 5 = b.w % 5;"},
    {"split join of changes", TO_STORE("id BIGINT, n BIGINT") "INSERT INTO o SELECT /*+ SPLIT('c' = '3') */ c.id, b.n FROM cdc AS c LEFT JOIN (SELECT k, COUNT(*) AS n FROM b GROUP BY k) AS b ON c.g = b.k;"},
    {"full join of changes", TO_STORE("x BIGINT, g INT, n BIGINT") "INSERT INTO o SELECT b.id, c.g, c.n FROM b FULL JOIN (SELECT g, COUNT(*) AS n FROM cdc GROUP BY g) AS c ON b.k = c.g;"},
    {"semi and anti join", TO_STORE("id BIGINT") "INSERT INTO o SELECT id FROM a WHERE k IN (SELECT g FROM cdc WHERE v > 50) AND NOT EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.w > 30);"},
    {"window join", TO_DIR("x BIGINT, y BIGINT, s TIMESTAMP(3)")
                    "INSERT INTO o SELECT l.id, r.id, l.window_start FROM (SELECT * FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND))) AS l"
                    " JOIN (SELECT * FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '20' SECOND))) AS r"
                    " ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end;"},
    {"top n", TO_STORE("k INT, id BIGINT, v BIGINT, rn BIGINT")
              "INSERT INTO o SELECT k, id, v, rn FROM (SELECT k, id, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM a) WHERE rn <= 3;"},
    {"top n of changes", TO_STORE("g INT, id BIGINT, v BIGINT")
                         "INSERT INTO o SELECT g, id, v FROM (SELECT g, id, v, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC, id) AS rn FROM cdc) WHERE rn <= 2;"},
    {"window top n", TO_DIR("s TIMESTAMP(3), k INT, n BIGINT, rn BIGINT")
                     "INSERT INTO o SELECT window_start, k, n, rn FROM (SELECT window_start, window_end, k, n, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, k) AS rn"
                     " FROM (SELECT window_start, window_end, k, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, k)) WHERE rn <= 2;"},
    {"orders and couriers", TO_DIR("k INT, o BIGINT, c BIGINT, d DOUBLE, w BIGINT, n INT, s INT")
                            "INSERT INTO o SELECT k, order_id, courier_id, distance, waited_ms, attempt, stop FROM ASSIGN(orders => TABLE (SELECT k, id / 2 AS o, w AS x, id % 17 AS y, w AS tx, id % 5 AS ty, CASE WHEN id % 2 = 1 THEN 'rejected' ELSE 'open' END AS st, ts FROM b) PARTITION BY k,"
                            " couriers => TABLE (SELECT k, id AS c, v AS x, id % 13 AS y, ts FROM a) PARTITION BY k, order_key => DESCRIPTOR(o), order_at => DESCRIPTOR(x, y), courier_key => DESCRIPTOR(c),"
                            " courier_at => DESCRIPTOR(x, y), on_time => DESCRIPTOR(ts), `every` => INTERVAL '5' SECOND, order_status => DESCRIPTOR(st), drop_at => DESCRIPTOR(tx, ty),"
                            " max_wait => INTERVAL '40' SECOND, courier_timeout => INTERVAL '30' SECOND, reassign => 1, batch => 0.1, max_distance => 40);"},
    {"orders and couriers in one place", TO_DIR("o BIGINT, c BIGINT, d DOUBLE, w BIGINT")
                            "INSERT INTO o SELECT order_id, courier_id, distance, waited_ms FROM ASSIGN(orders => TABLE (SELECT id AS o, v AS x, k AS y, ts FROM a),"
                            " couriers => TABLE (SELECT id % 9 AS c, w AS x, k AS y, CASE WHEN w % 4 = 0 THEN 'away' ELSE 'free' END AS st, ts FROM b), order_key => DESCRIPTOR(o), order_at => DESCRIPTOR(x, y),"
                            " courier_key => DESCRIPTOR(c), courier_at => DESCRIPTOR(x, y), on_time => DESCRIPTOR(ts), `every` => INTERVAL '3' SECOND, courier_status => DESCRIPTOR(st),"
                            " max_wait => INTERVAL '20' SECOND, `hold` => INTERVAL '2' SECOND, wait_weight => 0.5);"},
    {"last row", TO_STORE("k INT, id BIGINT") "INSERT INTO o SELECT k, id FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM b) WHERE rn = 1;"},
    {"first row", TO_STORE("k INT, id BIGINT") "INSERT INTO o SELECT k, id FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts ASC) AS rn FROM b) WHERE rn = 1;"},
    {"upserts", TO_STORE("id BIGINT, g INT, v BIGINT") "INSERT INTO o SELECT id, g, v FROM up WHERE v > 10;"},
    {"limit", TO_STORE("n BIGINT") "INSERT INTO o SELECT COUNT(*) FROM (SELECT id FROM a LIMIT 57);"},
    {"distinct union", TO_STORE("k INT, x BIGINT") "INSERT INTO o SELECT k, v % 10 FROM a UNION SELECT k, w % 10 FROM b;"},
    {"union in order of time", TO_FILE("id BIGINT, ts TIMESTAMP(3)", "") "INSERT INTO o SELECT id, ts FROM b ORDER BY ts;"},
    {"union all", TO_DIR("id BIGINT, what STRING") "INSERT INTO o SELECT id, 'a' FROM a UNION ALL SELECT id, 'b' FROM b UNION ALL SELECT k, label FROM dim UNION ALL SELECT * FROM (VALUES (CAST(1 AS BIGINT), 'x'), (2, 'y'));"},
    {"dead letters", "CREATE TABLE dead (id STRING, record_offset BIGINT, raw STRING, reason STRING) WITH ('connector'='filesystem','path'='/out/dead.jsonl','format'='json');\n"
                     "CREATE TABLE bad (id BIGINT, v INT) WITH ('connector'='filesystem','path'='/in/bad.jsonl','format'='json','on-error'='dead-letter','dead-letter.table'='dead');\n"
                     TO_DIR("id BIGINT, v INT") "INSERT INTO o SELECT id, v FROM bad;"},
    {"dead letters of a sink", "CREATE TABLE dead (raw STRING, raw_base64 STRING, code STRING) WITH ('connector'='filesystem','path'='/out/dead/','format'='json');\n"
                     "CREATE TABLE bad (id BIGINT, v INT) WITH ('connector'='filesystem','path'='/in/bad.jsonl','format'='json','on-error'='dead-letter','dead-letter.table'='dead');\n"
                     "CREATE TABLE o (id BIGINT, v INT NOT NULL) WITH ('connector'='filesystem','path'='/out/o.jsonl','format'='json','on-error'='dead-letter','dead-letter.table'='dead');\n"
                     "INSERT INTO o SELECT id, NULLIF(v, 5) FROM bad UNION ALL SELECT id, NULLIF(v, 5) FROM bad;"},
    {"three outputs", "CREATE TABLE o1 (id BIGINT) WITH ('connector'='filesystem','path'='/out/o1','format'='json');\n"
                      "CREATE TABLE o2 (k INT, n BIGINT) WITH ('connector'='capture');\n"
                      "CREATE TABLE o3 (id BIGINT, v BIGINT) WITH ('connector'='filesystem','path'='/out/o3.csv','format'='csv');\n"
                      "EXECUTE STATEMENT SET BEGIN INSERT INTO o1 SELECT id FROM a WHERE v < 50; INSERT INTO o2 SELECT k, COUNT(*) FROM a GROUP BY k; INSERT INTO o3 SELECT id, w FROM b; END;"},
    {"tailed files", "CREATE TABLE t (id BIGINT, k INT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
                     " WITH ('connector'='filesystem','path'='/in/a','format'='json','source.mode'='tail');\n"
                     TO_DIR("s TIMESTAMP(3), n BIGINT, v BIGINT") "INSERT INTO o SELECT window_start, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end;"},
    {"to a log", "CREATE TABLE o (id BIGINT, k INT, v BIGINT) WITH ('connector'='log','path'='/out/log','format'='json','key.format'='json','key.fields'='k','log.partitions'='3','log.segment-size'='4kb');\n"
                 "INSERT INTO o SELECT id, k, v * 2 FROM a WHERE v % 3 <> 0;"},
    {"changes to a log", "CREATE TABLE o (g INT, n BIGINT, s BIGINT) WITH ('connector'='log','path'='/out/log','format'='debezium-json','log.segment-size'='4kb','log.compression'='zstd');\n"
                         "INSERT INTO o SELECT g, COUNT(*), SUM(v) FROM up GROUP BY g;"},
    {"from a log", "CREATE TABLE l (id BIGINT, k INT, v BIGINT, ts TIMESTAMP(3), p INT METADATA FROM 'partition', WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
                   " WITH ('connector'='log','path'='/in/log','format'='json','scan.bounded.mode'='latest-offset');\n"
                   "CREATE TABLE o (s TIMESTAMP(3), p INT, n BIGINT, v BIGINT) WITH ('connector'='log','path'='/out/log','format'='json','key.format'='json','key.fields'='p');\n"
                   "INSERT INTO o SELECT window_start, p, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, p;"},
    {"generated rows", "CREATE TABLE g (id BIGINT, k INT, v INT) WITH ('connector'='datagen','number-of-rows'='300','rows-per-second'='2000','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='300',"
                       "'fields.k.min'='1','fields.k.max'='9','fields.v.min'='0','fields.v.max'='99');\n"
                       TO_STORE("k INT, n BIGINT, s BIGINT") "INSERT INTO o SELECT k, COUNT(*), SUM(v) FROM g GROUP BY k;"},
    {"ridelo", NULL},
};

/* ---- golden cases as jobs ---- */
typedef struct golden_file { char *text; golden_cases cases; } golden_file;
static WR_ARR(golden_file) golden_files;
static WR_ARR(sim_job) jobs;

bool sim_jobs_from(const char *path) {
    char        message[512];
    golden_file f = {.text = golden_read_file(path)};
    if (!f.text || !golden_parse(path, f.text, &f.cases, message, sizeof message)) {
        fprintf(stderr, "%s\n", f.text ? message : path);
        return false;
    }
    wr_arr_push(&golden_files, f);
    for (uint32_t i = 0; i < f.cases.n; i++)
        if (f.cases.at[i].rows && !f.cases.at[i].error) wr_arr_push(&jobs, (sim_job){f.cases.at[i].name, f.cases.at[i].sql, &f.cases.at[i]});
    return true;
}
void sim_jobs_free(void) {
    for (uint32_t i = 0; i < golden_files.n; i++) {
        golden_file *f = &golden_files.at[i];
        for (uint32_t k = 0; k < f->cases.n; k++) wr_arr_free(&f->cases.at[k].files), wr_arr_free(&f->cases.at[k].settings);
        wr_arr_free(&f->cases);
        wr_free(f->text);
    }
    wr_arr_free(&golden_files);
    wr_arr_free(&jobs);
}
uint32_t sim_n_jobs(void) {
    for (uint32_t i = 0; !golden_files.n && i < WR_COUNT_OF(list) && jobs.n < WR_COUNT_OF(list); i++) wr_arr_push(&jobs, (sim_job){list[i].name, list[i].sql, NULL});
    return jobs.n;
}
const sim_job *sim_job_at(uint32_t index) { return &jobs.at[index]; }

static char *golden_sql(const golden_case *c) {
    wr_sbuf out = {0};
    bool    said = false;
    for (uint32_t i = 0; i < c->settings.n; i++) {
        wr_sbuf_printf(&out, "SET '%s' = '%s'; ", c->settings.at[i].name, c->settings.at[i].text);
        said = said || !strcmp(c->settings.at[i].name, "state.unbounded");
    }
    if (!said) wr_sbuf_addz(&out, "SET 'state.unbounded' = 'accepted'; ");
    for (const char *at = c->sql; *at;) {
        if (!strncmp(at, "${DIR}", 6)) wr_sbuf_addz(&out, "/in"), at += 6;
        else wr_sbuf_addc(&out, *at++);
    }
    return out.at;
}

static char *ridelo_sql(const char *root) {
    char path[1024];
    snprintf(path, sizeof path, "%s/examples/ridelo/job.sql", root);
    wr_sbuf text = {0}, out = {0};
    wr_err  err;
    if (wr_file_read_all(wr_world_posix(), path, 1 << 20, &text, &err) != WR_OK) {
        fprintf(stderr, "%s\n", err.message);
        return NULL;
    }
    for (char *at = text.at, *next; *at; at = next) { /* the database is outside of the simulated world: its tables go to the store */
        char *nl = strchr(at, '\n');
        next = nl ? nl + 1 : at + strlen(at);
        if (memmem(at, (size_t)(next - at), "'sqlite'", 8)) wr_sbuf_addz(&out, "  'connector' = 'capture'\n");
        else wr_sbuf_add(&out, at, (size_t)(next - at));
    }
    wr_sbuf_free(&text);
    wr_sbuf replaced = {0};
    for (char *at = out.at; *at;) {
        if (!strncmp(at, "${IN}", 5)) wr_sbuf_addz(&replaced, "/in/ridelo"), at += 5;
        else if (!strncmp(at, "${OUT}", 6)) wr_sbuf_addz(&replaced, "/out"), at += 6;
        else wr_sbuf_addc(&replaced, *at++);
    }
    wr_sbuf_free(&out);
    return replaced.at;
}

char *sim_job_sql(const sim_job *job, const char *root) {
    if (job->golden) return golden_sql(job->golden);
    if (!job->sql) return ridelo_sql(root);
    wr_sbuf out = {0};
    wr_sbuf_addz(&out, PRELUDE);
    wr_sbuf_addz(&out, job->sql);
    return out.at;
}

/* ---- inputs ---- */
static void add_time(wr_sbuf *out, int64_t ms) {
    wr_sbuf_printf(out, "\"2026-01-01 %02d:%02d:%02d.%03d\"", (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
}
static int64_t event_time(wr_rng *rng, int64_t now) { /* mostly within the delay of 5 s, sometimes late */
    int64_t back = wr_rng_below(rng, 40) == 0 ? 20000 : (int64_t)wr_rng_below(rng, 4500);
    return WR_MAX(now - back, 0);
}
static void put(sim_world *w, const char *path, wr_sbuf *text) {
    sim_world_put(w, path, wr_sbuf_str(text));
    wr_sbuf_free(text);
}
static void put_events(sim_world *w, wr_rng *rng) {
    static const char *const names[] = {"ann", "bob", "cid", "dot", "eve", "fay \\\"f\\\"", "\\u00fc"};
    for (int file = 0; file < 3; file++) {
        wr_sbuf text = {0};
        int64_t now = 0;
        for (int i = 0; i < 70; i++) {
            now += (int64_t)wr_rng_below(rng, 4000);
            wr_sbuf_printf(&text, "{\"id\":%d,\"k\":%d,\"name\":\"%s\",\"v\":%d,\"d\":%d.%02d,\"ts\":", file * 1000 + i, (int)wr_rng_below(rng, 9),
                           names[wr_rng_below(rng, 7)], (int)wr_rng_below(rng, 100), (int)wr_rng_below(rng, 500), (int)wr_rng_below(rng, 100));
            add_time(&text, event_time(rng, now));
            wr_sbuf_addz(&text, "}\n");
        }
        char path[64];
        snprintf(path, sizeof path, "/in/a/%d.jsonl", file);
        put(w, path, &text);
    }
    wr_sbuf b = {0}, dim = {0};
    int64_t now = 0;
    for (int i = 0; i < 120; i++) {
        now += 100 + (int64_t)wr_rng_below(rng, 2000);
        wr_sbuf_printf(&b, "{\"id\":%d,\"k\":%d,\"w\":%d,\"ts\":", i, (int)wr_rng_below(rng, 9), (int)wr_rng_below(rng, 60));
        add_time(&b, now - (int64_t)wr_rng_below(rng, 90)); /* in order, all times different: first and last row are certain */
        wr_sbuf_addz(&b, "}\n");
    }
    for (int i = 0; i < 40; i++) {
        wr_sbuf_printf(&dim, "{\"k\":%d,\"label\":\"v%d\",\"ts\":", (int)wr_rng_below(rng, 9), i);
        add_time(&dim, i * 3000);
        wr_sbuf_addz(&dim, "}\n");
    }
    put(w, "/in/b.jsonl", &b);
    put(w, "/in/dim.jsonl", &dim);
}
static void put_log(sim_world *w, wr_rng *rng) {
    wr_err          err = {0};
    wr_log         *log;
    wr_log_config   config;
    wr_log_appended done;
    wr_log_config_default(&config);
    config.partitions = 2, config.segment_bytes = 4096;
    wr_log_opts opts = {.world = &w->base, .path = "/in/log", .create = &config};
    wr_assert(wr_log_open(&opts, &log, &err) == WR_OK);
    int64_t now = 0;
    for (int i = 0; i < 200; i++) {
        wr_sbuf text = {0};
        now += (int64_t)wr_rng_below(rng, 2000);
        wr_sbuf_printf(&text, "{\"id\":%d,\"k\":%d,\"v\":%d,\"ts\":", i, (int)wr_rng_below(rng, 9), (int)wr_rng_below(rng, 100));
        add_time(&text, event_time(rng, now));
        wr_sbuf_addz(&text, "}");
        wr_log_record record = {.time_ms = now, .value = wr_sbuf_str(&text)};
        wr_assert(wr_log_submit(log, (uint32_t)wr_rng_below(rng, 2), &record, 1, (wr_str){NULL, 0}, &done, &err) == WR_OK);
        if (wr_rng_below(rng, 9) == 0) wr_assert(wr_log_sync(log, done.ticket, &err) == WR_OK);
        wr_sbuf_free(&text);
    }
    wr_assert(wr_log_sync(log, UINT64_MAX, &err) == WR_OK);
    wr_log_close(log);
}
static void put_changes(sim_world *w, wr_rng *rng) {
    enum { IDS = 20 };
    int     g[IDS], v[IDS];
    bool    there[IDS] = {0};
    wr_sbuf cdc = {0}, up = {0}, bad = {0};
    for (int i = 0; i < 160; i++) {
        int id = (int)wr_rng_below(rng, IDS), ng = (int)wr_rng_below(rng, 5), nv = (int)wr_rng_below(rng, 100);
        bool gone = there[id] && wr_rng_below(rng, 4) == 0;
        char before[80] = "null", after[80] = "null";
        if (there[id]) snprintf(before, sizeof before, "{\"id\":%d,\"g\":%d,\"v\":%d}", id, g[id], v[id]);
        if (!gone) snprintf(after, sizeof after, "{\"id\":%d,\"g\":%d,\"v\":%d}", id, ng, nv);
        wr_sbuf_printf(&cdc, "{\"before\":%s,\"after\":%s,\"op\":\"%s\"}\n", before, after, gone ? "d" : there[id] ? "u" : "c");
        wr_sbuf_printf(&up, "{\"partition\":0,\"offset\":%d,\"key\":{\"id\":%d},\"value\":%s}\n", i, id, after);
        there[id] = !gone, g[id] = ng, v[id] = nv;
        if (i % 5 == 4) wr_sbuf_printf(&bad, "{\"id\":%d,\"v\":\n", i);
        else wr_sbuf_printf(&bad, "{\"id\":%d,\"v\":%s}\n", i, i % 7 == 3 ? "\"many\"" : "5");
    }
    put(w, "/in/cdc.jsonl", &cdc);
    put(w, "/in/up.jsonl", &up);
    put(w, "/in/bad.jsonl", &bad);
    sim_world_put(w, "/out/o.csv", WR_STR("this was here before\n"));
}

typedef struct ridelo_arg { sim_world *world; wr_ridelo *gen; wr_sbuf text; int file; } ridelo_arg;
static void end_file(ridelo_arg *r) {
    if (r->file < 0) return;
    wr_sbuf name = {0}, path = {0};
    wr_ridelo_file(r->gen, r->file, &name);
    wr_sbuf_printf(&path, "/in/ridelo/%.*s", WR_FMT(wr_sbuf_str(&name)));
    put(r->world, path.at, &r->text);
    wr_sbuf_free(&name), wr_sbuf_free(&path);
}
static wr_status take(void *arg, int file, const char *bytes, size_t len, wr_err *err) {
    (void)err;
    ridelo_arg *r = arg;
    if (file != r->file) end_file(r);
    r->file = file;
    wr_sbuf_add(&r->text, bytes, len);
    return WR_OK;
}
static void put_ridelo(sim_world *w) {
    wr_ridelo_config config;
    ridelo_arg       r = {.world = w, .file = -1};
    wr_err           err = {0};
    wr_ridelo_config_default(&config);
    config.duration_ms = 600000;
    config.orders_per_day = 8000;
    config.n_users = 20, config.n_couriers = 12, config.n_restaurants = 20;
    config.late_ppm = config.duplicate_ppm = config.malformed_ppm = 30000;
    config.chargeback_max_ms = 3600000;
    wr_assert(wr_ridelo_new(&config, &r.gen, &err) == WR_OK);
    wr_assert(wr_ridelo_write(r.gen, take, &r, &err) == WR_OK);
    end_file(&r);
    wr_ridelo_free(r.gen);
}

void sim_inputs(sim_world *w, const sim_job *job) {
    wr_rng rng;
    wr_rng_seed(&rng, 42);
    if (job->golden) {
        for (uint32_t i = 0; i < job->golden->files.n; i++) {
            char path[512];
            snprintf(path, sizeof path, "/in/%s", job->golden->files.at[i].name);
            sim_world_put(w, path, wr_str_of(job->golden->files.at[i].text));
        }
        return;
    }
    if (!job->sql) {
        put_ridelo(w);
        return;
    }
    put_events(w, &rng);
    put_changes(w, &rng);
    put_log(w, &rng);
}
