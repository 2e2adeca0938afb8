#include <stdio.h>

#include "schema/manifest/manifest_model.h"
#include "schema/text/names.h"

/*
 * Builds schemas from the model of a manifest. A template becomes one finished layout, which is
 * copied into every event that names it. Names are looked up among the provider's own first, as
 * written, then among those of winmeta.xml, after the prefix ("win:Start"). An event without a
 * usable layout is left out: guessing would shift fields silently. If a name cannot be resolved,
 * only that name is missing.
 */
struct builder {
    struct model *model;
    struct arena *arena;
    const struct model_provider *provider;
    const struct schema_keyword *keywords;
    size_t keyword_count;
    struct event_schema empty; /* layout of events without payload */
    struct event_schema **next;
    struct error *err;
};

/* ---- texts ----------------------------------------------------------------------------------- */

/* Text of a message attribute. "$(string.ID)" is looked up, "$(mc.ID)" names the message compiler's
 * own strings and gives the element's name, anything else is literal. */
static struct span text_of(struct builder *b, size_t line, struct span reference)
{
    static const char string_start[] = "$(string.";
    size_t skip = sizeof(string_start) - 1;
    if (b->model->has_texts || reference.size < 3 || !span_is(span_first(reference, 2), "$(") ||
        reference.data[reference.size - 1] != ')') {
        return names_without_space(reference);
    }
    if (!span_is(span_first(reference, skip), string_start)) {
        return span_make(NULL, 0);
    }
    struct span id = span_from(reference, skip);
    id.size--;
    const struct model_string *string = map_get(&b->model->strings, id);
    if (!string) {
        manifest_model_warn(b->model, line, "string %.*s is missing", SPAN_ARG(id));
        return span_make(NULL, 0);
    }
    return string->rank == b->model->best_rank ? names_without_space(string->text)
                                               : span_make(NULL, 0);
}

/* Display name: the message if there is one, else the name. */
static struct span shown_name(struct builder *b, const struct model_name *name)
{
    struct span text = text_of(b, 0, name->message);
    return text.size ? text : names_without_win(name->name);
}

/* ---- maps and templates ---------------------------------------------------------------------- */

static struct schema_map *build_map(struct builder *b, struct model_map *map)
{
    if (map->built) {
        return map->built;
    }
    struct schema_map *built = arena_alloc(b->arena, sizeof(*built));
    struct schema_map_entry *entries = arena_alloc_array(b->arena, map->count, sizeof(*entries));
    if (!built || !entries) {
        return NULL;
    }
    size_t count = 0;
    for (const struct model_entry *entry = map->first; entry; entry = entry->next) {
        struct span text = text_of(b, 0, entry->message);
        text = text.size ? text : entry->symbol;
        if (text.size) {
            entries[count++] = (struct schema_map_entry){.value = entry->value, .text = text};
        }
    }
    schema_map_sort(entries, count); /* the message compiler sorts maps of bits, too */
    *built = (struct schema_map){
        .kind = map->kind, .entries = entries, .entry_count = count, .name = map->name};
    map->built = built;
    return built;
}

/* Find the map ${name}. *ret_map is NULL if ${name} is empty, and, with a warning, if there is no
 * such map. False only if memory is short. */
static bool find_map(
    struct builder *b, struct span name, size_t line, const struct schema_map **ret_map)
{
    *ret_map = NULL;
    if (name.size == 0) {
        return true;
    }
    struct model_map *map = map_get(&b->provider->names[MODEL_MAP], name);
    if (!map) {
        manifest_model_warn(b->model, line, "map %.*s is missing", SPAN_ARG(name));
        return true;
    }
    *ret_map = build_map(b, map);
    return *ret_map || error_set(b->err, ERR_MEMORY, "no memory left for event schemas");
}

static bool attach_maps(struct builder *b, struct model_template *template, size_t line)
{
    for (size_t i = 0; template->map_names && i < template->schema.field_count; i++) {
        if (!find_map(b, template->map_names[i], line, &template->schema.fields[i].map)) {
            return false;
        }
    }
    for (struct layout_node *node = template->layout.newest; node; node = node->previous) {
        if (!find_map(b, node->map_name, line, &node->field.map)) {
            return false;
        }
    }
    return true;
}

