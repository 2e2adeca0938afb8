#ifndef ETWSHIP_SCHEMA_MANIFEST_BINARY_H
#define ETWSHIP_SCHEMA_MANIFEST_BINARY_H

#include "schema/manifest_events.h"
#include "schema/message_table.h"

/*
 * Compiled manifests to event schemas: what the message compiler makes of an instrumentation
 * manifest and a program file carries as its resource WEVT_TEMPLATE. The format is not documented
 * by its maker; known from libyal/libfwevt, "Windows Event manifest binary format", and from what
 * the compiler makes of known manifests.
 */

enum { MANIFEST_BINARY_MAX_BYTES = 64 * 1024 * 1024 };

/*
 * Read ${bytes} of at most MANIFEST_BINARY_MAX_BYTES. Texts are those of the first of
 * ${table_count} tables that has their number; without any, things go by their names and events
 * have no message. What is wrong with one event costs that event or that name and is warned about.
 * NULL with ${err} set if there is nothing to use. The caller destroys the manifest; it keeps no
 * view of ${bytes} or ${tables}.
 */
struct manifest *manifest_binary_parse(struct span bytes, const struct message_table *tables,
    size_t table_count, const struct manifest_options *options, struct error *err);

#endif
