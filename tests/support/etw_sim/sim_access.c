/* EventAccessControl, EventAccessQuery, EventAccessRemove (evntcons.h): a self-relative security
 * descriptor per GUID, with LocalSystem, Administrators and Performance Log Users, and the entries
 * that were added. */
#include <stdlib.h>

#include "support/etl_put.h"
#include "support/etw_sim/sim_state.h"

enum { SID_MAX = 68, DESCRIPTOR_HEADER = 20, ACL_HEADER = 8, ACE_HEADER = 8, ALL_RIGHTS = 0x1fff };
enum { SET_DACL = 0, SET_SACL, ADD_DACL, ADD_SACL };

struct sim_access {
    struct sim_access *next;
    struct guid guid;
    bool replaces; /* what was there by default */
    bool allow;
    uint32_t rights;
    uint8_t sid[SID_MAX];
    size_t sid_size;
};

static const uint8_t local_system[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
static const uint8_t administrators[] = {1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0};
static const uint8_t log_users[] = {1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x2f, 2, 0, 0};

static void put_ace(struct buf *out, bool allow, uint32_t rights, const uint8_t *sid, size_t size)
{
    etl_put_u8(out, allow ? 0 : 1);
    etl_put_u8(out, 0);
    etl_put_u16(out, (uint16_t)(ACE_HEADER + size));
    etl_put_u32(out, rights);
    buf_add(out, sid, size);
}

static uint16_t put_aces(const struct etw_sim *sim, const struct guid *guid, struct buf *out)
{
    uint16_t count = 0;
    bool replaced = false;
    for (const struct sim_access *a = sim->access; a; a = a->next) {
        if (guid_equal(&a->guid, guid)) {
            put_ace(out, a->allow, a->rights, a->sid, a->sid_size);
            replaced = replaced || a->replaces;
            count++;
        }
    }
    if (!replaced) {
        put_ace(out, true, ALL_RIGHTS, local_system, sizeof(local_system));
        put_ace(out, true, ALL_RIGHTS, administrators, sizeof(administrators));
        put_ace(out, true, 0x4e0, log_users, sizeof(log_users));
        count = (uint16_t)(count + 3);
    }
    return count;
}

/* SECURITY_DESCRIPTOR_RELATIVE: header, owner, group, DACL. */
static void put_descriptor(const struct etw_sim *sim, const struct guid *guid, struct buf *out)
{
    enum { DACL_PRESENT_SELF_RELATIVE = 0x8004 };
    uint32_t owner = DESCRIPTOR_HEADER;
    uint32_t group = owner + sizeof(administrators);
    uint32_t dacl = group + sizeof(administrators);
    etl_put_u8(out, 1);
    etl_put_u8(out, 0);
    etl_put_u16(out, DACL_PRESENT_SELF_RELATIVE);
    etl_put_u32(out, owner);
    etl_put_u32(out, group);
    etl_put_u32(out, 0);
    etl_put_u32(out, dacl);
    buf_add(out, administrators, sizeof(administrators));
    buf_add(out, administrators, sizeof(administrators));
    etl_put_u8(out, 2);
    etl_put_u8(out, 0);
    size_t size_at = out->size;
    etl_put_u16(out, 0);
    etl_put_u16(out, 0);
    etl_put_u16(out, 0);
    uint16_t count = put_aces(sim, guid, out);
    if (!out->failed) {
        store_le16(out->data + size_at, (uint16_t)(out->size - dacl));
        store_le16(out->data + size_at + 2, count);
    }
}

uint32_t etw_sim_EventAccessQuery(
    const struct guid *guid, void *ret_descriptor, uint32_t *descriptor_bytes)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventAccessQuery, &code);
    if (!sim) {
        return code;
    }
    if (!guid || !descriptor_bytes) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    struct buf out;
    buf_init(&out, 65536);
    put_descriptor(sim, guid, &out);
    code = out.failed ? ETW_ERROR_NOT_ENOUGH_MEMORY : 0;
    if (!code) {
        code = !ret_descriptor || *descriptor_bytes < out.size ? ETW_ERROR_MORE_DATA : 0;
        if (!code) {
            memcpy(ret_descriptor, out.data, out.size);
        }
        *descriptor_bytes = (uint32_t)out.size;
    }
    buf_fini(&out);
    return sim_world_leave(sim, code);
}

static void forget(struct etw_sim *sim, const struct guid *guid)
{
    for (struct sim_access **at = &sim->access; *at;) {
        struct sim_access *a = *at;
        if (!guid || guid_equal(&a->guid, guid)) {
            *at = a->next;
            free(a);
        } else {
            at = &a->next;
        }
    }
}

uint32_t etw_sim_EventAccessControl(
    const struct guid *guid, uint32_t operation, void *sid, uint32_t rights, uint8_t allow)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventAccessControl, &code);
    if (!sim) {
        return code;
    }
    const uint8_t *bytes = sid;
    size_t size = bytes ? 8 + (size_t)bytes[1] * 4 : 0;
    if (!guid || !bytes || size > SID_MAX || operation > ADD_SACL) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    if (sim->options.not_administrator) {
        return sim_world_leave(sim, ETW_ERROR_ACCESS_DENIED);
    }
    if (operation == SET_SACL || operation == ADD_SACL) {
        return sim_world_leave(sim, 0);
    }
    struct sim_access *a = calloc(1, sizeof(*a));
    if (!a) {
        return sim_world_leave(sim, ETW_ERROR_NOT_ENOUGH_MEMORY);
    }
    if (operation == SET_DACL) {
        forget(sim, guid);
    }
    a->guid = *guid;
    a->replaces = operation == SET_DACL;
    a->allow = allow != 0;
    a->rights = rights;
    memcpy(a->sid, bytes, size);
    a->sid_size = size;
    a->next = sim->access;
    sim->access = a;
    return sim_world_leave(sim, 0);
}

uint32_t etw_sim_EventAccessRemove(const struct guid *guid)
{
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventAccessRemove, &code);
    if (!sim) {
        return code;
    }
    if (guid) {
        forget(sim, guid);
    }
    return sim_world_leave(sim, guid ? 0 : ETW_ERROR_INVALID_PARAMETER);
}

void sim_access_free(struct etw_sim *sim)
{
    forget(sim, NULL);
}
