/* cli/state_keys.c: `weir state get|top|diff`: entries of keyed state by key.
 *
 * Memory     get: what it finds; top: the largest so far; diff: 16 bytes a key of both sides.                                */
#include "state.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdlib.h>

static uint64_t bytes_of(const wr_state_entry *e) { return e->key.len + e->value.len; }

static void add_hex(wr_sbuf *out, wr_str bytes, size_t max) {
    for (size_t i = 0; i < bytes.len && i < max; i++) wr_sbuf_printf(out, "%02x", (uint8_t)bytes.ptr[i]);
    if (bytes.len > max) wr_sbuf_addz(out, "...");
}

/* ---- get ---- */
typedef struct getter { state_view *v; const state_op *op; const state_args *args; wr_sbuf want, text, out; uint32_t n; } getter;

/* Outside of quotes white space does not count, nor a type before a quote: TIMESTAMP '...'. */
static void squeeze(wr_str s, wr_sbuf *out) {
    bool quoted = false;
    wr_sbuf_clear(out);
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'') quoted = !quoted;
        if (quoted || (s.ptr[i] != ' ' && s.ptr[i] != '\t')) wr_sbuf_addc(out, s.ptr[i]);
    }
    if (!out->at) wr_sbuf_addz(out, "");
}

/* Quotes around what is no text (a date, say) may be there or not. */
static bool same_key(const char *shown, const char *wanted) {
    for (; *shown || *wanted; shown++, wanted++) {
        while (*wanted == '\'' && *shown != '\'') wanted++;
        while (*shown == '\'' && *wanted != '\'') shown++;
        if (*shown != *wanted) return false;
        if (!*shown) break;
    }
    return true;
}

static bool get_one(void *arg, const wr_state_entry *e) {
    getter *g = arg;
    wr_sbuf shown = {0};
    wr_sbuf_clear(&g->text);
    state_key_text(g->op, e, &g->text);
    squeeze(wr_sbuf_str(&g->text), &shown);
    bool same = same_key(shown.at, g->want.at);
    wr_sbuf_free(&shown);
    if (!same) return true;
    uint32_t group = wr_key_group(e->hash, g->v->n_groups);
    if (g->args->json) {
        wr_sbuf_addz(&g->out, g->n ? ",{\"key\":" : "{\"key\":"), wr_sbuf_add_json(&g->out, wr_sbuf_str(&g->text));
        wr_sbuf_printf(&g->out, ",\"map\":\"%s\",\"prefix\":\"", e->map), add_hex(&g->out, e->prefix, 64);
        wr_sbuf_printf(&g->out, "\",\"group\":%u,\"bytes\":%" PRIu64 ",\"tier\":%s,\"value\":\"", group, bytes_of(e), e->in_tier ? "true" : "false");
        add_hex(&g->out, e->value, 1 << 20);
        wr_sbuf_addz(&g->out, "\"}");
    } else {
        wr_sbuf_printf(&g->out, "%s: %s, key group %u, ", g->text.at, e->map, group);
        wr_text_size((int64_t)bytes_of(e), &g->out);
        wr_sbuf_printf(&g->out, " in %s\n  value %zu bytes: ", e->in_tier ? "the tier" : "the manifest", e->value.len);
        add_hex(&g->out, e->value, 256);
        wr_sbuf_addc(&g->out, '\n');
        for (size_t i = 0; i + 8 <= e->value.len && i < 64; i += 8) { /* accumulators are mostly 8 bytes */
            wr_reader r = {.at = (const uint8_t *)e->value.ptr + i, .end = (const uint8_t *)e->value.ptr + i + 8};
            wr_sbuf_printf(&g->out, "%s%" PRIi64, i ? " " : "  as 8-byte numbers: ", wr_get_i64(&r));
        }
        if (e->value.len >= 8) wr_sbuf_addc(&g->out, '\n');
    }
    g->n++;
    return true;
}

