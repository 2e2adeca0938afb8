#include "platform/plat_secret.h"

static bool refuse(struct error *err)
{
    return error_set(err, ERR_UNSUPPORTED,
        "DPAPI is available on Windows only, on the machine that protected the secret. on this "
        "system write file:PATH of a file that only the agent may read");
}

bool plat_secret_protect(struct span secret, struct buf *out, struct error *err)
{
    (void)secret;
    (void)out;
    return refuse(err);
}

bool plat_secret_unprotect(struct span bytes, struct buf *out, struct error *err)
{
    (void)bytes;
    (void)out;
    return refuse(err);
}

bool plat_secret_ask(const char *prompt, struct buf *out, struct error *err)
{
    (void)prompt;
    (void)out;
    return refuse(err);
}
