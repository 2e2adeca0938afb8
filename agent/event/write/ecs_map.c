#include "event/write/ecs_map.h"

#include "event/value/ecs_convert_text.h"
#include "event/value/value_json.h"
#include "event/write/ecs_map_plan.h"
#include "event/write/event_edits.h"
#include "event/write/event_file.h"
#include "event/write/event_path_ids.h"
#include "event/write/event_process.h"

/* Known processes that fields of the event may describe. */
struct known {
    bool is_own;                       /* the event describes its own process */
    bool is_creator;                   /* or one that this has started */
    const struct event_process *other; /* the described process; NULL: none or unknown */
};

/*
 * Members are written in the order of their fields. An object is opened when its first member has a
 * value, and closed before the next member outside it: `open` objects are open, and the list of the
 * last member, if it is one.
 */
struct cursor {
    struct buf *out;

    const struct ecs_map_member *last; /* the last member with a value */
    uint8_t open;
    uint8_t shared; /* objects of `last` that also contain all members since then */
    struct ecs_sink sink;
    struct known known;
    /* What the present member has its value from. Members that differ in their conversion alone
     * follow each other, and find it here. */
    struct ecs_operand operand;
    const struct field *field; /* of the payload, that `operand` is the value of; NULL: none */
};

/* The list's memory needs no reset before the first list. */
static void cursor_init(struct cursor *cursor, struct event_value_context *context, struct buf *out)
{
    cursor->out = out;
    cursor->last = NULL;
    cursor->open = 0;
    cursor->shared = 0;
    cursor->operand = (struct ecs_operand){.context = context};
    cursor->field = NULL;
    cursor->sink.out = out;
    cursor->sink.is_list = false;
    cursor->sink.count = 0;
    cursor->known = (struct known){.is_own = false};
}

bool ecs_map_has_thread(const struct ecs_plan *plan)
{
    return plan && plan->has_thread;
}

bool ecs_map_has(const struct ecs_plan *plan, enum ecs_map_group group)
{
    return plan && plan->first[group] < plan->first[group + 1];
}

/* ---- sources --------------------------------------------------------------------------------- */

/* A field that a rule edited has a schema of its own, but the original name. */
static bool is_field(const struct field *field, const struct schema_field *wanted)
{
    return field->schema == wanted || (span_equal(field->schema->json_key, wanted->json_key) &&
                                          field->schema->form != FORM_ABSENT);
}

/* The field of a property. Those of the top level come in the order of the properties, one each,
 * unless there are arrays and structs before it, or the payload ended early. */
static const struct field *find_field(const struct event *event, uint16_t property)
{
    const struct schema_field *wanted = &event->schema->fields[property];
    if (property < event->field_count && event->fields[property].schema == wanted) {
        return &event->fields[property];
    }
    bool is_top = property < event->schema->top_count;
    for (uint32_t i = 0; i < event->field_count; i = is_top ? event->fields[i].end : i + 1) {
        if (is_field(&event->fields[i], wanted)) {
            return &event->fields[i];
        }
    }
    return NULL;
}

/* True if ${field} must be left out because rules removed or hashed the same fact of the process. A
 * value that a rule wrote stays. */
static bool is_hidden(
    const struct ecs_map_member *member, const struct event *event, const struct field *field)
{
    const struct event_edits *edits = event->edits;
    return edits && (member->goes_with & edits->process_removed ||
                        (member->goes_with & edits->process_hashed &&
                            !(field->schema->flags & FIELD_EDITED)));
}

/* The field with the value for ${member}; NULL: there is none. */
static const struct field *value_field(
    const struct ecs_map_member *member, const struct event *event)
{
    const struct field *field = find_field(event, member->property);
    bool is_there = field && field->shape == FIELD_VALUE && value_json_present(field) &&
                    !is_hidden(member, event, field);
    return is_there ? field : NULL;
}

