#ifndef ETWSHIP_TESTS_SUPPORT_WINHTTP_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_WINHTTP_FAKE_H

#include "support/test.h"

#include <stdlib.h>

#include "platform/plat_thread.h"
#include "platform/plat_winhttp.h"

/*
 * A WinHTTP that says what a test wants. Texts are ASCII here; what is handed out is on the heap,
 * and winhttp_fake_check sees that all of it was freed. It can hang in the search for a script,
 * until it is released.
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
    bool hangs; /* a search does not end before winhttp_fake_release */
    int hung;   /* how many do not */
};

static struct winhttp_fake winhttp;

/* Of all that is above while a thread may search. */
static struct {
    bool is_made;
    struct plat_mutex mutex;
    struct plat_cond changed;
} winhttp_fake_gate;

/* In place of the last one, which no thread uses any more. */
static inline void winhttp_fake_set(const struct winhttp_fake *says)
{
    if (!winhttp_fake_gate.is_made) {
        plat_mutex_init(&winhttp_fake_gate.mutex);
        plat_cond_init(&winhttp_fake_gate.changed);
        winhttp_fake_gate.is_made = true;
    }
    winhttp = *says;
}

static inline void winhttp_fake_lock(void)
{
    plat_mutex_lock(&winhttp_fake_gate.mutex);
}

static inline void winhttp_fake_unlock(void)
{
    plat_cond_broadcast(&winhttp_fake_gate.changed);
    plat_mutex_unlock(&winhttp_fake_gate.mutex);
}

/* Wait until ${count} hang. */
static inline void winhttp_fake_wait(int count)
{
    winhttp_fake_lock();
    while (winhttp.hung < count) {
        plat_cond_wait(&winhttp_fake_gate.changed, &winhttp_fake_gate.mutex);
    }
    winhttp_fake_unlock();
}

/* Let all that hang go on, and wait until they have given back what they had. */
static inline void winhttp_fake_release(void)
{
    winhttp_fake_lock();
    winhttp.hangs = false;
    plat_cond_broadcast(&winhttp_fake_gate.changed);
    while (winhttp.sessions || winhttp.texts) {
        plat_cond_wait(&winhttp_fake_gate.changed, &winhttp_fake_gate.mutex);
    }
    winhttp_fake_unlock();
}

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
    winhttp_fake_lock();
    winhttp.sessions++;
    winhttp_fake_unlock();
    return &winhttp;
}

static inline int32_t winhttp_fake_close(void *session)
{
    assert_ptr_equal(session, &winhttp);
    winhttp_fake_lock();
    winhttp.sessions--;
    winhttp_fake_unlock();
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
    winhttp_fake_lock();
    winhttp.asked++;
    winhttp.how = *how;
    winhttp.how.script = NULL; /* it is the caller's */
    size_t i = 0;
    for (; url[i]; i++) {
        assert_true(i + 1 < sizeof(winhttp.url));
        winhttp.url[i] = (char)url[i];
    }
    winhttp.url[i] = 0;
    winhttp.hung++;
    while (winhttp.hangs) {
        plat_cond_broadcast(&winhttp_fake_gate.changed);
        plat_cond_wait(&winhttp_fake_gate.changed, &winhttp_fake_gate.mutex);
    }
    winhttp.hung--;
    winhttp.last_error = winhttp.wants_login && !how->logs_in ? PLAT_WINHTTP_LOGIN_FAILURE
                                                              : winhttp.error;
    bool good = winhttp.last_error == 0;
    if (good) {
        *ret = (struct plat_winhttp_named){
            .access = winhttp.answer ? PLAT_WINHTTP_NAMED_PROXY : PLAT_WINHTTP_NO_PROXY,
            .proxy = winhttp_fake_text(winhttp.answer)};
    }
    winhttp_fake_unlock();
    return good;
}

static inline void *winhttp_fake_free(void *text)
{
    winhttp_fake_lock();
    winhttp.texts--;
    winhttp_fake_unlock();
    free(text);
    return NULL;
}

static inline uint32_t winhttp_fake_last_error(void)
{
    winhttp_fake_lock();
    uint32_t error = winhttp.last_error;
    winhttp_fake_unlock();
    return error;
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
