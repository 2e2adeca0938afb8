#include "status/status_tls.h"

#include <stdlib.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

/*
 * OpenSSL works on two buffers in memory instead of a descriptor, so that any kind of connection
 * can carry the bytes. When OpenSSL wants to read, bytes of the socket go into one buffer.
 * Bytes that OpenSSL puts into the other one are sent. Neither buffer grows: OpenSSL gets more
 * input only when it has used up the last one, and is asked to write only when everything is sent.
 */
enum {
    CHUNK_BYTES = 16 * 1024,
    /* A client may send records without end that carry nothing (KeyUpdate, RFC 8446, section
     * 4.6.3). The caller gets its turn after so many pieces of them, and looks at its clock. */
    FETCHES_AT_ONCE = 2,
};

struct status_tls_context {
    SSL_CTX *ctx;
    X509 *expected; /* certificate that a client expects; NULL for a server */
};

struct status_tls {
    SSL *ssl;
    BIO *in; /* ssl owns both */
    BIO *out;
    const X509 *expected;
    size_t unsent; /* bytes in `piece`, taken from `out` */
    size_t sent;   /* how many of them the socket took */
    uint8_t piece[CHUNK_BYTES];
};

bool status_tls_is_there(void)
{
    return true;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* Without a password, OpenSSL would ask for one at the terminal. */
static char no_password[] = "";

static bool fail(struct error *err, const char *path, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    error_set(err, ERR_CONFIG, "%s: %s (%s)", path, what, reason ? reason : "no reason is known");
    ERR_clear_error();
    return false;
}

static struct status_tls_context *make(const SSL_METHOD *method, struct error *err)
{
    struct status_tls_context *context = calloc(1, sizeof(*context));
    SSL_CTX *ctx = context ? SSL_CTX_new(method) : NULL;
    if (!ctx) {
        free(context);
        ERR_clear_error();
        error_set(err, ERR_MEMORY, "out of memory for TLS");
        return NULL;
    }
    context->ctx = ctx;
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    /* Each connection is one request, so sessions are never resumed, and none is stored. */
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, no_password);
    return context;
}

static bool read_identity(SSL_CTX *ctx, const char *cert, const char *key, struct error *err)
{
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1) {
        return fail(err, cert, "it holds no certificate in PEM that can be used");
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1) {
        return fail(err, key, "it holds no key in PEM, without a password, of that certificate");
    }
    return true;
}

struct status_tls_context *status_tls_serve(const char *cert, const char *key, struct error *err)
{
    struct status_tls_context *context = make(TLS_server_method(), err);
    SSL_CTX *ctx = context ? context->ctx : NULL;
    if (!ctx || !read_identity(ctx, cert, key, err)) {
        status_tls_context_destroy(context);
        return NULL;
    }
    SSL_CTX_set_num_tickets(ctx, 0);
    return context;
}

/* is_expected compares the certificate itself after the handshake,
 * which proves that the server has its key. */
static int accept_any(int good, X509_STORE_CTX *store)
{
    (void)good;
    (void)store;
    return 1;
}

struct status_tls_context *status_tls_expect(const char *cert, struct error *err)
{
    struct status_tls_context *context = make(TLS_client_method(), err);
    BIO *file = context ? BIO_new_file(cert, "rb") : NULL;
    X509 *expected = file ? PEM_read_bio_X509(file, NULL, NULL, no_password) : NULL;
    BIO_free(file);
    if (!context || !expected) {
        if (context) {
            fail(err, cert, "it holds no certificate in PEM that can be used");
        }
        status_tls_context_destroy(context);
        return NULL;
    }
    context->expected = expected;
    SSL_CTX_set_verify(context->ctx, SSL_VERIFY_PEER, accept_any);
    return context;
}

