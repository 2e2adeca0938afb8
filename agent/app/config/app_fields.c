/*
 * The modules of the registry bring the keys of a session or an output beyond the common ones;
 * this file names none of them.
 */
#include "app/config/app_fields.h"

#include "app/config/app_edits.h"
#include "app/log/log.h"

#define MB (INT64_C(1) << 20)
#define GB (INT64_C(1) << 30)
#define TB (INT64_C(1) << 40)
#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)
#define DAY_NS (86400 * SECOND_NS)

// clang-format off

/* ---- agent ----------------------------------------------------------------------------------- */

static const char *const log_file_words[] = {"auto", "stderr", NULL};

static const struct config_field rotate_fields[] = {
    {CONFIG_ROW("size", SIZE, struct app_rotate, size_bytes), .default_text = "10MB",
        .min = 64 << 10, .max = TB, .help = "begin a new file at this size"},
    {CONFIG_ROW("keep", INT, struct app_rotate, keep), .default_text = "5",
        .min = 0, .max = 1000, .help = "number of old files to keep"},
    {.key = NULL},
};

const struct config_field app_log_fields[] = {
    {CONFIG_ROW("level", ENUM, struct app_log, level), .names = log_level_names,
        .default_text = "info", .help = "lowest level of the lines that are written"},
    {CONFIG_ROW("file", PATH, struct app_log, file), .names = log_file_words,
        .default_text = "auto",
        .help = "a file, or stderr; auto: stderr, and for a Windows service `C:\\ProgramData\\etwship\\logs\\etwship.log` if that folder exists"},
    {CONFIG_ROW("format", ENUM, struct app_log, format), .names = log_format_names,
        .default_text = "text", .help = "text for people, json for programs: ECS, with [ids](log.md)"},
    {CONFIG_STRUCT_ROW("rotate", struct app_log, rotate, rotate_fields),
        .help = "how log files are kept small"},
    {CONFIG_ROW("stats", DURATION, struct app_log, stats_ns), .default_text = "60s",
        .max = DAY_NS, .help = "counters are logged, and shipped as an event, this often; 0: never"},
    {.key = NULL},
};

/* By enum plat_priority. */
const char *const app_priority_names[] = {"inherit", "normal", "below_normal", "idle", NULL};

static const struct config_field limits_fields[] = {
    {CONFIG_ROW("memory", SIZE, struct app_limits, memory_bytes), .default_text = "0", .max = TB,
        .help = "maximum memory of the process, enforced by the system; it must exceed `agent.memory`, which the agent enforces itself; 0: no limit. Windows only; on Linux set MemoryMax= of the unit"},
    {CONFIG_ROW("cpu", PERCENT, struct app_limits, cpu_hundredths), .default_text = "100%",
        .min = 10, .max = 10000,
        .help = "maximum share of all processors together; beyond it the system makes the agent wait. Windows 8 or newer; on Linux set CPUQuota= of the unit, a share of one processor"},
    {CONFIG_ROW("priority", ENUM, struct app_limits, priority), .names = app_priority_names,
        .default_text = "inherit",
        .help = "priority compared with other programs; inherit: as the agent was started. On Linux nice values 0, 10 and 19"},
    {.key = NULL},
};

