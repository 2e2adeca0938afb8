#include "outputs/registry.h"

#define OUTPUT(id) extern const struct output_ops output_##id;
#include "outputs/known.def"
#undef OUTPUT

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

static const struct output_ops *const known[] = {
#define OUTPUT(id) &output_##id,
#include "outputs/known.def"
#undef OUTPUT
};

const struct output_ops *const *registry_known_outputs(size_t *ret_count)
{
    *ret_count = sizeof(known) / sizeof(known[0]);
    return known;
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
