#include "input/live/live_options.h"

#include <string.h>

#include "config/config_text.h"
#include "config/config_value.h"
#include "etw/etw_image_flags.h"
#include "etw/session/etw_heap.h"
#include "input/live/kernel_flags.h"
#include "platform/plat_child.h"

#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

static const char *const clock_names[] = {"qpc", "system", NULL};
static const char *const sequence_names[] = {"none", "global", "local", NULL};
static const char *const existing_names[] = {"replace", "attach", "fail", NULL};
static const char *const delivery_names[] = {"events", "raw", NULL};
static const char *const hybrid_names[] = {"persist", "stop", NULL};
static const char *const in_use_names[] = {"fail", "attach", "update", NULL};
static const char *const heap_stack_names[] = {
    "alloc", "realloc", "free", "create", "destroy", NULL};
static const char *const on_stop_names[] = {"leave", "end", NULL};
static const char *const log_mode_names[] = {
    "sequential", "circular", "append", "newfile", "buffering", NULL};

// clang-format off
#define BUFFERS_ROWS(size, size_help, least, most, paged_help)                                 \
    {CONFIG_ROW("size", SIZE, struct live_buffers, size_bytes), .default_text = size,          \
        .min = 64 << 10, .max = 16 << 20, .help = size_help},                                  \
    {CONFIG_ROW("min", INT, struct live_buffers, min), .default_text = least, .min = 2,        \
        .max = 16384, .help = "number of buffers at the start; Windows uses at least two per processor"}, \
    {CONFIG_ROW("max", INT, struct live_buffers, max), .default_text = most, .max = 16384,     \
        .help = "maximum number of buffers; 0: twice min"},                                   \
    {CONFIG_ROW("paged", BOOL, struct live_buffers, paged), .default_text = "false",           \
        .help = "use memory that Windows may swap out; " paged_help}

static const struct config_field buffers_fields[] = {
    BUFFERS_ROWS("256KB", "size of a buffer; a larger event is lost", "64", "0",
        "not with kernel events or drivers"),
    {.key = NULL},
};

/* Heaps produce more events per moment than anything else. */
static const struct config_field heap_buffers_fields[] = {
    BUFFERS_ROWS("1MB", "size of a buffer", "32", "256", "not with heaps"),
    {.key = NULL},
};

static const struct config_field guard_fields[] = {
    {CONFIG_ROW("enabled", BOOL, struct live_guard, enabled), .default_text = "true",
        .help = "supervise the session while it runs"},
    {CONFIG_ROW("interval", DURATION, struct live_guard, interval_ns), .default_text = "10s",
        .min = 100 * MS_NS, .max = 3600 * SECOND_NS, .help = "time between two checks"},
    {CONFIG_ROW("repairs", INT, struct live_guard, repairs), .default_text = "5", .max = 100,
        .help = "maximum of repairs per window, each for the session, its settings and every provider; "
            "0: only report changes"},
    {CONFIG_ROW("window", DURATION, struct live_guard, window_ns), .default_text = "10m",
        .min = SECOND_NS, .max = 24 * 3600 * SECOND_NS,
        .help = "what was repaired too often, or twice in vain, is left alone until this time is "
            "over"},
    {CONFIG_ROW("who", BOOL, struct live_guard, who), .default_text = "false",
        .help = "report which process did it, with one small session for all"},
    {.key = NULL},
};

