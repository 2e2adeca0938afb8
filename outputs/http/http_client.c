/*
 * The only user of libcurl, with http_curl.c (output_libraries.c asks for its version). A client
 * has one easy handle, set up once with the constant options, and one multi handle, which keeps the
 * connections and allows checking `stopping` several times a second (curl_easy_perform would check
 * once a second, and not at all while resolving a name).
 *
 * libcurl repeats a request by itself when a kept connection turns out to be dead. The server may
 * have executed it already, and the caller would not know that it was sent twice. So a started body
 * is never read again: on_seek refuses, and the request fails as HTTP_LOST.
 *
 * A reused connection is checked first, so idle ones that were closed meanwhile cause no failure.
 */
#include "outputs/http/http_client.h"

#include <stdlib.h>

#include "base/buf.h"
#include "outputs/http/http_auth.h"
#include "outputs/http/http_ca.h"
#include "outputs/http/http_curl.h"
#include "outputs/http/http_failure.h"
#include "outputs/http/proxy/http_proxy.h"
#include "platform/plat_clock.h"

enum {
    LOOK_MS = 200, /* between two checks of `stopping` */
    KEPT_CONNECTIONS = 16,
    REPLY_BYTES = 64 * 1024,
    URL_MAX_BYTES = 64 * 1024,
};

/* The current request. */
struct transfer {
    const struct http_request *request;
    struct http_reply *reply;
    size_t part; /* where its body is read next */
    size_t at;
    uint64_t body_bytes;
    uint64_t reply_bytes;
    bool has_moved;             /* some of the body was read since this was last cleared */
    bool has_head;              /* all headers of the reply have arrived */
    bool asked_for_tunnel;      /* the proxy was reached and got the tunnel request */
    enum http_failure ended_by; /* set by a callback; HTTP_REPLIED: by none */
};

struct http_client {
    CURL *easy;
    CURLM *multi;
    char *authorization; /* the whole header; NULL: none */
    struct http_secrets secrets;
    uint64_t timeout_ms;
    struct http_proxy proxy;
    bool has_proxy; /* the current request uses a proxy set in libcurl */
    bool lacks_ca;  /* only the fingerprint is known so far */
    struct http_fingerprint ca;
    bool (*stopping)(void *host);
    void *host;
    struct buf url;
    struct transfer transfer;
    char reason[CURL_ERROR_SIZE]; /* libcurl's text */
};

/* ---- callbacks of libcurl -------------------------------------------------------------------- */

static size_t on_read(char *to, size_t one, size_t room, void *client)
{
    struct transfer *transfer = &((struct http_client *)client)->transfer;
    const struct http_request *request = transfer->request;
    size_t size = 0;
    room *= one;
    transfer->has_moved = true;
    while (transfer->part < request->part_count) {
        struct span rest = span_from(request->parts[transfer->part], transfer->at);
        struct span piece = span_first(rest, room - size);
        if (piece.size) {
            memcpy(to + size, piece.data, piece.size);
        }
        size += piece.size;
        transfer->at += piece.size;
        if (piece.size < rest.size) {
            break;
        }
        transfer->part++;
        transfer->at = 0;
    }
    return size;
}

