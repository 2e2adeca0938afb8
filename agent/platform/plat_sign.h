#ifndef ETWSHIP_PLATFORM_PLAT_SIGN_H
#define ETWSHIP_PLATFORM_PLAT_SIGN_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Append the signature of ${text} with the RSA key ${key}: RSASSA-PSS with SHA-256 and a salt as
 * long as the hash (RFC 7518, 3.5: PS256). ${key}: DER, as PKCS#8 (RFC 5208) or PKCS#1 (RFC 8017,
 * A.1.2), without a password. libcrypto or CNG signs. False with ${err} set. Any thread.
 */
bool plat_sign_ps256(struct span key, struct span text, struct buf *out, struct error *err);

#endif
