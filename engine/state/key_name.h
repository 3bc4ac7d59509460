/*
 * A Spec's key as a name for API objects and labels: "kusion-" and 40
 * hexadecimal digits of sha256(namespace "/" name). Also the owner label's
 * value.
 */
#ifndef ENGINE_STATE_KEY_NAME_H
#define ENGINE_STATE_KEY_NAME_H

#include "engine/store.h"

#define STATE_NAME_SIZE 48
void state_key_name(const struct spec_key *key, char ret_name[STATE_NAME_SIZE]);

#endif
