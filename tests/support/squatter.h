#ifndef ETWSHIP_TESTS_SUPPORT_SQUATTER_H
#define ETWSHIP_TESTS_SUPPORT_SQUATTER_H

#include <windows.h>

#include <sddl.h>
#include <stdio.h>

#include "base/guid.h"

/* An account without rights, of a domain, that has made the object of a session (etw_hold.h) before
 * etwship. It lets all accounts see that, or none. */
#define SQUATTER_SID "S-1-5-21-1-2-3-1001"

static inline HANDLE squatter_take(const char *session, bool hides)
{
    struct guid guid = guid_from_name(span_text(session));
    char name[64];
    char text[GUID_TEXT_SIZE] = {0};
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof(attributes)};
    guid_write(&guid, text);
    snprintf(name, sizeof(name), "Global\\etwship-session-%.36s", text);
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorA(
            hides ? "O:" SQUATTER_SID "G:" SQUATTER_SID "D:(A;;GA;;;" SQUATTER_SID ")"
                  : "O:" SQUATTER_SID "G:" SQUATTER_SID "D:(A;;GA;;;WD)",
            SDDL_REVISION_1, &attributes.lpSecurityDescriptor, NULL)) {
        return NULL;
    }
    HANDLE mutex = CreateMutexA(&attributes, FALSE, name);
    LocalFree(attributes.lpSecurityDescriptor);
    return mutex;
}

#endif
