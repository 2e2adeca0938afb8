#include "schema/wpp/wpp_names.h"

#include "schema/text/names.h"

enum { MAX_BITS = 32 };

static struct span take_until(struct span *rest, uint8_t end)
{
    const uint8_t *found = rest->size ? memchr(rest->data, end, rest->size) : NULL;
    struct span part = found ? span_first(*rest, (size_t)(found - rest->data)) : *rest;
    *rest = span_from(*rest, part.size + 1);
    return span_trim(part);
}

static size_t count_parts(struct span text, uint8_t end, size_t most)
{
    size_t count = text.size ? 1 : 0;
    for (size_t i = 0; i < text.size; i++) {
        count += text.data[i] == end;
    }
    return count > most ? most : count;
}

/* `Low,APC,DPC`: names of values from 0, or of bits from the lowest. */
static size_t read_list(
    struct span rest, bool is_set, struct schema_map_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct schema_map_entry){
            .value = is_set ? UINT64_C(1) << i : i, .text = take_until(&rest, ',')};
    }
    return count;
}

/* Parse `StateIdle,0x0`; false if the line has another form. */
static bool read_value(struct span line, struct schema_map_entry *ret_entry)
{
    size_t comma = line.size;
    uint64_t value;
    while (comma && line.data[comma - 1] != ',') {
        comma--;
    }
    if (comma < 2 || !names_number(span_trim(span_from(line, comma)), UINT32_MAX, &value)) {
        return false;
    }
    *ret_entry = (struct schema_map_entry){
        .value = value, .text = span_trim(span_first(line, comma - 1))};
    return ret_entry->text.size > 0;
}

static size_t read_values(struct span rest, struct schema_map_entry *entries, size_t count)
{
    size_t known = 0;
    while (rest.size && known < count) {
        known += read_value(take_until(&rest, '\n'), &entries[known]);
    }
    return known;
}

bool wpp_names_make(
    const struct tmf_argument *argument, struct arena *arena, const struct schema_map **ret_map)
{
    uint8_t style = argument->item->style;
    bool is_list = style == WPP_STYLE_LIST || style == WPP_STYLE_SET;
    bool is_bits = style == WPP_STYLE_SET || style == WPP_STYLE_FLAGS;
    *ret_map = NULL;
    if (!is_list && style != WPP_STYLE_ENUM && style != WPP_STYLE_FLAGS) {
        return true;
    }
    size_t most = style == WPP_STYLE_SET ? MAX_BITS : TMF_MAX_NAMES;
    size_t count = is_list ? count_parts(argument->names, ',', most)
                           : count_parts(argument->values, '\n', most);
    struct schema_map *map = arena_alloc(arena, sizeof(*map));
    struct schema_map_entry *entries = arena_alloc_array(arena, count, sizeof(*entries));
    if (!map || !entries) {
        return false;
    }
    count = is_list ? read_list(argument->names, is_bits, entries, count)
                    : read_values(argument->values, entries, count);
    if (!is_bits) {
        schema_map_sort(entries, count);
    }
    *map = (struct schema_map){
        .kind = is_bits ? MAP_BITS : MAP_VALUE, .entries = entries, .entry_count = count};
    *ret_map = is_list || count ? map : NULL;
    return true;
}
