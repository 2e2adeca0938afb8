#include "schema/wpp/tmf_item.h"

static const struct tmf_item items[] = {
#define ITEM(name, in_type, out_type, length, style) \
    {#name, IN_##in_type, OUT_##out_type, length, WPP_STYLE_##style},
#include "schema/wpp/tmf_items.def"
#undef ITEM
};

const struct tmf_item *tmf_item_find(struct span name)
{
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        if (span_equal_nocase(name, span_text(items[i].name))) {
            return &items[i];
        }
    }
    return NULL;
}
