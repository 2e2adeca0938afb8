#ifndef ETWSHIP_PLATFORM_PLAT_HOST_H
#define ETWSHIP_PLATFORM_PLAT_HOST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Facts about this machine: texts in UTF-8, empty if unknown. On Linux only the name, because it
 * has no events of its own.
 *
 * Source: GetComputerNameEx, RtlGetVersion, GetNativeSystemInfo, GetAdaptersAddresses on
 * learn.microsoft.com; values of HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion and of
 * ...\Cryptography (MachineGuid), which Windows programs commonly show.
 */
enum {
    PLAT_HOST_NAME_BYTES = 256,
    PLAT_HOST_DOMAIN_BYTES = 256 * 3, /* DNS names have at most 255 units */
    PLAT_HOST_TEXT_BYTES = 128,
    PLAT_HOST_IP_BYTES = 46, /* INET6_ADDRSTRLEN */
    PLAT_HOST_IPS = 32,      /* further ones are left out */
    PLAT_HOST_NO_ARCHITECTURE = 0xffff,
};

struct plat_host {
    char name[PLAT_HOST_NAME_BYTES];
    char fqdn[PLAT_HOST_DOMAIN_BYTES];   /* empty without a DNS domain */
    char domain[PLAT_HOST_DOMAIN_BYTES]; /* DNS domain */
    char id[PLAT_HOST_TEXT_BYTES];       /* a GUID, created when Windows was installed */
    char product[PLAT_HOST_TEXT_BYTES];  /* "Windows 10 Pro", also on Windows 11 */
    uint32_t major;                      /* version 10, 0, 22631, with 4317 for the updates */
    uint32_t minor;
    uint32_t build;        /* 0: version unknown */
    uint32_t revision;     /* 0: unknown */
    uint16_t architecture; /* PROCESSOR_ARCHITECTURE_* of the machine, not the process */
    char ips[PLAT_HOST_IPS][PLAT_HOST_IP_BYTES]; /* without loopback and link-local addresses */
    size_t ip_count;
};

/* Queries only this machine. */
void plat_host_query(struct plat_host *ret_host);

#endif
