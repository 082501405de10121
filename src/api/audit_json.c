/* api/audit_json.c: an audit's report as one JSON object, for programs. */
#include "api/audit.h"
#include <inttypes.h>

static void put_str(wr_sbuf *out, const char *name, wr_str value) {
    wr_sbuf_printf(out, ",\"%s\":", name);
    if (value.ptr) wr_sbuf_add_json(out, value);
    else wr_sbuf_addz(out, "null");
}
static void put_raw(wr_sbuf *out, const char *name, wr_str value) {
    wr_sbuf_printf(out, ",\"%s\":", name);
    if (value.ptr) wr_sbuf_add_str(out, value);
    else wr_sbuf_addz(out, "null");
}
static void put_time(wr_sbuf *out, const char *name, int64_t us) {
    char text[40];
    wr_sbuf_printf(out, ",\"%s\":", name);
    if (us == WR_TIME_MIN || us == WR_TIME_MAX) wr_sbuf_addz(out, "null");
    else wr_sbuf_addc(out, '"'), wr_sbuf_add(out, text, wr_text_timestamp(us, wr_type_prec(WR_T_TIMESTAMP, 3), ' ', text)), wr_sbuf_addc(out, '"');
}

/* kind: 'l' late, 'r' refused, 'u' without a partner. */
static void put_rows(wr_sbuf *out, const char *name, const wr_audit_rows *rows, char kind) {
    wr_sbuf_printf(out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < rows->n; i++) {
        const wr_audit_row *r = &rows->at[i];
        wr_sbuf_addz(out, i ? ",{\"table\":" : "{\"table\":");
        wr_sbuf_add_json(out, r->table);
        if (kind != 'u') {
            put_str(out, "partition", r->partition);
            wr_sbuf_printf(out, ",\"offset\":%" PRId64 ",\"line\":%" PRId64, r->offset, r->line);
        }
        put_time(out, kind == 'r' ? "behind" : "event_time", r->ts_us);
        if (kind == 'l') wr_sbuf_printf(out, ",\"late_by_us\":%" PRId64, r->behind_us);
        if (kind == 'r') wr_sbuf_printf(out, ",\"dead_letter\":%" PRIu64, r->number);
        if (kind != 'l') put_str(out, "code", r->code), put_str(out, "because", r->reason);
        if (kind == 'r') put_str(out, "raw", r->row);
        else put_raw(out, "row", r->row);
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_addc(out, ']');
}

static void put_diff(wr_sbuf *out, const wr_audit_diff *d) {
    wr_sbuf_printf(out, "{\"kind\":\"%s\",\"reason\":\"%s\",\"count\":%" PRIu64, wr_audit_kind_name(d->kind), wr_audit_reason_name(d->reason), d->count);
    put_raw(out, "key", d->key), put_raw(out, "expected", d->expected), put_raw(out, "published", d->published);
    put_str(out, "because", d->because);
    wr_sbuf_printf(out, ",\"late_rows\":%" PRIu64, d->n_late);
    put_rows(out, "late", &d->late, 'l');
    wr_sbuf_addc(out, '}');
}

static void put_output(wr_sbuf *out, const wr_audit_output *o) {
    wr_sbuf_addz(out, "{\"name\":");
    wr_sbuf_add_json(out, o->name);
    put_str(out, "connector", o->connector), put_str(out, "time_column", o->time_column), put_str(out, "unreadable", o->unreadable);
    wr_sbuf_printf(out, ",\"expected\":%" PRIu64 ",\"published\":%" PRIu64 ",\"equal\":%" PRIu64, o->expected, o->published, o->equal);
    for (int k = 0; k < WR_AUDIT_KINDS; k++) wr_sbuf_printf(out, ",\"%s\":%" PRIu64, wr_audit_kind_name(k), o->kinds[k]);
    wr_sbuf_addz(out, ",\"reasons\":{");
    for (int k = 0, n = 0; k < WR_AUDIT_REASONS; k++)
        if (o->reasons[k]) wr_sbuf_printf(out, "%s\"%s\":%" PRIu64, n++ ? "," : "", wr_audit_reason_name(k), o->reasons[k]);
    wr_sbuf_addz(out, "},\"differences\":[");
    for (uint32_t i = 0; i < o->diffs.n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        put_diff(out, &o->diffs.at[i]);
    }
    wr_sbuf_addz(out, "]}");
}

void wr_audit_json(const wr_audit_report *r, wr_sbuf *out) {
    wr_sbuf_printf(out, "{\"equal\":%s,\"unreadable\":%u", r->equal ? "true" : "false", r->n_unreadable);
    put_str(out, "from", r->from), put_str(out, "to", r->to);
    wr_sbuf_addz(out, ",\"outputs\":[");
    for (uint32_t i = 0; i < r->outputs.n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        put_output(out, &r->outputs.at[i]);
    }
    wr_sbuf_addz(out, "],\"read\":[");
    for (uint32_t i = 0; i < r->reads.n; i++) {
        wr_sbuf_addz(out, i ? ",{\"table\":" : "{\"table\":");
        wr_sbuf_add_json(out, r->reads.at[i].table);
        put_time(out, "from", r->reads.at[i].from_us), put_time(out, "to", r->reads.at[i].to_us), put_str(out, "because", r->reads.at[i].why);
        wr_sbuf_addc(out, '}');
    }
    wr_sbuf_printf(out, "],\"rows_read\":%" PRIu64 ",\"runs\":%u,\"took_us\":%" PRId64 ",\"late\":%" PRIu64 ",\"dead_letters\":%" PRIu64 ",\"unmatched\":%" PRIu64 ",\"dropped\":{", r->rows_read, r->runs, r->took_us,
                   r->n_late, r->n_refused, r->n_unmatched);
    for (int k = 0, n = 0; k < WR_REASON_COUNT; k++)
        if (r->dropped[k] && k != WR_REASON_BEFORE_START) wr_sbuf_printf(out, "%s\"%s\":%" PRIu64, n++ ? "," : "", wr_reason_name(k), r->dropped[k]);
    wr_sbuf_addc(out, '}');
    put_rows(out, "late_rows", &r->late, 'l'), put_rows(out, "dead_letter_rows", &r->refused, 'r'), put_rows(out, "unmatched_rows", &r->unmatched, 'u');
    wr_sbuf_addz(out, ",\"notes\":[");
    for (uint32_t i = 0; i < r->notes.n; i++) {
        if (i) wr_sbuf_addc(out, ',');
        wr_sbuf_add_json(out, r->notes.at[i]);
    }
    wr_sbuf_addz(out, "]}");
}
