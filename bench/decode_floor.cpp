/* bench/decode_floor.cpp: the floor of decode_bench: simdjson ondemand, iterate_many, reading the fields and keeping nothing.     */
#include <chrono>
#include <cstdint>
#include <simdjson.h>
using namespace simdjson;

extern "C" double decode_floor(const char *data, size_t len, int fields, int64_t *sum) {
    static ondemand::parser  parser;
    auto                     start = std::chrono::steady_clock::now();
    int64_t                  total = 0;
    ondemand::document_stream stream;
    if (parser.iterate_many(data, len, 1 << 20).get(stream)) return 1e9;
    for (auto doc : stream) {
        std::string_view text;
        total += int64_t(doc["auction"]);
        if (fields == 7) total += int64_t(doc["bidder"]);
        total += int64_t(doc["price"]);
        if (fields == 7) {
            text = doc["channel"];
            total += int64_t(text.size());
            text = doc["url"];
            total += int64_t(text.size());
        }
        text = doc["dateTime"];
        total += int64_t(text.size());
        if (fields == 7) {
            text = doc["extra"];
            total += int64_t(text.size());
        }
    }
    *sum = total;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
