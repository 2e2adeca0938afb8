#ifndef ETWSHIP_SERVICE_SERVICE_API_H
#define ETWSHIP_SERVICE_SERVICE_API_H

#include "base/error.h"
#include "service/service_plan.h"

/*
 * The calls of Windows' service control manager (SCM), Event Log and local groups as one table: all
 * NULL on a system without services. Tests replace it. Functions return Win32 error codes, 0 for
 * success, unless stated otherwise; texts are UTF-8. (learn.microsoft.com, "Service Functions",
 * "Event Logging Functions")
 */

/* SERVICE_STATUS.dwCurrentState. */
enum service_state {
    SERVICE_STATE_STOPPED = 1,
    SERVICE_STATE_START_PENDING = 2,
    SERVICE_STATE_STOP_PENDING = 3,
    SERVICE_STATE_RUNNING = 4,
};

/* SERVICE_STATUS.dwControlsAccepted. */
enum service_accept {
    SERVICE_ACCEPTS_STOP = 0x1,
    SERVICE_ACCEPTS_PARAMCHANGE = 0x8,
    SERVICE_ACCEPTS_PRESHUTDOWN = 0x100,
};

/* Codes of a control handler. */
enum service_control_code {
    SERVICE_ASKS_STOP = 1,
    SERVICE_ASKS_INTERROGATE = 4,
    SERVICE_ASKS_PARAMCHANGE = 6,
    SERVICE_ASKS_PRESHUTDOWN = 15,
};

/* Rights to a service. */
enum service_access {
    SERVICE_MAY_QUERY_CONFIG = 0x1,
    SERVICE_MAY_CHANGE_CONFIG = 0x2,
    SERVICE_MAY_QUERY_STATUS = 0x4,
    SERVICE_MAY_START = 0x10,
    SERVICE_MAY_STOP = 0x20,
    SERVICE_MAY_RELOAD = 0x40, /* SERVICE_PAUSE_CONTINUE, which PARAMCHANGE takes */
    SERVICE_MAY_DELETE = 0x10000,
};

/* winerror.h */
enum service_code {
    SERVICE_OK = 0,
    SERVICE_E_FILE_NOT_FOUND = 2,
    SERVICE_E_ACCESS_DENIED = 5,
    SERVICE_E_NOT_ENOUGH_MEMORY = 8,
    SERVICE_E_NOT_SUPPORTED = 50,
    SERVICE_E_CALL_NOT_IMPLEMENTED = 120,
    SERVICE_E_INVALID_LEVEL = 124,
    SERVICE_E_WAIT_TIMEOUT = 258,
    SERVICE_E_REQUEST_TIMEOUT = 1053,
    SERVICE_E_ALREADY_RUNNING = 1056,
    SERVICE_E_INVALID_ACCOUNT = 1057,
    SERVICE_E_DISABLED = 1058,
    SERVICE_E_DOES_NOT_EXIST = 1060,
    SERVICE_E_CANNOT_ACCEPT_CTRL = 1061,
    SERVICE_E_NOT_ACTIVE = 1062,
    SERVICE_E_CONTROLLER_CONNECT = 1063,
    SERVICE_E_SPECIFIC_ERROR = 1066,
    SERVICE_E_PROCESS_ABORTED = 1067,
    SERVICE_E_LOGON_FAILED = 1069,
    SERVICE_E_MARKED_FOR_DELETE = 1072,
    SERVICE_E_EXISTS = 1073,
    SERVICE_E_NEVER_STARTED = 1077,
    SERVICE_E_INCOMPATIBLE_PRIVILEGE = 1297,
};

struct service_status {
    uint32_t state;
    uint32_t accepts;
    uint32_t exit_code;     /* Win32; SERVICE_E_SPECIFIC_ERROR: see specific_code */
    uint32_t specific_code; /* etwship's exit code */
    uint32_t checkpoint;
    uint32_t wait_hint_ms;
    uint32_t process_id; /* of a query only; 0: none */
};

