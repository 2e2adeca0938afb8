/*
 * The load configuration of the program for ARM64: every DLL is looked for in the system's folder
 * alone, which Windows heeds before any code of the program runs
 * (IMAGE_LOAD_CONFIG_DIRECTORY64.DependentLoadFlags, Windows 10 1607). lld takes the structure by
 * its name.
 */
#include <windows.h>

extern const IMAGE_LOAD_CONFIG_DIRECTORY64 _load_config_used;

const IMAGE_LOAD_CONFIG_DIRECTORY64 _load_config_used = {
    .Size = sizeof(_load_config_used), .DependentLoadFlags = LOAD_LIBRARY_SEARCH_SYSTEM32};
