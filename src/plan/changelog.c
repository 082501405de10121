/* plan/changelog.c: TO_CHANGELOG(input => TABLE t, op => DESCRIPTOR(c), op_mapping => MAP[...]) and FROM_CHANGELOG: kinds of change as a column.
 *
 * Idea       a node whose output is its input without or with one column; physically a calc (op.h: wr_calc_kinds).
 * Invariant  TO gives inserts only; FROM gives a changelog without a key.
 * Memory     the arena of the plan.                                                                                  */
#include "plan/logical.h"

static const char *const KINDS[] = {[WR_KIND_INSERT] = "INSERT", [WR_KIND_UPDATE_BEFORE] = "UPDATE_BEFORE", [WR_KIND_UPDATE_AFTER] = "UPDATE_AFTER", [WR_KIND_DELETE] = "DELETE"};

bool pl_is_changelog(const wr_ast_call *c) {
    wr_str n = c->name.part[c->name.n - 1].text;
    return c->name.n == 1 && (wr_str_ieq(n, WR_STR("TO_CHANGELOG")) || wr_str_ieq(n, WR_STR("FROM_CHANGELOG")));
}

typedef struct chg_args { const wr_ast_expr *input, *op, *mapping; } chg_args;

static bool sort_args(pl *p, const wr_ast_expr *call, const char *name, chg_args *out) {
    const wr_ast_call *c = &call->call;
    for (uint32_t i = 0; i < c->args.n; i++) {
        const wr_ast_expr *a = c->args.at[i], **slots[] = {&out->input, &out->op, &out->mapping}, **slot = i < 3 ? slots[i] : NULL;
        if (a->kind == WR_AST_NAMED_ARG) {
            wr_str n = a->named.name.text;
            slot = wr_str_ieq(n, WR_STR("INPUT")) ? &out->input : wr_str_ieq(n, WR_STR("OP")) ? &out->op : wr_str_ieq(n, WR_STR("OP_MAPPING")) ? &out->mapping : NULL;
            if (!slot) return pl_error(p, "42883", a->at, "%s has no argument '%.*s'", name, WR_FMT(n)), false;
            a = a->named.value;
        }
        if (!slot || *slot) out->input = NULL;
        else *slot = a;
        if (!out->input && i) break;
    }
    if (out->input && out->input->kind == WR_AST_TABLE_ARG && (!out->op || (out->op->kind == WR_AST_DESCRIPTOR && out->op->descriptor.columns.n == 1))) return true;
    pl_error(p, "42883", call->at, "wrong arguments for %s", name);
    wr_diags_hint(p->diags, "%s(input => TABLE t [, op => DESCRIPTOR(op)] [, op_mapping => MAP['...', '...']])", name);
    return false;
}

static int kind_named(wr_str name) {
    for (int k = 0; k < 4; k++)
        if (wr_str_eq(name, wr_str_of(KINDS[k]))) return k;
    return -1;
}

/* One pair of op_mapping: 'INSERT, UPDATE_AFTER' -> 'c' (TO), 'c, r' -> 'INSERT' (FROM). */
static bool map_pair(pl *p, const wr_ast_expr *from, const wr_ast_expr *to, wr_calc_kinds *k) {
    wr_str list = from->lit.text, target = wr_str_trim(to->lit.text);
    int    kind = k->to ? 0 : kind_named(target);
    if (kind < 0) return pl_error(p, "22023", to->at, "'%.*s' is no kind of change: INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE", WR_FMT(target)), false;
    for (size_t at = 0; at <= list.len;) {
        const char *comma = memchr(list.ptr + at, ',', list.len - at);
        size_t      end = comma ? (size_t)(comma - list.ptr) : list.len;
        wr_str      one = wr_str_trim((wr_str){list.ptr + at, end - at});
        at = end + 1;
        if (!k->to) {
            k->codes[k->n_codes].text = one;
            k->codes[k->n_codes++].kind = (uint8_t)kind;
            continue;
        }
        int which = kind_named(one);
        if (which < 0) return pl_error(p, "22023", from->at, "'%.*s' is no kind of change: INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE", WR_FMT(one)), false;
        k->text[which] = target;
    }
    return true;
}

