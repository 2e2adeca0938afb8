/* etlsample: a trace of made-up events of any provider that schemas describe. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/cache/schema_cache.h"
#include "support/etl_encode.h"
#include "support/etl_writer.h"
#include "support/etw_sim/sim_sample.h"

static const char usage[] =
    "usage: etlsample [OPTION]... -o FILE PROVIDER[:ID,...]...\n"
    "Write a trace with made-up events of each provider: all of its events, or those of the ids.\n"
    "A kernel class (FileIo, Thread, ...) is a provider, too; its ids are the types of its "
    "events.\n"
    "\n"
    "  -o FILE          the trace\n"
    "  -n N             rounds through all of the events (default 10)\n"
    "  -s PATH          manifest, pack or folder of them; may be given again\n"
    "  -p PID,...       processes that the events come from (default 1234)\n";

enum { MAX_PATHS = 64, MAX_PIDS = 64, MAX_EVENTS = 65536, PAYLOAD_MAX = 60000, STEP = 10000 };

/* The counter runs since the machine was started, which was an hour ago (etl_writer.h). */
#define START_RAW (INT64_C(3600) * 10000000)

struct settings {
    const char *output;
    uint32_t rounds;
    const char *paths[MAX_PATHS];
    size_t path_count;
    uint32_t pids[MAX_PIDS];
    size_t pid_count;
    char **selectors;
    size_t selector_count;
};

struct sampler {
    const struct settings *settings;
    const struct event_schema *events[MAX_EVENTS];
    size_t count;
};

static const struct {
    const char *guid;
    int group;
} classes[] = {
#define KERNEL_CLASS(symbol, name, guid, group) {guid, group},
#define KERNEL_CLASS_OF(symbol, name, guid, provider_name, provider_guid)
#define KERNEL_TYPE(symbol, version, types, fields)
#define KERNEL_NAME(symbol, type, name)
#include "schema/events/kernel_classes.def"
#undef KERNEL_CLASS
#undef KERNEL_CLASS_OF
#undef KERNEL_TYPE
#undef KERNEL_NAME
};

/* ---- selection ------------------------------------------------------------------------------- */

static bool is_selected_by(const struct event_schema *schema, const char *selector)
{
    bool is_mof = schema->kind == SCHEMA_MOF;
    const char *colon = strchr(selector, ':');
    struct span name = span_make(selector, colon ? (size_t)(colon - selector) : strlen(selector));
    if (!span_equal_nocase(name, is_mof ? schema->task_name : schema->provider_name)) {
        return false;
    }
    unsigned id = is_mof ? schema->descriptor.opcode : schema->descriptor.id;
    const char *at = colon ? colon + 1 : NULL;
    bool found = !at;
    while (at && !found) {
        char *end;
        found = strtoul(at, &end, 0) == id;
        at = *end == ',' ? end + 1 : NULL;
    }
    return found;
}

static void select_event(void *self, const struct event_schema *schema)
{
    struct sampler *s = self;
    bool selected = false;
    for (size_t i = 0; i < s->settings->selector_count; i++) {
        selected |= is_selected_by(schema, s->settings->selectors[i]);
    }
    if (selected && schema->has_layout && s->count < MAX_EVENTS) {
        s->events[s->count++] = schema;
    }
}

/* ---- records --------------------------------------------------------------------------------- */

static int group_of(const struct event_schema *schema)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        struct guid guid;
        if (guid_parse(span_text(classes[i].guid), &guid) &&
            guid_equal(&guid, &schema->class_guid)) {
            return classes[i].group;
        }
    }
    return -1;
}

static void encode(struct buf *record, const struct event_schema *schema, struct span payload,
    int64_t time, const struct sim_sample *sample)
{
    int group = schema->kind == SCHEMA_MOF ? group_of(schema) : -1;
    if (group >= 0) {
        const struct etl_kernel header = {.pointer_size = 8,
            .version = schema->descriptor.version,
            .hook_id = (uint16_t)((unsigned)group << 8 | schema->descriptor.opcode),
            .thread_id = sample->thread_id,
            .process_id = sample->process_id,
            .time = time};
        etl_encode_kernel(record, &header, payload);
    } else if (schema->kind == SCHEMA_MOF) {
        const struct etl_classic header = {.pointer_size = 8,
            .opcode = schema->descriptor.opcode,
            .version = schema->descriptor.version,
            .thread_id = sample->thread_id,
            .process_id = sample->process_id,
            .time = time,
            .class_guid = schema->class_guid};
        etl_encode_classic(record, &header, payload);
    } else {
        const struct guid activity = {{1, 2, 3, (uint8_t)sample->seed}};
        const struct guid related = {{4, 5, 6, (uint8_t)sample->seed}};
        const struct extended_item item = {.type = EXTENDED_RELATED_ACTIVITY_ID,
            .data = span_make(related.bytes, sizeof(related.bytes))};
        const struct etl_event header = {.pointer_size = 8,
            .flags = EVENT_FLAG_64_BIT,
            .thread_id = sample->thread_id,
            .process_id = sample->process_id,
            .time = time,
            .provider = schema->provider,
            .descriptor = schema->descriptor,
            .activity_id = activity,
            .extended = &item,
            .extended_count = 1};
        etl_encode_event(record, &header, payload);
    }
}

