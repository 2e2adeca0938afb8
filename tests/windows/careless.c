/* A program that loads a DLL by its bare name, which etwship.exe must not do. */
#include <windows.h>

int main(int argc, char **argv)
{
    return argc == 2 && LoadLibraryA(argv[1]) ? 0 : 1;
}
