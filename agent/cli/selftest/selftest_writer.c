#include "cli/selftest/selftest_writer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/guid.h"
#include "cli/selftest/selftest_provider.h"
#include "etw/etw_api.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * Windows calls back, on its own threads, when a provider is enabled or disabled; the callbacks
 * take the mutex, which is never held while an event is written. Every event holds its number
 * within its kind, from 1, and the time of writing.
 */
#define MANIFEST_GUID "b1f6a9a0-6f0e-4b53-9a0d-3b1d3a5c7e01"
#define CLASSIC_GUID "b1f6a9a0-6f0e-4b53-9a0d-3b1d3a5c7e02"
#define CLASS_GUID "b1f6a9a0-6f0e-4b53-9a0d-3b1d3a5c7e03"
#define MESSAGE_GUID "b1f6a9a0-6f0e-4b53-9a0d-3b1d3a5c7e04"
#define TRACELOGGING_NAME "Etwship.Selftest"

enum {
    CHANNEL_TRACELOGGING = 11,
    LEVEL = 4,
    EVENT_ID = 1,
    CLASS_TYPE = 10,
    MESSAGE_NUMBER = 10,
    MESSAGE_FLAGS = 0x01 | 0x02 | 0x08 | 0x20, /* sequence, GUID, time, process and thread */
    DATA_PROVIDER_METADATA = 2,
    DATA_EVENT_METADATA = 1,
    SET_TRAITS = 2,     /* EVENT_INFO_CLASS */
    REQUEST_ENABLE = 4, /* WMIDPREQUESTCODE */
    REQUEST_DISABLE = 5,
    PAUSE_MS = 5,
    MOST_AT_ONCE = 4096,
};

static const uint32_t message_status = UINT32_C(0xc0000022);

/* Level and flags of the classic provider, which its own code would check. */
#define CLASSIC_LEVEL 5
#define CLASSIC_FLAGS 0x80010003
#define TEXT_OF(macro) QUOTED(macro)
#define QUOTED(text) #text

const char selftest_writer_pack[] = "etwship-pack 2\n"
                                    "provider " MANIFEST_GUID " \"Etwship-Selftest\"\n"
                                    "event manifest 1 0\n"
                                    "  name \"Tick\"\n"
                                    "  field \"Sequence\" UInt64\n"
                                    "  field \"SentNs\" UInt64\n"
                                    "  field \"Number\" Int32\n"
                                    "  field \"Text\" UnicodeString\n"
                                    "provider " CLASSIC_GUID " \"Etwship-Selftest-Classic\"\n"
                                    "event mof 0 0\n"
                                    "  class " CLASS_GUID "\n"
                                    "  name \"Selftest/Tick\"\n"
                                    "  opcode 10 \"Tick\"\n"
                                    "  field \"Sequence\" UInt64\n"
                                    "  field \"SentNs\" UInt64\n"
                                    "  field \"Number\" Int32\n"
                                    "  field \"Text\" UnicodeString\n";

const char selftest_writer_tmf[] = MESSAGE_GUID
    " Etwship-Selftest // SRC=selftest.c MJ= MN=\n"
    "#typev selftest_c1 10 \"%0%!FUNC! %10!I64u! sent at %11!I64u!: %12!06d!, "
    "%13!s!, %14!s!\" //   LEVEL=TRACE_LEVEL_INFORMATION FLAGS=SELFTEST FUNC=tick\n"
    "{\n"
    "sequence, ItemULongLong -- 10\n"
    "sent_ns, ItemULongLong -- 11\n"
    "number, ItemLong -- 12\n"
    "text, ItemWString -- 13\n"
    "status, ItemNTSTATUS -- 14\n"
    "}\n";

/* Traits: their size, the provider's name (TraceLoggingProvider.h). */
static const uint8_t traits[] = "\x13\0" TRACELOGGING_NAME;
/* An event: its size, no tags, its name, then each field's name and type. */
static const uint8_t tick[] = "\x28\0\0Tick\0Sequence\0\x0aSentNs\0\x0aNumber\0\x07Text\0\x01";

static const etw_char text[] = {'n', 'a', 0xef, 'v', 'e', ' ', 0x2713, 0};
#define TEXT_UTF8 "na\xc3\xafve \xe2\x9c\x93"

enum { PAYLOAD_BYTES = 8 + 8 + 4 + sizeof(text) };

struct selftest_writer {
    struct selftest_writer_settings settings;
    const struct etw_api *api;
    struct plat_thread *thread;
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool enabled[SELFTEST_KINDS]; /* messages use the registration of classic events */
    bool ending;
    struct selftest_provider tracelogging;
    struct selftest_provider manifest;
    uint64_t classic;             /* registration; 0: none */
    atomic_uint_fast64_t session; /* of the classic provider; 0: none */
    atomic_bool as_asked;         /* its level and flags */
    struct guid class_guid;
    struct guid message_guid;
    struct selftest_written written;
};

