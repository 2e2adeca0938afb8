#include "etw/etw_names.h"

#include <stdlib.h>
#include <string.h>

#include "etw/etw_api.h"
#include "etw/etw_text.h"

/*
 * TDH's enumerations are called twice, for the size and for the data, and again if the list grew in
 * between. The results are read with bounds checks.
 */
enum { MAX_TRIES = 5, MAX_LIST_BYTES = 64 * 1024 * 1024, NAME_BYTES = 512 };

struct etw_names {
    uint8_t *data;
    size_t size;
    uint32_t count;
};

/* One of TDH's calls: fill ${data} of ${bytes}, or return the needed size. */
typedef uint32_t ask_fn(const void *self, void *data, uint32_t *bytes);

/* The result of the call, freed by the caller; NULL with its code in ${ret_code}. */
static uint8_t *ask(ask_fn *call, const void *self, size_t *ret_size, uint32_t *ret_code)
{
    uint32_t bytes = 0;
    uint8_t *data = NULL;
    uint32_t code = call(self, NULL, &bytes);
    for (int i = 0; i < MAX_TRIES && code == ETW_ERROR_INSUFFICIENT_BUFFER; i++) {
        uint8_t *more = bytes <= MAX_LIST_BYTES ? realloc(data, bytes + 1) : NULL;
        if (!more) {
            code = ETW_ERROR_NOT_ENOUGH_MEMORY;
            break;
        }
        data = more;
        memset(data, 0, bytes + 1);
        *ret_size = bytes;
        code = call(self, data, &bytes);
    }
    *ret_code = code;
    if (code != ETW_SUCCESS || !data) {
        free(data);
        return NULL;
    }
    return data;
}

/* The UTF-16 text at ${offset} of a block; empty if there is none. */
static size_t text_at(const uint8_t *data, size_t size, uint32_t offset, char ret_text[NAME_BYTES])
{
    ret_text[0] = 0;
    if (offset == 0 || offset % sizeof(etw_char) != 0 || offset >= size) {
        return 0;
    }
    const etw_char *units = (const etw_char *)(const void *)(data + offset);
    return etw_text_decode(units, (size - offset) / sizeof(etw_char), ret_text, NAME_BYTES);
}

static bool is_named(const uint8_t *data, size_t size, uint32_t offset, struct span name)
{
    char text[NAME_BYTES];
    size_t length = text_at(data, size, offset, text);
    return length && span_equal_nocase(span_make(text, length), name);
}

/* ---- providers ------------------------------------------------------------------------------- */

static uint32_t ask_providers(const void *self, void *data, uint32_t *bytes)
{
    const struct etw_api *api = self;
    return api->TdhEnumerateProviders(data, bytes);
}

struct etw_names *etw_names_create(struct error *err)
{
    const struct etw_api *api = etw_api_get();
    uint32_t code;
    if (!api->TdhEnumerateProviders) {
        etw_api_missing(err, "TdhEnumerateProviders");
        return NULL;
    }
    struct etw_names *names = calloc(1, sizeof(*names));
    if (!names) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    names->data = ask(ask_providers, api, &names->size, &code);
    if (!names->data) {
        etw_names_destroy(names);
        etw_api_fail(err, code, "the providers of this machine");
        return NULL;
    }
    struct etw_provider_list list = {0};
    if (names->size >= sizeof(list)) {
        memcpy(&list, names->data, sizeof(list));
        size_t most = (names->size - sizeof(list)) / sizeof(struct etw_provider_info);
        names->count = list.count < most ? list.count : (uint32_t)most;
    }
    return names;
}

void etw_names_destroy(struct etw_names *names)
{
    if (names) {
        free(names->data);
        free(names);
    }
}

static struct etw_provider_info provider_at(const struct etw_names *names, uint32_t index)
{
    struct etw_provider_info info;
    memcpy(
        &info, names->data + sizeof(struct etw_provider_list) + index * sizeof(info), sizeof(info));
    return info;
}

bool etw_names_find(const struct etw_names *names, struct span name, struct guid *ret_guid)
{
    for (uint32_t i = 0; names && i < names->count; i++) {
        struct etw_provider_info info = provider_at(names, i);
        if (is_named(names->data, names->size, info.name_offset, name)) {
            *ret_guid = info.guid;
            return true;
        }
    }
    return false;
}

