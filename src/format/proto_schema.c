/* format/proto_schema.c: see proto_schema.h.                                                                             */
#include "format/proto_schema.h"
#include "protoc/protoc.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- wire ---- */

bool pb_skip(pb_reader *r, uint32_t number, uint32_t wire) {
    uint32_t open[PB_DEPTH_MAX], depth = 0;
    for (;;) {
        uint64_t v;
        uint32_t v32;
        wr_str   bytes;
        switch (wire) {
        case PB_VARINT: if (!pb_varint(r, &v)) return false; break;
        case PB_FIXED64: if (!pb_fixed64(r, &v)) return false; break;
        case PB_FIXED32: if (!pb_fixed32(r, &v32)) return false; break;
        case PB_BYTES: if (!pb_bytes(r, &bytes)) return false; break;
        case PB_GROUP:
            if (depth == PB_DEPTH_MAX) return false;
            open[depth++] = number;
            break;
        case PB_END_GROUP:
            if (!depth || open[--depth] != number) return false;
            break;
        default: return false;
        }
        if (!depth) return true;
        if (!pb_tag(r, &number, &wire)) return false;
    }
}

void pb_close_bytes(wr_sbuf *out, size_t from) {
    uint8_t  head[10];
    size_t   len = out->len - from;
    uint32_t n = pb_varint_put(head, len);
    wr_sbuf_add(out, head, n);
    memmove(out->at + from + n, out->at + from, len);
    memcpy(out->at + from, head, n);
}

/* ---- a descriptor set ---- */

typedef struct reading {
    wr_arena            *arena;
    WR_ARR(pb_message)   messages;
    WR_ARR(pb_enum)      enums;
    WR_ARR(wr_str)       top; /* names of the last file's messages */
    bool                 proto3;
    char                *message;
} reading;

/* Calls for each field of a message; a field that is not of the wire type that its meaning asks for is skipped, as any unknown one. */
typedef struct item { uint32_t number, wire; uint64_t v; wr_str bytes; } item;
static bool next_item(pb_reader *in, item *it, bool *fault) {
    *fault = true;
    if (in->p == in->end) return *fault = false, false;
    if (!pb_tag(in, &it->number, &it->wire)) return false;
    it->v = 0;
    it->bytes = WR_STR("");
    bool fine = it->wire == PB_VARINT ? pb_varint(in, &it->v) : it->wire == PB_BYTES ? pb_bytes(in, &it->bytes) : pb_skip(in, it->number, it->wire);
    return *fault = !fine, fine;
}

static bool damaged(reading *r) {
    snprintf(r->message, 200, "not a descriptor set: write one with protoc --include_imports --descriptor_set_out=FILE");
    return false;
}

static wr_str full_name(reading *r, wr_str scope, wr_str name) {
    if (!scope.len) return wr_str_dup(r->arena, name);
    return wr_str_of(wr_arena_printf(r->arena, "%.*s.%.*s", WR_FMT(scope), WR_FMT(name)));
}

static bool read_enum(reading *r, wr_str bytes, wr_str scope) {
    pb_enum        e = {.closed = !r->proto3};
    WR_ARR(wr_str)  names = {0};
    WR_ARR(int32_t) numbers = {0};
    bool      fault, inner_fault = false;
    item      it;
    pb_reader in = pb_reader_of(bytes);
    while (next_item(&in, &it, &fault)) {
        if (it.number == 1) e.name = full_name(r, scope, it.bytes);
        if (it.number != 2 || it.wire != PB_BYTES) continue;
        wr_str    name = {"", 0};
        int32_t   number = 0;
        item      v;
        pb_reader value = pb_reader_of(it.bytes);
        while (next_item(&value, &v, &inner_fault)) {
            if (v.number == 1) name = wr_str_dup(r->arena, v.bytes);
            if (v.number == 2) number = (int32_t)v.v;
        }
        if (inner_fault) break;
        wr_arr_push(&names, name);
        wr_arr_push(&numbers, number);
    }
    bool fine = !fault && !inner_fault && names.n && e.name.len;
    if (fine) {
        e.n = names.n;
        e.names = wr_new_n(r->arena, wr_str, e.n);
        e.numbers = wr_new_n(r->arena, int32_t, e.n);
        memcpy(e.names, names.at, e.n * sizeof *e.names);
        memcpy(e.numbers, numbers.at, e.n * sizeof *e.numbers);
        wr_arr_push(&r->enums, e);
    }
    wr_arr_free(&names);
    wr_arr_free(&numbers);
    return fine ? true : damaged(r);
}

