#include "cli/text/stat_decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/order.h"
#include "base/visible.h"
#include "event/value/value_json.h"

/* Values common to the events of a row; owned by the counter's arena. */
struct type_info {
    struct span provider;
    struct span name;
    struct guid guid;
    struct event_descriptor descriptor;
    const char *source;
    const char *kind;
    bool has_code;
    uint64_t decoded;
};

void stat_decode_init(struct stat_decode *stat)
{
    *stat = (struct stat_decode){.events = 0};
    key_counts_init(&stat->by_source);
    key_counts_init(&stat->types);
    key_counts_init(&stat->missing);
}

void stat_decode_fini(struct stat_decode *stat)
{
    key_counts_fini(&stat->by_source);
    key_counts_fini(&stat->types);
    key_counts_fini(&stat->missing);
}

static const char *kind_of(const struct event *event)
{
    if (event->schema) {
        return schema_kind_name(event->schema->kind);
    }
    switch (event->record->kind) {
    case RECORD_KERNEL:
    case RECORD_CLASSIC:
        return "mof";
    case RECORD_MESSAGE:
        return "wpp";
    default:
        return "unknown";
    }
}

static struct type_info *make_info(struct stat_decode *stat, const struct event *event)
{
    struct type_info *info = arena_alloc(&stat->types.arena, sizeof(*info));
    if (!info) {
        return NULL;
    }
    const struct event_schema *schema = event->schema;
    info->guid = event->record->provider;
    info->descriptor = event->record->descriptor;
    info->kind = kind_of(event);
    info->source = schema ? schema->source : "none";
    info->has_code = event->record->kind == RECORD_EVENT || event->record->kind == RECORD_MESSAGE;
    if (schema) {
        arena_copy(&stat->types.arena, schema->provider_name, &info->provider);
        struct span name = schema->event_name.size ? schema->event_name : schema->task_name;
        arena_copy(&stat->types.arena, name, &info->name);
    }
    return info;
}

/* Key: kind, GUID, id, version, opcode, hook, and the name if a provider uses one id for all
 * events. */
static struct key_count *count_type(struct stat_decode *stat, const struct event *event)
{
    const struct event_record *record = event->record;
    const struct event_descriptor *d = &record->descriptor;
    uint8_t key[24 + 256];
    memcpy(key, record->provider.bytes, 16);
    store_le16(key + 16, d->id);
    key[18] = d->version;
    key[19] = d->opcode;
    store_le16(key + 20, record->hook_id);
    key[22] = (uint8_t)record->kind;
    key[23] = 0;
    struct span name = event->schema && event->schema->kind == SCHEMA_TRACELOGGING
                           ? span_first(event->schema->event_name, 256)
                           : span_make(NULL, 0);
    if (name.size) {
        memcpy(key + 24, name.data, name.size);
    }
    struct key_count *row = key_counts_add(&stat->types, span_make(key, 24 + name.size));
    if (row && !row->extra) {
        row->extra = make_info(stat, event);
    }
    return row;
}

/* Key of a missing definition: kind, then GUID. */
enum { MISSING_KIND_SIZE = 16 };

static void count_missing(struct stat_decode *stat, const struct event *event)
{
    char key[MISSING_KIND_SIZE + GUID_TEXT_SIZE];
    int size = snprintf(key, sizeof(key), "%-*s", MISSING_KIND_SIZE, kind_of(event));
    guid_write(&event->record->provider, key + MISSING_KIND_SIZE);
    key_counts_add(&stat->missing, span_make(key, (size_t)size + GUID_TEXT_SIZE));
}

static bool on_event(void *self, const struct event *event)
{
    struct stat_decode *stat = self;
    if (record_is_metadata(event->record)) {
        stat->metadata++;
        return true;
    }
    stat->events++;
    stat->other_width += event->pointer_size != event->record->pointer_size;
    stat->learned_width += event->is_width_learned;
    bool decoded = event->status != DECODE_PARTIAL && !event_is_undecoded(event);
    stat->decoded += decoded;
    stat->partial += event->status == DECODE_PARTIAL;
    struct key_count *row = count_type(stat, event);
    if (row && row->extra) {
        ((struct type_info *)row->extra)->decoded += decoded;
    }
    if (!decoded && event->status != DECODE_PARTIAL) {
        stat->undecoded++;
        count_missing(stat, event);
    } else {
        const char *source = event->schema && event->status != DECODE_RAW ? event->schema->source
                                                                          : "none";
        key_counts_add(&stat->by_source, span_text(source));
    }
    return true;
}

struct event_observer stat_decode_observer(struct stat_decode *stat)
{
    return (struct event_observer){.self = stat, .event = on_event};
}

/* ---- output ---------------------------------------------------------------------------------- */

static void add_type(const struct key_count *row, struct buf *out)
{
    const struct type_info *info = row->extra;
    char guid[GUID_TEXT_SIZE + 1] = "";
    guid_write(&info->guid, guid);
    buf_add_text(out, "{");
    if (info->provider.size) {
        buf_add_text(out, "\"provider\":");
        value_json_string(info->provider, out);
        buf_add_byte(out, ',');
    }
    buf_printf(out, "\"guid\":\"%s\",", guid);
    if (info->has_code) {
        buf_printf(out, "\"code\":%u,", info->descriptor.id);
    }
    buf_printf(
        out, "\"version\":%u,\"opcode\":%u,", info->descriptor.version, info->descriptor.opcode);
    if (info->name.size) {
        buf_add_text(out, "\"name\":");
        value_json_string(info->name, out);
        buf_add_byte(out, ',');
    }
    buf_printf(out, "\"count\":%llu,\"source\":\"%s\",\"decoded\":%llu}",
        (unsigned long long)row->count, info->source, (unsigned long long)info->decoded);
}

