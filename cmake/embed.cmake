# embed(LAYER NAME FILE): FILE's bytes as `const char NAME[]`, with a NUL after them, in the layer's
# library. A header of the layer declares it.

set(EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_file.cmake)

function(embed folder name file)
    _layer_target(${folder} target)
    set(source ${PROJECT_SOURCE_DIR}/${file})
    set(output ${PROJECT_BINARY_DIR}/generated/${name}.c)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
    add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -D SOURCE=${source} -D OUTPUT=${output} -D NAME=${name} -P ${EMBED_SCRIPT}
        DEPENDS ${source} ${EMBED_SCRIPT})
    target_sources(${target} PRIVATE ${output})
endfunction()
