#include "outputs/registry/registry.h"

#include "outputs/outputs.h"

static const struct output_ops *const outputs[] = {
#define OUTPUT(id) &output_##id,
#include "outputs/outputs.def"
#undef OUTPUT
};

enum { OUTPUT_COUNT = sizeof(outputs) / sizeof(outputs[0]) };

const struct output_ops *const *registry_outputs(size_t *ret_count)
{
    *ret_count = OUTPUT_COUNT;
    return outputs;
}

const struct output_ops *registry_find_output(struct span name)
{
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        if (span_is(name, outputs[i]->name)) {
            return outputs[i];
        }
    }
    return NULL;
}
