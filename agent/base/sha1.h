#ifndef ETWSHIP_BASE_SHA1_H
#define ETWSHIP_BASE_SHA1_H

#include "base/span.h"

/* SHA-1 (RFC 3174) makes GUIDs of names and marks of templates; it is not for security. It is own
 * code because guid_from_name must not fail, as a call of a library may (platform/plat_hash.h). */
enum { SHA1_SIZE = 20 };

struct sha1 {
    uint32_t state[5];
    uint64_t size_bytes;
    uint8_t block[64];
};

void sha1_init(struct sha1 *sha);
void sha1_update(struct sha1 *sha, struct span bytes);
void sha1_final(struct sha1 *sha, uint8_t digest[SHA1_SIZE]);

#endif
