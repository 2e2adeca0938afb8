#ifndef ETWSHIP_SCHEMA_BUILTIN_H
#define ETWSHIP_SCHEMA_BUILTIN_H

#include "base/span.h"

/* For tests: the number of built-in texts (agent/schema/builtin/), and the text at ${index} with
 * its file name without ending. Static storage. */
size_t builtin_text_count(void);
struct span builtin_text(size_t index, const char **ret_name);

#endif
