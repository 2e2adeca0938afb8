#include "base/bytes.h"
#include "base/put.h"
#include "process/account_names.h"

enum {
    REVISION = 1,
    HEAD_BYTES = 8, /* revision, count, authority */
    NT = 5,
    MAX_SUBS = 15,
    WINDOW_MANAGER = 90, /* S-1-5-90-0-SESSION */
    FONT_DRIVER = 96,    /* S-1-5-96-0-SESSION */
};

/* S-1-5-N. */
static const struct {
    uint32_t number;
    const char *name;
} own[] = {
    {7, "ANONYMOUS LOGON"},
    {17, "IUSR"},
    {18, "SYSTEM"},
    {19, "LOCAL SERVICE"},
    {20, "NETWORK SERVICE"},
};

/* All names in this file fit everywhere. */
static void copy(char *to, size_t room, const char *text)
{
    size_t size = strlen(text);
    size = size < room ? size : room - 1;
    memcpy(to, text, size);
    to[size] = '\0';
}

static bool tell(const char *domain, const char *name, struct plat_account *ret_account)
{
    copy(ret_account->name, sizeof(ret_account->name), name);
    copy(ret_account->domain, sizeof(ret_account->domain), domain);
    return true;
}

/* ${name}: including the hyphen. */
static bool tell_session(
    const char *domain, const char *name, uint32_t session, struct plat_account *ret_account)
{
    uint8_t text[2 * PUT_MAX];
    *put_u64(put_span(text, span_text(name)), session) = '\0';
    return tell(domain, (const char *)text, ret_account);
}

bool account_known_find(struct span sid, struct plat_account *ret_account)
{
    static const uint8_t nt_authority[6] = {0, 0, 0, 0, 0, NT};
    if (sid.size < HEAD_BYTES || sid.data[0] != REVISION || sid.data[1] > MAX_SUBS ||
        sid.size != HEAD_BYTES + sid.data[1] * sizeof(uint32_t) ||
        memcmp(sid.data + 2, nt_authority, sizeof(nt_authority)) != 0) {
        return false;
    }
    const uint8_t *subs = sid.data + HEAD_BYTES;
    uint8_t count = sid.data[1];
    for (size_t i = 0; count == 1 && i < sizeof(own) / sizeof(own[0]); i++) {
        if (load_le32(subs) == own[i].number) {
            return tell("NT AUTHORITY", own[i].name, ret_account);
        }
    }
    if (count != 3 || load_le32(subs + 4) != 0) {
        return false;
    }
    switch (load_le32(subs)) {
    case WINDOW_MANAGER:
        return tell_session("Window Manager", "DWM-", load_le32(subs + 8), ret_account);
    case FONT_DRIVER:
        return tell_session("Font Driver Host", "UMFD-", load_le32(subs + 8), ret_account);
    default:
        return false;
    }
}
