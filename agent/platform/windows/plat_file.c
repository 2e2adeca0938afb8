#include "platform/windows/plat_file_own.h"

#include <stdlib.h>
#include <winioctl.h>

#include "platform/windows/plat_wide.h"

enum { MAX_CALL_BYTES = 1 << 30 };

static bool fail(struct error *err, const char *name, const char *what)
{
    return plat_wide_error(err, GetLastError(), name, what);
}

static void set_name(struct plat_file *file, const char *path)
{
    size_t size = strlen(path);
    if (size < sizeof(file->name)) {
        memcpy(file->name, path, size + 1);
        return;
    }
    size_t kept = sizeof(file->name) - sizeof("...");
    memcpy(file->name, "...", 3);
    memcpy(file->name + 3, path + size - kept, kept + 1);
}

static bool writes(enum plat_file_mode mode)
{
    return mode != PLAT_FILE_READ && mode != PLAT_FILE_READ_ITSELF;
}

/* Other programs may read, write and delete the open file: it may still be recorded to. */
static HANDLE open_handle(const wchar_t *path, enum plat_file_mode mode, DWORD flags)
{
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof(attributes)};
    static const struct {
        DWORD access;
        DWORD disposition;
    } modes[] = {
        [PLAT_FILE_READ] = {GENERIC_READ, OPEN_EXISTING},
        /* with FILE_APPEND_DATA alone it could not be truncated */
        [PLAT_FILE_APPEND] = {FILE_GENERIC_WRITE | FILE_READ_ATTRIBUTES, OPEN_ALWAYS},
        /* truncated after check_own */
        [PLAT_FILE_CREATE] = {GENERIC_WRITE | FILE_READ_ATTRIBUTES, OPEN_ALWAYS},
        [PLAT_FILE_CREATE_NEW] = {GENERIC_WRITE | FILE_READ_ATTRIBUTES, CREATE_NEW},
        [PLAT_FILE_CREATE_PRIVATE] = {GENERIC_WRITE | FILE_READ_ATTRIBUTES, CREATE_NEW},
        [PLAT_FILE_READ_ITSELF] = {GENERIC_READ, OPEN_EXISTING},
    };
    DWORD share = FILE_SHARE_READ | FILE_SHARE_DELETE | (writes(mode) ? 0 : FILE_SHARE_WRITE);
    if (mode == PLAT_FILE_CREATE_PRIVATE) {
        attributes.lpSecurityDescriptor = plat_file_private();
        if (!attributes.lpSecurityDescriptor) {
            SetLastError(ERROR_INVALID_OWNER);
            return INVALID_HANDLE_VALUE;
        }
    }
    HANDLE handle = CreateFileW(
        path, modes[mode].access, share, &attributes, modes[mode].disposition, flags, NULL);
    DWORD code = GetLastError();
    LocalFree(attributes.lpSecurityDescriptor);
    SetLastError(code);
    return handle;
}

struct plat_file *plat_file_wrap(HANDLE handle, const char *name, struct error *err)
{
    struct plat_file *file = calloc(1, sizeof(*file));
    if (!file) {
        CloseHandle(handle);
        error_set(err, ERR_MEMORY, "%s: out of memory", name);
        return NULL;
    }
    file->handle = handle;
    set_name(file, name);
    return file;
}

enum link_kind { LINK_NONE, LINK_NO_NAME, LINK_TO_ANOTHER };

/* True kind of an opened link. Files stored in other ways (deduplicated, in a cloud) have reparse
 * points, too, but are no links. */
static enum link_kind link_kind_of(HANDLE handle)
{
    FILE_ATTRIBUTE_TAG_INFO info;
    if (!GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &info, sizeof(info)) ||
        !(info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)) {
        return LINK_NONE;
    }
    return IsReparseTagNameSurrogate(info.ReparseTag) ? LINK_TO_ANOTHER : LINK_NO_NAME;
}

static bool is_same_file(HANDLE a, HANDLE b)
{
    BY_HANDLE_FILE_INFORMATION x;
    BY_HANDLE_FILE_INFORMATION y;
    return GetFileInformationByHandle(a, &x) && GetFileInformationByHandle(b, &y) &&
           x.dwVolumeSerialNumber == y.dwVolumeSerialNumber &&
           x.nFileIndexHigh == y.nFileIndexHigh && x.nFileIndexLow == y.nFileIndexLow;
}

