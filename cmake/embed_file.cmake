# Run by embed(): writes the bytes of SOURCE as a C array NAME into OUTPUT.
file(READ ${SOURCE} bytes HEX)
string(REGEX REPLACE "(................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}'\\0'};\n")
