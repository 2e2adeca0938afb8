/* etlgen: writes a valid trace of any size, the same for the same command line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "support/etl_mix.h"
#include "support/etl_mix_schema.h"
#include "support/etl_writer.h"

static const char usage[] =
    "usage: etlgen [OPTION]... -o FILE\n"
    "Write a trace as Event Tracing for Windows would.\n"
    "\n"
    "  -o, --output FILE    the trace\n"
    "  --events N           events, not counting stacks and metadata (default 10000)\n"
    "  --cpus N             processors (default 4)\n"
    "  --buffer-size BYTES  of the session, a multiple of 8 (default 65536)\n"
    "  --records FILE       these records instead: each a 32-bit size and its bytes, on processor "
    "0\n"
    "  --mix NAME           realistic manifest tracelogging eventsource kernel wpp limit all\n"
    "  --compress NAME      none xpress lznt1 huff: as a merged trace\n"
    "  --pointer 4|8        width of pointers, and form of the header (default 8)\n"
    "  --clock NAME         qpc system cycles\n"
    "  --rate N             events per second of the trace's own time (default 50000)\n"
    "  --circular N         N buffers, then the oldest are overwritten in place\n"
    "  --append             a second session of as many events behind the first\n"
    "  --unclosed           the header says nothing of the end, as after a crash\n"
    "  --disorder           buffers are not in the order of their sequence numbers\n"
    "  --windows-7          8-bit processor numbers\n"
    "  --lost N             N events and N buffers are lost on the way\n"
    "  --descriptors N      keywords and opcodes of N calls take turns in each type (default 1)\n"
    "  --metadata WHERE     first last none: records that describe the manifest events\n"
    "  --seed N             another trace of the same kind\n"
    "  --manifest FILE      also write the providers' instrumentation manifest\n"
    "  --tmf FILE           also write the TMF file of the WPP messages\n"
    "\n"
    "Prints how many events of each kind the trace was given, and in which field they count.\n";

enum metadata_place { METADATA_FIRST, METADATA_LAST, METADATA_NONE };

struct settings {
    const char *output;
    const char *manifest;
    const char *tmf;
    const char *records;
    uint64_t events;
    uint64_t lost;
    uint64_t metadata;
    uint64_t append;
    uint64_t unclosed;
    struct etl_mix_options mix;
    struct etl_options trace;
    uint64_t counts[MIX_METADATA + 1];
    uint64_t bytes[MIX_METADATA + 1];
};

struct word {
    const char *name;
    uint64_t value;
};

static const struct word mixes[] = {{"realistic", MIX_REALISTIC}, {"manifest", MIX_MANIFEST},
    {"tracelogging", MIX_TRACELOGGING}, {"eventsource", MIX_EVENTSOURCE}, {"kernel", MIX_KERNEL},
    {"wpp", MIX_WPP_ONLY}, {"limit", MIX_LIMIT}, {"all", MIX_ALL}, {NULL, 0}};
static const struct word compressions[] = {{"none", ETL_STORED}, {"xpress", ETL_XPRESS},
    {"lznt1", ETL_LZNT1}, {"huff", ETL_XPRESS_HUFF}, {NULL, 0}};
static const struct word clocks[] = {{"qpc", TRACE_CLOCK_QPC}, {"system", TRACE_CLOCK_SYSTEM_TIME},
    {"cycles", TRACE_CLOCK_CPU_CYCLE}, {NULL, 0}};
static const struct word places[] = {
    {"first", METADATA_FIRST}, {"last", METADATA_LAST}, {"none", METADATA_NONE}, {NULL, 0}};

static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno || *end || end == text || *text == '-' || value < min || value > max) {
        return false;
    }
    *ret_value = value;
    return true;
}

static bool parse_word(const char *text, const struct word *words, uint64_t *ret_value)
{
    for (; words->name; words++) {
        if (strcmp(words->name, text) == 0) {
            *ret_value = words->value;
            return true;
        }
    }
    return false;
}

/* Everything that an option can say, before it finds its place. */
struct values {
    uint64_t cpus, buffer_size, mix, compression, pointer, clock, rate, circular, disorder,
        windows_7, seed, descriptors;
};

struct option {
    const char *name;
    uint64_t *number;         /* or */
    const char **text;        /* one of these two */
    const struct word *words; /* NULL: a number from min to max; min > max: a switch */
    uint64_t min, max;
};

static bool set_option(const struct option *option, const char *value)
{
    if (option->text) {
        *option->text = value;
        return true;
    }
    if (option->words) {
        return parse_word(value, option->words, option->number);
    }
    return parse_number(value, option->min, option->max, option->number);
}

