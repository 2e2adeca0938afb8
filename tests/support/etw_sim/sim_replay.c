/*
 * Traces as sources of events. Records come from the input layer's merge, and their providers write
 * them now. Classic and WPP records do not name their provider: they go where the replay's provider
 * is enabled, or their own class if it names none.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "event/model/kernel_groups.h"
#include "input/etl/etl_merge.h"
#include "platform/plat_clock.h"
#include "support/etl_encode.h"
#include "support/etw_sim/sim_state.h"

enum { RECORDS_AT_ONCE = 20000, ARENA_MAX = 4 << 20, DEFAULT_RATE = 1000 };

/* A trace that is being read. */
struct player {
    struct etl_handles handles;
    struct arena arena;
    struct etl_file *file;
    struct etl_merge *merge;
};

struct sim_source {
    struct sim_source *next;
    struct etw_sim_replay replay;
    char *path;
    struct player player;
    bool active;
    bool finished; /* all rounds, until it is enabled anew */
    uint32_t rounds;
    uint64_t started; /* ticks */
    uint64_t given;
};

static void close_player(struct player *p)
{
    etl_merge_destroy(p->merge);
    etl_file_destroy(p->file);
    if (p->file) {
        arena_fini(&p->arena);
    }
    *p = (struct player){0};
}

static bool open_player(struct player *p, const char *path, struct error *err)
{
    arena_init(&p->arena, ARENA_MAX);
    p->file = etl_file_open(path, NULL, &p->handles, &p->arena, err);
    if (!p->file) {
        arena_fini(&p->arena);
        return false;
    }
    if (etl_file_index(p->file, NULL, err)) {
        p->merge = etl_merge_create(&p->file, 1, err);
    }
    if (!p->merge) {
        close_player(p);
        return false;
    }
    return true;
}

/* NULL at the end, or where the file cannot be read (${err} says so). */
static const struct event_record *next_record(struct player *p, struct error *err)
{
    const struct event_record *record = NULL;
    size_t file = 0;
    for (;;) {
        switch (etl_merge_next(p->merge, &record, &file, err)) {
        case ETL_MERGE_RECORD:
            return record;
        case ETL_MERGE_FILE_END:
            break;
        default:
            return NULL;
        }
    }
}

/* ---- a record as an event -------------------------------------------------------------------- */

static bool is_kernel_wide(const struct etw_sim_replay *replay)
{
    return guid_is_zero(&replay->provider) ||
           guid_equal(&replay->provider, &sim_session_system_guid);
}

static struct sim_guid *find_guid(struct etw_sim *sim, const struct guid *guid)
{
    return map_get(&sim->guids, span_make(guid->bytes, sizeof(guid->bytes)));
}

static void write_manifest(struct etw_sim *sim, const struct event_record *r)
{
    struct extended_item items[RECORD_MAX_EXTENDED];
    struct guid related = {{0}};
    struct sim_guid *g = find_guid(sim, &r->provider);
    if (!g) {
        return;
    }
    struct etw_sim_event event = {.descriptor = r->descriptor,
        .process_id = r->process_id,
        .thread_id = r->thread_id,
        .cpu = (uint16_t)(r->cpu % sim->options.processors),
        .pointer_size = r->pointer_size,
        .event_property = r->event_property,
        .string_only = (r->flags & EVENT_FLAG_STRING_ONLY) != 0,
        .activity = r->activity_id,
        .payload = r->payload,
        .extended = items,
        .kernel_ticks = r->kernel_ticks,
        .user_ticks = r->user_ticks};
    for (size_t i = 0; i < r->extended_count; i++) {
        const struct extended_item *item = &r->extended[i];
        if (item->type == EXTENDED_SCHEMA_TL) {
            event.metadata = item->data;
        } else if (item->type == EXTENDED_PROV_TRAITS) {
            event.traits = item->data;
        } else if (item->type == EXTENDED_RELATED_ACTIVITY_ID && item->data.size == 16) {
            memcpy(related.bytes, item->data.data, 16);
            event.related = &related;
        } else {
            items[event.extended_count++] = *item;
        }
    }
    struct sim_registration by = {.of = g, .kind = ETW_SIM_MANIFEST, .pid = r->process_id};
    if (g->registrations) {
        by.kernel_mode = g->registrations->kernel_mode;
        by.group = g->registrations->group;
    }
    sim_write_event(sim, &by, &event);
}

