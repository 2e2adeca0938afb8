#include "service/service_host.h"

#include <stdio.h>

#include "base/span.h"
#include "base/utf.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"

/*
 * Three threads. The SCM's dispatcher, which is the main thread, calls `control`: it notes what is
 * asked and returns. The SCM's thread of the service does the work. The keeper does what was asked,
 * and while the service starts or stops it moves the checkpoint, so that the SCM goes on waiting.
 *
 * `mutex` guards the state and is held for moments only, so that `control` never waits for anybody.
 * Reports are calls into another process: `reporting`, taken first, keeps them in the order of the
 * states, and `control` does not take it.
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

/* Of the process, and there for ever: its thread may still be on its way out of its last report when
 * the main thread goes on. */
static struct service_host process_host;

/* ---- reports --------------------------------------------------------------------------------------- */

/* How far a service is: no state comes after a later one. */
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

/* Go on to ${state}, or, if that is where we are, one checkpoint further. */
static void report(struct service_host *host, uint32_t state, struct service_end end)
{
    struct service_status *status = &host->status;
    bool is_pending = state == SERVICE_STATE_START_PENDING || state == SERVICE_STATE_STOP_PENDING;
    plat_mutex_lock(&host->reporting);
    plat_mutex_lock(&host->mutex);
    /* Never back: who is ready while it is already being stopped has come too late, and so has a
     * keeper with a checkpoint of a state that is over. And what lasts is said once. */
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
    struct service_status said = *status;
    plat_mutex_unlock(&host->mutex);
    if (!is_late) {
        service_api_get()->report(&said);
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

/* ${text} as one of an event: no longer than fits, and a blank after each '%' that a digit follows,
 * which the viewer would take for the place of another text (ReportEvent, lpStrings). */
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

/* ---- the keeper ------------------------------------------------------------------------------------- */

/* What is asked for, with the mutex held, which is let go of meanwhile. False: nothing. */
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

/* ---- the service ------------------------------------------------------------------------------------- */

static void tell_end(struct service_host *host, bool was_asked, bool has_failed)
{
    char text[96];
    snprintf(text, sizeof(text), "etwship has %s, exit code %d",
        was_asked ? "stopped as it was asked to" : "ended", host->exit_code);
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
    /* The last of all: the main thread goes on, and ends the process, at any moment now. */
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
        return error_set(err, ERR_MISSING, "Windows' service control manager did not start this");
    }
    return service_api_fail(err, code, "service %s: its control", SERVICE_NAME);
}
