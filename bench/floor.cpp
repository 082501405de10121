/* bench/floor.cpp: what simdjson alone needs to read the named fields of a JSON-lines file: the floor that bench/run compares with.
 * Use: decode_floor FILE field,field,... [THREADS=1]   Each thread has its part of the file, from line to line; iterate_many over 1 MB blocks, values summed and thrown away.
 * As many threads as the job has workers: two busy cores slow each other down, and that is no fault of either program.              */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <simdjson.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>
using namespace simdjson;

struct part {
    long    from, to; /* bytes of the file; a line belongs to the part in which it begins */
    int64_t rows = 0, sum = 0;
    bool    failed = false;
};

static bool read_part(const char *path, const std::vector<std::string> &fields, part &p) {
    std::FILE *in = std::fopen(path, "rb");
    if (!in) return false;
    constexpr size_t  block = 1 << 20;
    std::vector<char> buf(2 * block + SIMDJSON_PADDING);
    ondemand::parser  parser;
    size_t            held = 0;
    long              at = p.from ? p.from - 1 : 0; /* of buf[0] */
    if (std::fseek(in, at, SEEK_SET)) return std::fclose(in), false;
    for (int c = p.from ? 0 : '\n'; c != '\n' && c != EOF; at++) c = std::fgetc(in);
    for (size_t got; at < p.to && (got = std::fread(buf.data() + held, 1, block, in)) > 0;) {
        size_t len = held + got, cut = len;
        if (at + long(len) > p.to) { /* up to the end of the line that has the last byte */
            const char *end = static_cast<const char *>(std::memchr(buf.data() + (p.to - 1 - at), '\n', len - size_t(p.to - 1 - at)));
            if (end) cut = size_t(end - buf.data()) + 1;
        }
        while (cut > 0 && buf[cut - 1] != '\n') cut--;
        ondemand::document_stream stream;
        if (parser.iterate_many(buf.data(), cut, block * 2).get(stream)) return std::fclose(in), false;
        for (auto doc : stream) {
            p.rows++;
            for (const auto &f : fields) {
                ondemand::value v;
                if (doc[f].get(v)) continue;
                int64_t          n;
                std::string_view s;
                if (!v.get(n)) p.sum += n;
                else if (!v.get(s)) p.sum += int64_t(s.size());
            }
        }
        held = len - cut;
        at += long(cut);
        std::memmove(buf.data(), buf.data() + cut, held);
    }
    std::fclose(in);
    return true;
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 4) return std::fprintf(stderr, "usage: decode_floor FILE field,field,... [THREADS]\n"), 2;
    std::vector<std::string> fields;
    std::stringstream        list(argv[2]);
    for (std::string f; std::getline(list, f, ',');) fields.push_back(f);
    struct stat st;
    if (stat(argv[1], &st)) return std::perror(argv[1]), 1;
    long                     threads = argc > 3 ? std::strtol(argv[3], nullptr, 10) : 1;
    if (threads < 1 || threads > 256) return std::fprintf(stderr, "decode_floor: 1 to 256 threads\n"), 2;
    std::vector<part>        parts;
    std::vector<std::thread> running;
    for (long i = 0; i < threads; i++) parts.push_back({st.st_size / threads * i, i + 1 == threads ? long(st.st_size) : st.st_size / threads * (i + 1)});
    for (auto &p : parts) running.emplace_back([&p, &fields, argv] { p.failed = !read_part(argv[1], fields, p); });
    for (auto &t : running) t.join();
    int64_t rows = 0, sum = 0;
    for (const auto &p : parts) {
        if (p.failed) return std::fprintf(stderr, "decode_floor: %s cannot be read\n", argv[1]), 1;
        rows += p.rows, sum += p.sum;
    }
    std::printf("%lld rows, checksum %lld\n", (long long)rows, (long long)sum);
}