static void write_kernel(struct etw_sim *sim, const struct event_record *r)
{
    const struct etw_sim_kernel_event event = {.hook_id = r->hook_id,
        .version = r->descriptor.version,
        .process_id = r->present & RECORD_HAS_PROCESS ? r->process_id : UINT32_MAX,
        .thread_id = r->present & RECORD_HAS_THREAD ? r->thread_id : UINT32_MAX,
        .cpu = (uint16_t)(r->cpu % sim->options.processors),
        .form = r->header_type >= 16  ? ETL_PERFINFO
                : r->header_type >= 3 ? ETL_COMPACT
                                      : ETL_SYSTEM,
        .payload = r->payload};
    if (r->hook_id >> 8) {
        sim_kernel_write(sim, &event, NULL);
    }
}

static void write_classic(struct etw_sim *sim, struct sim_session *s, const struct event_record *r)
{
    const struct etw_sim_event event = {.descriptor = r->descriptor,
        .class_guid = r->provider,
        .process_id = r->process_id,
        .thread_id = r->thread_id,
        .cpu = (uint16_t)(r->cpu % sim->options.processors),
        .pointer_size = r->pointer_size,
        .payload = r->payload};
    sim_classic_write(sim, s, &event);
}

static void write_message(struct etw_sim *sim, struct sim_session *s, const struct event_record *r)
{
    const struct etw_sim_message message = {.guid = r->provider,
        .component = r->message_component,
        .number = r->descriptor.id,
        .flags = r->message_flags,
        .cpu = (uint16_t)(r->cpu % sim->options.processors),
        .process_id = r->process_id,
        .thread_id = r->thread_id,
        .payload = r->payload};
    sim_message_write(sim, s, &message);
}

static bool is_kernel_class(const struct guid *guid)
{
    for (unsigned group = 0; group < KERNEL_GROUP_COUNT; group++) {
        if (guid_equal(&kernel_group_find((uint8_t)group)->class_guid, guid)) {
            return true;
        }
    }
    return false;
}

/* The sessions that a record is offered to; false if the replay leaves it out. The lock is held. */
static bool emit(
    struct etw_sim *sim, const struct etw_sim_replay *replay, const struct event_record *r)
{
    bool all = guid_is_zero(&replay->provider);
    switch (r->kind) {
    case RECORD_EVENT:
        if (!all && !guid_equal(&replay->provider, &r->provider)) {
            return false;
        }
        write_manifest(sim, r);
        return true;
    case RECORD_KERNEL:
        if (!is_kernel_wide(replay) || r->hook_id == 0) {
            return false;
        }
        write_kernel(sim, r);
        return true;
    case RECORD_CLASSIC:
    case RECORD_MESSAGE: {
        if (r->kind == RECORD_CLASSIC && is_kernel_class(&r->provider)) {
            return false;
        }
        struct sim_guid *g = find_guid(sim, all ? &r->provider : &replay->provider);
        for (uint32_t i = 0; g && i < g->enable_count; i++) {
            struct sim_session *s = g->enables[i]->session;
            s->counts.offered++;
            if (r->kind == RECORD_CLASSIC) {
                write_classic(sim, s, r);
            } else {
                write_message(sim, s, r);
            }
        }
        return true;
    }
    default:
        return false;
    }
}

/* ---- now ------------------------------------------------------------------------------------- */

/* Wait, or advance a manual clock, until ${given} records at the replay's rate are due. */
static void keep_rate(
    struct etw_sim *sim, const struct etw_sim_replay *replay, uint64_t started, uint64_t given)
{
    if (!replay->per_second) {
        return;
    }
    uint64_t due = started + given * sim->options.perf_frequency / replay->per_second;
    if (!sim->options.real_clock) {
        sim_clock_move(sim, due);
        return;
    }
    uint64_t now = sim_clock_ticks(sim);
    if (due > now + sim->options.perf_frequency / 1000) {
        plat_mutex_unlock(&sim->lock);
        plat_sleep_ms((unsigned)((due - now) * 1000 / sim->options.perf_frequency));
        plat_mutex_lock(&sim->lock);
    }
}

bool etw_sim_replay(struct etw_sim *sim, const struct etw_sim_replay *replay, uint64_t *ret_records,
    struct error *err)
{
    uint64_t given = 0;
    struct error why = {0};
    plat_mutex_lock(&sim->lock);
    uint64_t started = sim_clock_ticks(sim);
    plat_mutex_unlock(&sim->lock);
    uint32_t rounds = replay->rounds ? replay->rounds : 1;
    for (uint32_t round = 0; round < rounds; round++) {
        struct player player = {0};
        if (!open_player(&player, replay->path, err)) {
            return false;
        }
        const struct event_record *record;
        while ((record = next_record(&player, &why)) != NULL) {
            plat_mutex_lock(&sim->lock);
            sim_session_reap(sim);
            keep_rate(sim, replay, started, given);
            given += emit(sim, replay, record);
            plat_mutex_unlock(&sim->lock);
        }
        close_player(&player);
        if (why.code) {
            if (err) {
                *err = why;
            }
            return false;
        }
    }
    if (ret_records) {
        *ret_records = given;
    }
    return true;
}

