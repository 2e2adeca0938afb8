#include "service/service_host.h"

#include <stdio.h>

#include "base/span.h"
#include "base/utf.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * Three threads. The SCM's dispatcher, which is the main thread, calls `control`: it stores the
 * request and returns. The SCM's service thread does the work. The keeper thread executes requests,
 * and while the service starts or stops it increments the checkpoint, so that the SCM keeps
 * waiting.
 *
 * `mutex` guards the state and is held briefly, so that `control` never blocks. Reports are calls
 * into another process: `reporting`, taken first, keeps them in the order of the states; `control`
 * does not take it.
 */
enum { PACE_MS = 3000, WAIT_HINT_MS = 30000, MAX_TEXT_BYTES = 31000, CHARACTER_MAX_BYTES = 4 };

struct service_host {
    struct service_host_work work;
    void *log; /* NULL: none */
    struct plat_mutex reporting;
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct service_status status;
    bool asked_to_stop;
    bool asked_to_reload;
    bool over;
    int exit_code;
};

/* Static, as its thread may still return from its last report when the main thread continues. */
static struct service_host process_host;

/* ---- reports --------------------------------------------------------------------------------- */

/* Order of states: the state never decreases. */
static unsigned rank(uint32_t state)
{
    switch (state) {
    case SERVICE_STATE_START_PENDING:
        return 1;
    case SERVICE_STATE_RUNNING:
        return 2;
    case SERVICE_STATE_STOP_PENDING:
        return 3;
    case SERVICE_STATE_STOPPED:
        return 4;
    default:
        return 0; /* nothing has been reported */
    }
}

/* Advance to ${state}, or increment the checkpoint if that is the current state. */
static void report(struct service_host *host, uint32_t state, struct service_end end)
{
    struct service_status *status = &host->status;
    bool is_pending = state == SERVICE_STATE_START_PENDING || state == SERVICE_STATE_STOP_PENDING;
    plat_mutex_lock(&host->reporting);
    plat_mutex_lock(&host->mutex);
    /* Never go back: a `ready` during a stop is too late, and so is a keeper's checkpoint of an
     * earlier state. Report a final state once. */
    bool is_late = rank(state) < rank(status->state) || (state == status->state && !is_pending);
    uint32_t checkpoint = status->state == state ? status->checkpoint + 1 : 1;
    if (!is_late) {
        *status = (struct service_status){.state = state,
            .accepts = state == SERVICE_STATE_RUNNING
                           ? SERVICE_ACCEPTS_STOP | SERVICE_ACCEPTS_PRESHUTDOWN |
                                 SERVICE_ACCEPTS_PARAMCHANGE
                           : 0,
            .exit_code = end.exit_code,
            .specific_code = end.specific_code,
            .checkpoint = is_pending ? checkpoint : 0,
            .wait_hint_ms = is_pending ? WAIT_HINT_MS : 0};
    }
    struct service_status current = *status;
    plat_mutex_unlock(&host->mutex);
    if (!is_late) {
        service_api_get()->report(&current);
    }
    plat_mutex_unlock(&host->reporting);
}

static void go_on(struct service_host *host, uint32_t state)
{
    report(host, state, (struct service_end){.exit_code = SERVICE_OK});
}

void service_host_ready(struct service_host *host)
{
    go_on(host, SERVICE_STATE_RUNNING);
    plat_cond_signal(&host->changed);
}

/* ${text} for an event: cut to the limit, with a blank after each '%' before a digit, which the
 * viewer would treat as an insert (ReportEvent, lpStrings). */
static void put_event_text(struct span text, char *out)
{
    size_t size = 0;
    for (size_t at = 0; at < text.size && size + CHARACTER_MAX_BYTES + 1 <= MAX_TEXT_BYTES;) {
        uint32_t character = utf8_next(text, &at);
        size += utf8_put(character, (uint8_t *)out + size);
        if (character == '%' && at < text.size && text.data[at] >= '0' && text.data[at] <= '9') {
            out[size++] = ' ';
        }
    }
    out[size] = '\0';
}

void service_host_tell(struct service_host *host, enum service_message message, const char *text)
{
    char shown[MAX_TEXT_BYTES + 1];
    if (host->log) {
        put_event_text(span_text(text), shown);
        service_api_get()->write_log(host->log, message, shown);
    }
}

/* ---- the keeper ------------------------------------------------------------------------------ */

