/* format/json_schema.c: see json_schema.h.                                                                                */
#include "format/json_schema.h"
#include "format/json_tree.h"
#include <stdio.h>

enum { DEPTH_MAX = 64, NODES_MAX = 20000, STEPS_MAX = 1000000 };

enum { T_NULL = 1, T_BOOLEAN = 2, T_INTEGER = 4, T_NUMBER = 8, T_STRING = 16, T_ARRAY = 32, T_OBJECT = 64, T_ANY = 127 };

typedef struct json_schema {
    uint8_t        types;
    bool           never, closed;        /* false as a schema; additionalProperties: false */
    uint32_t       n, n_required, n_enum, n_some, n_all;
    wr_str        *names, *required, *values; /* properties; required ones; enum's strings */
    struct json_schema **kids, **some, **all;       /* properties' checks; oneOf and anyOf; allOf */
    struct json_schema  *items, *also;              /* additionalProperties as a schema */
} check;

typedef struct making {
    wr_arena           *arena;
    const wr_json_node *root;
    uint32_t            n_nodes;
    struct { const wr_json_node *node; check *made; } refs[64]; /* what "$ref" led to: schemas may be recursive */
    uint32_t            n_refs;
    char               *message;
} making;

static uint8_t type_bit(wr_str name) {
    static const char *const names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    for (uint32_t i = 0; i < WR_COUNT_OF(names); i++)
        if (wr_str_eq(name, wr_str_of(names[i]))) return (uint8_t)(1 << i);
    return 0;
}

static uint8_t types_of(const wr_json_node *type) {
    uint8_t types = 0;
    if (!type) return T_ANY;
    if (type->kind == WR_JSON_STRING) types = type_bit(type->text);
    else
        for (const wr_json_node *t = type->first; t; t = t->next) types |= t->kind == WR_JSON_STRING ? type_bit(t->text) : 0;
    if (!types) return T_ANY;
    return types & T_NUMBER ? types | T_INTEGER : types;
}

static check *make_check(making *m, const wr_json_node *node, uint32_t depth);

/* "#", "#/definitions/X", "#/$defs/X" */
static check *follow(making *m, wr_str ref, uint32_t depth) {
    const wr_json_node *at = m->root;
    wr_str              part, rest = ref;
    if (!ref.len || *ref.ptr != '#') {
        snprintf(m->message, 200, "JSON Schema: \"$ref\": \"%.*s\" leads out of the schema", (int)WR_MIN(ref.len, 80u), ref.ptr);
        return NULL;
    }
    for (wr_str_next(&rest, '/', &part); at && wr_str_next(&rest, '/', &part);) at = wr_json_get(at, wr_arena_strndup(m->arena, part.ptr, part.len));
    if (!at) {
        snprintf(m->message, 200, "JSON Schema: \"$ref\": \"%.*s\" is not there", (int)WR_MIN(ref.len, 80u), ref.ptr);
        return NULL;
    }
    for (uint32_t i = 0; i < m->n_refs; i++)
        if (m->refs[i].node == at) return m->refs[i].made;
    return make_check(m, at, depth + 1);
}

static bool make_list(making *m, const wr_json_node *list, check ***out, uint32_t *n, uint32_t depth) {
    if (!list || list->kind != WR_JSON_ARRAY) return true;
    check **old = *out;
    *out = wr_new_n(m->arena, check *, *n + list->n + 1);
    if (*n) memcpy(*out, old, *n * sizeof *old);
    for (const wr_json_node *k = list->first; k; k = k->next)
        if (!((*out)[(*n)++] = make_check(m, k, depth + 1))) return false;
    return true;
}

static bool make_object(making *m, check *c, const wr_json_node *node, uint32_t depth) {
    const wr_json_node *properties = wr_json_get(node, "properties"), *required = wr_json_get(node, "required"), *also = wr_json_get(node, "additionalProperties");
    if (properties && properties->kind == WR_JSON_OBJECT) {
        c->names = wr_new_n(m->arena, wr_str, properties->n + 1);
        c->kids = wr_new_n(m->arena, check *, properties->n + 1);
        for (const wr_json_node *p = properties->first; p; p = p->next) {
            c->names[c->n] = p->key;
            if (!(c->kids[c->n++] = make_check(m, p, depth + 1))) return false;
        }
    }
    if (required && required->kind == WR_JSON_ARRAY) {
        c->required = wr_new_n(m->arena, wr_str, required->n + 1);
        for (const wr_json_node *r = required->first; r; r = r->next)
            if (r->kind == WR_JSON_STRING) c->required[c->n_required++] = r->text;
    }
    if (also && also->kind == WR_JSON_OBJECT) return (c->also = make_check(m, also, depth + 1)) != NULL;
    c->closed = also && also->kind == WR_JSON_BOOL && !also->yes;
    return true;
}

