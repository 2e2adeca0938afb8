#include "input/windows/eventlog/evt_messages.h"

#include <stdlib.h>

#include "base/map.h"
#include "etw/etw_text.h"
#include "input/windows/eventlog/evt_publishers.h"
#include "platform/plat_clock.h"

enum {
    MAX_TOLD = 4096,
    MAX_CHARS = 64 * 1024,
    LANGUAGE_CHARS = 86, /* LOCALE_NAME_MAX_LENGTH + 1 */
};

struct evt_messages {
    const struct evt_api *api;
    struct evt_publishers publishers;
    struct map told; /* publishers whose lack of a message was reported */
    evt_char text[MAX_CHARS];
};

/* 0 with ${err} set: Windows does not know ${language}. */
static uint32_t find_locale(const struct evt_api *api, const char *language, struct error *err)
{
    evt_char name[LANGUAGE_CHARS];
    uint32_t locale = 0;
    if (api->locale && etw_text_encode(span_text(language), name, LANGUAGE_CHARS, NULL)) {
        locale = api->locale(name);
    }
    if (!locale) {
        error_set(err, ERR_CONFIG, "language: Windows does not know '%s'. write one such as en-US",
            language);
    }
    return locale;
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
    uint32_t locale = language ? find_locale(messages->api, language, err) : 0;
    evt_publishers_init(&messages->publishers, messages->api, locale);
    if (language && !locale) {
        evt_messages_destroy(messages);
        return NULL;
    }
    return messages;
}

void evt_messages_destroy(struct evt_messages *messages)
{
    if (!messages) {
        return;
    }
    evt_publishers_fini(&messages->publishers);
    size_t cursor = 0;
    const struct map_slot *slot;
    while ((slot = map_next(&messages->told, &cursor))) {
        free(slot->value);
    }
    map_fini(&messages->told);
    free(messages);
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
    uint32_t code = evt_publishers_find(
        &messages->publishers, provider, plat_monotonic_ns(), &publisher);
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
