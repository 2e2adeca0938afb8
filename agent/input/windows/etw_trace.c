#include "input/windows/etw_trace.h"

#include <stdio.h>

#include "etw/etw_api.h"
#include "platform/plat_system.h"

static const uint64_t unit_hz = 10000000; /* of FILETIME */

static struct trace_clock clock_of(const struct etw_logfile_header *header)
{
    uint64_t frequency = header->perf_freq > 0 ? (uint64_t)header->perf_freq : 0;
    uint32_t type = header->reserved_flags;
    if (type == TRACE_CLOCK_CPU_CYCLE) {
        frequency = (uint64_t)header->cpu_speed_mhz * 1000000;
    }
    if (frequency == 0 || type == TRACE_CLOCK_SYSTEM_TIME) {
        frequency = unit_hz;
    }
    return (struct trace_clock){
        .type = type >= TRACE_CLOCK_QPC && type <= TRACE_CLOCK_CPU_CYCLE
                    ? (enum trace_clock_type)type
                    : TRACE_CLOCK_QPC,
        .start_time = header->start_time > 0 ? (uint64_t)header->start_time : 0,
        .frequency = frequency,
    };
}

void etw_trace_init(
    struct etw_trace *trace, const char *name, const struct etw_logfile_header *header)
{
    *trace = (struct etw_trace){.timed = false};
    snprintf(trace->session_name, sizeof(trace->session_name), "%s", name);
    plat_host_name(trace->host_name, sizeof(trace->host_name));
    snprintf(trace->os_version, sizeof(trace->os_version), "%u.%u.%u", header->version & 0xff,
        header->version >> 8 & 0xff, header->provider_version);
    trace->info = (struct trace_info){
        .session_name = span_text(trace->session_name),
        .host_name = span_text(trace->host_name),
        .os_version = span_text(trace->os_version),
        .clock = clock_of(header),
        .boot_time = header->boot_time > 0 ? (uint64_t)header->boot_time : 0,
        .timer_resolution = header->timer_resolution,
        .pointer_size = sizeof(void *), /* the header's is 4 in some live sessions */
        .has_stacks = true,
    };
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
