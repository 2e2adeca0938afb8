#include "cli/commands/cli_main.h"
#include "platform/plat_self.h"

int main(int argc, char **argv)
{
    plat_process_init(&argc, &argv);
    return cli_main(argc, argv);
}