/* Execute a request. The mutex is held on entry and released meanwhile. False: no request. */
static bool obey(struct service_host *host)
{
    uint32_t state = host->status.state;
    if (host->asked_to_stop && state == SERVICE_STATE_RUNNING) {
        plat_mutex_unlock(&host->mutex);
        go_on(host, SERVICE_STATE_STOP_PENDING);
        host->work.stop(host->work.self);
    } else if (host->asked_to_reload && state == SERVICE_STATE_RUNNING) {
        host->asked_to_reload = false;
        plat_mutex_unlock(&host->mutex);
        host->work.reload(host->work.self);
    } else {
        return false;
    }
    plat_mutex_lock(&host->mutex);
    return true;
}

static void keep(void *self)
{
    struct service_host *host = self;
    uint64_t pace_ns = (host->work.pace_ms ? host->work.pace_ms : PACE_MS) * UINT64_C(1000000);
    plat_mutex_lock(&host->mutex);
    while (!host->over) {
        uint32_t state = host->status.state;
        if (obey(host)) {
            continue;
        }
        if (state == SERVICE_STATE_RUNNING) {
            plat_cond_wait(&host->changed, &host->mutex);
        } else if (!plat_cond_wait_until(
                       &host->changed, &host->mutex, plat_monotonic_ns() + pace_ns) &&
                   !host->over && host->status.state == state) {
            plat_mutex_unlock(&host->mutex);
            go_on(host, state);
            plat_mutex_lock(&host->mutex);
        }
    }
    plat_mutex_unlock(&host->mutex);
}

static uint32_t control(void *self, uint32_t code)
{
    struct service_host *host = self;
    bool stops = code == SERVICE_ASKS_STOP || code == SERVICE_ASKS_PRESHUTDOWN;
    bool reloads = code == SERVICE_ASKS_PARAMCHANGE;
    if (!stops && !reloads) {
        return code == SERVICE_ASKS_INTERROGATE ? SERVICE_OK : SERVICE_E_CALL_NOT_IMPLEMENTED;
    }
    plat_mutex_lock(&host->mutex);
    host->asked_to_stop = host->asked_to_stop || stops;
    host->asked_to_reload = host->asked_to_reload || reloads;
    plat_mutex_unlock(&host->mutex);
    plat_cond_signal(&host->changed);
    return SERVICE_OK;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void tell_end(struct service_host *host, bool was_asked, bool has_failed)
{
    char text[96];
    snprintf(text, sizeof(text), "etwship has %s, exit code %d",
        was_asked ? "stopped on request" : "ended", host->exit_code);
    service_host_tell(host,
        has_failed  ? SERVICE_MESSAGE_FAILED
        : was_asked ? SERVICE_MESSAGE_STOPPED
                    : SERVICE_MESSAGE_ENDED,
        text);
}

static void run(void *self)
{
    struct service_host *host = self;
    struct error err;
    go_on(host, SERVICE_STATE_START_PENDING);
    if (service_api_get()->open_log(SERVICE_NAME, &host->log) != SERVICE_OK) {
        host->log = NULL;
    }
    struct plat_thread *keeper = plat_thread_start("keeper", keep, host, &err);
    if (keeper) {
        host->exit_code = host->work.run(host->work.self, host);
    } else {
        service_host_tell(host, SERVICE_MESSAGE_ERROR, err.text);
    }
    plat_mutex_lock(&host->mutex);
    host->over = true;
    bool was_asked = host->asked_to_stop;
    plat_mutex_unlock(&host->mutex);
    plat_cond_signal(&host->changed);
    plat_thread_join(keeper);
    struct service_end end = service_plan_end(host->exit_code, was_asked);
    tell_end(host, was_asked, end.exit_code != SERVICE_OK);
    if (host->log) {
        service_api_get()->close_log(host->log);
    }
    host->log = NULL;
    /* The last step: from now on the main thread may end the process. */
    report(host, SERVICE_STATE_STOPPED, end);
}

bool service_host_run(const struct service_host_work *work, int *ret_exit, struct error *err)
{
    const struct service_api *api = service_api_get();
    struct service_host *host = &process_host;
    *host = (struct service_host){.work = *work, .exit_code = 1};
    plat_mutex_init(&host->reporting);
    plat_mutex_init(&host->mutex);
    plat_cond_init(&host->changed);
    struct service_entry entry = {
        .name = SERVICE_NAME, .run = run, .control = control, .self = host};
    uint32_t code = api->dispatch ? api->dispatch(&entry) : SERVICE_E_CONTROLLER_CONNECT;
    if (code == SERVICE_OK) {
        *ret_exit = host->exit_code;
        return true;
    }
    if (code == SERVICE_E_CONTROLLER_CONNECT) {
        return error_set(
            err, ERR_MISSING, "the service control manager of Windows did not start this process");
    }
    return service_api_fail(err, code, "service %s: its control", SERVICE_NAME);
}
