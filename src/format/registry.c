/* format/registry.c: see registry.h. The REST interface is Confluent's: /schemas/ids, /subjects, /compatibility. */
#include "format/registry.h"
#include "format/json_tree.h"
#include "http/http.h"
#include <inttypes.h>
#include <stdio.h>

enum { PLANS_MAX = 1000, REFERENCES_MAX = 200, REPLY_BYTES_MAX = 8 << 20, REQUEST_TIMEOUT_US = 10000000, UNKNOWN_US = 10000000, ROUND_PAUSE_US = 500000, URLS_MAX = 16 };
enum { NO_SUBJECT = 40401, NO_VERSION = 40402, NO_SCHEMA = 40403 };
static const char content_type[] = "application/vnd.schemaregistry.v1+json", accept[] = "application/vnd.schemaregistry.v1+json, application/json";

typedef struct entry {
    int32_t  id;
    void    *plan;       /* NULL: message says why there is none */
    int64_t  until_us;   /* of an unknown id: ask again then; 0: what is here lasts */
    uint64_t used;
    char     message[200];
} entry;

struct wr_registry {
    wr_world         *world;
    wr_arena         *arena;      /* strings of the options */
    const char       *name;       /* of the format, for messages */
    uint32_t          n_urls, current;
    const char       *urls[URLS_MAX]; /* without credentials and slashes at the end */
    wr_http          *http;       /* opened by the first question */
    wr_http_opts      opts;
    wr_http_answer    answer;
    wr_registry_maker maker;
    WR_ARR(entry)     entries;
    uint32_t          last;       /* of the record before: nearly always the same id */
    uint64_t          clock;
};

/* ---- options ---- */

static const char *text_of(wr_registry *r, const wr_options *o, const wr_option_spec *specs, const char *key, bool *given) {
    char full[128];
    snprintf(full, sizeof full, "%s.%s", r->name, key);
    wr_str text = wr_str_trim(wr_option_string(o, specs, full));
    *given = text.len > 0;
    return *given ? wr_arena_strndup(r->arena, text.ptr, text.len) : NULL;
}

static wr_span span_of(const char *name, const wr_options *o, const char *key) {
    char full[128];
    snprintf(full, sizeof full, "%s.%s", name, key);
    const wr_option *option = wr_options_find(o, full);
    return option ? option->at : (wr_span){0};
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

static char *unescaped(wr_arena *arena, wr_str text) { /* %40 in the name of a URL's user */
    char  *out = wr_arena_strndup(arena, text.ptr, text.len);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool escape = text.ptr[i] == '%' && i + 2 < text.len && hex(text.ptr[i + 1]) >= 0 && hex(text.ptr[i + 2]) >= 0;
        out[n++] = escape ? (char)(hex(text.ptr[i + 1]) * 16 + hex(text.ptr[i + 2])) : text.ptr[i];
        if (escape) i += 2;
    }
    out[n] = 0;
    return out;
}

static void set_user(wr_registry *r, wr_str info, bool escaped) {
    const char *colon = memchr(info.ptr, ':', info.len);
    wr_str      user = {info.ptr, colon ? (size_t)(colon - info.ptr) : info.len}, password = {colon ? colon + 1 : "", colon ? info.len - user.len - 1 : 0};
    r->opts.who.user = escaped ? unescaped(r->arena, user) : wr_arena_strndup(r->arena, user.ptr, user.len);
    r->opts.who.password = escaped ? unescaped(r->arena, password) : wr_arena_strndup(r->arena, password.ptr, password.len);
}

