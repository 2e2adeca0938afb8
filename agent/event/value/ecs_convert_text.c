#include "event/value/ecs_convert_text.h"

#include "base/hex.h"
#include "base/put.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

struct span ecs_text_until(struct span *rest, char separator)
{
    const uint8_t *found = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
    size_t size = found ? (size_t)(found - rest->data) : rest->size;
    struct span piece = span_first(*rest, size);
    *rest = span_from(*rest, size + 1);
    return piece;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct span ecs_text_trim(struct span text)
{
    while (text.size && is_blank(text.data[0])) {
        text = span_from(text, 1);
    }
    while (text.size && is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

static bool begins_nocase(struct span text, const char *start)
{
    size_t size = strlen(start);
    return text.size >= size && span_equal_nocase(span_first(text, size), span_text(start));
}

bool ecs_text_number(struct span text, uint64_t *ret_number)
{
    unsigned base = begins_nocase(text, "0x") ? 16 : 10;
    size_t at = base == 16 ? 2 : 0;
    uint64_t number = 0;
    if (at >= text.size) {
        return false;
    }
    for (; at < text.size; at++) {
        unsigned digit = hex_digit(text.data[at]);
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *ret_number = number;
    return true;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

bool ecs_text_address(struct span text, struct ip_address *ret_address)
{
    if (text.size && text.data[0] == '[') {
        text = span_from(text, 1);
        text = ecs_text_until(&text, ']');
    } else if (!ip_parse(text, ret_address)) {
        /* One colon: a port. More: IPv6. */
        struct span rest = text;
        struct span first = ecs_text_until(&rest, ':');
        if (rest.size && !memchr(rest.data, ':', rest.size)) {
            text = first;
        }
    }
    return ip_parse(ecs_text_until(&text, '%'), ret_address);
}

void ecs_text_unmap(struct ip_address *address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (address->size == 16 && memcmp(address->bytes, mapped, sizeof(mapped)) == 0) {
        memmove(address->bytes, address->bytes + sizeof(mapped), 4);
        address->size = 4;
    }
}

bool ecs_text_host(struct span *text)
{
    struct ip_address address;
    while (text->size && text->data[0] == '\\') {
        *text = span_from(*text, 1);
    }
    return !ecs_text_address(*text, &address);
}

bool ecs_text_is_sid(struct span text)
{
    return begins_nocase(text, "S-1-") && !span_equal_nocase(text, span_text("S-1-0-0"));
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Offset of the basename. */
static size_t base_at(struct span path)
{
    size_t at = path.size;
    while (at && path.data[at - 1] != '\\' && path.data[at - 1] != '/') {
        at--;
    }
    return at;
}

struct span ecs_text_basename(struct span path)
{
    return span_from(path, base_at(path));
}

struct span ecs_text_directory(struct span path)
{
    size_t at = base_at(path);
    return span_first(path, at ? at - 1 : 0);
}

struct span ecs_text_extension(struct span path)
{
    struct span base = ecs_text_basename(path);
    for (size_t at = base.size; at > 1; at--) {
        if (base.data[at - 1] == '.') {
            return span_from(base, at);
        }
    }
    return span_make(NULL, 0);
}

/* ---- lists ----------------------------------------------------------------------------------- */

bool ecs_text_hash(struct span text, struct span name, struct span *ret_digits)
{
    while (text.size) {
        struct span digits = ecs_text_until(&text, ',');
        struct span key = ecs_text_until(&digits, '=');
        if (!span_equal_nocase(ecs_text_trim(key), name)) {
            continue;
        }
        digits = ecs_text_trim(digits);
        for (size_t i = 0; i < digits.size; i++) {
            if (hex_digit(digits.data[i]) > 15) {
                return false;
            }
        }
        *ret_digits = digits;
        return digits.size > 0;
    }
    return false;
}

/* How many bytes stand before the first comma that no backslash escapes. */
static size_t dn_part_size(struct span text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] != ',') {
        at += text.data[at] == '\\' ? 2 : 1;
    }
    return at < text.size ? at : text.size;
}

bool ecs_text_dn(struct span text, const char *type, struct span *ret_value)
{
    while (text.size) {
        size_t size = dn_part_size(text);
        struct span value = span_first(text, size);
        text = span_from(text, size + 1);
        struct span name = ecs_text_trim(ecs_text_until(&value, '='));
        if (value.size && (!*type || span_equal_nocase(name, span_text(type)))) {
            *ret_value = ecs_text_trim(value);
            return true;
        }
    }
    return false;
}

bool ecs_text_pair(struct span text, struct span name, struct span *ret_value)
{
    while (text.size) {
        struct span value = ecs_text_until(&text, '\n');
        struct span key = ecs_text_until(&value, '=');
        if (span_equal(ecs_text_trim(key), name)) {
            *ret_value = ecs_text_trim(value);
            return ret_value->size > 0;
        }
    }
    return false;
}

/* ---- DNS ------------------------------------------------------------------------------------- */

static const struct {
    uint16_t type;
    const char *name;
} dns_types[] = {
    {1, "A"},
    {2, "NS"},
    {5, "CNAME"},
    {6, "SOA"},
    {10, "NULL"},
    {12, "PTR"},
    {13, "HINFO"},
    {15, "MX"},
    {16, "TXT"},
    {17, "RP"},
    {18, "AFSDB"},
    {24, "SIG"},
    {25, "KEY"},
    {28, "AAAA"},
    {29, "LOC"},
    {33, "SRV"},
    {35, "NAPTR"},
    {36, "KX"},
    {37, "CERT"},
    {39, "DNAME"},
    {41, "OPT"},
    {43, "DS"},
    {44, "SSHFP"},
    {45, "IPSECKEY"},
    {46, "RRSIG"},
    {47, "NSEC"},
    {48, "DNSKEY"},
    {49, "DHCID"},
    {50, "NSEC3"},
    {51, "NSEC3PARAM"},
    {52, "TLSA"},
    {53, "SMIMEA"},
    {55, "HIP"},
    {59, "CDS"},
    {60, "CDNSKEY"},
    {61, "OPENPGPKEY"},
    {62, "CSYNC"},
    {64, "SVCB"},
    {65, "HTTPS"},
    {249, "TKEY"},
    {250, "TSIG"},
    {251, "IXFR"},
    {252, "AXFR"},
    {255, "ANY"},
    {256, "URI"},
    {257, "CAA"},
};

const char *ecs_text_dns_type(uint16_t type, char text[ECS_TEXT_DNS_TYPE_SIZE])
{
    for (size_t i = 0; i < sizeof(dns_types) / sizeof(dns_types[0]); i++) {
        if (dns_types[i].type == type) {
            return dns_types[i].name;
        }
    }
    *put_u64(put_literal((uint8_t *)text, "TYPE"), type) = '\0';
    return text;
}

bool ecs_text_dns_result(struct span *item, uint16_t *ret_type)
{
    static const char start[] = "type:";
    uint64_t type;
    if (!begins_nocase(*item, start)) {
        return false;
    }
    struct span rest = ecs_text_trim(span_from(*item, sizeof(start) - 1));
    struct span number = ecs_text_until(&rest, ' ');
    rest = ecs_text_trim(rest);
    if (!ecs_text_number(number, &type) || type > UINT16_MAX || rest.size == 0) {
        return false;
    }
    *ret_type = (uint16_t)type;
    *item = rest;
    return true;
}

/* ---- registry -------------------------------------------------------------------------------- */

static const struct {
    const char *start;
    const char *hive;
} hives[] = {
    {"\\REGISTRY\\MACHINE", "HKLM"},
    {"\\REGISTRY\\USER", "HKU"},
    {"HKLM", "HKLM"},
    {"HKU", "HKU"},
    {"HKCU", "HKCU"},
    {"HKCR", "HKCR"},
    {"HKCC", "HKCC"},
    {"HKEY_LOCAL_MACHINE", "HKLM"},
    {"HKEY_USERS", "HKU"},
    {"HKEY_CURRENT_USER", "HKCU"},
    {"HKEY_CLASSES_ROOT", "HKCR"},
    {"HKEY_CURRENT_CONFIG", "HKCC"},
};

bool ecs_text_registry(struct span text, const char **ret_hive, struct span *ret_key)
{
    for (size_t i = 0; i < sizeof(hives) / sizeof(hives[0]); i++) {
        size_t size = strlen(hives[i].start);
        if (begins_nocase(text, hives[i].start) && (text.size == size || text.data[size] == '\\')) {
            *ret_hive = hives[i].hive;
            *ret_key = span_from(text, size + 1);
            return true;
        }
    }
    return false;
}

/* Read the number in parentheses after ${start}. With a minus in it,
 * it is the high and the low half of one. */
static bool parenthesised(struct span text, const char *start, uint64_t *ret_number)
{
    uint64_t low;
    if (!begins_nocase(text, start) || text.data[text.size - 1] != ')') {
        return false;
    }
    text = span_from(span_first(text, text.size - 1), strlen(start));
    struct span high = ecs_text_until(&text, '-');
    if (!ecs_text_number(high, ret_number)) {
        return false;
    }
    if (text.size == 0) {
        return true;
    }
    if (!ecs_text_number(text, &low) || low > UINT32_MAX || *ret_number > UINT32_MAX) {
        return false;
    }
    *ret_number = *ret_number << 32 | low;
    return true;
}

enum ecs_registry_value ecs_text_registry_value(
    struct span text, const char **ret_type, uint64_t *ret_number)
{
    if (text.size == 0) {
        return ECS_REGISTRY_NOTHING;
    }
    bool is_dword = parenthesised(text, "DWORD (", ret_number);
    if (is_dword || parenthesised(text, "QWORD (", ret_number)) {
        *ret_type = is_dword ? "REG_DWORD" : "REG_QWORD";
        return ECS_REGISTRY_NUMBER;
    }
    *ret_type = span_is(text, "Binary Data") ? "REG_BINARY" : "REG_SZ";
    return ECS_REGISTRY_TEXT;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static bool is_letter(uint8_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* Number of bytes of ${text} before the first of these ASCII characters. */
static size_t length_until(struct span text, const char *stops)
{
    size_t at = 0;
    while (at < text.size && (text.data[at] == 0 || !strchr(stops, text.data[at]))) {
        at++;
    }
    return at;
}

bool ecs_text_url(struct span text, struct ecs_url *ret_url)
{
    static const char separator[] = "://";
    size_t scheme = length_until(text, ":/?#");
    struct span rest = span_from(text, scheme);
    if (scheme == 0 || !is_letter(text.data[0]) || !begins_nocase(rest, separator)) {
        return false;
    }
    rest = span_from(rest, sizeof(separator) - 1);
    struct span authority = span_first(rest, length_until(rest, "/?#"));
    rest = span_from(rest, authority.size);
    /* User names and passwords may contain colons; they end at the last @. */
    for (size_t at = authority.size; at; at--) {
        if (authority.data[at - 1] == '@') {
            authority = span_from(authority, at);
            break;
        }
    }
    *ret_url = (struct ecs_url){.scheme = span_first(text, scheme)};
    if (authority.size && authority.data[0] == '[') {
        authority = span_from(authority, 1);
        ret_url->host = ecs_text_until(&authority, ']');
        ecs_text_until(&authority, ':');
    } else {
        ret_url->host = ecs_text_until(&authority, ':');
    }
    ret_url->port = authority;
    ret_url->path = span_first(rest, length_until(rest, "?#"));
    rest = span_from(rest, ret_url->path.size);
    if (rest.size && rest.data[0] == '?') {
        ret_url->query = span_first(span_from(rest, 1), length_until(span_from(rest, 1), "#"));
    }
    return ret_url->host.size > 0;
}
