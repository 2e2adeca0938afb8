#include "schema/binary/parameter_files.h"

#include <stdlib.h>

#include "base/map.h"

static const struct {
    const char *provider;
    const char *file;
} known[] = {
#define PARAMETER_FILE(provider, file) {provider, file},
#include "schema/binary/parameter_files.def"
#undef PARAMETER_FILE
};

enum {
    KNOWN_COUNT = sizeof(known) / sizeof(known[0]),
    MAX_BYTES = 64 * 1024 * 1024,
    MAX_PROVIDERS = 65536,
};

struct parameter_files {
    struct arena arena;
    const struct schema_parameters *of_known[KNOWN_COUNT];
    struct map own; /* GUID -> struct schema_parameters */
};

struct parameter_files *parameter_files_create(struct arena_budget *budget)
{
    struct parameter_files *files = calloc(1, sizeof(*files));
    if (files) {
        arena_init_in(&files->arena, MAX_BYTES, budget);
        map_init_in(&files->own, MAX_PROVIDERS, budget);
    }
    return files;
}

void parameter_files_destroy(struct parameter_files *files)
{
    if (files) {
        map_fini(&files->own);
        arena_fini(&files->arena);
        free(files);
    }
}

static bool is_called(struct span path, const char *name)
{
    size_t size = strlen(name);
    bool has_folder = path.size > size && path.data[path.size - size - 1] != '/' &&
                      path.data[path.size - size - 1] != '\\';
    return span_ends_nocase(path, name) && !has_folder;
}

bool parameter_files_is_one(struct span path)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (is_called(path, known[i].file)) {
            return true;
        }
    }
    return false;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Replace the escapes in ${text} as FormatMessage does, in place. Inserts stay. */
static size_t unescape(uint8_t *text, size_t size)
{
    size_t to = 0;
    for (size_t at = 0; at < size; at++) {
        uint8_t next = at + 1 < size ? text[at + 1] : 0;
        if (text[at] == '\r' && next == '\n') {
            continue;
        }
        if (text[at] != '%' || next == 0 || (next >= '1' && next <= '9')) {
            text[to++] = text[at];
            continue;
        }
        at++;
        if (next == '0') {
            break;
        }
        if (next != 'r') {
            text[to++] = next == 'n' ? '\n' : next == 't' ? '\t' : next == 'b' ? ' ' : next;
        }
    }
    while (to && span_is_blank(text[to - 1])) {
        to--;
    }
    return to;
}

struct reading {
    struct schema_parameter *list;
    size_t count;
    struct arena *arena;
};

static bool read_text(struct reading *reading, const struct message_table *table, uint32_t number)
{
    struct span text;
    if (!message_table_text(table, number, reading->arena, &text)) {
        return false;
    }
    uint8_t *bytes = (uint8_t *)(uintptr_t)text.data;
    text.size = text.size ? unescape(bytes, text.size) : 0;
    if (text.size) {
        reading->list[reading->count++] = (struct schema_parameter){number, text};
    }
    return true;
}

/* True if an earlier table has ${number}; earlier tables take precedence. */
static bool has_number(const struct reading *reading, size_t count, uint32_t number)
{
    const struct schema_parameters before = {.list = reading->list, .count = count};
    return schema_parameters_find(&before, number).data != NULL;
}

static bool read_table(struct reading *reading, const struct message_table *table, uint32_t last)
{
    size_t before = reading->count;
    for (size_t i = 0; i < table->count && table->entries[i].id <= last; i++) {
        uint32_t number = table->entries[i].id;
        bool is_second = i && table->entries[i - 1].id == number;
        if (!is_second && !has_number(reading, before, number) &&
            !read_text(reading, table, number)) {
            return false;
        }
    }
    if (before && reading->count > before) {
        schema_parameters_sort(reading->list, reading->count);
    }
    return true;
}

/* False: out of memory. *ret_parameters is NULL if there are no texts. */
static bool read_all(struct parameter_files *files, uint16_t language, uint32_t last,
    const struct message_table *tables, size_t count,
    const struct schema_parameters **ret_parameters)
{
    size_t most = 0;
    *ret_parameters = NULL;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < tables[i].count && tables[i].entries[k].id <= last; k++) {
            most++;
        }
    }
    if (most == 0) {
        return true;
    }
    struct schema_parameters *parameters = arena_alloc(&files->arena, sizeof(*parameters));
    struct reading reading = {.arena = &files->arena,
        .list = arena_alloc_array(&files->arena, most, sizeof(*reading.list))};
    if (!parameters || !reading.list) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!read_table(&reading, &tables[i], last)) {
            return false;
        }
    }
    *parameters = (struct schema_parameters){
        .list = reading.list, .count = reading.count, .language = language};
    *ret_parameters = reading.count ? parameters : NULL;
    return true;
}

bool parameter_files_add(struct parameter_files *files, struct span path, uint16_t language,
    const struct message_table *tables, size_t count)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (!files->of_known[i] && is_called(path, known[i].file) &&
            !read_all(files, language, UINT32_MAX, tables, count, &files->of_known[i])) {
            return false;
        }
    }
    return true;
}

bool parameter_files_add_own(struct parameter_files *files, const struct guid *provider,
    uint16_t language, const struct message_table *tables, size_t count)
{
    const struct schema_parameters *parameters;
    struct span key;
    struct span guid = span_make(provider->bytes, sizeof(provider->bytes));
    if (map_get(&files->own, guid)) {
        return true;
    }
    return read_all(files, language, UINT16_MAX, tables, count, &parameters) &&
           (!parameters || (arena_copy(&files->arena, guid, &key) &&
                               map_put(&files->own, key, (void *)(uintptr_t)parameters)));
}

const struct schema_parameters *parameter_files_find(
    const struct parameter_files *files, const struct guid *provider, struct span name)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (span_is(name, known[i].provider)) {
            return files->of_known[i];
        }
    }
    return map_get(&files->own, span_make(provider->bytes, sizeof(provider->bytes)));
}
