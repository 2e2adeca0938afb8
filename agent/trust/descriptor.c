#include "trust/descriptor.h"

/*
 * Two passes over a list of at most 64 KB: the first reads all entries with bounds checks, so that
 * a broken list is rejected as a whole; the second compares each allowing entry with those before
 * it.
 */

enum { TRUST_ALL_RIGHTS = 0x1f01ff };

/* Rights to files and folders (winnt.h; [MS-DTYP] 2.4.3 for the generic ones). */
enum {
    WRITE_DATA = 0x2, /* of a folder: add files */
    APPEND_DATA = 0x4,
    DELETE_CHILD = 0x40,
    WRITE_ATTRIBUTES = 0x100, /* enough to turn an empty folder into a link */
    DELETE_IT = 0x10000,
    WRITE_RIGHTS = 0x40000,
    WRITE_OWNER = 0x80000,
    MAXIMUM = 0x2000000,
    GENERIC_ALL = 0x10000000,
    GENERIC_WRITE = 0x40000000,
    FILE_GENERIC_WRITE = 0x120116,
};

static const struct {
    uint32_t right;
    unsigned harm;
} harms[] = {
    {WRITE_DATA, TRUST_HARM_WRITE},
    {APPEND_DATA, TRUST_HARM_APPEND},
    {DELETE_IT, TRUST_HARM_DELETE},
    {DELETE_CHILD, TRUST_HARM_DELETE_CHILD},
    {WRITE_ATTRIBUTES, TRUST_HARM_ATTRIBUTES},
    {WRITE_RIGHTS, TRUST_HARM_RIGHTS},
    {WRITE_OWNER, TRUST_HARM_OWNER},
};

enum {
    TO_FILES = 0x1, /* object inherit */
    TO_FOLDERS = 0x2,
    NO_FURTHER = 0x4,
    INHERIT_ONLY = 0x8,
};

enum entry_kind { ALLOWS, DENIES, ALLOWS_EVERYBODY, SAYS_NOTHING };

struct entry {
    enum entry_kind kind;
    uint8_t flags;
    uint32_t rights; /* mapped to those of files */
    struct sid sid;
};

/* The harmful rights for an object used as ${use}. */
static uint32_t harmful(enum trust_use use)
{
    enum {
        FILE_HARM = WRITE_DATA | APPEND_DATA | WRITE_ATTRIBUTES | DELETE_IT | WRITE_RIGHTS |
                    WRITE_OWNER
    };
    switch (use) {
    case TRUST_ROOT:
        return DELETE_CHILD | WRITE_RIGHTS | WRITE_OWNER;
    case TRUST_WAY:
        return DELETE_CHILD | WRITE_RIGHTS | WRITE_OWNER | DELETE_IT;
    case TRUST_FILE:
        return FILE_HARM;
    case TRUST_FOLDER:
        break;
    }
    return FILE_HARM | DELETE_CHILD;
}

