/* type/bitmap.c: see bitmap.h. */
#include "type/bitmap.h"

enum { ARRAY_MAX = 4096, WORDS = 1024, BOX_BYTES = WORDS * 8, COOKIE = 12346, COOKIE_RUNS = 12347, OFFSETS_FROM = 4 };

/* ---- boxes ---- */

static void box_free(wr_bitmap *b, wr_bitmap_box *x) {
    b->bytes -= x->bits ? BOX_BYTES : (int64_t)x->cap * 2;
    wr_free(x->data);
}

void wr_bitmap_clear(wr_bitmap *b) {
    for (uint32_t i = 0; i < b->n; i++) box_free(b, &b->box[i]);
    wr_free(b->box);
    *b = (wr_bitmap){0};
}

static uint32_t seek_box(const wr_bitmap *b, uint16_t key) { /* first whose key is not less */
    uint32_t low = 0, high = b->n;
    if (high && b->box[high - 1].key < key) return high;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (b->box[mid].key < key) low = mid + 1;
        else high = mid;
    }
    return low;
}

static wr_bitmap_box *open_box(wr_bitmap *b, uint32_t at, uint16_t key) { /* an empty one at this place */
    if (b->n == b->cap) {
        uint32_t cap = b->cap ? b->cap * 2 : 2;
        b->box = wr_realloc(b->box, cap * sizeof *b->box);
        b->bytes += (int64_t)((cap - b->cap) * sizeof *b->box);
        b->cap = cap;
    }
    memmove(b->box + at + 1, b->box + at, (b->n - at) * sizeof *b->box);
    b->n++;
    b->box[at] = (wr_bitmap_box){.key = key};
    return &b->box[at];
}

static uint32_t seek_value(const wr_bitmap_box *x, uint16_t v) {
    const uint16_t *at = x->data;
    uint32_t        low = 0, high = x->n;
    if (high && at[high - 1] < v) return high;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (at[mid] < v) low = mid + 1;
        else high = mid;
    }
    return low;
}

static void to_words(const wr_bitmap_box *x, uint64_t *words) { /* x NULL: none */
    if (x && x->bits) {
        memcpy(words, x->data, BOX_BYTES);
        return;
    }
    memset(words, 0, BOX_BYTES);
    for (uint32_t i = 0; x && i < x->n; i++) {
        uint16_t v = ((const uint16_t *)x->data)[i];
        words[v >> 6] |= UINT64_C(1) << (v & 63);
    }
}

static void words_values(const uint64_t *words, uint16_t *out) {
    for (uint32_t w = 0; w < WORDS; w++)
        for (uint64_t left = words[w]; left; left &= left - 1) *out++ = (uint16_t)(w * 64 + (uint32_t)__builtin_ctzll(left));
}

/* The box gets what the words say, in the form that fits; false: nothing, it must go. */
static bool box_set(wr_bitmap *b, wr_bitmap_box *x, const uint64_t *words) {
    uint32_t n = 0;
    for (uint32_t w = 0; w < WORDS; w++) n += (uint32_t)__builtin_popcountll(words[w]);
    if (x->data) box_free(b, x);
    *x = (wr_bitmap_box){.key = x->key, .bits = n > ARRAY_MAX, .n = n, .cap = n > ARRAY_MAX ? 0 : n};
    if (!n) return false;
    x->data = wr_malloc(x->bits ? (size_t)BOX_BYTES : (size_t)n * 2);
    b->bytes += x->bits ? BOX_BYTES : (int64_t)n * 2;
    if (x->bits) memcpy(x->data, words, BOX_BYTES);
    else words_values(words, x->data);
    return true;
}

void wr_bitmap_add(wr_bitmap *b, uint32_t value) {
    uint16_t       key = (uint16_t)(value >> 16), v = (uint16_t)value;
    uint32_t       at = seek_box(b, key);
    wr_bitmap_box *x = at < b->n && b->box[at].key == key ? &b->box[at] : open_box(b, at, key);
    if (x->bits) {
        uint64_t *word = (uint64_t *)x->data + (v >> 6), bit = UINT64_C(1) << (v & 63);
        x->n += !(*word & bit);
        *word |= bit;
        return;
    }
    uint32_t place = seek_value(x, v);
    if (place < x->n && ((uint16_t *)x->data)[place] == v) return;
    if (x->n == ARRAY_MAX) {
        uint64_t words[WORDS];
        to_words(x, words);
        words[v >> 6] |= UINT64_C(1) << (v & 63);
        box_set(b, x, words);
        return;
    }
    if (x->n == x->cap) {
        uint32_t cap = WR_MIN(x->cap ? x->cap * 2 : 4u, (uint32_t)ARRAY_MAX);
        x->data = wr_realloc(x->data, (size_t)cap * 2);
        b->bytes += (int64_t)(cap - x->cap) * 2;
        x->cap = cap;
    }
    uint16_t *values = x->data;
    memmove(values + place + 1, values + place, (x->n - place) * sizeof *values);
    values[place] = v;
    x->n++;
}

