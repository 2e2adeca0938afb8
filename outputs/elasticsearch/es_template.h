#ifndef ETWSHIP_OUTPUTS_ES_TEMPLATE_H
#define ETWSHIP_OUTPUTS_ES_TEMPLATE_H

#include "base/buf.h"
#include "event/model/index_fields.h"

/*
 * The index template for events: the type of each field in an index. Made from the tables of the
 * formats' fields (agent/event/native.tsv, ecs.tsv), in the dialect of the server. Sources:
 * documentation of both, "create or update index template", "mapping types".
 */
enum es_template_types {
    ES_TYPES_ALL,
    ES_TYPES_COMMON, /* without types for text and constants that old or reduced servers lack: more
                        disk space */
    ES_TYPES_FEW,    /* also without payload types: payloads are stored but not searchable */
    ES_TYPES_COUNT,
};

struct es_template {
    const char *format;  /* "native" or "ecs" */
    const char *pattern; /* of the indices or data streams, with a '*' at its end or none */
    bool data_stream;    /* of these, or of plain indices */
    bool opensearch;     /* the server is OpenSearch, else Elasticsearch */

    int types; /* enum es_template_types */

    bool nanos; /* times are date_nanos, the full precision of events; else date, milliseconds */
    bool typed; /* payload fields have types; else a payload is one field */
    const struct index_fields *fields; /* typed: which ones, chosen; NULL: none */
    size_t max_fields;                 /* the index's limit; 0: the server's own */

    /* A lifecycle policy to name in the template's settings; NULL: none. A server without
     * lifecycles refuses it. */
    const char *policy;
};

enum { ES_TEMPLATE_MAX_BYTES = 4 * 1024 * 1024, ES_TEMPLATE_MARK_BYTES = 20 };

/* The limit of servers for the fields of an index, "mapping limit settings". */
enum { ES_TEMPLATE_USUAL_FIELDS = 1000 };

/* Append the body of PUT /_index_template/NAME. It contains its mark, to recognise templates of
 * other versions or authors. */
void es_template_write(const struct es_template *wanted, struct buf *out);

/* The mark of the template: hex digits and a NUL. Excludes payload fields, which depend on the
 * available definitions. */
void es_template_mark(const struct es_template *wanted, char ret_mark[ES_TEMPLATE_MARK_BYTES]);

/* The mark of the payload fields, also in the template. */
void es_template_fields_mark(
    const struct index_fields *fields, char ret_mark[ES_TEMPLATE_MARK_BYTES]);

/* Maximum number of payload fields in an index of ${max_fields}, objects included. */
size_t es_template_room(const char *format, size_t max_fields);

#endif
