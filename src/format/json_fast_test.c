/* format/json_fast_test.c: lines of known shapes are read as all others are: the decoder with json_fast.c and without it give the same rows, messages and counts for random
 * tables and random lines, most of them alike, some odd, broken, cut or too long. The general way is what json_test.c checks against Flink.        */
#include "format/json_fast.h"
#include "format/testing.h"

static uint64_t seed;
static uint32_t rnd(uint32_t n) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % n);
}

enum { COLS = 8 };
typedef struct made { wr_field f[COLS]; uint8_t needed[COLS]; uint32_t n; char names[COLS][24]; } made;

static wr_type random_type(void) {
    static wr_type kid = {.id = WR_T_INT, .nullable = 1};
    wr_type        t[] = {wr_type_of(WR_T_BIGINT), wr_type_of(WR_T_INT), wr_type_of(WR_T_SMALLINT), wr_type_of(WR_T_TINYINT), wr_type_of(WR_T_DOUBLE), wr_type_of(WR_T_FLOAT), wr_type_of(WR_T_BOOLEAN),
                   wr_type_string(), wr_type_string(), wr_type_decimal(10, 2), wr_type_decimal(38, 10), wr_type_prec(WR_T_TIMESTAMP, (int)rnd(10)), wr_type_prec(WR_T_TIMESTAMP, 3), wr_type_prec(WR_T_TIMESTAMP_LTZ, 3),
                   wr_type_of(WR_T_DATE), wr_type_prec(WR_T_TIME, 3), wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX), {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &kid}};
    wr_type one = t[rnd(rnd(20) ? WR_COUNT_OF(t) - 1 : WR_COUNT_OF(t))];
    one.nullable = rnd(8) != 0;
    return one;
}

static void make_table(made *m) {
    static const char *const names[] = {"a", "id", "price", "dateTime", "a_name_of_20_letters", "größe", "a b", "channel"};
    m->n = 1 + rnd(COLS);
    for (uint32_t i = 0; i < m->n; i++) {
        snprintf(m->names[i], sizeof m->names[i], "%s", names[i]);
        m->f[i] = (wr_field){wr_str_of(m->names[i]), random_type()};
        m->needed[i] = rnd(4) != 0;
    }
}

/* What a column of the type usually has, and now and then something else. */
static void put_value(wr_type type, wr_sbuf *out) {
    static const char *const odd[] = {"null", "true", "false", "0", "-0", "01", "-", "1.", ".5", "1e3", "-1.5E-2", "123456789012345678", "1234567890123456789", "9223372036854775808", "99999999999999999999999999", "\"\"",
                                      "\"x\\\"y\"", "\"\\u00e9\\n\"", "\"\\ud800\"", "\"\xFF\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"a\tb\"", "{\"x\":[1,2]}", "[1,2,null]", "[]", "nul", "\"12\"", "\" 7 \"", "\"1.25\"", "0.1", "127", "-129", "32768", "2147483648",
                                      "123456789.12", "\"2026-02-30 00:00:00\"", "\"2026-01-31T12:00:00\"", "\"2026-01-31 12:00:00.\"", "\"2026-01-31 24:00:00\"", "\"2026-01-31 12:00:00.123456789\"", "\"2026-01-31 12:00:00Z\"", "\"AAEC\"", "0.30000000000000004", "1.7976931348623157", "tru", "", "\"open"};
    uint32_t at = rnd(60);
    if (at == 0) {
        wr_sbuf_addz(out, odd[rnd(WR_COUNT_OF(odd))]);
        return;
    }
    if (at <= 2) {
        wr_sbuf_addz(out, "null");
        return;
    }
    switch (type.id) {
    case WR_T_BIGINT: wr_sbuf_printf(out, "%s%u%06u", rnd(5) ? "" : "-", 1 + rnd(1000000), rnd(1000000)); break;
    case WR_T_INT: case WR_T_SMALLINT: case WR_T_TINYINT: wr_sbuf_printf(out, "%d", (int)rnd(140) - (int)rnd(10) * 300); break;
    case WR_T_DOUBLE: case WR_T_FLOAT: case WR_T_DECIMAL: wr_sbuf_printf(out, rnd(6) ? "%s%u.%02u" : "%s%u", rnd(5) ? "" : "-", rnd(100000), rnd(100)); break;
    case WR_T_BOOLEAN: wr_sbuf_addz(out, rnd(2) ? "true" : "false"); break;
    case WR_T_TIMESTAMP: case WR_T_TIMESTAMP_LTZ:
        wr_sbuf_printf(out, "\"%04u-%02u-%02u %02u:%02u:%02u", rnd(30) ? 2026 : rnd(10000), 1 + rnd(rnd(30) ? 2 : 13), 1 + rnd(rnd(30) ? 3 : 32), rnd(rnd(30) ? 24 : 26), rnd(60), rnd(rnd(30) ? 60 : 62));
        if (rnd(4)) wr_sbuf_printf(out, ".%0*u", rnd(6) ? 3 : 1 + (int)rnd(7), rnd(10));
        wr_sbuf_addz(out, type.id == WR_T_TIMESTAMP_LTZ && rnd(20) ? "Z\"" : "\"");
        break;
    case WR_T_DATE: wr_sbuf_printf(out, "\"2026-01-%02u\"", 1 + rnd(31)); break;
    case WR_T_TIME: wr_sbuf_printf(out, "\"12:%02u:00.%u\"", rnd(60), rnd(1000)); break;
    case WR_T_VARBINARY: wr_sbuf_addz(out, "\"AAECAw==\""); break;
    case WR_T_ARRAY: wr_sbuf_printf(out, "[%u, 2]", rnd(9)); break;
    default: {
        static const char *const pieces[] = {"word", "é", " ", "漢字", "x", "https://www.example.com/", "𝄞"};
        wr_sbuf_addc(out, '"');
        for (uint32_t n = rnd(6); n; n--) wr_sbuf_addz(out, pieces[rnd(rnd(3) ? 1 : WR_COUNT_OF(pieces))]);
        wr_sbuf_addc(out, '"');
    }
    }
}

