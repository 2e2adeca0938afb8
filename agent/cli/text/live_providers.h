#ifndef ETWSHIP_CLI_LIVE_PROVIDERS_H
#define ETWSHIP_CLI_LIVE_PROVIDERS_H

#include "base/buf.h"
#include "etw/etw_types.h"

/* The providers of this machine, for `etwship providers`. */

/* True if this system can list them. */
bool live_providers_are_known(void);

/* Append a line (${json}: an object) for every provider that is installed or registered by a
 * running process. */
bool live_providers_list(bool json, struct buf *out, struct error *err);

/* Append the known facts of the provider ${wanted} (a name or a GUID): keywords, levels, channels,
 * tasks, opcodes, events with their fields. *ret_found: it exists. */
bool live_providers_show(
    const char *wanted, bool json, struct buf *out, bool *ret_found, struct error *err);

#endif
