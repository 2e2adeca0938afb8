#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "event/formats/event_format.h"
#include "event/write/event_formats.h"
#include "fuzz/fuzz.h"
#include "fuzz/output_rig.h"
#include "support/json_check.h"
#include "support/otlp_text.h"

/*
 * The output of all formats for input that is as bad as possible: names and texts of any bytes, any
 * numbers in headers, extended items, definitions, processes and machines. The input is a list of
 * choices in the order in which make_writers() and run() ask for them (compilers may differ in the
 * order within one initializer); zeros follow its end. The result is one JSON object a line
 * (support/json_check.h says what that is), or, in the pretty format, valid UTF-8 without control
 * characters. The protobuf of otlp has the same content as the JSON of otel.
 */
enum {
    MAX_STACK = 3,
    MAX_OUT_BYTES = 1 << 24,
    ARENA_BYTES = 1 << 22,
    FORMATS = 5,
    OTEL = 3, /* of these */
    OTLP = 4,
    TRACES = 2
};

/* ---- checks of the result -------------------------------------------------------------------- */

struct output {
    const struct event_format *formats[FORMATS];
    struct event_writer *writers[FORMATS];
    struct buf lines[FORMATS];
    bool has_colors;
};

/* One record of protobuf, and the same as a line. */
static void check_otlp(struct span record, struct span line)
{
    struct buf text;
    buf_init(&text, MAX_OUT_BYTES);
    const char *wrong = record.size ? otlp_text(span_first(record, record.size - 1), &text)
                                    : "no record";
    if (!text.failed && (wrong || !span_equal(buf_span(&text), line))) {
        fprintf(stderr, "otlp: %s: %.*s: %.*s\n", wrong ? wrong : "not what JSON says",
            SPAN_ARG(buf_span(&text)), SPAN_ARG(line));
        abort();
    }
    buf_fini(&text);
}

static void check(const struct output *output)
{
    if (!output->lines[OTEL].failed && !output->lines[OTLP].failed) {
        check_otlp(buf_span(&output->lines[OTLP]), buf_span(&output->lines[OTEL]));
    }
    for (size_t i = 0; i < OTLP; i++) {
        size_t at = 0;
        struct span line = buf_span(&output->lines[i]);
        bool is_pretty = output->formats[i] == &event_format_pretty;
        if (output->lines[i].failed || (is_pretty && output->has_colors)) {
            continue;
        }
        const char *wrong = is_pretty ? json_check_utf8(line, &at) : json_check_line(line, &at);
        if (wrong || line.size == 0 || line.data[line.size - 1] != '\n') {
            fprintf(stderr, "%s: byte %zu: %s: %.*s\n", output->formats[i]->name, at,
                wrong ? wrong : "no end of the line", SPAN_ARG(line));
            abort();
        }
    }
}

static void reset(struct output *output)
{
    for (size_t i = 0; i < FORMATS; i++) {
        buf_reset(&output->lines[i]);
    }
}

/* The facts about all events come before the records in the input. */
struct world {
    struct trace_info traces[TRACES];
    struct event_schema *schema;
    struct event_process process;
    struct decoder *decoder;
};

static void write_event(struct input *in, const struct world *world, struct output *output)
{
    struct event_record record;
    struct event event;
    uint64_t stack[MAX_STACK];
    uint8_t choice = reader_u8(&in->r);
    make_record(in, world->traces, &record);
    decoder_run(
        world->decoder, &record, choice & 1 ? NULL : world->schema, choice & 2 ? 4 : 8, &event);
    event.process = choice & 4 ? &world->process : NULL;
    event.error = choice & 8 ? pick_string(in) : event.error;
    event.stack_count = choice >> 4 & 3;
    for (size_t i = 0; i < event.stack_count; i++) {
        stack[i] = pick_number(in);
    }
    event.stack = event.stack_count ? stack : NULL;
    const struct event_rollup rollup = {
        .count = pick_number(in), .first = pick_number(in), .last = pick_number(in)};
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->event(output->writers[i], &event, &output->lines[i]);
    }
    check(output);
    for (size_t i = 0; choice & 0x40 && i < FORMATS; i++) {
        output->formats[i]->rollup(&rollup, &output->lines[i]);
    }
    check(output);
}

static void write_gap(struct input *in, const struct world *world, struct output *output)
{
    static const char *const stages[] = {"etw", "output", "file"};
    static const char *const reasons[] = {"events_lost", "global_message_numbers"};
    uint8_t choice = reader_u8(&in->r);
    const struct gap gap = {.stage = stages[choice % 3],
        .reason = reasons[choice >> 2 & 1],
        .unit = choice & 8 ? "events" : "bytes",
        .exact = choice & 16,
        .output = choice & 32 ? pick_string(in) : NULL,
        .provider = choice & 64 ? pick_string(in) : NULL,
        .trace = choice & 128 ? NULL : &world->traces[0],
        .count = pick_number(in),
        .from = pick_number(in),
        .to = pick_number(in)};
    uint64_t now = pick_number(in);
    uint64_t sequence = pick_number(in);
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->gap(output->writers[i], &gap, now, sequence, &output->lines[i]);
    }
    check(output);
}

static void write_guard(struct input *in, const struct world *world, struct output *output)
{
    uint8_t choice = reader_u8(&in->r);
    const struct guard_report report = {.kind = "clock_jumped",
        .action = (enum guard_action)(choice % GUARD_ACTIONS),
        .session = pick_text(in),
        .provider = pick_text(in),
        .provider_guid = pick_guid(in),
        .repairs = (uint32_t)pick_number(in),
        .detail = pick_text(in),
        .shift_ms = (int64_t)pick_number(in),
        .by_pid = (uint32_t)pick_number(in),
        .by_image = pick_text(in),
        .by_user = pick_text(in),
        .time = pick_number(in),
        .trace = choice & 128 ? NULL : &world->traces[1]};
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->guard(output->writers[i], &report, &output->lines[i]);
    }
    check(output);
}

