/*
 * The walk over a YAML tree and its tables. A struct gets its defaults first, then the values of
 * the file. A wrong value costs one error and the walk continues, so that one run reports all
 * errors.
 */
#include "config/config_bind.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/order.h"
#include "config/config_hint.h"
#include "config/config_leaf.h"
#include "config/config_variant.h"
#include "config/config_yaml.h"

/* What bind_pairs found for a row: then it is not missing. */
struct seen {
    yaml_node_t *given; /* its key */
    bool meant;         /* an unknown key was probably meant for it; the error was reported */
};

static void bind_value(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member);

static const struct config_field *find_row(
    const struct config_target *target, struct span key, size_t *ret_part)
{
    const struct config_field *field = NULL;
    for (size_t i = 0; i < target->part_count && !field; i++) {
        field = config_field_find(target->parts[i].fields, key);
        *ret_part = i;
    }
    return field;
}

/* Report required rows without a value. ${seen} has the rows in order, part after part. */
static void check_required(struct config_walk *walk, const yaml_node_t *mapping,
    const struct config_target *target, const struct seen *seen)
{
    for (size_t i = 0; i < target->part_count; i++) {
        for (const struct config_field *f = target->parts[i].fields; f->key; f++, seen++) {
            if (f->required && !seen->given && !seen->meant) {
                CONFIG_COMPLAIN(walk, mapping, "the key '%s' is missing. add it: %s", f->key,
                    f->help ? f->help : "it is required");
            }
        }
    }
}

static size_t row_count(const struct config_field *fields)
{
    size_t count = 0;
    while (fields[count].key) {
        count++;
    }
    return count;
}

/* Give each part its defaults. False, with an error reported,
 * if a table is wrong or memory ends. */
static bool start_target(
    struct config_walk *walk, const yaml_node_t *node, const struct config_target *target)
{
    size_t rows = 0;
    struct error err;
    for (size_t i = 0; i < target->part_count; i++) {
        const struct config_part *part = &target->parts[i];
        rows += row_count(part->fields);
        if (!config_field_set_defaults(walk->config, part->fields, part->base, &err)) {
            config_walk_stop(walk, node, err.text);
            return false;
        }
    }
    if (rows > CONFIG_MAX_ROWS) {
        config_walk_stop(walk, node, "this build has too many keys here. please report this");
        return false;
    }
    return true;
}

/* The place of a row in all parts. */
static size_t row_number(
    const struct config_target *target, const struct config_field *field, size_t part)
{
    size_t row = (size_t)(field - target->parts[part].fields);
    return row + (part ? row_count(target->parts[0].fields) : 0);
}

static void bind_pairs(
    struct config_walk *walk, yaml_node_t *node, const struct config_target *target)
{
    struct seen seen[CONFIG_MAX_ROWS] = {{NULL, false}};
    size_t count = config_walk_pairs(node);
    for (size_t i = 0; i < count && !walk->stopped; i++) {
        const yaml_node_pair_t *pair = &node->data.mapping.pairs.start[i];
        struct span key;
        yaml_node_t *key_node = config_walk_key(walk, pair->key, &key);
        if (!key_node) {
            continue;
        }
        size_t part = 0;
        const struct config_field *field = find_row(target, key, &part);
        if (!field) {
            const char *meant = config_hint_unknown(walk, node, pair, key, target);
            field = meant ? find_row(target, span_text(meant), &part) : NULL;
            if (field) {
                seen[row_number(target, field, part)].meant = true;
            }
            continue;
        }
        struct seen *row = &seen[row_number(target, field, part)];
        if (row->given) {
            config_walk_twice(walk, key_node, key, row->given);
            continue;
        }
        row->given = key_node;
        yaml_node_t *value = config_walk_visit(walk, pair->value);
        if (value) {
            bind_value(walk, field, value, target->parts[part].base + field->offset);
        }
    }
    if (!walk->stopped) {
        check_required(walk, node, target, seen);
    }
}

