#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "schema/pack/builtin_text.h"

/* Every schema that was read has passed schema_finish, and every failure has a reason. */
static void ignore(void *self, const char *text)
{
    (void)self;
    (void)text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct manifest_options options = {
        .source = "builtin", .kind = SCHEMA_MANIFEST, .max_bytes = 1 << 22, .warn = ignore};
    struct error err = {0};
    struct manifest *manifest = builtin_text_read(span_make(data, size), &options, &err);
    if (!manifest && (err.code == ERR_NONE || err.text[0] == '\0')) {
        abort();
    }
    for (size_t i = 0; manifest && i < manifest->event_count; i++) {
        const struct event_schema *schema = manifest->events[i];
        if (schema->top_count > schema->field_count || !schema->has_layout) {
            abort();
        }
    }
    manifest_events_destroy(manifest);
    return 0;
}

static const char *const seeds[] = {
    "# all of it\n"
    "provider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d \"A provider\"\n"
    "channel 16 P/Operational\nkeyword 0x10 Name\nlevel 6 \"L L\"\n"
    "task 1 Task 10=A\n  11=\"B C\"\ntask 2 -\n"
    "values M 0=a 1=\"b c\"\nbits B 0x80=x\n"
    "template t N:UInt16 K:UInt32@HexInt32=M F:UInt8=B S[N] { X:UInt8 Y { Z:AnsiString } }\n"
    "template u +t A:UInt16[3] R:Binary@IPv6(16) V:Binary(N) \"Two words\":UnicodeString\n"
    "event 1 0 4 1 10 0x8000000000000010 16 u *\n"
    "event 2 1 6 2 1 0x0 0 - \"a %1 text\"\n",
    "provider 1c95126e-7eea-49a9-a3fe-a378b03ddb4d P\r\ntemplate a A:UInt8\r\n"
    "template b +a +a\r\ntemplate c +b +b\r\nevent 3 0 0 0 0 0 0 c\r\n",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
