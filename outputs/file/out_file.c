/*
 * Appends events to files. A batch is in them completely or not at all, also after a failed write
 * (full disk), a rotation in its middle, and, if the host stores checkpoints, a kill at any moment:
 * see file_set.c. A partial last line of another program is ended with a line break, never removed.
 *
 *   file_batch    one delivery spread over its files
 *   file_bound    the maximum number of files
 *   file_set      the files, their delivered state, and undo: file_undo
 *   file_marks    marks of written files, so that no others are renamed or removed
 *   file_rotate   rotation and chores with rotated files: file_gzip, file_keep
 *
 * A lock allows one writer per path. Delivered means that the operating system has the bytes;
 * `fsync` limits the time until they are on the disk, and with it a stored checkpoint is never
 * ahead of the disk, so that even a power failure loses no events that can be read again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "event/select/template_shape.h"
#include "outputs/file/file_batch.h"
#include "outputs/file/file_number.h"
#include "outputs/file/file_try.h"
#include "outputs/output.h"
#include "outputs/template_check.h"
#include "platform/plat_clock.h"

enum {
    LEAST_CHORE_BYTES = 256 * 1024,
    IDLE_CHORE_BYTES = 1024 * 1024,
    MAX_KEEP = 1000000,
    MAX_FILES = 1000000,
};

static const uint64_t idle_ns = UINT64_C(50000000);
static const uint64_t pause_ns = UINT64_C(500000000); /* between chores without deliveries */
static const uint64_t last_chores_ns = UINT64_C(5000000000);

struct settings {
    const char *path;
    uint64_t fsync_ns;
    int64_t max_files;
    struct file_rotation rotate;
};

static const struct config_field rotate_fields[] = {
    {CONFIG_ROW("size", SIZE, struct file_rotation, size_bytes), .default_text = "0",
        .help = "begin a new file before the current one exceeds this size; 0: never"},
    {CONFIG_ROW("age", DURATION, struct file_rotation, age_ns), .default_text = "0",
        .help = "begin a new file when the current one reaches this age; 0: never"},
    {CONFIG_ROW("keep", INT, struct file_rotation, keep), .default_text = "0", .min = 0,
        .max = MAX_KEEP,
        .help = "number of finished files to keep for each set of fields in the path; 0: all"},
    {CONFIG_ROW("gzip", BOOL, struct file_rotation, gzip), .default_text = "false",
        .help = "compress rotated files"},
    {.key = NULL},
};

static const struct config_field fields[] = {
    {CONFIG_ROW("path", PATH, struct settings, path), .required = true, .is_template = true,
        .help = "the file to append to; may hold %Y %m %d %H %M of the event (UTC) and {fields}; "
                "missing folders are made"},
    {CONFIG_ROW("fsync", DURATION, struct settings, fsync_ns), .default_text = "0",
        .help = "force written events to the disk at most this often, and at the end; 0 leaves it "
                "to the system"},
    {CONFIG_ROW("max_files", INT, struct settings, max_files), .default_text = "10000", .min = 1,
        .max = MAX_FILES,
        .help = "maximum number of files by {fields}, without those of other times and rotated "
                "files; further events go to a file with `overflow` in place of each field"},
    {CONFIG_STRUCT_ROW("rotate", struct settings, rotate, rotate_fields),
        .help = "PATH becomes PATH.1, then PATH.2, and so on: the highest number is the newest"},
    {.key = NULL},
};

struct out_file {
    struct output_env env; /* without name, checkpoint and folder */
    struct settings settings;
    char *path;
    char *folder; /* for files of our own; NULL: none */
    struct event_template *template;
    bool routed; /* records come with their paths; else there is one */
    bool connected;
    uint64_t synced_at_ns;
    struct file_marks marks;
    bool marks_loaded;
    struct file_set set;
    struct file_rotator rotator;
    struct file_bound bound; /* with `routed` */
    bool bound_loaded;
    struct file_batch batch;

