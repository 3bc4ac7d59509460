/*
 * Keys in files: a folder such as a mounted Secret.
 *
 *   DIRECTORY/current   the name of the key that seals, as text
 *   DIRECTORY/NAME      32 random bytes, for each key; the name is its id
 *
 * Names have letters, digits, '-', '_' and '.', and do not begin with '.'. A key file may not be
 * readable by everybody. Files are read anew each time, so whatever is changed there holds from the
 * next save on.
 *
 * A seed is wrapped by AES key wrap (RFC 3394): 40 bytes.
 */
#pragma once

#include "runtimes/seal/source.h"

struct seal_source *keys_file_new(const char *directory);
