#include "status/status_server.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "platform/plat_socket.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"
#include "support/temp_folder.h"
#include "support/test.h"

enum { PATIENCE_MS = 20000, MAX_REPLY_BYTES = 1 << 22, LARGE_BYTES = 1 << 21 };

static const struct ip_address loopback = {.bytes = {127, 0, 0, 1}, .size = 4};

/* A page for each kind of reply, and a record of the requests. */
struct rig {
    struct status_server *server;
    struct plat_mutex mutex;
    unsigned asked;
    unsigned parts;
    unsigned ended;
    bool trusted;
    struct status_server_counts counts; /* the counts at the last request */
};

static bool more(void *self, struct buf *out)
{
    struct rig *rig = self;
    buf_printf(out, "part %u\n", ++rig->parts);
    return rig->parts < 3;
}

static void end(void *self)
{
    struct rig *rig = self;
    plat_mutex_lock(&rig->mutex);
    rig->ended++;
    plat_mutex_unlock(&rig->mutex);
}

static const struct status_stream_ops stream_ops = {.more = more, .end = end};

static void answer(
    void *self, const struct status_request *request, bool trusted, struct status_reply *reply)
{
    struct rig *rig = self;
    plat_mutex_lock(&rig->mutex);
    rig->asked++;
    rig->trusted = trusted;
    rig->counts = reply->counts;
    plat_mutex_unlock(&rig->mutex);
    reply->status = 200;
    if (span_is(request->path, "/stream")) {
        reply->stream = &stream_ops;
        reply->stream_self = rig;
    } else if (span_is(request->path, "/large")) {
        for (size_t i = 0; i < LARGE_BYTES; i++) {
            buf_add_byte(&reply->body, 'x');
        }
    } else {
        buf_add_text(&reply->body, "hello\n");
    }
}

static void rig_init(struct rig *rig, const char *token, const char *local_name)
{
    struct error err;
    *rig = (struct rig){.server = NULL};
    plat_mutex_init(&rig->mutex);
    struct status_server_settings settings = {.address = loopback,
        .local_name = local_name,
        .token = token,
        .open_path = "/",
        .answer = answer,
        .self = rig};
    rig->server = status_server_start(&settings, &err);
    assert_non_null(rig->server);
}

static void rig_fini(struct rig *rig)
{
    status_server_stop(rig->server);
    plat_mutex_fini(&rig->mutex);
}

static struct plat_socket *connect_to(const struct rig *rig)
{
    struct error err;
    struct plat_socket *socket = plat_socket_connect_tcp(
        &loopback, status_server_port(rig->server), PATIENCE_MS, &err);
    assert_non_null(socket);
    return socket;
}

static void send_text(struct plat_socket *socket, const char *text)
{
    struct span rest = span_text(text);
    while (rest.size) {
        size_t written;
        enum plat_socket_result result = plat_socket_write(socket, rest, &written);
        if (result == PLAT_SOCKET_END) {
            return; /* the server refused it meanwhile */
        }
        rest = span_from(rest, written);
        struct plat_socket_wait wait = {.socket = socket, .write = true};
        plat_socket_wait(&wait, 1, NULL, PATIENCE_MS);
    }
}

/* Read everything up to the end of the connection. */
static void receive(struct plat_socket *socket, struct buf *out)
{
    buf_init(out, MAX_REPLY_BYTES);
    for (;;) {
        struct plat_socket_wait wait = {.socket = socket, .read = true};
        plat_socket_wait(&wait, 1, NULL, PATIENCE_MS);
        assert_true(wait.ret_read);
        assert_true(buf_reserve(out, 65536));
        size_t got;
        enum plat_socket_result result = plat_socket_read(
            socket, out->data + out->size, 65536, &got);
        out->size += got;
        if (result == PLAT_SOCKET_END) {
            break;
        }
    }
    buf_add_byte(out, 0);
}

static void expect(
    struct plat_socket *socket, const char *request, const char *status, const char *body)
{
    struct buf reply;
    send_text(socket, request);
    receive(socket, &reply);
    const char *text = (const char *)reply.data;
    if (strncmp(text, status, strlen(status)) != 0 || !strstr(text, body)) {
        fail_msg("%s: got %s", request, text);
    }
    buf_fini(&reply);
    plat_socket_close(socket);
}

