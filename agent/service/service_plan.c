#include "service/service_plan.h"

#include "service/service_api.h"

const char *const service_plan_accounts[] = {"system", "virtual", NULL};

const char *const service_plan_settings[SERVICE_SETTING_COUNT] = {
    [SERVICE_SETTING_DESCRIPTION] = "description",
    [SERVICE_SETTING_DELAYED_START] = "delayed start",
    [SERVICE_SETTING_RECOVERY] = "recovery actions",
    [SERVICE_SETTING_RECOVERY_FLAG] = "recovery after failures",
    [SERVICE_SETTING_SID] = "service SID",
    [SERVICE_SETTING_PRIVILEGES] = "required privileges",
    [SERVICE_SETTING_PRESHUTDOWN] = "time to stop at shutdown",
};

/* Sessions need the account, not a privilege (starttracew on learn.microsoft.com); CPU sampling
 * needs the second privilege, which only LocalSystem has. A service with a privilege that its
 * account lacks does not start. Without this list it would get all privileges of its account. */
static const char *const system_privileges[] = {
    "SeChangeNotifyPrivilege", "SeSystemProfilePrivilege", NULL};
static const char *const virtual_privileges[] = {"SeChangeNotifyPrivilege", NULL};

static const uint32_t restart_ms[] = {5000, 30000, 300000};

enum { RESET_S = 24 * 3600, PRESHUTDOWN_MS = 180000, MAX_COMMAND_BYTES = 32767 };

static const char config_option[] = "run --service -c";

#define VIRTUAL_ACCOUNT "NT SERVICE\\" SERVICE_NAME

static bool is_text(const char *a, const char *b)
{
    return span_equal_nocase(span_text(a), span_text(b));
}

bool service_plan_is_system(const char *account)
{
    return is_text(account, "LocalSystem") || is_text(account, ".\\LocalSystem") ||
           is_text(account, "NT AUTHORITY\\SYSTEM");
}

bool service_plan_is_virtual(const char *account)
{
    return is_text(account, VIRTUAL_ACCOUNT);
}

/* Accounts without a password, which Windows expects as an empty one. */
static bool is_built_in(const char *account)
{
    return service_plan_is_system(account) || is_text(account, "NT AUTHORITY\\LocalService") ||
           is_text(account, "NT AUTHORITY\\NetworkService") ||
           is_text(account, "NT AUTHORITY\\LOCAL SERVICE") ||
           is_text(account, "NT AUTHORITY\\NETWORK SERVICE");
}

/* changeserviceconfigw on learn.microsoft.com, lpPassword: empty for LocalSystem, LocalService and
 * NetworkService; NULL for managed service accounts and virtual accounts, with passwords that
 * Windows manages; also NULL to keep the password. */
struct service_logon service_plan_logon(const struct service_plan *plan)
{
    const char *account = plan->account ? plan->account : "LocalSystem";
    return (struct service_logon){.account = account, .password = is_built_in(account) ? "" : NULL};
}

static void fill(struct service_plan *plan, const char *program, const char *account)
{
    *plan = (struct service_plan){.name = SERVICE_NAME,
        .title = "etwship",
        .description = "Reads Event Tracing for Windows (ETW) and ships every event as JSON.",
        .account = account,
        .privileges = account ? virtual_privileges : system_privileges,
        .restart_ms = restart_ms,
        .restart_count = sizeof(restart_ms) / sizeof(restart_ms[0]),
        .reset_s = RESET_S,
        .preshutdown_ms = PRESHUTDOWN_MS,
        .program = program};
    buf_init(&plan->command, MAX_COMMAND_BYTES);
}

static bool finish(struct service_plan *plan, const char *what, struct error *err)
{
    buf_add_byte(&plan->command, 0);
    if (plan->command.failed) {
        service_plan_fini(plan);
        return error_set(err, ERR_CONFIG, "%s is too long", what);
    }
    return true;
}

bool service_plan_init(struct service_plan *plan, const char *program, const char *config,
    enum service_account account, struct error *err)
{
    const char *const paths[] = {program, config};
    for (size_t i = 0; i < 2; i++) {
        /* Neither can end in a backslash, which would escape the quote after it: they name
         * files. */
        size_t length = strlen(paths[i]);
        if (length == 0 || strchr(paths[i], '"') || paths[i][length - 1] == '\\') {
            return error_set(err, ERR_CONFIG, "'%s' is not the path of a file", paths[i]);
        }
    }
    fill(plan, program, account == SERVICE_ACCOUNT_SYSTEM ? NULL : VIRTUAL_ACCOUNT);
    buf_printf(&plan->command, "\"%s\" %s \"%s\"", program, config_option, config);
    return finish(plan, "the path of the configuration", err);
}

bool service_plan_init_as(struct service_plan *plan, const char *program, const char *command,
    const char *account, enum service_start start, struct error *err)
{
    fill(plan, program, service_plan_is_system(account) ? NULL : account);
    plan->start = start;
    buf_add_text(&plan->command, command);
    return finish(plan, "the command of the service", err);
}

void service_plan_fini(struct service_plan *plan)
{
    buf_fini(&plan->command);
}

/* The text in quotes at ${begin}. */
static bool take_quoted(const char *begin, char *path, size_t size)
{
    if (*begin != '"') {
        return false;
    }
    begin++;
    size_t length = strcspn(begin, "\"");
    if (length == 0 || length >= size || begin[length] != '"') {
        return false;
    }
    memcpy(path, begin, length);
    path[length] = '\0';
    return true;
}

bool service_plan_program(const char *command, char *path, size_t size)
{
    return take_quoted(command, path, size);
}

bool service_plan_config(const char *command, char *path, size_t size)
{
    const char *option = strstr(command, config_option);
    const char *begin = option ? option + sizeof(config_option) - 1 : NULL;
    return begin && *begin == ' ' && take_quoted(begin + 1, path, size);
}

struct service_end service_plan_end(int exit_code, bool was_asked)
{
    bool failed = exit_code == 1 || exit_code == 2;
    if (was_asked || !failed) {
        return (struct service_end){.exit_code = SERVICE_OK};
    }
    return (struct service_end){
        .exit_code = SERVICE_E_SPECIFIC_ERROR, .specific_code = (uint32_t)exit_code};
}
