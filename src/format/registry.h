/* format/registry.h: a client of a Confluent-compatible schema registry: schemas by id, and schemas registered. (contract)
 *
 * Idea       a format asks for what it made of the schema with an id (its plan); the client fetches the schema once, with all that it refers to, lets the
 *            format make the plan, and keeps it. So formats have no cache of their own, and it is bounded here.
 * Unknown    an id that the registry does not know, or whose schema the format cannot use, is the record's fault: it is remembered, an unknown id for
 *            UNKNOWN_US only, since it may be registered meanwhile. A registry that does not answer, or answers nonsense, is never the record's fault: WR_IO.
 * Retries    a registry that does not answer is asked again for 'retry-timeout'; of several with commas between them the next one is asked.
 * Errors     WR385: no answer. WR386: the registry refuses (credentials, no registry there, its own trouble). WR387: the schema does not go with those
 *            that are registered under the subject: the registry's words, which name the field.
 * Bounds     PLANS_MAX plans; the one that was not used for the longest time goes. A schema with its references: 8 MiB, 200 of them.
 * Thread     one client per decoder or encoder.                                                                          */
#pragma once
#include "format/format.h"

typedef struct wr_registry wr_registry;
/* The options that every such format has, with its own name in front; Flink's but for the last one. */
#define WR_REGISTRY_SPECS(FORMAT)                                                                                                                       \
    {FORMAT ".url", "string", NULL, true, "the registry; several with commas: the next one when one does not answer"},                                  \
    {FORMAT ".subject", "string", NULL, false, "sinks: the subject to register the schema under; for messages TOPIC-value or TOPIC-key"},               \
    {FORMAT ".basic-auth.credentials-source", "enum:USER_INFO|URL", NULL, false, "where the user's name comes from; without it from whichever is there"}, \
    {FORMAT ".basic-auth.user-info", "string", NULL, false, "USER:PASSWORD"},                                                                           \
    {FORMAT ".bearer-auth.credentials-source", "enum:STATIC_TOKEN", NULL, false, "accepted for Flink's sake"},                                          \
    {FORMAT ".bearer-auth.token", "string", NULL, false, "a token in place of user and password"},                                                      \
    {FORMAT ".ssl.truststore.location", "path", NULL, false, "PEM file of the certificates to trust, in place of the system's"},                        \
    {FORMAT ".ssl.keystore.location", "path", NULL, false, "PEM file with our certificate and key"},                                                    \
    {FORMAT ".ssl.keystore.password", "string", NULL, false, "of the key"},                                                                             \
    {FORMAT ".retry-timeout", "duration", "30 s", false, "for how long a registry that does not answer is asked again before the job fails"}

typedef struct wr_registry_schema {
    int32_t     id;
    const char *type;            /* "AVRO", "JSON", "PROTOBUF" */
    wr_str      name;            /* of a reference: what the other schema calls it; "" */
    wr_str      text;
    uint32_t    n_references;    /* all of them, each once, those that others need first */
    const struct wr_registry_schema *references; /* these have none of their own */
} wr_registry_schema;

/* Asks nothing yet. name: of the format: "avro-confluent". WR_USER with diagnostics. */
wr_status wr_registry_open(const wr_options *options, const wr_option_spec *specs, const char *name, wr_world *world, wr_registry **out, wr_diags *diags);
void      wr_registry_close(wr_registry *registry); /* NULL is legal; frees the plans */

typedef struct wr_registry_maker {
    const char *type;            /* of schemas that make() can read */
    void       *self;
    /* NULL: the schema cannot be used, message says why. The schema is gone when it returns. */
    void     *(*make)(void *self, const wr_registry_schema *schema, char message[200]);
    void      (*free)(void *self, void *plan);
} wr_registry_maker;
void wr_registry_set_maker(wr_registry *registry, const wr_registry_maker *maker);
/* The plan of a schema; valid until the next call. *plan NULL: there is none, and message (valid as long) says why; the record is bad. */
wr_status wr_registry_plan(wr_registry *registry, int32_t id, void **plan, const char **message, wr_err *err);

/* The latest schema of a subject, in `arena`. *found false: there is no such subject. */
wr_status wr_registry_latest(wr_registry *registry, wr_str subject, wr_arena *arena, wr_registry_schema *out, bool *found, wr_err *err);
/* The id of the schema under the subject: what it has there, else it is checked against what is there (POST /compatibility) and registered. */
wr_status wr_registry_register(wr_registry *registry, wr_str subject, const char *type, wr_str schema, int32_t *id, wr_err *err);
/* Does the registry answer, and what would registering do (schema.ptr NULL: what is there), in words; changes nothing. Errors as wr_registry_register's. */
wr_status wr_registry_look(wr_registry *registry, wr_str subject, const char *type, wr_str schema, wr_sbuf *said, wr_err *err);
/* For sinks: the option 'subject', else TOPIC-value or TOPIC-key; a diagnostic if there is neither. */
bool      wr_registry_subject(const wr_encoder_opts *opts, const wr_option_spec *specs, const char *name, wr_sbuf *out, wr_diags *diags);

/* Bytes in front of each message: 0, and the id in four bytes, the highest first. */
enum { WR_REGISTRY_PREFIX = 5 };
bool wr_registry_prefix_get(wr_str message, int32_t *id, char why[200]); /* false: why */
void wr_registry_prefix_put(wr_sbuf *out, int32_t id);
