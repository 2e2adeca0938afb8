#include "support/http_fake.h"

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
typedef SOCKET socket_t;
typedef int socket_size_t;
typedef int io_size_t;
#define poll WSAPoll
#define close_socket closesocket
enum { NO_SIGNAL = 0 };
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
typedef int socket_t;
typedef socklen_t socket_size_t;
typedef size_t io_size_t;
#define close_socket close
enum { NO_SIGNAL = MSG_NOSIGNAL };
#endif

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "platform/plat_thread.h"

enum { MAX_SCRIPT = 64, MAX_SEEN = 65536, MAX_OPEN = 16, MAX_BYTES = 64 << 20 };

struct open_socket {
    socket_t socket;
    unsigned number;
    bool hangs;
};

struct http_fake {
    struct plat_thread *thread;
    struct plat_mutex mutex; /* holds all below but what the thread alone uses */
    struct plat_cond closed;
    bool stops;
    struct http_fake_reply script[MAX_SCRIPT];
    size_t script_at;
    size_t script_count;
    http_fake_handler_fn *handler;
    void *handler_self;
    struct http_fake_request *seen[MAX_SEEN];
    size_t seen_count;
    char url[64];
    unsigned short port;
    size_t open_count;
    /* of the thread */
    socket_t listener;
    struct open_socket open[MAX_OPEN];
    unsigned connections;
};

static void require(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "http_fake: %s\n", what);
        abort();
    }
}

/* ---- one request ----------------------------------------------------------------------------- */

static bool receive(socket_t socket, struct buf *into)
{
    require(buf_reserve(into, 65536), "a request that is too long");
    long got = (long)recv(socket, (char *)into->data + into->size, 65536, 0);
    into->size += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static size_t end_of_head(const struct buf *buf)
{
    for (size_t i = 4; i <= buf->size; i++) {
        if (memcmp(buf->data + i - 4, "\r\n\r\n", 4) == 0) {
            return i;
        }
    }
    return 0;
}

static const char *find_header(const char *head, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2;
        if (span_equal_nocase(span_make(at, strcspn(at, ":\r")), span_text(name))) {
            return at + size + 1 + strspn(at + size + 1, " ");
        }
    }
    return NULL;
}

bool http_fake_has(const struct http_fake_request *request, const char *name, const char *value)
{
    const char *found = find_header(request->head, name);
    return found &&
           (!value || (strncmp(found, value, strlen(value)) == 0 && found[strlen(value)] == '\r'));
}

static struct http_fake_request *make_request(const struct buf *buf, size_t head, unsigned number)
{
    struct http_fake_request *request = calloc(1, sizeof(*request));
    char *text = malloc(buf->size + 2);
    require(request && text, "out of memory");
    memcpy(text, buf->data, head);
    text[head] = '\0';
    memcpy(text + head + 1, buf->data + head, buf->size - head);
    text[buf->size + 1] = '\0';
    *request = (struct http_fake_request){
        .head = text, .body = span_make(text + head + 1, buf->size - head), .connection = number};
    return request;
}

static struct http_fake_reply next_reply(struct http_fake *fake, bool take)
{
    struct http_fake_reply reply = {.status = 200};
    plat_mutex_lock(&fake->mutex);
    if (fake->script_at < fake->script_count) {
        reply = fake->script[fake->script_at];
        fake->script_at += take ? 1u : 0u;
    }
    plat_mutex_unlock(&fake->mutex);
    return reply;
}

static struct http_fake_reply note(struct http_fake *fake, struct http_fake_request *request)
{
    struct http_fake_reply reply = next_reply(fake, true);
    plat_mutex_lock(&fake->mutex);
    require(fake->seen_count < MAX_SEEN, "too many requests");
    fake->seen[fake->seen_count++] = request;
    http_fake_handler_fn *handler = fake->handler;
    void *self = fake->handler_self;
    plat_mutex_unlock(&fake->mutex);
    if (handler) {
        reply = (struct http_fake_reply){.status = 200};
        handler(self, request, &reply);
    }
    return reply;
}

