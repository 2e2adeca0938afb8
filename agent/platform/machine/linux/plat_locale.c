#define _GNU_SOURCE

#include "platform/plat_locale.h"

#include <locale.h>

void plat_locale_begin(struct plat_locale *locale)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    *locale = (struct plat_locale){.utf8 = utf8};
    if (utf8) {
        locale->before = uselocale(utf8);
    }
}

void plat_locale_end(struct plat_locale *locale)
{
    if (locale->utf8) {
        uselocale(locale->before);
        freelocale(locale->utf8);
        locale->utf8 = (locale_t)0;
    }
}
