#include <stdio.h>

#include "event/model/type_names.h"
#include "schema/source/corrections_own.h"
#include "schema/text/names.h"

/* Parser of one row. A cell `-` is empty. */
enum { COLUMNS = 12, MAX_RANGES = 1024, MAX_CELL_BYTES = 8192 };

enum column {
    PROVIDER,
    PROVIDER_GUID,
    EVENTS,
    VERSIONS,
    FIELD,
    WAS,
    IN_TYPE,
    OUT_TYPE,
    LENGTH,
    COUNT,
    BEFORE,
    KNOWN_FROM,
};

static const char *const columns[COLUMNS] = {"provider", "guid", "events", "versions", "field",
    "was", "in", "out", "length", "count", "before", "known_from"};

static size_t split(struct span line, struct span cells[COLUMNS])
{
    size_t count = 0;
    while (true) {
        const uint8_t *tab = line.size ? memchr(line.data, '\t', line.size) : NULL;
        struct span cell = tab ? span_first(line, (size_t)(tab - line.data)) : line;
        if (count < COLUMNS) {
            cells[count] = span_trim(cell);
        }
        count++;
        if (!tab) {
            return count;
        }
        line = span_from(line, cell.size + 1);
    }
}

bool corrections_is_header(struct span line)
{
    struct span cells[COLUMNS];
    if (split(line, cells) != COLUMNS) {
        return false;
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!span_is(cells[i], columns[i])) {
            return false;
        }
    }
    return true;
}

static bool fail(
    struct error *err, const char *where, enum column column, struct span cell, const char *what)
{
    return error_set(err, ERR_FORMAT, "%s: %s \"%.*s\": %s", where, columns[column],
        SPAN_ARG(span_first(cell, 64)), what);
}

static bool fail_memory(struct error *err)
{
    return error_set(err, ERR_MEMORY, "no memory left for corrections of layouts");
}

static bool says_nothing(struct span cell)
{
    return span_is(cell, "-");
}

/* `7`, `7-9`, `7-` */
static bool parse_range(struct span text, uint16_t max, struct correction_range *ret_range)
{
    const uint8_t *dash = text.size ? memchr(text.data, '-', text.size) : NULL;
    size_t size = dash ? (size_t)(dash - text.data) : text.size;
    struct span last = span_from(text, size + 1);
    uint64_t from;
    uint64_t to = max;
    if (!names_number(span_trim(span_first(text, size)), max, &from) ||
        (dash && last.size && !names_number(span_trim(last), max, &to))) {
        return false;
    }
    *ret_range = (struct correction_range){
        .first = (uint16_t)from, .last = dash ? (uint16_t)to : (uint16_t)from};
    return ret_range->first <= ret_range->last;
}

static bool parse_events(struct span cell, struct arena *arena, const char *where,
    struct correction *row, struct error *err)
{
    size_t count = 1;
    for (size_t i = 0; i < cell.size; i++) {
        count += cell.data[i] == ',';
    }
    if (count > MAX_RANGES) {
        return fail(err, where, EVENTS, cell, "too many ids");
    }
    struct correction_range *ranges = arena_alloc_array(arena, count, sizeof(*ranges));
    if (!ranges) {
        return fail_memory(err);
    }
    row->events = ranges;
    row->event_count = count;
    if (span_is(cell, "*")) {
        ranges[0] = (struct correction_range){.last = UINT16_MAX};
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const uint8_t *comma = memchr(cell.data, ',', cell.size);
        size_t size = comma ? (size_t)(comma - cell.data) : cell.size;
        if (!parse_range(span_trim(span_first(cell, size)), UINT16_MAX, &ranges[i])) {
            return fail(err, where, EVENTS, cell,
                "must be * or ids such as 7, 7-9 or 7-, separated by commas");
        }
        cell = span_from(cell, size + 1);
    }
    return true;
}

