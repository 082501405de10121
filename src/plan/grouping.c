/* plan/grouping.c: GROUPING SETS, ROLLUP, CUBE -> the list of groupings they stand for.
 *
 * Idea       each element of GROUP BY has alternatives (a plain expression has one); the groupings are their cross product. The SELECT is then
 *            bound once a grouping (bind_select.c) and the results are united; physical.c finds the common input again.
 * Limit      GROUPINGS_MAX, since CUBE grows as a power of two.                                                        */
#include "plan/logical.h"

enum { GROUPINGS_MAX = 64 };

static void add_list(pl *p, groupings *out, const wr_ast_exprs *list) {
    wr_ast_exprs copy = {0};
    for (uint32_t i = 0; i < list->n; i++) wr_arr_apush(p->arena, &copy, list->at[i]);
    wr_arr_apush(p->arena, out, copy);
}

static void append(pl *p, wr_ast_exprs *to, const wr_ast_exprs *from) {
    for (uint32_t i = 0; i < from->n; i++) wr_arr_apush(p->arena, to, from->at[i]);
}

static bool alternatives(pl *p, const wr_ast_group *g, groupings *out) {
    uint32_t n = g->items.n;
    switch (g->kind) {
    case WR_GROUP_EXPR:
    case WR_GROUP_SET: add_list(p, out, &g->exprs); return true;
    case WR_GROUP_ROLLUP:
        for (uint32_t len = n + 1; len-- > 0;) {
            wr_ast_exprs prefix = {0};
            for (uint32_t i = 0; i < len; i++) append(p, &prefix, &g->items.at[i]->exprs);
            wr_arr_apush(p->arena, out, prefix);
        }
        break;
    case WR_GROUP_CUBE:
        if (n > 6) break;
        for (uint32_t mask = 1u << n; mask-- > 0;) {
            wr_ast_exprs part = {0};
            for (uint32_t i = 0; i < n; i++)
                if (mask >> (n - 1 - i) & 1) append(p, &part, &g->items.at[i]->exprs);
            wr_arr_apush(p->arena, out, part);
        }
        break;
    case WR_GROUP_SETS:
        for (uint32_t i = 0; i < n; i++)
            if (!alternatives(p, g->items.at[i], out)) return false;
        break;
    }
    if (out->n > 0 && out->n <= GROUPINGS_MAX) return true;
    pl_error(p, "54001", g->at, "GROUP BY stands for more than %d groupings", GROUPINGS_MAX);
    return false;
}

bool pl_groupings(pl *p, const wr_ast_select *s, groupings *out) {
    bool special = false;
    for (uint32_t i = 0; i < s->group_by.n; i++) special |= s->group_by.at[i]->kind >= WR_GROUP_ROLLUP;
    memset(out, 0, sizeof *out);
    if (!special) return true;
    wr_arr_apush(p->arena, out, (wr_ast_exprs){0});
    for (uint32_t i = 0; i < s->group_by.n; i++) {
        groupings mine = {0}, product = {0};
        if (!alternatives(p, s->group_by.at[i], &mine)) return false;
        for (uint32_t a = 0; a < out->n; a++)
            for (uint32_t b = 0; b < mine.n; b++) {
                wr_ast_exprs both = {0};
                append(p, &both, &out->at[a]);
                append(p, &both, &mine.at[b]);
                wr_arr_apush(p->arena, &product, both);
            }
        if (product.n > GROUPINGS_MAX) return pl_error(p, "54001", s->group_by.at[i]->at, "GROUP BY stands for more than %d groupings", GROUPINGS_MAX), false;
        *out = product;
    }
    return true;
}
