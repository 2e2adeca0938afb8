#ifndef ETWSHIP_PLATFORM_PLAT_SECRET_H
#define ETWSHIP_PLATFORM_PLAT_SECRET_H

#include "base/buf.h"

/*
 * Secrets that only this machine can read again: DPAPI of Windows, with the scope of the machine
 * (CRYPTPROTECT_LOCAL_MACHINE). What is protected says nothing elsewhere; on the machine every account that has
 * the bytes can have them read. No entropy of our own is added, so .NET's ProtectedData with
 * DataProtectionScope.LocalMachine, for one, makes the same.
 *
 * Other systems have nothing of the kind: ERR_UNSUPPORTED.
 */

/* Append ${secret} as protected bytes to ${out}. */
bool plat_secret_protect(struct span secret, struct buf *out, struct error *err);

/* Append what ${bytes} protect to ${out}. Nothing of it is in ${err}. */
bool plat_secret_unprotect(struct span bytes, struct buf *out, struct error *err);

/* Ask for a line at the terminal that standard input is, without showing what is typed; ${prompt} goes to
 * standard error. The line is appended to ${out}, without its end. */
bool plat_secret_ask(const char *prompt, struct buf *out, struct error *err);

#endif
