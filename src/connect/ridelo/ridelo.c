/* connect/ridelo/ridelo.c: see ridelo.h; configuration, rows from lines, JSON, files.
 *
 * Invariant  no string that is written needs JSON escaping.
 * Thread     see ridelo.h. Memory: growable arrays of the wr_ridelo, released in wr_ridelo_free.                           */
#include "connect/ridelo/ridelo_int.h"

enum { PIECE_BYTES = 256 * 1024, ROW_BYTES_MAX = 512 };

static const struct {
    const char *name;
    int64_t     delay_ms;
} streams[WR_RIDELO_STREAMS] = {
    [WR_RIDELO_ORDERS] = {"orders", 10000},           [WR_RIDELO_CANCELLATIONS] = {"cancellations", 60000},
    [WR_RIDELO_PAYMENTS] = {"payments", 10000},       [WR_RIDELO_CHARGEBACKS] = {"chargebacks", 300000},
    [WR_RIDELO_PINGS] = {"courier_pings", 30000},     [WR_RIDELO_CHANGES] = {"restaurant_changes", 60000},
};
static const char *const reasons[4] = {"user", "restaurant", "courier", "payment"};
static const char *const cuisines[8] = {"pizza", "sushi", "thai", "indian", "burger", "vegan", "greek", "korean"};
static const char *const cities[5] = {"Mitte", "Kreuzberg", "Neukoelln", "Pankow", "Wedding"};

const char *wr_ridelo_stream_name(wr_ridelo_stream stream) { return streams[stream].name; }
int64_t     wr_ridelo_watermark_delay_ms(wr_ridelo_stream stream) { return streams[stream].delay_ms; }

void wr_ridelo_config_default(wr_ridelo_config *config) {
    *config = (wr_ridelo_config){
        .seed = 1,
        .start_ms = 1780272000000, /* 2026-06-01 00:00:00 */
        .duration_ms = 24 * 3600000ll,
        .orders_per_day = 400000,
        .n_users = 50000,
        .n_couriers = 3000,
        .n_restaurants = 2000,
        .hot_ppm = 300000,
        .out_of_order_ppm = 50000,
        .late_ppm = 5000,
        .duplicate_ppm = 5000,
        .malformed_ppm = 500,
        .future_ppm = 200,
        .chargeback_min_ms = 10 * 60000,
        .chargeback_max_ms = 6 * 3600000ll,
        .n_segments = 1,
    };
}

static wr_status check_config(const wr_ridelo_config *c, wr_err *err) {
    const int64_t day = 86400000;
    const struct {
        const char *name;
        int64_t     value, low, high;
    } limits[] = {
        {"start_ms", c->start_ms, 0, 4102444800000}, /* 1970 to 2100 */
        {"duration_ms", c->duration_ms, 60000, 3660 * day},
        {"orders_per_day", c->orders_per_day, 1, 100000000},
        {"n_users", c->n_users, 1, 1000000000},
        {"n_couriers", c->n_couriers, 1, 1000000000},
        {"n_restaurants", c->n_restaurants, 20, 10000000},
        {"hot_ppm", c->hot_ppm, 0, 1000000},
        {"out_of_order_ppm", c->out_of_order_ppm, 0, 1000000},
        {"late_ppm", c->late_ppm, 0, 1000000},
        {"duplicate_ppm", c->duplicate_ppm, 0, 1000000},
        {"malformed_ppm", c->malformed_ppm, 0, 1000000},
        {"future_ppm", c->future_ppm, 0, 1000000},
        {"chargeback_min_ms", c->chargeback_min_ms, 0, 3660 * day},
        {"chargeback_max_ms", c->chargeback_max_ms, c->chargeback_min_ms, 3660 * day},
        {"n_segments", c->n_segments, 1, 99999},
        {"orders in the whole span", (int64_t)((double)c->orders_per_day * ((double)c->duration_ms / (double)day)), 0, 100000000},
    };
    for (size_t i = 0; i < WR_COUNT_OF(limits); i++)
        if (limits[i].value < limits[i].low || limits[i].value > limits[i].high) {
            wr_fail(err, WR_USER, "22023", "ridelo: %s = %lld is out of range", limits[i].name, (long long)limits[i].value);
            wr_err_hint(err, "give a value from %lld to %lld", (long long)limits[i].low, (long long)limits[i].high);
            return WR_USER;
        }
    return WR_OK;
}

