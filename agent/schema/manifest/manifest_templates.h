#ifndef ETWSHIP_SCHEMA_MANIFEST_TEMPLATES_H
#define ETWSHIP_SCHEMA_MANIFEST_TEMPLATES_H

#include "schema/manifest/manifest_crim.h"

/* Read the template at ${offset} and its maps, unless the model has it already. Returns its key;
 * the model has no item of that key if there is no template. */
struct span manifest_templates_read(struct manifest_crim *p, uint32_t offset);

#endif
