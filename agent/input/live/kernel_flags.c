#include "input/live/kernel_flags.h"

#include "config/config_value.h"

enum { WORD_SHIFT = 29, WORD_OF_BEHAVIOUR = 7 };

struct row {
    const char *name;
    uint32_t mask;
};

static const struct row flags[] = {
#define KERNEL_FLAG(name, mask) {#name, mask},
#include "input/live/kernel_flags.def"
};

static const struct row constants[] = {
#define KERNEL_PERF(name, mask) {#name, mask},
#include "input/live/kernel_flags.def"
};

static const struct row classes[] = {
#define KERNEL_CLASS(name, mask) {#name, mask},
#include "input/live/kernel_flags.def"
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static bool find(const struct row *rows, size_t count, struct span name, uint32_t *ret_mask)
{
    for (size_t i = 0; i < count; i++) {
        if (span_equal_nocase(name, span_text(rows[i].name))) {
            *ret_mask = rows[i].mask;
            return true;
        }
    }
    return false;
}

/* Remove ${prefix} from ${text} if it begins with it. */
static bool cut(struct span *text, const char *prefix)
{
    struct span p = span_text(prefix);
    if (!span_equal_nocase(span_first(*text, p.size), p)) {
        return false;
    }
    *text = span_from(*text, p.size);
    return true;
}

/* Word 7 is not a group mask: it changes the behaviour of the system. */
static bool is_mask(uint32_t mask)
{
    return mask >> WORD_SHIFT != WORD_OF_BEHAVIOUR && mask << (32 - WORD_SHIFT) != 0;
}

bool kernel_flags_find(struct span text, uint32_t *ret_mask)
{
    int64_t number;
    if (text.size && text.data[0] >= '0' && text.data[0] <= '9') {
        if (!config_value_int(text, &number, NULL) || number > UINT32_MAX ||
            !is_mask((uint32_t)number)) {
            return false;
        }
        *ret_mask = (uint32_t)number;
        return true;
    }
    if (cut(&text, "PERF_")) {
        return find(constants, COUNT(constants), text, ret_mask);
    }
    if (cut(&text, "EVENT_TRACE_FLAG_")) {
        uint32_t mask;
        bool found = find(flags, COUNT(flags), text, &mask) && mask >> WORD_SHIFT == 0;
        *ret_mask = found ? mask : *ret_mask;
        return found;
    }
    return find(flags, COUNT(flags), text, ret_mask) ||
           find(classes, COUNT(classes), text, ret_mask);
}

const char *kernel_flags_name(size_t index)
{
    return index < COUNT(flags) ? flags[index].name : NULL;
}