static const struct config_field agent_fields[] = {
    {CONFIG_ROW("data_dir", PATH, struct app_agent, data_dir),
        .help = "folder for state, spool and dead letters; one agent per folder. Default with a durable spool: `/var/lib/etwship`; not root: `$XDG_STATE_HOME/etwship`; Windows: `C:\\ProgramData\\etwship`"},
    {CONFIG_ROW("memory", SIZE, struct app_agent, memory_bytes), .default_text = "128MB",
        .min = 16 * MB, .max = TB, .help = "maximum memory of the process: its own needs first, the rest for queues"},
    {CONFIG_STRUCT_ROW("limits", struct app_agent, limits, limits_fields),
        .help = "limits of the process that the system enforces"},
    {CONFIG_ROW("decode_workers", INT, struct app_agent, decode_workers), .default_text = "1",
        .min = 1, .max = 64, .help = "threads that decode events"},
    {CONFIG_ROW("builtin_layouts", BOOL, struct app_agent, builtin_layouts),
        .default_text = "true",
        .help = "use the built-in layouts of .NET, PowerShell and others where no other source has one"},
    {CONFIG_ROW("language", STRING, struct app_agent, language),
        .help = "language of messages and names, such as de-DE, where program files and manifests under `schema` have several; default: en-US, and for messages of sessions of type eventlog the system's language"},
    {CONFIG_ROW("shutdown", DURATION, struct app_agent, shutdown_ns), .default_text = "10s",
        .max = DAY_NS, .help = "how long outputs may deliver what is queued after a stop signal"},
    {CONFIG_ROW("labels", MAP, struct app_agent, labels),
        .help = "names and texts added to every event"},
    {CONFIG_ROW("tags", STRINGS, struct app_agent, tags), .help = "words added to every event"},
    {CONFIG_STRUCT_ROW("log", struct app_agent, log, app_log_fields),
        .help = "the agent's own log"},
    {.key = NULL},
};

/* ---- status ---------------------------------------------------------------------------------- */

static const struct config_field status_tls_fields[] = {
    {CONFIG_ROW("cert", PATH, struct app_status_tls, cert), .is_read = true,
        .help = "file of the server's certificate, in PEM, followed by its chain"},
    {CONFIG_ROW("key", PATH, struct app_status_tls, key), .is_read = true,
        .help = "file of its private key, in PEM, without a password"},
    {.key = NULL},
};

const struct config_field app_status_fields[] = {
    {CONFIG_ROW("listen", STRING, struct app_status, listen),
        .help = "address and port, as in `127.0.0.1:9187` or `[::1]:9187`: the status page, `/metrics`, `/health`, `/ready`, `/status`, `/tap`; an address that other machines can reach, such as `0.0.0.0:9187`, needs `tls` and `token`; default: no server"},
    {CONFIG_ROW("unix", PATH, struct app_status, unix_path),
        .help = "path of a Unix socket that serves the status to the agent's account and root only. Not on Windows"},
    {CONFIG_ROW("pipe", STRING, struct app_status, pipe),
        .help = "Windows: name of a pipe, `\\\\.\\pipe\\NAME`, that serves the status to local administrators, the system and the agent's account only"},
    {CONFIG_ROW("token", SECRET, struct app_status, token),
        .help = "clients of `listen` must send `Authorization: Bearer TOKEN`. Without a token every account of the machine may read the status, but not `/tap`, which shows events"},
    {CONFIG_STRUCT_ROW("tls", struct app_status, tls, status_tls_fields),
        .help = "TLS for `listen`. A reload reads both files again"},
    {.key = NULL},
};

/* ---- spool, schema, filters ------------------------------------------------------------------ */

static const char *const spool_mode_names[] = {"memory", "durable", NULL};
static const char *const spool_full_names[] = {"drop_oldest", "drop_newest", "block", NULL};
static const char *const spool_recorded_names[] = {"auto", "replay", "copy", NULL};
static const char *const spool_compression_names[] = {"none", "zstd", NULL};

static const struct config_field sync_fields[] = {
    {CONFIG_ROW("interval", DURATION, struct app_sync, interval_ns),
        .default_text = "200ms", .min = MS_NS, .max = 60 * SECOND_NS,
        .help = "force written data to the disk at least this often"},
    {CONFIG_ROW("bytes", SIZE, struct app_sync, bytes), .default_text = "4MB",
        .min = 4096, .max = GB, .help = "force written data to the disk after this much data"},
    {.key = NULL},
};

