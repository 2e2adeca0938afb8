#ifndef ETWSHIP_TESTS_SUPPORT_EVT_SIM_OWN_H
#define ETWSHIP_TESTS_SUPPORT_EVT_SIM_OWN_H

#include <stdbool.h>

#include "platform/plat_thread.h"
#include "support/evt_sim.h"

/* Shared by the files of the simulated Event Log: its state, and the calls of which evt_sim.c makes
 * the table. */

enum { MAX_CHANNELS = 64, NAME_BYTES = 256, QUERY_BYTES = 16 * 1024 };

struct sim_record {
    uint64_t id;
    struct evt_sim_event event; /* with texts of its own */
};

struct sim_channel {
    char name[NAME_BYTES];
    uint32_t type;
    size_t max_records;
    bool denied;
    uint64_t next_id;
    uint64_t life; /* of the log: it changes when the log is made anew */
    struct sim_record *records;
    size_t count;
};

enum sim_kind {
    SIM_RESULTS,
    SIM_EVENT,
    SIM_BOOKMARK,
    SIM_CONTEXT,
    SIM_CHANNELS,
    SIM_LOG,
    SIM_CONFIG,
    SIM_PUBLISHER
};

struct sim_handle {
    enum sim_kind kind;
    struct sim_channel *channel;
    uint64_t at; /* of results: the record that was taken last; of channels: the index */
    uint64_t life;
    bool strict;
    bool stale;
    evt_handle signal;
    char *query;              /* of results */
    struct sim_record record; /* of an event; of a bookmark its id */
};

extern struct evt_sim_state {
    struct plat_mutex mutex;
    struct sim_channel channels[MAX_CHANNELS];
    size_t channel_count;
    struct sim_handle *subscriptions[MAX_CHANNELS * 4];
    size_t subscription_count;
    size_t handles;
    size_t subscribed;
    char query[QUERY_BYTES];
    uint32_t fail_next;
    unsigned fail_times;
    uint32_t slow_ms;
    uint64_t fail_render;
    bool wrong_values;
    size_t publishers;
    uint32_t publisher_code; /* for which none can be opened */
    uint32_t locale;
} evt_sim_state;

/* The return values of failed calls. The first is for calls that return whether they succeeded, and
 * leaves the lock as it is. The second is for calls that return a handle, and releases the lock. */
int32_t evt_sim_fail(uint32_t code);
void *evt_sim_fail_handle(uint32_t code);

/* Take the lock; release it and return ${result}. */
void evt_sim_enter(void);
int32_t evt_sim_leave(int32_t result);

/* A copy with texts of its own. */
struct evt_sim_event evt_sim_copy_event(const struct evt_sim_event *from);
void evt_sim_free_event(struct evt_sim_event *event);

/* With the lock: a channel by its name, NULL if there is none; a new handle. */
struct sim_channel *evt_sim_find(const char *name);
struct sim_channel *evt_sim_find_wide(const evt_char *name);
struct sim_handle *evt_sim_make(enum sim_kind kind, struct sim_channel *channel);

/* evt_sim_results.c */
evt_handle evt_sim_subscribe(evt_handle session, evt_handle signal, const evt_char *name,
    const evt_char *query, evt_handle bookmark, void *context, void *callback, uint32_t flags);
int32_t evt_sim_next(evt_handle handle, uint32_t size, evt_handle *ret_events, uint32_t timeout_ms,
    uint32_t flags, uint32_t *ret_count);
evt_handle evt_sim_create_bookmark(const evt_char *xml);
int32_t evt_sim_update_bookmark(evt_handle bookmark, evt_handle event);

/* evt_sim_render.c */
int32_t evt_sim_render(evt_handle context, evt_handle fragment, uint32_t flags, uint32_t size,
    void *buffer, uint32_t *ret_used, uint32_t *ret_count);
evt_handle evt_sim_create_context(uint32_t count, const evt_char *const *paths, uint32_t flags);
evt_handle evt_sim_open_publisher(evt_handle session, const evt_char *publisher,
    const evt_char *file, uint32_t locale, uint32_t flags);
int32_t evt_sim_format_message(evt_handle publisher, evt_handle event, uint32_t message,
    uint32_t value_count, const struct evt_variant *values, uint32_t flags, uint32_t size,
    evt_char *buffer, uint32_t *ret_used);

/* evt_sim_channels.c */
evt_handle evt_sim_open_channels(evt_handle session, uint32_t flags);
int32_t evt_sim_next_channel(
    evt_handle channels, uint32_t size, evt_char *path, uint32_t *ret_used);
evt_handle evt_sim_open_log(evt_handle session, const evt_char *path, uint32_t flags);
int32_t evt_sim_log_info(evt_handle log, uint32_t property, uint32_t size,
    struct evt_variant *value, uint32_t *ret_used);
evt_handle evt_sim_open_config(evt_handle session, const evt_char *path, uint32_t flags);
int32_t evt_sim_config_property(evt_handle config, uint32_t property, uint32_t flags, uint32_t size,
    struct evt_variant *value, uint32_t *ret_used);

#endif
