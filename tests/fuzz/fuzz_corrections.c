#include <stdlib.h>

#include "base/buf.h"
#include "decode/decode.h"
#include "fuzz/fuzz.h"
#include "schema/pack/pack.h"
#include "schema/source/corrections.h"

/*
 * A user's table is refused with a reason, or applies to any layout: the corrected schema is
 * finished, decodes any payload, and is not corrected a second time.
 */
#define COLUMNS \
    "provider\tguid\tevents\tversions\tfield\twas\tin\tout\tlength\tcount\tbefore\tknown_from\n"

static const char layouts[] =
    "etwship-pack 1\nprovider 5e1f0a52-7c1d-4a2b-9f30-1122334455aa \"P\"\n"
    "event manifest 7 2\nfield \"n\" UInt8\nfield \"port\" UInt16\nfield \"a\" UInt32\n"
    "field \"data\" Binary length \"n\"\nfield \"text\" UnicodeString\nfield \"list\" UInt8 count "
    "\"n\"\n"
    "field \"s\" struct \"m\" 2 count \"n\"\nfield \"p\" Pointer optional\n"
    "member \"m\" UInt8\nmember \"o\" Binary length \"m\"\n"
    "event mof 0 1\nclass 9a280ac0-c8e0-11d1-84e2-00c04fb998a2\nopcode 7\nfield \"a\" UInt32\n"
    "field \"rest\" UInt16 rest\n";

static void decode(const struct event_schema *schema)
{
    static const uint8_t payload[] =
        "\x02\x01\xbb\x03 a payload of some bytes\0\0\0\x01\x02\x03\x04";
    struct trace_info trace = {.pointer_size = 8};
    const struct event_record record = {.kind = RECORD_EVENT,
        .pointer_size = 8,
        .payload = span_make(payload, sizeof(payload)),
        .trace = &trace};
    struct decoder decoder;
    struct event event;
    struct error err = {0};
    if (!decoder_init(&decoder, &err)) {
        abort();
    }
    decoder_run(&decoder, &record, schema, 8, &event);
    decoder_fini(&decoder);
}

static void apply(const struct corrections *corrections, const struct event_schema *layout)
{
    struct arena arena;
    struct event_schema schema = *layout;
    arena_init(&arena, 1 << 22);
    if (corrections_apply(corrections, &schema, &arena)) {
        decode(&schema);
        const struct schema_field *fields = schema.fields;
        if (!corrections_apply(corrections, &schema, &arena) || schema.fields != fields) {
            abort();
        }
    }
    arena_fini(&arena);
}

/* With the names of the columns in front, unless they are there. */
static void add(struct corrections *corrections, struct span table)
{
    enum { WORD = sizeof("provider") - 1 };
    struct error err = {0};
    struct buf text;
    buf_init(&text, 1 << 26);
    if (table.size < WORD || memcmp(table.data, COLUMNS, WORD) != 0) {
        buf_add_text(&text, COLUMNS);
    }
    buf_add(&text, table.data, table.size);
    if (!text.failed && !corrections_add(corrections, buf_span(&text), "f.tsv", &err) &&
        err.text[0] == '\0') {
        abort();
    }
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct schema_source_settings none;
    struct error err = {0};
    struct corrections *corrections = corrections_create(&none, &err);
    struct pack *pack = pack_read(span_text(layouts), "p", NULL, &err);
    if (!corrections || !pack) {
        abort();
    }
    add(corrections, span_make(data, size));
    for (size_t i = 0; i < pack->event_count; i++) {
        apply(corrections, pack->events[i]);
    }
    pack_destroy(pack);
    corrections_destroy(corrections);
    return 0;
}

static const char *const seeds[] = {
    COLUMNS
    "P\t-\t7\t*\tport\t-\tUInt16\tPort\t-\t-\t-\tx\n"
    "P\t5e1f0a52-7c1d-4a2b-9f30-1122334455aa\t1-9,12\t0-3\tnew\t-\tBinary\tIPv6\t16\t-\tdata\tx\n"
    "*\t-\t*\t*\ta\tUInt32\tPointer\t-\t-\tn\t-\tx\n",
    COLUMNS "# comment\r\n*\t-\t*\t*\tdata\tBinary\tAnsiString\t-\t-\t-\t-\tx\n"
            "*\t-\t5-\t1-\ttext\t-\t-\tXml\tn\t3\t-\tx\n*\t-\t*\t*\t*\t-\t-\t-\t-\t-\t-\tx\n",
    COLUMNS "*\t-\t*\t*\tn\tUInt8\tUnicodeString\t-\t0x10\tport\tlist\tx\n"
            "*\t-\t*\t*\tz\t-\tUInt8\t-\tn\tn\tp\tx\n*\t-\t*\t*\ts\t-\tUInt8\t-\t-\tn\t-\tx\n",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
