#ifndef ETWSHIP_OUTPUTS_LOKI_JSON_H
#define ETWSHIP_OUTPUTS_LOKI_JSON_H

#include "outputs/loki/loki_frame.h"

/* Append entries [first, end) to the body as JSON ("Ingest logs" of Loki's HTTP API). */
void loki_json_write(struct loki_frame *frame, size_t first, size_t end);

/* Append `"<name>":"<text>"`, after a comma if needed; nothing if ${text}, which is escaped, is
 * empty. */
void loki_json_member(struct buf *out, const char *name, struct span text);

#endif
