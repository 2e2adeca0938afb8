#ifndef ETWSHIP_TESTS_BENCH_LIMIT_POST_H
#define ETWSHIP_TESTS_BENCH_LIMIT_POST_H

#include "base/span.h"

/* What the limit programs say to a sink on the loopback: one request after the other, over one
 * connection. A failure ends the program. */

_Noreturn void limit_die(const char *what);

/* Returns the socket. */
int limit_post_open(unsigned port);

/* Send ${body} as one whole, and wait for the reply. ${coding}: a line of the head, or "". */
void limit_post(int socket, const char *coding, struct span body);

#endif
