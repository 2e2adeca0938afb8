#include "outputs/http/http_store_cert.h"

#include "config/config_text.h"

enum { THUMBPRINT_DIGITS = 40 }; /* SHA-1 */

/* wincrypt.h, CERT_SYSTEM_STORE_…; libcurl compares them byte by byte. */
static const char *const locations[] = {"LocalMachine", "CurrentUser", "CurrentService", "Services",
    "Users", "CurrentUserGroupPolicy", "LocalMachineGroupPolicy", "LocalMachineEnterprise"};

/* Remove the part before the next backslash from ${rest}. False: there is none. */
static bool next_part(struct span *rest, struct span *ret_part)
{
    const uint8_t *end = rest->size ? memchr(rest->data, '\\', rest->size) : NULL;
    if (!end) {
        return false;
    }
    *ret_part = span_first(*rest, (size_t)(end - rest->data));
    *rest = span_from(*rest, ret_part->size + 1);
    return true;
}

static bool check_location(struct span location, struct error *err)
{
    for (size_t i = 0; i < sizeof(locations) / sizeof(locations[0]); i++) {
        if (span_is(location, locations[i])) {
            return true;
        }
        if (span_equal_nocase(location, span_text(locations[i]))) {
            return error_set(
                err, ERR_CONFIG, "upper and lower case matter here. write %s", locations[i]);
        }
    }
    return error_set(err, ERR_CONFIG,
        "%s is not a location of certificate stores. write LocalMachine, or CurrentUser for that "
        "of the account the agent runs as",
        config_text_quote(location).text);
}

/* The dialogue of Windows shows spaces, and an invisible mark at the start (U+200E). */
static bool check_thumbprint(struct span text, struct error *err)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    size_t count = 0;
    while (count < text.size && memchr(digits, text.data[count], sizeof(digits) - 1)) {
        count++;
    }
    if (count == THUMBPRINT_DIGITS && text.size == count) {
        return true;
    }
    return error_set(err, ERR_CONFIG,
        "%s is not a thumbprint. write its %d hexadecimal digits, without spaces. PowerShell shows "
        "them: dir Cert:\\LocalMachine\\My",
        config_text_quote(text).text, THUMBPRINT_DIGITS);
}

bool http_store_cert_check(struct span text, struct error *err)
{
    struct span location;
    struct span store;
    if (!next_part(&text, &location) || !next_part(&text, &store) || store.size == 0) {
        return error_set(err, ERR_CONFIG,
            "this names no certificate in a store. write it as in LocalMachine\\MY\\THUMBPRINT");
    }
    return check_location(location, err) && check_thumbprint(text, err);
}
