#include "platform/windows/plat_pipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/windows/plat_file_own.h"
#include "platform/windows/plat_wide.h"

/*
 * A pipe has one event for reading and writing: a thread can wait for 64 events only, and waits for
 * many pipes. The thread resets the event, then looks at both operations, then waits. An operation
 * that ended before the look is seen; one that ends later sets the event again. The event does not
 * tell which operation has ended, so GetOverlappedResult must not wait for it.
 */
enum { BUFFER_BYTES = 64 * 1024, READ_BYTES = 4096, MAX_NAME_BYTES = 200 };

struct transfer {
    OVERLAPPED overlapped;
    bool is_pending;
    bool is_over; /* the other side has closed */
    DWORD size;   /* bytes read or written */
};

struct plat_pipe {
    HANDLE handle; /* INVALID_HANDLE_VALUE: a listener could not make its next instance */
    HANDLE event;
    wchar_t *name; /* NULL: not a listener */
    struct transfer in;
    struct transfer out;
    size_t taken;    /* bytes of `read` that were taken */
    bool is_waiting; /* a listener waits for its next client */
    uint8_t read[READ_BYTES];
    uint8_t write[BUFFER_BYTES];
};

static struct plat_pipe *make(HANDLE handle)
{
    struct plat_pipe *pipe = calloc(1, sizeof(*pipe));
    HANDLE event = pipe ? CreateEventW(NULL, TRUE, FALSE, NULL) : NULL;
    if (!event) {
        free(pipe);
        return NULL;
    }
    pipe->handle = handle;
    pipe->event = event;
    return pipe;
}

/* Note the state of an operation whose function returned ${started}. */
static void begin(struct transfer *transfer, BOOL started)
{
    transfer->is_pending = started || GetLastError() == ERROR_IO_PENDING;
    transfer->is_over = !transfer->is_pending;
}

static void prepare(struct plat_pipe *pipe, struct transfer *transfer)
{
    transfer->overlapped = (OVERLAPPED){.hEvent = pipe->event};
    transfer->size = 0;
}

static void look(struct plat_pipe *pipe, struct transfer *transfer)
{
    if (!transfer->is_pending) {
        return;
    }
    if (GetOverlappedResult(pipe->handle, &transfer->overlapped, &transfer->size, FALSE)) {
        transfer->is_pending = false;
    } else if (GetLastError() != ERROR_IO_INCOMPLETE) {
        transfer->is_pending = false;
        transfer->is_over = true;
    }
}

/* Wait until Windows no longer uses the memory, which the caller may free then. */
static void cancel(struct plat_pipe *pipe, struct transfer *transfer)
{
    if (!transfer->is_pending) {
        return;
    }
    CancelIoEx(pipe->handle, &transfer->overlapped);
    ResetEvent(pipe->event);
    look(pipe, transfer);
    while (transfer->is_pending) {
        WaitForSingleObject(pipe->event, INFINITE);
        ResetEvent(pipe->event);
        look(pipe, transfer);
    }
}

static void close_handle(struct plat_pipe *pipe)
{
    if (pipe->handle != INVALID_HANDLE_VALUE) {
        cancel(pipe, &pipe->in);
        cancel(pipe, &pipe->out);
        CloseHandle(pipe->handle);
        pipe->handle = INVALID_HANDLE_VALUE;
    }
}

void plat_pipe_close(struct plat_pipe *pipe)
{
    if (pipe) {
        close_handle(pipe);
        CloseHandle(pipe->event);
        free(pipe->name);
        free(pipe);
    }
}

static wchar_t *path_of(const char *name, struct error *err)
{
    char path[MAX_NAME_BYTES + sizeof("\\\\.\\pipe\\")];
    size_t size = strlen(name);
    if (size == 0 || size > MAX_NAME_BYTES || strchr(name, '\\')) {
        error_set(err, ERR_CONFIG,
            "'%.200s' is not a valid pipe name. write 1 to %d bytes without a backslash", name,
            MAX_NAME_BYTES);
        return NULL;
    }
    snprintf(path, sizeof(path), "\\\\.\\pipe\\%s", name);
    return plat_wide_text(path, err);
}

/* ---- listening ------------------------------------------------------------------------------- */

/* Fail if another program already has a pipe with this name: that program would decide about the
 * access to further instances. */
static HANDLE create_instance(const wchar_t *name, bool is_first)
{
    PSECURITY_DESCRIPTOR descriptor = plat_file_private();
    SECURITY_ATTRIBUTES attributes = {
        .nLength = sizeof(attributes), .lpSecurityDescriptor = descriptor};
    if (!descriptor) {
        return INVALID_HANDLE_VALUE;
    }
    HANDLE handle = CreateNamedPipeW(name,
        PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | (is_first ? FILE_FLAG_FIRST_PIPE_INSTANCE : 0),
        PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
        PIPE_UNLIMITED_INSTANCES, BUFFER_BYTES, BUFFER_BYTES, 0, &attributes);
    DWORD code = GetLastError();
    LocalFree(descriptor);
    SetLastError(code);
    return handle;
}

/* Make a new instance and wait for a client there, unless one waits already. */
static void wait_for_client(struct plat_pipe *listener)
{
    if (listener->handle == INVALID_HANDLE_VALUE) {
        listener->handle = create_instance(listener->name, false);
    }
    if (listener->handle == INVALID_HANDLE_VALUE || listener->is_waiting) {
        return;
    }
    prepare(listener, &listener->in);
    BOOL started = ConnectNamedPipe(listener->handle, &listener->in.overlapped);
    begin(&listener->in, started);
    listener->is_waiting = true; /* also a client that has connected, or left, by now */
}