/* ---- two sets ---- */

static void combine(uint64_t *x, wr_bitmap_op op, const uint64_t *y) {
    switch (op) {
    case WR_BITMAP_AND: for (uint32_t w = 0; w < WORDS; w++) x[w] &= y[w]; break;
    case WR_BITMAP_OR: for (uint32_t w = 0; w < WORDS; w++) x[w] |= y[w]; break;
    case WR_BITMAP_XOR: for (uint32_t w = 0; w < WORDS; w++) x[w] ^= y[w]; break;
    case WR_BITMAP_ANDNOT: for (uint32_t w = 0; w < WORDS; w++) x[w] &= ~y[w]; break;
    }
}

void wr_bitmap_apply(wr_bitmap *into, wr_bitmap_op op, const wr_bitmap *other) {
    bool     joins = op == WR_BITMAP_OR || op == WR_BITMAP_XOR;
    uint64_t x[WORDS], y[WORDS];
    for (uint32_t i = 0; joins && i < other->n; i++) { /* keys of the other one only */
        uint32_t at = seek_box(into, other->box[i].key);
        if (at < into->n && into->box[at].key == other->box[i].key) continue;
        wr_bitmap_box *mine = open_box(into, at, other->box[i].key);
        to_words(&other->box[i], y);
        box_set(into, mine, y);
        mine->key = other->box[i].key;
        mine->n |= 0x80000000u; /* seen: not to be combined with itself below */
    }
    uint32_t kept = 0;
    for (uint32_t i = 0, k = 0; i < into->n; i++) {
        wr_bitmap_box *mine = &into->box[i];
        while (k < other->n && other->box[k].key < mine->key) k++;
        const wr_bitmap_box *its = k < other->n && other->box[k].key == mine->key ? &other->box[k] : NULL;
        bool                 stays = true;
        if (mine->n & 0x80000000u) {
            mine->n &= 0x7fffffffu;
        } else if (its || op == WR_BITMAP_AND) {
            to_words(mine, x), to_words(its, y);
            combine(x, op, y);
            stays = box_set(into, mine, x);
        }
        if (stays) into->box[kept++] = *mine;
    }
    into->n = kept;
}

uint64_t wr_bitmap_count(const wr_bitmap *b) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->n; i++) n += b->box[i].n;
    return n;
}

static void box_values(const wr_bitmap_box *x, uint16_t *low) {
    if (x->bits) words_values(x->data, low);
    else memcpy(low, x->data, (size_t)x->n * 2);
}

void wr_bitmap_values(const wr_bitmap *b, uint32_t *out) {
    uint16_t low[65536];
    for (uint32_t i = 0; i < b->n; i++) {
        box_values(&b->box[i], low);
        for (uint32_t k = 0; k < b->box[i].n; k++) *out++ = (uint32_t)b->box[i].key << 16 | low[k];
    }
}

void wr_bitmap_text(const wr_bitmap *b, wr_sbuf *out) {
    uint16_t low[65536];
    bool     first = true;
    wr_sbuf_addc(out, '{');
    for (uint32_t i = 0; i < b->n; i++) {
        box_values(&b->box[i], low);
        for (uint32_t k = 0; k < b->box[i].n; k++, first = false) wr_sbuf_printf(out, "%s%u", first ? "" : ",", (uint32_t)b->box[i].key << 16 | low[k]);
    }
    wr_sbuf_addc(out, '}');
}

/* ---- bytes ---- */

static void put16(wr_sbuf *out, uint32_t v) { wr_sbuf_addc(out, (char)v), wr_sbuf_addc(out, (char)(v >> 8)); }
static void put32(wr_sbuf *out, uint32_t v) { put16(out, v & 0xffff), put16(out, v >> 16); }

static uint32_t count_runs(const uint64_t *words) { /* bits that have none before them */
    uint32_t n = 0;
    for (uint32_t w = 0; w < WORDS; w++) {
        uint64_t before = words[w] << 1 | (w ? words[w - 1] >> 63 : 0);
        n += (uint32_t)__builtin_popcountll(words[w] & ~before);
    }
    return n;
}

static uint32_t box_runs(const wr_bitmap_box *x) {
    if (x->bits) return count_runs(x->data);
    const uint16_t *v = x->data;
    uint32_t        n = 1;
    for (uint32_t i = 1; i < x->n; i++) n += v[i] != v[i - 1] + 1;
    return n;
}

static uint32_t plain_bytes(const wr_bitmap_box *x) { return x->bits ? (uint32_t)BOX_BYTES : x->n * 2; }
static uint32_t run_bytes(const wr_bitmap_box *x) { /* 0: not worth it */
    uint32_t bytes = 2 + 4 * box_runs(x);
    return bytes < plain_bytes(x) ? bytes : 0;
}