static check *make_check(making *m, const wr_json_node *node, uint32_t depth) {
    check *c = wr_new(m->arena, check);
    c->types = T_ANY;
    if (depth > DEPTH_MAX || ++m->n_nodes > NODES_MAX) {
        snprintf(m->message, 200, "JSON Schema: more than %d places, or nested deeper than %d", NODES_MAX, DEPTH_MAX);
        return NULL;
    }
    if (node->kind == WR_JSON_BOOL) return c->never = !node->yes, c;
    if (node->kind != WR_JSON_OBJECT) {
        snprintf(m->message, 200, "JSON Schema: a schema is an object, true or false");
        return NULL;
    }
    if (m->n_refs < WR_COUNT_OF(m->refs)) m->refs[m->n_refs].node = node, m->refs[m->n_refs++].made = c;
    wr_str ref = wr_json_get_string(node, "$ref");
    if (ref.ptr) return follow(m, ref, depth);
    c->types = types_of(wr_json_get(node, "type"));
    const wr_json_node *items = wr_json_get(node, "items"), *values = wr_json_get(node, "enum");
    if (items && items->kind != WR_JSON_ARRAY && !(c->items = make_check(m, items, depth + 1))) return NULL;
    bool strings = values && values->kind == WR_JSON_ARRAY;
    for (const wr_json_node *v = strings ? values->first : NULL; v; v = v->next) strings &= v->kind == WR_JSON_STRING;
    if (strings) {
        c->values = wr_new_n(m->arena, wr_str, values->n + 1);
        for (const wr_json_node *v = values->first; v; v = v->next) c->values[c->n_enum++] = v->text;
    }
    if (!make_object(m, c, node, depth) || !make_list(m, wr_json_get(node, "oneOf"), &c->some, &c->n_some, depth)) return NULL;
    if (!c->n_some && !make_list(m, wr_json_get(node, "anyOf"), &c->some, &c->n_some, depth)) return NULL;
    return make_list(m, wr_json_get(node, "allOf"), &c->all, &c->n_all, depth) ? c : NULL;
}

/* ---- a message against it ---- */

typedef struct holding { json_reader *r; uint32_t left; } holding; /* left: steps */

static const uint32_t *hold(holding *h, const check *c, const uint32_t *ix, wr_str path, uint32_t depth);

static const uint32_t *broken(json_reader *r, const uint32_t *ix, wr_str path, const char *what, wr_str name) {
    return json_fault(r, WR_BAD_TYPE, *ix, "the message breaks its schema at '%.*s': %s%.*s", (int)WR_MIN(path.len, 60u), path.ptr, what, (int)WR_MIN(name.len, 60u), name.ptr);
}

static uint8_t type_at(const json_reader *r, const uint32_t *ix) {
    const uint8_t *p = r->data + *ix;
    switch (*p) {
    case '{': return T_OBJECT;
    case '[': return T_ARRAY;
    case '"': return T_STRING;
    case 't':
    case 'f': return T_BOOLEAN;
    case 'n': return T_NULL;
    default: break;
    }
    bool whole = true;
    for (; p < r->data + r->end && !strchr(",}] \t\r\n", *p); p++) whole &= (*p >= '0' && *p <= '9') || *p == '-';
    return whole ? T_INTEGER : T_NUMBER;
}

