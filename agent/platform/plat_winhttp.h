#ifndef ETWSHIP_PLATFORM_PLAT_WINHTTP_H
#define ETWSHIP_PLATFORM_PLAT_WINHTTP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Proxy settings from WinHTTP of Windows: its functions as a table, so that tests can replace them,
 * and its structures (winhttp.h). Texts are UTF-16 with NUL; those in results are freed with
 * `free`.
 */

/* WINHTTP_PROXY_INFO */
struct plat_winhttp_named {
    uint32_t access;
    uint16_t *proxy;
    uint16_t *bypass;
};

enum { PLAT_WINHTTP_NO_PROXY = 1, PLAT_WINHTTP_NAMED_PROXY = 3 }; /* values of access */

/* WINHTTP_CURRENT_USER_IE_PROXY_CONFIG */
struct plat_winhttp_user {
    int32_t detects;
    uint16_t *script;
    uint16_t *proxy;
    uint16_t *bypass;
};

/* WINHTTP_AUTOPROXY_OPTIONS */
struct plat_winhttp_auto {
    uint32_t flags;
    uint32_t detect_flags;
    const uint16_t *script;
    void *reserved;
    uint32_t reserved_too;
    int32_t logs_in;
};

enum {
    PLAT_WINHTTP_DETECT = 1, /* flags: WPAD */
    PLAT_WINHTTP_SCRIPT = 2, /* flags: the named script */
    PLAT_WINHTTP_DHCP = 1,   /* detect_flags */
    PLAT_WINHTTP_DNS = 2,
    PLAT_WINHTTP_NO_MEMORY = 8,         /* ERROR_NOT_ENOUGH_MEMORY */
    PLAT_WINHTTP_TIMEOUT = 12002,       /* ERROR_WINHTTP_TIMEOUT */
    PLAT_WINHTTP_LOGIN_FAILURE = 12015, /* ERROR_WINHTTP_LOGIN_FAILURE */
};

struct plat_winhttp {
    void *(*open)(const uint16_t *agent, uint32_t access, const uint16_t *proxy,
        const uint16_t *bypass, uint32_t flags);
    int32_t (*close)(void *session);
    int32_t (*set_timeouts)(
        void *session, int resolve_ms, int connect_ms, int send_ms, int receive_ms);
    int32_t (*get_default)(struct plat_winhttp_named *ret_named);
    int32_t (*get_user)(struct plat_winhttp_user *ret_user);
    int32_t (*get_for_url)(void *session, const uint16_t *url, struct plat_winhttp_auto *how,
        struct plat_winhttp_named *ret_named);
    void *(*free)(void *text);
    uint32_t (*last_error)(void);
};

/* Find the functions. False: the system has no WinHTTP. */
bool plat_winhttp_load(struct plat_winhttp *ret_winhttp);

#endif
