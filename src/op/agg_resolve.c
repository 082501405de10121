/* op/agg_resolve.c: names, result types and algebra of aggregate functions, for the planner (op.h).
 *
 * Idea       one table: name, kind, number of arguments, which types it takes. Result types are Flink's: SUM and AVG of an integer keep its type
 *            (SUM wraps, AVG truncates); SUM(DECIMAL(p,s)) is DECIMAL(38,s), AVG(DECIMAL(p,s)) DECIMAL(38,max(6,s)).
 * Thread     read-only tables.                                                                                         */
#include "op/agg.h"

typedef enum takes { TAKES_ANY, TAKES_NUMBER, TAKES_ORDERED, TAKES_STRING, TAKES_SMALL_INT, TAKES_BITMAP } takes;
typedef struct agg_entry {
    const char *name;
    wr_agg_kind kind;
    uint8_t     min_args, max_args;
    takes       takes;
    const char *signature;
} agg_entry;
static const agg_entry entries[] = {
    {"COUNT", WR_AGG_COUNT, 0, 1, TAKES_ANY, "COUNT(*) | COUNT([DISTINCT] any)"},
    {"SUM", WR_AGG_SUM, 1, 1, TAKES_NUMBER, "SUM([DISTINCT] number)"},
    {"SUM0", WR_AGG_SUM0, 1, 1, TAKES_NUMBER, "SUM0([DISTINCT] number)"},
    {"$SUM0", WR_AGG_SUM0, 1, 1, TAKES_NUMBER, "SUM0([DISTINCT] number)"},
    {"AVG", WR_AGG_AVG, 1, 1, TAKES_NUMBER, "AVG([DISTINCT] number)"},
    {"MIN", WR_AGG_MIN, 1, 1, TAKES_ORDERED, "MIN(number | string | binary | time | boolean)"},
    {"MAX", WR_AGG_MAX, 1, 1, TAKES_ORDERED, "MAX(number | string | binary | time | boolean)"},
    {"FIRST_VALUE", WR_AGG_FIRST_VALUE, 1, 1, TAKES_ANY, "FIRST_VALUE(any)"},
    {"LAST_VALUE", WR_AGG_LAST_VALUE, 1, 1, TAKES_ANY, "LAST_VALUE(any)"},
    {"STDDEV_POP", WR_AGG_STDDEV_POP, 1, 1, TAKES_NUMBER, "STDDEV_POP([DISTINCT] number)"},
    {"STDDEV_SAMP", WR_AGG_STDDEV_SAMP, 1, 1, TAKES_NUMBER, "STDDEV_SAMP([DISTINCT] number)"},
    {"STDDEV", WR_AGG_STDDEV_SAMP, 1, 1, TAKES_NUMBER, "STDDEV([DISTINCT] number)"},
    {"VAR_POP", WR_AGG_VAR_POP, 1, 1, TAKES_NUMBER, "VAR_POP([DISTINCT] number)"},
    {"VAR_SAMP", WR_AGG_VAR_SAMP, 1, 1, TAKES_NUMBER, "VAR_SAMP([DISTINCT] number)"},
    {"VARIANCE", WR_AGG_VAR_SAMP, 1, 1, TAKES_NUMBER, "VARIANCE([DISTINCT] number)"},
    {"LISTAGG", WR_AGG_LISTAGG, 1, 2, TAKES_STRING, "LISTAGG([DISTINCT] string [, separator])"},
    {"COLLECT", WR_AGG_COLLECT, 1, 1, TAKES_ANY, "COLLECT([DISTINCT] any)"},
    {"ARRAY_AGG", WR_AGG_ARRAY_AGG, 1, 1, TAKES_ANY, "ARRAY_AGG([DISTINCT] any)"},
    {"APPROX_COUNT_DISTINCT", WR_AGG_APPROX_COUNT_DISTINCT, 1, 1, TAKES_ANY, "APPROX_COUNT_DISTINCT(any)"},
    {"BITMAP_BUILD_AGG", WR_AGG_BITMAP_BUILD, 1, 1, TAKES_SMALL_INT, "BITMAP_BUILD_AGG(INT)"},
    {"BITMAP_BUILD_CARDINALITY_AGG", WR_AGG_BITMAP_BUILD_CARD, 1, 1, TAKES_SMALL_INT, "BITMAP_BUILD_CARDINALITY_AGG(INT)"},
    {"BITMAP_AND_AGG", WR_AGG_BITMAP_AND, 1, 1, TAKES_BITMAP, "BITMAP_AND_AGG(BITMAP)"},
    {"BITMAP_AND_CARDINALITY_AGG", WR_AGG_BITMAP_AND_CARD, 1, 1, TAKES_BITMAP, "BITMAP_AND_CARDINALITY_AGG(BITMAP)"},
    {"BITMAP_OR_AGG", WR_AGG_BITMAP_OR, 1, 1, TAKES_BITMAP, "BITMAP_OR_AGG(BITMAP)"},
    {"BITMAP_OR_CARDINALITY_AGG", WR_AGG_BITMAP_OR_CARD, 1, 1, TAKES_BITMAP, "BITMAP_OR_CARDINALITY_AGG(BITMAP)"},
    {"BITMAP_XOR_AGG", WR_AGG_BITMAP_XOR, 1, 1, TAKES_BITMAP, "BITMAP_XOR_AGG([DISTINCT] BITMAP)"},
    {"BITMAP_XOR_CARDINALITY_AGG", WR_AGG_BITMAP_XOR_CARD, 1, 1, TAKES_BITMAP, "BITMAP_XOR_CARDINALITY_AGG([DISTINCT] BITMAP)"},
    {"SINGLE_VALUE", WR_AGG_SINGLE_VALUE, 1, 1, TAKES_ANY, "SINGLE_VALUE(any)"},
};

