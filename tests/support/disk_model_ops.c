/* The operations of a model's disk. */
#include "support/disk_model_own.h"

#include <stdlib.h>

/* As Linux says it. */
enum { CODE_IO = 5, CODE_MISSING = 2, CODE_FULL = 28 };

static struct disk_model_fault *fault_for(
    struct disk_model *model, unsigned operation, const char *path)
{
    for (size_t i = 0; i < model->fault_count; i++) {
        struct model_fault *f = &model->faults[i];
        if (!(f->fault.operations & operation) || (f->fault.part && !strstr(path, f->fault.part))) {
            continue;
        }
        uint64_t number = f->seen++;
        if (number >= f->fault.skip &&
            (f->fault.times == 0 || number - f->fault.skip < f->fault.times)) {
            return &f->fault;
        }
    }
    return NULL;
}

static bool fail(struct error *err, const char *path, const char *what)
{
    return error_set_os(err, CODE_IO, "input/output error", "%s: %s", path, what);
}

enum verdict { GO_ON, FAIL, FAIL_DURING };

/* May the operation be done? */
static enum verdict judge(
    struct disk_model *model, unsigned operation, const char *path, struct error *err)
{
    if (model->off || model->hidden) {
        fail(err, path, "there is no disk");
        return FAIL;
    }
    if (operation & DISK_MODEL_CHANGES && model->changes++ == model->power_off_at) {
        model->off = true;
        fail(err, path, "the power failed");
        return FAIL_DURING;
    }
    if (operation != DISK_MODEL_READ && fault_for(model, operation, path)) {
        fail(err, path, "a fault that a test wants");
        return operation == DISK_MODEL_SYNC ? FAIL_DURING : FAIL;
    }
    return GO_ON;
}

static enum verdict judge_file(
    struct disk_model *model, unsigned operation, const struct disk_file *file, struct error *err)
{
    if (file->dead) {
        fail(err, file->path, "was open when the power failed");
        return FAIL;
    }
    return judge(model, operation, file->path, err);
}

/* Of the files that a name or a handle still reaches. */
static uint64_t used_bytes(const struct disk_model *model)
{
    uint64_t bytes = 0;
    if (model->capacity == UINT64_MAX) {
        return 0;
    }
    for (const struct model_file *file = model->files; file; file = file->next) {
        bool reached = false;
        for (const struct model_name *name = model->cached; name && !reached; name = name->next) {
            reached = name->file == file;
        }
        for (const struct disk_file *open = model->open; open && !reached; open = open->next) {
            reached = open->file == file;
        }
        bytes += reached ? file->cached.size : 0;
    }
    return bytes;
}

static struct disk_file *open_file(
    struct disk_model *model, const char *path, struct model_file *file, bool appends)
{
    struct disk_file *open = malloc(sizeof(*open));
    model_check(open != NULL);
    *open = (struct disk_file){
        .next = model->open, .file = file, .path = model_copy_text(path), .appends = appends};
    buf_init(&open->held, DISK_MODEL_MAX_FILE);
    model->open = open;
    return open;
}

static struct disk_file *open_read(struct disk *disk, const char *path, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    struct disk_file *open = NULL;
    struct model_file *file = model_named(model->cached, path);
    if (judge(model, DISK_MODEL_OPEN, path, err) != GO_ON) {
        (void)model_leave(model, false);
        return NULL;
    }
    if (file) {
        open = open_file(model, path, file, false);
    } else {
        error_set_os(err, CODE_MISSING, "no such file", "%s: cannot open", path);
    }
    (void)model_leave(model, true);
    return open;
}

static bool has_folder(const struct disk_model *model, const char *path)
{
    for (size_t i = 0; i < model->folder_count; i++) {
        if (model_is_in(path, model->folders[i])) {
            return true;
        }
    }
    return false;
}

static struct disk_file *open_append(struct disk *disk, const char *path, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    enum verdict verdict = judge(model, DISK_MODEL_MAKE, path, err);
    struct model_file *file = model_named(model->cached, path);
    struct disk_file *open = NULL;
    if (verdict == GO_ON && !has_folder(model, path)) {
        verdict = FAIL;
        error_set_os(err, CODE_MISSING, "no such folder", "%s: cannot be made", path);
    }
    if (verdict != FAIL && !file) {
        file = model_add_file(model);
        model_change_name(model, path, file, NULL);
    }
    if (verdict == GO_ON) {
        open = open_file(model, path, file, true);
    }
    (void)model_leave(model, true);
    return open;
}

static bool read_at(struct disk *disk, struct disk_file *file, uint64_t offset, void *data,
    size_t size, size_t *ret_read, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    if (judge_file(model, DISK_MODEL_READ, file, err) != GO_ON) {
        return model_leave(model, false);
    }
    struct span got = buf_span(&file->file->cached);
    got = offset < got.size ? span_first(span_from(got, (size_t)offset), size) : span_make(NULL, 0);
    const struct disk_model_fault *fault = fault_for(model, DISK_MODEL_READ, file->path);
    if (fault && !fault->short_reads) {
        return model_leave(model, fail(err, file->path, "cannot be read"));
    }
    if (fault && got.size) {
        got.size = (size_t)(model_random(model) % got.size);
    }
    if (got.size) {
        memcpy(data, got.data, got.size);
    }
    *ret_read = got.size;
    return model_leave(model, true);
}