/* One of the URLs: credentials are taken out of it, so that no message shows them. */
static bool add_url(wr_registry *r, wr_str url) {
    bool        tls = wr_str_starts(url, WR_STR("https://"));
    const char *host = url.ptr + (tls ? 8 : 7), *end = url.ptr + url.len;
    if ((!tls && !wr_str_starts(url, WR_STR("http://"))) || host >= end || r->n_urls == URLS_MAX) return false;
    const char *slash = memchr(host, '/', (size_t)(end - host)), *at = memrchr(host, '@', (size_t)((slash ? slash : end) - host));
    if (at) set_user(r, (wr_str){host, (size_t)(at - host)}, true), host = at + 1;
    while (end > host && end[-1] == '/') end--;
    r->urls[r->n_urls++] = wr_arena_printf(r->arena, "%s://%.*s", tls ? "https" : "http", (int)(end - host), host);
    return end > host;
}

static wr_status read_urls(wr_registry *r, const wr_options *o, const wr_option_spec *specs, wr_diags *diags) {
    bool        given;
    const char *text = text_of(r, o, specs, "url", &given);
    wr_span     at = span_of(r->name, o, "url");
    if (!given) {
        if (diags) {
            wr_diags_add(diags, WR_SEV_ERROR, "WR122", at, "the format '%s' needs the option '%s.url': the schema registry", r->name, r->name);
            wr_diags_hint(diags, "write for example '%s.url' = 'http://localhost:8081'", r->name);
        }
        return WR_USER;
    }
    wr_str list = wr_str_of(text);
    for (wr_str url; wr_str_next(&list, ',', &url);)
        if (url.len && !add_url(r, url)) {
            if (diags) {
                wr_diags_add(diags, WR_SEV_ERROR, "WR121", at, "option '%s.url': a registry's address begins with http:// or https://, and there are %d at most", r->name, URLS_MAX);
                wr_diags_hint(diags, "write for example '%s.url' = 'http://localhost:8081'", r->name);
            }
            return WR_USER;
        }
    return WR_OK;
}

wr_status wr_registry_open(const wr_options *o, const wr_option_spec *specs, const char *name, wr_world *world, wr_registry **out, wr_diags *diags) {
    wr_registry *r = wr_calloc(1, sizeof *r);
    bool         given;
    char         key[128];
    int64_t      retry_us = 0;
    *out = NULL;
    r->world = world;
    r->arena = wr_arena_new(NULL);
    r->name = name;
    wr_status   status = read_urls(r, o, specs, diags);
    const char *info = text_of(r, o, specs, "basic-auth.user-info", &given);
    if (given) set_user(r, wr_str_of(info), false);
    r->opts.who.bearer = text_of(r, o, specs, "bearer-auth.token", &given);
    r->opts.who.ca_file = text_of(r, o, specs, "ssl.truststore.location", &given);
    r->opts.who.cert_file = r->opts.who.key_file = text_of(r, o, specs, "ssl.keystore.location", &given);
    r->opts.who.key_password = text_of(r, o, specs, "ssl.keystore.password", &given);
    snprintf(key, sizeof key, "%s.retry-timeout", name);
    if (status == WR_OK && !wr_option_duration(o, specs, key, &retry_us, diags)) status = WR_USER;
    r->opts.retry_us = retry_us;
    r->opts.timeout_us = REQUEST_TIMEOUT_US;
    r->opts.max_reply_bytes = REPLY_BYTES_MAX;
    if (status != WR_OK) wr_registry_close(r), r = NULL;
    *out = r;
    return status;
}

static void free_plan(wr_registry *r, entry *e) {
    if (e->plan) r->maker.free(r->maker.self, e->plan);
    e->plan = NULL;
}

void wr_registry_close(wr_registry *r) {
    if (!r) return;
    for (uint32_t i = 0; i < r->entries.n; i++) free_plan(r, &r->entries.at[i]);
    wr_arr_free(&r->entries);
    wr_http_close(r->http);
    wr_sbuf_free(&r->answer.body);
    wr_arena_free(r->arena);
    wr_free(r);
}

void wr_registry_set_maker(wr_registry *r, const wr_registry_maker *maker) { r->maker = *maker; }

/* ---- questions ---- */