static void a_page_is_answered_and_the_connection_ends(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL, NULL);
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 OK\r\n",
        "Content-Length: 6\r\n");
    expect(connect_to(&rig), "GET /x HTTP/1.0\r\n\r\n", "HTTP/1.1 200 ", "\r\n\r\nhello\n");
    assert_int_equal(rig.asked, 2);
    assert_false(rig.trusted);
    rig_fini(&rig);
}

static void what_is_refused_never_reaches_the_agent(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL, NULL);
    expect(connect_to(&rig), "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405 ",
        "Allow: GET\r\n");
    expect(connect_to(&rig), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 403 ", "");
    expect(connect_to(&rig), "hello\n", "HTTP/1.1 400 ", "");
    char large[STATUS_REQUEST_MAX_BYTES + 100];
    memset(large, 'a', sizeof(large));
    memcpy(large, "GET /", 5);
    large[sizeof(large) - 1] = '\0';
    expect(connect_to(&rig), large, "HTTP/1.1 431 ", "");
    assert_int_equal(rig.asked, 0);
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    assert_int_equal(rig.counts.refused, 4);
    assert_int_equal(rig.counts.answered, 0);
    rig_fini(&rig);
}

static void a_token_is_needed_where_there_is_one(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "s3cret", NULL);
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 401 ", "Bearer");
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\nAuthorization: Bearer s3cre\r\n\r\n",
        "HTTP/1.1 401 ", "");
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\nAuthorization: Bearer s3crets3cret\r\n\r\n",
        "HTTP/1.1 401 ", "");
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\nAuthorization: Basic s3cret\r\n\r\n",
        "HTTP/1.1 401 ", "");
    assert_int_equal(rig.asked, 0);
    expect(connect_to(&rig), "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    assert_false(rig.trusted);
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\nauthorization: bearer s3cret\r\n\r\n",
        "HTTP/1.1 200 ", "hello");
    assert_true(rig.trusted);
    rig_fini(&rig);
}

static void a_stream_comes_in_parts_and_is_ended_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL, NULL);
    expect(connect_to(&rig), "GET /stream HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ",
        "\r\n\r\npart 1\npart 2\npart 3\n");
    struct plat_socket *gone = connect_to(&rig);
    rig_fini(&rig);
    assert_int_equal(rig.ended, 1);
    plat_socket_close(gone);
}

/* More connections than places, none of which ever sends a whole request: a later client still gets
 * an answer. */
static void idle_connections_keep_no_client_out(void **state)
{
    (void)state;
    struct rig rig;
    struct plat_socket *idle[3 * STATUS_SERVER_MAX_CONNECTIONS];
    rig_init(&rig, NULL, NULL);
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        idle[i] = connect_to(&rig);
        send_text(idle[i], "GET / HT");
    }
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        plat_socket_close(idle[i]);
    }
    rig_fini(&rig);
}

/* A client that requests much and reads nothing delays no other client. A client that closed its
 * half gets its answer. */
static void slow_readers_delay_no_client(void **state)
{
    (void)state;
    struct rig rig;
    struct plat_socket *slow[4];
    rig_init(&rig, NULL, NULL);
    for (size_t i = 0; i < 4; i++) {
        slow[i] = connect_to(&rig);
        send_text(slow[i], "GET /large HTTP/1.1\r\n\r\n");
        plat_socket_finish(slow[i]);
    }
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    for (size_t i = 0; i < 4; i++) {
        struct buf reply;
        receive(slow[i], &reply);
        assert_true(reply.size > LARGE_BYTES);
        buf_fini(&reply);
        plat_socket_close(slow[i]);
    }
    rig_fini(&rig);
}

/* ---- local connections: a socket of the file system, or a pipe ------------------------------- */

struct local {
    char folder[TEMP_FOLDER_BYTES];
    char name[TEMP_FOLDER_BYTES + 8];
};

static void local_init(struct local *local)
{
    assert_int_equal(temp_folder_make(local->folder, "status"), 0);
    if (plat_has_etw()) {
        snprintf(
            local->name, sizeof(local->name), "etwship-test-%s", strrchr(local->folder, '/') + 1);
    } else {
        snprintf(local->name, sizeof(local->name), "%s/s", local->folder);
    }
}

