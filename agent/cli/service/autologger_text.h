#ifndef ETWSHIP_CLI_AUTOLOGGER_TEXT_H
#define ETWSHIP_CLI_AUTOLOGGER_TEXT_H

#include "cli/service/autologger_list.h"

/*
 * Append the state of one autologger: what is installed, how it differs from the configuration, how
 * its last start went, whether its session runs, and its files. ${boot} and ${session} NULL: no
 * session of the configuration has it. False: the registry cannot be read.
 */
bool autologger_text_status(const char *name, const char *session, const struct etw_boot *boot,
    bool json, struct buf *out, struct error *err);

#endif
