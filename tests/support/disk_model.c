#include "support/disk_model.h"

#include <stdlib.h>

#include "support/disk_model_own.h"

/* xorshift64* (Vigna 2014). */
uint64_t model_random(struct disk_model *model)
{
    uint64_t x = model->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    model->random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

char *model_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    model_check(copy != NULL);
    memcpy(copy, text, size);
    return copy;
}

void model_copy(struct buf *to, const struct buf *from)
{
    buf_reset(to);
    buf_add(to, from->data, from->size);
    model_check(!to->failed);
}

/* ---- names ---- */

struct model_file *model_named(const struct model_name *names, const char *path)
{
    for (; names; names = names->next) {
        if (strcmp(names->path, path) == 0) {
            return names->file;
        }
    }
    return NULL;
}

void model_take_name(struct model_name **names, const char *path)
{
    for (; *names; names = &(*names)->next) {
        if (strcmp((*names)->path, path) == 0) {
            struct model_name *gone = *names;
            *names = gone->next;
            free(gone->path);
            free(gone);
            return;
        }
    }
}

void model_give_name(struct model_name **names, const char *path, struct model_file *file)
{
    model_take_name(names, path);
    struct model_name *name = malloc(sizeof(*name));
    model_check(name != NULL);
    *name = (struct model_name){.next = *names, .path = model_copy_text(path), .file = file};
    *names = name;
}

void model_free_names(struct model_name **names)
{
    while (*names) {
        model_take_name(names, (*names)->path);
    }
}

void model_apply_naming(struct model_name **names, const struct model_naming *naming)
{
    if (naming->also) {
        model_take_name(names, naming->also);
    }
    if (naming->file) {
        model_give_name(names, naming->path, naming->file);
    } else {
        model_take_name(names, naming->path);
    }
}

void model_free_naming(struct model_naming *naming)
{
    free(naming->path);
    free(naming->also);
    free(naming);
}

bool model_is_in(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 && path[size] == '/' && !strchr(path + size + 1, '/');
}

/* Now for everybody, on the disk when the folder is synced. */
void model_change_name(
    struct disk_model *model, const char *path, struct model_file *file, const char *also)
{
    struct model_naming *naming = malloc(sizeof(*naming));
    model_check(naming != NULL);
    *naming = (struct model_naming){
        .path = model_copy_text(path), .also = also ? model_copy_text(also) : NULL, .file = file};
    *model->last_naming = naming;
    model->last_naming = &naming->next;
    model_apply_naming(&model->cached, naming);
}

/* ---- files ---- */

void model_drop_changes(struct model_file *file)
{
    while (file->changes) {
        struct model_change *change = file->changes;
        file->changes = change->next;
        free(change);
    }
    file->last_change = &file->changes;
}

void model_change_file(struct model_file *file, bool cut, uint64_t offset, struct span bytes)
{
    struct model_change *change = malloc(sizeof(*change) + bytes.size);
    model_check(change != NULL);
    change->next = NULL;
    change->cut = cut;
    change->offset = offset;
    change->size = bytes.size;
    if (bytes.size) {
        memcpy(change->data, bytes.data, bytes.size);
    }
    *file->last_change = change;
    file->last_change = &change->next;
    model_apply(&file->cached, change, 0, bytes.size);
}

struct model_file *model_add_file(struct disk_model *model)
{
    struct model_file *file = calloc(1, sizeof(*file));
    model_check(file != NULL);
    buf_init(&file->cached, DISK_MODEL_MAX_FILE);
    buf_init(&file->stable, DISK_MODEL_MAX_FILE);
    file->last_change = &file->changes;
    file->next = model->files;
    model->files = file;
    return file;
}

static void free_file(struct model_file *file)
{
    model_drop_changes(file);
    buf_fini(&file->cached);
    buf_fini(&file->stable);
    free(file);
}

static bool is_used(const struct disk_model *model, const struct model_file *file)
{
    for (const struct disk_file *open = model->open; open; open = open->next) {
        if (open->file == file) {
            return true;
        }
    }
    for (const struct model_name *name = model->cached; name; name = name->next) {
        if (name->file == file) {
            return true;
        }
    }
    for (const struct model_name *name = model->stable; name; name = name->next) {
        if (name->file == file) {
            return true;
        }
    }
    for (const struct model_naming *naming = model->namings; naming; naming = naming->next) {
        if (naming->file == file) {
            return true;
        }
    }
    return false;
}

/* Free files without a name, in memory or on the disk, that are not open. */
void model_forget_unused(struct disk_model *model)
{
    struct model_file **at = &model->files;
    while (*at) {
        struct model_file *file = *at;
        if (is_used(model, file)) {
            at = &file->next;
            continue;
        }
        *at = file->next;
        if (file->stable.size) {
            model_copy(&model->grave, &file->stable);
        }
        free_file(file);
    }
}

