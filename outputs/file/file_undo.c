#include "outputs/file/file_undo.h"

#include <stdlib.h>

#include "outputs/file/file_number.h"
#include "platform/plat_path.h"

struct rotated {
    struct plat_file_id wanted;
    uint64_t number; /* that the file has now; 0: none */
    char *path;
    uint64_t above; /* removing what has higher numbers than this */
    struct file_marks *marks;
    size_t base_size;
    struct error *err;
    bool failed;
};

static bool find_wanted(void *self_, const char *path, struct file_number number)
{
    struct rotated *self = self_;
    struct plat_file_id id;
    if (number.compressed || !file_marks_is_file(path) || !plat_file_id_at(path, &id) ||
        !plat_file_id_equal(&id, &self->wanted)) {
        return true;
    }
    self->path = span_copy(span_text(path));
    self->number = number.number;
    return false;
}

static bool remove_later(void *self_, const char *path, struct file_number number)
{
    struct rotated *self = self_;
    if (number.number <= self->above || !self->marks ||
        !file_marks_has_at(self->marks, path, self->base_size)) {
        return true;
    }
    if (!plat_path_remove(path, self->err)) {
        self->failed = true;
        return false;
    }
    file_marks_remove(self->marks, span_text(path));
    return true;
}

/* True if the file at ${path}, begun after a rotation, may be removed: marked, or empty after a
 * kill between creation and mark. */
static bool is_removable(const struct file_marks *marks, const char *path)
{
    bool is_file = file_marks_is_file(path);
    uint64_t bytes = 1;
    return is_file && ((marks && file_marks_has_at(marks, path, strlen(path))) ||
                          (plat_path_find(path, &is_file, &bytes, NULL) && bytes == 0));
}

bool file_undo_cut(
    const char *path, uint64_t bytes, bool syncs, uint64_t *ret_bytes, struct error *err)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_APPEND, err);
    bool good = file && plat_file_lock(file, err) && plat_file_size(file, ret_bytes, err) &&
                (*ret_bytes <= bytes || (plat_file_truncate(file, bytes, err) &&
                                            (!syncs || plat_file_sync(file, err))));
    plat_file_close(file);
    return good;
}

/* Rename the rotated file ${found} back, or truncate it at its place. ${ret_back}: renamed. */
static bool give_back(
    const struct file_undo_left *left, struct rotated *found, bool *ret_back, struct error *err)
{
    struct error reason = {0};
    uint64_t file_bytes;
    found->above = found->number;
    if ((is_removable(found->marks, left->path) && !plat_path_remove(left->path, err)) ||
        !file_number_each(left->path, remove_later, found, err) || found->failed) {
        return false;
    }
    *ret_back = plat_path_rename_new(found->path, left->path, &reason);
    if (!*ret_back && reason.code == ERR_BUSY) {
        return file_undo_cut(found->path, left->bytes, left->syncs, &file_bytes, err);
    }
    if (*ret_back && found->marks) {
        file_marks_remove(found->marks, span_text(found->path));
    }
    if (!*ret_back && err) {
        *err = reason;
    }
    return *ret_back;
}

bool file_undo_rotation(
    struct file_marks *marks, const struct file_undo_left *left, bool *ret_back, struct error *err)
{
    struct rotated found = {
        .wanted = left->id, .marks = marks, .base_size = strlen(left->path), .err = err};
    bool good = file_number_each(left->path, find_wanted, &found, err);
    *ret_back = false;
    if (good && found.path) {
        good = give_back(left, &found, ret_back, err);
    }
    free(found.path);
    return good;
}
