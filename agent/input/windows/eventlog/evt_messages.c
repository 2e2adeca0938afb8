#include "input/windows/eventlog/evt_messages.h"

#include <stdlib.h>

#include "base/map.h"
#include "etw/etw_text.h"

enum {
    MAX_OPEN = 256,
    MAX_TOLD = 4096,
    NAME_CHARS = 512,
    MAX_CHARS = 64 * 1024,
    LANGUAGE_CHARS = 86, /* LOCALE_NAME_MAX_LENGTH + 1 */
};

struct publisher {
    char *name;
    size_t name_size;
    evt_handle handle; /* NULL: it cannot be opened */
    uint32_t code;     /* why not */
};

struct evt_messages {
    const struct evt_api *api;
    uint32_t locale;
    struct publisher publishers[MAX_OPEN];
    size_t count;
    size_t oldest;
    struct map told; /* publishers whose lack of a message was reported */
    evt_char text[MAX_CHARS];
};

static bool find_locale(struct evt_messages *messages, const char *language, struct error *err)
{
    evt_char name[LANGUAGE_CHARS];
    if (!language) {
        return true;
    }
    if (messages->api->locale && etw_text_encode(span_text(language), name, LANGUAGE_CHARS, NULL)) {
        messages->locale = messages->api->locale(name);
    }
    return messages->locale ||
           error_set(err, ERR_CONFIG,
               "language: Windows does not know '%s'. write one such as en-US", language);
}

struct evt_messages *evt_messages_create(const char *language, struct error *err)
{
    struct evt_messages *messages = calloc(1, sizeof(*messages));
    if (!messages) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    messages->api = evt_api_get();
    map_init(&messages->told, MAX_TOLD);
    if (!find_locale(messages, language, err)) {
        evt_messages_destroy(messages);
        return NULL;
    }
    return messages;
}

static void close_publisher(struct evt_messages *messages, struct publisher *publisher)
{
    if (publisher->handle) {
        messages->api->EvtClose(publisher->handle);
    }
    free(publisher->name);
}

void evt_messages_destroy(struct evt_messages *messages)
{
    if (!messages) {
        return;
    }
    for (size_t i = 0; i < messages->count; i++) {
        close_publisher(messages, &messages->publishers[i]);
    }
    size_t cursor = 0;
    const struct map_slot *slot;
    while ((slot = map_next(&messages->told, &cursor))) {
        free(slot->value);
    }
    map_fini(&messages->told);
    free(messages);
}

static struct publisher *place_for(struct evt_messages *messages)
{
    if (messages->count < MAX_OPEN) {
        return &messages->publishers[messages->count++];
    }
    struct publisher *publisher = &messages->publishers[messages->oldest];
    messages->oldest = (messages->oldest + 1) % MAX_OPEN;
    close_publisher(messages, publisher);
    return publisher;
}

/* Returns 0 and sets ${ret_handle}, or returns the Win32 error for which the publisher cannot be
 * opened. */
static uint32_t find_publisher(
    struct evt_messages *messages, struct span name, evt_handle *ret_handle)
{
    const struct evt_api *api = messages->api;
    for (size_t i = 0; i < messages->count; i++) {
        const struct publisher *publisher = &messages->publishers[i];
        if (span_equal(span_make(publisher->name, publisher->name_size), name)) {
            *ret_handle = publisher->handle;
            return publisher->code;
        }
    }
    evt_char wide[NAME_CHARS];
    char *copy = span_copy(name);
    if (!copy || !etw_text_encode(name, wide, NAME_CHARS, NULL)) {
        uint32_t code = copy ? EVT_ERROR_INVALID_PARAMETER : EVT_ERROR_NOT_ENOUGH_MEMORY;
        free(copy);
        return code;
    }
    struct publisher *publisher = place_for(messages);
    *publisher = (struct publisher){.name = copy,
        .name_size = name.size,
        .handle = api->EvtOpenPublisherMetadata(NULL, wide, NULL, messages->locale, 0)};
    publisher->code = publisher->handle ? EVT_OK : api->last_error();
    *ret_handle = publisher->handle;
    return publisher->code;
}

/* Windows leaves an insert without a value, or one too many, in the text as it is. .NET takes the
 * text of these three, too (NativeWrapper.cs of System.Diagnostics.EventLog, dotnet/runtime). */
static bool is_good_enough(uint32_t code)
{
    return code == EVT_ERROR_UNRESOLVED_VALUE_INSERT ||
           code == EVT_ERROR_UNRESOLVED_PARAMETER_INSERT || code == EVT_ERROR_MAX_INSERTS_REACHED;
}

static uint32_t format(
    struct evt_messages *messages, evt_handle publisher, evt_handle event, uint32_t *ret_chars)
{
    *ret_chars = 0;
    if (messages->api->EvtFormatMessage(publisher, event, 0, 0, NULL, EVT_FORMAT_MESSAGE_EVENT,
            MAX_CHARS, messages->text, ret_chars)) {
        return EVT_OK;
    }
    uint32_t code = messages->api->last_error();
    return is_good_enough(code) && *ret_chars ? EVT_OK : code;
}

/* True if this was reported before, or if the report cannot be remembered. */
static bool is_told(struct evt_messages *messages, struct span provider)
{
    if (map_get(&messages->told, provider) || messages->told.count == MAX_TOLD) {
        return true;
    }
    char *copy = span_copy(provider);
    if (!copy) {
        return true;
    }
    if (!map_put(&messages->told, span_make(copy, provider.size), copy)) {
        free(copy);
        return true;
    }
    return false;
}

bool evt_messages_add(struct evt_messages *messages, evt_handle handle, struct span provider,
    struct evtx_event *event, struct error *err)
{
    uint32_t chars = 0;
    if (!messages->api->EvtOpenPublisherMetadata || !messages->api->EvtFormatMessage) {
        return true;
    }
    evt_handle publisher;
    uint32_t code = find_publisher(messages, provider, &publisher);
    if (code == EVT_OK) {
        code = format(messages, publisher, handle, &chars);
    }
    if (code == EVT_OK) {
        size_t kept = chars < MAX_CHARS ? chars : MAX_CHARS;
        evtx_event_set_message(event, span_make(messages->text, kept * sizeof(evt_char)));
        return true;
    }
    return is_told(messages, provider) ||
           evt_api_fail(err, code, "provider %.*s: this machine has no messages for its events",
               SPAN_ARG(span_first(provider, 128)));
}
