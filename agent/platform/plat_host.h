#ifndef ETWSHIP_PLATFORM_PLAT_HOST_H
#define ETWSHIP_PLATFORM_PLAT_HOST_H

#include <stddef.h>
#include <stdint.h>

/*
 * What this machine is: texts in UTF-8, empty where the system does not say. Linux says its name alone, as
 * it has no events of its own.
 *
 * Source: GetComputerNameEx, RtlGetVersion, GetNativeSystemInfo, GetAdaptersAddresses on
 * learn.microsoft.com; the values of HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion and of
 * ...\Cryptography (MachineGuid), which programs for Windows commonly show.
 */
enum {
    PLAT_HOST_NAME_BYTES = 256,
    PLAT_HOST_DOMAIN_BYTES = 256 * 3, /* names of DNS have 255 units at most */
    PLAT_HOST_TEXT_BYTES = 128,
    PLAT_HOST_IP_BYTES = 46, /* INET6_ADDRSTRLEN */
    PLAT_HOST_IPS = 32,      /* more are left out */
    PLAT_HOST_NO_ARCHITECTURE = 0xffff,
};

struct plat_host {
    char name[PLAT_HOST_NAME_BYTES];
    char fqdn[PLAT_HOST_DOMAIN_BYTES];   /* empty where there is no domain of DNS */
    char domain[PLAT_HOST_DOMAIN_BYTES]; /* of DNS */
    char id[PLAT_HOST_TEXT_BYTES];       /* a GUID, made when Windows was installed */
    char product[PLAT_HOST_TEXT_BYTES];  /* "Windows 10 Pro", as Windows 11 says, too */
    uint32_t major;                      /* 10, 0, 22631, and 4317 for the updates. */
    uint32_t minor;
    uint32_t build;        /* 0: unknown, as the others then */
    uint32_t revision;     /* 0: unknown */
    uint16_t architecture; /* PROCESSOR_ARCHITECTURE_*, the machine's, not the process's */
    char ips[PLAT_HOST_IPS][PLAT_HOST_IP_BYTES]; /* none that is for this machine alone */
    size_t ip_count;
};

/* Asks nobody but this machine. */
void plat_host_query(struct plat_host *ret_host);

#endif
