# test/unit mirrors the sources: test/unit/engine/base/test_*.c tests the layer engine/base and
# links it alone; the other sources there are fixtures, which the tests of the layers above may use,
# too. What lies in test/unit/engine itself is shared by all tests, and so is the API server in
# memory. test/fuzz/*.c are fuzzers (test/fuzz/fuzz.h), hack/benchmarks/*.c benchmarks.
# test/unit/child is a program that tests start.

enable_testing() # not in a function: it would be forgotten at its end

# Programs whose suites are tests of their own, engine/operation/operation_kill, say: they wait more
# than they work, and run side by side.
set(SPLIT_PROGRAMS engine/operation controller runtimes/kubernetes runtimes/kubernetes/client
    runtimes/kubernetes/change runtimes/kubernetes/history runtimes/kubernetes/session runtimes/kubernetes/store
    runtimes/io runtimes/postgres runtimes/seal runtimes/terraform)

# The longest, in about their seconds: they are begun first, so that no long one runs alone at the
# end.
set(LONG_TESTS
    controller/scenario_store=90 runtimes/kubernetes/store/live_documents=90 runtimes/kubernetes/store/live_documents_writers=70
    controller/scenario_restored=60 runtimes/seal/sealed_contract=55 controller/scenario_retention=50
    runtimes/kubernetes/change/live_text=50 runtimes/postgres/postgres_cut=40 runtimes/postgres/postgres_race=40
    controller/scenario_approval_kill=40 controller/scenario_rollback_kill=35 controller/scenario_crash=35
    controller/scenario_rollback=35 controller/scenario_status=35 runtimes/kubernetes/client/kube_client_retry=35
    controller/scenario_leader=30 engine/operation/operation_approved_kill=30 engine/operation/operation_kill=30
    runtimes/kubernetes/client/live=30 runtimes/io/sandbox=25 fuzz/documents=25 controller/scenario_approval=25
    controller/scenario_apply=25 runtimes/postgres/postgres_kill=25 engine/operation/operation_random=25 engine/value=25
    controller/scenario_status_missing=20 controller/scenario_many=20 runtimes/kubernetes/change/live_plans=20)

function(test_costs)
    foreach(entry IN LISTS LONG_TESTS)
        string(REPLACE "=" ";" entry ${entry})
        list(GET entry 0 name)
        list(GET entry 1 cost)
        if(TEST ${name})
            set_tests_properties(${name} PROPERTIES COST ${cost})
        endif()
    endforeach()
endfunction()

function(_test name)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# A test for each suite in the sources. Those that ask a real API server go one after the other,
# because they make definitions of the same names. So do those that ask a real PostgreSQL, because
# some kill it.
function(_suite_tests folder program)
    foreach(source IN LISTS ARGN)
        file(STRINGS ${source} suites REGEX "^SUITE\\(")
        if(NOT suites AND source MATCHES "/test_[^/]*$")
            message(FATAL_ERROR "${source} has no line SUITE(name, …)")
        endif()
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
        foreach(line IN LISTS suites)
            string(REGEX REPLACE "^SUITE\\(([a-z0-9_]+).*" "\\1" suite ${line})
            _test(${folder}/${suite} ${program} ${suite})
            if(suite MATCHES "^live(_|$)")
                set_tests_properties(${folder}/${suite} PROPERTIES RESOURCE_LOCK live)
            elseif(suite MATCHES "^postgres_")
                set_tests_properties(${folder}/${suite} PROPERTIES RESOURCE_LOCK postgres)
            endif()
        endforeach()
    endforeach()
endfunction()

# What a layer's tests share, as a library for the tests of the layers above.
function(_fixtures folder)
    _layer_target(${folder} target)
    get_target_property(uses ${target} KUSION_USES)
    set(below)
    foreach(use IN LISTS uses)
        if(TARGET fixtures_${use})
            list(APPEND below fixtures_${use})
        endif()
    endforeach()
    list(FILTER ARGN EXCLUDE REGEX "/test_[^/]*$")
    if(ARGN)
        add_library(fixtures_${target} STATIC EXCLUDE_FROM_ALL ${ARGN})
        _our_sources(fixtures_${target})
        target_link_libraries(fixtures_${target} PUBLIC ${below} unit_shared api_server ${target})
    else()
        add_library(fixtures_${target} INTERFACE)
        target_link_libraries(fixtures_${target} INTERFACE ${below} unit_shared api_server ${target})
    endif()
endfunction()

