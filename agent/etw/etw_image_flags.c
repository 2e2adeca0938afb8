#include "etw/etw_image_flags.h"

#include <stdio.h>
#include <string.h>

#include "etw/etw_registry.h"

/*
 * The note is written before the flags and removed after them, so that it exists as long as there
 * is something to restore, even after a kill. It has the written value, so that restoring can
 * recognise later changes by others.
 */
#define OPTIONS "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Image File Execution Options"
#define NOTES "SOFTWARE\\etwship\\TracingFlags"

static const char value_name[] = "TracingFlags";

enum { TRACE_HEAPS = 1, MAX_KEY = 512, MAX_IMAGE = 260, MAX_NOTES = 64 };

bool etw_image_flags_is_name(const char *image)
{
    size_t size = strlen(image);
    return size > 0 && size < MAX_IMAGE && !strpbrk(image, "\\/:*?\"<>|");
}

static bool paths_of(
    const char *image, char options[MAX_KEY], char note[MAX_KEY], struct error *err)
{
    if (!etw_image_flags_is_name(image)) {
        return error_set(err, ERR_CONFIG, "'%.100s' is not the name of a program", image);
    }
    snprintf(options, MAX_KEY, "%s\\%s", OPTIONS, image);
    snprintf(note, MAX_KEY, "%s\\%s", NOTES, image);
    return true;
}

/* An empty tree for a key that is not there. */
static bool read(
    const char *key, struct etw_registry_tree *tree, bool *ret_there, struct error *err)
{
    struct error why = {0};
    etw_registry_init(tree);
    *ret_there = etw_registry_read(key, tree, &why);
    if (!*ret_there && why.code != ERR_MISSING) {
        etw_registry_fini(tree);
        if (err) {
            *err = why;
        }
        return false;
    }
    return true;
}

static bool write_flags(const char *key, uint32_t flags, struct error *err)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    etw_registry_put_dword(&tree, "", value_name, flags);
    bool good = tree.failed ? error_set(err, ERR_MEMORY, "out of memory")
                            : etw_registry_write(key, &tree, err);
    etw_registry_fini(&tree);
    return good;
}

static bool write_note(const char *key, const char *session, const uint32_t *before,
    uint32_t written, bool made, struct error *err)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    etw_registry_put_text(&tree, "", "Session", session);
    etw_registry_put_dword(&tree, "", "Written", written);
    etw_registry_put_dword(&tree, "", "KeyMade", made);
    if (before) {
        etw_registry_put_dword(&tree, "", "Before", *before);
    }
    bool good = tree.failed ? error_set(err, ERR_MEMORY, "out of memory")
                            : etw_registry_write(key, &tree, err);
    etw_registry_fini(&tree);
    return good;
}

bool etw_image_flags_set(const char *image, const char *session, struct error *err)
{
    char options[MAX_KEY];
    char note[MAX_KEY];
    struct etw_registry_tree tree;
    bool there;
    uint32_t before = 0;
    if (!paths_of(image, options, note, err) || !etw_image_flags_restore(image, err) ||
        !read(options, &tree, &there, err)) {
        return false;
    }
    bool is_number = etw_registry_dword(&tree, "", value_name, &before);
    bool is_other = !is_number && etw_registry_find(&tree, "", value_name);
    etw_registry_fini(&tree);
    if (is_other) {
        return error_set(
            err, ERR_FORMAT, "HKLM\\%.300s: %s is not a number. remove it", options, value_name);
    }
    if (before & TRACE_HEAPS) {
        return true;
    }
    uint32_t flags = before | TRACE_HEAPS;
    if (!write_note(note, session, is_number ? &before : NULL, flags, !there, err)) {
        etw_registry_remove(note, NULL);
        return false;
    }
    if (!write_flags(options, flags, err)) {
        etw_image_flags_restore(image, NULL);
        return false;
    }
    return true;
}

