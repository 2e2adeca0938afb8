#include "config/config_leaf.h"

#include <stdio.h>

#include "base/map.h"
#include "config/config_secret.h"
#include "config/config_text.h"
#include "config/config_yaml.h"

/* Only ${NAME}: not a part of a secret, but the place where it is kept. */
static bool is_one_variable(struct span text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    bool good = text.size > 3 && memcmp(text.data, "${", 2) == 0 && text.data[text.size - 1] == '}';
    for (size_t i = 2; i + 1 < text.size && good; i++) {
        good = memchr(letters, text.data[i], sizeof(letters) - 1) != NULL;
    }
    return good;
}

/* Number of characters of the folder that a relative path of ${written} bytes got as a prefix. */
static uint32_t characters_in_front(
    const struct config_field *field, const void *member, size_t written)
{
    if (field->type != CONFIG_PATH && field->type != CONFIG_PATHS) {
        return 0;
    }
    struct span path = span_text(*(const char *const *)member);
    uint32_t characters = 0;
    for (size_t i = 0; i + written < path.size; i++) {
        characters += (path.data[i] & 0xc0) != 0x80;
    }
    return characters;
}

/* A variable in a secret must not be empty. ${expanded} is its value. */
static bool check_variables(const struct config *config, const struct config_field *field,
    struct span text, struct span expanded, struct error *err)
{
    bool is_secret = field->type == CONFIG_SECRET || field->hide_values;
    struct span blank = is_secret ? config_text_blank_variable(text, config->env, config->env_self)
                                  : span_make(NULL, 0);
    if (blank.size == 0 || (field->may_be_empty && expanded.size == 0)) {
        return true;
    }
    return error_set(err, ERR_CONFIG,
        "the environment variable %.*s is empty. set it to the secret, or remove the key",
        SPAN_ARG(blank));
}

/* A secret that is a variable is wrong: name the variable. */
static void name_variable(struct span text, struct error *err)
{
    char why[sizeof(err->text)];
    snprintf(why, sizeof(why), "%s", err->text);
    struct span name = span_first(span_from(text, 2), text.size - 3);
    error_set(err, err->code, "the environment variable %.*s: %s", SPAN_ARG(name), why);
}

/* Other users see the command lines of processes: a secret there is none. */
static void remark_on_secret(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, struct span written)
{
    bool is_open = walk->config->files[config_tree_file(node)].is_override &&
                   (field->type == CONFIG_SECRET || field->hide_values) &&
                   !is_one_variable(written) && !config_secret_is_place(written);
    if (is_open && written.size) {
        char text[256];
        snprintf(text, sizeof(text),
            "%s: every user of this machine sees it in the list of processes. write file:PATH, or "
            "${NAME} of the environment",
            field->key);
        config_remark_add(walk->config, node, text);
    }
}

static bool set_text(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, void *member)
{
    struct config *config = walk->config;
    struct span text = config_yaml_text(node);
    struct buf expanded;
    buf_init(&expanded, CONFIG_MAX_VALUE_BYTES);
    struct error err = {0};
    bool good = true;
    if (text.size && memchr(text.data, '$', text.size)) {
        good = config_text_expand(text, config->env, config->env_self, &expanded, &err);
        if (!good && field->type == CONFIG_SECRET && !is_one_variable(text)) {
            error_set(&err, err.code,
                "a ${…} in it cannot be resolved. name an environment variable that is set, or "
                "write $${ for a literal ${");
        }
        good = good && check_variables(config, field, text, buf_span(&expanded), &err);
        text = buf_span(&expanded);
    }
    config->base = config->files[config_tree_file(node)].base;
    if (good) {
        good = config_field_set(config, field, text, member, &err);
        struct span written = config_yaml_text(node);
        bool is_named = span_is(span_first(text, 5), "file:");
        if (!good && field->type == CONFIG_SECRET && !is_named && is_one_variable(written)) {
            name_variable(written, &err);
        }
    }
    config->base = "";
    buf_fini(&expanded);
    bool is_item = field->type == CONFIG_STRINGS || field->type == CONFIG_PATHS;
    size_t place = config_walk_remember(
        walk, node, member, is_item ? sizeof(const char *) : config_field_size(field));
    if (good && place != SIZE_MAX) {
        config_walk_keep_written(walk, node, place);
        config->places[place].position.in_front = characters_in_front(field, member, text.size);
    }
    if (good) {
        remark_on_secret(walk, field, node, config_yaml_text(node));
        return true;
    }
    size_t errors = walk->report->error_count;
    if (err.code == ERR_MEMORY) {
        config_walk_stop(walk, node, err.text);
    } else {
        CONFIG_COMPLAIN(walk, node, "%s: %s", field->key, err.text);
    }
    config_walk_mark_flawed(walk, place, errors);
    return false;
}

