#include "support/etw_sim/sim_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address_of(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* A message is answered before the next one is sent: waiting for more to send along is idle. */
static intptr_t ready(int s)
{
    int yes = 1;
    if (s >= 0) {
        setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    }
    return s;
}

intptr_t sim_socket_connect(uint16_t port)
{
    struct sockaddr_in address = address_of(port);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0 && connect(s, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(s);
        return -1;
    }
    return ready(s);
}

intptr_t sim_socket_listen(uint16_t *ret_port)
{
    struct sockaddr_in address = address_of(0);
    socklen_t size = sizeof(address);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0 &&
        (bind(s, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(s, SOMAXCONN) != 0 ||
            getsockname(s, (struct sockaddr *)&address, &size) != 0)) {
        close(s);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return s;
}

intptr_t sim_socket_accept(intptr_t listener)
{
    int s;
    do {
        s = accept((int)listener, NULL, NULL);
    } while (s < 0 && (errno == EINTR || errno == ECONNABORTED));
    return ready(s);
}

bool sim_socket_send(intptr_t socket, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t done = send((int)socket, bytes, size, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

bool sim_socket_receive(intptr_t socket, uint8_t *bytes, size_t size, const atomic_bool *shut)
{
    (void)shut; /* waiting threads are woken */
    while (size) {
        ssize_t done = recv((int)socket, bytes, size, 0);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

void sim_socket_shut(intptr_t socket)
{
    shutdown((int)socket, SHUT_RDWR);
}

void sim_socket_close(intptr_t socket)
{
    close((int)socket);
}
