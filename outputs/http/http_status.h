#ifndef ETWSHIP_OUTPUTS_HTTP_STATUS_H
#define ETWSHIP_OUTPUTS_HTTP_STATUS_H

#include "base/buf.h"

/* What the status of a reply says of the request: one table, which people read in the reference, too. */
enum http_verdict {
    HTTP_LATER,   /* the same again, after a while; zero is the safe answer */
    HTTP_TAKEN,   /* done */
    HTTP_MEND,    /* a fault of the set-up: slowly again, until somebody mends it */
    HTTP_TOO_BIG, /* less at a time; a single record that is too big will never be taken */
    HTTP_REFUSED, /* something in it will never be taken: less at a time, to find out what */
};

/* ${status}: any number; one that HTTP does not know is HTTP_LATER. */
enum http_verdict http_status_verdict(int status);

/* What ${status} means for whoever set the output up: "401: the server does not know us. check auth".
 * Static. */
const char *http_status_words(int status);

/* Append the table as a section of a page in Markdown. */
void http_status_write_reference(struct buf *out);

#endif
