#include "event/model/index_fields.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/map.h"
#include "base/span_compare.h"

enum {
    MAX_FIELDS = 65536,
    MAX_BYTES = 64 * 1024 * 1024,
    TYPE_NAME_MAX_BYTES = 256,
    MAX_NAME_BYTES = 200, /* servers have a limit for names, which may be as low as this */
};

struct index_fields {
    struct arena arena;
    struct map by_path;
    struct index_field **all; /* by path after index_fields_choose */
    size_t count;
    size_t capacity;
    bool is_ecs;
    bool failed; /* out of memory */
    size_t room;
    size_t taken;
    size_t unusable;
    struct index_field *first;
};

/* ---- types ----------------------------------------------------------------------------------- */

/* Of a value of the native event, and of the ecs event where it has no name. */
static enum index_type type_of_form(uint8_t form)
{
    switch ((enum value_form)form) {
    case FORM_UINT8:
    case FORM_UINT16:
    case FORM_UINT32:
    case FORM_PORT:
        return INDEX_NATURAL;
    case FORM_INT8:
    case FORM_INT16:
    case FORM_INT32:
    case FORM_INT64:
    case FORM_POINTER_SINT:
    case FORM_NTSTATUS:
    case FORM_HRESULT:
    case FORM_WIN32_ERROR:
        return INDEX_LONG;
    case FORM_UINT64:
    case FORM_POINTER_INT:
        return INDEX_UNSIGNED;
    case FORM_FLOAT:
    case FORM_DOUBLE:
        return INDEX_DOUBLE;
    case FORM_BOOL8:
    case FORM_BOOL16:
    case FORM_BOOL32:
        return INDEX_BOOLEAN;
    case FORM_FILETIME:
    case FORM_SYSTEMTIME:
    case FORM_SYSTEMTIME_UTC:
    case FORM_WMI_TIME:
        return INDEX_TIME;
    case FORM_IPV4:
    case FORM_IPV6:
        return INDEX_IP;
    default:
        return INDEX_TEXT;
    }
}

static bool is_whole(enum index_type type)
{
    return type == INDEX_NATURAL || type == INDEX_LONG || type == INDEX_UNSIGNED;
}

static bool is_object(enum index_type type)
{
    return type == INDEX_OBJECT || type == INDEX_NONE;
}

/* A type that takes the values of both. */
static enum index_type widen(enum index_type a, enum index_type b)
{
    if (a == b) {
        return a;
    }
    if (is_object(a) || is_object(b)) {
        return INDEX_NONE;
    }
    if (is_whole(a) && is_whole(b)) {
        bool is_signed = a == INDEX_LONG || b == INDEX_LONG;
        return is_signed ? INDEX_LONG : INDEX_UNSIGNED;
    }
    bool is_number = (is_whole(a) || a == INDEX_DOUBLE) && (is_whole(b) || b == INDEX_DOUBLE);
    return is_number ? INDEX_DOUBLE : INDEX_TEXT;
}

/* True if one type for both loses precision or queries. */
static bool differ(enum index_type a, enum index_type b)
{
    bool is_short = a == INDEX_NATURAL || b == INDEX_NATURAL;
    return a != b && !(is_short && is_whole(a) && is_whole(b));
}

const char *index_fields_word(enum index_type type)
{
    static const char *const words[] = {[INDEX_TEXT] = "text",
        [INDEX_NATURAL] = "a number",
        [INDEX_LONG] = "a signed number",
        [INDEX_UNSIGNED] = "an unsigned number of 64 bits",
        [INDEX_DOUBLE] = "a float",
        [INDEX_BOOLEAN] = "true or false",
        [INDEX_TIME] = "a time",
        [INDEX_IP] = "an address",
        [INDEX_OBJECT] = "an object",
        [INDEX_NONE] = "not searched"};
    return words[type];
}

/* ---- make ------------------------------------------------------------------------------------ */

struct index_fields *index_fields_create(bool is_ecs, struct error *err)
{
    struct index_fields *set = calloc(1, sizeof(*set));
    if (!set) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    arena_init(&set->arena, MAX_BYTES);
    map_init(&set->by_path, MAX_FIELDS);
    set->is_ecs = is_ecs;
    return set;
}

void index_fields_destroy(struct index_fields *set)
{
    if (set) {
        map_fini(&set->by_path);
        arena_fini(&set->arena);
        free((void *)set->all);
        free(set);
    }
}

/* ---- gather ---------------------------------------------------------------------------------- */

/* A property of an event that is being added. */
struct walk {
    struct index_fields *set;
    const struct event_schema *schema;
    char type_name[TYPE_NAME_MAX_BYTES];
};

