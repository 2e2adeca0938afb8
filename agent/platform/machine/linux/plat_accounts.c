#include "platform/plat_accounts.h"

enum plat_account_answer plat_account_find(struct span sid, struct plat_account *ret_account)
{
    (void)sid;
    *ret_account = (struct plat_account){.name = ""};
    return PLAT_ACCOUNT_NONE;
}
