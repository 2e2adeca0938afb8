#include "event/ecs_map.h"

#include "event/ecs_map_plan.h"
#include "event/event_edits.h"
#include "event/event_process.h"
#include "event/value_json.h"

/*
 * Members are written in the order of their fields. Objects are opened when the first member in them
 * has a value, and closed in front of the first one outside: `open` of them are, and the list of the
 * last member is, if it is one.
 */
struct cursor {
    struct buf *out;

    const struct ecs_map_member *last; /* whose value was written last */
    uint8_t open;
    uint8_t shared; /* objects of `last` that all members since then stand in */
    struct ecs_sink sink;
};

/* What the list has kept is not of interest before there is one. */
static void cursor_init(struct cursor *cursor, struct buf *out)
{
    cursor->out = out;
    cursor->last = NULL;
    cursor->open = 0;
    cursor->shared = 0;
    cursor->sink.out = out;
    cursor->sink.is_list = false;
    cursor->sink.count = 0;
}

bool ecs_map_has(const struct ecs_plan *plan, enum ecs_map_group group)
{
    return plan && plan->first[group] < plan->first[group + 1];
}

/* ---- sources -------------------------------------------------------------------------------------------- */

/* What rules have made of a field has a schema of its own, but still its name. */
static bool is_field(const struct field *field, const struct schema_field *wanted)
{
    return field->schema == wanted || (span_equal(field->schema->json_key, wanted->json_key) &&
                                          field->schema->form != FORM_ABSENT);
}

/* The top-level field of a property. Fields come in the order of the properties, one each, unless
 * there are arrays and structs before it, or the payload ended early. */
static const struct field *find_field(const struct event *event, uint16_t property)
{
    const struct schema_field *wanted = &event->schema->fields[property];
    if (property < event->field_count && event->fields[property].schema == wanted) {
        return &event->fields[property];
    }
    for (uint32_t i = 0; i < event->field_count; i = event->fields[i].end) {
        if (is_field(&event->fields[i], wanted)) {
            return &event->fields[i];
        }
    }
    return NULL;
}

/* Shall what ${field} has not stand where rules removed or hashed what is known of the process? What
 * a rule made of the field itself may. */
static bool is_hidden(
    const struct ecs_map_member *member, const struct event *event, const struct field *field)
{
    const struct event_edits *edits = event->edits;
    return edits && (member->goes_with & edits->process_removed ||
                        (member->goes_with & edits->process_hashed &&
                            !(field->schema->flags & FIELD_EDITED)));
}

static bool get_source(struct event_value_context *context, const struct ecs_map_member *member,
    const struct event *event, struct ecs_source *ret_source)
{
    ret_source->context = context;
    if (member->origin == ECS_MAP_OWN || member->origin == ECS_MAP_CREATOR) {
        ret_source->value = event_process_value(&ecs_map_known[member->property].path, event);
        return ret_source->value.type != EVENT_VALUE_NONE;
    }
    const struct field *field = find_field(event, member->property);
    if (!field || field->shape != FIELD_VALUE || !value_json_present(field) ||
        is_hidden(member, event, field)) {
        return false;
    }
    ret_source->value = event_value_of(context, field->schema, span_make(field->data, field->size));
    return true;
}

/* The first pid that ${count} members from number ${first} on have. */
static bool find_pid(struct event_value_context *context, const struct ecs_map_member *members,
    uint16_t count, const struct event *event, uint32_t *ret_pid)
{
    for (uint16_t i = 0; i < count; i++) {
        struct ecs_source source;
        enum ecs_conversion how = (enum ecs_conversion)members[i].conversion;
        if (get_source(context, &members[i], event, &source) &&
            ecs_convert_pid(how, &source, ret_pid)) {
            return true;
        }
    }
    return false;
}

bool ecs_map_process(struct event_value_context *context, const struct ecs_plan *plan,
    const struct event *event, uint32_t *ret_pid)
{
    return plan &&
           find_pid(context, &plan->members[plan->process], plan->process_count, event, ret_pid);
}

bool ecs_map_is_own(const struct event_record *record, uint32_t pid)
{
    return (record->present & RECORD_HAS_PROCESS) && record->process_id == pid;
}

/* What of the event's process has a place in the event: ECS_MAP_OWN, ECS_MAP_CREATOR or, for nothing,
 * ECS_MAP_CONSTANT. */
static enum ecs_map_origin known_of(
    struct event_value_context *context, const struct ecs_plan *plan, const struct event *event)
{
    uint32_t pid;
    const struct event_record *record = event->record;
    if (!event->process && !event_process_start_key(record, NULL)) {
        return ECS_MAP_CONSTANT;
    }
    if (!ecs_map_process(context, plan, event, &pid) || ecs_map_is_own(record, pid)) {
        return ECS_MAP_OWN;
    }
    return find_pid(context, &plan->members[plan->parent], plan->parent_count, event, &pid) &&
                   ecs_map_is_own(record, pid)
               ? ECS_MAP_CREATOR
               : ECS_MAP_CONSTANT;
}

