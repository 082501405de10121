/* format/proto.c: the format protobuf: messages to rows and rows to messages.
 *
 * Idea       a schema is a file: .proto text or descriptor set (proto_schema.h); the columns are its fields by name (proto_plan.h). A queue's messages are
 *            the records; in a file each has its length in front as a varint, as writeDelimitedTo does.
 * Bad data   a message that cannot be read leaves no row; after a length that is not one, or reaches beyond the end, the rest of the file is one bad record.
 * Thread     one decoder or encoder a worker. Memory: schema and plan in an arena; strings are borrowed from the chunk.             */
#include "format/proto_plan.h"
#include "format/proto.h"
#include <stdio.h>

static const wr_option_spec proto_specs[] = {
    {"protobuf.schema", "path", NULL, false, "the schema: a .proto file, or a descriptor set (protoc --include_imports --descriptor_set_out)"},
    {"protobuf.import-path", "string", NULL, false, "directories of what a .proto file imports, with ':' between them, after its own"},
    {"protobuf.message", "string", NULL, false, "the message; without it the first of the file"},
    {"protobuf.message-class-name", "string", NULL, false, "Flink's name for it: com.example.Outer$Order is the message Order"},
    {"protobuf.ignore-parse-errors", "bool", "false", false, "a field that cannot be read becomes NULL; a record that cannot be read is skipped and counted"},
    {"protobuf.read-default-values", "bool", "false", false, "a scalar field that is absent is its default, not NULL (in proto3 without 'optional' it always is)"},
    {"protobuf.write-null-string-literal", "string", "", false, "writing: the text for NULL in a list or map"},
    {0}};

static bool proto_fault(wr_diags *diags, const wr_options *options, const char *key, const char *code, const char *message) {
    const wr_option *at = wr_options_find(options, key);
    if (diags) wr_diags_add(diags, WR_SEV_ERROR, code, at ? at->at : (wr_span){0}, "%s", message);
    return false;
}

/* The message that the options name. */
static const pb_message *named_message(const wr_options *o, wr_world *world, wr_arena *arena, wr_diags *diags) {
    wr_str    file = wr_str_trim(wr_option_string(o, proto_specs, "protobuf.schema")), path = wr_str_trim(wr_option_string(o, proto_specs, "protobuf.import-path"));
    wr_str    name = wr_str_trim(wr_option_string(o, proto_specs, "protobuf.message"));
    wr_err    err = {0};
    char      message[200];
    pb_schema schema;
    if (!file.len) {
        proto_fault(diags, o, "protobuf.message-class-name", "WR122", "the format 'protobuf' needs 'protobuf.schema', a .proto file or a descriptor set");
        if (diags) wr_diags_hint(diags, "write for example 'protobuf.schema' = 'orders.proto', 'protobuf.message' = 'Order'");
        return NULL;
    }
    if (pb_schema_file(world, file, path, arena, &schema, &err) != WR_OK) {
        proto_fault(diags, o, "protobuf.schema", err.code, err.message);
        if (diags && err.hint[0]) wr_diags_hint(diags, "%s", err.hint);
        return NULL;
    }
    if (!name.len) name = wr_str_trim(wr_option_string(o, proto_specs, "protobuf.message-class-name"));
    const pb_message *m = pb_schema_find(&schema, name, message);
    if (!m) proto_fault(diags, o, wr_options_find(o, "protobuf.message") ? "protobuf.message" : wr_options_find(o, "protobuf.message-class-name") ? "protobuf.message-class-name" : "protobuf.schema", "WR391", message);
    return m;
}

/* ---- rows of messages, for all formats whose values are protobuf ---- */

void proto_batch_open(proto_batch *b, const wr_decoder_opts *opts, wr_mem *mem, uint32_t n_records, wr_decoded *out) {
    uint32_t most = opts->batch_rows && opts->batch_rows < WR_BATCH_MAX ? opts->batch_rows : WR_BATCH_MAX;
    *b = (proto_batch){.opts = opts, .mem = mem, .out = out, .capacity = WR_MAX(WR_MIN(n_records, most), 1u)};
}

