#ifndef ETWSHIP_SCHEMA_MANIFEST_SET_H
#define ETWSHIP_SCHEMA_MANIFEST_SET_H

#include "schema/manifest_events.h"
#include "schema/schema_source.h"

/*
 * The manifests of one source, from the files and folders that the user named, all read when the
 * source is made. Per event type every manifest is asked, a binary search each: that happens once
 * per type. Candidates come in the order of the settings; within a folder the definition that says
 * more stands first, then path order.
 */
enum { MANIFEST_SET_MAX = 8192 };

struct manifest_set_item {
    struct manifest *manifest;
    size_t group;
};

/* Also the object of its source. */
struct manifest_set {
    struct manifest_set_item *items;
    size_t count;
    size_t capacity;

    /* While it is filled. */
    const struct schema_source_settings *settings; /* NULL afterwards */
    size_t group; /* index of the setting that is read: never less than before */
    bool is_full; /* and said so */
};

/* An empty set; NULL with ${err} set when memory ends. */
struct manifest_set *manifest_set_create(
    const struct schema_source_settings *settings, struct error *err);

/* Is there room for what the file at ${path} has? What is beyond the limit is told once. */
bool manifest_set_has_room(struct manifest_set *set, const char *path);

/* Add what was made of the file at ${path}, which is the set's from then on: ${manifest}, or NULL if
 * ${err} says why that could not be, which is told. */
void manifest_set_add(
    struct manifest_set *set, struct manifest *manifest, const char *path, const struct error *err);

/* schema_source_ops.find, .list and .destroy: ${self} is the set. */
void manifest_set_find(
    void *self, const struct event_record *record, struct schema_candidates *found);
void manifest_set_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self);
void manifest_set_destroy(void *self);

#endif
