#ifndef ETWSHIP_ETW_ETW_CONTROL_H
#define ETWSHIP_ETW_ETW_CONTROL_H

#include "base/error.h"
#include "etw/etw_text.h"
#include "etw/etw_types.h"

/*
 * Sessions of ETW (starttracew, controltracew, queryalltracesw, event_trace_properties_v2 on
 * learn.microsoft.com): start, ask, change, stop. Every call fills a block of its own, since ETW
 * writes into what it is given. Nothing is kept here: any thread, any time.
 *
 * Errors are ERR_IO with the Win32 code in os_code, and say what to do; ERR_UNSUPPORTED where the
 * system lacks the call; ERR_LIMIT for names that are too long.
 */

/* What a session shall be. Zero is ETW's default everywhere. Text is UTF-8 and borrowed. */
struct etw_session_spec {
    const char *name;
    struct guid guid; /* zero: ETW makes one */
    uint32_t clock;   /* enum trace_clock_type of event/model/trace_clock.h */
    uint32_t buffer_kb;
    uint32_t min_buffers;
    uint32_t max_buffers;
    uint32_t flush_ms;        /* rounded up to seconds where ETW knows nothing smaller */
    uint32_t flush_threshold; /* filled buffers that trigger a flush */
    uint32_t mode;            /* ETW_MODE_*; that of the timer's unit is set by the call */
    uint32_t enable_flags;    /* kernel events: word 0 of the group mask */
    const char *file;         /* NULL: none */
    uint32_t max_file_size;   /* MB; KB with ETW_MODE_USE_KBYTES_FOR_SIZE */
    uint64_t v2_options;      /* V2Options; 0 in etw_session_state where ETW does not know them */
    struct span extension;    /* EnableFlags' extension block (etw_kernel.h); at most
                                 ETW_MAX_EXTENSION_BYTES, and enable_flags are not used */
};

/* The header, one item of each kind, 256 hooks for stacks: see etw_kernel.h. */
enum { ETW_MAX_EXTENSION_BYTES = 1280 };

/* What a session is. */
struct etw_session_state {
    uint64_t handle;
    char name[ETW_NAME_BYTES];
    char file[ETW_NAME_BYTES]; /* "": none */
    struct guid guid;
    uint32_t clock;
    uint32_t buffer_kb;
    uint32_t min_buffers;
    uint32_t max_buffers;
    uint32_t buffers; /* there are now; free ones among them */
    uint32_t free_buffers;
    uint32_t buffers_written;
    uint32_t events_lost; /* these three only grow, modulo 2^32 */
    uint32_t log_buffers_lost;
    uint32_t real_time_buffers_lost;
    uint32_t mode;     /* ETW_MODE_* */
    uint32_t flush_ms; /* whatever the unit that ETW was given */
    uint32_t max_file_size;
    uint32_t enable_flags;
    uint64_t v2_options;
};

/* The number by which providers' enablements and events name their session. */
static inline uint16_t etw_control_logger_id(const struct etw_session_state *state)
{
    return (uint16_t)state->handle;
}

/* Does it deliver kernel events: SYSTEM_LOGGER_MODE, or one of the two old sessions' GUIDs? */
bool etw_control_is_system(const struct etw_session_state *state);

/*
 * Start a session and say what ETW made of it. A flush timer below whole seconds is given in ms, and
 * in seconds (rounded up) where that is refused; the second version of the block, and the first
 * where that is refused. ERROR_ALREADY_EXISTS names the session that has the name or the GUID;
 * ERROR_NO_SYSTEM_RESOURCES who holds the slots.
 */
bool etw_control_start(
    const struct etw_session_spec *spec, struct etw_session_state *ret_state, struct error *err);

/* Is the session ${name} there, and what is it? Not there: os_code ERROR_WMI_INSTANCE_NOT_FOUND. */
bool etw_control_query(const char *name, struct etw_session_state *ret_state, struct error *err);

struct etw_groups;

/* What UPDATE can change; the rest of the session stays. */
struct etw_session_change {
    bool set_max_buffers;
    uint32_t max_buffers;
    bool set_flush;
    uint32_t flush_ms; /* rounded up to the unit that the session was started with */
    bool set_enable_flags;
    uint32_t enable_flags; /* sessions with kernel events only */
    bool set_real_time;
    bool real_time;
    const char *file; /* NULL: the file stays */
    /* Kernel events that are on after it (etw_kernel.h); NULL: those that Windows says are on. */
    const struct etw_groups *groups;
};

/*
 * Change the session. UPDATE switches kernel events off; so their groups are set again after it.
 * System providers (etw_kernel.h) are not among ${change}'s groups: the caller enables its own again.
 */
bool etw_control_update(const char *name, const struct etw_session_change *change,
    struct etw_session_state *ret_state, struct error *err);

/* Write or deliver what lies in its buffers; of a buffering session: a snapshot into its file. */
bool etw_control_flush(const char *name, struct error *err);

/* Go on in the next file of an ETW_MODE_NEWFILE session (Windows 10 1809+). */
bool etw_control_increment_file(const char *name, struct error *err);

/*
 * Go on in real time, and write no file any more (EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME, Windows
 * build 20348+). What lies in buffers is written before. The page of ControlTrace does not tell what
 * becomes of the file; so success is what ETW says afterwards: a session in real time without a file.
 * On failure it is in either mode.
 */
bool etw_control_convert(const char *name, struct etw_session_state *ret_state, struct error *err);

/* Flush and stop. ${ret_state} (NULL is fine): its last numbers. Not there: as in query. */
bool etw_control_stop(const char *name, struct etw_session_state *ret_state, struct error *err);

/* All sessions of the machine that the caller may see, in ETW's order. */
struct etw_session_list {
    struct etw_session_state *items;
    size_t count;
};

/* ${ret_list} is the caller's, to be given to etw_control_list_fini. */
bool etw_control_list(struct etw_session_list *ret_list, struct error *err);
void etw_control_list_fini(struct etw_session_list *list);

/* The session of that name, or that logger id; NULL: none. */
const struct etw_session_state *etw_control_find(
    const struct etw_session_list *list, const char *name);
const struct etw_session_state *etw_control_find_logger(
    const struct etw_session_list *list, uint16_t logger_id);

/* How many sessions the machine can run; 64 where it does not say (TraceMaxLoggersQuery). */
uint32_t etw_control_max_sessions(void);

#endif
