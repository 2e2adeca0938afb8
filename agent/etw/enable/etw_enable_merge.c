#include "etw/enable/etw_enable.h"
#include "etw/enable/etw_filters.h"

/*
 * Two requests for one provider in one session: ETW accepts one, so it gets a request that covers
 * both, and the agent's own filter decides exactly. Every step yields a superset, so dropping a
 * filter is always correct.
 */
enum { EVERY_LEVEL = 0xff };

/* Properties that exclude events: the result has one only if both requests have it. */
enum { RESTRICTING = ETW_ENABLE_IGNORE_KEYWORD_0 | ETW_ENABLE_EXCLUDE_INPRIVATE };

static uint8_t higher_level(uint8_t a, uint8_t b)
{
    if (a == 0 || b == 0) {
        return EVERY_LEVEL;
    }
    return a > b ? a : b;
}

/* ---- sets of ids ----------------------------------------------------------------------------- */

/* Keep only those ${ids} that ${other} has (${present}), or lacks. */
static void keep_ids(struct etw_filter_ids *ids, const struct etw_filter_ids *other, bool present)
{
    uint16_t kept = 0;
    for (size_t i = 0; i < ids->count; i++) {
        if (etw_enable_has_id(other, ids->ids[i]) == present) {
            ids->ids[kept++] = ids->ids[i];
        }
    }
    ids->count = kept;
}

static void add_ids(struct etw_filter_ids *ids, const struct etw_filter_ids *other)
{
    for (size_t i = 0; i < other->count; i++) {
        if (etw_enable_has_id(ids, other->ids[i])) {
            continue;
        }
        if (ids->count == ETW_MAX_FILTER_IDS) {
            ids->count = 0; /* too many for ETW: all of them */
            return;
        }
        ids->ids[ids->count++] = other->ids[i];
    }
}

static void merge_ids(struct etw_filter_ids *into, const struct etw_filter_ids *other)
{
    if (into->count == 0 || other->count == 0) {
        into->count = 0;
    } else if (!into->exclude && !other->exclude) {
        add_ids(into, other);
    } else if (into->exclude) {
        keep_ids(into, other, other->exclude);
    } else {
        struct etw_filter_ids included = *into;
        *into = *other;
        keep_ids(into, &included, false);
    }
}

/* ---- sets of texts, merged like ids ---------------------------------------------------------- */

