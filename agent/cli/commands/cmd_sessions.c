#include "cli/text/session_text.h"

#include "base/text/nearest.h"
#include "cli/options/cli.h"
#include "config/config_value.h"
#include "etw/etw_api.h"
#include "etw/etw_hold.h"
#include "etw/etw_image_flags.h"
#include "etw/session/etw_kernel.h"
#include "input/live/kernel_flags.h"
#include "platform/plat_file.h"

/* `etwship sessions`: all ETW sessions of this machine. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "JSON lines: an object per session."},
    {.name = "orphans",
        .help = "stop: all sessions of etwship (etwship-...) without a running etwship. A session that an agent keeps over its restart counts while the agent is stopped. Sessions that list shows as doubtful keep running. Registry values that killed agents changed for sessions of heaps are restored, too."},
    {.name = "max-buffers", .argument = "N",
        .help = "update: the maximum number of buffers."},
    {.name = "flush-timer", .argument = "DURATION",
        .help = "update: the maximum time that events wait in a buffer, as in 500ms. Rounded up to whole seconds in sessions that count in seconds."},
    {.name = "log-file", .argument = "PATH", .help = "update: continue in this file."},
    {.name = "real-time", .argument = "on|off", .help = "update: deliver events in real time."},
    {.name = "kernel-flag", .letter = 'k', .argument = "FLAG", .known = kernel_flags_name, .repeated = true,
        .help = "update: also enable this group of kernel events, as in disk_io."},
    {.name = NULL},
};
// clang-format on

enum { MAX_OUTPUT_BYTES = 64 * 1024 * 1024, MAX_FLAGS = 256 };

/* Arguments of a subcommand. */
struct call {
    const struct cli_args *args;
    const char *name; /* of the session, or NULL */
    bool json;
    struct etw_session_change change; /* update */
    struct etw_groups groups;         /* update */
    struct buf out;
};

static void add_one(struct call *call, const struct etw_session_state *session)
{
    if (call->json) {
        session_text_json(session, false, &call->out);
    } else {
        session_text_details(session, &call->out);
    }
}

/* ---- subcommands: false if something failed, which is said ----------------------------------- */

static bool list(struct call *call)
{
    struct etw_session_list sessions;
    struct error err;
    if (!etw_control_list(&sessions, &err)) {
        return cli_fail(&err);
    }
    for (size_t i = 0; call->json && i < sessions.count; i++) {
        session_text_json(&sessions.items[i], false, &call->out);
    }
    if (!call->json) {
        session_text_table(&sessions, &call->out);
    }
    etw_control_list_fini(&sessions);
    return true;
}

static bool query(struct call *call)
{
    struct etw_session_state session;
    struct error err;
    if (!etw_control_query(call->name, &session, &err)) {
        return cli_fail(&err);
    }
    add_one(call, &session);
    return true;
}

static bool flush(struct call *call)
{
    struct error err;
    if (!etw_control_flush(call->name, &err)) {
        return cli_fail(&err);
    }
    return !call->json || query(call);
}

static void add_stopped(struct call *call, const struct etw_session_state *session)
{
    if (call->json) {
        session_text_json(session, true, &call->out);
    } else {
        session_text_stopped(session, &call->out);
    }
}

static bool stop_one(struct call *call, const char *name)
{
    struct etw_session_state session;
    struct error err;
    if (!etw_control_stop(name, &session, &err)) {
        return cli_fail(&err);
    }
    add_stopped(call, &session);
    return true;
}

static bool is_abandoned(void *self, const char *session)
{
    (void)self;
    return etw_hold_look(session, NULL) == ETW_HOLD_FREE;
}

static bool is_orphan(const char *session)
{
    char owner[ETW_HOLD_OWNER_BYTES];
    if (!etw_hold_is_ours(session)) {
        return false;
    }
    enum etw_hold_state state = etw_hold_look(session, owner);
    if (state == ETW_HOLD_DOUBTFUL) {
        cli_warning("session %.200s keeps running: its lock belongs to %.200s, and Windows does "
                    "not tell whether that account may run sessions. if no program of that account "
                    "runs it, stop it by its name",
            session, owner);
    }
    return state == ETW_HOLD_FREE;
}

static void add_flags(void *self, const char *image, const struct error *err)
{
    struct call *call = self;
    if (err) {
        cli_fail(err);
    } else if (!call->json) {
        buf_printf(&call->out, "restored TracingFlags of %s\n", image);
    }
}

