#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "decode/decode.h"
#include "event/formats/event_format.h"
#include "event/model/schema_parameters.h"
#include "event/write/event_writer.h"
#include "schema/cache/schema_log.h"
#include "support/json_check.h"

/*
 * Any bytes as the message of a definition, and the bytes after it as the values of a record: the
 * message is rewritten for the record, texts of parameters are inserted, and the event is one
 * object of JSON.
 */
enum { MAX_MEMORY = 1 << 22, HEAD_BYTES = 3, NUMBER_BYTES = 4, MAX_TEXT = 4096 };

static const struct schema_parameter texts[] = {{1, {(const uint8_t *)"one", 3}},
    {7, {(const uint8_t *)"100% %1 %%7\n\"", 12}}, {1842, {(const uint8_t *)"Yes", 3}}};
static const struct schema_parameters parameters = {.list = texts, .count = 3};

static struct schema_field text_field(const char *name)
{
    return (struct schema_field){
        .name = span_text(name), .in_type = IN_MANIFEST_COUNTED_STRING, .count = 1};
}

/* First, and a struct of a number and Second if ${has_struct}, else only Second. */
static void make_own(struct event_schema *schema, struct schema_field fields[4], bool has_struct)
{
    fields[0] = text_field("First");
    if (has_struct) {
        fields[1] = (struct schema_field){.name = span_text("Struct"),
            .flags = FIELD_STRUCT,
            .count = 1,
            .struct_start = 2,
            .struct_members = 2};
        fields[2] = (struct schema_field){
            .name = span_text("Number"), .in_type = IN_UINT32, .count = 1};
        fields[3] = text_field("Second");
    } else {
        fields[1] = text_field("Second");
    }
    *schema = (struct event_schema){.kind = SCHEMA_EVENTLOG,
        .source = "eventlog",
        .has_layout = true,
        .fields = fields,
        .field_count = has_struct ? 4 : 2,
        .top_count = 2};
}

static void add_text(struct buf *payload, struct span text)
{
    text = span_first(text, MAX_TEXT);
    buf_add_le16(payload, (uint16_t)text.size);
    buf_add_span(payload, text);
}

static void write_event(const struct event_schema *schema, struct span payload)
{
    static const struct event_writer_settings plain;
    const struct event_record record = {
        .kind = RECORD_EVENT, .present = RECORD_OF_LOG, .pointer_size = 8, .payload = payload};
    struct event_writer *writer = event_writer_create(&plain, NULL);
    struct decoder decoder;
    struct event event;
    struct buf out;
    buf_init(&out, MAX_MEMORY);
    if (!writer || !decoder_init(&decoder, NULL)) {
        abort();
    }
    decoder_run(&decoder, &record, schema, 8, &event);
    for (int i = 0; i < 2; i++) { /* the head of the second one is kept from the first */
        buf_reset(&out);
        event_format_find(span_text("native"))->event(writer, &event, &out);
        size_t at;
        if (!out.failed && json_check_line(buf_span(&out), &at)) {
            abort();
        }
    }
    decoder_fini(&decoder);
    event_writer_destroy(writer);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES) {
        return 0;
    }
    struct span rest = span_make(data + HEAD_BYTES, size - HEAD_BYTES);
    bool has_struct = data[0] & 1;
    struct schema_field own_fields[4];
    struct schema_field fields[] = {text_field("First"), text_field("Missing"),
        text_field("Second"),
        {.name = span_text("Number"), .in_type = IN_UINT32, .out_type = OUT_IPV4, .count = 1}};
    struct event_schema own;
    struct event_schema definition = {.has_layout = true,
        .source = "manifest",
        .fields = fields,
        .field_count = 4,
        .top_count = 4,
        .message = span_first(rest, data[1] | (size_t)data[2] << 8)};
    rest = span_from(rest, definition.message.size);
    struct arena arena;
    struct buf payload;
    struct error err;
    arena_init(&arena, MAX_MEMORY);
    buf_init(&payload, MAX_MEMORY);
    make_own(&own, own_fields, has_struct);
    if (!schema_finish(&own, &arena, &err) || !schema_finish(&definition, &arena, &err)) {
        abort();
    }
    add_text(&payload, span_first(rest, rest.size / 4 * 2));
    if (has_struct) {
        buf_add(&payload, "\1\2\3\4", NUMBER_BYTES);
    }
    add_text(&payload, span_from(rest, rest.size / 4 * 2));
    struct event_schema *joined = schema_log_join(
        &own, &definition, data[0] & 2 ? &parameters : NULL, &arena);
    if (joined) {
        joined->serial = 1;
        write_event(joined, buf_span(&payload));
    }
    buf_fini(&payload);
    arena_fini(&arena);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char message[] =
        "%1 and %2!s! of %3 or %4!x!0, %%1842 %%7 %%%%, %9%n%t%b%r%0 %10%1";
    static const uint8_t values[] = {'%', 0, '%', 0, '1', 0, '8', 0, '4', 0, '2', 0, 0, 0, 'x', 0,
        '%', 0, '%', 0, '7', 0, ' ', 0, '%', 0, '%', 0, '9', 0, 0xff, 0xd8};
    const size_t message_size = sizeof(message) - 1;
    size_t size = HEAD_BYTES + message_size + sizeof(values);
    if (index > 3 || size > max) {
        return 0;
    }
    out[0] = (uint8_t)index;
    out[1] = (uint8_t)message_size;
    out[2] = 0;
    memcpy(out + HEAD_BYTES, message, message_size);
    memcpy(out + HEAD_BYTES + message_size, values, sizeof(values));
    return size;
}
