#ifndef ETWSHIP_EVENT_EVENT_HOST_H
#define ETWSHIP_EVENT_EVENT_HOST_H

#include "base/buf.h"
#include "event/write/event_path.h"

/* The machine that recorded, from a trace_info. */

/* The native event's `,"host":{…}`; nothing if nothing is known. */
void event_host_native(const struct trace_info *trace, struct buf *out);

/* The ecs event's, which is always present: events of ETW come from Windows. */
void event_host_ecs(const struct trace_info *trace, struct buf *out);

struct event_path_sink;

/* The value of ${path}, one from host to host.os.kernel, or host.ip. */
struct event_value event_host_value(const struct event_path *path, const struct event *event);
bool event_host_each_ip(const struct event *event, const struct event_path_sink *sink);

#endif
