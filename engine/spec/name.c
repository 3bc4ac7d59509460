#include "engine/spec/name.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"

#define DIGITS 40

void spec_hash_name(const char *namespace_name, const char *name, char ret[SPEC_HASH_NAME_SIZE])
{
    _cleanup_free_ char *text = str_printf("%s/%s", namespace_name, name);
    char hex[HASH_HEX_SIZE];

    hash_hex(text, strlen(text), hex);
    snprintf(ret, SPEC_HASH_NAME_SIZE, SPEC_HASH_NAME_PREFIX "%.*s", DIGITS, hex);
}
