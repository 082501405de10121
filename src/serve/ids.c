/* serve/ids.c: see ids.h. */
#include "serve/ids.h"
#include "format/json_tree.h"

bool serve_ids_parse(wr_arena *arena, wr_str body, serve_ids *out) {
    char                why[120];
    const wr_json_node *tree = wr_json_parse(arena, body, why), *ids = tree ? wr_json_get(tree, "ids") : NULL;
    *out = (serve_ids){0};
    if (!ids || ids->kind != WR_JSON_ARRAY) return false;
    out->at = wr_new_n(arena, wr_str, ids->n + 1);
    for (const wr_json_node *n = ids->first; n; n = n->next) {
        if (n->kind != WR_JSON_STRING) return false;
        out->at[out->n++] = n->text;
    }
    return true;
}
