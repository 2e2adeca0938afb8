#include "platform/plat_volumes.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include "platform/windows/plat_wide.h"

enum {
    DEVICE_UNITS = 1024,
    PLACES_UNITS = 4096, /* list of one volume */
    VOLUME_UNITS = 64,   /* \\?\Volume{GUID}\ */
    MAX_VOLUMES = 4096,  /* in case the list does not end */
    LETTERS = 26,
};

struct teller {
    void (*each)(void *self, struct span device, struct span place);
    void *self;
    wchar_t device[DEVICE_UNITS];
    wchar_t places[PLACES_UNITS];
};

/* Remove the trailing backslash that roots and folders have here. */
static void tell(struct teller *t, const wchar_t *device, const wchar_t *place)
{
    char *from = plat_wide_to_utf8(device);
    char *to = plat_wide_to_utf8(place);
    if (from && to) {
        struct span end = span_text(to);
        end.size -= end.size > 1 && end.data[end.size - 1] == '\\';
        t->each(t->self, span_text(from), end);
    }
    free(from);
    free(to);
}

/* Network drives are names below \Device\Mup, and those of SUBST are paths (\??\C:\x); neither is a
 * volume. */
static bool is_volume(const wchar_t *device)
{
    return wcsncmp(device, L"\\Device\\", 8) == 0 && !wcschr(device + 8, L'\\') &&
           wcscmp(device + 8, L"Mup") != 0;
}

static void tell_drives(struct teller *t)
{
    for (unsigned i = 0; i < LETTERS; i++) {
        wchar_t drive[] = {(wchar_t)(L'A' + i), L':', 0};
        if (QueryDosDeviceW(drive, t->device, DEVICE_UNITS) && is_volume(t->device)) {
            tell(t, t->device, drive);
        }
    }
}

/* Report the first place of a volume without a drive. */
static void tell_mount(struct teller *t, wchar_t *volume)
{
    enum { PREFIX_UNITS = 4 }; /* \\?\ */
    size_t length = wcslen(volume);
    DWORD units;
    if (length <= PREFIX_UNITS + 1 ||
        !GetVolumePathNamesForVolumeNameW(volume, t->places, PLACES_UNITS - 1, &units) ||
        !t->places[0]) {
        return;
    }
    for (const wchar_t *place = t->places; *place; place += wcslen(place) + 1) {
        if (wcslen(place) <= 3) { /* C:\ */
            return;
        }
    }
    volume[length - 1] = 0;
    if (QueryDosDeviceW(volume + PREFIX_UNITS, t->device, DEVICE_UNITS)) {
        tell(t, t->device, t->places);
    }
}

static void tell_mounts(struct teller *t)
{
    wchar_t volume[VOLUME_UNITS];
    HANDLE search = FindFirstVolumeW(volume, VOLUME_UNITS);
    if (search == INVALID_HANDLE_VALUE) {
        return;
    }
    unsigned seen = 0;
    do {
        tell_mount(t, volume);
    } while (++seen < MAX_VOLUMES && FindNextVolumeW(search, volume, VOLUME_UNITS));
    FindVolumeClose(search);
}

void plat_volumes_each(void (*each)(void *self, struct span device, struct span place), void *self)
{
    struct teller *t = malloc(sizeof(*t));
    if (!t) {
        return;
    }
    t->each = each;
    t->self = self;
    tell_drives(t);
    tell_mounts(t);
    tell(t, L"\\Device\\Mup", L"\\");
    UINT units = GetSystemWindowsDirectoryW(t->places, PLACES_UNITS);
    if (units && units < PLACES_UNITS) {
        tell(t, L"\\SystemRoot", t->places);
    }
    free(t);
}