wr_status wr_ridelo_new(const wr_ridelo_config *config, wr_ridelo **out, wr_err *err) {
    *out = NULL;
    WR_TRY(check_config(config, err));
    wr_ridelo *gen = wr_calloc(1, sizeof *gen);
    gen->config = *config;
    ridelo_plan(gen);
    *out = gen;
    return WR_OK;
}

void wr_ridelo_free(wr_ridelo *gen) {
    if (!gen) return;
    wr_arr_free(&gen->orders);
    wr_arr_free(&gen->payments);
    wr_arr_free(&gen->cancellations);
    wr_arr_free(&gen->chargebacks);
    wr_arr_free(&gen->pings);
    wr_arr_free(&gen->changes);
    for (int s = 0; s < WR_RIDELO_STREAMS; s++) wr_arr_free(&gen->lines[s]);
    wr_free(gen);
}

wr_ridelo_counts wr_ridelo_counts_of(const wr_ridelo *gen, wr_ridelo_stream stream) { return gen->counts[stream]; }

void wr_ridelo_event_at(const wr_ridelo *gen, wr_ridelo_stream stream, uint64_t at, wr_ridelo_event *event) {
    wr_assert(at < gen->lines[stream].n);
    const line_rec *line = &gen->lines[stream].at[at];
    int64_t         id = line->id;
    *event = (wr_ridelo_event){
        .stream = stream, .damage = (wr_ridelo_damage)line->damage, .ts_ms = line->ts, .arrival_ms = line->arrival};
    switch (stream) {
    case WR_RIDELO_ORDERS: {
        const order_rec *o = &gen->orders.at[line->rec];
        event->order = (wr_ridelo_order){id, o->user, o->restaurant, o->courier, o->cents};
        break;
    }
    case WR_RIDELO_CANCELLATIONS: {
        const cancellation_rec *r = &gen->cancellations.at[line->rec];
        event->cancellation =
            (wr_ridelo_cancellation){id, (int64_t)r->order + 1, gen->orders.at[r->order].user, wr_str_of(reasons[r->reason])};
        break;
    }
    case WR_RIDELO_PAYMENTS: {
        const payment_rec *r = &gen->payments.at[line->rec];
        const order_rec   *o = &gen->orders.at[r->order];
        event->payment = (wr_ridelo_payment){id, (int64_t)r->order + 1, o->user, o->cents,
                                             r->captured ? WR_STR("captured") : WR_STR("failed")};
        break;
    }
    case WR_RIDELO_CHARGEBACKS: {
        uint32_t         payment = gen->chargebacks.at[line->rec].payment;
        const order_rec *o = &gen->orders.at[gen->payments.at[payment].order];
        event->chargeback = (wr_ridelo_chargeback){id, (int64_t)payment + 1, o->user, o->cents};
        break;
    }
    case WR_RIDELO_PINGS: {
        const ping_rec *r = &gen->pings.at[line->rec];
        event->ping = (wr_ridelo_ping){id, gen->orders.at[r->order].courier, (int64_t)r->order + 1, r->lat, r->lon};
        break;
    }
    case WR_RIDELO_CHANGES: {
        const change_rec *r = &gen->changes.at[line->rec];
        event->change = (wr_ridelo_change){id, r->restaurant, r->commission_bp, wr_str_of(cuisines[r->restaurant % 8]),
                                           wr_str_of(cities[r->restaurant % 5])};
        break;
    }
    }
}

/* ---- JSON ---- */

#define put_long(p, key, value) put_u64(put_lit((p), ",\"" key "\":"), (uint64_t)(value))
#define put_text(p, key, value) put_lit(put_str(put_lit((p), ",\"" key "\":\""), (value)), "\"")
#define put_cents(p, key, value) put_fixed(put_lit((p), ",\"" key "\":"), (value), 2)