/* The answer is in r->answer, and as a tree in `arena`; *tree NULL: it is no JSON. */
static wr_status ask(wr_registry *r, const char *method, const char *path, wr_str body, wr_arena *arena, const wr_json_node **tree, wr_err *err) {
    wr_err    last = {0}; /* why there was no answer */
    wr_status status = WR_OK;
    char      why[120];
    wr_http_opts opts = r->opts;
    if (r->n_urls > 1) opts.retry_us = 0; /* the next one is asked at once */
    if (!r->http) WR_TRY(wr_http_open(r->world, &opts, &r->http, err));
    int64_t until_us = wr_mono_us(r->world) + r->opts.retry_us;
    for (uint32_t tried = 0;; tried++) {
        if (tried && tried % r->n_urls == 0) {
            if (r->n_urls == 1 || wr_mono_us(r->world) >= until_us) break;
            r->world->vt->sleep_us(r->world, ROUND_PAUSE_US);
        }
        wr_sbuf url = {0};
        wr_sbuf_printf(&url, "%s%s", r->urls[r->current], path);
        wr_http_request q = {.method = method, .url = url.at, .body = body, .content_type = content_type, .accept = accept};
        status = wr_http_ask(r->http, &q, &r->answer, &last);
        wr_sbuf_free(&url);
        if (status == WR_OK && r->answer.status < 500) break;
        r->current = (r->current + 1) % r->n_urls;
    }
    if (status != WR_OK) {
        char words[sizeof last.message];
        memcpy(words, last.message, sizeof words);
        wr_fail(err, WR_IO, "WR385", "the schema registry does not answer: %s", words);
        if (last.detail[0]) wr_err_detail(err, "%s", last.detail);
        wr_err_hint(err, "look at '%s.url' and whether the registry runs; it is asked again for '%s.retry-timeout'", r->name, r->name);
        return WR_IO;
    }
    *tree = wr_json_parse(arena, wr_sbuf_str(&r->answer.body), why);
    return WR_OK;
}

static int64_t error_code(const wr_json_node *tree) {
    int64_t code = 0;
    wr_json_get_int(tree, "error_code", &code);
    return code;
}

/* An answer that is none of those that the question has. */
WR_COLD static wr_status refused(wr_registry *r, const char *what, const wr_json_node *tree, wr_err *err) {
    wr_str words = wr_json_get_string(tree, "message");
    long   status = r->answer.status;
    wr_fail(err, WR_IO, "WR386", "the schema registry %s: %s: HTTP %ld%s%.*s", r->urls[r->current], what, status, words.len ? ": " : "", (int)WR_MIN(words.len, 250u), words.ptr ? words.ptr : "");
    if (status == 401 || status == 403) wr_err_hint(err, "look at '%s.basic-auth.user-info' or '%s.bearer-auth.token', and what this user may do", r->name, r->name);
    else if (!tree || !words.len) wr_err_hint(err, "is it a registry? '%s.url' is the address under which /subjects is", r->name);
    return WR_IO;
}

static const char *type_of(const wr_json_node *tree) {
    wr_str type = wr_json_get_string(tree, "schemaType");
    return wr_str_eq(type, WR_STR("JSON")) ? "JSON" : wr_str_eq(type, WR_STR("PROTOBUF")) ? "PROTOBUF" : !type.len || wr_str_eq(type, WR_STR("AVRO")) ? "AVRO" : "of an unknown kind";
}

/* ---- references ---- */

typedef struct gathering {
    wr_registry *r;
    wr_arena    *arena;
    WR_ARR(wr_registry_schema) list;
    WR_ARR(const char *) seen; /* subject/version */
    size_t       bytes;
} gathering;

