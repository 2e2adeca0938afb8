#ifndef ETWSHIP_TESTS_UNIT_INPUT_EVT_RIG_H
#define ETWSHIP_TESTS_UNIT_INPUT_EVT_RIG_H

#include <stdio.h>

#include "event/model/record.h"
#include "input/input.h"
#include "input/live/evt_options.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"
#include "support/await.h"
#include "support/evt_sim.h"
#include "support/test.h"

/* A session of channels on a thread of its own, on a simulated Windows Event Log, with a sink that
 * keeps what it gets. */

extern const struct input_ops input_eventlog;

enum { MAX_GIVEN = 4096, MAX_GAPS = 16, MAX_NOTES = 32 };

struct given {
    uint64_t record_id;
    uint16_t event_id;
    char host[64];
    char message[64];
};

struct rig {
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct evt_channel_settings channels[4];
    struct evt_settings settings;
    void *input;
    struct plat_thread *thread;
    enum input_end end;
    struct error error;
    uint64_t number;
    struct given given[MAX_GIVEN];
    size_t count;
    struct gap gaps[MAX_GAPS];
    size_t gap_count;
    size_t notes;
    char note[256]; /* the last one */
    size_t troubles;
    char trouble[256]; /* the last one; "": it is over */
    size_t pauses;
    uint64_t paused_at; /* the number of records then */
    size_t damage;
    size_t stop_after; /* the sink stops the session after so many records; 0: never */
};

static struct rig rig;

static inline bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    plat_mutex_lock(&rig.mutex);
    bool takes = !rig.stop_after || rig.count < rig.stop_after;
    if (takes) {
        struct given *given = &rig.given[rig.count++];
        *given = (struct given){
            .record_id = record->log_record_id, .event_id = record->descriptor.id};
        snprintf(given->host, sizeof(given->host), "%.*s", SPAN_ARG(record->trace->host_name));
        snprintf(
            given->message, sizeof(given->message), "%.*s", SPAN_ARG(record_log_message(record)));
        rig.number++;
    }
    plat_cond_broadcast(&rig.changed);
    plat_mutex_unlock(&rig.mutex);
    return takes;
}

static inline void on_gap(void *self, const struct gap *gap)
{
    (void)self;
    plat_mutex_lock(&rig.mutex);
    assert_true(rig.gap_count < MAX_GAPS);
    rig.gaps[rig.gap_count++] = *gap;
    rig.number++;
    plat_cond_broadcast(&rig.changed);
    plat_mutex_unlock(&rig.mutex);
}

static inline bool on_pause(void *self)
{
    (void)self;
    plat_mutex_lock(&rig.mutex);
    rig.pauses++;
    rig.paused_at = rig.number;
    plat_cond_broadcast(&rig.changed);
    plat_mutex_unlock(&rig.mutex);
    return true;
}

static inline void on_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    (void)trace;
    (void)offset;
    (void)what;
    rig.damage++;
}

static inline void on_note(void *self, enum input_note level, const char *text)
{
    (void)self;
    (void)level;
    rig.notes++;
    snprintf(rig.note, sizeof(rig.note), "%s", text);
}

static inline void on_trouble(void *self, const char *why)
{
    (void)self;
    rig.troubles += why != NULL;
    snprintf(rig.trouble, sizeof(rig.trouble), "%s", why ? why : "");
}

static inline void run(void *self)
{
    (void)self;
    static const struct input_sink sink = {.record = on_record,
        .gap = on_gap,
        .pause = on_pause,
        .number = &rig.number,
        .damage = on_damage};
    rig.end = input_eventlog.run(rig.input, &sink, &rig.error);
}

/* Start the session as a new process does: of earlier runs it knows only ${state}. */
static inline void start(const char *channel, int from, struct span state)
{
    static const struct input_env env = {.name = "test", .note = on_note, .trouble = on_trouble};
    rig.channels[0].name = channel;
    rig.settings.channels.items = rig.channels;
    rig.settings.channels.count = 1;
    rig.settings.start = from;
    rig.settings.max_age_ns = CONFIG_NEVER;
    rig.count = rig.gap_count = rig.notes = rig.pauses = rig.troubles = 0;
    rig.number = 0;
    rig.input = input_eventlog.create(&rig.settings, &env, &rig.error);
    assert_non_null(rig.input);
    input_eventlog.restore(rig.input, state);
    rig.thread = plat_thread_start("test", run, NULL, &rig.error);
    assert_non_null(rig.thread);
}

static inline void end(void)
{
    input_eventlog.stop(rig.input);
    plat_thread_join(rig.thread);
    input_eventlog.destroy(rig.input);
    rig.input = NULL;
}

/* Wait until ${holds}, which is called with the lock held. A net under a test, as AWAIT is. */
static inline void await_rig(bool (*holds)(size_t count), size_t count)
{
    uint64_t until = plat_monotonic_ns() + ETWSHIP_AWAIT_S * UINT64_C(1000000000);
    bool in_time = true;
    plat_mutex_lock(&rig.mutex);
    while (!holds(count) && in_time) {
        in_time = plat_cond_wait_until(&rig.changed, &rig.mutex, until);
    }
    plat_mutex_unlock(&rig.mutex);
    assert_true(in_time);
}

static inline bool has_count(size_t count)
{
    return rig.count >= count;
}

static inline void await_count(size_t count)
{
    await_rig(has_count, count);
}

static inline bool has_gaps(size_t count)
{
    return rig.gap_count >= count;
}

static inline void await_gaps(size_t count)
{
    await_rig(has_gaps, count);
}

static inline bool has_paused(size_t count)
{
    (void)count;
    return rig.pauses && rig.paused_at == rig.number;
}

static inline bool has_pauses(size_t count)
{
    return rig.pauses >= count;
}

/* Wait until the session has read every record that the channel has. */
static inline void await_all_read(void)
{
    await_rig(has_paused, 0);
}

static inline struct span keep(uint64_t number, struct buf *out)
{
    buf_reset(out);
    assert_true(input_eventlog.bookmarks(rig.input, number, out, &rig.error));
    return buf_span(out);
}

static inline uint64_t write_one(const char *channel, uint16_t id)
{
    const struct evt_sim_event event = {.provider = "Test", .id = id, .level = 4};
    return evt_sim_write(channel, &event);
}

static inline void write_many(const char *channel, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        write_one(channel, (uint16_t)(i + 1));
    }
}

static inline int set_up(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof(rig));
    plat_mutex_init(&rig.mutex);
    plat_cond_init(&rig.changed);
    evt_sim_start();
    evt_sim_channel("Security", EVT_CHANNEL_ADMIN, 3000);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    size_t left = evt_sim_end();
    plat_cond_fini(&rig.changed);
    plat_mutex_fini(&rig.mutex);
    return left != 0;
}

static const struct span nothing = {.data = NULL};

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
