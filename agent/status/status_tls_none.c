#include "status/status_tls.h"

/* Replaces status_tls_openssl.c on Windows. Contexts cannot be made,
 * so there are no connections. */

bool status_tls_is_there(void)
{
    return false;
}

struct status_tls_context *status_tls_serve(const char *cert, const char *key, struct error *err)
{
    (void)key;
    error_set(err, ERR_UNSUPPORTED, "%s: this program was built without OpenSSL", cert);
    return NULL;
}

struct status_tls_context *status_tls_expect(const char *cert, struct error *err)
{
    return status_tls_serve(cert, NULL, err);
}

void status_tls_context_destroy(struct status_tls_context *context)
{
    (void)context;
}

struct status_tls *status_tls_create(const struct status_tls_context *context)
{
    (void)context;
    return NULL;
}

void status_tls_destroy(struct status_tls *tls)
{
    (void)tls;
}

enum plat_socket_result status_tls_handshake(struct status_tls *tls, struct plat_socket *socket)
{
    (void)tls;
    (void)socket;
    return PLAT_SOCKET_END;
}

enum plat_socket_result status_tls_read(
    struct status_tls *tls, struct plat_socket *socket, void *data, size_t size, size_t *ret_read)
{
    (void)data;
    (void)size;
    *ret_read = 0;
    return status_tls_handshake(tls, socket);
}

enum plat_socket_result status_tls_write(
    struct status_tls *tls, struct plat_socket *socket, struct span bytes, size_t *ret_written)
{
    (void)bytes;
    *ret_written = 0;
    return status_tls_handshake(tls, socket);
}

enum plat_socket_result status_tls_flush(struct status_tls *tls, struct plat_socket *socket)
{
    return status_tls_handshake(tls, socket);
}

bool status_tls_has_output(const struct status_tls *tls)
{
    (void)tls;
    return false;
}

void status_tls_finish(struct status_tls *tls, struct plat_socket *socket)
{
    (void)tls;
    (void)socket;
}