int state_get(const state_args *args) {
    state_view v;
    wr_err     err = {0};
    getter     g = {.v = &v, .args = args};
    if (state_open(args->pos[0], args->epoch, true, &v, &err) != WR_OK) return state_fail(&err, args);
    g.op = state_find_op(&v, args->pos[1], &err);
    squeeze(wr_str_of(args->pos[2]), &g.want);
    wr_status status = g.op ? WR_OK : WR_USER;
    if (args->json) wr_sbuf_printf(&g.out, "{\"epoch\":%" PRIu64 ",\"entries\":[", v.ck.epoch);
    if (g.op) status = state_walk(&v, g.op, get_one, &g, &err);
    if (args->json) wr_sbuf_addz(&g.out, "]}\n");
    else if (status == WR_OK && !g.n) wr_sbuf_printf(&g.out, "%.*s keeps nothing for %s in checkpoint %" PRIu64 "\n", WR_FMT(g.op->id), args->pos[2], v.ck.epoch);
    if (status == WR_OK) put_out(&g.out);
    wr_sbuf_free(&g.want), wr_sbuf_free(&g.text), wr_sbuf_free(&g.out);
    int code = status == WR_OK ? finish_stdout(CLI_OK) : state_fail(&err, args);
    state_close(&v);
    return code;
}

/* ---- top ---- */
typedef struct big_key { uint64_t bytes; uint32_t group; bool in_tier; char *text; } big_key;
typedef struct topper {
    state_view     *v;
    const state_op *op;
    uint32_t        limit;
    uint64_t        keys, bytes, tier_bytes, *groups;
    WR_ARR(big_key) big;     /* largest first, at most limit */
} topper;

static bool top_one(void *arg, const wr_state_entry *e) {
    topper  *t = arg;
    uint64_t bytes = bytes_of(e);
    uint32_t group = wr_key_group(e->hash, t->v->n_groups);
    t->keys++;
    t->bytes += bytes;
    if (e->in_tier) t->tier_bytes += bytes;
    t->groups[group] += bytes;
    if (t->big.n == t->limit && t->big.at[t->big.n - 1].bytes >= bytes) return true;
    wr_sbuf text = {0};
    state_key_text(t->op, e, &text);
    if (t->big.n == t->limit) wr_free(t->big.at[--t->big.n].text);
    wr_arr_push(&t->big, (big_key){bytes, group, e->in_tier, text.at});
    for (uint32_t i = t->big.n - 1; i > 0 && t->big.at[i].bytes > t->big.at[i - 1].bytes; i--) {
        big_key k = t->big.at[i];
        t->big.at[i] = t->big.at[i - 1], t->big.at[i - 1] = k;
    }
    return true;
}

static uint32_t largest_group(topper *t) {
    uint32_t most = 0;
    for (uint32_t g = 1; g < t->v->n_groups; g++)
        if (t->groups[g] > t->groups[most]) most = g;
    return most;
}

static void top_text(topper *t, wr_sbuf *out) {
    wr_sbuf_printf(out, "%.*s  %.*s\n  ", WR_FMT(t->op->id), WR_FMT(t->op->title));
    add_count(out, t->keys);
    wr_sbuf_addz(out, " keys, ");
    wr_text_size((int64_t)t->bytes, out);
    if (t->tier_bytes) wr_sbuf_addz(out, ", "), wr_text_size((int64_t)t->tier_bytes, out), wr_sbuf_addz(out, " of it in the tier");
    wr_sbuf_addz(out, "; largest key groups:");
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t g = largest_group(t);
        if (!t->groups[g]) break;
        wr_sbuf_printf(out, "%s %u (", i ? "," : "", g), wr_text_size((int64_t)t->groups[g], out), wr_sbuf_addc(out, ')');
        t->groups[g] = 0;
    }
    wr_sbuf_addc(out, '\n');
    for (uint32_t i = 0; i < t->big.n; i++) {
        wr_sbuf_addz(out, "    ");
        wr_text_size((int64_t)t->big.at[i].bytes, out);
        wr_sbuf_printf(out, "  group %u  %s\n", t->big.at[i].group, t->big.at[i].text);
    }
}