/* Open a file without following a link: open it as it is, examine it, and if it must be opened
 * again, compare the two. */
static HANDLE open_own(const wchar_t *path, enum plat_file_mode mode, bool *ret_is_link)
{
    HANDLE handle = open_handle(path, mode, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT);
    enum link_kind kind = handle == INVALID_HANDLE_VALUE ? LINK_NONE : link_kind_of(handle);
    *ret_is_link = kind == LINK_TO_ANOTHER;
    if (kind == LINK_NONE) {
        return handle;
    }
    if (kind == LINK_TO_ANOTHER) {
        CloseHandle(handle);
        return INVALID_HANDLE_VALUE;
    }
    /* two handles that write cannot share: the first is closed, and its file opened again */
    HANDLE looker = ReOpenFile(handle, FILE_READ_ATTRIBUTES,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, FILE_FLAG_OPEN_REPARSE_POINT);
    CloseHandle(handle);
    handle = open_handle(path, mode, FILE_ATTRIBUTE_NORMAL);
    if (handle != INVALID_HANDLE_VALUE &&
        (looker == INVALID_HANDLE_VALUE || !is_same_file(handle, looker))) {
        CloseHandle(handle);
        handle = INVALID_HANDLE_VALUE;
        *ret_is_link = true;
    }
    if (looker != INVALID_HANDLE_VALUE) {
        CloseHandle(looker);
    }
    return handle;
}

/* Check the file itself before it is used. */
static bool check_own(HANDLE handle, const char *path, enum plat_file_mode mode, struct error *err)
{
    BY_HANDLE_FILE_INFORMATION info;
    bool is_file = GetFileType(handle) == FILE_TYPE_DISK &&
                   GetFileInformationByHandle(handle, &info);
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = 0};
    if (is_file && info.nNumberOfLinks > 1) {
        return error_set(err, ERR_CONFIG,
            "%s: refused because the file has another name (a hard link), which "
            "may belong to another user. remove one of the names",
            path);
    }
    return mode != PLAT_FILE_CREATE || !is_file ||
           SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof(end)) ||
           fail(err, path, "cannot be truncated");
}

/* Report why there is no file. */
static void fail_open(
    DWORD code, const char *path, enum plat_file_mode mode, bool is_link, struct error *err)
{
    if (is_link) {
        error_set(err, ERR_CONFIG,
            "%s: is a link, which is not followed%s because another user may have put it "
            "there. name the file itself, or remove the link",
            path, writes(mode) ? " for writing" : "");
    } else if (writes(mode) && code == ERROR_FILE_EXISTS) {
        error_set(err, ERR_BUSY, "%s: already exists", path);
    } else {
        plat_wide_error(err, code, path, writes(mode) ? "cannot open for writing" : "cannot open");
    }
}

struct plat_file *plat_file_open(const char *path, enum plat_file_mode mode, struct error *err)
{
    /* CreateFileW would report "access denied" */
    if (plat_path_kind(path) == PLAT_PATH_DIR) {
        error_set(err, ERR_CONFIG, "%s: is a folder, not a file", path);
        return NULL;
    }
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return NULL;
    }
    bool is_link = false;
    HANDLE handle = mode == PLAT_FILE_READ ? open_handle(wide, mode, FILE_ATTRIBUTE_NORMAL)
                                           : open_own(wide, mode, &is_link);
    DWORD code = GetLastError();
    free(wide);
    if (handle == INVALID_HANDLE_VALUE) {
        fail_open(code, path, mode, is_link, err);
        return NULL;
    }
    if (mode != PLAT_FILE_READ && !check_own(handle, path, mode, err)) {
        CloseHandle(handle);
        return NULL;
    }
    if (!writes(mode) && GetFileType(handle) != FILE_TYPE_DISK) {
        CloseHandle(handle);
        error_set(err, ERR_CONFIG,
            "%s: is a device or pipe; only ordinary files can be read. save it to a file first",
            path);
        return NULL;
    }
    struct plat_file *file = plat_file_wrap(handle, path, err);
    if (file) {
        file->appends = mode == PLAT_FILE_APPEND;
    }
    return file;
}

