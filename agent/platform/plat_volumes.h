#ifndef ETWSHIP_PLATFORM_PLAT_VOLUMES_H
#define ETWSHIP_PLATFORM_PLAT_VOLUMES_H

#include "base/span.h"

/*
 * Maps kernel names of volumes to paths for users: a kernel path that begins with ${device},
 * followed by a backslash or its end, begins with ${place} instead.
 *
 *     \Device\HarddiskVolume3    C:
 *     \Device\HarddiskVolume5    C:\mounted
 *     \Device\Mup                \            (\\server\share\…)
 *     \SystemRoot                C:\Windows
 *
 * Calls ${each} once for each volume of this machine, drives first. A volume with several places is
 * reported once, with its drive, or else with the first folder that the system names. Volumes are
 * not read, so unresponsive ones cause no delay. Nothing on systems without such names (Linux).
 *
 * Source: QueryDosDevice, FindFirstVolume, GetVolumePathNamesForVolumeName on learn.microsoft.com.
 */
void plat_volumes_each(void (*each)(void *self, struct span device, struct span place), void *self);

#endif
