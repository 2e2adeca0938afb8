#include "input/windows/etw_trace.h"

#include <stdio.h>

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
}

/* The counter's value now, by the system's own monotonic clock, which is that counter on Windows. */
static int64_t counter_now(uint64_t frequency)
{
    const uint64_t second_ns = 1000000000;
    uint64_t now = plat_monotonic_ns();
    return (int64_t)(now / second_ns * frequency + now % second_ns * frequency / second_ns);
}

void etw_trace_start(struct etw_trace *trace, int64_t raw, bool is_header)
{
    const int64_t max_age_s = 30 * 24 * 3600;
    struct trace_clock *clock = &trace->info.clock;
    if (trace->timed) {
        return;
    }
    trace->timed = true;
    clock->start_raw = raw;
    if (is_header && clock->start_time) {
        return;
    }
    clock->start_time = plat_now_filetime();
    if (clock->type == TRACE_CLOCK_QPC) {
        int64_t now = counter_now(clock->frequency);
        bool plausible = raw <= now && (now - raw) / (int64_t)clock->frequency < max_age_s;
        clock->start_raw = plausible ? now : raw;
    }
}
