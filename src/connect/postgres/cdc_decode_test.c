/* connect/postgres/cdc_decode_test.c: changes and rows of the snapshot -> rows with kinds, by hand: keys that change, old rows, values that are not sent, and which
 * changes count when a snapshot was read in several goes.                                                                                 */
#include "connect/postgres/cdc.h"
#include <stdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Columns id INT NOT NULL (key), n DECIMAL(6, 2), big STRING, and the hidden one. The relation has another column between. */
typedef struct fixture {
    cdc_source s;
    cdc_note   note;
    wr_decoded out;
    wr_sbuf    bytes, text;
    cdc_record records[32];
} fixture;
static wr_field       fields[4];
static const wr_schema schema = {4, fields};
static const uint32_t KEY[] = {0};
static const wr_str   META[] = {{WR_UNCHANGED_KEY, sizeof WR_UNCHANGED_KEY - 1}};
static const int32_t  MAP[] = {0, -1, 1, 2};
static const cdc_map  map = {.n = 4, .column = MAP};

static void open_fixture(fixture *f, bool upsert) {
    memset(f, 0, sizeof *f);
    fields[0] = (wr_field){WR_STR("id"), wr_type_not_null(wr_type_of(WR_T_INT))};
    fields[1] = (wr_field){WR_STR("n"), wr_type_decimal(6, 2)};
    fields[2] = (wr_field){WR_STR("big"), wr_type_string()};
    fields[3] = (wr_field){WR_STR("unchanged"), wr_type_of(WR_T_BIGINT)};
    f->s = (cdc_source){.schema = &schema, .n_physical = 3, .metadata_keys = META, .n_key = 1, .key = KEY, .batch_rows = 3, .upsert = upsert, .quoted = "\"public\".\"t\""};
    f->note = (cdc_note){.mem = wr_mem_new(0), .records = f->records, .map = &map};
}

static void put_tuple(wr_sbuf *b, const char *values) { /* "1 x n u": n NULL, u unchanged, else a text */
    uint32_t n = 1;
    for (const char *p = values; *p; p++) n += *p == ' ';
    wr_sbuf_addc(b, (char)(n >> 8)), wr_sbuf_addc(b, (char)n);
    wr_str list = wr_str_of(values);
    for (wr_str v; wr_str_next(&list, ' ', &v);) {
        bool bare = wr_str_eq(v, WR_STR("n")) || wr_str_eq(v, WR_STR("u"));
        wr_sbuf_addc(b, bare ? *v.ptr : 't');
        if (bare) continue;
        char len[4] = {0, 0, 0, (char)v.len};
        wr_sbuf_add(b, len, 4);
        wr_sbuf_add_str(b, v);
    }
}

/* kind I, U, D, T, r; old: "K..." or "O..." or NULL. */
static void add(fixture *f, char kind, const char *old, const char *values, uint64_t lsn) {
    cdc_record *r = &f->records[f->note.n++];
    *r = (cdc_record){.at = (uint32_t)f->bytes.len, .kind = kind, .lsn = lsn};
    if (kind == 'r') {
        wr_sbuf_addz(&f->bytes, values);
    } else {
        wr_sbuf_addc(&f->bytes, kind);
        if (kind == 'T') wr_sbuf_add(&f->bytes, "\0\0\0\1\0", 5); /* one table, and options */
        wr_sbuf_add(&f->bytes, "\0\0\0\7", 4);
        if (old) wr_sbuf_addc(&f->bytes, *old), put_tuple(&f->bytes, old + 1);
        if (values && kind != 'T') wr_sbuf_addc(&f->bytes, 'N'), put_tuple(&f->bytes, values);
    }
    r->len = (uint32_t)f->bytes.len - r->at;
}

