#ifndef ETWSHIP_TESTS_SUPPORT_BULK_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_BULK_FAKE_H

#include "base/buf.h"
#include "support/http_fake.h"

/*
 * A store behind the `_bulk` API on loopback: documents in order of arrival, each id once. What
 * goes wrong is scripted. Bodies come as they are, without compression. What it does not understand
 * it answers with 400.
 */
struct bulk_fake;

enum { BULK_ALL = INT32_MAX };

/* What one request meets; zero: nothing special. */
struct bulk_step {
    int status;       /* of the reply as such, without looking at the request; 0: 200 */
    const char *body; /* of such a reply */
    const char *headers;
    bool obeyed;    /* the request is stored all the same */
    bool lost;      /* and the connection breaks instead of a reply */
    size_t cut;     /* of the reply, as in struct http_fake_reply */
    int item_first; /* from 0: items from here on, and so many, get */
    int item_count;
    int item_status; /* this status, and are not stored */
    const char *item_type;
    const char *raw; /* the whole body of a reply of 200, whatever was sent */
};

struct bulk_fake *bulk_fake_start(void);
void bulk_fake_stop(struct bulk_fake *fake); /* NULL is fine */
const char *bulk_fake_url(const struct bulk_fake *fake);

/* The next ${count} requests meet these, later ones nothing. Copied, but for their texts. */
void bulk_fake_script(struct bulk_fake *fake, const struct bulk_step *steps, size_t count);

/* All requests, until told otherwise, meet ${step}; NULL: nothing. */
void bulk_fake_always(struct bulk_fake *fake, const struct bulk_step *step);

/* A body of more bytes is answered with 413, or the connection ${breaks}; 0: none is. A body that
 * holds ${text} is answered with 400; NULL: none is. */
void bulk_fake_limit(struct bulk_fake *fake, size_t max_bytes, bool breaks);
void bulk_fake_mind(struct bulk_fake *fake, const char *text);

/* What is stored, as lines; freed by the caller, with a NUL after. ${forget}: it is gone then. */
char *bulk_fake_documents(struct bulk_fake *fake, bool forget);

/* Requests so far, and one of them; there until the end. */
size_t bulk_fake_count(struct bulk_fake *fake);
const struct http_fake_request *bulk_fake_request(struct bulk_fake *fake, size_t index);

#endif
