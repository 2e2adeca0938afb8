#include "schema/text/names.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/utf.h"
#include "event/model/type_names.h"

struct named_value {
    const char *name;
    uint64_t value;
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* clang-format off */
static const struct named_value levels[] = {
    {"LogAlways", 0}, {"Critical", 1}, {"Error", 2},
    {"Warning", 3},   {"Informational", 4}, {"Verbose", 5},
    {"Always", 0}, /* spelling of TraceEvent (PerfView) in manifests of registered providers */
};

static const struct named_value opcodes[] = {
    {"Info", 0},      {"Start", 1}, {"Stop", 2},   {"DC_Start", 3}, {"DC_Stop", 4},
    {"Extension", 5}, {"Reply", 6}, {"Resume", 7}, {"Suspend", 8},  {"Send", 9},
    {"Receive", 240},
};

static const struct named_value channels[] = {
    {"TraceClassic", 0}, {"System", 8}, {"Application", 9}, {"Security", 10},
    {"TraceLogging", 11}, {"ProviderMetadata", 12},
};

static const struct named_value keywords[] = {
    {"AnyKeyword", 0},
    {"ResponseTime", 0x0001000000000000},
    {"WDIDiag", 0x0004000000000000},
    {"WDIContext", 0x0002000000000000},
    {"SQM", 0x0008000000000000},
    {"AuditFailure", 0x0010000000000000},
    {"AuditSuccess", 0x0020000000000000},
    {"CorrelationHint", 0x0040000000000000},
    {"EventlogClassic", 0x0080000000000000},
};
/* clang-format on */

static bool find_value(
    const struct named_value *table, size_t count, struct span name, uint64_t *ret_value)
{
    for (size_t i = 0; i < count; i++) {
        if (span_equal_nocase(name, span_text(table[i].name))) {
            *ret_value = table[i].value;
            return true;
        }
    }
    return false;
}

bool names_in_type(struct span name, uint16_t *ret_type)
{
    uint16_t type;
    if (!type_names_find_in(names_local(name), &type) || type >= IN_WMI_TIME ||
        (type >= IN_COUNTED_STRING && type <= IN_NON_NUL_TERMINATED_ANSI_STRING)) {
        return false; /* types of classes, invalid in manifests */
    }
    *ret_type = type;
    return true;
}

bool names_out_type(struct span name, uint16_t *ret_type)
{
    return type_names_find_out(names_local(name), ret_type);
}

bool names_is_default_out(uint16_t in_type, uint16_t out_type)
{
    static const uint8_t defaults[] = {[IN_UNICODE_STRING] = OUT_STRING,
        [IN_ANSI_STRING] = OUT_STRING,
        [IN_INT8] = OUT_BYTE,
        [IN_UINT8] = OUT_UNSIGNED_BYTE,
        [IN_INT16] = OUT_SHORT,
        [IN_UINT16] = OUT_UNSIGNED_SHORT,
        [IN_INT32] = OUT_INT,
        [IN_UINT32] = OUT_UNSIGNED_INT,
        [IN_INT64] = OUT_LONG,
        [IN_UINT64] = OUT_UNSIGNED_LONG,
        [IN_FLOAT] = OUT_FLOAT,
        [IN_DOUBLE] = OUT_DOUBLE,
        [IN_BOOLEAN] = OUT_BOOLEAN,
        [IN_BINARY] = OUT_HEX_BINARY,
        [IN_GUID] = OUT_GUID,
        [IN_POINTER] = OUT_HEX_INT64,
        [IN_FILETIME] = OUT_DATETIME,
        [IN_SYSTEMTIME] = OUT_DATETIME,
        [IN_SID] = OUT_STRING,
        [IN_HEX_INT32] = OUT_HEX_INT32,
        [IN_HEX_INT64] = OUT_HEX_INT64,
        [IN_MANIFEST_COUNTED_STRING] = OUT_STRING,
        [IN_MANIFEST_COUNTED_ANSI_STRING] = OUT_STRING,
        [IN_MANIFEST_COUNTED_BINARY] = OUT_HEX_BINARY};
    return in_type < sizeof(defaults) && out_type && defaults[in_type] == out_type;
}

bool names_has_length(uint16_t in_type)
{
    return in_type == IN_UNICODE_STRING || in_type == IN_ANSI_STRING || in_type == IN_BINARY;
}

struct span names_local(struct span qualified)
{
    const uint8_t *colon = qualified.size ? memchr(qualified.data, ':', qualified.size) : NULL;
    return colon ? span_from(qualified, (size_t)(colon - qualified.data) + 1) : qualified;
}

struct span names_without_win(struct span name)
{
    return span_is(span_first(name, 4), "win:") ? span_from(name, 4) : name;
}

struct span names_without_space(struct span text)
{
    return text.size && text.data[text.size - 1] == ' ' ? span_first(text, text.size - 1) : text;
}

bool names_winmeta_level(struct span local, uint64_t *ret_value)
{
    return find_value(levels, COUNT_OF(levels), local, ret_value);
}

bool names_winmeta_opcode(struct span local, uint64_t *ret_value)
{
    return find_value(opcodes, COUNT_OF(opcodes), local, ret_value);
}

bool names_winmeta_channel(struct span local, uint64_t *ret_value)
{
    return find_value(channels, COUNT_OF(channels), local, ret_value);
}

bool names_winmeta_keyword(struct span local, uint64_t *ret_mask)
{
    return find_value(keywords, COUNT_OF(keywords), local, ret_mask);
}

struct span names_of_level(uint8_t value, struct span name)
{
    const char *built_in = schema_level_name(value);
    return built_in ? span_text(built_in) : names_without_win(name);
}

struct span names_of_opcode(uint8_t value, struct span name)
{
    const char *built_in = schema_opcode_name(value);
    return built_in ? span_text(built_in) : names_without_win(name);
}

bool names_number(struct span text, uint64_t max, uint64_t *ret_value)
{
    bool hex = text.size > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x';
    unsigned base = hex ? 16 : 10;
    uint64_t value = 0;
    if (text.size == 0) {
        return false;
    }
    for (size_t i = hex ? 2 : 0; i < text.size; i++) {
        unsigned digit = hex_digit(text.data[i]);
        if (digit >= base || value > (max - (digit < max ? digit : max)) / base) {
            return false;
        }
        value = value * base + digit;
    }
    if (value > max) {
        return false;
    }
    *ret_value = value;
    return true;
}

bool names_from_utf16(struct arena *arena, struct span utf16, struct span *ret_text)
{
    utf16 = span_first(utf16, utf16_until_nul(utf16));
    uint8_t *text = malloc(utf16_json_bound(utf16.size));
    if (!text) {
        return false;
    }
    bool ok = arena_copy(arena, span_make(text, utf16_to_utf8(utf16, text)), ret_text);
    free(text);
    return ok;
}

bool names_join(
    struct arena *arena, struct span a, const char *separator, struct span b, struct span *ret_text)
{
    size_t separator_size = strlen(separator);
    uint8_t *text = arena_alloc(arena, a.size + separator_size + b.size + 1);
    if (!text) {
        return false;
    }
    if (a.size) {
        memcpy(text, a.data, a.size);
    }
    memcpy(text + a.size, separator, separator_size);
    if (b.size) {
        memcpy(text + a.size + separator_size, b.data, b.size);
    }
    *ret_text = span_make(text, a.size + separator_size + b.size);
    return true;
}
