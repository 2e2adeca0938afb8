#ifndef ETWSHIP_SCHEMA_MANIFEST_SET_H
#define ETWSHIP_SCHEMA_MANIFEST_SET_H

#include "schema/binary/parameter_files.h"
#include "schema/manifest/manifest_events.h"
#include "schema/source/schema_source.h"

/*
 * The manifests of one source, from the files and folders that the user names. All are read when
 * the source is created. Every manifest is searched once per event type (binary search). Candidates
 * come in the order of the settings; within a folder the more detailed definition comes first, then
 * path order.
 */
enum { MANIFEST_SET_MAX = 8192 };

struct manifest_set_item {
    struct manifest *manifest;
    size_t group;
};

/* Also the `self` of its source. */
struct manifest_set {
    struct manifest_set_item *items;
    size_t count;
    size_t capacity;
    struct parameter_files *parameters; /* owned; NULL: the source has none */

    /* Used during filling. */
    const struct schema_source_settings *settings; /* NULL afterwards */
    size_t group; /* index of the current setting; never decreases */
    bool is_full; /* the limit was reached and reported */
};

/* An empty set; NULL with ${err} set if memory is short. */
struct manifest_set *manifest_set_create(
    const struct schema_source_settings *settings, struct error *err);

/* False if the set is full; the first time a warning names ${path}. */
bool manifest_set_has_room(struct manifest_set *set, const char *path);

/* Add ${manifest}, read from the file at ${path}; the set takes ownership. NULL: warn with
 * ${err}. */
void manifest_set_add(
    struct manifest_set *set, struct manifest *manifest, const char *path, const struct error *err);

/* Implementations of schema_source_ops.find, .list and .destroy; ${self} is the set. */
void manifest_set_find(
    void *self, const struct event_record *record, struct schema_candidates *found);
void manifest_set_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self);
void manifest_set_destroy(void *self);

#endif
