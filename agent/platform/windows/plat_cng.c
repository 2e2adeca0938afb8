#include "platform/windows/plat_cng.h"

#include <string.h>
#include <windows.h>

#include "platform/windows/plat_wide.h"

bool plat_cng_find(const struct plat_cng_function *functions, size_t count, struct error *err)
{
    HMODULE library = LoadLibraryExW(L"bcrypt.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    for (size_t i = 0; i < count; i++) {
        FARPROC found = library ? GetProcAddress(library, functions[i].name) : NULL;
        if (!found) {
            return plat_wide_error(
                err, GetLastError(), functions[i].name, "cannot use Windows' cryptography");
        }
        memcpy(functions[i].to, &found, sizeof(found));
    }
    return true;
}
