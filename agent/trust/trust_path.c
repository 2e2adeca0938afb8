#include "trust/trust_path.h"

#include <stdio.h>

#include "trust/descriptor.h"
#include "trust/mode.h"
#include "trust/reparse.h"

/*
 * The path is resolved as the system does: `done` is the resolved part without links, `rest` the
 * remaining part. A link's target is prepended to the rest. So links within links are judged like
 * any other name, and `..` has the same meaning as for the system.
 */

enum { MAX_LINKS = 40 }; /* as Linux */

struct walk {
    const struct trust_system *system;
    enum trust_use use;
    char done[TRUST_PATH_BYTES];
    char rest[TRUST_PATH_BYTES];
    size_t root; /* bytes of `done` that are the root */
    unsigned links;
    bool is_judged; /* the end itself */
    struct trust_finding *finding;
};

static bool is_separator(const struct walk *w, char c)
{
    return c == '/' || (w->system->is_windows && c == '\\');
}

/* Bytes up to the next separator. */
static size_t name_size(const struct walk *w, const char *text)
{
    size_t size = 0;
    while (text[size] && !is_separator(w, text[size])) {
        size++;
    }
    return size;
}

static size_t separators(const struct walk *w, const char *text)
{
    size_t size = 0;
    while (is_separator(w, text[size])) {
        size++;
    }
    return size;
}

/* Bytes of ${text} with ${count} names, and the separators after each; 0 if there are fewer. */
static size_t names_size(const struct walk *w, const char *text, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = name_size(w, text + at);
        if (!size) {
            return 0;
        }
        at += size;
        at += separators(w, text + at);
    }
    return at;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Bytes of the root that ${path} begins with, 0 if it is not absolute. Windows: C:\, \\host\share\,
 * and both, or a volume, after \\?\ ("Naming Files, Paths, and Namespaces"). */
static size_t root_size(const struct walk *w, const char *path)
{
    if (!w->system->is_windows) {
        return separators(w, path);
    }
    if (strncmp(path, "\\\\?\\UNC\\", 8) == 0) {
        size_t size = names_size(w, path + 8, 2);
        return size ? 8 + size : 0;
    }
    if (strncmp(path, "\\\\?\\", 4) == 0) {
        size_t size = names_size(w, path + 4, 1);
        return size ? 4 + size : 0;
    }
    if (is_separator(w, path[0]) && is_separator(w, path[1])) {
        size_t size = names_size(w, path + 2, 2);
        return size && path[2] != '.' ? 2 + size : 0;
    }
    return is_letter(path[0]) && path[1] == ':' ? 2 + separators(w, path + 2) : 0;
}

