/* state/inspect.c: see inspect.h. */
#include "state/inspect.h"

enum { INLINE = 1, MARKER = 2, NAME_MAX_LEN = 31, KEY_TYPES_MAX = 64 };

typedef struct head { char name[NAME_MAX_LEN + 1]; uint32_t version, n_types; } head;

static bool read_head(wr_reader *r, head *h) {
    wr_str name = wr_get_bytes(r);
    h->version = wr_get_u32(r), h->n_types = wr_get_u32(r);
    if (r->bad || !name.len || name.len > NAME_MAX_LEN || h->n_types > KEY_TYPES_MAX || (h->version != INLINE && h->version != MARKER)) return false;
    for (size_t i = 0; i < name.len; i++)
        if ((name.ptr[i] < 'a' || name.ptr[i] > 'z') && name.ptr[i] != '_' && name.ptr[i] != '-') return false;
    memcpy(h->name, name.ptr, name.len);
    h->name[name.len] = 0;
    return true;
}

typedef struct walk {
    wr_tier *tier;
    bool   (*visit)(void *arg, const wr_state_entry *entry);
    void    *arg;
    uint64_t unread;
    bool     stop;
} walk;

/* Entries of an inline image; without w only looks whether all fit. */
static bool inline_entries(wr_reader *r, const head *h, walk *w) {
    uint32_t n = wr_get_u32(r);
    if (r->bad || n > (size_t)(r->end - r->at) / 16) return false;
    for (uint32_t i = 0; i < n && !r->bad; i++) {
        wr_state_entry e = {.map = h->name, .n_key_types = h->n_types, .hash = wr_get_u64(r)};
        e.key = wr_get_bytes(r), e.value = wr_get_bytes(r);
        if (w && !r->bad && !w->stop) w->stop = !w->visit(w->arg, &e);
    }
    return !r->bad;
}

static void put_be16(wr_sbuf *out, uint32_t v) { wr_sbuf_addc(out, (char)(v >> 8)), wr_sbuf_addc(out, (char)v); }

static wr_status tier_entries(const head *h, wr_str table, wr_str prefix, uint32_t group_from, uint32_t group_to, walk *w, wr_err *err) {
    char     name[512];
    uint16_t number;
    if (table.len >= sizeof name) return WR_OK;
    memcpy(name, table.ptr, table.len);
    name[table.len] = 0;
    if (!wr_tier_find_table(w->tier, name, &number)) return WR_OK; /* nothing was written yet */
    wr_sbuf from = {0}, to = {0};
    put_be16(&from, number), wr_sbuf_add_str(&from, prefix);
    wr_sbuf_add_str(&to, wr_sbuf_str(&from));
    put_be16(&from, group_from), put_be16(&to, group_to);
    wr_tier_scan *scan = wr_tier_scan_new(w->tier, wr_sbuf_str(&from), wr_sbuf_str(&to));
    size_t        skip = 2 + prefix.len + 2;
    wr_str        key, value;
    while (!w->stop && wr_tier_scan_next(scan, &key, &value)) {
        if (key.len < skip + 8) continue;
        wr_state_entry e = {.map = h->name, .prefix = prefix, .value = value, .n_key_types = h->n_types, .in_tier = true};
        for (int i = 0; i < 8; i++) e.hash = e.hash << 8 | (uint8_t)key.ptr[skip + (size_t)i];
        e.key = (wr_str){key.ptr + skip + 8, key.len - skip - 8};
        w->stop = !w->visit(w->arg, &e);
    }
    wr_sbuf_free(&from), wr_sbuf_free(&to);
    return wr_tier_scan_free(scan, err);
}

/* A marker, and with w what it stands for. */
static bool marker(wr_reader *r, const head *h, walk *w, wr_status *status, wr_err *err) {
    wr_str   table = wr_get_bytes(r), prefix = wr_get_bytes(r);
    uint32_t n_groups = wr_get_u32(r), from = wr_get_u32(r), to = wr_get_u32(r);
    if (r->bad || from > to || to > n_groups || to - from > (size_t)(r->end - r->at) / 8) return false;
    uint64_t n = 0;
    for (uint32_t g = from; g < to; g++) n += wr_get_u64(r);
    if (!w || w->stop) return !r->bad;
    if (!w->tier) w->unread += n;
    else *status = tier_entries(h, table, prefix, from, to, w, err);
    return !r->bad;
}

wr_status wr_state_walk(wr_str image, wr_tier *tier, bool (*visit)(void *arg, const wr_state_entry *entry), void *arg, uint64_t *unread, wr_err *err) {
    walk           w = {.tier = tier, .visit = visit, .arg = arg};
    const uint8_t *end = (const uint8_t *)image.ptr + image.len;
    wr_status      status = WR_OK;
    for (const uint8_t *at = (const uint8_t *)image.ptr; at < end && !w.stop && status == WR_OK;) {
        wr_reader r = {.at = at, .end = end}, again;
        head      h;
        bool      map = read_head(&r, &h);
        again = r;
        map = map && (h.version == INLINE ? inline_entries(&again, &h, NULL) : marker(&again, &h, NULL, &status, err));
        if (!map) {
            at++;
            continue;
        }
        if (h.version == INLINE) (void)inline_entries(&r, &h, &w);
        else (void)marker(&r, &h, &w, &status, err);
        at = again.at;
    }
    if (unread) *unread += w.unread;
    return status;
}