static bool has_text(const struct etw_filter_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (strcmp(texts->texts[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void keep_texts(
    struct etw_filter_texts *texts, const struct etw_filter_texts *other, bool present)
{
    uint16_t kept = 0;
    for (size_t i = 0; i < texts->count; i++) {
        if (has_text(other, texts->texts[i]) == present) {
            texts->texts[kept++] = texts->texts[i];
        }
    }
    texts->count = kept;
}

static void add_texts(struct etw_filter_texts *texts, const struct etw_filter_texts *other)
{
    for (size_t i = 0; i < other->count; i++) {
        if (has_text(texts, other->texts[i])) {
            continue;
        }
        if (texts->count == ETW_MAX_FILTER_TEXTS) {
            texts->count = 0;
            return;
        }
        texts->texts[texts->count++] = other->texts[i];
    }
}

static void merge_texts(struct etw_filter_texts *into, const struct etw_filter_texts *other)
{
    if (into->count == 0 || other->count == 0) {
        into->count = 0;
    } else if (!into->exclude && !other->exclude) {
        add_texts(into, other);
    } else if (into->exclude) {
        keep_texts(into, other, other->exclude);
    } else {
        struct etw_filter_texts included = *into;
        *into = *other;
        keep_texts(into, &included, false);
    }
}

/* ---- merging --------------------------------------------------------------------------------- */

static void merge_pids(struct etw_request *into, const struct etw_request *other)
{
    if (into->pid_count == 0 || other->pid_count == 0) {
        into->pid_count = 0;
        return;
    }
    for (size_t i = 0; i < other->pid_count; i++) {
        size_t at = 0;
        while (at < into->pid_count && into->pids[at] != other->pids[i]) {
            at++;
        }
        if (at < into->pid_count) {
            continue;
        }
        if (into->pid_count == ETW_MAX_FILTER_PIDS) {
            into->pid_count = 0;
            return;
        }
        into->pids[into->pid_count++] = other->pids[i];
    }
}

enum {
    STACK_KINDS = ETW_FILTER_KIND(ETW_FILTER_STACKWALK) |
                  ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME) |
                  ETW_FILTER_KIND(ETW_FILTER_STACKWALK_LEVEL_KW)
};

static bool wants_stacks(const struct etw_request *request)
{
    return (request->properties & ETW_ENABLE_STACK_TRACE) != 0 ||
           (etw_enable_kinds(request) & STACK_KINDS) != 0;
}

static void copy_stacks(struct etw_request *into, const struct etw_request *from)
{
    into->stack_events = from->stack_events;
    into->stack_names = from->stack_names;
    into->stack_by_level = from->stack_by_level;
    into->stack_level_exclude = from->stack_level_exclude;
    into->stack_level = from->stack_level;
    into->stack_any = from->stack_any;
    into->stack_all = from->stack_all;
}

/* Keywords and level as in EnableTraceEx2: no keyword means every keyword. */
static void merge_keywords(uint64_t *any, uint64_t *all, uint64_t other_any, uint64_t other_all)
{
    *any = *any == 0 || other_any == 0 ? 0 : *any | other_any;
    *all = *any == 0 ? 0 : *all & other_all;
}

static void merge_stacks(struct etw_request *into, const struct etw_request *other)
{
    if (!wants_stacks(other)) {
        return;
    }
    bool wanted = wants_stacks(into);
    into->properties |= ETW_ENABLE_STACK_TRACE; /* also if no filter is left */
    if (!wanted) {
        copy_stacks(into, other);
        return;
    }
    /* The combination of different kinds of filters is undocumented: they must be equal. */
    uint32_t kinds = etw_enable_kinds(into) & STACK_KINDS;
    bool are_alike = kinds == (etw_enable_kinds(other) & STACK_KINDS) &&
                     into->stack_level_exclude == other->stack_level_exclude;
    if (!are_alike || into->stack_level_exclude) {
        etw_enable_drop(into, STACK_KINDS);
        return;
    }
    merge_ids(&into->stack_events, &other->stack_events);
    merge_texts(&into->stack_names, &other->stack_names);
    into->stack_level = higher_level(into->stack_level, other->stack_level);
    merge_keywords(&into->stack_any, &into->stack_all, other->stack_any, other->stack_all);
    if ((etw_enable_kinds(into) & STACK_KINDS) != kinds) {
        etw_enable_drop(into, STACK_KINDS);
    }
}

void etw_enable_merge(struct etw_request *into, const struct etw_request *other)
{
    uint32_t restricting = into->properties & other->properties & RESTRICTING;
    merge_stacks(into, other);
    into->properties = ((into->properties | other->properties) & ~(uint32_t)RESTRICTING) |
                       restricting;
    into->level = higher_level(into->level, other->level);
    merge_keywords(&into->any, &into->all, other->any, other->all);
    into->named |= other->named;
    into->timeout_ms = into->timeout_ms > other->timeout_ms ? into->timeout_ms : other->timeout_ms;
    merge_pids(into, other);
    into->pids_are_spare = into->pids_are_spare || other->pids_are_spare;
    merge_texts(&into->executables, &other->executables);
    merge_texts(&into->packages, &other->packages);
    merge_texts(&into->apps, &other->apps);
    merge_ids(&into->events, &other->events);
    merge_texts(&into->names, &other->names);
    if (into->container.count &&
        !(other->container.count && has_text(&other->container, into->container.texts[0]))) {
        into->container.count = 0; /* a separator for several is not documented */
    }
    if (into->payload != other->payload || into->payload_count != other->payload_count) {
        into->payload_count = 0;
    }
    into->payload_is_spare = into->payload_is_spare && other->payload_is_spare;
}