static bool write_events(struct sampler *s, struct etl_writer *writer, struct error *err)
{
    const struct settings *settings = s->settings;
    struct buf payload;
    struct buf record;
    bool ok = true;
    int64_t time = START_RAW + STEP;
    buf_init(&payload, PAYLOAD_MAX);
    buf_init(&record, UINT16_MAX);
    for (size_t i = 0; ok && i < s->count * settings->rounds; i++) {
        uint32_t pid = settings->pids[(i / s->count) % settings->pid_count];
        const struct sim_sample sample = {
            .seed = i, .process_id = pid, .thread_id = pid + 4, .pointer_size = 8};
        const struct event_schema *schema = s->events[i % s->count];
        buf_reset(&payload);
        buf_reset(&record);
        if (sim_sample_payload(&payload, schema, &sample)) {
            encode(&record, schema, buf_span(&payload), time, &sample);
            ok = !record.failed && etl_writer_put(writer, 0, time, buf_span(&record), err);
        }
        time += STEP;
    }
    buf_fini(&record);
    buf_fini(&payload);
    return ok;
}

static bool run(const struct settings *settings, struct error *err)
{
    static struct sampler s; /* large */
    s = (struct sampler){.settings = settings};
    const struct schema_cache_settings sources = {
        .sources = {.paths = settings->paths, .path_count = settings->path_count},
        .no_builtin = true};
    struct schema_cache *cache = schema_cache_create(&sources, err);
    if (!cache) {
        return false;
    }
    schema_cache_list(cache, select_event, &s);
    FILE *file = s.count ? fopen(settings->output, "wb") : NULL;
    bool ok = file || error_set(err, ERR_CONFIG,
                          s.count ? "the file cannot be written" : "no event is selected");
    struct etl_writer *writer = NULL;
    if (ok) {
        const struct etl_options options = {.processors = 1, .start_raw = START_RAW};
        writer = etl_writer_create(&options, etl_writer_to_file(file), 0, err);
        ok = writer && write_events(&s, writer, err) && etl_writer_close(writer, err);
    }
    etl_writer_destroy(writer);
    if (file && fclose(file) != 0) {
        ok = error_set(err, ERR_IO, "the file cannot be written");
    }
    printf("%zu event types, %zu events\n", s.count, s.count * settings->rounds);
    schema_cache_destroy(cache);
    return ok;
}

/* ---- command line ---------------------------------------------------------------------------- */

static void take_pids(struct settings *settings, const char *text)
{
    for (const char *at = text; at && settings->pid_count < MAX_PIDS;) {
        char *end;
        settings->pids[settings->pid_count++] = (uint32_t)strtoul(at, &end, 0);
        at = *end == ',' ? end + 1 : NULL;
    }
}

static bool take_option(struct settings *settings, char option, const char *value)
{
    switch (option) {
    case 'o':
        settings->output = value;
        return true;
    case 'n':
        settings->rounds = (uint32_t)strtoul(value, NULL, 0);
        return true;
    case 's':
        if (settings->path_count < MAX_PATHS) {
            settings->paths[settings->path_count++] = value;
        }
        return true;
    case 'p':
        take_pids(settings, value);
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    struct settings settings = {.rounds = 10};
    int i = 1;
    while (i + 1 < argc && argv[i][0] == '-' && take_option(&settings, argv[i][1], argv[i + 1])) {
        i += 2;
    }
    settings.selectors = argv + i;
    settings.selector_count = (size_t)(argc - i);
    if (settings.pid_count == 0) {
        settings.pids[settings.pid_count++] = 1234;
    }
    if (!settings.output || settings.selector_count == 0 || argv[i][0] == '-') {
        fputs(usage, stderr);
        return 2;
    }
    struct error err = {0};
    if (!run(&settings, &err)) {
        fprintf(stderr, "etlsample: %s\n", err.text);
        return 1;
    }
    return 0;
}
