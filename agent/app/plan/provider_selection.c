#include "app/plan/provider_selection.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "event/value/wpp_format.h"
#include "schema/source/known_providers.h"
#include "schema/wpp/wpp.h"

enum { MAX_PROVIDERS = 1024 };

/* In here a spec by name has a GUID, too: the known one, else the one that EventSource and
 * TraceLogging derive from the name. */
struct selected {
    struct provider_spec spec;
    struct wpp_guids *messages; /* NULL: it has no formats */
    bool is_shared;             /* they are those of one before */
};

struct provider_selection {
    size_t count;
    atomic_bool *matched; /* by entry */
    bool is_live;
    struct selected list[];
};

static struct provider_selection *allocate(size_t count, struct error *err)
{
    struct provider_selection *selection = NULL;
    if (count > MAX_PROVIDERS) {
        error_set(err, ERR_LIMIT, "at most %d providers can be selected", MAX_PROVIDERS);
        return NULL;
    }
    selection = calloc(1, sizeof(*selection) + count * sizeof(selection->list[0]));
    if (selection) {
        selection->matched = calloc(count + 1, sizeof(*selection->matched));
    }
    if (!selection || !selection->matched) {
        error_set(err, ERR_MEMORY, "out of memory");
        free(selection);
        return NULL;
    }
    return selection;
}

static void derive_guid(struct provider_spec *spec)
{
    if (spec->name.size && guid_is_zero(&spec->guid) &&
        !known_providers_guid(spec->name, &spec->guid)) {
        spec->guid = guid_from_name(spec->name);
    }
}

struct provider_selection *provider_selection_create(
    const char *const *texts, size_t count, struct error *err)
{
    struct provider_selection *selection = allocate(count, err);
    for (size_t i = 0; selection && i < count; i++) {
        struct error why;
        struct provider_spec *spec = &selection->list[selection->count++].spec;
        if (!provider_spec_parse(spec, span_text(texts[i]), &why)) {
            error_set(err, why.code, "provider '%.100s': %s", texts[i], why.text);
            provider_selection_destroy(selection);
            return NULL;
        }
        derive_guid(spec);
    }
    return selection;
}

/* The files are read once, however many name them. */
static bool find_messages(
    const struct provider_selection *selection, struct selected *to, struct error *err)
{
    const char *path = to->spec.wpp;
    for (const struct selected *at = selection->list; path && at < to; at++) {
        if (at->spec.wpp && strcmp(at->spec.wpp, path) == 0) {
            to->messages = at->messages;
            to->is_shared = true;
            return true;
        }
    }
    to->messages = path ? wpp_guids_read(path, err) : NULL;
    return !path || to->messages;
}

struct provider_selection *provider_selection_create_from(
    const struct provider_spec *specs, size_t count, bool is_live, struct error *err)
{
    struct provider_selection *selection = allocate(count, err);
    if (selection) {
        selection->is_live = is_live;
    }
    for (size_t i = 0; selection && i < count; i++) {
        struct selected *to = &selection->list[selection->count++];
        to->spec = specs[i];
        derive_guid(&to->spec);
        if (!find_messages(selection, to, err)) {
            provider_selection_destroy(selection);
            return NULL;
        }
    }
    return selection;
}

