/* Registration: simulated providers of tests, and EventRegister and its kin (evntprov.h). */
#include <stdlib.h>

#include "support/etw_sim/sim_remote.h"

/* ---- simulated providers --------------------------------------------------------------------- */

struct etw_sim_provider *etw_sim_provider_add(
    struct etw_sim *sim, const struct etw_sim_provider_options *options)
{
    struct etw_sim_provider *p = calloc(1, sizeof(*p));
    if (!p) {
        return NULL;
    }
    p->sim = sim;
    p->options = *options;
    plat_mutex_lock(&sim->lock);
    if (!p->options.pid) {
        p->options.pid = options->kernel_mode ? 4 : sim->options.own_process;
    }
    p->next = sim->providers;
    sim->providers = p;
    struct sim_guid *g = sim_provider_guid(sim, &options->guid);
    if (g && options->enable_error) {
        g->enable_error = options->enable_error;
    }
    plat_mutex_unlock(&sim->lock);
    if (!options->unregistered) {
        etw_sim_provider_register(p);
    }
    return g ? p : NULL;
}

void etw_sim_provider_register(struct etw_sim_provider *p)
{
    struct etw_sim *sim = p->sim;
    plat_mutex_lock(&sim->lock);
    if (!p->registration) {
        struct sim_registration wanted = {.kind = p->options.kind,
            .kernel_mode = p->options.kernel_mode,
            .pid = p->options.pid,
            .simulated = p};
        if (!guid_is_zero(&p->options.group)) {
            wanted.group = sim_provider_guid(sim, &p->options.group);
        }
        sim_provider_register(sim, &p->options.guid, &wanted, NULL);
    }
    plat_mutex_unlock(&sim->lock);
}

void etw_sim_provider_unregister(struct etw_sim_provider *p)
{
    struct etw_sim *sim = p->sim;
    plat_mutex_lock(&sim->lock);
    if (p->registration) {
        sim_provider_unregister(sim, p->registration);
        p->state.enabled = false;
    }
    plat_mutex_unlock(&sim->lock);
}

void etw_sim_provider_get(
    struct etw_sim_provider *provider, struct etw_sim_provider_state *ret_state)
{
    plat_mutex_lock(&provider->sim->lock);
    *ret_state = provider->state;
    plat_mutex_unlock(&provider->sim->lock);
}

/* ---- the functions --------------------------------------------------------------------------- */

uint32_t etw_sim_EventRegister(
    const struct guid *provider, etw_enable_fn *callback, void *context, uint64_t *ret_handle)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote && provider && ret_handle) {
        return sim_remote_register(remote,
            &(struct sim_far_provider){.guid = *provider, .callback = callback, .context = context},
            ret_handle);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventRegister, &code);
    if (!sim) {
        return code;
    }
    if (!provider || !ret_handle) {
        return sim_world_leave(sim, ETW_ERROR_INVALID_PARAMETER);
    }
    const struct sim_registration wanted = {.kind = ETW_SIM_MANIFEST,
        .pid = sim_world_pid(sim),
        .callback = callback,
        .context = context};
    return sim_world_leave(sim, sim_provider_register(sim, provider, &wanted, ret_handle));
}

uint32_t etw_sim_EventUnregister(uint64_t handle)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_unregister(remote, handle);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventUnregister, &code);
    if (!sim) {
        return code;
    }
    struct sim_registration *r = sim_provider_by_handle(sim, handle);
    if (r) {
        sim_provider_unregister(sim, r);
    }
    return sim_world_leave(sim, r ? 0 : ETW_ERROR_INVALID_HANDLE);
}

/* EventProviderSetTraits: u16 size, name with its NUL, then u16 size, u8 type, data each; type 1 is
 * the group (provider-traits). */
static uint32_t set_traits(struct etw_sim *sim, struct sim_registration *r, struct span traits)
{
    enum { TRAIT_GROUP = 1, TRAIT_HEADER = 3 };
    if (traits.size < 3 || traits.size > sizeof(r->traits) ||
        load_le16(traits.data) != traits.size) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    const uint8_t *end = memchr(traits.data + 2, 0, traits.size - 2);
    if (!end) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct span rest = span_from(traits, (size_t)(end + 1 - traits.data));
    while (rest.size >= TRAIT_HEADER && load_le16(rest.data) >= TRAIT_HEADER &&
           load_le16(rest.data) <= rest.size) {
        uint16_t size = load_le16(rest.data);
        if (rest.data[2] == TRAIT_GROUP && size == TRAIT_HEADER + sizeof(struct guid)) {
            struct guid group;
            memcpy(group.bytes, rest.data + TRAIT_HEADER, sizeof(group.bytes));
            r->group = sim_provider_guid(sim, &group);
        }
        rest = span_from(rest, size);
    }
    memcpy(r->traits, traits.data, traits.size);
    r->traits_size = (uint16_t)traits.size;
    r->uses_types = true;
    return 0;
}

/* EVENT_INFO_CLASS: the settings of a registration. Sessions do not learn the path of its
 * program. */
static uint32_t set_information(
    struct etw_sim *sim, struct sim_registration *r, uint32_t info_class, struct span data)
{
    enum { BINARY_TRACK = 0, SET_TRAITS = 2, USE_DESCRIPTOR_TYPE = 3 };
    switch (info_class) {
    case BINARY_TRACK:
        return 0;
    case SET_TRAITS:
        return set_traits(sim, r, data);
    case USE_DESCRIPTOR_TYPE:
        if (data.size != 1) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
        r->uses_types = data.data[0] != 0;
        return 0;
    default:
        return ETW_ERROR_NOT_SUPPORTED;
    }
}

uint32_t etw_sim_EventSetInformation(
    uint64_t handle, uint32_t info_class, const void *data, uint32_t bytes)
{
    struct etw_sim *remote = sim_remote_world();
    if (remote) {
        return sim_remote_set_provider(remote, handle, info_class, data, bytes);
    }
    uint32_t code = 0;
    struct etw_sim *sim = sim_world_enter(SIM_CALL_EventSetInformation, &code);
    if (!sim) {
        return code;
    }
    struct sim_registration *r = sim_provider_by_handle(sim, handle);
    code = !r || (!data && bytes) ? ETW_ERROR_INVALID_PARAMETER
                                  : set_information(sim, r, info_class, span_make(data, bytes));
    return sim_world_leave(sim, code);
}