static void expect(fixture *f, const char *want) {
    f->note.bytes = f->bytes.at;
    assert_int_equal(cdc_decode(&f->s, &f->note, &f->out), WR_OK);
    wr_sbuf_clear(&f->text);
    uint32_t bad = 0;
    uint64_t row = 0;
    for (uint32_t b = 0; b <= f->out.batches.n; b++) {
        const wr_batch *batch = b < f->out.batches.n ? f->out.batches.at[b] : NULL;
        for (uint32_t i = 0; i <= (batch ? batch->n_rows : 0); i++) {
            for (; bad < f->out.bad.n && f->out.bad.at[bad].before_row == row && (i < (batch ? batch->n_rows : 1)); bad++) wr_sbuf_printf(&f->text, "bad %.24s\n", f->out.bad.at[bad].message);
            if (!batch || i == batch->n_rows) break;
            wr_sbuf_printf(&f->text, "%s", wr_kind_text(wr_batch_kind(batch, i)));
            for (uint32_t c = 0; c < batch->n_cols; c++) wr_sbuf_addc(&f->text, ' '), wr_vec_text(&batch->cols[c], i, NULL, &f->text);
            wr_sbuf_addc(&f->text, '\n');
            row++;
        }
    }
    assert_string_equal(f->text.at ? f->text.at : "", want);
    assert_int_equal(f->out.n_rows, row);
    assert_int_equal(f->out.n_records, f->note.n);
    wr_decoded_clear(&f->out);
    wr_sbuf_clear(&f->bytes);
    f->note.n = 0;
}

static void close_fixture(fixture *f) {
    wr_decoded_free(&f->out);
    wr_mem_unref(f->note.mem);
    wr_sbuf_free(&f->bytes);
    wr_sbuf_free(&f->text);
}

static void upserts(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, true);
    add(&f, 'r', NULL, "1\t2.50\ta\\tb", 0);
    add(&f, 'r', NULL, "2\t\\N\t", 0);
    add(&f, 'I', NULL, "3 x 4 c", 10);
    add(&f, 'U', NULL, "3 x 5 u", 10);        /* big is what it was: bit 2 */
    add(&f, 'U', "K3 n n n", "4 x 5 d", 10);  /* another key */
    add(&f, 'U', "O4 x 5 e", "4 x 6 u", 10);  /* the old row is whole */
    add(&f, 'D', "K4 n n n", NULL, 10);
    add(&f, 'D', "O5 x 7 e", NULL, 10);
    expect(&f, "+I 1 2.50 a\tb NULL\n+I 2 NULL  NULL\n+I 3 4.00 c NULL\n+U 3 5.00 NULL 4\n-D 3 NULL NULL NULL\n+I 4 5.00 d NULL\n+U 4 6.00 e NULL\n-D 4 NULL NULL NULL\n-D 5 7.00 e NULL\n");
    close_fixture(&f);
}

static void old_rows(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, false);
    add(&f, 'I', NULL, "1 x 1 a", 10);
    add(&f, 'U', "O1 x 1 a", "1 x 2 u", 10);
    add(&f, 'U', "O1 x 2 a", "7 x 2 a", 10); /* a changed key: one row goes, another comes */
    add(&f, 'D', "O7 x 2 a", NULL, 10);
    add(&f, 'U', NULL, "1 x 2 b", 10);
    expect(&f, "+I 1 1.00 a NULL\n-U 1 1.00 a NULL\n+U 1 2.00 a NULL\n-D 1 2.00 a NULL\n+I 7 2.00 a NULL\n-D 7 2.00 a NULL\nbad an update without the ol\n");
    close_fixture(&f);
}

static void refused(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, true);
    add(&f, 'I', NULL, "1 x 1.25 a", 10);
    add(&f, 'I', NULL, "2 x 1.2500 a", 10);  /* nothing is lost */
    add(&f, 'I', NULL, "3 x 1.255 a", 10);
    add(&f, 'I', NULL, "4 x NaN a", 10);
    add(&f, 'I', NULL, "n x 1 a", 10);
    add(&f, 'T', NULL, NULL, 10);
    add(&f, 'U', "K5 n n n", "6 x 1 u", 10); /* of the row that had the old key nothing is known under the new one */
    add(&f, 'I', NULL, "1 2 3", 10);
    add(&f, 'L', NULL, "1 x 1 a", 10);
    expect(&f, "+I 1 1.25 a NULL\n+I 2 1.25 a NULL\nbad column 'n': expected DEC\nbad column 'n': expected DEC\nbad column 'id' is NULL and \nbad TRUNCATE: the rows that \nbad column 'big': a large va\nbad a change with another nu\nbad longer than 'max-record-\n");
    close_fixture(&f);
}

