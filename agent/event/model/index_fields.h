#ifndef ETWSHIP_EVENT_INDEX_FIELDS_H
#define ETWSHIP_EVENT_INDEX_FIELDS_H

#include "base/error.h"
#include "event/model/schema.h"

/*
 * The payload fields of some event types in JSON, with the index type of each, so that numbers,
 * times and addresses can be searched by ranges. The types follow the tables of values in
 * README.md. If definitions differ in a field, it gets a type that holds all its values:
 *
 *   whole numbers of several widths          the wider one;
 *                                            with 64 bits, signed and unsigned: signed
 *   whole numbers and floats                 floats
 *   any other two kinds of values            text
 *   values and objects                       none: it is kept, and cannot be searched
 *
 * An index has room for a limited number of fields. Fields with ranges are chosen first, then
 * fields of most event types. One thread at a time.
 */
enum index_type {
    INDEX_TEXT,     /* as it stands: strings, hex, GUIDs, SIDs, bytes, names */
    INDEX_NATURAL,  /* up to 32 bits, never negative */
    INDEX_LONG,     /* up to 64 bits, signed */
    INDEX_UNSIGNED, /* 64 bits, maybe a string */
    INDEX_DOUBLE,
    INDEX_BOOLEAN,
    INDEX_TIME, /* ISO 8601, or hex where it is out of range */
    INDEX_IP,
    INDEX_OBJECT, /* has fields of its own */
    INDEX_NONE,   /* objects in some events, values in others */
    INDEX_TYPES,
};

/* A field. All texts belong to the set. */
struct index_field {
    struct span name;                     /* as JSON has it, not escaped */
    struct span path;                     /* names with dots between them */
    enum index_type type;                 /* type that holds all its values */
    struct span event_types[INDEX_TYPES]; /* first event type with this type; NULL data: none */
    bool differs;                         /* definitions differ in its type */
    bool chosen;                          /* chosen: the index has room for it */
    uint32_t events;                      /* number of definitions that have it */
    struct index_field *above;            /* the object that has it; NULL: the payload */
    struct index_field *first;            /* of INDEX_OBJECT: its first chosen field, by name */
    struct index_field *next;             /* the next chosen one of the same object */
};

struct index_counts {
    size_t fields;   /* fields that could have a type */
    size_t chosen;   /* fields that have one */
    size_t taken;    /* used of the index's room, objects around them included */
    size_t room;     /* the index's room */
    size_t differ;   /* fields in which definitions differ */
    size_t unusable; /* fields whose names an index does not take */
};

struct index_fields;

/* ${is_ecs}: of the ecs event, else of the native one. NULL with ${err} set: out of memory. */
struct index_fields *index_fields_create(bool is_ecs, struct error *err);
void index_fields_destroy(struct index_fields *set); /* NULL is fine */

/* Add the payload of one event type. If there is no memory, index_fields_choose says so. */
void index_fields_add(struct index_fields *set, const struct event_schema *schema);

/* After all were added: choose the fields for an index with ${room}. False with ${err} set: out of
 * memory. */
bool index_fields_choose(struct index_fields *set, size_t room, struct error *err);

/* ---- after that ------------------------------------------------------------------------------ */

struct index_counts index_fields_counts(const struct index_fields *set);

/* The first chosen field of the payload, by name; NULL: there is none. */
const struct index_field *index_fields_first(const struct index_fields *set);

/* The fields in which definitions differ, by path, one after the other: start with *cursor = 0.
 * NULL at the end. */
const struct index_field *index_fields_differing(const struct index_fields *set, size_t *cursor);

/* Name of a type for people: "text", "a number of 64 bits". */
const char *index_fields_word(enum index_type type);

#endif
