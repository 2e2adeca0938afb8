#include "base/text/ip.h"

#include "base/hex.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Parse a decimal number of at most ${max} without leading zeros at the front of ${text}. */
static bool take_decimal(struct span *text, unsigned max, unsigned *ret_number)
{
    unsigned number = 0;
    size_t size = 0;
    while (size < text->size && is_digit(text->data[size]) && number <= max) {
        number = number * 10 + (unsigned)(text->data[size++] - '0');
    }
    if (size == 0 || number > max || (size > 1 && text->data[0] == '0')) {
        return false;
    }
    *text = span_from(*text, size);
    *ret_number = number;
    return true;
}

static bool parse_v4(struct span text, uint8_t bytes[4])
{
    for (size_t i = 0; i < 4; i++) {
        unsigned number;
        if (i) {
            if (text.size == 0 || text.data[0] != '.') {
                return false;
            }
            text = span_from(text, 1);
        }
        if (!take_decimal(&text, 255, &number)) {
            return false;
        }
        bytes[i] = (uint8_t)number;
    }
    return text.size == 0;
}

/* Parse up to four hex digits at the front. */
static bool take_group(struct span *text, uint8_t bytes[2])
{
    unsigned number = 0;
    size_t size = 0;
    while (size < 4 && size < text->size && hex_digit(text->data[size]) != HEX_NONE) {
        number = number << 4 | hex_digit(text->data[size++]);
    }
    bytes[0] = (uint8_t)(number >> 8);
    bytes[1] = (uint8_t)number;
    *text = span_from(*text, size);
    return size > 0;
}

static bool starts_with_gap(struct span text)
{
    return text.size >= 2 && text.data[0] == ':' && text.data[1] == ':';
}

static bool parse_v6(struct span text, uint8_t bytes[16])
{
    uint8_t groups[16] = {0};
    size_t used = 0;
    size_t gap = SIZE_MAX; /* bytes before the `::` */
    while (text.size) {
        if (starts_with_gap(text) && gap == SIZE_MAX) {
            gap = used;
            text = span_from(text, 2);
            if (text.size == 0) {
                break;
            }
        } else if (used) {
            if (text.data[0] != ':') {
                return false;
            }
            text = span_from(text, 1);
        }
        if (used <= 12 && parse_v4(text, groups + used)) {
            used += 4;
            break;
        }
        if (used == 16 || !take_group(&text, groups + used)) {
            return false;
        }
        used += 2;
    }
    /* a gap stands for at least one group */
    if (gap == SIZE_MAX ? used != 16 : used > 14) {
        return false;
    }
    gap = gap == SIZE_MAX ? used : gap;
    memset(bytes, 0, 16);
    memcpy(bytes, groups, gap);
    memcpy(bytes + 16 - (used - gap), groups + gap, used - gap);
    return true;
}

bool ip_parse(struct span text, struct ip_address *ret_address)
{
    struct ip_address address = {.size = 4};
    if (!parse_v4(text, address.bytes)) {
        address.size = 16;
        if (!parse_v6(text, address.bytes)) {
            return false;
        }
    }
    *ret_address = address;
    return true;
}

bool ip_network_parse(struct span text, struct ip_network *ret_network)
{
    const uint8_t *slash = text.size ? memchr(text.data, '/', text.size) : NULL;
    size_t size = slash ? (size_t)(slash - text.data) : text.size;
    struct span rest = span_from(text, size + 1);
    struct ip_network network;
    if (!ip_parse(span_first(text, size), &network.address)) {
        return false;
    }
    unsigned bits = network.address.size * 8u;
    if (slash && (!take_decimal(&rest, bits, &bits) || rest.size)) {
        return false;
    }
    network.prefix_bits = (uint8_t)bits;
    *ret_network = network;
    return true;
}

bool ip_network_holds(const struct ip_network *network, struct span address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (network->address.size == 4 && address.size == 16 &&
        memcmp(address.data, mapped, sizeof(mapped)) == 0) {
        address = span_from(address, sizeof(mapped));
    }
    if (address.size != network->address.size) {
        return false;
    }
    size_t whole = network->prefix_bits / 8;
    unsigned left = network->prefix_bits % 8;
    return memcmp(address.data, network->address.bytes, whole) == 0 &&
           (left == 0 || (address.data[whole] ^ network->address.bytes[whole]) >> (8 - left) == 0);
}
