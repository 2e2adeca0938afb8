#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PROVIDERS_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PROVIDERS_H

#include "input/windows/etw_plan.h"

/*
 * The providers of a session, on its thread: resolves names, combines entries for one provider into
 * one request, and retries what fails, because providers are installed, and released by other
 * sessions, while the agent runs. Nothing here ends a session.
 */
struct etw_providers;

struct etw_providers_settings {
    const struct etw_plan *plan; /* borrowed */
    void (*note)(void *self, enum input_note level, const char *text);
    bool (*stops)(
        void *self); /* NULL: never. Polled between two providers: true if the session ends. */
    void *self;
    /* total time for providers to answer, if their state is wanted; otherwise they are not waited
     * for */
    uint32_t enable_ms;
    uint64_t retry_ns; /* first pause after a failure; it doubles */
    uint64_t retry_max_ns;
    uint64_t look_ns; /* first look-up of unknown names; the pause doubles */
    uint64_t look_max_ns;
};

struct etw_providers *etw_providers_create(
    const struct etw_providers_settings *settings, struct error *err);
void etw_providers_destroy(struct etw_providers *providers); /* NULL is fine */

/* A session started and is read, and none of our providers is enabled in it: enable all.
 * ${was_running}: it was not just started, so its list of excluded group members is set even if
 * empty. */
void etw_providers_begin(
    struct etw_providers *providers, uint64_t session, bool was_running, uint64_t now_ns);

/* Call before etw_providers_begin: the previous owner of the session enabled these providers.
 * Unwanted ones are disabled then; the others are not asked for their state at the start. */
bool etw_providers_take_over(
    struct etw_providers *providers, const struct guid *guids, size_t count, struct error *err);

/* Append the GUIDs of all providers enabled now, including those of the previous owner. */
void etw_providers_list(const struct etw_providers *providers, struct buf *out);

/* Ask the providers that report their state at the start. */
void etw_providers_capture(struct etw_providers *providers, uint64_t session);

/* Do what is due: retry failed providers, look up unknown names, request states. */
void etw_providers_tick(struct etw_providers *providers, uint64_t session, uint64_t now_ns);

/* Disable all providers, including those of the previous owner. */
void etw_providers_end(struct etw_providers *providers, uint64_t session);

/* The request for one provider. Borrowed until the next call of a function other than the following
 * two. */
struct etw_provider_view {
    struct guid guid;
    const char *label;
    const struct etw_request *request;
    bool enabled;    /* with this request, unless another program has changed it */
    uint64_t serial; /* changes with every enabling */
};

size_t etw_providers_count(const struct etw_providers *providers);
void etw_providers_view(
    const struct etw_providers *providers, size_t index, struct etw_provider_view *ret_view);

/* Enable an enabled provider again, because another program changed it. */
bool etw_providers_again(struct etw_providers *providers, size_t index, uint64_t session,
    uint64_t now_ns, struct error *err);

#endif
