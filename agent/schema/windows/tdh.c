#include "schema/source/schema_source.h"
#include "schema/windows/tdh_question.h"
#include "schema/windows/tdh_service.h"

/*
 * Definitions from Windows itself: manifests and MOF classes registered on this machine. Without
 * TDH there are none. Classic events are only requested if no other source has a layout, because
 * WMI answers slowly.
 */
static void *tdh_create(const struct schema_source_settings *settings, struct error *err)
{
    struct tdh_service_settings service = {
        .warn = settings->warn, .warn_self = settings->warn_self};
    return tdh_service_create(&service, err);
}

static bool has_layout(const struct schema_candidates *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (found->list[i]->has_layout) {
            return true;
        }
    }
    return false;
}

static void tdh_find(void *self, const struct event_record *record, struct schema_candidates *found)
{
    if (!tdh_question_makes_sense(record) || (record->kind != RECORD_EVENT && has_layout(found))) {
        return;
    }
    bool late;
    schema_candidates_add(found, tdh_service_find(self, record, &late));
    found->late |= late;
}

static uint64_t tdh_news(void *self)
{
    return tdh_service_news(self);
}

static void tdh_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    tdh_service_list(self, each, each_self);
}

static void tdh_destroy(void *self)
{
    tdh_service_destroy(self);
}

const struct schema_source_ops schema_source_tdh = {
    .name = "tdh",
    .shared = true,
    .create = tdh_create,
    .find = tdh_find,
    .news = tdh_news,
    .list = tdh_list,
    .destroy = tdh_destroy,
};
