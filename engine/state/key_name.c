#include "engine/state/key_name.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"

#define NAME_DIGITS 40

void state_key_name(const struct spec_key *key, char ret_name[STATE_NAME_SIZE])
{
    _cleanup_free_ char *text = str_printf("%s/%s", key->namespace_name, key->name);
    char hex[HASH_HEX_SIZE];

    hash_hex(text, strlen(text), hex);
    snprintf(ret_name, STATE_NAME_SIZE, "kusion-%.*s", NAME_DIGITS, hex);
}
