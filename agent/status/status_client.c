#include "status/status_client.h"

#include "status/status_channel.h"

enum { HEAD_MAX_BYTES = 8192, PART_BYTES = 64 * 1024, REQUEST_MAX_BYTES = 16 * 1024 };

/* ---- the head of a reply --------------------------------------------------------------------- */

static bool next_line(struct span *rest, struct span *ret_line)
{
    for (size_t i = 0; i + 1 < rest->size; i++) {
        if (rest->data[i] == '\r' && rest->data[i + 1] == '\n') {
            *ret_line = span_first(*rest, i);
            *rest = span_from(*rest, i + 2);
            return true;
        }
    }
    return false;
}

static bool parse_number(struct span text, size_t *ret_number)
{
    size_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i == 9) {
            return false;
        }
        number = number * 10 + (size_t)(text.data[i] - '0');
    }
    *ret_number = number;
    return text.size > 0;
}

static bool parse_status(struct span line, unsigned *ret_status)
{
    static const char version[] = "HTTP/1.1 ";
    size_t status;
    bool ok = span_is(span_first(line, sizeof(version) - 1), version) &&
              parse_number(span_first(span_from(line, sizeof(version) - 1), 3), &status) &&
              status >= 100;
    *ret_status = ok ? (unsigned)status : 0;
    return ok;
}

bool status_client_head(struct span *bytes, unsigned *ret_status, size_t *ret_length, bool *ret_bad)
{
    static const char length[] = "content-length:";
    struct span rest = *bytes;
    struct span line;
    *ret_length = SIZE_MAX;
    *ret_bad = rest.size >= HEAD_MAX_BYTES;
    if (!next_line(&rest, &line)) {
        return false;
    }
    if (!parse_status(line, ret_status)) {
        *ret_bad = true;
        return false;
    }
    while (next_line(&rest, &line)) {
        struct span name = span_first(line, sizeof(length) - 1);
        if (line.size == 0) {
            *bytes = rest;
            *ret_bad = false;
            return true;
        }
        if (span_equal_nocase(name, span_text(length)) &&
            !parse_number(span_trim(span_from(line, sizeof(length) - 1)), ret_length)) {
            *ret_bad = true;
            return false;
        }
    }
    return false;
}

/* ---- asking ---------------------------------------------------------------------------------- */

void status_client_escape(const char *text, struct buf *out)
{
    for (; *text; text++) {
        uint8_t c = (uint8_t)*text;
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     c == '-' || c == '_' || c == '.';
        if (plain) {
            buf_add_byte(out, c);
        } else {
            buf_printf(out, "%%%02x", c);
        }
    }
}

static bool wait_for(
    const struct status_channel *channel, bool to_write, unsigned timeout_ms, struct error *err)
{
    to_write = to_write || status_channel_has_output(channel);
    struct plat_socket_wait wait = {
        .socket = channel->socket, .read = !to_write, .write = to_write};
    plat_socket_wait(&wait, 1, NULL, timeout_ms ? (int)timeout_ms : -1);
    return wait.ret_read || wait.ret_write ||
           error_set(err, ERR_IO, "the agent did not answer for %u s", timeout_ms / 1000);
}

static bool send_request(struct status_channel *channel, const struct status_client *client,
    const char *target, struct error *err)
{
    struct buf request;
    buf_init(&request, REQUEST_MAX_BYTES);
    buf_printf(&request, "GET %s HTTP/1.1\r\nHost: localhost\r\n", target);
    if (client->token && !client->local_name) {
        buf_printf(&request, "Authorization: Bearer %s\r\n", client->token);
    }
    buf_add_text(&request, "\r\n");
    struct span rest = buf_span(&request);
    bool ok = !request.failed || error_set(err, ERR_LIMIT, "the request is too long");
    while (ok && (rest.size || status_channel_has_output(channel))) {
        size_t written;
        enum plat_socket_result result = status_channel_write(channel, rest, &written);
        rest = span_from(rest, written);
        ok = result != PLAT_SOCKET_END || error_set(err, ERR_IO, "the agent closed the connection");
        bool more = rest.size || status_channel_has_output(channel);
        ok = ok && (!more || wait_for(channel, true, client->timeout_ms, err));
    }
    buf_fini(&request);
    return ok;
}

struct reply {
    struct buf head;
    bool is_begun; /* its body */
    unsigned status;
    size_t left; /* of the body; SIZE_MAX: until the end */
    bool (*take)(void *self, struct span part);
    void *self;
    struct buf *refusal;
    bool over; /* the caller wants no more of it */
};