static void put_line(const made *m, uint32_t style, wr_sbuf *out) {
    const char *comma = style == 1 ? ", " : style == 2 ? " ,\t" : ",", *colon = style == 1 ? ": " : style == 2 ? " : " : ":";
    uint32_t    turn = rnd(40) ? 0 : rnd(m->n), leave = rnd(30) ? UINT32_MAX : rnd(m->n), n = 0;
    if (!rnd(40)) wr_sbuf_addz(out, rnd(2) ? "" : " \t");
    wr_sbuf_addc(out, '{');
    for (uint32_t k = 0; k <= m->n; k++) {
        uint32_t i = (k + turn) % m->n;
        if (k == m->n && (m->n > 6 || rnd(30))) break; /* twice the same key */
        if (i == leave) continue;
        if (n++) wr_sbuf_addz(out, rnd(300) ? comma : " ,");
        if (i == 1) { /* a field that is no column */
            wr_sbuf_printf(out, "\"other\"%s", colon);
            put_value(random_type(), out);
            wr_sbuf_addz(out, comma);
        }
        wr_sbuf_printf(out, "\"%s\"%s", m->names[i], colon);
        put_value(m->f[i].type, out);
    }
    wr_sbuf_addz(out, rnd(300) ? "}" : "} x");
    if (style == 3) wr_sbuf_addc(out, '\r');
}

static void damage(wr_sbuf *text) {
    for (uint32_t n = rnd(3); n && text->len; n--) {
        uint32_t at = rnd((uint32_t)text->len);
        switch (rnd(4)) {
        case 0: text->at[at] = (char)rnd(256); break;
        case 1: text->at[at] = "\"\\{}[],: \n"[rnd(10)]; break;
        case 2: text->len = at; break; /* cut */
        default: memmove(text->at + at, text->at + at + 1, text->len - at - 1), text->len--;
        }
    }
}

static void dump(test_table *t, const wr_sbuf *text, bool fast, wr_sbuf *out, uint64_t *lines) {
    wr_decoder   *base = test_decoder(t);
    json_decoder *d = (json_decoder *)base;
    assert_non_null(d->fast);
    json_fast *f = d->fast;
    if (!fast) d->fast = NULL;
    for (size_t from = 0, half = text->len / 2; from < text->len || !from;) { /* two chunks, cut at a line */
        size_t to = text->len;
        if (!from) {
            const char *nl = text->len ? memchr(text->at + half, '\n', text->len - half) : NULL;
            to = nl ? (size_t)(nl + 1 - text->at) : text->len;
        }
        wr_decoded got = {.want_lines = true};
        test_chunk(base, text->len ? text->at + from : "", to - from, from == 0, &got);
        wr_sbuf_printf(out, "records %llu lines %llu rows %llu blank %llu batches %u bad %u\n", (unsigned long long)got.n_records, (unsigned long long)got.n_lines, (unsigned long long)got.n_rows,
                       (unsigned long long)got.n_blank, got.batches.n, got.bad.n);
        for (uint32_t i = 0; i < got.row_lines.n; i++) wr_sbuf_printf(out, "%u ", got.row_lines.at[i]);
        dump_decoded(&got, out);
        got.batches.n = 0;
        wr_decoded_free(&got);
        if (to == text->len) break;
        from = to;
    }
    *lines += json_fast_lines(f);
    base->free(base);
}

