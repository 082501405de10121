/* api/letters_json.c: a dead letter as JSON: what `weir replay --list` writes, --from reads, and the dashboard shows. */
#include "api/letters.h"
#include "type/datetime.h"
#include <inttypes.h>

static void member(wr_sbuf *out, const char *key, wr_str text) {
    if (!text.ptr) return;
    wr_sbuf_printf(out, "%s\"%s\":", out->at[out->len - 1] == '{' ? "" : ",", key);
    wr_sbuf_add_json(out, text);
}

static void bytes_member(wr_sbuf *out, const char *key, const char *key64, wr_str bytes) {
    wr_sbuf text = {0};
    if (!bytes.ptr || wr_utf8_valid(bytes)) {
        member(out, key, bytes);
        return;
    }
    wr_base64(bytes.ptr, bytes.len, &text);
    member(out, key64, wr_sbuf_str(&text));
    wr_sbuf_free(&text);
}

void wr_letter_json(const wr_letter_row *l, bool outcome, wr_sbuf *out) {
    wr_sbuf_addc(out, '{');
    member(out, "id", l->id);
    member(out, "origin", l->of_join ? WR_STR("join") : l->of_sink ? WR_STR("sink") : WR_STR("source"));
    member(out, "table_name", l->table), member(out, "partition_name", l->partition);
    if (l->offset >= 0) wr_sbuf_printf(out, ",\"record_offset\":%" PRId64, l->offset);
    if (l->line >= 0) wr_sbuf_printf(out, ",\"record_line\":%" PRId64, l->line);
    member(out, "code", l->code), member(out, "reason", l->reason);
    bytes_member(out, "raw", "raw_base64", l->raw);
    bytes_member(out, "record_key", "record_key_base64", l->key);
    member(out, "context", l->context), member(out, "job_version", l->job_version), member(out, "state_id", l->state);
    if (l->at_us != WR_TIME_MIN) {
        char   text[48];
        size_t n = wr_text_timestamp(l->at_us - wr_floor_mod(l->at_us, 1000), wr_type_prec(WR_T_TIMESTAMP_LTZ, 3), ' ', text);
        if (text[n - 1] != 'Z') text[n++] = 'Z';
        member(out, "refused_at", (wr_str){text, n});
    }
    if (outcome) member(out, "outcome", wr_str_of(wr_again_outcome_name(l->outcome)));
    if (outcome && l->told.len) member(out, "why", l->told);
    wr_sbuf_addc(out, '}');
}
