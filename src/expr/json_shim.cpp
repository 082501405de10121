/* expr/json_shim.cpp: see json_shim.h. The only C++ of expr/.                                                        */
#include <simdjson.h>
#include "json_shim.h"

namespace dom = simdjson::dom;

struct wr_json {
    dom::parser parser;
};

static void print_value(const dom::element &e, bool scalar, const wr_json_out *out);

static void put(const wr_json_out *out, const char *text) { out->bytes(out->ctx, text, strlen(text)); }

static void print_text(std::string_view s, bool scalar, const wr_json_out *out) {
    (scalar ? out->bytes : out->quoted)(out->ctx, s.data(), s.size());
}

static void print_array(const dom::array &list, const wr_json_out *out) {
    bool first = true;
    put(out, "[");
    for (dom::element x : list) {
        if (!first) put(out, ",");
        first = false;
        print_value(x, false, out);
    }
    put(out, "]");
}

static void print_object(const dom::object &map, const wr_json_out *out) {
    bool first = true;
    put(out, "{");
    for (dom::key_value_pair x : map) {
        if (!first) put(out, ",");
        first = false;
        print_text(x.key, false, out);
        put(out, ":");
        print_value(x.value, false, out);
    }
    put(out, "}");
}

/* Recursion is bounded: the parser refuses documents deeper than 1024. */
static void print_value(const dom::element &e, bool scalar, const wr_json_out *out) {
    char text[32];
    switch (e.type()) {
    case dom::element_type::ARRAY: print_array(e.get_array().value_unsafe(), out); break;
    case dom::element_type::OBJECT: print_object(e.get_object().value_unsafe(), out); break;
    case dom::element_type::STRING: print_text(e.get_string().value_unsafe(), scalar, out); break;
    case dom::element_type::INT64: snprintf(text, sizeof text, "%lld", (long long)e.get_int64().value_unsafe()), put(out, text); break;
    case dom::element_type::UINT64: snprintf(text, sizeof text, "%llu", (unsigned long long)e.get_uint64().value_unsafe()), put(out, text); break;
    case dom::element_type::DOUBLE: out->number(out->ctx, e.get_double().value_unsafe()); break;
    case dom::element_type::BOOL: put(out, e.get_bool().value_unsafe() ? "true" : "false"); break;
    case dom::element_type::NULL_VALUE: put(out, "null"); break;
    }
}

static wr_json_what what_of(const dom::element &e) {
    switch (e.type()) {
    case dom::element_type::ARRAY: return WR_JSON_ARR;
    case dom::element_type::OBJECT: return WR_JSON_OBJ;
    case dom::element_type::STRING: return WR_JSON_TEXT;
    case dom::element_type::BOOL: return WR_JSON_BOOL;
    case dom::element_type::NULL_VALUE: return WR_JSON_NULL_VALUE;
    default: return WR_JSON_NUMBER;
    }
}

struct walker {
    const wr_json_step *steps;
    size_t              n;
    bool                scalar;
    const wr_json_out  *out;
    wr_json_hits        hits;

    void hit(const dom::element &e) {
        if (hits.n++) put(out, ",");
        else hits.first = what_of(e);
        print_value(e, scalar, out);
    }
    void walk(const dom::element &e, size_t i) {
        if (i == n) return hit(e);
        const wr_json_step &s = steps[i];
        dom::object         map;
        dom::array          list;
        if (s.kind == WR_STEP_KEY) {
            dom::element last, x;
            bool         found = false;
            if (e.get_object().get(map)) return;
            for (dom::key_value_pair kv : map) /* the last of equal keys counts */
                if (kv.key == std::string_view(s.key, s.key_len)) last = kv.value, found = true;
            if (found) walk(last, i + 1);
            return;
        }
        if (s.kind == WR_STEP_ANY && !e.get_object().get(map)) {
            for (dom::key_value_pair kv : map) walk(kv.value, i + 1);
            return;
        }
        if (e.get_array().get(list)) {
            if (s.kind != WR_STEP_ANY && (s.kind == WR_STEP_LAST || s.index == 0)) walk(e, i + 1); /* lax: a value is an array of one */
            return;
        }
        size_t at = 0, want = s.kind == WR_STEP_LAST ? list.size() - 1 : s.index;
        for (dom::element x : list) {
            if (s.kind == WR_STEP_ANY || at == want) walk(x, i + 1);
            at++;
        }
    }
};

extern "C" wr_json *wr_json_new(void) { return new (std::nothrow) wr_json; }
extern "C" void     wr_json_free(wr_json *json) { delete json; }

extern "C" wr_json_hits wr_json_find(wr_json *json, const char *text, size_t len, const wr_json_step *steps, size_t n_steps, bool scalar, const wr_json_out *out) {
    walker w = {steps, n_steps, scalar, out, {0, WR_JSON_MISSING}};
    dom::element root;
    if (!json || json->parser.parse(text ? text : "", len, true).get(root)) { /* true: simdjson copies into a padded buffer */
        w.hits.first = WR_JSON_BAD;
        return w.hits;
    }
    w.walk(root, 0);
    return w.hits;
}
