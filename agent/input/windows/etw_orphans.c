#include "input/windows/etw_orphans.h"

#include <stdio.h>
#include <string.h>

#include "etw/etw_hold.h"
#include "etw/etw_image_flags.h"
#include "input/windows/etw_kept.h"

/* True if this agent left it running. A name may come from any program, and becomes part of a
 * path. */
static bool is_kept(const char *data_dir, const char *name, const struct etw_session_state *session)
{
    struct etw_kept kept;
    return data_dir && !strpbrk(name, "/\\:") && etw_kept_load(data_dir, name, &kept) &&
           kept.handle == session->handle;
}

/* The session may belong to another agent, so a person must decide whether to end it. */
static void tell_left(const struct etw_orphans_settings *settings, const char *session)
{
    char owner[ETW_HOLD_OWNER_BYTES];
    char text[700];
    if (!settings->data_dir) {
        return;
    }
    if (etw_hold_look(session, owner) == ETW_HOLD_DOUBTFUL) {
        snprintf(text, sizeof(text),
            "session %.200s may be orphaned: its lock belongs to %.200s, and Windows does not say "
            "whether that account may run sessions. if no program of that account runs it, "
            "`etwship sessions stop` with its name ends it",
            session, owner);
    } else {
        snprintf(text, sizeof(text),
            "session %.200s is orphaned: no agent uses it. `etwship sessions stop --orphans` ends "
            "it",
            session);
    }
    settings->note(settings->self, INPUT_NOTE_WARNING, text);
}

static void look_at(
    const struct etw_orphans_settings *settings, const struct etw_session_state *session)
{
    const char *name = session->name + strlen(ETW_OUR_PREFIX);
    bool kept = is_kept(settings->data_dir, name, session);
    char text[512];
    struct error err;
    if (!kept && etw_hold_name_pid(session->name) == 0) {
        tell_left(settings, session->name);
        return;
    }
    if (etw_control_stop(session->name, NULL, &err)) {
        snprintf(text, sizeof(text), "stopped the orphaned session %.200s", session->name);
        settings->note(settings->self, INPUT_NOTE_INFO, text);
    } else if (err.os_code != ETW_ERROR_WMI_INSTANCE_NOT_FOUND) {
        settings->note(settings->self, INPUT_NOTE_WARNING, err.text);
        return;
    }
    if (kept) {
        etw_kept_delete(settings->data_dir, name);
    }
}

static bool is_abandoned(void *self, const char *session)
{
    (void)self;
    return !etw_hold_is_held(session);
}

static void tell_flags(void *self, const char *image, const struct error *err)
{
    const struct etw_orphans_settings *settings = self;
    char text[700];
    if (err) {
        snprintf(text, sizeof(text),
            "cannot restore TracingFlags of %.100s, left by a killed agent: %s", image, err->text);
    } else {
        snprintf(
            text, sizeof(text), "restored TracingFlags of %.100s, left by a killed agent", image);
    }
    settings->note(settings->self, err ? INPUT_NOTE_WARNING : INPUT_NOTE_INFO, text);
}

void etw_orphans_clean(const struct etw_orphans_settings *settings)
{
    struct etw_session_list list;
    etw_image_flags_clean(is_abandoned, tell_flags, (void *)settings);
    if (!etw_control_list(&list, NULL)) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        const char *name = list.items[i].name;
        if (etw_hold_is_ours(name) && !etw_hold_is_held(name) &&
            !settings->is_ours(settings->self, name + strlen(ETW_OUR_PREFIX))) {
            look_at(settings, &list.items[i]);
        }
    }
    etw_control_list_fini(&list);
}
