#ifndef ETWSHIP_STATUS_STATUS_PAGE_H
#define ETWSHIP_STATUS_STATUS_PAGE_H

#include "base/span.h"

/* The status page (page.html): one file, which requests /status from its own agent only. */
struct span status_page(void);

/* Headers that enforce this: only its own scripts and styles, and no embedding by other pages. */
#define STATUS_PAGE_HEADERS                                                                      \
    "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "        \
    "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action " \
    "'none'\r\n"

#endif
