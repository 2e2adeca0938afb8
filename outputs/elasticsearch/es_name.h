#ifndef ETWSHIP_OUTPUTS_ES_NAME_H
#define ETWSHIP_OUTPUTS_ES_NAME_H

#include "config/config_check.h"

/*
 * The destination of events: a data stream `logs-<dataset>-<namespace>`, or an index. Dataset and
 * index may be templates over fields and the event's date, after literal text, so that an event
 * cannot choose another index. Names are valid on both servers (their documentation, "create
 * index", path parameters, and "data stream naming").
 */
struct es_name_options {
    struct {
        const char *dataset;   /* NULL: by format */
        const char *namespace; /* as it stands */
    } data_stream;
    const char *index; /* instead of a data stream; NULL: a data stream */
};

enum { ES_NAME_MAX = 255, ES_NAME_PART_MAX = 100 };

/* Rows of a settings struct that has a `struct es_name_options name`. */
#define ES_NAME_ROWS(s)                                                            \
    {CONFIG_STRUCT_ROW("data_stream", s, name.data_stream, es_name_stream_fields), \
        .help = "the data stream that events go to"},                              \
    {                                                                              \
        CONFIG_ROW("index", STRING, s, name.index),                                \
            .help = "an index instead of a data stream; may be a template, "       \
                    "'etw-{provider.name}-%Y'"                                     \
    }

extern const struct config_field es_name_stream_fields[];

/* Report errors, each at its value. */
void es_name_check(struct config_check *check, const struct es_name_options *options);

/* The template that the host renders for each event; NULL: a constant name. */
const char *es_name_route(const struct es_name_options *options);

/* Write the name for events with the route ${rendered}, empty without routes; ${format}, of the
 * events, selects the default dataset. Returns the size, no terminator. */
size_t es_name_write(const struct es_name_options *options, const char *format,
    struct span rendered, char ret_name[ES_NAME_MAX]);

#endif