void proto_batch_close(proto_batch *b) {
    if (!b->batch) return;
    if (b->n) {
        wr_rows_close(b->batch, b->n);
        wr_decoded_push(b->out, b->batch);
    } else {
        wr_batch_unref(b->batch);
    }
    b->batch = NULL;
    b->n = 0;
}

void proto_batch_add(proto_batch *b, pb_row *row, bool ignore_errors, wr_str message, wr_str raw, uint64_t line, uint64_t offset) {
    if (!b->batch) {
        b->batch = wr_rows_open(b->opts->schema, b->opts->needed, b->capacity, false);
        if (b->mem) wr_mem_keep(b->batch->mem, b->mem);
    }
    pb_decode d = {.mem = b->batch->mem, .ignore_errors = ignore_errors};
    if (!pb_row_read(&d, row, message, b->batch->cols, b->n)) {
        wr_bad_add(b->out, d.kind, line, offset, raw, d.message);
        return;
    }
    if (b->out->want_lines) wr_arr_push(&b->out->row_lines, (uint32_t)line);
    b->out->n_rows++, b->out->n_records++;
    if (++b->n == b->capacity) proto_batch_close(b);
}

/* ---- reading ---- */

typedef struct proto_decoder {
    wr_decoder      base;
    wr_arena       *arena;
    wr_decoder_opts opts;
    pb_row         *row;
    bool            ignore_errors;
} proto_decoder;

static void decode_records(wr_decoder *base, wr_mem *mem, const uint8_t *data, const wr_slice *records, uint32_t n, wr_decoded *out) {
    proto_decoder *d = (proto_decoder *)base;
    proto_batch    b;
    proto_batch_open(&b, &d->opts, mem, n, out);
    for (uint32_t i = 0; i < n; i++) {
        wr_str one = {(const char *)data + records[i].at, records[i].len};
        if ((int64_t)one.len > d->opts.max_record_bytes) {
            char message[160];
            snprintf(message, sizeof message, "a record of %zu bytes, more than max-record-bytes = %lld; its first 200 bytes are shown", one.len, (long long)d->opts.max_record_bytes);
            wr_bad_add(out, WR_BAD_TOO_LONG, i, records[i].at, (wr_str){one.ptr, WR_MIN(one.len, 200u)}, message);
        } else {
            proto_batch_add(&b, d->row, d->ignore_errors, one, one, i, records[i].at);
        }
    }
    out->n_lines += n;
    proto_batch_close(&b);
}

/* The next message of a file: *len of it behind *head bytes. False: there is none that is whole. */
static bool next_frame(const uint8_t *p, size_t left, size_t *head, size_t *len) {
    pb_reader in = {p, p + left};
    uint64_t  n;
    if (!pb_varint(&in, &n) || n > left - (size_t)(in.p - p)) return false;
    *head = (size_t)(in.p - p);
    *len = (size_t)n;
    return true;
}

static void decode(wr_decoder *base, wr_mem *mem, const uint8_t *data, size_t len, bool first_chunk, wr_decoded *out) {
    proto_decoder *d = (proto_decoder *)base;
    proto_batch    b;
    size_t         at = 0, head, n;
    (void)first_chunk;
    proto_batch_open(&b, &d->opts, mem, len < d->opts.batch_rows ? (uint32_t)len : WR_BATCH_MAX, out);
    while (at < len) {
        uint64_t line = out->n_lines++;
        if (!next_frame(data + at, len - at, &head, &n)) {
            wr_bad_add(out, WR_BAD_MALFORMED, line, at, (wr_str){(const char *)data + at, len - at}, "protobuf: no length of a message, or it reaches beyond the end of the file");
            break;
        }
        wr_str one = {(const char *)data + at + head, n};
        proto_batch_add(&b, d->row, d->ignore_errors, one, one, line, at + head);
        at += head + n;
    }
    proto_batch_close(&b);
}