/* What the schema refers to, and what that refers to in turn: those first. */
static wr_status gather(gathering *g, const wr_json_node *references, int depth, wr_err *err) {
    for (const wr_json_node *one = references ? references->first : NULL; one; one = one->next) {
        wr_str  name = wr_json_get_string(one, "name"), subject = wr_json_get_string(one, "subject");
        int64_t version = 0;
        wr_json_get_int(one, "version", &version);
        const char *id = wr_arena_printf(g->arena, "%.*s/%" PRId64, WR_FMT(subject), version);
        bool        known = false;
        for (uint32_t i = 0; i < g->seen.n; i++) known |= !strcmp(g->seen.at[i], id);
        if (known) continue;
        if (g->seen.n == REFERENCES_MAX || depth > 20) return wr_fail(err, WR_IO, "WR386", "a schema of the registry refers to more than %d others", REFERENCES_MAX);
        wr_arr_apush(g->arena, &g->seen, id);
        wr_sbuf path = {0};
        wr_sbuf_addz(&path, "/subjects/");
        wr_http_encode(&path, subject, false);
        wr_sbuf_printf(&path, "/versions/%" PRId64, version);
        const wr_json_node *tree;
        wr_status status = ask(g->r, "GET", path.at, (wr_str){0}, g->arena, &tree, err);
        wr_sbuf_free(&path);
        WR_TRY(status);
        wr_str text = wr_json_get_string(tree, "schema");
        if (g->r->answer.status != 200 || !text.ptr) return refused(g->r, id, tree, err);
        if ((g->bytes += text.len) > REPLY_BYTES_MAX) return wr_fail(err, WR_IO, "WR386", "a schema of the registry with what it refers to is longer than %d bytes", REPLY_BYTES_MAX);
        WR_TRY(gather(g, wr_json_get(tree, "references"), depth + 1, err));
        wr_arr_apush(g->arena, &g->list, (wr_registry_schema){.type = type_of(tree), .name = name, .text = text});
    }
    return WR_OK;
}

static wr_status complete(wr_registry *r, const wr_json_node *tree, wr_arena *arena, wr_registry_schema *out, wr_err *err) {
    gathering g = {.r = r, .arena = arena};
    *out = (wr_registry_schema){.id = out->id, .type = type_of(tree), .name = {"", 0}, .text = wr_json_get_string(tree, "schema")};
    WR_TRY(gather(&g, wr_json_get(tree, "references"), 0, err));
    out->n_references = g.list.n;
    out->references = g.list.at;
    return WR_OK;
}

/* ---- plans ---- */

static entry *find(wr_registry *r, int32_t id) {
    if (r->last < r->entries.n && r->entries.at[r->last].id == id) return &r->entries.at[r->last];
    for (uint32_t i = 0; i < r->entries.n; i++)
        if (r->entries.at[i].id == id) return r->last = i, &r->entries.at[i];
    return NULL;
}

static entry *room(wr_registry *r, int32_t id) {
    uint32_t at = 0;
    if (r->entries.n < PLANS_MAX) {
        at = r->entries.n;
        wr_arr_push(&r->entries, (entry){0});
    } else {
        for (uint32_t i = 1; i < r->entries.n; i++)
            if (r->entries.at[i].used < r->entries.at[at].used) at = i;
        free_plan(r, &r->entries.at[at]);
    }
    r->entries.at[at] = (entry){.id = id};
    r->last = at;
    return &r->entries.at[at];
}

static wr_status fetch(wr_registry *r, int32_t id, wr_arena *arena, entry *e, wr_err *err) {
    char                path[64];
    const wr_json_node *tree;
    snprintf(path, sizeof path, "/schemas/ids/%" PRId32, id);
    WR_TRY(ask(r, "GET", path, (wr_str){0}, arena, &tree, err));
    if (r->answer.status == 404 && error_code(tree) == NO_SCHEMA) {
        snprintf(e->message, sizeof e->message, "the schema registry knows no schema with the id %" PRId32, id);
        e->until_us = wr_mono_us(r->world) + UNKNOWN_US;
        return WR_OK;
    }
    if (r->answer.status != 200 || !wr_json_get_string(tree, "schema").ptr) {
        snprintf(path, sizeof path, "the schema with the id %" PRId32, id);
        return refused(r, path, tree, err);
    }
    wr_registry_schema schema = {.id = id};
    WR_TRY(complete(r, tree, arena, &schema, err));
    if (strcmp(schema.type, r->maker.type)) {
        snprintf(e->message, sizeof e->message, "the schema with the id %" PRId32 " is %s, the table's format reads %s", id, schema.type, r->maker.type);
        return WR_OK;
    }
    char why[200] = "it cannot be used";
    e->plan = r->maker.make(r->maker.self, &schema, why);
    if (!e->plan) snprintf(e->message, sizeof e->message, "schema %" PRId32 ": %.175s", id, why);
    return WR_OK;
}

