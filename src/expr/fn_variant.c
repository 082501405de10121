/* expr/fn_variant.c: PARSE_JSON, TRY_PARSE_JSON and v[...] of VARIANT values.
 *
 * Idea       a value is JSON text without spaces, members in order of their names, numbers in one way each: digits for integers, no zeros at
 *            the end of decimals (up to 38 digits), and an exponent for DOUBLE only ("1.5E3"), so that the kind of a number can be told.
 *            wr_variant_text (type/value.c) writes DOUBLEs as people read them.
 * Invariant  equal values have equal texts; a value of type VARIANT can be parsed.                                       */
#include "fn.h"
#include "jdoc.h"
#include "type/number.h"

typedef struct wr_variant_state {
    wr_jdoc doc;
    wr_sbuf out, key;
} wr_variant_state;

static void state_free(void *p) {
    wr_variant_state *s = p;
    wr_jdoc_free(&s->doc);
    wr_sbuf_free(&s->out), wr_sbuf_free(&s->key);
    wr_free(s);
}
static wr_variant_state *state_of(wr_call *c) {
    if (!*c->state) *c->state = wr_calloc(1, sizeof(wr_variant_state)), *c->state_free = state_free;
    return *c->state;
}

/* ---- to the canonical text ---- */

static void put_double(wr_str text, wr_sbuf *out) {
    double x;
    char   digits[32];
    bool   ok = wr_parse_double(text, &x);
    wr_assert(ok);
    if (x > 1.7976931348623157e308 || x < -1.7976931348623157e308) {
        wr_sbuf_addz(out, x > 0 ? "1E999" : "-1E999");
        return;
    }
    wr_text_double(x, digits);
    wr_sbuf_addz(out, digits);
    if (!strchr(digits, 'E')) wr_sbuf_addz(out, "E0");
}

static void put_number(wr_str text, wr_sbuf *out) {
    size_t dot = text.len, digits = 0, scale = 0, minus = text.ptr[0] == '-';
    bool   leads = true;
    for (size_t i = minus; i < text.len; i++) {
        char ch = text.ptr[i];
        if (ch == 'e' || ch == 'E') {
            put_double(text, out);
            return;
        }
        if (ch == '.') {
            dot = i;
            continue;
        }
        leads &= ch == '0';
        digits += !leads;
        scale += dot < text.len;
    }
    if (digits > 38 || scale > 38) {
        put_double(text, out);
        return;
    }
    size_t end = text.len;
    if (dot < text.len) {
        while (text.ptr[end - 1] == '0') end--;
        end -= text.ptr[end - 1] == '.';
    }
    wr_str shown = {text.ptr, end};
    wr_sbuf_add_str(out, wr_str_eq(shown, WR_STR("-0")) ? WR_STR("0") : shown);
}

