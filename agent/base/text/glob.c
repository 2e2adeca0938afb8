#include "base/text/glob.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/utf.h"

/*
 * A pattern is a fixed folder and a list of components. While descending from that folder, a bit
 * set holds the components that may follow the names so far: every folder is read once, however
 * many ways lead to it, and no file is found twice. Paths are collected and sorted before the first
 * is reported, so nothing is reported if a folder is unreadable.
 */
enum {
    MAX_COMPONENTS = 60,
    MAX_PATHS = 1000000,
    MAX_PATH_BYTES = 32 * 1024,
    MAX_NAMES_BYTES = 64 * 1024 * 1024, /* per folder */
    MAX_DEPTH = 256,
};

struct paths {
    char **items;
    size_t count;
    size_t capacity;
};

struct walk {
    const struct glob_fs *fs;
    struct span components[MAX_COMPONENTS];
    size_t component_count;
    struct buf path; /* current folder, with its separator */
    struct paths found;
};

/* Greedy, with backtracking to the last star only. At most pattern length times name length
 * steps. */
bool glob_match(struct span pattern, struct span name, bool fold_case)
{
    size_t p = 0;
    size_t n = 0;
    size_t star = SIZE_MAX;
    size_t star_name = 0;
    while (n < name.size) {
        uint8_t c = p < pattern.size ? pattern.data[p] : 0;
        if (p < pattern.size && c == '*') {
            star = p++;
            star_name = n;
        } else if (p < pattern.size && c == '?') {
            utf8_next(name, &n);
            p++;
        } else if (p < pattern.size &&
                   (c == name.data[n] ||
                       (fold_case && span_lower(c) == span_lower(name.data[n])))) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++star_name;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*') {
        p++;
    }
    return p == pattern.size;
}

static bool is_any_folders(struct span component)
{
    return span_is(component, "**");
}

static bool is_separator(const struct glob_fs *fs, char c)
{
    return c && strchr(fs->separators, c);
}

static bool has_wildcard(struct span text)
{
    return text.size && (memchr(text.data, '*', text.size) || memchr(text.data, '?', text.size));
}

/* Split ${pattern} into walk->path, the folders before the first wildcard, and components. */
static bool split(struct walk *walk, const char *pattern, struct error *err)
{
    const char *at = pattern;
    while (*at) {
        size_t size = 0;
        while (at[size] && !is_separator(walk->fs, at[size])) {
            size++;
        }
        struct span component = span_make(at, size);
        bool last = at[size] == '\0';
        if (walk->component_count == 0 && !has_wildcard(component)) {
            buf_add(&walk->path, at, size + !last);
        } else if (walk->component_count == MAX_COMPONENTS - 1) {
            return error_set(err, ERR_LIMIT, "%s: more than %d folders in a pattern", pattern,
                MAX_COMPONENTS - 1);
        } else if (size) {
            walk->components[walk->component_count++] = component;
        }
        at += size + !last;
    }
    if (is_any_folders(walk->components[walk->component_count - 1])) {
        walk->components[walk->component_count++] = span_text("*");
    }
    return true;
}

/* Add to every ** in ${states} what follows it, because it may match no folder. */
static uint64_t with_empty(const struct walk *walk, uint64_t states)
{
    for (size_t i = 0; i < walk->component_count; i++) {
        if (states >> i & 1 && is_any_folders(walk->components[i])) {
            states |= (uint64_t)2 << i;
        }
    }
    return states;
}

/* States after ${name} in a folder with ${states}. */
static uint64_t step(
    const struct walk *walk, uint64_t states, const char *name, enum glob_kind kind)
{
    uint64_t next = 0;
    for (size_t i = 0; i < walk->component_count; i++) {
        if (!(states >> i & 1)) {
            continue;
        }
        if (is_any_folders(walk->components[i])) {
            next |= kind == GLOB_DIR ? (uint64_t)1 << i : 0;
        } else if (glob_match(walk->components[i], span_text(name), walk->fs->fold_case)) {
            next |= (uint64_t)2 << i;
        }
    }
    return next;
}

static bool add_path(struct walk *walk, const char *name)
{
    struct paths *found = &walk->found;
    if (!grow_list(&found->items, found->count, &found->capacity, sizeof(*found->items))) {
        return false;
    }
    size_t name_size = strlen(name) + 1;
    char *path = malloc(walk->path.size + name_size);
    if (!path) {
        return false;
    }
    if (walk->path.size) {
        memcpy(path, walk->path.data, walk->path.size);
    }
    memcpy(path + walk->path.size, name, name_size);
    found->items[found->count++] = path;
    return true;
}

/* A folder being listed: subfolders are kept as {states, name with NUL} and walked later, so that
 * only one folder is open at a time. */
struct listing {
    struct walk *walk;
    uint64_t states;
    struct buf folders;
    bool no_memory;
};

static bool list_entry(void *self, const char *name, enum glob_kind kind)
{
    struct listing *listing = self;
    struct walk *walk = listing->walk;
    uint64_t next = step(walk, listing->states, name, kind);
    uint64_t accept = (uint64_t)1 << walk->component_count;
    if (kind == GLOB_FILE && next & accept) {
        if (walk->found.count == MAX_PATHS || !add_path(walk, name)) {
            listing->no_memory = walk->found.count < MAX_PATHS;
            listing->folders.failed = true;
        }
    }
    next &= ~accept;
    if ((kind == GLOB_DIR || kind == GLOB_DIR_LINK) && next) {
        buf_add(&listing->folders, &next, sizeof(next));
        buf_add(&listing->folders, name, strlen(name) + 1);
    }
    return !listing->folders.failed;
}

