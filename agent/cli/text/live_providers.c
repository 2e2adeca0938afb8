#include "cli/text/live_providers.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/span_compare.h"
#include "base/visible.h"
#include "cli/text/schema_list.h"
#include "etw/enable/etw_registrations.h"
#include "etw/etw_api.h"
#include "etw/etw_names.h"
#include "event/value/value_json.h"
#include "schema/source/known_providers.h"
#include "schema/windows/tdh_registry.h"

/*
 * Merges two lists: installed providers from TDH, running or not, and the GUIDs that processes have
 * registered from ETW, which include TraceLogging providers.
 */
enum { MAX_PROVIDERS = 1 << 17 };

bool live_providers_are_known(void)
{
    return etw_api_get()->TdhEnumerateProviders != NULL;
}

/* ---- the list -------------------------------------------------------------------------------- */

struct row {
    struct guid guid;
    const char *kind;
    struct span name; /* empty: unknown */
    bool registered;
};

struct rows {
    struct arena arena;
    struct map by_guid;
    struct row *items;
    size_t count;
    size_t capacity;
    bool failed;
};

static struct row *add_row(struct rows *rows, const struct guid *guid)
{
    if (rows->count == rows->capacity) {
        rows->failed = true;
        return NULL;
    }
    rows->items[rows->count] = (struct row){.guid = *guid};
    return &rows->items[rows->count++];
}

static struct span key_of(const struct row *row)
{
    return span_make(row->guid.bytes, sizeof(row->guid.bytes));
}

static void add_installed(void *self, const struct etw_known_provider *provider)
{
    struct rows *rows = self;
    struct row *row = add_row(rows, &provider->guid);
    if (!row) {
        return;
    }
    row->kind = provider->is_mof ? "mof" : "manifest";
    rows->failed |= !arena_copy(&rows->arena, span_text(provider->name), &row->name);
    if (!map_get(&rows->by_guid, key_of(row))) {
        rows->failed |= !map_put(&rows->by_guid, key_of(row), row);
    }
}

static void add_registered(struct rows *rows, const struct guid *guids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct row *row = map_get(
            &rows->by_guid, span_make(guids[i].bytes, sizeof(guids[i].bytes)));
        if (!row) {
            row = add_row(rows, &guids[i]);
        }
        if (row) {
            row->registered = true;
        }
    }
}

static void count_provider(void *self, const struct etw_known_provider *provider)
{
    (void)provider;
    ++*(size_t *)self;
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if ((x->name.size == 0) != (y->name.size == 0)) {
        return x->name.size == 0 ? 1 : -1;
    }
    int order = span_compare(x->name, y->name);
    return order ? order : guid_compare(&x->guid, &y->guid);
}

static void put_row(const struct row *row, bool json, struct buf *out)
{
    char guid[GUID_TEXT_SIZE];
    guid_write(&row->guid, guid);
    if (!json) {
        buf_printf(out, "%.36s  %-8s  %-10s  ", guid, row->kind ? row->kind : "-",
            row->registered ? "registered" : "-");
        visible_add(out, row->name);
        buf_add_byte(out, '\n');
        return;
    }
    buf_printf(out, "{\"guid\":\"%.36s\"", guid);
    if (row->kind) {
        buf_printf(out, ",\"kind\":\"%s\"", row->kind);
    }
    if (row->name.size) {
        buf_add_text(out, ",\"name\":");
        value_json_string(row->name, out);
    }
    buf_printf(out, ",\"registered\":%s}\n", row->registered ? "true" : "false");
}

bool live_providers_list(bool json, struct buf *out, struct error *err)
{
    struct rows rows = {.count = 0};
    struct guid *guids = NULL;
    struct etw_names *names = etw_names_create(err);
    if (!names) {
        return false;
    }
    size_t registered = 0;
    if (!etw_registrations_list(&guids, &registered, NULL)) {
        guids = NULL; /* this Windows has no such list: list installed providers only */
        registered = 0;
    }
    etw_names_each(names, count_provider, &rows.capacity);
    rows.capacity += registered;
    rows.items = rows.capacity <= MAX_PROVIDERS ? calloc(rows.capacity + 1, sizeof(*rows.items))
                                                : NULL;
    arena_init(&rows.arena, SIZE_MAX);
    map_init(&rows.by_guid, MAX_PROVIDERS);
    if (rows.items) {
        etw_names_each(names, add_installed, &rows);
        add_registered(&rows, guids, registered);
        map_clear(&rows.by_guid); /* it points into the array to be sorted */
        qsort(rows.items, rows.count, sizeof(*rows.items), compare_rows);
    }
    for (size_t i = 0; rows.items && i < rows.count; i++) {
        put_row(&rows.items[i], json, out);
    }
    bool good = rows.items && !rows.failed;
    map_fini(&rows.by_guid);
    arena_fini(&rows.arena);
    free(rows.items);
    free(guids);
    etw_names_destroy(names);
    return good || error_set(err, ERR_MEMORY, "out of memory");
}

/* ---- one of them ----------------------------------------------------------------------------- */

struct search {
    struct guid guid;
    const char *kind;
    char name[1024];
    bool found;
};

static void match(void *self, const struct etw_known_provider *provider)
{
    struct search *search = self;
    if (!search->found && guid_equal(&provider->guid, &search->guid)) {
        search->found = true;
        search->kind = provider->is_mof ? "mof" : "manifest";
        size_t size = strlen(provider->name);
        size = size < sizeof(search->name) ? size : sizeof(search->name) - 1;
        memcpy(search->name, provider->name, size);
        search->name[size] = 0;
    }
}

/* Its GUID by name, or as written; an unknown name is that of a TraceLogging provider if its GUID
 * is registered. */