static void put_runs(const wr_bitmap_box *x, wr_sbuf *out) {
    uint16_t low[65536];
    if (x->bits) words_values(x->data, low);
    else memcpy(low, x->data, (size_t)x->n * 2);
    put16(out, box_runs(x));
    for (uint32_t i = 0, end; i < x->n; i = end) {
        for (end = i + 1; end < x->n && low[end] == low[end - 1] + 1; end++) continue;
        put16(out, low[i]), put16(out, end - i - 1);
    }
}

void wr_bitmap_put(const wr_bitmap *b, wr_sbuf *out) {
    uint8_t  flags[8192] = {0};
    bool     runs = false;
    for (uint32_t i = 0; i < b->n; i++)
        if (run_bytes(&b->box[i])) flags[i / 8] |= (uint8_t)(1 << (i % 8)), runs = true;
    uint32_t at = (runs ? 4 + (b->n + 7) / 8 : 8) + b->n * 4;
    if (runs) put32(out, COOKIE_RUNS | (b->n - 1) << 16), wr_sbuf_add(out, (const char *)flags, (b->n + 7) / 8);
    else put32(out, COOKIE), put32(out, b->n);
    for (uint32_t i = 0; i < b->n; i++) put16(out, b->box[i].key), put16(out, b->box[i].n - 1);
    bool offsets = !runs || b->n >= OFFSETS_FROM;
    if (offsets) at += b->n * 4;
    for (uint32_t i = 0; i < b->n && offsets; i++) {
        bool run = flags[i / 8] >> (i % 8) & 1;
        put32(out, at);
        at += run ? run_bytes(&b->box[i]) : plain_bytes(&b->box[i]);
    }
    for (uint32_t i = 0; i < b->n; i++) {
        if (flags[i / 8] >> (i % 8) & 1) put_runs(&b->box[i], out);
        else wr_sbuf_add(out, b->box[i].data, plain_bytes(&b->box[i])); /* little-endian, as the format */
    }
}

typedef struct bytes { const uint8_t *at, *end; bool bad; } bytes;
static const uint8_t *take(bytes *in, size_t n) {
    static const uint8_t none[4] = {0};
    if ((size_t)(in->end - in->at) < n) {
        in->bad = true;
        return none;
    }
    in->at += n;
    return in->at - n;
}
static uint32_t get16(bytes *in) {
    const uint8_t *p = take(in, 2);
    return p[0] | (uint32_t)p[1] << 8;
}
static uint32_t get32(bytes *in) {
    uint32_t low = get16(in);
    return low | get16(in) << 16;
}

static bool get_runs(bytes *in, uint64_t *words) {
    uint32_t n = get16(in), next = 0;
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        uint32_t start = get16(in), more = get16(in);
        if (start < next || start + more > 65535) return false;
        for (uint32_t v = start; v <= start + more; v++) words[v >> 6] |= UINT64_C(1) << (v & 63);
        next = start + more + 1;
    }
    return n > 0 && !in->bad;
}

static bool get_values(bytes *in, uint32_t n, uint64_t *words) {
    int32_t last = -1;
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        int32_t v = (int32_t)get16(in);
        if (v <= last) return false;
        words[v >> 6] |= UINT64_C(1) << (v & 63);
        last = v;
    }
    return !in->bad;
}

static bool get_box(bytes *in, wr_bitmap *b, uint16_t key, uint32_t n, bool runs) {
    uint64_t words[WORDS] = {0};
    if (b->n && b->box[b->n - 1].key >= key) return false;
    if (runs) {
        if (!get_runs(in, words)) return false;
    } else if (n <= ARRAY_MAX) {
        if (!get_values(in, n, words)) return false;
    } else {
        const uint8_t *from = take(in, BOX_BYTES);
        if (in->bad) return false;
        memcpy(words, from, BOX_BYTES);
    }
    wr_bitmap_box *x = open_box(b, b->n, key);
    return box_set(b, x, words) && x->n == n;
}

static bool get_all(wr_bitmap *b, bytes *in) {
    uint32_t       cookie = get32(in), n;
    bool           has_runs = (cookie & 0xffff) == COOKIE_RUNS;
    const uint8_t *runs = NULL, *heads;
    if (!has_runs && cookie != COOKIE) return false;
    n = has_runs ? (cookie >> 16) + 1 : get32(in);
    if (in->bad || n > 65536) return false;
    if (has_runs) runs = take(in, (n + 7) / 8);
    heads = take(in, (size_t)n * 4);
    if (!has_runs || n >= OFFSETS_FROM) take(in, (size_t)n * 4);
    for (uint32_t i = 0; i < n && !in->bad; i++) {
        const uint8_t *h = heads + (size_t)i * 4;
        if (!get_box(in, b, (uint16_t)(h[0] | h[1] << 8), (h[2] | (uint32_t)h[3] << 8) + 1, has_runs && (runs[i / 8] >> (i % 8) & 1))) return false;
    }
    return !in->bad;
}

bool wr_bitmap_get(wr_bitmap *b, wr_str text) {
    bytes in = {(const uint8_t *)text.ptr, (const uint8_t *)text.ptr + text.len, false};
    if (get_all(b, &in)) return true;
    wr_bitmap_clear(b);
    return false;
}
