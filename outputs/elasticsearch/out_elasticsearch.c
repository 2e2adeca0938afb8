/*
 * Elasticsearch and OpenSearch, through their `_bulk` API. es_sender.c has the requests and the
 * meaning of answers; this file has the settings.
 */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "outputs/elasticsearch/es_sender.h"
#include "outputs/elasticsearch/es_try.h"
#include "outputs/elasticsearch/es_verdict.h"
#include "outputs/elasticsearch/es_watch.h"
#include "outputs/http/http_platform.h"
#include "outputs/output.h"

enum action { ACTION_CREATE, ACTION_INDEX };

static const char *const action_names[] = {"create", "index", NULL};
/* Neither Elasticsearch nor OpenSearch accepts zstd. */
static const char *const compression_names[] = {"none", "gzip", NULL};

struct settings {
    struct config_strings hosts;
    struct es_name_options name;
    int action; /* enum action */
    bool ids;
    const char *pipeline;
    const char *routing;
    bool require_alias;
    bool require_data_stream;
    struct http_options http;
    uint64_t max_string_bytes;
    struct es_lifecycle lifecycle;
    struct es_types types;
};

// clang-format off
static const struct config_field fields[] = {
    {CONFIG_ROW("hosts", STRINGS, struct settings, hosts), .required = true, .min = 1, .max = 256,
        .help = "addresses of the nodes, tried in turn"},
    ES_NAME_ROWS(struct settings),
    {CONFIG_ROW("action", ENUM, struct settings, action), .names = action_names,
        .default_text = "create",
        .help = "create: documents are never overwritten, retries never duplicate; index: an event replaces the document with its id (not in data streams)"},
    {CONFIG_ROW("ids", BOOL, struct settings, ids), .default_text = "true",
        .help = "send document ids, so that retries, restarts and files read again never duplicate; false: the server assigns ids, and they may"},
    {CONFIG_ROW("pipeline", STRING, struct settings, pipeline),
        .help = "ingest pipeline of the server for the events; at most 512 bytes"},
    {CONFIG_ROW("routing", STRING, struct settings, routing),
        .help = "routing value, which selects one shard for all events; at most 512 bytes"},
    {CONFIG_ROW("require_alias", BOOL, struct settings, require_alias), .default_text = "false",
        .help = "require that index is an alias, and create no index; `etwship setup` installs the template for INDEX-*"},
    {CONFIG_ROW("require_data_stream", BOOL, struct settings, require_data_stream),
        .default_text = "false",
        .help = "require that a template creates a data stream; OpenSearch does not support it and would reject all events"},
    HTTP_ROWS(struct settings, compression_names, "gzip"),
    {CONFIG_ROW("max_string", SIZE, struct settings, max_string_bytes), .default_text = "32000",
        .min = 256, .max = 32766,
        .help = "longer strings are cut; the whole string is under overflow"},
    {CONFIG_STRUCT_ROW("lifecycle", struct settings, lifecycle, es_lifecycle_fields),
        .help = "how long indices are kept, for `etwship setup`"},
    {CONFIG_STRUCT_ROW("setup", struct settings, types, es_setup_fields),
        .help = "types of fields in the index template that `etwship setup` makes"},
    {.key = NULL},
};
// clang-format on

/* They precede each event of a request. */
static void check_short(struct config_check *check, const char *const *text, const char *name)
{
    enum { MAX_BYTES = 512 };
    if (*text && strlen(*text) > MAX_BYTES) {
        CONFIG_FAULT(check, text, "%s: more than %d bytes. write a shorter one", name, MAX_BYTES);
    }
}

static void elasticsearch_check(const void *settings, struct config_check *check)
{
    const struct settings *s = settings;
    for (size_t i = 0; i < s->hosts.count; i++) {
        http_options_check_url(check, "hosts", &s->hosts.items[i]);
        if (strpbrk(s->hosts.items[i], "?#")) {
            CONFIG_FAULT(check, &s->hosts.items[i],
                "hosts: the address ends in a query, which no request to a cluster has. remove it "
                "from the ? or # on, and write keys under auth");
        }
    }
    es_name_check(check, &s->name);
    if (s->action == ACTION_INDEX && !s->name.index) {
        CONFIG_FAULT(check, &s->action,
            "action: a data stream accepts only create. write create, or an index to write to");
    }
    if (s->require_alias && s->require_data_stream) {
        CONFIG_FAULT(check, &s->require_data_stream,
            "require_data_stream: nothing is a data stream and an alias. keep one of the two");
    }
    if (s->require_data_stream && s->name.index) {
        CONFIG_FAULT(check, &s->require_data_stream,
            "require_data_stream: index names an index. remove one of the two");
    }
    check_short(check, &s->pipeline, "pipeline");
    check_short(check, &s->routing, "routing");
    http_options_check(check, &s->http);
    es_lifecycle_check(check, &s->lifecycle);
    es_setup_check_types(check, &s->types);
}

