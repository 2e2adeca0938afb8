#include "outputs/file/file_marks.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/grow.h"
#include "outputs/file/file_number.h"
#include "platform/plat_path.h"
#include "platform/plat_rights.h"

/*
 * A line: identity (file, born) and size of the base as hexadecimal numbers, and the path. A later
 * line replaces an earlier one of the same path. Removals are not written: the reader checks that
 * the file exists and has that identity.
 */
static const char head[] = "etwship marks 1\n";

enum { MAX_PATH_BYTES = 32 * 1024, SPARE_LINES = 1024, DIGITS = 16 };

struct file_mark {
    struct plat_file_id id;
    size_t base_size;
    size_t size;
    bool dead;
    char path[];
};

void file_marks_init(struct file_marks *marks, size_t max, bool syncs)
{
    *marks = (struct file_marks){.max = max, .syncs = syncs};
    map_init(&marks->by_path, (size_t)4 * FILE_MARKS_MAX); /* dead ones stay until they are swept */
}

void file_marks_close(struct file_marks *marks)
{
    plat_file_close(marks->file);
    marks->file = NULL;
}

void file_marks_fini(struct file_marks *marks)
{
    file_marks_close(marks);
    for (size_t i = 0; i < marks->count; i++) {
        free(marks->list[i]);
    }
    free(marks->list);
    free(marks->path);
    map_fini(&marks->by_path);
    *marks = (struct file_marks){.path = NULL};
}

/* ---- in memory ------------------------------------------------------------------------------- */

static struct span path_of(const struct file_mark *mark)
{
    return span_make(mark->path, mark->size);
}

/* NULL: out of memory, or too many. */
static struct file_mark *make(struct file_marks *marks, struct span path)
{
    bool has_room = grow_list(&marks->list, marks->count, &marks->capacity, sizeof(*marks->list));
    struct file_mark *mark = has_room ? calloc(1, sizeof(*mark) + path.size + 1) : NULL;
    if (!mark) {
        return NULL;
    }
    memcpy(mark->path, path.data, path.size);
    mark->size = path.size;
    if (!map_put(&marks->by_path, path_of(mark), mark)) {
        free(mark);
        return NULL;
    }
    marks->list[marks->count++] = mark;
    return mark;
}

static bool take(struct file_marks *marks, struct span path, size_t base_size,
    const struct plat_file_id *id, struct error *err)
{
    struct file_mark *mark = map_get(&marks->by_path, path);
    if (!mark) {
        mark = make(marks, path);
    } else if (mark->dead) {
        marks->dead--;
    }
    if (!mark) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    mark->id = *id;
    mark->base_size = base_size;
    mark->dead = false;
    return true;
}

static void kill_mark(struct file_marks *marks, struct file_mark *mark)
{
    marks->dead += !mark->dead;
    mark->dead = true;
}

void file_marks_remove(struct file_marks *marks, struct span path)
{
    struct file_mark *mark = map_get(&marks->by_path, path);
    if (mark) {
        kill_mark(marks, mark);
    }
}

bool file_marks_has(const struct file_marks *marks, struct span path, size_t base_size,
    const struct plat_file_id *id)
{
    const struct file_mark *mark = map_get(&marks->by_path, path);
    return mark && !mark->dead && mark->base_size == base_size && plat_file_id_equal(&mark->id, id);
}

bool file_marks_is_file(const char *path)
{
    struct plat_rights rights;
    if (!plat_rights_read(path, &rights, NULL)) {
        return false;
    }
    bool is_file = rights.kind == PLAT_RIGHTS_FILE;
    plat_rights_fini(&rights);
    return is_file;
}

bool file_marks_has_at(const struct file_marks *marks, const char *path, size_t base_size)
{
    struct plat_file_id id;
    return map_get(&marks->by_path, span_text(path)) && file_marks_is_file(path) &&
           plat_file_id_at(path, &id) && file_marks_has(marks, span_text(path), base_size, &id);
}

/* Drop the oldest marks beyond the limit. */
static void remove_oldest(struct file_marks *marks)
{
    size_t live = 0;
    for (size_t i = marks->count; i-- > 0;) {
        struct file_mark *mark = marks->list[i];
        if (!mark->dead && ++live > marks->max) {
            kill_mark(marks, mark);
        }
    }
}

