#ifndef ETWSHIP_SCHEMA_MANIFEST_XML_H
#define ETWSHIP_SCHEMA_MANIFEST_XML_H

#include "schema/manifest_events.h"

/*
 * Instrumentation manifests: XML to event schemas. Source files for the message compiler, dumps of
 * registered providers by TDH tools, and what .NET EventSources write. (EventManifest schema on
 * learn.microsoft.com; winmeta.xml.)
 */

enum { MANIFEST_XML_MAX_BYTES = 64 * 1024 * 1024, MANIFEST_XML_MAX_DEPTH = 64 };

/*
 * Parse ${xml} of at most MANIFEST_XML_MAX_BYTES: UTF-8, UTF-16 with byte order mark, or a
 * declared Latin-1 or Windows-1252. Document types and entities of one's own are refused.
 * What is wrong with one event, a missing template say, costs that event or that name and is
 * warned about. NULL with ${err} set if there is nothing to use: no well-formed XML, no provider,
 * a limit. The caller destroys the manifest; it keeps no view of ${xml}.
 */
struct manifest *manifest_xml_parse(
    struct span xml, const struct manifest_options *options, struct error *err);

/* The same, read piece by piece. ${read} puts at most ${size} bytes into ${data}: *ret_size 0 is the end,
 * false with ${err} set is a failure. */
struct manifest_xml_input {
    bool (*read)(void *self, void *data, size_t size, size_t *ret_size, struct error *err);
    void *self;
};

struct manifest *manifest_xml_read(const struct manifest_xml_input *input,
    const struct manifest_options *options, struct error *err);

#endif
