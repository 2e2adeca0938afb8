#include "schema/manifest/manifest_elements.h"

#include <stdarg.h>
#include <stdio.h>

#include "schema/text/languages.h"
#include "schema/text/names.h"

/*
 * A stack of contexts decides which elements are valid where. Outside providers, unknown elements
 * are transparent, because tools differ in the elements they write (assembly, instrumentation,
 * events, localization). Inside providers, an unknown element is skipped with its content
 * (UserData, channel settings). Namespace prefixes are ignored.
 */

enum {
    MAX_TASK_OPCODES = 256, /* an opcode is one byte */
};

/* Meaning of an open element. */
enum context {
    IN_DOCUMENT,
    IN_PROVIDER,
    IN_CHANNELS,
    IN_LEVELS,
    IN_TASKS,
    IN_TASK,
    IN_OPCODES,
    IN_KEYWORDS,
    IN_MAPS,
    IN_MAP,
    IN_TEMPLATES,
    IN_TEMPLATE,
    IN_STRUCT,
    IN_EVENTS,
    IN_EVENT,
    IN_RESOURCES,
    IN_STRINGS,
    IN_LEAF, /* content is ignored */
};

struct element {
    const char *name;
    uint32_t parents; /* bits of the contexts that may contain it */
    enum context context;
    void (*start)(struct manifest_parser *p, const XML_Char **attributes);
};

static size_t line_of(const struct manifest_parser *p)
{
    return (size_t)XML_GetCurrentLineNumber(p->expat);
}

void manifest_elements_stop(struct manifest_parser *p)
{
    p->failed = true;
    XML_StopParser(p->expat, XML_FALSE);
}

static void stop_for_memory(struct manifest_parser *p)
{
    error_set(p->err, ERR_LIMIT, "the manifest needs too much memory");
    manifest_elements_stop(p);
}

static void *allocate(struct manifest_parser *p, size_t size)
{
    void *memory = p->failed ? NULL : arena_alloc(&p->model->scratch, size);
    if (!memory && !p->failed) {
        stop_for_memory(p);
    }
    return memory;
}

/* Value of an attribute, valid during the callback; empty if it is missing. */
static struct span peek(const XML_Char **attributes, const char *name)
{
    for (; attributes[0]; attributes += 2) {
        if (span_is(names_local(span_text(attributes[0])), name)) {
            return span_text(attributes[1]);
        }
    }
    return span_make(NULL, 0);
}

/* Copy of an attribute's value in the model; empty if it is missing. */
static struct span keep(struct manifest_parser *p, const XML_Char **attributes, const char *name)
{
    struct span value = peek(attributes, name);
    if (value.size && !p->failed && !arena_copy(&p->model->manifest->arena, value, &value)) {
        stop_for_memory(p);
    }
    return p->failed ? span_make(NULL, 0) : value;
}

/* Define ${thing} as ${name} of the provider; the first definition of a name wins. */
static void define(struct manifest_parser *p, enum model_kind kind, struct span name, void *thing)
{
    struct map *names = &p->provider->names[kind];
    if (!p->failed && name.size && !map_get(names, name) && !map_put(names, name, thing)) {
        stop_for_memory(p);
    }
}

/* ---- providers and their names --------------------------------------------------------------- */

/* EventSources write their own name where other manifests name a file. Tools that dump registered
 * providers do so too, but they also write where the definition came from. */
static bool looks_like_eventsource(const XML_Char **attributes)
{
    struct span name = peek(attributes, "name");
    return name.size && span_equal(name, peek(attributes, "resourceFileName")) &&
           span_equal(name, peek(attributes, "messageFileName")) &&
           peek(attributes, "source").size == 0;
}

