# The libraries of others, as imported targets with one name everywhere: pkg-config finds them, or
# their own CMake files where vcpkg brought them (vcpkg.json).
#
#   etwship_library(<NAME> <pkg-config's name> <CMake package> <its target>)
#   etwship_optional_library(...)    the same; <NAME>_FOUND says whether it is there

if(NOT MSVC)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(ISAL IMPORTED_TARGET libisal) # faster gzip and CRC-32C, where it is there
    set(ETWSHIP_LIBM m)
endif()

macro(etwship_library name module package target)
    if(MSVC)
        find_package(${package} CONFIG REQUIRED)
        if(NOT TARGET PkgConfig::${name})
            add_library(PkgConfig::${name} INTERFACE IMPORTED GLOBAL)
            target_link_libraries(PkgConfig::${name} INTERFACE ${target})
        endif()
    else()
        pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
    endif()
endmacro()

macro(etwship_optional_library name module package target)
    if(MSVC)
        find_package(${package})
        set(${name}_FOUND ${${package}_FOUND})
        if(${name}_FOUND AND NOT TARGET PkgConfig::${name})
            add_library(PkgConfig::${name} INTERFACE IMPORTED GLOBAL)
            target_link_libraries(PkgConfig::${name} INTERFACE ${target})
        endif()
    else()
        pkg_check_modules(${name} IMPORTED_TARGET ${module})
    endif()
endmacro()
