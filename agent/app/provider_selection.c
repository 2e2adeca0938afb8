#include "app/provider_selection.h"

#include <stdlib.h>

enum { MAX_PROVIDERS = 1024 };

/* In here a spec by name has a GUID, too: where none is known, the one that EventSource and
 * TraceLogging derive from the name. */
struct provider_selection {
    size_t count;
    struct provider_spec specs[];
};

static struct provider_selection *allocate(size_t count, struct error *err)
{
    struct provider_selection *selection = NULL;
    if (count > MAX_PROVIDERS) {
        error_set(err, ERR_LIMIT, "at most %d providers can be selected", MAX_PROVIDERS);
        return NULL;
    }
    selection = calloc(1, sizeof(*selection) + count * sizeof(selection->specs[0]));
    if (!selection) {
        error_set(err, ERR_MEMORY, "out of memory");
    }
    return selection;
}

static void derive_guid(struct provider_spec *spec)
{
    if (spec->name.size && guid_is_zero(&spec->guid)) {
        spec->guid = guid_from_name(spec->name);
    }
}

struct provider_selection *provider_selection_create(
    const char *const *texts, size_t count, struct error *err)
{
    struct provider_selection *selection = allocate(count, err);
    for (size_t i = 0; selection && i < count; i++) {
        struct error why;
        if (!provider_spec_parse(&selection->specs[i], span_text(texts[i]), &why)) {
            error_set(err, why.code, "provider '%.100s': %s", texts[i], why.text);
            provider_selection_destroy(selection);
            return NULL;
        }
        derive_guid(&selection->specs[i]);
        selection->count++;
    }
    return selection;
}

struct provider_selection *provider_selection_create_from(
    const struct provider_spec *specs, size_t count, struct error *err)
{
    struct provider_selection *selection = allocate(count, err);
    for (size_t i = 0; selection && i < count; i++) {
        selection->specs[i] = specs[i];
        derive_guid(&selection->specs[i]);
        selection->count++;
    }
    return selection;
}

void provider_selection_destroy(struct provider_selection *selection)
{
    free(selection);
}

/* ---- matching --------------------------------------------------------------------------------------- */

static bool is_from(const struct provider_spec *spec, const struct event *event)
{
    const struct event_schema *schema = event->schema;
    if (spec->name.size == 0) {
        /* Events with a decode GUID are enabled by their control GUID, which is an item of theirs. */
        const struct extended_item *control = record_extended(event->record, EXTENDED_CONTROL_GUID);
        if (control && control->data.size == sizeof(spec->guid.bytes) &&
            memcmp(control->data.data, spec->guid.bytes, control->data.size) == 0) {
            return true;
        }
        return guid_equal(&spec->guid, &event->record->provider) ||
               (schema && guid_equal(&spec->guid, &schema->provider));
    }
    return guid_equal(&spec->guid, &event->record->provider) ||
           (schema && span_equal_nocase(spec->name, schema->provider_name));
}

static bool lists(const struct provider_events *events, uint16_t id, struct span name)
{
    for (size_t i = 0; i < events->range_count; i++) {
        if (id >= events->ranges[i].first && id <= events->ranges[i].last) {
            return true;
        }
    }
    for (size_t i = 0; i < events->name_count; i++) {
        if (span_is(name, events->names[i])) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const struct provider_spec *spec, uint16_t id, const struct event *event)
{
    struct span name = event->schema ? event->schema->event_name : span_text("");
    bool all = spec->include.range_count == 0 && spec->include.name_count == 0;
    return (all || lists(&spec->include, id, name)) && !lists(&spec->exclude, id, name);
}

/* As providers check it: a mask of 0 lets everything through. Names without bits let nothing. */
static bool passes_masks(const struct provider_spec *spec, uint64_t keyword)
{
    if (keyword == 0) {
        return !spec->only_keywords;
    }
    bool any = (spec->any.bits == 0 && spec->any.name_count == 0) || (keyword & spec->any.bits);
    return any && (keyword & spec->all.bits) == spec->all.bits;
}

static bool is_of_process(const struct provider_spec *spec, const struct event_record *record)
{
    for (size_t i = 0; i < spec->pid_count; i++) {
        if (record->present & RECORD_HAS_PROCESS && record->process_id == spec->pids[i]) {
            return true;
        }
    }
    return spec->pid_count == 0;
}

static bool selects(const struct provider_spec *spec, const struct event *event)
{
    const struct event_descriptor *d = &event->record->descriptor;
    if (!is_from(spec, event) || !is_of_process(spec, event->record)) {
        return false;
    }
    if (event->record->kind != RECORD_EVENT) {
        uint16_t id = event->record->kind == RECORD_MESSAGE ? d->id : d->opcode;
        return is_wanted(spec, id, event);
    }
    bool level = d->level == 0 || spec->level == 0 || d->level <= spec->level;
    return level && is_wanted(spec, d->id, event) && passes_masks(spec, d->keyword);
}

bool provider_selection_knows(const struct provider_selection *selection, const struct event *event)
{
    for (size_t i = 0; i < selection->count; i++) {
        if (is_from(&selection->specs[i], event)) {
            return true;
        }
    }
    return false;
}

bool provider_selection_passes(
    const struct provider_selection *selection, const struct event *event)
{
    for (size_t i = 0; i < selection->count; i++) {
        if (selects(&selection->specs[i], event)) {
            return true;
        }
    }
    return selection->count == 0;
}