/* The members of an object, each against the property of its name. */
static const uint32_t *hold_object(holding *h, const check *c, const uint32_t *ix, wr_str path, uint32_t depth) {
    json_reader    *r = h->r;
    const uint32_t *start = ix;
    uint64_t        found = 0; /* of the first 64 required ones */
    ix++;
    if (*ix < r->end && r->data[*ix] == '}') ix++;
    else for (;;) {
        wr_str key;
        if (*ix >= r->end || r->data[*ix] != '"' || !json_string_raw(r, ix, &key) || ix[1] >= r->end || r->data[ix[1]] != ':') return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: expected a key and ':'");
        uint32_t i = 0;
        while (i < c->n && !wr_str_eq(c->names[i], key)) i++;
        if (i == c->n && c->closed) return broken(r, ix, path, "no field is called ", key);
        for (uint32_t k = 0; k < c->n_required && k < 64; k++)
            if (wr_str_eq(c->required[k], key)) found |= UINT64_C(1) << k;
        const check *kid = i < c->n ? c->kids[i] : c->also;
        ix += 2;
        ix = kid ? hold(h, kid, ix, key, depth + 1) : json_skip(r, ix, NULL);
        if (!ix) return NULL;
        uint8_t next = *ix < r->end ? r->data[*ix] : 0;
        ix++;
        if (next == '}') break;
        if (next != ',') return json_fault(r, WR_BAD_MALFORMED, ix[-1], "JSON: expected ',' or '}'");
    }
    for (uint32_t k = 0; k < c->n_required && k < 64; k++)
        if (!(found >> k & 1)) return broken(r, start, path, "there must be a field ", c->required[k]);
    return ix;
}

static const uint32_t *hold_array(holding *h, const check *c, const uint32_t *ix, wr_str path, uint32_t depth) {
    json_reader *r = h->r;
    ix++;
    if (*ix < r->end && r->data[*ix] == ']') return ix + 1;
    for (;;) {
        ix = c->items ? hold(h, c->items, ix, path, depth + 1) : json_skip(r, ix, NULL);
        if (!ix) return NULL;
        uint8_t next = *ix < r->end ? r->data[*ix] : 0;
        ix++;
        if (next == ']') return ix;
        if (next != ',') return json_fault(r, WR_BAD_MALFORMED, ix[-1], "JSON: expected ',' or ']'");
    }
}

static const uint32_t *hold(holding *h, const check *c, const uint32_t *ix, wr_str path, uint32_t depth) {
    json_reader *r = h->r;
    if (depth > DEPTH_MAX) return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: nested deeper than %d", DEPTH_MAX);
    if (!h->left--) {
        h->left = 0;
        return json_fault(r, WR_BAD_MALFORMED, *ix, "the message needs more than %d steps to be held against its schema", STEPS_MAX);
    }
    if (*ix >= r->end) return json_fault(r, WR_BAD_MALFORMED, *ix, "JSON: expected a value");
    uint8_t type = type_at(r, ix);
    if (c->never) return broken(r, ix, path, "nothing is allowed here", WR_STR(""));
    if (!(c->types & type)) {
        static const char *const is[] = {"null", "true or false", "a whole number", "a number with a fraction", "a string", "an array", "an object"};
        return broken(r, ix, path, "the type is wrong, it is ", wr_str_of(is[__builtin_ctz(type)]));
    }
    for (uint32_t i = 0; i < c->n_all; i++)
        if (!hold(h, c->all[i], ix, path, depth + 1)) return NULL;
    if (c->n_some) {
        bool one = false;
        for (uint32_t i = 0; i < c->n_some && !one; i++) one = hold(h, c->some[i], ix, path, depth + 1) != NULL;
        if (!one) return c->n_some == 1 ? NULL : broken(r, ix, path, "it is none of the alternatives", WR_STR(""));
    }
    if (type == T_OBJECT) return hold_object(h, c, ix, path, depth);
    if (type == T_ARRAY) return hold_array(h, c, ix, path, depth);
    const uint32_t *next = json_skip(r, ix, NULL);
    wr_str          raw;
    if (next && type == T_STRING && c->n_enum && json_string_raw(r, ix, &raw)) {
        uint32_t i = 0;
        while (i < c->n_enum && !wr_str_eq(c->values[i], raw)) i++;
        if (i == c->n_enum) return broken(r, ix, path, "no such value: ", raw);
    }
    return next;
}

json_schema *json_schema_new(wr_arena *arena, wr_str text, char message[200]) {
    char    why[120];
    making *m = wr_calloc(1, sizeof *m);
    *m = (making){.arena = arena, .root = wr_json_parse(arena, text, why), .message = message};
    check *root = NULL;
    if (!m->root) snprintf(message, 200, "the registered schema is not JSON: %.120s", why);
    else root = make_check(m, m->root, 0);
    wr_free(m);
    return root;
}

bool json_schema_hold(const json_schema *schema, json_reader *r, const uint32_t *ix) {
    holding h = {r, STEPS_MAX};
    return hold(&h, schema, ix, WR_STR("message"), 0) != NULL;
}
