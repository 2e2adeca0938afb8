#ifndef ETWSHIP_INPUT_REGISTRY_H
#define ETWSHIP_INPUT_REGISTRY_H

#include "input/input.h"

/* The inputs of this build, from inputs.def. */

/* The input ${name}, or NULL. */
const struct input_ops *input_registry_find(const char *name);

/* Input ${index}, from 0; NULL after the last. */
const struct input_ops *input_registry_at(size_t index);

#endif
