#include "input/live_options.h"

#include <string.h>

#include "config/config_check.h"
#include "config/config_text.h"

#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

const struct live_kernel_flag live_kernel_flags[] = {
#define KERNEL_FLAG(name, mask) {#name, mask},
#include "input/kernel_flags.def"
#undef KERNEL_FLAG
    {NULL, 0},
};

static const char *const flag_names[] = {
#define KERNEL_FLAG(name, mask) #name,
#include "input/kernel_flags.def"
#undef KERNEL_FLAG
    NULL,
};

static const char *const clock_names[] = {"qpc", "system", NULL};
static const char *const sequence_names[] = {"none", "global", "local", NULL};
static const char *const existing_names[] = {"replace", "attach", "fail", NULL};
static const char *const heap_stack_names[] = {"alloc", "realloc", "free", "create", NULL};
static const char *const log_mode_names[] = {
    "sequential", "circular", "append", "newfile", "buffering", NULL};

// clang-format off
static const struct config_field buffers_fields[] = {
    {CONFIG_ROW("size", SIZE, struct live_buffers, size_bytes), .default_text = "256KB",
        .min = 64 << 10, .max = 16 << 20,
        .help = "of one buffer; an event that does not fit into it is lost"},
    {CONFIG_ROW("min", INT, struct live_buffers, min), .default_text = "64", .min = 2,
        .max = 16384, .help = "buffers from the start; Windows takes at least two per processor"},
    {CONFIG_ROW("max", INT, struct live_buffers, max), .default_text = "128", .min = 2,
        .max = 16384, .help = "buffers at most"},
    {CONFIG_ROW("paged", BOOL, struct live_buffers, paged), .default_text = "false",
        .help = "in memory that Windows may swap out; not with kernel events"},
    {.key = NULL},
};

/* The keys that every session of our own has. */
#define SESSION_ROWS(s)                                                                       \
    {CONFIG_STRUCT_ROW("buffers", s, session.buffers, buffers_fields),                        \
        .help = "memory that Windows keeps events in until they are read"},                   \
    {CONFIG_ROW("flush", DURATION, s, session.flush_ns), .default_text = "1s",                \
        .min = MS_NS, .max = 3600 * SECOND_NS,                                                \
        .help = "events are handed over at the latest after this time"},                      \
    {CONFIG_ROW("clock", ENUM, s, session.clock), .default_text = "qpc",                      \
        .names = clock_names, .help = "what times come from: qpc is finer"},                  \
    {CONFIG_ROW("sequence", ENUM, s, session.sequence), .default_text = "none",               \
        .names = sequence_names, .help = "number WPP messages: in all sessions, or in this"}, \
    {CONFIG_ROW("on_existing", ENUM, s, session.on_existing), .default_text = "replace",      \
        .names = existing_names,                                                              \
        .help = "what to do with a session of ours that runs already"},                       \
    {CONFIG_ROW("boot", BOOL, s, session.boot), .default_text = "false",                      \
        .help = "Windows starts the session itself when it boots"},                           \
    {CONFIG_ROW("keep_on_restart", BOOL, s, session.keep_on_restart),                         \
        .default_text = "false",                                                              \
        .help = "let it run while the agent restarts, so that nothing is missed"}

#define FLAG_ROWS(s, is_required)                                                             \
    {CONFIG_ROW("flags", STRINGS, s, flags), .names = flag_names, .required = (is_required),  \
        .min = 1, .max = 64, .help = "groups of kernel events"},                              \
    {CONFIG_ROW("stacks", STRINGS, s, stacks), .max = 256,                                    \
        .help = "kernel events that get a call stack: Class/Name, or the number of a hook"}

static const struct config_field realtime_fields[] = {
    SESSION_ROWS(struct live_realtime),
    {.key = NULL},
};

static const struct config_field kernel_fields[] = {
    FLAG_ROWS(struct live_kernel, true),
    SESSION_ROWS(struct live_kernel),
    {.key = NULL},
};

static const struct config_field attach_fields[] = {
    {CONFIG_ROW("session", STRING, struct live_attach, session), .required = true,
        .help = "name of the session that runs already"},
    {.key = NULL},
};

static const struct config_field heap_fields[] = {
    {CONFIG_ROW("launch", STRING, struct live_heap, launch), .required = true,
        .help = "command line of the program whose heap is traced"},
    {CONFIG_ROW("stacks", STRINGS, struct live_heap, stacks), .names = heap_stack_names,
        .min = 1, .max = 4, .help = "operations that get a call stack"},
    SESSION_ROWS(struct live_heap),
    {.key = NULL},
};