typedef struct wr_variant_member { uint32_t node; wr_sbuf key; } wr_variant_member;
static int by_key(const void *a, const void *b) {
    const wr_variant_member *x = a, *y = b;
    int order = wr_str_cmp(wr_sbuf_str(&x->key), wr_sbuf_str(&y->key));
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static bool put_value(const wr_jdoc *doc, uint32_t node, bool twice, wr_sbuf *out);

/* twice: of equal names the last counts; else false is returned for them. */
static bool put_object(const wr_jdoc *doc, uint32_t node, bool twice, wr_sbuf *out) {
    uint32_t           n = doc->nodes.at[node].n, k = 0;
    wr_variant_member *list = wr_calloc(n ? n : 1, sizeof *list);
    bool               ok = true, any = false;
    for (uint32_t c = n ? node + 1 : 0; c; c = doc->nodes.at[c].next, k++) {
        list[k].node = c;
        wr_jdoc_key(doc, c, &list[k].key);
    }
    if (n > 1) qsort(list, n, sizeof *list, by_key);
    wr_sbuf_addc(out, '{');
    for (k = 0; k < n && ok; k++) {
        if (k + 1 < n && wr_str_eq(wr_sbuf_str(&list[k].key), wr_sbuf_str(&list[k + 1].key))) {
            ok = twice;
            continue;
        }
        if (any) wr_sbuf_addc(out, ',');
        any = true;
        wr_sbuf_add_json(out, wr_sbuf_str(&list[k].key));
        wr_sbuf_addc(out, ':');
        ok = put_value(doc, list[k].node, twice, out);
    }
    wr_sbuf_addc(out, '}');
    for (k = 0; k < n; k++) wr_sbuf_free(&list[k].key);
    wr_free(list);
    return ok;
}

static bool put_value(const wr_jdoc *doc, uint32_t node, bool twice, wr_sbuf *out) { /* depth: bounded by the parser */
    const wr_jnode *x = &doc->nodes.at[node];
    bool            ok = true;
    switch (x->kind) {
    case WR_J_NUMBER: put_number(x->text, out); return true;
    case WR_J_OBJECT: return put_object(doc, node, twice, out);
    case WR_J_ARRAY:
        wr_sbuf_addc(out, '[');
        for (uint32_t c = x->n ? node + 1 : 0; c && ok; c = doc->nodes.at[c].next) {
            if (c != node + 1) wr_sbuf_addc(out, ',');
            ok = put_value(doc, c, twice, out);
        }
        wr_sbuf_addc(out, ']');
        return ok;
    default: wr_jdoc_print(doc, node, false, out); return true;
    }
}

static wr_status parse_json(wr_call *c, bool is_try) {
    wr_variant_state *s = state_of(c);
    for ROWS(c, r) {
        wr_str text = arg_str(c, 0, r);
        bool   twice = c->n_args > 1 && ARG(c, 1, uint8_t, r), parsed = wr_jdoc_parse(&s->doc, text);
        wr_sbuf_clear(&s->out);
        if (parsed && put_value(&s->doc, 0, twice, &s->out)) call_put(c, r, s->out.at, s->out.len);
        else if (is_try) call_null(c, r);
        else if (parsed) WR_TRY(call_fail(c, r, "22030", "PARSE_JSON: an object has a name twice; PARSE_JSON(text, TRUE) takes the last"));
        else WR_TRY(call_fail(c, r, "22032", "PARSE_JSON: '%.*s' is not JSON", (int)WR_MIN(text.len, 80u), text.ptr));
    }
    return WR_OK;
}
wr_status fn_parse_json(wr_call *c) { return parse_json(c, false); }
wr_status fn_try_parse_json(wr_call *c) { return parse_json(c, true); }

/* ---- a part of a value ---- */

static void part(wr_call *c, uint32_t r, wr_variant_state *s, uint32_t node) {
    wr_sbuf_clear(&s->out);
    if (node) put_value(&s->doc, node, true, &s->out);
    if (node) call_put(c, r, s->out.at, s->out.len);
    else call_null(c, r);
}

static wr_status by_name(wr_call *c) {
    wr_variant_state *s = state_of(c);
    for ROWS(c, r) {
        bool     ok = wr_jdoc_parse(&s->doc, arg_str(c, 0, r));
        uint32_t hit = 0;
        wr_assert(ok);
        if (s->doc.nodes.at[0].kind != WR_J_OBJECT) return call_fail(c, r, "2203A", "v['name'] needs a VARIANT that is an object");
        for (uint32_t k = s->doc.nodes.at[0].n ? 1 : 0; k && !hit; k = s->doc.nodes.at[k].next) {
            wr_sbuf_clear(&s->key);
            wr_jdoc_key(&s->doc, k, &s->key);
            if (wr_str_eq(wr_sbuf_str(&s->key), arg_str(c, 1, r))) hit = k;
        }
        part(c, r, s, hit);
    }
    return WR_OK;
}

static wr_status by_place(wr_call *c) {
    wr_variant_state *s = state_of(c);
    for ROWS(c, r) {
        bool     ok = wr_jdoc_parse(&s->doc, arg_str(c, 0, r));
        int64_t  at = ARG(c, 1, int64_t, r);
        uint32_t k = 0;
        wr_assert(ok);
        if (s->doc.nodes.at[0].kind != WR_J_ARRAY) return call_fail(c, r, "22039", "v[n] needs a VARIANT that is an array");
        if (at >= 1 && at <= s->doc.nodes.at[0].n)
            for (k = 1; at > 1; at--) k = s->doc.nodes.at[k].next;
        part(c, r, s, k);
    }
    return WR_OK;
}

bool res_item_variant(wr_resolve *r) {
    wr_type key = r->args[1]->type;
    if (wr_type_is_string(key)) return res_set(r, wr_type_of(WR_T_VARIANT), by_name, FN_NULLABLE);
    return wr_type_is_integer(key) && res_cast(r, 1, wr_type_of(WR_T_BIGINT)) && res_set(r, wr_type_of(WR_T_VARIANT), by_place, FN_NULLABLE);
}
