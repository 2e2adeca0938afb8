#include <stdlib.h>

#include "etw/session/etw_kernel.h"
#include "input/windows/session/etw_session_own.h"

/* Connects a session to its consumer; the callbacks here run on the consumer's threads. */

static void wake(struct etw_session *s)
{
    plat_mutex_lock(&s->mutex);
    s->woken = true;
    plat_cond_broadcast(&s->changed);
    plat_mutex_unlock(&s->mutex);
}

static void on_lost(void *self, enum etw_loss_mark mark, uint64_t time)
{
    struct etw_session *s = self;
    plat_mutex_lock(&s->mutex);
    s->marks.count[mark]++;
    s->marks.time = time;
    plat_mutex_unlock(&s->mutex);
}

static void on_problem(void *self, const char *what)
{
    struct etw_session *s = self;
    if (s->sink.damage) {
        s->sink.damage(s->sink.self, etw_consume_trace(s->consume), INPUT_WHOLE_FILE, what);
    }
}

static void on_ended(void *self)
{
    wake(self);
}

static bool connect_raw_or_not(
    struct etw_session *s, struct etw_consume_settings *settings, struct error *err)
{
    const uint32_t on_its_way_ms = 500;
    settings->raw = s->plan->raw && !(s->state.mode & ETW_MODE_COMPRESSED);
    settings->hold_ms = (s->state.flush_ms ? s->state.flush_ms : 1000) + on_its_way_ms;
    s->consume = etw_consume_open(settings, err);
    if (!s->consume && settings->raw) {
        etw_session_note(
            s, INPUT_NOTE_WARNING, "%s. single events are delivered instead", err->text);
        settings->raw = false;
        s->consume = etw_consume_open(settings, err);
    }
    return s->consume != NULL;
}

/* True if kernel events may arrive in the session. Otherwise no event has to wait for its stack. */
static bool may_be_kernel(const struct etw_session *s)
{
    return s->plan->is_system || s->state.handle == 0 || s->state.mode & ETW_MODE_SYSTEM_LOGGER ||
           guid_equal(&s->state.guid, &etw_kernel_guid) ||
           guid_equal(&s->state.guid, &etw_heap_guid);
}

bool etw_session_connect(struct etw_session *s, struct error *err)
{
    struct etw_consume_settings settings = {.session = s->plan->name,
        .kernel = may_be_kernel(s),
        .sink = &s->sink,
        .numbers = &s->numbers,
        .lost = on_lost,
        .problem = on_problem,
        .ended = on_ended,
        .self = s};
    struct etw_session_connection *connection = calloc(1, sizeof(*connection));
    if (!connection) {
        return error_set(err, ERR_MEMORY, "out of memory for a session");
    }
    if (!connect_raw_or_not(s, &settings, err)) {
        free(connection);
        return etw_session_explain(s, err);
    }
    *connection = (struct etw_session_connection){s->consume, s->connections};
    message_numbers_init(&s->numbers, s->state.mode, s->state.buffer_kb * 1024);
    s->numbers_at_ns = 0;
    s->numbers_newest[0] = s->numbers_newest[1] = 0;
    s->connections = connection;
    return true;
}
