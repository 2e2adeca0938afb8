#ifndef ETWSHIP_ETW_ETW_HEAP_H
#define ETWSHIP_ETW_ETW_HEAP_H

#include "etw/session/etw_control.h"

/*
 * Sessions with the events of processes' heaps (startheaptrace on learn.microsoft.com; ETW_EXT_PIDS
 * and ETW_EXT_STACKWALK_FILTER in System Informer's ntwmi.h). A process writes them while the
 * session has its id. The session gets no other events.
 */
extern const struct guid etw_heap_guid; /* HeapGuid: every heap session has it, so there is only one
                                           session */

/* Types of its events, of group 0x10. */
enum {
    ETW_HEAP_CREATE = 0x20,
    ETW_HEAP_ALLOC = 0x21,
    ETW_HEAP_REALLOC = 0x22,
    ETW_HEAP_DESTROY = 0x23,
    ETW_HEAP_FREE = 0x24,
};

/* etwship's limits. StartHeapTrace documents none for processes, and advises to trace few. */
enum { ETW_MAX_HEAP_PROCESSES = 64, ETW_MAX_HEAP_STACKS = 32 };

/* The processes, and the event types that get a stack. Borrowed. */
struct etw_heap_request {
    const uint32_t *pids; /* ids of 1 to ETW_MAX_HEAP_PROCESSES existing processes */
    size_t pid_count;
    const uint8_t *stacks; /* at most ETW_MAX_HEAP_STACKS */
    size_t stack_count;
};

/*
 * The request as an extension of EnableFlags (TRACE_ENABLE_FLAG_EXT_HEADER and its items) into
 * ${ret_block}; returns its size in bytes, 0 if the request is too large or empty.
 */
size_t etw_heap_encode(
    const struct etw_heap_request *request, uint8_t ret_block[ETW_MAX_EXTENSION_BYTES]);

/*
 * Start the session with the request as an extension of EnableFlags; if Windows refuses that, by
 * StartHeapTrace of the Windows Performance Toolkit (etw_toolkit.h), if installed. The spec's GUID
 * must be etw_heap_guid. Errors as of etw_control_start, reworded for heaps; a handle of 0 is an
 * error.
 */
bool etw_heap_start(const struct etw_session_spec *spec, const struct etw_heap_request *request,
    struct etw_session_state *ret_state, struct error *err);

/* Replace the processes of the running session. Needs the toolkit: ERR_UNSUPPORTED without it. */
bool etw_heap_update(
    const struct etw_session_spec *spec, const struct etw_heap_request *request, struct error *err);

#endif
