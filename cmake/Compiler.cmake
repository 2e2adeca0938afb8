# Options of the compilers: GCC and clang (Linux, mingw-w64), and Microsoft's.
if(MSVC)
    # Atomics of C11 (Visual Studio 2022 17.5 and later), UTF-8 sources, and the C library's names
    # as C11 has them. Warnings are no errors here: the authors have no such compiler.
    add_compile_options(/W3 /utf-8 /experimental:c11atomics)
    add_compile_definitions(_CRT_SECURE_NO_WARNINGS _CRT_NONSTDC_NO_WARNINGS)
else()
    add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes
        -Wmissing-prototypes -Wvla -Werror)
    # Tables of digits need no NUL at their end. Newer compilers warn; older ones do not know the option.
    if((CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 15) OR
        (CMAKE_C_COMPILER_ID STREQUAL Clang AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 20))
        add_compile_options(-Wno-unterminated-string-initialization)
    endif()
endif()

if(ETWSHIP_SANITIZE)
    add_compile_options(-fsanitize=${ETWSHIP_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${ETWSHIP_SANITIZE})
endif()
if(ETWSHIP_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Values are put by small functions of other files: optimise across them.
if(ETWSHIP_LTO AND CMAKE_BUILD_TYPE STREQUAL Release AND NOT ETWSHIP_SANITIZE)
    include(CheckIPOSupported)
    check_ipo_supported(RESULT ETWSHIP_IPO OUTPUT ignored LANGUAGES C)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ${ETWSHIP_IPO})
    # GCC clears structures of some hundred bytes by `rep stos`, which takes longer to start than the
    # whole takes in vectors.
    if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
        add_compile_options(-mmemset-strategy=libcall:-1:noalign)
    endif()
endif()

if(WIN32)
    # Windows 10 1607 and Server 2016 are the oldest that it runs on. Zig defines the first of these itself, in
    # other letters.
    set(winnt 0x0A00)
    if(ETWSHIP_WINDOWS_ARCH STREQUAL arm64)
        set(winnt 0x0a00)
    endif()
    add_compile_definitions(_WIN32_WINNT=${winnt} WINVER=0x0A00 NTDDI_VERSION=0x0A000002 UNICODE
        WIN32_LEAN_AND_MEAN)
    if(MSVC)
        add_compile_options(/guard:cf)
        # 0x800: every DLL is looked for in the system's folder alone.
        add_link_options(/DYNAMICBASE /HIGHENTROPYVA /NXCOMPAT /guard:cf /DEPENDENTLOADFLAG:0x800)
    else()
        # isfinite() and its kin of mingw-w64 name a float of every double; Linux builds are warned.
        add_compile_options(-Wno-float-conversion)
        add_link_options(-Wl,--dynamicbase,--high-entropy-va,--nxcompat)
        # The program does not depend on the place and time of its build.
        add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
        if(CMAKE_C_COMPILER_ID STREQUAL GNU)
            add_link_options(-Wl,--no-insert-timestamp)
        endif()
    endif()
    # Calls through pointers reach functions only. GCC has no such thing; clang has it from 16 on,
    # with the C library of mingw-w64 11 and later.
    if(CMAKE_C_COMPILER_ID STREQUAL Clang AND NOT MSVC)
        include(CheckCSourceCompiles)
        set(CMAKE_REQUIRED_FLAGS -mguard=cf)
        check_c_source_compiles("int main(int n, char **v) { int (*volatile f)(int, char **) = main;
            return n ? 0 : f(n, v); }" ETWSHIP_GUARD_CF)
        unset(CMAKE_REQUIRED_FLAGS)
        if(ETWSHIP_GUARD_CF)
            add_compile_options(-mguard=cf)
            add_link_options(-mguard=cf)
        else()
            message(STATUS "Without GUARD_CF: this clang, or this mingw-w64, has none")
        endif()
    endif()
else()
    add_compile_definitions(_FILE_OFFSET_BITS=64)
    # Addresses of other libraries' functions are found at the start, and read only from then on.
    add_link_options(-Wl,-z,relro,-z,now)
endif()
