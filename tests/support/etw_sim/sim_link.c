#include "support/etw_sim/sim_link.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "platform/plat_thread.h"
#include "support/etw_sim/sim_socket.h"

struct sim_link {
    intptr_t socket;
    atomic_bool shut; /* from this side */
    struct plat_mutex sending;
};

struct sim_listener {
    intptr_t socket;
};

/* Takes the socket. */
static struct sim_link *make(intptr_t socket)
{
    struct sim_link *link = socket >= 0 ? calloc(1, sizeof(*link)) : NULL;
    if (link) {
        link->socket = socket;
        atomic_init(&link->shut, false);
        plat_mutex_init(&link->sending);
    } else if (socket >= 0) {
        sim_socket_close(socket);
    }
    return link;
}

struct sim_link *sim_link_connect(uint16_t port, struct error *err)
{
    struct sim_link *link = make(sim_socket_connect(port));
    if (!link) {
        error_set(err, ERR_IO, "no simulated machine at port %u", port);
    }
    return link;
}

void sim_link_close(struct sim_link *link)
{
    if (link) {
        sim_socket_close(link->socket);
        plat_mutex_fini(&link->sending);
        free(link);
    }
}

bool sim_link_send(struct sim_link *link, struct span message)
{
    uint8_t size[4];
    store_le32(size, (uint32_t)message.size);
    plat_mutex_lock(&link->sending);
    bool ok = message.size <= SIM_LINK_MAX_BYTES &&
              sim_socket_send(link->socket, size, sizeof(size)) &&
              sim_socket_send(link->socket, message.data, message.size);
    plat_mutex_unlock(&link->sending);
    return ok;
}

bool sim_link_receive(struct sim_link *link, struct buf *message)
{
    uint8_t size[4];
    buf_reset(message);
    if (!sim_socket_receive(link->socket, size, sizeof(size), &link->shut) ||
        load_le32(size) > SIM_LINK_MAX_BYTES || !buf_reserve(message, load_le32(size)) ||
        !sim_socket_receive(link->socket, message->data, load_le32(size), &link->shut)) {
        return false;
    }
    message->size = load_le32(size);
    return true;
}

void sim_link_shut(struct sim_link *link)
{
    atomic_store(&link->shut, true);
    sim_socket_shut(link->socket);
}

struct sim_listener *sim_link_listen(uint16_t *ret_port, struct error *err)
{
    struct sim_listener *listener = calloc(1, sizeof(*listener));
    if (listener) {
        listener->socket = sim_socket_listen(ret_port);
        if (listener->socket >= 0) {
            return listener;
        }
    }
    free(listener);
    error_set(err, ERR_IO, "no port for a simulated machine");
    return NULL;
}

struct sim_link *sim_link_accept(struct sim_listener *listener)
{
    return make(sim_socket_accept(listener->socket));
}

void sim_link_shut_listener(struct sim_listener *listener)
{
    sim_socket_shut(listener->socket);
}

void sim_link_close_listener(struct sim_listener *listener)
{
    if (listener) {
        sim_socket_close(listener->socket);
        free(listener);
    }
}
