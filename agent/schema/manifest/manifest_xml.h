#ifndef ETWSHIP_SCHEMA_MANIFEST_XML_H
#define ETWSHIP_SCHEMA_MANIFEST_XML_H

#include "schema/manifest/manifest_events.h"

/*
 * Reads instrumentation manifests (XML) into event schemas: source files of the message compiler,
 * dumps of registered providers by TDH tools, and manifests of .NET EventSources. Source:
 * EventManifest schema on learn.microsoft.com; winmeta.xml.
 */

enum { MANIFEST_XML_MAX_BYTES = 64 * 1024 * 1024, MANIFEST_XML_MAX_DEPTH = 64 };

/*
 * Parse ${xml} of at most MANIFEST_XML_MAX_BYTES: UTF-8, UTF-16 with byte order mark, declared
 * Latin-1 or Windows-1252. Document types and custom entities are refused. A problem of one event
 * or name, such as a missing template, drops only that event or name and is reported as a warning.
 * NULL with ${err} set if nothing is usable: XML not well-formed, no provider, or a limit. The
 * caller destroys the manifest, which keeps no view of ${xml}.
 */
struct manifest *manifest_xml_parse(
    struct span xml, const struct manifest_options *options, struct error *err);

/* Input of manifest_xml_read(), which is manifest_xml_parse() for text that arrives in pieces.
 * ${read} stores at most ${size} bytes in ${data}; *ret_size 0 is the end, false with ${err} set is
 * a failure. */
struct manifest_xml_input {
    bool (*read)(void *self, void *data, size_t size, size_t *ret_size, struct error *err);
    void *self;
};

struct manifest *manifest_xml_read(const struct manifest_xml_input *input,
    const struct manifest_options *options, struct error *err);

#endif
