#ifndef ETWSHIP_OUTPUTS_HTTP_FINGERPRINT_H
#define ETWSHIP_OUTPUTS_HTTP_FINGERPRINT_H

#include "base/span.h"
#include "platform/plat_hash.h"

/*
 * An authority named by the SHA-256 of its certificate, in hexadecimal digits with or without a
 * colon after each byte: as Elasticsearch prints it at its first start, and `openssl x509
 * -fingerprint`.
 */
struct http_fingerprint {
    uint8_t bytes[PLAT_HASH_BYTES];
};

/* True if ${text} is meant as a fingerprint, even an invalid one; else it is the name of a file. */
bool http_fingerprint_is_meant(struct span text);

/* False: invalid. */
bool http_fingerprint_read(struct span text, struct http_fingerprint *ret_fingerprint);

/* True if it is that of the certificate ${pem} (RFC 7468, 5.1); false for unreadable text, and
 * where the platform has no SHA-256. */
bool http_fingerprint_fits(const struct http_fingerprint *fingerprint, struct span pem);

#endif