/* Build the layout at the first event that uses it. False only if memory is short; the template's
 * state says whether it is usable. */
static bool build_template(struct builder *b, struct model_template *template, size_t line)
{
    if (template->state != MODEL_NEW) {
        return true;
    }
    if (!attach_maps(b, template, line)) {
        return false;
    }
    struct error err = {0};
    if ((template->map_names ||
            layout_write(&template->layout, &template->schema, b->arena, &err)) &&
        schema_finish(&template->schema, b->arena, &err)) {
        template->state = MODEL_BUILT;
        return true;
    }
    if (err.code == ERR_MEMORY) {
        return error_set(b->err, err.code, "%s", err.text);
    }
    template->state = MODEL_BROKEN;
    snprintf(template->broken, sizeof(template->broken), "%.190s", err.text);
    return true;
}

/* Find the layout of ${event}. *ret_layout is NULL, with a warning, if it has no usable one. False
 * only if memory is short. */
static bool find_layout(
    struct builder *b, const struct model_event *event, const struct event_schema **ret_layout)
{
    struct model_template *template = event->template;
    *ret_layout = NULL;
    if (!template && event->template_name.size == 0) {
        *ret_layout = &b->empty;
        return true;
    }
    if (!template) {
        template = map_get(&b->provider->names[MODEL_TEMPLATE], event->template_name);
    }
    if (!template) {
        manifest_model_warn(b->model, event->line, "event %.*s left out: template %.*s is missing",
            SPAN_ARG(event->id), SPAN_ARG(event->template_name));
        return true;
    }
    if (!build_template(b, template, event->line)) {
        return false;
    }
    if (template->state == MODEL_BROKEN) {
        manifest_model_warn(b->model, event->line, "event %.*s left out: template %.*s: %s",
            SPAN_ARG(event->id), SPAN_ARG(event->template_name), template->broken);
        return true;
    }
    *ret_layout = &template->schema;
    return true;
}

/* ---- names of events ------------------------------------------------------------------------- */

static const struct model_name *find_name(
    const struct builder *b, enum model_kind kind, struct span name)
{
    return name.size ? map_get(&b->provider->names[kind], name) : NULL;
}

/* Mark ${part} of the event as not stated by its definition. If the definition refers to ${name},
 * warn that it is not defined. */
static void not_stated(struct builder *b, const struct model_event *event,
    struct event_schema *schema, enum schema_unstated part, struct span name)
{
    const char *what = part == SCHEMA_NO_LEVEL     ? "level"
                       : part == SCHEMA_NO_TASK    ? "task"
                       : part == SCHEMA_NO_OPCODE  ? "opcode"
                       : part == SCHEMA_NO_CHANNEL ? "channel"
                                                   : "keyword";
    schema->unstated |= (uint8_t)part;
    if (name.size) {
        manifest_model_warn(b->model, event->line, "event %.*s: %s %.*s is missing",
            SPAN_ARG(event->id), what, SPAN_ARG(name));
    }
}

static void set_level(
    struct builder *b, const struct model_event *event, struct event_schema *schema)
{
    const struct model_name *level = find_name(b, MODEL_LEVEL, event->level);
    struct span local = names_local(event->level);
    struct span shown = {0};
    uint64_t value = 0;
    if (level) {
        value = level->value;
        shown = shown_name(b, level);
    } else if (names_winmeta_level(local, &value)) {
        shown = local;
    } else if (!names_number(event->level, UINT8_MAX, &value)) {
        not_stated(b, event, schema, SCHEMA_NO_LEVEL, event->level);
    }
    schema->descriptor.level = (uint8_t)value;
    schema->level_name = names_of_level((uint8_t)value, shown);
}

static const struct model_name *set_task(
    struct builder *b, const struct model_event *event, struct event_schema *schema)
{
    const struct model_name *task = find_name(b, MODEL_TASK, event->task);
    uint64_t value = 0;
    if (task) {
        value = task->value;
        schema->task_name = shown_name(b, task);
    } else if (!span_is(names_local(event->task), "None") &&
               !names_number(event->task, UINT16_MAX, &value)) {
        not_stated(b, event, schema, SCHEMA_NO_TASK, event->task);
    }
    schema->descriptor.task = (uint16_t)value;
    return task;
}

