#ifndef ETWSHIP_PLATFORM_PLAT_DATAGRAMS_H
#define ETWSHIP_PLATFORM_PLAT_DATAGRAMS_H

#include "base/error.h"
#include "base/span.h"

/* Datagrams, and what a socket of a library says of its connection. */

/* How many bytes that were written to the TCP connection ${socket} has the other side not confirmed yet? False:
 * this system does not tell. */
bool plat_datagrams_unacked(intptr_t socket, uint64_t *ret_bytes);

/* Was the TCP connection ${socket}, whose other side has said that it sends no more, reset since, or within
 * ${wait_ms}? Then that side may have dropped bytes that it had confirmed (RFC 9293, 3.6.1). */
bool plat_datagrams_was_reset(intptr_t socket, unsigned wait_ms);

/* Confirm at once what has come over the TCP connection ${socket}, and what comes next: a side that waits for it
 * before it sends more would wait for a delayed confirmation, 40 ms and more (RFC 9293, 3.8.6.3). */
void plat_datagrams_confirm(intptr_t socket);

/* Say that nothing more will be sent over the TCP connection ${socket}. What comes can still be read. */
void plat_datagrams_end(intptr_t socket);

/* A socket for datagrams (UDP) to one address. One thread at a time. */
struct plat_datagrams;

/* ${port}: a number or a name. Waits for the name server. NULL with ${err} set. */
struct plat_datagrams *plat_datagrams_open(const char *host, const char *port, struct error *err);
void plat_datagrams_close(struct plat_datagrams *datagrams); /* NULL is fine */

/* Send one. False with ${err} set: it did not leave this machine; ERR_LIMIT: it is too long. */
bool plat_datagrams_send(struct plat_datagrams *datagrams, struct span bytes, struct error *err);

#endif