static char *put_id(char *p, const char *key, int64_t id, wr_ridelo_damage damage) {
    *p++ = '"';
    p = put_lit(put_str(p, wr_str_of(key)), "\":");
    if (damage != WR_RIDELO_BAD_ID) return put_u64(p, (uint64_t)id);
    return put_lit(put_u64(put_lit(p, "\"x"), (uint64_t)id), "\"");
}

static char *put_fields(char *p, const wr_ridelo_event *e) {
    switch (e->stream) {
    case WR_RIDELO_ORDERS:
        p = put_id(p, "order_id", e->order.order_id, e->damage);
        p = put_long(p, "user_id", e->order.user_id);
        p = put_long(p, "restaurant_id", e->order.restaurant_id);
        p = put_long(p, "courier_id", e->order.courier_id);
        return put_cents(p, "amount", e->order.amount_cents);
    case WR_RIDELO_CANCELLATIONS:
        p = put_id(p, "cancellation_id", e->cancellation.cancellation_id, e->damage);
        p = put_long(p, "order_id", e->cancellation.order_id);
        p = put_long(p, "user_id", e->cancellation.user_id);
        return put_text(p, "reason", e->cancellation.reason);
    case WR_RIDELO_PAYMENTS:
        p = put_id(p, "payment_id", e->payment.payment_id, e->damage);
        p = put_long(p, "order_id", e->payment.order_id);
        p = put_long(p, "user_id", e->payment.user_id);
        p = put_cents(p, "amount", e->payment.amount_cents);
        return put_text(p, "status", e->payment.status);
    case WR_RIDELO_CHARGEBACKS:
        p = put_id(p, "chargeback_id", e->chargeback.chargeback_id, e->damage);
        p = put_long(p, "payment_id", e->chargeback.payment_id);
        p = put_long(p, "user_id", e->chargeback.user_id);
        return put_cents(p, "amount", e->chargeback.amount_cents);
    case WR_RIDELO_PINGS:
        p = put_id(p, "ping_id", e->ping.ping_id, e->damage);
        p = put_long(p, "courier_id", e->ping.courier_id);
        p = put_long(p, "order_id", e->ping.order_id);
        p = put_fixed(put_lit(p, ",\"lat\":"), e->ping.lat_udeg, 6);
        return put_fixed(put_lit(p, ",\"lon\":"), e->ping.lon_udeg, 6);
    case WR_RIDELO_CHANGES:
        p = put_id(p, "change_id", e->change.change_id, e->damage);
        p = put_long(p, "restaurant_id", e->change.restaurant_id);
        p = put_lit(put_u64(put_lit(p, ",\"name\":\"Restaurant "), (uint64_t)e->change.restaurant_id), "\"");
        p = put_text(p, "cuisine", e->change.cuisine);
        p = put_text(p, "city", e->change.city);
        return put_cents(p, "commission", e->change.commission_bp);
    }
    return p;
}

void wr_ridelo_json(const wr_ridelo_event *event, wr_sbuf *buf) {
    char *start = gen_room(buf, ROW_BYTES_MAX), *p = start;
    if (event->damage == WR_RIDELO_GARBAGE) {
        gen_done(buf, put_lit(p, "<!doctype html><title>502</title>\n"));
        return;
    }
    *p++ = '{';
    p = put_lit(put_fields(p, event), ",\"ts\":");
    p = event->damage == WR_RIDELO_BAD_TIME ? put_lit(p, "\"2026-13-45 99:00:00.000\"") : put_timestamp(p, event->ts_ms);
    *p++ = '}';
    if (event->damage == WR_RIDELO_TORN) p = start + (p - start) / 3 * 2;
    *p++ = '\n';
    gen_done(buf, p);
}

/* ---- files ---- */

int wr_ridelo_n_files(const wr_ridelo *gen) { return (int)gen->config.n_segments * WR_RIDELO_STREAMS + 1; }