static void top_json(topper *t, wr_sbuf *out) {
    wr_sbuf_addz(out, "{\"id\":"), wr_sbuf_add_json(out, t->op->id);
    wr_sbuf_printf(out, ",\"keys\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"tier_bytes\":%" PRIu64 ",\"groups\":[", t->keys, t->bytes, t->tier_bytes);
    for (uint32_t g = 0; g < t->v->n_groups; g++) wr_sbuf_printf(out, "%s%" PRIu64, g ? "," : "", t->groups[g]);
    wr_sbuf_addz(out, "],\"largest\":[");
    for (uint32_t i = 0; i < t->big.n; i++) {
        wr_sbuf_addz(out, i ? ",{\"key\":" : "{\"key\":"), wr_sbuf_add_json(out, wr_str_of(t->big.at[i].text));
        wr_sbuf_printf(out, ",\"bytes\":%" PRIu64 ",\"group\":%u,\"tier\":%s}", t->big.at[i].bytes, t->big.at[i].group, t->big.at[i].in_tier ? "true" : "false");
    }
    wr_sbuf_addz(out, "]}");
}

static wr_status top_op(state_view *v, const state_op *op, const state_args *args, wr_sbuf *out, wr_err *err) {
    topper t = {.v = v, .op = op, .limit = args->limit, .groups = wr_calloc(v->n_groups + 1, sizeof(uint64_t))};
    wr_status status = state_walk(v, op, top_one, &t, err);
    if (status == WR_OK && args->json) top_json(&t, out);
    else if (status == WR_OK) top_text(&t, out);
    for (uint32_t i = 0; i < t.big.n; i++) wr_free(t.big.at[i].text);
    wr_arr_free(&t.big);
    wr_free(t.groups);
    return status;
}

static int by_bytes(const void *a, const void *b) {
    int64_t x = ((const state_op *)a)->state_bytes, y = ((const state_op *)b)->state_bytes;
    return x < y ? 1 : x > y ? -1 : 0;
}

int state_top(const state_args *args) {
    state_view v;
    wr_err     err = {0};
    wr_sbuf    out = {0};
    if (state_open(args->pos[0], args->epoch, true, &v, &err) != WR_OK) return state_fail(&err, args);
    wr_status       status = WR_OK;
    const state_op *only = args->n_pos > 1 ? state_find_op(&v, args->pos[1], &err) : NULL;
    if (args->n_pos > 1 && !only) status = WR_USER;
    wr_str id = only ? only->id : (wr_str){0};
    if (v.ops.n) qsort(v.ops.at, v.ops.n, sizeof *v.ops.at, by_bytes);
    if (args->json) wr_sbuf_printf(&out, "{\"epoch\":%" PRIu64 ",\"operators\":[", v.ck.epoch);
    for (uint32_t i = 0, n = 0; i < v.ops.n && status == WR_OK; i++) {
        if (id.ptr && !wr_str_eq(v.ops.at[i].id, id)) continue;
        if (args->json && n++) wr_sbuf_addc(&out, ',');
        status = top_op(&v, &v.ops.at[i], args, &out, &err);
    }
    if (args->json) wr_sbuf_addz(&out, "]}\n");
    if (status == WR_OK) put_out(&out);
    wr_sbuf_free(&out);
    int code = status == WR_OK ? finish_stdout(CLI_OK) : state_fail(&err, args);
    state_close(&v);
    return code;
}

/* ---- diff ---- */
typedef struct pair { uint64_t key, value; } pair;
typedef struct pairs { WR_ARR(pair) list; } pairs;
typedef struct counts { uint64_t added, removed, changed, same; } counts;

static bool pair_one(void *arg, const wr_state_entry *e) {
    pairs   *p = arg;
    uint64_t key = wr_hash_mix(wr_hash_mix(wr_hash_bytes(e->key.ptr, e->key.len), wr_hash_bytes(e->map, strlen(e->map))), wr_hash_bytes(e->prefix.ptr, e->prefix.len));
    wr_arr_push(&p->list, (pair){key, wr_hash_bytes(e->value.ptr, e->value.len)});
    return true;
}

static int by_key(const void *a, const void *b) {
    const pair *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->value < y->value ? -1 : x->value > y->value;
}