static struct index_field *make(
    struct index_fields *set, struct index_field *above, struct span path, struct span name)
{
    struct index_field *field = arena_alloc(&set->arena, sizeof(*field));
    if (!field || !grow_list(&set->all, set->count, &set->capacity, sizeof(*set->all)) ||
        !arena_copy(&set->arena, path, &field->path) ||
        !map_put(&set->by_path, field->path, field)) {
        return NULL;
    }
    field->name = span_from(field->path, field->path.size - name.size);
    field->type = INDEX_TYPES;
    field->above = above;
    set->all[set->count++] = field;
    return field;
}

/* Servers take no empty names and none of blanks alone; '*' stands for others in queries. */
static bool is_usable(struct span name)
{
    bool good = name.size > 0 && name.size <= MAX_NAME_BYTES && name.data[0] != ' ' &&
                name.data[name.size - 1] != ' ';
    for (size_t i = 0; good && i < name.size; i++) {
        good = name.data[i] >= ' ' && name.data[i] != '*' && name.data[i] != 0x7f;
    }
    return good;
}

/* The field ${name}${suffix} of ${above}; NULL: an index cannot hold it. */
static struct index_field *find(
    struct walk *walk, struct index_field *above, struct span name, const char *suffix)
{
    struct index_fields *set = walk->set;
    uint8_t memory[(MAX_NAME_BYTES + 8) * (SCHEMA_MAX_DEPTH + 2)];
    size_t at = 0;
    size_t suffix_size = strlen(suffix);
    if (!is_usable(name)) {
        set->unusable++;
        return NULL;
    }
    if (above) {
        memcpy(memory, above->path.data, above->path.size);
        at = above->path.size;
        memory[at++] = '.';
    }
    memcpy(memory + at, name.data, name.size);
    memcpy(memory + at + name.size, suffix, suffix_size);
    struct span whole = span_make(memory + at, name.size + suffix_size);
    struct span path = span_make(memory, at + whole.size);
    struct index_field *field = map_get(&set->by_path, path);
    if (!field && set->count < MAX_FIELDS) {
        field = make(set, above, path, whole);
        set->failed = set->failed || !field;
    }
    return field;
}

static void note(struct walk *walk, struct index_field *field, enum index_type type)
{
    if (!field) {
        return;
    }
    if (field->type != INDEX_TYPES) {
        for (int i = 0; i < INDEX_TYPES; i++) {
            bool has = field->event_types[i].data != NULL;
            field->differs = field->differs || (has && differ((enum index_type)i, type));
        }
    }
    field->type = field->type == INDEX_TYPES ? type : widen(field->type, type);
    if (!field->event_types[type].data &&
        !arena_copy(&walk->set->arena, span_text(walk->type_name), &field->event_types[type])) {
        walk->set->failed = true;
    }
    field->events++;
}

static void add(struct walk *walk, struct index_field *above, struct span name, const char *suffix,
    enum index_type type)
{
    note(walk, find(walk, above, name, suffix), type);
}

/* As value_put writes it. */
static void add_socket_address(struct walk *walk, struct index_field *above, struct span name)
{
    static const struct {
        const char *name;
        enum index_type type;
    } members[] = {{"address", INDEX_IP}, {"port", INDEX_NATURAL}, {"family", INDEX_NATURAL},
        {"scope_id", INDEX_NATURAL}, {"raw", INDEX_TEXT}};
    struct index_field *field = find(walk, above, name, "");
    note(walk, field, INDEX_OBJECT);
    for (size_t i = 0; field && i < sizeof(members) / sizeof(members[0]); i++) {
        add(walk, field, span_text(members[i].name), "", members[i].type);
    }
}

static void add_value(struct walk *walk, struct index_field *above,
    const struct schema_field *field, struct span name)
{
    enum index_type type = type_of_form(field->form);
    bool is_code = field->raw_key.size > 0 || field->map != NULL;
    if (walk->set->is_ecs) {
        add(walk, above, name, "", is_code ? INDEX_TEXT : type);
        if (field->raw_key.size) {
            add(walk, above, name, "_raw", type);
        }
    } else if (field->form == FORM_SOCKET_ADDRESS) {
        add_socket_address(walk, above, name);
    } else {
        add(walk, above, name, "", type);
        if (is_code && field->name_key.size) {
            add(walk, above, name, "_name", INDEX_TEXT);
        }
    }
}

static void add_fields( // NOLINT(misc-no-recursion): as deep as schema_finish lets structs be
    struct walk *walk, struct index_field *above, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        const struct schema_field *field = &walk->schema->fields[i];
        /* The ecs event has the header's items under this name. */
        bool is_taken = walk->set->is_ecs && !above && span_is(field->name, "extended_data");
        struct span name = is_taken ? span_text("extended_data_2") : field->name;
        if (field->flags & FIELD_STRUCT) {
            struct index_field *object = find(walk, above, name, "");
            note(walk, object, INDEX_OBJECT);
            if (object) {
                add_fields(walk, object, field->struct_start, field->struct_members);
            }
        } else {
            add_value(walk, above, field, name);
        }
    }
}

