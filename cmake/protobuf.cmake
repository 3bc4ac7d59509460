# Protobuf::NAME: the messages of FOLDER/NAME.proto, as C that protobuf-c generates into the build
# folder: <NAME.pb-c.h>.

function(protobuf name folder)
    find_program(PROTOC_C protoc-c REQUIRED)
    set(output ${PROJECT_BINARY_DIR}/generated)
    set(source ${PROJECT_SOURCE_DIR}/${folder}/${name}.proto)
    file(MAKE_DIRECTORY ${output})
    add_custom_command(
        OUTPUT ${output}/${name}.pb-c.c ${output}/${name}.pb-c.h
        COMMAND ${PROTOC_C} --c_out=${output} --proto_path=${PROJECT_SOURCE_DIR}/${folder} ${source}
        DEPENDS ${source})
    add_library(proto_${name} STATIC ${output}/${name}.pb-c.c ${output}/${name}.pb-c.h)
    target_include_directories(proto_${name} SYSTEM PUBLIC ${output})
    target_compile_options(proto_${name} PRIVATE -Wno-cast-qual -Wno-missing-prototypes)
    target_link_libraries(proto_${name} PUBLIC PkgConfig::PROTOBUFC)
    add_library(Protobuf::${name} ALIAS proto_${name})
endfunction()
