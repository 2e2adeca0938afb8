#ifndef ETWSHIP_OUTPUTS_ES_SETUP_H
#define ETWSHIP_OUTPUTS_ES_SETUP_H

#include "outputs/elasticsearch/es_ask.h"
#include "outputs/elasticsearch/es_lifecycle.h"
#include "outputs/elasticsearch/es_template.h"
#include "outputs/output.h"

/*
 * Prepares a server for events: an index template, and a lifecycle policy if configured. It changes
 * only these two, and only if they differ.
 */
struct es_types {
    int timestamps; /* enum es_timestamps */
    int fields;     /* enum es_fields */
    int64_t max_fields;
};

enum es_timestamps { ES_DATE, ES_DATE_NANOS };
enum es_fields { ES_FLATTENED, ES_TYPED };

/* Rows of a settings struct's `struct es_types`, at `setup`. */
extern const struct config_field es_setup_fields[];

/* Report contradictions. */
void es_setup_check_types(struct config_check *check, const struct es_types *types);

struct es_setup {
    const struct config_strings *hosts;
    const struct http_options *http;
    const struct es_lifecycle *lifecycle;
    const char *format;
    const char *dataset; /* of the data stream; NULL: by format. A template, maybe */
    const char *index;   /* instead of a data stream; NULL: a data stream. A template, maybe */
    bool alias;          /* index is one, of indices NAME-000001 and so on */
    struct es_types types;
    const struct index_fields *fields; /* payload fields; NULL: ignore those of the template */
};

/* Templates differ by dialect and by types. */
enum { ES_SETUP_MAX_NAME = 256, ES_SETUP_VARIANTS = 2 * ES_TYPES_COUNT };

/* Names of the template and of its indices. */
struct es_setup_names {
    char pattern[ES_SETUP_MAX_NAME];
    char target[ES_SETUP_MAX_NAME]; /* target of events: the pattern, or an alias */
    char name[ES_SETUP_MAX_NAME];
    char policy_path[ES_SETUP_MAX_NAME * 3 + 64]; /* path of the lifecycle policy, after the API's
                                                     own */
    char path[ES_SETUP_MAX_NAME * 3 + 64];
};

void es_setup_names(const struct es_setup *setup, struct es_setup_names *ret_names);

/* The kind of server. */
struct es_server {
    bool known; /* else unknown */
    bool opensearch;
    char version[40]; /* empty: unknown */
};

/* Read the reply ${response} to GET /. */
void es_setup_server(const struct es_response *response, struct es_server *ret_server);

enum es_template_state {
    ES_TEMPLATE_UNKNOWN, /* unknown */
    ES_TEMPLATE_CURRENT,
    ES_TEMPLATE_OTHER, /* a template of another version or author */
    ES_TEMPLATE_MISSING,
};

/* Find the mark of a template of this program in a reply. */
struct es_setup_check {
    struct es_setup_names names;
    char marks[ES_SETUP_VARIANTS][ES_TEMPLATE_MARK_BYTES];
    char fields_mark[ES_TEMPLATE_MARK_BYTES]; /* empty: accept any payload fields */
};

void es_setup_check_init(const struct es_setup *setup, struct es_setup_check *ret_check);

/* Request the template from ${url}. ${response} has the reply. */
enum es_template_state es_setup_state(const struct es_setup_check *check,
    struct http_client *client, const char *url, struct es_response *response);

/* Ask ${url} whether an index with the name of a data stream exists, made before the template.
 * Returns the text to report, or NULL. Static. ${response} has the reply. */
const char *es_setup_stray(const struct es_setup *setup, const struct es_setup_names *names,
    struct http_client *client, const char *url, struct es_response *response);

/* The command `setup`: as output_ops.setup. */
bool es_setup_run(const struct es_setup *setup, const struct output_talk *talk);

#endif