static bool can_pack(pb_type t) { return t != PB_T_STRING && t != PB_T_BYTES && t != PB_T_MESSAGE && t != PB_T_GROUP; }

static bool read_field(reading *r, wr_str bytes, pb_field *f) {
    bool      fault, packed = false, packed_said = false, optional3 = false;
    item      it;
    pb_reader in = pb_reader_of(bytes);
    *f = (pb_field){.oneof = -1};
    while (next_item(&in, &it, &fault)) {
        switch (it.number) {
        case 1: f->name = wr_str_dup(r->arena, it.bytes); break;
        case 3: f->number = (uint32_t)it.v; break;
        case 4: f->repeated = it.v == 3, f->required = it.v == 2; break;
        case 5: f->type = (pb_type)it.v; break;
        case 6: f->type_name = wr_str_dup(r->arena, it.bytes); break;
        case 7: f->fallback = wr_str_dup(r->arena, it.bytes); break;
        case 8: {
            pb_reader options = pb_reader_of(it.bytes);
            item      o;
            bool      wrong;
            while (next_item(&options, &o, &wrong))
                if (o.number == 2 && o.wire == PB_VARINT) packed = o.v, packed_said = true;
            break;
        }
        case 9: f->oneof = (int32_t)it.v; break;
        case 10: f->json_name = wr_str_dup(r->arena, it.bytes); break;
        case 17: optional3 = it.v; break;
        default: break;
        }
    }
    if (fault || !f->name.len || !f->number || f->number >= 1u << 29 || f->type < PB_T_DOUBLE || f->type > PB_T_SINT64) return damaged(r);
    if (optional3) f->oneof = -1; /* of its own, made up by the compiler */
    f->packed = f->repeated && can_pack(f->type) && (packed_said ? packed : r->proto3);
    f->presence = !f->repeated && (!r->proto3 || optional3 || f->oneof >= 0 || f->type == PB_T_MESSAGE || f->type == PB_T_GROUP);
    return true;
}

static bool read_message(reading *r, wr_str bytes, wr_str scope, uint32_t depth, uint32_t order) {
    pb_message       m = {.proto3 = r->proto3, .order = order};
    uint32_t         inner = 0;
    WR_ARR(pb_field) fields = {0};
    bool             fault, fine = depth < PB_DEPTH_MAX;
    item             it;
    pb_reader        in = pb_reader_of(bytes);
    while (next_item(&in, &it, &fault))
        if (it.number == 1) m.name = full_name(r, scope, it.bytes);
    fine &= !fault && m.name.len;
    if (depth == 0) wr_arr_push(&r->top, m.name);
    for (in = pb_reader_of(bytes); fine && next_item(&in, &it, &fault);) {
        pb_field f;
        if (it.wire != PB_BYTES) continue;
        if (it.number == 2) {
            fine = read_field(r, it.bytes, &f);
            if (fine) wr_arr_push(&fields, f);
        } else if (it.number == 3) {
            fine = read_message(r, it.bytes, m.name, depth + 1, inner++);
        } else if (it.number == 4) {
            fine = read_enum(r, it.bytes, m.name);
        } else if (it.number == 7) {
            pb_reader options = pb_reader_of(it.bytes);
            item      o;
            bool      wrong;
            while (next_item(&options, &o, &wrong))
                if (o.number == 7) m.map_entry = o.v;
        }
    }
    if (fine) {
        m.n = fields.n;
        m.fields = wr_new_n(r->arena, pb_field, m.n + 1);
        if (m.n) memcpy(m.fields, fields.at, m.n * sizeof *m.fields);
        wr_arr_push(&r->messages, m);
    }
    wr_arr_free(&fields);
    return fine ? true : damaged(r);
}