static void bind_mapping(
    struct config_walk *walk, yaml_node_t *node, const struct config_target *target)
{
    if (walk->depth == CONFIG_MAX_DEPTH) {
        config_walk_stop(walk, node, "aliases nest more than 32 levels deep. use fewer aliases");
        return;
    }
    walk->depth++;
    if (start_target(walk, node, target)) {
        bind_pairs(walk, node, target);
    }
    walk->depth--;
}

static void bind_struct(struct config_walk *walk, const struct config_field *field,
    yaml_node_t *node, const struct config_field *fields, void *base)
{
    if (config_walk_check_type(walk, field, node, YAML_MAPPING_NODE)) {
        bind_mapping(
            walk, node, &(struct config_target){.parts = {{fields, base}}, .part_count = 1});
    }
}

/* One element of a list of structs. */
static void bind_element(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *sequence, size_t at, yaml_node_t *item, uint8_t *element)
{
    const struct config_field *shorthand = field->shorthand;
    const struct config_target target = {
        .parts = {{field->fields, element}}, .part_count = 1, .shorthand = shorthand != NULL};
    if (shorthand && item->type == YAML_SCALAR_NODE) {
        struct error err;
        if (!config_field_set_defaults(walk->config, field->fields, element, &err)) {
            config_walk_stop(walk, item, err.text);
        } else {
            config_leaf_scalar(walk, shorthand, item, element + shorthand->offset);
        }
    } else if (!config_hint_rest(walk, sequence, at, item) &&
               config_walk_check_type(walk, field, item, YAML_MAPPING_NODE)) {
        bind_mapping(walk, item, &target);
    }
}

static void bind_structs(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member)
{
    size_t count;
    if (!config_walk_check_type(walk, field, node, YAML_SEQUENCE_NODE) ||
        !config_walk_check_count(walk, field, node, count = config_walk_items(node))) {
        return;
    }
    uint8_t *items = config_walk_alloc(walk, node, count, field->size);
    for (size_t i = 0; i < count && items; i++) {
        yaml_node_t *item = config_walk_visit(walk, node->data.sequence.items.start[i]);
        if (item) {
            uint8_t *element = items + i * field->size;
            size_t errors = walk->report->error_count;
            size_t place = config_walk_remember(walk, item, element, field->size);
            bind_element(walk, field, node, i, item, element);
            config_walk_mark_flawed(walk, place, errors);
        }
    }
    *(struct config_list *)member = (struct config_list){items, items ? count : 0};
}

/* One pair of a CONFIG_KEYED mapping. False if it has no usable key. */
static bool bind_keyed_pair(struct config_walk *walk, const struct config_field *field,
    const yaml_node_pair_t *pair, struct map *seen, uint8_t *element)
{
    const struct config_field key_field = {.key = field->key, .type = CONFIG_STRING};
    struct span key;
    struct error err;
    yaml_node_t *key_node = config_walk_key(walk, pair->key, &key);
    yaml_node_t *value = config_walk_visit(walk, pair->value);
    if (!key_node || !value) {
        return false;
    }
    yaml_node_t *first = map_get(seen, key);
    if (first) {
        config_walk_twice(walk, key_node, key, first);
        return false;
    }
    if (!map_put(seen, key, key_node)) {
        config_walk_stop(walk, key_node, "out of memory. free some and retry");
        return false;
    }
    if (!config_field_set(walk->config, &key_field, key, element, &err)) {
        CONFIG_COMPLAIN(walk, key_node, "%s: %s", field->key, err.text);
        return false;
    }
    size_t errors = walk->report->error_count;
    size_t place = config_walk_remember(walk, key_node, element, field->size);
    if (field->shorthand) {
        bind_value(walk, field->shorthand, value, element + field->shorthand->offset);
    } else {
        bind_struct(walk, field, value, field->fields, element);
    }
    config_walk_mark_flawed(walk, place, errors);
    return true;
}

static void bind_keyed(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member)
{
    size_t count;
    if (!config_walk_check_pairs(walk, field, node, &count)) {
        return;
    }
    struct config_list list = {config_walk_alloc(walk, node, count, field->size), 0};
    struct map seen;
    map_init(&seen, CONFIG_MAX_PAIRS);
    for (size_t i = 0; i < count && list.items; i++) {
        uint8_t *element = (uint8_t *)list.items + list.count * field->size;
        if (bind_keyed_pair(walk, field, &node->data.mapping.pairs.start[i], &seen, element)) {
            list.count++;
        }
    }
    map_fini(&seen);
    *(struct config_list *)member = list;
}