wr_status wr_registry_plan(wr_registry *r, int32_t id, void **plan, const char **message, wr_err *err) {
    entry *e = find(r, id);
    if (WR_UNLIKELY(!e || (e->until_us && wr_mono_us(r->world) >= e->until_us))) {
        entry fresh = {.id = id};
        wr_arena *arena = wr_arena_new(NULL);
        wr_status status = fetch(r, id, arena, &fresh, err);
        wr_arena_free(arena);
        if (status != WR_OK) return status;
        if (!e) e = room(r, id);
        *e = fresh;
    }
    e->used = ++r->clock;
    *plan = e->plan;
    *message = e->message;
    return WR_OK;
}

/* ---- subjects ---- */

wr_status wr_registry_latest(wr_registry *r, wr_str subject, wr_arena *arena, wr_registry_schema *out, bool *found, wr_err *err) {
    wr_sbuf             path = {0};
    const wr_json_node *tree;
    int64_t             id = 0;
    wr_sbuf_addz(&path, "/subjects/");
    wr_http_encode(&path, subject, false);
    wr_sbuf_addz(&path, "/versions/latest");
    wr_status status = ask(r, "GET", path.at, (wr_str){0}, arena, &tree, err);
    wr_sbuf_free(&path);
    WR_TRY(status);
    *found = r->answer.status == 200 && wr_json_get_string(tree, "schema").ptr;
    if (*found) {
        wr_json_get_int(tree, "id", &id);
        out->id = (int32_t)id;
        return complete(r, tree, arena, out, err);
    }
    if (r->answer.status == 404 && (error_code(tree) == NO_SUBJECT || error_code(tree) == NO_VERSION)) return WR_OK;
    char what[200];
    snprintf(what, sizeof what, "subject '%.*s'", (int)WR_MIN(subject.len, 180u), subject.ptr);
    return refused(r, what, tree, err);
}

/* Confluent's messages are lists of members in braces, of which the description is for people; others are sentences. */
static wr_str description(wr_str message) {
    static const char mark[] = "description:'";
    const char *from = memmem(message.ptr, message.len, mark, sizeof mark - 1), *end = message.ptr + message.len;
    if (!from) return message;
    from += sizeof mark - 1;
    const char *to = memmem(from, (size_t)(end - from), "', additionalInfo", 17);
    return (wr_str){from, (size_t)((to ? to : end) - from)};
}

WR_COLD static wr_status incompatible(wr_registry *r, wr_str subject, const wr_json_node *tree, wr_err *err) {
    wr_sbuf             all = {0};
    const wr_json_node *messages = wr_json_get(tree, "messages");
    wr_fail(err, WR_USER, "WR387", "the table's schema does not go with what is registered under the subject '%.*s'", (int)WR_MIN(subject.len, 300u), subject.ptr);
    for (const wr_json_node *m = messages ? messages->first : NULL; m; m = m->next) {
        if (wr_str_starts(m->text, WR_STR("{oldSchema")) || wr_str_starts(m->text, WR_STR("{validate")) || wr_str_starts(m->text, WR_STR("{compatibility"))) continue;
        wr_str text = description(m->text);
        wr_sbuf_printf(&all, "%s%.*s", all.len ? "; " : "", WR_FMT(text));
    }
    wr_str words = wr_json_get_string(tree, "message");
    if (!all.len && words.len) wr_sbuf_add_str(&all, words);
    if (all.len) wr_err_detail(err, "%.*s", (int)WR_MIN(all.len, 900u), all.at);
    wr_err_hint(err, "change the column so that old readers can read it (a column that is new may be NULL), name another '%s.subject', or set the subject's compatibility", r->name);
    wr_sbuf_free(&all);
    return WR_USER;
}