static const struct config_field spool_fields[] = {
    {CONFIG_ROW("mode", ENUM, struct app_spool, mode), .names = spool_mode_names,
        .default_text = "durable",
        .help = "where batches wait for their outputs: on a disk, or in memory; memory where all "
                "outputs are `stdout` or all sessions `file`, and neither `spool` nor `data_dir` is "
                "given"},
    {CONFIG_ROW("max_size", SIZE, struct app_spool, max_size_bytes), .default_text = "2GB",
        .min = 16 * MB, .max = 1024 * TB, .help = "limit on disk"},
    {CONFIG_ROW("max_age", DURATION, struct app_spool, max_age_ns), .default_text = "7d",
        .min = SECOND_NS, .max = 3650 * DAY_NS, .may_be_never = true,
        .help = "older batches are dropped; never: only when room is needed"},
    {CONFIG_ROW("min_free_disk", SIZE, struct app_spool, min_free_disk_bytes),
        .default_text = "1GB", .max = 1024 * TB,
        .help = "the spool also counts as full when the disk has less free space than this"},
    {CONFIG_ROW("on_full", ENUM, struct app_spool, on_full), .names = spool_full_names,
        .default_text = "drop_oldest",
        .help = "what live ETW sessions do when the spool is full; recorded traces and event logs wait"},
    {CONFIG_STRUCT_ROW("sync", struct app_spool, sync, sync_fields),
        .help = "how often data is forced to the disk: a power failure can lose what came later"},
    {CONFIG_ROW("compression", ENUM, struct app_spool, compression),
        .names = spool_compression_names, .default_text = "none", .help = "compression of batches on disk"},
    {CONFIG_ROW("recorded", ENUM, struct app_spool, recorded), .names = spool_recorded_names,
        .default_text = "auto",
        .help = "where all sessions are `file`: `replay` reads again, after a restart, what outputs have not delivered; `copy` keeps events on disk like live ones, for traces that are removed before outputs have delivered them; `auto` is `replay` for one output and `copy` for several, so that none waits for another. With a live session, or an `elasticsearch` output with fields in its index, events are always copied"},
    {.key = NULL},
};

static const char *const schema_type_names[] = {"folder", "tdh", NULL};

static const struct config_field schema_fields[] = {
    {CONFIG_ROW("type", ENUM, struct app_schema, type), .names = schema_type_names,
        .required = true,
        .help = "folder: definitions in files below a folder; tdh: the definitions of this Windows"},
    {CONFIG_ROW("path", PATH, struct app_schema, path), .is_read = true,
        .help = "folder: the folder, or one file"},
    {.key = NULL},
};

static const struct config_field sample_fields[] = {
    {CONFIG_ROW("where", STRING, struct app_sample, where), .default_text = "true",
        .help = "an expression; the rule applies to events for which it is true"},
    {CONFIG_ROW("rate", STRING, struct app_sample, rate), .required = true,
        .help = "`1/N`: one of N values of the field is kept, with all its events"},
    {CONFIG_ROW("by", STRING, struct app_sample, by),
        .help = "the field that says which events stay together. default: `activity_id`"},
    {.key = NULL},
};

static const struct config_field limit_fields[] = {
    {CONFIG_ROW("where", STRING, struct app_limit, where), .default_text = "true",
        .help = "an expression; the rule applies to events for which it is true"},
    {CONFIG_ROW("rate", STRING, struct app_limit, rate), .required = true,
        .help = "`N/s`, `N/m`, `N/h` or `N/d`: events in a second, minute, hour, day"},
    {CONFIG_ROW("burst", INT, struct app_limit, burst), .min = 0, .max = FILTER_MAX_BURST,
        .help = "maximum number of events at once after a quiet time; 0: the number in `rate`"},
    {CONFIG_ROW("per", STRINGS, struct app_limit, per), .max = FILTER_MAX_FIELDS,
        .help = "fields; each combination of their values has a rate of its own"},
    {.key = NULL},
};

