/* Functions that call other functions: the A variants (whose names count as UTF-8, and whose
 * properties hold narrow names), and the short forms of ControlTrace. */
#include <stdlib.h>

#include "support/etw_sim/sim_state.h"

enum { BLOCK_BYTES = sizeof(struct etw_properties) + 4 * ETW_MAX_NAME_CHARS };

/* A block with wide names, for one with narrow ones. */
struct wide {
    struct etw_properties p;
    etw_char names[2 * ETW_MAX_NAME_CHARS];
};

static uint32_t widen(const struct etw_properties *p, struct wide *w)
{
    bool v2 = p->wnode.flags & ETW_WNODE_VERSIONED_PROPERTIES;
    size_t fixed = v2 ? sizeof(*p) : ETW_PROPERTIES_V1_BYTES;
    memset(w, 0, sizeof(*w));
    if (p->wnode.buffer_size < fixed) {
        return ETW_ERROR_BAD_LENGTH;
    }
    memcpy(&w->p, p, fixed);
    w->p.wnode.buffer_size = sizeof(*w);
    w->p.logger_name_offset = p->logger_name_offset ? offsetof(struct wide, names) : 0;
    w->p.log_file_name_offset = 0;
    if (p->log_file_name_offset) {
        uint32_t at = p->log_file_name_offset;
        const char *file = (const char *)p + at;
        if (at >= p->wnode.buffer_size || !memchr(file, 0, p->wnode.buffer_size - at)) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        w->p.log_file_name_offset = offsetof(struct wide, names) + 2 * ETW_MAX_NAME_CHARS;
        sim_text_from_utf8(file, w->names + ETW_MAX_NAME_CHARS, ETW_MAX_NAME_CHARS);
    }
    return 0;
}

static bool put_narrow(
    struct etw_properties *p, uint32_t offset, uint32_t other, const etw_char *text)
{
    char narrow[SIM_TEXT_BYTES];
    if (offset == 0) {
        return true;
    }
    sim_text_to_utf8(text, narrow, sizeof(narrow));
    uint32_t end = other > offset ? other : p->wnode.buffer_size;
    if (offset >= end || strlen(narrow) >= end - offset) {
        return false;
    }
    memcpy((uint8_t *)p + offset, narrow, strlen(narrow) + 1);
    return true;
}

static uint32_t narrow(const struct wide *w, struct etw_properties *p)
{
    bool v2 = p->wnode.flags & ETW_WNODE_VERSIONED_PROPERTIES;
    uint32_t size = p->wnode.buffer_size;
    uint32_t name_offset = p->logger_name_offset;
    uint32_t file_offset = p->log_file_name_offset;
    memcpy(p, &w->p, v2 ? sizeof(*p) : ETW_PROPERTIES_V1_BYTES);
    p->wnode.buffer_size = size;
    p->logger_name_offset = name_offset;
    p->log_file_name_offset = file_offset;
    bool fits = put_narrow(p, name_offset, file_offset, w->names);
    fits = put_narrow(p, file_offset, name_offset, w->names + ETW_MAX_NAME_CHARS) && fits;
    return fits ? 0 : ETW_ERROR_MORE_DATA;
}

uint32_t etw_sim_StartTraceA(
    uint64_t *ret_session, const char *name, struct etw_properties *properties)
{
    struct wide w;
    etw_char name16[ETW_MAX_NAME_CHARS];
    if (!name || !properties) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t code = widen(properties, &w);
    if (code) {
        return code;
    }
    sim_text_from_utf8(name, name16, ETW_MAX_NAME_CHARS);
    code = etw_sim_StartTraceW(ret_session, name16, &w.p);
    return code ? code : narrow(&w, properties);
}

uint32_t etw_sim_ControlTraceA(
    uint64_t session, const char *name, struct etw_properties *properties, uint32_t control)
{
    struct wide w;
    etw_char name16[ETW_MAX_NAME_CHARS];
    if (!properties) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t code = widen(properties, &w);
    if (code) {
        return code;
    }
    sim_text_from_utf8(name ? name : "", name16, ETW_MAX_NAME_CHARS);
    code = etw_sim_ControlTraceW(session, name ? name16 : NULL, &w.p, control);
    return code ? code : narrow(&w, properties);
}

#define SHORT_FORM(function, control)                                              \
    uint32_t etw_sim_##function##W(                                                \
        uint64_t session, const etw_char *name, struct etw_properties *properties) \
    {                                                                              \
        return etw_sim_ControlTraceW(session, name, properties, control);          \
    }                                                                              \
    uint32_t etw_sim_##function##A(                                                \
        uint64_t session, const char *name, struct etw_properties *properties)     \
    {                                                                              \
        return etw_sim_ControlTraceA(session, name, properties, control);          \
    }

SHORT_FORM(StopTrace, ETW_CONTROL_STOP)
SHORT_FORM(QueryTrace, ETW_CONTROL_QUERY)
SHORT_FORM(FlushTrace, ETW_CONTROL_FLUSH)
SHORT_FORM(UpdateTrace, ETW_CONTROL_UPDATE)

uint32_t etw_sim_QueryAllTracesA(
    struct etw_properties **list, uint32_t capacity, uint32_t *ret_count)
{
    enum { AT_MOST = 256 };
    struct wide *all = calloc(AT_MOST, sizeof(*all));
    struct etw_properties *pointers[AT_MOST];
    if (!all || !list || capacity == 0 || capacity > AT_MOST) {
        free(all);
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t code = 0;
    for (uint32_t i = 0; i < capacity && !code; i++) {
        pointers[i] = &all[i].p;
        code = list[i] ? widen(list[i], &all[i]) : ETW_ERROR_INVALID_PARAMETER;
    }
    if (!code) {
        code = etw_sim_QueryAllTracesW(pointers, capacity, ret_count);
    }
    for (uint32_t i = 0; !code && i < *ret_count && i < capacity; i++) {
        narrow(&all[i], list[i]);
    }
    free(all);
    return code;
}

uint64_t etw_sim_OpenTraceA(struct etw_logfile *logfile)
{
    etw_char name[ETW_MAX_NAME_CHARS];
    etw_char file[ETW_MAX_NAME_CHARS];
    if (!logfile) {
        return etw_sim_OpenTraceW(NULL);
    }
    struct etw_logfile wide = *logfile;
    if (logfile->logger_name) {
        sim_text_from_utf8((const char *)logfile->logger_name, name, ETW_MAX_NAME_CHARS);
        wide.logger_name = name;
    }
    if (logfile->log_file_name) {
        sim_text_from_utf8((const char *)logfile->log_file_name, file, ETW_MAX_NAME_CHARS);
        wide.log_file_name = file;
    }
    uint64_t handle = etw_sim_OpenTraceW(&wide);
    logfile->header = wide.header;
    logfile->buffer_size = wide.buffer_size;
    return handle;
}
