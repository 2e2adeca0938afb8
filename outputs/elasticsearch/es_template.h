#ifndef ETWSHIP_OUTPUTS_ES_TEMPLATE_H
#define ETWSHIP_OUTPUTS_ES_TEMPLATE_H

#include "base/buf.h"
#include "event/model/index_fields.h"

/*
 * The index template that events want: what each of their fields is in an index. Made from the
 * tables of the formats' fields (agent/event/native.tsv, ecs.tsv), in the dialect of the server.
 * Sources: documentation of both, "create or update index template", "mapping types".
 */
enum es_template_types {
    ES_TYPES_ALL,
    ES_TYPES_COMMON, /* none for text and constants that old or reduced servers lack: more room */
    ES_TYPES_FEW,    /* none for payloads either: they are kept, but cannot be searched */
    ES_TYPES_COUNT,
};

struct es_template {
    const char *format;  /* "native" or "ecs" */
    const char *pattern; /* of the indices or data streams, with a '*' at its end or none */
    bool data_stream;    /* of these, or of plain indices */
    bool opensearch;     /* the server is OpenSearch, else Elasticsearch */

    int types; /* enum es_template_types */

    bool nanos; /* times are date_nanos, which holds what events say; else date, milliseconds */
    bool typed; /* the fields of payloads have types of their own; else a payload is one field */
    const struct index_fields *fields; /* typed: which ones, chosen; NULL: none */
    size_t max_fields;                 /* the index's limit; 0: the server's own */

    /* A policy that the server is to apply by a setting of the template; NULL: none. A server
     * without lifecycles refuses it. */
    const char *policy;
};

enum { ES_TEMPLATE_MAX_BYTES = 4 * 1024 * 1024, ES_TEMPLATE_MARK_BYTES = 20 };

/* The limit of servers for the fields of an index, "mapping limit settings". */
enum { ES_TEMPLATE_USUAL_FIELDS = 1000 };

/* Append the body of PUT /_index_template/NAME. It holds its mark: what tells it from a template of
 * another version or by other hands. */
void es_template_write(const struct es_template *wanted, struct buf *out);

/* The same mark: hex digits and a NUL. The fields of payloads do not count: which ones there are
 * depends on what definitions are at hand. */
void es_template_mark(const struct es_template *wanted, char ret_mark[ES_TEMPLATE_MARK_BYTES]);

/* The mark of the fields of payloads, which stands in the template, too. */
void es_template_fields_mark(
    const struct index_fields *fields, char ret_mark[ES_TEMPLATE_MARK_BYTES]);

/* How many fields of payloads an index of ${max_fields} has room for, objects included. */
size_t es_template_room(const char *format, size_t max_fields);

#endif