static bool take_body(struct reply *reply, struct span part, struct error *err)
{
    part = span_first(part, reply->left);
    reply->left -= reply->left == SIZE_MAX ? 0 : part.size;
    if (!part.size) {
        return true;
    }
    if (reply->status != 200) {
        buf_add_span(reply->refusal, part);
        return !reply->refusal->failed || error_set(err, ERR_LIMIT, "the reply is too long");
    }
    reply->over = !reply->take(reply->self, part);
    return true;
}

static bool take_part(struct reply *reply, struct span part, struct error *err)
{
    if (reply->is_begun) {
        return take_body(reply, part, err);
    }
    bool bad;
    buf_add_span(&reply->head, part);
    struct span rest = buf_span(&reply->head);
    reply->is_begun = status_client_head(&rest, &reply->status, &reply->left, &bad);
    if (bad || reply->head.failed) {
        return error_set(err, ERR_FORMAT, "the answer is not from an agent");
    }
    return !reply->is_begun || take_body(reply, rest, err);
}

static bool receive(
    struct status_channel *channel, unsigned timeout_ms, struct reply *reply, struct error *err)
{
    static uint8_t part[PART_BYTES]; /* one thread asks */
    while (!reply->over && !(reply->is_begun && reply->left == 0)) {
        size_t got;
        enum plat_socket_result result = status_channel_read(channel, part, sizeof(part), &got);
        if (result == PLAT_SOCKET_END) {
            bool whole = reply->is_begun && reply->left == SIZE_MAX;
            return whole || error_set(err, ERR_IO, "the agent closed the connection");
        }
        if (result == PLAT_SOCKET_LATER ? !wait_for(channel, false, timeout_ms, err)
                                        : !take_part(reply, span_make(part, got), err)) {
            return false;
        }
    }
    return true;
}

static struct plat_socket *connect_to(const struct status_client *client, struct error *err)
{
    return client->local_name
               ? plat_socket_connect_local(client->local_name, STATUS_CLIENT_CONNECT_MS, err)
               : plat_socket_connect_tcp(
                     &client->address, client->port, STATUS_CLIENT_CONNECT_MS, err);
}

/* Check the certificate of the server before the token is sent to it. */
static bool begin_tls(
    struct status_channel *channel, const struct status_tls_context *context, struct error *err)
{
    channel->tls = status_tls_create(context);
    if (!channel->tls) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (;;) {
        enum plat_socket_result result = status_tls_handshake(channel->tls, channel->socket);
        if (result == PLAT_SOCKET_END) {
            return error_set(err, ERR_CONFIG,
                "the server does not have the certificate of status.tls.cert, or does not support "
                "TLS. if the file is new, reload the agent");
        }
        if (result == PLAT_SOCKET_DONE) {
            return true;
        }
        if (!wait_for(channel, false, STATUS_CLIENT_CONNECT_MS, err)) {
            return false;
        }
    }
}

bool status_client_stream(const struct status_client *client, const char *target,
    unsigned *ret_status, bool (*take)(void *self, struct span part), void *self,
    struct buf *refusal, struct error *err)
{
    bool is_tls = client->tls_cert && !client->local_name;
    struct status_tls_context *context = is_tls ? status_tls_expect(client->tls_cert, err) : NULL;
    struct status_channel channel = {.socket = context || !is_tls ? connect_to(client, err) : NULL};
    struct reply reply = {.take = take, .self = self, .refusal = refusal};
    buf_init(&reply.head, HEAD_MAX_BYTES + PART_BYTES);
    bool ok = channel.socket && (!is_tls || begin_tls(&channel, context, err)) &&
              send_request(&channel, client, target, err) &&
              receive(&channel, client->timeout_ms, &reply, err);
    *ret_status = reply.status;
    buf_fini(&reply.head);
    status_channel_close(&channel);
    status_tls_context_destroy(context);
    return ok;
}

static bool take_all(void *self, struct span part)
{
    struct buf *body = self;
    buf_add_span(body, part);
    return !body->failed;
}

bool status_client_get(const struct status_client *client, const char *target, unsigned *ret_status,
    struct buf *body, struct error *err)
{
    bool ok = status_client_stream(client, target, ret_status, take_all, body, body, err);
    return ok && (!body->failed || error_set(err, ERR_LIMIT, "the reply is too long"));
}