void stat_decode_json(const struct stat_decode *stat, struct buf *out)
{
    buf_printf(out, "\"decode\":{\"events\":%llu,\"decoded\":%llu,\"partial\":%llu,",
        (unsigned long long)stat->events, (unsigned long long)stat->decoded,
        (unsigned long long)stat->partial);
    buf_printf(out,
        "\"undecoded\":%llu,\"metadata\":%llu,\"other_pointer_size\":%llu,"
        "\"learned_pointer_size\":%llu,\"by_source\":{",
        (unsigned long long)stat->undecoded, (unsigned long long)stat->metadata,
        (unsigned long long)stat->other_width, (unsigned long long)stat->learned_width);
    size_t count;
    struct key_count **rows = key_counts_sorted(&stat->by_source, &count);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s\"%.*s\":%llu", i ? "," : "", SPAN_ARG(rows[i]->key),
            (unsigned long long)rows[i]->count);
    }
    free(rows);
    buf_add_text(out, "}}");
    if (stat->types.beyond) {
        buf_printf(out, ",\"types_not_listed\":%llu", (unsigned long long)stat->types.beyond);
    }
    buf_add_text(out, ",\"types\":[");
    rows = key_counts_sorted(&stat->types, &count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->extra) {
            buf_add_text(out, i ? "," : "");
            add_type(rows[i], out);
        }
    }
    free(rows);
    buf_add_text(out, "],\"missing\":[");
    rows = key_counts_sorted(&stat->missing, &count);
    for (size_t i = 0; i < count; i++) {
        size_t kind_size = MISSING_KIND_SIZE;
        while (kind_size && rows[i]->key.data[kind_size - 1] == ' ') {
            kind_size--;
        }
        buf_printf(out, "%s{\"kind\":\"%.*s\",\"guid\":\"%.*s\",\"count\":%llu}", i ? "," : "",
            SPAN_ARG(span_first(rows[i]->key, kind_size)),
            SPAN_ARG(span_from(rows[i]->key, MISSING_KIND_SIZE)),
            (unsigned long long)rows[i]->count);
    }
    free(rows);
    buf_add_byte(out, ']');
}

static int by_count(const void *a, const void *b)
{
    const struct key_count *x = *(struct key_count *const *)a;
    const struct key_count *y = *(struct key_count *const *)b;
    return order_u64(y->count, x->count);
}

/* Missing trace message formats, most messages first: their files are named by the GUID. */
static void add_missing_formats(const struct stat_decode *stat, struct buf *out)
{
    enum { SHOWN = 10 };
    size_t count;
    size_t found = 0;
    struct key_count **rows = key_counts_sorted(&stat->missing, &count);
    if (count > 1) {
        qsort(rows, count, sizeof(*rows), by_count);
    }
    for (size_t i = 0; i < count; i++) {
        struct span guid = span_from(rows[i]->key, MISSING_KIND_SIZE);
        bool has_guid = !span_is(guid, "00000000-0000-0000-0000-000000000000");
        if (memcmp(rows[i]->key.data, "wpp ", 4) != 0 || !has_guid || found++ >= SHOWN) {
            continue;
        }
        if (found == 1) {
            buf_printf(out, "  %10s  %s\n", "messages", "without their trace message format");
        }
        buf_printf(out, "  %10llu  %.*s.tmf\n", (unsigned long long)rows[i]->count, SPAN_ARG(guid));
    }
    if (found > SHOWN) {
        buf_printf(out, "  … and %zu more (--json shows all)\n", found - SHOWN);
    }
    free(rows);
}

void stat_decode_text(const struct stat_decode *stat, struct buf *out)
{
    enum { SHOWN = 25 };
    size_t count;
    struct key_count **rows = key_counts_sorted(&stat->types, &count);
    if (count > 1) {
        qsort(rows, count, sizeof(*rows), by_count);
    }
    buf_printf(out, "  %10s  %10s  %-13s  %s\n", "events", "decoded", "layout from", "type");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const struct type_info *info = rows[i]->extra;
        if (!info) {
            continue;
        }
        char guid[GUID_TEXT_SIZE + 1] = "";
        guid_write(&info->guid, guid);
        struct span provider = info->provider.size ? info->provider : span_text(guid);
        buf_printf(out, "  %10llu  %10llu  %-13s  ", (unsigned long long)rows[i]->count,
            (unsigned long long)info->decoded, info->source);
        visible_add(out, span_first(provider, 200));
        if (info->has_code) {
            buf_printf(out, " %u", info->descriptor.id);
        }
        if (info->name.size) {
            buf_add_byte(out, ' ');
            visible_add(out, span_first(info->name, 200));
        } else if (!info->has_code) {
            buf_printf(out, " 0x%x", info->descriptor.opcode);
        }
        buf_add_byte(out, '\n');
    }
    if (count > SHOWN) {
        buf_printf(out, "  … and %zu more types (--json shows all)\n", count - SHOWN);
    }
    free(rows);
    add_missing_formats(stat, out);
}
