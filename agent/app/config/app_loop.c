#include "app/config/app_loop.h"

#include "base/text/glob.h"
#include "platform/plat_file.h"
#include "platform/plat_system.h"

/*
 * Two checks: by names, also of files that do not exist yet, and by the files that the names lead
 * to. A path template stands for many names. If the session's path is not a pattern, the variable
 * parts of the template become patterns; else they become an example name.
 */
enum { PATH_SIZE = 4096 };

/* ---- by name --------------------------------------------------------------------------------- */

/* ${template} with ${filler} in place of each row of dates and fields; empty if it is too long. */
static struct span fill(const char *template, char filler, char *path)
{
    size_t used = 0;
    bool filled = false;
    for (const char *c = template; *c; c++) {
        bool literal = (*c == '%' || *c == '{' || *c == '}') && c[1] == *c;
        const char *close = *c == '{' ? strchr(c, '}') : NULL;
        bool is_part = !literal && (close || (*c == '%' && c[1]));
        if (used == PATH_SIZE) {
            return span_make(path, 0);
        }
        if (!is_part || !filled) {
            path[used++] = is_part ? filler : *c;
        }
        filled = is_part;
        c = is_part && close ? close : c + (literal || is_part);
    }
    return span_make(path, used);
}

static bool is_wild(struct span path)
{
    return path.size && (memchr(path.data, '*', path.size) || memchr(path.data, '?', path.size));
}

static bool matches(struct span pattern, struct span path)
{
    return glob_match_path(pattern, path, "/\\", plat_has_etw());
}

static bool is_read_by_name(const char *target, struct span pattern)
{
    char path[PATH_SIZE];
    return is_wild(pattern) ? matches(pattern, fill(target, 'x', path))
                            : matches(fill(target, '*', path), pattern);
}

static size_t folder_size(struct span path)
{
    size_t size = path.size;
    while (size && path.data[size - 1] != '/' && path.data[size - 1] != '\\') {
        size--;
    }
    return size;
}

/* Does ${pattern} match some file of ${written}, which is a template? */
static bool is_watched(struct span pattern, struct span written)
{
    char path[PATH_SIZE];
    size_t folder = folder_size(pattern);
    struct span name = span_from(written, folder_size(written));
    if (name.size == 0 || folder + name.size > sizeof(path) ||
        !is_wild(span_from(pattern, folder))) {
        return false;
    }
    memcpy(path, pattern.data, folder);
    memcpy(path + folder, name.data, name.size);
    return matches(span_make(path, folder + name.size), written);
}

/* ---- by file --------------------------------------------------------------------------------- */

struct search {
    struct plat_file_id id;
    bool found;
};

static bool compare(void *self, const char *path)
{
    struct search *search = self;
    struct plat_file_id id;
    search->found = plat_file_id_at(path, &id) && memcmp(&id, &search->id, sizeof(id)) == 0;
    return !search->found;
}

static bool is_read_by_file(const struct plat_file_id *id, const char *pattern)
{
    struct search search = {.id = *id, .found = false};
    plat_glob(pattern, compare, &search, NULL);
    return search.found;
}

/* Without a creation time, an id is not reason enough to refuse a file. */
static bool find_file(const char *path, struct plat_file_id *ret_id)
{
    return plat_file_id_at(path, ret_id) && ret_id->born;
}

bool app_loop_is_read(const char *pattern, const char *path)
{
    struct plat_file_id id;
    return matches(span_text(pattern), span_text(path)) ||
           (find_file(path, &id) && is_read_by_file(&id, pattern));
}

enum app_loop app_loop_find(
    const struct app_output *output, const struct app_session *session, const char **ret_pattern)
{
    const char *target = output->enabled ? app_config_target(output) : NULL;
    const struct config_strings *paths = target && session->enabled ? app_config_paths(session)
                                                                    : NULL;
    enum app_loop worst = APP_LOOP_NONE;
    char path[PATH_SIZE];
    struct plat_file_id id;
    bool is_there = paths && find_file(target, &id);
    for (size_t i = 0; paths && i < paths->count && worst != APP_LOOP_READ; i++) {
        const char *pattern = paths->items[i];
        bool is_read = is_read_by_name(target, span_text(pattern)) ||
                       (is_there && is_read_by_file(&id, pattern));
        if (is_read || is_watched(span_text(pattern), fill(target, 'x', path))) {
            worst = is_read ? APP_LOOP_READ : APP_LOOP_WATCHED;
            *ret_pattern = pattern;
        }
    }
    return worst;
}
