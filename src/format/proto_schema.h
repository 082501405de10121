/* format/proto_schema.h: protobuf's messages and enums as a descriptor set tells them. Private to format/.
 *
 * Idea       a FileDescriptorSet is itself protobuf, so it is read with proto_wire.h; .proto texts become one by libprotobuf (protoc/protoc.h),
 *            which is loaded when it is needed. Names are resolved to pointers once.
 * Bounds     nesting of messages PB_DEPTH_MAX, a set 16 MiB.
 * Memory     all in the arena that the schema was read into.                                                             */
#pragma once
#include "format/format.h"
#include "format/proto_wire.h"

typedef enum pb_type { /* FieldDescriptorProto.Type */
    PB_T_DOUBLE = 1, PB_T_FLOAT, PB_T_INT64, PB_T_UINT64, PB_T_INT32, PB_T_FIXED64, PB_T_FIXED32, PB_T_BOOL, PB_T_STRING, PB_T_GROUP, PB_T_MESSAGE, PB_T_BYTES, PB_T_UINT32, PB_T_ENUM,
    PB_T_SFIXED32, PB_T_SFIXED64, PB_T_SINT32, PB_T_SINT64
} pb_type;

typedef struct pb_enum {
    wr_str   name;              /* with its package */
    bool     closed;            /* proto2: a number without a name is not a value */
    uint32_t n;
    wr_str  *names;
    int32_t *numbers;
} pb_enum;

struct pb_message;
typedef struct pb_field {
    wr_str      name, json_name, type_name, fallback; /* fallback: the declared default, ptr NULL if there is none */
    uint32_t    number;
    pb_type     type;
    bool        repeated, required, presence, packed; /* presence: absent is another thing than the default */
    int32_t     oneof;                                /* -1: in none */
    const struct pb_message *message;
    const pb_enum           *enumeration;
} pb_field;

typedef struct pb_message {
    wr_str    name;             /* with its package */
    bool      proto3, map_entry;
    uint32_t  order;            /* among those that stand in the same place */
    uint32_t  n;
    pb_field *fields;
} pb_message;

typedef struct pb_schema {
    uint32_t     n_messages, n_enums;
    pb_message  *messages;      /* by name */
    pb_enum     *enums;
    uint32_t     n_top;         /* the messages that stand in the last file, not inside others, in its order */
    const pb_message **top;
} pb_schema;

bool pb_schema_read(wr_str descriptor_set, wr_arena *arena, pb_schema *out, char message[200]);
/* By its name with or without the package, or as a Java class (com.example.Outer$Order); an empty name: the first one of the file. NULL: message says what there is. */
const pb_message *pb_schema_find(const pb_schema *schema, wr_str name, char message[200]);
/* The message at a path of indexes, as a Confluent message names it: of the file, then of the message before. NULL: there is none. */
const pb_message *pb_schema_at(const pb_schema *schema, const uint32_t *path, uint32_t n);
uint32_t pb_schema_path(const pb_schema *schema, const pb_message *message, uint32_t path[PB_DEPTH_MAX]); /* the other way; its length */
const pb_field *pb_message_field(const pb_message *message, wr_str name);

/* .proto texts: `open` gives a file by the name that an import has. The set in `out`. */
typedef bool (*pb_open)(void *self, const char *name, wr_str *text);
wr_status pb_compile(const char *name, pb_open open, void *self, wr_sbuf *out, wr_err *err);
/* A file: a .proto text with what it imports (from its directory, then those of `path`, with ':' between them), or a descriptor set. */
wr_status pb_schema_file(wr_world *world, wr_str file, wr_str path, wr_arena *arena, pb_schema *out, wr_err *err);
