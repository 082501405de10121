/* connect/postgres/pgoutput_fuzz.c: any bytes as a message of pgoutput and as a row of COPY: everything that is said to be there can be read.  */
#include "connect/postgres/pgoutput.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static uint64_t touch(wr_str s) {
    uint64_t sum = 0;
    for (size_t i = 0; i < s.len; i++) sum += (uint8_t)s.ptr[i];
    return sum;
}

static uint64_t read_tuple(pgo_tuple t) {
    uint64_t  sum = 0;
    uint32_t  n = t.n, got = 0;
    pgo_value v;
    for (; pgo_next_value(&t, &v); got++) sum += touch(v.text);
    wr_assert(got == n && !t.bad); /* pgo_read has walked it */
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len) {
    char       *copy = wr_malloc(len + 1);
    pgo_message m;
    uint64_t    sum = 0;
    if (len) memcpy(copy, bytes, len);
    if (pgo_read((wr_str){copy, len}, &m)) {
        pgo_column c;
        uint32_t   id;
        sum += touch(m.schema) + touch(m.table);
        for (pgo_columns list = m.columns; pgo_next_column(&list, &c);) sum += touch(c.name) + c.type;
        for (pgo_relids list = m.truncated; pgo_next_relation(&list, &id);) sum += id;
        if (m.old) sum += read_tuple(m.before);
        if (m.kind == PGO_INSERT || m.kind == PGO_UPDATE) sum += read_tuple(m.after);
    }
    char  *to = wr_malloc(len + 1);
    wr_str line = {copy, len}, field;
    bool   first = true, null;
    size_t fields = 0, tabs = 0;
    while (copy_next_field(&line, &first, to, &field, &null)) sum += touch(field), fields++;
    for (size_t i = 0; i < len; i++) tabs += bytes[i] == '\t';
    wr_assert(fields >= 1 && fields <= tabs + 1);
    wr_free(to);
    wr_free(copy);
    __asm__ volatile("" : : "r"(sum)); /* it was read */
    return 0;
}
