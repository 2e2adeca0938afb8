#include "schema/wpp/mof_control.h"

static bool is_provider(const struct mof_class *class, struct guid *ret_guid)
{
    struct guid guid;
    if (class->is_local || !mof_class_guid(class, ret_guid) ||
        mof_qualifier_find(class->qualifiers, "EventType")) {
        return false;
    }
    for (const struct mof_class *at = class->base; at; at = at->base) {
        if (mof_class_guid(at, &guid)) {
            return false;
        }
    }
    return true;
}

static const struct mof_property *find_flags(const struct mof_class *class)
{
    const struct mof_property *at = class->properties;
    while (at && !span_equal_nocase(at->name, span_text("Flags"))) {
        at = at->next;
    }
    return at;
}

/* Add one flag per name of a qualifier. ValueMap has the numbers; without it, names stand for bits
 * in order. */
static bool add_flags(const struct mof_property *property, const char *names_key,
    struct wpp_controls *controls, struct wpp_control *control)
{
    const struct mof_qualifier *names = mof_qualifier_find(property->qualifiers, names_key);
    const struct mof_qualifier *map = mof_qualifier_find(property->qualifiers, "ValueMap");
    const struct mof_value *number = map ? map->values : NULL;
    unsigned place = 0;
    for (const struct mof_value *name = names ? names->values : NULL; name; name = name->next) {
        uint64_t bits = place < 64 ? UINT64_C(1) << place : 0;
        bool known = map ? number && mof_number(number->text, UINT64_MAX, &bits) : place < 64;
        if (known && !wpp_controls_add_flag(controls, control, name->text, bits)) {
            return false;
        }
        number = number ? number->next : NULL;
        place++;
    }
    return true;
}

bool mof_control_find(const struct mof_model *model, struct wpp_controls *controls)
{
    for (const struct mof_class *class = model->first; class; class = class->next) {
        struct guid guid;
        if (!is_provider(class, &guid)) {
            continue;
        }
        struct wpp_control *control = wpp_controls_add(controls, &guid, class->name);
        const struct mof_property *flags = find_flags(class);
        if (!control || (flags && (!add_flags(flags, "Values", controls, control) ||
                                      !add_flags(flags, "DefineValues", controls, control)))) {
            return false;
        }
    }
    return true;
}
