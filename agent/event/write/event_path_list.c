#include "base/bytes.h"
#include "event/model/event_stack.h"
#include "event/write/event_host.h"
#include "event/write/event_path_own.h"
#include "event/write/event_writer_state.h"

/* The lists outside of data: keywords, stacks, counters, tags. */

/* Stack keys have two widths; the first item counts. */
static const struct extended_item *stack_key(const struct event_record *record)
{
    for (size_t i = 0; i < record->extended_count; i++) {
        uint16_t type = record->extended[i].type;
        if (type == EXTENDED_STACK_KEY32 || type == EXTENDED_STACK_KEY64) {
            return &record->extended[i];
        }
    }
    return NULL;
}

/* ---- keywords: a callback inside of callbacks ------------------------------------------------ */

struct keywords {
    const struct event_path_sink *sink;
    bool any;
    bool refused;
};

static void count_keyword(void *self, struct span name)
{
    (void)name;
    ((struct keywords *)self)->any = true;
}

static void give_keyword(void *self, struct span name)
{
    struct keywords *keywords = self;
    struct event_value value = event_value_utf8(name);
    keywords->refused = keywords->refused || !event_path_give(keywords->sink, &value);
}

static bool has_keywords(const struct event *event)
{
    struct keywords keywords = {.any = false};
    if (event->schema && event->record->kind == RECORD_EVENT) {
        event_each_keyword(event, count_keyword, &keywords);
    }
    return keywords.any;
}

static bool each_keyword(const struct event *event, const struct event_path_sink *sink)
{
    struct keywords keywords = {.sink = sink};
    if (event->schema && event->record->kind == RECORD_EVENT) {
        event_each_keyword(event, give_keyword, &keywords);
    }
    return !keywords.refused;
}

/* ---- numbers side by side -------------------------------------------------------------------- */

static bool each_number(
    struct span bytes, size_t width, bool hex, const struct event_path_sink *sink)
{
    for (size_t at = 0; at + width <= bytes.size; at += width) {
        uint64_t number = load_le(bytes.data + at, width);
        struct event_value value = hex ? event_value_hex(number) : event_value_uint(number);
        if (!event_path_give(sink, &value)) {
            return false;
        }
    }
    return true;
}

static bool each_frame(const struct event *event, const struct event_path_sink *sink)
{
    const struct event_record *record = event->record;
    for (size_t i = 0; i < record->extended_count; i++) {
        const struct extended_item *item = &record->extended[i];
        size_t width = item->type == EXTENDED_STACK_TRACE32 ? 4 : 8;
        if (event_stack_is_item(item->type) &&
            !each_number(span_from(item->data, 8), width, true, sink)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < event->stack_count; i++) {
        struct event_value value = event_value_hex(event->stack[i]);
        if (!event_path_give(sink, &value)) {
            return false;
        }
    }
    return true;
}

/* The arguments of a WPP message by its format. */
static bool each_argument(
    const struct event_path *path, const struct event *event, const struct event_path_sink *sink)
{
    const struct wpp_format *format = event->schema ? event->schema->wpp : NULL;
    for (size_t i = 0; format && i < format->arg_count; i++) {
        struct event_value value = {.type = EVENT_VALUE_TEXT,
            .bytes = path->field == PATH_WPP_ARGS ? format->args[i] : format->types[i]};
        if (!event_path_give(sink, &value)) {
            return false;
        }
    }
    return true;
}

static bool each_tag(const struct event_agent *agent, const struct event_path_sink *sink)
{
    for (size_t i = 0; agent && i < agent->tag_count; i++) {
        struct event_value value = {.type = EVENT_VALUE_TEXT, .bytes = agent->tags[i]};
        if (!event_path_give(sink, &value)) {
            return false;
        }
    }
    return true;
}

static bool has_list(const struct event_path *path, const struct event *event,
    const struct event_path_context *context)
{
    const struct event_record *record = event->record;
    const struct event_agent *agent;
    switch (path->field) {
    case PATH_EVENT_KEYWORDS_NAME:
        return has_keywords(event);
    case PATH_EXTENDED_STACK:
        return event->stack_count || record_extended(record, EXTENDED_STACK_TRACE32) ||
               record_extended(record, EXTENDED_STACK_TRACE64);
    case PATH_EXTENDED_STACK_KEY:
        return stack_key(record) != NULL;
    case PATH_EXTENDED_PMC_COUNTERS:
        return record_extended(record, EXTENDED_PMC_COUNTERS) != NULL;
    case PATH_WPP_ARGS:
    case PATH_WPP_TYPES:
        return event->schema && event->schema->wpp;
    case PATH_HOST_IP:
        return record->trace && record->trace->host_ip_count;
    default:
        agent = event_edits_agent(event, context->agent);
        return agent && agent->tag_count;
    }
}

struct event_value event_path_list(const struct event_path *path, const struct event *event,
    const struct event_path_context *context)
{
    return event_value_plain(has_list(path, event, context) ? EVENT_VALUE_LIST : EVENT_VALUE_NONE);
}

bool event_path_list_each(const struct event_path *path, const struct event *event,
    const struct event_path_context *context, const struct event_path_sink *sink)
{
    const struct event_record *record = event->record;
    switch (path->field) {
    case PATH_EVENT_KEYWORDS_NAME:
        return each_keyword(event, sink);
    case PATH_EXTENDED_STACK:
        return each_frame(event, sink);
    case PATH_EXTENDED_STACK_KEY: {
        const struct extended_item *item = stack_key(record);
        size_t width = item && item->type == EXTENDED_STACK_KEY32 ? 4 : 8;
        return !item || each_number(span_first(span_from(item->data, 8), width), width, true, sink);
    }
    case PATH_EXTENDED_PMC_COUNTERS: {
        const struct extended_item *item = record_extended(record, EXTENDED_PMC_COUNTERS);
        return !item || each_number(item->data, 8, false, sink);
    }
    case PATH_WPP_ARGS:
    case PATH_WPP_TYPES:
        return each_argument(path, event, sink);
    case PATH_HOST_IP:
        return event_host_each_ip(event, sink);
    default:
        return each_tag(event_edits_agent(event, context->agent), sink);
    }
}