struct disk_model *model_enter(struct disk *disk)
{
    struct disk_model *model = (struct disk_model *)disk;
    plat_mutex_lock(&model->lock);
    return model;
}

bool model_leave(struct disk_model *model, bool good)
{
    plat_mutex_unlock(&model->lock);
    return good;
}

/* ---- the model ---- */

struct disk_model *disk_model_create(uint64_t seed)
{
    struct disk_model *model = calloc(1, sizeof(*model));
    model_check(model != NULL);
    model->disk.ops = &model_ops;
    model->random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    model->last_naming = &model->namings;
    model->capacity = UINT64_MAX;
    model->power_off_at = UINT64_MAX;
    buf_init(&model->grave, DISK_MODEL_MAX_FILE);
    plat_mutex_init(&model->lock);
    return model;
}

void disk_model_destroy(struct disk_model *model)
{
    while (model->open) {
        model_ops.close(&model->disk, model->open);
    }
    while (model->namings) {
        struct model_naming *naming = model->namings;
        model->namings = naming->next;
        model_free_naming(naming);
    }
    model_free_names(&model->cached);
    model_free_names(&model->stable);
    while (model->files) {
        struct model_file *file = model->files;
        model->files = file->next;
        free_file(file);
    }
    for (size_t i = 0; i < model->folder_count; i++) {
        free(model->folders[i]);
    }
    buf_fini(&model->grave);
    plat_mutex_fini(&model->lock);
    free(model);
}

struct disk *disk_model_disk(struct disk_model *model)
{
    return &model->disk;
}

uint64_t disk_model_changes(struct disk_model *model)
{
    model_enter(&model->disk);
    uint64_t changes = model->changes;
    (void)model_leave(model, true);
    return changes;
}

void disk_model_power_off_at(struct disk_model *model, uint64_t change)
{
    model_enter(&model->disk);
    model->power_off_at = change;
    (void)model_leave(model, true);
}

bool disk_model_is_off(struct disk_model *model)
{
    model_enter(&model->disk);
    return model_leave(model, model->off);
}

void disk_model_set_capacity(struct disk_model *model, uint64_t bytes)
{
    model_enter(&model->disk);
    model->capacity = bytes;
    (void)model_leave(model, true);
}

void disk_model_fail(struct disk_model *model, const struct disk_model_fault *fault)
{
    model_enter(&model->disk);
    model_check(model->fault_count < DISK_MODEL_FAULTS);
    model->faults[model->fault_count++] = (struct model_fault){.fault = *fault};
    (void)model_leave(model, true);
}

void disk_model_heal(struct disk_model *model)
{
    model_enter(&model->disk);
    model->fault_count = 0;
    (void)model_leave(model, true);
}

void disk_model_hold_back(struct disk_model *model, bool holds_back)
{
    model_enter(&model->disk);
    model->holds_back = holds_back;
    (void)model_leave(model, true);
}

struct span disk_model_content(struct disk_model *model, const char *path)
{
    model_enter(&model->disk);
    const struct model_file *file = model_named(model->cached, path);
    struct span content = file ? buf_span(&file->cached) : span_make(NULL, 0);
    (void)model_leave(model, true);
    return content;
}

bool disk_model_remove(struct disk_model *model, const char *path)
{
    model_enter(&model->disk);
    bool there = model_named(model->cached, path) != NULL;
    model_take_name(&model->cached, path);
    model_take_name(&model->stable, path);
    model_forget_unused(model);
    return model_leave(model, there);
}

void disk_model_put(struct disk_model *model, const char *path, struct span content)
{
    model_enter(&model->disk);
    struct model_file *file = model_add_file(model);
    buf_add_span(&file->cached, content);
    buf_add_span(&file->stable, content);
    model_check(!file->cached.failed && !file->stable.failed);
    model_give_name(&model->cached, path, file);
    model_give_name(&model->stable, path, file);
    model_forget_unused(model);
    (void)model_leave(model, true);
}

bool disk_model_flip(struct disk_model *model, const char *path, uint64_t offset, uint8_t bits)
{
    model_enter(&model->disk);
    struct model_file *file = model_named(model->cached, path);
    bool good = file && offset < file->cached.size;
    if (good) {
        file->cached.data[offset] ^= bits;
    }
    if (good && offset < file->stable.size) {
        file->stable.data[offset] ^= bits;
    }
    return model_leave(model, good);
}

void disk_model_hide(struct disk_model *model, bool hidden)
{
    model_enter(&model->disk);
    model->hidden = hidden;
    (void)model_leave(model, true);
}

size_t disk_model_open_files(struct disk_model *model)
{
    model_enter(&model->disk);
    size_t count = 0;
    for (const struct disk_file *open = model->open; open; open = open->next) {
        count++;
    }
    (void)model_leave(model, true);
    return count;
}
