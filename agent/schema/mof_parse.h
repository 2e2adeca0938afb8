#ifndef ETWSHIP_SCHEMA_MOF_PARSE_H
#define ETWSHIP_SCHEMA_MOF_PARSE_H

#include "base/error.h"
#include "schema/mof_model.h"

/*
 * MOF text (DSP0004, annex "MOF syntax grammar", and what mofcomp takes beyond it) as far as
 * it describes classes: qualifiers with flavors, inheritance, properties. Instances, declarations of
 * qualifiers, methods and values of properties are read over; so are directives, of which `#pragma
 * include` is told, as the file it names is not read. What cannot be read is told with its place and
 * costs the class it stands in; reading goes on behind that.
 *
 * Adds the classes of ${text} (UTF-8 without a mark, which outlives the model) to ${model}. ${name} is
 * that of the file, for messages. False with ${err} set if memory or classes ran out.
 */
bool mof_parse(struct mof_model *model, struct span text, const char *name, struct error *err);

#endif
