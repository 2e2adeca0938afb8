#ifndef ETWSHIP_SERVICE_SERVICE_PLAN_H
#define ETWSHIP_SERVICE_SERVICE_PLAN_H

#include "base/buf.h"
#include "base/error.h"

/* What `etwship service install` registers: data, without a call. */

#define SERVICE_NAME "etwship"

/* Beside the program: a DLL with the texts of events, and no code. */
#define SERVICE_MESSAGES_FILE "etwship-messages.dll"

enum service_account {
    SERVICE_ACCOUNT_SYSTEM,  /* LocalSystem */
    SERVICE_ACCOUNT_VIRTUAL, /* NT SERVICE\etwship, a member of Performance Log Users */
};

/* The names that --account gives them, in this order; ends with NULL. */
extern const char *const service_plan_accounts[];

/* What is set after a service was created. */
enum service_setting {
    SERVICE_SETTING_DESCRIPTION,
    SERVICE_SETTING_DELAYED_START,
    SERVICE_SETTING_RECOVERY,
    SERVICE_SETTING_RECOVERY_FLAG, /* recovery acts when it ends with a failure, too, not only when
                                    * its process is gone */
    SERVICE_SETTING_SID,           /* its own SID is in its token: folders can be its own */
    SERVICE_SETTING_PRIVILEGES,
    SERVICE_SETTING_PRESHUTDOWN,
    SERVICE_SETTING_COUNT
};

/* When Windows starts it. */
enum service_start {
    SERVICE_START_DELAYED, /* with the system, after what the system itself waits for */
    SERVICE_START_AUTO,    /* with the system */
    SERVICE_START_DEMAND,
    SERVICE_START_DISABLED,
};

/* What they are called in messages. */
extern const char *const service_plan_settings[SERVICE_SETTING_COUNT];

struct service_plan {
    const char *name;
    const char *title;
    const char *description;
    const char *account;           /* NULL: LocalSystem */
    const char *const *privileges; /* names; ends with NULL */
    const uint32_t *restart_ms;    /* how long recovery waits, failure by failure; then the last */
    size_t restart_count;
    uint32_t reset_s; /* without a failure for so long, it begins again */
    uint32_t preshutdown_ms;
    enum service_start start;
    const char *program;
    struct buf command; /* the ImagePath, with a terminator */
};

/* As whom a service runs, as ChangeServiceConfigW takes it. */
struct service_logon {
    const char *account;
    const char *password; /* NULL: none may be given */
};

/*
 * Fill ${plan}; ${program} and ${config} are absolute paths; the first is borrowed. Fails (ERR_CONFIG)
 * on paths that a command line cannot hold. service_plan_fini frees it.
 */
bool service_plan_init(struct service_plan *plan, const char *program, const char *config,
    enum service_account account, struct error *err);
void service_plan_fini(struct service_plan *plan);

/*
 * The same for a service as it was registered before: with ${command}, which runs ${program}, for
 * ${account} as Windows names it. All three are borrowed.
 */
bool service_plan_init_as(struct service_plan *plan, const char *program, const char *command,
    const char *account, enum service_start start, struct error *err);

/* Is ${account}, as Windows names it, LocalSystem? The service's own, virtual one? */
bool service_plan_is_system(const char *account);
bool service_plan_is_virtual(const char *account);

/* As whom ${plan} runs. No password is known here but the empty one of built-in accounts. */
struct service_logon service_plan_logon(const struct service_plan *plan);

/* The path of the program in the command of any service, into ${path}. False if it is not in quotes. */
bool service_plan_program(const char *command, char *path, size_t size);

/* The path of the configuration in the command of a plan, into ${path}. False: it is none of ours. */
bool service_plan_config(const char *command, char *path, size_t size);

/* What the SCM is told of an end. */
struct service_end {
    uint32_t exit_code;
    uint32_t specific_code;
};

/*
 * ${exit_code} of etwship. Recovery restarts what ends with an error: so that is what failed (1, 2), not
 * what was asked to stop, nor what came to its end with losses (3), which a restart does not undo.
 */
struct service_end service_plan_end(int exit_code, bool was_asked);

#endif