/* ---- sources --------------------------------------------------------------------------------- */

bool etw_sim_source_add(struct etw_sim *sim, const struct etw_sim_replay *replay, struct error *err)
{
    struct sim_source *source = calloc(1, sizeof(*source));
    char *path = malloc(strlen(replay->path) + 1);
    if (!source || !path) {
        free(source);
        free(path);
        return error_set(err, ERR_MEMORY, "no memory for a source of events");
    }
    memcpy(path, replay->path, strlen(replay->path) + 1);
    if (!open_player(&source->player, path, err)) { /* is it a trace at all? */
        free(source);
        free(path);
        return false;
    }
    close_player(&source->player);
    source->path = path;
    source->replay = *replay;
    source->replay.path = path;
    source->replay.per_second = replay->per_second ? replay->per_second : DEFAULT_RATE;
    source->replay.rounds = replay->rounds ? replay->rounds : 1;
    plat_mutex_lock(&sim->lock);
    source->next = sim->sources;
    sim->sources = source;
    plat_mutex_unlock(&sim->lock);
    return true;
}

void sim_replay_free(struct etw_sim *sim)
{
    while (sim->sources) {
        struct sim_source *source = sim->sources;
        sim->sources = source->next;
        close_player(&source->player);
        free(source->path);
        free(source);
    }
}

static bool is_wanted(const struct etw_sim *sim, const struct sim_source *source)
{
    if (is_kernel_wide(&source->replay)) {
        return sim_kernel_any_session(sim);
    }
    const struct guid *guid = &source->replay.provider;
    const struct sim_guid *g = map_get(&sim->guids, span_make(guid->bytes, sizeof(guid->bytes)));
    return g && g->enable_count;
}

static uint64_t due_of(const struct etw_sim *sim, const struct sim_source *source)
{
    if (!source->active) {
        return sim_clock_ticks(sim);
    }
    return source->started +
           (source->given + 1) * sim->options.perf_frequency / source->replay.per_second;
}

uint64_t sim_replay_due(const struct etw_sim *sim)
{
    uint64_t due = UINT64_MAX;
    for (const struct sim_source *source = sim->sources; source; source = source->next) {
        if (!source->finished && is_wanted(sim, source)) {
            uint64_t one = due_of(sim, source);
            due = one < due ? one : due;
        }
    }
    return due;
}

static void stop(struct sim_source *source)
{
    close_player(&source->player);
    source->active = false;
    source->finished = false;
}

/* False when all rounds are over, or the file fails. */
static bool play_one(struct etw_sim *sim, struct sim_source *source)
{
    const struct event_record *record = NULL;
    struct error err = {0};
    if (source->player.merge) {
        record = next_record(&source->player, &err);
    }
    if (!record) {
        close_player(&source->player);
        if (err.code || (source->rounds && source->rounds != UINT32_MAX && --source->rounds == 0) ||
            !open_player(&source->player, source->path, &err)) {
            return false;
        }
        source->given++; /* so that time passes with an empty trace, too */
        return true;
    }
    emit(sim, &source->replay, record);
    source->given++;
    return true;
}

static void run_source(struct etw_sim *sim, struct sim_source *source, uint64_t ticks)
{
    if (!is_wanted(sim, source)) {
        stop(source);
        return;
    }
    if (!source->active && !source->finished) {
        source->active = true;
        source->started = ticks;
        source->given = 0;
        source->rounds = source->replay.rounds;
        source->finished = !open_player(&source->player, source->path, NULL);
    }
    uint64_t behind = sim->options.perf_frequency;
    if (ticks > due_of(sim, source) + behind) { /* do not make up for more than a second */
        source->started = ticks;
        source->given = 0;
    }
    for (unsigned i = 0; i < RECORDS_AT_ONCE && !source->finished && due_of(sim, source) <= ticks &&
                         is_wanted(sim, source);
         i++) {
        source->finished = !play_one(sim, source);
    }
}

void sim_replay_run(struct etw_sim *sim, uint64_t ticks)
{
    for (struct sim_source *source = sim->sources; source; source = source->next) {
        run_source(sim, source, ticks);
    }
}