static const struct config_field rollup_fields[] = {
    {CONFIG_ROW("where", STRING, struct app_rollup, where), .default_text = "true",
        .help = "an expression; the rule applies to events for which it is true"},
    {CONFIG_ROW("by", STRINGS, struct app_rollup, by), .max = FILTER_MAX_FIELDS,
        .help = "fields; events with the same values of them are counted together"},
    {CONFIG_ROW("every", DURATION, struct app_rollup, every_ns), .required = true, .min = SECOND_NS,
        .max = DAY_NS,
        .help = "how long a window is; windows begin at multiples of it, by the events' time"},
    {.key = NULL},
};

static const char *const unsure_names[] = {"keep", "drop", NULL};

const struct config_field app_rule_fields[] = {
    {CONFIG_ROW("name", STRING, struct app_rule, name), .help = "name of the rule in counters and messages"},
    {CONFIG_ROW("keep", STRING, struct app_rule, keep),
        .help = "an expression; events for which it is true pass this list"},
    {CONFIG_ROW("drop", STRING, struct app_rule, drop),
        .help = "an expression; events for which it is true are left out"},
    {CONFIG_STRUCT_ROW("sample", struct app_rule, sample, sample_fields),
        .help = "keeps one in N of the events that it applies to, and leaves the others out"},
    {CONFIG_STRUCT_ROW("limit", struct app_rule, limit, limit_fields),
        .help = "keeps the events that it applies to up to a rate, and counts the others as a gap"},
    {CONFIG_STRUCT_ROW("rollup", struct app_rule, rollup, rollup_fields),
        .help = "replaces the events of a time window that it applies to by one event with their count"},
    {CONFIG_STRUCT_ROW("set", struct app_rule, set, app_edits_set_fields),
        .help = "does not decide; sets fields to a text: labels, `data.NAME`, `message`, names of `host`"},
    {CONFIG_STRUCT_ROW("tag", struct app_rule, tag, app_edits_tag_fields),
        .help = "does not decide; adds to `tags`"},
    {CONFIG_STRUCT_ROW("remove", struct app_rule, remove, app_edits_remove_fields),
        .help = "does not decide; leaves fields out"},
    {CONFIG_STRUCT_ROW("rename", struct app_rule, rename, app_edits_rename_fields),
        .help = "does not decide; renames fields of the payload"},
    {CONFIG_STRUCT_ROW("hash", struct app_rule, hash, app_edits_hash_fields),
        .help = "does not decide; replaces values by keyed hashes, which are equal for equal values on all machines with the key"},
    {CONFIG_STRUCT_ROW("truncate", struct app_rule, truncate, app_edits_truncate_fields),
        .help = "does not decide; cuts long texts"},
    {CONFIG_ROW("unsure", ENUM, struct app_rule, unsure), .names = unsure_names,
        .help = "what happens to an event for which a regular expression of the rule exceeded its limits, so "
                "that the rule cannot be decided: it is kept, with a note, or left out"},
    {.key = NULL},
};

#define FILTERS_ROW(s, text)                                                 \
    {CONFIG_ROW("filters", STRUCTS, s, filters), .fields = app_rule_fields,  \
        .size = sizeof(struct app_rule), .max = 4096, .help = (text)}

/* ---- providers ------------------------------------------------------------------------------- */

const char *const app_extended_names[] = {
    "sid", "session_id", "stack", "psm_key", "event_key", "start_key", "container_id", NULL};

static const struct config_field keywords_fields[] = {
    {CONFIG_ROW("any", STRINGS, struct app_keywords, any), .max = 64,
        .help = "numbers or names; an event needs one of the bits"},
    {CONFIG_ROW("all", STRINGS, struct app_keywords, all), .max = 64,
        .help = "numbers or names; an event needs all of the bits"},
    {.key = NULL},
};

static const struct config_field events_fields[] = {
    {CONFIG_ROW("include", STRINGS, struct app_events, include), .max = 1000,
        .help = "only these: ids, ranges such as 10-15, or names of TraceLogging events"},
    {CONFIG_ROW("exclude", STRINGS, struct app_events, exclude), .max = 1000,
        .help = "all but these"},
    {.key = NULL},
};

