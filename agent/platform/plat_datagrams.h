#ifndef ETWSHIP_PLATFORM_PLAT_DATAGRAMS_H
#define ETWSHIP_PLATFORM_PLAT_DATAGRAMS_H

#include "base/error.h"
#include "base/span.h"

/* Datagrams, and the state of a TCP connection that a library owns. */

/* Number of bytes written to the TCP connection ${socket} that the peer has not acknowledged.
 * False: the system does not report it. */
bool plat_datagrams_unacked(intptr_t socket, uint64_t *ret_bytes);

/* True if the peer reset the TCP connection ${socket} after it had ended its side, or does so
 * within ${wait_ms}. It may then have dropped bytes that it had acknowledged (RFC 9293, 3.6.1). */
bool plat_datagrams_was_reset(intptr_t socket, unsigned wait_ms);

/* Acknowledge at once what arrived over the TCP connection ${socket}, and what arrives next: a peer
 * that waits for it would otherwise wait for a delayed ACK, 40 ms and more (RFC 9293, 3.8.6.3). */
void plat_datagrams_confirm(intptr_t socket);

/* Wait until ${bytes} can be read from the TCP connection ${socket}, it has ended, or ${wait_ms}
 * are over. Returns at once where the system cannot wait for more than one byte. */
void plat_datagrams_await(intptr_t socket, size_t bytes, unsigned wait_ms);

/* End sending over the TCP connection ${socket}; it can still be read from. */
void plat_datagrams_end(intptr_t socket);

/* A UDP socket for one address. Not thread-safe. */
struct plat_datagrams;

/* ${port}: a number or service name. Waits for name resolution. NULL with ${err} set on failure. */
struct plat_datagrams *plat_datagrams_open(const char *host, const char *port, struct error *err);
void plat_datagrams_close(struct plat_datagrams *datagrams); /* NULL is fine */

/* Send a datagram. False with ${err} set if it was not sent; ERR_LIMIT: it is too long. */
bool plat_datagrams_send(struct plat_datagrams *datagrams, struct span bytes, struct error *err);

#endif
