#ifndef ETWSHIP_TESTS_SUPPORT_SCM_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_SCM_FAKE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "service/service_api.h"
#include "support/test.h"

/*
 * A service control manager that writes down what it is asked, line by line, and answers from a
 * script: states one after the other, the last for ever, and failures of single calls. Its clock
 * stands still but for waiting.
 */
enum { SCM_FAKE_STATES = 16, SCM_FAKE_FAILURES = 4 };

static struct {
    struct service_api api;
    struct buf log;
    struct service_status states[SCM_FAKE_STATES]; /* by query */
    size_t state_count;
    size_t state_at;
    struct {
        const char *call; /* as it is written down, without what follows */
        uint32_t code;
    } failures[SCM_FAKE_FAILURES];
    size_t failure_count;
    struct service_config config; /* texts are not freed */
    char note[1024];              /* "": none */
    uint64_t clock_ns;
    int open_handles;
} scm;

static uint32_t scm_call(const char *call, const char *what)
{
    buf_printf(&scm.log, "%s%s%s\n", call, *what ? " " : "", what);
    for (size_t i = 0; i < scm.failure_count; i++) {
        if (strcmp(scm.failures[i].call, call) == 0) {
            return scm.failures[i].code;
        }
    }
    return SERVICE_OK;
}

/* A call that gives a handle. */
static uint32_t scm_open(const char *call, const char *what, void **ret_handle)
{
    uint32_t code = scm_call(call, what);
    if (code == SERVICE_OK) {
        scm.open_handles++;
        *ret_handle = &scm;
    }
    return code;
}

static uint32_t scm_connect(bool creates, void **ret_manager)
{
    return scm_open("connect", creates ? "creates" : "", ret_manager);
}

/* Does ${account} have its password from Windows? Virtual and managed accounts; those of machines
 * end like managed ones. */
static bool scm_looks_after_password(const char *account)
{
    struct span text = span_text(account);
    struct span service = span_text("NT SERVICE\\");
    return span_equal_nocase(span_first(text, service.size), service) ||
           (text.size && text.data[text.size - 1] == '$');
}

/* Windows refuses a password for an account that takes none, and none for one that takes an empty
 * one (createservicew and changeserviceconfigw on learn.microsoft.com). */
static bool scm_takes(const struct service_logon *logon)
{
    return !logon->password == scm_looks_after_password(logon->account);
}

static uint32_t scm_create(void *manager, const struct service_plan *plan,
    const struct service_logon *logon, void **ret_service)
{
    (void)manager;
    char what[512];
    snprintf(what, sizeof(what), "%s %s %s", plan->name, logon->account,
        (const char *)plan->command.data);
    return scm_takes(logon) ? scm_open("create", what, ret_service) : SERVICE_E_INVALID_ACCOUNT;
}

static uint32_t scm_change(
    void *service, const struct service_plan *plan, const struct service_logon *logon)
{
    (void)service;
    char what[512];
    snprintf(what, sizeof(what), "%s %d %s", logon ? logon->account : "same", plan->start,
        (const char *)plan->command.data);
    uint32_t code = scm_call("change", what);
    if (code == SERVICE_OK && logon && !scm_takes(logon)) {
        code = SERVICE_E_INVALID_ACCOUNT;
    }
    return code;
}

static uint32_t scm_open_service(
    void *manager, const char *name, uint32_t access, void **ret_service)
{
    (void)manager;
    char what[64];
    snprintf(what, sizeof(what), "%s 0x%x", name, access);
    return scm_open("open", what, ret_service);
}

static uint32_t scm_configure(
    void *service, enum service_setting setting, const struct service_plan *plan)
{
    (void)service;
    (void)plan;
    char call[64];
    snprintf(call, sizeof(call), "configure %s", service_plan_settings[setting]);
    return scm_call(call, "");
}

static uint32_t scm_start(void *service)
{
    (void)service;
    return scm_call("start", "");
}

static uint32_t scm_stop(void *service)
{
    (void)service;
    return scm_call("stop", "");
}

static uint32_t scm_reload(void *service)
{
    (void)service;
    return scm_call("reload", "");
}

static uint32_t scm_remove(void *service)
{
    (void)service;
    return scm_call("remove", "");
}

static uint32_t scm_query(void *service, struct service_status *ret_status)
{
    (void)service;
    assert_true(scm.state_count > 0);
    *ret_status = scm.states[scm.state_at];
    scm.state_at += scm.state_at + 1 < scm.state_count;
    return SERVICE_OK;
}

static char *scm_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, text, size);
    return copy;
}

