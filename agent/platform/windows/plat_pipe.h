#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_PIPE_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_PIPE_H

#include "platform/plat_socket.h"

#include <windows.h>

/*
 * Named pipes that never block, for plat_socket.c only. Windows reads and writes in the background
 * (overlapped), with buffers of the pipe, and sets an event when it has finished.
 */
struct plat_pipe;

/* Listen at \\.\pipe\${name}, for local administrators, the system and this account, from this
 * machine only. */
struct plat_pipe *plat_pipe_listen(const char *name, struct error *err);

/* The next waiting client; NULL: none. */
struct plat_pipe *plat_pipe_accept(struct plat_pipe *listener);

struct plat_pipe *plat_pipe_connect(const char *name, unsigned timeout_ms, struct error *err);
void plat_pipe_close(struct plat_pipe *pipe); /* loses bytes that wait to be written */

enum plat_socket_result plat_pipe_read(
    struct plat_pipe *pipe, void *data, size_t size, size_t *ret_read);
enum plat_socket_result plat_pipe_write(
    struct plat_pipe *pipe, struct span bytes, size_t *ret_written);
bool plat_pipe_has_output(struct plat_pipe *pipe);

/* ${ret_read}: ${pipe} can be read (a listener: accept). ${ret_write}: it can be written. Otherwise
 * the event is set when that may have changed. */
void plat_pipe_look(struct plat_pipe *pipe, bool reads, bool *ret_read, bool *ret_write);
HANDLE plat_pipe_event(const struct plat_pipe *pipe);

#endif