/* Opcodes of the event's task take precedence over those of the provider. */
static const struct model_name *find_opcode(
    const struct builder *b, const struct model_name *task, struct span name)
{
    for (const struct model_name *at = task ? task->opcodes : NULL; at; at = at->next) {
        if (span_equal(at->name, name)) {
            return at;
        }
    }
    return find_name(b, MODEL_OPCODE, name);
}

static void set_opcode(struct builder *b, const struct model_event *event,
    const struct model_name *task, struct event_schema *schema)
{
    const struct model_name *opcode = find_opcode(b, task, event->opcode);
    struct span shown = {0};
    uint64_t value = 0;
    if (opcode) {
        value = opcode->value;
        shown = shown_name(b, opcode);
    } else if (!names_winmeta_opcode(names_local(event->opcode), &value) &&
               !names_number(event->opcode, UINT8_MAX, &value)) {
        not_stated(b, event, schema, SCHEMA_NO_OPCODE, event->opcode);
    }
    schema->descriptor.opcode = (uint8_t)value;
    schema->opcode_name = names_of_opcode((uint8_t)value, shown);
}

static void set_channel(
    struct builder *b, const struct model_event *event, struct event_schema *schema)
{
    const struct model_name *channel = find_name(b, MODEL_CHANNEL, event->channel);
    uint64_t value = 0;
    if (channel) {
        value = channel->value;
        schema->channel_name = channel->name;
        schema->descriptor.keyword |= channel->mask;
    } else if (names_winmeta_channel(names_local(event->channel), &value)) {
        schema->channel_name = names_local(event->channel);
    } else if (!names_number(event->channel, UINT8_MAX, &value)) {
        not_stated(b, event, schema, SCHEMA_NO_CHANNEL, event->channel);
        /* a channel sets a keyword bit */
        schema->unstated |= event->channel.size ? SCHEMA_NO_KEYWORDS : 0;
    }
    schema->descriptor.channel = (uint8_t)value;
}

static struct span next_word(struct span *text)
{
    size_t start = 0;
    while (start < text->size && text->data[start] <= ' ') {
        start++;
    }
    size_t end = start;
    while (end < text->size && text->data[end] > ' ') {
        end++;
    }
    struct span word = span_make(text->data + start, end - start);
    *text = span_from(*text, end);
    return word;
}

static void set_keywords(
    struct builder *b, const struct model_event *event, struct event_schema *schema)
{
    struct span rest = event->keywords;
    schema->unstated |= rest.size ? 0 : SCHEMA_NO_KEYWORDS;
    while (rest.size) {
        struct span word = next_word(&rest);
        const struct model_name *keyword = find_name(b, MODEL_KEYWORD, word);
        uint64_t mask = 0;
        if (keyword) {
            mask = keyword->mask;
        } else if (word.size && !names_winmeta_keyword(names_local(word), &mask) &&
                   !names_number(word, UINT64_MAX, &mask)) {
            not_stated(b, event, schema, SCHEMA_NO_KEYWORDS, word);
        }
        schema->descriptor.keyword |= mask;
    }
    schema->keywords = b->keywords;
    schema->keyword_count = b->keyword_count;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* False with a warning if id or version are out of range. */
static bool read_numbers(
    struct builder *b, const struct model_event *event, struct event_descriptor *ret_descriptor)
{
    uint64_t id;
    uint64_t version = 0;
    if (!names_number(event->id, UINT16_MAX, &id) ||
        (event->version.size && !names_number(event->version, UINT8_MAX, &version))) {
        manifest_model_warn(b->model, event->line,
            "event \"%.*s\" version \"%.*s\" left out: "
            "not valid as id and version",
            SPAN_ARG(event->id), SPAN_ARG(event->version));
        return false;
    }
    ret_descriptor->id = (uint16_t)id;
    ret_descriptor->version = (uint8_t)version;
    return true;
}

static bool build_event(struct builder *b, const struct model_event *event)
{
    struct event_descriptor numbers = {0};
    if (!event->descriptor && !read_numbers(b, event, &numbers)) {
        return true;
    }
    const struct event_schema *layout;
    if (!find_layout(b, event, &layout)) {
        return false;
    }
    if (!layout) {
        return true;
    }
    struct event_schema *schema = arena_alloc(b->arena, sizeof(*schema));
    if (!schema) {
        return error_set(b->err, ERR_MEMORY, "no memory left for event schemas");
    }
    *schema = *layout;
    schema->kind = b->provider->kind;
    schema->source = b->model->options->source;
    schema->has_layout = true;
    schema->language = b->model->language;
    schema->provider = b->provider->guid;
    schema->provider_name = b->provider->name;
    schema->descriptor = numbers;
    set_level(b, event, schema);
    const struct model_name *task = set_task(b, event, schema);
    set_opcode(b, event, task, schema);
    set_channel(b, event, schema);
    set_keywords(b, event, schema);
    if (event->descriptor) {
        schema->descriptor = *event->descriptor;
        schema->unstated = 0;
    }
    schema->message = text_of(b, event->line, event->message);
    if (schema->kind == SCHEMA_EVENTSOURCE) {
        schema->event_name = event->symbol.size ? event->symbol : schema->task_name;
    }
    *b->next++ = schema;
    return true;
}

static void add_keyword(
    struct schema_keyword *list, size_t *count, uint64_t *seen, uint64_t mask, struct span name)
{
    if (mask && (mask & ~*seen)) {
        list[(*count)++] = (struct schema_keyword){.mask = mask, .name = name};
        *seen |= mask;
    }
}

/* Sort as the message compiler does. The list is short because a bit is named once. */
static void sort_keywords(struct schema_keyword *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct schema_keyword moved = list[i];
        size_t to = i;
        for (; to > 0 && list[to - 1].mask > moved.mask; to--) {
            list[to] = list[to - 1];
        }
        list[to] = moved;
    }
}

