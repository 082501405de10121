/* cli/story_json.c: figures out of the JSON that a command printed. See story_json.h. */
#include "story_json.h"
#include "format/json_tree.h"
#include <stdio.h>
#include <stdlib.h>

static bool has(wr_str text, wr_str part) { return part.len == 0 || memmem(text.ptr, text.len, part.ptr, part.len) != NULL; }

static const wr_json_node *element(const wr_json_node *array, wr_str which) {
    const char *tilde = memchr(which.ptr, '~', which.len);
    if (array->kind != WR_JSON_ARRAY) return NULL;
    if (!tilde) {
        uint64_t at = wr_str_eq(which, WR_STR("last")) ? array->n - (array->n ? 1u : 0u) : strtoul(which.ptr, NULL, 10);
        const wr_json_node *e = array->first;
        while (e && at--) e = e->next;
        return e;
    }
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)(tilde - which.ptr), which.ptr);
    for (const wr_json_node *e = array->first; e; e = e->next)
        if (has(wr_json_get_string(e, key), (wr_str){tilde + 1, which.len - (size_t)(tilde + 1 - which.ptr)}) && wr_json_get_string(e, key).ptr) return e;
    return NULL;
}

static bool walk(const wr_json_node *node, wr_str path, wr_sbuf *out) {
    if (!node) return false;
    if (!path.len) {
        if (node->kind == WR_JSON_BOOL) wr_sbuf_addz(out, node->yes ? "true" : "false");
        else if (node->kind == WR_JSON_NULL) wr_sbuf_addz(out, "null");
        else if (node->kind == WR_JSON_ARRAY || node->kind == WR_JSON_OBJECT) wr_sbuf_printf(out, "%u", node->n);
        else wr_sbuf_add_str(out, node->text);
        return true;
    }
    if (path.ptr[0] == '#') return node->kind == WR_JSON_ARRAY && path.len == 1 && walk(node, (wr_str){0}, out);
    if (path.ptr[0] == '.') {
        char   key[64];
        size_t n = 1;
        while (n < path.len && path.ptr[n] != '.' && path.ptr[n] != '[' && path.ptr[n] != '#') n++;
        snprintf(key, sizeof key, "%.*s", (int)n - 1, path.ptr + 1);
        return walk(wr_json_get(node, key), (wr_str){path.ptr + n, path.len - n}, out);
    }
    const char *close = memchr(path.ptr, ']', path.len);
    if (path.ptr[0] != '[' || !close) return false;
    wr_str which = {path.ptr + 1, (size_t)(close - path.ptr) - 1}, rest = {close + 1, path.len - (size_t)(close + 1 - path.ptr)};
    if (which.len) return walk(element(node, which), rest, out);
    double total = 0;
    for (const wr_json_node *e = node->kind == WR_JSON_ARRAY ? node->first : NULL; e; e = e->next) {
        wr_sbuf one = {0};
        double  value;
        if (walk(e, rest, &one) && story_number(wr_sbuf_str(&one), &value)) total += value;
        wr_sbuf_free(&one);
    }
    wr_sbuf_printf(out, "%.15g", total);
    return true;
}

wr_status story_json(wr_str text, wr_str path, wr_sbuf *out, wr_err *err) {
    char                why[120] = "";
    wr_arena           *arena = wr_arena_new(NULL);
    const wr_json_node *root = wr_json_parse(arena, text, why);
    bool                found = root && walk(root, (wr_str){path.ptr + 1, path.len - 1}, out);
    wr_arena_free(arena);
    if (found) return WR_OK;
    return root ? wr_fail(err, WR_DATA, "WR478", "there is no %.*s in the JSON that the command printed", WR_FMT(path)) : wr_fail(err, WR_DATA, "WR478", "the command printed no JSON: %s", why);
}