static struct plat_file stdout_file = {.handle = NULL, .name = "standard output"};

struct plat_file *plat_file_stdout(void)
{
    return &stdout_file;
}

static HANDLE handle_of(const struct plat_file *file)
{
    return file == &stdout_file ? GetStdHandle(STD_OUTPUT_HANDLE) : file->handle;
}

void plat_file_close(struct plat_file *file)
{
    if (!file || file == &stdout_file) {
        return;
    }
    CloseHandle(file->handle);
    free(file);
}

bool plat_file_size(struct plat_file *file, uint64_t *ret_bytes, struct error *err)
{
    LARGE_INTEGER size;
    if (!GetFileSizeEx(handle_of(file), &size)) {
        return fail(err, file->name, "cannot get the size");
    }
    *ret_bytes = (uint64_t)size.QuadPart;
    return true;
}

uint64_t plat_file_next_data(struct plat_file *file, uint64_t offset)
{
    LARGE_INTEGER size;
    if (!GetFileSizeEx(handle_of(file), &size) || offset >= (uint64_t)size.QuadPart) {
        return offset;
    }
    FILE_ALLOCATED_RANGE_BUFFER asked = {.FileOffset.QuadPart = (LONGLONG)offset,
        .Length.QuadPart = size.QuadPart - (LONGLONG)offset};
    FILE_ALLOCATED_RANGE_BUFFER first = {.FileOffset.QuadPart = size.QuadPart};
    DWORD got;
    bool ok = DeviceIoControl(handle_of(file), FSCTL_QUERY_ALLOCATED_RANGES, &asked, sizeof(asked),
                  &first, sizeof(first), &got, NULL) ||
              GetLastError() == ERROR_MORE_DATA;
    uint64_t data = (uint64_t)first.FileOffset.QuadPart;
    return ok && data > offset ? data : offset;
}

HANDLE plat_file_look(const char *path, DWORD flags)
{
    wchar_t *wide = plat_wide_path(path, NULL);
    HANDLE named = wide ? CreateFileW(wide, FILE_READ_ATTRIBUTES,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, flags, NULL)
                        : INVALID_HANDLE_VALUE;
    free(wide);
    return named;
}

bool plat_file_is_at(struct plat_file *file, const char *path)
{
    HANDLE named = plat_file_look(path, FILE_ATTRIBUTE_NORMAL);
    bool same = named != INVALID_HANDLE_VALUE && is_same_file(handle_of(file), named);
    if (named != INVALID_HANDLE_VALUE) {
        CloseHandle(named);
    }
    return same;
}

static bool id_of(HANDLE handle, struct plat_file_id *ret_id)
{
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileType(handle) != FILE_TYPE_DISK || !GetFileInformationByHandle(handle, &info) ||
        (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)) {
        return false;
    }
    /* the index contains a use counter, so no later file has it; the creation time is less
     * reliable, because a new file inherits that of a file with its name deleted seconds before */
    ret_id->file = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    ret_id->born = 0;
    return true;
}

bool plat_file_id(struct plat_file *file, struct plat_file_id *ret_id)
{
    return id_of(handle_of(file), ret_id);
}

bool plat_file_id_at(const char *path, struct plat_file_id *ret_id)
{
    HANDLE named = plat_file_look(path, FILE_ATTRIBUTE_NORMAL);
    if (named == INVALID_HANDLE_VALUE) {
        return false;
    }
    bool good = id_of(named, ret_id);
    CloseHandle(named);
    return good;
}

bool plat_file_lock(struct plat_file *file, struct error *err)
{
    (void)file;
    (void)err;
    return true; /* opening it for writing would have failed; see open_handle */
}

bool plat_file_read_at(struct plat_file *file, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err)
{
    uint64_t room = offset < INT64_MAX ? INT64_MAX - offset : 0;
    size = size < room ? size : (size_t)room;
    size_t done = 0;
    while (done < size) {
        size_t want = size - done < MAX_CALL_BYTES ? size - done : MAX_CALL_BYTES;
        OVERLAPPED at = {
            .Offset = (DWORD)(offset + done), .OffsetHigh = (DWORD)((offset + done) >> 32)};
        DWORD got = 0;
        if (!ReadFile(handle_of(file), (uint8_t *)data + done, (DWORD)want, &got, &at)) {
            if (GetLastError() == ERROR_HANDLE_EOF) {
                break;
            }
            return fail(err, file->name, "cannot read");
        }
        if (got == 0) {
            break;
        }
        done += got;
    }
    *ret_read = done;
    return true;
}

