#ifndef ETWSHIP_SERVICE_SERVICE_PLAN_H
#define ETWSHIP_SERVICE_SERVICE_PLAN_H

#include "base/buf.h"
#include "base/error.h"

/* The registration by `etwship service install`: data without calls. */

#define SERVICE_NAME "etwship"

/* Beside the program: a DLL with the texts of events, and no code. */
#define SERVICE_MESSAGES_FILE "etwship-messages.dll"

enum service_account {
    SERVICE_ACCOUNT_SYSTEM,  /* LocalSystem */
    SERVICE_ACCOUNT_VIRTUAL, /* NT SERVICE\etwship, a member of Performance Log Users */
};

/* Their names for --account, in this order; ends with NULL. */
extern const char *const service_plan_accounts[];

/* Settings applied after a service was created. */
enum service_setting {
    SERVICE_SETTING_DESCRIPTION,
    SERVICE_SETTING_DELAYED_START,
    SERVICE_SETTING_RECOVERY,
    SERVICE_SETTING_RECOVERY_FLAG, /* recovery also after an end with a failure, not only after a
                                      crash */
    SERVICE_SETTING_SID,           /* its own SID is in its token, for access to its folders */
    SERVICE_SETTING_PRIVILEGES,
    SERVICE_SETTING_PRESHUTDOWN,
    SERVICE_SETTING_COUNT
};

/* When Windows starts it. */
enum service_start {
    SERVICE_START_DELAYED, /* with the system, delayed */
    SERVICE_START_AUTO,    /* with the system */
    SERVICE_START_DEMAND,
    SERVICE_START_DISABLED,
};

/* Their names in messages. */
extern const char *const service_plan_settings[SERVICE_SETTING_COUNT];

struct service_plan {
    const char *name;
    const char *title;
    const char *description;
    const char *account;           /* NULL: LocalSystem */
    const char *const *privileges; /* names; ends with NULL */
    const uint32_t *restart_ms;    /* delays of recovery per failure; the last one repeats */
    size_t restart_count;
    uint32_t reset_s; /* time without a failure that restarts the sequence */
    uint32_t preshutdown_ms;
    enum service_start start;
    const char *program;
    struct buf command; /* the ImagePath, with a terminator */
};

/* The account of a service, for ChangeServiceConfigW. */
struct service_logon {
    const char *account;
    const char *password; /* NULL: must not be given */
};

/*
 * Fill ${plan}; ${program} and ${config} are absolute paths; the first is borrowed. ERR_CONFIG for
 * paths that do not fit a command line. Free it with service_plan_fini.
 */
bool service_plan_init(struct service_plan *plan, const char *program, const char *config,
    enum service_account account, struct error *err);
void service_plan_fini(struct service_plan *plan);

/*
 * Fill ${plan} for an earlier registration: with ${command}, which runs ${program}, for ${account}
 * as named by Windows. All three are borrowed.
 */
bool service_plan_init_as(struct service_plan *plan, const char *program, const char *command,
    const char *account, enum service_start start, struct error *err);

/* True if ${account}, as named by Windows, is LocalSystem; or the service's virtual account. */
bool service_plan_is_system(const char *account);
bool service_plan_is_virtual(const char *account);

/* The account of ${plan}. Only the empty password of built-in accounts is known here. */
struct service_logon service_plan_logon(const struct service_plan *plan);

/* The path of the program in the command of any service, into ${path}.
 * False if it is not in quotes. */
bool service_plan_program(const char *command, char *path, size_t size);

/* The path of the configuration in the command of a plan, into ${path}. False: not a command of
 * etwship. */
bool service_plan_config(const char *command, char *path, size_t size);

/* The status reported to the SCM at the end. */
struct service_end {
    uint32_t exit_code;
    uint32_t specific_code;
};

/*
 * The error for ${exit_code}. Recovery restarts a service that ends with an error: so only failures
 * (1, 2) are errors, not a requested stop, nor an end with losses (3), which a restart cannot undo.
 */
struct service_end service_plan_end(int exit_code, bool was_asked);

#endif