static void sweep(struct file_marks *marks)
{
    size_t kept = 0;
    map_clear(&marks->by_path);
    for (size_t i = 0; i < marks->count; i++) {
        struct file_mark *mark = marks->list[i];
        if (mark->dead) {
            free(mark);
        } else {
            marks->list[kept++] = mark;
            /* cannot fail: the map was larger before */
            map_put(&marks->by_path, path_of(mark), mark);
        }
    }
    marks->count = kept;
    marks->dead = 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void write_line(const struct file_mark *mark, struct buf *out)
{
    buf_printf(out, "%llx %llx %zx %s\n", (unsigned long long)mark->id.file,
        (unsigned long long)mark->id.born, mark->base_size, mark->path);
}

static bool read_number(struct span *text, uint64_t *ret_number)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    uint64_t number = 0;
    while (at < text->size && at < DIGITS && text->data[at] && strchr(digits, text->data[at])) {
        number = number * 16 + (uint64_t)(strchr(digits, text->data[at++]) - digits);
    }
    if (at == 0 || at >= text->size || text->data[at] != ' ') {
        return false;
    }
    *text = span_from(*text, at + 1);
    *ret_number = number;
    return true;
}

/* Malformed lines are skipped. False: out of memory, or too many. */
static bool read_line(struct file_marks *marks, struct span line, struct error *err)
{
    struct plat_file_id id;
    uint64_t base_size;
    if (!read_number(&line, &id.file) || !read_number(&line, &id.born) ||
        !read_number(&line, &base_size) || line.size == 0 || line.size > MAX_PATH_BYTES ||
        base_size == 0 || base_size > line.size || memchr(line.data, 0, line.size)) {
        return true;
    }
    return take(marks, line, (size_t)base_size, &id, err);
}

static bool read_lines(struct file_marks *marks, struct span text, struct error *err)
{
    size_t size = sizeof(head) - 1;
    if (!span_is(span_first(text, size), head)) {
        marks->is_other = true;
        return true;
    }
    text = span_from(text, size);
    while (text.size) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        if (!end) {
            return true; /* the line was cut off */
        }
        size = (size_t)(end - text.data);
        if (!read_line(marks, span_first(text, size), err)) {
            return false;
        }
        marks->lines++;
        text = span_from(text, size + 1);
    }
    return true;
}

/* ---- the file of lines ----------------------------------------------------------------------- */

/* The file must not be writable by others: they could make the output remove files. With access
 * lists, the check of the folder covers this. */
static bool is_safe(const char *path)
{
    enum { OTHERS_WRITE = 022 };
    struct plat_rights rights;
    struct plat_rights_self self;
    if (!plat_rights_read(path, &rights, NULL)) {
        return false;
    }
    plat_rights_self(&self);
    bool good = rights.kind == PLAT_RIGHTS_FILE;
    if (!self.has_sids) {
        good = good && (rights.owner == self.user || rights.owner == 0) &&
               !(rights.mode & OTHERS_WRITE);
    }
    plat_rights_fini(&rights);
    return good;
}

/* Two outputs that write to one folder have different names, and so do not share their marks. */
static uint64_t hash(const char *text)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text; text++) {
        value = (value ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    }
    return value;
}

static bool set_path(struct file_marks *marks, const char *folder, const char *prefix,
    const char *name, struct error *err)
{
    size_t size = strlen(folder) + strlen(prefix) + 64;
    marks->path = malloc(size);
    if (!marks->path) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    size_t end = strlen(folder);
    bool ends = end && (folder[end - 1] == '/' || folder[end - 1] == '\\');
    snprintf(marks->path, size, "%s%s%s%016llx.files", folder, ends ? "" : "/", prefix,
        (unsigned long long)hash(name));
    return true;
}

