/* type/text_fuzz.c: every parser of values on any bytes; what is read must print and read back.                        */
#include "type/datetime.h"
#include "type/decimal.h"
#include "type/number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trips(wr_str text) {
    int64_t us, x;
    int32_t sub, days, ms;
    bool    zoned;
    double  d;
    wr_i128 dec;
    char    out[64];
    if (wr_parse_timestamp(text, &us, &sub, &zoned)) {
        int64_t again;
        wr_str  printed = {out, wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 6), ' ', out)};
        wr_assert(us < -62135596800000000 || us > 253402300799999999 || (wr_parse_timestamp(printed, &again, &sub, &zoned) && again == us));
    }
    if (wr_parse_date(text, &days)) wr_assert(wr_text_date(days, out) == 10);
    if (wr_parse_time(text, &ms)) wr_assert(wr_text_time(ms, 3, out) == 12);
    if (wr_parse_double(text, &d) && d == d) {
        double again;
        wr_str printed = {out, wr_text_double(d, out)};
        bool   ok = wr_parse_double(printed, &again);
        wr_assert(ok && again == d);
    }
    if (wr_parse_i64(text, &x)) {
        int64_t again;
        wr_str  printed = {out, wr_text_i64(x, out)};
        bool    ok = wr_parse_i64(printed, &again);
        wr_assert(ok && again == x);
    }
    if (wr_decimal_parse(text, 38, 10, &dec)) {
        wr_i128 again;
        wr_str  printed = {out, wr_decimal_text(dec, 10, out)};
        bool    ok = wr_decimal_parse(printed, 38, 10, &again);
        wr_assert(ok && again == dec);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 4096) return 0;
    size_t  cut = data[0] % size;
    wr_str  all = {(const char *)data + 1, size - 1}, pattern = {all.ptr, cut}, text = {all.ptr + cut, size - 1 - cut};
    int64_t us, bytes;
    wr_sbuf out = {0};
    round_trips(all);
    wr_parse_pattern(text, pattern, &us);
    wr_format_pattern(1234567890123456, 789, pattern, NULL, &out);
    if (wr_parse_duration(all, &us)) wr_text_duration(us, &out);
    if (wr_parse_size(all, &bytes)) wr_text_size(bytes, &out);
    wr_sbuf_free(&out);
    return 0;
}
