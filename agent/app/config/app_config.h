#ifndef ETWSHIP_APP_APP_CONFIG_H
#define ETWSHIP_APP_APP_CONFIG_H

#include "config/config.h"
#include "config/config_report.h"
#include "filter/filter.h"
#include "input/input.h"
#include "input/live/provider_spec.h"
#include "outputs/output.h"

/*
 * The configuration of the agent: its own keys, and the sessions and outputs of the modules of this
 * build. The app_config owns everything; it is read-only. The members follow the keys of
 * docs/reference/configuration.md, which is made from these tables (app_fields.c).
 */

/*
 * The modules whose `type` a session or an output may have. A module without a `create` is known,
 * so that its keys can be checked, but is not part of this build.
 */
struct app_registry {
    const struct input_ops *const *inputs;
    size_t input_count;
    const struct output_ops *const *outputs;
    size_t output_count;
};

enum app_log_level { APP_LOG_ERROR, APP_LOG_WARNING, APP_LOG_INFO, APP_LOG_DEBUG };
enum app_log_format { APP_LOG_TEXT, APP_LOG_JSON };

struct app_rotate {
    uint64_t size_bytes;
    int64_t keep; /* rotated files */
};

struct app_log {
    int level;        /* enum app_log_level */
    const char *file; /* a path, "stderr", or "auto": stderr in the foreground, else a file */
    int format;       /* enum app_log_format */
    struct app_rotate rotate;
    uint64_t stats_ns; /* between two lines, and status events, of counters; 0: none */
};

/* Certificate and key of the status server, as PEM files. */
struct app_status_tls {
    const char *cert; /* NULL: no TLS */
    const char *key;
};

/* Addresses of the status server; none: it does not run. */
struct app_status {
    const char *listen;    /* ADDRESS:PORT; NULL: no TCP */
    const char *unix_path; /* NULL: no socket of the file system */
    const char *pipe;      /* the same on Windows: its name */
    const char *token;     /* NULL: none */
    struct app_status_tls tls;
};

/* Limits of the process that the system enforces. */
struct app_limits {
    uint64_t memory_bytes;   /* 0: no limit */
    uint64_t cpu_hundredths; /* of a percent of all processors; 10000: no limit */
    int priority;            /* enum plat_priority */
};

struct app_agent {
    const char *data_dir;  /* NULL: the system's place for it */
    uint64_t memory_bytes; /* of the process */
    struct app_limits limits;
    int64_t decode_workers;
    bool builtin_layouts; /* layouts of the program are asked, too, after all others */
    const char *language; /* of texts of definitions; NULL: en-US */
    uint64_t shutdown_ns; /* time for outputs to deliver what is queued */
    struct config_map labels;
    struct config_strings tags;
    struct app_log log;
};

enum app_spool_mode { APP_SPOOL_MEMORY, APP_SPOOL_DURABLE };
/* Why spool.mode has its value: the file has no key that needs a folder, and ... */
enum app_spool_reason {
    APP_SPOOL_AS_CONFIGURED, /* (it has one, or live events would be lost without a folder) */
    APP_SPOOL_ONLY_SHOWN,    /* no output keeps what it delivers: memory */
    APP_SPOOL_ONLY_RECORDED, /* all sessions read recorded traces: memory */
};
enum app_spool_recorded {
    /* REPLAY for one output, COPY for several: so none waits for another */
    APP_SPOOL_RECORDED_AUTO,
    APP_SPOOL_REPLAY,
    APP_SPOOL_COPY,
};
enum app_spool_full { APP_SPOOL_DROP_OLDEST, APP_SPOOL_DROP_NEWEST, APP_SPOOL_BLOCK };
enum app_spool_compression { APP_SPOOL_PLAIN, APP_SPOOL_ZSTD };

struct app_sync {
    uint64_t interval_ns;
    uint64_t bytes;
};

struct app_spool {
    int mode; /* enum app_spool_mode; in a configuration that does not set it, the chosen one */
    uint64_t max_size_bytes;
    uint64_t max_age_ns;
    uint64_t min_free_disk_bytes;
    int on_full; /* enum app_spool_full; live sessions only: replayable ones wait */
    struct app_sync sync;
    int compression; /* enum app_spool_compression */
    /* enum app_spool_recorded: do events that can be read again wait on the disk, too? */
    int recorded;
};

enum app_schema_type { APP_SCHEMA_FOLDER, APP_SCHEMA_TDH };

struct app_schema {
    int type;         /* enum app_schema_type */
    const char *path; /* APP_SCHEMA_FOLDER: a folder or a file */
};

