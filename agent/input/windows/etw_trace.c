#include "input/windows/etw_trace.h"

#include <stdio.h>

#include "base/filetime.h"
#include "etw/etw_api.h"
#include "input/record/host_facts.h"
#include "platform/plat_clock.h"

static struct trace_clock clock_of(const struct etw_logfile_header *header)
{
    uint64_t frequency = header->perf_freq > 0 ? (uint64_t)header->perf_freq : 0;
    uint32_t type = header->reserved_flags;
    if (type == TRACE_CLOCK_CPU_CYCLE) {
        frequency = (uint64_t)header->cpu_speed_mhz * 1000000;
    }
    if (frequency == 0 || type == TRACE_CLOCK_SYSTEM_TIME) {
        frequency = FILETIME_PER_S;
    }
    return (struct trace_clock){
        .type = type >= TRACE_CLOCK_QPC && type <= TRACE_CLOCK_CPU_CYCLE
                    ? (enum trace_clock_type)type
                    : TRACE_CLOCK_QPC,
        .start_time = header->start_time > 0 ? (uint64_t)header->start_time : 0,
        .frequency = frequency,
    };
}

/* Facts about this machine. */
static void describe_host(struct etw_trace *trace)
{
    struct plat_host *host = &trace->host;
    struct trace_info *info = &trace->info;
    plat_host_query(host);
    info->host_name = span_text(host->name);
    info->host_fqdn = span_text(host->fqdn);
    info->host_domain = span_text(host->domain);
    info->host_id = span_text(host->id);
    info->host_architecture = host_facts_architecture(host->architecture);
    info->os_name = span_make(
        trace->os_name, host_facts_system(span_text(host->product), host->build, trace->os_name));
    if (host->build) {
        snprintf(trace->os_kernel, sizeof(trace->os_kernel), "%u.%u.%u.%u", host->major,
            host->minor, host->build, host->revision);
        info->os_kernel = span_text(trace->os_kernel);
    }
    for (size_t i = 0; i < host->ip_count; i++) {
        trace->host_ips[i] = span_text(host->ips[i]);
    }
    info->host_ips = trace->host_ips;
    info->host_ip_count = host->ip_count;
}

void etw_trace_init(
    struct etw_trace *trace, const char *name, const struct etw_logfile_header *header)
{
    *trace = (struct etw_trace){.timed = false};
    snprintf(trace->session_name, sizeof(trace->session_name), "%s", name);
    snprintf(trace->os_version, sizeof(trace->os_version), "%u.%u.%u", header->version & 0xff,
        header->version >> 8 & 0xff, header->provider_version);
    trace->info = (struct trace_info){
        .session_name = span_text(trace->session_name),
        .os_version = span_text(trace->os_version),
        .clock = clock_of(header),
        .boot_time = header->boot_time > 0 ? (uint64_t)header->boot_time : 0,
        .timer_resolution = header->timer_resolution,
        .pointer_size = sizeof(void *), /* the header has 4 in some live sessions */
        .has_stacks = true,
    };
    describe_host(trace);
    struct trace_clock *clock = &trace->info.clock;
    trace->timed = clock->type == TRACE_CLOCK_SYSTEM_TIME;
    if (clock->type == TRACE_CLOCK_QPC && etw_api_get()->now) {
        etw_api_get()->now(&clock->start_raw, &clock->start_time);
        trace->timed = true;
    }
}

uint64_t etw_trace_now(const struct etw_trace *trace)
{
    int64_t counter;
    uint64_t now;
    if (!etw_api_get()->now) {
        return plat_now_filetime();
    }
    etw_api_get()->now(&counter, &now);
    return trace->info.clock.type == TRACE_CLOCK_QPC
               ? trace_clock_filetime(&trace->info.clock, counter)
               : now;
}

void etw_trace_start(struct etw_trace *trace, int64_t raw)
{
    if (!trace->timed) {
        trace->timed = true;
        trace->info.clock.start_raw = raw;
        trace->info.clock.start_time = plat_now_filetime();
    }
}

bool etw_trace_is_off(const struct etw_trace *trace)
{
    const uint64_t limit = 100000; /* 10 ms */
    int64_t counter;
    uint64_t now;
    if (trace->info.clock.type != TRACE_CLOCK_QPC || !etw_api_get()->now) {
        return false;
    }
    etw_api_get()->now(&counter, &now);
    uint64_t told = trace_clock_filetime(&trace->info.clock, counter);
    return (told > now ? told - now : now - told) > limit;
}
