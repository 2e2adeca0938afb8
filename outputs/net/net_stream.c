/*
 * libcurl makes the connection (CURLOPT_CONNECT_ONLY) and then only moves bytes. The easy handle
 * stays in its multi handle while it is connected: libcurl closes the connection of a handle that
 * is removed.
 */
#include "outputs/net/net_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/http/http_ca.h"
#include "outputs/http/http_curl.h"
#include "platform/plat_clock.h"
#include "platform/plat_datagrams.h"

enum { LOOK_MS = 50, ADDRESS_MAX_BYTES = 300 };

struct net_stream {
    CURL *easy;
    CURLM *multi;
    bool attached; /* easy is in multi */
    bool connected;
    bool tls;
    bool lacks_ca; /* only its fingerprint is known */
    struct http_fingerprint ca;
    uint64_t timeout_ms;
    bool (*stopping)(void *host);
    void *host;
    char name[ADDRESS_MAX_BYTES];
    char reason[CURL_ERROR_SIZE];
};

static bool is_stopping(const struct net_stream *stream)
{
    return stream->stopping && stream->stopping(stream->host);
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool set_up(struct net_stream *self, const struct net_stream_setup *setup, struct error *err)
{
    char url[ADDRESS_MAX_BYTES];
    struct http_options options = *setup->options;
    options.proxy = NULL;
    snprintf(url, sizeof(url), "%s://%s", setup->tls ? "https" : "http", setup->address);
    if (!http_curl_set_up(self->easy, &options, err)) {
        return false;
    }
    curl_easy_setopt(self->easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
    if (curl_easy_setopt(self->easy, CURLOPT_URL, url) ||
        curl_easy_setopt(self->easy, CURLOPT_CONNECT_ONLY, 1L) ||
        curl_easy_setopt(self->easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) ||
        curl_easy_setopt(self->easy, CURLOPT_PROXY, "") ||
        curl_easy_setopt(self->easy, CURLOPT_ERRORBUFFER, self->reason)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    return true;
}

struct net_stream *net_stream_create(const struct net_stream_setup *setup, struct error *err)
{
    struct net_stream *self = calloc(1, sizeof(*self));
    if (!self || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(self);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    const char *ca = setup->options->tls.ca;
    self->tls = setup->tls;
    self->lacks_ca = setup->tls && ca && http_fingerprint_read(span_text(ca), &self->ca);
    self->timeout_ms = setup->options->timeout_ns / NS_PER_MS;
    self->stopping = setup->stopping;
    self->host = setup->host;
    snprintf(self->name, sizeof(self->name), "%s://%s", setup->tls ? "tls" : "tcp", setup->address);
    self->easy = curl_easy_init();
    if (!self->easy) {
        error_set(err, ERR_MEMORY, "out of memory");
    } else if (set_up(self, setup, err)) {
        return self;
    }
    net_stream_destroy(self);
    return NULL;
}

void net_stream_disconnect(struct net_stream *stream)
{
    if (stream->attached) {
        curl_multi_remove_handle(stream->multi, stream->easy);
    }
    curl_multi_cleanup(stream->multi);
    stream->multi = NULL;
    stream->attached = false;
    stream->connected = false;
}

void net_stream_destroy(struct net_stream *stream)
{
    if (stream) {
        net_stream_disconnect(stream);
        curl_easy_cleanup(stream->easy);
        free(stream);
        curl_global_cleanup();
    }
}

bool net_stream_is_connected(const struct net_stream *stream)
{
    return stream->connected;
}

const char *net_stream_name(const struct net_stream *stream)
{
    return stream->name;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Run until ${easy} is connected; it then stays in ${multi}. */
static CURLcode perform(struct net_stream *self, CURLM *multi, CURL *easy)
{
    int running = 1;
    int left;
    if (curl_multi_add_handle(multi, easy)) {
        return CURLE_OUT_OF_MEMORY;
    }
    while (running && !curl_multi_perform(multi, &running)) {
        if (running && is_stopping(self)) {
            return CURLE_ABORTED_BY_CALLBACK;
        }
        if (running && curl_multi_poll(multi, NULL, 0, LOOK_MS, NULL)) {
            break;
        }
    }
    CURLMsg *message = curl_multi_info_read(multi, &left);
    return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_OUT_OF_MEMORY;
}

static enum http_failure failure_of(struct net_stream *self, CURL *easy, CURLcode code)
{
    return code == CURLE_ABORTED_BY_CALLBACK ? HTTP_STOPPED
                                             : http_curl_failure(easy, code, self->reason, false);
}

/* As in http_client, for an authority known only by its fingerprint. */
static enum http_failure learn_ca(struct net_stream *self, CURLcode *ret_code)
{
    enum http_failure failure = HTTP_IMPOSSIBLE;
    CURLM *multi = curl_multi_init();
    CURL *asker = multi ? http_ca_ask(self->easy) : NULL;
    if (asker) {
        *ret_code = perform(self, multi, asker);
        failure = failure_of(self, asker, *ret_code);
        if (failure == HTTP_REPLIED) {
            self->lacks_ca = !http_ca_trust(self->easy, asker, &self->ca);
            failure = self->lacks_ca ? HTTP_NO_CA : HTTP_REPLIED;
        }
        curl_multi_remove_handle(multi, asker);
    }
    curl_easy_cleanup(asker);
    curl_multi_cleanup(multi);
    return failure;
}

bool net_stream_connect(struct net_stream *stream, bool *ret_lasts, struct error *err)
{
    static const struct http_secrets none = {.count = 0};
    CURLcode code = CURLE_OUT_OF_MEMORY;
    enum http_failure failure = HTTP_REPLIED;
    net_stream_disconnect(stream);
    stream->reason[0] = '\0';
    stream->multi = curl_multi_init();
    if (stream->lacks_ca) {
        failure = learn_ca(stream, &code);
    }
    if (failure == HTTP_REPLIED && stream->multi) {
        code = perform(stream, stream->multi, stream->easy);
        stream->attached = true;
        failure = failure_of(stream, stream->easy, code);
        stream->connected = failure == HTTP_REPLIED;
    }
    *ret_lasts = http_failure_lasts(failure);
    if (!stream->connected) {
        const char *reason = stream->reason[0] ? stream->reason : curl_easy_strerror(code);
        http_failure_say(failure, stream->name, reason, &none, err);
        net_stream_disconnect(stream);
    }
    return stream->connected;
}

/* ---- moving bytes ---------------------------------------------------------------------------- */

static curl_socket_t socket_of(const struct net_stream *stream)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (stream->connected) {
        curl_easy_getinfo(stream->easy, CURLINFO_ACTIVESOCKET, &fd);
    }
    return fd;
}

static void wait_for(struct net_stream *stream, short events, unsigned ms)
{
    struct curl_waitfd fd = {.fd = socket_of(stream), .events = events};
    if (fd.fd == CURL_SOCKET_BAD) {
        plat_sleep_ms(ms);
    } else {
        curl_multi_poll(stream->multi, &fd, 1, (int)ms, NULL);
    }
}

static enum net_stream_read read_now(
    struct net_stream *stream, void *to, size_t room, size_t *ret_size, struct error *err)
{
    *ret_size = 0;
    if (!stream->connected) {
        error_set(err, ERR_IO, "%s: not connected", stream->name);
        return NET_STREAM_BROKEN;
    }
    CURLcode code = curl_easy_recv(stream->easy, to, room, ret_size);
    if (code == CURLE_AGAIN) {
        return NET_STREAM_NOTHING;
    }
    if (code == CURLE_OK && *ret_size) {
        return NET_STREAM_READ;
    }
    if (code == CURLE_OK) {
        error_set(err, ERR_IO, "%s: the other side has closed the connection", stream->name);
        return NET_STREAM_CLOSED;
    }
    error_set(
        err, ERR_IO, "%s: the connection failed (%s)", stream->name, curl_easy_strerror(code));
    return NET_STREAM_BROKEN;
}

enum net_stream_read net_stream_read(struct net_stream *stream, void *to, size_t room,
    unsigned wait_ms, size_t *ret_size, struct error *err)
{
    uint64_t end = plat_monotonic_ms() + wait_ms;
    for (;;) {
        enum net_stream_read result = read_now(stream, to, room, ret_size, err);
        uint64_t now = plat_monotonic_ms();
        if (result != NET_STREAM_NOTHING || now >= end || is_stopping(stream)) {
            return result;
        }
        uint64_t left = end - now;
        wait_for(stream, CURL_WAIT_POLLIN, left < LOOK_MS ? (unsigned)left : LOOK_MS);
    }
}

bool net_stream_write(
    struct net_stream *stream, struct span bytes, size_t *ret_size, struct error *err)
{
    uint64_t end = plat_monotonic_ms() + stream->timeout_ms;
    *ret_size = 0;
    while (*ret_size < bytes.size) {
        size_t sent = 0;
        CURLcode code = stream->connected ? curl_easy_send(stream->easy, bytes.data + *ret_size,
                                                bytes.size - *ret_size, &sent)
                                          : CURLE_SEND_ERROR;
        *ret_size += sent;
        if (sent) {
            end = plat_monotonic_ms() + stream->timeout_ms;
        }
        if (code != CURLE_OK && code != CURLE_AGAIN) {
            return error_set(err, ERR_IO, "%s: the connection failed (%s)", stream->name,
                curl_easy_strerror(code));
        }
        if (code == CURLE_AGAIN && plat_monotonic_ms() >= end) {
            return error_set(
                err, ERR_IO, "%s: the other side accepts no more data (timeout)", stream->name);
        }
        if (code == CURLE_AGAIN && is_stopping(stream)) {
            return error_set(
                err, ERR_STOPPED, "%s: stopped, as the agent or the command ends", stream->name);
        }
        if (code == CURLE_AGAIN) {
            wait_for(stream, CURL_WAIT_POLLOUT, LOOK_MS);
        }
    }
    return true;
}

bool net_stream_unacked(const struct net_stream *stream, uint64_t *ret_bytes)
{
    curl_socket_t fd = socket_of(stream);
    *ret_bytes = 0;
    return fd != CURL_SOCKET_BAD && plat_datagrams_unacked((intptr_t)fd, ret_bytes);
}

void net_stream_confirm(const struct net_stream *stream)
{
    curl_socket_t fd = socket_of(stream);
    if (fd != CURL_SOCKET_BAD) {
        plat_datagrams_confirm((intptr_t)fd);
    }
}

void net_stream_await(const struct net_stream *stream, size_t bytes, unsigned wait_ms)
{
    curl_socket_t fd = socket_of(stream);
    if (fd != CURL_SOCKET_BAD && !stream->tls) {
        plat_datagrams_await((intptr_t)fd, bytes, wait_ms);
    }
}

bool net_stream_was_reset(const struct net_stream *stream, unsigned wait_ms)
{
    curl_socket_t fd = socket_of(stream);
    return fd != CURL_SOCKET_BAD && plat_datagrams_was_reset((intptr_t)fd, wait_ms);
}

void net_stream_end(struct net_stream *stream)
{
    curl_socket_t fd = socket_of(stream);
    if (fd != CURL_SOCKET_BAD && !stream->tls) {
        plat_datagrams_end((intptr_t)fd);
    }
}

/* ---- addresses ------------------------------------------------------------------------------- */

void net_stream_check_address(
    struct config_check *check, const char *key, const char *const *address)
{
    const char *text = *address;
    if (!text) {
        return;
    }
    size_t size = strlen(text);
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : "";
    size_t digits = strspn(port, "0123456789");
    long number = digits && digits < 6 && !port[digits] ? strtol(port, NULL, 10) : 0;
    size_t host = colon ? (size_t)(colon - text) : size;
    bool bracketed = host > 2 && text[0] == '[' && text[host - 1] == ']';
    bool plain = host && strcspn(text, ":/?#@[]") >= host;
    if (number < 1 || number > 65535 || size >= ADDRESS_MAX_BYTES / 2 || !(bracketed || plain)) {
        CONFIG_FAULT(check, address,
            "%s: this is not a host and port. write it as in syslog.example:6514", key);
    }
    for (size_t i = 0; i < size; i++) {
        if ((uint8_t)text[i] <= ' ' || text[i] == 0x7f) {
            CONFIG_FAULT(check, address, "%s: the address holds a space. remove it", key);
            return;
        }
    }
}
