/*
 * Filters of an enablement (event_filter_descriptor, enable_trace_parameters). Several types are
 * taken as AND. Scope filters (process, program, package) do not reach kernel-mode providers, ids
 * do not reach TraceLogging events.
 */
#include "base/bytes.h"
#include "support/etw_sim/etw_sim_payload.h"
#include "support/etw_sim/sim_state.h"

enum { IDS_HEADER = 4, NAMES_HEADER = 20, LEVEL_KW_BYTES = 18, LEVEL_KW_PADDED = 24 };

static struct span data_of(const struct etw_filter *f)
{
    return span_make((const void *)(uintptr_t)f->data, f->size);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool ids_are_good(struct span d)
{
    return d.size >= IDS_HEADER && load_le16(d.data + 2) <= ETW_MAX_FILTER_IDS &&
           d.size >= IDS_HEADER + 2 * (size_t)load_le16(d.data + 2);
}

static bool names_are_good(struct span d)
{
    if (d.size < NAMES_HEADER || d.size > ETW_MAX_FILTER_NAME_BYTES) {
        return false;
    }
    size_t terminators = 0;
    for (size_t i = NAMES_HEADER; i < d.size; i++) {
        terminators += d.data[i] == 0;
    }
    return terminators >= load_le16(d.data + 18);
}

static bool is_good(const struct etw_filter *f)
{
    struct span d = data_of(f);
    if (!f->data && f->size) {
        return false;
    }
    switch (f->type) {
    case ETW_FILTER_PID:
        return d.size && d.size % 4 == 0 && d.size / 4 <= ETW_MAX_FILTER_PIDS;
    case ETW_FILTER_EXECUTABLE_NAME:
    case ETW_FILTER_PACKAGE_ID:
    case ETW_FILTER_PACKAGE_APP_ID:
        return d.size >= 2 && d.size <= ETW_MAX_FILTER_BYTES && d.size % 2 == 0;
    case ETW_FILTER_EVENT_ID:
    case ETW_FILTER_STACKWALK:
        return ids_are_good(d);
    case ETW_FILTER_EVENT_NAME:
    case ETW_FILTER_STACKWALK_NAME:
        return names_are_good(d);
    case ETW_FILTER_STACKWALK_LEVEL_KW:
        return d.size >= LEVEL_KW_BYTES && d.size <= LEVEL_KW_PADDED;
    case ETW_FILTER_PAYLOAD:
        return d.size <= ETW_MAX_FILTER_PAYLOAD_BYTES && etw_sim_payload_valid(d);
    case ETW_FILTER_TRACEHANDLE:
        return d.size == 8;
    case ETW_FILTER_SCHEMATIZED:
    case ETW_FILTER_CONTAINER:
        return d.size <= ETW_MAX_FILTER_BYTES;
    default:
        return false;
    }
}

uint32_t sim_filter_check(const struct etw_enable_parameters *p)
{
    const struct etw_filter *list = (const struct etw_filter *)(uintptr_t)p->filters;
    if (p->version < 1 || p->version > 2) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t count = p->version == 2 ? p->filter_count : list ? 1 : 0;
    if (count > ETW_MAX_FILTERS || (count && !list)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_good(&list[i]) || (p->version == 1 && list[i].type != ETW_FILTER_SCHEMATIZED)) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (list[k].type == list[i].type) {
                return ETW_ERROR_INVALID_PARAMETER;
            }
        }
    }
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool level_passes(uint8_t limit, uint8_t level)
{
    return limit == 0 || level <= limit;
}

static bool keyword_passes(uint64_t any, uint64_t all, uint64_t keyword)
{
    return keyword == 0 || any == 0 || ((keyword & any) && (keyword & all) == all);
}

bool sim_filter_level_keyword(const struct sim_enable *e, uint8_t level, uint64_t keyword)
{
    if (keyword == 0 && e->property & ETW_ENABLE_IGNORE_KEYWORD_0) {
        return false;
    }
    return level_passes(e->level, level) && keyword_passes(e->any, e->all, keyword);
}

static bool has_id(struct span d, uint16_t id)
{
    for (uint16_t i = 0; i < load_le16(d.data + 2); i++) {
        if (load_le16(d.data + IDS_HEADER + (size_t)2 * i) == id) {
            return true;
        }
    }
    return false;
}

/*
 * True if a filter with these keywords and that level applies to the event. The documents do not
 * say that 0 stands for all keywords here, as it does in EnableTraceEx2. So such a filter applies
 * to no event with a keyword.
 */
static bool is_for(const struct sim_item *item, struct span d)
{
    uint64_t keyword = item->descriptor.keyword;
    uint64_t all = load_le64(d.data + 8);
    return level_passes(d.data[16], item->descriptor.level) &&
           (keyword == 0 || (keyword & load_le64(d.data) && (keyword & all) == all));
}

/* The name of a TraceLogging event: u16 size, tag bytes as long as their top bit is set and one
 * more, then the name and its NUL (TraceLoggingProvider.h). */
static struct span event_name(struct span metadata)
{
    size_t at = 2;
    while (at < metadata.size && metadata.data[at] & 0x80) {
        at++;
    }
    struct span rest = span_from(metadata, at + 1);
    const uint8_t *end = rest.size ? memchr(rest.data, 0, rest.size) : NULL;
    return end ? span_make(rest.data, (size_t)(end - rest.data)) : span_make(NULL, 0);
}