void status_tls_context_destroy(struct status_tls_context *context)
{
    if (context) {
        X509_free(context->expected);
        SSL_CTX_free(context->ctx);
        free(context);
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

struct status_tls *status_tls_create(const struct status_tls_context *context)
{
    struct status_tls *tls = calloc(1, sizeof(*tls));
    SSL *ssl = tls ? SSL_new(context->ctx) : NULL;
    BIO *in = ssl ? BIO_new(BIO_s_mem()) : NULL;
    BIO *out = in ? BIO_new(BIO_s_mem()) : NULL;
    if (!out) {
        BIO_free(in);
        SSL_free(ssl);
        free(tls);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_mem_eof_return(in, -1); /* an empty buffer means "retry", not "end" */
    SSL_set_bio(ssl, in, out);
    if (context->expected) {
        SSL_set_connect_state(ssl);
    } else {
        SSL_set_accept_state(ssl);
    }
    tls->ssl = ssl;
    tls->in = in;
    tls->out = out;
    tls->expected = context->expected;
    return tls;
}

void status_tls_destroy(struct status_tls *tls)
{
    if (tls) {
        SSL_free(tls->ssl);
        free(tls);
    }
}

bool status_tls_has_output(const struct status_tls *tls)
{
    return tls->sent < tls->unsent || BIO_ctrl_pending(tls->out) > 0;
}

enum plat_socket_result status_tls_flush(struct status_tls *tls, struct plat_socket *socket)
{
    while (status_tls_has_output(tls)) {
        if (tls->sent == tls->unsent) {
            int taken = BIO_read(tls->out, tls->piece, CHUNK_BYTES);
            tls->unsent = taken > 0 ? (size_t)taken : 0;
            tls->sent = 0;
        }
        size_t written;
        enum plat_socket_result result = plat_socket_write(
            socket, span_make(tls->piece + tls->sent, tls->unsent - tls->sent), &written);
        if (result != PLAT_SOCKET_DONE) {
            return result;
        }
        tls->sent += written;
    }
    return PLAT_SOCKET_DONE;
}

/* Give OpenSSL bytes of the socket. PLAT_SOCKET_DONE: it has some. */
static enum plat_socket_result fetch(struct status_tls *tls, struct plat_socket *socket)
{
    uint8_t chunk[CHUNK_BYTES];
    size_t got;
    enum plat_socket_result result = plat_socket_read(socket, chunk, sizeof(chunk), &got);
    if (result == PLAT_SOCKET_DONE && BIO_write(tls->in, chunk, (int)got) != (int)got) {
        return PLAT_SOCKET_END;
    }
    return result;
}

/* An OpenSSL call failed with ${returned}: see what it needs. PLAT_SOCKET_DONE: repeat the call.
 * ${fetches}: how often this turn may be told so still. Once it is over OpenSSL has used up its
 * bytes, so the socket shows the others. */
static enum plat_socket_result go_on(
    struct status_tls *tls, struct plat_socket *socket, int returned, unsigned *fetches)
{
    int wanted = SSL_get_error(tls->ssl, returned);
    ERR_clear_error();
    /* also an alert that tells the other side why the connection ends */
    if (status_tls_flush(tls, socket) == PLAT_SOCKET_END || wanted != SSL_ERROR_WANT_READ) {
        return PLAT_SOCKET_END;
    }
    /* Bytes that the socket does not accept wait; more input could add to them. */
    if (*fetches == 0 || status_tls_has_output(tls)) {
        return PLAT_SOCKET_LATER;
    }
    --*fetches;
    return fetch(tls, socket);
}

static bool is_expected(const struct status_tls *tls)
{
    X509 *shown = SSL_get1_peer_certificate(tls->ssl);
    bool same = shown && X509_cmp(shown, tls->expected) == 0;
    X509_free(shown);
    return same;
}

enum plat_socket_result status_tls_handshake(struct status_tls *tls, struct plat_socket *socket)
{
    unsigned fetches = FETCHES_AT_ONCE;
    for (;;) {
        int done = SSL_do_handshake(tls->ssl);
        enum plat_socket_result result = done == 1 ? status_tls_flush(tls, socket)
                                                   : go_on(tls, socket, done, &fetches);
        if (done == 1) {
            return result == PLAT_SOCKET_DONE && tls->expected && !is_expected(tls)
                       ? PLAT_SOCKET_END
                       : result;
        }
        if (result != PLAT_SOCKET_DONE) {
            return result;
        }
    }
}

enum plat_socket_result status_tls_read(
    struct status_tls *tls, struct plat_socket *socket, void *data, size_t size, size_t *ret_read)
{
    unsigned fetches = FETCHES_AT_ONCE;
    *ret_read = 0;
    if (status_tls_flush(tls, socket) == PLAT_SOCKET_END) {
        return PLAT_SOCKET_END;
    }
    for (;;) {
        int got = SSL_read(tls->ssl, data, size > CHUNK_BYTES ? CHUNK_BYTES : (int)size);
        if (got > 0) {
            *ret_read = (size_t)got;
            return PLAT_SOCKET_DONE;
        }
        enum plat_socket_result result = go_on(tls, socket, got, &fetches);
        if (result != PLAT_SOCKET_DONE) {
            return result;
        }
    }
}

enum plat_socket_result status_tls_write(
    struct status_tls *tls, struct plat_socket *socket, struct span bytes, size_t *ret_written)
{
    *ret_written = 0;
    enum plat_socket_result result = status_tls_flush(tls, socket);
    if (result != PLAT_SOCKET_DONE || !bytes.size) {
        return result;
    }
    int put = SSL_write(
        tls->ssl, bytes.data, bytes.size > CHUNK_BYTES ? CHUNK_BYTES : (int)bytes.size);
    if (put <= 0) {
        unsigned fetches = FETCHES_AT_ONCE;
        return go_on(tls, socket, put, &fetches);
    }
    *ret_written = (size_t)put;
    return status_tls_flush(tls, socket) == PLAT_SOCKET_END ? PLAT_SOCKET_END : PLAT_SOCKET_DONE;
}

void status_tls_finish(struct status_tls *tls, struct plat_socket *socket)
{
    if (SSL_is_init_finished(tls->ssl)) {
        SSL_shutdown(tls->ssl);
        ERR_clear_error();
        status_tls_flush(tls, socket);
    }
}
