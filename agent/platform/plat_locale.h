#ifndef ETWSHIP_PLATFORM_PLAT_LOCALE_H
#define ETWSHIP_PLATFORM_PLAT_LOCALE_H

/*
 * The program runs in the locale "C", in which C library functions only handle ASCII. Libraries
 * that convert names with them are called in a UTF-8 locale, on one thread. On Windows this does
 * nothing, because names are UTF-16.
 */
struct plat_locale {
    void *before;
    void *utf8; /* NULL: the system has none */
};

void plat_locale_begin(struct plat_locale *locale);
/* for the last plat_locale_begin on this thread */
void plat_locale_end(struct plat_locale *locale);

#endif
