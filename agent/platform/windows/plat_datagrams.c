#include <winsock2.h>
#include <ws2tcpip.h>

#include "platform/plat_datagrams.h"

#include <stdlib.h>

struct plat_datagrams {
    SOCKET socket;
};

/* Uses TCP_INFO, available from Windows version 1703, which excludes data in Windows' own
 * buffers. */
bool plat_datagrams_unacked(intptr_t socket, uint64_t *ret_bytes)
{
    (void)socket;
    *ret_bytes = 0;
    return false;
}

/* recv reports it, also after the end. */
bool plat_datagrams_was_reset(intptr_t socket, unsigned wait_ms)
{
    enum { SLICE_MS = 10 };
    for (unsigned waited = 0;; waited += SLICE_MS) {
        char byte;
        if (recv((SOCKET)socket, &byte, 1, MSG_PEEK) < 0) {
            int reason = WSAGetLastError();
            return reason == WSAECONNRESET || reason == WSAECONNABORTED;
        }
        if (waited >= wait_ms) {
            return false;
        }
        Sleep(SLICE_MS);
    }
}

/* SIO_TCP_SET_ACK_FREQUENCY of mstcpip.h, which not every SDK has. */
void plat_datagrams_confirm(intptr_t socket)
{
    DWORD code = _WSAIOW(IOC_VENDOR, 23);
    DWORD each = 1;
    DWORD size = 0;
    WSAIoctl((SOCKET)socket, code, &each, sizeof(each), NULL, 0, &size, NULL, NULL);
}

/* Winsock has no low-water mark for what is received. */
void plat_datagrams_await(intptr_t socket, size_t bytes, unsigned wait_ms)
{
    (void)socket;
    (void)bytes;
    (void)wait_ms;
}

void plat_datagrams_end(intptr_t socket)
{
    shutdown((SOCKET)socket, SD_SEND);
}

/* INVALID_SOCKET: ${ret_code} is the reason of the last one. */
static SOCKET open_first(const struct addrinfo *list, int *ret_code)
{
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        SOCKET made = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
        if (made != INVALID_SOCKET && connect(made, at->ai_addr, (int)at->ai_addrlen) == 0) {
            return made;
        }
        *ret_code = WSAGetLastError();
        if (made != INVALID_SOCKET) {
            closesocket(made);
        }
    }
    return INVALID_SOCKET;
}

static bool resolve(
    const char *host, const char *port, struct addrinfo **ret_list, struct error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    int code = getaddrinfo(host, port, &hints, ret_list);
    return code == 0 ||
           error_set_os(err, code, "WSA", "%s: cannot resolve the name (error %d)", host, code);
}

struct plat_datagrams *plat_datagrams_open(const char *host, const char *port, struct error *err)
{
    WSADATA data;
    struct addrinfo *list = NULL;
    struct plat_datagrams *datagrams = malloc(sizeof(*datagrams));
    if (!datagrams) {
        error_set(err, ERR_MEMORY, "out of memory for sockets");
        return NULL;
    }
    int code = WSAStartup(MAKEWORD(2, 2), &data);
    if (code != 0) {
        free(datagrams);
        error_set(err, ERR_IO, "Windows Sockets cannot begin (error %d)", code);
        return NULL;
    }
    if (resolve(host, port, &list, err)) {
        datagrams->socket = open_first(list, &code);
        freeaddrinfo(list);
        if (datagrams->socket != INVALID_SOCKET) {
            return datagrams;
        }
        error_set(err, ERR_IO, "%s port %s: cannot send there (error %d)", host, port, code);
    }
    WSACleanup();
    free(datagrams);
    return NULL;
}

void plat_datagrams_close(struct plat_datagrams *datagrams)
{
    if (datagrams) {
        closesocket(datagrams->socket);
        WSACleanup();
        free(datagrams);
    }
}

bool plat_datagrams_send(struct plat_datagrams *datagrams, struct span bytes, struct error *err)
{
    if (send(datagrams->socket, (const char *)bytes.data, (int)bytes.size, 0) >= 0) {
        return true;
    }
    int reason = WSAGetLastError();
    return error_set(err, reason == WSAEMSGSIZE ? ERR_LIMIT : ERR_IO,
        "cannot send a datagram of %zu bytes (error %d)", bytes.size, reason);
}
