#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_PIPE_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_PIPE_H

#include "platform/plat_socket.h"

#include <windows.h>

/*
 * Named pipes as plat_socket.h has sockets: nothing waits. Only for plat_socket.c. Windows reads and writes on its own
 * account (overlapped), into and out of buffers of the pipe; an event is set when something is done.
 */
struct plat_pipe;

/* \\.\pipe\${name}, for local administrators, the system and this account alone, from this machine. */
struct plat_pipe *plat_pipe_listen(const char *name, struct error *err);

/* The next client; NULL: none waits. */
struct plat_pipe *plat_pipe_accept(struct plat_pipe *listener);

struct plat_pipe *plat_pipe_connect(const char *name, unsigned timeout_ms, struct error *err);
void plat_pipe_close(struct plat_pipe *pipe); /* what was not written yet is lost */

enum plat_socket_result plat_pipe_read(
    struct plat_pipe *pipe, void *data, size_t size, size_t *ret_read);
enum plat_socket_result plat_pipe_write(
    struct plat_pipe *pipe, struct span bytes, size_t *ret_written);
bool plat_pipe_has_output(struct plat_pipe *pipe);

/* Can be read (of a listener: accepted) and written? Else the event will be set when that may be so. */
void plat_pipe_look(struct plat_pipe *pipe, bool reads, bool *ret_read, bool *ret_write);
HANDLE plat_pipe_event(const struct plat_pipe *pipe);

#endif
