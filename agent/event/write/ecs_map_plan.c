#include "event/write/ecs_map_plan.h"

#include <stdlib.h>

#include "event/model/record_file.h"
#include "event/value/ecs_convert_text.h"
#include "event/write/event_edits.h"
#include "event/write/event_path_ids.h"

/*
 * Makes a plan from the tables, once per event type, by a linear search. Rows of one provider are
 * adjacent. Rows of provider `*` have a field of another row as their source and write its value to
 * a second field, such as the name of a file from its path.
 */

/* LOG: a source of event logs that has no GUID. */
enum provider_kind { MANIFEST, CLASS, LOG };

struct provider {
    const char *name;
    const char *guid;
    enum provider_kind kind;
};

struct row {
    const char *provider;
    const char *events;
    const char *versions;
    const char *field;
    const char *source;
    enum ecs_conversion conversion;
    const char *parameter;
};

static const struct provider providers[] = {
#define PROVIDER(name, guid, kind) {name, guid, kind},
#include "ecs_map_providers.def"
#undef PROVIDER
};

static const struct row rows[] = {
#define ROW(provider, events, versions, field, source, conversion, parameter) \
    {provider, events, versions, field, source, ECS_CONVERT_##conversion, parameter},
#include "ecs_map_rows.def"
#undef ROW
};

static const char *const lists[] = {
#define LIST(field) field,
#include "ecs_map_lists.def"
#undef LIST
};

enum {
    PROVIDERS = sizeof(providers) / sizeof(providers[0]),
    ROWS = sizeof(rows) / sizeof(rows[0]),
    LISTS = sizeof(lists) / sizeof(lists[0]),
};

const struct ecs_map_known ecs_map_known[ECS_MAP_KNOWN] = {
    {"process.entity_id", ECS_MAP_ABOUT, {.field = PATH_PROCESS_START_KEY}, ECS_CONVERT_text},
    {"process.name", ECS_MAP_ABOUT, {.field = PATH_PROCESS_NAME}, ECS_CONVERT_text},
    {"process.executable", ECS_MAP_ABOUT, {.field = PATH_PROCESS_EXECUTABLE}, ECS_CONVERT_text},
    {"process.command_line", ECS_MAP_ABOUT, {.field = PATH_PROCESS_COMMAND_LINE}, ECS_CONVERT_text},
    {"process.parent.pid", ECS_MAP_ABOUT, {.field = PATH_PROCESS_PARENT_PID}, ECS_CONVERT_long},
    {"process.parent.name", ECS_MAP_ABOUT, {.field = PATH_PROCESS_PARENT_NAME}, ECS_CONVERT_text},
    {"process.parent.executable", ECS_MAP_ABOUT, {.field = PATH_PROCESS_PARENT_EXECUTABLE},
        ECS_CONVERT_text},
    {"process.start", ECS_MAP_ABOUT, {.field = PATH_PROCESS_START}, ECS_CONVERT_time},
    {"user.id", ECS_MAP_ABOUT, {.field = PATH_PROCESS_USER_ID}, ECS_CONVERT_text},
    {"user.name", ECS_MAP_ABOUT, {.field = PATH_PROCESS_USER_NAME}, ECS_CONVERT_text},
    {"user.domain", ECS_MAP_ABOUT, {.field = PATH_PROCESS_USER_DOMAIN}, ECS_CONVERT_text},
    {"process.parent.entity_id", ECS_MAP_CREATOR, {.field = PATH_PROCESS_START_KEY},
        ECS_CONVERT_text},
    {"process.parent.name", ECS_MAP_CREATOR, {.field = PATH_PROCESS_NAME}, ECS_CONVERT_text},
    {"process.parent.executable", ECS_MAP_CREATOR, {.field = PATH_PROCESS_EXECUTABLE},
        ECS_CONVERT_text},
    {"process.parent.command_line", ECS_MAP_CREATOR, {.field = PATH_PROCESS_COMMAND_LINE},
        ECS_CONVERT_text},
    {"file.path", ECS_MAP_USED, {.field = PATH_FILE_PATH}, ECS_CONVERT_text},
    {"file.name", ECS_MAP_USED, {.field = PATH_FILE_PATH}, ECS_CONVERT_basename},
    {"file.directory", ECS_MAP_USED, {.field = PATH_FILE_PATH}, ECS_CONVERT_directory},
    {"file.extension", ECS_MAP_USED, {.field = PATH_FILE_PATH}, ECS_CONVERT_extension},
};

static const char *const group_objects[ECS_MAP_GROUPS] = {
    "event.", "process.", "winlog.", "error.", ""};

/* ---- which rows ------------------------------------------------------------------------------ */

/* True if ${number} is in a list like `1,4-6,9-`. The tables are trusted. */
static bool is_in(const char *ranges, unsigned number)
{
    for (const char *at = ranges; *at;) {
        char *end;
        if (*at == '*') {
            return true;
        }
        unsigned long first = strtoul(at, &end, 10);
        unsigned long last = first;
        if (*end == '-') {
            const char *number_at = end + 1;
            last = strtoul(number_at, &end, 10);
            last = end == number_at ? UINT32_MAX : last;
        }
        if (number >= first && number <= last) {
            return true;
        }
        at = *end == ',' ? end + 1 : end + strlen(end);
    }
    return false;
}

static const struct provider *provider_of(const struct event *event)
{
    const struct event_schema *schema = event->schema;
    bool is_class = schema->kind == SCHEMA_MOF;
    /* Manifests made by tools may look like an EventSource's. */
    bool is_manifest = schema->kind == SCHEMA_MANIFEST || schema->kind == SCHEMA_EVENTSOURCE ||
                       schema->kind == SCHEMA_EVENTLOG;
    if (!is_class && (!is_manifest || event->record->kind != RECORD_EVENT)) {
        return NULL;
    }
    char guid[GUID_TEXT_SIZE];
    guid_write(is_class ? &schema->class_guid : &event->record->provider, guid);
    /* Event logs need not say GUIDs. */
    bool by_name = schema->kind == SCHEMA_EVENTLOG && guid_is_zero(&event->record->provider);
    for (size_t i = 0; i < PROVIDERS; i++) {
        if ((providers[i].kind == CLASS) == is_class &&
            (by_name ? span_is(schema->provider_name, providers[i].name)
                     : strncmp(providers[i].guid, guid, sizeof(guid)) == 0)) {
            return &providers[i];
        }
    }
    return NULL;
}

static bool applies(const struct row *row, const struct provider *provider,
    const struct event_descriptor *descriptor)
{
    unsigned number = provider->kind == CLASS ? descriptor->opcode : descriptor->id;
    return strcmp(row->provider, provider->name) == 0 && is_in(row->events, number) &&
           is_in(row->versions, descriptor->version);
}

/* ---- members --------------------------------------------------------------------------------- */

struct members {
    struct ecs_map_member list[ECS_MAP_MAX_MEMBERS];
    size_t count;
};

static bool is_list(const char *field, enum ecs_conversion conversion)
{
    for (size_t i = 0; i < LISTS; i++) {
        if (strcmp(lists[i], field) == 0) {
            return true;
        }
    }
    return conversion == ECS_CONVERT_dns_answers || conversion == ECS_CONVERT_details;
}

static enum ecs_map_group group_of(const char *field)
{
    enum ecs_map_group group = 0;
    while (strncmp(field, group_objects[group], strlen(group_objects[group])) != 0) {
        group++;
    }
    return group;
}

/* False: the field's name is too long, or has too many parts. */
static bool render_key(struct ecs_map_member *member)
{
    enum { AROUND = 5 }; /* `"":{`, or `"":[`, and what begins the next one */
    const char *rest = member->field + strlen(group_objects[member->group]);
    size_t size = strcspn(rest, ".");
    size_t at = 0;
    member->depth = 0;
    while (at + size + AROUND < ECS_MAP_KEY && member->depth < ECS_MAP_DEPTH) {
        bool is_object = rest[size] == '.';
        member->at[member->depth] = (uint8_t)at;
        member->key[at++] = '"';
        memcpy(member->key + at, rest, size);
        at += size;
        member->key[at++] = '"';
        member->key[at++] = ':';
        if (!is_object) {
            member->key_size = (uint8_t)at;
            return true;
        }
        member->key[at++] = '{';
        member->depth++;
        rest += size + 1;
        size = strcspn(rest, ".");
    }
    return false;
}

static bool find_name(const struct event_schema *schema, uint16_t first, uint16_t count,
    const char *name, uint16_t *ret_property)
{
    for (uint16_t i = first; i < first + count; i++) {
        if (span_is(schema->fields[i].name, name)) {
            *ret_property = i;
            return true;
        }
    }
    return false;
}

/* The source of a row's values. False: events of this type do not have it. */
static bool find_source(
    const char *source, const struct event_schema *schema, struct ecs_map_member *member)
{
    if (source[0] == '=') {
        member->origin = ECS_MAP_CONSTANT;
        member->constant = span_text(source + 1);
        return true;
    }
    if (source[0] == '@') {
        member->origin = strcmp(source, "@sid") == 0 ? ECS_MAP_SID : ECS_MAP_KEYWORDS;
        return true;
    }
    member->origin = ECS_MAP_FIELD;
    if (find_name(schema, 0, schema->top_count, source, &member->property)) {
        return true;
    }
    /* The UserData of an event log is one element with all others in it. */
    const struct schema_field *first = schema->fields;
    return schema->kind == SCHEMA_EVENTLOG && schema->top_count == 1 &&
           (first->flags & FIELD_STRUCT) && !first->is_array &&
           find_name(schema, first->struct_start, first->struct_members, source, &member->property);
}

/* Fields of the process that rules can name, and the ecs fields with the same value or a part of
 * it. */
static uint32_t process_bits(const char *field)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < ECS_MAP_KNOWN; i++) {
        if (strcmp(ecs_map_known[i].field, field) == 0) {
            bits = event_edits_process_bit(ecs_map_known[i].path.field);
        }
    }
    if (strncmp(field, "process.args", strlen("process.args")) == 0) {
        bits = event_edits_process_bit(PATH_PROCESS_COMMAND_LINE);
    }
    if (strncmp(field, "process.parent.", strlen("process.parent.")) == 0) {
        bits |= event_edits_process_bit(PATH_PROCESS_PARENT);
    } else if (bits && strncmp(field, "user.", strlen("user.")) == 0) {
        bits |= event_edits_process_bit(PATH_PROCESS_USER);
    }
    return bits;
}