/* One event in so many; app_rule. */
struct app_sample {
    const char *where;
    const char *rate; /* 1/N; NULL: there is no such action */
    const char *by;   /* a field; NULL: activity_id */
};

/* So many events in a time; app_rule. */
struct app_limit {
    const char *where;
    const char *rate; /* N/s; NULL: there is no such action */
    int64_t burst;    /* 0: N */
    struct config_strings per;
};

/* The edit of an app_rule; each of set, tag, remove, rename, hash and truncate uses some
 * members. */
struct app_edit {
    const char *where;
    struct config_map values;     /* set, rename: fields, and what they become */
    struct config_strings fields; /* fields of the others; the tags of tag */
    const char *key;              /* hash; a secret */
    int64_t bytes;                /* truncate */
};

/* One event with a count instead of many; app_rule. */
struct app_rollup {
    const char *where;
    struct config_strings by;
    uint64_t every_ns; /* 0: there is no such action */
};

/* One rule of a `filters` list. One of its actions is given; see app_rules.h. */
struct app_rule {
    const char *name; /* NULL: none */
    const char *keep;
    const char *drop;
    struct app_sample sample;
    struct app_limit limit;
    struct app_rollup rollup;
    struct app_edit set;
    struct app_edit tag;
    struct app_edit remove;
    struct app_edit rename;
    struct app_edit hash;
    struct app_edit truncate;
    int unsure; /* 0 keep, 1 drop */

    uint64_t every;             /* of sample.rate, once checked */
    struct filter_limit tokens; /* of limit, the same */
    /* Place of the expression in the file; the line is 0 if it came from the command line. */
    struct config_position position;
};

/* Members of app_provider, as the file has them. */
struct app_keywords {
    struct config_strings any;
    struct config_strings all;
};

struct app_events {
    struct config_strings include;
    struct config_strings exclude;
};

struct app_capture {
    bool at_start;
    uint64_t every_ns; /* 0: once only */
};

/* Nothing: every process. */
struct app_processes {
    struct config_strings executables;
    struct config_strings pids; /* numbers */
    struct config_strings packages;
    struct config_strings apps;
    const char *container;
};

/* The budget of a provider per second. */
struct app_budget {
    int64_t events; /* 0: no limit */
    uint64_t bytes; /* 0: no limit */
    uint64_t burst_ns;
};

struct app_stacks {
    struct config_strings events;
    const char *level;
    struct app_keywords keywords;
};

/* An entry of `providers`. */
struct app_provider {
    struct provider_spec spec; /* the values of both forms */
    bool optional;             /* the machine may not have it */
    bool take_over;
    bool group;
    bool only_keywords;
    bool exclude_private;
    bool containers;
    struct config_strings disallow;
    struct app_stacks stack_for;
    struct app_capture capture_state;
    struct app_processes processes;
    struct config_list payload; /* struct provider_payload, each with conditions on an event */
    const char *wpp;            /* definitions of WPP messages, NULL: none */
    struct config_strings flags;
    struct config_list filters; /* struct app_rule */
    struct app_budget budget;

    /* As the file has it: the shorthand alone, or the other members. */
    struct {
        const char *compact;
        const char *name;
        const char *level;
        struct app_keywords keywords;
        struct app_events events;
        struct config_strings extended;
    } text;
};

struct app_session {
    const char *name; /* unique among sessions */
    const char *type;
    bool enabled;
    struct config_list providers;      /* struct app_provider */
    struct config_list filters;        /* struct app_rule */
    struct app_budget provider_budget; /* live: of each provider without one of its own */
    bool process_context;              /* events have the fields of their process */
    uint64_t block_for_ns; /* live: how long to wait for room before events are dropped */
    const struct input_ops *ops;
    void *settings; /* for ops->create */
    const struct config_variant *variant;
};

enum app_format { APP_FORMAT_NATIVE, APP_FORMAT_ECS, APP_FORMAT_OTEL };
enum app_uint64 { APP_UINT64_DEFAULT, APP_UINT64_NUMBER, APP_UINT64_STRING };

/* A batch is sealed when it reaches one of these. */
struct app_batch {
    int64_t events;
    uint64_t bytes;
    uint64_t age_ns;
};

struct app_retry {
    uint64_t min_ns;     /* first pause */
    uint64_t max_ns;     /* longest pause */
    uint64_t max_age_ns; /* CONFIG_NEVER: no limit */
};

