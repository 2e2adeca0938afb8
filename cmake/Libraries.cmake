# The libraries of others, as imported targets with one name everywhere: pkg-config finds them, or
# their own CMake files where vcpkg brought them (vcpkg.json).
#
#   etwship_library(<NAME> <pkg-config's name> <CMake package> <its target>)

if(NOT MSVC)
    find_package(PkgConfig REQUIRED)
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