bool config_leaf_scalar(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, void *member)
{
    if (!config_walk_check_type(walk, field, node, YAML_SCALAR_NODE)) {
        return false;
    }
    if (config_walk_is_null(node)) {
        CONFIG_COMPLAIN(
            walk, node, "%s: there is no value. write one, or remove the key", field->key);
        return false;
    }
    return set_text(walk, field, node, member);
}

void config_leaf_strings(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member)
{
    size_t count;
    if (!config_walk_check_type(walk, field, node, YAML_SEQUENCE_NODE) ||
        !config_walk_check_count(walk, field, node, count = config_walk_items(node))) {
        return;
    }
    struct config_strings strings = {config_walk_alloc(walk, node, count, sizeof(const char *)), 0};
    for (size_t i = 0; i < count && strings.items; i++) {
        yaml_node_t *item = config_walk_visit(walk, node->data.sequence.items.start[i]);
        if (item && config_leaf_scalar(walk, field, item, &strings.items[strings.count])) {
            strings.count++;
        }
    }
    *(struct config_strings *)member = strings;
}

/* The keys of a map may be wrong, too. */
static void remember_key(struct config_walk *walk, const yaml_node_t *node, const char **member)
{
    size_t place = config_walk_remember(walk, node, member, sizeof(*member));
    if (place != SIZE_MAX) {
        config_walk_keep_written(walk, node, place);
    }
}

void config_leaf_map(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member)
{
    const struct config_field text_field = {
        .key = field->key, .type = CONFIG_STRING, .hide_values = field->hide_values};
    size_t count;
    if (!config_walk_check_pairs(walk, field, node, &count)) {
        return;
    }
    struct config_map bound = {config_walk_alloc(walk, node, count, sizeof(struct config_pair)), 0};
    struct map seen;
    map_init(&seen, CONFIG_MAX_PAIRS);
    for (size_t i = 0; i < count && bound.items; i++) {
        const yaml_node_pair_t *pair = &node->data.mapping.pairs.start[i];
        struct config_pair *entry = &bound.items[bound.count];
        struct span key;
        yaml_node_t *key_node = config_walk_key(walk, pair->key, &key);
        yaml_node_t *value = config_walk_visit(walk, pair->value);
        if (!key_node || !value) {
            continue;
        }
        yaml_node_t *first = map_get(&seen, key);
        if (first) {
            config_walk_twice(walk, key_node, key, first);
        } else if (!map_put(&seen, key, key_node)) {
            config_walk_stop(walk, node, "out of memory. free some and retry");
        } else if (config_walk_check_type(walk, &text_field, value, YAML_SCALAR_NODE) &&
                   set_text(walk, &text_field, value, &entry->value)) {
            struct error err;
            if (config_field_set(walk->config, &text_field, key, &entry->key, &err)) {
                remember_key(walk, key_node, &entry->key);
                bound.count++;
            } else {
                CONFIG_COMPLAIN(walk, key_node, "%s: %s", field->key, err.text);
            }
        }
    }
    map_fini(&seen);
    *(struct config_map *)member = bound;
}
