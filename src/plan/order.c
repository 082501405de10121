/* plan/order.c: see order.h.
 *
 * Rules      one sequence (a gather) keeps everything. Rows spread by columns K come per K in order from the operator behind the exchange; an output whose key has all of K's columns gets
 *            them so. What only passes through keeps the order of its partition: that is the key's order, if a key is in one partition, which holds when the messages' key is made of
 *            columns of the output's key that nothing changes on the way, or when there is one partition.
 * Writers    two INSERTs into one table, and a queue's partitioner that does not go by key, lose it at the very end.                                                       */
#include "plan/order.h"
#include "plan/logical.h"
#include <stdarg.h>
#include <stdio.h>

static wr_str option(const wr_table *t, const char *key) {
    wr_str v = wr_table_option_get(t, key);
    return v.ptr ? wr_str_trim(v) : WR_STR("");
}

WR_PRINTF(3, 4) static void say(wr_arena *arena, wr_str *to, const char *fmt, ...) {
    char    text[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *to = wr_str_dup(arena, (wr_str){text, (size_t)WR_MIN(n, (int)sizeof text - 1)});
}

/* Is the column of this name one of the output's key? */
static bool in_key(const wr_str *key, uint32_t n, wr_str name) {
    for (uint32_t i = 0; i < n; i++)
        if (wr_str_eq(key[i], name)) return true;
    return false;
}

static bool is_upsert_queue(const wr_table *t) { return pl_is_queue(t) && t->connector.len > 7 && !memcmp(t->connector.ptr, "upsert-", 7); }

/* The columns that a message's partition goes by; 0: none are known. Of a source: only if it is one topic. */
static uint32_t message_key(const wr_table *t, wr_arena *arena, wr_str **out) {
    wr_str   fields = option(t, "key.fields"), topic = option(t, "topic"), name;
    wr_str  *key = *out = wr_new_n(arena, wr_str, t->n_key + fields.len + 1);
    uint32_t n = 0;
    if (!pl_is_queue(t) || option(t, "topic-pattern").len || memchr(topic.ptr ? topic.ptr : "", ';', topic.len)) return 0;
    for (uint32_t i = 0; is_upsert_queue(t) && i < t->n_key; i++) key[n++] = t->columns[t->key[i]].name;
    while (!is_upsert_queue(t) && wr_str_next(&fields, ';', &name))
        if (name.len) key[n++] = name;
    return n;
}

/* What an output needs: its PRIMARY KEY, else the key of its messages. */
static uint32_t key_of(const wr_table *t, wr_arena *arena, wr_str **out) {
    wr_str   fields = option(t, "key.fields"), name;
    wr_str  *key = *out = wr_new_n(arena, wr_str, t->n_key + fields.len + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_key; i++) key[n++] = t->columns[t->key[i]].name;
    while (!t->n_key && wr_str_next(&fields, ';', &name))
        if (name.len) key[n++] = name;
    return n;
}

static bool same_output(const wr_table *a, const wr_table *b) {
    static const char *const places[] = {"topic", "path", "url", "table", "table-name"};
    bool named = false;
    if (a == b) return true;
    if (pl_is_queue(a) != pl_is_queue(b) || (!pl_is_queue(a) && !wr_str_eq(a->connector, b->connector))) return false;
    for (size_t i = 0; i < WR_COUNT_OF(places); i++) {
        wr_str x = option(a, places[i]), y = option(b, places[i]);
        if (!wr_str_eq(x, y)) return false;
        named = named || x.len;
    }
    return named;
}

static const wr_pnode *other_writer(const wr_job_plan *const *jobs, uint32_t n_jobs, const wr_pnode *sink) {
    for (uint32_t k = 0; k < n_jobs; k++)
        for (uint32_t i = 0; i < jobs[k]->nodes.n; i++) {
            const wr_pnode *n = jobs[k]->nodes.at[i];
            if (n != sink && n->kind == WR_P_SINK && !n->sink.is_result && same_output(n->sink.table, sink->sink.table)) return n;
        }
    return NULL;
}

/* Does a queue spread one key over its partitions? */
static bool spreads(const wr_table *t, const wr_str *key, uint32_t n_key, wr_arena *arena) {
    wr_str  *fields;
    uint32_t n = message_key(t, arena, &fields);
    wr_str   how = option(t, "sink.partitioner");
    if (!pl_is_queue(t) || wr_str_eq(option(t, "log.partitions"), WR_STR("1")) || wr_str_ieq(how, WR_STR("fixed"))) return false;
    if (!n || wr_str_ieq(how, WR_STR("round-robin"))) return true;
    for (uint32_t i = 0; i < n; i++)
        if (!in_key(key, n_key, fields[i])) return true;
    return false;
}

/* The only source that rows of `node` pass from unspread; NULL: there are several. */
static const wr_pnode *only_source(const wr_pnode *node) {
    while (node->kind != WR_P_SOURCE) {
        if (node->kind == WR_P_VALUES || node->kind == WR_P_UNION || !node->n_inputs) return NULL;
        node = node->inputs[0].node;
    }
    return node;
}

static bool one_partition(const wr_table *t) {
    static const char *const always[] = {"datagen", "nexmark", "ridelo", "postgres-cdc", "push", "redis-streams", "nats"};
    for (size_t i = 0; i < WR_COUNT_OF(always); i++)
        if (wr_str_eq(t->connector, wr_str_of(always[i]))) return true;
    return wr_str_eq(option(t, "log.partitions"), WR_STR("1"));
}

/* Do the messages' keys consist of columns that reach the output unchanged as columns of its key? */
static bool by_message_key(const wr_lineage *x, const wr_pnode *sink, const wr_pnode *source, const wr_str *key, uint32_t n_key, wr_arena *arena) {
    wr_str  *fields;
    uint32_t n = message_key(source->source.table, arena, &fields), found = 0;
    const wr_schema *s = &sink->sink.write_schema;
    for (uint32_t f = 0; f < n; f++)
        for (uint32_t c = 0; c < s->n; c++) {
            const wr_pnode *from;
            uint32_t        decoded;
            if (!in_key(key, n_key, s->fields[c].name) || !wr_lineage_same(x, sink->inputs[0].node, c, &from, &decoded) || from != source) continue;
            if (!wr_str_eq(source->source.decoded.fields[decoded].name, fields[f])) continue;
            found++;
            break;
        }
    return n && found == n;
}

static void passes_through(const wr_lineage *x, const wr_pnode *sink, const wr_str *key, uint32_t n_key, wr_arena *arena, wr_order_proof *p) {
    const wr_pnode *source = only_source(sink->inputs[0].node);
    p->at = source;
    if (!source) {
        p->verdict = WR_ORDER_IF;
        say(arena, &p->why, "rows of each partition of the inputs stay in order; it holds if a key is in one partition of one of them");
        say(arena, &p->change, "bring the inputs together by an operator with that key (GROUP BY, ROW_NUMBER), or write them to tables of their own");
        return;
    }
    const wr_table *t = source->source.table;
    if (one_partition(t)) {
        p->verdict = WR_ORDER_PROVED;
        say(arena, &p->why, "'%.*s' has one partition, and nothing on the way spreads its rows", WR_FMT(t->name));
    } else if (by_message_key(x, sink, source, key, n_key, arena)) {
        p->verdict = WR_ORDER_PROVED;
        say(arena, &p->why, "messages of '%.*s' with one key are in one partition, and nothing on the way spreads them", WR_FMT(t->name));
    } else {
        p->verdict = WR_ORDER_IF;
        say(arena, &p->why, "rows of each %s of '%.*s' stay in order; it holds if one key's rows are all in one of them", pl_is_queue(t) ? "partition" : "file or partition", WR_FMT(t->name));
        if (pl_is_queue(t)) say(arena, &p->change, "if the producers send them so, say it: 'key.fields' = '%.*s' on table '%.*s'", WR_FMT(p->key), WR_FMT(t->name));
    }
}

static void of_keyed(const wr_lineage *x, const wr_pnode *other, const wr_pnode *sink, const wr_str *key, uint32_t n_key, wr_arena *arena, wr_order_proof *p) {
    wr_arrival      a = wr_lineage_order(x, sink);
    const wr_table *t = sink->sink.table;
    bool            within = true;
    for (uint32_t i = 0; i < a.n_key; i++) within = within && a.key[i] < sink->sink.write_schema.n && in_key(key, n_key, sink->sink.write_schema.fields[a.key[i]].name);
    p->at = a.at;
    if (other) {
        p->verdict = WR_ORDER_LOST, p->at = other;
        say(arena, &p->why, "another INSERT writes into '%.*s', too, and each goes its own way", WR_FMT(t->name));
        say(arena, &p->change, "one INSERT over UNION ALL and an operator with that key, or a table for each");
    } else if (spreads(t, key, n_key, arena)) {
        p->verdict = WR_ORDER_LOST, p->at = sink;
        say(arena, &p->why, "its messages go to partitions by something else than columns of (%.*s)", WR_FMT(p->key));
        say(arena, &p->change, "'key.fields' = columns of that key, and no 'sink.partitioner'");
    } else if (a.order == WR_ORDER_ALL) {
        p->verdict = WR_ORDER_PROVED;
        say(arena, &p->why, "all rows come out of one worker in one sequence");
    } else if (a.order == WR_ORDER_KEY && within && a.if_partitioned) {
        passes_through(x, sink, key, n_key, arena, p);
    } else if (a.order == WR_ORDER_KEY && within) {
        p->verdict = WR_ORDER_PROVED;
        say(arena, &p->why, "one worker does all of a key, and rows of one worker stay in order");
    } else if (a.order == WR_ORDER_KEY) {
        p->verdict = WR_ORDER_LOST;
        say(arena, &p->why, "its rows are spread over the workers by other columns than those of (%.*s)", WR_FMT(p->key));
        say(arena, &p->change, "a PRIMARY KEY that has the columns which it groups or joins by, or an operator with the key (%.*s) behind it", WR_FMT(p->key));
    } else if (a.order == WR_ORDER_PARTITION) {
        passes_through(x, sink, key, n_key, arena, p);
    } else {
        p->verdict = WR_ORDER_LOST;
        say(arena, &p->why, "%s", a.lost ? a.lost : "rows of several workers come together");
        say(arena, &p->change, "an operator with the key (%.*s) behind it, which brings a key to one worker: GROUP BY, or ROW_NUMBER over it", WR_FMT(p->key));
    }
}

static void of_unkeyed(const wr_lineage *x, const wr_pnode *sink, wr_arena *arena, wr_order_proof *p) {
    static const char *const names[] = {[WR_ORDER_NONE] = "its rows have no certain order", [WR_ORDER_PARTITION] = "rows of each partition of the input stay in order",
                                        [WR_ORDER_KEY] = "rows of one key of its last operator stay in order", [WR_ORDER_ALL] = "its rows are one sequence"};
    wr_arrival a = wr_lineage_order(x, sink);
    p->verdict = WR_ORDER_NOT_NEEDED, p->at = a.at;
    say(arena, &p->why, "it has no key; %s", names[a.order]);
}

void wr_order_prove(const wr_job_plan *job, const wr_job_plan *const *jobs, uint32_t n_jobs, wr_arena *arena, wr_order_proofs *out) {
    wr_lineage *x = wr_lineage_new(job);
    for (uint32_t i = 0; i < job->nodes.n; i++) {
        const wr_pnode *n = job->nodes.at[i];
        if (n->kind != WR_P_SINK || n->sink.is_result) continue;
        wr_order_proof p = {.sink = n};
        wr_str        *key;
        uint32_t       n_key = key_of(n->sink.table, arena, &key);
        wr_sbuf        names = {0};
        for (uint32_t k = 0; k < n_key; k++) wr_sbuf_printf(&names, "%s%.*s", k ? ", " : "", WR_FMT(key[k]));
        p.key = wr_str_dup(arena, wr_sbuf_str(&names));
        wr_sbuf_free(&names);
        if (n_key) of_keyed(x, other_writer(jobs, n_jobs, n), n, key, n_key, arena, &p);
        else of_unkeyed(x, n, arena, &p);
        wr_arr_apush(arena, out, p);
    }
    wr_lineage_free(x);
}

const char *wr_order_verdict_name(wr_order_verdict v) { return (const char *const[]){"proved", "if", "lost", "not-needed"}[v]; }

static void put_place(const wr_order_proof *p, const wr_diags *diags, wr_sbuf *out) {
    if (p->at && p->at->at.line) wr_sbuf_printf(out, " at %s (line %u)", p->at->title, wr_diags_line(diags, p->at->at));
    else if (p->at) wr_sbuf_printf(out, " at %s", p->at->title);
}

void wr_order_text(const wr_order_proofs *proofs, const wr_diags *diags, wr_sbuf *out) {
    for (uint32_t i = 0; i < proofs->n; i++) {
        const wr_order_proof *p = &proofs->at[i];
        wr_sbuf_printf(out, "order of %.*s", WR_FMT(p->sink->sink.table->name));
        if (p->key.len) wr_sbuf_printf(out, " per (%.*s)", WR_FMT(p->key));
        wr_sbuf_addz(out, p->verdict == WR_ORDER_PROVED ? ": proved" : p->verdict == WR_ORDER_LOST ? ": LOST" : p->verdict == WR_ORDER_IF ? ": depends on the input" : "");
        if (p->verdict == WR_ORDER_LOST) put_place(p, diags, out);
        wr_sbuf_printf(out, ": %.*s\n", WR_FMT(p->why));
        if (p->change.len) wr_sbuf_printf(out, "  to keep it: %.*s\n", WR_FMT(p->change));
    }
}

void wr_order_json(const wr_order_proofs *proofs, const wr_diags *diags, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < proofs->n; i++) {
        const wr_order_proof *p = &proofs->at[i];
        wr_sbuf_printf(out, "%s{\"table\":", i ? "," : ""), wr_sbuf_add_json(out, p->sink->sink.table->name);
        wr_sbuf_addz(out, ",\"key\":"), wr_sbuf_add_json(out, p->key);
        wr_sbuf_printf(out, ",\"verdict\":\"%s\",\"operator\":", wr_order_verdict_name(p->verdict));
        if (p->at) wr_sbuf_add_json(out, wr_str_of(p->at->id));
        else wr_sbuf_addz(out, "null");
        wr_sbuf_printf(out, ",\"line\":%u,\"why\":", p->at ? wr_diags_line(diags, p->at->at) : 0), wr_sbuf_add_json(out, p->why);
        wr_sbuf_addz(out, ",\"change\":"), wr_sbuf_add_json(out, p->change);
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addc(out, ']');
}
