#ifndef ETWSHIP_SCHEMA_MOF_PARSE_H
#define ETWSHIP_SCHEMA_MOF_PARSE_H

#include "base/error.h"
#include "schema/mof/mof_model.h"

/*
 * Parses MOF text (DSP0004, annex "MOF syntax grammar", and what mofcomp accepts beyond it) as far
 * as it describes classes: qualifiers, inheritance, properties. It skips flavors, instances,
 * qualifier declarations, methods, property values and directives; `#pragma include` causes a
 * warning because the included file is not read. A syntax error drops the class that contains it,
 * with a warning; parsing continues after that class.
 *
 * Adds the classes of ${text} to ${model}. ${text} is UTF-8 without a byte order mark and must
 * outlive the model. ${name} is the file name for messages. False with ${err} set if memory or the
 * class limit ran out.
 */
bool mof_parse(struct mof_model *model, struct span text, const char *name, struct error *err);

#endif
