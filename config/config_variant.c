#include "config/config_variant.h"

#include "config/config_text.h"
#include "config/config_yaml.h"

/* The value of the `type` key of a mapping. Nothing else of it is checked. */
static yaml_node_t *find_type(struct config_walk *walk, const yaml_node_t *mapping)
{
    for (size_t i = 0; i < config_walk_pairs(mapping); i++) {
        const yaml_node_pair_t *pair = &mapping->data.mapping.pairs.start[i];
        yaml_node_t *key = config_walk_visit(walk, pair->key);
        if (!key) {
            return NULL;
        }
        if (key->type == YAML_SCALAR_NODE && span_is(config_yaml_text(key), "type")) {
            return yaml_document_get_node(walk->document, pair->value);
        }
    }
    return NULL;
}

/*
 * ${variant} is the one of a mapping without a type. If it does not know a key, but other variants
 * do, another type was meant: the error is reported, and the result is true.
 */
static bool complain_type_left_out(struct config_walk *walk, const struct config_variants *variants,
    const struct config_variant *variant, const yaml_node_t *mapping)
{
    for (size_t i = 0; i < config_walk_pairs(mapping); i++) {
        const yaml_node_pair_t *pair = &mapping->data.mapping.pairs.start[i];
        const yaml_node_t *node = yaml_document_get_node(walk->document, pair->key);
        struct span key = node->type == YAML_SCALAR_NODE ? config_yaml_text(node) : span_text("");
        if (span_is(key, "<<")) {
            return true; /* the type may have been meant to come from there; reported */
        }
        if (config_field_find(variants->common, key) || config_field_find(variant->fields, key)) {
            continue;
        }
        struct config_names owners = {.size = 0};
        for (size_t k = 0; k < variants->count; k++) {
            if (config_field_find(variants->list[k].fields, key)) {
                config_text_list(&owners, variants->list[k].type);
            }
        }
        if (owners.size) {
            CONFIG_COMPLAIN(walk, mapping,
                "the key 'type' is missing, and '%s' does not know %s. add it: %s", variant->type,
                config_text_quote(key).text, owners.text);
            return true;
        }
    }
    return false;
}

static const struct config_variant *find_variant(const struct config_variants *variants,
    struct span type, struct config_nearest *nearest, struct config_names *names)
{
    for (size_t i = 0; i < variants->count; i++) {
        const char *known = variants->list[i].type;
        if (span_is(type, known)) {
            return &variants->list[i];
        }
        config_text_consider(nearest, known);
        config_text_list(names, known);
    }
    return NULL;
}

const struct config_variant *config_variant_pick(
    struct config_walk *walk, const struct config_variants *variants, const yaml_node_t *mapping)
{
    const struct config_field *row = config_field_find(variants->common, span_text("type"));
    const yaml_node_t *node = find_type(walk, mapping);
    struct span type = span_text(row ? row->default_text : NULL);
    if (node) {
        if (node->type != YAML_SCALAR_NODE || config_walk_is_null(node)) {
            return NULL;
        }
        type = config_yaml_text(node);
    }
    struct config_nearest nearest = {.text = type};
    struct config_names names = {.size = 0};
    const struct config_variant *variant = find_variant(variants, type, &nearest, &names);
    if (variant) {
        bool left_out = !node && complain_type_left_out(walk, variants, variant, mapping);
        return left_out ? NULL : variant;
    }
    if (type.size || node) {
        const char *meant = config_text_meant(&nearest);
        CONFIG_COMPLAIN(walk, node ? node : mapping, "unknown %s type %s. %s%s%sknown: %s",
            variants->noun, config_text_quote(type).text, meant ? "did you mean '" : "",
            meant ? meant : "", meant ? "'? " : "", names.text);
    }
    return NULL;
}

bool config_variant_is_bare(
    struct config_walk *walk, const struct config_field *field, const yaml_node_t *node)
{
    struct config_nearest nearest = {.best = NULL};
    struct config_names names = {.size = 0};
    bool is_type = node->type == YAML_SCALAR_NODE &&
                   find_variant(field->variants, config_yaml_text(node), &nearest, &names);
    if (is_type) {
        struct span type = config_yaml_text(node);
        CONFIG_COMPLAIN(walk, node, "%s: this must be a mapping. write {type: %.*s}", field->key,
            SPAN_ARG(type));
    }
    return is_type;
}