static bool read_file(reading *r, wr_str bytes) {
    wr_str    package = {"", 0}, syntax = {"", 0};
    bool      fault, fine = true;
    item      it;
    pb_reader in = pb_reader_of(bytes);
    while (next_item(&in, &it, &fault)) {
        if (it.number == 2) package = it.bytes;
        if (it.number == 12) syntax = it.bytes;
    }
    if (fault) return damaged(r);
    if (syntax.len && !wr_str_eq(syntax, WR_STR("proto2")) && !wr_str_eq(syntax, WR_STR("proto3"))) {
        snprintf(r->message, 200, "the syntax '%.*s' is not known: proto2 and proto3 are", (int)WR_MIN(syntax.len, 40u), syntax.ptr);
        return false;
    }
    r->proto3 = wr_str_eq(syntax, WR_STR("proto3"));
    r->top.n = 0;
    for (in = pb_reader_of(bytes); fine && next_item(&in, &it, &fault);) {
        if (it.wire != PB_BYTES) continue;
        if (it.number == 4) fine = read_message(r, it.bytes, package, 0, r->top.n);
        if (it.number == 5) fine = read_enum(r, it.bytes, package);
    }
    return fine;
}

static int by_message(const void *a, const void *b) { return wr_str_cmp(((const pb_message *)a)->name, ((const pb_message *)b)->name); }
static int by_enum(const void *a, const void *b) { return wr_str_cmp(((const pb_enum *)a)->name, ((const pb_enum *)b)->name); }

static const pb_message *message_named(const pb_schema *s, wr_str name) {
    const pb_message key = {.name = name};
    return s->n_messages ? bsearch(&key, s->messages, s->n_messages, sizeof *s->messages, by_message) : NULL;
}

static bool resolve(reading *r, pb_schema *s) {
    for (uint32_t i = 0; i < s->n_messages; i++)
        for (uint32_t k = 0; k < s->messages[i].n; k++) {
            pb_field *f = &s->messages[i].fields[k];
            wr_str    name = f->type_name;
            if (f->type != PB_T_MESSAGE && f->type != PB_T_GROUP && f->type != PB_T_ENUM) continue;
            if (name.len && *name.ptr == '.') name = (wr_str){name.ptr + 1, name.len - 1};
            const pb_enum key = {.name = name};
            if (f->type == PB_T_ENUM) f->enumeration = s->n_enums ? bsearch(&key, s->enums, s->n_enums, sizeof *s->enums, by_enum) : NULL;
            else f->message = message_named(s, name);
            if (f->enumeration || f->message) continue;
            snprintf(r->message, 200, "'%.*s' of field '%.*s' is not in it: was the set written without --include_imports?", (int)WR_MIN(name.len, 60u), name.ptr, (int)WR_MIN(f->name.len, 40u), f->name.ptr);
            return false;
        }
    return true;
}