static const struct config_field capture_fields[] = {
    {CONFIG_ROW("at_start", BOOL, struct app_capture, at_start), .default_text = "false",
        .help = "ask the provider for its state when the session starts"},
    {CONFIG_ROW("every", DURATION, struct app_capture, every_ns), .max = 365 * DAY_NS,
        .help = "ask again after this time; 0: never again"},
    {.key = NULL},
};

static const struct config_field process_fields[] = {
    {CONFIG_ROW("executables", STRINGS, struct app_processes, executables), .min = 1, .max = 64,
        .help = "names of programs, with .exe"},
    {CONFIG_ROW("pids", STRINGS, struct app_processes, pids), .min = 1, .max = 8,
        .help = "ids of running processes"},
    {CONFIG_ROW("packages", STRINGS, struct app_processes, packages), .min = 1, .max = 64,
        .help = "full names of app packages"},
    {CONFIG_ROW("apps", STRINGS, struct app_processes, apps), .min = 1, .max = 64,
        .help = "ids of applications within their packages"},
    {CONFIG_ROW("container", STRING, struct app_processes, container),
        .help = "id of a container, given to ETW as it is written: its form is not documented"},
    {.key = NULL},
};

/* Names of ETW's operators: PAYLOAD_OPERATOR of tdh.h. */
static const struct config_field predicate_fields[] = {
    {CONFIG_ROW("is", STRING, struct provider_predicate, is), .help = "equal; numbers or texts"},
    {CONFIG_ROW("is_not", STRING, struct provider_predicate, is_not), .help = "not equal"},
    {CONFIG_ROW("contains", STRING, struct provider_predicate, contains),
        .help = "texts; upper and lower case count"},
    {CONFIG_ROW("not_contains", STRING, struct provider_predicate, not_contains), .help = "texts"},
    {CONFIG_ROW("below", STRING, struct provider_predicate, below), .help = "numbers"},
    {CONFIG_ROW("above", STRING, struct provider_predicate, above), .help = "numbers"},
    {CONFIG_ROW("at_most", STRING, struct provider_predicate, at_most), .help = "numbers"},
    {CONFIG_ROW("at_least", STRING, struct provider_predicate, at_least), .help = "numbers"},
    {CONFIG_ROW("between", STRINGS, struct provider_predicate, between), .min = 2, .max = 2,
        .help = "two numbers, both included"},
    {CONFIG_ROW("not_between", STRINGS, struct provider_predicate, not_between), .min = 2, .max = 2,
        .help = "two numbers"},
    {.key = NULL},
};

static const struct config_field payload_row = {
    CONFIG_ROW("payload", KEYED, struct provider_payload, fields), .fields = predicate_fields,
    .size = sizeof(struct provider_predicate), .min = 1, .max = 8,
    .help = "conditions by the name of a field; all of them must hold"};

static const struct config_field compact_row = {
    CONFIG_ROW("providers", STRING, struct app_provider, text.compact),
    .help = "(Name|GUID)[:Level[:EventIDs[:AnyKeywords[:AllKeywords]]]]"};

static const struct config_field stack_fields[] = {
    {CONFIG_ROW("events", STRINGS, struct app_stacks, events), .max = 64,
        .help = "ids, ranges such as 10-15, or names of TraceLogging events"},
    {CONFIG_ROW("level", STRING, struct app_stacks, level),
        .help = "least severe level that gets a stack"},
    {CONFIG_STRUCT_ROW("keywords", struct app_stacks, keywords, keywords_fields),
        .help = "masks, as numbers"},
    {.key = NULL},
};

static const struct config_field budget_fields[] = {
    {CONFIG_ROW("events", INT, struct app_budget, events), .default_text = "0", .max = 100000000,
        .help = "maximum number per second; 0: no limit"},
    {CONFIG_ROW("bytes", SIZE, struct app_budget, bytes), .default_text = "0", .max = 10 * GB,
        .help = "maximum size per second, payloads, extended items and stacks together; 0: no limit"},
    {CONFIG_ROW("burst", DURATION, struct app_budget, burst_ns), .default_text = "4s",
        .min = SECOND_NS, .max = 60 * SECOND_NS,
        .help = "the unused rate of this time may be used at once"},
    {.key = NULL},
};

