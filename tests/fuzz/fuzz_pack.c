#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "schema/pack/pack.h"

/* A pack that is read can be written, and that text reads back to the same pack. */
enum { MAX_TEXT = 1 << 26 };

static const struct schema_parameters *texts_of(void *self, const struct event_schema *schema)
{
    const struct pack *pack = self;
    return pack_parameters_find(&pack->parameters, &schema->provider, schema->provider_name);
}

static struct pack *read_and_write(struct span text, struct buf *out)
{
    struct error err = {0};
    struct pack *pack = pack_read(text, "fuzz.pack", NULL, &err);
    buf_init(out, MAX_TEXT);
    if (!pack) {
        if (err.code == ERR_NONE || err.text[0] == '\0') {
            abort();
        }
        return NULL;
    }
    const struct pack_texts texts = {.self = pack, .find = texts_of};
    pack_write((const struct event_schema *const *)pack->events, pack->event_count, &texts, out);
    return pack;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf first;
    struct buf second;
    struct pack *pack = read_and_write(span_make(data, size), &first);
    if (pack && !first.failed) {
        struct pack *again = read_and_write(buf_span(&first), &second);
        if (!again || !span_equal(buf_span(&first), buf_span(&second))) {
            abort();
        }
        buf_fini(&second);
        pack_destroy(again);
    }
    pack_destroy(pack);
    buf_fini(&first);
    return 0;
}

static const char *const seeds[] = {
    "etwship-pack 2\n"
    "provider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d \"P\"\n"
    "map \"M\" values\n  entry 1 \"one\"\n  entry 0x2 \"t\\\"\\\\\\n\\x01wo\"\n"
    "map \"B\" bits\n  entry 0x80 \"b\"\n"
    "event manifest 1 0\n"
    "  name \"n\"\n  opcode 1 \"o\"\n  task 2\n  level 4 \"l\"\n  channel 16 \"c\"\n"
    "  keywords 0x8000000000000000\n  keyword 0x1 \"k\"\n  message \"%1\"\n"
    "  field \"N\" UInt8 as HexInt8 map \"M\"\n"
    "  field \"S\" struct \"X\" 2 count \"N\"\n"
    "  field \"B\" Binary length @0\n"
    "  field \"R\" Pointer rest optional\n"
    "  member \"X\" UInt32 map \"B\" count 3\n"
    "  member \"Y\" UnicodeString as 99 length 5 fixed_length fixed_count counted\n",
    "etwship-pack 3\nprovider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d \"P\"\n"
    "parameters 0x409\n  parameter 1843 \"No\"\n  parameter 7 \"b\\n\"\nevent manifest 1 0\n"
    "parameters 0\nparameter 4294967295 \"\"\n",
    "etwship-pack 1 # comment\nprovider {1C95126E-7EEA-49A9-A3FE-A378B03DDB4D} \"\"\r\n"
    "event mof 0 2 no_layout\n class 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c\n opcode 36\n"
    "event eventsource 7 0\nfield \"a\" UInt8\nfield \"a\" UInt8\nfield \"\" AnsiString\n",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
