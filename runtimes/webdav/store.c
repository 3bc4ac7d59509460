#include "runtimes/webdav/store.h"

#include "runtimes/chain/store.h"
#include "runtimes/io/clock.h"
#include "runtimes/webdav/private.h"

int webdav_store_open(const char *place, struct store **ret, struct error *error)
{
    struct objects *objects;
    int r = webdav_objects_new(place, &objects, error);

    if (r == 0)
        *ret = chain_store_new(objects, &system_clock, true);
    return r;
}
