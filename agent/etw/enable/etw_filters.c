#include "etw/enable/etw_filters.h"

#include "etw/enable/etw_keywords.h"
#include "etw/etw_text.h"

static const struct {
    uint32_t type;
    const char *name;
} known[] = {
    {ETW_FILTER_PID, "processes"},
    {ETW_FILTER_EXECUTABLE_NAME, "executables"},
    {ETW_FILTER_PACKAGE_ID, "packages"},
    {ETW_FILTER_PACKAGE_APP_ID, "package applications"},
    {ETW_FILTER_PAYLOAD, "payload"},
    {ETW_FILTER_EVENT_ID, "event ids"},
    {ETW_FILTER_STACKWALK, "stacks by event id"},
    {ETW_FILTER_EVENT_NAME, "event names"},
    {ETW_FILTER_STACKWALK_NAME, "stacks by event name"},
    {ETW_FILTER_STACKWALK_LEVEL_KW, "stacks by level and keyword"},
    {ETW_FILTER_CONTAINER, "container"},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

uint32_t etw_filters_kind(size_t index)
{
    return index < KNOWN ? ETW_FILTER_KIND(known[index].type) : 0;
}

const char *etw_filters_kind_name(uint32_t kind)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (ETW_FILTER_KIND(known[i].type) == kind) {
            return known[i].name;
        }
    }
    return "other";
}

const struct etw_filter_texts *etw_filters_texts(const struct etw_request *request, uint32_t kind)
{
    switch (kind) {
    case ETW_FILTER_KIND(ETW_FILTER_EXECUTABLE_NAME):
        return &request->executables;
    case ETW_FILTER_KIND(ETW_FILTER_PACKAGE_ID):
        return &request->packages;
    case ETW_FILTER_KIND(ETW_FILTER_PACKAGE_APP_ID):
        return &request->apps;
    case ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME):
        return &request->names;
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME):
        return &request->stack_names;
    case ETW_FILTER_KIND(ETW_FILTER_CONTAINER):
        return &request->container;
    default:
        return NULL;
    }
}

/* Room for the next filter's data, zeroed. */
static uint8_t *add(struct etw_filters *filters, uint32_t kind, size_t bytes)
{
    uint8_t *data = filters->data + filters->used_bytes;
    memset(data, 0, bytes);
    filters->items[filters->count++] = (struct etw_filter){
        .data = (uint64_t)(uintptr_t)data, .size = (uint32_t)bytes, .type = kind | 0x80000000};
    filters->used_bytes += (bytes + 7) / 8 * 8;
    return data;
}

/* EVENT_FILTER_EVENT_ID: FilterIn, reserved, count, ids. */
static void add_ids(struct etw_filters *filters, uint32_t kind, const struct etw_filter_ids *ids)
{
    uint8_t *p = add(filters, kind, ETW_FILTERS_ID_BYTES + 2 * (size_t)ids->count);
    p[0] = !ids->exclude;
    store_le16(p + 2, ids->count);
    for (size_t i = 0; i < ids->count; i++) {
        store_le16(p + ETW_FILTERS_ID_BYTES + 2 * i, ids->ids[i]);
    }
}

/* The level of a filter: as in EnableTraceEx2, where 0 means all levels. */
static uint8_t every_level(uint8_t level)
{
    return level ? level : 0xff;
}

/* Keywords of a filter. In EnableTraceEx2 0 means all keywords; this is not documented for filters
 * (event_filter_event_name), so a filter gets all bits. */
static void put_keywords(uint8_t *p, uint64_t any, uint64_t all)
{
    store_le64(p, any ? any : UINT64_MAX);
    store_le64(p + 8, any ? all : 0);
}

/* EVENT_FILTER_EVENT_NAME: any, all, level, FilterIn, count, names with their NULs. It further
 * restricts keywords and level, so it gets the same ones. */
static void add_names(struct etw_filters *filters, uint32_t kind, const struct etw_request *request,
    const struct etw_filter_texts *names)
{
    size_t bytes = ETW_FILTERS_NAME_BYTES;
    for (size_t i = 0; i < names->count; i++) {
        bytes += strlen(names->texts[i]) + 1;
    }
    uint8_t *p = add(filters, kind, bytes);
    put_keywords(p, etw_keywords_any(request), etw_keywords_all(request));
    p[16] = every_level(request->level);
    p[17] = !names->exclude;
    store_le16(p + 18, names->count);
    p += ETW_FILTERS_NAME_BYTES;
    for (size_t i = 0; i < names->count; i++) {
        size_t size = strlen(names->texts[i]) + 1;
        memcpy(p, names->texts[i], size);
        p += size;
    }
}

/* Texts in UTF-16, separated by ';', with a NUL at the end. Size includes the NUL, as in other
 * programs that set such filters. */
static void add_scope(
    struct etw_filters *filters, uint32_t kind, const struct etw_filter_texts *texts)
{
    etw_char units[ETW_MAX_FILTER_BYTES / 2 + 1];
    size_t count = 0;
    for (size_t i = 0; i < texts->count; i++) {
        size_t more = 0;
        if (i) {
            units[count++] = ';';
        }
        if (etw_text_encode(span_text(texts->texts[i]), units + count,
                sizeof(units) / sizeof(units[0]) - count, &more)) {
            count += more;
        }
    }
    units[count++] = 0;
    memcpy(add(filters, kind, count * 2), units, count * 2);
}

static void add_kind(struct etw_filters *filters, const struct etw_request *request, uint32_t kind,
    const struct etw_filter *payload)
{
    switch (kind) {
    case ETW_FILTER_KIND(ETW_FILTER_PID):
        memcpy(add(filters, kind, 4 * (size_t)request->pid_count), request->pids,
            4 * (size_t)request->pid_count);
        break;
    case ETW_FILTER_KIND(ETW_FILTER_EVENT_ID):
        add_ids(filters, kind, &request->events);
        break;
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK):
        add_ids(filters, kind, &request->stack_events);
        break;
    case ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME):
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME):
        add_names(filters, kind, request, etw_filters_texts(request, kind));
        break;
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK_LEVEL_KW): {
        uint8_t *p = add(filters, kind, 24);
        put_keywords(p, request->stack_any, request->stack_all);
        p[16] = every_level(request->stack_level);
        p[17] = !request->stack_level_exclude;
        break;
    }
    case ETW_FILTER_KIND(ETW_FILTER_PAYLOAD):
        filters->items[filters->count++] = *payload;
        break;
    default:
        add_scope(filters, kind, etw_filters_texts(request, kind));
        break;
    }
}

void etw_filters_build(struct etw_filters *filters, const struct etw_request *request,
    uint32_t kinds, const struct etw_filter *payload)
{
    filters->count = 0;
    filters->used_bytes = 0;
    for (size_t i = 0; i < KNOWN && filters->count < ETW_MAX_FILTERS; i++) {
        uint32_t kind = etw_filters_kind(i);
        if (kinds & kind & etw_enable_kinds(request)) {
            add_kind(filters, request, kind, payload);
        }
    }
}