/* Keyword names for all events of the provider: its own, the bits of its channels, the reserved
 * ones. A bit is named once, which bounds the list. */
static bool build_keywords(struct builder *b)
{
    static const char *const reserved[] = {"ResponseTime", "WDIContext", "WDIDiag", "SQM",
        "AuditFailure", "AuditSuccess", "CorrelationHint", "EventlogClassic"};
    struct schema_keyword list[64];
    size_t count = 0;
    uint64_t seen = 0;
    for (const struct model_name *k = b->provider->first_keyword; k; k = k->next) {
        add_keyword(list, &count, &seen, k->mask, shown_name(b, k));
    }
    sort_keywords(list, count);
    for (const struct model_name *c = b->provider->first_channel; c; c = c->next) {
        add_keyword(list, &count, &seen, c->mask, c->name);
    }
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        uint64_t mask = 0;
        names_winmeta_keyword(span_text(reserved[i]), &mask);
        add_keyword(list, &count, &seen, mask, span_text(reserved[i]));
    }
    struct schema_keyword *kept = arena_alloc_array(b->arena, count, sizeof(*kept));
    if (!kept) {
        return error_set(b->err, ERR_MEMORY, "no memory left for event schemas");
    }
    memcpy(kept, list, count * sizeof(*kept));
    b->keywords = kept;
    b->keyword_count = count;
    return true;
}

static bool build_provider(struct builder *b)
{
    if (!build_keywords(b)) {
        return false;
    }
    for (const struct model_event *e = b->provider->first_event; e; e = e->next) {
        if (!build_event(b, e)) {
            return false;
        }
    }
    return true;
}

bool manifest_build(struct model *model, struct error *err)
{
    struct manifest *manifest = model->manifest;
    struct builder b = {.model = model, .arena = &manifest->arena, .err = err};
    size_t count = 0;
    for (const struct model_provider *p = model->first_provider; p; p = p->next) {
        count += p->event_count;
    }
    manifest->events = arena_alloc_array(b.arena, count, sizeof(struct event_schema *));
    if (!manifest->events) {
        return error_set(err, ERR_MEMORY, "no memory left for event schemas");
    }
    b.next = manifest->events;
    if (!schema_finish(&b.empty, b.arena, err)) {
        return false;
    }
    for (const struct model_provider *p = model->first_provider; p; p = p->next) {
        b.provider = p;
        if (p->usable && !build_provider(&b)) {
            return false;
        }
    }
    manifest->event_count = (size_t)(b.next - manifest->events);
    return true;
}
