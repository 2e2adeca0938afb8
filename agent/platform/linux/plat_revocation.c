#include "platform/plat_revocation.h"

bool plat_revocation_ask(struct span certificate, struct span issuer,
    struct plat_revocation *ret_revocation, struct error *err)
{
    (void)certificate;
    (void)issuer;
    *ret_revocation = (struct plat_revocation){.whole_chain = 0};
    return error_set(err, ERR_UNSUPPORTED, "only Windows checks certificates for libcurl itself");
}
