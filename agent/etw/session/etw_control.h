#ifndef ETWSHIP_ETW_ETW_CONTROL_H
#define ETWSHIP_ETW_ETW_CONTROL_H

#include "base/error.h"
#include "etw/etw_text.h"
#include "etw/etw_types.h"

/*
 * Sessions of ETW (starttracew, controltracew, queryalltracesw, event_trace_properties_v2 on
 * learn.microsoft.com): start, query, change, stop. Every call fills a block of its own, since ETW
 * writes into it. No state: any thread, any time.
 *
 * Errors are ERR_IO with the Win32 code in os_code and a remedy; ERR_UNSUPPORTED if the system
 * lacks the call; ERR_LIMIT for names that are too long.
 */

/* Settings of a session. Zero is ETW's default everywhere. Text is UTF-8 and borrowed. */
struct etw_session_spec {
    const char *name;
    struct guid guid; /* zero: ETW makes one */
    uint32_t clock;   /* enum trace_clock_type of event/model/trace_clock.h */
    uint32_t buffer_kb;
    uint32_t min_buffers;
    uint32_t max_buffers;
    uint32_t flush_ms;        /* rounded up to seconds if ETW has no smaller unit */
    uint32_t flush_threshold; /* filled buffers that trigger a flush */
    uint32_t mode;            /* ETW_MODE_*; the call sets the bit of the timer's unit */
    uint32_t enable_flags;    /* kernel events: word 0 of the group mask */
    const char *file;         /* NULL: none */
    uint32_t max_file_size;   /* MB; KB with ETW_MODE_USE_KBYTES_FOR_SIZE */
    uint64_t v2_options;      /* V2Options; 0 in etw_session_state if ETW does not have them */
    struct span extension;    /* EnableFlags' extension block (etw_kernel.h); at most
                                 ETW_MAX_EXTENSION_BYTES, and enable_flags are not used */
};

/* The header, one item of each kind, 256 hooks for stacks: see etw_kernel.h. */
enum { ETW_MAX_EXTENSION_BYTES = 1280 };

/* State of a session. */
struct etw_session_state {
    uint64_t handle;
    char name[ETW_NAME_BYTES];
    char file[ETW_NAME_BYTES]; /* "": none */
    struct guid guid;
    uint32_t clock;
    uint32_t buffer_kb;
    uint32_t min_buffers;
    uint32_t max_buffers;
    uint32_t buffers; /* current number, and free ones among them */
    uint32_t free_buffers;
    uint32_t buffers_written;
    uint32_t events_lost; /* these three only grow, modulo 2^32 */
    uint32_t log_buffers_lost;
    uint32_t real_time_buffers_lost;
    uint32_t mode;     /* ETW_MODE_* */
    uint32_t flush_ms; /* always in this unit */
    uint32_t max_file_size;
    uint32_t enable_flags;
    uint64_t v2_options;
};

/* The session's number in enablements of providers and in events. */
static inline uint16_t etw_control_logger_id(const struct etw_session_state *state)
{
    return (uint16_t)state->handle;
}

/* True if it delivers kernel events: SYSTEM_LOGGER_MODE, or the GUID of one of the two old
 * sessions. */
bool etw_control_is_system(const struct etw_session_state *state);

/*
 * Start a session and return its state. A flush timer below whole seconds is passed in ms, or in
 * seconds (rounded up) if Windows refuses that; the block in its second version, or the first if
 * refused. ERROR_ALREADY_EXISTS names the session with the name or the GUID;
 * ERROR_NO_SYSTEM_RESOURCES names the sessions in the slots.
 */
bool etw_control_start(
    const struct etw_session_spec *spec, struct etw_session_state *ret_state, struct error *err);

/* The state of session ${name}. Not running: os_code ERROR_WMI_INSTANCE_NOT_FOUND. */
bool etw_control_query(const char *name, struct etw_session_state *ret_state, struct error *err);

struct etw_groups;

/* The settings that UPDATE can change; others stay. */
struct etw_session_change {
    bool set_max_buffers;
    uint32_t max_buffers;
    bool set_flush;
    uint32_t flush_ms; /* rounded up to the session's unit */
    bool set_enable_flags;
    uint32_t enable_flags; /* sessions with kernel events only */
    bool set_real_time;
    bool real_time;
    const char *file; /* NULL: keep the file */
    /* Kernel events to enable after it (etw_kernel.h); NULL: those that Windows reports as
     * enabled. */
    const struct etw_groups *groups;
};

/*
 * Change the session. UPDATE disables kernel events, so their groups are set again after it.
 * ${change} does not include system providers (etw_kernel.h): the caller enables its own again.
 */
bool etw_control_update(const char *name, const struct etw_session_change *change,
    struct etw_session_state *ret_state, struct error *err);

/* Write or deliver the events in its buffers; a buffering session writes a snapshot into its
 * file. */
bool etw_control_flush(const char *name, struct error *err);

/*
 * Continue in real time without a file (EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME, Windows build
 * 20348+). ETW writes its buffers to the file first. The documentation of ControlTrace does not
 * mention the file, so success means that a query then reports a real-time session without a file.
 * After a failure it is in either mode.
 */
bool etw_control_convert(const char *name, struct etw_session_state *ret_state, struct error *err);

/* Flush and stop. ${ret_state} (NULL is fine): its final state. Not running: as in query. */
bool etw_control_stop(const char *name, struct etw_session_state *ret_state, struct error *err);

/* All sessions of the machine visible to the caller, in ETW's order. */
struct etw_session_list {
    struct etw_session_state *items;
    size_t count;
};

/* The caller owns ${ret_list} and frees it with etw_control_list_fini. */
bool etw_control_list(struct etw_session_list *ret_list, struct error *err);
void etw_control_list_fini(struct etw_session_list *list);

/* The session with that name, or that logger id; NULL: none. */
const struct etw_session_state *etw_control_find(
    const struct etw_session_list *list, const char *name);
const struct etw_session_state *etw_control_find_logger(
    const struct etw_session_list *list, uint16_t logger_id);

/* Maximum number of sessions of the machine (TraceMaxLoggersQuery); 64 if unknown. */
uint32_t etw_control_max_sessions(void);

#endif
