# PkgConfig::CURL: the system's libcurl, or the one whose folder KUSION_LIBCURL is, such as that of
# hack/libcurl. What pkg-config found before is forgotten when that changes.

set(KUSION_LIBCURL "" CACHE PATH "The folder of a libcurl to be linked instead of the system's")

macro(find_libcurl)
    if(NOT "${KUSION_LIBCURL}" STREQUAL "${KUSION_LIBCURL_FOUND}")
        unset(__pkg_config_checked_CURL CACHE)
        unset(pkgcfg_lib_CURL_curl CACHE)
        set(KUSION_LIBCURL_FOUND "${KUSION_LIBCURL}" CACHE INTERNAL "")
    endif()
    if(KUSION_LIBCURL)
        list(PREPEND CMAKE_PREFIX_PATH "${KUSION_LIBCURL}")
    endif()
    pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
endmacro()
