#include <stdlib.h>

#include "base/grow.h"
#include "base/map.h"
#include "event/model/type_names.h"
#include "schema/pack/pack.h"
#include "schema/pack/pack_line.h"
#include "schema/pack/pack_words.h"
#include "schema/text/names.h"

/*
 * One pass over the lines. A line consists of words and quoted texts; its first word selects a row
 * of `lines`, which says where the line is allowed and which function reads the rest. The next
 * block or the end of the text finishes the open block (a map or an event). Field names are
 * resolved only then, because a struct names members that follow it.
 */
enum block { BLOCK_NONE, BLOCK_PROVIDER, BLOCK_PARAMETERS, BLOCK_MAP, BLOCK_EVENT };

enum { MAX_MAPS = 65536 };

/* A field with unresolved references: a name, or NULL data for a number. */
struct raw_field {
    struct schema_field field;
    struct span length_name;
    struct span count_name;
    struct span first_name; /* name of a struct's first member */
    size_t line;
};

struct pack_reader {
    struct pack_line in;
    struct pack *pack;

    enum block block;
    struct guid provider;
    struct span provider_name;
    struct map maps; /* of the provider: label -> struct schema_map */

    struct schema_map *map;
    struct schema_map_entry *entries; /* of the map, SCHEMA_MAX_MAP_ENTRIES */
    size_t entry_count;

    struct event_schema event;
    size_t event_line;
    struct schema_keyword *keywords; /* of the event, PACK_MAX_KEYWORDS */
    struct raw_field *fields;        /* of the event, SCHEMA_MAX_FIELDS */
};

