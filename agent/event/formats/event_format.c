#include "event/formats/event_format.h"

#include "event/write/event_formats.h"

const struct event_format *event_format_find(struct span name)
{
    static const struct event_format *const formats[] = {
#define FORMAT(id) &event_format_##id,
#include "event/write/formats.def"
#undef FORMAT
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (span_is(name, formats[i]->name)) {
            return formats[i];
        }
    }
    return NULL;
}