static void add_member(struct members *members, struct ecs_map_member member, const char *field)
{
    member.goes_with |= process_bits(field);
    member.field = field;
    member.group = (uint8_t)group_of(field);
    member.is_list = is_list(field, (enum ecs_conversion)member.conversion);
    member.is_image = strcmp(field, "process.executable") == 0;
    member.is_path = strncmp(field, "file.", strlen("file.")) == 0 && process_bits(field);
    if (members->count < ECS_MAP_MAX_MEMBERS && render_key(&member)) {
        members->list[members->count++] = member;
    }
}

static bool has_field(const struct members *members, size_t count, const char *field)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(members->list[i].field, field) == 0) {
            return true;
        }
    }
    return false;
}

/* Does the conversion of ${member} take a part out of the payload's value? */
static bool takes_part(const struct ecs_map_member *member)
{
    return member->parameter.size && member->conversion != ECS_CONVERT_pair;
}

/* What follows from the members that are there, and from what follows from them. A conversion takes
 * the value of the payload, or a line of it. So nothing is derived from a member whose conversion
 * takes another part. */
static void add_derived(struct members *members)
{
    size_t named = members->count;
    for (size_t i = 0; i < members->count; i++) {
        for (const struct row *row = rows; row < rows + ROWS; row++) {
            const struct ecs_map_member *from = &members->list[i];
            if (row->provider[0] != '*' || strcmp(row->source, from->field) != 0 ||
                from->origin == ECS_MAP_CONSTANT ||
                (takes_part(from) && row->conversion != ECS_CONVERT_same) ||
                (!is_list(row->field, row->conversion) && has_field(members, named, row->field))) {
                continue;
            }
            struct ecs_map_member member = *from;
            if (row->conversion != ECS_CONVERT_same) {
                if (from->conversion == ECS_CONVERT_pair) {
                    member.within = from->parameter;
                }
                member.conversion = (uint8_t)row->conversion;
                member.parameter = span_text(row->parameter);
                member.goes_with = 0;
            }
            add_member(members, member, row->field);
        }
    }
}