static wr_status pairs_of(state_view *v, wr_str id, pairs *out, wr_err *err) {
    for (uint32_t i = 0; i < v->ops.n; i++)
        if (wr_str_eq(v->ops.at[i].id, id)) WR_TRY(state_walk(v, &v->ops.at[i], pair_one, out, err));
    if (out->list.n) qsort(out->list.at, out->list.n, sizeof(pair), by_key);
    return WR_OK;
}

static counts compare(const pairs *a, const pairs *b) {
    counts   c = {0};
    uint32_t i = 0, k = 0;
    while (i < a->list.n || k < b->list.n) {
        if (k == b->list.n || (i < a->list.n && a->list.at[i].key < b->list.at[k].key)) c.removed++, i++;
        else if (i == a->list.n || b->list.at[k].key < a->list.at[i].key) c.added++, k++;
        else {
            if (a->list.at[i].value == b->list.at[k].value) c.same++;
            else c.changed++;
            i++, k++;
        }
    }
    return c;
}

static wr_status diff_op(state_view *a, state_view *b, const state_op *op, bool first, const state_args *args, wr_sbuf *out, wr_err *err) {
    pairs     pa = {0}, pb = {0};
    wr_status status = pairs_of(a, op->id, &pa, err);
    if (status == WR_OK) status = pairs_of(b, op->id, &pb, err);
    counts c = compare(&pa, &pb);
    if (args->json) {
        wr_sbuf_addz(out, first ? "{\"id\":" : ",{\"id\":"), wr_sbuf_add_json(out, op->id);
        wr_sbuf_printf(out, ",\"added\":%" PRIu64 ",\"removed\":%" PRIu64 ",\"changed\":%" PRIu64 ",\"same\":%" PRIu64 "}", c.added, c.removed, c.changed, c.same);
    } else {
        wr_sbuf_printf(out, "  %-24.*s ", WR_FMT(op->id));
        const struct { uint64_t n; const char *what; } parts[] = {{c.added, " added, "}, {c.removed, " removed, "}, {c.changed, " changed, "}, {c.same, " the same  "}};
        for (size_t i = 0; i < WR_COUNT_OF(parts); i++) add_count(out, parts[i].n), wr_sbuf_addz(out, parts[i].what);
        wr_sbuf_printf(out, "%.*s\n", WR_FMT(op->title));
    }
    wr_arr_free(&pa.list), wr_arr_free(&pb.list);
    return status;
}

static bool has_op(const state_view *v, wr_str id) {
    for (uint32_t i = 0; i < v->ops.n; i++)
        if (wr_str_eq(v->ops.at[i].id, id)) return true;
    return false;
}

int state_diff(const state_args *args) {
    state_view a, b;
    wr_err     err = {0};
    wr_sbuf    out = {0};
    if (state_open(args->pos[0], args->epoch, true, &a, &err) != WR_OK) return state_fail(&err, args);
    if (state_open(args->pos[1], 0, true, &b, &err) != WR_OK) {
        state_close(&a);
        return state_fail(&err, args);
    }
    if (args->json) wr_sbuf_printf(&out, "{\"from_epoch\":%" PRIu64 ",\"to_epoch\":%" PRIu64 ",\"operators\":[", a.ck.epoch, b.ck.epoch);
    else wr_sbuf_printf(&out, "from checkpoint %" PRIu64 " of %s to checkpoint %" PRIu64 " of %s, keys:\n", a.ck.epoch, args->pos[0], b.ck.epoch, args->pos[1]);
    wr_status status = WR_OK;
    uint32_t  n = 0;
    for (uint32_t i = 0; i < a.ops.n && status == WR_OK; i++) status = diff_op(&a, &b, &a.ops.at[i], n++ == 0, args, &out, &err);
    for (uint32_t i = 0; i < b.ops.n && status == WR_OK; i++)
        if (!has_op(&a, b.ops.at[i].id)) status = diff_op(&a, &b, &b.ops.at[i], n++ == 0, args, &out, &err);
    if (args->json) wr_sbuf_addz(&out, "]}\n");
    if (status == WR_OK) put_out(&out);
    wr_sbuf_free(&out);
    state_close(&a), state_close(&b);
    return status == WR_OK ? finish_stdout(CLI_OK) : state_fail(&err, args);
}
