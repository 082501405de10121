/* format/json_tree.c: see json_tree.h. The text is checked as a whole first (json_skip), so that building trusts it.               */
#include "format/json_tree.h"
#include "format/json_row.h"
#include "format/json_simd.h"
#include <stdio.h>

enum { DEPTH_MAX = 100 };

static bool unescape(wr_arena *arena, wr_str raw, wr_str *out) {
    char  *to = wr_arena_alloc(arena, raw.len + 1);
    size_t len = raw.len;
    bool   lone;
    if (raw.len) memcpy(to, raw.ptr, raw.len);
    bool ok = !raw.len || !memchr(raw.ptr, '\\', raw.len) || json_unescape(raw, to, &len, &lone);
    to[ok ? len : 0] = 0;
    *out = (wr_str){to, len};
    return ok;
}

static const uint32_t *build(wr_arena *arena, const json_reader *r, const uint32_t *ix, wr_json_node *node, int depth);

static const uint32_t *build_members(wr_arena *arena, const json_reader *r, const uint32_t *ix, wr_json_node *node, int depth) {
    bool           object = r->data[*ix] == '{';
    wr_json_node **last = &node->first;
    wr_str         raw;
    node->kind = object ? WR_JSON_OBJECT : WR_JSON_ARRAY;
    for (ix++; r->data[*ix] != (object ? '}' : ']'); node->n++, last = &(*last)->next) {
        *last = wr_new(arena, wr_json_node);
        if (object) {
            if (!json_string_raw(r, ix, &raw) || !unescape(arena, raw, &(*last)->key)) return NULL;
            ix += 2; /* the key and ':' */
        }
        if (!(ix = build(arena, r, ix, *last, depth + 1))) return NULL;
        if (r->data[*ix] == ',') ix++;
    }
    return ix + 1;
}

/* NULL: nested too deep, or an escape that is none. */
static const uint32_t *build(wr_arena *arena, const json_reader *r, const uint32_t *ix, wr_json_node *node, int depth) {
    const char *p = (const char *)r->data + *ix, *q = p;
    wr_str      raw;
    switch (*p) {
    case '{':
    case '[': return depth < DEPTH_MAX ? build_members(arena, r, ix, node, depth) : NULL;
    case '"':
        node->kind = WR_JSON_STRING;
        return json_string_raw(r, ix, &raw) && unescape(arena, raw, &node->text) ? ix + 1 : NULL;
    case 't':
    case 'f':
        node->kind = WR_JSON_BOOL;
        node->yes = *p == 't';
        return ix + 1;
    case 'n': return ix + 1;
    default:
        while (q < (const char *)r->data + r->end && !strchr(",}] \t\r\n", *q)) q++;
        node->kind = WR_JSON_NUMBER;
        node->text = (wr_str){wr_arena_strndup(arena, p, (size_t)(q - p)), (size_t)(q - p)};
        return ix + 1;
    }
}

const wr_json_node *wr_json_parse(wr_arena *arena, wr_str text, char why[120]) {
    uint8_t        *data = wr_calloc(text.len + 64, 1);
    wr_simd        *simd = wr_simd_new();
    const uint32_t *places = NULL, *next = NULL;
    wr_json_node   *root = NULL;
    uint32_t        n = 0;
    if (text.len) memcpy(data, text.ptr, text.len);
    json_reader   r = {.data = data, .end = (uint32_t)text.len, .escapes = true};
    wr_simd_error error = text.len < UINT32_MAX - 128 ? wr_simd_index(simd, data, text.len, &places, &n) : WR_SIMD_OTHER;
    snprintf(why, 120, "%s", error == WR_SIMD_UTF8 ? "it is not UTF-8" : error == WR_SIMD_STRING ? "a string is not closed" : "it is not JSON");
    if (error == WR_SIMD_OK) {
        next = json_skip(&r, places, NULL);
        if (!next) snprintf(why, 120, "%.119s", r.message);
        else if (*next < r.end) snprintf(why, 120, "there is more behind the JSON value");
        else if (!build(arena, &r, places, root = wr_new(arena, wr_json_node), 0)) root = NULL, snprintf(why, 120, "it is nested deeper than %d levels, or has a bad escape", DEPTH_MAX);
    }
    wr_simd_free(simd);
    wr_free(data);
    return root;
}

const wr_json_node *wr_json_get(const wr_json_node *object, const char *key) {
    if (!object || object->kind != WR_JSON_OBJECT) return NULL;
    for (const wr_json_node *m = object->first; m; m = m->next)
        if (wr_str_eq(m->key, wr_str_of(key))) return m;
    return NULL;
}

wr_str wr_json_get_string(const wr_json_node *object, const char *key) {
    const wr_json_node *m = wr_json_get(object, key);
    return m && m->kind == WR_JSON_STRING ? m->text : (wr_str){0};
}

bool wr_json_get_int(const wr_json_node *object, const char *key, int64_t *out) {
    const wr_json_node *m = wr_json_get(object, key);
    return m && m->kind == WR_JSON_NUMBER && wr_scalar_int(m->text, out);
}
