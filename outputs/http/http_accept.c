#include "outputs/http/http_accept.h"

static const char page_word[] = "page";

/* The status in ${word}; 0: not a success. */
static int status_of(const char *word)
{
    if (strlen(word) != 3 || strspn(word, "0123456789") != 3) {
        return 0;
    }
    int status = (word[0] - '0') * 100 + (word[1] - '0') * 10 + (word[2] - '0');
    return status >= HTTP_ACCEPT_FIRST && status <= HTTP_ACCEPT_LAST ? status : 0;
}

void http_accept_init(
    struct http_accept *accept, const struct config_strings *words, bool answers_body)
{
    *accept = (struct http_accept){.answers_body = answers_body};
    for (size_t i = 0; i < words->count; i++) {
        int status = status_of(words->items[i]);
        if (status) {
            accept->listed = true;
            accept->status[status - HTTP_ACCEPT_FIRST] = true;
        } else {
            accept->page = accept->page || strcmp(words->items[i], page_word) == 0;
        }
    }
}

void http_accept_check(struct config_check *check, const struct config_strings *words)
{
    for (size_t i = 0; i < words->count; i++) {
        if (!status_of(words->items[i]) && strcmp(words->items[i], page_word) != 0) {
            CONFIG_FAULT(check, &words->items[i],
                "accept: \"%s\" is not a status of success. write statuses from 200 to 299, or "
                "page",
                words->items[i]);
        }
    }
}

static bool begins_with_one(struct span text, const char *const *starts)
{
    while (*starts && !span_equal_nocase(span_first(text, strlen(*starts)), span_text(*starts))) {
        starts++;
    }
    return *starts != NULL;
}

bool http_accept_is_page(struct span content_type)
{
    static const char *const types[] = {"text/html", "application/xhtml+xml", NULL};
    return begins_with_one(content_type, types);
}

bool http_accept_begins_page(struct span body)
{
    static const char *const starts[] = {"<!doctype html", "<html", NULL};
    return begins_with_one(span_trim(body), starts);
}

const char *http_accept_objection(const struct http_accept *accept, int status, bool page)
{
    if (page && !accept->page) {
        return "a web page is not an acknowledgement: a login page or a proxy may have answered. "
               "check the address and the proxies, or write accept: [page]";
    }
    if (accept->listed) {
        return accept->status[status - HTTP_ACCEPT_FIRST]
                   ? NULL
                   : "accept does not name this status. add it, or check the address";
    }
    if (status == 204 && accept->answers_body) {
        return "the reply has no body, but this collector answers each batch with one. check the "
               "address, or write accept: [200, 204]";
    }
    return NULL;
}
