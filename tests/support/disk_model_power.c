/* What a loss of power leaves of a model's disk. */
#include <stdlib.h>

#include "support/disk_model_own.h"

/* Bytes from ${from} to ${to} of a change; in between what lay there before, or zeros. */
void model_apply(struct buf *content, const struct model_change *change, size_t from, size_t to)
{
    if (change->cut) {
        if (content->size > change->offset) {
            content->size = (size_t)change->offset;
        }
        return;
    }
    size_t end = (size_t)change->offset + to;
    if (content->size < end) {
        size_t gap = end - content->size;
        model_check(buf_reserve(content, gap));
        memset(content->data + content->size, 0, gap);
        content->size = end;
    }
    memcpy(content->data + change->offset + from, change->data + from, to - from);
}

/* The file is longer on the disk than what was written to it. */
static void lengthen(struct disk_model *model, struct buf *content, uint64_t size)
{
    bool old = model_random(model) % 2;
    while (content->size < size) {
        uint8_t byte = old && content->size < model->grave.size ? model->grave.data[content->size]
                                                                : 0;
        buf_add_byte(content, byte);
    }
    model_check(!content->failed);
}

static void write_sectors(
    struct disk_model *model, struct buf *content, const struct model_change *change, unsigned odds)
{
    for (size_t from = 0; from < change->size;) {
        size_t in_sector = (size_t)(change->offset + from) % DISK_MODEL_SECTOR;
        size_t to = from + (DISK_MODEL_SECTOR - in_sector);
        to = to < change->size ? to : change->size;
        if (model_random(model) % 4 < odds) {
            if (content->size < change->offset + from) {
                lengthen(model, content, change->offset + from);
            }
            model_apply(content, change, from, to);
        }
        from = to;
    }
}

void model_write_some(struct disk_model *model, struct model_file *file)
{
    unsigned odds = (unsigned)(model_random(model) % 5); /* none … all, of 4 */
    for (const struct model_change *c = file->changes; c; c = c->next) {
        if (!c->cut) {
            write_sectors(model, &file->stable, c, odds);
        } else if (model_random(model) % 4 < odds) {
            model_apply(&file->stable, c, 0, 0);
        }
    }
    /* The size alone. */
    if (model_random(model) % 4 == 0) {
        lengthen(model, &file->stable, file->cached.size);
    }
}

static void write_names(struct disk_model *model, enum disk_model_loss loss)
{
    bool ordered = model_random(model) % 2;
    bool more = true;
    while (model->namings) {
        struct model_naming *naming = model->namings;
        model->namings = naming->next;
        bool done = model_random(model) % 2;
        more = more && done;
        if (loss == DISK_MODEL_KEEP_ALL ||
            (loss == DISK_MODEL_LOSE_SOME && (ordered ? more : done))) {
            model_apply_naming(&model->stable, naming);
        }
        model_free_naming(naming);
    }
    model->last_naming = &model->namings;
}

static void write_files(struct disk_model *model, enum disk_model_loss loss)
{
    for (struct model_file *file = model->files; file; file = file->next) {
        if (loss == DISK_MODEL_KEEP_ALL) {
            model_copy(&file->stable, &file->cached);
        } else if (loss == DISK_MODEL_LOSE_SOME) {
            model_write_some(model, file);
        }
        model_drop_changes(file);
        model_copy(&file->cached, &file->stable);
    }
}

void disk_model_restart(struct disk_model *model, enum disk_model_loss loss)
{
    plat_mutex_lock(&model->lock);
    write_files(model, loss);
    write_names(model, loss);
    model_free_names(&model->cached);
    for (const struct model_name *name = model->stable; name; name = name->next) {
        model_give_name(&model->cached, name->path, name->file);
    }
    for (struct disk_file *open = model->open; open; open = open->next) {
        open->dead = true;
        open->file = NULL;
    }
    model->off = false;
    model->power_off_at = UINT64_MAX;
    model_forget_unused(model);
    plat_mutex_unlock(&model->lock);
}