void etw_names_each(const struct etw_names *names,
    void (*each)(void *self, const struct etw_known_provider *provider), void *self)
{
    for (uint32_t i = 0; names && i < names->count; i++) {
        struct etw_provider_info info = provider_at(names, i);
        char name[NAME_BYTES];
        text_at(names->data, names->size, info.name_offset, name);
        const struct etw_known_provider provider = {
            .guid = info.guid, .is_mof = info.schema_source != 0, .name = name};
        each(self, &provider);
    }
}

/* ---- keywords and events --------------------------------------------------------------------- */

/* The text at ${offset}, without the space that the message compiler appends to it. */
static void message_at(const uint8_t *data, size_t size, uint32_t offset, char ret_text[NAME_BYTES])
{
    size_t length = text_at(data, size, offset, ret_text);
    if (length && ret_text[length - 1] == ' ') {
        ret_text[length - 1] = 0;
    }
}

struct field_question {
    const struct guid *provider;
    uint32_t type;
};

static uint32_t ask_fields(const void *self, void *data, uint32_t *bytes)
{
    const struct field_question *question = self;
    return etw_api_get()->TdhEnumerateProviderFieldInformation(
        question->provider, question->type, data, bytes);
}

void etw_names_each_field(const struct guid *provider, uint32_t type,
    bool (*each)(void *self, const struct etw_known_field *field), void *self)
{
    const struct field_question question = {.provider = provider, .type = type};
    size_t size = 0;
    uint32_t code;
    uint8_t *data = etw_api_get()->TdhEnumerateProviderFieldInformation
                        ? ask(ask_fields, &question, &size, &code)
                        : NULL;
    struct etw_field_list list = {0};
    if (data && size >= sizeof(list)) {
        memcpy(&list, data, sizeof(list));
    }
    bool more = true;
    for (size_t i = 0; i < list.count && more; i++) {
        struct etw_field_info info;
        char name[NAME_BYTES];
        char text[NAME_BYTES];
        size_t at = sizeof(list) + i * sizeof(info);
        if (at + sizeof(info) > size) {
            break;
        }
        memcpy(&info, data + at, sizeof(info));
        message_at(data, size, info.name_offset, name);
        message_at(data, size, info.description_offset, text);
        const struct etw_known_field field = {.value = info.value, .name = name, .text = text};
        more = each(self, &field);
    }
    free(data);
}

struct keyword_search {
    struct span name;
    uint64_t bits;
    bool found;
};

static bool match_keyword(void *self, const struct etw_known_field *field)
{
    struct keyword_search *search = self;
    search->found = span_equal_nocase(span_text(field->name), search->name);
    if (search->found) {
        search->bits = field->value;
    }
    return !search->found;
}

bool etw_names_keyword(const struct guid *provider, struct span name, uint64_t *ret_bits)
{
    struct keyword_search search = {.name = name};
    etw_names_each_field(provider, ETW_FIELD_KEYWORD, match_keyword, &search);
    if (search.found) {
        *ret_bits = search.bits;
    }
    return search.found;
}

static uint32_t ask_events(const void *self, void *data, uint32_t *bytes)
{
    return etw_api_get()->TdhEnumerateManifestProviderEvents(self, data, bytes);
}

void etw_names_each_event(const struct guid *provider,
    bool (*each)(void *self, const struct event_descriptor *event), void *self)
{
    size_t size = 0;
    uint32_t code;
    uint8_t *data = etw_api_get()->TdhEnumerateManifestProviderEvents
                        ? ask(ask_events, provider, &size, &code)
                        : NULL;
    struct etw_provider_events list = {0};
    if (data && size >= sizeof(list)) {
        memcpy(&list, data, sizeof(list));
    }
    bool more = true;
    for (size_t i = 0; i < list.count && more; i++) {
        struct event_descriptor event;
        size_t at = sizeof(list) + i * sizeof(event);
        if (at + sizeof(event) > size) {
            break;
        }
        memcpy(&event, data + at, sizeof(event));
        more = each(self, &event);
    }
    free(data);
}

struct event_search {
    uint16_t id;
    struct event_descriptor *ret_events;
    size_t capacity;
    size_t count;
};

static bool match_event(void *self, const struct event_descriptor *event)
{
    struct event_search *search = self;
    if (event->id == search->id && search->count < search->capacity) {
        search->ret_events[search->count++] = *event;
    }
    return search->count < search->capacity;
}

size_t etw_names_events(
    const struct guid *provider, uint16_t id, struct event_descriptor *ret_events, size_t capacity)
{
    struct event_search search = {.id = id, .ret_events = ret_events, .capacity = capacity};
    etw_names_each_event(provider, match_event, &search);
    return search.count;
}
