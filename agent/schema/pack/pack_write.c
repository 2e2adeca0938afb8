#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/order.h"
#include "base/span_compare.h"
#include "base/utf.h"
#include "event/model/type_names.h"
#include "schema/pack/pack.h"
#include "schema/pack/pack_words.h"

/*
 * Sorts the schemas and writes one section per provider: its maps, each once, and its events.
 * Several definitions of one event keep the caller's order, because the first one that fits is
 * used. A map without a name gets the name of the first field that uses it.
 */
enum { MAX_LABELS = 1 << 20, MAX_LABEL_BYTES = 256 * 1024 * 1024 };

struct item {
    const struct event_schema *schema;
    size_t place; /* position in the caller's list */
};

/* A map of the current provider. */
struct label {
    const struct schema_map *map; /* key of by_pointer */
    struct span text;
};

struct writer {
    struct buf *out;
    const struct pack_texts *texts; /* NULL: none */
    bool has_texts;                 /* some were written */
    struct arena arena;             /* labels and their keys */
    struct map by_pointer;          /* -> struct label, like the other two */
    struct map by_content;
    struct map by_text;
    bool failed;
};

/* ---- texts and numbers ----------------------------------------------------------------------- */

static void add_escaped_bytes(struct buf *out, struct span bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        buf_printf(out, "\\x%02x", bytes.data[i]);
    }
}

