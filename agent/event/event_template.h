#ifndef ETWSHIP_EVENT_EVENT_TEMPLATE_H
#define ETWSHIP_EVENT_EVENT_TEMPLATE_H

/* What a text that is put together from event data may hold: data is hostile. */
enum event_template_safety {
    EVENT_TEMPLATE_PATH,  /* of a file: data adds no separator, no `..`, no reserved name */
    EVENT_TEMPLATE_INDEX, /* of an Elasticsearch index: data adds [a-z0-9._] only */
};

#endif
