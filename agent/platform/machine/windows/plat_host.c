#include "platform/plat_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Before windows.h, which otherwise includes an older version. */
#include <winsock2.h>

#include <windows.h>
/* After windows.h, on which they depend. */
#include <iphlpapi.h>
#include <ws2tcpip.h>

#include "base/put.h"
#include "platform/plat_system.h"

static bool put_text(const wchar_t *wide, char *text, size_t size)
{
    bool ok = WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)size, NULL, NULL) > 0;
    text[0] = ok ? text[0] : '\0';
    return ok && text[0];
}

static void ask_names(struct plat_host *host)
{
    wchar_t wide[256];
    DWORD units = sizeof(wide) / sizeof(wide[0]);
    plat_host_name(host->name, sizeof(host->name));
    if (!GetComputerNameExW(ComputerNameDnsDomain, wide, &units) ||
        !put_text(wide, host->domain, sizeof(host->domain))) {
        return;
    }
    units = sizeof(wide) / sizeof(wide[0]);
    if (GetComputerNameExW(ComputerNameDnsFullyQualified, wide, &units)) {
        put_text(wide, host->fqdn, sizeof(host->fqdn));
    }
}

/* ---- the registry ---------------------------------------------------------------------------- */

static const wchar_t version_key[] = L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";

static void read_text(const wchar_t *key, const wchar_t *name, char *text, size_t size)
{
    wchar_t wide[PLAT_HOST_TEXT_BYTES];
    DWORD bytes = sizeof(wide);
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY, NULL,
            wide, &bytes) == ERROR_SUCCESS) {
        put_text(wide, text, size);
    }
}

static void ask_registry(struct plat_host *host)
{
    DWORD revision = 0;
    DWORD bytes = sizeof(revision);
    read_text(L"SOFTWARE\\Microsoft\\Cryptography", L"MachineGuid", host->id, sizeof(host->id));
    read_text(version_key, L"ProductName", host->product, sizeof(host->product));
    if (RegGetValueW(HKEY_LOCAL_MACHINE, version_key, L"UBR",
            RRF_RT_REG_DWORD | RRF_SUBKEY_WOW6464KEY, NULL, &revision, &bytes) == ERROR_SUCCESS) {
        host->revision = revision;
    }
}

/* ---- the system ------------------------------------------------------------------------------ */

/* GetVersionEx returns an older version to programs without a manifest. */
typedef LONG WINAPI version_fn(OSVERSIONINFOW *version);

static void ask_version(struct plat_host *host)
{
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof(version)};
    version_fn *ask = NULL;
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    FARPROC found = ntdll ? GetProcAddress(ntdll, "RtlGetVersion") : NULL;
    memcpy(&ask, &found, sizeof(ask));
    if (ask && ask(&version) >= 0) {
        host->major = version.dwMajorVersion;
        host->minor = version.dwMinorVersion;
        host->build = version.dwBuildNumber;
    }
}

/* The machine that runs the kernel: an emulated process otherwise sees the machine it was compiled
 * for. */
typedef BOOL WINAPI machine_fn(HANDLE process, USHORT *ret_process, USHORT *ret_machine);

static uint16_t ask_architecture(void)
{
    SYSTEM_INFO info;
    USHORT process;
    USHORT machine = 0;
    machine_fn *ask = NULL;
    HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
    FARPROC found = kernel ? GetProcAddress(kernel, "IsWow64Process2") : NULL;
    memcpy(&ask, &found, sizeof(ask));
    if (ask && ask(GetCurrentProcess(), &process, &machine) &&
        machine == IMAGE_FILE_MACHINE_ARM64) {
        return PROCESSOR_ARCHITECTURE_ARM64;
    }
    GetNativeSystemInfo(&info);
    return info.wProcessorArchitecture;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Found at run time, because iphlpapi.dll is not one of the "known DLLs". */
typedef ULONG WINAPI adapters_fn(
    ULONG family, ULONG flags, void *reserved, IP_ADAPTER_ADDRESSES *adapters, ULONG *size);

static adapters_fn *find_adapters(void)
{
    adapters_fn *ask = NULL;
    HMODULE helper = LoadLibraryExW(L"iphlpapi.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC found = helper ? GetProcAddress(helper, "GetAdaptersAddresses") : NULL;
    memcpy(&ask, &found, sizeof(ask));
    return ask;
}

/* The caller frees it. */
static IP_ADAPTER_ADDRESSES *ask_adapters(void)
{
    enum { TRIES = 4, FIRST_BYTES = 32 * 1024 };
    adapters_fn *ask = find_adapters();
    ULONG size = FIRST_BYTES;
    for (int i = 0; ask && i < TRIES; i++) {
        IP_ADAPTER_ADDRESSES *adapters = malloc(size);
        ULONG code = adapters ? ask(AF_UNSPEC,
                                    GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST |
                                        GAA_FLAG_SKIP_DNS_SERVER,
                                    NULL, adapters, &size)
                              : ERROR_OUTOFMEMORY;
        if (code == ERROR_SUCCESS) {
            return adapters;
        }
        free(adapters);
        if (code != ERROR_BUFFER_OVERFLOW) { /* else ${size} is the required size */
            return NULL;
        }
    }
    return NULL;
}

static void add_ip(struct plat_host *host, const SOCKET_ADDRESS *address)
{
    const struct sockaddr *socket = address->lpSockaddr;
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    if (socket->sa_family == AF_INET &&
        address->iSockaddrLength >= (INT)sizeof(struct sockaddr_in)) {
        struct sockaddr_in ip;
        memcpy(&ip, socket, sizeof(ip));
        end = put_ipv4(text, (const uint8_t *)&ip.sin_addr);
    } else if (socket->sa_family == AF_INET6 &&
               address->iSockaddrLength >= (INT)sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 ip;
        memcpy(&ip, socket, sizeof(ip));
        end = put_ipv6(text, (const uint8_t *)&ip.sin6_addr);
    }
    size_t size = (size_t)(end - text);
    if (size && size < PLAT_HOST_IP_BYTES && host->ip_count < PLAT_HOST_IPS) {
        memcpy(host->ips[host->ip_count], text, size); /* the rest is zero */
        host->ip_count++;
    }
}

static void ask_ips(struct plat_host *host)
{
    IP_ADAPTER_ADDRESSES *adapters = ask_adapters();
    for (const IP_ADAPTER_ADDRESSES *a = adapters; a; a = a->Next) {
        bool counts = a->OperStatus == IfOperStatusUp && a->IfType != IF_TYPE_SOFTWARE_LOOPBACK;
        for (const IP_ADAPTER_UNICAST_ADDRESS *u = a->FirstUnicastAddress; counts && u;
             u = u->Next) {
            add_ip(host, &u->Address);
        }
    }
    free(adapters);
}

void plat_host_query(struct plat_host *ret_host)
{
    *ret_host = (struct plat_host){.architecture = ask_architecture()};
    ask_names(ret_host);
    ask_version(ret_host);
    ask_registry(ret_host);
    ask_ips(ret_host);
}