void wr_ridelo_file(const wr_ridelo *gen, int file, wr_sbuf *name) {
    int k = (int)gen->config.n_segments;
    wr_assert(file >= 0 && file < wr_ridelo_n_files(gen));
    wr_sbuf_clear(name);
    if (file == k * WR_RIDELO_STREAMS) {
        wr_sbuf_addz(name, "truth.json");
        return;
    }
    const char *stream = streams[file / k].name;
    if (k == 1) wr_sbuf_printf(name, "%s.jsonl", stream);
    else wr_sbuf_printf(name, "%s/%s-%05d.jsonl", stream, stream, file % k);
}

static void truth_json(const wr_ridelo *gen, wr_sbuf *buf) {
    const wr_ridelo_config *c = &gen->config;
    char  time[32];
    char *end = put_timestamp(time, c->start_ms);
    wr_sbuf_printf(buf, "{\"generator\":\"ridelo\",\"seed\":%llu,\"start\":%.*s,\"duration_ms\":%lld,\"orders_per_day\":%u,\"segments\":%u,\n",
                   (unsigned long long)c->seed, (int)(end - time), time, (long long)c->duration_ms, c->orders_per_day, c->n_segments);
    wr_sbuf_printf(buf, "\"users\":%u,\"couriers\":%u,\"restaurants\":%u,\"hot_ppm\":%u,\"chargeback_min_ms\":%lld,\"chargeback_max_ms\":%lld,\n",
                   c->n_users, c->n_couriers, c->n_restaurants, c->hot_ppm, (long long)c->chargeback_min_ms,
                   (long long)c->chargeback_max_ms);
    wr_sbuf_printf(buf, "\"out_of_order_ppm\":%u,\"late_ppm\":%u,\"duplicate_ppm\":%u,\"malformed_ppm\":%u,\"future_ppm\":%u,\"future_guard_ms\":%lld,\n",
                   c->out_of_order_ppm, c->late_ppm, c->duplicate_ppm, c->malformed_ppm, c->future_ppm,
                   (long long)WR_RIDELO_FUTURE_GUARD_MS);
    wr_sbuf_addz(buf, "\"streams\":{\n");
    for (int s = 0; s < WR_RIDELO_STREAMS; s++) {
        const wr_ridelo_counts *n = &gen->counts[s];
        wr_sbuf_printf(buf, "\"%s\":{\"watermark_delay_ms\":%lld,\"lines\":%llu,\"accepted\":%llu,\"malformed\":%llu,\"future\":%llu,"
                            "\"out_of_order\":%llu,\"late\":%llu,\"duplicates\":%llu}%s\n",
                       streams[s].name, (long long)streams[s].delay_ms, (unsigned long long)n->lines, (unsigned long long)n->accepted,
                       (unsigned long long)n->malformed, (unsigned long long)n->future, (unsigned long long)n->out_of_order,
                       (unsigned long long)n->late, (unsigned long long)n->duplicates, s + 1 < WR_RIDELO_STREAMS ? "," : "");
    }
    wr_sbuf_addz(buf, "}}\n");
}

wr_status wr_ridelo_write(const wr_ridelo *gen, wr_ridelo_emit emit, void *arg, wr_err *err) {
    wr_sbuf         buf = {0};
    wr_ridelo_event event;
    wr_status       status = WR_OK;
    uint64_t        k = gen->config.n_segments;
    for (int file = 0; file + 1 < wr_ridelo_n_files(gen); file++) {
        wr_ridelo_stream stream = (wr_ridelo_stream)((uint64_t)file / k);
        uint64_t n = gen->lines[stream].n, part = (uint64_t)file % k, to = n * (part + 1) / k;
        for (uint64_t i = n * part / k; i < to; i++) {
            wr_ridelo_event_at(gen, stream, i, &event);
            wr_ridelo_json(&event, &buf);
            if (buf.len < PIECE_BYTES) continue;
            if ((status = emit(arg, file, buf.at, buf.len, err)) != WR_OK) goto out;
            wr_sbuf_clear(&buf);
        }
        if ((status = emit(arg, file, buf.at ? buf.at : "", buf.len, err)) != WR_OK) goto out; /* at least once, so that it exists */
        wr_sbuf_clear(&buf);
    }
    truth_json(gen, &buf);
    status = emit(arg, wr_ridelo_n_files(gen) - 1, buf.at, buf.len, err);
out:
    wr_sbuf_free(&buf);
    return status;
}