static void write_status(struct input *in, struct output *output)
{
    const struct status status = {.counters = span_text("{\"a\":1}"), .message = pick_text(in)};
    uint64_t now = pick_number(in);
    uint64_t sequence = pick_number(in);
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->status(output->writers[i], &status, now, sequence, &output->lines[i]);
    }
    check(output);
}

static void run(struct input *in, struct world *world, struct output *output)
{
    for (size_t i = 0; i < TRACES; i++) {
        make_trace(in, &world->traces[i]);
    }
    make_process(in, &world->process);
    world->schema = make_schema(in);
    for (size_t i = 0; i < MAX_ITEMS && reader_left(&in->r); i++) {
        uint8_t item = reader_u8(&in->r);
        reset(output);
        if (item < 0xa0) {
            write_event(in, world, output);
        } else if (item < 0xd0) {
            write_gap(in, world, output);
        } else if (item < 0xf0) {
            write_guard(in, world, output);
        } else {
            write_status(in, output);
        }
    }
}

static bool make_writers(struct input *in, struct output *output, struct buf *tail)
{
    uint8_t flags = reader_u8(&in->r);
    uint8_t max_string_bytes = reader_u8(&in->r);
    in->labels[0] = span_text("a");
    in->labels[1] = pick_text(in);
    in->labels[2] = span_text("b\"");
    in->labels[3] = pick_text(in);
    in->tags[0] = pick_text(in);
    in->agent = (struct event_agent){.name = pick_text(in),
        .version = span_text("1"),
        .labels = in->labels,
        .label_count = 2,
        .tags = in->tags,
        .tag_count = 1};
    event_tail_render(&in->agent, tail);
    const struct event_writer_settings settings = {.session = pick_text(in),
        .tail = flags & 1 ? buf_span(tail) : span_make(NULL, 0),
        .agent = flags & 1 ? &in->agent : NULL,
        .colors = flags & 2,
        .options = {.uint64_strings = flags & 4,
            .dataset_varies = flags & 8,
            .max_string_bytes = flags & 16 ? 16u + max_string_bytes : 0}};
    output->has_colors = flags & 2;
    uint64_t read_at = pick_number(in);
    bool ok = true;
    for (size_t i = 0; i < FORMATS; i++) {
        static const char *const names[FORMATS] = {"native", "ecs", "pretty", "otel", "otlp"};
        output->formats[i] = event_format_find(span_text(names[i]));
        output->writers[i] = event_writer_create(&settings, NULL);
        buf_init(&output->lines[i], MAX_OUT_BYTES);
        ok = ok && output->writers[i];
        if (output->writers[i] && flags & 32) {
            event_writer_read_at(output->writers[i], read_at);
        }
    }
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.r = reader_make(span_make(data, size))};
    struct output output;
    struct decoder decoder;
    struct buf tail;
    buf_init(&tail, 1 << 16);
    arena_init(&in.arena, ARENA_BYTES);
    bool has_writers = make_writers(&in, &output, &tail);
    if (decoder_init(&decoder, NULL)) {
        struct world world = {.decoder = &decoder};
        if (has_writers) {
            run(&in, &world, &output);
        }
        decoder_fini(&decoder);
    }
    for (size_t i = 0; i < FORMATS; i++) {
        event_writer_destroy(output.writers[i]);
        buf_fini(&output.lines[i]);
    }
    for (size_t i = 0; i < in.payload_count; i++) {
        free(in.payloads[i]);
    }
    buf_fini(&tail);
    arena_fini(&in.arena);
    return 0;
}

/* Random choices: as many bytes as some events take; then again after a WPP message, and after a
 * trace with only a path. ONE is a choice without bytes after it: no text, a small number. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char tmf[] = "a5bbbdd9-73f9-3bed-93aa-521a4c96d934 d\"\\ // SRC=m\"\\.c MJ= MN=\n"
                              "#typev main_c31 10 \"%0v\\n\\\"=0x%10!x! %11!s! %1!s! %4!s! %8!d!\" "
                              "// LEVEL=\"E FLAGS=F FUNC=r\n"
                              "{\na\"b\\, ItemLong -- 10\nname, ItemString -- 11\n}\n";
    enum {
        SEEDS = 64,
        SIZE = 1500,
        ONE = 65,
        WORLD = 52,
        PATH_AT = 23,
        DEFINITION = 13,
        TEXT = 0xce
    };
    if (index >= SEEDS || max < SIZE) {
        return 0;
    }
    uint32_t state = (uint32_t)index * 2654435761u + 1;
    for (size_t i = 0; i < SIZE; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(state >> 24);
    }
    if (index % 4 == 0) {
        memset(out, ONE, WORLD);
        out[WORLD] = 0xff;
        out[WORLD + 1] = (sizeof(tmf) - 1) & 0xff;
        out[WORLD + 2] = (sizeof(tmf) - 1) >> 8;
        memcpy(out + WORLD + 3, tmf, sizeof(tmf) - 1);
    } else if (index % 4 == 1) {
        memset(out, ONE, WORLD + DEFINITION);
        out[PATH_AT] = TEXT;
        out[WORLD + DEFINITION] = index % 8 == 1 ? 0xa0 : 0xd0; /* a gap, or a guard's report */
    }
    return SIZE;
}
