// protoc/protoc.cpp: see protoc.h.
#include "protoc/protoc.h"
#include <cstdio>
#include <exception>
#include <google/protobuf/any.pb.h>
#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>
#include <set>
#include <string>

namespace pb = google::protobuf;

namespace {

// The first error that was found, with its place.
class Errors : public pb::io::ErrorCollector, public pb::DescriptorPool::ErrorCollector {
public:
    void AddError(int line, pb::io::ColumnNumber column, const std::string &message) override { say(file, line, column, message); }
    void AddError(const std::string &name, const std::string &element, const pb::Message *descriptor, ErrorLocation location, const std::string &message) override {
        int line = -1, column = 0;
        places.Find(descriptor, location, &line, &column);
        say(name, line, column, element.empty() || message.find(element) != std::string::npos ? message : element + ": " + message);
    }
    std::string                       first, file;
    pb::compiler::SourceLocationTable places;

private:
    void say(const std::string &name, int line, int column, const std::string &message) {
        if (first.empty()) first = name + (line >= 0 ? ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1) : "") + ": " + message;
    }
};

bool from_base64(const char *text, size_t len, std::string *out) {
    unsigned bits = 0, held = 0;
    for (size_t i = 0; i < len; i++) {
        const char c = text[i];
        if (c == '=' || c == '\n' || c == '\r') continue;
        const int v = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
        if (v < 0) return false;
        bits = bits << 6 | static_cast<unsigned>(v);
        held += 6;
        if (held >= 8) held -= 8, out->push_back(static_cast<char>(bits >> held & 0xFF));
    }
    return !out->empty();
}

class Sources : public pb::DescriptorDatabase {
public:
    Sources(const weir_proto_source *source, Errors *errors) : source_(source), errors_(errors) {
        // linked for what google/protobuf/*.proto say
        pb::Timestamp::descriptor(), pb::Duration::descriptor(), pb::Int32Value::descriptor(), pb::Struct::descriptor(), pb::Any::descriptor(), pb::Empty::descriptor(), pb::FieldMask::descriptor();
    }
    bool FindFileByName(const std::string &name, pb::FileDescriptorProto *out) override {
        const char *text;
        size_t      len;
        std::string bytes;
        if (!source_->open(source_->self, name.c_str(), &text, &len)) {
            const pb::FileDescriptor *known = name.compare(0, 16, "google/protobuf/") == 0 ? pb::DescriptorPool::generated_pool()->FindFileByName(name) : nullptr;
            if (known) known->CopyTo(out);
            return known != nullptr;
        }
        // a registry may give the FileDescriptorProto in base64 in place of its text
        if (from_base64(text, len, &bytes) && out->ParseFromString(bytes)) return out->set_name(name), true;
        out->Clear();
        pb::io::ArrayInputStream in(text, static_cast<int>(len));
        errors_->file = name;
        pb::io::Tokenizer    tokens(&in, errors_);
        pb::compiler::Parser parser;
        parser.RecordErrorsTo(errors_);
        parser.RecordSourceLocationsTo(&errors_->places);
        out->set_name(name);
        return parser.Parse(&tokens, out) && errors_->first.empty();
    }
    bool FindFileContainingSymbol(const std::string &, pb::FileDescriptorProto *) override { return false; }
    bool FindFileContainingExtension(const std::string &, int, pb::FileDescriptorProto *) override { return false; }

private:
    const weir_proto_source *source_;
    Errors                  *errors_;
};

void collect(const pb::FileDescriptor *file, std::set<const pb::FileDescriptor *> *seen, pb::FileDescriptorSet *out) {
    if (!seen->insert(file).second) return;
    for (int i = 0; i < file->dependency_count(); i++) collect(file->dependency(i), seen, out); // as deep as imports go; libprotobuf has checked that they end
    file->CopyTo(out->add_file());
}

} // namespace

extern "C" __attribute__((visibility("default"))) int weir_proto_compile(const char *name, const weir_proto_source *source, char *message, size_t cap) {
    try {
        Errors                    errors;
        Sources                   sources(source, &errors);
        pb::DescriptorPool        pool(&sources, &errors);
        const pb::FileDescriptor *file = pool.FindFileByName(name);
        if (!file) {
            std::snprintf(message, cap, "%s", errors.first.empty() ? (std::string(name) + ": there is no such file").c_str() : errors.first.c_str());
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
