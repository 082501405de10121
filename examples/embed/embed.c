/* embed.c: a program with a streaming query inside. Rows go in as Arrow C data, results come out as Arrow C data.
 *
 *     cc embed.c $(pkg-config --cflags --libs weir) -o embed && ./embed
 *
 * It sends 100,000 sensor readings in ten parts, takes one-minute averages through a callback, and checks them against its own sums. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir.h>

enum { ROWS = 100000, PARTS = 10, ROWS_A_PART = ROWS / PARTS, SENSORS = 4, MINUTES = 10 };

/* Event time in microseconds: the rows are spread evenly over ten minutes. */
static int64_t time_of(int row) { return INT64_C(1767225600000000) + (int64_t)row * MINUTES * 60 * 1000000 / ROWS; }
static double  value_of(int row) { return row % 1000 / 8.0; }

/* ---- one part as an Arrow struct array {sensor: int64, ts: timestamp[us], value: float64}; nothing is allocated, so release is a marker ---- */
static void released_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void released_array(struct ArrowArray *array) { array->release = NULL; }

static int push_part(weir *w, int part) {
    static int64_t sensor[ROWS_A_PART], ts[ROWS_A_PART];
    static double  value[ROWS_A_PART];
    for (int i = 0; i < ROWS_A_PART; i++) {
        int row = part * ROWS_A_PART + i;
        sensor[i] = row % SENSORS;
        ts[i] = time_of(row);
        value[i] = value_of(row);
    }
    struct ArrowSchema columns[3] = {
        {.format = "l", .name = "sensor", .release = released_schema},
        {.format = "tsu:", .name = "ts", .release = released_schema},
        {.format = "g", .name = "value", .release = released_schema},
    };
    struct ArrowSchema *column_list[3] = {&columns[0], &columns[1], &columns[2]};
    struct ArrowSchema  schema = {.format = "+s", .name = "", .n_children = 3, .children = column_list, .release = released_schema};
    const void *buffers[3][2] = {{NULL, sensor}, {NULL, ts}, {NULL, value}}; /* validity (none: no NULLs), values */
    struct ArrowArray arrays[3];
    struct ArrowArray *array_list[3];
    for (int c = 0; c < 3; c++) {
        arrays[c] = (struct ArrowArray){.length = ROWS_A_PART, .n_buffers = 2, .buffers = buffers[c], .release = released_array};
        array_list[c] = &arrays[c];
    }
    const void       *no_validity[1] = {NULL};
    struct ArrowArray array = {.length = ROWS_A_PART, .n_buffers = 1, .buffers = no_validity, .n_children = 3, .children = array_list,
                               .release = released_array};
    return weir_push(w, "readings", &schema, &array) == WEIR_OK;
}

/* ---- results ---- */
typedef struct answers { int64_t count[SENSORS][MINUTES]; double average[SENSORS][MINUTES]; int rows, bad; } answers;

static int column(const struct ArrowSchema *schema, const char *name) {
    for (int64_t i = 0; i < schema->n_children; i++)
        if (!strcmp(schema->children[i]->name, name)) return (int)i;
    return -1;
}

static const void *values(const struct ArrowArray *array, int c) { return array->children[c]->buffers[1]; }

static int on_rows(void *arg, const char *table, struct ArrowSchema *schema, struct ArrowArray *array) {
    answers *a = arg;
    (void)table;
    int minute = column(schema, "minute_start"), sensor = column(schema, "sensor"), n = column(schema, "n"), average = column(schema, "average");
    if (minute < 0 || sensor < 0 || n < 0 || average < 0) return 1;
    for (int64_t i = 0; i < array->length; i++) {
        const struct ArrowArray *kids[4] = {array->children[minute], array->children[sensor], array->children[n], array->children[average]};
        int64_t start = ((const int64_t *)values(array, minute))[i + kids[0]->offset] * (strncmp(schema->children[minute]->format, "tsm", 3) ? 1 : 1000);
        int64_t s = ((const int64_t *)values(array, sensor))[i + kids[1]->offset];
        int64_t m = (start - time_of(0)) / 60000000;
        a->rows++;
        if (s < 0 || s >= SENSORS || m < 0 || m >= MINUTES) {
            a->bad++;
            continue;
        }
        a->count[s][m] += ((const int64_t *)values(array, n))[i + kids[2]->offset];
        a->average[s][m] = ((const double *)values(array, average))[i + kids[3]->offset];
    }
    return 0;
}

static int fail(weir *w, const char *what) {
    fprintf(stderr, "%s: %s\n", what, weir_error(w));
    weir_close(w);
    return 1;
}

static int check(const answers *a) {
    static double  sum[SENSORS][MINUTES];
    static int64_t count[SENSORS][MINUTES];
    for (int row = 0; row < ROWS; row++) {
        int m = (int)((time_of(row) - time_of(0)) / 60000000);
        sum[row % SENSORS][m] += value_of(row);
        count[row % SENSORS][m]++;
    }
    int wrong = a->bad + (a->rows != SENSORS * MINUTES);
    for (int s = 0; s < SENSORS; s++)
        for (int m = 0; m < MINUTES; m++)
            wrong += a->count[s][m] != count[s][m] || fabs(a->average[s][m] - sum[s][m] / (double)count[s][m]) > 1e-9;
    return wrong;
}

static const char SQL[] =
    "CREATE TABLE readings (sensor BIGINT, ts TIMESTAMP(3), `value` DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)"
    " WITH ('connector' = 'push');"
    "CREATE TABLE averages (minute_start TIMESTAMP(3), sensor BIGINT, n BIGINT, average DOUBLE) WITH ('connector' = 'callback');"
    "INSERT INTO averages"
    " SELECT window_start, sensor, COUNT(*), AVG(`value`)"
    " FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
    " GROUP BY window_start, window_end, sensor";

int main(void) {
    static answers got;
    weir *w = weir_open();
    if (weir_set(w, "workers", "2") != WEIR_OK) return fail(w, "option");
    if (weir_sql(w, SQL) != WEIR_OK) return fail(w, "SQL");
    if (weir_subscribe(w, "averages", on_rows, &got) != WEIR_OK) return fail(w, "subscribe");
    char *plan = weir_explain(w, 0);
    printf("%s\n", plan ? plan : "");
    weir_free(plan);
    if (weir_start(w) != WEIR_OK) return fail(w, "start");
    for (int part = 0; part < PARTS; part++)
        if (!push_part(w, part)) return fail(w, "push");
    if (weir_end(w, "readings") != WEIR_OK) return fail(w, "end");
    if (weir_wait(w) != WEIR_OK) return fail(w, "job");
    char *status = weir_status(w);
    printf("%s\n", status);
    weir_free(status);
    weir_close(w);
    int wrong = check(&got);
    printf("%d averages of %d rows, %d wrong\n", got.rows, ROWS, wrong);
    return wrong != 0;
}