struct app_output {
    const char *name; /* unique among outputs */
    const char *type;
    bool enabled;
    struct config_strings sessions; /* names; none: every session */
    struct config_list filters;     /* struct app_rule */
    int format;                     /* enum app_format */
    int uint64;                     /* enum app_uint64 */
    struct app_batch batch;
    int64_t workers;
    struct app_retry retry;
    const struct output_ops *ops;
    void *settings; /* for ops->create */
    const struct config_variant *variant;
};

struct app_root;

struct app_config {
    struct config *memory;
    const struct app_root *root;       /* what was bound (app_fields.h), for places in the file */
    const struct config_field *fields; /* of root */
    struct app_agent agent;
    struct app_status status;
    struct app_spool spool;
    enum app_spool_reason spool_reason;
    struct config_list filters; /* struct app_rule, of every session */
    const struct app_schema *schemas;
    size_t schema_count;
    const struct app_session *sessions;
    size_t session_count;
    const struct app_output *outputs;
    size_t output_count;
};

/* How to read the configuration in addition to its file. Zero is valid. */
struct app_config_options {
    const char *const *settings; /* "KEY=VALUE" of --set, in order */
    size_t setting_count;
    const char *const *policies; /* the same, on top of them (app_policy.h) */
    size_t policy_count;
    bool no_include; /* `include` is checked, but no file is opened */
};

/*
 * Load the file ${path}. True without errors: the caller frees ${ret_config} with app_config_fini.
 * Else all errors are in ${report}, and ${ret_config} is unchanged. ${options} may be NULL.
 */
bool app_config_load(const char *path, const struct app_registry *registry,
    const struct app_config_options *options, struct app_config *ret_config,
    struct config_report *report);

/* As app_config_load, for a text called ${name} in messages. */
bool app_config_parse(struct span text, const char *name, const struct app_registry *registry,
    const struct app_config_options *options, struct app_config *ret_config,
    struct config_report *report);

void app_config_fini(struct app_config *config);

/*
 * Read the file ${path} despite errors in it: bound by ${fields}, those of app_fields_create, in
 * ${memory}. Do not run it. NULL if the file is missing or is not YAML.
 */
const struct app_root *app_config_bind(struct config *memory, const char *path,
    const struct config_field *fields, const struct app_config_options *options,
    struct config_report *report);

/* The files and folders of `schema` and `wpp` that hold definitions, each once, in order of their
 * precedence. The caller frees the list; the configuration owns the texts. NULL: out of memory. */
const char **app_config_schema_paths(const struct app_config *config, size_t *ret_count);

/* The paths and patterns of the files that ${session} reads, as its `paths` has them.
 * NULL: it reads none. */
const struct config_strings *app_config_paths(const struct app_session *session);

/* Does ${output} take the events of ${session}? */
bool app_config_takes(const struct app_output *output, const struct app_session *session);

/* Name of the shape of an output's events, as formats.def has it. */
const char *app_config_format(const struct app_output *output);

/* Do events wait on the disk? Not if the spool is in memory. Nor if all sessions can be read again,
 * no output may hold events of one route, and `spool.recorded` allows it: then they wait in the
 * traces. */
bool app_config_copies(const struct app_config *config);

/* The folder in which the agent keeps its state: agent.data_dir, or the system's folder if a spool
 * keeps events (spool.mode: durable) and no folder is given. NULL: there is none. */
const char *app_config_data_dir(const struct app_config *config);

/* Is any session enabled? */
bool app_config_has_session(const struct app_config *config);

/* Do both outputs take identical bytes: of the same sessions, by the same rules, in one shape? */
bool app_config_same_stream(
    const struct app_config *config, const struct app_output *a, const struct app_output *b);

/* Maximum size in bytes of a batch of ${output}: its setting, but at most an eighth of a spool on a
 * disk, which must have room for several. */
uint64_t app_config_batch_bytes(const struct app_config *config, const struct app_output *output);

/* How much memory each worker of ${output} takes for the output's own library:
 * output_ops.memory. */
uint64_t app_config_own_bytes(const struct app_config *config, const struct app_output *output);

/* The file, or template of files, that an output writes; NULL: none. */
const char *app_config_target(const struct app_output *output);

/* The member of its settings that has that path, for places in the file. */
const void *app_config_target_member(const struct app_output *output);

/*
 * Add to ${report}, at its place, everything that is enabled and valid but cannot run: modules,
 * formats and modes that are not in this build, sessions that need another system, a spool without
 * a folder. True if there is nothing.
 */
bool app_config_can_run(const struct app_config *config, struct config_report *report);

/* Likewise what a service does not run: a launched program would run as its account, usually
 * LocalSystem, and no user would see it. */
bool app_config_can_serve(const struct app_config *config, struct config_report *report);

#endif