bool file_marks_load(struct file_marks *marks, const char *folder, const char *prefix,
    const char *name, struct error *err)
{
    char *text;
    size_t size;
    if (!set_path(marks, folder, prefix, name, err)) {
        return false;
    }
    if (plat_path_kind(marks->path) != PLAT_PATH_FILE || !is_safe(marks->path)) {
        return true;
    }
    if (!plat_file_load(marks->path, FILE_MARKS_MAX_BYTES, &text, &size, err)) {
        return false;
    }
    bool good = read_lines(marks, span_make(text, size), err);
    free(text);
    for (size_t i = 0; good && i < marks->count; i++) {
        struct file_mark *mark = marks->list[i];
        if (!file_marks_has_at(marks, mark->path, mark->base_size)) {
            kill_mark(marks, mark);
        }
    }
    sweep(marks);
    return good;
}

static bool make_folder(const char *path, struct error *err)
{
    char *folder = file_number_folder(path);
    if (!folder) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool good = plat_path_kind(folder) == PLAT_PATH_DIR || plat_dir_create_private(folder, err);
    free(folder);
    return good;
}

static bool open_lines(struct file_marks *marks, struct error *err)
{
    uint64_t bytes = 0;
    if (marks->file || !marks->path) {
        return true;
    }
    if (!make_folder(marks->path, err)) {
        return false;
    }
    if (plat_path_kind(marks->path) == PLAT_PATH_FILE && !is_safe(marks->path)) {
        return error_set(err, ERR_CONFIG,
            "%s: others can write it, so it could make etwship remove files. remove it, or write "
            "elsewhere",
            marks->path);
    }
    marks->file = plat_file_open(marks->path, PLAT_FILE_APPEND, err);
    if (marks->file && !plat_file_lock(marks->file, err)) {
        file_marks_close(marks);
        return false;
    }
    bool good = marks->file && (!marks->is_other || plat_file_truncate(marks->file, 0, err)) &&
                plat_file_size(marks->file, &bytes, err) &&
                /* The line break ends a line that a kill cut off. */
                plat_file_write(marks->file, span_text(bytes ? "\n" : head), err);
    if (!good) {
        if (marks->file && bytes == 0) {
            plat_file_truncate(marks->file, 0, NULL); /* avoid a partial header */
        }
        file_marks_close(marks);
        return false;
    }
    marks->is_other = false;
    return true;
}

/* Rewrite the file from the marks in memory. */
static bool write_anew(struct file_marks *marks, struct error *err)
{
    struct buf text;
    remove_oldest(marks);
    sweep(marks);
    buf_init(&text, FILE_MARKS_MAX_BYTES);
    buf_add_text(&text, head);
    for (size_t i = 0; i < marks->count; i++) {
        write_line(marks->list[i], &text);
    }
    file_marks_close(marks); /* Windows replaces no open file */
    bool good = text.failed   ? error_set(err, ERR_MEMORY, "out of memory")
                : marks->path ? plat_file_replace(marks->path, buf_span(&text), err)
                              : true;
    buf_fini(&text);
    if (good) {
        marks->lines = marks->count;
    }
    return good;
}

static bool add_line(struct file_marks *marks, struct span path, struct error *err)
{
    struct buf line;
    buf_init(&line, (size_t)MAX_PATH_BYTES + 128);
    write_line(map_get(&marks->by_path, path), &line);
    bool good = !line.failed ||
                error_set(err, ERR_LIMIT, "%.100s…: the path is too long", (const char *)path.data);
    good = good && (!marks->file || (plat_file_write(marks->file, buf_span(&line), err) &&
                                        (!marks->syncs || plat_file_sync(marks->file, err))));
    buf_fini(&line);
    marks->lines += good;
    return good;
}

bool file_marks_add(struct file_marks *marks, struct span path, size_t base_size,
    const struct plat_file_id *id, struct error *err)
{
    if (file_marks_has(marks, path, base_size, id)) {
        return true;
    }
    if (!open_lines(marks, err) || !take(marks, path, base_size, id, err)) {
        return false;
    }
    size_t live = marks->count - marks->dead;
    if (marks->lines > 2 * live + SPARE_LINES || live > marks->max + SPARE_LINES) {
        return write_anew(marks, err);
    }
    if (!add_line(marks, path, err)) {
        file_marks_close(marks); /* a line that was cut off is closed at the next opening */
        file_marks_remove(marks, path);
        return false;
    }
    return true;
}