static bool parse_versions(
    struct span cell, const char *where, struct correction_range *ret_range, struct error *err)
{
    *ret_range = (struct correction_range){.last = UINT8_MAX};
    return span_is(cell, "*") || parse_range(cell, UINT8_MAX, ret_range) ||
           fail(err, where, VERSIONS, cell, "must be * or one range such as 0, 0-2 or 2-");
}

static bool parse_provider(
    const struct span *cells, const char *where, struct correction *row, struct error *err)
{
    struct span guid = cells[PROVIDER_GUID];
    row->any_provider = span_is(cells[PROVIDER], "*") && says_nothing(guid);
    row->has_guid = !says_nothing(guid);
    return !row->has_guid || guid_parse(guid, &row->guid) ||
           fail(err, where, PROVIDER_GUID, guid,
               "must be a GUID, or - to match the provider by name");
}

static bool parse_types(
    const struct span *cells, const char *where, struct correction *row, struct error *err)
{
    row->has_was = !says_nothing(cells[WAS]);
    row->has_in = !says_nothing(cells[IN_TYPE]);
    row->has_out = !says_nothing(cells[OUT_TYPE]);
    if (row->has_was && !type_names_find_in(cells[WAS], &row->was)) {
        return fail(err, where, WAS, cells[WAS], "not an in type of manifests");
    }
    if (row->has_in && !type_names_find_in(cells[IN_TYPE], &row->in)) {
        return fail(err, where, IN_TYPE, cells[IN_TYPE], "not an in type of manifests");
    }
    if (row->has_out && !type_names_find_out(cells[OUT_TYPE], &row->out)) {
        return fail(err, where, OUT_TYPE, cells[OUT_TYPE], "not an out type of manifests");
    }
    bool says = row->has_was || row->has_in || row->has_out || row->length.size ||
                row->count.size || row->before.size;
    if (row->any_field && says) {
        return fail(err, where, FIELD, cells[FIELD], "must be - in a row for all fields");
    }
    if ((row->has_was || row->before.size) && !row->has_in) {
        return fail(err, where, IN_TYPE, cells[IN_TYPE], "the corrected type is missing");
    }
    return true;
}

/* schema_finish replaces these characters in names, so rows must name fields alike. */
static void replace_dots(struct span name)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)name.data;
    for (size_t i = 0; i < name.size; i++) {
        bytes[i] = bytes[i] == '.' ? '_' : bytes[i];
    }
}

static bool copy_texts(const struct span *cells, struct arena *arena, struct correction *row)
{
    const struct {
        enum column column;
        struct span *to;
    } texts[] = {{PROVIDER, &row->provider}, {FIELD, &row->field}, {LENGTH, &row->length},
        {COUNT, &row->count}, {BEFORE, &row->before}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct span cell = cells[texts[i].column];
        if (!says_nothing(cell) && !arena_copy(arena, cell, texts[i].to)) {
            return false;
        }
        if (texts[i].column != PROVIDER) {
            replace_dots(*texts[i].to);
        }
    }
    return true;
}

bool corrections_row(struct span line, struct arena *arena, const char *where,
    struct correction *ret_row, struct error *err)
{
    struct span cells[COLUMNS];
    *ret_row = (struct correction){.any_field = false};
    if (split(line, cells) != COLUMNS) {
        return error_set(err, ERR_FORMAT,
            "%s: a row needs %d cells separated by tabs; write - for an "
            "empty cell",
            where, COLUMNS);
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        if (cells[i].size == 0 || cells[i].size > MAX_CELL_BYTES) {
            return fail(err, where, (enum column)i, cells[i],
                "is empty or too long; write - for an empty cell");
        }
    }
    if (!copy_texts(cells, arena, ret_row)) {
        return fail_memory(err);
    }
    ret_row->any_field = span_is(cells[FIELD], "*");
    return parse_provider(cells, where, ret_row, err) &&
           parse_events(cells[EVENTS], arena, where, ret_row, err) &&
           parse_versions(cells[VERSIONS], where, &ret_row->versions, err) &&
           parse_types(cells, where, ret_row, err);
}