/* {"schema": "...", "schemaType": "..."}; Avro goes without the type, as in registries that know nothing else. */
static void put_schema(wr_sbuf *out, const char *type, wr_str schema) {
    wr_sbuf_addz(out, "{\"schema\": ");
    wr_sbuf_add_json(out, schema);
    if (strcmp(type, "AVRO")) wr_sbuf_printf(out, ", \"schemaType\": \"%s\"", type);
    wr_sbuf_addc(out, '}');
}

typedef struct registering { wr_registry *r; wr_arena *arena; wr_str subject, body; const wr_json_node *tree; int64_t id; } registering;

static wr_status post(registering *g, const char *before, const char *after, wr_err *err) {
    wr_sbuf path = {0};
    wr_sbuf_addz(&path, before);
    wr_http_encode(&path, g->subject, false);
    wr_sbuf_addz(&path, after);
    wr_status status = ask(g->r, "POST", path.at, g->body, g->arena, &g->tree, err);
    wr_sbuf_free(&path);
    return status;
}

/* *found: it is there already, g->id. *none: there is no such subject. Else it goes with what is there. */
static wr_status fits(registering *g, const char *what, bool *found, bool *none, wr_err *err) {
    wr_registry *r = g->r;
    *found = *none = false;
    WR_TRY(post(g, "/subjects/", "", err)); /* is it there already? then no right to write is needed */
    *found = r->answer.status == 200 && wr_json_get_int(g->tree, "id", &g->id);
    *none = r->answer.status == 404 && error_code(g->tree) == NO_SUBJECT;
    if (*found || *none) return WR_OK;
    if (r->answer.status != 404 || error_code(g->tree) != NO_SCHEMA) return refused(r, what, g->tree, err);
    WR_TRY(post(g, "/compatibility/subjects/", "/versions/latest?verbose=true", err));
    const wr_json_node *yes = wr_json_get(g->tree, "is_compatible");
    *none = r->answer.status == 404 && (error_code(g->tree) == NO_VERSION || error_code(g->tree) == NO_SUBJECT);
    if (r->answer.status != 200 && !*none) return refused(r, what, g->tree, err);
    return yes && yes->kind == WR_JSON_BOOL && !yes->yes ? incompatible(r, g->subject, g->tree, err) : WR_OK;
}

static wr_status register_it(registering *g, bool really, wr_sbuf *said, wr_err *err) {
    wr_registry *r = g->r;
    char         what[200];
    bool         found, none;
    snprintf(what, sizeof what, "subject '%.*s'", (int)WR_MIN(g->subject.len, 180u), g->subject.ptr);
    WR_TRY(fits(g, what, &found, &none, err));
    if (said && found) wr_sbuf_printf(said, "%s has the schema, id %" PRId64, what, g->id);
    else if (said) wr_sbuf_printf(said, none ? "%s is new" : "%s: the schema goes with what is there, and becomes a new version", what);
    if (found || !really) return WR_OK;
    WR_TRY(post(g, "/subjects/", "/versions", err));
    if (r->answer.status == 409) return incompatible(r, g->subject, g->tree, err); /* another version came in between, or all versions count */
    if (r->answer.status == 200 && wr_json_get_int(g->tree, "id", &g->id)) return WR_OK;
    return refused(r, what, g->tree, err);
}

