#ifndef ETWSHIP_INPUT_REGISTRY_H
#define ETWSHIP_INPUT_REGISTRY_H

#include "input/input.h"

/* The inputs of this build, by inputs.def. */

/* The input called ${name}, or NULL. */
const struct input_ops *input_registry_find(const char *name);

/* Number ${index} from 0 on; NULL behind the last. */
const struct input_ops *input_registry_at(size_t index);

#endif
