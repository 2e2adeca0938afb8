#ifndef ETWSHIP_SCHEMA_BUILTIN_H
#define ETWSHIP_SCHEMA_BUILTIN_H

#include "base/span.h"

/* The built-in texts (agent/schema/builtin/), for tests: their number, and the file name without
 * ending and the text of one. Static. */
size_t builtin_text_count(void);
struct span builtin_text(size_t index, const char **ret_name);

#endif
