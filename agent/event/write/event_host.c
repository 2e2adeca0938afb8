#include "event/write/event_host.h"

#include "event/value/value_json.h"
#include "event/write/event_path_own.h"

/* One member, after a comma unless it is the first. */
static void add_member(const char *key, struct span value, bool *any, struct buf *out)
{
    if (value.size) {
        buf_printf(out, "%s\"%s\":", *any ? "," : "", key);
        value_json_string(value, out);
        *any = true;
    }
}

static void add_ips(const struct trace_info *trace, bool *any, struct buf *out)
{
    if (!trace->host_ip_count) {
        return;
    }
    buf_add_text(out, *any ? ",\"ip\":[" : "\"ip\":[");
    for (size_t i = 0; i < trace->host_ip_count; i++) {
        buf_add_text(out, i ? "," : "");
        value_json_string(trace->host_ips[i], out);
    }
    buf_add_byte(out, ']');
    *any = true;
}

/* The members of `os` after `type`. */
static void add_system(const struct trace_info *trace, bool *any, struct buf *out)
{
    add_member("name", trace->os_name, any, out);
    add_member("version", trace->os_version, any, out);
    add_member("kernel", trace->os_kernel, any, out);
}

static bool knows_system(const struct trace_info *trace)
{
    return trace->os_name.size || trace->os_version.size || trace->os_kernel.size;
}

/* The members after the host's names, in both shapes. */
static void add_machine(const struct trace_info *trace, bool *any, struct buf *out)
{
    add_member("domain", trace->host_domain, any, out);
    add_member("id", trace->host_id, any, out);
    add_ips(trace, any, out);
    add_member("architecture", trace->host_architecture, any, out);
}

static bool knows_host(const struct trace_info *trace)
{
    return trace->host_name.size || trace->host_fqdn.size || trace->host_domain.size ||
           trace->host_id.size || trace->host_ip_count || trace->host_architecture.size ||
           knows_system(trace);
}

void event_host_native(const struct trace_info *trace, struct buf *out)
{
    bool any = false;
    bool any_system = false;
    if (!knows_host(trace)) {
        return;
    }
    buf_add_text(out, ",\"host\":{");
    add_member("name", trace->host_name, &any, out);
    add_member("fqdn", trace->host_fqdn, &any, out);
    add_machine(trace, &any, out);
    if (knows_system(trace)) {
        buf_add_text(out, any ? ",\"os\":{" : "\"os\":{");
        add_system(trace, &any_system, out);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, '}');
}

void event_host_ecs(const struct trace_info *trace, struct buf *out)
{
    bool any = true;
    buf_add_text(out, ",\"host\":{\"os\":{\"type\":\"windows\"");
    add_system(trace, &any, out);
    buf_add_byte(out, '}');
    add_member("name", trace->host_name, &any, out);
    add_member("hostname", trace->host_name, &any, out);
    add_machine(trace, &any, out);
    buf_add_byte(out, '}');
}

/* ---- for paths ------------------------------------------------------------------------------- */

struct event_value event_host_value(const struct event_path *path, const struct event *event)
{
    static const struct trace_info unknown;
    const struct trace_info *trace = event->record->trace ? event->record->trace : &unknown;
    switch (path->field) {
    case PATH_HOST:
        return event_path_object_if(knows_host(trace));
    case PATH_HOST_NAME:
        return event_value_utf8(trace->host_name);
    case PATH_HOST_FQDN:
        return event_value_utf8(trace->host_fqdn);
    case PATH_HOST_DOMAIN:
        return event_value_utf8(trace->host_domain);
    case PATH_HOST_ID:
        return event_value_utf8(trace->host_id);
    case PATH_HOST_ARCHITECTURE:
        return event_value_utf8(trace->host_architecture);
    case PATH_HOST_OS:
        return event_path_object_if(knows_system(trace));
    case PATH_HOST_OS_NAME:
        return event_value_utf8(trace->os_name);
    case PATH_HOST_OS_VERSION:
        return event_value_utf8(trace->os_version);
    default:
        return event_value_utf8(trace->os_kernel);
    }
}

bool event_host_each_ip(const struct event *event, const struct event_path_sink *sink)
{
    const struct trace_info *trace = event->record->trace;
    for (size_t i = 0; trace && i < trace->host_ip_count; i++) {
        struct event_value value = event_value_utf8(trace->host_ips[i]);
        if (!event_path_give(sink, &value)) {
            return false;
        }
    }
    return true;
}