    /* The checkpoint of the start, until it is applied. */
    uint8_t *checkpoint;
    size_t checkpoint_size;
};

/* True if ${path}, a valid template, depends on events. */
static bool has_parts(const char *path)
{
    struct event_template *template = strpbrk(path, "%{}") ? event_template_create(span_text(path),
                                                                 EVENT_TEMPLATE_PATH, NULL)
                                                           : NULL;
    bool has = template && !event_template_is_constant(template);
    event_template_destroy(template);
    return has;
}

/* Files of one template must not get each other's names. */
static void check_names(const struct settings *s, struct config_check *check)
{
    struct buf shape;
    bool rotates = s->rotate.size_bytes || s->rotate.age_ns;
    buf_init(&shape, (size_t)4 * EVENT_TEMPLATE_MAX_BYTES);
    template_shape_make(span_text(s->path), &shape);
    if (rotates && template_shape_meets_itself(buf_span(&shape))) {
        CONFIG_FAULT(check, &s->path,
            "path: a file could get the name of a rotated file of another one, as with {fields} at "
            "the end. end it with literal text, as in {provider.name}.ndjson");
    }
    if (s->rotate.keep && template_shape_hides_time(buf_span(&shape))) {
        CONFIG_FAULT(check, &s->path,
            "path: with a time between two {fields} rotate.keep cannot find the old files. put the "
            "time first, last, or into a folder of its own");
    }
    buf_fini(&shape);
}

static void file_check(const void *settings, struct config_check *check)
{
    const struct settings *s = settings;
    size_t size = s->path ? strlen(s->path) : 0;
    if (size == 0) {
        return;
    }
    if (strpbrk(s->path, "*?")) {
        CONFIG_FAULT(check, &s->path, "path: * and ? are not allowed in it. write {field}");
    }
    if (s->path[size - 1] == '/' || s->path[size - 1] == '\\') {
        CONFIG_FAULT(check, &s->path, "path: names a folder. write the name of a file");
    }
    template_check(check, "path", &s->path, EVENT_TEMPLATE_PATH);
    check_names(s, check);
}

static const char *file_target(const void *settings)
{
    return ((const struct settings *)settings)->path;
}

static bool file_examine(const void *settings, const struct output_talk *talk)
{
    return file_try(file_target(settings), talk);
}

static const char *file_route(const void *settings)
{
    const char *path = file_target(settings);
    return has_parts(path) ? path : NULL;
}

/* ---- make and destroy ------------------------------------------------------------------------ */

static void file_destroy(void *self_);
static void file_disconnect(void *self_);

static void warn(void *self_, const char *text)
{
    const struct out_file *self = self_;
    if (self->env.warn) {
        self->env.warn(self->env.host, text);
    }
}

/* The one file, or the template of many. */
static bool copy_path(struct out_file *self, struct error *err)
{
    struct buf path;
    buf_init(&path, (size_t)2 * EVENT_TEMPLATE_MAX_BYTES);
    if (event_template_is_constant(self->template)) {
        event_template_render(self->template, NULL, NULL, &path);
    } else {
        buf_add_text(&path, self->settings.path);
        self->routed = true;
    }
    self->path = path.failed ? NULL : span_copy(buf_span(&path));
    buf_fini(&path);
    return self->path || error_set(err, ERR_MEMORY, "out of memory");
}

static bool copy_in(struct out_file *self, const struct output_env *env, struct error *err)
{
    self->checkpoint = malloc(env->checkpoint.size + 1);
    if (!self->checkpoint) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (env->checkpoint.size) {
        memcpy(self->checkpoint, env->checkpoint.data, env->checkpoint.size);
    }
    self->checkpoint_size = env->checkpoint.size;
    if (env->folder) {
        self->folder = span_copy(span_text(env->folder));
        if (!self->folder) {
            return error_set(err, ERR_MEMORY, "out of memory");
        }
    }
    self->template = event_template_create(
        span_text(self->settings.path), EVENT_TEMPLATE_PATH, err);
    return self->template && copy_path(self, err);
}