/* Keys of every session that the agent starts. */
#define SESSION_ROWS(s) SESSION_ROWS_WITH(s, buffers_fields)
#define SESSION_ROWS_WITH(s, buffers_table)                                                   \
    {CONFIG_STRUCT_ROW("buffers", s, session.buffers, buffers_table),                         \
        .help = "memory in which Windows keeps events until they are read"},                   \
    {CONFIG_ROW("flush", DURATION, s, session.flush_ns), .default_text = "1s",                \
        .min = MS_NS, .max = 3600 * SECOND_NS,                                                \
        .help = "maximum delay before Windows delivers events"},                      \
    {CONFIG_ROW("clock", ENUM, s, session.clock), .default_text = "qpc",                      \
        .names = clock_names, .help = "clock for event times; qpc is finer"},                  \
    {CONFIG_ROW("sequence", ENUM, s, session.sequence), .default_text = "none",               \
        .names = sequence_names, .help = "number WPP messages, across sessions or in this one; needs delivery: raw"}, \
    {CONFIG_ROW("on_existing", ENUM, s, session.on_existing), .default_text = "replace",      \
        .names = existing_names,                                                              \
        .help = "what to do if this session runs already"},                       \
    {CONFIG_ROW("delivery", ENUM, s, session.delivery), .default_text = "events",             \
        .names = delivery_names,                                                              \
        .help = "single events, or raw buffers that the agent sorts: cheaper, half a second later"}, \
    {CONFIG_ROW("independent", BOOL, s, session.independent), .default_text = "true",         \
        .help = "events still arrive if another session fails"},             \
    {CONFIG_ROW("hybrid_shutdown", ENUM, s, session.hybrid), .default_text = "persist",       \
        .names = hybrid_names, .help = "what a shutdown with fast startup does to the session"}, \
    {CONFIG_ROW("boot", BOOL, s, session.boot), .default_text = "false",                      \
        .help = "Windows starts it at boot, as autologger etwship-NAME (`etwship autologger "\
            "install`); the agent reads what was recorded before it starts, and continues the session"},           \
    {CONFIG_ROW("keep_on_restart", BOOL, s, session.keep_on_restart),                         \
        .default_text = "false",                                                              \
        .help = "let it run while the agent restarts, so that no events are lost"},            \
    {CONFIG_STRUCT_ROW("guard", s, session.guard, guard_fields),                              \
        .help = "detect changes by other programs, repair and report them"}

static const struct config_field counters_fields[] = {
    {CONFIG_ROW("sources", STRINGS, struct live_counters, sources), .min = 1,
        .max = LIVE_MAX_COUNTERS, .help = "names of processor counters"},
    {CONFIG_ROW("events", STRINGS, struct live_counters, events), .min = 1, .max = 256,
        .help = "kernel events that get their values, written as in stacks"},
    {.key = NULL},
};

#define PUSH_DOWN_ROW(s)                                                                      \
    {CONFIG_ROW("push_down", BOOL, s, session.push_down), .default_text = "true",             \
        .help = "let Windows drop events that no rule can keep, by levels, keywords, "  \
            "ids, processes and values (`etwship explain`)"}

#define GROUP_ROWS(s, is_required)                                                                         \
    {CONFIG_ROW("flags", STRINGS, s, groups.flags), .required = (is_required), .min = 1, .max = 64,                      \
        .help = "groups of kernel events: process, EVENT_TRACE_FLAG_PROCESS, PERF_REG_HIVE, " \
            "the class FileIo, or a mask"},                                                   \
    {CONFIG_ROW("stacks", STRINGS, s, groups.stacks), .max = 256,                             \
        .help = "kernel events that get a call stack: Class/Name, or the number of a hook"},  \
    {CONFIG_ROW("profile_interval", DURATION, s, groups.profile_ns), .min = 122100,           \
        .max = SECOND_NS,                                                                     \
        .help = "time between two samples of the flag profile, for the whole machine"},             \
    {CONFIG_STRUCT_ROW("counters", s, groups.counters, counters_fields),                      \
        .help = "processor counters that are written with kernel events"}

const struct config_field live_options_realtime[] = {
    SESSION_ROWS(struct live_realtime),
    PUSH_DOWN_ROW(struct live_realtime),
    {.key = NULL},
};

const struct config_field live_options_system[] = {
    GROUP_ROWS(struct live_kernel, false),
    SESSION_ROWS(struct live_kernel),
    PUSH_DOWN_ROW(struct live_kernel),
    {.key = NULL},
};

const struct config_field live_options_kernel[] = {
    GROUP_ROWS(struct live_kernel, true),
    {CONFIG_ROW("in_use", ENUM, struct live_kernel, in_use), .default_text = "fail",
        .names = in_use_names,
        .help = "if another program runs the NT Kernel Logger: fail and retry, read along, or also add "
            "these flags to it"},
    SESSION_ROWS(struct live_kernel),
    {.key = NULL},
};

const struct config_field live_options_attach[] = {
    {CONFIG_ROW("session", STRING, struct live_attach, session), .required = true,
        .help = "name of the running session"},
    {CONFIG_ROW("delivery", ENUM, struct live_attach, delivery), .default_text = "events",
        .names = delivery_names,
        .help = "single events, or raw buffers that the agent sorts: cheaper, half a second later"},
    {CONFIG_STRUCT_ROW("guard", struct live_attach, guard, guard_fields),
        .help = "report when the session is stopped or read too slowly"},
    {.key = NULL},
};

