#include "status/status_channel.h"

enum plat_socket_result status_channel_read(
    struct status_channel *channel, void *data, size_t size, size_t *ret_read)
{
    return channel->tls ? status_tls_read(channel->tls, channel->socket, data, size, ret_read)
                        : plat_socket_read(channel->socket, data, size, ret_read);
}

enum plat_socket_result status_channel_write(
    struct status_channel *channel, struct span bytes, size_t *ret_written)
{
    return channel->tls ? status_tls_write(channel->tls, channel->socket, bytes, ret_written)
                        : plat_socket_write(channel->socket, bytes, ret_written);
}

bool status_channel_has_output(const struct status_channel *channel)
{
    return (channel->tls && status_tls_has_output(channel->tls)) ||
           (channel->socket && plat_socket_has_output(channel->socket));
}

void status_channel_finish(struct status_channel *channel)
{
    if (channel->tls) {
        status_tls_finish(channel->tls, channel->socket);
    }
    plat_socket_finish(channel->socket);
}

void status_channel_close(struct status_channel *channel)
{
    status_tls_destroy(channel->tls);
    plat_socket_close(channel->socket);
    *channel = (struct status_channel){.socket = NULL};
}
