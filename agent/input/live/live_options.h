#ifndef ETWSHIP_INPUT_LIVE_OPTIONS_H
#define ETWSHIP_INPUT_LIVE_OPTIONS_H

#include "config/config.h"
#include "config/config_check.h"

/*
 * Settings of sessions that ETW runs (EVENT_TRACE_PROPERTIES, StartTrace, Logging Mode Constants on
 * learn.microsoft.com): the rows of their keys, and checks of keys together. No default depends on
 * another key: etw_plan.h replaces values that were not given (0).
 */
enum live_clock { LIVE_CLOCK_QPC, LIVE_CLOCK_SYSTEM };
enum live_sequence { LIVE_SEQUENCE_NONE, LIVE_SEQUENCE_GLOBAL, LIVE_SEQUENCE_LOCAL };
enum live_existing { LIVE_EXISTING_REPLACE, LIVE_EXISTING_ATTACH, LIVE_EXISTING_FAIL };
enum live_delivery { LIVE_DELIVERY_EVENTS, LIVE_DELIVERY_RAW };
enum live_hybrid { LIVE_HYBRID_PERSIST, LIVE_HYBRID_STOP };
enum live_in_use { LIVE_IN_USE_FAIL, LIVE_IN_USE_ATTACH, LIVE_IN_USE_UPDATE };

struct live_buffers {
    uint64_t size_bytes;
    int64_t min;
    int64_t max; /* 0: derived from min */
    bool paged;
};

/* Supervision of a session. Zero: none. */
struct live_guard {
    bool enabled;
    bool who;
    uint64_t interval_ns; /* time between two checks */
    int64_t repairs;      /* per item and window; 0: none */
    uint64_t window_ns;
};

struct live_session {
    struct live_guard guard;
    struct live_buffers buffers;
    uint64_t flush_ns;
    int clock;       /* enum live_clock */
    int sequence;    /* enum live_sequence */
    int on_existing; /* enum live_existing */
    int delivery;    /* enum live_delivery */
    int hybrid;      /* enum live_hybrid */
    bool independent;
    bool push_down; /* ETW drops what no rule can keep */
    bool boot;
    bool keep_on_restart;
};

/* Type `realtime`. */
struct live_realtime {
    struct live_session session;
};

enum { LIVE_MAX_COUNTERS = 8 };

/* Processor counters that are written with events. */
struct live_counters {
    struct config_strings sources; /* at most LIVE_MAX_COUNTERS */
    struct config_strings events;  /* written as in stacks */
};

/* Groups of kernel events, and what is added to them. */
struct live_groups {
    struct config_strings flags;  /* kernel_flags.h */
    struct config_strings stacks; /* Class/Name or the number of a hook; checked by app_live.h */
    uint64_t profile_ns;          /* time between two samples; 0: unchanged */
    struct live_counters counters;
};

/* Types `system` and `kernel`. */
struct live_kernel {
    struct live_session session;
    struct live_groups groups;
    int in_use; /* enum live_in_use; only for `kernel` */
};

/* Type `attach`: a session of another program. */
struct live_attach {
    const char *session;
    int delivery; /* enum live_delivery */
    struct live_guard guard;
};

enum live_on_stop { LIVE_ON_STOP_LEAVE, LIVE_ON_STOP_END };

/* Type `heap`: the heaps of a program that it launches, or of running processes. */
struct live_heap {
    struct live_session session;
    const char *launch; /* a command line; NULL: none */
    const char *folder; /* NULL: folder of the program */
    int on_stop;        /* enum live_on_stop */
    bool in_service;
    struct config_strings pids;      /* live_options_pid */
    struct config_strings processes; /* names of programs */
    struct config_strings stacks;    /* live_options_heap_stack */
};

enum live_log_mode {
    LIVE_LOG_SEQUENTIAL,
    LIVE_LOG_CIRCULAR,
    LIVE_LOG_APPEND,
    LIVE_LOG_NEWFILE,
    LIVE_LOG_BUFFERING,
};

struct live_log_file {
    const char *path;
    int mode;                /* enum live_log_mode */
    uint64_t max_size_bytes; /* 0: no limit */
    bool preallocate;
};

/* Type `record`: records into a trace file; also delivers to outputs if `live`. */
struct live_record {
    struct live_session session;
    struct live_groups groups;
    struct live_log_file log_file;
    bool live;
};

/* Tables of keys, and checks of keys together (config_check_fn). */
extern const struct config_field live_options_realtime[];
extern const struct config_field live_options_system[];
extern const struct config_field live_options_kernel[];
extern const struct config_field live_options_attach[];
extern const struct config_field live_options_heap[];
extern const struct config_field live_options_record[];

void live_options_check_realtime(const void *settings, struct config_check *check);
void live_options_check_system(const void *settings, struct config_check *check);
void live_options_check_kernel(const void *settings, struct config_check *check);
void live_options_check_heap(const void *settings, struct config_check *check);
void live_options_check_record(const void *settings, struct config_check *check);

/* Warns about settings that are valid but probably not intended. */
void live_options_heap_warnings(const void *settings, struct config_check *check);

/* Parse a process id; false if ${text} is not one. */
bool live_options_pid(const char *text, uint32_t *ret_pid);

/* Type of the heap events that ${text} names (etw/session/etw_heap.h); false if there is none. */
bool live_options_heap_stack(const char *text, uint8_t *ret_type);

#endif
