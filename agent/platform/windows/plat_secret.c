#include "platform/plat_secret.h"

#include <windows.h>
/* After windows.h, on which they depend. */
#include <dpapi.h>
#include <wincrypt.h>

#include "platform/windows/plat_wide.h"

/* Found at run time: crypt32.dll is not one of the "known DLLs", so Windows would first search the
 * program's folder. Both functions have equal parameters except the second. */
typedef BOOL WINAPI protect_fn(DATA_BLOB *in, const void *description, DATA_BLOB *entropy,
    void *reserved, CRYPTPROTECT_PROMPTSTRUCT *prompt, DWORD flags, DATA_BLOB *out);

static protect_fn *find(const char *name, struct error *err)
{
    protect_fn *function = NULL;
    HMODULE crypt32 = LoadLibraryExW(L"crypt32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC found = crypt32 ? GetProcAddress(crypt32, name) : NULL;
    if (!found) {
        plat_wide_error(err, GetLastError(), name, "is missing");
    }
    memcpy(&function, &found, sizeof(function));
    return function;
}

static bool call(
    const char *name, const char *doing, struct span in, struct buf *out, struct error *err)
{
    protect_fn *function = find(name, err);
    DATA_BLOB from = {.cbData = (DWORD)in.size, .pbData = (BYTE *)in.data};
    DATA_BLOB to = {.pbData = NULL};
    if (!function) {
        return false;
    }
    if (in.size > UINT32_MAX) {
        return error_set(err, ERR_LIMIT, "the secret exceeds the limit of DPAPI");
    }
    if (!function(&from, NULL, NULL, NULL, NULL,
            CRYPTPROTECT_UI_FORBIDDEN | CRYPTPROTECT_LOCAL_MACHINE, &to)) {
        return plat_wide_error(err, GetLastError(), "DPAPI", doing);
    }
    buf_add(out, to.pbData, to.cbData);
    SecureZeroMemory(to.pbData, to.cbData);
    LocalFree(to.pbData);
    return !out->failed || error_set(err, ERR_LIMIT, "the secret is too long");
}

bool plat_secret_protect(struct span secret, struct buf *out, struct error *err)
{
    return call("CryptProtectData", "cannot protect it", secret, out, err);
}

bool plat_secret_unprotect(struct span bytes, struct buf *out, struct error *err)
{
    return call("CryptUnprotectData", "cannot read it", bytes, out, err);
}

/* Maximum of units in a console line. */
enum { LINE_UNITS = 4096, UTF8_PER_UNIT = 3 };

static bool add_line(const wchar_t *line, DWORD units, struct buf *out, struct error *err)
{
    char text[LINE_UNITS * UTF8_PER_UNIT];
    if (units == LINE_UNITS && line[units - 1] != L'\n' && line[units - 1] != L'\r') {
        return error_set(err, ERR_LIMIT, "the secret is longer than a console line. pipe it in");
    }
    while (units && (line[units - 1] == L'\n' || line[units - 1] == L'\r')) {
        units--;
    }
    int size = units ? WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, line, (int)units, text,
                           sizeof(text), NULL, NULL)
                     : 0;
    if (units && size == 0) {
        return plat_wide_error(err, GetLastError(), "the console", "cannot be read");
    }
    buf_add(out, text, (size_t)size);
    SecureZeroMemory(text, sizeof(text));
    return true;
}

bool plat_secret_ask(const char *prompt, struct buf *out, struct error *err)
{
    HANDLE console = GetStdHandle(STD_INPUT_HANDLE);
    HANDLE screen = GetStdHandle(STD_ERROR_HANDLE);
    wchar_t line[LINE_UNITS];
    DWORD units = 0;
    DWORD written;
    DWORD mode;
    if (!GetConsoleMode(console, &mode)) {
        return plat_wide_error(err, GetLastError(), "standard input", "is not a console");
    }
    if (!SetConsoleMode(console, (mode & ~(DWORD)ENABLE_ECHO_INPUT) | ENABLE_LINE_INPUT)) {
        return plat_wide_error(err, GetLastError(), "the console", "cannot hide what is typed");
    }
    WriteFile(screen, prompt, (DWORD)strlen(prompt), &written, NULL);
    BOOL read = ReadConsoleW(console, line, LINE_UNITS, &units, NULL);
    DWORD code = GetLastError();
    SetConsoleMode(console, mode);
    WriteFile(screen, "\r\n", 2, &written, NULL);
    bool good = read ? add_line(line, units, out, err)
                     : plat_wide_error(err, code, "the console", "cannot be read");
    SecureZeroMemory(line, sizeof(line));
    return good;
}