const char *selftest_writer_kind(enum selftest_kind kind)
{
    static const char *const names[] = {"tracelogging", "manifest", "mof", "wpp"};
    return names[kind];
}

const char *selftest_writer_provider(size_t index)
{
    static char tracelogging[GUID_TEXT_SIZE + 1];
    if (index == 0 && !tracelogging[0]) {
        struct guid guid = guid_from_name(span_text(TRACELOGGING_NAME));
        guid_write(&guid, tracelogging);
    }
    const char *const list[] = {tracelogging, MANIFEST_GUID,
        CLASSIC_GUID ":" TEXT_OF(CLASSIC_LEVEL) "::" TEXT_OF(CLASSIC_FLAGS), NULL};
    return list[index];
}

/* ---- events ---------------------------------------------------------------------------------- */

static int32_t number_of(uint64_t sequence)
{
    return -(int32_t)(sequence % 100000);
}

static void put_payload(uint64_t sequence, uint64_t sent_ns, uint8_t bytes[PAYLOAD_BYTES])
{
    store_le64(bytes, sequence);
    store_le64(bytes + 8, sent_ns);
    store_le32(bytes + 16, (uint32_t)number_of(sequence));
    memcpy(bytes + 20, text, sizeof(text));
}

void selftest_writer_expect(
    enum selftest_kind kind, uint64_t sequence, uint64_t sent_ns, struct buf *out)
{
    if (kind != SELFTEST_MESSAGE) {
        buf_printf(out,
            "\"data\":{\"Sequence\":%llu,\"SentNs\":%llu,\"Number\":%d,\"Text\":\"" TEXT_UTF8 "\"}",
            (unsigned long long)sequence, (unsigned long long)sent_ns, number_of(sequence));
        return;
    }
    buf_printf(out,
        "\"data\":{\"arg10\":%llu,\"arg11\":%llu,\"arg12\":%d,\"arg13\":\"" TEXT_UTF8
        "\",\"arg14\":%lu,\"arg14_name\":\"STATUS_ACCESS_DENIED\"}",
        (unsigned long long)sequence, (unsigned long long)sent_ns, number_of(sequence),
        (unsigned long)message_status);
}

void selftest_writer_expect_text(
    enum selftest_kind kind, uint64_t sequence, uint64_t sent_ns, struct buf *out)
{
    if (kind == SELFTEST_MESSAGE) {
        buf_printf(out,
            "\"message\":\"tick %llu sent at %llu: %06d, " TEXT_UTF8
            ", 0xc0000022(STATUS_ACCESS_DENIED)\"",
            (unsigned long long)sequence, (unsigned long long)sent_ns, number_of(sequence));
    }
}

static struct etw_data data_of(const void *bytes, size_t size, uint8_t type)
{
    return (struct etw_data){
        .data = (uint64_t)(uintptr_t)bytes, .size = (uint32_t)size, .type = type};
}

static uint32_t write_tracelogging(struct selftest_writer *w, const uint8_t *payload)
{
    const struct event_descriptor descriptor = {.channel = CHANNEL_TRACELOGGING, .level = LEVEL};
    const struct etw_data data[] = {data_of(traits, sizeof(traits), DATA_PROVIDER_METADATA),
        data_of(tick, sizeof(tick) - 1, DATA_EVENT_METADATA), data_of(payload, PAYLOAD_BYTES, 0)};
    return w->api->EventWriteTransfer(w->tracelogging.handle, &descriptor, NULL, NULL, 3, data);
}

static uint32_t write_manifest(struct selftest_writer *w, const uint8_t *payload)
{
    const struct event_descriptor descriptor = {.id = EVENT_ID, .level = LEVEL};
    const struct etw_data data = data_of(payload, PAYLOAD_BYTES, 0);
    return w->api->EventWriteTransfer(w->manifest.handle, &descriptor, NULL, NULL, 1, &data);
}

static uint32_t write_classic(struct selftest_writer *w, const uint8_t *payload)
{
    struct {
        struct etw_classic_header header;
        uint8_t payload[PAYLOAD_BYTES];
    } event = {.header = {.size = sizeof(event.header) + PAYLOAD_BYTES,
                   .type = CLASS_TYPE,
                   .level = LEVEL,
                   .guid = w->class_guid}};
    uint32_t flags = ETW_TRACE_TRACED_GUID;
    store_le32(
        (uint8_t *)&event.header.processor_time + 4, flags); /* Flags of EVENT_TRACE_HEADER */
    memcpy(event.payload, payload, PAYLOAD_BYTES);
    return w->api->TraceEvent(atomic_load(&w->session), &event.header);
}

