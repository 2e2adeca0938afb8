#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "schema/manifest/manifest_xml.h"

/* Any bytes as an instrumentation manifest: it is refused or parsed, within its memory, and every
 * definition of it can be found again. */
#define PROVIDER "<provider name=\"P\" guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\">"

static const char *const seeds[] = {
    "<i><events>" PROVIDER
    "<channels><importChannel name=\"System\" chid=\"S\"/><channel name=\"P/Op\" chid=\"O\"/>"
    "</channels><levels><level name=\"L\" value=\"17\"/></levels><tasks><task name=\"T\" "
    "value=\"1\" message=\"$(string.t)\"><opcodes><opcode name=\"o\" value=\"20\"/></opcodes>"
    "</task></tasks><keywords><keyword name=\"K\" mask=\"0x1\"/></keywords>"
    "<events><event value=\"1\" version=\"2\" level=\"L\" task=\"T\" opcode=\"o\" keywords=\"K "
    "win:SQM\" channel=\"O\" message=\"$(string.t)\"/></events></provider></events>"
    "<localization><resources culture=\"en-US\"><stringTable><string id=\"t\" value=\"x %1 \"/>"
    "</stringTable></resources></localization></i>",
    "<i>" PROVIDER "<maps><valueMap name=\"v\"><map value=\"0x2\" message=\"b\"/><map value=\"-1\" "
    "symbol=\"a\"/></valueMap><bitMap name=\"b\"><map value=\"1\" message=\"c\"/></bitMap></maps>"
    "<template tid=\"t\"><data name=\"n\" inType=\"win:UInt8\" map=\"v\"/><struct name=\"s\" "
    "count=\"n\"><data name=\"m\" inType=\"win:Binary\" length=\"n\" outType=\"win:IPv6\"/>"
    "<struct name=\"u\"><data name=\"w\" inType=\"win:UnicodeString\" length=\"4\"/></struct>"
    "</struct><UserData><x>%1</x></UserData></template><event value=\"1\" template=\"t\"/>"
    "<event value=\"1\"><template><data name=\"a\" inType=\"win:SID\"/></template></event>"
    "</provider></i>",
    "<?xml version=\"1.0\" encoding=\"windows-1252\"?><!DOCTYPE i [<!ENTITY a \"b\">]><i>&a;</i>",
};

static void on_warning(void *self, const char *text)
{
    (void)self;
    if (!text[0]) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct manifest_options options = {
        .source = "manifest", .max_bytes = 1 << 24, .warn = on_warning};
    struct error err = {0};
    struct manifest *manifest = manifest_xml_parse(span_make(data, size), &options, &err);
    if (!manifest) {
        if (err.code == ERR_NONE || !err.text[0]) {
            abort();
        }
        return 0;
    }
    for (size_t i = 0; i < manifest->event_count; i++) {
        const struct event_schema *e = manifest->events[i];
        size_t first = 0;
        size_t count = manifest_events_find(
            manifest, &e->provider, e->descriptor.id, e->descriptor.version, &first);
        if (first > i || i >= first + count || !e->has_layout) {
            abort();
        }
    }
    manifest_events_destroy(manifest);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0])) {
        return 0;
    }
    size_t size = strlen(seeds[index]);
    size = size < max ? size : max;
    memcpy(out, seeds[index], size);
    return size;
}