static bool find(const char *wanted, struct search *search, struct error *err)
{
    struct etw_names *names = etw_names_create(err);
    if (!names) {
        return false;
    }
    bool is_guid = guid_parse(span_text(wanted), &search->guid);
    if (!is_guid && !etw_names_find(names, span_text(wanted), &search->guid) &&
        !known_providers_guid(span_text(wanted), &search->guid)) {
        search->guid = guid_from_name(span_text(wanted));
    }
    etw_names_each(names, match, search);
    etw_names_destroy(names);
    return true;
}

enum value_style { VALUE_MASK, VALUE_NUMBER, VALUE_OPCODE };

struct field_list {
    struct buf *out;
    bool json;
    enum value_style style;
    const char *title;
    size_t count;
};

static void put_value(const struct field_list *list, uint64_t value)
{
    const char *quote = list->json && list->style == VALUE_MASK ? "\"" : "";
    if (list->style == VALUE_MASK) {
        buf_printf(list->out, "%s0x%llx%s", quote, (unsigned long long)value, quote);
    } else if (list->style == VALUE_OPCODE) {
        buf_printf(list->out, "%llu", (unsigned long long)(value >> 16 & 0xff));
    } else {
        buf_printf(list->out, "%llu", (unsigned long long)value);
    }
}

static bool put_field(void *self, const struct etw_known_field *field)
{
    struct field_list *list = self;
    bool first = list->count++ == 0;
    uint64_t task = list->style == VALUE_OPCODE ? field->value & 0xffff : 0;
    if (!list->json) {
        if (first) {
            buf_printf(list->out, "    %s\n", list->title);
        }
        buf_add_text(list->out, "        ");
        put_value(list, field->value);
        buf_add_text(list->out, "  ");
        visible_add(list->out, span_text(field->name));
        if (task) {
            buf_printf(list->out, " (of task %llu)", (unsigned long long)task);
        }
        buf_add_byte(list->out, '\n');
        return true;
    }
    buf_add_text(list->out, first ? "{\"name\":" : ",{\"name\":");
    value_json_string(span_text(field->name), list->out);
    buf_add_text(list->out, ",\"value\":");
    put_value(list, field->value);
    if (task) {
        buf_printf(list->out, ",\"task\":%llu", (unsigned long long)task);
    }
    if (field->text[0]) {
        buf_add_text(list->out, ",\"description\":");
        value_json_string(span_text(field->text), list->out);
    }
    buf_add_byte(list->out, '}');
    return true;
}

static void put_fields(const struct guid *provider, bool json, struct buf *out)
{
    static const struct {
        uint32_t type;
        enum value_style style;
        const char *title;
    } kinds[] = {{ETW_FIELD_KEYWORD, VALUE_MASK, "keywords"},
        {ETW_FIELD_LEVEL, VALUE_NUMBER, "levels"}, {ETW_FIELD_CHANNEL, VALUE_NUMBER, "channels"},
        {ETW_FIELD_TASK, VALUE_NUMBER, "tasks"}, {ETW_FIELD_OPCODE, VALUE_OPCODE, "opcodes"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct field_list list = {
            .out = out, .json = json, .style = kinds[i].style, .title = kinds[i].title};
        if (json) {
            buf_printf(out, ",\"%s\":[", kinds[i].title);
        }
        etw_names_each_field(provider, kinds[i].type, put_field, &list);
        buf_add_text(out, json ? "]" : "");
    }
}

static void put_events(const struct tdh_registry *registry, bool json, struct buf *out)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (!json) {
            schema_list_describe(registry->schemas[i], out);
            continue;
        }
        buf_add_text(out, i ? "," : "");
        schema_list_describe_json(registry->schemas[i], out);
    }
}

static void put_provider(const struct search *search, const struct etw_registrations *found,
    const struct tdh_registry *registry, bool json, struct buf *out)
{
    char guid[GUID_TEXT_SIZE];
    guid_write(&search->guid, guid);
    unsigned instances = found->known ? found->instance_count : 0;
    if (!json) {
        buf_printf(out, "%.36s  %-8s  %6zu events  %s\n", guid, search->kind ? search->kind : "-",
            registry->count, search->name);
        buf_printf(out, "    registered %u times, %zu sessions listen\n", instances,
            found->known ? found->hold_count : 0);
        put_fields(&search->guid, json, out);
        put_events(registry, json, out);
        return;
    }
    buf_printf(out, "{\"guid\":\"%.36s\"", guid);
    if (search->kind) {
        buf_printf(out, ",\"kind\":\"%s\"", search->kind);
    }
    if (search->name[0]) {
        buf_add_text(out, ",\"name\":");
        value_json_string(span_text(search->name), out);
    }
    buf_printf(out, ",\"registered\":%s,\"instances\":%u", instances ? "true" : "false", instances);
    put_fields(&search->guid, json, out);
    buf_printf(out, ",\"event_count\":%zu,\"events\":[", registry->count);
    put_events(registry, json, out);
    buf_add_text(out, "]}\n");
}

bool live_providers_show(
    const char *wanted, bool json, struct buf *out, bool *ret_found, struct error *err)
{
    struct search search = {.found = false};
    struct etw_registrations found = {.known = false};
    if (!find(wanted, &search, err)) {
        return false;
    }
    if (!etw_registrations_query(&search.guid, &found, NULL)) {
        found.known = false;
    }
    *ret_found = search.found || (found.known && found.instance_count);
    if (!*ret_found) {
        return true;
    }
    struct tdh_registry registry;
    tdh_registry_init(&registry);
    tdh_registry_add(&registry, &search.guid);
    put_provider(&search, &found, &registry, json, out);
    bool good = !registry.failed || error_set(err, ERR_MEMORY, "out of memory");
    tdh_registry_fini(&registry);
    return good;
}