/* PROVIDER:ID:VERSION, as `schema show` takes it; of classes CLASS:TYPE:VERSION.
 * TraceLogging events have names alone. */
static void write_type_name(const struct event_schema *schema, char type_name[TYPE_NAME_MAX_BYTES])
{
    const struct event_descriptor *d = &schema->descriptor;
    bool is_class = schema->kind == SCHEMA_MOF;
    struct span name = is_class ? schema->task_name : schema->provider_name;
    char guid[GUID_TEXT_SIZE];
    guid_write(&schema->provider, guid);
    name = name.size ? name : span_make(guid, GUID_TEXT_SIZE);
    if (schema->kind == SCHEMA_TRACELOGGING) {
        snprintf(type_name, TYPE_NAME_MAX_BYTES, "%.*s %.*s", SPAN_ARG(name),
            SPAN_ARG(schema->event_name));
    } else {
        snprintf(type_name, TYPE_NAME_MAX_BYTES, "%.*s:%u:%u", SPAN_ARG(name),
            is_class ? d->opcode : d->id, d->version);
    }
}

void index_fields_add(struct index_fields *set, const struct event_schema *schema)
{
    struct walk walk = {.set = set, .schema = schema};
    write_type_name(schema, walk.type_name);
    if (schema->has_layout) {
        add_fields(&walk, NULL, 0, schema->top_count);
    }
}

/* ---- choose ---------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
    const struct index_field *x = *(const struct index_field *const *)a;
    const struct index_field *y = *(const struct index_field *const *)b;
    return span_compare(x->path, y->path);
}

static int compare_worth(const void *a, const void *b)
{
    const struct index_field *x = *(const struct index_field *const *)a;
    const struct index_field *y = *(const struct index_field *const *)b;
    int order = (x->type == INDEX_TEXT) - (y->type == INDEX_TEXT);
    order = order ? order : (x->events < y->events) - (x->events > y->events);
    return order ? order : compare_paths(a, b);
}

/* An object is chosen with its members; below an object that is a value in other events nothing has
 * a type. */
static bool may_have_type(const struct index_field *field)
{
    bool good = !is_object(field->type);
    for (const struct index_field *above = field->above; good && above; above = above->above) {
        good = above->type == INDEX_OBJECT;
    }
    return good;
}

static size_t cost_of(const struct index_field *field)
{
    size_t cost = 0;
    for (; field && !field->chosen; field = field->above) {
        cost++;
    }
    return cost;
}

/* Fields by path, from the last: each goes before its siblings that are there. */
static void link_chosen(struct index_fields *set)
{
    set->first = NULL;
    for (size_t i = set->count; i-- > 0;) {
        struct index_field *field = set->all[i];
        if (field->chosen) {
            struct index_field **list = field->above ? &field->above->first : &set->first;
            field->next = *list;
            *list = field;
        }
    }
}

bool index_fields_choose(struct index_fields *set, size_t room, struct error *err)
{
    struct index_field **order = calloc(set->count + 1, sizeof(struct index_field *));
    if (set->failed || !order) {
        free((void *)order);
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (set->count) {
        memcpy((void *)order, (void *)set->all, set->count * sizeof(struct index_field *));
        qsort((void *)order, set->count, sizeof(struct index_field *), compare_worth);
        qsort((void *)set->all, set->count, sizeof(struct index_field *), compare_paths);
    }
    set->room = room;
    set->taken = 0;
    for (size_t i = 0; i < set->count; i++) {
        size_t cost = cost_of(order[i]);
        if (!may_have_type(order[i]) || cost > room - set->taken) {
            continue;
        }
        set->taken += cost;
        for (struct index_field *field = order[i]; field && !field->chosen; field = field->above) {
            field->chosen = true;
        }
    }
    free((void *)order);
    link_chosen(set);
    return true;
}

/* ---- what came of it ------------------------------------------------------------------------- */

struct index_counts index_fields_counts(const struct index_fields *set)
{
    struct index_counts counts = {
        .taken = set->taken, .room = set->room, .unusable = set->unusable};
    for (size_t i = 0; i < set->count; i++) {
        const struct index_field *field = set->all[i];
        bool counts_as_one = may_have_type(field);
        counts.fields += counts_as_one;
        counts.chosen += counts_as_one && field->chosen;
        counts.differ += field->differs;
    }
    return counts;
}

const struct index_field *index_fields_first(const struct index_fields *set)
{
    return set->first;
}

const struct index_field *index_fields_differing(const struct index_fields *set, size_t *cursor)
{
    while (*cursor < set->count) {
        const struct index_field *field = set->all[(*cursor)++];
        if (field->differs) {
            return field;
        }
    }
    return NULL;
}