static const struct config_field provider_fields[] = {
    {CONFIG_ROW("name", STRING, struct app_provider, text.name),
        .help = "name of the provider, or its GUID"},
    {CONFIG_ROW("level", STRING, struct app_provider, text.level),
        .help = "least severe level that is wanted: critical, error, warning, information, verbose, or a number; default: all"},
    {CONFIG_STRUCT_ROW("keywords", struct app_provider, text.keywords, keywords_fields),
        .help = "masks; events without a keyword pass them all"},
    {CONFIG_STRUCT_ROW("events", struct app_provider, text.events, events_fields),
        .help = "which events"},
    {CONFIG_ROW("payload", KEYED, struct app_provider, payload), .shorthand = &payload_row,
        .size = sizeof(struct provider_payload), .max = 64,
        .help = "by the id of an event: conditions on its fields that ETW evaluates"},
    {CONFIG_ROW("extended", STRINGS, struct app_provider, text.extended),
        .names = app_extended_names, .max = 16, .help = "what ETW adds to each event"},
    {CONFIG_STRUCT_ROW("capture_state", struct app_provider, capture_state, capture_fields),
        .help = "ask the provider for events that describe its state"},
    {CONFIG_STRUCT_ROW("processes", struct app_provider, processes, process_fields),
        .help = "only events of these processes"},
    {CONFIG_ROW("optional", BOOL, struct app_provider, optional), .default_text = "false",
        .help = "true: a machine may lack the provider, without a warning"},
    {CONFIG_STRUCT_ROW("stack_for", struct app_provider, stack_for, stack_fields),
        .help = "which events get a call stack"},
    {CONFIG_ROW("only_keywords", BOOL, struct app_provider, only_keywords),
        .default_text = "false", .help = "leave out events that have no keyword at all"},
    {CONFIG_ROW("exclude_private", BOOL, struct app_provider, exclude_private),
        .default_text = "false", .help = "leave out events of private browsing"},
    {CONFIG_ROW("containers", BOOL, struct app_provider, containers), .default_text = "false",
        .help = "also events of server containers"},
    {CONFIG_ROW("take_over", BOOL, struct app_provider, take_over), .default_text = "false",
        .help = "a classic or WPP provider serves one session: take it from the one that has it"},
    {CONFIG_ROW("group", BOOL, struct app_provider, group), .default_text = "false",
        .help = "the GUID names a group of providers"},
    {CONFIG_ROW("disallow", STRINGS, struct app_provider, disallow), .max = 128,
        .help = "of a group: GUIDs of its providers that are left out"},
    {CONFIG_ROW("wpp", PATH, struct app_provider, wpp), .is_read = true,
        .help = "WPP messages instead of a provider's events: files that describe them (.pdb, .tmf) and files that name their control GUID and flags (.pdb, .mof, .tmc; for a .tmf those beside it), or a folder of such files"},
    {CONFIG_ROW("flags", STRINGS, struct app_provider, flags), .max = 32,
        .help = "wpp: names or numbers of its flags; default: all. Names are looked up in the files of "
            "wpp"},
    {CONFIG_STRUCT_ROW("budget", struct app_provider, budget, budget_fields),
        .help = "live sessions: what it may send per second; default: `provider_budget` of the "
            "session"},
    FILTERS_ROW(struct app_provider, "rules for the events of this provider; the first that "
        "matches decides"),
    {.key = NULL},
};

/* ---- sessions and outputs -------------------------------------------------------------------- */

