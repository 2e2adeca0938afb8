#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "fuzz/fuzz.h"
#include "support/json_check.h"

/*
 * A message template and the values that it names: byte 0 is the number of properties (0 to 7),
 * with bit 7 if numbers have names; byte 1 is the size of the template, which follows; the rest is
 * the payload: alternating texts and numbers. The event is written twice, so that the second time
 * uses what was kept of the first; both lines must be one and the same JSON object.
 */
enum { MAX_FIELDS = 7, MAX_JSON = 1 << 24 };

static const struct schema_map_entry entries[] = {
    {0x2031, {(const uint8_t *)"na\"me%1", 7}}, {0, {(const uint8_t *)"", 0}}};

static bool make_schema(struct event_schema *schema, uint8_t head, struct span template,
    const struct schema_map *map, struct arena *arena)
{
    uint16_t count = head % (MAX_FIELDS + 1);
    struct schema_field *fields = arena_alloc_array(arena, count, sizeof(*fields));
    *schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .source = "fuzz",
        .serial = 1,
        .has_layout = true,
        .message = template,
        .fields = fields,
        .field_count = count,
        .top_count = count};
    for (uint16_t i = 0; fields && i < count; i++) {
        fields[i] = (struct schema_field){.in_type = i % 2 ? IN_UINT16 : IN_ANSI_STRING,
            .count = 1,
            .map = i % 2 && head & 0x80 ? map : NULL};
    }
    return (fields || !count) && schema_finish(schema, arena, NULL);
}

static void check(struct span first, struct span second)
{
    size_t at;
    if (!span_equal(first, second) || json_check_line(first, &at)) {
        abort();
    }
}

static void write_twice(const struct event *event)
{
    static const struct event_writer_settings settings;
    struct event_writer *writer = event_writer_create(&settings, NULL);
    struct buf lines[2];
    for (size_t i = 0; i < 2; i++) {
        buf_init(&lines[i], MAX_JSON);
        if (writer) {
            event_format_native.event(writer, event, &lines[i]);
        }
    }
    if (writer && !lines[0].failed && !lines[1].failed) {
        check(buf_span(&lines[0]), buf_span(&lines[1]));
        buf_reset(&lines[0]);
        event_format_pretty.event(writer, event, &lines[0]);
    }
    buf_fini(&lines[0]);
    buf_fini(&lines[1]);
    event_writer_destroy(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct schema_map map = {.kind = MAP_VALUE, .entries = entries, .entry_count = 1};
    struct span input = span_make(data, size);
    if (size < 2) {
        return 0;
    }
    struct span template = span_first(span_from(input, 2), data[1]);
    /* Blocks of the exact size, so that a sanitizer sees every read beyond them. */
    uint8_t *text = malloc(template.size + 1);
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct decoder decoder;
    struct event_schema schema;
    if (text && decoder_init(&decoder, NULL)) {
        memcpy(text, template.data, template.size);
        template.data = text;
        struct event_record record = {.kind = RECORD_EVENT,
            .pointer_size = 8,
            .payload = span_from(input, 2 + template.size)};
        struct event event;
        if (make_schema(&schema, data[0], template, &map, &arena)) {
            decoder_run(&decoder, &record, &schema, 8, &event);
            write_twice(&event);
        }
        decoder_fini(&decoder);
    }
    free(text);
    arena_fini(&arena);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const templates[] = {"%1", "[%1]%2!08x! %3 %9 %10", "a%n%t%%%b%r% %.%!%0x",
        "%", "%1!", "%1!s", "\"%\"%\\\r\n%\xc3\xa9%2",
        "%2%2%2%2%2%2%2%2%2%2%2%2%2%1%2%2%1%2%2%1%1%1%1%1%1%1%1%1%1%1%1%1%1%1"};
    static const char payload[] = "te\"xt\0"
                                  "1 "
                                  "\x1b%2\0"
                                  "ab"
                                  "";
    if (index >= sizeof(templates) / sizeof(templates[0])) {
        return 0;
    }
    size_t length = strlen(templates[index]);
    if (2 + length + sizeof(payload) > max) {
        return 0;
    }
    out[0] = index % 2 ? 0x84 : 0x04;
    out[1] = (uint8_t)length;
    memcpy(out + 2, templates[index], length);
    memcpy(out + 2 + length, payload, sizeof(payload));
    return 2 + length + sizeof(payload);
}
