/* Finds what the user meant, for texts that YAML splits or turns into something else, and for keys
 * that no table has. */
#include "config/config_hint.h"

#include "config/config_text.h"
#include "config/config_yaml.h"

/*
 * Inside { } and [ ] YAML splits at commas and takes a text that ends with a colon for a key. So an
 * expression arrives in pieces: keys without a value. ${before}: the previous key, NULL: none.
 */
static bool complain_cut(struct config_walk *walk, const yaml_node_t *mapping,
    const yaml_node_pair_t *pair, struct span key, bool shorthand)
{
    const yaml_node_t *key_node = yaml_document_get_node(walk->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(walk->document, pair->value);
    if (!config_walk_is_null(value) || value->data.scalar.length) {
        return false;
    }
    if (shorthand && config_walk_pairs(mapping) == 1) {
        CONFIG_COMPLAIN(walk, key_node,
            "%s became a key, because of a colon after it or braces around it. quote the whole "
            "expression",
            config_text_quote(key).text);
        return true;
    }
    if (mapping->data.mapping.style != YAML_FLOW_MAPPING_STYLE ||
        pair == mapping->data.mapping.pairs.start) {
        return false;
    }
    const yaml_node_t *before = yaml_document_get_node(walk->document, pair[-1].key);
    struct span name = before->type == YAML_SCALAR_NODE ? config_yaml_text(before) : span_text("?");
    CONFIG_COMPLAIN(walk, key_node,
        "%s became a key, because in { } a comma ends a value. quote the whole expression after %s",
        config_text_quote(key).text, config_text_quote(name).text);
    return true;
}

/* Keys that are wrong in any mapping, also in one whose type is unknown. Returns the same as
 * config_hint_unknown. */
static const char *complain_foreign(struct config_walk *walk, const yaml_node_t *node,
    struct span key, const struct config_target *target, bool *ret_done)
{
    const struct config_variants *variants = target->variants;
    *ret_done = true;
    if (span_is(key, "<<")) {
        CONFIG_COMPLAIN(walk, node, "merge keys (<<) are not supported. repeat the keys");
        return "type";
    }
    for (size_t i = 0; variants && i < variants->count; i++) {
        const char *type = variants->list[i].type;
        if (span_is(key, type)) {
            CONFIG_COMPLAIN(
                walk, node, "unknown key '%s'. write type: %s, and its keys beside it", type, type);
            return "type";
        }
    }
    *ret_done = false;
    return NULL;
}

const char *config_hint_unknown(struct config_walk *walk, const yaml_node_t *mapping,
    const yaml_node_pair_t *pair, struct span key, const struct config_target *target)
{
    const yaml_node_t *node = yaml_document_get_node(walk->document, pair->key);
    bool done;
    const char *foreign = complain_foreign(walk, node, key, target, &done);
    if (done || target->open) {
        return foreign;
    }
    if (!config_report_has_room(walk->report)) {
        walk->report->error_count++;
        return NULL;
    }
    if (complain_cut(walk, mapping, pair, key, target->shorthand)) {
        return NULL;
    }
    struct config_nearest nearest = {.text = key};
    struct config_names known = {.size = 0};
    for (size_t i = 0; i < target->part_count; i++) {
        for (const struct config_field *f = target->parts[i].fields; f->key; f++) {
            config_text_consider(&nearest, f->key);
            config_text_list(&known, f->key);
        }
    }
    const char *meant = config_text_meant(&nearest);
    struct config_quote quote = config_text_quote(key);
    if (meant) {
        CONFIG_COMPLAIN(walk, node, "unknown key %s. did you mean '%s'?", quote.text, meant);
    } else {
        CONFIG_COMPLAIN(walk, node, "unknown key %s. known here: %s", quote.text, known.text);
    }
    return meant;
}

/* YAML splits only what has no end of its own: a plain text, or a pair without braces, which starts
 * where its key does. */
static bool may_be_cut(const struct config_walk *walk, const yaml_node_t *item)
{
    if (item->type != YAML_MAPPING_NODE) {
        return item->type == YAML_SCALAR_NODE && item->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    }
    const yaml_node_pair_t *pair = item->data.mapping.pairs.start;
    const yaml_node_t *key = config_walk_pairs(item)
                                 ? yaml_document_get_node(walk->document, pair->key)
                                 : NULL;
    return key && key->start_mark.line == item->start_mark.line &&
           key->start_mark.column == item->start_mark.column;
}

bool config_hint_rest(
    struct config_walk *walk, const yaml_node_t *sequence, size_t at, const yaml_node_t *item)
{
    bool is_rest = sequence->data.sequence.style == YAML_FLOW_SEQUENCE_STYLE && at > 0 &&
                   item->type == YAML_SCALAR_NODE &&
                   item->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                   may_be_cut(walk, yaml_document_get_node(walk->document,
                                        sequence->data.sequence.items.start[at - 1]));
    if (is_rest) {
        CONFIG_COMPLAIN(walk, item,
            "%s became an item, because in [ ] a comma ends the one before. quote the whole "
            "expression",
            config_text_quote(config_yaml_text(item)).text);
    }
    return is_rest;
}