static bool unknown(struct walk *w, const char *why)
{
    struct trust_finding *finding = w->finding;
    *finding = (struct trust_finding){.use = w->use, .verdict = {.party = TRUST_UNKNOWN}};
    snprintf(finding->path, sizeof(finding->path), "%s", w->done);
    snprintf(finding->why, sizeof(finding->why), "%.*s", TRUST_WHY_BYTES - 1, why);
    return false;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Judge `done`, whose rights are ${rights}, as ${use}. */
static bool judge(struct walk *w, const struct plat_rights *rights, enum trust_use use)
{
    const struct trust_system *system = w->system;
    struct trust_verdict verdict;
    if (system->is_windows) {
        descriptor_judge(
            span_make(rights->descriptor, rights->descriptor_bytes), use, &system->own, &verdict);
    } else {
        struct mode_facts facts = {.owner = rights->owner,
            .group = rights->group,
            .bits = rights->mode,
            .is_folder = rights->is_folder,
            .is_link = rights->kind == PLAT_RIGHTS_LINK};
        mode_judge(&facts, use, system->user, &verdict);
    }
    if (verdict.party == TRUST_UNKNOWN) {
        return unknown(w, "its access rights are not understood");
    }
    if (verdict.party != TRUST_NONE) {
        *w->finding = (struct trust_finding){
            .use = use, .is_folder = rights->is_folder, .verdict = verdict};
        snprintf(w->finding->path, sizeof(w->finding->path), "%s", w->done);
    }
    return verdict.party == TRUST_NONE;
}

/* Set the remaining path: ${rest} after a link's ${target}. */
static bool redirect(struct walk *w, struct span target)
{
    char rest[TRUST_PATH_BYTES];
    int size = snprintf(rest, sizeof(rest), "%.*s%s%s", (int)target.size, (const char *)target.data,
        *w->rest ? (w->system->is_windows ? "\\" : "/") : "", w->rest);
    if (size < 0 || (size_t)size >= sizeof(rest)) {
        return unknown(w, "the path is too long");
    }
    if (++w->links > MAX_LINKS) {
        return unknown(w, "too many links lead to each other");
    }
    memcpy(w->rest, rest, (size_t)size + 1);
    return true;
}

/* Remove the last name from `done`, unless it is the root. */
static void step_up(struct walk *w)
{
    size_t size = strlen(w->done);
    while (size > w->root && !is_separator(w, w->done[size - 1])) {
        size--;
    }
    while (size > w->root && is_separator(w, w->done[size - 1])) {
        size--;
    }
    w->done[size] = 0;
}

static bool step_down(struct walk *w, const char *name, size_t size)
{
    size_t at = strlen(w->done);
    bool parts = at && is_separator(w, w->done[at - 1]);
    if (at + size + 2 > sizeof(w->done)) {
        return unknown(w, "the path is too long");
    }
    if (!parts) {
        w->done[at++] = w->system->is_windows ? '\\' : '/';
    }
    memcpy(w->done + at, name, size);
    w->done[at + size] = 0;
    return true;
}

/* Read the rights of `done`. If true, free them with plat_rights_fini. */
static bool look(struct walk *w, struct plat_rights *ret_rights)
{
    struct error err;
    return w->system->look(w->system->self, w->done, ret_rights, &err) || unknown(w, err.text);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Begin at the root of ${path}, which may be `rest` itself. */
static bool begin(struct walk *w, const char *path, size_t root)
{
    char rest[TRUST_PATH_BYTES];
    if (strlen(path) >= sizeof(rest) || root + 2 > sizeof(rest)) {
        return unknown(w, "the path is too long");
    }
    memcpy(w->done, path, root);
    w->done[root] = 0;
    snprintf(rest, sizeof(rest), "%s", path + root);
    memcpy(w->rest, rest, sizeof(rest));
    if (!is_separator(w, w->done[root - 1])) {
        w->done[root++] = w->system->is_windows ? '\\' : '/';
        w->done[root] = 0;
    }
    w->root = root;
    struct plat_rights rights;
    if (!look(w, &rights)) {
        return false;
    }
    bool is_last = !*w->rest && w->use != TRUST_WAY;
    w->is_judged = is_last;
    bool good = rights.kind == PLAT_RIGHTS_NONE || rights.kind == PLAT_RIGHTS_OTHER ||
                judge(w, &rights, is_last ? w->use : TRUST_ROOT);
    plat_rights_fini(&rights);
    return good;
}

/* True if ${rights}, of `done`, is a link; ${target} gets its target. On Windows not every reparse
 * point is a link. */
static bool read_link(
    struct walk *w, const struct plat_rights *rights, struct buf *target, bool *ret_is_link)
{
    struct span data = span_make(rights->link, rights->link_bytes);
    enum reparse_kind kind = REPARSE_LINK;
    if (rights->kind != PLAT_RIGHTS_LINK) {
        kind = REPARSE_PLAIN;
    } else if (w->system->is_windows) {
        kind = reparse_read(data, target);
    } else {
        buf_add_span(target, data);
    }
    *ret_is_link = kind == REPARSE_LINK;
    return kind != REPARSE_UNKNOWN || unknown(w, "it is a link of an unknown kind");
}

/* Continue at the ${target} of the link `done`. */
static bool follow(struct walk *w, struct span target)
{
    step_up(w);
    if (!redirect(w, target)) {
        return false;
    }
    size_t root = root_size(w, w->rest);
    if (root) {
        return begin(w, w->rest, root);
    }
    if (w->system->is_windows && is_separator(w, w->rest[0])) {
        w->done[w->root] = 0;
    }
    return true;
}

/* `done` does not exist. */
static bool judge_missing(struct walk *w)
{
    struct plat_rights rights;
    if (w->use != TRUST_FOLDER) {
        return true;
    }
    step_up(w);
    if (!look(w, &rights)) {
        return false;
    }
    bool good = rights.kind != PLAT_RIGHTS_FOLDER || judge(w, &rights, TRUST_FOLDER);
    plat_rights_fini(&rights);
    return good;
}

/* True if changing the rights of `done` does not affect others. Not for a root, its folders, which
 * belong to the system or everybody, and folders like /tmp. */
static bool is_own(const struct walk *w, const struct plat_rights *rights)
{
    enum { STICKY = 01000 };
    size_t top = w->root < strlen(w->done) ? name_size(w, w->done + w->root) : 0;
    bool is_deep = top && w->done[w->root + top];
    return !rights->is_folder || (is_deep && !(rights->mode & STICKY));
}

static bool judge_end(struct walk *w, const struct plat_rights *rights)
{
    w->is_judged = true;
    bool good = judge(w, rights, rights->is_folder ? TRUST_FOLDER : TRUST_FILE);
    if (!good) {
        w->finding->is_own = is_own(w, rights);
    }
    return good;
}

/* Judge `done`, the current name, and follow it if it is a link. */
static bool judge_there(struct walk *w, const struct plat_rights *rights)
{
    struct buf target;
    bool is_link;
    bool is_last = !*w->rest && w->use != TRUST_WAY;
    buf_init(&target, TRUST_PATH_BYTES * 2);
    bool good = read_link(w, rights, &target, &is_link);
    if (good && is_link) {
        /* An account that may write a link may change its target. */
        good = judge(w, rights, TRUST_FILE) && follow(w, buf_span(&target));
    } else if (good) {
        good = is_last ? judge_end(w, rights) : judge(w, rights, TRUST_WAY);
    }
    buf_fini(&target);
    return good;
}

/* ${ret_end}: nothing after it can be judged. */
static bool judge_name(struct walk *w, bool *ret_end)
{
    struct plat_rights rights;
    if (!look(w, &rights)) {
        return false;
    }
    *ret_end = rights.kind == PLAT_RIGHTS_NONE || rights.kind == PLAT_RIGHTS_OTHER;
    bool good = rights.kind == PLAT_RIGHTS_NONE    ? judge_missing(w)
                : rights.kind == PLAT_RIGHTS_OTHER ? true
                                                   : judge_there(w, &rights);
    plat_rights_fini(&rights);
    return good;
}

/* The end of the path is `done`; after `.` or `..` it was judged only as a folder on the path. */
static bool judge_rest(struct walk *w)
{
    struct plat_rights rights;
    if (w->is_judged || w->use == TRUST_WAY) {
        return true;
    }
    if (!look(w, &rights)) {
        return false;
    }
    bool good = rights.kind != PLAT_RIGHTS_FOLDER || judge_end(w, &rights);
    plat_rights_fini(&rights);
    return good;
}

static bool walk(struct walk *w)
{
    bool end = false;
    while (!end) {
        const char *name = w->rest + separators(w, w->rest);
        size_t size = name_size(w, name);
        char taken[TRUST_PATH_BYTES];
        if (!size) {
            return judge_rest(w);
        }
        memcpy(taken, name, size);
        taken[size] = 0;
        const char *rest = name + size + separators(w, name + size);
        memmove(w->rest, rest, strlen(rest) + 1);
        if (strcmp(taken, ".") == 0) {
            continue;
        }
        if (strcmp(taken, "..") == 0) {
            step_up(w);
            continue;
        }
        if (!step_down(w, taken, size) || !judge_name(w, &end)) {
            return false;
        }
    }
    return true;
}

bool trust_path_judge(const struct trust_system *system, const char *path, enum trust_use use,
    struct trust_finding *ret_finding)
{
    struct walk w = {.system = system, .use = use, .finding = ret_finding};
    size_t root = root_size(&w, path);
    if (!root) {
        snprintf(w.done, sizeof(w.done), "%s", path);
        return unknown(&w, "it is not an absolute path");
    }
    return begin(&w, path, root) && walk(&w);
}
