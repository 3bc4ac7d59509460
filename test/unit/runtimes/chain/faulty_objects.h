/*
 * A table of objects over another one (a real server's), whose network does what networks do, by
 * chance: it sends a create or a delete twice and gives the first answer or the second; it loses
 * the answer; or it says that there is none, and delivers the request later.
 */
#pragma once

#include "runtimes/chain/objects.h"

/* Takes over the objects. What is late comes before free() at the latest. Not thread-safe. */
struct objects *faulty_objects_new(struct objects *below, unsigned seed);