wr_status wr_registry_register(wr_registry *r, wr_str subject, const char *type, wr_str schema, int32_t *id, wr_err *err) {
    wr_sbuf body = {0};
    put_schema(&body, type, schema);
    registering g = {.r = r, .arena = wr_arena_new(NULL), .subject = subject, .body = wr_sbuf_str(&body)};
    wr_status   status = register_it(&g, true, NULL, err);
    *id = (int32_t)g.id;
    wr_arena_free(g.arena);
    wr_sbuf_free(&body);
    return status;
}

wr_status wr_registry_look(wr_registry *r, wr_str subject, const char *type, wr_str schema, wr_sbuf *said, wr_err *err) {
    wr_arena           *arena = wr_arena_new(NULL);
    wr_sbuf             body = {0};
    const wr_json_node *tree = NULL;
    r->opts.retry_us = 0; /* whoever looks wants to know how it is now */
    wr_status           status = ask(r, "GET", "/subjects", (wr_str){0}, arena, &tree, err);
    if (status == WR_OK && (r->answer.status != 200 || !tree || tree->kind != WR_JSON_ARRAY)) status = refused(r, "its subjects", tree, err);
    if (status == WR_OK) wr_sbuf_printf(said, "%s answers, %u subject%s", r->urls[r->current], tree->n, tree->n == 1 ? "" : "s");
    if (status == WR_OK && schema.ptr) {
        put_schema(&body, type, schema);
        registering g = {.r = r, .arena = arena, .subject = subject, .body = wr_sbuf_str(&body)};
        wr_sbuf_addz(said, "; ");
        status = register_it(&g, false, said, err);
    } else if (status == WR_OK && subject.len) {
        wr_registry_schema latest = {0};
        bool               found = false;
        status = wr_registry_latest(r, subject, arena, &latest, &found, err);
        if (found) wr_sbuf_printf(said, "; the latest schema of '%.*s' has the id %" PRId32, WR_FMT(subject), latest.id);
        else if (status == WR_OK) wr_sbuf_printf(said, "; there is no schema of '%.*s' yet", WR_FMT(subject));
    }
    wr_sbuf_free(&body);
    wr_arena_free(arena);
    return status;
}

bool wr_registry_subject(const wr_encoder_opts *opts, const wr_option_spec *specs, const char *name, wr_sbuf *out, wr_diags *diags) {
    char key[128];
    snprintf(key, sizeof key, "%s.subject", name);
    wr_str subject = wr_str_trim(wr_option_string(&opts->options, specs, key));
    if (subject.len) wr_sbuf_add_str(out, subject);
    else if (opts->topic.len) wr_sbuf_printf(out, "%.*s-%s", WR_FMT(opts->topic), opts->key ? "key" : "value");
    if (out->len) return true;
    if (diags) {
        wr_diags_add(diags, WR_SEV_ERROR, "WR122", (wr_span){0}, "the format '%s' needs the option '%s.subject': what to register the schema under", name, name);
        wr_diags_hint(diags, "write for example '%s.subject' = 'orders-value'", name);
    }
    return false;
}

/* ---- messages ---- */

bool wr_registry_prefix_get(wr_str m, int32_t *id, char why[200]) {
    const uint8_t *p = (const uint8_t *)m.ptr;
    if (m.len >= WR_REGISTRY_PREFIX && p[0] == 0) {
        uint32_t v = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
        *id = (int32_t)v;
        return true;
    }
    if (m.len < WR_REGISTRY_PREFIX) snprintf(why, 200, "%zu byte%s; a message begins with a byte 0 and the four bytes of its schema's id", m.len, m.len == 1 ? "" : "s");
    else snprintf(why, 200, "the first byte is 0x%02X; a message begins with a byte 0 and the four bytes of its schema's id", p[0]);
    return false;
}

void wr_registry_prefix_put(wr_sbuf *out, int32_t id) {
    uint32_t v = (uint32_t)id;
    char     bytes[WR_REGISTRY_PREFIX] = {0, (char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    wr_sbuf_add(out, bytes, sizeof bytes);
}