bool pb_schema_read(wr_str set, wr_arena *arena, pb_schema *out, char message[200]) {
    reading   r = {.arena = arena, .message = message};
    bool      fault, fine = true;
    item      it;
    pb_reader in = pb_reader_of(set);
    *out = (pb_schema){0};
    while (fine && next_item(&in, &it, &fault))
        if (it.number == 1 && it.wire == PB_BYTES) fine = read_file(&r, it.bytes);
    if (fine && (fault || !r.messages.n)) fine = damaged(&r);
    if (fine) {
        *out = (pb_schema){.n_messages = r.messages.n, .n_enums = r.enums.n, .messages = wr_new_n(arena, pb_message, r.messages.n + 1), .enums = wr_new_n(arena, pb_enum, r.enums.n + 1)};
        memcpy(out->messages, r.messages.at, r.messages.n * sizeof *out->messages);
        if (r.enums.n) memcpy(out->enums, r.enums.at, r.enums.n * sizeof *out->enums);
        qsort(out->messages, out->n_messages, sizeof *out->messages, by_message);
        if (out->n_enums) qsort(out->enums, out->n_enums, sizeof *out->enums, by_enum);
        out->top = wr_new_n(arena, const pb_message *, r.top.n + 1);
        for (; out->n_top < r.top.n; out->n_top++) out->top[out->n_top] = message_named(out, r.top.at[out->n_top]);
        fine = resolve(&r, out);
    }
    wr_arr_free(&r.messages);
    wr_arr_free(&r.enums);
    wr_arr_free(&r.top);
    return fine;
}

/* ---- finding ---- */

static wr_str last_part(wr_str name) {
    size_t at = name.len;
    while (at && name.ptr[at - 1] != '.' && name.ptr[at - 1] != '$') at--;
    return (wr_str){name.ptr + at, name.len - at};
}

const pb_message *pb_schema_find(const pb_schema *s, wr_str name, char message[200]) {
    if (!name.len && s->n_top) return s->top[0];
    const pb_message *found = message_named(s, name);
    if (found) return found;
    wr_str   last = last_part(name);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_messages; i++)
        if (last.len && wr_str_eq(last_part(s->messages[i].name), last)) found = &s->messages[i], n++;
    if (n == 1) return found;
    wr_sbuf known = {.max = 120};
    for (uint32_t i = 0; i < s->n_top; i++) wr_sbuf_printf(&known, "%s%.*s", i ? ", " : "", WR_FMT(s->top[i]->name));
    snprintf(message, 200, n ? "the name '%.*s' fits several messages; write it with its package: %s" : "there is no message '%.*s'; there are %s", (int)WR_MIN(name.len, 50u), name.ptr, known.at ? known.at : "none");
    wr_sbuf_free(&known);
    return NULL;
}

/* Is `inner` declared right inside of `outer`? */
static bool is_inside(const pb_message *inner, wr_str outer) {
    return inner->name.len > outer.len + 1 && wr_str_starts(inner->name, outer) && inner->name.ptr[outer.len] == '.' && !memchr(inner->name.ptr + outer.len + 1, '.', inner->name.len - outer.len - 1);
}

const pb_message *pb_schema_at(const pb_schema *s, const uint32_t *path, uint32_t n) {
    if (!n || path[0] >= s->n_top) return NULL;
    const pb_message *m = s->top[path[0]];
    for (uint32_t d = 1; d < n; d++) {
        const pb_message *found = NULL;
        for (uint32_t i = 0; i < s->n_messages; i++)
            if (is_inside(&s->messages[i], m->name) && s->messages[i].order == path[d]) found = &s->messages[i];
        if (!found) return NULL;
        m = found;
    }
    return m;
}

uint32_t pb_schema_path(const pb_schema *s, const pb_message *message, uint32_t path[PB_DEPTH_MAX]) {
    uint32_t n = 0;
    for (uint32_t t = 0; t < s->n_top; t++) {
        const pb_message *m = s->top[t];
        path[n = 0] = t, n = 1;
        while (m != message) {
            const pb_message *next = NULL;
            for (uint32_t i = 0; i < s->n_messages; i++) {
                const pb_message *c = &s->messages[i];
                bool              leads = c == message || (message->name.len > c->name.len && wr_str_starts(message->name, c->name) && message->name.ptr[c->name.len] == '.');
                if (is_inside(c, m->name) && leads) next = c;
            }
            if (!next || n == PB_DEPTH_MAX) break;
            path[n++] = next->order;
            m = next;
        }
        if (m == message) return n;
    }
    return 0;
}