const struct config_field live_options_heap[] = {
    {CONFIG_ROW("launch", STRING, struct live_heap, launch),
        .help = "command line of a program to start; it is suspended until its heaps are "
            "traced: the full path, in double quotes if it has blanks, then the arguments"},
    {CONFIG_ROW("folder", PATH, struct live_heap, folder),
        .help = "its working folder; default: the folder of the program"},
    {CONFIG_ROW("on_stop", ENUM, struct live_heap, on_stop), .default_text = "leave",
        .names = on_stop_names, .help = "what happens to the program when the agent stops"},
    {CONFIG_ROW("in_service", BOOL, struct live_heap, in_service), .default_text = "false",
        .help = "also launch it from a service, with the service's account and rights, few privileges "
            "and no desktop"},
    {CONFIG_ROW("pids", STRINGS, struct live_heap, pids), .min = 1, .max = 64,
        .help = "ids of running processes; not with launch"},
    {CONFIG_ROW("processes", STRINGS, struct live_heap, processes), .min = 1, .max = 16,
        .help = "program names with .exe: processes that run when the session starts, "
            "with the Windows Performance Toolkit also later ones; if there are none, the session "
            "waits"},
    {CONFIG_ROW("stacks", STRINGS, struct live_heap, stacks), .names = heap_stack_names,
        .min = 1, .max = 5, .help = "heap operations that get a call stack"},
    SESSION_ROWS_WITH(struct live_heap, heap_buffers_fields),
    {.key = NULL},
};

static const struct config_field log_file_fields[] = {
    {CONFIG_ROW("path", PATH, struct live_log_file, path), .required = true,
        .help = "path of the trace file"},
    {CONFIG_ROW("mode", ENUM, struct live_log_file, mode), .names = log_mode_names,
        .default_text = "sequential",
        .help = "what happens at max_size; buffering keeps everything in memory until the end"},
    {CONFIG_ROW("max_size", SIZE, struct live_log_file, max_size_bytes),
        .max = INT64_C(1) << 40, .help = "maximum size of the file; 0: none"},
    {CONFIG_ROW("preallocate", BOOL, struct live_log_file, preallocate), .default_text = "false",
        .help = "reserve max_size on the disk at the start"},
    {.key = NULL},
};

const struct config_field live_options_record[] = {
    {CONFIG_STRUCT_ROW("log_file", struct live_record, log_file, log_file_fields),
        .required = true, .help = "file to record into"},
    {CONFIG_ROW("live", BOOL, struct live_record, live), .default_text = "false",
        .help = "also deliver the events to outputs"},
    GROUP_ROWS(struct live_record, false),
    SESSION_ROWS(struct live_record),
    {.key = NULL},
};
// clang-format on

static void check_session(
    const struct live_session *session, bool kernel, struct config_check *check)
{
    const struct live_buffers *buffers = &session->buffers;
    if (buffers->max && buffers->min > buffers->max) {
        CONFIG_FAULT(check, buffers, "buffers: min is above max. swap them");
    }
    if (kernel && buffers->paged) {
        CONFIG_FAULT(check, &buffers->paged,
            "buffers: paged memory cannot hold kernel events. remove paged");
    }
    if (session->boot && session->on_existing == LIVE_EXISTING_FAIL) {
        CONFIG_FAULT(check, &session->on_existing,
            "on_existing: with boot, the session already runs when the agent starts. write attach "
            "or replace");
    }
}

void live_options_check_realtime(const void *settings, struct config_check *check)
{
    const struct live_realtime *s = settings;
    check_session(&s->session, false, check);
}

static void check_flags(const struct config_strings *flags, struct config_check *check)
{
    for (size_t i = 0; i < flags->count; i++) {
        struct config_nearest nearest = {.text = span_text(flags->items[i])};
        uint32_t mask;
        if (kernel_flags_find(nearest.text, &mask)) {
            continue;
        }
        for (size_t k = 0; kernel_flags_name(k); k++) {
            config_text_consider(&nearest, kernel_flags_name(k));
        }
        const char *meant = config_text_meant(&nearest);
        CONFIG_FAULT(check, &flags->items[i], "flags: %s is not a group of kernel events. %s%s%s",
            config_text_quote(nearest.text).text, meant ? "did you mean '" : "",
            meant ? meant : "write its name, a PERF_* constant or a mask", meant ? "'?" : "");
    }
}

