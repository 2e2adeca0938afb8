#include "outputs/http/http_fingerprint.h"

#include "base/hex.h"
#include "outputs/pem.h"

/* A text with as many digits as an MD5 is meant as a fingerprint: no file has such a name by
 * chance. */
enum { MEANT_DIGITS = 32, MAX_BYTES = 64 * 1024 };

bool http_fingerprint_is_meant(struct span text)
{
    size_t digits = 0;
    for (size_t i = 0; i < text.size; i++) {
        bool is_digit = hex_digit(text.data[i]) != HEX_NONE;
        if (!is_digit && text.data[i] != ':') {
            return false;
        }
        digits += is_digit;
    }
    return digits >= MEANT_DIGITS;
}

bool http_fingerprint_read(struct span text, struct http_fingerprint *ret_fingerprint)
{
    bool has_colons = text.size == 3 * PLAT_HASH_BYTES - 1;
    size_t step = has_colons ? 3 : 2;
    struct http_fingerprint read;
    if (!has_colons && text.size != 2 * (size_t)PLAT_HASH_BYTES) {
        return false;
    }
    for (size_t i = 0; i < PLAT_HASH_BYTES; i++) {
        const uint8_t *at = text.data + i * step;
        unsigned high = hex_digit(at[0]);
        unsigned low = hex_digit(at[1]);
        if ((high | low) >= HEX_NONE || (has_colons && i + 1 < PLAT_HASH_BYTES && at[2] != ':')) {
            return false;
        }
        read.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_fingerprint = read;
    return true;
}

bool http_fingerprint_fits(const struct http_fingerprint *fingerprint, struct span pem)
{
    uint8_t digest[PLAT_HASH_BYTES];
    struct buf der;
    buf_init(&der, MAX_BYTES);
    bool good = pem_read(pem, "CERTIFICATE", &der) && plat_hash_of(buf_span(&der), digest, NULL) &&
                memcmp(digest, fingerprint->bytes, sizeof(digest)) == 0;
    buf_fini(&der);
    return good;
}