static const agg_entry *entry_of(wr_str name) {
    for (size_t i = 0; i < WR_COUNT_OF(entries); i++)
        if (wr_str_ieq(name, wr_str_of(entries[i].name))) return &entries[i];
    return NULL;
}
bool        wr_agg_exists(wr_str name) { return entry_of(name) != NULL; }
const char *wr_agg_name(wr_agg_kind kind) {
    if (kind == WR_AGG_COUNT_STAR) return "COUNT";
    for (size_t i = 0; i < WR_COUNT_OF(entries); i++)
        if (entries[i].kind == kind) return entries[i].name;
    return "?";
}

const char *wr_agg_title(const wr_agg *agg) { return agg->kind == WR_AGG_USER ? agg->user->udf->name : wr_agg_name(agg->kind); }

static bool type_taken(takes want, wr_type t) {
    switch (want) {
    case TAKES_NUMBER: return wr_type_is_numeric(t);
    case TAKES_ORDERED: return !wr_type_is_nested(t) && t.id != WR_T_NULL && t.id != WR_T_BITMAP && t.id != WR_T_VARIANT;
    case TAKES_SMALL_INT: return t.id >= WR_T_TINYINT && t.id <= WR_T_INT;
    case TAKES_BITMAP: return t.id == WR_T_BITMAP;
    case TAKES_STRING: return wr_type_is_string(t);
    default: return t.id != WR_T_NULL;
    }
}
static wr_type result_type(wr_arena *arena, wr_agg_kind kind, wr_type arg) {
    wr_type t = wr_type_with_null(arg, true);
    t.attr = WR_TIME_NONE;
    switch (kind) {
    case WR_AGG_COUNT: case WR_AGG_COUNT_STAR: case WR_AGG_APPROX_COUNT_DISTINCT: return wr_type_not_null(wr_type_of(WR_T_BIGINT));
    case WR_AGG_BITMAP_BUILD_CARD: case WR_AGG_BITMAP_AND_CARD: case WR_AGG_BITMAP_OR_CARD: case WR_AGG_BITMAP_XOR_CARD: return wr_type_of(WR_T_BIGINT);
    case WR_AGG_BITMAP_BUILD: return wr_type_of(WR_T_BITMAP);
    case WR_AGG_SUM: return t.id == WR_T_DECIMAL ? wr_type_decimal(38, t.scale) : t;
    case WR_AGG_SUM0: return wr_type_not_null(t.id == WR_T_DECIMAL ? wr_type_decimal(38, t.scale) : t);
    case WR_AGG_AVG: case WR_AGG_STDDEV_POP: case WR_AGG_STDDEV_SAMP: case WR_AGG_VAR_POP: case WR_AGG_VAR_SAMP:
        return t.id == WR_T_DECIMAL ? wr_type_decimal(38, WR_MAX(t.scale, 6)) : t;
    case WR_AGG_LISTAGG: return wr_type_string();
    case WR_AGG_COLLECT: case WR_AGG_ARRAY_AGG: {
        wr_type *kid = wr_new(arena, wr_type);
        *kid = arg;
        kid->attr = WR_TIME_NONE;
        if (kind == WR_AGG_COLLECT) kid->nullable = 0;
        wr_type list = wr_type_of(kind == WR_AGG_COLLECT ? WR_T_MULTISET : WR_T_ARRAY);
        list.n_kids = 1;
        list.kids = kid;
        return list;
    }
    default: return t;
    }
}

