// protoc/protoc.cpp: see protoc.h.
#include "protoc/protoc.h"
#include <cstdio>
#include <exception>
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wrappers.pb.h>
#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <list>
#include <set>
#include <string>

namespace pb = google::protobuf;

namespace {

class Sources : public pb::compiler::SourceTree {
public:
    explicit Sources(const weir_proto_source *source) : source_(source) {
        // linked for their descriptors: what google/protobuf/*.proto say
        pb::Timestamp::descriptor(), pb::Duration::descriptor(), pb::Int32Value::descriptor(), pb::Struct::descriptor(), pb::Any::descriptor(), pb::Empty::descriptor(), pb::FieldMask::descriptor();
    }
    pb::io::ZeroCopyInputStream *Open(const std::string &file) override {
        const char       *text;
        size_t            len;
        if (source_->open(source_->self, file.c_str(), &text, &len)) return new pb::io::ArrayInputStream(text, static_cast<int>(len));
        const pb::FileDescriptor *known = file.compare(0, 16, "google/protobuf/") == 0 ? pb::DescriptorPool::generated_pool()->FindFileByName(file) : nullptr;
        if (!known) return nullptr;
        texts_.push_back(known->DebugString());
        return new pb::io::ArrayInputStream(texts_.back().data(), static_cast<int>(texts_.back().size()));
    }
    std::string GetLastErrorMessage() override { return "there is no such file"; }

private:
    const weir_proto_source *source_;
    std::list<std::string>   texts_;
};

class Errors : public pb::compiler::MultiFileErrorCollector {
public:
    void AddError(const std::string &file, int line, int column, const std::string &message) override {
        if (!first.empty()) return;
        first = file + (line >= 0 ? ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1) : "") + ": " + message;
    }
    std::string first;
};

void collect(const pb::FileDescriptor *file, std::set<const pb::FileDescriptor *> *seen, pb::FileDescriptorSet *out) {
    if (!seen->insert(file).second) return;
    for (int i = 0; i < file->dependency_count(); i++) collect(file->dependency(i), seen, out); // as deep as imports go; libprotobuf has checked that they end
    file->CopyTo(out->add_file());
}

} // namespace

extern "C" __attribute__((visibility("default"))) int weir_proto_compile(const char *name, const weir_proto_source *source, char *message, size_t cap) {
    Sources                sources(source);
    Errors                 errors;
    pb::compiler::Importer importer(&sources, &errors);
    try {
        const pb::FileDescriptor *file = importer.Import(name);
        if (!file) {
            std::snprintf(message, cap, "%s", errors.first.empty() ? "cannot be read" : errors.first.c_str());
            return 0;
        }
        std::set<const pb::FileDescriptor *> seen;
        pb::FileDescriptorSet                set;
        collect(file, &seen, &set);
        std::string bytes;
        set.SerializeToString(&bytes);
        source->take(source->self, bytes.data(), bytes.size());
        return 1;
    } catch (const std::exception &e) {
        std::snprintf(message, cap, "%s", e.what());
        return 0;
    }
}
