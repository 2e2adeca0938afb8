#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/filetime.h"
#include "base/grow.h"
#include "base/text/glob.h"
#include "etw/etw_text.h"
#include "input/evtx/evtx_hosts.h"
#include "input/evtx/evtx_system.h"
#include "input/input.h"
#include "input/live/evt_marks.h"
#include "input/live/evt_options.h"
#include "input/windows/etw_trace.h"
#include "input/windows/eventlog/evt_channel.h"
#include "input/windows/eventlog/evt_messages.h"
#include "input/windows/eventlog/evt_render.h"
#include "platform/plat_clock.h"

/*
 * Channels of the Windows Event Log. All subscriptions raise one signal. The session's thread reads
 * a few events of each channel in turn until none is left, and then waits for the signal. Events
 * wait in the log itself while outputs are busy, so nothing is dropped here. A bookmark moves when
 * the events up to it are safe (evt_marks.h).
 *
 * The thread retries channels that cannot be read, and searches for new channels that match a
 * pattern.
 */
enum {
    WAIT_MS = 1000,
    EXAMINE_S = 1,     /* time between two looks at the newest records, at least */
    FIND_S = 60,       /* time between two searches for new channels */
    RETRY_FIRST_S = 2, /* first wait before a channel is retried; doubled each time */
    RETRY_LAST_S = 300,
    HOSTS_BYTES = 16 * 1024 * 1024,
};
static const uint64_t second_ns = UINT64_C(1000000000);

struct evt_input {
    const struct evt_settings *settings;
    struct input_env env;
    const struct evt_api *api;
    const struct input_sink *sink;
    struct evt_rule *rules;
    struct evt_channel **channels;
    size_t channel_count;
    size_t channel_capacity;
    struct evt_marks *marks; /* `mark` of a channel is its number there */
    struct evt_render *render;
    struct evt_messages *messages; /* NULL: not configured */
    evt_handle signal;
    atomic_bool stop;
    bool has_started;  /* the channels that existed at the start are known */
    bool has_left_out; /* a channel could not be added, and that was logged */
    uint64_t find_ns;
    uint64_t examine_ns;
    struct etw_trace here;     /* facts about this machine */
    struct trace_info foreign; /* facts about other machines */
    struct arena arena;
    struct evtx_hosts hosts;
};

static bool is_stopped(struct evt_input *in)
{
    return atomic_load_explicit(&in->stop, memory_order_relaxed);
}