static bool parse_options(const struct option *options, char **argv)
{
    for (char **arg = argv + 1; *arg; arg++) {
        const char *name = strcmp(*arg, "-o") == 0 ? "--output" : *arg;
        const struct option *option = options;
        while (option->name && strcmp(option->name, name) != 0) {
            option++;
        }
        if (!option->name) {
            fprintf(stderr, "etlgen: %s: no such option. see --help\n", *arg);
            return false;
        }
        if (option->min > option->max) {
            *option->number = 1;
            continue;
        }
        if (!arg[1] || !set_option(option, arg[1])) {
            fprintf(stderr, "etlgen: %s %s: not a value of this option. see --help\n", name,
                arg[1] ? arg[1] : "");
            return false;
        }
        arg++;
    }
    return true;
}

static bool parse(struct settings *s, char **argv)
{
    struct values v = {.cpus = 4,
        .buffer_size = 65536,
        .pointer = 8,
        .clock = TRACE_CLOCK_QPC,
        .rate = 50000,
        .seed = 1};
    const struct option options[] = {
        {"--output", NULL, &s->output, NULL, 0, 0},
        {"--manifest", NULL, &s->manifest, NULL, 0, 0},
        {"--tmf", NULL, &s->tmf, NULL, 0, 0},
        {"--records", NULL, &s->records, NULL, 0, 0},
        {"--events", &s->events, NULL, NULL, 0, UINT32_MAX},
        {"--cpus", &v.cpus, NULL, NULL, 1, 2048},
        {"--buffer-size", &v.buffer_size, NULL, NULL, 1024, 16 << 20},
        {"--mix", &v.mix, NULL, mixes, 0, 0},
        {"--compress", &v.compression, NULL, compressions, 0, 0},
        {"--pointer", &v.pointer, NULL, NULL, 4, 8},
        {"--clock", &v.clock, NULL, clocks, 0, 0},
        {"--rate", &v.rate, NULL, NULL, 1, 10000000},
        {"--circular", &v.circular, NULL, NULL, 1, UINT32_MAX / 2},
        {"--append", &s->append, NULL, NULL, 1, 0},
        {"--unclosed", &s->unclosed, NULL, NULL, 1, 0},
        {"--disorder", &v.disorder, NULL, NULL, 1, 0},
        {"--windows-7", &v.windows_7, NULL, NULL, 1, 0},
        {"--lost", &s->lost, NULL, NULL, 0, UINT32_MAX},
        {"--descriptors", &v.descriptors, NULL, NULL, 1, UINT32_MAX},
        {"--metadata", &s->metadata, NULL, places, 0, 0},
        {"--seed", &v.seed, NULL, NULL, 0, UINT64_MAX},
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    if (!parse_options(options, argv)) {
        return false;
    }
    if (!s->output) {
        fprintf(stderr, "etlgen: no output. give -o FILE; see --help\n");
        return false;
    }
    s->trace = (struct etl_options){.buffer_size = (uint32_t)v.buffer_size,
        .processors = (uint16_t)v.cpus,
        .pointer_size = (uint8_t)v.pointer,
        .windows_7 = v.windows_7 != 0,
        .clock = (enum trace_clock_type)v.clock,
        .start_raw = 123456789,
        .circular_buffers = (uint32_t)v.circular,
        .append = s->append != 0,
        .relogged = v.compression != ETL_STORED,
        .compression = (enum etl_compression)v.compression,
        .disorder = v.disorder != 0};
    s->mix = (struct etl_mix_options){.seed = v.seed,
        .profile = (enum etl_mix_profile)v.mix,
        .processors = (uint16_t)v.cpus,
        .pointer_size = (uint8_t)v.pointer,
        .events_per_second = (uint32_t)v.rate,
        .descriptors = (uint32_t)v.descriptors};
    return true;
}

static bool put(struct settings *s, struct etl_writer *writer, const struct etl_mix_event *event,
    struct error *err)
{
    if (!event) {
        return error_set(err, ERR_MEMORY, "no memory for an event");
    }
    s->counts[event->kind]++;
    s->bytes[event->kind] += event->bytes.size;
    return etl_writer_put(writer, event->record->cpu, event->record->time_raw, event->bytes, err);
}

static bool put_metadata(
    struct settings *s, struct etl_mix *mix, struct etl_writer *writer, struct error *err)
{
    const struct etl_mix_event *event;
    while ((event = etl_mix_metadata(mix)) != NULL) {
        if (!put(s, writer, event, err)) {
            return false;
        }
    }
    return true;
}

/* Losses are spread evenly over the session; each of the N strikes the processor of the moment. */
static void lose(const struct settings *s, struct etl_writer *writer, uint64_t done, uint16_t cpu)
{
    uint64_t every = s->lost ? s->events / (s->lost + 1) : 0;
    if (every && done % every == 0 && done / every <= s->lost) {
        etl_writer_lose_buffer(writer, cpu);
        etl_writer_lose_events(writer, cpu, 1);
    }
}

static bool put_events(
    struct settings *s, struct etl_mix *mix, struct etl_writer *writer, struct error *err)
{
    if (s->metadata == METADATA_FIRST && !put_metadata(s, mix, writer, err)) {
        return false;
    }
    for (uint64_t done = 0; done < s->events;) {
        const struct etl_mix_event *event = etl_mix_next(mix);
        if (!put(s, writer, event, err)) {
            return false;
        }
        if (event->kind < MIX_KINDS) {
            done++;
            lose(s, writer, done, event->record->cpu);
        }
    }
    return s->metadata != METADATA_LAST || put_metadata(s, mix, writer, err);
}

/* Records as another program has made them. They keep their own times. */
static bool put_records(struct settings *s, struct etl_writer *writer, struct error *err)
{
    uint8_t record[UINT16_MAX];
    uint8_t size_bytes[4];
    FILE *file = fopen(s->records, "rb");
    bool ok = file || error_set(err, ERR_IO, "%s: cannot be read", s->records);
    for (int64_t i = 0; ok && fread(size_bytes, 1, sizeof(size_bytes), file) == sizeof(size_bytes);
         i++) {
        size_t size = load_le32(size_bytes);
        ok = size <= sizeof(record) && fread(record, 1, size, file) == size;
        ok = ok ? etl_writer_put(writer, 0, s->trace.start_raw + i, span_make(record, size), err)
                : error_set(err, ERR_FORMAT, "%s: record %lld is cut off or too large", s->records,
                      (long long)i);
    }
    if (file) {
        fclose(file);
    }
    return ok;
}

/* One session at byte ${*offset} of ${file}, which is advanced. */
static bool write_session(struct settings *s, FILE *file, uint64_t *offset, struct error *err)
{
    s->mix.clock = etl_writer_clock(&s->trace);
    struct etl_mix *mix = etl_mix_create(&s->mix, err);
    struct etl_writer *writer = NULL;
    if (mix) {
        writer = etl_writer_create(&s->trace, etl_writer_to_file(file), *offset, err);
    }
    bool ok = writer &&
              (s->records ? put_records(s, writer, err) : put_events(s, mix, writer, err));
    ok = ok && (s->unclosed ? etl_writer_flush(writer, err) : etl_writer_close(writer, err));
    *offset = ok ? etl_writer_end(writer) : *offset;
    etl_writer_destroy(writer);
    etl_mix_destroy(mix);
    return ok;
}

static bool write_trace(struct settings *s, struct error *err)
{
    FILE *file = fopen(s->output, "wb");
    if (!file) {
        return error_set(err, ERR_IO, "%s: cannot be written", s->output);
    }
    uint64_t offset = 0;
    bool ok = write_session(s, file, &offset, err);
    if (ok && s->append) {
        const struct trace_clock clock = etl_writer_clock(&s->trace);
        const uint64_t pause_seconds = 3600;
        s->trace.start_time = clock.start_time + pause_seconds * 10000000;
        s->trace.start_raw += (int64_t)(pause_seconds * clock.frequency);
        s->mix.seed++;
        s->mix.last_sequence = s->events;
        ok = write_session(s, file, &offset, err);
    }
    if (fclose(file) != 0 && ok) {
        ok = error_set(err, ERR_IO, "%s: cannot be written", s->output);
    }
    return ok;
}

static bool write_text(const char *path, void (*make)(struct buf *), struct error *err)
{
    if (!path) {
        return true;
    }
    struct buf text;
    buf_init(&text, 1 << 20);
    make(&text);
    FILE *file = text.failed ? NULL : fopen(path, "wb");
    bool ok = file && fwrite(text.data, 1, text.size, file) == text.size;
    ok = (!file || fclose(file) == 0) && ok;
    buf_fini(&text);
    return ok || error_set(err, ERR_IO, "%s: cannot be written", path);
}

static void report(const struct settings *s)
{
    for (int i = 0; i <= MIX_METADATA; i++) {
        if (s->counts[i]) {
            const char *field = etl_mix_sequence_field((enum etl_mix_kind)i);
            printf("%-22s %12" PRIu64 " %14" PRIu64 " bytes  %s\n",
                etl_mix_kind_name((enum etl_mix_kind)i), s->counts[i], s->bytes[i],
                field ? field : "-");
        }
    }
}

int main(int argc, char **argv)
{
    struct settings settings = {.events = 10000};
    struct error err = {.code = ERR_NONE};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!parse(&settings, argv)) {
        return 2;
    }
    if (!write_trace(&settings, &err) ||
        !write_text(settings.manifest, etl_mix_manifest_xml, &err) ||
        !write_text(settings.tmf, etl_mix_schema_tmf, &err)) {
        fprintf(stderr, "etlgen: %s\n", err.text);
        return 1;
    }
    report(&settings);
    return 0;
}