static const struct config_field session_fields[] = {
    {CONFIG_ROW("name", STRING, struct app_session, name),
        .help = "unique name of the session; default: its type"},
    {CONFIG_ROW("type", STRING, struct app_session, type), .default_text = "realtime",
        .help = "where the events come from"},
    {CONFIG_ROW("enabled", BOOL, struct app_session, enabled), .default_text = "true",
        .help = "false: checked, but not run"},
    {CONFIG_ROW("providers", STRUCTS, struct app_session, providers), .fields = provider_fields,
        .shorthand = &compact_row, .size = sizeof(struct app_provider), .max = 1024,
        .help = "providers; for files: a selection of those in the traces"},
    FILTERS_ROW(struct app_session, "rules for the events of this session; the first that "
        "matches decides"),
    {CONFIG_STRUCT_ROW("provider_budget", struct app_session, provider_budget, budget_fields),
        .help = "live sessions: what each provider may send per second that has no `budget`"},
    {CONFIG_ROW("process_context", BOOL, struct app_session, process_context),
        .default_text = "true",
        .help = "add to each event what is known about its process (name, path, command line, parent, user) and of the file that it uses"},
    {CONFIG_ROW("block_for", DURATION, struct app_session, block_for_ns),
        .default_text = "250ms", .max = 60 * SECOND_NS,
        .help = "live sessions: how long to wait for room before events are dropped"},
    {.key = NULL},
};

static const char *const format_names[] = {"native", "ecs", "otel", NULL};
static const char *const uint64_names[] = {"default", "number", "string", NULL};

static const struct config_field batch_fields[] = {
    {CONFIG_ROW("events", INT, struct app_batch, events), .default_text = "5000",
        .min = 1, .max = 1000000, .help = "maximum number of events"},
    {CONFIG_ROW("bytes", SIZE, struct app_batch, bytes), .default_text = "1MB",
        .min = 4096, .max = 32 * MB, .help = "maximum size; on a disk at most an eighth of spool.max_size"},
    {CONFIG_ROW("age", DURATION, struct app_batch, age_ns), .default_text = "200ms",
        .max = 60 * SECOND_NS, .help = "longest time before a batch is sent"},
    {.key = NULL},
};

static const struct config_field retry_fields[] = {
    {CONFIG_ROW("min", DURATION, struct app_retry, min_ns), .default_text = "1s",
        .min = MS_NS, .max = DAY_NS, .help = "the first pause is a random part of this time; it doubles with each failure"},
    {CONFIG_ROW("max", DURATION, struct app_retry, max_ns), .default_text = "60s",
        .min = MS_NS, .max = DAY_NS, .help = "longest pause, also while the set-up is wrong"},
    {CONFIG_ROW("max_age", DURATION, struct app_retry, max_age_ns),
        .default_text = "never", .may_be_never = true, .min = SECOND_NS, .max = 3650 * DAY_NS,
        .help = "events that were retried for this long become dead letters (too_old); without agent.data_dir they are lost, counted and reported as a gap"},
    {.key = NULL},
};

static const struct config_field output_fields[] = {
    {CONFIG_ROW("name", STRING, struct app_output, name),
        .help = "unique name of the output; default: its type"},
    {CONFIG_ROW("type", STRING, struct app_output, type), .required = true,
        .help = "where the events go"},
    {CONFIG_ROW("enabled", BOOL, struct app_output, enabled), .default_text = "true",
        .help = "false: checked, but not run"},
    {CONFIG_ROW("sessions", STRINGS, struct app_output, sessions), .min = 1, .max = 1024,
        .help = "names of the sessions whose events it takes; default: all"},
    FILTERS_ROW(struct app_output, "rules for the events of this output; the first that matches "
        "decides"),
    {CONFIG_ROW("format", ENUM, struct app_output, format), .names = format_names,
        .default_text = "native", .help = "shape of the events"},
    {CONFIG_ROW("uint64", ENUM, struct app_output, uint64), .names = uint64_names,
        .default_text = "default",
        .help = "unsigned 64-bit fields as numbers or strings; default: what the type takes best"},
    {CONFIG_STRUCT_ROW("batch", struct app_output, batch, batch_fields),
        .help = "size and age of a batch"},
    {CONFIG_ROW("workers", INT, struct app_output, workers), .min = 1, .max = 64,
        .help = "number of batches that are sent at the same time, and may overtake each other; default: 2 over HTTP, else 1"},
    {CONFIG_STRUCT_ROW("retry", struct app_output, retry, retry_fields),
        .help = "what happens while the destination does not answer"},
    {.key = NULL},
};

