#ifndef ETWSHIP_TESTS_SUPPORT_OTLP_TEXT_H
#define ETWSHIP_TESTS_SUPPORT_OTLP_TEXT_H

#include "base/buf.h"
#include "base/span.h"

/*
 * A request of OTLP logs in protobuf as OTLP/JSON: what a collector sees of it. Names, numbers and
 * types of fields are those of opentelemetry-proto; a field that it does not have, or that has
 * another type, is wrong, and so are texts that are no UTF-8. Members stand in the order in which
 * the agent writes JSON.
 *
 * NULL, or what is wrong.
 */
const char *otlp_text(struct span request, struct buf *out);

#endif
