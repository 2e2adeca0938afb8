#include "input/windows/etw_provider_names.h"

#include <stdio.h>
#include <stdlib.h>

#include "etw/enable/etw_known.h"
#include "input/windows/etw_tell.h"

#define NOTE(of, ...) etw_tell((of)->note, (of)->self, __VA_ARGS__)

bool etw_provider_names_init(struct etw_provider_names *names, const struct etw_plan *plan,
    void (*tell)(void *self, enum input_note level, const char *text), void *self)
{
    names->note = tell;
    names->self = self;
    names->entries = calloc(plan->entry_count + 1, sizeof(*names->entries));
    if (!names->entries) {
        return false;
    }
    for (size_t i = 0; i < plan->entry_count; i++) {
        names->entries[i].plan = &plan->entries[i];
        etw_provider_payload_init(&names->entries[i].payload);
    }
    names->count = plan->entry_count;
    return true;
}

void etw_provider_names_fini(struct etw_provider_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        etw_provider_payload_fini(&names->entries[i].payload);
    }
    free(names->entries);
    names->entries = NULL;
    names->count = 0;
}

bool etw_provider_names_are_missing(const struct etw_provider_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (!names->entries[i].is_settled || names->entries[i].is_unknown) {
            return true;
        }
    }
    return false;
}

/* ---- one name -------------------------------------------------------------------------------- */

struct asker {
    const struct etw_provider_names *names;
    const char *label;
};

static void tell_unknown_event(void *self, const char *event_id)
{
    const struct asker *asker = self;
    NOTE(asker->names, INPUT_NOTE_WARNING,
        "provider %s: no manifest on this machine describes event %s, so its payload filter is not "
        "used",
        asker->label, event_id);
}

static void make_payload(struct etw_provider_names *names, struct etw_provider_entry *entry)
{
    struct asker asker = {.names = names, .label = entry->plan->label};
    etw_provider_payload_make(
        &entry->payload, entry->plan->spec, &entry->guid, tell_unknown_event, &asker);
}

/* Without a GUID Windows cannot be queried. */
static void settle_without_guid(struct etw_provider_names *names, struct etw_provider_entry *entry)
{
    if (!entry->is_settled) {
        NOTE(names, INPUT_NOTE_WARNING,
            "WPP messages are enabled by the control GUID of their provider. add name: GUID "
            "to the entry with wpp");
    }
    entry->is_settled = true;
}

static void tell_found(
    const struct etw_provider_names *names, const struct etw_provider_entry *entry, bool is_unknown)
{
    if (entry->is_unknown && !is_unknown) {
        NOTE(names, INPUT_NOTE_INFO, "provider %s was found", entry->plan->label);
    } else if (is_unknown && !entry->is_unknown && entry->is_listed) {
        NOTE(names, INPUT_NOTE_INFO,
            "provider %s is no longer installed or registered by a program. it stays "
            "enabled, and the agent keeps looking for it",
            entry->plan->label);
    } else if (is_unknown && !entry->is_unknown) {
        NOTE(names, INPUT_NOTE_INFO,
            "provider %s is neither installed nor registered by a program. it is enabled "
            "as a TraceLogging provider of that name, and the agent keeps looking for it",
            entry->plan->label);
    }
}

/* Process an answer of Windows. */
static void settle(struct etw_provider_names *names, struct etw_provider_entry *entry,
    const struct guid *guid, enum etw_known_answer answer, struct etw_provider_names_news *news)
{
    bool is_unknown = answer == ETW_KNOWN_NOWHERE;
    tell_found(names, entry, is_unknown);
    news->soon = news->soon || (is_unknown && entry->is_listed && !entry->is_unknown);
    bool changed = !entry->is_settled || !guid_equal(guid, &entry->guid);
    entry->guid = *guid;
    entry->is_settled = true;
    entry->is_listed = entry->is_listed || answer == ETW_KNOWN_LISTED;
    entry->is_unknown = is_unknown;
    if (changed) {
        make_payload(names, entry);
        news->changed = true;
    }
}

/* Windows did not answer. A name that was found stays found. One that was never found may be a
 * TraceLogging provider, which loses no events meanwhile. */
static void leave(struct etw_provider_entry *entry, struct etw_provider_names_news *news)
{
    if (guid_is_zero(&entry->guid)) {
        entry->guid = entry->plan->request.provider;
        news->changed = true;
    }
}

/* ---- look-ups -------------------------------------------------------------------------------- */

static void tell_failure(struct etw_provider_names *names, const struct error *err)
{
    if (!names->failure_told) {
        NOTE(names, INPUT_NOTE_WARNING,
            "%s. providers that were not found before are enabled as TraceLogging "
            "providers. trying again",
            err->text);
    }
    names->failure_told = true;
}

/* ${failed}: Windows did not return its list during this look-up. A failing call may be slow, so it
 * is not repeated for every name. */
static enum etw_known_answer ask(struct etw_provider_names *names,
    const struct etw_provider_entry *entry, uint64_t now_ns, uint64_t max_age_ns, struct guid *guid,
    bool *failed)
{
    struct error err = {0};
    if (!entry->plan->named) {
        return ETW_KNOWN_NO_LIST;
    }
    if (*failed) {
        return ETW_KNOWN_FAILED;
    }
    enum etw_known_answer answer = etw_known_find(
        span_text(entry->plan->label), now_ns, max_age_ns, guid, &err);
    if (answer == ETW_KNOWN_FAILED) {
        tell_failure(names, &err);
        *failed = true;
    }
    return answer;
}

struct etw_provider_names_news etw_provider_names_look(
    struct etw_provider_names *names, uint64_t now_ns, uint64_t max_age_ns)
{
    struct etw_provider_names_news news = {.changed = false};
    bool failed = false;
    for (size_t i = 0; i < names->count; i++) {
        struct etw_provider_entry *entry = &names->entries[i];
        struct guid guid = entry->is_listed ? entry->guid : entry->plan->request.provider;
        if (guid_is_zero(&guid)) {
            settle_without_guid(names, entry);
            continue;
        }
        enum etw_known_answer answer = ask(names, entry, now_ns, max_age_ns, &guid, &failed);
        if (answer == ETW_KNOWN_FAILED) {
            leave(entry, &news);
        } else {
            settle(names, entry, &guid, answer, &news);
        }
    }
    names->failure_told = failed;
    news.soon = news.soon || failed;
    return news;
}
