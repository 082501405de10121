/* weir_udf.h: SQL functions written in C, in a shared object that weir loads.
 *
 *     gcc -shared -fPIC -O2 -o libmine.so mine.c
 *     CREATE FUNCTION area AS 'area_of_circle' LANGUAGE C USING LIBRARY './libmine.so';
 *
 * 'area_of_circle' is a constant of type weir_function that the library exports; it lists the signatures and what calculates them. Nothing of weir
 * is linked: this header is all that a library needs.
 *
 *     static int area(weir_call *call, const weir_column *args, weir_column *out) {
 *         const double *radius = args[0].data;
 *         double       *result = out->data;
 *         for (uint32_t i = 0; i < call->n_rows; i++) result[i] = 3.141592653589793 * radius[i] * radius[i];
 *         return 0;
 *     }
 *     static const weir_signature area_signatures[] = {{.args = "DOUBLE", .result = "DOUBLE", .eval = area}};
 *     WEIR_UDF_EXPORT const weir_function area_of_circle = {WEIR_UDF_HEAD(WEIR_SCALAR), .summary = "area of a circle", WEIR_UDF_SIGNATURES(area_signatures)};
 *
 * Batches     functions get whole columns: call->n_rows rows, at least 1, all of which count. How rows are cut into batches says nothing and changes from
 *             run to run: results must not depend on it.
 * Columns     the memory of a column is that of the Arrow C data interface (buffers of one array, offset 0), as in weir.h:
 *               validity  a bit a row, least significant first, 1 = there is a value; NULL pointer: no row is NULL
 *               BOOLEAN   a bit a row, as validity           TINYINT SMALLINT INT BIGINT   int8_t int16_t int32_t int64_t
 *               FLOAT DOUBLE  float double                   DECIMAL(p, s)  __int128 (little-endian), the value times 10^s
 *               STRING BYTES  row i is bytes data[offsets[i]] .. data[offsets[i + 1]] - 1; text is UTF-8
 *               DATE      int32_t days since 1970-01-01      TIME  int32_t milliseconds since midnight
 *               TIMESTAMP(p), TIMESTAMP_LTZ(p)  int64_t since 1970-01-01 00:00:00 (LTZ: UTC), microseconds, for p > 6 nanoseconds
 *             Arguments are cast to the types of the signature first. ARRAY, MAP, ROW, MULTISET, intervals, CHAR(n) and VARCHAR(n) are not among the types.
 * NULL        a row with NULL in an argument does not reach the function: a scalar gives NULL for it, a table function no rows, an aggregate skips it. With
 *             WEIR_SEES_NULL all rows come, and validity is to be looked at. Any result may be NULL: weir_set_null.
 * Errors      return anything but 0 to fail the job, after call->fail(call, row, "message") has said at which row and why; weir adds the SQL, its place and
 *             the values of the row.
 * Memory      call->scratch is gone after the call. What a state of an aggregate owns comes from call->alloc, is freed by call->free, and counts as state.
 * Threads     several threads call the functions of a library at a time, but never with the same `self` or state.
 * Versions    WEIR_UDF_ABI changes when a library must be compiled again; fields are only added behind `size`, which says what is there. */
#ifndef WEIR_UDF_H
#define WEIR_UDF_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define WEIR_UDF_ABI 1
#define WEIR_UDF_EXPORT __attribute__((visibility("default")))

typedef enum weir_function_kind { WEIR_SCALAR = 1, WEIR_AGGREGATE = 2, WEIR_TABLE = 3 } weir_function_kind;

/* What is known of a result. It decides whether calls with constants are calculated when the job is planned, whether an equal call may be calculated
 * once, and what may stand before rows that are taken back later. */
typedef enum weir_determinism {
    WEIR_DETERMINISTIC = 0, /* the same arguments give the same result, in every run */
    WEIR_PER_JOB = 1,       /* the same while a job runs; the next run may give another (a file read at the start) */
    WEIR_NONDETERMINISTIC = 2
} weir_determinism;

enum { /* weir_function.flags */
    WEIR_SEES_NULL = 1, /* see NULL above */
    /* Aggregates with merge: the result is the same, to the last bit, for every order of the rows and every way to cut them into parts that are merged.
     * Rows are then combined before they are sent to the worker of their key. Sums of floating-point values are not like that. */
    WEIR_ANY_ORDER = 2
};

typedef enum weir_type_id {
    WEIR_BOOLEAN = 1, WEIR_TINYINT, WEIR_SMALLINT, WEIR_INT, WEIR_BIGINT, WEIR_FLOAT, WEIR_DOUBLE, WEIR_DECIMAL, WEIR_STRING, WEIR_BYTES, WEIR_DATE, WEIR_TIME,
    WEIR_TIMESTAMP, WEIR_TIMESTAMP_LTZ
} weir_type_id;

/* An argument, which is only read; or a result, which has room for call->n_rows rows, all valid. Texts of a result go in by call->put; its offsets are NULL. */
typedef struct weir_column {
    int32_t        type;             /* weir_type_id */
    int32_t        precision, scale;
    uint32_t       n;                /* rows */
    uint8_t       *validity;
    const int32_t *offsets;          /* STRING, BYTES: n + 1 */
    void          *data;
    void          *reserved[2];
} weir_column;

