#include "etw/enable/etw_registrations.h"

#include <stdlib.h>

#include "etw/etw_api.h"

/*
 * EnumerateTraceGuidsEx returns TRACE_GUID_INFO, then a chain of instances, each followed by the
 * requests of sessions; all of it is read with bounds checks. A list may grow between the call for
 * its size and the call for its data, so both are repeated.
 */
enum { MAX_ANSWER_BYTES = 16 * 1024 * 1024, IS_CLASSIC = 1, IS_PRE_ENABLED = 2 };

static const uint32_t system_pid = 4;

static bool wants_more(uint32_t result)
{
    return result == ETW_ERROR_INSUFFICIENT_BUFFER || result == ETW_ERROR_MORE_DATA ||
           result == ETW_ERROR_BAD_LENGTH;
}

/* On success the caller frees ${ret_answer}. */
static uint32_t ask(
    uint32_t info_class, void *in, uint32_t in_bytes, uint8_t **ret_answer, uint32_t *ret_bytes)
{
    uint32_t size = 16 * 1024;
    for (;;) {
        uint32_t used = 0;
        uint8_t *answer = calloc(1, size);
        if (!answer) {
            return ETW_ERROR_NOT_ENOUGH_MEMORY;
        }
        uint32_t result = etw_api_get()->EnumerateTraceGuidsEx(
            info_class, in, in_bytes, answer, size, &used);
        if (result == ETW_SUCCESS) {
            *ret_answer = answer;
            *ret_bytes = used < size ? used : size;
            return result;
        }
        free(answer);
        if (!wants_more(result) || size >= MAX_ANSWER_BYTES) {
            return result;
        }
        size = used > size && used < MAX_ANSWER_BYTES ? used : size * 2;
    }
}

/* Receivers of the entries of an answer. */
struct reading {
    void (*instance)(void *self, const struct etw_instance_info *instance);
    void (*entry)(
        void *self, const struct etw_enable_info *info, const struct etw_instance_info *instance);
    void *self;
};

static bool read_answer(struct span answer, const struct reading *reading)
{
    struct etw_guid_info head;
    if (answer.size < sizeof(head)) {
        return false;
    }
    memcpy(&head, answer.data, sizeof(head));
    struct span rest = span_from(answer, sizeof(head));
    for (uint32_t i = 0; i < head.instance_count; i++) {
        struct etw_instance_info instance;
        if (rest.size < sizeof(instance)) {
            return false;
        }
        memcpy(&instance, rest.data, sizeof(instance));
        struct span enables = span_from(rest, sizeof(instance));
        if (instance.enable_count > enables.size / sizeof(struct etw_enable_info)) {
            return false;
        }
        reading->instance(reading->self, &instance);
        for (uint32_t j = 0; j < instance.enable_count; j++) {
            struct etw_enable_info info;
            memcpy(&info, enables.data + j * sizeof(info), sizeof(info));
            if (info.is_enabled) {
                reading->entry(reading->self, &info, &instance);
            }
        }
        if (instance.next_offset < sizeof(instance)) {
            break;
        }
        rest = span_from(rest, instance.next_offset);
    }
    return true;
}

/* Query a provider. ${ret_known}: Windows has answered; unregistered is an answer. */
static bool ask_provider(
    const struct guid *provider, const struct reading *reading, bool *ret_known, struct error *err)
{
    struct guid guid = *provider;
    uint8_t *answer;
    uint32_t bytes;
    *ret_known = false;
    if (!etw_api_get()->EnumerateTraceGuidsEx) {
        return true;
    }
    uint32_t result = ask(ETW_INFO_GUID_QUERY_INFO, &guid, sizeof(guid), &answer, &bytes);
    if (result == ETW_ERROR_NOT_ENOUGH_MEMORY) {
        return error_set(err, ERR_MEMORY, "out of memory for a provider's sessions");
    }
    if (result == ETW_SUCCESS) {
        bool ok = read_answer(span_make(answer, bytes), reading);
        free(answer);
        if (!ok) {
            return error_set(err, ERR_FORMAT,
                "Windows' list of a provider's sessions is malformed. please report this");
        }
    }
    /* With these codes it is unregistered; with others the caller may not query it. */
    *ret_known = result == ETW_SUCCESS || result == ETW_ERROR_WMI_GUID_NOT_FOUND ||
                 result == ETW_ERROR_FILE_NOT_FOUND || result == ETW_ERROR_NOT_FOUND;
    return true;
}

/* ---- all sessions ---------------------------------------------------------------------------- */

