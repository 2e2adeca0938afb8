#ifndef ETWSHIP_SCHEMA_BUILTIN_TEXT_H
#define ETWSHIP_SCHEMA_BUILTIN_TEXT_H

#include "schema/manifest/manifest_events.h"

/*
 * Parser of the compact text format of built-in layouts (agent/schema/builtin/).
 * agent/schema/README.md, "Built-in layouts", describes the format.
 */
enum { BUILTIN_TEXT_MAX_BYTES = 1024 * 1024 };

/*
 * Read the definitions of one provider. Schemas keep views of ${text}, which must outlive them.
 * Returns NULL with ${err} set to `line N: ...` at the first error; problems of a single event go
 * to ${options} as warnings. The caller destroys the manifest.
 */
struct manifest *builtin_text_read(
    struct span text, const struct manifest_options *options, struct error *err);

#endif
