#include "service/service_control.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"

/*
 * Waits for the SCM's notification that a state has changed. It may be late or missing, so the
 * state is also polled.
 */
enum { LOOK_MS = 2000, LEAST_TIMEOUT_MS = 30000, PROCESS_TIMEOUT_MS = 60000 };

enum { MAX_PATH_BYTES = 4096 };

/* A service, open. */
struct opened {
    void *manager;
    void *service;
};

static void close_all(const struct opened *opened)
{
    const struct service_api *api = service_api_get();
    if (opened->service) {
        api->close(opened->service);
    }
    if (opened->manager) {
        api->close(opened->manager);
    }
}

static bool connect_manager(bool creates, struct opened *ret_opened, struct error *err)
{
    *ret_opened = (struct opened){.manager = NULL};
    uint32_t code = service_api_get()->connect(creates, &ret_opened->manager);
    return code == SERVICE_OK || service_api_fail(err, code, "services");
}

static bool open_service(
    uint32_t access, const char *doing, struct opened *ret_opened, struct error *err)
{
    if (!connect_manager(false, ret_opened, err)) {
        return false;
    }
    uint32_t code = service_api_get()->open(
        ret_opened->manager, SERVICE_NAME, access, &ret_opened->service);
    if (code == SERVICE_OK) {
        return true;
    }
    close_all(ret_opened);
    service_api_fail(err, code, "service %s: %s", SERVICE_NAME, doing);
    if (err && code == SERVICE_E_DOES_NOT_EXIST) {
        err->code = ERR_MISSING;
    }
    return false;
}

/* ---- install --------------------------------------------------------------------------------- */

static bool is_unknown(uint32_t code)
{
    return code == SERVICE_E_INVALID_LEVEL || code == SERVICE_E_NOT_SUPPORTED ||
           code == SERVICE_E_CALL_NOT_IMPLEMENTED;
}

static bool configure(void *service, const struct service_plan *plan,
    service_settings_mask *ret_left_out, struct error *err)
{
    service_settings_mask left_out = 0;
    for (int i = 0; i < SERVICE_SETTING_COUNT; i++) {
        uint32_t code = service_api_get()->configure(service, (enum service_setting)i, plan);
        if (is_unknown(code)) {
            left_out |= 1U << i;
        } else if (code != SERVICE_OK) {
            return service_api_fail(
                err, code, "service %s: its %s", plan->name, service_plan_settings[i]);
        }
    }
    *ret_left_out = left_out;
    return true;
}

static bool add_rights(const struct service_plan *plan, struct error *err)
{
    const struct service_api *api = service_api_get();
    /* Only for accounts of etwship: memberships of others must not change. */
    bool is_ours = plan->account && service_plan_is_virtual(plan->account);
    uint32_t code = is_ours ? api->set_log_user(plan->account, true) : SERVICE_OK;
    return code == SERVICE_OK ||
           service_api_fail(
               err, code, "%s cannot become a member of Performance Log Users", plan->account);
}

/* The file with the texts of events: the DLL beside the program. Programs that show events keep
 * that file open, but an upgrade must replace the program. The program has the texts too, for
 * copies without the DLL. */
static const char *find_messages(const char *program, char *path, size_t size)
{
    const char *name = program;
    for (const char *c = program; *c; c++) {
        name = *c == '\\' || *c == '/' ? c + 1 : name;
    }
    int length = snprintf(path, size, "%.*s" SERVICE_MESSAGES_FILE, (int)(name - program), program);
    bool fits = length > 0 && (size_t)length < size;
    return fits && plat_path_kind(path) == PLAT_PATH_FILE ? path : program;
}

static bool add_source(const struct service_plan *plan, struct error *err)
{
    char path[MAX_PATH_BYTES];
    uint32_t code = service_api_get()->add_source(
        plan->name, find_messages(plan->program, path, sizeof(path)));
    return code == SERVICE_OK ||
           service_api_fail(err, code, "the source %s of the Event Log", plan->name);
}

/* Undo all of an installation. Continues after failures and returns the first one. */
static uint32_t remove_all(void *service, const char *account)
{
    const struct service_api *api = service_api_get();
    /* The name of a virtual account is valid only while the service exists. */
    uint32_t member = account ? api->set_log_user(account, false) : SERVICE_OK;
    uint32_t removed = api->remove(service);
    uint32_t source = api->remove_source(SERVICE_NAME);
    return removed ? removed : member ? member : source;
}

bool service_control_install(
    const struct service_plan *plan, service_settings_mask *ret_left_out, struct error *err)
{
    struct opened opened;
    if (!connect_manager(true, &opened, err)) {
        return false;
    }
    struct service_logon logon = service_plan_logon(plan);
    uint32_t code = service_api_get()->create(opened.manager, plan, &logon, &opened.service);
    bool ok = code == SERVICE_OK;
    if (!ok) {
        service_api_fail(err, code, "service %s: install", plan->name);
        if (err && code == SERVICE_E_EXISTS) {
            err->code = ERR_CONFIG;
        }
    } else {
        ok = configure(opened.service, plan, ret_left_out, err) && add_rights(plan, err) &&
             add_source(plan, err);
        if (!ok) {
            remove_all(opened.service, plan->account);
        }
    }
    close_all(&opened);
    return ok;
}

