#ifndef ETWSHIP_OUTPUTS_HTTP_STATUS_H
#define ETWSHIP_OUTPUTS_HTTP_STATUS_H

#include "base/buf.h"

/* The meaning of a reply's status for the request: one table, which is also in the reference. */
enum http_verdict {
    HTTP_LATER,   /* send it again later; zero is the safe answer */
    HTTP_TAKEN,   /* done */
    HTTP_MEND,    /* a fault of the set-up: retry slowly until a person corrects it */
    HTTP_TOO_BIG, /* send less at a time; a single record that is too big will never be taken */
    HTTP_REFUSED, /* a record in it will never be taken: send less at a time to find it */
};

/* ${status}: any number; an invalid one is HTTP_LATER. */
enum http_verdict http_status_verdict(int status);

/* The meaning of ${status} for the administrator: "401: the server refuses these credentials. check
 * auth". Static. */
const char *http_status_words(int status);

/* Append the table as a section of a page in Markdown. */
void http_status_write_reference(struct buf *out);

#endif