static void elasticsearch_can_run(const void *settings, struct config_check *check)
{
    const struct settings *s = settings;
    http_platform_check(check, &s->http);
}

static struct es_setup setup_of(const struct settings *s, const char *format)
{
    return (struct es_setup){.hosts = &s->hosts,
        .http = &s->http,
        .lifecycle = &s->lifecycle,
        .format = format,
        .dataset = s->name.data_stream.dataset,
        .index = s->name.index,
        .alias = s->name.index && s->require_alias,
        .types = s->types};
}

static bool elasticsearch_setup(const void *settings, const struct output_talk *talk)
{
    struct es_setup setup = setup_of(settings, talk->format);
    setup.fields = talk->fields;
    return es_setup_run(&setup, talk);
}

static size_t elasticsearch_field_room(const void *settings, const char *format)
{
    const struct es_types *types = &((const struct settings *)settings)->types;
    return types->fields == ES_TYPED ? es_template_room(format, (size_t)types->max_fields) : 0;
}

static bool elasticsearch_examine(const void *settings, const struct output_talk *talk)
{
    const struct es_setup setup = setup_of(settings, talk->format);
    return es_try_run(&setup, talk);
}

static const char *elasticsearch_route(const void *settings)
{
    return es_name_route(&((const struct settings *)settings)->name);
}

static bool elasticsearch_ids(const void *settings)
{
    return ((const struct settings *)settings)->ids;
}

struct out_elasticsearch {
    struct es_sender *sender;
    struct es_watch *watch;
};

static void elasticsearch_destroy(void *self_)
{
    struct out_elasticsearch *self = self_;
    if (self) {
        es_watch_destroy(self->watch);
        es_sender_destroy(self->sender);
        free(self);
    }
}

static void *elasticsearch_create(
    const void *settings, const struct output_env *env, struct error *err)
{
    const struct settings *s = settings;
    const struct es_setup setup = setup_of(s, env->format ? env->format : "native");
    const struct es_sender_options options = {.hosts = &s->hosts,
        .http = &s->http,
        .bulk = {.name = s->name,
            .action = action_names[s->action],
            .pipeline = s->pipeline,
            .routing = s->routing,
            .require_alias = s->require_alias,
            .require_data_stream = s->require_data_stream,
            .ids = s->ids},
        .format = env->format,
        .typed = s->types.fields == ES_TYPED};
    struct out_elasticsearch *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->sender = es_sender_create(&options, env, err);
    self->watch = self->sender ? es_watch_create(&setup, env, err) : NULL;
    if (!self->watch) {
        elasticsearch_destroy(self);
        return NULL;
    }
    return self;
}

static enum output_verdict elasticsearch_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_elasticsearch *self = self_;
    es_watch_look(self->watch);
    return es_sender_send(self->sender, delivery, report);
}

static void elasticsearch_options(const void *settings, struct event_options *options)
{
    const struct settings *s = settings;
    options->uint64_strings = true; /* `long` accepts none above 2^63 - 1 */
    options->max_string_bytes = (uint32_t)s->max_string_bytes;
    options->times = s->types.timestamps == ES_DATE_NANOS ? EVENT_TIMES_NANOS : EVENT_TIMES_DATE;
    options->dataset_varies = !s->name.index && es_name_route(&s->name);
    if (!options->dataset_varies) {
        options->dataset = span_text(s->name.data_stream.dataset);
    }
    options->data_namespace = span_text(s->name.data_stream.namespace);
}

const struct output_ops output_elasticsearch = {
    .formats = "native ecs",
    .name = "elasticsearch",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .workers = 2,
    .route = elasticsearch_route,
    .route_safety = EVENT_TEMPLATE_INDEX,
    .ids = elasticsearch_ids,
    .reference = es_verdict_write_reference,
    .options = elasticsearch_options,
    .check = elasticsearch_check,
    .can_run = elasticsearch_can_run,
    .setup = elasticsearch_setup,
    .field_room = elasticsearch_field_room,
    .examine = elasticsearch_examine,
    .create = elasticsearch_create,
    .send = elasticsearch_send,
    .destroy = elasticsearch_destroy,
};
