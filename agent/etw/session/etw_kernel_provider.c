#include "etw/session/etw_kernel.h"

/*
 * The system providers of Windows 11 and Server 2022 (evntrace.h: System*ProviderGuid and
 * SYSTEM_*_KW_*; system-providers on learn.microsoft.com). The keywords of each are the bits from
 * 0x1 on, without a gap.
 */
// clang-format off
#define GUID(a, b, c, d0, d1, d2, d3, d4, d5, d6, d7) \
    {{(a) & 0xff, (a) >> 8 & 0xff, (a) >> 16 & 0xff, (a) >> 24, (b) & 0xff, (b) >> 8, \
        (c) & 0xff, (c) >> 8, d0, d1, d2, d3, d4, d5, d6, d7}}

static const struct etw_system_provider providers[] = {
    {"SystemAlpcProvider",
        GUID(0xfcb9baaf, 0xe529, 0x4980, 0x92, 0xe9, 0xce, 0xd1, 0xa6, 0xaa, 0xdf, 0xdf),
        "GENERAL"},
    {"SystemConfigProvider",
        GUID(0xfef3a8b6, 0x318d, 0x4b67, 0xa9, 0x6a, 0x3b, 0x0f, 0x6b, 0x8f, 0x18, 0xfe),
        "SYSTEM GRAPHICS STORAGE NETWORK SERVICES PNP OPTICAL"},
    {"SystemCpuProvider",
        GUID(0xc6c5265f, 0xeae8, 0x4650, 0xaa, 0xe4, 0x9d, 0x48, 0x60, 0x3d, 0x85, 0x10),
        "CONFIG CACHE_FLUSH SPEC_CONTROL DOMAIN_CHANGE"},
    {"SystemHypervisorProvider",
        GUID(0xbafa072a, 0x918a, 0x4bed, 0xb6, 0x22, 0xbc, 0x15, 0x20, 0x97, 0x09, 0x8f),
        "PROFILE CALLOUTS VTL_CHANGE"},
    {"SystemInterruptProvider",
        GUID(0xd4bbee17, 0xb545, 0x4888, 0x85, 0x8b, 0x74, 0x41, 0x69, 0x01, 0x5b, 0x25),
        "GENERAL CLOCK_INTERRUPT DPC DPC_QUEUE WDF_DPC WDF_INTERRUPT IPI"},
    {"SystemIoFilterProvider",
        GUID(0xfbd09363, 0x9e22, 0x4661, 0xb8, 0xbf, 0xe7, 0xa3, 0x4b, 0x53, 0x5b, 0x8c),
        "GENERAL INIT FASTIO FAILURE"},
    {"SystemIoProvider",
        GUID(0x3d5c43e3, 0x0f1c, 0x4202, 0xb8, 0x17, 0x17, 0x4c, 0x00, 0x70, 0xdc, 0x79),
        "DISK DISK_INIT FILENAME SPLIT FILE OPTICAL OPTICAL_INIT DRIVERS CC NETWORK FILE_INIT "
        "TIMER"},
    {"SystemLastBranchRecordProvider",
        GUID(0x99134383, 0x5248, 0x43fc, 0x83, 0x4b, 0x52, 0x94, 0x54, 0xe7, 0x5d, 0xf3),
        ""},
    {"SystemLockProvider",
        GUID(0x721ddfd3, 0xdacc, 0x4e1e, 0xb2, 0x6a, 0xa2, 0xcb, 0x31, 0xd4, 0x70, 0x5a),
        "SPINLOCK SPINLOCK_COUNTERS SYNC_OBJECTS"},
    {"SystemMemoryProvider",
        GUID(0x82958ca9, 0xb6cd, 0x47f8, 0xa3, 0xa8, 0x03, 0xae, 0x85, 0xa4, 0xbc, 0x24),
        "GENERAL HARD_FAULTS ALL_FAULTS POOL MEMINFO PFSECTION MEMINFO_WS HEAP WS CONTMEM_GEN "
        "VIRTUAL_ALLOC FOOTPRINT SESSION REFSET VAMAP NONTRADEABLE"},
    {"SystemObjectProvider",
        GUID(0xfebd7460, 0x3d1d, 0x47eb, 0xaf, 0x49, 0xc9, 0xee, 0xb1, 0xe1, 0x46, 0xf2),
        "GENERAL HANDLE"},
    {"SystemPowerProvider",
        GUID(0xc134884a, 0x32d5, 0x4488, 0x80, 0xe5, 0x14, 0xed, 0x7a, 0xbb, 0x82, 0x69),
        "GENERAL HIBER_RUNDOWN PROCESSOR_IDLE IDLE_SELECTION PPM_EXIT_LATENCY"},
    {"SystemProcessProvider",
        GUID(0x151f55dc, 0x467d, 0x471f, 0x83, 0xb5, 0x5f, 0x88, 0x9d, 0x46, 0xff, 0x66),
        "GENERAL INSWAP FREEZE PERF_COUNTER WAKE_COUNTER WAKE_DROP WAKE_EVENT DEBUG_EVENTS "
        "DBGPRINT JOB WORKER_THREAD THREAD LOADER"},
    {"SystemProfileProvider",
        GUID(0xbfeb0324, 0x1cee, 0x496f, 0xa4, 0x09, 0x2a, 0xc2, 0xb4, 0x8a, 0x63, 0x22),
        "GENERAL PMC_PROFILE"},
    {"SystemRegistryProvider",
        GUID(0x16156bd9, 0xfab4, 0x4cfa, 0xa2, 0x32, 0x89, 0xd1, 0x09, 0x90, 0x58, 0xe3),
        "GENERAL HIVE NOTIFICATION"},
    {"SystemSchedulerProvider",
        GUID(0x599a2a76, 0x4d91, 0x4910, 0x9a, 0xc7, 0x7d, 0x33, 0xf2, 0xe9, 0x7a, 0x6c),
        "XSCHEDULER DISPATCHER KERNEL_QUEUE SHOULD_YIELD ANTI_STARVATION LOAD_BALANCER "
        "AFFINITY PRIORITY IDEAL_PROCESSOR CONTEXT_SWITCH COMPACT_CSWITCH SCHEDULE_THREAD "
        "READY_QUEUE CPU_PARTITION THREAD_FEEDBACK_READ WORKLOAD_CLASS_UPDATE AUTOBOOST"},
    {"SystemSyscallProvider",
        GUID(0x434286f7, 0x6f1b, 0x45bb, 0xb3, 0x7e, 0x95, 0xf6, 0x23, 0x04, 0x6c, 0x7c),
        "GENERAL"},
    {"SystemTimerProvider",
        GUID(0x4f061568, 0xe215, 0x499f, 0xab, 0x2e, 0xed, 0xa0, 0xae, 0x89, 0x0a, 0x5b),
        "GENERAL CLOCK_TIMER"},
};
// clang-format on

