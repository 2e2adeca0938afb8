#include "support/etw_sim/sim_socket.h"

#include <limits.h>
#include <winsock2.h>

static struct sockaddr_in address_of(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static SOCKET make(void)
{
    WSADATA data;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0 ? socket(AF_INET, SOCK_STREAM, 0)
                                                  : INVALID_SOCKET;
}

/* A message is answered before the next one is sent: waiting for more to send along is idle. */
static intptr_t ready(SOCKET s)
{
    const BOOL yes = TRUE;
    if (s == INVALID_SOCKET) {
        return -1;
    }
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, (const char *)&yes, sizeof(yes));
    return (intptr_t)s;
}

intptr_t sim_socket_connect(uint16_t port)
{
    struct sockaddr_in address = address_of(port);
    SOCKET s = make();
    if (s != INVALID_SOCKET && connect(s, (struct sockaddr *)&address, sizeof(address)) != 0) {
        closesocket(s);
        return -1;
    }
    return ready(s);
}

intptr_t sim_socket_listen(uint16_t *ret_port)
{
    struct sockaddr_in address = address_of(0);
    int size = sizeof(address);
    SOCKET s = make();
    if (s != INVALID_SOCKET &&
        (bind(s, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(s, SOMAXCONN) != 0 ||
            getsockname(s, (struct sockaddr *)&address, &size) != 0)) {
        closesocket(s);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return ready(s);
}

intptr_t sim_socket_accept(intptr_t listener)
{
    return ready(accept((SOCKET)listener, NULL, NULL));
}

bool sim_socket_send(intptr_t socket, const uint8_t *bytes, size_t size)
{
    while (size) {
        int done = send(
            (SOCKET)socket, (const char *)bytes, size < INT_MAX ? (int)size : INT_MAX, 0);
        if (done <= 0) {
            return false;
        }
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

/* Wait until there is something to take. Wine 8 does not always wake a thread whose own side is
 * shut while it waits: so it looks now and then. */
static bool wait_for_input(SOCKET s, const atomic_bool *shut)
{
    enum { LOOK_AGAIN_US = 200 * 1000 };
    fd_set set;
    int found = 0;
    while (found == 0 && !atomic_load(shut)) {
        struct timeval wait = {.tv_usec = LOOK_AGAIN_US};
        FD_ZERO(&set);
        FD_SET(s, &set);
        found = select(0, &set, NULL, NULL, &wait);
    }
    return found > 0;
}

bool sim_socket_receive(intptr_t socket, uint8_t *bytes, size_t size, const atomic_bool *shut)
{
    while (size) {
        if (!wait_for_input((SOCKET)socket, shut)) {
            return false;
        }
        int done = recv((SOCKET)socket, (char *)bytes, size < INT_MAX ? (int)size : INT_MAX, 0);
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
    shutdown((SOCKET)socket, SD_BOTH);
}

void sim_socket_close(intptr_t socket)
{
    closesocket((SOCKET)socket);
}