static bool fail_at(struct pack_reader *r, size_t line, const char *what)
{
    return error_set(r->in.err, ERR_FORMAT, "%s:%zu: %s", r->in.file, line, what);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static bool read_map(struct pack_reader *r)
{
    struct span label;
    if (!pack_line_text(&r->in, &label)) {
        return false;
    }
    struct span kind = pack_line_word(&r->in);
    if (!span_is(kind, "values") && !span_is(kind, "bits")) {
        return pack_line_fail(&r->in, "a map must be of values or of bits");
    }
    if (map_get(&r->maps, label)) {
        return pack_line_fail(&r->in, "this provider already has a different map of that name");
    }
    r->map = arena_alloc(&r->pack->arena, sizeof(*r->map));
    if (!r->map || !map_put(&r->maps, label, r->map)) {
        return pack_line_fail_memory(&r->in);
    }
    r->map->kind = span_is(kind, "bits") ? MAP_BITS : MAP_VALUE;
    r->map->name = label;
    r->entry_count = 0;
    return true;
}

static bool read_entry(struct pack_reader *r)
{
    if (r->entry_count == SCHEMA_MAX_MAP_ENTRIES) {
        return pack_line_fail(&r->in, "too many entries");
    }
    struct schema_map_entry *entry = &r->entries[r->entry_count++];
    return pack_line_number(&r->in, UINT64_MAX, &entry->value) &&
           pack_line_text(&r->in, &entry->text);
}

static bool finish_map(struct pack_reader *r)
{
    struct schema_map_entry *entries = arena_alloc_array(
        &r->pack->arena, r->entry_count, sizeof(*entries));
    if (!entries) {
        return pack_line_fail_memory(&r->in);
    }
    if (r->entry_count) {
        memcpy(entries, r->entries, r->entry_count * sizeof(*entries));
    }
    if (r->map->kind == MAP_VALUE) {
        schema_map_sort(entries, r->entry_count);
    }
    r->map->entries = entries;
    r->map->entry_count = r->entry_count;
    return true;
}

/* ---- texts of parameters --------------------------------------------------------------------- */

static bool read_parameters(struct pack_reader *r)
{
    return pack_parameters_begin(&r->pack->parameters, &r->in, &r->provider, r->provider_name);
}

static bool read_parameter(struct pack_reader *r)
{
    return pack_parameters_add(&r->pack->parameters, &r->in);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool read_types(struct pack_reader *r, struct schema_field *field, struct span in_type)
{
    if (!type_names_find_in(in_type, &field->in_type) ||
        !span_is(in_type, type_names_in(field->in_type))) {
        return pack_line_fail_word(&r->in, "unknown type", in_type);
    }
    return true;
}

static bool read_out_type(struct pack_reader *r, struct schema_field *field)
{
    struct span word = pack_line_word(&r->in);
    uint64_t number;
    if (type_names_find_out(word, &field->out_type) &&
        span_is(word, type_names_out(field->out_type))) {
        return true;
    }
    if (!names_number(word, UINT16_MAX, &number)) {
        return pack_line_fail_word(&r->in, "unknown out type", word);
    }
    field->out_type = (uint16_t)number;
    return true;
}

static bool read_struct(struct pack_reader *r, struct raw_field *raw)
{
    uint64_t members;
    raw->field.flags |= FIELD_STRUCT;
    if (!pack_line_reference(&r->in, &raw->field.struct_start, &raw->first_name) ||
        !pack_line_number(&r->in, SCHEMA_MAX_FIELDS, &members)) {
        return false;
    }
    raw->field.struct_members = (uint16_t)members;
    return true;
}

static bool read_field_map(struct pack_reader *r, struct schema_field *field)
{
    struct span label;
    if (!pack_line_text(&r->in, &label)) {
        return false;
    }
    field->map = map_get(&r->maps, label);
    return field->map ||
           pack_line_fail(&r->in, "this provider has no map of that name before this line");
}

/* Read `length` or `count`: a number, or the field that holds it. */
static bool read_size(struct pack_reader *r, struct schema_field *field, uint16_t flag,
    uint16_t *size, struct span *name)
{
    if (pack_line_at_reference(&r->in)) {
        field->flags |= flag;
        return pack_line_reference(&r->in, size, name);
    }
    uint64_t number;
    if (!pack_line_number(&r->in, UINT16_MAX, &number)) {
        return false;
    }
    *size = (uint16_t)number;
    return true;
}

static bool read_attribute(struct pack_reader *r, struct raw_field *raw)
{
    struct schema_field *field = &raw->field;
    struct span word = pack_line_word(&r->in);
    uint16_t flag;
    if (span_is(word, "length")) {
        return read_size(r, field, FIELD_PARAM_LENGTH, &field->length, &raw->length_name);
    }
    if (span_is(word, "count")) {
        return read_size(r, field, FIELD_PARAM_COUNT, &field->count, &raw->count_name);
    }
    if (span_is(word, "as")) {
        return read_out_type(r, field);
    }
    if (span_is(word, "map")) {
        return read_field_map(r, field);
    }
    if (!pack_words_find(pack_words_flags, word, &flag)) {
        return pack_line_fail_word(&r->in, "a field does not have the attribute", word);
    }
    field->flags |= flag;
    return true;
}

static bool read_any_field(struct pack_reader *r, bool is_member)
{
    struct event_schema *event = &r->event;
    if (event->field_count == SCHEMA_MAX_FIELDS) {
        return pack_line_fail(&r->in, "too many fields");
    }
    if (!is_member && event->top_count != event->field_count) {
        return pack_line_fail(&r->in, "members must follow all fields");
    }
    struct raw_field *raw = &r->fields[event->field_count];
    *raw = (struct raw_field){.line = r->in.number};
    raw->field.count = 1;
    if (!pack_line_text(&r->in, &raw->field.name)) {
        return false;
    }
    struct span type = pack_line_word(&r->in);
    if (!(span_is(type, "struct") ? read_struct(r, raw) : read_types(r, &raw->field, type))) {
        return false;
    }
    while (!pack_line_at_end(&r->in)) {
        if (!read_attribute(r, raw)) {
            return false;
        }
    }
    event->field_count++;
    event->top_count = (uint16_t)(event->top_count + !is_member);
    return true;
}

static bool read_field(struct pack_reader *r)
{
    return read_any_field(r, false);
}

static bool read_member(struct pack_reader *r)
{
    return read_any_field(r, true);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool read_provider(struct pack_reader *r)
{
    map_fini(&r->maps);
    return pack_line_guid(&r->in, &r->provider) && pack_line_text(&r->in, &r->provider_name);
}

static bool read_event(struct pack_reader *r)
{
    struct event_schema *event = &r->event;
    uint16_t kind;
    uint64_t id;
    uint64_t version;
    *event = (struct event_schema){.source = "pack", .has_layout = true};
    event->provider = r->provider;
    event->provider_name = r->provider_name;
    r->event_line = r->in.number;
    if (!pack_words_find(pack_words_kinds, pack_line_word(&r->in), &kind)) {
        return pack_line_fail(&r->in, "the kind of an event must be manifest, eventsource or mof");
    }
    if (!pack_line_number(&r->in, UINT16_MAX, &id) ||
        !pack_line_number(&r->in, UINT8_MAX, &version)) {
        return false;
    }
    event->kind = (enum schema_kind)kind;
    event->unstated = event->kind == SCHEMA_MOF ? 0 : SCHEMA_ALL_UNSTATED;
    event->descriptor.id = (uint16_t)id;
    event->descriptor.version = (uint8_t)version;
    if (pack_line_at_end(&r->in)) {
        return true;
    }
    event->has_layout = false;
    return span_is(pack_line_word(&r->in), "no_layout") ||
           pack_line_fail(&r->in, "only no_layout may follow the version");
}

static bool read_class(struct pack_reader *r)
{
    return pack_line_guid(&r->in, &r->event.class_guid);
}

static bool read_name(struct pack_reader *r)
{
    return pack_line_text(&r->in, &r->event.event_name);
}

static bool read_message(struct pack_reader *r)
{
    return pack_line_text(&r->in, &r->event.message);
}

/* Read ${part} of the descriptor: a number and an optional name. */
static bool read_named(struct pack_reader *r, enum schema_unstated part, uint64_t max,
    uint64_t *ret_value, struct span *ret_name)
{
    r->event.unstated &= (uint8_t)~part;
    return pack_line_number(&r->in, max, ret_value) &&
           (pack_line_at_end(&r->in) || pack_line_text(&r->in, ret_name));
}

static bool read_byte(
    struct pack_reader *r, enum schema_unstated part, uint8_t *ret_value, struct span *ret_name)
{
    uint64_t value = 0;
    bool ok = read_named(r, part, UINT8_MAX, &value, ret_name);
    *ret_value = (uint8_t)value;
    return ok;
}

static bool read_opcode(struct pack_reader *r)
{
    struct event_schema *event = &r->event;
    return read_byte(r, SCHEMA_NO_OPCODE, &event->descriptor.opcode, &event->opcode_name);
}

static bool read_task(struct pack_reader *r)
{
    uint64_t value = 0;
    bool ok = read_named(r, SCHEMA_NO_TASK, UINT16_MAX, &value, &r->event.task_name);
    r->event.descriptor.task = (uint16_t)value;
    return ok;
}

static bool read_level(struct pack_reader *r)
{
    return read_byte(r, SCHEMA_NO_LEVEL, &r->event.descriptor.level, &r->event.level_name);
}

static bool read_channel(struct pack_reader *r)
{
    struct event_schema *event = &r->event;
    return read_byte(r, SCHEMA_NO_CHANNEL, &event->descriptor.channel, &event->channel_name);
}

static bool read_keywords(struct pack_reader *r)
{
    r->event.unstated &= (uint8_t)~SCHEMA_NO_KEYWORDS;
    return pack_line_number(&r->in, UINT64_MAX, &r->event.descriptor.keyword);
}

static bool read_keyword(struct pack_reader *r)
{
    if (r->event.keyword_count == PACK_MAX_KEYWORDS) {
        return pack_line_fail(&r->in, "too many keywords");
    }
    struct schema_keyword *keyword = &r->keywords[r->event.keyword_count++];
    return pack_line_number(&r->in, UINT64_MAX, &keyword->mask) &&
           pack_line_text(&r->in, &keyword->name);
}

/* ---- the end of an event --------------------------------------------------------------------- */

static bool resolve(struct pack_reader *r, const struct map *names, const struct raw_field *raw,
    struct span name, uint16_t *index)
{
    if (!name.data) {
        return true;
    }
    const struct raw_field *target = map_get(names, name);
    if (!target) {
        return fail_at(r, raw->line, "it refers to a field that the event does not have");
    }
    if (target < r->fields || target >= r->fields + r->event.field_count) {
        return fail_at(r, raw->line, "it refers to a name that several fields have; use @number");
    }
    *index = (uint16_t)(target - r->fields);
    return true;
}

static bool resolve_all(struct pack_reader *r, struct map *names)
{
    for (size_t i = 0; i < r->event.field_count; i++) {
        struct raw_field *raw = &r->fields[i];
        /* an address outside of the fields marks a name of several fields */
        void *value = map_get(names, raw->field.name) ? (void *)names : (void *)raw;
        if (!map_put(names, raw->field.name, value)) {
            return pack_line_fail_memory(&r->in);
        }
    }
    for (size_t i = 0; i < r->event.field_count; i++) {
        struct raw_field *raw = &r->fields[i];
        if (!resolve(r, names, raw, raw->length_name, &raw->field.length) ||
            !resolve(r, names, raw, raw->count_name, &raw->field.count) ||
            !resolve(r, names, raw, raw->first_name, &raw->field.struct_start)) {
            return false;
        }
    }
    return true;
}

static bool resolve_references(struct pack_reader *r)
{
    bool any = false;
    for (size_t i = 0; i < r->event.field_count; i++) {
        const struct raw_field *raw = &r->fields[i];
        any |= raw->length_name.data || raw->count_name.data || raw->first_name.data;
    }
    if (!any) {
        return true;
    }
    struct map names;
    map_init(&names, SCHEMA_MAX_FIELDS);
    bool ok = resolve_all(r, &names);
    map_fini(&names);
    return ok;
}

static bool add_event(struct pack *pack, struct event_schema *event)
{
    bool has_room = grow_list(
        &pack->events, pack->event_count, &pack->event_capacity, sizeof(*pack->events));
    if (has_room) {
        pack->events[pack->event_count++] = event;
    }
    return has_room;
}

static bool finish_event(struct pack_reader *r)
{
    if (!resolve_references(r)) {
        return false;
    }
    struct arena *arena = &r->pack->arena;
    size_t field_count = r->event.field_count;
    size_t keyword_count = r->event.keyword_count;
    struct event_schema *event = arena_alloc(arena, sizeof(*event));
    struct schema_field *fields = arena_alloc_array(arena, field_count, sizeof(*fields));
    struct schema_keyword *keywords = arena_alloc_array(arena, keyword_count, sizeof(*keywords));
    if (!event || !fields || !keywords) {
        return pack_line_fail_memory(&r->in);
    }
    *event = r->event;
    event->fields = fields;
    event->keywords = keywords;
    for (size_t i = 0; i < field_count; i++) {
        fields[i] = r->fields[i].field;
    }
    if (keyword_count) {
        memcpy(keywords, r->keywords, keyword_count * sizeof(*keywords));
    }
    struct error why = {0};
    if (!schema_finish(event, arena, &why)) {
        return error_set(
            r->in.err, why.code, "%s:%zu: %.400s", r->in.file, r->event_line, why.text);
    }
    return add_event(r->pack, event) || pack_line_fail_memory(&r->in);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct line_row {
    const char *word;
    enum block inside; /* BLOCK_PROVIDER: anywhere after the first provider */
    enum block opens;  /* or BLOCK_NONE */
    bool (*read)(struct pack_reader *r);
} lines[] = {
    {"provider", BLOCK_NONE, BLOCK_PROVIDER, read_provider},
    {"parameters", BLOCK_PROVIDER, BLOCK_PARAMETERS, read_parameters},
    {"parameter", BLOCK_PARAMETERS, BLOCK_NONE, read_parameter},
    {"map", BLOCK_PROVIDER, BLOCK_MAP, read_map},
    {"entry", BLOCK_MAP, BLOCK_NONE, read_entry},
    {"event", BLOCK_PROVIDER, BLOCK_EVENT, read_event},
    {"class", BLOCK_EVENT, BLOCK_NONE, read_class},
    {"name", BLOCK_EVENT, BLOCK_NONE, read_name},
    {"opcode", BLOCK_EVENT, BLOCK_NONE, read_opcode},
    {"task", BLOCK_EVENT, BLOCK_NONE, read_task},
    {"level", BLOCK_EVENT, BLOCK_NONE, read_level},
    {"channel", BLOCK_EVENT, BLOCK_NONE, read_channel},
    {"keywords", BLOCK_EVENT, BLOCK_NONE, read_keywords},
    {"keyword", BLOCK_EVENT, BLOCK_NONE, read_keyword},
    {"message", BLOCK_EVENT, BLOCK_NONE, read_message},
    {"field", BLOCK_EVENT, BLOCK_NONE, read_field},
    {"member", BLOCK_EVENT, BLOCK_NONE, read_member},
};

static bool finish_block(struct pack_reader *r)
{
    enum block block = r->block;
    r->block = block == BLOCK_NONE ? BLOCK_NONE : BLOCK_PROVIDER;
    return block == BLOCK_PARAMETERS ? pack_parameters_end(&r->pack->parameters, &r->in)
           : block == BLOCK_MAP      ? finish_map(r)
           : block == BLOCK_EVENT    ? finish_event(r)
                                     : true;
}

static bool may_stand_here(const struct pack_reader *r, const struct line_row *row)
{
    switch (row->inside) {
    case BLOCK_NONE:
        return true;
    case BLOCK_PROVIDER:
        return r->block != BLOCK_NONE;
    default:
        return r->block == row->inside;
    }
}

static bool read_line(struct pack_reader *r)
{
    struct span word = pack_line_word(&r->in);
    const struct line_row *row = NULL;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && !row; i++) {
        row = span_is(word, lines[i].word) ? &lines[i] : NULL;
    }
    if (!row) {
        return pack_line_fail_word(&r->in, "unknown keyword", word);
    }
    if (!may_stand_here(r, row)) {
        return pack_line_fail_word(&r->in, "not allowed here:", word);
    }
    if (row->opens != BLOCK_NONE && !finish_block(r)) {
        return false;
    }
    if (!row->read(r)) {
        return false;
    }
    r->block = row->opens != BLOCK_NONE ? row->opens : r->block;
    return pack_line_at_end(&r->in) ||
           pack_line_fail(&r->in, "unexpected text at the end of the line");
}

static bool read_head(struct pack_reader *r)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark, which some editors write */
    if (r->in.rest.size >= 3 && memcmp(r->in.rest.data, mark, 3) == 0) {
        r->in.rest = span_from(r->in.rest, 3);
    }
    uint64_t version;
    if (!pack_line_next(&r->in)) {
        r->in.number = 1;
    }
    if (!span_is(pack_line_word(&r->in), "etwship-pack")) {
        return pack_line_fail(
            &r->in, "not a schema pack: it does not begin with etwship-pack and a version");
    }
    if (!names_number(pack_line_word(&r->in), PACK_VERSION, &version) || version == 0 ||
        !pack_line_at_end(&r->in)) {
        return pack_line_fail(
            &r->in, "its version is not 1, 2 or 3; use the etwship that wrote it");
    }
    return true;
}

static bool read_all(struct pack_reader *r)
{
    if (!read_head(r)) {
        return false;
    }
    while (pack_line_next(&r->in)) {
        if (!pack_line_at_end(&r->in) && !read_line(r)) {
            return false;
        }
    }
    return finish_block(r);
}

struct pack *pack_read(
    struct span text, const char *file, struct arena_budget *budget, struct error *err)
{
    struct pack_reader r = {.in = {.file = file, .err = err, .rest = text}};
    if (text.size > PACK_MAX_BYTES) {
        error_set(err, ERR_LIMIT, "%s:1: larger than %d bytes", file, PACK_MAX_BYTES);
        return NULL;
    }
    r.pack = calloc(1, sizeof(*r.pack));
    r.entries = calloc(SCHEMA_MAX_MAP_ENTRIES, sizeof(*r.entries));
    r.keywords = calloc(PACK_MAX_KEYWORDS, sizeof(*r.keywords));
    r.fields = calloc(SCHEMA_MAX_FIELDS, sizeof(*r.fields));
    map_init_in(&r.maps, MAX_MAPS, budget);
    bool ok = false;
    if (!r.pack || !r.entries || !r.keywords || !r.fields) {
        pack_line_fail_memory(&r.in);
    } else {
        arena_init_in(&r.pack->arena, PACK_MAX_MEMORY, budget);
        r.in.arena = &r.pack->arena;
        ok = read_all(&r);
    }
    map_fini(&r.maps);
    free(r.entries);
    free(r.keywords);
    free(r.fields);
    if (!ok) {
        pack_destroy(r.pack);
        return NULL;
    }
    return r.pack;
}