static void start_provider(struct manifest_parser *p, const XML_Char **attributes)
{
    struct model_provider *provider = allocate(p, sizeof(*provider));
    if (!provider) {
        return;
    }
    manifest_model_add_provider(p->model, provider);
    provider->name = keep(p, attributes, "name");
    provider->usable = guid_parse(peek(attributes, "guid"), &provider->guid);
    provider->kind = p->model->options->kind;
    if (provider->kind == SCHEMA_UNKNOWN) {
        provider->kind = looks_like_eventsource(attributes) ? SCHEMA_EVENTSOURCE : SCHEMA_MANIFEST;
    }
    if (!provider->usable) {
        manifest_model_warn(
            p->model, line_of(p), "provider %.*s has no GUID: left out", SPAN_ARG(provider->name));
    }
    p->provider = provider;
}

/* Number in attribute ${attribute} of the item ${name}; 0 with a warning if it is invalid. */
static uint64_t number_of(struct manifest_parser *p, const XML_Char **attributes,
    const char *attribute, uint64_t max, struct span name)
{
    uint64_t value = 0;
    struct span text = peek(attributes, attribute);
    if (text.size && !names_number(text, max, &value)) {
        manifest_model_warn(p->model, line_of(p), "%.*s: %s %.*s is not a number up to %llu",
            SPAN_ARG(name), attribute, SPAN_ARG(text), (unsigned long long)max);
    }
    return value;
}

static struct model_name *add_name(struct manifest_parser *p, const XML_Char **attributes,
    enum model_kind kind, const char *attribute, uint64_t max)
{
    struct model_name *name = allocate(p, sizeof(*name));
    if (name) {
        name->name = keep(p, attributes, "name");
        name->message = keep(p, attributes, "message");
        name->value = number_of(p, attributes, attribute, max, name->name);
        define(p, kind, name->name, name);
    }
    return name;
}

static void start_level(struct manifest_parser *p, const XML_Char **attributes)
{
    add_name(p, attributes, MODEL_LEVEL, "value", UINT8_MAX);
}

static void start_task(struct manifest_parser *p, const XML_Char **attributes)
{
    p->task = add_name(p, attributes, MODEL_TASK, "value", UINT16_MAX);
}

static void start_opcode(struct manifest_parser *p, const XML_Char **attributes)
{
    if (!p->task) {
        add_name(p, attributes, MODEL_OPCODE, "value", UINT8_MAX);
        return;
    }
    struct model_name *opcode = allocate(p, sizeof(*opcode));
    if (opcode && p->task->opcode_count < MAX_TASK_OPCODES) {
        opcode->name = keep(p, attributes, "name");
        opcode->message = keep(p, attributes, "message");
        opcode->value = number_of(p, attributes, "value", UINT8_MAX, opcode->name);
        opcode->next = p->task->opcodes;
        p->task->opcodes = opcode;
        p->task->opcode_count++;
    }
}

static void start_keyword(struct manifest_parser *p, const XML_Char **attributes)
{
    struct model_name *keyword = add_name(p, attributes, MODEL_KEYWORD, "mask", UINT64_MAX);
    if (!keyword) {
        return;
    }
    keyword->mask = keyword->value;
    manifest_model_add_keyword(p->provider, keyword);
}

