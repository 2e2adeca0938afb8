#include <stdio.h>
#include <stdlib.h>

#include "etw/etw_api.h"
#include "etw/session/etw_control.h"
#include "input/file/input_file.h"
#include "input/windows/etw_boot.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"

/*
 * The input `file` behind a gate, which opens when the session that writes the file is replaced or
 * continues in real time. etw_session does that first, on the thread of the live session; this
 * input only watches the session, so the two never both act.
 *
 * The files are listed once before anything runs; the file of this boot exists by then.
 */
enum { MAX_FILES = ETW_AUTOLOGGER_MAX_FILES + 1, LOOK_MS = 50, LOOK_MAX_MS = 2000, GONE_MS = 5000 };
enum { MAX_STATE_BYTES = 16 * 1024 * 1024 };

struct boot_input {
    const struct input_boot_settings *settings;
    struct input_file_settings file_settings;
    char host[256]; /* this machine; its files do not contain the name */
    const char *paths[MAX_FILES];
    void *file;      /* of the input `file`; NULL: there is nothing to read */
    struct buf kept; /* state of an earlier run, while there is nothing to read */
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool asked_to_stop;
};

/* ---- files ----------------------------------------------------------------------------------- */

static bool add_path(void *self, const char *path)
{
    struct boot_input *in = self;
    struct config_strings *paths = &in->file_settings.paths;
    char *copy = paths->count < MAX_FILES ? span_copy(span_text(path)) : NULL;
    if (copy) {
        in->paths[paths->count++] = copy;
    }
    return copy != NULL;
}

/* Files have the number of the boot; without support for FileMax there is one without number. */
static void find_files(struct boot_input *in)
{
    char pattern[ETW_BOOT_PATH_BYTES + 8];
    if (plat_path_kind(in->settings->file) == PLAT_PATH_FILE) {
        add_path(in, in->settings->file);
    }
    snprintf(pattern, sizeof(pattern), "%s.00??", in->settings->file);
    plat_glob(pattern, add_path, in, NULL); /* false if there is none */
    in->file_settings.paths.items = in->paths;
}

static void destroy(void *self)
{
    struct boot_input *in = self;
    if (!in) {
        return;
    }
    input_file.destroy(in->file);
    for (size_t i = 0; i < MAX_FILES; i++) {
        free((void *)(uintptr_t)in->paths[i]);
    }
    buf_fini(&in->kept);
    plat_cond_fini(&in->changed);
    plat_mutex_fini(&in->mutex);
    free(in);
}

static void *create(const void *settings, const struct input_env *env, struct error *err)
{
    struct boot_input *in = calloc(1, sizeof(*in));
    if (!in) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    in->settings = settings;
    in->file_settings.codepage = 1252;
    plat_host_name(in->host, sizeof(in->host));
    in->file_settings.host = in->host;
    buf_init(&in->kept, MAX_STATE_BYTES);
    plat_mutex_init(&in->mutex);
    plat_cond_init(&in->changed);
    find_files(in);
    if (in->file_settings.paths.count) {
        in->file = input_file.create(&in->file_settings, env, err);
        if (!in->file) {
            destroy(in);
            return NULL;
        }
    }
    return in;
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* True if the file is still written. ${gone_at_ns}: time since when there has been no session; 0:
 * there was one. Windows may remove a session before its file is closed; the live session then
 * starts its successor, which opens the gate. Without a successor the file counts as complete after
 * a while. */
static bool is_written(const struct boot_input *in, uint64_t *gone_at_ns)
{
    struct etw_session_state state;
    struct error err = {0};
    if (etw_control_query(in->settings->etw_session, &state, &err)) {
        *gone_at_ns = 0;
        return etw_boot_is_written(&state);
    }
    if (err.os_code != ETW_ERROR_WMI_INSTANCE_NOT_FOUND) {
        return true;
    }
    uint64_t now = plat_monotonic_ns();
    *gone_at_ns = *gone_at_ns ? *gone_at_ns : now;
    return now - *gone_at_ns < GONE_MS * UINT64_C(1000000);
}

/* False: asked to stop. */
static bool rest(struct boot_input *in, uint64_t ms)
{
    uint64_t until = plat_monotonic_ns() + ms * 1000000;
    bool in_time = true;
    plat_mutex_lock(&in->mutex);
    while (!in->asked_to_stop && in_time) {
        in_time = plat_cond_wait_until(&in->changed, &in->mutex, until);
    }
    bool stop = in->asked_to_stop;
    plat_mutex_unlock(&in->mutex);
    return !stop;
}

static enum input_end run(void *self, const struct input_sink *sink, struct error *err)
{
    struct boot_input *in = self;
    uint64_t pause_ms = LOOK_MS;
    uint64_t gone_at_ns = 0;
    if (!in->file) {
        return INPUT_DONE;
    }
    while (is_written(in, &gone_at_ns)) {
        if (!rest(in, pause_ms) || (sink->pause && !sink->pause(sink->self))) {
            return INPUT_STOPPED;
        }
        pause_ms = pause_ms * 2 < LOOK_MAX_MS ? pause_ms * 2 : LOOK_MAX_MS;
    }
    return input_file.run(in->file, sink, err);
}

static void stop(void *self)
{
    struct boot_input *in = self;
    plat_mutex_lock(&in->mutex);
    in->asked_to_stop = true;
    plat_cond_broadcast(&in->changed);
    plat_mutex_unlock(&in->mutex);
    if (in->file) {
        input_file.stop(in->file);
    }
}

/* ---- position of the file -------------------------------------------------------------------- */

static bool state(void *self, struct buf *out, struct error *err)
{
    const struct boot_input *in = self;
    if (in->file) {
        return input_file.state(in->file, out, err);
    }
    buf_add_span(out, buf_span(&in->kept));
    return (!out->failed && !in->kept.failed) ||
           error_set(err, ERR_MEMORY, "out of memory for a position");
}

static void restore(void *self, struct span bytes)
{
    struct boot_input *in = self;
    if (in->file) {
        input_file.restore(in->file, bytes);
    } else {
        buf_reset(&in->kept);
        buf_add_span(&in->kept, bytes);
    }
}

static void settle_file(void *self, const uint8_t file_id[16])
{
    const struct boot_input *in = self;
    if (in->file) {
        input_file.settle_file(in->file, file_id);
    }
}

static void decoding(const void *settings, struct input_decoding *ret_decoding)
{
    (void)settings;
    *ret_decoding = (struct input_decoding){.codepage = 1252};
}

const struct input_ops input_boot = {
    .name = "boot",
    .settings_size = sizeof(struct input_boot_settings),
    .replayable = true,
    .needs_etw = true,
    .switches_on = true,
    .decoding = decoding,
    .create = create,
    .state = state,
    .restore = restore,
    .settle_file = settle_file,
    .run = run,
    .stop = stop,
    .destroy = destroy,
};
