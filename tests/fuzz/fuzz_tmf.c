#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "fuzz/fuzz.h"
#include "schema/wpp/wpp_plan.h"

/*
 * Trace message formats and records of them: a 16-bit size, a text of that size, and what remains
 * is the payload of one record of every message that the text describes.
 */
enum { MAX_OUT = 1 << 26, MAX_ARENA = 1 << 26 };

struct made {
    struct arena arena;
    struct decoder decoder;
    struct event_writer *writer;
    struct buf out;
    struct span payload;
    uint32_t serial;
    const struct tmf_message *last;
};

static void write_event(struct made *made, const struct event_schema *schema, uint8_t pointer_size)
{
    const struct event_record record = {.kind = RECORD_MESSAGE,
        .pointer_size = pointer_size,
        .provider = schema->provider,
        .descriptor = {.id = schema->descriptor.id},
        .payload = made->payload};
    struct event event;
    decoder_run(&made->decoder, &record, schema, pointer_size, &event);
    buf_reset(&made->out);
    event_format_native.event(made->writer, &event, &made->out);
    if (!made->out.failed && (made->out.size < 2 || made->out.data[made->out.size - 1] != '\n')) {
        abort();
    }
}

static void compare(const struct tmf_message *a, const struct tmf_message *b)
{
    bool same = a->number == b->number && a->argument_count == b->argument_count &&
                span_equal(a->module, b->module) && span_equal(a->source, b->source) &&
                span_equal(a->name, b->name) && span_equal(a->format, b->format) &&
                span_equal(a->level, b->level) && span_equal(a->flags, b->flags) &&
                span_equal(a->function, b->function);
    for (size_t i = 0; same && i < a->argument_count; i++) {
        same = span_equal(a->arguments[i].expression, b->arguments[i].expression) &&
               span_equal(a->arguments[i].type, b->arguments[i].type) &&
               span_equal(a->arguments[i].names, b->arguments[i].names);
    }
    if (!same) {
        abort();
    }
}

/* The source keeps copies, too. */
static bool on_message(void *self, const struct tmf_message *read)
{
    struct made *made = self;
    struct error err = {0};
    const struct tmf_message *message = tmf_message_copy(read, made->last, &made->arena);
    if (!message) {
        return false;
    }
    compare(message, read);
    made->last = message;
    struct event_schema *schema = wpp_plan_make(message, &made->arena, &err);
    if (!schema) {
        if (err.code == ERR_NONE || err.text[0] == '\0') {
            abort();
        }
        return true;
    }
    if (schema->field_count > message->argument_count) {
        abort();
    }
    schema->serial = ++made->serial;
    write_event(made, schema, 8);
    write_event(made, schema, 4);
    return true;
}

static void on_warning(void *self, const char *text)
{
    (void)self;
    if (strncmp(text, "fuzz.tmf:", 9) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct event_writer_settings settings;
    struct span input = span_make(data, size);
    size_t text_size = size >= 2 ? load_le16(data) : 0;
    struct span text = span_first(span_from(input, 2), text_size);
    struct made made = {.payload = span_from(input, 2 + text.size)};
    struct error err = {0};
    arena_init(&made.arena, MAX_ARENA);
    buf_init(&made.out, MAX_OUT);
    made.writer = event_writer_create(&settings, NULL);
    if (made.writer && decoder_init(&made.decoder, &err)) {
        const struct tmf_sink sink = {.message = on_message, .warn = on_warning, .self = &made};
        tmf_read(text, &made.arena, "fuzz.tmf", &sink, &err);
    }
    decoder_fini(&made.decoder);
    event_writer_destroy(made.writer);
    buf_fini(&made.out);
    arena_fini(&made.arena);
    return 0;
}

#define HEAD "a5bbbdd9-73f9-3bed-93aa-521a4c96d934 m // SRC=a.c MJ= MN=\n#typev a_c31 10 "
#define TAIL " //   LEVEL=L FLAGS=F FUNC=f\n{\n"

static const struct {
    const char *text;
    const char *payload;
} seeds[] = {
    {HEAD "\"%0[%!FUNC!] %10!d! %11!-8s! %12!08I64x! %13!s! %9!d!\\n\"" TAIL
          "a, ItemLong -- 10\nb, ItemString -- 11\nc, ItemLongLongX -- 12\nd, ItemNTSTATUS -- "
          "13\n}\n",
        "\x2a\x01\x01\x01text\0\x01\x02\x03\x04\x05\x06\x07\x08\x22\x01\x01\xc0"},
    {HEAD "\"%10!s!%11!s!%12!s!%13!s!%14!s!\"" TAIL
          "a, ItemListByte(Low,APC) -- 10\nb, ItemSetByte(a,b,c) -- 11\nc, ItemPWString -- 12\n"
          "d, ItemHEXDump -- 13\ne, ItemSid -- 14\n}\n",
        "\x01\x05\x04\x01"
        "a\x01"
        "b\x01\x02\x01\xde\xad\x01\x01\x01\x01\x01\x01\x01\x05\x12\x01\x01\x01"},
    {"12:00 x " HEAD "\"%10!.2f!%11!s!%12!s!%13!s!%14!c!\"" TAIL
     "a, ItemDouble -- 10\r\nb, ItemIPV6Addr -- 11\nc, ItemMACAddr -- 12\nd, ItemGuid -- 13\n"
     "e, ItemChar -- 14\nf, ItemUnknown(x) -- 15\n",
        "\x01\x02\x03\x04\x05\x06\x07\x40"
        "0123456789abcdef"
        "macadr"
        "0123456789abcdef"
        "c"},
    {"\xff\xfe"
     "#\0t\0y\0p\0e\0",
        ""},
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0])) {
        return 0;
    }
    size_t text = strlen(seeds[index].text);
    size_t payload = strlen(seeds[index].payload);
    if (2 + text + payload > max) {
        return 0;
    }
    store_le16(out, (uint16_t)text);
    memcpy(out + 2, seeds[index].text, text);
    memcpy(out + 2 + text, seeds[index].payload, payload);
    return 2 + text + payload;
}
