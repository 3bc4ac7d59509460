#include "runtimes/s3/store.h"

#include "runtimes/chain/store.h"
#include "runtimes/io/clock.h"
#include "runtimes/s3/private.h"

int s3_store_open(const char *place, struct store **ret, struct error *error)
{
    struct objects *objects;
    int r = s3_objects_new(place, &objects, error);

    if (r == 0)
        *ret = chain_store_new(objects, &system_clock, true);
    return r;
}
