#include "event/write/event_path.h"

#include "base/text/nearest.h"
#include "event/write/event_edits.h"
#include "event/write/event_path_own.h"

/* ---- names ----------------------------------------------------------------------------------- */

struct row {
    const char *path;
    uint8_t field;
    uint8_t need;
    uint8_t type;
    bool is_list;
};

static const struct row rows[] = {
#define FIELD(id, path, need, type, is_list) \
    {path, PATH_##id, EVENT_PATH_##need, EVENT_VALUE_##type, is_list},
#include "event/write/event_path_fields.def"
#undef FIELD
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

const char *event_path_name(size_t index)
{
    return index < ROWS ? rows[index].path : NULL;
}

static bool is_word_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '@' || c == '-' || c == '$' || c >= 0x80;
}

/* Size of `['name']` or `["name"]`; 0 if it is neither. */
static size_t quoted_size(struct span text)
{
    if (text.size < 5 || text.data[0] != '[' || (text.data[1] != '\'' && text.data[1] != '"')) {
        return 0;
    }
    const uint8_t *close = memchr(text.data + 2, text.data[1], text.size - 2);
    size_t at = close ? (size_t)(close - text.data) : text.size;
    return at > 2 && at + 1 < text.size && text.data[at + 1] == ']' ? at + 2 : 0;
}

static bool is_each(struct span text)
{
    return text.size >= 3 && memcmp(text.data, "[*]", 3) == 0;
}

/* The next step, with its dot or brackets, at ${*at}. False if there is none. */
static bool next_step(struct span text, size_t *at, struct event_path_step *ret_step)
{
    struct span left = span_from(text, *at);
    size_t quoted = quoted_size(left);
    if (quoted) {
        ret_step->name = span_make(left.data + 2, quoted - 4);
        *at += quoted;
    } else {
        size_t dot = *at > 0 && left.size && left.data[0] == '.';
        size_t size = span_run(span_from(left, dot), is_word_byte);
        if (size == 0 || (*at > 0 && !dot)) {
            return false;
        }
        ret_step->name = span_make(left.data + dot, size);
        *at += dot + size;
    }
    ret_step->each = is_each(span_from(text, *at));
    *at += ret_step->each ? 3 : 0;
    return true;
}

size_t event_path_scan(struct span text)
{
    struct event_path_step step;
    size_t at = 0;
    if (span_run(text, is_word_byte) == 0) {
        return 0;
    }
    while (next_step(text, &at, &step)) {}
    return at;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool fail_unknown(struct span text, struct error *err)
{
    struct nearest nearest = {.text = text};
    for (size_t i = 0; i < ROWS; i++) {
        nearest_consider(&nearest, span_text(rows[i].path));
    }
    struct span meant = nearest_meant(&nearest);
    struct span shown = span_first(text, 100);
    if (meant.size) {
        return error_set(err, ERR_CONFIG, "events have no field %.*s. did you mean %.*s?",
            SPAN_ARG(shown), SPAN_ARG(meant));
    }
    return error_set(err, ERR_CONFIG,
        "events have no field %.*s. values of the payload are data.NAME", SPAN_ARG(shown));
}

/* `type_0x7f` of items that have no name. */
static bool parse_item(struct span name, uint16_t *ret_item)
{
    static const char digits[] = "0123456789abcdef";
    static const size_t prefix_size = sizeof("type_0x") - 1;
    struct span number = span_from(name, prefix_size);
    unsigned item = 0;
    bool padded = number.size > 1 && number.data[0] == '0';
    if (!span_is(span_first(name, prefix_size), "type_0x") || number.size > 4 || padded) {
        return false;
    }
    for (size_t i = 0; i < number.size; i++) {
        const char *digit = number.data[i] ? strchr(digits, number.data[i]) : NULL;
        if (!digit) {
            return false;
        }
        item = item << 4 | (unsigned)(digit - digits);
    }
    *ret_item = (uint16_t)item;
    return number.size && (item == 0 || item > EXTENDED_STACK_KEY64);
}

static bool compile_header(struct span text, struct event_path *path)
{
    static const char extended[] = "extended.";
    struct span name = text;
    path->each = text.size > 3 && is_each(span_from(text, text.size - 3));
    name.size -= path->each ? 3 : 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (span_is(name, rows[i].path)) {
            path->field = rows[i].field;
            path->need = rows[i].need;
            path->type = rows[i].type;
            path->is_list = rows[i].is_list;
            return path->is_list || !path->each;
        }
    }
    path->field = PATH_EXTENDED_TYPE;
    path->need = EVENT_PATH_RECORD;
    path->type = EVENT_VALUE_BYTES;
    return !path->each && span_is(span_first(name, sizeof(extended) - 1), extended) &&
           parse_item(span_from(name, sizeof(extended) - 1), &path->item);
}

/* data and what lies below. */
static bool compile_data(struct span text, struct event_path *path, struct error *err)
{
    size_t at = sizeof("data") - 1;
    path->field = PATH_DATA;
    path->need = EVENT_PATH_EVENT;
    while (at < text.size) {
        if (path->step_count == EVENT_PATH_MAX_STEPS) {
            return error_set(err, ERR_CONFIG, "%.*s: more than %d names in a row",
                SPAN_ARG(span_first(text, 100)), EVENT_PATH_MAX_STEPS);
        }
        if (!next_step(text, &at, &path->steps[path->step_count])) {
            return error_set(err, ERR_CONFIG,
                "%.*s: names are separated by dots, and odd ones written as data['NAME']",
                SPAN_ARG(span_first(text, 100)));
        }
        path->step_count++;
    }
    path->type = path->step_count ? EVENT_VALUE_NONE : EVENT_VALUE_OBJECT;
    return true;
}

/* The rest of the path is one key, including dots. */
static void compile_label(struct span text, struct event_path *path)
{
    struct span key = span_from(text, sizeof("labels") - 1);
    size_t quoted = quoted_size(key);
    path->field = PATH_LABELS;
    path->need = EVENT_PATH_RECORD;
    path->type = key.size ? EVENT_VALUE_TEXT : EVENT_VALUE_OBJECT;
    path->step_count = key.size > 0;
    path->steps[0].name = quoted && quoted == key.size ? span_make(key.data + 2, quoted - 4)
                                                       : span_from(key, 1);
}

static bool is_below(struct span text, const char *root)
{
    size_t size = strlen(root);
    return span_is(span_first(text, size), root) &&
           (text.size == size || text.data[size] == '.' || text.data[size] == '[');
}

bool event_path_compile(struct span text, struct event_path *ret_path, struct error *err)
{
    struct event_path path = {.step_count = 0};
    if (text.size == 0) {
        return error_set(err, ERR_CONFIG, "the name of a field is missing");
    }
    if (event_path_scan(text) != text.size) {
        return error_set(
            err, ERR_CONFIG, "%.*s is no name of a field", SPAN_ARG(span_first(text, 100)));
    }
    if (is_below(text, "data")) {
        if (!compile_data(text, &path, err)) {
            return false;
        }
    } else if (is_below(text, "labels")) {
        compile_label(text, &path);
    } else if (!compile_header(text, &path)) {
        return fail_unknown(text, err);
    }
    *ret_path = path;
    return true;
}

/* The field with this name, or with this generated `_name`: number of the last one, from 1; 0:
 * none. */
static uint16_t last_field(const struct event_schema *schema, struct span name)
{
    static const size_t suffix_size = sizeof("_name") - 1;
    struct span bare = span_first(name, name.size > suffix_size ? name.size - suffix_size : 0);
    bool is_generated = bare.size && span_is(span_from(name, bare.size), "_name");
    for (uint16_t i = schema->top_count; i > 0; i--) {
        struct span have = schema->fields[i - 1].name;
        if (span_equal(have, name) || (is_generated && span_equal(have, bare))) {
            return i;
        }
    }
    return 0;
}

bool event_path_possible(const struct event_path *path, const struct event_schema *schema)
{
    switch (path->field) {
    case PATH_MESSAGE:
        return schema && ((schema->has_layout && (schema->message.size || schema->wpp)) ||
                             schema->kind == SCHEMA_EVENTLOG);
    case PATH_PAYLOAD_REST:
    case PATH_DECODE_ERROR:
        return schema && schema->has_layout;
    case PATH_DATA:
        return schema && schema->has_layout &&
               (path->step_count == 0 || last_field(schema, path->steps[0].name));
    default:
        return true;
    }
}

uint16_t event_path_fields(const struct event_path *path, const struct event_schema *schema)
{
    if (path->need < EVENT_PATH_EVENT) {
        return 0;
    }
    return path->field == PATH_DATA && path->step_count ? last_field(schema, path->steps[0].name)
                                                        : EVENT_PATH_ALL_FIELDS;
}

/* Fields not listed here may differ from event to event. */
enum event_path_scope event_path_scope(const struct event_path *path)
{
    switch ((enum event_path_field)path->field) {
    case PATH_ETW_SEQUENCE:
    case PATH_EXTENDED: /* with the stack */
    case PATH_EXTENDED_STACK:
    case PATH_PROCESS_START_KEY:
    case PATH_PROCESS_NAME:
    case PATH_PROCESS_EXECUTABLE:
    case PATH_PROCESS_COMMAND_LINE:
    case PATH_PROCESS_PARENT:
    case PATH_PROCESS_PARENT_PID:
    case PATH_PROCESS_PARENT_NAME:
    case PATH_PROCESS_PARENT_EXECUTABLE:
    case PATH_PROCESS_USER:
    case PATH_PROCESS_USER_ID:
    case PATH_PROCESS_USER_NAME:
    case PATH_PROCESS_USER_DOMAIN:
    case PATH_PROCESS_SESSION_ID:
    case PATH_PROCESS_INTEGRITY:
    case PATH_PROCESS_START:
    case PATH_FILE:
    case PATH_FILE_PATH:
        return EVENT_PATH_OF_PLACE;
    case PATH_PROCESS:
    case PATH_PROCESS_PID:
    case PATH_PROCESS_THREAD:
    case PATH_PROCESS_THREAD_ID:
        return EVENT_PATH_OF_PROCESS;
    case PATH_PROVIDER:
    case PATH_PROVIDER_NAME:
    case PATH_PROVIDER_GUID:
    case PATH_PROVIDER_KIND:
    case PATH_EVENT:
    case PATH_EVENT_CODE:
    case PATH_EVENT_CLASS_GUID:
    case PATH_EVENT_HEADER_TYPE:
    case PATH_EVENT_VERSION:
    case PATH_EVENT_NAME:
    case PATH_EVENT_LEVEL:
    case PATH_EVENT_LEVEL_NAME:
    case PATH_EVENT_TASK:
    case PATH_EVENT_TASK_NAME:
    case PATH_EVENT_OPCODE:
    case PATH_EVENT_OPCODE_NAME:
    case PATH_EVENT_CHANNEL:
    case PATH_EVENT_CHANNEL_NAME:
    case PATH_EVENT_RECORD_ID:
    case PATH_EVENT_QUALIFIERS:
    case PATH_EVENT_KEYWORDS:
    case PATH_EVENT_KEYWORDS_NAME:
    case PATH_GAP:
    case PATH_GUARD:
    case PATH_WPP:
    case PATH_WPP_MESSAGE_NUMBER:
    case PATH_WPP_MODULE:
    case PATH_WPP_SOURCE:
    case PATH_WPP_LINE:
    case PATH_WPP_FUNCTION:
    case PATH_WPP_LEVEL:
    case PATH_WPP_FLAGS:
    case PATH_WPP_ARGS:
    case PATH_WPP_TYPES:
    case PATH_AGENT:
    case PATH_AGENT_ID:
    case PATH_AGENT_EPHEMERAL_ID:
    case PATH_AGENT_NAME:
    case PATH_AGENT_TYPE:
    case PATH_AGENT_VERSION:
    case PATH_LABELS:
    case PATH_TAGS:
        return EVENT_PATH_OF_TYPE;
    default:
        return EVENT_PATH_OF_EVENT;
    }
}

bool event_path_names(const struct event_path *path, struct event_path *ret_names)
{
    struct event_path names = *path;
    if (path->field == PATH_EVENT_KEYWORDS) {
        names = (struct event_path){.field = PATH_EVENT_KEYWORDS_NAME,
            .need = EVENT_PATH_SCHEMA,
            .type = EVENT_VALUE_TEXT,
            .is_list = true};
    } else if (path->field == PATH_DATA && path->step_count &&
               !path->steps[path->step_count - 1].each) {
        names.names = true;
    } else {
        return false;
    }
    names.each = true;
    *ret_names = names;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool event_path_context_init(
    struct event_path_context *context, const struct codepage *ansi, struct error *err)
{
    *context = (struct event_path_context){.agent = NULL};
    buf_init(&context->spare, EVENT_VALUE_MAX_TEXT);
    return event_value_context_init(&context->values, ansi, err);
}

void event_path_context_fini(struct event_path_context *context)
{
    event_value_context_fini(&context->values);
    buf_fini(&context->spare);
}

static struct event_value label_value(
    const struct event_path *path, const struct event_agent *agent)
{
    if (!agent || agent->label_count == 0 || path->step_count == 0) {
        return event_value_plain(
            agent && agent->label_count ? EVENT_VALUE_OBJECT : EVENT_VALUE_NONE);
    }
    for (size_t i = 0; i < agent->label_count; i++) {
        if (span_equal(agent->labels[i * 2], path->steps[0].name)) {
            return (struct event_value){
                .type = EVENT_VALUE_TEXT, .bytes = agent->labels[i * 2 + 1]};
        }
    }
    return event_value_plain(EVENT_VALUE_NONE);
}

bool event_path_each(const struct event_path *path, const struct event *event,
    struct event_path_context *context, event_path_each_fn *each, void *self)
{
    struct event_path_sink sink = {.each = each, .self = self};
    const struct trace_info *trace = event->record->trace;
    context->values.clock = trace ? &trace->clock : NULL;
    if (path->field == PATH_DATA) {
        return !event_path_data(path, event, context, &sink);
    }
    if (path->is_list && path->each) {
        return !event_path_list_each(path, event, context, &sink);
    }
    struct event_value value = path->is_list ? event_path_list(path, event, context)
                               : path->field == PATH_LABELS
                                   ? label_value(path, event_edits_agent(event, context->agent))
                                   : event_path_header(path, event, context);
    return !event_path_give(&sink, &value);
}

static bool take_first(void *self, const struct event_value *value)
{
    *(struct event_value *)self = *value;
    return false;
}

struct event_value event_path_get(
    const struct event_path *path, const struct event *event, struct event_path_context *context)
{
    struct event_value value = event_value_plain(EVENT_VALUE_NONE);
    event_path_each(path, event, context, take_first, &value);
    return value;
}
