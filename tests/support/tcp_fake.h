#ifndef ETWSHIP_TESTS_SUPPORT_TCP_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_TCP_FAKE_H

#include "base/span.h"

/* A listener on loopback without a thread: connections and bytes wait in the system until a test
 * looks at them. */
struct tcp_fake;

struct tcp_fake *tcp_fake_start(void);
void tcp_fake_stop(struct tcp_fake *fake); /* NULL is fine */

unsigned tcp_fake_port(const struct tcp_fake *fake);

/* All bytes of all connections so far, in their order, with a NUL after. Until the next call. */
struct span tcp_fake_bytes(struct tcp_fake *fake);

/* How many connections were made. */
size_t tcp_fake_connections(struct tcp_fake *fake);

/* Say that nothing will be sent any more; the connections stay. */
void tcp_fake_end(struct tcp_fake *fake);

/* Close all connections. ${unread}: what is there was not read, so the system resets them. */
void tcp_fake_close(struct tcp_fake *fake, bool unread);

#endif