static bool stop_orphans(struct call *call)
{
    struct etw_session_list sessions;
    struct error err;
    bool ok = true;
    etw_image_flags_clean(is_abandoned, add_flags, call);
    if (!etw_control_list(&sessions, &err)) {
        return cli_fail(&err);
    }
    for (size_t i = 0; i < sessions.count; i++) {
        if (!is_orphan(sessions.items[i].name)) {
            continue;
        }
        struct etw_session_state last;
        if (etw_control_stop(sessions.items[i].name, &last, &err)) {
            add_stopped(call, &last);
        } else if (err.os_code != ETW_ERROR_WMI_INSTANCE_NOT_FOUND) { /* else: it ended by itself */
            ok = cli_fail(&err);
        }
    }
    etw_control_list_fini(&sessions);
    return ok;
}

static bool stop(struct call *call)
{
    return call->name ? stop_one(call, call->name) : stop_orphans(call);
}

/* ---- update ---------------------------------------------------------------------------------- */

static void say_unknown_flag(const char *flag)
{
    struct nearest nearest = {.text = span_text(flag)};
    for (size_t i = 0; kernel_flags_name(i); i++) {
        nearest_consider(&nearest, span_text(kernel_flags_name(i)));
    }
    struct span meant = nearest_meant(&nearest);
    cli_error("--kernel-flag %s: there is no such group of kernel events%s%.*s%s", flag,
        meant.size ? ". did you mean " : "", SPAN_ARG(meant), meant.size ? "?" : "");
}

static bool parse_groups(const struct cli_args *args, struct etw_groups *groups)
{
    const char *flags[MAX_FLAGS];
    struct error err;
    size_t count = cli_values(args, "kernel-flag", flags, MAX_FLAGS);
    for (size_t i = 0; i < count; i++) {
        uint32_t mask;
        if (!kernel_flags_find(span_text(flags[i]), &mask)) {
            say_unknown_flag(flags[i]);
            return false;
        }
        if (!etw_kernel_add(groups, mask, &err)) {
            cli_error("--kernel-flag %s: %s", flags[i], err.text);
            return false;
        }
    }
    return true;
}

static bool parse_flush(const char *text, uint32_t *ret_ms)
{
    struct error err;
    uint64_t ns;
    if (!config_value_duration(span_text(text), &ns, &err)) {
        cli_error("--flush-timer: %s", err.text);
        return false;
    }
    uint64_t ms = ns / 1000000;
    if (ms == 0 || ms > UINT32_MAX) {
        cli_error("--flush-timer %s: give 1ms to 49d", text);
        return false;
    }
    *ret_ms = (uint32_t)ms;
    return true;
}

static bool parse_real_time(const char *text, bool *ret_real_time)
{
    static const char *const words[] = {"off", "on", NULL};
    struct error err;
    int index;
    if (!config_value_enum(span_text(text), words, &index, &err)) {
        cli_error("--real-time: %s", err.text);
        return false;
    }
    *ret_real_time = index == 1;
    return true;
}

static bool parse_change(const struct cli_args *args, struct etw_session_change *ret_change)
{
    struct etw_session_change change = {.file = cli_value(args, "log-file")};
    const char *flush_timer = cli_value(args, "flush-timer");
    const char *real_time = cli_value(args, "real-time");
    uint64_t buffers;
    if (!cli_count(args, "max-buffers", &buffers) ||
        (flush_timer && !parse_flush(flush_timer, &change.flush_ms)) ||
        (real_time && !parse_real_time(real_time, &change.real_time))) {
        return false;
    }
    if (buffers > UINT32_MAX) {
        cli_error("--max-buffers %s: that is too many", cli_value(args, "max-buffers"));
        return false;
    }
    change.set_max_buffers = buffers != 0;
    change.max_buffers = (uint32_t)buffers;
    change.set_flush = flush_timer != NULL;
    change.set_real_time = real_time != NULL;
    *ret_change = change;
    return true;
}

static bool has_change(const struct etw_session_change *change)
{
    return change->set_max_buffers || change->set_flush || change->set_real_time || change->file;
}