static size_t split(const uint8_t *data, size_t len, const wr_options *options, uint64_t *state) {
    size_t at = 0, head, n;
    (void)options, (void)state;
    while (at < len && next_frame(data + at, len - at, &head, &n)) at += head + n;
    return at;
}

static void decoder_free(wr_decoder *base) {
    proto_decoder *d = (proto_decoder *)base;
    wr_arena_free(d->arena);
    wr_free(d);
}

static wr_status decoder_new(const wr_decoder_opts *opts, wr_decoder **out, wr_diags *diags) {
    *out = NULL;
    proto_decoder *d = wr_calloc(1, sizeof *d);
    *d = (proto_decoder){.base = {.decode = decode, .free = decoder_free, .decode_records = decode_records}, .arena = wr_arena_new(NULL), .opts = *opts};
    if (d->opts.max_record_bytes <= 0) d->opts.max_record_bytes = 16 << 20;
    char              message[200];
    pb_plan_opts      plan = {.schema = opts->schema, .needed = opts->needed};
    const pb_message *m = NULL;
    bool              fine = wr_option_bool(&opts->options, proto_specs, "protobuf.ignore-parse-errors", &d->ignore_errors, diags) &&
                wr_option_bool(&opts->options, proto_specs, "protobuf.read-default-values", &plan.read_defaults, diags) && (m = named_message(&opts->options, opts->world, d->arena, diags)) != NULL;
    if (fine && !(d->row = pb_row_new(d->arena, m, &plan, message))) fine = proto_fault(diags, &opts->options, "protobuf.schema", "WR391", message);
    if (!fine) {
        decoder_free(&d->base);
        return WR_USER;
    }
    *out = &d->base;
    return WR_OK;
}

/* ---- writing ---- */

typedef struct proto_encoder {
    wr_encoder base;
    wr_arena  *arena;
    pb_row    *row;
    wr_str     null_string;
    bool       stream;
} proto_encoder;

static void encode(wr_encoder *base, const wr_batch *batch, uint32_t from_live, uint32_t to_live, wr_sbuf *out) {
    proto_encoder *e = (proto_encoder *)base;
    pb_encode      to = {out, e->null_string, &base->err};
    for (uint32_t i = from_live; i < to_live; i++) {
        size_t from = out->len;
        if (!pb_row_write(&to, e->row, batch->cols, wr_batch_row(batch, i))) {
            base->failed = base->err.status;
            return;
        }
        if (e->stream) pb_close_bytes(out, from);
        else wr_sbuf_addc(out, '\n');
    }
}

static void encoder_free(wr_encoder *base) {
    proto_encoder *e = (proto_encoder *)base;
    wr_arena_free(e->arena);
    wr_free(e);
}

static wr_status encoder_new(const wr_encoder_opts *opts, wr_encoder **out, wr_diags *diags) {
    *out = NULL;
    proto_encoder *e = wr_calloc(1, sizeof *e);
    *e = (proto_encoder){.base = {.encode = encode, .free = encoder_free}, .arena = wr_arena_new(NULL), .stream = opts->stream};
    e->null_string = wr_str_dup(e->arena, wr_option_string(&opts->options, proto_specs, "protobuf.write-null-string-literal"));
    char              message[200];
    pb_plan_opts      plan = {.schema = opts->schema, .write = true};
    const pb_message *m = named_message(&opts->options, opts->world, e->arena, diags);
    if (m && !(e->row = pb_row_new(e->arena, m, &plan, message))) proto_fault(diags, &opts->options, "protobuf.schema", "WR391", message);
    if (!m || !e->row) {
        encoder_free(&e->base);
        return WR_USER;
    }
    *out = &e->base;
    return WR_OK;
}

const wr_format wr_format_proto = {.name = "protobuf", .specs = proto_specs, .changes = WR_FORMAT_APPEND, .can_write = true, .lengths = true, .newline_in_record = true,
                                   .decoder_new = decoder_new, .encoder_new = encoder_new, .split = split};