typedef struct weir_call weir_call;
struct weir_call {                   /* one call of one function; made by weir */
    uint32_t size;                   /* of this struct in the weir that calls */
    uint32_t n_rows;
    void    *self;                   /* what open gave, or NULL */
    /* The first failure counts. The message is copied. */
    void     (*fail)(weir_call *call, uint32_t row, const char *message);
    void    *(*scratch)(weir_call *call, size_t bytes); /* until the call returns; 16-byte aligned; never NULL */
    /* Text or bytes of one row of a result, copied. Every row that is not NULL needs it, once. */
    void     (*put)(weir_call *call, weir_column *out, uint32_t row, const void *bytes, size_t n);
    /* Table functions: n more rows come out for row `in_row`; returns the index of the first, or UINT32_MAX if it must return (the job fails).
     * Rows of the input go in ascending order. The columns of the result may have moved afterwards: read out[i].data again. */
    uint32_t (*emit)(weir_call *call, uint32_t in_row, uint32_t n);
    /* Aggregates: memory of a state. Never NULL. */
    void    *(*alloc)(weir_call *call, size_t bytes);
    void    *(*resize)(weir_call *call, void *memory, size_t bytes);
    void     (*free)(weir_call *call, void *memory);
    void     (*write)(weir_call *call, const void *bytes, size_t n); /* in save: more bytes of the image */
};

/* The state of an aggregate is `state_bytes` bytes, aligned to 16, one a group. weir moves it with memcpy between calls, so it may not point into itself.
 * Which functions are there says what the aggregate can do:
 *   retract  its input may take rows back (a GROUP BY over another GROUP BY, a CDC table ...)
 *   merge    sliding, cumulating and session windows; with WEIR_ANY_ORDER aggregation in two phases
 *   save, load  needed if a state owns memory; else the bytes of the state are its image
 * A query that needs what is missing is refused. create, destroy, merge, result and save cannot fail. */
typedef struct weir_aggregate {
    uint32_t size;                   /* sizeof(weir_aggregate) */
    uint32_t state_bytes;
    uint32_t state_version;          /* another number: states of checkpoints from before are not used */
    uint32_t owned_bytes;            /* about what a state owns beside state_bytes, for the state bill; 0 = nothing */
    void (*create)(weir_call *call, void *state);                                      /* the state is zeroed; NULL: that is an empty one */
    void (*destroy)(weir_call *call, void *state);                                     /* NULL: it owns nothing */
    int  (*accumulate)(weir_call *call, void *const *states, const weir_column *args); /* row i goes into states[i], in this order; states may repeat */
    int  (*retract)(weir_call *call, void *const *states, const weir_column *args);    /* row i, which came before, leaves states[i] */
    void (*merge)(weir_call *call, void *const *into, void *const *from);              /* n_rows pairs; from[i] stays as it is */
    void (*result)(weir_call *call, void *const *states, weir_column *out);            /* of states[i] into row i; states stay as they are */
    void (*save)(weir_call *call, const void *state);                                  /* by call->write */
    int  (*load)(weir_call *call, void *state, const void *bytes, size_t n);           /* into an empty state; not 0: the bytes are damaged */
} weir_aggregate;

typedef struct weir_signature {
    const char *args;                /* types of the arguments: "STRING, DECIMAL(10, 2)"; "" for none */
    const char *result;              /* a type; of a table function columns: "word STRING, length INT" */
    int (*eval)(weir_call *call, const weir_column *args, weir_column *out); /* scalar: one result; table: out[i] is column i, rows by call->emit */
    const weir_aggregate *aggregate; /* aggregates, instead of eval; at least one argument */
} weir_signature;

typedef struct weir_function {
    uint32_t abi, size, signature_size; /* WEIR_UDF_HEAD fills these and the kind */
    uint32_t kind;                      /* weir_function_kind */
    uint32_t determinism;               /* weir_determinism */
    uint32_t flags;
    const char *summary;                /* for SHOW FUNCTIONS; may be NULL */
    uint32_t n_signatures;              /* WEIR_UDF_SIGNATURES fills these; the one that is nearest to the types of the arguments is taken, of several the first */
    const weir_signature *signatures;
    /* Scalar and table functions: something that calls keep between them (a compiled pattern), one for each place of the SQL and worker. Both may be NULL.
     * A NULL from open, after call->fail(call, 0, "message"), fails the job. */
    void *(*open)(weir_call *call);
    void  (*close)(void *self);
} weir_function;
#define WEIR_UDF_HEAD(KIND) .abi = WEIR_UDF_ABI, .size = sizeof(weir_function), .signature_size = sizeof(weir_signature), .kind = (KIND)
#define WEIR_UDF_SIGNATURES(ARRAY) .n_signatures = (uint32_t)(sizeof(ARRAY) / sizeof *(ARRAY)), .signatures = (ARRAY)

/* ---- helpers ---- */
static inline int weir_bit(const uint8_t *bits, uint32_t row) { return bits[row >> 3] >> (row & 7) & 1; }
static inline void weir_set_bit(uint8_t *bits, uint32_t row, int on) {
    bits[row >> 3] = (uint8_t)((bits[row >> 3] & ~(1 << (row & 7))) | (!!on << (row & 7)));
}
static inline int  weir_is_null(const weir_column *c, uint32_t row) { return c->validity && !weir_bit(c->validity, row); }
static inline void weir_set_null(weir_column *out, uint32_t row) { weir_set_bit(out->validity, row, 0); }
static inline int  weir_bool(const weir_column *c, uint32_t row) { return weir_bit((const uint8_t *)c->data, row); }
static inline void weir_set_bool(weir_column *out, uint32_t row, int on) { weir_set_bit((uint8_t *)out->data, row, on); }
static inline const char *weir_text(const weir_column *c, uint32_t row, size_t *n) { /* not terminated by 0 */
    *n = (size_t)(c->offsets[row + 1] - c->offsets[row]);
    return (const char *)c->data + c->offsets[row];
}
#ifdef __cplusplus
}
#endif
#endif
