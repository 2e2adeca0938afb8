# One static library per layer. A layer sees exactly the headers of the layers it names: its own
# folder and theirs are linked into an include root made for it alone, so a wrong include is a
# missing file, not a matter of discipline.
#
#   etwship_layer(<name> FOLDER <dir> SOURCES <file>... [USES <layer>...] [LIBS <target>...])

set(ETWSHIP_INCLUDE_ROOT ${CMAKE_BINARY_DIR}/include)

function(etwship_layer name)
    cmake_parse_arguments(ARG "" "FOLDER" "SOURCES;USES;LIBS" ${ARGN})
    add_library(etwship_${name} STATIC ${ARG_SOURCES})
    set(root ${ETWSHIP_INCLUDE_ROOT}/${name})
    file(MAKE_DIRECTORY ${root})
    get_filename_component(base ${ARG_FOLDER} NAME)
    file(CREATE_LINK ${ARG_FOLDER} ${root}/${base} SYMBOLIC COPY_ON_ERROR)
    target_include_directories(etwship_${name} PUBLIC ${root})
    foreach(used ${ARG_USES})
        target_link_libraries(etwship_${name} PUBLIC etwship_${used})
    endforeach()
    foreach(lib ${ARG_LIBS})
        target_link_libraries(etwship_${name} PRIVATE ${lib})
    endforeach()
endfunction()