static void bind_variant(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, uint8_t *element)
{
    const struct config_variants *variants = field->variants;
    if (config_variant_is_bare(walk, field, node) ||
        !config_walk_check_type(walk, field, node, YAML_MAPPING_NODE)) {
        return;
    }
    struct config_target target = {.parts = {{variants->common, element}},
        .part_count = 1,
        .open = true,
        .variants = variants};
    size_t errors = walk->report->error_count;
    size_t place = SIZE_MAX;
    const struct config_variant *variant = config_variant_pick(walk, variants, node);
    void *settings = variant ? config_walk_alloc(walk, node, 1, variant->settings_size) : NULL;
    if (settings) {
        place = config_walk_remember(walk, node, settings, variant->settings_size);
        memcpy(element + variants->variant_offset, &variant, sizeof(variant));
        memcpy(element + variants->settings_offset, &settings, sizeof(settings));
        target.parts[1] = (struct config_part){variant->fields, settings};
        target.part_count = 2;
        target.open = false;
    }
    bind_mapping(walk, node, &target);
    config_walk_mark_flawed(walk, place, errors);
}

static void bind_variants(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member)
{
    size_t count;
    if (!config_walk_check_type(walk, field, node, YAML_SEQUENCE_NODE) ||
        !config_walk_check_count(walk, field, node, count = config_walk_items(node))) {
        return;
    }
    size_t size = field->variants->size;
    uint8_t *items = config_walk_alloc(walk, node, count, size);
    for (size_t i = 0; i < count && items; i++) {
        yaml_node_t *item = config_walk_visit(walk, node->data.sequence.items.start[i]);
        if (item) {
            size_t errors = walk->report->error_count;
            size_t place = config_walk_remember(walk, item, items + i * size, size);
            bind_variant(walk, field, item, items + i * size);
            config_walk_mark_flawed(walk, place, errors);
        }
    }
    *(struct config_list *)member = (struct config_list){items, items ? count : 0};
}

static void bind_value(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member)
{
    if (config_field_is_scalar(field)) {
        config_leaf_scalar(walk, field, node, member);
        return;
    }
    size_t errors = walk->report->error_count;
    size_t place = config_walk_remember(walk, node, member, config_field_size(field));
    switch (field->type) {
    case CONFIG_STRINGS:
    case CONFIG_PATHS:
        config_leaf_strings(walk, field, node, member);
        break;
    case CONFIG_MAP:
        config_leaf_map(walk, field, node, member);
        break;
    case CONFIG_STRUCT:
        bind_struct(walk, field, node, field->fields, member);
        break;
    case CONFIG_STRUCTS:
        bind_structs(walk, field, node, member);
        break;
    case CONFIG_KEYED:
        bind_keyed(walk, field, node, member);
        break;
    default:
        bind_variants(walk, field, node, member);
        break;
    }
    config_walk_mark_flawed(walk, place, errors);
}

static int compare_places(const void *a_, const void *b_)
{
    const struct config_place *a = a_;
    const struct config_place *b = b_;
    int order = order_u64((uintptr_t)a->start, (uintptr_t)b->start);
    return order ? order : order_u64(a->order, b->order);
}

void config_bind(struct config *config, yaml_document_t *document,
    const struct config_field *fields, void *settings, size_t size, struct config_report *report)
{
    static const struct config_field root_field = {.key = "configuration"};
    struct config_walk walk = {.config = config, .report = report, .document = document};
    yaml_node_t *root = config_walk_visit(&walk, 1);
    if (!root || config_walk_is_null(root)) {
        config_report_add(
            report, config->files[0].name, 1, 1, "the configuration is empty. write one");
        return;
    }
    config_walk_remember(&walk, root, settings, size);
    bind_struct(&walk, &root_field, root, fields, settings);
    if (config->place_count) {
        qsort(config->places, config->place_count, sizeof(*config->places), compare_places);
    }
}
