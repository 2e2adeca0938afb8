#include "schema/source/schema_source.h"

#include "base/append.h"
#include "schema/source/known_providers.h"

void schema_candidates_add(struct schema_candidates *to, const struct event_schema *schema)
{
    if (schema && to->count < SCHEMA_MAX_CANDIDATES) {
        to->yields[to->count] = false;
        to->list[to->count++] = schema;
    }
}

void schema_candidates_add_yielding(struct schema_candidates *to, const struct event_schema *schema)
{
    size_t before = to->count;
    schema_candidates_add(to, schema);
    if (to->count > before) {
        to->yields[before] = true;
    }
}

void schema_candidates_put_layouts_first(struct schema_candidates *candidates)
{
    struct schema_candidates names = {.count = 0};
    size_t count = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->list[i]->has_layout) {
            candidates->yields[count] = candidates->yields[i];
            candidates->list[count++] = candidates->list[i];
        } else {
            names.yields[names.count] = candidates->yields[i];
            names.list[names.count++] = candidates->list[i];
        }
    }
    memcpy(candidates->list + count, names.list, names.count * sizeof(names.list[0]));
    memcpy(candidates->yields + count, names.yields, names.count * sizeof(names.yields[0]));
}

void schema_source_warn(const struct schema_source_settings *settings, const char *text)
{
    if (settings->warn) {
        settings->warn(settings->warn_self, text);
    }
}

void schema_losses_add(struct schema_losses *losses, const struct schema_losses *more)
{
    losses->evicted += more->evicted;
    losses->refused += more->refused;
    losses->conflicts += more->conflicts;
    losses->gone += more->gone;
    if (more->evicted || more->refused || more->conflicts) {
        losses->provider = more->provider;
    }
}

bool schema_losses_differ(const struct schema_losses *losses, const struct schema_losses *before)
{
    return losses->evicted != before->evicted || losses->refused != before->refused ||
           losses->conflicts != before->conflicts;
}

void schema_losses_describe(
    const struct schema_losses *losses, char ret_text[SCHEMA_LOSSES_TEXT_BYTES])
{
    char guid[GUID_TEXT_SIZE];
    struct span name = span_first(known_providers_name(&losses->provider), 128);
    const char *separator = "";
    ret_text[0] = 0;
    if (losses->evicted) {
        append_printf(ret_text, SCHEMA_LOSSES_TEXT_BYTES,
            "definitions from events were evicted by others (%llu)",
            (unsigned long long)losses->evicted);
        separator = ", ";
    }
    if (losses->refused) {
        append_printf(ret_text, SCHEMA_LOSSES_TEXT_BYTES,
            "%sdefinitions from events did not fit (%llu)", separator,
            (unsigned long long)losses->refused);
        separator = ", ";
    }
    if (losses->conflicts) {
        append_printf(ret_text, SCHEMA_LOSSES_TEXT_BYTES,
            "%smanifests from processes use a wrong provider name (%llu)", separator,
            (unsigned long long)losses->conflicts);
    }
    guid_write(&losses->provider, guid);
    append_printf(ret_text, SCHEMA_LOSSES_TEXT_BYTES, "; most recently for provider %.*s%s%.*s",
        SPAN_ARG(name), name.size ? " " : "", GUID_TEXT_SIZE, guid);
}

size_t schema_source_learned_bytes(const struct schema_source_settings *settings, size_t usual)
{
    return settings->max_learned_bytes && settings->max_learned_bytes < usual
               ? settings->max_learned_bytes
               : usual;
}