static void note(struct evt_input *in, enum input_note level, const char *text)
{
    if (in->env.note) {
        in->env.note(in->env.self, level, text);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void describe(struct evt_input *in)
{
    struct plat_host host;
    plat_host_query(&host);
    const struct etw_logfile_header header = {.version = host.major | host.minor << 8,
        .provider_version = host.build,
        .reserved_flags = TRACE_CLOCK_SYSTEM_TIME};
    etw_trace_init(&in->here, in->env.name ? in->env.name : "", &header);
    in->here.info.has_stacks = false;
    in->here.info.clock = (struct trace_clock){.frequency = FILETIME_PER_S};
    in->foreign = (struct trace_info){.session_name = in->here.info.session_name,
        .clock = in->here.info.clock,
        .pointer_size = 8};
}

static void destroy(void *self)
{
    struct evt_input *in = self;
    if (!in) {
        return;
    }
    for (size_t i = 0; i < in->channel_count; i++) {
        evt_channel_close(in->channels[i]);
        free(in->channels[i]);
    }
    free(in->channels);
    free(in->rules);
    evt_marks_destroy(in->marks);
    evt_messages_destroy(in->messages);
    evt_render_destroy(in->render);
    if (in->signal) {
        in->api->close_signal(in->signal);
    }
    evtx_hosts_fini(&in->hosts);
    arena_fini(&in->arena);
    free(in);
}

static void *create(const void *settings, const struct input_env *env, struct error *err)
{
    struct evt_input *in = calloc(1, sizeof(*in));
    if (!in) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    in->settings = settings;
    in->env = *env;
    in->api = evt_api_get();
    atomic_init(&in->stop, false);
    arena_init(&in->arena, HOSTS_BYTES);
    evtx_hosts_init(&in->hosts, &in->arena, false);
    describe(in);
    in->rules = evt_options_rules(settings, env->scope, err);
    in->marks = in->rules ? evt_marks_create(err) : NULL;
    if (!in->marks) {
        destroy(in);
        return NULL;
    }
    in->signal = in->api->make_signal ? in->api->make_signal() : NULL;
    return in;
}

static void stop(void *self)
{
    struct evt_input *in = self;
    atomic_store_explicit(&in->stop, true, memory_order_relaxed);
    if (in->signal) {
        in->api->raise_signal(in->signal);
    }
}

static bool bookmarks(void *self, uint64_t number, struct buf *out, struct error *err)
{
    return evt_marks_write(((struct evt_input *)self)->marks, number, out, err);
}

static void restore(void *self, struct span bytes)
{
    struct evt_input *in = self;
    if (!evt_marks_read(in->marks, bytes)) {
        note(in, INPUT_NOTE_WARNING,
            "the stored bookmarks of its channels are damaged: the agent reads each channel again "
            "from where `start` says");
    }
}

/* ---- channels -------------------------------------------------------------------------------- */

static const struct evt_rule *rule_of(const struct evt_input *in, struct span name)
{
    for (size_t i = 0; i < in->settings->channels.count; i++) {
        if (glob_match(span_text(in->rules[i].name), name, true)) {
            return &in->rules[i];
        }
    }
    return NULL;
}

static bool is_known(const struct evt_input *in, struct span name)
{
    for (size_t i = 0; i < in->channel_count; i++) {
        if (span_equal_nocase(span_text(in->channels[i]->name), name)) {
            return true;
        }
    }
    return false;
}

/* NULL, or a static text that says why the channel cannot be added. */
static const char *try_to_add(
    struct evt_input *in, const struct evt_rule *rule, struct span name, bool is_found)
{
    if (!grow_list(
            &in->channels, in->channel_count, &in->channel_capacity, sizeof(*in->channels))) {
        return "out of memory";
    }
    struct evt_channel *channel = malloc(sizeof(*channel));
    if (!channel) {
        return "out of memory";
    }
    if (!evt_channel_init(channel, rule, name)) {
        free(channel);
        return "its name is too long, or not UTF-8";
    }
    channel->mark = evt_marks_channel(in->marks, name);
    if (channel->mark == SIZE_MAX) {
        free(channel);
        return "the session has too many channels, or no memory for its bookmark";
    }
    channel->last = evt_marks_bookmark(in->marks, channel->mark);
    channel->is_found = is_found;
    channel->is_late = in->has_started;
    in->channels[in->channel_count++] = channel;
    return NULL;
}

/* Each search tries again, so only the first failure is logged. */
static void add_channel(
    struct evt_input *in, const struct evt_rule *rule, struct span name, bool is_found)
{
    const char *problem = try_to_add(in, rule, name, is_found);
    if (problem && !in->has_left_out) {
        char text[EVT_CHANNEL_NAME_BYTES + 128];
        in->has_left_out = true;
        snprintf(text, sizeof(text), "channel %.*s is not read: %s",
            SPAN_ARG(span_first(name, EVT_CHANNEL_NAME_BYTES)), problem);
        note(in, INPUT_NOTE_WARNING, text);
    }
}

/* Analytic and debug channels cannot be subscribed to. */
static bool can_subscribe(const struct evt_input *in, const evt_char *path)
{
    struct evt_variant type = {.type = 0};
    uint32_t used;
    if (!in->api->EvtOpenChannelConfig || !in->api->EvtGetChannelConfigProperty) {
        return true;
    }
    evt_handle config = in->api->EvtOpenChannelConfig(NULL, path, 0);
    bool good = config && in->api->EvtGetChannelConfigProperty(
                              config, EVT_CHANNEL_CONFIG_TYPE, 0, sizeof(type), &type, &used);
    if (config) {
        in->api->EvtClose(config);
    }
    return !good || type.value.u32 < EVT_CHANNEL_ANALYTIC;
}

static void find_channels(struct evt_input *in)
{
    evt_char path[EVT_CHANNEL_NAME_CHARS];
    char name[EVT_CHANNEL_NAME_BYTES];
    uint32_t used;
    evt_handle all = in->api->EvtOpenChannelEnum ? in->api->EvtOpenChannelEnum(NULL, 0) : NULL;
    while (all && !is_stopped(in) &&
           in->api->EvtNextChannelPath(all, EVT_CHANNEL_NAME_CHARS, path, &used)) {
        size_t size = etw_text_decode(path, EVT_CHANNEL_NAME_CHARS, name, sizeof(name));
        const struct evt_rule *rule = rule_of(in, span_make(name, size));
        if (rule && evt_rule_is_pattern(rule) && !is_known(in, span_make(name, size)) &&
            can_subscribe(in, path)) {
            add_channel(in, rule, span_make(name, size), true);
        }
    }
    if (all) {
        in->api->EvtClose(all);
    }
}

static void name_channels(struct evt_input *in)
{
    bool has_pattern = false;
    for (size_t i = 0; i < in->settings->channels.count; i++) {
        struct span name = span_text(in->rules[i].name);
        if (evt_rule_is_pattern(&in->rules[i])) {
            has_pattern = true;
        } else if (!is_known(in, name)) {
            add_channel(in, rule_of(in, name), name, false);
        }
    }
    uint64_t now = plat_monotonic_ns();
    if (has_pattern && now >= in->find_ns) {
        find_channels(in);
        in->find_ns = now + FIND_S * second_ns;
    }
    in->has_started = true;
}

/* ---- what is missing ------------------------------------------------------------------------- */

static uint64_t number(const struct evt_input *in)
{
    return in->sink->number ? *in->sink->number : 0;
}

static void mark(struct evt_input *in, const struct evt_channel *channel)
{
    uint64_t position = evt_channel_position(channel);
    if (position && !evt_marks_add(in->marks, channel->mark, position, number(in))) {
        note(in, INPUT_NOTE_WARNING,
            "out of memory for bookmarks: the next run may deliver events twice");
    }
}

static void tell_loss(
    struct evt_input *in, const struct evt_channel *channel, const struct evt_channel_loss *loss)
{
    char text[EVT_CHANNEL_NAME_BYTES + 128];
    if (!loss->reason) {
        return;
    }
    const struct gap gap = {.stage = "eventlog",
        .reason = loss->reason,
        .unit = "events",
        .count = loss->count,
        .from = channel->last_time,
        .to = plat_now_filetime(),
        .trace = &in->here.info};
    snprintf(
        text, sizeof(text), "channel %s: events are missing (%s)", channel->name, loss->reason);
    note(in, INPUT_NOTE_WARNING, text);
    if (in->sink->gap) {
        in->sink->gap(in->sink->self, &gap);
    }
}

/* ---- subscribing ----------------------------------------------------------------------------- */

static void put_off(struct evt_input *in, struct evt_channel *channel, const struct error *err)
{
    uint64_t pause_s = RETRY_FIRST_S;
    for (unsigned i = 0; i < channel->failures && pause_s < RETRY_LAST_S; i++) {
        pause_s *= 2;
    }
    channel->failures++;
    channel->retry_ns = plat_monotonic_ns() +
                        (pause_s < RETRY_LAST_S ? pause_s : RETRY_LAST_S) * second_ns;
    if (!channel->is_told) {
        channel->is_told = true;
        note(in, channel->is_found ? INPUT_NOTE_INFO : INPUT_NOTE_WARNING, err->text);
    }
    if (!channel->is_found && in->env.trouble) {
        in->env.trouble(in->env.self, err->text);
    }
}

/* Channels that a pattern found do not count: the agent need not have access to all of them. */
static void tell_trouble(const struct evt_input *in)
{
    char text[EVT_CHANNEL_NAME_BYTES + 64];
    const char *why = NULL;
    for (size_t i = 0; i < in->channel_count && !why; i++) {
        const struct evt_channel *channel = in->channels[i];
        if (channel->is_told && !channel->is_found) {
            snprintf(text, sizeof(text), "channel %s cannot be read", channel->name);
            why = text;
        }
    }
    if (in->env.trouble) {
        in->env.trouble(in->env.self, why);
    }
}

/* The channel can be read. A subscription does not prove that: Windows may refuse every event. */
static void recover(struct evt_input *in, struct evt_channel *channel)
{
    channel->failures = 0;
    if (channel->is_told) {
        char text[EVT_CHANNEL_NAME_BYTES + 64];
        channel->is_told = false;
        snprintf(text, sizeof(text), "channel %s can be read again", channel->name);
        note(in, INPUT_NOTE_INFO, text);
        tell_trouble(in);
    }
}

static void subscribe(struct evt_input *in, struct evt_channel *channel)
{
    struct evt_channel_loss loss;
    struct error err = {0};
    bool from_now = in->settings->start == EVT_START_NOW && !channel->is_late;
    if (!evt_channel_subscribe(channel, in->signal, from_now ? EVT_CHANNEL_NOW : EVT_CHANNEL_OLDEST,
            channel->is_stale, &loss, &err)) {
        put_off(in, channel, &err);
        return;
    }
    channel->is_stale = false;
    tell_loss(in, channel, &loss);
    mark(in, channel);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_here(const struct evt_input *in, struct span computer)
{
    return span_equal_nocase(computer, in->here.info.host_name) ||
           (in->here.info.host_fqdn.size && span_equal_nocase(computer, in->here.info.host_fqdn));
}

/* Report record ${id}, which Windows did not render, as lost. 0: its number is unknown. */
static void lose_event(
    struct evt_input *in, const struct evt_channel *channel, uint64_t id, const char *why)
{
    char text[EVT_CHANNEL_NAME_BYTES + 1024];
    const struct gap gap = {.stage = "eventlog",
        .reason = "not_rendered",
        .unit = "events",
        .count = 1,
        .exact = true,
        .from = channel->last_time,
        .to = plat_now_filetime(),
        .trace = &in->here.info};
    snprintf(text, sizeof(text), "channel %s: %s %llu: %s", channel->name,
        id ? "record" : "a record after", (unsigned long long)(id ? id : channel->last), why);
    note(in, INPUT_NOTE_WARNING, text);
    if (in->sink->gap) {
        in->sink->gap(in->sink->self, &gap);
    }
}

/* False: the sink wants no more records. */
static bool give(struct evt_input *in, struct evt_channel *channel, evt_handle handle)
{
    const char *problem = NULL;
    struct error err = {0};
    struct evtx_event *event = evt_render_event(in->render, handle, &problem, &err);
    if (!event) {
        lose_event(in, channel, channel->last, err.text);
        return true;
    }
    struct event_record *record = &event->record;
    channel->last_time = record->time;
    if (!evt_rule_keeps(channel->rule, record, evtx_system_provider(event), plat_now_filetime())) {
        return true;
    }
    if (!in->settings->messages) {
        record->present |= RECORD_WITHOUT_MESSAGE;
    } else if (!record_log_message(record).size) {
        record->present |= RECORD_MESSAGE_SOUGHT;
        if (!evt_messages_add(in->messages, handle, evtx_system_provider(event), event, &err)) {
            note(in, INPUT_NOTE_INFO, err.text);
        }
    }
    if (problem && in->sink->damage) {
        in->sink->damage(in->sink->self, &in->here.info, INPUT_WHOLE_FILE, problem);
    }
    const struct trace_info *base = is_here(in, event->computer) ? &in->here.info : &in->foreign;
    record->trace = evtx_hosts_trace(&in->hosts, base, event->computer);
    return in->sink->record(in->sink->self, record);
}

static bool take(struct evt_input *in, struct evt_channel *channel, evt_handle handle)
{
    struct evt_channel_loss loss;
    struct error err = {0};
    uint64_t id;
    if (!evt_render_position(in->render, handle, &id, &err)) {
        lose_event(in, channel, 0, err.text);
        return true;
    }
    evt_channel_look_at_first(channel, id, &loss);
    tell_loss(in, channel, &loss);
    if (id <= channel->last) {
        return true; /* read before */
    }
    channel->last = id;
    if (!give(in, channel, handle)) {
        return false; /* the next run reads it again */
    }
    mark(in, channel);
    return true;
}

/* One turn of a channel. ${ret_any} becomes true if there is more to do. False: stop. */
static bool take_turn(struct evt_input *in, struct evt_channel *channel, bool *ret_any)
{
    evt_handle events[EVT_CHANNEL_BATCH];
    uint32_t count;
    struct error err = {0};
    bool goes_on = true;
    if (!channel->results) {
        if (plat_monotonic_ns() < channel->retry_ns) {
            return true;
        }
        subscribe(in, channel);
        if (!channel->results) {
            return true;
        }
    }
    switch (evt_channel_next(channel, events, &count, &err)) {
    case EVT_CHANNEL_EVENTS:
        *ret_any = true;
        recover(in, channel);
        for (uint32_t i = 0; i < count; i++) {
            goes_on = goes_on && !is_stopped(in) && take(in, channel, events[i]);
            in->api->EvtClose(events[i]);
        }
        return goes_on && !is_stopped(in);
    case EVT_CHANNEL_STALE:
        channel->is_stale = true;
        *ret_any = true;
        return true;
    case EVT_CHANNEL_SMALLER:
        *ret_any = true;
        return true;
    case EVT_CHANNEL_FAILED:
        put_off(in, channel, &err);
        return true;
    default:
        recover(in, channel);
        return true;
    }
}

/* One turn of every channel. */
static bool take_turns(struct evt_input *in, bool *ret_any)
{
    *ret_any = false;
    for (size_t i = 0; i < in->channel_count; i++) {
        if (!take_turn(in, in->channels[i], ret_any)) {
            return false;
        }
    }
    return true;
}

/* Nothing is left to read: move bookmarks over records that the queries do not select. */
static void examine(struct evt_input *in)
{
    uint64_t now = plat_monotonic_ns();
    if (now < in->examine_ns) {
        return;
    }
    in->examine_ns = now + EXAMINE_S * second_ns;
    for (size_t i = 0; i < in->channel_count && !is_stopped(in); i++) {
        if (evt_channel_examine(in->channels[i])) {
            mark(in, in->channels[i]);
        }
    }
}

static enum input_end run(void *self, const struct input_sink *sink, struct error *err)
{
    struct evt_input *in = self;
    bool any = false;
    bool goes_on = true;
    in->sink = sink;
    if (!evt_api_is_there() || !in->signal) {
        error_set(err, ERR_UNSUPPORTED, "this system has no Windows Event Log");
        return INPUT_FAILED;
    }
    in->render = evt_render_create(err);
    in->messages = in->render && in->settings->messages
                       ? evt_messages_create(
                             in->settings->language ? in->settings->language : in->env.language,
                             err)
                       : NULL;
    if (!in->render || (in->settings->messages && !in->messages)) {
        return INPUT_FAILED;
    }
    while (goes_on && !is_stopped(in)) {
        name_channels(in);
        goes_on = take_turns(in, &any);
        if (goes_on && !any) {
            examine(in);
            goes_on = !sink->pause || sink->pause(sink->self);
            if (goes_on && !is_stopped(in)) {
                in->api->wait_signal(in->signal, WAIT_MS);
            }
        }
    }
    return INPUT_STOPPED;
}

static void decoding(const void *settings, struct input_decoding *ret_decoding)
{
    (void)settings;
    *ret_decoding = (struct input_decoding){.codepage = 1252};
}

const struct input_ops input_eventlog = {
    .name = "eventlog",
    .fields = evt_options_fields,
    .settings_size = sizeof(struct evt_settings),
    .waits = true,
    .needs_eventlog = true,
    .providers = INPUT_PROVIDERS_NONE,
    .check = evt_options_check,
    .warnings = evt_options_warnings,
    .words = evt_options_words,
    .decoding = decoding,
    .create = create,
    .bookmarks = bookmarks,
    .restore = restore,
    .run = run,
    .stop = stop,
    .destroy = destroy,
};
