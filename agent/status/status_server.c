#include "status/status_server.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"
#include "status/status_connection.h"

/*
 * One thread, which waits for all of its sockets at once. A new client replaces a slow one, so that
 * idle connections cannot keep a scraper out. Each listener has connections of its own: anyone may
 * connect over TCP, and must not be able to replace the owner, who comes over the file system.
 */
enum {
    STREAM_EVERY_MS = 100,
    ACCEPT_AT_ONCE = 64,
    ACCEPT_PAUSE_MS = 100,
    /* Any client can cause a handshake, which takes 1 or 2 ms of processor time. So their rate is
     * limited to one per this time, with a small burst after a pause. */
    HANDSHAKE_EVERY_MS = 20,
    HANDSHAKES_AT_ONCE = 10,
    MAX_LINE_BYTES = 256,
};

enum { LISTENER_TCP, LISTENER_LOCAL, LISTENERS };

struct status_server {
    struct status_server_settings settings;
    char *local_name;
    char *token;
    struct plat_socket *listeners[LISTENERS]; /* NULL: there is none */
    uint64_t accept_after_ns[LISTENERS];      /* no accept before this time */
    uint64_t tick_ns;                         /* time of the next tick; UINT64_MAX: there is none */
    struct status_tls_context *tls;           /* of TCP; NULL: plain */
    struct plat_waker *waker;
    struct plat_thread *thread;
    atomic_bool stopping;
    struct status_connection connections[STATUS_SERVER_MAX_CONNECTIONS];
    struct status_server_counts counts;
};

/* ---- replies --------------------------------------------------------------------------------- */

static void reply_text(struct status_reply *reply, unsigned status, const char *text)
{
    reply->status = status;
    reply->type = "text/plain; charset=utf-8";
    buf_add_text(&reply->body, text);
}

/* Takes the same time wherever the two differ (no timing side channel). */
static bool equal_secret(struct span a, struct span b)
{
    uint8_t differs = a.size != b.size;
    for (size_t i = 0; i < a.size && b.size; i++) {
        differs |= a.data[i] ^ b.data[i % b.size];
    }
    return !differs;
}

static bool knows_token(const struct status_server *server, const struct status_request *request)
{
    static const char scheme[] = "Bearer ";
    struct span given = span_first(request->authorization, sizeof(scheme) - 1);
    return server->token && span_equal_nocase(given, span_text(scheme)) &&
           equal_secret(span_trim(span_from(request->authorization, sizeof(scheme) - 1)),
               span_text(server->token));
}

/* Heads and pieces of streams are not bounded by it,
 * so they may already take more than there is. */
static size_t bytes_left(const struct status_server *server)
{
    size_t left = STATUS_SERVER_MAX_REPLY_BYTES;
    for (size_t i = 0; i < STATUS_SERVER_MAX_CONNECTIONS; i++) {
        size_t taken = server->connections[i].out.size;
        left -= taken < left ? taken : left;
    }
    return left;
}

static size_t count_streams(const struct status_server *server)
{
    size_t count = 0;
    for (size_t i = 0; i < STATUS_SERVER_MAX_CONNECTIONS; i++) {
        count += server->connections[i].stream != NULL;
    }
    return count;
}

/* False: it was answered with a refusal. */
static bool may_ask(struct status_server *server, const struct status_connection *connection,
    const struct status_request *request, struct status_reply *reply, bool *ret_trusted)
{
    if (connection->is_local) {
        *ret_trusted = plat_socket_is_ours(connection->channel.socket);
        if (!*ret_trusted) {
            reply_text(reply, 403, "this socket is for its owner and root\n");
        }
        return *ret_trusted;
    }
    *ret_trusted = knows_token(server, request);
    /* Over TLS, other machines use the names of this one. A foreign page in a browser is refused
     * for lack of the token. */
    if (!server->tls && request->host.size && !status_request_is_local(request->host)) {
        reply_text(reply, 403, "use localhost or an address of this machine\n");
        return false;
    }
    bool is_open = server->settings.open_path && span_is(request->path, server->settings.open_path);
    if (server->token && !*ret_trusted && !is_open) {
        reply->headers = "WWW-Authenticate: Bearer\r\n";
        reply_text(reply, 401, "a token is needed: Authorization: Bearer TOKEN\n");
        return false;
    }
    return true;
}

