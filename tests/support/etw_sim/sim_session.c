/*
 * Sessions: slots, names, their end. A session that has ended stays in `ended` while consumers
 * still read its buffers, and after that until another of the same name has ended, so that tests
 * can ask for its counts.
 */
#include <stdlib.h>

#include "platform/plat_system.h"
#include "support/etw_sim/sim_state.h"

/* {9e814aad-3204-11d2-9a82-006008a86939}, evntrace.h */
const struct guid sim_session_system_guid = {{0xad, 0x4a, 0x81, 0x9e, 0x04, 0x32, 0xd2, 0x11, 0x9a,
    0x82, 0x00, 0x60, 0x08, 0xa8, 0x69, 0x39}};

const etw_char sim_session_kernel_name[] = {
    'N', 'T', ' ', 'K', 'e', 'r', 'n', 'e', 'l', ' ', 'L', 'o', 'g', 'g', 'e', 'r', 0};

struct sim_session *sim_session_by_name(struct etw_sim *sim, const etw_char *name)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        struct sim_session *s = sim->sessions[i];
        if (s && s->running && sim_text_equal(s->name16, name)) {
            return s;
        }
    }
    return NULL;
}

struct sim_session *sim_session_by_handle(struct etw_sim *sim, uint64_t handle)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        struct sim_session *s = sim->sessions[i];
        if (s && s->running && s->id == (handle & 0xffff)) {
            return s;
        }
    }
    return NULL;
}

struct sim_session *sim_session_find(struct etw_sim *sim, uint64_t handle, const etw_char *name)
{
    return name ? sim_session_by_name(sim, name) : sim_session_by_handle(sim, handle);
}

uint64_t sim_session_handle(const struct sim_session *s)
{
    return s->id;
}

uint32_t sim_session_flush_ms(const struct sim_session *s)
{
    return s->mode & ETW_MODE_USE_MS_FLUSH_TIMER ? s->flush_timer : s->flush_timer * 1000;
}

/* A real-time session that asks for no timer gets one of a second (event_trace_properties). */
void sim_session_arm(struct sim_session *s)
{
    if (s->flush_timer == 0 && s->mode & ETW_MODE_REAL_TIME) {
        s->flush_timer = s->mode & ETW_MODE_USE_MS_FLUSH_TIMER ? 1000 : 1;
    }
    uint32_t ms = sim_session_flush_ms(s);
    s->flush_due = 0;
    if (ms && !(s->mode & ETW_MODE_BUFFERING)) {
        s->flush_due = sim_clock_ticks(s->sim) + sim_clock_ticks_of_ms(s->sim, ms);
    }
}

/* ---- counting -------------------------------------------------------------------------------- */

static uint64_t events_of(const struct sim_chunk *chunk, bool undelivered)
{
    uint64_t events = 0;
    for (; chunk; chunk = chunk->next) {
        events += undelivered && chunk->delivered ? 0 : chunk->events;
    }
    return events;
}

uint64_t sim_session_pending(const struct sim_session *s, uint64_t *ret_file)
{
    uint64_t events = events_of(s->full.head, false);
    for (uint32_t i = 0; i < s->streams; i++) {
        events += s->fill[i] ? s->fill[i]->events : 0;
    }
    *ret_file = s->file || s->mode & ETW_MODE_BUFFERING ? events : 0;
    return events + events_of(s->queue.head, true);
}

/* ---- begin ----------------------------------------------------------------------------------- */

static uint32_t count_sessions(const struct etw_sim *sim)
{
    uint32_t count = 0;
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        count += sim->sessions[i] != NULL;
    }
    return count;
}

static bool is_taken(const struct etw_sim *sim, const struct sim_session *wanted)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        const struct sim_session *s = sim->sessions[i];
        if (s &&
            (sim_text_equal(s->name16, wanted->name16) || guid_equal(&s->guid, &wanted->guid))) {
            return true;
        }
    }
    return false;
}

/* Ids are used in turn, so that an old handle does not soon mean another session. */
static uint16_t free_id(struct etw_sim *sim)
{
    do {
        sim->last_id = (uint16_t)(sim->last_id % 0xfff0 + 1);
    } while (sim_session_by_handle(sim, sim->last_id));
    return sim->last_id;
}

static struct sim_session **free_slot(struct etw_sim *sim)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (!sim->sessions[i]) {
            return &sim->sessions[i];
        }
    }
    return NULL;
}

static bool is_kernel_logger(const struct sim_session *s)
{
    return sim_text_equal(s->name16, sim_session_kernel_name);
}

/* Two of the eight system loggers are kept for "NT Kernel Logger" and "Circular Kernel Context
 * Logger" (configuring-and-starting-a-systemtraceprovider-session). */
static bool has_kept_slot(const struct sim_session *s)
{
    static const etw_char context_logger[] = {'C', 'i', 'r', 'c', 'u', 'l', 'a', 'r', ' ', 'K', 'e',
        'r', 'n', 'e', 'l', ' ', 'C', 'o', 'n', 't', 'e', 'x', 't', ' ', 'L', 'o', 'g', 'g', 'e',
        'r', 0};
    return is_kernel_logger(s) || sim_text_equal(s->name16, context_logger);
}

