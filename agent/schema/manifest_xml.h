#ifndef ETWSHIP_SCHEMA_MANIFEST_XML_H
#define ETWSHIP_SCHEMA_MANIFEST_XML_H

#include "event/schema.h"

/*
 * Instrumentation manifests: XML to event schemas. Source files for the message compiler, dumps of
 * registered providers by TDH tools, and what .NET EventSources write. (EventManifest schema on
 * learn.microsoft.com; winmeta.xml.)
 */

/* A parsed manifest: the schemas of all its events, of all its providers. */
struct manifest {
    struct arena arena;
    struct event_schema **events; /* ascending by provider, id, version; then as in the file */
    size_t event_count;
};

struct manifest_xml_options {
    const char *source;    /* event_schema.source of every event; static */
    const char *file;      /* stands before warnings; may be NULL */
    enum schema_kind kind; /* SCHEMA_UNKNOWN: an EventSource's if it looks like one */
    size_t max_bytes;      /* memory, both for the result and while parsing */
    void (*warn)(void *warn_self, const char *text); /* one line each; may be NULL */
    void *warn_self;
};

enum { MANIFEST_XML_MAX_BYTES = 64 * 1024 * 1024, MANIFEST_XML_MAX_DEPTH = 64 };

/*
 * Parse ${xml} of at most MANIFEST_XML_MAX_BYTES: UTF-8, UTF-16 with byte order mark, or a
 * declared Latin-1 or Windows-1252. Document types and entities of one's own are refused.
 * What is wrong with one event, a missing template say, costs that event or that name and is
 * warned about. NULL with ${err} set if there is nothing to use: no well-formed XML, no provider,
 * a limit. The caller destroys the manifest; it keeps no view of ${xml}.
 */
struct manifest *manifest_xml_parse(
    struct span xml, const struct manifest_xml_options *options, struct error *err);
void manifest_xml_destroy(struct manifest *manifest); /* NULL is fine */

/* The events of exactly this provider, id and version: how many, and the index of the first. */
size_t manifest_xml_find(const struct manifest *manifest, const struct guid *provider, uint16_t id,
    uint8_t version, size_t *ret_first);

#endif
