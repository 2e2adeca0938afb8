#include "input/record/host_facts.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/utf.h"

enum { NAME_BYTES = 512, TEXT_BYTES = 512 };

/* {9b79ee91-b5fd-41c0-a243-4248e266e9d0} */
static const uint8_t config_ex[16] = {
    0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41, 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0};

struct span host_facts_architecture(uint32_t number)
{
    switch (number) {
    case 0:
        return span_text("x86");
    case 5:
        return span_text("arm");
    case 6:
        return span_text("ia64");
    case 9:
        return span_text("x86_64");
    case 12:
        return span_text("arm64");
    default:
        return span_make(NULL, 0);
    }
}

size_t host_facts_system(struct span product, uint32_t build, uint8_t *ret_name)
{
    enum { FIRST_WINDOWS_11 = 22000 };
    static const char ten[] = "Windows 10";
    memcpy(ret_name, product.data, product.size);
    if (build >= FIRST_WINDOWS_11 &&
        span_equal(span_first(product, sizeof(ten) - 1), span_text(ten))) {
        ret_name[sizeof(ten) - 2] = '1';
    }
    return product.size;
}

/* Do records of this class, classic or not, describe the machine? */
static bool is_class(const uint8_t class_guid[16])
{
    return memcmp(class_guid, config_ex, sizeof(config_ex)) == 0;
}

/* Convert UTF-16 up to its NUL to UTF-8 in ${arena}. */
static struct span keep_text(struct span utf16, struct arena *arena)
{
    struct span text = span_first(utf16, utf16_until_nul(utf16));
    uint8_t *room = text.size ? arena_alloc(arena, utf16_json_bound(text.size)) : NULL;
    return room ? span_make(room, utf16_to_utf8(text, room)) : span_make(NULL, 0);
}

static struct span join_names(struct span name, struct span domain, struct arena *arena)
{
    uint8_t *room = name.size && domain.size ? arena_alloc(arena, name.size + 1 + domain.size)
                                             : NULL;
    if (!room) {
        return span_make(NULL, 0);
    }
    memcpy(room, name.data, name.size);
    room[name.size] = '.';
    memcpy(room + name.size + 1, domain.data, domain.size);
    return span_make(room, name.size + 1 + domain.size);
}

/* Layout: five u32, the name in 256 units, the domain in 132 units, or 134 since version 2. Since
 * version 3 two pointers and the architecture follow. */
static void learn_cpu(
    struct trace_info *trace, const struct event_record *record, struct arena *arena)
{
    enum { NAME_AT = 20, DOMAIN_AT = NAME_AT + NAME_BYTES, OLD_BYTES = 264, DOMAIN_BYTES = 268 };
    uint8_t version = record->descriptor.version;
    struct span payload = record->payload;
    size_t at = DOMAIN_AT + DOMAIN_BYTES + 2u * record->pointer_size;
    if (version >= 3 && payload.size >= at + 2 && !trace->host_architecture.size) {
        trace->host_architecture = host_facts_architecture(load_le16(payload.data + at));
    }
    if (trace->host_name.size) {
        return;
    }
    trace->host_domain = keep_text(
        span_first(span_from(payload, DOMAIN_AT), version < 2 ? OLD_BYTES : DOMAIN_BYTES), arena);
    trace->host_name = keep_text(span_first(span_from(payload, NAME_AT), NAME_BYTES), arena);
    trace->host_fqdn = join_names(trace->host_name, trace->host_domain, arena);
}

/* Layout: installation time, build such as 22000.613.amd64fre..., product. */
static void learn_build(
    struct trace_info *trace, const struct event_record *record, struct arena *arena)
{
    enum { BUILD_AT = 8, MAX_BUILD_DIGITS = 9 };
    struct span rest = span_from(record->payload, BUILD_AT);
    if (trace->os_name.size || rest.size > 2 * TEXT_BYTES) {
        return;
    }
    uint32_t build = 0;
    size_t build_bytes = utf16_until_nul(rest);
    for (size_t i = 0; i < MAX_BUILD_DIGITS && (i + 1) * 2 <= build_bytes; i++) {
        uint16_t digit = load_le16(rest.data + i * 2);
        if (digit < '0' || digit > '9') {
            break;
        }
        build = build * 10 + (digit - '0');
    }
    struct span product = keep_text(span_from(rest, build_bytes + 2), arena);
    uint8_t *name = product.size ? arena_alloc(arena, product.size) : NULL;
    if (name) {
        trace->os_name = span_make(name, host_facts_system(product, build, name));
    }
}

/* Facts are only added, so their size tells whether some were. */
static size_t size_of_facts(const struct trace_info *trace)
{
    return trace->host_name.size + trace->host_domain.size + trace->host_fqdn.size +
           trace->host_architecture.size + trace->os_name.size;
}

bool host_facts_learn(
    struct trace_info *trace, const struct event_record *record, struct arena *arena)
{
    enum { HOOK_CONFIG_CPU = 0x0b0a, OPCODE_BUILD = 32 };
    bool is_cpu = record->kind == RECORD_KERNEL && record->hook_id == HOOK_CONFIG_CPU;
    bool is_build = record->kind == RECORD_CLASSIC && record->descriptor.opcode == OPCODE_BUILD &&
                    is_class(record->provider.bytes);
    if (!is_cpu && !is_build) {
        return false;
    }
    size_t before = size_of_facts(trace);
    (is_cpu ? learn_cpu : learn_build)(trace, record, arena);
    return size_of_facts(trace) != before;
}
