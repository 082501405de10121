/* format/json_simd.cpp: see json_simd.h. The only C++ of the room: no state but simdjson's own buffers.               */
#include "format/json_simd.h"
#include <charconv>
#include <limits>
#include <memory>
#include <new>
#include <simdjson.h>
#include <system_error>

struct wr_simd {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

extern "C" wr_simd *wr_simd_new(void) {
    wr_simd *s = new (std::nothrow) wr_simd();
    return s;
}

extern "C" void wr_simd_free(wr_simd *s) { delete s; }

extern "C" wr_simd_error wr_simd_index(wr_simd *s, const uint8_t *data, size_t len, const uint32_t **places, uint32_t *n) {
    static const uint32_t none[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    *places = none;
    *n = 0;
    if (!len) return WR_SIMD_OK;
    if (!s || len > std::numeric_limits<uint32_t>::max() - 128) return WR_SIMD_OTHER;
    if (!s->parser || s->parser->capacity() < len) {
        size_t capacity = 4096;
        while (capacity < len) capacity *= 2;
        s->parser.reset();
        if (simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, s->parser)) return WR_SIMD_OTHER;
    }
    simdjson::error_code error = s->parser->stage1(data, len, simdjson::stage1_mode::regular);
    switch (error) {
    case simdjson::SUCCESS:
        *places = s->parser->structural_indexes.get();
        *n = s->parser->n_structural_indexes;
        return WR_SIMD_OK;
    case simdjson::EMPTY: return WR_SIMD_OK;
    case simdjson::UTF8_ERROR: return WR_SIMD_UTF8;
    case simdjson::UNCLOSED_STRING: return WR_SIMD_STRING;
    case simdjson::UNESCAPED_CHARS: return WR_SIMD_CONTROL;
    default: return WR_SIMD_OTHER;
    }
}


extern "C" bool wr_simd_double(const char *from, const char *to, double *out) {
    double value = 0;
    auto   got = std::from_chars(from, to, value);
    if (got.ec == std::errc::result_out_of_range && got.ptr == to) { /* value is left alone: find out which end was passed */
        bool negative = from < to && *from == '-', tiny = false;
        for (const char *p = from; p < to; p++)
            if ((*p == 'e' || *p == 'E') && p + 1 < to) tiny = p[1] == '-';
        const char *p = from + negative;
        if (!tiny) { /* 0.000...1 without an exponent */
            while (p < to && (*p == '0' || *p == '.')) p++;
            tiny = p > from + negative && *(from + negative) == '0';
        }
        value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
        *out = negative ? -value : value;
        return true;
    }
    if (got.ec != std::errc() || got.ptr != to) return false;
    *out = value;
    return true;
}