/* False: the connection is done with. */
static bool answer(socket_t socket, const struct http_fake_reply *reply)
{
    struct buf out;
    bool good = true;
    const char *body = reply->body ? reply->body : "";
    if (!reply->status && !reply->raw) {
        return false;
    }
    buf_init(&out, MAX_BYTES);
    buf_add_text(&out, reply->interim ? reply->interim : "");
    if (reply->raw) {
        buf_add_text(&out, reply->raw);
    } else {
        buf_printf(&out, "HTTP/1.1 %d Words\r\n%sContent-Length: %zu\r\n\r\n", reply->status,
            reply->headers ? reply->headers : "", strlen(body) + reply->promised);
        buf_add_text(&out, body);
    }
    size_t size = reply->cut && reply->cut < out.size ? reply->cut : out.size;
    for (size_t at = 0; good && at < size;) {
        long sent = (long)send(
            socket, (const char *)out.data + at, (io_size_t)(size - at), NO_SIGNAL);
        good = sent > 0;
        at += good ? (size_t)sent : 0;
    }
    buf_fini(&out);
    return good && !reply->cut && !reply->promised && !reply->early && !reply->close && !reply->raw;
}

/* Read a request and answer it. False: the connection is done with. */
static bool serve(struct http_fake *fake, struct open_socket *open)
{
    struct buf buf;
    size_t head = 0;
    bool good = true;
    buf_init(&buf, MAX_BYTES);
    while (good && !head) {
        good = receive(open->socket, &buf);
        head = end_of_head(&buf);
    }
    if (good) {
        buf_add_byte(&buf, '\0');
        const char *length = find_header((const char *)buf.data, "Content-Length");
        size_t size = head + (length ? strtoul(length, NULL, 10) : 0);
        buf.size--;
        bool early = next_reply(fake, false).early;
        while (good && !early && buf.size < size) {
            good = receive(open->socket, &buf);
        }
    }
    if (good) {
        struct http_fake_reply reply = note(fake, make_request(&buf, head, open->number));
        open->hangs = reply.hang;
        good = reply.hang || answer(open->socket, &reply);
    }
    buf_fini(&buf);
    return good;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_over(struct http_fake *fake)
{
    plat_mutex_lock(&fake->mutex);
    bool stops = fake->stops;
    plat_mutex_unlock(&fake->mutex);
    return stops;
}

static void accept_one(struct http_fake *fake)
{
    socket_t socket = accept(fake->listener, NULL, NULL);
    if (fake->open_count == MAX_OPEN) {
        close_socket(socket);
        return;
    }
    plat_mutex_lock(&fake->mutex);
    fake->open[fake->open_count++] = (struct open_socket){
        .socket = socket, .number = ++fake->connections};
    plat_mutex_unlock(&fake->mutex);
}

static void drop(struct http_fake *fake, size_t index)
{
    close_socket(fake->open[index].socket);
    plat_mutex_lock(&fake->mutex);
    fake->open[index] = fake->open[--fake->open_count];
    plat_cond_broadcast(&fake->closed);
    plat_mutex_unlock(&fake->mutex);
}

static void run(void *fake_)
{
    struct http_fake *fake = fake_;
    while (!is_over(fake)) {
        struct pollfd polls[MAX_OPEN + 1] = {{.fd = fake->listener, .events = POLLIN}};
        size_t open_count = fake->open_count;
        for (size_t i = 0; i < open_count; i++) {
            polls[i + 1].fd = fake->open[i].socket;
            polls[i + 1].events = fake->open[i].hangs ? 0 : POLLIN;
        }
        require(poll(polls, (unsigned)open_count + 1, -1) > 0, "poll");
        for (size_t i = open_count; i-- > 0;) {
            if (polls[i + 1].revents && (fake->open[i].hangs || !serve(fake, &fake->open[i]))) {
                drop(fake, i);
            }
        }
        if (polls[0].revents) {
            accept_one(fake);
        }
    }
    for (size_t i = 0; i < fake->open_count; i++) {
        close_socket(fake->open[i].socket);
    }
}

static struct sockaddr_in loopback(unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void listen_on_loopback(struct http_fake *fake)
{
    struct sockaddr_in address = loopback(0);
    socket_size_t size = sizeof(address);
#ifdef _WIN32
    WSADATA data;
    require(WSAStartup(MAKEWORD(2, 2), &data) == 0, "WSAStartup");
#endif
    fake->listener = socket(AF_INET, SOCK_STREAM, 0);
    require(bind(fake->listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                listen(fake->listener, MAX_OPEN) == 0 &&
                getsockname(fake->listener, (struct sockaddr *)&address, &size) == 0,
        "no socket on loopback");
    fake->port = ntohs(address.sin_port);
    snprintf(fake->url, sizeof(fake->url), "http://127.0.0.1:%u", (unsigned)fake->port);
}

struct http_fake *http_fake_start(void)
{
    struct error err;
    struct http_fake *fake = calloc(1, sizeof(*fake));
    require(fake != NULL, "out of memory");
    plat_mutex_init(&fake->mutex);
    plat_cond_init(&fake->closed);
    listen_on_loopback(fake);
    fake->thread = plat_thread_start("http-fake", run, fake, &err);
    require(fake->thread != NULL, "no thread");
    return fake;
}

/* A connection of our own wakes the thread. */
static void wake(const struct http_fake *fake)
{
    struct sockaddr_in address = loopback(fake->port);
    socket_t socket_ = socket(AF_INET, SOCK_STREAM, 0);
    require(connect(socket_, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    close_socket(socket_);
}

void http_fake_stop(struct http_fake *fake)
{
    if (!fake) {
        return;
    }
    plat_mutex_lock(&fake->mutex);
    fake->stops = true;
    plat_mutex_unlock(&fake->mutex);
    wake(fake);
    plat_thread_join(fake->thread);
    close_socket(fake->listener);
    for (size_t i = 0; i < fake->seen_count; i++) {
        free((void *)(uintptr_t)fake->seen[i]->head);
        free(fake->seen[i]);
    }
    plat_cond_fini(&fake->closed);
    plat_mutex_fini(&fake->mutex);
    free(fake);
}

void http_fake_script(struct http_fake *fake, const struct http_fake_reply *replies, size_t count)
{
    require(count <= MAX_SCRIPT, "the script is too long");
    plat_mutex_lock(&fake->mutex);
    if (count) {
        memcpy(fake->script, replies, count * sizeof(*replies));
    }
    fake->script_at = 0;
    fake->script_count = count;
    plat_mutex_unlock(&fake->mutex);
}

void http_fake_handle(struct http_fake *fake, http_fake_handler_fn *handler, void *self)
{
    plat_mutex_lock(&fake->mutex);
    fake->handler = handler;
    fake->handler_self = self;
    plat_mutex_unlock(&fake->mutex);
}

void http_fake_wait_closed(struct http_fake *fake)
{
    plat_mutex_lock(&fake->mutex);
    while (fake->open_count) {
        plat_cond_wait(&fake->closed, &fake->mutex);
    }
    plat_mutex_unlock(&fake->mutex);
}

const char *http_fake_url(const struct http_fake *fake)
{
    return fake->url;
}

size_t http_fake_count(struct http_fake *fake)
{
    plat_mutex_lock(&fake->mutex);
    size_t count = fake->seen_count;
    plat_mutex_unlock(&fake->mutex);
    return count;
}

const struct http_fake_request *http_fake_request(struct http_fake *fake, size_t index)
{
    plat_mutex_lock(&fake->mutex);
    require(index < fake->seen_count, "there is no such request");
    const struct http_fake_request *request = fake->seen[index];
    plat_mutex_unlock(&fake->mutex);
    return request;
}
