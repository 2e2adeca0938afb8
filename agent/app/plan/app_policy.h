#ifndef ETWSHIP_APP_APP_POLICY_H
#define ETWSHIP_APP_APP_POLICY_H

#include "app/config/app_config.h"

/*
 * The policy of the machine: values below HKEY_LOCAL_MACHINE\SOFTWARE\Policies\etwship, which only
 * administrators and Group Policy write (packaging/windows/policy has the templates). They override
 * the command line, which overrides the configuration file.
 */
enum app_policy_value {
    APP_POLICY_CONFIG_FILE,     /* the configuration of the service */
    APP_POLICY_SERVICE_ACCOUNT, /* the account that it is installed with */
    /* the output that the next two are of; else the only one with an address */
    APP_POLICY_OUTPUT_NAME,
    APP_POLICY_OUTPUT_URL,
    APP_POLICY_OUTPUT_CA,
    APP_POLICY_COUNT
};

/* Their names in the registry. */
extern const char *const app_policy_names[APP_POLICY_COUNT];

/* Their key below HKEY_LOCAL_MACHINE. */
#define APP_POLICY_KEY "SOFTWARE\\Policies\\etwship"

enum { APP_POLICY_TEXT_BYTES = 1024, APP_POLICY_MAX_SETTINGS = 2 };

struct app_policy {
    char texts[APP_POLICY_COUNT][APP_POLICY_TEXT_BYTES]; /* "": nothing is demanded */
};

/*
 * Read it. A system without a registry, and a machine without such a policy, have an empty one.
 * ERR_CONFIG, naming the value: it is no text, too long, or no value that it may have. ERR_IO: it
 * cannot be read, so what it demands is not known.
 */
bool app_policy_read(struct app_policy *ret_policy, struct error *err);

/* Does it demand anything? */
bool app_policy_is_empty(const struct app_policy *policy);

/* Settings in the form of --set, which override all others. */
struct app_policy_settings {
    const char *texts[APP_POLICY_MAX_SETTINGS];
    size_t count;
    struct buf memory;
};

/*
 * The settings that ${policy} adds to ${config}, which was read without it. Without an output with
 * an address there are none. ERR_CONFIG: several have one, or none has the name that the policy
 * gives. The caller calls app_policy_settings_fini.
 */
bool app_policy_settings_init(struct app_policy_settings *settings, const struct app_policy *policy,
    const struct app_config *config, struct error *err);
void app_policy_settings_fini(struct app_policy_settings *settings);

#endif
