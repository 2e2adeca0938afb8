#ifndef ETWSHIP_CLI_VERSION_TEXT_H
#define ETWSHIP_CLI_VERSION_TEXT_H

#include "base/buf.h"

/* Append what this program was built from: lines, or one JSON object and a newline. */
void version_text_write(bool json, struct buf *out);

#endif
