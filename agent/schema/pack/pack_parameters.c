#include "schema/pack/pack_parameters.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void pack_parameters_fini(struct pack_parameter_sets *sets)
{
    free(sets->sets);
    free(sets->list);
    *sets = (struct pack_parameter_sets){.sets = NULL};
}

bool pack_parameters_begin(struct pack_parameter_sets *sets, struct pack_line *in,
    const struct guid *provider, struct span name)
{
    uint64_t language;
    if (!pack_line_number(in, UINT16_MAX, &language)) {
        return false;
    }
    if (!grow_list(&sets->sets, sets->count, &sets->capacity, sizeof(*sets->sets))) {
        return pack_line_fail_memory(in);
    }
    sets->sets[sets->count++] = (struct pack_parameters){
        .provider = *provider, .name = name, .texts = {.language = (uint16_t)language}};
    sets->list_count = 0;
    return true;
}

bool pack_parameters_add(struct pack_parameter_sets *sets, struct pack_line *in)
{
    uint64_t number;
    struct span text;
    if (!pack_line_number(in, UINT32_MAX, &number) || !pack_line_text(in, &text)) {
        return false;
    }
    if (sets->list_count == PACK_MAX_PARAMETERS) {
        return pack_line_fail(in, "too many parameters");
    }
    if (!grow_list(&sets->list, sets->list_count, &sets->list_capacity, sizeof(*sets->list))) {
        return pack_line_fail_memory(in);
    }
    sets->list[sets->list_count++] = (struct schema_parameter){
        .number = (uint32_t)number, .text = text};
    return true;
}

bool pack_parameters_end(struct pack_parameter_sets *sets, struct pack_line *in)
{
    struct schema_parameters *texts = &sets->sets[sets->count - 1].texts;
    struct schema_parameter *list = arena_alloc_array(in->arena, sets->list_count, sizeof(*list));
    if (!list) {
        return pack_line_fail_memory(in);
    }
    if (sets->list_count) {
        memcpy(list, sets->list, sets->list_count * sizeof(*list));
        schema_parameters_sort(list, sets->list_count);
    }
    for (size_t i = 1; i < sets->list_count; i++) {
        if (list[i].number == list[i - 1].number) {
            return pack_line_fail(in, "the parameters above have two texts for one number");
        }
    }
    texts->list = list;
    texts->count = sets->list_count;
    return true;
}

const struct schema_parameters *pack_parameters_find(
    const struct pack_parameter_sets *sets, const struct guid *provider, struct span name)
{
    const struct schema_parameters *by_name = NULL;
    for (size_t i = 0; i < sets->count; i++) {
        const struct pack_parameters *set = &sets->sets[i];
        if (set->texts.count && guid_equal(&set->provider, provider)) {
            return &set->texts;
        }
        bool is_called = set->texts.count && name.size && span_equal(set->name, name);
        by_name = !by_name && is_called ? &set->texts : by_name;
    }
    return by_name;
}