static void refuse(enum status_parse parse, struct status_reply *reply)
{
    if (parse == STATUS_PARSE_METHOD) {
        reply->headers = "Allow: GET\r\n";
        reply_text(reply, 405, "only GET is answered\n");
    } else if (parse == STATUS_PARSE_LARGE) {
        reply_text(reply, 431, "the request is too large\n");
    } else {
        reply_text(reply, 400, "the request is malformed\n");
    }
}

static void log_request(
    const struct status_server *server, const struct status_request *request, unsigned status)
{
    char line[MAX_LINE_BYTES];
    if (server->settings.log) {
        struct span path = span_first(request->path, 100);
        snprintf(line, sizeof(line), "status: %.*s: %u", SPAN_ARG(path), status);
        server->settings.log(server->settings.self, line);
    }
}

static void answer(struct status_server *server, struct status_connection *connection,
    const struct status_request *request, enum status_parse parse, uint64_t now)
{
    struct status_reply reply = {
        .counts = server->counts, .status = 404, .type = "text/plain", .headers = ""};
    bool trusted = false;
    buf_init(&reply.body, bytes_left(server));
    if (parse != STATUS_PARSE_DONE) {
        refuse(parse, &reply);
    } else if (may_ask(server, connection, request, &reply, &trusted)) {
        server->settings.answer(server->settings.self, request, trusted, &reply);
    }
    if (reply.stream && count_streams(server) >= STATUS_SERVER_MAX_STREAMS) {
        reply.stream->end(reply.stream_self);
        reply.stream = NULL;
        buf_reset(&reply.body);
        reply_text(&reply, 429, "too many clients are watching already\n");
    }
    if (reply.body.failed) {
        buf_reset(&reply.body);
        reply_text(&reply, 503, "there is no room for the reply now\n");
    }
    server->counts.answered += reply.status == 200 || reply.status == 503;
    server->counts.refused += reply.status != 200 && reply.status != 503;
    log_request(server, request, reply.status);
    status_connection_reply(connection, &reply, now);
    status_connection_write(connection, now);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* A free connection of ${listener}; else that of the client that has been slow for the longest,
 * except for those accepted at ${now}. NULL: all are being answered. */
static struct status_connection *find_place(
    struct status_server *server, size_t listener, uint64_t now)
{
    bool is_local = listener == LISTENER_LOCAL;
    size_t end = is_local ? STATUS_SERVER_MAX_LOCAL : STATUS_SERVER_MAX_CONNECTIONS;
    struct status_connection *oldest = NULL;
    for (size_t i = is_local ? 0 : STATUS_SERVER_MAX_LOCAL; i < end; i++) {
        struct status_connection *connection = &server->connections[i];
        if (!connection->channel.socket) {
            return connection;
        }
        if (connection->phase != STATUS_PHASE_WRITING && connection->began < now &&
            (!oldest || connection->began < oldest->began)) {
            oldest = connection;
        }
    }
    return oldest;
}

/* A listener stays ready while there is no free connection or descriptor: it then pauses for a
 * moment, and clients wait in its queue. */
static void pause_listener(struct status_server *server, size_t listener, uint64_t now)
{
    server->accept_after_ns[listener] = now + ACCEPT_PAUSE_MS * UINT64_C(1000000);
}

/* False: out of memory for TLS, and the socket is closed. */
static bool let_in(struct status_server *server, struct status_connection *place, size_t listener,
    struct plat_socket *socket, uint64_t now)
{
    struct status_channel channel = {.socket = socket};
    bool is_tls = listener == LISTENER_TCP && server->tls;
    channel.tls = is_tls ? status_tls_create(server->tls) : NULL;
    if (is_tls && !channel.tls) {
        status_channel_close(&channel);
        return false;
    }
    if (place->channel.socket) {
        server->counts.dropped += place->phase == STATUS_PHASE_READING;
        status_connection_end(place);
    }
    status_connection_begin(place, channel, listener == LISTENER_LOCAL, now);
    return true;
}

/* A leaky bucket, kept as the time at which the next handshake may begin. */
static void count_handshake(struct status_server *server, uint64_t now)
{
    const uint64_t every_ns = HANDSHAKE_EVERY_MS * UINT64_C(1000000);
    const uint64_t burst_ns = HANDSHAKES_AT_ONCE * every_ns;
    uint64_t *after = &server->accept_after_ns[LISTENER_TCP];
    uint64_t from = *after + burst_ns > now ? *after : now - burst_ns;
    *after = from + every_ns;
}

static void accept_all(struct status_server *server, size_t listener, uint64_t now)
{
    for (int i = 0; i < ACCEPT_AT_ONCE && server->accept_after_ns[listener] <= now; i++) {
        struct status_connection *place = find_place(server, listener, now);
        struct plat_socket *socket = place ? plat_socket_accept(server->listeners[listener]) : NULL;
        if (!socket || !let_in(server, place, listener, socket, now)) {
            if (!place || i == 0) {
                pause_listener(server, listener, now);
            }
            return;
        }
        if (place->channel.tls) {
            count_handshake(server, now);
        }
    }
}

static void serve(struct status_server *server, struct status_connection *connection,
    const struct plat_socket_wait *came, uint64_t now)
{
    struct status_request request;
    enum status_parse parse;
    bool reads = connection->phase == STATUS_PHASE_READING;
    bool came_any = (came->read && came->ret_read) || (reads && came->ret_write);
    if (came_any && status_connection_read(connection, &request, &parse) && reads) {
        answer(server, connection, &request, parse, now);
    }
    if (connection->phase == STATUS_PHASE_WRITING && (came->ret_write || connection->stream)) {
        status_connection_write(connection, now);
    }
    if (now >= connection->deadline_ns) {
        server->counts.dropped += connection->phase != STATUS_PHASE_ENDING;
        connection->phase = STATUS_PHASE_OVER;
    }
    if (connection->phase == STATUS_PHASE_OVER) {
        status_connection_end(connection);
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

struct round {
    struct plat_socket_wait waits[STATUS_SERVER_MAX_CONNECTIONS + LISTENERS];
    struct status_connection
        *connections[STATUS_SERVER_MAX_CONNECTIONS + LISTENERS]; /* NULL: a listener */
    size_t listeners[LISTENERS];
    size_t count;
    uint64_t deadline_ns;
    bool streams;
};

static void add_wait(
    struct round *round, const struct plat_socket *socket, struct status_connection *connection)
{
    bool writes = connection && status_connection_has_more(connection);
    /* A client may have closed its half of the connection once it had sent its request. */
    bool reads = !writes || connection->stream || connection->phase == STATUS_PHASE_READING;
    round->waits[round->count] = (struct plat_socket_wait){
        .socket = socket, .read = reads, .write = writes};
    round->connections[round->count++] = connection;
}

static void begin_round(struct status_server *server, struct round *round, uint64_t now)
{
    *round = (struct round){.deadline_ns = server->tick_ns};
    for (size_t i = 0; i < LISTENERS; i++) {
        if (server->listeners[i] && now >= server->accept_after_ns[i]) {
            round->listeners[round->count] = i;
            add_wait(round, server->listeners[i], NULL);
        } else if (server->listeners[i] && server->accept_after_ns[i] < round->deadline_ns) {
            round->deadline_ns = server->accept_after_ns[i];
        }
    }
    for (size_t i = 0; i < STATUS_SERVER_MAX_CONNECTIONS; i++) {
        struct status_connection *connection = &server->connections[i];
        if (connection->channel.socket) {
            add_wait(round, connection->channel.socket, connection);
            round->streams |= connection->stream && !status_connection_has_more(connection);
            round->deadline_ns = connection->deadline_ns < round->deadline_ns
                                     ? connection->deadline_ns
                                     : round->deadline_ns;
        }
    }
}

static int wait_ms(const struct round *round, uint64_t now)
{
    uint64_t left = round->deadline_ns > now ? round->deadline_ns - now : 0;
    int ms = round->deadline_ns == UINT64_MAX ? -1 : (int)(left / 1000000 + 1);
    return round->streams && (ms < 0 || ms > STREAM_EVERY_MS) ? STREAM_EVERY_MS : ms;
}

/* The server skips a tick that it missed. */
static void tick(struct status_server *server)
{
    uint64_t now = plat_monotonic_ns();
    if (now >= server->tick_ns) {
        server->settings.tick(server->settings.self);
        server->tick_ns = now + server->settings.tick_ms * UINT64_C(1000000);
    }
}

static void run(void *self)
{
    struct status_server *server = self;
    struct round round;
    server->tick_ns = server->settings.tick ? 0 : UINT64_MAX;
    while (!atomic_load(&server->stopping)) {
        tick(server);
        begin_round(server, &round, plat_monotonic_ns());
        plat_socket_wait(
            round.waits, round.count, server->waker, wait_ms(&round, plat_monotonic_ns()));
        uint64_t now = plat_monotonic_ns();
        for (size_t i = 0; i < round.count; i++) {
            if (round.connections[i]) {
                serve(server, round.connections[i], &round.waits[i], now);
            }
        }
        for (size_t i = 0; i < round.count && !round.connections[i]; i++) {
            if (round.waits[i].ret_read) {
                accept_all(server, round.listeners[i], now);
            }
        }
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

static bool open_all(struct status_server *server, struct error *err)
{
    const struct status_server_settings *settings = &server->settings;
    server->local_name = settings->local_name ? span_copy(span_text(settings->local_name)) : NULL;
    server->token = settings->token ? span_copy(span_text(settings->token)) : NULL;
    if ((settings->local_name && !server->local_name) || (settings->token && !server->token)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool ok = true;
    if (settings->tls_cert) {
        server->tls = status_tls_serve(settings->tls_cert, settings->tls_key, err);
        ok = server->tls != NULL;
    }
    if (ok && settings->address.size) {
        server->listeners[LISTENER_TCP] = plat_socket_listen_tcp(
            &settings->address, settings->port, err);
        ok = server->listeners[LISTENER_TCP] != NULL;
    }
    if (ok && settings->local_name) {
        server->listeners[LISTENER_LOCAL] = plat_socket_listen_local(server->local_name, err);
        ok = server->listeners[LISTENER_LOCAL] != NULL;
    }
    server->waker = ok ? plat_waker_create(err) : NULL;
    server->thread = server->waker ? plat_thread_start("status", run, server, err) : NULL;
    return server->thread != NULL;
}

struct status_server *status_server_start(
    const struct status_server_settings *settings, struct error *err)
{
    struct status_server *server = calloc(1, sizeof(*server));
    if (!server) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    server->settings = *settings;
    if (!open_all(server, err)) {
        status_server_stop(server);
        return NULL;
    }
    return server;
}

void status_server_stop(struct status_server *server)
{
    if (!server) {
        return;
    }
    atomic_store(&server->stopping, true);
    if (server->thread) {
        plat_waker_wake(server->waker);
        plat_thread_join(server->thread);
    }
    for (size_t i = 0; i < STATUS_SERVER_MAX_CONNECTIONS; i++) {
        status_connection_end(&server->connections[i]);
    }
    plat_socket_close(server->listeners[LISTENER_TCP]);
    plat_socket_close(server->listeners[LISTENER_LOCAL]);
    status_tls_context_destroy(server->tls);
    plat_waker_destroy(server->waker);
    free(server->local_name);
    free(server->token);
    free(server);
}

uint16_t status_server_port(const struct status_server *server)
{
    return server->listeners[LISTENER_TCP] ? plat_socket_port(server->listeners[LISTENER_TCP]) : 0;
}