/* What fits, or some part of it if the power fails. */
static bool write_piece(struct disk_model *model, struct disk_file *file, uint64_t offset,
    struct span bytes, bool during, struct error *err)
{
    uint64_t used = used_bytes(model);
    uint64_t end = file->file->cached.size;
    uint64_t over = end > offset ? end - offset : 0; /* written over */
    used = used > over ? used - over : 0;
    uint64_t room = model->capacity > used ? model->capacity - used : 0;
    struct span part = span_first(bytes, room < bytes.size ? (size_t)room : bytes.size);
    if (during) {
        part.size = (size_t)(model_random(model) % (part.size + 1));
    }
    if (part.size) {
        model_change_file(file->file, false, offset, part);
    }
    return part.size == bytes.size || during ||
           (error_set_os(err, CODE_FULL, "no space left", "%s: cannot write", file->path),
               err ? (void)(err->code = ERR_FULL) : (void)0, false);
}

/* Write what was held back, as far as that goes; the rest keeps waiting. */
static bool write_held(struct disk_model *model, struct disk_file *file, struct error *err)
{
    struct buf *held = &file->held;
    uint64_t before = file->file ? file->file->cached.size : 0;
    if (held->size == 0) {
        return true;
    }
    enum verdict verdict = judge_file(model, DISK_MODEL_APPEND, file, err);
    if (verdict == FAIL) {
        return false;
    }
    bool good = write_piece(model, file, before, buf_span(held), verdict == FAIL_DURING, err);
    size_t written = (size_t)(file->file->cached.size - before);
    held->size -= written;
    memmove(held->data, held->data + written, held->size);
    return good && verdict == GO_ON;
}

static bool hold_back(struct disk_model *model, struct disk_file *file, const struct span *pieces,
    size_t count, struct error *err)
{
    if (file->dead || model->off) {
        return fail(err, file->path, "there is no disk");
    }
    for (size_t i = 0; i < count; i++) {
        for (struct span left = pieces[i]; left.size;) {
            size_t room = DISK_MODEL_HELD_BYTES - file->held.size;
            struct span part = span_first(left, room < left.size ? room : left.size);
            left = span_from(left, part.size);
            buf_add_span(&file->held, part);
            model_check(!file->held.failed);
            if (file->held.size == DISK_MODEL_HELD_BYTES && !write_held(model, file, err)) {
                return false;
            }
        }
    }
    return true;
}

static bool append(struct disk *disk, struct disk_file *file, const struct span *pieces,
    size_t count, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    if (model->holds_back || file->held.size) {
        return model_leave(model, hold_back(model, file, pieces, count, err));
    }
    enum verdict verdict = judge_file(model, DISK_MODEL_APPEND, file, err);
    bool good = verdict != FAIL;
    for (size_t i = 0; good && i < count; i++) {
        bool during = verdict == FAIL_DURING && model_random(model) % 2;
        good = write_piece(model, file, file->file->cached.size, pieces[i], during, err) && !during;
    }
    return model_leave(model, good && verdict == GO_ON);
}

static void close_file(struct disk *disk, struct disk_file *file)
{
    struct disk_model *model = model_enter(disk);
    for (struct disk_file **at = &model->open; *at; at = &(*at)->next) {
        if (*at == file) {
            *at = file->next;
            break;
        }
    }
    if (!file->dead) {
        write_held(model, file, NULL);
    }
    buf_fini(&file->held);
    free(file->path);
    free(file);
    model_forget_unused(model);
    (void)model_leave(model, true);
}

bool disk_model_write_at(struct disk *disk, struct disk_file *file, uint64_t offset,
    struct span bytes, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    enum verdict verdict = judge_file(model, DISK_MODEL_APPEND, file, err);
    bool good = verdict != FAIL &&
                write_piece(model, file, offset, bytes, verdict == FAIL_DURING, err);
    return model_leave(model, good && verdict == GO_ON);
}

static void expect_reads(struct disk *disk, struct disk_file *open, bool expected)
{
    (void)disk;
    (void)open;
    (void)expected;
}

static bool truncate_file(
    struct disk *disk, struct disk_file *file, uint64_t bytes, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    enum verdict verdict = judge_file(model, DISK_MODEL_TRUNCATE, file, err);
    if (verdict != FAIL) {
        uint64_t written = file->file->cached.size;
        uint64_t waits = bytes > written ? bytes - written : 0;
        file->held.size = waits < file->held.size ? (size_t)waits : file->held.size;
        model_change_file(file->file, true, bytes, span_make(NULL, 0));
    }
    return model_leave(model, verdict == GO_ON);
}