/* libcurl may rewind only a body of which nothing was read. */
static int on_seek(void *client, curl_off_t offset, int origin)
{
    const struct transfer *transfer = &((struct http_client *)client)->transfer;
    bool begun = transfer->part || transfer->at;
    return offset == 0 && origin == SEEK_SET && !begun ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static bool note_status(struct http_client *client)
{
    long status = 0;
    curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
    client->transfer.reply->status = status < 200 ? 0 : (int)status;
    return status >= 200;
}

static bool is_empty_line(struct span line)
{
    return span_is(line, "\r\n") || span_is(line, "\n");
}

static size_t on_header(char *data, size_t one, size_t size, void *client_)
{
    struct http_client *client = client_;
    struct transfer *transfer = &client->transfer;
    struct span line = span_make(data, one * size);
    const uint8_t *colon = line.size ? memchr(line.data, ':', line.size) : NULL;
    bool final = note_status(client);
    transfer->has_head = final && (transfer->has_head || is_empty_line(line));
    if (!final || !colon || !transfer->request->on_header || line.data[0] == ':') {
        return line.size;
    }
    struct span name = span_first(line, (size_t)(colon - line.data));
    struct span value = span_from(line, name.size + 1);
    while (value.size && strchr(" \t", value.data[0])) {
        value = span_from(value, 1);
    }
    while (value.size && strchr(" \t\r\n", value.data[value.size - 1])) {
        value.size--;
    }
    if (memchr(name.data, '/', name.size) == NULL &&
        !transfer->request->on_header(transfer->request->self, name, value)) {
        transfer->ended_by = HTTP_UNWANTED;
        return 0;
    }
    return line.size;
}

static size_t on_body(char *data, size_t one, size_t size, void *client_)
{
    struct http_client *client = client_;
    struct transfer *transfer = &client->transfer;
    const struct http_request *request = transfer->request;
    uint64_t most = request->max_reply_bytes ? request->max_reply_bytes : REPLY_BYTES;
    size *= one;
    note_status(client);
    if (size > most - transfer->reply_bytes) {
        transfer->ended_by = HTTP_TOO_LONG;
        return 0;
    }
    transfer->reply_bytes += size;
    if (request->on_body && !request->on_body(request->self, span_make(data, size))) {
        transfer->ended_by = HTTP_UNWANTED;
        return 0;
    }
    return size;
}

/* libcurl's times and addresses of a connection do not show a proxy before its tunnel is
 * established. */
static int on_trace(CURL *easy, curl_infotype type, char *data, size_t size, void *client)
{
    static const char connect[] = "CONNECT ";
    (void)easy;
    struct span start = span_first(span_make(data, size), sizeof(connect) - 1);
    if (type == CURLINFO_HEADER_OUT && span_is(start, connect)) {
        ((struct http_client *)client)->transfer.asked_for_tunnel = true;
    }
    return 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool set_callbacks(struct http_client *self)
{
    CURL *easy = self->easy;
    return !curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read) &&
           !curl_easy_setopt(easy, CURLOPT_READDATA, self) &&
           !curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek) &&
           !curl_easy_setopt(easy, CURLOPT_SEEKDATA, self) &&
           !curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) &&
           !curl_easy_setopt(easy, CURLOPT_HEADERDATA, self) &&
           !curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) &&
           !curl_easy_setopt(easy, CURLOPT_WRITEDATA, self) &&
           !curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_trace) &&
           !curl_easy_setopt(easy, CURLOPT_DEBUGDATA, self) &&
           !curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, self->reason);
}

static bool set_up(struct http_client *self, const struct http_options *options, struct error *err)
{
    if (!http_curl_set_up(self->easy, options, err)) {
        return false;
    }
    if (!set_callbacks(self)) {
        error_set(err, ERR_MEMORY, "out of memory");
        return false;
    }
    return true;
}

static bool set_authorization(struct http_client *self, const struct http_client_setup *setup)
{
    char *value;
    if (!http_auth_write(&setup->options->auth, setup->scheme, &self->secrets, &value)) {
        return false;
    }
    if (!value) {
        return true;
    }
    static const char name[] = "Authorization: ";
    size_t size = strlen(value) + 1;
    self->authorization = malloc(sizeof(name) - 1 + size);
    if (self->authorization) {
        memcpy(self->authorization, name, sizeof(name) - 1);
        memcpy(self->authorization + sizeof(name) - 1, value, size);
    }
    free(value);
    return self->authorization != NULL;
}