static bool refuse(wr_expr_ctx *ctx, wr_str name, const agg_entry *e, const wr_type *types, uint32_t n_args, wr_span at) {
    wr_sbuf got = {0};
    for (uint32_t i = 0; i < n_args; i++) {
        if (i) wr_sbuf_addz(&got, ", ");
        wr_type_text(types[i], &got);
    }
    wr_diags_add(ctx->diags, WR_SEV_ERROR, "42883", at, "no aggregate function %.*s(%.*s)", WR_FMT(name), WR_FMT(wr_sbuf_str(&got)));
    wr_diags_hint(ctx->diags, "candidates: %s", e->signature);
    wr_sbuf_free(&got);
    return false;
}

bool wr_agg_resolve(wr_expr_ctx *ctx, wr_str name, const wr_type *arg_types, uint32_t n_args, bool distinct, wr_span at, wr_agg *out) {
    const agg_entry *e = entry_of(name);
    if (!e) {
        wr_str names[WR_COUNT_OF(entries)];
        for (size_t i = 0; i < WR_COUNT_OF(entries); i++) names[i] = wr_str_of(entries[i].name);
        int near = wr_nearest(name, names, WR_COUNT_OF(entries));
        wr_diags_add(ctx->diags, WR_SEV_ERROR, "42883", at, "unknown aggregate function '%.*s'", WR_FMT(name));
        if (near >= 0) wr_diags_hint(ctx->diags, "did you mean %s?", entries[near].name);
        return false;
    }
    if (n_args < e->min_args || n_args > e->max_args || (!n_args && distinct)) return refuse(ctx, name, e, arg_types, n_args, at);
    for (uint32_t i = 0; i < n_args; i++)
        if (!type_taken(i ? TAKES_STRING : e->takes, arg_types[i])) return refuse(ctx, name, e, arg_types, n_args, at);
    *out = (wr_agg){.kind = n_args ? e->kind : WR_AGG_COUNT_STAR, .distinct = distinct, .arg = -1, .arg2 = -1, .filter = -1};
    out->arg_type = n_args ? arg_types[0] : wr_type_of(WR_T_BIGINT);
    out->type = result_type(ctx->arena, out->kind, out->arg_type);
    return true;
}

wr_agg_algebra wr_agg_describe(const wr_agg *agg, bool retract_input) {
    wr_agg_algebra al = {.mergeable = agg->kind != WR_AGG_SINGLE_VALUE, .invertible = true, .retract_cost = ""};
    if (agg->kind == WR_AGG_USER) return (wr_agg_algebra){.mergeable = agg->user->decl->aggregate->merge != NULL, .retract_cost = ""};
    wr_aggs *a = wr_aggs_new(agg, 1, true, false);
    const wr_agg_slot *s = &a->slots[0];
    if (s->distinct || s->form == WR_FORM_SET) {
        al.invertible = false;
        al.retract_cost = "keeps every distinct value of the group with its number of copies";
    } else if (s->form == WR_FORM_SEQ) {
        al.invertible = false;
        al.retract_cost = "keeps every value of the group in order of arrival";
    }
    if (!retract_input && !agg->distinct && agg->kind != WR_AGG_LISTAGG && agg->kind != WR_AGG_COLLECT && agg->kind != WR_AGG_ARRAY_AGG) al.retract_cost = "";
    wr_aggs_free(a);
    return al;
}