static bool stop_counting(void *self, const char *name)
{
    (void)name;
    *(bool *)self = true;
    return false;
}

/* Remove a key that etwship created if it is still empty. */
static bool remove_if_empty(const char *key, struct error *err)
{
    struct etw_registry_tree tree;
    bool there;
    bool has_keys = false;
    if (!read(key, &tree, &there, err)) {
        return false;
    }
    bool has_values = tree.count > 0;
    etw_registry_fini(&tree);
    return etw_registry_each(key, stop_counting, &has_keys, err) &&
           (!there || has_values || has_keys || etw_registry_remove(key, err));
}

/* Restore as ${note} says; its key belongs to ${options}. */
static bool put_back(const char *options, const struct etw_registry_tree *note, struct error *err)
{
    struct etw_registry_tree tree;
    uint32_t before = 0;
    uint32_t written = 0;
    uint32_t made = 0;
    uint32_t now = 0;
    bool there;
    if (!read(options, &tree, &there, err)) {
        return false;
    }
    bool is_ours = etw_registry_dword(note, "", "Written", &written) &&
                   etw_registry_dword(&tree, "", value_name, &now) && now == written;
    etw_registry_fini(&tree);
    bool good = true;
    if (is_ours && etw_registry_dword(note, "", "Before", &before)) {
        good = write_flags(options, before, err);
    } else if (is_ours) {
        good = etw_registry_remove_value(options, value_name, err);
    }
    bool is_made = etw_registry_dword(note, "", "KeyMade", &made) && made;
    return good && (!is_made || remove_if_empty(options, err));
}

bool etw_image_flags_restore(const char *image, struct error *err)
{
    char options[MAX_KEY];
    char note[MAX_KEY];
    struct etw_registry_tree tree;
    bool there;
    if (!paths_of(image, options, note, err) || !read(note, &tree, &there, err)) {
        return false;
    }
    bool good = !there || put_back(options, &tree, err);
    etw_registry_fini(&tree);
    return good && (!there || (etw_registry_remove(note, err) && remove_if_empty(NOTES, err)));
}

/* ---- what killed processes have left --------------------------------------------------------- */

struct notes {
    char images[MAX_NOTES][MAX_IMAGE];
    size_t count;
};

static bool add_note(void *self, const char *name)
{
    struct notes *notes = self;
    if (etw_image_flags_is_name(name)) {
        snprintf(notes->images[notes->count++], MAX_IMAGE, "%s", name);
    }
    return notes->count < MAX_NOTES;
}

/* The session of the note. An incomplete note has none, and counts as abandoned. */
static bool session_of(const char *image, char session[MAX_KEY])
{
    char options[MAX_KEY];
    char note[MAX_KEY];
    struct etw_registry_tree tree;
    bool there;
    if (!paths_of(image, options, note, NULL) || !read(note, &tree, &there, NULL)) {
        return false;
    }
    const struct etw_registry_value *value = etw_registry_find(&tree, "", "Session");
    bool is_text = value && value->type == ETW_REGISTRY_TEXT && value->data.size < MAX_KEY;
    snprintf(session, MAX_KEY, "%.*s", is_text ? (int)value->data.size : 0,
        is_text ? (const char *)value->data.data : "");
    etw_registry_fini(&tree);
    return true;
}

void etw_image_flags_clean(bool (*is_abandoned)(void *self, const char *session),
    void (*tell)(void *self, const char *image, const struct error *err), void *self)
{
    struct notes notes = {.count = 0};
    char session[MAX_KEY];
    if (!etw_registry_each(NOTES, add_note, &notes, NULL)) {
        return;
    }
    for (size_t i = 0; i < notes.count; i++) {
        const char *image = notes.images[i];
        struct error err = {0};
        if (session_of(image, session) && (!*session || is_abandoned(self, session))) {
            bool good = etw_image_flags_restore(image, &err);
            tell(self, image, good ? NULL : &err);
        }
    }
}
