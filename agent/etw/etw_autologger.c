#include "etw/etw_autologger.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/append.h"
#include "base/guid.h"
#include "etw/etw_hold.h"

/*
 * An installation reads the existing keys before it writes, so that it can restore them. It
 * overwrites an existing key and then removes extra values, so that the key is a valid autologger
 * at every moment.
 */
enum { MAX_KEY_BYTES = 1280, MAX_LINE_BYTES = 4096 };

void etw_autologger_guid(const char *name, char ret_text[ETW_AUTOLOGGER_GUID_SIZE])
{
    char text[GUID_TEXT_SIZE];
    struct guid guid = guid_from_name(span_text(name));
    guid_write(&guid, text);
    snprintf(ret_text, ETW_AUTOLOGGER_GUID_SIZE, "{%.36s}", text);
}

/* Names in a configuration have letters, digits, . _ - only */
static bool key_of(const char *name, char key[MAX_KEY_BYTES], struct error *err)
{
    int size = snprintf(key, MAX_KEY_BYTES, ETW_AUTOLOGGER_ROOT "\\%s", name);
    return (size < MAX_KEY_BYTES && *name && !strchr(name, '\\')) ||
           error_set(err, ERR_CONFIG, "%.100s cannot be the name of an autologger", name);
}

/* Values that Windows itself writes into the key. */
static bool is_of_windows(const struct etw_registry_value *value)
{
    return *value->key == 0 &&
           (span_equal_nocase(span_text(value->name), span_text("FileCounter")) ||
               span_equal_nocase(span_text(value->name), span_text("Status")));
}

static bool is_ours(const char *name, const struct etw_registry_tree *tree)
{
    const struct etw_registry_value *value = etw_registry_find(tree, "", "Guid");
    struct guid wanted = guid_from_name(span_text(name));
    struct guid guid;
    if (!etw_hold_is_ours(name)) {
        return false;
    }
    return !value || (value->type == ETW_REGISTRY_TEXT && guid_parse(value->data, &guid) &&
                         guid_equal(&guid, &wanted));
}

bool etw_autologger_read(const char *name, struct etw_registry_tree *tree,
    enum etw_autologger_owner *ret_owner, struct error *err)
{
    char key[MAX_KEY_BYTES];
    struct error why = {0};
    if (!key_of(name, key, err)) {
        return false;
    }
    if (!etw_registry_read(key, tree, &why)) {
        if (why.code == ERR_MISSING) {
            *ret_owner = ETW_AUTOLOGGER_ABSENT;
            return true;
        }
        if (err) {
            *err = why;
        }
        return false;
    }
    *ret_owner = is_ours(name, tree) ? ETW_AUTOLOGGER_OURS : ETW_AUTOLOGGER_FOREIGN;
    return true;
}

/* ---- install --------------------------------------------------------------------------------- */

static bool has_key(const struct etw_registry_tree *tree, const char *key)
{
    for (size_t i = 0; i < tree->count; i++) {
        if (span_equal_nocase(span_text(tree->values[i].key), span_text(key))) {
            return true;
        }
    }
    return false;
}

/* Remove values of an earlier installation. */
static bool prune(const char *key, const struct etw_registry_tree *want,
    const struct etw_registry_tree *before, struct error *err)
{
    char path[MAX_KEY_BYTES + ETW_REGISTRY_NAME_BYTES];
    bool good = true;
    for (size_t i = 0; i < before->count && good; i++) {
        const struct etw_registry_value *old = &before->values[i];
        snprintf(path, sizeof(path), "%s%s%s", key, *old->key ? "\\" : "", old->key);
        if (*old->key && !has_key(want, old->key)) {
            good = etw_registry_remove(path, err);
        } else if (!is_of_windows(old) && !etw_registry_find(want, old->key, old->name)) {
            good = etw_registry_remove_value(path, old->name, err);
        }
    }
    return good;
}

static bool write_one(
    const struct etw_autologger *item, const struct etw_registry_tree *before, struct error *err)
{
    char key[MAX_KEY_BYTES];
    return key_of(item->name, key, err) && etw_registry_write(key, &item->tree, err) &&
           prune(key, &item->tree, before, err);
}

static bool put_back(const char *name, const struct etw_registry_tree *before)
{
    char key[MAX_KEY_BYTES];
    return key_of(name, key, NULL) && etw_registry_remove(key, NULL) &&
           etw_registry_write(key, before, NULL);
}

static bool read_before(
    const struct etw_autologger *item, struct etw_registry_tree *before, struct error *err)
{
    enum etw_autologger_owner owner;
    if (item->tree.failed) {
        return error_set(err, ERR_MEMORY, "out of memory for autologger %.100s", item->name);
    }
    if (!etw_autologger_read(item->name, before, &owner, err)) {
        return false;
    }
    return owner != ETW_AUTOLOGGER_FOREIGN ||
           error_set(err, ERR_STOPPED,
               "there is an autologger %.100s that etwship has not installed: its Guid differs. "
               "remove it, or rename the session",
               item->name);
}

