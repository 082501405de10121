/* format/proto_testing.h: for tests and fuzzing: a message with every kind of field, as a descriptor set made by hand, and columns for it.   */
#pragma once
#include "format/proto.h"

static inline void add_text(wr_sbuf *out, uint32_t number, const char *text) { pb_add_tag(out, number, PB_BYTES), pb_add_varint(out, strlen(text)), wr_sbuf_addz(out, text); }
static inline void add_number(wr_sbuf *out, uint32_t number, uint64_t v) { pb_add_tag(out, number, PB_VARINT), pb_add_varint(out, v); }

static inline void add_field(wr_sbuf *out, const char *name, uint32_t number, bool repeated, pb_type type, const char *type_name, bool oneof) {
    pb_add_tag(out, 2, PB_BYTES);
    size_t from = out->len;
    add_text(out, 1, name), add_number(out, 3, number), add_number(out, 4, repeated ? 3 : 1), add_number(out, 5, type);
    if (type_name) add_text(out, 6, type_name);
    if (oneof) add_number(out, 9, 0);
    pb_close_bytes(out, from);
}

/* message M { message P { string key = 1; int64 value = 2; } (a map's entry) ... } in proto3: a descriptor set is protobuf too. */
static inline void proto_test_set(wr_sbuf *out) {
    pb_add_tag(out, 1, PB_BYTES);
    size_t file = out->len;
    add_text(out, 1, "m.proto"), add_text(out, 12, "proto3");
    pb_add_tag(out, 4, PB_BYTES);
    size_t message = out->len;
    add_text(out, 1, "M");
    add_field(out, "a", 1, false, PB_T_INT32, NULL, false), add_field(out, "s", 2, false, PB_T_STRING, NULL, false), add_field(out, "y", 3, false, PB_T_BYTES, NULL, false);
    add_field(out, "d", 4, false, PB_T_UINT64, NULL, false), add_field(out, "f", 5, false, PB_T_DOUBLE, NULL, false), add_field(out, "t", 6, false, PB_T_SINT64, NULL, true);
    add_field(out, "l", 7, true, PB_T_MESSAGE, ".M", false), add_field(out, "m", 8, true, PB_T_MESSAGE, ".M.P", false), add_field(out, "r", 9, false, PB_T_MESSAGE, ".M", true);
    add_field(out, "x", 10, true, PB_T_FIXED32, NULL, false);
    pb_add_tag(out, 3, PB_BYTES);
    size_t entry = out->len;
    add_text(out, 1, "P");
    add_field(out, "key", 1, false, PB_T_STRING, NULL, false), add_field(out, "value", 2, false, PB_T_INT32, NULL, false);
    pb_add_tag(out, 7, PB_BYTES), pb_add_varint(out, 2), add_number(out, 7, 1);
    pb_close_bytes(out, entry);
    pb_close_bytes(out, message);
    pb_close_bytes(out, file);
}

static inline wr_schema proto_test_columns(void) {
    static wr_type  inner_kids[2], pair[2], element, number;
    static wr_str   names[] = {{"a", 1}, {"x", 1}};
    static wr_field fields[10];
    number = wr_type_of(WR_T_INT);
    inner_kids[0] = number;
    static wr_type wide;
    wide = wr_type_of(WR_T_BIGINT);
    inner_kids[1] = (wr_type){.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &wide};
    pair[0] = wr_type_string(), pair[1] = number;
    element = (wr_type){.id = WR_T_ROW, .nullable = 1, .n_kids = 2, .kids = inner_kids, .names = names};
    wr_field f[] = {{WR_STR("a"), number}, {WR_STR("s"), wr_type_string()}, {WR_STR("y"), wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX)}, {WR_STR("d"), wr_type_decimal(20, 0)}, {WR_STR("f"), wr_type_of(WR_T_DOUBLE)},
                    {WR_STR("t"), wide}, {WR_STR("l"), {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &element}}, {WR_STR("m"), {.id = WR_T_MAP, .nullable = 1, .n_kids = 2, .kids = pair}},
                    {WR_STR("r"), element}, {WR_STR("x"), inner_kids[1]}};
    memcpy(fields, f, sizeof f);
    return (wr_schema){10, fields};
}
