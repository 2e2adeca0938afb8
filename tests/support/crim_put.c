#include "support/crim_put.h"

#include "support/etl_put.h"

/* Things are written in an order in which what is referred to has its place already. */
enum {
    MAX_THINGS = 64,
    NO_OFFSET = 0,
    LIST_LEVELS = 0,
    LIST_TASKS,
    LIST_OPCODES,
    LIST_KEYWORDS,
    LIST_EVENTS,
    LIST_CHANNELS,
    LIST_MAPS,
    LIST_TEMPLATES,
    LIST_ATTRIBUTES = 13,
    LISTS = 14,
};

struct writer {
    struct buf *out;
    const struct crim_put_provider *provider;
    size_t lists[LISTS];
    size_t places[LISTS][MAX_THINGS]; /* where the n-th thing of a list stands */
};

static void set_u32(struct buf *out, size_t at, size_t value)
{
    if (!out->failed) {
        store_le32(out->data + at, (uint32_t)value);
    }
}

static size_t begin(struct writer *w, int list, const char *signature, size_t count)
{
    size_t start = w->out->size;
    w->lists[list] = start;
    etl_put_textz(w->out, signature);
    w->out->size--;
    etl_put_u32(w->out, 0);
    etl_put_u32(w->out, (uint32_t)count);
    return start;
}

static void end(struct writer *w, size_t start)
{
    etl_put_zeros(w->out, (8 - w->out->size % 8) % 8);
    set_u32(w->out, start + 4, w->out->size - start);
}

/* A name with its size before it, to which the 32 bits at ${reference} point. */
static void put_name(struct writer *w, size_t reference, const char *name)
{
    size_t start = w->out->size;
    set_u32(w->out, reference, start);
    etl_put_u32(w->out, 0);
    etl_put_utf16z(w->out, name);
    etl_put_zeros(w->out, (4 - w->out->size % 4) % 4);
    set_u32(w->out, start, w->out->size - start);
}

static size_t count_names(const struct crim_put_name *names)
{
    size_t count = 0;
    while (names && names[count].name) {
        count++;
    }
    return count;
}

/* One entry; returns where the offset of its name goes. */
static size_t put_entry(struct buf *out, int list, const struct crim_put_name *name)
{
    size_t start = out->size;
    uint32_t message = (uint32_t)name->message;
    switch (list) {
    case LIST_KEYWORDS:
        etl_put_u64(out, name->value);
        etl_put_u32(out, message);
        break;
    case LIST_CHANNELS:
        etl_put_u32(out, name->is_imported);
        etl_put_u32(out, 0);
        etl_put_u32(out, (uint32_t)name->value);
        etl_put_u32(out, message);
        return start + 4;
    case LIST_OPCODES:
        etl_put_u16(out, name->task);
        etl_put_u16(out, (uint16_t)name->value);
        etl_put_u32(out, message);
        break;
    default:
        etl_put_u32(out, (uint32_t)name->value);
        etl_put_u32(out, message);
        etl_put_zeros(out, list == LIST_TASKS ? 16 : 0);
        break;
    }
    size_t reference = out->size;
    etl_put_u32(out, 0);
    return reference;
}

static void put_names(
    struct writer *w, int list, const char *signature, const struct crim_put_name *names)
{
    size_t count = count_names(names);
    size_t references[MAX_THINGS];
    size_t start = begin(w, list, signature, count);
    for (size_t i = 0; i < count; i++) {
        w->places[list][i] = w->out->size;
        references[i] = put_entry(w->out, list, &names[i]);
    }
    for (size_t i = 0; i < count; i++) {
        put_name(w, references[i], names[i].name);
    }
    end(w, start);
}

static void put_maps(struct writer *w)
{
    const struct crim_put_provider *p = w->provider;
    size_t start = begin(w, LIST_MAPS, "MAPS", p->map_count);
    size_t offsets = w->out->size;
    etl_put_zeros(w->out, p->map_count ? (p->map_count - 1) * 4 : 0);
    for (size_t i = 0; i < p->map_count; i++) {
        const struct crim_put_map *map = &p->maps[i];
        size_t place = w->out->size;
        w->places[LIST_MAPS][i] = place;
        if (i > 0) {
            set_u32(w->out, offsets + (i - 1) * 4, place);
        }
        buf_add(w->out, map->signature, 4);
        etl_put_u32(w->out, (uint32_t)(20 + map->count * 8));
        etl_put_zeros(w->out, 8);
        etl_put_u32(w->out, (uint32_t)map->count);
        for (size_t k = 0; k < map->count; k++) {
            etl_put_u32(w->out, map->entries[k].value);
            etl_put_u32(w->out, (uint32_t)map->entries[k].message);
        }
    }
    for (size_t i = 0; i < p->map_count; i++) {
        put_name(w, w->places[LIST_MAPS][i] + 8, p->maps[i].name);
    }
    end(w, start);
}

static size_t place_of(const struct writer *w, int list, int index)
{
    return index < 0 ? NO_OFFSET : w->places[list][index];
}

static void put_property(struct writer *w, const struct crim_put_property *property)
{
    struct buf *out = w->out;
    etl_put_u32(out, property->flags);
    if (property->flags & CRIM_STRUCT) {
        etl_put_u16(out, property->first);
        etl_put_u16(out, property->members);
        etl_put_u32(out, 0);
    } else {
        etl_put_u8(out, property->in);
        etl_put_u8(out, property->out);
        etl_put_u16(out, 0);
        etl_put_u32(out, (uint32_t)place_of(w, LIST_MAPS, property->map));
    }
    etl_put_u16(out, property->count);
    etl_put_u16(out, property->length);
    etl_put_u32(out, 0);
}