/* True for line breaks and invisible characters. */
static bool is_odd(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

/* Write ` "text"` so that reading it returns every byte, even if it is not UTF-8. */
static void add_text(struct buf *out, struct span text)
{
    buf_add_text(out, " \"");
    for (size_t at = 0; at < text.size && !out->failed;) {
        size_t start = at;
        uint32_t c = utf8_next(text, &at);
        struct span bytes = span_make(text.data + start, at - start);
        if (c == '"' || c == '\\') {
            buf_add_byte(out, '\\');
            buf_add_byte(out, (uint8_t)c);
        } else if (c == '\n') {
            buf_add_text(out, "\\n");
        } else if (c == '\r') {
            buf_add_text(out, "\\r");
        } else if (c == '\t') {
            buf_add_text(out, "\\t");
        } else if (is_odd(c) || (c == 0xfffd && !span_is(bytes, "\xef\xbf\xbd"))) {
            add_escaped_bytes(out, bytes);
        } else {
            buf_add_span(out, bytes);
        }
    }
    buf_add_byte(out, '"');
}

static void add_guid(struct buf *out, const struct guid *guid)
{
    char text[GUID_TEXT_SIZE];
    guid_write(guid, text);
    buf_add_byte(out, ' ');
    buf_add(out, text, sizeof(text));
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void add_map_body(struct buf *out, const struct schema_map *map)
{
    bool bits = map->kind == MAP_BITS;
    buf_add_text(out, bits ? " bits\n" : " values\n");
    for (size_t i = 0; i < map->entry_count && !out->failed; i++) {
        uint64_t value = map->entries[i].value;
        if (bits) {
            buf_printf(out, "  entry 0x%" PRIx64, value);
        } else {
            buf_printf(out, "  entry %" PRIu64, value);
        }
        add_text(out, map->entries[i].text);
        buf_add_byte(out, '\n');
    }
}

static bool put_pointer(struct writer *w, struct label *label)
{
    return map_put(&w->by_pointer, span_make(&label->map, sizeof(struct schema_map *)), label);
}

/* Derive a text from ${base} that no map of the provider has yet. */
static bool choose_text(struct writer *w, struct span base, struct span *ret_text)
{
    struct buf text;
    buf_init(&text, base.size + 16);
    buf_add_span(&text, base);
    for (unsigned n = 2; !text.failed && map_get(&w->by_text, buf_span(&text)); n++) {
        text.size = base.size;
        buf_printf(&text, "_%u", n);
    }
    bool ok = !text.failed && arena_copy(&w->arena, buf_span(&text), ret_text);
    buf_fini(&text);
    return ok;
}

/* Label of a map at a new address; writes the map if its content is new, too. */
static struct label *make_label(struct writer *w, const struct schema_field *field)
{
    struct label *label = arena_alloc(&w->arena, sizeof(*label));
    struct buf body;
    struct span content;
    buf_init(&body, MAX_LABEL_BYTES);
    add_map_body(&body, field->map);
    bool ok = label && !body.failed && arena_copy(&w->arena, buf_span(&body), &content);
    buf_fini(&body);
    if (!ok) {
        return NULL;
    }
    label->map = field->map;
    const struct label *same = map_get(&w->by_content, content);
    if (same) {
        label->text = same->text;
        return put_pointer(w, label) ? label : NULL;
    }
    struct span name = field->map->name.size ? field->map->name : field->name;
    if (!choose_text(w, name, &label->text) || !put_pointer(w, label) ||
        !map_put(&w->by_content, content, label) || !map_put(&w->by_text, label->text, label)) {
        return NULL;
    }
    buf_add_text(w->out, "\nmap");
    add_text(w->out, label->text);
    buf_add_span(w->out, content);
    return label;
}

static const struct label *find_label(struct writer *w, const struct schema_map *map)
{
    return map_get(&w->by_pointer, span_make(&map, sizeof(map)));
}

static void add_maps(struct writer *w, const struct event_schema *schema)
{
    for (size_t i = 0; i < schema->field_count && !w->failed; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (field->map && !(field->flags & FIELD_STRUCT) && !find_label(w, field->map)) {
            w->failed = !make_label(w, field);
        }
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Index fields by name; a name that several fields have is marked as ambiguous. */
static bool index_names(const struct event_schema *schema, struct map *ret_names)
{
    map_init(ret_names, SCHEMA_MAX_FIELDS);
    for (size_t i = 0; i < schema->field_count; i++) {
        struct schema_field *field = &schema->fields[i];
        /* any address outside the table marks several fields */
        void *value = map_get(ret_names, field->name) ? (void *)ret_names : (void *)field;
        if (!map_put(ret_names, field->name, value)) {
            return false;
        }
    }
    return true;
}

static void add_reference(
    struct buf *out, const struct event_schema *schema, const struct map *names, size_t index)
{
    const struct schema_field *field = &schema->fields[index];
    if (index < schema->field_count && map_get(names, field->name) == field) {
        add_text(out, field->name);
    } else {
        buf_printf(out, " @%zu", index);
    }
}

static void add_type(struct writer *w, const struct schema_field *field)
{
    struct buf *out = w->out;
    buf_printf(out, " %s", type_names_in(field->in_type));
    if (field->out_type != OUT_NULL) {
        buf_add_text(out, " as ");
        if (type_names_knows_out(field->out_type)) {
            buf_add_text(out, type_names_out(field->out_type));
        } else {
            buf_printf(out, "%u", (unsigned)field->out_type);
        }
    }
    const struct label *label = field->map ? find_label(w, field->map) : NULL;
    if (label) {
        buf_add_text(out, " map");
        add_text(out, label->text);
    }
}

static void add_sizes(struct buf *out, const struct event_schema *schema, const struct map *names,
    const struct schema_field *field)
{
    if (field->flags & FIELD_PARAM_LENGTH) {
        buf_add_text(out, " length");
        add_reference(out, schema, names, field->length);
    } else if (field->length) {
        buf_printf(out, " length %u", (unsigned)field->length);
    }
    if (field->flags & FIELD_PARAM_COUNT) {
        buf_add_text(out, " count");
        add_reference(out, schema, names, field->count);
    } else if (field->count != 1) {
        buf_printf(out, " count %u", (unsigned)field->count);
    }
    for (const struct pack_word *flag = pack_words_flags; flag->word; flag++) {
        if (field->flags & flag->value) {
            buf_printf(out, " %s", flag->word);
        }
    }
}

static void add_fields(struct writer *w, const struct event_schema *schema)
{
    struct buf *out = w->out;
    struct map names;
    w->failed |= !index_names(schema, &names);
    for (size_t i = 0; i < schema->field_count && !w->failed && !out->failed; i++) {
        const struct schema_field *field = &schema->fields[i];
        buf_add_text(out, i < schema->top_count ? "  field" : "  member");
        add_text(out, field->name);
        if (field->flags & FIELD_STRUCT) {
            buf_add_text(out, " struct");
            add_reference(out, schema, &names, field->struct_start);
            buf_printf(out, " %u", (unsigned)field->struct_members);
        } else {
            add_type(w, field);
        }
        add_sizes(out, schema, &names, field);
        buf_add_byte(out, '\n');
    }
    map_fini(&names);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* True if this part of the descriptor is written, even if it is 0. */
static bool is_stated(const struct event_schema *schema, enum schema_unstated part)
{
    return schema->kind != SCHEMA_MOF && !(schema->unstated & (uint8_t)part);
}

static void add_named(
    struct buf *out, const char *word, bool stated, unsigned value, struct span name)
{
    if (stated || value || name.size) {
        buf_printf(out, "  %s %u", word, value);
        if (name.size) {
            add_text(out, name);
        }
        buf_add_byte(out, '\n');
    }
}

static void add_line(struct buf *out, const char *word, struct span text)
{
    if (text.size) {
        buf_printf(out, "  %s", word);
        add_text(out, text);
        buf_add_byte(out, '\n');
    }
}

static void add_event(struct writer *w, const struct event_schema *schema)
{
    struct buf *out = w->out;
    const struct event_descriptor *d = &schema->descriptor;
    buf_printf(out, "\nevent %s %u %u%s\n", pack_words_of(pack_words_kinds, (uint16_t)schema->kind),
        (unsigned)d->id, (unsigned)d->version, schema->has_layout ? "" : " no_layout");
    if (!guid_is_zero(&schema->class_guid)) {
        buf_add_text(out, "  class");
        add_guid(out, &schema->class_guid);
        buf_add_byte(out, '\n');
    }
    add_line(out, "name", schema->event_name);
    add_named(out, "opcode", is_stated(schema, SCHEMA_NO_OPCODE), d->opcode, schema->opcode_name);
    add_named(out, "task", is_stated(schema, SCHEMA_NO_TASK), d->task, schema->task_name);
    add_named(out, "level", is_stated(schema, SCHEMA_NO_LEVEL), d->level, schema->level_name);
    add_named(
        out, "channel", is_stated(schema, SCHEMA_NO_CHANNEL), d->channel, schema->channel_name);
    if (d->keyword || is_stated(schema, SCHEMA_NO_KEYWORDS)) {
        buf_printf(out, "  keywords 0x%" PRIx64 "\n", d->keyword);
    }
    for (size_t i = 0; i < schema->keyword_count; i++) {
        buf_printf(out, "  keyword 0x%" PRIx64, schema->keywords[i].mask);
        add_text(out, schema->keywords[i].name);
        buf_add_byte(out, '\n');
    }
    add_line(out, "message", schema->message);
    add_fields(w, schema);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_providers(const struct event_schema *a, const struct event_schema *b)
{
    int order = span_compare(a->provider_name, b->provider_name);
    return order ? order : guid_compare(&a->provider, &b->provider);
}

static int compare_events(const struct event_schema *a, const struct event_schema *b)
{
    int orders[] = {
        compare_providers(a, b),
        guid_compare(&a->class_guid, &b->class_guid),
        order_u64(a->descriptor.id, b->descriptor.id),
        order_u64(a->kind == SCHEMA_MOF ? a->descriptor.opcode : 0,
            b->kind == SCHEMA_MOF ? b->descriptor.opcode : 0),
        order_u64(a->descriptor.version, b->descriptor.version),
    };
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        if (orders[i]) {
            return orders[i];
        }
    }
    return 0;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    int order = compare_events(x->schema, y->schema);
    return order ? order : order_u64(x->place, y->place);
}

/* ---- packs ----------------------------------------------------------------------------------- */

static void clear_labels(struct writer *w)
{
    map_fini(&w->by_pointer);
    map_fini(&w->by_content);
    map_fini(&w->by_text);
    arena_fini(&w->arena);
}

static void add_parameters(struct writer *w, const struct event_schema *schema)
{
    const struct schema_parameters *texts = w->texts ? w->texts->find(w->texts->self, schema)
                                                     : NULL;
    if (!texts || texts->count == 0) {
        return;
    }
    w->has_texts = true;
    buf_printf(w->out, "parameters 0x%x\n", texts->language);
    for (size_t i = 0; i < texts->count && !w->out->failed; i++) {
        buf_printf(w->out, "  parameter %" PRIu32, texts->list[i].number);
        add_text(w->out, texts->list[i].text);
        buf_add_byte(w->out, '\n');
    }
}

/* Write one provider; all items must belong to it. */
static void add_provider(struct writer *w, const struct item *items, size_t count)
{
    const struct event_schema *first = items[0].schema;
    buf_add_text(w->out, "\nprovider");
    add_guid(w->out, &first->provider);
    add_text(w->out, first->provider_name);
    buf_add_byte(w->out, '\n');
    add_parameters(w, first);
    for (size_t i = 0; i < count && !w->failed; i++) {
        add_maps(w, items[i].schema);
    }
    size_t before = 0;
    size_t before_size = 0;
    for (size_t i = 0; i < count && !w->failed && !w->out->failed; i++) {
        size_t start = w->out->size;
        add_event(w, items[i].schema);
        size_t size = w->out->size - start;
        /* the same definition from two sources */
        if (size == before_size && memcmp(w->out->data + start, w->out->data + before, size) == 0) {
            w->out->size = start;
        } else {
            before = start;
            before_size = size;
        }
    }
    clear_labels(w);
}

bool pack_write(const struct event_schema *const *schemas, size_t count,
    const struct pack_texts *texts, struct buf *out)
{
    static const char head[] = "etwship-pack ";
    struct item *items = calloc(count + 1, sizeof(*items));
    if (!items) {
        return false;
    }
    size_t item_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (pack_words_of(pack_words_kinds, (uint16_t)schemas[i]->kind)) {
            items[item_count++] = (struct item){.schema = schemas[i], .place = i};
        }
    }
    qsort(items, item_count, sizeof(*items), compare_items);
    struct writer w = {.out = out, .texts = texts};
    arena_init(&w.arena, MAX_LABEL_BYTES);
    map_init(&w.by_pointer, MAX_LABELS);
    map_init(&w.by_content, MAX_LABELS);
    map_init(&w.by_text, MAX_LABELS);
    size_t version_at = out->size + sizeof(head) - 1;
    buf_printf(out, "%s2\n", head);
    for (size_t i = 0; i < item_count && !w.failed;) {
        size_t end = i + 1;
        while (end < item_count && compare_providers(items[i].schema, items[end].schema) == 0) {
            end++;
        }
        add_provider(&w, items + i, end - i);
        i = end;
    }
    free(items);
    if (w.has_texts && !out->failed) {
        out->data[version_at] = '0' + PACK_VERSION; /* earlier versions cannot be read with texts */
    }
    return !w.failed && !out->failed;
}