/* True if any file may be renamed, compressed or removed. */
static bool has_rules(const struct file_rotation *rules)
{
    return rules->size_bytes || rules->age_ns || rules->keep || rules->gzip;
}

static void *file_create(const void *settings, const struct output_env *env, struct error *err)
{
    struct out_file *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->settings = *(const struct settings *)settings;
    self->env = *env;
    const struct file_rotation *rules = &self->settings.rotate;
    file_marks_init(&self->marks, rules->keep ? FILE_MARKS_MAX : FILE_MARKS_WITHOUT_KEEP,
        self->settings.fsync_ns != 0);
    file_set_init(&self->set, has_rules(rules) ? &self->marks : NULL, self->settings.fsync_ns != 0);
    bool good = copy_in(self, env, err);
    file_bound_init(&self->bound, self->template, (size_t)self->settings.max_files);
    file_batch_init(&self->batch, self->routed ? &self->bound : NULL);
    self->settings.path = self->path;
    self->env.name = NULL;
    self->env.folder = NULL;
    self->env.checkpoint = span_make(NULL, 0);
    file_rotator_init(
        &self->rotator, &self->settings.rotate, &self->set, self->routed ? self->template : NULL);
    self->rotator.warn = warn;
    self->rotator.warn_self = self;
    if (!good) {
        file_destroy(self);
        return NULL;
    }
    return self;
}

static void file_destroy(void *self_)
{
    struct out_file *self = self_;
    if (self) {
        file_disconnect(self);
        file_rotator_fini(&self->rotator);
        file_batch_fini(&self->batch);
        file_bound_fini(&self->bound);
        file_set_fini(&self->set);
        file_marks_fini(&self->marks);
        event_template_destroy(self->template);
        free(self->checkpoint);
        free(self->path);
        free(self->folder);
        free(self);
    }
}

/* ---- checkpoint ------------------------------------------------------------------------------ */

/* True if this output may have written there: a checkpoint applies to no other files. */
static bool is_ours(void *self_, struct span path)
{
    const struct out_file *self = self_;
    if (!self->routed) {
        return span_is(path, self->path);
    }
    uint8_t *mask = malloc(path.size + 1);
    bool found = mask && event_template_find_times(self->template, path, mask);
    free(mask);
    return found;
}

/* The deepest common folder of all files; the caller frees. */
static char *common_folder(const struct out_file *self)
{
    struct buf start;
    buf_init(&start, (size_t)2 * EVENT_TEMPLATE_MAX_BYTES);
    event_template_start(self->template, &start);
    buf_add_byte(&start, 0);
    char *folder = start.failed ? NULL : file_number_folder((const char *)start.data);
    buf_fini(&start);
    return folder;
}

/* Open the marks. If the host has no folder for them, they are stored beside the files, unless a
 * restart does not touch existing files. */
static bool load_marks(struct out_file *self, struct error *err)
{
    const struct file_rotation *rules = &self->settings.rotate;
    bool asks = self->env.save || rules->keep || rules->gzip;
    if (!self->set.marks || self->marks_loaded || (!self->folder && !asks)) {
        return true;
    }
    char *beside = self->folder ? NULL : common_folder(self);
    const char *folder = self->folder ? self->folder : beside;
    self->marks_loaded = folder ? file_marks_load(&self->marks, folder,
                                      self->folder ? "file-" : ".etwship-", self->path, err)
                                : error_set(err, ERR_MEMORY, "out of memory");
    free(beside);
    return self->marks_loaded;
}

