#include "app/install/install_folders.h"

#include <stdio.h>

/* It adds files to a folder that it writes, and modifies what inherits that. But it has no right to
 * remove, rename or give away the folder itself, nor what lies in it with a list of its own: config
 * and schema. */
#define WRITES_IN "(A;;0x1201bf;;;%s)(A;OICIIO;0x1301bf;;;%s)"
#define READS "(A;OICI;FRFX;;;%s)"

bool install_folders_get(size_t i, const char *account, const char **ret_name,
    char ret_sddl[INSTALL_FOLDERS_LIST_BYTES], struct error *err)
{
    static const struct {
        const char *name;
        bool is_written;
    } folders[] = {
        {"", true}, {"config", false}, {"schema", false}, {"spool", true}, {"logs", true}};
    static const char always[] = "D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
    if (i >= sizeof(folders) / sizeof(folders[0])) {
        return false;
    }
    int size = !account ? snprintf(ret_sddl, INSTALL_FOLDERS_LIST_BYTES, "%s", always)
               : folders[i].is_written
                   ? snprintf(ret_sddl, INSTALL_FOLDERS_LIST_BYTES, "%s" WRITES_IN, always, account,
                         account)
                   : snprintf(ret_sddl, INSTALL_FOLDERS_LIST_BYTES, "%s" READS, always, account);
    *ret_name = folders[i].name;
    return (size >= 0 && size < INSTALL_FOLDERS_LIST_BYTES) ||
           error_set(err, ERR_CONFIG, "%.100s: no account", account);
}
