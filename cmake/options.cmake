# How everything is compiled. The presets (CMakePresets.json) choose among these.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(KUSION_SANITIZE "" CACHE STRING "address: ASan and UBSan; thread: TSan; empty: none")
option(KUSION_HARDEN "Hardening flags and link-time optimisation" OFF)
option(KUSION_STATIC "Link nothing but static libraries, for programs that run on any distribution: kubectl-kusion" OFF)
option(KUSION_TEST_RUNTIME "Offer a second runtime, for tests of the operator: never in what is shipped" OFF)
option(KUSION_FUZZ "Build the fuzzers (clang only)" OFF)

add_compile_options(
    -Wall -Wextra -Werror -Wconversion -Wno-sign-conversion -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef
    -Wimplicit-fallthrough -fno-strict-aliasing -fno-common)
add_compile_definitions(_GNU_SOURCE KUSION_VERSION="${PROJECT_VERSION}")

if(KUSION_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
elseif(KUSION_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
    add_link_options(-fsanitize=thread)
endif()

# Each of some hundred test programs is linked with all that it is about: gold takes half the time for it.
find_program(KUSION_GOLD ld.gold)
mark_as_advanced(KUSION_GOLD)
if(KUSION_SANITIZE AND KUSION_GOLD AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_link_options(-fuse-ld=gold)
endif()

if(KUSION_HARDEN)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        add_compile_options(-mbranch-protection=standard)
    else()
        add_compile_options(-fcf-protection)
    endif()
    add_compile_options(-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
                        -ffunction-sections -fdata-sections)
    add_link_options($<IF:$<BOOL:${KUSION_STATIC}>,-static-pie,-pie> -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--gc-sections -Wl,--as-needed)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()
