#ifndef ETWSHIP_INPUT_WINDOWS_ETW_NARROW_H
#define ETWSHIP_INPUT_WINDOWS_ETW_NARROW_H

#include "etw/enable/etw_enable.h"
#include "input/live/provider_scope.h"

/*
 * Remove from ${request}, the request for ${spec}, what lies outside its scope: the request
 * shrinks, never grows. ${too_much}: kinds of filters that exceeded ETW's limits; what is left may
 * fit. Pure.
 */
void etw_narrow(struct etw_request *request, const struct provider_spec *spec, uint32_t *too_much);

#endif