static bool sync_file(struct disk *disk, struct disk_file *file, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    if (!write_held(model, file, err)) {
        return model_leave(model, false);
    }
    enum verdict verdict = judge_file(model, DISK_MODEL_SYNC, file, err);
    if (verdict == GO_ON) {
        /* Not the content that other programs read: what a failed sync lost stays lost. */
        for (const struct model_change *c = file->file->changes; c; c = c->next) {
            model_apply(&file->file->stable, c, 0, c->size);
        }
    } else if (verdict == FAIL_DURING) {
        model_write_some(model, file->file);
    }
    if (verdict != FAIL) {
        model_drop_changes(file->file);
    }
    return model_leave(model, verdict == GO_ON);
}

static bool find(
    struct disk *disk, const char *path, bool *ret_there, uint64_t *ret_bytes, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    if (!model->hidden && judge(model, DISK_MODEL_FIND, path, err) != GO_ON) {
        return model_leave(model, false);
    }
    const struct model_file *file = model->hidden ? NULL : model_named(model->cached, path);
    *ret_there = file != NULL;
    *ret_bytes = file ? file->cached.size : 0;
    return model_leave(model, true);
}

static bool unlink_file(struct disk *disk, const char *path, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    enum verdict verdict = judge(model, DISK_MODEL_UNLINK, path, err);
    if (verdict != FAIL && model_named(model->cached, path)) {
        model_change_name(model, path, NULL, NULL);
    }
    return model_leave(model, verdict == GO_ON);
}

static bool rename_file(struct disk *disk, const char *from, const char *to, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    enum verdict verdict = judge(model, DISK_MODEL_RENAME, from, err);
    struct model_file *file = model_named(model->cached, from);
    if (verdict == GO_ON && (!file || !has_folder(model, to))) {
        verdict = FAIL;
        error_set_os(err, CODE_MISSING, "no such file", "%s: cannot be renamed", from);
    }
    if (verdict != FAIL && file) {
        model_change_name(model, to, file, from);
    }
    return model_leave(model, verdict == GO_ON);
}

static bool list(struct disk *disk, const char *folder, bool (*each)(void *self, const char *name),
    void *self, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    bool good = judge(model, DISK_MODEL_LIST, folder, err) == GO_ON;
    bool known = false;
    for (size_t i = 0; i < model->folder_count; i++) {
        known = known || strcmp(model->folders[i], folder) == 0;
    }
    if (good && !known) {
        good = error_set_os(err, CODE_MISSING, "no such folder", "%s: cannot be read", folder);
    }
    /* ${each} may use the disk. */
    char *names[1024];
    size_t count = 0;
    for (const struct model_name *n = model->cached; good && n; n = n->next) {
        if (model_is_in(n->path, folder)) {
            model_check(count < sizeof(names) / sizeof(names[0]));
            names[count++] = model_copy_text(n->path + strlen(folder) + 1);
        }
    }
    (void)model_leave(model, true);
    bool more = true;
    for (size_t i = 0; i < count; i++) {
        more = more && each(self, names[i]);
        free(names[i]);
    }
    return good;
}

static bool make_folder(struct disk *disk, const char *folder, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    bool good = judge(model, DISK_MODEL_MAKE_FOLDER, folder, err) == GO_ON;
    bool known = false;
    for (size_t i = 0; i < model->folder_count; i++) {
        known = known || strcmp(model->folders[i], folder) == 0;
    }
    if (good && !known) {
        model_check(model->folder_count < sizeof(model->folders) / sizeof(model->folders[0]));
        model->folders[model->folder_count++] = model_copy_text(folder);
    }
    return model_leave(model, good);
}

static bool concerns(const struct model_naming *naming, const char *folder)
{
    return model_is_in(naming->path, folder) || (naming->also && model_is_in(naming->also, folder));
}

static bool sync_folder(struct disk *disk, const char *folder, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    if (judge(model, DISK_MODEL_SYNC_FOLDER, folder, err) != GO_ON) {
        return model_leave(model, false);
    }
    struct model_naming **at = &model->namings;
    while (*at) {
        struct model_naming *naming = *at;
        if (!concerns(naming, folder)) {
            at = &naming->next;
            continue;
        }
        *at = naming->next;
        model_apply_naming(&model->stable, naming);
        model_free_naming(naming);
    }
    model->last_naming = at;
    model_forget_unused(model);
    return model_leave(model, true);
}

static bool free_bytes(
    struct disk *disk, const char *folder, uint64_t *ret_bytes, struct error *err)
{
    struct disk_model *model = model_enter(disk);
    if (judge(model, DISK_MODEL_FREE_BYTES, folder, err) != GO_ON) {
        return model_leave(model, false);
    }
    uint64_t used = used_bytes(model);
    *ret_bytes = model->capacity > used ? model->capacity - used : 0;
    return model_leave(model, true);
}

const struct disk_ops model_ops = {
    .open_read = open_read,
    .open_append = open_append,
    .close = close_file,
    .read_at = read_at,
    .append = append,
    .expect_reads = expect_reads,
    .truncate = truncate_file,
    .sync = sync_file,
    .find = find,
    .unlink = unlink_file,
    .rename = rename_file,
    .list = list,
    .make_folder = make_folder,
    .sync_folder = sync_folder,
    .free_bytes = free_bytes,
};
