#ifndef ETWSHIP_OUTPUTS_ES_SETUP_H
#define ETWSHIP_OUTPUTS_ES_SETUP_H

#include "outputs/elasticsearch/es_ask.h"
#include "outputs/elasticsearch/es_lifecycle.h"
#include "outputs/elasticsearch/es_template.h"
#include "outputs/output.h"

/*
 * What a server needs before events come: an index template, and a lifecycle policy where one is
 * asked for. Nothing is changed but these two, and nothing that is right already.
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

/* Say what contradicts itself. */
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
    const struct index_fields *fields; /* of payloads; NULL: those of the template do not matter */
};

/* Templates differ by dialect and by types. */
enum { ES_SETUP_MAX_NAME = 256, ES_SETUP_VARIANTS = 2 * ES_TYPES_COUNT };

/* What `setup` calls the template, and the indices that it is for. */
struct es_setup_names {
    char pattern[ES_SETUP_MAX_NAME];
    char target[ES_SETUP_MAX_NAME]; /* what events are sent to: the pattern, or an alias */
    char name[ES_SETUP_MAX_NAME];
    char policy_path[ES_SETUP_MAX_NAME * 3 + 64]; /* of the lifecycle, after the API's own */
    char path[ES_SETUP_MAX_NAME * 3 + 64];
};

void es_setup_names(const struct es_setup *setup, struct es_setup_names *ret_names);

/* Which server is it? */
struct es_server {
    bool known; /* else what it is, is hidden */
    bool opensearch;
    char version[40]; /* empty: unknown */
};

/* What the reply ${said} to GET / tells. */
void es_setup_server(const struct es_said *said, struct es_server *ret_server);

enum es_template_state {
    ES_TEMPLATE_UNKNOWN, /* the server did not say */
    ES_TEMPLATE_CURRENT,
    ES_TEMPLATE_OTHER, /* there is one, of another version or by other hands */
    ES_TEMPLATE_MISSING,
};

/* What a template of this program looks like in a reply. */
struct es_setup_check {
    struct es_setup_names names;
    char marks[ES_SETUP_VARIANTS][ES_TEMPLATE_MARK_BYTES];
    char fields_mark[ES_TEMPLATE_MARK_BYTES]; /* empty: any fields of payloads will do */
};

void es_setup_check_init(const struct es_setup *setup, struct es_setup_check *ret_check);

/* Ask ${url} for the template. ${said} holds the reply. */
enum es_template_state es_setup_state(const struct es_setup_check *check,
    struct http_client *client, const char *url, struct es_said *said);

/* Ask ${url}: is there an index where a data stream is meant to be, made before there was a template?
 * What to say of it, for a pattern; else NULL. Static. ${said} holds the reply. */
const char *es_setup_stray(const struct es_setup *setup, const struct es_setup_names *names,
    struct http_client *client, const char *url, struct es_said *said);

/* The command `setup`: as output_ops.setup. */
bool es_setup_run(const struct es_setup *setup, const struct output_talk *talk);

#endif
