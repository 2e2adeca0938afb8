# A file of the tree as bytes of C, so that the program needs no file beside it.
#
#   etwship_embed(<file> <file.def>)
#
# file.def has the bytes as numbers, each with a comma.
function(etwship_embed file made)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    file(CONFIGURE OUTPUT ${made} CONTENT "${bytes}\n" @ONLY)
endfunction()
