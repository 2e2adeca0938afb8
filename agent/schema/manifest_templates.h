#ifndef ETWSHIP_SCHEMA_MANIFEST_TEMPLATES_H
#define ETWSHIP_SCHEMA_MANIFEST_TEMPLATES_H

#include "schema/manifest_crim.h"

/* Read the template at ${offset} with its maps, if the model does not know it yet. Returns its name in
 * the model; where there is no template, the model knows nothing of that name. */
struct span manifest_templates_read(struct manifest_crim *p, uint32_t offset);

#endif
