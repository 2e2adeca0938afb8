#include "outputs/json_value.h"

#include "outputs/json_scan.h"

/* Follows a path through objects. */
struct search {
    struct json_scan scan;
    const char *path;
    struct span text; /* text of the value found; valid until the scan continues */
    struct span raw;
    unsigned depth;   /* open objects and lists: at most JSON_SCAN_MAX_DEPTH */
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
        /* after the last name of the path no further name can match */
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
        search->text = text;
        search->raw = json_scan_raw(&search->scan, token);
        return false;
    }
    search->fits = false;
    return true;
}

static void find(struct search *search, struct span body, const char *path)
{
    json_scan_init(&search->scan, look, search);
    search->path = path;
    search->text = span_make(NULL, 0);
    search->raw = span_make(NULL, 0);
    search->depth = 0;
    search->matched = 0;
    search->fits = false;
    json_scan_feed(&search->scan, body);
}

size_t json_value_find(struct span body, const char *path, char *ret_value, size_t room)
{
    struct search search;
    find(&search, body, path);
    struct span text = span_first(search.text, room - 1);
    if (text.size) {
        memcpy(ret_value, text.data, text.size);
    }
    ret_value[text.size] = '\0';
    return text.size;
}

struct span json_value_raw(struct span body, const char *path)
{
    struct search search;
    find(&search, body, path);
    return search.raw;
}