/* Restore the files to the state of the checkpoint. */
static bool restore(struct out_file *self, struct error *err)
{
    if (!load_marks(self, err)) {
        return false;
    }
    if (self->checkpoint_size) {
        struct reader in = reader_make(span_make(self->checkpoint, self->checkpoint_size));
        struct error reason;
        if (!file_set_load(&self->set, &in, is_ours, self, &reason) ||
            !file_rotator_load(&self->rotator, &in, is_ours, self, &reason)) {
            if (reason.code == ERR_MEMORY) {
                return error_set(err, reason.code, "%s", reason.text);
            }
            warn(self, "its checkpoint cannot be read: events may be in the files twice");
        }
        self->checkpoint_size = 0;
    }
    if (!file_set_undo(&self->set, err)) {
        return false;
    }
    if (self->set.shorter) {
        warn(self, "a file is shorter than after the last delivery: events were removed from it");
        self->set.shorter = false;
    }
    return true;
}

static bool file_checkpoint(void *self_, struct buf *out, struct error *err)
{
    struct out_file *self = self_;
    if (self->checkpoint_size) {
        buf_add(out, self->checkpoint, self->checkpoint_size);
        return true;
    }
    if (self->settings.fsync_ns && !file_set_sync(&self->set, err)) {
        return false;
    }
    size_t start = out->size;
    file_set_save(&self->set, OUTPUT_CHECKPOINT_MAX_BYTES / 4 * 3, out);
    file_rotator_save(&self->rotator, OUTPUT_CHECKPOINT_MAX_BYTES - 64 - (out->size - start), out);
    return !out->failed || error_set(err, ERR_MEMORY, "no room for the checkpoint");
}

/* Have the host store a checkpoint. Nothing was written since the last delivered batch. */
static bool save(struct out_file *self, struct error *err)
{
    if (self->env.save && !self->env.save(self->env.host, err)) {
        return false;
    }
    file_set_cover(&self->set);
    self->rotator.renamed = false;
    return true;
}

/* ---- chores ---------------------------------------------------------------------------------- */

static void do_chores(struct out_file *self, size_t bytes)
{
    struct error err;
    if (!file_rotator_has_chores(&self->rotator)) {
        return;
    }
    if (self->rotator.renamed && !save(self, &err)) {
        warn(self, err.text);
        return;
    }
    file_rotator_step(&self->rotator, bytes);
}

static void do_chores_for(struct out_file *self, uint64_t limit_ns)
{
    uint64_t end_ns = plat_monotonic_ns() + limit_ns;
    while (file_rotator_has_chores(&self->rotator) && plat_monotonic_ns() < end_ns &&
           !(self->env.stopping && self->env.stopping(self->env.host))) {
        do_chores(self, IDLE_CHORE_BYTES);
        if (self->rotator.renamed) {
            return; /* cannot be saved now */
        }
    }
}

static bool sync_if_due(struct out_file *self, struct error *err)
{
    uint64_t now_ns = plat_monotonic_ns();
    if (self->settings.fsync_ns == 0 || now_ns - self->synced_at_ns < self->settings.fsync_ns) {
        return true;
    }
    self->synced_at_ns = now_ns;
    return file_set_sync(&self->set, err);
}

/* Returns when the next file may be too old. */
static uint64_t rotate_old(struct out_file *self)
{
    struct error err;
    uint64_t left_ns = UINT64_MAX;
    for (size_t i = self->set.count; i-- > 0;) {
        struct file_entry *entry = self->set.entries[i];
        if (entry->state != FILE_KNOWN) {
            continue;
        }
        if (file_rotator_is_due(&self->rotator, entry, 0)) {
            if (file_rotator_rotate(&self->rotator, entry, &err)) {
                file_set_remove(&self->set, entry); /* the next event begins it again */
                continue;
            }
            warn(self, err.text);
        }
        uint64_t left = file_rotator_age_left_ns(&self->rotator, entry);
        left_ns = left < left_ns ? left : left_ns;
    }
    return left_ns == UINT64_MAX ? UINT64_MAX : plat_monotonic_ns() + left_ns;
}

