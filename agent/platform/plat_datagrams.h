#ifndef ETWSHIP_PLATFORM_PLAT_DATAGRAMS_H
#define ETWSHIP_PLATFORM_PLAT_DATAGRAMS_H

#include "base/error.h"
#include "base/span.h"

/* Datagrams, and what a socket of a library says of its connection. */

/* How many bytes that were written to the TCP connection ${socket} has the other side not confirmed yet? False:
 * this system does not tell. */
bool plat_datagrams_unacked(intptr_t socket, uint64_t *ret_bytes);

/* A socket for datagrams (UDP) to one address. One thread at a time. */
struct plat_datagrams;

/* ${port}: a number or a name. Waits for the name server. NULL with ${err} set. */
struct plat_datagrams *plat_datagrams_open(const char *host, const char *port, struct error *err);
void plat_datagrams_close(struct plat_datagrams *datagrams); /* NULL is fine */

/* Send one. False with ${err} set: it did not leave this machine; ERR_LIMIT: it is too long. */
bool plat_datagrams_send(struct plat_datagrams *datagrams, struct span bytes, struct error *err);

#endif
