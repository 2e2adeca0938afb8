#ifndef ETWSHIP_TESTS_SUPPORT_WINHTTP_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_WINHTTP_FAKE_H

#include "support/test.h"

#include <stdlib.h>

#include "platform/plat_winhttp.h"

/*
 * A WinHTTP that says what a test wants. Texts are ASCII here; what is handed out is on the heap, and
 * winhttp_fake_check sees that all of it was freed.
 */
struct winhttp_fake {
    const char *machine, *machine_bypass; /* NULL: `no proxy` */
    bool no_user;                         /* the account has no settings */
    bool detects;
    const char *script;
    const char *user, *user_bypass;
    const char *answer;  /* of the script; NULL: none is needed */
    uint32_t error;      /* of the script; 0: it answers */
    bool wants_login;    /* first */
    int asked, sessions; /* how often the script was; open ones */
    char url[256];       /* it was asked for */
    struct plat_winhttp_auto how;
    int texts; /* handed out and not freed */
    uint32_t last_error;
};

static struct winhttp_fake winhttp;

static inline uint16_t *winhttp_fake_text(const char *text)
{
    if (!text) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    uint16_t *units = calloc(size, sizeof(*units));
    assert_non_null(units);
    for (size_t i = 0; i < size; i++) {
        units[i] = (uint8_t)text[i];
    }
    winhttp.texts++;
    return units;
}

static inline void *winhttp_fake_open(const uint16_t *agent, uint32_t access, const uint16_t *proxy,
    const uint16_t *bypass, uint32_t flags)
{
    (void)agent;
    assert_int_equal(access, PLAT_WINHTTP_NO_PROXY);
    assert_true(!proxy && !bypass && !flags);
    winhttp.sessions++;
    return &winhttp;
}

static inline int32_t winhttp_fake_close(void *session)
{
    assert_ptr_equal(session, &winhttp);
    winhttp.sessions--;
    return 1;
}

static inline int32_t winhttp_fake_set_timeouts(void *session, int a, int b, int c, int d)
{
    assert_ptr_equal(session, &winhttp);
    return a > 0 && b > 0 && c > 0 && d > 0;
}

static inline int32_t winhttp_fake_default(struct plat_winhttp_named *ret)
{
    *ret = (struct plat_winhttp_named){
        .access = winhttp.machine ? PLAT_WINHTTP_NAMED_PROXY : PLAT_WINHTTP_NO_PROXY,
        .proxy = winhttp_fake_text(winhttp.machine),
        .bypass = winhttp_fake_text(winhttp.machine_bypass)};
    return 1;
}

static inline int32_t winhttp_fake_user(struct plat_winhttp_user *ret)
{
    if (winhttp.no_user) {
        winhttp.last_error = 2; /* ERROR_FILE_NOT_FOUND */
        return 0;
    }
    *ret = (struct plat_winhttp_user){.detects = winhttp.detects,
        .script = winhttp_fake_text(winhttp.script),
        .proxy = winhttp_fake_text(winhttp.user),
        .bypass = winhttp_fake_text(winhttp.user_bypass)};
    return 1;
}

static inline int32_t winhttp_fake_for_url(void *session, const uint16_t *url,
    struct plat_winhttp_auto *how, struct plat_winhttp_named *ret)
{
    assert_ptr_equal(session, &winhttp);
    winhttp.asked++;
    winhttp.how = *how;
    size_t i = 0;
    for (; url[i]; i++) {
        assert_true(i + 1 < sizeof(winhttp.url));
        winhttp.url[i] = (char)url[i];
    }
    winhttp.url[i] = 0;
    winhttp.last_error = winhttp.wants_login && !how->logs_in ? PLAT_WINHTTP_LOGIN_FAILURE
                                                              : winhttp.error;
    if (winhttp.last_error) {
        return 0;
    }
    *ret = (struct plat_winhttp_named){
        .access = winhttp.answer ? PLAT_WINHTTP_NAMED_PROXY : PLAT_WINHTTP_NO_PROXY,
        .proxy = winhttp_fake_text(winhttp.answer)};
    return 1;
}

static inline void *winhttp_fake_free(void *text)
{
    winhttp.texts--;
    free(text);
    return NULL;
}

static inline uint32_t winhttp_fake_last_error(void)
{
    return winhttp.last_error;
}

static const struct plat_winhttp winhttp_fake_api = {.open = winhttp_fake_open,
    .close = winhttp_fake_close,
    .set_timeouts = winhttp_fake_set_timeouts,
    .get_default = winhttp_fake_default,
    .get_user = winhttp_fake_user,
    .get_for_url = winhttp_fake_for_url,
    .free = winhttp_fake_free,
    .last_error = winhttp_fake_last_error};

static const char *winhttp_fake_variable; /* the only one that is set; NULL: none */

static inline char *winhttp_fake_env(const char *name)
{
    static char value[] = "http://of-the-environment:1";
    return winhttp_fake_variable && strcmp(name, winhttp_fake_variable) == 0 ? value : NULL;
}

static inline void winhttp_fake_check(void)
{
    assert_int_equal(winhttp.texts, 0);
    assert_int_equal(winhttp.sessions, 0);
}

#endif
