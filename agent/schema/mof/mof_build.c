#include "schema/mof/mof_build.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "schema/mof/mof_fields.h"

enum { MAX_SHOWN = 100, MAX_EVENTS = 1024 * 1024 };

struct event {
    struct event *next;
    struct event_schema *schema;
    size_t place;
};

/* Highest version among the classes of a GUID. */
struct newest {
    struct guid guid;
    uint64_t version;
};

struct builder {
    struct mof_model *model;
    struct arena layouts;                                     /* of one class */
    struct map versions;                                      /* class GUID: struct newest */
    const struct mof_property *slots[MOF_MAX_PROPERTIES + 1]; /* by WmiDataId */
    size_t slot_count;
    struct event *first;
    struct event **next;
    size_t event_count;
    bool out_of_memory;
};

/* The classes that an event type class belongs to. */
struct context {
    const struct mof_class *type;
    const struct mof_class *event;    /* has the GUID in the headers */
    const struct mof_class *provider; /* may be the event class itself */
    struct guid event_guid;
    struct guid provider_guid;
    uint64_t version;
};

static void warn(struct builder *b, const struct mof_class *class, const char *what)
{
    mof_model_warn(b->model, class->file, class->line, class->column, "class %.*s: %s",
        SPAN_ARG(span_first(class->name, MAX_SHOWN)), what);
}

static void *make(struct builder *b, size_t size)
{
    void *made = arena_alloc(&b->model->arena, size);
    b->out_of_memory = b->out_of_memory || !made;
    return made;
}

/* ---- versions -------------------------------------------------------------------------------- */

static bool own_version(const struct mof_class *class, uint64_t *ret_version)
{
    return mof_qualifier_number(class->qualifiers, "EventVersion", UINT8_MAX, ret_version);
}

static void note_version(struct builder *b, const struct mof_class *class)
{
    struct guid guid;
    uint64_t version;
    if (class->is_local || !mof_class_guid(class, &guid) || !own_version(class, &version)) {
        return;
    }
    struct newest *newest = map_get(&b->versions, span_make(guid.bytes, sizeof(guid.bytes)));
    if (!newest) {
        newest = make(b, sizeof(*newest));
        if (!newest) {
            return;
        }
        newest->guid = guid;
        b->out_of_memory |= !map_put(
            &b->versions, span_make(newest->guid.bytes, sizeof(newest->guid.bytes)), newest);
    }
    newest->version = version > newest->version ? version : newest->version;
}

/* The latest version of a class may lack a number: it is newer than all numbered ones. */
static uint64_t unsaid_version(const struct builder *b, const struct guid *guid)
{
    const struct newest *newest = map_get(
        &b->versions, span_make(guid->bytes, sizeof(guid->bytes)));
    return !newest ? 0 : newest->version < UINT8_MAX ? newest->version + 1 : UINT8_MAX;
}

/* ---- the classes of an event ----------------------------------------------------------------- */

static bool find_context(struct builder *b, const struct mof_class *type, struct context *ret)
{
    bool has_version = false;
    *ret = (struct context){.type = type};
    for (const struct mof_class *at = type; at && !ret->provider; at = at->base) {
        struct guid guid;
        bool has_guid = mof_class_guid(at, &guid);
        if (!ret->event && !has_version) {
            has_version = own_version(at, &ret->version);
        }
        if (has_guid && !ret->event) {
            ret->event = at;
            ret->event_guid = guid;
        } else if (has_guid && !guid_equal(&guid, &ret->event_guid)) {
            ret->provider = at;
            ret->provider_guid = guid;
        }
    }
    if (!ret->event) {
        warn(b, type,
            "neither it nor a parent class in these files has a Guid, so its events cannot be "
            "identified");
        return false;
    }
    if (!has_version) {
        ret->version = unsaid_version(b, &ret->event_guid);
    }
    if (!ret->provider) {
        ret->provider = ret->event;
        ret->provider_guid = ret->event_guid;
    }
    return true;
}

