#ifndef ETWSHIP_ETW_ETW_HEAP_H
#define ETWSHIP_ETW_ETW_HEAP_H

#include "etw/etw_control.h"

/*
 * Sessions with the events of processes' heaps (startheaptrace on learn.microsoft.com; ETW_EXT_PIDS
 * and ETW_EXT_STACKWALK_FILTER in System Informer's ntwmi.h). A process writes them while the
 * session has its id; nothing else comes to it.
 */
extern const struct guid etw_heap_guid; /* HeapGuid: every heap session has it, so there is one */

/* Types of its events, of group 0x10. */
enum {
    ETW_HEAP_CREATE = 0x20,
    ETW_HEAP_ALLOC = 0x21,
    ETW_HEAP_REALLOC = 0x22,
    ETW_HEAP_DESTROY = 0x23,
    ETW_HEAP_FREE = 0x24,
};

/* Our own limits. StartHeapTrace documents none for processes, and advises to trace few of them. */
enum { ETW_MAX_HEAP_PROCESSES = 64, ETW_MAX_HEAP_STACKS = 32 };

/* Whose heaps, and which types of events get a stack. Borrowed. */
struct etw_heap_request {
    const uint32_t *pids; /* 1 to ETW_MAX_HEAP_PROCESSES, of processes that exist */
    size_t pid_count;
    const uint8_t *stacks; /* at most ETW_MAX_HEAP_STACKS */
    size_t stack_count;
};

/*
 * The request as an extension of EnableFlags (TRACE_ENABLE_FLAG_EXT_HEADER and its items) into
 * ${ret_block}; its size in bytes, 0 if it asks for too much or for nothing.
 */
size_t etw_heap_encode(
    const struct etw_heap_request *request, uint8_t ret_block[ETW_MAX_EXTENSION_BYTES]);

/*
 * Start the session: with the request as an extension of EnableFlags; where Windows does not take
 * that, by StartHeapTrace of the Windows Performance Toolkit (etw_toolkit.h), if it is installed.
 * The spec's GUID must be etw_heap_guid. Errors as those of etw_control_start, in words for heaps;
 * a session whose handle is 0 is none.
 */
bool etw_heap_start(const struct etw_session_spec *spec, const struct etw_heap_request *request,
    struct etw_session_state *ret_state, struct error *err);

/* Have the running session trace these processes instead of those that it has. By the toolkit alone:
 * ERR_UNSUPPORTED without it. */
bool etw_heap_update(
    const struct etw_session_spec *spec, const struct etw_heap_request *request, struct error *err);

#endif