bool etw_autologger_install(const struct etw_autologger *items, size_t count, struct error *err)
{
    struct etw_registry_tree *before = calloc(count + 1, sizeof(*before));
    struct error why = {0};
    size_t begun = 0;
    bool good = true;
    if (!before) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        etw_registry_init(&before[i]);
    }
    for (size_t i = 0; i < count && good; i++) {
        good = read_before(&items[i], &before[i], &why);
    }
    while (good && begun < count) {
        good = write_one(&items[begun], &before[begun], &why);
        begun++;
    }
    for (size_t i = begun; !good && i > 0; i--) {
        if (!put_back(items[i - 1].name, &before[i - 1])) {
            append_printf(why.text, sizeof(why.text), "; the changes to %.100s could not be undone",
                items[i - 1].name);
        }
    }
    for (size_t i = 0; i < count; i++) {
        etw_registry_fini(&before[i]);
    }
    free(before);
    if (!good && err) {
        *err = why;
    }
    return good;
}

bool etw_autologger_remove(const char *name, struct error *err)
{
    char key[MAX_KEY_BYTES];
    struct etw_registry_tree tree;
    enum etw_autologger_owner owner = ETW_AUTOLOGGER_ABSENT;
    etw_registry_init(&tree);
    bool good = key_of(name, key, err) && etw_autologger_read(name, &tree, &owner, err);
    etw_registry_fini(&tree);
    if (good && owner != ETW_AUTOLOGGER_OURS) {
        return error_set(err, ERR_STOPPED,
            owner == ETW_AUTOLOGGER_ABSENT ? "there is no autologger %.100s"
                                           : "etwship has not installed the autologger %.100s: its "
                                             "name or Guid differs. it is not removed",
            name);
    }
    /* Remove Start first: Windows does not start a partly removed autologger. */
    return good && etw_registry_remove_value(key, "Start", err) && etw_registry_remove(key, err);
}

/* ---- compare --------------------------------------------------------------------------------- */

struct lines {
    void (*each)(void *self, const char *text);
    void *self;
    size_t count;
};

static void tell(struct lines *lines, const struct etw_registry_value *want,
    const struct etw_registry_value *have)
{
    const struct etw_registry_value *either = want ? want : have;
    struct buf line;
    buf_init(&line, MAX_LINE_BYTES);
    buf_printf(&line, "%.80s%s%.80s: ", either->key, *either->key ? " " : "", either->name);
    if (!have) {
        buf_add_text(&line, "missing");
    } else {
        etw_registry_show(have, &line);
    }
    buf_add_text(&line, ", configured: ");
    if (!want) {
        buf_add_text(&line, "none");
    } else {
        etw_registry_show(want, &line);
    }
    buf_add_byte(&line, 0);
    if (!line.failed) {
        lines->each(lines->self, (const char *)line.data);
    }
    lines->count++;
    buf_fini(&line);
}

/* A missing or extra provider is one line, not one per value. */
static bool tell_key(struct lines *lines, const struct etw_registry_tree *of, size_t index,
    const struct etw_registry_tree *other, const char *what)
{
    const char *key = of->values[index].key;
    if (*key == 0 || has_key(other, key)) {
        return false;
    }
    for (size_t i = 0; i < index; i++) {
        if (span_equal_nocase(span_text(of->values[i].key), span_text(key))) {
            return true;
        }
    }
    char line[ETW_REGISTRY_NAME_BYTES + 64];
    snprintf(line, sizeof(line), "%.200s: %s", key, what);
    lines->each(lines->self, line);
    lines->count++;
    return true;
}

size_t etw_autologger_compare(const struct etw_registry_tree *want,
    const struct etw_registry_tree *have, void (*each)(void *self, const char *text), void *self)
{
    struct lines lines = {.each = each, .self = self};
    for (size_t i = 0; i < want->count; i++) {
        const struct etw_registry_value *value = &want->values[i];
        const struct etw_registry_value *there = etw_registry_find(have, value->key, value->name);
        if (!tell_key(&lines, want, i, have, "missing") &&
            (!there || !etw_registry_equal(value, there))) {
            tell(&lines, value, there);
        }
    }
    for (size_t i = 0; i < have->count; i++) {
        const struct etw_registry_value *value = &have->values[i];
        if (!tell_key(&lines, have, i, want, "not configured") && !is_of_windows(value) &&
            !etw_registry_find(want, value->key, value->name)) {
            tell(&lines, NULL, value);
        }
    }
    return lines.count;
}
