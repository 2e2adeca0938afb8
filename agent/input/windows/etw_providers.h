#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PROVIDERS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PROVIDERS_H

#include "input/windows/etw_plan.h"

/*
 * The providers of a session, on its thread: names are looked up, entries that mean the same
 * provider become one request, and what does not go now is tried again, since providers are
 * installed, and freed by other sessions, while the agent runs. Nothing here ends a session.
 */
struct etw_providers;

struct etw_providers_settings {
    const struct etw_plan *plan; /* borrowed */
    void (*note)(void *self, enum input_note level, const char *text);
    bool (*stops)(
        void *self); /* NULL: never. Asked between two providers: is the session to end? */
    void *self;
    uint32_t enable_ms; /* how long providers may take to answer, all together, where a state of
                           theirs is wanted; else nobody waits for them */
    uint64_t retry_ns;  /* first pause after a refusal; it doubles */
    uint64_t retry_max_ns;
    uint64_t look_ns; /* when unknown names are first looked up again; the pause doubles */
    uint64_t look_max_ns;
};

struct etw_providers *etw_providers_create(
    const struct etw_providers_settings *settings, struct error *err);
void etw_providers_destroy(struct etw_providers *providers); /* NULL is fine */

/* A session has begun and is read, nothing is enabled in it by us: enable everything. ${was_running}: it was not started
 * just now, so what it was told to leave out of groups is set anew though that be nothing. */
void etw_providers_begin(
    struct etw_providers *providers, uint64_t session, bool was_running, uint64_t now_ns);

/* Before etw_providers_begin: the previous owner of the session has enabled these in it. Those that are
 * no longer wanted are switched off then, and the others not asked for their state at the start. */
bool etw_providers_inherit(
    struct etw_providers *providers, const struct guid *guids, size_t count, struct error *err);

/* Append the GUIDs of all that are enabled now, also by the previous owner of the session. */
void etw_providers_list(const struct etw_providers *providers, struct buf *out);

/* Ask those that shall tell their state at the start. */
void etw_providers_capture(struct etw_providers *providers, uint64_t session);

/* What is due: enable again what was refused, look unknown names up, ask for states. */
void etw_providers_tick(struct etw_providers *providers, uint64_t session, uint64_t now_ns);

/* Switch all of them off, also what the previous owner of the session had enabled. */
void etw_providers_end(struct etw_providers *providers, uint64_t session);

/* What is asked of ETW for one provider. Borrowed until the next call that is not one of these. */
struct etw_provider_view {
    struct guid guid;
    const char *label;
    const struct etw_request *request;
    bool enabled;    /* with this request, unless another program has changed it since */
    uint64_t serial; /* another one each time that it is enabled */
};

size_t etw_providers_count(const struct etw_providers *providers);
void etw_providers_view(
    const struct etw_providers *providers, size_t index, struct etw_provider_view *ret_view);

/* Enable one again that is enabled, as somebody has changed it. */
bool etw_providers_again(struct etw_providers *providers, size_t index, uint64_t session,
    uint64_t now_ns, struct error *err);

#endif