/* The registration of a service. The caller owns the texts and frees them with free(). */
struct service_config {
    bool is_automatic;
    bool is_delayed;
    bool is_disabled;
    char *command;
    char *account;
};

/* One event for the Event Log. */
enum service_message {
#define SERVICE_MESSAGE(name, severity) SERVICE_MESSAGE_##name,
#include "service/service_messages.def"
#undef SERVICE_MESSAGE
    SERVICE_MESSAGE_COUNT
};

/* The process of a service: ${run} on a thread of the SCM, until the service ends; ${control} on
 * another one, which it must not block. */
struct service_entry {
    const char *name;
    void (*run)(void *self);
    uint32_t (*control)(void *self, uint32_t code);
    void *self;
};

struct service_api {
    /* Handles of the SCM, of services and of processes. */
    uint32_t (*connect)(bool creates, void **ret_manager);
    uint32_t (*create)(void *manager, const struct service_plan *plan,
        const struct service_logon *logon, void **ret_service);
    uint32_t (*open)(void *manager, const char *name, uint32_t access, void **ret_service);
    uint32_t (*configure)(
        void *service, enum service_setting setting, const struct service_plan *plan);
    /* Change the registration to ${plan}, running as ${logon}; NULL: as before. */
    uint32_t (*change)(
        void *service, const struct service_plan *plan, const struct service_logon *logon);
    uint32_t (*start)(void *service);
    uint32_t (*stop)(void *service);
    uint32_t (*reload)(void *service); /* SERVICE_CONTROL_PARAMCHANGE: accepted, not done yet */
    uint32_t (*remove)(void *service);
    uint32_t (*query)(void *service, struct service_status *ret_status);
    uint32_t (*query_config)(void *service, struct service_config *ret_config);
    /* Wait until the state may differ from ${state}. */
    uint32_t (*await)(void *service, uint32_t state, uint32_t timeout_ms);
    void (*close)(void *handle);
    uint32_t (*open_process)(uint32_t id, void **ret_process);
    /* SERVICE_E_WAIT_TIMEOUT: it still runs. */
    uint32_t (*await_process)(void *process, uint32_t timeout_ms);
    void (*close_process)(void *process);
    uint64_t (*now_ns)(void); /* monotonic */

    /* The source of events, with ${messages} for its texts: a program or a DLL. */
    uint32_t (*add_source)(const char *name, const char *messages);
    uint32_t (*remove_source)(const char *name);
    /* ${account}, a member of Performance Log Users or none. */
    uint32_t (*set_log_user)(const char *account, bool member);

    /* The note that installations leave for each other, writable by administrators only; NULL:
     * delete it. SERVICE_E_FILE_NOT_FOUND: there is none. The caller frees it. */
    uint32_t (*set_note)(const char *text);
    uint32_t (*get_note)(char **ret_text);

    /* In the process of a service. */
    /* Serve until the service has ended. SERVICE_E_CONTROLLER_CONNECT: the SCM did not start us. */
    uint32_t (*dispatch)(const struct service_entry *entry);
    uint32_t (*report)(const struct service_status *status);
    uint32_t (*open_log)(const char *source, void **ret_log);
    uint32_t (*write_log)(void *log, enum service_message message, const char *text);
    void (*close_log)(void *log);

    /* The program's own path, and a path made absolute; the caller frees them. NULL: no memory. */
    char *(*program)(void);
    char *(*absolute)(const char *path);
};

/* Implemented in windows/ and linux/. */
void service_load(struct service_api *api);

/* The table of this process. Static, never NULL. Not before main; the first call on one thread. */
const struct service_api *service_api_get(void);

/* Use ${api}, which outlives its use; NULL: the system's again. Call before anything else runs. */
void service_api_use(const struct service_api *api);

/* True if this system has services. */
bool service_api_has_services(void);

/* ERR_IO with os_code ${code}: the attempt, the reason and a remedy. Always false. */
bool service_api_fail(struct error *err, uint32_t code, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

#endif
