#include "app/run/agent_notify.h"

#include <stdio.h>

#include "base/utf.h"

/*
 * Messages are never waited for. READY and STOPPING, which the manager acts upon, are repeated
 * until it had room for them, and so is a sign of life, before the manager misses it.
 */
enum {
    STATUS_MAX_BYTES = 1024, /* the manager shows one line, and takes no message above 4096 */
    CHARACTER_MAX_BYTES = 4,
};

static const uint64_t try_again_ns = UINT64_C(100000000);
/* After agent.shutdown: outputs hear of the last gaps,
 * positions are stored on a disk that may be slow. */
static const uint64_t last_things_ns = UINT64_C(30000000000);

void agent_notify_init(struct agent_notify *notify)
{
    *notify = (struct agent_notify){.manager = plat_notify_open()};
    /* sd_watchdog_enabled(3): "half of the time returned". */
    notify->life_ns = plat_notify_watchdog_ns(notify->manager) / 2;
}

void agent_notify_fini(struct agent_notify *notify)
{
    plat_notify_close(notify->manager);
    notify->manager = NULL;
}

static bool tell_stopping(struct agent_notify *notify, uint64_t shutdown_ns)
{
    char text[128];
    /* The manager's own limit holds where it is longer. */
    uint64_t usec = shutdown_ns / 1000 + last_things_ns / 1000;
    snprintf(text, sizeof(text), "STOPPING=1\nSTATUS=Stopping\nEXTEND_TIMEOUT_USEC=%llu",
        (unsigned long long)usec);
    return plat_notify_send(notify->manager, span_text(text));
}

/* The stamp tells the manager that this is of its own request, not of one before (sd_notify(3)). */
static bool tell_reloading(struct agent_notify *notify, uint64_t now_ns)
{
    char text[96];
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=Reloading",
        (unsigned long long)(now_ns / 1000));
    return plat_notify_send(notify->manager, span_text(text));
}

static bool tell_running(struct agent_notify *notify)
{
    return plat_notify_send(notify->manager, span_text("READY=1\nSTATUS=Running"));
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One thing that the manager has not heard of. False: it has no room for it at the moment. */
static bool tell_next(struct agent_notify *notify, const struct agent_moment *moment,
    uint64_t shutdown_ns, uint64_t now_ns)
{
    bool sent;
    if (notify->told == AGENT_STARTING) {
        sent = tell_running(notify);
        notify->told += sent;
        notify->next_life = now_ns + notify->life_ns;
    } else if (notify->told < moment->phase) {
        sent = tell_stopping(notify, shutdown_ns);
        notify->told += sent;
    } else if (notify->told_reload) {
        sent = tell_running(notify);
        notify->told_reload = !sent;
    } else {
        sent = tell_reloading(notify, now_ns);
        notify->told_reload = sent;
        notify->told_reloads = sent ? moment->reloads_begun : notify->told_reloads;
    }
    return sent;
}

static bool has_news(const struct agent_notify *notify, const struct agent_moment *moment)
{
    bool reloads = notify->told_reload ? moment->reloads_over >= notify->told_reloads
                                       : moment->reloads_begun > notify->told_reloads;
    return notify->told < moment->phase || (notify->told == AGENT_RUNNING && reloads);
}

uint64_t agent_notify_tick(struct agent_notify *notify, const struct agent_moment *moment,
    uint64_t shutdown_ns, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    if (!notify->manager) {
        return next;
    }
    while (has_news(notify, moment) && now_ns >= notify->next_try) {
        if (!tell_next(notify, moment, shutdown_ns, now_ns)) {
            notify->next_try = now_ns + try_again_ns;
        }
    }
    if (has_news(notify, moment)) {
        next = notify->next_try;
    }
    if (notify->life_ns && notify->told != AGENT_STARTING) {
        if (now_ns >= notify->next_life) {
            bool sent = plat_notify_send(notify->manager, span_text("WATCHDOG=1"));
            notify->next_life = now_ns + (sent ? notify->life_ns : try_again_ns);
        }
        next = earlier(next, notify->next_life);
    }
    return next;
}

bool agent_notify_status(struct agent_notify *notify, struct span line)
{
    uint8_t text[STATUS_MAX_BYTES] = "STATUS=";
    size_t size = strlen("STATUS=");
    for (size_t at = 0; at < line.size && size + CHARACTER_MAX_BYTES <= sizeof(text);) {
        uint32_t character = utf8_next(line, &at);
        /* A line break would begin another assignment, a NUL end the text. */
        size += utf8_put(character < ' ' ? ' ' : character, text + size);
    }
    return notify->told != AGENT_STARTING &&
           plat_notify_send(notify->manager, span_make(text, size));
}
