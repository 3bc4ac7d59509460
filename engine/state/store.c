#include "engine/state/store.h"

void state_key_name(const struct state_key *key, char ret_name[STATE_NAME_SIZE])
{
    spec_hash_name(key->spec_namespace, key->spec_name, ret_name);
}
