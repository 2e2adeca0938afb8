#include "schema/mof/mof_model.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/visible.h"
#include "schema/text/names.h"

enum {
    MAX_NAME_BYTES = 256, /* limit of WMI class names */
    ABOVE = 3,            /* index in mof_file.scopes of the parent folder */
};

void mof_model_init(struct mof_model *model, size_t max_bytes)
{
    *model = (struct mof_model){0};
    arena_init(&model->arena, max_bytes);
    map_init(&model->names, (size_t)MOF_SCOPES * MOF_MAX_CLASSES);
    map_init(&model->scopes, (size_t)MOF_SCOPES * MOF_MAX_CLASSES);
}

void mof_model_fini(struct mof_model *model)
{
    map_fini(&model->names);
    map_fini(&model->scopes);
    arena_fini(&model->arena);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void say(struct mof_model *model, const char *text)
{
    if (model->warn) {
        model->warn(model->warn_self, text);
    }
}

void mof_model_warn(struct mof_model *model, struct mof_file *file, uint32_t line, uint32_t column,
    const char *format, ...)
{
    if (file->told == (file->is_mof ? MOF_MAX_WARNINGS : 1)) {
        file->suppressed++;
        return;
    }
    file->told++;
    char what[512];
    char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (line) {
        snprintf(text, sizeof(text), "%s:%u:%u: %s", file->name, line, column, what);
    } else {
        snprintf(text, sizeof(text), "%s: %s", file->name, what);
    }
    visible_fit(text, sizeof(text));
    say(model, text);
}

void mof_model_end_warnings(struct mof_model *model)
{
    for (const struct mof_file *file = model->files; file; file = file->next) {
        if (file->is_mof && file->suppressed) {
            char text[1200];
            snprintf(text, sizeof(text), "%s: %zu further warnings", file->name, file->suppressed);
            say(model, text);
        }
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint8_t fold(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* Number of bytes of ${path} that are its folder, with the trailing slash. */
static size_t folder_size(const uint8_t *path, size_t size)
{
    while (size && path[size - 1] != '/') {
        size--;
    }
    return size;
}

/* The scope of a path; equal paths have one scope. NULL: no memory. */
static const void *scope_of(struct mof_model *model, const uint8_t *path, size_t size)
{
    struct span copy;
    const void *known = map_get(&model->scopes, span_make(path, size));
    if (!known && arena_copy(&model->arena, span_make(path, size), &copy) &&
        map_put(&model->scopes, copy, (void *)copy.data)) {
        known = copy.data;
    }
    return known;
}

bool mof_model_add_file(struct mof_model *model, struct mof_file *file)
{
    size_t size = strlen(file->name);
    uint8_t *path = arena_alloc(&model->arena, size);
    if (!path) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        path[i] = file->name[i] == '\\' ? '/' : fold((uint8_t)file->name[i]);
    }
    size_t folder = folder_size(path, size);
    size_t above = folder ? folder_size(path, folder - 1) : 0;
    size_t stem = size;
    while (stem > folder && path[stem - 1] != '.') {
        stem--;
    }
    const void *const scopes[MOF_SCOPES] = {file,
        scope_of(model, path, stem > folder ? stem : size), scope_of(model, path, folder),
        scope_of(model, path, above), NULL};
    memcpy(file->scopes, scopes, sizeof(scopes));
    file->next = model->files;
    model->files = file;
    return scopes[1] && scopes[2] && scopes[3];
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Key of the first class with a name in ${scope}. */
struct name_key {
    const void *scope;
    char name[MAX_NAME_BYTES]; /* in lower case */
};

static struct span make_key(const void *scope, struct span name, struct name_key *key)
{
    size_t size = name.size < MAX_NAME_BYTES ? name.size : MAX_NAME_BYTES;
    key->scope = scope;
    for (size_t i = 0; i < size; i++) {
        key->name[i] = (char)fold(name.data[i]);
    }
    return span_make(key, offsetof(struct name_key, name) + size);
}

static struct mof_class *find(const struct mof_model *model, const void *scope, struct span name)
{
    struct name_key key;
    return map_get(&model->names, make_key(scope, name, &key));
}

/* Register a class name. The first class with a name wins. */
static bool add_name(struct mof_model *model, const void *scope, struct mof_class *class)
{
    struct name_key key;
    struct span copy;
    return find(model, scope, class->name) ||
           (arena_copy(&model->arena, make_key(scope, class->name, &key), &copy) &&
               map_put(&model->names, copy, class));
}

bool mof_model_add(struct mof_model *model, struct mof_class *class)
{
    for (size_t i = 0; !class->is_local && i < MOF_SCOPES; i++) {
        if (i != ABOVE && !add_name(model, class->file->scopes[i], class)) {
            return false;
        }
    }
    if (model->last) {
        model->last->next = class;
    } else {
        model->first = class;
    }
    model->last = class;
    model->class_count++;
    return true;
}

/* The class ${name} nearest to ${file} other than ${but}. */
static struct mof_class *find_near(const struct mof_model *model, const struct mof_file *file,
    struct span name, const struct mof_class *but)
{
    for (size_t i = 0; i < MOF_SCOPES; i++) {
        struct mof_class *found = find(model, file->scopes[i], name);
        if (found && found != but) {
            return found;
        }
    }
    return NULL;
}

/* ---- amendments ------------------------------------------------------------------------------ */

/* Append those of ${more} that ${to} lacks. */
static void add_qualifiers(struct mof_qualifier **to, struct mof_qualifier *more)
{
    size_t count = 0;
    for (const struct mof_qualifier *at = *to; at; at = at->next) {
        count++;
    }
    while (more && count < MOF_MAX_QUALIFIERS) {
        struct mof_qualifier *next = more->next;
        char name[MAX_NAME_BYTES + 1];
        snprintf(name, sizeof(name), "%.*s", SPAN_ARG(span_first(more->name, MAX_NAME_BYTES)));
        if (!mof_qualifier_find(*to, name)) {
            more->next = *to;
            *to = more;
            count++;
        }
        more = next;
    }
}

/* Find the property ${name}, searching from ${start} and then from the first; NULL if there is
 * none. */
static struct mof_property *find_property(
    const struct mof_class *class, struct mof_property *start, struct span name)
{
    struct mof_property *at = start;
    do {
        if (span_equal_nocase(at->name, name)) {
            return at;
        }
        at = at->next ? at->next : class->properties;
    } while (at != start);
    return NULL;
}

static void amend(struct mof_class *class, struct mof_class *amendment)
{
    add_qualifiers(&class->qualifiers, amendment->qualifiers);
    amendment->qualifiers = NULL;
    struct mof_property *from = class->properties; /* both usually list them in the same order */
    for (struct mof_property *p = amendment->properties; p && from; p = p->next) {
        struct mof_property *own = find_property(class, from, p->name);
        if (own) {
            add_qualifiers(&own->qualifiers, p->qualifiers);
            p->qualifiers = NULL;
            from = own;
        }
    }
}

void mof_model_link(struct mof_model *model)
{
    for (struct mof_class *class = model->first; class; class = class->next) {
        if (!class->is_local) {
            class->base = find_near(model, class->file, class->parent, class);
            continue;
        }
        struct mof_class *to = find_near(model, class->file, class->name, NULL);
        if (to) {
            amend(to, class);
        }
    }
    for (struct mof_class *class = model->first; class; class = class->next) {
        class->depth = 0;
        for (const struct mof_class *at = class->base; at; at = at->base) {
            if (++class->depth == MOF_MAX_DEPTH) {
                mof_model_warn(model, class->file, class->line, class->column,
                    "class %.*s: its parents form a cycle or are more than %d; the class is "
                    "treated as having no parent",
                    SPAN_ARG(span_first(class->name, MAX_NAME_BYTES)), MOF_MAX_DEPTH);
                class->base = NULL;
                class->depth = 0;
                break;
            }
        }
    }
}

/* ---- qualifiers ------------------------------------------------------------------------------ */

const struct mof_qualifier *mof_qualifier_find(
    const struct mof_qualifier *qualifiers, const char *name)
{
    const struct mof_qualifier *at = qualifiers;
    while (at && !span_equal_nocase(at->name, span_text(name))) {
        at = at->next;
    }
    return at;
}

struct span mof_qualifier_text(const struct mof_qualifier *qualifiers, const char *name)
{
    const struct mof_qualifier *found = mof_qualifier_find(qualifiers, name);
    return found && found->values ? found->values->text : span_make(NULL, 0);
}

static bool binary_number(struct span text, uint64_t max, uint64_t *ret_number)
{
    uint64_t value = 0;
    for (size_t i = 0; i + 1 < text.size; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';
        if (digit > 1 || value > (max - digit) / 2) {
            return false;
        }
        value = value * 2 + digit;
    }
    *ret_number = value;
    return true;
}

bool mof_number(struct span text, uint64_t max, uint64_t *ret_number)
{
    bool is_hex = text.size > 1 && (text.data[1] | 0x20) == 'x';
    bool is_binary = text.size > 1 && !is_hex && (text.data[text.size - 1] | 0x20) == 'b';
    return max > 0 &&
           (is_binary ? binary_number(text, max, ret_number) : names_number(text, max, ret_number));
}

bool mof_qualifier_number(
    const struct mof_qualifier *qualifiers, const char *name, uint64_t max, uint64_t *ret_number)
{
    return mof_number(mof_qualifier_text(qualifiers, name), max, ret_number);
}

bool mof_class_guid(const struct mof_class *class, struct guid *ret_guid)
{
    return guid_parse(mof_qualifier_text(class->qualifiers, "Guid"), ret_guid) &&
           !guid_is_zero(ret_guid);
}
