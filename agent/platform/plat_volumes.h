#ifndef ETWSHIP_PLATFORM_PLAT_VOLUMES_H
#define ETWSHIP_PLATFORM_PLAT_VOLUMES_H

#include "base/span.h"

/*
 * What the kernel's names of volumes are called by people: a path of the kernel that begins with ${device}
 * and goes on with a backslash, or ends there, begins with ${place} instead.
 *
 *     \Device\HarddiskVolume3    C:
 *     \Device\HarddiskVolume5    C:\mounted
 *     \Device\Mup                \            (\\server\share\…)
 *     \SystemRoot                C:\Windows
 *
 * Calls ${each} once for each of this machine, drives first; a volume that lies in several places is
 * told once, with the drive, or else the folder that the system names first. No volume is read, so a dead
 * one is no reason to wait. Nothing where this system has no such names (Linux).
 *
 * Source: QueryDosDevice, FindFirstVolume, GetVolumePathNamesForVolumeName on learn.microsoft.com.
 */
void plat_volumes_each(void (*each)(void *self, struct span device, struct span place), void *self);

#endif
