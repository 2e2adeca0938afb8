#include "status/status_connection.h"

#include "platform/plat_clock.h"

/*
 * One request per connection, which ends with the reply, so that no bytes of a client can be taken
 * for another request.
 */
enum { ENDING_MS = 1000, HEAD_MAX_BYTES = 1024, STREAM_MAX_BYTES = 256 * 1024 };

void status_connection_begin(struct status_connection *connection, struct status_channel channel,
    bool is_local, uint64_t now)
{
    *connection = (struct status_connection){.channel = channel,
        .phase = STATUS_PHASE_READING,
        .is_local = is_local,
        .began = now,
        .deadline_ns = now + STATUS_SERVER_READ_MS * NS_PER_MS};
}

/* Read and ignore bytes after the request. Unread bytes would make closing reset the connection and
 * lose the reply; and only reading shows that the client has closed. */
static void read_on(struct status_connection *connection)
{
    size_t got;
    if (plat_socket_read(connection->channel.socket, connection->in, sizeof(connection->in),
            &got) == PLAT_SOCKET_END) {
        connection->phase = STATUS_PHASE_OVER;
    }
}

bool status_connection_read(struct status_connection *connection,
    struct status_request *ret_request, enum status_parse *ret_parse)
{
    enum plat_socket_result result;
    if (connection->phase != STATUS_PHASE_READING) {
        read_on(connection);
        return false;
    }
    do {
        size_t got = 0;
        result = status_channel_read(&connection->channel, connection->in + connection->in_size,
            sizeof(connection->in) - connection->in_size, &got);
        connection->in_size += got;
    } while (result == PLAT_SOCKET_DONE && connection->channel.tls &&
             connection->in_size < sizeof(connection->in));
    *ret_parse = status_request_parse(span_make(connection->in, connection->in_size), ret_request);
    if (result == PLAT_SOCKET_END && *ret_parse == STATUS_PARSE_MORE) {
        connection->phase = STATUS_PHASE_OVER;
    }
    return *ret_parse != STATUS_PARSE_MORE;
}

static const char *phrase(unsigned status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "Error";
    }
}

static uint64_t write_deadline(const struct status_connection *connection, uint64_t now)
{
    uint64_t deadline_ns = now + STATUS_SERVER_WRITE_MS * NS_PER_MS;
    return deadline_ns < connection->end_ns ? deadline_ns : connection->end_ns;
}

void status_connection_reply(
    struct status_connection *connection, struct status_reply *reply, uint64_t now)
{
    struct buf *out = &connection->out;
    buf_init(out, HEAD_MAX_BYTES + reply->body.size + (reply->stream ? STREAM_MAX_BYTES : 0));
    buf_printf(out, "HTTP/1.1 %u %s\r\nContent-Type: %s\r\n", reply->status, phrase(reply->status),
        reply->type);
    if (!reply->stream) {
        buf_printf(out, "Content-Length: %zu\r\n", reply->body.size);
    }
    buf_printf(out,
        "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n%s\r\n",
        reply->headers);
    buf_add_span(out, buf_span(&reply->body));
    buf_fini(&reply->body);
    connection->stream = reply->stream;
    connection->stream_self = reply->stream_self;
    connection->phase = out->failed ? STATUS_PHASE_OVER : STATUS_PHASE_WRITING;
    connection->end_ns = reply->stream ? UINT64_MAX
                                       : connection->began + STATUS_SERVER_REPLY_MS * NS_PER_MS;
    connection->deadline_ns = write_deadline(connection, now);
}

bool status_connection_has_more(const struct status_connection *connection)
{
    bool has_reply = connection->phase == STATUS_PHASE_WRITING &&
                     connection->out_at < connection->out.size;
    return has_reply || status_channel_has_output(&connection->channel);
}

static void finish(struct status_connection *connection, uint64_t now)
{
    status_channel_finish(&connection->channel);
    connection->phase = STATUS_PHASE_ENDING;
    connection->in_size = 0;
    connection->deadline_ns = now + ENDING_MS * NS_PER_MS;
}

void status_connection_write(struct status_connection *connection, uint64_t now)
{
    struct buf *out = &connection->out;
    if (connection->out_at == out->size && connection->stream) {
        buf_reset(out);
        connection->out_at = 0;
        if (!connection->stream->more(connection->stream_self, out) || out->failed) {
            connection->stream->end(connection->stream_self);
            connection->stream = NULL;
        }
        connection->deadline_ns = out->size ? write_deadline(connection, now) : UINT64_MAX;
    }
    while (connection->out_at < out->size || status_channel_has_output(&connection->channel)) {
        size_t written = 0;
        enum plat_socket_result result = status_channel_write(
            &connection->channel, span_from(buf_span(out), connection->out_at), &written);
        if (result == PLAT_SOCKET_LATER) {
            return;
        }
        if (result == PLAT_SOCKET_END) {
            connection->phase = STATUS_PHASE_OVER;
            return;
        }
        connection->out_at += written;
        connection->deadline_ns = write_deadline(connection, now);
    }
    if (!connection->stream) {
        finish(connection, now);
    } else {
        connection->deadline_ns = UINT64_MAX;
    }
}

void status_connection_end(struct status_connection *connection)
{
    if (connection->stream) {
        connection->stream->end(connection->stream_self);
    }
    status_channel_close(&connection->channel);
    buf_fini(&connection->out);
    *connection = (struct status_connection){.phase = STATUS_PHASE_READING};
}
