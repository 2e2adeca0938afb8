#include "outputs/elasticsearch/es_winner.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text/glob.h"

static const char list_path[] = "/_index_template?filter_path=index_templates.name,"
                                "index_templates.index_template.index_patterns,"
                                "index_templates.index_template.priority";

/* ---- templates that supersede ours ----------------------------------------------------------- */

/* In a reply of the simulation:
 * {"template":{…},"overlapping":[{"name":…,"index_patterns":[…]}]}. */
struct overlap_search {
    const char *name;
    unsigned depth;
    bool in_overlapping;
    bool at_name;
    bool found;
};

static bool look_for_overlap(void *self, enum json_token token, struct span text)
{
    struct overlap_search *search = self;
    switch (token) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        search->depth++;
        return true;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        search->depth--;
        return true;
    case JSON_KEY:
        if (search->depth == 1) {
            search->in_overlapping = span_is(text, "overlapping");
        }
        search->at_name = search->in_overlapping && search->depth == 3 && span_is(text, "name");
        return true;
    default:
        search->found = search->at_name && span_is(text, search->name);
        search->at_name = false;
        return !search->found;
    }
}

/* A name that matches the pattern: "logs-etw.events-default" for "logs-etw.events-*". */
static void example_of(const char *pattern, char *ret_name, size_t room)
{
    size_t size = strcspn(pattern, "*");
    snprintf(ret_name, room, "%.*s%s", (int)size, pattern, pattern[size] ? "default" : "");
}

static bool is_superseded(const struct es_setup_names *names, const char *example,
    struct http_client *client, const char *url, struct es_response *response)
{
    struct error err;
    struct json_scan scan;
    struct overlap_search search = {.name = names->name};
    char path[ES_SETUP_MAX_NAME + 64];
    snprintf(path, sizeof(path), "/_index_template/_simulate_index/%s", example);
    if (!es_ask(client, url, "POST", path, span_make(NULL, 0), response, &err) ||
        response->reply.status != 200) {
        return false;
    }
    json_scan_init(&scan, look_for_overlap, &search);
    json_scan_feed(&scan, buf_span(&response->body));
    return search.found;
}

/* ---- the template that wins ------------------------------------------------------------------ */

/* In a list:
 * {"index_templates":[{"name":…,"index_template":{"index_patterns":[…],"priority":…}}]}. */
struct list_search {
    const char *example;
    struct es_winner best;
    struct es_winner here; /* the current template */
    bool here_fits;
    unsigned depth;
    enum { OTHER, NAME, PATTERNS, PRIORITY } key;
};

static void take_template(struct list_search *search)
{
    if (search->here_fits &&
        (!search->best.name[0] || search->here.priority > search->best.priority)) {
        search->best = search->here;
    }
    search->here = (struct es_winner){.priority = 0};
    search->here_fits = false;
}

static void take_value(struct list_search *search, struct span text)
{
    char number[24];
    switch (search->key) {
    case NAME:
        snprintf(search->here.name, sizeof(search->here.name), "%.*s", SPAN_ARG(text));
        break;
    case PATTERNS:
        search->here_fits = search->here_fits ||
                            glob_match(text, span_text(search->example), false);
        break;
    case PRIORITY:
        snprintf(number, sizeof(number), "%.*s", SPAN_ARG(text));
        search->here.priority = strtol(number, NULL, 10);
        break;
    case OTHER:
        break;
    }
}

static bool look_at_list(void *self, enum json_token token, struct span text)
{
    enum { IN_TEMPLATES = 2, IN_ENTRY = 3, IN_TEMPLATE = 4 };
    struct list_search *search = self;
    switch (token) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        search->depth++;
        break;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        search->depth--;
        if (search->depth == IN_TEMPLATES) {
            take_template(search);
        }
        break;
    case JSON_KEY:
        search->key = OTHER;
        if (search->depth == IN_ENTRY && span_is(text, "name")) {
            search->key = NAME;
        } else if (search->depth == IN_TEMPLATE && span_is(text, "index_patterns")) {
            search->key = PATTERNS;
        } else if (search->depth == IN_TEMPLATE && span_is(text, "priority")) {
            search->key = PRIORITY;
        }
        break;
    default:
        take_value(search, text);
        break;
    }
    return true;
}

bool es_winner_find(const struct es_setup_names *names, struct http_client *client, const char *url,
    struct es_response *response, struct es_winner *ret_winner)
{
    char example[ES_SETUP_MAX_NAME + 8];
    struct error err;
    struct json_scan scan;
    example_of(names->pattern, example, sizeof(example));
    *ret_winner = (struct es_winner){.priority = 0};
    if (!is_superseded(names, example, client, url, response)) {
        return false;
    }
    struct list_search search = {.example = example};
    if (es_ask(client, url, "GET", list_path, span_make(NULL, 0), response, &err) &&
        response->reply.status == 200) {
        json_scan_init(&scan, look_at_list, &search);
        json_scan_feed(&scan, buf_span(&response->body));
    }
    *ret_winner = search.best;
    return true;
}

void es_winner_say(const struct es_winner *winner, const struct es_setup_names *names,
    const struct es_response *response, struct error *ret_text)
{
    struct es_shown name;
    es_response_show(response, span_text(winner->name), &name);
    if (name.text[0]) {
        error_set(ret_text, ERR_CONFIG,
            "index template %s is in place, but %s wins for %s by its priority of %ld: events get "
            "its fields. remove that one, or lower its priority",
            names->name, name.text, names->pattern, winner->priority);
    } else {
        error_set(ret_text, ERR_CONFIG,
            "index template %s is in place, but another one of a higher priority wins for %s: "
            "events get its fields. remove that one, or lower its priority",
            names->name, names->pattern);
    }
}