/* The current path as a string: "a/b/" becomes "a/b", nothing becomes the current folder. */
static const char *folder_text(struct walk *walk)
{
    buf_add_byte(&walk->path, 0);
    if (walk->path.failed) {
        return NULL;
    }
    walk->path.size--;
    return walk->path.size ? (const char *)walk->path.data : ".";
}

static bool walk_folder(struct walk *walk, uint64_t states, unsigned depth, struct error *err);

static bool walk_subfolders(
    struct walk *walk, struct span folders, unsigned depth, struct error *err)
{
    size_t path_size = walk->path.size;
    while (folders.size) {
        uint64_t states;
        memcpy(&states, folders.data, sizeof(states));
        const char *name = (const char *)folders.data + sizeof(states);
        folders = span_from(folders, sizeof(states) + strlen(name) + 1);
        buf_add_text(&walk->path, name);
        buf_add_byte(&walk->path, (uint8_t)walk->fs->separators[0]);
        if (!walk_folder(walk, states, depth + 1, err)) {
            return false;
        }
        walk->path.size = path_size;
    }
    return true;
}

static bool walk_folder(struct walk *walk, uint64_t states, unsigned depth, struct error *err)
{
    const char *folder = folder_text(walk);
    if (!folder || depth > MAX_DEPTH) {
        return error_set(err, ERR_LIMIT, "%.*s: folders too deep, more than %d levels or %d bytes",
            SPAN_ARG(span_first(buf_span(&walk->path), 300)), MAX_DEPTH, MAX_PATH_BYTES);
    }
    struct listing listing = {.walk = walk, .states = with_empty(walk, states)};
    buf_init(&listing.folders, MAX_NAMES_BYTES);
    bool good = walk->fs->list(folder, list_entry, &listing, err);
    if (good && listing.no_memory) {
        good = error_set(err, ERR_MEMORY, "%s: out of memory", folder);
    } else if (good && listing.folders.failed) {
        good = error_set(err, ERR_LIMIT, "%s: more than %d files; name fewer", folder, MAX_PATHS);
    } else if (good) {
        good = walk_subfolders(walk, buf_span(&listing.folders), depth, err);
    }
    buf_fini(&listing.folders);
    return good;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool hand_out(
    struct walk *walk, const char *pattern, glob_each_fn *each, void *self, struct error *err)
{
    struct paths *found = &walk->found;
    if (found->count == 0) {
        return error_set(err, ERR_CONFIG, "%s: no file matches", pattern);
    }
    qsort(found->items, found->count, sizeof(*found->items), by_bytes);
    for (size_t i = 0; i < found->count && each(self, found->items[i]); i++) {}
    return true;
}

bool glob_run(const char *pattern, const struct glob_fs *fs, glob_each_fn *each, void *self,
    struct error *err)
{
    /* an existing file with exactly this name wins, whatever characters it has */
    enum glob_kind kind = fs->kind(pattern);
    if (kind == GLOB_FILE) {
        each(self, pattern);
        return true;
    }
    size_t size = strlen(pattern);
    if (kind != GLOB_NONE || (size && is_separator(fs, pattern[size - 1]))) {
        return error_set(err, ERR_CONFIG, "%s: names a folder. Name files, such as FOLDER%c*.etl",
            pattern, fs->separators[0]);
    }
    if (!has_wildcard(span_text(pattern))) {
        return error_set(err, ERR_CONFIG, "%s: no such file, or not accessible", pattern);
    }
    struct walk walk = {.fs = fs};
    buf_init(&walk.path, MAX_PATH_BYTES);
    bool good = split(&walk, pattern, err) && walk_folder(&walk, 1, 0, err) &&
                hand_out(&walk, pattern, each, self, err);
    for (size_t i = 0; i < walk.found.count; i++) {
        free(walk.found.items[i]);
    }
    free(walk.found.items);
    buf_fini(&walk.path);
    return good;
}

/* Remove the first component of ${rest}; false at the end. */
static bool take_component(struct span *rest, const char *separators, struct span *ret_component)
{
    if (!rest->data) {
        return false;
    }
    size_t size = 0;
    while (size < rest->size && !strchr(separators, rest->data[size])) {
        size++;
    }
    *ret_component = span_first(*rest, size);
    *rest = size < rest->size ? span_from(*rest, size + 1) : span_make(NULL, 0);
    return true;
}

/* Backtracking to the last `**` suffices: what it matches, an earlier one could match, too. */
bool glob_match_path(struct span pattern, struct span path, const char *separators, bool fold_case)
{
    struct span any_pattern = {NULL, 0}; /* after the last `**` */
    struct span any_path = {NULL, 0};    /* rest of the path for it */
    bool any = false;
    for (;;) {
        struct span want;
        struct span have;
        struct span pattern_rest = pattern;
        struct span path_rest = path;
        bool wanted = take_component(&pattern_rest, separators, &want);
        if (wanted && span_is(want, "**")) {
            any = true;
            any_pattern = pattern_rest;
            any_path = path;
            pattern = pattern_rest;
            if (!pattern.data) {
                return path.data != NULL;
            }
            continue;
        }
        bool is_there = take_component(&path_rest, separators, &have);
        if (!wanted && !is_there) {
            return true;
        }
        if (wanted && is_there && glob_match(want, have, fold_case)) {
            pattern = pattern_rest;
            path = path_rest;
        } else if (any && take_component(&any_path, separators, &have)) {
            pattern = any_pattern;
            path = any_path;
        } else {
            return false;
        }
    }
}
