/* run/upgrade.c: comparing the stored plan of a checkpoint with a new one. See upgrade.h.
 *
 * Format     u32 version, u32 nodes, then for each: id, kind name, title, meaning, meaning without filters, layout (bytes each), u8 stateful.
 * Matching   a node of the new plan takes the old node of equal kind and meaning (each old one once, equal ids first). Old and new sinks match by
 *            table name. Nodes without state have no line.                                                                 */
#include "run/upgrade.h"
#include "plan/identity.h"
#include <stdio.h>

enum { PLAN_VERSION = 1 };

typedef struct old_node {
    wr_str id, kind, title, meaning, bare, layout;
    bool   stateful, taken;
} old_node;
typedef WR_ARR(old_node) old_nodes;

const char *wr_fate_name(wr_fate fate) {
    static const char *const NAMES[] = {"kept", "moved", "changed", "rebuilt", "dropped"};
    return NAMES[fate];
}

void wr_upgrade_put_plan(const wr_job_plan *plan, wr_sbuf *out) {
    wr_identities *x = wr_identities_new(plan);
    wr_sbuf        layout = {0};
    wr_put_u32(out, PLAN_VERSION);
    wr_put_u32(out, plan->nodes.n);
    for (uint32_t i = 0; i < plan->nodes.n; i++) {
        const wr_pnode *n = plan->nodes.at[i];
        const char     *kind = wr_pnode_kind_name(n->kind);
        wr_str          meaning = wr_identity_meaning(x, n), bare = wr_identity_unfiltered(x, n);
        wr_sbuf_clear(&layout);
        bool stateful = wr_identity_layout(x, n, &layout);
        wr_put_bytes(out, n->id, strlen(n->id));
        wr_put_bytes(out, kind, strlen(kind));
        wr_put_bytes(out, n->title, strlen(n->title));
        wr_put_bytes(out, meaning.ptr, meaning.len);
        wr_put_bytes(out, bare.ptr, bare.len);
        wr_put_bytes(out, layout.at, layout.len);
        wr_put_u8(out, stateful);
    }
    wr_sbuf_free(&layout);
    wr_identities_free(x);
}

static wr_status read_plan(wr_str bytes, old_nodes *out, wr_err *err) {
    wr_reader in = {(const uint8_t *)bytes.ptr, (const uint8_t *)bytes.ptr + bytes.len, false};
    uint32_t  version = wr_get_u32(&in), n = wr_get_u32(&in);
    if (version != PLAN_VERSION) return wr_fail(err, WR_CORRUPT, "WR304", "the plan in the checkpoint has version %u, this weir reads %d", version, PLAN_VERSION);
    for (uint32_t i = 0; i < n && !in.bad; i++) {
        old_node o = {.id = wr_get_bytes(&in)};
        o.kind = wr_get_bytes(&in), o.title = wr_get_bytes(&in), o.meaning = wr_get_bytes(&in), o.bare = wr_get_bytes(&in), o.layout = wr_get_bytes(&in);
        o.stateful = wr_get_u8(&in);
        if (!in.bad) wr_arr_push(out, o);
    }
    return in.bad ? wr_fail(err, WR_CORRUPT, "WR304", "the plan in the checkpoint is damaged") : WR_OK;
}

static old_node *find(old_nodes *old, const char *kind, wr_str text, wr_str id, bool bare) {
    old_node *best = NULL;
    for (uint32_t i = 0; i < old->n; i++) {
        old_node *o = &old->at[i];
        if (o->taken || !wr_str_eq(o->kind, wr_str_of(kind)) || !wr_str_eq(bare ? o->bare : o->meaning, text)) continue;
        if (wr_str_eq(o->id, id)) return o;
        if (!best) best = o;
    }
    return best;
}

