/* bench/floor.cpp: what simdjson alone needs to read the named fields of a JSON-lines file: the floor that bench/run compares with.
 * Use: decode_floor FILE field,field,...   One thread, iterate_many over 1 MB blocks, values summed and thrown away.              */
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <simdjson.h>
#include <sstream>
#include <string>
#include <vector>
using namespace simdjson;

int main(int argc, char **argv) {
    if (argc != 3) return std::fprintf(stderr, "usage: decode_floor FILE field,field,...\n"), 2;
    std::vector<std::string> fields;
    std::stringstream        list(argv[2]);
    for (std::string f; std::getline(list, f, ',');) fields.push_back(f);
    std::FILE *in = std::fopen(argv[1], "rb");
    if (!in) return std::perror(argv[1]), 1;
    constexpr size_t  block = 1 << 20;
    std::vector<char> buf(2 * block + SIMDJSON_PADDING);
    ondemand::parser  parser;
    size_t            held = 0;
    int64_t           rows = 0, sum = 0;
    for (size_t got; (got = std::fread(buf.data() + held, 1, block, in)) > 0;) {
        size_t len = held + got, cut = len;
        while (cut > 0 && buf[cut - 1] != '\n') cut--;
        ondemand::document_stream stream;
        if (parser.iterate_many(buf.data(), cut, block * 2).get(stream)) return 1;
        for (auto doc : stream) {
            rows++;
            for (const auto &f : fields) {
                ondemand::value v;
                if (doc[f].get(v)) continue;
                int64_t          n;
                std::string_view s;
                if (!v.get(n)) sum += n;
                else if (!v.get(s)) sum += int64_t(s.size());
            }
        }
        held = len - cut;
        std::memmove(buf.data(), buf.data() + cut, held);
    }
    std::fclose(in);
    std::printf("%lld rows, checksum %lld\n", (long long)rows, (long long)sum);
}