static struct ecs_operand operand_of(struct event_value_context *context, const struct field *field)
{
    return (struct ecs_operand){.context = context,
        .value = event_value_of(context, field->schema, span_make(field->data, field->size))};
}

static struct event_value sid_of(const struct event_record *record)
{
    const struct extended_item *item = record_extended(record, EXTENDED_SID);
    if (!item) {
        return event_value_plain(EVENT_VALUE_NONE);
    }
    return record->present & RECORD_SID_IS_TEXT ? event_value_utf8(item->data)
                                                : event_value_sid(item->data);
}

/* The value of a line in the text that ${operand} has. */
static bool look_within(struct span within, struct ecs_operand *operand)
{
    return operand->value.type == EVENT_VALUE_TEXT &&
           ecs_text_pair(
               event_value_text(operand->context, &operand->value), within, &operand->text);
}

/* The first pid that ${count} members from number ${first} on have. */
static bool find_pid(struct event_value_context *context, const struct ecs_map_member *members,
    uint16_t count, const struct event *event, uint32_t *ret_pid)
{
    for (uint16_t i = 0; i < count; i++) {
        enum ecs_conversion how = (enum ecs_conversion)members[i].conversion;
        const struct field *field = members[i].origin == ECS_MAP_FIELD
                                        ? value_field(&members[i], event)
                                        : NULL;
        if (field) {
            struct ecs_operand operand = operand_of(context, field);
            if (ecs_convert_pid(how, &operand, ret_pid)) {
                return true;
            }
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

/* ---- processes ------------------------------------------------------------------------------- */

/* Rules that remove or hash facts of the event's process apply to other processes too. */
static const struct event_process *ask_other(const struct event *event, uint32_t pid)
{
    const struct event_edits *edits = event->edits;
    uint32_t file = event_edits_process_bit(PATH_FILE_PATH);
    bool is_hidden = edits && ((edits->process_removed | edits->process_hashed) & ~file);
    return event->others && !is_hidden
               ? event->others->find(event->others->self, event->record, pid)
               : NULL;
}

static struct known known_of(
    struct event_value_context *context, const struct ecs_plan *plan, const struct event *event)
{
    uint32_t pid;
    const struct event_record *record = event->record;
    if (!event->process && !event->others && !event_process_start_key(record, NULL)) {
        return (struct known){.is_own = false};
    }
    if (!ecs_map_process(context, plan, event, &pid) || ecs_map_is_own(record, pid)) {
        return (struct known){.is_own = true};
    }
    uint32_t parent;
    return (struct known){.other = ask_other(event, pid),
        .is_creator = find_pid(context, &plan->members[plan->parent], plan->parent_count, event,
                          &parent) &&
                      ecs_map_is_own(record, parent)};
}

static struct event_value fact_of(
    const struct known *known, const struct ecs_map_member *member, const struct event *event)
{
    const struct event_path *path = &ecs_map_known[member->property].path;
    if (member->origin == ECS_MAP_USED) {
        bool is_part = member->conversion != ECS_CONVERT_text;
        return event_file_value(
            path, is_part && event->file && event->file->is_edited ? NULL : event->file);
    }
    bool is_about = member->origin == ECS_MAP_ABOUT;
    bool is_own = is_about ? known->is_own : known->is_creator;
    return is_own ? event_process_value(path, event)
                  : event_process_fact(path, is_about ? known->other : NULL);
}

static bool is_of_device(struct span path)
{
    static const char start[] = "\\Device\\";
    return span_equal(span_first(path, sizeof(start) - 1), span_text(start));
}

/* True if ${operand} has the path of an image or file with a device, and the known process or file
 * has it with a drive. */
static bool is_known_better(const struct known *known, const struct ecs_map_member *member,
    const struct ecs_operand *operand, const struct event *event)
{
    const struct event_process *process = known->is_own ? event->process : known->other;
    if (member->is_path) {
        return event->file && !is_of_device(event->file->path) &&
               is_of_device(event_value_text(operand->context, &operand->value));
    }
    return member->is_image && process && process->executable.size &&
           !is_of_device(process->executable) &&
           is_of_device(event_value_text(operand->context, &operand->value));
}

/* ---- members --------------------------------------------------------------------------------- */

static void close_objects(struct cursor *cursor, uint8_t left)
{
    if (cursor->last && cursor->last->is_list) {
        buf_add_byte(cursor->out, ']');
    }
    for (uint8_t i = cursor->open; i > left; i--) {
        buf_add_byte(cursor->out, '}');
    }
}

/* Everything before the value of ${member}. */
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

/* Set the cursor's operand to a value of the payload, and with it what was found out about it for
 * the member before. */
static bool take_field(
    struct cursor *cursor, const struct ecs_map_member *member, const struct event *event)
{
    const struct field *field = value_field(member, event);
    if (!field) {
        return false;
    }
    bool is_part = member->within.size > 0;
    if (field != cursor->field || is_part) {
        cursor->operand = operand_of(cursor->operand.context, field);
        cursor->field = is_part ? NULL : field;
    }
    return !is_known_better(&cursor->known, member, &cursor->operand, event) &&
           (!is_part || look_within(member->within, &cursor->operand));
}

/* Set the cursor's operand to the value that ${member} is made of. False: there is none. */
static bool take_operand(
    struct cursor *cursor, const struct ecs_map_member *member, const struct event *event)
{
    if (member->origin == ECS_MAP_FIELD) {
        return take_field(cursor, member, event);
    }
    struct event_value value;
    switch (member->origin) {
    case ECS_MAP_KEYWORDS:
        value = event_value_hex(event->record->descriptor.keyword);
        break;
    case ECS_MAP_SID:
        value = sid_of(event->record);
        break;
    default:
        value = fact_of(&cursor->known, member, event);
        break;
    }
    if (value.type == EVENT_VALUE_NONE) {
        return false;
    }
    cursor->operand = (struct ecs_operand){.context = cursor->operand.context, .value = value};
    cursor->field = NULL;
    return true;
}

static bool add_value(struct cursor *cursor, const struct ecs_map_member *member)
{
    if (member->origin == ECS_MAP_CONSTANT) {
        ecs_convert_constant(member->constant, &cursor->sink);
        return true;
    }
    return ecs_convert((enum ecs_conversion)member->conversion, member->parameter, &cursor->operand,
        &cursor->sink);
}

/* Add ${member}; without a value, restore the state before the call. */
static void add_member(
    struct cursor *cursor, const struct ecs_map_member *member, const struct event *event)
{
    cursor->shared = member->shared < cursor->shared ? member->shared : cursor->shared;
    bool is_same = cursor->last && cursor->last->number == member->number;
    if ((is_same && !member->is_list) ||
        (member->origin != ECS_MAP_CONSTANT && !take_operand(cursor, member, event))) {
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
    if (!add_value(cursor, member)) {
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
    cursor_init(&cursor, context, out);
    if (group == ECS_MAP_PROCESS || group == ECS_MAP_REST) {
        cursor.known = known_of(context, plan, event);
    }
    for (uint16_t i = plan->first[group]; i < plan->first[group + 1] && !out->failed; i++) {
        const struct ecs_map_member *member = &plan->members[i];
        if (group != ECS_MAP_EVENT || member->origin != ECS_MAP_CONSTANT) {
            add_member(&cursor, member, event);
        }
    }
    close_objects(&cursor, 0);
}

/* ---- the event object ------------------------------------------------------------------------ */

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
    cursor_init(&cursor, NULL, out);
    for (uint16_t i = 0; plan && i < plan->first[ECS_MAP_EVENT + 1]; i++) {
        const struct ecs_map_member *member = &plan->members[i];
        if (member->origin == ECS_MAP_CONSTANT && !is_action(member)) {
            add_member(&cursor, member, NULL);
        }
    }
    close_objects(&cursor, 0);
}