static void count_instance(void *self, const struct etw_instance_info *instance)
{
    struct etw_registrations *found = self;
    found->is_classic = found->is_classic || (instance->flags & IS_CLASSIC) != 0;
    found->instance_count++;
    /* The flag also applies to a process that registers later. */
    found->registered_count += !(instance->flags & IS_PRE_ENABLED) || instance->pid != 0;
    found->process_count += instance->pid != 0 && instance->pid != system_pid;
}

static void add_hold(
    void *self, const struct etw_enable_info *info, const struct etw_instance_info *instance)
{
    struct etw_registrations *found = self;
    if (found->hold_count == ETW_MAX_HOLDS) {
        return;
    }
    found->holds[found->hold_count++] = (struct etw_hold_info){
        .logger_id = info->logger_id,
        .level = info->level,
        .properties = info->enable_property,
        .any = info->match_any_keyword,
        .all = info->match_all_keyword,
        .pid = instance->pid,
    };
}

bool etw_registrations_query(
    const struct guid *provider, struct etw_registrations *ret_found, struct error *err)
{
    struct etw_registrations found = {.known = false};
    const struct reading reading = {.instance = count_instance, .entry = add_hold, .self = &found};
    if (!ask_provider(provider, &reading, &found.known, err)) {
        return false;
    }
    *ret_found = found;
    return true;
}

bool etw_registrations_are_of_processes(const struct guid *provider)
{
    struct etw_registrations *found = malloc(sizeof(*found));
    bool are_so = found && etw_registrations_query(provider, found, NULL) && found->known &&
                  found->instance_count > 0 && found->process_count == found->instance_count;
    free(found);
    return are_so;
}

bool etw_registrations_have_driver(const struct guid *provider)
{
    struct etw_registrations *found = malloc(sizeof(*found));
    bool have_one = found && etw_registrations_query(provider, found, NULL) && found->known &&
                    found->registered_count > found->process_count;
    free(found);
    return have_one;
}

/* ---- one session ----------------------------------------------------------------------------- */

struct one_session {
    uint16_t logger_id;
    struct etw_provider_enabled enabled;
};

static void count_any_instance(void *self, const struct etw_instance_info *instance)
{
    struct one_session *one = self;
    (void)instance;
    one->enabled.instances++;
}

static void add_enabled(
    void *self, const struct etw_enable_info *info, const struct etw_instance_info *instance)
{
    struct one_session *one = self;
    struct etw_provider_enabled *sum = &one->enabled;
    (void)instance;
    if (info->logger_id != one->logger_id) {
        return;
    }
    uint8_t level = info->level ? info->level : UINT8_MAX;
    sum->level = level > sum->level ? level : sum->level;
    sum->any |= info->match_any_keyword ? info->match_any_keyword : UINT64_MAX;
    sum->all = sum->entries ? sum->all & info->match_all_keyword : info->match_all_keyword;
    sum->properties |= info->enable_property;
    sum->entries++;
}

bool etw_registrations_query_session(const struct guid *provider, uint16_t logger_id,
    struct etw_provider_enabled *ret_enabled, struct error *err)
{
    struct one_session one = {.logger_id = logger_id};
    const struct reading reading = {
        .instance = count_any_instance, .entry = add_enabled, .self = &one};
    if (!ask_provider(provider, &reading, &one.enabled.known, err)) {
        return false;
    }
    *ret_enabled = one.enabled;
    return true;
}

const struct etw_session_state *etw_registrations_owner(
    const struct etw_registrations *found, const struct etw_session_list *list, uint64_t session)
{
    if (!found->known || !found->is_classic) {
        return NULL;
    }
    for (size_t i = 0; i < found->hold_count; i++) {
        uint16_t holder = found->holds[i].logger_id;
        if (session == 0 || holder != (uint16_t)session) {
            return etw_control_find_logger(list, holder);
        }
    }
    return NULL;
}

bool etw_registrations_list(struct guid **ret_guids, size_t *ret_count, struct error *err)
{
    uint8_t *answer;
    uint32_t bytes;
    if (!etw_api_get()->EnumerateTraceGuidsEx) {
        return etw_api_missing(err, "EnumerateTraceGuidsEx");
    }
    uint32_t result = ask(ETW_INFO_GUID_QUERY_LIST, NULL, 0, &answer, &bytes);
    if (result != ETW_SUCCESS) {
        return etw_api_fail(err, result, "the registered providers cannot be listed");
    }
    *ret_guids = (struct guid *)answer;
    *ret_count = bytes / sizeof(struct guid);
    return true;
}
