# PkgConfig::PQ: the system's libpq, or the one whose folder KUSION_LIBPQ is, such as that of
# hack/libpq. What pkg-config found before is forgotten when that changes.

set(KUSION_LIBPQ "" CACHE PATH "The folder of a libpq to be linked instead of the system's")

macro(find_libpq)
    if(NOT "${KUSION_LIBPQ}" STREQUAL "${KUSION_LIBPQ_FOUND}")
        unset(__pkg_config_checked_PQ CACHE)
        unset(pkgcfg_lib_PQ_pq CACHE)
        set(KUSION_LIBPQ_FOUND "${KUSION_LIBPQ}" CACHE INTERNAL "")
    endif()
    if(KUSION_LIBPQ)
        list(PREPEND CMAKE_PREFIX_PATH "${KUSION_LIBPQ}")
    endif()
    pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
endmacro()
