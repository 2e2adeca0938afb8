/*
 * A file of events, appended to. A batch is in it whole or not at all: after a failed write (full
 * disk) the file is cut back to where the batch began, and if even that fails, no batch is written
 * before it has succeeded. A last line that somebody else left unfinished, a killed process for
 * one, is closed with a line break, never removed.
 *
 * One object writes to a path at a time: two would cut each other's batches. Delivered means that
 * the operating system has the bytes; `fsync` says how long it may keep them from the disk.
 */
#include <stdlib.h>

#include "config/config.h"
#include "outputs/output.h"
#include "platform/plat_file.h"
#include "platform/plat_system.h"

struct settings {
    const char *path;
    uint64_t fsync_ns;
};

static const struct config_field fields[] = {
    {CONFIG_ROW("path", PATH, struct settings, path), .required = true,
        .help = "the file to append to; missing folders are made"},
    {CONFIG_ROW("fsync", DURATION, struct settings, fsync_ns), .default_text = "0",
        .help = "force written events to the disk at most this often while events arrive, and at "
                "the end; 0 leaves it to the system"},
    {.key = NULL},
};

struct out_file {
    char *path;
    uint64_t fsync_ns;
    struct plat_file *file; /* NULL: not connected */
    uint64_t synced_at_ns;
    bool unsynced;
    bool torn;            /* a failed batch could not be cut off yet */
    uint64_t whole_bytes; /* if torn: the size to cut back to */
};

static bool file_check(const void *settings, struct error *err)
{
    const struct settings *s = settings;
    if (strpbrk(s->path, "%{")) {
        return error_set(err, ERR_UNSUPPORTED,
            "path: path templates are not in this build. write a path without %% and {");
    }
    return true;
}

static void file_disconnect(void *self_)
{
    struct out_file *self = self_;
    if (self->file && self->fsync_ns && self->unsynced) {
        plat_file_sync(self->file, NULL); /* too late for anybody to act on a failure */
    }
    plat_file_close(self->file);
    self->file = NULL;
    self->unsynced = false;
}

static void file_destroy(void *self_)
{
    struct out_file *self = self_;
    if (self) {
        file_disconnect(self);
        free(self->path);
        free(self);
    }
}

static void *file_create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)env;
    const struct settings *s = settings;
    size_t size = strlen(s->path) + 1;
    struct out_file *self = calloc(1, sizeof(*self));
    char *path = malloc(size);
    if (!self || !path) {
        free(self);
        free(path);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    memcpy(path, s->path, size);
    self->path = path;
    self->fsync_ns = s->fsync_ns;
    return self;
}

/* Make the folder that ${path} lies in. */
static bool create_parent(const char *path, struct error *err)
{
    size_t size = strlen(path);
    while (size && path[size - 1] != '/' && path[size - 1] != '\\') {
        size--;
    }
    while (size > 1 && (path[size - 1] == '/' || path[size - 1] == '\\')) {
        size--;
    }
    if (size == 0) {
        return true;
    }
    char *folder = malloc(size + 1);
    if (!folder) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    memcpy(folder, path, size);
    folder[size] = 0;
    bool good = plat_path_kind(folder) == PLAT_PATH_DIR || plat_dir_create(folder, err);
    free(folder);
    return good;
}

/* Does the file at ${path} end in the middle of a line? What cannot be read (a device, a file that
 * may only be written) is taken to be whole. */
static bool is_unfinished(const char *path)
{
    if (plat_path_kind(path) != PLAT_PATH_FILE) {
        return false;
    }
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, NULL);
    if (!file) {
        return false;
    }
    uint64_t size = 0;
    uint8_t last = '\n';
    size_t read = 0;
    bool good = plat_file_size(file, &size, NULL) && size > 0 &&
                plat_file_read_at(file, size - 1, &last, 1, &read, NULL);
    plat_file_close(file);
    return good && read == 1 && last != '\n';
}

static bool file_connect(void *self_, struct error *err)
{
    struct out_file *self = self_;
    file_disconnect(self);
    bool unfinished = !self->torn && is_unfinished(self->path);
    if (!create_parent(self->path, err)) {
        return false;
    }
    self->file = plat_file_open(self->path, PLAT_FILE_APPEND, err);
    if (!self->file) {
        return false;
    }
    if (unfinished && !plat_file_write(self->file, span_text("\n"), err)) {
        file_disconnect(self);
        return false;
    }
    self->synced_at_ns = plat_monotonic_ns();
    return true;
}

/* Cut a failed batch off again, unless somebody else has made the file shorter than that. */
static bool mend(struct out_file *self, struct error *err)
{
    uint64_t size_bytes;
    if (self->torn) {
        self->torn = !plat_file_size(self->file, &size_bytes, err) ||
                     (size_bytes > self->whole_bytes &&
                         !plat_file_truncate(self->file, self->whole_bytes, err));
    }
    return !self->torn;
}

static bool sync_if_due(struct out_file *self, struct error *err)
{
    uint64_t now_ns = plat_monotonic_ns();
    if (self->fsync_ns == 0 || now_ns - self->synced_at_ns < self->fsync_ns) {
        return true;
    }
    if (!plat_file_sync(self->file, err)) {
        return false;
    }
    self->synced_at_ns = now_ns;
    self->unsynced = false;
    return true;
}

static enum output_verdict file_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_file *self = self_;
    if (!self->file) {
        error_set(&report->error, ERR_IO, "%s is not open", self->path);
        return OUTPUT_RECONNECT;
    }
    uint64_t size_bytes;
    if (!mend(self, &report->error) || !plat_file_size(self->file, &size_bytes, &report->error)) {
        return OUTPUT_RETRY;
    }
    self->unsynced = true;
    if (plat_file_write(self->file, delivery->bytes, &report->error) &&
        sync_if_due(self, &report->error)) {
        return OUTPUT_DELIVERED;
    }
    self->torn = true;
    self->whole_bytes = size_bytes;
    mend(self, NULL);
    return OUTPUT_RETRY;
}

const struct output_ops output_file = {
    .name = "file",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .check = file_check,
    .create = file_create,
    .connect = file_connect,
    .send = file_send,
    .disconnect = file_disconnect,
    .destroy = file_destroy,
};
