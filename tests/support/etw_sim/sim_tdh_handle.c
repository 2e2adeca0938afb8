#include <stdlib.h>
#include <string.h>

#include "support/etw_sim/sim_tdh_own.h"
#include "support/etw_sim/sim_tdh_wpp.h"

/* Decoding handles (tdh.h): they keep their parameters, and decode messages of WPP code by them. */
struct decoding_handle {
    struct etw_tdh_context parameters[TDH_CONTEXT_TYPES]; /* by type; value 0: not set */
    etw_char *texts[TDH_CONTEXT_TYPES];                   /* what values of text point to */
};

uint32_t etw_sim_TdhOpenDecodingHandle(void **ret_handle)
{
    if (!ret_handle) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct decoding_handle *handle = calloc(1, sizeof(*handle));
    if (!handle) {
        return ETW_ERROR_OUTOFMEMORY;
    }
    for (uint32_t type = 0; type < TDH_CONTEXT_TYPES; type++) {
        handle->parameters[type].type = type;
    }
    *ret_handle = handle;
    return ETW_SUCCESS;
}

static bool is_text(uint32_t type)
{
    return type == TDH_CONTEXT_TMF_FILE || type == TDH_CONTEXT_TMF_SEARCH_PATH ||
           type == TDH_CONTEXT_PDB_PATH;
}

uint32_t etw_sim_TdhSetDecodingParameter(void *handle, struct etw_tdh_context *parameter)
{
    struct decoding_handle *of = handle;
    if (!of || !parameter || parameter->type >= TDH_CONTEXT_TYPES ||
        (is_text(parameter->type) && !parameter->value)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct etw_tdh_context kept = *parameter;
    if (is_text(kept.type)) {
        const etw_char *text = (const etw_char *)(uintptr_t)kept.value;
        size_t bytes = sim_tdh_utf16(text).size;
        etw_char *copy = calloc(1, bytes + sizeof(*copy));
        if (!copy) {
            return ETW_ERROR_OUTOFMEMORY;
        }
        memcpy(copy, text, bytes);
        free(of->texts[kept.type]);
        of->texts[kept.type] = copy;
        kept.value = (uint64_t)(uintptr_t)copy;
    }
    of->parameters[kept.type] = kept;
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhGetDecodingParameter(void *handle, struct etw_tdh_context *parameter)
{
    const struct decoding_handle *of = handle;
    if (!of || !parameter || parameter->type >= TDH_CONTEXT_TYPES) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    *parameter = of->parameters[parameter->type];
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhCloseDecodingHandle(void *handle)
{
    struct decoding_handle *of = handle;
    for (size_t i = 0; of && i < TDH_CONTEXT_TYPES; i++) {
        free(of->texts[i]);
    }
    free(of);
    return of ? ETW_SUCCESS : ETW_ERROR_INVALID_PARAMETER;
}

/* One that was not written by TraceMessage has no such property. */
static uint32_t give(void *handle, const struct etw_event_record *record, const etw_char *name,
    uint32_t *bytes, uint8_t *ret_value)
{
    const struct decoding_handle *of = handle;
    struct buf made;
    buf_init(&made, SIM_TDH_MAX_ANSWER);
    uint32_t code = sim_tdh_wpp_is(record) ? sim_tdh_wpp_property(record, TDH_CONTEXT_TYPES,
                                                 of->parameters, name, &made)
                                           : ETW_ERROR_NOT_FOUND;
    code = code ? code : sim_tdh_give(&made, ret_value, bytes);
    buf_fini(&made);
    return code;
}

uint32_t etw_sim_TdhGetWppProperty(void *handle, struct etw_event_record *record,
    const etw_char *name, uint32_t *bytes, uint8_t *ret_value)
{
    return handle && record && name && bytes ? give(handle, record, name, bytes, ret_value)
                                             : ETW_ERROR_INVALID_PARAMETER;
}

uint32_t etw_sim_TdhGetWppMessage(
    void *handle, struct etw_event_record *record, uint32_t *bytes, uint8_t *ret_message)
{
    static const etw_char name[] = {
        'F', 'o', 'r', 'm', 'a', 't', 't', 'e', 'd', 'S', 't', 'r', 'i', 'n', 'g', 0};
    return handle && record && bytes ? give(handle, record, name, bytes, ret_message)
                                     : ETW_ERROR_INVALID_PARAMETER;
}
