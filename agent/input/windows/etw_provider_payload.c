#include "input/windows/etw_provider_payload.h"

#include <stdio.h>
#include <string.h>

#include "etw/etw_names.h"

enum { MAX_EVENT_VERSIONS = 8, MAX_MEMORY = 1024 * 1024 };

struct operator_row {
    size_t offset; /* offset of the text in struct provider_predicate */
    uint16_t number_op;
    uint16_t text_op;
};

static const struct operator_row operators[] = {
    {offsetof(struct provider_predicate, is), ETW_PAYLOAD_EQ, ETW_PAYLOAD_IS},
    {offsetof(struct provider_predicate, is_not), ETW_PAYLOAD_NE, ETW_PAYLOAD_IS_NOT},
    {offsetof(struct provider_predicate, contains), ETW_PAYLOAD_CONTAINS, ETW_PAYLOAD_CONTAINS},
    {offsetof(struct provider_predicate, not_contains), ETW_PAYLOAD_DOES_NOT_CONTAIN,
        ETW_PAYLOAD_DOES_NOT_CONTAIN},
    {offsetof(struct provider_predicate, below), ETW_PAYLOAD_LT, ETW_PAYLOAD_LT},
    {offsetof(struct provider_predicate, above), ETW_PAYLOAD_GT, ETW_PAYLOAD_GT},
    {offsetof(struct provider_predicate, at_most), ETW_PAYLOAD_LE, ETW_PAYLOAD_LE},
    {offsetof(struct provider_predicate, at_least), ETW_PAYLOAD_GE, ETW_PAYLOAD_GE},
};

static const char *joined(struct arena *memory, const struct config_strings *two)
{
    size_t size = strlen(two->items[0]) + strlen(two->items[1]) + 2;
    char *text = arena_alloc(memory, size);
    if (text) {
        snprintf(text, size, "%s,%s", two->items[0], two->items[1]);
    }
    return text;
}

static struct etw_payload_test test_of(struct arena *memory, const struct provider_predicate *p)
{
    struct etw_payload_test test = {.field = p->field};
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        const char *text;
        memcpy(&text, (const char *)p + operators[i].offset, sizeof(text));
        uint64_t number;
        if (text) {
            bool is_number = provider_spec_parse_bits(span_text(text), &number);
            test.op = is_number ? operators[i].number_op : operators[i].text_op;
            test.value = text;
            return test;
        }
    }
    bool inside = p->between.count == 2;
    const struct config_strings *two = inside ? &p->between : &p->not_between;
    test.op = inside ? ETW_PAYLOAD_BETWEEN : ETW_PAYLOAD_NOT_BETWEEN;
    test.value = two->count == 2 ? joined(memory, two) : NULL;
    return test;
}

void etw_provider_payload_init(struct etw_provider_payload *payload)
{
    payload->filters = NULL;
    payload->count = 0;
    arena_init(&payload->memory, MAX_MEMORY);
}

void etw_provider_payload_fini(struct etw_provider_payload *payload)
{
    arena_fini(&payload->memory);
}

/* Add one filter per version of the event. False if no manifest describes it. */
static bool add(struct etw_provider_payload *payload, const struct guid *guid,
    const struct provider_payload *wanted)
{
    struct event_descriptor events[MAX_EVENT_VERSIONS];
    uint64_t id = 0;
    provider_spec_parse_bits(span_text(wanted->id), &id);
    size_t versions = etw_names_events(guid, (uint16_t)id, events, MAX_EVENT_VERSIONS);
    size_t count = wanted->fields.count;
    const struct provider_predicate *predicates = wanted->fields.items;
    struct etw_payload_test *tests = arena_alloc_array(&payload->memory, count + 1, sizeof(*tests));
    if (versions == 0 || !tests || count > ETW_MAX_PREDICATES) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        tests[i] = test_of(&payload->memory, &predicates[i]);
        if (!tests[i].value) {
            return true;
        }
    }
    for (size_t i = 0; i < versions; i++) {
        payload->filters[payload->count++] = (struct etw_payload_filter){
            .event = events[i], .count = (uint16_t)count, .tests = tests};
    }
    return true;
}

void etw_provider_payload_make(struct etw_provider_payload *payload,
    const struct provider_spec *spec, const struct guid *guid,
    void (*tell)(void *self, const char *event_id), void *self)
{
    const struct config_list *list = &spec->payload;
    const struct provider_payload *wanted = list->items;
    etw_provider_payload_fini(payload);
    etw_provider_payload_init(payload);
    payload->filters = arena_alloc_array(
        &payload->memory, list->count * MAX_EVENT_VERSIONS + 1, sizeof(*payload->filters));
    for (size_t i = 0; payload->filters && i < list->count; i++) {
        if (!add(payload, guid, &wanted[i])) {
            tell(self, wanted[i].id);
        }
    }
}
