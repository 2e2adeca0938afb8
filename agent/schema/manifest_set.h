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

struct manifest_set {
    struct manifest_set_item *items;
    size_t count;
    size_t capacity;
};

void manifest_set_fini(struct manifest_set *set); /* of a zeroed one, too */

/* Add ${manifest}, which is the set's from then on; ${group}: index of the setting it belongs to,
 * never less than before. False, and it is destroyed, when memory ends. */
bool manifest_set_add(struct manifest_set *set, struct manifest *manifest, size_t group);

/* As schema_source_ops.find and .list. */
void manifest_set_find(const struct manifest_set *set, const struct event_record *record,
    struct schema_candidates *found);
void manifest_set_list(const struct manifest_set *set,
    void (*each)(void *each_self, const struct event_schema *schema), void *each_self);

#endif