static uint32_t scm_query_config(void *service, struct service_config *ret_config)
{
    (void)service;
    uint32_t code = scm_call("settings", "");
    if (code == SERVICE_OK) {
        *ret_config = scm.config;
        ret_config->command = scm_copy(scm.config.command ? scm.config.command : "");
        ret_config->account = scm_copy(scm.config.account ? scm.config.account : "LocalSystem");
    }
    return code;
}

static uint32_t scm_await(void *service, uint32_t state, uint32_t timeout_ms)
{
    (void)service;
    char what[32];
    snprintf(what, sizeof(what), "%u", state);
    scm.clock_ns += timeout_ms * UINT64_C(1000000);
    return scm_call("await", what);
}

static void scm_close(void *handle)
{
    assert_ptr_equal(handle, &scm);
    scm.open_handles--;
}

static uint32_t scm_open_process(uint32_t id, void **ret_process)
{
    char what[32];
    snprintf(what, sizeof(what), "%u", id);
    return scm_open("open process", what, ret_process);
}

static uint32_t scm_await_process(void *process, uint32_t timeout_ms)
{
    (void)process;
    (void)timeout_ms;
    return scm_call("await process", "");
}

static uint64_t scm_now_ns(void)
{
    return scm.clock_ns;
}

static uint32_t scm_add_source(const char *name, const char *program)
{
    char what[256];
    snprintf(what, sizeof(what), "%s %s", name, program);
    return scm_call("add source", what);
}

static uint32_t scm_remove_source(const char *name)
{
    return scm_call("remove source", name);
}

static uint32_t scm_set_log_user(const char *account, bool member)
{
    return scm_call(member ? "add log user" : "remove log user", account);
}

static uint32_t scm_set_note(const char *text)
{
    snprintf(scm.note, sizeof(scm.note), "%s", text ? text : "");
    return scm_call(text ? "note" : "forget", "");
}

static uint32_t scm_get_note(char **ret_text)
{
    if (!*scm.note) {
        return SERVICE_E_FILE_NOT_FOUND;
    }
    *ret_text = scm_copy(scm.note);
    return SERVICE_OK;
}

static uint32_t scm_open_log(const char *source, void **ret_log)
{
    (void)source;
    (void)ret_log;
    return SERVICE_E_ACCESS_DENIED;
}

static char *scm_program(void)
{
    return scm_copy("C:\\p\\etwship.exe");
}

static char *scm_absolute(const char *path)
{
    char *text = malloc(strlen(path) + 4);
    assert_non_null(text);
    memcpy(text, "C:\\", 3);
    memcpy(text + 3, path, strlen(path) + 1);
    return text;
}

/* Setup and teardown of a test. */
static int scm_set_up(void **state)
{
    (void)state;
    memset(&scm, 0, sizeof(scm));
    buf_init(&scm.log, 1024 * 1024);
    scm.api = (struct service_api){.connect = scm_connect,
        .create = scm_create,
        .change = scm_change,
        .open = scm_open_service,
        .configure = scm_configure,
        .start = scm_start,
        .stop = scm_stop,
        .reload = scm_reload,
        .remove = scm_remove,
        .query = scm_query,
        .query_config = scm_query_config,
        .await = scm_await,
        .close = scm_close,
        .open_process = scm_open_process,
        .await_process = scm_await_process,
        .close_process = scm_close,
        .now_ns = scm_now_ns,
        .add_source = scm_add_source,
        .remove_source = scm_remove_source,
        .set_log_user = scm_set_log_user,
        .set_note = scm_set_note,
        .get_note = scm_get_note,
        .open_log = scm_open_log,
        .program = scm_program,
        .absolute = scm_absolute};
    service_api_use(&scm.api);
    return 0;
}

static int scm_tear_down(void **state)
{
    (void)state;
    service_api_use(NULL);
    buf_fini(&scm.log);
    return scm.open_handles;
}

static inline void scm_states(const struct service_status *states, size_t count)
{
    assert_in_range(count, 1, SCM_FAKE_STATES);
    memcpy(scm.states, states, count * sizeof(*states));
    scm.state_count = count;
    scm.state_at = 0;
}

static inline void scm_fail(const char *call, uint32_t code)
{
    assert_true(scm.failure_count < SCM_FAKE_FAILURES);
    scm.failures[scm.failure_count].call = call;
    scm.failures[scm.failure_count++].code = code;
}

/* Assert what was asked since the last time, with ${text}. */
static inline void scm_asked(const char *text)
{
    assert_span(buf_span(&scm.log), text);
    buf_reset(&scm.log);
}

#endif
