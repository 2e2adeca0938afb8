#ifndef ETWSHIP_STATUS_STATUS_TLS_H
#define ETWSHIP_STATUS_STATUS_TLS_H

#include "platform/plat_socket.h"

/*
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446) by OpenSSL, over a connection that never blocks. On Windows
 * making a context fails with ERR_UNSUPPORTED.
 *
 * Callers read until PLAT_SOCKET_LATER before they wait for the socket. Bytes that the socket does
 * not take stay in ${tls}: at most one record and the handshake.
 */
struct status_tls_context;
struct status_tls;

/* True if this build has TLS. */
bool status_tls_is_there(void);

/* The context of a server. File ${cert} has its certificate, then the chain (PEM); file ${key} the
 * key, without a password. Both are read now. NULL with ${err} set. */
struct status_tls_context *status_tls_serve(const char *cert, const char *key, struct error *err);

/* The context of a client on this machine. The server must have exactly the first certificate in
 * file ${cert}; names and issuer are not checked, as they would prove nothing more. NULL with
 * ${err} set. */
struct status_tls_context *status_tls_expect(const char *cert, struct error *err);

void status_tls_context_destroy(struct status_tls_context *context); /* NULL is fine */

/* One connection; ${context} outlives it. NULL: out of memory. */
struct status_tls *status_tls_create(const struct status_tls_context *context);
void status_tls_destroy(struct status_tls *tls); /* NULL is fine */

/* Continue the handshake; PLAT_SOCKET_DONE: it is complete.
 * A server need not call this: reads and writes do it. */
enum plat_socket_result status_tls_handshake(struct status_tls *tls, struct plat_socket *socket);

/* Like plat_socket_read and plat_socket_write. A failed handshake, or bytes that are not TLS,
 * give PLAT_SOCKET_END. */
enum plat_socket_result status_tls_read(
    struct status_tls *tls, struct plat_socket *socket, void *data, size_t size, size_t *ret_read);
enum plat_socket_result status_tls_write(
    struct status_tls *tls, struct plat_socket *socket, struct span bytes, size_t *ret_written);

/* Send the bytes that wait in ${tls}. PLAT_SOCKET_DONE: none is left. */
enum plat_socket_result status_tls_flush(struct status_tls *tls, struct plat_socket *socket);
bool status_tls_has_output(const struct status_tls *tls);

/* Tell the other side that nothing more follows (close_notify). */
void status_tls_finish(struct status_tls *tls, struct plat_socket *socket);

#endif