static uint32_t write_message(struct selftest_writer *w, const uint8_t *payload)
{
    return w->api->TraceMessage(atomic_load(&w->session), MESSAGE_FLAGS, &w->message_guid,
        MESSAGE_NUMBER, (const void *)payload, (size_t)8, (const void *)(payload + 8), (size_t)8,
        (const void *)(payload + 16), (size_t)4, (const void *)text, sizeof(text),
        (const void *)&message_status, sizeof(message_status), (const void *)NULL);
}

static void write_one(struct selftest_writer *w, enum selftest_kind kind, uint64_t sequence)
{
    static uint32_t (*const writers[])(struct selftest_writer * w, const uint8_t *payload) = {
        write_tracelogging, write_manifest, write_classic, write_message};
    uint8_t payload[PAYLOAD_BYTES];
    put_payload(sequence, plat_monotonic_ns(), payload);
    uint32_t code = writers[kind](w, payload);
    if (code) {
        w->written.refused++;
        w->written.last_code = code;
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_ending(struct selftest_writer *w)
{
    plat_mutex_lock(&w->mutex);
    bool ending = w->ending;
    plat_mutex_unlock(&w->mutex);
    return ending;
}

static bool wait_until_enabled(struct selftest_writer *w)
{
    plat_mutex_lock(&w->mutex);
    while (!w->ending && !(w->enabled[SELFTEST_TRACELOGGING] && w->enabled[SELFTEST_MANIFEST] &&
                             w->enabled[SELFTEST_CLASSIC])) {
        plat_cond_wait(&w->changed, &w->mutex);
    }
    bool good = !w->ending;
    plat_mutex_unlock(&w->mutex);
    return good;
}

/* Number of events due after ${ns}. */
static uint64_t due(const struct selftest_writer *w, uint64_t ns)
{
    return (uint64_t)((double)w->settings.rate * (double)ns / 1e9);
}

static void run(void *self)
{
    struct selftest_writer *w = self;
    if (!wait_until_enabled(w)) {
        return;
    }
    w->written.was_enabled = true;
    w->written.as_asked = atomic_load(&w->as_asked);
    uint64_t total = due(w, w->settings.duration_ns);
    total = total < SELFTEST_KINDS ? SELFTEST_KINDS : total;
    uint64_t start = plat_monotonic_ns();
    uint64_t passed = 0;
    for (uint64_t i = 0; i < total && !is_ending(w);) {
        uint64_t until = due(w, passed) + 1;
        until = until < i + MOST_AT_ONCE ? until : i + MOST_AT_ONCE;
        for (until = until < total ? until : total; i < until; i++) {
            enum selftest_kind kind = (enum selftest_kind)(i % SELFTEST_KINDS);
            write_one(w, kind, ++w->written.sent[kind]);
        }
        passed = plat_monotonic_ns() - start;
        if (i >= SELFTEST_KINDS && passed > w->settings.duration_ns + w->settings.duration_ns / 2) {
            break; /* this machine cannot write at this rate */
        }
        if (i < total && due(w, passed) <= i) {
            plat_sleep_ms(PAUSE_MS);
            passed = plat_monotonic_ns() - start;
        }
    }
    w->written.took_ns = plat_monotonic_ns() - start;
    w->settings.done(w->settings.self, w->written.sent);
    for (int kind = 0; kind < SELFTEST_KINDS; kind++) {
        write_one(w, (enum selftest_kind)kind, 0);
    }
}

/* ---- registrations --------------------------------------------------------------------------- */

static void set_enabled(struct selftest_writer *w, enum selftest_kind kind, bool enabled)
{
    plat_mutex_lock(&w->mutex);
    w->enabled[kind] = enabled;
    plat_cond_broadcast(&w->changed);
    plat_mutex_unlock(&w->mutex);
}

static void on_tracelogging(void *self, bool enabled, uint64_t keywords)
{
    (void)keywords;
    set_enabled(self, SELFTEST_TRACELOGGING, enabled);
}

static void on_manifest(void *self, bool enabled, uint64_t keywords)
{
    (void)keywords;
    set_enabled(self, SELFTEST_MANIFEST, enabled);
}

/* clang-format off */
static uint32_t on_classic(uint32_t request_code, void *context,
    uint32_t *buffer_size, /* NOLINT(readability-non-const-parameter): the type is Windows' own */
    void *buffer)
/* clang-format on */
{
    (void)buffer_size;
    struct selftest_writer *w = context;
    if (request_code == REQUEST_ENABLE) {
        uint64_t session = w->api->GetTraceLoggerHandle(buffer);
        atomic_store(&w->as_asked, w->api->GetTraceEnableLevel(session) == CLASSIC_LEVEL &&
                                       w->api->GetTraceEnableFlags(session) == CLASSIC_FLAGS);
        atomic_store(&w->session, session);
        set_enabled(w, SELFTEST_CLASSIC, true);
    } else if (request_code == REQUEST_DISABLE) {
        set_enabled(w, SELFTEST_CLASSIC, false);
        atomic_store(&w->session, 0);
    }
    return ETW_SUCCESS;
}

static bool has_functions(const struct etw_api *api, struct error *err)
{
    const struct {
        const char *name;
        bool is_there;
    } functions[] = {{"EventRegister", api->EventRegister != NULL},
        {"EventUnregister", api->EventUnregister != NULL},
        {"EventWriteTransfer", api->EventWriteTransfer != NULL},
        {"RegisterTraceGuidsW", api->RegisterTraceGuidsW != NULL},
        {"UnregisterTraceGuids", api->UnregisterTraceGuids != NULL},
        {"GetTraceLoggerHandle", api->GetTraceLoggerHandle != NULL},
        {"GetTraceEnableLevel", api->GetTraceEnableLevel != NULL},
        {"GetTraceEnableFlags", api->GetTraceEnableFlags != NULL},
        {"TraceEvent", api->TraceEvent != NULL}, {"TraceMessage", api->TraceMessage != NULL}};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (!functions[i].is_there) {
            return etw_api_missing(err, functions[i].name);
        }
    }
    return true;
}

static struct guid guid_of(const char *guid_text)
{
    struct guid guid = {{0}};
    guid_parse(span_text(guid_text), &guid);
    return guid;
}

/*
 * Until a provider has set its traits (EVENT_INFO_CLASS), Windows treats all data descriptors as
 * payload and ignores their types. TraceLoggingProvider.h sets them if the function exists and
 * ignores the result: systems that refuse it use the types anyway.
 */
static void set_traits(const struct selftest_writer *w)
{
    if (w->api->EventSetInformation) {
        w->api->EventSetInformation(w->tracelogging.handle, SET_TRAITS, traits, sizeof(traits));
    }
}

static bool register_all(struct selftest_writer *w, struct error *err)
{
    const struct guid tracelogging = guid_of(selftest_writer_provider(0));
    const struct guid manifest = guid_of(MANIFEST_GUID);
    const struct guid classic = guid_of(CLASSIC_GUID);
    struct etw_guid_registration class_of = {.guid = &w->class_guid};
    w->tracelogging = (struct selftest_provider){.changed = on_tracelogging, .self = w};
    w->manifest = (struct selftest_provider){.changed = on_manifest, .self = w};
    uint32_t code = selftest_provider_register(&w->tracelogging, &tracelogging);
    if (!code) {
        set_traits(w);
        code = selftest_provider_register(&w->manifest, &manifest);
    }
    if (!code) {
        code = w->api->RegisterTraceGuidsW(
            on_classic, w, &classic, 1, &class_of, NULL, NULL, &w->classic);
    }
    return !code || etw_api_fail(err, code, "cannot register a provider");
}

static void free_writer(struct selftest_writer *w)
{
    if (w->classic) {
        w->api->UnregisterTraceGuids(w->classic);
    }
    selftest_provider_unregister(&w->manifest);
    selftest_provider_unregister(&w->tracelogging);
    plat_cond_fini(&w->changed);
    plat_mutex_fini(&w->mutex);
    free(w);
}

struct selftest_writer *selftest_writer_start(
    const struct selftest_writer_settings *settings, struct error *err)
{
    const struct etw_api *api = etw_api_get();
    if (!has_functions(api, err)) {
        return NULL;
    }
    struct selftest_writer *w = calloc(1, sizeof(*w));
    if (!w) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    w->settings = *settings;
    w->api = api;
    w->class_guid = guid_of(CLASS_GUID);
    w->message_guid = guid_of(MESSAGE_GUID);
    plat_mutex_init(&w->mutex);
    plat_cond_init(&w->changed);
    w->thread = register_all(w, err) ? plat_thread_start("selftest", run, w, err) : NULL;
    if (!w->thread) {
        free_writer(w);
        return NULL;
    }
    return w;
}

void selftest_writer_end(struct selftest_writer *writer, struct selftest_written *ret_written)
{
    plat_mutex_lock(&writer->mutex);
    writer->ending = true;
    plat_cond_broadcast(&writer->changed);
    plat_mutex_unlock(&writer->mutex);
    plat_thread_join(writer->thread);
    *ret_written = writer->written;
    free_writer(writer);
}