/* Keys up to 5 were read at 100, up to "10" (as a number) at 200, the rest at 300. */
static void ranges(void **state) {
    (void)state;
    fixture     f;
    cdc_ranges *r = wr_calloc(1, sizeof *r + 3 * sizeof r->at[0]);
    wr_sbuf     five = {0}, ten = {0};
    wr_str      key = WR_STR("5");
    open_fixture(&f, true);
    cdc_put_key(&five, &key, 1);
    key = WR_STR("10");
    cdc_put_key(&ten, &key, 1);
    r->n = 3;
    r->at[0] = (cdc_range){wr_sbuf_str(&five), 100}, r->at[1] = (cdc_range){wr_sbuf_str(&ten), 200}, r->at[2].lsn = 300;
    f.note.ranges = r;
    add(&f, 'I', NULL, "5 x 1 a", 99);
    add(&f, 'I', NULL, "5 x 2 a", 100);
    add(&f, 'I', NULL, "9 x 3 a", 150);
    add(&f, 'I', NULL, "10 x 4 a", 200);
    add(&f, 'D', "K11 n n n", NULL, 250);
    add(&f, 'U', "K3 n n n", "20 x 5 a", 250);  /* the old key counts, the new one is in a later snapshot */
    add(&f, 'U', "K20 n n n", "4 x 6 a", 250);
    add(&f, 'U', NULL, "20 x 7 u", 299);
    add(&f, 'U', NULL, "20 x 8 a", 300);
    expect(&f, "+I 5 2.00 a NULL\n+I 10 4.00 a NULL\n-D 3 NULL NULL NULL\n+U 4 6.00 a NULL\n+U 20 8.00 a NULL\n");
    close_fixture(&f);
    wr_sbuf_free(&five);
    wr_sbuf_free(&ten);
    wr_free(r);
}

static void arrays_and_bytes(void **state) {
    (void)state;
    static const wr_type text = {.id = WR_T_VARCHAR, .nullable = 1, .prec = WR_LENGTH_MAX}, list = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &text};
    const wr_type        nested = {.id = WR_T_ARRAY, .nullable = 1, .n_kids = 1, .kids = &list};
    const struct { wr_type type; const char *from, *want; } cases[] = {
        {list, "{}", "[]"}, {list, "{a,NULL,\"NULL\",\"x \\\"y\\\\ ,{}\"}", "[a, NULL, NULL, x \"y\\ ,{}]"}, {list, "[0:1]={a,b}", "[a, b]"}, {nested, "{{a,b},{c,d}}", "[[a, b], [c, d]]"},
        {list, "{a", NULL}, {list, "a", NULL}, {list, "{a}}", NULL}, {list, "{\"a}", NULL}, {list, "{a\\", NULL}, {nested, "{a}", NULL}, {list, "", NULL},
        {wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX), "\\x0", NULL}, {wr_type_prec(WR_T_VARBINARY, WR_LENGTH_MAX), "\\xzz", NULL}, {wr_type_prec(WR_T_TIMESTAMP_LTZ, 6), "2026-01-01 00:00:00.5+00", "2026-01-01 00:00:00.500000"},
        {wr_type_prec(WR_T_TIMESTAMP_LTZ, 6), "infinity", NULL}, {wr_type_of(WR_T_DATE), "0044-03-15 BC", NULL}};
    for (size_t i = 0; i < WR_COUNT_OF(cases); i++) {
        wr_mem *mem = wr_mem_new(0);
        wr_vec  vec;
        wr_sbuf out = {0};
        wr_vec_init(&vec, cases[i].type, 1, true, mem);
        wr_put put = pg_read_value(wr_str_of(cases[i].from), &vec, 0, mem);
        assert_int_equal(put == WR_PUT_OK, cases[i].want != NULL);
        if (cases[i].want) {
            wr_vec_text(&vec, 0, NULL, &out);
            assert_string_equal(out.at, cases[i].want);
        }
        wr_sbuf_free(&out);
        wr_mem_unref(mem);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(upserts), cmocka_unit_test(old_rows), cmocka_unit_test(refused), cmocka_unit_test(ranges), cmocka_unit_test(arrays_and_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