static bool has_name(struct span d, const struct sim_item *item)
{
    struct span name = event_name(item->metadata);
    struct span rest = span_from(d, NAMES_HEADER);
    for (uint16_t i = 0; i < load_le16(d.data + 18); i++) {
        const uint8_t *end = memchr(rest.data, 0, rest.size);
        size_t size = (size_t)(end - rest.data);
        if (span_equal(span_first(rest, size), name)) {
            return true;
        }
        rest = span_from(rest, size + 1);
    }
    return false;
}

/* A filter by names passes events to which it does not apply. */
static bool names_pass(struct span d, const struct sim_item *item)
{
    return !item->tracelogging || !is_for(item, d) || has_name(d, item) == (d.data[17] != 0);
}

/* Is ${text} one of the names between the semicolons of ${d}, UTF-16? */
static bool list_has(struct span d, const char *text)
{
    etw_char wanted[256];
    sim_text_from_utf8(text ? text : "", wanted, 256);
    for (size_t at = 0; at + 2 <= d.size;) {
        etw_char one[ETW_MAX_FILTER_BYTES / 2 + 1];
        size_t n = 0;
        while (at + 2 <= d.size && load_le16(d.data + at) && load_le16(d.data + at) != ';') {
            one[n++] = load_le16(d.data + at);
            at += 2;
        }
        one[n] = 0;
        if (n && sim_text_equal(one, wanted)) {
            return true;
        }
        if (at + 2 <= d.size && load_le16(d.data + at) == 0) {
            break;
        }
        at += 2;
    }
    return false;
}

static bool has_pid(struct span d, uint32_t pid)
{
    for (size_t i = 0; i + 4 <= d.size; i += 4) {
        if (load_le32(d.data + i) == pid) {
            return true;
        }
    }
    return false;
}

bool sim_filter_scope(
    const struct sim_enable *e, bool kernel_mode, uint32_t pid, const struct sim_process *process)
{
    bool pass = true;
    for (uint32_t i = 0; i < e->filter_count && pass; i++) {
        struct span d = data_of(&e->filters[i]);
        switch (e->filters[i].type) {
        case ETW_FILTER_PID:
            pass = !kernel_mode && has_pid(d, pid);
            break;
        case ETW_FILTER_EXECUTABLE_NAME:
            pass = kernel_mode || list_has(d, process->p.image);
            break;
        case ETW_FILTER_PACKAGE_ID:
            pass = kernel_mode || list_has(d, process->p.package);
            break;
        case ETW_FILTER_PACKAGE_APP_ID:
            pass = kernel_mode || list_has(d, process->p.package_app);
            break;
        default:
            break;
        }
    }
    return pass;
}

static bool content_passes(const struct etw_filter *f, const struct sim_item *item)
{
    struct span d = data_of(f);
    switch (f->type) {
    case ETW_FILTER_EVENT_ID:
        return item->tracelogging || has_id(d, item->descriptor.id) == (d.data[0] != 0);
    case ETW_FILTER_EVENT_NAME:
        return names_pass(d, item);
    case ETW_FILTER_PAYLOAD:
        return etw_sim_payload_pass(d, &item->descriptor, item->payload);
    default:
        return true;
    }
}

bool sim_filter_pass(const struct sim_enable *e, const struct sim_item *item)
{
    if (!sim_filter_level_keyword(e, item->descriptor.level, item->descriptor.keyword)) {
        return false;
    }
    if (!sim_filter_scope(e, item->kernel_mode, item->pid, item->process)) {
        return false;
    }
    if (item->in_private && e->property & ETW_ENABLE_EXCLUDE_INPRIVATE) {
        return false;
    }
    bool group = e->property & ETW_ENABLE_PROVIDER_GROUP;
    for (uint32_t i = 0; !group && i < e->filter_count; i++) {
        if (!content_passes(&e->filters[i], item)) {
            return false;
        }
    }
    return true;
}

bool sim_filter_wants_stack(const struct sim_enable *e, const struct sim_item *item)
{
    if (!(e->property & ETW_ENABLE_STACK_TRACE)) {
        return false;
    }
    bool wants = true;
    for (uint32_t i = 0; i < e->filter_count && wants; i++) {
        const struct etw_filter *f = &e->filters[i];
        struct span d = data_of(f);
        if (f->type == ETW_FILTER_STACKWALK) {
            wants = item->tracelogging || has_id(d, item->descriptor.id) == (d.data[0] != 0);
        } else if (f->type == ETW_FILTER_STACKWALK_NAME) {
            wants = names_pass(d, item);
        } else if (f->type == ETW_FILTER_STACKWALK_LEVEL_KW) {
            wants = is_for(item, d) == (d.data[17] != 0);
        }
    }
    return wants;
}

void sim_filter_forget_pid(struct sim_enable *e, uint32_t pid)
{
    for (uint32_t i = 0; i < e->filter_count; i++) {
        uint8_t *data = (uint8_t *)(uintptr_t)e->filters[i].data;
        for (size_t k = 0; e->filters[i].type == ETW_FILTER_PID && k < e->filters[i].size; k += 4) {
            if (load_le32(data + k) == pid) {
                store_le32(data + k, UINT32_MAX);
            }
        }
    }
}
