#include <stdlib.h>
#include <windows.h>

#include "platform/windows/plat_wide.h"
#include "service/windows/service_own.h"
#include "service_messages.h"

/* Context of the SCM's first callback, which takes none. */
static struct {
    const struct service_entry *entry;
    SERVICE_STATUS_HANDLE handle;
} process;

static DWORD WINAPI on_control(DWORD code, DWORD event, void *data, void *self)
{
    (void)event;
    (void)data;
    (void)self;
    return process.entry->control(process.entry->self, code);
}

static void WINAPI service_main(DWORD argc, wchar_t **argv)
{
    (void)argc;
    /* Its first argument is the registered name. */
    process.handle = RegisterServiceCtrlHandlerExW(argv[0], on_control, NULL);
    if (!process.handle) {
        /* The SCM waits for a report that cannot be sent. */
        ExitProcess(EXIT_FAILURE);
    }
    process.entry->run(process.entry->self);
}

static uint32_t dispatch(const struct service_entry *entry)
{
    wchar_t *name = plat_wide_text(entry->name, NULL);
    if (!name) {
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    const SERVICE_TABLE_ENTRYW table[] = {{name, service_main}, {NULL, NULL}};
    process.entry = entry;
    uint32_t code = StartServiceCtrlDispatcherW(table) ? ERROR_SUCCESS : GetLastError();
    free(name);
    return code;
}

static uint32_t report(const struct service_status *status)
{
    SERVICE_STATUS windows_status = {.dwServiceType = SERVICE_WIN32_OWN_PROCESS,
        .dwCurrentState = status->state,
        .dwControlsAccepted = status->accepts,
        .dwWin32ExitCode = status->exit_code,
        .dwServiceSpecificExitCode = status->specific_code,
        .dwCheckPoint = status->checkpoint,
        .dwWaitHint = status->wait_hint_ms};
    return SetServiceStatus(process.handle, &windows_status) ? ERROR_SUCCESS : GetLastError();
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint32_t open_log(const char *source, void **ret_log)
{
    wchar_t *name = plat_wide_text(source, NULL);
    HANDLE log = name ? RegisterEventSourceW(NULL, name) : NULL;
    uint32_t code = log ? ERROR_SUCCESS : name ? GetLastError() : ERROR_NOT_ENOUGH_MEMORY;
    free(name);
    *ret_log = log;
    return code;
}

static uint32_t write_log(void *log, enum service_message message, const char *text)
{
    static const struct {
        uint32_t id;
        WORD type;
    } events[] = {
#define SERVICE_MESSAGE(name, severity) \
    [SERVICE_MESSAGE_##name] = {SERVICE_EVENT_##name, EVENTLOG_##severity##_TYPE},
#include "service/service_messages.def"
#undef SERVICE_MESSAGE
    };
    const wchar_t *texts[] = {plat_wide_text(text, NULL)};
    uint32_t code = ERROR_NOT_ENOUGH_MEMORY;
    if (texts[0]) {
        bool ok = ReportEventW(
            log, events[message].type, 0, events[message].id, NULL, 1, 0, texts, NULL);
        code = ok ? ERROR_SUCCESS : GetLastError();
    }
    free((wchar_t *)(uintptr_t)texts[0]);
    return code;
}

static void close_log(void *log)
{
    DeregisterEventSource(log);
}

void service_process_load(struct service_api *api)
{
    api->dispatch = dispatch;
    api->report = report;
    api->open_log = open_log;
    api->write_log = write_log;
    api->close_log = close_log;
}