struct plat_pipe *plat_pipe_listen(const char *name, struct error *err)
{
    wchar_t *path = path_of(name, err);
    struct plat_pipe *listener = path ? make(INVALID_HANDLE_VALUE) : NULL;
    if (!listener) {
        if (path) {
            free(path);
            error_set(err, ERR_MEMORY, "out of memory");
        }
        return NULL;
    }
    listener->name = path;
    listener->handle = create_instance(path, true);
    if (listener->handle == INVALID_HANDLE_VALUE) {
        char what[MAX_NAME_BYTES + 16];
        DWORD code = GetLastError();
        snprintf(what, sizeof(what), "pipe %s", name);
        plat_wide_error(err, code, what, "cannot listen there");
        plat_pipe_close(listener);
        return NULL;
    }
    wait_for_client(listener);
    return listener;
}

struct plat_pipe *plat_pipe_accept(struct plat_pipe *listener)
{
    wait_for_client(listener);
    look(listener, &listener->in);
    if (!listener->is_waiting || listener->in.is_pending) {
        return NULL;
    }
    struct plat_pipe *client = make(listener->handle);
    if (!client) {
        return NULL; /* the client keeps waiting */
    }
    listener->handle = INVALID_HANDLE_VALUE;
    listener->is_waiting = false;
    wait_for_client(listener);
    return client;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* SECURITY_IDENTIFICATION: the agent can see the account of the client, but cannot act in its
 * name. */
static HANDLE open_pipe(const wchar_t *path)
{
    return CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
        FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);
}

struct plat_pipe *plat_pipe_connect(const char *name, unsigned timeout_ms, struct error *err)
{
    wchar_t *path = path_of(name, err);
    if (!path) {
        return NULL;
    }
    ULONGLONG until = GetTickCount64() + timeout_ms;
    HANDLE handle = open_pipe(path);
    while (handle == INVALID_HANDLE_VALUE && GetLastError() == ERROR_PIPE_BUSY &&
           GetTickCount64() < until) {
        WaitNamedPipeW(path, 100);
        handle = open_pipe(path);
    }
    DWORD code = GetLastError();
    free(path);
    struct plat_pipe *pipe = handle != INVALID_HANDLE_VALUE ? make(handle) : NULL;
    if (handle == INVALID_HANDLE_VALUE) {
        plat_wide_error(err, code, "the agent", "cannot connect");
        if (err && code == ERROR_FILE_NOT_FOUND) {
            err->code = ERR_MISSING;
        }
    } else if (!pipe) {
        CloseHandle(handle);
        error_set(err, ERR_MEMORY, "out of memory");
    }
    return pipe;
}

/* ---- reading and writing --------------------------------------------------------------------- */

static bool has_read(const struct plat_pipe *pipe)
{
    return !pipe->in.is_pending && pipe->taken < pipe->in.size;
}

/* Begin to read, unless a read is in progress or bytes are left. */
static void read_on(struct plat_pipe *pipe)
{
    look(pipe, &pipe->in);
    if (pipe->in.is_pending || pipe->in.is_over || has_read(pipe)) {
        return;
    }
    prepare(pipe, &pipe->in);
    pipe->taken = 0;
    BOOL started = ReadFile(pipe->handle, pipe->read, READ_BYTES, NULL, &pipe->in.overlapped);
    begin(&pipe->in, started);
    look(pipe, &pipe->in);
}

enum plat_socket_result plat_pipe_read(
    struct plat_pipe *pipe, void *data, size_t size, size_t *ret_read)
{
    *ret_read = 0;
    read_on(pipe);
    if (has_read(pipe)) {
        size_t left = pipe->in.size - pipe->taken;
        size_t count = left < size ? left : size;
        memcpy(data, pipe->read + pipe->taken, count);
        pipe->taken += count;
        *ret_read = count;
        return PLAT_SOCKET_DONE;
    }
    return pipe->in.is_over ? PLAT_SOCKET_END : PLAT_SOCKET_LATER;
}

bool plat_pipe_has_output(struct plat_pipe *pipe)
{
    look(pipe, &pipe->out);
    return pipe->out.is_pending;
}

enum plat_socket_result plat_pipe_write(
    struct plat_pipe *pipe, struct span bytes, size_t *ret_written)
{
    *ret_written = 0;
    if (plat_pipe_has_output(pipe)) {
        return PLAT_SOCKET_LATER;
    }
    if (!bytes.size || pipe->out.is_over) {
        return pipe->out.is_over ? PLAT_SOCKET_END : PLAT_SOCKET_DONE;
    }
    size_t count = bytes.size < BUFFER_BYTES ? bytes.size : BUFFER_BYTES;
    memcpy(pipe->write, bytes.data, count);
    prepare(pipe, &pipe->out);
    BOOL started = WriteFile(pipe->handle, pipe->write, (DWORD)count, NULL, &pipe->out.overlapped);
    begin(&pipe->out, started);
    look(pipe, &pipe->out);
    *ret_written = pipe->out.is_over ? 0 : count;
    return pipe->out.is_over ? PLAT_SOCKET_END : PLAT_SOCKET_DONE;
}

void plat_pipe_look(struct plat_pipe *pipe, bool reads, bool *ret_read, bool *ret_write)
{
    ResetEvent(pipe->event);
    if (pipe->name) {
        wait_for_client(pipe);
        look(pipe, &pipe->in);
        *ret_read = pipe->is_waiting && !pipe->in.is_pending;
        *ret_write = false;
        return;
    }
    if (reads) {
        read_on(pipe);
    }
    *ret_read = has_read(pipe) || pipe->in.is_over;
    *ret_write = !plat_pipe_has_output(pipe);
}

HANDLE plat_pipe_event(const struct plat_pipe *pipe)
{
    return pipe->event;
}
