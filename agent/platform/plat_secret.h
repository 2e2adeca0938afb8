#ifndef ETWSHIP_PLATFORM_PLAT_SECRET_H
#define ETWSHIP_PLATFORM_PLAT_SECRET_H

#include "base/buf.h"

/*
 * Secrets that only this machine can decrypt: DPAPI of Windows with machine scope
 * (CRYPTPROTECT_LOCAL_MACHINE). The bytes are useless elsewhere; on this machine every account that
 * has them can decrypt them. No extra entropy is used, so that .NET's ProtectedData with
 * DataProtectionScope.LocalMachine is compatible.
 *
 * ERR_UNSUPPORTED on other systems.
 */

/* Append the protected form of ${secret} to ${out}. */
bool plat_secret_protect(struct span secret, struct buf *out, struct error *err);

/* Append the secret in ${bytes} to ${out}. ${err} never contains it. */
bool plat_secret_unprotect(struct span bytes, struct buf *out, struct error *err);

/* Ask for a line at the terminal on standard input without echo; ${prompt} goes to standard error.
 * The line is appended to ${out} without its end. */
bool plat_secret_ask(const char *prompt, struct buf *out, struct error *err);

#endif
