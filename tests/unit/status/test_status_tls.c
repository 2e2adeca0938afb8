#include "status/status_tls.h"

#include "support/test.h"

#if defined(__linux__) && __has_include(<openssl/ssl.h>)

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "platform/plat_socket.h"
#include "support/temp_folder.h"

enum { PATIENCE_MS = 20000, DAY_S = 86400, UPDATES_AT_MOST = 100000 };

static char folder[TEMP_FOLDER_BYTES];
static char cert[TEMP_FOLDER_BYTES + 16];
static char key[TEMP_FOLDER_BYTES + 16];

static void make_certificate(void)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *made = X509_new();
    assert_true(pair && made);
    X509_gmtime_adj(X509_getm_notBefore(made), 0);
    X509_gmtime_adj(X509_getm_notAfter(made), DAY_S);
    X509_set_pubkey(made, pair);
    assert_true(X509_sign(made, pair, EVP_sha256()) > 0);
    snprintf(cert, sizeof(cert), "%s/c.pem", folder);
    snprintf(key, sizeof(key), "%s/k.pem", folder);
    FILE *file = fopen(cert, "w");
    assert_int_equal(PEM_write_X509(file, made), 1);
    fclose(file);
    file = fopen(key, "w");
    assert_int_equal(PEM_write_PrivateKey(file, pair, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    X509_free(made);
    EVP_PKEY_free(pair);
}

/* The server's end of a connection, and a client that the test controls. */
struct rig {
    struct status_tls_context *context;
    struct plat_socket *listener;
    struct plat_socket *socket;
    struct status_tls *tls;
    SSL_CTX *client_context;
    SSL *client;
    int fd;
};

static void wait_readable(const struct rig *rig, bool *ret_readable, int ms)
{
    struct plat_socket_wait wait = {.socket = rig->socket, .read = true};
    plat_socket_wait(&wait, 1, NULL, ms);
    *ret_readable = wait.ret_read;
}

static void rig_init(struct rig *rig)
{
    static const struct ip_address loopback = {.bytes = {127, 0, 0, 1}, .size = 4};
    struct error err;
    *rig = (struct rig){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    rig->context = status_tls_serve(cert, key, &err);
    rig->listener = plat_socket_listen_tcp(&loopback, 0, &err);
    assert_true(rig->context && rig->listener);
    struct sockaddr_in at = {.sin_family = AF_INET,
        .sin_port = htons(plat_socket_port(rig->listener)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(rig->fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(fcntl(rig->fd, F_SETFL, O_NONBLOCK), 0);
    struct plat_socket_wait wait = {.socket = rig->listener, .read = true};
    plat_socket_wait(&wait, 1, NULL, PATIENCE_MS);
    rig->socket = plat_socket_accept(rig->listener);
    assert_non_null(rig->socket);
    rig->tls = status_tls_create(rig->context);
    rig->client_context = SSL_CTX_new(TLS_client_method());
    rig->client = SSL_new(rig->client_context);
    SSL_set_fd(rig->client, rig->fd);
    enum plat_socket_result result = PLAT_SOCKET_LATER;
    bool readable;
    while (SSL_connect(rig->client) != 1 || result != PLAT_SOCKET_DONE) {
        wait_readable(rig, &readable, 10);
        result = status_tls_handshake(rig->tls, rig->socket);
        assert_int_not_equal(result, PLAT_SOCKET_END);
    }
}

static void rig_fini(struct rig *rig)
{
    SSL_free(rig->client);
    SSL_CTX_free(rig->client_context);
    close(rig->fd);
    status_tls_destroy(rig->tls);
    plat_socket_close(rig->socket);
    plat_socket_close(rig->listener);
    status_tls_context_destroy(rig->context);
}

static void records_without_end_that_carry_nothing_give_the_caller_its_turn(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    unsigned updates = 0;
    while (updates < UPDATES_AT_MOST &&
           SSL_key_update(rig.client, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
           SSL_do_handshake(rig.client) == 1) {
        updates++;
    }
    uint8_t byte;
    size_t got;
    bool readable;
    assert_int_equal(status_tls_read(rig.tls, rig.socket, &byte, 1, &got), PLAT_SOCKET_LATER);
    assert_int_equal(got, 0);
    wait_readable(&rig, &readable, 0);
    assert_true(readable); /* the server did not read until nothing was left */
    rig_fini(&rig);
}

static void a_text_arrives_behind_many_such_records(void **state)
{
    (void)state;
    enum { UPDATES = 3000 };
    struct rig rig;
    rig_init(&rig);
    for (int i = 0; i < UPDATES; i++) {
        assert_int_equal(SSL_key_update(rig.client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(rig.client), 1);
    }
    assert_int_equal(SSL_write(rig.client, "x", 1), 1);
    uint8_t byte = 0;
    size_t got = 0;
    bool readable = true;
    while (got == 0 && readable) {
        wait_readable(&rig, &readable, PATIENCE_MS);
        assert_int_not_equal(status_tls_read(rig.tls, rig.socket, &byte, 1, &got), PLAT_SOCKET_END);
    }
    assert_int_equal(byte, 'x');
    rig_fini(&rig);
}

static int set_up(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "status_tls") != 0) {
        return -1;
    }
    make_certificate();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_without_end_that_carry_nothing_give_the_caller_its_turn),
        cmocka_unit_test(a_text_arrives_behind_many_such_records),
    };
    return status_tls_is_there() ? cmocka_run_group_tests(tests, set_up, tear_down) : 77;
}

#else

int main(void)
{
    return status_tls_is_there() ? 1 : 77; /* skipped */
}

#endif
