#include "trust/sid.h"

#include <inttypes.h>

enum { WORLD = 1, CREATOR = 3, NT = 5 };
enum { CREATOR_LAST = 4, NT_DOMAIN = 21, NT_BUILTIN = 32 };

/* NT SERVICE\NAME is S-1-5-80 and SHA-1 of the name in capitals as UTF-16, in five words:
 * documented for `sc showsid` and LookupAccountName. */
static const struct sid system_sid = {.authority = NT, .count = 1, .subs = {18}};
static const struct sid administrators = {.authority = NT, .count = 2, .subs = {NT_BUILTIN, 544}};
static const struct sid installer = {.authority = NT,
    .count = 6,
    .subs = {80, 956008885, 3418522649, 1831038044, 1853292631, 2271478464}};
static const struct sid etwship = {.authority = NT,
    .count = 6,
    .subs = {80, 636056026, 1604520351, 2996388291, 1047079574, 1752779691}};

bool sid_read(struct reader *r, struct sid *ret_sid)
{
    enum { REVISION = 1 };
    struct sid sid = {.authority = 0};
    uint8_t revision = reader_u8(r);
    sid.count = reader_u8(r);
    struct span authority = reader_take(r, 6);
    if (r->failed || revision != REVISION || sid.count > SID_MAX_SUBS) {
        r->failed = true;
        return false;
    }
    for (size_t i = 0; i < authority.size; i++) {
        sid.authority = sid.authority << 8 | authority.data[i];
    }
    for (uint32_t i = 0; i < sid.count; i++) {
        sid.subs[i] = reader_u32(r);
    }
    if (!r->failed) {
        *ret_sid = sid;
    }
    return !r->failed;
}

bool sid_equal(const struct sid *a, const struct sid *b)
{
    return a->authority == b->authority && a->count == b->count &&
           memcmp(a->subs, b->subs, a->count * sizeof(a->subs[0])) == 0;
}

bool sid_is_everyone(const struct sid *sid)
{
    return sid->authority == WORLD && sid->count == 1 && sid->subs[0] == 0;
}

bool sid_is_anonymous(const struct sid *sid)
{
    return sid->authority == NT && sid->count == 1 && sid->subs[0] == 7;
}

const struct sid *sid_of_service(void)
{
    return &etwship;
}

/* S-1-5-21-a-b-c-number. */
static bool is_of_domain(const struct sid *sid, uint32_t number)
{
    return sid->authority == NT && sid->count == 5 && sid->subs[0] == NT_DOMAIN &&
           sid->subs[4] == number;
}

static bool is_own(const struct sid *sid, const struct sid_own *own)
{
    return (own->process && sid_equal(sid, own->process)) ||
           (own->service && sid_equal(sid, own->service));
}

bool sid_is_trusted(const struct sid *sid, const struct sid_own *own)
{
    enum { ADMINISTRATOR = 500, DOMAIN_ADMINS = 512, ENTERPRISE_ADMINS = 519 };
    return sid_equal(sid, &system_sid) || sid_equal(sid, &administrators) ||
           sid_equal(sid, &installer) || (own && is_own(sid, own)) ||
           is_of_domain(sid, ADMINISTRATOR) || is_of_domain(sid, DOMAIN_ADMINS) ||
           is_of_domain(sid, ENTERPRISE_ADMINS) ||
           (sid->authority == CREATOR && sid->count == 1 && sid->subs[0] <= CREATOR_LAST);
}

/* ---- for people ------------------------------------------------------------------------------ */

/* SIDs that are common in access lists of files ([MS-DTYP] 2.4.2.4). */
static const struct {
    struct sid sid;
    const char *name;
} well_known[] = {
    {{.authority = WORLD, .count = 1, .subs = {0}}, "Everyone"},
    {{.authority = 2, .count = 1, .subs = {0}}, "LOCAL"},
    {{.authority = NT, .count = 1, .subs = {2}}, "NETWORK"},
    {{.authority = NT, .count = 1, .subs = {3}}, "BATCH"},
    {{.authority = NT, .count = 1, .subs = {4}}, "INTERACTIVE"},
    {{.authority = NT, .count = 1, .subs = {6}}, "SERVICE"},
    {{.authority = NT, .count = 1, .subs = {7}}, "ANONYMOUS LOGON"},
    {{.authority = NT, .count = 1, .subs = {11}}, "Authenticated Users"},
    {{.authority = NT, .count = 1, .subs = {19}}, "LOCAL SERVICE"},
    {{.authority = NT, .count = 1, .subs = {20}}, "NETWORK SERVICE"},
    {{.authority = NT, .count = 2, .subs = {NT_BUILTIN, 545}}, "BUILTIN\\Users"},
    {{.authority = NT, .count = 2, .subs = {NT_BUILTIN, 546}}, "BUILTIN\\Guests"},
    {{.authority = NT, .count = 2, .subs = {NT_BUILTIN, 547}}, "BUILTIN\\Power Users"},
    {{.authority = NT, .count = 2, .subs = {NT_BUILTIN, 551}}, "BUILTIN\\Backup Operators"},
    {{.authority = NT, .count = 2, .subs = {NT_BUILTIN, 559}}, "BUILTIN\\Performance Log Users"},
    {{.authority = 15, .count = 2, .subs = {2, 1}}, "ALL APPLICATION PACKAGES"},
};

void sid_write_plain(const struct sid *sid, struct buf *out)
{
    buf_printf(
        out, sid->authority > UINT32_MAX ? "S-1-0x%012" PRIx64 : "S-1-%" PRIu64, sid->authority);
    for (uint32_t i = 0; i < sid->count; i++) {
        buf_printf(out, "-%" PRIu32, sid->subs[i]);
    }
}

void sid_write(const struct sid *sid, struct buf *out)
{
    const char *name = is_of_domain(sid, 513)   ? "Domain Users"
                       : is_of_domain(sid, 514) ? "Domain Guests"
                                                : NULL;
    for (size_t i = 0; i < sizeof(well_known) / sizeof(well_known[0]); i++) {
        name = sid_equal(sid, &well_known[i].sid) ? well_known[i].name : name;
    }
    if (name) {
        buf_printf(out, "%s (", name);
    }
    sid_write_plain(sid, out);
    buf_add_text(out, name ? ")" : "");
}
