#ifndef ETWSHIP_STATUS_STATUS_TLS_H
#define ETWSHIP_STATUS_STATUS_TLS_H

#include "platform/plat_socket.h"

/*
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446) over a connection that never waits, by OpenSSL. Builds without it have none:
 * contexts cannot be made then (ERR_UNSUPPORTED).
 *
 * A read goes on until nothing more can be read for the moment: only then there is something to wait for. What could
 * not be written yet is kept, and is less than a record of TLS and its handshake.
 */
struct status_tls_context;
struct status_tls;

/* Is there any in this build? */
bool status_tls_is_there(void);

/* What a server shows: the certificate in file ${cert} (PEM, with its chain behind it) and its key in file ${key}, which has
 * no password. Both are read now. NULL with ${err} set. */
struct status_tls_context *status_tls_serve(const char *cert, const char *key, struct error *err);

/* What a client of this machine believes: the server has the very certificate that stands first in file ${cert}. Its names and
 * its issuer say nothing more. NULL with ${err} set. */
struct status_tls_context *status_tls_expect(const char *cert, struct error *err);

void status_tls_context_destroy(struct status_tls_context *context); /* NULL is fine */

/* One connection; ${context} outlives it. NULL: out of memory. */
struct status_tls *status_tls_create(const struct status_tls_context *context);
void status_tls_destroy(struct status_tls *tls); /* NULL is fine */

/* Go on with the handshake, which reads and writes of a server do by themselves. PLAT_SOCKET_DONE: it is over. */
enum plat_socket_result status_tls_handshake(struct status_tls *tls, struct plat_socket *socket);

/* As of plat_socket.h; a wrong handshake, and bytes that are no TLS, are the end. */
enum plat_socket_result status_tls_read(
    struct status_tls *tls, struct plat_socket *socket, void *data, size_t size, size_t *ret_read);
enum plat_socket_result status_tls_write(
    struct status_tls *tls, struct plat_socket *socket, struct span bytes, size_t *ret_written);

/* Write what is kept. PLAT_SOCKET_DONE: nothing is left. */
enum plat_socket_result status_tls_flush(struct status_tls *tls, struct plat_socket *socket);
bool status_tls_has_output(const struct status_tls *tls);

/* Nothing more will be written. */
void status_tls_finish(struct status_tls *tls, struct plat_socket *socket);

#endif