static uint64_t file_idle(void *self_)
{
    struct out_file *self = self_;
    struct error err;
    if (!self->connected) {
        return UINT64_MAX;
    }
    if (!file_set_undo(&self->set, &err) || !sync_if_due(self, &err)) {
        warn(self, err.text);
        return plat_monotonic_ns() + pause_ns;
    }
    uint64_t next = rotate_old(self);
    do_chores_for(self, idle_ns);
    bool more = self->rotator.first != NULL;
    if (self->settings.fsync_ns && !file_set_is_synced(&self->set)) {
        uint64_t sync = self->synced_at_ns + self->settings.fsync_ns;
        next = sync < next ? sync : next;
    }
    uint64_t soon = plat_monotonic_ns() + pause_ns;
    return more && soon < next ? soon : next;
}

/* ---- deliver --------------------------------------------------------------------------------- */

static bool file_connect(void *self_, struct error *err)
{
    struct out_file *self = self_;
    file_set_close_all(&self->set);
    if (!restore(self, err)) {
        return false;
    }
    if (!self->routed) {
        struct file_entry *entry = file_set_get(&self->set, span_text(self->path), err);
        if (!entry || !file_set_open(&self->set, entry, err)) {
            return false;
        }
    }
    if (self->routed && !self->bound_loaded) {
        struct error why;
        self->bound_loaded = true;
        if (!file_bound_load(&self->bound, &why)) {
            warn(self, why.text); /* continue: existing paths may then count again */
        }
    }
    self->synced_at_ns = plat_monotonic_ns();
    self->connected = true;
    return true;
}

static void file_disconnect(void *self_)
{
    struct out_file *self = self_;
    /* Also without deliveries: an earlier run may have been interrupted. */
    bool is_made = self->template != NULL;
    if (is_made && (self->connected || self->checkpoint_size) && restore(self, NULL)) {
        do_chores_for(self, last_chores_ns);
    }
    if (self->settings.fsync_ns) {
        file_set_sync(&self->set, NULL); /* a failure has no consequence any more */
    }
    file_set_close_all(&self->set);
    file_marks_close(&self->marks);
    self->connected = false;
}

static bool deliver(struct out_file *self, const struct delivery *delivery, struct error *err)
{
    bool covered = false;
    const char *path = self->routed ? NULL : self->path;
    if (!file_batch_prepare(&self->batch, &self->rotator, path, delivery, &covered, err) ||
        (!covered && !save(self, err))) {
        return false;
    }
    if (file_batch_write(&self->batch, &self->rotator, delivery, err) && sync_if_due(self, err)) {
        file_set_commit(&self->set);
        return true;
    }
    file_set_undo(&self->set, NULL); /* tried again before the next batch */
    return false;
}

static enum output_verdict file_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_file *self = self_;
    struct error *err = &report->error;
    if (!self->connected) {
        error_set(err, ERR_IO, "%s is not open", self->path);
        return OUTPUT_RECONNECT;
    }
    if (self->routed && !delivery->routes && delivery->record_count) {
        error_set(err, ERR_CONFIG, "%s: its records have no routes", self->path);
        return OUTPUT_FATAL;
    }
    if (!file_set_undo(&self->set, err)) {
        return OUTPUT_RETRY;
    }
    file_set_trim(&self->set);
    /* More than the incoming bytes, so that the uncompressed backlog stays bounded. */
    size_t chores = delivery->bytes.size * 2;
    do_chores(self, chores > LEAST_CHORE_BYTES ? chores : LEAST_CHORE_BYTES);
    return deliver(self, delivery, err) ? OUTPUT_DELIVERED : OUTPUT_RETRY;
}

const struct output_ops output_file = {
    .name = "file",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .alone = true,
    .route = file_route,
    .route_safety = EVENT_TEMPLATE_PATH,
    .target = file_target,
    .check = file_check,
    .examine = file_examine,
    .create = file_create,
    .connect = file_connect,
    .send = file_send,
    .disconnect = file_disconnect,
    .destroy = file_destroy,
    .checkpoint = file_checkpoint,
    .idle = file_idle,
};
