#include "schema/manifest/manifest_set.h"

#include <stdlib.h>

#include "base/grow.h"
#include "schema/source/schema_files.h"

struct manifest_set *manifest_set_create(
    const struct schema_source_settings *settings, struct error *err)
{
    struct manifest_set *set = calloc(1, sizeof(*set));
    if (!set) {
        error_set(err, ERR_MEMORY, "no memory for manifests");
        return NULL;
    }
    set->settings = settings;
    return set;
}

void manifest_set_destroy(void *self)
{
    struct manifest_set *set = self;
    if (set) {
        for (size_t i = 0; i < set->count; i++) {
            manifest_events_destroy(set->items[i].manifest);
        }
        parameter_files_destroy(set->parameters);
        free(set->items);
        free(set);
    }
}

bool manifest_set_has_room(struct manifest_set *set, const char *path)
{
    if (set->count < MANIFEST_SET_MAX) {
        return true;
    }
    if (!set->is_full) {
        schema_files_warn(
            set->settings, path, "too many manifests; this file and further files are ignored");
        set->is_full = true;
    }
    return false;
}

void manifest_set_add(
    struct manifest_set *set, struct manifest *manifest, const char *path, const struct error *err)
{
    if (!manifest) {
        schema_files_warn(set->settings, path, err->text);
    } else if (!grow_list(&set->items, set->count, &set->capacity, sizeof(*set->items))) {
        manifest_events_destroy(manifest);
        schema_files_warn(set->settings, path, "out of memory");
    } else {
        set->items[set->count++] = (struct manifest_set_item){
            .manifest = manifest, .group = set->group};
    }
}

/* Score how much a definition says beyond the layout. */
static size_t richness(const struct event_schema *schema)
{
    size_t score = schema->message.size ? 1 : 0;
    for (size_t i = 0; i < schema->field_count; i++) {
        score += schema->fields[i].map ? 1 : 0;
        score += schema->fields[i].out_type != OUT_NULL ? 1 : 0;
    }
    return score;
}

/* The candidates of one folder, best first; ties keep path order. */
struct ranking {
    const struct event_schema *list[SCHEMA_MAX_CANDIDATES];
    size_t score[SCHEMA_MAX_CANDIDATES];
    size_t count;
};

static void rank(struct ranking *ranking, const struct event_schema *schema)
{
    size_t score = richness(schema);
    size_t place = ranking->count;
    while (place > 0 && ranking->score[place - 1] < score) {
        place--;
    }
    if (place == SCHEMA_MAX_CANDIDATES) {
        return;
    }
    if (ranking->count < SCHEMA_MAX_CANDIDATES) {
        ranking->count++;
    }
    for (size_t i = ranking->count - 1; i > place; i--) {
        ranking->list[i] = ranking->list[i - 1];
        ranking->score[i] = ranking->score[i - 1];
    }
    ranking->list[place] = schema;
    ranking->score[place] = score;
}

static void rank_file(
    struct ranking *ranking, const struct manifest *manifest, const struct event_record *record)
{
    size_t first = 0;
    size_t count = manifest_events_find(
        manifest, &record->provider, record->descriptor.id, record->descriptor.version, &first);
    for (size_t i = first; i < first + count; i++) {
        rank(ranking, manifest->events[i]);
    }
}

void manifest_set_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    const struct manifest_set *set = self;
    if (record->kind != RECORD_EVENT) {
        return;
    }
    for (size_t i = 0; i < set->count;) {
        struct ranking ranking = {.count = 0};
        size_t group = set->items[i].group;
        for (; i < set->count && set->items[i].group == group; i++) {
            rank_file(&ranking, set->items[i].manifest, record);
        }
        for (size_t k = 0; k < ranking.count; k++) {
            schema_candidates_add(found, ranking.list[k]);
        }
    }
}

void manifest_set_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    const struct manifest_set *set = self;
    for (size_t i = 0; i < set->count; i++) {
        const struct manifest *manifest = set->items[i].manifest;
        for (size_t k = 0; k < manifest->event_count; k++) {
            each(each_self, manifest->events[k]);
        }
    }
}
