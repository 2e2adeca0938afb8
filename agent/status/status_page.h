#ifndef ETWSHIP_STATUS_STATUS_PAGE_H
#define ETWSHIP_STATUS_STATUS_PAGE_H

#include "base/span.h"

/* The status page (page.html): one file, which asks the agent that it came from for /status, and nobody else. */
struct span status_page(void);

/* Lines of the reply's head that keep it so: scripts and styles are its own, and no other page can hold it. */
#define STATUS_PAGE_HEADERS                                                                      \
    "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "        \
    "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action " \
    "'none'\r\n"

#endif
