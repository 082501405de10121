/* protoc/protoc.h: .proto texts to a descriptor set, by libprotobuf. (contract of a piece that is loaded when a job needs it)
 *
 * Idea       libweir_proto.so is all of weir that links libprotobuf, so a machine without that library runs everything else. It only translates: the
 *            result is a serialized google.protobuf.FileDescriptorSet, which format/proto_schema.c reads. No C++ on the way of rows.
 * Thread     any; each call has a pool of its own.                                                                      */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_proto_source {
    void *self;
    /* The text of a file by the name that an import gives it; false: there is none. Valid until the compilation ends. */
    int (*open)(void *self, const char *name, const char **text, size_t *len);
    /* The result, once. */
    void (*take)(void *self, const void *bytes, size_t len);
} weir_proto_source;

/* The file with all that it imports, imported ones first; google/protobuf/ files are known without a source. 0: not valid, message says where and why. */
int weir_proto_compile(const char *name, const weir_proto_source *source, char *message, size_t cap);
typedef int (*weir_proto_compile_fn)(const char *name, const weir_proto_source *source, char *message, size_t cap);

#ifdef __cplusplus
}
#endif