static bool write_failed(const struct plat_file *file, struct error *err)
{
    DWORD code = GetLastError();
    if (code != ERROR_BROKEN_PIPE && code != ERROR_NO_DATA && code != ERROR_PIPE_NOT_CONNECTED) {
        return plat_wide_error(err, code, file->name, "cannot write");
    }
    error_set(err, ERR_STOPPED, "%s: closed by its reader", file->name);
    if (err) {
        err->os_code = code;
    }
    return false;
}

bool plat_file_write(struct plat_file *file, struct span bytes, struct error *err)
{
    while (bytes.size) {
        DWORD want = (DWORD)(bytes.size < MAX_CALL_BYTES ? bytes.size : MAX_CALL_BYTES);
        DWORD written = 0;
        OVERLAPPED end = {.Offset = 0xffffffff, .OffsetHigh = 0xffffffff}; /* WriteFile: append */
        if (!WriteFile(handle_of(file), bytes.data, want, &written, file->appends ? &end : NULL)) {
            return write_failed(file, err);
        }
        bytes = span_from(bytes, written);
    }
    return true;
}

/* WriteFileGather needs whole pages and no cache. */
bool plat_file_write_pieces(
    struct plat_file *file, const struct span *pieces, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!plat_file_write(file, pieces[i], err)) {
            return false;
        }
    }
    return true;
}

static struct plat_file *open_standard(DWORD which, const char *name, struct error *err)
{
    struct plat_file *file = calloc(1, sizeof(*file));
    if (!file) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    set_name(file, name);
    HANDLE self = GetCurrentProcess();
    HANDLE own = GetStdHandle(which);
    own = own == INVALID_HANDLE_VALUE ? NULL : own; /* it would be this process */
    if (!DuplicateHandle(self, own, self, &file->handle, 0, FALSE, DUPLICATE_SAME_ACCESS)) {
        fail(err, file->name, "cannot be written to");
        free(file);
        return NULL;
    }
    return file;
}

struct plat_file *plat_file_stdout_open(struct error *err)
{
    return open_standard(STD_OUTPUT_HANDLE, stdout_file.name, err);
}

struct plat_file *plat_file_stderr_open(struct error *err)
{
    return open_standard(STD_ERROR_HANDLE, "standard error", err);
}

/* Windows cannot report whether a pipe or console accepts more data: it is written to in small
 * pieces, and a write that blocks ends with the process. */
bool plat_file_write_some(struct plat_file *file, struct span bytes, unsigned timeout_ms,
    size_t *ret_written, struct error *err)
{
    enum { PIECE_BYTES = 4096 };
    ULONGLONG end = GetTickCount64() + timeout_ms;
    *ret_written = 0;
    do {
        DWORD want = (DWORD)(bytes.size < PIECE_BYTES ? bytes.size : PIECE_BYTES);
        /* older consoles do not join parts of a character */
        while (want < bytes.size && want > 1 && (bytes.data[want] & 0xc0) == 0x80) {
            want--;
        }
        DWORD written = 0;
        if (want && !WriteFile(handle_of(file), bytes.data, want, &written, NULL)) {
            return write_failed(file, err);
        }
        bytes = span_from(bytes, written);
        *ret_written += written;
    } while (bytes.size && GetTickCount64() < end);
    return true;
}

bool plat_file_sync(struct plat_file *file, struct error *err)
{
    HANDLE handle = handle_of(file);
    if (GetFileType(handle) != FILE_TYPE_DISK || FlushFileBuffers(handle)) {
        return true; /* a pipe or console has no disk */
    }
    return fail(err, file->name, "cannot write to the disk");
}

bool plat_file_truncate(struct plat_file *file, uint64_t bytes, struct error *err)
{
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = (LONGLONG)bytes};
    return SetFileInformationByHandle(handle_of(file), FileEndOfFileInfo, &end, sizeof(end)) ||
           fail(err, file->name, "cannot be truncated");
}
