#ifndef ETWSHIP_INPUT_EVTX_EVENT_H
#define ETWSHIP_INPUT_EVTX_EVENT_H

#include "base/utf.h"
#include "event/model/record.h"
#include "input/evtx/evtx_value.h"

/*
 * Makes an event record from a log record's XML: System becomes the header, everything else the
 * payload, with metadata that describes it (event/model/record.h).
 *
 *   EventData    a field for each Data, named by its attribute Name, or without one `param1`,
 *                `param2`…, by its position; an array takes one position for each element
 *   UserData     a field for each element, with members for its attributes and elements
 *   other parts  like an element of UserData, by their own name: RenderingInfo, …
 *
 * The Message of RenderingInfo is the event's message.
 */
enum {
    EVTX_EVENT_PAYLOAD_BYTES = 128 * 1024,
    EVTX_EVENT_BLOB_BYTES = 32 * 1024,
    EVTX_EVENT_NAME_BYTES = 1024,
    EVTX_EVENT_MESSAGE_CHARS = 32 * 1024, /* longer ones are cut */
    EVTX_EVENT_ITEMS = 6,
    EVTX_EVENT_STEPS = 512,
};

/* How a field of a payload was made from a node; in the order of the fields. */
struct evtx_event_step {
    uint16_t node; /* the value; EVTX_STEP_PIECES: its parent */
    /* type of the field: enum in_type as from evtx_value_add, or one of the following */
    uint8_t type;
};

enum {
    EVTX_STEP_NOTHING = 0xff /* there is no value */,
    EVTX_STEP_PIECES = 0xfe /* a text of several values */
};

struct evtx_steps {
    struct evtx_event_step list[EVTX_EVENT_STEPS];
    size_t count;
    bool varies; /* other values would make other fields, or there are too many steps */
};

struct evtx_event {
    struct event_record record;
    struct extended_item items[EVTX_EVENT_ITEMS];
    struct evtx_steps steps; /* of the last evtx_event_fill */
    struct span computer;    /* UTF-8; empty: unknown */
    struct guid related;
    uint8_t session[4];
    uint8_t sid[EVTX_VALUE_SID_BYTES];
    uint8_t computer_bytes[EVTX_EVENT_NAME_BYTES];
    uint8_t traits[2 + 2 * EVTX_EVENT_NAME_BYTES + 3];
    uint8_t blob[EVTX_EVENT_BLOB_BYTES];
    uint8_t payload[EVTX_EVENT_PAYLOAD_BYTES];
    uint8_t message[EVTX_EVENT_MESSAGE_CHARS * 6 + UTF_SLACK];
};

/*
 * Fill ${event}, whose record has the values that its reader knows: trace, position, id and time.
 * False: the XML has no System, so the event is unknown. ${ret_problem}: a static text about a part
 * of the XML that is left out, else NULL.
 */
bool evtx_event_fill(
    struct evtx_event *event, const struct evtx_tree *tree, const char **ret_problem);

struct evtx_system;
struct evtx_shared;

/* Steps to fill an event from any record that uses the template with values of equal types. */
struct evtx_outline {
    const struct evtx_tree *tree; /* of the current record */
    const struct evtx_system *system;
    const struct evtx_shared *shared;
    const struct evtx_event_step *steps;
    size_t step_count;
    struct span blob; /* the metadata that evtx_event_fill made */
};

/* Like evtx_event_fill, by the steps of an earlier record. False: the values make other fields, and
 * ${event} is unusable. */
bool evtx_event_repeat(struct evtx_event *event, const struct evtx_outline *outline);

/* The metadata that evtx_event_fill made. */
struct span evtx_event_blob(const struct evtx_event *event);

/* Add an extended item. A record has at most EVTX_EVENT_ITEMS. */
void evtx_event_add_item(struct evtx_event *event, uint16_t type, struct span data);

/* Set the event's message to a copy of ${utf16}, with LF as line ends and without white space at
 * the end. It replaces the message from the XML. Call after evtx_event_fill. */
void evtx_event_set_message(struct evtx_event *event, struct span utf16);

#endif
