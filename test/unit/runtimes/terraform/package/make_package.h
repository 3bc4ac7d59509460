/* Packages for tests. */
#ifndef TEST_UNIT_RUNTIMES_TERRAFORM_PACKAGE_MAKE_PACKAGE_H
#define TEST_UNIT_RUNTIMES_TERRAFORM_PACKAGE_MAKE_PACKAGE_H

#include "runtimes/terraform/package/cache.h"

#define MAKE_PACKAGE_MOST 100 /* bytes */

/* Keeps one of a file of so many bytes; those of other numbers are other packages. As cache_keep().
 */
int make_package(struct cache *cache, size_t bytes, char ret_h1[PACKAGE_H1_SIZE],
                 struct package **ret, struct error *error);

#endif