function(_unit_test folder)
    _fixtures(${folder} ${ARGN})
    list(FILTER ARGN INCLUDE REGEX "/test_[^/]*$")
    if(NOT ARGN)
        return()
    endif()
    _layer_target(${folder} target)
    # Its own fixtures come before those of the layers below, of which they may replace some:
    # parse_options of engine/spec, say.
    set(own)
    get_target_property(type fixtures_${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
        set(own $<TARGET_OBJECTS:fixtures_${target}>)
    endif()
    add_executable(test_${target} ${ARGN} ${own} ${PROJECT_SOURCE_DIR}/test/unit/suite.c)
    _our_sources(test_${target})
    target_link_libraries(test_${target} PRIVATE fixtures_${target} PkgConfig::CUNIT)
    if(folder IN_LIST SPLIT_PROGRAMS)
        _suite_tests(${folder} test_${target} ${ARGN})
    else()
        _test(${folder} test_${target})
    endif()
    get_target_property(program ${target} KUSION_PROGRAM)
    if(program)
        add_dependencies(test_${target} ${program}) # scenarios run it
    endif()
endfunction()

# An API server in memory (api_server.h), for whichever test wants one, and as a program for the
# live ones.
function(_api_server)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/unit/api_server/*.c)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/test/unit/api_server/serve.c)
    add_library(api_server STATIC EXCLUDE_FROM_ALL ${sources})
    _our_sources(api_server)
    target_link_libraries(api_server PUBLIC engine_base)
    add_executable(serve_api EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/unit/api_server/serve.c)
    _our_sources(serve_api)
    target_link_libraries(serve_api PRIVATE api_server)
endfunction()

# What tests start as a child (child.c): child_static and child_shared, without sanitizers, which need
# more than a sandbox gives.
function(_children)
    foreach(kind static shared)
        add_executable(child_${kind} ${PROJECT_SOURCE_DIR}/test/unit/child/child.c)
        set_target_properties(child_${kind} PROPERTIES COMPILE_OPTIONS "-Wall;-Wextra;-Werror"
                                                       LINK_OPTIONS "" INTERPROCEDURAL_OPTIMIZATION OFF)
    endforeach()
    target_link_options(child_static PRIVATE -static)
    foreach(test runtimes_io runtimes_terraform controller)
        add_dependencies(test_${test} child_static child_shared)
    endforeach()
endfunction()

function(unit_tests)
    file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/unit/engine/*.c)
    add_library(unit_shared STATIC ${shared})
    _our_sources(unit_shared)
    target_link_libraries(unit_shared PUBLIC engine_release PkgConfig::CUNIT)
    _api_server()
    get_property(layers GLOBAL PROPERTY KUSION_LAYERS)
    foreach(folder IN LISTS layers)
        _layer_sources(${PROJECT_SOURCE_DIR}/test/unit ${folder} sources)
        _unit_test(${folder} ${sources})
    endforeach()
    get_property(programs GLOBAL PROPERTY KUSION_PROGRAMS)
    foreach(folder IN LISTS programs)
        file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/unit/${folder}/*.c)
        _unit_test(${folder} ${sources})
    endforeach()
    _children()
    # test_no_threads.c refuses threads.
    target_link_options(test_engine_executor PRIVATE LINKER:--wrap=pthread_create)
endfunction()

function(fuzzers)
    if(NOT KUSION_FUZZ AND NOT KUSION_SANITIZE STREQUAL "address")
        return()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/fuzz/*.c)
    if(NOT TARGET cli_check)
        list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/test/fuzz/input.c)
    endif()
    foreach(source IN LISTS sources)
        get_filename_component(name ${source} NAME_WE)
        add_executable(fuzz_${name} ${source})
        _our_sources(fuzz_${name})
        target_link_libraries(fuzz_${name} PRIVATE controller)
        if(KUSION_FUZZ)
            target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        else()
            target_sources(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/test/fuzz/replay/main.c)
            _test(fuzz/${name} fuzz_${name} test/fuzz/corpus/${name})
        endif()
    endforeach()
    if(TARGET cli_check)
        target_link_libraries(fuzz_input PRIVATE cli_check)
    endif()
    # These have an API server of their own, or share one (answers.h).
    file(GLOB answers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/fuzz/answers/*.c)
    add_library(fuzz_answers STATIC EXCLUDE_FROM_ALL ${answers})
    _our_sources(fuzz_answers)
    target_link_libraries(fuzz_answers PUBLIC runtimes_kubernetes)
    target_link_options(fuzz_documents PRIVATE
                        LINKER:--wrap=kube_do,--wrap=kube_list,--wrap=pause_for)
    target_link_libraries(fuzz_lease PRIVATE fuzz_answers)
    target_link_options(fuzz_lease PRIVATE LINKER:--wrap=kube_do)
    file(GLOB stage CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/unit/engine/operation/*.c)
    list(FILTER stage EXCLUDE REGEX /test_[^/]*$)
    target_sources(fuzz_operation PRIVATE ${stage} ${PROJECT_SOURCE_DIR}/test/unit/engine/memory_store.c
                                          ${PROJECT_SOURCE_DIR}/test/unit/engine/faulty_store.c)
    target_link_libraries(fuzz_operation PRIVATE PkgConfig::CUNIT)
    foreach(name chain_object object_answers)
        target_link_libraries(fuzz_${name} PRIVATE runtimes_s3 runtimes_webdav)
    endforeach()
    foreach(name discovery releases content)
        target_link_libraries(fuzz_${name} PRIVATE fuzz_answers)
        target_link_options(fuzz_${name} PRIVATE LINKER:--wrap=kube_do,--wrap=kube_list
                            LINKER:--wrap=pause_for,--wrap=kube_client_kinds_limit)
    endforeach()
endfunction()

# test/terraform drives the engine with it, without Kubernetes.
function(terraform_driver)
    add_executable(terraform_driver EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/terraform/driver.c)
    _our_sources(terraform_driver)
    target_link_libraries(terraform_driver PRIVATE engine_operation runtimes_file runtimes_terraform)
endfunction()

# hack/soak random runs it: the lives of test/unit/engine/operation/test_random.c, over a real store.
function(random_on_server)
    add_executable(random_on_server EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/random/real_store.c
        ${PROJECT_SOURCE_DIR}/test/unit/engine/operation/test_random.c ${PROJECT_SOURCE_DIR}/test/unit/suite.c)
    _our_sources(random_on_server)
    target_link_libraries(random_on_server PRIVATE fixtures_engine_operation controller)
endfunction()

# test/health asks it for the health of objects.
function(health_driver)
    add_executable(health_driver EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/health/driver.c)
    _our_sources(health_driver)
    target_link_libraries(health_driver PRIVATE runtimes_kubernetes_objects)
endfunction()

function(benchmarks)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hack/benchmarks/*.c)
    foreach(source IN LISTS sources)
        get_filename_component(name ${source} NAME_WE)
        add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
        _our_sources(bench_${name})
        target_link_libraries(bench_${name} PRIVATE controller)
    endforeach()
endfunction()
