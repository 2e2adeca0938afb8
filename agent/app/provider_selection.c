#include "app/provider_selection.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_PARTS = 5, MAX_RANGES = 64, MAX_PROVIDERS = 256 };

struct id_range {
    uint16_t first;
    uint16_t last;
};

struct selected_provider {
    struct span name; /* points into the user's text; empty if a GUID was given */
    struct guid guid;
    uint8_t level;
    uint64_t any;
    uint64_t all;
    struct id_range ranges[MAX_RANGES];
    size_t range_count;
};

struct provider_selection {
    size_t count;
    struct selected_provider providers[];
};

/* ---- parsing -------------------------------------------------------------------------------------- */

static bool parse_number(struct span text, uint64_t max, uint64_t *ret_value)
{
    char copy[24];
    if (text.size == 0 || text.size >= sizeof(copy) || text.data[0] < '0' || text.data[0] > '9') {
        return false;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    bool hex = copy[0] == '0' && (copy[1] == 'x' || copy[1] == 'X');
    char *end;
    errno = 0;
    unsigned long long value = strtoull(copy, &end, hex ? 16 : 10);
    if (*end || errno || value > max) {
        return false;
    }
    *ret_value = value;
    return true;
}

static bool parse_level(struct span text, uint8_t *ret_level)
{
    static const char *const names[] = {
        NULL, "critical", "error", "warning", "information", "verbose"};
    for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal_nocase(text, span_text(names[i]))) {
            *ret_level = (uint8_t)i;
            return true;
        }
    }
    if (span_equal_nocase(text, span_text("info")) ||
        span_equal_nocase(text, span_text("informational"))) {
        *ret_level = 4;
        return true;
    }
    uint64_t value;
    if (!parse_number(text, 255, &value)) {
        return false;
    }
    *ret_level = (uint8_t)value;
    return true;
}

static struct span cut(struct span *text, const char *separators)
{
    size_t size = 0;
    while (size < text->size && !strchr(separators, text->data[size])) {
        size++;
    }
    struct span part = span_first(*text, size);
    *text = span_from(*text, size + 1);
    return part;
}

static bool ends_with_one_of(struct span text, const char *separators)
{
    return text.size && strchr(separators, text.data[text.size - 1]);
}

/* `1+5-9` or `1,5-9`. */
static bool parse_ids(struct span text, struct selected_provider *provider)
{
    if (ends_with_one_of(text, "+,-")) {
        return false;
    }
    while (text.size) {
        struct span range = cut(&text, "+,");
        if (ends_with_one_of(range, "-")) {
            return false;
        }
        struct span first = cut(&range, "-");
        uint64_t low;
        uint64_t high;
        if (provider->range_count == MAX_RANGES || !parse_number(first, 65535, &low)) {
            return false;
        }
        high = low;
        if (range.size && (!parse_number(range, 65535, &high) || high < low)) {
            return false;
        }
        provider->ranges[provider->range_count++] = (struct id_range){
            .first = (uint16_t)low, .last = (uint16_t)high};
    }
    return true;
}

static bool parse_provider(const char *text, struct selected_provider *provider, struct error *err)
{
    struct span rest = span_text(text);
    struct span parts[MAX_PARTS] = {{NULL, 0}};
    size_t count = 0;
    while (rest.size && count < MAX_PARTS) {
        parts[count++] = cut(&rest, ":");
    }
    *provider = (struct selected_provider){.level = 0xff, .any = UINT64_MAX};
    if (rest.size || parts[0].size == 0) {
        return error_set(err, ERR_CONFIG,
            "provider '%s': expected (Name|GUID)[:Level[:EventIDs[:AnyKeywords[:AllKeywords]]]]",
            text);
    }
    if (!guid_parse(parts[0], &provider->guid)) {
        provider->name = parts[0];
    }
    if (parts[1].size && !parse_level(parts[1], &provider->level)) {
        return error_set(
            err, ERR_CONFIG, "provider '%s': '%.*s' is no level", text, SPAN_ARG(parts[1]));
    }
    if (!parse_ids(parts[2], provider)) {
        return error_set(err, ERR_CONFIG, "provider '%s': '%.*s' is no list of event ids", text,
            SPAN_ARG(parts[2]));
    }
    if ((parts[3].size && !parse_number(parts[3], UINT64_MAX, &provider->any)) ||
        (parts[4].size && !parse_number(parts[4], UINT64_MAX, &provider->all))) {
        return error_set(err, ERR_CONFIG, "provider '%s': keywords are numbers here", text);
    }
    /* As providers check it: an enabled level of 0 means all of them, and so does a mask of 0. */
    provider->level = provider->level ? provider->level : 0xff;
    provider->any = provider->any ? provider->any : UINT64_MAX;
    return true;
}

struct provider_selection *provider_selection_create(
    const char *const *texts, size_t count, struct error *err)
{
    struct provider_selection *selection =
        count <= MAX_PROVIDERS
            ? calloc(1, sizeof(*selection) + count * sizeof(selection->providers[0]))
            : NULL;
    if (!selection) {
        error_set(err, ERR_LIMIT, "at most %d providers can be selected", MAX_PROVIDERS);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (!parse_provider(texts[i], &selection->providers[i], err)) {
            provider_selection_destroy(selection);
            return NULL;
        }
        selection->count++;
    }
    return selection;
}

void provider_selection_destroy(struct provider_selection *selection)
{
    free(selection);
}

/* ---- matching --------------------------------------------------------------------------------------- */

static bool is_from(const struct selected_provider *provider, const struct event *event)
{
    const struct event_schema *schema = event->schema;
    if (provider->name.size == 0) {
        /* Events with a decode GUID are enabled by their control GUID, which is an item of theirs. */
        const struct extended_item *control = record_extended(event->record, EXTENDED_CONTROL_GUID);
        if (control && control->data.size == sizeof(provider->guid.bytes) &&
            memcmp(control->data.data, provider->guid.bytes, control->data.size) == 0) {
            return true;
        }
        return guid_equal(&provider->guid, &event->record->provider) ||
               (schema && guid_equal(&provider->guid, &schema->provider));
    }
    if (schema && span_equal_nocase(provider->name, schema->provider_name)) {
        return true;
    }
    struct guid by_name = guid_from_name(provider->name);
    return guid_equal(&by_name, &event->record->provider);
}

static bool has_id(const struct selected_provider *provider, uint16_t id)
{
    for (size_t i = 0; i < provider->range_count; i++) {
        if (id >= provider->ranges[i].first && id <= provider->ranges[i].last) {
            return true;
        }
    }
    return provider->range_count == 0;
}

static bool selects(const struct selected_provider *provider, const struct event *event)
{
    const struct event_descriptor *d = &event->record->descriptor;
    if (!is_from(provider, event)) {
        return false;
    }
    if (event->record->kind != RECORD_EVENT) {
        return has_id(provider, event->record->kind == RECORD_MESSAGE ? d->id : d->opcode);
    }
    return (d->level == 0 || d->level <= provider->level) && has_id(provider, d->id) &&
           (d->keyword == 0 ||
               ((d->keyword & provider->any) && (d->keyword & provider->all) == provider->all));
}

bool provider_selection_passes(
    const struct provider_selection *selection, const struct event *event)
{
    for (size_t i = 0; i < selection->count; i++) {
        if (selects(&selection->providers[i], event)) {
            return true;
        }
    }
    return selection->count == 0;
}