/* True if it already runs as the account of ${plan}: then no password is needed. */
static bool has_account(const struct service_config *config, const struct service_plan *plan)
{
    return plan->account ? span_equal_nocase(span_text(config->account), span_text(plan->account))
                         : service_plan_is_system(config->account);
}

static bool change_account_and_all(
    void *service, const struct service_plan *plan, struct error *err)
{
    const struct service_api *api = service_api_get();
    struct service_config config;
    uint32_t code = api->query_config(service, &config);
    if (code != SERVICE_OK) {
        return service_api_fail(err, code, "service %s: its settings", SERVICE_NAME);
    }
    struct service_logon logon = service_plan_logon(plan);
    bool stays = has_account(&config, plan);
    code = api->change(service, plan, stays ? NULL : &logon);
    bool ok = code == SERVICE_OK || service_api_fail(err, code, "service %s: change", SERVICE_NAME);
    if (ok && !stays && service_plan_is_virtual(config.account)) {
        api->set_log_user(config.account, false);
    }
    service_control_config_fini(&config);
    return ok;
}

bool service_control_change(
    const struct service_plan *plan, service_settings_mask *ret_left_out, struct error *err)
{
    struct opened opened;
    if (!open_service(SERVICE_MAY_QUERY_CONFIG | SERVICE_MAY_CHANGE_CONFIG | SERVICE_MAY_START,
            "change", &opened, err)) {
        return false;
    }
    bool ok = change_account_and_all(opened.service, plan, err) &&
              configure(opened.service, plan, ret_left_out, err) && add_rights(plan, err) &&
              add_source(plan, err);
    close_all(&opened);
    return ok;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool query(void *service, struct service_status *ret_status, struct error *err)
{
    uint32_t code = service_api_get()->query(service, ret_status);
    return code == SERVICE_OK || service_api_fail(err, code, "service %s: status", SERVICE_NAME);
}

static uint32_t smaller(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

/* Wait while it is in ${pending}. Its checkpoint changes while it makes progress, and its wait hint
 * is the maximum time between changes ("Service State Transitions" on learn.microsoft.com). */
static bool wait_while(
    void *service, uint32_t pending, struct service_status *status, struct error *err)
{
    uint64_t since_ns = service_api_get()->now_ns();
    uint32_t checkpoint = status->checkpoint;
    while (status->state == pending) {
        uint64_t waited_ms = (service_api_get()->now_ns() - since_ns) / 1000000;
        uint32_t timeout_ms = status->wait_hint_ms > LEAST_TIMEOUT_MS ? status->wait_hint_ms
                                                                      : LEAST_TIMEOUT_MS;
        if (waited_ms >= timeout_ms) {
            return error_set(err, ERR_IO,
                "service %s: it makes no progress while it %s, for %llu s. see its log",
                SERVICE_NAME, pending == SERVICE_STATE_START_PENDING ? "starts" : "stops",
                (unsigned long long)(waited_ms / 1000));
        }
        uint32_t code = service_api_get()->await(
            service, pending, smaller(timeout_ms - waited_ms, LOOK_MS));
        if (code != SERVICE_OK && code != SERVICE_E_WAIT_TIMEOUT) {
            return service_api_fail(err, code, "service %s: waiting for it", SERVICE_NAME);
        }
        if (!query(service, status, err)) {
            return false;
        }
        if (status->checkpoint != checkpoint) {
            checkpoint = status->checkpoint;
            since_ns = service_api_get()->now_ns();
        }
    }
    return true;
}

/* A stopped service's process may still run for a moment, with its files and its data folder
 * open. */
static bool wait_for_process(void *process, struct error *err)
{
    uint32_t code = service_api_get()->await_process(process, PROCESS_TIMEOUT_MS);
    return code == SERVICE_OK ||
           service_api_fail(
               err, code, "service %s: it has stopped, but its process does not end", SERVICE_NAME);
}

static bool ask_to_stop(void *service, struct service_status *status, struct error *err)
{
    /* It accepts controls only when it runs. */
    if (!wait_while(service, SERVICE_STATE_START_PENDING, status, err)) {
        return false;
    }
    if (status->state != SERVICE_STATE_STOPPED && status->state != SERVICE_STATE_STOP_PENDING) {
        uint32_t code = service_api_get()->stop(service);
        if (code != SERVICE_OK && code != SERVICE_E_NOT_ACTIVE &&
            code != SERVICE_E_CANNOT_ACCEPT_CTRL) { /* it is already ending by itself */
            return service_api_fail(err, code, "service %s: stop", SERVICE_NAME);
        }
    }
    return query(service, status, err);
}

static bool stop_service(void *service, bool *ret_before, struct error *err)
{
    const struct service_api *api = service_api_get();
    struct service_status status;
    void *process = NULL;
    if (!query(service, &status, err)) {
        return false;
    }
    *ret_before = status.state == SERVICE_STATE_STOPPED;
    if (*ret_before) {
        return true;
    }
    /* Open it before it ends: its number may be reused then. */
    if (!status.process_id || api->open_process(status.process_id, &process) != SERVICE_OK) {
        process = NULL;
    }
    bool ok = ask_to_stop(service, &status, err);
    while (ok && status.state != SERVICE_STATE_STOPPED) {
        ok = wait_while(service, status.state, &status, err);
    }
    ok = ok && (!process || wait_for_process(process, err));
    if (process) {
        api->close_process(process);
    }
    return ok;
}

/* ---- the rest -------------------------------------------------------------------------------- */

bool service_control_uninstall(struct error *err)
{
    struct opened opened;
    struct service_config config;
    bool before;
    if (!open_service(SERVICE_MAY_QUERY_CONFIG | SERVICE_MAY_QUERY_STATUS | SERVICE_MAY_STOP |
                          SERVICE_MAY_DELETE,
            "uninstall", &opened, err)) {
        return false;
    }
    uint32_t code = service_api_get()->query_config(opened.service, &config);
    bool ok = code == SERVICE_OK ||
              service_api_fail(err, code, "service %s: uninstall", SERVICE_NAME);
    if (ok) {
        bool is_virtual = config.account && service_plan_is_virtual(config.account);
        ok = stop_service(opened.service, &before, err);
        code = ok ? remove_all(opened.service, is_virtual ? config.account : NULL) : SERVICE_OK;
        ok = ok && (code == SERVICE_OK ||
                       service_api_fail(err, code, "service %s: uninstall", SERVICE_NAME));
        service_control_config_fini(&config);
    }
    close_all(&opened);
    return ok;
}

bool service_control_start(struct service_status *ret_status, bool *ret_before, struct error *err)
{
    struct opened opened;
    struct service_status status;
    if (!open_service(SERVICE_MAY_QUERY_STATUS | SERVICE_MAY_START, "start", &opened, err)) {
        return false;
    }
    uint32_t code = service_api_get()->start(opened.service);
    bool before = code == SERVICE_E_ALREADY_RUNNING;
    bool ok = code == SERVICE_OK || before ||
              service_api_fail(err, code, "service %s: start", SERVICE_NAME);
    ok = ok && query(opened.service, &status, err) &&
         wait_while(opened.service, SERVICE_STATE_START_PENDING, &status, err);
    close_all(&opened);
    if (ok) {
        *ret_status = status;
        *ret_before = before;
    }
    return ok;
}

bool service_control_stop(bool *ret_before, struct error *err)
{
    struct opened opened;
    if (!open_service(SERVICE_MAY_QUERY_STATUS | SERVICE_MAY_STOP, "stop", &opened, err)) {
        return false;
    }
    bool ok = stop_service(opened.service, ret_before, err);
    close_all(&opened);
    return ok;
}

bool service_control_reload(struct error *err)
{
    struct opened opened;
    struct service_status status;
    if (!open_service(SERVICE_MAY_QUERY_STATUS | SERVICE_MAY_RELOAD, "reload", &opened, err)) {
        return false;
    }
    bool ok = query(opened.service, &status, err) &&
              wait_while(opened.service, SERVICE_STATE_START_PENDING, &status, err);
    if (ok && status.state != SERVICE_STATE_RUNNING) {
        ok = error_set(err, ERR_STOPPED,
            "service %s: it is not running. it reads its configuration when it starts",
            SERVICE_NAME);
    }
    uint32_t code = ok ? service_api_get()->reload(opened.service) : SERVICE_OK;
    close_all(&opened);
    return ok &&
           (code == SERVICE_OK || service_api_fail(err, code, "service %s: reload", SERVICE_NAME));
}

bool service_control_query(
    struct service_status *ret_status, struct service_config *ret_config, struct error *err)
{
    struct opened opened;
    if (!open_service(
            SERVICE_MAY_QUERY_CONFIG | SERVICE_MAY_QUERY_STATUS, "status", &opened, err)) {
        return false;
    }
    struct service_status status;
    struct service_config config;
    bool ok = query(opened.service, &status, err);
    uint32_t code = ok ? service_api_get()->query_config(opened.service, &config) : SERVICE_OK;
    ok = ok && (code == SERVICE_OK ||
                   service_api_fail(err, code, "service %s: its settings", SERVICE_NAME));
    close_all(&opened);
    if (ok) {
        *ret_status = status;
        *ret_config = config;
    }
    return ok;
}

void service_control_config_fini(struct service_config *config)
{
    free(config->command);
    free(config->account);
    *config = (struct service_config){.command = NULL};
}