static struct plat_socket *connect_local(const struct local *local)
{
    struct error err;
    struct plat_socket *socket = plat_socket_connect_local(local->name, PATIENCE_MS, &err);
    if (!socket) {
        fail_msg("%s", err.text);
    }
    return socket;
}

static void a_local_client_is_trusted_without_a_token(void **state)
{
    (void)state;
    struct rig rig;
    struct local local;
    struct buf reply;
    local_init(&local);
    rig_init(&rig, "s3cret", local.name);
    expect(
        connect_local(&local), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\r\n\r\nhello\n");
    assert_true(rig.trusted);
    expect(connect_local(&local), "GET /stream HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ",
        "\r\n\r\npart 1\npart 2\npart 3\n");
    expect(connect_local(&local), "nonsense\r\n\r\n", "HTTP/1.1 400 ", "");
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 401 ", "");
    struct plat_socket *slow = connect_local(&local);
    send_text(slow, "GET /large HTTP/1.1\r\n\r\n");
    expect(connect_local(&local), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    receive(slow, &reply);
    assert_true(reply.size > LARGE_BYTES);
    buf_fini(&reply);
    plat_socket_close(slow);
    rig_fini(&rig);
    struct error err;
    assert_null(plat_socket_connect_local(local.name, PATIENCE_MS, &err));
    assert_int_equal(err.code, ERR_MISSING);
    temp_folder_remove(local.folder);
}

static void idle_local_connections_keep_no_client_out(void **state)
{
    (void)state;
    struct rig rig;
    struct local local;
    struct plat_socket *idle[2 * STATUS_SERVER_MAX_CONNECTIONS];
    local_init(&local);
    rig_init(&rig, NULL, local.name);
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        idle[i] = connect_local(&local);
        send_text(idle[i], "GET / HT");
    }
    expect(connect_local(&local), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        plat_socket_close(idle[i]);
    }
    rig_fini(&rig);
    temp_folder_remove(local.folder);
}

/* Anyone may connect over TCP: such a crowd must not replace the owner's client. */
static void clients_over_tcp_replace_no_local_client(void **state)
{
    (void)state;
    struct rig rig;
    struct local local;
    struct plat_socket *idle[3 * STATUS_SERVER_MAX_CONNECTIONS];
    local_init(&local);
    rig_init(&rig, NULL, local.name);
    struct plat_socket *owner = connect_local(&local);
    send_text(owner, "GET /x HT");
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        idle[i] = connect_to(&rig);
        send_text(idle[i], "GET / HT");
    }
    expect(connect_to(&rig), "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    expect(owner, "TP/1.1\r\n\r\n", "HTTP/1.1 200 ", "hello");
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        plat_socket_close(idle[i]);
    }
    rig_fini(&rig);
    temp_folder_remove(local.folder);
}

/* Otherwise the other program could answer instead of the agent. */
static void a_local_name_in_use_is_refused(void **state)
{
    (void)state;
    struct error err;
    struct local local;
    local_init(&local);
    struct plat_socket *first = plat_socket_listen_local(local.name, &err);
    assert_non_null(first);
    if (!temp_system_is_wine()) { /* Wine ignores FILE_FLAG_FIRST_PIPE_INSTANCE */
        assert_null(plat_socket_listen_local(local.name, &err));
    }
    plat_socket_close(first);
    struct plat_socket *next = plat_socket_listen_local(local.name, &err);
    assert_non_null(next);
    assert_null(plat_socket_accept(next));
    plat_socket_close(next);
    temp_folder_remove(local.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_answered_and_the_connection_ends),
        cmocka_unit_test(what_is_refused_never_reaches_the_agent),
        cmocka_unit_test(a_token_is_needed_where_there_is_one),
        cmocka_unit_test(a_stream_comes_in_parts_and_is_ended_once),
        cmocka_unit_test(idle_connections_keep_no_client_out),
        cmocka_unit_test(slow_readers_delay_no_client),
        cmocka_unit_test(a_local_client_is_trusted_without_a_token),
        cmocka_unit_test(idle_local_connections_keep_no_client_out),
        cmocka_unit_test(clients_over_tcp_replace_no_local_client),
        cmocka_unit_test(a_local_name_in_use_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
