#include "platform/plat_locale.h"

#include <stddef.h>

void plat_locale_begin(struct plat_locale *locale)
{
    *locale = (struct plat_locale){.before = NULL};
}

void plat_locale_end(struct plat_locale *locale)
{
    (void)locale;
}
