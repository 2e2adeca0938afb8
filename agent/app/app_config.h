#ifndef ETWSHIP_APP_APP_CONFIG_H
#define ETWSHIP_APP_APP_CONFIG_H

#include "config/config.h"
#include "config/config_report.h"
#include "input/input.h"
#include "outputs/output.h"

/*
 * The configuration of the agent: its own keys, and the sessions and outputs of whatever modules
 * the build has. Everything is owned by the app_config and read-only.
 */

/* The modules whose `type` a session or an output may have. */
struct app_registry {
    const struct input_ops *const *inputs;
    size_t input_count;
    const struct output_ops *const *outputs;
    size_t output_count;
};

struct app_agent {
    const char *data_dir; /* NULL: the system's place for it */
    struct config_map labels;
    struct config_strings tags;
};

enum app_schema_type { APP_SCHEMA_FOLDER };

struct app_schema {
    int type; /* enum app_schema_type */
    const char *path;
};

struct app_session {
    const char *name; /* unique among sessions */
    const char *type;
    bool enabled;
    const struct input_ops *ops;
    void *settings; /* for ops->create */
    const struct config_variant *variant;
};

enum app_format { APP_FORMAT_NATIVE };

struct app_output {
    const char *name; /* unique among outputs */
    const char *type;
    bool enabled;
    struct config_strings sessions; /* names; none: every session */
    int format;                     /* enum app_format */
    const struct output_ops *ops;
    void *settings; /* for ops->create */
    const struct config_variant *variant;
};

struct app_config {
    struct config *memory;
    struct app_agent agent;
    const struct app_schema *schemas;
    size_t schema_count;
    const struct app_session *sessions;
    size_t session_count;
    const struct app_output *outputs;
    size_t output_count;
};

/*
 * Load the file ${path}. True if nothing is wrong: the caller frees ${ret_config} with
 * app_config_fini. Else everything that is wrong is in ${report}, and ${ret_config} is untouched.
 */
bool app_config_load(const char *path, const struct app_registry *registry,
    struct app_config *ret_config, struct config_report *report);

/* The same for a text, called ${name} in messages. */
bool app_config_parse(struct span text, const char *name, const struct app_registry *registry,
    struct app_config *ret_config, struct config_report *report);

void app_config_fini(struct app_config *config);

/* Does ${output} take the events of ${session}? */
bool app_config_takes(const struct app_output *output, const struct app_session *session);

#endif
