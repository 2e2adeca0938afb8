#ifndef ETWSHIP_INPUT_WINDOWS_ETW_NARROW_H
#define ETWSHIP_INPUT_WINDOWS_ETW_NARROW_H

#include "etw/etw_enable.h"
#include "input/provider_scope.h"

/*
 * Take out of ${request}, which is what ${spec} asks for, what lies outside of its scope: what is asked
 * for becomes less, never more. ${too_much}: kinds of filters that were beyond ETW's limits; what is left
 * may fit. Pure.
 */
void etw_narrow(struct etw_request *request, const struct provider_spec *spec, uint32_t *too_much);

/* Does the entry ask for the id, by its own ranges? */
bool etw_narrow_asks(const struct provider_spec *spec, uint32_t id);

#endif