const struct etw_system_provider *etw_kernel_system_provider(size_t index)
{
    return index < sizeof(providers) / sizeof(providers[0]) ? &providers[index] : NULL;
}

/* ${text} without ${prefix}, if it begins with it. */
static struct span without(struct span text, const char *prefix)
{
    size_t size = strlen(prefix);
    bool has = text.size > size && span_equal_nocase(span_first(text, size), span_text(prefix));
    return has ? span_from(text, size) : text;
}

/* `SystemProcessProvider` -> `Process`. */
static struct span short_name(struct span name)
{
    static const char end[] = "Provider";
    struct span rest = without(name, "System");
    return span_ends_nocase(rest, end) ? span_first(rest, rest.size - strlen(end)) : rest;
}

const struct etw_system_provider *etw_kernel_find_provider(struct span name)
{
    struct span wanted = short_name(name);
    for (size_t i = 0; etw_kernel_system_provider(i); i++) {
        if (span_equal_nocase(short_name(span_text(providers[i].name)), wanted)) {
            return &providers[i];
        }
    }
    return NULL;
}

const struct etw_system_provider *etw_kernel_provider_of(const struct guid *guid)
{
    for (size_t i = 0; etw_kernel_system_provider(i); i++) {
        if (guid_equal(&providers[i].guid, guid)) {
            return &providers[i];
        }
    }
    return NULL;
}

/* ${name} without its prefix, such as `SYSTEM_PROCESS_KW_`. */
static struct span bare_keyword(const struct etw_system_provider *provider, struct span name)
{
    struct span rest = without(name, "SYSTEM_");
    struct span own = short_name(span_text(provider->name));
    if (rest.size == name.size || rest.size <= own.size ||
        !span_equal_nocase(span_first(rest, own.size), own)) {
        return name;
    }
    struct span bare = without(span_from(rest, own.size), "_KW_");
    return bare.size == rest.size - own.size ? name : bare;
}

uint64_t etw_kernel_keyword(const struct etw_system_provider *provider, struct span name)
{
    struct span wanted = bare_keyword(provider, name);
    struct span rest = span_text(provider->keywords);
    for (uint64_t bit = 1; rest.size; bit <<= 1) {
        const uint8_t *space = memchr(rest.data, ' ', rest.size);
        size_t size = space ? (size_t)(space - rest.data) : rest.size;
        if (span_equal_nocase(span_first(rest, size), wanted)) {
            return bit;
        }
        rest = span_from(rest, size + 1);
    }
    return 0;
}