/* Own channels are numbered from 16; lower numbers belong to the system. */
static void start_channel(struct manifest_parser *p, const XML_Char **attributes)
{
    struct model_name *channel = add_name(p, attributes, MODEL_CHANNEL, "value", UINT8_MAX);
    if (!channel) {
        return;
    }
    struct span chid = keep(p, attributes, "chid");
    if (chid.size) {
        define(p, MODEL_CHANNEL, chid, channel);
    }
    size_t place = manifest_model_add_channel(p->provider, channel);
    if (channel->value == 0 && !names_winmeta_channel(channel->name, &channel->value)) {
        channel->value = place < 240 ? 16 + place : 0;
    }
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void start_map(struct manifest_parser *p, const XML_Char **attributes, enum map_kind kind)
{
    struct model_map *map = allocate(p, sizeof(*map));
    if (map) {
        map->name = keep(p, attributes, "name");
        map->kind = kind;
        define(p, MODEL_MAP, map->name, map);
    }
    p->map = map;
}

static void start_value_map(struct manifest_parser *p, const XML_Char **attributes)
{
    start_map(p, attributes, MAP_VALUE);
}

static void start_bit_map(struct manifest_parser *p, const XML_Char **attributes)
{
    start_map(p, attributes, MAP_BITS);
}

/* Values of maps have 32 bits; a negative value stands for its bit pattern. */
static bool read_map_value(struct span text, uint64_t *ret_value)
{
    uint64_t magnitude;
    if (text.size && text.data[0] == '-' &&
        names_number(span_from(text, 1), UINT64_C(0x80000000), &magnitude)) {
        *ret_value = (uint32_t)(0 - magnitude);
        return true;
    }
    return names_number(text, UINT64_MAX, ret_value);
}

static void start_map_entry(struct manifest_parser *p, const XML_Char **attributes)
{
    struct model_map *map = p->map;
    uint64_t value;
    if (!read_map_value(peek(attributes, "value"), &value)) {
        manifest_model_warn(
            p->model, line_of(p), "map %.*s: an entry has no value", SPAN_ARG(map->name));
        return;
    }
    struct model_entry *entry = allocate(p, sizeof(*entry));
    if (!entry || map->count >= SCHEMA_MAX_MAP_ENTRIES) {
        return;
    }
    entry->value = value;
    entry->message = keep(p, attributes, "message");
    entry->symbol = keep(p, attributes, "symbol");
    manifest_model_add_entry(map, entry);
}

/* ---- templates ------------------------------------------------------------------------------- */

static void start_template(struct manifest_parser *p, const XML_Char **attributes)
{
    struct model_template *template = allocate(p, sizeof(*template));
    p->template = template;
    if (!template) {
        return;
    }
    layout_init(&template->layout, &p->model->scratch);
    if (p->event) {
        p->event->template = template;
        return;
    }
    template->name = keep(p, attributes, "tid");
    if (template->name.size) {
        define(p, MODEL_TEMPLATE, template->name, template);
    }
}

static void break_template(struct manifest_parser *p, const char *format, ...) ETWSHIP_PRINTF(2, 3);

static void break_template(struct manifest_parser *p, const char *format, ...)
{
    struct model_template *template = p->template;
    if (template->state == MODEL_BROKEN) {
        return;
    }
    template->state = MODEL_BROKEN;
    va_list args;
    va_start(args, format);
    vsnprintf(template->broken, sizeof(template->broken), format, args);
    va_end(args);
}

/* Read a count or length: a number, or the name of an earlier property. */
static void read_extent(struct manifest_parser *p, struct span text, struct span name,
    uint16_t *number, struct span *ret_name)
{
    uint64_t value = 0;
    if (text.size && text.data[0] >= '0' && text.data[0] <= '9' &&
        names_number(text, UINT64_MAX, &value)) {
        if (value > UINT16_MAX) {
            break_template(p, "property %.*s: %.*s is above 65535", SPAN_ARG(name), SPAN_ARG(text));
        }
        *number = (uint16_t)value;
    } else {
        *ret_name = text;
    }
}

static struct layout_node *add_property(struct manifest_parser *p, const XML_Char **attributes)
{
    struct error err = {0};
    struct layout_node *node = layout_add(&p->template->layout, &err);
    if (!node) {
        if (err.code == ERR_MEMORY) {
            stop_for_memory(p);
        } else {
            break_template(p, "%s", err.text);
        }
        return NULL;
    }
    struct schema_field *field = &node->field;
    field->name = keep(p, attributes, "name");
    field->count = 1;
    struct span count = keep(p, attributes, "count");
    if (count.size) {
        read_extent(p, count, field->name, &field->count, &node->count_name);
    }
    if (field->count == 0) {
        field->count = 1; /* the message compiler ignores a count of 0 */
    } else if (count.size && node->count_name.size == 0) {
        field->flags |= FIELD_FIXED_COUNT;
    }
    return node;
}

static void read_types(
    struct manifest_parser *p, const XML_Char **attributes, struct schema_field *field)
{
    struct span in_type = peek(attributes, "inType");
    struct span out_type = peek(attributes, "outType");
    if (!names_in_type(in_type, &field->in_type)) {
        break_template(
            p, "property %.*s: unknown inType \"%.*s\"", SPAN_ARG(field->name), SPAN_ARG(in_type));
    }
    if (out_type.size && !names_out_type(out_type, &field->out_type)) {
        manifest_model_warn(p->model, line_of(p), "property %.*s: unknown outType \"%.*s\" ignored",
            SPAN_ARG(field->name), SPAN_ARG(out_type));
    }
    if (names_is_default_out(field->in_type, field->out_type)) {
        field->out_type = OUT_NULL;
    }
}

/* TDH ignores a length of 0, and the length of a fixed-size type. */
static void start_data(struct manifest_parser *p, const XML_Char **attributes)
{
    struct layout_node *node = p->template ? add_property(p, attributes) : NULL;
    if (!node) {
        return;
    }
    struct schema_field *field = &node->field;
    read_types(p, attributes, field);
    node->map_name = keep(p, attributes, "map");
    struct span length = keep(p, attributes, "length");
    if (length.size && names_has_length(field->in_type)) {
        read_extent(p, length, field->name, &field->length, &node->length_name);
        field->flags |= field->length ? FIELD_FIXED_LENGTH : 0;
    }
}

static void start_struct(struct manifest_parser *p, const XML_Char **attributes)
{
    struct layout_node *node = p->template ? add_property(p, attributes) : NULL;
    struct error err = {0};
    if (node && !layout_open(&p->template->layout, &err)) {
        break_template(p, "%s", err.text);
    }
}

/* ---- events and strings ---------------------------------------------------------------------- */

static void start_event(struct manifest_parser *p, const XML_Char **attributes)
{
    struct model_event *event = allocate(p, sizeof(*event));
    p->event = event;
    if (!event) {
        return;
    }
    event->line = line_of(p);
    event->id = keep(p, attributes, "value");
    event->version = keep(p, attributes, "version");
    event->level = keep(p, attributes, "level");
    event->task = keep(p, attributes, "task");
    event->opcode = keep(p, attributes, "opcode");
    event->keywords = keep(p, attributes, "keywords");
    event->channel = keep(p, attributes, "channel");
    event->template_name = keep(p, attributes, "template");
    event->message = keep(p, attributes, "message");
    event->symbol = keep(p, attributes, "symbol");
    manifest_model_add_event(p->provider, event);
}

static void start_resources(struct manifest_parser *p, const XML_Char **attributes)
{
    enum { MAX_CULTURES = 1 << 16 };
    struct span culture = peek(attributes, "culture");
    unsigned rank = languages_rank_tag(span_text(p->model->options->wanted), culture);
    p->cultures += p->cultures + 1 < MAX_CULTURES;
    p->culture_rank = rank * MAX_CULTURES + p->cultures;
    p->language = languages_id(culture);
}

static void start_string(struct manifest_parser *p, const XML_Char **attributes)
{
    struct map *strings = &p->model->strings;
    struct model_string *known = map_get(strings, peek(attributes, "id"));
    if (known && known->rank <= p->culture_rank) {
        return;
    }
    struct model_string *string = known ? known : allocate(p, sizeof(*string));
    if (!string) {
        return;
    }
    string->rank = p->culture_rank;
    if (p->culture_rank < p->model->best_rank) {
        p->model->best_rank = p->culture_rank;
        p->model->language = p->language;
    }
    string->text = keep(p, attributes, "value");
    if (!known) {
        struct span id = keep(p, attributes, "id");
        if (!p->failed && !map_put(strings, id, string)) {
            stop_for_memory(p);
        }
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

#define IN(context) (1u << IN_##context)

/* Providers of performance counters are unrelated. */
/* clang-format off */
static const struct element elements[] = {
    {"provider",      IN(DOCUMENT),                              IN_PROVIDER,  start_provider},
    {"counters",      IN(DOCUMENT),                              IN_LEAF,      NULL},
    {"channels",      IN(PROVIDER),                              IN_CHANNELS,  NULL},
    {"channel",       IN(CHANNELS),                              IN_LEAF,      start_channel},
    {"importChannel", IN(CHANNELS),                              IN_LEAF,      start_channel},
    {"levels",        IN(PROVIDER),                              IN_LEVELS,    NULL},
    {"level",         IN(LEVELS),                                IN_LEAF,      start_level},
    {"tasks",         IN(PROVIDER),                              IN_TASKS,     NULL},
    {"task",          IN(TASKS),                                 IN_TASK,      start_task},
    {"opcodes",       IN(PROVIDER) | IN(TASK),                   IN_OPCODES,   NULL},
    {"opcode",        IN(OPCODES) | IN(TASK),                    IN_LEAF,      start_opcode},
    {"keywords",      IN(PROVIDER),                              IN_KEYWORDS,  NULL},
    {"keyword",       IN(KEYWORDS),                              IN_LEAF,      start_keyword},
    {"maps",          IN(PROVIDER),                              IN_MAPS,      NULL},
    {"valueMap",      IN(PROVIDER) | IN(MAPS),                   IN_MAP,       start_value_map},
    {"bitMap",        IN(PROVIDER) | IN(MAPS),                   IN_MAP,       start_bit_map},
    {"map",           IN(MAP),                                   IN_LEAF,      start_map_entry},
    {"templates",     IN(PROVIDER),                              IN_TEMPLATES, NULL},
    {"template",      IN(PROVIDER) | IN(TEMPLATES) | IN(EVENT),  IN_TEMPLATE,  start_template},
    {"data",          IN(TEMPLATE) | IN(STRUCT),                 IN_LEAF,      start_data},
    {"struct",        IN(TEMPLATE) | IN(STRUCT),                 IN_STRUCT,    start_struct},
    {"events",        IN(PROVIDER),                              IN_EVENTS,    NULL},
    {"event",         IN(PROVIDER) | IN(EVENTS),                 IN_EVENT,     start_event},
    {"resources",     IN(DOCUMENT),                              IN_RESOURCES, start_resources},
    {"stringTable",   IN(DOCUMENT) | IN(RESOURCES),              IN_STRINGS,   NULL},
    {"string",        IN(STRINGS),                               IN_LEAF,      start_string},
};
/* clang-format on */

static const struct element *find_element(struct span name, enum context parent)
{
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
        if ((elements[i].parents & 1u << parent) && span_is(name, elements[i].name)) {
            return &elements[i];
        }
    }
    return NULL;
}

/* An unknown element in a template may describe payload bytes, so the fields after it would
 * shift. */
static void skip_element(struct manifest_parser *p, struct span name, enum context parent)
{
    p->skipping = 1;
    if (p->template && (parent == IN_STRUCT || parent == IN_TEMPLATE) &&
        !span_is(name, "UserData")) {
        break_template(p, "unknown element %.*s", SPAN_ARG(name));
    }
}

void manifest_elements_start(
    struct manifest_parser *p, const char *name, const XML_Char **attributes)
{
    if (p->failed) {
        return;
    }
    if (p->skipping) {
        p->skipping++;
        return;
    }
    enum context parent = p->depth ? p->stack[p->depth - 1] : IN_DOCUMENT;
    const struct element *element = find_element(names_local(span_text(name)), parent);
    if (!element && parent != IN_DOCUMENT) {
        skip_element(p, names_local(span_text(name)), parent);
        return;
    }
    if (p->depth >= MANIFEST_XML_MAX_DEPTH) {
        error_set(p->err, ERR_LIMIT, "elements nested more than %d deep", MANIFEST_XML_MAX_DEPTH);
        manifest_elements_stop(p);
        return;
    }
    p->stack[p->depth++] = (uint8_t)(element ? element->context : IN_DOCUMENT);
    if (element && element->start) {
        element->start(p, attributes);
    }
}

void manifest_elements_end(struct manifest_parser *p)
{
    if (p->failed) {
        return;
    }
    if (p->skipping) {
        p->skipping--;
        return;
    }
    switch (p->stack[--p->depth]) {
    case IN_TASK:
        p->task = NULL;
        break;
    case IN_STRUCT:
        layout_close(&p->template->layout);
        break;
    case IN_EVENT:
        p->event = NULL;
        break;
    default:
        break;
    }
}
