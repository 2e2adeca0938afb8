#include "etw/etw_privilege.h"

bool etw_privilege_check(const struct etw_rights *rights, enum etw_need need, struct error *err)
{
    bool log_user = rights->administrator || rights->service || rights->log_user;
    switch (need) {
    case ETW_NEED_SESSION:
        return log_user ||
               error_set(err, ERR_CONFIG,
                   "tracing sessions are for administrators, services and members of the group "
                   "'Performance Log Users'. run as administrator, or add this user to the group "
                   "and log on again");
    case ETW_NEED_KERNEL:
        return rights->administrator || (log_user && rights->profile) ||
               error_set(err, ERR_CONFIG,
                   "sessions with kernel events are for administrators. run as administrator, or "
                   "grant this user 'Profile system performance' (SeSystemProfilePrivilege) and "
                   "rights on the session's GUID and on SystemTraceControlGuid");
    case ETW_NEED_KERNEL_LOGGER:
        return rights->administrator ||
               error_set(err, ERR_CONFIG,
                   "the session 'NT Kernel Logger' is for administrators and LocalSystem only. run "
                   "as administrator, or use a session of type system");
    case ETW_NEED_HEAP:
        return rights->administrator ||
               error_set(err, ERR_CONFIG,
                   "heaps are traced by administrators and LocalSystem. run as administrator");
    case ETW_NEED_PROFILE:
        return rights->profile ||
               error_set(err, ERR_CONFIG,
                   "the profile timer and counters need the privilege 'Profile system performance' "
                   "(SeSystemProfilePrivilege). run as administrator, or grant it to this user");
    }
    return true;
}