static uint32_t count_lines(wr_str s) {
    uint32_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += s.ptr[i] == '\n';
    return n;
}
static bool has_line(wr_str all, wr_str line) { /* line with its line break */
    for (size_t at = 0; at + line.len <= all.len;) {
        if (!memcmp(all.ptr + at, line.ptr, line.len)) return true;
        const char *nl = memchr(all.ptr + at, '\n', all.len - at);
        if (!nl) return false;
        at = (size_t)(nl + 1 - all.ptr);
    }
    return false;
}
/* The first line of a that b has not, without its line break. */
static wr_str first_missing(wr_str a, wr_str b) {
    for (size_t at = 0; at < a.len;) {
        const char *nl = memchr(a.ptr + at, '\n', a.len - at);
        size_t      len = nl ? (size_t)(nl - a.ptr) - at : a.len - at;
        if (!has_line(b, (wr_str){a.ptr + at, len + (nl != NULL)})) return (wr_str){a.ptr + at, len};
        at += len + 1;
    }
    return (wr_str){"", 0};
}

static void why_layout(char *out, size_t size, wr_str old, wr_str now) {
    wr_str more = first_missing(now, old), less = first_missing(old, now);
    if (more.len) snprintf(out, size, "it keeps more than before: %.*s%s", (int)WR_MIN(more.len, 120u), more.ptr, count_lines(now) > count_lines(old) + 1 ? " and others" : "");
    else if (less.len) snprintf(out, size, "it no longer keeps %.*s", (int)WR_MIN(less.len, 120u), less.ptr);
    else snprintf(out, size, "it keeps the same in another order");
}

static void add(wr_upgrade *u, wr_upgrade_line line) {
    if (line.fate != WR_FATE_KEPT) u->changed = true;
    if (line.fate == WR_FATE_REBUILT) u->rebuild = true;
    wr_arr_push(&u->lines, line);
}

static void compare_sink(wr_upgrade *u, const wr_pnode *n, wr_str meaning, wr_str written, old_nodes *old) {
    wr_upgrade_line line = {.node = n, .sink = true};
    old_node       *o = find(old, wr_pnode_kind_name(n->kind), meaning, wr_str_of(n->id), false);
    snprintf(line.title, sizeof line.title, "%s", n->title);
    if (o) {
        o->taken = true;
        snprintf(line.old_id, sizeof line.old_id, "%.*s", (int)WR_MIN(o->id.len, 47u), o->id.ptr);
        bool same = wr_str_eq(o->layout, written);
        line.fate = !same ? WR_FATE_CHANGED : wr_str_eq(o->id, wr_str_of(n->id)) ? WR_FATE_KEPT : WR_FATE_MOVED;
        snprintf(line.why, sizeof line.why, "%s", same ? "it goes on where it was" : "it gets the new query's rows from here on; what was written before stays");
    } else {
        line.fate = WR_FATE_REBUILT;
        snprintf(line.why, sizeof line.why, "it is new: filled from the logs up to the checkpoint, then it goes on with the others");
    }
    add(u, line);
}

static void compare_node(wr_upgrade *u, const wr_identities *x, const wr_pnode *n, wr_sbuf *layout, old_nodes *old) {
    wr_sbuf_clear(layout);
    if (n->kind == WR_P_SINK) {
        (void)wr_identity_layout(x, n, layout);
        compare_sink(u, n, wr_identity_meaning(x, n), wr_sbuf_str(layout), old);
        return;
    }
    if (!wr_identity_layout(x, n, layout)) return;
    const char     *kind = wr_pnode_kind_name(n->kind);
    wr_upgrade_line line = {.node = n};
    old_node       *o = find(old, kind, wr_identity_meaning(x, n), wr_str_of(n->id), false), *near = NULL;
    snprintf(line.title, sizeof line.title, "%s", n->title);
    if (!o) near = find(old, kind, wr_identity_unfiltered(x, n), wr_str_of(n->id), true);
    if (o || near) {
        (o ? o : near)->taken = true;
        snprintf(line.old_id, sizeof line.old_id, "%.*s", (int)WR_MIN((o ? o : near)->id.len, 47u), (o ? o : near)->id.ptr);
    }
    if (o && wr_str_eq(o->layout, wr_sbuf_str(layout))) {
        bool same = wr_str_eq(o->id, wr_str_of(n->id));
        line.fate = same ? WR_FATE_KEPT : WR_FATE_MOVED;
        snprintf(line.why, sizeof line.why, same ? "nothing about it has changed" : "only names around it have changed");
    } else if (o) {
        line.fate = WR_FATE_REBUILT;
        why_layout(line.why, sizeof line.why, o->layout, wr_sbuf_str(layout));
    } else if (near) {
        line.fate = WR_FATE_REBUILT;
        snprintf(line.why, sizeof line.why, "other rows reach it: a condition before it has changed");
    } else {
        line.fate = WR_FATE_REBUILT;
        snprintf(line.why, sizeof line.why, "the earlier job had no such state");
    }
    add(u, line);
}

