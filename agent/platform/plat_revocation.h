#ifndef ETWSHIP_PLATFORM_PLAT_REVOCATION_H
#define ETWSHIP_PLATFORM_PLAT_REVOCATION_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* CERT_TRUST_STATUS.dwErrorStatus of wincrypt.h: Windows cannot determine whether a certificate was
 * revoked. */
#define PLAT_REVOCATION_STATUS_UNKNOWN UINT32_C(0x40)

struct plat_revocation {
    uint32_t whole_chain;  /* CERT_CHAIN_CONTEXT.TrustStatus.dwErrorStatus */
    uint32_t simple_chain; /* of the first simple chain, which libcurl reads */
};

/*
 * Windows' result for the chain from ${certificate} to ${issuer} (both DER) with revocation checks
 * in the whole chain, as Schannel does for libcurl. Waits for the network if a certificate names an
 * address. ERR_UNSUPPORTED on other systems.
 */
bool plat_revocation_ask(struct span certificate, struct span issuer,
    struct plat_revocation *ret_revocation, struct error *err);

#endif