static unsigned harm_of(uint32_t rights)
{
    unsigned harm = 0;
    for (size_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
        harm |= rights & harms[i].right ? harms[i].harm : 0;
    }
    return harm;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* [MS-DTYP] 2.4.4.1. Audit and label entries do not grant rights; unknown types count as granting
 * everything. */
static enum entry_kind kind_of(uint8_t type, bool *ret_has_objects)
{
    *ret_has_objects = type == 0x05 || type == 0x06 || type == 0x0b || type == 0x0c;
    switch (type) {
    case 0x00: /* ACCESS_ALLOWED */
    case 0x05: /* _OBJECT */
    case 0x09: /* _CALLBACK */
    case 0x0b: /* _CALLBACK_OBJECT */
        return ALLOWS;
    case 0x01: /* ACCESS_DENIED */
        return DENIES;
    case 0x06: /* _OBJECT, which may deny only a part */
    case 0x0a: /* _CALLBACK, which may deny only under conditions */
    case 0x0c:
    case 0x02: /* SYSTEM_AUDIT, and so on */
    case 0x03:
    case 0x07:
    case 0x08:
    case 0x0d:
    case 0x0e:
    case 0x0f:
    case 0x10:
    case 0x11: /* SYSTEM_MANDATORY_LABEL */
    case 0x12:
    case 0x13:
    case 0x14: /* SYSTEM_PROCESS_TRUST_LABEL */
    case 0x15: /* SYSTEM_ACCESS_FILTER, which only restricts */
        return SAYS_NOTHING;
    default:
        return ALLOWS_EVERYBODY;
    }
}

static uint32_t map_rights(uint32_t mask)
{
    uint32_t rights = mask;
    rights |= mask & (MAXIMUM | GENERIC_ALL) ? TRUST_ALL_RIGHTS : 0;
    rights |= mask & GENERIC_WRITE ? FILE_GENERIC_WRITE : 0;
    return rights & TRUST_ALL_RIGHTS;
}

/* The next entry of a list. False: it is broken. */
static bool read_entry(struct reader *list, struct entry *ret_entry)
{
    enum { HEADER_BYTES = 4, OBJECT_TYPE = 1, INHERITED_TYPE = 2, GUID_BYTES = 16 };
    uint8_t type = reader_u8(list);
    struct entry entry = {.flags = reader_u8(list)};
    uint16_t bytes = reader_u16(list);
    if (list->failed || bytes < HEADER_BYTES || bytes % 4 != 0) {
        return false;
    }
    struct reader r = reader_make(reader_take(list, bytes - (size_t)HEADER_BYTES));
    bool has_objects;
    entry.kind = kind_of(type, &has_objects);
    if (list->failed) {
        return false;
    }
    if (entry.kind == ALLOWS || entry.kind == DENIES) {
        entry.rights = map_rights(reader_u32(&r));
        uint32_t objects = has_objects ? reader_u32(&r) : 0;
        reader_skip(&r, objects & OBJECT_TYPE ? GUID_BYTES : 0);
        reader_skip(&r, objects & INHERITED_TYPE ? GUID_BYTES : 0);
        if (!sid_read(&r, &entry.sid)) {
            return false;
        }
    }
    *ret_entry = entry;
    return true;
}

/* The entries of the list at ${offset}. False: it is broken. */
static bool read_list(
    struct span descriptor, uint32_t offset, struct reader *ret_entries, size_t *ret_count)
{
    enum { HEADER_BYTES = 8, REVISION = 2, REVISION_DS = 4 };
    struct reader r = reader_make(descriptor);
    struct entry entry;
    reader_skip(&r, offset);
    uint8_t revision = reader_u8(&r);
    reader_skip(&r, 1);
    uint16_t bytes = reader_u16(&r);
    size_t count = reader_u16(&r);
    reader_skip(&r, 2);
    if (r.failed || (revision != REVISION && revision != REVISION_DS) || bytes < HEADER_BYTES) {
        return false;
    }
    struct reader entries = reader_make(reader_take(&r, bytes - (size_t)HEADER_BYTES));
    struct reader all = entries;
    for (size_t i = 0; i < count; i++) {
        if (r.failed || !read_entry(&all, &entry)) {
            return false;
        }
    }
    *ret_entries = entries;
    *ret_count = count;
    return !r.failed;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* True if ${denies} applies to every account that ${allows} is for. */
static bool is_against(const struct entry *denies, const struct entry *allows)
{
    return denies->kind == DENIES &&
           (sid_equal(&denies->sid, &allows->sid) ||
               (sid_is_everyone(&denies->sid) && !sid_is_anonymous(&allows->sid)));
}

/* True if every object that inherits ${allows} also inherits ${denies}. */
static bool goes_as_far(const struct entry *denies, const struct entry *allows)
{
    uint8_t to = allows->flags & (TO_FILES | TO_FOLDERS);
    return (denies->flags & to) == to && !(denies->flags & NO_FURTHER & ~allows->flags);
}

/* The harmful rights that the allowing entry ${index} grants to an object used as ${use}. */
static unsigned harm_of_entry(
    struct reader entries, size_t index, const struct entry *allows, enum trust_use use)
{
    bool is_inherited = use == TRUST_FOLDER && allows->flags & (TO_FILES | TO_FOLDERS);
    uint32_t here = allows->flags & INHERIT_ONLY ? 0 : allows->rights & harmful(use);
    uint32_t below = is_inherited ? allows->rights & harmful(TRUST_FILE) : 0;
    struct entry before;
    for (size_t i = 0; (here | below) && i < index && read_entry(&entries, &before); i++) {
        if (is_against(&before, allows)) {
            here &= before.flags & INHERIT_ONLY ? here : ~before.rights;
            below &= goes_as_far(&before, allows) ? ~before.rights : below;
        }
    }
    return harm_of(here) | (below ? TRUST_HARM_INHERIT : 0);
}

static void judge_list(struct reader entries, size_t count, enum trust_use use,
    const struct sid_own *own, struct trust_verdict *verdict)
{
    struct reader at = entries;
    struct entry entry;
    for (size_t i = 0; i < count && read_entry(&at, &entry); i++) {
        bool is_first = verdict->party == TRUST_NONE;
        if (entry.kind == ALLOWS_EVERYBODY) {
            *verdict = (struct trust_verdict){.party = TRUST_UNKNOWN};
            return;
        }
        if (entry.kind == ALLOWS && !sid_is_trusted(&entry.sid, own) &&
            (is_first || sid_equal(&entry.sid, &verdict->sid))) {
            unsigned harm = harm_of_entry(entries, i, &entry, use);
            verdict->harms |= harm;
            if (is_first && harm) {
                verdict->party = TRUST_SID;
                verdict->sid = entry.sid;
            }
        }
    }
}

/* Read all, then judge. False: it is broken. */
static bool judge(struct span descriptor, enum trust_use use, const struct sid_own *own,
    struct trust_verdict *verdict)
{
    enum { REVISION = 1, LIST_PRESENT = 0x4, SELF_RELATIVE = 0x8000 };
    struct reader r = reader_make(descriptor);
    struct sid owner;
    uint8_t revision = reader_u8(&r);
    reader_skip(&r, 1);
    uint16_t control = reader_u16(&r);
    uint32_t owner_at = reader_u32(&r);
    reader_skip(&r, 8); /* group, audit list */
    uint32_t list_at = reader_u32(&r);
    struct reader of_owner = reader_make(descriptor);
    reader_skip(&of_owner, owner_at);
    if (r.failed || revision != REVISION || !(control & SELF_RELATIVE) || !owner_at ||
        !sid_read(&of_owner, &owner)) {
        return false;
    }
    bool has_list = control & LIST_PRESENT && list_at;
    struct reader entries = r;
    size_t count = 0;
    if (has_list && !read_list(descriptor, list_at, &entries, &count)) {
        return false;
    }
    if (!sid_is_trusted(&owner, own)) {
        *verdict = (struct trust_verdict){
            .party = TRUST_SID, .harms = TRUST_HARM_OWNS, .sid = owner};
    } else if (!has_list) {
        *verdict = (struct trust_verdict){.party = TRUST_ALL, .harms = harm_of(harmful(use))};
    } else {
        judge_list(entries, count, use, own, verdict);
    }
    return true;
}

void descriptor_judge(struct span descriptor, enum trust_use use, const struct sid_own *own,
    struct trust_verdict *ret_verdict)
{
    struct trust_verdict verdict = {.party = TRUST_NONE};
    if (!judge(descriptor, use, own, &verdict)) {
        verdict = (struct trust_verdict){.party = TRUST_UNKNOWN};
    }
    *ret_verdict = verdict;
}
