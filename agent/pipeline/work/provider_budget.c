#include "pipeline/work/provider_budget.h"

#include <stdlib.h>

#include "base/map.h"

/*
 * The providers of the configuration have their places from the beginning. With a limit for all
 * others these get one when they first come, as far as there are any; all further ones share one
 * more, so that a process does not get more by using many GUIDs.
 */
enum { MAX_OTHERS = 512 };

struct place {
    struct guid provider;
    const char *name;
    char text[GUID_TEXT_SIZE + 1]; /* what it is called without one */
    struct provider_ladder ladder;
    unsigned told_step;
    const struct trace_info *trace;
    struct cut {
        uint64_t count;
        struct time_range times;
    } cuts[PROVIDER_CUT_COUNT];
};

struct provider_budget {
    struct provider_limit others; /* no limit: they have no place */
    struct map by_guid;           /* struct place */
    struct place *places;         /* the last one is shared */
    size_t count;
    size_t capacity;
    struct guid last; /* that was asked for, if there is one */
    bool has_last;
    struct place *last_place;
    bool changed;  /* a step, since next_change */
    uint64_t left; /* events left out and not reported */
};

const char *provider_budget_reason(enum provider_cut cut)
{
    static const char *const reasons[PROVIDER_CUT_COUNT] = {[PROVIDER_CUT_NONE] = "",
        [PROVIDER_CUT_SAMPLED] = "budget_sampled",
        [PROVIDER_CUT_VERBOSE] = "budget_verbose",
        [PROVIDER_CUT_PROVIDER] = "budget_provider"};
    return reasons[cut];
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool has_limit(const struct provider_limit *limit)
{
    return limit->events || limit->bytes;
}

static uint64_t stricter(uint64_t a, uint64_t b)
{
    return a == 0 || (b && b < a) ? b : a;
}

static struct place *find(const struct provider_budget *budget, const struct guid *provider)
{
    return map_get(&budget->by_guid, span_make(provider->bytes, sizeof(provider->bytes)));
}

/* NULL: out of memory. */
static struct place *add(struct provider_budget *budget, const struct guid *provider,
    const char *name, const struct provider_limit *limit, uint64_t now_ns)
{
    struct place *place = &budget->places[budget->count];
    *place = (struct place){.provider = *provider, .name = name};
    guid_write(provider, place->text);
    if (!name) {
        place->name = place->text;
    }
    provider_ladder_init(&place->ladder, limit, now_ns);
    struct span key = span_make(place->provider.bytes, sizeof(place->provider.bytes));
    if (!map_put(&budget->by_guid, key, place)) {
        return NULL;
    }
    budget->count++;
    return place;
}

static bool add_share(
    struct provider_budget *budget, const struct provider_share *share, uint64_t now_ns)
{
    struct place *place = find(budget, &share->provider);
    if (!place) {
        return add(budget, &share->provider, share->name, &share->limit, now_ns);
    }
    struct provider_limit limit = place->ladder.limit;
    limit.events = stricter(limit.events, share->limit.events);
    limit.bytes = stricter(limit.bytes, share->limit.bytes);
    limit.burst_ns = stricter(limit.burst_ns, share->limit.burst_ns);
    provider_ladder_init(&place->ladder, &limit, now_ns);
    return true;
}

struct provider_budget *provider_budget_create(
    const struct provider_budget_settings *settings, uint64_t now_ns, struct error *err)
{
    struct provider_budget *budget = calloc(1, sizeof(*budget));
    bool ok = budget != NULL;
    if (budget) {
        bool others = has_limit(&settings->others);
        budget->others = settings->others;
        budget->capacity = settings->share_count + (others ? MAX_OTHERS : 0);
        map_init(&budget->by_guid, budget->capacity);
        budget->places = calloc(budget->capacity + 1, sizeof(*budget->places));
        ok = budget->places != NULL;
    }
    for (size_t i = 0; ok && i < settings->share_count; i++) {
        ok = add_share(budget, &settings->shares[i], now_ns);
    }
    if (!ok) {
        provider_budget_destroy(budget);
        error_set(err, ERR_MEMORY, "out of memory for the budgets of providers");
        return NULL;
    }
    struct place *shared = &budget->places[budget->capacity];
    shared->name = "other providers";
    provider_ladder_init(&shared->ladder, &settings->others, now_ns);
    return budget;
}

void provider_budget_destroy(struct provider_budget *budget)
{
    if (budget) {
        map_fini(&budget->by_guid);
        free(budget->places);
        free(budget);
    }
}

/* The place of a provider; NULL: it has no budget. */
static struct place *place_of(
    struct provider_budget *budget, const struct guid *provider, uint64_t now_ns)
{
    if (budget->has_last && guid_equal(&budget->last, provider)) {
        return budget->last_place;
    }
    struct place *place = find(budget, provider);
    if (!place && has_limit(&budget->others)) {
        place = budget->count < budget->capacity
                    ? add(budget, provider, NULL, &budget->others, now_ns)
                    : NULL;
        place = place ? place : &budget->places[budget->capacity];
    }
    budget->has_last = true;
    budget->last = *provider;
    budget->last_place = place;
    return place;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Of the kernel, apart from rundowns: FileIo names files by type 0 and 36, Registry keys by 22, 24
 * and 25 (MOF classes FileIo_Name, Registry_TypeGroup1), StackWalk its keys by 34 to 36, and all of
 * SystemConfig describes the machine. */
static bool describes_in_kernel(const struct event_record *record)
{
    enum { FILE_IO = 0x04, REGISTRY = 0x09, SYSTEM_CONFIG = 0x0b, STACK_WALK = 0x18 };
    uint8_t type = (uint8_t)record->hook_id;
    switch (record->hook_id >> 8) {
    case FILE_IO:
        return type == 0 || type == 36;
    case REGISTRY:
        return type == 22 || type == 24 || type == 25;
    case STACK_WALK:
        return type >= 34 && type <= 36;
    case SYSTEM_CONFIG:
        return true;
    default:
        return false;
    }
}

/* Do events elsewhere need it to be read? Opcodes:
 * WINEVENT_OPCODE_DC_START and _STOP, winmeta.h. */
static bool describes_others(const struct event_record *record)
{
    enum { DC_START = 3, DC_STOP = 4 };
    uint8_t opcode = record->descriptor.opcode;
    bool has_opcode = record->kind == RECORD_EVENT || record->kind == RECORD_CLASSIC ||
                      record->kind == RECORD_KERNEL;
    return (has_opcode && (opcode == DC_START || opcode == DC_STOP)) ||
           (record->kind == RECORD_KERNEL && describes_in_kernel(record)) ||
           record_is_metadata(record);
}

static uint64_t bytes_of(const struct event_record *record, uint32_t frame_count)
{
    uint64_t bytes = record->payload.size + (uint64_t)frame_count * sizeof(uint64_t);
    for (size_t i = 0; i < record->extended_count; i++) {
        bytes += record->extended[i].data.size;
    }
    return bytes;
}

enum provider_cut provider_budget_ask(struct provider_budget *budget,
    const struct event_record *record, uint32_t frame_count, uint64_t now_ns)
{
    struct place *place = place_of(budget, &record->provider, now_ns);
    if (!place) {
        return PROVIDER_CUT_NONE;
    }
    if (describes_others(record)) {
        if (record->kind != RECORD_KERNEL) { /* any process can write what looks like one */
            provider_ladder_charge(&place->ladder, bytes_of(record, frame_count), now_ns);
        }
        return PROVIDER_CUT_NONE;
    }
    enum provider_cut cut = provider_ladder_ask(
        &place->ladder, record->descriptor.level, bytes_of(record, frame_count), now_ns);
    budget->changed = budget->changed || place->ladder.step != place->told_step;
    if (cut != PROVIDER_CUT_NONE) {
        struct time_range times = {.from = record->time, .to = record->time};
        place->trace = record->trace;
        place->cuts[cut].count++;
        budget->left++;
        time_range_add(&place->cuts[cut].times, times);
    }
    return cut;
}

/* ---- reports --------------------------------------------------------------------------------- */

/* All places, the shared one last; NULL after them. */
static struct place *next_place(struct provider_budget *budget, size_t *cursor)
{
    size_t index = (*cursor)++;
    if (index > budget->count) {
        return NULL;
    }
    return &budget->places[index < budget->count ? index : budget->capacity];
}

void provider_budget_tick(struct provider_budget *budget, uint64_t now_ns)
{
    struct place *place;
    for (size_t cursor = 0; (place = next_place(budget, &cursor));) {
        provider_ladder_tick(&place->ladder, now_ns);
        budget->changed = budget->changed || place->ladder.step != place->told_step;
    }
}

bool provider_budget_next_change(
    struct provider_budget *budget, size_t *cursor, struct provider_change *ret_change)
{
    struct place *place;
    while (budget->changed && (place = next_place(budget, cursor))) {
        unsigned step = place->ladder.step;
        if (step != place->told_step) {
            *ret_change = (struct provider_change){.provider = place->name,
                .limit = &place->ladder.limit,
                .from = place->told_step,
                .to = step};
            place->told_step = step;
            return true;
        }
    }
    budget->changed = false;
    return false;
}

bool provider_budget_has_gaps(const struct provider_budget *budget)
{
    return budget->left > 0;
}

bool provider_budget_next_gap(struct provider_budget *budget, size_t *cursor, struct gap *ret_gap)
{
    struct place *place;
    while ((place = next_place(budget, cursor))) {
        for (int i = PROVIDER_CUT_SAMPLED; i < PROVIDER_CUT_COUNT; i++) {
            struct cut *cut = &place->cuts[i];
            if (cut->count == 0) {
                continue;
            }
            *ret_gap = (struct gap){.stage = "guard",
                .reason = provider_budget_reason((enum provider_cut)i),
                .unit = "events",
                .count = cut->count,
                .exact = true,
                .from = cut->times.from,
                .to = cut->times.to,
                .provider = place->name,
                .trace = place->trace};
            budget->left -= cut->count;
            *cut = (struct cut){0};
            --*cursor; /* the place may have another */
            return true;
        }
    }
    return false;
}