struct http_client *http_client_create(const struct http_client_setup *setup, struct error *err)
{
    struct http_client *self = calloc(1, sizeof(*self));
    if (!self || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(self);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    buf_init(&self->url, URL_MAX_BYTES);
    bool good = http_proxy_init(&self->proxy, setup->options->proxy);
    self->proxy.note = setup->note;
    self->proxy.stopping = setup->stopping;
    self->proxy.host = setup->host;
    self->stopping = setup->stopping;
    self->host = setup->host;
    self->timeout_ms = setup->options->timeout_ns / NS_PER_MS;
    const char *ca = setup->options->tls.ca;
    self->lacks_ca = ca && http_fingerprint_read(span_text(ca), &self->ca);
    self->easy = curl_easy_init();
    if (!good || !self->easy || !set_authorization(self, setup)) {
        error_set(err, ERR_MEMORY, "out of memory");
    } else if (set_up(self, setup->options, err)) {
        return self;
    }
    http_client_destroy(self);
    return NULL;
}

void http_client_disconnect(struct http_client *client)
{
    curl_multi_cleanup(client->multi);
    client->multi = NULL;
}

void http_client_destroy(struct http_client *client)
{
    if (!client) {
        return;
    }
    curl_easy_cleanup(client->easy);
    curl_multi_cleanup(client->multi);
    http_proxy_fini(&client->proxy);
    http_secrets_fini(&client->secrets);
    buf_fini(&client->url);
    free(client->authorization);
    free(client);
    curl_global_cleanup();
}

void http_client_hide(const struct http_client *client, char *text)
{
    http_secrets_hide(&client->secrets, text);
}

bool http_client_add_secret(struct http_client *client, const char *secret)
{
    return http_secrets_replace(&client->secrets, NULL, secret);
}

bool http_client_replace_secret(struct http_client *client, const char *old, const char *secret)
{
    return http_secrets_replace(&client->secrets, old, secret);
}

/* ---- one request ----------------------------------------------------------------------------- */

static bool write_url(struct http_client *self, const struct http_request *request)
{
    size_t size = strlen(request->url);
    buf_reset(&self->url);
    if (!request->path) {
        buf_add(&self->url, request->url, size);
    } else {
        const char *path = request->path;
        while (size && request->url[size - 1] == '/') {
            size--;
        }
        path += path[0] == '/';
        buf_add(&self->url, request->url, size);
        buf_add_byte(&self->url, '/');
        buf_add_text(&self->url, path);
    }
    buf_add_byte(&self->url, '\0');
    return !self->url.failed;
}

/* `Name: value`, or `Name;` for an empty value: libcurl would remove a header `Name:`. */
static bool add_header(
    struct curl_slist **list, struct buf *line, const char *name, const char *value)
{
    buf_reset(line);
    buf_printf(line, value[0] ? "%s: %s" : "%s;", name, value);
    buf_add_byte(line, '\0');
    struct curl_slist *longer = line->failed ? NULL
                                             : curl_slist_append(*list, (const char *)line->data);
    *list = longer ? longer : *list;
    return longer != NULL;
}

/* NULL: out of memory. Disable `Expect: 100-continue`: it would cost a round trip, or a second if
 * the server does not support it. */
static struct curl_slist *write_headers(
    const struct http_client *self, const struct http_request *request)
{
    struct buf line;
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    bool good = list != NULL;
    bool own = false;
    buf_init(&line, URL_MAX_BYTES);
    for (size_t i = 0; good && i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        own = own || span_equal_nocase(span_text(header->name), span_text("Authorization"));
        good = add_header(&list, &line, header->name, header->value);
    }
    if (good && self->authorization && !own) {
        struct curl_slist *longer = curl_slist_append(list, self->authorization);
        good = longer != NULL;
    }
    buf_fini(&line);
    if (!good) {
        curl_slist_free_all(list);
        return NULL;
    }
    return list;
}

static bool set_body(struct http_client *self)
{
    const struct http_request *request = self->transfer.request;
    CURL *easy = self->easy;
    bool posts = request->part_count || strcmp(request->method, "POST") == 0 ||
                 strcmp(request->method, "PUT") == 0;
    for (size_t i = 0; i < request->part_count; i++) {
        self->transfer.body_bytes += request->parts[i].size;
    }
    bool good = !curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L); /* also out of NOBODY */
    if (posts) {
        good = good && !curl_easy_setopt(easy, CURLOPT_POST, 1L) &&
               !curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL) &&
               !curl_easy_setopt(
                   easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)self->transfer.body_bytes);
    } else if (strcmp(request->method, "HEAD") == 0) {
        good = good && !curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    return good && !curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static bool set_proxy(struct http_client *self, const char *url)
{
    const char *address;
    self->has_proxy = false;
    if (!http_proxy_for(&self->proxy, url, plat_monotonic_ns(), &address)) {
        self->transfer.ended_by = HTTP_STOPPED;
        return false;
    }
    self->has_proxy = address && address[0];
    return !curl_easy_setopt(
               self->easy, CURLOPT_VERBOSE, self->has_proxy ? 1L : 0L) && /* on_trace */
           !curl_easy_setopt(self->easy, CURLOPT_PROXY, address);
}

static bool prepare(struct http_client *self, struct curl_slist **ret_headers)
{
    const struct http_request *request = self->transfer.request;
    uint64_t timeout_ms = request->timeout_ms ? request->timeout_ms : self->timeout_ms;
    if (!self->multi) {
        self->multi = curl_multi_init();
        if (self->multi) {
            curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
        }
    }
    if (!self->multi || !write_url(self, request) || !set_body(self) ||
        !set_proxy(self, request->url) ||
        curl_easy_setopt(self->easy, CURLOPT_URL, (const char *)self->url.data) ||
        curl_easy_setopt(self->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms)) {
        return false;
    }
    *ret_headers = write_headers(self, request);
    return *ret_headers && !curl_easy_setopt(self->easy, CURLOPT_HTTPHEADER, *ret_headers);
}

/* In each step libcurl sends one piece of the body, after a check that the socket accepts data.
 * Waiting is only useful after a step that sent nothing. */
static bool may_go_on(struct transfer *transfer)
{
    bool has_moved = transfer->has_moved;
    transfer->has_moved = false;
    return has_moved && transfer->part < transfer->request->part_count;
}

/* Run until the request of ${easy} is done, or `stopping` is true. */
static CURLcode perform(struct http_client *self, CURLM *multi, CURL *easy)
{
    int running = 1;
    if (curl_multi_add_handle(multi, easy)) {
        return CURLE_OUT_OF_MEMORY;
    }
    CURLcode code = CURLE_OUT_OF_MEMORY;
    while (running) {
        if (curl_multi_perform(multi, &running)) {
            break;
        }
        if (running && self->stopping && self->stopping(self->host)) {
            self->transfer.ended_by = HTTP_STOPPED;
            break;
        }
        if (running && !may_go_on(&self->transfer) &&
            curl_multi_poll(multi, NULL, 0, LOOK_MS, NULL)) {
            break;
        }
    }
    int left;
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (message && message->msg == CURLMSG_DONE) {
        code = message->data.result;
    }
    curl_multi_remove_handle(multi, easy);
    return code;
}

/* ---- the result ------------------------------------------------------------------------------ */

static void look_back(struct http_client *self, struct http_reply *reply)
{
    curl_off_t wait_s = 0;
    long head = 0;
    curl_easy_getinfo(self->easy, CURLINFO_REQUEST_SIZE, &head);
    curl_easy_getinfo(self->easy, CURLINFO_RETRY_AFTER, &wait_s);
    note_status(self);
    /* The size of headers includes the tunnel request. */
    reply->sent = head > 0 && http_curl_was_connected(self->easy) &&
                  self->transfer.part == self->transfer.request->part_count;
    if (wait_s > 0) {
        /* Limit to the maximum of libcurl 8.12+, so that every version gives the same result. */
        reply->retry_after_ms = wait_s < HTTP_RETRY_AFTER_MAX_S ? (uint32_t)wait_s * 1000
                                                                : HTTP_RETRY_AFTER_MAX_S * 1000;
    }
}

/* True if the connection to the proxy failed, not one through it. */
static bool is_before_proxy(const struct http_client *self)
{
    return self->has_proxy && !self->transfer.asked_for_tunnel;
}

/* libcurl before 8.6 says that it is out of memory when a line of the headers is too long. */
static bool is_line_too_long(const struct http_client *self, CURLcode code)
{
    return code == CURLE_OUT_OF_MEMORY && http_curl_was_connected(self->easy);
}

static enum http_failure failure_of(const struct http_client *self, CURLcode code)
{
    if (self->transfer.ended_by != HTTP_REPLIED) {
        return self->transfer.ended_by;
    }
    if (is_line_too_long(self, code)) {
        return HTTP_GARBLED;
    }
    /* libcurl treats a connection closed within the headers as their end. */
    return code == CURLE_OK && !self->transfer.has_head
               ? HTTP_GARBLED
               : http_curl_failure(self->easy, code, self->reason, is_before_proxy(self));
}

/* Fetch the certificate of the authority of tls.ca from the server (http_ca.h). */
static enum http_failure learn_ca(struct http_client *self, CURLcode *ret_code)
{
    enum http_failure failure = HTTP_IMPOSSIBLE;
    CURLM *multi = curl_multi_init();
    CURL *asker = multi ? http_ca_ask(self->easy) : NULL;
    if (asker && !curl_easy_setopt(asker, CURLOPT_ERRORBUFFER, self->reason)) {
        *ret_code = perform(self, multi, asker);
        failure = self->transfer.ended_by != HTTP_REPLIED
                      ? self->transfer.ended_by
                      : http_curl_failure(asker, *ret_code, self->reason, is_before_proxy(self));
    }
    if (failure == HTTP_REPLIED) {
        self->lacks_ca = !http_ca_trust(self->easy, asker, &self->ca);
        failure = self->lacks_ca ? HTTP_NO_CA : HTTP_REPLIED;
    }
    curl_easy_cleanup(asker);
    curl_multi_cleanup(multi);
    return failure;
}

static bool is_tls(const struct http_request *request)
{
    return strncmp(request->url, "https:", strlen("https:")) == 0;
}

/* A proxy that refuses the request was reached; do not try another one, which might be less
 * strict. */
static void note_proxy(struct http_client *self, CURLcode code)
{
    bool is_out_of_reach = code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT ||
                           code == CURLE_OPERATION_TIMEDOUT;
    const char *url = self->transfer.request->url;
    enum http_failure failure = self->transfer.reply->failure;
    if (self->has_proxy && (failure == HTTP_REPLIED || self->transfer.asked_for_tunnel)) {
        http_proxy_reached(&self->proxy, url);
    } else if (self->has_proxy && failure == HTTP_NO_PROXY && is_out_of_reach) {
        http_proxy_failed(&self->proxy, url);
    }
}

static const char *words_of(const struct http_client *self, CURLcode code)
{
    if (code == CURLE_OK) {
        return "it ends inside its headers";
    }
    if (is_line_too_long(self, code)) {
        return "a line of its headers is too long";
    }
    if (code == CURLE_SEND_FAIL_REWIND) { /* on_seek */
        return "closed without a reply";
    }
    return self->reason[0] ? self->reason : curl_easy_strerror(code);
}

bool http_client_send(struct http_client *client, const struct http_request *request,
    struct http_reply *ret_reply, struct error *err)
{
    struct curl_slist *headers = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    *ret_reply = (struct http_reply){.failure = HTTP_IMPOSSIBLE};
    client->transfer = (struct transfer){.request = request, .reply = ret_reply};
    client->reason[0] = '\0';
    if (prepare(client, &headers)) {
        ret_reply->failure = client->lacks_ca && is_tls(request) ? learn_ca(client, &code)
                                                                 : HTTP_REPLIED;
        if (ret_reply->failure == HTTP_REPLIED) {
            client->transfer.asked_for_tunnel = false;
            code = perform(client, client->multi, client->easy);
            look_back(client, ret_reply);
            ret_reply->failure = failure_of(client, code);
        }
    } else if (client->transfer.ended_by != HTTP_REPLIED) {
        ret_reply->failure = client->transfer.ended_by;
    }
    if (ret_reply->failure != HTTP_REPLIED) {
        const char *reason = words_of(client, code);
        http_failure_say(ret_reply->failure, request->url, reason, &client->secrets, err);
    }
    note_proxy(client, code);
    if (http_failure_lasts(ret_reply->failure)) {
        /* libcurl 7.87+ reads the authorities once a day: they may have been replaced since. */
        http_client_disconnect(client);
    }
    curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    client->transfer.request = NULL;
    return ret_reply->failure == HTTP_REPLIED;
}
