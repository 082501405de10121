/* connect/kafka/topics.c: which topics a source reads; see lib.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "connect/kafka/lib.h"
#include <pcre2.h>

bool kafka_topics_want(const kafka_topics *topics, const char *topic) {
    if (topics->regex) {
        pcre2_match_data *m = pcre2_match_data_create(1, NULL);
        int               rc = pcre2_match(topics->regex, (PCRE2_SPTR)topic, strlen(topic), 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, m, NULL);
        pcre2_match_data_free(m);
        return rc >= 0;
    }
    wr_str list = topics->list;
    for (wr_str name; wr_str_next(&list, ';', &name);)
        if (wr_str_eq(name, wr_str_of(topic))) return true;
    return false;
}

wr_status kafka_topics_read(kafka_topics *topics, const wr_table_info *t, wr_connect_ctx *ctx) {
    topics->list = option_text(t, kafka_specs, "topic");
    topics->pattern = option_text(t, kafka_specs, "topic-pattern");
    if (!topics->list.len == !topics->pattern.len) return option_error(ctx, t, topics->list.len ? "topic-pattern" : "connector", "WR122", "one of 'topic' and 'topic-pattern' is needed");
    if (!topics->pattern.len) return WR_OK;
    int        code;
    PCRE2_SIZE where;
    topics->regex = pcre2_compile((PCRE2_SPTR)topics->pattern.ptr, topics->pattern.len, PCRE2_UTF, &code, &where, NULL);
    if (topics->regex) return WR_OK;
    PCRE2_UCHAR text[200];
    pcre2_get_error_message(code, text, sizeof text);
    return option_error(ctx, t, "topic-pattern", "WR121", "not a pattern: %s at character %zu", (const char *)text, (size_t)where + 1);
}

void kafka_topics_free(kafka_topics *topics) {
    pcre2_code_free(topics->regex);
    topics->regex = NULL;
}
