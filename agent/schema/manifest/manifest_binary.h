#ifndef ETWSHIP_SCHEMA_MANIFEST_BINARY_H
#define ETWSHIP_SCHEMA_MANIFEST_BINARY_H

#include "schema/binary/message_table.h"
#include "schema/manifest/manifest_events.h"

/*
 * Reads compiled manifests into event schemas. The message compiler makes them from instrumentation
 * manifests, and program files carry them as the resource WEVT_TEMPLATE. Microsoft does not
 * document the format; sources are libyal/libfwevt, "Windows Event manifest binary format", and the
 * compiler's output for known manifests.
 */

enum { MANIFEST_BINARY_MAX_BYTES = 64 * 1024 * 1024 };

/*
 * Read ${bytes} of at most MANIFEST_BINARY_MAX_BYTES. A text comes from the first of ${table_count}
 * tables that has its number. Without tables, items are shown by their names and events have no
 * message. A problem of one event or name drops only that event or name and is reported as a
 * warning. NULL with ${err} set if nothing is usable. The caller destroys the manifest, which keeps
 * no view of ${bytes} or ${tables}.
 */
struct manifest *manifest_binary_parse(struct span bytes, const struct message_table *tables,
    size_t table_count, const struct manifest_options *options, struct error *err);

#endif