static bool mapping(pl *p, const wr_ast_expr *m, wr_calc_kinds *k) {
    uint32_t room = 4;
    for (uint32_t i = 0; m && m->kind == WR_AST_MAP && i < m->row.args.n; i++) {
        const wr_ast_expr *x = m->row.args.at[i];
        if (x->kind != WR_AST_LITERAL || x->lit.kind != WR_LIT_STRING) return pl_error(p, "42804", x->at, "op_mapping takes texts: MAP['INSERT', 'c', ...]"), false;
        for (size_t c = 0; c < x->lit.text.len; c++) room += x->lit.text.ptr[c] == ',';
        room++;
    }
    k->codes = wr_arena_calloc(p->arena, sizeof *k->codes * room);
    if (!m) {
        for (int i = 0; i < 4; i++) {
            k->text[i] = wr_str_of(KINDS[i]);
            k->codes[k->n_codes].text = wr_str_of(KINDS[i]);
            k->codes[k->n_codes++].kind = (uint8_t)i;
        }
        return true;
    }
    if (m->kind != WR_AST_MAP || m->row.args.n % 2) return pl_error(p, "42804", m->at, "op_mapping takes MAP['...', '...', ...]"), false;
    for (uint32_t i = 0; i < m->row.args.n; i += 2)
        if (!map_pair(p, m->row.args.at[i], m->row.args.at[i + 1], k)) return false;
    return true;
}

lnode *pl_bind_changelog(pl *p, const wr_ast_ref *ref, pcte *ctes) {
    const wr_ast_call *c = &ref->call->call;
    bool               to = wr_str_ieq(c->name.part[0].text, WR_STR("TO_CHANGELOG"));
    const char        *name = to ? "TO_CHANGELOG" : "FROM_CHANGELOG";
    chg_args           a = {0};
    scope              sc = {0};
    if (!sort_args(p, ref->call, name, &a)) return NULL;
    if (a.input->table_arg.partition_by.n) return pl_error(p, "0A000", a.input->at, "%s takes no PARTITION BY", name);
    lnode *in = pl_bind_ref(p, a.input->table_arg.ref, ctes, &sc);
    if (!in) return NULL;
    wr_str         column = WR_STR("op");
    wr_calc_kinds *k = wr_new(p->arena, wr_calc_kinds);
    k->to = to;
    if (a.op) column = a.op->descriptor.columns.at[0].part[a.op->descriptor.columns.at[0].n - 1].text;
    int at = wr_schema_find(&in->schema, column);
    if (!to && (at < 0 || !wr_type_is_string(in->schema.fields[at].type)))
        return pl_error(p, "42703", a.op ? a.op->at : ref->call->at, "FROM_CHANGELOG: the input has no text column '%.*s' with the operation", WR_FMT(column));
    if (to && at >= 0) return pl_error(p, "42701", a.op ? a.op->at : ref->call->at, "TO_CHANGELOG: the input has a column '%.*s' already: op => DESCRIPTOR(name)", WR_FMT(column));
    if (!mapping(p, a.mapping, k)) return NULL;
    k->col = to ? 0 : (uint32_t)at;
    lnode    *n = pl_node(p, L_CHANGELOG, ref->call->at, 1, in, NULL);
    wr_field *f = wr_new_n(p->arena, wr_field, in->schema.n + 1);
    uint32_t  w = 0;
    if (to) f[w++] = (wr_field){column, wr_type_not_null(wr_type_string())};
    for (uint32_t i = 0; i < in->schema.n; i++)
        if (to || i != k->col) f[w++] = in->schema.fields[i];
    n->schema = (wr_schema){w, f};
    n->kinds = k;
    n->label = in->label;
    return n;
}
