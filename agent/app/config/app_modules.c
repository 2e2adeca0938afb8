#include "app/config/app_modules.h"

#include "input/registry/registry.h"
#include "outputs/registry/registry.h"

enum { MAX_MODULES = 64 };

static void add_inputs(struct app_registry *registry, const struct input_ops **list)
{
    for (size_t i = 0; input_registry_at(i) && registry->input_count < MAX_MODULES; i++) {
        list[registry->input_count++] = input_registry_at(i);
    }
    registry->inputs = list;
}

static void add_outputs(struct app_registry *registry, const struct output_ops *const *from,
    size_t count, const struct output_ops **list)
{
    for (size_t i = 0; i < count && registry->output_count < MAX_MODULES; i++) {
        list[registry->output_count++] = from[i];
    }
    registry->outputs = list;
}

const struct app_registry *app_modules(void)
{
    static const struct input_ops *inputs[MAX_MODULES];
    static const struct output_ops *outputs[MAX_MODULES];
    static struct app_registry registry;
    if (registry.input_count == 0) {
        size_t count;
        add_inputs(&registry, inputs);
        const struct output_ops *const *list = registry_outputs(&count);
        add_outputs(&registry, list, count, outputs);
    }
    return &registry;
}