static const struct config_field log_file_fields[] = {
    {CONFIG_ROW("path", PATH, struct live_log_file, path), .required = true,
        .help = "the trace file"},
    {CONFIG_ROW("mode", ENUM, struct live_log_file, mode), .names = log_mode_names,
        .default_text = "sequential",
        .help = "what happens at max_size; buffering keeps all in memory until it is asked for"},
    {CONFIG_ROW("max_size", SIZE, struct live_log_file, max_size_bytes),
        .max = INT64_C(1) << 40, .help = "limit of the file; 0: none"},
    {.key = NULL},
};

static const struct config_field record_fields[] = {
    {CONFIG_STRUCT_ROW("log_file", struct live_record, log_file, log_file_fields),
        .required = true, .help = "where events are recorded"},
    FLAG_ROWS(struct live_record, false),
    SESSION_ROWS(struct live_record),
    {.key = NULL},
};
// clang-format on

static void check_session(
    const struct live_session *session, bool kernel, struct config_check *check)
{
    const struct live_buffers *buffers = &session->buffers;
    if (buffers->min > buffers->max) {
        CONFIG_FAULT(check, buffers, "buffers: min is above max. swap them");
    }
    if (kernel && buffers->paged) {
        CONFIG_FAULT(check, &buffers->paged,
            "buffers: kernel events cannot be kept in paged memory. remove paged");
    }
}

static void check_realtime(const void *settings, struct config_check *check)
{
    const struct live_realtime *s = settings;
    check_session(&s->session, false, check);
}

/* `Class/Name`, or the number of a hook in hexadecimal or decimal. */
static void check_stacks(const struct config_strings *stacks, struct config_check *check)
{
    for (size_t i = 0; i < stacks->count; i++) {
        const char *text = stacks->items[i];
        const char *slash = strchr(text, '/');
        bool is_hex = strncmp(text, "0x", 2) == 0 && text[2] &&
                      strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2);
        bool is_number = *text && strspn(text, "0123456789") == strlen(text);
        bool is_name = slash && slash != text && slash[1] && !strchr(slash + 1, '/');
        if (!is_name && !(is_hex && strlen(text) <= 6) && !(is_number && strlen(text) <= 5)) {
            CONFIG_FAULT(check, &stacks->items[i],
                "stacks: %s is no kernel event. write Class/Name, as in Process/Start, or "
                "the number of a hook, as in 0x1402",
                config_text_quote(span_text(text)).text);
        }
    }
}

static void check_kernel(const void *settings, struct config_check *check)
{
    const struct live_kernel *s = settings;
    check_session(&s->session, true, check);
    check_stacks(&s->stacks, check);
}

static void check_heap(const void *settings, struct config_check *check)
{
    const struct live_heap *s = settings;
    check_session(&s->session, true, check);
}

static void check_record(const void *settings, struct config_check *check)
{
    const struct live_record *s = settings;
    const struct live_log_file *file = &s->log_file;
    check_session(&s->session, s->flags.count > 0, check);
    check_stacks(&s->stacks, check);
    if ((file->mode == LIVE_LOG_CIRCULAR || file->mode == LIVE_LOG_NEWFILE) &&
        file->max_size_bytes == 0) {
        CONFIG_FAULT(check, &file->mode, "log_file: mode %s needs a limit. add max_size",
            log_mode_names[file->mode]);
    }
    if (file->mode == LIVE_LOG_NEWFILE && file->path && !strstr(file->path, "%d")) {
        CONFIG_FAULT(check, &file->path,
            "log_file: mode newfile numbers its files. write %%d where the number belongs in path");
    }
}

const struct input_ops input_realtime = {
    .name = "realtime",
    .fields = realtime_fields,
    .settings_size = sizeof(struct live_realtime),
    .needs_etw = true,
    .providers = INPUT_PROVIDERS_REQUIRED,
    .check = check_realtime,
};

const struct input_ops input_system = {
    .name = "system",
    .fields = kernel_fields,
    .settings_size = sizeof(struct live_kernel),
    .needs_etw = true,
    .check = check_kernel,
};

const struct input_ops input_kernel = {
    .name = "kernel",
    .fields = kernel_fields,
    .settings_size = sizeof(struct live_kernel),
    .needs_etw = true,
    .providers = INPUT_PROVIDERS_NONE,
    .check = check_kernel,
};

const struct input_ops input_attach = {
    .name = "attach",
    .fields = attach_fields,
    .settings_size = sizeof(struct live_attach),
    .needs_etw = true,
};

const struct input_ops input_heap = {
    .name = "heap",
    .fields = heap_fields,
    .settings_size = sizeof(struct live_heap),
    .needs_etw = true,
    .providers = INPUT_PROVIDERS_NONE,
    .check = check_heap,
};

const struct input_ops input_record = {
    .name = "record",
    .fields = record_fields,
    .settings_size = sizeof(struct live_record),
    .needs_etw = true,
    .delivers_nothing = true,
    .check = check_record,
};