/* Class name without the suffix `_V2` of older versions. */
static struct span plain_name(struct span name)
{
    size_t end = name.size;
    while (end > 0 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9') {
        end--;
    }
    bool is_version = end < name.size && end > 2 && (name.data[end - 1] | 0x20) == 'v' &&
                      name.data[end - 2] == '_';
    return is_version ? span_first(name, end - 2) : name;
}

static struct span shown_name(const struct mof_class *class)
{
    struct span display = mof_qualifier_text(class->qualifiers, "DisplayName");
    return display.size ? display : plain_name(class->name);
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* Place the class's own properties, then properties of parents in free slots. False if the order is
 * unknown. */
static bool fill_slots(struct builder *b, const struct context *context)
{
    memset(b->slots, 0, (b->slot_count + 1) * sizeof(const struct mof_property *));
    b->slot_count = 0;
    size_t seen = 0;
    const struct mof_class *at = context->type;
    for (bool is_own = true; at; at = at == context->provider ? NULL : at->base, is_own = false) {
        for (const struct mof_property *p = at->properties; p; p = p->next) {
            if (++seen > MOF_MAX_PROPERTIES) {
                warn(b, context->type,
                    "left out: it and its parents have more than 1024 properties");
                return false;
            }
            uint64_t id;
            bool has_id =
                mof_qualifier_number(p->qualifiers, "WmiDataId", MOF_MAX_PROPERTIES, &id) && id > 0;
            if (is_own && (!has_id || b->slots[id])) {
                warn(b, context->type,
                    has_id ? "left out: two properties have the same WmiDataId"
                           : "left out: a property has no WmiDataId from 1 to 1024");
                return false;
            }
            if (has_id && !b->slots[id]) {
                b->slots[id] = p;
                b->slot_count = id > b->slot_count ? id : b->slot_count;
            }
        }
    }
    return true;
}

static bool may_have_map(const struct schema_field *field)
{
    bool is_number = (field->in_type >= IN_INT8 && field->in_type <= IN_UINT64) ||
                     field->in_type == IN_HEX_INT32 || field->in_type == IN_HEX_INT64;
    return is_number && (field->out_type <= OUT_UNSIGNED_LONG ||
                            (field->out_type >= OUT_HEX_INT8 && field->out_type <= OUT_HEX_INT64));
}

/* Spelling of ${name} as in an earlier property, compared without case; ${name} itself if there is
 * none. */
static struct span name_before(const struct layout *layout, struct span name)
{
    const struct layout_node *at = name.size ? layout->newest : NULL;
    while (at && !span_equal_nocase(at->field.name, name)) {
        at = at->previous;
    }
    return at ? at->field.name : name;
}

/* Append a property; false if the layout ends before it. */
static bool add_property(struct builder *b, const struct context *context, struct layout *layout,
    const struct mof_property *property, enum mof_boolean boolean)
{
    struct layout_node filled = {.field = {.count = 1}};
    const char *why = mof_fields_fill(property, boolean, &filled);
    if (why) {
        if (boolean == MOF_BOOLEAN_LONG) {
            mof_model_warn(b->model, context->type->file, property->line, property->column,
                "class %.*s: the layout ends before property %.*s: %s",
                SPAN_ARG(span_first(context->type->name, MAX_SHOWN)),
                SPAN_ARG(span_first(property->name, MAX_SHOWN)), why);
        }
        return false;
    }
    struct span count_name = name_before(layout, filled.count_name);
    struct span length_name = name_before(layout, filled.length_name);
    struct layout_node *node = layout_add(layout, NULL);
    if (!node) {
        b->out_of_memory = true;
        return false;
    }
    node->field = filled.field;
    node->count_name = count_name;
    node->length_name = length_name;
    if (may_have_map(&node->field)) {
        b->out_of_memory |= !mof_fields_map(property, &b->model->arena, &node->field.map);
    }
    return true;
}

/* The finished layout of the class; NULL, with a warning, if there is none. */
static struct event_schema *make_layout(
    struct builder *b, const struct context *context, enum mof_boolean boolean)
{
    struct layout layout;
    struct error err = {0};
    struct event_schema *schema = make(b, sizeof(*schema));
    if (!schema) {
        return NULL;
    }
    arena_fini(&b->layouts);
    arena_init(&b->layouts, b->model->arena.max_bytes);
    layout_init(&layout, &b->layouts);
    bool goes_on = true;
    for (size_t id = 1; id <= b->slot_count && goes_on; id++) { /* classes of Windows have gaps */
        goes_on = !b->slots[id] || add_property(b, context, &layout, b->slots[id], boolean);
    }
    if (b->out_of_memory) {
        return NULL;
    }
    if (!layout_write(&layout, schema, &b->model->arena, &err) ||
        !schema_finish(schema, &b->model->arena, &err)) {
        b->out_of_memory = err.code == ERR_MEMORY;
        warn(b, context->type, err.text);
        return NULL;
    }
    return schema;
}

static bool has_boolean(const struct builder *b)
{
    bool has = false;
    for (size_t id = 1; id <= b->slot_count; id++) {
        const struct mof_property *property = b->slots[id];
        has = has || (property && span_equal_nocase(property->type, span_text("boolean")));
    }
    return has;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool set_names(struct builder *b, const struct context *context, struct span type_name,
    struct event_schema *schema)
{
    char number[8];
    snprintf(number, sizeof(number), "0x%x", (unsigned)schema->descriptor.opcode);
    struct span class_name = shown_name(context->event);
    struct span name = type_name.size ? type_name : span_text(number);
    char text[512];
    int size = snprintf(text, sizeof(text), "%.*s/%.*s", SPAN_ARG(span_first(class_name, 250)),
        SPAN_ARG(span_first(name, 250)));
    schema->kind = SCHEMA_MOF;
    schema->source = "mof";
    schema->provider = context->provider_guid;
    schema->class_guid = context->event_guid;
    schema->provider_name = context->provider->name;
    schema->task_name = class_name;
    schema->opcode_name = type_name;
    return arena_copy(&b->model->arena, span_make(text, (size_t)size), &schema->event_name);
}

static void add_event(struct builder *b, const struct context *context,
    const struct event_schema *layout, uint8_t type, struct span type_name)
{
    struct event *event = make(b, sizeof(*event));
    struct event_schema *schema = make(b, sizeof(*schema));
    if (!event || !schema || b->event_count == MAX_EVENTS) {
        b->out_of_memory = true;
        return;
    }
    *schema = *layout;
    schema->has_layout = true;
    schema->descriptor.opcode = type;
    schema->descriptor.version = (uint8_t)context->version;
    if (!set_names(b, context, type_name, schema)) {
        b->out_of_memory = true;
        return;
    }
    *event = (struct event){.schema = schema, .place = b->event_count++};
    *b->next = event;
    b->next = &event->next;
}

/* Add an event for each type; EventTypeName is a list parallel to EventType. */
static void add_events(
    struct builder *b, const struct context *context, const struct event_schema *layout)
{
    const struct mof_class *class = context->type;
    const struct mof_qualifier *types = mof_qualifier_find(class->qualifiers, "EventType");
    const struct mof_qualifier *names = mof_qualifier_find(class->qualifiers, "EventTypeName");
    const struct mof_value *name = names ? names->values : NULL;
    for (const struct mof_value *value = types->values; value && !b->out_of_memory;
         value = value->next) {
        uint64_t type;
        if (mof_number(value->text, UINT8_MAX, &type)) {
            add_event(b, context, layout, (uint8_t)type, name ? name->text : span_make(NULL, 0));
        } else {
            warn(b, class, "an EventType is not a number from 0 to 255 and is ignored");
        }
        name = name ? name->next : NULL;
    }
}

static void build_class(struct builder *b, const struct mof_class *class)
{
    struct context context;
    if (class->is_local || !mof_qualifier_find(class->qualifiers, "EventType") ||
        !find_context(b, class, &context) || !fill_slots(b, &context)) {
        return;
    }
    const struct event_schema *layout = make_layout(b, &context, MOF_BOOLEAN_LONG);
    if (layout) {
        add_events(b, &context, layout);
    }
    layout = layout && has_boolean(b) ? make_layout(b, &context, MOF_BOOLEAN_BYTE) : NULL;
    if (layout) {
        add_events(b, &context, layout);
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

struct key {
    const struct guid *class_guid;
    uint8_t type;
    uint8_t version;
};

static struct key key_of(const struct event_schema *schema)
{
    return (struct key){.class_guid = &schema->class_guid,
        .type = schema->descriptor.opcode,
        .version = schema->descriptor.version};
}

static int compare_types(const struct key *a, const struct key *b)
{
    int order = guid_compare(a->class_guid, b->class_guid);
    return order ? order : order_u64(a->type, b->type);
}

static int compare_keys(const struct key *a, const struct key *b)
{
    int order = compare_types(a, b);
    return order ? order : order_u64(b->version, a->version);
}

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a;
    const struct event *y = b;
    struct key x_key = key_of(x->schema);
    struct key y_key = key_of(y->schema);
    int order = compare_keys(&x_key, &y_key);
    return order ? order : order_u64(x->place, y->place);
}

static bool list_events(const struct builder *b, struct mof_schemas *ret_schemas)
{
    struct event *events = calloc(b->event_count + 1, sizeof(*events));
    ret_schemas->list = calloc(b->event_count + 1, sizeof(struct event_schema *));
    if (!events || !ret_schemas->list) {
        free(events);
        return false;
    }
    for (const struct event *event = b->first; event; event = event->next) {
        events[event->place] = *event;
    }
    qsort(events, b->event_count, sizeof(*events), compare_events);
    for (size_t i = 0; i < b->event_count; i++) {
        ret_schemas->list[i] = events[i].schema;
    }
    ret_schemas->count = b->event_count;
    free(events);
    return true;
}

bool mof_build(struct mof_model *model, struct mof_schemas *ret_schemas, struct error *err)
{
    *ret_schemas = (struct mof_schemas){0};
    struct builder *b = calloc(1, sizeof(*b));
    if (!b) {
        return error_set(err, ERR_MEMORY, "out of memory for MOF classes");
    }
    b->model = model;
    b->next = &b->first;
    map_init(&b->versions, MOF_MAX_CLASSES);
    arena_init(&b->layouts, model->arena.max_bytes);
    for (const struct mof_class *class = model->first; class; class = class->next) {
        note_version(b, class);
    }
    for (const struct mof_class *class = model->first; class && !b->out_of_memory;
         class = class->next) {
        build_class(b, class);
    }
    bool good = list_events(b, ret_schemas) && !b->out_of_memory;
    arena_fini(&b->layouts);
    map_fini(&b->versions);
    free(b);
    return good || error_set(err, ERR_MEMORY,
                       "no memory left for MOF classes; some of their events stay undecoded");
}

void mof_schemas_fini(struct mof_schemas *schemas)
{
    free(schemas->list);
    *schemas = (struct mof_schemas){0};
}

size_t mof_schemas_find(const struct mof_schemas *schemas, const struct guid *class_guid,
    uint8_t type, uint8_t version, struct event_schema *const **ret_first)
{
    const struct key key = {.class_guid = class_guid, .type = type, .version = version};
    size_t low = 0;
    size_t high = schemas->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct key other = key_of(schemas->list[middle]);
        if (compare_keys(&other, &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_first = schemas->list + low;
    size_t end = low;
    while (end < schemas->count) {
        struct key other = key_of(schemas->list[end]);
        struct key first = key_of(schemas->list[low]);
        if (compare_types(&other, &key) != 0 || other.version != first.version) {
            break;
        }
        end++;
    }
    return end - low;
}