static uint32_t count_system(const struct etw_sim *sim)
{
    uint32_t count = 0;
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        const struct sim_session *s = sim->sessions[i];
        count += s && s->system && !has_kept_slot(s);
    }
    return count;
}

static uint32_t check_limits(const struct etw_sim *sim, const struct sim_session *s)
{
    bool full = !is_kernel_logger(s) && count_sessions(sim) >= sim->options.max_sessions;
    bool system_full = s->system && !has_kept_slot(s) &&
                       count_system(sim) >= SIM_MAX_SYSTEM - SIM_KEPT_SYSTEM;
    return full || system_full ? ETW_ERROR_NO_SYSTEM_RESOURCES : 0;
}

static void set_sizes(struct sim_session *s)
{
    uint32_t kb = s->buffer_bytes / 1024;
    kb = kb == 0 ? 64 : kb > 16384 ? 16384 : kb;
    s->buffer_bytes = kb * 1024;
    s->streams = s->mode & ETW_MODE_NO_PER_PROCESSOR_BUFFERING ? 1 : s->sim->options.processors;
    uint32_t least = 2 * s->streams;
    s->minimum = s->minimum < least ? least : s->minimum;
    if (s->maximum == 0) {
        s->maximum = s->minimum + 20;
    }
    s->maximum = s->maximum < s->minimum ? s->minimum : s->maximum;
    if (s->mode & ETW_MODE_BUFFERING) {
        s->maximum = s->minimum;
    }
    s->number = s->minimum;
}

static struct guid made_up_guid(uint16_t id)
{
    struct guid guid = {{0}};
    plat_random(guid.bytes, sizeof(guid.bytes), NULL);
    guid.bytes[0] = (uint8_t)id;
    return guid;
}

uint32_t sim_session_begin(struct etw_sim *sim, struct sim_session *s)
{
    s->sim = sim;
    if (guid_is_zero(&s->guid)) {
        s->guid = made_up_guid((uint16_t)(sim->last_id + 1));
    }
    struct sim_session **slot = free_slot(sim);
    uint32_t code = is_taken(sim, s) ? ETW_ERROR_ALREADY_EXISTS : check_limits(sim, s);
    if (!code && !slot) {
        code = ETW_ERROR_NO_SYSTEM_RESOURCES;
    }
    if (!code) {
        s->id = sim_text_equal(s->name16, sim_session_kernel_name) ? SIM_KERNEL_ID : free_id(sim);
        sim_text_to_utf8(s->name16, s->name_text, sizeof(s->name_text));
        s->name = span_text(s->name_text);
        sim_text_to_utf8(s->file16, s->file_text, sizeof(s->file_text));
        set_sizes(s);
        uint64_t now = sim_clock_ticks(sim);
        s->start_raw = sim_clock_raw(s, now);
        s->start_time = sim_clock_filetime(sim, now);
        code = sim_file_open(s);
    }
    if (code) {
        sim_session_free(s);
        return code;
    }
    s->running = true;
    *slot = s;
    sim_session_arm(s);
    return 0;
}

/* ---- end ------------------------------------------------------------------------------------- */

/* Forget the session in all providers, then tell them. */
static void drop_enables(struct sim_session *s)
{
    struct etw_sim *sim = s->sim;
    for (struct sim_guid *g = sim->guid_list; g; g = g->next) {
        if (sim_enable_find(g, s)) {
            sim_enable_drop(g, s);
            sim_provider_tell(sim, g, SIM_TELL_CHANGE, NULL);
        }
    }
}

/* Of those that have ended without readers, keep one per name. */
static void forget_namesakes(struct etw_sim *sim, const struct sim_session *kept)
{
    for (struct sim_session **at = &sim->ended; *at;) {
        struct sim_session *s = *at;
        if (s != kept && s->users == 0 && sim_text_equal(s->name16, kept->name16)) {
            *at = s->next;
            sim_session_free(s);
        } else {
            at = &s->next;
        }
    }
}

void sim_session_end(struct sim_session *s)
{
    struct etw_sim *sim = s->sim;
    if (!s->running) {
        return;
    }
    sim_rundown_write(s, true);
    s->running = false;
    s->users++;
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (sim->sessions[i] == s) {
            sim->sessions[i] = NULL;
        }
    }
    sim_buffer_flush(s, true);
    sim_file_close(s);
    if (s->consumer_count == 0) {
        sim_buffer_discard(s);
    }
    s->next = sim->ended;
    sim->ended = s;
    sim_consumer_queued(s, NULL);
    drop_enables(s);
    sim_session_release(s);
}

void sim_session_reap(struct etw_sim *sim)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (sim->sessions[i] && sim->sessions[i]->file_full) {
            sim_session_end(sim->sessions[i]);
        }
    }
}

void sim_session_release(struct sim_session *s)
{
    s->users--;
    if (!s->running && s->users == 0) {
        sim_buffer_discard(s);
        forget_namesakes(s->sim, s);
    }
}

void sim_session_free(struct sim_session *s)
{
    sim_file_close(s);
    sim_buffer_free(s);
    free(s);
}