void provider_selection_destroy(struct provider_selection *selection)
{
    for (size_t i = 0; selection && i < selection->count; i++) {
        if (!selection->list[i].is_shared) {
            wpp_guids_destroy(selection->list[i].messages);
        }
    }
    if (selection) {
        free(selection->matched);
    }
    free(selection);
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool is_from(const struct selected *selected, const struct event *event)
{
    const struct provider_spec *spec = &selected->spec;
    const struct event_schema *schema = event->schema;
    if (selected->messages && event->record->kind == RECORD_MESSAGE &&
        wpp_guids_has(selected->messages, &event->record->provider)) {
        return true;
    }
    if (spec->wpp && guid_is_zero(&spec->guid)) {
        return false;
    }
    if (spec->name.size == 0) {
        /* Events with a decode GUID are enabled by their control GUID,
         * which is an item of theirs. */
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

/* What the code that writes a message looks at before it does; a record does not hold it, but the
 * format has names. Those of levels: evntrace.h. A bit of the flags may have several names, of
 * which the format has one. */
static bool passes_format(const struct provider_spec *spec, const struct event *event)
{
    static const char *const levels[][2] = {{"TRACE_LEVEL_CRITICAL", "TRACE_LEVEL_FATAL"},
        {"TRACE_LEVEL_ERROR", "TRACE_LEVEL_ERROR"}, {"TRACE_LEVEL_WARNING", "TRACE_LEVEL_WARNING"},
        {"TRACE_LEVEL_INFORMATION", "TRACE_LEVEL_INFO"},
        {"TRACE_LEVEL_VERBOSE", "TRACE_LEVEL_VERBOSE"}};
    const struct wpp_format *format = event->schema ? event->schema->wpp : NULL;
    if (!format) {
        return true;
    }
    for (uint8_t i = 0; spec->level && i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (i + 1 > spec->level &&
            (span_is(format->level, levels[i][0]) || span_is(format->level, levels[i][1]))) {
            return false;
        }
    }
    bool any = spec->flags.count == 0 || format->flags.size == 0;
    for (size_t i = 0; i < spec->flags.count && !any; i++) {
        uint64_t bits;
        any = span_equal_nocase(format->flags, span_text(spec->flags.items[i])) ||
              provider_spec_parse_bits(span_text(spec->flags.items[i]), &bits);
    }
    return any;
}

static bool selects(const struct provider_selection *selection, const struct selected *selected,
    const struct event *event)
{
    const struct provider_spec *spec = &selected->spec;
    const struct event_descriptor *d = &event->record->descriptor;
    if (!is_from(selected, event) || !is_of_process(spec, event->record)) {
        return false;
    }
    if (event->record->kind == RECORD_MESSAGE) {
        return is_wanted(spec, d->id, event) && (selection->is_live || passes_format(spec, event));
    }
    if (event->record->kind != RECORD_EVENT) {
        return is_wanted(spec, d->opcode, event);
    }
    bool level = d->level == 0 || spec->level == 0 || d->level <= spec->level;
    return level && is_wanted(spec, d->id, event) && passes_masks(spec, d->keyword);
}

bool provider_selection_knows(const struct provider_selection *selection, const struct event *event)
{
    for (size_t i = 0; i < selection->count; i++) {
        if (is_from(&selection->list[i], event)) {
            return true;
        }
    }
    return false;
}

bool provider_selection_passes(
    const struct provider_selection *selection, const struct event *event)
{
    for (size_t i = 0; i < selection->count; i++) {
        if (selects(selection, &selection->list[i], event)) {
            /* Written once, so that the line stays in every processor's cache. */
            if (!atomic_load_explicit(&selection->matched[i], memory_order_relaxed)) {
                atomic_store_explicit(&selection->matched[i], true, memory_order_relaxed);
            }
            return true;
        }
    }
    return selection->count == 0;
}

/* ---- what matched nothing -------------------------------------------------------------------- */

size_t provider_selection_count(const struct provider_selection *selection)
{
    return selection->count;
}

const struct provider_spec *provider_selection_spec(
    const struct provider_selection *selection, size_t index)
{
    return &selection->list[index].spec;
}

bool provider_selection_matched(const struct provider_selection *selection, size_t index)
{
    return atomic_load_explicit(&selection->matched[index], memory_order_relaxed);
}

bool provider_selection_asks(const struct provider_selection *selection, size_t index,
    const struct event *event, bool *ret_passes)
{
    *ret_passes = selects(selection, &selection->list[index], event);
    return is_from(&selection->list[index], event);
}