static void check_groups(const struct live_groups *groups, struct config_check *check)
{
    check_flags(&groups->flags, check);
    const struct live_counters *counters = &groups->counters;
    if ((counters->sources.count == 0) != (counters->events.count == 0)) {
        CONFIG_FAULT(
            check, counters, "counters: sources and events are both required. add the missing one");
    }
}

void live_options_check_system(const void *settings, struct config_check *check)
{
    const struct live_kernel *s = settings;
    check_session(&s->session, true, check);
    check_groups(&s->groups, check);
}

/* Autologgers have no value for kernel flags (configuring-and-starting-an-autologger-session). */
void live_options_check_kernel(const void *settings, struct config_check *check)
{
    const struct live_kernel *s = settings;
    live_options_check_system(settings, check);
    if (s->session.boot) {
        CONFIG_FAULT(check, &s->session.boot,
            "boot: an autologger cannot start the NT Kernel Logger. remove the key");
    }
}

bool live_options_pid(const char *text, uint32_t *ret_pid)
{
    int64_t number;
    bool good = config_value_int(span_text(text), &number, NULL) && number > 0 &&
                number <= UINT32_MAX;
    *ret_pid = good ? (uint32_t)number : 0;
    return good;
}

bool live_options_heap_stack(const char *text, uint8_t *ret_type)
{
    static const uint8_t types[] = {
        ETW_HEAP_ALLOC, ETW_HEAP_REALLOC, ETW_HEAP_FREE, ETW_HEAP_CREATE, ETW_HEAP_DESTROY};
    for (size_t i = 0; i < sizeof(types); i++) {
        if (strcmp(heap_stack_names[i], text) == 0) {
            *ret_type = types[i];
            return true;
        }
    }
    return false;
}

/* True for a path from the root of a drive or network share; on systems without drives, from the
 * root. */
static bool is_whole_path(struct span path)
{
    const uint8_t *c = path.data;
    bool has_drive = path.size > 3 && ((c[0] | 0x20) >= 'a' && (c[0] | 0x20) <= 'z') &&
                     c[1] == ':' && (c[2] == '\\' || c[2] == '/');
    bool is_network = path.size > 2 && c[0] == '\\' && c[1] == '\\';
    return has_drive || is_network || (path.size > 1 && c[0] == '/');
}

static void check_launch(const struct live_heap *s, struct config_check *check)
{
    struct span program = plat_child_program(s->launch);
    if (!is_whole_path(program) || span_ends_nocase(program, "/") ||
        span_ends_nocase(program, "\\")) {
        CONFIG_FAULT(check, &s->launch,
            "launch: must begin with the full path of a program. write it, in double "
            "quotes if it has blanks, as in '\"C:\\My Apps\\app.exe\" -x'");
    } else if (span_ends_nocase(program, ".bat") || span_ends_nocase(program, ".cmd")) {
        CONFIG_FAULT(check, &s->launch,
            "launch: a script is run by another program. name the program to trace");
    }
}

static void check_targets(const struct live_heap *s, struct config_check *check)
{
    if (s->launch && (s->pids.count || s->processes.count)) {
        CONFIG_FAULT(check, &s->launch,
            "launch: a session traces either a launched program or running ones. remove launch, or "
            "pids and processes");
    }
    if (!s->launch && s->pids.count == 0 && s->processes.count == 0) {
        CONFIG_FAULT(check, s,
            "the keys 'launch', 'pids' and 'processes' are missing. add one to select the heaps to "
            "trace");
    }
    if (!s->launch && s->folder) {
        CONFIG_FAULT(check, &s->folder, "folder: only applies to launch. add launch");
    }
    for (size_t i = 0; i < s->pids.count; i++) {
        uint32_t pid;
        if (!live_options_pid(s->pids.items[i], &pid)) {
            CONFIG_FAULT(check, &s->pids.items[i],
                "pids: %s is not a process id. write a number, or use processes with a program "
                "name",
                config_text_quote(span_text(s->pids.items[i])).text);
        }
    }
    for (size_t i = 0; i < s->processes.count; i++) {
        if (!etw_image_flags_is_name(s->processes.items[i])) {
            CONFIG_FAULT(check, &s->processes.items[i],
                "processes: %s is not a program name. write it without its folder, as in app.exe",
                config_text_quote(span_text(s->processes.items[i])).text);
        }
    }
}