static const struct {
    const char *name;
    enum ecs_conversion how;
} conversions[] = {
#define CONVERSION(name) {#name, ECS_CONVERT_##name},
#include "event/value/ecs_convert.def"
#undef CONVERSION
};

/* `User>name`: the line User, and then what `name` makes of it. */
static void split_pair(struct ecs_map_member *member)
{
    struct span then = member->parameter;
    struct span line = ecs_text_until(&then, '>');
    if (member->conversion != ECS_CONVERT_pair || then.size == 0) {
        return;
    }
    for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
        if (span_is(then, conversions[i].name)) {
            member->conversion = (uint8_t)conversions[i].how;
            member->parameter = span_make(NULL, 0);
            member->within = line;
        }
    }
}

static void collect(
    const struct event *event, const struct provider *provider, struct members *members)
{
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        struct ecs_map_member member = {
            .conversion = (uint8_t)row->conversion, .parameter = span_text(row->parameter)};
        if (applies(row, provider, &event->record->descriptor) &&
            find_source(row->source, event->schema, &member)) {
            split_pair(&member);
            add_member(members, member, row->field);
        }
    }
    add_derived(members);
}

/* The user in the payload is not mixed with the user of the process. */
static bool tells_user(const struct members *members)
{
    return has_field(members, members->count, "user.id") ||
           has_field(members, members->count, "user.name");
}

