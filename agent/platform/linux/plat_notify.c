#define _GNU_SOURCE

#include "platform/plat_notify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * Sends datagrams to a socket in the file system, or in the abstract namespace, whose names begin
 * with NUL and are written with '@' instead (unix(7)). The socket is not connected, so a restarted
 * manager with that name is found again. The manager learns the sender from the kernel. Too small
 * for a library: libsystemd would be a dependency for one sendto().
 */
struct plat_notify {
    int fd;
    socklen_t size;
    struct sockaddr_un address;
    uint64_t watchdog_ns;
};

/* Parse a decimal number; 0 if it is not one or exceeds 64 bits. */
static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);
    if (!text || *text < '0' || *text > '9') {
        return 0;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' ? value : 0;
}

static uint64_t watchdog_ns(void)
{
    uint64_t usec = number_of("WATCHDOG_USEC");
    bool for_another = getenv("WATCHDOG_PID") && number_of("WATCHDOG_PID") != (uint64_t)getpid();
    return for_another || usec > UINT64_MAX / 1000 ? 0 : usec * 1000;
}

static bool find(struct plat_notify *notify)
{
    const char *name = getenv("NOTIFY_SOCKET");
    size_t size = name ? strlen(name) : 0;
    bool abstract = size && *name == '@';
    /* a path ends with NUL, an abstract name at its size */
    if (size < 2 || size + !abstract > sizeof(notify->address.sun_path) ||
        (!abstract && *name != '/')) {
        return false;
    }
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, name, size);
    if (abstract) {
        notify->address.sun_path[0] = '\0';
    }
    notify->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + !abstract);
    return true;
}

struct plat_notify *plat_notify_open(void)
{
    struct plat_notify *notify = calloc(1, sizeof(*notify));
    if (!notify || !find(notify)) {
        free(notify);
        return NULL;
    }
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (notify->fd < 0) {
        free(notify);
        return NULL;
    }
    notify->watchdog_ns = watchdog_ns();
    return notify;
}

void plat_notify_close(struct plat_notify *notify)
{
    if (notify) {
        close(notify->fd);
        free(notify);
    }
}

uint64_t plat_notify_watchdog_ns(const struct plat_notify *notify)
{
    return notify ? notify->watchdog_ns : 0;
}

bool plat_notify_send(struct plat_notify *notify, struct span text)
{
    if (!notify || text.size > PLAT_NOTIFY_MAX_BYTES) {
        return true;
    }
    ssize_t sent;
    do {
        sent = sendto(notify->fd, text.data, text.size, MSG_DONTWAIT | MSG_NOSIGNAL,
            (const struct sockaddr *)&notify->address, notify->size);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
}
