/* Packages for tests. */
#pragma once

#include "runtimes/terraform/package/cache.h"

#define MAKE_PACKAGE_MOST 100 /* bytes */

/* Keeps one of a file of so many bytes; those of other numbers are other packages. As cache_keep().
 */
int make_package(struct cache *cache, size_t bytes, char ret_h1[PACKAGE_H1_SIZE],
                 struct package **ret, struct error *error);
