#ifndef ETWSHIP_PLATFORM_PLAT_LOCALE_H
#define ETWSHIP_PLATFORM_PLAT_LOCALE_H

/*
 * The program runs in the locale "C", in which functions of the C library know no characters beyond ASCII.
 * Libraries that convert names by them are called with UTF-8 instead, on one thread. Windows: nothing happens,
 * as names are UTF-16 there.
 */
struct plat_locale {
    void *before;
    void *utf8; /* NULL: the system has none */
};

void plat_locale_begin(struct plat_locale *locale);
void plat_locale_end(struct plat_locale *locale); /* of the last plat_locale_begin on this thread */

#endif