static bool change_session(const struct call *call, struct error *err)
{
    struct etw_session_state session;
    bool has_groups = cli_value(call->args, "kernel-flag") != NULL;
    if (!etw_control_query(call->name, &session, err)) {
        return false;
    }
    if (has_groups && !etw_control_is_system(&session)) {
        return error_set(err, ERR_CONFIG,
            "session %.100s delivers no kernel events, so it has no kernel flags. leave them out",
            call->name);
    }
    return (!has_change(&call->change) ||
               etw_control_update(call->name, &call->change, &session, err)) &&
           (!has_groups || etw_kernel_set_groups(session.handle, call->name, &call->groups, err));
}

static bool update(struct call *call)
{
    struct error err;
    return change_session(call, &err) ? query(call) : cli_fail(&err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct verb {
    const char *name;
    bool (*run)(struct call *call);
    bool takes_name;
} verbs[] = {
    {"list", list, false},
    {"query", query, true},
    {"update", update, true},
    {"flush", flush, true},
    {"stop", stop, true},
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

/* Check and parse options and operands. */
static bool parse_usage(const struct verb *verb, const struct cli_args *args, struct call *call)
{
    static const char *const changes[] = {
        "max-buffers", "flush-timer", "log-file", "real-time", "kernel-flag"};
    bool orphans = cli_value(args, "orphans") != NULL;
    bool has_name = args->operand_count > 1;
    size_t change_count = 0;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        change_count += cli_value(args, changes[i]) != NULL;
    }
    if (change_count && verb->run != update) {
        cli_error("sessions %s changes nothing. use `sessions update`", verb->name);
        return false;
    }
    if (!change_count && verb->run == update) {
        cli_error("sessions update: nothing to change. see `etwship sessions --help`");
        return false;
    }
    if (orphans && (verb->run != stop || has_name)) {
        cli_error("--orphans takes no other arguments: `etwship sessions stop --orphans`");
        return false;
    }
    if (has_name != (verb->takes_name && !orphans)) {
        cli_error(has_name ? "sessions %s takes no name of a session"
                           : "sessions %s: the name of a session is missing",
            verb->name);
        return false;
    }
    call->args = args;
    call->name = has_name ? args->operands[1] : NULL;
    call->json = cli_value(args, "json") != NULL;
    return parse_change(args, &call->change) && parse_groups(args, &call->groups);
}

static int run_verb(const struct verb *verb, struct call *call)
{
    if (!etw_api_has_sessions()) {
        cli_error("this system has no Event Tracing for Windows, so it has no sessions");
        return EXIT_FAILED;
    }
    buf_init(&call->out, MAX_OUTPUT_BYTES);
    int exit_code = verb->run(call) ? EXIT_DONE : EXIT_FAILED;
    struct error err;
    if (call->out.failed) {
        cli_error("out of memory");
        exit_code = EXIT_FAILED;
    } else if (!plat_file_write(plat_file_stdout(), buf_span(&call->out), &err) &&
               err.code != ERR_STOPPED) {
        cli_fail(&err);
        exit_code = EXIT_FAILED;
    }
    buf_fini(&call->out);
    return exit_code;
}

static int run(const struct cli_args *args)
{
    const struct verb *verb = find_verb(args->operands[0]);
    struct call call = {.args = NULL};
    bool is_clear = verb && parse_usage(verb, args, &call);
    return is_clear ? run_verb(verb, &call) : EXIT_USAGE;
}

const struct cli_command cmd_sessions = {
    .name = "sessions",
    .synopsis = "list | query NAME | update NAME OPTION... | flush NAME | stop NAME|--orphans "
                "[--json]",
    .summary = "list and control the machine's ETW sessions",
    .description =
        "All sessions of Event Tracing for Windows on this machine, from any program: list shows "
        "their buffers and losses, query shows one in full, update changes a running session, "
        "flush delivers the events in its buffers, stop ends it.\n"
        "With --json every session is an object with name, guid, logger_id, mode and mode_name, "
        "clock (qpc, system, cpu), buffer_kb, min_buffers, max_buffers, flush_ms, buffers, "
        "free_buffers, buffers_written, events_lost, log_buffers_lost, real_time_buffers_lost; "
        "where it applies file, max_file_bytes, kernel_flags, owner (etwship) and orphan, doubtful "
        "(Windows does not tell whether the owner of its lock may run sessions), and stopped after "
        "stop.",
    .options = options,
    .examples = "       etwship sessions list\n"
                "       etwship sessions update etwship-security --max-buffers 256\n"
                "       etwship sessions stop --orphans\n",
    .verbs = "list|query|update|flush|stop",
    .operands = {"list, query, update, flush or stop", 1, 2},
    .run = run,
};
