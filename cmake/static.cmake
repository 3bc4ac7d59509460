# With KUSION_STATIC, all libraries are found as archives. A library that has none is found as it is,
# and what needs it cannot be linked: the operator (libwebsockets). glibc 2.34 and newer resolve names
# from /etc/hosts and DNS without a shared library.

if(KUSION_STATIC)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

# PkgConfig::YAJL. Its archive has another name, which pkg-config does not know.
macro(find_yajl)
    if(KUSION_STATIC)
        find_library(YAJL_ARCHIVE yajl_s REQUIRED)
        add_library(PkgConfig::YAJL INTERFACE IMPORTED)
        target_link_libraries(PkgConfig::YAJL INTERFACE ${YAJL_ARCHIVE})
    else()
        pkg_check_modules(YAJL REQUIRED IMPORTED_TARGET yajl)
    endif()
endmacro()

# PkgConfig::LUA. Its archive needs libm, which the shared library names itself.
macro(find_lua)
    pkg_check_modules(LUA REQUIRED IMPORTED_TARGET lua5.4)
    if(KUSION_STATIC)
        target_link_libraries(PkgConfig::LUA INTERFACE m)
    endif()
endmacro()

# bin/PROGRAM.map has the archives that have become parts of the program: hack/notice.
function(link_statically program)
    if(KUSION_STATIC)
        target_link_options(${program} PRIVATE -Wl,-Map=$<TARGET_FILE:${program}>.map)
        if(NOT KUSION_HARDEN)
            target_link_options(${program} PRIVATE -static)
        endif()
        # The cross compiler's own glibc gets no security updates: that of the architecture comes first.
        if(CMAKE_CROSSCOMPILING)
            target_link_options(${program} PRIVATE -B/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
        endif()
    endif()
endfunction()