static void put_template(struct writer *w, const struct crim_put_template *template)
{
    static const uint8_t binary_xml[] = {0x0f, 1, 1, 0, 0, 0, 0, 0}; /* an empty fragment */
    struct buf *out = w->out;
    size_t count = 0;
    while (template->properties[count].name) {
        count++;
    }
    size_t start = out->size;
    buf_add(out, "TEMP", 4);
    etl_put_u32(out, 0);
    etl_put_u32(out, (uint32_t) template->top_count);
    etl_put_u32(out, (uint32_t)count);
    etl_put_u32(out, 0);
    etl_put_u32(out, 1);
    etl_put_zeros(out, 16);
    buf_add(out, binary_xml, sizeof(binary_xml));
    size_t properties = out->size;
    set_u32(out, start + 16, properties);
    for (size_t i = 0; i < count; i++) {
        put_property(w, &template->properties[i]);
    }
    for (size_t i = 0; i < count; i++) {
        put_name(w, properties + i * 20 + 16, template->properties[i].name);
    }
    set_u32(out, start + 4, out->size - start);
}

static void put_templates(struct writer *w)
{
    const struct crim_put_provider *p = w->provider;
    size_t start = begin(w, LIST_TEMPLATES, "TTBL", p->template_count);
    for (size_t i = 0; i < p->template_count; i++) {
        w->places[LIST_TEMPLATES][i] = w->out->size;
        put_template(w, &p->templates[i]);
    }
    end(w, start);
}

static void put_attributes(struct writer *w)
{
    struct buf *out = w->out;
    size_t start = begin(w, LIST_ATTRIBUTES, "PRVA", 1);
    etl_put_u32(out, 0x10000001);
    etl_put_u32(out, (uint32_t)(out->size + 4));
    etl_put_utf16z(out, w->provider->name);
    end(w, start);
}

static void put_event(struct writer *w, const struct crim_put_event *event)
{
    struct buf *out = w->out;
    etl_put_u16(out, event->id);
    etl_put_u8(out, event->version);
    etl_put_u8(out, event->channel);
    etl_put_u8(out, event->level);
    etl_put_u8(out, event->opcode);
    etl_put_u16(out, event->task);
    etl_put_u64(out, event->keyword);
    etl_put_u32(out, (uint32_t)event->message);
    etl_put_u32(out, (uint32_t)place_of(w, LIST_TEMPLATES, event->template_at));
    etl_put_u32(out, (uint32_t)place_of(w, LIST_OPCODES, event->opcode_at));
    etl_put_u32(out, (uint32_t)place_of(w, LIST_LEVELS, event->level_at));
    etl_put_u32(out, (uint32_t)place_of(w, LIST_TASKS, event->task_at));
    etl_put_zeros(out, 8); /* its keywords one by one: none */
    etl_put_u32(out, (uint32_t)place_of(w, LIST_CHANNELS, event->channel_at));
}

static void put_events(struct writer *w)
{
    const struct crim_put_provider *p = w->provider;
    size_t start = begin(w, LIST_EVENTS, "EVNT", p->event_count);
    etl_put_u32(w->out, 0);
    for (size_t i = 0; i < p->event_count; i++) {
        put_event(w, &p->events[i]);
    }
    end(w, start);
}

static void put_provider(struct buf *out, const struct crim_put_provider *provider)
{
    struct writer w = {.out = out, .provider = provider};
    size_t start = out->size;
    size_t lists = provider->name ? 9 : 8;
    buf_add(out, "WEVT", 4);
    etl_put_u32(out, 0);
    etl_put_u32(out, (uint32_t)provider->message);
    etl_put_u32(out, (uint32_t)lists);
    size_t descriptors = out->size;
    etl_put_zeros(out, lists * 8);
    put_names(&w, LIST_CHANNELS, "CHAN", provider->channels);
    put_maps(&w);
    put_templates(&w);
    if (provider->name) {
        put_attributes(&w);
    }
    put_names(&w, LIST_OPCODES, "OPCO", provider->opcodes);
    put_names(&w, LIST_LEVELS, "LEVL", provider->levels);
    put_names(&w, LIST_TASKS, "TASK", provider->tasks);
    put_names(&w, LIST_KEYWORDS, "KEYW", provider->keywords);
    put_events(&w);
    static const int order[] = {LIST_CHANNELS, LIST_MAPS, LIST_TEMPLATES, LIST_OPCODES, LIST_LEVELS,
        LIST_TASKS, LIST_KEYWORDS, LIST_EVENTS, LIST_ATTRIBUTES};
    for (size_t i = 0; i < lists; i++) {
        set_u32(out, descriptors + i * 8, (size_t)order[i]);
        set_u32(out, descriptors + i * 8 + 4, w.lists[order[i]]);
    }
    set_u32(out, start + 4, out->size - start);
}

void crim_put(struct buf *out, const struct crim_put_provider *providers, size_t count)
{
    buf_add(out, "CRIM", 4);
    etl_put_u32(out, 0);
    etl_put_u16(out, 5);
    etl_put_u16(out, 1);
    etl_put_u32(out, (uint32_t)count);
    size_t offsets = out->size;
    for (size_t i = 0; i < count; i++) {
        etl_put_guid(out, &providers[i].guid);
        etl_put_u32(out, 0);
    }
    for (size_t i = 0; i < count; i++) {
        set_u32(out, offsets + i * 20 + 16, out->size);
        put_provider(out, &providers[i]);
    }
    set_u32(out, 4, out->size);
}
