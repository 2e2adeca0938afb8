#include <stdlib.h>

#include "support/etw_sim/sim_tdh.h"

/* Decoding handles (tdh.h): they keep their parameters. WPP messages would need TMF files, which
 * this machine does not have. */
enum { PARAMETERS = 8 };

struct decoding_handle {
    struct etw_tdh_context parameters[PARAMETERS]; /* by type */
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
    *ret_handle = handle;
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhSetDecodingParameter(void *handle, struct etw_tdh_context *parameter)
{
    struct decoding_handle *of = handle;
    if (!of || !parameter || parameter->type >= PARAMETERS) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    of->parameters[parameter->type] = *parameter;
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhGetDecodingParameter(void *handle, struct etw_tdh_context *parameter)
{
    const struct decoding_handle *of = handle;
    if (!of || !parameter || parameter->type >= PARAMETERS) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    uint32_t type = parameter->type;
    *parameter = of->parameters[type];
    parameter->type = type;
    return ETW_SUCCESS;
}

uint32_t etw_sim_TdhCloseDecodingHandle(void *handle)
{
    free(handle);
    return handle ? ETW_SUCCESS : ETW_ERROR_INVALID_PARAMETER;
}

/* NOLINTBEGIN(readability-non-const-parameter): the types are those of Windows. */
uint32_t etw_sim_TdhGetWppProperty(void *handle, struct etw_event_record *record,
    const etw_char *name, uint32_t *bytes, uint8_t *ret_value)
{
    (void)name;
    (void)bytes;
    (void)ret_value;
    return handle && record ? ETW_ERROR_NOT_FOUND : ETW_ERROR_INVALID_PARAMETER;
}

uint32_t etw_sim_TdhGetWppMessage(
    void *handle, struct etw_event_record *record, uint32_t *bytes, uint8_t *ret_message)
{
    (void)bytes;
    (void)ret_message;
    return handle && record ? ETW_ERROR_NOT_FOUND : ETW_ERROR_INVALID_PARAMETER;
}
/* NOLINTEND(readability-non-const-parameter) */