const pb_field *pb_message_field(const pb_message *m, wr_str name) {
    for (uint32_t i = 0; i < m->n; i++)
        if (wr_str_eq(m->fields[i].name, name)) return &m->fields[i];
    for (uint32_t i = 0; i < m->n; i++)
        if (wr_str_eq(m->fields[i].json_name, name)) return &m->fields[i];
    return NULL;
}

/* ---- .proto texts ---- */

typedef struct compiling { pb_open open; void *self; wr_sbuf *out; } compiling;

static int open_text(void *self, const char *name, const char **text, size_t *len) {
    compiling *c = self;
    wr_str     found;
    if (!c->open(c->self, name, &found)) return 0;
    *text = found.ptr;
    *len = found.len;
    return 1;
}

static void take_set(void *self, const void *bytes, size_t len) { wr_sbuf_add(((compiling *)self)->out, bytes, len); }

wr_status pb_compile(const char *name, pb_open open, void *self, wr_sbuf *out, wr_err *err) {
    weir_proto_compile_fn compile;
    const wr_import       imports[] = {{"weir_proto_compile", &compile}};
    char                  path[4096], message[300];
    const char           *missing = wr_library_import(wr_library_own("libweir_proto.so", path), imports, 1);
    if (missing) {
        wr_fail(err, WR_IO, "WR390", ".proto texts are read with libprotobuf, and %s or a library that it needs was not found", missing);
        wr_err_hint(err, "apt-get install libprotobuf32, or name a descriptor set: protoc --include_imports --descriptor_set_out=FILE");
        return WR_IO;
    }
    compiling         c = {open, self, out};
    weir_proto_source source = {&c, open_text, take_set};
    if (compile(name, &source, message, sizeof message)) return WR_OK;
    return wr_fail(err, WR_USER, "WR391", "%s", message);
}

typedef struct files { wr_world *world; wr_arena *arena; wr_str own, path; } files;
enum { SCHEMA_BYTES_MAX = 16 << 20 };

static bool open_in(files *f, wr_str dir, const char *name, wr_str *text) {
    const char  *path = wr_arena_printf(f->arena, "%.*s%s%s", WR_FMT(dir), dir.len && dir.ptr[dir.len - 1] != '/' ? "/" : "", name);
    wr_file_info info;
    bool         exists;
    wr_err       err;
    wr_sbuf      bytes = {0};
    if (f->world->vt->stat(f->world, path, &info, &exists, &err) != WR_OK || !exists) return false;
    bool fine = wr_file_read_all(f->world, path, SCHEMA_BYTES_MAX, &bytes, &err) == WR_OK;
    if (fine) *text = wr_str_dup(f->arena, wr_sbuf_str(&bytes));
    wr_sbuf_free(&bytes);
    return fine;
}

static bool open_file(void *self, const char *name, wr_str *text) {
    files *f = self;
    if (open_in(f, f->own, name, text)) return true;
    wr_str list = f->path, dir;
    while (wr_str_next(&list, ':', &dir))
        if (dir.len && open_in(f, dir, name, text)) return true;
    return false;
}

wr_status pb_schema_file(wr_world *world, wr_str file, wr_str path, wr_arena *arena, pb_schema *out, wr_err *err) {
    char        message[200];
    const char *name = wr_arena_strndup(arena, file.ptr, file.len), *slash = strrchr(name, '/');
    wr_sbuf     set = {0};
    wr_status   status;
    bool        text = file.len > 6 && !strcmp(name + file.len - 6, ".proto");
    if (text) {
        files f = {world, arena, slash ? (wr_str){name, (size_t)(slash - name) + 1} : WR_STR(""), path};
        status = pb_compile(slash ? slash + 1 : name, open_file, &f, &set, err);
    } else {
        status = wr_file_read_all(world, name, SCHEMA_BYTES_MAX, &set, err);
    }
    if (status == WR_OK && !pb_schema_read(wr_sbuf_str(&set), arena, out, message)) status = wr_fail(err, WR_USER, "WR391", "%s: %s", name, message);
    wr_sbuf_free(&set);
    return status;
}