/* ---- the root -------------------------------------------------------------------------------- */

/* The tables of one build: the rows of the top level refer to the modules of the registry. */
struct tables {
    struct config_variants sessions;
    struct config_variants outputs;
    struct config_field root[10];
};

static void fill_root(struct tables *tables)
{
    const struct config_field rows[] = {
        {CONFIG_ROW("version", INT, struct app_root, version), .default_text = "1", .min = 1,
            .max = 1, .help = "version of the format of the configuration"},
        {CONFIG_STRUCT_ROW("agent", struct app_root, agent, agent_fields),
            .help = "the agent itself"},
        {CONFIG_STRUCT_ROW("status", struct app_root, status, app_status_fields),
            .help = "where the running agent shows its status"},
        {CONFIG_ROW("schema", STRUCTS, struct app_root, schemas), .fields = schema_fields,
            .size = sizeof(struct app_schema),
            .help = "sources of further definitions of events, asked in this order"},
        {CONFIG_STRUCT_ROW("spool", struct app_root, spool, spool_fields),
            .help = "where events wait for their outputs"},
        {CONFIG_ROW("include", PATHS, struct app_root, include), .max = 255,
            .help = "further files, in the order of their names; * and ? match inside a folder"},
        {CONFIG_ROW("sessions", VARIANTS, struct app_root, sessions),
            .variants = &tables->sessions, .required = true, .min = 1, .max = 1024,
            .help = "where events come from, a list"},
        FILTERS_ROW(struct app_root, "rules for the events of all sessions; the first that "
            "matches decides"),
        {CONFIG_ROW("outputs", VARIANTS, struct app_root, outputs),
            .variants = &tables->outputs, .required = true, .min = 1, .max = 64,
            .help = "where events go, a list"},
        {.key = NULL},
    };
    memcpy(tables->root, rows, sizeof(rows));
}

// clang-format on

static struct config_variant *create_inputs(
    struct config *memory, const struct app_registry *registry)
{
    struct config_variant *list = config_alloc(
        memory, registry->input_count * sizeof(struct config_variant));
    for (size_t i = 0; i < registry->input_count && list; i++) {
        const struct input_ops *ops = registry->inputs[i];
        list[i] = (struct config_variant){ops->name, ops->fields, ops->settings_size, ops};
    }
    return list;
}

static struct config_variant *create_outputs(
    struct config *memory, const struct app_registry *registry)
{
    struct config_variant *list = config_alloc(
        memory, registry->output_count * sizeof(struct config_variant));
    for (size_t i = 0; i < registry->output_count && list; i++) {
        const struct output_ops *ops = registry->outputs[i];
        list[i] = (struct config_variant){ops->name, ops->fields, ops->settings_size, ops};
    }
    return list;
}

const struct config_field *app_fields_create(
    struct config *memory, const struct app_registry *registry)
{
    struct tables *tables = config_alloc(memory, sizeof(*tables));
    struct config_variant *inputs = create_inputs(memory, registry);
    struct config_variant *outputs = create_outputs(memory, registry);
    if (!tables || !inputs || !outputs) {
        return NULL;
    }
    tables->sessions = (struct config_variants){
        .noun = "session",
        .common = session_fields,
        .size = sizeof(struct app_session),
        .variant_offset = offsetof(struct app_session, variant),
        .settings_offset = offsetof(struct app_session, settings),
        .list = inputs,
        .count = registry->input_count,
    };
    tables->outputs = (struct config_variants){
        .noun = "output",
        .common = output_fields,
        .size = sizeof(struct app_output),
        .variant_offset = offsetof(struct app_output, variant),
        .settings_offset = offsetof(struct app_output, settings),
        .list = outputs,
        .count = registry->output_count,
    };
    fill_root(tables);
    return tables->root;
}
