#ifndef ETWSHIP_TESTS_SUPPORT_DECODE_JSON_H
#define ETWSHIP_TESTS_SUPPORT_DECODE_JSON_H

#include "decode/decode.h"
#include "event/value/value_json.h"
#include "support/payload.h"
#include "support/test.h"

/*
 * Payload and schema to JSON, for tests that compare texts. What is wrong with a decode is part of
 * the result: `{…} +2` means two bytes left over, `{…} -3 error` that it broke off three bytes
 * before the end.
 */
static inline void decode_json(
    const struct event_schema *schema, struct span payload, uint8_t pointer_size, struct buf *out)
{
    static const struct trace_clock clock = {
        .type = TRACE_CLOCK_QPC, .start_time = 132000000000000000, .frequency = 10000000};
    static const struct value_context context = {.ansi = &codepage_1252, .clock = &clock};
    struct decoder decoder;
    assert_true(decoder_init(&decoder, NULL));
    struct event_record record = {.payload = payload};
    struct event event;
    decoder_run(&decoder, &record, schema, pointer_size, &event);
    buf_reset(out);
    value_json_object(&context, &event, 0, event.field_count, out);
    if (event.status == DECODE_RESIDUE) {
        buf_printf(out, " +%zu", event.rest.size);
    } else if (event.status == DECODE_PARTIAL) {
        buf_printf(out, " -%zu %s", event.rest.size, event.error);
    }
    assert_false(out->failed);
    decoder_fini(&decoder);
}

static inline void assert_decodes_at(const struct event_schema *schema, const char *payload_text,
    uint8_t pointer_size, const char *json, const char *file, int line)
{
    struct span payload = payload_make(payload_text);
    struct buf out;
    buf_init(&out, 1 << 24);
    decode_json(schema, payload, pointer_size, &out);
    assert_span_at(buf_span(&out), json, file, line);
    buf_fini(&out);
    payload_free(payload);
}

#define assert_decodes(schema, payload, pointer_size, json) \
    assert_decodes_at((schema), (payload), (pointer_size), (json), __FILE__, __LINE__)

#endif
