#include "app/app_shape.h"

#include <stdio.h>
#include <xxhash.h>

uint32_t app_shape_hash(const struct app_output *output)
{
    char text[128];
    int size = snprintf(text, sizeof(text), "format=%s", app_config_format(output));
    return XXH32(text, (size_t)size, 0);
}
