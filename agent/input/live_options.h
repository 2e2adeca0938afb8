#ifndef ETWSHIP_INPUT_LIVE_OPTIONS_H
#define ETWSHIP_INPUT_LIVE_OPTIONS_H

#include "config/config.h"
#include "input/input.h"

/*
 * Settings of the sessions that ETW itself runs (EVENT_TRACE_PROPERTIES and StartTrace on
 * learn.microsoft.com). Every build knows their keys, only Windows has the inputs.
 */
enum live_clock { LIVE_CLOCK_QPC, LIVE_CLOCK_SYSTEM };
enum live_sequence { LIVE_SEQUENCE_NONE, LIVE_SEQUENCE_GLOBAL, LIVE_SEQUENCE_LOCAL };
enum live_existing { LIVE_EXISTING_REPLACE, LIVE_EXISTING_ATTACH, LIVE_EXISTING_FAIL };

struct live_buffers {
    uint64_t size_bytes;
    int64_t min;
    int64_t max;
    bool paged;
};

struct live_session {
    struct live_buffers buffers;
    uint64_t flush_ns;
    int clock;       /* enum live_clock */
    int sequence;    /* enum live_sequence */
    int on_existing; /* enum live_existing */
    bool boot;
    bool keep_on_restart;
};

/* Type `realtime`. */
struct live_realtime {
    struct live_session session;
};

/* Types `system` and `kernel`: groups of kernel events, and those that get a stack. */
struct live_kernel {
    struct live_session session;
    struct config_strings flags;  /* names of kernel_flags.def */
    struct config_strings stacks; /* Class/Name or the number of a hook */
};

/* Type `attach`: somebody else's session. */
struct live_attach {
    const char *session;
};

/* Type `heap`: the heap of a process that is launched for it. */
struct live_heap {
    struct live_session session;
    const char *launch;
    struct config_strings stacks;
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
};

/* Type `record`: into a trace file, not to outputs. */
struct live_record {
    struct live_session session;
    struct config_strings flags;
    struct config_strings stacks;
    struct live_log_file log_file;
};

/* A group of kernel events: its PERF_* group mask, of which the top three bits choose the word (0:
 * the flags of EVENT_TRACE_PROPERTIES.EnableFlags). */
struct live_kernel_flag {
    const char *name;
    uint32_t mask;
};

/* Ends with a row without name. */
extern const struct live_kernel_flag live_kernel_flags[];

#define INPUT(id) extern const struct input_ops input_##id;
#include "input/known.def"
#undef INPUT

#endif
