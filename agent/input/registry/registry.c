#include "input/registry/registry.h"

#include <string.h>

#define INPUT(id) extern const struct input_ops input_##id;
#include "input/inputs.def"
#undef INPUT

static const struct input_ops *const inputs[] = {
#define INPUT(id) &input_##id,
#include "input/inputs.def"
#undef INPUT
};

const struct input_ops *input_registry_at(size_t index)
{
    return index < sizeof(inputs) / sizeof(inputs[0]) ? inputs[index] : NULL;
}

const struct input_ops *input_registry_find(const char *name)
{
    for (size_t i = 0; input_registry_at(i); i++) {
        if (strcmp(inputs[i]->name, name) == 0) {
            return inputs[i];
        }
    }
    return NULL;
}
