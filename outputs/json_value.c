#include "outputs/json_value.h"

#include "outputs/json_scan.h"

/* Follows a path through objects. */
struct search {
    const char *path;
    char *value;
    size_t room;
    size_t size;
    unsigned depth;   /* objects and lists that are open: at most JSON_SCAN_MAX_DEPTH */
    unsigned matched; /* number of matched names, if all open objects match */
    bool fits;        /* the last key is the next name of the path */
};

/* The name number ${index} of a path. */
static struct span name_at(const char *path, unsigned index)
{
    for (; index && *path; index--) {
        path += strcspn(path, ".");
        path += *path == '.';
    }
    return span_make(path, strcspn(path, "."));
}

static bool is_last(const char *path, unsigned index)
{
    struct span name = name_at(path, index);
    return name.data[name.size] == '\0';
}

static bool look(void *self, enum json_token token, struct span text)
{
    struct search *search = self;
    bool here = search->depth == search->matched + 1;
    switch (token) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        /* Behind the last name there is none that could be followed. */
        search->matched += here && search->fits && token == JSON_OBJECT &&
                           !is_last(search->path, search->matched);
        search->depth++;
        search->fits = false;
        return true;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        search->depth--;
        search->matched -= search->matched && search->depth == search->matched;
        return true;
    case JSON_KEY:
        search->fits = here && span_equal(text, name_at(search->path, search->matched));
        return true;
    case JSON_STRING:
    case JSON_NUMBER:
    case JSON_WORD:
        break;
    }
    if (here && search->fits && is_last(search->path, search->matched)) {
        search->size = text.size < search->room - 1 ? text.size : search->room - 1;
        memcpy(search->value, text.data, search->size);
        search->value[search->size] = '\0';
        return false;
    }
    search->fits = false;
    return true;
}

size_t json_value_find(struct span body, const char *path, char *ret_value, size_t room)
{
    struct json_scan scan;
    struct search search = {.path = path, .value = ret_value, .room = room};
    ret_value[0] = '\0';
    json_scan_init(&scan, look, &search);
    json_scan_feed(&scan, body);
    return search.size;
}
