#include "support/etw_sim/sim_tdh_wpp.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/text/calendar.h"
#include "decode/decode.h"
#include "event/value/event_value.h"
#include "event/value/value_json.h"
#include "event/value/wpp_format.h"
#include "schema/cache/schema_cache.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_tdh_own.h"
#include "support/json_tree.h"

/*
 * Messages of WPP code: what a caller's context names (a TMF file, a folder of them, a PDB file) is
 * read for each question, by the agent's own source of such formats. Without a context nothing is
 * known of them: TRACE_FORMAT_SEARCH_PATH and the current folder are not searched.
 */
struct message {
    struct schema_cache *cache;
    struct decoder decoder;
    struct event event;
    struct event_record record;
    struct sim_tdh_event holder;
};

bool sim_tdh_wpp_is(const struct etw_event_record *record)
{
    return record && record->header.flags & EVENT_FLAG_TRACE_MESSAGE;
}

/* ---- what the context names ------------------------------------------------------------------ */

static const struct etw_tdh_context *find_context(
    uint32_t count, const struct etw_tdh_context *list, uint32_t type)
{
    for (uint32_t i = 0; list && i < count; i++) {
        if (list[i].type == type && list[i].value) {
            return &list[i];
        }
    }
    return NULL;
}

/* As UTF-8 in ${out}, which is made; nothing: it is not there, or there is no memory. */
static const char *text_of(const struct etw_tdh_context *context, struct buf *out)
{
    if (!context || !sim_tdh_utf8((const etw_char *)(uintptr_t)context->value, out)) {
        return NULL;
    }
    return (const char *)out->data;
}

static bool find_path(
    uint32_t count, const struct etw_tdh_context *list, char *ret_path, size_t path_size)
{
    struct buf texts[3];
    const uint32_t types[] = {
        TDH_CONTEXT_TMF_FILE, TDH_CONTEXT_TMF_SEARCH_PATH, TDH_CONTEXT_PDB_PATH};
    const char *found[3];
    for (size_t i = 0; i < 3; i++) {
        buf_init(&texts[i], 1 << 16);
        found[i] = text_of(find_context(count, list, types[i]), &texts[i]);
    }
    int size = found[2]               ? snprintf(ret_path, path_size, "%s", found[2])
               : found[0] && found[1] ? snprintf(ret_path, path_size, "%s/%s", found[1], found[0])
               : found[0] || found[1]
                   ? snprintf(ret_path, path_size, "%s", found[0] ? found[0] : found[1])
                   : 0;
    for (size_t i = 0; i < 3; i++) {
        buf_fini(&texts[i]);
    }
    return size > 0 && (size_t)size < path_size;
}

/* ---- a message ------------------------------------------------------------------------------- */

static void close_message(struct message *m)
{
    decoder_fini(&m->decoder);
    schema_cache_destroy(m->cache);
}

static uint8_t pointer_size(uint32_t count, const struct etw_tdh_context *list, uint8_t of_event)
{
    const struct etw_tdh_context *size = find_context(count, list, TDH_CONTEXT_POINTER_SIZE);
    return size && (size->value == 4 || size->value == 8) ? (uint8_t)size->value : of_event;
}

/* 0: it is open, and to be closed. */
static uint32_t open_message(const struct etw_event_record *record, uint32_t count,
    const struct etw_tdh_context *list, struct message *m)
{
    char path[1024];
    if (!find_path(count, list, path, sizeof(path))) {
        return ETW_ERROR_NOT_FOUND;
    }
    const char *paths[] = {path};
    const struct schema_cache_settings settings = {
        .sources = {.paths = paths, .path_count = 1}, .only_source = "wpp"};
    *m = (struct message){.cache = schema_cache_create(&settings, NULL)};
    if (!m->cache || !decoder_init(&m->decoder, NULL)) {
        schema_cache_destroy(m->cache);
        return ETW_ERROR_OUTOFMEMORY;
    }
    sim_tdh_event_of(record, &m->holder);
    m->record = m->holder.record;
    m->record.pointer_size = pointer_size(count, list, m->record.pointer_size);
    m->record.time = (uint64_t)record->header.time_stamp;
    m->record.cpu = record->processor_index;
    m->record.present |= RECORD_HAS_TIME;
    const struct schema_choice *choice = schema_cache_find(m->cache, &m->record);
    if (choice->count == 0 || choice->list[0]->kind != SCHEMA_WPP || !choice->list[0]->wpp) {
        close_message(m);
        return ETW_ERROR_NOT_FOUND;
    }
    decoder_run(&m->decoder, &m->record, choice->list[0], m->record.pointer_size, &m->event);
    return 0;
}