void live_options_check_heap(const void *settings, struct config_check *check)
{
    const struct live_heap *s = settings;
    check_session(&s->session, true, check);
    check_targets(s, check);
    if (s->launch) {
        check_launch(s, check);
    }
    if (s->session.boot) {
        CONFIG_FAULT(check, &s->session.boot,
            "boot: the traced processes do not run at boot. remove the key");
    }
    if (s->session.keep_on_restart) {
        CONFIG_FAULT(check, &s->session.keep_on_restart,
            "keep_on_restart: heap tracing slows processes, so it ends with the agent. remove the "
            "key");
    }
    if (s->session.on_existing == LIVE_EXISTING_ATTACH) {
        CONFIG_FAULT(check, &s->session.on_existing,
            "on_existing: a session selects its processes when it starts. write replace or "
            "fail");
    }
}

void live_options_heap_warnings(const void *settings, struct config_check *check)
{
    enum { MANY_PROCESSES = 4 };
    const struct live_heap *s = settings;
    if (s->pids.count > MANY_PROCESSES) {
        CONFIG_FAULT(check, &s->pids,
            "pids: %zu traced processes may produce events faster than they can be "
            "read. trace %d or fewer",
            s->pids.count, MANY_PROCESSES);
    }
}

/* Windows formats the path with the number. Any other conversion would read garbage. */
static bool has_one_number(const char *path)
{
    const char *percent = strchr(path, '%');
    return percent && percent[1] == 'd' && !strchr(percent + 1, '%');
}

/* Which log file modes exclude each other, and what each needs (Logging Mode Constants). */
static void check_log_file(
    const struct live_record *s, const struct live_log_file *file, struct config_check *check)
{
    const char *mode = log_mode_names[file->mode];
    bool needs_size = file->mode == LIVE_LOG_CIRCULAR || file->mode == LIVE_LOG_NEWFILE ||
                      file->mode == LIVE_LOG_BUFFERING;
    if (needs_size && file->max_size_bytes == 0) {
        CONFIG_FAULT(check, &file->mode, "log_file: mode %s requires max_size. add it", mode);
    }
    if (file->preallocate && file->max_size_bytes == 0) {
        CONFIG_FAULT(check, &file->preallocate, "log_file: preallocate requires max_size. add it");
    }
    if (file->preallocate && file->mode == LIVE_LOG_BUFFERING) {
        CONFIG_FAULT(check, &file->preallocate,
            "log_file: mode buffering has no file while it runs. remove preallocate");
    }
    if (file->mode == LIVE_LOG_NEWFILE && file->path && !has_one_number(file->path)) {
        CONFIG_FAULT(check, &file->path,
            "log_file: mode newfile numbers its files. write %%d where the number belongs in path, "
            "once, and no other %%");
    }
    if (file->mode == LIVE_LOG_NEWFILE && s->session.boot) {
        CONFIG_FAULT(check, &file->mode,
            "log_file: Windows cannot start mode newfile at boot. use circular");
    }
    if (file->mode == LIVE_LOG_APPEND && s->session.clock != LIVE_CLOCK_SYSTEM) {
        CONFIG_FAULT(check, &file->mode,
            "log_file: mode append needs times that continue across restarts. add clock: system");
    }
    if (s->live && (file->mode == LIVE_LOG_APPEND || file->mode == LIVE_LOG_BUFFERING)) {
        CONFIG_FAULT(check, &s->live,
            "live: a session of mode %s cannot also deliver events. use another mode", mode);
    }
}

void live_options_check_record(const void *settings, struct config_check *check)
{
    const struct live_record *s = settings;
    check_session(&s->session, s->groups.flags.count > 0, check);
    check_groups(&s->groups, check);
    check_log_file(s, &s->log_file, check);
    if (!s->live && s->session.delivery == LIVE_DELIVERY_RAW) {
        CONFIG_FAULT(check, &s->session.delivery,
            "delivery: nothing is delivered without live: true. add it, or remove the key");
    }
}