/* ---- members -------------------------------------------------------------------------------------------- */

static void close_objects(struct cursor *cursor, uint8_t left)
{
    if (cursor->last && cursor->last->is_list) {
        buf_add_byte(cursor->out, ']');
    }
    for (uint8_t i = cursor->open; i > left; i--) {
        buf_add_byte(cursor->out, '}');
    }
}

/* Everything in front of the value of ${member}. */
static void open_member(struct cursor *cursor, const struct ecs_map_member *member)
{
    struct buf *out = cursor->out;
    uint8_t kept = cursor->shared < cursor->open ? cursor->shared : cursor->open;
    close_objects(cursor, kept);
    buf_add_byte(out, ',');
    buf_add(out, member->key + member->at[kept], (size_t)member->key_size - member->at[kept]);
    if (member->is_list) {
        buf_add_byte(out, '[');
    }
    cursor->last = member;
    cursor->open = member->depth;
    cursor->shared = member->depth;
    cursor->sink.is_list = member->is_list;
    cursor->sink.count = 0;
}

static bool add_value(struct cursor *cursor, const struct ecs_map_member *member,
    struct event_value_context *context, const struct event *event)
{
    struct ecs_source source;
    if (member->origin == ECS_MAP_CONSTANT) {
        ecs_convert_constant(member->constant, &cursor->sink);
        return true;
    }
    return get_source(context, member, event, &source) &&
           ecs_convert(
               (enum ecs_conversion)member->conversion, member->parameter, &source, &cursor->sink);
}

/* Add ${member}, or, as if it had never been tried, nothing. */
static void add_member(struct cursor *cursor, const struct ecs_map_member *member,
    struct event_value_context *context, const struct event *event)
{
    cursor->shared = member->shared < cursor->shared ? member->shared : cursor->shared;
    bool is_same = cursor->last && cursor->last->number == member->number;
    if (is_same && !member->is_list) {
        return;
    }
    size_t size = cursor->out->size;
    const struct ecs_map_member *last = cursor->last;
    uint8_t open = cursor->open;
    uint8_t shared = cursor->shared;
    uint32_t count = cursor->sink.count;
    if (!is_same) {
        open_member(cursor, member);
    }
    if (!add_value(cursor, member, context, event)) {
        cursor->out->size = size;
        cursor->last = last;
        cursor->open = open;
        cursor->shared = shared;
        cursor->sink.count = count;
        cursor->sink.is_list = last && last->is_list;
    }
}

void ecs_map_add(struct event_value_context *context, const struct ecs_plan *plan,
    const struct event *event, enum ecs_map_group group, struct buf *out)
{
    struct cursor cursor;
    cursor_init(&cursor, out);
    enum ecs_map_origin known = group == ECS_MAP_PROCESS || group == ECS_MAP_REST
                                    ? known_of(context, plan, event)
                                    : ECS_MAP_CONSTANT;
    for (uint16_t i = plan->first[group]; i < plan->first[group + 1] && !out->failed; i++) {
        const struct ecs_map_member *member = &plan->members[i];
        bool is_out = (group == ECS_MAP_EVENT && member->origin == ECS_MAP_CONSTANT) ||
                      (member->origin >= ECS_MAP_OWN && member->origin != known);
        if (!is_out) {
            add_member(&cursor, member, context, event);
        }
    }
    close_objects(&cursor, 0);
}

/* ---- the event object ------------------------------------------------------------------------------------- */

static bool is_action(const struct ecs_map_member *member)
{
    return strcmp(member->field, "event.action") == 0;
}

struct span ecs_map_action(const struct ecs_plan *plan)
{
    for (uint16_t i = 0; plan && i < plan->first[ECS_MAP_EVENT + 1]; i++) {
        if (is_action(&plan->members[i])) {
            return plan->members[i].constant;
        }
    }
    return span_make(NULL, 0);
}

void ecs_map_add_constants(const struct ecs_plan *plan, struct buf *out)
{
    struct cursor cursor;
    cursor_init(&cursor, out);
    for (uint16_t i = 0; plan && i < plan->first[ECS_MAP_EVENT + 1]; i++) {
        const struct ecs_map_member *member = &plan->members[i];
        if (member->origin == ECS_MAP_CONSTANT && !is_action(member)) {
            add_member(&cursor, member, NULL, NULL);
        }
    }
    close_objects(&cursor, 0);
}