wr_status wr_upgrade_compare(const wr_job_plan *plan, wr_str old_plan, wr_upgrade *out, wr_err *err) {
    *out = (wr_upgrade){0};
    old_nodes old = {0};
    wr_status status = read_plan(old_plan, &old, err);
    wr_sbuf   layout = {0};
    wr_identities *x = wr_identities_new(plan);
    for (uint32_t i = 0; status == WR_OK && i < plan->nodes.n; i++) compare_node(out, x, plan->nodes.at[i], &layout, &old);
    for (uint32_t i = 0; status == WR_OK && i < old.n; i++) {
        const old_node *o = &old.at[i];
        bool            sink = wr_str_eq(o->kind, WR_STR("sink"));
        if (o->taken || (!o->stateful && !sink)) continue;
        wr_upgrade_line line = {.fate = WR_FATE_DROPPED, .sink = sink};
        snprintf(line.old_id, sizeof line.old_id, "%.*s", (int)WR_MIN(o->id.len, 47u), o->id.ptr);
        snprintf(line.title, sizeof line.title, "%.*s", (int)WR_MIN(o->title.len, 159u), o->title.ptr);
        snprintf(line.why, sizeof line.why, sink ? "the new script does not write it; what is there stays" : "the new script does not need it");
        add(out, line);
    }
    wr_identities_free(x);
    wr_sbuf_free(&layout);
    wr_arr_free(&old);
    if (status != WR_OK) wr_upgrade_free(out);
    return status;
}
void wr_upgrade_free(wr_upgrade *upgrade) { wr_arr_free(&upgrade->lines); }

void wr_upgrade_text(const wr_upgrade *u, wr_sbuf *out) {
    for (uint32_t i = 0; i < u->lines.n; i++) {
        const wr_upgrade_line *l = &u->lines.at[i];
        wr_sbuf_printf(out, "  %-8s %s %s (%s)\n           %s", wr_fate_name(l->fate), l->sink ? "output" : "state", l->title, l->node ? l->node->id : l->old_id, l->why);
        if (l->fate == WR_FATE_MOVED) wr_sbuf_printf(out, "; it was %s", l->old_id);
        wr_sbuf_addc(out, '\n');
    }
}

void wr_upgrade_json(const wr_upgrade *u, wr_sbuf *out) {
    wr_sbuf_addc(out, '[');
    for (uint32_t i = 0; i < u->lines.n; i++) {
        const wr_upgrade_line *l = &u->lines.at[i];
        wr_sbuf_printf(out, "%s{\"fate\":\"%s\",\"what\":\"%s\",\"title\":", i ? "," : "", wr_fate_name(l->fate), l->sink ? "output" : "state");
        wr_sbuf_add_json(out, wr_str_of(l->title));
        wr_sbuf_addz(out, ",\"id\":");
        if (l->node) wr_sbuf_add_json(out, wr_str_of(l->node->id));
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addz(out, ",\"old_id\":");
        if (l->old_id[0]) wr_sbuf_add_json(out, wr_str_of(l->old_id));
        else wr_sbuf_addz(out, "null");
        wr_sbuf_addz(out, ",\"why\":");
        wr_sbuf_add_json(out, wr_str_of(l->why));
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addc(out, ']');
}
