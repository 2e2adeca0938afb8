#ifndef ETWSHIP_SCHEMA_SCHEMA_SOURCES_H
#define ETWSHIP_SCHEMA_SCHEMA_SOURCES_H

#include "schema/source/schema_source.h"

/* Every source as schema_source_<id>, for the set of them and for tests of one source, so that a
 * new line in schema_sources.def rebuilds little. */
#define SCHEMA_SOURCE(id) extern const struct schema_source_ops schema_source_##id;
#include "schema/source/schema_sources.def"
#undef SCHEMA_SOURCE

#endif
