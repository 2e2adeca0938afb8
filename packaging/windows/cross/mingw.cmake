# Builds for Windows with mingw-w64, and with the libraries of prefix.sh: for x86-64, or for ARM64
# (ETWSHIP_WINDOWS_ARCH) with the tools of zig.sh.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)

set(target x86_64-w64-mingw32)
set(CMAKE_RC_COMPILER ${target}-windres)
if(ETWSHIP_WINDOWS_ARCH STREQUAL arm64)
    set(CMAKE_SYSTEM_PROCESSOR aarch64)
    execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/zig.sh OUTPUT_VARIABLE zig
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(CMAKE_C_COMPILER ${zig}/bin/cc)
    set(CMAKE_AR ${zig}/bin/ar CACHE FILEPATH "")
    set(CMAKE_RANLIB ${zig}/bin/ranlib CACHE FILEPATH "")
    set(CMAKE_RC_COMPILER ${zig}/bin/windres)
    list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ETWSHIP_WINDOWS_ARCH)
    # It would need the load configuration, of which load_config.c makes another use.
    set(ETWSHIP_GUARD_CF OFF CACHE INTERNAL "")
elseif(ETWSHIP_MINGW_CLANG)
    # clang 14 does not find the folder of GCC's library by itself: it takes "12-win32" for no version.
    execute_process(COMMAND ${target}-gcc -print-libgcc-file-name OUTPUT_VARIABLE libgcc)
    get_filename_component(libgcc ${libgcc} DIRECTORY)
    set(CMAKE_C_COMPILER clang)
    set(CMAKE_C_COMPILER_TARGET ${target})
    set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld -L${libgcc} -static")
    list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ETWSHIP_MINGW_CLANG)
else()
    set(CMAKE_C_COMPILER ${target}-gcc)
    # The library of the compiler goes into the program: it needs no DLL but those of Windows.
    set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
endif()

if(NOT ETWSHIP_MINGW_PREFIX)
    set(ETWSHIP_MINGW_PREFIX $ENV{ETWSHIP_MINGW_PREFIX})
endif()
if(NOT ETWSHIP_MINGW_PREFIX)
    message(FATAL_ERROR "packaging/windows/cross/build.sh builds for Windows; by hand, set "
        "ETWSHIP_MINGW_PREFIX to what packaging/windows/cross/prefix.sh prints")
endif()
set(ETWSHIP_MINGW_PREFIX ${ETWSHIP_MINGW_PREFIX} CACHE PATH "Libraries for Windows")
# For the projects by which CMake tries the compiler.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ETWSHIP_MINGW_PREFIX)
set(ENV{ETWSHIP_MINGW_PREFIX} ${ETWSHIP_MINGW_PREFIX})

set(CMAKE_FIND_ROOT_PATH ${ETWSHIP_MINGW_PREFIX})
if(NOT ETWSHIP_WINDOWS_ARCH STREQUAL arm64)
    list(APPEND CMAKE_FIND_ROOT_PATH /usr/${target})
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${ETWSHIP_MINGW_PREFIX}/lib/pkgconfig)
unset(ENV{PKG_CONFIG_PATH})

# printf and its kin as C11 has them, not as the oldest msvcrt.dll.
add_compile_definitions(__USE_MINGW_ANSI_STDIO=1)
