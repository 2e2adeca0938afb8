#include "cli/selftest/selftest_probes.h"
#include "etw/session/etw_heap.h"
#include "etw/session/etw_kernel.h"
#include "platform/plat_self.h"

/*
 * Does Windows accept the block of a session with EnableFlags as a list of items (etw_block.h)?
 * Once with a process and a stack for heap events, once with groups of kernel events. The group is
 * registry hives, which has few events.
 */
static const struct etw_groups hives = {.words = {0, 0, 0x01000000}}; /* PERF_REG_HIVE */

static bool is_refused(const struct error *err)
{
    return err->os_code == ETW_ERROR_INVALID_PARAMETER || err->os_code == ETW_ERROR_INVALID_FLAGS ||
           err->os_code == ETW_ERROR_BAD_LENGTH || err->os_code == ETW_ERROR_NOT_SUPPORTED;
}

/* Start and stop it. False, with an answer: it did not start. */
static bool is_started(
    bool started, const char *name, const struct error *err, struct selftest_answer *answer)
{
    if (started) {
        etw_control_stop(name, NULL, NULL);
        return true;
    }
    selftest_probes_answer(
        answer, is_refused(err) ? SELFTEST_OTHERWISE : SELFTEST_UNKNOWN, "%.300s", err->text);
    return false;
}

static bool takes_heaps(struct selftest_answer *answer)
{
    char name[SELFTEST_PROBE_NAME_BYTES];
    uint8_t items[ETW_MAX_EXTENSION_BYTES];
    const uint32_t pid = plat_process_id();
    const uint8_t stack = ETW_HEAP_ALLOC;
    const struct etw_heap_request request = {
        .pids = &pid, .pid_count = 1, .stacks = &stack, .stack_count = 1};
    struct etw_session_state session;
    struct error err = {0};
    selftest_probes_session("heap", name);
    struct etw_session_spec spec = {.name = name,
        .guid = etw_heap_guid,
        .buffer_kb = 64,
        .mode = ETW_MODE_REAL_TIME,
        .extension = span_make(items, etw_heap_encode(&request, items))};
    return is_started(etw_control_start(&spec, &session, &err), name, &err, answer);
}

static bool takes_groups(struct selftest_answer *answer)
{
    char name[SELFTEST_PROBE_NAME_BYTES];
    struct etw_session_state session;
    struct etw_groups told = {.words = {0}};
    struct error err = {0};
    selftest_probes_session("groups", name);
    struct etw_session_spec spec = {.name = name,
        .guid = guid_from_name(span_text(name)),
        .buffer_kb = 64,
        .mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER};
    bool started = etw_kernel_start_extended(&spec, &hives, &session, &err);
    bool knows = started && etw_kernel_get_groups(session.handle, name, &told, NULL);
    if (!is_started(started, name, &err, answer)) {
        return false;
    }
    if (knows && !(told.words[2] & hives.words[2])) {
        selftest_probes_answer(answer, SELFTEST_OTHERWISE,
            "a session started with a list of groups of kernel events does not have them");
        return false;
    }
    return true;
}

void selftest_probe_block_run(struct selftest_answer *ret_answer)
{
    if (takes_heaps(ret_answer) && takes_groups(ret_answer)) {
        selftest_probes_answer(ret_answer, SELFTEST_AS_EXPECTED,
            "sessions start with processes, stacks and groups of kernel events as a list");
    }
}