/* Known facts of processes and files come after the mapped values, as the second choice. */
static void add_known(const struct event_record *record, struct members *members)
{
    bool has_user = tells_user(members);
    bool uses_file = record_file_uses(record);
    for (size_t i = 0; i < ECS_MAP_KNOWN; i++) {
        const struct ecs_map_known *known = &ecs_map_known[i];
        const struct ecs_map_member member = {.origin = (uint8_t)known->origin,
            .property = (uint16_t)i,
            .conversion = (uint8_t)known->conversion};
        bool is_hidden = known->origin == ECS_MAP_USED
                             ? !uses_file
                             : has_user && strncmp(known->field, "user.", strlen("user.")) == 0;
        if (!is_hidden) {
            add_member(members, member, known->field);
        }
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

static int order_of(const struct ecs_map_member *a, const struct ecs_map_member *b)
{
    /* A dot sorts before letters and `_`, so members of one object are adjacent. */
    return a->group != b->group ? (int)a->group - (int)b->group : strcmp(a->field, b->field);
}

/* By groups, objects and names; members of one field stay in the order of the table. */
static void sort(struct members *members)
{
    for (size_t i = 1; i < members->count; i++) {
        struct ecs_map_member member = members->list[i];
        size_t at = i;
        for (; at && order_of(&members->list[at - 1], &member) > 0; at--) {
            members->list[at] = members->list[at - 1];
        }
        members->list[at] = member;
    }
}

/* The text of part ${i} of a key, with its terminator. */
static struct span part_of(const struct ecs_map_member *member, uint8_t i)
{
    uint8_t end = i < member->depth ? member->at[i + 1] : member->key_size;
    return span_make(member->key + member->at[i], (size_t)(end - member->at[i]));
}

/* Set what ${member} has in common with the previous one. */
static void compare(struct ecs_map_member *member, const struct ecs_map_member *before)
{
    bool is_same = strcmp(member->field, before->field) == 0;
    member->number = (uint16_t)(before->number + !is_same);
    if (member->group != before->group) {
        return;
    }
    while (member->shared < member->depth && member->shared < before->depth &&
           span_equal(part_of(member, member->shared), part_of(before, member->shared))) {
        member->shared++;
    }
}

/* In other events another process may have the pid of the parent by now. */
static bool tells_start(const struct members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        if (strcmp(members->list[i].field, "event.action") == 0) {
            return span_is(members->list[i].constant, "process-started");
        }
    }
    return false;
}

/* True if member ${i} belongs to a run of one field. */
static void count_in(size_t i, uint16_t *first, uint16_t *count)
{
    *first = *count ? *first : (uint16_t)i;
    ++*count;
}

struct ecs_plan *ecs_map_compile(const struct event *event)
{
    struct members members;
    members.count = 0;
    const struct provider *provider = event->schema ? provider_of(event) : NULL;
    if (provider) {
        collect(event, provider, &members);
    }
    if (members.count == 0) {
        return NULL;
    }
    add_known(event->record, &members);
    sort(&members);
    size_t bytes = members.count * sizeof(members.list[0]);
    struct ecs_plan *plan = calloc(1, sizeof(*plan) + bytes);
    if (!plan) {
        return NULL;
    }
    bool is_start = tells_start(&members);
    for (size_t i = 0; i < members.count; i++) {
        struct ecs_map_member *member = &members.list[i];
        if (i) {
            compare(member, member - 1);
        }
        plan->has_thread |= strcmp(member->field, "process.thread.id") == 0;
        if (strcmp(member->field, "process.pid") == 0) {
            count_in(i, &plan->process, &plan->process_count);
        } else if (is_start && member->origin == ECS_MAP_FIELD &&
                   strcmp(member->field, "process.parent.pid") == 0) {
            count_in(i, &plan->parent, &plan->parent_count);
        }
        for (unsigned group = member->group + 1u; group <= ECS_MAP_GROUPS; group++) {
            plan->first[group] = (uint16_t)(i + 1);
        }
    }
    memcpy(plan->members, members.list, bytes);
    return plan;
}
