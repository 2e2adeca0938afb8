#include "outputs/http/http_fingerprint.h"

enum { MEANT_DIGITS = 32 }; /* no file has such a name by chance; MD5 has this many digits */

static int digit_of(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool http_fingerprint_is_meant(struct span text)
{
    size_t digits = 0;
    for (size_t i = 0; i < text.size; i++) {
        bool is_digit = digit_of(text.data[i]) >= 0;
        if (!is_digit && text.data[i] != ':') {
            return false;
        }
        digits += is_digit;
    }
    return digits >= MEANT_DIGITS;
}

bool http_fingerprint_read(struct span text, struct http_fingerprint *ret_fingerprint)
{
    bool has_colons = text.size == 3 * SHA256_SIZE - 1;
    size_t step = has_colons ? 3 : 2;
    struct http_fingerprint read;
    if (!has_colons && text.size != 2 * (size_t)SHA256_SIZE) {
        return false;
    }
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        const uint8_t *at = text.data + i * step;
        int high = digit_of(at[0]);
        int low = digit_of(at[1]);
        if (high < 0 || low < 0 || (has_colons && i + 1 < SHA256_SIZE && at[2] != ':')) {
            return false;
        }
        read.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_fingerprint = read;
    return true;
}

/* The text between the two lines; empty: none. */
static struct span base64_of(struct span pem)
{
    static const char first[] = "-----BEGIN CERTIFICATE-----";
    if (!span_is(span_first(pem, sizeof(first) - 1), first)) {
        return span_make(NULL, 0);
    }
    struct span rest = span_from(pem, sizeof(first) - 1);
    const uint8_t *end = rest.size ? memchr(rest.data, '-', rest.size) : NULL;
    return span_first(rest, end ? (size_t)(end - rest.data) : 0);
}

static int base64_digit(uint8_t c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* RFC 4648, 4, with line breaks. False: invalid. */
static bool add_base64(struct sha256 *sha, struct span text)
{
    uint32_t bits = 0;
    unsigned bit_count = 0;
    for (size_t i = 0; i < text.size && text.data[i] != '='; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0) {
            if (!strchr("\r\n", text.data[i])) {
                return false;
            }
            continue;
        }
        bits = bits << 6 | (uint32_t)digit;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            uint8_t byte = (uint8_t)(bits >> bit_count);
            sha256_update(sha, span_make(&byte, 1));
        }
    }
    return true;
}

bool http_fingerprint_fits(const struct http_fingerprint *fingerprint, struct span pem)
{
    uint8_t digest[SHA256_SIZE];
    struct span text = base64_of(pem);
    struct sha256 sha;
    sha256_init(&sha);
    if (text.size == 0 || !add_base64(&sha, text)) {
        return false;
    }
    sha256_final(&sha, digest);
    return memcmp(digest, fingerprint->bytes, sizeof(digest)) == 0;
}
