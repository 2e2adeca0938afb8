#ifndef ETWSHIP_SCHEMA_BUILTIN_TEXT_H
#define ETWSHIP_SCHEMA_BUILTIN_TEXT_H

#include "schema/manifest_events.h"

/*
 * The compact text in which built-in layouts are kept (agent/schema/builtin/), read into schemas. The
 * format is described in agent/schema/README.md, "Built-in layouts".
 */
enum { BUILTIN_TEXT_MAX_BYTES = 1024 * 1024 };

/*
 * Read the definitions of one provider. Schemas keep views of ${text}, which must outlive them. NULL
 * with ${err} set to `line N: ...` at the first error; what is wrong with one event alone is told to
 * ${options}. The caller destroys the manifest.
 */
struct manifest *builtin_text_read(
    struct span text, const struct manifest_options *options, struct error *err);

#endif
