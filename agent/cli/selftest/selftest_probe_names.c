#include "cli/selftest/selftest_probes.h"
#include "etw/enable/etw_enable.h"
#include "etw/etw_api.h"
#include "etw/session/etw_control.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * Does a filter by event names with all keywords exclude other names? A TraceLogging provider of
 * this process writes two events with a keyword; the session enables one of them. The size of their
 * payloads tells them apart.
 */
#define PROVIDER_NAME "Etwship.Selftest.Names"

enum { ANSWER_MS = 2000, CHANNEL_TRACELOGGING = 11, LEVEL = 4, KEYWORD = 0x2 };
enum { PROVIDER_METADATA = 2, EVENT_METADATA = 1, WANTED_BYTES = 4, OTHER_BYTES = 8 };
enum { SET_TRAITS = 2 }; /* EVENT_INFO_CLASS */

/* TraceLoggingProvider.h: sizes, names, and a field with its type
 * (8 and 10 are UInt32 and UInt64). */
static const uint8_t traits[] = "\x19\0" PROVIDER_NAME;
static const uint8_t wanted_event[] = "\x0d\0\0Wanted\0A\0\x08";
static const uint8_t other_event[] = "\x0c\0\0Other\0A\0\x0a";

static const uint64_t timeout_ns = UINT64_C(5000000000);

struct reader {
    struct guid provider;
    uint64_t trace;
    struct plat_mutex mutex;
    struct plat_cond changed;
    unsigned wanted; /* under the mutex, as `other` is */
    unsigned other;
};

static void on_event(struct etw_event_record *record)
{
    struct reader *reader = record->user_context;
    if (guid_equal(&record->header.provider_id, &reader->provider)) {
        bool is_wanted = record->user_data_length == WANTED_BYTES;
        plat_mutex_lock(&reader->mutex);
        reader->wanted += is_wanted;
        reader->other += !is_wanted;
        plat_cond_broadcast(&reader->changed);
        plat_mutex_unlock(&reader->mutex);
    }
}

static void read_events(void *self)
{
    const struct reader *reader = self;
    etw_api_get()->ProcessTrace(&reader->trace, 1, NULL, NULL);
}

static struct etw_data data_of(const void *bytes, size_t size, uint8_t type)
{
    return (struct etw_data){
        .data = (uint64_t)(uintptr_t)bytes, .size = (uint32_t)size, .type = type};
}

/* Windows uses types of data descriptors once the provider has set its traits, as in
 * TraceLoggingProvider.h. */
static void set_traits(uint64_t provider)
{
    const struct etw_api *api = etw_api_get();
    if (api->EventSetInformation) {
        api->EventSetInformation(provider, SET_TRAITS, traits, sizeof(traits));
    }
}

static void write_event(uint64_t provider, const uint8_t *event, size_t event_bytes, size_t bytes)
{
    static const uint8_t payload[OTHER_BYTES];
    const struct event_descriptor descriptor = {
        .channel = CHANNEL_TRACELOGGING, .level = LEVEL, .keyword = KEYWORD};
    const struct etw_data data[] = {data_of(traits, sizeof(traits), PROVIDER_METADATA),
        data_of(event, event_bytes, EVENT_METADATA), data_of(payload, bytes, 0)};
    etw_api_get()->EventWriteTransfer(provider, &descriptor, NULL, NULL, 3, data);
}

/* Wait for the first event: then the trace is connected, and stopping the session delivers the
 * others. */
static void wait_for_events(struct reader *reader)
{
    uint64_t deadline_ns = plat_monotonic_ns() + timeout_ns;
    bool in_time = true;
    plat_mutex_lock(&reader->mutex);
    while (in_time && reader->wanted + reader->other == 0) {
        in_time = plat_cond_wait_until(&reader->changed, &reader->mutex, deadline_ns);
    }
    plat_mutex_unlock(&reader->mutex);
}

/* Both events, read until the session ends. False with ${err} set: they could not be read. */
static bool pass_events(
    struct reader *reader, const char *name, uint64_t provider, struct error *err)
{
    const struct etw_api *api = etw_api_get();
    etw_char units[ETW_MAX_NAME_CHARS];
    struct etw_logfile logfile = {.logger_name = units,
        .process_trace_mode = ETW_PROCESS_REAL_TIME | ETW_PROCESS_EVENT_RECORD,
        .event_callback = on_event,
        .context = reader};
    etw_text_encode(span_text(name), units, ETW_MAX_NAME_CHARS, NULL);
    reader->trace = api->OpenTraceW(&logfile);
    if (reader->trace == ETW_INVALID_TRACE) {
        return etw_api_fail(err, api->last_error(), "session %.100s cannot be read", name);
    }
    struct plat_thread *thread = plat_thread_start("probe", read_events, reader, err);
    write_event(provider, wanted_event, sizeof(wanted_event) - 1, WANTED_BYTES);
    write_event(provider, other_event, sizeof(other_event) - 1, OTHER_BYTES);
    if (thread) {
        etw_control_flush(name, NULL);
        wait_for_events(reader);
    }
    etw_control_stop(name, NULL, NULL);
    if (thread) {
        plat_thread_join(thread);
    }
    api->CloseTrace(reader->trace);
    return thread != NULL;
}

static void judge(const struct reader *reader, struct selftest_answer *answer)
{
    bool good = reader->wanted == 1 && reader->other == 0;
    selftest_probes_answer(answer, good ? SELFTEST_AS_EXPECTED : SELFTEST_OTHERWISE,
        "of two events with names, %u of the enabled one arrived, and %u of the other",
        reader->wanted, reader->other);
}

static void ask(uint64_t provider, struct reader *reader, struct selftest_answer *answer)
{
    char name[SELFTEST_PROBE_NAME_BYTES];
    struct etw_session_state session;
    struct etw_outcome outcome;
    struct error err = {0};
    struct etw_request request = {.provider = reader->provider,
        .timeout_ms = ANSWER_MS,
        .names = {.count = 1, .texts = {"Wanted"}}};
    if (!selftest_probes_start("names", name, &session, answer)) {
        return;
    }
    if (!etw_enable_provider(session.handle, PROVIDER_NAME, &request, &outcome, &err)) {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
    } else if (outcome.refused) {
        selftest_probes_answer(
            answer, SELFTEST_UNKNOWN, "this Windows does not filter by event names");
    } else if (pass_events(reader, name, provider, &err)) {
        judge(reader, answer);
    } else {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
    }
    etw_control_stop(name, NULL, NULL);
}

void selftest_probe_names_run(struct selftest_answer *ret_answer)
{
    struct reader reader = {.provider = guid_from_name(span_text(PROVIDER_NAME))};
    struct selftest_provider provider = {.changed = NULL};
    plat_mutex_init(&reader.mutex);
    plat_cond_init(&reader.changed);
    if (selftest_probes_register(&provider, &reader.provider, ret_answer)) {
        set_traits(provider.handle);
        ask(provider.handle, &reader, ret_answer);
        selftest_provider_unregister(&provider);
    }
    plat_cond_fini(&reader.changed);
    plat_mutex_fini(&reader.mutex);
}
