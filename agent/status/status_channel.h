#ifndef ETWSHIP_STATUS_STATUS_CHANNEL_H
#define ETWSHIP_STATUS_STATUS_CHANNEL_H

#include "status/status_tls.h"

/* The connection of a request: a socket, or TLS over one. Non-blocking. */
struct status_channel {
    struct plat_socket *socket; /* NULL: there is none */
    struct status_tls *tls;     /* NULL: plain */
};

/* Like the functions of plat_socket.h. With TLS, the caller must read until PLAT_SOCKET_LATER
 * before it waits for the socket: TLS may hold bytes that it has already read from the socket. */
enum plat_socket_result status_channel_read(
    struct status_channel *channel, void *data, size_t size, size_t *ret_read);
enum plat_socket_result status_channel_write(
    struct status_channel *channel, struct span bytes, size_t *ret_written);

/* True while written bytes wait in this process. A status_channel_write of no bytes sends them. */
bool status_channel_has_output(const struct status_channel *channel);

void status_channel_finish(struct status_channel *channel);
void status_channel_close(struct status_channel *channel);

#endif
