#include "outputs/http/http_auth.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text/base64.h"
#include "outputs/http/http_form.h"

enum { SHORTEST = 4, HIDDEN_SIZE = 3, VALUE_MAX = 64 * 1024, CODED_MAX = 256 * 1024 };

static const char hidden[] = "***";

void http_secrets_fini(struct http_secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++) {
        free(secrets->items[i]);
    }
    free(secrets->items);
    *secrets = (struct http_secrets){0};
}

bool http_secrets_add(struct http_secrets *secrets, const char *text)
{
    size_t size = text ? strlen(text) : 0;
    if (size < SHORTEST) {
        return true;
    }
    if (!grow_array(&secrets->items, secrets->count + 1, sizeof(*secrets->items))) {
        return false;
    }
    secrets->items[secrets->count] = span_copy(span_make(text, size));
    return secrets->items[secrets->count] && ++secrets->count;
}

static bool replace(struct http_secrets *secrets, const char *old, const char *text)
{
    if (!http_secrets_add(secrets, text)) {
        return false;
    }
    for (size_t i = 0; old && i + 1 < secrets->count; i++) {
        if (strcmp(secrets->items[i], old) == 0) {
            free(secrets->items[i]);
            secrets->items[i] = secrets->items[--secrets->count];
            break;
        }
    }
    return true;
}

bool http_secrets_replace(struct http_secrets *secrets, const char *old, const char *text)
{
    struct buf coded[2];
    const char *const texts[] = {old, text};
    for (size_t i = 0; i < 2; i++) {
        buf_init(&coded[i], CODED_MAX);
        http_form_add_value(&coded[i], texts[i] ? texts[i] : "");
        buf_add_byte(&coded[i], '\0');
    }
    bool good = !coded[0].failed && !coded[1].failed && replace(secrets, old, text) &&
                replace(
                    secrets, old ? (const char *)coded[0].data : NULL, (const char *)coded[1].data);
    buf_fini(&coded[0]);
    buf_fini(&coded[1]);
    return good;
}

/* Cut ${size} bytes at ${at} down to three stars. */
static char *hide(char *at, size_t size)
{
    memcpy(at, hidden, HIDDEN_SIZE);
    memmove(at + HIDDEN_SIZE, at + size, strlen(at + size) + 1);
    return at + HIDDEN_SIZE;
}

/* `scheme://user:password@host`, RFC 3986, 3.2: an authority ends at the next `/`, `?` or `#`. An
 * unescaped password may contain these, so everything before an `@` is removed. */
static void hide_users(char *text)
{
    for (char *at = strstr(text, "://"); at; at = strstr(at, "://")) {
        at += 3;
        size_t size = strcspn(at, " \t'\"<>()");
        size_t user = size;
        while (user && at[user] != '@') {
            user--;
        }
        if (user >= HIDDEN_SIZE) {
            at = hide(at, user);
        } else {
            for (size_t i = 0; i < user; i++) {
                at[i] = '*';
            }
        }
    }
}

/* A cut text may end with the beginning of a secret. */
static void hide_beginning(char *text, const char *secret)
{
    size_t size = strlen(text);
    size_t most = strlen(secret) - 1;
    for (size_t left = size < most ? size : most; left >= SHORTEST; left--) {
        if (memcmp(text + size - left, secret, left) == 0) {
            hide(text + size - left, left);
            return;
        }
    }
}

void http_secrets_hide(const struct http_secrets *secrets, char *text)
{
    for (size_t i = 0; i < secrets->count; i++) {
        for (char *at = strstr(text, secrets->items[i]); at; at = strstr(at, secrets->items[i])) {
            at = hide(at, strlen(secrets->items[i]));
        }
        hide_beginning(text, secrets->items[i]);
    }
    hide_users(text);
}

static void put_value(struct buf *out, const struct http_auth *auth, const char *scheme)
{
    if (auth->user) {
        struct buf pair;
        buf_init(&pair, VALUE_MAX);
        buf_printf(&pair, "%s:%s", auth->user, auth->password ? auth->password : "");
        buf_add_byte(&pair, '\0');
        buf_add_text(out, "Basic ");
        if (!pair.failed) {
            base64_write(out, span_text((const char *)pair.data));
        }
        out->failed = out->failed || pair.failed;
        buf_fini(&pair);
        return;
    }
    const char *key = auth->bearer ? auth->bearer : auth->api_key;
    const char *usual = auth->bearer ? "Bearer" : "ApiKey";
    buf_printf(out, "%s ", scheme ? scheme : usual);
    if (!scheme && !auth->bearer && strchr(key, ':')) {
        base64_write(out, span_text(key));
    } else {
        buf_add_text(out, key);
    }
}

bool http_auth_write(const struct http_auth *auth, const char *scheme, struct http_secrets *secrets,
    char **ret_value)
{
    if (!auth->user && !auth->bearer && !auth->api_key) {
        *ret_value = NULL;
        return true;
    }
    struct buf out;
    buf_init(&out, VALUE_MAX);
    put_value(&out, auth, scheme);
    char *value = out.failed ? NULL : span_copy(buf_span(&out));
    buf_fini(&out);
    /* A server may repeat only the half of a key after its colon. */
    const char *half = auth->api_key ? strchr(auth->api_key, ':') : NULL;
    if (!value || !http_secrets_add(secrets, strchr(value, ' ') + 1) ||
        !http_secrets_add(secrets, auth->api_key) || !http_secrets_add(secrets, auth->password) ||
        !http_secrets_add(secrets, auth->bearer) ||
        !http_secrets_add(secrets, half ? half + 1 : NULL)) {
        free(value);
        return false;
    }
    *ret_value = value;
    return true;
}