uint32_t sim_tdh_wpp_describe(const struct etw_event_record *record, uint32_t context_count,
    const struct etw_tdh_context *context, struct buf *out)
{
    struct message m;
    uint32_t code = open_message(record, context_count, context, &m);
    if (code) {
        return code;
    }
    /* The properties of messages have names of their own, which are not listed. */
    struct event_schema schema = *m.event.schema;
    schema.field_count = 0;
    schema.top_count = 0;
    const struct tei_options options = {.descriptor = &m.record.descriptor};
    tei_put_event(out, &schema, &options);
    close_message(&m);
    return out->failed ? ETW_ERROR_OUTOFMEMORY : 0;
}

/* ---- properties ------------------------------------------------------------------------------ */

/* The writer makes text for JSON: its escapes are taken off. */
static void put_text(const struct message *m, struct buf *out)
{
    struct event_value_context context;
    struct arena arena;
    struct buf json;
    if (!event_value_context_init(&context, NULL, NULL)) {
        out->failed = true;
        return;
    }
    arena_init(&arena, SIM_TDH_MAX_ANSWER);
    buf_init(&json, SIM_TDH_MAX_ANSWER);
    const struct value_context values = {.ansi = context.ansi};
    buf_add_byte(&json, '"');
    wpp_format_render(&values, &m->event, &json);
    buf_add_byte(&json, '"');
    const struct json_node *text = json.failed ? NULL : json_tree_parse(buf_span(&json), &arena);
    if (text) {
        etl_put_utf16_span(out, text->text);
        etl_put_u16(out, 0);
    } else {
        out->failed = true;
    }
    buf_fini(&json);
    arena_fini(&arena);
    event_value_context_fini(&context);
}

/* File and line, as the message compiler joins them: `driver_c120`. */
static void put_type_name(const struct wpp_format *format, struct buf *out)
{
    char line[16];
    for (size_t i = 0; i < format->source.size; i++) {
        uint8_t c = format->source.data[i];
        etl_put_u16(out, c == '.' ? '_' : c);
    }
    snprintf(line, sizeof(line), "%u", format->line);
    etl_put_utf16z(out, line);
}

/* SYSTEMTIME, UTC. */
static void put_time(uint64_t filetime, struct buf *out)
{
    uint64_t seconds = filetime / CALENDAR_TICKS_PER_SECOND;
    int64_t day = (int64_t)(seconds / CALENDAR_SECONDS_PER_DAY);
    unsigned of_day = (unsigned)(seconds % CALENDAR_SECONDS_PER_DAY);
    unsigned year = calendar_year(day);
    unsigned left = (unsigned)(day - calendar_day(year, 1, 1));
    unsigned month = 1;
    while (left >= calendar_days_in_month(year, month)) {
        left -= calendar_days_in_month(year, month++);
    }
    const unsigned parts[] = {year, month, calendar_weekday(day), left + 1, of_day / 3600,
        of_day / 60 % 60, of_day % 60, (unsigned)(filetime / 10000 % 1000)};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        etl_put_u16(out, (uint16_t)parts[i]);
    }
}

static bool put_name(const struct wpp_format *format, struct span name, struct buf *out)
{
    const struct {
        const char *property;
        struct span text;
    } names[] = {{"FunctionName", format->function}, {"LevelName", format->level},
        {"FlagsName", format->flags}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_is(name, names[i].property)) {
            etl_put_utf16_span(out, names[i].text);
            etl_put_u16(out, 0);
            return true;
        }
    }
    return false;
}

/* False: there is none of this name. */
static bool put_property(const struct message *m, struct span name, struct buf *out)
{
    const struct wpp_format *format = m->event.schema->wpp;
    if (span_is(name, "FormattedString")) {
        put_text(m, out);
    } else if (span_is(name, "TraceGuid")) {
        etl_put_guid(out, &m->record.provider);
    } else if (span_is(name, "GuidTypeName")) {
        put_type_name(format, out);
    } else if (span_is(name, "SystemTime")) {
        put_time(m->record.time, out);
    } else {
        return put_name(format, name, out);
    }
    return true;
}

uint32_t sim_tdh_wpp_property(const struct etw_event_record *record, uint32_t context_count,
    const struct etw_tdh_context *context, const etw_char *name, struct buf *out)
{
    struct message m;
    struct buf wanted;
    if (!name || !sim_tdh_utf8(name, &wanted)) {
        return name ? ETW_ERROR_OUTOFMEMORY : ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t code = open_message(record, context_count, context, &m);
    if (code == 0) {
        bool found = put_property(&m, span_make(wanted.data, wanted.size - 1), out);
        code = out->failed ? ETW_ERROR_OUTOFMEMORY : found ? 0 : ETW_ERROR_NOT_FOUND;
        close_message(&m);
    }
    buf_fini(&wanted);
    return code;
}