static void both_ways_are_the_same(void **state) {
    (void)state;
    uint64_t fast = 0, all = 0, none = 0;
    for (uint32_t round = 0; round < 2500; round++) {
        seed = round * UINT64_C(0x9E3779B97F4A7C15) + 1;
        made m = {0};
        make_table(&m);
        const wr_option choices[] = {{WR_STR("json.ignore-parse-errors"), WR_STR("true"), {0}}, {WR_STR("json.fail-on-missing-field"), WR_STR("true"), {0}}, {WR_STR("json.timestamp-format.standard"), WR_STR("ISO-8601"), {0}}};
        uint32_t    choice = rnd(6), style = rnd(4);
        test_table  t = {.format = "json", .schema = {m.n, m.f}, .options = choices + choice, .n_options = choice < 3, .needed = rnd(2) ? m.needed : NULL, .batch_rows = rnd(3) ? 2048 : 1 + rnd(7),
                         .max_record_bytes = rnd(8) ? 1 << 20 : 40 + rnd(200)};
        wr_sbuf text = {0}, a = {0}, b = {0};
        for (uint32_t n = 4 + rnd(60); n; n--) {
            put_line(&m, style, &text);
            if (n > 1 || rnd(3)) wr_sbuf_addz(&text, rnd(60) ? "\n" : "\n\n");
            all++;
        }
        if (!rnd(3)) damage(&text);
        dump(&t, &text, true, &a, &fast);
        dump(&t, &text, false, &b, &none);
        if (!wr_str_eq(wr_sbuf_str(&a), wr_sbuf_str(&b))) fail_msg("round %u\n%.*s\n--- fast\n%.*s\n--- general\n%.*s", round, WR_FMT(wr_sbuf_str(&text)), WR_FMT(wr_sbuf_str(&a)), WR_FMT(wr_sbuf_str(&b)));
        wr_sbuf_free(&text), wr_sbuf_free(&a), wr_sbuf_free(&b);
    }
    assert_true(none == 0 && fast > all / 4); /* it is not the general way that is held against itself */
    printf("%llu of %llu lines the fast way\n", (unsigned long long)fast, (unsigned long long)all);
}

/* Lines that are alike, as files have them, are all read so but for the first. */
static void all_lines_of_a_shape(void **state) {
    (void)state;
    wr_field      f[] = {FIELD("id", wr_type_of(WR_T_BIGINT)), FIELD("s", wr_type_string()), FIELD("at", wr_type_prec(WR_T_TIMESTAMP, 3)), FIELD("d", wr_type_decimal(10, 2)), FIELD("absent", wr_type_of(WR_T_INT))};
    test_table    t = TABLE("json", f);
    wr_decoder   *base = test_decoder(&t);
    wr_decoded    got = {0};
    wr_sbuf       text = {0}, out = {0};
    for (uint32_t i = 0; i < 5000; i++) wr_sbuf_printf(&text, "{\"id\": %u, \"s\": \"é%u\", \"other\": \"x\", \"at\": \"2026-01-31 12:00:00.%03u\", \"d\": %u.5}\n", i, i, i % 1000, i);
    test_chunk(base, text.at, text.len, true, &got);
    assert_int_equal(got.n_rows, 5000);
    assert_int_equal(json_fast_lines(((json_decoder *)base)->fast), 4999);
    dump_decoded(&got, &out);
    assert_non_null(strstr(out.at, "+I[4999, é4999, 2026-01-31 12:00:00.999, 4999.50, NULL]\n"));
    got.batches.n = 0;
    wr_decoded_free(&got);
    wr_sbuf_free(&text), wr_sbuf_free(&out);
    base->free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways_are_the_same), cmocka_unit_test(all_lines_of_a_shape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
